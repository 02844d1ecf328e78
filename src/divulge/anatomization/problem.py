# SPDX-License-Identifier: Apache-2.0
"""Grouping problem: rows as tuples of the release's tables, sensitive values, and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import starmap
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomization.encoded_rows import (
    PairStatistics,
    RowCodes,
    Tuples,
    select_rows,
    sum_of_squares,
)
from divulge.anatomization.model import (
    AlphaBetaGammaDelta,
    GroupLevels,
    GroupTally,
    Reached,
    largest_shift,
    rank_by_frequency,
    tally_in_pieces,
)
from divulge.arguments import Sentence, marked, quoted
from divulge.arrays import Codes, Ints
from divulge.counting import Domain, Nulls, domain_codes, encode
from divulge.engines import OwnEngine, StoredRows
from divulge.errors import BadInput, Infeasible
from divulge.sources import Column, Kind, Table

if TYPE_CHECKING:
    import pyarrow as pa


Groups = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RankedSensitive:
    """A sensitive attribute with values ranked by frequency.

    Code 0 is the most common value of the whole table.
    """

    name: str
    ids: Codes = field(repr=False)
    totals: Ints = field(repr=False)
    """Number of records with each value."""
    prior: Ints = field(repr=False)
    """Number of records of the whole table with each value, in descending order.

    Equals `totals`, unless the records are a part of the table.
    """
    labels: tuple[object, ...] = field(repr=False)

    @property
    def most_common_count(self) -> int:
        """H: the number of records with the most common value."""
        return int(self.totals.max())


@dataclass(frozen=True, eq=False)
class SensitiveTotals:
    """Counts of a sensitive attribute's values in the whole table.

    Needed if the records at hand are a part of that table.
    """

    domain: Domain
    totals: Ints = field(repr=False)
    """Number of records of the whole table with each value of the domain."""


def sensitive_totals(value_counts: pa.Table, *, name: str, kind: Kind) -> SensitiveTotals:
    """Build from a table of distinct values v and the number of records n of each."""
    encoded = encode(value_counts.column("v"), name=name, kind=kind)
    records = value_counts.column("n").to_numpy()
    totals = arrays.exact_sums(encoded.codes, records, encoded.value_count)
    return SensitiveTotals(encoded.domain, totals)


@dataclass(frozen=True)
class MostCommonTuple:
    """The most common tuple of a table, or the most common value of a sensitive attribute."""

    names: tuple[str, ...]
    values: tuple[object, ...]
    records: int
    """Number of records with it."""
    distinct: int
    """Number of distinct tuples, or values."""


@dataclass(frozen=True)
class WholeTable:
    """All records as one group; it decides whether a grouping can satisfy the model."""

    model: AlphaBetaGammaDelta
    rows: int
    tables: tuple[MostCommonTuple, ...]
    sensitive: tuple[MostCommonTuple, ...]
    delta: Fraction = Fraction(0)
    """Above 0 only for a part of a table."""

    @property
    def levels(self) -> Reached:
        """The least alpha and beta that any grouping can guarantee, and the gamma of this one."""
        shares = [Fraction(table.records, self.rows) for table in self.tables]
        beta = Fraction(max(attribute.records for attribute in self.sensitive), self.rows)
        return Reached(max(shares), beta, prod(shares, start=beta), self.delta)


@dataclass(frozen=True, eq=False)
class GroupingProblem:
    """Rows to be grouped so that every group satisfies the model."""

    model: AlphaBetaGammaDelta
    names: tuple[tuple[str, ...], ...]
    """The columns of each table of quasi-identifiers."""
    tables: tuple[Tuples, ...] = field(repr=False)
    sensitive: tuple[RankedSensitive, ...]
    rows: RowCodes = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def whole_table(self) -> WholeTable:
        """The group that contains every record."""
        sizes = np.array([len(self)])
        shifts = []
        for attribute in self.sensitive:
            present = np.flatnonzero(attribute.totals)
            table_tally = GroupTally(1, np.zeros_like(present), present, attribute.totals[present])
            shifts.append(
                int(largest_shift(table_tally, sizes, attribute.prior, rows=self.table_rows)[0])
            )
        return WholeTable(
            model=self.model,
            rows=len(self),
            tables=tuple(
                starmap(self._most_common_tuple, zip(self.names, self.tables, strict=True))
            ),
            sensitive=tuple(
                self._most_common_tuple(
                    (sensitive_column.name,), self.rows.tuples([sensitive_column.name])
                )
                for sensitive_column in self.sensitive
            ),
            delta=Fraction(max(shifts), self.table_rows * len(self)),
        )

    @cached_property
    def table_rows(self) -> int:
        """Number of records of the whole table, whose shares are the prior of delta."""
        return int(self.sensitive[0].prior.sum())

    @cached_property
    def most_common_counts(self) -> tuple[int, ...]:
        """For each table of quasi-identifiers, the number of records with its most common tuple."""
        return tuple(int(table.counts.max()) for table in self.tables)

    @cached_property
    def without_unbounded_tables(self) -> GroupingProblem:
        """This problem without the tables of quasi-identifiers if alpha and gamma are 1.

        A share is never above 1, so these bounds require nothing.
        """
        if self.model.alpha == self.model.gamma == 1:
            return replace(self, names=(), tables=())
        return self

    def measure(self, group: Codes, *, groups: int, records: Ints | None = None) -> GroupLevels:
        """Measure the counts of each group.

        With `records`, group[i] is the group of record records[i] (a record may be in several).
        """
        chosen = slice(None) if records is None else records
        sizes = np.bincount(group, minlength=groups)
        modal = []
        highest_counts = []
        shift = []
        for table in self.tables:
            group_tallies = tally_in_pieces(
                group, table.ids[chosen], groups=groups, values=table.distinct
            )
            modal.append(np.concatenate([tuple_tally.modal() for _, tuple_tally in group_tallies]))
        for attribute in self.sensitive:
            group_tallies = tally_in_pieces(
                group, attribute.ids[chosen], groups=groups, values=len(attribute.totals)
            )
            ranked = [
                (
                    value_tally.modal(),
                    largest_shift(
                        value_tally, sizes[group_range], attribute.prior, rows=self.table_rows
                    ),
                )
                for group_range, value_tally in group_tallies
            ]
            highest_counts.append(np.concatenate([modal_counts for modal_counts, _ in ranked]))
            shift.append(np.concatenate([shift_counts for _, shift_counts in ranked]))
        return GroupLevels(
            self.table_rows, sizes, tuple(modal), tuple(highest_counts), tuple(shift)
        )

    def _most_common_tuple(self, names: tuple[str, ...], tuples: Tuples) -> MostCommonTuple:
        """The most common tuple; ties go to the first in order."""
        tuple_index = int(tuples.counts.argmax())
        values = tuple(
            self.rows.dictionary_column(name, tuples.cells[[tuple_index]])[0].as_py()
            for name in names
        )
        return MostCommonTuple(
            names, values, int(tuples.counts[tuple_index]), int(np.count_nonzero(tuples.counts))
        )


def problem_of(
    rows: RowCodes,
    *,
    tables: Sequence[Sequence[str]],
    sensitive: Sequence[str],
    model: AlphaBetaGammaDelta,
    totals: Mapping[str, SensitiveTotals] | None = None,
) -> GroupingProblem:
    """Number the tuples of each table, and the sensitive values by frequency.

    `totals` is for rows that are a chunk of a table.
    """
    return GroupingProblem(
        model=model,
        names=tuple(tuple(names) for names in tables),
        tables=tuple(rows.tuples(names) for names in tables),
        sensitive=tuple(
            _rank_values(rows, name, None if totals is None else totals[name]) for name in sensitive
        ),
        rows=rows,
    )


def _rank_values(
    rows: RowCodes, name: str, table_totals: SensitiveTotals | None
) -> RankedSensitive:
    """Rank the values as in the whole table; these rows may lack some of them."""
    domain = rows.domain(name)
    codes = rows.column(name)
    row_counts = rows.counts(name)
    if table_totals is None:
        table_totals = SensitiveTotals(domain, row_counts)
        domain_index = np.arange(len(domain))
    else:
        domain_index = domain_codes(table_totals.domain, domain.values)
    rank, prior = rank_by_frequency(table_totals.totals)
    prior = prior[: np.count_nonzero(prior)]  # the rows may lack values of their domain
    labels = tuple(
        table_totals.domain.labels[code] for code in np.argsort(rank)[: len(prior)].tolist()
    )
    narrow_rank: Codes = rank.astype(np.int16 if len(rank) <= 2**15 else np.int32)
    value_ranks = narrow_rank[domain_index]
    totals = np.zeros(len(prior), dtype=np.int64)
    totals[value_ranks[row_counts > 0]] = row_counts[row_counts > 0]
    return RankedSensitive(name, value_ranks[codes], totals, prior, labels)


# --- Feasibility: decided before a record is moved, and exactly if possible -----------------------
# The count of the most common value is the sum of its counts in the groups, each at most beta times
# the group, so it is at most beta times the table. Conversely, if it is, the table as one group
# satisfies beta, alpha likewise, and delta with difference 0. Hence alpha and beta can be satisfied
# if and only if the whole table satisfies them, and delta always. Yao et al. 2021 (section 4.4)
# state weaker conditions, one of them wrong ("alpha > 1/min is always met": the column M, M, M, F
# violates alpha = 0.6).
#
# The union of two groups that satisfy gamma may violate it. Gamma can be satisfied if the whole
# table satisfies it or if it is at least alpha^k beta. It cannot be satisfied if it is below
# `least_gamma`. Between the two a search decides. A failed search proves nothing, except on tables
# so small that every grouping can be tried.
MOST_RECORDS_TO_ENUMERATE = 12
"""Up to this many records, every grouping is tried."""
AnyProblem = GroupingProblem | WholeTable


class InfeasibleModel(Infeasible):
    """Raised if no grouping satisfies the model, or none was found."""

    def __init__(
        self,
        problem: AnyProblem,
        because: str,
        *,
        proved: bool,
        gamma: Fraction | None = None,
        hint: str = "",
        nearest: Reached | None = None,
    ) -> None:
        """Build the message.

        `gamma` is the least that is known to be satisfiable, if it is below that of the whole
        table. `nearest` takes precedence over both.
        """
        whole_table = _whole_table(problem)
        levels = whole_table.levels
        self.because = Sentence(because)
        table_levels = Reached(
            levels.alpha, levels.beta, min(gamma or levels.gamma, levels.gamma), whole_table.delta
        )
        if nearest is None:
            self.nearest = table_levels
        else:
            self.nearest = nearest
        """Least alpha, beta and delta that some grouping satisfies, and a compatible gamma."""
        self.records_per_group = min(
            whole_table.rows // attribute.records for attribute in whole_table.sensitive
        )
        """N*: the most records per group of a grouping without repeated sensitive values."""
        self.proved = proved
        """False if a search for gamma failed, which proves nothing."""
        violated_bounds = {
            name: getattr(self.nearest, name) for name in whole_table.model.broken_by(self.nearest)
        }
        suggestion = " and ".join(
            f"{name} to {share} (about {float(share):.4g})"
            for name, share in violated_bounds.items()
        )
        if proved:
            summary = "no grouping keeps the model: "
        else:
            summary = "no grouping was found that keeps the model: "
        super().__init__(
            summary + marked(because), hint=f"Raise {suggestion}" if suggestion else hint
        )

    def document(self) -> dict[str, Any]:
        """JSON document with the nearest feasible bounds, as exact texts, and the reason."""
        details = {
            "records_per_group": self.records_per_group,
            "because": self.because,
            "proved": self.proved,
        }
        return {**super().document(), "infeasible": {**self.nearest.texts(), **details}}


def check_feasible(problem: AnyProblem) -> None:
    """Raise InfeasibleModel if it is proved that no grouping satisfies the model."""
    whole_table = _whole_table(problem)
    model = whole_table.model
    reasons = [
        reason
        for table in whole_table.tables
        for reason in _excess_reasons(table, whole_table, "alpha", model.alpha)
    ]
    reasons += [
        reason
        for value in whole_table.sensitive
        for reason in _excess_reasons(value, whole_table, "beta", model.beta)
    ]
    if whole_table.delta > model.delta:
        reasons.append(
            f"a part of the table differs from the whole by {whole_table.delta}, which is above "
            f"delta = {model.delta}"
        )
    if not reasons and model.gamma < (least := least_gamma(whole_table)):
        reasons.append(
            f"gamma is {model.gamma}, and no grouping of these tables reaches less than {least}"
        )
    if reasons:
        raise InfeasibleModel(whole_table, "; ".join(reasons), proved=True)


def gamma_is_guaranteed(problem: GroupingProblem) -> bool:
    """True if gamma follows from alpha and beta, or the table as one group satisfies it."""
    model = problem.model
    return model.gamma >= min(
        problem.whole_table.levels.gamma, model.alpha ** len(problem.tables) * model.beta
    )


def least_gamma(problem: AnyProblem) -> Fraction:
    """Lower bound on gamma of any grouping.

    In each group the most common of at most m tuples has a share of at least 1/m. For each table
    there is a group where this share is at least that in the whole table.
    """
    whole_table = _whole_table(problem)
    shares = [
        (Fraction(table.records, whole_table.rows), table.distinct) for table in whole_table.tables
    ]
    gamma_bounds = []
    for attribute in whole_table.sensitive:
        shares_and_counts = [
            *shares,
            (Fraction(attribute.records, whole_table.rows), attribute.distinct),
        ]
        largest_product = max(share * distinct for share, distinct in shares_and_counts)
        gamma_bounds.append(largest_product / prod(distinct for _, distinct in shares_and_counts))
    return max(gamma_bounds)


def search_all_groupings(
    problem: GroupingProblem, *, group_size: int = 1, rng: np.random.Generator | None = None
) -> Groups | None:
    """Return a grouping with the most groups of a small table; None if there is none.

    Groups have at least `group_size` records. With `rng`, the choice among equally good groupings
    does not depend on the order of records.

    best[s] is the most groups that the set of records s (as bits) can be divided into. All possible
    groups of its lowest record are tried.
    """
    size = len(problem)
    # Find the sets of records that satisfy the model as a group.
    sets, bit_positions = np.nonzero((np.arange(1 << size)[:, None] >> np.arange(size)) & 1)
    if rng is None:
        order = np.arange(size)
    else:
        order = rng.permutation(size)
    levels = problem.measure(sets, groups=1 << size, records=order[bit_positions])
    valid = (levels.satisfies(problem.model) & (levels.sizes >= group_size)).tolist()
    best = [-1] * (1 << size)
    best[0] = 0
    choice = [0] * (1 << size)
    for records in range(1, 1 << size):
        lowest = records & -records
        rest = records ^ lowest
        part = rest
        while True:
            group = part | lowest
            if (
                valid[group]
                and best[records ^ group] >= 0
                and best[records ^ group] + 1 > best[records]
            ):
                best[records], choice[records] = best[records ^ group] + 1, group
            if part == 0:
                break
            part = (part - 1) & rest
    if best[-1] < 0:
        return None
    group_ids = np.zeros(size, dtype=np.int32)
    left = (1 << size) - 1
    number = 0
    while left:
        group_ids[[order[i] for i in range(size) if choice[left] >> i & 1]] = number
        left, number = left ^ choice[left], number + 1
    return group_ids


def _whole_table(problem: AnyProblem) -> WholeTable:
    if isinstance(problem, WholeTable):
        return problem
    return problem.whole_table


def _excess_reasons(
    most_common: MostCommonTuple, whole_table: WholeTable, name: str, bound: Fraction
) -> list[str]:
    if most_common.records <= bound * whole_table.rows:
        return []
    tuple_text = ", ".join(
        f"{column} = {quoted(value)}"
        for column, value in zip(most_common.names, most_common.values, strict=True)
    )
    rows = whole_table.rows
    share = float(Fraction(most_common.records, rows))
    return [
        (
            f"{tuple_text} is in {most_common.records} of {rows} records ({share:.4g}), "
            f"which is above {name} = {bound}"
        )
    ]


# --- held columns ---------------------------------------------------------------------------------
# A table that does not fit into memory: its counts, and its rows assigned to chunks (Yao et al.
# 2021, for tables of any size).
#
# Table division and feasibility need counts only, which come from GROUP BY. For the groups, rows
# are assigned to chunks of a size that memory, or one worker, can hold. This uses the round-robin
# assignment of record_grouping.py: sorted by sensitive value, record i goes to chunk i mod C. So
# every chunk has the mix of sensitive values of the whole table, to within one record of each
# value. Records of a value are sorted by the other sensitive values and by whether they have the
# most common tuples of the tables. So these are spread as evenly, for alpha. The chunk of a row
# depends only on its values and on a secret, never on its storage location. So the rows of a lost
# worker go to the same chunks again.
MOST_VALUES = 1_000_000
"""Most values of a sensitive column: their counts go to every chunk."""
_FEW_PAIRS = 100_000
"""Up to this many pairs of values, their counts are summed here and not by the engine."""
_BUCKET_ROWS = 1_000_000
"""Approximate number of records of one sensitive value that are sorted at a time."""


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Some columns of a table, as c0, c1, ..., read once and held by the engine."""

    engine: OwnEngine
    stored_columns: StoredRows
    columns: tuple[Column, ...]
    source: str
    _spectra: dict[str, tuple[Ints, Ints]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.stored_columns.rows

    def cell(self, name: str) -> str:
        """Name of a column in the held relation."""
        return f"c{next(index for index, column in enumerate(self.columns) if column.name == name)}"

    def spectrum(self, name: str) -> tuple[Ints, Ints]:
        """Distinct counts of a column's values, and the number of values with each count."""
        if name not in self._spectra:
            frequencies = self.engine.query(f"""
                SELECT n, COUNT(*) AS m
                FROM (
                    SELECT COUNT(*) AS n
                    FROM {self.stored_columns.relation}
                    GROUP BY {self.cell(name)}
                ) AS value_counts
                GROUP BY n
                ORDER BY n
            """)
            self._spectra[name] = (
                frequencies.column("n").to_numpy(),
                frequencies.column("m").to_numpy(),
            )
        return self._spectra[name]

    def pair_statistics(self, left: str, right: str) -> PairStatistics:
        """Statistics of the joint counts of two columns.

        The engine computes the sum if there are many pairs of values.
        """
        lefts, rights = (int(self.spectrum(name)[1].sum()) for name in (left, right))
        pairs_sql = f"""
            SELECT {self.cell(left)} AS i, {self.cell(right)} AS j, COUNT(*) AS n
            FROM {self.stored_columns.relation}
            GROUP BY {self.cell(left)}, {self.cell(right)}
        """
        if lefts * rights <= _FEW_PAIRS:
            return PairStatistics(
                _sum_of_squares_of_pairs(self.engine.query(pairs_sql)), lefts, rights, len(self)
            )
        squares = self.engine.query(f"""
            SELECT SUM(n / left_total * n / right_total) AS s
            FROM (
                SELECT
                    CAST(n AS DOUBLE) AS n,
                    SUM(n) OVER (PARTITION BY i) AS left_total,
                    SUM(n) OVER (PARTITION BY j) AS right_total
                FROM ({pairs_sql}) AS pairs
            ) AS totals
        """)
        return PairStatistics(float(squares.column("s")[0].as_py()), lefts, rights, len(self))

    def most_common_tuple(self, names: Sequence[str]) -> MostCommonTuple:
        """The most common tuple of some columns, and the number of tuples; ties go to the first."""
        cells = [self.cell(name) for name in names]
        cell_list = ", ".join(cells)
        order = ", ".join(f"{cell} NULLS LAST" for cell in cells)
        top_tuple = self.engine.query(f"""
            WITH tuple_counts AS (
                SELECT {cell_list}, COUNT(*) AS n
                FROM {self.stored_columns.relation}
                GROUP BY {cell_list}
            )
            SELECT *
            FROM (SELECT * FROM tuple_counts ORDER BY n DESC, {order} LIMIT 1) AS top_tuple
            CROSS JOIN (SELECT COUNT(*) AS m FROM tuple_counts) AS number_of_tuples
        """)
        row = top_tuple.to_pylist()[0]
        return MostCommonTuple(
            tuple(names), tuple(row[cell] for cell in cells), int(row["n"]), int(row["m"])
        )

    def totals(self, name: str) -> SensitiveTotals:
        """Counts of the values of a sensitive column."""
        cell = self.cell(name)
        if (values := int(self.spectrum(name)[1].sum())) > MOST_VALUES:
            raise BadInput(
                f"the sensitive column {name!r} has {values:,} values, and a table that is "
                f"grouped in chunks may have {MOST_VALUES:,}",
                hint="Round it first",
            )
        value_counts = self.engine.query(
            f"SELECT {cell} AS v, COUNT(*) AS n FROM {self.stored_columns.relation} GROUP BY {cell}"
        )
        column = next(column for column in self.columns if column.name == name)
        return sensitive_totals(value_counts, name=name, kind=column.kind)

    def whole_table(
        self, tables: Sequence[Sequence[str]], sensitive: Sequence[str], model: AlphaBetaGammaDelta
    ) -> WholeTable:
        """The table as one group, which decides feasibility."""
        most_common = tuple(self.most_common_tuple(names) for names in tables)
        return WholeTable(
            model,
            len(self),
            most_common,
            tuple(self.most_common_tuple([name]) for name in sensitive),
        )

    def chunk_query(
        self, whole_table: WholeTable, *, chunks: int, secret: int
    ) -> tuple[str, list[object]]:
        """Return a query for the rows with the chunk of each, and the query's parameters."""
        first, *others = sorted(whole_table.sensitive, key=lambda attribute: -attribute.records)
        value = self.cell(first.names[0])
        buckets = -(-first.records // _BUCKET_ROWS)
        cell_list = ", ".join(f"c{index}" for index in range(len(self.columns)))
        keyed_rows = f"(SELECT {secret} AS secret, * FROM {self.stored_columns.relation})"
        row_hash = self.engine.row_hash(self.engine.describe(keyed_rows))
        # A hash may be negative.
        bucketed_rows = f"""
            SELECT *, CAST((lot % {buckets} + {buckets}) % {buckets} AS INT) AS bucket
            FROM (SELECT *, {row_hash} AS lot FROM {keyed_rows} AS keyed_rows) AS hashed_rows
        """
        # Position of the first record of each value, and of each bucket of it, among all records
        # sorted by value.
        bucket_starts = f"""
            SELECT
                v,
                bucket AS b,
                SUM(n) OVER (
                    ORDER BY v NULLS LAST, bucket
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) - n AS start
            FROM (
                SELECT {value} AS v, bucket, COUNT(*) AS n
                FROM ({bucketed_rows}) AS bucketed_rows
                GROUP BY {value}, bucket
            ) AS bucket_counts
        """
        # True in rows with the most common tuple of each table.
        equalities = (
            [f"{self.cell(name)} IS NOT DISTINCT FROM ?" for name in table.names]
            for table in whole_table.tables
        )
        has_common_tuple = [f"({' AND '.join(conditions)})" for conditions in equalities]
        other_values = [f"{self.cell(attribute.names[0])} NULLS LAST" for attribute in others]
        bucket_order = ", ".join([*other_values, *has_common_tuple, "lot"])
        # The hint is for Spark; other engines read it as a comment.
        sql = f"""
            SELECT /*+ BROADCAST(bucket_starts) */
                {cell_list},
                CAST(
                    (
                        start
                        + ROW_NUMBER() OVER (PARTITION BY {value}, bucket ORDER BY {bucket_order})
                        - 1
                    ) % {chunks} AS INT
                ) AS chunk
            FROM ({bucketed_rows}) AS bucketed_rows
            JOIN ({bucket_starts}) AS bucket_starts
                ON {value} IS NOT DISTINCT FROM v AND bucket = b
        """
        return sql, [value for table in whole_table.tables for value in table.values]


def hold_columns(table: Table, names: Sequence[str], *, nulls: Nulls) -> HeldColumns:
    """Read columns of a table and store them in its engine.

    With nulls="drop", only rows without nulls in these columns are read.
    """
    columns = tuple(table.column(name) for name in names)
    for column in columns:
        if column.kind == "nested":
            raise BadInput(
                f"values of type {column.type} in column {column.name!r} cannot be sorted",
                hint="turn the column into text",
            )
    # Only our own engines have a row limit, so rows are never held elsewhere.
    engine = cast("OwnEngine", table.engine)
    # In types that every file format has, because they come back from chunks and are published as
    # such.
    cells = ", ".join(
        f"{engine.durable(f'c{i}', column.type)} AS c{i}" for i, column in enumerate(columns)
    )
    chosen = f"SELECT {cells} FROM ({select_rows(table, names, nulls=nulls)}) AS chosen"
    return HeldColumns(engine, engine.hold(chosen, source=table.source), columns, table.source)


def _sum_of_squares_of_pairs(pairs: pa.Table) -> float:
    """Sum of n_ij^2 / (n_i n_j) over all pairs of values i and j."""
    n = pairs.column("n").to_numpy()
    totals = []
    for side in ("i", "j"):
        encoded = encode(pairs.column(side), name=side, kind="text")
        records = arrays.exact_sums(encoded.codes, n, encoded.value_count)
        totals.append(records[encoded.codes])
    return sum_of_squares(n, *totals)
