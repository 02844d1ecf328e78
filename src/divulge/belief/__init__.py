# SPDX-License-Identifier: Apache-2.0
"""What an adversary believes about an attribute before and after a table is published."""

from divulge.belief.adversary import Adversary, Assumptions, MarginalOf, adversary_in_force
from divulge.belief.belief import Averages, Belief, Ground, Guess, Whole
from divulge.belief.prior import GivenPrior, Knowledge, PriorBelief

__all__ = [
    "Adversary", "Assumptions", "Averages", "Belief", "GivenPrior", "Ground", "Guess", "Knowledge", "MarginalOf", "PriorBelief",
    "Whole", "adversary_in_force",
]  # fmt: skip
