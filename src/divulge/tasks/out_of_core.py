# SPDX-License-Identifier: Apache-2.0
"""measure() within a memory limit: DuckDB counts out of core, and where even the counts are too many for memory they stay on disk.

The passes over the classes are those of Spark's workers (see partition), over one stream instead of many partitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from divulge.belief import Assumptions
from divulge.count.cluster import ClusterCounts
from divulge.count.counting import Request
from divulge.count.stored import count_to_disk
from divulge.metrics.measurement import Measurement
from divulge.tasks.measure import measure_counts, measurement_of, settings_of
from divulge.tasks.on_spark import stock_of


def measure_out_of_core(request: Request, *, assumptions: Assumptions) -> Measurement:
    """Count to disk; then measure in memory if there are few cells, else class by class."""
    counts = count_to_disk(request)
    if counts.is_small:
        contingency = counts.collect()
        return measure_counts(contingency, request.table, request.roles, assumptions=assumptions, nulls=request.nulls)
    stock = stock_of(cast("ClusterCounts", counts), None, assumptions)
    *notes, _ = stock.contingency.notes
    where = (
        f"the counts stayed on disk: {len(stock.contingency):,} of {stock.classes:,} classes are here, "
        f"the {stock.kept} worst by each metric"
    )
    settings = settings_of(
        request.table,
        request.roles,
        stock.sample.beliefs,
        assumptions,
        nulls=request.nulls,
        population=False,
        counts="disk",
    )
    return measurement_of(
        replace(stock.contingency, notes=(*notes, where)),
        stock.sample.identity,
        stock.sample.beliefs,
        settings=settings,
        frame=request.table.frame,
        survey=stock,
    )
