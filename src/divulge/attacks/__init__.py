# SPDX-License-Identifier: Apache-2.0
"""What an adversary really achieves against a release, beside what was promised."""

from divulge.attacks.anatomized import Attacks, Effort, attack_anatomized
from divulge.attacks.attempt import Attacker, AttackResult, Attempt, Knowing
from divulge.attacks.catalogue import ATTACKERS
from divulge.attacks.inferring import knowing
from divulge.attacks.matching import Matcher
from divulge.attacks.noisy_linkage import AGREEING
from divulge.attacks.stage import MASS, People, Stage, people_of, put_together

__all__ = [
    "AGREEING", "ATTACKERS", "MASS", "AttackResult", "Attacker", "Attacks", "Attempt", "Effort", "Knowing", "Matcher", "People", "Stage",
    "attack_anatomized", "knowing", "people_of", "put_together",
]  # fmt: skip
