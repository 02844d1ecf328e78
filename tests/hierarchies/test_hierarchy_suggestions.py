# SPDX-License-Identifier: Apache-2.0
"""Defaults: the suggested rule of a column and its reason, which can be copied into a policy."""

from __future__ import annotations

import datetime as dt
import tomllib
from typing import Any

import pytest

from divulge.hierarchies import Suggestion, build_hierarchy, suggest_hierarchy

EDUCATION = {
    "HS-grad": 60,
    "Bachelors": 20,
    "Masters": 10,
    "Doctorate": 6,
    "9th": 3,
    "Preschool": 1,
}


def suggest(column: str, values: list[Any], counts: list[int] | None = None) -> Suggestion:
    return suggest_hierarchy(column, values, counts or [1] * len(values))


def test_ages_get_nested_round_ranges_and_a_rare_end_is_coded() -> None:
    # 99 of 100 people are under 80: the middle 98 % go from 17 to 79, a twentieth of that is 3.1,
    # the next round width 5.
    ages = list(range(17, 80))
    counted = suggest("age", [*ages, 95], [2] * len(ages) + [1])
    assert counted.spec == {"intervals": [5, 10, 20], "top": 80}
    assert counted.reason == "numbers from 17 to 95"


def test_without_rare_ends_ranges_have_no_open_end() -> None:
    assert suggest("age", list(range(18, 98))).spec == {"intervals": [5, 10, 20]}


def test_fractions_get_fractional_widths() -> None:
    assert suggest("share", [i / 100 for i in range(101)]).spec["intervals"][0] == 0.05


def test_whole_numbers_get_no_range_of_one() -> None:
    assert suggest("children", [0, 1, 2, 3, 4]).spec == {"intervals": [2]}


def test_codes_are_hidden_from_the_right() -> None:
    assert suggest("zip", ["47677", "47602", "47905", "47909"]).spec == {"prefix": True}
    assert suggest("icd", ["E11.9", "I25", "J45.0", "E10"]).spec == {"prefix": True}


def test_numbers_in_a_column_named_like_a_postcode_are_codes() -> None:
    assert suggest("PLZ", [10115, 10117, 20095, 80331]).spec == {"prefix": True}
    assert "intervals" in suggest("income", [10115, 10117, 20095, 80331]).spec


def test_dates_get_the_periods_that_join_some_and_not_all() -> None:
    births = [dt.date(1950 + i, 1 + i % 12, day) for i in range(30) for day in (1, 2)]
    assert suggest("birth", births).spec == {"dates": ["month", "decade"]}
    visits = [
        dt.datetime(2024, month, 1, hour, tzinfo=dt.UTC) for month in (1, 2) for hour in (8, 9)
    ]
    assert suggest("visit", visits).spec == {"dates": ["day"]}
    assert suggest("day", ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]).spec == {
        "suppress": True
    }


def test_frequent_categories_keep_their_name() -> None:
    # 60 + 20 + 10 + 6 = 96 of 100 people; then only the 60.
    found = suggest("education", list(EDUCATION), list(EDUCATION.values()))
    assert found.spec == {"keep": [["HS-grad", "Bachelors", "Masters", "Doctorate"], ["HS-grad"]]}


def test_the_label_of_the_rest_is_not_a_value() -> None:
    found = suggest("x", ["Ann", "Bob", "(other)", "Eve"], [9, 5, 4, 1])
    assert found.spec["rest"] != "(other)"
    assert build_hierarchy("x", found.spec, ["Ann", "Bob", "(other)", "Eve"]).height == 3


@pytest.mark.parametrize("values", [[True, False], ["f", "m", None], [1, 2, 3], [None], []])
def test_few_values_are_kept_or_suppressed(values: list[Any]) -> None:
    assert suggest("x", values).spec == {"suppress": True}


@pytest.mark.parametrize("column", ["education", "level of education"])
def test_a_suggestion_can_be_copied_into_a_policy(column: str) -> None:
    found = suggest(column, list(EDUCATION), list(EDUCATION.values()))
    assert tomllib.loads(found.toml()) == {"hierarchies": {column: found.spec}}
