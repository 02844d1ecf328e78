# SPDX-License-Identifier: Apache-2.0
"""`divulge anatomize`: publish several tables linked by groups, or check such a release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer
from typer import Option

import divulge as dv
from divulge import results
from divulge.cli.inputs import (
    READING,
    ForceOption,
    LedgerOptions,
    PrivateOutOption,
    ReleasedOfOption,
    ReleasedOption,
    TableOptions,
    TargetOption,
    prior_release_arguments,
    turn_of,
)
from divulge.cli.options import (
    ChartOption,
    JsonOption,
    LeaveOutOption,
    Pictures,
    PlainOption,
    ReportOption,
    Text,
    Texts,
    columns,
    new_app,
    takes_groups,
    tell,
    write_report,
)
from divulge.cli.program import options_of, refuse_idle
from divulge.cli.progress import progress_bar
from divulge.options import AnatomizationMethod, ReleaseFormat

app = new_app()
_QUICKLY_EXPLAINED = 100_000
"""Largest number of rows for which the cost of each bound is computed by default."""


@dataclass(frozen=True)
class ModelOptions:
    """Bounds that every group must meet."""

    panel: ClassVar[str] = "Promises"
    alpha: Annotated[
        Text, Option(help="Record linkage: the commonest tuple of a table in a group; 0.5 or 1/2.")
    ] = None
    beta: Annotated[
        Text, Option(help="Attribute linkage: the commonest sensitive value in a group.")
    ] = None
    gamma: Annotated[Text, Option(help="Table linkage: the commonest combination in a group.")] = (
        None
    )
    delta: Annotated[
        Text, Option(help="Probabilistic attack: how far the share of a sensitive value may move.")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the bounds that were passed explicitly."""
        bounds = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma, "delta": self.delta}
        return {name: value for name, value in bounds.items() if value is not None}


@dataclass(frozen=True)
class MethodOptions:
    """Methods of dividing columns and grouping records."""

    panel: ClassVar[str] = "Search"
    method: Annotated[
        AnatomizationMethod,
        Option(
            help="All four bounds, or a method to compare with; anatomy and slicing take their l "
            "from beta."
        ),
    ] = "slppa"
    tables: Annotated[
        Text,
        Option(
            help="How many tables for the quasi-identifiers (2, if there are two), or which: "
            "'age,zip;gender,job'."
        ),
    ] = None
    linkage: Annotated[
        Literal["average", "first"] | None,
        Option(
            help="A column joins the table it goes with best: on average, or by its first column."
        ),
    ] = None
    association: Annotated[
        Literal["phi2", "cramers_v2"] | None, Option(help="How closely columns go together.")
    ] = None
    max_table_size: Annotated[int | None, Option(help="The most columns of a table.", min=1)] = None
    algorithm: Annotated[
        Literal["guaranteed", "paper"] | None,
        Option(help="Our group division, or Algorithm 1 of the paper as printed."),
    ] = None
    locality: Annotated[
        bool,
        Option("--locality", help="Group records that are alike: better answers, same bounds."),
    ] = False
    group_size: Annotated[int | None, Option(help="The fewest records of a group.", min=1)] = None
    bucket_check: Annotated[
        Literal["distinct", "frequency"] | None,
        Option(help="What makes a bucket of slicing l-diverse."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options as keyword arguments of the library's function."""
        options = {
            "method": self.method,
            "tables": None if self.tables is None else _tables(self.tables),
            "linkage": self.linkage,
            "association": self.association,
            "max_table_size": self.max_table_size,
            "algorithm": self.algorithm,
            "locality": True if self.locality else None,
            "group_size": self.group_size,
            "check": self.bucket_check,
        }
        return {name: value for name, value in options.items() if value is not None}


@app.command()
@takes_groups
def anatomize(
    context: typer.Context,
    table: TableOptions,
    model: ModelOptions,
    method: MethodOptions,
    ledger: LedgerOptions,
    sensitive: Annotated[
        Texts, columns("Sensitive column; it gets a table of its own. Repeatable.")
    ] = None,
    qi: Annotated[
        Texts,
        columns(
            "Quasi-identifier. If none is named: all columns but the sensitive ones, "
            "identifiers, and what looks like one."
        ),
    ] = None,
    identifier: Annotated[
        Texts, columns("Column that names a person directly; it is left out.")
    ] = None,
    leave_out: LeaveOutOption = None,
    plain: PlainOption = None,
    nulls: Annotated[
        Literal["category", "drop"],
        Option(
            help="A null is a value of its own, or its row is left out.",
            rich_help_panel="Adversary",
        ),
    ] = "category",
    released: ReleasedOption = None,
    released_of: ReleasedOfOption = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="The folder to publish in; it must not exist yet. Without it nothing is written.",
        ),
    ] = None,
    format_: Annotated[
        ReleaseFormat | None,
        Option(
            "--format",
            help="How the tables are written; as the table came, if that is one of these, else "
            "Parquet.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option(help="Makes the release repeatable, for tests; do not publish with it.", min=0),
    ] = None,
    queries: Annotated[
        int | None,
        Option(help="How many count queries the error is measured by; 0 for none.", min=0),
    ] = None,
    workload: Annotated[
        Literal["anchored", "range"],
        Option(help="Queries for the values of a record, or for ranges of values."),
    ] = "anchored",
    target: TargetOption = None,
    explain: Annotated[
        bool | None,
        Option(
            "--explain/--no-explain",
            help="Work out what each bound costs; if neither is given, of up to "
            f"{_QUICKLY_EXPLAINED:,} rows.",
        ),
    ] = None,
    attack: Annotated[
        bool, Option("--attack", help="Also run the attacks of `divulge attack` on 1,000 people.")
    ] = False,
    check: Annotated[
        bool,
        Option(
            "--check",
            help="TABLE is an anatomized release: hold it against its promises, or the bounds "
            "given; exit code 0 or 1.",
        ),
    ] = False,
    advise: Annotated[
        bool,
        Option(
            "--advise",
            help="Instead: which bounds the table allows in 1 to 4 tables, and what they cost.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Divide, group and report; write nothing.")
    ] = False,
    force: ForceOption = False,
    private_dir: PrivateOutOption = None,
    chart: ChartOption = None,
    report: ReportOption = None,
    json_: JsonOption = False,
) -> None:
    """Publish a table as several tables, tied together only by groups of records: exit code 3 if no grouping keeps the bounds.

    \b
    Examples:
      divulge anatomize people.csv --sensitive salary --identifier name --alpha 0.5 --beta 1/4 --delta 0.25 --tables 2 --out release/
      divulge anatomize release/ --check
      divulge anatomize s3a://bucket/people/ --engine spark --sensitive salary --beta 1/20 --out /shared/release/
    """  # noqa: E501
    refuse_idle(context, _idle(check=check, advise=advise, out=out, queries=queries))
    if report is not None:
        results.page_path(report)
    drawing = Pictures.of(chart, ("groups",))
    if check:
        _check(table, model.given(), sensitive or [], json_=json_, drawing=drawing)
        return
    from divulge import anatomization, releases
    from divulge.api.anatomized import refuse_in_chunks
    from divulge.sources import split_names

    writes = out is not None and not dry_run
    release_ledger = ledger.value(context, publishes=writes)
    if out is not None and writes:
        releases.refuse_target(out, force=force, private_dir=private_dir)
    opened = table.read()
    shared_arguments: dict[str, Any] = {
        "sensitive": split_names(opened, sensitive or []),
        "quasi_identifiers": split_names(opened, qi or []),
        "identifier": split_names(opened, identifier or []),
        "leave_out": split_names(opened, leave_out or [], spread=False),
        "plain": split_names(opened, plain or [], spread=False),
        "nulls": nulls,
        **model.given(),
    }
    if advise:
        shared_arguments |= {} if queries is None else {"queries": queries}
        tell(dv.advise(opened, **shared_arguments), json_=json_)
        return
    if attack or queries or target:
        refuse_in_chunks(opened, "neither attacks nor the error of queries nor a model")
    with turn_of(release_ledger if writes else None):
        release = dv.anatomize(
            opened,
            seed=seed,
            adversary=dv.Adversary(**prior_release_arguments(released, released_of)),
            ledger=release_ledger,
            **shared_arguments,
            **method.given(),
        )
        measured = queries != 0 and release.groups.only is not None
        recq = (
            release.recq(anatomization.Workload(kind=workload, queries=queries))
            if measured
            else None
        )
        attacks = release.attack() if attack else None
        written = None
        if out is not None and writes:
            written = release.write(out, force=force, format=format_, private_dir=private_dir)
    left = None if target is None else dv.utility(release.source, release, target=target, queries=0)
    few = release.summary.records <= _QUICKLY_EXPLAINED
    can_be_priced = (
        isinstance(release.groups.method, anatomization.Slppa) and release.groups.only is not None
    )
    priced = can_be_priced and (few if explain is None else explain)
    with progress_bar("what each bound costs") as progress:
        prices = release.explain(progress=progress) if priced else None
    tell(
        release,
        json_=json_,
        recq=recq,
        attacks=attacks,
        written=written,
        private=None if written is None else releases.private_place(written, private_dir),
        utility=left,
        explanation=prices,
    )
    if report is not None:
        write_report(dv.report(release), report, json_=json_)
    drawing.draw({"groups": release.chart}, json_=json_)


_MAKING: tuple[str, ...] = (
    "released",
    "released_of",
    "out",
    "format_",
    "seed",
    "workload",
    "target",
    "explain",
    "attack",
    "dry_run",
    "force",
    "private_dir",
    "report",
    *options_of(LedgerOptions),
)


def _idle(
    *, check: bool, advise: bool, out: Path | None, queries: int | None
) -> dict[str, tuple[str, ...]]:
    """Return the options without effect in this combination, by the reason."""
    if check:
        roles = ("qi", "identifier", "leave_out", "plain", "nulls")
        return {
            "with --check": (
                *READING,
                *options_of(MethodOptions),
                *roles,
                *_MAKING,
                "queries",
                "advise",
            )
        }
    if advise:
        return {"with --advise": (*options_of(MethodOptions), *_MAKING, "chart")}
    if out:
        idle = {}
    else:
        idle = {"without --out": ("format_", "force", "private_dir")}
    return {**idle, **({"with --queries 0": ("workload",)} if queries == 0 else {})}


def _check(
    table: TableOptions,
    bounds: dict[str, str],
    sensitive: list[str],
    *,
    json_: bool,
    drawing: Pictures,
) -> None:
    check_arguments: dict[str, Any] = {"sensitive": sensitive, **bounds}
    release_check = dv.check_anatomized(
        table.source, engine=table.chosen_engine(), **check_arguments
    )
    tell(release_check, json_=json_)
    drawing.draw({"groups": release_check.chart}, json_=json_)
    if not release_check.holds:
        raise typer.Exit(1)


def _tables(text: str) -> int | list[list[str]]:
    """Parse a number of tables, or the columns of each: "," within a table, ";" between tables."""
    if text.strip().isdigit():
        return int(text)
    return [[name.strip() for name in table.split(",")] for table in text.split(";")]
