# SPDX-License-Identifier: Apache-2.0
"""Merge groups that break the model with others until none does.

A weighted mean lies between what it is the mean of, so the union of two groups that keep alpha, beta and delta keeps them; only gamma may
break. A group in need looks at some others and joins one with which it keeps the model; if hardly any group finds such a partner, it joins
the one with which it breaks it least. The number of groups falls in every round, so this ends, at the latest with one group per region.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.anatomize.problem import GroupingProblem
from divulge.anatomize.repair import Grouped, Judged, judge_groups
from divulge.arrays import Codes, Ints, Members, lay_out, ranges

_CANDIDATES = 8
_FEW = 6
"""Groups join without a good partner in rounds where fewer than one in so many found one."""
_LOOKS = 16
"""How often, on average, a record may be looked at in search of good partners; after that, groups take what they find."""


def merge(
    problem: GroupingProblem, grouped: Grouped, *, rng: np.random.Generator, region: Codes | None = None
) -> Grouped:
    """A coarser grouping, numbered from 0; a group that still breaks the model has its region for itself."""
    group, valid, groups = grouped.group, grouped.valid.copy(), len(grouped.valid)
    if valid.all():
        return grouped
    base = lay_out(group, groups)
    home = np.zeros(groups, dtype=np.int64)
    if region is not None:
        home[group] = region
    label, looks = np.arange(groups), _LOOKS * len(group)
    while True:
        alive = np.unique(label)
        peers = np.bincount(home[alive], minlength=int(home.max()) + 1)
        broken = alive[~valid[alive] & (peers[home[alive]] > 1)]
        if len(broken) == 0:
            number = np.searchsorted(alive, label)
            return Grouped(number.astype(np.int32)[group], valid[alive])
        parts = lay_out(label, groups)
        pairs = _candidates(broken, alive, home=home, tries=_CANDIDATES if looks > 0 else 1, rng=rng)
        judged = _unions(problem, base, parts, pairs)
        looks -= int(judged.sizes.sum())
        chosen = _choose(pairs, judged, len(broken) if looks > 0 else np.inf, rng)
        keeps, joins = pairs[0][chosen], pairs[1][chosen]
        target = np.arange(groups)
        target[joins] = keeps
        label = target[label]
        valid[keeps] = judged.valid[chosen]


def _candidates(broken: Ints, alive: Ints, *, home: Ints, tries: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of a broken group and another group of its region: any and broken ones, by turns."""
    seeker = np.repeat(broken, tries)
    pools = [alive[np.argsort(home[alive], kind="stable")], broken[np.argsort(home[broken], kind="stable")]]
    partner = np.empty(len(seeker), dtype=np.int64)
    for turn, pool in enumerate(pools):
        mine = slice(turn, None, 2) if tries > 1 else slice(0 if turn == 0 else len(seeker), None)
        partner[mine] = _other(pool, seeker[mine], home, rng)
    different = partner != seeker
    return seeker[different], partner[different]


def _other(pool: Ints, seeker: Ints, home: Ints, rng: np.random.Generator) -> Ints:
    """For each seeker a random member of the pool from its region; the next one where that is the seeker itself."""
    regions = home[pool]
    start = np.searchsorted(regions, home[seeker], side="left")
    length = np.searchsorted(regions, home[seeker], side="right") - start
    drawn = rng.integers(0, length)
    same = pool[start + drawn] == seeker
    found: Ints = pool[start + np.where(same, (drawn + 1) % length, drawn)]
    return found


def _unions(problem: GroupingProblem, base: Members, parts: Members, pairs: tuple[Ints, Ints]) -> Judged:
    """What each pair would be as one group."""
    count = len(pairs[0])
    both = np.concatenate(pairs)
    of_pair = np.tile(np.arange(count), 2)
    pieces, place = parts.gather(both)
    records = base.members[ranges(base.start[pieces], np.diff(base.start)[pieces])]
    owner = np.repeat(of_pair[place], np.diff(base.start)[pieces])
    return judge_groups(problem, problem.measure(owner, groups=count, records=records))


def _choose(pairs: tuple[Ints, Ints], judged: Judged, broken: float, rng: np.random.Generator) -> Ints:
    """The best pair of each broken group, as far as no group is in two; the first of all is always among them."""
    order = np.lexsort((rng.random(len(judged.valid)), judged.chance, judged.count, ~judged.valid))
    good = _disjoint(pairs, order[judged.valid[order]])
    if len(good) * _FEW >= broken:
        return good
    return _disjoint(pairs, order)


def _disjoint(pairs: tuple[Ints, Ints], order: Ints) -> Ints:
    """Pairs in this order of preference, each group in one of them."""
    size = int(max(pairs[0].max(), pairs[1].max())) + 1
    taken: npt.NDArray[np.bool_] = np.zeros(size, dtype=bool)
    chosen: list[npt.NDArray[np.int64]] = []
    left = order
    while len(left):
        first, second = pairs[0][left], pairs[1][left]
        open_ = ~(taken[first] | taken[second])
        left, first, second = left[open_], first[open_], second[open_]
        turn = np.arange(len(left))
        earliest = np.full(size, len(left), dtype=np.int64)
        np.minimum.at(earliest, first, turn)
        np.minimum.at(earliest, second, turn)
        now = (earliest[first] == turn) & (earliest[second] == turn)
        chosen.append(left[now])
        taken[first[now]] = taken[second[now]] = True
        left = left[~now]
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
