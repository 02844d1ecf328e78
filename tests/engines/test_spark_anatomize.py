# SPDX-License-Identifier: Apache-2.0
"""Anatomized releases on Spark: its command, its workers, its files.

The rest is in tests/api/test_anatomize_engines.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from divulge.engines import DuckDBEngine, SparkEngine
from divulge.releases import Format, read_rows
from tests.api.test_anatomize_engines import check, people
from tests.engines.spark_cases import people as patients
from tests.engines.spark_children import Child
from tests.helpers import run_cli


def test_bytes_in_a_csv_file_are_read_as_duckdb_reads_them(
    spark: SparkEngine, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text('b\n\\x00\\xFF\n\\x61\na\n""\n', encoding="utf-8")
    for engine in (spark, DuckDBEngine()):
        table = read_rows(engine, tmp_path / "t.csv", form=Format("csv"), types={"b": "BLOB"})
        found = engine.query(f"SELECT b FROM {table.relation}").column("b").to_pylist()
        assert found == [b"\x00\xff", b"a", b"a", b""]


def test_the_command(spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del spark  # it must be running
    defaults = inspect.unwrap(SparkEngine.__init__).__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "row_limit", 0)
    monkeypatch.setitem(defaults, "chunk_rows", 150)
    pq.write_table(people(300).select(["age", "sex", "job"]), tmp_path / "people.parquet")
    command = [
        "anatomize",
        str(tmp_path / "people.parquet"),
        "--sensitive",
        "job",
        "--engine",
        "spark",
        "--json",
    ]
    found = run_cli(*command, "--beta", "1/3", "--out", str(tmp_path / "out"))
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert (document["engine"], document["settings"]["chunks"], document["recq"]) == (
        "spark",
        2,
        {},
    )
    assert "2 chunks of up to 150 rows" in document["notes"][0]
    assert run_cli("check", str(tmp_path / "out"), "--beta", "1/3").code == 0
    infeasible = run_cli(*command, "--beta", "1/9", "--dry-run")
    assert (infeasible.code, "infeasible" in infeasible.json()) == (3, True)
    for refused, told in (
        (["--attack", "--beta", "1/3"], "neither attacks nor the error of queries"),
        (["--method", "anatomy", "--beta", "1/3"], "the method anatomy needs all rows in memory"),
        (
            ["--algorithm", "paper", "--beta", "1/3"],
            "Algorithm 1 of the paper needs all rows in memory",
        ),
    ):
        answer = run_cli(*command, *refused, "--dry-run")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert told in answer.err


def test_the_workers_of_a_cluster_group_and_write(cluster: Child, tmp_path: Path) -> None:
    """The workers are separate processes, to which our code is sent."""
    told = cluster.ask({"anatomize": str(tmp_path / "out")})
    levels = check(tmp_path / "out", patients().table, sensitive=("disease",))
    assert [str(level) for level in levels] == [
        told["levels"][name] for name in ("alpha", "beta", "gamma", "delta")
    ]
    assert told["settings"]["chunks"] > 1
