# SPDX-License-Identifier: Apache-2.0
"""What an attack achieves: exact figures, the promised bound beside them, and a trial of the attack itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from divulge import anatomy, arrays
from divulge.arrays import Codes, Floats, Ints, Members

_Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Trial:
    """The attack carried out, to check the figures: over all arrangements, or over some drawn at random."""

    how: Literal["enumeration", "sampling"]
    arrangements: int
    """How many arrangements of the rows of the groups were gone through, or drawn."""
    success: float
    """The mean over all people of the adversary's success; exact where all arrangements were gone through."""
    low: float
    """A 95 % interval; the success itself where all arrangements were gone through."""
    high: float


@dataclass(frozen=True)
class AttackOutcome:
    """One attack on one release."""

    attack: str
    target: str
    """What the adversary is after."""
    promise: str
    """The parameter that bounds the attack."""
    bound: Fraction
    """What the release promises."""
    worst: Fraction
    """The adversary's exact success against the person who is worst off."""
    mean: float
    """... and on average over all people."""
    trial: Trial | None = None
    beyond: Mapping[str, float] = field(default_factory=dict)
    """What else the adversary achieves, which the parameter does not bound; each by a sentence that says what it is."""

    @property
    def holds(self) -> bool:
        """The promise covers the attack: nobody is worse off than promised."""
        return self.worst <= self.bound

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "attack": self.attack,
            "promise": self.promise,
            "bound": str(self.bound),
            "worst": str(self.worst),
            "mean": self.mean,
            "holds": self.holds,
            "trial": None if self.trial is None else asdict(self.trial),
            "beyond": dict(self.beyond),
        }


def interval(rates: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval for the mean of independent draws (Student's); people are not independent, draws are.

    >>> [round(bound, 4) for bound in interval([0.1, 0.2] * 10)]
    [0.126, 0.174]
    """
    draws = len(rates)
    if draws < 2:
        return 0.0, 1.0
    mean = sum(rates) / draws
    spread = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (draws - 1) / draws) * student(draws - 1)
    return max(mean - spread, 0.0), min(mean + spread, 1.0)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher; within 0.01 from 9 degrees of freedom on.

    >>> round(student(19), 3)
    2.093
    """
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    return _Z + first / freedom + second / freedom**2


def sampled(rates: Sequence[float]) -> Trial:
    """A trial of some draws, each of all groups at once."""
    return Trial("sampling", len(rates), sum(rates) / len(rates), *interval(rates))


def chances(counts: Sequence[Ints], size: Ints) -> Floats:
    """For each person, the product of count / size."""
    product: Floats = np.multiply.reduce([count / size for count in counts])
    return product


def largest_chance(counts: Sequence[Ints], size: Ints) -> Fraction:
    """The largest product of count / size over all people, exactly: the largest by float, compared as fractions."""
    product = chances(counts, size)
    columns = np.stack([*counts, size])[:, product >= product.max() * (1 - 1e-9)]
    return max(Fraction(math.prod(own), records ** len(own)) for *own, records in np.unique(columns, axis=1).T.tolist())


# --- arrangements -----------------------------------------------------------------------------------------------------
# A release tells which tuples a group has in each table and nothing about which belong together. An arrangement gives each record of
# the first table one row of every other table, no row twice.
@dataclass(frozen=True, eq=False)
class Victims:
    """The people of a release, as the publisher knows them: their group, and their tuple in each table."""

    group: Codes = field(repr=False)
    sizes: Ints = field(repr=False)
    tuples: tuple[Codes, ...] = field(repr=False)
    """For each table of quasi-identifiers, the number of each person's tuple."""
    sensitive: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of(cls, anatomized: anatomy.Anatomized) -> Victims:
        """All people of a release."""
        return cls(
            group=anatomized.group,
            sizes=anatomized.sizes,
            tuples=tuple(table.ids for table in anatomized.problem.tables),
            sensitive=tuple(anatomized.rows.column(name) for name in anatomized.sensitive),
        )

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def group_size(self) -> Ints:
        """The size of each person's group."""
        return self.sizes[self.group]

    @cached_property
    def alike(self) -> tuple[Ints, ...]:
        """For each table of quasi-identifiers, how many records of the own group have the person's tuple."""
        return tuple(self._alike(ids) for ids in self.tuples)

    @cached_property
    def alike_sensitive(self) -> tuple[Ints, ...]:
        """The same for each sensitive attribute."""
        return tuple(self._alike(ids) for ids in self.sensitive)

    @cached_property
    def layout(self) -> Members:
        """People by group."""
        return arrays.lay_out(self.group, len(self.sizes))

    def _alike(self, ids: Codes) -> Ints:
        return arrays.how_many_alike(
            arrays.class_ids([self.group, ids], [len(self.sizes), int(ids.max()) + 1], rows=len(self))[0]
        )


def how_many(victims: Victims, tables: int) -> int:
    """How many arrangements of all groups, one by one, there are to go through for so many tables."""
    return sum(math.factorial(size) ** (tables - 1) for size in victims.sizes.tolist())


def every_arrangement(victims: Victims, tables: int) -> Iterator[tuple[Ints, tuple[Ints, ...]]]:
    """For each group and each of its arrangements: its people, and for each further table whose row each of them gets."""
    for group in range(len(victims.sizes)):
        members, _ = victims.layout.gather(np.array([group]))
        orders = [members[list(order)] for order in itertools.permutations(range(len(members)))]
        for chosen in itertools.product(orders, repeat=tables - 1):
            yield members, chosen


def drawn_arrangement(victims: Victims, rng: np.random.Generator) -> Ints:
    """For each person, whose row of a further table it gets: a random arrangement of every group at once."""
    members = victims.layout.members
    order = np.lexsort((rng.random(len(members)), victims.group[members]))
    partner = np.empty(len(members), dtype=np.int64)
    partner[members] = members[order]
    return partner
