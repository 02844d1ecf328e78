# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: the same rows, in an order independent of the source's order."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.engines import DuckDBEngine
from divulge.engines.memory import ShufflePart
from divulge.errors import BadInput
from divulge.releases import draw_secret, shuffled

ENGINE = DuckDBEngine()
Row = tuple[Any, ...]


def order(rows: list[Row], *, secret: int, names: tuple[str, ...] = ("a", "b")) -> list[Row]:
    """The rows after shuffling."""
    table = pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)})
    relation = ENGINE.register(ENGINE.fresh_name("rows"), table)
    with shuffled(ENGINE, f"SELECT * FROM {relation}", secret=secret) as query:
        found = ENGINE.query(query)
    assert tuple(found.column_names) == names
    return [tuple(row.values()) for row in found.to_pylist()]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "", "1|2", None]), st.one_of(st.none(), st.integers(0, 3))
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(0, 2**62 - 1), st.randoms(use_true_random=False))
def test_the_order_of_the_source_has_no_effect(
    rows: list[Row], secret: int, chance: random.Random
) -> None:
    found = order(rows, secret=secret)
    assert Counter(found) == Counter(rows)
    other = list(rows)
    chance.shuffle(other)
    assert order(other, secret=secret) == found


def test_another_secret_gives_another_order() -> None:
    rows = [(str(i), i) for i in range(50)]
    assert order(rows, secret=1) == order(rows, secret=1)
    assert order(rows, secret=1) != order(rows, secret=2)
    assert order(rows, secret=1) != rows


def test_equal_rows_are_not_adjacent() -> None:
    """100 rows of two kinds: sorted by kind there would be one change.

    A shuffle has about fifty.
    """
    found = order([("x", 0)] * 50 + [("y", 0)] * 50, secret=7)
    changes = sum(one != next_ for one, next_ in pairwise(found))
    assert 25 < changes < 75


def test_odd_column_names() -> None:
    names = ('a "b"', "copy", "c0", "select")
    rows = [(1, 2, 3, 4), (5, 6, 7, 8), (1, 2, 3, 4)]
    assert Counter(order(rows, secret=3, names=names)) == Counter(rows)


def test_secrets_are_drawn_anew_and_seeds_are_checked() -> None:
    assert len({draw_secret() for _ in range(20)}) == 20
    assert draw_secret(5) == 5
    for seed in (-1, 2**62):
        with pytest.raises(BadInput, match="seed"):
            draw_secret(seed)


def test_any_number_of_texts_is_preserved() -> None:
    """Few texts are sorted as numbers, many are not.

    The output shows no difference, and no temporary data remains.
    """
    rows = [(f"text {i}", ("", "a'b", None, "é")[i % 4]) for i in range(70_000)]
    table = pa.table({"many": [row[0] for row in rows], "few": [row[1] for row in rows]})
    engine = DuckDBEngine()
    with shuffled(engine, f"SELECT * FROM {engine.lend(table)}", secret=11) as query:
        found = engine.detach(query)
    assert found.schema == table.schema
    assert Counter(zip(*found.to_pydict().values(), strict=True)) == Counter(rows)
    types = "SELECT type_name FROM duckdb_types() WHERE logical_type = 'ENUM' AND NOT internal"
    assert engine.query(f"{types} UNION ALL SELECT table_name FROM duckdb_tables()").num_rows == 0


@pytest.mark.parametrize("limit", [None, "300MB"])
def test_columns_are_always_nullable(tmp_path: Path, limit: str | None) -> None:
    """Otherwise the schema of a file would depend on its contents, and parts would not match."""
    engine = DuckDBEngine(memory_limit=limit, temp_directory=tmp_path)
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    pq.write_table(
        pa.table({"text": ["x", "y", "x"], "same": ["k", "k", "k"], "number": [1, 2, 1]}), source
    )
    with shuffled(engine, f"SELECT * FROM '{source}'", secret=3) as query:
        engine.write(query, target, kind="parquet")
    assert pq.read_table(target).num_rows == 3
    assert [field.nullable for field in pq.read_schema(target)] == [True, True, True]


# --- part files of a Spark worker -----------------------------------------------------------------
PART = st.dictionaries(
    st.tuples(
        st.sampled_from(["x", "y", "", None]),
        st.one_of(st.none(), st.floats(0, 3), st.just(float("nan"))),
    ),
    st.integers(1, 5),
    min_size=1,
    max_size=12,
)


def dealt(
    folder: Path, rows: list[tuple[Row, int]], *, secret: int = 5, part: int = 2, at_once: int = 12
) -> list[str]:
    """Return the rows of a part file that is written from batches of distinct rows with counts."""
    found = pa.table(
        {
            "c0": pa.array([row[0] for row, _ in rows], pa.string()),
            "c1": pa.array([row[1] for row, _ in rows], pa.float64()),
            # many of them are equal
            "own": pa.array([len(repr(row)) % 2 for row, _ in rows], pa.int64()),
            "share": pa.array([copies for _, copies in rows], pa.int64()),
            "part": pa.array([part] * len(rows), pa.int32()),
        }
    )
    (told,) = ShufflePart(str(folder), ("a", "b"), secret, 4)(
        found.to_batches(max_chunksize=at_once)
    )
    (path,) = folder.iterdir()
    assert told.to_pylist() == [{"part": part, "name": path.name}]
    table = pq.read_table(path)
    path.unlink()
    assert table.schema.equals(
        pa.schema({"a": pa.string(), "b": pa.float64()}), check_metadata=True
    )
    return [repr(tuple(row.values())) for row in table.to_pylist()]


@settings(deadline=None, max_examples=40)
@given(PART, st.integers(0, 2**62 - 1), st.randoms(use_true_random=False))
def test_the_order_within_a_part_follows_from_the_secret(
    tmp_path_factory: pytest.TempPathFactory,
    rows: dict[Row, int],
    secret: int,
    chance: random.Random,
) -> None:
    folder = tmp_path_factory.mktemp("part")
    given_rows = list(rows.items())
    found = dealt(folder, given_rows, secret=secret)
    assert Counter(found) == Counter({repr(row): copies for row, copies in given_rows})
    chance.shuffle(given_rows)
    assert dealt(folder, given_rows, secret=secret, at_once=3) == found


def test_each_part_and_each_secret_has_its_own_order(tmp_path: Path) -> None:
    rows: list[tuple[Row, int]] = [((str(i), float(i)), 1 + i % 3) for i in range(50)]
    found = dealt(tmp_path, rows)
    assert (
        sum(one != other for one, other in pairwise(found)) > 90
    )  # of 98 neighbors; copies of one row are rarely adjacent
    assert (
        sorted(found)
        == sorted(dealt(tmp_path, rows, part=3))
        == sorted(dealt(tmp_path, rows, secret=6))
    )
    assert (
        len(
            {
                tuple(order)
                for order in (found, dealt(tmp_path, rows, part=3), dealt(tmp_path, rows, secret=6))
            }
        )
        == 3
    )


def test_a_part_over_the_memory_limit_is_not_written(tmp_path: Path) -> None:
    """Nothing is written if the folder is not visible, and an empty part reports nothing.

    Other types are not accepted.
    """
    assert [
        ShufflePart.takes(types)
        for types in (["VARCHAR"] * 32, ["VARCHAR"] * 33, ["DATE", "TIMESTAMP"])
    ] == [True, False, False]
    batch = pa.RecordBatch.from_pydict({"c0": ["x"], "own": [1], "share": [2], "part": [0]})
    (told,) = ShufflePart(str(tmp_path), ("a",), 1, 1, max_bytes=8)([batch, batch])
    assert told.to_pylist() == [{"part": -1, "name": None}]
    (told,) = ShufflePart(str(tmp_path / "elsewhere"), ("a",), 1, 1)([batch])
    assert told.column("part").to_pylist() == [0]
    assert (
        list(ShufflePart(str(tmp_path), ("a",), 1, 1)([batch.slice(0, 0)]))
        == list(ShufflePart("", ("a",), 1, 1)([]))
        == []
    )
    assert list(tmp_path.iterdir()) == []
