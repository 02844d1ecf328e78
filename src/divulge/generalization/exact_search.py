# SPDX-License-Identifier: Apache-2.0
"""Exact search over the lattice for the best full-domain generalization, checking few nodes.

Small lattices are laid out as an array here. For larger ones see `explore` in
large_lattice_search.py, which also proves the optimum if it has the time.

A node where too many people would have to be suppressed excludes itself and every finer one.
pruning_rules.py states what a violated requirement proves; Incognito's pruning is the special case
without suppression. A solution excludes every node whose bound is no better. A counted floor
excludes every coarser node. The remaining nodes are checked alternately from the middle and from
the upper end of the bounds. A node from the middle halves the remainder if it is a solution; one
from the upper end excludes the most if it is not. Nodes that may cost exactly as much as the
optimum and have lower levels are checked last (`SearchState` defines which of several optima is
published).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from divulge.arrays import Floats
from divulge.counting import Contingency
from divulge.generalization.constraints import SearchOptions, node_checker
from divulge.generalization.infeasibility import infeasible_error
from divulge.generalization.large_lattice_search import explore
from divulge.generalization.lattice import Lattice, Node, lattice_of
from divulge.generalization.objectives import UserFunction, displayed_value, find_objective
from divulge.generalization.plan import Plan, recode
from divulge.generalization.rollup import Rollup
from divulge.generalization.search_state import SearchProblem, SearchState
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise

LOG = logging.getLogger("divulge.generalization")
LARGEST_PROVED = 1_000_000
"""Maximum number of nodes for which a search without a time limit runs until the optimum is proved.

Larger lattices have a default time limit.
"""
LARGEST_LAID_OUT = 20_000
"""Maximum number of nodes for which the whole lattice is laid out as an array."""
DEFAULT_SECONDS = 30.0
Possible = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def search(
    contingency: Contingency,
    hierarchies: Mapping[str, Hierarchy] | Rollup,
    promises: Sequence[Promise],
    *,
    objective: str | UserFunction = "loss",
    all_optima: bool = False,
    keep_nodes: bool = False,
    time_limit: float | None = None,
    **options: Unpack[SearchOptions],
) -> Plan:
    """Find the levels that meet all requirements at the least cost.

    Raises `Infeasible`, with a diagnosis, if there are none. With a `time_limit` in seconds (by
    default 30 for lattices over 10^6 nodes), returns the best solution found and its gap.
    """
    grounds = (
        hierarchies if isinstance(hierarchies, Rollup) else lattice_of(contingency, hierarchies)
    )
    problem = build_problem(contingency, grounds, promises, objective=objective, **options)
    return solve(problem, all_optima=all_optima, keep_nodes=keep_nodes, time_limit=time_limit)


def build_problem(
    contingency: Contingency,
    lattice: Lattice | Rollup,
    promises: Sequence[Promise],
    *,
    objective: str | UserFunction = "loss",
    **options: Unpack[SearchOptions],
) -> SearchProblem:
    """Set up a search without starting it."""
    checker = node_checker(contingency, lattice, promises, **options)
    return SearchProblem(checker, find_objective(checker.rollup, objective))


def solve(
    problem: SearchProblem,
    *,
    all_optima: bool = False,
    keep_nodes: bool = False,
    time_limit: float | None = None,
) -> Plan:
    """Search, and return the plan of the best solution."""
    size = problem.rollup.lattice.size
    LOG.info("searching %d combinations of levels", size)
    seconds = DEFAULT_SECONDS if time_limit is None and size > LARGEST_PROVED else time_limit
    deadline = np.inf if seconds is None else time.monotonic() + seconds
    state = SearchState(problem, keep_ties=all_optima, keep_nodes=keep_nodes, deadline=deadline)
    if size <= LARGEST_LAID_OUT:
        lowest = exhaust(state)
    else:
        lowest = explore(state)
    if state.best is None:
        raise infeasible_error(problem.checker, proved=lowest == np.inf)
    return plan_of(state, lowest)


def exhaust(state: SearchState) -> float:
    """Check nodes until no better one can be left.

    Returns the least cost that an unchecked node could still have.
    """
    problem = state.problem
    shape = problem.region.shape
    bounds = problem.objective.bounds()[tuple(map(slice, shape))].reshape(-1)
    needs_counting = not np.isfinite(bounds[0])
    # If the cost is known only after counting, nodes are in the order of their height.
    heights = [np.arange(size) / max(size - 1, 1) for size in shape]
    if needs_counting:
        order = sum(np.ix_(*heights), start=np.zeros(shape)).reshape(-1)
    else:
        order = bounds
    waiting = np.argsort(order, kind="stable")
    is_possible = np.ones(shape, dtype=bool)
    flat = is_possible.reshape(-1)
    floors: list[tuple[float, Node]] = []
    turn = 0
    while True:
        if turn % (1 + len(waiting) // 20_000) == 0:
            waiting = waiting[flat[waiting] & (bounds[waiting] < state.threshold)]
        if len(waiting) == 0:
            _settle_ties(state, bounds, is_possible)
            return np.inf
        if state.out_of_time:
            bottom = problem.rollup.classes((0,) * len(shape))
            return max(float(bounds[waiting].min()), problem.objective.floor(bottom))
        if turn % 2 == 0:
            pick = waiting[len(waiting) // 2]
        else:
            pick = waiting[-1]
        turn += 1
        if not flat[pick]:
            continue
        flat[pick] = False
        node = tuple(int(level) for level in np.unravel_index(pick, shape))
        candidate, _ = state.look(node)
        if problem.checker.excludes_finer(candidate):
            is_possible[tuple(slice(0, level + 1) for level in node)] = False
        if needs_counting:
            floors.append((problem.objective.floor(candidate.classes), node))
            floors = _exclude_coarser(is_possible, floors, state)


def _exclude_coarser(
    is_possible: Possible, floors: list[tuple[float, Node]], state: SearchState
) -> list[tuple[float, Node]]:
    """Exclude all nodes that are at least as coarse as a node whose floor is too high.

    Returns the floors that may still be useful.
    """
    if state.best is not None:
        least = state.cost - state.slack
    else:
        least = np.inf
    high = {
        (floor, node) for floor, node in floors if floor >= least and state.is_beaten(floor, node)
    }
    for _, node in high:
        is_possible[tuple(slice(level, None) for level in node)] = False
    if high:
        return [item for item in floors if item not in high]
    return floors


def _settle_ties(state: SearchState, bounds: Floats, is_possible: Possible) -> None:
    """Check nodes that may cost the same as the best one, lowest levels first, until one does.

    None of these nodes can cost less.
    """
    if state.best is None or state.keep_ties:
        return
    tied = np.flatnonzero(is_possible.reshape(-1) & (np.abs(bounds - state.cost) <= state.slack))
    nodes = [
        tuple(map(int, node)) for node in np.transpose(np.unravel_index(tied, is_possible.shape))
    ]
    for node in sorted(
        (node for node in nodes if state.wins_ties(node)), key=lambda node: (sum(node), node)
    ):
        if state.out_of_time:
            return
        if is_possible[node]:
            candidate, _ = state.look(node)
            if state.best is candidate:
                return
            if state.problem.checker.excludes_finer(candidate):
                is_possible[tuple(slice(0, level + 1) for level in node)] = False


def plan_of(state: SearchState, lowest: float) -> Plan:
    """Return the plan of the best solution that was found."""
    problem = state.problem
    best = state.best
    if best is None:
        raise ValueError("no solution was seen")
    lattice = problem.rollup.lattice
    checker = problem.checker
    ties = sorted(state.ties, key=lambda node: (sum(node), node))
    return Plan(
        method="full-domain",
        levels=lattice.levels_by_column(best.node),
        recoding=recode(problem.rollup, best),
        objective=problem.objective.name,
        value=displayed_value(problem.objective, state.cost),
        suppressed=best.suppressed,
        classes=best.published_classes,
        lattice=lattice.size,
        checked=state.checked,
        gap=max(state.cost - lowest, 0.0),
        settings=checker.settings
        | {"suppression": checker.suppression, "objective": problem.objective.name},
        optima=tuple(lattice.levels_by_column(node) for node in ties) if state.keep_ties else (),
        nodes=tuple(state.nodes),
        problem=problem,
    )
