# SPDX-License-Identifier: Apache-2.0
"""Texts of values, numbers and intervals, and TOML.

Values are matched by their text with the user's files: hierarchies, priors, orders, policies.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable as AnyIterable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from divulge.arguments import outside
from divulge.errors import BadInput, InternalError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DEEPEST_TABLE = 3
"""Depth of [promises.attributes.disease]; deeper mappings are written inside a line."""


def as_text(label: Any) -> str | None:
    """Return the value's text: whole floats as integers, dates as ISO dates; null stays null.

    >>> as_text(39.0), as_text(None)
    ('39', None)
    """
    if label is None:
        return None
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def as_names(names: str | AnyIterable[str] | None) -> tuple[str, ...]:
    """Return one name, several names or None as a tuple."""
    if names is None:
        return ()
    if isinstance(names, str):
        return (names,)
    return tuple(names)


def count_with_noun(count: int, singular: str, many: str) -> str:
    """Format a number with its noun.

    >>> count_with_noun(1, "person", "people"), count_with_noun(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    if count == 1:
        return f"1 {singular}"
    return f"{count:,} {many}"


def class_name(key: Mapping[str, Any]) -> str:
    """Name an equivalence class by its values: zip=476**, age=2*."""
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in key.items())


_INVISIBLE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp", "Zs"))
"""Unicode categories of characters that cannot be seen.

Controls, marks that change the direction of writing or have no width, lone surrogates, and blanks
other than the usual one.
"""


def visible(text: str) -> str:
    r"""Escape characters of a text that cannot be seen, or that change how others are read.

    >>> print(visible("x\u202ey\n"))
    x\u202ey\n
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape_character(letter) if _is_invisible(letter) else letter for letter in text
    )


def _is_invisible(letter: str) -> bool:
    return letter != " " and unicodedata.category(letter) in _INVISIBLE_CATEGORIES


def _escape_character(letter: str) -> str:
    if letter.isascii():
        return repr(letter)[1:-1]
    return f"\\u{ord(letter):04x}"


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text.

    Raises:
        ValueError: With one line about what cannot be read.

    Whole numbers must have at most 64 bits, as TOML requires. Python parses longer ones, but can
    neither compute with them nor write them.
    """
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, (dict, list)):
            if isinstance(value, dict):
                left += value.values()
            else:
                left += value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("a whole number in it has more than 64 bits")
    return document


def toml_key(name: str) -> str:
    """Format a name as a key of a TOML file.

    >>> toml_key("marital-status"), toml_key("date of birth")
    ('marital-status', '"date of birth"')
    """
    if _BARE_KEY.fullmatch(name):
        return name
    return toml_value(name)


def toml_value(value: Any) -> str:
    """Format a text, number, truth value, or lists and tables of them, as a TOML value.

    >>> toml_value({"order": ["A", "B"], "groups": 2})
    '{order = ["A", "B"], groups = 2}'
    """
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # JSON escapes the same characters as a basic text of TOML, except DEL, which TOML wants escaped
    # too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(document: Mapping[str, Any]) -> str:
    """Format a document, such as a policy, as a TOML file.

    Values come first, then a table for each mapping in it. Entries that are None are left out.

    >>> print(
    ...     toml_text(
    ...         {
    ...             "promises": {"k_anonymity": 5},
    ...             "sensitive": ["disease"],
    ...             "protect": [{"where": {"age": ">75"}}],
    ...         }
    ...     ),
    ...     end="",
    ... )
    sensitive = ["disease"]
    <BLANKLINE>
    [promises]
    k_anonymity = 5
    <BLANKLINE>
    [[protect]]
    where = {age = ">75"}
    """
    return "\n".join(_toml_lines(document, ())).strip("\n") + "\n"


def _toml_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    entries = {key: value for key, value in table.items() if value is not None}
    inner = {
        key: value
        for key, value in entries.items()
        if isinstance(value, Mapping) and len(path) < _DEEPEST_TABLE
    }
    several = {
        key: value for key, value in entries.items() if not path and _is_list_of_tables(value)
    }
    for key, value in entries.items():
        if key not in inner and key not in several:
            yield f"{toml_key(key)} = {toml_value(value)}"
    for key, value in inner.items():
        table_path = (*path, toml_key(key))
        if (
            not value
            or any(not isinstance(entry, Mapping) for entry in value.values())
            or len(table_path) == _DEEPEST_TABLE
        ):
            yield from ("", f"[{'.'.join(table_path)}]")
        yield from _toml_lines(value, table_path)
    for key, tables in several.items():
        for entry in tables:
            yield from (
                "",
                f"[[{toml_key(key)}]]",
                *(f"{toml_key(name)} = {toml_value(item)}" for name, item in entry.items()),
            )


def _is_list_of_tables(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, Mapping) for entry in value)
    )


# --- numbers --------------------------------------------------------------------------------------
# Binary floats put 0.3 below 3 * 0.1, so a value on a bound would fall into the wrong range.
# Fractions do not.
_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?")
_MAX_NUMBER_LENGTH = 400
"""Longest text of a number, in characters: the longest that a 64-bit float needs.

Texts of thousands of digits are not numbers of a table, and Python does not print them.
"""


def as_number(text: str) -> Fraction | None:
    """Parse the exact finite number that a text writes; None if it writes no number.

    >>> as_number("0.1"), as_number("-3"), as_number("1e3"), as_number("ten")
    (Fraction(1, 10), Fraction(-3, 1), Fraction(1000, 1), None)
    """
    if len(text) <= _MAX_NUMBER_LENGTH and _NUMBER.fullmatch(text):
        return Fraction(Decimal(text))
    return None


def number_text(number: Fraction) -> str:
    """Return the shortest decimal text of a number with finitely many decimals.

    >>> number_text(Fraction(-5, 2)), number_text(Fraction(20)), number_text(Fraction(1, 1000))
    ('-2.5', '20', '0.001')
    """
    places = next(
        (n for n in range(number.denominator.bit_length()) if 10**n % number.denominator == 0), None
    )
    if places is None:
        raise BadInput(f"{number} has no finite decimal text")
    digits = str(abs(number.numerator) * (10**places // number.denominator)).rjust(places + 1, "0")
    if number < 0:
        sign = "-"
    else:
        sign = ""
    if places:
        return f"{sign}{digits[:-places]}.{digits[-places:]}"
    return f"{sign}{digits}"


# --- intervals ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`; None means no bound on that side.

    `low` is included, `high` only if the interval is closed.
    """

    low: Fraction | None
    high: Fraction | None
    closed: bool = False

    def __post_init__(self) -> None:
        if self.low is None or self.high is None or self.low < self.high:
            return
        if self.low > self.high or not self.closed:
            raise BadInput(
                f"a range from {outside(number_text(self.low))} up to "
                f"{outside(number_text(self.high))} holds no "
                "number"
            )

    def __contains__(self, number: Fraction) -> bool:
        return (self.low is None or self.low <= number) and self._ends_after(number)

    def _ends_after(self, number: Fraction) -> bool:
        return self.high is None or number < self.high or (self.closed and number == self.high)

    def overlaps(self, other: Interval) -> bool:
        """Report whether a number is in both intervals.

        >>> decade = Interval(Fraction(20), Fraction(30))
        >>> decade.overlaps(Interval(Fraction(30), None)), decade.overlaps(decade)
        (False, True)
        """
        return (self.low is None or other._ends_after(self.low)) and (
            other.low is None or self._ends_after(other.low)
        )

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            bracket = "]" if self.closed else ")"
            return f"[{number_text(self.low)}, {number_text(self.high)}{bracket}"
        if self.low is not None:
            return f">={number_text(self.low)}"
        if self.high is not None:
            return f"<{number_text(self.high)}"
        raise InternalError("a range without bounds has no label")
