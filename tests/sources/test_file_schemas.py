# SPDX-License-Identifier: Apache-2.0
"""Files that are read as one table: every file's columns and types are compared before a row is
counted.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import SparkEngine
from divulge.errors import BadInput
from divulge.sources import Table, spark_tables
from divulge.sources.schemas import common_type
from tests.helpers import run_cli

FEW_BITS = 2**53


def rows(table: Table) -> list[dict[str, Any]]:
    found = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return sorted(found, key=repr)


def write(path: Path, columns: dict[str, Any]) -> None:
    """Write columns to a Parquet, Arrow or CSV file, by its ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".jsonl":
        lines = (f"{json.dumps(row)}\n" for row in table.to_pylist())
        path.write_text("".join(lines), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer_ = csv.writer(file)
            writer_.writerow(table.column_names)
            writer_.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


KINDS = ("parquet", "arrow", "csv")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False], ids=["in the first file", "in the last file"])
def test_a_column_that_a_file_lacks_is_an_error(kind: str, first: bool, tmp_path: Path) -> None:  # noqa: FBT001
    write(tmp_path / f"a.{kind}", {"q": [1], "s": ["x"]} | ({"ssn": ["1-2"]} if first else {}))
    write(tmp_path / f"b.{kind}", {"q": [1], "s": ["x"]} | ({} if first else {"ssn": ["1-2"]}))
    lacking = "b" if first else "a"
    message = rf"have different columns: {lacking}\.{kind} lacks 'ssn'.*union_columns=True"
    with pytest.raises(BadInput, match=message):
        dv.read(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_union_columns_reads_nulls_there(kind: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{kind}", {"q": [1], "s": ["x"]})
    write(tmp_path / f"b.{kind}", {"ssn": ["9-9"], "q": [2], "s": ["y"]})
    table = dv.read(tmp_path, union_columns=True)
    assert table.names == ("q", "s", "ssn")
    assert rows(table) == [{"q": 1, "s": "x", "ssn": None}, {"q": 2, "s": "y", "ssn": "9-9"}]
    assert table.reading.how["union_columns"] is True
    assert any(
        f"'ssn' is null in 1 of 2 files, which lack it: a.{kind}" in note
        for note in table.reading.notes
    )


@pytest.mark.parametrize("kind", KINDS)
def test_columns_go_by_name_in_any_order(kind: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{kind}", {"q": [1], "r": [2]})
    write(tmp_path / f"b.{kind}", {"r": [20], "q": [10]})
    assert rows(dv.read(tmp_path)) == [{"q": 1, "r": 2}, {"q": 10, "r": 20}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("union", [True, False])
def test_names_that_differ_by_case_between_files(kind: str, union: bool, tmp_path: Path) -> None:  # noqa: FBT001
    write(tmp_path / f"a.{kind}", {"q": [1], "ssn": [1]})
    write(tmp_path / f"b.{kind}", {"q": [1], "SSN": [2]})
    with pytest.raises(
        BadInput, match=rf"'ssn' \(a\.{kind}\) and 'SSN' \(b\.{kind}\) .* differ only in upper"
    ):
        dv.read(tmp_path, union_columns=union)


def test_an_option_without_effect_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", {"q": [1]})
    (tmp_path / "b.jsonl").write_text('{"q": 1}\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"union_columns= .*a\.csv is one file"):
        dv.read(tmp_path / "a.csv", union_columns=True)
    with pytest.raises(BadInput, match=r"union_columns= .* is json"):
        dv.read(tmp_path / "b.jsonl", union_columns=True)
    with pytest.raises(BadInput, match=r"union_columns= .* neither a file nor a database"):
        dv.read(pa.table({"q": [1]}), union_columns=True)


def test_many_files_are_named_in_part(tmp_path: Path) -> None:
    for number in range(9):
        extra = {} if number else {f"x{i}": [1] for i in range(7)}
        write(tmp_path / f"{number}.parquet", {"q": [1], **extra})
    with pytest.raises(BadInput) as caught:
        dv.read(tmp_path)
    assert "1.parquet, 2.parquet, 3.parquet and 5 more lack 'x0', 'x1', 'x2' and 4 more" in str(
        caught.value
    )


# --- types ----------------------------------------------------------------------------------------
D = decimal.Decimal
MIDNIGHT = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - a moment without a zone is meant
# The column in one file and in the other; all values, as they must be read, or None where there is
# no common type.
DRIFTS: dict[str, tuple[pa.Array, pa.Array, list[Any] | None]] = {
    "int and float": (pa.array([1]), pa.array([1.4]), [1, 1.4]),
    "int beyond 2^53 and float": (pa.array([FEW_BITS + 1]), pa.array([1.4]), None),
    "int that a double holds": (pa.array([2**60]), pa.array([1.4]), [2**60, 1.4]),
    "small and large int": (pa.array([1], pa.int8()), pa.array([2**62]), [1, 2**62]),
    "signed and unsigned": (pa.array([-1]), pa.array([2**64 - 1], pa.uint64()), [-1, 2**64 - 1]),
    "float and double": (
        pa.array([0.1], pa.float32()),
        pa.array([0.1]),
        [0.10000000149011612, 0.1],
    ),
    "int and bool": (pa.array([1]), pa.array([True]), None),
    "date and timestamp": (pa.array([MIDNIGHT.date()]), pa.array([MIDNIGHT]), None),
    "with a zone and without": (
        pa.array([MIDNIGHT]),
        pa.array([MIDNIGHT], pa.timestamp("us", "UTC")),
        None,
    ),
    "scales": (pa.array([D("1.5")]), pa.array([D("1.25")]), [D("1.5"), D("1.25")]),
    "decimal and int": (pa.array([D("1.5")]), pa.array([2]), [D("1.5"), D(2)]),
    "decimal and double": (pa.array([D("1.1")]), pa.array([1.1]), None),
    "whole decimal and double": (pa.array([D(7)]), pa.array([1.5]), [7, 1.5]),
    "digits that fit nowhere": (pa.array([D(10**37)]), pa.array([D("1e-30")]), None),
    "digits that fit by chance": (
        pa.array([D(1)], pa.decimal128(38, 0)),
        pa.array([D("0.001")], pa.decimal128(38, 30)),
        [D(1), D("0.001")],
    ),
    "text and int": (pa.array(["1"]), pa.array([1]), None),
    "text and bytes": (pa.array(["1"]), pa.array([b"1"]), None),
    "nothing known and text": (pa.nulls(1), pa.array(["x"]), [None, "x"]),
    "dictionary and text": (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), ["a", "b"]),
    "milliseconds and microseconds": (
        pa.array([MIDNIGHT], pa.timestamp("ms")),
        pa.array([MIDNIGHT.replace(microsecond=7)]),
        [MIDNIGHT, MIDNIGHT.replace(microsecond=7)],
    ),
    "nanoseconds that end before year 9000": (
        pa.array([1], pa.timestamp("ns")),
        pa.array([MIDNIGHT.replace(year=9000)], pa.timestamp("us")),
        None,
    ),
    "lists": (pa.array([[1]]), pa.array([["x"]]), None),
}


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("case", DRIFTS)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_types_that_drift(case: str, kind: str, turned: bool, tmp_path: Path) -> None:  # noqa: FBT001
    one, other, expected = DRIFTS[case]
    first, second = (other, one) if turned else (one, other)
    write(tmp_path / f"a.{kind}", {"q": first})
    write(tmp_path / f"b.{kind}", {"q": second})
    if expected is None:
        with pytest.raises(
            BadInput, match=rf"'q' .* without a change: .* in a\.{kind}, .* in b\.{kind}"
        ):
            dv.read(tmp_path)
        return
    table = dv.read(tmp_path)
    found = [row["q"] for row in rows(table)]
    assert sorted(found, key=repr) == sorted(
        expected, key=lambda value: repr(next(v for v in found if v == value))
    )
    assert all(any(value == other for other in found) for value in expected)
    if table.reading.how.get("types"):
        assert set(table.reading.how["types"]) == {"q"}
        assert any("every value unchanged" in note for note in table.reading.notes)


def test_a_common_type_is_recorded(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"q": [1], "s": [1]})
    write(tmp_path / "b.parquet", {"q": [1.5], "s": [2]})
    found = run_cli("measure", str(tmp_path), "--qi", "q", "--sensitive", "s", "--json")
    assert found.json()["settings"]["read"]["types"] == {"q": "DOUBLE"}
    assert (
        "'q' differs between files (BIGINT in a.parquet, DOUBLE in b.parquet): read as DOUBLE"
        in found.err
    )


def test_no_type_is_common_to_a_text_and_a_number() -> None:
    assert common_type(["VARCHAR", "BIGINT"]) is None
    assert common_type(["BOOLEAN", "UTINYINT"]) is None
    assert common_type(["UTINYINT", "TINYINT"]) == "SMALLINT"
    assert common_type(["UBIGINT", "BIGINT"]) == "HUGEINT"
    assert common_type(['"NULL"', '"NULL"']) == '"NULL"'


def test_digits_in_one_csv_file_and_text_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip,n\n1,5\n10,6\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("n,zip\n7,02139\n", encoding="utf-8")
    table = dv.read(tmp_path)
    assert {row["zip"] for row in rows(table)} == {"1", "10", "02139"}
    assert {row["n"] for row in rows(table)} == {5, 6, 7}


def test_csv_files_that_are_written_in_different_ways(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("q,s\n1,x\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("q;s\n1;x\n2;y\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"b\.csv separates its cells by ';' and a\.csv by ','"):
        dv.read(tmp_path, union_columns=True)
    (tmp_path / "b.csv").write_text("7,x\n8,y\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"a\.csv begins with column names and b\.csv does not"):
        dv.read(tmp_path, union_columns=True)
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbf\r\ns,q\r\ny,2\r\n")
    assert rows(dv.read(tmp_path)) == [{"q": 1, "s": "x"}, {"q": 2, "s": "y"}]


def test_a_key_that_first_appears_in_the_last_record(tmp_path: Path) -> None:
    records = ['{"q": 1}\n'] * 30_000 + ['{"q": 1, "ssn": "1-2"}\n']
    (tmp_path / "a.jsonl").write_text("".join(records), encoding="utf-8")
    assert dv.read(tmp_path / "a.jsonl").names == ("q", "ssn")
    (tmp_path / "0.jsonl").write_text('{"q": 1}\n', encoding="utf-8")
    assert dv.read(tmp_path).names == ("q", "ssn")


# --- folders that are columns ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("folder", "stored", "fits"),
    [
        ("1", [1, 1], True),
        ("1", [7, 8], False),
        ("1", [1, 8], False),
        ("1", [1, None], False),
        ("1.4", [1, 1], False),
        ("07", [7, 7], True),
        ("07", ["7", "7"], False),
        ("07", ["07", "07"], True),
        ("__HIVE_DEFAULT_PARTITION__", [None, None], True),
        ("2020-01-01", [dt.date(2020, 1, 1)] * 2, True),
        ("x", [1, 1], False),
    ],
)
def test_a_folder_column_that_is_also_in_the_file(
    folder: str,
    stored: list[Any],
    fits: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    column = pa.array(stored, pa.int64()) if stored[0] is None else pa.array(stored)
    write(tmp_path / f"zip={folder}" / "a.parquet", {"q": [1, 2], "zip": column})
    if not fits:
        with pytest.raises(
            BadInput, match=r"'zip' of .* has other values than the folder zip=\.\.\. that it is in"
        ):
            dv.read(tmp_path)
        return
    table = dv.read(tmp_path)
    assert [row["zip"] for row in rows(table)] == stored


def test_a_folder_column_that_some_files_hold(tmp_path: Path) -> None:
    write(tmp_path / "zip=1" / "a.parquet", {"q": [1], "zip": [1]})
    write(tmp_path / "zip=2" / "a.parquet", {"q": [2]})
    assert rows(dv.read(tmp_path)) == [{"q": 1, "zip": 1}, {"q": 2, "zip": 2}]
    write(tmp_path / "b.parquet", {"q": [3]})
    with pytest.raises(BadInput, match=r"b\.parquet lacks 'zip'"):
        dv.read(tmp_path)
    assert len(rows(dv.read(tmp_path, union_columns=True))) == 3


def test_folders_above_the_root_are_no_columns(tmp_path: Path) -> None:
    write(tmp_path / "customer=7" / "zip=1" / "a.parquet", {"q": [1]})
    assert rows(dv.read(tmp_path / "customer=7")) == [{"q": 1, "zip": 1}]
    write(tmp_path / "x" / "zip=1" / "zip=2" / "a.parquet", {"q": [1]})
    with pytest.raises(BadInput, match="give a key twice"):
        dv.read(tmp_path / "x")


FOLDER_KINDS = ("arrow", "csv", "jsonl", "parquet")


@pytest.mark.parametrize("kind", FOLDER_KINDS)
def test_folders_are_columns_of_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    write(tmp_path / "zip=01" / f"a.{kind}", {"q": [1], "zip": ["01"]})
    write(tmp_path / "zip=02" / f"a.{kind}", {"q": [2]})
    write(tmp_path / "zip=__HIVE_DEFAULT_PARTITION__" / f"a.{kind}", {"q": [3]})
    expected = [{"q": 1, "zip": "01"}, {"q": 2, "zip": "02"}, {"q": 3, "zip": None}]
    assert rows(dv.read(tmp_path)) == expected
    assert rows(dv.read(tmp_path / "zip=02" / f"a.{kind}")) == [{"q": 2}]
    checked = run_cli("check", str(tmp_path), "--qi", "zip", "--k-anonymity", "2", "--plain", "q")
    assert checked.code == 1


@pytest.mark.parametrize("kind", FOLDER_KINDS)
@pytest.mark.parametrize("values", [[7, 8], [1, 8], [1, None]])
def test_folders_never_replace_values(kind: str, values: list[int | None], tmp_path: Path) -> None:
    path = tmp_path / "zip=1" / f"a.{kind}"
    write(path, {"q": [1, 1], "zip": values})
    message = r"'zip' of .* has other values than the folder zip=\.\.\. that it is in"
    with pytest.raises(BadInput, match=message):
        dv.read(tmp_path)
    assert [row["zip"] for row in rows(dv.read(path))] == values  # no folder below this root


@pytest.mark.parametrize("kind", FOLDER_KINDS)
def test_numbers_of_folders_next_to_long_numbers(kind: str, tmp_path: Path) -> None:
    numbers = ["1234567890123456.71", "1234567890123456.72"]
    for folder, number in enumerate(numbers, 1):
        exact = pa.array([decimal.Decimal(number)], pa.decimal128(18, 2))
        path = tmp_path / f"zip={folder}" / f"a.{kind}"
        write(path, {"q": [1] if kind == "jsonl" else exact})
        if kind == "jsonl":
            path.write_text(f'{{"q": {number}}}\n', encoding="utf-8")
    found = rows(dv.read(tmp_path))
    assert [(str(row["q"]), row["zip"]) for row in found] == [(numbers[0], 1), (numbers[1], 2)]


@pytest.mark.parametrize("kind", FOLDER_KINDS)
def test_a_folder_and_a_column_that_differ_in_case(kind: str, tmp_path: Path) -> None:
    write(tmp_path / "zip=1" / f"a.{kind}", {"q": [1], "ZIP": [7]})
    with pytest.raises(BadInput, match="differ only in upper and lower case"):
        dv.read(tmp_path)


@pytest.mark.parametrize("name", ["b.csv.bz2", "b.csv.zip", "b.json.xz", "part-00000"])
def test_data_that_would_not_be_read_are_an_error(name: str, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", {"q": [1]})
    (tmp_path / name).write_bytes(b"q,ssn\n1,2\n")
    with pytest.raises(BadInput, match=f"{name} in the folder .* looks like data"):
        dv.read(tmp_path)
    (tmp_path / name).rename(tmp_path / "README")
    assert dv.read(tmp_path).names == ("q",)


# --- Spark ----------------------------------------------------------------------------------------
def test_spark_reads_every_schema_too(tmp_path: Path, spark: SparkEngine) -> None:
    write(tmp_path / "a.parquet", {"q": [1], "s": ["x"]})
    write(tmp_path / "b.parquet", {"s": ["y"], "ssn": ["9-9"], "q": [1.5]})
    with pytest.raises(BadInput, match=r"a\.parquet lacks 'ssn'"):
        dv.read(tmp_path, engine=spark)
    table = dv.read(tmp_path, engine=spark, union_columns=True)
    assert rows(table) == [{"q": 1.0, "s": "x", "ssn": None}, {"q": 1.5, "s": "y", "ssn": "9-9"}]
    assert table.reading.how == {"union_columns": True, "types": {"q": "DOUBLE"}}
    write(tmp_path / "a.parquet", {"q": [FEW_BITS + 1], "s": ["x"]})
    with pytest.raises(
        BadInput, match=r"'q' .* without a change: BIGINT in a\.parquet, DOUBLE in b\.parquet"
    ):
        dv.read(tmp_path, engine=spark, union_columns=True)


def test_spark_reads_addresses_by_every_schema(tmp_path: Path, spark: SparkEngine) -> None:
    write(tmp_path / "t" / "a.parquet", {"q": [1], "s": ["x"]})
    write(tmp_path / "t" / "b.parquet", {"q": [2], "s": ["y"], "ssn": ["9-9"]})
    address = f"file://{tmp_path}/t"
    with pytest.raises(BadInput, match=r"a\.parquet lacks 'ssn'"):
        dv.read(address, engine=spark)
    table = dv.read(address, engine=spark, union_columns=True)
    assert rows(table) == [{"q": 1, "s": "x", "ssn": None}, {"q": 2, "s": "y", "ssn": "9-9"}]
    write(tmp_path / "c" / "a.csv", {"q": [1], "s": ["x"]})
    write(tmp_path / "c" / "b.csv", {"s": ["y"], "q": [2]})
    with pytest.raises(BadInput, match="header"):
        rows(dv.read(f"file://{tmp_path}/c/*.csv", engine=spark))


def test_spark_reads_csv_files_by_name(
    tmp_path: Path, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_tables, "SMALL_TEXT", 0)
    write(tmp_path / "a.csv", {"q": [1], "s": ["x"]})
    write(tmp_path / "b.csv", {"s": ["y"], "q": [2], "ssn": ["9-9"]})
    with pytest.raises(BadInput, match=r"a\.csv lacks 'ssn'"):
        dv.read(tmp_path, engine=spark)
    table = dv.read(tmp_path, engine=spark, union_columns=True)
    assert rows(table) == [{"q": 1, "s": "x", "ssn": None}, {"q": 2, "s": "y", "ssn": "9-9"}]


@pytest.mark.parametrize(
    ("folder", "stored", "fits"), [("1", [1, 1], True), ("1", [7, 8], False), ("07", ["07"], True)]
)
def test_spark_compares_folders_with_columns(
    folder: str,
    stored: list[Any],
    fits: bool,  # noqa: FBT001
    tmp_path: Path,
    spark: SparkEngine,
) -> None:
    write(tmp_path / f"zip={folder}" / "a.parquet", {"q": stored, "zip": stored})
    if not fits:
        with pytest.raises(BadInput, match=r"'zip' of .* has other values than the folder"):
            dv.read(tmp_path, engine=spark)
        return
    assert [row["zip"] for row in rows(dv.read(tmp_path, engine=spark))] == stored


def test_spark_keeps_the_zeros_of_folders(tmp_path: Path, spark: SparkEngine) -> None:
    write(tmp_path / "zip=01234" / "a.parquet", {"q": [1]})
    write(tmp_path / "zip=99999" / "a.parquet", {"q": [2]})
    assert [row["zip"] for row in rows(dv.read(tmp_path, engine=spark))] == ["01234", "99999"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_spark_ignores_no_folder_of_large_texts(
    kind: str, tmp_path: Path, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "zip=1" / f"a.{kind}", {"q": [1], "zip": [7]})
    write(tmp_path / "zip=2" / f"a.{kind}", {"q": [1], "zip": [8]})
    monkeypatch.setattr(spark_tables, "SMALL_TEXT", 0)
    with pytest.raises(BadInput, match=r"is in a folder zip=\.\.\., which is a column"):
        dv.read(tmp_path, engine=spark)
    if kind == "jsonl":
        with pytest.raises(BadInput, match=r"is in a folder zip=\.\.\., which is a column"):
            dv.read(f"file://{tmp_path}/*/*.jsonl", engine=spark)


def test_spark_loses_no_lines_next_to_arrays(
    tmp_path: Path, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_tables, "SMALL_TEXT", 0)
    (tmp_path / "a.json").write_text('[{"q": 1},\n{"q": 2}]', encoding="utf-8")
    assert len(rows(dv.read(tmp_path, engine=spark))) == 2
    (tmp_path / "b.json").write_text('{"q": 3}\n{"q": 4}\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"arrays of objects \(a.json\) and lines of objects"):
        dv.read(tmp_path, engine=spark)
    assert len(rows(dv.read(tmp_path))) == 4
