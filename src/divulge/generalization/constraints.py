# SPDX-License-Identifier: Apache-2.0
"""Check of one node against all rules: suppressed classes, feasibility, and what that proves.

Suppression as in ARX: the classes that violate a requirement are suppressed, up to the limit. The
remaining classes must meet every requirement. The prior stays that of the original table. The value
of a class may depend on the other published classes (ITPR, I3, I4, MIL). Then all violating classes
of the remaining table are suppressed together, and the check is repeated until none violates.
Averages (MI, DR, CP, marketer risk) are checked on the remaining classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np

from divulge import arrays, metrics
from divulge.adversary import Belief
from divulge.arrays import Bools, Floats, Ints
from divulge.counting import Contingency
from divulge.errors import BadInput
from divulge.generalization.lattice import Lattice, Node, Span
from divulge.generalization.pruning_rules import Rule, View, compile_rules
from divulge.generalization.rollup import Classes, Rollup, default_beliefs
from divulge.metrics import Identity
from divulge.policy import Promise, Protection, choose


@dataclass(frozen=True, eq=False)
class Candidate:
    """Result of checking one node."""

    node: Node
    classes: Classes = field(repr=False)
    published_mask: Bools = field(repr=False)
    """Mask of the classes that would be published."""
    suppressed: int
    """People in the other classes."""
    obstacle: Rule | None
    """The violated rule; None if the node is a solution."""
    owed: float
    """People that this node and every finer one must suppress, at least."""

    @property
    def feasible(self) -> bool:
        """True if the node is a solution."""
        return self.obstacle is None

    @property
    def published_classes(self) -> int:
        """Number of classes that would be published."""
        return int(self.published.published_mask.sum())

    @cached_property
    def published(self) -> Candidate:
        """The candidate in the classes that a recipient sees: pinned columns do not split them."""
        published_as = self.classes.published_as
        is_kept = self.published_mask
        if published_as is None:
            return self
        number, count = arrays.renumber(published_as[is_kept], int(published_as.max()) + 1)
        of_class = np.full(len(is_kept), count, dtype=np.int64)  # suppressed classes come last
        of_class[is_kept] = number
        sizes = arrays.sum_by_id(of_class, self.classes.sizes, count + 1)
        classes = Classes(self.node, of_class[self.classes.of_raw], sizes)
        return replace(self, classes=classes, published_mask=np.arange(count + 1) < count)

    @property
    def suppressed_raw(self) -> Bools:
        """Mask of the raw classes that are suppressed."""
        left_out: Bools = ~self.published_mask[self.classes.of_raw]
        return left_out


def all_published(classes: Classes) -> Candidate:
    """Candidate without requirements, in which no class is suppressed."""
    return Candidate(classes.node, classes, np.ones(len(classes), dtype=bool), 0, None, 0.0)


@dataclass(frozen=True, eq=False)
class NodeChecker:
    """Checks nodes against rules under a suppression limit."""

    rollup: Rollup
    rules: tuple[Rule, ...]
    suppression: float

    def __post_init__(self) -> None:
        if not self.rules:
            raise BadInput(
                "no promise about classes was made, so nothing needs to be generalized",
                hint=f"for example {metrics.EXAMPLE_REQUIREMENT}",
            )
        if not 0.0 <= self.suppression <= 1.0:
            raise BadInput(
                f"suppression = {self.suppression!r} is not a fraction",
                hint="give a number from 0 to 1, 0.05 for 5 %",
            )

    @cached_property
    def limit(self) -> int:
        """Maximum number of people that may be suppressed."""
        return int(np.floor(self.suppression * self.rollup.people + metrics.TOLERANCE))

    @cached_property
    def _single_class_rules(self) -> list[tuple[str | None, list[Rule]]]:
        """Rules about a single class, grouped by attribute.

        Identity comes first because it is cheapest.
        """
        rules = [rule for rule in self.rules if rule.looks_at == "class"]
        about = dict.fromkeys(
            rule.attribute for rule in sorted(rules, key=lambda rule: rule.attribute is not None)
        )
        return [(name, [rule for rule in rules if rule.attribute == name]) for name in about]

    @cached_property
    def _within_table_rules(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.looks_at == "class within the table"]

    @cached_property
    def _average_rules(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.looks_at == "table"]

    @property
    def looks_at_the_table(self) -> bool:
        """True if some rule depends on more than a single class."""
        return bool(self._within_table_rules or self._average_rules)

    @property
    def settings(self) -> dict[str, Any]:
        """Requirements, priors and ground distances, for a plan."""
        beliefs = self.rollup.beliefs.items()
        return {
            "promises": [rule.text for rule in self.rules],
            "prior": {name: belief.prior.name for name, belief in beliefs},
            "ground_distance": {name: belief.ground.distance for name, belief in beliefs},
        }

    def breaking(self, classes: Classes, is_kept: Bools) -> Bools:
        """Mask of the kept classes that violate a rule about a single class."""
        is_violating: Bools = np.zeros(len(classes), dtype=bool)
        for about, rules in self._single_class_rules:
            is_violating |= self._check_single_class_rules(rules, about, classes, is_kept)[0]
        return is_violating

    def first_broken(self, classes: Classes, is_kept: Bools | None = None) -> Rule | None:
        """Return the first rule that these classes violate; by default all are published."""
        if is_kept is None:
            is_published: Bools = np.ones(len(classes), dtype=bool)
        else:
            is_published = is_kept
        violated_rules = (
            self._check_single_class_rules(rules, about, classes, is_published)[1]
            for about, rules in self._single_class_rules
        )
        return (
            next((rule for rule in violated_rules if rule is not None), None)
            or self.broken_within(classes, is_published)[0]
        )

    def broken_within(
        self, classes: Classes, is_kept: Bools | None = None
    ) -> tuple[Rule | None, Bools]:
        """Return the first violated rule about more than a single class, and a mask of its classes.

        All classes are published.
        """
        if is_kept is None:
            is_published: Bools = np.ones(len(classes), dtype=bool)
        else:
            is_published = is_kept
        strict = replace(self, suppression=0.0)
        rule, remaining, _ = strict._check_table_rules(classes, is_published, 0.0)  # noqa: SLF001
        return rule, is_published & ~remaining

    def excludes_finer(self, candidate: Candidate) -> bool:
        """True if no finer node can be a solution: too many people would be suppressed, or all."""
        return candidate.owed > self.limit or candidate.owed >= self.rollup.people

    def check(self, node: Node) -> Candidate:
        """Suppress the violating classes, and check the rest."""
        classes = self.rollup.classes(node)
        is_kept: Bools = np.ones(len(classes), dtype=bool)
        obstacle: Rule | None = None
        owed = 0.0
        for about, rules in self._single_class_rules:
            is_violating, first, must = self._check_single_class_rules(
                rules, about, classes, is_kept
            )
            if first is not None:
                obstacle, is_kept, owed = first, is_kept & ~is_violating, owed + must
            if owed > self.limit or not is_kept.any():
                break
        left_out = self.rollup.people - int(classes.sizes[is_kept].sum())
        if left_out <= self.limit and is_kept.any():
            obstacle, is_kept, owed = self._check_table_rules(classes, is_kept, owed)
            left_out = self.rollup.people - int(classes.sizes[is_kept].sum())
        if obstacle is None:
            obstacle = self._first_broken_with_absent_people(classes, is_kept)
        return Candidate(node, classes, is_kept, left_out, obstacle, owed)

    def _first_broken_with_absent_people(self, classes: Classes, is_kept: Bools) -> Rule | None:
        """Return the first rule violated for people of prior releases who are suppressed now."""
        with_left_behind = self.rollup.with_absent_people(classes, is_kept)
        if with_left_behind is None:
            return None
        return self.first_broken(*with_left_behind)

    def _check_single_class_rules(
        self, rules: Sequence[Rule], about: str | None, classes: Classes, is_kept: Bools
    ) -> tuple[Bools, Rule | None, float]:
        """Check rules about a single class.

        Returns a mask of violating classes, the first violated rule, and the people that finer
        nodes must suppress.
        """
        view, members = self._single_class_view(about, classes, is_kept)
        is_violating: Bools = np.zeros(len(classes), dtype=bool)
        owed = np.zeros(len(classes))
        first: Rule | None = None
        for rule in rules:
            values = _single_class_values(rule, view, classes)
            violates_rule = (
                rule.broken(values) & is_kept[members] & self.subject(rule, classes, members)
            )
            if not violates_rule.any():
                continue
            first = first or rule
            violating_classes = members[violates_rule]
            is_violating[violating_classes] = True
            people = self._affected_people(rule, view, classes, members)
            owed[violating_classes] = np.maximum(
                owed[violating_classes], rule.owed(view, values, people)[violates_rule]
            )
        return is_violating, first, float(owed.sum())

    def subject(self, rule: Rule, classes: Classes, members: Ints) -> Bools:
        """Mask of the classes to which the rule applies."""
        if rule.only is None:
            return np.ones(len(members), dtype=bool)
        subject: Bools = classes.sums(rule.only.astype(np.float64))[members] > 0
        return subject

    def _affected_people(self, rule: Rule, view: View, classes: Classes, members: Ints) -> Floats:
        """People of each class for whom a violated rule proves something; lower is safe."""
        if isinstance(view, Identity) and rule.only is not None:
            return classes.sums(np.where(rule.only, self.rollup.sizes, 0.0))[members]
        if isinstance(view, Identity):
            return view.sizes
        if rule.only is not None:
            return np.zeros(len(members))
        # Weights are not a head count. If background knowledge excludes values, the mass is that of
        # the people with the other values.
        if self.rollup.contingency.population is None:
            return view.cells.totals
        return np.ones(len(members))

    def view(self, about: str | None, classes: Classes, is_kept: Bools) -> tuple[View, Ints]:
        """Return the identity view, or the belief about one attribute, of the published classes.

        Also returns the indices of these classes.
        """
        if about is None:
            return self.rollup.identity(classes, is_kept), np.flatnonzero(is_kept)
        belief = self.rollup.belief(about, classes, is_kept)
        return belief, belief.classes

    def _single_class_view(
        self, about: str | None, classes: Classes, is_kept: Bools
    ) -> tuple[View, Ints]:
        """Return the view of the kept classes, or of all classes if the node is cached.

        The value of a single class does not depend on the other classes.
        """
        if classes.cache is None:
            return self.view(about, classes, is_kept)
        if about not in classes.cache:
            classes.cache[about] = self.view(about, classes, np.ones(len(classes), dtype=bool))
        view: tuple[View, Ints] = classes.cache[about]
        return view

    def value(self, rule: Rule, candidate: Candidate) -> float:
        """Value of a rule's metric for the classes that would be published."""
        classes = candidate.classes
        is_kept = candidate.published_mask
        if rule.looks_at != "class":
            return rule.value(self.view(rule.attribute, classes, is_kept)[0])
        view, members = self._single_class_view(rule.attribute, classes, is_kept)
        return rule.metric.worst(_single_class_values(rule, view, classes)[is_kept[members]])

    def _check_table_rules(
        self, classes: Classes, is_kept: Bools, owed: float
    ) -> tuple[Rule | None, Bools, float]:
        """Suppress classes that violate rules within the published table, round by round.

        Then check the averages.
        """
        while True:
            is_violating: Bools = np.zeros(len(classes), dtype=bool)
            first: Rule | None = None
            for rule in self._within_table_rules:
                view, members = self.view(rule.attribute, classes, is_kept)
                # background knowledge can leave no class to which a rule applies
                if not len(members):
                    continue
                violates_rule = rule.broken(rule.values(view)) & self.subject(
                    rule, classes, members
                )
                if violates_rule.any():
                    first = first or rule
                    is_violating[members[violates_rule]] = True
            if first is None:
                break
            is_kept = is_kept & ~is_violating
            if not is_kept.any() or classes.sizes[~is_kept].sum() > self.limit:
                return first, is_kept, self._owed_after_violation(first, owed)
        for rule in self._average_rules:
            view, members = self.view(rule.attribute, classes, is_kept)
            if len(members) and not rule.metric.holds(rule.value(view), rule.promise.bound):
                return rule, is_kept, self._owed_after_violation(rule, owed)
        return None, is_kept, owed

    def _owed_after_violation(self, rule: Rule, owed: float) -> float:
        """Return infinity if the violated rule excludes every finer node, else `owed`.

        Without suppression, every finer node violates a monotone rule that this node violates.
        """
        leaves_nobody_out = self.limit == 0 or not (
            self._single_class_rules or self._within_table_rules
        )
        if leaves_nobody_out and rule.monotone and rule.only is None:
            return np.inf
        return owed


def _single_class_values(rule: Rule, view: View, classes: Classes) -> Floats:
    """Value of each single class, cached if the node is."""
    if classes.cache is None:
        return rule.values(view)
    key = rule.attribute, rule.metric.name, rule.promise.l_value
    if key not in classes.cache:
        classes.cache[key] = rule.values(view)
    class_values: Floats = classes.cache[key]
    return class_values


class SearchOptions(TypedDict, total=False):
    """Options of a search in addition to its requirements."""

    beliefs: Mapping[str, Belief] | None
    """Beliefs of the original table, whose priors stay in effect after suppression.

    By default the prior of each attribute is its own marginal.
    """
    protections: Sequence[Protection]
    population: Floats | None
    """People of the population behind each raw class, for k_map and journalist_risk."""
    suppression: float


def node_checker(
    contingency: Contingency,
    lattice: Lattice | Rollup,
    promises: Sequence[Promise],
    spans: Callable[[Ints], Mapping[str, Sequence[Span]]] | None = None,
    **options: Unpack[SearchOptions],
) -> NodeChecker:
    """Compile requirements and protections to rules over the counts of a table.

    A `Rollup` that is passed keeps its caches for other requirements.
    """
    explicit_beliefs = options.get("beliefs")
    population = options.get("population")
    if explicit_beliefs is None:
        beliefs = default_beliefs(contingency)
    else:
        beliefs = dict(explicit_beliefs)
    if population is None:
        population = contingency.population
    rules = list(compile_rules(promises, beliefs, has_population=population is not None))
    all_beliefs = dict(beliefs)
    for protected in choose(options.get("protections", ()), contingency, beliefs):
        about, extra = protected.about(beliefs, contingency)
        all_beliefs |= {name: belief for name, belief in about.items() if name not in beliefs}
        protection_rules = compile_rules(extra, about, has_population=population is not None)
        rules += [
            replace(rule, only=protected.only, who=protected.protection.who)
            for rule in protection_rules
        ]
    if isinstance(lattice, Rollup):
        if lattice.beliefs == all_beliefs:
            rollup = lattice
        else:
            rollup = replace(lattice, beliefs=all_beliefs)
    else:
        rollup = Rollup(contingency, lattice, all_beliefs, population, spans)
    return NodeChecker(rollup, tuple(rules), options.get("suppression", 0.0))
