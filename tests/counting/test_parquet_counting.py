# SPDX-License-Identifier: Apache-2.0
"""Counts of a Parquet file by dictionary codes, compared with SQL and with a count by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.counting import Request, count, parquet_counting
from divulge.counting.request import contingency_of
from divulge.engines import DuckDBEngine, duckdb, parquet
from divulge.errors import BadInput
from divulge.ranking import distinct_rows
from divulge.sources import read, resolve_roles

KEYS, VALUES = ["zip", "age"], ["disease", "job"]


@pytest.fixture(autouse=True)
def _small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb, "LEAST_BY_ARROW", 0)
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 40)


def people(rows: int = 300) -> pa.Table:
    """Texts, whole numbers and nulls; values appear and disappear between row groups."""
    chance = np.random.default_rng(5)
    ages = [None if age == 17 else int(age) for age in chance.integers(10, 30, rows)]
    zips = [None if i % 11 == 0 else f"zip {i // 60}-{i % 3}" for i in range(rows)]
    diseases = [["flu", "", None, "é"][i] for i in chance.integers(0, 4, rows)]
    return pa.table(
        {
            "zip": zips,
            "age": pa.array(ages, pa.int16()),
            "disease": diseases,
            "job": ["a", "b", "c"] * (rows // 3),
        }
    )


def request(path: Path, *, sensitive: list[str], engine: Any = None, **options: Any) -> Request:
    """Return the counting request of a measurement of the file."""
    table = read(path, engine=engine)
    given: dict[str, Any] = {"quasi_identifiers": KEYS, "sensitive": sensitive}
    given |= {name: options.pop(name) for name in ("weight", "person") if name in options}
    return Request(
        table,
        resolve_roles(table, **given),
        options.get("nulls", "category"),
        options.get("joint", False),
    )


def same(ours: Any, theirs: Any) -> None:
    """Assert that two contingency tables are equal in every part."""
    for mine, other in zip((*ours.codes, ours.sizes), (*theirs.codes, theirs.sizes), strict=True):
        assert np.array_equal(mine, other)
    assert [key.values for key in ours.keys] == [key.values for key in theirs.keys]
    assert ours.cells.keys() == theirs.cells.keys()
    for name, cells in ours.cells.items():
        assert cells.domain.values == theirs.cells[name].domain.values
        for part in ("start", "value", "mass"):
            assert np.array_equal(getattr(cells, part), getattr(theirs.cells[name], part))
    assert (ours.rows, ours.people, ours.notes) == (theirs.rows, theirs.people, theirs.notes)


@pytest.mark.parametrize(
    ("sensitive", "options"),
    [
        ([], {}),
        (["disease"], {}),
        (["disease"], {"nulls": "drop"}),
        (VALUES, {}),
        (VALUES, {"joint": True}),
    ],
)
@pytest.mark.parametrize(
    "edge", [{}, {"_LARGEST_SHORT": 1}, {"_LARGEST_KEY": 1}, {"_MIN_PENDING_CELLS": 50}]
)
def test_the_counts_are_those_of_the_statement(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sensitive: list[str],
    options: Any,
    edge: dict[str, int],
) -> None:
    for name, value in edge.items():
        monkeypatch.setattr(parquet_counting, name, value)
    pq.write_table(people(), tmp_path / "t.parquet", row_group_size=23)
    asked = request(tmp_path / "t.parquet", sensitive=sensitive, **options)
    found = asked.coded()
    assert found is not None
    by_statement = asked.table.engine.query(asked.sql())
    assert found.column_names == by_statement.column_names
    same(contingency_of(asked, found), contingency_of(asked, by_statement))


def test_the_counts_are_those_by_hand(tmp_path: Path) -> None:
    table = people()
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    found = request(tmp_path / "t.parquet", sensitive=["disease"]).coded()
    assert found is not None
    cells = {tuple(row[name] for name in ("k0", "k1", "s0")): row["n"] for row in found.to_pylist()}
    assert cells == Counter(
        tuple(row[name] for name in (*KEYS, "disease")) for row in table.to_pylist()
    )


@pytest.mark.parametrize("close", [0, 1 << 8])
@pytest.mark.parametrize(
    ("type_", "edges"),
    [
        (pa.int8(), (-128, 127)),
        (pa.int16(), (-7, 240)),
        (pa.int64(), (-(2**63), 40 - 2**63)),
        (pa.int64(), (2**63 - 50, 2**63 - 1)),
    ],
)
def test_whole_numbers_stay_distinct_at_the_edges_of_their_type(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    type_: pa.DataType,
    edges: tuple[int, int],
    close: int,
) -> None:
    """By their distance from the smallest, or as values of a dictionary: equal counts, by hand.

    Some row groups hold only nulls.
    """
    least, most = edges
    monkeypatch.setattr(parquet_counting, "_SMALL_RANGE", close)
    chance = np.random.default_rng(3)
    ages = [
        None if i % 7 == 0 or 90 <= i < 150 else least + int(chance.integers(0, most - least + 1))
        for i in range(300)
    ]
    ages[1], ages[2] = least, most
    table = people().set_column(1, "age", pa.array(ages, type_))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=30)
    found = request(tmp_path / "t.parquet", sensitive=["disease"]).coded()
    assert found is not None
    cells = {tuple(row[name] for name in ("k0", "k1", "s0")): row["n"] for row in found.to_pylist()}
    assert cells == Counter(
        tuple(row[name] for name in (*KEYS, "disease")) for row in table.to_pylist()
    )


def test_row_groups_without_rows_and_texts_that_outgrow_their_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer switches to plain texts within a column.

    Batches of no row or one row are merged.
    """
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 1)
    monkeypatch.setattr(parquet_counting, "_MIN_PENDING_CELLS", 0)
    table = people()
    long = pa.array([f"{place % 90}{'x' * 200}" for place in range(300)])
    table = table.set_column(0, "zip", long)
    with pq.ParquetWriter(
        tmp_path / "t.parquet", table.schema, dictionary_pagesize_limit=1000, data_page_size=500
    ) as file:
        for begin, rows in ((0, 0), (0, 170), (170, 0), (170, 1), (171, 129), (300, 0)):
            file.write_table(table.slice(begin, rows))
    written = pq.read_metadata(tmp_path / "t.parquet")
    assert {"PLAIN", "RLE_DICTIONARY"} <= set(written.row_group(1).column(0).encodings)
    found = request(tmp_path / "t.parquet", sensitive=["disease"]).coded()
    assert found is not None
    cells = {tuple(row[name] for name in ("k0", "k1", "s0")): row["n"] for row in found.to_pylist()}
    assert cells == Counter(
        tuple(row[name] for name in (*KEYS, "disease")) for row in table.to_pylist()
    )


@pytest.mark.parametrize("groups", [[7], [40, 40, 40, 40], [1] * 100, [1000, 3, 0, 5], [0, 0], []])
@pytest.mark.parametrize("about", [1, 39, 60, 10_000])
def test_batches_hold_every_row_group_once_and_about_as_many_rows_as_asked(
    groups: list[int], about: int
) -> None:
    batches = parquet.batches_of(groups, about)
    assert [place for batch in batches for place in batch] == list(range(len(groups)))
    assert all(batches)
    for batch in batches:  # never more than half a row group beyond it
        *before, last = [groups[place] for place in batch]
        assert not before or sum(before) + last / 2 <= about


def test_several_files_and_texts_as_polars_and_pandas_write_them(tmp_path: Path) -> None:
    table, folder = people(), tmp_path / "many"
    folder.mkdir()
    large = table.set_column(0, "zip", table["zip"].cast(pa.large_string()))
    numbered = table.set_column(2, "disease", table["disease"].dictionary_encode())
    for place, (each, rows) in enumerate(product((table, large, numbered), (40, 7))):
        pq.write_table(each, folder / f"{place}.parquet", row_group_size=rows)
    asked = request(folder, sensitive=["disease"])
    found = asked.coded()
    assert found is not None
    assert sum(found["n"].to_pylist()) == 6 * table.num_rows
    same(contingency_of(asked, found), contingency_of(asked, asked.table.engine.query(asked.sql())))


def test_a_file_without_rows_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_counting, "_MIN_PENDING_CELLS", 50)
    for place, rows in enumerate((0, 150, 0, 150)):
        pq.write_table(people()[:rows], tmp_path / f"{place}.parquet")
    asked = request(tmp_path, sensitive=["disease"])
    found = asked.coded()
    assert found is not None
    same(contingency_of(asked, found), contingency_of(asked, asked.table.engine.query(asked.sql())))


def test_a_file_that_has_gone_is_bad_input(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "t.parquet")
    asked = request(tmp_path / "t.parquet", sensitive=["disease"])
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(BadInput, match="No files found"):
        count(asked.table, asked.roles)


def test_values_that_no_row_has_are_no_values(tmp_path: Path) -> None:
    """A dictionary may hold more values than its rows."""
    names = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0], pa.int32()), ["x", "nobody", "y"])
    pq.write_table(
        pa.table({"zip": names, "age": [1, 2, 1], "disease": names}), tmp_path / "t.parquet"
    )
    asked = request(tmp_path / "t.parquet", sensitive=["disease"])
    found = count(asked.table, asked.roles)
    assert [key.values.to_pylist() for key in found.keys] == [["x", "y"], [1, 2]]
    assert found.cells["disease"].domain.values.to_pylist() == ["x", "y"]


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_ranking_reads_the_rows_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nulls: str, *, grouped: bool
) -> None:
    """Each as often as it occurs, by hand; values of rows with nulls only are removed."""
    table = people().append_column(
        "only", pa.array(["beside a null" if i % 11 == 0 else "else" for i in range(300)])
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=23)
    monkeypatch.setattr(distinct_rows, "_is_grouping_worthwhile", lambda _request: grouped)
    asked = request(tmp_path / "t.parquet", sensitive=["disease", "only"], nulls=nulls)
    monkeypatch.setattr(asked.table.engine, "hold", None)  # the statement must not run
    found = distinct_rows.read_distinct_rows(asked)
    cells = [
        pa.array(it.domain.values).take(pa.array(it.codes)).to_pylist()
        for it in found.columns.values()
    ]
    names = (*KEYS, "disease", "only")
    rows = Counter(tuple(row[name] for name in names) for row in table.to_pylist())
    expected = {row: n for row, n in rows.items() if nulls == "category" or None not in row}
    seen = Counter[tuple[Any, ...]]()
    for row, n in zip(zip(*cells, strict=True), found.repeats.tolist(), strict=True):
        seen[row] += n
    assert list(found.columns) == list(names)
    assert seen == expected
    assert len(found) == (len(expected) if grouped else sum(expected.values()))
    for name, values in zip(names, zip(*expected, strict=True), strict=True):
        assert Counter(found.columns[name].domain.values.to_pylist()) == Counter(set(values))


@pytest.mark.parametrize("grouped", [True, False])
def test_a_ranking_selects_rows_that_cannot_be_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, grouped: bool
) -> None:
    """Other types, and columns with many values: the rows are selected by SQL."""
    monkeypatch.setattr(distinct_rows, "_is_grouping_worthwhile", lambda _request: grouped)
    floats = people().set_column(1, "age", pa.array([0.0, -0.0, float("nan")] * 100))
    pq.write_table(floats, tmp_path / "floats.parquet")
    found = distinct_rows.read_distinct_rows(
        request(tmp_path / "floats.parquet", sensitive=["disease"])
    )
    assert (found.columns["age"].value_count, found.rows) == (2, 300)
    monkeypatch.setattr(parquet_counting, "_MOST_VALUES", 3)
    pq.write_table(people(), tmp_path / "t.parquet", row_group_size=50)
    found = distinct_rows.read_distinct_rows(request(tmp_path / "t.parquet", sensitive=["disease"]))
    assert (found.columns["zip"].value_count, found.rows) == (16, 300)
    pq.write_table(people().slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(BadInput, match="no rows"):
        distinct_rows.read_distinct_rows(request(tmp_path / "none.parquet", sensitive=["disease"]))


@pytest.mark.parametrize("column", ["weight", "person"])
def test_weights_persons_and_other_types_are_left_to_the_statement(
    tmp_path: Path, column: str
) -> None:
    pq.write_table(people().append_column("w", pa.array([1] * 300)), tmp_path / "t.parquet")
    options = {column: "w"}
    assert request(tmp_path / "t.parquet", sensitive=["disease"], **options).coded() is None
    floats = people().set_column(1, "age", pa.array([0.0, -0.0, float("nan")] * 100))
    pq.write_table(floats, tmp_path / "t.parquet")
    asked = request(tmp_path / "t.parquet", sensitive=["disease"])
    assert asked.coded() is None
    assert len(count(asked.table, asked.roles).keys[1]) == 2


def test_a_memory_limit_and_many_values_are_left_to_the_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(people(), tmp_path / "t.parquet", row_group_size=50)
    limited = DuckDBEngine(memory_limit="500MB")
    assert request(tmp_path / "t.parquet", sensitive=["disease"], engine=limited).coded() is None
    for most in (3, 18):  # reached within a row group, and by all of them
        monkeypatch.setattr(parquet_counting, "_MOST_VALUES", most)
        assert request(tmp_path / "t.parquet", sensitive=["disease"]).coded() is None


def test_values_of_all_batches_are_numbered_in_two_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value more than two bytes can number is an error, whichever batch it is in."""
    monkeypatch.setattr(parquet_counting, "_MOST_VALUES", 3)
    numbers = parquet_counting._ValueCodes(pa.string())  # noqa: SLF001 - files with 65,537 values are slow
    assert numbers.of(pa.array(["a", "b"])).tolist() == [0, 1]
    assert numbers.of(pa.array(["b", "c"])).tolist() == [1, 2]
    with pytest.raises(parquet_counting._TooManyValues):  # noqa: SLF001
        numbers.of(pa.array(["d"]))


def test_bytes_that_are_not_utf8_raise_an_error(tmp_path: Path) -> None:
    texts = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff\xfe"]).buffers())
    pq.write_table(
        pa.table({"zip": texts, "age": [1, 2], "disease": ["x", "y"]}), tmp_path / "t.parquet"
    )
    asked = request(tmp_path / "t.parquet", sensitive=["disease"])
    assert asked.coded() is None
    with pytest.raises(BadInput):
        count(asked.table, asked.roles)
