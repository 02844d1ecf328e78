# SPDX-License-Identifier: Apache-2.0
"""anatomize(): from a table to a release in several tables, tied together by groups of records (Yao et al. 2021).

Values are published as they are; what is hidden is which of them belong together. Nothing is written before
`AnatomizedRelease.write`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from divulge.anatomize import AlphaBetaGammaDelta, Anatomy, Asn, RandomPermutation, Slicing, Slppa
from divulge.anatomize import Method as AnyMethod
from divulge.anatomize.association import Association
from divulge.anatomize.chunks import group_table
from divulge.anatomize.division import Linkage
from divulge.anatomize.model import Share
from divulge.anatomize.slicing import Check
from divulge.anatomize.slppa import Algorithm
from divulge.count import Nulls
from divulge.errors import BadInput, nearest
from divulge.publish.shuffle import draw_secret
from divulge.table.read import read
from divulge.table.roles import Names, Roles, resolve_roles
from divulge.table.table import Table
from divulge.tasks.anatomized_release import AnatomizedRelease
from divulge.tasks.plain_columns import objections

Method = Literal["slppa", "anatomy", "slicing", "asn", "permutation"]
Tables = int | Sequence[Sequence[str]]

_PROMISES: Mapping[str, tuple[str, ...]] = {
    "slppa": ("alpha", "beta", "gamma", "delta"),
    "anatomy": ("beta",),
    "slicing": ("beta",),
    "asn": ("beta", "gamma"),
    "permutation": (),
}
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "slppa": ("tables", "linkage", "association", "max_table_size", "algorithm", "locality", "group_size"),
    "anatomy": (),
    "slicing": ("tables", "check"),
    "asn": (),
    "permutation": ("group_size",),
}


def anatomize(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    alpha: Share | None = None,
    beta: Share | None = None,
    gamma: Share | None = None,
    delta: Share | None = None,
    tables: Tables | None = None,
    method: Method = "slppa",
    linkage: Linkage | None = None,
    association: Association | None = None,
    max_table_size: int | None = None,
    algorithm: Algorithm | None = None,
    locality: bool | None = None,
    group_size: int | None = None,
    check: Check | None = None,
    nulls: Nulls = "category",
    seed: int | None = None,
    engine: Any = None,
) -> AnatomizedRelease:
    """Divide a table into tables and groups so that every group keeps (alpha, beta, gamma, delta).

    Quasi-identifiers are all columns but the identifiers, the sensitive ones and those that look like identifiers, unless they are
    named; then columns without a role are left out. `AnatomizedRelease.left_out` says what was left out and why. A bound that is not
    given demands nothing. `tables` says how many tables the quasi-identifiers are divided into (2, or 1 for a single one), or
    which. Slicing and Anatomy take their l from beta. A setting that the method does not know is refused. Raises `InfeasibleModel`
    where no grouping keeps the bounds. `seed` makes the release repeatable, for tests: whoever knows it may undo it.

    `engine` is "duckdb" (the default), "spark", or an engine of yours; a Spark frame brings its own session. A table of more rows than
    DuckDBEngine(memory_limit=...) or SparkEngine(row_limit=...) allow is grouped in chunks, on disk or on the cluster, by the same
    code; the release says so in its settings.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]})
    >>> release = anatomize(people, sensitive="salary", beta="1/2", tables=2)
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
    chosen = _method(method, _given(bounds), _given(settings))
    source = read(table, engine=engine)
    roles, left_out = anatomy_roles(
        source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, identifier=identifier
    )
    if tables is None and len(roles.quasi_identifiers) == 1 and isinstance(chosen, Slppa | Slicing):
        chosen = replace(chosen, tables=1)  # nobody asked for two
    groups = group_table(
        source,
        chosen,
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        nulls=nulls,
        seed=seed,
        # A seed given for tests also fixes the order of rows; otherwise the order has a secret of its own.
        numbering=draw_secret(None if seed is None else seed % (1 << 62)),
    )
    return AnatomizedRelease(
        groups=groups,
        source=source,
        engine=groups.engine,
        roles=roles,
        left_out=left_out,
        nulls=nulls,
        seed_given=seed is not None,
    )


def anatomy_roles(
    source: Table, *, quasi_identifiers: Names, sensitive: Names, identifier: Names
) -> tuple[Roles, dict[str, str]]:
    """The roles, and the columns that are left out with the reason.

    Where no quasi-identifier is named, every column without a role is one, but those that must not leave by accident.
    """
    roles = resolve_roles(
        source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, identifier=identifier, declared=True
    )
    if not roles.sensitive:
        raise BadInput("no sensitive column was named", hint="Name the column whose values are to stay secret")
    left_out = dict.fromkeys(roles.identifier, "an identifier")
    named = {*roles.identifier, *roles.sensitive, *roles.quasi_identifiers}
    others = [name for name in source.names if name not in named]
    if roles.quasi_identifiers:
        return roles, left_out | dict.fromkeys(others, "not named as a quasi-identifier")
    left_out |= objections(source, others)
    chosen = [name for name in others if name not in left_out]
    if not chosen:
        told = "; ".join(f"{name!r} {reason}" for name, reason in left_out.items() if name in others)
        raise BadInput(
            f"no column is left as a quasi-identifier{': ' if told else ''}{told}",
            hint="There is nothing to publish beside the sensitive column; name quasi-identifiers to publish them all the same",
        )
    roles = resolve_roles(source, quasi_identifiers=chosen, sensitive=roles.sensitive, identifier=roles.identifier)
    return roles, left_out


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse_unknown(name: str, bounds: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """What the method does not know is refused, for it would be ignored."""
    if name not in _PROMISES:
        raise BadInput(f"there is no method {name!r}", hint=nearest(name, _PROMISES))
    for option in bounds:
        if option not in _PROMISES[name]:
            promised = " and ".join(_PROMISES[name]) or "nothing"
            raise BadInput(f"the method {name} promises {promised}, not {option}", hint="Leave it out, or use slppa")
    for option in settings:
        if option not in _SETTINGS[name]:
            raise BadInput(f"the method {name} has no setting {option}", hint="Leave it out, or use slppa")
    if not bounds and name != "permutation":
        raise BadInput("no bound was given, so there is nothing to keep", hint="Give beta, for example beta = 1/4")


def _method(name: str, bounds: dict[str, Any], settings: dict[str, Any]) -> AnyMethod:
    """The method with its settings."""
    _refuse_unknown(name, bounds, settings)
    model = AlphaBetaGammaDelta(**bounds)
    if name == "slppa":
        return _slppa(model, settings)
    if name == "asn":
        return Asn(beta=model.beta, presence=model.gamma)
    if name == "permutation":
        return RandomPermutation(group_size=settings.get("group_size", 4))
    l_diversity = _diversity(model.beta)
    if name == "anatomy":
        return Anatomy(l_diversity)
    tables = settings.get("tables", 2)
    if not isinstance(tables, int):
        raise BadInput("the method slicing divides the columns itself", hint="Say how many tables, not which")
    return Slicing(l_diversity, tables=tables, check=settings.get("check", "frequency"))


def _slppa(model: AlphaBetaGammaDelta, settings: dict[str, Any]) -> Slppa:
    tables = settings.pop("tables", 2)
    if not isinstance(tables, int):
        tables = tuple(tuple(names) for names in tables)
    return Slppa(model, tables=tables, **settings)


def _diversity(beta: Fraction) -> int:
    if beta == 0:
        raise BadInput("beta = 0 allows no sensitive value at all", hint="Give a beta above 0")
    return math.ceil(1 / beta)
