# SPDX-License-Identifier: Apache-2.0
"""check(): whether a table keeps a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from divulge.policy import Policy, Verdict, judge
from divulge.policy.chosen import choose_measured
from divulge.tasks.measure import Names, measure


def check(
    table: Any,
    policy: Policy | str | Path,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    assumptions: Mapping[str, Any] | None = None,
    sample: int = 10,
    engine: Any = None,
) -> Verdict:
    """Measure a table and hold it against a policy; roles given here go before the policy's own. `Verdict.measurement` has the numbers.

    The people of a protection are chosen by what this table itself says of them. `assumptions` are further keyword arguments of
    `measure`, such as {"person": "patient_id"}; `engine` is as there.
    """
    kept = policy if isinstance(policy, Policy) else Policy.load(policy)
    arguments = dict(kept.roles) | {name: value for name, value in (assumptions or {}).items() if value is not None}
    if quasi_identifiers:
        arguments["quasi_identifiers"] = quasi_identifiers
    if sensitive:
        arguments["sensitive"] = sensitive
    arguments.setdefault("quasi_identifiers", ())
    measurement = measure(table, **arguments, engine=engine)
    protected = choose_measured(kept.protections, measurement)
    return judge(measurement, kept.promises, protected=protected, sample=sample)
