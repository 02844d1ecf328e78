# SPDX-License-Identifier: Apache-2.0
"""Mondrian cells: halve the records at the median of a column again and again, as long as both halves are allowed.

LeFevre et al. 2006, strict partitioning. All cells of a depth are cut together: each tries the column with the widest range first, relative
to the whole table, and the next one where a half would not be allowed. Slicing buckets are such cells, and so are the regions inside which
our group division can deal, so that records of a group are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from divulge.anatomize.codes import RowCodes
from divulge.arrays import Bools, Ints, Members, lay_out

Allowed = Callable[[Ints, Ints, int], Bools]
"""(cell of each record, the records, how many cells) -> which cells may stand."""


@dataclass(frozen=True, eq=False)
class Regions:
    """A partition of the records."""

    count: int
    cell: npt.NDArray[np.int32]


def mondrian(rows: RowCodes, columns: Sequence[str], *, allowed: Allowed) -> Regions:
    """Cells that are allowed and cannot be cut; the whole table is not asked about."""
    codes = np.stack([rows.column(name).astype(np.int32) for name in columns])
    spans = np.maximum(codes.max(axis=1) - codes.min(axis=1), 1)
    cell = np.zeros(len(rows), dtype=np.int32)
    count, growing = 1, np.zeros(1, dtype=np.int64)
    while len(growing):
        layout = lay_out(cell, count)
        widths = _widths(codes, layout, growing) / spans[:, None]
        preference = np.argsort(-widths, axis=0, kind="stable")
        waiting, halves = np.arange(len(growing)), []
        for turn in range(len(columns)):
            chosen = preference[turn, waiting]
            waiting, chosen = _cuttable(waiting, chosen, widths)
            if len(waiting) == 0:
                break
            right, cut = _cut(codes, layout, growing[waiting], chosen, allowed)
            halves.append((growing[waiting[cut]], right))
            waiting = waiting[~cut]
        grown = []
        for parents, right in halves:
            number = np.arange(count, count + len(parents))
            cell[right.records] = number[right.place]
            count += len(parents)
            grown += [parents, number]
        growing = np.concatenate(grown) if grown else np.zeros(0, dtype=np.int64)
    return Regions(count, cell)


@dataclass(frozen=True, eq=False)
class _Right:
    """Records that leave their cell for its right half, and the place of the cell among those that were cut."""

    records: Ints
    place: Ints


def _widths(codes: npt.NDArray[np.int32], layout: Members, cells: Ints) -> Ints:
    """For each column and cell, the range of codes."""
    records, place = layout.gather(cells)
    begins = np.searchsorted(place, np.arange(len(cells)))
    inside = codes[:, records]
    widths: Ints = np.maximum.reduceat(inside, begins, axis=1) - np.minimum.reduceat(inside, begins, axis=1)
    return widths


def _cuttable(waiting: Ints, chosen: Ints, widths: npt.NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Cells whose chosen column has two values; the columns that follow are no wider, so the others are done."""
    wide = widths[chosen, waiting] > 0
    return waiting[wide], chosen[wide]


def _cut(
    codes: npt.NDArray[np.int32], layout: Members, cells: Ints, chosen: Ints, allowed: Allowed
) -> tuple[_Right, Bools]:
    """Cut cells at the median of their chosen columns; the right halves of those whose halves are both allowed, and which these are."""
    records, place = layout.gather(cells)
    value = codes[chosen[place], records].astype(np.int64)
    order = np.argsort(place * (int(value.max()) + 1) + value)
    sizes = np.bincount(place, minlength=len(cells))
    begins = np.cumsum(sizes) - sizes
    ordered = value[order]
    median, least = ordered[begins + sizes // 2], ordered[begins]
    # The right half starts with the median; where everything below it is empty, with the next value.
    right = np.where((median > least)[place], value >= median[place], value > median[place])
    fine = allowed(2 * place + right, records, 2 * len(cells))
    cut = fine[0::2] & fine[1::2]
    leaving = right & cut[place]
    number = np.cumsum(cut) - 1
    return _Right(records[leaving], number[place[leaving]]), cut
