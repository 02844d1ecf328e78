# SPDX-License-Identifier: Apache-2.0
"""Labels of generalized columns and the values they stand for, counted by hand: every reader of
labels is tested with them.

A one-number range, a bound that belongs to a range and one that does not, a range that ends before
it begins: these are what a reader gets wrong first.
"""

from __future__ import annotations

NUMBERS = tuple("-5 0 19 19.5 20 25 29 29.5 30 33 34 34.5 35 89.9 90 91".split())

HALF_OPEN = {
    "[20, 30)": "20 25 29 29.5",
    "[20,30)": "20 25 29 29.5",
    "[20, 30[": "20 25 29 29.5",
    "[34, 35)": "34 34.5",
    "[34, 34.5)": "34",
    "[-5, 0)": "-5",
}
"""Ranges without their greater end."""

OPEN = {"<20": "-5 0 19 19.5", "< 0": "-5", ">=90": "90 91", ">= 91": "91"}
"""Ranges with one end."""

CLOSED = {
    "[34, 34]": "34",
    "[34,34]": "34",
    "[20, 30]": "20 25 29 29.5 30",
    "[-5, 0]": "-5 0",
    "[29.5, 29.5]": "29.5",
}
"""Ranges with both ends."""

FROM_TO = {
    "34-34": "34",
    "20-29": "20 25 29",
    "20 - 30": "20 25 29 29.5 30",
    "34\u201334": "34",
    "19.5-20": "19.5 20",
}
"""Ranges with both ends, as people write them."""

ONE = {"34": "34", "-5": "-5", "29.5": "29.5"}
"""Numbers."""

UNREADABLE = (
    "[34, 34)",
    "[35, 34)",
    "[35, 34]",
    "35-34",
    "[34, 34[",
    "young",
    ">90",
    "<=20",
    "[a, b]",
    "34-",
)
"""Labels that stand for no numbers; a reader has to say so."""


def values(texts: str) -> frozenset[str]:
    """Return the values of a row of the tables above."""
    return frozenset(texts.split())


CODES = ("0210", "0211", "0219", "0221", "0310", "0311", "1210", "021", "02100")
"""Values of a column of codes, whose labels are masks."""

MASKS = {
    "02**": "0210 0211 0219 0221",
    "021*": "0210 0211 0219",
    "03**": "0310 0311",
    "031*": "0310 0311",
    "0310": "0310",
    "*21*": "0210 0211 0219 1210",
    "0*1*": "0210 0211 0219 0310 0311",
    "****": "0210 0211 0219 0221 0310 0311 1210 021 02100",
}
"""Masks, which hide single characters. What consists of asterisks alone stands for everything."""
