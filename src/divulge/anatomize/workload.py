# SPDX-License-Identifier: Apache-2.0
"""Workloads: random count queries, by which a release is judged (Yao et al. 2021, section 6.2).

The paper draws 1000 count queries over 1 to 3, 4 to 6 and 7 to 9 quasi-identifiers and does not say how. Two ways are
offered:

anchored    a record is drawn; the query asks for its values in some quasi-identifiers and in the sensitive attribute. At least
            one record satisfies it, so the relative error is always defined.
range       as in Xiao and Tao's Anatomy (2006): each predicate takes b of the column's values, b = ceil(|A| s^(1/(q+1))) for selectivity s
            and q quasi-identifiers; neighbours where the column has an order, any values where not. No record need satisfy it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from divulge.anatomize.codes import RowCodes
from divulge.errors import BadInput

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
                yield Query({name: _only(rows, name, record) for name in asked}, wanted)
            else:
                share = self.selectivity ** (1 / len(asked))
                yield Query({name: _some(rows, name, share, rng) for name in asked}, wanted)


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
    elif high - low + 1 == len(wanted):
        found = (codes >= low) & (codes <= high)
    else:
        found = mask[codes]
    return found


def _only(rows: RowCodes, name: str, record: int) -> Mask:
    mask = np.zeros(len(rows.domain(name)), dtype=np.bool_)
    mask[rows.column(name)[record]] = True
    return mask


def _some(rows: RowCodes, name: str, share: float, rng: np.random.Generator) -> Mask:
    domain = rows.domain(name)
    width = min(math.ceil(len(domain) * share), len(domain))
    mask = np.zeros(len(domain), dtype=np.bool_)
    if domain.is_ordered:
        begin = int(rng.integers(len(domain) - width + 1))
        mask[begin : begin + width] = True
    else:
        mask[rng.choice(len(domain), width, replace=False)] = True
    return mask
