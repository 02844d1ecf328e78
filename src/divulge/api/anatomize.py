# SPDX-License-Identifier: Apache-2.0
"""anatomize(): from a table to a release in several tables, tied together by groups of records (Yao et al. 2021).

Values are published as they are; what is hidden is which of them belong together. Nothing is written before
`AnatomizedRelease.write`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from divulge import anatomy, engines, publish, values
from divulge import ledger as ledgers
from divulge.api.anatomized import AnatomizedRelease, refuse_in_chunks
from divulge.api.released import beside_released, judged_by
from divulge.belief import Adversary, adversary_in_force
from divulge.count import Nulls
from divulge.errors import BadInput, nearest
from divulge.policy import guard
from divulge.table import Names, Roles, Table, read, resolve_roles

Method = Literal["slppa", "anatomy", "slicing", "asn", "permutation"]
Tables = int | Sequence[Sequence[str]]
_METHODS: Mapping[str, tuple[str, str]] = {
    "slppa": ("alpha beta gamma delta", "tables linkage association max_table_size algorithm locality group_size"),
    "anatomy": ("beta", ""),
    "slicing": ("beta", "tables check"),
    "asn": ("beta gamma", ""),
    "permutation": ("", "group_size"),
}
"""What each of them promises, and its settings."""


@values.checked
def anatomize(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    alpha: anatomy.Share | None = None,
    beta: anatomy.Share | None = None,
    gamma: anatomy.Share | None = None,
    delta: anatomy.Share | None = None,
    tables: Tables | None = None,
    method: Method = "slppa",
    linkage: anatomy.Linkage | None = None,
    association: anatomy.Association | None = None,
    max_table_size: int | None = None,
    algorithm: anatomy.Algorithm | None = None,
    locality: bool | None = None,
    group_size: int | None = None,
    check: anatomy.Check | None = None,
    nulls: Nulls = "category",
    adversary: Adversary | None = None,
    seed: int | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> AnatomizedRelease:
    """Divide a table into tables and groups so that every group keeps (alpha, beta, gamma, delta).

    Values are published as they are; what is hidden is which of them belong together. A bound that is not given demands nothing, a setting
    that the method does not know is refused, and where no grouping keeps the bounds the error names the nearest that can be kept. Nothing
    is written before the release's `write`. A table of more rows than its engine holds is grouped in chunks, on disk or on the cluster.

    Args:
        table: Whatever `read` opens.
        sensitive: The columns whose values must not be learnt; each gets a table of its own.
        quasi_identifiers: The columns that an adversary may know. By default all columns without another role but those that look like
            identifiers; if they are named, columns without a role are left out. The release's `left_out` says what, and why.
        identifier: Columns that name people; they are not published.
        leave_out: Columns that name nobody and are not published either.
        plain: Where no quasi-identifiers are named: columns that are among them although they look like identifiers.
        alpha: The most that the commonest tuple of a table of quasi-identifiers may make up in a group (record linkage); 0.25 or "1/4".
        beta: The most that the commonest sensitive value may make up in a group (attribute linkage).
        gamma: The most that the likeliest combination over all tables may have as its probability in a group (table linkage).
        delta: The most that a sensitive value's share in a group may differ from its share in the table (probabilistic attack).
        tables: How many tables the quasi-identifiers are divided into (2, or 1 for a single one), or which: a list of lists of names.
        method: "slppa" (Yao et al. 2021), or to compare "anatomy", "slicing" (both take their l from beta), "asn" or "permutation".
        linkage: A column joins the table with whose columns it goes best on "average", or with whose "first" column.
        association: How closely two columns go together: "phi2", or "cramers_v2", which does not grow with the number of values.
        max_table_size: The most quasi-identifiers in a table.
        algorithm: "guaranteed" keeps alpha, beta, delta where a grouping can, and searches for gamma; "paper" is Algorithm 1 as printed.
        locality: Group records that are alike: the same bounds, and better answers.
        group_size: The fewest records in a group, beyond what the bounds demand.
        check: How slicing checks a bucket: by the "frequency" of values (the default), or that they are "distinct", which bounds no share.
        nulls: A null is a "category" of its own, or its row is left out: "drop".
        adversary: What she holds already (released=, released_of=): every group then lies within one class of each release that is out,
            so that groups keep the bounds together with them; nothing else about her has an effect here.
        seed: Makes the release repeatable, for tests: whoever knows it may undo it.
        ledger: The `Ledger`, or its folder, that knows what is out already: she holds that too, and `write` enters the release there.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]})
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
    options = ({name: value for name, value in given.items() if value is not None} for given in (bounds, settings))
    chosen = _method(method, *options)
    out, her = judged_by(ledger, adversary_in_force(adversary), new=True)
    source = read(table, engine=engine)
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain)
    roles, left_out = anatomy_roles(source, given)
    if tables is None and len(roles.quasi_identifiers) == 1 and isinstance(chosen, anatomy.Slppa | anatomy.Slicing):
        chosen = replace(chosen, tables=1)  # nobody asked for two
    beside, earlier = _beside(source, roles, her)
    groups = anatomy.group_table(
        beside,
        chosen,
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        nulls=nulls,
        seed=seed,
        # A seed given for tests also fixes the order of rows; otherwise the order has a secret of its own.
        numbering=publish.draw_secret(None if seed is None else seed % (1 << 62)),
        pinned=earlier.columns,
    )
    return AnatomizedRelease(
        frame=source.frame,
        groups=groups,
        source=source,
        engine=groups.engine,
        ledger=out,
        roles=roles,
        left_out=left_out,
        nulls=nulls,
        seed_given=seed is not None,
        earlier=earlier,
    )


def _beside(source: Table, roles: Roles, her: Adversary) -> tuple[Table, publish.EarlierReleases]:
    """The table with what is out already of its people."""
    her.refuse(
        [name for name in her.given if name not in ("released", "released_of")],
        "bounds of groups depend on what she holds alone",
    )
    return beside_released(source, roles, her)


@values.checked
def advise(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    alpha: anatomy.Share = 1,
    beta: anatomy.Share = 1,
    gamma: anatomy.Share = 1,
    delta: anatomy.Share = 1,
    most_tables: int = 4,
    queries: int = 200,
    nulls: Nulls = "category",
    engine: engines.EngineChoice = None,
) -> anatomy.Advice:
    """Say which bounds a table allows, what they cost, and into how many tables to divide it (Yao et al. 2021, section 4.4).

    What is proved, what the paper says and what was measured on this table are told apart. Nothing is written.

    Args:
        table: Whatever `read` opens, small enough for memory.
        sensitive: As in `anatomize`, like the other roles.
        quasi_identifiers: The columns that an adversary may know.
        identifier: Columns that name people.
        leave_out: Columns that are not published.
        plain: Columns that are among the quasi-identifiers although they look like identifiers.
        alpha: Bounds to be judged for each number of tables: this one,
        beta: this one,
        gamma: this one,
        delta: and this one.
        most_tables: The most tables that are tried.
        queries: How many count queries the error of each grouping is measured by.
        nulls: As in `anatomize`.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 45]})
        >>> found = dv.advise(people, sensitive="salary")
        >>> found.least_beta, found.records_per_group
        (Fraction(1, 2), 2)
    """
    source = read(table, engine=engine)
    refuse_in_chunks(source, "no grouping that is only tried")
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain)
    roles, _ = anatomy_roles(source, given)
    found = anatomy.advise(
        anatomy.read_rows(source, (*roles.quasi_identifiers, *roles.sensitive), nulls=nulls),
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        model=anatomy.AlphaBetaGammaDelta(alpha=alpha, beta=beta, gamma=gamma, delta=delta),
        most_tables=most_tables,
        queries=queries,
        settings={**source.told, "sensitive": list(roles.sensitive), "nulls": nulls},
    )
    return replace(found, frame=source.frame)


def anatomy_roles(source: Table, given: guard.GivenRoles) -> tuple[Roles, dict[str, str]]:
    """The roles, and the columns that are left out with the reason.

    Where no quasi-identifier is named, every column without a role is one, but those that must not leave by accident.
    """
    if given.quasi_identifiers and given.plain:
        told = "where quasi-identifiers are named, only they are published, and columns are called plain beside them"
        raise BadInput(told, hint="Name them as quasi-identifiers, or leave plain out")
    roles = resolve_roles(source, **given.arguments, declared=True)
    if not roles.sensitive:
        raise BadInput(
            "no sensitive column was named", hint="Name the column whose values are to stay secret with sensitive="
        )
    left_out = dict.fromkeys(roles.identifier, "an identifier") | dict.fromkeys(roles.leave_out, "to be left out")
    free = [*roles.plain, *guard.without_role(source, roles)]
    if roles.quasi_identifiers:
        return roles, left_out | dict.fromkeys(free, "not named as a quasi-identifier")
    left_out |= guard.objections(source, guard.without_role(source, roles))
    chosen = [name for name in source.names if name in free and name not in left_out]
    if not chosen:
        told = "; ".join(f"{name!r} {reason}" for name, reason in left_out.items() if name in free)
        raise BadInput(
            f"no column is left as a quasi-identifier{': ' if told else ''}{told}",
            hint="There is nothing to publish beside the sensitive column; name quasi-identifiers to publish them all the same",
        )
    return replace(roles, quasi_identifiers=tuple(chosen), plain=()), left_out


def _refuse_unknown(name: str, bounds: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """What the method does not know is refused, for it would be ignored."""
    if name not in _METHODS:
        raise BadInput(f"there is no method {name!r}", hint=nearest(name, _METHODS))
    promises, known = (words.split() for words in _METHODS[name])
    for option in bounds:
        if option not in promises:
            promised = " and ".join(promises) or "nothing"
            raise BadInput(f"the method {name} promises {promised}, not {option}", hint="Leave it out, or use slppa")
    for option in settings:
        if option not in known:
            raise BadInput(f"the method {name} has no setting {option}", hint="Leave it out, or use slppa")
    if promises and not bounds:
        raise BadInput("no bound was given, so there is nothing to keep", hint="For example beta=1/4")


def _method(name: str, bounds: dict[str, Any], settings: dict[str, Any]) -> anatomy.Method:
    _refuse_unknown(name, bounds, settings)
    model = anatomy.AlphaBetaGammaDelta(**bounds)
    tables = settings.pop("tables", 2)
    if name == "slppa":
        divided = tables if isinstance(tables, int) else tuple(tuple(names) for names in tables)
        return anatomy.Slppa(model, tables=divided, **settings)
    if name == "asn":
        return anatomy.Asn(beta=model.beta, presence=model.gamma)
    if name == "permutation":
        return anatomy.RandomPermutation(group_size=settings.get("group_size", 4))
    if model.beta == 0:
        raise BadInput("beta = 0 allows no sensitive value at all", hint="Give a beta above 0")
    l_diversity = math.ceil(1 / model.beta)
    if name == "anatomy":
        return anatomy.Anatomy(l_diversity)
    if not isinstance(tables, int):
        raise BadInput("the method slicing divides the columns itself", hint="Say how many tables, not which")
    return anatomy.Slicing(l_diversity, tables=tables, check=settings.get("check", "frequency"))
