# SPDX-License-Identifier: Apache-2.0
"""Graded correctness and background statistics (section 2.1), which are off by default.

They are compared with hand counts and with all worlds.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import Equivalence, Record, leakage
from divulge.errors import BadInput

BOB = Record.of({"N": "Bob", "A": "30"})


@pytest.mark.parametrize(
    ("guess", "earned"),
    [("30", 1.0), ("31", 0.9), ("27", 0.7), ("40", 0.0), ("80", 0.0), ("?", 0.0)],
)
def test_a_near_miss_earns_a_part(guess: str, earned: float) -> None:
    found = leakage(Record.of({"A": guess}), BOB, graded={"A": 10})
    assert found.leakage == pytest.approx(2 * earned / (1 + 2), rel=1e-12)
    assert found.precision == pytest.approx(earned, rel=1e-12)
    assert found.recall == pytest.approx(earned / 2, rel=1e-12)


def test_several_guesses_at_one_truth_count_as_the_best_one() -> None:
    both = leakage(Record.of({"A": ["30", "31"]}), BOB, graded={"A": 10})
    assert both.leakage == pytest.approx(2 * 1 / (2 + 2), rel=1e-12)
    # 31 (certain) earns 0.9 unless 30 (half certain) is there as well, which earns 1.
    unsure = leakage(Record.of([("A", "31"), ("A", "30", 0.5)]), BOB, graded={"A": 10})
    assert unsure.leakage == pytest.approx(
        0.5 * 2 * 1 / (2 + 2) + 0.5 * 2 * 0.9 / (1 + 2), rel=1e-12
    )
    # 31 (half certain) earns nothing next to a certain 30.
    beside = leakage(Record.of([("A", "31", 0.5), ("A", "30")]), BOB, graded={"A": 10})
    assert beside.leakage == pytest.approx(0.5 * 2 * 1 / (2 + 2) + 0.5 * 2 * 1 / (1 + 2), rel=1e-12)


def test_a_guess_counts_for_the_nearest_truth() -> None:
    two = Record.of({"A": ["30", "50"]})
    found = leakage(Record.of({"A": ["31", "48"]}), two, graded={"A": 10})
    assert found.leakage == pytest.approx(2 * (0.9 + 0.8) / (2 + 2), rel=1e-12)


def test_a_grade_may_be_a_function() -> None:
    same_start = {"N": lambda guess, truth: 0.5 if guess[0] == truth[0] else 0.0}
    assert leakage(Record.of({"N": "Bill"}), BOB, graded=same_start).leakage == pytest.approx(
        2 * 0.5 / 3, rel=1e-12
    )


ages = st.lists(
    st.tuples(st.just("A"), st.integers(25, 36).map(str), st.sampled_from([1.0, 0.5, 0.2, 0.9])),
    unique_by=lambda entry: entry[1],
    max_size=6,
)
others = st.lists(
    st.tuples(st.sampled_from("NPC"), st.sampled_from("12"), st.floats(0.01, 1)),
    unique_by=lambda entry: entry[:2],
    max_size=4,
)


@settings(deadline=None, max_examples=150)
@given(ages, others, st.sampled_from([0.0, 1.0, 2.0]))
def test_grades_agree_with_all_worlds(
    guesses: list[tuple[str, str, float]], rest: list[tuple[str, str, float]], beta: float
) -> None:
    record = Record.of([*guesses, *rest])
    truth = Record.of({"A": ["28", "33"], "N": "1", "P": "1"})
    weights = {"A": 3.0, "N": 0.5}
    found = leakage(record, truth, weights=weights, graded={"A": 5}, beta=beta)
    worlds = leakage(record, truth, weights=weights, graded={"A": 5}, beta=beta, method="naive")
    assert found.leakage == pytest.approx(worlds.leakage, rel=1e-12)
    assert found.leakage <= 1
    assert found.recall <= 1
    plain = leakage(record, truth, weights=weights, beta=beta)
    assert found.recall >= plain.recall * (1 - 1e-12)


@settings(deadline=None)
@given(ages, others)
def test_an_exact_grade_changes_nothing(
    guesses: list[tuple[str, str, float]], rest: list[tuple[str, str, float]]
) -> None:
    record, truth = Record.of([*guesses, *rest]), Record.of({"A": ["28", "33"], "N": "1"})
    found = leakage(record, truth, graded={"A": 1e-9})
    assert found.leakage == pytest.approx(leakage(record, truth).leakage, rel=1e-12)


def test_rare_values_weigh_more() -> None:
    # Ages 30 and 90 with shares 3/4 and 1/4: 0.415 and 2 bits, entropy 0.811 bits.
    background = {"A": {"30": 75, "90": 25}}
    entropy = 0.75 * math.log2(4 / 3) + 0.25 * 2
    common, rare = Record.of({"N": "x", "A": "30"}), Record.of({"N": "x", "A": "90"})
    for person, bits in ((common, math.log2(4 / 3)), (rare, 2.0)):
        age = Record.of({"A": next(value for label, value in person.attributes if label == "A")})
        weight = bits / entropy
        expected = 2 * weight / (weight + weight + 1)
        assert leakage(age, person, background=background).leakage == pytest.approx(
            expected, rel=1e-12
        )
    assert (
        leakage(Record.of({"A": "90"}), rare, background=background).leakage
        > leakage(Record.of({"A": "90"}), rare).leakage
        > leakage(Record.of({"A": "30"}), common, background=background).leakage
    )


def test_a_uniform_background_changes_nothing() -> None:
    record, truth = Record.of([("A", "30", 0.4), ("N", "y", 0.3)]), Record.of({"A": "30", "N": "x"})
    uniform = {"A": {"30": 1, "31": 1, "32": 1}}
    assert leakage(record, truth, background=uniform).leakage == pytest.approx(
        leakage(record, truth).leakage, rel=1e-12
    )


def test_a_universal_value_leaks_nothing_and_an_unknown_one_like_the_rarest() -> None:
    truth = Record.of({"S": "alive", "N": "x"})
    assert leakage(Record.of({"S": "alive"}), truth, background={"S": {"alive": 8}}).leakage == 0.0
    counts = {"A": {"30": 75, "90": 25}}
    unheard = leakage(
        Record.of({"A": "17"}), Record.of({"A": "17", "N": "x"}), background=counts
    ).leakage
    rarest = leakage(
        Record.of({"A": "90"}), Record.of({"A": "90", "N": "x"}), background=counts
    ).leakage
    assert unheard == rarest


def test_background_is_counted_in_canonical_values() -> None:
    same = Equivalence({"A": ["3*"]})
    split, whole = {"A": {"30": 1, "31": 1, "90": 2}}, {"A": {"3*": 2, "90": 2}}
    record, truth = Record.of({"A": "31"}), Record.of({"A": "30", "N": "x"})
    found = [
        leakage(record, truth, equivalence=same, background=counts).leakage
        for counts in (split, whole)
    ]
    assert found[0] == found[1] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graded": {"A": 0}}, "grade of 'A' is 0"),
        ({"graded": {"A": -3}}, "grade of 'A' is -3"),
        ({"graded": {"A": lambda *_: 2.0}}, "grade of <A, 31> against <A, 30> is 2.0"),
        ({"background": {"A": {}}}, "not a distribution"),
        ({"background": {"A": {"30": -1}}}, "not a distribution"),
        ({"background": {"A": {"30": 0}}}, "all zero"),
    ],
)
def test_bad_options_are_refused(options: dict[str, dict[str, float]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        leakage(Record.of({"A": "31"}), BOB, **options)  # type: ignore[arg-type]
