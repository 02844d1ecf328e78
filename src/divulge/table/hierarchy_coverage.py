# SPDX-License-Identifier: Apache-2.0
"""Does every value of the data have its row in its hierarchy? All gaps of all columns are named at once, each with a rule that fills it.

A hierarchy that misses a value is the complaint heard most often about every tool of this kind; so the answer says not only what is
missing but what to write where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge.errors import BadInput
from divulge.table.hierarchy import SUPPRESSED, Hierarchy
from divulge.table.numbers import as_number
from divulge.table.texts import as_text, toml_key

_SHOWN = 20
_ALIKE_SHOWN = 3


@dataclass(frozen=True)
class Gap:
    """The values of one column that its hierarchy does not have, and what would add them."""

    column: str
    missing: tuple[str, ...]
    rule: str

    def __str__(self) -> str:
        shown = ", ".join(repr(value) for value in self.missing[:_SHOWN])
        more = f" and {len(self.missing) - _SHOWN} more" if len(self.missing) > _SHOWN else ""
        noun = "value" if len(self.missing) == 1 else "values"
        return f"the hierarchy of {self.column!r} misses {len(self.missing)} {noun}: {shown}{more} ({self.rule})"


def check_coverage(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]) -> None:
    """Refuse if a column has values that its hierarchy lacks; a column without a hierarchy is left alone."""
    gaps = find_gaps(hierarchies, values)
    if gaps:
        raise BadInput("; ".join(str(gap) for gap in gaps))


def find_gaps(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]) -> list[Gap]:
    """Every column whose hierarchy lacks values of the data."""
    gaps: list[Gap] = []
    for column, hierarchy in hierarchies.items():
        missing = tuple(dict.fromkeys(hierarchy.missing([as_text(value) for value in values.get(column, ())])))
        if missing:
            gaps.append(Gap(column, missing, _rule(hierarchy, missing)))
    return gaps


def _rule(hierarchy: Hierarchy, missing: Sequence[str]) -> str:
    """What to write so that nothing is missing any more."""
    known = {_plain(value): value for value in hierarchy.rows if value is not None}
    alike = {value: known[_plain(value)] for value in missing if _plain(value) in known}
    rest = [value for value in missing if value not in alike]
    rules = [
        f"{value!r} is written {there!r} there, write both alike" for value, there in list(alike.items())[:_ALIKE_SHOWN]
    ]
    if rest and all(isinstance(plain, Fraction) for plain in (*known, *map(_plain, rest))):
        rules.append(f"build it for any number with [hierarchies.{toml_key(hierarchy.column)}] intervals = [5, 10, 20]")
    elif rest:
        rows = [";".join((value, *[SUPPRESSED] * hierarchy.height)) for value in rest if value]
        add = [f"add a row for each, such as {rows[0]}"] if rows else []
        rules.append(" or ".join((*add, f'put them under one label with other = "{SUPPRESSED}"')))
    return "; ".join(rules)


def _plain(value: str) -> str | Fraction:
    """The same for values that differ only in blanks, in upper and lower case, or in how a number is written."""
    number = as_number(value.strip())
    return value.strip().casefold() if number is None else number
