# SPDX-License-Identifier: Apache-2.0
"""anatomize(): split a table into several tables linked by groups of records (Yao et al. 2021).

Values are published unchanged. The release hides which values belong together. Nothing is written
before `AnatomizedRelease.write`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge import anatomization, engines, releases
from divulge import ledger as ledgers
from divulge.adversary import Adversary
from divulge.api.anatomized import AnatomizedRelease, refuse_in_chunks
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import resolve_request
from divulge.arguments import arg, arg_name
from divulge.counting import Nulls
from divulge.errors import BadInput, nearest
from divulge.options import AnatomizationMethod
from divulge.policy import guard
from divulge.sources import Names, Roles, Table, read, resolve_roles
from divulge.validation import checked

Tables = int | Sequence[Sequence[str]]
_METHODS: Mapping[str, tuple[str, str]] = {
    "slppa": (
        "alpha beta gamma delta",
        "tables linkage association max_table_size algorithm locality group_size",
    ),
    "anatomy": ("beta", ""),
    "slicing": ("beta", "tables check"),
    "asn": ("beta gamma", ""),
    "permutation": ("", "group_size"),
}
"""Bounds and settings of each method."""


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
    tables: Tables | None = None,
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
    grouping_method = _build_method(method, *options)
    request = resolve_request(
        guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, leave_out, plain),
        adversary=adversary,
        ledger=ledger,
        makes_release=True,
    )
    source = read(table, engine=engine)
    roles, left_out = anatomy_roles(source, request.explicit_roles)
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


@checked
def advise(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    alpha: anatomization.Share = 1,
    beta: anatomization.Share = 1,
    gamma: anatomization.Share = 1,
    delta: anatomization.Share = 1,
    most_tables: int = 4,
    queries: int = 200,
    nulls: Nulls = "category",
    engine: engines.EngineChoice = None,
) -> anatomization.Advice:
    """Recommend bounds and a number of tables, with their cost (Yao et al. 2021, section 4.4).

    The result distinguishes proved facts, statements of the paper and measurements on this table.
    Nothing is written.

    Args:
        table: Any source that `read` opens and that fits into memory.
        sensitive: As in `anatomize`, like the other roles.
        quasi_identifiers: The columns that an adversary may know.
        identifier: Columns that identify people.
        leave_out: Columns that are not published.
        plain: Columns to treat as quasi-identifiers although they look like identifiers.
        alpha: Bound on record linkage to evaluate for each number of tables.
        beta: Bound on attribute linkage to evaluate.
        gamma: Bound on table linkage to evaluate.
        delta: Bound on the probabilistic attack to evaluate.
        most_tables: Largest number of tables to try.
        queries: Number of count queries by which the error of each grouping is measured.
        nulls: As in `anatomize`.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 45]}
        ... )
        >>> found = dv.advise(people, sensitive="salary")
        >>> found.least_beta, found.records_per_group
        (Fraction(1, 2), 2)
    """
    source = read(table, engine=engine)
    refuse_in_chunks(source, "no grouping that is only tried")
    explicit_roles = guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, leave_out, plain)
    roles, _ = anatomy_roles(source, explicit_roles)
    advice = anatomization.advise(
        anatomization.read_rows(source, (*roles.quasi_identifiers, *roles.sensitive), nulls=nulls),
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        model=anatomization.AlphaBetaGammaDelta(alpha=alpha, beta=beta, gamma=gamma, delta=delta),
        most_tables=most_tables,
        queries=queries,
        settings={**source.reading_settings, "sensitive": list(roles.sensitive), "nulls": nulls},
    )
    return replace(advice, frame=source.frame)


def anatomy_roles(
    source: Table, explicit_roles: guard.ExplicitRoles
) -> tuple[Roles, dict[str, str]]:
    """Resolve the roles, and list the columns that are not published with the reason.

    If no quasi-identifier is named, every column without a role is one. Columns that might identify
    people are excluded.
    """
    if explicit_roles.quasi_identifiers and explicit_roles.plain:
        message = (
            "where quasi-identifiers are named, only they are published, and columns are called "
            "plain beside them"
        )
        raise BadInput(message, hint="Name them as quasi-identifiers, or leave plain out")
    roles = resolve_roles(source, **explicit_roles.arguments, declared=True)
    if not roles.sensitive:
        raise BadInput(
            "no sensitive column was named",
            hint=f"Name the column whose values are to stay secret with {arg('sensitive')}",
        )
    left_out = dict.fromkeys(roles.identifier, "an identifier") | dict.fromkeys(
        roles.leave_out, "to be left out"
    )
    candidates = [*roles.plain, *guard.without_role(source, roles)]
    if roles.quasi_identifiers:
        return roles, left_out | dict.fromkeys(candidates, "not named as a quasi-identifier")
    left_out |= guard.objections(source, guard.without_role(source, roles))
    quasi_identifiers = [
        name for name in source.names if name in candidates and name not in left_out
    ]
    if not quasi_identifiers:
        message = "; ".join(
            f"{name!r} {reason}" for name, reason in left_out.items() if name in candidates
        )
        raise BadInput(
            f"no column is left as a quasi-identifier{': ' if message else ''}{message}",
            hint="There is nothing to publish beside the sensitive column; name "
            "quasi-identifiers to publish them all the same",
        )
    return replace(roles, quasi_identifiers=tuple(quasi_identifiers), plain=()), left_out


def _reject_unknown_options(
    name: str, bounds: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Raise BadInput for options that the method does not have and would ignore."""
    if name not in _METHODS:
        raise BadInput(f"there is no method {name!r}", hint=nearest(name, _METHODS))
    promises, option_names = (words.split() for words in _METHODS[name])
    for option in bounds:
        if option not in promises:
            promised = " and ".join(promises) or "nothing"
            raise BadInput(
                f"the method {name} promises {promised}, not {option}",
                hint="Leave it out, or use slppa",
            )
    for option in settings:
        if option not in option_names:
            raise BadInput(
                f"the method {name} has no setting {arg_name(option)}",
                hint="Leave it out, or use slppa",
            )
    if promises and not bounds:
        raise BadInput(
            "no bound was given, so there is nothing to keep",
            hint=f"For example {arg('beta', '1/4')}",
        )
    anatomization.reject_vacuous_bounds(bounds)


def _build_method(
    name: str, bounds: dict[str, Any], settings: dict[str, Any]
) -> anatomization.Method:
    _reject_unknown_options(name, bounds, settings)
    model = anatomization.AlphaBetaGammaDelta(**bounds)
    tables = settings.pop("tables", 2)
    if name == "slppa":
        column_tables = (
            tables if isinstance(tables, int) else tuple(tuple(names) for names in tables)
        )
        return anatomization.Slppa(model, tables=column_tables, **settings)
    if name == "asn":
        return anatomization.Asn(beta=model.beta, presence=model.gamma)
    if name == "permutation":
        return anatomization.RandomPermutation(group_size=settings.get("group_size", 4))
    if model.beta == 0:
        raise BadInput("beta = 0 allows no sensitive value at all", hint="Give a beta above 0")
    l_diversity = math.ceil(1 / model.beta)
    if name == "anatomy":
        return anatomization.Anatomy(l_diversity)
    if not isinstance(tables, int):
        raise BadInput(
            "the method slicing divides the columns itself", hint="Say how many tables, not which"
        )
    return anatomization.Slicing(
        l_diversity, tables=tables, check=settings.get("check", "frequency")
    )
