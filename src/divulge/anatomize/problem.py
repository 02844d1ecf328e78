# SPDX-License-Identifier: Apache-2.0
"""What group division is asked: rows as tuples of the tables of the release, the sensitive values, and the model to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from divulge.anatomize.codes import Codes, Ints, RowCodes, Tuples
from divulge.anatomize.levels import GroupLevels, by_frequency, largest_shift, tally
from divulge.anatomize.model import AlphaBetaGammaDelta, Levels

Groups = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ranked:
    """A sensitive attribute; the code 0 is its commonest value."""

    name: str
    ids: npt.NDArray[np.int32] = field(repr=False)
    totals: Ints = field(repr=False)
    """How many records have each value, in descending order."""
    labels: tuple[object, ...] = field(repr=False)

    @property
    def highest(self) -> int:
        """H: the records with the commonest value."""
        return int(self.totals[0])


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to be grouped so that every group keeps the model."""

    model: AlphaBetaGammaDelta
    names: tuple[tuple[str, ...], ...]
    """The columns of each table of quasi-identifiers."""
    tables: tuple[Tuples, ...] = field(repr=False)
    sensitive: tuple[Ranked, ...]
    rows: RowCodes = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def whole(self) -> Levels:
        """The levels of one group that holds every record: the least alpha and beta that any grouping can promise."""
        return self.measure(np.zeros(len(self), dtype=np.int32), groups=1).worst()

    @cached_property
    def commonest(self) -> tuple[int, ...]:
        """For each table of quasi-identifiers, the records with its commonest tuple."""
        return tuple(int(np.bincount(table.ids).max()) for table in self.tables)

    def measure(self, group: Codes, *, groups: int, records: Ints | None = None) -> GroupLevels:
        """What each group shows. With `records`, group[i] is the group of record records[i] (a record may be in several)."""
        chosen = slice(None) if records is None else records
        sizes = np.bincount(group, minlength=groups)
        modal = [tally(group, table.ids[chosen], groups=groups, values=table.distinct).modal() for table in self.tables]
        common, shift = [], []
        for attribute in self.sensitive:
            ranked = tally(group, attribute.ids[chosen], groups=groups, values=len(attribute.totals))
            common.append(ranked.modal())
            shift.append(largest_shift(ranked, sizes, attribute.totals, rows=len(self)))
        return GroupLevels(len(self), sizes, tuple(modal), tuple(common), tuple(shift))


def problem_of(
    rows: RowCodes, *, tables: Sequence[Sequence[str]], sensitive: Sequence[str], model: AlphaBetaGammaDelta
) -> Problem:
    """Number the tuples of each table, and the sensitive values by frequency."""
    return Problem(
        model=model,
        names=tuple(tuple(names) for names in tables),
        tables=tuple(rows.tuples(names) for names in tables),
        sensitive=tuple(_ranked(rows, name) for name in sensitive),
        rows=rows,
    )


def _ranked(rows: RowCodes, name: str) -> Ranked:
    codes, domain = rows.column(name), rows.domain(name)
    rank, totals = by_frequency(np.bincount(codes, minlength=len(domain)))
    order = np.argsort(rank)
    present = int(np.count_nonzero(totals))  # a part of the rows may lack values of the domain
    labels = tuple(domain.labels[code] for code in order[:present].tolist())
    return Ranked(name, rank.astype(np.int32)[codes], totals[:present], labels)
