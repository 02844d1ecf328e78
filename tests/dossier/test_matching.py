# SPDX-License-Identifier: Apache-2.0
"""Match rules: their syntax, the records they join, and monotonicity."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import MatchRule, Record
from divulge.errors import BadInput
from tests.dossier.worlds import databases, rules, share_a_value


def test_a_rule_is_an_or_of_ands() -> None:
    rule = MatchRule.parse(" N+C , N+P ")
    assert rule.clauses == (("N", "C"), ("N", "P"))
    assert rule.labels == ("N", "C", "P")
    assert str(rule) == "N+C,N+P"


def test_a_clause_that_a_weaker_one_implies_goes() -> None:
    assert MatchRule.parse("N+C,N,C+N,N+N").clauses == (("N",),)
    assert MatchRule.parse("N+C,C+N").clauses == (("N", "C"),)


def test_a_clause_needs_a_shared_value_of_each_label() -> None:
    rule = MatchRule.parse("N+C,N+P")
    first = Record.of({"N": "n1", "C": ["c1", "c2"]})
    assert rule.matches(first, Record.of({"N": "n1", "C": "c2"})) == ("N", "C")
    assert rule.matches(first, Record.of({"N": "n1", "C": "c3"})) is None
    assert rule.matches(first, Record.of({"N": "n2", "C": "c2"})) is None
    assert rule.matches(first, Record.of({"N": "n1", "P": "c2"})) is None
    assert sorted(len(key) for key in rule.keys(first)) == [2, 2]


def test_attributes_below_the_threshold_join_nothing() -> None:
    rule = MatchRule.parse("N", threshold=0.5)
    sure, unsure = Record.of({"N": ("a", 0.5)}), Record.of({"N": ("a", 0.4)})
    assert rule.matches(sure, sure) == ("N",)
    assert rule.matches(sure, unsure) is None


def test_labels_that_no_record_has_are_named() -> None:
    records = [Record.of({"N": "a"}), Record.of({"P": "1"})]
    assert MatchRule.parse("N+C,P").unknown_labels(records) == ("C",)
    assert MatchRule.parse("N,P").unknown_labels(records) == ()
    assert MatchRule.parse("N").unknown_labels([]) == ("N",)


@pytest.mark.parametrize("text", ["", " ", "N+", "+", "N,,P", "N++P", ","])
def test_a_malformed_rule_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="such as N\\+C,N\\+P"):
        MatchRule.parse(text)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, True, float("nan")])
def test_a_threshold_that_is_no_confidence_is_refused(threshold: float) -> None:
    with pytest.raises(BadInput, match="threshold"):
        MatchRule.parse("N", threshold=threshold)


def test_a_rule_without_clauses_is_refused() -> None:
    with pytest.raises(BadInput, match="no clause"):
        MatchRule(())
    with pytest.raises(BadInput, match="lacks a label"):
        MatchRule((("N", ""),))


@settings(deadline=None)
@given(databases(most=3, confidences=(0.3, 0.9)), rules(thresholds=(0.0, 0.5)))
def test_a_match_is_a_shared_key_as_defined(database: list[Record], rule: MatchRule) -> None:
    for first in database:
        for second in database:
            expected = share_a_value(first, second, rule)
            assert (rule.matches(first, second) is not None) == expected
            assert (not set(rule.keys(first)).isdisjoint(rule.keys(second))) == expected


@settings(deadline=None)
@given(databases(most=3, confidences=(0.3, 0.9)), rules(thresholds=(0.0, 0.5)), st.data())
def test_merging_never_loses_a_match(
    database: list[Record], rule: MatchRule, data: st.DataObject
) -> None:
    if not database:
        return
    first, second, other = (data.draw(st.sampled_from(database)) for _ in range(3))
    if rule.matches(first, other):
        assert rule.matches(first.merge(second), other)
