# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of infeasible requirements: the nearest feasible bounds, suppression, and obstacles.

For each requirement, the others are kept and its own bound is relaxed until some node meets it.
Nodes are examined from the most general downwards, where solutions are likeliest, for a short time.
The answer states how many were examined. Obstacles are a column, a class or a value.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from divulge import metrics
from divulge.adversary import Belief
from divulge.arguments import Sentence, marked, outside
from divulge.arrays import Floats
from divulge.errors import Infeasible
from divulge.generalization.constraints import NodeChecker, all_published
from divulge.generalization.lattice import Lattice, Node, with_top_level
from divulge.generalization.pruning_rules import Rule
from divulge.generalization.rollup import Classes, Rollup
from divulge.text import as_text, class_name, count_with_noun

_SECONDS = 1.0
_MOST_NODES = 1000


@dataclass(frozen=True)
class FeasibleBound:
    """One requirement with a feasible bound, the others unchanged."""

    promise: str
    bound: float
    levels: Mapping[str, int]


@dataclass(frozen=True)
class ObstacleClass:
    """The worst class for a violated requirement at the nearest node.

    Its value is the most revealing one.
    """

    promise: str
    labels: Mapping[str, str | None]
    people: int
    value: str | None
    """The sensitive value whose share differs most from the prior."""


@dataclass(frozen=True)
class ViolatedByPriorReleases:
    """A requirement that prior releases violate by themselves, whatever is published now."""

    promise: str
    value: float
    """Value of its metric without the new release."""
    people: int | None
    """Number of people in violating classes; None if it is about the whole table."""


@dataclass(frozen=True)
class Diagnosis:
    """Reasons why no generalization is feasible, and changes that would be."""

    proved: bool
    """True if every node was excluded; False if the time limit was reached first."""
    nearest: tuple[FeasibleBound, ...]
    """Relaxed requirements, each of which would be sufficient by itself."""
    together: tuple[FeasibleBound, ...]
    """Requirements that would have to be relaxed together, if none is sufficient by itself."""
    suppression: float | None
    """The smallest suppression limit under which all requirements would be met."""
    suppression_levels: Mapping[str, int]
    columns: tuple[str, ...]
    """Columns without which the most general node would be feasible."""
    in_the_way: ObstacleClass | None
    looked_at: int
    already: tuple[ViolatedByPriorReleases, ...] = ()
    """Requirements that prior releases violate by themselves."""

    def document(self) -> dict[str, Any]:
        """Contents for JSON."""
        way = self.in_the_way
        if way is None:
            obstacle = None
        else:
            obstacle = {
                "promise": way.promise,
                "class": way.labels,
                "people": way.people,
                "value": way.value,
            }
        return {**asdict(self), "in_the_way": obstacle}

    @property
    def text(self) -> Sentence:
        """One line of advice."""
        parts = [marked(item.promise) for item in self.nearest]
        if self.together:
            parts += [" together with ".join(marked(item.promise) for item in self.together)]
        if self.suppression is not None:
            parts.append(f"suppression = {self.suppression:g}")
        parts += [f"leaving out the column {column!r}" for column in self.columns]
        if parts:
            advice = f"What would fit: {', or '.join(parts)}"
        else:
            advice = ""
        if self.in_the_way is not None:
            obstacle = self.in_the_way
            if obstacle.value is not None:
                value = f", where {obstacle.value!r} stands out"
            else:
                value = ""
            people = count_with_noun(obstacle.people, "person", "people")
            if obstacle.labels:
                affected = f"the class {outside(class_name(obstacle.labels))} of {people}"
            else:
                affected = f"all {people}"
            advice += f"{'; ' if advice else ''}in the way: {affected}{value}"
        for violation in self.already:
            if violation.people is None:
                for_people = ""
            else:
                for_people = f" for {count_with_noun(violation.people, 'person', 'people')}"
            message = (
                f"what is out already breaks {marked(violation.promise)} by itself "
                f"({violation.value:.4g}{for_people})"
            )
            advice += f"{'; ' if advice else ''}{message}"
        if self.already:
            advice += ": leave these people out, or promise less"
        return Sentence(advice)


class NothingFits(Infeasible):
    """Error: no generalization meets the requirements; `diagnosis` has reasons and alternatives."""

    def __init__(self, message: str, *, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        super().__init__(message, hint=diagnosis.text)

    def document(self) -> dict[str, Any]:
        """Contents for JSON, with the diagnosis."""
        return {
            **super().document(),
            "infeasible": {"because": self.message, **self.diagnosis.document()},
        }


def infeasible_error(checker: NodeChecker, *, proved: bool) -> NothingFits:
    """Build the error for a search without a solution."""
    diagnosis = diagnose(checker, proved=proved)
    requirements = " and ".join(marked(rule.text) for rule in checker.rules)
    if checker.suppression:
        limit = f"with at most {checker.suppression:.4g} of the records suppressed"
    else:
        limit = "without suppression"
    if proved:
        outcome = "no generalization keeps"
    else:
        outcome = "the time was up before a generalization was found that keeps"
    return NothingFits(f"{outcome} {requirements} {limit}", diagnosis=diagnosis)


def diagnose(checker: NodeChecker, *, proved: bool) -> Diagnosis:
    """Examine the most general nodes for feasible alternatives."""
    lattice = checker.rollup.lattice
    unlimited = replace(checker, suppression=1.0)
    relaxed = {
        rule: tuple(other for other in checker.rules if other is not rule) for rule in checker.rules
    }
    reached: dict[Rule, tuple[float, Node]] = {}
    fewest: tuple[int, Node] | None = None
    deadline = time.monotonic() + _SECONDS
    looked_at = 0
    for node in islice(_nodes_downwards(lattice), _MOST_NODES):
        if looked_at and time.monotonic() >= deadline:
            break
        looked_at += 1
        for rule, others in relaxed.items():
            value = _reachable_bound(checker, rule, others, node)
            if rule.metric.worse == "high":
                sign = 1
            else:
                sign = -1
            if value is None or (rule in reached and sign * value >= sign * reached[rule][0]):
                continue
            # Suppression by one rule changes the values of the others, so a bound is checked before
            # it is suggested.
            if replace(checker, rules=(*others, _relaxed(rule, value))).check(node).feasible:
                reached[rule] = value, node
        candidate = unlimited.check(node)
        if candidate.feasible and (fewest is None or candidate.suppressed < fewest[0]):
            fewest = candidate.suppressed, node
    return Diagnosis(
        proved=proved,
        nearest=tuple(
            _nearest(rule, value, lattice.levels_by_column(node))
            for rule, (value, node) in reached.items()
        ),
        together=() if reached else _requirements_relaxed_together(checker),
        suppression=None if fewest is None else rounded_outwards(fewest[0] / checker.rollup.people),
        suppression_levels={} if fewest is None else lattice.levels_by_column(fewest[1]),
        columns=tuple(_obstructing_columns(checker)),
        in_the_way=_obstructing_class(checker, lattice.top if fewest is None else fewest[1]),
        looked_at=looked_at,
        already=tuple(_prior_violations(checker)),
    )


def _prior_violations(checker: NodeChecker) -> Iterator[ViolatedByPriorReleases]:
    """Requirements that the pinned columns violate even if nothing else is published."""
    rollup = checker.rollup
    if not rollup.contingency.pinned:
        return
    classes = rollup.as_classes(
        np.zeros(len(rollup.contingency), dtype=np.int64), rollup.lattice.top
    )
    is_kept = np.ones(len(classes), dtype=bool)
    for rule in checker.rules:
        view, members = checker.view(rule.attribute, classes, is_kept)
        if not len(members):
            continue
        if rule.looks_at == "table":
            if not rule.metric.holds(value := rule.value(view), rule.promise.bound):
                yield ViolatedByPriorReleases(rule.text, value, None)
            continue
        values = rule.values(view)
        is_violating = rule.broken(values) & checker.subject(rule, classes, members)
        if is_violating.any():
            if rule.metric.worse == "high":
                worst = values[is_violating].max()
            else:
                worst = values[is_violating].min()
            yield ViolatedByPriorReleases(
                rule.text, float(worst), int(classes.sizes[members[is_violating]].sum())
            )


def _nodes_downwards(lattice: Lattice) -> Iterator[Node]:
    """Nodes from the top, in order of descending level sum."""
    layer = [lattice.top]
    while layer:
        yield from layer
        layer = list(
            dict.fromkeys(finer for node in layer for finer in lattice.finer_neighbors(node))
        )


def _reachable_bound(
    checker: NodeChecker, rule: Rule, others: tuple[Rule, ...], node: Node
) -> float | None:
    """The tightest feasible bound of a rule at a node where the others are met.

    Classes are suppressed up to the limit, worst first.
    """
    if others:
        candidate = replace(checker, rules=others).check(node)
    else:
        candidate = all_published(checker.rollup.classes(node))
    if not candidate.feasible:
        return None
    view, members = checker.view(rule.attribute, candidate.classes, candidate.published_mask)
    if not len(members):
        return None
    if rule.looks_at != "class":
        value = rule.value(view)
    else:
        subject = checker.subject(rule, candidate.classes, members)
        values = rule.values(view)[subject]
        people = candidate.classes.sizes[members][subject]
        worst_first = np.argsort(-values if rule.metric.worse == "high" else values, kind="stable")
        suppressible = checker.limit - candidate.suppressed
        droppable = int(np.searchsorted(np.cumsum(people[worst_first]), suppressible, side="right"))
        if droppable < len(values):
            value = float(values[worst_first[droppable]])
        else:
            value = np.inf
    if np.isfinite(value):
        return value
    return None


def _requirements_relaxed_together(checker: NodeChecker) -> tuple[FeasibleBound, ...]:
    """The violated requirements with the bounds that the most general node reaches.

    Empty if that node is infeasible even with these bounds.
    """
    top = checker.rollup.lattice.top
    violated: dict[Rule, float] = {}
    for rule in checker.rules:
        value = _reachable_bound(replace(checker, suppression=0.0), rule, (), top)
        if value is None:
            return ()
        if not rule.metric.holds(value, rule.promise.bound):
            violated[rule] = value
    moved = tuple(
        _relaxed(rule, violated[rule]) if rule in violated else rule for rule in checker.rules
    )
    if not replace(checker, rules=moved).check(top).feasible:
        return ()
    return tuple(
        _nearest(rule, value, checker.rollup.lattice.levels_by_column(top))
        for rule, value in violated.items()
    )


def _relaxed(rule: Rule, value: float) -> Rule:
    """Return the rule with a bound of four digits that this value meets."""
    bound = rounded_outwards(value, up=rule.metric.worse == "high", strict=rule.metric.strict)
    return replace(rule, promise=replace(rule.promise, bound=bound))


def _nearest(rule: Rule, value: float, levels: Mapping[str, int]) -> FeasibleBound:
    relaxed = _relaxed(rule, value)
    promise = relaxed.promise
    if promise.metric.is_vacuous(promise.bound, promise.l_value):
        if rule.attribute is None:
            about = ""
        else:
            about = f" of {rule.attribute}"
        return FeasibleBound(
            f"no requirement on {promise.name_of(promise.metric)}{about}", promise.bound, levels
        )
    return FeasibleBound(relaxed.text, promise.bound, levels)


def rounded_outwards(value: float, *, up: bool = True, strict: bool = False) -> float:
    """Round to four digits, to the safe side; whole numbers stay.

    >>> (
    ...     rounded_outwards(0.123456),
    ...     rounded_outwards(30162.0, up=False),
    ...     rounded_outwards(2.58699, up=False),
    ... )
    (0.1235, 30162.0, 2.586)
    """
    if value == 0:
        if strict:
            return 1e-4
        return 0.0
    if value.is_integer() and not strict:
        return value
    step = 10.0 ** (np.floor(np.log10(abs(value))) - 3)
    exact = round(value / step, 6)
    if not up:
        steps = np.floor(exact)
    elif strict:
        steps = np.floor(exact) + 1
    else:
        steps = np.ceil(exact)
    return float(f"{steps * step:.6g}")


def _obstructing_columns(checker: NodeChecker) -> Iterator[str]:
    """Columns without which the most general node is feasible."""
    lattice = checker.rollup.lattice
    for position, column_levels in enumerate(lattice.columns):
        if len(column_levels.levels[-1].labels) == 1:
            continue
        without = Lattice(
            (
                *lattice.columns[:position],
                with_top_level(column_levels),
                *lattice.columns[position + 1 :],
            )
        )
        if (
            replace(checker, rollup=replace(checker.rollup, lattice=without))
            .check(without.top)
            .feasible
        ):
            yield column_levels.column


def _obstructing_class(checker: NodeChecker, node: Node) -> ObstacleClass | None:
    """The worst class for the first requirement that the node violates."""
    candidate = checker.check(node)
    rule = candidate.obstacle
    classes = candidate.classes
    if rule is None or rule.looks_at == "table":
        return None
    view, members = checker.view(rule.attribute, classes, np.ones(len(classes), dtype=bool))
    if rule.metric.worse == "high":
        badness = rule.values(view)
    else:
        badness = -rule.values(view)
    worst = int(np.argmax(np.where(checker.subject(rule, classes, members), badness, -np.inf)))
    number = int(members[worst])
    if isinstance(view, Belief):
        value = _most_changed_value(view, worst)
    else:
        value = None
    if len(classes) == 1 and value is None:
        return None
    return ObstacleClass(
        rule.text, _labels(checker.rollup, classes, number), int(classes.sizes[number]), value
    )


def _labels(rollup: Rollup, classes: Classes, number: int) -> dict[str, str | None]:
    """The published labels of a class."""
    raw = int(np.argmax(classes.of_raw == number))
    contingency = rollup.contingency
    pinned = list(contingency.class_key(raw).items())[len(contingency.own_keys) :]
    pinned_labels = {name: as_text(value) for name, value in pinned}
    if not rollup.lattice.columns:  # boxes: nothing was cut yet
        return pinned_labels
    steps = zip(
        rollup.lattice.columns,
        rollup.lattice.levels(classes.node),
        contingency.own_codes,
        strict=True,
    )
    return {
        column_levels.column: step.labels[step.codes[codes[raw]]]
        for column_levels, step, codes in steps
    } | pinned_labels


def _most_changed_value(belief: Belief, number: int) -> str | None:
    """The value whose share in a class differs most from the prior; None if no share differs."""
    share: Floats = np.zeros(len(belief.cells.domain))
    masses = belief.cells.of_class(number)
    share[list(masses)] = np.array(list(masses.values())) / sum(masses.values())
    distance = np.abs(share - belief.prior.of_class(number))
    if distance.max() > metrics.TOLERANCE:
        return as_text(belief.cells.domain.labels[int(np.argmax(distance))])
    return None
