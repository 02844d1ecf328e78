# SPDX-License-Identifier: Apache-2.0
"""The few numbers that a ranking shows of a sensitive attribute, for a small table of classes by values.

The definitions are those of information.py and leakage.py with the table's own marginal as the prior; tests hold both against each other.
Those take the cells of any table one by one; here a table is dense and has many siblings (a ranking looks at thousands), which makes
another way of computing them ten times faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.count.contingency import Floats, Ints
from divulge.metrics.metric import never_negative, without_residue


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
        return cls(shares, never_negative(-float(shares @ np.log2(shares))), total, n_log_n)


def sensitive_numbers(table: Ints, marginal: Marginal, *, classes: int) -> dict[str, float]:
    """By the names of the metrics; `table` has a row for each class that is not like one before it, and no empty row.

    `classes` is how many classes there are; those left out of `table` because a like one is in it hold one value only.
    """
    totals = table.sum(axis=1)
    # -sum x log2 x with x = n/t is log2 t - sum n log2 n / t.
    entropies = without_residue(np.log2(totals) - marginal.n_log_n[table].sum(axis=1) / totals)
    remaining = float(totals @ entropies) / marginal.total
    information = never_negative(marginal.entropy - remaining)
    away = table / totals[:, None]
    away -= marginal.shares
    known = marginal.entropy > 0
    least = float((totals * entropies).min()) * classes / marginal.total
    return {
        "mutual_information": information,
        "discrimination_rate": information / marginal.entropy if known else 0.0,
        "itpr": _clean(marginal.entropy - least) / marginal.entropy if known else 0.0,
        "distribution_leakage": float(np.sqrt(np.einsum("ij,ij->i", away, away).max())),
        "entropy_leakage": float(np.abs(without_residue(marginal.entropy - entropies)).max()),
    }


def _clean(bits: float) -> float:
    return float(without_residue(np.asarray(bits)))
