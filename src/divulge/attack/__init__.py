# SPDX-License-Identifier: Apache-2.0
"""What an adversary really achieves against a release, beside what was promised."""

from divulge.attack.anatomized import Attacks, attack_anatomized
from divulge.attack.outcome import AttackOutcome, Trial

__all__ = ["AttackOutcome", "Attacks", "Trial", "attack_anatomized"]
