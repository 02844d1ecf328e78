# SPDX-License-Identifier: Apache-2.0
"""Re-identification risk of single columns and of combinations of columns."""

from divulge.ranking.growing import Growth, grow
from divulge.ranking.ranking import Ranking, rank_columns
from divulge.ranking.scores import ARX_METRICS, AnonymizedSet, Combination, Numbers

__all__ = [
    "ARX_METRICS",
    "AnonymizedSet",
    "Combination",
    "Growth",
    "Numbers",
    "Ranking",
    "grow",
    "rank_columns",
]
