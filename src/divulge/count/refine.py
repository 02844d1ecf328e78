# SPDX-License-Identifier: Apache-2.0
"""Classes of a growing set of columns, one column at a time (Bkakria et al. 2021, Definition 2 and Fig. 7).

Rows are in one class with k columns if they are in one class with the first k - 1 and agree in the k-th. So the classes of n columns
come from those of n - 1 by looking at one column, and the cost of n columns is n times that of one, where a GROUP BY for each n would
read and hash n columns again. Two things keep the step cheap:

- The number of a class and the code of a value make one small number. Those that occur are counted in an array; no hashing, no sorting,
  and no two different keys are ever taken for the same. A column with many values is taken digit by digit, so that the array is never
  longer than twice the rows.
- A row that is alone in its class stays alone whatever is added: it is closed and not looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from divulge.arrays import Ints

Scalar = TypeVar("Scalar", bound=np.generic)
_SMALLEST_TABLE = 2**16


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows divided into classes; those alone in a class are only counted."""

    ids: Ints = field(repr=False)
    """The class of each open row, from 0 to the number of open classes."""
    rows: Ints | None = field(repr=False)
    """Which rows are open; None while all are."""
    sizes: Ints = field(repr=False)
    """The size of each open class, at least 2."""
    closed: int
    """Rows that are alone in their class."""

    @classmethod
    def whole(cls, rows: int) -> Partition:
        """All rows in one class."""
        if rows < 2:
            return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), rows)
        return cls(np.zeros(rows, dtype=np.int64), None, np.array([rows]), 0)

    @property
    def classes(self) -> int:
        """Open and closed classes."""
        return len(self.sizes) + self.closed

    def open_part(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """What a column holds for the open rows."""
        return column if self.rows is None else column[self.rows]

    def closed_rows(self, rows: int) -> Ints:
        """Which of so many rows are alone in their class."""
        if self.rows is None:
            return np.empty(0, dtype=np.int64)
        is_closed = np.ones(rows, dtype=bool)
        is_closed[self.rows] = False
        return np.flatnonzero(is_closed)


def refine(partition: Partition, codes: npt.NDArray[np.integer], values: int) -> Partition:
    """Divide the classes by one more column; `codes` lie from 0 up to, but not including, `values`."""
    rest = partition.open_part(codes)
    while values > 1 and len(rest):
        longest = max(2 * len(rest), _SMALLEST_TABLE)
        base = max(longest // len(partition.sizes), 2)
        if values <= base:
            digit, base, values = rest, values, 1
        else:
            rest, digit = np.divmod(rest, base)
            values = -(-values // base)
        partition, kept = _divide(partition, digit, base)
        rest = rest if kept is None else rest[kept]
    return partition


def _divide(
    partition: Partition, digit: npt.NDArray[np.integer], base: int
) -> tuple[Partition, npt.NDArray[np.bool_] | None]:
    """Divide by a column with few values; also which of the open rows stay open, None if all do."""
    key = partition.ids * base
    key += digit
    sizes = np.bincount(key, minlength=len(partition.sizes) * base)
    if np.count_nonzero(sizes) == len(partition.sizes):  # every class has one value: nothing is divided
        return partition, None
    is_open = sizes > 1
    ids = np.cumsum(is_open, dtype=np.int64) - 1
    closed = int(np.count_nonzero(sizes == 1))
    if closed == 0:
        return Partition(ids[key], partition.rows, sizes[is_open], partition.closed), None
    kept = is_open[key]
    rows = np.flatnonzero(kept) if partition.rows is None else partition.rows[kept]
    return Partition(ids[key[kept]], rows, sizes[is_open], partition.closed + closed), kept
