# SPDX-License-Identifier: Apache-2.0
"""Rules that give each value of a column its levels, one function for each kind, from the keys that a user writes.

Bounds are compared as fractions, so a value on a bound lands in the range that begins there. A level is coarser than the one below
only if every bound of it is a bound there too; anything else is refused, since a label would have two parents.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from divulge import values
from divulge.errors import BadInput, nearest
from divulge.hierarchy.hierarchy import SUPPRESSED
from divulge.values import as_number, as_text, number_text

Keys = Mapping[str, Any]
"""What the user asks for."""
Texts = Sequence[str]
"""The values of the data, without null."""
Above = tuple[str, ...]
"""The labels of a value on the levels above itself."""
_NOT_FINITE = frozenset(("nan", "inf", "-inf"))


@dataclass(frozen=True)
class HierarchyRule:
    """What gives a value its labels."""

    levels: int
    """How many levels it makes above the values themselves."""
    labels: Callable[[str], Above | None]
    """The labels of a value on these levels; None if the value does not fit."""
    leaves: tuple[str, ...] = ()
    """The values that the rule itself names: they are leaves whether they occur in the data or not."""


# --- numbers ----------------------------------------------------------------------------------------------------------
def _of_numbers(levels: int, above: Callable[[Fraction], Above | None]) -> HierarchyRule:
    """A rule for finite numbers; one that it gives no labels to, and NaN and infinity, keep their own text."""

    def labels(text: str) -> Above | None:
        number = as_number(text)
        if number is None and text not in _NOT_FINITE:
            return None
        return (None if number is None else above(number)) or (text,) * levels

    return HierarchyRule(levels, labels)


def coding(keys: Keys, _: Texts) -> HierarchyRule:
    """Top and bottom coding by itself: one level."""
    ends = _ends(keys)
    return _of_numbers(1, lambda number: (label,) if (label := _outside(number, *ends)) else None)


def _ends(keys: Keys) -> tuple[Fraction | None, Fraction | None]:
    bottom, top = (_number(keys[key], key) if key in keys else None for key in ("bottom", "top"))
    if bottom is not None and top is not None and bottom >= top:
        hint = "Values below bottom are written <bottom, values from top on >=top"
        raise BadInput(f"bottom = {number_text(bottom)} is not below top = {number_text(top)}", hint=hint)
    return bottom, top


def _outside(number: Fraction, bottom: Fraction | None, top: Fraction | None) -> str | None:
    """Numbers below `bottom` are written `<bottom`, numbers from `top` on `>=top`; None for the others."""
    if bottom is not None and number < bottom:
        return str(values.Interval(None, bottom))
    return str(values.Interval(top, None)) if top is not None and number >= top else None


def widths(keys: Keys, _: Texts) -> HierarchyRule:
    """Ranges of one width on each level, all counted from `start`, between `bottom` and `top`."""
    wide = _numbers(keys["intervals"], "intervals")
    start = _number(keys.get("start", 0), "start")
    bottom, top = _ends(keys)
    if not wide:
        raise BadInput("intervals = [] gives no width", hint="Give the width of each level, such as [5, 10, 20]")
    for width in wide:
        if width <= 0:
            raise BadInput(f"an interval cannot be {number_text(width)} wide")
    for narrow, wider in pairwise(wide):
        if wider % narrow or wider == narrow:
            raise BadInput(
                f"intervals {number_text(wider)} wide cannot be made of intervals {number_text(narrow)} wide",
                hint="Each width must be a multiple of the one before, such as [5, 10, 20]",
            )

    def around(place: int, width: Fraction) -> str:
        """The range of that width around a range of the finest level, as far as it is not coded."""
        low = start + place // int(width / wide[0]) * width
        high = low + width
        return str(
            values.Interval(low if bottom is None else max(low, bottom), high if top is None else min(high, top))
        )

    @cache  # many values share the labels of a range
    def written(place: int) -> Above:
        return tuple(around(place, width) for width in wide)

    def above(number: Fraction) -> Above:
        coded = _outside(number, bottom, top)
        return written(int((number - start) // wide[0])) if coded is None else (coded,) * len(wide)

    return _of_numbers(len(wide), above)


def cut_ranges(keys: Keys, _: Texts) -> HierarchyRule:
    """Ranges between cut points, open at both ends: below the first, between two neighbours, from the last on."""
    levels = [_numbers(level, "cuts") for level in _by_level(keys["cuts"])]
    if not levels or not all(levels):
        hint = "Give them ascending, such as [18, 30, 65]"
        raise BadInput("cuts needs at least one cut point on each level", hint=hint)
    for low, high in (pair for level in levels for pair in pairwise(level)):
        if low >= high:
            raise BadInput(f"cut point {number_text(high)} comes after {number_text(low)}", hint="Give them ascending")
    for fine, coarse in pairwise(levels):
        added = [number_text(cut) for cut in coarse if cut not in fine]
        if added:
            hint = "A coarser level leaves cut points out, it adds none"
            raise BadInput(f"the coarser level has cut points that the finer one lacks: {', '.join(added)}", hint=hint)
        if len(coarse) == len(fine):
            raise BadInput("two levels have the same cut points", hint="Leave one of them out")

    def between(cuts: tuple[Fraction, ...], number: Fraction) -> str:
        place = bisect_right(cuts, number)
        return str(values.Interval(cuts[place - 1] if place else None, cuts[place] if place < len(cuts) else None))

    return _of_numbers(len(levels), lambda number: tuple(between(cuts, number) for cuts in levels))


def _numbers(given: Any, key: str) -> tuple[Fraction, ...]:
    """One number or several, exactly as they are written."""
    return tuple(_number(number, key) for number in _several(given))


def _number(given: Any, key: str) -> Fraction:
    number = None if isinstance(given, bool) else as_number(str(given))
    if number is None:
        raise BadInput(f"{key} = {given!r} is not a number")
    return number


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, (list, tuple)) else [given]


def _by_level(given: Any) -> Sequence[Any]:
    """What is given for each level; a flat list is one level."""
    return given if any(isinstance(level, (list, tuple)) for level in _several(given)) else [given]


# --- dates ------------------------------------------------------------------------------------------------------------
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


def dates(keys: Keys, _: Texts) -> HierarchyRule:
    """One period on each level; `format` is how the dates are written (as strptime reads it), ISO if not given."""
    periods, order = [str(period) for period in _several(keys["dates"])], list(PERIODS)
    if not periods:
        raise BadInput("dates = [] names no period", hint=f"Name some of: {', '.join(order)}")
    for period in periods:
        if period not in PERIODS:
            raise BadInput(f"{period!r} is not a period of dates", hint=nearest(period, order))
    for fine, coarse in pairwise(periods):
        if order.index(fine) >= order.index(coarse):
            raise BadInput(f"{coarse!r} is not coarser than {fine!r}", hint=f"From fine to coarse: {', '.join(order)}")

    def labels(text: str) -> Above | None:
        day = parse_date(text, keys.get("format"))
        return None if day is None else tuple(PERIODS[period](day) for period in periods)

    return HierarchyRule(len(periods), labels)


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


# --- words ------------------------------------------------------------------------------------------------------------
def prefix(keys: Keys, texts: Texts) -> HierarchyRule:
    """How many characters of a code are kept on each level: `47677` becomes `4767*`, then `476**`."""
    given = keys["prefix"]
    kept = _several(given) if given is not True else range(max(map(len, texts), default=1) - 1, 0, -1) or (0,)
    if not all(type(length) is int for length in kept):
        raise BadInput(f"prefix = {given!r} is neither true nor a list of lengths", hint="Such as true, or [4, 3, 2]")
    if not kept or min(kept) < 0:
        raise BadInput(f"prefix = {list(kept)} does not say how many characters to keep", hint="Such as [4, 3, 2]")
    for longer, shorter in pairwise(kept):
        if shorter >= longer:
            hint = "Give them descending: [4, 3, 2]"
            raise BadInput(f"a prefix of {shorter} is not shorter than one of {longer}", hint=hint)

    def masked(text: str, length: int) -> str:
        return text[:length] + SUPPRESSED * (len(text) - length) if length else SUPPRESSED

    return HierarchyRule(len(kept), lambda text: tuple(masked(text, length) for length in kept))


def scale(keys: Keys, texts: Texts) -> HierarchyRule:
    """Values in an order, grouped with their neighbours and written `[low, high]`, both ends in it, as ARX writes it."""
    order = _in_order(texts) if keys["order"] is True else _names(keys["order"], "order")
    groups = keys.get("groups", 2)
    sizes = _several(groups)
    if not all(type(size) is int for size in sizes):
        raise BadInput(f"groups = {groups!r} is not a number of neighbours", hint="Such as 2, or [2, 4]")
    repeated = [value for value, times in Counter(order).items() if times > 1]
    if repeated:
        raise BadInput(f"the order has {', '.join(map(repr, repeated))} twice")
    if not order:
        hint = 'Name all values from low to high, such as ["A", "B", "C", "D"]'
        raise BadInput("order = [] names no value", hint=hint)
    if not sizes or min(sizes) < 2:
        raise BadInput(f"groups = {list(sizes)} does not say how many neighbours to join", hint="Such as 2, or [2, 4]")
    for small, large in pairwise(sizes):
        if large % small or large == small:
            hint = "Each number must be a multiple of the one before, such as [2, 4]"
            raise BadInput(f"groups of {large} cannot be made of groups of {small}", hint=hint)
    places = {value: place for place, value in enumerate(order)}

    def group(place: int, size: int) -> str:
        members = order[place // size * size :][:size]
        return f"[{members[0]}, {members[-1]}]" if len(members) > 1 else members[0]

    def labels(text: str) -> Above | None:
        place = places.get(text)
        return None if place is None else tuple(group(place, size) for size in sizes)

    return HierarchyRule(len(sizes), labels, leaves=order)


def _in_order(texts: Texts) -> tuple[str, ...]:
    numbers = {text: as_number(text) for text in texts}
    numeric = None not in numbers.values()
    return tuple(sorted(numbers, key=lambda text: (numbers[text] if numeric else 0, text)))


def frequent(keys: Keys, _: Texts) -> HierarchyRule:
    """The values that keep their name on each level; all others share one label."""
    levels, rest = [_names(level, "keep") for level in _by_level(keys["keep"])], str(keys.get("rest", "(other)"))
    if not levels or not all(levels):
        raise BadInput("keep = [] names no value", hint='Name the values that keep their name, such as ["Private"]')
    for fine, coarse in pairwise(levels):
        if not set(coarse) <= set(fine) or len(coarse) == len(fine):
            raise BadInput(
                f"the coarser level of keep must leave values out and add none; it has {', '.join(coarse)}",
                hint=f"The finer one has {', '.join(fine)}",
            )
    if any(rest in names for names in levels):
        raise BadInput(
            f"{rest!r} is both a value that keeps its name and the label of the rest", hint="Rename the rest"
        )
    kept = [frozenset(names) for names in levels]
    return HierarchyRule(len(kept), lambda text: tuple(text if text in names else rest for names in kept))


def _names(given: Any, key: str) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise BadInput(f"{key} = {given!r} is not a list of values")
    return tuple(name for name in map(as_text, given) if name is not None)


# --- taxonomy ---------------------------------------------------------------------------------------------------------
# A tree of names, given as a nested mapping or as indented text:
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


def taxonomy(keys: Keys, _: Texts) -> HierarchyRule:
    """A group to a list of values or to a mapping of smaller groups, or lines whose indentation says what lies under what."""
    given = keys["taxonomy"]
    if not isinstance(given, (str, Mapping)):
        raise BadInput(f"taxonomy = {given!r} is neither a table of groups nor indented text")
    paths = _by_name(_indented(given) if isinstance(given, str) else _walk(given, ()))
    if not paths:
        raise BadInput("the taxonomy is empty", hint="Name groups and the values in them")
    levels = max(map(len, paths.values())) - 1
    groups = {path[:-1] for path in paths.values()}

    def labels(text: str) -> Above | None:
        path = paths.get(text)
        return path and tuple(path[min(len(path), depth) - 1] for depth in range(levels, 0, -1))

    return HierarchyRule(levels, labels, leaves=tuple(name for name, path in paths.items() if path not in groups))


def _walk(tree: Any, above: Path) -> Iterator[Path]:
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield (*above, str(name))
            yield from _walk(inner, (*above, str(name)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for value in tree:
            yield from _walk(value, above) if isinstance(value, Mapping) else [(*above, _name(value, above))]
    elif tree is not None:
        yield (*above, _name(tree, above))


def _name(value: Any, above: Path) -> str:
    name = as_text(value)
    if name is None or isinstance(value, (list, tuple, set)):
        raise BadInput(f"the taxonomy has {value!r} under {' / '.join(above)}", hint="A value is a text or a number")
    return name


def _indented(text: str) -> Iterator[Path]:
    """Blank lines and lines that begin with # do not count."""
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
