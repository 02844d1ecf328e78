# SPDX-License-Identifier: Apache-2.0
"""Groups of a table that stays on the cluster: feasibility on the whole table, then each chunk by itself on a worker.

Valid groups of disjoint chunks are valid groups of the table. The converse fails: a chunk may have too many of a tuple that the table can
just accommodate, or too few records to come near enough to gamma. Then the rows are dealt into fewer, larger chunks, and where that
does not help the request is refused; a bound is never given up.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from divulge.anatomize.chunk import OUTCOME, ChunkPlan, Obstacle, Outcome, group_chunk, seed_of
from divulge.anatomize.cluster import ClusterRows
from divulge.anatomize.division import Division
from divulge.anatomize.feasibility import check_feasible, refusal
from divulge.anatomize.problem import WholeTable
from divulge.anatomize.published import COUNT, GROUP
from divulge.anatomize.release import free_name
from divulge.anatomize.slppa import Slppa
from divulge.engines.spark_cleanup import when_gone
from divulge.errors import DivulgeError, InternalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LARGER = 8
"""Chunks may grow to so many times the size that was asked for."""


@dataclass(frozen=True, eq=False)
class ClusterGroups:
    """A table divided into tables and groups, left on the cluster; nothing is published yet."""

    rows: ClusterRows = field(repr=False)
    method: Slppa
    division: Division
    plan: ChunkPlan = field(repr=False)
    outcome: Outcome
    view: str
    """What stands after FROM: the rows of all tables (see chunk.py)."""

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table; each sensitive attribute is a table of its own, at the end."""
        return (*self.division.tables, *((name,) for name in self.plan.sensitive))

    @property
    def group(self) -> str:
        """The column that will hold the group."""
        return free_name(GROUP, self.tables)

    @property
    def count(self) -> str:
        """The column that will tell for how many records a row stands."""
        return free_name(COUNT, self.tables)

    def released(self, part: int) -> str:
        """A query for the rows of one table, in no order."""
        return f"SELECT {self._selected(part)} FROM {self.view} WHERE part = {part}"

    def ordered(self, part: int, *, files: int) -> str:
        """The same in so many partitions; place and order are functions of what is published alone."""
        cells = ["gid", *(self.rows.cell(name) for name in self.tables[part])]
        spread = f"SELECT /*+ REPARTITION({files}, {', '.join(cells)}) */ * FROM {self.view} WHERE part = {part}"
        order = ", ".join(f"spread.{cell} NULLS LAST" for cell in cells)
        return f"SELECT {self._selected(part)} FROM ({spread}) AS spread SORT BY {order}"

    def _selected(self, part: int) -> str:
        quote = self.rows.engine.quote
        columns = [f"{self.rows.cell(name)} AS {quote(name)}" for name in self.tables[part]]
        count = [f"copies AS {quote(self.count)}"] if self.outcome.counted[part] else []
        return ", ".join([f"gid AS {quote(self.group)}", *columns, *count])


def group_on_cluster(
    rows: ClusterRows,
    method: Slppa,
    *,
    quasi_identifiers: tuple[str, ...],
    sensitive: tuple[str, ...],
    secret: int,
    numbering: int,
) -> ClusterGroups:
    """Divide the columns, decide whether the model can be kept, and group the chunks; `secret` and `numbering` are random numbers."""
    division = method.divide(rows, quasi_identifiers)
    whole = rows.whole(division.tables, sensitive, model=method.model)
    check_feasible(whole)
    plan = ChunkPlan(
        method=replace(method, tables=division.tables),
        columns=rows.columns,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        prior={name: rows.prior(name) for name in sensitive},
        chunks=-(-len(rows) // rows.engine.chunk_rows),
        capacity=0,
        secret=secret,
        numbering=numbering,
    )
    fewest = max(plan.chunks // _LARGER, 1)
    while True:
        plan = replace(plan, capacity=-(-len(rows) // plan.chunks))
        found = _attempt(rows, whole, plan, division, method)
        if isinstance(found, ClusterGroups):
            return found
        if plan.chunks == fewest:
            raise _refusal(found, whole, plan)
        plan = replace(plan, chunks=max(plan.chunks // 2, fewest))


def _attempt(
    rows: ClusterRows, whole: WholeTable, plan: ChunkPlan, division: Division, method: Slppa
) -> ClusterGroups | list[Obstacle]:
    """Group all chunks; what is in the way of those that cannot be."""
    engine = rows.engine
    engine.prepare_workers()
    # It stands in a statement, which a cluster may log, so it must not tell the secret of the grouping.
    dealt = rows.dealt(whole, chunks=plan.chunks, secret=seed_of(plan.secret, OUTCOME) >> 2)
    with engine.explained("group the chunks", source=rows.source):
        # A plain function of one argument: pyspark asks for its signature, and takes a second argument for a key.
        grouped = dealt.groupBy("chunk").applyInArrow(lambda chunk: group_chunk(plan, chunk), schema=_schema(dealt))
        frame = grouped.persist()
        told = frame.where(f"part = {OUTCOME}").select("outcome").toArrow().column("outcome").to_pylist()
    outcomes = [pickle.loads(packed) for packed in told]  # noqa: S301 - written by our own code, over Spark's own connections
    obstacles = [outcome for outcome in outcomes if isinstance(outcome, Obstacle)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, DivulgeError)]
    if errors or obstacles or len(outcomes) != plan.chunks:
        with engine.explained("forget the chunks"):
            frame.unpersist()
        if errors:
            raise errors[0]
        if not obstacles:
            raise InternalError(f"{len(outcomes)} of {plan.chunks} chunks were grouped")
        return obstacles
    found = ClusterGroups(rows, method, division, plan, reduce(Outcome.plus, outcomes), engine.view(frame))
    when_gone(found, frame.unpersist)
    return found


def _refusal(obstacles: list[Obstacle], whole: WholeTable, plan: ChunkPlan) -> DivulgeError:
    """Where a chunk is the whole table, its obstacle is the table's; else nothing is proved."""
    because = obstacles[0].because
    if plan.chunks > 1:
        because = f"in {len(obstacles)} of {plan.chunks} chunks of the table, such as this: {because}"
    return refusal(
        whole,
        because,
        gamma=max(obstacle.gamma for obstacle in obstacles),
        proved=False,
        hint="Loosen a bound a little, or allow larger chunks with SparkEngine(chunk_rows=...)",
    )


def _schema(dealt: DataFrame) -> str:
    """The columns that group_chunk returns, with the types of the rows that it gets."""
    columns = [f"{name} {type_}" for name, type_ in dealt.dtypes if name != "chunk"]
    return ", ".join(["part int", "gid bigint", *columns, "copies int", "outcome binary"])
