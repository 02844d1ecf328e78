# SPDX-License-Identifier: Apache-2.0
"""`divulge compare`: tables and releases side by side, or one table under several policies."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

import divulge as dv
from divulge import results
from divulge.api.opened import is_anatomized
from divulge.cli import options, program
from divulge.cli.inputs import SeveralTables, SuppressionOptions, table_or_release
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
            help="Of one table: generalize it under this policy; repeatable. Of several: roles "
            "and promises for all.",
            rich_help_panel="Promises",
        ),
    ] = None,
    target: Annotated[
        options.Text,
        options.column("Also tell how well a model foretells this from each release.", panel=None),
    ] = None,
    attack: Annotated[
        int | None,
        Option(
            metavar="PEOPLE",
            help="Also attack so many people of the original in each table.",
            min=1,
        ),
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
    """  # noqa: E501
    if out is not None:
        results.page_path(out)
    drawing = Pictures.of(chart, ("compared",))
    if attack is None:
        program.refuse_idle(context, {"without --attack: nobody is drawn": ("seed",)})
    if len(tables.source) > 1:
        program.refuse_idle(context, {_NOTHING_GENERALIZED: ("leave_out", "plain")})
    opened = [
        table.source if is_anatomized(table.source) else table_or_release(table)
        for table in tables.table_options()
    ]
    first = next((item.table for item in opened if not isinstance(item, str)), None)
    if first is None:
        role_arguments = {}
    else:
        role_arguments = roles.resolve(first) | options.GuardOptions(leave_out, plain).resolve(
            first
        )
    effective_adversary = suppression.added_to(
        adversary.resolve(() if first is None else first.names)
    )
    comparison = dv.compare(
        opened,
        policies=policy or (),
        **role_arguments,
        target=target,
        attack=attack,
        seed=seed,
        adversary=effective_adversary,
        engine=tables.chosen_engine(),
    )
    name = f"the comparison of {', '.join(item.name for item in comparison)}"
    if out is None:
        written = []
    else:
        written = [dv.report(comparison, title=name).save(out)]
    options.tell(comparison, json_=json_, written=written)
    drawing.draw({"compared": comparison.chart}, json_=json_)
