# SPDX-License-Identifier: Apache-2.0
"""Which quasi-identifiers to publish at all (open problem of Afifi et al. 2018, section 7).

A column is published as it is or left out, and the subset that keeps the promises at the least cost is found by the same search: the
lattice has two levels per column. With hierarchies, a column may also be published at any of its levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from divulge.belief import Belief
from divulge.count import Contingency, Domain
from divulge.errors import BadInput, nearest
from divulge.generalize.lattice import Ladder, Lattice, keep_or_drop, lattice_of, with_drop
from divulge.generalize.objective import UserFunction
from divulge.generalize.plan import Plan
from divulge.generalize.search import pose, solve
from divulge.policy import Promise, Protection
from divulge.table.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Choice:
    """The columns to publish and those to leave out."""

    published: tuple[str, ...]
    left_out: tuple[str, ...]
    plan: Plan


def choose_columns(
    contingency: Contingency,
    promises: Sequence[Promise],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    keep: Sequence[str] = (),
    beliefs: Mapping[str, Belief] | None = None,
    suppression: float = 0.0,
    objective: str | UserFunction = "loss",
    protections: Sequence[Protection] = (),
    keep_nodes: bool = False,
    time_limit: float | None = None,
) -> Choice:
    """The subset of the quasi-identifiers that keeps all promises at the least cost; `keep` must be among those published."""
    names = [key.name for key in contingency.keys]
    for name in keep:
        if name not in names:
            raise BadInput(f"{name!r} is to be kept and is not a quasi-identifier", hint=nearest(name, names))
    lattice = Lattice(
        tuple(_ladder(key, ladder, may_go=key.name not in keep) for key, ladder in _ladders(contingency, hierarchies))
    )
    problem = pose(
        contingency,
        lattice,
        promises,
        beliefs=beliefs,
        suppression=suppression,
        objective=objective,
        protections=protections,
    )
    plan = solve(problem, keep_nodes=keep_nodes, time_limit=time_limit)
    gone = {
        ladder.column
        for ladder in lattice.ladders
        if ladder.column not in keep and plan.levels[ladder.column] == ladder.height
    }
    return Choice(
        tuple(name for name in names if name not in gone), tuple(name for name in names if name in gone), plan
    )


def _ladders(
    contingency: Contingency, hierarchies: Mapping[str, Hierarchy] | None
) -> list[tuple[Domain, Ladder | None]]:
    if hierarchies is None:
        return [(key, None) for key in contingency.keys]
    return list(zip(contingency.keys, lattice_of(contingency, hierarchies).ladders, strict=True))


def _ladder(domain: Domain, ladder: Ladder | None, *, may_go: bool) -> Ladder:
    """The levels between which the search may choose, the last of which leaves the column out."""
    complete = keep_or_drop(domain) if ladder is None else with_drop(ladder)
    return complete if may_go else Ladder(complete.column, complete.levels[:-1])
