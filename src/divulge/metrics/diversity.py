# SPDX-License-Identifier: Apache-2.0
"""Diversity of the values in a class: l-diversity in three kinds, and the largest share of a value.

Distinct, entropy and recursive l-diversity are defined by Machanavajjhala et al. 2007. alpha is
that of (alpha,k)-anonymity. Each function takes a belief and returns one number per class.
"""

from __future__ import annotations

import numpy as np

from divulge.adversary import Belief
from divulge.arrays import Floats


def distinct_l_diversity(belief: Belief) -> Floats:
    """The number of distinct values in the class."""
    return np.diff(belief.cells.start).astype(np.float64)


def entropy_l_diversity(belief: Belief) -> Floats:
    """2^H: the number of equally likely values with the same uncertainty."""
    return np.exp2(belief.entropy)


def missing_bits(values: Floats) -> Floats:
    """-log2 of an entropy l: -H, which is convex."""
    return -np.log2(values)


def recursive_diversity(belief: Belief) -> Floats:
    """r1 / (r_l + ... + r_m), with the counts in descending order.

    (c,l)-diversity holds for every c above it.
    """
    l_value = recursive_l(belief)
    totals = belief.cells.totals
    largest = belief.cells.max_by_class(belief.cells.mass)
    if l_value == 1:
        return largest / totals
    tail = totals - (largest if l_value == 2 else belief.cells.sum_of_largest(l_value - 1))
    tail = np.where(distinct_l_diversity(belief) >= l_value, tail, 0.0)
    with np.errstate(divide="ignore"):
        return largest / tail


def recursive_l(belief: Belief) -> int:
    """The l in effect: the requested one, or else the table's own distinct l."""
    if belief.recursive_l is not None:
        return belief.recursive_l
    return belief.whole_table.fewest_values


def alpha(belief: Belief) -> Floats:
    """The share of the most common value, which is the success of the best guess."""
    return belief.cells.max_by_class(belief.posterior)


def values_ruled_out(belief: Belief) -> Floats:
    """The number of values that the prior considers possible but the class excludes.

    This is negative disclosure.
    """
    return belief.absent_values
