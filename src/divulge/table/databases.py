# SPDX-License-Identifier: Apache-2.0
"""Reads a table, a view, or what one SELECT gives, of a database: SQLite and DuckDB files, PostgreSQL and whatever has an ADBC driver.

Databases are read and never written: files are opened read-only, PostgreSQL in a read-only transaction, and a statement that is not one
SELECT is refused before it is sent anywhere. A table of a DuckDB file is read where it is; other rows stream, batch by batch, into the
engine's private directory.

SQLite lets every cell have its own type, so each column is looked at first: whole numbers, numbers, or text when
anything else is among them (bytes as hexadecimal text). ADBC's driver for SQLite is not used: it takes the type of a
column from its first rows and fails at a later cell of another.

PostgreSQL comes through ADBC as Arrow batches. Types that Arrow does not have come over as text: numeric becomes a
decimal again on this side, arrays and json become JSON, the rest (uuid, enum, inet, ...) stays text.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from divulge import engines
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, DivulgeError, MissingDependency
from divulge.table.frames import check_schema
from divulge.table.paths import Address, Files
from divulge.table.table import HowRead, ReadOptions, Table, check_names, pick, table_of
from divulge.table.text_files import column_types, recast

_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53
_SQLITE_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name"
)
_ASKED = "divulge_asked"
_AS_IT_IS = "bool int2 int4 int8 float4 float8 text varchar date timestamp timestamptz".split()
_MOST_DIGITS = 38
_TABLES = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS shown,
           n.nspname AS schema, c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    ORDER BY 1
"""
_DUCKDB_TABLES = """
    SELECT schema_name AS schema, table_name AS name FROM duckdb_tables() WHERE database_name = ?1 AND NOT internal
    UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ?1 AND NOT internal ORDER BY 1, 2
"""
_SELECT = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with|from|values|table)\b", re.IGNORECASE | re.DOTALL)


def one_select(sql: str, dialect: str | None) -> str:
    """The statement if it is one SELECT, which nothing can be written by; else it is refused.

    >>> one_select("SELECT zip FROM people;", "sqlite")
    'SELECT zip FROM people'
    >>> one_select("WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone", "postgres")
    Traceback (most recent call last):
    ...
    divulge.errors.BadInput: sql= is not one SELECT. Databases are only read: write one SELECT, or WITH ... SELECT
    """
    import sqlglot
    from sqlglot import exp

    refused = BadInput("sql= is not one SELECT", hint="Databases are only read: write one SELECT, or WITH ... SELECT")
    if not _SELECT.match(sql):  # sqlglot has no words of its own for the rest, and logs so
        raise refused
    try:
        parsed = [statement for statement in sqlglot.parse(sql, dialect=dialect) if statement is not None]
    except sqlglot.errors.SqlglotError as error:
        told = str(error).splitlines()[0].rstrip(".")
        raise BadInput(f"the statement of sql= cannot be understood: {told}") from None
    writing = (exp.DML, exp.DDL, exp.Into, exp.Command, exp.Lock)
    nodes = [node for statement in parsed for node in statement.walk()]
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select | exp.SetOperation | exp.Subquery | exp.Values):
        raise refused
    if any(isinstance(node, writing) and not isinstance(node, exp.Query) for node in nodes):
        raise refused
    return sql.strip().rstrip(";").rstrip()


def _refuse_both(asked: ReadOptions) -> None:
    if asked.sql is not None and asked.table is not None:
        raise BadInput("table= and sql= were both given, and either says what to read", hint="Leave one of them out")


# --- SQLite -----------------------------------------------------------------------------------------------------------
def read_sqlite(files: Files, asked: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """The table that is asked for, or the only one there is; or what a statement gives."""
    path = _one(files, asked, source=source)
    _refuse_cut_off(path, source=source)
    how = {"sql": asked.sql}
    try:
        # DuckDB pulls the batches from a thread of its own, one at a time.
        address = f"{path.as_uri()}?mode=ro"
        opened = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        with closing(opened) as connection:
            connection.execute("BEGIN")
            if asked.sql is not None:
                shown = f"the statement on {source}"
                _ask(connection, one_select(asked.sql, "sqlite"), source=shown)
                stored = _store(connection, _ASKED, engine=engine, source=shown)
            else:
                name = pick([name for (name,) in connection.execute(_SQLITE_TABLES)], asked.table, source=source)
                shown, how = f"table {name!r} of {source}", {"table": name}
                stored = _store(connection, name, engine=engine, source=shown)
    except sqlite3.Error as error:
        raise BadInput(f"{source} cannot be read: {error}") from error
    texts = [column for column, type_ in engine.describe(stored) if type_ == "VARCHAR"]
    dates = column_types(engine, stored, texts, numbers=False)
    return table_of(engine, recast(engine, stored, dates), source=shown, reading=HowRead("sqlite", how))


def _one(files: Files, asked: ReadOptions, *, source: str) -> Path:
    _refuse_both(asked)
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} databases", hint="Name one of them")
    return files.paths[0]


def _ask(connection: sqlite3.Connection, sql: str, *, source: str) -> None:
    """Keep what a statement gives where SQLite keeps temporary tables, for its columns are looked at before they are read."""
    check_names([row[0] for row in connection.execute(sql).description], source=source)
    connection.execute(f"CREATE TEMP TABLE {_ASKED} AS {sql}")


def _refuse_cut_off(path: Path, *, source: str) -> None:
    """SQLite reads the missing end of a file as zeros, that is, as rows of nulls: compare with the size it noted."""
    with path.open("rb") as file:
        header = file.read(32)
    page_size = int.from_bytes(header[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if path.stat().st_size < expected:
        raise BadInput(f"{source} is cut off: it should have {expected} bytes", hint="Copy the database again")


def _store(connection: sqlite3.Connection, table: str, *, engine: DuckDBEngine, source: str) -> str:
    relation = engines.double_quoted(table)
    names = [row[0] for row in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]
    check_names(names, source=source)
    columns = _columns_in_sqlite(connection, relation, names)
    rows = connection.execute(f"SELECT {', '.join(cell for cell, _ in columns)} FROM {relation}")
    failures: list[sqlite3.Error] = []
    schema = pa.schema(zip(names, (type_ for _, type_ in columns), strict=True))
    try:
        return engine.store(pa.RecordBatchReader.from_batches(schema, _batches(rows, schema, failures)))
    except DivulgeError as error:
        if not failures:
            raise
        reason = "a text in it is not UTF-8" if "UTF-8" in str(failures[0]) else str(failures[0])
        raise BadInput(f"{source} cannot be read: {reason}") from error


def _columns_in_sqlite(
    connection: sqlite3.Connection, relation: str, names: list[str]
) -> list[tuple[str, pa.DataType]]:
    """How each column is selected, and its Arrow type, from the types of all its cells."""
    cells = [engines.double_quoted(name) for name in names]
    checks = ", ".join(
        f"max(typeof({cell}) IN ('text', 'blob')), max(typeof({cell}) = 'real'), max(typeof({cell}) = 'integer'), "
        f"max(typeof({cell}) = 'integer' AND {cell} NOT BETWEEN -{_EXACT_IN_DOUBLE} AND {_EXACT_IN_DOUBLE})"
        for cell in cells
    )
    found = connection.execute(f"SELECT {checks} FROM {relation}").fetchone()
    return [_column_in_sqlite(cell, *found[4 * i : 4 * i + 4]) for i, cell in enumerate(cells)]


def _column_in_sqlite(cell: str, text: int, real: int, integer: int, long: int) -> tuple[str, pa.DataType]:
    """Text unless there are only numbers, and whole numbers too large for a double do not meet fractions."""
    if text or (real and long) or not (real or integer):
        return f"CASE typeof({cell}) WHEN 'blob' THEN hex({cell}) ELSE CAST({cell} AS TEXT) END", pa.string()
    return (f"CAST({cell} AS REAL)", pa.float64()) if real else (cell, pa.int64())


def _batches(rows: sqlite3.Cursor, schema: pa.Schema, failures: list[sqlite3.Error]) -> Iterator[pa.RecordBatch]:
    """The rows in batches; what goes wrong is noted in `failures`, because it reaches us through DuckDB only."""
    try:
        while chunk := rows.fetchmany(_BATCH_ROWS):
            cells = zip(zip(*chunk, strict=True), schema.types, strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(values, type_) for values, type_ in cells], schema=schema)
    except sqlite3.Error as error:
        failures.append(error)
        raise


# --- DuckDB -----------------------------------------------------------------------------------------------------------
def read_duckdb(files: Files, asked: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """The table that is asked for, or the only one there is, where it is; or what a statement gives."""
    path = _one(files, asked, source=source)
    if asked.sql is not None:
        return _ask_duckdb(path, one_select(asked.sql, "duckdb"), source=source, engine=engine)
    database = engine.attach(path, known_as=source)
    known = {
        row["name"] if row["schema"] == "main" else f"{row['schema']}.{row['name']}": (row["schema"], row["name"])
        for row in engine.query(_DUCKDB_TABLES, [database]).to_pylist()
    }
    name = pick(list(known), asked.table, source=source)
    relation = ".".join(map(engine.quote, (database, *known[name])))
    return table_of(engine, relation, source=f"table {name!r} of {source}", reading=HowRead("duckdb", {"table": name}))


def _ask_duckdb(path: Path, sql: str, *, source: str, engine: DuckDBEngine) -> Table:
    """In a connection of its own, where the statement sees the file as the default database and nothing beside it."""
    shown, settings = f"the statement on {source}", engine.locked_settings()
    try:
        with closing(duckdb.connect(str(path), read_only=True, config=settings)) as connection:
            found = connection.sql(sql)
            check_names(found.columns, source=shown)
            stored = engine.store(found.to_arrow_reader(_BATCH_ROWS))
    except duckdb.Error as error:
        told = str(error).replace(str(path), source).splitlines()[0]
        raise BadInput(f"{shown} cannot be answered: {told}") from None
    return table_of(engine, stored, source=shown, reading=HowRead("duckdb", {"sql": sql}))


# --- PostgreSQL -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Field:
    """One column of the server's table."""

    name: str
    type: str
    modifier: int
    nested: bool

    def select(self) -> str:
        """The column as it is asked from the server."""
        name = engines.double_quoted(self.name)
        if self.type in _AS_IT_IS:
            return name
        if self.type == "bytea":
            return f"encode({name}, 'hex') AS {name}"
        return f"to_json({name})::text AS {name}" if self.nested else f"{name}::text AS {name}"

    def keep(self, engine: DuckDBEngine) -> str:
        """The column as it is kept on this side."""
        name = engine.quote(self.name)
        if self.nested or self.type in ("json", "jsonb"):
            return f"CAST({name} AS JSON) AS {name}"
        if self.type == "numeric" and (type_ := self.decimal()):
            return f"CAST({name} AS {type_}) AS {name}"
        return name

    def decimal(self) -> str:
        """DECIMAL(p, s) as declared, or nothing; PostgreSQL packs both numbers into one and allows more than DuckDB."""
        precision, scale = (self.modifier - 4) >> 16, (self.modifier - 4) & 0x7FF
        fits = self.modifier >= 4 and precision <= _MOST_DIGITS and scale <= precision
        return f"DECIMAL({precision}, {scale})" if fits else ""


def read_postgres(address: Address, asked: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """The table that is asked for (as table or schema.table), or the only one there is; or what a statement gives."""
    _refuse_both(asked)
    try:
        driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError as error:
        hint = "Install it with: pip install 'divulge[postgres]'"
        raise MissingDependency("reading PostgreSQL needs adbc-driver-postgresql", hint=hint) from error
    try:
        with closing(driver.connect(address.url)) as connection, closing(connection.cursor()) as cursor:
            return _read(cursor, address, asked, engine=engine)
    except driver.Error as error:
        failure = address.redact(str(error))
    # Raised outside of the handler: the driver's own message, which may hold the password, must not be chained to it.
    raise BadInput(f"{address.shown} cannot be read: {failure.removeprefix('IO: ').removeprefix('[libpq] ')}")


def _read(cursor: Any, address: Address, asked: ReadOptions, *, engine: DuckDBEngine) -> Table:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if asked.sql is not None:
        how, source = {"sql": one_select(asked.sql, "postgres")}, f"the statement on {address.shown}"
        wanted = f"({how['sql']}\n) AS {_ASKED}"
        fields = _fields(cursor.adbc_execute_schema(how["sql"]))
    else:
        tables = _rows(cursor, _TABLES)
        # schema.table finds any, a bare name those on the search path first
        known = {f"{row['schema']}.{row['name']}": row for row in tables} | {row["shown"]: row for row in tables}
        names = [row["shown"] for row in tables]
        picked = known[asked.table if asked.table in known else pick(names, asked.table, source=address.shown)]
        how, source = {"table": f"{picked['schema']}.{picked['name']}"}, f"table {picked['name']!r} of {address.shown}"
        wanted = f"{engines.double_quoted(picked['schema'])}.{engines.double_quoted(picked['name'])}"
        fields = _fields(cursor.adbc_execute_schema(f"SELECT * FROM {wanted}"))
    check_names((column.name for column in fields), source=source)
    cursor.execute(f"SELECT {', '.join(column.select() for column in fields)} FROM {wanted}")
    stored = engine.store(cursor.fetch_record_batch(), select=", ".join(column.keep(engine) for column in fields))
    free = [column.name for column in fields if column.type == "numeric" and not column.decimal()]
    relation = recast(engine, stored, _numeric_types(engine, stored, free))
    return table_of(engine, relation, source=source, reading=HowRead("postgresql", how))


def _fields(schema: pa.Schema) -> list[_Field]:
    """The columns as the server describes them."""
    return [
        _Field(
            field.name,
            (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode(),
            int((field.metadata or {}).get(b"POSTGRESQL:typmod", -1)),
            nested=pa.types.is_nested(field.type),
        )
        for field in schema
    ]


def _rows(cursor: Any, sql: str) -> list[dict[str, Any]]:
    cursor.execute(sql)
    found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
    return found


def _numeric_types(engine: DuckDBEngine, relation: str, names: Sequence[str]) -> dict[str, str]:
    """For numeric columns declared without digits: the exact decimal that holds all values, else a double."""
    if not names:
        return {}
    widths = ", ".join(
        f"max(length(split_part(ltrim({cell}, '-'), '.', 1))) AS whole{i}, "
        f"max(length(split_part({cell}, '.', 2))) AS fraction{i}, "
        f"bool_or({cell} IN ('NaN', 'Infinity', '-Infinity')) AS odd{i}"
        for i, cell in enumerate(map(engine.quote, names))
    )
    found = engine.query(f"SELECT {widths} FROM {relation}").to_pylist()[0]
    types = {}
    for i, name in enumerate(names):
        whole, fraction = found[f"whole{i}"] or 0, found[f"fraction{i}"] or 0
        types[name] = "BIGINT" if fraction == 0 and whole <= 18 else f"DECIMAL({whole + fraction}, {fraction})"
        if found[f"odd{i}"] or not whole or whole + fraction > _MOST_DIGITS:
            types[name] = "DOUBLE"
    return types


# --- any other, by its ADBC driver ------------------------------------------------------------------------------------
_DRIVERS = {"grpc": "flightsql", "grpc+tls": "flightsql", "grpc+tcp": "flightsql"}
"""Schemes that are not named like their drivers."""


def read_adbc(address: Address, asked: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """A table, or what a statement gives, of a database whose driver is named like the scheme of its address."""
    _refuse_both(asked)
    try:
        from adbc_driver_manager import dbapi
    except ImportError:
        hint = "Install adbc-driver-manager and the driver of the database"
        told = f"{address.scheme}:// addresses are read by ADBC, and adbc-driver-manager is not installed"
        raise MissingDependency(told, hint=hint) from None
    name = _DRIVERS.get(address.scheme, address.scheme)
    try:
        with closing(dbapi.connect(_driver(name), uri=address.url, autocommit=True)) as connection:
            return _read_adbc(connection, name, address, asked, engine=engine)
    except dbapi.Error as error:
        failure = address.redact(str(error)).splitlines()[0]
    if "[Driver Manager] Could not load" in failure:
        raise MissingDependency(
            f"there is no ADBC driver {name!r} here, which reads {address.scheme}:// addresses",
            hint=f"Install it: pip install adbc-driver-{name}, or as a driver manifest (ADBC_DRIVER_PATH)",
        )
    raise BadInput(f"{address.shown} cannot be read: {failure}")


def _driver(name: str) -> str:
    """The driver of a Python package, if one is installed; else its name, which the driver manager looks for."""
    try:
        package = importlib.import_module(f"adbc_driver_{name.replace('-', '_')}")
    except ImportError:
        return name
    path = getattr(package, "_driver_path", None)
    return name if path is None else str(path())


def _read_adbc(connection: Any, name: str, address: Address, asked: ReadOptions, *, engine: DuckDBEngine) -> Table:
    from sqlglot import Dialect, exp

    dialect = name if name in Dialect.classes else None
    if asked.sql is not None:
        sql, source, how = one_select(asked.sql, dialect), f"the statement on {address.shown}", {"sql": asked.sql}
    else:
        known = _adbc_tables(connection)
        table = pick(list(known), asked.table, source=address.shown)
        catalog, schema, plain = known[table]
        target = exp.table_(plain, db=schema or None, catalog=catalog or None, quoted=True).sql(dialect=dialect)
        sql, source, how = f"SELECT * FROM {target}", f"table {table!r} of {address.shown}", {"table": table}
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        reader = cursor.fetch_record_batch()
        check_schema(reader.schema, source=source)
        stored = engine.store(reader)
    return table_of(engine, stored, source=source, reading=HowRead(f"adbc {name}", how))


def _adbc_tables(connection: Any) -> dict[str, tuple[str, str, str]]:
    """Each table's catalog, schema and name, by its name alone where that is enough."""
    found = [
        (catalog["catalog_name"] or "", schema["db_schema_name"] or "", table["table_name"])
        for catalog in connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        for schema in catalog["catalog_db_schemas"] or ()
        for table in schema["db_schema_tables"] or ()
    ]
    once = Counter(name for _, _, name in found)
    return {
        name if once[name] == 1 else ".".join(filter(None, (catalog, schema, name))): (catalog, schema, name)
        for catalog, schema, name in found
    }
