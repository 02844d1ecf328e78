# SPDX-License-Identifier: Apache-2.0
"""Properties of metrics on which the pruning of the search relies, checked on random classes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.adversary import Belief, GroundDistance, PriorBelief
from divulge.counting import Contingency
from divulge.generalization.pruning_rules import Rule, View, compile_rules
from divulge.metrics import METRICS, Identity, Metric
from divulge.policy import Promise
from tests.generalization.drawn import promises_about
from tests.metrics.drawn import VALUES, Counts, contingency_of, counts

RISKS = [metric for metric in METRICS if metric.kind == "risk"]
ALONE = [metric for metric in RISKS if metric.looks_at == "class"]
WITHIN = [metric for metric in RISKS if metric.looks_at == "class within the table"]
PRIOR = {"a": 7, "b": 4, "c": 2, "d": 1}


def named(metric: Metric[Any]) -> str:
    return f"{metric.scope}-{metric.name}"


def view(metric: Metric[Any], counted: Contingency, distance: str = "equal") -> View:
    """Belief against one prior that does not depend on the classes."""
    if metric.scope == "identity":
        return Identity.of(counted, counted.sizes.astype(float))
    cells = counted.cells["s"]
    weights = np.array([[PRIOR[value] for value in cells.domain.labels]], dtype=float)
    ground = GroundDistance("ordered" if distance == "ordered" else "equal")
    return Belief(
        cells, PriorBelief("given", weights), ground, np.arange(len(counted)), recursive_l=2
    )


def padded(table: Counts) -> Counts:
    """Add a last class with every value, so that all tables have one domain."""
    return [*table, dict.fromkeys(VALUES, 1)]


def numbers(metric: Metric[Any], table: Counts, distance: str = "equal") -> list[float]:
    assert metric.per_class is not None
    found: list[float] = metric.per_class(
        view(metric, contingency_of(padded(table)), distance)
    ).tolist()
    return found[: len(table)]


@pytest.mark.parametrize("metric", ALONE, ids=named)
@given(table=counts(least=2))
@settings(deadline=None, max_examples=25)
def test_a_class_by_itself(metric: Metric[Any], table: Counts) -> None:
    """Its value stays when other classes are removed."""
    alone = [numbers(metric, [members])[0] for members in table]
    assert numbers(metric, table) == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("metric", WITHIN, ids=named)
def test_a_class_within_the_table(metric: Metric[Any]) -> None:
    """Its value changes when another class is removed."""
    both, one = (
        numbers(metric, [{"a": 3, "b": 1}, {"b": 5, "c": 9}]),
        numbers(metric, [{"a": 3, "b": 1}]),
    )
    assert both[0] != pytest.approx(one[0], abs=1e-6)


@pytest.mark.parametrize("metric", [metric for metric in ALONE if metric.absorbing], ids=named)
@given(table=counts(least=2))
@settings(deadline=None, max_examples=40)
def test_absorbing(metric: Metric[Any], table: Counts) -> None:
    """Merging never makes a class worse than it was."""
    together = {
        value: sum(members.get(value, 0) for members in table)
        for value in VALUES
        if any(value in m for m in table)
    }
    merged, before = numbers(metric, [together])[0], numbers(metric, table)
    best = min(before) if metric.worse == "high" else max(before)
    assert merged <= best + 1e-12 if metric.worse == "high" else merged >= best - 1e-12


def rule_of(promise: Promise, counted: Contingency, distance: str) -> tuple[Rule, View]:
    about = view(promise.metric, counted, distance)
    beliefs = {"s": about} if isinstance(about, Belief) else {}
    return compile_rules([promise], beliefs, has_population=True)[0], about


@pytest.mark.parametrize("metric", ALONE, ids=named)
@given(
    parts=counts(classes=5, least=2, most=6),
    data=st.data(),
    distance=st.sampled_from(["equal", "ordered"]),
)
@settings(deadline=None, max_examples=25)
def test_minimum_suppression_of_a_violating_class(
    metric: Metric[Any], parts: Counts, data: st.DataObject, distance: str
) -> None:
    """Parts of a violating class that meet the requirement have at most the people not owed.

    This holds for every division of the class.
    """
    promise = data.draw(promises_about(metric))
    whole = {
        value: sum(members.get(value, 0) for members in parts)
        for value in VALUES
        if any(value in m for m in parts)
    }
    rule, about = rule_of(promise, contingency_of(padded([whole])), distance)
    values = rule.values(about)
    if not rule.broken(values)[0]:
        return
    people = sum(whole.values())
    sizes = about.sizes if isinstance(about, Identity) else about.cells.totals
    owed = rule.owed(about, values, sizes)[0]
    assert 0 <= owed <= people
    for count in range(1, len(parts) + 1):
        for kept in combinations(parts, count):
            rule_here, here = rule_of(promise, contingency_of(padded(list(kept))), distance)
            if not rule_here.broken(rule_here.values(here))[:count].any():
                assert people - sum(sum(members.values()) for members in kept) >= owed


def owed_by(promise: Promise, whole: dict[str, int]) -> float:
    rule, about = rule_of(promise, contingency_of(padded([whole])), "equal")
    assert isinstance(about, Belief)
    values = rule.values(about)
    assert rule.broken(values)[0]
    return float(rule.owed(about, values, about.cells.totals)[0])


def test_the_bound_is_reached() -> None:
    """6:4 with alpha <= 1/2: two of the six must be suppressed.

    {4:4} with {2:0} shows that two are enough.
    """
    assert owed_by(Promise.make("alpha", 0.5), {"a": 6, "b": 4}) == 2
    # 2^H >= 2 with 8:1:1: the share kept is at most H = .922 over log2 2 = 1, so one of ten must
    # be suppressed.
    assert owed_by(Promise.make("entropy_l_diversity", 2), {"a": 8, "b": 1, "c": 1}) == 1
    # No part of two values has three of them.
    assert owed_by(Promise.make("l_diversity", 3), {"a": 6, "b": 4}) == 10


def test_a_class_more_uncertain_than_the_prior_proves_nothing() -> None:
    """Parts 8:2 and 2:8 meet a bound that their union 10:10 violates.

    Golden: entropy leakage is not monotone.
    """
    table: Counts = [{"a": 80}, {"a": 8, "b": 2}, {"a": 2, "b": 8}]
    whole = contingency_of(table)
    belief = Belief.of_table(whole.cells["s"])
    rule = compile_rules([Promise.make("entropy_leakage", 0.5)], {"s": belief})[0]
    assert not rule.broken(rule.values(belief)).any()
    merged = Belief.of_table(contingency_of([{"a": 80}, {"a": 10, "b": 10}]).cells["s"])
    assert rule.broken(rule.values(merged)).tolist() == [False, True]
    assert rule.owed(merged, rule.values(merged), merged.cells.totals)[1] == 0


def test_pruning_rules_match_the_scope_of_a_metric() -> None:
    """Proofs from one class need a value that depends only on the class.

    An absorbing metric is monotone.
    """
    assert [
        metric.name
        for metric in METRICS
        if (metric.absorbing or metric.convex) and metric.looks_at != "class"
    ] == []
    assert [metric.name for metric in METRICS if metric.absorbing and not metric.monotone] == []
    assert [
        metric.name
        for metric in METRICS
        if metric.convex is not None and metric.scope == "identity"
    ] == []
