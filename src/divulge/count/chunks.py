# SPDX-License-Identifier: Apache-2.0
"""Cuts a stream of counted rows, sorted by class, into pieces that hold whole classes: memory follows the piece, not the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.count.assemble import plain_values


def whole_classes(batches: Iterable[pa.RecordBatch], keys: int, *, rows: int) -> Iterator[pa.Table]:
    """Pieces of about `rows` rows; the key columns are k0, k1, ... and rows of one class stand together."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
        if count >= rows:
            together = pa.Table.from_batches(held)
            cut = count - _last_class(together, keys)
            if cut:
                yield together.slice(0, cut)
                held = together.slice(cut).to_batches()
                count -= cut
    if held:
        yield pa.Table.from_batches(held)


def _last_class(table: pa.Table, keys: int) -> int:
    """How many rows at the end belong to the class of the last row."""
    same = np.ones(table.num_rows, dtype=bool)
    for place in range(keys):
        column = plain_values(table.column(f"k{place}"))
        # A set of one value: unlike "=", membership holds for nulls and for nan.
        same &= pc.index_in(column, value_set=column.slice(len(column) - 1)).is_valid().to_numpy(zero_copy_only=False)
    return table.num_rows if same.all() else int(np.argmin(same[::-1]))
