# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL, on a real server: types, names, schemas, and a password that is never shown."""

from __future__ import annotations

import datetime as dt
import sys
import traceback
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

from divulge.errors import BadInput, MissingDependency
from divulge.sources import Table, read
from divulge.sources.paths import Address
from tests.sources.postgres_server import PASSWORD, PostgresServer

WRONG = "hunter2"


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return found


@pytest.mark.parametrize(
    ("type_", "value", "engine_type", "found"),
    [
        ("int2", "7", "SMALLINT", 7),
        ("int8", "9223372036854775807", "BIGINT", 2**63 - 1),
        ("float8", "1.5", "DOUBLE", 1.5),
        ("numeric(10, 2)", "12.30", "DECIMAL(10,2)", Decimal("12.30")),
        ("numeric", "-123.4560", "DECIMAL(7,4)", Decimal("-123.4560")),
        ("numeric", "12345678901234567", "BIGINT", 12345678901234567),
        ("numeric", "1e45", "VARCHAR", "1" + "0" * 45),
        ("numeric(3, -2)", "1234", "BIGINT", 1200),
        ("bool", "true", "BOOLEAN", True),
        ("text", "'007'", "VARCHAR", "007"),
        ("char(4)", "'x'", "VARCHAR", "x"),
        ("date", "'2024-01-31'", "DATE", dt.date(2024, 1, 31)),
        ("timestamp", "'2024-01-31 10:00'", "TIMESTAMP", dt.datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        (
            "uuid",
            "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'",
            "VARCHAR",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        ),
        ("inet", "'10.0.0.1'", "VARCHAR", "10.0.0.1/32"),
        ("bytea", r"'\x00ff'", "VARCHAR", "00ff"),
        ("int[]", "'{1,2}'", "JSON", "[1,2]"),
        ("jsonb", """'{"a": 1}'""", "JSON", '{"a": 1}'),
        ("mood", "'sad'", "VARCHAR", "sad"),
        ("price", "1.5", "DECIMAL(6,2)", Decimal("1.50")),
    ],
)
def test_types(
    type_: str, value: str, engine_type: str, found: object, database: PostgresServer
) -> None:
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE DOMAIN price AS numeric(6, 2)",
        f"CREATE TABLE people (id int, value {type_})",
        f"INSERT INTO people VALUES (1, {value}), (2, NULL)",
    )
    table = read(database.url)
    assert table.column("value").type == engine_type
    assert {row["id"]: row["value"] for row in rows(table)} == {1: found, 2: None}


def test_free_numerics_that_are_not_numbers(database: PostgresServer) -> None:
    database.run("CREATE TABLE people (value numeric)", "INSERT INTO people VALUES ('NaN'), (1.5)")
    assert read(database.url).column("value").type == "DOUBLE"


def test_which_table(database: PostgresServer) -> None:
    database.run(
        "CREATE SCHEMA other",
        'CREATE TABLE "Odd.\'name" (a int)',
        'INSERT INTO "Odd.\'name" VALUES (7)',
    )
    assert rows(read(database.url)) == [{"a": 7}]
    database.run(
        "CREATE TABLE other.people (b int)",
        "CREATE VIEW v AS SELECT 5 AS c",
        "CREATE MATERIALIZED VIEW m AS SELECT 6 AS d",
    )
    with pytest.raises(
        BadInput,
        match=r"""has 4 tables and none was chosen.*"Odd\.'name", 'm', 'other\.people', 'v'""",
    ):
        read(database.url)
    with pytest.raises(BadInput, match=r"no table 'people'\. did you mean 'other\.people'"):
        read(database.url, table="people")
    assert rows(read(database.url, table="Odd.'name")) == rows(
        read(database.url, table="public.Odd.'name")
    )
    assert rows(read(database.url, table="other.people")) == []
    assert rows(read(database.url, table="v")) == [{"c": 5}]
    assert rows(read(database.url, table="m")) == [{"d": 6}]


def test_partitions_are_one_table(database: PostgresServer) -> None:
    database.run(
        "CREATE TABLE people (a int) PARTITION BY LIST (a)",
        "CREATE TABLE part1 PARTITION OF people FOR VALUES IN (1)",
        "CREATE TABLE part2 PARTITION OF people FOR VALUES IN (2)",
        "INSERT INTO people VALUES (1), (2)",
    )
    assert sorted(row["a"] for row in rows(read(database.url))) == [1, 2]


def test_names_that_differ_in_case(database: PostgresServer) -> None:
    database.run('CREATE TABLE people (a int, "A" int)')
    with pytest.raises(BadInput, match="differ only in upper and lower case"):
        read(database.url)


def test_a_table_without_columns_and_a_database_without_tables(database: PostgresServer) -> None:
    with pytest.raises(BadInput, match="has no tables"):
        read(database.url)
    database.run("CREATE TABLE people ()")
    with pytest.raises(BadInput, match="has no columns"):
        read(database.url)


def test_a_row_that_the_server_cannot_compute(database: PostgresServer) -> None:
    database.run(
        "CREATE TABLE numbers (a int)",
        "INSERT INTO numbers SELECT i FROM generate_series(0, 200000) i",
        "CREATE VIEW broken AS SELECT 1 / (200000 - a) AS a FROM numbers",
    )
    with pytest.raises(BadInput, match="division by zero"):
        read(database.url, table="broken")


def test_many_batches(database: PostgresServer) -> None:
    database.load("people", pa.table({"a": list(range(300_000)), "b": ["x" * 100] * 300_000}))
    table = read(database.url)
    assert table.engine.query(
        f"SELECT count(DISTINCT a) AS n FROM {table.relation}"
    ).to_pylist() == [{"n": 300_000}]


def test_the_source_has_no_password(database: PostgresServer) -> None:
    database.run("CREATE TABLE people (a int)")
    table = read(database.url)
    assert (
        table.source == f"table 'people' of postgresql://steward@127.0.0.1:{database.port}/postgres"
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://steward:{wrong}@127.0.0.1:{port}/postgres",
        "postgresql://steward:{wrong}@127.0.0.1:{port}/nowhere",
        "postgresql://steward:{wrong}@127.0.0.1:1/postgres",
        "postgresql://steward@127.0.0.1:{port}/postgres?password={wrong}",
        "postgresql://steward:{wrong}%ZZ@127.0.0.1:{port}/postgres",
        "postgresql://steward:{wrong}/x@127.0.0.1:{port}/postgres",
        "postgresql://steward:{wrong}",
        "postgresql://steward:{wrong}#x@127.0.0.1:{port}/postgres",
    ],
    ids=[
        "wrong password",
        "no database",
        "no server",
        "as option",
        "bad code",
        "slash",
        "no host",
        "hash",
    ],
)
def test_no_failure_shows_the_password(address: str, postgres: PostgresServer) -> None:
    with pytest.raises(BadInput) as caught:
        read(address.format(wrong=WRONG, port=postgres.port), table="people")
    shown = "".join(traceback.format_exception(caught.value))
    assert WRONG not in shown


def test_no_statement_shows_the_password(database: PostgresServer) -> None:
    with pytest.raises(BadInput) as caught:
        read(database.url, table="nowhere")
    shown = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in shown
    assert quote(PASSWORD, safe="") not in shown


def test_secrets_are_redacted_in_every_spelling() -> None:
    url = Address.of("postgres://me:a%20b@host/db?sslpassword=c%2Fd")
    assert url is not None
    assert url.display_name == "postgresql://me@host/db"
    assert url.redact("a%20b, a b, c/d") == "***, ***, ***"
    assert "a%20b" not in repr(url)


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adbc_driver_postgresql.dbapi", raising=False)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(MissingDependency, match=r"pip install 'adbc-driver-postgresql>="):
        read("postgresql://me@localhost/db", table="people")
