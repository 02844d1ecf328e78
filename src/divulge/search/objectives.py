# SPDX-License-Identifier: Apache-2.0
"""What a generalization costs: per column, by what follows from the classes, or by one's own function.

Costs are minimized; the value shown is the cost, or its negative where high is good. Each objective gives bounds that make a search
short. Additive ones know the cost of every node without suppression, and suppressing never makes it cheaper. Counted ones know that merging
never makes the cost without suppression smaller. A function of the user's promises nothing, so every node that may keep the promises
is looked at.

- discernibility (Bayardo and Agrawal 2005): each person costs as many as share the class, a suppressed one as many as there are.
- average class size (LeFevre et al. 2006): people per class; those suppressed are one class.
- information (Bezzi 2010, section 4): I(X~;W) kept, high is good; what the suppressed could have told is lost. Several sensitive
  attributes add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.count import Contingency
from divulge.errors import BadInput, nearest
from divulge.search.judge import Candidate, all_published
from divulge.search.lattice import Classes, Node, Rollup
from divulge.search.plan import published, recode

Better = Literal["low", "high"]
_ROUNDING = 1e-9
"""A bound that rounding lifted above a cost would exclude its node."""
UserFunction = Callable[[Mapping[str, int], Contingency, int], float]
"""(levels by column, the counts that would be published, people suppressed) to a cost; low is good."""


def shown(objective: Objective, cost: float) -> float:
    """The value for people."""
    return cost if objective.better == "low" else 0.0 - cost


@dataclass(frozen=True, eq=False)
class Counted:
    """An objective that is known only after counting."""

    rollup: Rollup
    name: str
    of: Callable[[Rollup, Candidate], float]
    """The cost, or where high is good what is kept."""
    better: Better = "low"
    grows: bool = True
    """Merging never makes it cheaper, nor does suppressing."""

    def bound(self, node: Node, left_out: float = 0.0) -> float:  # noqa: ARG002 - as Columnwise has it
        """A cost that the node cannot undercut, known without counting: nothing is."""
        return -np.inf

    def parts(self) -> tuple[Floats, ...]:
        """As Columnwise has it: no level adds anything."""
        return tuple(np.zeros(levels) for levels in self.rollup.lattice.shape)

    def bounds(self) -> Floats:
        """The same for all nodes of the lattice."""
        return np.full(self.rollup.lattice.shape, -np.inf)

    def floor(self, classes: Classes) -> float:
        """A cost that neither this node nor any coarser one can undercut: that with every class published.

        Nothing is known where a part of a published class may be left out, for that can make it cheaper.
        """
        known = self.grows and classes.published_as is None
        return self.cost(all_published(classes)) if known else -np.inf

    def cost(self, candidate: Candidate) -> float:
        """The cost of publishing a candidate, to be kept low."""
        return shown(self, self.of(self.rollup, candidate.published))


def _discernibility(rollup: Rollup, candidate: Candidate) -> float:
    """Squares of what is published, and the whole table for each of the others."""
    sizes = candidate.classes.sizes[candidate.kept]
    return float(sizes @ sizes) + float(candidate.suppressed) * rollup.people


def _average_class_size(rollup: Rollup, candidate: Candidate) -> float:
    return rollup.people / (candidate.published_classes + (candidate.suppressed > 0))


def _information(rollup: Rollup, candidate: Candidate) -> float:
    """I(X~;W), all sensitive attributes together: no part of the sum is negative, and merging lets none grow."""
    bits = 0.0
    for name, raw in rollup.contingency.cells.items():
        cells, _ = rollup.tally("count", name, candidate.classes).cells(candidate.classes.of_raw, candidate.kept)
        ratio = cells.mass * raw.marginal.sum() / (cells.totals[cells.class_index] * raw.marginal[cells.value])
        bits += float((cells.mass * np.log2(ratio)).sum()) / float(raw.marginal.sum())
    return bits


def _counted_information(rollup: Rollup) -> Counted:
    if not rollup.contingency.cells:
        raise BadInput(
            "the objective 'information' is about a sensitive attribute, and none was named",
            hint="name it with sensitive=",
        )
    return Counted(rollup, "information", _information, "high")


def _own(rollup: Rollup, function: UserFunction) -> Counted:
    def of(rollup: Rollup, candidate: Candidate) -> float:
        levels, recoding = rollup.lattice.named(candidate.node), recode(rollup, candidate)
        counts = published(rollup.contingency, recoding).roll_up(recoding.columns)
        cost = float(function(levels, counts, candidate.suppressed))
        if np.isnan(cost):
            raise BadInput(f"the objective function gave no number for levels {levels}")
        return cost

    return Counted(rollup, "own", of, grows=False)


# Objectives that add up over people and columns, so that the cost of a node without suppression is known before counting.
#
# - loss: ARX's. Per column, the shares of the hierarchy's leaves under the published labels, summed over people, less what publishing the
#   values themselves gives, relative to publishing nothing; a suppressed person has lost everything. Columns are combined by the
#   geometric mean of (1 + loss) - 1, or by the arithmetic mean.
# - precision (Sweeney 2002): 1 - the mean of level / height; high is good.
# - non-uniform entropy (de Waal and Willenborg 1999; Gionis and Tassa 2009): -log2 P(value | label) summed over people and columns,
#   probabilities from the original table, relative to suppressing everything.
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
        counted, found = self.rollup.contingency, []
        for key, codes, column in zip(counted.own_keys, counted.own_codes, self.columns, strict=True):
            people = arrays.sum_by_id(codes, self.rollup.sizes, len(key))
            found.append(np.array([people @ level for level in column.published]))
        return tuple(found)

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

    def bound(self, node: Node, left_out: float = 0.0) -> float:
        """A cost that neither this node nor any coarser one undercuts, if at least so many people are suppressed.

        If nobody is, it is the node's own cost without suppression: levels only rise. A column in which a set R is suppressed costs the
        sum over the others of what is published plus the sum over R of what suppressing costs. No value is cheaper at a coarser level
        (shares of leaves, levels and the people under a label only grow), and suppressing one never costs less than publishing it; so that
        is at least the column's cost at this node's level plus the sum over R of what suppressing adds there. Whatever R is, it is at
        least the sum of the smallest of these additions, over as many people as R has at least.
        """
        relative = [relative[level] for relative, level in zip(self._relative, node, strict=True)]
        if left_out > 0:
            added = zip(self._added, self.columns, self._by_level, node, strict=True)
            relative = [
                column.relative(totals[level] + (1 - _ROUNDING) * float(np.interp(left_out, *by_level[level])))
                for by_level, column, totals, level in added
            ]
        return self._combined(relative)

    @cached_property
    def _added(self) -> tuple[tuple[tuple[Floats, Floats], ...], ...]:
        """For each column and level: people, and the least that suppressing so many of them adds."""
        counted, found = self.rollup.contingency, []
        for key, codes, column in zip(counted.own_keys, counted.own_codes, self.columns, strict=True):
            people = arrays.sum_by_id(codes, self.rollup.sizes, len(key))
            levels = []
            for at_level in column.published:
                more = np.maximum(column.suppressed - at_level, 0.0)
                order = np.argsort(more)
                ends = [np.cumsum(people[order]), np.cumsum((people * more)[order])]
                levels.append((np.append(0.0, ends[0]), np.append(0.0, ends[1])))
            found.append(tuple(levels))
        return tuple(found)

    def parts(self) -> tuple[Floats, ...]:
        """What each level of each column adds to the bound, on a scale on which columns add up."""
        scale = np.log1p if self.geometric else np.asarray
        return tuple(weight * scale(relative) for weight, relative in zip(self.weights, self._relative, strict=True))

    def bounds(self) -> Floats:
        """The same for all nodes."""
        sums = np.zeros(self.rollup.lattice.shape)
        for position, part in enumerate(self.parts()):
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
            self.columns, self.rollup.contingency.own_codes, self._by_level, candidate.node, strict=True
        ):
            here = codes[left_out]
            # A plain sum: the product of two vectors would start threads, which costs more than it saves here.
            more = float((people * (column.suppressed[here] - column.published[level][here])).sum())
            relative.append(column.relative(totals[level] + more))
        return self._combined(relative)


def _loss(rollup: Rollup, name: str, *, geometric: bool) -> Columnwise:
    people, columns = float(rollup.people), []
    for ladder in rollup.lattice.ladders:
        shares = tuple(level.shares for level in ladder.levels)
        columns.append(ColumnCost(shares, np.ones(len(shares[0])), people / ladder.leaves, people))
    return Columnwise(rollup, name, tuple(columns), _equal_weights(columns), geometric)


def _precision(rollup: Rollup) -> Columnwise:
    columns = []
    for ladder in rollup.lattice.ladders:
        values, height = len(ladder.levels[0].codes), max(ladder.height, 1)
        levels = tuple(np.full(values, level / height) for level in range(len(ladder.levels)))
        columns.append(ColumnCost(levels, np.ones(values), 0.0, float(rollup.people)))
    return Columnwise(rollup, "precision", tuple(columns), _equal_weights(columns), better="high")


def _non_uniform_entropy(rollup: Rollup) -> Columnwise:
    columns = []
    for ladder, codes in zip(rollup.lattice.ladders, rollup.contingency.own_codes, strict=True):
        often = arrays.sum_by_id(codes, rollup.sizes, len(ladder.levels[0].codes))
        published = tuple(np.log2(arrays.sum_by_id(level.codes, often)[level.codes] / often) for level in ladder.levels)
        suppressed = np.log2(rollup.people / often)
        columns.append(ColumnCost(published, suppressed, 0.0, float(often @ suppressed)))
    most = np.array([column.most for column in columns])
    weights = most / most.sum() if most.sum() > 0 else _equal_weights(columns)
    return Columnwise(rollup, "non_uniform_entropy", tuple(columns), weights)


def _equal_weights(columns: Sequence[ColumnCost]) -> Floats:
    return np.full(len(columns), 1.0 / len(columns))


Objective = Counted | Columnwise
ObjectiveName = Literal[
    "loss", "arithmetic_loss", "precision", "non_uniform_entropy", "discernibility", "average_class_size", "information"
]
OBJECTIVES: dict[str, Callable[[Rollup], Objective]] = {
    "loss": lambda rollup: _loss(rollup, "loss", geometric=True),
    "arithmetic_loss": lambda rollup: _loss(rollup, "arithmetic_loss", geometric=False),
    "precision": _precision,
    "non_uniform_entropy": _non_uniform_entropy,
    "discernibility": lambda rollup: Counted(rollup, "discernibility", _discernibility),
    "average_class_size": lambda rollup: Counted(rollup, "average_class_size", _average_class_size),
    "information": _counted_information,
}


def find_objective(rollup: Rollup, wanted: str | UserFunction) -> Objective:
    """By name, or a function of the user's."""
    if callable(wanted):
        return _own(rollup, wanted)
    if wanted not in OBJECTIVES:
        raise BadInput(f"there is no objective {wanted!r}", hint=nearest(str(wanted), OBJECTIVES))
    return OBJECTIVES[wanted](rollup)
