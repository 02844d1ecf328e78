# SPDX-License-Identifier: Apache-2.0
"""Aggregation of class numbers to the table's number, and the papers' identities of metrics."""

from __future__ import annotations

from math import isfinite, log2, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.drawn import Counts, contingency_of, counts, merged, numbers_of

SLACK = 1e-9


@given(counts())
@settings(deadline=None, max_examples=150)
def test_averages(drawn: Counts) -> None:
    counted = contingency_of(drawn)
    numbers = numbers_of(counted)
    p = counted.sizes / counted.rows

    def of_class(name: str) -> Any:
        return np.array(numbers.classes["sensitive", name])

    information = numbers.table["sensitive", "mutual_information"]
    for name in (
        "surprise",
        "specific_information",
        "averaged_information",
        "maximum_information_leakage",
    ):
        assert p @ of_class(name) == pytest.approx(information, abs=SLACK), name
    rate = numbers.table["sensitive", "discrimination_rate"]
    assert p @ of_class("discrimination_rate") == pytest.approx(rate, abs=SLACK)
    assert of_class("itpr").mean() == pytest.approx(rate, abs=SLACK)
    i1, i4 = of_class("surprise"), of_class("set_information")
    assert np.all(p * i1 <= i4 + SLACK)
    assert np.all(i4 <= information + SLACK)
    assert i4.sum() >= information - SLACK
    assert np.all(i1 <= -np.log2(p) + SLACK)
    assert np.all(i1 >= 2 * of_class("t_closeness") ** 2 / np.log(2) - SLACK), "Pinsker"
    own = np.array(numbers.classes["identity", "specific_information"])
    assert p @ own == pytest.approx(numbers.table["identity", "mutual_information"], abs=SLACK)
    assert np.array(numbers.classes["identity", "itpr"]).mean() == pytest.approx(
        numbers.table["identity", "discrimination_rate"], abs=SLACK
    )


@given(counts())
@settings(deadline=None, max_examples=60)
def test_information_of_a_class_against_the_rest(drawn: Counts) -> None:
    """I4(x) = p I1(x) + (1 - p) I1(not x): merge all other classes and take the average."""
    counted = contingency_of(drawn)
    for number, i4 in enumerate(numbers_of(counted).classes["sensitive", "set_information"]):
        two = numbers_of(merged(counted, [int(other == number) for other in range(len(counted))]))
        assert two.table["sensitive", "mutual_information"] == pytest.approx(i4, abs=SLACK)


@given(counts(classes=2, least=2))
@settings(deadline=None, max_examples=60)
def test_two_classes_balance(drawn: Counts) -> None:
    """The excess of one class is the deficit of the other: w1 L_D1 = w2 L_D2."""
    counted = contingency_of(drawn)
    leaked = np.array(numbers_of(counted).classes["sensitive", "distribution_leakage"])
    assert leaked[0] * counted.sizes[0] == pytest.approx(leaked[1] * counted.sizes[1], abs=SLACK)


@given(counts())
@settings(deadline=None, max_examples=100)
def test_certainty_is_homogeneity(drawn: Counts) -> None:
    """ITPR = 1 iff ELD = 1 iff l = 1 iff some class has one value, unless H(W) = 0."""
    value = numbers_of(contingency_of(drawn)).table
    homogeneous = any(len(members) == 1 for members in drawn)
    assert (value["sensitive", "entropy_l_risk"] == 1) == homogeneous
    assert (value["sensitive", "l_diversity"] == 1) == homogeneous
    something_to_learn = len({v for members in drawn for v in members}) > 1
    assert (value["sensitive", "itpr"] == pytest.approx(1, abs=SLACK)) == (
        homogeneous and something_to_learn
    )
    if not something_to_learn:
        assert (value["sensitive", "itpr"], value["sensitive", "discrimination_rate"]) == (0, 0)


@given(st.lists(st.permutations([5, 3, 1, 0]), min_size=2, max_size=5))
@settings(deadline=None, max_examples=60)
def test_classes_of_one_size(drawn: list[list[int]]) -> None:
    """Equal class sizes: ITPR = max I2 / H."""
    table = [{value: n for value, n in zip("abcd", members, strict=True) if n} for members in drawn]
    value = numbers_of(contingency_of(table)).table
    information = value["sensitive", "specific_information"] / log2(value["sensitive", "l_max"])
    assert value["sensitive", "itpr"] == pytest.approx(information, abs=SLACK)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_everybody_has_a_value_of_their_own(sizes: list[int]) -> None:
    """Unique identities as an attribute: I1 = I2 = log2(n/n_x), MI = H(class).

    ITPR and ELD follow closed formulas.
    """
    n, q, least = sum(sizes), len(sizes), min(sizes)
    table = [{f"#{i}.{j}": 1 for j in range(size)} for i, size in enumerate(sizes)]
    numbers = numbers_of(contingency_of(table))
    expected = [log2(n / size) for size in sizes]
    assert numbers.classes["sensitive", "surprise"] == pytest.approx(expected, abs=SLACK)
    assert numbers.classes["sensitive", "specific_information"] == pytest.approx(
        expected, abs=SLACK
    )
    information = sum(size / n * bits for size, bits in zip(sizes, expected, strict=True))
    assert numbers.table["sensitive", "mutual_information"] == pytest.approx(information, abs=SLACK)
    itpr = 1 - q * least * log2(least) / (n * log2(n)) if n > 1 else 0
    for scope in ("identity", "sensitive"):
        assert numbers.table[scope, "itpr"] == pytest.approx(itpr, abs=SLACK), scope
        assert numbers.table[scope, "entropy_l_risk"] == pytest.approx(1 / least), scope


@given(counts())
@settings(deadline=None, max_examples=60)
def test_leakages_are_equal_against_a_uniform_prior(drawn: Counts) -> None:
    """Uniform prior: L_E = KL = I1 = I2; and L_E = |I2| for any prior."""
    counted = contingency_of(drawn)
    classes = numbers_of(counted, prior=[1.0] * len(counted.cells["s"].domain)).classes
    assert classes["sensitive", "entropy_leakage"] == pytest.approx(
        classes["sensitive", "surprise"], abs=SLACK
    )
    assert classes["sensitive", "specific_information"] == pytest.approx(
        classes["sensitive", "surprise"], abs=SLACK
    )
    own = numbers_of(counted).classes
    fall = [abs(number) for number in own["sensitive", "specific_information"]]
    assert own["sensitive", "entropy_leakage"] == pytest.approx(fall, abs=SLACK)


@given(counts(), st.lists(st.integers(0, 9), min_size=4, max_size=4))
@settings(deadline=None, max_examples=100)
def test_any_prior(drawn: Counts, weights: list[int]) -> None:
    """A prior that is not the table's own and may exclude values that occur.

    L_D <= sqrt 2, EMD <= 1, and numbers are inf but never nan.
    """
    counted = contingency_of(drawn)
    prior = weights[: len(counted.cells["s"].domain)]
    if not sum(prior):
        return
    numbers = numbers_of(counted, prior=prior, distance="ordered")
    equal = numbers_of(counted, prior=prior)
    assert not any(np.isnan(number) for number in numbers.table.values())
    value = equal.table
    m, moved = len(prior), value["sensitive", "t_closeness"]
    assert moved <= 1 + SLACK
    assert value["sensitive", "distribution_leakage"] <= sqrt(2) * moved + SLACK
    ordered, all_equal = (
        numbers.classes["sensitive", "t_closeness"],
        equal.classes["sensitive", "t_closeness"],
    )
    for along, anyhow in zip(ordered, all_equal, strict=True):
        assert anyhow / max(m - 1, 1) - SLACK <= along <= anyhow + SLACK
    excluded = any(
        not weight and counted.cells["s"].marginal[code] for code, weight in enumerate(prior)
    )
    assert isfinite(value["sensitive", "surprise"]) == (not excluded)
