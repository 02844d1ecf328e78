# SPDX-License-Identifier: Apache-2.0
"""Limits that decide what is published, met exactly and missed by one."""

from __future__ import annotations

from typing import Any

import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.policy import guard
from divulge.policy.uniqueness import Uniqueness, _rounded_up, checked_unique_share, name_columns
from divulge.sources import Column

# --- columns that look like identifiers -----------------------------------------------------------


@pytest.mark.parametrize(
    ("filled", "distinct", "nearly_unique"),
    [
        (20, 19, True),
        (20, 18, False),
        (19, 19, False),
        (20, 20, True),
        (40, 38, True),
        (40, 37, False),
    ],
)
def test_values_are_nearly_unique_from_20_cells_and_95_percent_on(
    *, filled: int, distinct: int, nearly_unique: bool
) -> None:
    assert guard.Facts(50, filled, distinct).nearly_unique is nearly_unique


@pytest.mark.parametrize(
    ("distinct", "repeats"),
    [(0, False), (1, False), (2, True), (37, True), (38, False), (40, False)],
)
def test_values_repeat_if_there_are_two_and_fewer_than_95_percent(
    *, distinct: int, repeats: bool
) -> None:
    assert guard.Facts(40, 40, distinct).repeats is repeats


@pytest.mark.parametrize(
    ("rows", "filled", "distinct", "objected"),
    [
        (5, 0, 0, False),
        (5, 5, 1, False),  # one value in all rows
        (1, 1, 1, True),
        (5, 1, 1, True),  # one number in an otherwise empty column
        (5, 4, 1, False),  # one value that repeats
        (2, 2, 2, True),
        (19, 19, 2, True),
        (20, 20, 2, False),  # two values that repeat, such as yes and no
        (20, 20, 3, True),
        (20, 2, 2, True),
    ],
)
def test_a_name_that_names_a_person_counts_unless_values_repeat_as_flags_do(
    *, rows: int, filled: int, distinct: int, objected: bool
) -> None:
    why = guard.identifies(Column("ssn", "VARCHAR", "text"), guard.Facts(rows, filled, distinct))
    assert bool(why) is objected


@pytest.mark.parametrize(
    ("rows", "filled", "distinct", "objected"),
    [
        (300, 3, 2, True),  # two numbers of persons, one of them twice
        (300, 19, 1, True),  # a person with 19 rows
        (300, 20, 1, False),
        (300, 39, 2, True),
        (300, 40, 2, False),
        (30, 15, 2, False),
        (30, 14, 2, True),
    ],
)
def test_a_few_numbers_in_an_otherwise_empty_column_are_no_flags(
    *, rows: int, filled: int, distinct: int, objected: bool
) -> None:
    facts = guard.Facts(rows, filled, distinct)
    assert bool(guard.identifies(Column("mrn", "BIGINT", "number"), facts)) is objected
    assert guard.identifies(Column("email", "VARCHAR", "text"), facts) == ""  # such as yes


def test_numbered_rows_are_told_from_ages_by_the_name() -> None:
    eight = guard.Facts(8, 8, 8, whole=True, counts_up=True)
    assert guard.identifies(Column("position", "BIGINT", "number"), eight) == "numbers the rows"
    assert guard.identifies(Column("age", "BIGINT", "number"), eight) == ""


# --- people who are unique ------------------------------------------------------------------------
def uniqueness(unique: int, **more: Any) -> Uniqueness:
    """Return the uniqueness of 100 people, one of whom is unique by the quasi-identifiers unless
    given otherwise.
    """
    fields: dict[str, Any] = {
        "k": 1,
        "by_quasi_identifiers": 1,
        "with_sensitive": unique,
        "of": 100,
    } | more
    return Uniqueness(("zip",), ("job",), (), unique=unique, **fields)


def test_a_share_is_exceeded_by_more_people_only() -> None:
    assert not uniqueness(1).exceeds(0.01)
    assert uniqueness(2).exceeds(0.01)
    assert not uniqueness(29).exceeds(0.29)  # 0.29 * 100 is a little less than 29 in floats
    assert not uniqueness(0).exceeds(0)
    assert uniqueness(1).exceeds(0)


@pytest.mark.parametrize(
    ("unique", "by_quasi_identifiers", "required", "warns"),
    [
        (2, 1, None, True),
        (1, 0, None, False),  # 1% is usual
        (2, 2, None, False),  # k bounds these
        (2, 1, 0.5, False),  # a requirement limits it
    ],
)
def test_a_warning_is_about_people_whom_the_other_columns_make_unique(
    *, unique: int, by_quasi_identifiers: int, required: float | None, warns: bool
) -> None:
    found = uniqueness(unique, by_quasi_identifiers=by_quasi_identifiers, required=required)
    assert found.warns is warns
    assert bool(found.warning) is warns


@pytest.mark.parametrize(("required", "allows_more"), [(None, False), (0.01, False), (0.011, True)])
def test_a_requirement_is_repeated_if_it_allows_more_than_usual(
    *, required: float | None, allows_more: bool
) -> None:
    assert bool(uniqueness(1, required=required).allowance) is allows_more


@pytest.mark.parametrize(
    ("by_quasi_identifiers", "unique", "text"),
    [
        (
            0,
            0,
            (
                "k = 2 for an adversary who knows zip; none of 100 people is unique for one who "
                "also "
                "knows job"
            ),
        ),
        (
            0,
            1,
            (
                "k = 2 for an adversary who knows zip; 1 of 100 people (1%) is unique for one "
                "who "
                "also knows job"
            ),
        ),
        (
            0,
            2,
            (
                "k = 2 for an adversary who knows zip; 2 of 100 people (2%) are unique for one "
                "who "
                "also knows job"
            ),
        ),
        (
            1,
            2,
            (
                "k = 2 for an adversary who knows zip (1 of 100 people (1%) is unique); "
                "2 of 100 people (2%) are unique for one who also knows job"
            ),
        ),
    ],
)
def test_a_sentence_counts_unique_people(by_quasi_identifiers: int, unique: int, text: str) -> None:
    assert uniqueness(unique, by_quasi_identifiers=by_quasi_identifiers, k=2).text == text


def test_six_columns_are_named_and_more_are_counted() -> None:
    assert name_columns([]) == "no column"
    assert name_columns(["a"]) == "a"
    assert name_columns(list("abcdef")) == "a, b, c, d, e and f"
    assert name_columns(list("abcdefg")) == "a, b, c, d, e and 2 other columns"


@pytest.mark.parametrize(
    ("share", "proposed"), [(0.12, 0.12), (0.121, 0.13), (0.99, 0.99), (0.991, None), (1.0, None)]
)
def test_a_requirement_that_the_table_meets_is_proposed_in_hundredths(
    share: float, proposed: float | None
) -> None:
    assert _rounded_up(share) == proposed


# --- numbers in a policy --------------------------------------------------------------------------
def test_the_ends_of_a_share_are_allowed() -> None:
    assert [checked_unique_share(share) for share in (None, 0, 0.999)] == [None, 0.0, 0.999]
    for share in (-0.001, 1, 1.001, True):
        with pytest.raises(BadInput, match="unique_share"):
            checked_unique_share(share)
    assert [dv.Policy(k_anonymity=2, suppression=share).suppression for share in (0, 1)] == [
        0.0,
        1.0,
    ]
    for share in (-0.001, 1.001):
        with pytest.raises(BadInput, match="suppression"):
            dv.Policy(k_anonymity=2, suppression=share)


def test_a_bound_of_zero_is_allowed_where_a_table_can_meet_it() -> None:
    (requirement,) = dv.Policy(t_closeness=0).promises
    assert requirement.bound == 0
    with pytest.raises(BadInput, match="below 0"):
        dv.Policy(t_closeness=-0.001)
