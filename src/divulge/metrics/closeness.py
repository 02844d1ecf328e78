# SPDX-License-Identifier: Apache-2.0
"""How far a class's distribution is from the prior: t-closeness, beta-likeness, delta-disclosure.

t-closeness (Li et al. 2007) is the earth mover's distance under a ground distance between values: equal (the total variation), ordered
(steps between neighbours, divided by m - 1) or hierarchical (height of the common ancestor over the height of the tree). beta-likeness
is of Cao and Karras 2012, delta-disclosure of Brickell and Shmatikov 2008. Each function returns one number per class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge import arrays
from divulge.arrays import Floats, Ints
from divulge.belief import Belief
from divulge.count import Cells, build_cells
from divulge.errors import InternalError

_TOLERANCE = 1e-9


def t_closeness(belief: Belief) -> Floats:
    """The earth mover's distance between class and prior, under the attribute's ground distance."""
    if belief.ground.distance == "ordered":
        return arrays.without_residue(_ordered(belief))
    if belief.ground.distance == "hierarchical":
        return _hierarchical(belief)
    return _equal(belief)


def _equal(belief: Belief) -> Floats:
    """Half the L1 distance."""
    present = belief.cells.sum_by_class(np.abs(belief.posterior - belief.prior_of_cell))
    return 0.5 * (present + belief.absent_prior(1))


def _ordered(belief: Belief) -> Floats:
    """The mean over the m - 1 gaps between neighbouring values of |F_class - F_prior|, F the cumulative share.

    F_class is flat between two values that occur, and F_prior never falls, so the sum over such a stretch splits at one crossing point
    and comes from running sums: the cost follows the cells.
    """
    gaps = len(belief.cells.domain) - 1
    if gaps == 0:
        return np.zeros(len(belief.classes))
    if belief.prior.row is None:
        return _ordered_against(belief.cells, belief.prior.weights[0]) / gaps
    distance = np.empty(len(belief.classes))
    by_row = np.argsort(belief.prior.row, kind="stable")
    ends = np.searchsorted(belief.prior.row[by_row], np.arange(len(belief.prior.weights) + 1))
    for row, weights in enumerate(belief.prior.weights):
        members = by_row[ends[row] : ends[row + 1]]
        if len(members):
            distance[members] = _ordered_against(_select(belief.cells, members), weights) / gaps
    return distance


def _ordered_against(cells: Cells, weights: Floats) -> Floats:
    values = len(weights)
    # F_prior at the first m - 1 values; at the last one both cumulative shares are 1.
    prior = np.cumsum(weights)[:-1] / weights.sum()
    running = np.concatenate([[0.0], np.cumsum(prior)])
    totals = cells.totals
    before_class = np.concatenate([[0.0], np.cumsum(totals)])[:-1]
    level = (np.cumsum(cells.mass) - before_class[cells.class_index]) / totals[cells.class_index]
    begin = np.minimum(cells.value, values - 1)
    last_of_class = np.zeros(len(begin), dtype=bool)
    last_of_class[cells.start[1:] - 1] = True
    end = np.where(last_of_class, values - 1, np.append(cells.value[1:], values - 1))
    level[last_of_class] = 1.0
    crossing = np.clip(np.searchsorted(prior, level, side="left"), begin, end)
    below = (crossing - begin) * level - (running[crossing] - running[begin])
    above = (running[end] - running[crossing]) - (end - crossing) * level
    stretches = cells.sum_by_class(np.maximum(below, 0.0) + np.maximum(above, 0.0))
    return np.asarray(stretches + running[cells.value[cells.start[:-1]]])


def _select(cells: Cells, members: Ints) -> Cells:
    """Only some classes, in the same order."""
    chosen = np.zeros(len(cells.start) - 1, dtype=bool)
    chosen[members] = True
    kept = chosen[cells.class_index]
    starts = np.concatenate([[0], np.cumsum(np.diff(cells.start)[members])])
    return Cells(cells.domain, starts, cells.value[kept], cells.mass[kept])


def _hierarchical(belief: Belief) -> Floats:
    """The mean over the levels below the root of the total variation at that level.

    With the distance height(common ancestor) / height(tree), each unit of mass that differs at a level of the tree pays one step there.
    """
    if not belief.ground.levels:
        raise InternalError("a hierarchical ground distance without a taxonomy")
    total = np.zeros(len(belief.classes))
    for nodes in belief.ground.levels:
        total += _equal(_rolled_up(belief, nodes))
    return total / len(belief.ground.levels)


def _rolled_up(belief: Belief, nodes: Ints) -> Belief:
    """The belief about the ancestors of the values."""
    cells = belief.cells
    count = int(nodes.max()) + 1
    domain = type(cells.domain)(cells.domain.name, cells.domain.values.slice(0, count), "text")
    coarse = build_cells(domain, cells.class_index, nodes[cells.value], cells.mass, classes=len(belief.classes))
    weights = np.zeros((len(belief.prior.weights), count))
    np.add.at(weights.T, nodes, belief.prior.weights.T)
    return Belief(coarse, replace(belief.prior, weights=weights), belief.ground, belief.classes)


def basic_beta(belief: Belief) -> Floats:
    """The largest relative gain (x - a) / a of a value that is commoner in the class; 0 where none is."""
    return np.maximum(belief.cells.max_by_class(_gain(belief)), 0.0)


def enhanced_beta(belief: Belief) -> Floats:
    """The least beta with (x - a) / a <= min(beta, -ln a) for every commoner value; infinite where no beta is enough."""
    gain = _gain(belief)
    with np.errstate(divide="ignore"):
        beyond_any = gain > -np.log(belief.prior_of_cell) + _TOLERANCE
    return np.maximum(belief.cells.max_by_class(np.where(beyond_any, np.inf, gain)), 0.0)


def _gain(belief: Belief) -> Floats:
    with np.errstate(divide="ignore"):
        gain: Floats = (belief.posterior - belief.prior_of_cell) / belief.prior_of_cell
    return gain


def delta_disclosure(belief: Belief) -> Floats:
    """The largest |log2(x/a)| over all values of the prior; infinite where a value is absent."""
    return np.where(belief.absent_values > 0, np.inf, delta_disclosure_present(belief))


def delta_disclosure_present(belief: Belief) -> Floats:
    """The largest |log2(x/a)| over the values that occur, as ARX counts it (pycanon: the same with natural logarithms)."""
    return belief.cells.max_by_class(np.abs(belief.log_ratio))


# --- diversity --------------------------------------------------------------------------------------------------------
# How many values a class leaves possible: l-diversity in three kinds (Machanavajjhala et al. 2007) and (alpha,k)-anonymity's alpha.
#
# Each function takes a belief and returns one number per class.
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
    tail = totals - (largest if l_value == 2 else belief.cells.sum_of_largest(l_value - 1))
    tail = np.where(distinct_l(belief) >= l_value, tail, 0.0)
    with np.errstate(divide="ignore"):
        return largest / tail


def recursive_l(belief: Belief) -> int:
    """The l in force: the one asked for, else the table's own distinct l."""
    return belief.recursive_l if belief.recursive_l is not None else belief.whole.fewest_values


def alpha(belief: Belief) -> Floats:
    """The share of the commonest value: with it an adversary guesses right."""
    return belief.cells.max_by_class(belief.posterior)


def values_ruled_out(belief: Belief) -> Floats:
    """How many values held possible before do not occur in the class (negative disclosure)."""
    return belief.absent_values
