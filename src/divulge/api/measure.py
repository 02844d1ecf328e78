# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score. check(): whether it keeps a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from divulge import metrics
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Request
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, choose_measured, judge
from divulge.table import Names, read, read_beside, resolve_roles


def measure(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    engine: Any = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    `joint` also measures all sensitive columns together as one. `adversary` says what she believed before, rules out and holds.
    `engine` is "duckdb" (the default), "spark", or an engine of yours; a Spark frame brings its own session.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
    >>> m = measure(people, quasi_identifiers="zip", sensitive="disease")
    >>> m["k_anonymity"].value, m["l_diversity"].worst.key
    (2.0, {'zip': '1'})
    """
    her = adversary_in_force(adversary)
    source = read(table, engine=engine)
    roles = resolve_roles(
        source,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        identifier=identifier,
        weight=weight,
        person=person,
        declared=True,
    )
    assumptions = Assumptions.of(her, source, roles)
    request = Request(source, roles, her.nulls or "category", joint)
    everybody = None if her.population is None else read_beside(source, her.population)
    return metrics.measure_request(request, assumptions=assumptions, population=everybody)


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
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    roles: dict[str, Any] = {"quasi_identifiers": (), **kept.roles}
    roles |= {name: value for name, value in (given | {"weight": weight, "person": person}).items() if value}
    her = adversary_in_force(adversary, kept.adversary)
    measurement = measure(table, **roles, joint=joint, adversary=her, engine=engine)
    protected = choose_measured(kept.protections, measurement)
    return judge(measurement, kept.promises, protected=protected, sample=sample)
