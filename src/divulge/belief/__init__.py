# SPDX-License-Identifier: Apache-2.0
"""What an adversary believes about an attribute before and after a table is published."""

from divulge.belief.adversary import Adversary, Assumptions, MarginalOf, adversary_in_force
from divulge.belief.belief import Belief, Ground, Whole
from divulge.belief.ground import GroundChoice, Taxonomy
from divulge.belief.knowledge import Knowledge
from divulge.belief.prior import GivenPrior, PriorBelief, as_share, read_prior

__all__ = [
    "Adversary",
    "Assumptions",
    "Belief",
    "GivenPrior",
    "Ground",
    "GroundChoice",
    "Knowledge",
    "MarginalOf",
    "PriorBelief",
    "Taxonomy",
    "Whole",
    "adversary_in_force",
    "as_share",
    "read_prior",
]
