# SPDX-License-Identifier: Apache-2.0
"""Nothing fits: the nearest promises that do, what suppression would buy, and the column, class or value that stands in the way.

For each promise, the others are kept and its own bound is moved until some node keeps it. The nodes are looked at from the most
general downwards, where solutions are likeliest, for a short time; the answer says how many were looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from divulge import metrics, values
from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.errors import Infeasible
from divulge.search.judge import Judge, all_published
from divulge.search.lattice import Classes, Lattice, Node, Rollup, with_drop
from divulge.search.rules import Rule

_SECONDS = 1.0
_MOST_NODES = 1000


@dataclass(frozen=True)
class Nearest:
    """One promise with a bound that would fit, the others unchanged."""

    promise: str
    bound: float
    levels: Mapping[str, int]


@dataclass(frozen=True)
class InTheWay:
    """The class that breaks a promise worst at the node that comes nearest, and its most telling value."""

    promise: str
    labels: Mapping[str, str | None]
    people: int
    value: str | None
    """The sensitive value whose share differs most from the prior."""


@dataclass(frozen=True)
class BrokenAlready:
    """A promise that what is out already breaks by itself, whatever is published beside it."""

    promise: str
    value: float
    """What it has without the new release."""
    people: int | None
    """In how many people's classes; None where it is about the whole table."""


@dataclass(frozen=True)
class Diagnosis:
    """Why nothing fits and what would."""

    proved: bool
    """Every node was excluded; False: the time was up before one was found."""
    nearest: tuple[Nearest, ...]
    """Each would do by itself."""
    together: tuple[Nearest, ...]
    """Where none does: those that would have to move at once."""
    suppression: float | None
    """The least suppression limit under which everything would fit."""
    suppression_levels: Mapping[str, int]
    columns: tuple[str, ...]
    """Columns without which the most general node would fit."""
    in_the_way: InTheWay | None
    looked_at: int
    already: tuple[BrokenAlready, ...] = ()
    """Where earlier releases are held beside it: what these break by themselves."""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        way = self.in_the_way
        told = (
            None
            if way is None
            else {"promise": way.promise, "class": way.labels, "people": way.people, "value": way.value}
        )
        return {**asdict(self), "in_the_way": told}

    @property
    def text(self) -> str:
        """One line of advice."""
        parts = [item.promise for item in self.nearest]
        parts += [" together with ".join(item.promise for item in self.together)] if self.together else []
        if self.suppression is not None:
            parts.append(f"suppression = {self.suppression:g}")
        parts += [f"leaving out the column {column!r}" for column in self.columns]
        advice = f"What would fit: {', or '.join(parts)}" if parts else ""
        if self.in_the_way is not None:
            way = self.in_the_way
            value = f", where {way.value!r} stands out" if way.value is not None else ""
            people = values.counted(way.people, "person", "people")
            who = f"the class {dict(way.labels)} of {people}" if way.labels else f"all {people}"
            advice += f"{'; ' if advice else ''}in the way: {who}{value}"
        for broken in self.already:
            whom = "" if broken.people is None else f" for {values.counted(broken.people, 'person', 'people')}"
            told = f"what is out already breaks {broken.promise} by itself ({broken.value:.4g}{whom})"
            advice += f"{'; ' if advice else ''}{told}"
        if self.already:
            advice += ": leave these people out, or promise less"
        return advice


class NothingFits(Infeasible):
    """No generalization keeps the promises; `diagnosis` says why and what would fit."""

    def __init__(self, message: str, *, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        super().__init__(message, hint=diagnosis.text)

    def document(self) -> dict[str, Any]:
        """With why, and what would fit."""
        return {**super().document(), "infeasible": {"because": self.message, **self.diagnosis.document()}}


def nothing_fits(judge: Judge, *, proved: bool) -> NothingFits:
    """The error to raise when no solution was found."""
    diagnosis = diagnose(judge, proved=proved)
    wanted = " and ".join(rule.text for rule in judge.rules)
    limit = (
        f"with at most {judge.suppression:.4g} of the records suppressed"
        if judge.suppression
        else "without suppression"
    )
    found = "no generalization keeps" if proved else "the time was up before a generalization was found that keeps"
    return NothingFits(f"{found} {wanted} {limit}", diagnosis=diagnosis)


def diagnose(judge: Judge, *, proved: bool) -> Diagnosis:
    """Look at the most general nodes for what would fit."""
    lattice = judge.rollup.lattice
    unlimited = replace(judge, suppression=1.0)
    relaxed = {rule: tuple(other for other in judge.rules if other is not rule) for rule in judge.rules}
    reached: dict[Rule, tuple[float, Node]] = {}
    fewest: tuple[int, Node] | None = None
    deadline = time.monotonic() + _SECONDS
    looked_at = 0
    for node in islice(_downwards(lattice), _MOST_NODES):
        if looked_at and time.monotonic() >= deadline:
            break
        looked_at += 1
        for rule, others in relaxed.items():
            value = _reached(judge, rule, others, node)
            sign = 1 if rule.metric.worse == "high" else -1
            if value is None or (rule in reached and sign * value >= sign * reached[rule][0]):
                continue
            # What one rule leaves out changes what the others see, so the advice is tried before it is given.
            if replace(judge, rules=(*others, _relaxed(rule, value))).check(node).feasible:
                reached[rule] = value, node
        candidate = unlimited.check(node)
        if candidate.feasible and (fewest is None or candidate.suppressed < fewest[0]):
            fewest = candidate.suppressed, node
    return Diagnosis(
        proved=proved,
        nearest=tuple(_nearest(rule, value, lattice.named(node)) for rule, (value, node) in reached.items()),
        together=() if reached else _together(judge),
        suppression=None if fewest is None else rounded_outwards(fewest[0] / judge.rollup.people),
        suppression_levels={} if fewest is None else lattice.named(fewest[1]),
        columns=tuple(_columns_in_the_way(judge)),
        in_the_way=_class_in_the_way(judge, lattice.top if fewest is None else fewest[1]),
        looked_at=looked_at,
        already=tuple(_broken_already(judge)),
    )


def _broken_already(judge: Judge) -> Iterator[BrokenAlready]:
    """What pinned columns break where nothing else is published."""
    rollup = judge.rollup
    if not rollup.contingency.pinned:
        return
    classes = rollup.as_classes(np.zeros(len(rollup.contingency), dtype=np.int64), rollup.lattice.top)
    kept = np.ones(len(classes), dtype=bool)
    for rule in judge.rules:
        view, members = judge.view(rule.attribute, classes, kept)
        if not len(members):
            continue
        if rule.looks_at == "table":
            if not rule.metric.holds(value := rule.value(view), rule.promise.bound):
                yield BrokenAlready(rule.text, value, None)
            continue
        values = rule.values(view)
        broken = rule.broken(values) & judge.subject(rule, classes, members)
        if broken.any():
            worst = values[broken].max() if rule.metric.worse == "high" else values[broken].min()
            yield BrokenAlready(rule.text, float(worst), int(classes.sizes[members[broken]].sum()))


def _downwards(lattice: Lattice) -> Iterator[Node]:
    """Nodes from the top, level sum by level sum."""
    layer = [lattice.top]
    while layer:
        yield from layer
        layer = list(dict.fromkeys(finer for node in layer for finer in lattice.finer_neighbours(node)))


def _reached(judge: Judge, rule: Rule, others: tuple[Rule, ...], node: Node) -> float | None:
    """The bound that a rule could have at a node where the others hold; what may be suppressed is, worst first."""
    candidate = replace(judge, rules=others).check(node) if others else all_published(judge.rollup.classes(node))
    if not candidate.feasible:
        return None
    view, members = judge.view(rule.attribute, candidate.classes, candidate.kept)
    if not len(members):
        return None
    if rule.looks_at != "class":
        value = rule.value(view)
    else:
        subject = judge.subject(rule, candidate.classes, members)
        values, people = rule.values(view)[subject], candidate.classes.sizes[members][subject]
        worst_first = np.argsort(-values if rule.metric.worse == "high" else values, kind="stable")
        room = judge.limit - candidate.suppressed
        droppable = int(np.searchsorted(np.cumsum(people[worst_first]), room, side="right"))
        value = float(values[worst_first[droppable]]) if droppable < len(values) else np.inf
    return value if np.isfinite(value) else None


def _together(judge: Judge) -> tuple[Nearest, ...]:
    """The broken promises with what the most general node reaches, if that node then keeps everything."""
    top = judge.rollup.lattice.top
    found: dict[Rule, float] = {}
    for rule in judge.rules:
        value = _reached(replace(judge, suppression=0.0), rule, (), top)
        if value is None:
            return ()
        if not rule.metric.holds(value, rule.promise.bound):
            found[rule] = value
    moved = tuple(_relaxed(rule, found[rule]) if rule in found else rule for rule in judge.rules)
    if not replace(judge, rules=moved).check(top).feasible:
        return ()
    return tuple(_nearest(rule, value, judge.rollup.lattice.named(top)) for rule, value in found.items())


def _relaxed(rule: Rule, value: float) -> Rule:
    """The rule with a bound that this value keeps, in four digits."""
    bound = rounded_outwards(value, up=rule.metric.worse == "high", strict=rule.metric.strict)
    return replace(rule, promise=replace(rule.promise, bound=bound))


def _nearest(rule: Rule, value: float, levels: Mapping[str, int]) -> Nearest:
    relaxed = _relaxed(rule, value)
    return Nearest(relaxed.text, relaxed.promise.bound, levels)


def rounded_outwards(value: float, *, up: bool = True, strict: bool = False) -> float:
    """Four digits, rounded to the safe side; whole numbers stay.

    >>> rounded_outwards(0.123456), rounded_outwards(30162.0, up=False), rounded_outwards(2.58699, up=False)
    (0.1235, 30162.0, 2.586)
    """
    if value == 0:
        return 1e-4 if strict else 0.0
    if value.is_integer() and not strict:
        return value
    step = 10.0 ** (np.floor(np.log10(abs(value))) - 3)
    exact = round(value / step, 6)
    steps = (np.floor(exact) + 1 if strict else np.ceil(exact)) if up else np.floor(exact)
    return float(f"{steps * step:.6g}")


def _columns_in_the_way(judge: Judge) -> Iterator[str]:
    """Columns without which the most general node fits."""
    lattice = judge.rollup.lattice
    for position, ladder in enumerate(lattice.ladders):
        if len(ladder.levels[-1].labels) == 1:
            continue
        without = Lattice((*lattice.ladders[:position], with_drop(ladder), *lattice.ladders[position + 1 :]))
        if replace(judge, rollup=replace(judge.rollup, lattice=without)).check(without.top).feasible:
            yield ladder.column


def _class_in_the_way(judge: Judge, node: Node) -> InTheWay | None:
    """The worst class for the promise that the node breaks first."""
    candidate = judge.check(node)
    rule, classes = candidate.obstacle, candidate.classes
    if rule is None or rule.looks_at == "table":
        return None
    view, members = judge.view(rule.attribute, classes, np.ones(len(classes), dtype=bool))
    badness = rule.values(view) if rule.metric.worse == "high" else -rule.values(view)
    worst = int(np.argmax(np.where(judge.subject(rule, classes, members), badness, -np.inf)))
    number = int(members[worst])
    value = _telling_value(view, worst) if isinstance(view, Belief) else None
    if len(classes) == 1 and value is None:
        return None
    return InTheWay(rule.text, _labels(judge.rollup, classes, number), int(classes.sizes[number]), value)


def _labels(rollup: Rollup, classes: Classes, number: int) -> dict[str, str | None]:
    """The published labels of a class."""
    raw, counted = int(np.argmax(classes.of_raw == number)), rollup.contingency
    pinned = list(counted.class_key(raw).items())[len(counted.own_keys) :]
    told = {name: values.as_text(value) for name, value in pinned}
    if not rollup.lattice.ladders:  # boxes: nothing was cut yet
        return told
    steps = zip(rollup.lattice.ladders, rollup.lattice.levels(classes.node), counted.own_codes, strict=True)
    return {ladder.column: step.labels[step.codes[codes[raw]]] for ladder, step, codes in steps} | told


def _telling_value(belief: Belief, number: int) -> str | None:
    """The value whose share in a class differs most from the prior; None where none does."""
    share: Floats = np.zeros(len(belief.cells.domain))
    here = belief.cells.of_class(number)
    share[list(here)] = np.array(list(here.values())) / sum(here.values())
    apart = np.abs(share - belief.prior.of_class(number))
    return (
        values.as_text(belief.cells.domain.labels[int(np.argmax(apart))]) if apart.max() > metrics.TOLERANCE else None
    )
