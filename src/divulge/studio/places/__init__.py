# SPDX-License-Identifier: Apache-2.0
"""The places of the studio, in the order of its tabs. Each shows results of the library for the work on the desk."""

from divulge.studio.places import attack, levels, promises, publish, risk, table

PLACES = (table.PLACE, risk.PLACE, levels.PLACE, promises.PLACE, attack.PLACE, publish.PLACE)

__all__ = ["PLACES"]
