# SPDX-License-Identifier: Apache-2.0
"""Right guesses of a value: exact, within a distance, or in several tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.arguments import arg, arg_name
from divulge.arrays import Floats, Ints
from divulge.counting import Cells, Domain
from divulge.errors import BadInput

# Defines a right guess of a value: the exact value, a number near it, or one of several tries.
# These are gain functions of quantitative information flow (Alvim et al. 2012). The gain of a guess
# is 1 if it is right and 0 otherwise. The vulnerability of a class is the largest expected gain of
# a guess. Any number may be a guess of a number, any date a guess of a date. "Within 5" means that
# the value lies in the window from 5 below the guess to 5 above it. Several tries are right if one
# of them is.
_MICROSECONDS_PER_DAY = 24 * 60 * 60 * 1_000_000
_WINDOW_TOLERANCE = 1e-9
"""Relative tolerance of the window: as floats, 0.1 + 0.2 is not within 0.3 of 0."""


def tries_by_attribute(raw: Any) -> dict[str, int]:
    """Check the number of tries by attribute; a number may be a text."""
    counts = _numbers_by_attribute("tries", raw)
    for attribute, count in counts.items():
        if count is None or count < 1 or not count.is_integer():
            raise BadInput(
                f"tries of {attribute!r} is {raw[attribute]!r}",
                hint="give a whole number of guesses, at least 1",
            )
    return {attribute: int(count or 1) for attribute, count in counts.items()}


def within_by_attribute(raw: Any) -> dict[str, float]:
    """Check the tolerance of guesses by attribute; a number may be a text."""
    tolerances = _numbers_by_attribute("within", raw)
    for attribute, tolerance in tolerances.items():
        if tolerance is None or tolerance < 0:
            message = f"within of {attribute!r} is {raw[attribute]!r}"
            raise BadInput(
                message, hint="give how far a guess may be off, at least 0; of dates, in days"
            )
    return {attribute: tolerance or 0.0 for attribute, tolerance in tolerances.items()}


def _numbers_by_attribute(name: str, raw: Any) -> dict[str, float | None]:
    if not isinstance(raw, Mapping) or not all(isinstance(key, str) for key in raw):
        example = arg(name, {"age": 5})
        raise BadInput(
            f"{arg_name(name)} is {raw!r}",
            hint=f"give a mapping from attribute to a number, {example}",
        )
    return {attribute: _finite_number(number) for attribute, number in raw.items()}


def _finite_number(raw: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        return None
    if isfinite(number):
        return number
    return None


@dataclass(frozen=True, eq=False)
class Guess:
    """The condition under which a guess of one attribute is right."""

    tries: int = 1
    within: float | None = None
    """The largest distance of a right guess from the value; None means the exact value."""
    reach: Ints | None = field(default=None, repr=False)
    """For each value, the last value inside a window that begins with it."""

    @classmethod
    def of(cls, domain: Domain, *, tries: int = 1, within: float | None = None) -> Guess:
        """Build the condition for the values of a table, in their order there."""
        if within is None:
            return cls(tries)
        numbers = _numeric_values(domain)
        number_count = int((~np.isnan(numbers)).sum())
        if (np.diff(numbers[:number_count]) <= 0).any():
            message = (
                f"an order is given for {domain.name!r}, so that its numbers say nothing of what "
                "is near"
            )
            raise BadInput(message, hint=f"leave out the order or {arg('within')}")
        width = 2.0 * within
        starts = numbers[:number_count]
        with np.errstate(invalid="ignore"):  # an infinite number is near itself only
            window_ends = np.where(
                np.isfinite(starts),
                starts + width + _WINDOW_TOLERANCE * (width + np.abs(starts)),
                starts,
            )
        last_indexes = np.searchsorted(starts, window_ends, side="right") - 1
        # Values that are not numbers, and null, are near no other value; they come last.
        return cls(
            tries,
            within,
            np.concatenate([last_indexes, np.arange(number_count, len(numbers))]).astype(np.int64),
        )

    @property
    def text(self) -> str:
        """The condition as text: exact, within 5, one of 3 within 5."""
        if self.tries > 1:
            tries_text = f"one of {self.tries}"
        else:
            tries_text = ""
        if self.within is None:
            tolerance_text = ""
        else:
            tolerance_text = f"within {self.within:g}"
        return " ".join(part for part in (tries_text, tolerance_text) if part) or "exact"

    def best(self, cells: Cells) -> Floats:
        """People per class (or the sum of their weights) whose value the best guess gets right."""
        if self.reach is None:
            if self.tries == 1:
                return cells.max_by_class(cells.mass)
            return cells.sum_of_largest(self.tries)
        _, gains_by_tries = self._windows(cells, self.reach)
        return cells.max_by_class(gains_by_tries[-1])

    def begins(self, cells: Cells) -> Ints:
        """The first cells of the windows of the best guesses, per class, one column per try.

        -1 means that no value is left to guess.
        """
        if self.reach is None:
            reach = np.arange(len(cells.domain))
        else:
            reach = self.reach
        next_cell, gains_by_tries = self._windows(cells, reach)
        window_start = cells.start[:-1].copy()
        end = cells.start[1:]
        first_cells = np.full((len(window_start), self.tries), -1, dtype=np.int64)
        for try_index, gains in enumerate(reversed(gains_by_tries)):
            for class_index in np.flatnonzero(window_start < end).tolist():
                best_cell = window_start[class_index] + int(
                    gains[window_start[class_index] : end[class_index]].argmax()
                )
                first_cells[class_index, try_index], window_start[class_index] = (
                    best_cell,
                    next_cell[best_cell],
                )
        return first_cells

    def _windows(self, cells: Cells, reach: Ints) -> tuple[Ints, list[Floats]]:
        """Gains of windows that do not overlap, computed from the end of each class.

        Returns, for each cell, the first cell after its window. Returns also, by the number of
        tries, the mass covered by a window at the cell and the best windows after it.
        """
        values = len(cells.domain)
        offset = cells.class_index * values
        next_cell = np.searchsorted(offset + cells.value, offset + reach[cells.value], side="right")
        cumulative_mass = np.concatenate([[0.0], np.cumsum(cells.mass)])
        covered = cumulative_mass[next_cell] - cumulative_mass[:-1]
        has_next = next_cell < cells.start[1:][cells.class_index]
        gains_by_tries = [covered]
        for _ in range(self.tries - 1):
            best = _largest_to_class_end(gains_by_tries[-1], cells)
            gains_by_tries.append(
                covered + np.where(has_next, best[np.minimum(next_cell, len(best) - 1)], 0.0)
            )
        return next_cell.astype(np.int64), gains_by_tries


def _largest_to_class_end(gains: Floats, cells: Cells) -> Floats:
    """The largest entry from each cell to the end of its class, by steps of 1, 2, 4, ..."""
    best = gains.copy()
    step = 1
    while step < int(np.diff(cells.start).max()):
        is_same_class = cells.class_index[step:] == cells.class_index[:-step]
        best[:-step] = np.where(is_same_class, np.maximum(best[:-step], best[step:]), best[:-step])
        step *= 2
    return best


def _numeric_values(domain: Domain) -> Floats:
    """The values as numbers, dates as days; NaN for null."""
    if not domain.is_ordered:
        message = f"within is given for {domain.name!r}, whose values are neither numbers nor dates"
        raise BadInput(message, hint=f"give {arg('tries')} for text")
    values = domain.values
    if pa.types.is_temporal(values.type):
        if pa.types.is_time(values.type) or pa.types.is_duration(values.type):
            raise BadInput(
                f"within is given for {domain.name!r}, whose values are not days of a calendar"
            )
        moments = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        return (
            np.asarray(pc.cast(moments, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
            / _MICROSECONDS_PER_DAY
        )
    return np.asarray(
        pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64
    )
