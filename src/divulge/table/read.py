# SPDX-License-Identifier: Apache-2.0
"""read: from whatever the user has (a path, a frame, a URL) to a Table. Inputs are never changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import duckdb

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.relation import RelationEngine
from divulge.errors import BadInput
from divulge.table.columnar import read_arrow, read_arrow_stream, read_parquet
from divulge.table.delimited import read_delimited
from divulge.table.frames import read_frame
from divulge.table.jsonlines import read_json
from divulge.table.paths import find_files
from divulge.table.postgres import read_postgres
from divulge.table.postgres_url import SCHEMES
from divulge.table.sqlite import read_sqlite
from divulge.table.table import Table, table_of

_READERS = {"json": read_json, "parquet": read_parquet, "arrow": read_arrow, "arrow stream": read_arrow_stream}


def read(
    source: object,
    *,
    table: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    engine: DuckDBEngine | None = None,
) -> Table:
    """Open a table.

    `source` is a file (CSV, JSON lines, Parquet, Arrow, SQLite), a folder or glob of such files, a postgresql:// URL, a
    pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation, or a Table, which comes back as it is.
    `table` picks one table of a database; `header`, `delimiter` and `encoding` are for delimited text.
    """
    text = _TextOptions(header, delimiter, encoding)
    if isinstance(source, str | os.PathLike):
        return _read_path(os.fspath(source), table=table, text=text, engine=engine or DuckDBEngine())
    text.refuse_for("it is not a file")
    _refuse_table(table, "it is not a database")
    if isinstance(source, Table):
        return source
    if isinstance(source, duckdb.DuckDBPyRelation):
        own = RelationEngine(source)
        return table_of(own, own.relation, source="the DuckDB relation")
    found = read_frame(source, engine=engine or DuckDBEngine())
    if found is None:
        raise BadInput(
            f"a table cannot be read from {type(source).__module__}.{type(source).__qualname__}",
            hint="Give a path, a URL, a pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation",
        )
    return found


@dataclass(frozen=True)
class _TextOptions:
    """What a user may say about delimited text."""

    header: bool | None
    delimiter: str | None
    encoding: str

    def refuse_for(self, why: str) -> None:
        """An option that would be ignored is a misunderstanding."""
        given = {
            "header": self.header is not None,
            "delimiter": self.delimiter is not None,
            "encoding": self.encoding != "utf-8",
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise BadInput(f"{name} is for delimited text, and {why}", hint="Leave it out")


def _refuse_table(table: str | None, why: str) -> None:
    if table is not None:
        raise BadInput(f"table={table!r} picks a table of a database, and {why}", hint="Leave it out")


def _read_path(source: str, *, table: str | None, text: _TextOptions, engine: DuckDBEngine) -> Table:
    scheme, separator, _ = source.partition("://")
    if separator and scheme in SCHEMES:
        text.refuse_for("a database is not text")
        return read_postgres(source, engine=engine, table=table)
    if separator and scheme.isalnum():
        raise BadInput(
            f"{scheme}:// addresses cannot be read", hint="Download the file first; postgresql:// is the one URL"
        )
    files = find_files(source)
    if files.kind != "csv":
        text.refuse_for(f"{source} is {files.kind}")
    if files.kind == "sqlite":
        return read_sqlite(files, source=source, engine=engine, table=table)
    _refuse_table(table, f"{source} is {files.kind}")
    if files.kind == "csv":
        return read_delimited(
            files, source=source, engine=engine, header=text.header, delimiter=text.delimiter, encoding=text.encoding
        )
    return _READERS[files.kind](files, source=source, engine=engine)
