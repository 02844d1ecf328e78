# SPDX-License-Identifier: Apache-2.0
"""Requirements compiled for a search, and what a violating class proves about finer nodes.

A rule looks at a single class, at a class within the published table, or at the whole table
(averages). Within the table, ITPR counts the classes, and I3 and I4 use the published marginal.
Suppose that only the classes that meet all requirements are published. Then each rule about a
single class defines how many people of a violating class ANY finer generalization must suppress:

- A rule is absorbing if a class that meets it still does when others are merged in (a size, a
  number of distinct values). No part of a violating class meets it, so all its people are
  suppressed.
- A convex rule f <= b: the published part K of a class C is a union of classes that meet it, so
  f(K) <= b; the rest R has at most the largest f of a single value that occurs in C, f_max. From
  f(C) <= (1 - s) f(K) + s f(R) the suppressed share is s >= (f(C) - b) / (f_max - b).
- Any other rule that merging never makes worse: at least one person. Otherwise all parts would meet
  it, and so would their union.
- A rule that compares with a prior which depends on the class proves nothing. Merging mixes priors
  by the adversary's weights and classes by the table's, so classes that each look as expected can
  look unexpected once merged.
- A rule that is not monotone proves nothing. Entropy leakage |H(prior) - H| <= b has a convex half,
  H(prior) - H <= b, which does.

Without suppression, a violated monotone rule of any kind proves that every finer node violates it
too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge import metrics
from divulge.adversary import Belief
from divulge.arguments import Sentence, marked, outside
from divulge.arrays import Bools, Floats
from divulge.counting import Cells
from divulge.metrics import Identity, Metric
from divulge.policy import Promise

View = Identity | Belief


@dataclass(frozen=True, eq=False)
class Rule:
    """One requirement on identity or on one attribute."""

    promise: Promise
    attribute: str | None
    """The sensitive attribute; None for identity."""
    corners: Floats | None = field(default=None, repr=False)
    """For a convex rule: the value of a class in which only one value occurs, for each value."""
    only: Bools | None = field(default=None, repr=False)
    """Mask of the raw classes to which it applies, if it protects only chosen people."""
    who: str = ""
    """Description of these people."""
    one_prior: bool = True
    """Every class is compared with the same prior, or the metric uses none."""

    @property
    def metric(self) -> Metric[Any]:
        """The metric of the requirement."""
        return self.promise.metric

    @property
    def looks_at(self) -> metrics.LooksAt:
        """Scope: a single class, a class within the published table, or the whole table."""
        return self.metric.looks_at

    @property
    def monotone(self) -> bool:
        """True if merging classes never makes it worse."""
        return self.metric.monotone and self.one_prior

    @property
    def text(self) -> str:
        """Text for display."""
        if self.attribute is None:
            promise = self.promise
        else:
            promise = replace(self.promise, attribute=self.attribute)
        if self.only is not None:
            return Sentence(f"{marked(promise.text)} for {outside(self.who)}")
        return promise.text

    def values(self, view: View) -> Floats:
        """Value of each class."""
        if self.metric.per_class is None:
            raise TypeError(f"{self.metric.name} has no number for a class")
        return self.metric.per_class(self._with_l(view))

    def value(self, view: View) -> float:
        """Value of the table."""
        return self.metric.value(self._with_l(view))[0]

    def _with_l(self, view: View) -> View:
        if self.promise.l_value is None or isinstance(view, Identity):
            return view
        return replace(view, recursive_l=self.promise.l_value)

    def broken(self, values: Floats) -> Bools:
        """Mask of the values that violate the requirement."""
        is_violated: Bools = ~self.metric.holds(values, self.promise.bound)
        return is_violated

    def owed(self, view: View, values: Floats, people: Floats) -> Floats:
        """Minimum number of people of each violating class that every finer node suppresses."""
        if not self.one_prior:
            return np.zeros(len(values))
        if self.metric.absorbing:
            return people
        # A rule for chosen people does not apply to parts without them, so their union proves
        # nothing about the parts.
        if self.only is not None:
            return np.zeros(len(values))
        if self.monotone:
            least = np.ones(len(values))
        else:
            least = np.zeros(len(values))
        convex = self.metric.convex
        if self.corners is None or convex is None or not isinstance(view, Belief):
            return least
        return np.maximum(least, self._owed_by_convexity(convex, view, values, people))

    def _owed_by_convexity(
        self, convex: metrics.Convex, belief: Belief, values: Floats, people: Floats
    ) -> Floats:
        if convex.half is None:
            here = convex.scale(values)
        else:
            here = convex.half(belief)
        with np.errstate(divide="ignore"):
            bound = float(convex.scale(np.array([self.promise.bound]))[0]) + metrics.TOLERANCE
        if not np.isfinite(bound):
            return np.zeros(len(values))
        corners = np.asarray(self.corners)
        worst = belief.cells.max_by_class(corners[belief.cells.value])
        room = np.where((worst > bound) & np.isfinite(worst), worst - bound, np.inf)
        share = np.clip((here - bound) / room, 0.0, 1.0)
        return np.ceil(people * share - 1e-6)


def compile_rules(
    promises: Sequence[Promise], beliefs: Mapping[str, Belief], *, has_population: bool = False
) -> tuple[Rule, ...]:
    """Compile one rule per requirement and attribute, the cheapest to check first."""
    rule_pairs = [
        pair
        for promise in promises
        for pair in promise.spread(beliefs, has_population=has_population)
    ]
    rules = [
        _rule(promise, about, None if about is None else beliefs[about])
        for promise, about in rule_pairs
    ]
    kinds = ("class", "class within the table", "table")
    return tuple(
        sorted(rules, key=lambda rule: (kinds.index(rule.looks_at), rule.attribute is not None))
    )


def _rule(promise: Promise, about: str | None, belief: Belief | None) -> Rule:
    metric = promise.metric
    one_prior = belief is None or belief.prior.row is None or not metric.against_prior
    rule = Rule(promise, about, one_prior=one_prior)
    convex = metric.convex
    if belief is None or convex is None or rule.looks_at != "class" or not one_prior:
        return rule
    corners = _corners(belief)
    return replace(
        rule,
        corners=convex.scale(rule.values(corners)) if convex.half is None else convex.half(corners),
    )


def _corners(belief: Belief) -> Belief:
    """Belief with one class for each value, in which only that value occurs.

    A convex function is largest at one of these.
    """
    values = len(belief.cells.domain)
    corner = np.arange(values, dtype=np.int64)
    cells = Cells(
        belief.cells.domain, np.arange(values + 1, dtype=np.int64), corner, np.ones(values)
    )
    # A metric that is evaluated here with several priors uses none of them.
    prior = replace(belief.prior, weights=belief.prior.weights[:1], row=None)
    return Belief(cells, prior, belief.ground, corner, belief.recursive_l)
