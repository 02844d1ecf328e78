# SPDX-License-Identifier: Apache-2.0
"""Utility of a release: relative error of count queries (RECQ) and of associations.

RECQ = |Q(T) - Q(T*)| / Q(T) (Yao et al. 2021, eq. 13) is undefined for Q(T) = 0. Anchored queries
never have Q(T) = 0. For other queries the error is divided by max(Q(T), floor), and the result
includes the number of these queries. No query is left out.
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
from divulge.anatomization.encoded_rows import RowCodes, Tuples, encode_rows, select_rows
from divulge.anatomization.methods import Anatomized
from divulge.anatomization.model import GroupTally, tally
from divulge.anatomization.tables import GroupTable, Published
from divulge.arrays import Codes, Floats, Ints
from divulge.counting import Domain, encode
from divulge.errors import BadInput
from divulge.sources import Column, Table, kind_of

# --- workload -------------------------------------------------------------------------------------
# Random count queries. Yao et al. 2021, section 6.2, draw 1000 over 1 to 3, 4 to 6 and 7 to 9
# quasi-identifiers and do not state how. Two kinds are offered:
#
# anchored    A record is drawn; the query selects its values in some quasi-identifiers and in the
#             sensitive attribute. At least one record satisfies it, so the relative error is always
#             defined.
# range       As in Xiao and Tao's Anatomy (2006): each predicate takes b of the column's values,
#             b = ceil(|A| s^(1/(q+1))) for selectivity s and q quasi-identifiers. The values are
#             neighbors if the column has an order, and random otherwise. Possibly no record
#             satisfies it.
Mask = npt.NDArray[np.bool_]
_MOST_ROWS_TIMES_QUERIES = 2 * 10**9
"""Most rows times queries of a default workload."""


@dataclass(frozen=True)
class Workload:
    """Settings of a random workload of count queries."""

    kind: Literal["anchored", "range"] = "anchored"
    quasi_identifiers: tuple[int, int] = (1, 3)
    """The fewest and the most quasi-identifiers in a query, capped at their number."""
    queries: int | None = None
    """Number of queries. None: 1000, or fewer if the table has more than two million rows."""
    selectivity: float = 0.1
    """For range queries, the expected share of matching records.

    It holds if columns are uniform and independent.
    """
    with_sensitive: bool = True
    """True if each query also has a predicate on the sensitive attribute."""
    floor: int = 1
    """Least denominator of a relative error, so that queries without matching records count too."""
    seed: int = 0

    def __post_init__(self) -> None:
        fewest, maximum = self.quasi_identifiers
        if not 1 <= fewest <= maximum:
            raise BadInput(
                f"queries over {fewest} to {maximum} quasi-identifiers cannot be drawn",
                hint="Ask for (1, 3), say",
            )
        if self.kind not in ("anchored", "range"):
            raise BadInput(f"there is no workload {self.kind!r}", hint="Use 'anchored' or 'range'")
        if not 0 < self.selectivity <= 1:
            raise BadInput(
                f"selectivity = {self.selectivity} is not possible",
                hint="It is a share above 0, up to 1",
            )
        if self.floor < 1 or (self.queries is not None and self.queries < 1):
            raise BadInput(
                "a workload needs at least one query, and a floor of at least 1",
                hint="Leave them out",
            )

    def size(self, rows: int) -> int:
        """Return the number of queries for a table."""
        if self.queries is not None:
            return self.queries
        return max(min(1000, _MOST_ROWS_TIMES_QUERIES // rows), 20)

    def draw(
        self, rows: RowCodes, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
    ) -> Iterator[Query]:
        """Yield the queries, which are the same for every release of a table."""
        rng = np.random.default_rng(self.seed)
        fewest, maximum = (min(bound, len(quasi_identifiers)) for bound in self.quasi_identifiers)
        for _ in range(self.size(len(rows))):
            column_count = int(rng.integers(fewest, maximum + 1))
            chosen = [
                quasi_identifiers[i]
                for i in sorted(rng.choice(len(quasi_identifiers), column_count, replace=False))
            ]
            query_columns = [
                *chosen,
                *([str(rng.choice(list(sensitive)))] if self.with_sensitive else []),
            ]
            if self.kind == "anchored":
                record = int(rng.integers(len(rows)))
                masks = {
                    name: np.arange(len(rows.domain(name))) == rows.code(name, record)
                    for name in query_columns
                }
            else:
                share = self.selectivity ** (1 / len(query_columns))
                masks = {
                    name: _random_mask(rows.domain(name), share, rng) for name in query_columns
                }
            yield Query(masks, column_count)


@dataclass(frozen=True, eq=False)
class Query:
    """A count query: for each queried column, a mask of the matching values."""

    masks: Mapping[str, Mask]
    quasi_identifiers: int

    def matches(self, rows: RowCodes, names: Sequence[str] | None = None) -> Mask:
        """Mask of the records that match the query, or its part over some columns."""
        return rows.expand_to_rows(self._cells(rows, names))

    def count(self, rows: RowCodes) -> int:
        """Number of matching records. Each cell is examined once, for all of its records."""
        cell_mask = self._cells(rows, None)
        return int(
            np.count_nonzero(cell_mask) if rows.times is None else rows.times[cell_mask].sum()
        )

    def _cells(self, rows: RowCodes, names: Sequence[str] | None) -> Mask:
        cell_mask = np.ones(len(rows.by_cell[0]), dtype=np.bool_)
        for domain, codes in zip(rows.domains, rows.by_cell, strict=True):
            if domain.name in self.masks and (names is None or domain.name in names):
                cell_mask &= _match_codes(codes, self.masks[domain.name])
        return cell_mask


def _match_codes(codes: Codes, mask: Mask) -> Mask:
    """Mask of the codes that a mask of codes contains.

    A range of codes is compared with its ends, which is faster than looking up each code.
    """
    mask_codes = np.flatnonzero(mask)
    if len(mask_codes) == 0:
        return np.zeros(len(codes), dtype=np.bool_)
    low = codes.dtype.type(mask_codes[0])
    high = codes.dtype.type(mask_codes[-1])
    is_match: Mask
    if low == high:
        is_match = codes == low
    elif mask_codes[-1] - mask_codes[0] + 1 == len(mask_codes):
        is_match = (codes >= low) & (codes <= high)
    else:
        is_match = mask[codes]
    return is_match


def _random_mask(domain: Domain, share: float, rng: np.random.Generator) -> Mask:
    width = min(math.ceil(len(domain) * share), len(domain))
    mask = np.zeros(len(domain), dtype=np.bool_)
    if domain.is_ordered:
        begin = int(rng.integers(len(domain) - width + 1))
        mask[begin : begin + width] = True
    else:
        mask[rng.choice(len(domain), width, replace=False)] = True
    return mask


# --- coded ----------------------------------------------------------------------------------------
# The tables of a release as codes: our own before it is written, one that is read back, and a
# release in one table, which is one group.
@dataclass(frozen=True, eq=False)
class CodedTable:
    """One table of a release: the group and the number of records of each row."""

    rows: RowCodes
    group: Codes = field(repr=False)
    times: Ints | None = field(default=None, repr=False)
    """Number of records that each row represents; None if one each."""

    @property
    def records(self) -> Ints:
        """Number of records that each row represents."""
        if self.times is None:
            return np.ones(len(self.rows), dtype=np.int64)
        return self.times

    def by_group(self, name: str, groups: int) -> GroupTally:
        """Number of records of each group with each value of a column."""
        codes = self.rows.column(name)
        return tally(
            self.group, codes, groups=groups, values=len(self.rows.domain(name)), count=self.times
        )


@dataclass(frozen=True, eq=False)
class CodedTables:
    """All tables of a release, linked only by the group."""

    tables: tuple[CodedTable, ...]
    sizes: Ints = field(repr=False)
    """Number of records of each group."""

    @classmethod
    def of(cls, anatomized: Anatomized) -> CodedTables:
        """Encode a release that has not been written yet."""
        tables = (
            CodedTable(anatomized.rows.select_columns(names), anatomized.group)
            for names in anatomized.tables
        )
        return cls(tuple(tables), anatomized.sizes)

    @classmethod
    def read(cls, published: Published) -> CodedTables:
        """Read and encode a published release."""
        coded_tables = [_read_coded_table(published, table) for table in published.tables]
        first = coded_tables[0]
        return cls(
            tuple(coded_tables),
            arrays.exact_sums(first.group, first.records, int(first.group.max()) + 1),
        )

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str]) -> CodedTables:
        """Encode a single table that has all columns: its records are one group."""
        column_list = ", ".join(f"c{index}" for index in range(len(names)))
        distinct_rows = table.engine.query(
            f"SELECT {column_list}, COUNT(*) AS n FROM "
            f"({select_rows(table, names, nulls='category')}) AS r GROUP BY {column_list}"
        )
        rows = encode_rows(distinct_rows, [table.column(name) for name in names])
        order = np.lexsort(rows.by_cell[::-1])  # the row order of a database is arbitrary
        times = distinct_rows.column("n").to_numpy().astype(np.int64)[order]
        coded_table = CodedTable(rows.take(order), np.zeros(len(times), dtype=np.int64), times)
        return cls((coded_table,), np.array([times.sum()]))

    @property
    def records(self) -> int:
        """Number of released records."""
        return int(self.sizes.sum())

    @cached_property
    def table_by_column(self) -> Mapping[str, CodedTable]:
        """The table of each column, in the order of the release."""
        return {name: table for table in self.tables for name in table.rows.names}

    def domain(self, name: str) -> Domain:
        """The values of a column."""
        return self.table_by_column[name].rows.domain(name)

    def counts(self, name: str) -> Floats:
        """Number of records with each value of a column."""
        table = self.table_by_column[name]
        return arrays.sum_by_id(
            table.rows.column(name), table.records, len(table.rows.domain(name))
        )

    def together(self, left: str, right: str) -> Floats:
        """Number of records with each pair of values.

        If the columns are in two tables, it is the expected number by eq. 11.
        """
        left_table = self.table_by_column[left]
        other = self.table_by_column[right]
        if left_table is other:
            return _pair_counts(left_table, left, right)
        return self._expected(left_table, other, left, right)

    def _expected(self, left_table: CodedTable, other: CodedTable, left: str, right: str) -> Floats:
        sizes = self.sizes
        shape = (len(left_table.rows.domain(left)), len(other.rows.domain(right)))
        total = np.zeros(shape)
        step = max(_CELLS // max(shape), 1)
        tallies = left_table.by_group(left, len(sizes)), other.by_group(right, len(sizes))
        for begin in range(0, len(sizes), step):
            end = min(begin + step, len(sizes))
            a, b = (
                _grid(value_tally, begin, end, width)
                for value_tally, width in zip(tallies, shape, strict=True)
            )
            total += (a / sizes[begin:end, None]).T @ b
        return total


def _read_coded_table(published: Published, table: GroupTable) -> CodedTable:
    tuple_counts = published.engine.query(published.tally_query(table))
    described = dict(published.engine.describe(table.relation))
    columns = [Column(name, described[name], kind_of(described[name])) for name in table.columns]
    # Texts, because a number in one file may be a text in another; check_groups has verified that
    # they are equal.
    groups = tuple_counts.column("g").cast(pa.string())
    return CodedTable(
        encode_rows(tuple_counts, columns),
        encode(groups, name=published.group, kind="text").int64_codes,
        tuple_counts.column("n").to_numpy().astype(np.int64),
    )


def _pair_counts(table: CodedTable, left: str, right: str) -> Floats:
    shape = (len(table.rows.domain(left)), len(table.rows.domain(right)))
    key = table.rows.column(left).astype(np.int64) * shape[1] + table.rows.column(right)
    return (
        np.bincount(key, table.times, minlength=shape[0] * shape[1])
        .reshape(shape)
        .astype(np.float64)
    )


# --- reconstruct ----------------------------------------------------------------------------------
# Given the release, two columns in different tables are independent within a group. So their
# expected joint count is the sum over groups of (count of a) (count of b) / size: equation 11 of
# Yao et al. 2021 for all pairs of values at once.
_CELLS = 2**24
"""Most cells of the (group, value) grid in memory at a time, and of a whole joint distribution."""


@dataclass(frozen=True)
class Coefficients:
    """Association of two columns."""

    phi2: float
    """Mean-square contingency coefficient (eq. 10)."""
    mutual_information: float
    """In bits."""


def coefficients_of(pairs: Floats, records: int) -> Coefficients:
    """Association of two columns, from their joint counts."""
    share = pairs / records
    lefts = share.sum(axis=1, keepdims=True)
    rights = share.sum(axis=0, keepdims=True)
    independent = lefts * rights
    present = share > 0
    ratio = share[present] / independent[present]
    fewest = min(int((lefts > 0).sum()), int((rights > 0).sum()))
    square = arrays.never_negative(float((share[present] * ratio).sum()) - 1.0)
    if fewest > 1:
        phi2 = min(square / (fewest - 1), 1.0)
    else:
        phi2 = 0.0
    return Coefficients(phi2, arrays.never_negative(float((share[present] * np.log2(ratio)).sum())))


def _grid(value_tally: GroupTally, begin: int, end: int, width: int) -> Floats:
    """Counts of some groups as a dense grid; entries are sorted by group."""
    group_range = slice(*np.searchsorted(value_tally.group, [begin, end]).tolist())
    grid = np.zeros((end - begin, width))
    grid[value_tally.group[group_range] - begin, value_tally.value[group_range]] = (
        value_tally.count[group_range]
    )
    return grid


# --- utility --------------------------------------------------------------------------------------
Estimator = Callable[[Query], float]
"""Estimates the answer to a query from a release."""


@dataclass(frozen=True)
class Recq:
    """Summary of the relative errors of a workload."""

    workload: Workload
    queries: int
    mean: float
    median: float
    p90: float
    below_floor: int
    """Number of queries with fewer matching records than the floor of the workload.

    Their error was divided by the floor.
    """

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {
            "workload": self.workload.kind,
            "queries": self.queries,
            "quasi_identifiers": list(self.workload.quasi_identifiers),
            **{name: getattr(self, name) for name in ("mean", "median", "p90", "below_floor")},
        }


class LabelReading(Protocol):
    """Meaning of one column's labels in terms of the values that queries select."""

    def part(self, mask: Mask) -> Floats:
        """For each label, the share of its values that the mask selects."""


@dataclass(frozen=True, eq=False)
class _QueryPart:
    """The tuples of a table that match its part of a query."""

    tuples: Ints
    share: Floats
    """Expected share of matching records among those with each tuple."""

    @property
    def key(self) -> bytes:
        """Cache key: equal for equal parts."""
        return self.tuples.tobytes() + self.share.tobytes()

    def pieces(self) -> list[tuple[float, _QueryPart]]:
        """Split into parts of one tuple each, with their shares."""
        pairs = zip(self.share.tolist(), self.tuples.tolist(), strict=True)
        return [(share, _QueryPart(np.array([number]), np.ones(1))) for share, number in pairs]


_GROUPS_AT_A_TIME = 2**16
_FEW_COMBINATIONS = 256
"""Most combinations of tuples that are evaluated one by one."""


class _ArrayCache(dict[Any, npt.NDArray[Any]]):
    """Cache of arrays with limited memory; the oldest array is dropped first."""

    def store(self, key: object, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Store an array, and drop old ones if memory is short."""
        while (
            self
            and sum(stored_array.nbytes for stored_array in self.values()) + array.nbytes
            > 8 * _CELLS
        ):
            del self[next(iter(self))]
        self[key] = array
        return array


@dataclass(frozen=True, eq=False)
class _Index:
    """Index of one table of a release by tuples and by groups."""

    table: CodedTable
    groups: int

    @cached_property
    def numbered(self) -> Tuples:
        """Tuple number of each row."""
        return self.table.rows.tuples(self.table.rows.names)

    @cached_property
    def tuples(self) -> RowCodes:
        """Each tuple once."""
        return self.table.rows.cells_as_rows(self.numbered.cells)

    @cached_property
    def by_tuple(self) -> tuple[Codes, Ints | None, Ints]:
        """Rows sorted by tuple: their groups, their record counts, and the start of each tuple."""
        tuples = self.numbered
        times = self.table.times
        order = arrays.stable_order(tuples.ids, tuples.distinct)
        return (
            self.table.group[order],
            None if times is None else times[order],
            np.cumsum(tuples.counts) - tuples.counts,
        )

    @cached_property
    def by_group(self) -> tuple[Codes, Ints | None, Ints]:
        """Rows sorted by group: their tuples, their record counts, and the start of each group."""
        group = self.table.group
        times = self.table.times
        order = arrays.stable_order(group, self.groups)
        start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=self.groups))])
        return self.numbered.ids[order], None if times is None else times[order], start

    def matching_part(self, query: Query, readings: Mapping[str, LabelReading]) -> _QueryPart:
        """The tuples that match the query's predicates on this table."""
        rows = self.tuples
        plain = [name for name in rows.names if name not in readings]
        tuple_ids = np.flatnonzero(query.matches(rows, plain) & (self.numbered.counts > 0))
        share = np.ones(len(tuple_ids))
        for name in rows.names:
            if name in query.masks and name in readings:
                share *= readings[name].part(query.masks[name])[rows.column(name)[tuple_ids]]
        return _QueryPart(tuple_ids, share)

    def matches_by_group(self, part: _QueryPart) -> npt.NDArray[Any]:
        """Expected number of matching records of each group."""
        group, times, tuple_starts = self.by_tuple
        rows = self.numbered.counts[part.tuples]
        places = arrays.ranges(tuple_starts[part.tuples], rows)
        if times is None and (part.share == 1).all():
            group_counts = np.bincount(group[places], minlength=self.groups)
            # most counts are small: as bytes
            return group_counts.astype(np.min_scalar_type(int(group_counts.max())))
        weight = np.repeat(part.share, rows)
        if times is not None:
            weight *= times[places]
        return arrays.sum_by_id(group[places], weight, self.groups)

    def weighted_by_group(self, chance: Floats) -> Floats:
        """For each tuple, its records, each weighted by the probability of its group."""
        tuples, times, start = self.by_group
        tuple_weights = np.zeros(self.numbered.distinct)
        # A few groups at a time fit into the processor's cache; but their rows should outnumber the
        # tuples.
        step = max(_GROUPS_AT_A_TIME, self.groups * len(tuple_weights) // len(tuples))
        for begin in range(0, self.groups, step):
            group_range = slice(begin, begin + step)
            row_bounds = start[begin : group_range.stop + 1]
            rows = slice(row_bounds[0], row_bounds[-1])
            weight = np.repeat(chance[group_range], np.diff(row_bounds))
            if times is not None:
                weight *= times[rows]
            tuple_weights += arrays.sum_by_id(tuples[rows], weight, len(tuple_weights))
        return tuple_weights


def estimator(
    release: CodedTables, readings: Mapping[str, LabelReading] | None = None
) -> Estimator:
    """Build an estimator by equation 11: in each group, the shares that match multiply.

    Queries select values of the release itself, unless a reading interprets its labels. Queries on
    tables with few tuples repeat, so counts are cached. For each part of these tables, the cache
    holds the records with each tuple of the table with the most tuples. Each record is weighted by
    the probability that its group gives to the other parts.
    """
    read = readings or {}
    sizes = release.sizes.astype(np.float64)
    indexes = sorted(
        (_Index(table, len(sizes)) for table in release.tables),
        key=lambda index: index.numbered.distinct,
    )
    group_cache = _ArrayCache()
    tuple_cache = _ArrayCache()

    def cached_matches(table_index: int, part: _QueryPart) -> npt.NDArray[Any]:
        key = (table_index, part.key)
        if key in group_cache:
            return group_cache[key]
        return group_cache.store(key, indexes[table_index].matches_by_group(part))

    def cached_tuple_weights(last: int, others: Sequence[tuple[int, _QueryPart]]) -> Floats:
        key = (last, *((table_index, part.key) for table_index, part in others))
        if key in tuple_cache:
            return tuple_cache[key]
        chance = np.ones(len(sizes))
        for table_index, part in others:
            chance *= cached_matches(table_index, part) / sizes
        return tuple_cache.store(key, indexes[last].weighted_by_group(chance))

    def answer(query: Query) -> float:
        query_tables = [
            table_index
            for table_index, index in enumerate(indexes)
            if any(name in query.masks for name in index.tuples.names)
        ]
        if not query_tables:
            return float(sizes.sum())
        *others, last = query_tables
        parts = [indexes[table_index].matching_part(query, read) for table_index in others]
        last_part = indexes[last].matching_part(query, read)
        # The expected count of a part is the sum over its tuples. If there are few combinations of
        # tuples, it is cached for each of them.
        combination_count = math.prod(
            indexes[table_index].numbered.distinct for table_index in others
        )
        is_enumerated = (
            combination_count <= _FEW_COMBINATIONS
            and combination_count * indexes[last].numbered.distinct <= _CELLS
        )
        total = 0.0
        for combination in product(
            *(part.pieces() if is_enumerated else [(1.0, part)] for part in parts)
        ):
            share = math.prod(part_share for part_share, _ in combination)
            chosen = [
                (table_index, part)
                for table_index, (_, part) in zip(others, combination, strict=True)
            ]
            total += share * float(
                last_part.share @ cached_tuple_weights(last, chosen)[last_part.tuples]
            )
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
    """Relative errors of a release's answers to a workload of queries on these rows."""
    query_workload = workload or Workload()
    queries = query_workload.draw(rows, quasi_identifiers, sensitive)
    pairs = np.array([(query.count(rows), answer(query)) for query in queries], dtype=np.float64)
    true_counts, estimates = pairs.T
    errors: Floats = np.abs(true_counts - estimates) / np.maximum(true_counts, query_workload.floor)
    median, p90 = np.quantile(errors, [0.5, 0.9])
    return Recq(
        query_workload,
        len(errors),
        float(errors.mean()),
        float(median),
        float(p90),
        int((true_counts < query_workload.floor).sum()),
    )


def recq_of(anatomized: Anatomized, workload: Workload | None = None) -> Recq:
    """Relative errors of count queries (RECQ) on an anatomized release."""
    divided = {name for columns in anatomized.division.tables for name in columns}
    # In the order of the table, not of the division: releases that divide it differently get the
    # same queries.
    names = [name for name in anatomized.rows.names if name in divided]
    answer = estimator(CodedTables.of(anatomized))
    return recq(
        anatomized.rows,
        answer,
        quasi_identifiers=names,
        sensitive=anatomized.sensitive,
        workload=workload,
    )


@dataclass(frozen=True)
class KeptAssociation:
    """Association of two columns: in the table, and as reconstructed from the release."""

    left: str
    right: str
    exact: bool
    """True if one table of the release has both columns, so that nothing is lost."""
    true: Coefficients
    reconstructed: Coefficients

    @property
    def error(self) -> float:
        """Absolute error of phi2."""
        return abs(self.true.phi2 - self.reconstructed.phi2)


def associations(anatomized: Anatomized) -> list[KeptAssociation]:
    """Association of every pair of columns, true and reconstructed; includes sensitive columns."""
    release = CodedTables.of(anatomized)
    rows = anatomized.rows
    coded_table = CodedTable(rows, anatomized.group)
    pair_associations = []
    for left, right in combinations(release.table_by_column, 2):
        true = coefficients_of(_pair_counts(coded_table, left, right), len(rows))
        is_same_table = release.table_by_column[left] is release.table_by_column[right]
        if is_same_table:
            reconstructed = true
        else:
            reconstructed = coefficients_of(release.together(left, right), len(rows))
        pair_associations.append(KeptAssociation(left, right, is_same_table, true, reconstructed))
    return pair_associations


def reconstructed_information(
    release: CodedTables, quasi_identifiers: Sequence[str], sensitive: str
) -> float | None:
    """Mutual information I(W;X) in bits of quasi-identifiers and sensitive column.

    It is reconstructed from the release. W combines all quasi-identifiers. Within a group, columns
    of different tables are independent. None if the joint distribution has too many cells to
    compute.
    """
    joint = _Joint.of(
        release, [name for name in quasi_identifiers if name in release.table_by_column]
    )
    if joint is None:
        joint = None
    else:
        joint = joint.with_column(release.table_by_column[sensitive], [sensitive])
    if joint is None:
        return None
    share, (left, right) = joint.weight / release.records, joint.numbers
    pairs, _ = arrays.class_ids(
        [left, right], [int(left.max()) + 1, int(right.max()) + 1], rows=len(left)
    )
    bits = [_entropy(arrays.sum_by_id(ids, share)) for ids in (left, right, pairs)]
    return arrays.never_negative(bits[0] + bits[1] - bits[2])


def _entropy(shares: Floats) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log2(present)).sum())


@dataclass(frozen=True, eq=False)
class _Joint:
    """Combinations of tuples of some tables in the same group, with expected record counts."""

    release: CodedTables
    group: Ints
    numbers: tuple[Ints, ...]
    """For each combined table, the tuple number in each combination."""
    weight: Floats

    @classmethod
    def of(cls, release: CodedTables, names: Sequence[str]) -> _Joint | None:
        """Combine some columns and number the combinations; None if there are too many."""
        joint: _Joint | None = cls(
            release, np.arange(len(release.sizes)), (), release.sizes.astype(np.float64)
        )
        for table in release.tables:
            table_columns = [name for name in table.rows.names if name in names]
            if table_columns and joint is not None:
                joint = joint.with_column(table, table_columns)
        if joint is None:
            return None
        combination_ids, _ = arrays.class_ids(
            joint.numbers, [int(ids.max()) + 1 for ids in joint.numbers], rows=len(joint.group)
        )
        return cls(release, joint.group, (combination_ids,), joint.weight)

    def with_column(self, table: CodedTable, names: Sequence[str]) -> _Joint | None:
        """Combine with columns of one more table; None if there are too many combinations."""
        sizes = self.release.sizes
        tuples = table.rows.tuples(names)
        tuple_tally = tally(
            table.group, tuples.ids, groups=len(sizes), values=tuples.distinct, count=table.times
        )
        start = np.searchsorted(tuple_tally.group, np.arange(len(sizes) + 1))
        times = np.diff(start)[self.group]
        if times.sum() > _CELLS:
            return None
        entry_index = arrays.ranges(start[self.group], times)
        group = np.repeat(self.group, times)
        numbers = (*(np.repeat(ids, times) for ids in self.numbers), tuple_tally.value[entry_index])
        return _Joint(
            self.release,
            group,
            numbers,
            np.repeat(self.weight, times) * tuple_tally.count[entry_index] / sizes[group],
        )
