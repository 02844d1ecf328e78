# SPDX-License-Identifier: Apache-2.0
"""Rolling up works on the counts alone and equals counting the generalized table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Contingency, Domain, count
from divulge.errors import BadInput
from divulge.sources import resolve_roles
from tests.metrics.drawn import arrow, opened, rows

SENSITIVE = ["disease", "dose"]
DECADES = {20: "young", 30: "old", None: "unknown"}


def counted(table: pa.Table, keys: list[str], **roles: Any) -> Contingency:
    source = opened(table)
    return count(
        source, resolve_roles(source, quasi_identifiers=keys, sensitive=SENSITIVE, **roles)
    )


def same(left: Contingency, right: Contingency) -> None:
    """Assert equal counts, except for values of the domain that no class has any more."""
    assert [left.class_key(i) for i in range(len(left))] == [
        right.class_key(i) for i in range(len(right))
    ]
    assert left.sizes.tolist() == right.sizes.tolist()
    assert (left.rows, left.people) == (right.rows, right.people)
    for name, cells in left.cells.items():
        other = right.cells[name]
        assert cells.domain.labels == other.domain.labels
        assert (cells.start.tolist(), cells.value.tolist()) == (
            other.start.tolist(),
            other.value.tolist(),
        )
        assert cells.mass.tolist() == pytest.approx(other.mass.tolist())


@given(rows(), st.sampled_from([["zip"], ["age"], ["age", "zip"], ["zip", "age"]]))
@settings(deadline=None, max_examples=40)
def test_fewer_columns(drawn: list[dict[str, Any]], columns: list[str]) -> None:
    same(counted(arrow(drawn), ["zip", "age"]).roll_up(columns), counted(arrow(drawn), columns))


def coarser(contingency: Contingency) -> tuple[Any, Domain]:
    """Generalize ages to words."""
    ages = contingency.keys[[key.name for key in contingency.keys].index("age")].labels
    names = sorted({DECADES[age] for age in ages})
    return np.array([names.index(DECADES[age]) for age in ages]), Domain(
        "age", pa.array(names), "text"
    )


@given(rows(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_generalized_values(drawn: list[dict[str, Any]], alone: bool) -> None:  # noqa: FBT001 - drawn, not passed by people
    fine = counted(arrow(drawn), ["zip", "age"])
    words = [row | {"age": DECADES[row["age"]]} for row in drawn]
    keys = ["age"] if alone else ["zip", "age"]
    same(
        fine.roll_up(keys, coarser={"age": coarser(fine)}),
        counted(arrow(words, age=pa.string()), keys),
    )


def test_weights_are_rolled_up() -> None:
    table = pa.table(
        {
            "zip": [1, 1, 2],
            "age": [1, 2, 1],
            "disease": list("xyx"),
            "dose": [1, 1, 2],
            "w": [1.5, 2.5, 10],
        }
    )
    rolled = counted(table, ["zip", "age"], weight="w").roll_up(["zip"])
    assert rolled.population is not None
    assert rolled.population.tolist() == [4, 10]
    same(rolled, counted(table, ["zip"], weight="w"))


def test_no_column_is_one_class() -> None:
    table = pa.table({"zip": [1, 2], "age": [1, 2], "disease": ["x", "y"], "dose": [1, 1]})
    rolled = counted(table, ["zip", "age"]).roll_up([])
    assert (len(rolled), rolled.sizes.tolist(), rolled.class_key(0)) == (1, [2], {})
    assert rolled.cells["disease"].of_class(0) == {0: 1, 1: 1}


def test_the_counts_rolled_up_are_not_changed() -> None:
    table = pa.table({"zip": [1, 2], "age": [1, 2], "disease": ["x", "y"], "dose": [1, 1]})
    fine = counted(table, ["zip", "age"])
    fine.roll_up([])
    assert (len(fine), fine.sizes.tolist()) == (2, [1, 1])


@pytest.mark.parametrize(
    "request_", [{"columns": ["zap"]}, {"coarser": {"zap": (np.array([0]), None)}}]
)
def test_unknown_columns_raise_an_error(request_: dict[str, Any]) -> None:
    table = pa.table({"zip": [1], "age": [1], "disease": ["x"], "dose": [1]})
    with pytest.raises(
        BadInput, match=r"'zap' is not among the counted columns.*did you mean 'zip'"
    ):
        counted(table, ["zip", "age"]).roll_up(**request_)


def test_sums_of_whole_numbers_are_exact() -> None:
    """Counts near 2^53 go through integers, not floats."""
    fine = Contingency(
        keys=(Domain("q", pa.array([0, 1]), "number"),),
        codes=(np.array([0, 1]),),
        sizes=np.array([2**53, 1]),
        cells={},
        rows=2**53 + 1,
        people=2**53 + 1,
    )
    assert fine.roll_up([]).sizes.tolist() == [2**53 + 1]
