# SPDX-License-Identifier: Apache-2.0
"""An independent checker: Definitions 1 to 4 of Yao et al. 2021 in exact fractions.

It also enumerates every partition of a few records. It shares no code with divulge. `Rows` are
dictionaries; a grouping is a list of lists of row numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, RowCodes
from divulge.anatomization.encoded_rows import rows_of

Rows = list[dict[str, Any]]
Four = tuple[Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Drawn:
    """A small table, the division of its columns, and bounds to satisfy."""

    rows: Rows
    tables: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    bounds: Four

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """The bounds as divulge's model."""
        alpha, beta, gamma, delta = self.bounds
        return AlphaBetaGammaDelta(alpha=alpha, beta=beta, gamma=gamma, delta=delta)

    @property
    def codes(self) -> RowCodes:
        """The rows as divulge's row codes."""
        return rows_of({name: [row[name] for row in self.rows] for name in self.rows[0]})

    @property
    def quasi_identifiers(self) -> list[str]:
        """All columns of the tables."""
        return [name for names in self.tables for name in names]

    def levels(self, group: Sequence[int]) -> Four:
        """The levels of one group of row numbers."""
        members = [self.rows[i] for i in group]
        size = len(members)

        def modal(names: Sequence[str]) -> Fraction:
            return Fraction(
                max(Counter(tuple(row[name] for name in names) for row in members).values()), size
            )

        shares = [modal(names) for names in self.tables]
        secret = [modal([name]) for name in self.sensitive]
        moved = Fraction(0)
        for name in self.sensitive:
            before, here = (
                Counter(row[name] for row in self.rows),
                Counter(row[name] for row in members),
            )
            for value, count in before.items():
                moved = max(
                    moved, abs(Fraction(count, len(self.rows)) - Fraction(here[value], size))
                )
        return max(shares), max(secret), prod(shares) * max(secret), moved

    def satisfies(self, group: Sequence[int]) -> bool:
        """True if the group violates none of the bounds."""
        return all(
            level <= bound for level, bound in zip(self.levels(group), self.bounds, strict=True)
        )

    def has_grouping(self) -> bool:
        """True if some partition of the rows satisfies the bounds in every group."""
        known: dict[tuple[int, ...], bool] = {}

        def group_satisfies(group: list[int]) -> bool:
            key = tuple(group)
            if key not in known:
                known[key] = self.satisfies(group)
            return known[key]

        return any(
            all(group_satisfies(group) for group in groups)
            for groups in partitions(list(range(len(self.rows))))
        )


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Every way to divide items into groups: 1, 1, 2, 5, 15, 52, 203, 877, 4140 ways."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for place in range(len(groups)):
            yield [*groups[:place], [first, *groups[place]], *groups[place + 1 :]]


def as_lists(group: Any) -> list[list[int]]:
    """Convert a group number per record to lists of records."""
    lists: dict[int, list[int]] = {}
    for record, number in enumerate(group.tolist()):
        lists.setdefault(number, []).append(record)
    return list(lists.values())


_BOUNDS = st.sampled_from([Fraction(n, d) for d in range(1, 9) for n in range(d + 1)])
_SMALL = st.one_of(_BOUNDS, st.fractions(min_value=0, max_value=1, max_denominator=40))


def drawn(*, most: int = 7, tables: int = 2, sensitive: int = 2) -> st.SearchStrategy[Drawn]:
    """Tables of up to `most` records with few values, in all divisions.

    The bounds are loose to infeasible.
    """
    names = ["a", "b", "c"]
    secret = ["s", "t"]
    row = st.fixed_dictionaries(
        {name: st.sampled_from([0, 1, 2]) for name in names}
        | {name: st.sampled_from(["x", "y", "z", None]) for name in secret}
    )
    divisions = [(("a", "b", "c"),), (("a",), ("b", "c")), (("a",), ("b",), ("c",)), (("b",),)]
    return st.builds(
        Drawn,
        rows=st.lists(row, min_size=1, max_size=most),
        tables=st.sampled_from([division for division in divisions if len(division) <= tables]),
        sensitive=st.sampled_from([("s",), ("t",), ("s", "t")][: 3 if sensitive > 1 else 1]),
        bounds=st.tuples(_BOUNDS, _BOUNDS, _SMALL, _BOUNDS),
    )


def random_table(rows: int, *, seed: int, skew: float = 1.0) -> Drawn:
    """A few hundred records with skewed columns; no bounds."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, 7) ** -skew
    columns = {
        name: rng.choice(6, size=rows, p=share / share.sum()).tolist()
        for name in ("a", "b", "c", "s", "t")
    }
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    one = Fraction(1)
    return Drawn(records, (("a",), ("b", "c")), ("s",), (one, one, one, one))
