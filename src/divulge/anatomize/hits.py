# SPDX-License-Identifier: Apache-2.0
"""How a number behaves that a release does not fix: its expectation, its variance and its hard bounds.

An anatomized release says which tuples a group has in each table, not which belong together. Every arrangement of the
rows of a group is equally likely, so a sum over matching records is a random number: its mean is equation 11 of Yao
et al. 2021, its variance that of drawing without replacement (for two tables the hypergeometric one), and its bounds
are the least and the greatest sum that any arrangement gives. A generalized release hides each value among the leaves
of its label; records are then drawn one by one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from divulge.count.contingency import Floats, Ints, class_ids, sum_by_id


class Hits(Protocol):
    """The combinations of released values for which a condition holds."""

    @property
    def value(self) -> Floats:
        """What each of them adds to the sum: 1 for a count."""

    def mean(self, value: Floats) -> float:
        """The expected sum."""

    def variance(self, value: Floats) -> float:
        """The variance of the sum."""

    def most(self, value: Floats) -> float:
        """A bound that no sum exceeds."""


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
    carrier: int | None
    """The table that alone decides the value, where the tables answer the condition one by one; then bounds are exact."""

    def mean(self, value: Floats) -> float:
        """Equation 11, summed over the groups."""
        return float((value * self._weight()).sum())

    def variance(self, value: Floats) -> float:
        """Exact: groups are independent, and two records of a group never take the same row of a table."""
        if len(self.counts) < 2 or len(value) == 0:
            return 0.0
        groups, first = class_ids([self.group], [int(self.group.max()) + 1], rows=len(value))
        count, size = len(first), self.size[first].astype(np.float64)
        weight = self._weight()
        means = sum_by_id(groups, value * weight, count)
        squares = sum_by_id(groups, value * value * weight, count)
        pairs = self._products_of_pairs(value, groups, size)
        return max(float((squares + pairs - means * means).sum()), 0.0)

    def most(self, value: Floats) -> float:
        """The greatest sum of any arrangement; where parts are entangled, a sum that none exceeds."""
        if len(value) == 0:
            return 0.0
        return self._greatest(value) if self.carrier is not None else self._not_exceeded(value)

    def _weight(self) -> Floats:
        """How many records of each hit are expected."""
        expected = np.ones(len(self.value))
        for counts in self.counts:
            expected *= counts / self.size
        return expected * self.size

    def _products_of_pairs(self, value: Floats, groups: Ints, size: Floats) -> Floats:
        """For each group, the expected sum of value times value over all ordered pairs of different records.

        Two records take different rows of each table: of the c(x) c(y) ways to take x and y, c(x) fall away where x = y.
        Multiplied out over the tables, this is an alternating sum over the sets of tables in which both take the same part.
        """
        tables = range(len(self.counts))
        shares = [counts / self.size for counts in self.counts]
        total = np.zeros(len(size))
        for chosen in (set(some) for n in range(len(tables) + 1) for some in itertools.combinations(tables, n)):
            free = np.prod([shares[table] for table in tables if table not in chosen], axis=0) * value
            tied = np.prod([shares[table] for table in chosen], axis=0) if chosen else np.ones(len(value))
            columns = [groups, *(self.parts[table] for table in sorted(chosen))]
            keys, first = class_ids(columns, [int(column.max()) + 1 for column in columns], rows=len(value))
            inner = sum_by_id(keys, free, len(first))
            term = sum_by_id(groups[first], tied[first] * inner * inner, len(size))
            total += (-1 / size) ** len(chosen) * term
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = size * (size - 1) * (size / (size - 1)) ** len(self.counts) * total
        return np.where(size > 1, scaled, 0.0)

    def _greatest(self, value: Floats) -> float:
        """Each table answers for itself: of the carrier's records, any set of a possible size can be the matching one.

        The possible sizes run from what the tables cannot avoid to the scarcest table's count. Taking the records in
        descending value, those above 0 are taken as long as possible, the others only as far as unavoidable.
        """
        carrier = self.carrier or 0
        groups, first = class_ids([self.group], [int(self.group.max()) + 1], rows=len(value))
        carried = np.zeros(len(first), dtype=np.int64)
        np.add.at(carried, groups, self.counts[carrier])
        others = [counts[first] for table, counts in enumerate(self.counts) if table != carrier]
        size = self.size[first]
        scarcest = np.minimum.reduce([carried, *others])
        unavoidable = np.maximum(sum(others, carried) - len(others) * size, 0)
        order = np.lexsort((-value, groups))
        group, count = groups[order], self.counts[carrier][order]
        before = np.cumsum(count) - count
        before -= (np.cumsum(carried) - carried)[group]
        limit = np.where(value[order] > 0, scarcest[group], unavoidable[group])
        return float((value[order] * np.clip(limit - before, 0, count)).sum())

    def _not_exceeded(self, value: Floats) -> float:
        """For each table: every record gets the best partner that its part has, whoever else wants it; the least of these decides."""
        groups, first = class_ids([self.group], [int(self.group.max()) + 1], rows=len(value))
        sums = [self._best_partners(table, value, groups, len(first)) for table in range(len(self.counts))]
        return float(np.minimum.reduce(sums).sum())

    def _best_partners(self, table: int, value: Floats, groups: Ints, count: int) -> Floats:
        part = self.parts[table]
        keys, first = class_ids([part], [int(part.max()) + 1], rows=len(value))
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
        return sum_by_id(groups[first], reached * self.counts[table][first], count)


@dataclass(frozen=True, eq=False)
class Spread:
    """Hits of a generalized release; hit h takes, for records of one kind, some of the leaves of their labels."""

    kind: Ints = field(repr=False)
    """Records of one kind have the same labels, and the same answers to what is published as it is."""
    records: Ints = field(repr=False)
    """How many records are of the hit's kind."""
    share: Floats = field(repr=False)
    """The share of the leaves that the hit takes."""
    always: npt.NDArray[np.bool_] = field(repr=False)
    """Whether the hits of that kind take all leaves, so that each of its records matches for certain."""
    value: Floats = field(repr=False)

    def mean(self, value: Floats) -> float:
        """Uniform spread inside labels."""
        return float((value * self.share * self.records).sum())

    def variance(self, value: Floats) -> float:
        """Records are drawn one by one."""
        if len(value) == 0:
            return 0.0
        kinds, first = class_ids([self.kind], [int(self.kind.max()) + 1], rows=len(value))
        means = sum_by_id(kinds, value * self.share, len(first))
        squares = sum_by_id(kinds, value * value * self.share, len(first))
        return max(float(((squares - means * means) * self.records[first]).sum()), 0.0)

    def most(self, value: Floats) -> float:
        """Every record takes its best leaf."""
        if len(value) == 0:
            return 0.0
        kinds, first = class_ids([self.kind], [int(self.kind.max()) + 1], rows=len(value))
        best = np.full(len(first), -np.inf)
        np.maximum.at(best, kinds, value)
        reached = np.where(self.always[first], best, np.maximum(best, 0.0))
        return float((reached * self.records[first]).sum())
