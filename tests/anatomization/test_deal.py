# SPDX-License-Identifier: Apache-2.0
"""Round-robin assignment: certified bounds hold, for the table and by region; layout of groups."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.model import GroupTally
from divulge.anatomization.problem import GroupingProblem, problem_of
from divulge.anatomization.record_grouping import (
    assign_balanced,
    assign_round_robin,
    assignment_satisfies_bounds,
    most_groups,
)
from divulge.arrays import lay_out, stable_order
from tests.anatomization.checker import random_table
from tests.anatomization.literature import CASES

COUNTS = st.lists(st.integers(1, 12), min_size=1, max_size=8).map(
    lambda counts: np.array(sorted(counts)[::-1])
)
BOUNDS = st.fractions(min_value=0, max_value=1, max_denominator=30)


def by_values(counts: Any, **bounds: Any) -> GroupingProblem:
    """Records in which only a sensitive value matters."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    rows = rows_of({"q": range(len(values)), "s": values})
    return problem_of(rows, tables=[["q"]], sensitive=["s"], model=AlphaBetaGammaDelta(**bounds))


def test_deal_of_3_1_1_1() -> None:
    case = CASES["002-eligibility-3111"]
    counts, size = np.array(case["inputs"]["sa_counts"]), case["inputs"]["N"]
    problem = by_values(counts, beta=Fraction(1, size), delta=Fraction(1, size))
    assert most_groups(problem) == 3
    found = assign_round_robin(problem, groups=np.array([3]), rng=np.random.default_rng(0))
    assert sorted(found.tolist()) == sorted(case["expected"]["circular_deal"])
    assert sorted(found[:3].tolist()) == [0, 1, 2]
    assert sorted(found[3:].tolist()) == [0, 1, 2]


@settings(deadline=None)
@given(COUNTS, st.data())
def test_each_group_gets_its_share_of_each_value(counts: Any, data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, int(counts.sum())))
    problem = by_values(counts)
    found = assign_round_robin(problem, groups=np.array([groups]), rng=np.random.default_rng(0))
    rows = int(counts.sum())
    assert set(np.bincount(found, minlength=groups).tolist()) <= {
        rows // groups,
        -(-rows // groups),
    }
    values = problem.rows.column("s")
    for value, count in enumerate(counts.tolist()):
        of_value = np.bincount(found[values == value], minlength=groups)
        assert set(of_value.tolist()) <= {count // groups, -(-count // groups)}


@settings(deadline=None)
@given(COUNTS, BOUNDS, BOUNDS)
def test_a_deal_that_is_certified_keeps_beta_and_delta(
    counts: Any, beta: Fraction, delta: Fraction
) -> None:
    assume(counts.max() <= beta * int(counts.sum()))
    problem = by_values(counts, beta=beta, delta=delta)
    groups = most_groups(problem)
    levels = problem.measure(
        assign_round_robin(problem, groups=np.array([groups]), rng=np.random.default_rng(1)),
        groups=groups,
    )
    assert levels.satisfies(problem.model).all()


@settings(deadline=None)
@given(COUNTS, st.integers(1, 9))
def test_assignment_reaches_the_most_groups_without_repeated_values(counts: Any, size: int) -> None:
    """Groups of at least N records without a repeated value exist exactly if H <= n // N.

    Then there are n // N of them.
    """
    rows, bound = int(counts.sum()), Fraction(1, size)
    assume(counts.max() <= rows // size)
    assert most_groups(by_values(counts, beta=bound, delta=bound)) >= rows // size


@settings(deadline=None)
@given(st.integers(2, 9), st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 99))
def test_a_balanced_deal_spreads_the_commonest_tuple_evenly(
    groups: int, carriers: list[int], seed: int
) -> None:
    """Each value has a record in every group, so counts of x can differ by one at most."""
    cells = [
        (value, "x" if place < many else str(place))
        for value, many in enumerate(carriers)
        for place in range(groups)
    ]
    rows = rows_of({"q": [cell for _, cell in cells], "s": [value for value, _ in cells]})
    model = AlphaBetaGammaDelta(alpha="1/10")
    problem = problem_of(rows, tables=[["q"]], sensitive=["s"], model=model)
    found = assign_balanced(problem, groups, rng=np.random.default_rng(seed))
    for value in range(len(carriers)):
        assert sorted(found[rows.column("s") == value].tolist()) == list(range(groups))
    has = np.array([cell == "x" for _, cell in cells])
    assume(2 * has.sum() > model.alpha * len(cells))
    assume(has.sum() > len(carriers))  # otherwise another tuple may be as common
    assert np.ptp(np.bincount(found[has], minlength=groups)) <= 1


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_a_balanced_deal_is_a_deal(seed: int, groups: int) -> None:
    table = random_table(120, seed=seed)
    model = AlphaBetaGammaDelta(alpha="1/3")
    problem = problem_of(table.codes, tables=table.tables, sensitive=["s"], model=model)
    found = assign_balanced(problem, groups, rng=np.random.default_rng(seed))
    assert set(np.bincount(found, minlength=groups).tolist()) <= {120 // groups, -(-120 // groups)}
    for value, count in enumerate(problem.sensitive[0].totals.tolist()):
        of_value = np.bincount(found[problem.sensitive[0].ids == value], minlength=groups)
        assert set(of_value.tolist()) <= {count // groups, -(-count // groups)}


@settings(deadline=None)
@given(st.integers(0, 10**6), st.fractions(min_value=0, max_value=1, max_denominator=30))
def test_groups_have_room_for_the_commonest_tuples(seed: int, alpha: Fraction) -> None:
    table = random_table(60, seed=seed)
    problem = problem_of(
        table.codes, tables=table.tables, sensitive=["s"], model=AlphaBetaGammaDelta(alpha=alpha)
    )
    assume(problem.whole_table.levels.alpha <= alpha)
    groups = most_groups(problem)
    sizes = [60 // groups + (number < 60 % groups) for number in range(groups)]
    assert max(problem.most_common_counts) <= sum(math.floor(alpha * size) for size in sizes)


@settings(deadline=None)
@given(COUNTS, BOUNDS, BOUNDS, st.data())
def test_regions_are_certified_as_they_are_dealt(
    counts: Any, beta: Fraction, delta: Fraction, data: st.DataObject
) -> None:
    """Two regions, each assigned by itself; delta is measured against the whole table."""
    problem = by_values(counts, beta=beta, delta=delta)
    rows = len(problem)
    region = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)), dtype=np.int64
    )
    sizes = np.bincount(region, minlength=2)
    assume(sizes.min() > 0)
    groups = np.array([data.draw(st.integers(1, int(size))) for size in sizes])
    ids = problem.sensitive[0].ids
    cells = sorted(Counter(zip(region.tolist(), ids.tolist(), strict=True)).items())
    ranked = GroupTally(
        2, *(np.array(column) for column in zip(*((r, v, n) for (r, v), n in cells), strict=True))
    )
    certified = assignment_satisfies_bounds(
        ranked, sizes, groups, problem, totals=problem.sensitive[0].totals
    )
    found = assign_round_robin(problem, groups=groups, rng=np.random.default_rng(2), region=region)
    kept = problem.measure(found, groups=int(groups.sum())).satisfies(problem.model)
    first = [0, int(groups[0])]
    for number in range(2):
        mine = kept[first[number] : first[number] + int(groups[number])]
        assert set(np.unique(found[region == number]).tolist()) == set(
            range(first[number], first[number] + len(mine))
        )
        if certified[number]:
            assert mine.all()


@given(st.lists(st.integers(0, 5), max_size=30), st.booleans())
def test_stable_order(ids: list[int], many: bool) -> None:  # noqa: FBT001
    codes = np.array(ids, dtype=np.int32)
    count = 2**15 + 1 if many else 6
    assert stable_order(codes, count).tolist() == sorted(range(len(ids)), key=lambda i: ids[i])


def test_members_of_groups_are_gathered() -> None:
    layout = lay_out(np.array([1, 0, 1, 2], dtype=np.int32), 3)
    records, place = layout.gather(np.array([2, 1]))
    assert (records.tolist(), place.tolist()) == ([3, 0, 2], [0, 1, 1])
