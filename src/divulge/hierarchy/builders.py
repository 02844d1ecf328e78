# SPDX-License-Identifier: Apache-2.0
"""Levels of a numeric column: ranges of growing width, ranges between cut points, top and bottom coding.

Bounds are compared as fractions, so a value on a bound lands in the range that begins there. A level is coarser than the one below
only if every bound of it is a bound there too; anything else is refused, since a label would have two parents.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from divulge.errors import BadInput, nearest
from divulge.hierarchy.hierarchy import SUPPRESSED
from divulge.values import Interval, as_number, as_text, number_text

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


# --- hierarchy dates --------------------------------------------------------------------------------------------------
# Levels of a column of dates or times: day, month, quarter, year, decade.
#
# Each period is made of whole ones of those before it (weeks are not among them: a week may lie in two months). A time keeps the day
# that it writes; it is not moved to another time zone.
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


# --- hierarchy words --------------------------------------------------------------------------------------------------
# Levels of a column of texts: prefixes of codes, groups of an ordered scale, frequent values and the rest.
#
# `47677` becomes `4767*`, then `476**`; the stars tell how many characters are hidden. A group of neighbours on a scale is written
# `[low, high]` with both ends in it, as ARX writes it.
@dataclass(frozen=True)
class Prefix:
    """How many characters of a code are kept on each level; the others become stars."""

    kept: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.kept or min(self.kept) < 0:
            raise BadInput(
                f"prefix = {list(self.kept)} does not say how many characters to keep", hint="Such as [4, 3, 2]"
            )
        for longer, shorter in pairwise(self.kept):
            if shorter >= longer:
                raise BadInput(
                    f"a prefix of {shorter} is not shorter than one of {longer}", hint="Give them descending: [4, 3, 2]"
                )

    @property
    def levels(self) -> int:
        """One for each length."""
        return len(self.kept)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The code with its end hidden, on each level."""
        return tuple(_masked(text, kept) for kept in self.kept)


def _masked(text: str, kept: int) -> str:
    return text[:kept] + SUPPRESSED * (len(text) - kept) if kept else SUPPRESSED


@dataclass(frozen=True)
class Scale:
    """Values in an order, grouped with their neighbours; a group on a level has so many members."""

    order: tuple[str, ...]
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        repeated = [value for value, times in Counter(self.order).items() if times > 1]
        if repeated:
            raise BadInput(f"the order has {', '.join(map(repr, repeated))} twice")
        if not self.order:
            raise BadInput(
                "order = [] names no value", hint='Name all values from low to high, such as ["A", "B", "C", "D"]'
            )
        if not self.groups or min(self.groups) < 2:
            raise BadInput(
                f"groups = {list(self.groups)} does not say how many neighbours to join", hint="Such as 2, or [2, 4]"
            )
        for small, large in pairwise(self.groups):
            if large % small or large == small:
                raise BadInput(
                    f"groups of {large} cannot be made of groups of {small}",
                    hint="Each number must be a multiple of the one before, such as [2, 4]",
                )

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {value: place for place, value in enumerate(self.order)}

    @property
    def levels(self) -> int:
        """One for each size of group."""
        return len(self.groups)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The group of the value, on each level."""
        place = self._place.get(text)
        return None if place is None else tuple(self._group(place, size) for size in self.groups)

    def _group(self, place: int, size: int) -> str:
        members = self.order[place // size * size :][:size]
        return f"[{members[0]}, {members[-1]}]" if len(members) > 1 else members[0]


@dataclass(frozen=True)
class Frequent:
    """The values that keep their name on each level; all others share one label."""

    kept: tuple[tuple[str, ...], ...]
    rest: str = "(other)"

    def __post_init__(self) -> None:
        if not self.kept or not all(self.kept):
            raise BadInput("keep = [] names no value", hint='Name the values that keep their name, such as ["Private"]')
        for fine, coarse in pairwise(self.kept):
            added = [value for value in coarse if value not in fine]
            if added or len(coarse) == len(fine):
                raise BadInput(
                    f"the coarser level of keep must leave values out and add none; it has {', '.join(coarse)}",
                    hint=f"The finer one has {', '.join(fine)}",
                )
        if any(self.rest in kept for kept in self.kept):
            raise BadInput(
                f"{self.rest!r} is both a value that keeps its name and the label of the rest", hint="Rename the rest"
            )

    @property
    def levels(self) -> int:
        """One for each list of values."""
        return len(self.kept)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The value or the label of the rest, on each level."""
        return tuple(text if text in kept else self.rest for kept in self._sets)

    @cached_property
    def _sets(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.kept))


# --- hierarchy taxonomy -----------------------------------------------------------------------------------------------
# Levels of a column from a taxonomy: a tree of names, given as a nested mapping or as indented text.
#
#     Technical                     {"Technical": ["Tech-support", "Craft-repair"],
#         Tech-support               "Other": ["Other-service"]}
#         Craft-repair
#     Other
#         Other-service
#
# Level by level the tree is cut one step nearer to the root. A value that sits higher than the deepest ones keeps its own name until
# the cut reaches it, so branches may differ in depth.
Path = tuple[str, ...]
"""From the outermost name down to the name itself."""


@dataclass(frozen=True)
class Taxonomy:
    """Every name of the tree with the names above it."""

    paths: Mapping[str, Path] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.paths:
            raise BadInput("the taxonomy is empty", hint="Name groups and the values in them")

    @cached_property
    def levels(self) -> int:
        """The depth of the deepest value, less one: its own name is level 0."""
        return max(len(path) for path in self.paths.values()) - 1

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The names that have none under them."""
        groups = {path[:-1] for path in self.paths.values()}
        return tuple(name for name, path in self.paths.items() if path not in groups)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The name on the path of the value that the cut meets, on each level."""
        path = self.paths.get(text)
        if path is None:
            return None
        return tuple(path[min(len(path), depth) - 1] for depth in range(self.levels, 0, -1))


def taxonomy_of(tree: Mapping[str, Any]) -> Taxonomy:
    """From a nested mapping: a group to a list of values, or to a mapping of smaller groups."""
    return Taxonomy(_by_name(_walk(tree, ())))


def taxonomy_of_text(text: str) -> Taxonomy:
    """From lines whose indentation says what lies under what; blank lines and lines that begin with # do not count."""
    return Taxonomy(_by_name(_indented(text)))


def _walk(tree: Any, above: Path) -> Iterator[Path]:
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield (*above, str(name))
            yield from _walk(inner, (*above, str(name)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for value in tree:
            if isinstance(value, Mapping):
                yield from _walk(value, above)
            else:
                yield (*above, _name(value, above))
    elif tree is not None:
        yield (*above, _name(tree, above))


def _name(value: Any, above: Path) -> str:
    name = as_text(value)
    if name is None or isinstance(value, (list, tuple, set)):
        raise BadInput(f"the taxonomy has {value!r} under {' / '.join(above)}", hint="A value is a text or a number")
    return name


def _indented(text: str) -> Iterator[Path]:
    stack: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        indent = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())
        deeper = [width for width, _ in stack if width < indent]
        if len(deeper) < len(stack) and stack[len(deeper)][0] != indent:
            raise BadInput(
                f"line {number} of the taxonomy, {name!r}, is indented by {indent}, like no line above it",
                hint="Give the members of a group the same indentation",
            )
        stack = [*stack[: len(deeper)], (indent, name)]
        yield tuple(outer for _, outer in stack)


def _by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Paths by their last name; a value may be named like its own group (Other in Other) but has one place."""
    found: dict[str, Path] = {}
    for path in paths:
        name = path[-1]
        if name in found and found[name] != path[:-1]:
            raise BadInput(
                f"the taxonomy has {name!r} in two places: {' / '.join(found[name])} and {' / '.join(path)}",
                hint="A name has one place: rename one of them",
            )
        found[name] = path
    return found
