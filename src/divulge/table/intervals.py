# SPDX-License-Identifier: Apache-2.0
"""Ranges of numbers, left-closed: what they contain, how they are written, and how they are read back.

`[20, 30)` holds 20 and not 30; `<20` and `>=90` are open to one side. ARX writes `[20, 30[` for the same range, which is read too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from divulge.errors import BadInput, InternalError
from divulge.table.numbers import as_number, number_text

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
    if found := _BELOW.fullmatch(label):
        bound = as_number(found[1])
        return None if bound is None else Interval(None, bound)
    if found := _FROM.fullmatch(label):
        bound = as_number(found[1])
        return None if bound is None else Interval(bound, None)
    return None
