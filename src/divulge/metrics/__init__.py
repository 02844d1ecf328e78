# SPDX-License-Identifier: Apache-2.0
"""Metrics: plain functions from counts to numbers, and METRICS, the list of them."""

from divulge.metrics.catalogue import (
    IDENTITY,
    METRICS,
    SENSITIVE,
    find_metric,
    leading_metric,
    ordering_metric,
    ranked_metrics,
)
from divulge.metrics.identity import Identity
from divulge.metrics.metric import TOLERANCE, LooksAt, Metric, RankingTable, Scope

__all__ = [
    "IDENTITY",
    "METRICS",
    "SENSITIVE",
    "TOLERANCE",
    "Identity",
    "LooksAt",
    "Metric",
    "RankingTable",
    "Scope",
    "find_metric",
    "leading_metric",
    "ordering_metric",
    "ranked_metrics",
]
