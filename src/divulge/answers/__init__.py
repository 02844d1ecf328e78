# SPDX-License-Identifier: Apache-2.0
"""What a release answers to counts, sums and averages, and the bounds between which the truth lies."""

from divulge.answers.anatomized import AnatomizedSource, Estimate, Source, estimate
from divulge.answers.foretelling import ModelQuality, Task, model_of_groups, model_of_labels, require_scikit_learn
from divulge.answers.generalized import GeneralizedSource, generalized_estimator, largest_shift
from divulge.answers.labels import read_labels
from divulge.answers.meaning import Fits, Meanings, Spread, Text, fits, read_meanings, read_spread

__all__ = [
    "AnatomizedSource", "Estimate", "Fits", "GeneralizedSource", "Meanings", "ModelQuality", "Source",
    "Spread", "Task", "Text", "estimate", "fits", "generalized_estimator", "largest_shift", "model_of_groups",
    "model_of_labels", "read_labels", "read_meanings", "read_spread", "require_scikit_learn",
]  # fmt: skip
