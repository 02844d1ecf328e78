# SPDX-License-Identifier: Apache-2.0
"""A metric: a function, and the properties that searches, policies, views and tests need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.metrics.dense import DenseSums
from divulge.metrics.guess_bounds import GuessBound

View = TypeVar("View")
Scope = Literal["identity", "sensitive"]
LooksAt = Literal["class", "class within the table", "table"]
RankingTable = Literal["combinations", "growth"]
TOLERANCE = 1e-9
"""The tolerance of comparisons with thresholds.

Eq. 6 of Bezzi 2010 is met with equality in the paper's own example.
"""


def worst_first(badness: Floats, sizes: Any, *, limit: int) -> Ints:
    """The positions of the largest numbers, largest first.

    Ties are broken by the larger class, then by position. Numbers that agree to 12 digits are a
    tie, because engines add in different orders. A class without a number (NaN) is not among the
    worst.
    """
    rounded = np.round(badness, 12)
    candidates = np.flatnonzero(~np.isnan(rounded))
    if len(candidates) > limit > 0:
        threshold = np.partition(rounded[candidates], len(candidates) - limit)[
            len(candidates) - limit
        ]
        candidates = candidates[rounded[candidates] >= threshold]
    order: Ints = np.lexsort((candidates, -sizes[candidates], -rounded[candidates]))
    return candidates[order[:limit]]


def unscaled(values: Floats) -> Floats:
    """Return the numbers unchanged."""
    return values


@dataclass(frozen=True)
class Convex:
    """A function that is convex in the posterior and may not exceed the bound.

    It bounds from below the number of people of a violating class that must be suppressed.
    """

    scale: Callable[[Floats], Floats] = unscaled
    """From the required number (and its bound) to the convex quantity."""
    half: Callable[[Any], Floats] | None = None
    """The convex one of two halves of the number, as a function of the view.

    Set if the number as a whole is not convex.
    """


@dataclass(frozen=True)
class Metric(Generic[View]):
    """A metric: one number for a table and, for most metrics, one for each class."""

    name: str
    scope: Scope
    """identity: the person's identity; sensitive: a sensitive attribute of the person."""
    symbol: str
    unit: str
    worse: Literal["high", "low"]
    """The end of the scale that is worse for the people in the table."""
    monotone: bool
    """True if merging classes never makes it worse, so that a search may prune by it."""
    source: str
    """The paper and definition."""
    plain: str
    """One sentence for people who do not know the symbol."""
    formula: str = ""
    """The formula as typed: `frac{}{}`, `sqrt{}`, `_` and `^`, names and signs between spaces.

    The reference page explains each letter.
    """
    per_class: Callable[[View], Floats] | None = None
    of_table: Callable[[View], float] | None = None
    """The table's number if it is not that of the worst class, for example an average."""
    needs_population: bool = False
    overlapping: bool = False
    """True if it is available with wildcards, where a person may match several classes.

    It uses the number of people who match each class.
    """
    kind: Literal["risk", "limit", "description"] = "risk"
    """A risk can be a requirement; a limit helps to set requirements.

    A description only describes.
    """
    against_prior: bool = False
    """True if it compares with the prior.

    A prior per class changes as classes merge, and proofs for one prior do not apply.
    """
    strict: bool = False
    """True if a value must be strictly below its bound (recursive diversity: r1 < c * tail)."""
    takes_l: bool = False
    """True if a requirement has an l in addition to the bound (recursive diversity)."""
    by_distance: bool = False
    """True if it depends on the ground distance between values (t-closeness)."""
    by_guess: bool = False
    """True if it depends on the guess settings: tolerance and number of tries."""
    within_table: bool = False
    """True if the number of a class changes when other classes are suppressed.

    Otherwise it depends only on the class and the prior.
    """
    absorbing: bool = False
    """True if a class that meets a bound still meets it after others are merged into it.

    No part of a violating class meets the bound then.
    """
    convex: Convex | None = None
    """The convex function by which a violating class proves facts about its parts."""
    links: bool = False
    """True if it is the probability that a record is linked to its person (linkability)."""
    leads: bool = False
    """True if classes are listed by this metric by default; one metric for each scope."""
    common: int = 0
    """The rank among the common requirements that have a flag in the help of commands; 0: none."""
    begins_at: float | None = None
    """The bound in a new policy; None: a new policy does not contain it."""
    begins_as_comment: bool = False
    """True if a new policy contains it as a comment."""
    sql: str = ""
    """The number of a class in plain SQL, over the sums of a class in `divulge dbt`.

    Empty: there is no such test.
    """
    orders_rankings: bool = False
    """True if sets of columns are ordered and pruned by it.

    Adding a column never lowers it and adds least to the largest set (submodular).
    """
    ranked: str = ""
    """The header of its column in a ranking of quasi-identifiers.

    Empty: it is not part of a ranking.
    """
    ranked_in: tuple[RankingTable, ...] = ("combinations", "growth")
    """The tables of a ranking that show it; the JSON output always contains it."""
    dense: Callable[[DenseSums], float] | None = None
    """A faster function for the table's number, from a dense table of values by classes.

    None: the number is computed from the belief.
    """
    leaves: GuessBound | None = None
    """The largest success of a guess that a requirement allows an adversary who knows the class.

    None: the requirement guarantees nothing about guesses.
    """

    @property
    def looks_at(self) -> LooksAt:
        """The scope of a requirement; an average is met or violated by the table, not a class."""
        if self.per_class is None or self.of_table is not None:
            return "table"
        if self.within_table:
            return "class within the table"
        return "class"

    def value(self, view: View) -> tuple[float, int | None]:
        """The table's number, and the position of the worst class if classes have numbers."""
        if self.per_class is None:
            numbers = None
        else:
            numbers = self.per_class(view)
        if numbers is None:
            worst = None
        else:
            worst = self.first_worst(numbers)
        return self._of_table(view, numbers), worst

    def table_value(self, view: View) -> float:
        """The table's number without the worst class."""
        return self._of_table(view, None)

    def _of_table(self, view: View, numbers: Floats | None) -> float:
        """The table's number; `numbers` are those of the classes, if known."""
        if self.of_table is not None:
            return self.of_table(view) + 0.0  # -0.0 + 0.0 is 0.0
        if numbers is None and self.per_class is not None:
            numbers = self.per_class(view)
        if numbers is None:
            raise TypeError(f"metric {self.name} has neither a class nor a table function")
        return self.worst(numbers)

    def worst(self, numbers: Floats) -> float:
        """The worst of the numbers of classes."""
        # -0.0 + 0.0 is 0.0
        return float(numbers.max() if self.worse == "high" else numbers.min()) + 0.0

    def first_worst(self, numbers: Floats) -> int:
        """The first class with the worst number up to rounding, so that engines agree on it."""
        if self.worse == "high":
            badness = numbers
        else:
            badness = -numbers
        worst = badness.max()
        if np.isfinite(worst):
            slack = 1e-12 * max(abs(worst), 1.0)
        else:
            slack = 0.0
        return int(np.argmax(badness >= worst - slack))

    @property
    def sign(self) -> str:
        """The comparison sign between the metric and its bound."""
        if self.strict:
            return "<"
        if self.worse == "high":
            return "<="
        return ">="

    def worst_possible(self, l_value: int | None = None) -> float | None:
        """Return the worst number that any table can have; None if the metric has no such limit.

        A class has at least one person and one value, and no probability or share exceeds 1. The
        Euclidean distance of two distributions is at most sqrt(2). In recursive diversity with l =
        1 the most common value is compared with the whole class.
        """
        if self.kind != "risk":
            return None
        if self.takes_l:
            if l_value == 1:
                return 1.0
            return None
        if self.worse == "low":
            if self.unit in ("people", "values"):
                return 1.0
            return 0.0
        if self.unit == "distance":
            if self.by_distance:
                return 1.0
            return math.sqrt(2)
        if self.unit in ("probability", "share"):
            return 1.0
        return None

    def is_vacuous(self, bound: float, l_value: int | None = None) -> bool:
        """Return True if every table meets the bound, so that it requires nothing."""
        worst = self.worst_possible(l_value)
        return worst is not None and bool(self.holds(worst, bound))

    def holds(self, value: Any, bound: float) -> Any:
        """Return True if a value (or each of an array) meets a bound, within the tolerance."""
        if self.strict:
            return value < bound - TOLERANCE
        if self.worse == "high":
            return value <= bound + TOLERANCE
        return value >= bound - TOLERANCE
