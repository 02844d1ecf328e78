# SPDX-License-Identifier: Apache-2.0
"""Swap records of the same sensitive value between groups until alpha and gamma hold; merge what is left.

A group that breaks a bound gives away a record with its commonest tuple, and takes one with the same sensitive value from another group, if
that leaves it no worse and the other group as good as it was. The sensitive values of both groups stay what they were, so beta and delta
cannot break. Further sensitive attributes are treated like tables of quasi-identifiers with the bound beta. All groups in need try one swap
at a time, together; a group takes part in one swap of a round. The number of rounds and their cost are bounded, linearly in the records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomy.model import GroupLevels, floors, tally
from divulge.anatomy.problem import GroupingProblem, Groups
from divulge.arrays import Bools, Codes, Ints, Members

_ROUNDS = 200
_PATIENCE = 40
"""Rounds without a repaired group before giving up."""
_TRIES = 64
"""Partners that are looked at in a round, by all groups in need together, if these are not more."""
_LOOKS = 12
"""How often, on average, a record may be looked at: many rounds for a few groups in need, few rounds for many."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Groups as the search sees them; `count` first, then `chance`, say how far a group is from the model."""

    sizes: Ints
    valid: Bools
    count: Ints
    """Records by which the commonest tuples exceed alpha, and further sensitive values exceed beta and delta."""
    chance: npt.NDArray[np.float64]
    """Eq. 6, as a float: it orders candidates, it decides nothing."""

    def no_worse_than(self, other: Judged) -> Bools:
        """Each group is valid, or at least as near to the model as the other's."""
        nearer = (self.count < other.count) | ((self.count == other.count) & (self.chance <= other.chance))
        kept: Bools = self.valid | (~other.valid & nearer)
        return kept

    def take(self, chosen: Ints | Bools) -> Judged:
        """Some of the groups."""
        return Judged(self.sizes[chosen], self.valid[chosen], self.count[chosen], self.chance[chosen])


def judge_groups(problem: GroupingProblem, levels: GroupLevels) -> Judged:
    """See groups as the search does."""
    model, sizes = problem.model, levels.sizes
    alpha, beta, delta = (floors(sizes, bound) for bound in (model.alpha, model.beta, model.delta * levels.rows))
    count = np.zeros(len(sizes), dtype=np.int64)
    chance = np.zeros(len(sizes))
    for common, shift in zip(levels.sensitive, levels.shift, strict=True):
        count += np.maximum(common - beta, 0) + -(-np.maximum(shift - delta, 0) // levels.rows)
        chance = np.maximum(chance, common / sizes)
    for modal in levels.modal:
        count += np.maximum(modal - alpha, 0)
        chance *= modal / sizes
    return Judged(sizes, levels.keeps(model), count, chance)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The group of each record, and which groups keep the model."""

    group: Groups
    valid: Bools


def repair(
    problem: GroupingProblem, group: Groups, *, groups: int, rng: np.random.Generator, region: Codes | None = None
) -> Grouped:
    """A grouping with the same group sizes and the same first sensitive values in each group, and fewer groups that break the model.

    With regions, records change places inside their region only.
    """
    found = group.copy()
    judged = judge_groups(problem, problem.measure(found, groups=groups))
    if judged.valid.all():
        return Grouped(found, judged.valid)
    layout = arrays.lay_out(found, groups)
    members, place = layout.members, np.empty(len(found), dtype=np.int64)
    place[members] = np.arange(len(members))
    pool = problem.sensitive[0].ids.astype(np.int64)
    if region is not None:
        pool += region.astype(np.int64) * len(problem.sensitive[0].totals)
        pool = np.unique(pool, return_inverse=True)[1]
    partners = arrays.lay_out(pool, int(pool.max()) + 1)
    idle, looks = 0, _LOOKS * len(found)
    for _ in range(_ROUNDS):
        broken = np.flatnonzero(~judged.valid)
        looks -= int(layout.sizes[broken].sum())
        if len(broken) == 0 or idle == _PATIENCE or looks < 0:
            break
        # Few groups look at several partners each.
        tries = max(_TRIES // len(broken), 1)
        given = np.repeat(_commonest(problem, layout, broken, rng), tries)
        # For each record a random one of the same region and first sensitive value, perhaps itself.
        drawn = rng.integers(0, partners.sizes[pool[given]])
        taken = partners.members[partners.start[pool[given]] + drawn]
        first, second = np.repeat(broken, tries), found[taken].astype(np.int64)
        free = first != second
        if tries == 1:
            free &= _earliest(first, second, rng.permutation(len(first)), groups)
        first, second, given, taken = first[free], second[free], given[free], taken[free]
        after = _after_swaps(problem, layout, (first, second), (given, taken))
        pairs = np.concatenate([first, second])
        kept = np.logical_and(*np.split(after.no_worse_than(judged.take(pairs)), 2))
        if tries > 1:
            kept = _one_each(first, second, kept, after.valid[: len(first)], groups)
        both = np.tile(kept, 2)
        touched = pairs[both]
        mended = int(np.count_nonzero(after.valid[both] & ~judged.valid[touched]))
        judged.valid[touched], judged.count[touched] = after.valid[both], after.count[both]
        judged.chance[touched] = after.chance[both]
        given, taken = given[kept], taken[kept]
        found[given], found[taken] = found[taken], found[given]
        members[place[given]], members[place[taken]] = taken, given
        place[given], place[taken] = place[taken], place[given]
        idle = 0 if mended else idle + 1
    return Grouped(found, judged.valid)


def _commonest(problem: GroupingProblem, layout: Members, broken: Ints, rng: np.random.Generator) -> Ints:
    """For each broken group a record with the commonest tuple of the table that is furthest above its bound."""
    records, place = layout.gather(broken)
    sizes = np.bincount(place, minlength=len(broken))
    alpha, beta = floors(sizes, problem.model.alpha), floors(sizes, problem.model.beta)
    columns = [(table.ids, table.distinct, alpha) for table in problem.tables]
    columns += [(extra.ids, len(extra.totals), beta) for extra in problem.sensitive[1:]]
    furthest = np.full(len(broken), -np.inf)
    wanted = np.zeros(len(records), dtype=bool)
    for ids, distinct, bound in columns:
        counted = tally(place, ids[records], groups=len(broken), values=distinct)
        modal = counted.modal()
        # Below 1, the random part only chooses between tables that are equally far.
        distance = modal - bound + rng.random(len(broken))
        better = distance > furthest
        furthest[better] = distance[better]
        top = counted.count == modal[counted.group]
        commonest = np.zeros(len(broken), dtype=np.int64)
        commonest[counted.group[top]] = counted.value[top]
        wanted = np.where(better[place], ids[records] == commonest[place], wanted)
    lot = np.where(wanted, rng.random(len(records)), -1.0)
    chosen: Ints = records[np.lexsort((lot, place))[np.cumsum(sizes) - 1]]
    return chosen


def _earliest(first: Ints, second: Ints, turn: Ints, groups: int) -> Bools:
    """Pairs whose turn comes before that of every other pair with one of their groups, so that no group is in two of them."""
    earliest = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(earliest, first, turn)
    np.minimum.at(earliest, second, turn)
    found: Bools = (earliest[first] == turn) & (earliest[second] == turn)
    return found


def _one_each(first: Ints, second: Ints, kept: Bools, mended: Bools, groups: int) -> Bools:
    """Of the pairs that are kept, those that mend their first group before others, such that no group is in two of them."""
    order = np.lexsort((~mended, ~kept))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order))
    chosen = kept.copy()
    chosen[kept] = _earliest(first[kept], second[kept], turn[kept], groups)
    return chosen


def _after_swaps(
    problem: GroupingProblem, layout: Members, pairs: tuple[Ints, Ints], swapped: tuple[Ints, Ints]
) -> Judged:
    """The groups of the pairs, the first ones and then the second ones, as they would be after the swaps."""
    records, place = layout.gather(np.concatenate(pairs))
    leaves, comes = np.concatenate(swapped), np.concatenate(swapped[::-1])
    records = np.where(records == leaves[place], comes[place], records)
    return judge_groups(problem, problem.measure(place, groups=len(leaves), records=records))


# --- merge ------------------------------------------------------------------------------------------------------------
# A weighted mean lies between what it is the mean of, so the union of two groups that keep alpha, beta and delta keeps them; only
# gamma may break. A group in need looks at some others and joins one with which it keeps the model; if hardly any group finds such a
# partner, it joins the one with which it breaks it least. The number of groups falls in every round, so this ends.
_CANDIDATES = 8
_FEW = 6
"""Groups join without a good partner in rounds where fewer than one in so many found one."""
_PARTNERS_LOOKED_AT = 16
"""How often, on average, a record may be looked at in search of good partners; after that, groups take what they find."""


def merge(
    problem: GroupingProblem, grouped: Grouped, *, rng: np.random.Generator, region: Codes | None = None
) -> Grouped:
    """A coarser grouping, numbered from 0; a group that still breaks the model has its region for itself."""
    group, valid, groups = grouped.group, grouped.valid.copy(), len(grouped.valid)
    if valid.all():
        return grouped
    base = arrays.lay_out(group, groups)
    home = np.zeros(groups, dtype=np.int64)
    if region is not None:
        home[group] = region
    label, looks = np.arange(groups), _PARTNERS_LOOKED_AT * len(group)
    while True:
        alive = np.unique(label)
        peers = np.bincount(home[alive], minlength=int(home.max()) + 1)
        broken = alive[~valid[alive] & (peers[home[alive]] > 1)]
        if len(broken) == 0:
            number = np.searchsorted(alive, label)
            return Grouped(number.astype(np.int32)[group], valid[alive])
        parts = arrays.lay_out(label, groups)
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
    pieces, place = parts.gather(np.concatenate(pairs))
    records, piece = base.gather(pieces)
    owner = place[piece] % count
    return judge_groups(problem, problem.measure(owner, groups=count, records=records))


def _choose(pairs: tuple[Ints, Ints], judged: Judged, broken: float, rng: np.random.Generator) -> Ints:
    """The best pair of each broken group, as far as no group is in two; the first of all is always among them."""
    order = np.lexsort((rng.random(len(judged.valid)), judged.chance, judged.count, ~judged.valid))
    good = _disjoint(pairs, order[judged.valid[order]])
    return good if len(good) * _FEW >= broken else _disjoint(pairs, order)


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
        now = _earliest(first, second, np.arange(len(left)), size)
        chosen.append(left[now])
        taken[first[now]] = taken[second[now]] = True
        left = left[~now]
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
