# SPDX-License-Identifier: Apache-2.0
"""Problem and state of a lattice search: checked nodes, the best solution, and when to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from divulge.generalization.constraints import Candidate, NodeChecker
from divulge.generalization.lattice import Lattice, Node
from divulge.generalization.objectives import Objective, displayed_value
from divulge.generalization.plan import CheckedNode
from divulge.generalization.rollup import Rollup

TIE = 1e-12
"""Costs with a smaller difference are treated as equal."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Requirements to meet and a cost to minimize."""

    checker: NodeChecker
    objective: Objective
    ceiling: Node | None = None
    """The highest level that each column may have; None for that of the lattice."""

    @property
    def rollup(self) -> Rollup:
        """The counts by class."""
        return self.checker.rollup

    @cached_property
    def region(self) -> Lattice:
        """The part of the lattice that is searched; levels have the same numbers in both."""
        lattice = self.rollup.lattice
        if self.ceiling is None:
            return lattice
        cut = zip(lattice.columns, self.ceiling, strict=True)
        return Lattice(
            tuple(
                replace(column_levels, levels=column_levels.levels[: high + 1])
                for column_levels, high in cut
            )
        )


@dataclass(eq=False)
class SearchState:
    """The checked nodes, the best solution among them, and when to stop.

    Among solutions of equal cost, the one with the least sum of levels is the best. Further ties
    are decided by the level of the first column, then of the second, and so on. So details that
    cost nothing are published.
    """

    problem: SearchProblem
    keep_ties: bool = False
    keep_nodes: bool = False
    deadline: float = np.inf
    """Time limit on the clock of time.monotonic()."""
    most_nodes: float = np.inf
    """Maximum number of nodes to check."""
    rival: Candidate | None = None
    """A solution to beat: if passed, the search stops at the first better one."""
    best: Candidate | None = None
    cost: float = np.inf
    ties: list[Node] = field(default_factory=list)
    nodes: list[CheckedNode] = field(default_factory=list)
    checked: int = 0

    @property
    def out_of_time(self) -> bool:
        """True if the search has to stop."""
        beaten = self.rival is not None and self.best is not self.rival
        return beaten or self.checked >= self.most_nodes or time.monotonic() >= self.deadline

    @property
    def threshold(self) -> float:
        """Nodes whose bound reaches this cost need not be checked."""
        if self.keep_ties and self.best is not None:
            return self.cost + 2 * TIE * max(1.0, abs(self.cost))
        return self.cost

    @property
    def slack(self) -> float:
        """Maximum difference from the best cost that counts as equal."""
        return TIE * max(1.0, abs(self.cost))

    def wins_ties(self, node: Node) -> bool:
        """True if a node that costs as much as the best one would replace it."""
        return self.best is None or (sum(node), node) < (sum(self.best.node), self.best.node)

    def is_beaten(self, floor: float, node: Node) -> bool:
        """True if no node coarser than this checked one can replace the best one.

        `floor` is the lower bound of their costs.
        """
        if self.best is None or self.keep_ties:
            return floor >= self.threshold
        return floor > self.cost + self.slack or (
            floor >= self.cost - self.slack and not self.wins_ties(node)
        )

    def look(self, node: Node) -> tuple[Candidate, float]:
        """Check a node; its cost is infinite if it is not a solution."""
        candidate = self.problem.checker.check(node)
        if candidate.feasible:
            cost = self.problem.objective.cost(candidate)
        else:
            cost = np.inf
        self.checked += 1
        if candidate.feasible:
            self._compare(candidate, cost)
        if self.keep_nodes:
            node_record = CheckedNode(
                levels=self.problem.rollup.lattice.levels_by_column(node),
                feasible=candidate.feasible,
                value=displayed_value(self.problem.objective, cost) if candidate.feasible else None,
                suppressed=candidate.suppressed,
                classes=candidate.published_classes,
                obstacle=None if candidate.obstacle is None else candidate.obstacle.text,
            )
            self.nodes.append(node_record)
        return candidate, cost

    def _compare(self, candidate: Candidate, cost: float) -> None:
        slack = TIE * max(1.0, abs(cost))
        if self.best is None or cost < self.cost - slack:
            self.best, self.cost, self.ties = candidate, cost, [candidate.node]
        elif cost <= self.cost + slack:
            self.ties.append(candidate.node)
            if self.wins_ties(candidate.node):
                self.best = candidate
