# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: hold a table against a policy, or a release against what it promises; exit code 0 or 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from typer import Option

import divulge as dv
from divulge.api.query import is_anatomized
from divulge.cli import options
from divulge.cli.ledger import LedgerOptions
from divulge.cli.measure import (
    PrivateOption,
    ReleasedOption,
    SuppressionOptions,
    refuse_beside_levels,
    table_or_release,
)
from divulge.cli.pictures import ChartOption, Pictures
from divulge.errors import BadInput
from divulge.policy import Promise

app = options.new_app()


@app.command()
@options.takes_promises
@options.takes_groups
def check(
    context: typer.Context,
    table: options.TableOptions,
    roles: options.RoleOptions,
    columns: options.GuardOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    ledger: LedgerOptions,
    released: ReleasedOption = None,
    policy: options.PolicyOption = None,
    protect: options.ProtectOption = None,
    sample: Annotated[int, Option(help="How many of the classes that break a promise to name.", min=0)] = 10,
    joint: options.JointOption = False,
    private: PrivateOption = False,
    chart: ChartOption = None,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Hold a table against a policy, or a release against its own: exit code 1 if a promise is broken, or a column must not be published.

    \b
    Examples:
      divulge check patients.csv --qi zip,age --sensitive disease --k-anonymity 5 --entropy-leakage 0.5
      divulge check release/ --private
      divulge check release-2/ --original patients.csv --released release-1/
    """
    if is_anatomized(table.source):
        if released:
            told = f"{table.source} is anatomized, and has no mapping that says who is in which group: nothing can be held beside it"
            raise BadInput(told, hint="`divulge compose` with --truth tells what they give away together")
        refuse_beside_levels(context, table.source, used=("chart", "json_"))
        drawing = Pictures.of(chart, ("groups",))
        levels = dv.check_anatomized(table.source, engine=table.chosen_engine())
        options.tell(levels, json_=json_)
        drawing.draw({"groups": levels.chart}, json_=json_)
        if not levels.holds:
            raise typer.Exit(1)
        return
    drawing = Pictures.of(chart, ("leakages", "class_sizes"))
    known = ledger.value(context, publishes=False)
    judged = table_or_release(table, private=private)
    opened = judged.table
    kept = options.policy_of(policy, promises, protect=protect, alone_share=columns.alone_share)
    her = replace(suppression.added_to(adversary.resolve(opened.names)), released=released or None)
    named = roles.resolve(opened) | columns.resolve(opened)
    verdict = dv.check(judged, kept, **named, joint=joint, adversary=her, sample=sample, ledger=known)
    options.tell(verdict, json_=json_, text={"sample": sample})
    drawing.draw(
        {"leakages": verdict.chart, "class_sizes": lambda: dv.charts.class_sizes(verdict.measurement)}, json_=json_
    )
    if not verdict.holds:
        raise typer.Exit(1)
