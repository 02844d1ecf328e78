# SPDX-License-Identifier: Apache-2.0
"""How a value is written as text wherever it is matched with a file of the user's: hierarchies, priors, orders, policies."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from divulge.errors import BadInput, InternalError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def as_text(label: Any) -> str | None:
    """The value's text: whole floats as integers, dates as ISO dates; null stays null.

    >>> as_text(39.0), as_text(None)
    ('39', None)
    """
    if label is None:
        return None
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def toml_key(name: str) -> str:
    """A name as a key of a TOML file.

    >>> toml_key("marital-status"), toml_key("date of birth")
    ('marital-status', '"date of birth"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, or lists and tables of them, as a value of a TOML file.

    >>> toml_value({"order": ["A", "B"], "groups": 2})
    '{order = ["A", "B"], groups = 2}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # What TOML escapes in a basic text, JSON escapes the same way, but for DEL, which TOML wants escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- numbers ----------------------------------------------------------------------------------------------------------
# Binary floats put 0.3 below 3 * 0.1, so a value on a bound would fall into the wrong range. Fractions do not.
_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?")


def as_number(text: str) -> Fraction | None:
    """The finite number that a text writes, exactly; None where it writes none.

    >>> as_number("0.1"), as_number("-3"), as_number("1e3"), as_number("ten")
    (Fraction(1, 10), Fraction(-3, 1), Fraction(1000, 1), None)
    """
    return Fraction(Decimal(text)) if _NUMBER.fullmatch(text) else None


def number_text(number: Fraction) -> str:
    """The shortest decimal text of a number whose decimals end.

    >>> number_text(Fraction(-5, 2)), number_text(Fraction(20)), number_text(Fraction(1, 1000))
    ('-2.5', '20', '0.001')
    """
    places = next((n for n in range(number.denominator.bit_length()) if 10**n % number.denominator == 0), None)
    if places is None:
        raise BadInput(f"{number} has no finite decimal text")
    digits = str(abs(number.numerator) * (10**places // number.denominator)).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


# --- intervals --------------------------------------------------------------------------------------------------------
# `[20, 30)` holds 20 and not 30; `<20` and `>=90` are open to one side. ARX writes `[20, 30[` for the same range, which is read too.
_CLOSED = re.compile(r"\[\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*[)\[]")
_BELOW = re.compile(r"<\s*([^=\s].*)")
_FROM = re.compile(r">=\s*(.+)")


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` up to, but without, `high`; None is no bound on that side."""

    low: Fraction | None
    high: Fraction | None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise BadInput(f"a range from {number_text(self.low)} up to {number_text(self.high)} holds no number")

    def __contains__(self, number: Fraction) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number < self.high)

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"[{number_text(self.low)}, {number_text(self.high)})"
        if self.low is not None:
            return f">={number_text(self.low)}"
        if self.high is not None:
            return f"<{number_text(self.high)}"
        raise InternalError("a range without bounds has no label")


def parse_interval(label: str) -> Interval | None:
    """The range that a label writes; None where it writes none.

    >>> parse_interval("[20, 30)")
    Interval(low=Fraction(20, 1), high=Fraction(30, 1))
    >>> print(parse_interval("[-5, 0[")), print(parse_interval(">=90")), print(parse_interval("young"))
    [-5, 0)
    >=90
    None
    (None, None, None)
    """
    if found := _CLOSED.fullmatch(label):
        low, high = as_number(found[1]), as_number(found[2])
        return Interval(low, high) if low is not None and high is not None and low < high else None
    if (found := _BELOW.fullmatch(label)) and (bound := as_number(found[1])) is not None:
        return Interval(None, bound)
    if (found := _FROM.fullmatch(label)) and (bound := as_number(found[1])) is not None:
        return Interval(bound, None)
    return None
