# SPDX-License-Identifier: Apache-2.0
"""The trade-off between leakage and utility over the whole lattice, as data for a chart.

Afifi et al. 2018 leave the trade-off open (sections 2 and 7): every node is a point (one or more metrics, an objective), and the front is
made of the nodes that none beats: as good in every number, and better in one. Promises and a suppression limit may narrow the field first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy
from divulge.policy import Promise, Protection
from divulge.results import Result
from divulge.search.diagnosis import nothing_fits
from divulge.search.judge import Candidate, Judge, all_published, judge_for
from divulge.search.lattice import Rollup, default_beliefs, lattice_of
from divulge.search.objectives import UserFunction, find_objective, shown
from divulge.search.problem import TIE
from divulge.search.rules import Rule, compile_rules

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
    further: tuple[float, ...] = ()
    """The numbers of the further metrics."""


@dataclass(frozen=True, repr=False)
class Front(Result):
    """All nodes, and which of them are beaten by none."""

    view = "releases"

    metric: str
    """The first; its number is the `leakage` of a point."""
    attribute: str | None
    objective: str
    points: tuple[Point, ...] = field(repr=False)
    further: tuple[str, ...] = ()
    """Further metrics, in the order of their numbers in a point."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the numbers depend on."""
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[Point, ...]:
        """The nodes on the front, the cheapest first."""
        return tuple(point for point in self.points if point.on_front)


def pareto_front(
    contingency: Contingency,
    hierarchies: Mapping[str, Hierarchy] | Rollup,
    metrics: Sequence[str],
    *,
    attribute: str | None = None,
    objective: str | UserFunction = "loss",
    promises: Sequence[Promise] = (),
    protections: Sequence[Protection] = (),
    suppression: float = 0.0,
    beliefs: Mapping[str, Belief] | None = None,
) -> Front:
    """Every node as a point (metrics, objective), those that keep the promises; the front is what none of them beats."""
    if not metrics:
        raise BadInput("a trade-off needs a metric", hint="for example entropy_leakage")
    if repeated := [name for place, name in enumerate(metrics) if name in metrics[:place]]:
        raise BadInput(f"the metric {repeated[0]!r} is named twice")
    grounds = hierarchies if isinstance(hierarchies, Rollup) else lattice_of(contingency, hierarchies)
    lattice = grounds.lattice if isinstance(grounds, Rollup) else grounds
    if lattice.size > MOST_NODES:
        raise BadInput(
            f"the lattice has {lattice.size} nodes, more than the {MOST_NODES} of which all are looked at",
            hint="use fewer levels",
        )
    wanted, promised = (
        [Promise.make(name, 0.0, attribute=attribute) for name in metrics],
        bool(promises or protections),
    )
    given = default_beliefs(contingency) if beliefs is None else beliefs
    has_population = contingency.population is not None
    measured = [compile_rules([promise], given, has_population=has_population) for promise in wanted]
    judge = judge_for(
        contingency,
        grounds,
        promises if promised else wanted,
        beliefs=given,
        protections=protections,
        suppression=suppression,
    )
    goal = find_objective(judge.rollup, objective)
    found: list[tuple[tuple[float, ...], Point]] = []
    for node in product(*map(range, lattice.shape)):
        candidate = judge.check(node) if promised else all_published(judge.rollup.classes(node))
        if not candidate.feasible:
            continue
        risks = [_risk(judge, rules, candidate) for rules in measured]
        cost, (leakage, *further) = (
            goal.cost(candidate),
            (_sign(rules) * risk for rules, risk in zip(measured, risks, strict=True)),
        )
        classes, levels = candidate.published_classes, lattice.named(node)
        point = Point(levels, leakage, shown(goal, cost), candidate.suppressed, classes, False, tuple(further))  # noqa: FBT003
        found.append(((cost, *risks), point))
    if not found:
        raise nothing_fits(judge, proved=True)
    return Front(metrics[0], attribute, goal.name, tuple(_mark(found)), tuple(metrics[1:]))


def _sign(rules: Sequence[Rule]) -> float:
    return 1.0 if rules[0].metric.worse == "high" else -1.0


def _risk(judge: Judge, rules: Sequence[Rule], candidate: Candidate) -> float:
    """The number of a metric, the worst of all attributes; high is worse."""
    return max(_sign(rules) * judge.value(rule, candidate) for rule in rules)


def _mark(found: list[tuple[tuple[float, ...], Point]]) -> Iterator[Point]:
    """The cheapest first, each with whether any other is at least as good in every number and better in one."""
    found = sorted(found, key=lambda item: (item[0], tuple(item[1].levels.values())))
    numbers = np.array([item[0] for item in found]).reshape(len(found), -1)
    front = numbers[:0]
    for own in numbers:  # what beats a point stands before it, or costs the same but for rounding
        if not _beaten(own, front):
            front = np.concatenate([front, [own]])
    for own, (_, point) in zip(numbers, found, strict=True):
        yield replace(point, on_front=not _beaten(own, front))


def _beaten(own: Floats, others: Floats) -> bool:
    with np.errstate(invalid="ignore"):  # what is infinite in both is no better in either
        better = others < own - TIE
    as_good = (others <= own + TIE).all(axis=1)
    return bool((as_good & better.any(axis=1)).any())
