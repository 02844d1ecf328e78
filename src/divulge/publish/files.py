# SPDX-License-Identifier: Apache-2.0
"""The file that holds a published table: in which format it is written, and how it is read back with the types it was written with.

A release has the format of its source where that is CSV, Parquet or Arrow; everything else (frames, databases, JSON) becomes Parquet.
Text is UTF-8; a null is an empty cell and an empty text is "". Nothing but the columns is written: no index, no metadata of
the source. An engine writes it (`engine.write`), Spark as a folder of such files.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from divulge.engines import Engine, OwnEngine
from divulge.errors import BadInput, nearest
from divulge.table import Table, find_files, read, read_dialect, table_of

Kind = Literal["csv", "parquet", "arrow"]


@dataclass(frozen=True)
class Format:
    """How a table is written to a file."""

    kind: Kind
    delimiter: str = ","

    @property
    def ending(self) -> str:
        """The end of the file's name."""
        return ".tsv" if self.kind == "csv" and self.delimiter == "\t" else f".{self.kind}"


def choose_format(table: Table, wanted: str | None = None) -> Format:
    """The format that is asked for, else the source's own, else Parquet."""
    own = writable(table.engine, _format_of_source(table))
    if wanted is None:
        return own
    if wanted not in get_args(Kind):
        raise BadInput(f"a release cannot be written as {wanted!r}", hint=nearest(wanted, get_args(Kind)))
    name, formats = table.engine.name.capitalize(), table.engine.formats
    if wanted not in formats:
        raise BadInput(f"{name} does not write {wanted} files", hint=f"Ask for {' or '.join(formats)}")
    return own if wanted == own.kind else Format(cast("Kind", wanted))


def writable(engine: Engine, form: Format) -> Format:
    """The same format, or Parquet where the engine cannot write it."""
    return form if form.kind in engine.formats else Format("parquet")


def _format_of_source(table: Table) -> Format:
    if table.declared is not None:  # an ARX project, which holds its data as ARX writes CSV
        return Format("csv", ";")
    if table.frame != "none":
        return Format("parquet")
    try:
        files = find_files(table.source)
    except BadInput:  # a table of a database
        return Format("parquet")
    if files.kind == "csv":
        return Format("csv", _delimiter(files.paths[0]))
    return Format("arrow" if files.kind in ("arrow", "arrow stream") else "parquet")


def _delimiter(path: Path) -> str:
    """The source's delimiter; a comma where it is not plain UTF-8 and so cannot be looked at again."""
    try:
        return read_dialect(path, delimiter=None, header=None, shown=str(path)).delimiter
    except BadInput:
        return ","


def read_rows(engine: OwnEngine, path: Path, *, form: Format, types: Mapping[str, str]) -> Table:
    """The table in a file or folder that was written here, with exactly these columns; text says nothing about types, so they are given."""
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    if form.kind == "csv":
        # The names in the files: DuckDB skips a header when it is told the columns.
        found = {_header(each, form.delimiter) for each in paths}
        table = table_of(engine, engine.read_typed(paths, types, delimiter=form.delimiter), source=path.name)
    else:
        table = read(path, engine=engine)
        found = {table.names}
    for names in found - {tuple(types)}:
        raise BadInput(f"{path.name} has the columns {', '.join(names)} where {', '.join(types)} were expected")
    return table


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file, delimiter=delimiter), ()))
