# SPDX-License-Identifier: Apache-2.0
"""Anatomized releases in memory as one chunk, and on disk or on a cluster in several chunks.

Each test has one body for all of them. The written files are read back with pyarrow. Their levels
are computed by a checker that shares no code with divulge.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.anatomization import InfeasibleModel
from divulge.engines import DuckDBEngine, OwnEngine, memory
from divulge.errors import BadInput
from divulge.releases import Unverified
from tests.anatomization.checker import Drawn
from tests.helpers import run_cli
from tests.releases.folders import names

BOUNDS: dict[str, Any] = {"alpha": "3/5", "beta": "1/3", "gamma": "1/20", "delta": "1/5"}
FOUR = (Fraction("3/5"), Fraction("1/3"), Fraction("1/20"), Fraction("1/5"))
SEVERAL = pytest.mark.parametrize("engine", ["limit", "spark"], indirect=True)


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
def chunked(engine: OwnEngine) -> OwnEngine:
    """In memory a table is one chunk; elsewhere it is split into chunks of 150 rows."""
    if engine.row_limit is not None:
        engine.row_limit, engine.chunk_rows = 0, 150
    return engine


def files_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of each table as plain dictionaries; CSV cells are texts, and None if they are empty."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in sorted(path for path in folder.iterdir() if path.name != "manifest.json"):
        rows = found[table.stem] = []
        for part in sorted(table.iterdir()) if table.is_dir() else [table]:
            rows += pq.read_table(part).to_pylist() if part.suffix == ".parquet" else read_csv(part)
    return found


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Cells as texts; a null is an empty cell without quotes."""
    texts = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(
            path.read_text(encoding="utf-8").split("\n", 1)[0].split(","), pa.string()
        ),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    options = pa.csv.ParseOptions(newlines_in_values=True)
    return list(pa.csv.read_csv(path, parse_options=options, convert_options=texts).to_pylist())


def check(folder: Path, table: pa.Table, *, sensitive: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Exact levels of a release, after a comparison of its groups and tuples with the table."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    group, count = manifest["group_column"], manifest["count_column"]
    divided = [tuple(entry["columns"]) for entry in manifest["tables"]]
    members: dict[Any, dict[tuple[str, ...], list[tuple[Any, ...]]]] = {}
    for columns, rows in zip(divided, files_of(folder).values(), strict=True):
        tuples = [
            tuple(row[name] for name in columns)
            for row in rows
            for _ in range(int(row.get(count) or 1))
        ]
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
            records.append(
                {
                    name: cell
                    for columns, cells in pairs
                    for name, cell in zip(columns, cells, strict=True)
                }
            )
    tables = tuple(columns for columns in divided if columns[0] not in sensitive)
    drawn = Drawn(records, tables, sensitive, FOUR)
    levels = [drawn.levels(each) for each in groups]
    assert manifest["groups"] == len(groups)
    return tuple(max(column) for column in zip(*levels, strict=True))


def as_texts(cells: tuple[Any, ...]) -> tuple[str | None, ...]:
    """Texts as in a CSV file; -0.0 is 0.0 in SQL."""
    return tuple(
        None if cell is None else str(cell + 0 if isinstance(cell, float) else cell)
        for cell in cells
    )


def four(release: Any) -> tuple[Fraction, ...]:
    return release.levels.alpha, release.levels.beta, release.levels.gamma, release.levels.delta


@pytest.mark.slow
def test_the_release_meets_its_bounds_and_has_all_values(
    chunked: OwnEngine, tmp_path: Path
) -> None:
    table = people().drop_columns(["pay"])
    release = dv.anatomize(table, sensitive="job", tables=2, **BOUNDS, engine=chunked)
    here = dv.anatomize(table, sensitive="job", tables=2, **BOUNDS)
    assert release.settings.get("chunks", 1) == (1 if chunked.row_limit is None else 5)
    assert release.table_columns == here.table_columns
    ours, theirs = release.groups.division, here.groups.division
    there = {(pair.left, pair.right): pair.value for pair in ours.coefficients}
    assert there == pytest.approx(
        {(pair.left, pair.right): pair.value for pair in theirs.coefficients}
    )
    assert dict(ours.weights) == pytest.approx(dict(theirs.weights))
    assert release.summary.groups >= 0.9 * here.summary.groups
    folder = release.write(tmp_path / "out", format="csv")
    assert names(folder) == [
        "manifest.json",
        "quasi_identifiers_1.csv",
        "quasi_identifiers_2.csv",
        "sensitive.csv",
    ]
    levels = check(folder, table, sensitive=("job",))
    assert levels == four(release)
    assert all(level <= bound for level, bound in zip(levels, FOUR, strict=True))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["engine"], manifest["rows"]) == (chunked.name, 640)
    assert not {"records", "chunks", "chunk_rows"} & set(manifest["settings"])
    assert (release.settings.get("records"), bool(release.notes)) == {
        "memory": (None, False),
        "disk": ("disk", True),
        "the cluster": ("cluster", True),
    }["memory" if chunked.row_limit is None else chunked.storage]
    assert dv.check(folder, **BOUNDS).levels == release.levels
    broken = BOUNDS | {"delta": "1/9"}
    elsewhere, at_home = (dv.check(folder, **broken, engine=engine) for engine in (chunked, None))
    assert replace(elsewhere, settings={**elsewhere.settings, "engine": "duckdb"}) == at_home
    assert dv.query(folder, "job = 'a'").estimate == sum(
        job == "a" for job in table.column("job").to_pylist()
    )


@SEVERAL
def test_measures_that_need_all_rows_in_memory_are_errors(chunked: OwnEngine) -> None:
    table = people(300).select(["age", "sex", "job"])
    release = dv.anatomize(table, sensitive="job", beta="1/3", engine=chunked)
    for ask in (release.recq, release.attack, release.associations, release.query):
        with pytest.raises(BadInput, match="too large for memory"):
            ask()
    with pytest.raises(BadInput, match="the method anatomy needs all rows in memory"):
        dv.anatomize(table, sensitive="job", beta="1/3", method="anatomy", engine=chunked)
    with pytest.raises(BadInput, match="Algorithm 1 of the paper needs all rows in memory"):
        dv.anatomize(table, sensitive="job", beta="1/3", algorithm="paper", engine=chunked)


@pytest.mark.slow
def test_two_sensitive_columns_and_regions_as_parquet(chunked: OwnEngine, tmp_path: Path) -> None:
    table = people(320)
    asked: dict[str, Any] = {
        "sensitive": ["job", "pay"],
        "quasi_identifiers": ["age", "sex"],
        "locality": True,
    }
    release = dv.anatomize(table, **asked, **BOUNDS, seed=5, engine=chunked)
    folder = release.write(tmp_path / "out")
    levels = check(folder, table, sensitive=("job", "pay"))
    assert levels == four(release)
    assert all(level <= bound for level, bound in zip(levels, FOUR, strict=True))
    again = dv.anatomize(
        table.take(np.arange(table.num_rows)[::-1].copy()),
        **asked,
        **BOUNDS,
        seed=5,
        engine=chunked,
    )
    assert {name: frame.to_pylist() for name, frame in again.tables().items()} == files_of(folder)


@pytest.mark.parametrize(
    "bounds", [{"beta": "1/9"}, {"alpha": "1/30", "beta": "1/5"}, {"gamma": "1/1000"}]
)
@SEVERAL
def test_infeasible_bounds_are_errors_as_in_memory(
    chunked: OwnEngine, bounds: dict[str, str]
) -> None:
    table = people().select(["sex", "job"])
    asked: dict[str, Any] = {"sensitive": "job", "tables": 1, **bounds}
    with pytest.raises(InfeasibleModel) as here:
        dv.anatomize(table, **asked)
    with pytest.raises(InfeasibleModel) as there:
        dv.anatomize(table, **asked, engine=chunked)
    assert there.value.document()["infeasible"] == here.value.document()["infeasible"]


@SEVERAL
def test_larger_chunks_are_tried_before_a_refusal(chunked: OwnEngine) -> None:
    """With delta = 0 a group needs exactly the shares of the table.

    3 and 2 of 5 records leave only one group of all.
    """
    chunked.chunk_rows = 3
    table = pa.table({"q": list(range(5)), "s": ["x", "y"] * 2 + ["x"]})
    release = dv.anatomize(
        table, sensitive="s", quasi_identifiers="q", beta="3/4", delta=0, tables=1, engine=chunked
    )
    assert release.settings["chunks"] == 1
    assert release.summary.groups == 1
    chunked.chunk_rows = 1
    table = pa.table({"q": list(range(17)), "s": ["x", "y"] * 8 + ["x"]})
    with pytest.raises(InfeasibleModel) as raised:
        dv.anatomize(
            table,
            sensitive="s",
            quasi_identifiers="q",
            beta="3/4",
            delta=0,
            tables=1,
            engine=chunked,
        )
    assert not raised.value.proved
    assert "in 2 of 2 chunks" in raised.value.message
    assert "chunk_rows" in str(raised.value)


def test_a_writer_that_writes_something_else_publishes_nothing(
    chunked: OwnEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows of a table swap values.

    Every value is present, and every group has its size and its levels.
    """
    release = dv.anatomize(
        people(300),
        sensitive="job",
        quasi_identifiers=["age", "sex"],
        tables=1,
        beta="1/3",
        engine=chunked,
    )
    kind, target = type(release.engine), tmp_path / "target"
    target.mkdir()
    honest = kind.write

    def falsify(engine: Any, sql: str, path: Path, **options: Any) -> None:
        if path.name == "quasi_identifiers.parquet":
            rows = engine.query(sql).to_pydict()
            other = next(
                i
                for i, sex in enumerate(rows["sex"])
                if sex != rows["sex"][0] and rows["age"][i] != rows["age"][0]
            )
            rows["sex"][0], rows["sex"][other] = rows["sex"][other], rows["sex"][0]
            sql = f"SELECT * FROM {engine.lend(pa.table(rows))}"
        honest(engine, sql, path, **options)

    monkeypatch.setattr(kind, "write", falsify)
    with pytest.raises(
        Unverified,
        match=r"quasi_identifiers\.parquet does not hold what was to be written|not what was "
        r"promised",
    ):
        release.write(target / "out")
    assert names(target) == []


def test_groups_with_a_lost_value_are_not_published(chunked: OwnEngine, tmp_path: Path) -> None:
    """The tables to be written are compared with the grouped rows before anything is written."""
    table = people(300)
    release = dv.anatomize(
        table,
        sensitive="job",
        quasi_identifiers=["age", "note"],
        tables=2,
        beta="1/3",
        engine=chunked,
    )
    broken = release.held_tables.tables[0]
    name = release.engine.quote(broken.columns[0])
    others = ", ".join(
        column
        for column, _ in release.engine.describe(f"({broken.query})")
        if column != broken.columns[0]
    )
    turned = f"SELECT {others}, MIN({name}) OVER () AS {name} FROM ({broken.query}) AS t"
    object.__setattr__(broken, "query", turned)
    with pytest.raises(Unverified, match=r"does not hold the values of"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_memory_limit_groups_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a row is set higher, so that 300 MB hold 100,000 rows, and a chunk an eighth."""
    monkeypatch.setattr(memory, "BYTES_PER_ROW", 1000)
    monkeypatch.setattr(memory, "CHUNK_SHARE", 8)
    rng = np.random.default_rng(1)
    rows = 110_000
    table = {
        "age": rng.integers(20, 60, rows),
        "sex": rng.choice(["F", "M"], rows),
        "job": rng.integers(0, 9, rows),
    }
    pq.write_table(pa.table(table), tmp_path / "people.parquet")
    command = [
        "anatomize",
        str(tmp_path / "people.parquet"),
        "--sensitive",
        "job",
        "--memory-limit",
        "300MB",
        "--json",
    ]
    found = run_cli(*command, "--beta", "1/8", "--out", str(tmp_path / "out"))
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert (document["engine"], document["settings"]["records"], document["recq"]) == (
        "duckdb",
        "disk",
        {},
    )
    assert document["settings"]["chunks"] == 9
    assert "stayed on disk and was grouped in 9 chunks" in document["notes"][0]
    assert Fraction(document["levels"]["beta"]) <= Fraction(1, 8)
    assert run_cli("check", str(tmp_path / "out"), "--beta", "1/8").code == 0
    assert pq.read_table(tmp_path / "out" / "sensitive.parquet").num_rows <= rows
    refused = run_cli(*command, "--beta", "1/8", "--attack", "--dry-run")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "neither attacks nor the error of queries" in refused.err
    # With more memory, or without a limit, it is one chunk.
    assert (DuckDBEngine(memory_limit="1GB").row_limit or 0) > rows
    assert DuckDBEngine().row_limit is None
