# SPDX-License-Identifier: Apache-2.0
"""A table that does not fit into memory: its counts, and its rows dealt into chunks (Yao et al. 2021, for tables of any size).

Table division and feasibility need counts only, and these come from GROUP BY. For the groups, rows are dealt into chunks of a size that
memory, or one worker, can hold, by the circular deal of deal.py: sorted by sensitive value, record i goes to chunk i mod C. So every chunk
has the mix of sensitive values of the whole table, to within one record of each value, and beta and delta can be kept in a chunk nearly
whenever they can in the table. Among the records of a value, those with the same further sensitive values and those with the commonest
tuples of the tables stand together and are spread as evenly, for alpha; the rest is in an order drawn from a secret.

The place of a row depends on what is in it and on the secret alone, never on where it lay, so a lost worker's rows find the same chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from divulge.anatomize.association import Together, sum_of_squares
from divulge.anatomize.codes import select_rows
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.problem import Commonest, SensitiveTotals, WholeTable, totals_of
from divulge.arrays import Ints, exact_sums
from divulge.count import Nulls
from divulge.count.assemble import encode
from divulge.engines.base import Held
from divulge.engines.choose import OwnEngine
from divulge.errors import BadInput
from divulge.table.table import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 1_000_000
"""A sensitive column may have so many values: their counts go to every chunk."""
_FEW_PAIRS = 100_000
"""Counts of up to so many pairs of values are summed up here."""
_BUCKET_ROWS = 1_000_000
"""Records of one sensitive value are put in order in parts of about this size."""


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Some columns of a table, as c0, c1, ..., read once and held by the engine."""

    engine: OwnEngine
    held: Held
    columns: tuple[Column, ...]
    source: str
    _spectra: dict[str, tuple[Ints, Ints]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.held.rows

    def cell(self, name: str) -> str:
        """What a column is called where it is held."""
        return f"c{next(place for place, column in enumerate(self.columns) if column.name == name)}"

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """How often values of a column occur: each number that is the count of a value, and how many values have it."""
        if name not in self._spectra:
            counted = f"SELECT COUNT(*) AS n FROM {self.held.relation} GROUP BY {self.cell(name)}"
            found = self.engine.query(f"SELECT n, COUNT(*) AS m FROM ({counted}) AS counted GROUP BY n ORDER BY n")
            self._spectra[name] = found.column("n").to_numpy(), found.column("m").to_numpy()
        return self._spectra[name]

    def together(self, left: str, right: str) -> Together:
        """How two columns occur together; the engine forms the sum where there are many pairs of values."""
        lefts, rights = (int(self.spectrum(name)[1].sum()) for name in (left, right))
        counted = (
            f"SELECT {self.cell(left)} AS i, {self.cell(right)} AS j, COUNT(*) AS n FROM {self.held.relation} "
            f"GROUP BY {self.cell(left)}, {self.cell(right)}"
        )
        if lefts * rights <= _FEW_PAIRS:
            return Together(_squares_of(self.engine.query(counted)), lefts, rights, len(self))
        totals = "CAST(n AS DOUBLE) AS n, SUM(n) OVER (PARTITION BY i) AS l, SUM(n) OVER (PARTITION BY j) AS r"
        squares = self.engine.query(f"SELECT SUM(n / l * n / r) AS s FROM (SELECT {totals} FROM ({counted}) AS p) AS q")
        return Together(float(squares.column("s")[0].as_py()), lefts, rights, len(self))

    def commonest(self, names: Sequence[str]) -> Commonest:
        """The commonest tuple of some columns, the first in order among equals, and the number of tuples."""
        cells = [self.cell(name) for name in names]
        listed, order = ", ".join(cells), ", ".join(f"{cell} NULLS LAST" for cell in cells)
        found = self.engine.query(
            f"WITH counted AS (SELECT {listed}, COUNT(*) AS n FROM {self.held.relation} GROUP BY {listed}) "
            f"SELECT * FROM (SELECT * FROM counted ORDER BY n DESC, {order} LIMIT 1) AS first "
            "CROSS JOIN (SELECT COUNT(*) AS m FROM counted) AS tuples"
        )
        row = found.to_pylist()[0]
        return Commonest(tuple(names), tuple(row[cell] for cell in cells), int(row["n"]), int(row["m"]))

    def totals(self, name: str) -> SensitiveTotals:
        """How often each value of a sensitive column occurs."""
        cell = self.cell(name)
        if (values := int(self.spectrum(name)[1].sum())) > MOST_VALUES:
            raise BadInput(
                f"the sensitive column {name!r} has {values:,} values, and a table that is grouped in chunks may have {MOST_VALUES:,}",
                hint="Round it first",
            )
        found = self.engine.query(f"SELECT {cell} AS v, COUNT(*) AS n FROM {self.held.relation} GROUP BY {cell}")
        column = next(column for column in self.columns if column.name == name)
        return totals_of(found, name=name, kind=column.kind)

    def whole(
        self, tables: Sequence[Sequence[str]], sensitive: Sequence[str], *, model: AlphaBetaGammaDelta
    ) -> WholeTable:
        """The table as one group, from which feasibility is decided."""
        return WholeTable(
            model,
            len(self),
            tuple(self.commonest(names) for names in tables),
            tuple(self.commonest([name]) for name in sensitive),
        )

    def dealt(self, whole: WholeTable, *, chunks: int, secret: int) -> tuple[str, list[object]]:
        """A query for the rows, each with its chunk, and the query's parameters."""
        first, *others = sorted(whole.sensitive, key=lambda attribute: -attribute.records)
        value = self.cell(first.names[0])
        buckets = -(-first.records // _BUCKET_ROWS)
        listed = [f"c{place}" for place in range(len(self.columns))]
        keyed = f"(SELECT {secret} AS secret, * FROM {self.held.relation})"
        drawn = f"SELECT *, {self.engine.row_hash(self.engine.describe(keyed))} AS lot FROM {keyed} AS keyed"
        # A hash may be negative.
        bucket = f"CAST((lot % {buckets} + {buckets}) % {buckets} AS INT) AS bucket"
        placed = f"SELECT *, {bucket} FROM ({drawn}) AS drawn"
        counted = f"SELECT {value} AS v, bucket, COUNT(*) AS n FROM ({placed}) AS placed GROUP BY {value}, bucket"
        # Where the records of each value, and of each bucket of it, begin among all records in order of their values.
        before = "SUM(n) OVER (ORDER BY v NULLS LAST, bucket ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n"
        starts = f"SELECT v, bucket AS b, {before} AS start FROM ({counted}) AS counted"
        alike = [self.cell(attribute.names[0]) for attribute in others]
        carried, parameters = self._carried(whole)
        within = ", ".join([*(f"{cell} NULLS LAST" for cell in alike), *carried, "lot"])
        turn = f"ROW_NUMBER() OVER (PARTITION BY {value}, bucket ORDER BY {within}) - 1"
        # The hint is Spark's, and a comment to others.
        sql = (
            f"SELECT /*+ BROADCAST(starts) */ {', '.join(listed)}, CAST((start + {turn}) % {chunks} AS INT) AS chunk "
            f"FROM ({placed}) AS placed JOIN ({starts}) AS starts ON {value} IS NOT DISTINCT FROM v AND bucket = b"
        )
        return sql, parameters

    def _carried(self, whole: WholeTable) -> tuple[list[str], list[object]]:
        """SQL that tells, for each table, whether a row carries its commonest tuple."""
        conditions = [
            " AND ".join(f"{self.cell(name)} IS NOT DISTINCT FROM ?" for name in table.names) for table in whole.tables
        ]
        return [f"({condition})" for condition in conditions], [v for table in whole.tables for v in table.values]


def hold_columns(table: Table, names: Sequence[str], *, nulls: Nulls) -> HeldColumns:
    """Read columns of a table and leave them with its engine; with nulls="drop" only the rows that lack none of them."""
    columns = tuple(table.column(name) for name in names)
    for column in columns:
        if column.kind == "nested":
            raise BadInput(
                f"values of type {column.type} in column {column.name!r} cannot be sorted",
                hint="turn the column into text",
            )
    engine = cast(
        "OwnEngine", table.engine
    )  # only engines of ours have a limit, so that rows need not be held elsewhere
    # In types that every kind of file has, for they come back from chunks and are published as such.
    cells = ", ".join(f"{engine.durable(f'c{i}', column.type)} AS c{i}" for i, column in enumerate(columns))
    chosen = f"SELECT {cells} FROM ({select_rows(table, names, nulls=nulls)}) AS chosen"
    held = engine.hold(chosen, source=table.source)
    return HeldColumns(engine, held, columns, table.source)


def _squares_of(pairs: pa.Table) -> float:
    """The sum of n_ij^2 / (n_i n_j) over all pairs, whose values are i and j."""
    n = pairs.column("n").to_numpy()
    totals = []
    for side in ("i", "j"):
        domain, codes = encode(pairs.column(side), name=side, kind="text")
        totals.append(exact_sums(codes, n, len(domain))[codes])
    return sum_of_squares(n, *totals)
