# SPDX-License-Identifier: Apache-2.0
"""`--value-free`: column names and numbers, no value of a cell, no label or range of a class; in all that a command says.

One mechanism, where output leaves the program, and what is not known to be harmless is hidden. A command runs as with `--json`; its
document goes out with values taken out, as JSON or line by line. Whatever else is written to standard output or standard error passes
through a sieve that lets our own words and the names of columns through. Pictures and pages, which show classes by their values, are
refused.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from divulge import results
from divulge.errors import DivulgeError

OPTION = "--value-free"
VARIABLE = "DIVULGE_VALUE_FREE"
HIDDEN = "…"
_OF_CELLS = frozenset(
    "class becomes known guess examples null ruled_out instead cut_points cuts condition protects rule_out rule_in order orders keep among "
    "answer".split()
)
"""Keys of documents below which values stand, or sentences about them."""
_OF_CELLS_IN = {
    "value": frozenset("over_represented values attributes options misfits".split()),
    "values": frozenset("classes edges".split()),
    "low": frozenset(("ranges",)),
    "high": frozenset(("ranges",)),
    "record": frozenset(("steps",)),
    "why": frozenset(("worst",)),
}
"""Keys that mean a value only below others: the value of a metric is a number like any."""
_OURS = frozenset(
    "counts nulls role attack kind method engine aim scope verdict how linkage association algorithm workload guard state looks_like "
    "reason told in_words not_tried symbol unit meaning formula correlation search distance band".split()
)
"""Keys whose texts are ours and hold no value."""
_MOMENTS = frozenset("at expires retracted today date".split())
_COUNTED = frozenset(
    "rows row people person records record columns column values value classes class groups group tables table releases release times "
    "bits bytes digits characters seconds lines files steps levels attributes pieces targets of".split()
)
"""Words after a number that say that something was counted."""
_PART = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*")|(?P<pair>(?<![\w<>!])[^\W\d][\w.-]*\s?=\s?[^\s,;:()<>=](?:(?!\.\s)[^,;:()])*)"""
    r"""|(?P<range>[\[(]\s*[-\d.,* ]+[\])])|(?P<option>--[a-z][a-z-]*)|(?P<path>(?:\.{0,2}/|[A-Za-z]:\\)\S+)"""
    r"""|(?P<number>(?<![\w.])\d[\d,]*(?:\.\d+)?%?(?![\w*]))|(?P<word>[^\W\d_][\w'*-]*)|(?P<rest>\w[\w*]*)"""
)
_NUMERAL = re.compile(r"-?(?:\d[\d./:-]*|inf|nan)")


# --- asked for, or not ------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def sieved(arguments: Sequence[str]) -> Iterator[list[str]]:
    """The arguments that are run, in a world without values where that was asked for."""
    given = [word for word in arguments if word != OPTION]
    if len(given) == len(arguments) and os.environ.get(VARIABLE, "") in ("", "0"):
        yield given
        return
    known = _known(given)
    out, err = sys.stdout, sys.stderr
    with (
        results.without_values(),
        contextlib.redirect_stdout(Sieve(out, known, as_json="--json" in given)),
        contextlib.redirect_stderr(Sieve(err, known)),
    ):
        yield given if "--json" in given or not given or given[0].startswith("-") else _with_json(given)


def _with_json(given: Sequence[str]) -> list[str]:
    end = given.index("--") if "--" in given else len(given)
    return [*given[:end], "--json", *given[end:]]


class Sieve(io.TextIOBase):
    """A stream that lets no value through; no terminal either, so that nothing is drawn on it."""

    def __init__(self, stream: TextIO, known: Collection[str], *, as_json: bool = False) -> None:
        self.stream, self.known, self.as_json = stream, known, as_json

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream behind it."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """What is left of a text."""
        self.stream.write("".join(hide(line, self.known) for line in text.splitlines(keepends=True)))
        return len(text)

    def flush(self) -> None:
        """As the stream behind it."""
        self.stream.flush()

    def document(self, document: Mapping[str, Any]) -> None:
        """A document of a command without its values, as JSON or, for people, line by line."""
        left = without_values(document, self.known)
        self.stream.write(json.dumps(left, allow_nan=False) + "\n" if self.as_json else "".join(_lines(left)))


# --- documents --------------------------------------------------------------------------------------------------------
def without_values(
    node: Any, known: Collection[str], *, key: str = "", parent: str = "", of_cells: bool = False
) -> Any:
    """A document without values of cells: what a key does not vouch for, and is no name of ours, is hidden."""
    of_cells = of_cells or key in _OF_CELLS or parent in _OF_CELLS_IN.get(key, ())
    if isinstance(node, Mapping):
        return {
            _renamed(name, place, known, key): without_values(item, known, key=name, parent=key, of_cells=of_cells)
            for place, (name, item) in enumerate(node.items(), start=1)
        }
    if isinstance(node, list):
        return [without_values(item, known, key=key, parent=parent, of_cells=of_cells) for item in node]
    if node is None or isinstance(node, bool):
        return node
    if of_cells:
        return HIDDEN
    if not isinstance(node, str):
        return node
    ours = key in _OURS or parent in _OURS or node in known or _is_place(node)
    if ours or (key in _MOMENTS and _NUMERAL.match(node)) or _NUMERAL.fullmatch(node):
        return node
    return hide(node, known)


def _renamed(name: str, place: int, known: Collection[str], parent: str) -> str:
    """A key of an object, which may be a value as well."""
    ours = name in known or name in _keys() or parent in _OURS or _is_place(name)
    return name if ours else f"{HIDDEN} {place}"


def _is_place(text: str) -> bool:
    """A file or folder that somebody named; a folder of a partitioned table (zip=476) is a value."""
    if "=" in text or not text or len(text) > 300:
        return False
    try:
        return any(Path(part).exists() for part in (text, *text.split(" with ")))
    except (OSError, ValueError):
        return False


_FIRST = ("holds", "error", "hint", "promises")
_LAST = ("notes", "settings")
_WIDE = 4
"""More numbers than these have a line each."""


def _lines(node: Any, depth: int = 0) -> Iterator[str]:
    """A document for people: what was asked first, settings last, a line for each number, indented as it is nested."""
    indent = "  " * depth
    named = _in_order(node) if isinstance(node, Mapping) else list(enumerate(node, start=1))
    width = max((len(str(name)) for name, item in named if not isinstance(item, (Mapping, list))), default=0)
    for name, item in named:
        nested = isinstance(item, (Mapping, list))
        if name == "promises" and isinstance(item, list) and all(_is_judged(part) for part in item):
            yield from (f"{indent}{part['promise']}: {_told(part['value'])}, {_verdict(part)}\n" for part in item)
        elif nested and (len(item) > _WIDE or any(isinstance(part, (Mapping, list)) for part in _parts(item))):
            yield f"{indent}{name}:\n"
            yield from _lines(item, depth + 1)
        elif isinstance(item, Mapping):
            yield f"{indent}{name}: {', '.join(f'{key} {_told(part)}' for key, part in item.items()) or '-'}\n"
        elif isinstance(item, list):
            yield f"{indent}{name}: {', '.join(map(_told, item)) or '-'}\n"
        else:
            yield f"{indent}{name!s:<{width}}  {_told(item)}\n"


def _in_order(node: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Answers, then numbers, then what has parts, then what all of it depends on."""

    def place(pair: tuple[str, Any]) -> tuple[int, int]:
        name, item = pair
        if name in _FIRST:
            return 0, _FIRST.index(name)
        return (3, _LAST.index(name)) if name in _LAST else (1 + isinstance(item, (Mapping, list)), 0)

    return sorted(node.items(), key=place)


def _is_judged(part: Any) -> bool:
    return isinstance(part, Mapping) and {"promise", "value", "holds"} <= part.keys()


def _verdict(part: Mapping[str, Any]) -> str:
    broken = ", ".join(
        f"{part[name]} {name.removeprefix('breaking_')}" for name in part if name.startswith("breaking_")
    )
    return "holds" if part["holds"] else f"BROKEN ({broken or 'somewhere'})"


def _parts(item: Mapping[str, Any] | list[Any]) -> Collection[Any]:
    return item.values() if isinstance(item, Mapping) else item


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "-" if value is None else str(value)


# --- texts ------------------------------------------------------------------------------------------------------------
def hide(text: str, known: Collection[str]) -> str:
    """A line without what may be a value: quoted things, what stands after "=", ranges, numbers that count nothing, words not ours.

    >>> hide("no column 'agee' in 40 rows; zip=476** has 3 people, Bob is 39", {"zip"})
    "no column '…' in 40 rows; zip=… has 3 people, … is …"
    """
    last = ""

    def sifted(found: re.Match[str]) -> str:
        nonlocal last
        before, last = last, found[0]
        return _sifted(found, known, before, text[found.end() :])

    return _PART.sub(sifted, text)


def _sifted(found: re.Match[str], known: Collection[str], before: str, after: str) -> str:
    part = found[0]
    kind = found.lastgroup
    if kind == "quoted":
        return part if part[1:-1] in known or part[1:-1].startswith("--") else f"{part[0]}{HIDDEN}{part[-1]}"
    if kind == "pair":
        name, sign, _ = re.split(r"(\s?=\s?)", part, maxsplit=1)
        rest = re.search(r"\s+(?:has|have|is|are|in|of|and|or|to)\b.*$", part)
        own = name if name in known or name in _ours() else HIDDEN
        return f"{own}{sign}{HIDDEN}{hide(rest[0], known) if rest else ''}"
    if kind == "number":
        following = re.match(r"\s+([A-Za-z]+)", after)
        counted = part.endswith("%") or (following is not None and following[1] in _COUNTED)
        return part if counted or before in _metrics() else HIDDEN
    if kind == "option":
        return part
    if kind == "path":
        bare = part.rstrip(".,:;)'")
        return part if _is_place(bare) else HIDDEN
    if kind == "word":
        return part if part in known or part.casefold() in _ours() or part in _metrics() else HIDDEN
    return HIDDEN


@functools.cache
def _ours() -> frozenset[str]:
    """The words of our messages: of texts that are put together in our source, and of the errors that it raises."""
    found: set[str] = set()
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            texts: list[ast.expr] = []
            if isinstance(node, ast.JoinedStr):
                texts = node.values
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _errors():
                texts = [*node.args, *(keyword.value for keyword in node.keywords)]
            for part in texts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.update(word.casefold() for word in re.findall(r"[^\W\d_][\w'-]*", part.value))
    # A single letter is a value more often than a word.
    return frozenset(word for word in found if len(word) > 1) | {
        "a",
        "divulge",
        *(path.stem for path in _sources() if path.parent.name == "cli"),
    }


@functools.cache
def _errors() -> frozenset[str]:
    classes = [DivulgeError]
    for each in classes:
        classes += each.__subclasses__()
    return frozenset(each.__name__ for each in classes)


def _sources() -> Iterator[Path]:
    package = Path(str(resources.files("divulge")))
    yield from sorted(package.rglob("*.py"))


@functools.cache
def _metrics() -> frozenset[str]:
    from divulge import metrics

    return frozenset(metric.name for metric in metrics.METRICS)


@functools.cache
def _keys() -> frozenset[str]:
    """Every key that a document may have, as its schema says, and every metric."""
    schema = json.loads(resources.files("divulge.cli").joinpath("documents.schema.json").read_text(encoding="utf-8"))
    found: set[str] = set(_metrics())
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            found.update(node.get("properties", {}))
            left += node.values()
        elif isinstance(node, list):
            left += node
    return frozenset(found)


# --- what is no value -------------------------------------------------------------------------------------------------
def _known(given: Sequence[str]) -> frozenset[str]:
    """Names of columns in the files that the line names, and of attributes in records; a table that cannot be looked at has none."""
    from divulge.table import read

    found: set[str] = set()
    for word in given:
        for path in _tables_at(word.rpartition("=")[2]):
            if path.suffix == ".json":
                found |= _attributes(path)
                continue
            # Whatever is wrong with a file is told when the command reads it.
            with contextlib.suppress(Exception):
                found.update(read(str(path), header=False if "--no-header" in given else None).names)
    return frozenset(found)


def _tables_at(word: str) -> Iterator[Path]:
    try:
        place = Path(word)
        if place.is_file():
            yield place
        elif place.is_dir():
            yield place
            yield from sorted(
                path for path in place.iterdir() if path.suffix in (".csv", ".parquet", ".arrow", ".feather")
            )
    except (OSError, ValueError):
        return


def _attributes(path: Path) -> set[str]:
    try:
        left, found = [json.loads(path.read_text(encoding="utf-8"))], set()
    except (ValueError, OSError, RecursionError):
        return set()
    while left:
        node = left.pop()
        if isinstance(node, dict):
            found |= {node["label"]} if isinstance(node.get("label"), str) else set()
            left += node.values()
        elif isinstance(node, list):
            left += node
    return found


def emitted(document: Mapping[str, Any]) -> bool:
    """Whether a document has gone out without its values, because that was asked for."""
    if isinstance(sys.stdout, Sieve):
        sys.stdout.document(document)
        return True
    return False


def json_wanted(arguments: Sequence[str]) -> bool:
    """Whether somebody asked for JSON; a command without values runs so in any case."""
    return sys.stdout.as_json if isinstance(sys.stdout, Sieve) else "--json" in arguments


def tell_where(error: Exception) -> None:
    """Where a bug is: the lines of our source hold no value; what the error says might."""
    if isinstance(sys.stderr, Sieve):
        lines = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.stream.write(f"{lines}{type(error).__name__}\n")
