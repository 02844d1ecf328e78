# SPDX-License-Identifier: Apache-2.0
"""Both searches on synthetic lattices, deeper than random tables allow.

They have nodes that exclude finer ones, gaps in between, and any costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.generalization.constraints import Candidate
from divulge.generalization.exact_search import exhaust
from divulge.generalization.large_lattice_search import explore
from divulge.generalization.lattice import ColumnLevels, Lattice, Level, Node
from divulge.generalization.search_state import SearchProblem, SearchState
from divulge.hierarchies import Hierarchy


@dataclass(frozen=True)
class MadeUp:
    """A lattice with explicitly listed solutions and costs."""

    shape: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    """Cost of each level of each column; a level never costs less than the one below."""
    hopeless: tuple[Node, ...]
    """Nodes that are no solutions, like all finer ones, which checking one of them proves."""
    odd: frozenset[Node]
    """Other nodes that are no solutions, which proves nothing about other nodes."""
    extra: tuple[int, ...]
    """Cost of suppression of each node in addition to its minimum."""
    falls: tuple[int, ...]
    """Decrease of suppressed people with each level of a column; each person costs 1."""
    counted: bool
    """True if costs are known only after a check, as with discernibility."""

    @property
    def nodes(self) -> list[Node]:
        return list(product(*map(range, self.shape)))

    def bound(self, node: Node) -> float:
        return float(sum(steps[level] for steps, level in zip(self.steps, node, strict=True)))

    def cost(self, node: Node) -> float:
        return self.bound(node) + self.owed(node) + self.extra[self.nodes.index(node)]

    def owed(self, node: Node) -> float:
        """People that this node and every finer one suppress at least."""
        below = (levels - 1 - level for levels, level in zip(self.shape, node, strict=True))
        return float(sum(fall * steps for fall, steps in zip(self.falls, below, strict=True)))

    def excluded(self, node: Node) -> bool:
        return any(
            all(level <= limit for level, limit in zip(node, other, strict=True))
            for other in self.hopeless
        )

    @property
    def optimum(self) -> float:
        return min(
            (
                self.cost(node)
                for node in self.nodes
                if not self.excluded(node) and node not in self.odd
            ),
            default=np.inf,
        )

    def problem(self) -> SearchProblem:
        """The lattice as the problem that the searches expect."""
        level = Level(np.zeros(1, dtype=np.int64), ("x",), np.ones(1))
        columns = (
            ColumnLevels(f"c{i}", (level,) * levels, Hierarchy(f"c{i}", {"x": ("x",) * levels}))
            for i, levels in enumerate(self.shape)
        )
        lattice = Lattice(tuple(columns))

        def check(node: Node) -> Candidate:
            excluded = self.excluded(node)
            obstacle: Any = "a rule" if excluded or node in self.odd else None
            return Candidate(
                node,
                cast("Any", SimpleNamespace(node=node)),
                np.ones(1, dtype=bool),
                0,
                obstacle,
                np.inf if excluded else self.owed(node),
            )

        def bounds() -> Any:
            unknown = [-np.inf if self.counted else self.bound(node) for node in self.nodes]
            return np.array(unknown).reshape(self.shape)

        rollup = SimpleNamespace(lattice=lattice, classes=lambda node: SimpleNamespace(node=node))
        judge = SimpleNamespace(
            rollup=rollup, check=check, excludes_finer=lambda candidate: candidate.owed == np.inf
        )
        objective = SimpleNamespace(
            bound=lambda node, left_out=0.0: (
                -np.inf if self.counted else self.bound(node) + left_out
            ),
            parts=lambda: tuple(
                np.array(steps, dtype=float) * (not self.counted) for steps in self.steps
            ),
            bounds=bounds,
            floor=lambda classes: self.bound(classes.node),
            cost=lambda candidate: self.cost(candidate.node),
        )
        return SearchProblem(cast("Any", judge), cast("Any", objective))


@st.composite
def made_up(draw: st.DrawFn) -> MadeUp:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    nodes = list(product(*map(range, shape)))
    steps = tuple(
        tuple(np.cumsum(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))).tolist())
        for n in shape
    )
    extra = np.random.default_rng(draw(st.integers(0, 99))).integers(
        0, draw(st.integers(1, 8)), len(nodes)
    )
    return MadeUp(
        shape,
        steps,
        tuple(draw(st.lists(st.sampled_from(nodes), max_size=6))),
        frozenset(draw(st.lists(st.sampled_from(nodes), max_size=12))),
        tuple(extra.tolist()),
        tuple(draw(st.lists(st.integers(0, 2), min_size=len(shape), max_size=len(shape)))),
        draw(st.booleans()),
    )


@pytest.mark.parametrize("method", [exhaust, explore], ids=["laid out", "large"])
@given(world=made_up())
@settings(deadline=None, max_examples=150)
def test_the_optimum_is_found_and_proved(method: Any, world: MadeUp) -> None:
    seen = SearchState(world.problem())
    lowest = method(seen)
    assert seen.cost == world.optimum
    assert seen.cost <= lowest
    assert (seen.best is None) == (world.optimum == np.inf)


@pytest.mark.parametrize("method", [exhaust, explore], ids=["laid out", "large"])
@given(world=made_up())
@settings(deadline=None, max_examples=60)
def test_all_optima(method: Any, world: MadeUp) -> None:
    seen = SearchState(world.problem(), keep_ties=True)
    method(seen)
    solutions = [node for node in world.nodes if not world.excluded(node) and node not in world.odd]
    assert sorted(seen.ties) == sorted(
        node for node in solutions if world.cost(node) == world.optimum
    )


@pytest.mark.parametrize("method", [exhaust, explore], ids=["laid out", "large"])
@given(world=made_up(), looks=st.integers(0, 30))
@settings(deadline=None, max_examples=150)
def test_a_stopped_search_reports_a_valid_gap(method: Any, world: MadeUp, looks: int) -> None:
    class StopsEarly(SearchState):
        @property
        def out_of_time(self) -> bool:
            return self.checked >= looks

    seen = StopsEarly(world.problem())
    lowest = method(seen)
    assert seen.cost >= world.optimum
    assert min(seen.cost, lowest) <= world.optimum
