# SPDX-License-Identifier: Apache-2.0
"""An anatomized release as anybody can read it: one relation per table, joined by nothing but the group.

Everything here is worked out from the released tables alone, so it serves our own releases when they are verified, and another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.anatomy.methods import Anatomized
from divulge.anatomy.model import (
    AlphaBetaGammaDelta,
    GroupLevels,
    GroupSummary,
    by_frequency,
    largest_shift,
    tallies,
    tally,
)
from divulge.anatomy.problem import Groups, SensitiveTotals, totals_of
from divulge.anatomy.rows import Tuples
from divulge.arrays import Codes, Ints
from divulge.count import domain_codes, encode
from divulge.engines import Engine, Held
from divulge.errors import BadInput, nearest
from divulge.table import Table

GROUP, COUNT = "GID", "Count"
_SMALL = ("TINYINT", "SMALLINT", "INTEGER", "INT")
"""Types of counts that are taken as they are, which halves their memory."""
_ONE_RELEASE = "Are they files of one release?"


@dataclass(frozen=True)
class GroupTable:
    """One published table."""

    relation: str
    """What stands after FROM."""
    columns: tuple[str, ...]
    """Without the group and the count."""
    counted: bool
    """Whether a row says how many records it stands for; else each stands for one."""
    source: str
    """For messages."""


@dataclass(frozen=True, eq=False)
class Published:
    """The tables of a release, which agree on the groups and their sizes."""

    engine: Engine
    tables: tuple[GroupTable, ...]
    sensitive: tuple[str, ...]
    """The sensitive columns; each is alone in its table."""
    group: str
    count: str
    frame: str = "none"
    """The kind of frame that its tables were handed in as."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All released columns, table by table."""
        return tuple(name for table in self.tables for name in table.columns)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The table of each column."""
        return {name: position for position, table in enumerate(self.tables) for name in table.columns}

    @cached_property
    def records(self) -> int:
        """How many records were released."""
        return int(self._sizes(self.tables[0])[1].sum())

    def rows(self, table: GroupTable) -> int:
        """How many rows a table has."""
        return int(self.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}").column("n")[0].as_py())

    def mass(self, table: GroupTable) -> str:
        """SQL for how many records a row stands for."""
        return f"CAST({self.engine.quote(self.count)} AS BIGINT)" if table.counted else "1"

    def _sizes(self, table: GroupTable) -> tuple[pa.Array, Ints]:
        """The groups in order, and their records."""
        group = self.engine.quote(self.group)
        found = self.engine.query(
            f"SELECT {group} AS g, CAST(SUM({self.mass(table)}) AS BIGINT) AS n FROM {table.relation} "
            "GROUP BY 1 ORDER BY 1 NULLS LAST"
        )
        return found.column("g").combine_chunks(), found.column("n").to_numpy()

    def tally_query(self, table: GroupTable) -> str:
        """SQL for each group g and each tuple c0, c1, ... of a table in it, the records as n."""
        quote, places = self.engine.quote, [f"c{place}" for place in range(len(table.columns))]
        cells = "".join(f", {quote(name)} AS {place}" for name, place in zip(table.columns, places, strict=True))
        rows = f"SELECT {quote(self.group)} AS g{cells}, {self.mass(table)} AS w FROM {table.relation}"
        listed = ", ".join(["g", *places])
        return f"SELECT {listed}, CAST(SUM(w) AS BIGINT) AS n FROM ({rows}) AS r GROUP BY {listed}"

    def numbered_query(self, table: GroupTable) -> str:
        """SQL for each row of a table its group g, the number of its tuple t from 0, and the records n that it stands for."""
        quote = self.engine.quote
        cells = {f"c{place}": quote(name) for place, name in enumerate(table.columns)}
        distinct = (
            f"SELECT DISTINCT {', '.join(f'{cell} AS {place}' for place, cell in cells.items())} FROM {table.relation}"
        )
        numbered = f"SELECT *, CAST(ROW_NUMBER() OVER (ORDER BY {', '.join(cells)}) - 1 AS INT) AS t FROM ({distinct}) AS found"
        same = " AND ".join(f"r.{cell} IS NOT DISTINCT FROM tuples.{place}" for place, cell in cells.items())
        small = dict(self.engine.describe(table.relation)).get(self.count) in _SMALL
        mass = f", {f'r.{quote(self.count)}' if small else self.mass(table)} AS n" if table.counted else ""
        joined = f"{table.relation} AS r JOIN ({numbered}) AS tuples ON {same}"
        return f"SELECT r.{quote(self.group)} AS g, tuples.t AS t{mass} FROM {joined}"

    def modal_query(self, table: GroupTable) -> str:
        """SQL for each group g, the count of its commonest tuple as most, and its records as size."""
        tuples = self.tally_query(table)
        return f"SELECT g, MAX(n) AS most, CAST(SUM(n) AS BIGINT) AS size FROM ({tuples}) AS t GROUP BY g"

    def divided(self) -> tuple[list[GroupTable], list[GroupTable]]:
        """The tables of quasi-identifiers and those of sensitive columns."""
        sensitive = [table for table in self.tables if table.columns[0] in self.sensitive]
        if not sensitive:
            raise BadInput("it is not known which column of the release is sensitive", hint=nearest("", self.columns))
        return [table for table in self.tables if table not in sensitive], sensitive


def join_tables(
    tables: Sequence[Table], *, sensitive: Sequence[str], group: str = GROUP, count: str = COUNT
) -> Published:
    """The release that these tables make up, after a look at their columns and counts; see also `check_groups`."""
    found = [_group_table(table, group=group, count=count) for table in tables]
    if not found:
        raise BadInput("a release without tables", hint="Name the files of its tables")
    _check_columns(found, sensitive)
    published = Published(tables[0].engine, tuple(found), tuple(sensitive), group, count, tables[0].frame)
    _check_counts(published)
    return published


def _group_table(table: Table, *, group: str, count: str) -> GroupTable:
    if group not in table.names:
        raise BadInput(f"{table.source} has no group column {group!r}", hint=nearest(group, table.names))
    columns = tuple(name for name in table.names if name not in (group, count))
    if not columns:
        raise BadInput(f"{table.source} has no columns but the group", hint="It tells nothing: leave it out")
    return GroupTable(table.relation, columns, count in table.names, table.source)


def _check_columns(tables: Sequence[GroupTable], sensitive: Sequence[str]) -> None:
    seen: dict[bytes, str] = {}
    for table in tables:
        for name in table.columns:
            folded = name.encode().lower()  # as SQL does: the letters A to Z alone; straße and strasse are two columns
            if folded in seen:
                raise BadInput(
                    f"the column {name!r} is in {seen[folded]} and in {table.source}",
                    hint="A column that is in two tables links them: this is not an anatomized release",
                )
            seen[folded] = table.source
    for name in sensitive:
        holder = next((table for table in tables if name in table.columns), None)
        if holder is None:
            raise BadInput(
                f"no table of the release has the sensitive column {name!r}",
                hint=nearest(name, [column for table in tables for column in table.columns]),
            )
        if len(holder.columns) > 1:
            others = ", ".join(repr(other) for other in holder.columns if other != name)
            raise BadInput(
                f"the sensitive column {name!r} is published in one table with {others}",
                hint="The model wants it in a table of its own",
            )


def _check_counts(published: Published) -> None:
    """Counts are whole numbers from 1 on, and every row has a group."""
    group = published.engine.quote(published.group)
    for table in published.tables:
        count = published.engine.quote(published.count)
        wrong = f" OR {count} IS NULL OR {count} < 1 OR {count} <> FLOOR({count})" if table.counted else ""
        sql = f"SELECT COUNT(*) AS n FROM {table.relation} WHERE {group} IS NULL{wrong}"
        if lacking := published.engine.query(sql).column("n")[0].as_py():
            raise BadInput(
                f"{lacking} rows of {table.source} lack a group, or have a {published.count} that is not a whole number from 1 on",
                hint="Mend the file",
            )


def check_groups(published: Published) -> None:
    """All tables have the same groups, of the same sizes; measuring them finds that too."""
    first, *others = published.tables
    groups, sizes = published._sizes(first)  # noqa: SLF001 - of this module
    if not len(sizes):
        raise BadInput(f"{first.source} has no rows", hint="There is nothing in this release")
    for table in others:
        theirs, counts = published._sizes(table)  # noqa: SLF001 - of this module
        if not theirs.cast(pa.string()).equals(groups.cast(pa.string())):
            raise _other_groups(first.source, table.source)
        check_sizes(groups, sizes, counts, sources=(first.source, table.source))


def check_sizes(groups: Sequence[object], sizes: Ints, others: Ints, *, sources: tuple[str, str]) -> None:
    """Two tables have as many records of each group; a group that one of them lacks has 0."""
    if np.array_equal(sizes, others):
        return
    place = int(np.flatnonzero(sizes != others)[0])
    if 0 in (sizes[place], others[place]):
        raise _other_groups(*sources)
    raise BadInput(
        f"group {groups[place]} has {sizes[place]} records in {sources[0]} and {others[place]} in {sources[1]}",
        hint=_ONE_RELEASE,
    )


def _other_groups(first: str, second: str) -> BadInput:
    """What to say where one table has a group that another one lacks."""
    return BadInput(f"{first} and {second} do not have the same groups", hint=_ONE_RELEASE)


# --- release ----------------------------------------------------------------------------------------------------------
# The tables that are published: group, columns, and how many records a row stands for where rows repeat (Yao et al. 2021, Table 3).
#
# Rows of a group that are equal become one row with a count, so nothing is left of the order in which records came. Groups get new
# numbers, and the tuples of each table numbers of their own, drawn from a secret that has nothing to do with how the records were grouped;
# rows are sorted by both. So the place of a row follows from what is published and from the secret: who works the secret out from the
# order of the rows has learnt nothing else.
@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release, in memory."""

    name: str
    """What its file is called, without an ending."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    rows: pa.Table = field(repr=False)


@dataclass(frozen=True, eq=False)
class Released:
    """The tables of a release, in memory."""

    tables: tuple[ReleasedTable, ...]
    group: str
    """The column that holds the group; another name than usual where the table has a column of that name."""
    count: str


def released(anatomized: Anatomized, *, secret: int) -> Released:
    """The tables to publish; the same secret gives the same tables."""
    rng = np.random.default_rng(secret)
    number = rng.permutation(anatomized.groups).astype(np.int32)[anatomized.group]
    group, count = free_name(GROUP, anatomized.tables), free_name(COUNT, anatomized.tables)
    tuples = [*anatomized.problem.tables, *(anatomized.rows.tuples([name]) for name in anatomized.sensitive)]
    names = table_names(len(anatomized.division.tables), len(anatomized.sensitive))
    made = []
    for name, columns, own in zip(names, anatomized.tables, tuples, strict=True):
        rows = pa.Table.from_batches(
            pa.record_batch(
                {group: groups} | {column: anatomized.rows.coded(column, cells) for column in columns} | {count: counts}
            )
            for groups, cells, counts in _tuples_of_groups(number, own, anatomized.groups, rng)
        )
        counted = pc.max(rows.column(count)).as_py() > 1
        rows = rows if counted else rows.drop_columns([count])
        made.append(ReleasedTable(name, columns, columns[0] in anatomized.sensitive, counted, rows))
    return Released(tuple(made), group, count)


def _tuples_of_groups(
    number: Codes, tuples: Tuples, groups: int, rng: np.random.Generator
) -> Iterator[tuple[Groups, Groups, Groups]]:
    """The tuples of each group in an order of their own: the group, a cell that has the tuple, and how many records have it."""
    order = rng.permutation(tuples.distinct)
    place = arrays.inverse(order).astype(tuples.ids.dtype)
    cells = tuples.cells[order].astype(np.int32)
    for some, counted in tallies(number, place[tuples.ids], groups=groups, values=tuples.distinct):
        first = np.int32((some.start or 0) + 1)
        yield counted.group.astype(np.int32) + first, cells[counted.value], counted.count.astype(np.int32)


def table_names(tables: int, sensitive: int) -> tuple[str, ...]:
    """What the files of so many tables of quasi-identifiers and so many sensitive columns are called, without an ending."""
    return (*_numbered("quasi_identifiers", tables), *_numbered("sensitive", sensitive))


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name}_{place}" for place in range(1, count + 1))


def free_name(wanted: str, tables: Sequence[Sequence[str]]) -> str:
    """A name that no column of the tables has."""
    taken = {name.casefold() for names in tables for name in names}
    while wanted.casefold() in taken:
        wanted += "_"
    return wanted


# --- measured ---------------------------------------------------------------------------------------------------------
# The levels of a release, worked out from its tables alone, by the formulas that measure our own groups (model.py).
#
# Of each table of quasi-identifiers the count of its commonest tuple, of each sensitive column all counts. Where rows may come to memory,
# the engine numbers the tuples of each table, and groups and numbers are counted here. Else the rows of a group come together, held by
# the engine, and are folded into one summary. The prior of delta is the sum over all groups, for an anatomized release leaves nobody out.
_PIECE = 250_000
"""Groups are measured together until they have so many rows."""


@dataclass(frozen=True, eq=False)
class _Measure:
    """What must be known to measure groups, beside their rows."""

    model: AlphaBetaGammaDelta
    sources: tuple[str, ...]
    """What the tables are called in messages: those of quasi-identifiers, then those of sensitive columns."""
    totals: tuple[SensitiveTotals, ...] = field(repr=False)


def measure_tables(published: Published, model: AlphaBetaGammaDelta) -> GroupSummary:
    """What the groups of a release reach, and how many break a model."""
    engine, (others, sensitive) = published.engine, published.divided()
    limit = engine.row_limit
    if limit is None or all(published.rows(table) <= limit for table in published.tables):
        return _measure_in_memory(published, others, sensitive).summary(model)
    # One after the other, so that no two of them are counted at the same time.
    modal = [engine.hold(published.modal_query(table)) for table in others]
    tallies = [engine.hold(published.tally_query(table)) for table in sensitive]
    totals = tuple(_totals(table.columns[0], held) for table, held in zip(sensitive, tallies, strict=True))
    rows = int(totals[0].totals.sum())
    if rows == 0:
        raise BadInput(f"{sensitive[0].source} has no rows", hint="There is nothing in this release")
    measure = _Measure(model, tuple(table.source for table in (*others, *sensitive)), totals)
    keeper = tallies[0].engine
    held = keeper.hold(_stacked(modal, tallies), together=["g"], rows=rows)
    return keeper.fold(held, partial(summarize, measure), GroupSummary.plus)


def _measure_in_memory(
    published: Published, others: Sequence[GroupTable], sensitive: Sequence[GroupTable]
) -> GroupLevels:
    """What each group shows; one table after the other, so that the rows of no two of them are there at the same time."""
    known, modal, common, shift = _GroupNumbers(), list[Ints](), list[Ints](), list[Ints]()
    for table in (*others, *sensitive):
        most, furthest = _levels_of(published, table, known, shifted=table in sensitive)
        (common if table in sensitive else modal).append(most)
        shift += [] if furthest is None else [furthest]
    sizes = known.sizes
    return GroupLevels(int(sizes.sum()), sizes, tuple(modal), tuple(common), tuple(shift))


def _levels_of(
    published: Published, table: GroupTable, known: _GroupNumbers, *, shifted: bool
) -> tuple[Ints, Ints | None]:
    """For each group the count of the commonest tuple of a table, and how far a share has moved where that is asked for."""
    rows = published.engine.query(published.numbered_query(table))
    if rows.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="There is nothing in this release")
    # A column of Arrow's goes as soon as it has become an array.
    group, rows = known.codes(rows.column("g"), table.source), rows.drop_columns(["g"])
    ids, rows = rows.column("t").to_numpy(), rows.drop_columns(["t"])
    times = _narrow(rows.column("n").to_numpy()) if table.counted else None
    del rows
    sizes = np.bincount(group, times, minlength=known.groups).astype(np.int64, copy=False)
    known.check(sizes, table.source)
    totals = np.bincount(ids, times).astype(np.int64, copy=False)
    rank, ordered = by_frequency(totals)
    ids = rank.astype(np.int32)[ids]
    found = [
        (counted.modal(), largest_shift(counted, sizes[some], ordered, rows=int(ordered.sum())) if shifted else None)
        for some, counted in tallies(group, ids, groups=len(sizes), values=len(totals), count=times)
    ]
    furthest = np.concatenate([each for _, each in found if each is not None]) if shifted else None
    return np.concatenate([most for most, _ in found]), furthest


def _narrow(counts: Ints) -> Codes:
    """The same numbers in 32 bits, where they fit."""
    return counts.astype(np.int32) if counts.max() < 2**31 else counts


@dataclass(eq=False)
class _GroupNumbers:
    """The groups of the first table in order, and how many records each has there."""

    values: pa.Array = field(default_factory=lambda: pa.nulls(0))
    source: str = ""
    low: int | None = None
    """The least of them, where they are whole numbers without large gaps; then `place` tells the number of each without a search."""
    place: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    sizes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.values)

    def _begin(self, column: pa.ChunkedArray, source: str) -> pa.Array:
        self.source = source
        if _is_signed(column.type):
            low, high = (bound.as_py() for bound in pc.min_max(column).values())
            if high - low < arrays.slots(len(column)) and abs(low) < 2**62:
                occurs = np.zeros(high - low + 1, dtype=np.bool_)
                for chunk in column.iterchunks():
                    occurs[chunk.cast(pa.int64()).to_numpy() - low] = True
                self.low, self.place = low, np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
                return pa.array(np.flatnonzero(occurs) + low)
        return encode(column, name="the group", kind="text")[0].values

    def codes(self, column: pa.ChunkedArray, source: str) -> Codes:
        """The number of the group of each row."""
        if not self.groups:
            self.values = self._begin(column, source)
        found: Codes = np.concatenate([self._codes(chunk) for chunk in column.iterchunks()])
        if found.min() < 0:
            raise _other_groups(self.source, source)
        return found

    def _codes(self, column: pa.Array) -> Codes:
        """The same of some rows; -1 where there is no such group."""
        if self.low is not None and _is_signed(column.type):
            given = column.cast(pa.int64()).to_numpy() - self.low
            inside = (given >= 0) & (given < len(self.place))
            codes: Codes = np.where(inside, self.place[np.where(inside, given, 0)], np.int32(-1))
            return codes
        # As texts, for a number in one file may be a text in another.
        places = pc.index_in(column.cast(pa.string()), value_set=self.values.cast(pa.string()))
        found: Codes = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        return found

    def check(self, sizes: Ints, source: str) -> None:
        """All tables have as many records of each group."""
        self.sizes = self.sizes if len(self.sizes) else sizes
        check_sizes(self.values, self.sizes, sizes, sources=(self.source, source))


def _is_signed(type_: pa.DataType) -> bool:
    """Whether values are whole numbers that 64 bits hold with their sign: a difference of narrower ones would wrap around."""
    return bool(pa.types.is_integer(type_) and type_ != pa.uint64())


def _stacked(modal: Sequence[Held], tallies: Sequence[Held]) -> str:
    """All counts as rows g, part (the table's number), n, size (of the group, or its share of it), v0, v1, ... (sensitive values)."""
    values = [f"v{place}" for place in range(len(tallies))]
    absent = "".join(f", NULL AS {name}" for name in values)
    rows = [
        f"SELECT g, CAST({part} AS SMALLINT) AS part, most AS n, size{absent} FROM {held.relation}"
        for part, held in enumerate(modal)
    ]
    for own, held in enumerate(tallies):
        columns = "".join(f", {'c0' if place == own else 'NULL'} AS {name}" for place, name in enumerate(values))
        part = f"CAST({len(modal) + own} AS SMALLINT) AS part"
        rows.append(f"SELECT g, {part}, n, n AS size{columns} FROM {held.relation}")
    return " UNION ALL ".join(rows)


def _totals(name: str, held: Held) -> SensitiveTotals:
    """How often each sensitive value occurs in the release."""
    found = held.engine.query(f"SELECT c0 AS v, CAST(SUM(n) AS BIGINT) AS n FROM {held.relation} GROUP BY c0")
    return totals_of(found, name=name, kind="text")


def summarize(measure: _Measure, batches: Iterator[pa.RecordBatch]) -> GroupSummary | None:
    """Measure groups whose rows come one after the other; None if there are none."""
    found = [_summary(measure, rows) for rows in _pieces(batches)]
    return reduce(GroupSummary.plus, found) if found else None


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in tables of whole groups."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) < _PIECE:
            continue
        rows = pa.Table.from_batches(waiting)
        # More rows of the last group may come.
        whole = rows.num_rows - pc.sum(pc.equal(rows.column("g"), rows.column("g")[-1])).as_py()
        if whole:
            yield rows.slice(0, whole)
        waiting = rows.slice(whole).to_batches()
    if sum(each.num_rows for each in waiting):
        yield pa.Table.from_batches(waiting)


def _summary(measure: _Measure, rows: pa.Table) -> GroupSummary:
    groups, group = encode(rows.column("g"), name="the group", kind="number")
    part, n = rows.column("part").to_numpy(), rows.column("n").to_numpy()
    size = rows.column("size").to_numpy()
    own = [part == place for place in range(len(measure.sources))]
    each = [arrays.exact_sums(group[its], size[its], len(groups)) for its in own]
    for source, sizes in zip(measure.sources[1:], each[1:], strict=True):
        check_sizes(groups.values, each[0], sizes, sources=(measure.sources[0], source))
    divided = len(measure.sources) - len(measure.totals)
    modal = [arrays.exact_sums(group[its], n[its], len(groups)) for its in own[:divided]]
    common, shift = [], []
    for place, (totals, its) in enumerate(zip(measure.totals, own[divided:], strict=True)):
        rank, ordered = by_frequency(totals.totals)
        codes = rank[domain_codes(totals.domain, rows.column(f"v{place}").filter(pa.array(its)))]
        ranked = tally(group[its], codes, groups=len(groups), values=len(ordered), count=n[its])
        common.append(ranked.modal())
        shift.append(largest_shift(ranked, each[0], ordered, rows=int(ordered.sum())))
    found = GroupLevels(int(measure.totals[0].totals.sum()), each[0], tuple(modal), tuple(common), tuple(shift))
    return found.summary(measure.model)
