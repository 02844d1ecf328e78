# SPDX-License-Identifier: Apache-2.0
"""Read a table, a view or the result of one SELECT from a database.

Supported are SQLite and DuckDB files, PostgreSQL and all databases with an ADBC driver.

Databases are never written to. Files are opened read-only, PostgreSQL in a read-only transaction. A
statement that is not one SELECT raises an error before it is sent. A table of a DuckDB file is read
in place; other rows are streamed, batch by batch, into the engine's private directory.

SQLite lets every cell have its own type, so each column is examined first: whole numbers, numbers,
or text if it has anything else (bytes as hexadecimal text). ADBC's driver for SQLite is not used:
it takes the type of a column from its first rows and fails at a later cell of another type.

PostgreSQL is read through ADBC as Arrow batches. Types that Arrow does not have are sent as text.
Numeric becomes a decimal again on this side, arrays and json become JSON, the rest (uuid, enum,
inet, ...) stays text.
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
from divulge.arguments import arg, outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, DivulgeError, MissingDependency
from divulge.sources.arrow_values import checked_reader
from divulge.sources.delimited import column_types, recast
from divulge.sources.paths import Address, Files
from divulge.sources.table import (
    DECIMAL_DIGITS,
    ReadOptions,
    ReadSettings,
    Table,
    check_names,
    pick,
    table_of,
)

_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53
_SQLITE_TABLES = (
    "SELECT name "
    "FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name"
)
_QUERY_TABLE = "divulge_asked"
_NATIVE_TYPES = "bool int2 int4 int8 float4 float8 text varchar date timestamp timestamptz".split()
_EXACT_DIGITS = 15
"""Number of decimal digits that a double represents exactly."""
_TABLES = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS shown,
           n.nspname AS schema, c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    ORDER BY 1
"""  # noqa: E501
_DUCKDB_TABLES = """
    SELECT schema_name AS schema, table_name AS name FROM duckdb_tables() WHERE database_name = ?1 AND NOT internal
    UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ?1 AND NOT internal ORDER BY 1, 2
"""  # noqa: E501
_SELECT = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with|from|values|table)\b", re.IGNORECASE | re.DOTALL
)


def one_select(sql: str, dialect: str | None) -> str:
    """Return the statement if it is one SELECT, which cannot write; raise an error otherwise.

    >>> one_select("SELECT zip FROM people;", "sqlite")
    'SELECT zip FROM people'
    >>> one_select("WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone", "postgres")
    Traceback (most recent call last):
    ...
    divulge.errors.BadInput: sql= is not one SELECT. Databases are only read: write one SELECT, or WITH ... SELECT
    """  # noqa: E501
    import sqlglot
    from sqlglot import exp

    refused = BadInput(
        f"{arg('sql')} is not one SELECT",
        hint="Databases are only read: write one SELECT, or WITH ... SELECT",
    )
    if not _SELECT.match(sql):  # sqlglot would log a warning for other statements
        raise refused
    try:
        parsed = [
            statement for statement in sqlglot.parse(sql, dialect=dialect) if statement is not None
        ]
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise BadInput(
            f"the statement of {arg('sql')} cannot be understood: {outside(reason)}"
        ) from None
    writing = (exp.DML, exp.DDL, exp.Into, exp.Command, exp.Lock)
    nodes = [node for statement in parsed for node in statement.walk()]
    if len(parsed) != 1 or not isinstance(
        parsed[0], exp.Select | exp.SetOperation | exp.Subquery | exp.Values
    ):
        raise refused
    if any(isinstance(node, writing) and not isinstance(node, exp.Query) for node in nodes):
        raise refused
    return sql.strip().rstrip(";").rstrip()


def _check_table_or_sql(options: ReadOptions) -> None:
    if options.sql is not None and options.table is not None:
        raise BadInput(
            f"{arg('table')} and {arg('sql')} were both given, and either says what to read",
            hint="Leave one of them out",
        )


# --- SQLite ---------------------------------------------------------------------------------------
def read_sqlite(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the requested table, or the only one, or the result of a statement."""
    path = _single_file(files, options, source=source)
    _check_complete(path, source=source)
    how = {"sql": options.sql}
    try:
        # DuckDB pulls the batches from a thread of its own, one at a time.
        address = f"{path.as_uri()}?mode=ro"
        sqlite_connection = sqlite3.connect(
            address, uri=True, check_same_thread=False, isolation_level=None
        )
        with closing(sqlite_connection) as connection:
            connection.execute("BEGIN")
            if options.sql is not None:
                description = f"the statement on {source}"
                _store_query(connection, one_select(options.sql, "sqlite"), source=description)
                stored = _store(connection, _QUERY_TABLE, engine=engine, source=description)
            else:
                name = pick(
                    [name for (name,) in connection.execute(_SQLITE_TABLES)],
                    options.table,
                    source=source,
                )
                description = f"table {name!r} of {source}"
                how = {"table": name}
                stored = _store(connection, name, engine=engine, source=description)
    except sqlite3.Error as error:
        raise BadInput(f"{source} cannot be read: {outside(error)}") from error
    texts = [column for column, type_ in engine.describe(stored) if type_ == "VARCHAR"]
    dates = column_types(engine, stored, texts, numbers=False)
    return table_of(
        engine,
        recast(engine, stored, dates),
        source=description,
        reading=ReadSettings("sqlite", how),
    )


def _single_file(files: Files, options: ReadOptions, *, source: str) -> Path:
    _check_table_or_sql(options)
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} databases", hint="Name one of them")
    return files.paths[0]


def _store_query(connection: sqlite3.Connection, sql: str, *, source: str) -> None:
    """Store the result of a statement in a temporary table of SQLite.

    Its columns are examined before they are read.
    """
    check_names([row[0] for row in connection.execute(sql).description], source=source)
    connection.execute(f"CREATE TEMP TABLE {_QUERY_TABLE} AS {sql}")


def _check_complete(path: Path, *, source: str) -> None:
    """Raise an error if the file is shorter than the size in its header.

    SQLite would read the missing end as zeros, that is, as rows of nulls.
    """
    with path.open("rb") as file:
        header = file.read(32)
    page_size = int.from_bytes(header[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if path.stat().st_size < expected:
        raise BadInput(
            f"{source} is cut off: it should have {expected} bytes", hint="Copy the database again"
        )


def _store(connection: sqlite3.Connection, table: str, *, engine: DuckDBEngine, source: str) -> str:
    relation = engines.double_quoted(table)
    names = [row[0] for row in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]
    check_names(names, source=source)
    columns = _columns_in_sqlite(connection, relation, names)
    rows = connection.execute(f"SELECT {', '.join(cell for cell, _ in columns)} FROM {relation}")
    failures: list[sqlite3.Error] = []
    schema = pa.schema(zip(names, (type_ for _, type_ in columns), strict=True))
    try:
        return engine.store(
            pa.RecordBatchReader.from_batches(schema, _batches(rows, schema, failures))
        )
    except DivulgeError as error:
        if not failures:
            raise
        if "UTF-8" in str(failures[0]):
            reason = "a text in it is not UTF-8"
        else:
            reason = str(failures[0])
        raise BadInput(f"{source} cannot be read: {outside(reason)}") from error


def _columns_in_sqlite(
    connection: sqlite3.Connection, relation: str, names: list[str]
) -> list[tuple[str, pa.DataType]]:
    """Return the SQL expression and the Arrow type of each column, from all its cells."""
    cells = [engines.double_quoted(name) for name in names]
    checks = ", ".join(
        f"max(typeof({cell}) IN ('text', 'blob')), max(typeof({cell}) = 'real'), "
        f"max(typeof({cell}) = 'integer'), max(typeof({cell}) = 'integer' AND {cell} NOT BETWEEN "
        f"-{_EXACT_IN_DOUBLE} AND {_EXACT_IN_DOUBLE})"
        for cell in cells
    )
    checks_row = connection.execute(f"SELECT {checks} FROM {relation}").fetchone()
    return [_column_in_sqlite(cell, *checks_row[4 * i : 4 * i + 4]) for i, cell in enumerate(cells)]


def _column_in_sqlite(
    cell: str, text: int, real: int, integer: int, long: int
) -> tuple[str, pa.DataType]:
    """Return SQL and Arrow type: text unless all cells are numbers that one type represents.

    Whole numbers too large for a double must not be mixed with fractions.
    """
    if text or (real and long) or not (real or integer):
        return (
            f"CASE typeof({cell}) WHEN 'blob' THEN hex({cell}) ELSE CAST({cell} AS TEXT) END",
            pa.string(),
        )
    if real:
        return (f"CAST({cell} AS REAL)", pa.float64())
    return (cell, pa.int64())


def _batches(
    rows: sqlite3.Cursor, schema: pa.Schema, failures: list[sqlite3.Error]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches; errors are added to `failures`, because DuckDB wraps them."""
    try:
        while chunk := rows.fetchmany(_BATCH_ROWS):
            cells = zip(zip(*chunk, strict=True), schema.types, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(values, type_) for values, type_ in cells], schema=schema
            )
    except sqlite3.Error as error:
        failures.append(error)
        raise


# --- DuckDB ---------------------------------------------------------------------------------------
def read_duckdb(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the requested table, or the only one, in place; or the result of a statement."""
    path = _single_file(files, options, source=source)
    if options.sql is not None:
        return _read_duckdb_query(
            path, one_select(options.sql, "duckdb"), source=source, engine=engine
        )
    database = engine.attach(path, known_as=source)
    tables = {
        row["name"] if row["schema"] == "main" else f"{row['schema']}.{row['name']}": (
            row["schema"],
            row["name"],
        )
        for row in engine.query(_DUCKDB_TABLES, [database]).to_pylist()
    }
    name = pick(list(tables), options.table, source=source)
    relation = ".".join(map(engine.quote, (database, *tables[name])))
    return table_of(
        engine,
        relation,
        source=f"table {name!r} of {source}",
        reading=ReadSettings("duckdb", {"table": name}),
    )


def _read_duckdb_query(path: Path, sql: str, *, source: str, engine: DuckDBEngine) -> Table:
    """Run a statement in a separate connection, which sees only this file.

    The file is its default database.
    """
    description = f"the statement on {source}"
    settings = engine.locked_settings()
    try:
        with closing(duckdb.connect(str(path), read_only=True, config=settings)) as connection:
            relation = connection.sql(sql)
            check_names(relation.columns, source=description)
            stored = engine.store(relation.to_arrow_reader(_BATCH_ROWS))
    except duckdb.Error as error:
        reason = str(error).replace(str(path), source).splitlines()[0]
        raise BadInput(f"{description} cannot be answered: {outside(reason)}") from None
    return table_of(
        engine, stored, source=description, reading=ReadSettings("duckdb", {"sql": sql})
    )


# --- PostgreSQL -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Field:
    """One column of the server's table."""

    name: str
    type: str
    modifier: int
    nested: bool

    def select(self) -> str:
        """Return the expression that the server evaluates."""
        name = engines.double_quoted(self.name)
        if self.type in _NATIVE_TYPES:
            return name
        if self.type == "bytea":
            return f"encode({name}, 'hex') AS {name}"
        if self.nested:
            return f"to_json({name})::text AS {name}"
        return f"{name}::text AS {name}"

    def keep(self, engine: DuckDBEngine) -> str:
        """Return the expression that casts the column on this side."""
        name = engine.quote(self.name)
        if self.nested or self.type in ("json", "jsonb"):
            return f"CAST({name} AS JSON) AS {name}"
        if self.type == "numeric" and (type_ := self.decimal()):
            return f"CAST({name} AS {type_}) AS {name}"
        return name

    def decimal(self) -> str:
        """Return DECIMAL(p, s) as declared; empty if DuckDB does not support it.

        PostgreSQL encodes both numbers in one, and allows more digits than DuckDB.
        """
        precision = (self.modifier - 4) >> 16
        scale = (self.modifier - 4) & 0x7FF
        fits = self.modifier >= 4 and precision <= DECIMAL_DIGITS and scale <= precision
        if fits:
            return f"DECIMAL({precision}, {scale})"
        return ""


def read_postgres(address: Address, options: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """Read the requested table (as table or schema.table), or the only one.

    With `sql`, read the result of the statement.
    """
    _check_table_or_sql(options)
    try:
        driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError as error:
        raise MissingDependency(
            "reading PostgreSQL needs adbc-driver-postgresql", extra="postgres"
        ) from error
    try:
        with (
            closing(driver.connect(address.url)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            return _read_postgres_table(cursor, address, options, engine=engine)
    except driver.Error as error:
        failure = address.redact(str(error))
    # Raised outside of the handler: the driver's own message may hold the password, and must not be
    # chained.
    reason = failure.removeprefix("IO: ").removeprefix("[libpq] ")
    raise BadInput(f"{address.display_name} cannot be read: {outside(reason)}")


def _read_postgres_table(
    cursor: Any, address: Address, options: ReadOptions, *, engine: DuckDBEngine
) -> Table:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if options.sql is not None:
        how = {"sql": one_select(options.sql, "postgres")}
        source = f"the statement on {address.display_name}"
        source_sql = f"({how['sql']}\n) AS {_QUERY_TABLE}"
        fields = _fields(cursor.adbc_execute_schema(how["sql"]))
    else:
        tables = _query_rows(cursor, _TABLES)
        # schema.table names any table; a bare name prefers those on the search path
        tables_by_name = {f"{row['schema']}.{row['name']}": row for row in tables} | {
            row["shown"]: row for row in tables
        }
        names = [row["shown"] for row in tables]
        table_row = tables_by_name[
            options.table
            if options.table in tables_by_name
            else pick(names, options.table, source=address.display_name)
        ]
        how = {"table": f"{table_row['schema']}.{table_row['name']}"}
        source = f"table {table_row['name']!r} of {address.display_name}"
        schema_sql = engines.double_quoted(table_row["schema"])
        source_sql = f"{schema_sql}.{engines.double_quoted(table_row['name'])}"
        fields = _fields(cursor.adbc_execute_schema(f"SELECT * FROM {source_sql}"))
    check_names((column.name for column in fields), source=source)
    cursor.execute(f"SELECT {', '.join(column.select() for column in fields)} FROM {source_sql}")
    stored = engine.store(
        cursor.fetch_record_batch(), select=", ".join(column.keep(engine) for column in fields)
    )
    free_numerics = [
        column.name for column in fields if column.type == "numeric" and not column.decimal()
    ]
    relation = recast(engine, stored, _numeric_types(engine, stored, free_numerics))
    return table_of(engine, relation, source=source, reading=ReadSettings("postgresql", how))


def _fields(schema: pa.Schema) -> list[_Field]:
    """Return the columns as the server describes them."""
    return [
        _Field(
            field.name,
            (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode(),
            int((field.metadata or {}).get(b"POSTGRESQL:typmod", -1)),
            nested=pa.types.is_nested(field.type),
        )
        for field in schema
    ]


def _query_rows(cursor: Any, sql: str) -> list[dict[str, Any]]:
    cursor.execute(sql)
    rows: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
    return rows


def _numeric_types(engine: DuckDBEngine, relation: str, names: Sequence[str]) -> dict[str, str]:
    """Return types of numeric columns that are declared without digits.

    It is the exact decimal that holds all values, else text. If NaN or an infinity occurs with
    numbers of few digits, it is a double.
    """
    if not names:
        return {}
    widths = ", ".join(
        f"max(length(split_part(ltrim({cell}, '-'), '.', 1))) AS whole{i}, "
        f"max(length(split_part({cell}, '.', 2))) AS fraction{i}, "
        f"bool_or({cell} IN ('NaN', 'Infinity', '-Infinity')) AS odd{i}"
        for i, cell in enumerate(map(engine.quote, names))
    )
    digit_counts = engine.query(f"SELECT {widths} FROM {relation}").to_pylist()[0]
    types = {}
    for i, name in enumerate(names):
        integer_digits = digit_counts[f"whole{i}"] or 0
        fraction = digit_counts[f"fraction{i}"] or 0
        if fraction == 0 and integer_digits <= 18:
            types[name] = "BIGINT"
        else:
            types[name] = f"DECIMAL({integer_digits + fraction}, {fraction})"
        if integer_digits + fraction > (
            _EXACT_DIGITS if digit_counts[f"odd{i}"] else DECIMAL_DIGITS
        ):
            types[name] = "VARCHAR"
        elif digit_counts[f"odd{i}"] or not integer_digits:
            types[name] = "DOUBLE"
    return types


# --- other databases, by their ADBC drivers ---------------------------------------------------
_DRIVERS = {"grpc": "flightsql", "grpc+tls": "flightsql", "grpc+tcp": "flightsql"}
"""Drivers of schemes that are not named like their drivers."""


def read_adbc(address: Address, options: ReadOptions, *, engine: DuckDBEngine) -> Table:
    """Read a table or a statement from a database by the ADBC driver of its scheme."""
    _check_table_or_sql(options)
    try:
        from adbc_driver_manager import dbapi
    except ImportError:
        hint = "Install adbc-driver-manager and the driver of the database"
        message = (
            f"{address.scheme}:// addresses are read by ADBC, and adbc-driver-manager is not "
            "installed"
        )
        raise MissingDependency(message, hint=hint) from None
    name = _DRIVERS.get(address.scheme, address.scheme)
    try:
        with closing(
            dbapi.connect(_find_driver(name), uri=address.url, autocommit=True)
        ) as connection:
            return _read_adbc(connection, name, address, options, engine=engine)
    except dbapi.Error as error:
        failure = address.redact(str(error)).splitlines()[0]
    if "[Driver Manager] Could not load" in failure:
        raise MissingDependency(
            f"there is no ADBC driver {name!r} here, which reads {address.scheme}:// addresses",
            hint=f"Install it: pip install adbc-driver-{name}, or as a driver manifest "
            "(ADBC_DRIVER_PATH)",
        )
    raise BadInput(f"{address.display_name} cannot be read: {outside(failure)}")


def _find_driver(name: str) -> str:
    """Return the path of the driver of an installed Python package.

    Without a package, return its name, which the driver manager looks up.
    """
    try:
        package = importlib.import_module(f"adbc_driver_{name.replace('-', '_')}")
    except ImportError:
        return name
    path = getattr(package, "_driver_path", None)
    if path is None:
        return name
    return str(path())


def _read_adbc(
    connection: Any, name: str, address: Address, options: ReadOptions, *, engine: DuckDBEngine
) -> Table:
    from sqlglot import Dialect, exp

    if name in Dialect.classes:
        dialect = name
    else:
        dialect = None
    if options.sql is not None:
        sql = one_select(options.sql, dialect)
        source = f"the statement on {address.display_name}"
        how = {"sql": options.sql}
    else:
        tables_by_name = _adbc_tables(connection)
        table = pick(list(tables_by_name), options.table, source=address.display_name)
        catalog, schema, plain = tables_by_name[table]
        target = exp.table_(plain, db=schema or None, catalog=catalog or None, quoted=True).sql(
            dialect=dialect
        )
        sql = f"SELECT * FROM {target}"
        source = f"table {table!r} of {address.display_name}"
        how = {"table": table}
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        reader = cursor.fetch_record_batch()
        stored = engine.store(checked_reader(reader, source=source))
    return table_of(engine, stored, source=source, reading=ReadSettings(f"adbc {name}", how))


def _adbc_tables(connection: Any) -> dict[str, tuple[str, str, str]]:
    """Return each table's catalog, schema and name, keyed by its name alone if that is unique."""
    table_names = [
        (catalog["catalog_name"] or "", schema["db_schema_name"] or "", table["table_name"])
        for catalog in connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        for schema in catalog["catalog_db_schemas"] or ()
        for table in schema["db_schema_tables"] or ()
    ]
    name_counts = Counter(name for _, _, name in table_names)
    return {
        name if name_counts[name] == 1 else ".".join(filter(None, (catalog, schema, name))): (
            catalog,
            schema,
            name,
        )
        for catalog, schema, name in table_names
    }
