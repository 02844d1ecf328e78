# SPDX-License-Identifier: Apache-2.0
"""The model and its levels: Table 3 of Yao et al. 2021, exactness, and an independent checker."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, Division, GroupLevels, Reached
from divulge.anatomization.problem import problem_of
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, as_lists, drawn
from tests.anatomization.literature import (
    PEOPLE,
    TABLE_3,
    expected,
    grouped,
    levels,
    problem_1,
    table_1,
)
from tests.anatomization.records import all_record_levels, record_levels

NAMES = ("alpha", "beta", "gamma", "delta")


def table_3() -> Anatomized:
    """The paper's published table."""
    problem = problem_1()
    division = Division(problem.names)
    return Anatomized(
        method="given",
        rows=table_1(),
        division=division,
        sensitive=("Salary",),
        group=grouped(TABLE_3),
        model=AlphaBetaGammaDelta(),
        settings={},
        seed=0,
        problem=problem,
    )


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("alpha-Table3", "alpha"),
        ("def2-beta", "beta"),
        ("def3-gamma", "gamma"),
        ("def4-delta", "delta"),
    ],
)
def test_levels_of_table_3(case: str, name: str) -> None:
    assert getattr(table_3().levels, name) == Fraction(expected(case))


def test_levels_of_each_group_of_table_3() -> None:
    found = table_3().group_levels
    for number, texts in enumerate(expected("levels-per-group").values()):
        for name, text in texts.items():
            assert getattr(found.of_group(number), name) == Fraction(text)
    assert found.of_group(1).gamma == Fraction(expected("5.2-presence-g2"))


def test_levels_of_the_whole_table() -> None:
    assert problem_1().whole_table.levels == levels(expected("whole-table-levels"))


def test_published_tables_are_the_division_and_then_the_sensitive_attribute() -> None:
    assert table_3().tables == (("Age", "Zipcode"), ("Gender", "Job"), ("Salary",))


@pytest.mark.parametrize("group", range(2))
def test_record_linkage_is_the_share_of_reconstructions(group: int) -> None:
    """Definition 1 by enumeration: all 24 ways to pair the rows of the two tables of a group."""
    found = table_3()
    members = np.flatnonzero(found.group == group).tolist()
    second = found.problem.tables[1].ids
    ways = list(permutations(members))
    for place, record in enumerate(members):
        right = sum(second[way[place]] == second[record] for way in ways)
        assert record_levels(found, record).alpha == Fraction(right, len(ways))


def test_levels_of_alice() -> None:
    alice = record_levels(table_3(), PEOPLE.index("Alice"))
    assert alice.alpha == Fraction(expected("def1-alpha-Alice"))
    assert (alice.beta, alice.gamma, alice.delta) == (
        Fraction(1, 2),
        Fraction(1, 32),
        Fraction(1, 4),
    )


def test_levels_of_all_records_agree_with_those_of_each() -> None:
    found = table_3()
    together = all_record_levels(found)
    for record in range(len(PEOPLE)):
        one = record_levels(found, record)
        for name in NAMES:
            assert together[name][record] == pytest.approx(float(getattr(one, name)), abs=1e-15)


def test_no_record_is_above_the_release() -> None:
    found = table_3()
    for record in range(len(PEOPLE)):
        one = record_levels(found, record)
        assert all(getattr(one, name) <= getattr(found.levels, name) for name in NAMES)


@settings(deadline=None)
@given(drawn(most=9, tables=3), st.data())
def test_levels_agree_with_the_definitions(table: Drawn, data: st.DataObject) -> None:
    group = _random_groups(table, data)
    problem = problem_of(
        table.codes, tables=table.tables, sensitive=table.sensitive, model=table.model
    )
    found = problem.measure(group, groups=int(group.max()) + 1)
    kept = found.satisfies(table.model).tolist()
    for number in range(len(found)):
        members = np.flatnonzero(group == number).tolist()
        one = found.of_group(number)
        assert (one.alpha, one.beta, one.gamma, one.delta) == table.levels(members)
        assert kept[number] == table.satisfies(members)
    worst = [
        max(column)
        for column in zip(*(table.levels(members) for members in as_lists(group)), strict=True)
    ]
    assert found.worst() == Reached(*worst)


def _random_groups(table: Drawn, data: st.DataObject) -> Any:
    size = len(table.rows)
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return np.unique(np.array(numbers), return_inverse=True)[1].astype(np.int32)


def test_gamma_is_exact_beyond_64_bits() -> None:
    """Ten tables, 10^7 of 2 10^7 records alike in each: 2^-10 / 2, numerator 10^77.

    A slightly lower bound is violated.
    """
    half = np.array([10**7, 1])
    found = GroupLevels(2 * 10**7 + 2, np.array([2 * 10**7, 2]), (half,) * 10, (half,), (half * 0,))
    exact = Fraction(1, 2**11)
    assert found.worst().gamma == exact
    assert found.satisfies_gamma(AlphaBetaGammaDelta(gamma=exact)).all()
    assert not found.satisfies_gamma(AlphaBetaGammaDelta(gamma=exact - Fraction(1, 10**60))).any()


def test_bounds_are_compared_in_whole_numbers() -> None:
    """Floats would fail for 1/3 of 3 and 0.1 of 10."""
    one = np.array([1])
    found = GroupLevels(30, np.array([10]), (one,), (one,), (one * 0,))
    assert found.satisfies(AlphaBetaGammaDelta(alpha=0.1, beta="1/10")).all()
    assert not found.satisfies(AlphaBetaGammaDelta(alpha="0.0999999999999999999999")).any()


def test_n_is_exact() -> None:
    assert AlphaBetaGammaDelta(beta="1/49", delta=1).records_per_group == expected("float-N")
    assert AlphaBetaGammaDelta(beta="1/2", delta=0.25).records_per_group == 4
    assert AlphaBetaGammaDelta(delta=0).records_per_group is None


@pytest.mark.parametrize("text", ["0.25", "1/4", "25e-2", "2/8"])
def test_a_bound_is_read_as_the_number_it_shows(text: str) -> None:
    assert AlphaBetaGammaDelta(alpha=text).alpha == Fraction(1, 4)


@pytest.mark.parametrize(
    "wrong", ["", "a quarter", "1/0", "-0.1", "1.5", float("nan"), float("inf"), True, None]
)
def test_values_that_are_no_probability_are_rejected(wrong: Any) -> None:
    with pytest.raises(BadInput, match="beta"):
        AlphaBetaGammaDelta(beta=wrong)


def test_broken_bounds_are_named() -> None:
    model = AlphaBetaGammaDelta(alpha="1/4", beta="1/2", gamma="1/64", delta="1/4")
    assert model.broken_by(table_3().levels) == ("alpha", "gamma")
    assert not model.allows(table_3().levels)
    assert model.allows(problem_1().whole_table.levels)
