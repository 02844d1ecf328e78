# SPDX-License-Identifier: Apache-2.0
"""Requests: the arguments that most public functions share, resolved once.

Explicit arguments take precedence over a policy. The adversary also holds the releases of a ledger.
The ledger is imported only if one is passed, because most requests have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from divulge.adversary import Adversary, adversary_in_force
from divulge.policy import Policy, PolicyLike, Protection, guard
from divulge.sources import Roles, Table

if TYPE_CHECKING:
    from divulge import ledger as ledgers


@dataclass(frozen=True, eq=False)
class ResolvedRequest:
    """Arguments of a public function that do not depend on a table."""

    policy: Policy
    """Policy in effect; without requirements and roles if none was passed."""
    adversary: Adversary
    """Adversary in effect."""
    explicit_roles: guard.ExplicitRoles
    ledger_releases: ledgers.PriorReleases | None = None
    """Published releases of the ledger, which the adversary holds."""

    def roles_in(self, table: Table) -> Roles:
        """Resolve the roles in a table: explicit roles, else the policy's."""
        return guard.roles_in_force(table, self.policy.roles, self.explicit_roles)


def resolve_request(
    explicit_roles: guard.ExplicitRoles | None = None,
    *,
    policy: PolicyLike | None = None,
    protections: Sequence[Protection] = (),
    suppression: float | None = None,
    adversary: Adversary | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    makes_release: bool = False,
) -> ResolvedRequest:
    """Resolve the arguments of a public function.

    Args:
        explicit_roles: The roles that were passed.
        policy: As in `check`.
        protections: Requirements for selected people, in addition to those of the policy.
        suppression: Largest share of suppressed records; takes precedence over the policy's.
        adversary: As in `measure`.
        ledger: As in `check`.
        makes_release: Accept a missing ledger, which the first release creates.
    """
    effective_policy = Policy() if policy is None else Policy.of(policy)
    if protections:
        effective_policy = replace(
            effective_policy, protections=(*effective_policy.protections, *protections)
        )
    if suppression is not None:
        effective_policy = replace(effective_policy, suppression=suppression)
    effective_adversary = adversary_in_force(adversary, effective_policy.adversary)
    ledger_releases = None
    if ledger is not None:
        from divulge.ledger import Ledger

        ledger_releases = Ledger.of(ledger).judge(new=makes_release)
        effective_adversary = ledger_releases.held_by(effective_adversary)
    return ResolvedRequest(
        effective_policy,
        effective_adversary,
        explicit_roles or guard.ExplicitRoles(),
        ledger_releases,
    )
