# SPDX-License-Identifier: Apache-2.0
"""The trade-off between leakage and utility over the whole lattice, as data for a chart.

Afifi et al. 2018 leave the trade-off open (sections 2 and 7). Every node is a point (one or more
metrics, an objective). The Pareto front consists of the nodes that no other node dominates: at
least as good in every number, and better in one. Requirements and a suppression limit may restrict
the nodes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from divulge.adversary import Belief
from divulge.arrays import Floats
from divulge.counting import Contingency
from divulge.errors import BadInput
from divulge.generalization.constraints import Candidate, NodeChecker, all_published, node_checker
from divulge.generalization.infeasibility import infeasible_error
from divulge.generalization.lattice import lattice_of
from divulge.generalization.objectives import UserFunction, displayed_value, find_objective
from divulge.generalization.pruning_rules import Rule, compile_rules
from divulge.generalization.rollup import Rollup, default_beliefs
from divulge.generalization.search_state import TIE
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise, Protection
from divulge.results import Result

MOST_NODES = 100_000


@dataclass(frozen=True)
class Point:
    """One node of the lattice."""

    levels: Mapping[str, int]
    leakage: float
    """Value of the first metric for the table that would be published."""
    value: float
    """Value of the objective."""
    suppressed: int
    classes: int
    on_front: bool
    further: tuple[float, ...] = ()
    """Values of the further metrics."""


@dataclass(frozen=True, repr=False)
class Front(Result):
    """All nodes of the lattice, with those on the Pareto front marked."""

    view = "releases"

    metric: str
    """The first metric; its value is the `leakage` of a point."""
    attribute: str | None
    objective: str
    points: tuple[Point, ...] = field(repr=False)
    further: tuple[str, ...] = ()
    """Further metrics, in the order of their values in a point."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All settings on which the numbers depend."""
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[Point, ...]:
        """The nodes on the Pareto front, the cheapest first."""
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
    """Return every node that meets the requirements as a point (metrics, objective).

    Nodes that no other one dominates are marked as the Pareto front.
    """
    if not metrics:
        raise BadInput("a trade-off needs a metric", hint="for example entropy_leakage")
    if repeated := [name for index, name in enumerate(metrics) if name in metrics[:index]]:
        raise BadInput(f"the metric {repeated[0]!r} is named twice")
    grounds = (
        hierarchies if isinstance(hierarchies, Rollup) else lattice_of(contingency, hierarchies)
    )
    lattice = grounds.lattice if isinstance(grounds, Rollup) else grounds
    if lattice.size > MOST_NODES:
        raise BadInput(
            f"the lattice has {lattice.size} nodes, more than the {MOST_NODES} of which all are "
            "looked at",
            hint="use fewer levels",
        )
    requirements = [Promise.make(name, 0.0, attribute=attribute) for name in metrics]
    promised = bool(promises or protections)
    class_beliefs = default_beliefs(contingency) if beliefs is None else beliefs
    has_population = contingency.population is not None
    measured = [
        compile_rules([promise], class_beliefs, has_population=has_population)
        for promise in requirements
    ]
    checker = node_checker(
        contingency,
        grounds,
        promises if promised else requirements,
        beliefs=class_beliefs,
        protections=protections,
        suppression=suppression,
    )
    goal = find_objective(checker.rollup, objective)
    points: list[tuple[tuple[float, ...], Point]] = []
    for node in product(*map(range, lattice.shape)):
        if promised:
            candidate = checker.check(node)
        else:
            candidate = all_published(checker.rollup.classes(node))
        if not candidate.feasible:
            continue
        risks = [_risk(checker, rules, candidate) for rules in measured]
        cost, (leakage, *further) = (
            goal.cost(candidate),
            (_sign(rules) * risk for rules, risk in zip(measured, risks, strict=True)),
        )
        classes = candidate.published_classes
        levels = lattice.levels_by_column(node)
        point = Point(
            levels,
            leakage,
            displayed_value(goal, cost),
            candidate.suppressed,
            classes,
            False,  # noqa: FBT003
            tuple(further),
        )
        points.append(((cost, *risks), point))
    if not points:
        raise infeasible_error(checker, proved=True)
    return Front(metrics[0], attribute, goal.name, tuple(_mark_front(points)), tuple(metrics[1:]))


def _sign(rules: Sequence[Rule]) -> float:
    if rules[0].metric.worse == "high":
        return 1.0
    return -1.0


def _risk(checker: NodeChecker, rules: Sequence[Rule], candidate: Candidate) -> float:
    """Value of a metric, the worst of all attributes; high is worse."""
    return max(_sign(rules) * checker.value(rule, candidate) for rule in rules)


def _mark_front(points: list[tuple[tuple[float, ...], Point]]) -> Iterator[Point]:
    """Sort points by cost, and mark those that no other point dominates.

    A point dominates another if it is at least as good in every number and better in one.
    """
    points = sorted(points, key=lambda item: (item[0], tuple(item[1].levels.values())))
    numbers = np.array([item[0] for item in points]).reshape(len(points), -1)
    front = numbers[:0]
    # a point that dominates another precedes it, or costs the same except for rounding
    for coordinates in numbers:
        if not _is_dominated(coordinates, front):
            front = np.concatenate([front, [coordinates]])
    for coordinates, (_, point) in zip(numbers, points, strict=True):
        yield replace(point, on_front=not _is_dominated(coordinates, front))


def _is_dominated(coordinates: Floats, others: Floats) -> bool:
    with np.errstate(invalid="ignore"):  # if both are infinite, neither is better
        better = others < coordinates - TIE
    as_good = (others <= coordinates + TIE).all(axis=1)
    return bool((as_good & better.any(axis=1)).any())
