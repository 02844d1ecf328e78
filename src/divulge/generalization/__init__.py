# SPDX-License-Identifier: Apache-2.0
"""Generalization: find levels, boxes or columns that meet the requirements with least cost."""

from divulge.generalization.cut_column import CutColumn, cut_rule
from divulge.generalization.cut_points import information_of, optimal_cuts
from divulge.generalization.exact_search import search
from divulge.generalization.hierarchy_choice import Hierarchies, choose_hierarchies, suggest
from divulge.generalization.infeasibility import NothingFits
from divulge.generalization.mondrian import mondrian
from divulge.generalization.objectives import OBJECTIVES, ObjectiveName, UserFunction
from divulge.generalization.pareto import Front, pareto_front
from divulge.generalization.plan import LEFT_OUT, Box, Plan, Recoding, published, with_left_behind
from divulge.generalization.requirement_cost import Explanation, explain, severe_loss
from divulge.generalization.rollup import Rollup

__all__ = [
    "LEFT_OUT",
    "OBJECTIVES",
    "Box",
    "CutColumn",
    "Explanation",
    "Front",
    "Hierarchies",
    "NothingFits",
    "ObjectiveName",
    "Plan",
    "Recoding",
    "Rollup",
    "UserFunction",
    "choose_hierarchies",
    "cut_rule",
    "explain",
    "information_of",
    "mondrian",
    "optimal_cuts",
    "pareto_front",
    "published",
    "search",
    "severe_loss",
    "suggest",
    "with_left_behind",
]
