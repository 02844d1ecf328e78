# SPDX-License-Identifier: Apache-2.0
"""Metrics: plain functions from counts to numbers, and METRICS, the list of them."""

from divulge.metrics.catalogue import IDENTITY, METRICS, SENSITIVE, find_metric
from divulge.metrics.identity import Identity
from divulge.metrics.metric import TOLERANCE, Metric, Scope

__all__ = ["IDENTITY", "METRICS", "SENSITIVE", "TOLERANCE", "Identity", "Metric", "Scope", "find_metric"]
