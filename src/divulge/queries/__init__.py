# SPDX-License-Identifier: Apache-2.0
"""Counts, sums and averages estimated from a release, with bounds that hold for the original."""

from divulge.queries.anatomized import AnatomizedSource, Estimate, Source, estimate
from divulge.queries.generalized import GeneralizedSource, generalized_estimator, largest_shift
from divulge.queries.label_matching import Fits, Meanings, Spread, fits, read_meanings, read_spread
from divulge.queries.labels import read_labels
from divulge.queries.model_utility import (
    ModelQuality,
    Task,
    model_of_groups,
    model_of_labels,
    require_scikit_learn,
)
from divulge.releases import Text

__all__ = [
    "AnatomizedSource",
    "Estimate",
    "Fits",
    "GeneralizedSource",
    "Meanings",
    "ModelQuality",
    "Source",
    "Spread",
    "Task",
    "Text",
    "estimate",
    "fits",
    "generalized_estimator",
    "largest_shift",
    "model_of_groups",
    "model_of_labels",
    "read_labels",
    "read_meanings",
    "read_spread",
    "require_scikit_learn",
]
