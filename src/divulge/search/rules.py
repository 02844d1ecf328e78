# SPDX-License-Identifier: Apache-2.0
"""Promises made ready for a search: what each looks at, and what a class that breaks it proves about every finer generalization.

A rule looks at a class by itself, at a class within what is published (ITPR counts the classes, I3 and I4 use the published marginal),
or at the whole table (averages). Each rule that looks at a class by itself says how many people of a breaking class must be left out by ANY
finer generalization, where only the classes that keep all promises are published:

- A rule is absorbing if a class that keeps it still does when others are merged in (a size, a number of distinct values). No part of a
  breaking class keeps it, so all its people are left out.
- A convex rule f <= b: the published part K of a class C is a union of classes that keep it, so f(K) <= b; the rest R has at most the
  largest f of a single value that occurs in C, f_max. From f(C) <= (1 - s) f(K) + s f(R) the share left out is
  s >= (f(C) - b) / (f_max - b).
- Any other rule that merging never makes worse: at least one person, else all parts would keep it and so would their union.
- A rule that compares with a prior which depends on the class proves nothing: merging mixes priors by the adversary's weights and classes
  by the table's, so classes that each look as expected can together look unexpected.
- A rule that is not monotone proves nothing. Entropy leakage |H(prior) - H| <= b has a convex half, H(prior) - H <= b, which does.

With nothing left out (no suppression), a broken monotone rule of any kind proves that every finer node breaks it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge import metrics
from divulge.arrays import Bools, Floats
from divulge.belief import Belief
from divulge.count import Cells
from divulge.metrics import Identity, Metric
from divulge.policy import Promise

View = Identity | Belief


@dataclass(frozen=True, eq=False)
class Rule:
    """One promise about identity or about one attribute."""

    promise: Promise
    attribute: str | None
    """None: identity."""
    corners: Floats | None = field(default=None, repr=False)
    """For a convex rule: what a class would have in which only one value occurs, for each value."""
    only: Bools | None = field(default=None, repr=False)
    """Raw classes it is made for, where it protects chosen people only."""
    who: str = ""
    """These people, in words."""
    one_prior: bool = True
    """Every class is held against the same prior, or the metric against none."""

    @property
    def metric(self) -> Metric[Any]:
        """What is measured."""
        return self.promise.metric

    @property
    def looks_at(self) -> metrics.LooksAt:
        """A class by itself, a class within what is published, or the whole table."""
        return self.metric.looks_at

    @property
    def monotone(self) -> bool:
        """Merging classes never makes it worse."""
        return self.metric.monotone and self.one_prior

    @property
    def text(self) -> str:
        """For people."""
        named = self.promise if self.attribute is None else replace(self.promise, attribute=self.attribute)
        return f"{named.text} for {self.who}" if self.only is not None else named.text

    def values(self, view: View) -> Floats:
        """The number of each class."""
        if self.metric.per_class is None:
            raise TypeError(f"{self.metric.name} has no number for a class")
        return self.metric.per_class(self._with_l(view))

    def value(self, view: View) -> float:
        """The number of the table."""
        return self.metric.value(self._with_l(view))[0]

    def _with_l(self, view: View) -> View:
        if self.promise.l_value is None or isinstance(view, Identity):
            return view
        return replace(view, recursive_l=self.promise.l_value)

    def broken(self, values: Floats) -> Bools:
        """Which values break the promise."""
        broken: Bools = ~self.metric.holds(values, self.promise.bound)
        return broken

    def owed(self, view: View, values: Floats, people: Floats) -> Floats:
        """How many people of each class every finer generalization must leave out at least, if the class breaks the rule."""
        if not self.one_prior:
            return np.zeros(len(values))
        if self.metric.absorbing:
            return people
        # Made for chosen people only, a rule does not bind the parts without them, so their union says nothing about the parts.
        if self.only is not None:
            return np.zeros(len(values))
        least = np.ones(len(values)) if self.monotone else np.zeros(len(values))
        convex = self.metric.convex
        if self.corners is None or convex is None or not isinstance(view, Belief):
            return least
        return np.maximum(least, self._owed_by_convexity(convex, view, values, people))

    def _owed_by_convexity(self, convex: metrics.Convex, belief: Belief, values: Floats, people: Floats) -> Floats:
        here = convex.scale(values) if convex.half is None else convex.half(belief)
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
    """One rule per promise and attribute, in the order in which they are cheapest to check."""
    held = [pair for promise in promises for pair in promise.spread(beliefs, has_population=has_population)]
    rules = [_rule(promise, about, None if about is None else beliefs[about]) for promise, about in held]
    kinds = ("class", "class within the table", "table")
    return tuple(sorted(rules, key=lambda rule: (kinds.index(rule.looks_at), rule.attribute is not None)))


def _rule(promise: Promise, about: str | None, belief: Belief | None) -> Rule:
    metric = promise.metric
    one_prior = belief is None or belief.prior.row is None or not metric.against_prior
    rule, convex = Rule(promise, about, one_prior=one_prior), metric.convex
    if belief is None or convex is None or rule.looks_at != "class" or not one_prior:
        return rule
    alone = _corners(belief)
    return replace(rule, corners=convex.scale(rule.values(alone)) if convex.half is None else convex.half(alone))


def _corners(belief: Belief) -> Belief:
    """One class for each value, which alone occurs in it: a convex function is largest at one of these."""
    values = len(belief.cells.domain)
    corner = np.arange(values, dtype=np.int64)
    cells = Cells(belief.cells.domain, np.arange(values + 1, dtype=np.int64), corner, np.ones(values))
    # A metric that gets here with several priors looks at none of them.
    prior = replace(belief.prior, weights=belief.prior.weights[:1], row=None)
    return Belief(cells, prior, belief.ground, corner, belief.recursive_l)
