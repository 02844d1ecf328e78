# SPDX-License-Identifier: Apache-2.0
"""Counts that an engine holds: the cells of a counting statement, in memory, on disk or on a cluster.

Where they are few enough for memory they become an ordinary contingency; else they are folded into summaries where they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.count import counting
from divulge.count.contingency import Contingency, Domain
from divulge.count.counting import JOINT, CountedColumns, Request, ValueNumbers, domain_codes, plain_values
from divulge.engines import Held
from divulge.errors import BadInput

_LARGEST_TUPLE = 2**62


@dataclass(frozen=True, eq=False)
class Counts:
    """What a counting statement found."""

    request: Request
    held: Held

    @classmethod
    def of(cls, request: Request, finer: tuple[str, Held] | None = None) -> Counts:
        """Run the counting statement of a request, or one that is made from finer counts, where these are held; weights are checked."""
        sql, engine = (request.sql(), request.table.engine) if finer is None else (finer[0], finer[1].engine)
        keys, coded = request.layout.key_names, request.coded() if finer is None else None
        by_sql = partial(engine.hold, sql, together=keys, source=request.table.source)
        found = cls(request, by_sql() if coded is None else engine.hold_table(coded, together=keys))
        if found.cells == 0:
            raise request.no_rows()
        if request.roles.weight is not None and not found.is_small:
            counting.check_weights(found._whole, request)
        return found

    @property
    def layout(self) -> CountedColumns:
        """The columns of the counted rows."""
        return self.request.layout

    @property
    def cells(self) -> int:
        """How many rows the statement has: cells of all sensitive attributes."""
        return self.held.rows

    @property
    def is_small(self) -> bool:
        """Whether memory may take all of them."""
        limit = self.request.table.engine.cell_limit
        return limit is None or self.cells <= limit

    def collect(self) -> Contingency:
        """Bring the counts to memory."""
        return counting.contingency_of(self.request, self.held.table())

    def roll_up(self, columns: Sequence[str]) -> Counts:
        """The counts of fewer quasi-identifiers, from these counts; where people own several rows, from the rows again."""
        request = replace(self.request, roles=replace(self.request.roles, quasi_identifiers=tuple(columns)))
        if self.layout.by_person:
            return Counts.of(request)
        places = {column.name: place for place, column in enumerate(self.layout.keys)}
        return Counts.of(request, (self._summed([f"k{places[name]}" for name in columns]), self.held))

    def one_class(self) -> tuple[Contingency, dict[str, ValueNumbers]]:
        """The whole table as one class, that is its marginals, and how it numbers the values of each target."""
        found = replace(self.layout, keys=()).assemble(self._whole)
        alone = {column.name: found.cells[column.name].domain for column in self.layout.values}
        codings = {name: ValueNumbers(domain, (domain,)) for name, domain in alone.items()}
        for target in self.layout.targets:
            if len(target) > 1:
                domain = found.cells[JOINT.join(target)].domain
                codings[domain.name] = _joint_coding(self._whole, domain, [alone[name] for name in target])
        return found, codings

    def with_population(self, population: Counts | None) -> Held:
        """The cells, those of one class together; people of the population are rows of their own, counted in p."""
        if population is None:
            return self.held
        for mine, yours in zip(self.layout.keys, population.layout.keys, strict=True):
            if mine.type != yours.type and not mine.kind == yours.kind == "number":
                raise counting.about_population(counting.other_type(mine.name, mine.type, yours.type))
        engine, keys = self.held.engine, self.layout.key_names
        if not engine.sees(population.held) and not population.is_small:
            raise BadInput(
                f"the population ({population.request.table.source}) is not where the table is, and its counts are too many to be moved",
                hint="open both with one engine: as paths, or as Spark frames of one session",
            )
        theirs = population.held.relation if engine.sees(population.held) else engine.lend(population.held.table())
        others = [name for name in self.layout.column_names if name not in keys]
        ours = ", ".join([*keys, *others, "CAST(NULL AS BIGINT) AS p"])
        everybody = ", ".join([*keys, *(f"NULL AS {name}" for name in others), "n AS p"])
        both = f"SELECT {ours} FROM {self.held.relation} UNION ALL SELECT {everybody} FROM {theirs}"
        return engine.hold(both, together=keys, rows=self.cells + population.cells)

    @cached_property
    def _whole(self) -> pa.Table:
        """The cells of the table as one class."""
        return self.held.engine.query(self._summed([]))

    def _summed(self, keys: Sequence[str]) -> str:
        """The statement that adds up the cells over the classes of these keys."""
        present = self.layout.column_names
        kept = [name for name in present if name[0] in "sg"]
        sums = [f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in ("n", "unweighted") if name in present]
        sums += ["SUM(w) AS w", "MIN(lightest) AS lightest"] if "w" in present else []
        names = [*(f"k{place}" for place in range(len(keys))), *kept]
        grouped = [f"cells.{name}" for name in (*keys, *kept)]  # so that no alias is meant
        named = [f"{cell} AS {name}" for cell, name in zip(grouped, names, strict=True)]
        by = f" GROUP BY {', '.join(grouped)}" if grouped else ""
        return f"SELECT {', '.join([*named, *sums])} FROM {self.held.relation} AS cells{by}"


def count_in_memory(request: Request) -> Contingency:
    """The counts of a table as a contingency; refused where memory cannot be expected to hold them."""
    limit = request.table.engine.search_limit
    if limit is None:
        return counting.contingency_of(request, counting.counted_rows(request))
    counts = Counts.of(request)
    if counts.cells > limit:
        raise BadInput(
            f"{request.table.source} has {counts.cells:,} combinations of values, and a search holds at most {limit:,} in memory",
            hint="Name fewer quasi-identifiers or round a column first, or, in Python, raise SparkEngine(search_limit=...)",
        )
    return counts.collect()


def _joint_coding(counted: pa.Table, domain: Domain, parts: Sequence[Domain]) -> ValueNumbers:
    """How the combinations of all sensitive attributes are numbered."""
    radices = [len(part) for part in parts]
    if math.prod(radices) > _LARGEST_TUPLE:
        told = f"{domain.name} has too many possible values to be measured as one on a cluster"
        raise BadInput(told, hint="measure fewer sensitive attributes together")
    together = [counted.column(f"g{place}").to_numpy() == 0 for place in range(len(parts))]
    rows = counted.filter(pa.array(np.logical_and.reduce(together)))
    codes = [domain_codes(part, rows.column(f"s{place}")) for place, part in enumerate(parts)]
    tuples = np.unique(arrays.combined_key(codes, radices, rows=rows.num_rows))
    return ValueNumbers(domain, tuple(parts), tuples)


def whole_classes(batches: Iterable[pa.RecordBatch], keys: int, *, rows: int) -> Iterator[pa.Table]:
    """Counted rows in pieces of about `rows`, each of whole classes; the key columns are k0, k1, ... and a class stands together."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
        if count >= rows:
            together = pa.Table.from_batches(held)
            cut = count - _last_class(together, keys)
            if cut:
                yield together.slice(0, cut)
                held = together.slice(cut).to_batches()
                count -= cut
    if held:
        yield pa.Table.from_batches(held)


def _last_class(table: pa.Table, keys: int) -> int:
    """How many rows at the end belong to the class of the last row."""
    same = np.ones(table.num_rows, dtype=bool)
    for place in range(keys):
        column = plain_values(table.column(f"k{place}"))
        # A set of one value: unlike "=", membership holds for nulls and for nan.
        same &= pc.index_in(column, value_set=column.slice(len(column) - 1)).is_valid().to_numpy(zero_copy_only=False)
    return table.num_rows if same.all() else int(np.argmin(same[::-1]))
