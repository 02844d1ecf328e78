# SPDX-License-Identifier: Apache-2.0
"""Combinations of quasi-identifiers from counts in memory.

Rows are counted once, over all columns; every combination is a roll-up. Small ones come from cubes that many share; large ones
from classes that are refined column by column (see distinct_rows). The classes without one column, for each column in turn, share
their work by halves: n log n refinements instead of n * n.
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
from divulge.arrays import Floats, Ints
from divulge.belief import Averages, Belief, Ground, PriorBelief, Whole
from divulge.count import Cells, Domain, build_cells
from divulge.metrics import Identity
from divulge.ranking.distinct_rows import Coded, CubeCounter, DistinctRows, Refinement, cover, refine
from divulge.ranking.score import Combination, Names, Numbers, OneByOne, dense_numbers, numbers_of, without

_CELLS_PER_ENTRY = 4
"""Any dense table has at most so many cells for an entry, most of them then empty."""
_SMALLEST_CUBE = 2**16
"""A dense table may always have so many."""
_SHARED_CELLS = 2**18
"""Of a cube that combinations share: they stay in the processor's cache while it is counted, and rolling it up costs far less than a look
at all entries."""
_MOST_THREADS = 8
"""Each holds a few arrays as long as the entries."""
_PIECES_PER_THREAD = 8
"""So that all threads end at about the same time, and progress is told often."""


def belief_of(partition: Refinement, attribute: Coded, *, repeats: Ints | None = None) -> Belief:
    """The belief under the table's own marginal; `repeats` says how many people each row stands for, by default one.

    A row alone in its class holds one value. For every metric that looks at a class by itself, one such class for each value stands for
    all of them; what they add to the sums over the whole table is added to the sums.
    """
    value = attribute.codes.astype(np.int64, copy=False)
    mass = np.ones(len(value)) if repeats is None else repeats.astype(np.float64)
    marginal = arrays.sum_by_id(value, mass, attribute.values)
    domain, values, masses = attribute.domain, partition.open_part(value), partition.open_part(mass)
    cells = build_cells(domain, partition.ids, values, masses, classes=len(partition.sizes))
    whole = Whole.of(cells, marginal) if len(partition.sizes) else None
    total, guessed = float(marginal.sum()), float(cells.max_by_class(cells.mass).sum()) if whole is not None else 0.0
    closed = partition.closed_rows(len(mass))
    if len(closed):
        alone = _alone(value[closed], mass[closed], marginal)
        whole = alone if whole is None else whole.plus(alone)
        guessed += float(mass[closed].sum())
        once = np.flatnonzero(np.bincount(value[closed]))
        cells = Cells(
            domain,
            start=np.concatenate([cells.start, cells.start[-1] + 1 + np.arange(len(once))]),
            value=np.concatenate([cells.value, once]),
            mass=np.concatenate([cells.mass, np.ones(len(once))]),
        )
    information = 0.0 if whole is None else whole.mutual_information
    averages = Averages(information, guessed / total, float(marginal.max()) / total)
    return Belief(
        cells=cells,
        prior=PriorBelief("table", marginal[None, :]),
        ground=Ground("ordered" if domain.is_ordered else "equal"),
        classes=np.arange(len(cells.start) - 1, dtype=np.int64),
        given_whole=whole,
        given_averages=averages,
    )


def _alone(value: Ints, mass: Floats, marginal: Floats) -> Whole:
    """What classes of one row each add to the sums over the table."""
    share, of_value = mass / marginal.sum(), mass / marginal[value]
    return Whole(
        marginal=marginal,
        classes=len(mass),
        class_entropy=-float((share * np.log2(share)).sum()),
        class_entropy_of_value=arrays.sum_by_id(value, -of_value * np.log2(of_value), len(marginal)),
        remaining_entropy=0.0,
        fewest_values=1,
    )


@dataclass(frozen=True, eq=False)
class RolledUp:
    """Every combination from the entries of one count."""

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
        """Each sensitive attribute in the whole table."""
        repeats = self.entries.repeats.astype(np.float64)
        counts = {name: np.bincount(self.entries.columns[name].codes, weights=repeats) for name in self.sensitive}
        return {name: metrics.Marginal.of(count.astype(np.int64)) for name, count in counts.items()}

    def score(self, columns: Names) -> Combination:
        """One combination."""
        return self._of_partition(columns, self._refined(Refinement.whole(len(self.entries)), columns))

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, those of one cube together."""
        values = {name: column.values for name, column in self.entries.columns.items() if name not in self.sensitive}
        widest = max([self.entries.columns[name].values for name in self.sensitive], default=1)
        own = max(len(self.entries) * _CELLS_PER_ENTRY, _SMALLEST_CUBE) // widest
        plan = cover(combinations, values, shared=_SHARED_CELLS // widest, own=own)
        cubes = list(plan)
        # Neighbours share the beginning of their keys, so a thread takes a row of them.
        size = -(-len(cubes) // (self._threads * _PIECES_PER_THREAD)) or 1
        pieces = [cubes[start : start + size] for start in range(0, len(cubes), size)]
        attributes: list[Coded | None] = [self.entries.columns[name] for name in self.sensitive]
        counters = [CubeCounter.of(self.entries, values, attribute) for attribute in attributes or [None]]
        pool = ThreadPoolExecutor(self._threads)  # NumPy counts outside Python's lock
        try:
            for found in pool.map(lambda piece: list(self._of_cubes(counters, piece, plan)), pieces):
                yield from found
            yield from pool.map(self.score, set(combinations).difference(*plan.values()))
        finally:
            pool.shutdown(cancel_futures=True)

    def _of_cubes(
        self, counters: Sequence[CubeCounter], cubes: Sequence[Names], plan: Mapping[Names, Sequence[Names]]
    ) -> Iterator[Combination]:
        """The combinations that some cubes of the plan hold."""
        counted = [counter.count(cubes) for counter in counters]
        for alike in zip(*counted, strict=True):
            for columns in plan[alike[0].names]:
                yield self._of_tables(columns, [cube.roll_up(columns) for cube in alike])

    def score_whole(self, columns: Names) -> tuple[Combination, dict[str, Combination]]:
        """All columns and, if they are several, for each of them all the others."""
        together = Refinement.whole(len(self.entries))
        with ThreadPoolExecutor(self._threads) as pool:
            everything = pool.submit(self.score, columns)
            halves = [pool.submit(list, self._without_each(together, *half, columns)) for half in _halves(columns)]
        return everything.result(), dict(itertools.chain.from_iterable(half.result() for half in halves))

    def _without_each(
        self, partition: Refinement, left: Names, others: Names, columns: Names
    ) -> Iterator[tuple[str, Combination]]:
        """For each of `left`, all the other columns: `others` are common to these sets, and so is half of `left` to half of them."""
        partition = self._refined(partition, others)
        if len(left) == 1:
            yield left[0], self._of_partition(without(columns, left[0]), partition)
            return
        for half in _halves(left):
            yield from self._without_each(partition, *half, columns)

    def _refined(self, partition: Refinement, columns: Iterable[str]) -> Refinement:
        # The column with most values first: rows that are soon alone cost nothing any more.
        for column in sorted((self.entries.columns[name] for name in columns), key=lambda column: -column.values):
            partition = refine(partition, column.codes, column.values)
        return partition

    def _of_tables(self, columns: Names, tables: Sequence[Ints]) -> Combination:
        """From one table of values by classes for each sensitive attribute."""
        sizes = tables[0].sum(axis=0) if self.sensitive else tables[0][0]
        if self.sensitive and not sizes.all():
            occurs = np.flatnonzero(sizes)
            sizes, tables = sizes[occurs], [table.take(occurs, axis=1) for table in tables]
        sensitive = {}
        for name, table in zip(self.sensitive, tables, strict=False):
            belief = partial(_belief_of_table, self.entries.columns[name].domain, table)
            sensitive[name] = dense_numbers(table, self.marginals[name], belief, classes=len(sizes))
        return Combination(columns, numbers_of(identity_of(sizes)), sensitive)

    def _of_partition(self, columns: Names, partition: Refinement) -> Combination:
        repeats = None if self.entries.once else self.entries.repeats
        view = identity_view(partition, repeats=repeats)
        sensitive = {
            name: sensitive_in(partition, self.entries.columns[name], self.marginals[name], repeats=repeats)
            for name in self.sensitive
        }
        return Combination(columns, numbers_of(view), sensitive)


Scorer = RolledUp | OneByOne
"""Finds the numbers of combinations."""


def _halves(columns: Names) -> list[tuple[Names, Names]]:
    """Each half with the other one; a single column has none."""
    first, second = columns[: len(columns) // 2], columns[len(columns) // 2 :]
    return [(first, second), (second, first)] if first else []


def sensitive_in(
    partition: Refinement, attribute: Coded, marginal: metrics.Marginal, *, repeats: Ints | None = None
) -> Numbers:
    """What a ranking shows about an attribute in these classes: from a dense table of counts, or cell by cell where that is too large."""
    classes = len(partition.sizes)
    columns = classes + min(partition.closed, attribute.values)
    if columns * attribute.values > max(_CELLS_PER_ENTRY * len(partition.ids), _SMALLEST_CUBE):
        return numbers_of(belief_of(partition, attribute, repeats=repeats))
    weights = None if repeats is None else partition.open_part(repeats).astype(np.float64)
    key = partition.open_part(attribute.codes) * np.int64(classes)
    key += partition.ids
    counted = np.bincount(key, weights=weights, minlength=classes * attribute.values).astype(np.int64)
    alone = np.bincount(attribute.codes[partition.closed_rows(len(attribute.codes))], minlength=attribute.values) > 0
    one_of_each = np.eye(attribute.values, dtype=np.int64)[:, alone]
    table = np.concatenate([counted.reshape(attribute.values, classes), one_of_each], axis=1)
    belief = partial(belief_of, partition, attribute, repeats=repeats)
    return dense_numbers(table, marginal, belief, classes=partition.classes)


def _belief_of_table(domain: Domain, table: Ints) -> Belief:
    """The belief under the marginal of a dense table of values by classes."""
    classes, value = np.nonzero(table.T)
    mass = table[value, classes].astype(np.float64)
    return Belief.of_table(build_cells(domain, classes, value, mass, classes=table.shape[1]))


def identity_view(partition: Refinement, *, repeats: Ints | None = None) -> Identity:
    """Who is who in these classes; `repeats` says how many people each row stands for, by default one."""
    if repeats is None:
        return identity_of(partition.sizes, alone=partition.closed)
    open_sizes = np.bincount(partition.ids, weights=partition.open_part(repeats).astype(np.float64))
    closed = repeats[partition.closed_rows(len(repeats))]
    return identity_of(np.concatenate([open_sizes.astype(np.int64), closed]))


def identity_of(sizes: Ints, *, alone: int = 0) -> Identity:
    """Who is who in classes of these sizes, and in so many more of one person; a class of nobody is none."""
    if len(sizes) and int(sizes.max()) <= 4 * len(sizes):
        often = np.bincount(sizes)
        found = np.flatnonzero(often)
        often = often[found]
    else:
        found, often = np.unique(sizes, return_counts=True)
    if len(found) and found[0] == 0:
        found, often = found[1:], often[1:]
    if alone:
        found, often = np.append(1, found), np.append(alone, often)
    return Identity.of_spectrum(found.astype(np.float64), often.astype(np.float64))
