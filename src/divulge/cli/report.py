# SPDX-License-Identifier: Apache-2.0
"""`divulge report`: one page about a table or a release that can be attached, printed, and opened offline."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

import divulge as dv
from divulge import publish, results
from divulge.api.query import is_anatomized
from divulge.cli import options, program
from divulge.cli.given import (
    PolicyOptions,
    SuppressionOptions,
    TableOptions,
    policy_of,
    refuse_beside_levels,
    table_or_release,
)
from divulge.errors import BadInput, without_secrets
from divulge.policy import Promise

app = options.new_app()
_AUDIENCES = ("internal", "public")


@app.command()
@options.takes_promises
@options.takes_groups
def report(
    context: typer.Context,
    table: TableOptions,
    roles: options.RoleOptions,
    columns: options.GuardOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    policy: PolicyOptions,
    protect: options.ProtectOption = None,
    out: Annotated[
        str, Option(metavar="FILE", help="Where to write the page; replaced if it is there.")
    ] = "report.html",
    audience: Annotated[
        str,
        Option(
            metavar="WHO",
            help="internal: may show values of people, and is stamped so. public: made from published files alone.",
            autocompletion=program.one_of(lambda: list(_AUDIENCES)),
        ),
    ] = "internal",
    title: Annotated[options.Text, Option(help="What the page is about, as its readers call it.")] = None,
    date: Annotated[
        options.Text, Option(metavar="YYYY-MM-DD", help="The date that stands on it; else today's.")
    ] = None,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Write one page about a table or a release: the verdict, who is at risk and why, what was done, what is not promised.

    \b
    Examples:
      divulge report patients.csv --policy divulge.toml --out report.html
      divulge report release/ --original patients.csv --out report.html
      divulge report release/ --audience public --title "Admissions 2026" --out public.html
    """
    results.page_path(out)
    if audience not in _AUDIENCES:
        raise BadInput(f"there is no audience {audience!r}", hint=f"there are: {', '.join(_AUDIENCES)}")
    settings: dict[str, Any] | None = None
    shown: dict[str, Any] = {"title": title, "date": _date(date), "audience": audience}
    if is_anatomized(table.source):
        refuse_beside_levels(context, table.source, used=("original", "out", "audience", "title", "date", "json_"))
        her = adversary.resolve()
        made = dv.report(table.source, **shown, adversary=her if her.given else None, engine=table.chosen_engine())
    else:
        mine = Path(table.source) / publish.FOLDER / publish.NAME
        in_force = policy.in_force(promises, protect=protect, alone_share=columns.alone_share).of(table.source)
        in_force.announce(json_=json_)
        kept, settings = in_force.policy, in_force.settings if audience == _AUDIENCES[0] else None
        held = adversary.original or kept.adversary.original
        judged = table_or_release(table, private=audience == "internal" and held is None and mine.is_file())
        her = suppression.added_to(adversary.resolve(judged.table.names))
        named = roles.resolve(judged.table) | columns.resolve(judged.table)
        made = replace(
            dv.report(judged, kept, **shown, **named, adversary=her if her.given else None), policy=in_force.file
        )
        again = replace(
            made.made_from, source=without_secrets(table.source), options=table.flags, file=policy_of(in_force.file, ())
        )
        made = replace(made, made_from=again)
    options.tell(made, json_=json_, settings=settings, written=made.save(out))


def _date(given: str | None) -> dt.date | None:
    try:
        return None if given is None else dt.date.fromisoformat(given)
    except ValueError:
        raise BadInput(f"--date {given!r} is no date", hint="write it like 2026-11-17") from None
