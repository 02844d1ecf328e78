# SPDX-License-Identifier: Apache-2.0
"""Joint distributions of two columns, as they are and as an anatomized release lets them be reconstructed.

Two columns in different tables are independent within a group as far as the release tells, so their expected joint
count is the sum over groups of (count of a) (count of b) / size: equation 11 of Yao et al. 2021 for all pairs of
values at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from divulge.anatomize.anatomized import Anatomized
from divulge.anatomize.levels import tally
from divulge.arrays import Floats, Ints

_CELLS = 2**24
"""How many cells of the (group, value) grid are held at a time."""


@dataclass(frozen=True)
class Coefficients:
    """The association of two columns."""

    phi2: float
    """The mean-square contingency coefficient (eq. 10)."""
    mutual_information: float
    """In bits."""


def true_pairs(anatomized: Anatomized, left: str, right: str) -> Floats:
    """How many records have each pair of values."""
    rows = anatomized.rows
    shape = (len(rows.domain(left)), len(rows.domain(right)))
    key = rows.column(left).astype(np.int64) * shape[1] + rows.column(right)
    return np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def expected_pairs(anatomized: Anatomized, left: str, right: str) -> Floats:
    """How many records are expected to have each pair of values, going by the release."""
    rows, sizes = anatomized.rows, anatomized.sizes
    shape = (len(rows.domain(left)), len(rows.domain(right)))
    total = np.zeros(shape)
    step = max(_CELLS // max(shape), 1)
    first = tally(anatomized.group, rows.column(left), groups=len(sizes), values=shape[0])
    second = tally(anatomized.group, rows.column(right), groups=len(sizes), values=shape[1])
    for begin in range(0, len(sizes), step):
        end = min(begin + step, len(sizes))
        a = _grid(first.group, first.value, first.count, begin=begin, end=end, width=shape[0])
        b = _grid(second.group, second.value, second.count, begin=begin, end=end, width=shape[1])
        total += (a / sizes[begin:end, None]).T @ b
    return total


def coefficients_of(pairs: Floats, records: int) -> Coefficients:
    """The association that a joint count shows."""
    share = pairs / records
    lefts, rights = share.sum(axis=1, keepdims=True), share.sum(axis=0, keepdims=True)
    independent = lefts * rights
    present = share > 0
    ratio = share[present] / independent[present]
    fewest = min(int((lefts > 0).sum()), int((rights > 0).sum()))
    square = float((share[present] * ratio).sum()) - 1.0
    phi2 = min(max(square / (fewest - 1), 0.0), 1.0) if fewest > 1 else 0.0
    return Coefficients(phi2, max(float((share[present] * np.log2(ratio)).sum()), 0.0))


def _grid(group: Ints, value: Ints, count: Ints, *, begin: int, end: int, width: int) -> Floats:
    """Counts of some groups as a dense grid; entries are sorted by group."""
    some = slice(int(np.searchsorted(group, begin)), int(np.searchsorted(group, end)))
    grid = np.zeros((end - begin, width))
    grid[group[some] - begin, value[some]] = count[some]
    return grid
