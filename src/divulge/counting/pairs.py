# SPDX-License-Identifier: Apache-2.0
"""Frequencies of the values of columns, and of the pairs of values of two columns.

Distances and associations need no more. One statement counts the columns, and as few as possible
the pairs. The result grows with the values, not with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pyarrow as pa

from divulge.arrays import Floats, Ints
from divulge.counting.contingency import Domain
from divulge.counting.encoding import domain_codes, encode
from divulge.errors import BadInput
from divulge.sources import Table

Pair = tuple[str, str]
_SETS_PER_STATEMENT = 32
"""Grouping sets of one statement."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Columns of a table, counted singly and in pairs."""

    records: int
    """Number of rows."""
    columns: Mapping[str, tuple[Domain, Ints]] = field(repr=False)
    """Values of each column, and their frequencies."""
    cells: Mapping[Pair, tuple[Ints, Ints, Ints]] = field(repr=False)
    """Pairs of codes that occur in each counted pair of columns, and their frequencies."""

    def domain(self, name: str) -> Domain:
        """Return the values of a column."""
        return self.columns[name][0]

    def counts(self, name: str) -> Floats:
        """Return the number of rows with each value of a column."""
        return self.columns[name][1].astype(np.float64)

    def together(self, left: str, right: str) -> Floats:
        """Return the number of rows with each pair of values."""
        pair_counts = np.zeros((len(self.domain(left)), len(self.domain(right))))
        lefts, rights, count = self.cells[left, right]
        pair_counts[lefts, rights] = count
        return pair_counts


def count_pairs(
    table: Table, names: Sequence[str], *, is_wanted: Callable[[Domain, Domain], bool]
) -> PairCounts:
    """Count columns of a table, and those pairs of them for which `is_wanted` is true."""
    columns: dict[str, tuple[Domain, Ints]] = {}
    for (name,), (cells,), n in _count_sets(table, [(name,) for name in names]):
        encoded = encode(cells, name=name, kind=table.column(name).kind)
        count = np.zeros(encoded.value_count, dtype=np.int64)
        count[encoded.codes] = n
        columns[name] = encoded.domain, count
    rows = int(next(iter(columns.values()))[1].sum())
    if not rows:
        raise BadInput(
            f"{table.source} has no rows", hint="There is nothing to compare in an empty table"
        )
    domains = {name: domain for name, (domain, _) in columns.items()}
    pairs = [
        pair for pair in combinations(names, 2) if is_wanted(domains[pair[0]], domains[pair[1]])
    ]
    codes_by_pair = {
        (left, right): (domain_codes(domains[left], lefts), domain_codes(domains[right], rights), n)
        for (left, right), (lefts, rights), n in _count_sets(table, pairs)
    }
    return PairCounts(rows, columns, codes_by_pair)


def _count_sets(
    table: Table, sets: Sequence[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], list[pa.ChunkedArray], Ints]]:
    """Yield the distinct rows of each set of columns, column by column, and their frequencies."""
    for begin in range(0, len(sets), _SETS_PER_STATEMENT):
        sets_of_statement = sets[begin : begin + _SETS_PER_STATEMENT]
        used_names = list(dict.fromkeys(name for names in sets_of_statement for name in names))
        quoted = {name: table.engine.quote(name) for name in used_names}
        alias = {name: f"c{number}" for number, name in enumerate(used_names)}
        selected = [f"{quoted[name]} AS {alias[name]}" for name in used_names]
        # A null may be a value, or mean that the column is not in the set. Only the number of the
        # set decides.
        inside = " ".join(
            "WHEN "
            f"{' AND '.join(f'GROUPING({quoted[name]}) = {int(name not in names)}' for name in used_names)} THEN {number}"  # noqa: E501
            for number, names in enumerate(sets_of_statement)
        )
        grouping_sets = ", ".join(
            "(" + ", ".join(quoted[name] for name in names) + ")" for names in sets_of_statement
        )
        counts_table = table.engine.query(
            f"SELECT {', '.join(selected)}, CASE {inside} END AS part, COUNT(*) AS n "
            f"FROM {table.relation} GROUP BY GROUPING SETS ({grouping_sets})"
        )
        part = counts_table.column("part").to_numpy()
        for number, names in enumerate(sets_of_statement):
            set_counts = counts_table.filter(pa.array(part == number))
            yield (
                names,
                [set_counts.column(alias[name]) for name in names],
                set_counts.column("n").to_numpy().astype(np.int64),
            )
