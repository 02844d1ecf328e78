# SPDX-License-Identifier: Apache-2.0
"""What group division is asked: rows as tuples of the tables of the release, the sensitive values, and the model to keep."""

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
from divulge.anatomy.model import (
    AlphaBetaGammaDelta,
    GroupLevels,
    GroupTally,
    Reached,
    by_frequency,
    largest_shift,
    tallies,
)
from divulge.anatomy.rows import RowCodes, Together, Tuples, select_rows, sum_of_squares
from divulge.arrays import Codes, Ints
from divulge.count import Domain, Nulls, domain_codes, encode
from divulge.engines import Held, OwnEngine
from divulge.errors import BadInput, Infeasible
from divulge.table import Column, Kind, Table

if TYPE_CHECKING:
    import pyarrow as pa


Groups = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ranked:
    """A sensitive attribute; the code 0 is the commonest value of the whole table."""

    name: str
    ids: Codes = field(repr=False)
    totals: Ints = field(repr=False)
    """How many records have each value."""
    prior: Ints = field(repr=False)
    """How many records of the whole table have each value, in descending order: `totals`, unless the records are a part of it."""
    labels: tuple[object, ...] = field(repr=False)

    @property
    def highest(self) -> int:
        """H: the records with the commonest value."""
        return int(self.totals.max())


@dataclass(frozen=True, eq=False)
class SensitiveTotals:
    """The values of a sensitive attribute in the whole table, where the records at hand are a part of it."""

    domain: Domain
    totals: Ints = field(repr=False)
    """How many records of the whole table have each value of the domain."""


def totals_of(counted: pa.Table, *, name: str, kind: Kind) -> SensitiveTotals:
    """From a table of values v, each once, and how many records n have them."""
    domain, codes = encode(counted.column("v"), name=name, kind=kind)
    return SensitiveTotals(domain, arrays.exact_sums(codes, counted.column("n").to_numpy(), len(domain)))


@dataclass(frozen=True)
class Commonest:
    """The commonest tuple of a table, or the commonest value of a sensitive attribute."""

    names: tuple[str, ...]
    values: tuple[object, ...]
    records: int
    """How many records have it."""
    distinct: int
    """How many tuples, or values, there are."""


@dataclass(frozen=True)
class WholeTable:
    """All records as one group: what decides whether a grouping can keep the model."""

    model: AlphaBetaGammaDelta
    rows: int
    tables: tuple[Commonest, ...]
    sensitive: tuple[Commonest, ...]
    delta: Fraction = Fraction(0)
    """Above 0 only for a part of a table."""

    @property
    def levels(self) -> Reached:
        """The least alpha and beta that any grouping can promise, and the gamma of this one."""
        shares = [Fraction(table.records, self.rows) for table in self.tables]
        beta = Fraction(max(attribute.records for attribute in self.sensitive), self.rows)
        return Reached(max(shares), beta, prod(shares, start=beta), self.delta)


@dataclass(frozen=True, eq=False)
class GroupingProblem:
    """Rows to be grouped so that every group keeps the model."""

    model: AlphaBetaGammaDelta
    names: tuple[tuple[str, ...], ...]
    """The columns of each table of quasi-identifiers."""
    tables: tuple[Tuples, ...] = field(repr=False)
    sensitive: tuple[Ranked, ...]
    rows: RowCodes = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def as_one(self) -> WholeTable:
        """One group that holds every record."""
        sizes = np.array([len(self)])
        shifts = []
        for attribute in self.sensitive:
            present = np.flatnonzero(attribute.totals)
            everybody = GroupTally(1, np.zeros_like(present), present, attribute.totals[present])
            shifts.append(int(largest_shift(everybody, sizes, attribute.prior, rows=self.table_rows)[0]))
        return WholeTable(
            model=self.model,
            rows=len(self),
            tables=tuple(starmap(self._commonest, zip(self.names, self.tables, strict=True))),
            sensitive=tuple(self._commonest((own.name,), self.rows.tuples([own.name])) for own in self.sensitive),
            delta=Fraction(max(shifts), self.table_rows * len(self)),
        )

    @cached_property
    def table_rows(self) -> int:
        """The records of the whole table, whose shares are the prior of delta."""
        return int(self.sensitive[0].prior.sum())

    @cached_property
    def commonest(self) -> tuple[int, ...]:
        """For each table of quasi-identifiers, the records with its commonest tuple."""
        return tuple(int(table.counts.max()) for table in self.tables)

    @cached_property
    def bound(self) -> GroupingProblem:
        """The same without the tables of quasi-identifiers where no bound looks at them: a share is never above 1."""
        return replace(self, names=(), tables=()) if self.model.alpha == self.model.gamma == 1 else self

    def measure(self, group: Codes, *, groups: int, records: Ints | None = None) -> GroupLevels:
        """What each group shows. With `records`, group[i] is the group of record records[i] (a record may be in several)."""
        chosen = slice(None) if records is None else records
        sizes = np.bincount(group, minlength=groups)
        modal, common, shift = [], [], []
        for table in self.tables:
            found = tallies(group, table.ids[chosen], groups=groups, values=table.distinct)
            modal.append(np.concatenate([counted.modal() for _, counted in found]))
        for attribute in self.sensitive:
            found = tallies(group, attribute.ids[chosen], groups=groups, values=len(attribute.totals))
            ranked = [
                (one.modal(), largest_shift(one, sizes[some], attribute.prior, rows=self.table_rows))
                for some, one in found
            ]
            common.append(np.concatenate([modal_here for modal_here, _ in ranked]))
            shift.append(np.concatenate([shift_here for _, shift_here in ranked]))
        return GroupLevels(self.table_rows, sizes, tuple(modal), tuple(common), tuple(shift))

    def _commonest(self, names: tuple[str, ...], tuples: Tuples) -> Commonest:
        """The commonest tuple, the first in order among equals."""
        place = int(tuples.counts.argmax())
        values = tuple(self.rows.coded(name, tuples.cells[[place]])[0].as_py() for name in names)
        return Commonest(names, values, int(tuples.counts[place]), int(np.count_nonzero(tuples.counts)))


def problem_of(
    rows: RowCodes,
    *,
    tables: Sequence[Sequence[str]],
    sensitive: Sequence[str],
    model: AlphaBetaGammaDelta,
    totals: Mapping[str, SensitiveTotals] | None = None,
) -> GroupingProblem:
    """Number the tuples of each table, and the sensitive values by frequency; `totals` is for rows that are a chunk of a table."""
    return GroupingProblem(
        model=model,
        names=tuple(tuple(names) for names in tables),
        tables=tuple(rows.tuples(names) for names in tables),
        sensitive=tuple(_ranked(rows, name, None if totals is None else totals[name]) for name in sensitive),
        rows=rows,
    )


def _ranked(rows: RowCodes, name: str, whole: SensitiveTotals | None) -> Ranked:
    """The values ranked as in the whole table, some of which these rows may lack."""
    domain, codes = rows.domain(name), rows.column(name)
    here = rows.counts(name)
    if whole is None:
        whole, place = SensitiveTotals(domain, here), np.arange(len(domain))
    else:
        place = domain_codes(whole.domain, domain.values)
    rank, prior = by_frequency(whole.totals)
    prior = prior[: np.count_nonzero(prior)]  # the rows may lack values of their domain
    labels = tuple(whole.domain.labels[code] for code in np.argsort(rank)[: len(prior)].tolist())
    narrow: Codes = rank.astype(np.int16 if len(rank) <= 2**15 else np.int32)
    own = narrow[place]
    totals = np.zeros(len(prior), dtype=np.int64)
    totals[own[here > 0]] = here[here > 0]
    return Ranked(name, own[codes], totals, prior, labels)


# --- Can any grouping keep the model? Decided before a record is moved, exactly where that is possible ----------------
# The count of the commonest value is the sum of its counts in the groups, each at most beta times the group, so it is at most beta
# times the table; and if it is, the table as one group keeps beta, alpha likewise, and delta with difference 0. Hence alpha and beta
# can be kept exactly if the whole table keeps them, and delta always. Yao et al. 2021 (section 4.4) state weaker conditions, one of
# them wrong ("alpha > 1/min is always met": the column M, M, M, F breaks alpha = 0.6).
#
# The union of two groups that keep gamma may break it. It can be kept if the whole table keeps it or if it is at least alpha^k beta;
# it cannot if it is below `least_gamma`; between the two a search decides, and what it does not find stays unproved, except on tables
# so small that every grouping can be tried.
SMALL = 12
"""Up to so many records every grouping is tried."""
AnyProblem = GroupingProblem | WholeTable


class InfeasibleModel(Infeasible):
    """No grouping keeps the model, or none was found."""

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
        """`gamma` is the least that is known to be kept, if it is less than that of the whole table; `nearest` goes before both."""
        whole = _as_one(problem)
        levels = whole.levels
        self.because = because
        of_table = Reached(levels.alpha, levels.beta, min(gamma or levels.gamma, levels.gamma), whole.delta)
        self.nearest = of_table if nearest is None else nearest
        """The least alpha, beta and delta that some grouping keeps, and a gamma that is kept together with them."""
        self.records_per_group = min(whole.rows // attribute.records for attribute in whole.sensitive)
        """N*: the most records per group that a grouping without repeated sensitive values can have."""
        self.proved = proved
        """False where a search for gamma ended without success, which proves nothing."""
        near = {name: getattr(self.nearest, name) for name in whole.model.broken_by(self.nearest)}
        wanted = " and ".join(f"{name} to {share} (about {float(share):.4g})" for name, share in near.items())
        found = "no grouping keeps the model: " if proved else "no grouping was found that keeps the model: "
        super().__init__(found + because, hint=f"Raise {wanted}" if wanted else hint)

    def document(self) -> dict[str, Any]:
        """With the nearest values that can be kept, as exact texts, and why the request cannot."""
        found = {"records_per_group": self.records_per_group, "because": self.because, "proved": self.proved}
        return {**super().document(), "infeasible": {**self.nearest.texts(), **found}}


def check_feasible(problem: AnyProblem) -> None:
    """Refuse what no grouping can keep."""
    whole = _as_one(problem)
    model = whole.model
    reasons = [reason for table in whole.tables for reason in _in_the_way(table, whole, "alpha", model.alpha)]
    reasons += [reason for value in whole.sensitive for reason in _in_the_way(value, whole, "beta", model.beta)]
    if whole.delta > model.delta:
        reasons.append(
            f"a part of the table differs from the whole by {whole.delta}, which is above delta = {model.delta}"
        )
    if not reasons and model.gamma < (least := least_gamma(whole)):
        reasons.append(f"gamma is {model.gamma}, and no grouping of these tables reaches less than {least}")
    if reasons:
        raise InfeasibleModel(whole, "; ".join(reasons), proved=True)


def gamma_is_certain(problem: GroupingProblem) -> bool:
    """Gamma follows from alpha and beta, or the table as one group keeps it."""
    model = problem.model
    return model.gamma >= min(problem.as_one.levels.gamma, model.alpha ** len(problem.tables) * model.beta)


def least_gamma(problem: AnyProblem) -> Fraction:
    """A gamma that no grouping goes below.

    In each group the commonest of at most m tuples has a share of at least 1/m, and for each table there is a group where it has at least
    its share in the whole table.
    """
    whole = _as_one(problem)
    shares = [(Fraction(table.records, whole.rows), table.distinct) for table in whole.tables]
    found = []
    for attribute in whole.sensitive:
        every = [*shares, (Fraction(attribute.records, whole.rows), attribute.distinct)]
        most = max(share * distinct for share, distinct in every)
        found.append(most / prod(distinct for _, distinct in every))
    return max(found)


def search_all(
    problem: GroupingProblem, *, group_size: int = 1, rng: np.random.Generator | None = None
) -> Groups | None:
    """A grouping with the most groups among all groupings of a small table, or None: then there is none.

    Groups have at least `group_size` records. With `rng`, which of several best ones is found does not follow from the order of records.

    best[s] is the most groups that the set of records s (as bits) can be divided into; the group of its lowest record is tried in all ways.
    """
    size = len(problem)
    # Which sets of records keep the model as a group.
    sets, places = np.nonzero((np.arange(1 << size)[:, None] >> np.arange(size)) & 1)
    order = np.arange(size) if rng is None else rng.permutation(size)
    levels = problem.measure(sets, groups=1 << size, records=order[places])
    valid = (levels.keeps(problem.model) & (levels.sizes >= group_size)).tolist()
    best = [-1] * (1 << size)
    best[0] = 0
    choice = [0] * (1 << size)
    for records in range(1, 1 << size):
        lowest = records & -records
        rest = records ^ lowest
        part = rest
        while True:
            group = part | lowest
            if valid[group] and best[records ^ group] >= 0 and best[records ^ group] + 1 > best[records]:
                best[records], choice[records] = best[records ^ group] + 1, group
            if part == 0:
                break
            part = (part - 1) & rest
    if best[-1] < 0:
        return None
    found = np.zeros(size, dtype=np.int32)
    left, number = (1 << size) - 1, 0
    while left:
        found[[order[i] for i in range(size) if choice[left] >> i & 1]] = number
        left, number = left ^ choice[left], number + 1
    return found


def _as_one(problem: AnyProblem) -> WholeTable:
    return problem if isinstance(problem, WholeTable) else problem.as_one


def _in_the_way(commonest: Commonest, whole: WholeTable, name: str, bound: Fraction) -> list[str]:
    if commonest.records <= bound * whole.rows:
        return []
    shown = ", ".join(f"{column} = {value!r}" for column, value in zip(commonest.names, commonest.values, strict=True))
    share = float(Fraction(commonest.records, whole.rows))
    return [f"{shown} is in {commonest.records} of {whole.rows} records ({share:.4g}), which is above {name} = {bound}"]


# --- held columns -----------------------------------------------------------------------------------------------------
# A table that does not fit into memory: its counts, and its rows dealt into chunks (Yao et al. 2021, for tables of any size).
#
# Table division and feasibility need counts only, and these come from GROUP BY. For the groups, rows are dealt into chunks of a size
# that memory, or one worker, can hold, by the circular deal of grouping.py: sorted by sensitive value, record i goes to chunk i mod C.
# So every chunk has the mix of sensitive values of the whole table, to within one record of each value. Among the records of a value,
# those with the same further sensitive values and those with the commonest tuples of the tables stand together and are spread as
# evenly, for alpha. The place of a row depends on what is in it and on a secret alone, never on where it lay, so a lost worker's rows
# find the same chunks.
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
        self, tables: Sequence[Sequence[str]], sensitive: Sequence[str], model: AlphaBetaGammaDelta
    ) -> WholeTable:
        """The table as one group, from which feasibility is decided."""
        commonest = tuple(self.commonest(names) for names in tables)
        return WholeTable(model, len(self), commonest, tuple(self.commonest([name]) for name in sensitive))

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
        # Whether a row carries the commonest tuple of each table.
        same = ([f"{self.cell(name)} IS NOT DISTINCT FROM ?" for name in table.names] for table in whole.tables)
        carried = [f"({' AND '.join(conditions)})" for conditions in same]
        within = ", ".join([*(f"{cell} NULLS LAST" for cell in alike), *carried, "lot"])
        turn = f"ROW_NUMBER() OVER (PARTITION BY {value}, bucket ORDER BY {within}) - 1"
        # The hint is Spark's, and a comment to others.
        sql = (
            f"SELECT /*+ BROADCAST(starts) */ {', '.join(listed)}, CAST((start + {turn}) % {chunks} AS INT) AS chunk "
            f"FROM ({placed}) AS placed JOIN ({starts}) AS starts ON {value} IS NOT DISTINCT FROM v AND bucket = b"
        )
        return sql, [value for table in whole.tables for value in table.values]


def hold_columns(table: Table, names: Sequence[str], *, nulls: Nulls) -> HeldColumns:
    """Read columns of a table and leave them with its engine; with nulls="drop" only the rows that lack none of them."""
    columns = tuple(table.column(name) for name in names)
    for column in columns:
        if column.kind == "nested":
            raise BadInput(
                f"values of type {column.type} in column {column.name!r} cannot be sorted",
                hint="turn the column into text",
            )
    # Only engines of ours have a limit, so that rows need not be held elsewhere.
    engine = cast("OwnEngine", table.engine)
    # In types that every kind of file has, for they come back from chunks and are published as such.
    cells = ", ".join(f"{engine.durable(f'c{i}', column.type)} AS c{i}" for i, column in enumerate(columns))
    chosen = f"SELECT {cells} FROM ({select_rows(table, names, nulls=nulls)}) AS chosen"
    return HeldColumns(engine, engine.hold(chosen, source=table.source), columns, table.source)


def _squares_of(pairs: pa.Table) -> float:
    """The sum of n_ij^2 / (n_i n_j) over all pairs, whose values are i and j."""
    n = pairs.column("n").to_numpy()
    totals = []
    for side in ("i", "j"):
        domain, codes = encode(pairs.column(side), name=side, kind="text")
        totals.append(arrays.exact_sums(codes, n, len(domain))[codes])
    return sum_of_squares(n, *totals)
