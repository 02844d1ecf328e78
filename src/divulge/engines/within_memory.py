# SPDX-License-Identifier: Apache-2.0
"""What memory holds: how a limit for the whole process is shared out, and rows that are dealt and written from there.

A process has a fixed part, DuckDB's buffers, which it keeps to a limit by spilling to disk, and arrays of NumPy and Arrow, whose sizes
follow from how many rows and cells come to memory. So a limit leaves a room beside the fixed part; half of it is DuckDB's, and how many
rows and cells may come is worked out from the rest, by what one of each was measured to cost.
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

FIXED, SMALLEST = 200, 300
"""What Python, NumPy, Arrow and DuckDB themselves take, in MB (a release of 1,000 rows has a peak of 187), and the smallest memory limit
that leaves enough beside it."""
BYTES_PER_CELL = 1_000
"""What a cell costs in memory once all metrics have been computed, with room to spare."""
FEWEST_CELLS = 100_000
BYTES_PER_ROW = 75
"""What a row costs that is grouped, published and read back, where many are alike."""
CHUNK_SHARE = 32
"""A chunk may have to grow, eight times at most, and none of its rows may be alike, which makes each four times as dear."""
BYTES_PER_THREAD = 125 * 10**6
"""What DuckDB asks for, for each of its threads; with less, statements run out of memory that one thread would end."""
_BLOCK, BATCH = 2**22, 122_880
"""Rows that are shuffled at a time, and rows that are handed over at a time, which are a row group of Parquet."""
FEW_TEXTS = 50_000
"""A column of so many texts is dealt by their numbers: surely of two bytes, whatever an approximate count is off by."""
_ALIKE = ("VARCHAR", "BOOLEAN", "DATE", "FLOAT", "DOUBLE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_MOST_COLUMNS = 32
"""Rows of so many columns, all different, still fit into the memory that a worker of Spark may take for a part file."""
DEALT = "own", "share", "part"
"""The columns beside the rows that are dealt: a hash that orders them, how many copies of each there are, and of which part file."""


@dataclass(frozen=True)
class MemoryShares:
    """What each part of a process may take; None: as much as there is."""

    duckdb: int | None = None
    """Bytes of DuckDB's buffers ..."""
    threads: int | None = None
    """... and the threads that share them."""
    distinct: int = 512 * 2**20
    """Bytes of distinct rows that are dealt from memory."""
    cells: int | None = None
    """Cells of a count."""
    rows: int | None = None
    """Rows that are grouped."""
    chunk_rows: int = FEWEST_CELLS
    """Rows that are grouped at a time where there are more."""

    @classmethod
    def of(cls, limit: int, asked: str) -> Self:
        """Share out a limit in bytes; refused where it is too small."""
        if round(limit / 10**6) < SMALLEST:
            told = f"a memory limit of {asked} is too small: Python and the libraries alone take {FIXED} MB of it"
            raise BadInput(told, hint=f"The smallest that works is {SMALLEST}MB")
        room = limit - FIXED * 10**6
        rows, cells = room // BYTES_PER_ROW, max(room // BYTES_PER_CELL, FEWEST_CELLS)
        threads = min(max(room // 2 // BYTES_PER_THREAD, 1), os.cpu_count() or 1)
        return cls(room // 2, threads, room // 4, cells, rows, max(rows // CHUNK_SHARE, 1))


def deal(rows: pa.Table, copies: npt.NDArray[np.int64], secret: int) -> Iterator[pa.RecordBatch]:
    """Each row as often as it has copies, in an order in which all are equally likely.

    Every copy goes to one of several blocks by chance, and each block is shuffled by itself, so that memory holds one of them.
    """
    rng, left = np.random.default_rng(secret), copies
    for after in reversed(range(-(-int(copies.sum()) // _BLOCK))):
        here = rng.binomial(left, 1 / (after + 1))
        left = left - here
        order = np.repeat(np.arange(len(here), dtype=np.int32), here)
        rng.shuffle(order)
        for begin in range(0, len(order), BATCH):
            yield from rows.take(pa.array(order[begin : begin + BATCH])).combine_chunks().to_batches()


@dataclass(frozen=True)
class ArrowRows:
    """Rows that are Arrow's already: it writes them to Parquet in half the time, in the memory of one row group."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    """To be looked at once."""

    @property
    def written_alike(self) -> bool:
        """Whether Arrow writes values of these types as DuckDB does."""
        types = (type_.value_type if pa.types.is_dictionary(type_) else type_ for type_ in self.schema.types)
        plain = (pa.string(), pa.bool_(), pa.date32(), pa.float32(), pa.float64())
        return all(type_ in plain or pa.types.is_integer(type_) for type_ in types)

    def write_parquet(self, path: Path) -> None:
        """Write them, and nothing but them."""
        import pyarrow.parquet as pq  # as parquet_batches does: a command that writes nothing need not wait for it

        with pq.ParquetWriter(path, self.schema, compression="zstd", store_schema=False) as file:
            for batch in self.batches:
                file.write_batch(batch)


@dataclass(frozen=True)
class DealPart:
    """On a worker of Spark: the distinct rows of one part file are dealt and written. Its number comes back, and the name it has so far.

    There is no name where memory is not to hold the rows. A worker may have to begin again, or two may do the same: so each names its
    file anew, and whoever asked for the part takes one of them.
    """

    folder: str
    """Which is there already; where a worker does not see it, nothing is written."""
    names: Sequence[str]
    secret: int
    files: int
    most: int = 256 << 20
    """Bytes of distinct rows that memory is to hold."""

    @staticmethod
    def takes(types: Sequence[str]) -> bool:
        """Whether Arrow writes columns of these types, by DuckDB's names, as Spark does, and they are few enough for memory."""
        return len(types) <= _MOST_COLUMNS and all(type_ in _ALIKE for type_ in types)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Deal what stands in one partition."""
        held, size = list[pa.RecordBatch](), 0
        for batch in batches:  # all of them, or Spark would not use this worker again
            size += batch.nbytes
            held.append(batch)
            if size > self.most:
                held.clear()
        part, name = -1, None
        if held and (rows := pa.Table.from_batches(held).combine_chunks()).num_rows:
            part, name = rows.column("part")[0].as_py(), os.urandom(16).hex()
            if Path(self.folder).is_dir():
                self._deal(rows, part).write_parquet(Path(self.folder, name))
        if size:
            yield pa.RecordBatch.from_pydict(
                {"part": pa.array([part], pa.int32()), "name": pa.array([name], pa.string())}
            )

    def _deal(self, rows: pa.Table, part: int) -> ArrowRows:
        cells = [name for name in rows.column_names if name not in DEALT]
        rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ("own", *cells)]))
        dealt = pa.table(dict(zip(self.names, map(_by_number, rows.select(cells).columns), strict=True)))
        copies = rows.column("share").to_numpy()
        return ArrowRows(dealt.schema, deal(dealt, copies, self.secret * self.files + part))


def _by_number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of a column as numbers, where they are few."""
    if not pa.types.is_string(column.type):
        return column
    coded = column.dictionary_encode()
    return coded if coded.num_chunks and len(coded.chunk(0).dictionary) <= FEW_TEXTS else column
