# SPDX-License-Identifier: Apache-2.0
"""`divulge report`: one HTML page about a table or a release, to attach, print and open offline."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import divulge as dv
from divulge import releases, results
from divulge.api.opened import is_anatomized, is_release
from divulge.cli import options
from divulge.cli.inputs import (
    PolicyOptions,
    TableOptions,
    exact_names,
    policy_of,
    reject_with_levels,
    table_or_release,
)
from divulge.errors import BadInput, without_secrets
from divulge.policy import Promise

app = options.new_app()
_AUDIENCES = ("internal", "public")


@app.command()
def report(
    table: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    policy: PolicyOptions,
    out: str,
    audience: str,
    title: options.Text,
    date: options.Text,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Write one page about a table or a release: the verdict, who is at risk and why, what was done, what is not promised.

    \b
    Examples:
      divulge report patients.csv --policy divulge.toml --out report.html
      divulge report release/ --original patients.csv --out report.html
      divulge report release/ --audience public --title "Admissions 2026" --out public.html
    """  # noqa: E501
    results.page_path(out)
    if audience not in _AUDIENCES:
        raise BadInput(
            f"there is no audience {audience!r}", hint=f"there are: {', '.join(_AUDIENCES)}"
        )
    settings: dict[str, Any] | None = None
    report_options: dict[str, Any] = {"title": title, "date": _date(date), "audience": audience}
    if is_anatomized(table.source):
        reject_with_levels(
            used=("original", "sensitive", "out", "audience", "title", "date", "json_")
        )
        effective_adversary = adversary.resolve()
        made = dv.report(
            table.source,
            **report_options,
            sensitive=exact_names(roles.values.get("sensitive")),
            adversary=effective_adversary if effective_adversary.explicit_settings else None,
            engine=table.chosen_engine(),
        )
    else:
        in_force = policy.in_force(promises).of(table.source)
        in_force.announce(json_=json_)
        effective_policy = in_force.policy
        if audience == _AUDIENCES[0]:
            settings = in_force.settings
        else:
            settings = None
        original = adversary.values.get("original") or effective_policy.adversary.original
        has_private = releases.private_place(table.source).is_dir() and is_release(table.source)
        target = table_or_release(
            table, with_private=audience == "internal" and original is None and has_private
        )
        effective_adversary = adversary.resolve(target.table.names)
        role_arguments = roles.resolve(target.table)
        made = replace(
            dv.report(
                target,
                effective_policy,
                **report_options,
                **role_arguments,
                adversary=effective_adversary if effective_adversary.explicit_settings else None,
            ),
            policy=in_force.file,
        )
        again = replace(
            made.made_from,
            source=without_secrets(table.source),
            reading=table.reading,
            file=policy_of(in_force.file, ()),
        )
        made = replace(made, made_from=again)
    options.tell(made, json_=json_, settings=settings, written=made.save(out))


def _date(date_text: str | None) -> dt.date | None:
    try:
        if date_text is None:
            return None
        return dt.date.fromisoformat(date_text)
    except ValueError:
        raise BadInput(
            f"--date {date_text!r} is no date", hint="write it like 2026-11-17"
        ) from None
