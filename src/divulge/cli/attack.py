# SPDX-License-Identifier: Apache-2.0
"""`divulge attack`: simulate attacks on a release.

Exit code 1 if an attack succeeds more often than a guarantee allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import divulge as dv
from divulge.api.opened import is_anatomized, open_release
from divulge.cli import options
from divulge.cli.inputs import TableOptions, exact_names, policy_of, table_or_release
from divulge.cli.options import Pictures, write_report
from divulge.cli.progress import progress_bar
from divulge.errors import BadInput
from divulge.policy import Promise

if TYPE_CHECKING:
    from divulge.sources import Table

app = options.new_app()


@app.command()
def attack(
    table: TableOptions,
    adversary: options.BeliefOptions,
    truth: str,
    roles: options.RoleOptions,
    knows: options.Texts,
    group: options.Text,
    count: options.Text,
    further: options.Arguments,
    policy: options.Text,
    chart: options.Texts,
    report: options.Text,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Play the adversary against a release, ours or anybody's: how often she is right, beside guessing and what was promised.

    \b
    Examples:
      divulge attack release/ --truth patients.csv
      divulge attack theirs.csv --truth patients.csv --knows zip,age --sensitive disease --k-anonymity 5 --subsets 2
      divulge attack synthetic.csv --truth train.csv --control holdout.csv --knows zip,age --sensitive disease
    """  # noqa: E501
    drawing = Pictures.of(chart, ("success", "knowledge"))
    options.check_page(report)
    release: Any = table.source
    opened: Table | None = None
    if is_anatomized(table.source, group=group):
        engine = table.chosen_engine()
        release = open_release(table.source, group=group, count=count, engine=engine)
    elif group is not None or count is not None:
        raise BadInput(f"--group and --count have no effect: {table.source} is not anatomized")
    else:
        release = table_or_release(table)
        opened = release.table
    if policy or promises:
        effective_policy = policy_of(policy, promises)
    else:
        effective_policy = None
    columns: dict[str, Any] = {
        name: _columns(opened, column_texts)
        for name, column_texts in {**roles.values, "knows": knows}.items()
        if column_texts
    }
    with progress_bar("attacks") as progress:
        attack_result = dv.attack(
            release,
            truth=truth,
            **columns,
            **further.chosen("attack"),
            policy=effective_policy,
            adversary=adversary.resolve(() if opened is None else opened.names),
            progress=progress,
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


def _columns(table: Table | None, column_texts: list[str]) -> tuple[str, ...]:
    """Return the named columns.

    An anatomized release has several tables, so its columns need exact names.
    """
    if table is None:
        return exact_names(column_texts)
    from divulge.sources import split_names

    return split_names(table, column_texts)
