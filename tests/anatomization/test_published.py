# SPDX-License-Identifier: Apache-2.0
"""Releases read back: exact levels from the tables, and errors for tables that do not match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.anatomization import AlphaBetaGammaDelta, Slppa
from divulge.anatomization import tables as measured
from divulge.anatomization.methods import anatomize
from divulge.anatomization.tables import build_released_tables
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import QUASI_IDENTIFIERS, expected, table_1
from tests.helpers import group_check_of
from tests.queries.test_query import TABLE_3, without_groups

FOUR = ("alpha", "beta", "gamma", "delta")


def test_table_3_has_the_levels_of_the_errata() -> None:
    found = group_check_of(TABLE_3, sensitive="Salary", beta="99/100")
    assert found.levels.alpha == Fraction(expected("alpha-Table3"))
    assert found.levels.beta == Fraction(expected("def2-beta"))
    assert found.levels.gamma == Fraction(expected("def3-gamma"))
    assert found.levels.delta == Fraction(expected("def4-delta"))
    assert (found.groups, found.smallest, found.largest) == (2, 4, 4)
    assert found.holds


def test_the_whole_table_as_one_group_has_the_golden_levels() -> None:
    assert group_check_of(
        without_groups(TABLE_3), sensitive="Salary", beta="99/100"
    ).levels.texts() == expected("whole-table-levels")


@pytest.mark.parametrize(
    ("bounds", "holds", "breaking"),
    [
        ({"beta": "1/2"}, True, 0),
        ({"beta": "49/100"}, False, 1),
        ({"alpha": "1/4", "delta": "1/5"}, False, 2),
    ],
)
def test_bounds_are_checked_for_every_group(
    bounds: dict[str, Any],
    holds: bool,  # noqa: FBT001
    breaking: int,
) -> None:
    found = group_check_of(TABLE_3, sensitive="Salary", **bounds)
    assert (found.holds, found.breaking) == (holds, breaking)


@pytest.mark.parametrize(
    ("groups", "type_"),
    [
        ((-128, 127), pa.int8()),
        ((1, 255), pa.uint8()),
        ((-(2**15), -(2**15) + 1), pa.int16()),
        ((2**64 - 2, 2**64 - 1), pa.uint64()),
        ((-(2**63), 2**63 - 1), pa.int64()),
        ((2**63 - 2, 2**63 - 1), pa.int64()),
    ],
)
def test_groups_may_have_any_whole_numbers(groups: tuple[int, int], type_: pa.DataType) -> None:
    """Two groups of two and three: 1/2 of the first is x, 2/3 of the second.

    U is 1 of 2 and 2 of 3, and 3/5 of all.
    """
    numbers = pa.array([groups[0]] * 2 + [groups[1]] * 3, type_)
    first = pa.table({"GID": numbers, "job": ["x", "y", "x", "x", "y"]})
    second = pa.table(
        {"GID": numbers.take(pa.array([4, 3, 2, 1, 0])), "salary": ["u", "u", "v", "v", "u"]}
    )
    found = group_check_of([first, second], sensitive="salary", beta="99/100")
    assert found.levels.texts() == {"alpha": "2/3", "beta": "2/3", "gamma": "4/9", "delta": "1/10"}
    others = second.set_column(0, "GID", pa.array([7, 7, 7, 8, 8], pa.int8()))
    with pytest.raises(BadInput, match="do not have the same groups"):
        dv.check([first, others], sensitive="salary", beta="99/100")


@given(seed=st.integers(0, 2**32), tables=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_released_tables_have_the_levels_of_the_grouping(seed: int, tables: int) -> None:
    model = AlphaBetaGammaDelta(alpha="3/4", beta="1/2", delta="1/2")
    found = anatomize(
        table_1(),
        Slppa(model, tables=tables),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive="Salary",
        seed=seed,
    )
    made = [table.rows for table in build_released_tables(found, secret=seed).tables]
    assert group_check_of(made, sensitive="Salary", beta="99/100").levels == found.levels


@settings(deadline=None, max_examples=60)
@given(table=drawn(most=9), data=st.data(), piece=st.integers(1, 12))
def test_levels_need_only_the_tables(table: Drawn, data: st.DataObject, piece: int) -> None:
    """Rows with counts, in random order.

    Whole groups are measured together, for any number of rows at a time.
    """
    assume(any(bound != 1 for bound in table.bounds))
    size = len(table.rows)
    group = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    made = [
        counted(table, columns, group)
        for columns in (*table.tables, *((name,) for name in table.sensitive))
    ]
    groups = [[i for i in range(size) if group[i] == number] for number in sorted(set(group))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "_PIECE", piece)
        named = zip(FOUR, table.bounds, strict=True)
        # a bound of 1 is rejected
        bounds: dict[str, Any] = {name: bound for name, bound in named if bound != 1}
        found = group_check_of(made, sensitive=table.sensitive, **bounds)
    worst = [
        max(column) for column in zip(*(table.levels(members) for members in groups), strict=True)
    ]
    assert [getattr(found.levels, name) for name in FOUR] == worst
    assert (found.groups, found.breaking) == (
        len(groups),
        sum(not table.satisfies(members) for members in groups),
    )
    assert (found.smallest, found.largest) == (min(map(len, groups)), max(map(len, groups)))


def counted(table: Drawn, columns: Sequence[str], group: Sequence[int]) -> pa.Table:
    """The published form of some columns."""
    pairs = zip(group, table.rows, strict=True)
    tuples = Counter((number, *(row[name] for name in columns)) for number, row in pairs)
    rows = [
        {"GID": key[0], **dict(zip(columns, key[1:], strict=True)), "Count": n}
        for key, n in tuples.items()
    ]
    return pa.Table.from_pylist(sorted(rows, key=str, reverse=True))


def change(place: int, **columns: list[Any]) -> list[pa.Table]:
    tables = list(TABLE_3)
    tables[place] = pa.table(columns)
    return tables


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        (change(2, GID=[1, 2], Salary=[1, 2], Count=[4, 3]), "group 2 has 4 records"),
        (change(2, GID=[1, 3], Salary=[1, 2], Count=[4, 4]), "same groups"),
        (change(2, GID=[1, 2, 3], Salary=[1, 2, 3], Count=[4, 4, 1]), "same groups"),
        (change(2, GID=[1, None], Salary=[1, 2], Count=[4, 4]), "lack a group"),
        (change(2, GID=[1, 2, 2], Salary=[1, 2, 3], Count=[4, 4, 0]), "whole number"),
        (change(2, GID=[1, 2], Salary=[1, 2], Count=[4.0, 3.5]), "whole number"),
        (change(2, GID=[1, 2], Salary=[1, 2], Count=[4, None]), "whole number"),
        (change(2, Group=[1, 2], Salary=[1, 2]), "no group column 'GID'"),
        (change(2, GID=[1, 2], Salary=[1, 2], Age=[1, 2], Count=[4, 4]), "'Age' is in"),
        (
            change(2, GID=[1, 2], Salary=[1, 2], Sex=["F", "M"], Count=[4, 4]),
            "in one table with 'Sex'",
        ),
        (
            change(2, GID=[1, 2], Wage=[1, 2], Count=[4, 4]),
            "no table of the release has the sensitive column",
        ),
        (change(2, GID=[1, 2], Count=[4, 4]), "no columns but the group"),
        ([], "without tables"),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(tables: list[pa.Table], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        dv.check(tables, sensitive="Salary")


def test_third_party_release_needs_a_sensitive_column() -> None:
    with pytest.raises(BadInput, match="not known which column"):
        dv.check(TABLE_3)


def test_other_names_for_group_and_count() -> None:
    renamed = [table.rename_columns({"GID": "bucket", "Count": "n"}) for table in TABLE_3]
    assert group_check_of(
        renamed, sensitive="Salary", group="bucket", count="n", beta="99/100"
    ).levels.beta == Fraction(1, 2)
    assert dv.query(renamed, "Salary = 4500", group="bucket", count="n").estimate == 2.0
