# SPDX-License-Identifier: Apache-2.0
"""One node held against all rules: which classes are left out, whether the rest keeps everything, and what that proves.

Suppression as in ARX: the classes that break a promise are left out, at most the limit; what remains must keep every promise. The prior
stays the original table's. Where the number of a class depends on what else is published (ITPR, I3, I4, MIL), all classes that break
in the table that would be published are left out together and the rest is looked at again, until none breaks. Averages (MI, DR, CP,
marketer risk) are checked on what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np

from divulge import arrays, metrics
from divulge.arrays import Bools, Floats, Ints
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput
from divulge.metrics import Identity
from divulge.policy import Promise, Protection, choose
from divulge.search.lattice import Classes, Lattice, Node, Rollup, Span, default_beliefs
from divulge.search.rules import Rule, View, compile_rules


@dataclass(frozen=True, eq=False)
class Candidate:
    """What came out for one node."""

    node: Node
    classes: Classes = field(repr=False)
    kept: Bools = field(repr=False)
    """Which classes would be published."""
    suppressed: int
    """People in the others."""
    obstacle: Rule | None
    """The rule that stands in the way; None where the node is a solution."""
    owed: float
    """People that this node and every finer one must leave out, at least."""

    @property
    def feasible(self) -> bool:
        """Whether it is a solution."""
        return self.obstacle is None

    @property
    def published_classes(self) -> int:
        """How many classes would be published."""
        return int(self.published.kept.sum())

    @cached_property
    def published(self) -> Candidate:
        """The same in the classes that whoever gets the release sees: pinned columns split none of them."""
        whole, kept = self.classes.published_as, self.kept
        if whole is None:
            return self
        number, count = arrays.renumber(whole[kept], int(whole.max()) + 1)
        of_class = np.full(len(kept), count, dtype=np.int64)  # what is left out comes last
        of_class[kept] = number
        sizes = arrays.sum_by_id(of_class, self.classes.sizes, count + 1)
        classes = Classes(self.node, of_class[self.classes.of_raw], sizes)
        return replace(self, classes=classes, kept=np.arange(count + 1) < count)

    @property
    def suppressed_raw(self) -> Bools:
        """Which raw classes are left out."""
        left_out: Bools = ~self.kept[self.classes.of_raw]
        return left_out


def all_published(classes: Classes) -> Candidate:
    """Classes of which nothing is promised, so that none is left out."""
    return Candidate(classes.node, classes, np.ones(len(classes), dtype=bool), 0, None, 0.0)


@dataclass(frozen=True, eq=False)
class Judge:
    """Holds nodes against rules under a suppression limit."""

    rollup: Rollup
    rules: tuple[Rule, ...]
    suppression: float

    def __post_init__(self) -> None:
        if not self.rules:
            raise BadInput("no promise was made, so nothing needs to be generalized", hint="for example k_anonymity=5")
        if not 0.0 <= self.suppression <= 1.0:
            raise BadInput(
                f"suppression = {self.suppression!r} is not a fraction", hint="give a number from 0 to 1, 0.05 for 5 %"
            )

    @cached_property
    def limit(self) -> int:
        """How many people may be left out."""
        return int(np.floor(self.suppression * self.rollup.people + metrics.TOLERANCE))

    @cached_property
    def _alone(self) -> list[tuple[str | None, list[Rule]]]:
        """Rules about a class by itself, those of one attribute together; identity first, for it is cheapest."""
        rules = [rule for rule in self.rules if rule.looks_at == "class"]
        about = dict.fromkeys(rule.attribute for rule in sorted(rules, key=lambda rule: rule.attribute is not None))
        return [(name, [rule for rule in rules if rule.attribute == name]) for name in about]

    @cached_property
    def _together(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.looks_at == "class within the table"]

    @cached_property
    def _averages(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.looks_at == "table"]

    @property
    def looks_at_the_table(self) -> bool:
        """Whether some rule depends on more than a class by itself."""
        return bool(self._together or self._averages)

    @property
    def settings(self) -> dict[str, Any]:
        """What was promised against whom, for a plan."""
        beliefs = self.rollup.beliefs.items()
        return {
            "promises": [rule.text for rule in self.rules],
            "prior": {name: belief.prior.name for name, belief in beliefs},
            "ground_distance": {name: belief.ground.distance for name, belief in beliefs},
        }

    def breaking(self, classes: Classes, kept: Bools) -> Bools:
        """Which of the kept classes break a rule by themselves."""
        broken: Bools = np.zeros(len(classes), dtype=bool)
        for about, rules in self._alone:
            broken |= self._break_alone(rules, about, classes, kept)[0]
        return broken

    def first_broken(self, classes: Classes, kept: Bools | None = None) -> Rule | None:
        """The first rule that these classes break, all of them published unless it is said which are."""
        shown: Bools = np.ones(len(classes), dtype=bool) if kept is None else kept
        found = (self._break_alone(rules, about, classes, shown)[1] for about, rules in self._alone)
        return next((rule for rule in found if rule is not None), None) or self.broken_within(classes, shown)[0]

    def broken_within(self, classes: Classes, kept: Bools | None = None) -> tuple[Rule | None, Bools]:
        """The first rule about more than a class by itself that these classes break, and which classes do; all of them are published."""
        shown: Bools = np.ones(len(classes), dtype=bool) if kept is None else kept
        rule, left, _ = replace(self, suppression=0.0)._check_together(classes, shown, 0.0)  # noqa: SLF001
        return rule, shown & ~left

    def excludes_finer(self, candidate: Candidate) -> bool:
        """Whether no finer node can be a solution: too many people would be left out, or all of them."""
        return candidate.owed > self.limit or candidate.owed >= self.rollup.people

    def check(self, node: Node) -> Candidate:
        """Leave out what must be, and look at the rest."""
        classes = self.rollup.classes(node)
        kept: Bools = np.ones(len(classes), dtype=bool)
        obstacle: Rule | None = None
        owed = 0.0
        for about, rules in self._alone:
            broken, first, must = self._break_alone(rules, about, classes, kept)
            if first is not None:
                obstacle, kept, owed = first, kept & ~broken, owed + must
            if owed > self.limit or not kept.any():
                break
        left_out = self.rollup.people - int(classes.sizes[kept].sum())
        if left_out <= self.limit and kept.any():
            obstacle, kept, owed = self._check_together(classes, kept, owed)
            left_out = self.rollup.people - int(classes.sizes[kept].sum())
        if obstacle is None:
            obstacle = self._broken_beside(classes, kept)
        return Candidate(node, classes, kept, left_out, obstacle, owed)

    def _broken_beside(self, classes: Classes, kept: Bools) -> Rule | None:
        """The first rule that is broken for people who are out already and would be left out now."""
        beside = self.rollup.beside_left_out(classes, kept)
        return None if beside is None else self.first_broken(*beside)

    def _break_alone(
        self, rules: Sequence[Rule], about: str | None, classes: Classes, kept: Bools
    ) -> tuple[Bools, Rule | None, float]:
        """Classes that break a rule by themselves, the first rule broken, and the people that finer nodes must leave out."""
        view, members = self._alone_view(about, classes, kept)
        broken: Bools = np.zeros(len(classes), dtype=bool)
        owed = np.zeros(len(classes))
        first: Rule | None = None
        for rule in rules:
            values = _alone_values(rule, view, classes)
            here = rule.broken(values) & kept[members] & self.subject(rule, classes, members)
            if not here.any():
                continue
            first = first or rule
            where = members[here]
            broken[where] = True
            people = self._concerned(rule, view, classes, members)
            owed[where] = np.maximum(owed[where], rule.owed(view, values, people)[here])
        return broken, first, float(owed.sum())

    def subject(self, rule: Rule, classes: Classes, members: Ints) -> Bools:
        """The classes that the rule is made for."""
        if rule.only is None:
            return np.ones(len(members), dtype=bool)
        subject: Bools = classes.sums(rule.only.astype(np.float64))[members] > 0
        return subject

    def _concerned(self, rule: Rule, view: View, classes: Classes, members: Ints) -> Floats:
        """People of each class about whom a broken rule proves something; fewer is safe."""
        if isinstance(view, Identity) and rule.only is not None:
            return classes.sums(np.where(rule.only, self.rollup.sizes, 0.0))[members]
        if isinstance(view, Identity):
            return view.sizes
        if rule.only is not None:
            return np.zeros(len(members))
        # Weights are no head count; where knowledge strikes values out, the mass is the people with the others.
        return view.cells.totals if self.rollup.contingency.population is None else np.ones(len(members))

    def view(self, about: str | None, classes: Classes, kept: Bools) -> tuple[View, Ints]:
        """What is published, as the metrics of identity or of one attribute see it, and which classes those are."""
        if about is None:
            return self.rollup.identity(classes, kept), np.flatnonzero(kept)
        belief = self.rollup.belief(about, classes, kept)
        return belief, belief.classes

    def _alone_view(self, about: str | None, classes: Classes, kept: Bools) -> tuple[View, Ints]:
        """The kept classes, and with them all others where the node is remembered: by itself, a class is what it is beside any others."""
        if classes.seen is None:
            return self.view(about, classes, kept)
        if about not in classes.seen:
            classes.seen[about] = self.view(about, classes, np.ones(len(classes), dtype=bool))
        found: tuple[View, Ints] = classes.seen[about]
        return found

    def value(self, rule: Rule, candidate: Candidate) -> float:
        """The number of a rule's metric for what would be published."""
        classes, kept = candidate.classes, candidate.kept
        if rule.looks_at != "class":
            return rule.value(self.view(rule.attribute, classes, kept)[0])
        view, members = self._alone_view(rule.attribute, classes, kept)
        return rule.metric.worst(_alone_values(rule, view, classes)[kept[members]])

    def _check_together(self, classes: Classes, kept: Bools, owed: float) -> tuple[Rule | None, Bools, float]:
        """Leave out classes that break within what is published, round by round, then check the averages."""
        while True:
            broken: Bools = np.zeros(len(classes), dtype=bool)
            first: Rule | None = None
            for rule in self._together:
                view, members = self.view(rule.attribute, classes, kept)
                if not len(members):  # background knowledge can leave no class about which a rule speaks
                    continue
                here = rule.broken(rule.values(view)) & self.subject(rule, classes, members)
                if here.any():
                    first = first or rule
                    broken[members[here]] = True
            if first is None:
                break
            kept = kept & ~broken
            if not kept.any() or classes.sizes[~kept].sum() > self.limit:
                return first, kept, self._owed_to(first, owed)
        for rule in self._averages:
            view, members = self.view(rule.attribute, classes, kept)
            if len(members) and not rule.metric.holds(rule.value(view), rule.promise.bound):
                return rule, kept, self._owed_to(rule, owed)
        return None, kept, owed

    def _owed_to(self, rule: Rule, owed: float) -> float:
        """Where nobody is ever left out, what a monotone rule refuses here it refuses in every finer node."""
        leaves_nobody_out = self.limit == 0 or not (self._alone or self._together)
        return np.inf if leaves_nobody_out and rule.monotone and rule.only is None else owed


def _alone_values(rule: Rule, view: View, classes: Classes) -> Floats:
    """The number of each class by itself, worked out once where the node is remembered."""
    if classes.seen is None:
        return rule.values(view)
    key = rule.attribute, rule.metric.name, rule.promise.l_value
    if key not in classes.seen:
        classes.seen[key] = rule.values(view)
    found: Floats = classes.seen[key]
    return found


class Asked(TypedDict, total=False):
    """What a search may be told besides its promises."""

    beliefs: Mapping[str, Belief] | None
    """The original table's (default: each attribute's own marginal is the prior): the priors that stay in force after suppression."""
    protections: Sequence[Protection]
    population: Floats | None
    """People of the population behind each raw class, for k_map and journalist_risk."""
    suppression: float


def judge_for(
    contingency: Contingency,
    lattice: Lattice | Rollup,
    promises: Sequence[Promise],
    spans: Callable[[Ints], Mapping[str, Sequence[Span]]] | None = None,
    **asked: Unpack[Asked],
) -> Judge:
    """The promises and protections as rules over the counts of a table; what a roll-up of them remembers serves other promises too."""
    given, behind = asked.get("beliefs"), asked.get("population")
    beliefs = default_beliefs(contingency) if given is None else dict(given)
    behind = contingency.population if behind is None else behind
    rules = list(compile_rules(promises, beliefs, has_population=behind is not None))
    all_beliefs = dict(beliefs)
    for protected in choose(asked.get("protections", ()), contingency, beliefs):
        about, extra = protected.about(beliefs)
        all_beliefs |= {name: belief for name, belief in about.items() if name not in beliefs}
        found = compile_rules(extra, about, has_population=behind is not None)
        rules += [replace(rule, only=protected.only, who=protected.protection.who) for rule in found]
    if isinstance(lattice, Rollup):
        rollup = lattice if lattice.beliefs == all_beliefs else replace(lattice, beliefs=all_beliefs)
    else:
        rollup = Rollup(contingency, lattice, all_beliefs, behind, spans)
    return Judge(rollup, tuple(rules), asked.get("suppression", 0.0))
