# SPDX-License-Identifier: Apache-2.0
"""From a path to the files: missing files, mixed kinds, and files that are not tables."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.errors import BadInput
from divulge.sources import read
from divulge.sources.paths import find_files


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / ".patient.csv").touch()
    with pytest.raises(
        BadInput, match=r"there is no file .*patient\.csv\. did you mean 'patients\.csv'\?"
    ):
        read(tmp_path / "patient.csv")


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="its folder does not exist"):
        read(tmp_path / "nowhere" / "patients.csv")


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "readme.md").touch()
    with pytest.raises(BadInput, match="holds no data files"):
        read(tmp_path)
    with pytest.raises(BadInput, match="no file matches"):
        read(tmp_path / "*.csv")
    with pytest.raises(BadInput, match=r"there is no file .*\. The folder is empty"):
        read(_made(tmp_path / "empty") / "patients.csv")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_files_of_different_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"csv \(a\.csv\) and parquet \(b\.parquet\)"):
        read(tmp_path)
    assert find_files(str(tmp_path / "*.csv")).paths == (tmp_path / "a.csv",)


def test_the_content_decides_before_the_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "table.csv")
    assert find_files(str(tmp_path / "table.csv")).kind == "parquet"


@pytest.mark.parametrize("name", ["table.parquet", "table.arrow", "table.sqlite"])
def test_a_misnamed_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"is named like .* data and is not"):
        read(tmp_path / name)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "table.xlsx", "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(BadInput, match="spreadsheet"):
        read(tmp_path / "table.xlsx")
    duckdb.connect(str(tmp_path / "table.duckdb")).close()
    with pytest.raises(BadInput, match="has no tables"):
        read(tmp_path / "table.duckdb")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="neither a file nor a folder"):
        read(tmp_path / "pipe")
    with pytest.raises(BadInput, match="path is empty"):
        read("")


@pytest.mark.parametrize(
    "source", [None, 7, [1, 2], {"a": [1]}], ids=lambda value: type(value).__name__
)
def test_objects_that_are_no_tables(source: object) -> None:
    with pytest.raises(BadInput, match="a table cannot be read from builtins"):
        read(source)


def test_options_that_would_be_ignored_raise_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "table.parquet")
    with pytest.raises(BadInput, match="delimiter= is for delimited text"):
        read(tmp_path / "table.parquet", delimiter=";")
    with pytest.raises(BadInput, match="header= is for delimited text"):
        read(pa.table({"a": [1]}), header=True)
    with pytest.raises(BadInput, match="table='people' picks a table of a database"):
        read(tmp_path / "table.parquet", table="people")


def test_a_relative_path_survives_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table.csv").write_text("a\n1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    table = read("table.csv")
    monkeypatch.chdir(_made(tmp_path / "elsewhere"))
    assert table.source == "table.csv"
    assert table.engine.query(f"SELECT a FROM {table.relation}").to_pylist() == [{"a": 1}]
