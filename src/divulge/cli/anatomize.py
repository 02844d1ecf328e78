# SPDX-License-Identifier: Apache-2.0
"""`divulge anatomize`: publish several tables linked by groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import divulge as dv
from divulge.cli import program
from divulge.cli.inputs import LedgerOptions, TableOptions, turn_of
from divulge.cli.options import (
    Arguments,
    BeliefOptions,
    Pictures,
    RoleOptions,
    Text,
    Texts,
    check_page,
    new_app,
    tell,
    write_report,
)
from divulge.cli.progress import progress_bar
from divulge.options import Option, ReleaseFormat

app = new_app()
_QUICKLY_EXPLAINED = 100_000
"""Largest number of rows for which the cost of each bound is computed by default."""


class ModelOptions(Arguments):
    """Bounds that every group must meet."""

    @classmethod
    def takes(cls, option: Option) -> bool:
        """Return whether an option is a bound."""
        return option.panel == "Promises"


class MethodOptions(Arguments):
    """Methods of dividing columns and grouping records."""

    @classmethod
    def takes(cls, option: Option) -> bool:
        """Return whether an option is a setting of the method."""
        return option.panel == "Search"

    def chosen(self, verb: str) -> dict[str, Any]:
        """Return the options that were given, as arguments of the library's function."""
        arguments = super().chosen(verb)
        if "tables" in arguments:
            arguments["tables"] = _tables(arguments["tables"])
        return arguments


@app.command()
def anatomize(
    table: TableOptions,
    model: ModelOptions,
    method: MethodOptions,
    ledger: LedgerOptions,
    roles: RoleOptions,
    nulls: str,
    adversary: BeliefOptions,
    out: Path | None,
    format_: ReleaseFormat | None,
    seed: int | None,
    queries: int | None,
    workload: Literal["anchored", "range"],
    target: Text,
    explain: bool | None,
    attack: bool,
    advise: bool,
    dry_run: bool,
    force: bool,
    private_dir: Path | None,
    chart: Texts,
    report: Text,
    json_: bool,
) -> None:
    """Publish a table as several tables, tied together only by groups of records: exit code 3 if no grouping keeps the bounds.

    \b
    Examples:
      divulge anatomize people.csv --sensitive salary --identifier name --alpha 0.5 --beta 1/4 --delta 0.25 --tables 2 --out release/
      divulge anatomize s3a://bucket/people/ --engine spark --sensitive salary --beta 1/20 --out /shared/release/
    """  # noqa: E501
    program.reject_idle("with --queries 0", "workload", when=queries == 0)
    check_page(report)
    drawing = Pictures.of(chart, ("groups",))
    from divulge import anatomization, releases
    from divulge.api.anatomized import refuse_in_chunks

    writes = out is not None and not dry_run
    release_ledger = ledger.value(publishes=writes)
    if out is not None and writes:
        releases.refuse_target(out, force=force, private_dir=private_dir)
    opened = table.read()
    shared_arguments: dict[str, Any] = {
        "sensitive": (),
        **roles.resolve(opened),
        "nulls": nulls,
        **model.chosen("anatomize"),
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
            adversary=adversary.resolve(),
            ledger=release_ledger,
            **shared_arguments,
            **method.chosen("anatomize"),
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


def _tables(text: str) -> int | list[list[str]]:
    """Parse a number of tables, or the columns of each: "," within a table, ";" between tables."""
    if text.strip().isdigit():
        return int(text)
    return [[name.strip() for name in table.split(",")] for table in text.split(";")]
