# SPDX-License-Identifier: Apache-2.0
"""A relation of the user's own connection: counted there, nothing copied, nothing left behind."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.engines import RelationEngine
from divulge.errors import BadInput, InternalError
from divulge.sources import read

ENGINE = RelationEngine(duckdb.connect().sql("SELECT 1 AS a"))


def test_it_runs_in_the_users_connection_and_leaves_nothing() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TEMP TABLE mine AS SELECT i % 3 AS g, i FROM range(10) t(i)")
    before = connection.execute(
        "SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT * FROM duckdb_views()"
    ).fetchall()
    table = read(connection.table("mine"))
    found = table.engine.query(
        f"SELECT g, count(*) AS n FROM {table.relation} WHERE i < ? GROUP BY g ORDER BY g", [8]
    )
    assert found.to_pylist() == [{"g": 0, "n": 3}, {"g": 1, "n": 3}, {"g": 2, "n": 2}]
    after = connection.execute(
        "SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT * FROM duckdb_views()"
    ).fetchall()
    assert after == before


def test_the_relation_sees_later_rows() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE mine (a INTEGER)")
    table = read(connection.table("mine"))
    connection.execute("INSERT INTO mine VALUES (7)")
    assert table.engine.query(f"SELECT a FROM {table.relation}").to_pylist() == [{"a": 7}]


def test_a_relation_with_parameters_of_its_own() -> None:
    table = read(duckdb.connect().sql("SELECT ? AS a", params=["it's"]))
    assert table.engine.query(
        f"SELECT a FROM {table.relation} WHERE a = ?", ["it's"]
    ).to_pylist() == [{"a": "it's"}]


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_texts_are_bound_as_they_are(value: str) -> None:
    assert ENGINE.query("SELECT ? AS v, 'a ? b' AS \"c ? d\"", [value]).to_pylist() == [
        {"v": value, "c ? d": "a ? b"}
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -7,
        2**62,
        0.1,
        -1e300,
        math.inf,
        Decimal("1.50"),
        dt.date(2024, 1, 31),
        dt.datetime(2024, 1, 31, 10, 0, 0, 5),  # noqa: DTZ001
        dt.datetime(2024, 1, 31, 10, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ],
    ids=str,
)
def test_values_are_bound_as_they_are(value: object) -> None:
    assert ENGINE.query("SELECT ? AS v", [value]).to_pylist() == [{"v": value}]


def test_parameters_must_fit() -> None:
    with pytest.raises(InternalError, match="more placeholders than parameters"):
        ENGINE.query("SELECT ?, ?", [1])
    with pytest.raises(InternalError, match="more parameters than placeholders"):
        ENGINE.query("SELECT ?", [1, None])
    with pytest.raises(InternalError, match="type object cannot be bound"):
        ENGINE.query("SELECT ?", [object()])


@pytest.mark.parametrize("names", [("a", "a"), ("a", "A")], ids=["repeated", "case"])
def test_names_that_differ_only_in_case(names: tuple[str, str]) -> None:
    with pytest.raises(BadInput, match="columns 1 and 2 of the DuckDB relation"):
        read(duckdb.connect().sql(f'SELECT 1 AS "{names[0]}", 2 AS "{names[1]}"'))


def test_a_closed_connection() -> None:
    connection = duckdb.connect()
    table = read(connection.sql("SELECT 1 AS a"))
    connection.close()
    with pytest.raises(BadInput, match="connection is closed"):
        table.engine.query(f"SELECT a FROM {table.relation}")


def test_a_rejected_statement_carries_its_sql() -> None:
    with pytest.raises(InternalError, match="SELECT nothing"):
        ENGINE.query("SELECT nothing")
