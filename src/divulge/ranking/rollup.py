# SPDX-License-Identifier: Apache-2.0
"""Metrics of combinations of quasi-identifiers from counts in memory.

Rows are counted once, over all columns; every combination is a roll-up. Small combinations come
from cubes that many of them share. Large ones come from classes that are refined column by column
(see distinct_rows). The classes without one column, for each column in turn, share their work by
halves: n log n refinements instead of n * n.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from divulge import arrays, metrics
from divulge.adversary import Averages, Belief, GroundDistance, PriorBelief, TableTotals
from divulge.arrays import Floats, Ints
from divulge.counting import Cells, Domain, EncodedColumn, build_cells
from divulge.metrics import Identity
from divulge.ranking.distinct_rows import CubeCounter, DistinctRows, Partition, choose_cubes, refine
from divulge.ranking.scores import (
    Combination,
    CountScorer,
    Names,
    Numbers,
    dense_numbers,
    drop_columns,
    numbers_of,
)

_CELLS_PER_ENTRY = 4
"""Maximum number of cells per entry in a dense table; most of them are then empty."""
_SMALLEST_CUBE = 2**16
"""Number of cells that a dense table may always have."""
_SHARED_CELLS = 2**18
"""Maximum number of cells of a cube that combinations share.

Such a cube stays in the processor's cache while it is counted. A roll-up of it costs far less than
a pass over all entries.
"""
_MOST_THREADS = 8
"""Each thread holds a few arrays as long as the entries."""
_PIECES_PER_THREAD = 8
"""Several pieces each, so that all threads end at about the same time and progress is frequent."""


def belief_of(
    partition: Partition, attribute: EncodedColumn, *, repeats: Ints | None = None
) -> Belief:
    """Compute the belief under the table's own marginal distribution.

    `repeats` holds the number of people that each row represents, by default one.

    The class of a unique row holds one value. For metrics of single classes, one such class for
    each value represents all of them. Their contributions to the sums over the whole table are
    added to the sums.
    """
    value = attribute.codes.astype(np.int64, copy=False)
    if repeats is None:
        mass = np.ones(len(value))
    else:
        mass = repeats.astype(np.float64)
    marginal = arrays.sum_by_id(value, mass, attribute.value_count)
    domain = attribute.domain
    values = partition.open_part(value)
    masses = partition.open_part(mass)
    cells = build_cells(domain, partition.ids, values, masses, classes=len(partition.sizes))
    if len(partition.sizes):
        sums = TableTotals.of(cells, marginal)
    else:
        sums = None
    total = float(marginal.sum())
    if sums is not None:
        modal_mass = float(cells.max_by_class(cells.mass).sum())
    else:
        modal_mass = 0.0
    closed_rows = partition.closed_rows(len(mass))
    if len(closed_rows):
        singleton_sums = _singleton_sums(value[closed_rows], mass[closed_rows], marginal)
        if sums is None:
            sums = singleton_sums
        else:
            sums = sums.plus(singleton_sums)
        modal_mass += float(mass[closed_rows].sum())
        singleton_values = np.flatnonzero(np.bincount(value[closed_rows]))
        cells = Cells(
            domain,
            start=np.concatenate(
                [cells.start, cells.start[-1] + 1 + np.arange(len(singleton_values))]
            ),
            value=np.concatenate([cells.value, singleton_values]),
            mass=np.concatenate([cells.mass, np.ones(len(singleton_values))]),
        )
    if sums is None:
        information = 0.0
    else:
        information = sums.mutual_information
    averages = Averages(information, modal_mass / total, float(marginal.max()) / total)
    return Belief(
        cells=cells,
        prior=PriorBelief("table", marginal[None, :]),
        ground=GroundDistance("ordered" if domain.is_ordered else "equal"),
        classes=np.arange(len(cells.start) - 1, dtype=np.int64),
        given_whole=sums,
        given_averages=averages,
    )


def _singleton_sums(value: Ints, mass: Floats, marginal: Floats) -> TableTotals:
    """Compute the contribution of classes of one row each to the sums over the table."""
    share = mass / marginal.sum()
    share_of_value = mass / marginal[value]
    return TableTotals(
        marginal=marginal,
        classes=len(mass),
        class_entropy=-float((share * np.log2(share)).sum()),
        class_entropy_of_value=arrays.sum_by_id(
            value, -share_of_value * np.log2(share_of_value), len(marginal)
        ),
        remaining_entropy=0.0,
        fewest_values=1,
    )


@dataclass(frozen=True, eq=False)
class RollUpScorer:
    """Scorer of combinations by roll-ups of distinct rows that were counted once."""

    entries: DistinctRows
    sensitive: Names

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.entries.rows

    @property
    def _threads(self) -> int:
        return min(os.cpu_count() or 1, _MOST_THREADS)

    @cached_property
    def marginals(self) -> dict[str, metrics.Marginal]:
        """Marginal distribution of each sensitive attribute in the whole table."""
        repeats = self.entries.repeats.astype(np.float64)
        counts = {
            name: np.bincount(self.entries.columns[name].codes, weights=repeats)
            for name in self.sensitive
        }
        return {name: metrics.Marginal.of(count.astype(np.int64)) for name, count in counts.items()}

    def score(self, columns: Names) -> Combination:
        """Score one combination."""
        return self._score_partition(
            columns, self._refine_by_columns(Partition.single_class(len(self.entries)), columns)
        )

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Score many combinations, cube by cube."""
        values = {
            name: column.value_count
            for name, column in self.entries.columns.items()
            if name not in self.sensitive
        }
        widest = max([self.entries.columns[name].value_count for name in self.sensitive], default=1)
        cell_limit = max(len(self.entries) * _CELLS_PER_ENTRY, _SMALLEST_CUBE) // widest
        plan = choose_cubes(
            combinations, values, shared=_SHARED_CELLS // widest, cell_limit=cell_limit
        )
        cubes = list(plan)
        # Neighbors share the beginning of their keys, so a thread takes adjacent cubes.
        size = -(-len(cubes) // (self._threads * _PIECES_PER_THREAD)) or 1
        pieces = [cubes[start : start + size] for start in range(0, len(cubes), size)]
        attributes: list[EncodedColumn | None] = [
            self.entries.columns[name] for name in self.sensitive
        ]
        counters = [
            CubeCounter.of(self.entries, values, attribute) for attribute in attributes or [None]
        ]
        pool = ThreadPoolExecutor(self._threads)  # NumPy releases Python's lock while it counts
        try:
            for combination_scores in pool.map(
                lambda piece: list(self._score_cubes(counters, piece, plan)), pieces
            ):
                yield from combination_scores
            yield from pool.map(self.score, set(combinations).difference(*plan.values()))
        finally:
            pool.shutdown(cancel_futures=True)

    def _score_cubes(
        self,
        counters: Sequence[CubeCounter],
        cubes: Sequence[Names],
        plan: Mapping[Names, Sequence[Names]],
    ) -> Iterator[Combination]:
        """Score the combinations that the plan derives from these cubes."""
        cubes_by_counter = [counter.count(cubes) for counter in counters]
        for attribute_cubes in zip(*cubes_by_counter, strict=True):
            for columns in plan[attribute_cubes[0].names]:
                yield self._score_tables(
                    columns, [cube.roll_up(columns) for cube in attribute_cubes]
                )

    def score_whole(self, columns: Names) -> tuple[Combination, dict[str, Combination]]:
        """Score all columns and, if there are several, the set without each of them."""
        one_class = Partition.single_class(len(self.entries))
        with ThreadPoolExecutor(self._threads) as pool:
            everything = pool.submit(self.score, columns)
            halves = [
                pool.submit(list, self._score_without_each(one_class, *half, columns))
                for half in _halves(columns)
            ]
        return everything.result(), dict(
            itertools.chain.from_iterable(half.result() for half in halves)
        )

    def _score_without_each(
        self, partition: Partition, dropped: Names, shared_columns: Names, columns: Names
    ) -> Iterator[tuple[str, Combination]]:
        """Score the set of all columns without each of `dropped`.

        `shared_columns` are common to these sets, and half of `dropped` is common to half of them.
        """
        partition = self._refine_by_columns(partition, shared_columns)
        if len(dropped) == 1:
            yield dropped[0], self._score_partition(drop_columns(columns, dropped[0]), partition)
            return
        for half in _halves(dropped):
            yield from self._score_without_each(partition, *half, columns)

    def _refine_by_columns(self, partition: Partition, columns: Iterable[str]) -> Partition:
        # The column with most values goes first: rows that become unique early cost no more time.
        for column in sorted(
            (self.entries.columns[name] for name in columns), key=lambda column: -column.value_count
        ):
            partition = refine(partition, column.codes, column.value_count)
        return partition

    def _score_tables(self, columns: Names, tables: Sequence[Ints]) -> Combination:
        """Score a combination from one table of values by classes for each sensitive attribute."""
        if self.sensitive:
            sizes = tables[0].sum(axis=0)
        else:
            sizes = tables[0][0]
        if self.sensitive and not sizes.all():
            occurring_classes = np.flatnonzero(sizes)
            sizes = sizes[occurring_classes]
            tables = [table.take(occurring_classes, axis=1) for table in tables]
        sensitive = {}
        for name, table in zip(self.sensitive, tables, strict=False):
            belief = partial(_belief_of_table, self.entries.columns[name].domain, table)
            sensitive[name] = dense_numbers(table, self.marginals[name], belief, classes=len(sizes))
        return Combination(columns, numbers_of(identity_of(sizes)), sensitive)

    def _score_partition(self, columns: Names, partition: Partition) -> Combination:
        if self.entries.rows_are_distinct:
            repeats = None
        else:
            repeats = self.entries.repeats
        view = identity_view(partition, repeats=repeats)
        sensitive = {
            name: sensitive_numbers(
                partition, self.entries.columns[name], self.marginals[name], repeats=repeats
            )
            for name in self.sensitive
        }
        return Combination(columns, numbers_of(view), sensitive)


Scorer = RollUpScorer | CountScorer
"""Computes the metrics of combinations."""


def _halves(columns: Names) -> list[tuple[Names, Names]]:
    """Pair each half of the columns with the other half; a single column has no halves."""
    first = columns[: len(columns) // 2]
    second = columns[len(columns) // 2 :]
    if first:
        return [(first, second), (second, first)]
    return []


def sensitive_numbers(
    partition: Partition,
    attribute: EncodedColumn,
    marginal: metrics.Marginal,
    *,
    repeats: Ints | None = None,
) -> Numbers:
    """Compute the ranked metrics of a sensitive attribute in these classes.

    They come from a dense table of counts or, if that is too large, from single cells.
    """
    classes = len(partition.sizes)
    columns = classes + min(partition.closed, attribute.value_count)
    if columns * attribute.value_count > max(_CELLS_PER_ENTRY * len(partition.ids), _SMALLEST_CUBE):
        return numbers_of(belief_of(partition, attribute, repeats=repeats))
    if repeats is None:
        weights = None
    else:
        weights = partition.open_part(repeats).astype(np.float64)
    key = partition.open_part(attribute.codes) * np.int64(classes)
    key += partition.ids
    class_counts = np.bincount(
        key, weights=weights, minlength=classes * attribute.value_count
    ).astype(np.int64)
    in_singletons = (
        np.bincount(
            attribute.codes[partition.closed_rows(len(attribute.codes))],
            minlength=attribute.value_count,
        )
        > 0
    )
    one_of_each = np.eye(attribute.value_count, dtype=np.int64)[:, in_singletons]
    table = np.concatenate(
        [class_counts.reshape(attribute.value_count, classes), one_of_each], axis=1
    )
    belief = partial(belief_of, partition, attribute, repeats=repeats)
    return dense_numbers(table, marginal, belief, classes=partition.classes)


def _belief_of_table(domain: Domain, table: Ints) -> Belief:
    """Compute the belief under the marginal of a dense table of values by classes."""
    classes, value = np.nonzero(table.T)
    mass = table[value, classes].astype(np.float64)
    return Belief.of_table(build_cells(domain, classes, value, mass, classes=table.shape[1]))


def identity_view(partition: Partition, *, repeats: Ints | None = None) -> Identity:
    """Identity view (spectrum of class sizes) of these classes.

    `repeats` holds the number of people that each row represents, by default one.
    """
    if repeats is None:
        return identity_of(partition.sizes, singletons=partition.closed)
    open_sizes = np.bincount(partition.ids, weights=partition.open_part(repeats).astype(np.float64))
    singleton_repeats = repeats[partition.closed_rows(len(repeats))]
    return identity_of(np.concatenate([open_sizes.astype(np.int64), singleton_repeats]))


def identity_of(sizes: Ints, *, singletons: int = 0) -> Identity:
    """Identity view of classes of these sizes, and of `singletons` more classes of one person.

    Empty classes are not counted.
    """
    if len(sizes) and int(sizes.max()) <= 4 * len(sizes):
        frequencies = np.bincount(sizes)
        class_sizes = np.flatnonzero(frequencies)
        frequencies = frequencies[class_sizes]
    else:
        class_sizes, frequencies = np.unique(sizes, return_counts=True)
    if len(class_sizes) and class_sizes[0] == 0:
        class_sizes = class_sizes[1:]
        frequencies = frequencies[1:]
    if singletons:
        class_sizes = np.append(1, class_sizes)
        frequencies = np.append(singletons, frequencies)
    return Identity.of_spectrum(class_sizes.astype(np.float64), frequencies.astype(np.float64))
