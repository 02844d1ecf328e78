# SPDX-License-Identifier: Apache-2.0
"""Distinct rows of a table over its quasi-identifiers and sensitive attributes, as integer codes.

Each entry is a distinct row with its number of occurrences. Every combination of these columns is a
roll-up of the entries, so the table is read once, in one GROUP BY.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Bools, Ints
from divulge.counting import EncodedColumn, Request, encode
from divulge.engines import OrderedRows, StoredRows
from divulge.errors import InternalError
from divulge.sources import Column

Codes = npt.NDArray[np.integer]
Ints32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows with the number of occurrences of each."""

    columns: dict[str, EncodedColumn]
    repeats: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.repeats)

    @cached_property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.repeats.sum())

    @cached_property
    def rows_are_distinct(self) -> bool:
        """True if each entry is one row."""
        return self.rows == len(self)


_SAMPLE_ROWS = 20_000
_MAX_UNGROUPED_ROWS = 4_000_000


def hold_distinct_rows(request: Request, *, grouped: bool = True) -> StoredRows:
    """Count the distinct rows over the quasi-identifiers and all sensitive attributes of a request.

    The columns have the names of the request's cells. Without `grouped`, every row is an entry.
    """
    relation = request.table.engine.hold(
        request.sql_of_distinct_rows(grouped=grouped),
        together=request.layout.key_names,
        source=request.table.source,
    )
    if relation.rows == 0:
        raise request.no_rows()
    return relation


def _is_grouping_worthwhile(request: Request) -> bool:
    """Decide from the first rows if the table has enough duplicates to make grouping worthwhile.

    Grouping costs more than it saves if hardly any two rows are equal. An unrepresentative sample
    costs time but changes no result.
    """
    rows_sql = request.sql_of_distinct_rows(grouped=False)
    sample_sql = f"SELECT * FROM ({rows_sql}) AS each_row LIMIT {_SAMPLE_ROWS}"
    distinct_count_sql = (
        f"(SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ({sample_sql}) AS first_rows) AS different)"
    )
    row_count_sql = f"(SELECT COUNT(*) FROM {request.table.relation}{request.where()})"
    counts = request.table.engine.query(
        f"SELECT {distinct_count_sql} AS different, {row_count_sql} AS n"
    ).to_pylist()[0]
    return bool(
        counts["n"] > _MAX_UNGROUPED_ROWS
        or 2 * counts["different"] < min(counts["n"], _SAMPLE_ROWS)
    )


def read_distinct_rows(request: Request) -> DistinctRows:
    """Read the distinct rows of a request into memory, possibly all rows.

    Uses the dictionary codes of a Parquet file if they can be read.
    """
    grouped = _is_grouping_worthwhile(request)
    if grouped:
        distinct = request.coded_distinct_rows()
    else:
        distinct = None
    if grouped:
        rows = None
    else:
        rows = request.coded_rows()
    if rows is not None and len(rows[0].codes):
        columns = {column.domain.name: column for column in rows}
        return DistinctRows(columns, np.ones(len(rows[0].codes), dtype=np.int64))
    if distinct is None or not distinct.num_rows:
        distinct = hold_distinct_rows(request, grouped=grouped).table()
    return encode_distinct_rows(request, distinct)


def encode_distinct_rows(request: Request, distinct: pa.Table) -> DistinctRows:
    """Dictionary-encode counted distinct rows, column by column."""
    layout = request.layout
    names = [*layout.key_names, *(f"s{index}" for index in range(len(layout.values)))]
    columns = (*layout.keys, *layout.values)
    # Arrow releases Python's lock, so the columns share the cores
    with ThreadPoolExecutor() as threads:
        coded = list(
            threads.map(_encode_unsorted, [distinct.column(name) for name in names], columns)
        )
    repeats = distinct.column("n").to_numpy().astype(np.int64, copy=False)
    return DistinctRows(
        {column.name: codes for column, codes in zip(columns, coded, strict=True)}, repeats
    )


def _encode_unsorted(cells: pa.ChunkedArray, column: Column) -> EncodedColumn:
    return encode(cells, name=column.name, kind=column.kind, is_sorted=False)


_DENSE_SPAN = 2**16
_LARGEST_INTEGER = 2**62


class AlignedColumns:
    """Row-aligned columns of a table, read one at a time.

    For tables that are too wide to be held in memory or grouped at once. Rows dropped because of
    nulls are dropped from every column. While one column is processed, the next is read. Parquet
    files are read in place. Any other source is first written once into the engine's private
    directory. So it is not read again for each column, and the order of its rows cannot change.
    """

    @classmethod
    def of(cls, request: Request) -> AlignedColumns | None:
        """Columns of a request; None if the engine has no stable row order to align them by."""
        names = (*request.roles.quasi_identifiers, *request.roles.sensitive)
        aligned = request.table.engine.line_up(request.table.relation, names)
        if aligned is None:
            return None
        return cls(request, aligned, names)

    def __init__(self, request: Request, lined_up: OrderedRows, names: Sequence[str]) -> None:
        self._table = request.table
        self._lined_up = lined_up
        self._complete_rows = None
        if request.nulls == "drop":
            complete = " AND ".join(
                f"{request.table.engine.quote(name)} IS NOT NULL" for name in names
            )
            self._complete_rows = np.flatnonzero(lined_up.column(complete).to_numpy())
        if self._complete_rows is None:
            self.rows = lined_up.rows
        else:
            self.rows = len(self._complete_rows)
        if self.rows == 0:
            raise request.no_rows()

    def coded_column(self, name: str) -> EncodedColumn:
        """Return one column with its values."""
        encoded = _encode_unsorted(self._read(name), self._table.column(name))
        if self._complete_rows is None:
            return encoded
        return encoded.take(self._complete_rows)

    def iterate_codes(self, names: Sequence[str]) -> Iterator[tuple[str, Codes, int]]:
        """Yield each column as its name, a code for each row and an upper bound above all codes."""
        with ThreadPoolExecutor(1) as reader:
            pending = [reader.submit(self._column_codes, name) for name in names[:1]]
            for index, name in enumerate(names):
                codes, values = pending.pop().result()
                if index + 1 < len(names):
                    pending.append(reader.submit(self._column_codes, names[index + 1]))
                yield name, codes, values

    def _column_codes(self, name: str) -> tuple[Codes, int]:
        codes, values = number_values(self._read(name), self._table.column(name))
        return (codes if self._complete_rows is None else codes[self._complete_rows]), values

    def _read(self, name: str) -> pa.ChunkedArray:
        column = self._lined_up.column(self._table.engine.quote(name))
        if len(column) != self._lined_up.rows:
            raise InternalError(
                f"{name!r} was read with {len(column)} rows, and the table has "
                f"{self._lined_up.rows}"
            )
        return column


def number_values(cells: pa.ChunkedArray, column: Column) -> tuple[Codes, int]:
    """Return different codes for different values, and a bound above all codes.

    Integers that lie close together need no dictionary.
    """
    if pa.types.is_integer(cells.type) and cells.null_count < len(cells):
        ends = pc.min_max(cells).as_py()
        span = ends["max"] - ends["min"] + 1
        if (
            span < max(len(cells), _DENSE_SPAN)
            and -_LARGEST_INTEGER < ends["min"] <= ends["max"] < _LARGEST_INTEGER
        ):
            numbers = pc.fill_null(cells.cast(pa.int64()), ends["min"] + span).to_numpy()
            return numbers - ends["min"], span + (1 if cells.null_count else 0)
    encoded = _encode_unsorted(cells, column)
    return encoded.codes, encoded.value_count


# Equivalence classes of a growing set of columns, one column at a time (Bkakria et al. 2021,
# Definition 2 and Fig. 7). The classes of n columns follow from those of n - 1 columns and the
# added column. A GROUP BY for each n would read and hash n columns again. The number of a class and
# the code of a value make one small integer. The integers are counted in an array: no hashing, no
# sorting. A column with many values is processed digit by digit, so that the array is never longer
# than twice the rows. A row that is unique in its class stays unique when columns are added. Its
# class is closed, and the row is not processed again.
Scalar = TypeVar("Scalar", bound=np.generic)
_MIN_TABLE_LENGTH = 2**16


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of rows into equivalence classes; unique rows are only counted."""

    ids: Ints = field(repr=False)
    """The class of each open row, from 0 to the number of open classes."""
    rows: Ints | None = field(repr=False)
    """Positions of the open rows; None while all are open."""
    sizes: Ints = field(repr=False)
    """The size of each open class, at least 2."""
    closed: int
    """Number of unique rows, each a closed class of its own."""

    @classmethod
    def single_class(cls, rows: int) -> Partition:
        """Put all rows into one class."""
        if rows < 2:
            no_rows: Ints = np.empty(0, dtype=np.int64)
            return cls(no_rows, no_rows, no_rows, rows)
        return cls(np.zeros(rows, dtype=np.int64), None, np.array([rows]), 0)

    @property
    def classes(self) -> int:
        """Number of open and closed classes."""
        return len(self.sizes) + self.closed

    def open_part(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Select the entries of a column at the open rows."""
        if self.rows is None:
            return column
        return column[self.rows]

    def closed_rows(self, rows: int) -> Ints:
        """Positions of the unique rows, given the number of all rows."""
        if self.rows is None:
            return np.empty(0, dtype=np.int64)
        is_closed = np.ones(rows, dtype=bool)
        is_closed[self.rows] = False
        return np.flatnonzero(is_closed)


def refine(partition: Partition, codes: Codes, values: int) -> Partition:
    """Divide the classes by one more column.

    `codes` lie from 0 up to, but not including, `values`.
    """
    remaining_codes = partition.open_part(codes)
    while values > 1 and len(remaining_codes):
        table_length = max(2 * len(remaining_codes), _MIN_TABLE_LENGTH)
        base = max(table_length // len(partition.sizes), 2)
        if values <= base:
            digit = remaining_codes
            base = values
            values = 1
        else:
            remaining_codes, digit = np.divmod(remaining_codes, base)
            values = -(-values // base)
        partition, is_open_row = _divide(partition, digit, base)
        if is_open_row is not None:
            remaining_codes = remaining_codes[is_open_row]
    return partition


def _divide(partition: Partition, digit: Codes, base: int) -> tuple[Partition, Bools | None]:
    """Divide the classes by a column with few values.

    Also returns a mask of the open rows that stay open; None if all do.
    """
    key = partition.ids * base
    key += digit
    sizes = np.bincount(key, minlength=len(partition.sizes) * base)
    # each class has a single value: no class is divided
    if np.count_nonzero(sizes) == len(partition.sizes):
        return partition, None
    is_open = sizes > 1
    ids = np.cumsum(is_open, dtype=np.int64) - 1
    singleton_count = int(np.count_nonzero(sizes == 1))
    if singleton_count == 0:
        return Partition(ids[key], partition.rows, sizes[is_open], partition.closed), None
    is_open_row = is_open[key]
    if partition.rows is None:
        rows = np.flatnonzero(is_open_row)
    else:
        rows = partition.rows[is_open_row]
    return Partition(
        ids[key[is_open_row]], rows, sizes[is_open], partition.closed + singleton_count
    ), is_open_row


# Selection of the combinations of columns to count together. The counts of a few columns with few
# values make a small dense table, a cube. Every combination of these columns is a sum over the
# other axes of the cube: a roll-up of some ten thousand cells instead of a pass over a million
# rows.
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cube:
    """Counts of value combinations: an axis for a sensitive attribute, then one for each column."""

    names: Names
    counts: Ints32 | Ints = field(repr=False)
    _sums: dict[Names, Ints32 | Ints] = field(default_factory=dict, repr=False)
    """Cache of roll-ups, because combinations have subsets in common."""

    def roll_up(self, names: Names) -> Ints32 | Ints:
        """Sum up the counts of some columns, in this order, as a table of values by classes."""
        axes = tuple(name for name in self.names if name in names)
        table = self._sum(axes).transpose(0, *(1 + axes.index(name) for name in names))
        return table.reshape(len(table), -1)

    def _sum(self, names: Names) -> Ints32 | Ints:
        """Sum up the counts of some columns.

        The axis with most values is summed first, so that little is left to add for the others.
        """
        if names == self.names:
            return self.counts
        if names not in self._sums:
            other_names = (name for name in self.names if name not in names)
            summed_name = min(
                other_names, key=lambda name: self.counts.shape[1 + self.names.index(name)]
            )
            wider_names = tuple(name for name in self.names if name in names or name == summed_name)
            counts = self._sum(wider_names)
            self._sums[names] = counts.sum(
                axis=1 + wider_names.index(summed_name), dtype=counts.dtype
            )
        return self._sums[names]


_BLOCK_ENTRIES = 2**18
"""Number of entries whose keys are computed at once: they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class CubeCounter:
    """Entries sorted by the values of an attribute, so that each value is counted as one block."""

    columns: Mapping[str, tuple[Codes, int]]
    """For each column, its codes in as few bytes as they need and its number of values."""
    repeats: Ints32 | Ints = field(repr=False)
    """Occurrences of each entry, or a single 1 for all; of a type that can hold their sum."""
    starts: Ints = field(repr=False)
    """Position of the first entry of each value, and the end of the last value's entries."""

    @classmethod
    def of(
        cls, entries: DistinctRows, names: Iterable[str], attribute: EncodedColumn | None
    ) -> CubeCounter:
        """Prepare some columns of the entries; without an attribute all entries have one value."""
        if entries.rows_are_distinct:
            repeats: Ints32 | Ints = np.ones(1, np.int64)
        else:
            repeats = entries.repeats
        if entries.rows < 2**31:
            repeats = repeats.astype(np.int32)
        columns = {
            name: (_narrow_codes(entries.columns[name]), entries.columns[name].value_count)
            for name in names
        }
        if attribute is None:
            return cls(columns, repeats, np.array([0, len(entries)]))
        order = arrays.stable_order(attribute.codes, attribute.value_count)
        starts = np.concatenate(
            [[0], np.cumsum(np.bincount(attribute.codes, minlength=attribute.value_count))]
        )
        columns = {name: (codes[order], values) for name, (codes, values) in columns.items()}
        return cls(columns, repeats if entries.rows_are_distinct else repeats[order], starts)

    def count(self, cubes: Sequence[Names]) -> Iterator[Cube]:
        """Count cubes, in this order.

        A cube is valid until the next one is requested, because that one overwrites its memory.
        The key of an entry is built column by column. A cube that begins with the same columns as
        the cube before it reuses that part of the keys.
        """
        shapes = [
            (len(self.starts) - 1, *(self.columns[name][1] for name in names)) for names in cubes
        ]
        buffer = np.empty(max(map(math.prod, shapes), default=0), dtype=self.repeats.dtype)
        previous_prefix = Names()
        prefix_keys = [
            np.empty(self.starts[-1], np.int32) for _ in range(max(map(len, cubes), default=0))
        ]
        for names, shape in zip(cubes, shapes, strict=True):
            counts = buffer[: math.prod(shape)].reshape(shape[0], -1)
            counts.fill(0)
            common_prefix = itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(previous_prefix, names[:-1], strict=False)
            )
            self._add_entries(
                counts, names, prefix_keys, prefix_length=sum(1 for _ in common_prefix)
            )
            previous_prefix = names[:-1]
            yield Cube(names, counts.reshape(shape))

    def _add_entries(
        self,
        counts: Ints32 | Ints,
        names: Names,
        prefix_keys: Sequence[Ints32],
        *,
        prefix_length: int,
    ) -> None:
        """Add up the entries by value and key.

        `prefix_keys` are the keys of the first column, of the first two, and so on. `prefix_length`
        of them are built already.
        """
        last_keys = np.empty(_BLOCK_ENTRIES, np.int32)
        keys = np.empty(_BLOCK_ENTRIES, np.int64)
        for value, block in self._blocks():
            size = block.stop - block.start
            for depth in range(prefix_length, len(names)):
                codes, values = self.columns[names[depth]]
                if depth + 1 < len(names):
                    key = prefix_keys[depth][block]
                else:
                    key = last_keys[:size]
                if depth == 0:
                    key[:] = codes[block]
                else:
                    np.multiply(prefix_keys[depth - 1][block], np.int32(values), out=key)
                    np.add(key, codes[block], out=key)
            keys[:size] = last_keys[:size]
            np.add.at(
                counts[value],
                keys[:size],
                self.repeats if len(self.repeats) == 1 else self.repeats[block],
            )

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Yield slices of entries with one value, at most one block long."""
        for value, (first, end) in enumerate(itertools.pairwise(self.starts.tolist())):
            for start in range(first, end, _BLOCK_ENTRIES):
                yield value, slice(start, min(start + _BLOCK_ENTRIES, end))


def _narrow_codes(column: EncodedColumn) -> Codes:
    """Convert the codes of a column to as few bytes as they need."""
    return column.codes.astype(np.min_scalar_type(max(column.value_count - 1, 0)), copy=False)


def choose_cubes(
    combinations: Sequence[Names], values: Mapping[str, int], *, shared: int, cell_limit: int
) -> dict[Names, list[Names]]:
    """Choose cubes to count, each with the combinations to derive from it.

    A combination of more than `cell_limit` cells gets no cube. Cubes that combinations share have
    at most `shared` cells. They are chosen greedily. A cube begins with a combination that is not
    covered yet. It then adds the column that covers most other combinations, as long as it fits.
    The columns of a cube are ordered by their number of values: adjacent long axes are summed
    fastest.
    """
    # a set of columns is encoded as an integer, which is quick to look up
    bits = {name: 1 << index for index, name in enumerate(values)}
    size = max(map(len, combinations), default=0)
    cells = {names: math.prod(values[name] for name in names) for names in combinations}
    cubes = {names: [names] for names in combinations if shared < cells[names] <= cell_limit}
    uncovered = {
        sum(bits[name] for name in names): names for names in combinations if cells[names] <= shared
    }
    for names in sorted(
        uncovered.values(), key=lambda names: (-len(names), [values[name] for name in names])
    ):
        if sum(bits[name] for name in names) not in uncovered:
            continue
        cube_names = _widen_cube(names, uncovered, values, bits, cells=shared, size=size)
        cube_bits = sorted(bits[name] for name in cube_names)
        subsets = (
            sum(part) for n in range(1, size + 1) for part in itertools.combinations(cube_bits, n)
        )
        cubes[tuple(sorted(cube_names, key=values.__getitem__))] = [
            uncovered.pop(part) for part in subsets if part in uncovered
        ]
    return {cube: cubes[cube] for cube in sorted(cubes)}


def _widen_cube(
    names: Names,
    uncovered: Container[int],
    values: Mapping[str, int],
    bits: Mapping[str, int],
    *,
    cells: int,
    size: int,
) -> Names:
    while True:
        value_limit = cells // math.prod(values[name] for name in names)
        subsets = [
            sum(part) for part in itertools.combinations([bits[name] for name in names], size - 1)
        ]
        best_name = None
        most_covered = 0
        for name, cardinality in values.items():
            if name in names or cardinality > value_limit:
                continue
            covered_count = sum(part | bits[name] in uncovered for part in subsets)
            # If two columns cover equally many, the one with fewer values leaves more room.
            if covered_count > most_covered or (
                covered_count == most_covered > 0
                and best_name is not None
                and cardinality < values[best_name]
            ):
                best_name = name
                most_covered = covered_count
        if best_name is None:
            return names
        names = (*names, best_name)
