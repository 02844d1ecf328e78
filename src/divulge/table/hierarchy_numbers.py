# SPDX-License-Identifier: Apache-2.0
"""Levels of a numeric column: ranges of growing width, ranges between cut points, top and bottom coding.

Bounds are compared as fractions, so a value on a bound lands in the range that begins there. A level is coarser than the one below
only if every bound of it is a bound there too; anything else is refused, since a label would have two parents.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from divulge.errors import BadInput
from divulge.table.intervals import Interval
from divulge.table.numbers import as_number, number_text

_NOT_FINITE = frozenset(("nan", "inf", "-inf"))


@dataclass(frozen=True)
class EndCoding:
    """Numbers below `bottom` become `<bottom`, numbers from `top` on become `>=top`; the others are left to the level."""

    bottom: Fraction | None = None
    top: Fraction | None = None

    def __post_init__(self) -> None:
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise BadInput(
                f"bottom = {number_text(self.bottom)} is not below top = {number_text(self.top)}",
                hint="Values below bottom are written <bottom, values from top on >=top",
            )

    @property
    def levels(self) -> int:
        """By itself, coding makes one level."""
        return 1

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The open range, or the value itself."""
        number = as_number(text)
        if number is None:
            return (text,) if text in _NOT_FINITE else None
        return (self.outside(number) or text,)

    def outside(self, number: Fraction) -> str | None:
        """The open range that the number lies in, if it does."""
        if self.bottom is not None and number < self.bottom:
            return str(Interval(None, self.bottom))
        if self.top is not None and number >= self.top:
            return str(Interval(self.top, None))
        return None

    def within(self, interval: Interval) -> Interval:
        """The part of a bounded range that is not coded."""
        bounds = [bound for bound in (interval.low, self.bottom) if bound is not None]
        ends = [bound for bound in (interval.high, self.top) if bound is not None]
        return Interval(max(bounds), min(ends))


@dataclass(frozen=True)
class Widths:
    """Ranges of one width on each level, all counted from `start`."""

    widths: tuple[Fraction, ...]
    start: Fraction = Fraction(0)
    coding: EndCoding = EndCoding()

    def __post_init__(self) -> None:
        if not self.widths:
            raise BadInput("intervals = [] gives no width", hint="Give the width of each level, such as [5, 10, 20]")
        for width in self.widths:
            if width <= 0:
                raise BadInput(f"an interval cannot be {number_text(width)} wide")
        for narrow, wide in pairwise(self.widths):
            if wide % narrow or wide == narrow:
                raise BadInput(
                    f"intervals {number_text(wide)} wide cannot be made of intervals {number_text(narrow)} wide",
                    hint="Each width must be a multiple of the one before, such as [5, 10, 20]",
                )

    @property
    def levels(self) -> int:
        """One for each width."""
        return len(self.widths)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The range that holds the number, on each level."""
        number = as_number(text)
        if number is None:
            return (text,) * self.levels if text in _NOT_FINITE else None
        outside = self.coding.outside(number)
        if outside is not None:
            return (outside,) * self.levels
        place = int((number - self.start) // self.widths[0])
        if place not in self._written:
            self._written[place] = tuple(str(self._around(place, width)) for width in self.widths)
        return self._written[place]

    def _around(self, place: int, width: Fraction) -> Interval:
        """The range of that width around a range of the finest level, as far as it is not coded."""
        low = self.start + place // int(width / self.widths[0]) * width
        return self.coding.within(Interval(low, low + width))

    @cached_property
    def _written(self) -> dict[int, tuple[str, ...]]:
        """The labels of each range of the finest level, written once: many values share them."""
        return {}


@dataclass(frozen=True)
class CutRanges:
    """Ranges between cut points, open at both ends: below the first, between two neighbours, from the last on."""

    cuts: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        if not self.cuts or not all(self.cuts):
            raise BadInput(
                "cuts needs at least one cut point on each level", hint="Give them ascending, such as [18, 30, 65]"
            )
        for level in self.cuts:
            for low, high in pairwise(level):
                if low >= high:
                    raise BadInput(
                        f"cut point {number_text(high)} comes after {number_text(low)}", hint="Give them ascending"
                    )
        for fine, coarse in pairwise(self.cuts):
            added = [number_text(cut) for cut in coarse if cut not in fine]
            if added:
                raise BadInput(
                    f"the coarser level has cut points that the finer one lacks: {', '.join(added)}",
                    hint="A coarser level leaves cut points out, it adds none",
                )
            if len(coarse) == len(fine):
                raise BadInput("two levels have the same cut points", hint="Leave one of them out")

    @property
    def levels(self) -> int:
        """One for each list of cut points."""
        return len(self.cuts)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The range that holds the number, on each level."""
        number = as_number(text)
        if number is None:
            return (text,) * self.levels if text in _NOT_FINITE else None
        return tuple(str(_between(cuts, number)) for cuts in self.cuts)


def _between(cuts: tuple[Fraction, ...], number: Fraction) -> Interval:
    place = bisect_right(cuts, number)
    return Interval(cuts[place - 1] if place else None, cuts[place] if place < len(cuts) else None)
