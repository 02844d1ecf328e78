# SPDX-License-Identifier: Apache-2.0
"""What an adversary believes about an attribute before and after a table is published."""

from divulge.belief.belief import Belief, Ground, Whole
from divulge.belief.ground import GroundChoice, Taxonomy
from divulge.belief.knowledge import Knowledge, read_knowledge
from divulge.belief.prior import GivenPrior, Prior, as_share, read_prior

__all__ = [
    "Belief",
    "GivenPrior",
    "Ground",
    "GroundChoice",
    "Knowledge",
    "Prior",
    "Taxonomy",
    "Whole",
    "as_share",
    "read_knowledge",
    "read_prior",
]
