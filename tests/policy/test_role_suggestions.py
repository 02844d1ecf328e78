# SPDX-License-Identifier: Apache-2.0
"""Suggested roles at their limits: columns of one value, nulls, weights and rates."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import divulge as dv


def role(name: str, values: list[Any]) -> str:
    return str(dv.profile(pa.table({name: values}))[name].role)


@pytest.mark.parametrize(
    ("values", "suggested"),
    [
        (["x"] * 8, "plain"),
        (["x"] * 4 + [None] * 4, "quasi_identifier"),
        (["x"] * 4 + ["y"] * 4, "quasi_identifier"),
    ],
)
def test_a_column_of_one_value_and_no_null_separates_nobody(
    values: list[Any], suggested: str
) -> None:
    """Null and x separate as x and y do: one of log2(8) = 3 bits."""
    assert role("xq", values) == suggested


def test_a_column_of_nulls_separates_nobody() -> None:
    assert str(dv.profile(pa.table({"xq": pa.nulls(8, pa.string())}))["xq"].role) == "plain"


def test_only_numbers_are_survey_weights() -> None:
    """The words of a text column are judged by what they separate: 1 of 4 bits."""
    assert role("fnlwgt", [1.5, 2.5] * 8) == "weight"
    assert role("fnlwgt", ["high", "low"] * 8) == "quasi_identifier"


@pytest.mark.parametrize(("others", "suggested"), [(1, "leave_out"), (2, "quasi_identifier")])
def test_a_column_that_separates_five_percent_is_a_quasi_identifier(
    others: int, suggested: str
) -> None:
    """If 1 of 40 differs the entropy is 0.169 bits, 3.2% of log2(40); if 2 differ, 5.4%."""
    assert role("xq", ["a"] * (40 - others) + ["b"] * others) == suggested


def test_a_quasi_identifier_by_name_states_what_it_separates() -> None:
    profile = dv.profile(pa.table({"district": ["a", "b"] * 8}))
    assert profile["district"].reason == (
        "others may know it of a person; it gives 25% of the bits that name one"
    )
