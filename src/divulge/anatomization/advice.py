# SPDX-License-Identifier: Apache-2.0
"""Bounds alpha, beta, gamma and delta that a table allows, and their cost (Yao et al. 2021, 4.4).

`advise` tries each number of tables and reports three kinds of numbers.

- Proved here (problem.py): the least alpha and beta that any grouping satisfies, that delta can
  always be satisfied, and a lower bound on gamma.
- From the paper: N = max(ceil(1/beta), ceil(1/delta)) records of different sensitive values in a
  group; gamma >= alpha^k beta if the data owner is not sure; alpha never met below
  1/max^(X-k+1) and always met above 1/min (max and min of the distinct values of each of the X
  columns). The last statement is wrong in general, so it is compared with the table.
- Measured: groups, levels and errors of groupings that are actually made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.anatomization.encoded_rows import RowCodes
from divulge.anatomization.group_count_bound import exact_group_count_bound
from divulge.anatomization.methods import Anatomized, Slppa, anatomize
from divulge.anatomization.model import AlphaBetaGammaDelta, Reached
from divulge.anatomization.problem import (
    InfeasibleModel,
    WholeTable,
    check_feasible,
    gamma_is_guaranteed,
    least_gamma,
    problem_of,
)
from divulge.anatomization.query_error import Workload, recq_of
from divulge.arguments import arg
from divulge.errors import BadInput
from divulge.results import Result

_TRIED_GROUP_SIZES = (2, 4, 10, 20)
"""Numbers of records with different sensitive values per group to try.

20 corresponds to the paper's beta of 0.05.
"""


@dataclass(frozen=True)
class TriedGrouping:
    """One grouping that was made: its settings, the levels it reaches, and its information loss."""

    tables: int
    beta: Fraction
    groups: int
    smallest: int
    largest: int
    reached: Reached
    """Exact levels of the grouping. Only beta was required; alpha, gamma and delta result from it.
    """
    error: float
    """Mean relative error of count queries (eq. 13)."""


@dataclass(frozen=True)
class TableCount:
    """Bounds for one number of tables that the quasi-identifiers are divided into."""

    tables: tuple[tuple[str, ...], ...]
    least_alpha: Fraction
    """Least alpha of any grouping. The table as one group reaches it."""
    never_gamma: Fraction
    """Lower bound on gamma: no grouping goes below it."""
    kept_gamma: Fraction
    """Gamma of the table as one group. It can be satisfied together with the least alpha and beta.
    """
    paper_never_alpha: Fraction
    paper_always_alpha: Fraction
    verdict: str
    """Result for the requested bounds.

    Either "can be kept", "is decided by a search", or the reason why no grouping satisfies them.
    """

    @property
    def paper_is_wrong(self) -> bool:
        """True if the paper claims that an alpha can be satisfied that no grouping satisfies."""
        return self.paper_always_alpha < self.least_alpha


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """Bounds that a table allows, and the information loss of groupings that satisfy them."""

    view = "advice"

    rows: int
    asked: Mapping[str, str]
    """The bounds that the caller passed, as exact texts; bounds of 1 are left out."""
    least_beta: Fraction
    records_per_group: int
    """N*: the most records per group without repeated sensitive values.

    The paper's N must not be above it.
    """
    distinct_sensitive: int
    """M: the number of distinct values of the sensitive attribute that has the fewest."""
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
    """Divide the columns into each number of tables, check the bounds, and try groupings."""
    if most_tables < 1 or queries < 1:
        raise BadInput(
            f"{arg('most_tables', most_tables)}, {arg('queries', queries)} tries nothing",
            hint="Ask for at least 1 of each",
        )
    no_bounds = AlphaBetaGammaDelta()
    numbers = range(1, min(most_tables, len(quasi_identifiers)) + 1)
    counts = []
    trials = []
    whole_table: WholeTable | None = None
    for number in numbers:
        tables = Slppa(no_bounds, tables=number).divide(rows, quasi_identifiers).tables
        problem = problem_of(rows, tables=tables, sensitive=sensitive, model=model)
        whole_table = problem.whole_table
        distinct = [len(np.unique(rows.column(name))) for name in quasi_identifiers]
        try:
            check_feasible(problem)
            if gamma_is_guaranteed(problem):
                verdict = "can be kept"
            else:
                verdict = "is decided by a search"
        except InfeasibleModel as error:
            verdict = error.because
        counts.append(
            TableCount(
                tables=tables,
                least_alpha=whole_table.levels.alpha,
                never_gamma=least_gamma(whole_table),
                kept_gamma=whole_table.levels.gamma,
                paper_never_alpha=Fraction(1, max(distinct) ** (len(distinct) - number + 1)),
                paper_always_alpha=Fraction(1, min(distinct)),
                verdict=verdict,
            )
        )
        largest_size = min(
            whole_table.rows // attribute.records for attribute in whole_table.sensitive
        )
        for size in sorted(
            {size for size in (*_TRIED_GROUP_SIZES, largest_size) if 1 < size <= largest_size}
        ):
            method = Slppa(AlphaBetaGammaDelta(beta=Fraction(1, size)), tables=tables)
            anatomized = anatomize(
                rows, method, quasi_identifiers=quasi_identifiers, sensitive=sensitive, seed=0
            )
            trials.append(_trial(anatomized, number, Fraction(1, size), queries))
    if whole_table is None:
        raise BadInput(
            "no quasi-identifiers were named", hint="Name the columns that an adversary may know"
        )
    return Advice(
        rows=whole_table.rows,
        asked={name: str(bound) for name, bound in model.texts().items() if bound != "1"},
        least_beta=whole_table.levels.beta,
        records_per_group=min(
            whole_table.rows // attribute.records for attribute in whole_table.sensitive
        ),
        distinct_sensitive=min(attribute.distinct for attribute in whole_table.sensitive),
        counts=tuple(counts),
        trials=tuple(trials),
        settings={
            **settings,
            "method": Slppa.name,
            "most_tables": most_tables,
            "queries": queries,
            "seed": 0,
        },
    )


def _trial(anatomized: Anatomized, tables: int, beta: Fraction, queries: int) -> TriedGrouping:
    error = recq_of(anatomized, Workload(queries=queries)).mean
    sizes = anatomized.sizes
    return TriedGrouping(
        tables,
        beta,
        anatomized.groups,
        int(sizes.min()),
        int(sizes.max()),
        anatomized.levels,
        error,
    )


# --- prices ---------------------------------------------------------------------------------------
# Utility cost of each bound of an anatomized release: the number of groups without this bound, and
# with only this bound. More groups are smaller groups, which preserve more of the association of
# columns. The tables stay the same, and the records are grouped again under fewer bounds. The
# release satisfies those bounds already. So if a search finds fewer groups than the release has,
# the release is the result. Whether this is computed depends on the number of records, never on a
# clock.
_MOST_RECORDS_REGROUPED = 1_000_000
"""Most records to group again in total: a few seconds."""
_BOUNDS = ("alpha", "beta", "gamma", "delta")


@dataclass(frozen=True)
class Regrouping:
    """A grouping of the same records and tables under other bounds."""

    groups: int
    at_most: int
    """Proved upper bound on the number of groups that satisfy these bounds."""
    smallest: int
    largest: int
    levels: Reached

    @property
    def exact(self) -> bool:
        """True if the number of groups is proved to be the maximum."""
        return self.groups == self.at_most


@dataclass(frozen=True)
class BoundPrice:
    """Utility cost of one bound."""

    name: str
    bound: Fraction
    without: Regrouping
    """The grouping under all other bounds."""
    alone: Regrouping
    """The grouping under this bound only."""


@dataclass(frozen=True, repr=False)
class GroupPrices(Result):
    """Utility cost of each of alpha, beta, gamma and delta, as a number of groups."""

    view = "utility"

    groups: int
    bounds: tuple[BoundPrice, ...]
    cut_short: bool
    """True if there are too many records to group them again."""
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All settings that the numbers depend on."""


def price_groups(
    anatomized: Anatomized,
    method: Any,
    *,
    settings: Mapping[str, Any],
    frame: str,
    progress: Callable[[int, int], None] | None = None,
) -> GroupPrices:
    """Group the records again without each bound, and with each bound as the only one."""
    if not isinstance(method, Slppa):
        raise BadInput(
            f"the method {anatomized.method} has no bounds to do without",
            hint="Use the method slppa",
        )
    model = {name: getattr(method.model, name) for name in _BOUNDS}
    tight_bounds = {name: bound for name, bound in model.items() if bound < 1}
    model_pairs = {
        name: (
            AlphaBetaGammaDelta(**tight_bounds | {name: 1}),
            AlphaBetaGammaDelta(**{name: bound}),
        )
        for name, bound in tight_bounds.items()
    }
    others = [
        bounds_model
        for bounds_model in dict.fromkeys(model for pair in model_pairs.values() for model in pair)
        if bounds_model != method.model
    ]
    settings = {**settings, "work": _MOST_RECORDS_REGROUPED}
    if len(others) * len(anatomized.rows) > _MOST_RECORDS_REGROUPED:
        message = (
            f"too many records to group them {len(others):,} times again: what each bound costs "
            "was not worked out"
        )
        return GroupPrices(
            anatomized.groups, (), cut_short=True, notes=(message,), settings=settings, frame=frame
        )
    regroupings = {method.model: _regrouping_of(anatomized, anatomized.at_most)}
    for finished, bounds_model in enumerate(others, start=1):
        regroupings[bounds_model] = _regroup(anatomized, method, bounds_model)
        if progress is not None:
            progress(finished, len(others))
    bounds = (
        BoundPrice(name, tight_bounds[name], regroupings[without], regroupings[single_bound])
        for name, (without, single_bound) in model_pairs.items()
    )
    return GroupPrices(
        anatomized.groups, tuple(bounds), cut_short=False, settings=settings, frame=frame
    )


def _regrouping_of(anatomized: Anatomized, at_most: int) -> Regrouping:
    return Regrouping(
        anatomized.groups,
        at_most,
        int(anatomized.sizes.min()),
        int(anatomized.sizes.max()),
        anatomized.levels,
    )


def _regroup(anatomized: Anatomized, method: Slppa, model: AlphaBetaGammaDelta) -> Regrouping:
    """Group the records under fewer bounds.

    The result is never worse than the release, which satisfies these bounds.
    """
    tables = anatomized.division.tables
    names = [name for table in tables for name in table]
    regrouping_method = replace(method, model=model, tables=tables)
    try:
        roles: dict[str, Any] = {"quasi_identifiers": names, "sensitive": anatomized.sensitive}
        other = anatomize(
            anatomized.rows,
            regrouping_method,
            **roles,
            seed=anatomized.seed,
            prior_classes=anatomized.prior_classes,
        )
    except (
        InfeasibleModel
    ):  # a search for gamma may miss a grouping that exists, as the release proves
        other = anatomized
    if other is not anatomized and other.groups >= anatomized.groups:
        return _regrouping_of(other, other.at_most)
    problem = problem_of(
        anatomized.rows, tables=tables, sensitive=anatomized.sensitive, model=model
    )
    return _regrouping_of(
        anatomized,
        exact_group_count_bound(
            problem, group_size=method.group_size, group_count=anatomized.groups
        ),
    )
