# SPDX-License-Identifier: Apache-2.0
"""An independent oracle for queries: enumerates all reconstructions of small releases.

It shares no code with divulge: tables are lists of rows, and conditions are Python functions with
SQL's three truth values.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from divulge.engines import DuckDBEngine
from divulge.sources import Table, read

Row = Mapping[str, Any]
Truth = bool | None
Rows = list[dict[str, Any]]

COLUMNS = (("a", "b"), ("c", "d"), ("s",))
"""Columns of the three generated tables; b and d may be null."""


@dataclass(frozen=True)
class Asked:
    """A condition as SQL and as a Python function."""

    sql: str
    holds: Callable[[Row], Truth]


@dataclass(frozen=True)
class Exact:
    """Mean and range of a sum over all arrangements."""

    mean: Fraction
    low: int
    high: int


def tables_of(groups: Sequence[Rows], engine: DuckDBEngine) -> list[Table]:
    """Published tables of groups of records: with counts, or without if no row repeats."""
    found = []
    for names in COLUMNS:
        counts = Counter(
            (number, *(row[name] for name in names))
            for number, rows in enumerate(groups, 1)
            for row in rows
        )
        columns: dict[str, Any] = {"GID": [key[0] for key in counts]}
        for place, name in enumerate(names, start=1):
            columns[name] = pa.array([key[place] for key in counts], pa.int64())
        if max(counts.values()) > 1:
            columns["Count"] = list(counts.values())
        found.append(read(pa.table(columns), engine=engine))
    return found


def arrangements(rows: Rows) -> Iterator[Rows]:
    """All ways to recombine the rows of a group."""
    parts = [[{name: row[name] for name in names} for row in rows] for names in COLUMNS]
    for others in itertools.product(*(itertools.permutations(part) for part in parts[1:])):
        yield [
            dict(itertools.chain(*(part.items() for part in pieces)))
            for pieces in zip(parts[0], *others, strict=True)
        ]


def exact_sum(groups: Sequence[Rows], value: Callable[[Row], int]) -> Exact:
    """Mean and range of a sum over all arrangements; groups are arranged independently."""
    mean, low, high = Fraction(0), 0, 0
    for rows in groups:
        sums = [sum(value(row) for row in arranged) for arranged in arrangements(rows)]
        mean += Fraction(sum(sums), len(sums))
        low, high = low + min(sums), high + max(sums)
    return Exact(mean, low, high)


def exact_averages(
    groups: Sequence[Rows], holds: Callable[[Row], Truth], value: Callable[[Row], int]
) -> list[Fraction]:
    """All averages over joint arrangements of all groups; for a few groups only."""
    found = []
    for chosen in itertools.product(*(list(arrangements(rows)) for rows in groups)):
        values = [value(row) for rows in chosen for row in rows if holds(row) is True]
        if values:
            found.append(Fraction(sum(values), len(values)))
    return found


def _compare(name: str, sign: str, bound: int) -> Asked:
    def holds(row: Row) -> Truth:
        found = row[name]
        if found is None:
            return None
        return bool(
            {"=": found == bound, ">": found > bound, "<=": found <= bound, "<>": found != bound}[
                sign
            ]
        )

    return Asked(f"{name} {sign} {bound}", holds)


def _columns(left: str, right: str) -> Asked:
    return Asked(
        f"{left} < {right}",
        lambda row: None if row[left] is None or row[right] is None else row[left] < row[right],
    )


def _both(left: Asked, right: Asked) -> Asked:
    def holds(row: Row) -> Truth:
        found = (left.holds(row), right.holds(row))
        return False if False in found else None if None in found else True

    return Asked(f"({left.sql}) AND ({right.sql})", holds)


def _either(left: Asked, right: Asked) -> Asked:
    def holds(row: Row) -> Truth:
        found = (left.holds(row), right.holds(row))
        return True if True in found else None if None in found else False

    return Asked(f"({left.sql}) OR ({right.sql})", holds)


def _not(one: Asked) -> Asked:
    def holds(row: Row) -> Truth:
        found = one.holds(row)
        return None if found is None else not found

    return Asked(f"NOT ({one.sql})", holds)


_NAMES = [name for names in COLUMNS for name in names]
_numbers = st.integers(0, 2)
_maybe = st.one_of(st.none(), _numbers)
_record = st.fixed_dictionaries(
    {"a": _numbers, "b": _maybe, "c": _numbers, "d": _maybe, "s": _numbers}
)

groups_drawn = st.lists(st.lists(_record, min_size=1, max_size=3), min_size=1, max_size=3)
simple_conditions = st.builds(
    _compare, st.sampled_from(_NAMES), st.sampled_from(["=", ">", "<=", "<>"]), _numbers
)
null_conditions = st.sampled_from("bd").map(
    lambda name: Asked(f"{name} IS NULL", lambda row: row[name] is None)
)
conditions = st.recursive(
    st.one_of(
        simple_conditions,
        null_conditions,
        st.builds(_columns, st.sampled_from("ab"), st.sampled_from("cds")),
    ),
    lambda inner: st.one_of(
        st.builds(_both, inner, inner), st.builds(_either, inner, inner), st.builds(_not, inner)
    ),
    max_leaves=5,
)
conjunctions = st.lists(st.one_of(simple_conditions, null_conditions), min_size=1, max_size=4).map(
    lambda parts: functools.reduce(_both, parts)
)
disjunctions = st.lists(st.one_of(simple_conditions, null_conditions), min_size=1, max_size=4).map(
    lambda parts: functools.reduce(_either, parts)
)
