# SPDX-License-Identifier: Apache-2.0
"""Group division that cannot fail where a grouping exists: feasibility, deal, swaps, merges, verification.

Yao et al. 2021 give Algorithm 1 (paper_algorithm.py), which fails on many tables that can be grouped, on their own Table 1 among them. Here
the deal settles beta and delta, swaps of records with the same sensitive value and merges settle alpha and gamma, and at the end all four
are checked on every group in whole numbers. Only gamma can remain: then the search has failed, and says so, with the gamma it reached.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge.anatomize.balance import balanced_deal
from divulge.anatomize.deal import deal, deals_keep, most_groups
from divulge.anatomize.feasibility import SMALL, check_feasible, gamma_is_certain, refusal, search_all
from divulge.anatomize.levels import tally
from divulge.anatomize.merge import merge
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.mondrian import Regions, mondrian
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.anatomize.repair import Grouped, repair
from divulge.arrays import Bools, Ints
from divulge.errors import InternalError

_MANY_LEFT = 0.9
"""A deal of which fewer groups than that are left after the merges is tried again with larger groups; regions stay small."""


def group_records(
    problem: GroupingProblem, *, rng: np.random.Generator, group_size: int = 1, locality: bool = False
) -> Groups:
    """A group for each record such that every group keeps the model, or InfeasibleModel.

    Groups have at least `group_size` records. With `locality`, records of a group are near each other in their quasi-identifiers.
    """
    check_feasible(problem)
    ordered = _hardest_first(problem)
    count = most_groups(ordered, smallest=group_size)
    settled = _attempt(ordered, count, rng=rng, locality=locality)
    if not locality and len(settled.valid) < _MANY_LEFT * count:
        coarser = most_groups(ordered, smallest=max(group_size, _size_to_try(len(problem), count, len(settled.valid))))
        again = _attempt(ordered, coarser, rng=rng, locality=False)
        settled = max(settled, again, key=lambda grouped: (grouped.valid.all(), len(grouped.valid)))
    if settled.valid.all():
        return _renumbered(settled.group, rng)
    if gamma_is_certain(problem):
        raise InternalError("the grouping breaks a model that can be kept")
    return _last_resort(problem, rng, group_size)


def _attempt(problem: GroupingProblem, count: int, *, rng: np.random.Generator, locality: bool) -> Grouped:
    """Deal to so many groups (with regions, to groups of that size), swap, and merge."""
    region = _regions(problem, len(problem) // count).cell if locality else None
    if region is None:
        dealt = balanced_deal(problem, count, rng=rng)
    else:
        groups = np.bincount(region) // (len(problem) // count)
        count, dealt = int(groups.sum()), deal(problem, groups=groups, rng=rng, region=region)
    repaired = repair(problem, dealt, groups=count, rng=rng, region=region)
    return merge(problem, repaired, rng=rng, region=region)


def _size_to_try(rows: int, dealt: int, left: int) -> int:
    """Many groups had to merge, so they were too small: a size between what was dealt and what was left on average."""
    return max(rows // dealt + 1, (rows // dealt + rows // left) // 2)


def _regions(problem: GroupingProblem, size: int) -> Regions:
    """Cells of similar records that keep the model as one group, and beta and delta when dealt to groups of `size` records."""
    attribute = problem.sensitive[0]

    def allowed(cell: Ints, records: Ints, cells: int) -> Bools:
        levels = problem.measure(cell, groups=cells, records=records)
        ranked = tally(cell, attribute.ids[records], groups=cells, values=len(attribute.totals))
        groups = np.maximum(levels.sizes // size, 1)
        deals = deals_keep(
            ranked, levels.sizes, groups, totals=attribute.prior, model=problem.model, rows=problem.table_rows
        )
        return deals & (levels.sizes >= size) & levels.keeps(problem.model)

    columns = [name for names in problem.names for name in names]
    return mondrian(problem.rows, columns, allowed=allowed)


def _last_resort(problem: GroupingProblem, rng: np.random.Generator, group_size: int) -> Groups:
    """Try everything on a small table; otherwise say which gamma goes with the other bounds."""
    every_grouping = len(problem) <= SMALL and group_size == 1
    if every_grouping:
        found = search_all(problem)
        if found is not None:
            return _renumbered(found, rng)
    loose = replace(problem, model=_without_gamma(problem.model))
    reached = loose.measure(group := group_records(loose, rng=rng), groups=int(group.max()) + 1).worst().gamma
    reached = min(reached, problem.whole.gamma)
    because = f"gamma is {problem.model.gamma}; groups that keep the other bounds reach {reached}"
    raise refusal(problem, because, gamma=reached, proved=every_grouping)


def _renumbered(group: Groups, rng: np.random.Generator) -> Groups:
    """The same groups under random numbers: a number says nothing about how its group came about."""
    return rng.permutation(int(group.max()) + 1).astype(np.int32)[group]


def _without_gamma(model: AlphaBetaGammaDelta) -> AlphaBetaGammaDelta:
    return AlphaBetaGammaDelta(alpha=model.alpha, beta=model.beta, delta=model.delta)


def _hardest_first(problem: GroupingProblem) -> GroupingProblem:
    """Deal by the attribute whose commonest value is the most common."""
    return replace(problem, sensitive=tuple(sorted(problem.sensitive, key=lambda attribute: -attribute.highest)))
