# SPDX-License-Identifier: Apache-2.0
"""The levels of a release on the cluster, worked out from its tables alone, by the formulas that measure any other (levels.py).

The rows of a group come together on one worker: of each table of quasi-identifiers the count of its commonest tuple, of each sensitive
column all counts. The prior of delta is the sum over all groups. Nothing but the worst levels and a few numbers leave the workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from divulge.anatomize.chunk import worst_of
from divulge.anatomize.codes import Ints
from divulge.anatomize.levels import GroupLevels, by_frequency, largest_shift, sums, tally
from divulge.anatomize.model import AlphaBetaGammaDelta, Reached
from divulge.anatomize.problem import SensitiveTotals, prior_of
from divulge.anatomize.published import GroupTable, Published
from divulge.count.assemble import domain_codes, encode
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput, InternalError

_ROWS_PER_PARTITION = 1_000_000


@dataclass(frozen=True)
class GroupSummary:
    """What the groups of a release, or some of them, are like."""

    levels: Reached
    groups: int
    records: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break the model."""

    def plus(self, other: GroupSummary) -> GroupSummary:
        """Both together."""
        return GroupSummary(
            levels=worst_of(self.levels, other.levels),
            groups=self.groups + other.groups,
            records=self.records + other.records,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            breaking=self.breaking + other.breaking,
        )


@dataclass(frozen=True, eq=False)
class _Measure:
    """What a worker must know to measure groups."""

    model: AlphaBetaGammaDelta
    tables: int
    """Tables of quasi-identifiers; the sensitive columns follow."""
    prior: tuple[SensitiveTotals, ...] = field(repr=False)


def levels_on_cluster(published: Published, *, model: AlphaBetaGammaDelta) -> GroupSummary:
    """Measure all groups of a release whose tables are on the cluster."""
    engine = published.engine
    if not isinstance(engine, SparkEngine):
        raise TypeError("the tables are not on a cluster")
    others, sensitive = published.divided()
    values = [f"v{place}" for place in range(len(sensitive))]
    stacked = [_stacked_modal(published, table, part, values) for part, table in enumerate(others)]
    stacked += [
        _stacked_tally(published, table, len(others) + place, values, place) for place, table in enumerate(sensitive)
    ]
    prior = tuple(_prior(published, table) for table in sensitive)
    partitions = max(-(-int(prior[0].totals.sum()) // _ROWS_PER_PARTITION), 2)
    frame = engine.frame(
        f"SELECT /*+ REPARTITION({partitions}, g) */ * FROM ({' UNION ALL '.join(stacked)}) AS stacked"
    )
    return engine.reduce(frame, partial(summarize, _Measure(model, len(others), prior)), GroupSummary.plus)


def _stacked_modal(published: Published, table: GroupTable, part: int, values: list[str]) -> str:
    absent = "".join(f", NULL AS {name}" for name in values)
    return f"SELECT g, {part} AS part, most AS n, size{absent} FROM ({published.modal_query(table)}) AS t{part}"


def _stacked_tally(published: Published, table: GroupTable, part: int, values: list[str], own: int) -> str:
    columns = "".join(f", {'v' if place == own else 'NULL'} AS {name}" for place, name in enumerate(values))
    return f"SELECT g, {part} AS part, n, n AS size{columns} FROM ({published.tally_query(table)}) AS t{part}"


def _prior(published: Published, table: GroupTable) -> SensitiveTotals:
    """How often each sensitive value occurs in the release."""
    found = published.engine.query(
        f"SELECT v, CAST(SUM(n) AS BIGINT) AS n FROM ({published.tally_query(table)}) AS t GROUP BY v"
    )
    return prior_of(found, name=table.columns[0], kind="text")


def summarize(measure: _Measure, batches: Iterator[pa.RecordBatch]) -> GroupSummary | None:
    """Measure the groups of one partition; None if it has none."""
    listed = [batch for batch in batches if batch.num_rows]
    if not listed:
        return None
    rows = pa.Table.from_batches(listed)
    groups, group = encode(rows.column("g"), name="the group", kind="number")
    part, n = rows.column("part").to_numpy(), rows.column("n").to_numpy()
    size = rows.column("size").to_numpy()
    sizes = _sizes(measure, part, group, size, groups=len(groups))
    modal = [sums(group[part == place], n[part == place], len(groups)) for place in range(measure.tables)]
    common, shift = [], []
    for place, prior in enumerate(measure.prior):
        own = part == measure.tables + place
        rank, ordered = by_frequency(prior.totals)
        codes = rank[domain_codes(prior.domain, rows.column(f"v{place}").filter(pa.array(own)))]
        ranked = tally(group[own], codes, groups=len(groups), values=len(ordered), count=n[own])
        common.append(ranked.modal())
        shift.append(largest_shift(ranked, sizes, ordered, rows=int(ordered.sum())))
    levels = GroupLevels(int(measure.prior[0].totals.sum()), sizes, tuple(modal), tuple(common), tuple(shift))
    return GroupSummary(
        levels=levels.worst(),
        groups=len(groups),
        records=int(sizes.sum()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        breaking=int((~levels.keeps(measure.model)).sum()),
    )


def _sizes(measure: _Measure, part: Ints, group: Ints, size: Ints, *, groups: int) -> Ints:
    """The records of each group, on which all tables must agree."""
    found: Ints | None = None
    for place in range(measure.tables + len(measure.prior)):
        own = part == place
        theirs = sums(group[own], size[own], groups)
        if found is not None and not np.array_equal(found, theirs):
            raise BadInput(
                "the tables do not have the same groups of the same sizes", hint="Are they files of one release?"
            )
        found = theirs
    if found is None:
        raise InternalError("a release without tables was measured")
    return found
