# SPDX-License-Identifier: Apache-2.0
"""`divulge generalize`: generalize a table until it meets a policy, and publish it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge.adversary import Adversary
from divulge.cli import options
from divulge.cli.inputs import (
    LedgerOptions,
    PolicyInEffect,
    PolicyOptions,
    TableOptions,
    levels_and_adversary,
    policy_of,
    turn_of,
)
from divulge.cli.options import Makers, Pictures, write_report
from divulge.cli.progress import progress_bar
from divulge.options import ReleaseFormat
from divulge.policy import Promise

app = options.new_app()


@app.command()
def generalize(
    table: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    ledger: LedgerOptions,
    policy: PolicyOptions,
    out: Path | None,
    hierarchies: Path | None,
    search: options.Arguments,
    pareto: options.Texts,
    format_: ReleaseFormat | None,
    seed: int | None,
    dry_run: bool,
    force: bool,
    private_dir: Path | None,
    target: options.Text,
    no_explain: bool,
    joint: bool,
    chart: options.Texts,
    report: options.Text,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Make a table coarser until it keeps a policy, and publish it: exit code 3 if nothing can.

    \b
    Examples:
      divulge generalize patients.csv --policy divulge.toml --out release/
      divulge generalize patients.csv --qi zip,age --sensitive disease --identifier name --k-anonymity 5 --dry-run
      divulge generalize patients.csv --qi zip,age --sensitive disease --pareto entropy_leakage
    """  # noqa: E501
    from divulge.output import releases
    from divulge.releases import choose_format, private_place, refuse_target

    options.check_page(report)
    drawing = Pictures.of(
        chart, ("front",) if pareto else ("leakages", "class_sizes", "distributions")
    )
    release_ledger = ledger.value(publishes=out is not None)
    if out is not None:
        refuse_target(out, force=force, private_dir=private_dir)
    opened = table.read()
    choose_format(opened, format_)
    in_force = policy.in_force(promises)
    preface = options.Preface(*in_force.lines, json_=json_)
    effective_policy = in_force.policy
    role_arguments = roles.resolve(opened)
    levels, effective_adversary = levels_and_adversary(
        opened, effective_policy, role_arguments, hierarchies=hierarchies, adversary=adversary
    )
    common = {
        **search.chosen("generalize"),
        **role_arguments,
        "policy": effective_policy,
        "hierarchies": levels,
        "joint": joint,
        "adversary": effective_adversary,
        "announce": None
        if json_
        else lambda suggestions: preface.append(releases.suggestions_text(suggestions)),
    }
    if pareto:
        with preface:
            front = dv.tradeoff(opened, pareto, **common)
        preface.tell(front, warns=False, settings=in_force.settings)
        drawing.draw({"front": front.chart}, json_=json_)
        return
    writes = out is not None and not dry_run
    with preface, turn_of(release_ledger if writes else None):
        release = dv.generalize(opened, **common, ledger=release_ledger)
        written = None
        if out is not None and writes:
            written = release.write(
                out, format=format_, force=force, seed=seed, private_dir=private_dir
            )
    with progress_bar("what each promise costs") as progress:
        explanation = None if no_explain else release.explain(progress=progress)
    left = None if target is None else dv.utility(release.source, release, target=target)
    preface.tell(
        release,
        warns=release.uniqueness.warns,
        settings=in_force.settings,
        written=written,
        private=None if written is None else private_place(written, private_dir),
        explanation=explanation,
        utility=left,
    )
    if report is not None:
        made = _report_on(release, in_force, effective_adversary, table.reading)
        made = replace(made, explanation=explanation)
        write_report(replace(made, utility=left or made.utility), report, json_=json_)
    makers: Makers = {
        "leakages": release.chart,
        "class_sizes": lambda: dv.charts.class_sizes(release.after, before=release.before),
        "distributions": lambda: dv.charts.distributions(release),
    }
    drawing.draw(makers, json_=json_)


def _report_on(
    release: Any, in_force: PolicyInEffect, adversary: Adversary, reading: dict[str, Any]
) -> Any:
    """Return the report, with the policy file, adversary and options that reproduce it."""
    made = dv.report(release)
    again: dict[str, Any] = {
        "policy": in_force.policy,
        "file": policy_of(in_force.file, ()),
        "adversary": adversary if adversary.explicit_settings else None,
        "reading": reading,
    }
    return replace(made, policy=in_force.file, made_from=replace(made.made_from, **again))
