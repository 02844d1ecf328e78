# SPDX-License-Identifier: Apache-2.0
"""Meaning of the labels of generalized values: the one parser of labels as they are written.

| label | kind |
|---|---|
| `34`, `2024-02-29`, null | exact |
| `[20, 30)`, `[20, 30[`, `[20, 29]`, `20-29`, `<20`, `>=90` | interval |
| `[2024-01-01, 2024-07-01)`, `2024-02`, `2024-Q1`, `2020s` | dates |
| `476**` | mask |
| `{a, b}` | set |
| `*`, `***` | anything |
| any other text | unknown |

A text of the kind unknown may be a value or the name of a category. It may stand for any value.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

from divulge.hierarchies import Hierarchy
from divulge.text import Interval, as_number, number_text

Text = str | None
"""Text of a cell; None is null."""
LabelKind = Literal["exact", "interval", "dates", "mask", "set", "anything", "unknown"]

_ASTERISKS = re.compile(r"\*+")
_CLOSED_INTERVAL = re.compile(r"\[\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]")
_HALF_OPEN_INTERVAL = re.compile(r"\[\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*[)\[]")
_DASHED_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*[-\u2013]\s*(\d+(?:\.\d+)?)")
_INTERVAL_BELOW = re.compile(r"<\s*([^=\s].*)")
_INTERVAL_FROM = re.compile(r">=\s*(.+)")
_DATE_INTERVAL = re.compile(r"[\[(]\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*([\])\[])")
_YEAR = re.compile(r"[0-9]{4}")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_DECADE = re.compile(r"([0-9]{3})0s")
_LISTED_VALUES = re.compile(r"\{(.*)\}", re.DOTALL)
_DIGITS = re.compile(r"[0-9]+")
_NULL_WORD = "null"
_DATE_LENGTH = len("2024-02-29")
_MAX_PLAIN_NUMBER = 10**15
"""Largest number that programs write without an exponent."""


class Days(NamedTuple):
    """Range of days as ISO dates; both ends are included."""

    first: str
    last: str

    def overlaps(self, other: Days) -> bool:
        """Report whether a day is in both ranges."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class LabelMeaning:
    """Values that a label stands for."""

    label: Text
    kind: LabelKind
    interval: Interval | None = None
    """Range of numbers, for the kind interval."""
    days: Days | None = None
    """Range of days. A date is one day, and a number of four digits may be a year."""
    members: tuple[LabelMeaning, ...] = field(default=(), repr=False)
    """Meanings of which a set is the union."""

    def matches(self, values: ValueIndex) -> set[int] | None:
        """Find the positions of the values that the label may stand for.

        The result is None if the meaning is unknown: the label may stand for every value. Numbers
        and dates are unknown too if none of the values is a number or a date.
        """
        if self.kind == "anything":
            return set(values.all_positions)
        if self.label is None:
            return values.find_value(None)
        if self.kind == "exact":
            return self._match_exact(values)
        if self.interval is not None:
            return values.find_numbers(self.interval)
        if self.days is not None:
            return values.find_days(self.days) if values.has_days else None
        if self.kind == "mask":
            return values.find_masked(self.label)
        if self.kind == "set":
            return values.find_listed(self)
        return None

    def _match_exact(self, values: ValueIndex) -> set[int] | None:
        positions = values.find_value(self.label)
        if self.label == _NULL_WORD:
            return positions or values.find_value(None)
        is_time = len(str(self.label)) > _DATE_LENGTH
        if self.days is not None and not is_time and not values.numbers:
            positions |= values.find_days(self.days)
        if positions or not values.has_texts:
            return positions
        is_number = self.number is not None
        if (is_number and values.has_numbers) or (self.days is not None and values.has_days):
            return positions
        return None if is_number or self.days is not None else positions

    def expand(self, domain: Sequence[Text]) -> frozenset[Text]:
        """Return the values of a domain that the label may stand for.

        >>> sorted(parse_label("20-29").expand(["19", "20", "29", "30"]))
        ['20', '29']
        """
        positions = self.matches(ValueIndex(domain))
        if positions is None:
            return frozenset(domain)
        return frozenset(domain[position] for position in positions)

    def overlaps(self, other: LabelMeaning) -> bool:
        """Report whether the two labels may stand for the same value.

        >>> parse_label("20-29").overlaps(parse_label("30-39"))
        False
        >>> parse_label("young").overlaps(parse_label("30-39"))
        True
        """
        return self.has_common_value(other) is not False

    def has_common_value(self, other: LabelMeaning) -> bool | None:
        """Report whether the two labels have a value in common; None if that is not known.

        A null may be a suppressed cell, so it has a value in common with every label.
        """
        if self.label == other.label or self.label is None or other.label is None:
            return True
        kinds = (self.kind, other.kind)
        if "anything" in kinds:
            return True
        if "unknown" in kinds:
            return None
        if self.kind == "set":
            return self._set_has_common_value(other)
        if other.kind == "set":
            return other._set_has_common_value(self)
        if kinds == ("exact", "exact") and self._key == other._key:
            return True
        if _NULL_WORD in (self.label, other.label):
            return False
        if "mask" in kinds:
            return self._masks_have_common_value(other)
        return self._ranges_have_common_value(other)

    def _ranges_have_common_value(self, other: LabelMeaning) -> bool | None:
        interval = self._as_interval
        other_interval = other._as_interval
        if interval is not None and other_interval is not None:
            return interval.overlaps(other_interval)
        if self.days is not None and other.days is not None:
            return self.days.overlaps(other.days)
        if self.kind == other.kind == "exact":
            return False
        return None

    def _masks_have_common_value(self, other: LabelMeaning) -> bool | None:
        """Compare a mask with a mask, a value, an interval or a range of days.

        Masks of other lengths than a value may stand for its beginning, and codes may have lost
        leading zeros. So texts of different length are compared only by their beginnings.
        """
        if self.kind in ("interval", "dates"):
            return other._masks_have_common_value(self)
        if other.interval is not None:
            return self._mask_has_number_in(other.interval)
        mask = str(self.label)
        if other.days is not None and other.kind == "dates":
            prefix = mask.split("*", maxsplit=1)[0][: len(other.days.first)]
            first = other.days.first[: len(prefix)]
            last = other.days.last[: len(prefix)]
            return None if first <= prefix <= last else False
        text = str(other.label)
        if len(mask) == len(text):
            return all(a == b or "*" in (a, b) for a, b in zip(mask, text, strict=True))
        prefixes = [label.split("*", maxsplit=1)[0].lstrip("0") for label in (mask, text)]
        common_length = min(map(len, prefixes))
        if prefixes[0][:common_length] != prefixes[1][:common_length]:
            return False
        for meaning, prefix, mask_prefix in zip(
            (self, other), prefixes, reversed(prefixes), strict=True
        ):
            if meaning.kind == "exact" and not prefix.startswith(mask_prefix):
                return False
        return None

    def _mask_has_number_in(self, interval: Interval) -> bool | None:
        """Report whether a number in the interval may begin as the mask does.

        Numbers that begin with 47 are in [47, 48), [470, 480), [4700, 4800) and so on. Tiny and
        huge numbers may be written with an exponent, so they may begin with any digits.
        """
        prefix = str(self.label).split("*", maxsplit=1)[0].lstrip("0")
        if _DIGITS.fullmatch(prefix) is None or interval.low is None or interval.low < 1:
            return None
        low = Fraction(prefix)
        if interval.high is None or interval.high > _MAX_PLAIN_NUMBER:
            return None
        while low <= interval.high:
            high = low * (int(prefix) + 1) / int(prefix)
            if interval.overlaps(Interval(low, high)):
                return None
            low *= 10
        return False

    def _set_has_common_value(self, other: LabelMeaning) -> bool | None:
        """Compare a set with a label; a value with commas is in a set with all its pieces."""
        if other.kind == "exact":
            keys = {_key_of_value(piece) for piece in _split_at_commas(str(other.label))}
            if other._key in self._keys or keys <= self._keys:
                return True
            candidates = self._members_beyond_keys if other.days is None else self.members
            return _any_of(member.has_common_value(other) for member in candidates)
        if other.kind != "set":
            return _any_of(member.has_common_value(other) for member in self.members)
        if self._keys & other._keys:
            return True
        return _any_of(
            member.has_common_value(meaning)
            for members, meaning in (
                (self._members_beyond_keys, other),
                (other._members_beyond_keys, self),
            )
            for member in members
        )

    @property
    def is_null(self) -> bool:
        """True for null, and for the word null if it is known to be a value."""
        return self.kind == "exact" and self.label in (None, _NULL_WORD)

    @cached_property
    def number(self) -> Fraction | None:
        """Number that an exact label writes; None if it writes none."""
        if self.kind != "exact" or self.label is None:
            return None
        return as_number(self.label)

    @cached_property
    def _as_interval(self) -> Interval | None:
        if self.number is not None:
            return Interval(self.number, self.number, closed=True)
        return self.interval

    @cached_property
    def _key(self) -> Text:
        return _key_of_value(str(self.label))

    @cached_property
    def _keys(self) -> frozenset[Text]:
        """Keys of the single values of a set."""
        return frozenset(
            _key_of_value(str(member.label)) for member in self.members if member.kind == "exact"
        )

    @cached_property
    def _members_beyond_keys(self) -> tuple[LabelMeaning, ...]:
        """Members of a set that stand for several values, or for a value with commas."""
        return tuple(
            member for member in self.members if member.kind != "exact" or "," in str(member.label)
        )


def _any_of(results: Iterable[bool | None]) -> bool | None:
    """Return True if a result is True, otherwise None if a result is None, otherwise False."""
    is_unknown = False
    for result in results:
        if result:
            return True
        is_unknown = is_unknown or result is None
    return None if is_unknown else False


def _key_of_value(text: str) -> Text:
    """Return a key that is equal for equal values: 34 and 34.0, null and the word null."""
    if text == _NULL_WORD:
        return None
    number = as_number(text)
    if number is None:
        return text
    return number_text(number)


def _split_at_commas(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",")]


# --- parser ---------------------------------------------------------------------------------------
def parse_label(label: Text, *, values: Collection[str] = ()) -> LabelMeaning:
    """Parse a label as it is written.

    Args:
        label: The text of the label; None is null.
        values: Texts that are known to be values. A label without a notation that consists of them
            is exact.

    >>> [parse_label(label).kind for label in ("34", "20-29", "2024-Q1", "476**", "{a, b}")]
    ['exact', 'interval', 'dates', 'mask', 'set']
    """
    if label is None:
        return LabelMeaning(label, "exact")
    if _ASTERISKS.fullmatch(label):
        return LabelMeaning(label, "anything")
    if as_number(label) is not None or is_date(label):
        return _exact_meaning(label)
    if (interval := _parse_interval(label)) is not None:
        return LabelMeaning(label, "interval", interval=interval)
    if (days := _parse_days(label)) is not None:
        return LabelMeaning(label, "dates", days=days)
    if (listed := _LISTED_VALUES.fullmatch(label)) is not None:
        members = tuple(_member_meaning(piece) for piece in _split_at_commas(listed[1]))
        return LabelMeaning(label, "set", members=members)
    if "*" in label:
        return LabelMeaning(label, "mask")
    if values and (label in values or all(map(values.__contains__, _split_at_commas(label)))):
        return _exact_meaning(label)
    return LabelMeaning(label, "unknown")


def meaning_of_values(label: str, values: Iterable[Text]) -> LabelMeaning:
    """Return the meaning of a label that stands for listed values and for what it writes.

    A hierarchy lists values. A label such as `[20, 30)` also stands for the numbers between them.
    """
    members = [_exact_meaning(_NULL_WORD if value is None else value) for value in values]
    notation = parse_label(label)
    if notation.kind == "anything":
        return notation
    if notation.kind != "unknown":
        members.append(notation)
    return LabelMeaning(label, "set", members=tuple(members))


def values_by_label(hierarchy: Hierarchy) -> Mapping[Text, frozenset[Text]]:
    """Map every label of any level of a hierarchy to the values below it."""
    values: dict[Text, set[Text]] = {}
    for value, labels in {None: hierarchy.null_labels, **hierarchy.rows}.items():
        for label in labels:
            values.setdefault(label, set()).add(value)
    return {label: frozenset(label_values) for label, label_values in values.items()}


def _member_meaning(piece: str) -> LabelMeaning:
    """Parse a member of a set, which is a value if it has no notation."""
    meaning = parse_label(piece)
    if meaning.kind == "unknown":
        return _exact_meaning(piece)
    return meaning


def _exact_meaning(text: str) -> LabelMeaning:
    if is_date(text[:_DATE_LENGTH]):
        return LabelMeaning(text, "exact", days=Days(text[:_DATE_LENGTH], text[:_DATE_LENGTH]))
    if _YEAR.fullmatch(text):
        return LabelMeaning(text, "exact", days=Days(f"{text}-01-01", f"{text}-12-31"))
    return LabelMeaning(text, "exact")


def _parse_interval(label: str) -> Interval | None:
    for notation, is_closed in (
        (_HALF_OPEN_INTERVAL, False),
        (_CLOSED_INTERVAL, True),
        (_DASHED_INTERVAL, True),
    ):
        if match := notation.fullmatch(label):
            low = as_number(match[1])
            high = as_number(match[2])
            if low is None or high is None:
                return None
            if low < high or (is_closed and low == high):
                return Interval(low, high, closed=is_closed)
            return None
    if (match := _INTERVAL_BELOW.fullmatch(label)) and (bound := as_number(match[1])) is not None:
        return Interval(None, bound)
    if (match := _INTERVAL_FROM.fullmatch(label)) and (bound := as_number(match[1])) is not None:
        return Interval(bound, None)
    return None


def _parse_days(label: str) -> Days | None:
    """Parse a range of days, a month, a quarter or a decade."""
    if match := _DATE_INTERVAL.fullmatch(label):
        if not (is_date(match[1]) and is_date(match[2])):
            return None
        last = match[2]
        if match[3] != "]" and match[1] < last:
            last = str(dt.date.fromisoformat(last) - dt.timedelta(days=1))
        elif match[3] != "]":
            return None
        return Days(match[1], last) if match[1] <= last else None
    if (match := _MONTH.fullmatch(label)) and "01" <= match[2] <= "12":
        return Days(f"{label}-01", f"{label}-31")
    if match := _QUARTER.fullmatch(label):
        last_month = 3 * int(match[2])
        return Days(f"{match[1]}-{last_month - 2:02d}-01", f"{match[1]}-{last_month:02d}-31")
    if match := _DECADE.fullmatch(label):
        return Days(f"{match[1]}0-01-01", f"{match[1]}9-12-31")
    return None


def is_date(text: str) -> bool:
    """Report whether a text is an ISO date in its usual notation."""
    try:
        return str(dt.date.fromisoformat(text)) == text
    except ValueError:
        return False


# --- values ---------------------------------------------------------------------------------------
class ValueIndex:
    """Index of distinct values, searched by the meanings of labels.

    Its methods return positions of values.
    """

    def __init__(self, values: Sequence[Text], *, numbers: bool = False) -> None:
        """Index the values; with `numbers`, 34 and 34.0 are equal."""
        self.numbers = numbers
        self.values = values
        self.all_positions = list(range(len(values)))
        self.has_texts = any(text is not None for text in values)
        self._positions_by_key: dict[Text, set[int]] = {}
        for position, text in enumerate(values):
            self._positions_by_key.setdefault(self.key(text), set()).add(position)
        parsed = [
            (number, position)
            for position, text in enumerate(values)
            if text and (number := as_number(text)) is not None
        ]
        parsed.sort()
        self.has_numbers = bool(parsed)
        self._numbers = [number for number, _ in parsed]
        self._number_positions = [position for _, position in parsed]
        self._masks: dict[tuple[int, tuple[int, ...]], dict[str, set[int]]] = {}

    def key(self, text: Text) -> Text:
        """Return a key that is equal for equal values."""
        if self.numbers and text is not None and (number := as_number(text)) is not None:
            return number_text(number)
        return text

    @property
    def has_days(self) -> bool:
        """True if a value is a date or a time."""
        return bool(self._days)

    @cached_property
    def _days(self) -> list[tuple[str, int]]:
        return [
            (text[:_DATE_LENGTH], position)
            for position, text in enumerate(self.values)
            if text is not None and is_date(text[:_DATE_LENGTH])
        ]

    @cached_property
    def _values_with_commas(self) -> list[tuple[list[str], int]]:
        return [
            (_split_at_commas(text), position)
            for position, text in enumerate(self.values)
            if text is not None and "," in text
        ]

    def find_value(self, text: Text) -> set[int]:
        """Find the positions of a value."""
        return set(self._positions_by_key.get(self.key(text), ()))

    def find_numbers(self, interval: Interval) -> set[int]:
        """Find the numbers in a range."""
        first = 0
        if interval.low is not None:
            first = bisect_left(self._numbers, interval.low)
        if interval.high is None:
            return set(self._number_positions[first:])
        bisect = bisect_right if interval.closed else bisect_left
        return set(self._number_positions[first : bisect(self._numbers, interval.high)])

    def find_days(self, days: Days) -> set[int]:
        """Find the dates in a range, and times on these dates."""
        return {position for day, position in self._days if days.first <= day <= days.last}

    def find_masked(self, label: str) -> set[int]:
        """Find the values of the label's length that agree with it wherever it has no asterisk.

        If there are none, find values of any length with the same beginning.
        """
        visible_positions = tuple(index for index, letter in enumerate(label) if letter != "*")
        mask_shape = (len(label), visible_positions)
        if mask_shape not in self._masks:
            positions_by_letters: dict[str, set[int]] = {}
            for position, text in enumerate(self.values):
                if text is not None and len(text) == len(label):
                    letters = "".join(text[index] for index in visible_positions)
                    positions_by_letters.setdefault(letters, set()).add(position)
            self._masks[mask_shape] = positions_by_letters
        visible_letters = "".join(label[index] for index in visible_positions)
        same_length = self._masks[mask_shape].get(visible_letters)
        prefix = label.rstrip("*")
        if same_length or "*" in prefix:
            return set(same_length or ())
        return {
            position
            for position, text in enumerate(self.values)
            if text is not None and text.startswith(prefix)
        }

    def find_listed(self, meaning: LabelMeaning) -> set[int]:
        """Find the values of a set.

        A value may itself contain a comma: `{a, b, c}` may list `a` and `b, c`.
        """
        listed = _LISTED_VALUES.fullmatch(str(meaning.label))
        if listed is None:
            return self._find_members(meaning.members)
        parts = listed[1].split(", ")
        positions_of_parts = [self.find_value(part) for part in parts]
        if all(positions_of_parts):
            return set().union(*positions_of_parts)
        pieces = _split_at_commas(listed[1])
        positions = self._find_members(meaning.members)
        for value_pieces, position in self._values_with_commas:
            starts = range(len(pieces) - len(value_pieces) + 1)
            if any(pieces[start : start + len(value_pieces)] == value_pieces for start in starts):
                positions.add(position)
        return positions

    def _find_members(self, members: Iterable[LabelMeaning]) -> set[int]:
        positions: set[int] = set()
        for member in members:
            value_positions = self.find_value(member.label)
            positions |= value_positions or member.matches(self) or set()
        return positions
