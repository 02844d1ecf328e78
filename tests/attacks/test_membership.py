# SPDX-License-Identifier: Apache-2.0
"""Who is in the release: by hand, and no figure without people who are not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from divulge.attacks import ATTACKERS, Attempt, Stage
from tests.attacks.staged import table_stage

(MEMBERSHIP,) = (each for each in ATTACKERS if each.name == "membership")
TRUTH = pa.table({"age": ["31", "34", "52", "58"]})
OTHERS = pa.table({"age": ["38", "71", "44", "29"]})
GENERALIZED = {"kind": "generalized"}


def found(on: Stage) -> Attempt:
    assert not MEMBERSHIP.obstacle(on)
    (attempt,) = MEMBERSHIP.run(on)
    return attempt


def test_a_row_that_fits_says_yes() -> None:
    """38 fits [30, 40), the other three fit nothing: right for four members and three others."""
    release = pa.table({"age": ["[30, 40)", "[30, 40)", "[50, 60)", "[50, 60)"]})
    attempt = found(table_stage(release, TRUTH, knows=["age"], control=OTHERS, document=GENERALIZED))
    assert (attempt.targets, attempt.successes, attempt.random) == (8, 7.0, 0.5)
    assert "of 4 members 4, of as many others 1; advantage 75.0%" in attempt.told
    assert attempt.bound is None


def test_a_release_that_everybody_fits_says_nothing() -> None:
    release = pa.table({"age": ["[0, 100)"] * 4})
    attempt = found(table_stage(release, TRUTH, knows=["age"], control=OTHERS, document=GENERALIZED))
    assert attempt.rate.value == 0.5


def test_the_nearer_half_is_taken_for_members_where_values_were_changed() -> None:
    """Off by 1, 1, 2, 0 for members; by 3, 11, 9, 3 for others."""
    release = pa.table({"age": [32, 35, 50, 58, 60, 35]})
    truth = pa.table({"age": [31, 34, 52, 58]})
    others = pa.table({"age": [38, 71, 41, 29]})
    attempt = found(table_stage(release, truth, knows=["age"], control=others))
    assert (attempt.targets, attempt.successes) == (8, 8.0)


def test_as_many_of_each() -> None:
    attempt = found(table_stage(TRUTH, TRUTH, knows=["age"], control=OTHERS.slice(0, 3)))
    assert attempt.targets == 6


def test_without_others_there_is_no_figure() -> None:
    assert "control group" in MEMBERSHIP.obstacle(table_stage(TRUTH, TRUTH, knows=["age"]))
    assert pytest.approx(0.5) == found(table_stage(TRUTH, TRUTH, knows=["age"], control=TRUTH)).rate.value
