# SPDX-License-Identifier: Apache-2.0
"""The classes of any node, by rolling up the counts of the raw classes (LeFevre et al. 2005: roll-up instead of a scan of the rows).

A node's class is a combination of labels. The columns are split into two halves; the combination of labels within a half is numbered
once per choice of levels and remembered, so that a node costs one multiplication, one addition and one count over the raw classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from divulge.belief import Belief
from divulge.count import Cells, Contingency
from divulge.count.contingency import Floats, Ints, build_cells
from divulge.errors import BadInput
from divulge.generalize.lattice import Lattice, Node
from divulge.metrics import Identity

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_REMEMBERED_HALVES = 512
_ROOM = 1 << 16
"""A table of this many slots is always worth its memory; beyond it, four slots per entry."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one node."""

    node: Node
    of_raw: Ints = field(repr=False)
    """The class of each raw class."""
    sizes: Floats = field(repr=False)
    """People in each class, as whole floats."""

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Rollup:
    """The raw counts, the lattice over them, and the belief about each sensitive attribute."""

    contingency: Contingency
    lattice: Lattice
    beliefs: Mapping[str, Belief]
    population: Floats | None = None
    """People of the population behind each raw class."""

    def __post_init__(self) -> None:
        if self.contingency.person_entropy is not None:
            raise BadInput(
                "people who own several rows cannot be followed while classes merge: the same person may stand in both",
                hint="reduce the table to one row per person, or search without a person column",
            )
        for name, belief in self.beliefs.items():
            if belief.prior.row is not None:
                raise BadInput(
                    f"the prior of {name!r} depends on quasi-identifiers, which a generalization changes",
                    hint="give one prior for the whole table",
                )

    @property
    def people(self) -> int:
        """Everybody in the table."""
        return int(self.contingency.sizes.sum())

    @cached_property
    def sizes(self) -> Floats:
        """People in each raw class, as whole floats."""
        return self.contingency.sizes.astype(np.float64)

    @cached_property
    def _halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two sets of columns with about as many level combinations each."""
        halves: tuple[list[int], list[int]] = ([], [])
        weights = [1, 1]
        for position in sorted(range(len(self.lattice.shape)), key=lambda i: -self.lattice.shape[i]):
            lighter = 0 if weights[0] <= weights[1] else 1
            halves[lighter].append(position)
            weights[lighter] *= self.lattice.shape[position]
        return tuple(halves[0]), tuple(halves[1])

    @cached_property
    def _numbered_half(self) -> Callable[[int, tuple[int, ...]], tuple[Ints, int]]:
        return lru_cache(maxsize=_REMEMBERED_HALVES)(self._number_half)

    def _number_half(self, half: int, levels: tuple[int, ...]) -> tuple[Ints, int]:
        """The number of each raw class's labels in one half of the columns, and how many numbers there are."""
        key = np.zeros(len(self.contingency), dtype=np.int64)
        span = 1
        for position, level in zip(self._halves[half], levels, strict=True):
            step = self.lattice.ladders[position].levels[level]
            if span > 1 and span * len(step.labels) > _slots(len(key)):
                key, span = renumber(key, span)
            key = key * len(step.labels) + step.codes[self.contingency.codes[position]]
            span *= len(step.labels)
        return (key, span) if span <= _ROOM else renumber(key, span)

    def classes(self, node: Node) -> Classes:
        """Merge the raw classes that have the same labels at these levels."""
        first, _ = self._numbered_half(0, tuple(node[i] for i in self._halves[0]))
        second, radix = self._numbered_half(1, tuple(node[i] for i in self._halves[1]))
        key = first * radix
        key += second
        of_raw, _ = renumber(key, int(key.max()) + 1)
        return Classes(node, of_raw, sum_by(of_raw, self.sizes))

    def sums(self, classes: Classes, per_raw: Floats) -> Floats:
        """Sum a number of the raw classes over each class."""
        return sum_by(classes.of_raw, per_raw, len(classes))

    def identity(self, classes: Classes, kept: Bools) -> Identity:
        """Class sizes of what is published."""
        sizes = classes.sizes[kept]
        population = None
        if self.population is not None:
            # Weights below 1 cannot make a class of the population smaller than the people seen in it.
            population = np.maximum(self.sums(classes, self.population)[kept], sizes)
        return Identity(sizes, np.ones(len(sizes)), float(np.log2(sizes.sum())), population)

    def belief(self, attribute: str, classes: Classes, kept: Bools) -> Belief:
        """What the kept classes tell about an attribute, against the prior of the original table."""
        raw = self.beliefs[attribute]
        cells, present = merge_cells(raw.cells, classes.of_raw[self._class_of_cell(attribute)], kept)
        return Belief(cells, raw.prior, raw.ground, np.flatnonzero(kept)[present], raw.recursive_l)

    def _class_of_cell(self, attribute: str) -> Ints:
        return self._raw_class_of_cells[attribute]

    @cached_property
    def _raw_class_of_cells(self) -> dict[str, Ints]:
        return {name: belief.classes[belief.cells.class_index] for name, belief in self.beliefs.items()}


def default_beliefs(contingency: Contingency) -> dict[str, Belief]:
    """The prior is the table's own marginal, for every sensitive attribute."""
    return {name: Belief.of_table(cells) for name, cells in contingency.cells.items()}


def sum_by(number: Ints, mass: Floats, count: int = 0) -> Floats:
    """The sum of the masses with each number."""
    return np.asarray(np.bincount(number, weights=mass, minlength=count), dtype=np.float64)


def _slots(entries: int) -> int:
    return _ROOM + 4 * entries


def renumber(key: Ints, span: int) -> tuple[Ints, int]:
    """Dense numbers in the order of the keys, and how many there are."""
    if span <= _slots(len(key)):
        seen = np.zeros(span, dtype=np.int64)
        seen[key] = 1
        np.cumsum(seen, out=seen)
        return seen[key] - 1, int(seen[-1])
    found, numbers = np.unique(key, return_inverse=True)
    return numbers.astype(np.int64, copy=False), len(found)


def merge_cells(raw: Cells, class_of_cell: Ints, kept: Bools) -> tuple[Cells, Ints]:
    """The cells of the kept classes, and which of these have any (background knowledge can leave a class without a value)."""
    value, mass = raw.value, raw.mass
    classes = len(kept)
    if not kept.all():
        chosen = kept[class_of_cell]
        renumbered = np.cumsum(kept) - 1
        class_of_cell, value, mass = renumbered[class_of_cell[chosen]], value[chosen], mass[chosen]
        classes = int(renumbered[-1]) + 1
    values = len(raw.domain)
    if classes * values <= _slots(len(value)):
        table = sum_by(class_of_cell * values + value, mass, classes * values)
        place = np.flatnonzero(table)
        start = np.searchsorted(place, np.arange(classes + 1) * values)
        cells = Cells(raw.domain, start, place % values, table[place])
    else:
        cells = build_cells(raw.domain, class_of_cell, value, mass, classes=classes)
    present = np.flatnonzero(np.diff(cells.start))
    if len(present) < classes:
        cells = Cells(cells.domain, np.append(cells.start[present], cells.start[-1]), cells.value, cells.mass)
    return cells, present
