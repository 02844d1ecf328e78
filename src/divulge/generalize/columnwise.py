# SPDX-License-Identifier: Apache-2.0
"""Objectives that add up over people and columns, so that the cost of a node without suppression is known before counting.

- loss: ARX's. Per column, the shares of the hierarchy's leaves under the published labels, summed over people, less what publishing the
  values themselves gives, relative to publishing nothing; a suppressed person has lost everything. Columns are combined by the
  geometric mean of (1 + loss) - 1, or by the arithmetic mean.
- precision (Sweeney 2002): 1 - the mean of level / height; high is good.
- non-uniform entropy (de Waal and Willenborg 1999; Gionis and Tassa 2009): -log2 P(value | label) summed over people and columns,
  probabilities from the original table, relative to suppressing everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divulge.arrays import Floats, sum_by_id
from divulge.errors import BadInput, nearest
from divulge.generalize.check import Candidate
from divulge.generalize.lattice import Ladder, Node
from divulge.generalize.objective import (
    AverageClassSize,
    Better,
    Discernibility,
    Information,
    Objective,
    Own,
    UserFunction,
)
from divulge.generalize.rollup import Classes, Rollup


@dataclass(frozen=True, eq=False)
class ColumnCost:
    """What one person's value in one column costs."""

    published: tuple[Floats, ...] = field(repr=False)
    """For each level: position in the domain to cost."""
    suppressed: Floats = field(repr=False)
    """Position in the domain to cost."""
    least: float
    """The total that counts as 0 ..."""
    most: float
    """... and the one that counts as 1."""

    def relative(self, total: float) -> float:
        """A total on the scale from least to most."""
        return (total - self.least) / (self.most - self.least) if self.most > self.least else 0.0


@dataclass(frozen=True, eq=False)
class Columnwise:
    """The (weighted) mean of the columns' relative costs."""

    rollup: Rollup
    name: str
    columns: tuple[ColumnCost, ...]
    weights: Floats
    """Sum to 1."""
    geometric: bool = False
    better: Better = "low"

    @cached_property
    def _by_level(self) -> tuple[Floats, ...]:
        """For each column the total cost at each level, nobody suppressed."""
        counted = self.rollup.contingency
        people = [
            sum_by_id(codes, self.rollup.sizes, len(key))
            for key, codes in zip(counted.keys, counted.codes, strict=True)
        ]
        return tuple(
            np.array([here @ level for level in column.published])
            for here, column in zip(people, self.columns, strict=True)
        )

    @cached_property
    def _relative(self) -> tuple[Floats, ...]:
        return tuple(
            np.array([column.relative(total) for total in totals])
            for column, totals in zip(self.columns, self._by_level, strict=True)
        )

    def _combined(self, relative: Sequence[float]) -> float:
        numbers = np.asarray(relative)
        mean = np.exp(self.weights @ np.log1p(numbers)) - 1.0 if self.geometric else self.weights @ numbers
        return float(mean) if self.better == "low" else float(mean) - 1.0

    def bound(self, node: Node) -> float:
        """The cost if nobody is suppressed."""
        return self._combined([relative[level] for relative, level in zip(self._relative, node, strict=True)])

    def bounds(self) -> Floats:
        """The same for all nodes."""
        sums = np.zeros(self.rollup.lattice.shape)
        for position, relative in enumerate(self._relative):
            part = self.weights[position] * (np.log1p(relative) if self.geometric else relative)
            sums += part.reshape([-1 if axis == position else 1 for axis in range(sums.ndim)])
        mean = np.expm1(sums) if self.geometric else sums
        return mean if self.better == "low" else mean - 1.0

    def floor(self, classes: Classes) -> float:
        """Levels only rise."""
        return self.bound(classes.node)

    def cost(self, candidate: Candidate) -> float:
        """What is published costs by its level, the rest as suppressed."""
        left_out = np.flatnonzero(candidate.suppressed_raw)
        people = self.rollup.sizes[left_out]
        relative = []
        for column, codes, totals, level in zip(
            self.columns, self.rollup.contingency.codes, self._by_level, candidate.node, strict=True
        ):
            here = codes[left_out]
            # A plain sum: the product of two vectors would start threads, which costs more than it saves here.
            more = float((people * (column.suppressed[here] - column.published[level][here])).sum())
            relative.append(column.relative(totals[level] + more))
        return self._combined(relative)


def _loss(rollup: Rollup, *, name: str, geometric: bool) -> Columnwise:
    people = float(rollup.people)

    def column(ladder: Ladder) -> ColumnCost:
        shares = tuple(level.shares for level in ladder.levels)
        return ColumnCost(shares, np.ones(len(shares[0])), people / ladder.leaves, people)

    return _columnwise(rollup, name, column, geometric=geometric)


def _precision(rollup: Rollup) -> Columnwise:
    def column(ladder: Ladder) -> ColumnCost:
        values, height = len(ladder.levels[0].codes), max(ladder.height, 1)
        return ColumnCost(
            tuple(np.full(values, level / height) for level in range(len(ladder.levels))),
            np.ones(values),
            0.0,
            float(rollup.people),
        )

    return _columnwise(rollup, "precision", column, better="high")


def _non_uniform_entropy(rollup: Rollup) -> Columnwise:
    columns = []
    for ladder, codes in zip(rollup.lattice.ladders, rollup.contingency.codes, strict=True):
        often = sum_by_id(codes, rollup.sizes, len(ladder.levels[0].codes))
        published = tuple(np.log2(sum_by_id(level.codes, often)[level.codes] / often) for level in ladder.levels)
        suppressed = np.log2(rollup.people / often)
        columns.append(ColumnCost(published, suppressed, 0.0, float(often @ suppressed)))
    most = np.array([column.most for column in columns])
    weights = most / most.sum() if most.sum() > 0 else np.full(len(columns), 1.0 / len(columns))
    return Columnwise(rollup, "non_uniform_entropy", tuple(columns), weights)


def _columnwise(
    rollup: Rollup,
    name: str,
    column: Callable[[Ladder], ColumnCost],
    *,
    geometric: bool = False,
    better: Better = "low",
) -> Columnwise:
    columns = tuple(column(ladder) for ladder in rollup.lattice.ladders)
    return Columnwise(rollup, name, columns, np.full(len(columns), 1.0 / len(columns)), geometric, better)


OBJECTIVES: dict[str, Callable[[Rollup], Objective]] = {
    "loss": lambda rollup: _loss(rollup, name="loss", geometric=True),
    "arithmetic_loss": lambda rollup: _loss(rollup, name="arithmetic_loss", geometric=False),
    "precision": _precision,
    "non_uniform_entropy": _non_uniform_entropy,
    "discernibility": Discernibility,
    "average_class_size": AverageClassSize,
    "information": Information,
}


def find_objective(rollup: Rollup, wanted: str | UserFunction) -> Objective:
    """By name, or a function of the user's."""
    if callable(wanted):
        return Own(rollup, wanted)
    if wanted not in OBJECTIVES:
        raise BadInput(f"there is no objective {wanted!r}", hint=nearest(str(wanted), OBJECTIVES))
    return OBJECTIVES[wanted](rollup)
