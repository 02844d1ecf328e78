# SPDX-License-Identifier: Apache-2.0
"""Counting of Parquet files by the dictionary codes of their values.

A file holds each text once, and a code in each row.

Arrow reads these codes without the texts. The codes of a row are combined into one whole number,
and equal numbers are counted by sorting. That is a third of the work of a GROUP BY over texts, with
the same counts. Batches are counted on all cores and their counts merged, so that memory holds a
few batches and the cells. Requests that need more than codes of texts and of whole numbers are
counted by SQL: weights, persons, other types, a memory limit that the cells may exceed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Codes, Ints
from divulge.counting.contingency import Domain
from divulge.counting.encoding import EncodedColumn, adopt_dictionary, dictionary_array
from divulge.sources import Column, Table

_TYPES = {
    "VARCHAR": pa.string(),
    **{
        name: pa.type_for_alias(f"int{bits}")
        for name, bits in zip(
            ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), (8, 16, 32, 64), strict=True
        )
    },
}
"""Types that Arrow and DuckDB read alike, by DuckDB's names."""
_MOST_VALUES = 1 << 16
"""Largest number of values of a column that is worth encoding.

The values have to be looked up again for each batch.
"""
_SMALL_RANGE = 1 << 8
"""Range of whole numbers that are encoded by their distance from the smallest.

A wider range would make keys longer.
"""
_LARGEST_KEY = 2**62
_LARGEST_SHORT = 2**31
BatchResult = TypeVar("BatchResult")
_MIN_PENDING_CELLS = 1 << 16
"""Number of cells of batches that wait to be merged; more if more are merged already."""


class _TooManyValues(Exception):
    """A column has so many values that SQL is faster."""


_FALLBACK_ERRORS = (_TooManyValues, pa.ArrowException, OSError)
"""Errors after which SQL is used, because DuckDB reports what is wrong with a file."""


class _Batch(NamedTuple):
    """Cells of one batch."""

    values: list[pa.Array]
    """Values of each column, including null if it occurs."""
    sets: list[tuple[list[Codes], Ints]]
    """Codes of the cells by column, and the number of rows of each cell, for each grouping set."""


def count_coded(
    table: Table,
    columns: Sequence[Column],
    sets: Sequence[Sequence[int]],
    *,
    keys: int,
    drop_nulls: bool,
) -> pa.Table | None:
    """Count each grouping set, given by the indices of its columns, like the counting statement.

    The first `keys` columns are in every set. Values are dictionary-encoded. Returns None if the
    statement must be run.
    """
    batches = _map_batches(table, columns, partial(_count_batch, described=columns, sets=sets))
    if batches is None:
        return None
    numbered = [_ValueCodes(_TYPES[column.type]) for column in columns]
    cells = [_MergedCells(members) for members in sets]
    try:
        for batch in batches:
            batch_codes = [
                column.of(values) for column, values in zip(numbered, batch.values, strict=True)
            ]
            sizes = [len(column.values) for column in numbered]
            for taken, (codes, counts) in zip(cells, batch.sets, strict=True):
                numbers = [
                    batch_codes[index][code]
                    for index, code in zip(taken.columns, codes, strict=True)
                ]
                taken.add(numbers, counts, sizes)
    except _FALLBACK_ERRORS:
        return None
    finally:
        batches.close()
    sizes = [len(column.values) for column in numbered]
    merged_sets = [set_cells.merged(sizes) for set_cells in cells]
    names = [f"k{index}" if index < keys else f"s{index - keys}" for index in range(len(columns))]
    parts = []
    for members, (places, people) in zip(sets, merged_sets, strict=True):
        codes_by_column = dict(zip(members, places, strict=True))
        rows = {
            name: column.array(codes_by_column.get(index), len(people))
            for index, (name, column) in enumerate(zip(names, numbered, strict=True))
        }
        if len(sets) > 1:
            outside = {
                f"g{index - keys}": index not in codes_by_column
                for index in range(keys, len(columns))
            }
            rows |= {
                name: pa.array(np.full(len(people), mark), pa.int8())
                for name, mark in outside.items()
            }
        parts.append(pa.table(rows | {"n": people}))
    counts_table = pa.concat_tables(parts)
    if drop_nulls:
        return counts_table.drop_null()
    return counts_table


def read_coded(
    table: Table, columns: Sequence[Column], *, drop_nulls: bool
) -> list[EncodedColumn] | None:
    """Read the values that occur in each column, including null, and the code of each row.

    Returns None if the rows must be selected by SQL.
    """
    encode_batch = partial(_encode_batch, described=columns, drop_nulls=drop_nulls)
    batches = _map_batches(table, columns, encode_batch)
    if batches is None:
        return None
    numbered = [_ValueCodes(_TYPES[column.type]) for column in columns]
    read = list[list[Codes]]()
    try:
        for batch in batches:
            codes_of_values = [
                column.of(encoded.domain.values)
                for column, encoded in zip(numbered, batch, strict=True)
            ]
            widths = [np.min_scalar_type(len(column.values)) for column in numbered]
            read.append(
                [
                    codes.astype(width)[encoded.codes]
                    for width, codes, encoded in zip(widths, codes_of_values, batch, strict=True)
                ]
            )
    except _FALLBACK_ERRORS:
        return None
    finally:
        batches.close()
    codes = map(np.concatenate, zip(*read, strict=True))
    return [
        EncodedColumn(
            Domain(column.name, numbers.values, column.kind), column_codes
        ).drop_unused_values()
        for column, numbers, column_codes in zip(columns, numbered, codes, strict=False)
    ] or None


def _map_batches(
    table: Table,
    columns: Sequence[Column],
    make: Callable[[Iterator[pa.ChunkedArray]], BatchResult],
) -> Generator[BatchResult, None, None] | None:
    """Apply a function to each batch of some columns; None if Arrow cannot read them."""
    if any(column.type not in _TYPES for column in columns):
        return None
    return table.engine.each_batch(
        table.relation, {column.name: _TYPES[column.type] for column in columns}, make
    )


def _encode_batch(
    columns: Iterator[pa.ChunkedArray], *, described: Sequence[Column], drop_nulls: bool
) -> list[EncodedColumn]:
    """Encode the columns of a batch.

    The codes are as narrow as possible, because they stay in memory.
    """
    if drop_nulls:
        columns = iter(
            pa.table({str(index): column for index, column in enumerate(columns)})
            .drop_null()
            .columns
        )
    encoded_columns = map(_encode_column, columns, described)
    return [
        replace(encoded, codes=encoded.codes.astype(np.min_scalar_type(encoded.value_count)))
        for encoded in encoded_columns
    ]


def _count_batch(
    columns: Iterator[pa.ChunkedArray],
    *,
    described: Sequence[Column],
    sets: Sequence[Sequence[int]],
) -> _Batch:
    """Encode the values of a batch, and count its distinct rows."""
    read = _encode_batch(columns, described=described, drop_nulls=False)
    set_counts = [
        _count_distinct_rows(
            [read[member].codes for member in members],
            [read[member].value_count for member in members],
        )
        for members in sets
    ]
    return _Batch([encoded.domain.values for encoded in read], set_counts)


def _encode_column(cells: pa.ChunkedArray, column: Column) -> EncodedColumn:
    """Encode a column by the values that it may have."""
    if pa.types.is_integer(cells.type) and (dense := _encode_range(cells, column)) is not None:
        return dense
    coded = dictionary_array(cells)
    if len(coded.dictionary) > _MOST_VALUES:
        raise _TooManyValues
    coded.dictionary.validate(full=True)  # Arrow accepts any bytes as text
    return adopt_dictionary(coded, name=column.name, kind=column.kind)


def _encode_range(cells: pa.ChunkedArray, column: Column) -> EncodedColumn | None:
    """Encode whole numbers in a small range, such as ages, by their distance from the smallest.

    Returns None if the range is too large.
    """
    extremes = pc.min_max(cells)
    least = extremes["min"].as_py()
    greatest = extremes["max"].as_py()
    if least is None or greatest - least >= _SMALL_RANGE:
        return None
    values = pa.array(range(least, greatest + 1), cells.type)
    integers = cells.combine_chunks()
    places = _allocate_codes(len(integers), np.uint16)
    # In eight bytes, because a type of one byte may not hold the difference.
    np.subtract(
        integers.fill_null(least).to_numpy(), least, out=places, dtype=np.int64, casting="unsafe"
    )
    if integers.null_count:
        places[integers.is_null().to_numpy(zero_copy_only=False)] = len(values)
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return EncodedColumn(Domain(column.name, values, column.kind), places, is_sorted=True)


def _count_distinct_rows(
    codes: Sequence[Codes], radices: Sequence[int]
) -> tuple[list[Codes], Ints]:
    """Return the distinct rows of code columns, and the frequency of each."""
    if math.prod(radices) > _LARGEST_KEY:
        ids, first = arrays.class_ids(codes, radices, rows=len(codes[0]))
        return [column[first] for column in codes], np.bincount(ids, minlength=len(first)).astype(
            np.int64
        )
    width = np.int32 if math.prod(radices) <= _LARGEST_SHORT else np.int64  # half as much to sort
    key = _allocate_codes(len(codes[0]), width)
    key[:] = 0
    for column, radix in zip(codes, radices, strict=True):
        key *= radix
        key += column
    key.sort()
    starts = arrays.run_starts(key)
    counts, key = np.diff(np.append(starts, len(key))), key[starts]
    columns_reversed: list[Codes] = []
    for radix in reversed(radices):
        rest = key // radix  # vectorized, and np.divmod is not
        columns_reversed.append(key - rest * radix)
        key = rest
    return columns_reversed[::-1], counts


def _allocate_codes(rows: int, width: type[np.integer[Any]]) -> Codes:
    """Allocate an array in Arrow's memory, which stays with the thread.

    NumPy would get fresh pages from the system for each batch.
    """
    return np.frombuffer(
        pa.allocate_buffer(rows * np.dtype(width).itemsize), dtype=width, count=rows
    )


class _ValueCodes:
    """Values of a column that have been seen, numbered in the order of their appearance."""

    def __init__(self, type_: pa.DataType) -> None:
        self.values = pa.array([], type_)
        self._last_encoded: tuple[pa.Array, Codes] | None = None

    def of(self, values: pa.Array) -> Codes:
        """Return the codes of values; new values get new codes."""
        if self._last_encoded is None or not values.equals(self._last_encoded[0]):
            new = values.filter(pc.invert(pc.is_in(values, value_set=self.values))).unique()
            self.values = pa.concat_arrays([self.values, new])
            if len(self.values) > _MOST_VALUES:
                raise _TooManyValues
            indices = pc.index_in(values, value_set=self.values)
            self._last_encoded = values, indices.to_numpy(zero_copy_only=False).astype(np.uint16)
        return self._last_encoded[1]

    def array(self, numbers: Codes | None, rows: int) -> pa.DictionaryArray:
        """Return values by their codes; without codes, nulls."""
        is_valid = self.values.is_valid().to_numpy(zero_copy_only=False)
        if numbers is None:
            places = pa.nulls(rows, pa.int32())
        else:
            places = pa.array(
                (np.cumsum(is_valid) - 1)[numbers].astype(np.int32), mask=~is_valid[numbers]
            )
        return pa.DictionaryArray.from_arrays(places, self.values.drop_null())


class _MergedCells:
    """Cells of batches, merged from time to time."""

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = columns
        self._codes: list[list[Codes]] = []
        self._counts: list[Ints] = []
        self._pending_cells = 0

    def add(self, codes: list[Codes], counts: Ints, values: Sequence[int]) -> None:
        """Add the cells of a batch; `values` is the current number of values of each column.

        An empty file has no cells. As many cells wait as are merged already, so that each is moved
        only a few times.
        """
        if not len(counts):
            return
        self._codes.append(codes)
        self._counts.append(counts)
        self._pending_cells += len(counts)
        if self._pending_cells > max(_MIN_PENDING_CELLS, len(self._counts[0])):
            self._merge_pending(values)

    def merged(self, values: Sequence[int]) -> tuple[list[Codes], Ints]:
        """Return all cells, each once."""
        if not self._codes:
            return [np.zeros(0, dtype=np.uint16) for _ in self.columns], np.zeros(0, dtype=np.int64)
        self._merge_pending(values)
        return self._codes[0], self._counts[0]

    def _merge_pending(self, values: Sequence[int]) -> None:
        if len(self._counts) > 1:
            codes = [np.concatenate(column) for column in zip(*self._codes, strict=True)]
            counts = np.concatenate(self._counts)
            key = arrays.combined_key(
                codes, [values[index] for index in self.columns], rows=len(counts)
            )
            order = np.argsort(key)
            starts = arrays.run_starts(key[order])
            self._codes = [[column[order[starts]] for column in codes]]
            self._counts, self._pending_cells = [np.add.reduceat(counts[order], starts)], 0
