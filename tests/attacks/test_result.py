# SPDX-License-Identifier: Apache-2.0
"""Rates, intervals and exceeded bounds compared with hand-computed numbers."""

from __future__ import annotations

import math

import pytest

from divulge.attacks import AttackResult, Attempt
from divulge.attacks.result import Bound, Rate
from divulge.errors import BrokenPromise, InternalError


def attempt(**changes: object) -> Attempt:
    """Build an attempt with ten targets and ten guesses."""
    given = {
        "name": "prosecutor",
        "aim": "linkability",
        "about": None,
        "knows": ("zip",),
        "targets": 10,
        "guesses": 10,
    }
    return Attempt(**{**given, "successes": 2, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("successes", "tries", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_intervals_are_those_of_newcombe(
    successes: int, tries: int, low: float, high: float
) -> None:
    """81 of 263 is the first example of Newcombe 1998 (0.2553 to 0.3662).

    0 and 5 of 10 are computed by the formula of Wilson 1927.
    """
    rate = Rate(successes, tries)
    assert [rate.low, rate.high] == pytest.approx([low, high], abs=5e-5)


def test_the_interval_without_tries_is_0_to_1() -> None:
    rate = Rate(0, 0)
    assert math.isnan(rate.value)
    assert (rate.low, rate.high) == (0.0, 1.0)


def test_a_bound_is_broken_where_the_whole_interval_is_above_it() -> None:
    low = Rate(9, 10).low
    assert attempt(successes=9, bound=Bound(low - 0.01, "k_anonymity >= 2")).broken
    assert not attempt(successes=9, bound=Bound(low + 0.01, "k_anonymity >= 2")).broken
    assert not attempt(successes=9).broken
    result = AttackResult(
        (attempt(successes=9, bound=Bound(0.5, "k_anonymity >= 2")),), settings={"source": "r"}
    )
    assert not result.holds
    with pytest.raises(BrokenPromise, match="k_anonymity >= 2"):
        result.raise_for_broken()


def test_risk_is_what_the_control_group_does_not_explain() -> None:
    """The risk is (0.6 - 0.2) / (1 - 0.2), as in anonymeter.

    It is None without a control group, or if the control rate is 1.
    """
    assert attempt(successes=6, control=Rate(1, 5)).risk == pytest.approx(0.5)
    assert attempt(successes=6).risk is None
    assert attempt(successes=6, control=Rate(5, 5)).risk is None


def test_more_successes_than_guesses_are_a_defect() -> None:
    with pytest.raises(InternalError):
        attempt(guesses=1, successes=2)
