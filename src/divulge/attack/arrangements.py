# SPDX-License-Identifier: Apache-2.0
"""Arrangements: the ways in which the rows of a group can be put together again, all of them or some at random.

A release tells which tuples a group has in each table and nothing about which belong together. An arrangement gives
each record of the first table one row of every other table, no row twice. On small groups all arrangements are gone
through; on large ones some are drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divulge.anatomize.anatomized import Anatomized
from divulge.anatomize.codes import Codes, Ints
from divulge.anatomize.layout import Members, lay_out
from divulge.count.contingency import class_ids


@dataclass(frozen=True, eq=False)
class Victims:
    """The people of a release, as the publisher knows them: their group, and their tuple in each table."""

    group: Codes = field(repr=False)
    sizes: Ints = field(repr=False)
    tuples: tuple[Codes, ...] = field(repr=False)
    """For each table of quasi-identifiers, the number of each person's tuple."""
    sensitive: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of(cls, anatomized: Anatomized) -> Victims:
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
        return lay_out(self.group, len(self.sizes))

    def _alike(self, ids: Codes) -> Ints:
        columns = [self.group.astype(np.int64), ids.astype(np.int64)]
        numbers, first = class_ids(columns, [len(self.sizes), int(ids.max()) + 1], rows=len(self))
        return np.bincount(numbers, minlength=len(first))[numbers]


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
