# SPDX-License-Identifier: Apache-2.0
"""How much a release still tells: the relative error of count queries (RECQ; Yao et al. 2021, eq. 13) and of associations.

RECQ = |Q(T) - Q(T*)| / Q(T) is undefined for Q(T) = 0. Anchored queries never have it; for others the error is
divided by max(Q(T), floor), and how many queries that concerned is part of the result. None is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from divulge.anatomy.methods import Anatomized
from divulge.anatomy.model import GroupTally, tally
from divulge.anatomy.rows import RowCodes
from divulge.arrays import Floats
from divulge.count import Domain
from divulge.errors import BadInput

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
                masks = {name: np.arange(len(rows.domain(name))) == rows.column(name)[record] for name in asked}
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
        found = np.ones(len(rows), dtype=np.bool_)
        for name, mask in self.masks.items():
            if names is None or name in names:
                found &= matching(rows, name, mask)
        return found


def matching(rows: RowCodes, name: str, mask: Mask) -> Mask:
    """Which records have one of the values; neighbours are compared, which is quicker than looking each up."""
    codes, wanted = rows.column(name), np.flatnonzero(mask)
    if len(wanted) == 0:
        return np.zeros(len(rows), dtype=np.bool_)
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


# --- reconstruct ------------------------------------------------------------------------------------------------------
# Two columns in different tables are independent within a group as far as the release tells, so their expected joint count is the
# sum over groups of (count of a) (count of b) / size: equation 11 of Yao et al. 2021 for all pairs of values at once.
_CELLS = 2**24
"""How many cells of the (group, value) grid are held at a time."""


@dataclass(frozen=True)
class Coefficients:
    """The association of two columns."""

    phi2: float
    """The mean-square contingency coefficient (eq. 10)."""
    mutual_information: float
    """In bits."""


def true_pairs(anatomized: Anatomized, left: str, right: str) -> Floats:
    """How many records have each pair of values."""
    rows = anatomized.rows
    shape = (len(rows.domain(left)), len(rows.domain(right)))
    key = rows.column(left).astype(np.int64) * shape[1] + rows.column(right)
    return np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def expected_pairs(anatomized: Anatomized, left: str, right: str) -> Floats:
    """How many records are expected to have each pair of values, going by the release."""
    rows, sizes = anatomized.rows, anatomized.sizes
    shape = (len(rows.domain(left)), len(rows.domain(right)))
    total = np.zeros(shape)
    step = max(_CELLS // max(shape), 1)
    pair = zip((left, right), shape, strict=True)
    both = [tally(anatomized.group, rows.column(name), groups=len(sizes), values=values) for name, values in pair]
    for begin in range(0, len(sizes), step):
        end = min(begin + step, len(sizes))
        a, b = (_grid(counted, begin, end, width) for counted, width in zip(both, shape, strict=True))
        total += (a / sizes[begin:end, None]).T @ b
    return total


def coefficients_of(pairs: Floats, records: int) -> Coefficients:
    """The association that a joint count shows."""
    share = pairs / records
    lefts, rights = share.sum(axis=1, keepdims=True), share.sum(axis=0, keepdims=True)
    independent = lefts * rights
    present = share > 0
    ratio = share[present] / independent[present]
    fewest = min(int((lefts > 0).sum()), int((rights > 0).sum()))
    square = float((share[present] * ratio).sum()) - 1.0
    phi2 = min(max(square / (fewest - 1), 0.0), 1.0) if fewest > 1 else 0.0
    return Coefficients(phi2, max(float((share[present] * np.log2(ratio)).sum()), 0.0))


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


def estimator(anatomized: Anatomized) -> Estimator:
    """Equation 11, in memory: for each group, the records that satisfy each table's part, multiplied."""
    sizes = anatomized.sizes.astype(np.float64)

    def answer(query: Query) -> float:
        expected = sizes
        for columns in anatomized.tables:
            if any(name in query.masks for name in columns):
                matching = anatomized.group[query.matches(anatomized.rows, columns)]
                expected = expected * (np.bincount(matching, minlength=len(sizes)) / sizes)
        return float(expected.sum())

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
    pairs = np.array([(np.count_nonzero(query.matches(rows)), answer(query)) for query in queries], dtype=np.float64)
    true, answered = pairs.T
    errors: Floats = np.abs(true - answered) / np.maximum(true, drawn.floor)
    median, p90 = np.quantile(errors, [0.5, 0.9])
    return Recq(drawn, len(errors), float(errors.mean()), float(median), float(p90), int((true < drawn.floor).sum()))


def recq_of(anatomized: Anatomized, workload: Workload | None = None) -> Recq:
    """RECQ of an anatomized release."""
    divided = {name for columns in anatomized.division.tables for name in columns}
    # In the order of the table, not of the division: releases that divide it differently are asked the same queries.
    names = [name for name in anatomized.rows.names if name in divided]
    answer = estimator(anatomized)
    return recq(anatomized.rows, answer, quasi_identifiers=names, sensitive=anatomized.sensitive, workload=workload)


@dataclass(frozen=True)
class KeptAssociation:
    """How closely two columns go together: in the table, and as the release lets it be reconstructed."""

    left: str
    right: str
    same_table: bool
    """Then the release holds the pair as it is, and nothing is lost."""
    true: Coefficients
    reconstructed: Coefficients

    @property
    def error(self) -> float:
        """How far phi2 is off."""
        return abs(self.true.phi2 - self.reconstructed.phi2)


def associations(anatomized: Anatomized) -> list[KeptAssociation]:
    """The association of every pair of columns, true and reconstructed; sensitive columns included."""
    table_of = {name: place for place, names in enumerate(anatomized.tables) for name in names}
    found = []
    for left, right in combinations(table_of, 2):
        true = coefficients_of(true_pairs(anatomized, left, right), len(anatomized.rows))
        together = table_of[left] == table_of[right]
        rebuilt = true if together else coefficients_of(expected_pairs(anatomized, left, right), len(anatomized.rows))
        found.append(KeptAssociation(left, right, together, true, rebuilt))
    return found
