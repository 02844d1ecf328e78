# SPDX-License-Identifier: Apache-2.0
"""SQLite: selection of a table, and columns whose cells have different types."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from divulge.errors import BadInput
from divulge.sources import Table, read


def database(folder: Path, *statements: str, rows: list[tuple[Any, ...]] | None = None) -> Path:
    path = folder / "people.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        if rows:
            connection.executemany(
                f"INSERT INTO people VALUES ({', '.join('?' * len(rows[0]))})", rows
            )
        connection.commit()
    return path


def values(table: Table) -> list[Any]:
    found = table.engine.query(
        f"SELECT value FROM {table.relation} ORDER BY 1 NULLS LAST"
    ).to_pylist()
    return [row["value"] for row in found]


@pytest.mark.parametrize(
    ("cells", "type_", "found"),
    [
        pytest.param([1, 2, None], "BIGINT", [1, 2, None], id="integers"),
        pytest.param([1, 2.5], "DOUBLE", [1.0, 2.5], id="integers and reals"),
        pytest.param(
            [2**53 + 1, 2.5], "VARCHAR", ["2.5", "9007199254740993"], id="long integers and reals"
        ),
        pytest.param([1, "x"], "VARCHAR", ["1", "x"], id="integers and texts"),
        pytest.param(["007", "7"], "VARCHAR", ["007", "7"], id="texts of digits"),
        pytest.param([b"\x00\xff", "x"], "VARCHAR", ["00FF", "x"], id="bytes and texts"),
        pytest.param([None, None], "VARCHAR", [None, None], id="nulls"),
        pytest.param(["2024-01-31", None], "DATE", None, id="dates"),
        pytest.param(
            ["31.1.2024", "2024-01-31"],
            "VARCHAR",
            ["2024-01-31", "31.1.2024"],
            id="not all ISO dates",
        ),
    ],
)
def test_cells_of_different_types(
    cells: list[object], type_: str, found: list[object] | None, tmp_path: Path
) -> None:
    table = read(
        database(tmp_path, "CREATE TABLE people (value)", rows=[(cell,) for cell in cells])
    )
    assert table.column("value").type == type_
    if found is not None:
        assert values(table) == found


def test_a_late_text_among_integers(tmp_path: Path) -> None:
    table = read(database(tmp_path, "CREATE TABLE people (value)", rows=[(1,)] * 50_000 + [("x",)]))
    assert values(table) == ["1"] * 50_000 + ["x"]


def test_several_tables(tmp_path: Path) -> None:
    path = database(
        tmp_path,
        "CREATE TABLE people (value)",
        "CREATE TABLE places (value)",
        "CREATE VIEW some AS SELECT value + 1 AS value FROM people",
        rows=[(1,), (2,)],
    )
    with pytest.raises(
        BadInput, match=r"has 3 tables and none was chosen.*'people', 'places', 'some'"
    ):
        read(path)
    with pytest.raises(BadInput, match=r"no table 'peple'\. did you mean 'people'"):
        read(path, table="peple")
    assert values(read(path, table="some")) == [2, 3]
    assert read(path, table="people").source == f"table 'people' of {path}"


def test_an_empty_table_and_an_empty_database(tmp_path: Path) -> None:
    table = read(database(tmp_path, "CREATE TABLE people (value)"))
    assert values(table) == []
    with pytest.raises(BadInput, match="has no tables"):
        read(database(tmp_path, "DROP TABLE people"))


def test_text_that_is_not_utf8_is_not_repeated(tmp_path: Path) -> None:
    path = database(
        tmp_path,
        "CREATE TABLE people (value)",
        "INSERT INTO people VALUES (CAST(x'ff53656372' AS TEXT))",
    )
    with pytest.raises(BadInput, match="a text in it is not UTF-8") as caught:
        read(path)
    assert "Secr" not in str(caught.value)


def test_a_database_cut_off(tmp_path: Path) -> None:
    path = database(
        tmp_path, "CREATE TABLE people (value)", rows=[(f"person {i}",) for i in range(1000)]
    )
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(BadInput, match="is cut off"):
        read(path)


def test_several_databases(tmp_path: Path) -> None:
    database(tmp_path, "CREATE TABLE people (value)").rename(tmp_path / "other.db")
    database(tmp_path, "CREATE TABLE people (value)")
    with pytest.raises(BadInput, match="is 2 databases"):
        read(tmp_path)
