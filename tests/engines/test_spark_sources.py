# SPDX-License-Identifier: Apache-2.0
"""Spark reads sources by the same rules as DuckDB: equal columns, types and values."""

from __future__ import annotations

import datetime as dt
import gc
import gzip
import json
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.engines.spark_session import wait_until_clean
from divulge.errors import BadInput
from divulge.sources import Table, read
from divulge.sources import spark_tables as table_spark

# Columns of texts, each with a trap for type detection.
TEXTS = {
    "zip": ["01234", "12345", "99999"],
    "whole": ["1", "-20", "300"],
    "long": ["1234567890123456789", "2", "3"],
    "too long": ["12345678901234567890", "2", "3"],
    "decimal": ["1.50", "2.25", "3.75"],
    "code": ["250.1", "250.10", "250.2"],
    "exponent": ["1e-05", "2.0E10", "3"],
    "not finite": ["1e-05", "1.0e999", "3"],
    "bare exponent": ["1E5", "2", "3"],
    "day": ["2020-02-28", "2020-02-29", ""],
    "no day": ["2020-02-30", "2020-01-01", "2020-01-02"],
    "moment": ["2020-01-01 10:30", "2020-01-01T10:30:00.5", ""],
    "zoned": ["2020-01-01 10:30Z", "2020-01-01 10:30:00+02:00", "2020-01-01T10:30:00-0530"],
    "blanks": [" 12", "13", "14"],
    "words": ["a", '"quoted", and so on', "line\nbreak"],
    "back\\slash": ["\\", "\\n", "'"],
    "empty": ["", "", ""],
    "Ünïcode 😀": ["ü", "日本", "😀"],
}


@pytest.fixture
def read_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is small enough to be read on the driver."""
    monkeypatch.setattr(table_spark, "SMALL_TEXT", -1)


def described(table: Table) -> list[tuple[str, str, str]]:
    """Name, type and kind of each column."""
    return [(column.name, column.type, column.kind) for column in table.columns]


def contents(table: Table) -> list[str]:
    """Return the rows, as texts, in a fixed order."""
    names = ", ".join(table.engine.quote(name) for name in table.names)
    rows = table.engine.query(f"SELECT {names} FROM {table.relation}")
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz:
            rows = rows.set_column(
                place, field.name, rows.column(place).cast(pa.timestamp("us", "UTC"))
            )
    return sorted(str([str(value) for value in row.values()]) for row in rows.to_pylist())


def assert_same(source: Any, spark: SparkEngine, **options: Any) -> Table:
    """Assert that both engines see the same table."""
    here, there = read(source, **options), read(source, engine=spark, **options)
    assert there.engine is spark
    assert described(there) == described(here)
    assert contents(there) == contents(here)
    assert there.frame == here.frame
    return there


def csv_text(columns: dict[str, list[str]], *, delimiter: str = ",", end: str = "\n") -> str:
    """Return delimited text in which every cell is quoted that has to be."""

    def cell(text: str) -> str:
        return (
            f'"{text.replace(chr(34), chr(34) * 2)}"'
            if any(mark in text for mark in f'{delimiter}"\r\n')
            else text
        )

    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(cell, row)) + end for row in rows)


@pytest.mark.parametrize(
    ("name", "delimiter", "end"),
    [("a.csv", ",", "\n"), ("b.tsv", "\t", "\r\n"), ("c [1].csv", ";", "\n")],
)
@pytest.mark.usefixtures("read_by_workers")
def test_workers_give_text_the_same_types(
    tmp_path: Path, spark: SparkEngine, name: str, delimiter: str, end: str
) -> None:
    path = tmp_path / name
    path.write_bytes(("\ufeff" + csv_text(TEXTS, delimiter=delimiter, end=end)).encode())
    found = assert_same(path, spark)
    assert {column.name: column.type for column in found.columns}["zip"] == "VARCHAR"


@pytest.mark.usefixtures("read_by_workers")
def test_text_in_another_encoding_and_compressed(tmp_path: Path, spark: SparkEngine) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("ort,plz\nKöln,01234\nWürzburg,97070\n".encode("latin-1"))
    assert_same(latin, spark, encoding="latin-1")
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(csv_text({"zip": ["01", "02"], "n": ["1", "2"]}).encode()))
    assert_same(packed, spark)
    (tmp_path / "bare.csv").write_text("1,a\n2,b\n")
    assert_same(tmp_path / "bare.csv", spark, header=False)


@pytest.mark.usefixtures("read_by_workers")
def test_workers_reject_text_that_is_not_a_table(tmp_path: Path, spark: SparkEngine) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(
        BadInput, match=r"ragged\.csv: a line does not have the fields of the first one"
    ):
        read(path, engine=spark)
    path.write_text('a,b\n1,"never closed\n' + "2,x\n" * 400_000)
    with pytest.raises(
        BadInput,
        match=r"ragged\.csv: a value has more than a million characters. Is a quote not closed",
    ):
        read(path, engine=spark)


def test_small_text_is_read_as_strictly_as_by_duckdb(tmp_path: Path, spark: SparkEngine) -> None:
    """Text that Spark would accept and DuckDB does not.

    A quote that is never closed, line ends inside quotes, an empty line in a table of one column.
    """
    path = tmp_path / "people.csv"
    path.write_bytes(csv_text(TEXTS | {"lines": ["a\r\nb", "c", "d"]}, end="\r\n").encode())
    assert_same(path, spark)
    path.write_text("a\nx\n\ny\n")
    assert_same(path, spark)
    path.write_text('a,b\n1,"never closed\n2,x\n')
    with pytest.raises(BadInput, match="a quoted value does not end"):
        read(path, engine=spark)


@pytest.mark.usefixtures("read_by_workers")
def test_json_lines_and_arrays(tmp_path: Path, spark: SparkEngine) -> None:
    records = [
        {
            "zip": "01234",
            "n": 1,
            "x": 1.5,
            "day": "2020-02-29",
            "flag": True,
            "mixed": 1,
            "nested": {"a": 1},
        },
        {
            "zip": "99",
            "n": None,
            "x": 2,
            "day": "2020-01-01",
            "flag": False,
            "mixed": "one",
            "nested": {"a": 2},
            "late": "x",
        },
    ]
    lines, array = tmp_path / "lines.jsonl", tmp_path / "array.json"
    lines.write_text("\n".join(map(json.dumps, records)))
    array.write_text(json.dumps(records))
    for path in (lines, array):
        here, there = read(path), read(path, engine=spark)
        assert {c.name: c.kind for c in there.columns} == {c.name: c.kind for c in here.columns}
        plain = ["zip", "n", "x", "day", "flag", "mixed", "late"]
        assert {n: there.column(n).type for n in plain} == {n: here.column(n).type for n in plain}
    lines.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(BadInput, match=r"lines\.jsonl: a record is malformed"):
        read(lines, engine=spark)


def test_parquet_files_folders_and_partitions(tmp_path: Path, spark: SparkEngine) -> None:
    table = pa.table(
        {
            "zip `code`": ["01", "02", None],
            "price": pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(10, 2)),
            "seen": pa.array(
                [dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)] * 3, pa.timestamp("us", "UTC")
            ),
            "moment": pa.array([dt.datetime(2020, 1, 1, 12)] * 3, pa.timestamp("us")),  # noqa: DTZ001 - without a zone
            "small": pa.array([1, 2, None], pa.int16()),
        }
    )
    pq.write_table(table, tmp_path / "odd {name}.parquet")
    assert_same(tmp_path / "odd {name}.parquet", spark)
    folder = tmp_path / "parts"
    for year, code in (("2020", "01"), ("2021", "02")):
        (folder / f"year={year}" / f"code={code}").mkdir(parents=True)
        pq.write_table(table, folder / f"year={year}" / f"code={code}" / "x.parquet")
    found = assert_same(folder, spark)
    assert (found.column("year").type, found.column("code").type) == ("BIGINT", "VARCHAR")
    pq.write_table(table.drop_columns(["small"]), folder / "year=2021" / "code=02" / "y.parquet")
    with pytest.raises(BadInput, match=r"y\.parquet lacks 'small'"):
        read(folder, engine=spark)


def test_an_address_is_for_spark_to_read(tmp_path: Path, spark: SparkEngine) -> None:
    path = tmp_path / "people.csv"
    path.write_text(csv_text({"zip": ["01234", "99999"], "age": ["30", "40"]}))
    found = read(f"file://{path}", engine=spark)
    assert described(found) == [("zip", "VARCHAR", "text"), ("age", "BIGINT", "number")]
    with pytest.raises(BadInput, match="a file does not exist"):
        read(f"file://{tmp_path}/nothing.parquet", engine=spark)


def test_frames_and_other_sources_read_on_the_driver_are_moved(
    tmp_path: Path, spark: SparkEngine
) -> None:
    frame = pd.DataFrame(
        {"zip": ["01", None], "age": [30.5, None], "kind": pd.Categorical(["a", "b"])}
    )
    assert assert_same(frame, spark).frame == "pandas"
    assert assert_same(pl.DataFrame({"a": [1, None], "b": ["x", "y"]}), spark).frame == "polars"
    assert_same(pl.LazyFrame({"a": [1, None]}), spark)
    arrow = pa.table(
        {
            "t": [dt.time(10, 30), None],
            "u": pa.array([2**63, None], pa.uint64()),
            "b": [b"\x00", None],
        }
    )
    found = read(arrow, engine=spark)
    assert [column.kind for column in found.columns] == ["text", "number", "text"]
    with sqlite3.connect(tmp_path / "people.sqlite") as base:
        base.execute("CREATE TABLE people AS SELECT '01' AS zip, 30 AS age")
    base.close()
    assert_same(tmp_path / "people.sqlite", spark)
    too_fine = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(BadInput, match="which Spark cannot hold without a change"):
        read(too_fine, engine=spark)


def test_a_frame_and_a_table_of_a_catalog_are_read_in_their_session(spark: SparkEngine) -> None:
    session = spark.session
    frame = session.createDataFrame(
        pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "flu", "cancer"]})
    )
    before = dict(session.conf.getAll)
    gc.collect()  # frees engines of other tests with their views
    wait_until_clean()
    views = {table.name for table in session.catalog.listTables()}
    measured = dv.measure(frame, quasi_identifiers="zip", sensitive="disease")
    assert (measured.settings["engine"], measured.settings["source"]) == (
        "spark",
        "the Spark frame",
    )
    assert measured["k_anonymity"].value == 1
    own = read(frame)
    assert isinstance(own.engine, SparkEngine)
    assert own.engine.session is session
    own.engine.close()
    del measured
    gc.collect()
    wait_until_clean()
    assert {table.name for table in session.catalog.listTables()} == views
    assert dict(session.conf.getAll) == before
    session.sql("CREATE DATABASE IF NOT EXISTS ward")
    frame.write.saveAsTable("ward.people")
    try:
        by_name = dv.measure(
            "spark_catalog.ward.people",
            quasi_identifiers="zip",
            sensitive="disease",
            engine=session,
        )
        assert by_name.rows == 3
    finally:
        session.sql("DROP DATABASE ward CASCADE")
    with pytest.raises(BadInput, match=r"there is no file ward\.people"):
        read("ward.people", engine=spark)


def test_collations_and_columns_of_nulls(spark: SparkEngine) -> None:
    """A collation that equates A and a would merge two classes; we count values as they are."""
    # From typed columns: Spark once took the constants of VALUES ('A'), ('a') for two types.
    texts = spark.session.createDataFrame(pa.table({"text": ["A", "a"]}))
    frame = texts.selectExpr("text COLLATE UTF8_LCASE AS a", "NULL AS b")
    assert [type_ for _, type_ in frame.dtypes] == ["string collate UTF8_LCASE", "void"]
    found = dv.measure(frame, quasi_identifiers=["a", "b"])
    assert found.class_count == 2
    assert [(key.name, key.labels) for key in found.contingency.keys] == [
        ("a", ["A", "a"]),
        ("b", [None]),
    ]


def test_sources_that_do_not_fit_the_engine_raise_an_error(spark: SparkEngine) -> None:
    frame = spark.session.range(3)
    with pytest.raises(BadInput, match="a Spark frame cannot be read by DuckDB"):
        read(frame, engine="duckdb")
    with pytest.raises(BadInput, match=r"there is no engine 'sparc'\. did you mean 'spark'"):
        read("x.csv", engine="sparc")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="an engine cannot be made from int"):
        read("x.csv", engine=3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="was opened with duckdb, and spark was asked for"):
        read(read(pa.table({"a": [1]}), engine=DuckDBEngine()), engine=spark)
    stream = spark.session.readStream.format("rate").load()
    with pytest.raises(BadInput, match="a stream has no end"):
        read(stream)
    twice = frame.withColumnRenamed("id", "a").join(frame.withColumnRenamed("id", "a"))
    with pytest.raises(BadInput, match="the column name 'a' occurs twice"):
        read(twice)
