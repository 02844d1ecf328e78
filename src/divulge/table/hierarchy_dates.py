# SPDX-License-Identifier: Apache-2.0
"""Levels of a column of dates or times: day, month, quarter, year, decade.

Each period is made of whole ones of those before it (weeks are not among them: a week may lie in two months). A time keeps the day
that it writes; it is not moved to another time zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from divulge.errors import BadInput, nearest

PERIODS: Mapping[str, Callable[[dt.date], str]] = {
    "day": lambda day: f"{day.year:04d}-{day.month:02d}-{day.day:02d}",
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10:03d}0s",
}
"""From fine to coarse: how a date is written."""


@dataclass(frozen=True)
class Dates:
    """One period on each level."""

    periods: tuple[str, ...]
    format: str | None = None
    """How the dates are written (as strptime reads it); ISO if not given."""

    def __post_init__(self) -> None:
        order = list(PERIODS)
        if not self.periods:
            raise BadInput("dates = [] names no period", hint=f"Name some of: {', '.join(order)}")
        for period in self.periods:
            if period not in PERIODS:
                raise BadInput(f"{period!r} is not a period of dates", hint=nearest(str(period), order))
        for fine, coarse in pairwise(self.periods):
            if order.index(fine) >= order.index(coarse):
                raise BadInput(
                    f"{coarse!r} is not coarser than {fine!r}", hint=f"From fine to coarse: {', '.join(order)}"
                )

    @property
    def levels(self) -> int:
        """One for each period."""
        return len(self.periods)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The period that holds the date, on each level."""
        day = parse_date(text, self.format)
        return None if day is None else tuple(PERIODS[period](day) for period in self.periods)


def parse_date(text: str, format_: str | None = None) -> dt.date | None:
    """The date that a text writes; None where it writes none.

    >>> parse_date("2024-02-29"), parse_date("29.02.2024", "%d.%m.%Y"), parse_date("2023-02-29")
    (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29), None)
    """
    try:
        read = dt.datetime.fromisoformat(text) if format_ is None else dt.datetime.strptime(text, format_)  # noqa: DTZ007
    except ValueError:
        return None
    return read.date()
