# SPDX-License-Identifier: Apache-2.0
"""The distinct rows of a table over the columns that matter, with how often each occurs, as small numbers.

Every combination of these columns is a roll-up of the entries: the rows are read once, in one GROUP BY.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays, count
from divulge.arrays import Bools, Ints
from divulge.count import Domain, Request
from divulge.engines import Held, LinedUp
from divulge.errors import BadInput, InternalError
from divulge.table import Column

Codes = npt.NDArray[np.integer]
Ints32 = npt.NDArray[np.int32]


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
class DistinctRows:
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


_SAMPLE = 20_000
_MOST_UNGROUPED = 4_000_000


def hold_distinct_rows(request: Request, *, grouped: bool = True) -> Held:
    """Count the distinct rows over the quasi-identifiers and all sensitive attributes of a request; columns are named as its cells are.

    Not grouped, every row stands for itself.
    """
    found = request.table.engine.hold(
        request.sql_of_distinct_rows(grouped=grouped), together=request.layout.key_names, source=request.table.source
    )
    if found.rows == 0:
        raise request.no_rows()
    return found


def _pays_to_group(request: Request) -> bool:
    """Whether among the first rows many are alike; where hardly any two are, grouping would cost more than it saves.

    An unlucky sample costs time and changes no number.
    """
    some = f"SELECT * FROM ({request.sql_of_distinct_rows(grouped=False)}) AS each_row LIMIT {_SAMPLE}"
    different = f"(SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ({some}) AS first_rows) AS different)"
    rows = f"(SELECT COUNT(*) FROM {request.table.relation}{request.where()})"
    found = request.table.engine.query(f"SELECT {different} AS different, {rows} AS n").to_pylist()[0]
    return bool(found["n"] > _MOST_UNGROUPED or 2 * found["different"] < min(found["n"], _SAMPLE))


def read_distinct_rows(request: Request) -> DistinctRows:
    """The same in memory, which may take all rows; from a Parquet file's own numbers of its values, where they can be read."""
    grouped = _pays_to_group(request)
    counted = request.coded_distinct_rows() if grouped else None
    rows = None if grouped else request.coded_rows()
    if rows is not None and len(rows[0][1]):
        columns = {domain.name: Coded(domain, codes) for domain, codes in rows}
        return DistinctRows(columns, np.ones(len(rows[0][1]), dtype=np.int64))
    if counted is None or not counted.num_rows:
        counted = hold_distinct_rows(request, grouped=grouped).table()
    return encode_distinct_rows(request, counted)


def encode_distinct_rows(request: Request, counted: pa.Table) -> DistinctRows:
    """Distinct rows that were counted, as small numbers."""
    layout = request.layout
    names = [*layout.key_names, *(f"s{place}" for place in range(len(layout.values)))]
    columns = (*layout.keys, *layout.values)
    with ThreadPoolExecutor() as threads:  # Arrow works outside Python's lock, so the columns share the cores
        coded = list(threads.map(encode_unsorted, [counted.column(name) for name in names], columns))
    repeats = counted.column("n").to_numpy().astype(np.int64, copy=False)
    return DistinctRows({column.name: found for column, found in zip(columns, coded, strict=True)}, repeats)


def encode_unsorted(cells: pa.ChunkedArray, column: Column) -> Coded:
    """Number the values of a column as they come; a null is a value."""
    try:
        if pa.types.is_string(cells.type) and cells.num_chunks:  # not made one array, which ends at 2 GiB of text
            coded = cells.dictionary_encode(null_encoding="encode")  # all pieces share one dictionary
        else:
            coded = pa.chunked_array([count.plain_values(cells).dictionary_encode(null_encoding="encode")])
    except pa.ArrowNotImplementedError:
        raise BadInput(
            f"values of type {cells.type} in column {column.name!r} cannot be told apart",
            hint="turn the column into text",
        ) from None
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks])
    return Coded(Domain(column.name, coded.chunk(0).dictionary, column.kind), codes)


_DENSE = 2**16
_LARGEST = 2**62


class Columns:
    """The columns of a table one after the other, row for row: for tables too wide to be held in memory or grouped at once.

    Rows that are left out because of nulls are left out of each. While one column is worked on, the next is read. Parquet files are read
    where they are; everything else is first written once into the engine's private directory, so that no source is read for each of its
    columns, or in another order.
    """

    @classmethod
    def of(cls, request: Request) -> Columns | None:
        """The columns of a request; None where the engine keeps no order of rows that a column could be lined up with."""
        names = (*request.roles.quasi_identifiers, *request.roles.sensitive)
        found = request.table.engine.line_up(request.table.relation, names)
        return None if found is None else cls(request, found, names)

    def __init__(self, request: Request, lined_up: LinedUp, names: Sequence[str]) -> None:
        self._table, self._lined_up, self._kept = request.table, lined_up, None
        if request.nulls == "drop":
            complete = " AND ".join(f"{request.table.engine.quote(name)} IS NOT NULL" for name in names)
            self._kept = np.flatnonzero(lined_up.column(complete).to_numpy())
        self.rows = lined_up.rows if self._kept is None else len(self._kept)
        if self.rows == 0:
            raise request.no_rows()

    def coded(self, name: str) -> Coded:
        """One column with its values."""
        found = encode_unsorted(self._read(name), self._table.column(name))
        return found if self._kept is None else Coded(found.domain, found.codes[self._kept])

    def numbered(self, names: Sequence[str]) -> Iterator[tuple[str, Codes, int]]:
        """Each column as its name, a number for each row, and a bound that the numbers stay below."""
        with ThreadPoolExecutor(1) as reader:
            coming = [reader.submit(self._numbered, name) for name in names[:1]]
            for place, name in enumerate(names):
                codes, values = coming.pop().result()
                if place + 1 < len(names):
                    coming.append(reader.submit(self._numbered, names[place + 1]))
                yield name, codes, values

    def _numbered(self, name: str) -> tuple[Codes, int]:
        codes, values = number_values(self._read(name), self._table.column(name))
        return (codes if self._kept is None else codes[self._kept]), values

    def _read(self, name: str) -> pa.ChunkedArray:
        column = self._lined_up.column(self._table.engine.quote(name))
        if len(column) != self._lined_up.rows:
            raise InternalError(f"{name!r} was read with {len(column)} rows, and the table has {self._lined_up.rows}")
        return column


def number_values(cells: pa.ChunkedArray, column: Column) -> tuple[Codes, int]:
    """Different numbers for different values, and a bound on them; whole numbers that lie close together need no dictionary."""
    if pa.types.is_integer(cells.type) and cells.null_count < len(cells):
        ends = pc.min_max(cells).as_py()
        span = ends["max"] - ends["min"] + 1
        if span < max(len(cells), _DENSE) and -_LARGEST < ends["min"] <= ends["max"] < _LARGEST:
            numbers = pc.fill_null(cells.cast(pa.int64()), ends["min"] + span).to_numpy()
            return numbers - ends["min"], span + (1 if cells.null_count else 0)
    coded = encode_unsorted(cells, column)
    return coded.codes, coded.values


# Classes of a growing set of columns, one column at a time (Bkakria et al. 2021, Definition 2 and Fig. 7): the classes of n columns come
# from those of n - 1 by looking at one column, where a GROUP BY for each n would read and hash n columns again. The number of a class and
# the code of a value make one small number. Those that occur are counted in an array: no hashing, no sorting. A column with many values is
# taken digit by digit, so that the array is never longer than twice the rows. A row that is alone in its class stays alone whatever is
# added: it is closed and not looked at again.
Scalar = TypeVar("Scalar", bound=np.generic)
_SMALLEST_TABLE = 2**16


@dataclass(frozen=True, eq=False)
class Refinement:
    """Rows divided into classes; those alone in a class are only counted."""

    ids: Ints = field(repr=False)
    """The class of each open row, from 0 to the number of open classes."""
    rows: Ints | None = field(repr=False)
    """Which rows are open; None while all are."""
    sizes: Ints = field(repr=False)
    """The size of each open class, at least 2."""
    closed: int
    """Rows that are alone in their class."""

    @classmethod
    def whole(cls, rows: int) -> Refinement:
        """All rows in one class."""
        if rows < 2:
            nobody: Ints = np.empty(0, dtype=np.int64)
            return cls(nobody, nobody, nobody, rows)
        return cls(np.zeros(rows, dtype=np.int64), None, np.array([rows]), 0)

    @property
    def classes(self) -> int:
        """Open and closed classes."""
        return len(self.sizes) + self.closed

    def open_part(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """What a column holds for the open rows."""
        return column if self.rows is None else column[self.rows]

    def closed_rows(self, rows: int) -> Ints:
        """Which of so many rows are alone in their class."""
        if self.rows is None:
            return np.empty(0, dtype=np.int64)
        is_closed = np.ones(rows, dtype=bool)
        is_closed[self.rows] = False
        return np.flatnonzero(is_closed)


def refine(partition: Refinement, codes: Codes, values: int) -> Refinement:
    """Divide the classes by one more column; `codes` lie from 0 up to, but not including, `values`."""
    rest = partition.open_part(codes)
    while values > 1 and len(rest):
        longest = max(2 * len(rest), _SMALLEST_TABLE)
        base = max(longest // len(partition.sizes), 2)
        if values <= base:
            digit, base, values = rest, values, 1
        else:
            rest, digit = np.divmod(rest, base)
            values = -(-values // base)
        partition, kept = _divide(partition, digit, base)
        rest = rest if kept is None else rest[kept]
    return partition


def _divide(partition: Refinement, digit: Codes, base: int) -> tuple[Refinement, Bools | None]:
    """Divide by a column with few values; also which of the open rows stay open, None if all do."""
    key = partition.ids * base
    key += digit
    sizes = np.bincount(key, minlength=len(partition.sizes) * base)
    if np.count_nonzero(sizes) == len(partition.sizes):  # every class has one value: nothing is divided
        return partition, None
    is_open = sizes > 1
    ids = np.cumsum(is_open, dtype=np.int64) - 1
    closed = int(np.count_nonzero(sizes == 1))
    if closed == 0:
        return Refinement(ids[key], partition.rows, sizes[is_open], partition.closed), None
    kept = is_open[key]
    rows = np.flatnonzero(kept) if partition.rows is None else partition.rows[kept]
    return Refinement(ids[key[kept]], rows, sizes[is_open], partition.closed + closed), kept


# Which combinations of columns to count together. The counts of a few columns with few values make a small dense table, a cube, and every
# combination of these columns is a sum over its other axes: a roll-up of some ten thousand cells instead of a look at a million rows.
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cube:
    """How often each combination of values occurs: an axis for the values of an attribute, then one for each column."""

    names: Names
    counts: Ints32 | Ints = field(repr=False)
    _sums: dict[Names, Ints32 | Ints] = field(default_factory=dict, repr=False)
    """What was rolled up: combinations have parts in common."""

    def roll_up(self, names: Names) -> Ints32 | Ints:
        """The counts of some of the columns, in this order, as a table of values by classes."""
        own = tuple(name for name in self.names if name in names)
        table = self._sum(own).transpose(0, *(1 + own.index(name) for name in names))
        return table.reshape(len(table), -1)

    def _sum(self, names: Names) -> Ints32 | Ints:
        """The counts of some of the columns: the axis with most values goes first, so that little is left to add up for the others."""
        if names == self.names:
            return self.counts
        if names not in self._sums:
            others = (name for name in self.names if name not in names)
            last = min(others, key=lambda name: self.counts.shape[1 + self.names.index(name)])
            wider = tuple(name for name in self.names if name in names or name == last)
            counts = self._sum(wider)
            self._sums[names] = counts.sum(axis=1 + wider.index(last), dtype=counts.dtype)
        return self._sums[names]


_BLOCK = 2**18
"""Entries whose keys are made in one go: they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class CubeCounter:
    """Entries that lie in the order of an attribute's values, so that those of one value are counted together."""

    columns: Mapping[str, tuple[Codes, int]]
    """The codes of each column in as few bytes as they need, and how many values it has."""
    repeats: Ints32 | Ints = field(repr=False)
    """How often each entry occurs, or 1 for all; so wide that their sum fits."""
    starts: Ints = field(repr=False)
    """Where the entries of each value begin, and where the last ones end."""

    @classmethod
    def of(cls, entries: DistinctRows, names: Iterable[str], attribute: Coded | None) -> CubeCounter:
        """Some columns of the entries; without an attribute all entries have one value."""
        repeats: Ints32 | Ints = np.ones(1, np.int64) if entries.once else entries.repeats
        if entries.rows < 2**31:
            repeats = repeats.astype(np.int32)
        columns = {name: (_narrow(entries.columns[name]), entries.columns[name].values) for name in names}
        if attribute is None:
            return cls(columns, repeats, np.array([0, len(entries)]))
        order = arrays.stable_order(attribute.codes, attribute.values)
        starts = np.concatenate([[0], np.cumsum(np.bincount(attribute.codes, minlength=attribute.values))])
        columns = {name: (codes[order], values) for name, (codes, values) in columns.items()}
        return cls(columns, repeats if entries.once else repeats[order], starts)

    def count(self, cubes: Sequence[Names]) -> Iterator[Cube]:
        """Count cubes, in this order; each is good until the next one is asked for, which is counted in the same place.

        The key of an entry is built column by column, and a cube that begins as the one before takes over that part of its keys.
        """
        shapes = [(len(self.starts) - 1, *(self.columns[name][1] for name in names)) for names in cubes]
        room = np.empty(max(map(math.prod, shapes), default=0), dtype=self.repeats.dtype)
        begun, parts = Names(), [np.empty(self.starts[-1], np.int32) for _ in range(max(map(len, cubes), default=0))]
        for names, shape in zip(cubes, shapes, strict=True):
            counts = room[: math.prod(shape)].reshape(shape[0], -1)
            counts.fill(0)
            alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(begun, names[:-1], strict=False))
            self._add(counts, names, parts, known=sum(1 for _ in alike))
            begun = names[:-1]
            yield Cube(names, counts.reshape(shape))

    def _add(self, counts: Ints32 | Ints, names: Names, parts: Sequence[Ints32], *, known: int) -> None:
        """Add up the entries by value and key; `parts` are the keys of the first column, of the first two, ..., so many of them known."""
        last, keys = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int64)
        for value, here in self._blocks():
            size = here.stop - here.start
            for depth in range(known, len(names)):
                codes, values = self.columns[names[depth]]
                key = parts[depth][here] if depth + 1 < len(names) else last[:size]
                if depth == 0:
                    key[:] = codes[here]
                else:
                    np.multiply(parts[depth - 1][here], np.int32(values), out=key)
                    np.add(key, codes[here], out=key)
            keys[:size] = last[:size]
            np.add.at(counts[value], keys[:size], self.repeats if len(self.repeats) == 1 else self.repeats[here])

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Entries of one value, at most so many as a block has."""
        for value, (first, end) in enumerate(itertools.pairwise(self.starts.tolist())):
            for start in range(first, end, _BLOCK):
                yield value, slice(start, min(start + _BLOCK, end))


def _narrow(column: Coded) -> Codes:
    """The codes of a column in as few bytes as they need."""
    return column.codes.astype(np.min_scalar_type(max(column.values - 1, 0)), copy=False)


def cover(
    combinations: Sequence[Names], values: Mapping[str, int], *, shared: int, own: int
) -> dict[Names, list[Names]]:
    """Cubes, each with the combinations to take from it; a combination of more than `own` cells has none.

    Cubes that combinations share have at most `shared` cells. They are found greedily: a cube begins with a combination that is not
    covered yet and takes in the column that covers most others, as long as it fits. Its columns are ordered by how many values they have:
    long axes that lie together are added up fastest.
    """
    bits = {name: 1 << place for place, name in enumerate(values)}  # a set of columns is a number, found quickly
    size = max(map(len, combinations), default=0)
    cells = {names: math.prod(values[name] for name in names) for names in combinations}
    cubes = {names: [names] for names in combinations if shared < cells[names] <= own}
    open_ones = {sum(bits[name] for name in names): names for names in combinations if cells[names] <= shared}
    for names in sorted(open_ones.values(), key=lambda names: (-len(names), [values[name] for name in names])):
        if sum(bits[name] for name in names) not in open_ones:
            continue
        wide = _widened(names, open_ones, values, bits, cells=shared, size=size)
        ordered = sorted(bits[name] for name in wide)
        parts = (sum(part) for n in range(1, size + 1) for part in itertools.combinations(ordered, n))
        cubes[tuple(sorted(wide, key=values.__getitem__))] = [
            open_ones.pop(part) for part in parts if part in open_ones
        ]
    return {cube: cubes[cube] for cube in sorted(cubes)}


def _widened(
    names: Names,
    open_ones: Container[int],
    values: Mapping[str, int],
    bits: Mapping[str, int],
    *,
    cells: int,
    size: int,
) -> Names:
    while True:
        room = cells // math.prod(values[name] for name in names)
        parts = [sum(part) for part in itertools.combinations([bits[name] for name in names], size - 1)]
        best, gain = None, 0
        for name, own in values.items():
            if name in names or own > room:
                continue
            found = sum(part | bits[name] in open_ones for part in parts)
            # Of two that cover as much, the one with fewer values leaves more room.
            if found > gain or (found == gain > 0 and best is not None and own < values[best]):
                best, gain = name, found
        if best is None:
            return names
        names = (*names, best)
