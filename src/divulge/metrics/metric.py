# SPDX-License-Identifier: Apache-2.0
"""What a metric is: a plain function and the facts about it that the search, the policy, the report and the tests need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.metrics.bounds import Leaves
from divulge.metrics.dense import DenseSums

View = TypeVar("View")
Scope = Literal["identity", "sensitive"]
LooksAt = Literal["class", "class within the table", "table"]
RankingTable = Literal["combinations", "growth"]
TOLERANCE = 1e-9
"""Thresholds are compared with this slack: eq. 6 of Bezzi 2010 is met with equality on its own example."""


def worst_first(badness: Floats, sizes: Any, *, most: int) -> Ints:
    """The positions of the largest numbers, largest first; in a tie the larger class goes first, then the first one.

    Numbers that agree to 12 digits are a tie: engines add up in different orders. A class without a number (nan) is none of the worst.
    """
    rounded = np.round(badness, 12)
    chosen = np.flatnonzero(~np.isnan(rounded))
    if len(chosen) > most > 0:
        least = np.partition(rounded[chosen], len(chosen) - most)[len(chosen) - most]
        chosen = chosen[rounded[chosen] >= least]
    order: Ints = np.lexsort((chosen, -sizes[chosen], -rounded[chosen]))
    return chosen[order[:most]]


def as_it_is(values: Floats) -> Floats:
    """The numbers themselves."""
    return values


@dataclass(frozen=True)
class Convex:
    """What is convex in the posterior and may not exceed the bound: it bounds how many people of a breaking class must be left out."""

    scale: Callable[[Floats], Floats] = as_it_is
    """From the promised number (and its bound) to what is convex."""
    half: Callable[[Any], Floats] | None = None
    """The convex one of two halves, where the number as a whole is not convex; of the view."""


@dataclass(frozen=True)
class Metric(Generic[View]):
    """One number for a table and, where that exists, one for each class."""

    name: str
    scope: Scope
    """identity: who is this? sensitive: what does this person have?"""
    symbol: str
    unit: str
    worse: Literal["high", "low"]
    """Which end is worse for the people in the table."""
    monotone: bool
    """Merging classes never makes it worse, so a search may prune by it."""
    source: str
    """Paper and definition."""
    plain: str
    """One sentence for people who do not know the symbol."""
    formula: str = ""
    """As it is typed: `frac{}{}`, `sqrt{}`, `_` and `^`, names and signs between spaces; the reference page says what each letter is."""
    per_class: Callable[[View], Floats] | None = None
    of_table: Callable[[View], float] | None = None
    """The table's number where it is not the worst class's, for example an average."""
    needs_population: bool = False
    overlapping: bool = False
    """Told with wildcards too, where a person may match several classes: it looks at how many people each one matches."""
    kind: Literal["risk", "limit", "description"] = "risk"
    """A risk can be promised; a limit is a bound to set promises by; a description only describes."""
    against_prior: bool = False
    """It compares with the prior. Where that depends on the class it changes as classes merge, and what is proved for one prior is not."""
    strict: bool = False
    """A promise needs a value strictly below its bound (recursive diversity: r1 < c * tail)."""
    takes_l: bool = False
    """A promise gives an l beside the bound (recursive diversity)."""
    by_distance: bool = False
    """It depends on the ground distance between values (t-closeness)."""
    by_guess: bool = False
    """It depends on when a guess is right: how near it must be, and how many tries there are."""
    within_table: bool = False
    """The number of a class changes when other classes are left out; otherwise it depends on the class and the prior alone."""
    absorbing: bool = False
    """A class that keeps a bound still does when others are merged in, so no part of a breaking class keeps it."""
    convex: Convex | None = None
    """What a class that breaks a bound proves about its parts, by convexity."""
    links: bool = False
    """The chance that a record is tied to the person whose it is: what reviewers call linkability."""
    leads: bool = False
    """Where nobody says by which metric, classes are listed by this one; one for each scope."""
    common: int = 0
    """The place among the promises that are made so often that the help of commands has a flag for them; 0: none."""
    begins_at: float | None = None
    """The bound that a new policy begins with; None: it is no part of one."""
    sql: str = ""
    """Its number of a class in plain SQL, over what `divulge dbt` sums up of the class; empty: it is no test there."""
    orders_rankings: bool = False
    """Sets of columns are ordered and pruned by it: a column never lowers it, and adds least to the largest set (submodular)."""
    ranked: str = ""
    """The head of its column where quasi-identifiers are ranked; empty: it is no part of a ranking."""
    ranked_in: tuple[RankingTable, ...] = ("combinations", "growth")
    """The tables of a ranking that show it; its document holds it anyway."""
    dense: Callable[[DenseSums], float] | None = None
    """A faster way to the table's number, from a dense table of values by classes; None: from the belief, as everywhere else."""
    leaves: Leaves | None = None
    """The most that a promise leaves to a guess by somebody who knows the class of a person; None: it promises nothing about guesses."""

    @property
    def looks_at(self) -> LooksAt:
        """What a promise about it is held against: an average is kept or broken by the table, not by a class."""
        if self.per_class is None or self.of_table is not None:
            return "table"
        return "class within the table" if self.within_table else "class"

    def value(self, view: View) -> tuple[float, int | None]:
        """The table's number and the position of the worst class, if classes have one of their own."""
        numbers = None if self.per_class is None else self.per_class(view)
        worst = None if numbers is None else self.first_worst(numbers)
        if self.of_table is not None:
            return self.of_table(view) + 0.0, worst  # -0.0 + 0.0 is 0.0
        if numbers is None:
            raise TypeError(f"metric {self.name} has neither a class nor a table function")
        return self.worst(numbers), worst

    def worst(self, numbers: Floats) -> float:
        """Of numbers of classes."""
        return float(numbers.max() if self.worse == "high" else numbers.min()) + 0.0  # -0.0 + 0.0 is 0.0

    def first_worst(self, numbers: Floats) -> int:
        """The first class that has the worst number but for rounding, so that engines name the same class."""
        badness = numbers if self.worse == "high" else -numbers
        worst = badness.max()
        slack = 1e-12 * max(abs(worst), 1.0) if np.isfinite(worst) else 0.0
        return int(np.argmax(badness >= worst - slack))

    @property
    def sign(self) -> str:
        """What stands between the metric and its bound."""
        return "<" if self.strict else ("<=" if self.worse == "high" else ">=")

    def holds(self, value: Any, bound: float) -> Any:
        """Whether a value (or an array of them) keeps a bound, with the common tolerance."""
        if self.strict:
            return value < bound - TOLERANCE
        return value <= bound + TOLERANCE if self.worse == "high" else value >= bound - TOLERANCE
