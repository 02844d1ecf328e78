# SPDX-License-Identifier: Apache-2.0
"""ATTACKERS: every way to attack a release, in the order in which people read them. Commands and documents loop over this tuple."""

from __future__ import annotations

from divulge.attacks.attempt import Attacker
from divulge.attacks.definetti import DEFINETTI
from divulge.attacks.distance import DISTANCE_ATTACKERS
from divulge.attacks.groups import GROUP_ATTACKERS
from divulge.attacks.linkage import NOISY_LINKAGE

ATTACKERS: tuple[Attacker, ...] = (*GROUP_ATTACKERS, DEFINETTI, *DISTANCE_ATTACKERS, NOISY_LINKAGE)
