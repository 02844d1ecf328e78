# SPDX-License-Identifier: Apache-2.0
"""Levels of one record: the exact probabilities of Definitions 1 to 4 of Yao et al. 2021.

Definition 1: an adversary who knows a record's row in the first table finds its rows in the others
with the product of their shares in the group. With one table there is nothing to link and the
probability is 1, although eq. 2 gives c/n. Definition 2: the share of the record's sensitive value
in its group. Definition 3: the share of its combination among all that the tables of its group
allow. Definition 4: the largest difference between the share of its sensitive value in a group and
its share in the whole table. Groups without the value count too.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from divulge.anatomization import Anatomized, Reached, tally
from divulge.anatomization.model import GroupTally
from divulge.arrays import Codes, Ints

Floats = npt.NDArray[np.float64]


def record_levels(found: Anatomized, row: int) -> Reached:
    """The four probabilities of one record.

    With several sensitive attributes, the worst of them.
    """
    group = int(found.group[row])
    members = np.flatnonzero(found.group == group)
    shares = [_share(table.ids, members, row) for table in found.problem.tables]
    secret = [_share(attribute.ids, members, row) for attribute in found.problem.sensitive]
    return Reached(
        alpha=prod(shares[1:], start=Fraction(1)),
        beta=max(secret),
        gamma=prod(shares, start=Fraction(1)) * max(secret),
        delta=max(
            _largest_difference(found, attribute.ids == attribute.ids[row])
            for attribute in found.problem.sensitive
        ),
    )


def all_record_levels(found: Anatomized) -> dict[str, Floats]:
    """The four probabilities of every record, as floats, by name."""
    sizes = found.sizes[found.group]
    alpha, gamma = np.ones(len(found.group)), np.ones(len(found.group))
    for place, table in enumerate(found.problem.tables):
        share = _own_counts(found, table.ids, table.distinct) / sizes
        gamma *= share
        if place > 0:
            alpha *= share
    beta, delta = np.zeros(len(found.group)), np.zeros(len(found.group))
    for attribute in found.problem.sensitive:
        beta = np.maximum(beta, _own_counts(found, attribute.ids, len(attribute.totals)) / sizes)
        counted = tally(
            found.group, attribute.ids, groups=found.groups, values=len(attribute.totals)
        )
        delta = np.maximum(delta, _moves(found, counted, attribute.totals)[attribute.ids])
    return {"alpha": alpha, "beta": beta, "gamma": gamma * beta, "delta": delta}


def _share(ids: Codes, members: Ints, row: int) -> Fraction:
    return Fraction(int(np.count_nonzero(ids[members] == ids[row])), len(members))


def _largest_difference(found: Anatomized, has: npt.NDArray[np.bool_]) -> Fraction:
    prior = Fraction(int(np.count_nonzero(has)), len(has))
    counts = np.bincount(found.group[has], minlength=found.groups).tolist()
    return max(
        abs(Fraction(count, size) - prior)
        for count, size in zip(counts, found.sizes.tolist(), strict=True)
    )


def _own_counts(found: Anatomized, ids: Codes, distinct: int) -> Ints:
    """For each record, the number of records of its group with the same id."""
    key = found.group.astype(np.int64) * distinct + ids
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    own: Ints = counts[place]
    return own


def _moves(found: Anatomized, counted: GroupTally, totals: Ints) -> Floats:
    """For each value the largest difference between its share in a group and in the table."""
    prior = totals / len(found.group)
    largest = np.zeros(len(totals))
    share = counted.count / found.sizes[counted.group]
    np.maximum.at(largest, counted.value, np.abs(share - prior[counted.value]))
    lacking = np.bincount(counted.value, minlength=len(totals)) < found.groups
    return np.where(lacking, np.maximum(largest, prior), largest)
