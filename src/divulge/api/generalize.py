# SPDX-License-Identifier: Apache-2.0
"""generalize(): make a release of a table that meets a policy (Afifi et al. 2018, Def. 1 and 10).

The engine counts, the search decides on the counts, and the engine applies the plan when the
release is written. Before publication, the release is read back and measured again, with the prior
of the original table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import engines, generalization, releases
from divulge import ledger as ledgers
from divulge import policy as policies
from divulge.adversary import Adversary
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import ResolvedRequest, resolve_request
from divulge.errors import BadInput
from divulge.generalization import Hierarchies
from divulge.hierarchies import Suggestion
from divulge.options import GeneralizationMethod
from divulge.policy import Policy, Protection, guard
from divulge.sources import Names, Roles, Table, own_table, read
from divulge.validation import checked


@checked
def generalize(
    table: Any,
    *,
    policy: policies.PolicyLike,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    suppression: float | None = None,
    objective: generalization.ObjectiveName | generalization.UserFunction = "loss",
    method: GeneralizationMethod | None = None,
    time_limit: float | None = None,
    all_optima: bool = False,
    keep_nodes: bool = False,
    protections: Sequence[Protection] = (),
    joint: bool = False,
    adversary: Adversary | None = None,
    announce: Callable[[Mapping[str, Suggestion]], None] | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> releases.GeneralizedRelease:
    """Find the generalization that meets the policy with the least information loss.

    Nothing is written before the release's `write`.

    Columns without a role are published unchanged unless the guard rejects them. It rejects columns
    that a policy with roles does not name and columns that look like identifiers. It also rejects
    columns that make more than 1% of the people unique in addition to the published classes. With a
    `unique_share` in the policy, all published columns except the sensitive ones are limited by it,
    whatever their role.

    Args:
        table: Any source that `read` opens.
        policy: The requirements: a `Policy`, a mapping with the keys of a policy file, or the path
            of one.
        quasi_identifiers: As in `measure`, like the other roles; explicit roles take precedence
            over the policy's.
        sensitive: The columns whose values must not be disclosed; they are published unchanged.
        identifier: Columns that identify people; they are not published.
        leave_out: Columns that do not identify people and are not published either.
        plain: Columns that are published unchanged even if the guard would reject them.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        hierarchies: Generalization hierarchies: a folder of files, or for each column a rule such
            as {"intervals": [5, 10]}, a file or a hierarchy. A column without one gets a default,
            shown in the release's `suggestions`.
        suppression: The share of records that may be suppressed; takes precedence over the
            policy's.
        objective: The information loss to minimize: "loss", "arithmetic_loss", "precision",
            "non_uniform_entropy", "discernibility", "average_class_size", "information", or a cost
            function of (levels, counts to be published, number of suppressed people).
        method: One level for each column ("full-domain"), each column unchanged or fully suppressed
            ("columns"), boxes that never overlap ("mondrian"), or boxes that may share values at a
            cut ("relaxed-mondrian"). The default is the policy's method, else the first.
        time_limit: Seconds after which the best release so far is taken; the plan then reports its
            distance from the optimum.
        all_optima: Keep all solutions of equal cost in the release's `plan`.
        keep_nodes: Keep every evaluated combination of levels in the release's `plan`.
        protections: Requirements for selected people or values, in addition to those of the policy.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; it takes precedence over the policy's.
        announce: Called with the default hierarchies before they are used.
        ledger: The `Ledger`, or its folder, that lists the prior releases. The requirements are met
            together with them, and `write` enters the release there.
        engine: As in `read`. With Spark only counts are collected, and its workers write the
            release.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> policy = dv.Policy(k_anonymity=2)
        >>> release = dv.generalize(
        ...     people, policy=policy, quasi_identifiers="zip", sensitive="disease"
        ... )
        >>> release.plan.levels, sorted(release.tables()["table"].column("zip").to_pylist())
        ({'zip': 1}, ['476*', '476*', '479*', '479*'])
    """
    request = resolve_request(
        guard.ExplicitRoles(
            quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person
        ),
        policy=policy,
        protections=protections,
        suppression=suppression,
        adversary=adversary,
        ledger=ledger,
        makes_release=True,
    )
    prepared_table = prepare_search(
        read(table, engine=engine),
        request,
        hierarchies=hierarchies,
        joint=joint,
        makes_release=True,
    )
    options = {
        "objective": objective,
        "time_limit": time_limit,
        "all_optima": all_optima,
        "keep_nodes": keep_nodes,
    }
    return prepared_table.release(request.policy, method=method, announce=announce, **options)


def prepare_search(
    table: Table,
    request: ResolvedRequest,
    *,
    hierarchies: Hierarchies | None = None,
    joint: bool = False,
    makes_release: bool = False,
) -> releases.ReleaseSearch:
    """Prepare the search for releases of a table, without a count.

    Raises:
        BadInput: The request makes a release, and a column without a role must not be published.
    """
    source, own_engine = own_table(table)
    roles = generalization_roles(source, request.policy, request.explicit_roles)
    if makes_release:
        guard.refuse([*guard.findings_without_role(source, roles, request.policy.roles)])
    if request.adversary.original is not None:
        message = "the table that is generalized is the original itself"
        raise BadInput(message, hint="Leave original out, or give a prior")
    joint_table, prior_releases = add_prior_releases(source, roles, request.adversary)
    return releases.ReleaseSearch(
        source,
        own_engine,
        roles,
        request.adversary,
        request.policy,
        hierarchies,
        joint=joint,
        ledger=request.ledger_releases,
        joint_table=joint_table,
        prior_releases=prior_releases,
    )


def generalization_roles(
    source: Table, policy: Policy, explicit_roles: guard.ExplicitRoles
) -> Roles:
    """Resolve the roles: explicit roles, else the policy's.

    Raises:
        BadInput: There are no quasi-identifiers.
    """
    roles = guard.roles_in_force(source, policy.roles, explicit_roles)
    if not roles.quasi_identifiers:
        message = "no quasi-identifiers were named, so there is nothing to generalize"
        raise BadInput(
            message,
            hint="Name the columns that an adversary may know; `divulge profile` suggests some",
        )
    return roles
