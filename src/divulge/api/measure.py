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

    Args:
        table: Whatever `read` opens.
        quasi_identifiers: The columns that an adversary may know of a person; people who agree on all of them make a class.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: What she believed before, rules out and holds; by default she believes the table's own distribution.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
        >>> m = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
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
    """Measure a table and hold it against a policy.

    The people of a protection are chosen by what this table itself says of them.

    Args:
        table: Whatever `read` opens.
        policy: The promises: a `Policy`, or the path of a policy file.
        quasi_identifiers: As in `measure`, and so are the other roles; what is given here goes before the policy's own.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: As in `measure`; what is said here goes before the policy's own.
        sample: How many of the classes that break a promise are named.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
        >>> verdict = dv.check(people, dv.Policy(k_anonymity=2), quasi_identifiers="zip", sensitive="disease")
        >>> verdict.holds
        False
    """
    kept = policy if isinstance(policy, Policy) else Policy.load(policy)
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    roles: dict[str, Any] = {"quasi_identifiers": (), **kept.roles}
    roles |= {name: value for name, value in (given | {"weight": weight, "person": person}).items() if value}
    her = adversary_in_force(adversary, kept.adversary)
    measurement = measure(table, **roles, joint=joint, adversary=her, engine=engine)
    protected = choose_measured(kept.protections, measurement)
    return judge(measurement, kept.promises, protected=protected, sample=sample)
