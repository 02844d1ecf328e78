# SPDX-License-Identifier: Apache-2.0
"""How a hierarchy is asked for: a small table of keys, the same in a policy file, on the command line and in Python.

    [hierarchies]
    age = {intervals = [5, 10, 20], bottom = 20, top = 90}
    income = {cuts = [[1000, 2000, 4000, 8000], [2000, 8000]]}
    zip = {prefix = true}
    birth = {dates = ["month", "year", "decade"]}
    grade = {order = ["A", "B", "C", "D"], groups = 2}
    job = {file = "job.csv", other = "*"}

One key says what kind of levels they are; others belong to that kind. An unknown key, or one of another kind, is refused: a word that
is ignored is a mistake that is not seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from divulge.errors import BadInput, nearest
from divulge.table.hierarchy_dates import Dates
from divulge.table.hierarchy_numbers import CutRanges, EndCoding, Widths
from divulge.table.hierarchy_taxonomy import taxonomy_of, taxonomy_of_text
from divulge.table.hierarchy_words import Frequent, Prefix, Scale
from divulge.table.numbers import as_number
from divulge.table.texts import as_text


class HierarchyRule(Protocol):
    """What gives a value its labels."""

    @property
    def levels(self) -> int:
        """How many levels it makes above the values themselves."""

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The labels of a value on these levels; None if the value does not fit."""


@dataclass(frozen=True)
class Nothing:
    """No level between the values and their suppression."""

    levels: int = 0

    def labels(self, text: str) -> tuple[str, ...] | None:  # noqa: ARG002 - as all rules
        """No labels."""
        return ()


Texts = Sequence[str]
"""The values of the data, without null."""


def make_rule(spec: Mapping[str, Any], texts: Texts) -> HierarchyRule:
    """The rule that a table of keys asks for; `texts` are the values, which prefix = true and order = true look at."""
    kinds = [key for key in spec if key in _KINDS]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(kinds)} are two kinds of levels", hint="Give one of them")
    kind = kinds[0] if kinds else "coding" if {"bottom", "top"} & set(spec) else "nothing"
    allowed = {kind, *_COMPANIONS.get(kind, ()), *COMMON}
    for key in spec:
        if key not in allowed:
            elsewhere = [name for name, companions in _COMPANIONS.items() if key in companions]
            hint = f"{key!r} goes with {' or '.join(elsewhere)}" if elsewhere else nearest(str(key), sorted(KEYS))
            raise BadInput(f"{key!r} has no meaning here", hint=hint)
    return _MAKERS[kind](spec, texts)


def parse_inline(text: str) -> Mapping[str, Any]:
    """A table of keys as it is written on the command line: '{intervals = [5, 10], top = 90}'."""
    try:
        spec: Mapping[str, Any] = tomllib.loads(f"spec = {text}")["spec"]
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            f"the rule {text!r} is not a TOML table: {error}", hint="Such as '{intervals = [5, 10, 20]}'"
        ) from None
    return spec


def numbers_of(given: Any, key: str) -> tuple[Fraction, ...]:
    """One number or several, exactly as they are written."""
    several = given if isinstance(given, (list, tuple)) else [given]
    return tuple(_number(number, key) for number in several)


def _number(given: Any, key: str) -> Fraction:
    number = None if isinstance(given, bool) else as_number(str(given))
    if number is None:
        raise BadInput(f"{key} = {given!r} is not a number")
    return number


def _bound(spec: Mapping[str, Any], key: str) -> Fraction | None:
    return None if key not in spec else _number(spec[key], key)


def _coding(spec: Mapping[str, Any], _: Texts = ()) -> EndCoding:
    return EndCoding(_bound(spec, "bottom"), _bound(spec, "top"))


def _widths(spec: Mapping[str, Any], _: Texts) -> Widths:
    return Widths(numbers_of(spec["intervals"], "intervals"), _bound(spec, "start") or Fraction(0), _coding(spec))


def _cuts(spec: Mapping[str, Any], _: Texts) -> CutRanges:
    given = spec["cuts"]
    nested = isinstance(given, (list, tuple)) and any(isinstance(level, (list, tuple)) for level in given)
    return CutRanges(tuple(numbers_of(level, "cuts") for level in (given if nested else [given])))


def _prefix(spec: Mapping[str, Any], texts: Texts) -> Prefix:
    given = spec["prefix"]
    if given is True:
        longest = max(map(len, texts), default=1)
        return Prefix(tuple(range(longest - 1, 0, -1)) or (0,))
    lengths = given if isinstance(given, (list, tuple)) else [given]
    if not all(isinstance(length, int) and not isinstance(length, bool) for length in lengths):
        raise BadInput(f"prefix = {given!r} is neither true nor a list of lengths", hint="Such as true, or [4, 3, 2]")
    return Prefix(tuple(lengths))


def _dates(spec: Mapping[str, Any], _: Texts) -> Dates:
    given = spec["dates"]
    periods = given if isinstance(given, (list, tuple)) else [given]
    return Dates(tuple(str(period) for period in periods), spec.get("format"))


def _scale(spec: Mapping[str, Any], texts: Texts) -> Scale:
    given = spec["order"]
    if given is True:
        numbers = {text: as_number(text) for text in texts}
        numeric = all(number is not None for number in numbers.values())
        order = tuple(sorted(numbers, key=lambda text: (numbers[text] if numeric else 0, text)))
    else:
        order = _names(given, "order")
    groups = spec.get("groups", 2)
    sizes = groups if isinstance(groups, (list, tuple)) else [groups]
    if not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
        raise BadInput(f"groups = {groups!r} is not a number of neighbours", hint="Such as 2, or [2, 4]")
    return Scale(order, tuple(sizes))


def _taxonomy(spec: Mapping[str, Any], _: Texts) -> HierarchyRule:
    given = spec["taxonomy"]
    if isinstance(given, str):
        return taxonomy_of_text(given)
    if isinstance(given, Mapping):
        return taxonomy_of(given)
    raise BadInput(f"taxonomy = {given!r} is neither a table of groups nor indented text")


def _frequent(spec: Mapping[str, Any], _: Texts) -> Frequent:
    given = spec["keep"]
    nested = isinstance(given, (list, tuple)) and any(isinstance(level, (list, tuple)) for level in given)
    levels = tuple(_names(level, "keep") for level in (given if nested else [given]))
    return Frequent(levels, str(spec["rest"])) if "rest" in spec else Frequent(levels)


def _names(given: Any, key: str) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise BadInput(f"{key} = {given!r} is not a list of values")
    names = [as_text(value) for value in given]
    return tuple(name for name in names if name is not None)


def _nothing(_: Mapping[str, Any], __: Texts) -> Nothing:
    return Nothing()


_MAKERS: Mapping[str, Callable[[Mapping[str, Any], Texts], HierarchyRule]] = {
    "intervals": _widths,
    "cuts": _cuts,
    "prefix": _prefix,
    "dates": _dates,
    "order": _scale,
    "taxonomy": _taxonomy,
    "keep": _frequent,
    "coding": _coding,
    "nothing": _nothing,
}
_KINDS = frozenset(_MAKERS) - {"coding", "nothing"}
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("start", "bottom", "top"),
    "dates": ("format",),
    "order": ("groups",),
    "keep": ("rest",),
    "coding": ("bottom", "top"),
}
COMMON = ("other", "suppress")
"""Keys that go with every kind."""
KEYS = frozenset((*_KINDS, *COMMON, "file", "rows", *(key for keys in _COMPANIONS.values() for key in keys)))
