# SPDX-License-Identifier: Apache-2.0
"""Identity disclosure: k-anonymity, re-identification risks and identity information.

Identity is a uniform choice among people, so all metrics follow from class sizes (Bezzi 2010, eqs.
5 and 6). Sizes may have multiplicities: a column with ten million distinct values is a short list
of (size, number of classes). Metrics in bits are in information.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.counting import Contingency


@dataclass(frozen=True, eq=False)
class Identity:
    """Class sizes, and the entropy of the person."""

    sizes: Floats = field(repr=False)
    repeats: Floats = field(repr=False)
    """The number of classes with each size; 1 if classes are listed one by one."""
    person_entropy: float
    population: Floats | None = field(default=None, repr=False)
    """The size of each class in the population, from survey weights or from a population table."""
    estimated: bool = False
    """True if the population is unknown and its sizes are sums of survey weights."""
    given_whole: Identity | None = field(default=None, repr=False)
    """The view of the whole table, if these classes are only a part of it."""
    class_people: Floats | None = field(default=None, repr=False)
    """The people of each class itself, if classes overlap.

    `sizes` are then the numbers of people who match each class.
    """
    given_person_share: float | None = None
    """The share of the person who is in most classes, if a person may own several rows."""
    given_uniques: int | None = None
    """The number of people who are the only person of a class, if a person may own several rows."""

    @property
    def whole_table(self) -> Identity:
        """The view of the whole table."""
        if self.given_whole is None:
            return self
        return self.given_whole

    @classmethod
    def of(
        cls,
        contingency: Contingency,
        population: Floats | None = None,
        *,
        whole_table: Identity | None = None,
    ) -> Identity:
        """The identity view of a counted table.

        With `whole_table`, the contingency contains only some classes of the table with that view.
        """
        sizes = contingency.sizes.astype(np.float64)
        if whole_table is None:
            entropy = contingency.person_entropy
        else:
            entropy = whole_table.person_entropy
        estimated = population is None and contingency.population_estimated
        if population is None and contingency.population is not None:
            # Weights below 1 cannot make a class of the population smaller than the people observed
            # in it.
            population = np.maximum(contingency.population, sizes)
        if entropy is None:
            entropy = float(np.log2(sizes.sum()))
        if whole_table is None:
            share = contingency.person_share
            uniques = contingency.unique_people
        else:
            share = whole_table.given_person_share
            uniques = whole_table.given_uniques
        return cls(
            sizes,
            np.ones(len(sizes)),
            entropy,
            population,
            estimated,
            whole_table,
            given_person_share=share,
            given_uniques=uniques,
        )

    @classmethod
    def of_spectrum(
        cls,
        sizes: Floats,
        repeats: Floats,
        *,
        person_entropy: float | None = None,
        person_share: float | None = None,
        uniques: int | None = None,
    ) -> Identity:
        """Build the view from sizes and the number of classes with each size."""
        if person_entropy is None:
            entropy = float(np.log2(arrays.dot(sizes, repeats)))
        else:
            entropy = person_entropy
        return cls(sizes, repeats, entropy, given_person_share=person_share, given_uniques=uniques)

    @property
    def overlapping(self) -> bool:
        """True if a person may match several classes."""
        return self.class_people is not None

    @property
    def members(self) -> Floats:
        """The people of each class itself."""
        if self.class_people is None:
            return self.sizes
        return self.class_people

    @cached_property
    def total(self) -> float:
        """People in all classes."""
        return arrays.dot(self.whole_table.members, self.whole_table.repeats)

    @cached_property
    def classes(self) -> float:
        """The number of classes."""
        return float(self.whole_table.repeats.sum())

    @cached_property
    def class_share(self) -> Floats:
        """p(class)."""
        return self.members / self.total

    @property
    def person_share(self) -> float:
        """The largest p(person); 1/n if each row is its own person."""
        if self.given_person_share is None:
            return 1.0 / self.total
        return self.given_person_share

    @cached_property
    def entropy(self) -> Floats:
        """H(X | class) = log2 of its size."""
        return np.log2(self.sizes)

    @cached_property
    def mutual_information(self) -> float:
        """I(X; class) = H(X) - sum p H(X | class)."""
        table_view = self.whole_table
        return arrays.never_negative(
            self.person_entropy
            - arrays.dot(table_view.class_share * table_view.repeats, table_view.entropy)
        )


def k_anonymity(identity: Identity) -> Floats:
    """People in the class; the minimum over classes is k."""
    return identity.sizes


def class_count(identity: Identity) -> float:
    """Distinct combinations of quasi-identifiers."""
    return identity.classes


def mean_size(identity: Identity) -> float:
    """People per class on average."""
    return identity.total / identity.classes


def median_size(identity: Identity) -> float:
    """The median class size: half of the classes are no larger."""
    sizes = identity.whole_table.sizes
    repeats = identity.whole_table.repeats
    order = np.argsort(sizes)
    cumulative_classes = np.cumsum(repeats[order])
    middle = (identity.classes + 1) / 2
    low = sizes[order][np.searchsorted(cumulative_classes, np.floor(middle))]
    high = sizes[order][np.searchsorted(cumulative_classes, np.ceil(middle))]
    return float(low + high) / 2


def largest_size(identity: Identity) -> float:
    """People in the largest class."""
    return float(identity.whole_table.sizes.max())


def uniques(identity: Identity) -> float:
    """Distinct people who are the only person of their class, or of one of their classes."""
    if identity.whole_table.given_uniques is not None:
        return float(identity.whole_table.given_uniques)
    return single_person_classes(identity)


def single_person_classes(identity: Identity) -> float:
    """The number of classes with one person.

    A person who owns several rows may be the only person of several classes.
    """
    return float(identity.whole_table.repeats[identity.whole_table.sizes == 1].sum())


def prosecutor_risk(identity: Identity) -> Floats:
    """1 / size: the probability to pick the right record of a person known to be in the table."""
    return 1.0 / identity.sizes


def marketer_risk(identity: Identity) -> float:
    """Classes / people: the share of right matches if all people are matched at random.

    Each person is matched within their class.
    """
    return identity.classes / identity.total


distinction = marketer_risk
"""ARX's alpha-distinction."""


def hidden_bits(identity: Identity) -> Floats:
    """H(X | class) = log2 size (Bezzi 2010, eq. 5: at least log2 k)."""
    return identity.entropy


def separation(identity: Identity) -> float:
    """ARX's alpha-separation: the share of pairs of people in different classes."""
    pairs = identity.total * (identity.total - 1.0)
    sizes = identity.whole_table.sizes
    repeats = identity.whole_table.repeats
    pairs_within_classes = arrays.dot(sizes * (sizes - 1.0), repeats)
    if pairs > 0:
        return 1.0 - pairs_within_classes / pairs
    return 0.0
