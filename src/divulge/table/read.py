# SPDX-License-Identifier: Apache-2.0
"""read: from whatever the user has (a path, a frame, a URL) to a Table. Inputs are never changed."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import duckdb

from divulge import engines, values
from divulge.engines import DuckDBEngine, OwnEngine, SparkEngine, choose_engine
from divulge.errors import BadInput, nearest
from divulge.table.databases import read_adbc, read_duckdb, read_postgres, read_sqlite
from divulge.table.frames import read_arrow, read_arrow_stream, read_frame, read_parquet
from divulge.table.lakehouse import read_lakehouse
from divulge.table.paths import POSTGRES, Address, LogTable, find_files, find_lakehouse
from divulge.table.remote import STORES, WEB, Bucket, download, receive
from divulge.table.spark_tables import find_spark_source, moved_to_spark, read_spark_frame
from divulge.table.spreadsheets import read_sheet
from divulge.table.statistics_files import read_statistics
from divulge.table.table import HowRead, ReadOptions, Table, known_options, table_of
from divulge.table.text_files import read_delimited, read_json

_OF_TEXT = ("header", "delimiter", "encoding", "decimal")
_OF_DATABASES = ("table", "sql")
_OF_STATISTICS = ("codes", "encoding")
_FILES_OF = ("sqlite", "duckdb")
_TAKES = {
    "csv": _OF_TEXT, "sqlite": _OF_DATABASES, "duckdb": _OF_DATABASES, "excel": ("sheet", "header"),
    "spss": _OF_STATISTICS, "stata": _OF_STATISTICS,
}  # fmt: skip
"""The options that a kind of file takes."""
_ASKED_READERS = {
    "csv": read_delimited, "sqlite": read_sqlite, "duckdb": read_duckdb, "excel": read_sheet,
    "spss": read_statistics, "stata": read_statistics,
}  # fmt: skip
LOG = logging.getLogger("divulge.table")
_READERS = {"json": read_json, "parquet": read_parquet, "arrow": read_arrow, "arrow stream": read_arrow_stream}


@values.checked
def read(
    source: object,
    *,
    table: str | None = None,
    sql: str | None = None,
    as_of: int | str | None = None,
    sheet: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str | None = None,
    codes: bool = False,
    engine: engines.EngineChoice = None,
) -> Table:
    """Open a table; whatever a verb takes as a table, it opens so.

    Args:
        source: A file (CSV, JSON lines, Parquet, Arrow, SQLite, DuckDB, Excel, SPSS, Stata), a folder or glob of files, a Delta Lake or
            Iceberg table, an ARX project (.deid), which brings roles and hierarchies of its own, an address (https://, s3://, gs://,
            az://), that of a database (postgresql://, or one that has an ADBC driver), "-" for standard input, a pandas, Polars or Spark
            frame, an Arrow table, reader or dataset, a DuckDB relation, or a table that was opened before, which comes back as it is.
            With Spark also the name of a table in a catalog. A mapping names a source with options of its own, as a policy does:
            {"source": "clinic.duckdb", "table": "patients"}.
        table: Which table of a database.
        sql: Instead of a table, one SELECT that the database answers; nothing is ever written there.
        as_of: Of a Delta Lake table a version, of an Iceberg table a snapshot, a branch or a tag; of either a moment ("2026-01-31", UTC).
        sheet: Which sheet of a spreadsheet; by default the only one that holds something.
        header: Whether the first line of delimited text or of a sheet names the columns; by default this is found out.
        delimiter: What stands between the values of delimited text; by default this is found out.
        encoding: How delimited text is encoded.
        decimal: The decimal sign of delimited text, "," or "."; by default commas are found where they can be nothing else.
        codes: Of SPSS and Stata: leave codes as they are, instead of the labels that stand for them.
        engine: "duckdb" (the default), "spark", an engine, or a Spark session. A Spark frame is read in its own session.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> table = dv.read(pa.table({"zip": ["1", "2"], "age": [34, 51]}))
        >>> [(column.name, column.kind) for column in table.columns]
        [('zip', 'text'), ('age', 'number')]
    """
    asked = ReadOptions(table, sql, as_of, sheet, header, delimiter, encoding, decimal, codes)
    chosen = choose_engine(engine)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        # An address may hold a password.
        LOG.info("reading %s", f"{path.partition('://')[0]}://" if "://" in path else path)
        if isinstance(chosen, SparkEngine):
            return _read_with_spark(path, asked, engine=chosen)
        return _read_path(path, asked, engine=chosen or DuckDBEngine())
    if isinstance(source, Mapping) and "source" in source:
        return _read_named(source, asked, engine=engine)
    return _read_object(source, asked, chosen)


def _read_named(given: Mapping[str, Any], asked: ReadOptions, *, engine: engines.EngineChoice) -> Table:
    """A source with options of its own."""
    asked.only(why="options stand beside the source, where it is named so")
    options = {name: value for name, value in given.items() if name != "source"}
    if unknown := [name for name in options if name not in known_options()]:
        raise BadInput(f"a table has no option {unknown[0]!r}", hint=nearest(unknown[0], known_options()))
    return read(given["source"], **options, engine=engine)


def _read_object(source: object, asked: ReadOptions, chosen: OwnEngine | None) -> Table:
    """A table, a relation or a frame that is there already."""
    asked.only(why="it is neither a file nor a database")
    if isinstance(source, Table):
        if chosen is not None and chosen.name != source.engine.name:
            raise BadInput(
                f"{source.source} was opened with {source.engine.name}, and {chosen.name} was asked for",
                hint="Open it with the engine that is to count it",
            )
        return source
    if (frame := engines.as_spark_frame(source)) is not None:
        return read_spark_frame(frame, engine=chosen)
    if isinstance(chosen, SparkEngine):
        return moved_to_spark(read(source), engine=chosen)
    if isinstance(source, duckdb.DuckDBPyRelation):
        own = engines.RelationEngine(source)
        return table_of(own, own.relation, source="the DuckDB relation", reading=HowRead("relation"))
    found = read_frame(source, engine=chosen or DuckDBEngine())
    if found is None:
        raise BadInput(
            f"a table cannot be read from {type(source).__module__}.{type(source).__qualname__}",
            hint="Give a path, a URL, a pandas, Polars or Spark frame, an Arrow table, reader or dataset, a DuckDB relation",
        )
    return found


def read_beside(table: Table, source: object) -> Table:
    """Open another table to be compared with this one, with the same engine and so within the same limits, unless it has its own."""
    own = isinstance(source, Table) or engines.as_spark_frame(source) is not None
    beside = isinstance(table.engine, SparkEngine) or (isinstance(table.engine, DuckDBEngine) and not own)
    return read(source, engine=table.engine if beside else None)


def own_table(table: Table) -> tuple[Table, OwnEngine]:
    """The table in an engine of ours, and that engine: the connection of somebody's relation gets no tables from us."""
    if isinstance(table.engine, OwnEngine):
        return table, table.engine
    engine = DuckDBEngine()
    rows = table.engine.query(f"SELECT * FROM {table.relation}")
    opened = read(rows, engine=engine)
    return replace(opened, source=table.source, frame=table.frame, reading=table.reading), engine


def _read_with_spark(source: str, asked: ReadOptions, *, engine: SparkEngine) -> Table:
    """What Spark reads well it reads itself, on its workers; the rest is read here and moved."""
    found = find_spark_source(source, encoding=asked.encoding, engine=engine)
    if found is None:
        return moved_to_spark(_read_path(source, asked, engine=DuckDBEngine()), engine=engine)
    asked.only(*(_OF_TEXT if found.kind == "csv" else ()), why=f"{source} is {found.kind}")
    return found.read(engine, asked)


def _read_path(source: str, asked: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """From wherever it is: a database is asked, what lies elsewhere is copied here first."""
    if source == "-":
        return _read_local(str(receive(engine)), asked, engine=engine, source="standard input")
    if (address := Address.of(source)) is None:
        return _read_local(source, asked, engine=engine, source=source)
    if address.scheme in _FILES_OF:  # as SQLAlchemy writes them: three slashes, then the path
        return _read_path(unquote(source.partition(":///")[2]), asked, engine=engine)
    if address.scheme in WEB:
        return _read_local(str(download(address, engine)), asked, engine=engine, source=address.shown)
    if address.scheme in STORES:
        bucket = Bucket.of(address)
        if (form := bucket.log_format()) is not None:
            asked.only("as_of", why=f"{address.shown} is a table of {form}")
            table = LogTable(address.shown, form)
            return read_lakehouse(table, address.url, asked.as_of, source=address.shown, engine=engine)
        return _read_local(str(bucket.fetch(engine)), asked, engine=engine, source=address.shown)
    asked.only(*_OF_DATABASES, why=f"{address.shown} is a database")
    return (read_postgres if address.scheme in POSTGRES else read_adbc)(address, asked, engine=engine)


def _read_local(path: str, asked: ReadOptions, *, engine: DuckDBEngine, source: str) -> Table:
    """A file, folder or glob of this machine; `source` is what the user calls it."""
    if path.lower().endswith(".deid"):
        from divulge.table.arx_project import read_project

        asked.only("encoding", why=f"{source} is an ARX project, which says such things of itself")
        project = read_project(path, encoding=asked.encoding).open(engine=engine)
        return replace(project, source=project.source.replace(path, source))
    if (lakehouse := find_lakehouse(path)) is not None:
        asked.only("as_of", why=f"{source} is a table of {lakehouse.format}")
        return read_lakehouse(lakehouse, path, asked.as_of, source=source, engine=engine)
    files = find_files(path, source)
    asked.only(*_TAKES.get(files.kind, ()), why=f"{source} is {files.kind}")
    if files.kind in _ASKED_READERS:
        return _ASKED_READERS[files.kind](files, asked, source=source, engine=engine)
    return _READERS[files.kind](files, source=source, engine=engine)
