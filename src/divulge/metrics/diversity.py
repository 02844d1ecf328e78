# SPDX-License-Identifier: Apache-2.0
"""How many values a class leaves possible: l-diversity in three kinds (Machanavajjhala et al. 2007) and (alpha,k)-anonymity's alpha.

Each function takes a belief and returns one number per class.
"""

from __future__ import annotations

import numpy as np

from divulge.belief import Belief
from divulge.count.contingency import Floats


def distinct_l(belief: Belief) -> Floats:
    """How many values occur."""
    return np.diff(belief.cells.start).astype(np.float64)


def entropy_l(belief: Belief) -> Floats:
    """2^H: how many equally likely values would leave the same uncertainty."""
    return np.exp2(belief.entropy)


def missing_bits(values: Floats) -> Floats:
    """-log2 of an entropy l: -H, which is convex."""
    return -np.log2(values)


def recursive_c(belief: Belief) -> Floats:
    """r1 / (r_l + ... + r_m) with the counts in descending order; (c,l)-diversity holds for every c above it."""
    l_value = recursive_l(belief)
    totals = belief.cells.totals
    largest = belief.cells.max_by_class(belief.cells.mass)
    if l_value == 1:
        return largest / totals
    tail = totals - (largest if l_value == 2 else _sum_of_largest(belief, l_value - 1))
    tail = np.where(distinct_l(belief) >= l_value, tail, 0.0)
    with np.errstate(divide="ignore"):
        return largest / tail


def recursive_l(belief: Belief) -> int:
    """The l in force: the one asked for, else the table's own distinct l."""
    return belief.recursive_l if belief.recursive_l is not None else belief.whole.fewest_values


def _sum_of_largest(belief: Belief, how_many: int) -> Floats:
    cells = belief.cells
    order = np.lexsort((-cells.mass, cells.class_index))
    rank = np.arange(len(order)) - cells.start[:-1][cells.class_index]
    return cells.sum_by_class(np.where(rank < how_many, cells.mass[order], 0.0))


def alpha(belief: Belief) -> Floats:
    """The share of the commonest value: with it an adversary guesses right."""
    return belief.cells.max_by_class(belief.posterior)


def values_ruled_out(belief: Belief) -> Floats:
    """How many values held possible before do not occur in the class (negative disclosure)."""
    return belief.absent_values
