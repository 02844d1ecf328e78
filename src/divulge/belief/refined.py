# SPDX-License-Identifier: Apache-2.0
"""The belief about an attribute in classes that were found by refinement, where a row alone in its class is only counted.

A closed class holds one value. For every metric that looks at a class by itself, one such class for each value stands for all of
them; what they add to the sums over the whole table is added to the sums.
"""

from __future__ import annotations

import numpy as np

from divulge.arrays import Floats, Ints, sum_by_id
from divulge.belief.belief import Belief, Ground, Whole
from divulge.belief.prior import PriorBelief
from divulge.count.contingency import Cells, build_cells
from divulge.count.entries import Coded
from divulge.count.refine import Partition


def belief_of(partition: Partition, attribute: Coded, *, repeats: Ints | None = None) -> Belief:
    """The belief under the table's own marginal; `repeats` says how many people each row stands for, by default one."""
    value = attribute.codes.astype(np.int64, copy=False)
    mass = np.ones(len(value)) if repeats is None else repeats.astype(np.float64)
    marginal = sum_by_id(value, mass, attribute.values)
    cells = build_cells(
        attribute.domain,
        partition.ids,
        partition.open_part(value),
        partition.open_part(mass),
        classes=len(partition.sizes),
    )
    whole = Whole.of(cells, marginal) if len(partition.sizes) else None
    closed = partition.closed_rows(len(mass))
    if len(closed):
        alone = _alone(value[closed], mass[closed], marginal)
        whole = alone if whole is None else whole.plus(alone)
        cells = _with_one_of_each(cells, np.flatnonzero(np.bincount(value[closed])))
    return Belief(
        cells=cells,
        prior=PriorBelief("table", marginal[None, :]),
        ground=Ground("ordered" if attribute.domain.is_ordered else "equal"),
        classes=np.arange(len(cells.start) - 1, dtype=np.int64),
        given_whole=whole,
    )


def _alone(value: Ints, mass: Floats, marginal: Floats) -> Whole:
    """What classes of one row each add to the sums over the table."""
    share, of_value = mass / marginal.sum(), mass / marginal[value]
    return Whole(
        marginal=marginal,
        classes=len(mass),
        class_entropy=-float((share * np.log2(share)).sum()),
        class_entropy_of_value=sum_by_id(value, -of_value * np.log2(of_value), len(marginal)),
        remaining_entropy=0.0,
        fewest_values=1,
    )


def _with_one_of_each(cells: Cells, values: Ints) -> Cells:
    """The same cells and, for each of these values, one more class that holds nothing else."""
    return Cells(
        domain=cells.domain,
        start=np.concatenate([cells.start, cells.start[-1] + 1 + np.arange(len(values))]),
        value=np.concatenate([cells.value, values]),
        mass=np.concatenate([cells.mass, np.ones(len(values))]),
    )
