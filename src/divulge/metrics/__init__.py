# SPDX-License-Identifier: Apache-2.0
"""Metrics: plain functions from counts to numbers, and METRICS, the list of them."""

from divulge.metrics.average_and_worst import Conditions, conditions_of
from divulge.metrics.catalogue import (
    IDENTITY,
    METRICS,
    TOLERANCE,
    Convex,
    LooksAt,
    Metric,
    RankingTable,
    Scope,
    find_metric,
    leading_metric,
    ordering_metric,
    ranked_metrics,
    worst_first,
)
from divulge.metrics.dense import DenseSums, Marginal
from divulge.metrics.identity import Identity, distinction, separation, uniques
from divulge.metrics.independence import Independence
from divulge.metrics.information import distribution_leakage, entropy_leakage, mutual_information, specific_information
from divulge.metrics.itpr import BandsOf, Repair, RiskBands
from divulge.metrics.measurement import (
    Measurement,
    Score,
    as_number,
    beliefs_by,
    count_population,
    measure_counts,
    measure_request,
    needs_population,
    not_told,
    population_request,
    survey_of,
)
from divulge.metrics.one_class import OneClass, Shift, shares_in
from divulge.metrics.survey import Answer, Question, answer

__all__ = [
    "IDENTITY", "METRICS", "TOLERANCE", "Answer", "BandsOf", "Conditions", "Convex", "DenseSums", "Identity", "Independence", "LooksAt",
    "Marginal", "Measurement", "Metric", "OneClass", "Question", "RankingTable", "Repair", "RiskBands", "Scope", "Score", "Shift", "answer",
    "as_number", "beliefs_by", "conditions_of", "count_population", "distinction", "distribution_leakage",
    "entropy_leakage", "find_metric", "leading_metric", "measure_counts", "measure_request", "mutual_information",
    "needs_population", "not_told", "ordering_metric", "population_request", "ranked_metrics", "separation", "shares_in",
    "specific_information",
    "survey_of", "uniques", "worst_first",
]  # fmt: skip
