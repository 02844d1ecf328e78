# SPDX-License-Identifier: Apache-2.0
"""Column names that would break unquoted SQL, through every source and into the roles."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.sources import read, resolve_roles, split_names

ODD_NAMES = {
    "space": "home town",
    "blanks around": "  age ",
    "single quote": "it's",
    "double quote": 'the "age"',
    "backtick": "a`b",
    "semicolon": "a; DROP TABLE people; --",
    "question mark": "really?",
    "comma": "last, first",
    "star": "all*",
    "bracket": "a[0]",
    "dollar": "$1",
    "percent": "%s",
    "backslash": "a\\b",
    "line end": "two\nlines",
    "emoji": "🦆 count",
    "umlaut": "Größe",
    "keyword": "select",
    "number": "2024",
    "dot": "a.b",
    "long": "x" * 200,
}
ROWS = [("a", 1), ("a", 2), ("b", 3)]


def as_csv(name: str, folder: Path) -> object:
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(name, "other"), *ROWS])
    return folder / "t.csv"


def as_json(name: str, folder: Path) -> object:
    text = "".join(json.dumps({name: a, "other": b}) + "\n" for a, b in ROWS)
    (folder / "t.jsonl").write_text(text, encoding="utf-8")
    return folder / "t.jsonl"


def as_arrow(name: str, _: Path) -> pa.Table:
    return pa.table({name: [row[0] for row in ROWS], "other": [row[1] for row in ROWS]})


def as_parquet(name: str, folder: Path) -> object:
    pq.write_table(as_arrow(name, folder), folder / "t.parquet")
    return folder / "t.parquet"


def as_stream(name: str, folder: Path) -> object:
    return as_arrow(name, folder).to_reader()


def as_pandas(name: str, _: Path) -> object:
    return pd.DataFrame(ROWS, columns=[name, "other"])


def as_lazy(name: str, _: Path) -> object:
    return pl.LazyFrame(ROWS, schema=[name, "other"], orient="row")


def as_relation(name: str, folder: Path) -> object:
    return duckdb.connect().from_arrow(as_arrow(name, folder))


def as_sqlite(name: str, folder: Path) -> object:
    quoted = '"' + name.replace('"', '""') + '"'
    with closing(sqlite3.connect(folder / "t.db")) as connection:
        connection.execute(f"CREATE TABLE {quoted} ({quoted} TEXT, other INTEGER)")
        connection.executemany(f"INSERT INTO {quoted} VALUES (?, ?)", ROWS)
        connection.commit()
    return folder / "t.db"


SOURCES = (
    as_csv,
    as_json,
    as_arrow,
    as_parquet,
    as_stream,
    as_pandas,
    as_lazy,
    as_relation,
    as_sqlite,
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES.keys())
def test_odd_names(name: str, source: Callable[[str, Path], object], tmp_path: Path) -> None:
    table = read(source(name, tmp_path))
    assert table.names == (name, "other")
    roles = resolve_roles(table, quasi_identifiers=name, sensitive=["other"])
    assert roles.quasi_identifiers == (name,)
    assert split_names(table, [name]) == (name,)
    column = table.engine.quote(name)
    counted = table.engine.query(
        f"SELECT {column} AS value, count(*) AS n FROM {table.relation} WHERE {column} <> ? "
        f"GROUP BY {column} ORDER BY 1",
        ["it's ?"],
    )
    assert counted.to_pylist() == [{"value": "a", "n": 2}, {"value": "b", "n": 1}]


def test_columns_called_size_and_class_size_keep_their_values() -> None:
    table = pa.table({"size": ["s", "m"], "class size": ["p", "q"]})
    found = dv.measure(table, quasi_identifiers=["size", "class size"]).class_table()
    assert sorted(found.column("class size").to_pylist()) == ["p", "q"]
    assert found.column("class class size").to_pylist() == [1, 1]
