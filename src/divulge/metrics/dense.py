# SPDX-License-Identifier: Apache-2.0
"""The few numbers that a ranking shows of a sensitive attribute, for a small table of values by classes.

The definitions are those of information.py with the table's own marginal as the prior; tests hold both against each other. Here a table is
dense and has many siblings (a ranking looks at thousands), which makes another way of computing them ten times faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge import arrays
from divulge.arrays import Floats, Ints

_PIECE = 2**15
"""Cells that are looked at together."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """An attribute in the whole table: what a ranking needs to know once."""

    shares: Floats = field(repr=False)
    entropy: float
    total: float
    n_log_n: Floats = field(repr=False)
    """n log2 n for every number up to the largest count of a value."""

    @classmethod
    def of(cls, counts: Ints) -> Marginal:
        """From how often each value occurs."""
        total = float(counts.sum())
        shares = counts / total
        numbers = np.arange(int(counts.max()) + 1, dtype=np.float64)
        n_log_n = numbers * np.log2(np.maximum(numbers, 1.0))
        return cls(shares, arrays.never_negative(-float(shares @ np.log2(shares))), total, n_log_n)


@dataclass(frozen=True, eq=False)
class DenseSums:
    """What one look at a table of values by classes leaves, enough for each metric that has a `dense` function."""

    marginal: Marginal
    classes: int
    left: float
    """Bits that the classes leave, summed over the people."""
    least: float
    """The fewest bits of a class, its entropy times its people."""
    farthest: float
    """The largest squared distance of a class from the marginal."""
    fall: float
    """The largest change of entropy in a class."""
    guessed: float
    """People whose value is the commonest of their class."""

    @classmethod
    def of(cls, table: Ints, marginal: Marginal, *, classes: int) -> DenseSums:
        """`table` has a row for each value and a column for each class, none of them empty.

        `classes` is how many classes there are; one that holds one value only may be left out of `table` if another such one is in it.
        """
        left = farthest = fall = 0.0
        guessed = marginal.total  # whoever is left out of the table is in a class of one value
        least = np.inf
        # Pieces that stay in the processor's cache take a quarter of the time.
        step = max(_PIECE // len(table), 1)
        for start in range(0, table.shape[1], step):
            piece = table[:, start : start + step]
            totals = piece.sum(axis=0)
            guessed -= float((totals - piece.max(axis=0)).sum())
            # -sum x log2 x with x = n/t is log2 t - sum n log2 n / t.
            entropies = arrays.without_residue(np.log2(totals) - marginal.n_log_n.take(piece).sum(axis=0) / totals)
            bits = totals * entropies
            left, least = left + float(bits.sum()), min(least, float(bits.min()))
            fall = max(fall, float(np.abs(arrays.without_residue(marginal.entropy - entropies)).max()))
            away = piece / totals
            away -= marginal.shares[:, None]
            away *= away
            farthest = max(farthest, float(away.sum(axis=0).max()))
        return cls(marginal, classes, left, least, farthest, fall, guessed)

    def relative(self, bits: float) -> float:
        """As a share of what there was to learn."""
        return bits / self.marginal.entropy if self.marginal.entropy > 0 else 0.0


def mutual_information(sums: DenseSums) -> float:
    """I(W; class)."""
    return arrays.never_negative(sums.marginal.entropy - sums.left / sums.marginal.total)


def discrimination_rate(sums: DenseSums) -> float:
    """DR."""
    return sums.relative(mutual_information(sums))


def itpr(sums: DenseSums) -> float:
    """ITPR, of the class that leaves least."""
    bits = sums.marginal.entropy - sums.least * sums.classes / sums.marginal.total
    return sums.relative(float(arrays.without_residue(np.asarray(bits))))


def distribution_leakage(sums: DenseSums) -> float:
    """L_D."""
    return float(np.sqrt(sums.farthest))


def entropy_leakage(sums: DenseSums) -> float:
    """L_E."""
    return sums.fall


def posterior_vulnerability(sums: DenseSums) -> float:
    """V(W | class)."""
    return sums.guessed / sums.marginal.total
