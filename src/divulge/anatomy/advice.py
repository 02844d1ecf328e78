# SPDX-License-Identifier: Apache-2.0
"""Which alpha, beta, gamma and delta a table allows, what they cost, and into how many tables to divide it (Yao et al. 2021, section 4.4).

Proved here (problem.py): the least alpha and beta that any grouping keeps, that delta can always be kept, and a gamma that none goes below.
The paper's: N = max(ceil(1/beta), ceil(1/delta)) records of different sensitive values in a group; gamma >= alpha^k beta where its owner is
not sure; alpha never met below 1/max^(X-k+1) and always above 1/min (max and min of the distinct values of each of the X columns). The
last is wrong in general, so it is held against the table. Measured: groups, levels and errors of groupings that are really made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.anatomy.methods import Anatomized, Slppa, anatomize
from divulge.anatomy.model import AlphaBetaGammaDelta, Reached
from divulge.anatomy.most import most_possible
from divulge.anatomy.problem import (
    InfeasibleModel,
    WholeTable,
    check_feasible,
    gamma_is_certain,
    least_gamma,
    problem_of,
)
from divulge.anatomy.rows import RowCodes
from divulge.anatomy.utility import Workload, recq_of
from divulge.errors import BadInput
from divulge.results import Result

_LADDER = (2, 4, 10, 20)
"""Records of different sensitive values in a group that are tried; 20 is the paper's beta of 0.05."""


@dataclass(frozen=True)
class TriedGrouping:
    """One grouping that was made: what was asked, and what it reaches and costs."""

    tables: int
    beta: Fraction
    groups: int
    smallest: int
    largest: int
    reached: Reached
    """Alpha, gamma and delta were not asked for: they are what beta brings along."""
    error: float
    """The mean relative error of count queries (eq. 13)."""


@dataclass(frozen=True)
class TableCount:
    """The quasi-identifiers divided into so many tables."""

    tables: tuple[tuple[str, ...], ...]
    least_alpha: Fraction
    """No grouping keeps less, and the table as one group keeps it."""
    never_gamma: Fraction
    """No grouping goes below."""
    kept_gamma: Fraction
    """That of the table as one group, so it can be kept together with the least alpha and beta."""
    paper_never_alpha: Fraction
    paper_always_alpha: Fraction
    verdict: str
    """Of the bounds that were asked about: "can be kept", "is decided by a search", or why none keeps them."""

    @property
    def paper_is_wrong(self) -> bool:
        """The paper says that alpha can be kept where no grouping keeps it."""
        return self.paper_always_alpha < self.least_alpha


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """What a table allows, and what that costs."""

    view = "advice"

    rows: int
    asked: Mapping[str, str]
    """The bounds that were asked about."""
    least_beta: Fraction
    records_per_group: int
    """N*: the most records per group without repeated sensitive values; the paper's N must not be above it."""
    distinct_sensitive: int
    """M, of the attribute that has fewest."""
    counts: tuple[TableCount, ...]
    trials: tuple[TriedGrouping, ...]
    settings: Mapping[str, Any]


def advise(
    rows: RowCodes,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    model: AlphaBetaGammaDelta,
    most_tables: int,
    queries: int,
    settings: Mapping[str, Any],
) -> Advice:
    """Divide into each number of tables, judge the bounds, and try groupings."""
    if most_tables < 1 or queries < 1:
        raise BadInput(f"most_tables={most_tables}, queries={queries} tries nothing", hint="Ask for at least 1 of each")
    free = AlphaBetaGammaDelta()
    numbers = range(1, min(most_tables, len(quasi_identifiers)) + 1)
    counts, trials = [], []
    whole: WholeTable | None = None
    for number in numbers:
        tables = Slppa(free, tables=number).divide(rows, quasi_identifiers).tables
        problem = problem_of(rows, tables=tables, sensitive=sensitive, model=model)
        whole = problem.as_one
        distinct = [len(np.unique(rows.column(name))) for name in quasi_identifiers]
        try:
            check_feasible(problem)
            verdict = "can be kept" if gamma_is_certain(problem) else "is decided by a search"
        except InfeasibleModel as refused:
            verdict = refused.because
        counts.append(
            TableCount(
                tables=tables,
                least_alpha=whole.levels.alpha,
                never_gamma=least_gamma(whole),
                kept_gamma=whole.levels.gamma,
                paper_never_alpha=Fraction(1, max(distinct) ** (len(distinct) - number + 1)),
                paper_always_alpha=Fraction(1, min(distinct)),
                verdict=verdict,
            )
        )
        most = min(whole.rows // attribute.records for attribute in whole.sensitive)
        for size in sorted({size for size in (*_LADDER, most) if 1 < size <= most}):
            method = Slppa(AlphaBetaGammaDelta(beta=Fraction(1, size)), tables=tables)
            found = anatomize(rows, method, quasi_identifiers=quasi_identifiers, sensitive=sensitive, seed=0)
            trials.append(_trial(found, number, Fraction(1, size), queries))
    if whole is None:
        raise BadInput("no quasi-identifiers were named", hint="Name the columns that an adversary may know")
    return Advice(
        rows=whole.rows,
        asked={name: str(bound) for name, bound in model.texts().items() if bound != "1"},
        least_beta=whole.levels.beta,
        records_per_group=min(whole.rows // attribute.records for attribute in whole.sensitive),
        distinct_sensitive=min(attribute.distinct for attribute in whole.sensitive),
        counts=tuple(counts),
        trials=tuple(trials),
        settings={**settings, "method": Slppa.name, "most_tables": most_tables, "queries": queries, "seed": 0},
    )


def _trial(found: Anatomized, tables: int, beta: Fraction, queries: int) -> TriedGrouping:
    error = recq_of(found, Workload(queries=queries)).mean
    sizes = found.sizes
    return TriedGrouping(tables, beta, found.groups, int(sizes.min()), int(sizes.max()), found.levels, error)


# --- prices -----------------------------------------------------------------------------------------------------------
# The price of each bound of an anatomized release: how many groups there would be without it, and with it alone.
# More groups are smaller groups, which tell more about how columns go together. The tables stay the same, and the records are grouped again
# under fewer bounds. The release keeps those already, so where a search finds fewer groups than the release has, the release is the answer.
# How often this is asked depends on the number of records, never on a clock.
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

    view = "utility"

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
