# SPDX-License-Identifier: Apache-2.0
"""Counts that stay on the cluster: the cells of a counting statement as a Spark frame, counted once and kept there.

Small counts are collected and become an ordinary contingency. Large ones are arranged so that each partition holds whole classes,
sorted, and are summarized where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from divulge.arrays import combined_key
from divulge.count.assemble import JOINT, Coding, Layout, assemble, domain_codes
from divulge.count.contingency import Contingency, Domain
from divulge.count.counting import Request, check_weights, contingency_of, no_rows
from divulge.engines.spark import SparkEngine
from divulge.engines.spark_cleanup import when_gone
from divulge.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CELLS_PER_PARTITION = 100_000
_MOST_PARTITIONS = 10_000
_LARGEST_TUPLE = 2**62


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """What a counting statement found, left on the cluster."""

    request: Request
    engine: SparkEngine
    frame: DataFrame
    cells: int
    """How many rows the statement has: cells of all sensitive attributes."""

    @property
    def layout(self) -> Layout:
        """The columns of the frame."""
        return self.request.layout

    @property
    def is_small(self) -> bool:
        """Whether the driver may take all of them."""
        return self.cells <= self.engine.collect_limit

    def collect(self) -> Contingency:
        """Bring the counts here."""
        with self.engine.explained("collect the counts"):
            return contingency_of(self.request, self.frame.toArrow())

    def roll_up(self, columns: Sequence[str]) -> ClusterCounts:
        """The counts of fewer quasi-identifiers, from these counts; where people own several rows, from the rows again."""
        request = replace(self.request, roles=replace(self.request.roles, quasi_identifiers=tuple(columns)))
        if self.layout.by_person:
            return count_on_cluster(request)
        places = {column.name: place for place, column in enumerate(self.layout.keys)}
        keys = [f"k{places[name]}" for name in columns]
        return _kept(request, self.engine, self._summed(keys))

    def one_class(self) -> tuple[Contingency, dict[str, Coding]]:
        """The whole table as one class, that is its marginals, and how it numbers the values of each target."""
        layout = replace(self.layout, keys=())
        with self.engine.explained("sum up the values"):
            counted = self._summed([]).toArrow()
        found = assemble(layout, counted)
        return found, codings_of(layout, found, counted)

    def arrange(self, population: ClusterCounts | None = None) -> DataFrame:
        """The cells in partitions that hold whole classes; people of the population are rows of their own, counted in p."""
        frame = self.frame
        with self.engine.explained("arrange the counts by class"):
            if population is not None:
                _check_same_types(self.layout, population.layout)
                register = population.frame.withColumnRenamed("n", "p")
                frame = frame.unionByName(register, allowMissingColumns=True)
            arranged = self._by_class(frame).persist()
        when_gone(self, arranged.unpersist)
        return arranged

    def _by_class(self, frame: DataFrame) -> DataFrame:
        """Partitions that hold whole classes, sorted as we sort them: ascending, nulls last."""
        keys = [f"k{place}" for place in range(len(self.layout.keys))]
        parts = min(max(-(-self.cells // _CELLS_PER_PARTITION), 2), _MOST_PARTITIONS)
        return frame.repartition(parts, *keys).sortWithinPartitions(*(frame[key].asc_nulls_last() for key in keys))

    def _summed(self, keys: Sequence[str]) -> DataFrame:
        """The cells added up over the classes of these keys."""
        present = set(self.frame.columns)
        values = [f"{letter}{place}" for letter in "sg" for place in range(len(self.layout.values))]
        kept = [name for name in values if name in present]
        sums = [f"SUM({name}) AS {name}" for name in ("n", "w", "unweighted") if name in present]
        sums += ["MIN(lightest) AS lightest"] if "lightest" in present else []
        selected = [*(f"{key} AS k{place}" for place, key in enumerate(keys)), *kept, *sums]
        grouped = [*keys, *kept]
        by = f" GROUP BY {', '.join(grouped)}" if grouped else ""
        return self.engine.frame(f"SELECT {', '.join(selected)} FROM {self.engine.view(self.frame)}{by}")


def count_in_memory(request: Request) -> Contingency:
    """The counts of a table of any engine as a contingency; refused where the driver's memory cannot be expected to hold them."""
    if not isinstance(request.table.engine, SparkEngine):
        return contingency_of(request, request.table.engine.query(request.sql()))
    counts = count_on_cluster(request)
    limit = counts.engine.search_limit
    if counts.cells > limit:
        raise BadInput(
            f"{request.table.source} has {counts.cells:,} combinations of values, and a search holds at most {limit:,} in memory",
            hint="Name fewer quasi-identifiers or round a column first, or raise SparkEngine(search_limit=...)",
        )
    return counts.collect()


def count_on_cluster(request: Request) -> ClusterCounts:
    """Run the counting statement of a request and keep what it finds on the cluster."""
    engine = request.table.engine
    if not isinstance(engine, SparkEngine):
        raise TypeError("only Spark keeps counts to itself")
    found = _kept(request, engine, engine.frame(request.sql()))
    if found.cells == 0:
        raise no_rows(request)
    return found


def _kept(request: Request, engine: SparkEngine, frame: DataFrame) -> ClusterCounts:
    with engine.explained(request.sql(), source=request.table.source):
        cached = frame.persist()
        counts = ClusterCounts(request, engine, cached, cached.count())
    when_gone(counts, cached.unpersist)
    if request.roles.weight is not None and not counts.is_small:
        summed = counts._summed([])  # noqa: SLF001 - our own
        with engine.explained("check the weights"):
            check_weights(summed.toArrow(), request)
    return counts


def _check_same_types(ours: Layout, theirs: Layout) -> None:
    for mine, yours in zip(ours.keys, theirs.keys, strict=True):
        if mine.type != yours.type and not mine.kind == yours.kind == "number":
            raise BadInput(
                f"column {mine.name!r} has type {mine.type} in one table and {yours.type} in the other",
                hint="give both the same type",
            )


def codings_of(layout: Layout, marginals: Contingency, counted: pa.Table) -> dict[str, Coding]:
    """How the table as one class numbers the values of each target."""
    alone = {column.name: marginals.cells[column.name].domain for column in layout.values}
    codings = {name: Coding(domain, (domain,)) for name, domain in alone.items()}
    for target in layout.targets:
        if len(target) > 1:
            codings[JOINT.join(target)] = _joint_coding(layout, marginals, counted, [alone[name] for name in target])
    return codings


def _joint_coding(layout: Layout, marginals: Contingency, counted: pa.Table, parts: Sequence[Domain]) -> Coding:
    radices = [len(part) for part in parts]
    if math.prod(radices) > _LARGEST_TUPLE:
        raise BadInput(
            f"{JOINT.join(part.name for part in parts)} has too many possible values to be measured as one on a cluster",
            hint="measure fewer sensitive attributes together",
        )
    together = np.logical_and.reduce(
        [counted.column(f"g{place}").to_numpy() == 0 for place in range(len(layout.values))]
    )
    rows = counted.filter(pa.array(together))
    codes = [domain_codes(part, rows.column(f"s{place}")) for place, part in enumerate(parts)]
    tuples = np.unique(combined_key(codes, radices, rows=rows.num_rows))
    return Coding(marginals.cells[JOINT.join(part.name for part in parts)].domain, tuple(parts), tuples)
