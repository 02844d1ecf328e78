# SPDX-License-Identifier: Apache-2.0
"""Sets of releases by every method, against joint classes counted by pandas from the files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import divulge as dv
from divulge.errors import BadInput, Infeasible
from tests import release_judge
from tests.release_judge import OneRelease, Report


@pytest.mark.parametrize("seed", range(12))
def test_joint_metrics_equal_those_counted_by_pandas(seed: int, tmp_path: Path) -> None:
    """Joint metrics, the checks of check and generalize, and bounds without the original."""
    report = release_judge.judge_set(seed, tmp_path)
    assert not report.alarms
    assert sum(report.counts.values()) > 5


def release(people: pd.DataFrame, columns: Sequence[str], folder: Path, method: Any) -> OneRelease:
    """Write a 2-anonymous release by these columns that carries the column id."""
    roles: dict[str, Any] = {
        "quasi_identifiers": list(columns),
        "sensitive": "disease",
        "plain": "id",
        "leave_out": "*",
    }
    policy = {"k_anonymity": 2}
    dv.generalize(people, policy=policy, method=method, **roles).write(folder)
    ids = people["id"].tolist()
    return OneRelease(
        folder, tuple(columns), method, {}, (), release_judge.class_of_people(folder, columns, ids)
    )


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("method", ["mondrian", "relaxed-mondrian"])
def test_the_private_part_determines_the_box_of_each_person(
    method: str, tmp_path: Path, *, nulls: bool
) -> None:
    """Relaxed boxes overlap, and a box of numbers and nulls is written as *.

    So spans do not determine the box of a row.
    """
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {"id": range(40), "age": rng.integers(20, 30, 40), "pay": rng.integers(1, 9, 40)}
    )
    people["disease"] = rng.choice(["flu", "cold"], 40)
    if nulls:
        for name in ("age", "pay"):
            people[name] = people[name].astype("Int64").mask(rng.random(40) < 0.3)
    made = release(people, ["age", "pay"], tmp_path / "release", method)
    found = dv.compose([made.folder], truth=people, person="id")
    sizes = [len(members) for members in release_judge.joint_classes(people, [made]).values()]
    measured = found.releases[0].alone
    assert found.settings["upper_bound"]
    assert measured is not None
    assert (measured["k_anonymity"].value, measured["classes"].value) == (min(sizes), len(sizes))


def test_a_release_after_relaxed_boxes_meets_its_policy(tmp_path: Path) -> None:
    """People with equal quasi-identifiers stay in one box.

    This holds even if they are in different classes of an earlier release.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        people = pd.DataFrame(
            {"id": range(24), "age": rng.integers(20, 24, 24), "pay": rng.integers(1, 4, 24)}
        )
        people["disease"] = rng.choice(["flu", "cold"], 24)
        first = release(people, ["age", "pay"], tmp_path / f"first-{seed}", "relaxed-mondrian")
        roles: dict[str, Any] = {
            "quasi_identifiers": ["pay"],
            "sensitive": "disease",
            "plain": "id",
            "leave_out": "*",
        }
        second = dv.generalize(
            people,
            policy={"k_anonymity": 2},
            method="relaxed-mondrian",
            adversary=dv.Adversary(released=first.folder),
            **roles,
        ).write(tmp_path / f"second-{seed}")
        classes = release_judge.class_of_people(second, ["pay"], range(24))
        both = release_judge.joint_classes(
            people, [first, OneRelease(second, ("pay",), "", {}, (), classes)]
        )
        assert min(map(len, both.values())) >= 2
        assert dv.compose([first.folder, second], truth=people, person="id").settings["upper_bound"]


@pytest.mark.parametrize("seed", [1, 57])
def test_bounds_hold_where_labels_of_one_release_overlap(seed: int, tmp_path: Path) -> None:
    """Both releases have the labels clerk, office and other.

    A clerk is labeled clerk in one box and office in another.
    """
    rng = np.random.default_rng(seed)
    people = release_judge.random_people(rng)
    jobs = {"job": {"taxonomy": {"office": ["clerk", "nurse"], "other": ["cook", "smith"]}}}
    releases = []
    for number, columns in enumerate((("job", "age"), ("job", "zip"))):
        folder = tmp_path / str(number)
        roles: dict[str, Any] = {
            "quasi_identifiers": list(columns),
            "sensitive": "disease",
            "plain": "id",
            "leave_out": "*",
        }
        policy = {"k_anonymity": 2}
        dv.generalize(people, policy=policy, method="mondrian", hierarchies=jobs, **roles).write(
            folder
        )
        classes = release_judge.class_of_people(folder, columns, people["id"].tolist())
        releases.append(OneRelease(folder, columns, "mondrian", {}, (), classes))
    report = Report()
    release_judge.judge_bounds(seed, people, releases, report)
    assert not report.alarms


def test_the_check_fails_if_suppressed_people_are_unknown(tmp_path: Path) -> None:
    """The second release suppressed people because of the first, so only the first identifies them.

    Checked against the second release only, a third release passed with k = 3 where k is 1.
    """
    people, releases, _ = release_judge.random_set(1439, tmp_path)
    first, second = releases[:2]
    assert None in second.classes.values()
    options: dict[str, Any] = {
        "policy": {"k_anonymity": 3},
        "quasi_identifiers": "job",
        "sensitive": "disease",
        "leave_out": "*",
        "suppression": 0.3,
    }
    with pytest.raises(BadInput, match="judged together with another release"):
        dv.generalize(people, adversary=dv.Adversary(released=[second.folder]), **options)
    both = dv.Adversary(released=[first.folder, second.folder])
    with contextlib.suppress(Infeasible):
        dv.generalize(people, adversary=both, **options)
