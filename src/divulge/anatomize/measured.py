# SPDX-License-Identifier: Apache-2.0
"""The levels of a release, worked out from its tables alone, wherever they are, by the formulas that measure our own groups (levels.py).

The rows of a group come together: of each table of quasi-identifiers the count of its commonest tuple, of each sensitive column all
counts. They are held by the engine and folded into one summary. The prior of delta is the sum over all groups, for an anatomized release
leaves nobody out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc

from divulge.anatomize.levels import GroupLevels, GroupSummary, by_frequency, largest_shift, tally
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.problem import SensitiveTotals, totals_of
from divulge.anatomize.published import GroupTable, Published, check_sizes
from divulge.arrays import exact_sums
from divulge.count.assemble import domain_codes, encode
from divulge.engines.base import Held
from divulge.errors import BadInput

_PIECE = 250_000
"""Groups are measured together until they have so many rows."""


@dataclass(frozen=True, eq=False)
class _Measure:
    """What must be known to measure groups, beside their rows."""

    model: AlphaBetaGammaDelta
    sources: tuple[str, ...]
    """What the tables are called in messages: those of quasi-identifiers, then those of sensitive columns."""
    totals: tuple[SensitiveTotals, ...] = field(repr=False)

    @property
    def divided(self) -> int:
        """How many tables of quasi-identifiers there are."""
        return len(self.sources) - len(self.totals)


def measure_tables(published: Published, model: AlphaBetaGammaDelta) -> GroupSummary:
    """What the groups of a release reach, and how many break a model."""
    engine, (others, sensitive) = published.engine, published.divided()
    # One after the other, so that no two of them are counted at the same time.
    modal = [engine.hold(published.modal_query(table)) for table in others]
    tallies = [engine.hold(published.tally_query(table)) for table in sensitive]
    totals = tuple(_totals(table, tally) for table, tally in zip(sensitive, tallies, strict=True))
    rows = int(totals[0].totals.sum())
    if rows == 0:
        raise BadInput(f"{sensitive[0].source} has no rows", hint="There is nothing in this release")
    measure = _Measure(model, tuple(table.source for table in (*others, *sensitive)), totals)
    keeper = tallies[0].engine
    held = keeper.hold(_stacked(modal, tallies), together=["g"], rows=rows)
    return keeper.fold(held, partial(summarize, measure), GroupSummary.plus)


def _stacked(modal: Sequence[Held], tallies: Sequence[Held]) -> str:
    """All counts as rows g, part (the table's number), n, size (of the group, or its share of it), v0, v1, ... (sensitive values)."""
    values = [f"v{place}" for place in range(len(tallies))]
    absent = "".join(f", NULL AS {name}" for name in values)
    rows = [
        f"SELECT g, CAST({part} AS SMALLINT) AS part, most AS n, size{absent} FROM {held.relation}"
        for part, held in enumerate(modal)
    ]
    for own, held in enumerate(tallies):
        columns = "".join(f", {'v' if place == own else 'NULL'} AS {name}" for place, name in enumerate(values))
        part = f"CAST({len(modal) + own} AS SMALLINT) AS part"
        rows.append(f"SELECT g, {part}, n, n AS size{columns} FROM {held.relation}")
    return " UNION ALL ".join(rows)


def _totals(table: GroupTable, held: Held) -> SensitiveTotals:
    """How often each sensitive value occurs in the release."""
    found = held.engine.query(f"SELECT v, CAST(SUM(n) AS BIGINT) AS n FROM {held.relation} GROUP BY v")
    return totals_of(found, name=table.columns[0], kind="text")


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
    each = [exact_sums(group[rows_of], size[rows_of], len(groups)) for rows_of in own]
    for source, sizes in zip(measure.sources[1:], each[1:], strict=True):
        check_sizes(groups.values, each[0], sizes, sources=(measure.sources[0], source))
    modal = [exact_sums(group[own[place]], n[own[place]], len(groups)) for place in range(measure.divided)]
    common, shift = [], []
    for place, totals in enumerate(measure.totals):
        its = own[measure.divided + place]
        rank, ordered = by_frequency(totals.totals)
        codes = rank[domain_codes(totals.domain, rows.column(f"v{place}").filter(pa.array(its)))]
        ranked = tally(group[its], codes, groups=len(groups), values=len(ordered), count=n[its])
        common.append(ranked.modal())
        shift.append(largest_shift(ranked, each[0], ordered, rows=int(ordered.sum())))
    found = GroupLevels(int(measure.totals[0].totals.sum()), each[0], tuple(modal), tuple(common), tuple(shift))
    return found.summary(measure.model)
