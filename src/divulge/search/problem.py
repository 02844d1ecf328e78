# SPDX-License-Identifier: Apache-2.0
"""What a search is given and what it has seen so far: the common ground of the exact search and the one under a time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from divulge.search.judge import Candidate, Judge
from divulge.search.lattice import Node, Rollup
from divulge.search.objectives import Objective, shown
from divulge.search.plan import CheckedNode

TIE = 1e-12
"""Costs closer than this are the same."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Promises to keep and a cost to keep low."""

    judge: Judge
    objective: Objective

    @property
    def rollup(self) -> Rollup:
        """The counts."""
        return self.judge.rollup


@dataclass(eq=False)
class SearchState:
    """The nodes looked at, the best solution among them, and when to stop.

    Of solutions that cost the same, the one with the least sum of levels is the best, then the one whose first column is lowest, then
    its second, and so on: what costs nothing to tell is told.
    """

    problem: SearchProblem
    keep_ties: bool = False
    keep_nodes: bool = False
    deadline: float = np.inf
    """On the clock of time.monotonic()."""
    best: Candidate | None = None
    cost: float = np.inf
    ties: list[Node] = field(default_factory=list)
    nodes: list[CheckedNode] = field(default_factory=list)
    checked: int = 0

    @property
    def out_of_time(self) -> bool:
        """Whether to stop."""
        return time.monotonic() >= self.deadline

    @property
    def threshold(self) -> float:
        """Nodes whose bound reaches this need not be looked at any more."""
        return self.cost + 2 * TIE * max(1.0, abs(self.cost)) if self.keep_ties and self.best is not None else self.cost

    @property
    def slack(self) -> float:
        """How far a cost may lie from the best one and still be the same."""
        return TIE * max(1.0, abs(self.cost))

    def wins_ties(self, node: Node) -> bool:
        """Whether a node that costs as much as the best one would take its place."""
        return self.best is None or (sum(node), node) < (sum(self.best.node), self.best.node)

    def is_beaten(self, floor: float, node: Node) -> bool:
        """Whether nothing coarser than a node with this floor, which was looked at, can take the place of the best one."""
        if self.best is None or self.keep_ties:
            return floor >= self.threshold
        return floor > self.cost + self.slack or (floor >= self.cost - self.slack and not self.wins_ties(node))

    def look(self, node: Node) -> tuple[Candidate, float]:
        """Check a node; its cost is infinite where it is no solution."""
        candidate = self.problem.judge.check(node)
        cost = self.problem.objective.cost(candidate) if candidate.feasible else np.inf
        self.checked += 1
        if candidate.feasible:
            self._compare(candidate, cost)
        if self.keep_nodes:
            seen = CheckedNode(
                levels=self.problem.rollup.lattice.named(node),
                feasible=candidate.feasible,
                value=shown(self.problem.objective, cost) if candidate.feasible else None,
                suppressed=candidate.suppressed,
                classes=candidate.published_classes,
                obstacle=None if candidate.obstacle is None else candidate.obstacle.text,
            )
            self.nodes.append(seen)
        return candidate, cost

    def _compare(self, candidate: Candidate, cost: float) -> None:
        slack = TIE * max(1.0, abs(cost))
        if self.best is None or cost < self.cost - slack:
            self.best, self.cost, self.ties = candidate, cost, [candidate.node]
        elif cost <= self.cost + slack:
            self.ties.append(candidate.node)
            if self.wins_ties(candidate.node):
                self.best = candidate
