# SPDX-License-Identifier: Apache-2.0
"""Group a table as one chunk if its rows fit into memory, otherwise chunk by chunk.

Both cases use the same functions. Valid groups of disjoint chunks are valid groups of the table.
The converse fails: a chunk may have too many records of a tuple that the table can just
accommodate, or too few records to come close enough to gamma. Then the rows are assigned to fewer,
larger chunks. If that does not help, the request raises an error; a bound is never dropped. The
grouped rows are either lent to an engine of this process or held by the engine that has the table.
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

from divulge.anatomization.column_division import Division
from divulge.anatomization.encoded_rows import (
    RowCodes,
    hold_counts,
    load_rows,
    scatter,
    sorted_rows,
)
from divulge.anatomization.group_count_bound import bound_group_count
from divulge.anatomization.methods import Anatomized, Method, Slppa, anatomize
from divulge.anatomization.model import AlphaBetaGammaDelta, GroupSummary
from divulge.anatomization.problem import (
    HeldColumns,
    InfeasibleModel,
    SensitiveTotals,
    WholeTable,
    check_feasible,
    hold_columns,
)
from divulge.anatomization.record_grouping import PriorClasses
from divulge.anatomization.tables import (
    COUNT,
    GROUP,
    ReleasedTables,
    build_released_tables,
    free_name,
    table_names,
)
from divulge.arguments import marked
from divulge.arrays import class_ids
from divulge.counting import Nulls
from divulge.engines import DuckDBEngine, OwnEngine, StoredRows
from divulge.errors import BadInput, DivulgeError, InternalError
from divulge.sources import Column, Table

# --- chunk ----------------------------------------------------------------------------------------
# A chunk of a table is grouped by itself, one after the other or on Spark's workers, by the
# functions that group a table in memory. Only delta looks beyond the chunk: it is compared with the
# shares of the sensitive values in the whole table. A group that satisfies the model in its chunk
# therefore satisfies it in the table, and the levels of the table are the worst of its chunks.
#
# The output has the rows of all tables: c0, c1, ... (null in rows of other tables), part (the
# table's number), gid and copies. One row per chunk, with part = -1, holds the outcome. Everything
# is a function of the chunk's rows and of secrets, so a worker that dies can be replaced.
OUTCOME = -1
"""Value of `part` in the row that holds the outcome of a chunk."""
ADDED = {"part": "INT", "gid": "BIGINT", "copies": "INT", "outcome": "BINARY"}
"""Columns added to c0, c1, ...; every engine has types with these names."""


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """Everything needed to group a chunk, except its rows."""

    method: Method
    """The method, with the tables that the division decided on."""
    columns: tuple[Column, ...]
    """The columns of the table, which c0, c1, ... hold."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    totals: Mapping[str, SensitiveTotals] = field(repr=False)
    """Counts of the sensitive values in the whole table."""
    chunks: int
    capacity: int
    """Most rows of a chunk."""
    secret: int = field(repr=False)
    """Secret from which the seed of each chunk's grouping is derived."""
    numbering: int = field(repr=False)
    """Secret from which the group numbers are derived; independent of `secret`."""


@dataclass(frozen=True)
class ChunkOutcome:
    """Result of grouping one chunk, or several."""

    groups: GroupSummary
    rows: tuple[int, ...]
    """Number of rows of each table."""
    has_counts: tuple[bool, ...]
    """For each table, True if a row can represent several records."""

    def plus(self, other: ChunkOutcome) -> ChunkOutcome:
        """Return the outcome of both together."""
        rows = tuple(first + two for first, two in zip(self.rows, other.rows, strict=True))
        has_counts = tuple(
            first or two for first, two in zip(self.has_counts, other.has_counts, strict=True)
        )
        return ChunkOutcome(self.groups.plus(other.groups), rows, has_counts)


@dataclass(frozen=True)
class Obstacle:
    """Reason why no grouping of a chunk was found."""

    because: str
    gamma: Fraction
    """Gamma that the chunk's groups reach if they satisfy the other bounds."""


def group_chunk(plan: ChunkPlan, chunk: pa.Table) -> pa.Table:
    """Group one chunk; return the rows of all tables, and one row with the outcome.

    An error raised by divulge is an outcome too, so that the engine does not retry the chunk.
    """
    number = chunk.column("chunk")[0].as_py()
    schema = _stacked_schema(chunk.schema, len(plan.columns))
    outcome: ChunkOutcome | Obstacle | DivulgeError
    tables: list[pa.Table] = []
    try:
        anatomized = anatomize(
            sorted_rows(chunk, plan.columns),
            plan.method,
            quasi_identifiers=plan.quasi_identifiers,
            sensitive=plan.sensitive,
            seed=seed_of(plan.secret, number),
            totals=plan.totals,
        )
        released_tables = build_released_tables(anatomized, secret=seed_of(plan.numbering, number))
        tables = [
            _stack_table(plan, number, released_tables, part, schema)
            for part in range(len(released_tables.tables))
        ]
        rows = tuple(table.rows.num_rows for table in released_tables.tables)
        outcome = ChunkOutcome(
            anatomized.summary, rows, tuple(table.counted for table in released_tables.tables)
        )
    except InfeasibleModel as error:
        outcome = Obstacle(error.because, error.nearest.gamma)
    except DivulgeError as error:
        outcome = error
    outcome_columns = {
        "part": pa.array([OUTCOME], pa.int32()),
        "outcome": pa.array([pickle.dumps(outcome)], pa.binary()),
    }
    return pa.concat_tables([*tables, _fill_schema(outcome_columns, schema, 1)])


def seed_of(secret: int, chunk: int) -> int:
    """Derive the seed of a chunk. It reveals neither the secret nor another chunk's seed."""
    return int.from_bytes(hashlib.blake2b(f"{secret}:{chunk}".encode(), digest_size=8).digest())


def _stack_table(
    plan: ChunkPlan, chunk: int, released_tables: ReleasedTables, part: int, schema: pa.Schema
) -> pa.Table:
    """Rows of one table in the common schema, with group numbers unique in the whole release."""
    table = released_tables.tables[part]
    rows = released_tables.tables[part].rows
    local = rows.column(released_tables.group).to_numpy().astype(np.int64) - 1
    column_arrays: dict[str, Any] = {
        "part": np.full(len(local), part, dtype=np.int32),
        "gid": scatter(
            local + chunk * plan.capacity, plan.chunks * plan.capacity, secret=plan.numbering
        )
        + 1,
        "copies": rows.column(released_tables.count)
        if table.counted
        else np.ones(len(local), dtype=np.int32),
    }
    for index, column in enumerate(plan.columns):
        if column.name in table.columns:
            coded = rows.column(column.name)
            column_arrays[f"c{index}"] = coded.cast(coded.type.value_type).cast(
                schema.field(f"c{index}").type
            )
    return _fill_schema(column_arrays, schema, len(local))


def _stacked_schema(chunk: pa.Schema, columns: int) -> pa.Schema:
    value_fields = [
        pa.field(f"c{index}", _output_type(chunk.field(f"c{index}").type))
        for index in range(columns)
    ]
    types = {"INT": pa.int32(), "BIGINT": pa.int64(), "BINARY": pa.binary()}
    return pa.schema(
        [*value_fields, *(pa.field(name, types[type_]) for name, type_ in ADDED.items())]
    )


def _output_type(type_: pa.DataType) -> pa.DataType:
    """Type in which a column is returned: not dictionary-encoded, and moments in UTC.

    Spark passes timestamps in the zone of its session but accepts them in UTC only. The moments
    stay the same.
    """
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    return type_


def _fill_schema(columns: Mapping[str, Any], schema: pa.Schema, rows: int) -> pa.Table:
    """A table of this schema, with nulls in the columns that are not passed."""
    cells = [
        columns[field.name] if field.name in columns else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.table(cells, schema=schema)


# --- chunks ---------------------------------------------------------------------------------------
LARGER = "raise the memory limit (with Spark, in Python: SparkEngine(row_limit=...))"
"""Hint for operations that need all rows in memory."""
_MOST_GROWTH = 8
"""Chunks may grow to this many times the planned size."""


@dataclass(frozen=True)
class GroupedTable:
    """One table of a release, and the query for its rows."""

    name: str
    """Name of its file, or folder of files, without the extension."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    """True if each row states how many records it represents."""
    rows: int
    query: str = field(repr=False)
    """SQL for its rows, in the order in which they are published."""


@dataclass(frozen=True, eq=False)
class HeldTables:
    """The rows of all tables of a release, held by an engine."""

    tables: tuple[GroupedTable, ...]
    group: str
    """Name of the group column.

    It differs from the default if the table already has a column of that name.
    """
    count: str
    origin: str
    """SQL relation (for the FROM clause) of the rows that were grouped."""
    times: str = "1"
    """SQL expression for the number of records that each row of `origin` represents."""
    keep_alive: object = field(default=None, repr=False)
    """Objects that must stay alive as long as this one."""
    let_go: Callable[[str], None] | None = field(default=None, repr=False)
    """Frees the memory of a query's rows; the query cannot be run afterwards.

    None if the rows are not in memory.
    """

    @property
    def outline(self) -> HeldTables:
        """A copy without the rows."""
        return HeldTables(
            tuple(replace(table, query="") for table in self.tables),
            self.group,
            self.count,
            origin="",
        )


@dataclass(frozen=True, eq=False)
class Grouping:
    """A table divided into tables and groups; nothing is published yet."""

    method: Method
    division: Division
    sensitive: tuple[str, ...]
    summary: GroupSummary
    engine: OwnEngine = field(repr=False)
    """Engine that holds the rows to be published."""
    hold: Callable[[int | None], HeldTables] = field(repr=False)
    """Returns the rows to be published; they are prepared when it is called.

    A number fixes the random choices that are independent of the grouping.
    """
    limit: Callable[[], int] = field(repr=False)
    only: Anatomized | None = field(default=None, repr=False)
    """The single chunk that is the whole table, in memory. None if rows stay in the engine."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the grouping, in addition to those of the method."""

    @cached_property
    def at_most(self) -> int:
        """Proved upper bound on the number of groups of any grouping that satisfies the model.

        For tables in chunks it is proved from their counts.
        """
        return self.limit()

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table.

        Each sensitive attribute is a table of its own, at the end.
        """
        return (*self.division.tables, *((name,) for name in self.sensitive))

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """The bounds that every group satisfies."""
        return self.method.model


_CELL = 0.4
"""Memory cost of reading one value of a distinct row; grouping one row costs 1."""


def needs_chunks(table: Table) -> bool:
    """True if a table has more rows than may be loaded, even if many of them are equal."""
    limit = table.engine.row_limit
    return limit is not None and _count(table) > limit


def _count(table: Table) -> int:
    return int(
        table.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}").column("n")[0].as_py()
    )


def _read_if_it_fits(table: Table, names: Sequence[str], *, nulls: Nulls) -> RowCodes | None:
    """Read columns of a table; None if they do not fit into memory.

    The rows have to fit, together with the distinct rows while these are read.
    """
    limit = table.engine.row_limit
    if limit is None:
        rows = 0
    else:
        rows = _count(table)
    if limit is not None and rows > limit:
        return None
    counts = hold_counts(table, names, nulls=nulls)
    if limit is not None and rows + _CELL * len(names) * counts.rows > limit:
        return None
    return load_rows(counts, table, names)


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
    """Divide the columns and group the rows: in memory, or in chunks if they do not fit.

    `numbering` is the secret of the group numbers. Each group lies within one of the equivalence
    classes of the `pinned` columns, which are not published.
    """
    names = (*quasi_identifiers, *sensitive)
    rows = _read_if_it_fits(table, (*names, *pinned), nulls=nulls)
    if rows is None:
        if pinned:
            message = (
                f"{table.source} is too large for memory, and beside what is out already all rows "
                "are needed there"
            )
            raise BadInput(message, hint=f"{LARGER[0].upper()}{LARGER[1:]}")
        if not isinstance(method, Slppa) or method.algorithm != "guaranteed":
            if isinstance(method, Slppa):
                message = "Algorithm 1 of the paper"
            else:
                message = f"the method {method.name}"
            raise BadInput(
                f"{message} needs all rows in memory, and {table.source} is too large for that",
                hint=f"Use slppa, or {LARGER}",
            )
        columns = hold_columns(table, names, nulls=nulls)
        if len(columns) == 0:
            raise BadInput(f"{table.source} has no rows", hint="There is nothing to anatomize")
        if seed is None:
            secret = secrets.randbits(64)
        else:
            secret = seed
        return _group_in_chunks(
            columns, method, quasi_identifiers, sensitive, secret=secret, numbering=numbering
        )
    if pinned:
        prior_classes = _pinned_classes(rows, pinned)
    else:
        prior_classes = None
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    anatomized = anatomize(
        rows.select_columns(names) if pinned else rows,
        method,
        **roles,
        seed=seed,
        prior_classes=prior_classes,
    )
    return _as_one_chunk(
        anatomized, method, DuckDBEngine.ordered_engine_next_to(table.engine), numbering=numbering
    )


def _pinned_classes(rows: RowCodes, pinned: Sequence[str]) -> PriorClasses:
    """The equivalence class of each record by columns that are not published."""
    codes = [rows.column(name) for name in pinned]
    radices = [len(rows.domain(name)) for name in pinned]
    ids, first = class_ids(codes, radices, rows=len(rows))
    values = zip(*(rows.values(name, first).to_pylist() for name in pinned), strict=True)
    return PriorClasses(ids, [" and ".join(map(str, class_values)) for class_values in values])


def _as_one_chunk(
    anatomized: Anatomized, method: Method, engine: DuckDBEngine, *, numbering: int
) -> Grouping:
    """Wrap a table in memory as a grouping of one chunk."""
    hold = partial(_lend_tables, engine, anatomized, numbering)
    return Grouping(
        method,
        anatomized.division,
        anatomized.sensitive,
        anatomized.summary,
        engine,
        hold,
        lambda: anatomized.at_most,
        only=anatomized,
    )


def _lend_tables(
    engine: DuckDBEngine, anatomized: Anatomized, numbering: int, secret: int | None
) -> HeldTables:
    """Lend the tables of a chunk in memory to an engine that preserves the order of rows."""
    released_tables = build_released_tables(
        anatomized, secret=numbering if secret is None else secret
    )
    tables = tuple(
        GroupedTable(
            t.name, t.columns, t.sensitive, t.counted, t.rows.num_rows, engine.query_for(t.rows)
        )
        for t in released_tables.tables
    )
    cells = {
        name: anatomized.rows.dictionary_column(name)
        for columns in anatomized.tables
        for name in columns
    }
    times = anatomized.rows.times
    origin = pa.table(cells if times is None else cells | {released_tables.count: times})
    if times is None:
        record_weight = "1"
    else:
        record_weight = engine.quote(released_tables.count)
    relation = f"({engine.query_for(origin)})"
    return HeldTables(
        tables,
        released_tables.group,
        released_tables.count,
        origin=relation,
        times=record_weight,
        let_go=engine.let_go,
    )


def _group_in_chunks(
    rows: HeldColumns,
    method: Slppa,
    names: Sequence[str],
    sensitive: Sequence[str],
    *,
    secret: int,
    numbering: int,
) -> Grouping:
    """Divide the columns, decide whether the model can be satisfied, and group the chunks.

    `secret` and `numbering` are random numbers.
    """
    division = method.divide(rows, names)
    whole_table = rows.whole_table(division.tables, sensitive, method.model)
    check_feasible(whole_table)
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
    fewest_chunks = max(plan.chunks // _MOST_GROWTH, 1)
    while True:
        plan = replace(plan, capacity=-(-len(rows) // plan.chunks))
        stored_rows, outcome = _group_chunks(rows, whole_table, plan)
        if isinstance(outcome, ChunkOutcome):
            break
        if plan.chunks == fewest_chunks:
            raise _infeasible_chunks_error(outcome, whole_table, plan)
        plan = replace(plan, chunks=max(plan.chunks // 2, fewest_chunks))
    settings = {
        "records": rows.engine.storage.removeprefix("the "),
        "chunks": plan.chunks,
        "chunk_rows": plan.capacity,
    }
    tables = partial(_held_tables, rows, stored_rows, division, plan.sensitive, outcome)
    limit = partial(
        bound_group_count,
        whole_table,
        group_size=method.group_size,
        group_count=outcome.groups.groups,
    )
    return Grouping(
        method,
        division,
        plan.sensitive,
        outcome.groups,
        rows.engine,
        tables,
        limit,
        settings=settings,
    )


def _group_chunks(
    rows: HeldColumns, whole_table: WholeTable, plan: ChunkPlan
) -> tuple[StoredRows, ChunkOutcome | list[Obstacle]]:
    """Group all chunks; return the outcome, or the obstacles of chunks that cannot be grouped."""
    # The secret of the chunk assignment is part of a statement, which a cluster may log. So it must
    # not reveal the secret of the grouping.
    sql, parameters = rows.chunk_query(
        whole_table, chunks=plan.chunks, secret=seed_of(plan.secret, OUTCOME) >> 2
    )
    make = partial(group_chunk, plan)
    stored_rows = rows.engine.hold_each(
        sql, parameters, by="chunk", make=make, adding=ADDED, source=rows.source
    )
    packed_outcomes = rows.engine.query(
        f"SELECT outcome FROM {stored_rows.relation} WHERE part = {OUTCOME}"
    ).column("outcome")
    outcomes = [pickle.loads(packed) for packed in packed_outcomes.to_pylist()]  # noqa: S301 - written by our own code, in this engine
    errors = [outcome for outcome in outcomes if isinstance(outcome, DivulgeError)]
    if errors:
        raise errors[0]
    obstacles = [outcome for outcome in outcomes if isinstance(outcome, Obstacle)]
    if not obstacles and len(outcomes) != plan.chunks:
        raise InternalError(f"{len(outcomes)} of {plan.chunks} chunks were grouped")
    return stored_rows, obstacles or reduce(ChunkOutcome.plus, outcomes)


def _infeasible_chunks_error(
    obstacles: list[Obstacle], whole_table: WholeTable, plan: ChunkPlan
) -> InfeasibleModel:
    """Build the error for chunks that cannot be grouped.

    If one chunk is the whole table, its obstacle is the table's. The error never claims a proof.
    """
    because = obstacles[0].because
    if plan.chunks > 1:
        share = f"{len(obstacles)} of {plan.chunks} chunks of the table"
        because = f"in {share}, such as this: {marked(because)}"
    hint = (
        "Loosen a bound a little, or allow larger chunks: raise the memory limit (with Spark, in "
        "Python: SparkEngine(chunk_rows=...))"
    )
    gamma = max(obstacle.gamma for obstacle in obstacles)
    return InfeasibleModel(whole_table, because, gamma=gamma, proved=False, hint=hint)


def _held_tables(
    rows: HeldColumns,
    stored_rows: StoredRows,
    division: Division,
    sensitive: Sequence[str],
    outcome: ChunkOutcome,
    _: int | None,
) -> HeldTables:
    """The tables of several chunks, held by the engine.

    The groups are numbered already. The order of a row depends only on published values.
    """
    engine = rows.engine
    divided = (*division.tables, *((name,) for name in sensitive))
    group = free_name(GROUP, divided)
    count = free_name(COUNT, divided)
    types = dict(engine.describe(stored_rows.relation))
    held_types = dict(engine.describe(rows.stored_columns.relation))

    def column(name: str, *, of_origin: bool = False) -> str:
        """SQL for a column in a type that every file format has.

        A chunk may have changed the type of the column.
        """
        cell = rows.cell(name)
        same = not of_origin or types[cell] == held_types[cell]
        value = engine.durable(cell if same else engine.cast(cell, types[cell]), types[cell])
        return f"{value} AS {engine.quote(name)}"

    def query(part: int) -> str:
        columns = [column(name) for name in divided[part]]
        if outcome.has_counts[part]:
            copies = [f"copies AS {engine.quote(count)}"]
        else:
            copies = []
        selected = ", ".join([f"gid AS {engine.quote(group)}", *columns, *copies])
        sql = f"SELECT {selected} FROM {stored_rows.relation} WHERE part = {part}"
        return engine.in_order(
            sql, [group, *divided[part]], files=engine.files_for(outcome.rows[part])
        )

    names = table_names(len(division.tables), len(sensitive))
    parts = zip(names, divided, outcome.has_counts, outcome.rows, strict=True)
    tables = tuple(
        GroupedTable(name, columns, columns[0] in sensitive, has_counts, number, query(part))
        for part, (name, columns, has_counts, number) in enumerate(parts)
    )
    origin = ", ".join(column(name, of_origin=True) for columns in divided for name in columns)
    return HeldTables(
        tables,
        group,
        count,
        f"(SELECT {origin} FROM {rows.stored_columns.relation})",
        keep_alive=(rows, stored_rows),
    )
