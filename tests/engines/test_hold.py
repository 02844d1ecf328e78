# SPDX-License-Identifier: Apache-2.0
"""Rows that an engine holds, and checks of counts in every place.

The places are DuckDB in memory, DuckDB on disk, and Spark.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, Engine, SparkEngine
from divulge.engines.spark_session import wait_until_clean
from divulge.errors import BadInput, InternalError
from divulge.sources import read
from tests.helpers import run_cli

LETTERS = pa.table({"a": ["y", None, "x", "y", "x", None, "y"], "b": [3, 1, None, 1, 2, 5, 2]})
IN_ORDER = [("x", 2), ("x", None), ("y", 1), ("y", 2), ("y", 3), (None, 1), (None, 5)]
"""By hand: ascending by both columns, nulls last."""


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[list[Any]] | None:
    """One list of the rows of a stream, or of a partition."""
    rows = [(row["a"], row["b"]) for batch in batches for row in batch.to_pylist()]
    return [rows] if rows else None


def both(one: list[Any], other: list[Any]) -> list[Any]:
    return one + other


def test_rows_of_a_class_come_together_and_sorted(engine: Engine) -> None:
    table = read(LETTERS, engine=engine)
    held = engine.hold(f"SELECT a, b FROM {table.relation}", together=["a", "b"])
    assert held.rows == 7
    assert sorted(held.table().to_pylist(), key=repr) == sorted(LETTERS.to_pylist(), key=repr)
    counted = held.engine.query(
        f"SELECT a, COUNT(*) AS n FROM {held.relation} GROUP BY a"
    ).to_pylist()
    assert {row["a"]: row["n"] for row in counted} == {"x": 2, "y": 3, None: 2}
    parts = engine.fold(held, rows_of, both)
    assert sorted((row for part in parts for row in part), key=IN_ORDER.index) == IN_ORDER
    for part in parts:
        assert part == sorted(part, key=IN_ORDER.index)


def test_classes_are_not_divided_between_partitions(engine: Engine) -> None:
    table = read(LETTERS, engine=engine)
    parts = engine.fold(
        engine.hold(f"SELECT a, b FROM {table.relation}", together=["a"]), rows_of, both
    )
    keys = [list(dict.fromkeys(a for a, _ in part)) for part in parts]
    assert sorted((key for part in keys for key in part), key=["x", "y", None].index) == [
        "x",
        "y",
        None,
    ]
    assert sum(map(len, parts)) == 7


def test_unreferenced_rows_are_freed(engine: Engine) -> None:
    table = read(LETTERS, engine=engine)
    held = engine.hold(f"SELECT a, b FROM {table.relation}", together=["a"])
    relation = held.relation
    assert engine.fold(held, rows_of, both)
    if isinstance(engine, SparkEngine):
        name, cached = relation.strip("`"), engine.session.sparkContext._jsc.getPersistentRDDs  # noqa: SLF001 - it has no other name
        gc.collect()
        wait_until_clean()
        before = cached().size()
        del held
        gc.collect()
        wait_until_clean()
        assert (engine.session.catalog.tableExists(name), before - cached().size()) == (False, 2)
    else:
        del held
        gc.collect()
        with pytest.raises(InternalError, match="does not exist"):
            engine.query(f"SELECT * FROM {relation}")


def test_a_relation_of_the_user_is_held_by_an_engine_of_ours() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE letters AS SELECT * FROM (VALUES ('y', 3), ('x', 2), ('y', 1)) AS t(a, b)"
    )
    table = read(connection.table("letters"))
    held = table.engine.hold(f"SELECT a, b FROM {table.relation}", together=["a", "b"])
    assert (held.rows, held.engine is table.engine) == (3, False)
    assert held.engine.query(f"SELECT SUM(b) AS n FROM {held.relation}").to_pylist() == [{"n": 6}]
    assert table.engine.fold(held, rows_of, both) == [[("x", 2), ("y", 1), ("y", 3)]]
    assert connection.sql("SHOW TABLES").fetchall() == [("letters",)]


# --- Checks of counts in every place --------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1.0, None, 2.0], "4 rows have no weight in 'w'"),
        (
            [1.0, -2.0, 2.0],
            "weights in 'w' must be finite and greater than 0; the smallest is -2.0",
        ),
        ([1.0, 0.0, 2.0], "weights in 'w' must be finite and greater than 0; the smallest is 0.0"),
        (
            [1.0, float("inf"), 2.0],
            "weights in 'w' must be finite and greater than 0; some are infinite or not a number",
        ),
    ],
)
@pytest.mark.parametrize("sensitive", [(), ("s", "t")])
def test_bad_weights_raise_an_error(
    engine: Engine, weights: list[float | None], told: str, sensitive: tuple[str, ...]
) -> None:
    table = pa.table(
        {
            "id": list(range(12)),
            "w": weights * 4,
            "s": [i % 2 for i in range(12)],
            "t": [i % 3 for i in range(12)],
        }
    )
    with pytest.raises(BadInput) as refused:
        dv.measure(table, quasi_identifiers="id", weight="w", sensitive=sensitive, engine=engine)
    assert str(refused.value).startswith(told)


def test_bad_weights_raise_an_error_within_a_memory_limit(tmp_path: Any) -> None:
    """As a user meets it: more classes than 300 MB may take."""
    path = tmp_path / "w.parquet"
    duckdb.execute(
        "COPY (SELECT i AS id, CASE WHEN i % 3 = 0 THEN NULL WHEN i % 3 = 1 THEN -1.5 ELSE 2.0 "
        "END AS w "
        f"FROM range(300000) AS t(i)) TO '{path}' (FORMAT parquet)"
    )
    asked = ["measure", str(path), "--qi", "id", "--weight", "w"]
    here, limited = (
        run_cli(*asked),
        run_cli(*asked, "--memory-limit", "300MB", "--temp-directory", str(tmp_path)),
    )
    assert "100000 rows have no weight" in here.err
    assert (
        (limited.code, limited.out, limited.err)
        == (here.code, here.out, here.err)
        == (2, "", here.err)
    )


SAMPLE = pa.table(
    {
        "zip": [1, 1, 2, None, 3, 4, 5, 6],
        "age": [30, 30, 40, 50, 60, 70, 80, 90],
        "s": list("aabbabab"),
    }
)
# By hand: in the population, two more share the values of the first two people, one more those of
# each other person.
EVERYBODY = pa.concat_tables(
    [SAMPLE.select(["zip", "age"])] * 2 + [pa.table({"zip": [99] * 9, "age": [1] * 9})]
)


@pytest.mark.parametrize("sensitive", [(), "s"])
def test_a_population_is_counted_where_the_table_is(engine: Engine, sensitive: Any) -> None:
    found = dv.measure(
        SAMPLE,
        quasi_identifiers=["zip", "age"],
        sensitive=sensitive,
        adversary=dv.Adversary(population=EVERYBODY),
        engine=engine,
    )
    assert (found.settings["population"], found.rows, found.class_count) == ("table", 8, 7)
    assert found.settings["counts"] == (
        "collected" if engine.cell_limit is None else engine.storage.split()[-1]
    )
    assert found.identity["k_map"].value == 2
    # The probability to find a person: 1 / 4 for the first two, 1 / 2 for all others.
    assert found.identity["k_anonymity"].value == 1
    assert sorted(found.per_class("k_map").tolist()) == [2, 2, 2, 2, 2, 2, 4]


def test_an_invalid_population_raises_an_error(engine: Engine) -> None:
    for few in (EVERYBODY.slice(1, 7), SAMPLE.slice(1).select(["zip", "age"])):
        with pytest.raises(BadInput, match="the population has"):
            dv.measure(
                SAMPLE,
                quasi_identifiers=["zip", "age"],
                adversary=dv.Adversary(population=few),
                engine=engine,
            )


def test_a_population_of_another_engine_is_moved(limited: DuckDBEngine) -> None:
    """The population was opened before, without a limit."""
    everybody = read(EVERYBODY, engine=DuckDBEngine())
    found = dv.measure(
        SAMPLE,
        quasi_identifiers=["zip", "age"],
        adversary=dv.Adversary(population=everybody),
        engine=limited,
    )
    assert (found.settings["counts"], found.identity["k_map"].value) == ("disk", 2)


@pytest.mark.slow
def test_a_population_is_counted_within_the_memory_limit(tmp_path: Any) -> None:
    """Both are too large for memory; the command prints the same as without a limit."""
    paths = [tmp_path / name for name in ("sample.parquet", "everybody.parquet")]
    for path, rows in zip(paths, (150_000, 300_000), strict=True):
        sql = f"SELECT i % 150000 AS id, i % 7 AS s FROM range({rows}) AS t(i)"
        duckdb.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
    asked = [
        "measure",
        str(paths[0]),
        "--qi",
        "id",
        "--sensitive",
        "s",
        "--population",
        str(paths[1]),
        "--json",
    ]
    limited = run_cli(*asked, "--memory-limit", "300MB", "--temp-directory", str(tmp_path)).json()
    here = run_cli(*asked).json()
    assert (here["settings"]["counts"], limited["settings"]["counts"]) == ("collected", "disk")
    # By hand: each person occurs twice in the population.
    assert {name: limited["identity"][name] for name in ("k_map", "uniques")} == {
        "k_map": 2,
        "uniques": 150_000,
    }
    numbers = {
        name: value for name, value in here["sensitive"]["s"].items() if not isinstance(value, str)
    }
    assert limited["identity"] == pytest.approx(here["identity"], rel=1e-9, abs=1e-9)
    assert {name: limited["sensitive"]["s"][name] for name in numbers} == pytest.approx(
        numbers, rel=1e-9, abs=1e-9
    )


# --- Rank and growing use the same counts ---------------------------------------------------------

PEOPLE = pa.table(
    {
        "a": [i % 3 for i in range(40)],
        "b": [None if i % 5 == 0 else f"b{i % 4}" for i in range(40)],
        "c": [i % 7 == 0 for i in range(40)],
        "s": [f"d{i * i % 6}" for i in range(40)],
        "t": [i // 9 for i in range(40)],
        "who": [i // 2 for i in range(40)],
    }
)


@pytest.mark.parametrize(
    "roles", [{}, {"sensitive": ["s", "t"]}, {"sensitive": "s", "person": "who"}]
)
def test_a_ranking_is_the_same_everywhere(
    engine: DuckDBEngine | SparkEngine, roles: dict[str, Any]
) -> None:
    if isinstance(engine, SparkEngine):
        engine.collect_limit = 0
    elif engine.cell_limit is not None:
        engine.cell_limit = 0
    # Spark takes seconds for each combination: three of them, not seven.
    ranked = list("ab") if isinstance(engine, SparkEngine) else list("abc")
    expected = dv.rank(PEOPLE, quasi_identifiers=ranked, up_to=2, **roles).to_dict()
    found = dv.rank(PEOPLE, quasi_identifiers=ranked, up_to=2, **roles, engine=engine).to_dict()
    assert found["rows"] == 40
    for one, other in zip(found["combinations"], expected["combinations"], strict=True):
        assert one["columns"] == other["columns"]
        assert one["identity"] == pytest.approx(other["identity"], abs=1e-9)
        for name, numbers in other["sensitive"].items():
            assert one["sensitive"][name] == pytest.approx(numbers, abs=1e-9)
    assert found["smallest"] == expected["smallest"]
