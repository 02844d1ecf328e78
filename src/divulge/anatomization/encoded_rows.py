# SPDX-License-Identifier: Apache-2.0
"""RowCodes: the rows of a table as small integers.

Anatomization assigns records to groups, so it needs rows, while the metrics need only counts. Equal
rows share a cell. Each column stores, for each cell, the position of its value in a Domain, in a
small integer type. Each row stores the number of its cell. Statistics of columns are computed from
the cells, which are often few. Null is a separate value. The order of rows in a database means
nothing and may differ from one run to the next. So `read_rows` counts the rows and sorts them by
their values: with a seed, the same table gives the same release.
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
from divulge.anatomization.model import tally
from divulge.arrays import Codes, Ints
from divulge.counting import Domain, EncodedColumn, Nulls, encode
from divulge.engines import StoredRows
from divulge.errors import BadInput, nearest
from divulge.sources import Column, Table, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable


# --- scatter --------------------------------------------------------------------------------------
# Numbers for groups that are formed in many processes at once. Each process numbers its groups from
# a separate range, and a keyed permutation of all ranges scatters the numbers. So a number reveals
# neither where its group was formed nor which groups were formed next to it. The permutation is a
# Feistel network over the next power of four, applied until the result is below the span. It need
# not withstand an adversary who knows many of the original numbers: the process that formed a group
# reveals no more about its records than the group does.
_ROUNDS = 6
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
Words = npt.NDArray[np.uint64]


def scatter(numbers: Ints, span: int, *, secret: int) -> Ints:
    """Permute the numbers below `span` by a secret: distinct numbers stay distinct.

    >>> sorted(scatter(np.arange(10), 10, secret=7).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half_bits = ((span - 1).bit_length() + 1) // 2 or 1
    keys = np.random.default_rng(secret).integers(0, 2**63, size=_ROUNDS, dtype=np.uint64)
    images = numbers.astype(np.uint64)
    out_of_range = np.arange(len(images))
    while len(out_of_range):
        images[out_of_range] = _feistel_permutation(images[out_of_range], half_bits, keys)
        out_of_range = out_of_range[images[out_of_range] >= span]
    return images.astype(np.int64)


def _feistel_permutation(numbers: Words, half_bits: int, keys: Words) -> Words:
    """Permute the numbers below 4 ** half."""
    shift = np.uint64(half_bits)
    mask = np.uint64((1 << half_bits) - 1)
    left = numbers >> shift
    right = numbers & mask
    for key in keys:
        left, right = right, left ^ (_splitmix64(right ^ key) & mask)
    return (left << shift) | right


def _splitmix64(words: Words) -> Words:
    """Mix the bits of each word by the finalizer of splitmix64."""
    words = (words ^ (words >> np.uint64(30))) * _MIX[0]
    words = (words ^ (words >> np.uint64(27))) * _MIX[1]
    return words ^ (words >> np.uint64(31))


# --- entropy and association of columns (Yao et al. 2021, eqs. 9 and 10) --------------------------
# The weight of a column is its entropy in bits. The association of two columns is the mean-square
# contingency coefficient phi2 (Cramer's V squared), or V squared with Bergsma's correction (2013).
# phi2 grows with the number of values even between independent columns. So a column such as a
# survey weight would draw every other column into its table.
Association = Literal["phi2", "cramers_v2"]


@dataclass(frozen=True)
class PairStatistics:
    """Statistics from which the association of two columns follows."""

    squares: float
    """The sum of n_ij^2 / (n_i n_j) over the pairs of values that occur."""
    lefts: int
    """Number of distinct values of the left column."""
    rights: int
    """Number of distinct values of the right column."""
    rows: int


Number = TypeVar("Number", bound=np.generic)


class ColumnCounts(Protocol):
    """Counts of columns: of rows in memory (RowCodes), or of a table on a cluster."""

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """Distinct counts of a column's values, and the number of values with each count."""

    def pair_statistics(self, left: str, right: str) -> PairStatistics:
        """Statistics of the joint counts of two columns."""


def column_weight(columns: ColumnCounts, name: str) -> float:
    """Entropy of a column in bits (eq. 9)."""
    counts, values = columns.spectrum(name)
    shares = counts / (counts @ values)
    return float(-(values * shares * np.log2(shares)).sum()) + 0.0


def sum_of_squares(counts: Ints, left_totals: Ints, right_totals: Ints) -> float:
    """Sum of n_ij^2 / (n_i n_j) over some pairs of values.

    Takes the count of each pair, and the counts of its two values.
    """
    expected = left_totals.astype(np.float64) * right_totals
    return float((counts.astype(np.float64) ** 2 / expected).sum())


def associate(columns: ColumnCounts, left: str, right: str, *, kind: Association = "phi2") -> float:
    """Association of two columns, from 0 (independent) to 1 (one determines the other).

    0 if a column has only one value.
    """
    if kind not in ("phi2", "cramers_v2"):
        raise BadInput(f"there is no association {kind!r}", hint="Use 'phi2' or 'cramers_v2'")
    cooccurrence = columns.pair_statistics(left, right)
    fewest = min(cooccurrence.lefts, cooccurrence.rights)
    if fewest < 2:
        return 0.0
    # sum (p_ij - p_i p_j)^2 / (p_i p_j) = sum n_ij^2 / (n_i n_j) - 1
    square = cooccurrence.squares - 1.0
    if kind == "phi2":
        return min(max(square / (fewest - 1), 0.0), 1.0)
    if cooccurrence.rows < 2:
        return 0.0
    lefts = cooccurrence.lefts - 1
    rights = cooccurrence.rights - 1
    rows = cooccurrence.rows - 1
    excess = max(square - lefts * rights / rows, 0.0)
    narrower = min(lefts + 1 - lefts**2 / rows, rights + 1 - rights**2 / rows) - 1
    if narrower > 0:
        return min(excess / narrower, 1.0)
    return 0.0


# --- codes ----------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class RowCodes:
    """Some columns of a table, row by row."""

    domains: tuple[Domain, ...]
    by_cell: tuple[Codes, ...] = field(repr=False)
    """For each column, the code of each cell."""
    cell: Codes | None = field(default=None, repr=False)
    """The cell of each row; None if each row is a separate cell."""

    def __len__(self) -> int:
        return len(self.by_cell[0] if self.cell is None else self.cell)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(domain.name for domain in self.domains)

    @property
    def codes(self) -> tuple[Codes, ...]:
        """For each column, the code of each row."""
        return tuple(map(self.column, self.names))

    @cached_property
    def times(self) -> Ints | None:
        """Number of rows of each cell; None if each has one."""
        if self.cell is None:
            return None
        return np.bincount(self.cell, minlength=len(self.by_cell[0]))

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.domains[self._position(name)]

    def column(self, name: str) -> Codes:
        """The code of each row in a column."""
        return self.expand_to_rows(self.by_cell[self._position(name)])

    def code(self, name: str, row: int) -> int:
        """The code of one row in a column."""
        return int(self.by_cell[self._position(name)][row if self.cell is None else self.cell[row]])

    def expand_to_rows(self, per_cell: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Expand values per cell to values per row."""
        if self.cell is None:
            return per_cell
        return per_cell[self.cell]

    def cells_as_rows(self, cells: Ints | slice = slice(None)) -> RowCodes:
        """Some of the cells, or all, as one row each."""
        return RowCodes(self.domains, tuple(column[cells] for column in self.by_cell))

    def values(self, name: str, rows: Ints | slice = slice(None)) -> pa.Array:
        """Values of a column, for some rows or for all."""
        cells = rows if self.cell is None else self.cell[rows]
        return self.domain(name).values.take(pa.array(self.by_cell[self._position(name)][cells]))

    def dictionary_column(
        self, name: str, cells: Codes | slice = slice(None)
    ) -> pa.DictionaryArray:
        """Dictionary-encoded values of some cells, so that a large table needs little memory."""
        codes = self.by_cell[self._position(name)][cells]
        values = self.domain(name).values
        small_codes = codes.astype(np.int8) if len(values) <= 2**7 else codes
        value_count = (
            len(values) - values.null_count
        )  # null is the last value, and Parquet accepts none in a dictionary
        if values.null_count:
            is_null = small_codes == value_count
        else:
            is_null = None
        return pa.DictionaryArray.from_arrays(
            pa.array(small_codes, mask=is_null), values[:value_count]
        )

    def counts(self, name: str) -> Ints:
        """Number of rows with each value of a column."""
        return _count_codes(self.by_cell[self._position(name)], self.times, len(self.domain(name)))

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """Distinct counts of a column's values, and the number of values with each count."""
        counts = self.counts(name)
        return np.unique(counts[counts > 0], return_counts=True)

    def pair_statistics(self, left: str, right: str) -> PairStatistics:
        """Statistics of the joint counts of two columns."""
        lefts = self.counts(left)
        rights = self.counts(right)
        codes = (self.by_cell[self._position(name)] for name in (left, right))
        pairs = tally(*codes, groups=len(lefts), values=len(rights), count=self.times)
        squares = sum_of_squares(pairs.count, lefts[pairs.group], rights[pairs.value])
        return PairStatistics(
            squares, int(np.count_nonzero(lefts)), int(np.count_nonzero(rights)), len(self)
        )

    def tuples(self, names: Sequence[str]) -> Tuples:
        """Number the distinct tuples of some columns in ascending order."""
        numbers, distinct = self._tuple_numbers(names)
        narrow: Codes = numbers.astype(np.int16 if distinct <= 2**15 else np.int32)
        cells = np.zeros(distinct, dtype=np.int64)
        cells[narrow] = np.arange(len(narrow))
        return Tuples(
            self.expand_to_rows(narrow), _count_codes(narrow, self.times, distinct), cells
        )

    def _tuple_numbers(self, names: Sequence[str]) -> tuple[Codes, int]:
        """The tuple number of each cell, and the number of tuple numbers.

        Some numbers may have no row.
        """
        positions = [self._position(name) for name in names]
        codes = [self.by_cell[position] for position in positions]
        radices = [len(self.domains[position]) for position in positions]
        if len(names) == 1:
            return codes[0], radices[0]
        return arrays.renumber(
            arrays.combined_key(codes, radices, rows=len(codes[0])), math.prod(radices)
        )

    def select_columns(self, names: Sequence[str]) -> RowCodes:
        """Select some of the columns."""
        positions = [self._position(name) for name in names]
        return RowCodes(
            tuple(self.domains[i] for i in positions),
            tuple(self.by_cell[i] for i in positions),
            self.cell,
        )

    def take(self, rows: Ints) -> RowCodes:
        """Select some of the rows, with the same domains."""
        cells = rows if self.cell is None else self.cell[rows]
        if self.cell is not None and len(rows) > len(self.by_cell[0]):
            return RowCodes(self.domains, self.by_cell, cells)
        return RowCodes(self.domains, tuple(column[cells] for column in self.by_cell))

    def _position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise BadInput(
                f"the column {name!r} was not read", hint=nearest(name, self.names)
            ) from None


def _count_codes(codes: Codes, times: Ints | None, values: int) -> Ints:
    # floats are exact up to 2^53 rows
    counts: Ints = np.bincount(codes, times, minlength=values).astype(np.int64, copy=False)
    return counts


@dataclass(frozen=True, eq=False)
class Tuples:
    """The number of each row's tuple in one table of the release."""

    ids: Codes = field(repr=False)
    counts: Ints = field(repr=False)
    """Number of rows with each tuple; may be 0."""
    cells: Ints = field(repr=False)
    """For each tuple, a cell that has it."""

    @property
    def distinct(self) -> int:
        """Number of tuple numbers."""
        return len(self.counts)


def read_rows(table: Table, names: Sequence[str], *, nulls: Nulls = "category") -> RowCodes:
    """Read columns of a table, in one pass.

    With nulls="drop", only rows without nulls in these columns are read.
    """
    return load_rows(hold_counts(table, names, nulls=nulls), table, names)


def hold_counts(table: Table, names: Sequence[str], *, nulls: Nulls) -> StoredRows:
    """Store the distinct rows of some columns, with their counts, in the engine."""
    column_list = ", ".join(f"c{index}" for index in range(len(names)))
    selected_rows = select_rows(table, names, nulls=nulls)
    return table.engine.hold(
        f"SELECT {column_list}, COUNT(*) AS n "
        f"FROM ({selected_rows}) AS chosen GROUP BY {column_list}"
    )


def load_rows(counts: StoredRows, table: Table, names: Sequence[str]) -> RowCodes:
    """Load the rows whose distinct values and counts are held."""
    distinct_rows = counts.table()
    if distinct_rows.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing to anatomize")
    return sorted_rows(
        distinct_rows,
        [table.column(name) for name in names],
        times=distinct_rows.column("n").to_numpy(),
    )


def sorted_rows(
    rows: pa.Table, columns: Sequence[Column], *, times: Ints | None = None
) -> RowCodes:
    """Encode rows with columns c0, c1, ..., sorted by their values.

    Each row is repeated as often as `times` states.
    """
    row_codes = encode_rows(rows, columns)
    order = np.lexsort(row_codes.by_cell[::-1])
    cells = row_codes.take(order)
    if times is None or (times == 1).all():
        return cells
    return replace(cells, cell=np.repeat(np.arange(len(order), dtype=np.int32), times[order]))


def encode_rows(rows: pa.Table, columns: Sequence[Column]) -> RowCodes:
    """Encode rows with columns c0, c1, ..., in their original order."""
    encoded_columns = [
        encode(rows.column(f"c{i}"), name=column.name, kind=column.kind)
        for i, column in enumerate(columns)
    ]
    return _row_codes(encoded_columns)


def select_rows(table: Table, names: Sequence[str], *, nulls: Nulls) -> str:
    """SQL for columns of a table as c0, c1, ..."""
    quoted = [table.engine.quote(table.column(name).name) for name in names]
    selected = ", ".join(f"{name} AS c{i}" for i, name in enumerate(quoted))
    complete = " AND ".join(f"{name} IS NOT NULL" for name in quoted)
    if nulls == "drop":
        where = f" WHERE {complete}"
    else:
        where = ""
    return f"SELECT {selected} FROM {table.relation}{where}"


def rows_of(columns: Mapping[str, Iterable[Any]]) -> RowCodes:
    """Encode rows passed as Python values, in their original order.

    >>> rows = rows_of({"sex": ["F", "M", "F"], "age": [30, 33, 45]})
    >>> rows.column("age").tolist(), rows.domain("sex").labels
    ([0, 1, 2], ['F', 'M'])
    """
    cells = {name: pa.array(list(values)) for name, values in columns.items()}
    types = {"int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
    kinds = {name: kind_of(types.get(str(array.type), "VARCHAR")) for name, array in cells.items()}
    return _row_codes([encode(array, name=name, kind=kinds[name]) for name, array in cells.items()])


def _row_codes(encoded_columns: Sequence[EncodedColumn]) -> RowCodes:
    codes = [
        column.codes.astype(np.int16)
        if column.value_count <= 2**15
        else column.codes.astype(np.int32)
        for column in encoded_columns
    ]
    return RowCodes(tuple(column.domain for column in encoded_columns), tuple(codes))
