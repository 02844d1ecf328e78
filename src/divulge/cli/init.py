# SPDX-License-Identifier: Apache-2.0
"""`divulge init`: the first policy of a table, written from what profile suggests, with the reasons as comments.

It runs as it is, with `check` and `generalize`: every column has a role, and the promises that are made are those that a table can be
held to before anything else is known. The others stand there as comments, because their bounds depend on the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import divulge as dv
from divulge import metrics, results, values
from divulge.cli import options
from divulge.cli.given import POLICY_FILE, TableOptions
from divulge.errors import BadInput
from divulge.policy import Policy

app = options.new_app()
_ROLES = {
    "quasi_identifiers": "What somebody may know of a person; together they make the classes.",
    "sensitive": "What must not be learnt of a person.",
    "identifier": "Names people: never published, and breaks a check if it is there.",
    "leave_out": "Names nobody, and is not published.",
    "plain": "May be published as it is.",
    "person": "Whose row it is: people are counted, not rows.",
    "weight": "How many people of the population a row stands for.",
}
_ONE_ONLY = ("person", "weight")
_LISTED = {"quasi_identifier": "quasi_identifiers"}
"""The word of a profile, where it is not the key of a policy."""


@app.command()
@options.takes_groups
def init(
    table: TableOptions,
    out: Annotated[Path, Option(metavar="FILE", help="Where to write the policy.")] = Path(POLICY_FILE),
    force: Annotated[bool, Option("--force", help="Replace the file that is there.")] = False,
    json_: options.JsonOption = False,
) -> None:
    """Write a first policy for a table, with a role for every column and the reason beside it; read it before you rely on it.

    \b
    Examples:
      divulge init patients.csv
      divulge init patients.csv --out policies/patients.toml --force
    """
    if out.exists() and not force:
        raise BadInput(f"{out} is there already", hint="name another file with --out, or replace it with --force")
    if not out.absolute().parent.is_dir():
        raise BadInput(f"{out} cannot be written: there is no folder {out.parent}")
    profile = dv.profile(table.read())
    roles = _roles(profile)
    if "quasi_identifiers" not in roles:
        told = f"no column of {profile.settings['source']} looks like one that others may know of a person"
        raise BadInput(told, hint="Write the policy yourself; `divulge profile` tells what each column is")
    text = "\n".join(_lines(profile, roles)) + "\n"
    document = values.parse_toml(text)
    Policy.from_document(document, origin=str(out))  # what cannot be read back must not be written
    results.write_file(out, text.encode(), "policy")
    if json_:
        columns = [{"column": it.column, "role": it.role, "reason": it.reason} for it in profile]
        options.emit_json({"written": str(out), "policy": document, "columns": columns, "settings": profile.settings})
        return
    options.show(
        f"Written: {out}. Every role is a suggestion, with its reason beside it: read it before you rely on it.",
        *(f"  {role}: {', '.join(roles[role])}" for role in _ROLES if role in roles),
        f"Next: divulge check {table.source}{_named(out)}; divulge generalize {table.source}{_named(out)} --out release/",
    )


def _named(out: Path) -> str:
    """How a command is told of the file, which it finds by itself where it has its usual name."""
    return "" if out == Path(POLICY_FILE) else f" --policy {out}"


def _roles(profile: Any) -> dict[str, dict[str, str]]:
    """For each role its columns with the reasons; of two that could tell people apart, one can be meant."""
    found: dict[str, dict[str, str]] = {}
    for item in profile:
        role = _LISTED.get(item.role, item.role)
        if role in _ONE_ONLY and role in found:
            role = "identifier" if role == "person" else "leave_out"
        if role == "plain" and item.distinct == 0 and not item.nulls:  # nested, and nobody has looked into it
            role = "leave_out"
        found.setdefault(role, {})[item.column] = item.reason
    if "person" in found:
        for name, why in found.pop("weight", {}).items():
            found.setdefault("leave_out", {})[name] = f"{why}; rows of people who own several cannot be weighted"
    return found


def _lines(profile: Any, roles: dict[str, dict[str, str]]) -> Iterator[str]:
    source = _comment(Path(str(profile.settings["source"])).name)
    yield f"# The policy of {source}, begun by `divulge init`. Every line is a suggestion: change what is wrong."
    yield "# `divulge check` holds a table against it, `divulge generalize` publishes one that keeps it."
    for role, told in _ROLES.items():
        columns = roles.get(role, {})
        if columns:
            yield from ("", f"# {told}")
        if role in _ONE_ONLY:
            yield from (f"{role} = {values.toml_value(name)}  # {_comment(why)}" for name, why in columns.items())
        elif columns:
            yield f"{role} = ["
            yield from (f"    {values.toml_value(name)},  # {_comment(why)}" for name, why in columns.items())
            yield "]"
    if "person" in roles:
        yield "person_published = false  # true: a check also judges all rows of a person together"
    yield from ("", "[promises]")
    for metric in metrics.METRICS:
        if metric.begins_at is not None and (metric.scope == "identity" or "sensitive" in roles):
            off = "# " if metric.against_prior else ""
            yield f"{off}{metric.name} = {metric.begins_at:g}  # {metric.plain}"
    yield "suppression = 0.05  # the share of people that generalize may leave out"
    yield from (
        "",
        "# What a bound would be now, `divulge measure` tells. Levels are chosen by the values of a column unless [hierarchies]",
    )
    yield "# says them; `divulge generalize` shows the ones that it chose."


def _comment(text: str) -> str:
    """On one line, and without the signs that a TOML comment must not hold."""
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
