# SPDX-License-Identifier: Apache-2.0
"""How much a release still tells: the relative error of count queries (RECQ; Yao et al. 2021, eq. 13) and of associations.

RECQ = |Q(T) - Q(T*)| / Q(T) is undefined for Q(T) = 0. Anchored queries never have it; for others the error is
divided by max(Q(T), floor), and how many queries that concerned is part of the result. None is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from divulge.anatomize.anatomized import Anatomized
from divulge.anatomize.codes import RowCodes
from divulge.anatomize.reconstruct import Coefficients, coefficients_of, expected_pairs, true_pairs
from divulge.anatomize.workload import Query, Workload
from divulge.arrays import Floats

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
            "mean": self.mean,
            "median": self.median,
            "p90": self.p90,
            "below_floor": self.below_floor,
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
    pairs = [
        (int(np.count_nonzero(query.matches(rows))), answer(query))
        for query in drawn.draw(rows, quasi_identifiers, sensitive)
    ]
    true, answered = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    errors: Floats = np.abs(true - answered) / np.maximum(true, drawn.floor)
    median, p90 = np.quantile(errors, [0.5, 0.9])
    return Recq(drawn, len(errors), float(errors.mean()), float(median), float(p90), int((true < drawn.floor).sum()))


def recq_of(anatomized: Anatomized, workload: Workload | None = None) -> Recq:
    """RECQ of an anatomized release."""
    divided = {name for columns in anatomized.division.tables for name in columns}
    # In the order of the table, not of the division: releases that divide it differently are asked the same queries.
    names = [name for name in anatomized.rows.names if name in divided]
    return recq(
        anatomized.rows,
        estimator(anatomized),
        quasi_identifiers=names,
        sensitive=anatomized.sensitive,
        workload=workload,
    )


def recq_by_quasi_identifiers(anatomized: Anatomized, workload: Workload | None = None) -> dict[int, Recq]:
    """RECQ for each number of quasi-identifiers in a query."""
    drawn = workload or Workload()
    count = sum(len(columns) for columns in anatomized.division.tables)
    return {
        number: recq_of(anatomized, replace(drawn, quasi_identifiers=(number, number)))
        for number in range(1, count + 1)
    }


def recq_table(releases: Iterable[Anatomized], workload: Workload | None = None) -> list[dict[str, Any]]:
    """RECQ of several releases of one table, with what they differ in: method, tables, groups and their sizes; one row each."""
    return [
        {
            "method": release.method,
            "tables": len(release.tables),
            "groups": release.groups,
            "mean_group_size": float(release.sizes.mean()),
            **release.levels.texts(),
            **recq_of(release, workload).as_json(),
        }
        for release in releases
    ]


@dataclass(frozen=True)
class Association:
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


def associations(anatomized: Anatomized) -> list[Association]:
    """The association of every pair of columns, true and reconstructed; sensitive columns included."""
    table_of = {name: place for place, names in enumerate(anatomized.tables) for name in names}
    found = []
    for left, right in combinations(table_of, 2):
        true = coefficients_of(true_pairs(anatomized, left, right), len(anatomized.rows))
        together = table_of[left] == table_of[right]
        rebuilt = true if together else coefficients_of(expected_pairs(anatomized, left, right), len(anatomized.rows))
        found.append(Association(left, right, together, true, rebuilt))
    return found
