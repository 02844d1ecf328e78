# SPDX-License-Identifier: Apache-2.0
"""What several releases of the same people tell together."""

from divulge.composition.derived import derive
from divulge.composition.disclosed import Disclosed, place_of
from divulge.composition.joined import Joined, joined
from divulge.composition.together import Composition, OneRelease, PersonTold, invariance_of, measured_together

__all__ = [
    "Composition", "Disclosed", "Joined", "OneRelease", "PersonTold", "derive", "invariance_of", "joined", "measured_together", "place_of",
]  # fmt: skip
