# SPDX-License-Identifier: Apache-2.0
"""Deal so that no group gets more than its share of the commonest tuples.

The circular deal fixes which groups get a record of each sensitive value, not which record. Here the records of a value that carry the
commonest tuple of a table go to those of its groups that have the fewest so far. Where alpha leaves little room, this spares most swaps and
merges; the sensitive values of each group are those of the plain deal, so beta and delta are what they were.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from divulge.anatomize.deal import deal
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.arrays import Ints, lay_out

_MOST_TABLES = 4
_MOST_VALUES = 2000
"""So many of the commonest sensitive values are balanced; the records of the others are few."""


def balanced_deal(problem: GroupingProblem, groups: int, *, rng: np.random.Generator) -> Groups:
    """The circular deal, balanced where a tuple is common enough to matter."""
    found = deal(problem, groups=np.array([groups]), rng=rng)
    carried = _common_tuples(problem)
    if len(carried) == 0 or groups == 1 or len(problem.sensitive) > 1:
        return found
    values = problem.sensitive[0]
    blocks = lay_out(values.ids, len(values.totals))
    few = values.ids >= _MOST_VALUES
    load = np.stack([np.bincount(found[has & few], minlength=groups) for has in carried]).astype(np.float64)
    for value in reversed(range(min(len(values.totals), _MOST_VALUES))):
        records = blocks.members[blocks.start[value] : blocks.start[value + 1]]
        seats = found[records]
        _seat(records, seats, found=found, carried=carried, load=load, rng=rng)
    return found


def _common_tuples(problem: GroupingProblem) -> npt.NDArray[np.bool_]:
    """For each table whose commonest tuple may fill a group beyond alpha: which records carry it; the most pressing tables first."""
    pressing = sorted(
        (place for place, top in enumerate(problem.commonest) if 2 * top > problem.model.alpha * len(problem)),
        key=lambda place: -problem.commonest[place],
    )[:_MOST_TABLES]
    carried = [table.ids == np.bincount(table.ids).argmax() for table in (problem.tables[place] for place in pressing)]
    return np.array(carried, dtype=np.bool_).reshape(len(carried), len(problem))


def _seat(
    records: Ints,
    seats: Groups,
    *,
    found: Groups,
    carried: npt.NDArray[np.bool_],
    load: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Hand the seats of one sensitive value to its records, those with the most common tuples first; `found` and `load` are filled in."""
    kinds = carried[:, records]
    kinds_first = sorted(product([True, False], repeat=len(carried)), key=lambda kind: -sum(kind))
    for kind in kinds_first:
        chosen = records[(kinds == np.array(kind)[:, None]).all(axis=0)]
        if len(chosen) == 0:
            continue
        if not any(kind):
            found[chosen] = seats
            return
        has = np.flatnonzero(kind)
        burden = load[np.ix_(has, seats)].sum(axis=0) + rng.random(len(seats))
        order = np.argpartition(burden, len(chosen) - 1)
        taken = seats[order[: len(chosen)]]
        found[chosen] = taken
        for table in has:
            np.add.at(load[table], taken, 1)
        seats = seats[order[len(chosen) :]]
