# SPDX-License-Identifier: Apache-2.0
"""Queries of generalized releases, and a comparison with anatomized ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge import anatomization, queries
from divulge.anatomization import Workload
from divulge.api.side_by_side import side_by_side
from divulge.errors import BadInput
from divulge.queries import Estimate
from divulge.releases import private_place
from tests.anatomization.literature import COLUMNS, RECORDS
from tests.anatomization.public import public


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Table 1 of Yao et al. 2021 as a file."""
    path = tmp_path / "people.csv"
    path.write_text(
        "\n".join([",".join(COLUMNS), *(",".join(record) for record in RECORDS)]) + "\n",
        encoding="utf-8",
    )
    return path


def generalized(source: Path, tmp_path: Path, column: str, **more: Any) -> Path:
    """Table 1 with one quasi-identifier, 2-anonymous."""
    others = [name for name in COLUMNS if name not in (column, "Salary")]
    release = dv.generalize(
        source,
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers=column,
        sensitive="Salary",
        identifier=others,
        **more,
    )
    folder: Path = release.write(tmp_path / "generalized")
    return folder


def test_a_generalized_release_is_queried_by_the_leaves_of_its_labels(
    source: Path, tmp_path: Path
) -> None:
    folder = generalized(source, tmp_path, "Age", hierarchies={"Age": {"intervals": [10, 30]}})
    # [30, 40) stands for the ages 30, 32, 33 and [40, 50) for 42, 44, 45; both people with 6000 are
    # in [30, 40).
    found = dv.query(folder, "age > 30 and salary = 6000")
    assert found.estimate == pytest.approx(2 * 2 / 3, abs=1e-12)
    assert (found.low, found.high) == (0.0, 2.0)
    assert dv.query(folder, "age > 30 and salary = 4000") == Estimate("count", 1.0, 1.0, 1.0)


def test_without_the_private_part_queries_use_the_written_ranges(
    source: Path, tmp_path: Path
) -> None:
    folder = generalized(source, tmp_path, "Age", hierarchies={"Age": {"intervals": [10, 30]}})
    shutil.rmtree(private_place(folder))
    # Whole numbers: 31 to 39 of 30 to 39 are above 30, and all of 40 to 49. Five people are in [30,
    # 40).
    found = dv.query(folder, "age > 30")
    assert found.estimate == pytest.approx(5 * 0.9 + 3, abs=1e-12)
    assert (found.low, found.high) == (3.0, 8.0)


def test_unreadable_labels_need_a_hierarchy(source: Path, tmp_path: Path) -> None:
    hierarchies = tmp_path / "hierarchies"
    hierarchies.mkdir()
    jobs = ["Teacher", "Engineer", "Doctor", "Police", "Nurse"]
    (hierarchies / "Job.csv").write_text("".join(f"{job};*\n" for job in jobs), encoding="utf-8")
    folder = generalized(source, tmp_path, "Job", hierarchies=hierarchies)
    shutil.rmtree(private_place(folder))
    with pytest.raises(BadInput, match="stands for"):
        dv.query(folder, "job = 'Doctor'")
    assert dv.query(folder, "salary = 6000").estimate == 2.0
    found = dv.query(folder, "job = 'Doctor'", hierarchies=hierarchies)
    assert found.estimate == pytest.approx(8 / 5, abs=1e-12)
    assert (found.low, found.high) == (0.0, 8.0)


def test_a_mondrian_release_is_queried_by_its_boxes(source: Path, tmp_path: Path) -> None:
    folder = generalized(source, tmp_path, "Age", method="mondrian")
    found = dv.query(folder, "age > 30")
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 6 <= found.high  # six people are older than 30
    assert dv.query(folder).estimate == 8.0
    shutil.rmtree(private_place(folder))
    assert dv.query(folder, "age > 30").high == found.high


@pytest.mark.public_data
def test_side_by_side_at_equal_protection_on_adult() -> None:
    """Anatomization answers better at equal beta (Xiao and Tao 2006).

    It answers still better with similar records grouped together.
    """
    sides = side_by_side(
        public("adult"),
        sensitive="occupation",
        beta="1/4",
        quasi_identifiers=["age", "education", "race", "sex"],
        workload=Workload(queries=300),
        seed=1,
    )
    assert [side.name for side in sides] == [
        "anatomized",
        "anatomized, records alike",
        "generalized, full-domain",
        "generalized, mondrian",
    ]
    errors = []
    for side in sides:
        assert side.refused is None
        assert side.beta is not None
        assert side.beta <= 0.25 + 1e-9
        assert side.recq is not None
        errors.append(side.recq.mean)
    assert errors[1] < errors[0] < min(errors[2:])


def test_generalization_may_suppress_people_and_mondrian_does_not() -> None:
    # 90 by itself meets no bound below 1
    ages, values = [30, 31, 40, 41, 90], ["x", "y", "x", "y", "x"]
    rules = {"age": {"intervals": [10]}}
    sides = side_by_side(
        pa.table({"age": ages, "s": values}),
        sensitive="s",
        beta="3/5",
        tables=1,
        hierarchies=rules,
        suppression=0.2,
    )
    published = {side.name: side.published for side in sides}
    assert published["generalized, full-domain"] == 4
    assert published["generalized, mondrian"] == 5


def test_infeasible_protection_is_reported_for_each_side() -> None:
    table = pa.table({"age": [1, 2, 3, 4], "s": ["x", "x", "x", "y"]})
    sides = side_by_side(table, sensitive="s", beta="1/2", tables=1)
    assert all(side.refused and side.recq is None for side in sides)


def test_a_generalized_release_spreads_its_records_over_the_values_of_a_label() -> None:
    """By hand: half of {21, 22}, with x once, is 21.

    31 and 32 have x each, and half of both is 31.
    """
    people = pa.table({"age": [21, 22, 31, 32], "s": ["x", "y", "x", "x"]})
    release = dv.generalize(
        people,
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers=["age"],
        sensitive="s",
        hierarchies={"age": {"intervals": [10]}},
    )
    counted = release.original
    rows = anatomization.read_rows(counted.source, ["age", "s"])
    answer = queries.generalized_estimator(rows, counted.people, release.plan.recoding, "s")
    ages, values = rows.domain("age").labels, rows.domain("s").labels
    for asked, expected in (((21,), 0.5), ((31,), 1.0), ((21, 22), 1.0), ((21, 31, 32), 2.5)):
        masks = {"age": np.isin(ages, asked), "s": np.array([value == "x" for value in values])}
        assert answer(anatomization.Query(masks, 1)) == pytest.approx(expected)
