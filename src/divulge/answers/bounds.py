# SPDX-License-Identifier: Apache-2.0
"""A number that a release does not fix: its mean over everything that could have led to the release, and its hard bounds.

The mean takes every arrangement of the rows of a group for equally likely (equation 11 of Yao et al. 2021). The bounds take nothing for
likely: they are the least and the greatest sum that any arrangement gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import arrays
from divulge.arrays import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa


_HALVINGS = 60


def numbers_of(found: pa.Table, name: str, kind: Any = np.int64) -> Any:
    """A column of whole numbers, or of another kind."""
    return found.column(name).to_numpy().astype(kind, copy=False)


@dataclass(frozen=True, eq=False)
class Arrangements:
    """Hits of an anatomized release; hit h combines one row of each table that is asked."""

    group: Ints = field(repr=False)
    size: Ints = field(repr=False)
    """The records of the hit's group."""
    counts: tuple[Ints, ...] = field(repr=False)
    """For each table, how many records of the group have the hit's part in it."""
    parts: tuple[Ints, ...] = field(repr=False)
    """For each table, the number of that part; no two groups share one."""
    value: Floats = field(repr=False)
    """What each hit adds to the sum: 1 for a count."""
    carrier: int | None
    """The table that alone decides the value, where the tables answer the condition one by one; bounds are exact then."""

    def mean(self, value: Floats) -> float:
        """Equation 11, summed over the groups."""
        return float((value * self._expected).sum())

    def most(self, value: Floats) -> float:
        """The greatest sum of any arrangement; where parts are entangled, a sum that none exceeds."""
        if len(value) == 0:
            return 0.0
        if self.carrier is None:
            return self._not_exceeded(value)
        return self._choice(value)(0.0)[0]

    def highest_average(self, value: Floats) -> float:
        """The highest average of any arrangement; where parts are entangled, one that none exceeds."""
        if self.carrier is not None:
            return raise_average(self._choice(value))
        low, high = float(value.min()), float(value.max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._not_exceeded(value - middle) > 0 else (low, middle)
        return high

    @cached_property
    def _expected(self) -> Floats:
        """How many records of each hit are expected."""
        expected = self.size.astype(np.float64)
        for counts in self.counts:
            expected *= counts / self.size
        return expected

    @cached_property
    def _groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def _sizes(self) -> Floats:
        """The records of each group."""
        return self._shared(self.size, 1)

    def _shared(self, per_hit: Ints, empty: int) -> Floats:
        """For each group, the number that all its hits have; a number of its own where it has none."""
        found = np.full(self._groups, float(empty))
        found[self.group] = per_hit
        return found

    def _by_group(self, per_hit: Floats, hits: Ints | slice = slice(None)) -> Floats:
        """Sums by group over the hits, or over some of them."""
        return arrays.sum_by_id(self.group[hits], per_hit, self._groups)

    def _choice(self, value: Floats) -> Callable[[float], tuple[float, float]]:
        """Each table answers for itself: of the carrier's records, any set of a possible size can be the matching one.

        The possible sizes run from what the tables cannot avoid to the scarcest table's count. Taking the records in
        descending value, those above a limit are taken as long as possible, the others only as far as unavoidable: the
        function returned gives, for a limit, the sum of their values and their number.
        """
        carrier = self.carrier or 0
        carried = self._by_group(self.counts[carrier].astype(np.float64)).astype(np.int64)
        scarcest, unavoidable = carried.copy(), carried.copy()
        for table, counts in enumerate(self.counts):
            if table != carrier:
                others = self._shared(counts, 0).astype(np.int64)
                scarcest = np.minimum(scarcest, others)
                unavoidable += others - self._sizes.astype(np.int64)
        unavoidable = np.maximum(unavoidable, 0)
        order = np.lexsort((-value, self.group))
        group, count, values = self.group[order], self.counts[carrier][order], value[order]
        before = np.cumsum(count) - count - (np.cumsum(carried) - carried)[group]
        if_wanted = np.clip(scarcest[group] - before, 0, count)
        if_not = np.clip(unavoidable[group] - before, 0, count)

        def take(limit: float) -> tuple[float, float]:
            taken = np.where(values > limit, if_wanted, if_not)
            return float((values * taken).sum()), float(taken.sum())

        return take

    def _not_exceeded(self, value: Floats) -> float:
        """For each table: every record gets the best partner that its part has, whoever else wants it; the least decides."""
        sums = [self._best_partners(table, value) for table in range(len(self.counts))]
        return float(np.minimum.reduce(sums).sum())

    def _best_partners(self, table: int, value: Floats) -> Floats:
        part = self.parts[table]
        keys, first = arrays.class_ids([part], [int(part.max()) + 1], rows=len(value))
        best = np.full(len(first), -np.inf)
        np.maximum.at(best, keys, value)
        partners = np.zeros(len(first), dtype=object)
        ways = np.ones(len(value), dtype=object)
        for other, counts in enumerate(self.counts):
            if other != table:
                ways = ways * counts.astype(object)
        np.add.at(partners, keys, ways)
        always = partners == self.size[first].astype(object) ** (len(self.counts) - 1)
        reached = np.where(always, best, np.maximum(best, 0.0))
        return self._by_group(reached * self.counts[table][first], first)


def raise_average(take: Callable[[float], tuple[float, float]]) -> float:
    """The highest average, by Dinkelbach's steps: what is best above the last average has a higher one, until nothing has.

    `take` gives the sum and the number of the records that it is best to take if each must make up for a limit.
    """
    limit = -np.inf
    while True:
        total, taken = take(limit)
        if taken == 0 or total / taken <= limit:
            return float(limit)
        limit = total / taken
