# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files: Hive folders, files that do not fit together, repeated names, damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.errors import BadInput
from divulge.sources import Table, read


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return found


def write_ipc(path: Path, table: pa.Table, *, stream: bool = False) -> Path:
    with pa.OSFile(str(path), "wb") as file:
        writer = (
            pa.ipc.new_stream(file, table.schema) if stream else pa.ipc.new_file(file, table.schema)
        )
        with writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        (["01234", "99999"], "text", {"01234", "99999"}),
        (["2023", "2024"], "number", {2023, 2024}),
        (["7", "__HIVE_DEFAULT_PARTITION__"], "number", {7, None}),
        (["a b", "c%2Fd"], "text", {"a b", "c/d"}),
    ],
    ids=["leading zero", "years", "missing", "percent code"],
)
def test_hive_folders(values: list[str], kind: str, found: set[object], tmp_path: Path) -> None:
    for value in values:
        (tmp_path / f"key={value}").mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"key={value}" / "part.parquet")
    table = read(tmp_path)
    assert table.column("key").kind == kind
    assert {row["key"] for row in rows(table)} == found


def test_folders_above_the_table_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "customer=7").mkdir()
    path = tmp_path / "customer=7" / "table.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    assert read(path).names == ("a",)
    assert read(path.parent).names == ("a",)


@pytest.mark.parametrize(
    "name", ["a[1].parquet", "a*.parquet", "it's.parquet", "a b?.parquet", "größe.parquet"]
)
def test_odd_file_names(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    pq.write_table(pa.table({"a": [2]}), tmp_path / "a1.parquet")
    assert rows(read(tmp_path / name)) == [{"a": 1}]


def test_nested_columns_are_fine(tmp_path: Path) -> None:
    nested = pa.table(
        {
            "list": [[1]],
            "struct": [{"list": [{"a": 1}]}],
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    pq.write_table(nested.append_column("plain", [["x"]]), tmp_path / "table.parquet")
    table = read(tmp_path / "table.parquet")
    assert [(column.name, column.kind) for column in table.columns] == [
        ("list", "nested"),
        ("struct", "nested"),
        ("map", "nested"),
        ("plain", "text"),
    ]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], r"'a' occurs twice \(columns 1 and 3 of"),
        (["a", "b", "A"], "'a' and 'A' differ only in upper and lower case"),
        (["a", "", "c"], "column 2 of .* has no name"),
    ],
    ids=["repeated", "case", "empty"],
)
def test_bad_names(kind: str, names: list[str], message: str, tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([i]) for i in range(3)], names=names)
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        write_ipc(path, table, stream=kind == "arrows")
    with pytest.raises(BadInput, match=message):
        read(path)


def test_several_arrow_files(tmp_path: Path) -> None:
    write_ipc(tmp_path / "1.arrow", pa.table({"a": [1], "b": [2]}))
    write_ipc(tmp_path / "2.arrow", pa.table({"b": [20], "a": [10]}))
    assert sorted(rows(read(tmp_path)), key=str) == [{"a": 1, "b": 2}, {"a": 10, "b": 20}]


def test_several_streams_raise_an_error(tmp_path: Path) -> None:
    for name in ("1.arrows", "2.arrows"):
        write_ipc(tmp_path / name, pa.table({"a": [1]}), stream=True)
    with pytest.raises(BadInput, match="2 Arrow streams"):
        read(tmp_path)


def test_a_type_that_duckdb_does_not_know(tmp_path: Path) -> None:
    either = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1]), pa.array(["a"])])
    path = write_ipc(tmp_path / "table.arrow", pa.table({"ok": [1], "either": either}))
    with pytest.raises(BadInput, match=r"'either' .* sparse_union"):
        read(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_files_cut_off(kind: str, kept: float, tmp_path: Path) -> None:
    table = pa.table({"a": list(range(1000)), "b": ["x"] * 1000})
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        write_ipc(path, table, stream=kind == "arrows")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(BadInput):
        rows(read(path))


def test_a_damaged_parquet_page(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": [f"{i * 7919 % 1000}" for i in range(20_000)]}), path)
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    table = read(path)
    with pytest.raises(BadInput):
        rows(table)
