# SPDX-License-Identifier: Apache-2.0
"""Metrics: functions from counts to numbers, and METRICS, the tuple of all metrics."""

from divulge.metrics.bezzi_conditions import Conditions, conditions_of
from divulge.metrics.catalogue import (
    EXAMPLE_REQUIREMENT,
    IDENTITY,
    METRICS,
    find_metric,
    leading_metric,
    ordering_metric,
    ranked_metrics,
)
from divulge.metrics.class_detail import ClassDetail, Shift, shares_in
from divulge.metrics.dense import DenseSums, Marginal
from divulge.metrics.identity import (
    Identity,
    distinction,
    separation,
    single_person_classes,
    uniques,
)
from divulge.metrics.independence import Independence
from divulge.metrics.information import mutual_information, specific_information
from divulge.metrics.itpr_repair import BandsOf, Repair, RiskBands
from divulge.metrics.leakage import distribution_leakage, entropy_leakage
from divulge.metrics.measurement import (
    Measurement,
    Score,
    as_number,
    beliefs_by,
    count_population,
    measure_counts,
    measure_request,
    needs_population,
    overlap_error,
    population_request,
    survey_of,
)
from divulge.metrics.metric import (
    TOLERANCE,
    Convex,
    LooksAt,
    Metric,
    RankingTable,
    Scope,
    worst_first,
)
from divulge.metrics.out_of_core import ClassQuery, ClassQueryResult, answer
from divulge.metrics.perturbation import (
    AttributeInformation,
    Perturbed,
    information_about_attribute,
    measure_perturbation,
    surprise_allowed,
)

__all__ = [
    "EXAMPLE_REQUIREMENT",
    "IDENTITY",
    "METRICS",
    "TOLERANCE",
    "AttributeInformation",
    "BandsOf",
    "ClassDetail",
    "ClassQuery",
    "ClassQueryResult",
    "Conditions",
    "Convex",
    "DenseSums",
    "Identity",
    "Independence",
    "LooksAt",
    "Marginal",
    "Measurement",
    "Metric",
    "Perturbed",
    "RankingTable",
    "Repair",
    "RiskBands",
    "Scope",
    "Score",
    "Shift",
    "answer",
    "as_number",
    "beliefs_by",
    "conditions_of",
    "count_population",
    "distinction",
    "distribution_leakage",
    "entropy_leakage",
    "find_metric",
    "information_about_attribute",
    "leading_metric",
    "measure_counts",
    "measure_perturbation",
    "measure_request",
    "mutual_information",
    "needs_population",
    "ordering_metric",
    "overlap_error",
    "population_request",
    "ranked_metrics",
    "separation",
    "shares_in",
    "single_person_classes",
    "specific_information",
    "surprise_allowed",
    "survey_of",
    "uniques",
    "worst_first",
]
