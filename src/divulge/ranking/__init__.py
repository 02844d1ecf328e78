# SPDX-License-Identifier: Apache-2.0
"""Which columns, alone and together, give people away."""

from divulge.ranking.growing import Growth, grow
from divulge.ranking.ranking import Ranking, rank_columns
from divulge.ranking.score import BESIDE_METRICS, AnonymizedSet, Combination, Numbers

__all__ = ["BESIDE_METRICS", "AnonymizedSet", "Combination", "Growth", "Numbers", "Ranking", "grow", "rank_columns"]
