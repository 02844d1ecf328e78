# SPDX-License-Identifier: Apache-2.0
"""Rules that assign generalization levels to the values of a column, one function per kind.

Each rule is built from the keys that a user writes. Bounds are compared as fractions, so a value on
a bound belongs to the range that begins there. Each bound of a level must also be a bound of the
level below. Other levels raise an error, because a label would have two parents.
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

from divulge.arguments import outside, quoted
from divulge.errors import BadInput, nearest
from divulge.hierarchies.hierarchy import SUPPRESSED
from divulge.text import Interval, as_number, as_text, number_text

Keys = Mapping[str, Any]
"""The keys of a hierarchy specification, as the user wrote them."""
Texts = Sequence[str]
"""The values of the data, without null."""
LabelsAbove = tuple[str, ...]
"""The labels of a value on the levels above itself."""
_NOT_FINITE = frozenset(("nan", "inf", "-inf"))


@dataclass(frozen=True)
class HierarchyRule:
    """A rule that assigns labels to values."""

    levels: int
    """The number of levels above the values themselves."""
    labels: Callable[[str], LabelsAbove | None]
    """The labels of a value on these levels; None if the rule does not cover the value."""
    leaves: tuple[str, ...] = ()
    """The values that the rule itself names.

    They are leaves even if they do not occur in the data.
    """


# --- numbers --------------------------------------------------------------------------------------
def _number_rule(
    levels: int, labels_above: Callable[[Fraction], LabelsAbove | None]
) -> HierarchyRule:
    """Build a rule for finite numbers.

    NaN, infinity and numbers to which `above` assigns no labels keep their own text.
    """

    def labels(text: str) -> LabelsAbove | None:
        number = as_number(text)
        if number is None and text not in _NOT_FINITE:
            return None
        return (None if number is None else labels_above(number)) or (text,) * levels

    return HierarchyRule(levels, labels)


def coding_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """Top and bottom coding as the only level."""
    bottom_and_top = _bottom_and_top(keys)
    return _number_rule(
        1, lambda number: (label,) if (label := _coded_label(number, *bottom_and_top)) else None
    )


def _bottom_and_top(keys: Keys) -> tuple[Fraction | None, Fraction | None]:
    bottom, top = (_number(keys[key], key) if key in keys else None for key in ("bottom", "top"))
    if bottom is not None and top is not None and bottom >= top:
        hint = "Values below bottom are written <bottom, values from top on >=top"
        raise BadInput(
            f"bottom = {outside(number_text(bottom))} is not below top = "
            f"{outside(number_text(top))}",
            hint=hint,
        )
    return bottom, top


def _coded_label(number: Fraction, bottom: Fraction | None, top: Fraction | None) -> str | None:
    """Return `<bottom` for numbers below `bottom`, `>=top` for numbers from `top` on, else None."""
    if bottom is not None and number < bottom:
        return str(Interval(None, bottom))
    if top is not None and number >= top:
        return str(Interval(top, None))
    return None


def interval_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """Ranges of equal width on each level, aligned at `start`, between `bottom` and `top`."""
    level_widths = _numbers(keys["intervals"], "intervals")
    start = _number(keys.get("start", 0), "start")
    bottom, top = _bottom_and_top(keys)
    if not level_widths:
        raise BadInput(
            "intervals = [] gives no width",
            hint="Give the width of each level, such as [5, 10, 20]",
        )
    for width in level_widths:
        if width <= 0:
            raise BadInput(f"an interval cannot be {outside(number_text(width))} wide")
    for narrow, wider in pairwise(level_widths):
        if wider % narrow or wider == narrow:
            raise BadInput(
                f"intervals {outside(number_text(wider))} wide cannot be made of intervals "
                f"{outside(number_text(narrow))} wide",
                hint="Each width must be a multiple of the one before, such as [5, 10, 20]",
            )

    def range_label(cell: int, width: Fraction) -> str:
        """The range of that width around a range of the finest level, cut at `bottom` and `top`."""
        low = start + cell // int(width / level_widths[0]) * width
        high = low + width
        return str(
            Interval(
                low if bottom is None else max(low, bottom), high if top is None else min(high, top)
            )
        )

    @cache  # many values share the labels of a range
    def range_labels(cell: int) -> LabelsAbove:
        return tuple(range_label(cell, width) for width in level_widths)

    def labels_above(number: Fraction) -> LabelsAbove:
        coded_label = _coded_label(number, bottom, top)
        if coded_label is not None:
            return (coded_label,) * len(level_widths)
        return range_labels(int((number - start) // level_widths[0]))

    return _number_rule(len(level_widths), labels_above)


def cut_point_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """Ranges between cut points.

    The first range lies below the first cut point; the last begins at the last cut point and has no
    upper end.
    """
    levels = [_numbers(level, "cuts") for level in _lists_by_level(keys["cuts"])]
    if not levels or not all(levels):
        hint = "Give them ascending, such as [18, 30, 65]"
        raise BadInput("cuts needs at least one cut point on each level", hint=hint)
    for low, high in (pair for level in levels for pair in pairwise(level)):
        if low >= high:
            raise BadInput(
                f"cut point {outside(number_text(high))} comes after {outside(number_text(low))}",
                hint="Give them ascending",
            )
    for fine, coarse in pairwise(levels):
        added_cuts = [number_text(cut) for cut in coarse if cut not in fine]
        if added_cuts:
            hint = "A coarser level leaves cut points out, it adds none"
            raise BadInput(
                "the coarser level has cut points that the finer one lacks: "
                f"{outside(', '.join(added_cuts))}",
                hint=hint,
            )
        if len(coarse) == len(fine):
            raise BadInput("two levels have the same cut points", hint="Leave one of them out")

    def range_label(cuts: tuple[Fraction, ...], number: Fraction) -> str:
        position = bisect_right(cuts, number)
        return str(
            Interval(
                cuts[position - 1] if position else None,
                cuts[position] if position < len(cuts) else None,
            )
        )

    return _number_rule(
        len(levels), lambda number: tuple(range_label(cuts, number) for cuts in levels)
    )


def _numbers(raw: Any, key: str) -> tuple[Fraction, ...]:
    """One number or several, as exact fractions."""
    return tuple(_number(number, key) for number in _as_list(raw))


def _number(raw: Any, key: str) -> Fraction:
    if isinstance(raw, bool):
        number = None
    else:
        number = as_number(str(raw))
    if number is None:
        raise BadInput(f"{key} = {quoted(raw)} is not a number")
    return number


def _as_list(raw: Any) -> Sequence[Any]:
    if isinstance(raw, (list, tuple)):
        return raw
    return [raw]


def _lists_by_level(raw: Any) -> Sequence[Any]:
    """The entries of each level; a flat list is one level."""
    return raw if any(isinstance(level, (list, tuple)) for level in _as_list(raw)) else [raw]


# --- dates ----------------------------------------------------------------------------------------
# Each period consists of whole periods of the kinds before it. Weeks are missing because a week may
# lie in two months. A time keeps its written day; it is not converted to another time zone.
PERIODS: Mapping[str, Callable[[dt.date], str]] = {
    "day": lambda day: f"{day.year:04d}-{day.month:02d}-{day.day:02d}",
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10:03d}0s",
}
"""The text of a date in each period, from fine to coarse."""


def date_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """One period on each level.

    `format` is the format of the dates in the syntax of strptime; the default is ISO 8601.
    """
    periods = [str(period) for period in _as_list(keys["dates"])]
    order = list(PERIODS)
    if not periods:
        raise BadInput("dates = [] names no period", hint=f"Name some of: {', '.join(order)}")
    for period in periods:
        if period not in PERIODS:
            raise BadInput(f"{period!r} is not a period of dates", hint=nearest(period, order))
    for fine, coarse in pairwise(periods):
        if order.index(fine) >= order.index(coarse):
            raise BadInput(
                f"{coarse!r} is not coarser than {fine!r}",
                hint=f"From fine to coarse: {', '.join(order)}",
            )

    def labels(text: str) -> LabelsAbove | None:
        day = parse_date(text, keys.get("format"))
        if day is None:
            return None
        return tuple(PERIODS[period](day) for period in periods)

    return HierarchyRule(len(periods), labels)


def parse_date(text: str, format_: str | None = None) -> dt.date | None:
    """Parse the date in a text; None if the text is not a date.

    >>> parse_date("2024-02-29"), parse_date("29.02.2024", "%d.%m.%Y"), parse_date("2023-02-29")
    (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29), None)
    """
    try:
        moment = (
            dt.datetime.fromisoformat(text)
            if format_ is None
            else dt.datetime.strptime(text, format_)  # noqa: DTZ007
        )
    except ValueError:
        return None
    return moment.date()


# --- words ----------------------------------------------------------------------------------------
def prefix_rule(keys: Keys, texts: Texts) -> HierarchyRule:
    """Prefixes of a code: `47677` becomes `4767*`, then `476**`.

    Each level keeps the given number of characters.
    """
    spec = keys["prefix"]
    if spec is not True:
        lengths = _as_list(spec)
    else:
        lengths = range(max(map(len, texts), default=1) - 1, 0, -1) or (0,)
    if not all(type(length) is int for length in lengths):
        raise BadInput(
            f"prefix = {spec!r} is neither true nor a list of lengths",
            hint="Such as true, or [4, 3, 2]",
        )
    if not lengths or min(lengths) < 0:
        raise BadInput(
            f"prefix = {list(lengths)} does not say how many characters to keep",
            hint="Such as [4, 3, 2]",
        )
    for longer, shorter in pairwise(lengths):
        if shorter >= longer:
            hint = "Give them descending: [4, 3, 2]"
            raise BadInput(f"a prefix of {shorter} is not shorter than one of {longer}", hint=hint)

    def mask(text: str, length: int) -> str:
        if length:
            return text[:length] + SUPPRESSED * (len(text) - length)
        return SUPPRESSED

    return HierarchyRule(len(lengths), lambda text: tuple(mask(text, length) for length in lengths))


def order_rule(keys: Keys, texts: Texts) -> HierarchyRule:
    """Ordered values, grouped with their neighbors and written `[low, high]`.

    Both ends belong to the group, as in ARX.
    """
    if keys["order"] is True:
        order = _sorted_texts(texts)
    else:
        order = _value_texts(keys["order"], "order")
    groups = keys.get("groups", 2)
    sizes = _as_list(groups)
    if not all(type(size) is int for size in sizes):
        raise BadInput(
            f"groups = {groups!r} is not a number of neighbours", hint="Such as 2, or [2, 4]"
        )
    repeated_values = [value for value, times in Counter(order).items() if times > 1]
    if repeated_values:
        raise BadInput(f"the order has {', '.join(map(repr, repeated_values))} twice")
    if not order:
        hint = 'Name all values from low to high, such as ["A", "B", "C", "D"]'
        raise BadInput("order = [] names no value", hint=hint)
    if not sizes or min(sizes) < 2:
        raise BadInput(
            f"groups = {list(sizes)} does not say how many neighbours to join",
            hint="Such as 2, or [2, 4]",
        )
    for small, large in pairwise(sizes):
        if large % small or large == small:
            hint = "Each number must be a multiple of the one before, such as [2, 4]"
            raise BadInput(f"groups of {large} cannot be made of groups of {small}", hint=hint)
    position_by_value = {value: position for position, value in enumerate(order)}

    def group_label(position: int, size: int) -> str:
        members = order[position // size * size :][:size]
        if len(members) > 1:
            return f"[{members[0]}, {members[-1]}]"
        return members[0]

    def labels(text: str) -> LabelsAbove | None:
        position = position_by_value.get(text)
        if position is None:
            return None
        return tuple(group_label(position, size) for size in sizes)

    return HierarchyRule(len(sizes), labels, leaves=order)


def _sorted_texts(texts: Texts) -> tuple[str, ...]:
    numbers = {text: as_number(text) for text in texts}
    numeric = None not in numbers.values()
    return tuple(sorted(numbers, key=lambda text: (numbers[text] if numeric else 0, text)))


def frequent_value_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """Frequent values keep their name on each level; all other values share one label."""
    levels = [_value_texts(level, "keep") for level in _lists_by_level(keys["keep"])]
    rest = str(keys.get("rest", "(other)"))
    if not levels or not all(levels):
        raise BadInput(
            "keep = [] names no value",
            hint='Name the values that keep their name, such as ["Private"]',
        )
    for fine, coarse in pairwise(levels):
        if not set(coarse) <= set(fine) or len(coarse) == len(fine):
            raise BadInput(
                "the coarser level of keep must leave values out and add none; it has "
                f"{outside(', '.join(coarse))}",
                hint=f"The finer one has {outside(', '.join(fine))}",
            )
    if any(rest in names for names in levels):
        raise BadInput(
            f"{rest!r} is both a value that keeps its name and the label of the rest",
            hint="Rename the rest",
        )
    named_values = [frozenset(names) for names in levels]
    return HierarchyRule(
        len(named_values),
        lambda text: tuple(text if text in names else rest for names in named_values),
    )


def _value_texts(raw: Any, key: str) -> tuple[str, ...]:
    if not isinstance(raw, (list, tuple)):
        raise BadInput(f"{key} = {quoted(raw)} is not a list of values")
    return tuple(name for name in map(as_text, raw) if name is not None)


# --- taxonomy -------------------------------------------------------------------------------------
# A tree of names, given as a nested mapping or as indented text:
#
#     Technical                     {"Technical": ["Tech-support", "Craft-repair"],
#         Tech-support               "Other": ["Other-service"]}
#         Craft-repair
#     Other
#         Other-service
#
# Each level cuts the tree one step closer to the root. A value above the deepest level keeps its
# own name until the cut reaches it, so branches may differ in depth.
Path = tuple[str, ...]
"""The names from the root down to the name itself."""


def taxonomy_rule(keys: Keys, _: Texts) -> HierarchyRule:
    """A taxonomy: nested groups of values, or text whose indentation shows the nesting.

    A nested mapping assigns to each group a list of values or a mapping of smaller groups.
    """
    spec = keys["taxonomy"]
    if not isinstance(spec, (str, Mapping)):
        raise BadInput(f"taxonomy = {spec!r} is neither a table of groups nor indented text")
    paths = _paths_by_name(
        _indented_paths(spec) if isinstance(spec, str) else _tree_paths(spec, ())
    )
    if not paths:
        raise BadInput("the taxonomy is empty", hint="Name groups and the values in them")
    levels = max(map(len, paths.values())) - 1
    groups = {path[:-1] for path in paths.values()}

    def labels(text: str) -> LabelsAbove | None:
        path = paths.get(text)
        return path and tuple(path[min(len(path), depth) - 1] for depth in range(levels, 0, -1))

    return HierarchyRule(
        levels, labels, leaves=tuple(name for name, path in paths.items() if path not in groups)
    )


def _tree_paths(tree: Any, above: Path) -> Iterator[Path]:
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield (*above, str(name))
            yield from _tree_paths(inner, (*above, str(name)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for value in tree:
            yield from (
                _tree_paths(value, above)
                if isinstance(value, Mapping)
                else [(*above, _leaf_name(value, above))]
            )
    elif tree is not None:
        yield (*above, _leaf_name(tree, above))


def _leaf_name(value: Any, above: Path) -> str:
    name = as_text(value)
    if name is None or isinstance(value, (list, tuple, set)):
        raise BadInput(
            f"the taxonomy has {quoted(value)} under {outside(' / '.join(above))}",
            hint="A value is a text or a number",
        )
    return name


def _indented_paths(text: str) -> Iterator[Path]:
    """Paths in an indented text; blank lines and lines that begin with # are skipped."""
    stack: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        indent = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())
        outer_widths = [width for width, _ in stack if width < indent]
        if len(outer_widths) < len(stack) and stack[len(outer_widths)][0] != indent:
            raise BadInput(
                f"line {number} of the taxonomy, {name!r}, is indented by {indent}, like no line "
                "above it",
                hint="Give the members of a group the same indentation",
            )
        stack = [*stack[: len(outer_widths)], (indent, name)]
        yield tuple(outer for _, outer in stack)


def _paths_by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Paths by their last name.

    A value may have the name of its own group (Other in Other). Any other repeated name raises an
    error.
    """
    path_by_name: dict[str, Path] = {}
    for path in paths:
        name = path[-1]
        if name in path_by_name and path_by_name[name] != path[:-1]:
            raise BadInput(
                f"the taxonomy has {name!r} in two places: "
                f"{outside(' / '.join(path_by_name[name]))} "
                f"and {outside(' / '.join(path))}",
                hint="A name has one place: rename one of them",
            )
        path_by_name[name] = path
    return path_by_name
