# SPDX-License-Identifier: Apache-2.0
"""Suggested rules for columns without a hierarchy, chosen from their values.

A suggestion is a table of keys, as a user would write it: it can be read, copied into a policy and
changed. Its reason is shown before the rule is used. Numbers get ranges, codes prefixes, dates
periods, and categories their most frequent values. Columns with few values get suppression only.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from numbers import Number
from typing import Any

from divulge.arguments import Sentence, outside
from divulge.hierarchies.builders import PERIODS, parse_date
from divulge.text import as_number, as_text, number_text, toml_key, toml_value

_FEW_VALUES = 3
"""The largest number of values that get no level between the values and suppression."""
_RANGE_COUNT = 20
"""The approximate number of ranges on the finest level."""
_LONGEST_CODE = 12
_CODE = re.compile(r"[A-Za-z]{0,3}[0-9][A-Za-z0-9.\- ]*")
_POSTAL = re.compile(r"zip|postal|postcode|plz|postleitzahl", re.IGNORECASE)
_SHARES_KEPT = (0.95, 0.6)
"""The share of people in the categories that keep their name, by level."""


@dataclass(frozen=True)
class Suggestion:
    """A suggested rule for one column, with its reason."""

    column: str
    spec: Mapping[str, Any]
    reason: str

    def toml(self) -> str:
        """The suggestion as a table of a policy file."""
        lines = [f"{key} = {toml_value(value)}" for key, value in self.spec.items()]
        return "\n".join([f"[hierarchies.{toml_key(self.column)}]  # {self.reason}", *lines])


def suggest_hierarchy(column: str, values: Sequence[Any], counts: Sequence[int]) -> Suggestion:
    """Choose the rule of a column from its distinct values and how many people have each.

    >>> suggest_hierarchy("zip", ["47677", "47602", "47905", "47909"], [2, 1, 1, 1]).spec
    {'prefix': True}
    """
    people = {value: n for value, n in zip(values, counts, strict=True) if value is not None}
    texts = {str(as_text(value)): n for value, n in people.items()}
    if len(texts) <= _FEW_VALUES:
        if len(texts) == 1:
            noun = "value"
        else:
            noun = "values"
        return Suggestion(column, {"suppress": True}, f"{len(texts)} {noun}: kept or suppressed")
    days = [parse_date(text) for text in texts]
    if all(day is not None for day in days) and not _are_numbers(people):
        return _suggest_periods(column, [day for day in days if day is not None])
    if _are_numbers(people) and not _POSTAL.search(column):
        return _suggest_intervals(column, texts)
    if all(_CODE.fullmatch(text) and len(text) <= _LONGEST_CODE for text in texts):
        longest = max(map(len, texts))
        return Suggestion(
            column, {"prefix": True}, f"codes of up to {longest} characters: hidden from the right"
        )
    return _suggest_frequent_values(column, texts)


def _are_numbers(values: Mapping[Any, int]) -> bool:
    return all(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def _suggest_periods(column: str, days: Sequence[dt.date]) -> Suggestion:
    """Suggest the periods that merge more dates than the period before, but not all of them.

    Quarters are never suggested.
    """
    periods: list[str] = []
    previous_count = len(days)
    for period, write in PERIODS.items():
        period_count = len({write(day) for day in days})
        if 1 < period_count < previous_count and period != "quarter":
            periods.append(period)
            previous_count = period_count
    if periods:
        spec: dict[str, Any] = {"dates": periods}
    else:
        spec = {"suppress": True}
    return Suggestion(
        column, spec, Sentence(f"dates from {outside(min(days))} to {outside(max(days))}")
    )


def _suggest_intervals(column: str, texts: Mapping[str, int]) -> Suggestion:
    """Suggest about twenty ranges over the middle 98% of people, twice as wide on each level.

    Numbers outside are top or bottom coded.
    """
    numbers = sorted(
        (number, n) for text, n in texts.items() if (number := as_number(text)) is not None
    )
    if not numbers:
        return Suggestion(column, {"suppress": True}, "no finite number")
    low = _quantile(numbers, 0.01)
    high = _quantile(numbers, 0.99)
    span = high - low or Fraction(1)
    all_integers = all(number.denominator == 1 for number, _ in numbers)
    narrowest = max(_round_up(span / _RANGE_COUNT), Fraction(2) if all_integers else Fraction(0))
    widths = [narrowest]
    while widths[-1] * 4 <= span:
        widths.append(widths[-1] * 2)
    spec: dict[str, Any] = {"intervals": [_int_or_float(width) for width in widths]}
    floor = low // widths[-1] * widths[-1]
    ceiling = (high // widths[-1] + 1) * widths[-1]
    if numbers[0][0] < floor:
        spec["bottom"] = _int_or_float(floor)
    if numbers[-1][0] >= ceiling:
        spec["top"] = _int_or_float(ceiling)
    low_text = outside(number_text(numbers[0][0]))
    high_text = outside(number_text(numbers[-1][0]))
    return Suggestion(column, spec, Sentence(f"numbers from {low_text} to {high_text}"))


def _quantile(numbers: Sequence[tuple[Fraction, int]], share: float) -> Fraction:
    target = share * sum(n for _, n in numbers)
    cumulative = accumulate(n for _, n in numbers)
    return next(
        number
        for (number, _), cumulative_count in zip(numbers, cumulative, strict=True)
        if cumulative_count >= target
    )


def _round_up(width: Fraction) -> Fraction:
    """The smallest of 1, 2, 5, 10, 20, 50, ... (also 0.1, 0.2, ...) that is at least `width`."""
    digits = len(str(width.numerator)) - len(str(width.denominator))
    power_of_ten = Fraction(10) ** (digits - 1)
    return next(
        power_of_ten * factor
        for factor in (1, 2, 5, 10, 20, 50, 100)
        if power_of_ten * factor >= width
    )


def _int_or_float(number: Fraction) -> int | float:
    if number.denominator == 1:
        return int(number)
    return float(number)


def _suggest_frequent_values(column: str, texts: Mapping[str, int]) -> Suggestion:
    """Suggest the most frequent values as named categories; at least two others share the rest."""
    ranked = sorted(texts, key=lambda text: (-texts[text], text))
    total = sum(texts.values())
    names_by_level: list[list[str]] = []
    for share in _SHARES_KEPT:
        needed_count = (
            sum(
                cumulative_count < share * total
                for cumulative_count in accumulate(texts[text] for text in ranked)
            )
            + 1
        )
        limit = (len(names_by_level[-1]) if names_by_level else len(ranked) - 1) - 1
        if names := ranked[: min(needed_count, limit)]:
            names_by_level.append(names)
    spec: dict[str, Any] = {"keep": names_by_level}
    if "(other)" in texts:
        spec["rest"] = "(all others)"
    return Suggestion(column, spec, f"{len(texts)} categories: the most frequent keep their name")
