# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: hold a table against a policy; exit code 0 or 1."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

import divulge as dv
from divulge.cli import options
from divulge.cli.measure import SuppressionOptions
from divulge.policy import Promise

app = options.new_app()


@app.command()
@options.takes_promises
@options.takes_groups
def check(
    table: options.TableOptions,
    roles: options.RoleOptions,
    columns: options.GuardOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    policy: options.PolicyOption = None,
    protect: options.ProtectOption = None,
    sample: Annotated[int, Option(help="How many of the classes that break a promise to name.", min=0)] = 10,
    joint: options.JointOption = False,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Hold a table against a policy: exit code 1 if a promise does not hold, or a column is there that must not be published.

    \b
    Examples:
      divulge check patients.csv --policy divulge.toml
      divulge check patients.csv --qi zip,age --sensitive disease --k-anonymity 5 --entropy-leakage 0.5
    """
    opened = table.read()
    kept = options.policy_of(policy, promises, protect=protect, alone_share=columns.alone_share)
    her = suppression.added_to(adversary.resolve(opened.names))
    named = roles.resolve(opened) | columns.resolve(opened)
    verdict = dv.check(opened, kept, **named, joint=joint, adversary=her, sample=sample)
    options.tell(verdict, json_=json_, text={"sample": sample})
    if not verdict.holds:
        raise typer.Exit(1)
