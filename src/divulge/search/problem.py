# SPDX-License-Identifier: Apache-2.0
"""What a search is given and what it has seen so far: the common ground of the exact search and the one under a time limit."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from divulge.arrays import Ints
from divulge.search.judge import Candidate, Judge
from divulge.search.lattice import Lattice, Node, Rollup
from divulge.search.objectives import Objective, shown
from divulge.search.plan import CheckedNode

TIE = 1e-12
"""Costs closer than this are the same."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Promises to keep and a cost to keep low."""

    judge: Judge
    objective: Objective
    ceiling: Node | None = None
    """The highest level that each column may have; None: that of the lattice."""

    @property
    def rollup(self) -> Rollup:
        """The counts."""
        return self.judge.rollup

    @cached_property
    def region(self) -> Lattice:
        """The part of the lattice that is searched; levels have the same numbers in both."""
        lattice = self.rollup.lattice
        if self.ceiling is None:
            return lattice
        cut = zip(lattice.ladders, self.ceiling, strict=True)
        return Lattice(tuple(replace(ladder, levels=ladder.levels[: high + 1]) for ladder, high in cut))


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
    most_nodes: float = np.inf
    """How many nodes may be looked at."""
    rival: Candidate | None = None
    """Where it is given: stop at the first solution that is better than this one."""
    best: Candidate | None = None
    cost: float = np.inf
    ties: list[Node] = field(default_factory=list)
    nodes: list[CheckedNode] = field(default_factory=list)
    checked: int = 0

    @property
    def out_of_time(self) -> bool:
        """Whether to stop."""
        beaten = self.rival is not None and self.best is not self.rival
        return beaten or self.checked >= self.most_nodes or time.monotonic() >= self.deadline

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


# --- large lattices ---------------------------------------------------------------------------------------------------
# Lattices too large to lay out: a search that may be stopped at any time and says how much better a solution could still be.
#
# Two searches take turns. One goes down from the top: it takes the cheapest solution whose finer neighbours have not been looked at
# and looks at them. The other goes up from the bottom by bound: a node under one that excludes every finer one is replaced
# by the least coarser nodes that are not; one that excludes nothing is replaced by its coarser neighbours. The least bound that
# waits there is a cost that no solution undercuts; when it reaches the best solution, that is the optimum, and the gap is closed. Last, the
# best solution goes down to finer neighbours that cost the same, as long as there are any.
@dataclass(eq=False)
class _Frontier:
    """Nodes that wait, least bound first, each once."""

    heap: list[tuple[float, Node]] = field(default_factory=list)
    known: set[Node] = field(default_factory=set)

    def push(self, bound: float, node: Node) -> None:
        if node not in self.known:
            self.known.add(node)
            heapq.heappush(self.heap, (bound, node))


@dataclass(eq=False)
class _Explorer:
    seen: SearchState
    excluded: Ints
    """Nodes that exclude every finer one, row by row, none finer than another."""
    down: _Frontier = field(default_factory=_Frontier)
    up: _Frontier = field(default_factory=_Frontier)
    looked: dict[Node, tuple[bool, float, float]] = field(default_factory=dict)
    """Node to whether it excludes finer ones, its cost, and its floor."""

    @property
    def lattice(self) -> Lattice:
        return self.seen.problem.region

    def look(self, node: Node) -> tuple[bool, float, float]:
        """Check a node once."""
        if node not in self.looked:
            problem = self.seen.problem
            candidate, cost = self.seen.look(node)
            excludes = problem.judge.excludes_finer(candidate)
            self.looked[node] = excludes, cost, problem.objective.floor(candidate.classes)
            if excludes and self.excluder(node) is None:
                covered = (self.excluded <= np.array(node)).all(axis=1)
                self.excluded = np.concatenate([self.excluded[~covered], [node]])
        return self.looked[node]

    def excluder(self, node: Node) -> Node | None:
        """A node known to exclude this one."""
        covering = np.flatnonzero(np.all(self.excluded >= np.array(node), axis=1))
        return tuple(self.excluded[covering[0]].tolist()) if len(covering) else None

    def too_dear(self, node: Node) -> bool:
        return self.seen.problem.objective.bound(node) >= self.seen.threshold

    def step_down(self) -> None:
        """Look at the finer neighbours of the cheapest solution."""
        if not self.down.heap:
            return
        _, node = heapq.heappop(self.down.heap)
        for finer in self.lattice.finer_neighbours(node):
            if finer in self.down.known or self.excluder(finer) is not None or self.too_dear(finer):
                continue
            _, cost, _ = self.look(finer)
            if np.isfinite(cost):
                self.down.push(cost, finer)
            if self.seen.out_of_time:
                return

    def step_up(self) -> bool:
        """Raise the least bound; False when it has reached the best solution."""
        while self.up.heap and not self.seen.out_of_time:
            bound, node = heapq.heappop(self.up.heap)
            if bound >= self.seen.threshold:
                heapq.heappush(self.up.heap, (bound, node))
                return False
            above = self.excluder(node)
            if above is not None:
                for next_node in self._beyond(node, above):
                    self.up.push(max(bound, self.seen.problem.objective.bound(next_node)), next_node)
                continue
            excludes, _, floor = self.look(node)
            if excludes:
                self._climb(node)
                heapq.heappush(self.up.heap, (bound, node))
            else:
                for coarser in self.lattice.coarser_neighbours(node):
                    self.up.push(max(bound, floor, self.seen.problem.objective.bound(coarser)), coarser)
            return True
        return bool(self.up.heap)

    def _climb(self, node: Node) -> None:
        """From a node that excludes every finer one to coarser ones that still do, so that they exclude more."""
        columns = len(node)
        first = len(self.excluded) % columns  # another column each time, so that the excluded regions differ
        for column in (*range(first, columns), *range(first)):
            low, high = node[column], self.lattice.shape[column] - 1
            while low < high and not self.seen.out_of_time:
                middle = (low + high + 1) // 2
                coarser = (*node[:column], middle, *node[column + 1 :])
                if not self.too_dear(coarser) and self.look(coarser)[0]:
                    node, low = coarser, middle
                else:
                    high = middle - 1

    def _beyond(self, node: Node, above: Node) -> Iterator[Node]:
        """The least coarser nodes of `node` that are not finer than `above`."""
        for i, level in enumerate(above):
            if level + 1 < self.lattice.shape[i]:
                yield (*node[:i], level + 1, *node[i + 1 :])

    def settle_ties(self) -> None:
        """Go down while a finer neighbour is as good."""
        seen, best = self.seen, None
        while seen.best is not None and seen.best is not best:
            best = seen.best
            for finer in sorted(self.lattice.finer_neighbours(best.node)):
                dear = seen.problem.objective.bound(finer) > seen.cost + seen.slack
                inside = all(level < levels for level, levels in zip(finer, self.lattice.shape, strict=True))
                if finer not in self.looked and inside and not dear and seen.checked < seen.most_nodes:
                    self.look(finer)


def explore(seen: SearchState) -> float:
    """Search until the time is up or the gap is closed; returns the least cost a node not looked at could still have."""
    columns = len(seen.problem.region.shape)
    explorer = _Explorer(seen, np.empty((0, columns), dtype=np.int64))
    bottom = (0,) * columns
    explorer.up.push(seen.problem.objective.floor(seen.problem.rollup.classes(bottom)), bottom)
    _, cost, _ = explorer.look(explorer.lattice.top)
    if np.isfinite(cost):
        explorer.down.push(cost, explorer.lattice.top)
    while explorer.step_up() and not seen.out_of_time:
        explorer.step_down()
    explorer.settle_ties()
    return explorer.up.heap[0][0] if explorer.up.heap else np.inf
