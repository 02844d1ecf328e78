# SPDX-License-Identifier: Apache-2.0
"""Disclosure risk of each quasi-identifier and of the first n of them, for n = 1, 2, 3 and so on.

Simple and combined ITPR of Bkakria et al. 2021 (Definitions 1 and 2), as in their Fig. 7, for
tables with a hundred columns and more. Columns are read one at a time and refine the classes of
the columns before them (see distinct_rows). So the cost of n columns grows linearly with n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from divulge import metrics
from divulge.counting import Counts, Request
from divulge.ranking.distinct_rows import AlignedColumns, Partition, refine
from divulge.ranking.rollup import identity_of, identity_view, sensitive_numbers
from divulge.ranking.scores import Combination, CountScorer, Numbers, count_rows, numbers_of
from divulge.results import Result
from divulge.sources import Roles


@dataclass(frozen=True)
class Step:
    """Metrics of the first n quasi-identifiers in combination."""

    n: int
    attribute: str
    """Quasi-identifier that was added last."""
    identity: Numbers
    sensitive: dict[str, Numbers]


@dataclass(frozen=True, repr=False)
class Growth(Result):
    """Metrics of each single quasi-identifier and of the growing sets."""

    view = "columns"

    rows: int
    alone: tuple[Combination, ...]
    steps: tuple[Step, ...]
    settings: dict[str, Any]


def grow(
    request: Request, *, column_step: int, progress: Callable[[int, int], None] | None
) -> Growth:
    """Measure the first n quasi-identifiers for n = 1, multiples of `every`, and all of them."""
    source = request.table
    names = request.roles.quasi_identifiers
    columns = AlignedColumns.of(request)
    if columns is None:
        rows = count_rows(_with_quasi_identifiers(request, names[:1]))
        measurements = _measure_by_set(request)
    else:
        rows = columns.rows
        measurements = _measure_by_column(columns, request.roles)
    single_columns = []
    steps = []
    for n, (single_column, measure_together) in enumerate(measurements, start=1):
        single_columns.append(single_column)
        if n in (1, len(names)) or n % column_step == 0:
            if n == 1:
                combination = single_column
            else:
                combination = measure_together()
            steps.append(Step(n, names[n - 1], combination.identity, combination.sensitive))
        if progress is not None:
            progress(n, len(names))
    return Growth(
        rows=rows,
        alone=tuple(single_columns),
        steps=tuple(steps),
        settings={
            "engine": source.engine.name,
            **source.reading_settings,
            "quasi_identifiers": list(names),
            "sensitive": list(request.roles.sensitive),
            "nulls": request.nulls,
            "every": column_step,
            "log_base": 2,
        },
        frame=source.frame,
    )


StepMeasurements = Iterator[tuple[Combination, Callable[[], Combination]]]
"""For each quasi-identifier, its own metrics and a function for those of the first n together."""


def _measure_by_column(columns: AlignedColumns, roles: Roles) -> StepMeasurements:
    attributes = [columns.coded_column(name) for name in roles.sensitive]
    marginals = [
        (item, metrics.Marginal.of(np.bincount(item.codes, minlength=item.value_count)))
        for item in attributes
    ]

    def score(names: tuple[str, ...], partition: Partition) -> Combination:
        sensitive = {
            item.domain.name: sensitive_numbers(partition, item, marginal)
            for item, marginal in marginals
        }
        return Combination(names, numbers_of(identity_view(partition)), sensitive)

    combined_partition = one_class = Partition.single_class(columns.rows)
    for n, (name, codes, values) in enumerate(
        columns.iterate_codes(roles.quasi_identifiers), start=1
    ):
        combined_partition = refine(combined_partition, codes, values)
        if marginals:
            single_column = score((name,), refine(one_class, codes, values))
        else:  # identity metrics need only the count of each value
            sizes = np.bincount(codes, minlength=values)
            single_column = Combination((name,), numbers_of(identity_of(sizes[sizes > 0])), {})
        yield single_column, partial(score, roles.quasi_identifiers[:n], combined_partition)


def _measure_by_set(request: Request) -> StepMeasurements:
    """Count the table for each set, for engines without a stable row order to align columns by."""

    def score(names: tuple[str, ...]) -> Combination:
        return CountScorer(Counts.of(_with_quasi_identifiers(request, names))).score(names)

    names = request.roles.quasi_identifiers
    for n, name in enumerate(names, start=1):
        single_column = score((name,))
        yield single_column, partial(score, names[:n])


def _with_quasi_identifiers(request: Request, names: tuple[str, ...]) -> Request:
    return replace(request, roles=replace(request.roles, quasi_identifiers=names))
