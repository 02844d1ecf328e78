# SPDX-License-Identifier: Apache-2.0
"""Parquet files batch by batch, read by Arrow on all cores: texts come as the numbers that the file holds, and their dictionary."""

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
"""Smaller files are read by SQL before Arrow's reader would be loaded."""
_ROWS, _MOST = 3 << 17, 1 << 22
"""Of a batch, about, whose columns a thread reads one after the other; a row group is not cut, and one of more is left to SQL."""


@dataclass(frozen=True)
class ParquetBatches:
    """Columns of Parquet files that have the types that are asked for."""

    types: Mapping[str, pa.DataType]
    pieces: Sequence[tuple[Path, pq.FileMetaData, list[int]]]
    """Row groups of a file that are read one after the other."""

    @classmethod
    def of(cls, paths: Sequence[Path], types: Mapping[str, pa.DataType]) -> ParquetBatches | None:
        """None where a file has other types, or cannot be read."""
        import pyarrow.parquet as pq  # 0.1 s, which a small table need not wait for

        pieces: list[tuple[Path, pq.FileMetaData, list[int]]] = []
        for path in paths:
            try:
                metadata = pq.read_metadata(path)
                schema = metadata.schema.to_arrow_schema()
            except (pa.ArrowException, OSError):  # DuckDB says what is wrong with it
                return None
            found = {field.name: _of_values(field.type) for field in schema}
            if any(found.get(name) != type_ for name, type_ in types.items()):
                return None
            groups = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
            if max(groups, default=0) > _MOST:
                return None
            rows, cores = sum(groups), os.cpu_count() or 1
            about = -(-rows // (cores * max(round(rows / _ROWS / cores), 1)))  # no core is to wait for the last batch
            pieces += [(path, metadata, together) for together in batches_of(groups, about)]
        return cls(types, pieces)

    def each(
        self, make: Make[Result], *, threads: int | None, progress: Callable[[int, int], None] | None
    ) -> Generator[Result, None, None]:
        """What a function makes of each batch; the progress is told in percent."""
        workers = threads or os.cpu_count() or 1
        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            try:
                for number, piece in enumerate((*self.pieces, *[None] * workers)):
                    if piece is not None:
                        waiting.append(pool.submit(self._read, piece, make))
                    if number >= workers and waiting:  # so that what was made does not heap up
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
        options: dict[str, Any] = {"read_dictionary": [name for name in names if self.types[name] == pa.string()]}
        with pq.ParquetFile(path, metadata=metadata, **options) as file:
            return make(file.read_row_groups(groups, columns=[name], use_threads=False).column(name) for name in names)


def _of_values(type_: pa.DataType) -> pa.DataType:
    """The type of values that are read, whatever pandas or Polars have noted in the file."""
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    return pa.string() if pa.types.is_large_string(plain) else plain


def batches_of(groups: Sequence[int], about: int) -> list[list[int]]:
    """Row groups of so many rows, in batches of about `about`.

    >>> batches_of([40, 40, 40, 40], 90)
    [[0, 1], [2, 3]]
    """
    found: list[list[int]] = [[]]
    rows = 0
    for place, size in enumerate(groups):
        if found[-1] and rows + size / 2 > about:
            found.append([])
            rows = 0
        found[-1].append(place)
        rows += size
    return found if groups else []
