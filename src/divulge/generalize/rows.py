# SPDX-License-Identifier: Apache-2.0
"""The rows that a search counts: the raw classes, or what these merge into where no node to be looked at needs them apart.

A merged row keeps one of the values it stands for in each column; the labels of all coarser levels follow from that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from divulge.count import Cells, Domain
from divulge.count.contingency import Floats, Ints, build_cells
from divulge.generalize.lattice import Lattice

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_ROOM = 1 << 16
"""A table of this many slots is always worth its memory; beyond it, four slots per entry."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each value of an attribute occurs in each row."""

    domain: Domain
    row: Ints = field(repr=False)
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)

    @classmethod
    def of(cls, cells: Cells, row_of_class: Ints | None = None) -> Tally:
        """From the cells of raw classes; `row_of_class` where these are only some of the rows."""
        row = cells.class_index if row_of_class is None else row_of_class[cells.class_index]
        return cls(cells.domain, row, cells.value, cells.mass)

    def merged(self, of_row: Ints, count: int) -> Tally:
        """The same over fewer rows."""
        cells, present = self.cells(of_row, np.ones(count, dtype=bool))
        return Tally.of(cells, present)

    def cells(self, class_of_row: Ints, kept: Bools) -> tuple[Cells, Ints]:
        """Cells of the kept classes, and which of these have any (background knowledge can leave a class without a value)."""
        index, value, mass = class_of_row[self.row], self.value, self.mass
        classes = len(kept)
        if not kept.all():
            chosen = kept[index]
            renumbered = np.cumsum(kept) - 1
            index, value, mass = renumbered[index[chosen]], value[chosen], mass[chosen]
            classes = int(renumbered[-1]) + 1
        values = len(self.domain)
        if classes * values <= slots(len(value)):
            table = sum_by(index * values + value, mass, classes * values)
            place = np.flatnonzero(table)
            start = np.searchsorted(place, np.arange(classes + 1) * values)
            cells = Cells(self.domain, start, place % values, table[place])
        else:
            cells = build_cells(self.domain, index, value, mass, classes=classes)
        present = np.flatnonzero(np.diff(cells.start))
        if len(present) < classes:
            cells = Cells(cells.domain, np.append(cells.start[present], cells.start[-1]), cells.value, cells.mass)
        return cells, present


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their values, their people, and what occurs in them."""

    codes: tuple[Ints, ...] = field(repr=False)
    """Per column, the position in the domain of one value that each row stands for."""
    sizes: Floats = field(repr=False)
    raw_tallies: Mapping[tuple[str, str], Tally] = field(repr=False)
    """What occurs in the raw classes."""
    of_raw: Ints | None = field(default=None, repr=False)
    """The row of each raw class; None: the rows are the raw classes."""
    _labels: dict[tuple[int, int], Ints] = field(default_factory=dict, repr=False)
    _tallies: dict[tuple[str, str], Tally] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    def labels(self, lattice: Lattice, column: int, level: int) -> Ints:
        """The number of each row's label in a column."""
        if (column, level) not in self._labels:
            self._labels[column, level] = lattice.ladders[column].levels[level].codes[self.codes[column]]
        return self._labels[column, level]

    def tally(self, name: tuple[str, str]) -> Tally:
        """What occurs in these rows."""
        if self.of_raw is None:
            return self.raw_tallies[name]
        if name not in self._tallies:
            self._tallies[name] = self.raw_tallies[name].merged(self.of_raw, len(self))
        return self._tallies[name]

    def merged(self, of_row: Ints, count: int) -> Rows:
        """Fewer rows, from the new number of each of these, which are the raw classes."""
        one = np.empty(count, dtype=np.int64)
        one[of_row] = np.arange(len(of_row))
        return Rows(tuple(codes[one] for codes in self.codes), sum_by(of_row, self.sizes, count), self.raw_tallies, of_row)


def sum_by(number: Ints, mass: Floats, count: int = 0) -> Floats:
    """The sum of the masses with each number."""
    return np.asarray(np.bincount(number, weights=mass, minlength=count), dtype=np.float64)


def slots(entries: int) -> int:
    """How large a table of counters may be for so many entries."""
    return _ROOM + 4 * entries


def renumber(key: Ints, span: int) -> tuple[Ints, int]:
    """Dense numbers in the order of the keys, and how many there are."""
    if span <= slots(len(key)):
        seen = np.zeros(span, dtype=np.int64)
        seen[key] = 1
        np.cumsum(seen, out=seen)
        return seen[key] - 1, int(seen[-1])
    found, numbers = np.unique(key, return_inverse=True)
    return numbers.astype(np.int64, copy=False), len(found)
