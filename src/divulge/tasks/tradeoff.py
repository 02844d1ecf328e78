# SPDX-License-Identifier: Apache-2.0
"""tradeoff(): what every combination of levels would tell and cost, and which none beats in both (Afifi et al. 2018 leave it open)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge.belief import Adversary, adversary_in_force
from divulge.generalize.objective import UserFunction
from divulge.generalize.pareto import Front, pareto_front
from divulge.policy import Policy
from divulge.table.hierarchy_defaults import Suggestion
from divulge.table.read import own_table, read
from divulge.table.roles import Names
from divulge.tasks.generalize import Hierarchies, choose_hierarchies, count_original, roles_of


def tradeoff(
    table: Any,
    metric: str,
    *,
    attribute: str | None = None,
    policy: Policy | str | Path | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: str | UserFunction = "loss",
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    engine: Any = None,
) -> Front:
    """Every combination of levels as a point (metric, objective), among those that keep the policy, if one is given.

    `metric` is about `attribute`, or about the worst of the sensitive attributes; the other arguments are as in `generalize`. Nothing is
    written.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
    >>> levels = {"zip": {"prefix": [3]}}
    >>> found = tradeoff(people, "k_anonymity", quasi_identifiers="zip", sensitive="disease", hierarchies=levels)
    >>> [(point.levels["zip"], point.leakage, round(point.value, 3)) for point in found.front]
    [(0, 1.0, 0.0), (1, 2.0, 0.333), (2, 4.0, 1.0)]
    """
    kept = policy if isinstance(policy, Policy) else Policy() if policy is None else Policy.load(policy)
    if suppression is not None:
        kept = replace(kept, suppression=suppression)
    source, own = own_table(read(table, engine=engine))
    given = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "identifier": identifier}
    roles = roles_of(source, kept, given | {"weight": weight, "person": person})
    original, before = count_original(source, own, roles, adversary_in_force(adversary, kept.adversary), joint=joint)
    also = original.assumptions.condition_values()
    levels, suggestions = choose_hierarchies(original.people, hierarchies, kept, declared=source.declared, also=also)
    if suggestions and announce is not None:
        announce(suggestions)
    found = pareto_front(
        original.people,
        levels,
        metric,
        attribute=attribute,
        objective=objective,
        promises=kept.promises,
        protections=kept.protections,
        suppression=kept.suppression,
        beliefs=before.beliefs,
    )
    settings = {**before.settings, "prior_weights": dict(original.assumptions.prior_weights)}
    return replace(found, settings=settings, notes=original.assumptions.notes)
