# SPDX-License-Identifier: Apache-2.0
"""What several releases of the same people tell together."""

from divulge.composition.disclosed import Disclosed, place_of
from divulge.composition.joined import NOT_PUBLISHED, Joined, Reading, joined

__all__ = ["NOT_PUBLISHED", "Disclosed", "Joined", "Reading", "joined", "place_of"]
