# SPDX-License-Identifier: Apache-2.0
"""How often each value of an attribute occurs in the raw classes, for classes that the search merges."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.arrays import Bools, Floats, Ints, slots, sum_by_id
from divulge.count import Cells, Domain
from divulge.count.contingency import build_cells


@dataclass(frozen=True, eq=False)
class ValueTally:
    """How often each value of an attribute occurs, by raw class."""

    domain: Domain
    raw_class: Ints = field(repr=False)
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)

    @classmethod
    def of(cls, cells: Cells, raw_classes: Ints | None = None) -> ValueTally:
        """From cells; `raw_classes` says which raw class each class of theirs is, where that is not its own number."""
        index = cells.class_index if raw_classes is None else raw_classes[cells.class_index]
        return cls(cells.domain, index, cells.value, cells.mass)

    def merged(self, of_raw: Ints) -> ValueTally:
        """The same with the counts of each merged class put on one of its raw classes: good for every coarser division."""
        count = int(of_raw.max()) + 1
        one = np.empty(count, dtype=np.int64)
        one[of_raw] = np.arange(len(of_raw))
        cells, present = self.cells(of_raw, np.ones(count, dtype=bool))
        return ValueTally.of(cells, one[present])

    def cells(self, of_raw: Ints, kept: Bools) -> tuple[Cells, Ints]:
        """Cells of the kept classes, and which of these have any (background knowledge can leave a class without a value)."""
        index, value, mass = of_raw[self.raw_class], self.value, self.mass
        classes = len(kept)
        if not kept.all():
            chosen = kept[index]
            renumbered = np.cumsum(kept) - 1
            index, value, mass = renumbered[index[chosen]], value[chosen], mass[chosen]
            classes = int(renumbered[-1]) + 1
        values = len(self.domain)
        if classes * values <= slots(len(value)):
            table = sum_by_id(index * values + value, mass, classes * values)
            place = np.flatnonzero(table)
            start = np.searchsorted(place, np.arange(classes + 1) * values)
            cells = Cells(self.domain, start, place % values, table[place])
        else:
            cells = build_cells(self.domain, index, value, mass, classes=classes)
        present = np.flatnonzero(np.diff(cells.start))
        if len(present) < classes:
            cells = Cells(cells.domain, np.append(cells.start[present], cells.start[-1]), cells.value, cells.mass)
        return cells, present
