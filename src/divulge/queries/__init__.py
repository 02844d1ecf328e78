# SPDX-License-Identifier: Apache-2.0
"""Counts, sums and averages estimated from a release, with bounds that hold for the original."""

from divulge.queries.anatomized import AnatomizedSource, Estimate, Source, estimate
from divulge.queries.generalized import GeneralizedSource, generalized_estimator, largest_shift
from divulge.queries.label_matching import Fits, Meanings, fits, read_meanings, read_spread
from divulge.queries.labels import read_labels
from divulge.queries.model_utility import require_scikit_learn
from divulge.queries.release_utility import (
    Kind,
    Meaning,
    ReleaseData,
    Utility,
    UtilityComparison,
    unknown_meaning,
)
from divulge.releases import Text

__all__ = [
    "AnatomizedSource",
    "Estimate",
    "Fits",
    "GeneralizedSource",
    "Kind",
    "Meaning",
    "Meanings",
    "ReleaseData",
    "Source",
    "Text",
    "Utility",
    "UtilityComparison",
    "estimate",
    "fits",
    "generalized_estimator",
    "largest_shift",
    "read_labels",
    "read_meanings",
    "read_spread",
    "require_scikit_learn",
    "unknown_meaning",
]
