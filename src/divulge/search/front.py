# SPDX-License-Identifier: Apache-2.0
"""The trade-off between leakage and utility over the whole lattice, as data for a chart.

Afifi et al. 2018 leave the trade-off open (sections 2 and 7): every node is a point (a metric, an objective), and the front is made of
the nodes that none beats in both. Promises and a suppression limit may narrow the field first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy
from divulge.policy import Promise, Protection
from divulge.results import Result
from divulge.search.judge import all_published, judge_for
from divulge.search.lattice import Lattice, default_beliefs, lattice_of
from divulge.search.objectives import UserFunction, find_objective, shown
from divulge.search.problem import TIE
from divulge.search.rules import compile_rules

MOST_NODES = 100_000


@dataclass(frozen=True)
class Point:
    """One node of the lattice."""

    levels: Mapping[str, int]
    leakage: float
    """The metric's number for the table that would be published."""
    value: float
    """The objective's."""
    suppressed: int
    classes: int
    on_front: bool


@dataclass(frozen=True, repr=False)
class Front(Result):
    """All nodes, and which of them are beaten by none."""

    view = "releases"

    metric: str
    attribute: str | None
    objective: str
    points: tuple[Point, ...] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the numbers depend on."""
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[Point, ...]:
        """The nodes on the front, the cheapest first."""
        return tuple(point for point in self.points if point.on_front)


def pareto_front(
    contingency: Contingency,
    hierarchies: Mapping[str, Hierarchy] | Lattice,
    metric: str,
    *,
    attribute: str | None = None,
    objective: str | UserFunction = "loss",
    promises: Sequence[Promise] = (),
    protections: Sequence[Protection] = (),
    suppression: float = 0.0,
    beliefs: Mapping[str, Belief] | None = None,
) -> Front:
    """Every node as a point (metric, objective), those that keep the promises; the front is what none of them beats in both."""
    lattice = hierarchies if isinstance(hierarchies, Lattice) else lattice_of(contingency, hierarchies)
    if lattice.size > MOST_NODES:
        raise BadInput(
            f"the lattice has {lattice.size} nodes, more than the {MOST_NODES} of which all are looked at",
            hint="use fewer levels",
        )
    wanted, promised = Promise.make(metric, 0.0, attribute=attribute), bool(promises or protections)
    given = default_beliefs(contingency) if beliefs is None else beliefs
    measured = compile_rules([wanted], given, has_population=contingency.population is not None)
    judge = judge_for(
        contingency,
        lattice,
        promises if promised else [wanted],
        beliefs=given,
        protections=protections,
        suppression=suppression,
    )
    goal = find_objective(judge.rollup, objective)
    sign = 1.0 if measured[0].metric.worse == "high" else -1.0
    found: list[tuple[float, float, Point]] = []
    for node in product(*map(range, lattice.shape)):
        candidate = judge.check(node) if promised else all_published(judge.rollup.classes(node))
        if not candidate.feasible:
            continue
        views = [judge.view(rule.attribute, candidate.classes, candidate.kept)[0] for rule in measured]
        risk = max(sign * rule.value(view) for rule, view in zip(measured, views, strict=True))  # high is worse
        cost, leakage = goal.cost(candidate), sign * risk
        classes, levels = candidate.published_classes, lattice.named(node)
        point = Point(levels, leakage, shown(goal, cost), candidate.suppressed, classes, on_front=False)
        found.append((cost, risk, point))
    return Front(metric, attribute, goal.name, tuple(_mark(found)))


def _mark(found: list[tuple[float, float, Point]]) -> Iterator[Point]:
    """The cheapest first, each with whether any other is at least as good in both and better in one."""
    found = sorted(found, key=lambda item: (item[0], item[1], tuple(item[2].levels.values())))
    least, cheapest = np.inf, -np.inf
    for cost, risk, point in found:
        as_good_as_the_last = cost <= cheapest + TIE and risk <= least + TIE
        on_front = risk < least - TIE or as_good_as_the_last
        if on_front:
            least, cheapest = min(least, risk), cost
        yield replace(point, on_front=on_front)
