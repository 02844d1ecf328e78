# SPDX-License-Identifier: Apache-2.0
"""Frames in memory: odd pandas columns, nulls of every kind, and what cannot be one column."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from divulge.errors import BadInput
from divulge.sources import Table, read


def values(table: Table, name: str = "value") -> list[Any]:
    column = table.engine.quote(name)
    found = table.engine.query(
        f"SELECT {column} AS value FROM {table.relation} ORDER BY 1 NULLS LAST"
    )
    return [row["value"] for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("column", "kind", "found"),
    [
        pytest.param(
            pd.Series(["x", np.nan, None], dtype=object),
            "text",
            ["x", None, None],
            id="object with NaN",
        ),
        pytest.param(pd.Series([1.5, np.nan]), "number", [1.5, None], id="float with NaN"),
        pytest.param(
            pd.Series([2, None], dtype="Int64"), "number", [2, None], id="nullable integer"
        ),
        pytest.param(
            pd.Series([True, None], dtype="boolean"), "boolean", [True, None], id="nullable boolean"
        ),
        pytest.param(
            pd.Series(["x", pd.NA], dtype="string"), "text", ["x", None], id="string dtype"
        ),
        pytest.param(pd.Series(["x", None], dtype="str"), "text", ["x", None], id="str dtype"),
        pytest.param(
            pd.Series([None, None], dtype=object), "text", [None, None], id="nothing known"
        ),
        pytest.param(
            pd.Series([1, 2.5], dtype=object), "number", [1.0, 2.5], id="objects, all numbers"
        ),
        pytest.param(
            pd.Series([dt.date(2024, 1, 31), None]),
            "date",
            [dt.date(2024, 1, 31), None],
            id="objects, all dates",
        ),
        pytest.param(
            pd.Series([decimal.Decimal("1.50"), None]),
            "number",
            [decimal.Decimal("1.50"), None],
            id="decimals",
        ),
        pytest.param(
            pd.Series(["b", None], dtype=pd.CategoricalDtype(["a", "b"])),
            "text",
            ["b", None],
            id="category",
        ),
        pytest.param(
            pd.Series([7, None], dtype=pd.CategoricalDtype([7, 8])),
            "number",
            [7, None],
            id="number category",
        ),
        pytest.param(
            pd.Series(pd.cut([1, 5, np.nan], [0, 3, 9])),
            "text",
            ["(0, 3]", "(3, 9]", None],
            id="pandas.cut",
        ),
        pytest.param(
            pd.Series(pd.arrays.IntervalArray.from_arrays([0, np.nan], [1, np.nan])),
            "text",
            ["(0.0, 1.0]", None],
            id="intervals",
        ),
        pytest.param(
            pd.Series(pd.PeriodIndex(["2024-01", None], freq="M")),
            "text",
            ["2024-01", None],
            id="periods",
        ),
        pytest.param(
            pd.Series([0, 0, 3], dtype=pd.SparseDtype("int64", 0)), "number", [0, 0, 3], id="sparse"
        ),
        pytest.param(pd.Series([[1, 2], None]), "nested", [[1, 2], None], id="lists"),
    ],
)
def test_pandas_columns(column: Any, kind: str, found: list[object]) -> None:
    table = read(pd.DataFrame({"value": column}))
    assert table.column("value").kind == kind
    assert values(table) == found


@pytest.mark.parametrize(
    ("column", "types"),
    [
        pytest.param([1, "x"], "int, str", id="numbers and texts"),
        pytest.param([True, "x", None], "bool, str", id="booleans and texts"),
        pytest.param(["x", dt.date(2024, 1, 1)], "date, str", id="texts and dates"),
        pytest.param([1 + 2j], "complex", id="complex numbers"),
        pytest.param([object()], "object", id="objects"),
    ],
)
def test_pandas_columns_that_mix_types(column: list[object], types: str) -> None:
    frame = pd.DataFrame({"fine": range(len(column)), "odd one": pd.Series(column, dtype=object)})
    with pytest.raises(BadInput, match=f"'odd one' .* cannot stand in one column: {types}"):
        read(frame)


@pytest.mark.parametrize(
    "index",
    [[5, 5, 5], ["a", "b", "c"], pd.MultiIndex.from_tuples([(1, 2), (1, 2), (3, 4)])],
    ids=["repeated", "texts", "several levels"],
)
def test_a_pandas_index_is_no_column_and_no_key(index: Any) -> None:
    table = read(pd.DataFrame({"value": [3, 1, 2]}, index=index))
    assert table.names == ("value",)
    assert values(table) == [1, 2, 3]


def test_pandas_numbers_as_names() -> None:
    assert read(pd.DataFrame([[1, 2]])).names == ("0", "1")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        pytest.param(
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            r"'a' occurs twice \(columns 1 and 2",
            id="repeated",
        ),
        pytest.param(
            pd.DataFrame([[1, 2]], columns=["a", "A"]),
            "differ only in upper and lower case",
            id="case",
        ),
        pytest.param(
            pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1' occurs twice", id="number and text"
        ),
        pytest.param(
            pd.DataFrame([[1, 2]], columns=["a", ""]),
            "column 2 of the pandas frame has no name",
            id="empty",
        ),
        pytest.param(
            pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
            "several levels",
            id="levels",
        ),
        pytest.param(pd.DataFrame(), "has no columns", id="pandas without columns"),
        pytest.param(pl.DataFrame(), "has no columns", id="polars without columns"),
        pytest.param(
            pl.DataFrame({"a": [1], "A": [1]}),
            "differ only in upper and lower case",
            id="polars case",
        ),
        pytest.param(
            pl.DataFrame({"a": [object()]}),
            "'a' of the Polars frame holds Python objects",
            id="objects",
        ),
        pytest.param(
            pl.DataFrame({"a": [1]}).lazy().select("b"),
            "Polars frame cannot be read",
            id="broken plan",
        ),
        pytest.param(
            pl.scan_parquet("nowhere.parquet"),
            "Polars frame cannot be read",
            id="lazy over a missing file",
        ),
        pytest.param(
            pa.table([[1], [2]], names=["a", "a"]), "'a' occurs twice", id="arrow repeated"
        ),
        pytest.param(
            pa.table({"a": pa.array([[1]], pa.list_(pa.decimal256(60, 0)))}),
            "'a' of the Arrow table has the type",
            id="a list of decimal256",
        ),
    ],
)
def test_bad_frames(frame: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(frame)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        pytest.param(pl.Series(["a", None], dtype=pl.Categorical), "text", id="categorical"),
        pytest.param(pl.Series(["a", None], dtype=pl.Enum(["a", "b"])), "text", id="enum"),
        pytest.param(pl.Series([1, None], dtype=pl.UInt8), "number", id="small integer"),
        pytest.param(pl.Series(["1.5", None]).cast(pl.Decimal(10, 2)), "number", id="decimal"),
        pytest.param(pl.Series([dt.date(2024, 1, 1), None]), "date", id="date"),
        pytest.param(pl.Series([dt.time(10), None]), "text", id="time"),
        pytest.param(pl.Series([None, None]), "text", id="null"),
        pytest.param(pl.Series([[1], None]), "nested", id="list"),
        pytest.param(pl.Series([{"x": 1}, None]), "nested", id="struct"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_polars_columns(column: pl.Series, kind: str, lazy: bool) -> None:  # noqa: FBT001
    frame = pl.DataFrame({"value": column})
    table = read(frame.lazy() if lazy else frame)
    assert table.column("value").kind == kind
    counted = table.engine.query(
        f"SELECT count(*) AS n, count(value) AS known FROM {table.relation}"
    ).to_pylist()
    assert counted == [{"n": 2, "known": column.count()}]


def test_a_lazy_frame_that_fails_while_read() -> None:
    table = read(
        pl.DataFrame({"a": ["1", "x"]}).lazy().with_columns(b=pl.col("a").str.to_integer())
    )
    with pytest.raises(BadInput, match="cannot be read to the end"):
        values(table, "b")


def test_a_reader_can_be_counted_twice() -> None:
    table = read(pa.table({"value": [2, 1]}).to_reader())
    assert values(table) == values(table) == [1, 2]


def test_a_dataset_with_dictionaries() -> None:
    table = read(ds.dataset(pa.table({"value": pa.array(["b", "a", None]).dictionary_encode()})))
    assert values(table) == ["a", "b", None]
