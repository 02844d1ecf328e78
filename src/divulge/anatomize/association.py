# SPDX-License-Identifier: Apache-2.0
"""How much a column tells, and how closely two columns go together (Yao et al. 2021, eqs. 9 and 10).

The weight of a column is its entropy in bits. The association of two columns is the mean-square contingency coefficient phi2 (Cramer's V
squared), or V squared with Bergsma's correction (2013): phi2 grows with the number of values even between independent columns, so that a
column such as a survey weight would draw everything into its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from divulge.arrays import Ints
from divulge.errors import BadInput

Association = Literal["phi2", "cramers_v2"]


@dataclass(frozen=True)
class Together:
    """All that the association of two columns depends on."""

    squares: float
    """The sum of n_ij^2 / (n_i n_j) over the pairs of values that occur."""
    lefts: int
    """Values of the left column ..."""
    rights: int
    """... and of the right one."""
    rows: int


class ColumnCounts(Protocol):
    """Columns that have been counted: rows in memory (codes.RowCodes), or a table on a cluster."""

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """How often values of a column occur: each number that is the count of a value, and how many values have it."""

    def together(self, left: str, right: str) -> Together:
        """How two columns occur together."""


def column_weight(columns: ColumnCounts, name: str) -> float:
    """The entropy of a column in bits (eq. 9)."""
    counts, values = columns.spectrum(name)
    shares = counts / (counts @ values)
    return float(-(values * shares * np.log2(shares)).sum()) + 0.0


def sum_of_squares(counts: Ints, left_totals: Ints, right_totals: Ints) -> float:
    """n_ij^2 / (n_i n_j), summed over some pairs of values: how often each occurs, and how often its two values do."""
    expected = left_totals.astype(np.float64) * right_totals
    return float((counts.astype(np.float64) ** 2 / expected).sum())


def associate(columns: ColumnCounts, left: str, right: str, *, kind: Association = "phi2") -> float:
    """The association of two columns, from 0 (independent) to 1 (one tells the other); 0 where a column has one value only."""
    if kind not in ("phi2", "cramers_v2"):
        raise BadInput(f"there is no association {kind!r}", hint="Use 'phi2' or 'cramers_v2'")
    found = columns.together(left, right)
    fewest = min(found.lefts, found.rights)
    if fewest < 2:
        return 0.0
    # sum (p_ij - p_i p_j)^2 / (p_i p_j) = sum n_ij^2 / (n_i n_j) - 1
    square = found.squares - 1.0
    if kind == "phi2":
        return min(max(square / (fewest - 1), 0.0), 1.0)
    return _corrected(square, found.lefts, found.rights, found.rows)


def _corrected(square: float, lefts: int, rights: int, rows: int) -> float:
    """Bergsma's bias-corrected V squared."""
    if rows < 2:
        return 0.0
    excess = max(square - (lefts - 1) * (rights - 1) / (rows - 1), 0.0)
    narrower = min(lefts - (lefts - 1) ** 2 / (rows - 1), rights - (rights - 1) ** 2 / (rows - 1)) - 1
    return min(excess / narrower, 1.0) if narrower > 0 else 0.0
