# SPDX-License-Identifier: Apache-2.0
"""RowCodes: the rows of a table as small integers.

Anatomization assigns records to groups, so it needs rows where the metrics need only counts. Rows that are alike share a cell: each column
becomes, for each cell, the position of its value in a Domain, in a small integer type, and each row the number of its cell. What columns
tell is worked out from the cells, of which there are often few; null is a value of its own. The order of rows in a database means nothing
and may differ from one run to the next, so `read_rows` counts the rows and sorts them by their values: with a seed, the same table gives
the same release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge import arrays
from divulge.anatomy.model import tally
from divulge.arrays import Codes, Ints
from divulge.count import Domain, Nulls, encode
from divulge.engines import Held
from divulge.errors import BadInput, nearest
from divulge.table import Column, Table, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable


# --- scatter ----------------------------------------------------------------------------------------------------------
# Numbers for groups that are made in many places at once: each place numbers its groups from a range of its own, and a keyed
# permutation of all ranges scatters the numbers, so that a number tells neither where its group was made nor which groups were made
# beside it. It is a Feistel network over the next power of four, walked until it stays below the span; it need not withstand who
# knows many of the original numbers: where a group was made says no more about its records than the group does.
_ROUNDS = 6
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
Words = npt.NDArray[np.uint64]


def scatter(numbers: Ints, span: int, *, secret: int) -> Ints:
    """Different numbers below `span` for different numbers below it.

    >>> sorted(scatter(np.arange(10), 10, secret=7).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = ((span - 1).bit_length() + 1) // 2 or 1
    keys = np.random.default_rng(secret).integers(0, 2**63, size=_ROUNDS, dtype=np.uint64)
    found = numbers.astype(np.uint64)
    outside = np.arange(len(found))
    while len(outside):
        found[outside] = _permuted(found[outside], half, keys)
        outside = outside[found[outside] >= span]
    return found.astype(np.int64)


def _permuted(numbers: Words, half: int, keys: Words) -> Words:
    """A permutation of the numbers below 4 ** half."""
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = numbers >> shift, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return (left << shift) | right


def _mixed(words: Words) -> Words:
    """The steps by which splitmix64 spreads every bit over the whole word."""
    words = (words ^ (words >> np.uint64(30))) * _MIX[0]
    words = (words ^ (words >> np.uint64(27))) * _MIX[1]
    return words ^ (words >> np.uint64(31))


# --- How much a column tells, and how closely two columns go together (Yao et al. 2021, eqs. 9 and 10) ----------------
# The weight of a column is its entropy in bits. The association of two columns is the mean-square contingency coefficient phi2
# (Cramer's V squared), or V squared with Bergsma's correction (2013): phi2 grows with the number of values even between independent
# columns, so that a column such as a survey weight would draw everything into its table.
Association = Literal["phi2", "cramers_v2"]


@dataclass(frozen=True)
class Together:
    """All that the association of two columns depends on."""

    squares: float
    """The sum of n_ij^2 / (n_i n_j) over the pairs of values that occur."""
    lefts: int
    """Values of the left column ..."""
    rights: int
    """... and of the right one."""
    rows: int


Number = TypeVar("Number", bound=np.generic)


class ColumnCounts(Protocol):
    """Columns that have been counted: rows in memory (RowCodes), or a table on a cluster."""

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """How often values of a column occur: each number that is the count of a value, and how many values have it."""

    def together(self, left: str, right: str) -> Together:
        """How two columns occur together."""


def column_weight(columns: ColumnCounts, name: str) -> float:
    """The entropy of a column in bits (eq. 9)."""
    counts, values = columns.spectrum(name)
    shares = counts / (counts @ values)
    return float(-(values * shares * np.log2(shares)).sum()) + 0.0


def sum_of_squares(counts: Ints, left_totals: Ints, right_totals: Ints) -> float:
    """n_ij^2 / (n_i n_j), summed over some pairs of values: how often each occurs, and how often its two values do."""
    expected = left_totals.astype(np.float64) * right_totals
    return float((counts.astype(np.float64) ** 2 / expected).sum())


def associate(columns: ColumnCounts, left: str, right: str, *, kind: Association = "phi2") -> float:
    """The association of two columns, from 0 (independent) to 1 (one tells the other); 0 where a column has one value only."""
    if kind not in ("phi2", "cramers_v2"):
        raise BadInput(f"there is no association {kind!r}", hint="Use 'phi2' or 'cramers_v2'")
    found = columns.together(left, right)
    fewest = min(found.lefts, found.rights)
    if fewest < 2:
        return 0.0
    # sum (p_ij - p_i p_j)^2 / (p_i p_j) = sum n_ij^2 / (n_i n_j) - 1
    square = found.squares - 1.0
    if kind == "phi2":
        return min(max(square / (fewest - 1), 0.0), 1.0)
    if found.rows < 2:
        return 0.0
    lefts, rights, rows = found.lefts - 1, found.rights - 1, found.rows - 1
    excess = max(square - lefts * rights / rows, 0.0)
    narrower = min(lefts + 1 - lefts**2 / rows, rights + 1 - rights**2 / rows) - 1
    return min(excess / narrower, 1.0) if narrower > 0 else 0.0


# --- codes ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class RowCodes:
    """Some columns of a table, row by row."""

    domains: tuple[Domain, ...]
    by_cell: tuple[Codes, ...] = field(repr=False)
    """For each column the code of each cell."""
    cell: Codes | None = field(default=None, repr=False)
    """The cell of each row; None where each row is a cell of its own."""

    def __len__(self) -> int:
        return len(self.by_cell[0] if self.cell is None else self.cell)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(domain.name for domain in self.domains)

    @property
    def codes(self) -> tuple[Codes, ...]:
        """For each column the code of each row."""
        return tuple(map(self.column, self.names))

    @cached_property
    def times(self) -> Ints | None:
        """How many rows each cell has; None where each has one."""
        return None if self.cell is None else np.bincount(self.cell, minlength=len(self.by_cell[0]))

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.domains[self._position(name)]

    def column(self, name: str) -> Codes:
        """The code of each row in a column."""
        return self.of_rows(self.by_cell[self._position(name)])

    def code(self, name: str, row: int) -> int:
        """The code of one row in a column."""
        return int(self.by_cell[self._position(name)][row if self.cell is None else self.cell[row]])

    def of_rows(self, per_cell: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """For each row what its cell has."""
        return per_cell if self.cell is None else per_cell[self.cell]

    def of_cells(self, cells: Ints | slice = slice(None)) -> RowCodes:
        """Some of the cells, or all, each as one row."""
        return RowCodes(self.domains, tuple(column[cells] for column in self.by_cell))

    def values(self, name: str, rows: Ints | slice = slice(None)) -> pa.Array:
        """The values of a column, of some rows or of all."""
        cells = rows if self.cell is None else self.cell[rows]
        return self.domain(name).values.take(pa.array(self.by_cell[self._position(name)][cells]))

    def coded(self, name: str, cells: Codes | slice = slice(None)) -> pa.DictionaryArray:
        """The values of some cells as codes into those of the column, so that a large table stays small in memory."""
        codes, values = self.by_cell[self._position(name)][cells], self.domain(name).values
        small = codes.astype(np.int8) if len(values) <= 2**7 else codes
        known = len(values) - values.null_count  # null is the last value, and Parquet takes none from a dictionary
        absent = small == known if values.null_count else None
        return pa.DictionaryArray.from_arrays(pa.array(small, mask=absent), values[:known])

    def counts(self, name: str) -> Ints:
        """How many rows have each value of a column."""
        return _counted(self.by_cell[self._position(name)], self.times, len(self.domain(name)))

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """How often values of a column occur: each number that is the count of a value, and how many values have it."""
        counts = self.counts(name)
        return np.unique(counts[counts > 0], return_counts=True)

    def together(self, left: str, right: str) -> Together:
        """How two columns occur together."""
        lefts, rights = self.counts(left), self.counts(right)
        codes = (self.by_cell[self._position(name)] for name in (left, right))
        pairs = tally(*codes, groups=len(lefts), values=len(rights), count=self.times)
        squares = sum_of_squares(pairs.count, lefts[pairs.group], rights[pairs.value])
        return Together(squares, int(np.count_nonzero(lefts)), int(np.count_nonzero(rights)), len(self))

    def tuples(self, names: Sequence[str]) -> Tuples:
        """The distinct tuples of some columns, numbered in ascending order."""
        numbers, distinct = self._numbered(names)
        narrow: Codes = numbers.astype(np.int16 if distinct <= 2**15 else np.int32)
        cells = np.zeros(distinct, dtype=np.int64)
        cells[narrow] = np.arange(len(narrow))
        return Tuples(self.of_rows(narrow), _counted(narrow, self.times, distinct), cells)

    def _numbered(self, names: Sequence[str]) -> tuple[Codes, int]:
        """For each cell the number of its tuple, and how many numbers there are; some may have no row."""
        places = [self._position(name) for name in names]
        codes, radices = [self.by_cell[place] for place in places], [len(self.domains[place]) for place in places]
        if len(names) == 1:
            return codes[0], radices[0]
        return arrays.renumber(arrays.combined_key(codes, radices, rows=len(codes[0])), math.prod(radices))

    def only(self, names: Sequence[str]) -> RowCodes:
        """Some of the columns."""
        places = [self._position(name) for name in names]
        return RowCodes(tuple(self.domains[i] for i in places), tuple(self.by_cell[i] for i in places), self.cell)

    def take(self, rows: Ints) -> RowCodes:
        """Some of the rows, with the same domains."""
        cells = rows if self.cell is None else self.cell[rows]
        if self.cell is not None and len(rows) > len(self.by_cell[0]):
            return RowCodes(self.domains, self.by_cell, cells)
        return RowCodes(self.domains, tuple(column[cells] for column in self.by_cell))

    def _position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise BadInput(f"the column {name!r} was not read", hint=nearest(name, self.names)) from None


def _counted(codes: Codes, times: Ints | None, values: int) -> Ints:
    counts: Ints = np.bincount(codes, times, minlength=values).astype(np.int64, copy=False)  # floats hold 2^53 rows
    return counts


@dataclass(frozen=True, eq=False)
class Tuples:
    """For each row the number of its tuple in one table of the release."""

    ids: Codes = field(repr=False)
    counts: Ints = field(repr=False)
    """How many rows have each tuple; some may have none."""
    cells: Ints = field(repr=False)
    """For each tuple a cell that has it."""

    @property
    def distinct(self) -> int:
        """How many numbers there are."""
        return len(self.counts)


def read_rows(table: Table, names: Sequence[str], *, nulls: Nulls = "category") -> RowCodes:
    """Read columns of a table, in one pass; with nulls="drop" only the rows that lack none of them."""
    return rows_of_counts(hold_counts(table, names, nulls=nulls), table, names)


def hold_counts(table: Table, names: Sequence[str], *, nulls: Nulls) -> Held:
    """The distinct rows of some columns and how often each occurs, left with the engine."""
    listed = ", ".join(f"c{place}" for place in range(len(names)))
    chosen = select_rows(table, names, nulls=nulls)
    return table.engine.hold(f"SELECT {listed}, COUNT(*) AS n FROM ({chosen}) AS chosen GROUP BY {listed}")


def rows_of_counts(counts: Held, table: Table, names: Sequence[str]) -> RowCodes:
    """The rows that were counted."""
    counted = counts.table()
    if counted.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing to anatomize")
    return sorted_rows(counted, [table.column(name) for name in names], times=counted.column("n").to_numpy())


def sorted_rows(rows: pa.Table, columns: Sequence[Column], *, times: Ints | None = None) -> RowCodes:
    """Rows whose columns are called c0, c1, ..., sorted by their values; each occurs as often as `times` says."""
    found = coded_rows(rows, columns)
    order = np.lexsort(found.by_cell[::-1])
    cells = found.take(order)
    if times is None or (times == 1).all():
        return cells
    return replace(cells, cell=np.repeat(np.arange(len(order), dtype=np.int32), times[order]))


def coded_rows(rows: pa.Table, columns: Sequence[Column]) -> RowCodes:
    """The same in their own order."""
    coded = [encode(rows.column(f"c{i}"), name=column.name, kind=column.kind) for i, column in enumerate(columns)]
    return _narrow(coded)


def select_rows(table: Table, names: Sequence[str], *, nulls: Nulls) -> str:
    """A query for columns of a table as c0, c1, ..."""
    quoted = [table.engine.quote(table.column(name).name) for name in names]
    selected = ", ".join(f"{name} AS c{i}" for i, name in enumerate(quoted))
    complete = " AND ".join(f"{name} IS NOT NULL" for name in quoted)
    where = f" WHERE {complete}" if nulls == "drop" else ""
    return f"SELECT {selected} FROM {table.relation}{where}"


def rows_of(columns: Mapping[str, Iterable[Any]]) -> RowCodes:
    """Rows given as Python values, in their own order.

    >>> rows = rows_of({"sex": ["F", "M", "F"], "age": [30, 33, 45]})
    >>> rows.column("age").tolist(), rows.domain("sex").labels
    ([0, 1, 2], ['F', 'M'])
    """
    cells = {name: pa.array(list(values)) for name, values in columns.items()}
    types = {"int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
    kinds = {name: kind_of(types.get(str(array.type), "VARCHAR")) for name, array in cells.items()}
    return _narrow([encode(array, name=name, kind=kinds[name]) for name, array in cells.items()])


def _narrow(coded: Sequence[tuple[Domain, Ints]]) -> RowCodes:
    codes = (column.astype(np.int16) if len(domain) <= 2**15 else column.astype(np.int32) for domain, column in coded)
    return RowCodes(tuple(domain for domain, _ in coded), tuple(codes))
