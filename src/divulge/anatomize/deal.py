# SPDX-License-Identifier: Apache-2.0
"""The circular deal: sort the records by sensitive value and give record i to group i mod G.

A value with h records then has floor(h/G) or ceil(h/G) of them in every group, and groups have floor(n/G) or ceil(n/G) records. So beta and
delta of all groups follow from the counts of the whole table, before anything is dealt, and the largest number of groups for which they
hold can be looked up. Where a group holds no value twice this is the most groups there can be (H <= G), and it does not fail where
Algorithm 1 of Yao et al. 2021 does: counts (3, 1, 1, 1) with two records per group.

With regions, each region is dealt by itself, and delta is still measured against the shares in the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from divulge.anatomize.levels import GroupTally, commonest_absent, floors
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.arrays import Bools, Codes, Ints, stable_order


def most_groups(problem: GroupingProblem, *, smallest: int = 1) -> int:
    """The most groups of at least `smallest` records for which the deal keeps beta and delta, and alpha can be kept; at worst 1."""
    attribute, rows = problem.sensitive[0], len(problem)
    # Values with equally many records fare alike.
    prior, totals = np.unique(np.stack([attribute.prior, attribute.totals]), axis=1)[:, ::-1]
    present = np.flatnonzero(totals)
    whole = GroupTally(1, np.zeros(len(present), dtype=np.int64), present, totals[present])
    for groups in _group_counts(rows, smallest_group(problem, min(smallest, rows))):
        if not _has_room(problem, groups):
            continue
        kept = deals_keep(
            whole, np.array([rows]), np.array([groups]), totals=prior, model=problem.model, rows=problem.table_rows
        )
        if kept[0]:
            return groups
    return 1


def _has_room(problem: GroupingProblem, groups: int) -> bool:
    """Groups of this size have room for the commonest tuple of each table, and some to spare.

    A group of n records takes floor(alpha n) of them. Without that much room no grouping into so many equal groups keeps alpha; half of
    what the whole table has to spare, or one in a hundred of the tuple's records if that is less, is left for the swaps.
    """
    rows, alpha = len(problem), problem.model.alpha
    fewest, larger = divmod(rows, groups)
    room = (groups - larger) * math.floor(alpha * fewest) + larger * math.floor(alpha * (fewest + 1))
    whole = math.floor(alpha * rows)
    return all(room >= top + min((whole - top) // 2, top // 100) for top in problem.commonest)


def smallest_group(problem: GroupingProblem, smallest: int = 1) -> int:
    """The fewest records that a group can have which holds the rarest value once."""
    attribute, model, rows = problem.sensitive[0], problem.model, len(problem)
    rarest = int(attribute.prior[attribute.totals > 0].min())
    share = min(model.beta, Fraction(rarest, problem.table_rows) + model.delta)
    return min(max(smallest, math.ceil(1 / share)), rows) if share else rows


def deals_keep(
    ranked: GroupTally, sizes: Ints, groups: Ints, *, totals: Ints, model: AlphaBetaGammaDelta, rows: int
) -> Bools:
    """For each region (a group of the tally): dealt to so many groups, it keeps beta, and delta against the shares totals / rows."""
    fewest, most = sizes // groups, -(-sizes // groups)
    beta = floors(fewest, lambda size: model.beta * size)
    above = floors(fewest, lambda size: model.delta * rows * size)
    below = floors(most, lambda size: model.delta * rows * size)
    here = ranked.group
    high, low = -(-ranked.count // groups[here]), ranked.count // groups[here]
    total = totals[ranked.value]
    bad = high > beta[here]
    bad |= high * rows > total * fewest[here] + above[here]
    bad |= low * rows < total * most[here] - below[here]
    kept = commonest_absent(ranked, totals) * most <= below
    kept[here[bad]] = False
    return kept & (fewest > 0)


def deal(problem: GroupingProblem, *, groups: Ints, rng: np.random.Generator, region: Codes | None = None) -> Groups:
    """Give each record its group: groups[r] groups for region r, one region's after the other's.

    Records are sorted by the first sensitive attribute, then by the next, and are in random order among equals.
    """
    order = rng.permutation(len(problem))
    for attribute in reversed(problem.sensitive):
        order = order[stable_order(attribute.ids[order], len(attribute.totals))]
    if region is None:
        place, home = np.arange(len(order)), np.zeros(1, dtype=np.int64)
    else:
        order = order[stable_order(region[order], len(groups))]
        sizes = np.bincount(region, minlength=len(groups))
        home = region[order].astype(np.int64)
        place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[home]
    first = np.cumsum(groups) - groups
    found = np.empty(len(order), dtype=np.int32)
    found[order] = first[home] + place % groups[home]
    return found


def _group_counts(rows: int, smallest: int) -> Iterator[int]:
    """All floor(rows / m) for m >= smallest, in descending order; about 2 sqrt(rows) numbers at most."""
    groups = rows // smallest
    while groups > 0:
        yield groups
        groups = rows // (rows // groups + 1)
