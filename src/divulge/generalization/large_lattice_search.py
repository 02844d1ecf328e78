# SPDX-License-Identifier: Apache-2.0
"""Anytime search of lattices too large to lay out, with the gap that a better solution may close.

Two searches alternate. One goes down from the top: it takes the cheapest solution whose finer
neighbors have not been checked, and checks them. The other divides the lattice into boxes, all
nodes from a lowest to a highest one, and takes the box with the least bound. The least waiting
bound is a lower bound of the cost of every solution. When it reaches the best solution, that is
the optimum, and the gap is closed. Last, the best solution goes down to finer neighbors of the
same cost, as long as there are any.

Every node is in exactly one waiting box, unless it was checked or cannot be a solution:
- A node e that excludes every finer one divides a box whose lowest node is finer. Each solution
  in it is above e in some column. In some order of the columns, those above e in the first of
  them make one box, those above it in the second but not in the first another, and so on. A box
  that is nowhere above e is excluded as a whole. Of several such e, the one whose cheapest box
  costs most is taken. The cheapest box comes last, because it is cut in the most columns.
- A lowest node that was checked and excludes nothing divides its box in the same way: every other
  node is above it in some column.
- The bound of a box: every node in it is coarser than the lowest and finer than the highest. So
  it suppresses at least as many people as the highest proves for all finer nodes (objectives.py
  has the lower bounds of both costs).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.generalization.lattice import Lattice, Node
from divulge.generalization.search_state import SearchState


@dataclass(eq=False)
class _Explorer:
    state: SearchState
    excluded: Ints
    """Nodes that exclude every finer one, one per row, none finer than another."""
    down: list[tuple[float, Node]] = field(default_factory=list)
    """Solutions whose finer neighbors are waiting, the cheapest first."""
    boxes: list[tuple[float, Node, Node]] = field(default_factory=list)
    """Bound, lowest and highest node of the waiting boxes, the least bound first."""
    looked: dict[Node, tuple[bool, float, float, float]] = field(default_factory=dict)
    """Results by checked node.

    They are: whether it excludes finer nodes, its cost, its floor, and the people that finer nodes
    must suppress.
    """

    @property
    def lattice(self) -> Lattice:
        return self.state.problem.region

    @cached_property
    def rises(self) -> Floats:
        """Contribution of each level to the bound, by column, on a scale on which columns add up.

        Infinite above the highest level.
        """
        levels = max(self.lattice.shape) + 1
        least_rises = np.full((len(self.lattice.shape), levels), np.inf)
        for column, parts in enumerate(self.state.problem.objective.parts()):
            height = self.lattice.shape[column]
            least_rises[column, :height] = parts[:height]
        return least_rises

    def look(self, node: Node) -> tuple[bool, float, float, float]:
        """Check a node once."""
        if node not in self.looked:
            problem = self.state.problem
            candidate, cost = self.state.look(node)
            excludes = problem.checker.excludes_finer(candidate)
            self.looked[node] = (
                excludes,
                cost,
                problem.objective.floor(candidate.classes),
                candidate.owed,
            )
            if excludes and not (self.excluded >= np.array(node)).all(axis=1).any():
                is_finer = (self.excluded <= np.array(node)).all(axis=1)
                self.excluded = np.concatenate([self.excluded[~is_finer], [node]])
        return self.looked[node]

    def is_too_expensive(self, node: Node) -> bool:
        return self.state.problem.objective.bound(node) >= self.state.threshold

    def step_down(self) -> None:
        """Check the finer neighbors of the cheapest solution."""
        if not self.down:
            return
        _, node = heapq.heappop(self.down)
        for finer in self.lattice.finer_neighbors(node):
            is_excluded = (self.excluded >= np.array(finer)).all(axis=1).any()
            if finer in self.looked or is_excluded or self.is_too_expensive(finer):
                continue
            cost = self.look(finer)[1]
            if np.isfinite(cost):
                heapq.heappush(self.down, (cost, finer))
            if self.state.out_of_time:
                return

    def step_up(self) -> bool:
        """Raise the least bound; False if it has reached the best solution."""
        while self.boxes and not self.state.out_of_time:
            bound, low, high = heapq.heappop(self.boxes)
            if bound >= self.state.threshold:
                heapq.heappush(self.boxes, (bound, low, high))
                return False
            above = self._excluding_node(low, high)
            if above is not None:
                self._divide(bound, low, high, above)
                continue
            excludes, _, _, owed = self.look(high)
            if excludes:
                self._climb(high)
                continue
            tighter = max(bound, self.state.problem.objective.bound(low, owed))
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

    def _excluding_node(self, low: Node, high: Node) -> Node | None:
        """Return a node that excludes the lowest one of a box.

        Of several, it is the one above which the cheapest part of the box costs most.
        """
        covering = self.excluded[(self.excluded >= np.array(low)).all(axis=1)]
        if not len(covering):
            return None
        columns = np.arange(len(low))
        added = self.rises[columns, covering + 1] - self.rises[columns, list(low)]
        cheapest = np.where(covering < np.array(high), added, np.inf).min(axis=1)
        return tuple(covering[np.argmax(cheapest)].tolist())

    def _divide(self, bound: float, low: Node, high: Node, below: Node) -> None:
        """Split a box into the boxes in which some column is above the node `below`.

        That node is not below the lowest one of the box.
        """
        columns = [i for i, (level, top) in enumerate(zip(below, high, strict=True)) if level < top]
        columns.sort(key=lambda i: -(self.rises[i, below[i] + 1] - self.rises[i, low[i]]))
        for i in columns:
            lowest = (*low[:i], below[i] + 1, *low[i + 1 :])
            higher_bound = max(bound, self.state.problem.objective.bound(lowest))
            heapq.heappush(self.boxes, (higher_bound, lowest, high))
            high = (*high[:i], below[i], *high[i + 1 :])

    def _climb(self, node: Node) -> None:
        """Go from a node that excludes every finer one to coarser ones that still do.

        Coarser nodes exclude more.
        """
        columns = len(node)
        # start with another column each time, so that the excluded regions differ
        first = len(self.excluded) % columns
        for column in (*range(first, columns), *range(first)):
            low = node[column]
            high = self.lattice.shape[column] - 1
            while low < high and not self.state.out_of_time:
                middle = (low + high + 1) // 2
                coarser = (*node[:column], middle, *node[column + 1 :])
                if not self.is_too_expensive(coarser) and self.look(coarser)[0]:
                    node = coarser
                    low = middle
                else:
                    high = middle - 1

    def settle_ties(self) -> None:
        """Go down as long as a finer neighbor is as good."""
        state = self.state
        best = None
        while state.best is not None and state.best is not best:
            best = state.best
            for finer in sorted(self.lattice.finer_neighbors(best.node)):
                dear = state.problem.objective.bound(finer) > state.cost + state.slack
                inside = all(
                    level < levels for level, levels in zip(finer, self.lattice.shape, strict=True)
                )
                if (
                    finer not in self.looked
                    and inside
                    and not dear
                    and state.checked < state.most_nodes
                ):
                    self.look(finer)


def explore(state: SearchState) -> float:
    """Search until the time limit is reached or the gap is closed.

    Returns the least cost that an unchecked node could still have.
    """
    columns = len(state.problem.region.shape)
    explorer = _Explorer(state, np.empty((0, columns), dtype=np.int64))
    bottom = (0,) * columns
    top = explorer.lattice.top
    explorer.boxes.append(
        (state.problem.objective.floor(state.problem.rollup.classes(bottom)), bottom, top)
    )
    cost = explorer.look(top)[1]
    if np.isfinite(cost):
        explorer.down.append((cost, top))
    while explorer.step_up() and not state.out_of_time:
        explorer.step_down()
    explorer.settle_ties()
    if explorer.boxes:
        return explorer.boxes[0][0]
    return np.inf
