# SPDX-License-Identifier: Apache-2.0
"""The prior of the original table: suppressed rows, several attributes, people, weights, types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.errors import BadInput
from divulge.metrics import conditions_of
from tests.metrics.drawn import arrow, measured, rows


def test_the_original_with_rows_that_were_suppressed() -> None:
    """Half of the original people have cancer, none of the published; the prior keeps the half."""
    original = pa.table({"age": list("abcd"), "disease": ["Cancer", "Cancer", "flu", "flu"]})
    published = pa.table({"age": ["x", "x"], "disease": ["flu", "flu"]})
    found = measured(published, quasi_identifiers="age", sensitive="disease", original=original)
    assert found.settings["prior"] == {"disease": "original"}
    assert found["surprise"].value == 1
    assert found["values_ruled_out"].value == 1
    assert found["delta_disclosure"].value == float("inf")
    # Everything published is flu: no generalization leaves any uncertainty, with any prior.
    assert found["l_max"].value == 1
    # Figures of the published table itself do not depend on the prior.
    assert (found["mutual_information"].value, found["discrimination_rate"].value) == (0, 0)
    assert measured(published, quasi_identifiers="age", sensitive="disease")["surprise"].value == 0


def test_the_original_of_several_attributes_and_of_both_together() -> None:
    original = pa.table({"d": ["x", "x", "y", "y"], "e": [1, 2, 1, 2]})
    published = pa.table({"q": [0, 0], "d": ["x", "y"], "e": [1, 2]})
    found = measured(
        published, quasi_identifiers="q", sensitive=["d", "e"], joint=True, original=original
    )
    assert [found.sensitive[name]["surprise"].value for name in ("d", "e", "d + e")] == [0, 0, 1]
    assert found.sensitive["d + e"]["values_ruled_out"].value == 2


def test_the_original_counts_people_where_the_table_does() -> None:
    """Ann's three rows are one person, before and after."""
    original = pa.table({"who": ["Ann", "Ann", "Ann", "Bob"], "d": ["x", "x", "x", "y"]})
    published = pa.table({"who": ["Ann", "Bob"], "q": [0, 0], "d": ["x", "y"]})
    found = measured(
        published, quasi_identifiers="q", sensitive="d", person="who", original=original
    )
    assert found["surprise"].value == 0


def test_the_original_is_weighted_where_the_table_is() -> None:
    original = pa.table({"d": ["x", "y"], "w": [3.0, 1.0]})
    published = pa.table({"q": [0, 0], "d": ["x", "y"], "w": [3.0, 1.0]})
    found = measured(published, quasi_identifiers="q", sensitive="d", weight="w", original=original)
    assert found["t_closeness"].value == 0
    assert found["alpha"].value == 0.75


@pytest.mark.parametrize("type_", [pa.date32(), pa.string(), pa.float64()])
def test_an_original_of_another_type_is_refused(type_: pa.DataType) -> None:
    values = {pa.date32(): [0], pa.string(): ["x"], pa.float64(): [2.5]}[type_]
    published = pa.table({"q": [0, 0], "d": [1, 2]})
    with pytest.raises(BadInput, match="column 'd' has type int64 in one table and"):
        measured(
            published,
            quasi_identifiers="q",
            sensitive="d",
            original=pa.table({"d": pa.array(values, type_)}),
        )


def test_whole_numbers_may_come_as_floats() -> None:
    published = pa.table({"q": [0, 0], "d": [1, 2]})
    found = measured(
        published, quasi_identifiers="q", sensitive="d", original=pa.table({"d": [1.0, 2.0]})
    )
    assert found["surprise"].value == 0


def test_an_original_without_the_attribute_is_refused() -> None:
    with pytest.raises(
        BadInput, match=r"the original table .* has no column 'disease'.*did you mean 'diseases'"
    ):
        measured(
            pa.table({"age": ["a"], "disease": ["x"]}),
            quasi_identifiers="age",
            sensitive="disease",
            original=pa.table({"diseases": ["x"]}),
        )


@given(
    rows(most=12),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.floats(0.05, 2),
    st.floats(1, 2.5),
)
@settings(deadline=None, max_examples=40)
def test_one_prior_for_all_numbers_of_an_answer(
    drawn: list[dict[str, Any]], weights: list[int], t: float, l_value: float
) -> None:
    """No average exceeds its worst class, with any prior.

    A bound that every class meets is met by the average.
    """
    left_out = [
        drawn[0] | {"disease": name}
        for name, n in zip(("cancer", "flu", "other"), weights, strict=True)
        for _ in range(n)
    ]
    found = measured(
        arrow(drawn),
        quasi_identifiers=["zip", "age"],
        sensitive="disease",
        original=arrow([*drawn, *left_out]),
    )
    assert found["average_surprise"].value <= found["surprise"].value + 1e-9
    assert found["entropy_l_diversity"].value <= found["l_max"].value + 1e-9
    told = conditions_of(found, "disease", t=t, l_value=l_value)
    assert told.necessary or not told.sufficient
