# SPDX-License-Identifier: Apache-2.0
"""A published anatomized release: one relation per table, linked only by the group.

Everything here is computed from the released tables only. So it verifies our own releases as well
as third-party releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.anatomization.encoded_rows import Tuples
from divulge.anatomization.methods import Anatomized
from divulge.anatomization.model import (
    AlphaBetaGammaDelta,
    GroupLevels,
    GroupSummary,
    largest_shift,
    rank_by_frequency,
    tally,
    tally_in_pieces,
)
from divulge.anatomization.problem import Groups, SensitiveTotals, sensitive_totals
from divulge.arrays import Codes, Ints
from divulge.counting import domain_codes, encode
from divulge.engines import Engine, StoredRows
from divulge.errors import BadInput, nearest
from divulge.sources import Table

GROUP = "GID"
COUNT = "Count"
_SMALL_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "INT")
"""Integer types of counts that are used without a cast, which halves their memory."""
_ONE_RELEASE = "Are they files of one release?"


@dataclass(frozen=True)
class GroupTable:
    """One published table."""

    relation: str
    """SQL relation, for the FROM clause."""
    columns: tuple[str, ...]
    """Column names without the group and the count."""
    counted: bool
    """True if each row states how many records it represents; otherwise each represents one."""
    source: str
    """Name of the table in messages."""


@dataclass(frozen=True, eq=False)
class Published:
    """The tables of a release, which agree on the groups and their sizes."""

    engine: Engine
    tables: tuple[GroupTable, ...]
    sensitive: tuple[str, ...]
    """The sensitive columns; each is the only column of its table."""
    group: str
    count: str
    frame: str = "none"
    """Kind of data frame that the tables were passed as."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All released columns, table by table."""
        return tuple(name for table in self.tables for name in table.columns)

    @cached_property
    def table_index(self) -> Mapping[str, int]:
        """Index of each column's table."""
        return {
            name: position for position, table in enumerate(self.tables) for name in table.columns
        }

    @cached_property
    def records(self) -> int:
        """Number of released records."""
        return int(self._sizes(self.tables[0])[1].sum())

    def rows(self, table: GroupTable) -> int:
        """Return the number of rows of a table."""
        return int(
            self.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}").column("n")[0].as_py()
        )

    def mass(self, table: GroupTable) -> str:
        """SQL for the number of records that a row represents."""
        if table.counted:
            return f"CAST({self.engine.quote(self.count)} AS BIGINT)"
        return "1"

    def _sizes(self, table: GroupTable) -> tuple[pa.Array, Ints]:
        """The groups in order, and the number of records of each."""
        group = self.engine.quote(self.group)
        group_sizes = self.engine.query(
            f"SELECT {group} AS g, CAST(SUM({self.mass(table)}) AS BIGINT) AS n "
            f"FROM {table.relation} GROUP BY 1 ORDER BY 1 NULLS LAST"
        )
        return group_sizes.column("g").combine_chunks(), group_sizes.column("n").to_numpy()

    def tally_query(self, table: GroupTable) -> str:
        """SQL for the number of records n of each group g and each tuple c0, c1, ... of a table."""
        quote = self.engine.quote
        cells = [f"c{index}" for index in range(len(table.columns))]
        columns = [
            f"{quote(name)} AS {cell}"
            for name, cell in zip((self.group, *table.columns), ("g", *cells), strict=True)
        ]
        tuple_columns = ", ".join(["g", *cells])
        return f"""
            SELECT {tuple_columns}, CAST(SUM(w) AS BIGINT) AS n
            FROM (
                SELECT {", ".join(columns)}, {self.mass(table)} AS w
                FROM {table.relation}
            ) AS weighted_rows
            GROUP BY {tuple_columns}
        """

    def numbered_query(self, table: GroupTable) -> str:
        """SQL for the group g, the tuple number t (from 0) and the record count n of each row."""
        quote = self.engine.quote
        cells = {f"c{index}": quote(name) for index, name in enumerate(table.columns)}
        cell_columns = ", ".join(f"{column} AS {cell}" for cell, column in cells.items())
        tuple_numbers = f"""
            SELECT *, CAST(ROW_NUMBER() OVER (ORDER BY {", ".join(cells)}) - 1 AS INT) AS t
            FROM (SELECT DISTINCT {cell_columns} FROM {table.relation}) AS distinct_tuples
        """
        same_tuple = " AND ".join(
            f"r.{column} IS NOT DISTINCT FROM tuples.{cell}" for cell, column in cells.items()
        )
        columns = [f"r.{quote(self.group)} AS g", "tuples.t AS t"]
        if table.counted:
            count_type = dict(self.engine.describe(table.relation)).get(self.count)
            is_small = count_type in _SMALL_INTEGERS
            if is_small:
                mass = f"r.{quote(self.count)}"
            else:
                mass = self.mass(table)
            columns.append(f"{mass} AS n")
        return f"""
            SELECT {", ".join(columns)}
            FROM {table.relation} AS r
            JOIN ({tuple_numbers}) AS tuples ON {same_tuple}
        """

    def modal_query(self, table: GroupTable) -> str:
        """SQL for each group g, its records (size) and the count of its top tuple (most)."""
        tuples = self.tally_query(table)
        return (
            f"SELECT g, MAX(n) AS most, CAST(SUM(n) AS BIGINT) AS size FROM ({tuples}) AS t "
            "GROUP BY g"
        )

    def divided(self) -> tuple[list[GroupTable], list[GroupTable]]:
        """The tables of quasi-identifiers and those of sensitive columns."""
        sensitive = [table for table in self.tables if table.columns[0] in self.sensitive]
        if not sensitive:
            raise BadInput(
                "it is not known which column of the release is sensitive",
                hint=nearest("", self.columns),
            )
        return [table for table in self.tables if table not in sensitive], sensitive


def join_tables(
    tables: Sequence[Table], *, sensitive: Sequence[str], group: str = GROUP, count: str = COUNT
) -> Published:
    """Build a release from its tables, after a check of their columns and counts.

    `check_groups` checks the groups.
    """
    group_tables = [_group_table(table, group=group, count=count) for table in tables]
    if not group_tables:
        raise BadInput("a release without tables", hint="Name the files of its tables")
    _check_columns(group_tables, sensitive)
    published = Published(
        tables[0].engine, tuple(group_tables), tuple(sensitive), group, count, tables[0].frame
    )
    _check_counts(published)
    return published


def _group_table(table: Table, *, group: str, count: str) -> GroupTable:
    if group not in table.names:
        raise BadInput(
            f"{table.source} has no group column {group!r}", hint=nearest(group, table.names)
        )
    columns = tuple(name for name in table.names if name not in (group, count))
    if not columns:
        raise BadInput(
            f"{table.source} has no columns but the group", hint="It tells nothing: leave it out"
        )
    return GroupTable(table.relation, columns, count in table.names, table.source)


def _check_columns(tables: Sequence[GroupTable], sensitive: Sequence[str]) -> None:
    column_sources: dict[bytes, str] = {}
    for table in tables:
        for name in table.columns:
            # as SQL does: fold only the letters A to Z; straße and strasse are two columns
            folded = name.encode().lower()
            if folded in column_sources:
                raise BadInput(
                    f"the column {name!r} is in {column_sources[folded]} and in {table.source}",
                    hint="A column that is in two tables links them: this is not an anatomized "
                    "release",
                )
            column_sources[folded] = table.source
    for name in sensitive:
        sensitive_table = next((table for table in tables if name in table.columns), None)
        if sensitive_table is None:
            raise BadInput(
                f"no table of the release has the sensitive column {name!r}",
                hint=nearest(name, [column for table in tables for column in table.columns]),
            )
        if len(sensitive_table.columns) > 1:
            others = ", ".join(repr(other) for other in sensitive_table.columns if other != name)
            raise BadInput(
                f"the sensitive column {name!r} is published in one table with {others}",
                hint="The model wants it in a table of its own",
            )


def _check_counts(published: Published) -> None:
    """Raise an error if a count is not an integer from 1 on, or a row has no group."""
    group = published.engine.quote(published.group)
    for table in published.tables:
        count = published.engine.quote(published.count)
        if table.counted:
            invalid_count = f" OR {count} IS NULL OR {count} < 1 OR {count} <> FLOOR({count})"
        else:
            invalid_count = ""
        sql = f"SELECT COUNT(*) AS n FROM {table.relation} WHERE {group} IS NULL{invalid_count}"
        if invalid_rows := published.engine.query(sql).column("n")[0].as_py():
            raise BadInput(
                f"{invalid_rows} rows of {table.source} lack a group, or have a {published.count} "
                "that is not a whole number from 1 on",
                hint="Mend the file",
            )


def check_groups(published: Published) -> None:
    """Raise an error unless all tables have the same groups of the same sizes.

    Measuring the groups checks this too.
    """
    first, *others = published.tables
    groups, sizes = published._sizes(first)  # noqa: SLF001 - of this module
    if not len(sizes):
        raise BadInput(f"{first.source} has no rows", hint="There is nothing in this release")
    for table in others:
        other_groups, counts = published._sizes(table)  # noqa: SLF001 - of this module
        if not other_groups.cast(pa.string()).equals(groups.cast(pa.string())):
            raise _different_groups_error(first.source, table.source)
        check_sizes(groups, sizes, counts, sources=(first.source, table.source))


def check_sizes(
    groups: Sequence[object], sizes: Ints, others: Ints, *, sources: tuple[str, str]
) -> None:
    """Raise an error unless two tables have the same number of records in each group.

    A group that one of them lacks has 0 records there.
    """
    if np.array_equal(sizes, others):
        return
    group_index = int(np.flatnonzero(sizes != others)[0])
    if 0 in (sizes[group_index], others[group_index]):
        raise _different_groups_error(*sources)
    raise BadInput(
        f"group {groups[group_index]} has {sizes[group_index]} records in {sources[0]} and "
        f"{others[group_index]} in {sources[1]}",
        hint=_ONE_RELEASE,
    )


def _different_groups_error(first: str, second: str) -> BadInput:
    """Build the error for a group that one table has and another lacks."""
    return BadInput(f"{first} and {second} do not have the same groups", hint=_ONE_RELEASE)


# --- release --------------------------------------------------------------------------------------
# The published tables: group, columns, and the number of records that a row represents if rows
# repeat (Yao et al. 2021, Table 3).
#
# Equal rows of a group become one row with a count, so nothing remains of the original order of
# records. Groups get new numbers, and so do the tuples of each table. Both are drawn from a secret
# that is independent of the grouping, and rows are sorted by both. So the position of a row follows
# from published values and the secret. An adversary who infers the secret from the order of the
# rows learns nothing else.
@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release, in memory."""

    name: str
    """Name of its file, without the extension."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    rows: pa.Table = field(repr=False)


@dataclass(frozen=True, eq=False)
class ReleasedTables:
    """The tables of a release, in memory."""

    tables: tuple[ReleasedTable, ...]
    group: str
    """Name of the group column.

    It differs from the default if the table already has a column of that name.
    """
    count: str


def build_released_tables(anatomized: Anatomized, *, secret: int) -> ReleasedTables:
    """Build the tables to publish; the same secret gives the same tables."""
    rng = np.random.default_rng(secret)
    number = rng.permutation(anatomized.groups).astype(np.int32)[anatomized.group]
    group = free_name(GROUP, anatomized.tables)
    count = free_name(COUNT, anatomized.tables)
    tuples = [
        *anatomized.problem.tables,
        *(anatomized.rows.tuples([name]) for name in anatomized.sensitive),
    ]
    names = table_names(len(anatomized.division.tables), len(anatomized.sensitive))
    released_tables = []
    for name, columns, table_tuples in zip(names, anatomized.tables, tuples, strict=True):
        rows = pa.Table.from_batches(
            pa.record_batch(
                {group: groups}
                | {column: anatomized.rows.dictionary_column(column, cells) for column in columns}
                | {count: counts}
            )
            for groups, cells, counts in _tuples_of_groups(
                number, table_tuples, anatomized.groups, rng
            )
        )
        has_counts = pc.max(rows.column(count)).as_py() > 1
        if not has_counts:
            rows = rows.drop_columns([count])
        released_tables.append(
            ReleasedTable(name, columns, columns[0] in anatomized.sensitive, has_counts, rows)
        )
    return ReleasedTables(tuple(released_tables), group, count)


def _tuples_of_groups(
    number: Codes, tuples: Tuples, groups: int, rng: np.random.Generator
) -> Iterator[tuple[Groups, Groups, Groups]]:
    """Yield the tuples of each group, in a random order of tuples.

    Each item has the group, a cell with the tuple, and the number of records with it.
    """
    order = rng.permutation(tuples.distinct)
    shuffled_ids = arrays.inverse(order).astype(tuples.ids.dtype)
    cells = tuples.cells[order].astype(np.int32)
    for group_range, tuple_tally in tally_in_pieces(
        number, shuffled_ids[tuples.ids], groups=groups, values=tuples.distinct
    ):
        first = np.int32((group_range.start or 0) + 1)
        yield (
            tuple_tally.group.astype(np.int32) + first,
            cells[tuple_tally.value],
            tuple_tally.count.astype(np.int32),
        )


def table_names(tables: int, sensitive: int) -> tuple[str, ...]:
    """File names, without the extension, for so many tables of each kind."""
    return (*_numbered_names("quasi_identifiers", tables), *_numbered_names("sensitive", sensitive))


def _numbered_names(name: str, count: int) -> tuple[str, ...]:
    if count == 1:
        return (name,)
    return tuple(f"{name}_{number}" for number in range(1, count + 1))


def free_name(candidate: str, tables: Sequence[Sequence[str]]) -> str:
    """Append underscores to a name until no column of the tables has it."""
    taken_names = {name.casefold() for names in tables for name in names}
    while candidate.casefold() in taken_names:
        candidate += "_"
    return candidate


# --- measured -------------------------------------------------------------------------------------
# The levels of a release, computed from its tables only, by the formulas that measure our own
# groups (model.py).
#
# The input is the count of the most common tuple of each table of quasi-identifiers, and all counts
# of each sensitive column. If the rows may be loaded into memory, the engine numbers the tuples of
# each table, and groups and tuples are counted here. Otherwise the engine holds the rows sorted by
# group, and they are folded into one summary. The prior of delta is the sum over all groups,
# because an anatomized release suppresses no records.
_PIECE = 250_000
"""Groups are measured together until they have this many rows."""


@dataclass(frozen=True, eq=False)
class _MeasurementPlan:
    """Everything needed to measure groups, except their rows."""

    model: AlphaBetaGammaDelta
    sources: tuple[str, ...]
    """Names of the tables in messages: quasi-identifiers first, then sensitive columns."""
    totals: tuple[SensitiveTotals, ...] = field(repr=False)


def measure_tables(published: Published, model: AlphaBetaGammaDelta) -> GroupSummary:
    """Measure the levels of a release's groups, and count the groups that violate a model."""
    engine, (others, sensitive) = published.engine, published.divided()
    limit = engine.row_limit
    if limit is None or all(published.rows(table) <= limit for table in published.tables):
        return _measure_in_memory(published, others, sensitive).summary(model)
    # One after the other, so that no two tables are counted at the same time.
    modal = [engine.hold(published.modal_query(table)) for table in others]
    tally_in_pieces = [engine.hold(published.tally_query(table)) for table in sensitive]
    totals = tuple(
        _value_totals(table.columns[0], stored_rows)
        for table, stored_rows in zip(sensitive, tally_in_pieces, strict=True)
    )
    rows = int(totals[0].totals.sum())
    if rows == 0:
        raise BadInput(
            f"{sensitive[0].source} has no rows", hint="There is nothing in this release"
        )
    plan = _MeasurementPlan(model, tuple(table.source for table in (*others, *sensitive)), totals)
    engine_of_tallies = tally_in_pieces[0].engine
    stored_rows = engine_of_tallies.hold(
        _stacked_counts_query(modal, tally_in_pieces), together=["g"], rows=rows
    )
    return engine_of_tallies.fold(stored_rows, partial(summarize, plan), GroupSummary.plus)


def _measure_in_memory(
    published: Published, others: Sequence[GroupTable], sensitive: Sequence[GroupTable]
) -> GroupLevels:
    """Measure the counts of each group in memory.

    Tables are read one after the other, so that no two of them are in memory at the same time.
    """
    group_numbers = _GroupNumbers()
    modal = list[Ints]()
    highest_counts = list[Ints]()
    shift = list[Ints]()
    for table in (*others, *sensitive):
        modal_counts, largest_shifts = _table_counts(
            published, table, group_numbers, with_shift=table in sensitive
        )
        (highest_counts if table in sensitive else modal).append(modal_counts)
        if largest_shifts is not None:
            shift += [largest_shifts]
    sizes = group_numbers.sizes
    return GroupLevels(int(sizes.sum()), sizes, tuple(modal), tuple(highest_counts), tuple(shift))


def _table_counts(
    published: Published, table: GroupTable, group_numbers: _GroupNumbers, *, with_shift: bool
) -> tuple[Ints, Ints | None]:
    """Count of each group's most common tuple, and the largest shift of a share if requested."""
    rows = published.engine.query(published.numbered_query(table))
    if rows.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing in this release")
    # Each Arrow column is dropped as soon as it has become an array.
    group, rows = group_numbers.codes(rows.column("g"), table.source), rows.drop_columns(["g"])
    ids, rows = rows.column("t").to_numpy(), rows.drop_columns(["t"])
    if table.counted:
        times = _as_int32(rows.column("n").to_numpy())
    else:
        times = None
    del rows
    sizes = np.bincount(group, times, minlength=group_numbers.groups).astype(np.int64, copy=False)
    group_numbers.check(sizes, table.source)
    totals = np.bincount(ids, times).astype(np.int64, copy=False)
    rank, ordered = rank_by_frequency(totals)
    ids = rank.astype(np.int32)[ids]
    levels = [
        (
            tuple_tally.modal(),
            largest_shift(tuple_tally, sizes[group_range], ordered, rows=int(ordered.sum()))
            if with_shift
            else None,
        )
        for group_range, tuple_tally in tally_in_pieces(
            group, ids, groups=len(sizes), values=len(totals), count=times
        )
    ]
    if with_shift:
        largest_shifts = np.concatenate(
            [shift_counts for _, shift_counts in levels if shift_counts is not None]
        )
    else:
        largest_shifts = None
    return np.concatenate([modal_counts for modal_counts, _ in levels]), largest_shifts


def _as_int32(counts: Ints) -> Codes:
    """Convert to 32 bits if the numbers fit."""
    if counts.max() < 2**31:
        return counts.astype(np.int32)
    return counts


@dataclass(eq=False)
class _GroupNumbers:
    """The groups of the first table in order, and the number of records of each."""

    values: pa.Array = field(default_factory=lambda: pa.nulls(0))
    source: str = ""
    low: int | None = None
    """The least group, if groups are integers without large gaps.

    Then `number_at_offset` maps a group minus `low` to its number without a search.
    """
    number_at_offset: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    sizes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.values)

    def _number_groups(self, column: pa.ChunkedArray, source: str) -> pa.Array:
        self.source = source
        if _is_signed(column.type):
            low, high = (bound.as_py() for bound in pc.min_max(column).values())
            if high - low < arrays.slots(len(column)) and abs(low) < 2**62:
                occurs = np.zeros(high - low + 1, dtype=np.bool_)
                for chunk in column.iterchunks():
                    occurs[chunk.cast(pa.int64()).to_numpy() - low] = True
                self.low = low
                numbers = np.where(occurs, np.cumsum(occurs) - 1, -1)
                self.number_at_offset = numbers.astype(np.int32)
                return pa.array(np.flatnonzero(occurs) + low)
        return encode(column, name="the group", kind="text").domain.values

    def codes(self, column: pa.ChunkedArray, source: str) -> Codes:
        """Return the group number of each row."""
        if not self.groups:
            self.values = self._number_groups(column, source)
        group_codes: Codes = np.concatenate(
            [self._chunk_codes(chunk) for chunk in column.iterchunks()]
        )
        if group_codes.min() < 0:
            raise _different_groups_error(self.source, source)
        return group_codes

    def _chunk_codes(self, column: pa.Array) -> Codes:
        """Group numbers of a part of the rows; -1 if there is no such group."""
        if self.low is not None and _is_signed(column.type):
            offsets = column.cast(pa.int64()).to_numpy() - self.low
            inside = (offsets >= 0) & (offsets < len(self.number_at_offset))
            numbers = self.number_at_offset[np.where(inside, offsets, 0)]
            codes: Codes = np.where(inside, numbers, np.int32(-1))
            return codes
        # As texts, because a number in one file may be a text in another.
        places = pc.index_in(column.cast(pa.string()), value_set=self.values.cast(pa.string()))
        group_codes: Codes = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        return group_codes

    def check(self, sizes: Ints, source: str) -> None:
        """Raise an error if a table has another number of records in a group."""
        if not len(self.sizes):
            self.sizes = sizes
        check_sizes(self.values, self.sizes, sizes, sources=(self.source, source))


def _is_signed(type_: pa.DataType) -> bool:
    """True for integer types that fit into signed 64 bits.

    A difference of narrower integers would wrap around, so they are cast first.
    """
    return bool(pa.types.is_integer(type_) and type_ != pa.uint64())


def _stacked_counts_query(
    modal: Sequence[StoredRows], tally_in_pieces: Sequence[StoredRows]
) -> str:
    """SQL for all counts as rows g, part, n, size, v0, v1, ...

    `part` is the table's number, `size` the group's size or a part of it, and v0, v1, ... are the
    sensitive values.
    """
    values = [f"v{value_index}" for value_index in range(len(tally_in_pieces))]
    null_columns = "".join(f", NULL AS {name}" for name in values)
    rows = [
        f"SELECT g, CAST({part} AS SMALLINT) AS part, most AS n, size{null_columns} FROM "
        f"{stored_tally.relation}"
        for part, stored_tally in enumerate(modal)
    ]
    for table_index, stored_tally in enumerate(tally_in_pieces):
        columns = "".join(
            f", {'c0' if value_index == table_index else 'NULL'} AS {name}"
            for value_index, name in enumerate(values)
        )
        part = f"CAST({len(modal) + table_index} AS SMALLINT) AS part"
        rows.append(f"SELECT g, {part}, n, n AS size{columns} FROM {stored_tally.relation}")
    return " UNION ALL ".join(rows)


def _value_totals(name: str, stored_tally: StoredRows) -> SensitiveTotals:
    """Counts of each sensitive value in the release."""
    value_counts = stored_tally.engine.query(
        f"SELECT c0 AS v, CAST(SUM(n) AS BIGINT) AS n FROM {stored_tally.relation} GROUP BY c0"
    )
    return sensitive_totals(value_counts, name=name, kind="text")


def summarize(plan: _MeasurementPlan, batches: Iterator[pa.RecordBatch]) -> GroupSummary | None:
    """Measure groups from batches sorted by group; None if there are none."""
    summaries = [_summarize_rows(plan, rows) for rows in _whole_group_tables(batches)]
    if summaries:
        return reduce(GroupSummary.plus, summaries)
    return None


def _whole_group_tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows in tables of whole groups."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(record_batch.num_rows for record_batch in waiting) < _PIECE:
            continue
        rows = pa.Table.from_batches(waiting)
        # The next batch may have more rows of the last group.
        complete_rows = (
            rows.num_rows - pc.sum(pc.equal(rows.column("g"), rows.column("g")[-1])).as_py()
        )
        if complete_rows:
            yield rows.slice(0, complete_rows)
        waiting = rows.slice(complete_rows).to_batches()
    if sum(record_batch.num_rows for record_batch in waiting):
        yield pa.Table.from_batches(waiting)


def _summarize_rows(plan: _MeasurementPlan, rows: pa.Table) -> GroupSummary:
    encoded_groups = encode(rows.column("g"), name="the group", kind="number")
    groups = encoded_groups.domain
    group = encoded_groups.int64_codes
    part = rows.column("part").to_numpy()
    n = rows.column("n").to_numpy()
    size = rows.column("size").to_numpy()
    part_masks = [part == index for index in range(len(plan.sources))]
    group_sizes = [arrays.exact_sums(group[mask], size[mask], len(groups)) for mask in part_masks]
    for source, sizes in zip(plan.sources[1:], group_sizes[1:], strict=True):
        check_sizes(groups.values, group_sizes[0], sizes, sources=(plan.sources[0], source))
    quasi_identifier_tables = len(plan.sources) - len(plan.totals)
    modal = [
        arrays.exact_sums(group[mask], n[mask], len(groups))
        for mask in part_masks[:quasi_identifier_tables]
    ]
    highest_counts = []
    shift = []
    for index, (totals, mask) in enumerate(
        zip(plan.totals, part_masks[quasi_identifier_tables:], strict=True)
    ):
        rank, ordered = rank_by_frequency(totals.totals)
        codes = rank[domain_codes(totals.domain, rows.column(f"v{index}").filter(pa.array(mask)))]
        ranked = tally(group[mask], codes, groups=len(groups), values=len(ordered), count=n[mask])
        highest_counts.append(ranked.modal())
        shift.append(largest_shift(ranked, group_sizes[0], ordered, rows=int(ordered.sum())))
    levels = GroupLevels(
        int(plan.totals[0].totals.sum()),
        group_sizes[0],
        tuple(modal),
        tuple(highest_counts),
        tuple(shift),
    )
    return levels.summary(plan.model)
