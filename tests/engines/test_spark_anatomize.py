# SPDX-License-Identifier: Apache-2.0
"""Anatomized releases of tables that stay on the cluster, with chunks so small that there are several.

What the workers wrote is read back here with pyarrow, and its levels are worked out by the checker, which shares no code with divulge.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.anatomize import InfeasibleModel
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput
from divulge.publish.formats import Format, read_rows
from divulge.publish.verify import Unverified
from divulge.tasks.anatomize import anatomize
from divulge.tasks.anatomized_on_spark import ClusterAnatomizedRelease
from tests.anatomize.checker import Drawn
from tests.engines.spark_cases import people as patients
from tests.engines.spark_children import Child
from tests.helpers import run_cli
from tests.publish.folders import names

BOUNDS: dict[str, Any] = {"alpha": "3/5", "beta": "1/3", "gamma": "1/20", "delta": "1/5"}
FOUR = (Fraction("3/5"), Fraction("1/3"), Fraction("1/20"), Fraction("1/5"))


def people(rows: int = 640) -> pa.Table:
    """Uneven columns; nulls, empty texts and texts that CSV must quote; two sensitive columns."""
    rng = np.random.default_rng(7)
    odd = np.array([None, "", 'say "x", y', "two\nlines", " z "], dtype=object)
    return pa.table(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows, p=[0.55, 0.45]),
            "note": pa.array(rng.choice(odd, rows).tolist(), pa.string()),
            "Count": rng.choice([0.0, -0.0, 1.5], rows),
            "job": rng.choice(list("abcdef"), rows, p=[0.24, 0.2, 0.2, 0.16, 0.1, 0.1]),
            "pay": rng.integers(0, 7, rows),
        }
    )


@pytest.fixture
def chunked(spark: SparkEngine) -> SparkEngine:
    """Everything stays on the cluster, in chunks of 150 rows."""
    spark.row_limit, spark.chunk_rows = 0, 150
    return spark


def files_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table as plain dictionaries; CSV cells are texts, None where nothing stands in them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in sorted(path for path in folder.iterdir() if path.is_dir()):
        rows = found[table.stem] = []
        for part in sorted(table.iterdir()):
            rows += pq.read_table(part).to_pylist() if part.suffix == ".parquet" else read_csv(part)
    return found


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Cells as texts; a null is an empty cell without quotes."""
    texts = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(path.read_text(encoding="utf-8").split("\n", 1)[0].split(","), pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    options = pa.csv.ParseOptions(newlines_in_values=True)
    return list(pa.csv.read_csv(path, parse_options=options, convert_options=texts).to_pylist())


def check(folder: Path, table: pa.Table, *, sensitive: tuple[str, ...]) -> tuple[Fraction, ...]:
    """The exact levels of a release, after its groups and tuples have been compared with the table's."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    group, count = manifest["group_column"], manifest["count_column"]
    divided = [tuple(entry["columns"]) for entry in manifest["tables"]]
    members: dict[Any, dict[tuple[str, ...], list[tuple[Any, ...]]]] = {}
    for columns, rows in zip(divided, files_of(folder).values(), strict=True):
        tuples = [tuple(row[name] for name in columns) for row in rows for _ in range(int(row.get(count) or 1))]
        assert Counter(map(as_texts, tuples)) == Counter(
            as_texts(tuple(row[name] for name in columns)) for row in table.to_pylist()
        )
        for row in rows:
            own = members.setdefault(row[group], {}).setdefault(columns, [])
            own += [tuple(row[name] for name in columns)] * int(row.get(count) or 1)
    records: list[dict[str, Any]] = []
    groups: list[list[int]] = []
    for parts in members.values():
        sizes = {len(tuples) for tuples in parts.values()}
        assert len(sizes) == 1, "the tables do not agree on a group"
        assert set(parts) == set(divided)
        groups.append(list(range(len(records), len(records) + sizes.pop())))
        for together in zip(*(parts[columns] for columns in divided), strict=True):
            pairs = zip(divided, together, strict=True)
            records.append({name: cell for columns, cells in pairs for name, cell in zip(columns, cells, strict=True)})
    tables = tuple(columns for columns in divided if columns[0] not in sensitive)
    drawn = Drawn(records, tables, sensitive, FOUR)
    levels = [drawn.levels(each) for each in groups]
    assert manifest["groups"] == len(groups)
    return tuple(max(column) for column in zip(*levels, strict=True))


def as_texts(cells: tuple[Any, ...]) -> tuple[str | None, ...]:
    """A CSV file holds texts; -0.0 is 0.0 to SQL."""
    return tuple(None if cell is None else str(cell + 0 if isinstance(cell, float) else cell) for cell in cells)


def four(release: Any) -> tuple[Fraction, ...]:
    return release.levels.alpha, release.levels.beta, release.levels.gamma, release.levels.delta


def test_the_release_holds_its_promises_and_all_values(chunked: SparkEngine, tmp_path: Path) -> None:
    table = people().drop_columns(["pay"])
    release = anatomize(table, sensitive="job", tables=2, **BOUNDS, engine=chunked)
    here = anatomize(table, sensitive="job", tables=2, **BOUNDS)
    assert isinstance(release, ClusterAnatomizedRelease)
    assert release.outline.settings["chunks"] == 5
    assert release.table_columns == here.table_columns
    there = {(pair.left, pair.right): pair.value for pair in release.outline.division.coefficients}
    assert there == pytest.approx({(pair.left, pair.right): pair.value for pair in here.outline.division.coefficients})
    assert dict(release.outline.division.weights) == pytest.approx(dict(here.outline.division.weights))
    assert release.outline.groups >= 0.9 * here.outline.groups
    folder = release.write(tmp_path / "out", format="csv")
    assert names(folder) == ["manifest.json", "quasi_identifiers_1.csv", "quasi_identifiers_2.csv", "sensitive.csv"]
    assert names(folder / "sensitive.csv") == ["part-00000.csv"]
    levels = check(folder, table, sensitive=("job",))
    assert levels == four(release)
    assert all(level <= bound for level, bound in zip(levels, FOUR, strict=True))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["engine"], manifest["settings"]["records"], manifest["settings"]["chunks"]) == (
        "spark",
        "cluster",
        5,
    )
    assert dv.check_anatomized(folder, **BOUNDS).levels == release.levels
    broken = BOUNDS | {"delta": "1/9"}
    assert dv.check_anatomized(folder, **broken, engine=chunked) == dv.check_anatomized(folder, **broken)
    assert dv.query(folder, "job = 'a'").estimate == sum(job == "a" for job in table.column("job").to_pylist())
    with pytest.raises(BadInput, match="cannot be measured where the table stays on the cluster"):
        release.recq()


def test_bytes_in_a_csv_file_are_read_as_duckdb_reads_them(spark: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('b\n\\x00\\xFF\n\\x61\na\n""\n', encoding="utf-8")
    for engine in (spark, DuckDBEngine()):
        table = read_rows(engine, tmp_path / "t.csv", form=Format("csv"), types={"b": "BLOB"})
        found = engine.query(f"SELECT b FROM {table.relation}").column("b").to_pylist()
        assert found == [b"\x00\xff", b"a", b"a", b""]


def test_two_sensitive_columns_and_regions_as_parquet(chunked: SparkEngine, tmp_path: Path) -> None:
    table = people()
    asked: dict[str, Any] = {"sensitive": ["job", "pay"], "quasi_identifiers": ["age", "sex"], "locality": True}
    release = anatomize(table, **asked, **BOUNDS, seed=5, engine=chunked)
    folder = release.write(tmp_path / "out")
    levels = check(folder, table, sensitive=("job", "pay"))
    assert levels == four(release)
    assert all(level <= bound for level, bound in zip(levels, FOUR, strict=True))
    again = anatomize(table.take(np.arange(table.num_rows)[::-1].copy()), **asked, **BOUNDS, seed=5, engine=chunked)
    assert {name: frame.toArrow() for name, frame in again.tables().items()} == {
        name: pq.read_table(folder / f"{name}.parquet") for name in again.tables()
    }


@pytest.mark.parametrize("bounds", [{"beta": "1/9"}, {"alpha": "1/30", "beta": "1/5"}, {"gamma": "1/1000"}])
def test_what_cannot_be_kept_is_refused_as_on_one_machine(chunked: SparkEngine, bounds: dict[str, str]) -> None:
    table = people().select(["sex", "job"])
    asked: dict[str, Any] = {"sensitive": "job", "tables": 1, **bounds}
    with pytest.raises(InfeasibleModel) as here:
        anatomize(table, **asked)
    with pytest.raises(InfeasibleModel) as there:
        anatomize(table, **asked, engine=chunked)
    assert there.value.as_json() == here.value.as_json()


def test_larger_chunks_are_tried_before_a_refusal(spark: SparkEngine) -> None:
    """With delta = 0 a group needs the very shares of the table: 3 and 2 of 5 records leave nothing but one group of all."""
    spark.row_limit, spark.chunk_rows = 0, 3
    table = pa.table({"q": list(range(5)), "s": ["x", "y"] * 2 + ["x"]})
    release = anatomize(table, sensitive="s", quasi_identifiers="q", beta="3/4", delta=0, tables=1, engine=spark)
    assert release.outline.settings["chunks"] == 1
    assert release.outline.groups == 1
    spark.chunk_rows = 1
    table = pa.table({"q": list(range(17)), "s": ["x", "y"] * 8 + ["x"]})
    with pytest.raises(InfeasibleModel) as raised:
        anatomize(table, sensitive="s", quasi_identifiers="q", beta="3/4", delta=0, tables=1, engine=spark)
    assert not raised.value.proved
    assert "in 2 of 2 chunks" in raised.value.message
    assert "chunk_rows" in str(raised.value)


def test_a_worker_that_writes_something_else_publishes_nothing(
    chunked: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two records of different groups change places: every value is there, and every group has its size."""
    release = anatomize(people(300), sensitive="job", quasi_identifiers=["age"], tables=1, **BOUNDS, engine=chunked)

    honest = SparkEngine.write

    def falsify(engine: SparkEngine, sql: str, path: Path, **options: Any) -> None:
        if path.name == "sensitive.parquet":
            rows = engine.query(sql).to_pydict()
            other = next(
                i for i, job in enumerate(rows["job"]) if job != rows["job"][0] and rows["GID"][i] != rows["GID"][0]
            )
            rows["job"][0], rows["job"][other] = rows["job"][other], rows["job"][0]
            sql = f"SELECT * FROM {engine.store(pa.table(rows), source='forged')}"
        honest(engine, sql, path, **options)

    monkeypatch.setattr(SparkEngine, "write", falsify)
    with pytest.raises(Unverified, match=r"sensitive\.parquet does not hold what was to be written"):
        release.write(tmp_path / "out")
    assert names(tmp_path) == []


def test_the_command(chunked: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = SparkEngine.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "row_limit", chunked.row_limit)
    monkeypatch.setitem(defaults, "chunk_rows", chunked.chunk_rows)
    pq.write_table(people(300).select(["age", "sex", "job"]), tmp_path / "people.parquet")
    command = ["anatomize", str(tmp_path / "people.parquet"), "--sensitive", "job", "--engine", "spark", "--json"]
    found = run_cli(*command, "--beta", "1/3", "--out", str(tmp_path / "out"))
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert (document["engine"], document["settings"]["chunks"], document["recq"]) == ("spark", 2, {})
    assert "2 chunks of up to 150 rows" in document["notes"][0]
    assert run_cli("anatomize", str(tmp_path / "out"), "--check", "--beta", "1/3").code == 0
    infeasible = run_cli(*command, "--beta", "1/9", "--dry-run")
    assert (infeasible.code, set(infeasible.json())) == (3, {"infeasible"})
    for refused, told in (
        (["--attack", "--beta", "1/3"], "neither attacks nor the error of queries"),
        (["--method", "anatomy", "--beta", "1/3"], "the method anatomy needs all rows on the driver"),
        (["--algorithm", "paper", "--beta", "1/3"], "Algorithm 1 of the paper needs all rows on the driver"),
    ):
        answer = run_cli(*command, *refused, "--dry-run")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert told in answer.err


def test_the_workers_of_a_cluster_group_and_write(cluster: Child, tmp_path: Path) -> None:
    """In processes of their own, to which our code was sent."""
    told = cluster.ask({"anatomize": str(tmp_path / "out")})
    levels = check(tmp_path / "out", patients().table, sensitive=("disease",))
    assert [str(level) for level in levels] == [told["levels"][name] for name in ("alpha", "beta", "gamma", "delta")]
    assert told["settings"]["chunks"] > 1
