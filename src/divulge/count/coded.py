# SPDX-License-Identifier: Apache-2.0
"""A Parquet file is counted by the numbers of its values: it holds each text once, and a number in each row.

Arrow reads these numbers without the texts, those of a row become one whole number, and equal ones are counted by sorting: a third of
the work of a GROUP BY over texts, with the same counts. Batches are counted on all cores and their counts put together, so that memory
holds a few batches and the cells. What needs more than numbers of texts and of whole numbers (weights, persons, other types, a memory
limit that cells may outgrow) is counted by the statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Codes, Ints
from divulge.table import Column, Table

_TYPES = {
    "VARCHAR": pa.string(),
    **{
        name: pa.type_for_alias(f"int{bits}")
        for name, bits in zip(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), (8, 16, 32, 64), strict=True)
    },
}
"""What Arrow and DuckDB read alike, by DuckDB's names."""
_MOST_VALUES = 1 << 16
"""A column with more values is not worth numbering: they would have to be looked up again for each batch."""
_CLOSE = 1 << 8
"""Whole numbers of so many in a row are told apart by their distance from the least; a wider range would make keys longer."""
_LARGEST_KEY, _LARGEST_SHORT = 2**62, 2**31
_SOME = 1 << 15
Made = TypeVar("Made")
_FEW_WAITING = 1 << 16
"""So many cells of batches wait to be put together, and more where there are more already."""


class _TooManyValues(Exception):
    """A column has so many values that the statement is faster."""


_UNREADABLE = (_TooManyValues, pa.ArrowException, OSError)
"""What is wrong with a file, DuckDB says."""


class _Batch(NamedTuple):
    """The cells of one batch."""

    values: list[pa.Array]
    """Of each column, null among them where it occurs."""
    sets: list[tuple[list[Codes], Ints]]
    """For each grouping set the places of the cells' values, by column, and how many rows each cell has."""


def count_coded(
    table: Table, columns: Sequence[Column], sets: Sequence[Sequence[int]], *, keys: int, drop_nulls: bool
) -> pa.Table | None:
    """The counts of each grouping set, which is given by the places of its columns, in the layout of the counting statement.

    The first `keys` columns are in every set. Values come in dictionaries. None where the statement is to be run.
    """
    batches = _each_batch(table, columns, partial(_count_batch, sets=sets))
    if batches is None:
        return None
    numbered, cells = [_Numbers(_TYPES[column.type]) for column in columns], [_Cells(members) for members in sets]
    try:
        for batch in batches:
            known = [column.of(values) for column, values in zip(numbered, batch.values, strict=True)]
            sizes = [len(column.values) for column in numbered]
            for taken, (codes, counts) in zip(cells, batch.sets, strict=True):
                numbers = [known[place][code] for place, code in zip(taken.columns, codes, strict=True)]
                taken.add(numbers, counts, sizes)
    except _UNREADABLE:
        return None
    finally:
        batches.close()
    sizes = [len(column.values) for column in numbered]
    counted = [each.merged(sizes) for each in cells]
    names = [f"k{place}" if place < keys else f"s{place - keys}" for place in range(len(columns))]
    parts = []
    for members, (places, people) in zip(sets, counted, strict=True):
        own = dict(zip(members, places, strict=True))
        rows = {
            name: column.array(own.get(place), len(people))
            for place, (name, column) in enumerate(zip(names, numbered, strict=True))
        }
        if len(sets) > 1:
            outside = {f"g{place - keys}": place not in own for place in range(keys, len(columns))}
            rows |= {name: pa.array(np.full(len(people), mark), pa.int8()) for name, mark in outside.items()}
        parts.append(pa.table(rows | {"n": people}))
    found = pa.concat_tables(parts)
    return found.drop_null() if drop_nulls else found


def read_coded(table: Table, columns: Sequence[Column], *, drop_nulls: bool) -> list[tuple[pa.Array, Codes]] | None:
    """For each column the values that occur, null among them, and the place of each row's value; None where they are to be selected."""
    batches = _each_batch(table, columns, partial(_number_batch, drop_nulls=drop_nulls))
    if batches is None:
        return None
    numbered, read = [_Numbers(_TYPES[column.type]) for column in columns], list[list[Codes]]()
    try:
        for batch in batches:
            known = [(column.of(values), places) for column, (values, places) in zip(numbered, batch, strict=True)]
            widths = [np.min_scalar_type(len(column.values)) for column in numbered]
            read.append([codes.astype(width)[places] for width, (codes, places) in zip(widths, known, strict=True)])
    except _UNREADABLE:
        return None
    finally:
        batches.close()
    codes = map(np.concatenate, zip(*read, strict=True))
    return [_occurring(column.values, each) for column, each in zip(numbered, codes, strict=False)] or None


def _each_batch(
    table: Table, columns: Sequence[Column], make: Callable[[Iterator[pa.ChunkedArray]], Made]
) -> Generator[Made, None, None] | None:
    """What a function makes of each batch of some columns; None where Arrow is not the way to read them."""
    if any(column.type not in _TYPES for column in columns):
        return None
    return table.engine.each_batch(table.relation, {column.name: _TYPES[column.type] for column in columns}, make)


def _number_batch(columns: Iterator[pa.ChunkedArray], *, drop_nulls: bool) -> list[tuple[pa.Array, Codes]]:
    """The columns of a batch as numbers of their values; of a column that was read, what stays is as narrow as can be."""
    if drop_nulls:
        columns = iter(pa.table({str(place): column for place, column in enumerate(columns)}).drop_null().columns)
    return [(values, places.astype(np.min_scalar_type(len(values)))) for values, places in map(_numbers, columns)]


def _occurring(values: pa.Array, codes: Codes) -> tuple[pa.Array, Codes]:
    """Only the values that some row has: the dictionary of a file may hold more."""
    occurs = np.zeros(len(values), dtype=bool)
    for start in range(0, len(codes), _SOME):
        occurs[codes[start : start + _SOME]] = True
        if occurs.all():
            return values, codes
    return values.filter(pa.array(occurs)), (np.cumsum(occurs) - 1)[codes].astype(codes.dtype)


def _count_batch(columns: Iterator[pa.ChunkedArray], *, sets: Sequence[Sequence[int]]) -> _Batch:
    """Number the values of a batch, and count its distinct rows."""
    read = _number_batch(columns, drop_nulls=False)
    counted = [
        _count([read[place][1] for place in members], [len(read[place][0]) for place in members]) for members in sets
    ]
    return _Batch([values for values, _ in read], counted)


def _numbers(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """The values that a column may have, and the place of each row's among them."""
    if pa.types.is_integer(column.type) and (found := _in_a_row(column)) is not None:
        return found
    coded = _numbered(column)
    values, indices = coded.dictionary, coded.indices
    values.validate(full=True)  # Arrow takes any bytes for text
    if coded.null_count:
        indices = indices.fill_null(len(values))
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return values, indices.to_numpy(zero_copy_only=False)


def _in_a_row(column: pa.ChunkedArray) -> tuple[pa.Array, Codes] | None:
    """Whole numbers that lie close together, such as ages, have their places already; None where they do not."""
    found = pc.min_max(column)
    least, most = found["min"].as_py(), found["max"].as_py()
    if least is None or most - least >= _CLOSE:
        return None
    values = pa.array(range(least, most + 1), column.type)
    whole = column.combine_chunks()
    places = _room(len(whole), np.uint16)
    # In eight bytes, for a type of one byte may not hold the difference.
    np.subtract(whole.fill_null(least).to_numpy(), least, out=places, dtype=np.int64, casting="unsafe")
    if not whole.null_count:
        return values, places
    places[whole.is_null().to_numpy(zero_copy_only=False)] = len(values)
    return pa.concat_arrays([values, pa.nulls(1, values.type)]), places


def _numbered(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as one array of numbers of its values."""
    numbered = pa.types.is_dictionary(column.type)
    coded = column.unify_dictionaries().combine_chunks() if numbered else column.combine_chunks().dictionary_encode()
    if len(coded.dictionary) > _MOST_VALUES:
        raise _TooManyValues
    return coded


def _count(codes: Sequence[Codes], radices: Sequence[int]) -> tuple[list[Codes], Ints]:
    """The distinct rows of code columns, and how often each occurs."""
    if math.prod(radices) > _LARGEST_KEY:
        ids, first = arrays.class_ids(codes, radices, rows=len(codes[0]))
        return [column[first] for column in codes], np.bincount(ids, minlength=len(first)).astype(np.int64)
    width = np.int32 if math.prod(radices) <= _LARGEST_SHORT else np.int64  # half as much to sort
    key = _room(len(codes[0]), width)
    key[:] = 0
    for column, radix in zip(codes, radices, strict=True):
        key *= radix
        key += column
    key.sort()
    starts = arrays.run_starts(key)
    counts, key = np.diff(np.append(starts, len(key))), key[starts]
    found: list[Codes] = []
    for radix in reversed(radices):
        rest = key // radix  # vectorized, and np.divmod is not
        found.append(key - rest * radix)
        key = rest
    return found[::-1], counts


def _room(rows: int, width: type[np.integer[Any]]) -> Codes:
    """An array of Arrow's memory, which stays with the thread: the system would give NumPy fresh pages for each batch."""
    return np.frombuffer(pa.allocate_buffer(rows * np.dtype(width).itemsize), dtype=width, count=rows)


class _Numbers:
    """The values of a column that have been seen, numbered as they came."""

    def __init__(self, type_: pa.DataType) -> None:
        self.values = pa.array([], type_)
        self._before: tuple[pa.Array, Codes] | None = None

    def of(self, values: pa.Array) -> Codes:
        """The numbers of values; those that are new get theirs."""
        if self._before is None or not values.equals(self._before[0]):
            new = values.filter(pc.invert(pc.is_in(values, value_set=self.values))).unique()
            self.values = pa.concat_arrays([self.values, new])
            if len(self.values) > _MOST_VALUES:
                raise _TooManyValues
            found = pc.index_in(values, value_set=self.values)
            self._before = values, found.to_numpy(zero_copy_only=False).astype(np.uint16)
        return self._before[1]

    def array(self, numbers: Codes | None, rows: int) -> pa.DictionaryArray:
        """Values by their numbers; none at all are nulls."""
        known = self.values.is_valid().to_numpy(zero_copy_only=False)
        if numbers is None:
            places = pa.nulls(rows, pa.int32())
        else:
            places = pa.array((np.cumsum(known) - 1)[numbers].astype(np.int32), mask=~known[numbers])
        return pa.DictionaryArray.from_arrays(places, self.values.drop_null())


class _Cells:
    """Cells of batches, put together from time to time."""

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = columns
        self._codes: list[list[Codes]] = []
        self._counts: list[Ints] = []
        self._waiting = 0

    def add(self, codes: list[Codes], counts: Ints, values: Sequence[int]) -> None:
        """Take over the cells of a batch, where columns have so many values by now; an empty file has none.

        As many wait as are together already, so that each is moved a few times only.
        """
        if not len(counts):
            return
        self._codes.append(codes)
        self._counts.append(counts)
        self._waiting += len(counts)
        if self._waiting > max(_FEW_WAITING, len(self._counts[0])):
            self._put_together(values)

    def merged(self, values: Sequence[int]) -> tuple[list[Codes], Ints]:
        """All cells, each once."""
        if not self._codes:
            return [np.zeros(0, dtype=np.uint16) for _ in self.columns], np.zeros(0, dtype=np.int64)
        self._put_together(values)
        return self._codes[0], self._counts[0]

    def _put_together(self, values: Sequence[int]) -> None:
        if len(self._counts) > 1:
            codes = [np.concatenate(column) for column in zip(*self._codes, strict=True)]
            counts = np.concatenate(self._counts)
            key = arrays.combined_key(codes, [values[place] for place in self.columns], rows=len(counts))
            order = np.argsort(key)
            starts = arrays.run_starts(key[order])
            self._codes = [[column[order[starts]] for column in codes]]
            self._counts, self._waiting = [np.add.reduceat(counts[order], starts)], 0
