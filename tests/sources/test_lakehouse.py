# SPDX-License-Identifier: Apache-2.0
"""Delta Lake and Iceberg tables: rows are counted by their logs, and never without the log."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.cli.main import run
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, MissingDependency
from divulge.sources import read
from tests.docs.json_schema import assert_fits

pytest.importorskip("deltalake", reason="pip install '.[delta]'")
pytest.importorskip("pyiceberg", reason="pip install '.[iceberg]'")

FIRST = pa.table({"zip": ["a", "b"] * 1_000, "age": [30, 31] * 1_000})
LAST = pa.table({"zip": ["a"] * 12 + ["b"] * 40, "age": [30] * 12 + [31] * 40})


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """2,000 rows, overwritten by 52; the files of both are in the folder."""
    from deltalake import write_deltalake

    root = tmp_path / "delta"
    write_deltalake(root, FIRST)
    write_deltalake(root, LAST, mode="overwrite")
    assert len([*root.glob("*.parquet")]) == 2
    return root


def iceberg_table(folder: Path) -> Any:
    """Make an Iceberg table with the rows of `delta`, in a catalog in SQLite."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("tests", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace("n")
    table = catalog.create_table("n.people", schema=FIRST.schema)
    table.append(FIRST)
    table.overwrite(LAST)
    catalog.engine.dispose()
    return table


@pytest.fixture
def iceberg(tmp_path: Path) -> Path:
    """The folder of the Iceberg table."""
    iceberg_table(tmp_path)
    root = tmp_path / "n" / "people"
    assert len([*root.glob("data/*.parquet")]) == 2
    return root


def rows(source: object, **how: Any) -> Counter[tuple[str, int]]:
    """Return the frequency of each row."""
    table = read(source, **how)
    found = table.engine.query(f"SELECT zip, age FROM {table.relation}").to_pylist()
    return Counter((row["zip"], row["age"]) for row in found)


TRUTH = {("a", 30): 12, ("b", 31): 40}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("limit", [None, "300MB"])
def test_what_was_overwritten_is_not_counted(
    kind: str, limit: str | None, request: pytest.FixtureRequest
) -> None:
    engine = DuckDBEngine(memory_limit=limit) if limit else DuckDBEngine()
    assert rows(request.getfixturevalue(kind), engine=engine) == TRUTH


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_check_sees_the_smallest_class_of_the_log(
    kind: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    root = request.getfixturevalue(kind)
    assert run(["check", str(root), "--qi", "zip,age", "--k-anonymity", "50"]) == 1
    assert "12" in capsys.readouterr().out
    assert run(["check", str(root), "--qi", "zip,age", "--k-anonymity", "12"]) == 0


def test_rows_that_delta_marks_as_deleted_or_added_are_as_the_log_says(delta: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    DeltaTable(delta).delete("zip = 'b'")
    write_deltalake(delta, pa.table({"zip": ["c"], "age": [7]}), mode="append", schema_mode="merge")
    assert rows(delta) == {("a", 30): 12, ("c", 7): 1}


def test_rows_that_iceberg_deletes_are_gone(tmp_path: Path) -> None:
    table = iceberg_table(tmp_path)
    table.delete("zip = 'b'")
    assert rows(tmp_path / "n" / "people") == {("a", 30): 12}


def test_an_iceberg_table_as_of_a_metadata_file(iceberg: Path) -> None:
    """A catalog names one metadata file: that version is read. 00001 follows the append."""
    (first,) = (iceberg / "metadata").glob("00001-*.metadata.json")
    assert rows(first) == {("a", 30): 1_000, ("b", 31): 1_000}


def test_a_delta_table_as_of_a_version_or_a_moment(
    delta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, last = {("a", 30): 1_000, ("b", 31): 1_000}, TRUTH
    assert rows(delta, as_of=0) == rows(delta, as_of="0") == first
    assert rows(delta, as_of=1) == rows(delta, as_of="2999-01-01T00:00:00") == last
    assert read(delta).reading.how == {"version": 1}
    assert run(["measure", str(delta), "--qi", "zip,age", "--as-of", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["settings"]["read"]["version"]) == (2_000, 0)
    assert_fits(["measure"], told)
    with pytest.raises(BadInput, match="The newest version is 1"):
        read(delta, as_of=7)
    with pytest.raises(BadInput, match="The table began later"):
        read(delta, as_of="1999-01-01")
    with pytest.raises(
        BadInput, match=r"no version as_of='yesterday'. Give a version, as 3, or a moment"
    ):
        read(delta, as_of="yesterday")


def test_an_iceberg_table_as_of_a_snapshot_a_tag_or_a_moment(tmp_path: Path) -> None:
    table = iceberg_table(tmp_path)
    root, known = tmp_path / "n" / "people", table.snapshots()
    table.manage_snapshots().create_tag(known[0].snapshot_id, "published").commit()
    first = {("a", 30): 1_000, ("b", 31): 1_000}
    assert rows(root) == TRUTH
    assert rows(root, as_of=known[0].snapshot_id) == rows(root, as_of="published") == first
    assert rows(root, as_of="2999-01-01") == TRUTH
    assert read(root, as_of="published").reading.how == {"snapshot": known[0].snapshot_id}
    assert read(root).reading.how == {"snapshot": known[-1].snapshot_id}
    for wrong in (1, "1999-01-01", "nothing"):
        with pytest.raises(BadInput, match="has no version as_of="):
            read(root, as_of=wrong)


def test_files_have_no_versions(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"as_of=1 picks a version of a Delta Lake or Iceberg table, and .* is csv"
    ):
        read(tmp_path / "t.csv", as_of=1)


PARTS = {
    "a file": lambda root: next(root.rglob("*.parquet")),
    "a glob": lambda root: root / "**" / "*.parquet",
    "the folder of files": lambda root: next(root.rglob("*.parquet")).parent,
    "the folder above": lambda root: root.parent,
    "the log": lambda root: (
        next(root.glob("_delta_log/*.json"), None) or next(root.glob("metadata/*.avro"))
    ),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_nothing_in_the_table_is_read_around_its_log(
    kind: str, part: str, request: pytest.FixtureRequest
) -> None:
    root = request.getfixturevalue(kind)
    named = PARTS[part](root)
    if named == root:  # Delta keeps its files next to the log
        return
    with pytest.raises(
        BadInput, match=r"is a table of (Delta Lake|Iceberg).*Name the table itself"
    ):
        read(str(named))


@pytest.mark.parametrize(
    ("marker", "name"),
    [(".hoodie/hoodie.properties", "Hudi"), ("_spark_metadata/0", "Spark stream")],
)
def test_logs_that_cannot_be_read_here_are_respected_all_the_same(
    tmp_path: Path, marker: str, name: str
) -> None:
    pq.write_table(LAST, tmp_path / "part.parquet")
    (tmp_path / marker).parent.mkdir()
    (tmp_path / marker).write_text("x")
    for named in (tmp_path, tmp_path / "part.parquet"):
        with pytest.raises(BadInput, match=f"is a table of {name}"):
            read(named)


@pytest.mark.parametrize(("kind", "module"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_without_the_extra_one_line_says_how(
    kind: str, module: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = request.getfixturevalue(kind)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingDependency, match=rf"reading it needs {module}.*pip install .*{module}"
    ):
        read(root)


def test_a_copied_iceberg_table_does_not_read_the_other_one(iceberg: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(iceberg, copy)
    with pytest.raises(BadInput, match="its metadata name the files there"):
        read(copy)


def test_two_metadata_files_of_the_last_version_are_not_guessed_between(iceberg: Path) -> None:
    (last,) = (iceberg / "metadata").glob("00002-*.metadata.json")
    shutil.copy(last, last.with_name("00002-other.metadata.json"))
    with pytest.raises(BadInput, match="only its catalog knows which one counts"):
        read(iceberg)
    assert rows(last) == TRUTH


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_damaged_table_is_one_line(kind: str, request: pytest.FixtureRequest) -> None:
    root = request.getfixturevalue(kind)
    for path in root.rglob("*.parquet"):
        path.write_bytes(b"PAR1 no more")
    with pytest.raises(BadInput, match="cannot be read"):
        read(root)
    for path in [*root.glob("_delta_log/*.json"), *root.glob("metadata/*.metadata.json")]:
        path.write_text("{")
    with pytest.raises(BadInput, match="cannot be read"):
        read(root)


def test_spark_reads_no_table_around_its_log(
    spark: SparkEngine, delta: Path, iceberg: Path
) -> None:
    for root in (delta, iceberg):
        data = next(root.rglob("*.parquet"))
        for named in (
            str(root),
            str(data),
            root.as_uri(),
            data.as_uri(),
            f"{data.parent.as_uri()}/*.parquet",
        ):
            with pytest.raises(
                BadInput, match=r"is or lies in a table of .*, and Spark would read rows"
            ):
                read(named, engine=spark)
