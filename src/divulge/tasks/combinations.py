# SPDX-License-Identifier: Apache-2.0
"""What combinations of quasi-identifiers give away, for many combinations at once.

Rows are counted once, over all columns; every combination is a roll-up. Small ones come from cubes that many share (see count.cube); large
ones from classes that are refined column by column (see count.refine). The classes without one column, for each column in turn, share
their work by halves: n log n refinements instead of n * n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from divulge.belief import Belief
from divulge.belief.refined import belief_of
from divulge.count import Nulls, count
from divulge.count.contingency import Ints
from divulge.count.counting import Request
from divulge.count.cube import count_cubes, cover
from divulge.count.entries import Entries, read_entries
from divulge.count.refine import Partition, refine
from divulge.metrics import Identity, find_metric
from divulge.metrics.dense import Marginal, sensitive_numbers
from divulge.metrics.identity import distinction, separation
from divulge.metrics.measurement import as_number
from divulge.metrics.metric import Metric
from divulge.table.roles import Roles
from divulge.table.table import Table

Names = tuple[str, ...]
Numbers = dict[str, float | int]

_IDENTITY = tuple(
    find_metric(name, "identity") for name in ("k_anonymity", "classes", "uniques", "discrimination_rate", "itpr")
)
_SENSITIVE = tuple(
    find_metric(name, "sensitive")
    for name in ("mutual_information", "discrimination_rate", "itpr", "distribution_leakage", "entropy_leakage")
)
_ENTRIES_PER_CELL = 4
"""A cube has at most one cell for so many entries: a roll-up then costs far less than a look at all entries."""
_SMALLEST_CUBE = 2**12
_DENSE_CELLS = 2**16


@dataclass(frozen=True)
class Combination:
    """What one set of columns gives away."""

    columns: Names
    identity: Numbers
    sensitive: dict[str, Numbers]

    @property
    def rate(self) -> float:
        """The discrimination rate: the share of the bits that name a person."""
        return float(self.identity["discrimination_rate"])

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"columns": list(self.columns), "identity": self.identity, "sensitive": self.sensitive}


class Scorer(Protocol):
    """Finds the numbers of combinations."""

    @property
    def rows(self) -> int:
        """Rows of the table."""

    def score(self, columns: Names) -> Combination:
        """One combination."""

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, in any order."""

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each of two or more columns, all the others."""


@dataclass(frozen=True, eq=False)
class Recounted:
    """Every combination by a count of its own: where people own several rows, counts of people do not add up."""

    table: Table
    roles: Roles
    nulls: Nulls
    rows: int

    def score(self, columns: Names) -> Combination:
        """One combination."""
        counted = count(self.table, replace(self.roles, quasi_identifiers=columns), nulls=self.nulls)
        sensitive = {name: sensitive_of(Belief.of_table(cells)) for name, cells in counted.cells.items()}
        return Combination(columns, identity_of(Identity.of(counted)), sensitive)

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, one after the other."""
        return map(self.score, combinations)

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each column, all the others."""
        return ((left_out, self.score(_without(columns, left_out))) for left_out in columns)


@dataclass(frozen=True, eq=False)
class RolledUp:
    """Every combination from the entries of one count."""

    entries: Entries
    sensitive: Names

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.entries.rows

    @cached_property
    def marginals(self) -> dict[str, Marginal]:
        """Each sensitive attribute in the whole table."""
        columns = {name: self.entries.columns[name] for name in self.sensitive}
        repeats = self.entries.repeats.astype(np.float64)
        return {
            name: Marginal.of(np.bincount(column.codes, weights=repeats).astype(np.int64))
            for name, column in columns.items()
        }

    def score(self, columns: Names) -> Combination:
        """One combination."""
        return self._of_partition(columns, self._refined(Partition.whole(len(self.entries)), columns))

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, those of one cube together."""
        widest = max([self.entries.columns[name].values for name in self.sensitive], default=1)
        cells = max(len(self.entries) // _ENTRIES_PER_CELL, _SMALLEST_CUBE)
        values = {name: column.values for name, column in self.entries.columns.items() if name not in self.sensitive}
        plan = cover(combinations, values, cells=cells // widest)
        attributes = [self.entries.columns[name] for name in self.sensitive] or [None]
        for cubes in zip(*(count_cubes(self.entries, list(plan), attribute) for attribute in attributes), strict=True):
            for columns in plan[cubes[0].names]:
                yield self._of_tables(columns, [cube.roll_up(columns) for cube in cubes])
        for columns in set(combinations).difference(*plan.values()):
            yield self.score(columns)

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each column, all the others: half of the columns are common to all sets that leave out one of the other half."""
        yield from self._without_each(Partition.whole(len(self.entries)), columns, columns)

    def _without_each(self, partition: Partition, left: Names, columns: Names) -> Iterator[tuple[str, Combination]]:
        if len(left) == 1:
            yield left[0], self._of_partition(_without(columns, left[0]), partition)
            return
        middle = len(left) // 2
        for half, others in ((left[:middle], left[middle:]), (left[middle:], left[:middle])):
            yield from self._without_each(self._refined(partition, others), half, columns)

    def _refined(self, partition: Partition, columns: Iterable[str]) -> Partition:
        # The column with most values first: rows that are soon alone cost nothing any more.
        for column in sorted((self.entries.columns[name] for name in columns), key=lambda column: -column.values):
            partition = refine(partition, column.codes, column.values)
        return partition

    def _of_tables(self, columns: Names, tables: Sequence[Ints]) -> Combination:
        """From one table of classes by values for each sensitive attribute."""
        sizes = tables[0].sum(axis=1)
        occurs = sizes > 0
        sizes = sizes[occurs]
        sensitive = {
            name: dict(sensitive_numbers(table[occurs], self.marginals[name], classes=len(sizes)))
            for name, table in zip(self.sensitive, tables, strict=False)
        }
        return Combination(columns, identity_of(Identity.of_spectrum(*spectrum_of(sizes))), sensitive)

    def _of_partition(self, columns: Names, partition: Partition) -> Combination:
        repeats = None if self.entries.once else self.entries.repeats
        view = identity_view(partition, repeats=repeats)
        sensitive = {name: self._sensitive(name, partition, repeats) for name in self.sensitive}
        return Combination(columns, identity_of(view), sensitive)

    def _sensitive(self, name: str, partition: Partition, repeats: Ints | None) -> Numbers:
        attribute, classes = self.entries.columns[name], len(partition.sizes)
        if classes * attribute.values > max(_ENTRIES_PER_CELL * len(partition.ids), _DENSE_CELLS):
            return sensitive_of(belief_of(partition, attribute, repeats=repeats))
        weights = None if repeats is None else partition.open_part(repeats).astype(np.float64)
        key = partition.ids * attribute.values + partition.open_part(attribute.codes)
        counted = np.bincount(key, weights=weights, minlength=classes * attribute.values).astype(np.int64)
        alone = np.bincount(attribute.codes[partition.closed_rows(len(self.entries))], minlength=attribute.values) > 0
        table = np.concatenate([counted.reshape(classes, attribute.values), np.diag(alone).astype(np.int64)[alone]])
        return dict(sensitive_numbers(table, self.marginals[name], classes=partition.classes))


def scorer_of(table: Table, roles: Roles, nulls: Nulls) -> Scorer:
    """The way to count that fits the roles."""
    if roles.person is not None:
        return Recounted(table, roles, nulls, count(table, roles, nulls=nulls).rows)
    return RolledUp(read_entries(Request(table, roles, nulls, joint=False)), roles.sensitive)


def identity_view(partition: Partition, *, repeats: Ints | None = None) -> Identity:
    """Who is who in these classes; `repeats` says how many people each row stands for, by default one."""
    if repeats is None:
        sizes, often = spectrum_of(partition.sizes)
        alone = [partition.closed] if partition.closed else []
        return Identity.of_spectrum(
            np.concatenate([np.ones(len(alone)), sizes]), np.concatenate([np.array(alone, dtype=np.float64), often])
        )
    open_sizes = np.bincount(partition.ids, weights=partition.open_part(repeats).astype(np.float64))
    closed = repeats[partition.closed_rows(len(repeats))]
    return Identity.of_spectrum(*spectrum_of(np.concatenate([open_sizes.astype(np.int64), closed])))


def spectrum_of(sizes: Ints) -> tuple[Any, Any]:
    """The sizes that occur, and how many classes have each."""
    if len(sizes) and int(sizes.max()) <= 4 * len(sizes):
        often = np.bincount(sizes)
        found = np.flatnonzero(often)
        often = often[found]
    else:
        found, often = np.unique(sizes, return_counts=True)
    return found.astype(np.float64), often.astype(np.float64)


def identity_of(view: Identity) -> Numbers:
    """What a ranking shows about identity."""
    return _numbers(_IDENTITY, view) | {"distinction": distinction(view), "separation": separation(view)}


def sensitive_of(belief: Belief) -> Numbers:
    """What a ranking shows about a sensitive attribute."""
    return _numbers(_SENSITIVE, belief)


def _numbers(metrics: Sequence[Metric[Any]], view: Identity | Belief) -> Numbers:
    return {metric.name: as_number(metric, metric.value(view)[0]) for metric in metrics}


def _without(columns: Names, left_out: str) -> Names:
    return tuple(name for name in columns if name != left_out)
