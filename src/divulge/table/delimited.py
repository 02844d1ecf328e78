# SPDX-License-Identifier: Apache-2.0
"""Reads CSV, TSV and other delimited text.

Names and delimiter come from the dialect, types from a pass over the whole file (see shapes); DuckDB is then told all
of it and guesses nothing. An empty cell is null. Text that is not UTF-8 is rewritten as UTF-8 in the engine's private
directory first.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput
from divulge.table.dialect import Dialect, read_dialect
from divulge.table.paths import Files, compression, packing
from divulge.table.shapes import column_types
from divulge.table.table import Table, check_names, table_of

UTF8 = ("utf-8", "utf-8-sig", "ascii")
"""Encodings that need no copy."""
_CHUNK = 1 << 20


def read_delimited(
    files: Files, *, source: str, engine: DuckDBEngine, header: bool | None, delimiter: str | None, encoding: str
) -> Table:
    """The table in one or more delimited text files that share one header."""
    paths = [_as_utf8(path, engine=engine, encoding=encoding, shown=source) for path in files.paths]
    shown = files.shown(source)
    dialect = read_dialect(paths[0], delimiter=delimiter, header=header, shown=shown[0])
    check_names(dialect.names, source=shown[0])
    for path, name in zip(paths[1:], shown[1:], strict=True):
        other = read_dialect(path, delimiter=dialect.delimiter, header=dialect.header, shown=name)
        if other != dialect:
            raise BadInput(
                f"{name} is not written like {shown[0]}: {_difference(dialect, other)}",
                hint="Files that are read as one table need the same columns in the same order, and the same line ends",
            )
    listed = engine.files(paths, known_as=dict(zip(paths, shown, strict=True)))
    packed = packing(paths)
    text = _relation(engine, listed, dialect, packed=packed, types=dict.fromkeys(dialect.names, "VARCHAR"))
    types = column_types(engine, text, dialect.names)
    return table_of(engine, _relation(engine, listed, dialect, packed=packed, types=types), source=source)


def codec_of(encoding: str) -> codecs.CodecInfo:
    """The encoding of that name."""
    try:
        return codecs.lookup(encoding)
    except LookupError:
        raise BadInput(
            f"there is no encoding {encoding!r}", hint="Try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'"
        ) from None


def _relation(engine: DuckDBEngine, listed: str, dialect: Dialect, *, packed: str, types: Mapping[str, str]) -> str:
    return (
        f"read_csv({listed}, auto_detect = false, columns = {engine.struct(types)}, "
        f"delim = {engine.literal(dialect.delimiter)}, header = {str(dialect.header).lower()}, skip = {dialect.skip}, "
        f"quote = '\"', escape = '\"', nullstr = '', "
        f"new_line = {engine.literal(repr(dialect.line_end)[1:-1])}, compression = '{packed}')"
    )


def _difference(one: Dialect, other: Dialect) -> str:
    if one.names == other.names:
        return "its lines end differently"
    if len(one.names) != len(other.names):
        return f"{len(one.names)} columns against {len(other.names)}"
    place = next(i for i, pair in enumerate(zip(one.names, other.names, strict=True)) if pair[0] != pair[1])
    return f"column {place + 1} is {one.names[place]!r} in one and {other.names[place]!r} in the other"


def _as_utf8(path: Path, *, engine: DuckDBEngine, encoding: str, shown: str) -> Path:
    """The file itself if it is UTF-8, else a UTF-8 copy of it in the engine's private directory."""
    codec = codec_of(encoding)
    if codec.name in UTF8:
        return path
    copy = engine.directory / engine.fresh_name("utf8")
    decoder = codec.incrementaldecoder()
    try:
        with (
            pa.input_stream(str(path), compression=compression(path)) as stream,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            while chunk := stream.read(_CHUNK):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except (UnicodeError, OSError) as error:
        raise BadInput(f"{shown} cannot be read as {encoding}: {error}", hint="Pass another encoding") from error
    return copy
