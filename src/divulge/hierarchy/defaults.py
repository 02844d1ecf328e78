# SPDX-License-Identifier: Apache-2.0
"""A hierarchy when none is given: a rule chosen from the values, with its reason, to be shown before it is used.

What comes back is the same table of keys that a user would write, so it can be read, copied into a policy and changed. Numbers get
ranges, codes their prefixes, dates their periods, categories their most frequent values; a few values get nothing but suppression.
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

from divulge.hierarchy.builders import PERIODS, parse_date
from divulge.values import as_number, as_text, number_text, toml_key, toml_value

_FEW = 3
"""So many values or fewer are not worth a level between themselves and suppression."""
_RANGES = 20
"""About how many ranges the finest level has."""
_LONGEST_CODE = 12
_CODE = re.compile(r"[A-Za-z]{0,3}[0-9][A-Za-z0-9.\- ]*")
_POSTAL = re.compile(r"zip|postal|postcode|plz|postleitzahl", re.IGNORECASE)
_SHARES_KEPT = (0.95, 0.6)
"""Of all people, how many belong to the categories that keep their name, on each level."""


@dataclass(frozen=True)
class Suggestion:
    """A rule for one column, and why."""

    column: str
    spec: Mapping[str, Any]
    reason: str

    def toml(self) -> str:
        """As it would stand in a policy file."""
        lines = [f"{key} = {toml_value(value)}" for key, value in self.spec.items()]
        return "\n".join([f"[hierarchies.{toml_key(self.column)}]  # {self.reason}", *lines])


def suggest_hierarchy(column: str, values: Sequence[Any], counts: Sequence[int]) -> Suggestion:
    """Choose the rule of a column from its distinct values and how many people have each.

    >>> suggest_hierarchy("zip", ["47677", "47602", "47905", "47909"], [2, 1, 1, 1]).spec
    {'prefix': True}
    """
    people = {value: n for value, n in zip(values, counts, strict=True) if value is not None}
    texts = {str(as_text(value)): n for value, n in people.items()}
    if len(texts) <= _FEW:
        noun = "value" if len(texts) == 1 else "values"
        return Suggestion(column, {"suppress": True}, f"{len(texts)} {noun}: kept or suppressed")
    days = [parse_date(text) for text in texts]
    if all(day is not None for day in days) and not _are_numbers(people):
        return _of_dates(column, [day for day in days if day is not None])
    if _are_numbers(people) and not _POSTAL.search(column):
        return _of_numbers(column, texts)
    if all(_CODE.fullmatch(text) and len(text) <= _LONGEST_CODE for text in texts):
        longest = max(map(len, texts))
        return Suggestion(column, {"prefix": True}, f"codes of up to {longest} characters: hidden from the right")
    return _of_categories(column, texts)


def _are_numbers(values: Mapping[Any, int]) -> bool:
    return all(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def _of_dates(column: str, days: Sequence[dt.date]) -> Suggestion:
    """The periods that join more dates than the one before, and not all of them; quarters are left to those who want them."""
    useful: list[str] = []
    groups = len(days)
    for period, write in PERIODS.items():
        joined = len({write(day) for day in days})
        if 1 < joined < groups and period != "quarter":
            useful.append(period)
            groups = joined
    spec: dict[str, Any] = {"dates": useful} if useful else {"suppress": True}
    return Suggestion(column, spec, f"dates from {min(days)} to {max(days)}")


def _of_numbers(column: str, texts: Mapping[str, int]) -> Suggestion:
    """About twenty ranges over the middle 98 % of people, then twice as wide on each level; what lies outside is coded."""
    known = sorted((number, n) for text, n in texts.items() if (number := as_number(text)) is not None)
    if not known:
        return Suggestion(column, {"suppress": True}, "no finite number")
    low, high = _quantile(known, 0.01), _quantile(known, 0.99)
    span = high - low or Fraction(1)
    whole = all(number.denominator == 1 for number, _ in known)
    narrowest = max(_round_up(span / _RANGES), Fraction(2) if whole else Fraction(0))
    widths = [narrowest]
    while widths[-1] * 4 <= span:
        widths.append(widths[-1] * 2)
    spec: dict[str, Any] = {"intervals": [_plain(width) for width in widths]}
    floor, ceiling = low // widths[-1] * widths[-1], (high // widths[-1] + 1) * widths[-1]
    if known[0][0] < floor:
        spec["bottom"] = _plain(floor)
    if known[-1][0] >= ceiling:
        spec["top"] = _plain(ceiling)
    return Suggestion(column, spec, f"numbers from {number_text(known[0][0])} to {number_text(known[-1][0])}")


def _quantile(known: Sequence[tuple[Fraction, int]], share: float) -> Fraction:
    wanted = share * sum(n for _, n in known)
    seen = accumulate(n for _, n in known)
    return next(number for (number, _), reached in zip(known, seen, strict=True) if reached >= wanted)


def _round_up(width: Fraction) -> Fraction:
    """The least of 1, 2, 5, 10, 20, 50, ... (also 0.1, 0.2, ...) that is not below."""
    digits = len(str(width.numerator)) - len(str(width.denominator))
    below = Fraction(10) ** (digits - 1)
    return next(below * factor for factor in (1, 2, 5, 10, 20, 50, 100) if below * factor >= width)


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _of_categories(column: str, texts: Mapping[str, int]) -> Suggestion:
    """The most frequent values keep their name as long as at least two others share the rest."""
    ranked = sorted(texts, key=lambda text: (-texts[text], text))
    total = sum(texts.values())
    kept: list[list[str]] = []
    for share in _SHARES_KEPT:
        needed = sum(reached < share * total for reached in accumulate(texts[text] for text in ranked)) + 1
        most = (len(kept[-1]) if kept else len(ranked) - 1) - 1
        if names := ranked[: min(needed, most)]:
            kept.append(names)
    spec: dict[str, Any] = {"keep": kept}
    if "(other)" in texts:
        spec["rest"] = "(all others)"
    return Suggestion(column, spec, f"{len(texts)} categories: the most frequent keep their name")
