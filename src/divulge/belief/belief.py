# SPDX-License-Identifier: Apache-2.0
"""Prior and posterior belief about one attribute, class by class (Afifi et al. 2018, Definitions 2 to 4).

The posterior x is the attribute's distribution inside a class; the prior a is what the adversary held before. Every metric of a sensitive
attribute is a function of one `Belief`. Only values that occur in a class have a cell; what the prior gives to the absent ones is kept
as sums, so that the cost follows the cells and not classes times values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Floats, Ints
from divulge.belief.prior import PriorBelief
from divulge.count import Cells, Domain
from divulge.errors import BadInput
from divulge.hierarchy import read_hierarchy
from divulge.values import as_text

# --- guesses ----------------------------------------------------------------------------------------------------------
# What counts as a right guess of a value: exactly it, a number near it, or one of several tries.
# These are gain functions of quantitative information flow (Alvim et al. 2012): the gain of a guess is 1 where it is right and 0 where not,
# and the vulnerability of a class is the largest gain that a guess can expect there. A number or a date may be guessed by any number or
# date: within 5 means that the window from 5 below the guess to 5 above it holds the value. Several tries are right where one of them is.
_DAYS = 24 * 60 * 60 * 1_000_000
_ROUNDING = 1e-9
"""Of the window: 0.1 + 0.2 is not within 0.3 of 0, as floats are."""


def tries_by_attribute(given: Any) -> dict[str, int]:
    """How many tries there are, checked; a number may be a text."""
    found = _by_attribute("tries", given)
    for attribute, often in found.items():
        if often is None or often < 1 or not often.is_integer():
            raise BadInput(
                f"tries of {attribute!r} is {given[attribute]!r}", hint="give a whole number of guesses, at least 1"
            )
    return {attribute: int(often or 1) for attribute, often in found.items()}


def within_by_attribute(given: Any) -> dict[str, float]:
    """How far a guess may be off, checked; a number may be a text."""
    found = _by_attribute("within", given)
    for attribute, far in found.items():
        if far is None or far < 0:
            told = f"within of {attribute!r} is {given[attribute]!r}"
            raise BadInput(told, hint="give how far a guess may be off, at least 0; of dates, in days")
    return {attribute: far or 0.0 for attribute, far in found.items()}


def _by_attribute(name: str, given: Any) -> dict[str, float | None]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise BadInput(f"{name} is {given!r}", hint=f"give a mapping from attribute to a number, {name}={{'age': 5}}")
    return {attribute: _number(number) for attribute, number in given.items()}


def _number(given: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


@dataclass(frozen=True, eq=False)
class Guess:
    """When a guess of one attribute is right."""

    tries: int = 1
    within: float | None = None
    """How far from the value a guess may be; None: it must be the value."""
    reach: Ints | None = field(default=None, repr=False)
    """For each value the last one that a window beginning with it still holds."""

    @classmethod
    def of(cls, domain: Domain, *, tries: int = 1, within: float | None = None) -> Guess:
        """About the values of a table, in the order they have there."""
        if within is None:
            return cls(tries)
        numbers = _numbers(domain)
        known = int((~np.isnan(numbers)).sum())
        if (np.diff(numbers[:known]) <= 0).any():
            told = f"an order is given for {domain.name!r}, so that its numbers say nothing of what is near"
            raise BadInput(told, hint="leave out the order or within=")
        width = 2.0 * within
        begins = numbers[:known]
        with np.errstate(invalid="ignore"):  # an infinite number is near itself
            until = np.where(np.isfinite(begins), begins + width + _ROUNDING * (width + np.abs(begins)), begins)
        ends = np.searchsorted(begins, until, side="right") - 1
        # What is no number, and null, are near nothing else; they come last.
        return cls(tries, within, np.concatenate([ends, np.arange(known, len(numbers))]).astype(np.int64))

    @property
    def text(self) -> str:
        """For people: exact, within 5, one of 3 within 5."""
        often = f"one of {self.tries}" if self.tries > 1 else ""
        near = "" if self.within is None else f"within {self.within:g}"
        return " ".join(part for part in (often, near) if part) or "exact"

    def best(self, cells: Cells) -> Floats:
        """The people of each class, or the sum of their weights, whose value the best guess about the class gets right."""
        if self.reach is None:
            return cells.max_by_class(cells.mass) if self.tries == 1 else cells.sum_of_largest(self.tries)
        return self._best_windows(cells, self.reach)

    def begins(self, cells: Cells) -> Ints:
        """For each class the cells with which the windows of the best guesses begin, one column per try; -1: nothing is left to guess."""
        reach = np.arange(len(cells.domain)) if self.reach is None else self.reach
        behind, layers = self._windows(cells, reach)
        place, end = cells.start[:-1].copy(), cells.start[1:]
        found = np.full((len(place), self.tries), -1, dtype=np.int64)
        for turn, layer in enumerate(reversed(layers)):
            for number in np.flatnonzero(place < end).tolist():
                chosen = place[number] + int(layer[place[number] : end[number]].argmax())
                found[number, turn], place[number] = chosen, behind[chosen]
        return found

    def _best_windows(self, cells: Cells, reach: Ints) -> Floats:
        return cells.max_by_class(self._windows(cells, reach)[1][-1])

    def _windows(self, cells: Cells, reach: Ints) -> tuple[Ints, list[Floats]]:
        """Windows that do not overlap, from the end of each class: one that begins here, then the best ones behind it.

        For each cell the one behind its window, and by the number of tries what is covered by a window here and the best ones behind it.
        """
        values = len(cells.domain)
        place = cells.class_index * values
        behind = np.searchsorted(place + cells.value, place + reach[cells.value], side="right")
        running = np.concatenate([[0.0], np.cumsum(cells.mass)])
        covered = running[behind] - running[:-1]
        goes_on = behind < cells.start[1:][cells.class_index]
        layers = [covered]
        for _ in range(self.tries - 1):
            best = _best_from_here(layers[-1], cells)
            layers.append(covered + np.where(goes_on, best[np.minimum(behind, len(best) - 1)], 0.0))
        return behind.astype(np.int64), layers


def _best_from_here(found: Floats, cells: Cells) -> Floats:
    """The largest entry from each cell to the end of its class, by steps of 1, 2, 4, ..."""
    best, step = found.copy(), 1
    while step < int(np.diff(cells.start).max()):
        same = cells.class_index[step:] == cells.class_index[:-step]
        best[:-step] = np.where(same, np.maximum(best[:-step], best[step:]), best[:-step])
        step *= 2
    return best


def _numbers(domain: Domain) -> Floats:
    """The values as numbers, dates as days; nan for null."""
    if not domain.is_ordered:
        told = f"within is given for {domain.name!r}, whose values are neither numbers nor dates"
        raise BadInput(told, hint="give tries= for text")
    values = domain.values
    if pa.types.is_temporal(values.type):
        if pa.types.is_time(values.type) or pa.types.is_duration(values.type):
            raise BadInput(f"within is given for {domain.name!r}, whose values are not days of a calendar")
        moments = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        return np.asarray(pc.cast(moments, pa.float64(), safe=False).to_numpy(zero_copy_only=False)) / _DAYS
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


# --- beliefs ----------------------------------------------------------------------------------------------------------
Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, eq=False)
class Ground:
    """How values compare: the ground distance of t-closeness (Li et al. 2007), and when a guess is right.

    A distance is equal, ordered, or by the height of the common ancestor in a taxonomy.
    """

    distance: Distance
    levels: tuple[Ints, ...] = field(default=(), repr=False)
    """For a taxonomy: the node of each value at every level below the root, the values themselves first."""
    guess: Guess = field(default_factory=Guess)


@dataclass(frozen=True, eq=False)
class Whole:
    """Facts about the whole table that a metric of one class needs.

    They come from the cells at hand, or, where an engine holds the classes in parts, from sums over all parts.
    """

    marginal: Floats = field(repr=False)
    """The mass of each value."""
    classes: int
    class_entropy: float
    """H(class)."""
    class_entropy_of_value: Floats = field(repr=False)
    """H(class | value), one per value."""
    remaining_entropy: float
    """H(W | class) on average."""
    fewest_values: int
    """The least number of distinct values in a class."""

    @classmethod
    def of(cls, cells: Cells, marginal: Floats | None = None) -> Whole:
        """From all cells of a table; or from some of its classes and the marginal of all, as a part to be added to the others."""
        marginal = cells.marginal if marginal is None else marginal
        share = cells.totals / marginal.sum()
        of_value = cells.mass / marginal[cells.value]
        within = cells.mass / cells.totals[cells.class_index]
        return cls(
            marginal=marginal,
            classes=len(cells.start) - 1,
            class_entropy=-float((share * np.log2(share)).sum()),
            class_entropy_of_value=arrays.sum_by_id(cells.value, -of_value * np.log2(of_value), len(cells.domain)),
            remaining_entropy=-arrays.dot(share, cells.sum_by_class(within * np.log2(within))),
            fewest_values=int(np.diff(cells.start).min()),
        )

    def plus(self, other: Whole) -> Whole:
        """Two parts of one table as one."""
        return replace(
            self,
            classes=self.classes + other.classes,
            class_entropy=self.class_entropy + other.class_entropy,
            class_entropy_of_value=self.class_entropy_of_value + other.class_entropy_of_value,
            remaining_entropy=self.remaining_entropy + other.remaining_entropy,
            fewest_values=min(self.fewest_values, other.fewest_values),
        )

    @cached_property
    def total(self) -> float:
        """The mass of the table."""
        return float(self.marginal.sum())

    @cached_property
    def shares(self) -> Floats:
        """p(value) in the published table itself, whatever the prior is."""
        return self.marginal / self.total

    @cached_property
    def entropy(self) -> float:
        """H(W) of the published table itself."""
        p = self.shares[self.shares > 0]
        return max(float(-(p * np.log2(p)).sum()), 0.0)

    @property
    def mutual_information(self) -> float:
        """I(W; class) of the published table itself."""
        return arrays.never_negative(self.entropy - self.remaining_entropy)


@dataclass(frozen=True)
class Averages:
    """What is averaged over the people of the whole table and depends on the prior, or on when a guess is right."""

    surprise: float
    """How far all classes are from their priors."""
    vulnerability: float
    """How often the best guess is right after publication."""
    prior_vulnerability: float
    """And how often before, by the priors of the classes."""

    def plus(self, other: Averages) -> Averages:
        """Two parts of one table as one; each class weighs by its share of the table."""
        return Averages(
            self.surprise + other.surprise,
            self.vulnerability + other.vulnerability,
            self.prior_vulnerability + other.prior_vulnerability,
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """One attribute: prior a, posterior x per class, and how distances between values are measured."""

    cells: Cells
    prior: PriorBelief
    ground: Ground
    classes: Ints = field(repr=False)
    """Which classes of the contingency these are: knowledge that rules values out can empty some."""
    recursive_l: int | None = None
    """The l of recursive (c,l)-diversity; by default the table's own distinct l."""
    given_whole: Whole | None = field(default=None, repr=False)
    """Facts about the whole table, where the cells are only a part of it."""
    given_averages: Averages | None = None
    """Averages over the whole table, where the cells are only a part of it."""

    @cached_property
    def whole(self) -> Whole:
        """Facts about the whole table."""
        return Whole.of(self.cells) if self.given_whole is None else self.given_whole

    @classmethod
    def of_table(cls, cells: Cells) -> Belief:
        """The default: the prior is the table's own marginal, distances are ordered for numbers and dates, else equal."""
        prior = PriorBelief("table", cells.marginal[None, :])
        classes = np.arange(len(cells.start) - 1, dtype=np.int64)
        return cls(cells, prior, Ground("ordered" if cells.domain.is_ordered else "equal"), classes)

    @cached_property
    def posterior(self) -> Floats:
        """x: the share of each cell's value in its class."""
        return self.cells.mass / self.cells.totals[self.cells.class_index]

    @cached_property
    def prior_of_cell(self) -> Floats:
        """a: the prior probability of each cell's value."""
        return self.prior.of_cells(self.prior.shares, self.cells)

    @cached_property
    def log_ratio(self) -> Floats:
        """log2(x/a) per cell; infinite where the prior excluded a value that occurs."""
        with np.errstate(divide="ignore"):
            ratio: Floats = np.log2(self.posterior / self.prior_of_cell)
        return ratio

    @cached_property
    def entropy(self) -> Floats:
        """H(W | class) in bits; a class with one value has exactly 0."""
        x = self.posterior
        return np.maximum(-self.cells.sum_by_class(x * np.log2(x)), 0.0)

    @property
    def mutual_information(self) -> float:
        """I(W; class) of the published table."""
        return self.whole.mutual_information

    @cached_property
    def prior_entropy(self) -> Floats:
        """H(W) in bits under the prior of each class."""
        return self.prior.of_classes(self.prior.entropy, len(self.classes))

    @cached_property
    def surprise(self) -> Floats:
        """The Kullback-Leibler distance of each class from its prior."""
        return np.maximum(self.cells.sum_by_class(self.posterior * self.log_ratio), 0.0)

    @cached_property
    def mean_surprise(self) -> float:
        """The same on average over people: the mutual information where the prior is the table's own, more where it is not."""
        given = self.given_averages
        return arrays.dot(self.class_share, self.surprise) if given is None else given.surprise

    @cached_property
    def vulnerability(self) -> Floats:
        """How likely the best guess about somebody in each class is right (Bayes vulnerability, Smith 2009)."""
        return self.ground.guess.best(self.cells) / self.cells.totals

    @cached_property
    def mean_vulnerability(self) -> float:
        """The same on average over people: how often an adversary who guesses everybody's value is right."""
        given = self.given_averages
        return arrays.dot(self.class_share, self.vulnerability) if given is None else given.vulnerability

    @cached_property
    def prior_vulnerability(self) -> Floats:
        """How likely the best guess is right before publication, by the prior of each class."""
        weights = self.prior.weights
        rows, values = np.nonzero(weights > 0)
        start = np.searchsorted(rows, np.arange(len(weights) + 1))
        guessed = self.ground.guess.best(Cells(self.cells.domain, start, values, weights[rows, values]))
        return self.prior.of_classes(guessed / self.prior.totals, len(self.classes))

    @cached_property
    def mean_prior_vulnerability(self) -> float:
        """The same on average over people; one number where all classes have one prior."""
        given = self.given_averages
        return arrays.dot(self.class_share, self.prior_vulnerability) if given is None else given.prior_vulnerability

    def averages(self, total: float) -> Averages:
        """Of these classes, as a part of a table of this mass to be added to the others."""
        share = self.cells.totals / total
        numbers = (self.surprise, self.vulnerability, self.prior_vulnerability)
        return Averages(*(arrays.dot(share, each) for each in numbers))

    @cached_property
    def class_share(self) -> Floats:
        """p(class) in the published table."""
        return self.cells.totals / self.whole.total

    @cached_property
    def absent_values(self) -> Floats:
        """How many values the prior held possible and the class rules out."""
        possible = self.prior.of_classes(self.prior.support, len(self.classes))
        return possible - self.cells.sum_by_class((self.prior_of_cell > 0).astype(np.float64))

    def absent_prior(self, power: int) -> Floats:
        """The sum of a^power over the values absent from each class; exactly 0 where none is absent."""
        whole = self.prior.of_classes((self.prior.weights**power).sum(axis=1), len(self.classes))
        scale = self.prior.of_classes(self.prior.totals, len(self.classes)) ** power
        weights = self.prior.of_cells(self.prior.weights, self.cells)
        # Sums of whole counts are exact in floats, so no rounding of a_i can pass for an absent value.
        absent = (whole - self.cells.sum_by_class(weights**power)) / scale
        return np.where(self.absent_values > 0, np.maximum(absent, 0.0), 0.0)


# --- ground distance --------------------------------------------------------------------------------------------------
# Equal for text and ordered for numbers and dates unless told otherwise; a taxonomy makes it hierarchical. Text has no order of its
# own (an alphabet means nothing), so an ordered distance on text needs the order.
Taxonomy = str | Path | Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class GroundChoice:
    """What the user asked for, by attribute."""

    distances: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)
    within: Mapping[str, float] = field(default_factory=dict)

    def arrange(self, cells: Cells) -> Cells:
        """The cells with the values in the order that was given, if one was."""
        if cells.domain.name not in self.orders:
            return cells
        order = [as_text(value) for value in self.orders[cells.domain.name]]
        labels = [as_text(label) for label in cells.domain.labels]
        twice = [repr(value) for place, value in enumerate(order) if value in order[:place]]
        if twice:
            raise BadInput(f"the order of {cells.domain.name!r} names {', '.join(twice)} twice")
        missing = [repr(label) for label in labels if label not in order]
        if missing:
            raise BadInput(f"the order of {cells.domain.name!r} misses {', '.join(missing)}")
        rank = np.array([order.index(label) for label in labels])
        codes = np.argsort(np.argsort(rank))
        values = cells.domain.values.take(pa.array(np.argsort(rank)))
        return cells.recode(codes, Domain(cells.domain.name, values, cells.domain.kind))

    def ground(self, cells: Cells) -> Ground:
        """What is in force for an attribute whose cells have been arranged."""
        name = cells.domain.name
        guess = Guess.of(cells.domain, tries=self.tries.get(name, 1), within=self.within.get(name))
        return replace(self._distance(cells), guess=guess)

    def _distance(self, cells: Cells) -> Ground:
        name = cells.domain.name
        asked = self.distances.get(name)
        if name in self.taxonomies:
            if asked not in (None, "hierarchical"):
                raise BadInput(f"{name!r} has a taxonomy and is asked to be {asked}", hint="give one of the two")
            hierarchy = read_hierarchy(self.taxonomies[name], name)
            return Ground("hierarchical", hierarchy.nodes_below_root([as_text(label) for label in cells.domain.labels]))
        has_order = cells.domain.is_ordered or name in self.orders
        if asked == "hierarchical":
            told = f"a hierarchical distance for {name!r} needs its taxonomy"
            raise BadInput(told, hint=f"give its file with taxonomies={{{name!r}: ...}}")
        if asked == "ordered" and not has_order:
            told = f"the values of {name!r} are text and have no order"
            raise BadInput(told, hint=f"give their order from low to high with orders={{{name!r}: [...]}}")
        return Ground("ordered" if asked == "ordered" or (asked is None and has_order) else "equal")
