# SPDX-License-Identifier: Apache-2.0
"""anatomize(): from a table to verified files, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import divulge as dv
from divulge.anatomization import InfeasibleModel
from divulge.api.anatomize import anatomize
from divulge.api.anatomized import AnatomizedRelease
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, DivulgeError
from divulge.options import AnatomizationMethod
from divulge.releases import Unverified
from tests.anatomization.literature import COLUMNS, PEOPLE, RECORDS
from tests.releases.folders import names

BOUNDS: dict[str, Any] = {"alpha": 0.5, "beta": "1/4", "gamma": 0.05, "delta": 0.25, "tables": 2}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Table 1 of Yao et al. 2021 as a file."""
    path = tmp_path / "people.csv"
    path.write_text(
        "\n".join([",".join(COLUMNS), *(",".join(record) for record in RECORDS)]) + "\n",
        encoding="utf-8",
    )
    return path


def decide(source: Any, **more: Any) -> AnatomizedRelease:
    release = anatomize(source, sensitive="Salary", identifier="Name", **(BOUNDS | more))
    assert isinstance(release, AnatomizedRelease)
    return release


def test_an_attack_gives_the_same_record_in_memory_and_from_the_files(
    source: Path, tmp_path: Path
) -> None:
    release = decide(source)
    own = release.attack(records=6, seed=3)
    assert own.attempts == dv.attack(release, truth=source, records=6, seed=3).attempts
    written = dv.attack(release.write(tmp_path / "out"), truth=source, records=6, seed=3)
    names = [attempt.name for attempt in own.attempts]
    assert {"record-linkage", "table-linkage", "reconstruction", "absence"} <= set(names)
    for mine, theirs in zip(
        own.to_dict()["attacks"], written.to_dict()["attacks"], strict=True
    ):  # groups have other numbers in the files, so sums may differ in the last digit
        assert mine == pytest.approx(theirs, rel=1e-12)
    assert own.left_out == written.left_out
    sources = ("source", "truth", "reading", "delimiter", "format")
    assert all(
        own.settings[name] == written.settings[name] for name in own.settings if name not in sources
    )


def test_the_release_meets_its_bounds_and_has_one_file_per_table(
    source: Path, tmp_path: Path
) -> None:
    release = decide(source)
    folder = release.write(tmp_path / "out")
    assert names(folder) == [
        "manifest.json",
        "quasi_identifiers_1.csv",
        "quasi_identifiers_2.csv",
        "sensitive.csv",
    ]
    assert release.table_columns == (("Age", "Zipcode", "Gender"), ("Job",), ("Salary",))
    found = dv.check(folder, **{name: BOUNDS[name] for name in ("alpha", "beta", "gamma", "delta")})
    assert found.holds
    assert found.levels == release.levels


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow"])
def test_every_format_is_read_back_and_queried(source: Path, tmp_path: Path, format_: Any) -> None:
    release = decide(source)
    folder = release.write(tmp_path / "out", format=format_)
    asked = "Age > 30 and Job = 'Doctor' and Salary = 6700"
    assert dv.query(folder, asked) == release.query(asked) == dv.query(release, asked)
    assert dv.query(folder, "Age > 30").estimate == 6.0


def test_no_identifier_and_no_seed_is_published(source: Path, tmp_path: Path) -> None:
    folder = decide(source, seed=20200202).write(tmp_path / "out")
    written = "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())
    assert not [person for person in PEOPLE if person in written]
    assert "20200202" not in written
    assert str(tmp_path) not in written


def test_the_manifest_holds_hashes_and_levels_and_no_value(source: Path, tmp_path: Path) -> None:
    release = decide(source)
    folder = release.write(tmp_path / "out")
    document = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert document["kind"] == "anatomized"
    assert document["levels"] == release.levels.texts()
    assert document["promises"] == {"alpha": "1/2", "beta": "1/4", "gamma": "1/20", "delta": "1/4"}
    assert set(document["files"]) == {
        "quasi_identifiers_1.csv",
        "quasi_identifiers_2.csv",
        "sensitive.csv",
    }
    assert not [value for value in ("Teacher", "11100", "6700") if value in json.dumps(document)]


def test_a_seed_repeats_the_release_whatever_the_order_of_the_rows(
    tmp_path: Path, source: Path
) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", encoding="utf-8")
    first, second = (decide(path, seed=5).write(tmp_path / path.stem) for path in (source, turned))
    for name in names(first):
        if name != "manifest.json":
            assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.slow
def test_without_a_seed_no_two_releases_are_alike(source: Path) -> None:
    orders = {str(decide(source).tables()["quasi_identifiers_1"].to_pylist()) for _ in range(12)}
    assert len(orders) > 8


def test_columns_without_a_role_are_left_out_when_quasi_identifiers_are_named(source: Path) -> None:
    release = anatomize(source, sensitive="Salary", quasi_identifiers=["Job", "Age"], beta="1/4")
    assert release.table_columns == (("Age",), ("Job",), ("Salary",))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_frames_come_back_as_the_kind_that_went_in(source: Path, kind: type) -> None:
    table = pa.table({name: [record[i] for record in RECORDS] for i, name in enumerate(COLUMNS)})
    given = {
        pd.DataFrame: table.to_pandas,
        pl.DataFrame: lambda: pl.from_arrow(table),
        pa.Table: lambda: table,
    }[kind]()
    for frame in decide(given).tables().values():
        assert isinstance(frame, kind)
    assert source.exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"method": "anatomy", "tables": None}, "anatomy promises beta, not alpha"),
        (
            {"method": "anatomy", "alpha": None, "gamma": None, "delta": None},
            "has no setting tables",
        ),
        (
            {
                "method": "slicing",
                "alpha": None,
                "gamma": None,
                "delta": None,
                "algorithm": "paper",
            },
            "no setting algorithm",
        ),
        ({"method": "slppy"}, "did you mean 'slppa'"),
        ({"alpha": None, "beta": None, "gamma": None, "delta": None}, "no bound was given"),
        ({"beta": "1/0"}, "not a number"),
        ({"beta": 1.5}, "from 0 to 1"),
        ({"tables": 9}, "cannot be divided into 9 tables"),
        ({"identifier": ["Name", "Gender", "Job", "Age", "Zipcode"]}, "no column is left"),
        ({"sensitive": []}, "no sensitive column"),
    ],
)
def test_contradictory_requests_are_errors(source: Path, more: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        anatomize(source, **({"sensitive": "Salary", "identifier": "Name"} | BOUNDS | more))


@pytest.mark.parametrize(
    ("method", "more", "tables"),
    [
        ("slppa", {"delta": "1/2"}, 3),
        ("slppa", {"algorithm": "paper"}, 3),
        ("anatomy", {}, 2),
        ("slicing", {"tables": 2}, 3),
        ("asn", {}, 5),
        ("permutation", {"group_size": 4}, 2),
    ],
)
def test_every_method_is_published_and_checked(
    source: Path, tmp_path: Path, method: AnatomizationMethod, more: dict[str, Any], tables: int
) -> None:
    bounds: dict[str, Any] = {} if method == "permutation" else {"beta": "1/2"}
    release = anatomize(
        source, sensitive="Salary", identifier="Name", method=method, **bounds, **more, seed=5
    )
    folder = release.write(tmp_path / "out")
    # A permutation guarantees nothing; it is checked against the bounds passed here.
    found = dv.check(folder, **(bounds or {"beta": "99/100"}))
    assert found.holds
    assert len(found.tables) == tables


def test_infeasible_bounds_are_an_error_that_names_the_nearest_feasible_ones(source: Path) -> None:
    with pytest.raises(InfeasibleModel) as refused:
        decide(source, beta="1/5")
    assert refused.value.nearest.beta == Fraction(1, 4)
    assert "4500" in refused.value.because or "6000" in refused.value.because


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str], only: str) -> None:
    """A writer that writes correctly and then changes one file."""
    honest = DuckDBEngine.write

    def write(engine: DuckDBEngine, sql: str, path: Path, **how: Any) -> None:
        honest(engine, sql, path, **how)
        if path.name == only:
            path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    monkeypatch.setattr(DuckDBEngine, "write", write)


@pytest.mark.parametrize(
    ("only", "change"),
    [
        ("sensitive.csv", lambda text: "".join(text.splitlines(keepends=True)[:-1])),
        ("sensitive.csv", lambda text: text + "1,4500\n"),
        ("sensitive.csv", lambda text: text.replace("6700", "4500")),
        ("sensitive.csv", lambda text: text.replace("6700", "many")),
        ("quasi_identifiers_2.csv", lambda text: text.replace("Police", "Doctor")),
        ("quasi_identifiers_1.csv", lambda text: text.replace("GID", "gid_", 1)),
        ("quasi_identifiers_1.csv", lambda _: ""),
    ],
)
def test_a_file_that_is_not_what_was_decided_is_not_published(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    only: str,
    change: Callable[[str], str],
) -> None:
    release = decide(source)
    spoil(monkeypatch, change, only)
    before = names(tmp_path)
    with pytest.raises(Unverified):
        release.write(tmp_path / "out")
    assert names(tmp_path) == before


@pytest.mark.slow
def test_an_existing_anatomized_release_is_replaced_only_with_force(
    source: Path, tmp_path: Path
) -> None:
    folder = decide(source).write(tmp_path / "out")
    before = (folder / "manifest.json").read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="exists already"):
        decide(source).write(folder)
    decide(source, beta="1/3").write(folder, force=True)
    assert (folder / "manifest.json").read_text(encoding="utf-8") != before


def test_a_changed_release_is_not_queried(source: Path, tmp_path: Path) -> None:
    folder = decide(source).write(tmp_path / "out")
    (folder / "sensitive.csv").write_text("GID,Salary\n1,1\n", encoding="utf-8")
    with pytest.raises(BadInput, match="not as it was released"):
        dv.query(folder, "Salary = 1")


def test_a_third_party_release_is_a_folder_of_tables(source: Path, tmp_path: Path) -> None:
    folder = decide(source).write(tmp_path / "out")
    (folder / "manifest.json").unlink()
    assert dv.query(folder, "Age > 30").estimate == 6.0
    assert dv.check(folder, sensitive="Salary", beta="1/4").holds


@pytest.mark.parametrize(
    ("made", "told"), [("nothing", "not the folder"), ("empty", "not a release")]
)
def test_an_input_that_is_no_release_is_an_error(tmp_path: Path, made: str, told: str) -> None:
    if made == "empty":
        (tmp_path / made).mkdir()
    with pytest.raises(BadInput, match=told):
        dv.query(tmp_path / made, "true")


def test_several_sensitive_columns_have_a_table_each(source: Path, tmp_path: Path) -> None:
    release = anatomize(
        source, sensitive=["Salary", "Job"], identifier="Name", beta="1/2", tables=1
    )
    folder = release.write(tmp_path / "out")
    assert names(folder) == [
        "manifest.json",
        "quasi_identifiers.csv",
        "sensitive_1.csv",
        "sensitive_2.csv",
    ]
    assert dv.check(folder, beta="1/2").holds


def test_nulls_are_a_value_or_left_out(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None, 4], "s": ["x", "y", "z", None]})
    kept = anatomize(table, sensitive="s", beta="1/2", tables=1)
    assert kept.query("a is null").estimate == 1.0
    assert kept.query("s is null").estimate == 1.0
    dropped = anatomize(table, sensitive="s", beta="1/2", tables=1, nulls="drop")
    assert dropped.query().estimate == 2.0
    assert dv.query(kept.write(tmp_path / "out"), "a is null").estimate == 1.0


def test_errors_are_one_line(source: Path) -> None:
    with pytest.raises(DivulgeError) as refused:
        decide(source, beta="1/5")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("row_limit", [None, 10])
def test_every_zero_and_every_nan_is_published_as_one_text(
    row_limit: int | None, tmp_path: Path
) -> None:
    """Equal values are counted as one value.

    Written differently, a group of four would be three and one in the file.
    """
    nans = np.array([0x7FF8000000000000, 0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    table = pa.table(
        {
            "x": np.array([0.0, -0.0] * 20 + nans.tolist() * 5),
            "s": np.array([1.0, 2.0, 0.0, -0.0, 3.0] * 10),
            "o": ["a", "b"] * 25,
        }
    )
    engine = DuckDBEngine()
    engine.row_limit = row_limit
    release = dv.anatomize(
        table,
        sensitive="s",
        quasi_identifiers=["x", "o"],
        beta="1/2",
        tables=2,
        engine=engine,
        seed=1,
    )
    folder = release.write(tmp_path / "out", format="csv")
    told = {
        cell
        for path in folder.glob("*.csv")
        for line in path.read_text().splitlines()
        for cell in line.split(",")
    }
    assert {"0.0", "nan"} <= told
    assert not {"-0.0", "-nan", "NaN"} & told
