# SPDX-License-Identifier: Apache-2.0
"""`--value-free`: output with column names and numbers, but without data values.

Labels and ranges of a class are data values, too.

There is one mechanism, where output leaves the program, and it hides everything that is not known
to be harmless. A command runs as with `--json`; its document is printed without data values, as
JSON or line by line. All other text on standard output or standard error passes a filter that keeps
the words of divulge and the names of columns. Charts and HTML reports, which show classes by their
values, raise an error.
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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from divulge import results
from divulge.errors import DivulgeError
from divulge.marks import HIDDEN

OPTION = "--value-free"
VARIABLE = "DIVULGE_VALUE_FREE"
_COUNTED = frozenset(
    "rows row people person records record columns column values value classes class groups "
    "group tables table releases release times "
    "bits bytes digits characters seconds lines files steps levels attributes pieces targets of".split()  # noqa: E501
)
"""Words after a number that mark it as a count."""
_USAGE = tuple(
    "missing argument option command invalid value for requires an got unexpected extra".split()
)
"""Words of click's messages about a command line."""
_PART = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*")|(?P<pair>(?<![\w<>!])[^\W\d][\w.-]*\s?=\s?[^\s,;:()<>=](?:(?!\.\s)[^,;:()])*)"""
    r"""|(?P<range>[\[(]\s*[-\d.,* ]+[\])])|(?P<option>--[a-z][a-z-]*)|(?P<path>(?:\.{0,2}/|[A-Za-z]:\\)\S+)"""  # noqa: E501
    r"""|(?P<number>(?<![\w.])\d[\d,]*(?:\.\d+)?%?(?![\w*]))|(?P<word>[^\W\d_][\w'*-]*)|(?P<rest>\w[\w*]*)"""
)


# --- whether redaction was requested --------------------------------------------------------------
@contextlib.contextmanager
def sieved(
    arguments: Sequence[str], takes_json: Callable[[Sequence[str]], bool]
) -> Iterator[list[str]]:
    """Yield the arguments to run, with redacted output if it was requested.

    `takes_json` returns True for arguments that name a command with the option --json.
    """
    command_line = [word for word in arguments if word != OPTION]
    if len(command_line) == len(arguments) and os.environ.get(VARIABLE, "") in ("", "0"):
        yield command_line
        return
    known_names = _known_names(command_line)
    out = sys.stdout
    err = sys.stderr
    with (
        results.without_values(),
        contextlib.redirect_stdout(
            Sieve(
                out,
                known_names,
                command=_command_of(command_line),
                as_json="--json" in command_line,
            )
        ),
        contextlib.redirect_stderr(Sieve(err, known_names)),
    ):
        yield (
            _with_json(command_line)
            if "--json" not in command_line and takes_json(command_line)
            else command_line
        )


def _with_json(command_line: Sequence[str]) -> list[str]:
    if "--" in command_line:
        end = command_line.index("--")
    else:
        end = len(command_line)
    return [*command_line[:end], "--json", *command_line[end:]]


class Sieve(io.TextIOBase):
    """A text stream that hides data values.

    It is not a terminal, so that no progress bar is drawn on it.
    """

    def __init__(
        self,
        stream: TextIO,
        known_names: Collection[str],
        *,
        command: str = "",
        as_json: bool = False,
    ) -> None:
        self.stream = stream
        self.known = known_names
        self.command = command
        self.as_json = as_json
        self.vouched: set[str] = set()
        """Texts of the program itself, such as help texts, that are written unchanged."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream behind it."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write a text without its data values.

        Raises:
            TypeError: It is not a text. By this error, click recognizes a text stream.
        """
        if not isinstance(text, str):
            raise TypeError(f"a text stream takes str, not {type(text).__name__}")
        if text.rstrip("\n") in self.vouched:
            self.stream.write(text)
            return len(text)
        self.stream.write(
            "".join(hide(line, self.known) for line in text.splitlines(keepends=True))
        )
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind it."""
        self.stream.flush()

    def document(self, document: Mapping[str, Any]) -> None:
        """Write the document of a command without data values, as JSON or line by line."""
        left = without_values(document, self.command, self.known)
        self.stream.write(
            json.dumps(left, allow_nan=False) + "\n" if self.as_json else "".join(_lines(left))
        )


# --- documents ------------------------------------------------------------------------------------
def without_values(
    document: Mapping[str, Any], command: str, known_names: Collection[str]
) -> dict[str, Any]:
    """Return the document of a command without data values, by the marks of its fields."""
    from divulge.output import json_documents, redaction

    if {"error", "hint", "exit_code"} <= document.keys():
        document_type = json_documents.DOCUMENTS[json_documents.ERROR]
    else:
        document_type = json_documents.DOCUMENTS.get(command)
    visible: dict[str, Any] = redaction.redacted(
        dict(document), document_type, lambda note: hide(note, known_names)
    )
    return visible


def _command_of(command_line: Sequence[str]) -> str:
    """Return the name of the command, of two words in a group of commands."""
    from divulge.output.json_documents import DOCUMENTS

    names = [" ".join(command_line[:length]) for length in (2, 1)]
    return next((name for name in names if name in DOCUMENTS), "")


def _is_path(text: str) -> bool:
    """Return True for the path of an existing file or folder.

    A folder of a partitioned table (zip=476) is a data value.
    """
    if "=" in text or not text or len(text) > 300:
        return False
    try:
        return any(Path(part).exists() for part in (text, *text.split(" with ")))
    except (OSError, ValueError):
        return False


_FIRST = ("holds", "error", "hint", "promises")
_LAST = ("notes", "settings")
_WIDE = 4
"""Largest number of entries that share one line."""


def _lines(node: Any, depth: int = 0) -> Iterator[str]:
    """Yield a document as indented lines, the answers first and the settings last."""
    indent = "  " * depth
    entries = _in_order(node) if isinstance(node, Mapping) else list(enumerate(node, start=1))
    width = max(
        (len(str(name)) for name, item in entries if not isinstance(item, (Mapping, list))),
        default=0,
    )
    for name, item in entries:
        nested = isinstance(item, (Mapping, list))
        if (
            name == "promises"
            and isinstance(item, list)
            and all(_is_outcome(part) for part in item)
        ):
            yield from (
                f"{indent}{part['promise']}: {_format_value(part['value'])}, {_verdict(part)}\n"
                for part in item
            )
        elif nested and (
            len(item) > _WIDE or any(isinstance(part, (Mapping, list)) for part in _parts(item))
        ):
            yield f"{indent}{name}:\n"
            yield from _lines(item, depth + 1)
        elif isinstance(item, Mapping):
            yield (
                f"{indent}{name}: "
                f"{', '.join(f'{key} {_format_value(part)}' for key, part in item.items()) or '-'}\n"  # noqa: E501
            )
        elif isinstance(item, list):
            yield f"{indent}{name}: {', '.join(map(_format_value, item)) or '-'}\n"
        else:
            yield f"{indent}{name!s:<{width}}  {_format_value(item)}\n"


def _in_order(node: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the entries in order: answers, single values, nested values, notes and settings."""

    def sort_key(pair: tuple[str, Any]) -> tuple[int, int]:
        name, item = pair
        if name in _FIRST:
            return 0, _FIRST.index(name)
        if name in _LAST:
            return (3, _LAST.index(name))
        return (1 + isinstance(item, (Mapping, list)), 0)

    return sorted(node.items(), key=sort_key)


def _is_outcome(part: Any) -> bool:
    return isinstance(part, Mapping) and {"promise", "value", "holds"} <= part.keys()


def _verdict(part: Mapping[str, Any]) -> str:
    broken = ", ".join(
        f"{part[name]} {name.removeprefix('breaking_')}"
        for name in part
        if name.startswith("breaking_")
    )
    if part["holds"]:
        return "holds"
    return f"BROKEN ({broken or 'somewhere'})"


def _parts(item: Mapping[str, Any] | list[Any]) -> Collection[Any]:
    if isinstance(item, Mapping):
        return item.values()
    return item


def _format_value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


# --- texts ----------------------------------------------------------------------------------------
def hide(text: str, known_names: Collection[str]) -> str:
    """Return a line without possible data values.

    Hidden are quoted texts, text after "=", ranges, numbers that are no counts, and foreign words.

    >>> hide("no column 'agee' in 40 rows; zip=476** has 3 people, Bob is 39", {"zip"})
    "no column '…' in 40 rows; zip=… has 3 people, … is …"
    """
    last = ""

    def sifted(match: re.Match[str]) -> str:
        nonlocal last
        before, last = last, match[0]
        return _sifted(match, known_names, before, text[match.end() :])

    return _PART.sub(sifted, text)


def _sifted(match: re.Match[str], known_names: Collection[str], before: str, after: str) -> str:
    part = match[0]
    kind = match.lastgroup
    if kind == "quoted":
        if part[1:-1] in known_names or part[1:-1].startswith("--"):
            return part
        return f"{part[0]}{HIDDEN}{part[-1]}"
    if kind == "pair":
        name, sign, _ = re.split(r"(\s?=\s?)", part, maxsplit=1)
        rest = re.search(r"\s+(?:has|have|is|are|in|of|and|or|to)\b.*$", part)
        if name in known_names or name in _ours():
            visible_name = name
        else:
            visible_name = HIDDEN
        return f"{visible_name}{sign}{HIDDEN}{hide(rest[0], known_names) if rest else ''}"
    if kind == "number":
        following = re.match(r"\s+([A-Za-z]+)", after)
        is_count = part.endswith("%") or (following is not None and following[1] in _COUNTED)
        if is_count or before in _metrics():
            return part
        return HIDDEN
    if kind == "option":
        return part
    if kind == "path":
        bare = part.rstrip(".,:;)'")
        if _is_path(bare):
            return part
        return HIDDEN
    if kind == "word":
        if part in known_names or part.casefold() in _ours() or part in _metrics():
            return part
        return HIDDEN
    return HIDDEN


@functools.cache
def _ours() -> frozenset[str]:
    """Return the words of our messages: f-strings and texts of errors in our source."""
    vocabulary: set[str] = set()
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            texts: list[ast.expr] = []
            if isinstance(node, ast.JoinedStr):
                texts = node.values
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _errors():
                texts = [*node.args, *(keyword.value for keyword in node.keywords)]
            for part in texts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    vocabulary.update(
                        word.casefold() for word in re.findall(r"[^\W\d_][\w'-]*", part.value)
                    )
    # A single letter is a value more often than a word.
    return frozenset(word for word in vocabulary if len(word) > 1) | {
        "a",
        "divulge",
        *_USAGE,
        *(path.stem for path in _sources() if path.parent.name == "cli"),
    }


@functools.cache
def _errors() -> frozenset[str]:
    classes = [DivulgeError]
    for error_class in classes:
        classes += error_class.__subclasses__()
    return frozenset(error_class.__name__ for error_class in classes)


def _sources() -> Iterator[Path]:
    package = Path(str(resources.files("divulge")))
    yield from sorted(package.rglob("*.py"))


@functools.cache
def _metrics() -> frozenset[str]:
    from divulge import metrics

    return frozenset(metric.name for metric in metrics.METRICS)


# --- texts that are not data values ---------------------------------------------------------------
def _known_names(command_line: Sequence[str]) -> frozenset[str]:
    """Return the names of columns and attributes in the files that the line names.

    A table that cannot be read adds none.
    """
    from divulge.sources import read

    column_names: set[str] = set()
    for word in command_line:
        for path in _tables_at(word.rpartition("=")[2]):
            if path.suffix == ".json":
                column_names |= _attributes(path)
                continue
            # The command reports what is wrong with a file when it reads it.
            with contextlib.suppress(Exception):
                column_names.update(
                    read(str(path), header=False if "--no-header" in command_line else None).names
                )
    return frozenset(column_names)


def _tables_at(word: str) -> Iterator[Path]:
    try:
        source_path = Path(word)
        if source_path.is_file():
            yield source_path
        elif source_path.is_dir():
            yield source_path
            yield from sorted(
                path
                for path in source_path.iterdir()
                if path.suffix in (".csv", ".parquet", ".arrow", ".feather")
            )
    except (OSError, ValueError):
        return


def _attributes(path: Path) -> set[str]:
    try:
        left = [json.loads(path.read_text(encoding="utf-8"))]
        labels = set()
    except (ValueError, OSError, RecursionError):
        return set()
    while left:
        node = left.pop()
        if isinstance(node, dict):
            if isinstance(node.get("label"), str):
                labels |= {node["label"]}
            left += node.values()
        elif isinstance(node, list):
            left += node
    return labels


def vouch(text: str) -> str:
    """Let the redacting standard output write this text unchanged, and return it."""
    if isinstance(sys.stdout, Sieve):
        sys.stdout.vouched.add(text.rstrip("\n"))
    return text


def emitted(document: Mapping[str, Any]) -> bool:
    """Print the redacted document if redaction is on; return True if it was printed."""
    if isinstance(sys.stdout, Sieve):
        sys.stdout.document(document)
        return True
    return False


def json_wanted(arguments: Sequence[str]) -> bool:
    """Return True if --json was given; the option that redaction adds does not count."""
    if isinstance(sys.stdout, Sieve):
        return sys.stdout.as_json
    return "--json" in arguments


def tell_where(error: Exception) -> None:
    """Print the source lines of a bug without the error's message, which may hold a data value."""
    if isinstance(sys.stderr, Sieve):
        lines = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.stream.write(f"{lines}{type(error).__name__}\n")
