# SPDX-License-Identifier: Apache-2.0
"""Open a table from any source: a path, a frame, a URL.

Inputs are never changed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import duckdb

from divulge import engines
from divulge.engines import DuckDBEngine, OwnEngine, SparkEngine, choose_engine
from divulge.errors import BadInput, nearest
from divulge.sources.arrow_files import read_arrow, read_arrow_stream
from divulge.sources.databases import read_adbc, read_duckdb, read_postgres, read_sqlite
from divulge.sources.delimited import read_delimited
from divulge.sources.frames import read_frame
from divulge.sources.json_files import read_json
from divulge.sources.lakehouse import read_lakehouse
from divulge.sources.parquet_files import read_parquet
from divulge.sources.paths import POSTGRES, Address, Files, LogTable, find_files, find_lakehouse
from divulge.sources.remote import STORES, WEB, Bucket, download, receive
from divulge.sources.spark_tables import find_spark_source, moved_to_spark, read_spark_frame
from divulge.sources.spreadsheets import read_sheet
from divulge.sources.statistics_files import read_statistics
from divulge.sources.table import ReadOptions, ReadSettings, Table, known_options, table_of
from divulge.validation import checked

_TEXT_OPTIONS = ("header", "delimiter", "encoding", "decimal")
_UNION_KINDS = ("csv", "parquet", "arrow")
"""Kinds of files whose columns may differ; a record of JSON may lack keys anyway."""
_DATABASE_OPTIONS = ("table", "sql")
_STATISTICS_OPTIONS = ("codes", "encoding")
_DATABASE_FILE_SCHEMES = ("sqlite", "duckdb")
_OPTIONS_BY_KIND = {
    "csv": _TEXT_OPTIONS,
    "sqlite": _DATABASE_OPTIONS,
    "duckdb": _DATABASE_OPTIONS,
    "excel": ("sheet", "header"),
    "spss": _STATISTICS_OPTIONS,
    "stata": _STATISTICS_OPTIONS,
}
"""Options of each kind of file."""
_READERS_WITH_OPTIONS = {
    "csv": read_delimited,
    "sqlite": read_sqlite,
    "duckdb": read_duckdb,
    "excel": read_sheet,
    "spss": read_statistics,
    "stata": read_statistics,
    "parquet": read_parquet,
    "arrow": read_arrow,
}
LOG = logging.getLogger("divulge.sources")
_READERS_WITHOUT_OPTIONS = {"json": read_json, "arrow stream": read_arrow_stream}


@checked
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
    union_columns: bool = False,
    engine: engines.EngineChoice = None,
) -> Table:
    """Open a table; all functions that take a table open it this way.

    Args:
        source: One of these:
            a file (CSV, JSON lines, Parquet, Arrow, SQLite, DuckDB, Excel, SPSS, Stata),
            a folder or glob of files, a Delta Lake or Iceberg table,
            an ARX project (.deid), which has roles and hierarchies of its own,
            an address (https://, s3://, gs://, az://),
            the address of a database (postgresql://, or one that has an ADBC driver),
            "-" for standard input, a pandas, Polars or Spark frame,
            an Arrow table, reader or dataset, a DuckDB relation,
            a table that was opened before, which is returned as it is,
            with Spark also the name of a table in a catalog,
            or a mapping of a source with its options, as in a policy:
            {"source": "clinic.duckdb", "table": "patients"}.
        table: Table of a database.
        sql: One SELECT for the database, instead of a table. Databases are never written to.
        as_of: Version of a Delta Lake table; snapshot, branch or tag of an Iceberg table; for both
            a point in time ("2026-01-31", UTC).
        sheet: Sheet of a spreadsheet; by default the only one that is not empty.
        header: Whether the first line of delimited text or of a sheet names the columns; detected
            by default.
        delimiter: Separator of the values of delimited text; detected by default.
        encoding: Encoding of delimited text.
        decimal: Decimal sign of delimited text, "," or "."; by default commas are detected where
            they can be nothing else.
        codes: For SPSS and Stata: keep the codes instead of their labels.
        union_columns: For several files with different columns: read a column that a file lacks as
            null there, instead of raising an error.
        engine: "duckdb" (the default), "spark", an engine, or a Spark session. A Spark frame is
            read in its own session.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> table = dv.read(pa.table({"zip": ["1", "2"], "age": [34, 51]}))
        >>> [(column.name, column.kind) for column in table.columns]
        [('zip', 'text'), ('age', 'number')]
    """
    options = ReadOptions(
        table, sql, as_of, sheet, header, delimiter, encoding, decimal, codes, union_columns
    )
    chosen_engine = choose_engine(engine)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        # An address may hold a password.
        LOG.info("reading %s", f"{path.partition('://')[0]}://" if "://" in path else path)
        if isinstance(chosen_engine, SparkEngine):
            return _read_with_spark(path, options, engine=chosen_engine)
        return _read_path(path, options, engine=chosen_engine or DuckDBEngine())
    if isinstance(source, Mapping) and "source" in source:
        return _read_named(source, options, engine=engine)
    return _read_object(source, options, chosen_engine)


def _read_named(
    named_source: Mapping[str, Any], read_options: ReadOptions, *, engine: engines.EngineChoice
) -> Table:
    """Open a source that is named with its options."""
    read_options.only(why="options stand beside the source, where it is named so")
    options = {name: value for name, value in named_source.items() if name != "source"}
    if unknown := [name for name in options if name not in known_options()]:
        raise BadInput(
            f"a table has no option {unknown[0]!r}", hint=nearest(unknown[0], known_options())
        )
    return read(named_source["source"], **options, engine=engine)


def _read_object(source: object, options: ReadOptions, chosen_engine: OwnEngine | None) -> Table:
    """Open a table, a relation or a frame that is already in memory."""
    options.only(why="it is neither a file nor a database")
    if isinstance(source, Table):
        if chosen_engine is not None and chosen_engine.name != source.engine.name:
            raise BadInput(
                f"{source.source} was opened with {source.engine.name}, and {chosen_engine.name} "
                "was asked for",
                hint="Open it with the engine that is to count it",
            )
        return source
    if (frame := engines.as_spark_frame(source)) is not None:
        return read_spark_frame(frame, engine=chosen_engine)
    if isinstance(chosen_engine, SparkEngine):
        return moved_to_spark(read(source), engine=chosen_engine)
    if isinstance(source, duckdb.DuckDBPyRelation):
        relation_engine = engines.RelationEngine(source)
        return table_of(
            relation_engine,
            relation_engine.relation,
            source="the DuckDB relation",
            reading=ReadSettings("relation"),
        )
    table = read_frame(source, engine=chosen_engine or DuckDBEngine())
    if table is None:
        raise BadInput(
            f"a table cannot be read from {type(source).__module__}.{type(source).__qualname__}",
            hint="Give a path, a URL, a pandas, Polars or Spark frame, an Arrow table, reader or "
            "dataset, a DuckDB relation",
        )
    return table


def read_with_engine_of(table: Table, source: object) -> Table:
    """Open another table to compare with this one.

    It has the same engine, and so the same limits, unless it has its own.
    """
    has_own_engine = isinstance(source, Table) or engines.as_spark_frame(source) is not None
    shares_engine = isinstance(table.engine, SparkEngine) or (
        isinstance(table.engine, DuckDBEngine) and not has_own_engine
    )
    return read(source, engine=table.engine if shares_engine else None)


def own_table(table: Table) -> tuple[Table, OwnEngine]:
    """Return the table in an engine of ours, and that engine.

    Nothing is put into the connection of a user's relation.
    """
    if isinstance(table.engine, OwnEngine):
        return table, table.engine
    engine = DuckDBEngine()
    rows = table.engine.query(f"SELECT * FROM {table.relation}")
    opened = read(rows, engine=engine)
    return replace(opened, source=table.source, frame=table.frame, reading=table.reading), engine


def _read_with_spark(source: str, options: ReadOptions, *, engine: SparkEngine) -> Table:
    """Read with Spark's workers what Spark reads well; read the rest here and move it."""
    spark_source = find_spark_source(source, encoding=options.encoding, engine=engine)
    if spark_source is None:
        return moved_to_spark(_read_path(source, options, engine=DuckDBEngine()), engine=engine)
    several = (
        ("union_columns",)
        if spark_source.kind in ("csv", "parquet") and spark_source.may_be_several
        else ()
    )
    options.only(
        *(_TEXT_OPTIONS if spark_source.kind == "csv" else ()),
        *several,
        why=f"{source} is {spark_source.kind}",
    )
    return spark_source.read(engine, options)


def _read_path(source: str, options: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """Read from a path or an address: query a database, and copy remote files first."""
    if source == "-":
        return _read_local(str(receive(engine)), options, engine=engine, source="standard input")
    if (address := Address.of(source)) is None:
        return _read_local(source, options, engine=engine, source=source)
    if (
        address.scheme in _DATABASE_FILE_SCHEMES
    ):  # as SQLAlchemy writes them: three slashes, then the path
        return _read_path(unquote(source.partition(":///")[2]), options, engine=engine)
    if address.scheme in WEB:
        return _read_local(
            str(download(address, engine)), options, engine=engine, source=address.display_name
        )
    if address.scheme in STORES:
        bucket = Bucket.of(address)
        if (form := bucket.log_format()) is not None:
            options.only("as_of", why=f"{address.display_name} is a table of {form}")
            table = LogTable(address.display_name, form)
            return read_lakehouse(
                table, address.url, options.as_of, source=address.display_name, engine=engine
            )
        return _read_local(
            str(bucket.fetch(engine)), options, engine=engine, source=address.display_name
        )
    options.only(*_DATABASE_OPTIONS, why=f"{address.display_name} is a database")
    return (read_postgres if address.scheme in POSTGRES else read_adbc)(
        address, options, engine=engine
    )


def _read_local(path: str, options: ReadOptions, *, engine: DuckDBEngine, source: str) -> Table:
    """Read a file, folder or glob of this machine; `source` is the user's name for it."""
    if path.lower().endswith(".deid"):
        from divulge.sources.arx_project import read_project

        options.only(
            "encoding", why=f"{source} is an ARX project, which says such things of itself"
        )
        project = read_project(path, encoding=options.encoding).open(engine=engine)
        return replace(project, source=project.source.replace(path, source))
    if (lakehouse := find_lakehouse(path)) is not None:
        options.only("as_of", why=f"{source} is a table of {lakehouse.format}")
        return read_lakehouse(lakehouse, path, options.as_of, source=source, engine=engine)
    files = find_files(path, source)
    _check_options(files, options, source=source)
    if files.kind in _READERS_WITH_OPTIONS:
        return _READERS_WITH_OPTIONS[files.kind](files, options, source=source, engine=engine)
    return _READERS_WITHOUT_OPTIONS[files.kind](files, source=source, engine=engine)


def _check_options(files: Files, options: ReadOptions, *, source: str) -> None:
    """Raise an error for an option that has no effect on these files."""
    takes = _OPTIONS_BY_KIND.get(files.kind, ())
    if files.kind in _UNION_KINDS:
        takes = (*takes, "union_columns")
        if len(files.paths) == 1:
            replace(ReadOptions(), union_columns=options.union_columns).only(
                why=f"{source} is one file"
            )
    options.only(*takes, why=f"{source} is {files.kind}")
