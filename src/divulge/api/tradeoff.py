# SPDX-License-Identifier: Apache-2.0
"""tradeoff(): risk and cost of every combination of levels, and the Pareto front.

Afifi et al. 2018 leave it open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from divulge import engines, generalization, metrics
from divulge import policy as policies
from divulge.adversary import Adversary
from divulge.api.generalize import prepare_search
from divulge.api.request import resolve_request
from divulge.arguments import arg
from divulge.errors import BadInput
from divulge.generalization import Hierarchies
from divulge.hierarchies import Suggestion
from divulge.policy import guard
from divulge.sources import Names, read
from divulge.validation import checked


@checked
def tradeoff(
    table: Any,
    metric: str | Sequence[str],
    *,
    attribute: str | None = None,
    policy: policies.PolicyLike | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: generalization.ObjectiveName | generalization.UserFunction = "loss",
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    engine: engines.EngineChoice = None,
) -> generalization.Front:
    """Evaluate every combination of levels that meets the policy as a point (metrics, objective).

    Nothing is written.

    Args:
        table: Any source that `read` opens.
        metric: The name of a metric, such as "entropy_leakage", or several names. The Pareto front
            then has the points that no other point beats in every number.
        attribute: The sensitive column of the metrics; by default the worst of them.
        policy: The requirements that every point meets: a `Policy`, a mapping with the keys of a
            policy file, or the path of one.
        quasi_identifiers: As in `generalize`, like the other roles; explicit roles take precedence
            over the policy's.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        hierarchies: Generalization hierarchies, as in `generalize`.
        suppression: The share of records that may be suppressed; takes precedence over the
            policy's.
        objective: The information loss, as in `generalize`.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; it takes precedence over the policy's.
        announce: Called with the default hierarchies before they are used.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> roles = {"quasi_identifiers": "zip", "sensitive": "disease"}
        >>> found = dv.tradeoff(
        ...     people, "k_anonymity", **roles, hierarchies={"zip": {"prefix": [3]}}
        ... )
        >>> [(point.levels["zip"], point.leakage, round(point.value, 3)) for point in found.front]
        [(0, 1.0, 0.0), (1, 2.0, 0.333), (2, 4.0, 1.0)]
    """
    request = resolve_request(
        guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, weight=weight, person=person),
        policy=policy,
        suppression=suppression,
        adversary=adversary,
    )
    if suppression is not None and not (request.policy.promises or request.policy.protections):
        message = (
            f"{arg('suppression')} has no effect without a promise: people are "
            "left out where one breaks"
        )
        raise BadInput(
            message,
            hint=f"Give a promise, for example {metrics.EXAMPLE_REQUIREMENT}, or leave it out",
        )
    prepared_table = prepare_search(
        read(table, engine=engine), request, hierarchies=hierarchies, joint=joint
    )
    return prepared_table.tradeoff(
        request.policy, metric, attribute=attribute, objective=objective, announce=announce
    )
