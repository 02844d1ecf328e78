# SPDX-License-Identifier: Apache-2.0
"""The best full-domain generalization: an exact search over the lattice that looks at few of its nodes.

Small lattices are laid out here; for larger ones see `explore` in problem.py, which proves the optimum too if it has the time.

A node where too many people would have to be left out excludes itself and every finer one (rules.py says what is proved by which promise;
Incognito's pruning is the special case without suppression). A solution excludes every node whose bound is no better, and a counted floor
excludes every coarser node. Of what is left, nodes are looked at by turns from the middle and from the upper end of the bounds: the first
halves what is left when it is a solution, the second excludes the most when it is none. Nodes that may cost exactly as much as the
optimum and have lower levels are looked at last (problem.py says which of several optima is published).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from divulge.arrays import Floats
from divulge.count import Contingency
from divulge.hierarchy import Hierarchy
from divulge.policy import Promise
from divulge.search.diagnosis import nothing_fits
from divulge.search.judge import Asked, judge_for
from divulge.search.lattice import Lattice, Node, Rollup, lattice_of
from divulge.search.objectives import UserFunction, find_objective, shown
from divulge.search.plan import Plan, recode
from divulge.search.problem import SearchProblem, SearchState, explore

LOG = logging.getLogger("divulge.search")
LARGEST_PROVED = 1_000_000
"""Up to this many nodes a search without a time limit goes on until the optimum is proved; beyond, a default limit stops it."""
LARGEST_LAID_OUT = 20_000
"""Up to this many nodes the whole lattice is laid out as an array."""
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
    **asked: Unpack[Asked],
) -> Plan:
    """The levels that keep all promises at the least cost; Infeasible, with a diagnosis, where there are none.

    With a `time_limit` in seconds (by default 30 for lattices over 10^6 nodes) the best solution found comes back, and its gap.
    """
    grounds = hierarchies if isinstance(hierarchies, Rollup) else lattice_of(contingency, hierarchies)
    problem = pose(contingency, grounds, promises, objective=objective, **asked)
    return solve(problem, all_optima=all_optima, keep_nodes=keep_nodes, time_limit=time_limit)


def pose(
    contingency: Contingency,
    lattice: Lattice | Rollup,
    promises: Sequence[Promise],
    *,
    objective: str | UserFunction = "loss",
    **asked: Unpack[Asked],
) -> SearchProblem:
    """Put a search together without starting it."""
    judge = judge_for(contingency, lattice, promises, **asked)
    return SearchProblem(judge, find_objective(judge.rollup, objective))


def solve(
    problem: SearchProblem, *, all_optima: bool = False, keep_nodes: bool = False, time_limit: float | None = None
) -> Plan:
    """Search, and make a plan of the best solution."""
    size = problem.rollup.lattice.size
    LOG.info("searching %d combinations of levels", size)
    seconds = DEFAULT_SECONDS if time_limit is None and size > LARGEST_PROVED else time_limit
    deadline = np.inf if seconds is None else time.monotonic() + seconds
    seen = SearchState(problem, keep_ties=all_optima, keep_nodes=keep_nodes, deadline=deadline)
    lowest = exhaust(seen) if size <= LARGEST_LAID_OUT else explore(seen)
    if seen.best is None:
        raise nothing_fits(problem.judge, proved=lowest == np.inf)
    return plan_of(seen, lowest)


def exhaust(seen: SearchState) -> float:
    """Look at nodes until none is left that could be better; returns the least cost a node not looked at could still have."""
    problem = seen.problem
    shape = problem.region.shape
    bounds = problem.objective.bounds()[tuple(map(slice, shape))].reshape(-1)
    counted = not np.isfinite(bounds[0])
    # Where the cost is known only after counting, nodes stand in the order of how far up they are.
    heights = [np.arange(size) / max(size - 1, 1) for size in shape]
    order = sum(np.ix_(*heights), start=np.zeros(shape)).reshape(-1) if counted else bounds
    waiting = np.argsort(order, kind="stable")
    possible = np.ones(shape, dtype=bool)
    flat = possible.reshape(-1)
    floors: list[tuple[float, Node]] = []
    turn = 0
    while True:
        if turn % (1 + len(waiting) // 20_000) == 0:
            waiting = waiting[flat[waiting] & (bounds[waiting] < seen.threshold)]
        if len(waiting) == 0:
            _settle_ties(seen, bounds, possible)
            return np.inf
        if seen.out_of_time:
            bottom = problem.rollup.classes((0,) * len(shape))
            return max(float(bounds[waiting].min()), problem.objective.floor(bottom))
        pick = waiting[len(waiting) // 2] if turn % 2 == 0 else waiting[-1]
        turn += 1
        if not flat[pick]:
            continue
        flat[pick] = False
        node = tuple(int(level) for level in np.unravel_index(pick, shape))
        candidate, _ = seen.look(node)
        if problem.judge.excludes_finer(candidate):
            possible[tuple(slice(0, level + 1) for level in node)] = False
        if counted:
            floors.append((problem.objective.floor(candidate.classes), node))
            floors = _exclude_coarser(possible, floors, seen)


def _exclude_coarser(
    possible: Possible, floors: list[tuple[float, Node]], seen: SearchState
) -> list[tuple[float, Node]]:
    """Exclude what is no finer than a node whose floor is too high; the floors that may still serve remain."""
    least = seen.cost - seen.slack if seen.best is not None else np.inf
    high = {(floor, node) for floor, node in floors if floor >= least and seen.is_beaten(floor, node)}
    for _, node in high:
        possible[tuple(slice(level, None) for level in node)] = False
    return [item for item in floors if item not in high] if high else floors


def _settle_ties(seen: SearchState, bounds: Floats, possible: Possible) -> None:
    """Look, lowest levels first, at nodes that can cost no less than the best one and perhaps the same, until one does."""
    if seen.best is None or seen.keep_ties:
        return
    tied = np.flatnonzero(possible.reshape(-1) & (np.abs(bounds - seen.cost) <= seen.slack))
    nodes = [tuple(map(int, node)) for node in np.transpose(np.unravel_index(tied, possible.shape))]
    for node in sorted((node for node in nodes if seen.wins_ties(node)), key=lambda node: (sum(node), node)):
        if seen.out_of_time:
            return
        if possible[node]:
            candidate, _ = seen.look(node)
            if seen.best is candidate:
                return
            if seen.problem.judge.excludes_finer(candidate):
                possible[tuple(slice(0, level + 1) for level in node)] = False


def plan_of(seen: SearchState, lowest: float) -> Plan:
    """The plan of the best solution seen."""
    problem, best = seen.problem, seen.best
    if best is None:
        raise ValueError("no solution was seen")
    lattice, judge = problem.rollup.lattice, problem.judge
    ties = sorted(seen.ties, key=lambda node: (sum(node), node))
    return Plan(
        method="full-domain",
        levels=lattice.named(best.node),
        recoding=recode(problem.rollup, best),
        objective=problem.objective.name,
        value=shown(problem.objective, seen.cost),
        suppressed=best.suppressed,
        classes=best.published_classes,
        lattice=lattice.size,
        checked=seen.checked,
        gap=max(seen.cost - lowest, 0.0),
        settings=judge.settings | {"suppression": judge.suppression, "objective": problem.objective.name},
        optima=tuple(lattice.named(node) for node in ties) if seen.keep_ties else (),
        nodes=tuple(seen.nodes),
        problem=problem,
    )
