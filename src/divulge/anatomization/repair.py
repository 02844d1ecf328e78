# SPDX-License-Identifier: Apache-2.0
"""Swap records of the same sensitive value between groups until alpha and gamma are satisfied.

The groups that still violate a bound are merged.

A group that violates a bound swaps a record with its most common tuple for a record of another
group with the same sensitive value. The swap is accepted if the group becomes no worse and the
other group stays as good as it was. The sensitive values of both groups stay the same, so beta and
delta cannot be violated by it. Further sensitive attributes are treated like tables of
quasi-identifiers with the bound beta. All violating groups try one swap at a time, together. A
group takes part in one swap per round. The number of rounds and their cost are bounded, linearly in
the records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomization.model import GroupLevels, count_limits, tally
from divulge.anatomization.problem import GroupingProblem, Groups
from divulge.arrays import Bools, Codes, Ints, Members

_ROUNDS = 200
_MOST_IDLE_ROUNDS = 40
"""Rounds without a repaired group before the search stops."""
_TRIES = 64
"""Partners examined per round by all violating groups together, at least one per group."""
_SWAP_EXAMINATIONS = 12
"""Average number of times that a record may be examined.

Allows many rounds for a few violating groups, few rounds for many.
"""


@dataclass(frozen=True, eq=False)
class GroupAssessments:
    """State of groups in the search.

    The distance of a group from the model is `count`, with ties broken by `chance`.
    """

    sizes: Ints
    valid: Bools
    count: Ints
    """Records by which the most common tuples exceed alpha.

    Includes those by which further sensitive values exceed beta and delta.
    """
    chance: npt.NDArray[np.float64]
    """Eq. 6, as a float: it orders candidates and decides nothing."""

    def no_worse_than(self, other: GroupAssessments) -> Bools:
        """For each group, True if it is valid or at least as close to the model as the other's."""
        is_nearer = (self.count < other.count) | (
            (self.count == other.count) & (self.chance <= other.chance)
        )
        is_acceptable: Bools = self.valid | (~other.valid & is_nearer)
        return is_acceptable

    def select(self, chosen: Ints | Bools) -> GroupAssessments:
        """Select some of the groups."""
        return GroupAssessments(
            self.sizes[chosen], self.valid[chosen], self.count[chosen], self.chance[chosen]
        )

    def update(self, groups: Ints, after: GroupAssessments) -> None:
        """Replace the state of some groups; their sizes stay the same."""
        self.valid[groups] = after.valid
        self.count[groups] = after.count
        self.chance[groups] = after.chance


def assess_groups(problem: GroupingProblem, levels: GroupLevels) -> GroupAssessments:
    """Compute the search state of groups from their levels."""
    model = problem.model
    sizes = levels.sizes
    alpha, beta, delta = (
        count_limits(sizes, bound) for bound in (model.alpha, model.beta, model.delta * levels.rows)
    )
    count = np.zeros(len(sizes), dtype=np.int64)
    chance = np.zeros(len(sizes))
    for common, shift in zip(levels.sensitive, levels.shift, strict=True):
        count += np.maximum(common - beta, 0) + -(-np.maximum(shift - delta, 0) // levels.rows)
        chance = np.maximum(chance, common / sizes)
    for modal in levels.modal:
        count += np.maximum(modal - alpha, 0)
        chance *= modal / sizes
    return GroupAssessments(sizes, levels.satisfies(model), count, chance)


@dataclass(frozen=True, eq=False)
class CheckedGrouping:
    """The group of each record, and a mask of the groups that satisfy the model."""

    group: Groups
    valid: Bools


def repair(
    problem: GroupingProblem,
    group: Groups,
    *,
    groups: int,
    rng: np.random.Generator,
    region: Codes | None = None,
) -> CheckedGrouping:
    """Return a grouping with fewer groups that violate the model.

    Group sizes and the first sensitive attribute's values in each group stay the same. With
    regions, records are swapped inside their region only.
    """
    group_ids = group.copy()
    assessments = assess_groups(problem, problem.measure(group_ids, groups=groups))
    if assessments.valid.all():
        return CheckedGrouping(group_ids, assessments.valid)
    layout = arrays.lay_out(group_ids, groups)
    positions = np.empty(len(group_ids), dtype=np.int64)
    positions[layout.members] = np.arange(len(group_ids))
    pool = _swap_pools(problem, region)
    partners = arrays.lay_out(pool, int(pool.max()) + 1)
    idle_rounds = 0
    examinations_left = _SWAP_EXAMINATIONS * len(group_ids)
    for _ in range(_ROUNDS):
        violating = np.flatnonzero(~assessments.valid)
        examinations_left -= int(layout.sizes[violating].sum())
        if len(violating) == 0 or idle_rounds == _MOST_IDLE_ROUNDS or examinations_left < 0:
            break
        # If few groups are left, each examines several partners.
        tries = max(_TRIES // len(violating), 1)
        outgoing = np.repeat(_outgoing_records(problem, layout, violating, rng), tries)
        incoming = _draw_partners(outgoing, pool, partners, rng)
        second = group_ids[incoming].astype(np.int64)
        swaps = _Swaps(np.repeat(violating, tries), second, outgoing, incoming)
        is_possible = swaps.first != swaps.second
        if tries == 1:
            turn = rng.permutation(len(outgoing))
            is_possible &= _first_pairs(swaps.first, swaps.second, turn, groups)
        swaps = swaps.select(is_possible)
        after = _assess_after_swaps(problem, layout, swaps)
        is_improvement = after.no_worse_than(assessments.select(swaps.groups))
        is_accepted = np.logical_and(*np.split(is_improvement, 2))
        if tries > 1:
            is_repair = after.valid[: len(swaps.first)]
            is_accepted = _select_disjoint_swaps(swaps, is_accepted, is_repair, groups)
        swaps = swaps.select(is_accepted)
        after = after.select(np.tile(is_accepted, 2))
        newly_valid = int(np.count_nonzero(after.valid & ~assessments.valid[swaps.groups]))
        assessments.update(swaps.groups, after)
        swaps.apply(group_ids, layout.members, positions)
        idle_rounds = 0 if newly_valid else idle_rounds + 1
    return CheckedGrouping(group_ids, assessments.valid)


def _swap_pools(problem: GroupingProblem, region: Codes | None) -> Ints:
    """Pool of each record: records of a pool have the same region and first sensitive value."""
    attribute = problem.sensitive[0]
    pool = attribute.ids.astype(np.int64)
    if region is None:
        return pool
    pool += region.astype(np.int64) * len(attribute.totals)
    return np.unique(pool, return_inverse=True)[1]


def _draw_partners(outgoing: Ints, pool: Ints, partners: Members, rng: np.random.Generator) -> Ints:
    """For each outgoing record, a random record of its pool, possibly itself."""
    partner_index = rng.integers(0, partners.sizes[pool[outgoing]])
    incoming: Ints = partners.members[partners.start[pool[outgoing]] + partner_index]
    return incoming


@dataclass(frozen=True, eq=False)
class _Swaps:
    """Candidate swaps: for each, two groups and the record that leaves each of them."""

    first: Ints
    second: Ints
    outgoing: Ints
    """The record that leaves the first group."""
    incoming: Ints
    """The record that leaves the second group."""

    @property
    def groups(self) -> Ints:
        """The first groups, then the second ones."""
        return np.concatenate([self.first, self.second])

    def select(self, chosen: Bools) -> _Swaps:
        """Select some of the swaps."""
        return _Swaps(
            self.first[chosen], self.second[chosen], self.outgoing[chosen], self.incoming[chosen]
        )

    def apply(self, group_ids: Groups, members: Ints, positions: Ints) -> None:
        """Exchange the records in all three arrays."""
        first = self.outgoing
        second = self.incoming
        group_ids[first], group_ids[second] = group_ids[second], group_ids[first]
        members[positions[first]], members[positions[second]] = second, first
        positions[first], positions[second] = positions[second], positions[first]


def _outgoing_records(
    problem: GroupingProblem, layout: Members, violating: Ints, rng: np.random.Generator
) -> Ints:
    """For each violating group, a record with the most common tuple of one of its tables.

    The table is the one that exceeds its bound by most.
    """
    records, group_index = layout.gather(violating)
    sizes = np.bincount(group_index, minlength=len(violating))
    alpha = count_limits(sizes, problem.model.alpha)
    beta = count_limits(sizes, problem.model.beta)
    columns = [(table.ids, table.distinct, alpha) for table in problem.tables]
    columns += [(extra.ids, len(extra.totals), beta) for extra in problem.sensitive[1:]]
    largest_excess = np.full(len(violating), -np.inf)
    is_candidate = np.zeros(len(records), dtype=bool)
    for ids, distinct, bound in columns:
        tuple_tally = tally(group_index, ids[records], groups=len(violating), values=distinct)
        modal = tuple_tally.modal()
        # The random part is below 1, so it only breaks ties between tables.
        excess = modal - bound + rng.random(len(violating))
        exceeds_more = excess > largest_excess
        largest_excess[exceeds_more] = excess[exceeds_more]
        is_most_common = tuple_tally.count == modal[tuple_tally.group]
        most_common_value = np.zeros(len(violating), dtype=np.int64)
        most_common_value[tuple_tally.group[is_most_common]] = tuple_tally.value[is_most_common]
        is_candidate = np.where(
            exceeds_more[group_index], ids[records] == most_common_value[group_index], is_candidate
        )
    random_priority = np.where(is_candidate, rng.random(len(records)), -1.0)
    outgoing: Ints = records[np.lexsort((random_priority, group_index))[np.cumsum(sizes) - 1]]
    return outgoing


def _first_pairs(first: Ints, second: Ints, turn: Ints, groups: int) -> Bools:
    """Mask of the pairs that come before every other pair with one of their groups.

    So no group is in two of these pairs.
    """
    earliest = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(earliest, first, turn)
    np.minimum.at(earliest, second, turn)
    is_earliest: Bools = (earliest[first] == turn) & (earliest[second] == turn)
    return is_earliest


def _select_disjoint_swaps(
    swaps: _Swaps, is_accepted: Bools, is_repair: Bools, groups: int
) -> Bools:
    """Mask of accepted swaps such that no group is in two of them.

    Swaps that repair their first group take precedence.
    """
    order = np.lexsort((~is_repair, ~is_accepted))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order))
    chosen = is_accepted.copy()
    chosen[is_accepted] = _first_pairs(
        swaps.first[is_accepted], swaps.second[is_accepted], turn[is_accepted], groups
    )
    return chosen


def _assess_after_swaps(
    problem: GroupingProblem, layout: Members, swaps: _Swaps
) -> GroupAssessments:
    """State of the groups after the swaps: the first groups, then the second ones."""
    records, group_index = layout.gather(swaps.groups)
    leaving = np.concatenate([swaps.outgoing, swaps.incoming])
    arriving = np.concatenate([swaps.incoming, swaps.outgoing])
    records = np.where(records == leaving[group_index], arriving[group_index], records)
    return assess_groups(
        problem, problem.measure(group_index, groups=len(leaving), records=records)
    )


# --- merge ----------------------------------------------------------------------------------------
# A weighted mean lies between its terms. So the union of two groups that satisfy alpha, beta and
# delta satisfies them; only gamma may be violated. A violating group examines some others and joins
# one with which it satisfies the model. If hardly any group finds such a partner, it joins the one
# with which it violates the model least. The number of groups decreases in every round, so this
# ends.
_CANDIDATES = 8
_GOOD_PARTNER_RATIO = 6
"""If fewer than one in so many groups found a good partner in a round, groups join any partner."""
_MERGE_EXAMINATIONS = 16
"""Average number of times that a record may be examined in search of good partners.

After that, groups join the first partner drawn.
"""


def merge(
    problem: GroupingProblem,
    grouped: CheckedGrouping,
    *,
    rng: np.random.Generator,
    region: Codes | None = None,
) -> CheckedGrouping:
    """Merge groups that violate the model; return the grouping, numbered from 0.

    A group that still violates the model is the only group of its region.
    """
    group = grouped.group
    valid = grouped.valid.copy()
    groups = len(grouped.valid)
    if valid.all():
        return grouped
    base = arrays.lay_out(group, groups)
    region_of_group = np.zeros(groups, dtype=np.int64)
    if region is not None:
        region_of_group[group] = region
    label = np.arange(groups)
    examinations_left = _MERGE_EXAMINATIONS * len(group)
    while True:
        live_groups = np.unique(label)
        groups_in_region = np.bincount(
            region_of_group[live_groups], minlength=int(region_of_group.max()) + 1
        )
        violating = live_groups[
            ~valid[live_groups] & (groups_in_region[region_of_group[live_groups]] > 1)
        ]
        if len(violating) == 0:
            number = np.searchsorted(live_groups, label)
            return CheckedGrouping(number.astype(np.int32)[group], valid[live_groups])
        parts = arrays.lay_out(label, groups)
        pairs = _candidate_pairs(
            violating,
            live_groups,
            region_of_group=region_of_group,
            tries=_CANDIDATES if examinations_left > 0 else 1,
            rng=rng,
        )
        assessments = _assess_unions(problem, base, parts, pairs)
        examinations_left -= int(assessments.sizes.sum())
        chosen = _choose_merges(
            pairs, assessments, len(violating) if examinations_left > 0 else np.inf, rng
        )
        keeps = pairs[0][chosen]
        joins = pairs[1][chosen]
        target = np.arange(groups)
        target[joins] = keeps
        label = target[label]
        valid[keeps] = assessments.valid[chosen]


def _candidate_pairs(
    violating: Ints,
    live_groups: Ints,
    *,
    region_of_group: Ints,
    tries: int,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Pairs of a violating group and a partner of its region.

    The partners are, by turns, any group and a violating group.
    """
    seeker = np.repeat(violating, tries)
    pools = [
        live_groups[np.argsort(region_of_group[live_groups], kind="stable")],
        violating[np.argsort(region_of_group[violating], kind="stable")],
    ]
    partner = np.empty(len(seeker), dtype=np.int64)
    for turn, pool in enumerate(pools):
        own_rows = slice(turn, None, 2)
        if tries == 1:  # the only try of a group takes any group
            if turn == 0:
                own_rows = slice(None)
            else:
                own_rows = slice(0)
        partner[own_rows] = _draw_merge_partners(pool, seeker[own_rows], region_of_group, rng)
    different = partner != seeker
    return seeker[different], partner[different]


def _draw_merge_partners(
    pool: Ints, seeker: Ints, region_of_group: Ints, rng: np.random.Generator
) -> Ints:
    """For each seeker, a random member of the pool from its region.

    The next member is taken if that is the seeker itself.
    """
    regions = region_of_group[pool]
    start = np.searchsorted(regions, region_of_group[seeker], side="left")
    length = np.searchsorted(regions, region_of_group[seeker], side="right") - start
    drawn = rng.integers(0, length)
    same = pool[start + drawn] == seeker
    partners: Ints = pool[start + np.where(same, (drawn + 1) % length, drawn)]
    return partners


def _assess_unions(
    problem: GroupingProblem, base: Members, parts: Members, pairs: tuple[Ints, Ints]
) -> GroupAssessments:
    """State of each pair as one group."""
    count = len(pairs[0])
    pieces, pair_index = parts.gather(np.concatenate(pairs))
    records, piece = base.gather(pieces)
    owner = pair_index[piece] % count
    return assess_groups(problem, problem.measure(owner, groups=count, records=records))


def _choose_merges(
    pairs: tuple[Ints, Ints],
    assessments: GroupAssessments,
    violating: float,
    rng: np.random.Generator,
) -> Ints:
    """Select the best pair of each violating group, such that no group is in two pairs.

    The best pair of all is always selected.
    """
    order = np.lexsort(
        (
            rng.random(len(assessments.valid)),
            assessments.chance,
            assessments.count,
            ~assessments.valid,
        )
    )
    valid_merges = _disjoint_pairs(pairs, order[assessments.valid[order]])
    if len(valid_merges) * _GOOD_PARTNER_RATIO >= violating:
        return valid_merges
    return _disjoint_pairs(pairs, order)


def _disjoint_pairs(pairs: tuple[Ints, Ints], order: Ints) -> Ints:
    """Select pairs in this order of preference, with each group in at most one pair."""
    size = int(max(pairs[0].max(), pairs[1].max())) + 1
    is_paired: npt.NDArray[np.bool_] = np.zeros(size, dtype=bool)
    chosen_pairs: list[npt.NDArray[np.int64]] = []
    left = order
    while len(left):
        first = pairs[0][left]
        second = pairs[1][left]
        is_free = ~(is_paired[first] | is_paired[second])
        left, first, second = left[is_free], first[is_free], second[is_free]
        is_first = _first_pairs(first, second, np.arange(len(left)), size)
        chosen_pairs.append(left[is_first])
        is_paired[first[is_first]] = is_paired[second[is_first]] = True
        left = left[~is_first]
    if chosen_pairs:
        return np.concatenate(chosen_pairs)
    return np.zeros(0, dtype=np.int64)
