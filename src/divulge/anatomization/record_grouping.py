# SPDX-License-Identifier: Apache-2.0
"""Group division that satisfies alpha, beta and delta whenever some grouping does.

The steps are a feasibility check, round-robin assignment, swaps, merges and verification.

Yao et al. 2021 give Algorithm 1 (methods.py). It fails on many tables that can be grouped, among
them their own Table 1. Here the assignment settles beta and delta. Swaps of records with the same
sensitive value, and merges, settle alpha and gamma. At the end all four bounds are checked on every
group in integers. Only gamma can remain: then the search has failed and reports the gamma that it
reached. If fewer groups are found than the counts allow (group_count_bound.py), records are
assigned to groups of several sizes. For small tables all groupings are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomization.encoded_rows import RowCodes
from divulge.anatomization.group_count_bound import (
    Floats,
    GroupPlan,
    bound_group_count,
    plan_groups,
)
from divulge.anatomization.model import (
    GroupTally,
    Reached,
    count_limits,
    most_common_absent_total,
    tally,
)
from divulge.anatomization.problem import (
    MOST_RECORDS_TO_ENUMERATE,
    GroupingProblem,
    Groups,
    InfeasibleModel,
    SensitiveTotals,
    WholeTable,
    check_feasible,
    gamma_is_guaranteed,
    problem_of,
    search_all_groupings,
)
from divulge.anatomization.repair import CheckedGrouping, merge, repair
from divulge.arrays import Bools, Codes, Ints, Members
from divulge.errors import InternalError


# --- round-robin assignment -----------------------------------------------------------------------
# Sort the records by sensitive value; record i goes to group i mod G.
#
# A value with h records then has floor(h/G) or ceil(h/G) of them in every group, and groups have
# floor(n/G) or ceil(n/G) records. So beta and delta of all groups follow from the counts of the
# whole table, and the largest number of groups that satisfies them can be computed. This does not
# fail on counts (3, 1, 1, 1) with two records per group, where Algorithm 1 of Yao et al. 2021
# fails. With regions, each region is assigned by itself, and delta is still compared with the
# shares in the whole table.
def most_groups(problem: GroupingProblem, *, smallest: int = 1) -> int:
    """The most groups of at least `smallest` records that the assignment allows; at least 1.

    The assignment must satisfy beta and delta, and leave enough room for alpha.
    """
    attribute = problem.sensitive[0]
    rows = len(problem)
    # Values with the same number of records behave alike.
    prior, totals = np.unique(np.stack([attribute.prior, attribute.totals]), axis=1)[:, ::-1]
    present = np.flatnonzero(totals)
    table_tally = GroupTally(1, np.zeros(len(present), dtype=np.int64), present, totals[present])
    for groups in _group_counts(rows, smallest_group(problem, min(smallest, rows))):
        sizes = np.array([rows])
        group_counts = np.array([groups])
        if (
            _has_capacity(problem, groups)
            and assignment_satisfies_bounds(
                table_tally, sizes, group_counts, problem, totals=prior
            )[0]
        ):
            return groups
    return 1


def _has_capacity(problem: GroupingProblem, groups: int) -> bool:
    """True if groups of this size can hold the most common tuple of each table, with a reserve.

    A group of n records takes floor(alpha n) records of a tuple. Without that much room no grouping
    into so many equal groups satisfies alpha. The reserve is left for the swaps. It is half of the
    whole table's reserve, or one in a hundred of the tuple's records if that is less.
    """
    rows = len(problem)
    alpha = problem.model.alpha
    fewest, larger = divmod(rows, groups)
    capacity = (groups - larger) * math.floor(alpha * fewest) + larger * math.floor(
        alpha * (fewest + 1)
    )
    table_capacity = math.floor(alpha * rows)
    return all(
        capacity >= top + min((table_capacity - top) // 2, top // 100)
        for top in problem.most_common_counts
    )


def smallest_group(problem: GroupingProblem, smallest: int = 1) -> int:
    """The fewest records of a group that contains the rarest value once."""
    attribute = problem.sensitive[0]
    model = problem.model
    rows = len(problem)
    rarest = int(attribute.prior[attribute.totals > 0].min())
    share = min(model.beta, Fraction(rarest, problem.table_rows) + model.delta)
    if share:
        return min(max(smallest, math.ceil(1 / share)), rows)
    return rows


def assignment_satisfies_bounds(
    ranked: GroupTally, sizes: Ints, groups: Ints, problem: GroupingProblem, *, totals: Ints
) -> Bools:
    """For each region: True if assigning it to so many groups satisfies beta and delta.

    A region is a group of the tally. Delta is compared with the shares `totals`.
    """
    model = problem.model
    rows = problem.table_rows
    fewest = sizes // groups
    largest_size = -(-sizes // groups)
    beta = count_limits(fewest, model.beta)
    above = count_limits(fewest, model.delta * rows)
    below = count_limits(largest_size, model.delta * rows)
    region = ranked.group
    high = -(-ranked.count // groups[region])
    low = ranked.count // groups[region]
    total = totals[ranked.value]
    is_violation = high > beta[region]
    is_violation |= high * rows > total * fewest[region] + above[region]
    is_violation |= low * rows < total * largest_size[region] - below[region]
    satisfies_bounds = most_common_absent_total(ranked, totals) * largest_size <= below
    satisfies_bounds[region[is_violation]] = False
    return satisfies_bounds & (fewest > 0)


def assign_round_robin(
    problem: GroupingProblem, *, groups: Ints, rng: np.random.Generator, region: Codes | None = None
) -> Groups:
    """Assign records to groups in turn: groups[r] groups for region r, numbered region by region.

    Records are sorted by the first sensitive attribute, then by the next, with ties in random
    order.
    """
    order = _order_by_value(problem, rng)
    group_ids = np.empty(len(order), dtype=np.int32)
    if region is None:
        group_ids[order] = np.arange(len(order), dtype=np.int32) % np.int32(groups[0])
        return group_ids
    order = order[arrays.stable_order(region[order], len(groups))]
    sizes = np.bincount(region, minlength=len(groups))
    home = region[order].astype(np.int64)
    position = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[home]
    first = np.cumsum(groups) - groups
    group_ids[order] = first[home] + position % groups[home]
    return group_ids


def _order_by_value(problem: GroupingProblem, rng: np.random.Generator) -> Groups:
    """Record indices sorted by sensitive values, most common value first, ties in random order."""
    order = rng.permutation(np.arange(len(problem), dtype=np.int32))
    for attribute in reversed(problem.sensitive):
        order = order[arrays.stable_order(attribute.ids[order], len(attribute.totals))]
    return order


def _group_counts(rows: int, smallest: int) -> Iterator[int]:
    """All floor(rows / m) for m >= smallest, in descending order.

    There are about 2 sqrt(rows) of them at most.
    """
    groups = rows // smallest
    while groups > 0:
        yield groups
        groups = rows // (rows // groups + 1)


# --- balance --------------------------------------------------------------------------------------
# Round-robin assignment fixes which groups get a record of each sensitive value, not which record.
# Here the records of a value with the most common tuple of a table go to those of its groups that
# have the fewest such records so far. If alpha leaves little room, this avoids most swaps and
# merges.
_MOST_TABLES = 4
_MOST_VALUES = 2000
"""Number of most common sensitive values to balance; the others have few records."""


def assign_balanced(problem: GroupingProblem, groups: int, *, rng: np.random.Generator) -> Groups:
    """Round-robin assignment, balanced if a tuple is common enough to matter."""
    group_ids = assign_round_robin(problem, groups=np.array([groups]), rng=rng)
    if groups == 1:
        return group_ids
    return _balance_common_tuples(problem, group_ids, groups=groups, rng=rng)


def assign_by_plan(
    problem: GroupingProblem, plan: GroupPlan, *, rng: np.random.Generator
) -> Groups:
    """Assignment to groups of several sizes, balanced by the capacity of each group.

    A group in which a value may occur b times is split into b parts, each of which gets the value
    once. The records of a value go to the parts with the most free seats. This fails only if every
    assignment fails (Gale and Ryser 1957). The few records of the last values fill the seats in
    turn.
    """
    owner = np.repeat(np.arange(len(plan)), plan.values)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(plan.values) - plan.values, plan.values)
    seats = (plan.sizes // plan.values)[owner] + (nth < (plan.sizes % plan.values)[owner])
    order = _order_by_value(problem, rng)
    group_ids = np.empty(len(problem), dtype=np.int32)
    ends = np.cumsum(problem.sensitive[0].totals)[:_MOST_VALUES]
    for records in np.split(order[: ends[-1]], ends[:-1]):
        waiting = records
        while len(waiting):
            free_seats = np.flatnonzero(seats)
            batch_size = min(len(waiting), len(free_seats))
            by_seats = np.argpartition(
                -seats[free_seats] - rng.random(len(free_seats)), batch_size - 1
            )
            taken_seats = free_seats[by_seats[:batch_size]]
            group_ids[waiting[:batch_size]] = owner[taken_seats]
            seats[taken_seats] -= 1
            waiting = waiting[batch_size:]
    turn = np.arange(seats.sum()) - np.repeat(np.cumsum(seats) - seats, seats)
    group_ids[order[ends[-1] :]] = np.repeat(owner, seats)[np.argsort(turn, kind="stable")]
    return _balance_common_tuples(
        problem, group_ids, groups=len(plan), rng=rng, capacity=plan.tuples
    )


def _balance_common_tuples(
    problem: GroupingProblem,
    group_ids: Groups,
    *,
    groups: int,
    rng: np.random.Generator,
    capacity: Ints | None = None,
) -> Groups:
    """Spread the common tuples over the groups, without changing a group's sensitive values.

    `capacity` holds the capacity of each group for these tuples, if groups differ.
    """
    carries_tuple = _common_tuples(problem)
    if len(carries_tuple) == 0 or len(problem.sensitive) > 1:
        return group_ids
    tuple_capacity = np.ones((len(carries_tuple), groups))
    if capacity is not None:
        tuple_capacity[: len(capacity)] = capacity[: len(carries_tuple)]
    values = problem.sensitive[0]
    blocks = arrays.lay_out(values.ids, len(values.totals))
    has_rare_value = values.ids >= _MOST_VALUES
    load = np.stack(
        [np.bincount(group_ids[has & has_rare_value], minlength=groups) for has in carries_tuple]
    ).astype(np.float64)
    for value in reversed(range(min(len(values.totals), _MOST_VALUES))):
        records = blocks.members[blocks.start[value] : blocks.start[value + 1]]
        _assign_seats(
            records,
            group_ids=group_ids,
            carries_tuple=carries_tuple,
            load=load,
            capacity=tuple_capacity,
            rng=rng,
        )
    return group_ids


def _common_tuples(problem: GroupingProblem) -> Bools:
    """For each table whose most common tuple may exceed alpha: a mask of the records that carry it.

    The tables with the most common tuples come first.
    """
    pressing = sorted(
        (
            table_index
            for table_index, top in enumerate(problem.most_common_counts)
            if 2 * top > problem.model.alpha * len(problem)
        ),
        key=lambda table_index: -problem.most_common_counts[table_index],
    )[:_MOST_TABLES]
    carries_tuple = [
        table.ids == table.counts.argmax()
        for table in (problem.tables[table_index] for table_index in pressing)
    ]
    return np.array(carries_tuple, dtype=np.bool_).reshape(len(carries_tuple), len(problem))


def _assign_seats(
    records: Ints,
    *,
    group_ids: Groups,
    carries_tuple: Bools,
    load: Floats,
    capacity: Floats,
    rng: np.random.Generator,
) -> None:
    """Assign the seats of one sensitive value to its records.

    Records with the most common tuples come first. Fills in `group_ids` and `load`.
    """
    seats = group_ids[records]
    kinds = carries_tuple[:, records]
    for kind in sorted(
        product([True, False], repeat=len(carries_tuple)), key=lambda kind: -sum(kind)
    ):
        chosen_records = records[(kinds == np.array(kind)[:, None]).all(axis=0)]
        if len(chosen_records) == 0:
            continue
        if not any(kind):
            group_ids[chosen_records] = seats
            return
        has = np.flatnonzero(kind)
        lot = rng.random(len(seats)) / len(has)
        relative_load = ((load[np.ix_(has, seats)] + lot) / capacity[np.ix_(has, seats)]).sum(
            axis=0
        )
        order = np.argpartition(relative_load, len(chosen_records) - 1)
        taken_seats = seats[order[: len(chosen_records)]]
        group_ids[chosen_records] = taken_seats
        for table in has:
            np.add.at(load[table], taken_seats, 1)
        seats = seats[order[len(chosen_records) :]]


# --- mondrian -------------------------------------------------------------------------------------
# Mondrian cells: split the records at the median of a column repeatedly, as long as both halves are
# allowed.
#
# LeFevre et al. 2006, strict partitioning. All cells of a depth are split together. Each cell tries
# the column with the widest range first, relative to the whole table, then the next one if a half
# is not allowed. Slicing buckets are such cells. So are the regions inside which our group division
# can assign records, so that records of a group are similar.
CellCheck = Callable[[Ints, Ints, int], Bools]
"""Maps (cell of each record, the records, number of cells) to a mask of the allowed cells."""


def mondrian(rows: RowCodes, columns: Sequence[str], *, are_allowed: CellCheck) -> Groups:
    """Cell of each record, numbered from 0; cells are allowed and cannot be split further.

    The whole table is not checked.
    """
    codes = np.stack([rows.column(name).astype(np.int32) for name in columns])
    spans = np.maximum(codes.max(axis=1) - codes.min(axis=1), 1)
    cell = np.zeros(len(rows), dtype=np.int32)
    count = 1
    growing = np.zeros(1, dtype=np.int64)
    while len(growing):
        layout = arrays.lay_out(cell, count)
        widths = _cell_widths(codes, layout, growing) / spans[:, None]
        preference = np.argsort(-widths, axis=0, kind="stable")
        waiting = np.arange(len(growing))
        halves = []
        for turn in range(len(columns)):
            # Cells whose column has one value are done: the remaining columns are no wider.
            waiting = waiting[widths[preference[turn, waiting], waiting] > 0]
            if len(waiting) == 0:
                break
            leaving, cell_index, cut = _split_cells(
                codes, layout, growing[waiting], preference[turn, waiting], are_allowed
            )
            halves.append((growing[waiting[cut]], leaving, cell_index))
            waiting = waiting[~cut]
        grown = []
        for parents, leaving, cell_index in halves:
            number = np.arange(count, count + len(parents))
            cell[leaving] = number[cell_index]
            count += len(parents)
            grown += [parents, number]
        if grown:
            growing = np.concatenate(grown)
        else:
            growing = np.zeros(0, dtype=np.int64)
    return cell


def _cell_widths(codes: npt.NDArray[np.int32], layout: Members, cells: Ints) -> Ints:
    """Range of codes for each column and cell."""
    records, cell_index = layout.gather(cells)
    cell_starts = np.searchsorted(cell_index, np.arange(len(cells)))
    inside = codes[:, records]
    widths: Ints = np.maximum.reduceat(inside, cell_starts, axis=1) - np.minimum.reduceat(
        inside, cell_starts, axis=1
    )
    return widths


def _split_cells(
    codes: npt.NDArray[np.int32], layout: Members, cells: Ints, chosen: Ints, are_allowed: CellCheck
) -> tuple[Ints, Ints, Bools]:
    """Split cells at the median of their chosen columns, if both halves are allowed.

    Returns the records that move to the right half, the index of their cell among the cells that
    were split, and a mask of the cells that were split.
    """
    records, cell_index = layout.gather(cells)
    value = codes[chosen[cell_index], records].astype(np.int64)
    order = np.argsort(cell_index * (int(value.max()) + 1) + value)
    sizes = np.bincount(cell_index, minlength=len(cells))
    cell_starts = np.cumsum(sizes) - sizes
    ordered = value[order]
    median = ordered[cell_starts + sizes // 2]
    least = ordered[cell_starts]
    # The right half starts with the median, or with the next value if nothing is below the median.
    right = np.where(
        (median > least)[cell_index], value >= median[cell_index], value > median[cell_index]
    )
    is_allowed = are_allowed(2 * cell_index + right, records, 2 * len(cells))
    cut = is_allowed[0::2] & is_allowed[1::2]
    leaving = right & cut[cell_index]
    return records[leaving], (np.cumsum(cut) - 1)[cell_index[leaving]], cut


# --- grouping -------------------------------------------------------------------------------------
_LEAST_SHARE_LEFT = 0.9
"""If merges leave fewer groups than this share, the assignment is retried with larger groups.

With regions it is not retried.
"""


def group_records(
    problem: GroupingProblem,
    *,
    rng: np.random.Generator,
    group_size: int = 1,
    locality: bool = False,
) -> Groups:
    """Assign a group to each record such that every group satisfies the model.

    Groups have at least `group_size` records. With `locality`, records of a group are close to each
    other in their quasi-identifiers. Raises InfeasibleModel if no such grouping is found.
    """
    check_feasible(problem)
    # Assigned by the attribute whose most common value is the most common of all.
    ordered = replace(
        problem,
        sensitive=tuple(
            sorted(problem.sensitive, key=lambda attribute: -attribute.most_common_count)
        ),
    )
    count = most_groups(ordered, smallest=group_size)
    grouping = _try_group_count(ordered, count, rng=rng, locality=locality)
    if not locality and len(grouping.valid) < _LEAST_SHARE_LEFT * count:
        # Many groups had to merge, so they were too small: try a size between the assigned size and
        # the average size after the merges.
        assigned_size = len(problem) // count
        merged_size = len(problem) // len(grouping.valid)
        larger_groups_count = most_groups(
            ordered, smallest=max(group_size, assigned_size + 1, (assigned_size + merged_size) // 2)
        )
        retried = _try_group_count(ordered, larger_groups_count, rng=rng, locality=False)
        grouping = max(grouping, retried, key=_grouping_quality)
    if not locality:
        grouping = _with_more_groups(
            ordered, problem.whole_table, grouping, rng=rng, group_size=group_size
        )
    if grouping.valid.all():
        return _with_random_numbers(grouping.group, rng)
    if gamma_is_guaranteed(problem):
        raise InternalError("the grouping breaks a model that can be kept")
    return _search_or_raise(problem, rng, group_size)


_RESERVE_SHARES = tuple(Fraction(share) for share in ("0", "1/100", "3/100", "1/10", "1/4"))
"""Shares by which the room for the most common tuples exceeds their number.

A smaller share gives more groups, a larger one leaves swaps more choice.
"""
_MANY_RECORDS = 200_000
"""Above this number of records only one plan is tried."""


def _with_more_groups(
    problem: GroupingProblem,
    whole_table: WholeTable,
    grouping: CheckedGrouping,
    *,
    rng: np.random.Generator,
    group_size: int,
) -> CheckedGrouping:
    """Try groups of several sizes if equal sizes give fewer groups than the counts allow.

    Returns the earlier grouping if the new one is no better. For a small table all groupings are
    tried.
    """
    group_count = len(grouping.valid)
    if grouping.valid.all() and group_count >= bound_group_count(
        whole_table, group_size=group_size, group_count=group_count
    ):
        return grouping
    if len(problem) <= MOST_RECORDS_TO_ENUMERATE:
        best = search_all_groupings(problem, group_size=min(group_size, len(problem)), rng=rng)
        if best is None:
            return grouping
        return CheckedGrouping(best, np.ones(int(best.max()) + 1, dtype=np.bool_))
    if len(problem) <= _MANY_RECORDS:
        reserve_shares = _RESERVE_SHARES
    else:
        reserve_shares = _RESERVE_SHARES[1:2]
    for reserve_share in reserve_shares:
        plan = plan_groups(whole_table, group_size=group_size, reserve_share=reserve_share)
        if plan is None or (grouping.valid.all() and len(plan) <= len(grouping.valid)):
            break
        assigned = assign_by_plan(problem, plan, rng=rng)
        if grouping.valid.all() and not _most_groups_satisfy_bounds(problem, assigned, len(plan)):
            break
        repaired = repair(problem.without_unbounded_tables, assigned, groups=len(plan), rng=rng)
        grouping = max(
            grouping,
            merge(problem.without_unbounded_tables, repaired, rng=rng),
            key=_grouping_quality,
        )
    return grouping


def _most_groups_satisfy_bounds(problem: GroupingProblem, assigned: Groups, groups: int) -> bool:
    """True if most groups satisfy beta and delta of the attribute that records were assigned by.

    Swaps do not repair these bounds, so the other groups would have to merge.
    """
    relaxed = replace(problem.model, alpha=Fraction(1), gamma=Fraction(1))
    by_value = replace(problem, model=relaxed, tables=(), sensitive=problem.sensitive[:1])
    satisfies_bounds = by_value.measure(assigned, groups=groups).satisfies(relaxed)
    return bool(satisfies_bounds.mean() >= _LEAST_SHARE_LEFT)


def _grouping_quality(grouping: CheckedGrouping) -> tuple[bool, int]:
    return bool(grouping.valid.all()), len(grouping.valid)


def _try_group_count(
    problem: GroupingProblem, count: int, *, rng: np.random.Generator, locality: bool
) -> CheckedGrouping:
    """Assign to so many groups (with regions, to groups of that size), swap, and merge."""
    if locality:
        region = _similar_regions(problem, len(problem) // count)
    else:
        region = None
    if region is None:
        assigned = assign_balanced(problem, count, rng=rng)
    else:
        groups = np.bincount(region) // (len(problem) // count)
        count = int(groups.sum())
        assigned = assign_round_robin(problem, groups=groups, rng=rng, region=region)
    repaired = repair(
        problem.without_unbounded_tables, assigned, groups=count, rng=rng, region=region
    )
    return merge(problem.without_unbounded_tables, repaired, rng=rng, region=region)


def _similar_regions(problem: GroupingProblem, size: int) -> Groups:
    """Cells of similar records that satisfy the model as one group.

    They also satisfy beta and delta when assigned to groups of `size` records.
    """
    attribute = problem.sensitive[0]

    def are_allowed(cell: Ints, records: Ints, cells: int) -> Bools:
        levels = problem.measure(cell, groups=cells, records=records)
        ranked = tally(cell, attribute.ids[records], groups=cells, values=len(attribute.totals))
        groups = np.maximum(levels.sizes // size, 1)
        satisfies_bounds = assignment_satisfies_bounds(
            ranked, levels.sizes, groups, problem, totals=attribute.prior
        )
        return satisfies_bounds & (levels.sizes >= size) & levels.satisfies(problem.model)

    columns = [name for names in problem.names for name in names]
    return mondrian(problem.rows, columns, are_allowed=are_allowed)


def _search_or_raise(problem: GroupingProblem, rng: np.random.Generator, group_size: int) -> Groups:
    """Try all groupings of a small table; otherwise raise an error with the reachable gamma."""
    every_grouping = len(problem) <= MOST_RECORDS_TO_ENUMERATE and group_size == 1
    if every_grouping and (grouping := search_all_groupings(problem, rng=rng)) is not None:
        return _with_random_numbers(grouping, rng)
    relaxed = replace(problem, model=replace(problem.model, gamma=Fraction(1)))
    group = group_records(relaxed, rng=rng, group_size=group_size)
    levels = relaxed.measure(group, groups=int(group.max()) + 1).worst()
    reached = min(levels.gamma, problem.whole_table.levels.gamma)
    because = f"gamma is {problem.model.gamma}; groups that keep the other bounds reach {reached}"
    raise InfeasibleModel(
        problem,
        because,
        gamma=reached,
        proved=every_grouping or bound_group_count(problem.whole_table) == 0,
    )


def _with_random_numbers(group: Groups, rng: np.random.Generator) -> Groups:
    """Replace the group numbers by random ones, which reveal nothing about the algorithm."""
    return rng.permutation(int(group.max()) + 1).astype(np.int32)[group]


# --- within the classes of prior releases ---------------------------------------------------------
# An adversary who also holds an earlier release sees joint groups: the records of a group that
# share a class there. If every joint group satisfies the model, the joint groups are themselves a
# grouping that satisfies it, and each lies within one class. So nothing is lost by grouping each
# class by itself. And if a class cannot be grouped, no grouping of the table satisfies the model
# together with the prior releases.
@dataclass(frozen=True, eq=False)
class PriorClasses:
    """The equivalence class of each record in the prior releases."""

    ids: Codes = field(repr=False)
    """Class of each record, numbered from 0."""
    names: Sequence[str] = field(repr=False)
    """Label of each class."""


def group_within_classes(
    problem: GroupingProblem,
    prior_classes: PriorClasses,
    group_class: Callable[[GroupingProblem], Groups],
    *,
    rng: np.random.Generator,
) -> Groups:
    """Group the records of each class by themselves.

    Delta is still measured against the shares in the whole table.
    """
    rows = problem.rows
    classes = arrays.lay_out(prior_classes.ids, len(prior_classes.names))
    sensitive = [attribute.name for attribute in problem.sensitive]
    totals = {
        name: SensitiveTotals(
            rows.domain(name), np.bincount(rows.column(name), minlength=len(rows.domain(name)))
        )
        for name in sensitive
    }
    problem_settings: dict[str, Any] = {
        "tables": problem.names,
        "sensitive": sensitive,
        "model": problem.model,
        "totals": totals,
    }
    group_ids = np.empty(len(problem), dtype=np.int32)
    count = 0
    obstacles = dict[str, InfeasibleModel]()
    for number, name in enumerate(prior_classes.names):
        members = classes.members[classes.start[number] : classes.start[number + 1]]
        try:
            group = group_class(problem_of(rows.take(members), **problem_settings))
        except InfeasibleModel as error:
            obstacles[name] = error
            continue
        group_ids[members] = group + count
        count += int(group.max()) + 1
    if obstacles:
        raise _infeasible_classes_error(problem, obstacles, len(prior_classes.names))
    return rng.permutation(count).astype(np.int32)[group_ids]


def _infeasible_classes_error(
    problem: GroupingProblem, obstacles: Mapping[str, InfeasibleModel], classes: int
) -> InfeasibleModel:
    """Build the error for classes that cannot be grouped, with bounds that all can satisfy."""
    name, first = next(iter(obstacles.items()))
    nearest = first.nearest
    for error in obstacles.values():
        nearest = nearest.worst(error.nearest)
    nearest = nearest.worst(
        Reached(problem.model.alpha, problem.model.beta, problem.model.gamma, problem.model.delta)
    )
    message = (
        "groups that keep it together with what is out already lie within its classes, and "
        f"{len(obstacles):,} of {classes:,} cannot be grouped, such as {name!r}: {first.because}"
    )
    proved = any(error.proved for error in obstacles.values())
    return InfeasibleModel(
        problem,
        message,
        proved=proved,
        nearest=nearest,
        hint="Leave these people out, or loosen a bound",
    )
