# SPDX-License-Identifier: Apache-2.0
"""How much the first n quasi-identifiers give away together, for n = 1, 2, 3 and so on, and each by itself.

Simple and combined ITPR of Bkakria et al. 2021 (Definitions 1 and 2), as in their Fig. 7, for tables with a hundred columns and more.
Columns are read one at a time and refine the classes of those before them (see distinct_rows), so the cost of n columns grows with n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from divulge import metrics
from divulge.count import Counts, Request
from divulge.ranking.distinct_rows import Columns, Refinement, refine
from divulge.ranking.from_counts import identity_of, identity_view, sensitive_in
from divulge.ranking.score import Combination, Numbers, OneByOne, count_rows, numbers_of
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
    source, names = request.table, request.roles.quasi_identifiers
    columns = Columns.of(request)
    if columns is None:
        rows, measured = count_rows(_narrowed(request, names[:1])), _set_by_set(request)
    else:
        rows, measured = columns.rows, _column_by_column(columns, request.roles)
    alone, steps = [], []
    for n, (simple, together) in enumerate(measured, start=1):
        alone.append(simple)
        if n in (1, len(names)) or n % every == 0:
            found = simple if n == 1 else together()
            steps.append(Step(n, names[n - 1], found.identity, found.sensitive))
        if progress is not None:
            progress(n, len(names))
    return Growth(
        rows=rows,
        alone=tuple(alone),
        steps=tuple(steps),
        settings={
            "engine": source.engine.name,
            **source.told,
            "quasi_identifiers": list(names),
            "sensitive": list(request.roles.sensitive),
            "nulls": request.nulls,
            "every": every,
            "log_base": 2,
        },
        frame=source.frame,
    )


Measured = Iterator[tuple[Combination, Callable[[], Combination]]]
"""For each quasi-identifier: what it gives away by itself, and together with those before it."""


def _column_by_column(columns: Columns, roles: Roles) -> Measured:
    attributes = [columns.coded(name) for name in roles.sensitive]
    known = [(item, metrics.Marginal.of(np.bincount(item.codes, minlength=item.values))) for item in attributes]

    def numbers(names: tuple[str, ...], partition: Refinement) -> Combination:
        sensitive = {item.domain.name: sensitive_in(partition, item, marginal) for item, marginal in known}
        return Combination(names, numbers_of(identity_view(partition)), sensitive)

    together = everybody = Refinement.whole(columns.rows)
    for n, (name, codes, values) in enumerate(columns.numbered(roles.quasi_identifiers), start=1):
        together = refine(together, codes, values)
        if known:
            simple = numbers((name,), refine(everybody, codes, values))
        else:  # for identity alone, how often each value occurs is enough
            sizes = np.bincount(codes, minlength=values)
            simple = Combination((name,), numbers_of(identity_of(sizes[sizes > 0])), {})
        yield simple, partial(numbers, roles.quasi_identifiers[:n], together)


def _set_by_set(request: Request) -> Measured:
    """A count for each set, where there is no order of rows that a column could be lined up with."""

    def score(names: tuple[str, ...]) -> Combination:
        return OneByOne(Counts.of(_narrowed(request, names))).score(names)

    names = request.roles.quasi_identifiers
    for n, name in enumerate(names, start=1):
        simple = score((name,))
        yield simple, partial(score, names[:n])


def _narrowed(request: Request, names: tuple[str, ...]) -> Request:
    return replace(request, roles=replace(request.roles, quasi_identifiers=names))
