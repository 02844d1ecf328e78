# SPDX-License-Identifier: Apache-2.0
"""Values that an engine, Arrow or Python does not hold stay distinct or raise one clear error."""

from __future__ import annotations

import datetime as dt
import enum
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import divulge as dv
from divulge.engines import SparkEngine
from divulge.errors import BadInput
from tests.helpers import run_cli

DAY = dt.date(2020, 1, 1)
TEN = dt.datetime(2020, 1, 1, 10)  # noqa: DTZ001 - a moment without a zone is meant
ZONED = TEN.replace(tzinfo=dt.UTC)
NANO, NANOS = pd.Timestamp(1, unit="ns"), pd.Timestamp(2, unit="ns")
LAST_DAY = 2_932_896
"""9999-12-31, in days since 1970."""
TEXT = pa.string()
FIRST_DAY = -719_162
"""0001-01-01."""


def days(*numbers: int) -> pa.Array:
    return pa.array(numbers, pa.int32()).cast(pa.date32())


def moments(unit: str, *numbers: int, zone: str | None = None) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, zone))


def bytes_as_text(type_: pa.DataType = TEXT) -> pa.Array:
    """Two texts, of which the first is not UTF-8."""
    offsets = pa.array(
        [0, 2, 3], pa.int64() if type_ == pa.large_string() else pa.int32()
    ).buffers()[1]
    return pa.Array.from_buffers(type_, 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])


def write_parquet(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def write_arrow(folder: Path, table: pa.Table) -> Path:
    with (
        pa.OSFile(str(folder / "t.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)
    return folder / "t.arrow"


def write_stream(folder: Path, table: pa.Table) -> Path:
    with (
        pa.OSFile(str(folder / "t.arrows"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    return folder / "t.arrows"


FORMS: dict[str, Callable[[Path, pa.Table], object]] = {
    "parquet": write_parquet,
    "arrow file": write_arrow,
    "arrow stream": write_stream,
    "table": lambda _, table: table,
    "reader": lambda _, table: table.to_reader(),
    "dataset": lambda _, table: ds.dataset(table),
}
ONLY_ARROW = tuple(form for form in FORMS if form != "parquet")


def read_values(source: object) -> list[Any]:
    table = dv.read(source)
    values = table.engine.query(f"SELECT DISTINCT q FROM {table.relation}").column("q").to_pylist()
    return sorted(values, key=str)


# --- Arrow and Parquet ----------------------------------------------------------------------------
ONES = "1" * 59
EXACT: dict[str, tuple[pa.Array, list[Any]]] = {
    "60 digits": (
        pa.array([Decimal(f"{ONES}1"), Decimal(f"{ONES}2")], pa.decimal256(60, 0)),
        [f"{ONES}1", f"{ONES}2"],
    ),
    "60 digits, few used": (
        pa.array([Decimal(12), Decimal(13)], pa.decimal256(60, 0)),
        [Decimal(12), Decimal(13)],
    ),
    "40 decimals": (
        pa.array([Decimal(f"1.{'1' * 39}{last}") for last in (1, 2)], pa.decimal256(76, 40)),
        [f"1.{'1' * 39}{last}" for last in (1, 2)],
    ),
    "half floats": (pa.array([np.float16(1.5), np.float16(2.5)], pa.float16()), [1.5, 2.5]),
    "first and last day": (days(FIRST_DAY, LAST_DAY), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "last second": (moments("s", 253_402_300_799), [dt.datetime(9999, 12, 31, 23, 59, 59)]),  # noqa: DTZ001
    "64 bits": (pa.array([2**64 - 1, 2**64 - 2], pa.uint64()), [2**64 - 2, 2**64 - 1]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("column", "expected"), EXACT.values(), ids=EXACT)
def test_values_stay_apart(
    form: str, column: pa.Array, expected: list[Any], tmp_path: Path
) -> None:
    assert read_values(FORMS[form](tmp_path, pa.table({"q": column}))) == expected


@pytest.mark.parametrize("form", ONLY_ARROW)
def test_negative_scales(form: str, tmp_path: Path) -> None:
    column = pa.array([Decimal(1200), Decimal(1300)], pa.decimal128(5, -2))
    assert read_values(FORMS[form](tmp_path, pa.table({"q": column}))) == [1200, 1300]
    hundreds = pa.array([Decimal(100), Decimal(200)], pa.decimal128(5, 0))
    column = pa.Array.from_buffers(pa.decimal128(5, -38), 2, hundreds.buffers())  # 1e40 and 2e40
    with pytest.raises(BadInput, match=r"numbers of more than 38 digits\. Cast it to text"):
        read_values(FORMS[form](tmp_path, pa.table({"q": column})))


FAR = "dates outside the years 1 to 9999"
REJECTED: dict[str, tuple[pa.Array, str]] = {
    "a day after the last": (days(0, LAST_DAY + 1), FAR),
    "a day before the first": (days(0, FIRST_DAY - 1), FAR),
    "the last day of all": (days(0, 2**31 - 1), FAR),
    "far seconds": (moments("s", 0, 10**14), f"{FAR}|timestamp is outside"),
    "far milliseconds": (moments("ms", 0, -(10**15)), FAR),
    "far microseconds": (moments("us", 0, 2**62), FAR),
    "far, with a zone": (moments("us", 0, 2**62, zone="Europe/Berlin"), FAR),
    "not UTF-8": (bytes_as_text(), "not UTF-8"),
    "not UTF-8, large": (bytes_as_text(pa.large_string()), "not UTF-8"),
    "not UTF-8, dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), bytes_as_text()),
        "not UTF-8",
    ),
}
REJECTED_IN_ARROW: dict[str, tuple[pa.Array, str]] = {
    "nanoseconds": (
        pa.array([1, 2], pa.int64()).cast(pa.duration("ns")),
        "durations that microseconds do not hold",
    ),
    "eons": (
        pa.array([1, 2**62], pa.int64()).cast(pa.duration("s")),
        "durations that microseconds do not hold",
    ),
    "intervals": (
        pa.array([pa.MonthDayNano([1, 1, 1]), pa.MonthDayNano([1, 1, 2])]),
        "durations that microseconds do not hold",
    ),
    "days with a time": (
        pa.Array.from_buffers(pa.date64(), 2, pa.array([0, 1000], pa.int64()).buffers()),
        "dates with a time of day",
    ),
    "not UTF-8, inside": (pa.StructArray.from_arrays([bytes_as_text()], ["x"]), "not UTF-8"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("column", "message"), REJECTED.values(), ids=REJECTED)
def test_values_that_cannot_be_read(
    form: str, column: pa.Array, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read_values(FORMS[form](tmp_path, pa.table({"q": column})))
    assert "Unknown error" not in str(caught.value)


@pytest.mark.parametrize("form", ONLY_ARROW)
@pytest.mark.parametrize(("column", "message"), REJECTED_IN_ARROW.values(), ids=REJECTED_IN_ARROW)
def test_arrow_values_that_cannot_be_read(
    form: str, column: pa.Array, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        read_values(FORMS[form](tmp_path, pa.table({"q": column})))


def test_check_ends_with_exit_code_2(tmp_path: Path) -> None:
    far = write_parquet(tmp_path, pa.table({"q": days(0, LAST_DAY + 1), "s": ["a", "b"]}))
    result = run_cli("check", str(far), "--qi", "q", "--sensitive", "s", "--k-anonymity", "2")
    assert result.code == 2
    assert FAR in result.err
    wide = write_parquet(tmp_path, pa.table({"q": EXACT["60 digits"][0], "s": ["a", "b"]}))
    assert (
        run_cli("check", str(wide), "--qi", "q", "--sensitive", "s", "--k-anonymity", "2").code == 1
    )


def test_wide_decimals_of_several_files(tmp_path: Path) -> None:
    for folder, digits in (("zip=1", "12"), ("zip=2", f"{ONES}2")):
        (tmp_path / folder).mkdir()
        write_parquet(
            tmp_path / folder,
            pa.table({"q": pa.array([Decimal(digits)], pa.decimal256(60, 0)), "s": ["a"]}),
        )
    table = dv.read(tmp_path)
    rows = table.engine.query(f"SELECT * FROM {table.relation} ORDER BY zip").to_pylist()
    assert rows == [{"q": "12", "s": "a", "zip": 1}, {"q": f"{ONES}2", "s": "a", "zip": 2}]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_wide_decimals_of_several_scales(kind: str, tmp_path: Path) -> None:
    long = ONES[:45]
    numbers = {0: ["0", long, "10"], 2: ["0.00", f"{long}.00", "1.40"], 30: ["0", long, "1.4"]}
    for scale, texts in numbers.items():
        column = pa.array([Decimal(text) for text in texts], pa.decimal256(75, scale))
        table = pa.table({"q": column, "flag": pa.array([True] * 3)})
        if kind == "parquet":
            pq.write_table(table, tmp_path / f"{scale}.parquet")
        else:
            feather.write_feather(table, str(tmp_path / f"{scale}.arrow"), compression="zstd")
    assert sorted(map(str, read_values(tmp_path))) == sorted(["0", long, "10", "1.4"])


def test_a_wide_decimal_and_another_type(tmp_path: Path) -> None:
    wide = pa.table({"q": pa.array([Decimal(1)], pa.decimal256(60, 0)), "s": [True]})
    pq.write_table(wide, tmp_path / "a.parquet")
    other = pa.table({"q": [True], "s": pa.array([Decimal(1)], pa.decimal256(60, 0))})
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"'q' .*DECIMAL\(38,0\) in a.parquet, BOOLEAN in b"):
        dv.read(tmp_path)


@pytest.mark.parametrize("microseconds", [-1, 86_400_000_001])
def test_times_outside_of_a_day(microseconds: int, tmp_path: Path) -> None:
    times = pa.array([microseconds] * 2, pa.int64()).view(pa.time64("us"))
    path = write_parquet(tmp_path, pa.table({"q": times, "s": ["a", "b"]}))
    result = run_cli("check", str(path), "--qi", "q", "--sensitive", "s", "--k-anonymity", "2")
    assert (result.code, f"the time {microseconds}, which is not within a day" in result.err) == (
        2,
        True,
    )


def test_the_nanoseconds_that_pandas_reads_as_missing() -> None:
    nanoseconds = pa.array([-(2**63), 0], pa.int64()).view(pa.timestamp("ns"))
    with pytest.raises(BadInput, match=r"'q' of the Arrow table has dates before 1677-09-22"):
        dv.read(pa.table({"q": nanoseconds}))
    first_day = pa.array([dt.datetime(1677, 9, 22)], pa.timestamp("ns"))  # noqa: DTZ001
    assert dv.read(pa.table({"q": first_day})).column("q").kind == "date"


@pytest.mark.parametrize("kind", ["frame", "arrow", "arrows"])
def test_a_column_without_a_type_is_published_as_text(kind: str, tmp_path: Path) -> None:
    table = pa.table({"q": pa.nulls(4), "s": ["a", "b", "a", "b"]})
    source: Any = table
    if kind != "frame":
        source = tmp_path / f"t.{kind}"
        write = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(source), "wb") as file, write(file, table.schema) as writer:
            writer.write_table(table)
    assert dv.read(source).column("q").type == "VARCHAR"
    release = dv.generalize(
        source, policy=dv.Policy(k_anonymity=2), quasi_identifiers="q", sensitive="s"
    )
    release.write(tmp_path / "release")
    assert (tmp_path / "release" / "manifest.json").is_file()


def test_wide_decimals_inside_of_lists(tmp_path: Path) -> None:
    column = pa.array([[Decimal(1)]], pa.list_(pa.decimal256(60, 0)))
    with pytest.raises(BadInput, match=r"'q' .* has decimals of 60 digits inside of other values"):
        dv.read(write_parquet(tmp_path, pa.table({"q": column})))


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_parquet_file_that_is_cut_off_after_it_was_opened(share: float, tmp_path: Path) -> None:
    path = write_parquet(tmp_path, pa.table({"q": list(range(1000)), "s": ["a", "b"] * 500}))
    table = dv.read(path)
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(
        BadInput, match=r"t\.parquet is not a readable Parquet file\. Is it cut off\?"
    ):
        dv.measure(table, quasi_identifiers="q", sensitive="s")


@pytest.mark.parametrize(
    ("cells", "type_"),
    [
        (["0000-01-01", "2020-01-01"], "VARCHAR"),
        (["0001-01-01", "9999-12-31"], "DATE"),
        (["0000-01-01 10:00", "2020-01-01 10:00"], "VARCHAR"),
        (["0001-01-01T00:00:00+14:00", "2020-01-01T00:00:00Z"], "VARCHAR"),
        (["9999-12-31T23:00:00-05:00", "2020-01-01T00:00:00Z"], "VARCHAR"),
    ],
)
def test_days_of_text_files(cells: list[str], type_: str, tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("q\n" + "".join(f"{cell}\n" for cell in cells), encoding="utf-8")
    assert dv.read(path).column("q").type == type_
    assert len(read_values(path)) == 2


# --- frames ---------------------------------------------------------------------------------------
class Color(enum.Enum):
    """A value that no Arrow type holds."""

    RED = 1


MIXED: dict[str, tuple[list[Any], str]] = {
    "date and datetime": ([DAY, TEN], "date, datetime"),
    "datetime and date": ([TEN, DAY], "date, datetime"),
    "bytes and str": ([b"a", "a"], "bytes, str"),
    "str and int": (["1", 1], "int, str"),
    "bool and int": ([True, 1], "bool, int"),
    "Decimal and float": ([Decimal("0.1"), 0.1], "Decimal, float"),
    "with a zone and without": ([TEN, ZONED], "datetime with a zone, datetime without"),
    "times with a zone and without": (
        [dt.time(1), dt.time(1, tzinfo=dt.UTC)],
        "time with a zone, time without",
    ),
    "times with a zone": ([dt.time(1, tzinfo=dt.UTC)], "time with a zone"),
    "int that no double holds": ([2**53 + 1, 0.5], "float, int"),
    "units of datetime64": (
        [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T10")],
        "datetime64 of several units",
    ),
    "inside of lists": ([[DAY], [TEN]], "date, datetime"),
    "inside of dicts": ([{"x": "a"}, {"x": b"a"}], "bytes, str"),
    "nanoseconds inside of lists": ([[NANO], [NANOS]], "Timestamp with nanoseconds"),
    "an enum": ([Color.RED], "Color"),
    "infinite Decimal": ([Decimal("Infinity")], "Decimal"),
    "integer of 90 digits": ([10**90], "int"),
    "longdouble": ([np.longdouble("0.1"), np.longdouble("0.1000000000000000001")], "longdouble"),
    "a missing datetime64 inside of lists": ([[np.datetime64("NaT"), np.True_]], "bool, datetime6"),
}


@pytest.mark.parametrize(("values", "message"), MIXED.values(), ids=MIXED)
def test_pandas_objects_that_would_be_merged(values: list[Any], message: str) -> None:
    with pytest.raises(BadInput, match=f"'q' of the pandas frame .*: {message}"):
        dv.read(pd.DataFrame({"q": pd.Series(values, dtype=object)}))


@pytest.mark.parametrize(
    ("values", "message"), [MIXED["date and datetime"], MIXED["bytes and str"]]
)
def test_categories_that_would_be_merged(values: list[Any], message: str) -> None:
    with pytest.raises(BadInput, match=f"'q' of the pandas frame .*: {message}"):
        dv.read(pd.DataFrame({"q": pd.Series(values, dtype=object).astype("category")}))


KEPT: dict[str, tuple[list[Any], list[Any]]] = {
    "integers above 64 bits": ([2**64, 2**64 + 1], [2**64, 2**64 + 1]),
    "signed and above 63 bits": ([-1, 2**63], [-1, 2**63]),
    "above 38 digits": ([10**40, 10**40 + 1], [str(10**40), str(10**40 + 1)]),
    "nanoseconds": ([NANO, NANOS, None], [NANO, NANOS, None]),
    "nanoseconds and datetime": ([NANO, dt.datetime(1970, 1, 1)], [pd.Timestamp(0), NANO]),  # noqa: DTZ001
    "int and float": ([1, 1.5], [1.0, 1.5]),
    "int and Decimal": ([1, Decimal("1.5")], [Decimal("1.0"), Decimal("1.5")]),
    "Decimal of 50 digits": (
        [Decimal("1" * 50), Decimal("1" * 49 + "2")],
        ["1" * 50, "1" * 49 + "2"],
    ),
    "missing datetime64": ([np.datetime64("NaT"), np.True_, np.False_], [True, False, None]),
    "missing timedelta64": (["a", np.timedelta64("NaT")], ["a", None]),
    "one kind with nulls": ([None, pd.NaT, float("nan"), DAY], [DAY, None]),
}


@pytest.mark.parametrize(("values", "expected"), KEPT.values(), ids=KEPT)
def test_pandas_objects_stay_apart(values: list[Any], expected: list[Any]) -> None:
    found = read_values(pd.DataFrame({"q": pd.Series(values, dtype=object)}))
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_lone_surrogates(text: str) -> None:
    with pytest.raises(BadInput, match=r"not valid Unicode \(a lone surrogate\)"):
        dv.read(pd.DataFrame({"q": pd.Series([text, "a"], dtype=object)}))
    with pytest.raises(BadInput, match="name of column 1 of the pandas frame is not valid Unicode"):
        dv.read(pd.DataFrame([[1]], columns=pd.Index([text], dtype=object)))


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_types_that_arrow_does_not_have(lazy: bool) -> None:  # noqa: FBT001
    def source(values: list[Any], type_: Any) -> Any:
        frame = pl.DataFrame({"q": pl.Series(values, dtype=type_)})
        return frame.lazy() if lazy else frame

    assert read_values(source([2**100, 2**100 + 1, None], pl.Int128)) == [2**100, 2**100 + 1, None]
    with pytest.raises(BadInput, match="integers of more than 38 digits"):
        read_values(source([2**127 - 1, 1], pl.Int128))
    with pytest.raises(BadInput, match=r"the type List\(Int128\)"):
        read_values(source([[1]], pl.List(pl.Int128)))
    with pytest.raises(BadInput, match=FAR):
        read_values(source([0, 2**30], pl.Int32).cast({"q": pl.Date}))


@pytest.mark.parametrize(
    "value",
    [
        "'infinity'::DATE",
        "'-infinity'::TIMESTAMP",
        "'290000-01-01'::TIMESTAMPTZ",
        "'0044-03-15 (BC)'::DATE",
    ],
)
def test_dates_of_duckdb(value: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=FAR):
        dv.read(duckdb.sql(f"SELECT {value} AS q"))
    with duckdb.connect(tmp_path / "t.duckdb") as database:
        database.sql(f"CREATE TABLE t AS SELECT {value} AS q")
    with pytest.raises(BadInput, match=FAR):
        dv.read(tmp_path / "t.duckdb")


def test_integers_of_duckdb_above_127_bits() -> None:
    assert read_values(duckdb.sql(f"SELECT {2**127 - 1}::UHUGEINT AS q")) == [2**127 - 1]
    with pytest.raises(BadInput, match="integers above 127 bits"):
        dv.read(duckdb.sql(f"SELECT {2**127}::UHUGEINT AS q"))


def test_spark(spark: SparkEngine, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=FAR):
        dv.read(write_parquet(tmp_path, pa.table({"q": days(0, LAST_DAY + 1)})), engine=spark)
    with pytest.raises(BadInput, match="decimals of more than 38 digits"):
        dv.read(write_parquet(tmp_path, pa.table({"q": EXACT["60 digits"][0]})), engine=spark)
    table = dv.read(write_parquet(tmp_path, pa.table({"q": bytes_as_text()})), engine=spark)
    with pytest.raises(BadInput, match="not UTF-8"):
        dv.measure(table, quasi_identifiers="q")
