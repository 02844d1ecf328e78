# SPDX-License-Identifier: Apache-2.0
"""How often each value of some columns occurs, and each pair of values of two of them: all that distances and associations need.

One statement counts the columns, and as few as possible the pairs. What comes back grows with the values, not with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pyarrow as pa

from divulge.arrays import Floats, Ints
from divulge.count.contingency import Domain
from divulge.count.counting import domain_codes, encode
from divulge.errors import BadInput
from divulge.table import Table

Pair = tuple[str, str]
_SETS = 32
"""Grouping sets of one statement."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Columns of a table, counted one by one and two by two."""

    records: int
    """How many rows there are."""
    columns: Mapping[str, tuple[Domain, Ints]] = field(repr=False)
    """For each column its values, and how often each occurs."""
    cells: Mapping[Pair, tuple[Ints, Ints, Ints]] = field(repr=False)
    """For each pair of columns that was counted the pairs of codes that occur, and how often."""

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.columns[name][0]

    def counts(self, name: str) -> Floats:
        """How many rows have each value of a column."""
        return self.columns[name][1].astype(np.float64)

    def together(self, left: str, right: str) -> Floats:
        """How many rows have each pair of values."""
        found = np.zeros((len(self.domain(left)), len(self.domain(right))))
        lefts, rights, count = self.cells[left, right]
        found[lefts, rights] = count
        return found


def count_pairs(table: Table, names: Sequence[str], *, wanted: Callable[[Domain, Domain], bool]) -> PairCounts:
    """Count columns of a table, and those pairs of them whose values are `wanted` together."""
    columns: dict[str, tuple[Domain, Ints]] = {}
    for (name,), (cells,), n in _counted(table, [(name,) for name in names]):
        domain, codes = encode(cells, name=name, kind=table.column(name).kind)
        count = np.zeros(len(domain), dtype=np.int64)
        count[codes] = n
        columns[name] = domain, count
    rows = int(next(iter(columns.values()))[1].sum())
    if not rows:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing to compare in an empty table")
    domains = {name: domain for name, (domain, _) in columns.items()}
    pairs = [pair for pair in combinations(names, 2) if wanted(domains[pair[0]], domains[pair[1]])]
    found = {
        (left, right): (domain_codes(domains[left], lefts), domain_codes(domains[right], rights), n)
        for (left, right), (lefts, rights), n in _counted(table, pairs)
    }
    return PairCounts(rows, columns, found)


def _counted(
    table: Table, sets: Sequence[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], list[pa.ChunkedArray], Ints]]:
    """For each set of columns its distinct rows, column by column, and how often each occurs."""
    for begin in range(0, len(sets), _SETS):
        some = sets[begin : begin + _SETS]
        used = list(dict.fromkeys(name for names in some for name in names))
        quoted = {name: table.engine.quote(name) for name in used}
        place = {name: f"c{number}" for number, name in enumerate(used)}
        selected = [f"{quoted[name]} AS {place[name]}" for name in used]
        # A null may be a value, or say that the column is not in the set: only the number of the set tells.
        inside = " ".join(
            f"WHEN {' AND '.join(f'GROUPING({quoted[name]}) = {int(name not in names)}' for name in used)} THEN {number}"
            for number, names in enumerate(some)
        )
        grouped = ", ".join("(" + ", ".join(quoted[name] for name in names) + ")" for names in some)
        found = table.engine.query(
            f"SELECT {', '.join(selected)}, CASE {inside} END AS part, COUNT(*) AS n "
            f"FROM {table.relation} GROUP BY GROUPING SETS ({grouped})"
        )
        part = found.column("part").to_numpy()
        for number, names in enumerate(some):
            here = found.filter(pa.array(part == number))
            yield names, [here.column(place[name]) for name in names], here.column("n").to_numpy().astype(np.int64)
