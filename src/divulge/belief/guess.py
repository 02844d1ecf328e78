# SPDX-License-Identifier: Apache-2.0
"""What counts as a right guess of a value: exactly it, a number near it, or one of several tries.

These are gain functions of quantitative information flow (Alvim et al. 2012): the gain of a guess is 1 where it is right and 0 where not,
and the vulnerability of a class is the largest gain that a guess can expect there. A number or a date may be guessed by any number or
date: within 5 means that the window from 5 below the guess to 5 above it holds the value. Several tries are right where one of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.arrays import Floats, Ints
from divulge.count import Cells, Domain
from divulge.errors import BadInput

_DAYS = 24 * 60 * 60 * 1_000_000
_ROUNDING = 1e-9
"""Of the window: 0.1 + 0.2 is not within 0.3 of 0, as floats are."""


def tries_by_attribute(given: Any) -> dict[str, int]:
    """How many tries there are, checked; a number may be a text."""
    found = _by_attribute("tries", given)
    for attribute, often in found.items():
        if often is None or often < 1 or not often.is_integer():
            raise BadInput(
                f"tries of {attribute!r} is {given[attribute]!r}", hint="give a whole number of guesses, at least 1"
            )
    return {attribute: int(often or 1) for attribute, often in found.items()}


def within_by_attribute(given: Any) -> dict[str, float]:
    """How far a guess may be off, checked; a number may be a text."""
    found = _by_attribute("within", given)
    for attribute, far in found.items():
        if far is None or far < 0:
            told = f"within of {attribute!r} is {given[attribute]!r}"
            raise BadInput(told, hint="give how far a guess may be off, at least 0; of dates, in days")
    return {attribute: far or 0.0 for attribute, far in found.items()}


def _by_attribute(name: str, given: Any) -> dict[str, float | None]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise BadInput(f"{name} is {given!r}", hint=f"give a mapping from attribute to a number, {name}={{'age': 5}}")
    return {attribute: _number(number) for attribute, number in given.items()}


def _number(given: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


@dataclass(frozen=True, eq=False)
class Guess:
    """When a guess of one attribute is right."""

    tries: int = 1
    within: float | None = None
    """How far from the value a guess may be; None: it must be the value."""
    reach: Ints | None = field(default=None, repr=False)
    """For each value the last one that a window beginning with it still holds."""

    @classmethod
    def of(cls, domain: Domain, *, tries: int = 1, within: float | None = None) -> Guess:
        """About the values of a table, in the order they have there."""
        if within is None:
            return cls(tries)
        numbers = _numbers(domain)
        known = int((~np.isnan(numbers)).sum())
        if (np.diff(numbers[:known]) <= 0).any():
            told = f"an order is given for {domain.name!r}, so that its numbers say nothing of what is near"
            raise BadInput(told, hint="leave out the order or within=")
        width = 2.0 * within
        begins = numbers[:known]
        with np.errstate(invalid="ignore"):  # an infinite number is near itself
            until = np.where(np.isfinite(begins), begins + width + _ROUNDING * (width + np.abs(begins)), begins)
        ends = np.searchsorted(begins, until, side="right") - 1
        # What is no number, and null, are near nothing else; they come last.
        return cls(tries, within, np.concatenate([ends, np.arange(known, len(numbers))]).astype(np.int64))

    @property
    def text(self) -> str:
        """For people: exact, within 5, one of 3 within 5."""
        often = f"one of {self.tries}" if self.tries > 1 else ""
        near = "" if self.within is None else f"within {self.within:g}"
        return " ".join(part for part in (often, near) if part) or "exact"

    def best(self, cells: Cells) -> Floats:
        """The people of each class, or the sum of their weights, whose value the best guess about the class gets right."""
        if self.reach is None:
            return cells.max_by_class(cells.mass) if self.tries == 1 else cells.sum_of_largest(self.tries)
        return self._best_windows(cells, self.reach)

    def begins(self, cells: Cells) -> Ints:
        """For each class the cells with which the windows of the best guesses begin, one column per try; -1: nothing is left to guess."""
        reach = np.arange(len(cells.domain)) if self.reach is None else self.reach
        behind, layers = self._windows(cells, reach)
        place, end = cells.start[:-1].copy(), cells.start[1:]
        found = np.full((len(place), self.tries), -1, dtype=np.int64)
        for turn, layer in enumerate(reversed(layers)):
            for number in np.flatnonzero(place < end).tolist():
                chosen = place[number] + int(layer[place[number] : end[number]].argmax())
                found[number, turn], place[number] = chosen, behind[chosen]
        return found

    def _best_windows(self, cells: Cells, reach: Ints) -> Floats:
        return cells.max_by_class(self._windows(cells, reach)[1][-1])

    def _windows(self, cells: Cells, reach: Ints) -> tuple[Ints, list[Floats]]:
        """Windows that do not overlap, from the end of each class: one that begins here, then the best ones behind it.

        For each cell the one behind its window, and by the number of tries what is covered by a window here and the best ones behind it.
        """
        values = len(cells.domain)
        place = cells.class_index * values
        behind = np.searchsorted(place + cells.value, place + reach[cells.value], side="right")
        running = np.concatenate([[0.0], np.cumsum(cells.mass)])
        covered = running[behind] - running[:-1]
        goes_on = behind < cells.start[1:][cells.class_index]
        layers = [covered]
        for _ in range(self.tries - 1):
            best = _best_from_here(layers[-1], cells)
            layers.append(covered + np.where(goes_on, best[np.minimum(behind, len(best) - 1)], 0.0))
        return behind.astype(np.int64), layers


def _best_from_here(found: Floats, cells: Cells) -> Floats:
    """The largest entry from each cell to the end of its class, by steps of 1, 2, 4, ..."""
    best, step = found.copy(), 1
    while step < int(np.diff(cells.start).max()):
        same = cells.class_index[step:] == cells.class_index[:-step]
        best[:-step] = np.where(same, np.maximum(best[:-step], best[step:]), best[:-step])
        step *= 2
    return best


def _numbers(domain: Domain) -> Floats:
    """The values as numbers, dates as days; nan for null."""
    if not domain.is_ordered:
        told = f"within is given for {domain.name!r}, whose values are neither numbers nor dates"
        raise BadInput(told, hint="give tries= for text")
    values = domain.values
    if pa.types.is_temporal(values.type):
        if pa.types.is_time(values.type) or pa.types.is_duration(values.type):
            raise BadInput(f"within is given for {domain.name!r}, whose values are not days of a calendar")
        moments = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        return np.asarray(pc.cast(moments, pa.float64(), safe=False).to_numpy(zero_copy_only=False)) / _DAYS
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
