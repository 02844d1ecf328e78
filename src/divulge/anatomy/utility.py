# SPDX-License-Identifier: Apache-2.0
"""How much a release still tells: the relative error of count queries (RECQ; Yao et al. 2021, eq. 13) and of associations.

RECQ = |Q(T) - Q(T*)| / Q(T) is undefined for Q(T) = 0. Anchored queries never have it; for others the error is
divided by max(Q(T), floor), and how many queries that concerned is part of the result. None is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge import arrays
from divulge.anatomy.methods import Anatomized
from divulge.anatomy.model import GroupTally, tally
from divulge.anatomy.rows import RowCodes, Tuples, coded_rows, select_rows
from divulge.anatomy.tables import GroupTable, Published
from divulge.arrays import Codes, Floats, Ints
from divulge.count import Domain, encode
from divulge.errors import BadInput
from divulge.table import Column, Table, kind_of

# --- workload ---------------------------------------------------------------------------------------------------------
# Random count queries. Yao et al. 2021, section 6.2, draw 1000 over 1 to 3, 4 to 6 and 7 to 9 quasi-identifiers and do not say how.
# Two ways are offered:
#
# anchored    a record is drawn; the query asks for its values in some quasi-identifiers and in the sensitive attribute. At least
#             one record satisfies it, so the relative error is always defined.
# range       as in Xiao and Tao's Anatomy (2006): each predicate takes b of the column's values, b = ceil(|A| s^(1/(q+1))) for
#             selectivity s and q quasi-identifiers; neighbours where the column has an order, any values where not. No record need
#             satisfy it.
Mask = npt.NDArray[np.bool_]
_PATIENCE = 2 * 10**9
"""Rows times queries that a default workload looks at."""


@dataclass(frozen=True)
class Workload:
    """Which queries are drawn."""

    kind: Literal["anchored", "range"] = "anchored"
    quasi_identifiers: tuple[int, int] = (1, 3)
    """The fewest and the most quasi-identifiers in a query; cut at how many there are."""
    queries: int | None = None
    """None: 1000, and fewer where the table has more than two million rows."""
    selectivity: float = 0.1
    """For range queries: the share of records that would satisfy one if columns were uniform and independent."""
    with_sensitive: bool = True
    """Whether each query also asks for the sensitive attribute."""
    floor: int = 1
    """What the error of a query with fewer true records is divided by, so that queries without any are not left out."""
    seed: int = 0

    def __post_init__(self) -> None:
        fewest, most = self.quasi_identifiers
        if not 1 <= fewest <= most:
            raise BadInput(
                f"queries over {fewest} to {most} quasi-identifiers cannot be drawn", hint="Ask for (1, 3), say"
            )
        if self.kind not in ("anchored", "range"):
            raise BadInput(f"there is no workload {self.kind!r}", hint="Use 'anchored' or 'range'")
        if not 0 < self.selectivity <= 1:
            raise BadInput(f"selectivity = {self.selectivity} is not possible", hint="It is a share above 0, up to 1")
        if self.floor < 1 or (self.queries is not None and self.queries < 1):
            raise BadInput("a workload needs at least one query, and a floor of at least 1", hint="Leave them out")

    def size(self, rows: int) -> int:
        """How many queries are drawn for a table."""
        return self.queries if self.queries is not None else max(min(1000, _PATIENCE // rows), 20)

    def draw(self, rows: RowCodes, quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> Iterator[Query]:
        """The queries; the same for every release of a table."""
        rng = np.random.default_rng(self.seed)
        fewest, most = (min(bound, len(quasi_identifiers)) for bound in self.quasi_identifiers)
        for _ in range(self.size(len(rows))):
            wanted = int(rng.integers(fewest, most + 1))
            chosen = [quasi_identifiers[i] for i in sorted(rng.choice(len(quasi_identifiers), wanted, replace=False))]
            asked = [*chosen, *([str(rng.choice(list(sensitive)))] if self.with_sensitive else [])]
            if self.kind == "anchored":
                record = int(rng.integers(len(rows)))
                masks = {name: np.arange(len(rows.domain(name))) == rows.code(name, record) for name in asked}
            else:
                share = self.selectivity ** (1 / len(asked))
                masks = {name: _some(rows.domain(name), share, rng) for name in asked}
            yield Query(masks, wanted)


@dataclass(frozen=True, eq=False)
class Query:
    """For each column that is asked, which of its values satisfy."""

    masks: Mapping[str, Mask]
    quasi_identifiers: int

    def matches(self, rows: RowCodes, names: Sequence[str] | None = None) -> Mask:
        """Which records satisfy the query, or its part over some columns."""
        return rows.of_rows(self._cells(rows, names))

    def count(self, rows: RowCodes) -> int:
        """How many records satisfy it: each cell is looked at once, however many it has."""
        found = self._cells(rows, None)
        return int(np.count_nonzero(found) if rows.times is None else rows.times[found].sum())

    def _cells(self, rows: RowCodes, names: Sequence[str] | None) -> Mask:
        found = np.ones(len(rows.by_cell[0]), dtype=np.bool_)
        for domain, codes in zip(rows.domains, rows.by_cell, strict=True):
            if domain.name in self.masks and (names is None or domain.name in names):
                found &= _matching(codes, self.masks[domain.name])
        return found


def _matching(codes: Codes, mask: Mask) -> Mask:
    """Which codes are among those of a mask; neighbours are compared, which is quicker than looking each up."""
    wanted = np.flatnonzero(mask)
    if len(wanted) == 0:
        return np.zeros(len(codes), dtype=np.bool_)
    low, high = codes.dtype.type(wanted[0]), codes.dtype.type(wanted[-1])
    found: Mask
    if low == high:
        found = codes == low
    elif wanted[-1] - wanted[0] + 1 == len(wanted):
        found = (codes >= low) & (codes <= high)
    else:
        found = mask[codes]
    return found


def _some(domain: Domain, share: float, rng: np.random.Generator) -> Mask:
    width = min(math.ceil(len(domain) * share), len(domain))
    mask = np.zeros(len(domain), dtype=np.bool_)
    if domain.is_ordered:
        begin = int(rng.integers(len(domain) - width + 1))
        mask[begin : begin + width] = True
    else:
        mask[rng.choice(len(domain), width, replace=False)] = True
    return mask


# --- coded ------------------------------------------------------------------------------------------------------------
# The tables of a release as codes: ours before it is written, one that is read back, and a release in one table, which is one group.
@dataclass(frozen=True, eq=False)
class CodedTable:
    """One table of a release: the group of each row, and how many records it stands for."""

    rows: RowCodes
    group: Codes = field(repr=False)
    times: Ints | None = field(default=None, repr=False)
    """None: one record each."""

    @property
    def records(self) -> Ints:
        """How many records each row stands for."""
        return np.ones(len(self.rows), dtype=np.int64) if self.times is None else self.times

    def by_group(self, name: str, groups: int) -> GroupTally:
        """How many records of each group have each value of a column."""
        codes = self.rows.column(name)
        return tally(self.group, codes, groups=groups, values=len(self.rows.domain(name)), count=self.times)


@dataclass(frozen=True, eq=False)
class CodedTables:
    """All tables of a release, which are tied together by the group and by nothing else."""

    tables: tuple[CodedTable, ...]
    sizes: Ints = field(repr=False)
    """The records of each group."""

    @classmethod
    def of(cls, anatomized: Anatomized) -> CodedTables:
        """A release that has not been written yet."""
        tables = (CodedTable(anatomized.rows.only(names), anatomized.group) for names in anatomized.tables)
        return cls(tuple(tables), anatomized.sizes)

    @classmethod
    def read(cls, published: Published) -> CodedTables:
        """A release as anybody can read it."""
        found = [_coded(published, table) for table in published.tables]
        first = found[0]
        return cls(tuple(found), arrays.exact_sums(first.group, first.records, int(first.group.max()) + 1))

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str]) -> CodedTables:
        """One table that holds everything: its records are one group."""
        listed = ", ".join(f"c{place}" for place in range(len(names)))
        found = table.engine.query(
            f"SELECT {listed}, COUNT(*) AS n FROM ({select_rows(table, names, nulls='category')}) AS r GROUP BY {listed}"
        )
        rows = coded_rows(found, [table.column(name) for name in names])
        order = np.lexsort(rows.by_cell[::-1])  # the order of a database means nothing
        times = found.column("n").to_numpy().astype(np.int64)[order]
        whole = CodedTable(rows.take(order), np.zeros(len(times), dtype=np.int64), times)
        return cls((whole,), np.array([times.sum()]))

    @property
    def records(self) -> int:
        """How many were released."""
        return int(self.sizes.sum())

    @cached_property
    def place(self) -> Mapping[str, CodedTable]:
        """The table of each column, in the order of the release."""
        return {name: table for table in self.tables for name in table.rows.names}

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.place[name].rows.domain(name)

    def counts(self, name: str) -> Floats:
        """How many records have each value of a column."""
        table = self.place[name]
        return arrays.sum_by_id(table.rows.column(name), table.records, len(table.rows.domain(name)))

    def together(self, left: str, right: str) -> Floats:
        """How many records have each pair of values; where the columns are in two tables, how many are expected to, by eq. 11."""
        one, other = self.place[left], self.place[right]
        return _pairs(one, left, right) if one is other else self._expected(one, other, left, right)

    def _expected(self, one: CodedTable, other: CodedTable, left: str, right: str) -> Floats:
        sizes, shape = self.sizes, (len(one.rows.domain(left)), len(other.rows.domain(right)))
        total = np.zeros(shape)
        step = max(_CELLS // max(shape), 1)
        both = one.by_group(left, len(sizes)), other.by_group(right, len(sizes))
        for begin in range(0, len(sizes), step):
            end = min(begin + step, len(sizes))
            a, b = (_grid(counted, begin, end, width) for counted, width in zip(both, shape, strict=True))
            total += (a / sizes[begin:end, None]).T @ b
        return total


def _coded(published: Published, table: GroupTable) -> CodedTable:
    found = published.engine.query(published.tally_query(table))
    described = dict(published.engine.describe(table.relation))
    columns = [Column(name, described[name], kind_of(described[name])) for name in table.columns]
    # Texts, because a number in one file may be a text in another; check_groups has seen that they are the same.
    _, group = encode(found.column("g").cast(pa.string()), name=published.group, kind="text")
    return CodedTable(coded_rows(found, columns), group, found.column("n").to_numpy().astype(np.int64))


def _pairs(table: CodedTable, left: str, right: str) -> Floats:
    shape = (len(table.rows.domain(left)), len(table.rows.domain(right)))
    key = table.rows.column(left).astype(np.int64) * shape[1] + table.rows.column(right)
    return np.bincount(key, table.times, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


# --- reconstruct ------------------------------------------------------------------------------------------------------
# Two columns in different tables are independent within a group as far as the release tells, so their expected joint count is the
# sum over groups of (count of a) (count of b) / size: equation 11 of Yao et al. 2021 for all pairs of values at once.
_CELLS = 2**24
"""How many cells of the (group, value) grid are held at a time, and of a whole joint distribution."""


@dataclass(frozen=True)
class Coefficients:
    """The association of two columns."""

    phi2: float
    """The mean-square contingency coefficient (eq. 10)."""
    mutual_information: float
    """In bits."""


def coefficients_of(pairs: Floats, records: int) -> Coefficients:
    """The association that a joint count shows."""
    share = pairs / records
    lefts, rights = share.sum(axis=1, keepdims=True), share.sum(axis=0, keepdims=True)
    independent = lefts * rights
    present = share > 0
    ratio = share[present] / independent[present]
    fewest = min(int((lefts > 0).sum()), int((rights > 0).sum()))
    square = arrays.never_negative(float((share[present] * ratio).sum()) - 1.0)
    phi2 = min(square / (fewest - 1), 1.0) if fewest > 1 else 0.0
    return Coefficients(phi2, arrays.never_negative(float((share[present] * np.log2(ratio)).sum())))


def _grid(counted: GroupTally, begin: int, end: int, width: int) -> Floats:
    """Counts of some groups as a dense grid; entries are sorted by group."""
    some = slice(*np.searchsorted(counted.group, [begin, end]).tolist())
    grid = np.zeros((end - begin, width))
    grid[counted.group[some] - begin, counted.value[some]] = counted.count[some]
    return grid


# --- utility ----------------------------------------------------------------------------------------------------------
Estimator = Callable[[Query], float]
"""What a release answers to a query."""


@dataclass(frozen=True)
class Recq:
    """Relative errors of a workload, summed up."""

    workload: Workload
    queries: int
    mean: float
    median: float
    p90: float
    below_floor: int
    """Queries with fewer true records than the workload's floor, whose error was divided by the floor."""

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "workload": self.workload.kind,
            "queries": self.queries,
            "quasi_identifiers": list(self.workload.quasi_identifiers),
            **{name: getattr(self, name) for name in ("mean", "median", "p90", "below_floor")},
        }


class Reading(Protocol):
    """What the labels of one column say of the values that queries ask for."""

    def part(self, mask: Mask) -> Floats:
        """For each label, the share of what it stands for that is asked for."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The tuples of a table that satisfy its part of a query."""

    tuples: Ints
    share: Floats
    """The share of the records with each of them that is expected to satisfy."""

    @property
    def key(self) -> bytes:
        """The same for the same part."""
        return self.tuples.tobytes() + self.share.tobytes()

    def pieces(self) -> list[tuple[float, _Part]]:
        """Each of the tuples by itself."""
        each = zip(self.share.tolist(), self.tuples.tolist(), strict=True)
        return [(share, _Part(np.array([number]), np.ones(1))) for share, number in each]


_GROUPS_AT_A_TIME = 2**16
_FEW_COMBINATIONS = 256
"""Combinations of tuples that are looked at one by one."""


class _Kept(dict[Any, npt.NDArray[Any]]):
    """Arrays that are kept as long as there is room; what was kept first goes first."""

    def keep(self, key: object, found: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Keep another one."""
        while self and sum(each.nbytes for each in self.values()) + found.nbytes > 8 * _CELLS:
            del self[next(iter(self))]
        self[key] = found
        return found


@dataclass(frozen=True, eq=False)
class _Index:
    """One table of a release, by its tuples and by its groups."""

    table: CodedTable
    groups: int

    @cached_property
    def numbered(self) -> Tuples:
        """The tuple of each row."""
        return self.table.rows.tuples(self.table.rows.names)

    @cached_property
    def tuples(self) -> RowCodes:
        """Each tuple once."""
        return self.table.rows.of_cells(self.numbered.cells)

    @cached_property
    def by_tuple(self) -> tuple[Codes, Ints | None, Ints]:
        """The groups of the rows with each tuple, how many records these rows stand for, and where those of a tuple begin."""
        own, times = self.numbered, self.table.times
        order = arrays.stable_order(own.ids, own.distinct)
        return self.table.group[order], None if times is None else times[order], np.cumsum(own.counts) - own.counts

    @cached_property
    def by_group(self) -> tuple[Codes, Ints | None, Ints]:
        """The tuples of the rows of each group, how many records these rows stand for, and where those of a group begin."""
        group, times = self.table.group, self.table.times
        order = arrays.stable_order(group, self.groups)
        start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=self.groups))])
        return self.numbered.ids[order], None if times is None else times[order], start

    def satisfying(self, query: Query, readings: Mapping[str, Reading]) -> _Part:
        """What satisfies the query, as far as it asks this table."""
        rows = self.tuples
        plain = [name for name in rows.names if name not in readings]
        found = np.flatnonzero(query.matches(rows, plain) & (self.numbered.counts > 0))
        share = np.ones(len(found))
        for name in rows.names:
            if name in query.masks and name in readings:
                share *= readings[name].part(query.masks[name])[rows.column(name)[found]]
        return _Part(found, share)

    def in_groups(self, part: _Part) -> npt.NDArray[Any]:
        """How many records of each group are expected to satisfy."""
        group, times, begins = self.by_tuple
        rows = self.numbered.counts[part.tuples]
        places = arrays.ranges(begins[part.tuples], rows)
        if times is None and (part.share == 1).all():
            found = np.bincount(group[places], minlength=self.groups)
            return found.astype(np.min_scalar_type(int(found.max())))  # most are small: as bytes
        weight = np.repeat(part.share, rows)
        if times is not None:
            weight *= times[places]
        return arrays.sum_by_id(group[places], weight, self.groups)

    def by_chance(self, chance: Floats) -> Floats:
        """For each tuple the records that have it, each as much as the chance of its group."""
        tuples, times, start = self.by_group
        found = np.zeros(self.numbered.distinct)
        # Few groups at a time, which the processor's cache holds; but their rows should outnumber the tuples.
        step = max(_GROUPS_AT_A_TIME, self.groups * len(found) // len(tuples))
        for begin in range(0, self.groups, step):
            some = slice(begin, begin + step)
            own = start[begin : some.stop + 1]
            rows = slice(own[0], own[-1])
            weight = np.repeat(chance[some], np.diff(own))
            if times is not None:
                weight *= times[rows]
            found += arrays.sum_by_id(tuples[rows], weight, len(found))
        return found


def estimator(release: CodedTables, readings: Mapping[str, Reading] | None = None) -> Estimator:
    """Equation 11: for each group, the records that satisfy each table's part, multiplied.

    Columns are asked by the values of the release itself, unless a reading says what its labels stand for. Queries ask the same of the
    tables with few tuples again and again, so counts are kept: for a part of each of these tables, the records with each tuple of the
    table with the most tuples, each as much as the chance that its group gives to the other parts.
    """
    read, sizes = readings or {}, release.sizes.astype(np.float64)
    indexes = sorted((_Index(table, len(sizes)) for table in release.tables), key=lambda own: own.numbered.distinct)
    satisfied, expected = _Kept(), _Kept()

    def in_groups(place: int, part: _Part) -> npt.NDArray[Any]:
        key = (place, part.key)
        return satisfied[key] if key in satisfied else satisfied.keep(key, indexes[place].in_groups(part))

    def by_tuple(last: int, others: Sequence[tuple[int, _Part]]) -> Floats:
        key = (last, *((place, part.key) for place, part in others))
        if key in expected:
            return expected[key]
        chance = np.ones(len(sizes))
        for place, part in others:
            chance *= in_groups(place, part) / sizes
        return expected.keep(key, indexes[last].by_chance(chance))

    def answer(query: Query) -> float:
        asked = [place for place, own in enumerate(indexes) if any(name in query.masks for name in own.tuples.names)]
        if not asked:
            return float(sizes.sum())
        *others, last = asked
        parts = [indexes[place].satisfying(query, read) for place in others]
        wanted = indexes[last].satisfying(query, read)
        # What is expected of a part is the sum over its tuples; where these are few in all, it is kept for each of them.
        many = math.prod(indexes[place].numbered.distinct for place in others)
        few = many <= _FEW_COMBINATIONS and many * indexes[last].numbered.distinct <= _CELLS
        total = 0.0
        for combination in product(*(part.pieces() if few else [(1.0, part)] for part in parts)):
            share = math.prod(part_share for part_share, _ in combination)
            chosen = [(place, part) for place, (_, part) in zip(others, combination, strict=True)]
            total += share * float(wanted.share @ by_tuple(last, chosen)[wanted.tuples])
        return total

    return answer


def recq(
    rows: RowCodes,
    answer: Estimator,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    workload: Workload | None = None,
) -> Recq:
    """The relative errors of what a release of these rows answers to a workload."""
    drawn = workload or Workload()
    queries = drawn.draw(rows, quasi_identifiers, sensitive)
    pairs = np.array([(query.count(rows), answer(query)) for query in queries], dtype=np.float64)
    true, answered = pairs.T
    errors: Floats = np.abs(true - answered) / np.maximum(true, drawn.floor)
    median, p90 = np.quantile(errors, [0.5, 0.9])
    return Recq(drawn, len(errors), float(errors.mean()), float(median), float(p90), int((true < drawn.floor).sum()))


def recq_of(anatomized: Anatomized, workload: Workload | None = None) -> Recq:
    """RECQ of an anatomized release."""
    divided = {name for columns in anatomized.division.tables for name in columns}
    # In the order of the table, not of the division: releases that divide it differently are asked the same queries.
    names = [name for name in anatomized.rows.names if name in divided]
    answer = estimator(CodedTables.of(anatomized))
    return recq(anatomized.rows, answer, quasi_identifiers=names, sensitive=anatomized.sensitive, workload=workload)


@dataclass(frozen=True)
class KeptAssociation:
    """How closely two columns go together: in the table, and as the release lets it be reconstructed."""

    left: str
    right: str
    exact: bool
    """The release holds the pair as it is, and nothing is lost."""
    true: Coefficients
    reconstructed: Coefficients

    @property
    def error(self) -> float:
        """How far phi2 is off."""
        return abs(self.true.phi2 - self.reconstructed.phi2)


def associations(anatomized: Anatomized) -> list[KeptAssociation]:
    """The association of every pair of columns, true and reconstructed; sensitive columns included."""
    release, rows = CodedTables.of(anatomized), anatomized.rows
    whole = CodedTable(rows, anatomized.group)
    found = []
    for left, right in combinations(release.place, 2):
        true = coefficients_of(_pairs(whole, left, right), len(rows))
        together = release.place[left] is release.place[right]
        rebuilt = true if together else coefficients_of(release.together(left, right), len(rows))
        found.append(KeptAssociation(left, right, together, true, rebuilt))
    return found


def reconstructed_information(release: CodedTables, quasi_identifiers: Sequence[str], sensitive: str) -> float | None:
    """I(W;X) in bits, going by the release: of all quasi-identifiers together, within a group independent from table to table.

    None where the joint distribution has too many cells to be worked out.
    """
    joint = _Joint.of(release, [name for name in quasi_identifiers if name in release.place])
    joint = None if joint is None else joint.with_column(release.place[sensitive], [sensitive])
    if joint is None:
        return None
    share, (left, right) = joint.weight / release.records, joint.numbers
    pairs, _ = arrays.class_ids([left, right], [int(left.max()) + 1, int(right.max()) + 1], rows=len(left))
    bits = [_entropy(arrays.sum_by_id(ids, share)) for ids in (left, right, pairs)]
    return arrays.never_negative(bits[0] + bits[1] - bits[2])


def _entropy(shares: Floats) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log2(present)).sum())


@dataclass(frozen=True, eq=False)
class _Joint:
    """Combinations of what some tables hold in the same group, and how many records are expected to have each."""

    release: CodedTables
    group: Ints
    numbers: tuple[Ints, ...]
    """What was combined, each numbered."""
    weight: Floats

    @classmethod
    def of(cls, release: CodedTables, names: Sequence[str]) -> _Joint | None:
        """The combinations of some columns, as one thing."""
        joint: _Joint | None = cls(release, np.arange(len(release.sizes)), (), release.sizes.astype(np.float64))
        for table in release.tables:
            asked = [name for name in table.rows.names if name in names]
            if asked and joint is not None:
                joint = joint.with_column(table, asked)
        if joint is None:
            return None
        one, _ = arrays.class_ids(joint.numbers, [int(ids.max()) + 1 for ids in joint.numbers], rows=len(joint.group))
        return cls(release, joint.group, (one,), joint.weight)

    def with_column(self, table: CodedTable, names: Sequence[str]) -> _Joint | None:
        """With what one more table holds; None where that is too much."""
        sizes, tuples = self.release.sizes, table.rows.tuples(names)
        more = tally(table.group, tuples.ids, groups=len(sizes), values=tuples.distinct, count=table.times)
        start = np.searchsorted(more.group, np.arange(len(sizes) + 1))
        times = np.diff(start)[self.group]
        if times.sum() > _CELLS:
            return None
        place = arrays.ranges(start[self.group], times)
        group = np.repeat(self.group, times)
        numbers = (*(np.repeat(ids, times) for ids in self.numbers), more.value[place])
        return _Joint(self.release, group, numbers, np.repeat(self.weight, times) * more.count[place] / sizes[group])
