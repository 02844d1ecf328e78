# SPDX-License-Identifier: Apache-2.0
"""What a search is given and what it has seen so far: the common ground of the exact search and the one under a time limit."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from divulge.arrays import Floats, Ints
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
# and looks at them. The other divides the lattice into boxes, all nodes from a lowest to a highest one, and takes the box with the least
# bound. The least bound that waits is a cost that no solution undercuts; when it reaches the best solution, that is the optimum, and the
# gap is closed. Last, the best solution goes down to finer neighbours that cost the same, as long as there are any.
#
# Every node lies in exactly one box that waits, unless it was looked at or cannot be a solution:
# - A node e that excludes every finer one divides a box whose lowest node is finer. Each solution in it is above e in some column. In
#   some order of the columns, those above e in the first of them make one box, those above it in the second but not in the first
#   another, and so on. A box that is nowhere above e is excluded as a whole. Of several such e the one is taken whose cheapest box costs
#   most, and the cheapest box comes last, for it is cut in the most columns.
# - A lowest node that was looked at and excludes nothing divides its box in the same way: every other node is above it somewhere.
# - The bound of a box: every node in it is coarser than the lowest, and finer than the highest, so that it leaves out at least as many
#   people as the highest proves for all finer nodes (objectives.py says what both cost at least).
@dataclass(eq=False)
class _Explorer:
    seen: SearchState
    excluded: Ints
    """Nodes that exclude every finer one, row by row, none finer than another."""
    down: list[tuple[float, Node]] = field(default_factory=list)
    """Solutions whose finer neighbours wait, the cheapest first."""
    boxes: list[tuple[float, Node, Node]] = field(default_factory=list)
    """Bound, lowest and highest node of what waits, the least bound first."""
    looked: dict[Node, tuple[bool, float, float, float]] = field(default_factory=dict)
    """Node to whether it excludes finer ones, its cost, its floor, and the people that finer ones must leave out."""

    @property
    def lattice(self) -> Lattice:
        return self.seen.problem.region

    @cached_property
    def rises(self) -> Floats:
        """Row by row, what each level of a column adds to the bound, on a scale on which columns add up; infinite above the highest."""
        levels = max(self.lattice.shape) + 1
        found = np.full((len(self.lattice.shape), levels), np.inf)
        for column, parts in enumerate(self.seen.problem.objective.parts()):
            height = self.lattice.shape[column]
            found[column, :height] = parts[:height]
        return found

    def look(self, node: Node) -> tuple[bool, float, float, float]:
        """Check a node once."""
        if node not in self.looked:
            problem = self.seen.problem
            candidate, cost = self.seen.look(node)
            excludes = problem.judge.excludes_finer(candidate)
            self.looked[node] = excludes, cost, problem.objective.floor(candidate.classes), candidate.owed
            if excludes and not (self.excluded >= np.array(node)).all(axis=1).any():
                covered = (self.excluded <= np.array(node)).all(axis=1)
                self.excluded = np.concatenate([self.excluded[~covered], [node]])
        return self.looked[node]

    def too_dear(self, node: Node) -> bool:
        return self.seen.problem.objective.bound(node) >= self.seen.threshold

    def step_down(self) -> None:
        """Look at the finer neighbours of the cheapest solution."""
        if not self.down:
            return
        _, node = heapq.heappop(self.down)
        for finer in self.lattice.finer_neighbours(node):
            is_excluded = (self.excluded >= np.array(finer)).all(axis=1).any()
            if finer in self.looked or is_excluded or self.too_dear(finer):
                continue
            cost = self.look(finer)[1]
            if np.isfinite(cost):
                heapq.heappush(self.down, (cost, finer))
            if self.seen.out_of_time:
                return

    def step_up(self) -> bool:
        """Raise the least bound; False when it has reached the best solution."""
        while self.boxes and not self.seen.out_of_time:
            bound, low, high = heapq.heappop(self.boxes)
            if bound >= self.seen.threshold:
                heapq.heappush(self.boxes, (bound, low, high))
                return False
            above = self._excluder(low, high)
            if above is not None:
                self._divide(bound, low, high, above)
                continue
            excludes, _, _, owed = self.look(high)
            if excludes:
                self._climb(high)
                continue
            tighter = max(bound, self.seen.problem.objective.bound(low, owed))
            if tighter > bound:
                heapq.heappush(self.boxes, (tighter, low, high))
                return True
            excludes, _, floor, _ = self.look(low)
            if excludes:
                self._climb(low)
                heapq.heappush(self.boxes, (bound, low, high))
            else:
                self._divide(max(bound, floor), low, high, low)
            return True
        return bool(self.boxes)

    def _excluder(self, low: Node, high: Node) -> Node | None:
        """A node known to exclude the lowest one of a box: the one above which everything in the box is dearest."""
        covering = self.excluded[(self.excluded >= np.array(low)).all(axis=1)]
        if not len(covering):
            return None
        columns = np.arange(len(low))
        added = self.rises[columns, covering + 1] - self.rises[columns, list(low)]
        cheapest = np.where(covering < np.array(high), added, np.inf).min(axis=1)
        return tuple(covering[np.argmax(cheapest)].tolist())

    def _divide(self, bound: float, low: Node, high: Node, below: Node) -> None:
        """The boxes of a box in which some column is above a node that is not below its lowest one."""
        columns = [i for i, (level, most) in enumerate(zip(below, high, strict=True)) if level < most]
        columns.sort(key=lambda i: -(self.rises[i, below[i] + 1] - self.rises[i, low[i]]))
        for i in columns:
            lowest = (*low[:i], below[i] + 1, *low[i + 1 :])
            dearer = max(bound, self.seen.problem.objective.bound(lowest))
            heapq.heappush(self.boxes, (dearer, lowest, high))
            high = (*high[:i], below[i], *high[i + 1 :])

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
    bottom, top = (0,) * columns, explorer.lattice.top
    explorer.boxes.append((seen.problem.objective.floor(seen.problem.rollup.classes(bottom)), bottom, top))
    cost = explorer.look(top)[1]
    if np.isfinite(cost):
        explorer.down.append((cost, top))
    while explorer.step_up() and not seen.out_of_time:
        explorer.step_down()
    explorer.settle_ties()
    return explorer.boxes[0][0] if explorer.boxes else np.inf
