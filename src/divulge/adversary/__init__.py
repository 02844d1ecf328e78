# SPDX-License-Identifier: Apache-2.0
"""The adversary's belief about an attribute before and after a table is published."""

from divulge.adversary.adversary import Adversary, Assumptions, MarginalOf, adversary_in_force
from divulge.adversary.belief import Averages, Belief, TableTotals
from divulge.adversary.ground_distance import GroundDistance
from divulge.adversary.guesses import Guess
from divulge.adversary.prior import ExplicitPrior, Knowledge, PriorBelief

__all__ = [
    "Adversary",
    "Assumptions",
    "Averages",
    "Belief",
    "ExplicitPrior",
    "GroundDistance",
    "Guess",
    "Knowledge",
    "MarginalOf",
    "PriorBelief",
    "TableTotals",
    "adversary_in_force",
]
