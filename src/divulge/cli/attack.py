# SPDX-License-Identifier: Apache-2.0
"""`divulge attack`: simulate attacks on a release.

Exit code 1 if an attack succeeds more often than a guarantee allows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

import divulge as dv
from divulge import attacks as adversaries
from divulge import results
from divulge.api.opened import is_anatomized
from divulge.cli import options, program
from divulge.cli.inputs import SuppressionOptions, TableOptions, policy_of, table_or_release
from divulge.cli.options import ChartOption, Pictures, ReportOption, write_report
from divulge.cli.progress import progress_bar
from divulge.policy import Promise

if TYPE_CHECKING:
    from divulge.sources import Table

app = options.new_app()
_NAMES = [attacker.name for attacker in adversaries.ATTACKERS]


@app.command()
@options.takes_promises
@options.takes_groups
def attack(
    table: TableOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    truth: Annotated[
        str,
        Option(
            metavar="TABLE",
            help="The original: guesses are scored by it, and none is made with it.",
            rich_help_panel="Table",
        ),
    ],
    control: Annotated[
        options.Text,
        Option(metavar="TABLE", help="People who are not in the release.", rich_help_panel="Table"),
    ] = None,
    qi: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="Quasi-identifiers of another's table; else --knows.",
            rich_help_panel="Roles",
        ),
    ] = None,
    sensitive: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="What she is after; our releases say it.",
            rich_help_panel="Roles",
        ),
    ] = None,
    identifier: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="Whose a row of another's table is, as the truth says.",
            rich_help_panel="Roles",
        ),
    ] = None,
    knows: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="What she knows of each target; by default the quasi-identifiers.",
            rich_help_panel="Adversary",
        ),
    ] = None,
    wrong: Annotated[
        float,
        Option(
            help="The share of what she knows that is wrong or outdated.",
            rich_help_panel="Adversary",
        ),
    ] = 0.0,
    background: Annotated[
        options.Text,
        Option(metavar="TABLE", help="Another table that she holds.", rich_help_panel="Adversary"),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        Option(metavar="DIR", help="What labels stand for, for her.", rich_help_panel="Adversary"),
    ] = None,
    policy: options.PolicyOption = None,
    attacks: Annotated[
        options.Texts,
        Option(
            "--attack",
            metavar="NAME",
            help=f"Only this attack; repeatable. One of: {', '.join(_NAMES)}.",
            rich_help_panel="Search",
            autocompletion=program.one_of(lambda: _NAMES),
        ),
    ] = None,
    records: Annotated[
        int,
        Option(
            help="How many people are attacked, drawn at random.", min=1, rich_help_panel="Search"
        ),
    ] = 1000,
    seed: Annotated[int, Option(help="What chance is drawn from.", rich_help_panel="Search")] = 1,
    subsets: Annotated[
        int,
        Option(
            help="Also: what each set of up to so many known columns achieves.",
            min=0,
            rich_help_panel="Search",
        ),
    ] = 0,
    chart: ChartOption = None,
    report: ReportOption = None,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Play the adversary against a release, ours or anybody's: how often she is right, beside guessing and what was promised.

    \b
    Examples:
      divulge attack release/ --truth patients.csv
      divulge attack theirs.csv --truth patients.csv --knows zip,age --sensitive disease --k-anonymity 5 --subsets 2
      divulge attack synthetic.csv --truth train.csv --control holdout.csv --knows zip,age --sensitive disease
    """  # noqa: E501
    drawing = Pictures.of(chart, ("success", "knowledge"))
    if report is not None:
        results.page_path(report)
    release: Any = table.source
    opened: Table | None = None
    if not is_anatomized(table.source):
        release = table_or_release(table)
        opened = release.table
    if policy or promises:
        effective_policy = policy_of(policy, promises)
    else:
        effective_policy = None
    columns_by_role = {"qi": qi, "sensitive": sensitive, "identifier": identifier, "knows": knows}
    columns = {
        name: _columns(opened, column_texts) for name, column_texts in columns_by_role.items()
    }
    with progress_bar("attacks") as progress:
        attack_result = dv.attack(
            release,
            truth=truth,
            knows=columns["knows"] or None,
            quasi_identifiers=columns["qi"],
            sensitive=columns["sensitive"],
            identifier=columns["identifier"],
            background=background,
            control=control,
            attacks=attacks or (),
            records=records,
            seed=seed,
            subsets=subsets,
            wrong=wrong,
            policy=effective_policy,
            hierarchies=hierarchies,
            adversary=suppression.added_to(
                adversary.resolve(() if opened is None else opened.names)
            ),
            progress=progress,
            engine=table.chosen_engine() if opened is None else None,
        )
    options.tell(attack_result, json_=json_)
    drawing.draw(
        {"success": attack_result.chart, "knowledge": lambda: dv.charts.knowledge(attack_result)},
        json_=json_,
    )
    if report is not None:
        write_report(dv.report(attack_result), report, json_=json_)
    if not attack_result.holds:
        raise typer.Exit(1)


def _columns(table: Table | None, column_texts: options.Texts) -> tuple[str, ...]:
    """Return the named columns.

    An anatomized release has several tables, so its columns need exact names.
    """
    if table is None:
        return tuple(name.strip() for text in column_texts or () for name in text.split(","))
    from divulge.sources import split_names

    return split_names(table, column_texts or [])
