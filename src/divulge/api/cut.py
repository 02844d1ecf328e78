# SPDX-License-Identifier: Apache-2.0
"""cut(): ranges of a column that meet the requirements and keep the most information.

The information is about a sensitive attribute (Bezzi 2010, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from divulge import generalization, metrics
from divulge import policy as policies
from divulge.adversary import Adversary, Assumptions
from divulge.api.request import resolve_request
from divulge.counting import count
from divulge.errors import BadInput
from divulge.generalization import CutColumn
from divulge.hierarchies import build_hierarchy
from divulge.sources import Names, read, resolve_roles
from divulge.validation import checked


@checked
def cut(
    table: Any,
    column: str,
    *,
    about: str,
    policy: policies.PolicyLike,
    most: int | None = None,
    order: Sequence[str] | None = None,
    keep: Sequence[float | str] = (),
    among: Sequence[float | str] | None = None,
    beside: Names = (),
    against: Names = (),
    adversary: Adversary | None = None,
) -> CutColumn:
    """Find the ranges of a column that meet the policy and keep the most information.

    Each range meets each requirement. The information is about a sensitive column.

    Args:
        table: Any source that `read` opens.
        column: The column to cut into ranges. A null has no position in an order: drop such rows
            with Adversary(nulls="drop").
        about: The sensitive column.
        policy: The requirements that each range meets: a `Policy`, a mapping with the keys of a
            policy file, or the path of one.
        most: Largest number of ranges; by default as many as the requirements allow.
        order: The values of a text column from low to high.
        keep: Cut points that the ranges must have, such as those of a higher generalization level.
        among: The only cut points that the ranges may have in addition to `keep`, such as those of
            a lower generalization level.
        beside: Other quasi-identifiers, published unchanged. Every class of a range and these
            columns meets the requirements, and their joint information is maximized.
        against: Further quasi-identifiers. With these, the result reports the share of the
            information of all of them that is lost (eq. 4 of the paper).
        adversary: As in `measure`; it takes precedence over the policy's.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [20, 21, 60, 61], "disease": ["flu", "flu", "cold", "cold"]})
        >>> dv.cut(people, "age", about="disease", policy=dv.Policy(k_anonymity=2)).rule
        {'cuts': [60]}
    """
    request = resolve_request(policy=policy, adversary=adversary)
    effective_policy = request.policy
    effective_adversary = request.adversary
    if effective_policy.protections:
        raise BadInput(
            "cut points are sought for everybody, and the policy protects chosen people or values"
        )
    source = read(table)
    names = resolve_roles(source, quasi_identifiers=beside).quasi_identifiers
    if column in names:
        raise BadInput(f"{column!r} is cut, so it cannot stand beside itself")
    roles = resolve_roles(source, quasi_identifiers=[column, *names], sensitive=[about])
    effective_adversary.refuse(
        ("released",),
        "ranges of one column are sought, which a release that is out says nothing of",
    )
    assumptions = Assumptions.of(effective_adversary, source, roles)
    nulls = effective_adversary.without_wildcards()
    contingency = count(source, roles, nulls=nulls)
    population = metrics.count_population(source, effective_adversary, roles, nulls)
    before = metrics.measure_counts(
        contingency, source, roles, assumptions=assumptions, nulls=nulls, population=population
    )
    identity_view = before.identity_view
    contingency = replace(
        contingency,
        population=identity_view.population,
        population_estimated=identity_view.estimated,
    )
    merging = assumptions.as_joint(contingency)
    name = roles.quasi_identifiers[0]
    attribute = roles.sensitive[0]
    cuts = generalization.optimal_cuts(
        contingency,
        effective_policy.promises,
        column=name,
        attribute=attribute,
        max_ranges=most,
        order=order,
        keep=keep,
        among=among,
        other_columns=names,
        beliefs=before.beliefs,
    )
    rule = generalization.cut_rule(
        cuts, contingency.keys[0], order, explicit_points=(*keep, *(among or ()))
    )
    settings = {**before.settings, "prior_weights": dict(merging.prior_weights), "most": most}
    settings |= {"keep": list(keep), "among": None if among is None else list(among)}
    if against:
        all_columns = dict.fromkeys(
            [name, *names, *resolve_roles(source, quasi_identifiers=against).quasi_identifiers]
        )
        full_contingency = count(
            source,
            resolve_roles(source, quasi_identifiers=[*all_columns], sensitive=[about]),
            nulls=nulls,
        )
        cuts = replace(
            cuts, whole_information=generalization.information_of(full_contingency, attribute)
        )
        settings |= {"against": [*all_columns]}
    levels = build_hierarchy(name, rule, contingency.keys[0].labels)
    return CutColumn(cuts, rule, levels, settings, merging.notes, frame=source.frame)
