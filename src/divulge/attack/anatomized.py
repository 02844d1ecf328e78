# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021, section 3, carried out against an anatomized release."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.anatomize.anatomized import Anatomized
from divulge.attack.arrangements import Victims
from divulge.attack.linkage import Effort, attribute_linkage, record_linkage
from divulge.attack.outcome import AttackOutcome
from divulge.attack.presence import table_linkage
from divulge.attack.shift import probabilistic_attack


@dataclass(frozen=True)
class Attacks:
    """What each of the four attacks achieves."""

    record_linkage: AttackOutcome
    attribute_linkage: AttackOutcome
    table_linkage: AttackOutcome
    probabilistic: AttackOutcome

    @property
    def outcomes(self) -> tuple[AttackOutcome, ...]:
        """All four, in the order of alpha, beta, gamma, delta."""
        return (self.record_linkage, self.attribute_linkage, self.table_linkage, self.probabilistic)


def attack_anatomized(anatomized: Anatomized, *, effort: Effort | None = None) -> Attacks:
    """Attack every person of a release."""
    victims, model, work = Victims.of(anatomized), anatomized.model, effort or Effort()
    return Attacks(
        record_linkage=record_linkage(victims, model, work),
        attribute_linkage=attribute_linkage(victims, model, work),
        table_linkage=table_linkage(victims, model, work),
        probabilistic=probabilistic_attack(victims, model, anatomized.group_levels),
    )
