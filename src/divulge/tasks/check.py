# SPDX-License-Identifier: Apache-2.0
"""check(): whether a table keeps a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from divulge.belief import Adversary, adversary_in_force
from divulge.policy import Policy, Verdict, judge
from divulge.policy.chosen import choose_measured
from divulge.table.roles import Names
from divulge.tasks.measure import measure


def check(
    table: Any,
    policy: Policy | str | Path,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    sample: int = 10,
    engine: Any = None,
) -> Verdict:
    """Measure a table and hold it against a policy; roles, and what is said of the adversary, given here go before the policy's own.

    The people of a protection are chosen by what this table itself says of them. The other arguments are as in `measure`.
    """
    kept = policy if isinstance(policy, Policy) else Policy.load(policy)
    given: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    given |= {"weight": weight, "person": person}
    roles = {"quasi_identifiers": (), **kept.roles, **{name: value for name, value in given.items() if value}}
    her = adversary_in_force(adversary, kept.adversary)
    measurement = measure(table, **roles, joint=joint, adversary=her, engine=engine)
    protected = choose_measured(kept.protections, measurement)
    return judge(measurement, kept.promises, protected=protected, sample=sample)
