# SPDX-License-Identifier: Apache-2.0
"""RowCodes: the rows of a table as small integers, one array per column.

Anatomization assigns records to groups, so it needs rows where the metrics need only counts. Each column becomes the positions of its
values in a Domain, in the smallest integer type that holds them; null is a value of its own. The order of rows in a database means nothing
and may differ from one run to the next, so `read_rows` sorts the rows by their values: with a seed, the same table gives the same release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.anatomize.association import Together, sum_of_squares
from divulge.arrays import Codes, Ints, combined_key, renumber
from divulge.count import Domain, Nulls
from divulge.count.assemble import encode
from divulge.errors import BadInput, nearest
from divulge.table.table import Column, Table, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGEST_GRID = 2**24


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Some columns of a table, row by row."""

    domains: tuple[Domain, ...]
    codes: tuple[Codes, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(domain.name for domain in self.domains)

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.domains[self._position(name)]

    def column(self, name: str) -> Codes:
        """The code of each row in a column."""
        return self.codes[self._position(name)]

    def values(self, name: str, rows: Ints | slice = slice(None)) -> pa.Array:
        """The values of a column, of some rows or of all."""
        return self.domain(name).values.take(pa.array(self.column(name)[rows]))

    def coded(self, name: str, rows: Ints | slice = slice(None)) -> pa.DictionaryArray:
        """The same as codes into the values of the column, so that a large table stays small in memory."""
        return pa.DictionaryArray.from_arrays(pa.array(self.column(name)[rows]), self.domain(name).values)

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """How often values of a column occur: each number that is the count of a value, and how many values have it."""
        counts = np.bincount(self.column(name))
        return np.unique(counts[counts > 0], return_counts=True)

    def together(self, left: str, right: str) -> Together:
        """How two columns occur together."""
        lefts, rights = np.bincount(self.column(left)), np.bincount(self.column(right))
        i, j, counts = self._pairs(left, right)
        return Together(
            sum_of_squares(counts, lefts[i], rights[j]),
            int(np.count_nonzero(lefts)),
            int(np.count_nonzero(rights)),
            len(self),
        )

    def tuples(self, names: Sequence[str]) -> Tuples:
        """The distinct tuples of some columns, numbered in ascending order."""
        codes, radices = [self.column(name) for name in names], [len(self.domain(name)) for name in names]
        if len(names) == 1:
            return Tuples(codes[0].astype(np.int32), radices[0])
        ids, distinct = renumber(combined_key(codes, radices, rows=len(self)), math.prod(radices))
        return Tuples(ids.astype(np.int32), distinct)

    def take(self, rows: Ints) -> RowCodes:
        """Some of the rows, with the same domains."""
        return RowCodes(self.domains, tuple(column[rows] for column in self.codes))

    def _pairs(self, left: str, right: str) -> tuple[Ints, Ints, Ints]:
        """The pairs of values that occur, and how often."""
        width = len(self.domain(right))
        key = self.column(left).astype(np.int64)
        key *= width
        key += self.column(right)
        if len(self.domain(left)) * width <= _LARGEST_GRID:
            grid = np.bincount(key)
            found = np.flatnonzero(grid)
            counts = grid[found]
        else:
            found, counts = np.unique(key, return_counts=True)
        return found // width, found % width, counts

    def _position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise BadInput(f"the column {name!r} was not read", hint=nearest(name, self.names)) from None


@dataclass(frozen=True, eq=False)
class Tuples:
    """For each row the number of its tuple in one table of the release."""

    ids: npt.NDArray[np.int32] = field(repr=False)
    distinct: int


def read_rows(table: Table, names: Sequence[str], *, nulls: Nulls = "category") -> RowCodes:
    """Read columns of a table, in one pass; with nulls="drop" only the rows that lack none of them."""
    rows = table.engine.query(select_rows(table, names, nulls=nulls))
    if rows.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing to anatomize")
    return sorted_rows(rows, [table.column(name) for name in names])


def sorted_rows(rows: pa.Table, columns: Sequence[Column]) -> RowCodes:
    """Rows whose columns are called c0, c1, ..., sorted by their values."""
    coded = [encode(rows.column(f"c{i}"), name=column.name, kind=column.kind) for i, column in enumerate(columns)]
    found = _narrow(coded)
    return found.take(np.lexsort(found.codes[::-1]))


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
    coded = []
    for name, cells in columns.items():
        array = pa.array(list(cells))
        coded.append(encode(array, name=name, kind=_kind(array.type)))
    return _narrow(coded)


def _kind(type_: pa.DataType) -> Any:
    return kind_of({"int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}.get(str(type_), "VARCHAR"))


def _narrow(coded: Sequence[tuple[Domain, Ints]]) -> RowCodes:
    codes = (column.astype(np.int16) if len(domain) <= 2**15 else column.astype(np.int32) for domain, column in coded)
    return RowCodes(tuple(domain for domain, _ in coded), tuple(codes))
