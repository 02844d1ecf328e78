# SPDX-License-Identifier: Apache-2.0
"""`divulge query`: the documented command lines and JSON output."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

from tests.helpers import run_cli
from tests.queries.test_query import TABLE_3


@pytest.fixture
def release(tmp_path: Path) -> str:
    """Table 3 of Yao et al. 2021 as files, without a manifest."""
    folder = tmp_path / "release"
    folder.mkdir()
    for name, table in zip(("ages", "jobs", "salaries"), TABLE_3, strict=True):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return str(folder)


def test_the_papers_query(release: str) -> None:
    condition = "age > 30 and job = 'Doctor' and salary = 6700"
    found = run_cli("query", release, condition, "--json")
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert (document["estimate"], document["low"], document["high"]) == (9 / 16, 0.0, 1.0)
    assert document["settings"] == {
        "source": [f"{release}/{name}.csv" for name in ("ages", "jobs", "salaries")],
        "condition": condition,
        "expression": None,
        "records": 8,
        "left_out": 0,
        "labels": {},
    }


def test_the_text_shows_bounds_and_estimate(release: str) -> None:
    assert (
        "count: certainly from 0 to 1; estimate 0.5625"
        in run_cli("query", release, "age > 30 and job = 'Doctor' and salary = 6700").out
    )
    assert run_cli("query", release, "age > 30").out == "count: 6 (exact)\n"
    assert run_cli("query", release).out == "count: 8 (exact)\n"


def test_sums_and_averages(release: str) -> None:
    assert (
        run_cli("query", release, "salary > 6000", "--sum", "salary", "--json").json()["estimate"]
        == 13100.0
    )
    average = run_cli("query", release, "job = 'Doctor'", "--average", "salary", "--json").json()
    # All Doctors are in group 2, whose salaries are 6700, 4000, 6400 and 6000; three of four are
    # Doctors.
    assert average["estimate"] == pytest.approx(5775, abs=1e-9)
    assert average["low"] == pytest.approx((4000 + 6000 + 6400) / 3, rel=1e-9)
    assert average["high"] == pytest.approx((6700 + 6400 + 6000) / 3, rel=1e-9)
    nothing = run_cli("query", release, "job = 'Nurse'", "--average", "salary", "--json").json()
    assert nothing["estimate"] is None
    assert (
        "no record can satisfy"
        in run_cli("query", release, "job = 'Nurse'", "--average", "salary").out
    )


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("age >", "is not a condition"),
        ("agee > 30", "did you mean 'Age'"),
        ("age = (select 1)", "subquery"),
        ("age > 30; drop table x", "is not a condition"),
        ("getenv('HOME') = 'x'", "the function getenv"),
        ("job > 3", "cannot be worked out"),
        ("age", "not a condition but a value"),
    ],
)
def test_an_invalid_condition_is_rejected_in_one_line(
    release: str, condition: str, told: str
) -> None:
    found = run_cli("query", release, condition, "--json")
    assert found.code == 2
    assert found.json()["exit_code"] == 2
    assert found.err.count("\n") == 1
    assert told in found.err


def test_a_folder_without_a_release_is_rejected(tmp_path: Path) -> None:
    found = run_cli("query", str(tmp_path / "nothing"), "age > 3")
    assert found.code == 2
    assert "not the folder of a release" in found.err
