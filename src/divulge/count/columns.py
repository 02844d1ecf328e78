# SPDX-License-Identifier: Apache-2.0
"""The columns of a table one after the other, as small numbers, row for row: for tables too wide to be held in memory or grouped at once.

While one column is worked on, the next is read. Parquet files are read where they are, one column at a time; everything else is first
written once into the engine's private directory, so that no source is read for each of its columns, or in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge.count.counting import Request, no_rows
from divulge.count.entries import Coded, encode_unsorted
from divulge.engines.base import LinedUp
from divulge.errors import InternalError
from divulge.table.table import Table

_DENSE = 2**16
_LARGEST = 2**62


class Columns:
    """Reads columns; rows that are left out because of nulls are left out of each."""

    @classmethod
    def of(cls, request: Request) -> Columns | None:
        """The columns of a request; None where the engine keeps no order of rows that a column could be lined up with."""
        names = (*request.roles.quasi_identifiers, *request.roles.sensitive)
        found = request.table.engine.line_up(request.table.relation, names)
        return None if found is None else cls(request, found)

    def __init__(self, request: Request, lined_up: LinedUp) -> None:
        names = (*request.roles.quasi_identifiers, *request.roles.sensitive)
        self._table, self._lined_up = request.table, lined_up
        self._kept = self._rows_without_null(names) if request.nulls == "drop" else None
        self.rows = lined_up.rows if self._kept is None else len(self._kept)
        if self.rows == 0:
            raise no_rows(request)

    def coded(self, name: str) -> Coded:
        """One column with its values."""
        found = encode_unsorted(self._read(name), self._table.column(name))
        return found if self._kept is None else Coded(found.domain, found.codes[self._kept])

    def numbered(self, names: Sequence[str]) -> Iterator[tuple[str, npt.NDArray[np.integer], int]]:
        """Each column as its name, a number for each row, and a bound that the numbers stay below."""
        with ThreadPoolExecutor(1) as reader:
            coming = [reader.submit(self._numbered, name) for name in names[:1]]
            for place, name in enumerate(names):
                codes, values = coming.pop().result()
                if place + 1 < len(names):
                    coming.append(reader.submit(self._numbered, names[place + 1]))
                yield name, codes, values

    def _numbered(self, name: str) -> tuple[npt.NDArray[np.integer], int]:
        codes, values = number_values(self._read(name), self._table, name)
        return (codes if self._kept is None else codes[self._kept]), values

    def _read(self, name: str) -> pa.ChunkedArray:
        column = self._lined_up.column(self._table.engine.quote(name))
        if len(column) != self._lined_up.rows:
            raise InternalError(f"{name!r} was read with {len(column)} rows, and the table has {self._lined_up.rows}")
        return column

    def _rows_without_null(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        complete = " AND ".join(f"{self._table.engine.quote(name)} IS NOT NULL" for name in names)
        return np.flatnonzero(self._lined_up.column(complete).to_numpy())


def number_values(cells: pa.ChunkedArray, table: Table, name: str) -> tuple[npt.NDArray[np.integer], int]:
    """Different numbers for different values, and a bound on them; whole numbers that lie close together need no dictionary."""
    if pa.types.is_integer(cells.type) and cells.null_count < len(cells):
        ends = pc.min_max(cells).as_py()
        span = ends["max"] - ends["min"] + 1
        if span < max(len(cells), _DENSE) and -_LARGEST < ends["min"] <= ends["max"] < _LARGEST:
            numbers = pc.fill_null(cells.cast(pa.int64()), ends["min"] + span).to_numpy()
            return numbers - ends["min"], span + (1 if cells.null_count else 0)
    coded = encode_unsorted(cells, table.column(name))
    return coded.codes, coded.values
