# SPDX-License-Identifier: Apache-2.0
"""Slicing (Li, Li, Zhang and Molloy 2012): attributes clustered by k-medoids, records in Mondrian buckets with l-diversity.

The distance of two attributes is 1 - phi2. A bucket is cut as long as both halves are l-diverse: with "distinct", each has l different
sensitive values; with "frequency", none of its values is in more than one in l of its records. Two things differ from the paper, so that
the method can be compared with the others: the sensitive attribute is a table of its own, and diversity is checked per bucket. The paper's
own check, over all buckets that match a record, averages what is checked here, and is dearer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from divulge.anatomize.anatomy import check_l
from divulge.anatomize.association import associate
from divulge.anatomize.codes import RowCodes
from divulge.anatomize.division import Coefficient, Division, check_table_count
from divulge.anatomize.feasibility import check_feasible, refusal
from divulge.anatomize.levels import tally
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.mondrian import mondrian
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.arrays import Bools, Ints
from divulge.errors import BadInput

Check = Literal["distinct", "frequency"]


@dataclass(frozen=True)
class Slicing:
    """Tables of attributes that go together, buckets of records that are alike and l-diverse."""

    name: ClassVar[str] = "slicing"

    l_diversity: int
    tables: int = 2
    check: Check = "frequency"

    def __post_init__(self) -> None:
        check_l(self.l_diversity)
        if self.check not in ("distinct", "frequency"):
            raise BadInput(f"there is no check {self.check!r}", hint="Use 'distinct' or 'frequency'")

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records with the frequency check; different values alone bound no share."""
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}" if self.check == "frequency" else 1)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Attributes around k medoids."""
        check_table_count(quasi_identifiers, self.tables)
        names = list(quasi_identifiers)
        coefficients = [
            Coefficient(left, right, associate(rows, left, right))
            for place, left in enumerate(names)
            for right in names[place + 1 :]
        ]
        distance = np.zeros((len(names), len(names)))
        for pair in coefficients:
            i, j = names.index(pair.left), names.index(pair.right)
            distance[i, j] = distance[j, i] = 1 - pair.value
        cluster = k_medoids(distance, self.tables)
        tables = tuple(
            tuple(name for name, own in zip(names, cluster, strict=True) if own == medoid)
            for medoid in dict.fromkeys(cluster)
        )
        return Division(tables, coefficients=tuple(coefficients), association="phi2")

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Mondrian buckets; nothing in them is random but their numbers."""
        check_feasible(problem)
        for attribute in problem.sensitive:
            if len(attribute.totals) < self.l_diversity:
                because = f"{attribute.name} has {len(attribute.totals)} values, fewer than l = {self.l_diversity}"
                raise refusal(problem, because, proved=True)

        def allowed(cell: Ints, records: Ints, cells: int) -> Bools:
            return self._diverse(problem, cell, records, cells)

        columns = [name for names in problem.names for name in names]
        buckets = mondrian(problem.rows, columns, allowed=allowed)
        return rng.permutation(buckets.count).astype(np.int32)[buckets.cell]

    def settings(self) -> Mapping[str, Any]:
        """For the record."""
        return {"l_diversity": self.l_diversity, "tables": self.tables, "check": self.check}

    def _diverse(self, problem: GroupingProblem, cell: Ints, records: Ints, cells: int) -> Bools:
        diverse = np.ones(cells, dtype=np.bool_)
        sizes = np.bincount(cell, minlength=cells)
        for attribute in problem.sensitive:
            counted = tally(cell, attribute.ids[records], groups=cells, values=len(attribute.totals))
            if self.check == "distinct":
                diverse &= np.bincount(counted.group, minlength=cells) >= self.l_diversity
            else:
                diverse &= counted.modal() * self.l_diversity <= sizes
        return diverse


def k_medoids(distance: npt.NDArray[np.float64], clusters: int) -> list[int]:
    """Partitioning around medoids (Kaufman and Rousseeuw 1990): the medoid of each item; the first of equals is taken.

    Medoids are added one by one where they shorten the total distance most, then exchanged as long as that shortens it.
    """
    items = len(distance)
    medoids: list[int] = []
    for _ in range(clusters):
        rest = [item for item in range(items) if item not in medoids]
        medoids.append(min(rest, key=lambda item: (_total(distance, [*medoids, item]), item)))
    while True:
        exchanges = [
            [item if medoid == out else medoid for medoid in medoids]
            for out in medoids
            for item in range(items)
            if item not in medoids
        ]
        best = min(exchanges, key=lambda chosen: _total(distance, chosen), default=medoids)
        if _total(distance, best) >= _total(distance, medoids):
            break
        medoids = best
    nearest = [min(medoids, key=lambda medoid: (medoid != item, distance[item, medoid])) for item in range(items)]
    return [int(medoid) for medoid in nearest]


def _total(distance: npt.NDArray[np.float64], medoids: Sequence[int]) -> Fraction:
    """Rounded, so that sums of the same numbers tie however they were added."""
    return Fraction(round(float(distance[:, list(medoids)].min(axis=1).sum()), 12))
