# SPDX-License-Identifier: Apache-2.0
"""`--value-free`: output with column names and numbers, but without data values.

Labels and ranges of a class are data values, too.

A command runs as with `--json`; its document is printed without data values (`output.redaction`),
as JSON or line by line. Errors and notes are spelled without the texts from outside that they
repeat (`arguments.spelled`). Nothing else reaches standard output or standard error. Charts and
HTML reports, which show classes by their values, raise an error.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from divulge import marks
from divulge.arguments import Sentence, spelled
from divulge.marks import HIDDEN

OPTION = "--value-free"
VARIABLE = "DIVULGE_VALUE_FREE"


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
        marks.without_values(known_names),
        contextlib.redirect_stdout(
            Sieve(out, command=_command_of(command_line), as_json="--json" in command_line)
        ),
        contextlib.redirect_stderr(Sieve(err)),
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
    """A text stream that passes documents, and texts that hold no data value.

    It is not a terminal, so that no progress bar is drawn on it.
    """

    def __init__(self, stream: TextIO, *, command: str = "", as_json: bool = False) -> None:
        self.stream = stream
        self.command = command
        self.as_json = as_json
        self.vouched: set[str] = set()
        """Texts without data values, such as help texts, that are written unchanged."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream behind it."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write a text that was vouched for, and the line ends of any other.

        Raises:
            TypeError: It is not a text. By this error, click recognizes a text stream.
        """
        if not isinstance(text, str):
            raise TypeError(f"a text stream takes str, not {type(text).__name__}")
        if text.rstrip("\n") in self.vouched:
            self.stream.write(text)
            return len(text)
        self.stream.write("".join(_hidden_line(line) for line in text.splitlines(keepends=True)))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind it."""
        self.stream.flush()

    def document(self, document: Mapping[str, Any]) -> None:
        """Write the document of a command without data values, as JSON or line by line."""
        left = without_values(document, self.command)
        self.stream.write(
            json.dumps(left, allow_nan=False) + "\n" if self.as_json else "".join(_lines(left))
        )


# --- documents ------------------------------------------------------------------------------------
def _hidden_line(line: str) -> str:
    """Return an ellipsis in place of the text of a line."""
    if line.isspace():
        return line
    return HIDDEN + "\n" * line.endswith("\n")


def without_values(document: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the document of a command without data values, by the marks of its fields."""
    from divulge.output import json_documents, redaction

    if {"error", "hint", "exit_code"} <= document.keys():
        document_type = json_documents.DOCUMENTS[json_documents.ERROR]
    else:
        document_type = json_documents.DOCUMENTS.get(command)
    visible: dict[str, Any] = redaction.redacted(dict(document), document_type, spelled)
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
def print_sentence(sentence: str) -> None:
    """Print a sentence to standard error, without data values if they are hidden."""
    sys.stderr.write(vouch(f"divulge: {spelled(sentence)}\n"))


class LogFormatter(logging.Formatter):
    """Lines of the log; texts that a statement holds are hidden if data values are."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, and let the line pass."""
        if marks.values_hidden() and isinstance(record.args, tuple):
            record = copy.copy(record)
            record.args = tuple(map(_log_argument, record.args or ()))
        return vouch(super().format(record))


def _log_argument(argument: object) -> object:
    """Return a number, a file, the scheme of an address, or a sentence without its values."""
    if isinstance(argument, Sentence):
        return spelled(argument)
    text = str(argument)
    if isinstance(argument, int | float) or text.endswith("://") or _is_path(text):
        return argument
    return HIDDEN


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
    """Let the redacting streams write this text unchanged, and return it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Sieve):
            stream.vouched.add(text.rstrip("\n"))
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
