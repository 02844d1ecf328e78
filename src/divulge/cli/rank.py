# SPDX-License-Identifier: Apache-2.0
"""`divulge rank`: quasi-identifiers and their combinations, ranked by risk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import divulge as dv
from divulge.cli import options, program
from divulge.cli.inputs import TableOptions, levels_and_adversary, policy_of
from divulge.cli.options import Pictures
from divulge.cli.progress import progress_bar
from divulge.errors import BadInput
from divulge.policy import Promise

if TYPE_CHECKING:
    from divulge.adversary import Adversary
    from divulge.sources import Table


app = options.new_app()


@app.command()
def rank(
    table: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    policy: options.Text,
    up_to: int,
    threshold: float,
    sets: options.Texts,
    hierarchies: Path | None,
    prune: bool,
    growing: bool,
    every: int,
    most: int,
    chart: options.Texts,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Rank quasi-identifiers by their own risk, by what they add to the others, and in combinations.

    \b
    Examples:
      divulge rank patients.csv --qi zip,age,sex --sensitive disease --up-to 3 --threshold 0.8
      divulge rank survey.parquet --qi 'q*' --growing --every 10
      divulge rank patients.csv --qi zip,age,sex --sensitive disease --set zip,age --set age,sex --k-anonymity 5
    """  # noqa: E501
    anonymizing = bool(policy or promises)
    if anonymizing and (growing or not sets):
        if growing:
            what = "with --growing"
        else:
            what = "without --set"
        raise BadInput(
            f"promises have no effect {what}",
            hint="name the sets that shall keep them: --set COLUMNS",
        )
    program.reject_idle("without a promise", "hierarchies", when=not anonymizing)
    program.reject_idle("on a ranking, which counts rows, or people with --person", "weight")
    drawing = Pictures.of(chart, ("known_columns",) if growing else ("sets", "known_columns"))
    opened = table.read()
    role_arguments = roles.resolve(opened)
    if anonymizing:
        effective_policy = policy_of(policy, promises)
    else:
        effective_policy = None
    if effective_policy is None:
        levels = None
        effective_adversary = adversary.resolve(opened.names)
    else:
        levels, effective_adversary = levels_and_adversary(
            opened, effective_policy, role_arguments, hierarchies=hierarchies, adversary=adversary
        )
    if growing:
        _growing(
            opened, role_arguments, effective_adversary, every=every, json_=json_, drawing=drawing
        )
        return
    from divulge.sources import split_names

    with progress_bar("combinations") as progress:
        ranking = dv.rank(
            opened,
            quasi_identifiers=role_arguments.get("quasi_identifiers", ()),
            sensitive=role_arguments.get("sensitive", ()),
            person=role_arguments.get("person"),
            adversary=effective_adversary,
            up_to=up_to,
            threshold=threshold,
            sets=[split_names(opened, [names]) for names in sets or []],
            policy=effective_policy,
            hierarchies=levels,
            prune=prune,
            progress=progress,
        )
    options.tell(ranking, json_=json_, text={"most": most})
    drawing.draw(
        {"sets": ranking.chart, "known_columns": lambda: dv.charts.known_columns(ranking)},
        json_=json_,
    )


def _growing(
    opened: Table,
    role_arguments: dict[str, Any],
    adversary: Adversary,
    *,
    every: int,
    json_: bool,
    drawing: Pictures,
) -> None:
    if role_arguments.get("person") is not None:
        raise BadInput(
            "--growing counts rows, not people", hint="reduce the table to one row per person first"
        )
    adversary.refuse(
        sorted(set(adversary.explicit_settings) - {"nulls", "suppressed"}),
        "growing sets are held against the table's own distribution",
    )
    with progress_bar("columns") as progress:
        growing_sets = dv.growing(
            opened,
            quasi_identifiers=role_arguments.get("quasi_identifiers", ()),
            sensitive=role_arguments.get("sensitive", ()),
            nulls=adversary.without_wildcards(),
            every=every,
            progress=progress,
        )
    options.tell(growing_sets, json_=json_)
    drawing.draw({"known_columns": growing_sets.chart}, json_=json_)
