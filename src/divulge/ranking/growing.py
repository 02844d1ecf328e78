# SPDX-License-Identifier: Apache-2.0
"""How much the first n quasi-identifiers give away together, for n = 1, 2, 3 and so on, and each by itself.

Simple and combined ITPR of Bkakria et al. 2021 (Definitions 1 and 2), as in their Fig. 7, for tables with a hundred columns and more.
Columns are read one at a time and refine the classes of those before them (see distinct_rows), so the cost of n columns grows with n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge import metrics
from divulge.count import Counts, Request
from divulge.metrics import Identity
from divulge.ranking.distinct_rows import Coded, Codes, Columns, Refinement, refine
from divulge.ranking.from_counts import identity_view, sensitive_in, spectrum_of
from divulge.ranking.score import Combination, Numbers, OneByOne, identity_numbers
from divulge.results import Result
from divulge.table import Roles


@dataclass(frozen=True)
class Step:
    """The first n quasi-identifiers together."""

    n: int
    attribute: str
    """The one that was added last."""
    identity: Numbers
    sensitive: dict[str, Numbers]


@dataclass(frozen=True, repr=False)
class Growth(Result):
    """Each quasi-identifier by itself, and the growing sets."""

    view = "columns"

    rows: int
    alone: tuple[Combination, ...]
    steps: tuple[Step, ...]
    settings: dict[str, Any]


def grow(request: Request, *, every: int, progress: Callable[[int, int], None] | None) -> Growth:
    """Measure the first n quasi-identifiers of a request, for the n that are asked for."""
    source, roles = request.table, request.roles
    columns = Columns.of(request)
    if columns is None:
        rows, alone, steps = _set_by_set(request, every, progress or _silent)
    else:
        rows, alone, steps = _column_by_column(columns, roles, every, progress or _silent)
    return Growth(
        rows=rows,
        alone=tuple(alone),
        steps=tuple(steps),
        settings={
            "engine": source.engine.name,
            "source": source.source,
            "quasi_identifiers": list(roles.quasi_identifiers),
            "sensitive": list(roles.sensitive),
            "nulls": request.nulls,
            "every": every,
            "log_base": 2,
        },
    )


def _silent(_done: int, _total: int) -> None:
    """Nobody listens."""


def _column_by_column(
    columns: Columns, roles: Roles, every: int, progress: Callable[[int, int], None]
) -> tuple[int, list[Combination], list[Step]]:
    names = roles.quasi_identifiers
    alone: list[Combination] = []
    steps: list[Step] = []
    attributes = [_Attribute.of(columns.coded(name)) for name in roles.sensitive]
    together = everybody = Refinement.whole(columns.rows)
    for n, (name, codes, values) in enumerate(columns.numbered(names), start=1):
        together = refine(together, codes, values)
        alone.append(Combination((name,), *_simple_numbers(everybody, codes, values, attributes)))
        if _is_asked_for(n, every, len(names)):
            steps.append(Step(n, name, *_numbers(together, attributes)))
        progress(n, len(names))
    return columns.rows, alone, steps


def _set_by_set(
    request: Request, every: int, progress: Callable[[int, int], None]
) -> tuple[int, list[Combination], list[Step]]:
    """A count for each set, where there is no order of rows that a column could be lined up with."""

    def scorer(columns: tuple[str, ...]) -> OneByOne:
        return OneByOne(Counts.of(replace(request, roles=replace(request.roles, quasi_identifiers=columns))))

    names = request.roles.quasi_identifiers
    rows, alone, steps = 0, [], []
    for n, name in enumerate(names, start=1):
        simple = scorer((name,))
        rows = rows or simple.rows
        alone.append(simple.score((name,)))
        if _is_asked_for(n, every, len(names)):
            found = alone[0] if n == 1 else scorer(names[:n]).score(names[:n])
            steps.append(Step(n, name, found.identity, found.sensitive))
        progress(n, len(names))
    return rows, alone, steps


@dataclass(frozen=True, eq=False)
class _Attribute:
    """A sensitive attribute of all rows."""

    coded: Coded
    marginal: metrics.Marginal

    @classmethod
    def of(cls, coded: Coded) -> _Attribute:
        return cls(coded, metrics.Marginal.of(np.bincount(coded.codes, minlength=coded.values)))


def _numbers(partition: Refinement, attributes: list[_Attribute]) -> tuple[Numbers, dict[str, Numbers]]:
    return identity_numbers(identity_view(partition)), {
        item.coded.domain.name: sensitive_in(partition, item.coded, item.marginal) for item in attributes
    }


def _simple_numbers(
    everybody: Refinement, codes: Codes, values: int, attributes: list[_Attribute]
) -> tuple[Numbers, dict[str, Numbers]]:
    """One column by itself; for identity alone, how often each value occurs is enough."""
    if attributes:
        return _numbers(refine(everybody, codes, values), attributes)
    sizes = np.bincount(codes, minlength=values)
    return identity_numbers(Identity.of_spectrum(*spectrum_of(sizes[sizes > 0]))), {}


def _is_asked_for(n: int, every: int, last: int) -> bool:
    return n in (1, last) or n % every == 0
