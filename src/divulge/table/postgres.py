# SPDX-License-Identifier: Apache-2.0
"""Reads one table or view of a PostgreSQL server, by URL, through ADBC (extra `postgres`).

Rows stream as Arrow batches, in one read-only transaction, into the engine's private directory. Types that Arrow does
not have come over as text: numeric becomes a decimal again on this side, arrays and json become JSON, the rest (uuid,
enum, inet, ...) stays text. The password appears in no message and in no Table.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from divulge.engines.base import double_quoted
from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.table.pick import pick_table
from divulge.table.postgres_url import PostgresUrl
from divulge.table.shapes import recast
from divulge.table.table import Table, check_names, table_of

_AS_IT_IS = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "date", "timestamp", "timestamptz"}
)
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
        if self.type == "numeric" and (type_ := self._decimal()):
            return f"CAST({name} AS {type_}) AS {name}"
        return name

    def is_free_numeric(self) -> bool:
        """Whether only the values tell how many digits there are."""
        return self.type == "numeric" and not self._decimal()

    def _decimal(self) -> str:
        """DECIMAL(p, s) as declared, or nothing; PostgreSQL packs both numbers into one and allows more than DuckDB."""
        precision, scale = (self.modifier - 4) >> 16, (self.modifier - 4) & 0x7FF
        fits = self.modifier >= 4 and precision <= _MOST_DIGITS and scale <= precision
        return f"DECIMAL({precision}, {scale})" if fits else ""


def read_postgres(address: str, *, engine: DuckDBEngine, table: str | None) -> Table:
    """The table called `table` (or schema.table), or the only one there is."""
    try:
        driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError as error:
        raise MissingDependency(
            "reading PostgreSQL needs adbc-driver-postgresql", hint="Install it with: pip install 'divulge[postgres]'"
        ) from error
    url = PostgresUrl.parse(address)
    try:
        with (
            contextlib.closing(driver.connect(address)) as connection,
            contextlib.closing(connection.cursor()) as cursor,
        ):
            return _read(cursor, url, engine=engine, table=table)
    except driver.Error as error:
        failure = url.redact(str(error))
    # Raised outside of the handler: the driver's own message, which may hold the password, must not be chained to it.
    raise BadInput(f"{url.shown} cannot be read: {failure.removeprefix('IO: ').removeprefix('[libpq] ')}")


def _read(cursor: Any, url: PostgresUrl, *, engine: DuckDBEngine, table: str | None) -> Table:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    schema, name, oid = _find(_rows(cursor, _TABLES), table, source=url.shown)
    source = f"table {name!r} of {url.shown}"
    fields = [_Field(**row) for row in _rows(cursor, _COLUMNS.format(oid=oid))]
    check_names((field.name for field in fields), source=source)
    wanted = ", ".join(field.select() for field in fields)
    cursor.execute(f"SELECT {wanted} FROM {double_quoted(schema)}.{double_quoted(name)}")
    stored = engine.store(cursor.fetch_record_batch(), select=", ".join(field.keep(engine) for field in fields))
    free = [field.name for field in fields if field.is_free_numeric()]
    return table_of(engine, recast(engine, stored, _numeric_types(engine, stored, free)), source=source)


def _rows(cursor: Any, sql: str) -> list[dict[str, Any]]:
    cursor.execute(sql)
    found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
    return found


def _find(tables: list[dict[str, Any]], asked: str | None, *, source: str) -> tuple[str, str, int]:
    """Schema, name and number of the table; schema.table finds any, a bare name those on the search path first."""
    known = {f"{row['schema']}.{row['name']}": row for row in tables} | {row["shown"]: row for row in tables}
    choices = [row["shown"] for row in tables]
    picked = known[asked if asked in known and asked is not None else pick_table(choices, asked, source=source)]
    return picked["schema"], picked["name"], picked["oid"]


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
    return {
        name: _numeric_type(found[f"whole{i}"] or 0, found[f"fraction{i}"] or 0, odd=bool(found[f"odd{i}"]))
        for i, name in enumerate(names)
    }


def _numeric_type(whole: int, fraction: int, *, odd: bool) -> str:
    if odd or not whole or whole + fraction > _MOST_DIGITS:
        return "DOUBLE"
    return "BIGINT" if fraction == 0 and whole <= 18 else f"DECIMAL({whole + fraction}, {fraction})"
