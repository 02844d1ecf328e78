# SPDX-License-Identifier: Apache-2.0
"""How a delimited text file is written: its delimiter, whether it has a header, and its column names.

Decided here, from the first part of the file, and not by DuckDB's sniffer, which drops lines that start with '#',
skips leading lines, takes a file with a ragged row for one wide column and renames repeated columns without a word.
Quoting is that of RFC 4180: double quotes, doubled inside.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from divulge.errors import BadInput
from divulge.table.paths import compression

_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 1000
_DELIMITERS = ",;|\t"
_TYPED = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?)\s*")
_UNKNOWN = frozenset({"na", "n/a", "nan", "null", "none"})


@dataclass(frozen=True)
class Dialect:
    """How one file is written."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    skip: int
    """Empty lines before the first record."""
    line_end: str
    """What ends the first record. DuckDB takes the first line end it sees, and loses all rows if that one is quoted."""


def read_dialect(path: Path, *, delimiter: str | None, header: bool | None, shown: str) -> Dialect:
    """The dialect of a UTF-8 file; what the caller says is taken, the rest is found out."""
    text = _sample(path, shown=shown)
    skip = len(text) - len(text.lstrip("\r\n"))
    if not text.strip():
        raise BadInput(f"{shown} has no text in it", hint="A table needs at least a header line")
    chosen = _checked(delimiter) if delimiter is not None else _find_delimiter(text, path)
    records = _records(text, chosen)
    first, rest = records[0], records[1:]
    has_header = _looks_like_header(first, rest) if header is None else header
    names = (cell or f"column{i}" for i, cell in enumerate(first)) if has_header else _numbered(len(first))
    line_end = _line_end(text[skip:], chosen)
    return Dialect(chosen, has_header, tuple(names), len(text[:skip].splitlines()), line_end)


def _numbered(width: int) -> tuple[str, ...]:
    return tuple(f"column{i}" for i in range(width))


def _sample(path: Path, *, shown: str) -> str:
    """The start of the file as text, cut at a line end."""
    try:
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            data: bytes = stream.read(_SAMPLE_BYTES)
    except OSError as error:
        raise BadInput(f"{shown} cannot be read: {error}") from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput(f"{shown} is UTF-16 text", hint="Pass encoding='utf-16'")
    if len(data) == _SAMPLE_BYTES:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1] or data
    if b"\0" in data:
        raise BadInput(
            f"{shown} is not a text file", hint="Give it the usual ending, such as .parquet, if it is a data file"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{shown}, line {line}: the text is not UTF-8",
            hint="Pass the file's encoding, for example encoding='latin-1' or encoding='cp1252'",
        ) from error


def _checked(delimiter: str) -> str:
    plain = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(plain) != 1 or plain in '"\r\n\0':
        raise BadInput(f"the delimiter {delimiter!r} cannot be used", hint="Give one character, such as ';' or '\\t'")
    return plain


def _records(text: str, delimiter: str) -> list[list[str]]:
    """The first records of the sample."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        records.extend(itertools.islice((record for record in reader if record), _SAMPLE_RECORDS))
    return records or [[text.splitlines()[0]]]


def _line_end(text: str, delimiter: str) -> str:
    """The line end after the first record, whose quoted names may contain others."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with contextlib.suppress(csv.Error):
        next(reader)
    lines = io.StringIO(text, newline="")
    last = [lines.readline() for _ in range(reader.line_num)][-1]
    return last[len(last.rstrip("\r\n")) :] or "\n"


def _find_delimiter(text: str, path: Path) -> str:
    """The delimiter that gives most records the width of the first one, then the widest."""
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    best = (0.0, 1, ",")
    for delimiter in _DELIMITERS:
        records = _records(text, delimiter)
        width = len(records[0])
        if width > 1:
            share = sum(len(record) == width for record in records) / len(records)
            best = max(best, (share, width, delimiter))
    return best[2]


def _looks_like_header(first: list[str], rest: list[list[str]]) -> bool:
    """A first row is a header if a column below it holds numbers or dates and it holds a word there.

    Where no column below holds numbers or dates there is nothing to compare with, and a header is assumed.
    """
    if not rest:
        return not any(_TYPED.fullmatch(cell) for cell in first)
    typed = [i for i in range(len(first)) if _is_typed([row[i] for row in rest if len(row) == len(first)])]
    return not typed or any(_is_word(first[i]) for i in typed)


def _is_typed(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and all(_TYPED.fullmatch(cell) for cell in filled)


def _is_word(cell: str) -> bool:
    word = cell.strip()
    letters = any(character.isalpha() for character in word)
    return letters and word.lower() not in _UNKNOWN and not _TYPED.fullmatch(word)
