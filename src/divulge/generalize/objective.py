# SPDX-License-Identifier: Apache-2.0
"""What a generalization costs: the common face of all objectives, those that follow from the classes, and one's own function.

Costs are minimized; the value shown is the cost, or its negative where high is good. Each objective gives bounds that make a search
short. Additive ones (columnwise.py) know the cost of every node without suppression, and suppressing never makes it cheaper. Those here
know that merging never makes the cost without suppression smaller. A function of the user's promises nothing, so every node that
may keep the promises is looked at.

- discernibility (Bayardo and Agrawal 2005): each person costs as many as share the class, a suppressed one as many as there are.
- average class size (LeFevre et al. 2006): people per class; those suppressed are one class.
- information (Bezzi 2010, section 4): I(X~;W) kept, high is good; what the suppressed could have told is lost. Several sensitive
  attributes add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from divulge.arrays import Bools, Floats
from divulge.count import Contingency
from divulge.errors import BadInput
from divulge.generalize.check import Candidate
from divulge.generalize.lattice import Node
from divulge.generalize.plan import published, recode
from divulge.generalize.rollup import Classes, Rollup

Better = Literal["low", "high"]
UserFunction = Callable[[Mapping[str, int], Contingency, int], float]
"""(levels by column, the counts that would be published, people suppressed) to a cost; low is good."""


class Objective(Protocol):
    """What a search minimizes."""

    @property
    def name(self) -> str:
        """For results."""

    @property
    def better(self) -> Better:
        """Which end of the shown value is good."""

    def bound(self, node: Node) -> float:
        """A cost that the node cannot undercut, known without counting."""

    def bounds(self) -> Floats:
        """The same for all nodes of the lattice."""

    def floor(self, classes: Classes) -> float:
        """A cost that neither this node nor any coarser one can undercut."""

    def cost(self, candidate: Candidate) -> float:
        """The cost of publishing a candidate."""


def shown(objective: Objective, cost: float) -> float:
    """The value for people."""
    return cost if objective.better == "low" else 0.0 - cost


@dataclass(frozen=True, eq=False)
class _Counted:
    """An objective that is known only after counting."""

    rollup: Rollup

    def bound(self, node: Node) -> float:  # noqa: ARG002 - the protocol's name
        """Nothing is known before counting."""
        return -np.inf

    def bounds(self) -> Floats:
        """Nothing is known before counting."""
        return np.full(self.rollup.lattice.shape, -np.inf)


@dataclass(frozen=True, eq=False)
class Discernibility(_Counted):
    """The sum of squared class sizes; a suppressed person costs the size of the table."""

    name: str = "discernibility"
    better: Better = "low"

    def floor(self, classes: Classes) -> float:
        """Every class published: a suppressed person costs no less."""
        return float(classes.sizes @ classes.sizes)

    def cost(self, candidate: Candidate) -> float:
        """Squares of what is published, and the whole table for each of the others."""
        sizes = candidate.classes.sizes[candidate.kept]
        return float(sizes @ sizes) + float(candidate.suppressed) * self.rollup.people


@dataclass(frozen=True, eq=False)
class AverageClassSize(_Counted):
    """People per class."""

    name: str = "average_class_size"
    better: Better = "low"

    def floor(self, classes: Classes) -> float:
        """Suppressing makes no class more."""
        return self.rollup.people / len(classes)

    def cost(self, candidate: Candidate) -> float:
        """The suppressed are one class."""
        return self.rollup.people / (candidate.published_classes + (candidate.suppressed > 0))


@dataclass(frozen=True, eq=False)
class Information(_Counted):
    """I(X~;W), all sensitive attributes together."""

    name: str = "information"
    better: Better = "high"

    def __post_init__(self) -> None:
        if not self.rollup.contingency.cells:
            raise BadInput(
                "the objective 'information' is about a sensitive attribute, and none was named",
                hint="name it with sensitive=",
            )

    def floor(self, classes: Classes) -> float:
        """All classes together: no part of the sum is negative, and merging lets none grow."""
        return self._lost(classes, np.ones(len(classes), dtype=bool))

    def cost(self, candidate: Candidate) -> float:
        """What the published classes tell."""
        return self._lost(candidate.classes, candidate.kept)

    def _lost(self, classes: Classes, kept: Bools) -> float:
        bits = 0.0
        for name, raw in self.rollup.contingency.cells.items():
            cells, _ = self.rollup.tally("count", name, classes).cells(classes.of_raw, kept)
            ratio = cells.mass * raw.marginal.sum() / (cells.totals[cells.class_index] * raw.marginal[cells.value])
            bits += float((cells.mass * np.log2(ratio)).sum()) / float(raw.marginal.sum())
        return -bits


@dataclass(frozen=True, eq=False)
class Own(_Counted):
    """A function of the user's."""

    function: UserFunction
    name: str = "own"
    better: Better = "low"

    def floor(self, classes: Classes) -> float:  # noqa: ARG002 - the protocol's name
        """Nothing is known about coarser nodes."""
        return -np.inf

    def cost(self, candidate: Candidate) -> float:
        """Whatever the function says."""
        counts = published(self.rollup.contingency, recode(self.rollup, candidate))
        cost = float(self.function(self.rollup.lattice.named(candidate.node), counts, candidate.suppressed))
        if np.isnan(cost):
            raise BadInput(
                f"the objective function gave no number for levels {self.rollup.lattice.named(candidate.node)}"
            )
        return cost
