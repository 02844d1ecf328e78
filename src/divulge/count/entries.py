# SPDX-License-Identifier: Apache-2.0
"""The distinct rows of a table over the columns that matter, with how often each occurs, as small numbers.

Every combination of these columns is a roll-up of the entries: the rows are read once, in one GROUP BY.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.count.assemble import plain_values
from divulge.count.contingency import Domain, Ints
from divulge.count.counting import Request, no_rows
from divulge.engines.base import Held
from divulge.errors import BadInput
from divulge.table.table import Column

Codes = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Coded:
    """One column: its values in no particular order, and for each entry the position of its value among them."""

    domain: Domain
    codes: Codes = field(repr=False)

    @property
    def values(self) -> int:
        """How many distinct values there are; null is one."""
        return len(self.domain)


@dataclass(frozen=True, eq=False)
class Entries:
    """Distinct rows and how often each occurs."""

    columns: dict[str, Coded]
    repeats: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.repeats)

    @cached_property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.repeats.sum())

    @cached_property
    def once(self) -> bool:
        """Whether each entry is one row."""
        return self.rows == len(self)


def hold_distinct_rows(request: Request) -> Held:
    """Count the distinct rows over the quasi-identifiers and all sensitive attributes of a request; columns are named as its cells are."""
    found = request.table.engine.hold(
        request.sql_of_distinct_rows(), together=request.layout.key_names, source=request.table.source
    )
    if found.rows == 0:
        raise no_rows(request)
    return found


def read_entries(request: Request, held: Held | None = None) -> Entries:
    """The distinct rows of a request in memory."""
    counted = (hold_distinct_rows(request) if held is None else held).table()
    layout = request.layout
    names = [*layout.key_names, *(f"s{place}" for place in range(len(layout.values)))]
    return Entries(
        columns=_encoded((*layout.keys, *layout.values), [counted.column(name) for name in names]),
        repeats=counted.column("n").to_numpy().astype(np.int64, copy=False),
    )


def _encoded(columns: Sequence[Column], cells: Sequence[pa.ChunkedArray]) -> dict[str, Coded]:
    """Arrow works outside Python's lock, so the columns share the cores."""
    with ThreadPoolExecutor() as threads:
        coded = threads.map(encode_unsorted, cells, columns)
        return {column.name: found for column, found in zip(columns, coded, strict=True)}


def encode_unsorted(cells: pa.ChunkedArray, column: Column) -> Coded:
    """Number the values of a column as they come; a null is a value."""
    try:
        coded = _dictionary(cells)
    except pa.ArrowNotImplementedError:
        raise BadInput(
            f"values of type {cells.type} in column {column.name!r} cannot be told apart",
            hint="turn the column into text",
        ) from None
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks])
    return Coded(Domain(column.name, coded.chunk(0).dictionary, column.kind), codes)


def _dictionary(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(cells.type) and cells.num_chunks:  # not made one array, which ends at 2 GiB of text
        return cells.dictionary_encode(null_encoding="encode")  # all pieces share one dictionary
    return pa.chunked_array([plain_values(cells).dictionary_encode(null_encoding="encode")])
