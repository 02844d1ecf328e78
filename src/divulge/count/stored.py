# SPDX-License-Identifier: Apache-2.0
"""Counts that stay on disk: the cells of a counting statement in DuckDB's private directory, sorted by class.

Small counts are taken into memory and become an ordinary contingency. Large ones are read in pieces that hold whole classes, as often
as needed: what Spark's workers do with their partitions, one process does with one stream. DuckDB groups and sorts out of core.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

from divulge.count.assemble import Coding, Layout, assemble
from divulge.count.cluster import codings_of
from divulge.count.contingency import Contingency
from divulge.count.counting import Request, check_weights, contingency_of, no_rows
from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import InternalError

_BYTES_PER_CELL = 1_000
"""What a cell costs in memory once all metrics have been computed, with room to spare."""
_FEWEST = 100_000


@dataclass(frozen=True, eq=False)
class StoredCounts:
    """What a counting statement found, left on disk."""

    request: Request
    engine: DuckDBEngine
    stored: str
    """The table that holds the cells, those of one class together."""
    cells: int

    @property
    def layout(self) -> Layout:
        """The columns of the table."""
        return self.request.layout

    @property
    def is_small(self) -> bool:
        """Whether memory may take all of them."""
        limit = self.engine.memory_limit
        return limit is None or self.cells <= max(limit // _BYTES_PER_CELL, _FEWEST)

    def collect(self) -> Contingency:
        """Take the counts into memory."""
        return contingency_of(self.request, self.engine.query(f"SELECT * FROM {self.stored}"))

    def one_class(self) -> tuple[Contingency, dict[str, Coding]]:
        """The whole table as one class, that is its marginals, and how it numbers the values of each target."""
        layout = replace(self.layout, keys=())
        names = [name for name, _ in self.engine.describe(self.stored)]
        kept = [name for name in names if name[0] in "sg"]
        sums = [f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in ("n", "unweighted") if name in names]
        sums += ["SUM(w) AS w", "MIN(lightest) AS lightest"] if "w" in names else []
        by = f" GROUP BY {', '.join(kept)}" if kept else ""
        counted = self.engine.query(f"SELECT {', '.join([*kept, *sums])} FROM {self.stored}{by}")
        if self.request.roles.weight is not None:
            check_weights(counted, self.request)
        found = assemble(layout, counted)
        return found, codings_of(layout, found, counted)

    def arrange(self, population: object = None) -> str:
        """The statement that reads the cells, those of one class together."""
        if population is not None:
            raise InternalError("a population is not counted out of core")
        return f"SELECT * FROM {self.stored}"


def count_to_disk(request: Request) -> StoredCounts:
    """Run the counting statement of a request and keep what it finds on disk."""
    engine = request.table.engine
    if not isinstance(engine, DuckDBEngine):
        raise InternalError(f"{engine.name} does not keep counts on disk")
    stored = engine.keep(f"{request.sql()} ORDER BY {', '.join(_sorted(len(request.layout.keys)))}")
    cells = int(engine.query(f"SELECT COUNT(*) AS n FROM {stored}").column("n")[0].as_py())
    counts = StoredCounts(request, engine, stored, cells)
    weakref.finalize(counts, engine.discard, stored).atexit = False
    if cells == 0:
        raise no_rows(request)
    return counts


def _sorted(keys: int) -> Sequence[str]:
    return [f"k{place} ASC NULLS LAST" for place in range(keys)]
