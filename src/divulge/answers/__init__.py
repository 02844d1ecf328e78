# SPDX-License-Identifier: Apache-2.0
"""What a release answers to counts, sums and averages, and how far the truth may be from it."""

from divulge.answers.anatomized import AnatomizedSource, Estimate, Source, estimate
from divulge.answers.generalized import GeneralizedSource, generalized_estimator, largest_shift, leaf_relations

__all__ = [
    "AnatomizedSource", "Estimate", "GeneralizedSource", "Source", "estimate", "generalized_estimator", "largest_shift",
    "leaf_relations",
]  # fmt: skip
