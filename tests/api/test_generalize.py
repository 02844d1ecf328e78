# SPDX-License-Identifier: Apache-2.0
"""generalize() and its written release: correct rows, correct types, and no hidden values."""

from __future__ import annotations

import gc
import json
import tomllib
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.api.generalize import prepare_search
from divulge.api.request import resolve_request
from divulge.releases import ReleaseSearch, release_search
from tests.api.patients import PATIENTS, classes, patients
from tests.helpers import without_digests
from tests.releases.folders import names


def search_of(table: Any, policy: dv.Policy) -> ReleaseSearch:
    """Prepare the search that `generalize` and `tradeoff` begin with."""
    return prepare_search(dv.read(table), resolve_request(policy=policy), makes_release=True)


def test_the_nine_patients_by_hand() -> None:
    """Zip codes lose a digit and ages become ranges of 20: three classes of three by hand."""
    release = patients()
    assert release.plan.levels == {"zip": 1, "age": 2}
    rows = release.tables()["table"].to_pylist()
    assert classes(rows) == {
        ("4767*", "[20, 40)"): 3,
        ("4760*", "[20, 40)"): 3,
        ("4790*", "[40, 60)"): 3,
    }
    assert Counter(row["disease"] for row in rows) == {"Heart": 5, "Cancer": 3, "Flu": 1}
    assert set(rows[0]) == {"zip", "age", "disease"}
    assert (release.before["k_anonymity"].value, release.after["k_anonymity"].value) == (1, 3)
    assert release.verdict.holds


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_the_table_is_freed_with_its_release(method: Any) -> None:
    """The table is freed at once, not by the garbage collector.

    The DuckDB database behind it may be large, and serves the next table.
    """
    gc.disable()
    try:
        release = patients(method=method)
        engine = weakref.ref(release.engine)
        del release
        assert engine() is None
    finally:
        gc.enable()


def test_the_policy_sets_the_method_unless_one_is_passed() -> None:
    people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
    kept = {"k_anonymity": 2, "method": "columns"}
    asked: tuple[dict[str, Any], ...] = ({}, {"method": "full-domain"})
    made = [dv.generalize(people, policy=kept, quasi_identifiers="zip", **given) for given in asked]
    assert [(one.plan.method, one.plan.levels) for one in made] == [
        ("columns", {"zip": 1}),
        ("full-domain", {"zip": 1}),
    ]
    published = [sorted(one.tables()["table"].column("zip").to_pylist()) for one in made]
    assert published == [["*"] * 4, ["476*", "476*", "479*", "479*"]]


def test_a_search_with_other_requirements_reuses_the_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with a slider: each result equals that of a search with its own counts."""
    table = dv.read(dv.datasets.patients(rows=800, seed=3))
    roles = dv.Policy.of(tomllib.loads(dv.datasets.POLICY)).roles
    asked: list[dict[str, Any]] = [
        {"k_anonymity": 4, "suppression": 0.1},
        {"k_anonymity": 2, "l_diversity": 2, "method": "mondrian"},
        {"entropy_leakage": 1.2, "k_anonymity": 3, "suppression": 0.05},
        {"k_anonymity": 9, "method": "columns"},
        {
            "t_closeness": 0.3,
            "protect": [{"where": {"diagnosis": ["HIV"]}, "k_anonymity": 8}],
            "suppression": 0.2,
        },
    ]
    policies = [dv.Policy.of({**roles, **promises}) for promises in asked]
    apart = [dv.generalize(table, policy=policy) for policy in policies]
    fronts = [dv.tradeoff(table, "entropy_leakage", policy=policy) for policy in policies]
    ground = search_of(table, policies[0])
    _ = ground.measured_original
    monkeypatch.setattr(release_search, "count_original", None)
    for policy, release, front in [*zip(policies, apart, fronts, strict=True)] * 2:
        found = ground.release(policy)
        assert found.to_dict() == release.to_dict()
        assert found.explain().to_dict() == release.explain().to_dict()
        assert found.expected == release.expected
        assert ground.tradeoff(policy, "entropy_leakage").to_dict() == front.to_dict()


@pytest.mark.parametrize(
    ("limit", "cells", "remembers"), [(None, None, True), ("300MB", 100_000, False)]
)
def test_a_memory_limit_bounds_the_cache_of_searches(
    limit: str | None, cells: int | None, *, remembers: bool
) -> None:
    """Seventeen columns, kept or not, make 131,072 nodes over eight classes.

    These are 1,048,576 counts, and 300 MB leave capacity for a million.
    """
    names = [f"column {place}" for place in range(17)]
    rows = pa.table(
        {name: [row >> place & 1 for row in range(8)] for place, name in enumerate(names)}
    )
    table = dv.read(rows, engine=dv.DuckDBEngine(memory_limit=limit))
    policy = {
        "quasi_identifiers": names,
        "k_anonymity": 2,
        "hierarchies": {name: {"suppress": True} for name in names},
    }
    found = search_of(table, dv.Policy.of(policy)).rollup("full-domain")
    assert (found.cell_limit, found.lattice.size) == (cells, 131_072)
    assert (found.classes((0,) * 17) is found.classes((0,) * 17)) is remembers


def test_a_written_release(tmp_path: Path) -> None:
    folder = patients().write(tmp_path / "out")
    assert names(folder) == ["manifest.json", "table.parquet"]
    private_folder = tmp_path / "out.private"
    assert names(private_folder) == ["manifest.json", "mapping"]
    private_files = ["age.csv", "original.json", "rules.json", "types.json", "zip.csv"]
    assert names(private_folder / "mapping") == private_files
    assert (
        "47677;4767*"
        in (private_folder / "mapping" / "zip.csv").read_text(encoding="utf-8").splitlines()
    )
    assert private_folder.stat().st_mode & 0o077 == 0
    assert classes(pq.read_table(folder / "table.parquet").to_pylist()) == classes(
        patients().tables()["table"].to_pylist()
    )
    public, private = (
        json.loads((part / "manifest.json").read_text(encoding="utf-8"))
        for part in (folder, private_folder)
    )
    assert private["plan"]["levels"] == {"zip": 1, "age": 2}
    assert private["rows"] == {"original": 9, "published": 9}
    assert private["before"]["identity"]["k_anonymity"] == 1
    assert private["after"]["identity"]["k_anonymity"] == 3
    assert private["after"]["settings"]["prior"] == {"disease": "original"}
    assert set(private["files"]) == {f"mapping/{name}" for name in private_files}
    assert (public["rows"], public["row_order"]) == (9, "shuffled with a secret")
    assert public["measured"]["identity"]["k_anonymity"] == 3
    assert set(public["files"]) == {"table.parquet"}


def test_the_public_part_holds_no_hidden_value(tmp_path: Path) -> None:
    folder = patients().write(tmp_path / "out", format="csv")
    for name in ("table.csv", "manifest.json"):
        text = without_digests((folder / name).read_text(encoding="utf-8"))
        hidden = [*PATIENTS.column("name").to_pylist(), *PATIENTS.column("zip").to_pylist()]
        assert not [value for value in hidden if value in text]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_unchanged_columns_keep_their_types(tmp_path: Path, kind: Any) -> None:
    table = PATIENTS.append_column("weight", pa.array([60.5, 70.25] * 4 + [80.0])).append_column(
        "ok", pa.array([True] * 9)
    )
    release = patients(table=table, policy=dv.Policy(uniques=1000))
    assert release.plan.levels == {"zip": 0, "age": 0}
    assert release.plain == ("weight", "ok")
    folder = release.write(tmp_path / "out", format=kind)
    found = dv.read(folder / f"table.{kind}")
    assert {column.name: column.type for column in found.columns} == {
        "zip": "VARCHAR" if kind != "csv" else "BIGINT",  # text says nothing about types
        "age": "BIGINT",
        "disease": "VARCHAR",
        "weight": "DOUBLE",
        "ok": "BOOLEAN" if kind != "csv" else "VARCHAR",
    }


def test_the_kind_of_frame_that_went_in_comes_out() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pandas.DataFrame(PATIENTS.to_pydict()), polars.from_arrow(PATIENTS)):
        found = patients(table=frame).tables()["table"]
        assert type(found) is type(frame)
        assert list(found.columns) == ["zip", "age", "disease"]
    assert isinstance(patients().tables()["table"], pa.Table)


def test_a_pandas_index_is_not_published(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    names = PATIENTS.column("name").to_pylist()
    frame = pandas.DataFrame(
        PATIENTS.drop_columns(["name"]).to_pydict(), index=pandas.Index(names, name="name")
    )
    release = patients(table=frame, identifier=())
    assert list(release.tables()["table"].index) == list(range(9))
    content = (release.write(tmp_path / "out") / "table.parquet").read_bytes()
    assert not [name for name in names if name.encode() in content]
    assert pq.read_schema(tmp_path / "out" / "table.parquet").metadata is None


def test_categories_without_rows_are_not_published(tmp_path: Path) -> None:
    """A categorical column lists all its categories.

    One category is of no row, and the only person of another is suppressed.
    """
    pandas = pytest.importorskip("pandas")
    kinds = ["mild", "severe", "unheard-of", "rare"]
    frame = pandas.DataFrame(
        {
            "zip": pandas.Categorical(
                ["1"] * 4 + ["2"] * 4 + ["3"], categories=["1", "2", "3", "4"]
            ),
            "disease": pandas.Categorical(["mild", "severe"] * 4 + ["rare"], categories=kinds),
        }
    )
    policy = dv.Policy(k_anonymity=4, suppression=0.2)
    release = dv.generalize(frame, policy=policy, quasi_identifiers="zip", sensitive="disease")
    assert release.plan.levels == {"zip": 0}
    assert not [
        dtype
        for dtype in release.tables()["table"].dtypes
        if isinstance(dtype, pandas.CategoricalDtype)
    ]
    for kind in ("csv", "parquet", "arrow"):
        folder = release.write(tmp_path / kind, format=kind)
        for name in (f"table.{kind}", "manifest.json"):
            content = (folder / name).read_bytes()
            assert b"unheard-of" not in content
            assert b"rare" not in content


def test_a_relation_of_a_foreign_connection() -> None:
    import duckdb

    connection = duckdb.connect()
    connection.register("patients", PATIENTS)
    release = patients(table=connection.table("patients"))
    assert classes(release.tables()["table"].to_pylist()) == classes(
        patients().tables()["table"].to_pylist()
    )
    assert connection.sql("SHOW TABLES").fetchall() == [("patients",)]


def test_the_seed_fixes_the_order_and_is_recorded(tmp_path: Path) -> None:
    one, two = (patients().write(tmp_path / str(i), seed=7, format="csv") for i in range(2))
    assert (one / "table.csv").read_bytes() == (two / "table.csv").read_bytes()
    manifest = json.loads((one / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["row_order"] == "shuffled with a seed given by the publisher"
    assert "7" not in str(manifest["row_order"])
