# SPDX-License-Identifier: Apache-2.0
"""Incremental leakage, comparison of alternatives, the timeline, and labels (section 4.1)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from divulge.dossier import (
    Chain,
    MatchRule,
    Record,
    Resolve,
    attack,
    compare,
    incremental,
    timeline,
    without,
)
from divulge.dossier.resolve import Method
from tests.dossier.oracle import golden, record_of
from tests.dossier.worlds import LABELS, databases, golden_database, golden_rule, rules

STORE = golden()["003-4.1-incremental-v"]
ME = record_of(STORE["inputs"]["p"])
U = record_of(golden()["003-4.1-incremental-u"]["inputs"]["new"])
V = record_of(STORE["inputs"]["new"])


@pytest.mark.parametrize(
    "name", ["003-4.1-incremental-u", "003-4.1-incremental-v", "003-own-22-negative-incremental"]
)
def test_golden_incremental_leakage(name: str) -> None:
    case = golden()[name]
    found = incremental(
        golden_database(case),
        record_of(case["inputs"]["p"]),
        record_of(case["inputs"]["new"]),
        operator=Resolve(golden_rule(case)),
    )
    assert found.change == pytest.approx(float(Fraction(case["expected"])), abs=1e-12)


def test_golden_bad_link() -> None:
    case = golden()["003-own-21-bad-link"]
    found = incremental(
        golden_database(case),
        record_of(case["inputs"]["p"]),
        record_of(case["inputs"]["d"]),
        operator=Resolve(golden_rule(case)),
    )
    expected = {key: float(Fraction(value)) for key, value in case["expected"].items()}
    assert {
        "before": found.before,
        "after": found.after,
        "incremental": found.change,
    } == pytest.approx(expected)
    assert found.joined == {"r", "s"}


def test_the_card_to_use_comes_first() -> None:
    found = compare(
        golden_database(STORE), ME, {"card 2": V, "card 1": U}, operator=Resolve("N+C,N+P")
    )
    assert [each.name for each in found] == ["card 1", "card 2"]
    assert [each.joined for each in found] == [{"s"}, {"s", "t"}]
    assert [record.sources for record in found[1].witnesses] == [{"s", "t", "card 2"}]


def test_a_release_may_have_the_name_of_a_record() -> None:
    (found,) = compare(golden_database(STORE), ME, {"s": V}, operator=Resolve("N+C,N+P"))
    assert found.joined == {"s", "t"}
    assert found.after == pytest.approx(8 / 9, rel=1e-12)


def test_the_timeline_of_the_store() -> None:
    database = [*golden_database(STORE), Record(V.attributes, "v")]
    steps = list(timeline(database, ME, operator=Resolve("N+C,N+P")))
    assert [step.id for step in steps] == ["s", "t", "v"]
    assert [step.leakage for step in steps] == pytest.approx([3 / 4, 3 / 4, 8 / 9])
    assert [step.change for step in steps] == pytest.approx([3 / 4, 0, 5 / 36], abs=1e-12)
    assert [step.records for step in steps] == [1, 2, 1]
    assert [step.joined for step in steps] == [set(), set(), {"s", "t"}]


def test_leakage_without_each_label() -> None:
    """Without the phone, s = {n1, c1} and t + v = {n1, c2}: 2 * 2 / (2 + 5) = 4/7.

    Likewise without name or card.
    """
    database = [*golden_database(STORE), Record(V.attributes, "v")]
    found = without(database, ME, operator=Resolve("N+C,N+P"))
    assert {each.label: each.leakage for each in found} == pytest.approx(
        {"N": 4 / 7, "C": 4 / 7, "P": 4 / 7}
    )
    assert [each.change for each in found] == pytest.approx([4 / 7 - 8 / 9] * 3)


def test_withholding_a_wrong_label_raises_the_leakage() -> None:
    found = without([Record.of({"N": "n1", "X": "y"})], Record.of({"N": "n1"}), operator=Chain())
    assert [(each.label, each.leakage) for each in found] == [("N", 0.0), ("X", pytest.approx(1.0))]
    assert found[1].change == pytest.approx(1 / 3)


def test_an_empty_history() -> None:
    assert list(timeline([], ME, operator=Resolve("N"))) == []
    assert list(without([], ME, operator=Resolve("N"))) == []
    assert incremental([], ME, U, operator=Resolve("N")).change == pytest.approx(3 / 4)


@settings(deadline=None, max_examples=60)
@given(databases(most=7, values=3), rules())
def test_each_step_of_the_timeline_is_the_leakage_of_a_prefix(
    database: list[Record], rule: MatchRule
) -> None:
    reference = Record.of([(label, "0") for label in LABELS])
    methods: list[Method] = ["swoosh", "closure"]
    for method in methods:
        operator = Resolve(rule, method=method)
        steps = list(timeline(database, reference, operator=operator))
        for end, step in enumerate(steps, start=1):
            found = attack(database[:end], reference, operator)
            assert step.leakage == pytest.approx(found.leakage, abs=1e-12)
            assert step.records == len(found.records)
            group = next(record.sources for record in found.records if step.id in record.sources)
            assert step.joined == group - {step.id}
        assert steps == list(timeline(database, reference, operator=Chain((operator,))))


@settings(deadline=None, max_examples=60)
@given(databases(most=6, values=3), rules())
def test_incremental_leakages_add_up_along_the_timeline(
    database: list[Record], rule: MatchRule
) -> None:
    reference = Record.of([(label, "0") for label in LABELS])
    operator = Resolve(rule)
    steps = list(timeline(database, reference, operator=operator))
    for end, step in enumerate(steps):
        found = incremental(database[:end], reference, database[end], operator=operator)
        assert step.change == pytest.approx(found.change, abs=1e-12)
