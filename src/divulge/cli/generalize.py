# SPDX-License-Identifier: Apache-2.0
"""`divulge generalize`: generalize a table until it meets a policy, and publish it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

import divulge as dv
from divulge import generalization, results
from divulge.adversary import Adversary
from divulge.cli import options, program
from divulge.cli.inputs import (
    ForceOption,
    HierarchiesOption,
    LedgerOptions,
    PolicyInEffect,
    PolicyOptions,
    PrivateOutOption,
    ReleasedOfOption,
    ReleasedOption,
    TableOptions,
    TargetOption,
    levels_and_adversary,
    policy_of,
    prior_release_arguments,
    turn_of,
)
from divulge.cli.options import ChartOption, Makers, Pictures, ReportOption, write_report
from divulge.cli.progress import progress_bar
from divulge.options import GeneralizationMethod, ReleaseFormat
from divulge.policy import Promise

app = options.new_app()
FormatOption = Annotated[
    ReleaseFormat | None,
    Option("--format", help="As it came, else Parquet. Spark writes no Arrow."),
]
SeedOption = Annotated[
    int | None, Option(help="Fixes the order of the rows, for tests; else a secret.", min=0)
]
_WRITING = ("out", "format_", "seed", "force", "private_dir")
_SEARCHING = (
    "method",
    "time_limit",
    "optima",
    "nodes",
    "plain",
    "leave_out",
    "dry_run",
    "target",
    "no_explain",
    "report",
    "unique_share",
)
_WITH_PARETO = "with --pareto, which publishes nothing and looks at one level per column"


@app.command()
@options.takes_promises
@options.takes_groups
def generalize(
    context: typer.Context,
    table: TableOptions,
    roles: options.RoleOptions,
    columns: options.GuardOptions,
    adversary: options.BeliefOptions,
    ledger: LedgerOptions,
    policy: PolicyOptions,
    released: ReleasedOption = None,
    released_of: ReleasedOfOption = None,
    protect: options.ProtectOption = None,
    out: Annotated[
        Path | None,
        Option(metavar="DIR", help="The new folder to publish in; without it nothing is written."),
    ] = None,
    hierarchies: HierarchiesOption = None,
    suppression: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            help="The share of records that may be left out, as 0.05.",
            min=0,
            max=1,
            rich_help_panel="Promises",
        ),
    ] = None,
    objective: Annotated[
        str,
        Option(
            metavar="NAME",
            help="What is lost least: loss, discernibility, ...",
            rich_help_panel="Search",
            autocompletion=program.one_of(lambda: list(generalization.OBJECTIVES)),
        ),
    ] = "loss",
    method: Annotated[
        GeneralizationMethod | None,
        Option(
            metavar="NAME",
            help="columns, mondrian, relaxed-mondrian; else the policy's, or full-domain.",
            rich_help_panel="Search",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        Option(metavar="SECONDS", help="When to stop searching.", min=0, rich_help_panel="Search"),
    ] = None,
    optima: Annotated[
        bool,
        Option(
            "--optima", help="Also tell all solutions that cost the same.", rich_help_panel="Search"
        ),
    ] = False,
    nodes: Annotated[
        bool,
        Option(
            "--nodes",
            help="Also tell every combination of levels looked at.",
            rich_help_panel="Search",
        ),
    ] = False,
    pareto: Annotated[
        options.Texts,
        Option(
            metavar="METRIC",
            help="Instead: best trade-offs of loss and this metric. Repeatable.",
            rich_help_panel="Search",
            autocompletion=program.one_of(program.promised_metrics),
        ),
    ] = None,
    format_: FormatOption = None,
    seed: SeedOption = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Search and report, and say if --out could not be written.")
    ] = False,
    force: ForceOption = False,
    private_dir: PrivateOutOption = None,
    target: TargetOption = None,
    no_explain: Annotated[
        bool, Option("--no-explain", help="Do not work out what each promise costs.")
    ] = False,
    joint: options.JointOption = False,
    chart: ChartOption = None,
    report: ReportOption = None,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
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

    _refuse_idle(context, out=out, pareto=pareto, report=report)
    drawing = Pictures.of(
        chart, ("front",) if pareto else ("leakages", "class_sizes", "distributions")
    )
    release_ledger = ledger.value(context, publishes=out is not None)
    if out is not None:
        refuse_target(out, force=force, private_dir=private_dir)
    opened = table.read()
    choose_format(opened, format_)
    in_force = policy.in_force(promises, protect=protect, unique_share=columns.unique_share)
    preface = options.Preface(*in_force.lines, json_=json_)
    effective_policy = in_force.policy
    role_arguments = roles.resolve(opened)
    levels, effective_adversary = levels_and_adversary(
        opened, effective_policy, role_arguments, hierarchies=hierarchies, adversary=adversary
    )
    effective_adversary = replace(
        effective_adversary, **prior_release_arguments(released, released_of)
    )
    common = role_arguments | {
        "policy": effective_policy,
        "hierarchies": levels,
        "suppression": suppression,
        "objective": objective,
        "joint": joint,
        "adversary": effective_adversary,
        "announce": None
        if json_
        else lambda suggestions: preface.add(releases.suggestions_text(suggestions)),
    }
    if pareto:
        with preface:
            front = dv.tradeoff(opened, pareto, **common)
        preface.tell(front, warns=False, settings=in_force.settings)
        drawing.draw({"front": front.chart}, json_=json_)
        return
    writes = out is not None and not dry_run
    with preface, turn_of(release_ledger if writes else None):
        release = dv.generalize(
            opened,
            **common,
            method=method,
            time_limit=time_limit,
            all_optima=optima,
            keep_nodes=nodes,
            ledger=release_ledger,
            **columns.resolve(opened),
        )
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
        made = replace(
            _report_on(release, in_force, effective_adversary, table.flags), explanation=explanation
        )
        write_report(replace(made, utility=left or made.utility), report, json_=json_)
    makers: Makers = {
        "leakages": release.chart,
        "class_sizes": lambda: dv.charts.class_sizes(release.after, before=release.before),
        "distributions": lambda: dv.charts.distributions(release),
    }
    drawing.draw(makers, json_=json_)


def _refuse_idle(
    context: typer.Context, *, out: Path | None, pareto: options.Texts, report: options.Text
) -> None:
    """Raise an error for options without effect, and for a report that cannot be written."""
    program.refuse_idle(context, {} if out else {"without --out": _WRITING[1:]})
    program.refuse_idle(
        context,
        {}
        if not pareto
        else {_WITH_PARETO: (*_WRITING, *_SEARCHING, *program.options_of(LedgerOptions))},
    )
    program.refuse_idle(
        context, {} if not report else {"with --report, which tells it": ("no_explain",)}
    )
    if report is not None:
        results.page_path(report)


def _report_on(
    release: Any, in_force: PolicyInEffect, adversary: Adversary, flags: tuple[str, ...]
) -> Any:
    """Return the report, with the policy file, adversary and options that reproduce it."""
    made = dv.report(release)
    again: dict[str, Any] = {
        "policy": in_force.policy,
        "file": policy_of(in_force.file, ()),
        "adversary": adversary if adversary.explicit_settings else None,
        "options": flags,
    }
    return replace(made, policy=in_force.file, made_from=replace(made.made_from, **again))
