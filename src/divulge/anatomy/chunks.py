# SPDX-License-Identifier: Apache-2.0
"""One machine is one chunk: a table is grouped as a whole where its rows fit into memory, else chunk by chunk, by the same functions.

Valid groups of disjoint chunks are valid groups of the table. The converse fails: a chunk may have too many of a tuple that the table can
just accommodate, or too few records to come near enough to gamma. Then the rows are dealt into fewer, larger chunks, and where that
does not help the request is refused; a bound is never given up. What was grouped is held: lent to an engine of this process, or kept by
the engine that has the table.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.anatomy.division import Division
from divulge.anatomy.grouping import Within
from divulge.anatomy.methods import Anatomized, Method, Slppa, anatomize
from divulge.anatomy.model import AlphaBetaGammaDelta, GroupSummary
from divulge.anatomy.most import at_most
from divulge.anatomy.problem import (
    HeldColumns,
    InfeasibleModel,
    SensitiveTotals,
    WholeTable,
    check_feasible,
    hold_columns,
)
from divulge.anatomy.rows import RowCodes, hold_counts, rows_of_counts, scatter, sorted_rows
from divulge.anatomy.tables import COUNT, GROUP, Released, free_name, released, table_names
from divulge.arrays import class_ids
from divulge.count import Nulls
from divulge.engines import DuckDBEngine, Held, OwnEngine
from divulge.errors import BadInput, DivulgeError, InternalError
from divulge.table import Column, Table

# --- chunk ------------------------------------------------------------------------------------------------------------
# A chunk of a table, grouped by itself, one after the other or on Spark's workers, by the functions that group a table in memory. Only
# delta looks beyond the chunk: it is held against the shares of the sensitive values in the whole table. A group that keeps the model
# in its chunk therefore keeps it in the table, and the levels of the table are the worst of its chunks.
#
# What comes out are rows of all tables: c0, c1, ... (null where they belong to another table), part (the table's number), gid,
# copies, and one row per chunk with part = -1 that tells the outcome. Everything is a function of the chunk's rows and of secrets, so
# that a worker that dies can be replaced.
OUTCOME = -1
"""The part of the row that tells the outcome of a chunk."""
ADDED = {"part": "INT", "gid": "BIGINT", "copies": "INT", "outcome": "BINARY"}
"""The columns that come out beside c0, c1, ...; the types have these names in every engine."""


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """What must be known to group a chunk, beside its rows."""

    method: Method
    """With the tables as they were decided."""
    columns: tuple[Column, ...]
    """What c0, c1, ... are."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    totals: Mapping[str, SensitiveTotals] = field(repr=False)
    """Of the sensitive values in the whole table."""
    chunks: int
    capacity: int
    """No chunk has more rows."""
    secret: int = field(repr=False)
    """Of the grouping ..."""
    numbering: int = field(repr=False)
    """... and of the numbers of the groups, which has nothing to do with it."""


@dataclass(frozen=True)
class ChunkOutcome:
    """What came of a chunk, or of several."""

    groups: GroupSummary
    rows: tuple[int, ...]
    """The rows of each table."""
    counted: tuple[bool, ...]
    """Whether a row of the table stands for several records."""

    def plus(self, other: ChunkOutcome) -> ChunkOutcome:
        """Both together."""
        rows = tuple(one + two for one, two in zip(self.rows, other.rows, strict=True))
        counted = tuple(one or two for one, two in zip(self.counted, other.counted, strict=True))
        return ChunkOutcome(self.groups.plus(other.groups), rows, counted)


@dataclass(frozen=True)
class Obstacle:
    """Why no grouping of a chunk was found."""

    because: str
    gamma: Fraction
    """What its groups reach where they keep the other bounds."""


def group_chunk(plan: ChunkPlan, chunk: pa.Table) -> pa.Table:
    """The rows of all tables, and the outcome; an error of ours is an outcome too, so that nothing is tried again."""
    number = chunk.column("chunk")[0].as_py()
    schema = _stacked_schema(chunk.schema, len(plan.columns))
    outcome: ChunkOutcome | Obstacle | DivulgeError
    tables: list[pa.Table] = []
    try:
        found = anatomize(
            sorted_rows(chunk, plan.columns),
            plan.method,
            quasi_identifiers=plan.quasi_identifiers,
            sensitive=plan.sensitive,
            seed=seed_of(plan.secret, number),
            totals=plan.totals,
        )
        made = released(found, secret=seed_of(plan.numbering, number))
        tables = [_stacked(plan, number, made, part, schema) for part in range(len(made.tables))]
        rows = tuple(table.rows.num_rows for table in made.tables)
        outcome = ChunkOutcome(found.summary, rows, tuple(table.counted for table in made.tables))
    except InfeasibleModel as error:
        outcome = Obstacle(error.because, error.nearest.gamma)
    except DivulgeError as error:
        outcome = error
    told = {"part": pa.array([OUTCOME], pa.int32()), "outcome": pa.array([pickle.dumps(outcome)], pa.binary())}
    return pa.concat_tables([*tables, _filled(told, schema, 1)])


def seed_of(secret: int, chunk: int) -> int:
    """A seed for each chunk; it tells neither the secret nor another seed."""
    return int.from_bytes(hashlib.blake2b(f"{secret}:{chunk}".encode(), digest_size=8).digest())


def _stacked(plan: ChunkPlan, chunk: int, made: Released, part: int, schema: pa.Schema) -> pa.Table:
    """The rows of one table among those of all, under numbers that are the group's alone in the whole release."""
    table, rows = made.tables[part], made.tables[part].rows
    local = rows.column(made.group).to_numpy().astype(np.int64) - 1
    found: dict[str, Any] = {
        "part": np.full(len(local), part, dtype=np.int32),
        "gid": scatter(local + chunk * plan.capacity, plan.chunks * plan.capacity, secret=plan.numbering) + 1,
        "copies": rows.column(made.count) if table.counted else np.ones(len(local), dtype=np.int32),
    }
    for place, column in enumerate(plan.columns):
        if column.name in table.columns:
            coded = rows.column(column.name)
            found[f"c{place}"] = coded.cast(coded.type.value_type).cast(schema.field(f"c{place}").type)
    return _filled(found, schema, len(local))


def _stacked_schema(chunk: pa.Schema, columns: int) -> pa.Schema:
    own = [pa.field(f"c{place}", _returned(chunk.field(f"c{place}").type)) for place in range(columns)]
    types = {"INT": pa.int32(), "BIGINT": pa.int64(), "BINARY": pa.binary()}
    return pa.schema([*own, *(pa.field(name, types[type_]) for name, type_ in ADDED.items())])


def _returned(type_: pa.DataType) -> pa.DataType:
    """Without codes; and Spark hands moments over in the zone of its session, but takes them back in UTC only, as the same moments."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    return pa.timestamp(type_.unit, "UTC") if pa.types.is_timestamp(type_) and type_.tz is not None else type_


def _filled(columns: Mapping[str, Any], schema: pa.Schema, rows: int) -> pa.Table:
    """A table of this schema, with nulls in the columns that are not given."""
    cells = [columns[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in schema]
    return pa.table(cells, schema=schema)


# --- chunks -----------------------------------------------------------------------------------------------------------
LARGER = "raise the memory limit (with Spark, in Python: SparkEngine(row_limit=...))"
"""What to do where something needs all rows in memory."""
_LARGER = 8
"""Chunks may grow to so many times the size that was asked for."""


@dataclass(frozen=True)
class GroupedTable:
    """One table of a release, and where its rows are."""

    name: str
    """What its file, or folder of files, is called, without an ending."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    """Whether a row says for how many records it stands."""
    rows: int
    query: str = field(repr=False)
    """Its rows, in the order in which they are published."""


@dataclass(frozen=True, eq=False)
class HeldTables:
    """The rows of all tables of a release, held by an engine."""

    tables: tuple[GroupedTable, ...]
    group: str
    """The column that holds the group; another name than usual where the table has a column of that name."""
    count: str
    origin: str
    """What stands after FROM: the rows that were grouped ..."""
    times: str = "1"
    """... and SQL for how many records each of them stands for."""
    kept: object = field(default=None, repr=False)
    """What must not go before this does."""
    let_go: Callable[[str], None] | None = field(default=None, repr=False)
    """Frees the memory of the rows of a query, which cannot be run any more; None where they are not in memory."""

    @property
    def outline(self) -> HeldTables:
        """The same without the rows."""
        return HeldTables(tuple(replace(table, query="") for table in self.tables), self.group, self.count, origin="")


@dataclass(frozen=True, eq=False)
class Grouping:
    """A table divided into tables and groups; nothing is published yet."""

    method: Method
    division: Division
    sensitive: tuple[str, ...]
    summary: GroupSummary
    engine: OwnEngine = field(repr=False)
    """Where the rows to be published are ..."""
    hold: Callable[[int | None], HeldTables] = field(repr=False)
    """... as soon as they are asked for; a number fixes those choices that have nothing to do with the grouping."""
    limit: Callable[[], int] = field(repr=False)
    only: Anatomized | None = field(default=None, repr=False)
    """The one chunk that is the whole table, in memory; None where rows stay where they are."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was made, beside the settings of the method."""

    @cached_property
    def at_most(self) -> int:
        """No grouping of the table that keeps the model has more groups than that: proved, for tables in chunks from their counts."""
        return self.limit()

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table; each sensitive attribute is a table of its own, at the end."""
        return (*self.division.tables, *((name,) for name in self.sensitive))

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What every group keeps."""
        return self.method.model


_CELL = 0.4
"""What each value of a distinct row costs while it is read, where a row that is grouped costs 1."""


def needs_chunks(table: Table) -> bool:
    """Whether a table has more rows than may come to memory, however many of them are alike."""
    limit = table.engine.row_limit
    return limit is not None and _count(table) > limit


def _count(table: Table) -> int:
    return int(table.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}").column("n")[0].as_py())


def _read(table: Table, names: Sequence[str], *, nulls: Nulls) -> RowCodes | None:
    """Columns of a table; None where memory holds neither its rows nor, where few are alike, the distinct ones beside them."""
    limit = table.engine.row_limit
    rows = 0 if limit is None else _count(table)
    if limit is not None and rows > limit:
        return None
    counts = hold_counts(table, names, nulls=nulls)
    if limit is not None and rows + _CELL * len(names) * counts.rows > limit:
        return None
    return rows_of_counts(counts, table, names)


def group_table(
    table: Table,
    method: Method,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    nulls: Nulls,
    seed: int | None,
    numbering: int,
    pinned: Sequence[str] = (),
) -> Grouping:
    """Divide the columns and group the rows: in memory, or in chunks where they do not fit. Groups are numbered by `numbering`.

    Groups lie within the classes that `pinned` columns make, which are not published.
    """
    names = (*quasi_identifiers, *sensitive)
    rows = _read(table, (*names, *pinned), nulls=nulls)
    if rows is None:
        if pinned:
            told = f"{table.source} is too large for memory, and beside what is out already all rows are needed there"
            raise BadInput(told, hint=f"{LARGER[0].upper()}{LARGER[1:]}")
        if not isinstance(method, Slppa) or method.algorithm != "guaranteed":
            told = "Algorithm 1 of the paper" if isinstance(method, Slppa) else f"the method {method.name}"
            raise BadInput(
                f"{told} needs all rows in memory, and {table.source} is too large for that",
                hint=f"Use slppa, or {LARGER}",
            )
        columns = hold_columns(table, names, nulls=nulls)
        if len(columns) == 0:
            raise BadInput(f"{table.source} has no rows", hint="There is nothing to anatomize")
        secret = secrets.randbits(64) if seed is None else seed
        return _group_in_chunks(columns, method, quasi_identifiers, sensitive, secret=secret, numbering=numbering)
    within = _within(rows, pinned) if pinned else None
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    found = anatomize(rows.only(names) if pinned else rows, method, **roles, seed=seed, within=within)
    return _as_one_chunk(found, method, DuckDBEngine.in_order_beside(table.engine), numbering=numbering)


def _within(rows: RowCodes, pinned: Sequence[str]) -> Within:
    """The class of each record by columns that are not published."""
    codes, radices = [rows.column(name) for name in pinned], [len(rows.domain(name)) for name in pinned]
    ids, first = class_ids(codes, radices, rows=len(rows))
    values = zip(*(rows.values(name, first).to_pylist() for name in pinned), strict=True)
    return Within(ids, [" and ".join(map(str, each)) for each in values])


def _as_one_chunk(found: Anatomized, method: Method, engine: DuckDBEngine, *, numbering: int) -> Grouping:
    """A table in memory as the one chunk that it is."""
    hold = partial(_lend_tables, engine, found, numbering)
    return Grouping(
        method, found.division, found.sensitive, found.summary, engine, hold, lambda: found.at_most, only=found
    )


def _lend_tables(engine: DuckDBEngine, found: Anatomized, numbering: int, secret: int | None) -> HeldTables:
    """The tables of a chunk in memory, lent to an engine that leaves rows in their order."""
    made = released(found, secret=numbering if secret is None else secret)
    tables = tuple(
        GroupedTable(t.name, t.columns, t.sensitive, t.counted, t.rows.num_rows, engine.query_for(t.rows))
        for t in made.tables
    )
    cells = {name: found.rows.coded(name) for columns in found.tables for name in columns}
    times = found.rows.times
    origin = pa.table(cells if times is None else cells | {made.count: times})
    each = "1" if times is None else engine.quote(made.count)
    relation = f"({engine.query_for(origin)})"
    return HeldTables(tables, made.group, made.count, origin=relation, times=each, let_go=engine.let_go)


def _group_in_chunks(
    rows: HeldColumns, method: Slppa, names: Sequence[str], sensitive: Sequence[str], *, secret: int, numbering: int
) -> Grouping:
    """Divide the columns, decide whether the model can be kept, and group the chunks; `secret` and `numbering` are random numbers."""
    division = method.divide(rows, names)
    whole = rows.whole(division.tables, sensitive, method.model)
    check_feasible(whole)
    plan = ChunkPlan(
        method=replace(method, tables=division.tables),
        columns=rows.columns,
        quasi_identifiers=tuple(names),
        sensitive=tuple(sensitive),
        totals={name: rows.totals(name) for name in sensitive},
        chunks=-(-len(rows) // rows.engine.chunk_rows),
        capacity=0,
        secret=secret,
        numbering=seed_of(numbering, OUTCOME),
    )
    fewest = max(plan.chunks // _LARGER, 1)
    while True:
        plan = replace(plan, capacity=-(-len(rows) // plan.chunks))
        held, outcome = _attempt(rows, whole, plan)
        if isinstance(outcome, ChunkOutcome):
            break
        if plan.chunks == fewest:
            raise _refusal(outcome, whole, plan)
        plan = replace(plan, chunks=max(plan.chunks // 2, fewest))
    settings = {"records": rows.engine.place.removeprefix("the "), "chunks": plan.chunks, "chunk_rows": plan.capacity}
    tables = partial(_held_tables, rows, held, division, plan.sensitive, outcome)
    limit = partial(at_most, whole, group_size=method.group_size, found=outcome.groups.groups)
    return Grouping(method, division, plan.sensitive, outcome.groups, rows.engine, tables, limit, settings=settings)


def _attempt(rows: HeldColumns, whole: WholeTable, plan: ChunkPlan) -> tuple[Held, ChunkOutcome | list[Obstacle]]:
    """Group all chunks; what is in the way of those that cannot be."""
    # The secret of the deal stands in a statement, which a cluster may log, so it must not tell that of the grouping.
    sql, parameters = rows.dealt(whole, chunks=plan.chunks, secret=seed_of(plan.secret, OUTCOME) >> 2)
    make = partial(group_chunk, plan)
    held = rows.engine.hold_each(sql, parameters, by="chunk", make=make, adding=ADDED, source=rows.source)
    told = rows.engine.query(f"SELECT outcome FROM {held.relation} WHERE part = {OUTCOME}").column("outcome")
    outcomes = [pickle.loads(packed) for packed in told.to_pylist()]  # noqa: S301 - written by our own code, in this engine
    errors = [outcome for outcome in outcomes if isinstance(outcome, DivulgeError)]
    if errors:
        raise errors[0]
    obstacles = [outcome for outcome in outcomes if isinstance(outcome, Obstacle)]
    if not obstacles and len(outcomes) != plan.chunks:
        raise InternalError(f"{len(outcomes)} of {plan.chunks} chunks were grouped")
    return held, obstacles or reduce(ChunkOutcome.plus, outcomes)


def _refusal(obstacles: list[Obstacle], whole: WholeTable, plan: ChunkPlan) -> InfeasibleModel:
    """Where a chunk is the whole table, its obstacle is the table's; else nothing is proved."""
    because = obstacles[0].because
    if plan.chunks > 1:
        because = f"in {len(obstacles)} of {plan.chunks} chunks of the table, such as this: {because}"
    hint = "Loosen a bound a little, or allow larger chunks: raise the memory limit (with Spark, in Python: SparkEngine(chunk_rows=...))"
    gamma = max(obstacle.gamma for obstacle in obstacles)
    return InfeasibleModel(whole, because, gamma=gamma, proved=False, hint=hint)


def _held_tables(
    rows: HeldColumns, held: Held, division: Division, sensitive: Sequence[str], outcome: ChunkOutcome, _: int | None
) -> HeldTables:
    """The tables of several chunks; groups have their numbers, and place and order of a row are functions of what is published alone."""
    engine, divided = rows.engine, (*division.tables, *((name,) for name in sensitive))
    group, count = free_name(GROUP, divided), free_name(COUNT, divided)
    types, before = dict(engine.describe(held.relation)), dict(engine.describe(rows.held.relation))

    def column(name: str, *, own: bool = False) -> str:
        """A column in a type that every kind of file has; a chunk may have given it another one than it had before."""
        cell = rows.cell(name)
        same = not own or types[cell] == before[cell]
        value = engine.durable(cell if same else engine.cast(cell, types[cell]), types[cell])
        return f"{value} AS {engine.quote(name)}"

    def query(part: int) -> str:
        columns = [column(name) for name in divided[part]]
        copies = [f"copies AS {engine.quote(count)}"] if outcome.counted[part] else []
        selected = ", ".join([f"gid AS {engine.quote(group)}", *columns, *copies])
        sql = f"SELECT {selected} FROM {held.relation} WHERE part = {part}"
        return engine.in_order(sql, [group, *divided[part]], files=engine.files_for(outcome.rows[part]))

    names = table_names(len(division.tables), len(sensitive))
    parts = zip(names, divided, outcome.counted, outcome.rows, strict=True)
    tables = tuple(
        GroupedTable(name, columns, columns[0] in sensitive, counted, number, query(part))
        for part, (name, columns, counted, number) in enumerate(parts)
    )
    origin = ", ".join(column(name, own=True) for columns in divided for name in columns)
    return HeldTables(tables, group, count, f"(SELECT {origin} FROM {rows.held.relation})", kept=(rows, held))
