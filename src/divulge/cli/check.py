# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: check tables against a policy, or releases against their own requirements.

Exit code 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import typer

import divulge as dv
from divulge import results
from divulge.api.opened import is_anatomized
from divulge.arguments import spelled
from divulge.cli import options, program, redaction
from divulge.cli.inputs import (
    LedgerOptions,
    PolicyInEffect,
    PolicyOptions,
    TableOptions,
    exact_names,
    reject_with_levels,
    table_or_release,
)
from divulge.cli.options import Makers, Pictures
from divulge.errors import BadInput, DivulgeError, without_secrets
from divulge.options import ROLES
from divulge.output import ci_reports
from divulge.policy import Policy, Promise, Verdict

app = options.new_app()
_LEVELS = ("groups",)
_PRIVATE = ("with_private", "private_dir")
_CLASSES = ("leakages", "class_sizes")
"""Charts of a table; `_LEVELS` are those of an anatomized release."""


@dataclass(frozen=True)
class GateFiles:
    """Files for continuous integration, without data values."""

    junit: Path | None = None
    sarif: Path | None = None

    def __post_init__(self) -> None:
        for target in (self.junit, self.sarif):
            if target is not None and not target.absolute().parent.is_dir():
                raise BadInput(f"{target} cannot be written: there is no folder {target.parent}")

    def write(self, table_checks: Sequence[ci_reports.JudgedTable]) -> None:
        """Write the requested files, whatever the verdicts."""
        if self.junit is not None:
            results.write_file(self.junit, ci_reports.junit(table_checks).encode(), "JUnit file")
        if self.sarif is not None:
            results.write_file(self.sarif, ci_reports.sarif(table_checks).encode(), "SARIF file")


@dataclass(frozen=True)
class GroupOptions:
    """Bounds on the groups of an anatomized release, and its linking columns."""

    alpha: options.Text = None
    beta: options.Text = None
    gamma: options.Text = None
    delta: options.Text = None
    group: options.Text = None
    count: options.Text = None

    def promises(self, sources: Sequence[str]) -> tuple[Promise, ...]:
        """Return the requirement on the metric alpha, unless all sources are anatomized."""
        if self.alpha is None or all(is_anatomized(name, group=self.group) for name in sources):
            return ()
        return (Promise.make("alpha", self.alpha),)

    def arguments(self, *, by_groups: bool) -> dict[str, Any]:
        """Return the options as keyword arguments of `check`."""
        names = [field.name for field in fields(self) if by_groups or field.name != "alpha"]
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


@app.command()
def check(
    tables: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    ledger: LedgerOptions,
    policy: PolicyOptions,
    groups: GroupOptions,
    files: GateFiles,
    sample: int,
    joint: bool,
    with_private: bool,
    private_dir: Path | None,
    chart: options.Texts,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Hold tables against a policy, or releases against their own: exit code 1 if a promise is broken, or a column must not be published.

    \b
    Examples:
      divulge check patients.csv --qi zip,age --sensitive disease --k-anonymity 5 --entropy-leakage 0.5
      divulge check release-2/ --original patients.csv --released release-1/
      divulge check anatomized/ --sensitive disease --alpha 1/2 --beta 1/4
    """  # noqa: E501
    several = len(tables.sources) > 1
    program.reject_idle("with several tables", "chart", "private_dir", when=several)
    release_ledger = ledger.value()
    policy_in_effect = policy.in_force((*promises, *groups.promises(tables.sources)))
    has_policy = any(policy_in_effect.of(source).found for source in tables.sources)
    preface = options.Preface(*(policy_in_effect.lines if has_policy else ()), json_=json_)

    has_prior = bool("released" in adversary.values or release_ledger)

    def levels_of(table: TableOptions) -> Any:
        if not several:  # among several tables, the option may have an effect on another one
            reject_with_levels(used=_used_with_levels(has_prior=has_prior))
        prior_names = ("original", "released", "released_of") if has_prior else ()
        prior_adversary = adversary.only(*prior_names).resolve()
        return dv.check(
            table.source,
            sensitive=exact_names(roles.values.get("sensitive")),
            adversary=prior_adversary,
            ledger=release_ledger,
            engine=table.chosen_engine(),
            **groups.arguments(by_groups=True),
        )

    def verdict_of(table: TableOptions) -> Any:
        opened = None
        target: Any = table.source
        if is_anatomized(table.source, group=groups.group):
            _reject_roles_of_anatomized()
            role_arguments: dict[str, Any] = {"engine": table.chosen_engine()}
        else:
            target = table_or_release(table, with_private=with_private, private_dir=private_dir)
            opened = target.table
            role_arguments = roles.resolve(opened)
        return dv.check(
            target,
            policy_in_effect.of(table.source).policy,
            **role_arguments,
            joint=joint,
            adversary=adversary.resolve(() if opened is None else opened.names),
            sample=sample,
            ledger=release_ledger,
            **groups.arguments(by_groups=opened is None),
        )

    drawings: dict[str, Pictures] = {}

    def check_table(table: TableOptions) -> ci_reports.JudgedTable:
        source = without_secrets(table.source)
        try:
            by_levels = is_anatomized(table.source, group=groups.group) and not (
                has_prior and _has_requirements(policy_in_effect.of(table.source).policy)
            )
            drawings[table.source] = Pictures.of(chart, _LEVELS if by_levels else _CLASSES)
            return ci_reports.JudgedTable(
                source, levels_of(table) if by_levels else verdict_of(table)
            )
        except DivulgeError as error:
            return ci_reports.JudgedTable(source, None, error)

    table_checks = [check_table(table) for table in tables.table_options()]
    files.write(table_checks)
    if several:
        preface.show()
        _tell_all(table_checks, policy_in_effect, json_=json_, sample=sample)
    else:
        _tell_one(table_checks[0], policy_in_effect.of(tables.source), preface, sample=sample)
        _draw(drawings[tables.source], table_checks[0].result, json_=json_)
    if code := ci_reports.exit_code(table_checks):
        raise typer.Exit(code)


def _used_with_levels(*, has_prior: bool) -> tuple[str, ...]:
    """Options that have an effect on the check of an anatomized release by its own bounds."""
    files_and_groups = (*program.field_names(GateFiles), *program.field_names(GroupOptions))
    used = ("sensitive", "chart", "json_", *files_and_groups)
    if not has_prior:
        return used
    prior_options = ("released", "released_of", "original")
    return (*used, *prior_options, *program.field_names(LedgerOptions))


def _reject_roles_of_anatomized() -> None:
    """Reject role options for an anatomized release, whose manifest states the roles."""
    idle = (*ROLES, *("unique_share", "suppressed", "as_"), *_PRIVATE)
    program.reject_idle("on an anatomized release, which says itself what its columns are", *idle)


def _has_requirements(policy: Policy) -> bool:
    """True if a policy has requirements, which apply to joint groups as classes."""
    return bool(policy.promises or policy.protections)


def _tell_one(
    table_check: ci_reports.JudgedTable,
    policy_in_effect: PolicyInEffect,
    preface: options.Preface,
    *,
    sample: int,
) -> None:
    with preface:
        if table_check.error is not None:
            raise table_check.error
        if isinstance(table_check.result, Verdict):
            in_words = {"sample": sample}
        else:
            in_words = None
        preface.tell(
            table_check.verdict,
            warns=isinstance(table_check.result, Verdict) and table_check.result.warns,
            text=in_words,
            settings=policy_in_effect.settings,
        )


def _draw(drawing: Pictures, result: Any, *, json_: bool) -> None:
    makers: Makers = {
        _LEVELS[0]: result.chart,
        _CLASSES[0]: result.chart,
        _CLASSES[1]: lambda: dv.charts.class_sizes(result.measurement),
    }
    drawing.draw(makers, json_=json_)


def _tell_all(
    table_checks: Sequence[ci_reports.JudgedTable],
    policy_in_effect: PolicyInEffect,
    *,
    json_: bool,
    sample: int,
) -> None:
    """Print the verdict of each table; errors also go to standard error."""
    for item in table_checks:
        if item.error is not None:
            item.error.word(spelled)
            redaction.print_sentence(f"{item.source}: {item.error}")
    if json_:
        holds = not ci_reports.exit_code(table_checks)
        sentences = [
            f"{item.source}: {violation}" for item in table_checks for violation in item.broken
        ]
        tables = [{"table": item.source, **item.document()} for item in table_checks]
        options.emit_json(
            {
                "holds": holds,
                "in_words": sentences,
                "tables": tables,
                "settings": policy_in_effect.settings,
            }
        )
        return
    options.show(ci_reports.summary(table_checks))
    for item in table_checks:
        if item.result is not None:
            if isinstance(item.result, Verdict):
                in_words = {"sample": sample}
            else:
                in_words = {}
            options.show("", item.result.text(**in_words))
