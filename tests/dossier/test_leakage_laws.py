# SPDX-License-Identifier: Apache-2.0
"""Laws of leakage on random records, and the certificate against all worlds (golden, A2 and A3)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from divulge.dossier import Attribute, Measure, Record, leakage, naive, record_leakages
from divulge.dossier.leakage import RecordComparison
from tests.dossier.oracle import exact

CERTIFIED = 1e-12


class Person(NamedTuple):
    """A record, its reference and weights."""

    record: Record
    reference: Record
    weights: dict[str, float]


confidences = st.one_of(st.sampled_from([1.0, 0.5, 1e-9, 1 - 1e-9, 1e-250]), st.floats(1e-250, 1))
wild_weights = st.one_of(
    st.sampled_from([0.0, 1.0]), st.floats(-6, 6).map(lambda power: 10.0**power)
)


@st.composite
def people(draw: st.DrawFn, *, most: int = 15) -> Person:
    labels = [f"L{i}" for i in range(draw(st.integers(1, most)))]
    record = [
        (label, draw(st.sampled_from(["true", "false"])), draw(confidences))
        for label in labels
        if draw(st.booleans())
    ]
    reference = [(label, "true") for label in labels if draw(st.booleans())] or [
        (labels[0], "true")
    ]
    weights = {label: draw(wild_weights) for label in labels}
    return Person(Record.of(record), Record.of(reference), weights)


@settings(deadline=None, max_examples=300)
@given(people(), st.sampled_from([0.0, 0.25, 1.0, 2.0, 30.0]))
def test_the_certificate_holds_against_all_worlds(person: Person, beta: float) -> None:
    found = leakage(person.record, person.reference, weights=person.weights, beta=beta)
    worlds = leakage(
        person.record, person.reference, weights=person.weights, beta=beta, method="naive"
    )
    assert found.error_bound < CERTIFIED
    assert (
        abs(found.leakage - worlds.leakage)
        <= (found.error_bound + worlds.error_bound) * worlds.leakage
    )


@settings(deadline=None, max_examples=60)
@given(people(most=6), st.sampled_from([0, 1, 2]))
def test_exact_fractions_agree(person: Person, beta: int) -> None:
    true = exact(
        [
            (*attribute, Fraction(confidence))
            for attribute, confidence in person.record.attributes.items()
        ],
        list(person.reference.attributes),
        {label: Fraction(weight) for label, weight in person.weights.items()},
        beta=Fraction(beta),
    )
    found = leakage(person.record, person.reference, weights=person.weights, beta=beta)
    assert found.leakage == pytest.approx(float(true.leakage), rel=CERTIFIED)
    assert found.precision == pytest.approx(float(true.precision), rel=CERTIFIED)
    assert found.recall == pytest.approx(float(true.recall), rel=CERTIFIED)


@settings(deadline=None)
@given(people(), st.floats(0, 1), st.integers(0, 14))
def test_leakage_is_affine_in_each_confidence(person: Person, share: float, place: int) -> None:
    assume(len(person.record))
    attribute = list(person.record.attributes)[place % len(person.record)]
    absent, present, between = record_leakages(
        [person.record.with_confidence(attribute, confidence) for confidence in (0.0, 1.0, share)],
        person.reference,
        weights=person.weights,
    )
    assert between == pytest.approx((1 - share) * absent + share * present, rel=CERTIFIED)


@settings(deadline=None)
@given(people(), confidences, confidences, st.integers(0, 14))
def test_correct_confidence_raises_and_false_confidence_lowers(
    person: Person, one: float, other: float, place: int
) -> None:
    assume(len(person.record))
    attribute = list(person.record.attributes)[place % len(person.record)]
    less, more = record_leakages(
        [
            person.record.with_confidence(attribute, confidence)
            for confidence in sorted((one, other))
        ],
        person.reference,
        weights=person.weights,
    )
    if attribute in person.reference.attributes:
        assert less <= more * (1 + CERTIFIED)
    else:
        assert more <= less * (1 + CERTIFIED)


@settings(deadline=None)
@given(people(), st.floats(-6, 6))
def test_only_the_proportions_of_weights_matter(person: Person, power: float) -> None:
    scaled = {label: weight * 10**power for label, weight in person.weights.items()}
    found = leakage(person.record, person.reference, weights=scaled).leakage
    assert found == pytest.approx(
        leakage(person.record, person.reference, weights=person.weights).leakage, rel=CERTIFIED
    )


@settings(deadline=None)
@given(people())
def test_leakage_is_1_only_for_the_whole_truth(person: Person) -> None:
    weights = {label: weight or 1.0 for label, weight in person.weights.items()}
    whole = leakage(person.reference, person.reference, weights=weights).leakage
    assert whole == pytest.approx(1.0, rel=CERTIFIED)
    found = leakage(person.record, person.reference, weights=weights)
    assert 0 <= found.leakage <= 1
    if person.record.attributes != person.reference.attributes:
        lightest = min(weights.values()) / sum(weights.values())
        doubt = min((1 - c for c in person.record.attributes.values() if c < 1), default=1.0)
        assume(lightest * doubt > 1e-9)
        assert found.leakage < 1


@settings(deadline=None)
@given(people())
def test_leakage_is_at_most_the_mean_of_precision_and_recall(person: Person) -> None:
    found = leakage(person.record, person.reference, weights=person.weights)
    assert 0 <= found.recall <= 1
    assert 0 <= found.precision <= 1
    assert found.leakage <= (found.precision + found.recall) / 2 * (1 + CERTIFIED)


@pytest.mark.parametrize("size", [999, 1000, 1001, 3000])
def test_long_records_agree_with_a_distribution_of_world_sizes(size: int) -> None:
    # With equal weights a world's weight is its number of attributes: an independent O(n^2) dynamic
    # programme.
    random = np.random.default_rng(size)
    confidence = random.random(size)
    p = [(f"L{i}", "true") for i in range(size // 2)]
    record = Record({Attribute(f"L{i}", "true"): float(c) for i, c in enumerate(confidence)})
    found = leakage(record, Record.of(p))
    assert found.error_bound < CERTIFIED
    assert found.leakage == pytest.approx(_equal_weights(confidence, size // 2), rel=CERTIFIED)


def _equal_weights(confidence: np.ndarray[tuple[int], np.dtype[np.float64]], correct: int) -> float:
    """E[2 X / (Y + |p|)] from the two distributions of X (correct) and of Y - X (wrong) by
    convolution.
    """
    right, wrong = _counts(confidence[:correct]), _counts(confidence[correct:])
    x = np.arange(len(right))[:, None]
    y = np.arange(len(wrong))[None, :]
    return float(right @ (2 * x / (x + y + correct)) @ wrong)


def _counts(
    confidence: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.ones(1)
    for c in confidence:
        found = np.convolve(found, [1 - c, c])
    return found


def test_wild_weights_and_long_records_stay_certified() -> None:
    # Two groups of equal weights, 1 and 10^6, so that the dynamic programme can check a large
    # ratio.
    random = np.random.default_rng(0)
    light, heavy = random.random(1500), random.random(300)
    record = Record(
        {Attribute("light", str(i)): float(c) for i, c in enumerate(light)}
        | {Attribute("heavy", str(i)): float(c) for i, c in enumerate(heavy)}
    )
    found = leakage(record, Record.of({"light": "0"}), weights={"heavy": 1e6})
    few, many = _counts(light[1:]), _counts(heavy)
    below = 1 + np.arange(len(few))[:, None] + 1e6 * np.arange(len(many))[None, :] + 1
    assert found.leakage == pytest.approx(float(few @ (2 * light[0] / below) @ many), rel=CERTIFIED)
    assert found.error_bound < CERTIFIED


def test_the_naive_method_shares_only_the_numbers_with_the_exact_one() -> None:
    comparison = RecordComparison(Record.of({"N": "a", "P": "1"}), Measure())
    value, _ = naive(comparison.batch([Record.of([("N", "a", 0.5), ("Q", "z", 0.5)])]), 2.0)
    assert value == pytest.approx(0.25 * 2 / 3 + 0.25 * 2 / 4, rel=1e-15)
