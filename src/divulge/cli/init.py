# SPDX-License-Identifier: Apache-2.0
"""`divulge init`: write a first policy of a table, with the reasons of each role as comments.

The roles are those that the profile suggests. The policy works unchanged with `check` and
`generalize`: every column has a role, and undecided columns are dropped. The requirements are k, l,
a bound relative to the prior and `unique_share`; other bounds relative to the prior are comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import metrics, results
from divulge.cli import options
from divulge.cli.inputs import POLICY_FILE, TableOptions
from divulge.errors import BadInput
from divulge.options import ROLE_OF_COLUMN, ROLES, SINGLE_ROLES
from divulge.policy import Policy, guard
from divulge.text import parse_toml, toml_value

app = options.new_app()


@app.command()
def init(table: TableOptions, out: Path, force: bool, json_: bool) -> None:
    """Write a first policy for a table, with a role for every column and the reason beside it; read it before you rely on it.

    \b
    Examples:
      divulge init patients.csv
      divulge init patients.csv --out policies/patients.toml --force
    """  # noqa: E501
    if out.exists() and not force:
        raise BadInput(
            f"{out} is there already",
            hint="name another file with --out, or replace it with --force",
        )
    if not out.absolute().parent.is_dir():
        raise BadInput(f"{out} cannot be written: there is no folder {out.parent}")
    profile = dv.profile(table.read())
    roles = _roles(profile)
    if "quasi_identifiers" not in roles:
        message = (
            f"no column of {profile.settings['source']} looks like one that others may know of a "
            "person"
        )
        raise BadInput(
            message, hint="Write the policy yourself; `divulge profile` tells what each column is"
        )
    text = "\n".join(_lines(profile, roles)) + "\n"
    document = parse_toml(text)
    Policy.from_document(document, origin=str(out))  # an unreadable policy must not be written
    results.write_file(out, text.encode(), "policy")
    if json_:
        columns = [
            {
                "column": column_profile.column,
                "role": column_profile.role,
                "reason": column_profile.reason,
            }
            for column_profile in profile
        ]
        options.emit_json(
            {
                "written": str(out),
                "policy": document,
                "columns": columns,
                "settings": profile.settings,
            }
        )
        return
    options.show(
        f"Written: {out}. Every role is a suggestion, with its reason beside it: read it before "
        "you rely on it.",
        *(f"  {role}: {', '.join(roles[role])}" for role in ROLES if role in roles),
        f"Next: divulge check {table.source}{_policy_option(out)}; divulge generalize "
        f"{table.source}{_policy_option(out)} --out release/",
    )


def _policy_option(out: Path) -> str:
    """Return the --policy option for the file; "" if it has the usual name, which is detected."""
    if out == Path(POLICY_FILE):
        return ""
    return f" --policy {out}"


def _roles(profile: Any) -> dict[str, dict[str, str]]:
    """Return the columns of each role with the reasons.

    A second column of `person` or `weight` becomes `identifier` or `leave_out`.
    """
    columns_by_role: dict[str, dict[str, str]] = {}
    for item in profile:
        role = ROLE_OF_COLUMN[item.role]
        if role in SINGLE_ROLES and role in columns_by_role:
            if role == "person":
                role = "identifier"
            else:
                role = "leave_out"
        columns_by_role.setdefault(role, {})[item.column] = item.reason
    if "person" in columns_by_role:
        for name, why in columns_by_role.pop("weight", {}).items():
            columns_by_role.setdefault("leave_out", {})[name] = (
                f"{why}; rows of people who own several cannot be weighted"
            )
    return columns_by_role


def _lines(profile: Any, roles: dict[str, dict[str, str]]) -> Iterator[str]:
    source = _comment(Path(str(profile.settings["source"])).name)
    yield (
        f"# The policy of {source}, begun by `divulge init`. Every line is a suggestion: change "
        "what is wrong."
    )
    yield (
        "# `divulge check` holds a table against it, `divulge generalize` publishes one that "
        "keeps it."
    )
    for role, row in ROLES.items():
        columns = roles.get(role, {})
        if columns:
            yield from ("", f"# {row.comment}")
        if role in SINGLE_ROLES:
            yield from (
                f"{role} = {toml_value(name)}  # {_comment(why)}" for name, why in columns.items()
            )
        elif columns:
            yield f"{role} = ["
            yield from (
                f"    {toml_value(name)},  # {_comment(why)}" for name, why in columns.items()
            )
            yield "]"
    if "person" in roles:
        yield (
            "person_published = false  # true: a check also judges all rows of a person together"
        )
    yield from ("", "[promises]")
    for metric in metrics.METRICS:
        if metric.begins_at is not None and (metric.scope == "identity" or "sensitive" in roles):
            if metric.begins_as_comment:
                off = "# "
            else:
                off = ""
            yield f"{off}{metric.name} = {metric.begins_at:g}  # {metric.plain}"
    share = f"unique_share = {guard.uniqueness.UNIQUE_SHARE:g}"
    yield (
        f"{share}  # the share of people who may be unique by all published columns but the "
        "sensitive ones"
    )
    yield "suppression = 0.05  # the share of people that generalize may leave out"
    yield from (
        "",
        (
            "# What a bound would be now, `divulge measure` tells. Levels are chosen by the values "
            "of a column unless [hierarchies]"
        ),
    )
    yield "# says them; `divulge generalize` shows the ones that it chose."


def _comment(text: str) -> str:
    """Return the text on one line, without the characters that a TOML comment must not hold."""
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
