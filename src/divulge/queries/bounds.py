# SPDX-License-Identifier: Apache-2.0
"""Mean and guaranteed bounds of a number over all tables that could have led to a release.

The mean assumes that all arrangements of the rows of a group are equally likely (equation 11 of Yao
et al. 2021). The bounds assume no probabilities: they are the least and the greatest sum over all
arrangements.
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


_BISECTION_STEPS = 60


def column_array(table: pa.Table, name: str, kind: Any = np.int64) -> Any:
    """Convert a column to an array of integers, or of another type."""
    return table.column(name).to_numpy().astype(kind, copy=False)


@dataclass(frozen=True, eq=False)
class GroupHits:
    """Hits of an anatomized release; hit h combines one part of each queried table."""

    group: Ints = field(repr=False)
    size: Ints = field(repr=False)
    """Number of records in the hit's group."""
    counts: tuple[Ints, ...] = field(repr=False)
    """For each table, the number of the group's records that have the hit's part of it."""
    parts: tuple[Ints, ...] = field(repr=False)
    """For each table, the identifier of that part; no two groups share one."""
    value: Floats = field(repr=False)
    """Contribution of each hit to the sum: 1 for a count."""
    carrier: int | None
    """Only table that the value depends on, if the condition is an AND of single-table conditions.

    The bounds are then exact. None for any other query.
    """

    def mean(self, value: Floats) -> float:
        """Compute equation 11, summed over the groups."""
        return float((value * self._expected).sum())

    def greatest_sum(self, value: Floats) -> float:
        """Compute the greatest sum over all arrangements.

        Without a carrier table, the result is an upper bound.
        """
        if len(value) == 0:
            return 0.0
        if self.carrier is None:
            return self._sum_bound(value)
        return self._best_choice(value)(0.0)[0]

    def highest_average(self, value: Floats) -> float:
        """Compute the highest average over all arrangements.

        Without a carrier table, the result is an upper bound.
        """
        if self.carrier is not None:
            return maximize_average(self._best_choice(value))
        low = float(value.min())
        high = float(value.max())
        for _ in range(_BISECTION_STEPS):
            middle = (low + high) / 2
            if self._sum_bound(value - middle) > 0:
                low = middle
            else:
                high = middle
        return high

    @cached_property
    def _expected(self) -> Floats:
        """Expected number of records of each hit."""
        expected = self.size.astype(np.float64)
        for counts in self.counts:
            expected *= counts / self.size
        return expected

    @cached_property
    def _groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def _sizes(self) -> Floats:
        """Number of records of each group."""
        return self._shared_by_group(self.size, 1)

    def _shared_by_group(self, per_hit: Ints, empty: int) -> Floats:
        """Return for each group the number that all its hits share.

        Groups without hits get `empty`.
        """
        per_group = np.full(self._groups, float(empty))
        per_group[self.group] = per_hit
        return per_group

    def _by_group(self, per_hit: Floats, hits: Ints | slice = slice(None)) -> Floats:
        """Sum by group over the hits, or over some of them."""
        return arrays.sum_by_id(self.group[hits], per_hit, self._groups)

    def _best_choice(self, value: Floats) -> Callable[[float], tuple[float, float]]:
        """Return a function from a limit to the best sum and number of matching records.

        The tables are independent, so any set of the carrier's records of a possible size can be
        the matching set. The possible sizes range from the unavoidable number of matches to the
        smallest count of any table. Records are taken in descending value. Those above the limit
        are taken as far as possible, the others only as far as unavoidable.
        """
        carrier = self.carrier or 0
        carrier_counts = self._by_group(self.counts[carrier].astype(np.float64)).astype(np.int64)
        maximum_matches = carrier_counts.copy()
        minimum_matches = carrier_counts.copy()
        for table, counts in enumerate(self.counts):
            if table != carrier:
                other_counts = self._shared_by_group(counts, 0).astype(np.int64)
                maximum_matches = np.minimum(maximum_matches, other_counts)
                minimum_matches += other_counts - self._sizes.astype(np.int64)
        minimum_matches = np.maximum(minimum_matches, 0)
        order = np.lexsort((-value, self.group))
        group = self.group[order]
        count = self.counts[carrier][order]
        values = value[order]
        records_before = (
            np.cumsum(count) - count - (np.cumsum(carrier_counts) - carrier_counts)[group]
        )
        most_taken = np.clip(maximum_matches[group] - records_before, 0, count)
        least_taken = np.clip(minimum_matches[group] - records_before, 0, count)

        def take(limit: float) -> tuple[float, float]:
            taken_counts = np.where(values > limit, most_taken, least_taken)
            return float((values * taken_counts).sum()), float(taken_counts.sum())

        return take

    def _sum_bound(self, value: Floats) -> float:
        """Compute a bound on the sum of any arrangement.

        For each table, every record gets the best partner of its part, even if other records get
        the same one. The bound of a group is the least over the tables.
        """
        sums = [self._best_partners(table, value) for table in range(len(self.counts))]
        return float(np.minimum.reduce(sums).sum())

    def _best_partners(self, table: int, value: Floats) -> Floats:
        part = self.parts[table]
        keys, first_hits = arrays.class_ids([part], [int(part.max()) + 1], rows=len(value))
        best = np.full(len(first_hits), -np.inf)
        np.maximum.at(best, keys, value)
        partners = np.zeros(len(first_hits), dtype=object)
        partner_counts = np.ones(len(value), dtype=object)
        for other_table, counts in enumerate(self.counts):
            if other_table != table:
                partner_counts = partner_counts * counts.astype(object)
        np.add.at(partners, keys, partner_counts)
        always_matches = partners == self.size[first_hits].astype(object) ** (len(self.counts) - 1)
        attainable = np.where(always_matches, best, np.maximum(best, 0.0))
        return self._by_group(attainable * self.counts[table][first_hits], first_hits)


def maximize_average(take: Callable[[float], tuple[float, float]]) -> float:
    """Compute the highest average by Dinkelbach's method.

    `take` returns the sum and the number of the records that maximize the sum of their values minus
    a limit. Their average is the next limit, until it no longer rises.
    """
    limit = -np.inf
    while True:
        total, count = take(limit)
        if count == 0 or total / count <= limit:
            return float(limit)
        limit = total / count
