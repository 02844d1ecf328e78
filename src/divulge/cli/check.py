# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: hold tables against a policy, or releases against what they promise; exit code 0 or 1."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer import Argument, Option

import divulge as dv
from divulge import results
from divulge.api.query import is_anatomized
from divulge.cli import options, program
from divulge.cli.given import (
    InForce,
    LedgerOptions,
    PolicyOptions,
    PrivateOption,
    ReleasedOfOption,
    ReleasedOption,
    SeveralTables,
    SuppressionOptions,
    TableOptions,
    held_already,
    refuse_beside_levels,
    table_or_release,
)
from divulge.cli.options import ChartOption, Makers, Pictures
from divulge.errors import BadInput, DivulgeError, without_secrets
from divulge.policy import Promise, Verdict
from divulge.views import gates

app = options.new_app()
_LEVELS = ("groups",)
_CLASSES = ("leakages", "class_sizes")
"""The pictures of an anatomized release, and of a table."""


@dataclass(frozen=True)
class TablesToJudge(SeveralTables):
    """The tables, each of which is judged by itself."""

    source: Annotated[
        list[str],
        Argument(
            metavar="TABLE...", help="Tables as `divulge measure` reads them, and folders of releases; each is judged."
        ),
    ]


@dataclass(frozen=True)
class GateFiles:
    """What the machine that runs the gate reads; no value of a cell is in it."""

    panel: ClassVar[str] = "Output"
    junit: Annotated[Path | None, Option(metavar="FILE", help="Also write JUnit XML, without a value of a cell.")] = (
        None
    )
    sarif: Annotated[Path | None, Option(metavar="FILE", help="Also write SARIF 2.1.0, without a value of a cell.")] = (
        None
    )

    def __post_init__(self) -> None:
        for target in (self.junit, self.sarif):
            if target is not None and not target.absolute().parent.is_dir():
                raise BadInput(f"{target} cannot be written: there is no folder {target.parent}")

    def write(self, judged: Sequence[gates.JudgedTable]) -> None:
        """Both, whatever was found."""
        if self.junit is not None:
            results.write_file(self.junit, gates.junit(judged).encode(), "JUnit file")
        if self.sarif is not None:
            results.write_file(self.sarif, gates.sarif(judged).encode(), "SARIF file")


@app.command()
@options.takes_promises
@options.takes_groups
def check(
    context: typer.Context,
    tables: TablesToJudge,
    roles: options.RoleOptions,
    columns: options.GuardOptions,
    adversary: options.BeliefOptions,
    suppression: SuppressionOptions,
    ledger: LedgerOptions,
    policy: PolicyOptions,
    files: GateFiles,
    released: ReleasedOption = None,
    released_of: ReleasedOfOption = None,
    protect: options.ProtectOption = None,
    sample: Annotated[int, Option(help="How many of the classes that break a promise to name.", min=0)] = 10,
    joint: options.JointOption = False,
    private: PrivateOption = False,
    chart: ChartOption = None,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Hold tables against a policy, or releases against their own: exit code 1 if a promise is broken, or a column must not be published.

    \b
    Examples:
      divulge check patients.csv --qi zip,age --sensitive disease --k-anonymity 5 --entropy-leakage 0.5
      divulge check build/*.parquet --policy divulge.toml --junit verdicts.xml
      divulge check release-2/ --original patients.csv --released release-1/
    """
    several = len(tables.source) > 1
    program.refuse_idle(context, {"with several tables": ("chart",)} if several else {})
    known = ledger.value(context, publishes=False)
    given = policy.in_force(promises, protect=protect, alone_share=columns.alone_share)
    if any(given.of(source).found for source in tables.source):
        given.announce(json_=json_)

    held = bool(released or known)

    def levels_of(table: TableOptions) -> Any:
        if not several:  # what has no effect on this one has one on the others
            beside = ("released", "released_of", "original", *program.options_of(LedgerOptions)) if held else ()
            used = ("chart", "json_", *program.options_of(GateFiles), *beside)
            refuse_beside_levels(context, table.source, used=used)
        her = dv.Adversary(original=adversary.original if held else None, **held_already(released, released_of))
        return dv.check_anatomized(table.source, adversary=her, ledger=known, engine=table.chosen_engine())

    def verdict_of(table: TableOptions) -> Verdict:
        opened, kept = None, given.of(table.source).policy
        judged: Any = table.source
        if is_anatomized(table.source):
            idle = (*program.options_of(options.RoleOptions, options.GuardOptions, SuppressionOptions), "private")
            program.refuse_idle(context, {"on an anatomized release, which says itself what its columns are": idle})
            named: dict[str, Any] = {"engine": table.chosen_engine()}
        else:
            judged = table_or_release(table, private=private)
            opened = judged.table
            named = roles.resolve(opened) | columns.resolve(opened)
        her = suppression.added_to(adversary.resolve(() if opened is None else opened.names))
        her = replace(her, **held_already(released, released_of))
        return dv.check(judged, kept, **named, joint=joint, adversary=her, sample=sample, ledger=known)

    drawings: dict[str, Pictures] = {}

    def judged(table: TableOptions) -> gates.JudgedTable:
        source = without_secrets(table.source)
        try:
            by_levels = _by_levels(table.source, given, held=held)
            drawings[table.source] = Pictures.of(chart, _LEVELS if by_levels else _CLASSES)
            return gates.JudgedTable(source, levels_of(table) if by_levels else verdict_of(table))
        except DivulgeError as error:
            return gates.JudgedTable(source, None, error)

    found = [judged(table) for table in tables.each()]
    files.write(found)
    if several:
        _tell_all(found, given, json_=json_, sample=sample)
    else:
        _tell_one(found[0], given.of(tables.source[0]), json_=json_, sample=sample)
        _draw(drawings[tables.source[0]], found[0].result, json_=json_)
    if code := gates.exit_code(found):
        raise typer.Exit(code)


def _by_levels(source: str, given: InForce, *, held: bool) -> bool:
    """Whether it is held against the bounds of its groups: beside what is out already, promises can be about joint groups as classes."""
    kept = given.of(source).policy
    return is_anatomized(source) and not (held and (kept.promises or kept.protections))


def _tell_one(judged: gates.JudgedTable, given: InForce, *, json_: bool, sample: int) -> None:
    if judged.error is not None:
        raise judged.error
    in_words = {"sample": sample} if isinstance(judged.result, Verdict) else None
    options.tell(judged.verdict, json_=json_, text=in_words, settings=given.settings)


def _draw(drawing: Pictures, result: Any, *, json_: bool) -> None:
    makers: Makers = {
        _LEVELS[0]: result.chart,
        _CLASSES[0]: result.chart,
        _CLASSES[1]: lambda: dv.charts.class_sizes(result.measurement),
    }
    drawing.draw(makers, json_=json_)


def _tell_all(found: Sequence[gates.JudgedTable], given: InForce, *, json_: bool, sample: int) -> None:
    """The verdict of each; what could not be judged is also told on standard error, as always."""
    for item in found:
        if item.error is not None:
            item.error.message, item.error.hint = map(results.spoken, (item.error.message, item.error.hint))
            sys.stderr.write(f"divulge: {item.source}: {item.error}\n")
    if json_:
        holds = not gates.exit_code(found)
        sentences = [f"{item.source}: {told}" for item in found for told in item.broken]
        tables = [{"table": item.source, **item.document()} for item in found]
        options.emit_json({"holds": holds, "in_words": sentences, "tables": tables, "settings": given.settings})
        return
    options.show(gates.summary(found))
    for item in found:
        if item.result is not None:
            in_words = {"sample": sample} if isinstance(item.result, Verdict) else {}
            options.show("", item.result.text(**in_words))
