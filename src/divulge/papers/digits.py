# SPDX-License-Identifier: Apache-2.0
"""Whether a number of ours is the one that a paper prints: as far as its digits go, and only so far.

What is printed is kept as text, for the text says how many digits count: 0.57 is met by everything from 0.565 to 0.575, and by 0.579 if
somebody cut off instead of rounding; 3/4 and sqrt(8)/12 are met exactly or not at all; ">= 6" is a bound that holds or does not.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Literal

Agreement = Literal["match", "truncated", "holds", "does not hold", "differs"]
_DECIMAL = re.compile(r"-?\d*\.?\d+(?:[eE]-?\d+)?")
_ROOT = re.compile(r"sqrt\((\d+)\)(?:/(\d+))?")
_BOUND = re.compile(r"(<=|>=|<|>)\s*(.+)")
_LEAST = 1e-9
"""What floating point may differ by."""


def agreement(ours: float | str, printed: str) -> Agreement:
    """How our number, or our words, stand to what is printed.

    >>> [agreement(ours, "0.57") for ours in (0.5731, 0.5779, 0.5801)]
    ['match', 'truncated', 'differs']
    >>> agreement(2**0.5 / 6, "sqrt(8)/12"), agreement(0.333, "1/3"), agreement(22, ">= 6"), agreement(0.876, "88%")
    ('match', 'differs', 'holds', 'match')
    >>> agreement("yes", "Yes")
    'differs'
    """
    if isinstance(ours, str):
        return "match" if ours == printed else "differs"
    if bound := _BOUND.fullmatch(printed):
        return "holds" if _kept(ours, bound[1], value_of(bound[2])) else "does not hold"
    text, value = _bare(printed), value_of(printed)
    if not _DECIMAL.fullmatch(text):
        return "match" if math.isclose(ours, value, rel_tol=_LEAST, abs_tol=_LEAST) else "differs"
    unit = unit_of(printed)
    if abs(ours - value) <= unit / 2 + _LEAST:
        return "match"
    cut_off = math.trunc(ours / unit + math.copysign(_LEAST, ours)) * unit
    return "truncated" if math.isclose(cut_off, value, abs_tol=unit * 1e-6) else "differs"


def value_of(printed: str) -> float:
    """The number behind sqrt(8)/12, 3/4, 0.57, 30,162, ~1.85 or 88%.

    >>> value_of("3/4"), value_of("30,162"), value_of("~88%"), round(value_of("sqrt(8)/12"), 4)
    (0.75, 30162.0, 0.88, 0.2357)
    """
    text = _bare(printed)
    if root := _ROOT.fullmatch(text):
        number = math.sqrt(int(root[1])) / int(root[2] or 1)
    else:
        number = float(text) if "e" in text.lower() else float(Fraction(text))
    return number / 100 if printed.endswith("%") else number


def unit_of(printed: str) -> float:
    """The worth of the last digit that is printed.

    >>> unit_of("0.57"), unit_of("8"), unit_of("88%"), unit_of("2.5e-3")
    (0.01, 1.0, 0.01, 0.0001)
    """
    mantissa, _, exponent = _bare(printed).lower().partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent or 0) + (2 if printed.endswith("%") else 0)
    return float(f"1e{-places}")


def is_number(printed: str) -> bool:
    """Whether a number is printed, or words.

    >>> is_number("3/4"), is_number(">= 6"), is_number("yes")
    (True, True, False)
    """
    bound = _BOUND.fullmatch(printed)
    try:
        value_of(bound[2] if bound else printed)
    except ValueError:
        return False
    return True


def _bare(printed: str) -> str:
    return printed.removeprefix("~").removesuffix("%").replace(",", "").strip()


def _kept(ours: float, sign: str, bound: float) -> bool:
    if "<" in sign:
        return ours <= bound + _LEAST if "=" in sign else ours < bound
    return ours >= bound - _LEAST if "=" in sign else ours > bound
