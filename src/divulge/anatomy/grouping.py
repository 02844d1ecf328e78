# SPDX-License-Identifier: Apache-2.0
"""Group division that cannot fail for alpha, beta and delta where a grouping exists: feasibility, deal, swaps, merges, verification.

Yao et al. 2021 give Algorithm 1 (methods.py), which fails on many tables that can be grouped, on their own Table 1 among them. Here
the deal settles beta and delta, swaps of records with the same sensitive value and merges settle alpha and gamma, and at the end all four
are checked on every group in whole numbers. Only gamma can remain: then the search has failed, and says so, with the gamma it reached.
Where fewer groups are found than the counts allow (most.py), groups of several sizes are dealt, and small tables are grouped in all ways.
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
from divulge.anatomy.model import GroupTally, Reached, commonest_absent, floors, tally
from divulge.anatomy.most import Floats, GroupPlan, at_most, plan_groups
from divulge.anatomy.problem import (
    SMALL,
    GroupingProblem,
    Groups,
    InfeasibleModel,
    SensitiveTotals,
    WholeTable,
    check_feasible,
    gamma_is_certain,
    problem_of,
    search_all,
)
from divulge.anatomy.repair import Grouped, merge, repair
from divulge.anatomy.rows import RowCodes
from divulge.arrays import Bools, Codes, Ints, Members
from divulge.errors import InternalError


# --- The circular deal: sort the records by sensitive value and give record i to group i mod G ------------------------
# A value with h records then has floor(h/G) or ceil(h/G) of them in every group, and groups have floor(n/G) or ceil(n/G) records. So
# beta and delta of all groups follow from the counts of the whole table, and the largest number of groups for which they hold can be
# looked up. It does not fail where Algorithm 1 of Yao et al. 2021 does: counts (3, 1, 1, 1) with two records per group. With regions,
# each is dealt by itself, and delta is still measured against the shares in the whole table.
def most_groups(problem: GroupingProblem, *, smallest: int = 1) -> int:
    """The most groups of at least `smallest` records for which the deal keeps beta and delta, and alpha can be kept; at worst 1."""
    attribute, rows = problem.sensitive[0], len(problem)
    # Values with equally many records fare alike.
    prior, totals = np.unique(np.stack([attribute.prior, attribute.totals]), axis=1)[:, ::-1]
    present = np.flatnonzero(totals)
    whole = GroupTally(1, np.zeros(len(present), dtype=np.int64), present, totals[present])
    for groups in _group_counts(rows, smallest_group(problem, min(smallest, rows))):
        sizes, dealt = np.array([rows]), np.array([groups])
        if _has_room(problem, groups) and deals_keep(whole, sizes, dealt, problem, totals=prior)[0]:
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


def deals_keep(ranked: GroupTally, sizes: Ints, groups: Ints, problem: GroupingProblem, *, totals: Ints) -> Bools:
    """For each region (a group of the tally): dealt to so many groups, it keeps beta, and delta against the shares `totals`."""
    model, rows = problem.model, problem.table_rows
    fewest, most = sizes // groups, -(-sizes // groups)
    beta = floors(fewest, model.beta)
    above, below = floors(fewest, model.delta * rows), floors(most, model.delta * rows)
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
    order = _by_value(problem, rng)
    found = np.empty(len(order), dtype=np.int32)
    if region is None:
        found[order] = np.arange(len(order), dtype=np.int32) % np.int32(groups[0])
        return found
    order = order[arrays.stable_order(region[order], len(groups))]
    sizes = np.bincount(region, minlength=len(groups))
    home = region[order].astype(np.int64)
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[home]
    first = np.cumsum(groups) - groups
    found[order] = first[home] + place % groups[home]
    return found


def _by_value(problem: GroupingProblem, rng: np.random.Generator) -> Groups:
    """The records by their sensitive values, the commonest first, in random order among equals."""
    order = rng.permutation(np.arange(len(problem), dtype=np.int32))
    for attribute in reversed(problem.sensitive):
        order = order[arrays.stable_order(attribute.ids[order], len(attribute.totals))]
    return order


def _group_counts(rows: int, smallest: int) -> Iterator[int]:
    """All floor(rows / m) for m >= smallest, in descending order; about 2 sqrt(rows) numbers at most."""
    groups = rows // smallest
    while groups > 0:
        yield groups
        groups = rows // (rows // groups + 1)


# --- balance ----------------------------------------------------------------------------------------------------------
# The circular deal fixes which groups get a record of each sensitive value, not which record. Here the records of a value that carry
# the commonest tuple of a table go to those of its groups that have the fewest so far. Where alpha leaves little room, this spares
# most swaps and merges.
_MOST_TABLES = 4
_MOST_VALUES = 2000
"""So many of the commonest sensitive values are balanced; the records of the others are few."""


def balanced_deal(problem: GroupingProblem, groups: int, *, rng: np.random.Generator) -> Groups:
    """The circular deal, balanced where a tuple is common enough to matter."""
    found = deal(problem, groups=np.array([groups]), rng=rng)
    return found if groups == 1 else _balanced(problem, found, groups=groups, rng=rng)


def planned_deal(problem: GroupingProblem, plan: GroupPlan, *, rng: np.random.Generator) -> Groups:
    """A deal to groups of several sizes, balanced by what each has room for.

    A group in which a value may occur b times is b parts, each of which gets it once. The records of a value go to the parts with the most
    seats left, which fails only where nothing else can do (Gale and Ryser 1957); the few records of the last values go round the seats.
    """
    owner = np.repeat(np.arange(len(plan)), plan.values)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(plan.values) - plan.values, plan.values)
    seats = (plan.sizes // plan.values)[owner] + (nth < (plan.sizes % plan.values)[owner])
    order, found = _by_value(problem, rng), np.empty(len(problem), dtype=np.int32)
    ends = np.cumsum(problem.sensitive[0].totals)[:_MOST_VALUES]
    for records in np.split(order[: ends[-1]], ends[:-1]):
        waiting = records
        while len(waiting):
            free = np.flatnonzero(seats)
            given = min(len(waiting), len(free))
            by_seats = np.argpartition(-seats[free] - rng.random(len(free)), given - 1)
            taken = free[by_seats[:given]]
            found[waiting[:given]] = owner[taken]
            seats[taken] -= 1
            waiting = waiting[given:]
    turn = np.arange(seats.sum()) - np.repeat(np.cumsum(seats) - seats, seats)
    found[order[ends[-1] :]] = np.repeat(owner, seats)[np.argsort(turn, kind="stable")]
    return _balanced(problem, found, groups=len(plan), rng=rng, room=plan.tuples)


def _balanced(
    problem: GroupingProblem, found: Groups, *, groups: int, rng: np.random.Generator, room: Ints | None = None
) -> Groups:
    """The same sensitive values in each group, the common tuples spread; `room` says how many a group has room for, if not all alike."""
    carried = _common_tuples(problem)
    if len(carried) == 0 or len(problem.sensitive) > 1:
        return found
    spread = np.ones((len(carried), groups))
    if room is not None:
        spread[: len(room)] = room[: len(carried)]
    values = problem.sensitive[0]
    blocks = arrays.lay_out(values.ids, len(values.totals))
    few = values.ids >= _MOST_VALUES
    load = np.stack([np.bincount(found[has & few], minlength=groups) for has in carried]).astype(np.float64)
    for value in reversed(range(min(len(values.totals), _MOST_VALUES))):
        records = blocks.members[blocks.start[value] : blocks.start[value + 1]]
        _seat(records, found=found, carried=carried, load=load, room=spread, rng=rng)
    return found


def _common_tuples(problem: GroupingProblem) -> Bools:
    """For each table whose commonest tuple may fill a group beyond alpha: which records carry it; the most pressing tables first."""
    pressing = sorted(
        (place for place, top in enumerate(problem.commonest) if 2 * top > problem.model.alpha * len(problem)),
        key=lambda place: -problem.commonest[place],
    )[:_MOST_TABLES]
    carried = [table.ids == table.counts.argmax() for table in (problem.tables[place] for place in pressing)]
    return np.array(carried, dtype=np.bool_).reshape(len(carried), len(problem))


def _seat(
    records: Ints, *, found: Groups, carried: Bools, load: Floats, room: Floats, rng: np.random.Generator
) -> None:
    """Hand the seats of one sensitive value to its records, those with the most common tuples first; `found` and `load` are filled in."""
    seats, kinds = found[records], carried[:, records]
    for kind in sorted(product([True, False], repeat=len(carried)), key=lambda kind: -sum(kind)):
        chosen = records[(kinds == np.array(kind)[:, None]).all(axis=0)]
        if len(chosen) == 0:
            continue
        if not any(kind):
            found[chosen] = seats
            return
        has = np.flatnonzero(kind)
        lot = rng.random(len(seats)) / len(has)
        burden = ((load[np.ix_(has, seats)] + lot) / room[np.ix_(has, seats)]).sum(axis=0)
        order = np.argpartition(burden, len(chosen) - 1)
        taken = seats[order[: len(chosen)]]
        found[chosen] = taken
        for table in has:
            np.add.at(load[table], taken, 1)
        seats = seats[order[len(chosen) :]]


# --- mondrian ---------------------------------------------------------------------------------------------------------
# Mondrian cells: halve the records at the median of a column again and again, as long as both halves are allowed.
#
# LeFevre et al. 2006, strict partitioning. All cells of a depth are cut together: each tries the column with the widest range first,
# relative to the whole table, and the next one where a half would not be allowed. Slicing buckets are such cells, and so are the
# regions inside which our group division can deal, so that records of a group are alike.
Allowed = Callable[[Ints, Ints, int], Bools]
"""(cell of each record, the records, how many cells) -> which cells may stand."""


def mondrian(rows: RowCodes, columns: Sequence[str], *, allowed: Allowed) -> Groups:
    """For each record its cell, numbered from 0; cells are allowed and cannot be cut; the whole table is not asked about."""
    codes = np.stack([rows.column(name).astype(np.int32) for name in columns])
    spans = np.maximum(codes.max(axis=1) - codes.min(axis=1), 1)
    cell = np.zeros(len(rows), dtype=np.int32)
    count, growing = 1, np.zeros(1, dtype=np.int64)
    while len(growing):
        layout = arrays.lay_out(cell, count)
        widths = _widths(codes, layout, growing) / spans[:, None]
        preference = np.argsort(-widths, axis=0, kind="stable")
        waiting, halves = np.arange(len(growing)), []
        for turn in range(len(columns)):
            # Cells whose column has one value are done: the columns that follow are no wider.
            waiting = waiting[widths[preference[turn, waiting], waiting] > 0]
            if len(waiting) == 0:
                break
            leaving, place, cut = _cut(codes, layout, growing[waiting], preference[turn, waiting], allowed)
            halves.append((growing[waiting[cut]], leaving, place))
            waiting = waiting[~cut]
        grown = []
        for parents, leaving, place in halves:
            number = np.arange(count, count + len(parents))
            cell[leaving] = number[place]
            count += len(parents)
            grown += [parents, number]
        growing = np.concatenate(grown) if grown else np.zeros(0, dtype=np.int64)
    return cell


def _widths(codes: npt.NDArray[np.int32], layout: Members, cells: Ints) -> Ints:
    """For each column and cell, the range of codes."""
    records, place = layout.gather(cells)
    begins = np.searchsorted(place, np.arange(len(cells)))
    inside = codes[:, records]
    widths: Ints = np.maximum.reduceat(inside, begins, axis=1) - np.minimum.reduceat(inside, begins, axis=1)
    return widths


def _cut(
    codes: npt.NDArray[np.int32], layout: Members, cells: Ints, chosen: Ints, allowed: Allowed
) -> tuple[Ints, Ints, Bools]:
    """Cut cells at the median of their chosen columns, where both halves are allowed.

    The records that leave for the right half, the place of their cells among those that were cut, and which cells these are.
    """
    records, place = layout.gather(cells)
    value = codes[chosen[place], records].astype(np.int64)
    order = np.argsort(place * (int(value.max()) + 1) + value)
    sizes = np.bincount(place, minlength=len(cells))
    begins = np.cumsum(sizes) - sizes
    ordered = value[order]
    median, least = ordered[begins + sizes // 2], ordered[begins]
    # The right half starts with the median; where everything below it is empty, with the next value.
    right = np.where((median > least)[place], value >= median[place], value > median[place])
    fine = allowed(2 * place + right, records, 2 * len(cells))
    cut = fine[0::2] & fine[1::2]
    leaving = right & cut[place]
    return records[leaving], (np.cumsum(cut) - 1)[place[leaving]], cut


# --- grouping ---------------------------------------------------------------------------------------------------------
_MANY_LEFT = 0.9
"""A deal of which fewer groups than that are left after the merges is tried again with larger groups; regions stay small."""


def group_records(
    problem: GroupingProblem, *, rng: np.random.Generator, group_size: int = 1, locality: bool = False
) -> Groups:
    """A group for each record such that every group keeps the model, or InfeasibleModel.

    Groups have at least `group_size` records. With `locality`, records of a group are near each other in their quasi-identifiers.
    """
    check_feasible(problem)
    # Dealt by the attribute whose commonest value is the most common.
    ordered = replace(problem, sensitive=tuple(sorted(problem.sensitive, key=lambda attribute: -attribute.highest)))
    count = most_groups(ordered, smallest=group_size)
    settled = _attempt(ordered, count, rng=rng, locality=locality)
    if not locality and len(settled.valid) < _MANY_LEFT * count:
        # Many groups had to merge, so they were too small: a size between what was dealt and what was left on average.
        dealt, left = len(problem) // count, len(problem) // len(settled.valid)
        coarser = most_groups(ordered, smallest=max(group_size, dealt + 1, (dealt + left) // 2))
        again = _attempt(ordered, coarser, rng=rng, locality=False)
        settled = max(settled, again, key=_merit)
    if not locality:
        settled = _with_more_groups(ordered, problem.as_one, settled, rng=rng, group_size=group_size)
    if settled.valid.all():
        return _renumbered(settled.group, rng)
    if gamma_is_certain(problem):
        raise InternalError("the grouping breaks a model that can be kept")
    return _last_resort(problem, rng, group_size)


_SPARES = tuple(Fraction(share) for share in ("0", "1/100", "3/100", "1/10", "1/4"))
"""By how much room for the commonest tuples is to exceed what they need: less gives more groups, more leaves swaps a choice."""
_MANY_RECORDS = 200_000
"""Above that, one plan is tried."""


def _with_more_groups(
    problem: GroupingProblem, whole: WholeTable, settled: Grouped, *, rng: np.random.Generator, group_size: int
) -> Grouped:
    """Groups of several sizes, where those of one size are fewer than the counts allow; what was found before, if that is no better.

    A small table is grouped in all ways.
    """
    found = len(settled.valid)
    if settled.valid.all() and found >= at_most(whole, group_size=group_size, found=found):
        return settled
    if len(problem) <= SMALL:
        best = search_all(problem, group_size=min(group_size, len(problem)), rng=rng)
        return settled if best is None else Grouped(best, np.ones(int(best.max()) + 1, dtype=np.bool_))
    for spare in _SPARES if len(problem) <= _MANY_RECORDS else _SPARES[1:2]:
        plan = plan_groups(whole, group_size=group_size, spare=spare)
        if plan is None or (settled.valid.all() and len(plan) <= len(settled.valid)):
            break
        dealt = planned_deal(problem, plan, rng=rng)
        if settled.valid.all() and not _deal_keeps(problem, dealt, len(plan)):
            break
        repaired = repair(problem.bound, dealt, groups=len(plan), rng=rng)
        settled = max(settled, merge(problem.bound, repaired, rng=rng), key=_merit)
    return settled


def _deal_keeps(problem: GroupingProblem, dealt: Groups, groups: int) -> bool:
    """Most groups keep beta and delta of the attribute that was dealt by. Swaps do not mend these, so the others would have to merge."""
    loose = replace(problem.model, alpha=Fraction(1), gamma=Fraction(1))
    by_value = replace(problem, model=loose, tables=(), sensitive=problem.sensitive[:1])
    kept = by_value.measure(dealt, groups=groups).keeps(loose)
    return bool(kept.mean() >= _MANY_LEFT)


def _merit(grouped: Grouped) -> tuple[bool, int]:
    return bool(grouped.valid.all()), len(grouped.valid)


def _attempt(problem: GroupingProblem, count: int, *, rng: np.random.Generator, locality: bool) -> Grouped:
    """Deal to so many groups (with regions, to groups of that size), swap, and merge."""
    region = _regions(problem, len(problem) // count) if locality else None
    if region is None:
        dealt = balanced_deal(problem, count, rng=rng)
    else:
        groups = np.bincount(region) // (len(problem) // count)
        count, dealt = int(groups.sum()), deal(problem, groups=groups, rng=rng, region=region)
    repaired = repair(problem.bound, dealt, groups=count, rng=rng, region=region)
    return merge(problem.bound, repaired, rng=rng, region=region)


def _regions(problem: GroupingProblem, size: int) -> Groups:
    """Cells of similar records that keep the model as one group, and beta and delta when dealt to groups of `size` records."""
    attribute = problem.sensitive[0]

    def allowed(cell: Ints, records: Ints, cells: int) -> Bools:
        levels = problem.measure(cell, groups=cells, records=records)
        ranked = tally(cell, attribute.ids[records], groups=cells, values=len(attribute.totals))
        groups = np.maximum(levels.sizes // size, 1)
        deals = deals_keep(ranked, levels.sizes, groups, problem, totals=attribute.prior)
        return deals & (levels.sizes >= size) & levels.keeps(problem.model)

    columns = [name for names in problem.names for name in names]
    return mondrian(problem.rows, columns, allowed=allowed)


def _last_resort(problem: GroupingProblem, rng: np.random.Generator, group_size: int) -> Groups:
    """Try everything on a small table; otherwise say which gamma goes with the other bounds."""
    every_grouping = len(problem) <= SMALL and group_size == 1
    if every_grouping and (found := search_all(problem, rng=rng)) is not None:
        return _renumbered(found, rng)
    loose = replace(problem, model=replace(problem.model, gamma=Fraction(1)))
    reached = loose.measure(group := group_records(loose, rng=rng), groups=int(group.max()) + 1).worst().gamma
    reached = min(reached, problem.as_one.levels.gamma)
    because = f"gamma is {problem.model.gamma}; groups that keep the other bounds reach {reached}"
    raise InfeasibleModel(problem, because, gamma=reached, proved=every_grouping or at_most(problem.as_one) == 0)


def _renumbered(group: Groups, rng: np.random.Generator) -> Groups:
    """The same groups under random numbers: a number says nothing about how its group came about."""
    return rng.permutation(int(group.max()) + 1).astype(np.int32)[group]


# --- beside what is out already ---------------------------------------------------------------------------------------
# Whoever holds an earlier release too sees joint groups: the records of a group that have one class there. If every joint group keeps the
# model, the joint groups are themselves a grouping that keeps it, and each lies within one class. So nothing is lost by grouping each
# class by itself, and where a class cannot be grouped, no grouping of the table keeps the model together with what is out.
@dataclass(frozen=True, eq=False)
class Within:
    """The class of each record in what is out already."""

    ids: Codes = field(repr=False)
    """From 0."""
    names: Sequence[str] = field(repr=False)
    """What each class is called."""


def group_within(
    problem: GroupingProblem,
    within: Within,
    group_class: Callable[[GroupingProblem], Groups],
    *,
    rng: np.random.Generator,
) -> Groups:
    """The records of each class grouped by themselves; shares are still held against those of the whole table."""
    rows, classes = problem.rows, arrays.lay_out(within.ids, len(within.names))
    sensitive = [attribute.name for attribute in problem.sensitive]
    totals = {
        name: SensitiveTotals(rows.domain(name), np.bincount(rows.column(name), minlength=len(rows.domain(name))))
        for name in sensitive
    }
    known: dict[str, Any] = {"tables": problem.names, "sensitive": sensitive, "model": problem.model, "totals": totals}
    found = np.empty(len(problem), dtype=np.int32)
    count, obstacles = 0, dict[str, InfeasibleModel]()
    for number, name in enumerate(within.names):
        members = classes.members[classes.start[number] : classes.start[number + 1]]
        try:
            group = group_class(problem_of(rows.take(members), **known))
        except InfeasibleModel as error:
            obstacles[name] = error
            continue
        found[members] = group + count
        count += int(group.max()) + 1
    if obstacles:
        raise _none_within(problem, obstacles, len(within.names))
    return rng.permutation(count).astype(np.int32)[found]


def _none_within(problem: GroupingProblem, obstacles: Mapping[str, InfeasibleModel], classes: int) -> InfeasibleModel:
    """What is in the way of the classes that cannot be grouped, and the bounds that all of them can keep."""
    name, first = next(iter(obstacles.items()))
    nearest = first.nearest
    for error in obstacles.values():
        nearest = nearest.worst(error.nearest)
    nearest = nearest.worst(Reached(problem.model.alpha, problem.model.beta, problem.model.gamma, problem.model.delta))
    told = (
        f"groups that keep it together with what is out already lie within its classes, and {len(obstacles):,} of {classes:,} cannot be "
        f"grouped, such as {name!r}: {first.because}"
    )
    proved = any(error.proved for error in obstacles.values())
    return InfeasibleModel(
        problem, told, proved=proved, nearest=nearest, hint="Leave these people out, or loosen a bound"
    )
