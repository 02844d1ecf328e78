# SPDX-License-Identifier: Apache-2.0
"""Membership inference, counted by hand; it needs a control group."""

from __future__ import annotations

import pyarrow as pa
import pytest

from divulge.attacks import ATTACKERS, AttackContext, Attempt
from tests.attacks.staged import table_stage

(MEMBERSHIP,) = (each for each in ATTACKERS if each.name == "membership")
TRUTH = pa.table({"age": ["31", "34", "52", "58"]})
OTHERS = pa.table({"age": ["38", "71", "44", "29"]})
GENERALIZED = {"kind": "generalized"}


def found(on: AttackContext) -> Attempt:
    assert not MEMBERSHIP.obstacle(on)
    (attempt,) = MEMBERSHIP.run(on)
    return attempt


def test_a_matching_row_means_membership() -> None:
    """38 matches [30, 40), the other three match no row: right for 4 members and 3 others."""
    release = pa.table({"age": ["[30, 40)", "[30, 40)", "[50, 60)", "[50, 60)"]})
    attempt = found(
        table_stage(release, TRUTH, knows=["age"], control=OTHERS, document=GENERALIZED)
    )
    assert (attempt.targets, attempt.successes, attempt.random) == (8, 7.0, 0.5)
    assert "of 4 members 4, of as many others 1; advantage 75.0%" in attempt.told
    assert attempt.bound is None


def test_a_release_that_all_people_match_has_no_advantage() -> None:
    release = pa.table({"age": ["[0, 100)"] * 4})
    attempt = found(
        table_stage(release, TRUTH, knows=["age"], control=OTHERS, document=GENERALIZED)
    )
    assert attempt.rate.value == 0.5


def test_the_nearer_half_counts_as_members_if_values_were_perturbed() -> None:
    """Distances are 1, 1, 2, 0 for members, and 3, 11, 9, 3 for others."""
    release = pa.table({"age": [32, 35, 50, 58, 60, 35]})
    truth = pa.table({"age": [31, 34, 52, 58]})
    others = pa.table({"age": [38, 71, 41, 29]})
    attempt = found(table_stage(release, truth, knows=["age"], control=others))
    assert (attempt.targets, attempt.successes) == (8, 8.0)


def test_members_and_others_are_equally_many() -> None:
    attempt = found(table_stage(TRUTH, TRUTH, knows=["age"], control=OTHERS.slice(0, 3)))
    assert attempt.targets == 6


def test_without_a_control_group_there_is_no_attempt() -> None:
    assert "control group" in MEMBERSHIP.obstacle(table_stage(TRUTH, TRUTH, knows=["age"]))
    assert (
        pytest.approx(0.5)
        == found(table_stage(TRUTH, TRUTH, knows=["age"], control=TRUTH)).rate.value
    )
