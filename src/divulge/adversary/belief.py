# SPDX-License-Identifier: Apache-2.0
"""Prior and posterior belief about one attribute, class by class (Afifi et al. 2018, Def. 2 to 4).

The posterior x is the attribute's distribution inside an equivalence class. The prior a is the
adversary's distribution before publication. Every metric of a sensitive attribute is a function of
one `Belief`. Only values that occur in a class have a cell. The prior of the absent values is kept
as sums, so that the cost grows with the cells and not with classes times values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from divulge import arrays
from divulge.adversary.ground_distance import GroundDistance
from divulge.adversary.prior import PriorBelief
from divulge.arrays import Floats, Ints
from divulge.counting import Cells


@dataclass(frozen=True, eq=False)
class TableTotals:
    """Facts about the whole table that a metric of one class needs.

    They come from the cells, or from sums over all parts if an engine holds the classes in parts.
    """

    marginal: Floats = field(repr=False)
    """The mass of each value."""
    classes: int
    class_entropy: float
    """H(class)."""
    class_entropy_of_value: Floats = field(repr=False)
    """H(class | value), one per value."""
    remaining_entropy: float
    """H(W | class), averaged over people."""
    fewest_values: int
    """The smallest number of distinct values in a class."""

    @classmethod
    def of(cls, cells: Cells, marginal: Floats | None = None) -> TableTotals:
        """Compute the facts from all cells of a table.

        With `marginal`, the cells are some classes of a table with that marginal. The result is
        then a part that can be added to the others.
        """
        if marginal is None:
            marginal = cells.marginal
        class_share = cells.totals / marginal.sum()
        value_shares = cells.mass / marginal[cells.value]
        class_shares = cells.mass / cells.totals[cells.class_index]
        return cls(
            marginal=marginal,
            classes=len(cells.start) - 1,
            class_entropy=-float((class_share * np.log2(class_share)).sum()),
            class_entropy_of_value=arrays.sum_by_id(
                cells.value, -value_shares * np.log2(value_shares), len(cells.domain)
            ),
            remaining_entropy=-arrays.dot(
                class_share, cells.sum_by_class(class_shares * np.log2(class_shares))
            ),
            fewest_values=int(np.diff(cells.start).min()),
        )

    def plus(self, other: TableTotals) -> TableTotals:
        """Add two parts of one table."""
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
        """p(value) in the published table itself, independent of the prior."""
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
    """Averages over the people of the table that depend on the prior or the guess settings."""

    surprise: float
    """The mean KL divergence of the classes from their priors."""
    vulnerability: float
    """The probability that the best guess is right after publication."""
    prior_vulnerability: float
    """The probability that the best guess is right before publication, by the class priors."""

    def plus(self, other: Averages) -> Averages:
        """Add two parts of one table; each class weighs by its share of the table."""
        return Averages(
            self.surprise + other.surprise,
            self.vulnerability + other.vulnerability,
            self.prior_vulnerability + other.prior_vulnerability,
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """Belief about one attribute: prior a, posterior x per class, and the ground distance."""

    cells: Cells
    prior: PriorBelief
    ground: GroundDistance
    classes: Ints = field(repr=False)
    """The indexes of these classes in the contingency.

    Background knowledge can empty some classes.
    """
    recursive_l: int | None = None
    """The l of recursive (c,l)-diversity; the default is the table's own distinct l."""
    given_whole: TableTotals | None = field(default=None, repr=False)
    """Facts about the whole table, if the cells are only a part of it."""
    given_averages: Averages | None = None
    """Averages over the whole table, if the cells are only a part of it."""

    @cached_property
    def whole_table(self) -> TableTotals:
        """Facts about the whole table."""
        if self.given_whole is None:
            return TableTotals.of(self.cells)
        return self.given_whole

    @classmethod
    def of_table(cls, cells: Cells) -> Belief:
        """Build the default belief: the prior is the table's own marginal.

        Distances are ordered for numbers and dates, else equal.
        """
        prior = PriorBelief("table", cells.marginal[None, :])
        classes = np.arange(len(cells.start) - 1, dtype=np.int64)
        return cls(
            cells, prior, GroundDistance("ordered" if cells.domain.is_ordered else "equal"), classes
        )

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
        """log2(x/a) per cell; infinite if the prior excluded a value that occurs."""
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
        return self.whole_table.mutual_information

    @cached_property
    def prior_entropy(self) -> Floats:
        """H(W) in bits under the prior of each class."""
        return self.prior.of_classes(self.prior.entropy, len(self.classes))

    @cached_property
    def surprise(self) -> Floats:
        """The KL divergence of each class from its prior."""
        return np.maximum(self.cells.sum_by_class(self.posterior * self.log_ratio), 0.0)

    @cached_property
    def mean_surprise(self) -> float:
        """The KL divergence of the classes from their priors, averaged over people.

        It is the mutual information if the prior is the table's own marginal. Any other prior that
        all classes share gives a larger average.
        """
        averages = self.given_averages
        if averages is None:
            return arrays.dot(self.class_share, self.surprise)
        return averages.surprise

    @cached_property
    def vulnerability(self) -> Floats:
        """The probability that the best guess about a person is right, per class.

        This is the Bayes vulnerability (Smith 2009).
        """
        return self.ground.guess.best(self.cells) / self.cells.totals

    @cached_property
    def mean_vulnerability(self) -> float:
        """The vulnerability averaged over people.

        It is the expected share of right guesses of an adversary who guesses every person's value.
        """
        averages = self.given_averages
        if averages is None:
            return arrays.dot(self.class_share, self.vulnerability)
        return averages.vulnerability

    @cached_property
    def prior_vulnerability(self) -> Floats:
        """The probability that the best guess by the prior of each class is right."""
        weights = self.prior.weights
        rows, values = np.nonzero(weights > 0)
        start = np.searchsorted(rows, np.arange(len(weights) + 1))
        guessed_mass = self.ground.guess.best(
            Cells(self.cells.domain, start, values, weights[rows, values])
        )
        return self.prior.of_classes(guessed_mass / self.prior.totals, len(self.classes))

    @cached_property
    def mean_prior_vulnerability(self) -> float:
        """The prior vulnerability averaged over people.

        It is one number if all classes have the same prior.
        """
        averages = self.given_averages
        if averages is None:
            return arrays.dot(self.class_share, self.prior_vulnerability)
        return averages.prior_vulnerability

    def averages(self, total: float) -> Averages:
        """Averages of these classes, as a part of a table of mass `total`."""
        share = self.cells.totals / total
        numbers = (self.surprise, self.vulnerability, self.prior_vulnerability)
        return Averages(*(arrays.dot(share, column) for column in numbers))

    @cached_property
    def class_share(self) -> Floats:
        """p(class) in the published table."""
        return self.cells.totals / self.whole_table.total

    @cached_property
    def absent_values(self) -> Floats:
        """The number of values that the prior considers possible and the class rules out."""
        possible = self.prior.of_classes(self.prior.support, len(self.classes))
        return possible - self.cells.sum_by_class((self.prior_of_cell > 0).astype(np.float64))

    def absent_prior(self, power: int) -> Floats:
        """The sum of a^power over the values absent from each class.

        Exactly 0 if no value is absent.
        """
        prior_sums = self.prior.of_classes(
            (self.prior.weights**power).sum(axis=1), len(self.classes)
        )
        scale = self.prior.of_classes(self.prior.totals, len(self.classes)) ** power
        weights = self.prior.of_cells(self.prior.weights, self.cells)
        # Sums of whole counts are exact in floats, so a rounding error of a_i cannot look like an
        # absent value.
        absent = (prior_sums - self.cells.sum_by_class(weights**power)) / scale
        return np.where(self.absent_values > 0, np.maximum(absent, 0.0), 0.0)
