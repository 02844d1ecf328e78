# SPDX-License-Identifier: Apache-2.0
"""What an adversary really achieves against a release, beside what was promised."""

from divulge.attacks.anatomized import Attacks, Effort, attack_anatomized

__all__ = ["Attacks", "Effort", "attack_anatomized"]
