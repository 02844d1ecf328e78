# SPDX-License-Identifier: Apache-2.0
"""Estimates from anatomized releases: the paper's example, and all arrangements of small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.queries import Estimate
from divulge.queries.anatomized import group_sql
from tests.anatomization.arranged import (
    Asked,
    Row,
    Rows,
    conditions,
    conjunctions,
    disjunctions,
    exact_averages,
    exact_sum,
    groups_drawn,
    tables_of,
)
from tests.anatomization.literature import expected

TABLE_3 = [
    pa.table(
        {
            "GID": [1, 1, 1, 1, 2, 2, 2, 2],
            "Age": [30, 33, 45, 42, 32, 44, 30, 33],
            "Zipcode": [11100, 12200, 12200, 11100, 25300, 23200, 11100, 12200],
            "Count": [1, 1, 1, 1, 1, 1, 1, 1],
        }
    ),
    pa.table(
        {
            "GID": [1, 1, 1, 1, 2, 2, 2],
            "Gender": ["F", "M", "F", "M", "M", "M", "F"],
            "Job": ["Teacher", "Engineer", "Engineer", "Teacher", "Doctor", "Police", "Doctor"],
            "Count": [1, 1, 1, 1, 2, 1, 1],
        }
    ),
    pa.table(
        {
            "GID": [1, 1, 1, 2, 2, 2, 2],
            "Salary": [4500, 6000, 4700, 6700, 4000, 6400, 6000],
            "Count": [2, 1, 1, 1, 1, 1, 1],
        }
    ),
]
"""Table 3 of Yao et al. 2021 as printed."""

QUESTION = "Age > 30 AND Job = 'Doctor' AND Salary = 6700"


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    """Share one engine among all examples, because starting one takes longer than a query."""
    started = DuckDBEngine()
    yield started
    started.close()


def without_groups(tables: list[pa.Table]) -> list[pa.Table]:
    """Build table 4 of the paper: the tables of table 3 as one group."""
    return [table.set_column(0, "GID", pa.array([1] * table.num_rows)) for table in tables]


def test_the_papers_query_gives_nine_sixteenths() -> None:
    found = dv.query(TABLE_3, QUESTION)
    assert found.estimate == Fraction(expected("5.1-query-grouped"))
    assert (found.low, found.high) == (0.0, 1.0)


def test_without_groups_it_gives_nine_thirty_seconds() -> None:
    assert dv.query(without_groups(TABLE_3), QUESTION).estimate == Fraction(
        expected("5.1-query-ungrouped")
    )


def test_one_table_alone_answers_exactly() -> None:
    found = dv.query(TABLE_3, "age > 30 and zipcode = 12200")
    assert found == Estimate("count", 3.0, 3.0, 3.0)


def test_a_count_over_two_tables_has_bounds() -> None:
    # Group 2 has 3 of 4 above 30 and 3 of 4 Doctors: 9/4 on average, at least 2 are both.
    found = dv.query(TABLE_3, "age > 30 and job = 'Doctor'")
    assert found.estimate == 2.25
    assert (found.low, found.high) == (2.0, 3.0)


def sql_value(column: str) -> Callable[[Row], Any]:
    return lambda row: row[column]


@given(groups=groups_drawn, asked=conjunctions)
@settings(deadline=None, max_examples=40)
def test_a_conjunction_has_the_mean_and_range_of_all_arrangements(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked
) -> None:
    found, exact = (
        dv.query(tables_of(groups, engine), asked.sql),
        exact_sum(groups, lambda row: asked.holds(row) is True),
    )
    assert found.estimate == pytest.approx(float(exact.mean), abs=1e-9)
    assert (found.low, found.high) == (exact.low, exact.high)


@given(groups=groups_drawn, asked=disjunctions)
@settings(deadline=None, max_examples=40)
def test_a_disjunction_has_the_mean_and_range_of_all_arrangements(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked
) -> None:
    found, exact = (
        dv.query(tables_of(groups, engine), asked.sql),
        exact_sum(groups, lambda row: asked.holds(row) is True),
    )
    assert found.estimate == pytest.approx(float(exact.mean), abs=1e-9)
    assert (found.low, found.high) == (exact.low, exact.high)


@given(groups=groups_drawn, asked=conditions)
@settings(deadline=None, max_examples=40)
def test_any_condition_has_the_exact_mean_and_bounds_that_hold(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked
) -> None:
    found, exact = (
        dv.query(tables_of(groups, engine), asked.sql),
        exact_sum(groups, lambda row: asked.holds(row) is True),
    )
    assert found.estimate == pytest.approx(float(exact.mean), abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= exact.low + 1e-9
    assert found.high >= exact.high - 1e-9


@given(
    groups=groups_drawn,
    asked=conjunctions,
    column=st.sampled_from("abcds"),
    shift=st.integers(-2, 1),
)
@settings(deadline=None, max_examples=40)
def test_a_sum_has_the_mean_and_range_of_all_arrangements(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked, column: str, shift: int
) -> None:
    def value(row: Row) -> int:
        return row[column] + shift if asked.holds(row) is True and row[column] is not None else 0

    found, exact = (
        dv.query(tables_of(groups, engine), asked.sql, total=f"{column} + {shift}"),
        exact_sum(groups, value),
    )
    assert found.estimate == pytest.approx(float(exact.mean), abs=1e-9)
    assert (found.low, found.high) == (exact.low, exact.high)


@given(groups=groups_drawn, asked=conditions)
@settings(deadline=None, max_examples=40)
def test_a_sum_over_several_tables_has_the_exact_mean_and_bounds_that_hold(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked
) -> None:
    def value(row: Row) -> int:
        return row["a"] * row["c"] - row["s"] if asked.holds(row) is True else 0

    found, exact = (
        dv.query(tables_of(groups, engine), asked.sql, total="a * c - s"),
        exact_sum(groups, value),
    )
    assert found.estimate == pytest.approx(float(exact.mean), abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= exact.low + 1e-9
    assert found.high >= exact.high - 1e-9


@given(
    groups=st.lists(groups_drawn.map(lambda groups: groups[0]), min_size=1, max_size=2),
    asked=conjunctions,
)
@settings(deadline=None, max_examples=40)
def test_the_bounds_of_an_average_are_the_extreme_averages(
    engine: DuckDBEngine, groups: list[Rows], asked: Asked
) -> None:
    averages = exact_averages(groups, asked.holds, sql_value("a"))
    found = dv.query(tables_of(groups, engine), asked.sql, average="a")
    if not averages:
        assert found == Estimate("average", None, None, None)
        return
    assert found.low == pytest.approx(float(min(averages)), abs=1e-9)
    assert found.high == pytest.approx(float(max(averages)), abs=1e-9)
    counted = exact_sum(groups, lambda row: asked.holds(row) is True)
    summed = exact_sum(groups, lambda row: row["a"] if asked.holds(row) is True else 0)
    assert found.estimate == pytest.approx(float(summed.mean / counted.mean), abs=1e-9)


def test_columns_named_like_sql_keywords_can_be_queried() -> None:
    odd = {
        "GID": [1, 1, 2, 2],
        "f0": [1, 2, 3, 4],
        "select": [1, 1, 2, 2],
        "g": [5, 6, 7, 8],
        'w"x': [1, 2, 1, 2],
    }
    other = {"GID": [1, 1, 2, 2], "c": [1, 2, 3, 4], "x": [4, 3, 2, 1], "n": [0, 0, 1, 1]}
    tables = [pa.table(odd), pa.table(other)]
    assert dv.query(tables, 'f0 > 2 AND "select" = 2 AND g > 6 AND "w""x" = 1').estimate == 1.0
    assert (
        dv.query(tables, "f0 < x").estimate == 2.0
    )  # group 1: {1, 2} below {4, 3}; group 2: none of {3, 4} below {2, 1}


def test_a_query_is_one_sql_statement() -> None:
    from divulge.api.opened import OpenedAnatomized
    from divulge.queries.condition import parse, split_by_table

    opened = dv.open_release(TABLE_3)
    assert isinstance(opened, OpenedAnatomized)
    published = opened.answers.published
    asked = parse(QUESTION, published.columns)
    terms = split_by_table(asked.tree, published.table_index)
    sql = group_sql(published, terms, terms.tables)
    assert published.engine.query(sql).to_pylist() == [
        {
            "g": sql_any,
            "n": 4,
            "c0": 3,
            "x0": sql_any,
            "c1": 3,
            "x1": sql_any,
            "c2": 1,
            "x2": sql_any,
            "v": 1.0,
        }
    ]


class _Anything:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    __hash__ = None  # type: ignore[assignment]


sql_any = _Anything()


@pytest.mark.parametrize("asked", ["Job > 3", "Age = 'old'", "lower(Age) = 'x'", "Age"])
def test_a_condition_that_does_not_fit_the_columns_is_an_input_error(asked: str) -> None:
    with pytest.raises(BadInput) as refused:
        dv.query(TABLE_3, asked)
    assert "\n" not in str(refused.value)


def test_a_sum_and_an_average_in_one_query_are_rejected() -> None:
    with pytest.raises(BadInput, match="both"):
        dv.query(TABLE_3, total="Age", average="Age")


def test_a_sum_of_values_that_are_not_finite_numbers_is_rejected() -> None:
    with pytest.raises(BadInput):
        dv.query(TABLE_3, total="Job")
    with pytest.raises(BadInput, match="infinite"):
        dv.query(TABLE_3, total="1e308 * Age * 1e308")
