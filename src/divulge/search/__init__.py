# SPDX-License-Identifier: Apache-2.0
"""Generalization: which levels, boxes or columns to publish so that promises hold and as little as possible is lost."""

from divulge.search.cut_points import Cuts, information_of, optimal_cuts
from divulge.search.diagnosis import NothingFits
from divulge.search.exact import search
from divulge.search.front import Front, pareto_front
from divulge.search.lattice import Rollup
from divulge.search.mondrian import mondrian
from divulge.search.objectives import OBJECTIVES, ObjectiveName, UserFunction
from divulge.search.plan import Box, Plan, Recoding, published, with_left_behind
from divulge.search.price import Explanation, explain, ruin_of

__all__ = [
    "OBJECTIVES", "Box", "Cuts", "Explanation", "Front", "NothingFits", "ObjectiveName", "Plan", "Recoding", "Rollup", "UserFunction",
    "explain", "information_of", "mondrian", "optimal_cuts", "pareto_front", "published", "ruin_of", "search",
    "with_left_behind",
]  # fmt: skip
