# SPDX-License-Identifier: Apache-2.0
"""Pinned columns split classes and are never published.

The search checks the split classes, but the cost is that of the published ones. The oracle tries
every node, row by row, and shares no code with the search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.errors import Infeasible
from divulge.generalization import OBJECTIVES, explain, mondrian, pareto_front, published, search
from divulge.generalization.exact_search import build_problem
from divulge.generalization.large_lattice_search import explore
from divulge.generalization.lattice import lattice_of
from divulge.generalization.search_state import SearchState
from divulge.policy import Promise
from tests.generalization import oracle
from tests.generalization.drawn import (
    HIERARCHIES,
    any_promise,
    counted,
    counted_with,
    suppressions,
    tables,
    world,
)
from tests.oracle import group

HIGH_IS_GOOD = {"precision", "information"}
PINNED = ("first", "second")
K2 = [Promise.make("k_anonymity", 2)]


@st.composite
def held_tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows, and the class of each in two prior releases; null is a value like any other."""
    rows = draw(tables(least=2))
    told = st.tuples(
        st.sampled_from(["a", "not published", None]), st.sampled_from(["x", "not published"])
    )
    return [row | dict(zip(PINNED, draw(told), strict=True)) for row in rows]


def held_world(rows: list[dict[str, Any]]) -> oracle.World:
    return replace(world(rows), pinned=PINNED)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(
    rows=held_tables(),
    promises=st.lists(any_promise, min_size=1, max_size=3),
    suppression=suppressions,
)
@settings(deadline=None, max_examples=8)
def test_search_equals_exhaustive_search(
    objective: str, rows: list[Any], promises: list[Promise], suppression: float
) -> None:
    table, contingency = held_world(rows), counted_with(rows, PINNED)
    expected = oracle.best(table, promises, suppression, objective)
    asked: dict[str, Any] = {"suppression": suppression, "objective": objective}
    if expected is None:
        with pytest.raises(Infeasible):
            search(contingency, HIERARCHIES, promises, **asked)
        return
    least, optima = expected
    plan = search(contingency, HIERARCHIES, promises, **asked)
    assert (-plan.value if objective in HIGH_IS_GOOD else plan.value) == pytest.approx(
        least, abs=1e-9
    )
    assert plan.gap == 0.0
    assert plan.levels == min(
        optima, key=lambda levels: (sum(levels.values()), tuple(levels.values()))
    )
    found = table.published(dict(plan.levels), promises, suppression)
    assert found is not None
    assert (plan.suppressed, plan.classes) == (
        len(found.suppressed),
        len(group(found.rows, table.keys)),
    )
    assert plan.recoding.columns == tuple(table.keys)


@given(
    rows=held_tables(),
    promises=st.lists(any_promise, min_size=1, max_size=2),
    suppression=suppressions,
    objective=st.sampled_from(list(OBJECTIVES)),
)
@settings(deadline=None, max_examples=15)
def test_the_search_for_large_lattices(
    rows: list[Any], promises: list[Promise], suppression: float, objective: str
) -> None:
    contingency = counted_with(rows, PINNED)
    lattice = lattice_of(contingency, HIERARCHIES)
    seen = SearchState(
        build_problem(contingency, lattice, promises, suppression=suppression, objective=objective)
    )
    explore(seen)
    expected = oracle.best(held_world(rows), promises, suppression, objective)
    assert (seen.best is None) == (expected is None)
    assert expected is None or seen.cost == pytest.approx(expected[0], abs=1e-9)


@given(rows=held_tables(), promise=any_promise, relaxed=st.booleans())
@settings(deadline=None, max_examples=30)
def test_boxes_meet_the_requirement_in_every_part(
    rows: list[Any],
    promise: Promise,
    relaxed: bool,  # noqa: FBT001
) -> None:
    """The published boxes, counted by hand with the pinned columns, meet the requirement.

    Otherwise not even one box does.
    """
    contingency, table = counted_with(rows, PINNED), held_world(rows)
    try:
        plan = mondrian(contingency, [promise], strict=not relaxed or not promise.metric.monotone)
    except Infeasible:
        as_one = [{name: row[name] for name in (*PINNED, "disease")} for row in rows]
        value, _ = replace(table, taxonomies={}).numbers(group(as_one, PINNED), promise)
        assert not promise.metric.holds(value, promise.bound)
        return
    recoding = plan.recoding
    raw = {tuple(map(str, contingency.class_key(i).values())): i for i in range(len(contingency))}
    told = []
    for row in rows:
        place = raw[tuple(str(row[name]) for name in table.judged)]
        labels = [
            column[codes[place]]
            for column, codes in zip(recoding.labels, recoding.codes, strict=True)
        ]
        told.append(
            dict(zip(recoding.columns, labels, strict=True))
            | {name: row[name] for name in (*PINNED, "disease")}
        )
    value, _ = table.numbers(group(told, table.judged), promise)
    assert promise.metric.holds(value, promise.bound)
    assert plan.classes == len(group(told, table.keys))


def people(*told: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [
        {"zip": zip_, "age": 20, "sex": "f", "disease": "flu", "first": first, "second": second}
        for zip_, first, second in told
    ]


def test_published_counts_with_and_without_pinned_columns() -> None:
    """Four people in one published class, two and two by their pinned values."""
    rows = people(("1301", "a", "x"), ("1302", "a", "x"), ("1301", "b", "x"), ("1302", "b", "x"))
    contingency = counted_with(rows, PINNED)
    plan = search(contingency, HIERARCHIES, K2)
    assert plan.levels == {"zip": 1, "age": 0, "sex": 0}
    joint = published(contingency, plan.recoding)
    assert joint.sizes.tolist() == [2, 2]
    assert Counter(joint.class_key(i)["first"] for i in range(2)) == {"a": 1, "b": 1}
    assert joint.roll_up(plan.recoding.columns).sizes.tolist() == [4]
    assert plan.classes == 1


def test_only_the_violating_part_is_suppressed() -> None:
    """Of three people in one published class, the first release makes one unique."""
    rows = people(("1301", "a", "x"), ("1301", "a", "x"), ("1301", "b", "x"))
    plan = search(counted_with(rows, PINNED), HIERARCHIES, K2, suppression=0.4)
    assert (plan.suppressed, plan.classes, plan.levels) == (1, 1, {"zip": 0, "age": 0, "sex": 0})


def test_suppressing_a_part_of_a_class_may_cost_less_than_its_floor() -> None:
    """Discernibility: all ten in one class cost 100.

    Eight of them and two suppressed cost 64 + 2 * 10.
    """
    rows = people(*[("1301", "a", "x")] * 8, *[("1301", name, "x") for name in "bc"])
    contingency = counted_with(rows, PINNED)
    asked: dict[str, Any] = {"suppression": 0.2, "objective": "discernibility"}
    problem = build_problem(contingency, lattice_of(contingency, HIERARCHIES), K2, **asked)
    bottom = problem.checker.check((0, 0, 0))
    assert problem.objective.cost(bottom) == 84
    assert problem.objective.floor(bottom.classes) <= 84


def test_a_pinned_column_is_named_as_the_obstacle() -> None:
    """At any level, the second release makes one person unique."""
    rows = people(("1301", "a", "x"), ("1302", "a", "x"), ("1401", "a", "y"))
    with pytest.raises(Infeasible) as raised:
        search(counted_with(rows, PINNED), HIERARCHIES, K2)
    told = raised.value.document()["infeasible"]
    assert told["in_the_way"]["class"]["second"] == "y"
    assert told["in_the_way"]["people"] == 1
    assert (
        "of 1 person; what is out already breaks k_anonymity >= 2 by itself (1 for 1 person)"
        in str(raised.value)
    )
    assert told["suppression"] == pytest.approx(1 / 3, abs=1e-3)
    assert told["columns"] == ()


def test_explanations_and_front_do_not_list_pinned_columns() -> None:
    rows = people(("1301", "a", "x"), ("1302", "a", "x"), ("1301", "b", "x"), ("1302", "b", "x"))
    contingency = counted_with(rows, PINNED)
    plan = search(contingency, HIERARCHIES, K2)
    boxes = mondrian(contingency, K2, hierarchies=HIERARCHIES)
    told = explain(plan, boxes=lambda: boxes, settings={}, frame="arrow")
    assert [column.column for column in told.columns] == ["zip", "age", "sex"]
    assert told.promises[0].without.levels == {"zip": 0, "age": 0, "sex": 0}
    front = pareto_front(contingency, HIERARCHIES, ["k_anonymity"])
    assert {tuple(point.levels) for point in front.points} == {("zip", "age", "sex")}
    assert max(point.leakage for point in front.points) == 2.0


def test_a_constant_pinned_column_changes_nothing() -> None:
    """Everyone has the same class in the prior release: it reveals nothing."""
    rows = people(("1301", "a", "x"), ("1302", "a", "x"), ("1401", "a", "x"), ("1401", "a", "x"))
    with_, without = (
        search(each, HIERARCHIES, K2) for each in (counted_with(rows, PINNED), counted(rows))
    )
    assert with_.levels == without.levels
    assert with_.value == without.value
    assert np.array_equal(with_.recoding.published_mask, without.recoding.published_mask)
