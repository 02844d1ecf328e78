# SPDX-License-Identifier: Apache-2.0
"""anatomize(): split a table into several tables linked by groups of records (Yao et al. 2021).

Values are published unchanged. The release hides which values belong together. Nothing is written
before `AnatomizedRelease.write`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge import anatomization, engines, releases
from divulge import ledger as ledgers
from divulge.adversary import Adversary
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import resolve_request
from divulge.counting import Nulls
from divulge.options import AnatomizationMethod
from divulge.policy import guard
from divulge.sources import Names, Roles, Table, read
from divulge.validation import checked


@checked
def anatomize(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    alpha: anatomization.Share | None = None,
    beta: anatomization.Share | None = None,
    gamma: anatomization.Share | None = None,
    delta: anatomization.Share | None = None,
    tables: anatomization.Tables | None = None,
    method: AnatomizationMethod = "slppa",
    linkage: anatomization.Linkage | None = None,
    association: anatomization.Association | None = None,
    max_table_size: int | None = None,
    algorithm: anatomization.Algorithm | None = None,
    locality: bool | None = None,
    group_size: int | None = None,
    check: anatomization.Check | None = None,
    nulls: Nulls = "category",
    adversary: Adversary | None = None,
    seed: int | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> AnatomizedRelease:
    """Divide a table into tables and groups so that every group meets alpha, beta, gamma and delta.

    Values are published unchanged. The release hides which values belong together. A bound that is
    not passed requires nothing, and a setting that the method does not have raises an error. If no
    grouping meets the bounds, the error names the nearest bounds that can be met. Nothing is
    written before the release's `write`. A table with more rows than its engine can hold is grouped
    in chunks, on disk or on the cluster.

    Args:
        table: Any source that `read` opens.
        sensitive: The columns whose values must not be disclosed; each gets a table of its own.
        quasi_identifiers: The columns that an adversary may know. The default is all columns
            without another role, except those that look like identifiers. If they are named,
            columns without a role are not published. The release's `left_out` lists the unpublished
            columns with the reasons.
        identifier: Columns that identify people; they are not published.
        leave_out: Columns that do not identify people and are not published either.
        plain: Columns to publish as quasi-identifiers although they look like identifiers; only if
            no quasi-identifiers are named.
        alpha: Largest share of the most common tuple of a table of quasi-identifiers in a group
            (record linkage); 0.25 or "1/4".
        beta: Largest share of the most common sensitive value in a group (attribute linkage).
        gamma: Largest probability of the most likely combination over all tables in a group (table
            linkage).
        delta: Largest difference between a sensitive value's share in a group and its share in the
            table (probabilistic attack).
        tables: Number of tables for the quasi-identifiers (2, or 1 for a single one), or the tables
            themselves: a list of lists of names.
        method: "slppa" (Yao et al. 2021), or for comparison "anatomy", "slicing" (both derive l
            from beta), "asn" or "permutation".
        linkage: Assign a column to the table whose columns it is most associated with on "average",
            or to the table whose "first" column it is most associated with.
        association: Measure of the association of two columns: "phi2", or "cramers_v2", which does
            not grow with the number of values.
        max_table_size: Largest number of quasi-identifiers in a table.
        algorithm: "guaranteed" meets alpha, beta and delta if a grouping can, and searches for
            gamma; "paper" is Algorithm 1 as printed.
        locality: Group similar records: the bounds are equal, and query answers are better.
        group_size: Smallest number of records in a group, in addition to the requirements of the
            bounds.
        check: Check of a bucket by slicing: by the "frequency" of values (the default), or that
            they are "distinct", which bounds no share.
        nulls: Treat a null as a "category" of its own, or "drop" its row.
        adversary: The prior releases that the adversary holds (released=, released_of=). Every
            group then lies within one class of each prior release, so that groups meet the bounds
            together with them. Other settings of the adversary have no effect here.
        seed: Makes the release repeatable, for tests. Anyone who knows the seed may be able to undo
            the anonymization.
        ledger: The `Ledger`, or its folder, that lists the prior releases. The adversary holds them
            too, and `write` enters the release there.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]}
        ... )
        >>> release = dv.anatomize(people, sensitive="salary", beta="1/2", tables=2)
        >>> release.levels.beta, [len(columns) for columns in release.table_columns]
        (Fraction(1, 2), [1, 1, 1])
    """
    bounds = {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    settings = {
        "tables": tables,
        "linkage": linkage,
        "association": association,
        "max_table_size": max_table_size,
        "algorithm": algorithm,
        "locality": locality,
        "group_size": group_size,
        "check": check,
    }
    options = (
        {name: value for name, value in explicit_arguments.items() if value is not None}
        for explicit_arguments in (bounds, settings)
    )
    grouping_method = anatomization.build_method(method, *options)
    request = resolve_request(
        guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, leave_out, plain),
        adversary=adversary,
        ledger=ledger,
        makes_release=True,
    )
    source = read(table, engine=engine)
    roles, left_out = anatomization.anatomy_roles(source, request.explicit_roles)
    if (
        tables is None
        and len(roles.quasi_identifiers) == 1
        and isinstance(grouping_method, anatomization.Slppa | anatomization.Slicing)
    ):
        grouping_method = replace(grouping_method, tables=1)  # two is only the default
    joint_table, prior_releases = _add_prior_classes(source, roles, request.adversary)
    groups = anatomization.group_table(
        joint_table,
        grouping_method,
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        nulls=nulls,
        seed=seed,
        # A seed passed for tests also fixes the order of rows. Otherwise the order comes from a
        # secret of its own.
        numbering=releases.draw_secret(None if seed is None else seed % (1 << 62)),
        pinned=prior_releases.columns,
    )
    return AnatomizedRelease(
        frame=source.frame,
        groups=groups,
        source=source,
        engine=groups.engine,
        ledger=request.ledger_releases,
        roles=roles,
        left_out=left_out,
        nulls=nulls,
        seed_given=seed is not None,
        earlier=prior_releases,
    )


def _add_prior_classes(
    source: Table, roles: Roles, adversary: Adversary
) -> tuple[Table, releases.EarlierReleases]:
    """Add the classes of the prior releases to the table."""
    adversary.refuse(
        [name for name in adversary.explicit_settings if name not in ("released", "released_of")],
        "bounds of groups depend on what she holds alone",
    )
    return add_prior_releases(source, roles, adversary)
