# SPDX-License-Identifier: Apache-2.0
"""Memory limits: their shares for each part of the process, and rows shuffled within memory.

A process has three parts: a fixed part, DuckDB's buffers, and arrays of NumPy and Arrow. DuckDB
keeps its buffers within a limit by spilling to disk. The size of the arrays follows from the number
of rows and cells in memory. So a limit is first reduced by the fixed part. Half of the rest is
DuckDB's. The other half bounds the number of rows and cells, by their measured costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge.errors import BadInput

FIXED = 200
SMALLEST = 300
"""Memory of Python, NumPy, Arrow and DuckDB themselves in MB, and the smallest memory limit.

A release of 1,000 rows has a peak of 187 MB.
"""
BYTES_PER_CELL = 1_000
"""Memory of a cell once all metrics have been computed, with a reserve."""
FEWEST_CELLS = 100_000
BYTES_PER_ROW = 75
"""Memory of a row that is grouped, published and read back, if many rows are equal."""
CHUNK_SHARE = 32
"""Divisor of the row limit that gives the rows of a chunk.

A chunk may have to grow, at most eight times. Its rows may all be different, which makes each of
them four times as expensive.
"""
BYTES_PER_THREAD = 125 * 10**6
"""Memory that DuckDB needs for each of its threads.

With less, statements run out of memory that one thread would complete.
"""
_BLOCK_ROWS = 2**22
BATCH = 122_880
"""Rows that are shuffled at a time, and rows of a batch, which is a row group of Parquet."""
FEW_TEXTS = 50_000
"""Largest number of distinct texts of a column that is shuffled dictionary-encoded.

The codes then have two bytes, whatever the error of an approximate count.
"""
_PORTABLE_TYPES = (
    "VARCHAR",
    "BOOLEAN",
    "DATE",
    "FLOAT",
    "DOUBLE",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
)
_MAX_COLUMNS = 32
"""Largest number of columns of rows that Spark workers shuffle in memory.

So many columns, with all rows different, still fit into the memory of a worker for a part file.
"""
SHUFFLE_COLUMNS = "own", "share", "part"
"""Additional columns of the rows of a part file.

A hash that orders them, the number of copies of each row, and the number of the part file.
"""


@dataclass(frozen=True)
class MemoryShares:
    """Shares of a memory limit for each part of a process; None: no limit."""

    duckdb: int | None = None
    """Bytes of DuckDB's buffers."""
    threads: int | None = None
    """Threads that share DuckDB's buffers."""
    distinct: int = 512 * 2**20
    """Bytes of distinct rows that are shuffled in memory."""
    cells: int | None = None
    """Cells of a count."""
    rows: int | None = None
    """Rows that are grouped."""
    chunk_rows: int = FEWEST_CELLS
    """Rows that are grouped at a time if there are more."""

    @classmethod
    def of(cls, limit: int, limit_text: str) -> Self:
        """Divide a limit in bytes.

        Raises:
            BadInput: If it is too small.
        """
        if round(limit / 10**6) < SMALLEST:
            message = (
                f"a memory limit of {limit_text} is too small: Python and the libraries alone take "
                f"{FIXED} MB of it"
            )
            raise BadInput(message, hint=f"The smallest that works is {SMALLEST}MB")
        available = limit - FIXED * 10**6
        rows = available // BYTES_PER_ROW
        cells = max(available // BYTES_PER_CELL, FEWEST_CELLS)
        threads = min(max(available // 2 // BYTES_PER_THREAD, 1), os.cpu_count() or 1)
        return cls(
            available // 2, threads, available // 4, cells, rows, max(rows // CHUNK_SHARE, 1)
        )


def deal(rows: pa.Table, copies: npt.NDArray[np.int64], secret: int) -> Iterator[pa.RecordBatch]:
    """Yield each row as often as it has copies, in a uniformly random order.

    Every copy goes to one of several blocks at random, and each block is shuffled separately.
    Memory holds one block at a time.
    """
    rng = np.random.default_rng(secret)
    left = copies
    for after in reversed(range(-(-int(copies.sum()) // _BLOCK_ROWS))):
        dealt_counts = rng.binomial(left, 1 / (after + 1))
        left = left - dealt_counts
        order = np.repeat(np.arange(len(dealt_counts), dtype=np.int32), dealt_counts)
        rng.shuffle(order)
        for begin in range(0, len(order), BATCH):
            yield from (
                rows.take(pa.array(order[begin : begin + BATCH])).combine_chunks().to_batches()
            )


@dataclass(frozen=True)
class ArrowRows:
    """Rows that are already in Arrow.

    Arrow writes them to Parquet in half the time, in the memory of one row group.
    """

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    """Batches that can be read once."""

    @property
    def written_alike(self) -> bool:
        """Report whether Arrow writes values of these types as DuckDB does."""
        types = (
            type_.value_type if pa.types.is_dictionary(type_) else type_
            for type_ in self.schema.types
        )
        plain = (pa.string(), pa.bool_(), pa.date32(), pa.float32(), pa.float64())
        return all(type_ in plain or pa.types.is_integer(type_) for type_ in types)

    def write_parquet(self, path: Path) -> None:
        """Write only these rows to a Parquet file."""
        # Imported late, as in parquet_batches: a command that writes nothing does not need it.
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, self.schema, compression="zstd", store_schema=False) as file:
            for batch in self.batches:
                file.write_batch(batch)


@dataclass(frozen=True)
class ShufflePart:
    """Function for a Spark worker that shuffles and writes the distinct rows of one part file.

    It returns the number of the part and a temporary file name. The name is null if memory is not
    allowed to hold the rows. A worker may have to start again, or two workers may do the same work.
    So each one chooses a new file name, and the driver takes one of the files.
    """

    folder: str
    """Folder that exists already; a worker that does not see it writes nothing."""
    names: Sequence[str]
    secret: int
    files: int
    max_bytes: int = 256 << 20
    """Bytes of distinct rows that memory may hold."""

    @staticmethod
    def takes(types: Sequence[str]) -> bool:
        """Report whether Arrow writes these types, by DuckDB's names, as Spark does.

        There must also be few enough columns for memory.
        """
        return len(types) <= _MAX_COLUMNS and all(type_ in _PORTABLE_TYPES for type_ in types)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Shuffle and write the rows of one partition."""
        pending_batches = list[pa.RecordBatch]()
        size = 0
        for batch in batches:  # read to the end, or Spark would not reuse this worker
            size += batch.nbytes
            pending_batches.append(batch)
            if size > self.max_bytes:
                pending_batches.clear()
        part = -1
        name = None
        if (
            pending_batches
            and (rows := pa.Table.from_batches(pending_batches).combine_chunks()).num_rows
        ):
            part = rows.column("part")[0].as_py()
            name = os.urandom(16).hex()
            if Path(self.folder).is_dir():
                self._shuffle_part(rows, part).write_parquet(Path(self.folder, name))
        if size:
            yield pa.RecordBatch.from_pydict(
                {"part": pa.array([part], pa.int32()), "name": pa.array([name], pa.string())}
            )

    def _shuffle_part(self, rows: pa.Table, part: int) -> ArrowRows:
        cells = [name for name in rows.column_names if name not in SHUFFLE_COLUMNS]
        rows = rows.take(
            pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ("own", *cells)])
        )
        dealt = pa.table(
            dict(zip(self.names, map(_encode_few_texts, rows.select(cells).columns), strict=True))
        )
        copies = rows.column("share").to_numpy()
        return ArrowRows(dealt.schema, deal(dealt, copies, self.secret * self.files + part))


def _encode_few_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionary-encode a column of few texts."""
    if not pa.types.is_string(column.type):
        return column
    coded = column.dictionary_encode()
    if coded.num_chunks and len(coded.chunk(0).dictionary) <= FEW_TEXTS:
        return coded
    return column
