# SPDX-License-Identifier: Apache-2.0
"""Distance of a class's distribution from the prior: t-closeness, beta-likeness, delta-disclosure.

t-closeness (Li et al. 2007) is the earth mover's distance under a ground distance between values.
The ground distance is equal (the total variation), ordered (steps between neighbors, divided by m -
1) or hierarchical (height of the common ancestor over the height of the tree). beta-likeness is
defined by Cao and Karras 2012, delta-disclosure by Brickell and Shmatikov 2008. Each function
returns one number per class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge import arrays
from divulge.adversary import Belief
from divulge.arrays import Floats, Ints
from divulge.counting import Cells, build_cells
from divulge.errors import InternalError

_TOLERANCE = 1e-9


def t_closeness(belief: Belief) -> Floats:
    """The earth mover's distance between class and prior, under the attribute's ground distance."""
    if belief.ground.distance == "ordered":
        return arrays.without_residue(_ordered_distance(belief))
    if belief.ground.distance == "hierarchical":
        return _hierarchical_distance(belief)
    return _total_variation(belief)


def _total_variation(belief: Belief) -> Floats:
    """Half the L1 distance."""
    present = belief.cells.sum_by_class(np.abs(belief.posterior - belief.prior_of_cell))
    return 0.5 * (present + belief.absent_prior(1))


def _ordered_distance(belief: Belief) -> Floats:
    """The mean of |F_class - F_prior| over the m - 1 gaps between neighboring values.

    F is the cumulative share. F_class is flat between two values that occur, and F_prior never
    falls. The sum over such a stretch therefore splits at one crossing point and comes from running
    sums. The cost grows with the number of cells.
    """
    gaps = len(belief.cells.domain) - 1
    if gaps == 0:
        return np.zeros(len(belief.classes))
    if belief.prior.row is None:
        return _ordered_distance_to(belief.cells, belief.prior.weights[0]) / gaps
    distance = np.empty(len(belief.classes))
    classes_by_row = np.argsort(belief.prior.row, kind="stable")
    ends = np.searchsorted(
        belief.prior.row[classes_by_row], np.arange(len(belief.prior.weights) + 1)
    )
    for row, weights in enumerate(belief.prior.weights):
        members = classes_by_row[ends[row] : ends[row + 1]]
        if len(members):
            distance[members] = (
                _ordered_distance_to(_select_classes(belief.cells, members), weights) / gaps
            )
    return distance


def _ordered_distance_to(cells: Cells, weights: Floats) -> Floats:
    values = len(weights)
    # F_prior at the first m - 1 values; at the last one both cumulative shares are 1.
    prior_distribution = np.cumsum(weights)[:-1] / weights.sum()
    cumulative_prior = np.concatenate([[0.0], np.cumsum(prior_distribution)])
    totals = cells.totals
    before_class = np.concatenate([[0.0], np.cumsum(totals)])[:-1]
    class_distribution = (np.cumsum(cells.mass) - before_class[cells.class_index]) / totals[
        cells.class_index
    ]
    begin = np.minimum(cells.value, values - 1)
    last_of_class = np.zeros(len(begin), dtype=bool)
    last_of_class[cells.start[1:] - 1] = True
    end = np.where(last_of_class, values - 1, np.append(cells.value[1:], values - 1))
    class_distribution[last_of_class] = 1.0
    crossing = np.clip(
        np.searchsorted(prior_distribution, class_distribution, side="left"), begin, end
    )
    below = (crossing - begin) * class_distribution - (
        cumulative_prior[crossing] - cumulative_prior[begin]
    )
    above = (cumulative_prior[end] - cumulative_prior[crossing]) - (
        end - crossing
    ) * class_distribution
    stretches = cells.sum_by_class(np.maximum(below, 0.0) + np.maximum(above, 0.0))
    return np.asarray(stretches + cumulative_prior[cells.value[cells.start[:-1]]])


def _select_classes(cells: Cells, members: Ints) -> Cells:
    """The cells of some classes, in the same order."""
    is_selected = np.zeros(len(cells.start) - 1, dtype=bool)
    is_selected[members] = True
    selected_cells = is_selected[cells.class_index]
    starts = np.concatenate([[0], np.cumsum(np.diff(cells.start)[members])])
    return Cells(cells.domain, starts, cells.value[selected_cells], cells.mass[selected_cells])


def _hierarchical_distance(belief: Belief) -> Floats:
    """The mean over the levels below the root of the total variation at that level.

    With the distance height(common ancestor) / height(tree), each unit of mass that differs at a
    level of the tree pays one step there.
    """
    if not belief.ground.levels:
        raise InternalError("a hierarchical ground distance without a taxonomy")
    total = np.zeros(len(belief.classes))
    for nodes in belief.ground.levels:
        total += _total_variation(_belief_about_ancestors(belief, nodes))
    return total / len(belief.ground.levels)


def _belief_about_ancestors(belief: Belief, nodes: Ints) -> Belief:
    """The belief about the ancestors of the values on one level."""
    cells = belief.cells
    count = int(nodes.max()) + 1
    domain = type(cells.domain)(cells.domain.name, cells.domain.values.slice(0, count), "text")
    ancestor_cells = build_cells(
        domain, cells.class_index, nodes[cells.value], cells.mass, classes=len(belief.classes)
    )
    weights = np.zeros((len(belief.prior.weights), count))
    np.add.at(weights.T, nodes, belief.prior.weights.T)
    return Belief(
        ancestor_cells, replace(belief.prior, weights=weights), belief.ground, belief.classes
    )


def basic_beta_likeness(belief: Belief) -> Floats:
    """The largest relative gain (x - a) / a of a value that is more common in the class.

    0 if there is no such value.
    """
    return np.maximum(belief.cells.max_by_class(_relative_gain(belief)), 0.0)


def enhanced_beta_likeness(belief: Belief) -> Floats:
    """The smallest beta with (x - a) / a <= min(beta, -ln a) for every value that gains.

    Infinite if no beta is large enough.
    """
    gain = _relative_gain(belief)
    with np.errstate(divide="ignore"):
        is_unbounded = gain > -np.log(belief.prior_of_cell) + _TOLERANCE
    return np.maximum(belief.cells.max_by_class(np.where(is_unbounded, np.inf, gain)), 0.0)


def _relative_gain(belief: Belief) -> Floats:
    with np.errstate(divide="ignore"):
        gain: Floats = (belief.posterior - belief.prior_of_cell) / belief.prior_of_cell
    return gain


def delta_disclosure(belief: Belief) -> Floats:
    """The largest |log2(x/a)| over all values of the prior; infinite if a value is absent."""
    return np.where(belief.absent_values > 0, np.inf, delta_disclosure_present(belief))


def delta_disclosure_present(belief: Belief) -> Floats:
    """The largest |log2(x/a)| over the values that occur, as in ARX.

    pycanon uses natural logarithms.
    """
    return belief.cells.max_by_class(np.abs(belief.log_ratio))
