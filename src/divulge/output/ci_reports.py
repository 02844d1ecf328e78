# SPDX-License-Identifier: Apache-2.0
"""Policy checks for continuous integration: JUnit XML, SARIF and violations in words.

Many people can read the logs of continuous integration. Nothing here therefore contains a cell
value, a label or the range of a class. The output has only column names, requirements, and the
numbers of classes and people that violate them. Errors are named by their kind. Their full text is
on standard error.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from divulge.api.check_groups import ReleaseCheck
from divulge.errors import DivulgeError, InternalError
from divulge.output.formatting import classes_with_people, number
from divulge.policy import Outcome, Verdict
from divulge.version import __version__

SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_NOT_CHECKED = "not-judged"
_GUARD_HELP = {
    "identifier_present": "A column that names people must not be in a table that is handed out.",
    "leave_out_present": "A column that is to be left out must not be there.",
    "unknown_column": "Every column has a role in the policy, or none has been thought about.",
    "looks_like_identifier": "A column without a role must not look like an identifier.",
    "unique_share": "The share of people who are unique by all published columns but the "
    "sensitive ones is limited.",
}


@dataclass(frozen=True)
class Case:
    """Result of one requirement or guard."""

    rule: str
    """The metric, the level, or the guard."""
    help: str
    """Description of the rule in one sentence."""
    name: str
    broken: str
    """Violation in words; empty if the rule is met."""


@dataclass(frozen=True)
class JudgedTable:
    """Result of checking one table, by the name that the user passed."""

    source: str
    result: Verdict | ReleaseCheck | None
    error: DivulgeError | None = None

    @property
    def verdict(self) -> Verdict | ReleaseCheck:
        """The result of a table that could be checked; raises its error otherwise."""
        if self.result is None:
            raise self.error or InternalError(f"{self.source} was not judged")
        return self.result

    def document(self) -> dict[str, Any]:
        """Return the verdict or the error as `check --json` prints it for one table."""
        if self.error is not None:
            return self.error.document()
        return self.verdict.to_dict()

    @property
    def cases(self) -> list[Case]:
        """One case for each requirement and each finding of a guard."""
        if self.result is None:
            return []
        return list(cases_of(self.result))

    @property
    def broken(self) -> list[str]:
        """Violations, or the failure to check the table, in words without a cell value."""
        if self.error is None:
            failed = []
        else:
            failed = [_error_summary(self.error)]
        return [*failed, *(case.broken for case in self.cases if case.broken)]


def exit_code(checked_tables: Sequence[JudgedTable]) -> int:
    """Return the exit code of a check of several tables.

    The largest code of an error takes precedence over 1, the code of a violation.
    """
    failed = [item.error.exit_code for item in checked_tables if item.error is not None]
    return max(
        failed,
        default=int(
            any(item.result is not None and not item.result.holds for item in checked_tables)
        ),
    )


def summary(checked_tables: Sequence[JudgedTable]) -> str:
    """State how many tables meet the policy, and name the others."""
    broken = [
        item.source for item in checked_tables if item.result is not None and not item.result.holds
    ]
    failed = [item.source for item in checked_tables if item.error is not None]
    parts = [
        f"{len(checked_tables) - len(broken) - len(failed)} of {len(checked_tables)} tables hold"
    ]
    if broken:
        parts += [f"broken: {', '.join(broken)}"]
    if failed:
        parts += [f"not judged: {', '.join(failed)}"]
    return f"{'; '.join(parts)}."


def broken_in_words(result: Verdict | ReleaseCheck) -> list[str]:
    """List violated requirements and forbidden columns, without a cell value."""
    return [case.broken for case in cases_of(result) if case.broken]


@functools.singledispatch
def cases_of(result: Any) -> Iterator[Case]:
    """Yield one case for each requirement and finding."""
    raise NotImplementedError(type(result))


@cases_of.register(Verdict)
def _verdict_cases(verdict: Verdict) -> Iterator[Case]:
    protections = list(dict.fromkeys(item.protects for item in verdict.outcomes if item.protects))
    by_person = bool(verdict.measurement.settings["person"])
    for outcome in verdict.outcomes:
        metric = outcome.promise.metric
        name = _requirement_name(verdict, outcome, protections)
        failure = f"{name} is broken: measured {number(outcome.value)}"
        if outcome.breaking_classes:
            counts_once = not by_person or outcome.linked  # by all rows, a person is in one class
            broken_by = classes_with_people(
                outcome.breaking_classes, outcome.breaking_people, by_person=not counts_once
            )
            failure += f", by {broken_by}"
        yield Case(metric.name, _sentence(metric.plain), name, "" if outcome.holds else failure)
    for finding in verdict.findings:
        name = f"{finding.guard} ({', '.join(finding.columns)})"
        yield Case(
            finding.guard, _GUARD_HELP[finding.guard], name, f"{finding.guard}: {finding.text}"
        )
    if not verdict.findings:
        yield Case(
            "columns",
            "No column is there that must not be.",
            "no column is there that must not be",
            "",
        )


@cases_of.register(ReleaseCheck)
def _level_cases(check: ReleaseCheck) -> Iterator[Case]:
    reached = check.levels.texts()
    for name, bound in check.model.texts().items():
        failure = f"{name} <= {bound} is broken: reached {reached[name]}"
        yield Case(
            name,
            f"The level {name} of every group.",
            f"{name} <= {bound}",
            failure if name in check.broken else "",
        )


def _requirement_name(verdict: Verdict, outcome: Outcome, protections: Sequence[str]) -> str:
    """Name a requirement, its attribute and the people it protects.

    Protected people and values are identified by a number only.
    """
    is_measured = outcome.attribute is None or outcome.attribute in verdict.measurement.beliefs
    text = outcome.promise.text
    if not is_measured:  # the name of the attribute contains the chosen values
        text = text.replace(f" of {outcome.attribute}", " of chosen values")
    elif outcome.attribute and not outcome.promise.attribute:
        text += f" ({outcome.attribute})"
    if outcome.protects:
        text += f" for chosen people, choice {protections.index(outcome.protects) + 1}"
    return text + outcome.checked_records


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


# --- JUnit XML ------------------------------------------------------------------------------------
def junit(checked_tables: Sequence[JudgedTable]) -> str:
    """Return JUnit XML: a suite for each table, a test case for each requirement and finding.

    Every service that shows test results reads this format.
    """
    root = ET.Element("testsuites", name="divulge check")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for item in checked_tables:
        suite = ET.SubElement(root, "testsuite", name=item.source)
        counts = {"tests": 0, "failures": 0, "errors": 0}
        for case in item.cases:
            test_case = ET.SubElement(suite, "testcase", classname=item.source, name=case.name)
            counts["tests"] += 1
            if case.broken:
                counts["failures"] += 1
                ET.SubElement(
                    test_case, "failure", type=case.rule, message=case.broken
                ).text = case.help
        if item.error is not None:
            test_case = ET.SubElement(
                suite, "testcase", classname=item.source, name="can be judged"
            )
            counts["tests"] += 1
            counts["errors"] += 1
            ET.SubElement(
                test_case,
                "error",
                type=type(item.error).__name__,
                message=_error_summary(item.error),
            )
        for name, count in counts.items():
            suite.set(name, str(count))
            totals[name] += count
    for name, count in totals.items():
        root.set(name, str(count))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _error_summary(error: DivulgeError) -> str:
    return f"could not be judged: exit code {error.exit_code}; standard error says why"


# --- SARIF 2.1.0 ----------------------------------------------------------------------------------
def sarif(checked_tables: Sequence[JudgedTable]) -> str:
    """Return SARIF 2.1.0: a result for each violated requirement and each finding.

    Code scanning services show it next to a change. The location is the table.
    """
    cases = [(item, case) for item in checked_tables for case in item.cases if case.broken]
    rules = {case.rule: case.help for _, case in cases}
    rule_indices = {rule: index for index, rule in enumerate(rules)}
    failed = [item for item in checked_tables if item.error is not None]
    invocation: dict[str, Any] = {"executionSuccessful": not failed}
    if failed:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "error",
                "descriptor": {"id": _NOT_CHECKED},
                "message": {"text": _error_summary(item.error)},
                "locations": [_location(item.source)],
            }
            for item in failed
            if item.error is not None
        ]
    driver = {
        "name": "divulge",
        "version": __version__,
        "rules": [
            {"id": rule, "shortDescription": {"text": description}}
            for rule, description in rules.items()
        ],
    }
    results = [
        {
            "ruleId": case.rule,
            "ruleIndex": rule_indices[case.rule],
            "level": "error",
            "message": {"text": case.broken},
            "locations": [_location(item.source)],
            # A requirement on a table keeps its alert in the next run, whatever is measured then.
            "partialFingerprints": {"promise/v1": f"{item.source}: {case.name}"},
        }
        for item, case in cases
    ]
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return (
        json.dumps(
            {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]},
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def _location(source: str) -> dict[str, Any]:
    """Location of the table as a whole; a line number would point to a person's row."""
    if "://" in source:
        uri = source
    else:
        uri = quote(PurePath(source).as_posix(), safe="/:")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}}}
