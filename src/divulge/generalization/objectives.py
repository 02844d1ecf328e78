# SPDX-License-Identifier: Apache-2.0
"""Cost functions of a generalization: by column, from the classes, or a user's function.

Costs are minimized. The displayed value is the cost, or its negative if high is good. Each
objective has bounds that shorten a search. The cost of an additive objective without suppression is
known for every node, and suppression never makes it cheaper. For a counted objective, merging never
reduces the cost without suppression. A user's function has no bounds, so every node that may meet
the requirements is checked.

- discernibility (Bayardo and Agrawal 2005): each person costs the size of the class, a suppressed
  one the size of the table.
- average class size (LeFevre et al. 2006): people per class; those suppressed are one class.
- information (Bezzi 2010, section 4): I(X~;W) kept, high is good; the information of suppressed
  records is lost. Several sensitive attributes add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from divulge import arrays
from divulge.arguments import arg, outside
from divulge.arrays import Floats
from divulge.counting import Contingency
from divulge.errors import BadInput, nearest
from divulge.generalization.constraints import Candidate, all_published
from divulge.generalization.lattice import Node
from divulge.generalization.plan import published, recode
from divulge.generalization.rollup import Classes, Rollup
from divulge.text import class_name

Better = Literal["low", "high"]
_ROUNDING = 1e-9
"""Margin for rounding: a bound lifted above a cost by rounding would exclude its node."""
UserFunction = Callable[[Mapping[str, int], Contingency, int], float]
"""Function of (levels by column, counts of the published table, people suppressed) to a cost.

Low is good.
"""


def displayed_value(objective: Objective, cost: float) -> float:
    """Convert a cost to the value that is displayed."""
    if objective.better == "low":
        return cost
    return 0.0 - cost


@dataclass(frozen=True, eq=False)
class CountedObjective:
    """An objective whose cost is known only after counting."""

    rollup: Rollup
    name: str
    of: Callable[[Rollup, Candidate], float]
    """The cost, or the utility if high is good."""
    better: Better = "low"
    grows: bool = True
    """Neither merging nor suppression makes it cheaper."""

    def bound(self, node: Node, left_out: float = 0.0) -> float:  # noqa: ARG002 - signature of Columnwise
        """Lower bound of the node's cost without counting: there is none."""
        return -np.inf

    def parts(self) -> tuple[Floats, ...]:
        """Contribution of each level of each column to the bound: zero."""
        return tuple(np.zeros(levels) for levels in self.rollup.lattice.shape)

    def bounds(self) -> Floats:
        """Lower bounds of all nodes of the lattice without counting: there are none."""
        return np.full(self.rollup.lattice.shape, -np.inf)

    def floor(self, classes: Classes) -> float:
        """Lower bound of the cost of this node and every coarser one: the cost if all is published.

        There is none if a part of a published class may be suppressed, because that can make it
        cheaper.
        """
        is_floor_valid = self.grows and classes.published_as is None
        if is_floor_valid:
            return self.cost(all_published(classes))
        return -np.inf

    def cost(self, candidate: Candidate) -> float:
        """Cost of publishing a candidate, to be minimized."""
        return displayed_value(self, self.of(self.rollup, candidate.published))


def _discernibility(rollup: Rollup, candidate: Candidate) -> float:
    """Sum of squared sizes of published classes, plus the table size per suppressed person."""
    sizes = candidate.classes.sizes[candidate.published_mask]
    return float(sizes @ sizes) + float(candidate.suppressed) * rollup.people


def _average_class_size(rollup: Rollup, candidate: Candidate) -> float:
    return rollup.people / (candidate.published_classes + (candidate.suppressed > 0))


def _information(rollup: Rollup, candidate: Candidate) -> float:
    """I(X~;W), summed over all sensitive attributes.

    No term of the sum is negative, and merging increases none.
    """
    bits = 0.0
    for name, raw in rollup.contingency.cells.items():
        cells, _ = rollup.tally("count", name, candidate.classes).cells(
            candidate.classes.of_raw, candidate.published_mask
        )
        ratio = (
            cells.mass
            * raw.marginal.sum()
            / (cells.totals[cells.class_index] * raw.marginal[cells.value])
        )
        bits += float((cells.mass * np.log2(ratio)).sum()) / float(raw.marginal.sum())
    return bits


def _counted_information(rollup: Rollup) -> CountedObjective:
    if not rollup.contingency.cells:
        raise BadInput(
            "the objective 'information' is about a sensitive attribute, and none was named",
            hint=f"name it with {arg('sensitive')}",
        )
    return CountedObjective(rollup, "information", _information, "high")


def _user_objective(rollup: Rollup, function: UserFunction) -> CountedObjective:
    def of(rollup: Rollup, candidate: Candidate) -> float:
        levels = rollup.lattice.levels_by_column(candidate.node)
        recoding = recode(rollup, candidate)
        counts = published(rollup.contingency, recoding).roll_up(recoding.columns)
        cost = float(function(levels, counts, candidate.suppressed))
        if np.isnan(cost):
            raise BadInput(
                f"the objective function gave no number for the levels "
                f"{outside(class_name(levels))}"
            )
        return cost

    return CountedObjective(rollup, "own", of, grows=False)


# Objectives that add up over people and columns, so that the cost of a node without suppression is
# known before counting.
#
# - loss: that of ARX. Per column, the shares of the hierarchy's leaves under the published labels,
#   summed over people, minus the sum for the original values, relative to publishing nothing. A
#   suppressed person counts as a full loss. Columns are combined by the geometric mean of
#   (1 + loss) - 1, or by the arithmetic mean.
# - precision (Sweeney 2002): 1 - the mean of level / height; high is good.
# - non-uniform entropy (de Waal and Willenborg 1999; Gionis and Tassa 2009): -log2 P(value | label)
#   summed over people and columns, with probabilities from the original table, relative to
#   suppressing everything.
@dataclass(frozen=True, eq=False)
class ColumnCost:
    """Cost of one person's value in one column."""

    published: tuple[Floats, ...] = field(repr=False)
    """Cost by position in the domain, for each level."""
    suppressed: Floats = field(repr=False)
    """Cost of suppression by position in the domain."""
    min_total: float
    """The total that corresponds to 0."""
    max_total: float
    """The total that corresponds to 1."""

    def relative(self, total: float) -> float:
        """Convert a total to the scale from least to most."""
        if self.max_total > self.min_total:
            return (total - self.min_total) / (self.max_total - self.min_total)
        return 0.0


@dataclass(frozen=True, eq=False)
class ColumnwiseObjective:
    """The (weighted) mean of the columns' relative costs."""

    rollup: Rollup
    name: str
    columns: tuple[ColumnCost, ...]
    weights: Floats
    """Weights of the columns, which sum to 1."""
    geometric: bool = False
    better: Better = "low"

    @cached_property
    def _by_level(self) -> tuple[Floats, ...]:
        """Total cost at each level without suppression, by column."""
        contingency = self.rollup.contingency
        costs = []
        for key, codes, column in zip(
            contingency.own_keys, contingency.own_codes, self.columns, strict=True
        ):
            people = arrays.sum_by_id(codes, self.rollup.sizes, len(key))
            costs.append(np.array([people @ level for level in column.published]))
        return tuple(costs)

    @cached_property
    def _relative(self) -> tuple[Floats, ...]:
        return tuple(
            np.array([column.relative(total) for total in totals])
            for column, totals in zip(self.columns, self._by_level, strict=True)
        )

    def _combined(self, relative: Sequence[float]) -> float:
        numbers = np.asarray(relative)
        if self.geometric:
            mean = np.exp(self.weights @ np.log1p(numbers)) - 1.0
        else:
            mean = self.weights @ numbers
        if self.better == "low":
            return float(mean)
        return float(mean) - 1.0

    def bound(self, node: Node, left_out: float = 0.0) -> float:
        """Lower bound of the cost of this node and every coarser one.

        At least `left_out` people are suppressed. If nobody is, it is the node's own cost without
        suppression: levels only rise. Let R be the suppressed people of a column. The column costs
        the sum over the others of the cost of publishing, plus the sum over R of the cost of
        suppression. No value is cheaper at a coarser level (shares of leaves, levels and the people
        under a label only grow). Suppressing a value never costs less than publishing it. So the
        cost is at least the column's cost at this node's level plus the sum over R of the
        additional cost of suppression there. For any R, that is at least the sum of the smallest of
        these additions, over the minimum size of R.
        """
        relative = [relative[level] for relative, level in zip(self._relative, node, strict=True)]
        if left_out > 0:
            added = zip(self._added, self.columns, self._by_level, node, strict=True)
            relative = [
                column.relative(
                    totals[level] + (1 - _ROUNDING) * float(np.interp(left_out, *by_level[level]))
                )
                for by_level, column, totals, level in added
            ]
        return self._combined(relative)

    @cached_property
    def _added(self) -> tuple[tuple[tuple[Floats, Floats], ...], ...]:
        """Numbers of people, and the least cost of suppressing that many, by column and level."""
        contingency = self.rollup.contingency
        additions = []
        for key, codes, column in zip(
            contingency.own_keys, contingency.own_codes, self.columns, strict=True
        ):
            people = arrays.sum_by_id(codes, self.rollup.sizes, len(key))
            levels = []
            for at_level in column.published:
                more = np.maximum(column.suppressed - at_level, 0.0)
                order = np.argsort(more)
                ends = [np.cumsum(people[order]), np.cumsum((people * more)[order])]
                levels.append((np.append(0.0, ends[0]), np.append(0.0, ends[1])))
            additions.append(tuple(levels))
        return tuple(additions)

    def parts(self) -> tuple[Floats, ...]:
        """Contribution of each level to the bound, by column, on an additive scale."""
        scale = np.log1p if self.geometric else np.asarray
        return tuple(
            weight * scale(relative)
            for weight, relative in zip(self.weights, self._relative, strict=True)
        )

    def bounds(self) -> Floats:
        """Lower bounds of all nodes."""
        sums = np.zeros(self.rollup.lattice.shape)
        for position, part in enumerate(self.parts()):
            sums += part.reshape([-1 if axis == position else 1 for axis in range(sums.ndim)])
        if self.geometric:
            mean = np.expm1(sums)
        else:
            mean = sums
        if self.better == "low":
            return mean
        return mean - 1.0

    def floor(self, classes: Classes) -> float:
        """Lower bound of the cost of this node and every coarser one: levels only rise."""
        return self.bound(classes.node)

    def cost(self, candidate: Candidate) -> float:
        """Cost by level for published classes, and cost of suppression for the rest."""
        left_out = np.flatnonzero(candidate.suppressed_raw)
        people = self.rollup.sizes[left_out]
        relative = []
        for column, codes, totals, level in zip(
            self.columns,
            self.rollup.contingency.own_codes,
            self._by_level,
            candidate.node,
            strict=True,
        ):
            suppressed_codes = codes[left_out]
            # A plain sum: a dot product would start threads, which costs more than it saves here.
            more = float(
                (
                    people
                    * (
                        column.suppressed[suppressed_codes]
                        - column.published[level][suppressed_codes]
                    )
                ).sum()
            )
            relative.append(column.relative(totals[level] + more))
        return self._combined(relative)


def _loss(rollup: Rollup, name: str, *, geometric: bool) -> ColumnwiseObjective:
    people = float(rollup.people)
    columns = []
    for column_levels in rollup.lattice.columns:
        shares = tuple(level.shares for level in column_levels.levels)
        columns.append(
            ColumnCost(shares, np.ones(len(shares[0])), people / column_levels.leaves, people)
        )
    return ColumnwiseObjective(rollup, name, tuple(columns), _equal_weights(columns), geometric)


def _precision(rollup: Rollup) -> ColumnwiseObjective:
    columns = []
    for column_levels in rollup.lattice.columns:
        values = len(column_levels.levels[0].codes)
        height = max(column_levels.height, 1)
        levels = tuple(
            np.full(values, level / height) for level in range(len(column_levels.levels))
        )
        columns.append(ColumnCost(levels, np.ones(values), 0.0, float(rollup.people)))
    return ColumnwiseObjective(
        rollup, "precision", tuple(columns), _equal_weights(columns), better="high"
    )


def _non_uniform_entropy(rollup: Rollup) -> ColumnwiseObjective:
    columns = []
    for column_levels, codes in zip(
        rollup.lattice.columns, rollup.contingency.own_codes, strict=True
    ):
        frequencies = arrays.sum_by_id(codes, rollup.sizes, len(column_levels.levels[0].codes))
        published = tuple(
            np.log2(arrays.sum_by_id(level.codes, frequencies)[level.codes] / frequencies)
            for level in column_levels.levels
        )
        suppressed = np.log2(rollup.people / frequencies)
        columns.append(ColumnCost(published, suppressed, 0.0, float(frequencies @ suppressed)))
    max_costs = np.array([column.max_total for column in columns])
    if max_costs.sum() > 0:
        weights = max_costs / max_costs.sum()
    else:
        weights = _equal_weights(columns)
    return ColumnwiseObjective(rollup, "non_uniform_entropy", tuple(columns), weights)


def _equal_weights(columns: Sequence[ColumnCost]) -> Floats:
    return np.full(len(columns), 1.0 / len(columns))


Objective = CountedObjective | ColumnwiseObjective
ObjectiveName = Literal[
    "loss",
    "arithmetic_loss",
    "precision",
    "non_uniform_entropy",
    "discernibility",
    "average_class_size",
    "information",
]
OBJECTIVES: dict[str, Callable[[Rollup], Objective]] = {
    "loss": lambda rollup: _loss(rollup, "loss", geometric=True),
    "arithmetic_loss": lambda rollup: _loss(rollup, "arithmetic_loss", geometric=False),
    "precision": _precision,
    "non_uniform_entropy": _non_uniform_entropy,
    "discernibility": lambda rollup: CountedObjective(rollup, "discernibility", _discernibility),
    "average_class_size": lambda rollup: CountedObjective(
        rollup, "average_class_size", _average_class_size
    ),
    "information": _counted_information,
}


def find_objective(rollup: Rollup, name: str | UserFunction) -> Objective:
    """Return the objective with a name, or the one of a user's function."""
    if callable(name):
        return _user_objective(rollup, name)
    if name not in OBJECTIVES:
        raise BadInput(f"there is no objective {name!r}", hint=nearest(str(name), OBJECTIVES))
    return OBJECTIVES[name](rollup)
