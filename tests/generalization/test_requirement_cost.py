# SPDX-License-Identifier: Apache-2.0
"""The utility cost of each requirement compared with trying every node and every bound."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from divulge.errors import Infeasible
from divulge.generalization import Explanation, Plan, explain, mondrian, requirement_cost, search
from divulge.generalization.infeasibility import rounded_outwards
from divulge.policy import Promise
from tests import oracle as metrics_oracle
from tests.generalization import oracle
from tests.generalization.drawn import HIERARCHIES, TAXONOMIES, counted, world

Levels = dict[str, int]
# Bounds that some of these tables meet only by full suppression of a column.
BOUNDS: dict[str, tuple[float, ...]] = {
    "k_anonymity": (3, 4, 5),
    "l_diversity": (2, 3),
    "entropy_leakage": (0.2, 0.5),
    "t_closeness": (0.2, 0.4),
    "distribution_leakage": (0.3, 0.6),
    "mutual_information": (0.1, 0.3),
}


@dataclass(frozen=True)
class Terms:
    """Requirements and settings of a release."""

    table: oracle.World
    promises: tuple[Promise, ...]
    suppression: float
    objective: str

    def best(self) -> tuple[float, Levels] | None:
        """The optimum: least cost, then least sum of levels, then the lowest first column."""
        promises = self.promises or (Promise.make("k_anonymity", 1),)
        found = oracle.best(self.table, promises, self.suppression, self.objective)
        return found and (
            found[0],
            min(found[1], key=lambda node: (sum(node.values()), tuple(node.values()))),
        )

    def known_best(self) -> tuple[float, Levels]:
        found = self.best()
        assert found is not None
        return found

    def at(self, own: Promise, bound: float) -> Terms:
        moved = (
            replace(promise, bound=bound) if promise is own else promise
            for promise in self.promises
        )
        return replace(self, promises=tuple(moved))

    def labels(self, column: str, level: int) -> int:
        return len({self.table.label(column, row[column], level) for row in self.table.rows})

    def nearest_gentler(self, own: Promise, column: str) -> float | None:
        """The nearest value of any node with which the best release keeps more than one label."""
        values: set[float] = set()
        for levels in self.table.nodes():
            whole, each = self.table.numbers(
                metrics_oracle.group(self.table.generalized(levels), self.table.keys), own
            )
            values |= {round(value, 12) for value in (whole, *(each or ()))}
        sign = 1 if own.metric.worse == "high" else -1
        gentler = (value for value in values if sign * value > sign * own.bound)
        for bound in sorted(gentler, key=lambda value: sign * value):
            found = self.at(own, bound).best()
            if found is not None and self.labels(column, found[1][column]) > 1:
                return bound
        return None

    def gives_up(self, name: str) -> bool:
        """True if the original table meets the requirement although a person is unique in it.

        For a requirement on the disease: although a class has only one disease.
        """
        promise = next(promise for promise in self.promises if promise.metric.name == name)
        classes = metrics_oracle.group(self.table.rows, self.table.keys)
        diseases = [len({row["disease"] for row in members}) for members in classes]
        fewest = min(diseases if promise.metric.scope == "sensitive" else map(len, classes))
        return fewest == 1 and bool(
            promise.metric.holds(self.table.numbers(classes, promise)[0], promise.bound)
        )


def drawn_terms(seed: int, *, suppression: float) -> Terms:
    draw = random.Random(seed)  # noqa: S311 - a test
    rows = [
        {
            "zip": draw.choice(["1301", "1302", "1401", None]),
            "age": draw.choice([20, 21, 45]),
            "sex": draw.choice("ffm"),
            "disease": draw.choice(["flu", "flu", "cancer", "HIV"]),
        }
        for _ in range(draw.randint(8, 16))
    ]
    names = draw.sample(sorted(BOUNDS), draw.randint(1, 3))
    promises = tuple(Promise.make(name, draw.choice(BOUNDS[name])) for name in names)
    return Terms(
        world(rows),
        promises,
        suppression,
        draw.choice(["loss", "loss", "discernibility", "precision"]),
    )


def explained(terms: Terms) -> tuple[Plan, Explanation] | None:
    contingency = counted(terms.table.rows)
    asked: dict[str, Any] = {"suppression": terms.suppression, "objective": terms.objective}
    try:
        plan = search(contingency, HIERARCHIES, terms.promises, **asked)
    except Infeasible:
        return None
    boxes = partial(mondrian, contingency, terms.promises)
    return plan, explain(plan, boxes=boxes, settings={}, frame="arrow")


@pytest.mark.parametrize(("suppression", "laid_out"), [(0.0, True), (0.0, False), (0.15, True)])
def test_against_every_node_and_every_bound(
    suppression: float,
    laid_out: bool,  # noqa: FBT001 - a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not laid_out:
        monkeypatch.setattr(requirement_cost, "LARGEST_LAID_OUT", 0)
    compared: Counter[str] = Counter()
    for seed in range(12):
        terms = drawn_terms(seed, suppression=suppression)
        found = explained(terms)
        if found is not None:
            compare_prices(terms, found[1])
            compare_suppression(terms, found[1])
            compared += compare_columns(terms, found[1])
    assert all(compared[kind] for kind in ("saved", "lost", "given up", "promised"))


def compare_prices(terms: Terms, found: Explanation) -> None:
    cost, levels = terms.known_best()
    sign = -1 if terms.objective == "precision" else 1
    assert [item.promise.split()[0] for item in found.promises] == [
        promise.metric.name
        for promise in sorted(terms.promises, key=lambda each: order(found, each))
    ]
    for item in found.promises:
        own = next(
            promise for promise in terms.promises if item.promise.startswith(promise.metric.name)
        )
        others = tuple(promise for promise in terms.promises if promise is not own)
        without = replace(terms, promises=others).known_best()
        alone = replace(terms, promises=(own,)).known_best()
        assert item.without.value == pytest.approx(sign * without[0], abs=1e-9)
        assert item.without.saves == pytest.approx(cost - without[0], abs=1e-9)
        assert (item.without.levels, item.alone.levels) == (without[1], alone[1])
        assert item.without.exact
        assert item.binds == tuple(name for name in TAXONOMIES if without[1][name] < levels[name])


def order(found: Explanation, promise: Promise) -> int:
    return next(
        i for i, item in enumerate(found.promises) if item.promise.startswith(promise.metric.name)
    )


def compare_suppression(terms: Terms, found: Explanation) -> None:
    for share, instead in found.suppression.items():
        assert share > terms.suppression
        assert instead.levels == replace(terms, suppression=share).known_best()[1]


def compare_columns(terms: Terms, found: Explanation) -> Counter[str]:
    compared: Counter[str] = Counter()
    _, levels = terms.known_best()
    for item in found.columns:
        name = item.column
        gone = terms.labels(name, levels[name]) == 1 < terms.labels(name, 0)
        assert item.wiped_out == gone
        assert item.level == levels[name]
        bounds = {bound.promise.split()[0]: bound for bound in item.gentler}
        for own in terms.promises if gone else ():
            expected = terms.nearest_gentler(own, name)
            compared["lost" if expected is None else "saved"] += 1
            if expected is None:
                assert own.metric.name not in bounds
                continue
            bound = bounds[own.metric.name]
            readable = rounded_outwards(expected, up=own.metric.worse == "high")
            assert min(abs(bound.bound - readable), abs(bound.bound - expected)) <= 2e-6
            assert bound.proved == (terms.suppression == 0 or not any_average(terms))
            assert bound.at.levels == terms.at(own, bound.bound).known_best()[1]
            assert bound.of.split()[0] == own.metric.name
            assert bound.given_up == terms.at(own, bound.bound).gives_up(own.metric.name)
            compared["given up" if bound.given_up else "promised"] += 1
    return compared


def any_average(terms: Terms) -> bool:
    return any(promise.metric.name == "mutual_information" for promise in terms.promises)


def test_costs_of_requirements_with_boxes() -> None:
    """Nine people in three boxes of three.

    Without k everyone is unique, and without both requirements as well.
    """
    rows = [
        {"zip": "1301", "age": age, "sex": "f", "disease": disease}
        for age in (20, 21, 45)
        for disease in ("flu", "HIV", "cancer")
    ]
    contingency = counted(rows)
    promises = [Promise.make("k_anonymity", 4), Promise.make("l_diversity", 2)]
    plan = mondrian(contingency, promises)
    found = explain(plan, boxes=lambda: plan, settings={}, frame="arrow")
    by_name = {item.promise.split()[0]: item for item in found.promises}
    assert found.method == "mondrian"
    assert by_name["k_anonymity"].without.classes == 3
    assert by_name["k_anonymity"].without.value == 0.0
    assert by_name["l_diversity"].without.value == plan.value
    assert not found.exact


def test_answers_do_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is limited by a count of classes, and answers that were cut short are not proved."""
    terms = next(t for seed in range(99) if any_gone(t := drawn_terms(seed, suppression=0.0)))
    monkeypatch.setattr(requirement_cost, "_WORK", 0)
    monkeypatch.setattr(requirement_cost, "_FEWEST_NODES", 1)
    found = explained(terms)
    assert found is not None
    assert found[1].cut_short
    assert not found[1].exact
    assert found[1].notes


def any_gone(terms: Terms) -> bool:
    found = explained(terms)
    return found is not None and bool(found[1].wiped_out)
