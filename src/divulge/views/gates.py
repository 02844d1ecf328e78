# SPDX-License-Identifier: Apache-2.0
"""What a gate hands to the machine that runs it: verdicts as JUnit XML and as SARIF, and broken promises in words.

A log of continuous integration is read by many. So nothing here holds a value of a cell, a label or a range of a class: only names of
columns, promises, and how many classes and people break them. Errors are told by their kind; what they say in full stands on standard
error.
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

from divulge.api.check import ReleaseCheck
from divulge.errors import DivulgeError, InternalError
from divulge.policy import Outcome, Verdict
from divulge.version import __version__
from divulge.views.words import classes, number, people

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_NOT_JUDGED = "not-judged"
_HELP = {
    "identifier_present": "A column that names people must not be in a table that is handed out.",
    "leave_out_present": "A column that is to be left out must not be there.",
    "unknown_column": "Every column has a role in the policy, or none has been thought about.",
    "looks_like_identifier": "A column without a role must not look like an identifier.",
    "alone": "Columns without a role must leave few people alone.",
}


@dataclass(frozen=True)
class Case:
    """One thing that was judged."""

    rule: str
    """The metric, the level, or the guard."""
    help: str
    """What the rule asks, in a sentence."""
    name: str
    broken: str
    """In words; empty where it holds."""


@dataclass(frozen=True)
class JudgedTable:
    """A table as it was named, and what came of it."""

    source: str
    result: Verdict | ReleaseCheck | None
    error: DivulgeError | None = None

    @property
    def verdict(self) -> Verdict | ReleaseCheck:
        """Of a table that could be judged."""
        if self.result is None:
            raise self.error or InternalError(f"{self.source} was not judged")
        return self.result

    def document(self) -> dict[str, Any]:
        """As `check --json` prints it for one table: the verdict, or the error."""
        return self.error.document() if self.error is not None else self.verdict.to_dict()

    @property
    def cases(self) -> list[Case]:
        """Each promise, and what was found beside them."""
        return [] if self.result is None else list(cases_of(self.result))

    @property
    def broken(self) -> list[str]:
        """What is broken, or that it could not be judged, in words without a value of a cell."""
        failed = [] if self.error is None else [_kind_of(self.error)]
        return [*failed, *(case.broken for case in self.cases if case.broken)]


def exit_code(judged: Sequence[JudgedTable]) -> int:
    """Of all together: what could not be judged weighs more than a broken promise."""
    failed = [item.error.exit_code for item in judged if item.error is not None]
    return max(failed, default=int(any(item.result is not None and not item.result.holds for item in judged)))


def summary(judged: Sequence[JudgedTable]) -> str:
    """How many of several tables hold, and the names of the others."""
    broken = [item.source for item in judged if item.result is not None and not item.result.holds]
    failed = [item.source for item in judged if item.error is not None]
    told = [f"{len(judged) - len(broken) - len(failed)} of {len(judged)} tables hold"]
    told += [f"broken: {', '.join(broken)}"] if broken else []
    told += [f"not judged: {', '.join(failed)}"] if failed else []
    return f"{'; '.join(told)}."


def broken_in_words(result: Verdict | ReleaseCheck) -> list[str]:
    """Each broken promise and each column that must not be there, without a value of a cell."""
    return [case.broken for case in cases_of(result) if case.broken]


@functools.singledispatch
def cases_of(result: Any) -> Iterator[Case]:
    """What was judged, one by one."""
    raise NotImplementedError(type(result))


@cases_of.register(Verdict)
def _of_verdict(verdict: Verdict) -> Iterator[Case]:
    protections = list(dict.fromkeys(item.protects for item in verdict.outcomes if item.protects))
    for outcome in verdict.outcomes:
        metric, name = outcome.promise.metric, _name(verdict, outcome, protections)
        told = f"{name} is broken: measured {number(outcome.value)}"
        if outcome.breaking_classes:
            told += f", by {classes(outcome.breaking_classes)} with {people(outcome.breaking_people)}"
        yield Case(metric.name, _sentence(metric.plain), name, "" if outcome.holds else told)
    for finding in verdict.findings:
        name = f"{finding.guard} ({', '.join(finding.columns)})"
        yield Case(finding.guard, _HELP[finding.guard], name, f"{finding.guard}: {finding.text}")
    if not verdict.findings:
        yield Case("columns", "No column is there that must not be.", "no column is there that must not be", "")


@cases_of.register(ReleaseCheck)
def _of_levels(check: ReleaseCheck) -> Iterator[Case]:
    reached = check.levels.texts()
    for name, bound in check.model.texts().items():
        told = f"{name} <= {bound} is broken: reached {reached[name]}"
        yield Case(
            name, f"The level {name} of every group.", f"{name} <= {bound}", told if name in check.broken else ""
        )


def _name(verdict: Verdict, outcome: Outcome, protections: Sequence[str]) -> str:
    """The promise, what it is about and for whom; chosen people and values by their number only."""
    known = outcome.attribute is None or outcome.attribute in verdict.measurement.beliefs
    text = outcome.promise.text
    if not known:  # chosen values of an attribute stand in its name
        text = text.replace(f" of {outcome.attribute}", " of chosen values")
    elif outcome.attribute and not outcome.promise.attribute:
        text += f" ({outcome.attribute})"
    if outcome.protects:
        text += f" for chosen people, choice {protections.index(outcome.protects) + 1}"
    return f"{text} by all rows of a person" if outcome.linked else text


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


# --- JUnit XML ----------------------------------------------------------------------------------------------------------
def junit(judged: Sequence[JudgedTable]) -> str:
    """A suite for each table, a test case for each promise and finding; what every service that shows test results reads."""
    root = ET.Element("testsuites", name="divulge check")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for item in judged:
        suite = ET.SubElement(root, "testsuite", name=item.source)
        counted = {"tests": 0, "failures": 0, "errors": 0}
        for case in item.cases:
            found = ET.SubElement(suite, "testcase", classname=item.source, name=case.name)
            counted["tests"] += 1
            if case.broken:
                counted["failures"] += 1
                ET.SubElement(found, "failure", type=case.rule, message=case.broken).text = case.help
        if item.error is not None:
            found = ET.SubElement(suite, "testcase", classname=item.source, name="can be judged")
            counted["tests"] += 1
            counted["errors"] += 1
            ET.SubElement(found, "error", type=type(item.error).__name__, message=_kind_of(item.error))
        for name, many in counted.items():
            suite.set(name, str(many))
            totals[name] += many
    for name, many in totals.items():
        root.set(name, str(many))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _kind_of(error: DivulgeError) -> str:
    return f"could not be judged: exit code {error.exit_code}; standard error says why"


# --- SARIF 2.1.0 ---------------------------------------------------------------------------------------------------------
def sarif(judged: Sequence[JudgedTable]) -> str:
    """A result for each broken promise and each finding, at the table; what code scanning shows beside a change."""
    cases = [(item, case) for item in judged for case in item.cases if case.broken]
    rules = {case.rule: case.help for _, case in cases}
    places = {rule: place for place, rule in enumerate(rules)}
    failed = [item for item in judged if item.error is not None]
    invocation: dict[str, Any] = {"executionSuccessful": not failed}
    if failed:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "error",
                "descriptor": {"id": _NOT_JUDGED},
                "message": {"text": _kind_of(item.error)},
                "locations": [_location(item.source)],
            }
            for item in failed
            if item.error is not None
        ]
    driver = {
        "name": "divulge",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": told}} for rule, told in rules.items()],
    }
    results = [
        {
            "ruleId": case.rule,
            "ruleIndex": places[case.rule],
            "level": "error",
            "message": {"text": case.broken},
            "locations": [_location(item.source)],
            # The same promise of the same table is the same alert in the next run, whatever was measured then.
            "partialFingerprints": {"promise/v1": f"{item.source}: {case.name}"},
        }
        for item, case in cases
    ]
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _location(source: str) -> dict[str, Any]:
    """The table as a whole; a line number would be one of a person's row."""
    uri = source if "://" in source else quote(PurePath(source).as_posix(), safe="/:")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}}}
