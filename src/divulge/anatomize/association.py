# SPDX-License-Identifier: Apache-2.0
"""How much a column tells, and how closely two columns go together (Yao et al. 2021, eqs. 9 and 10).

The weight of a column is its entropy in bits. The association of two columns is the mean-square contingency coefficient phi2 (Cramer's V
squared), or V squared with Bergsma's correction (2013): phi2 grows with the number of values even between independent columns, so that a
column such as a survey weight would draw everything into its table.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from divulge.anatomize.codes import Ints, RowCodes
from divulge.anatomize.levels import sums
from divulge.errors import BadInput

Association = Literal["phi2", "cramers_v2"]

_LARGEST_GRID = 2**24


def column_weight(rows: RowCodes, name: str) -> float:
    """The entropy of a column in bits (eq. 9)."""
    counts = np.bincount(rows.column(name))
    shares = counts[counts > 0] / len(rows)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def associate(rows: RowCodes, left: str, right: str, *, kind: Association = "phi2") -> float:
    """The association of two columns, from 0 (independent) to 1 (one tells the other); 0 where a column has one value only."""
    if kind not in ("phi2", "cramers_v2"):
        raise BadInput(f"there is no association {kind!r}", hint="Use 'phi2' or 'cramers_v2'")
    i, j, counts = _pairs(rows, left, right)
    left_totals, right_totals = sums(i, counts, len(rows.domain(left))), sums(j, counts, len(rows.domain(right)))
    lefts, rights = int(np.count_nonzero(left_totals)), int(np.count_nonzero(right_totals))
    fewest = min(lefts, rights)
    if fewest < 2:
        return 0.0
    # sum (p_ij - p_i p_j)^2 / (p_i p_j) = sum n_ij^2 / (n_i n_j) - 1
    expected = left_totals[i].astype(np.float64) * right_totals[j]
    square = float((counts.astype(np.float64) ** 2 / expected).sum()) - 1.0
    if kind == "phi2":
        return min(max(square / (fewest - 1), 0.0), 1.0)
    return _corrected(square, lefts, rights, len(rows))


def _corrected(square: float, lefts: int, rights: int, rows: int) -> float:
    """Bergsma's bias-corrected V squared."""
    if rows < 2:
        return 0.0
    excess = max(square - (lefts - 1) * (rights - 1) / (rows - 1), 0.0)
    narrower = min(lefts - (lefts - 1) ** 2 / (rows - 1), rights - (rights - 1) ** 2 / (rows - 1)) - 1
    return min(excess / narrower, 1.0) if narrower > 0 else 0.0


def _pairs(rows: RowCodes, left: str, right: str) -> tuple[Ints, Ints, Ints]:
    """The pairs of values that occur, and how often."""
    width = len(rows.domain(right))
    key = rows.column(left).astype(np.int64)
    key *= width
    key += rows.column(right)
    if len(rows.domain(left)) * width <= _LARGEST_GRID:
        grid = np.bincount(key)
        found = np.flatnonzero(grid)
        counts = grid[found]
    else:
        found, counts = np.unique(key, return_counts=True)
    return found // width, found % width, counts
