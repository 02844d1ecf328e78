# SPDX-License-Identifier: Apache-2.0
"""Reads one table or view of a database: of an SQLite file, or of a PostgreSQL server by its URL (extra `postgres`).

Either is read in one read-only transaction; the rows stream, batch by batch, into the engine's private directory.

SQLite lets every cell have its own type, so each column is looked at first: whole numbers, numbers, or text when
anything else is among them (bytes as hexadecimal text). ADBC's driver for SQLite is not used: it takes the type of a
column from its first rows and fails at a later cell of another.

PostgreSQL comes through ADBC as Arrow batches. Types that Arrow does not have come over as text: numeric becomes a
decimal again on this side, arrays and json become JSON, the rest (uuid, enum, inet, ...) stays text. The password
appears in no message and in no Table.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from divulge.engines import DuckDBEngine, double_quoted
from divulge.errors import BadInput, DivulgeError, MissingDependency, listed, nearest
from divulge.table.paths import Files
from divulge.table.reading import HowRead
from divulge.table.table import Table, check_names, table_of
from divulge.table.text_files import column_types, recast

SCHEMES = ("postgresql", "postgres")
_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53
_SQLITE_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name"
)
_HOSTS = re.compile(r"[^:@/]*(:\d*)?|\[[0-9a-fA-F:.]*\](:\d*)?")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret")
_AS_IT_IS = "bool int2 int4 int8 float4 float8 text varchar date timestamp timestamptz".split()
_MOST_DIGITS = 38
_TABLES = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS shown,
           n.nspname AS schema, c.relname AS name, c.oid::bigint AS oid
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    ORDER BY 1
"""
_COLUMNS = """
    SELECT a.attname AS name, coalesce(base.typname, t.typname) AS type,
           CASE WHEN base.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END AS modifier,
           coalesce(base.typcategory, t.typcategory) = 'A' OR coalesce(base.typtype, t.typtype) = 'c' AS nested
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type base ON base.oid = t.typbasetype
    WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""


def read_sqlite(files: Files, *, source: str, engine: DuckDBEngine, table: str | None) -> Table:
    """The table called `table`, or the only one there is."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} databases", hint="Name one of them")
    _refuse_cut_off(files.paths[0], source=source)
    try:
        # DuckDB pulls the batches from a thread of its own, one at a time.
        address = f"{files.paths[0].as_uri()}?mode=ro"
        opened = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        with closing(opened) as connection:
            connection.execute("BEGIN")
            name = _pick([name for (name,) in connection.execute(_SQLITE_TABLES)], table, source=source)
            stored = _store(connection, name, engine=engine, source=f"table {name!r} of {source}")
    except sqlite3.Error as error:
        raise BadInput(f"{source} cannot be read: {error}") from error
    texts = [column for column, type_ in engine.describe(stored) if type_ == "VARCHAR"]
    dates = column_types(engine, stored, texts, numbers=False)
    reading = HowRead("sqlite", {"table": name})
    return table_of(engine, recast(engine, stored, dates), source=f"table {name!r} of {source}", reading=reading)


def _refuse_cut_off(path: Path, *, source: str) -> None:
    """SQLite reads the missing end of a file as zeros, that is, as rows of nulls: compare with the size it noted."""
    with path.open("rb") as file:
        header = file.read(32)
    page_size = int.from_bytes(header[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if path.stat().st_size < expected:
        raise BadInput(f"{source} is cut off: it should have {expected} bytes", hint="Copy the database again")


def _store(connection: sqlite3.Connection, table: str, *, engine: DuckDBEngine, source: str) -> str:
    relation = double_quoted(table)
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
    cells = [double_quoted(name) for name in names]
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


@dataclass(frozen=True)
class PostgresUrl:
    """The parts of a URL that may be shown, and those that must not."""

    shown: str
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def parse(cls, address: str) -> PostgresUrl:
        """Take a URL apart; one that cannot be taken apart for sure is refused without being repeated."""
        parts = urlsplit(address)
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        if not all(map(_HOSTS.fullmatch, hosts.split(","))) or "@" in parts.path + parts.fragment:
            hint = "Write postgresql://user:password@host:port/database, with %-codes for / @ : ? # in the password"
            raise BadInput("the PostgreSQL URL cannot be read", hint=hint)
        secrets = [password, *(value for key, value in parse_qsl(parts.query) if key in _SECRET_OPTIONS)]
        shown = f"postgresql://{unquote(user)}{'@' if user else ''}{hosts}{parts.path}"
        spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret)) if spelling}
        return cls(shown, tuple(sorted(spellings, key=len, reverse=True)))

    def redact(self, text: str) -> str:
        """The text with every secret struck out."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


@dataclass(frozen=True)
class _Field:
    """One column of the server's table."""

    name: str
    type: str
    modifier: int
    nested: bool

    def select(self) -> str:
        """The column as it is asked from the server."""
        name = double_quoted(self.name)
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


def read_postgres(address: str, *, engine: DuckDBEngine, table: str | None) -> Table:
    """The table called `table` (or schema.table), or the only one there is."""
    try:
        driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError as error:
        hint = "Install it with: pip install 'divulge[postgres]'"
        raise MissingDependency("reading PostgreSQL needs adbc-driver-postgresql", hint=hint) from error
    url = PostgresUrl.parse(address)
    try:
        with closing(driver.connect(address)) as connection, closing(connection.cursor()) as cursor:
            return _read(cursor, url, engine=engine, table=table)
    except driver.Error as error:
        failure = url.redact(str(error))
    # Raised outside of the handler: the driver's own message, which may hold the password, must not be chained to it.
    raise BadInput(f"{url.shown} cannot be read: {failure.removeprefix('IO: ').removeprefix('[libpq] ')}")


def _read(cursor: Any, url: PostgresUrl, *, engine: DuckDBEngine, table: str | None) -> Table:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    tables = _rows(cursor, _TABLES)
    # schema.table finds any, a bare name those on the search path first
    known = {f"{row['schema']}.{row['name']}": row for row in tables} | {row["shown"]: row for row in tables}
    picked = known[table if table in known else _pick([row["shown"] for row in tables], table, source=url.shown)]
    schema, name = picked["schema"], picked["name"]
    source = f"table {name!r} of {url.shown}"
    fields = [_Field(**row) for row in _rows(cursor, _COLUMNS.format(oid=picked["oid"]))]
    check_names((column.name for column in fields), source=source)
    wanted = ", ".join(column.select() for column in fields)
    cursor.execute(f"SELECT {wanted} FROM {double_quoted(schema)}.{double_quoted(name)}")
    stored = engine.store(cursor.fetch_record_batch(), select=", ".join(column.keep(engine) for column in fields))
    free = [column.name for column in fields if column.type == "numeric" and not column.decimal()]
    relation = recast(engine, stored, _numeric_types(engine, stored, free))
    return table_of(engine, relation, source=source, reading=HowRead("postgresql", {"table": f"{schema}.{name}"}))


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


def _pick(tables: Sequence[str], asked: str | None, *, source: str) -> str:
    """The table's name; `tables` are the names a user may choose from."""
    if not tables:
        raise BadInput(f"{source} has no tables")
    if asked is None and len(tables) == 1:
        return tables[0]
    if asked is None:
        choices = f"Choose one with table=: {listed(tables)}"
        raise BadInput(f"{source} has {len(tables)} tables and none was chosen", hint=choices)
    if asked not in tables:
        raise BadInput(f"{source} has no table {asked!r}", hint=nearest(asked, tables))
    return asked
