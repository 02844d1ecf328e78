# SPDX-License-Identifier: Apache-2.0
"""Promises made ready for a search: what each looks at, and what a class that breaks it proves about every finer generalization.

A rule looks at a class by itself, at a class within what is published (ITPR counts the classes, I3 and I4 use the published marginal),
or at the whole table (averages). Pruning needs a proof, so each rule that looks at a class by itself says how many people of a breaking
class must be left out by ANY finer generalization, where only the classes that keep all promises are published:

- A rule is absorbing if a class that keeps it still does when others are merged in (a size, a number of distinct values). No part of a
  breaking class keeps it, so all its people are left out.
- A convex rule f <= b: the published part K of a class C is a union of classes that keep it, so f(K) <= b, and the rest R has
  f(R) <= f_max. From f(C) <= (1 - s) f(K) + s f(R) the share left out is s >= (f(C) - b) / (f_max - b).
- Any other rule that merging never makes worse: at least one person, else all parts would keep it and so would their union.
- A rule that is not monotone (entropy_leakage) proves nothing.

With nothing left out (no suppression), a broken monotone rule of any kind proves that every finer node breaks it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from divulge.belief import Belief
from divulge.count import Cells
from divulge.count.contingency import Floats
from divulge.errors import BadInput, nearest
from divulge.generalize.rollup import Bools
from divulge.metrics import IDENTITY, TOLERANCE, Identity, Metric
from divulge.policy import Promise

View = Identity | Belief

# Numbers of a class that change when other classes are left out; every other per-class number depends on the class and the prior alone.
NEEDS_THE_WHOLE = frozenset(
    {
        ("identity", "specific_information"),
        ("identity", "maximum_information_leakage"),
        ("identity", "maximum_information_leakage_printed"),
        ("identity", "itpr"),
        ("identity", "itpr_unscaled"),
        ("sensitive", "averaged_information"),
        ("sensitive", "set_information"),
        ("sensitive", "maximum_information_leakage"),
        ("sensitive", "maximum_information_leakage_printed"),
        ("sensitive", "itpr"),
        ("sensitive", "itpr_unscaled"),
    }
)
ABSORBING = frozenset(
    {
        ("identity", "k_anonymity"),
        ("identity", "prosecutor_risk"),
        ("identity", "journalist_risk"),
        ("identity", "k_map"),
        ("identity", "conditional_entropy"),
        ("identity", "entropy_l_risk"),
        ("sensitive", "l_diversity"),
        ("sensitive", "values_ruled_out"),
    }
)
# Convex in the posterior, as they are or after the logarithm (whose sign makes "worse" high).
CONVEX = frozenset({"alpha", "t_closeness", "basic_beta_likeness", "surprise", "specific_information", "distribution_leakage"})
CONVEX_LOG = {"entropy_l_diversity": -1.0, "entropy_l_risk": 1.0}


@dataclass(frozen=True, eq=False)
class Rule:
    """One promise about identity or about one attribute."""

    promise: Promise
    attribute: str | None
    """None: identity."""
    looks_at: Literal["class", "class within the table", "table"]
    worst: float
    """The largest value a class could have, for a convex rule; infinite where that is unknown."""
    only: Bools | None = field(default=None, repr=False)
    """Raw classes it is made for, where it protects chosen people only."""

    @property
    def metric(self) -> Metric[Any]:
        return self.promise.metric

    @property
    def text(self) -> str:
        """For people."""
        named = self.promise if self.attribute is None else replace(self.promise, attribute=self.attribute)
        return named.text

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

    def owed(self, values: Floats, people: Floats) -> Floats:
        """For breaking classes: how many of their people (those the rule is about) every finer generalization must leave out, at least."""
        if (self.metric.scope, self.metric.name) in ABSORBING:
            return people
        # Made for chosen people only, a rule does not bind the parts without them, so their union says nothing about the parts.
        if not self.metric.monotone or self.only is not None:
            return np.zeros(len(values))
        least = np.ones(len(values))
        if not np.isfinite(self.worst):
            return least
        bound = self._scaled(np.array([self.promise.bound]))[0] + TOLERANCE
        if self.worst <= bound:
            return least
        share = (self._scaled(values) - bound) / (self.worst - bound)
        return np.maximum(least, np.ceil(people * np.minimum(share, 1.0) - 1e-6))

    def _scaled(self, values: Floats) -> Floats:
        """On the scale on which the rule is convex."""
        return CONVEX_LOG[self.metric.name] * np.log2(values) if self.metric.name in CONVEX_LOG else values


def compile_rules(
    promises: Sequence[Promise], beliefs: Mapping[str, Belief], *, has_population: bool = False, only: Bools | None = None
) -> tuple[Rule, ...]:
    """One rule per promise and attribute, in the order in which they are cheapest to check."""
    rules: list[Rule] = []
    for promise in promises:
        for about in _attributes(promise, beliefs, has_population=has_population):
            metric = _metric(promise, about)
            rules.append(_rule(replace(promise, metric=metric), about, None if about is None else beliefs[about], only))
    kinds = ("class", "class within the table", "table")
    return tuple(sorted(rules, key=lambda rule: (kinds.index(rule.looks_at), rule.attribute is not None)))


def _attributes(promise: Promise, beliefs: Mapping[str, Belief], *, has_population: bool) -> list[str | None]:
    """What the promise is about; as `policy.judge` reads it, a sensitive promise means identity where nothing is sensitive."""
    metric = promise.metric
    if metric.needs_population and not has_population:
        raise BadInput(f"{metric.name} needs a population", hint="give a weight column or a population table")
    if metric.scope == "identity":
        return [None]
    if not beliefs:
        if promise.attribute is None and any(other.name == metric.name for other in IDENTITY):
            return [None]
        raise BadInput(f"{promise.text} is about a sensitive attribute, and none was named", hint="name it with sensitive=")
    if promise.attribute is None:
        return list(beliefs)
    if promise.attribute not in beliefs:
        raise BadInput(f"{promise.text}: {promise.attribute!r} is not a sensitive attribute here", hint=nearest(promise.attribute, beliefs))
    return [promise.attribute]


def _metric(promise: Promise, about: str | None) -> Metric[Any]:
    if about is None and promise.metric.scope == "sensitive":
        return next(metric for metric in IDENTITY if metric.name == promise.metric.name)
    return promise.metric


def _rule(promise: Promise, about: str | None, belief: Belief | None, only: Bools | None) -> Rule:
    metric = promise.metric
    if metric.per_class is None or metric.of_table is not None:
        if only is not None:
            raise BadInput(f"{promise.text} is about the whole table and cannot protect chosen people", hint="choose a promise about classes")
        return Rule(promise, about, "table", np.inf)
    looks_at: Literal["class", "class within the table"] = "class"
    if (metric.scope, metric.name) in NEEDS_THE_WHOLE:
        looks_at = "class within the table"
    rule = Rule(promise, about, looks_at, np.inf, only)
    if belief is None or metric.name not in (CONVEX | CONVEX_LOG.keys()):
        return rule
    return replace(rule, worst=float(rule._scaled(rule.values(_vertices(belief))).max()))  # noqa: SLF001


def _vertices(belief: Belief) -> Belief:
    """One class for each value, which alone occurs in it: a convex function is largest at one of these."""
    values = len(belief.cells.domain)
    corner = np.arange(values, dtype=np.int64)
    cells = Cells(belief.cells.domain, np.arange(values + 1, dtype=np.int64), corner, np.ones(values))
    return Belief(cells, belief.prior, belief.ground, corner, belief.recursive_l)
