# SPDX-License-Identifier: Apache-2.0
"""The price of each bound of an anatomized release: how many groups there would be without it, and with it alone.

More groups are smaller groups, which tell more about how columns go together. The tables stay the same, and the records are grouped again
under fewer bounds. The release keeps those already, so where a search finds fewer groups than the release has, the release is the answer.
How often this is asked depends on the number of records, never on a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from divulge.anatomy.methods import Anatomized, Slppa, anatomize
from divulge.anatomy.model import AlphaBetaGammaDelta, Reached
from divulge.anatomy.most import most_possible
from divulge.anatomy.problem import InfeasibleModel, problem_of
from divulge.errors import BadInput
from divulge.results import Result

_WORK = 1_000_000
"""Records that may be grouped again in all: some seconds."""
_BOUNDS = ("alpha", "beta", "gamma", "delta")


@dataclass(frozen=True)
class Regrouping:
    """The same records and tables, grouped under other bounds."""

    groups: int
    at_most: int
    """No grouping that keeps these bounds has more: proved."""
    smallest: int
    largest: int
    levels: Reached

    @property
    def exact(self) -> bool:
        """Proved to be the most groups."""
        return self.groups == self.at_most


@dataclass(frozen=True)
class BoundPrice:
    """What one bound costs."""

    name: str
    bound: Fraction
    without: Regrouping
    """Under all others."""
    alone: Regrouping
    """Under this one only."""


@dataclass(frozen=True, repr=False)
class GroupPrices(Result):
    """What each of alpha, beta, gamma and delta costs, in groups."""

    view = "price"

    groups: int
    bounds: tuple[BoundPrice, ...]
    cut_short: bool
    """There are too many records to group them again."""
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the numbers depend on."""


def price_groups(
    found: Anatomized,
    method: Any,
    *,
    settings: Mapping[str, Any],
    frame: str,
    progress: Callable[[int, int], None] | None = None,
) -> GroupPrices:
    """Group the records again without each bound, and with each alone."""
    if not isinstance(method, Slppa):
        raise BadInput(f"the method {found.method} has no bounds to do without", hint="Use the method slppa")
    model = {name: getattr(method.model, name) for name in _BOUNDS}
    asked = {name: bound for name, bound in model.items() if bound < 1}
    wanted = {
        name: (AlphaBetaGammaDelta(**asked | {name: 1}), AlphaBetaGammaDelta(**{name: bound}))
        for name, bound in asked.items()
    }
    others = [
        terms for terms in dict.fromkeys(model for pair in wanted.values() for model in pair) if terms != method.model
    ]
    settings = {**settings, "work": _WORK}
    if len(others) * len(found.rows) > _WORK:
        told = f"too many records to group them {len(others):,} times again: what each bound costs was not worked out"
        return GroupPrices(found.groups, (), cut_short=True, notes=(told,), settings=settings, frame=frame)
    known = {method.model: _as_it_is(found, found.at_most)}
    for done, terms in enumerate(others, start=1):
        known[terms] = _regrouped(found, method, terms)
        if progress is not None:
            progress(done, len(others))
    bounds = (BoundPrice(name, asked[name], known[without], known[alone]) for name, (without, alone) in wanted.items())
    return GroupPrices(found.groups, tuple(bounds), cut_short=False, settings=settings, frame=frame)


def _as_it_is(found: Anatomized, at_most: int) -> Regrouping:
    return Regrouping(found.groups, at_most, int(found.sizes.min()), int(found.sizes.max()), found.levels)


def _regrouped(found: Anatomized, method: Slppa, model: AlphaBetaGammaDelta) -> Regrouping:
    """Under fewer bounds; never worse than the release, which keeps them."""
    tables = found.division.tables
    names = [name for table in tables for name in table]
    tried = replace(method, model=model, tables=tables)
    try:
        roles: dict[str, Any] = {"quasi_identifiers": names, "sensitive": found.sensitive}
        other = anatomize(found.rows, tried, **roles, seed=found.seed, within=found.within)
    except InfeasibleModel:  # a search for gamma may miss what the release shows to be possible
        other = found
    if other is not found and other.groups >= found.groups:
        return _as_it_is(other, other.at_most)
    problem = problem_of(found.rows, tables=tables, sensitive=found.sensitive, model=model)
    return _as_it_is(found, most_possible(problem, group_size=method.group_size, found=found.groups))
