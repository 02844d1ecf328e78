# SPDX-License-Identifier: Apache-2.0
"""Simulated attacks on a release: their success rates compared with the guaranteed bounds."""

from divulge.attacks.catalogue import ATTACKERS
from divulge.attacks.context import MASS, AttackContext, People, people_of, put_together
from divulge.attacks.deferral import attack_deferral
from divulge.attacks.inference import knowing
from divulge.attacks.matching import Matcher
from divulge.attacks.noisy_linkage import AGREEING
from divulge.attacks.result import Attacker, AttackResult, Attempt, KnowledgeResult

__all__ = [
    "AGREEING",
    "ATTACKERS",
    "MASS",
    "AttackContext",
    "AttackResult",
    "Attacker",
    "Attempt",
    "KnowledgeResult",
    "Matcher",
    "People",
    "attack_deferral",
    "knowing",
    "people_of",
    "put_together",
]
