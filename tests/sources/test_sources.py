# SPDX-License-Identifier: Apache-2.0
"""200 people through every source: each must give the counts per group of plain Python."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from divulge.engines import SparkEngine
from divulge.errors import BadInput
from divulge.sources import Table, read
from divulge.sources.spark_tables import find_spark_source

NAMES = ("zip", "age", "disease", "visit", "cost")
KINDS = {"zip": "text", "age": "number", "disease": "text", "visit": "date", "cost": "number"}

Row = tuple[str | None, int, str, dt.date, float]
Source = Callable[[Path, pytest.FixtureRequest], object]


def people() -> list[Row]:
    """200 rows; zip codes with leading zeros, one in seven missing."""
    return [
        (
            None if i % 7 == 0 else f"{i % 5:05}",
            30 + i % 3,
            ("flu", "heart disease, chronic", 'a "cold"', "größe")[i % 4],
            dt.date(2024, 1, 1 + i % 2),
            i / 4,
        )
        for i in range(200)
    ]


def arrow() -> pa.Table:
    return pa.table(dict(zip(NAMES, map(list, zip(*people(), strict=True)), strict=True)))


def csv_text(delimiter: str = ",", *, header: bool = True, end: str = "\n") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerows(([NAMES] if header else []) + people())  # type: ignore[operator]
    return out.getvalue()


def file(name: str, content: Callable[[], bytes]) -> Source:
    """A source that is one file with this content."""

    def write(folder: Path, _: pytest.FixtureRequest) -> Path:
        path = folder / name
        path.write_bytes(content())
        return path

    return write


def json_lines() -> bytes:
    rows = (dict(zip(NAMES, row, strict=True)) for row in people())
    return "".join(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows).encode()


def json_array() -> bytes:
    return json.dumps([json.loads(line) for line in json_lines().splitlines()], indent=2).encode()


def ipc(*, stream: bool) -> bytes:
    out = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, arrow().schema) as writer:
        writer.write_table(arrow(), max_chunksize=50)
    content: bytes = out.getvalue().to_pybytes()
    return content


def parquet_file(folder: Path, _: pytest.FixtureRequest) -> Path:
    pq.write_table(arrow(), folder / "people.parquet")
    return folder / "people.parquet"


def parquet_folder(folder: Path, _: pytest.FixtureRequest) -> str:
    (folder / "nested").mkdir()
    pq.write_table(arrow().slice(0, 120), folder / "a.parquet")
    pq.write_table(arrow().slice(120), folder / "nested" / "b.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "notes.md").write_text("not data", encoding="utf-8")
    return str(folder)


def parquet_glob(folder: Path, request: pytest.FixtureRequest) -> str:
    parquet_folder(folder, request)
    return str(folder / "**" / "*.parquet")


def hive_folder(folder: Path, _: pytest.FixtureRequest) -> Path:
    pq.write_to_dataset(arrow(), folder, partition_cols=["zip"])
    return folder


def csv_folder(folder: Path, _: pytest.FixtureRequest) -> Path:
    header, *lines = csv_text().splitlines(keepends=True)
    (folder / "1.csv").write_text(header + "".join(lines[:50]), encoding="utf-8")
    (folder / "2.csv.gz").write_bytes(gzip.compress((header + "".join(lines[50:])).encode()))
    return folder


def feather(folder: Path, _: pytest.FixtureRequest) -> Path:
    pyarrow.feather.write_feather(arrow(), folder / "people.feather", compression="zstd")
    return folder / "people.feather"


def pandas_frame(_: Path, __: pytest.FixtureRequest) -> pd.DataFrame:
    return pd.DataFrame(people(), columns=list(NAMES), index=[i % 2 for i in range(200)])


def pandas_categories(folder: Path, request: pytest.FixtureRequest) -> pd.DataFrame:
    frame = pandas_frame(folder, request)
    return frame.assign(
        zip=pd.Categorical(frame["zip"], categories=["unused", *(f"{i:05}" for i in range(5))]),
        age=pd.Categorical(frame["age"]),
        disease=frame["disease"].astype(object),
    )


def pandas_arrow(_: Path, __: pytest.FixtureRequest) -> pd.DataFrame:
    return arrow().to_pandas(types_mapper=pd.ArrowDtype)  # type: ignore[no-any-return]


def polars_lazy(folder: Path, request: pytest.FixtureRequest) -> pl.LazyFrame:
    return pl.scan_parquet(parquet_file(folder, request))


def relation(_: Path, __: pytest.FixtureRequest) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("people", arrow())
    return connection.sql("SELECT * FROM people")


def sqlite_file(folder: Path, _: pytest.FixtureRequest) -> Path:
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.execute(
            "CREATE TABLE people (zip TEXT, age INTEGER, disease TEXT, visit DATE, cost REAL)"
        )
        rows = [
            (zip_, age, disease, visit.isoformat(), cost)
            for zip_, age, disease, visit, cost in people()
        ]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    return folder / "people.sqlite"


def duckdb_file(folder: Path, _: pytest.FixtureRequest) -> Path:
    with closing(duckdb.connect(str(folder / "people.duckdb"))) as connection:
        connection.register("given", arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return folder / "people.duckdb"


def postgres_table(_: Path, request: pytest.FixtureRequest) -> str:
    database = request.getfixturevalue("database")
    database.load("people", arrow())
    return str(database.url)


SOURCES: dict[str, Source] = {
    "csv": file("people.csv", lambda: csv_text().encode()),
    "csv with BOM": file("people.csv", lambda: csv_text().encode("utf-8-sig")),
    "csv with Windows line ends": file("people.csv", lambda: csv_text(end="\r\n").encode()),
    "csv with semicolons": file("people.csv", lambda: csv_text(";").encode()),
    "csv with bars": file("people.txt", lambda: csv_text("|").encode()),
    "csv gzip": file("people.csv.gz", lambda: gzip.compress(csv_text().encode())),
    "csv gzip without the ending": file("people", lambda: gzip.compress(csv_text().encode())),
    "csv folder": csv_folder,
    "tsv": file("people.tsv", lambda: csv_text("\t").encode()),
    "parquet": parquet_file,
    "parquet folder": parquet_folder,
    "parquet glob": parquet_glob,
    "parquet Hive folder": hive_folder,
    "arrow": file("people.arrow", lambda: ipc(stream=False)),
    "arrow stream": file("people.arrows", lambda: ipc(stream=True)),
    "feather": feather,
    "json lines": file("people.jsonl", json_lines),
    "json lines gzip": file("people.ndjson.gz", lambda: gzip.compress(json_lines())),
    "json array": file("people.json", json_array),
    "pandas": pandas_frame,
    "pandas categories": pandas_categories,
    "pandas on Arrow": pandas_arrow,
    "polars": lambda *_: pl.DataFrame(people(), schema=NAMES, orient="row"),
    "polars lazy": polars_lazy,
    "arrow table": lambda *_: arrow(),
    "arrow batch": lambda *_: arrow().to_batches()[0],
    "arrow reader": lambda *_: arrow().to_reader(max_chunksize=50),
    "arrow dataset": lambda *_: ds.dataset(arrow()),
    "duckdb relation": relation,
    "sqlite": sqlite_file,
    "duckdb": duckdb_file,
    "postgres": postgres_table,
}


def counts(table: Table) -> Counter[tuple[Any, ...]]:
    """Count rows per (zip, age, disease, visit) with the engine."""
    keys = ", ".join(table.engine.quote(name) for name in NAMES[:4])
    found = table.engine.query(
        f"SELECT {keys}, count(*) AS n FROM {table.relation} GROUP BY {keys}"
    ).to_pylist()
    return Counter(
        {tuple(day(value) for value in list(row.values())[:4]): row["n"] for row in found}
    )


def day(value: object) -> object:
    return value.date() if isinstance(value, dt.datetime) else value


@pytest.mark.parametrize("name", SOURCES)
def test_counts_are_those_of_the_rows(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = read(SOURCES[name](tmp_path, request))
    assert counts(table) == Counter(row[:4] for row in people())
    assert set(table.names) == set(NAMES)
    assert {column.name: column.kind for column in table.columns} == KINDS
    total = table.engine.query(f"SELECT sum(cost) AS total FROM {table.relation}").to_pylist()[0][
        "total"
    ]
    assert total == sum(row[4] for row in people())


def test_a_file_without_header_gets_numbered_columns(tmp_path: Path) -> None:
    path = tmp_path / "people.data"
    path.write_text(csv_text(header=False), encoding="utf-8")
    table = read(path)
    assert table.names == tuple(f"column{i}" for i in range(5))
    (row,) = table.engine.query(
        f"SELECT count(*) AS n, count(column0) AS zips FROM {table.relation}"
    ).to_pylist()
    assert row == {"n": 200, "zips": sum(person[0] is not None for person in people())}


@pytest.mark.parametrize(
    ("source", "frame"),
    [
        ("pandas", "pandas"),
        ("polars", "polars"),
        ("polars lazy", "polars"),
        ("arrow table", "arrow"),
        ("csv", "none"),
    ],
)
def test_a_table_remembers_the_kind_of_frame(
    source: str, frame: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert read(SOURCES[source](tmp_path, request)).frame == frame


def test_a_table_is_passed_through(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    table = read(parquet_file(tmp_path, request))
    assert read(table) is table


@pytest.mark.parametrize("name", ["pandas", "pandas categories", "polars", "arrow table"])
def test_frames_are_not_changed(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    frame: Any = SOURCES[name](tmp_path, request)
    before = frame.copy() if isinstance(frame, pd.DataFrame) else frame[:]
    counts(read(frame))
    assert frame.equals(before)


@pytest.mark.parametrize(
    "name", ["csv", "json lines", "parquet", "arrow", "arrow stream", "sqlite"]
)
def test_files_are_not_changed(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = Path(str(SOURCES[name](tmp_path, request)))
    before = path.read_bytes()
    counts(read(path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["csv", "csv gzip", "json lines", "parquet", "arrow"])
def test_rows_stay_in_the_file(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = Path(str(SOURCES[name](tmp_path, request)))
    table = read(path)
    path.unlink()
    with pytest.raises(BadInput, match=path.name):
        counts(table)


def test_an_encoding_that_does_not_exist_raises_an_error_before_spark_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark reads large files itself; their size is checked before Spark starts."""
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    monkeypatch.setattr("divulge.sources.spark_tables.SMALL_TEXT", 0)
    with pytest.raises(BadInput, match="there is no encoding 'utf-9'"):
        find_spark_source(
            str(tmp_path / "t.csv"), encoding="utf-9", engine=cast("SparkEngine", None)
        )
