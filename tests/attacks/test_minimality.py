# SPDX-License-Identifier: Apache-2.0
"""Minimality attack: the example of Wong et al. 2007 by hand, and all permutations."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import divulge as dv
from divulge.attacks.minimality import Key, assignments, credibility
from divulge.errors import BadInput
from divulge.queries import Text

Q1: Key = ("q1",)
Q2: Key = ("q2",)
Q: Key = ("Q",)
TOGETHER = {Q1: Q, Q2: Q}


def coarse_if_needed(dealt: Mapping[Key, Counter[Text]]) -> bool:
    """Program that merges q1 and q2 only if more than half of one of them have HIV."""
    return any(own["HIV"] * 2 > sum(own.values()) for own in dealt.values())


def test_the_example_of_wong_and_others() -> None:
    """q1 has two people, q2 five, and two of the seven have HIV.

    They are merged only if both are of q1, so it is certain that the people of q1 have HIV.
    """
    found = credibility({Q1: 2, Q2: 5}, TOGETHER, {Q: {"HIV": 2, "none": 5}}, coarse_if_needed)
    assert found.belief[Q1] == {"HIV": 1.0}
    assert found.belief[Q2] == {"none": 1.0}
    assert (found.possible, found.tried) == (1, 3)  # none, one or two of q1


def test_three_with_hiv_leave_two_ways() -> None:
    """C(7, 3) = 35 assignments are possible.

    Those with both people of q1 (5) and those with three of the five of q2 (10) need merging.
    """
    found = credibility({Q1: 2, Q2: 5}, TOGETHER, {Q: {"HIV": 3, "none": 4}}, coarse_if_needed)
    assert found.belief[Q1]["HIV"] == pytest.approx(5 / 15)
    assert found.belief[Q2]["HIV"] == pytest.approx((5 * 1 / 5 + 10 * 3 / 5) / 15)


def test_a_program_that_ignores_sensitive_values_discloses_nothing() -> None:
    found = credibility({Q1: 2, Q2: 5}, TOGETHER, {Q: {"HIV": 2, "none": 5}}, lambda _: True)
    assert found.belief[Q1]["HIV"] == pytest.approx(2 / 7)
    assert found.belief[Q2]["HIV"] == pytest.approx(2 / 7)


@given(
    people=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=6
    ),
    limit=st.integers(1, 3),
)
def test_credibility_is_the_share_of_permutations(
    people: list[tuple[str, str]], limit: int
) -> None:
    """The result equals that of all n! permutations of people, with a program that counts x."""
    everybody: Key = ("*",)
    units: Counter[Key] = Counter((key,) for key, _ in people)
    values: Counter[Text] = Counter(value for _, value in people)

    def program(dealt: Mapping[Key, Counter[Text]]) -> bool:
        return max(own["x"] for own in dealt.values()) < limit

    found = credibility(units, dict.fromkeys(units, everybody), {everybody: values}, program)
    kept = Counter[tuple[Text, Text]]()
    total = 0
    for order in itertools.permutations(value for _, value in people):
        dealt: dict[Key, Counter[Text]] = {unit: Counter() for unit in units}
        for (key, _), value in zip(people, order, strict=True):
            dealt[(key,)][value] += 1
        if program(dealt):
            total += 1
            kept.update((key, value) for (key, _), value in zip(people, order, strict=True))
    assert found.possible == 0 if total == 0 else found.possible > 0
    for (own,), size in units.items():
        for each in values:
            expected = kept[own, each] / (total * size) if total else 0.0
            assert found.belief[(own,)].get(each, 0.0) == pytest.approx(expected)


def test_assignments_are_weighted_by_their_number_of_ways() -> None:
    """The total number of ways is 7! / (3! 2! 2!) = 210."""
    found = list(assignments([3, 2, 2], {"a": 3, "b": 2, "c": 2}))
    assert sum(each.ways for each in found) == math.factorial(7) // (6 * 2 * 2)
    assert len({each.values for each in found}) == len(found)


# --- on releases ----------------------------------------------------------------------------------
ORIGINAL = pa.table(
    {
        "place": ["q1", "q1", "q2", "q2", "q2", "q2", "q2"],
        "ill": ["HIV", "HIV", "no", "no", "no", "no", "no"],
    }
)
POLICY = dv.Policy(l_diversity=2)


def test_our_release_discloses_the_reason_for_its_generalization() -> None:
    """With 2-diversity q1 and q2 are merged unless both have both values: one has a single value.

    If both people of q1 have HIV (1 way) or none (10 ways), one of q1 and q2 has a single value. If
    one person in each has HIV (10 ways), the table would be published unchanged. So the credibility
    of HIV is 1/11 for q1, and (0 + 10 * 2/5) / 11 for q2. The share in the class is 2/7.
    """
    release = dv.generalize(ORIGINAL, policy=POLICY, quasi_identifiers="place", sensitive="ill")
    found = dv.attack(release, truth=ORIGINAL, attacks="minimality")
    (attempt,) = found.attempts
    assert "Of 3 originals that fit the release, 2 would have led to it" in attempt.told
    assert {risk.guess for risk in attempt.most_at_risk} == {"no"}
    beliefs = {risk.known["place"]: risk.belief for risk in attempt.most_at_risk}
    assert beliefs == {"q1": pytest.approx(10 / 11), "q2": pytest.approx(1 - 4 / 11)}
    assert attempt.bound is None


def test_a_policy_can_be_passed_with_a_third_party_table() -> None:
    release = dv.generalize(
        ORIGINAL, policy=POLICY, quasi_identifiers="place", sensitive="ill"
    ).tables()["table"]
    asked: dict[str, Any] = {
        "truth": ORIGINAL,
        "knows": "place",
        "sensitive": "ill",
        "attacks": "minimality",
    }
    (attempt,) = dv.attack(release, policy=POLICY, **asked).attempts
    assert "Of 3 originals" in attempt.told
    with pytest.raises(BadInput, match="knows no policy"):
        dv.attack(release, **asked)
    with pytest.raises(BadInput, match="does not lead from this truth to this release"):
        dv.attack(release, policy=dv.Policy(k_anonymity=2), **asked)


def test_large_tables_are_not_attacked() -> None:
    many = pa.table({"place": [str(n % 9) for n in range(201)], "ill": ["HIV", "no", "flu"] * 67})
    asked: dict[str, Any] = {
        "knows": "place",
        "sensitive": "ill",
        "policy": dv.Policy(k_anonymity=2),
        "attacks": "minimality",
    }
    with pytest.raises(BadInput, match="stays open"):
        dv.attack(many, truth=many, **asked)
