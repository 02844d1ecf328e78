# SPDX-License-Identifier: Apache-2.0
"""`divulge compare`: tables and releases side by side, or what several policies make of one table."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

import divulge as dv
from divulge import results
from divulge.api.query import is_anatomized
from divulge.cli import options, program
from divulge.cli.given import SeveralTables, SuppressionOptions, table_or_release
from divulge.cli.options import ChartOption, PageOption, Pictures

app = options.new_app()
_NOTHING_GENERALIZED = "with several tables: nothing is generalized"


@app.command()
@options.takes_groups
def compare(
    context: typer.Context,
    tables: SeveralTables,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    leave_out: options.LeaveOutOption = None,
    plain: options.PlainOption = None,
    policy: Annotated[
        options.Texts,
        Option(
            metavar="FILE",
            help="Of one table: generalize it under this policy; repeatable. Of several: roles and promises for all.",
            rich_help_panel="Promises",
        ),
    ] = None,
    target: Annotated[
        options.Text, options.column("Also tell how well a model foretells this from each release.", panel=None)
    ] = None,
    attack: Annotated[
        int | None, Option(metavar="PEOPLE", help="Also attack so many people of the original in each table.", min=1)
    ] = None,
    seed: Annotated[int, Option(help="What they are drawn from.")] = 1,
    out: PageOption = None,
    chart: ChartOption = None,
    json_: options.JsonOption = False,
) -> None:
    """Compare tables and releases, or what policies make of one table: every metric, what is left, who is better or worse off.

    \b
    Examples:
      divulge compare patients.csv release/ --out compare.html
      divulge compare a.csv b.csv --qi zip,age --sensitive disease --original patients.csv
      divulge compare patients.csv --policy k5.toml --policy k20.toml --attack 1000
    """
    if out is not None:
        results.page_path(out)
    drawing = Pictures.of(chart, ("compared",))
    if attack is None:
        program.refuse_idle(context, {"without --attack: nobody is drawn": ("seed",)})
    if len(tables.source) > 1:
        program.refuse_idle(context, {_NOTHING_GENERALIZED: ("leave_out", "plain")})
    opened = [
        table.source if is_anatomized(table.source) else table_or_release(table, private=False)
        for table in tables.each()
    ]
    first = next((each.table for each in opened if not isinstance(each, str)), None)
    named = {} if first is None else roles.resolve(first) | options.GuardOptions(leave_out, plain).resolve(first)
    her = suppression.added_to(adversary.resolve(() if first is None else first.names))
    found = dv.compare(
        opened,
        policies=policy or (),
        **named,
        target=target,
        attack=attack,
        seed=seed,
        adversary=her,
        engine=tables.chosen_engine(),
    )
    name = f"the comparison of {', '.join(each.name for each in found)}"
    written = [] if out is None else [dv.report(found, title=name).save(out)]
    options.tell(found, json_=json_, written=written)
    drawing.draw({"compared": found.chart}, json_=json_)
