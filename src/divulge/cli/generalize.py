# SPDX-License-Identifier: Apache-2.0
"""`divulge generalize`: make a table coarser until it keeps a policy, and publish it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

import divulge as dv
from divulge import results, search
from divulge.belief import Adversary
from divulge.cli import options, program
from divulge.cli.given import (
    ForceOption,
    HierarchiesOption,
    InForce,
    LedgerOptions,
    PolicyOptions,
    ReleasedOfOption,
    ReleasedOption,
    TableOptions,
    TargetOption,
    held_already,
    levels_and_adversary,
    policy_of,
    turn_of,
)
from divulge.cli.options import ChartOption, Makers, Pictures, ReportOption, write_report
from divulge.cli.progress import progress_bar
from divulge.policy import Promise

app = options.new_app()
FormatOption = Annotated[
    Literal["csv", "parquet", "arrow"] | None,
    Option("--format", help="As it came, else Parquet. Spark writes no Arrow."),
]
SeedOption = Annotated[int | None, Option(help="Fixes the order of the rows, for tests; else a secret.", min=0)]
_WRITING = ("out", "format_", "seed", "force")
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
    "alone_share",
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
        Path | None, Option(metavar="DIR", help="The new folder to publish in; without it nothing is written.")
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
            autocompletion=program.one_of(lambda: list(search.OBJECTIVES)),
        ),
    ] = "loss",
    method: Annotated[
        Literal["full-domain", "columns", "mondrian", "relaxed-mondrian"] | None,
        Option(
            metavar="NAME",
            help="columns, mondrian, relaxed-mondrian; else the policy's, or full-domain.",
            rich_help_panel="Search",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, Option(metavar="SECONDS", help="When to stop searching.", min=0, rich_help_panel="Search")
    ] = None,
    optima: Annotated[
        bool, Option("--optima", help="Also tell all solutions that cost the same.", rich_help_panel="Search")
    ] = False,
    nodes: Annotated[
        bool, Option("--nodes", help="Also tell every combination of levels looked at.", rich_help_panel="Search")
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
    target: TargetOption = None,
    no_explain: Annotated[bool, Option("--no-explain", help="Do not work out what each promise costs.")] = False,
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
    """
    from divulge import publish
    from divulge.views import releases

    _refuse_idle(context, out=out, pareto=pareto, report=report)
    drawing = Pictures.of(chart, ("front",) if pareto else ("leakages", "class_sizes", "distributions"))
    known = ledger.value(context, publishes=out is not None)
    if out is not None:
        publish.refuse_target(out, force=force)
    opened = table.read()
    publish.choose_format(opened, format_)
    in_force = policy.in_force(promises, protect=protect, alone_share=columns.alone_share)
    in_force.announce(json_=json_)
    kept = in_force.policy
    given = roles.resolve(opened)
    levels, her = levels_and_adversary(opened, kept, given, hierarchies=hierarchies, adversary=adversary)
    her = replace(her, **held_already(released, released_of))
    common = given | {
        "policy": kept,
        "hierarchies": levels,
        "suppression": suppression,
        "objective": objective,
        "joint": joint,
        "adversary": her,
        "announce": None if json_ else lambda suggestions: options.show(releases.suggestions_text(suggestions)),
    }
    if pareto:
        front = dv.tradeoff(opened, pareto, **common)
        options.tell(front, json_=json_, settings=in_force.settings)
        drawing.draw({"front": front.chart}, json_=json_)
        return
    writes = out is not None and not dry_run
    with turn_of(known if writes else None):
        release = dv.generalize(
            opened,
            **common,
            method=method,
            time_limit=time_limit,
            all_optima=optima,
            keep_nodes=nodes,
            ledger=known,
            **columns.resolve(opened),
        )
        written = release.write(out, format=format_, force=force, seed=seed) if out is not None and writes else None
    with progress_bar("what each promise costs") as progress:
        explanation = None if no_explain else release.explain(progress=progress)
    left = None if target is None else dv.utility(release.source, release, target=target)
    options.tell(
        release, json_=json_, settings=in_force.settings, written=written, explanation=explanation, utility=left
    )
    if report is not None:
        made = replace(_report_on(release, in_force, her, table.flags), explanation=explanation)
        write_report(replace(made, utility=left or made.utility), report, json_=json_)
    makers: Makers = {
        "leakages": release.chart,
        "class_sizes": lambda: dv.charts.class_sizes(release.after, before=release.before),
        "distributions": lambda: dv.charts.distributions(release),
    }
    drawing.draw(makers, json_=json_)


def _refuse_idle(context: typer.Context, *, out: Path | None, pareto: options.Texts, report: options.Text) -> None:
    """Options that change nothing are refused before any work; so is a report that could not be written."""
    program.refuse_idle(context, {} if out else {"without --out": _WRITING[1:]})
    program.refuse_idle(
        context, {} if not pareto else {_WITH_PARETO: (*_WRITING, *_SEARCHING, *program.options_of(LedgerOptions))}
    )
    program.refuse_idle(context, {} if not report else {"with --report, which tells it": ("no_explain",)})
    if report is not None:
        results.page_path(report)


def _report_on(release: Any, in_force: InForce, her: Adversary, flags: tuple[str, ...]) -> Any:
    """The report, which says by which policy file, adversary and options it is made again."""
    made = dv.report(release)
    again: dict[str, Any] = {
        "policy": in_force.policy,
        "file": policy_of(in_force.file, ()),
        "adversary": her if her.given else None,
        "options": flags,
    }
    return replace(made, policy=in_force.file, made_from=replace(made.made_from, **again))
