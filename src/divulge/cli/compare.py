# SPDX-License-Identifier: Apache-2.0
"""`divulge compare`: tables and releases side by side, or one table under several policies."""

from __future__ import annotations

import divulge as dv
from divulge.api.opened import is_anatomized
from divulge.cli import options, program
from divulge.cli.inputs import TableOptions, table_or_release
from divulge.cli.options import Pictures

app = options.new_app()
_NOTHING_GENERALIZED = "with several tables: nothing is generalized"


@app.command()
def compare(
    tables: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    policy: options.Texts,
    target: options.Text,
    attack: int | None,
    seed: int,
    out: options.Text,
    chart: options.Texts,
    json_: bool,
) -> None:
    """Compare tables and releases, or what policies make of one table: every metric, what is left, who is better or worse off.

    \b
    Examples:
      divulge compare patients.csv release/ --out compare.html
      divulge compare a.csv b.csv --qi zip,age --sensitive disease --original patients.csv
      divulge compare patients.csv --policy k5.toml --policy k20.toml --attack 1000
    """  # noqa: E501
    options.check_page(out)
    drawing = Pictures.of(chart, ("compared",))
    program.reject_idle(_NOTHING_GENERALIZED, "leave_out", "plain", when=len(tables.sources) > 1)
    opened = [
        table.source if is_anatomized(table.source) else table_or_release(table)
        for table in tables.table_options()
    ]
    first = next((item.table for item in opened if not isinstance(item, str)), None)
    if first is None:
        role_arguments = {}
    else:
        role_arguments = roles.resolve(first)
    effective_adversary = adversary.resolve(() if first is None else first.names)
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
