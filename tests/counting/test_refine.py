# SPDX-License-Identifier: Apache-2.0
"""Refinement by one column at a time finds the classes of grouping by all columns.

Columns are read row for row.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Request
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.ranking import distinct_rows as module
from divulge.ranking.distinct_rows import AlignedColumns, Partition, refine
from divulge.sources import read, resolve_roles

CODES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 200), st.integers(0, 1)), min_size=1, max_size=60
)


def refined(rows: list[tuple[int, ...]], values: tuple[int, ...]) -> Partition:
    partition = Partition.single_class(len(rows))
    for column, count in zip(zip(*rows, strict=True), values, strict=True):
        partition = refine(partition, np.array(column), count)
    return partition


@pytest.mark.parametrize(
    "table", [pytest.param(1, id="digit by digit"), pytest.param(2**16, id="at once")]
)
@settings(deadline=None)
@given(rows=CODES)
def test_the_classes_are_those_of_all_columns_together(
    table: int, rows: list[tuple[int, ...]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MIN_TABLE_LENGTH", table)
        found = refined(rows, (4, 201, 2))
    sizes = Counter(rows)
    assert sorted(found.sizes.tolist()) == sorted(size for size in sizes.values() if size > 1)
    assert (found.closed, found.classes) == (list(sizes.values()).count(1), len(sizes))
    open_rows = range(len(rows)) if found.rows is None else found.rows.tolist()
    assert [sizes[rows[row]] > 1 for row in range(len(rows))] == [
        row in set(open_rows) for row in range(len(rows))
    ]
    # One number for each class, and each class one number.
    numbers = {
        (rows[row], number) for row, number in zip(open_rows, found.ids.tolist(), strict=True)
    }
    assert (
        len({key for key, _ in numbers}) == len({number for _, number in numbers}) == len(numbers)
    )
    assert all(found.sizes[number] == sizes[key] for key, number in numbers)
    closed = found.closed_rows(len(rows)).tolist()
    assert closed == [row for row in range(len(rows)) if sizes[rows[row]] == 1]


def test_an_empty_and_a_single_row() -> None:
    assert Partition.single_class(0).classes == 0
    one = refine(Partition.single_class(1), np.array([5]), 9)
    assert (one.classes, one.closed, one.ids.tolist()) == (1, 1, [])


def test_a_constant_column_changes_nothing() -> None:
    start = Partition.single_class(3)
    assert refine(start, np.zeros(3, dtype=np.int64), 1) is start


ENGINE = DuckDBEngine(threads=2)


def columns_of(source: Any, *names: str, nulls: str = "category") -> AlignedColumns:
    table = read(source, engine=ENGINE)
    roles = resolve_roles(table, quasi_identifiers=names)
    found = AlignedColumns.of(Request(table, roles, nulls, joint=False))  # type: ignore[arg-type]
    assert found is not None
    return found


def as_groups(codes: np.ndarray[Any, Any]) -> list[int]:
    """Renumber groups canonically, so that equal groupings have equal numbers."""
    seen: dict[int, int] = {}
    return [seen.setdefault(code, len(seen)) for code in codes.tolist()]


ODD = pa.table(
    {
        "number": pa.array([5, None, -7, 5, None], pa.int16()),
        "far apart": pa.array([0, 2**63, 1, 0, 2**64 - 1], pa.uint64()),
        "float": pa.array([0.0, -0.0, float("nan"), float("nan"), None]),
        "te\"xt'": pa.array(["ü", "", None, "", None]),
        "flag": pa.array([True, False, None, None, True]),
        "kind": pa.array(["a", "b", "a", None, "b"]).dictionary_encode(),
    }
)


def test_values_are_distinguished_as_in_sql() -> None:
    """By hand: null is a value, 0.0 is -0.0, NaN is one value, an empty text is not null."""
    found = {
        name: (as_groups(codes), values)
        for name, codes, values in columns_of(ODD, *ODD.column_names).iterate_codes(
            ODD.column_names
        )
    }
    assert found["number"][0] == [0, 1, 2, 0, 1]
    assert found["far apart"][0] == [0, 1, 2, 0, 3]
    assert found["float"][0] == [0, 0, 1, 1, 2]
    assert found["te\"xt'"][0] == [0, 1, 2, 1, 2]
    assert found["flag"][0] == [0, 1, 2, 2, 0]
    assert found["kind"][0] == [0, 1, 0, 2, 1]
    assert all(max(groups) < values for groups, values in found.values())


def test_rows_with_nulls_are_left_out_of_every_column() -> None:
    table = pa.table({"a": [1, None, 2, 1], "b": ["x", "x", None, "y"]})
    columns = columns_of(table, "a", "b", nulls="drop")
    assert columns.rows == 2
    assert {name: as_groups(codes) for name, codes, _ in columns.iterate_codes(["a", "b"])} == {
        "a": [0, 0],
        "b": [0, 1],
    }
    with pytest.raises(BadInput, match="no row is left"):
        columns_of(pa.table({"a": pa.array([None], pa.int64())}), "a", nulls="drop")
    with pytest.raises(BadInput, match="no rows"):
        columns_of(pa.table({"a": pa.array([], pa.int64())}), "a")


def write_parquet(folder: Path, rows: int) -> Path:
    """Write several files of several row groups, so that scans could mix them up."""
    for part in range(3):
        here = np.arange(part, 3 * rows, 3)
        pq.write_table(
            pa.table({"a": here, "b": here * 7 % 1009, "c": here.astype(str)}),
            folder / f"{part}.parquet",
            row_group_size=5_000,
        )
    return folder


@pytest.mark.parametrize("kind", ["parquet", "csv", "relation", "frame"])
def test_columns_fit_together_row_for_row(tmp_path: Path, kind: str) -> None:
    folder = write_parquet(tmp_path, 40_000)
    connection = duckdb.connect()
    relation = connection.sql(f"SELECT * FROM read_parquet('{folder}/*.parquet')")
    source: Any = folder
    if kind == "csv":
        source = tmp_path / "all.csv"
        relation.write_csv(str(source))
    elif kind == "relation":
        source = relation
    elif kind == "frame":
        source = relation.to_arrow_table()
    columns = columns_of(source, "a", "b", "c")
    a, b, c = (columns.coded_column(name) for name in "abc")
    a_values, b_values = (np.array(item.domain.labels)[item.codes] for item in (a, b))
    assert sorted(a_values.tolist()) == list(range(120_000))
    assert np.array_equal(a_values * 7 % 1009, b_values)
    assert [int(c.domain.labels[code]) for code in c.codes] == a_values.tolist()
    numbered = {name: codes for name, codes, _ in columns.iterate_codes(["b", "a"])}
    assert as_groups(numbered["b"]) == as_groups(b.codes)
    assert as_groups(numbered["a"]) == as_groups(a.codes)
