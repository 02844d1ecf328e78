# SPDX-License-Identifier: Apache-2.0
"""Parquet files batch by batch, read by Arrow on all cores.

Texts come dictionary-encoded, as in the file.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from divulge.engines.engine import Make, Result

if TYPE_CHECKING:
    import pyarrow.parquet as pq

LEAST_BY_ARROW = 1 << 20
"""Size in bytes below which SQL reads a file before Arrow's reader would be loaded."""
_BATCH_ROWS = 3 << 17
_MAX_ROW_GROUP = 1 << 22
"""Approximate number of rows of a batch, and the most rows of a row group.

A thread reads the columns of a batch one after the other. Row groups are not split, and files with
larger ones are left to SQL.
"""


@dataclass(frozen=True)
class ParquetBatches:
    """Columns of Parquet files that have the requested types."""

    types: Mapping[str, pa.DataType]
    pieces: Sequence[tuple[Path, pq.FileMetaData, list[int]]]
    """Row groups of a file that are read one after the other."""

    @classmethod
    def of(cls, paths: Sequence[Path], types: Mapping[str, pa.DataType]) -> ParquetBatches | None:
        """Return the batches of files; None if a file has other types or cannot be read."""
        import pyarrow.parquet as pq  # 0.1 s, which a small table need not wait for

        pieces: list[tuple[Path, pq.FileMetaData, list[int]]] = []
        for path in paths:
            try:
                metadata = pq.read_metadata(path)
                schema = metadata.schema.to_arrow_schema()
            except (pa.ArrowException, OSError):  # DuckDB reports what is wrong with it
                return None
            file_types = {field.name: _value_type(field.type) for field in schema}
            if any(file_types.get(name) != type_ for name, type_ in types.items()):
                return None
            groups = [
                metadata.row_group(group_index).num_rows
                for group_index in range(metadata.num_row_groups)
            ]
            if max(groups, default=0) > _MAX_ROW_GROUP:
                return None
            rows = sum(groups)
            cores = os.cpu_count() or 1
            # no core should wait for the last batch
            about = -(-rows // (cores * max(round(rows / _BATCH_ROWS / cores), 1)))
            pieces += [(path, metadata, row_groups) for row_groups in batches_of(groups, about)]
        return cls(types, pieces)

    def map_batches(
        self,
        make: Make[Result],
        *,
        threads: int | None,
        progress: Callable[[int, int], None] | None,
    ) -> Generator[Result, None, None]:
        """Yield the results of a function for each batch; progress is reported in percent."""
        workers = threads or os.cpu_count() or 1
        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            try:
                for number, piece in enumerate((*self.pieces, *[None] * workers)):
                    if piece is not None:
                        waiting.append(pool.submit(self._read, piece, make))
                    if number >= workers and waiting:  # so that results do not pile up
                        yield waiting.popleft().result()
                    if progress is not None:
                        progress(100 * number // (len(self.pieces) + workers), 100)
            finally:
                for future in waiting:
                    future.cancel()
        if progress is not None:
            progress(100, 100)

    def _read(self, piece: tuple[Path, pq.FileMetaData, list[int]], make: Make[Result]) -> Result:
        import pyarrow.parquet as pq

        path, metadata, groups = piece
        names = list(self.types)
        options: dict[str, Any] = {
            "read_dictionary": [name for name in names if self.types[name] == pa.string()]
        }
        with pq.ParquetFile(path, metadata=metadata, **options) as file:
            return make(
                file.read_row_groups(groups, columns=[name], use_threads=False).column(name)
                for name in names
            )


def _value_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values that are read, whatever pandas or Polars noted in the file."""
    if pa.types.is_dictionary(type_):
        plain = type_.value_type
    else:
        plain = type_
    if pa.types.is_large_string(plain):
        return pa.string()
    return plain


def batches_of(groups: Sequence[int], about: int) -> list[list[int]]:
    """Split row groups, given by their sizes, into batches of about `about` rows.

    >>> batches_of([40, 40, 40, 40], 90)
    [[0, 1], [2, 3]]
    """
    batches: list[list[int]] = [[]]
    rows = 0
    for group_index, size in enumerate(groups):
        if batches[-1] and rows + size / 2 > about:
            batches.append([])
            rows = 0
        batches[-1].append(group_index)
        rows += size
    if groups:
        return batches
    return []
