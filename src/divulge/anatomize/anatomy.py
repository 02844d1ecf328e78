# SPDX-License-Identifier: Apache-2.0
"""Anatomy (Xiao and Tao 2006): all quasi-identifiers in one table, groups of l records with different sensitive values.

While l buckets (the records of one sensitive value) are not empty, one random record of each of the l largest makes a group; at most l - 1
records are then left, each of a bucket of its own, and each goes to a random group without its value. This works exactly if no value is in
more than one in l records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from divulge.anatomize.codes import RowCodes
from divulge.anatomize.division import Division, given_division
from divulge.anatomize.feasibility import check_feasible
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.arrays import Ints, lay_out, stable_order
from divulge.errors import BadInput


@dataclass(frozen=True)
class Anatomy:
    """Every group has at least l records, all with different sensitive values."""

    name: ClassVar[str] = "anatomy"

    l_diversity: int

    def __post_init__(self) -> None:
        check_l(self.l_diversity)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records of a group has the same value."""
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}")

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """One table."""
        del rows
        return given_division(quasi_identifiers, [quasi_identifiers])

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups from the largest buckets."""
        if len(problem.sensitive) != 1:
            raise BadInput("Anatomy knows one sensitive attribute", hint="Use slppa, which takes several")
        check_feasible(problem)
        attribute = problem.sensitive[0]
        values = _values_of_groups(attribute.totals, self.l_diversity)
        group_of = np.repeat(np.arange(len(values)), self.l_diversity)
        # The groups of each value in order; the records of each value in random order; both laid side by side.
        slots = lay_out(values.ravel(), len(attribute.totals))
        order = rng.permutation(len(problem))
        order = order[stable_order(attribute.ids[order], len(attribute.totals))]
        used = np.diff(slots.start)
        place = np.arange(len(problem)) - np.repeat(np.cumsum(attribute.totals) - attribute.totals, attribute.totals)
        given = place < np.repeat(used, attribute.totals)
        found = np.full(len(problem), -1, dtype=np.int32)
        found[order[given]] = group_of[slots.members]
        for record in order[~given].tolist():
            value = attribute.ids[record]
            holds = group_of[slots.members[slots.start[value] : slots.start[value + 1]]]
            found[record] = _random_group_without(holds, len(values), rng)
        return found

    def settings(self) -> Mapping[str, Any]:
        """For the record."""
        return {"l_diversity": self.l_diversity}


def check_l(l_diversity: int) -> None:
    """An l is a whole number from 1."""
    if l_diversity < 1:
        raise BadInput(f"l = {l_diversity} is not a whole number of at least 1")


def _values_of_groups(totals: Ints, size: int) -> Ints:
    """For each group the values of its records: one of each of the largest buckets that are left."""
    left = totals.copy()
    groups = []
    while np.count_nonzero(left) >= size:
        largest = np.argsort(-left, kind="stable")[:size]
        left[largest] -= 1
        groups.append(largest)
    return np.array(groups, dtype=np.int64).reshape(len(groups), size)


def _random_group_without(holds: Ints, groups: int, rng: np.random.Generator) -> int:
    """A random group that is not in `holds`."""
    free = np.setdiff1d(np.arange(groups), holds)
    return int(rng.choice(free))
