# SPDX-License-Identifier: Apache-2.0
"""Which combinations of columns to count together, so that the entries are looked at as rarely as possible.

The counts of a few columns with few values make a small dense table, a cube, and every combination of these columns is a sum over
its other axes: a roll-up of some ten thousand cells instead of a look at a million rows. So combinations are covered with cubes as
wide as their size allows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from divulge.arrays import Ints
from divulge.count.entries import Coded, Codes, Entries

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cube:
    """How often each combination of values occurs: an axis for the values of an attribute, then one for each column."""

    names: Names
    counts: Ints = field(repr=False)

    def roll_up(self, names: Names) -> Ints:
        """The counts of some of the columns, as a table of values by classes."""
        others = tuple(axis for axis, name in enumerate(self.names, start=1) if name not in names)
        table: Ints = self.counts.sum(axis=others).reshape(len(self.counts), -1)
        return table


def count_cubes(entries: Entries, cubes: Sequence[Names], attribute: Coded | None) -> Iterator[Cube]:
    """Count cubes, in this order; without an attribute the first axis has one place.

    The key of an entry is built column by column, and cubes that begin with the same columns share that part of it.
    """
    # Sums of whole numbers below 2^53 are exact in floats.
    weights = None if entries.once else entries.repeats.astype(np.float64)
    started: list[tuple[str, Codes]] = []
    for names in cubes:
        common = itertools.takewhile(_same, zip((name for name, _ in started), names[:-1], strict=False))
        shared = sum(1 for _ in common)
        del started[shared:]
        for name in names[shared:-1]:
            started.append((name, _extended(started, attribute, entries.columns[name])))
        last = entries.columns[names[-1]]
        # bincount wants 64 bits; only the last step makes them.
        key = _extended(started, attribute, last, dtype=np.int64)
        shape = [1 if attribute is None else attribute.values, *(entries.columns[name].values for name in names)]
        counts = np.bincount(key, weights=weights, minlength=math.prod(shape)).astype(np.int64, copy=False)
        yield Cube(names, counts.reshape(shape))


def _extended(
    started: list[tuple[str, Codes]],
    attribute: Coded | None,
    column: Coded,
    *,
    dtype: type[np.signedinteger] = np.int32,
) -> Codes:
    """The key so far and one more column; a key begins with the attribute."""
    if started:
        before = started[-1][1]
    elif attribute is not None:
        before = attribute.codes
    else:
        return column.codes.astype(dtype, copy=False)
    key: Codes = np.add(before * np.int32(column.values), column.codes, dtype=dtype)
    return key


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def cover(
    combinations: Sequence[Names], values: Mapping[str, int], *, shared: int, own: int
) -> dict[Names, list[Names]]:
    """Cubes, each with the combinations to take from it; a combination of more than `own` cells has none.

    Cubes that combinations share have at most `shared` cells. They are found greedily: a cube begins with a combination that is not
    covered yet and takes in the column that covers most others, as long as it fits.
    """
    order = {name: place for place, name in enumerate(values)}
    size = max(map(len, combinations), default=0)
    cells = {names: math.prod(values[name] for name in names) for names in combinations}
    cubes = {names: [names] for names in combinations if shared < cells[names] <= own}
    open_ones = {names for names in combinations if cells[names] <= shared}
    for names in sorted(open_ones, key=lambda names: (-len(names), [values[name] for name in names])):
        if names not in open_ones:
            continue
        cube = tuple(sorted(_widened(names, open_ones, values, cells=shared, size=size), key=order.__getitem__))
        inside = [part for n in range(1, size + 1) for part in itertools.combinations(cube, n) if part in open_ones]
        open_ones.difference_update(inside)
        cubes[cube] = inside
    return {cube: cubes[cube] for cube in sorted(cubes)}


def _widened(names: Names, open_ones: set[Names], values: Mapping[str, int], *, cells: int, size: int) -> Names:
    order = {name: place for place, name in enumerate(values)}
    while True:
        room = cells // math.prod(values[name] for name in names)
        best, gain = None, 0
        for name in values:
            if name in names or values[name] > room:
                continue
            parts = (
                tuple(sorted((*part, name), key=order.__getitem__)) for part in itertools.combinations(names, size - 1)
            )
            found = sum(part in open_ones for part in parts)
            # Of two that cover as much, the one with fewer values leaves more room.
            if found > gain or (found == gain > 0 and best is not None and values[name] < values[best]):
                best, gain = name, found
        if best is None:
            return names
        names = (*names, best)
