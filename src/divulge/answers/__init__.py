# SPDX-License-Identifier: Apache-2.0
"""What a release answers to counts, sums and averages, and the bounds between which the truth lies."""

from divulge.answers.anatomized import AnatomizedSource, Estimate, Source, estimate
from divulge.answers.generalized import GeneralizedSource, generalized_estimator, largest_shift
from divulge.answers.labels import Labels, read_labels

__all__ = [
    "AnatomizedSource", "Estimate", "GeneralizedSource", "Labels", "Source", "estimate", "generalized_estimator",
    "largest_shift", "read_labels",
]  # fmt: skip
