# SPDX-License-Identifier: Apache-2.0
"""What several releases of the same people tell together."""

from divulge.composition.disclosed import Disclosed, place_of
from divulge.composition.joined import Joined, joined

__all__ = ["Disclosed", "Joined", "joined", "place_of"]
