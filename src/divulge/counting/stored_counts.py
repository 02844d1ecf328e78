# SPDX-License-Identifier: Apache-2.0
"""Counts that an engine holds: the cells of a counting statement, in memory, on disk or remote.

If they are few enough for memory, they become an ordinary contingency table. Otherwise they are
folded into summaries where they are.
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
from divulge.counting.contingency import Contingency, Domain
from divulge.counting.encoding import JOINT, domain_codes, plain_values
from divulge.counting.request import (
    CountedColumns,
    Request,
    ValueNumbers,
    about_population,
    check_weights,
    contingency_of,
    counted_rows,
    other_type,
)
from divulge.engines import StoredRows
from divulge.errors import BadInput

_LARGEST_TUPLE = 2**62


@dataclass(frozen=True, eq=False)
class Counts:
    """Result of a counting statement."""

    request: Request
    held_rows: StoredRows

    @classmethod
    def of(cls, request: Request, finer: tuple[str, StoredRows] | None = None) -> Counts:
        """Run the counting statement of a request, or one over finer counts that are held.

        Weights are checked.
        """
        if finer is None:
            sql = request.sql()
            engine = request.table.engine
            coded = request.coded()
        else:
            sql = finer[0]
            engine = finer[1].engine
            coded = None
        keys = request.layout.key_names
        by_sql = partial(engine.hold, sql, together=keys, source=request.table.source)
        counts = cls(
            request, by_sql() if coded is None else engine.hold_table(coded, together=keys)
        )
        if counts.cells == 0:
            raise request.no_rows()
        if request.roles.weight is not None and not counts.is_small:
            check_weights(counts._marginal_counts, request)
        return counts

    @property
    def layout(self) -> CountedColumns:
        """Columns of the counted rows."""
        return self.request.layout

    @property
    def cells(self) -> int:
        """Number of rows of the statement: cells of all sensitive attributes."""
        return self.held_rows.rows

    @property
    def is_small(self) -> bool:
        """True if all cells may come to memory."""
        limit = self.request.table.engine.cell_limit
        return limit is None or self.cells <= limit

    def collect(self) -> Contingency:
        """Bring the counts to memory."""
        return contingency_of(self.request, self.held_rows.table())

    def roll_up(self, columns: Sequence[str]) -> Counts:
        """Derive the counts of fewer quasi-identifiers from these counts.

        If people own several rows, the rows are counted again.
        """
        request = replace(
            self.request, roles=replace(self.request.roles, quasi_identifiers=tuple(columns))
        )
        if self.layout.by_person:
            return Counts.of(request)
        places = {column.name: index for index, column in enumerate(self.layout.keys)}
        return Counts.of(
            request, (self._sum_statement([f"k{places[name]}" for name in columns]), self.held_rows)
        )

    def one_class(self) -> tuple[Contingency, dict[str, ValueNumbers]]:
        """Return the whole table as one class (its marginals), and the codes of each target."""
        contingency = replace(self.layout, keys=()).assemble(self._marginal_counts)
        single_domains = {
            column.name: contingency.cells[column.name].domain for column in self.layout.values
        }
        codings = {name: ValueNumbers(domain, (domain,)) for name, domain in single_domains.items()}
        for target in self.layout.targets:
            if len(target) > 1:
                domain = contingency.cells[JOINT.join(target)].domain
                codings[domain.name] = _joint_coding(
                    self._marginal_counts, domain, [single_domains[name] for name in target]
                )
        return contingency, codings

    def with_population(self, population: Counts | None) -> StoredRows:
        """Return the cells, those of one class together.

        People of the population are additional rows, counted in p.
        """
        if population is None:
            return self.held_rows
        for mine, yours in zip(self.layout.keys, population.layout.keys, strict=True):
            if mine.type != yours.type and not mine.kind == yours.kind == "number":
                raise about_population(other_type(mine.name, mine.type, yours.type))
        engine = self.held_rows.engine
        keys = self.layout.key_names
        if not engine.sees(population.held_rows) and not population.is_small:
            raise BadInput(
                f"the population ({population.request.table.source}) is not where the table is, "
                "and its counts are too many to be moved",
                hint="open both with one engine: as paths, or as Spark frames of one session",
            )
        if engine.sees(population.held_rows):
            theirs = population.held_rows.relation
        else:
            theirs = engine.lend(population.held_rows.table())
        others = [name for name in self.layout.column_names if name not in keys]
        ours = ", ".join([*keys, *others, "CAST(NULL AS BIGINT) AS p"])
        everybody = ", ".join([*keys, *(f"NULL AS {name}" for name in others), "n AS p"])
        both = f"""
            SELECT {ours} FROM {self.held_rows.relation}
            UNION ALL SELECT {everybody} FROM {theirs}
        """
        return engine.hold(both, together=keys, rows=self.cells + population.cells)

    @cached_property
    def _marginal_counts(self) -> pa.Table:
        """Cells of the table as one class."""
        return self.held_rows.engine.query(self._sum_statement([]))

    def _sum_statement(self, keys: Sequence[str]) -> str:
        """Return the statement that sums the cells over the classes of these keys."""
        present = self.layout.column_names
        value_columns = [name for name in present if name[0] in "sg"]
        sums = [
            f"CAST(SUM({name}) AS BIGINT) AS {name}"
            for name in ("n", "unweighted")
            if name in present
        ]
        if "w" in present:
            sums += ["SUM(w) AS w", "MIN(lightest) AS lightest"]
        names = [*(f"k{index}" for index in range(len(keys))), *value_columns]
        grouping_columns = [
            f"cells.{name}" for name in (*keys, *value_columns)
        ]  # columns, never aliases
        aliased = [f"{cell} AS {name}" for cell, name in zip(grouping_columns, names, strict=True)]
        if grouping_columns:
            group_by = f" GROUP BY {', '.join(grouping_columns)}"
        else:
            group_by = ""
        selected = ", ".join([*aliased, *sums])
        return f"SELECT {selected} FROM {self.held_rows.relation} AS cells{group_by}"


def count_in_memory(request: Request) -> Contingency:
    """Count a table in memory.

    Raises:
        BadInput: If memory cannot be expected to hold the counts.
    """
    limit = request.table.engine.search_limit
    if limit is None:
        return contingency_of(request, counted_rows(request))
    counts = Counts.of(request)
    if counts.cells > limit:
        raise BadInput(
            f"{request.table.source} has {counts.cells:,} combinations of values, and a search "
            f"holds at most {limit:,} in memory",
            hint="Name fewer quasi-identifiers or round a column first, or, in Python, raise "
            "SparkEngine(search_limit=...)",
        )
    return counts.collect()


def _joint_coding(counts_table: pa.Table, domain: Domain, parts: Sequence[Domain]) -> ValueNumbers:
    """Return the codes of the combinations of all sensitive attributes."""
    radices = [len(part) for part in parts]
    if math.prod(radices) > _LARGEST_TUPLE:
        message = f"{domain.name} has too many possible values to be measured as one on a cluster"
        raise BadInput(message, hint="measure fewer sensitive attributes together")
    together = [counts_table.column(f"g{index}").to_numpy() == 0 for index in range(len(parts))]
    rows = counts_table.filter(pa.array(np.logical_and.reduce(together)))
    codes = [domain_codes(part, rows.column(f"s{index}")) for index, part in enumerate(parts)]
    tuples = np.unique(arrays.combined_key(codes, radices, rows=rows.num_rows))
    return ValueNumbers(domain, tuple(parts), tuples)


def whole_classes(batches: Iterable[pa.RecordBatch], keys: int, *, rows: int) -> Iterator[pa.Table]:
    """Yield counted rows in tables of about `rows` rows, each of whole classes.

    The key columns are k0, k1, ... and the rows of a class are adjacent.
    """
    pending: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            count += batch.num_rows
        if count >= rows:
            batch_table = pa.Table.from_batches(pending)
            cut = count - _last_class(batch_table, keys)
            if cut:
                yield batch_table.slice(0, cut)
                pending = batch_table.slice(cut).to_batches()
                count -= cut
    if pending:
        yield pa.Table.from_batches(pending)


def _last_class(table: pa.Table, keys: int) -> int:
    """Return the number of rows at the end that belong to the class of the last row."""
    same = np.ones(table.num_rows, dtype=bool)
    for index in range(keys):
        column = plain_values(table.column(f"k{index}"))
        # A set of one value: unlike "=", membership is true for nulls and for NaN.
        same &= (
            pc.index_in(column, value_set=column.slice(len(column) - 1))
            .is_valid()
            .to_numpy(zero_copy_only=False)
        )
    return table.num_rows if same.all() else int(np.argmin(same[::-1]))
