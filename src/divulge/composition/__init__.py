# SPDX-License-Identifier: Apache-2.0
"""What several releases of the same people tell together."""

from divulge.composition.disclosed import Disclosed, place_of
from divulge.composition.joined import NOT_PUBLISHED, HowFound, Joined, joined

__all__ = ["NOT_PUBLISHED", "Disclosed", "HowFound", "Joined", "joined", "place_of"]
