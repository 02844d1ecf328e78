# SPDX-License-Identifier: Apache-2.0
"""Which columns, alone and together, give people away."""

from divulge.ranking.from_counts import RolledUp, identity_view, sensitive_in, spectrum_of
from divulge.ranking.score import BESIDE_METRICS, Combination, Numbers, OneByOne, Scorer, identity_numbers
from divulge.ranking.smallest import Pruned, search_smallest

__all__ = [
    "BESIDE_METRICS",
    "Combination",
    "Numbers",
    "OneByOne",
    "Pruned",
    "RolledUp",
    "Scorer",
    "identity_numbers",
    "identity_view",
    "search_smallest",
    "sensitive_in",
    "spectrum_of",
]
