# SPDX-License-Identifier: Apache-2.0
"""What group division is asked: rows as tuples of the tables of the release, the sensitive values, and the model to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from divulge.anatomize.codes import RowCodes, Tuples
from divulge.anatomize.levels import GroupLevels, by_frequency, largest_shift, tally
from divulge.anatomize.model import AlphaBetaGammaDelta, Reached
from divulge.arrays import Codes, Ints, exact_sums
from divulge.count import Domain
from divulge.count.assemble import domain_codes, encode
from divulge.table.table import Kind

if TYPE_CHECKING:
    import pyarrow as pa

Groups = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ranked:
    """A sensitive attribute; the code 0 is the commonest value of the whole table."""

    name: str
    ids: npt.NDArray[np.int32] = field(repr=False)
    totals: Ints = field(repr=False)
    """How many records have each value."""
    prior: Ints = field(repr=False)
    """How many records of the whole table have each value, in descending order: `totals`, unless the records are a part of it."""
    labels: tuple[object, ...] = field(repr=False)

    @property
    def highest(self) -> int:
        """H: the records with the commonest value."""
        return int(self.totals.max())


@dataclass(frozen=True, eq=False)
class SensitiveTotals:
    """The values of a sensitive attribute in the whole table, where the records at hand are a part of it."""

    domain: Domain
    totals: Ints = field(repr=False)
    """How many records of the whole table have each value of the domain."""


def totals_of(counted: pa.Table, *, name: str, kind: Kind) -> SensitiveTotals:
    """From a table of values v, each once, and how many records n have them."""
    domain, codes = encode(counted.column("v"), name=name, kind=kind)
    return SensitiveTotals(domain, exact_sums(codes, counted.column("n").to_numpy(), len(domain)))


@dataclass(frozen=True)
class Commonest:
    """The commonest tuple of a table, or the commonest value of a sensitive attribute."""

    names: tuple[str, ...]
    values: tuple[object, ...]
    records: int
    """How many records have it."""
    distinct: int
    """How many tuples, or values, there are."""


@dataclass(frozen=True)
class WholeTable:
    """All records as one group: what decides whether a grouping can keep the model."""

    model: AlphaBetaGammaDelta
    rows: int
    tables: tuple[Commonest, ...]
    sensitive: tuple[Commonest, ...]
    delta: Fraction = Fraction(0)
    """Above 0 only for a part of a table."""

    @property
    def levels(self) -> Reached:
        """The least alpha and beta that any grouping can promise, and the gamma of this one."""
        shares = [Fraction(table.records, self.rows) for table in self.tables]
        beta = Fraction(max(attribute.records for attribute in self.sensitive), self.rows)
        return Reached(max(shares), beta, prod(shares, start=beta), self.delta)


@dataclass(frozen=True, eq=False)
class GroupingProblem:
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
    def whole(self) -> Reached:
        """The levels of one group that holds every record."""
        return self.as_one.levels

    @cached_property
    def as_one(self) -> WholeTable:
        """One group that holds every record."""
        everybody = self.measure(np.zeros(len(self), dtype=np.int32), groups=1)
        tables = tuple(
            self._commonest(names, table.ids, table.distinct)
            for names, table in zip(self.names, self.tables, strict=True)
        )
        sensitive = tuple(
            self._commonest((attribute.name,), attribute.ids, int(np.count_nonzero(attribute.totals)))
            for attribute in self.sensitive
        )
        return WholeTable(self.model, len(self), tables, sensitive, everybody.worst().delta)

    @cached_property
    def table_rows(self) -> int:
        """The records of the whole table, whose shares are the prior of delta."""
        return int(self.sensitive[0].prior.sum())

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
            shift.append(largest_shift(ranked, sizes, attribute.prior, rows=self.table_rows))
        return GroupLevels(self.table_rows, sizes, tuple(modal), tuple(common), tuple(shift))

    def _commonest(self, names: tuple[str, ...], ids: Codes, distinct: int) -> Commonest:
        counts = np.bincount(ids)
        row = np.flatnonzero(ids == counts.argmax())[:1]
        values = tuple(self.rows.values(name, row)[0].as_py() for name in names)
        return Commonest(names, values, int(counts.max()), distinct)


def problem_of(
    rows: RowCodes,
    *,
    tables: Sequence[Sequence[str]],
    sensitive: Sequence[str],
    model: AlphaBetaGammaDelta,
    totals: Mapping[str, SensitiveTotals] | None = None,
) -> GroupingProblem:
    """Number the tuples of each table, and the sensitive values by frequency; `totals` is for rows that are a chunk of a table."""
    return GroupingProblem(
        model=model,
        names=tuple(tuple(names) for names in tables),
        tables=tuple(rows.tuples(names) for names in tables),
        sensitive=tuple(
            _ranked(rows, name) if totals is None else _ranked_by(totals[name], rows, name) for name in sensitive
        ),
        rows=rows,
    )


def _ranked(rows: RowCodes, name: str) -> Ranked:
    codes, domain = rows.column(name), rows.domain(name)
    rank, totals = by_frequency(np.bincount(codes, minlength=len(domain)))
    order = np.argsort(rank)
    present = int(np.count_nonzero(totals))  # a part of the rows may lack values of the domain
    labels = tuple(domain.labels[code] for code in order[:present].tolist())
    return Ranked(name, rank.astype(np.int32)[codes], totals[:present], totals[:present], labels)


def _ranked_by(whole: SensitiveTotals, rows: RowCodes, name: str) -> Ranked:
    """The values ranked as in the whole table, some of which these rows may lack."""
    rank, ordered = by_frequency(whole.totals)
    own = rank.astype(np.int32)[domain_codes(whole.domain, rows.domain(name).values)]
    ids = own[rows.column(name)]
    labels = tuple(whole.domain.labels[code] for code in np.argsort(rank).tolist())
    return Ranked(name, ids, np.bincount(ids, minlength=len(ordered)), ordered, labels)
