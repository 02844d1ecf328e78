# SPDX-License-Identifier: Apache-2.0
"""The verdict on a table: the outcome of each requirement, and the classes that violate it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from divulge import metrics
from divulge.adversary import Belief
from divulge.arguments import Sentence, marked, outside
from divulge.errors import BadInput, BrokenPromise
from divulge.metrics import Measurement
from divulge.policy.guard import GuardFinding
from divulge.policy.protection import Protected
from divulge.policy.requirement import Promise
from divulge.policy.uniqueness import Uniqueness
from divulge.results import Result


@dataclass(frozen=True)
class BreakingClass:
    """One class that violates a requirement."""

    key: dict[str, Any]
    size: int
    value: float | int


@dataclass(frozen=True)
class Outcome:
    """Result of one requirement for one attribute (or identity)."""

    promise: Promise
    attribute: str | None
    value: float | int
    holds: bool
    breaking_classes: int
    breaking_people: int
    sample: tuple[BreakingClass, ...]
    """Worst violating classes, worst first; in a tie those with more people first."""
    protects: str = ""
    """People that it applies to, if not all people."""
    shown_by: Literal["", "files", "publisher"] = ""
    """Evidence in a release: the published files alone, or the publisher's attestation."""
    linked: bool = False
    """True if all rows of a person were linked by the published person column for the check."""
    new_records: bool = False
    """True if only the new records of an incremental release were checked, among themselves."""

    @property
    def text(self) -> str:
        """Text for people: the requirement, its attribute and its people."""
        if self.attribute and not self.promise.attribute:
            about = f" ({outside(self.attribute)})"
        else:
            about = ""
        if self.protects:
            about += f" for {outside(self.protects)}"
        return Sentence(f"{marked(self.promise.text)}{about}{self.checked_records}")

    @property
    def checked_records(self) -> str:
        """Records that were checked if not all by themselves, to be appended to the requirement."""
        if self.linked:
            return " by all rows of a person"
        if self.new_records:
            return " among the new records"
        return ""


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """Results of all requirements, and the findings of the column guard."""

    view = "measurement"

    outcomes: tuple[Outcome, ...]
    measurement: Measurement
    """Measurement of the table that was checked."""
    findings: tuple[GuardFinding, ...] = ()
    """Findings about columns that must not be published."""
    uniqueness: Uniqueness | None = None
    """Number of people who are unique by all published columns; None for several joint releases."""
    accepted: tuple[Outcome, ...] = ()
    """Violations among the new records of an incremental release, if that risk was accepted."""

    @property
    def accepted_risk(self) -> str:
        """Warning about violations that were accepted, without a period; empty if there are none.

        The person who published the new records accepted them.
        """
        if not self.accepted:
            return ""
        violations = ", ".join(
            f"{outcome.text} (measured {outcome.value:.4g})" for outcome in self.accepted
        )
        return (
            f"published with an accepted risk, and violated: {violations}. An adversary who "
            "knows that a person is among the new records may single them out"
        )

    @property
    def warns(self) -> bool:
        """True if the text of the verdict begins with a warning."""
        return bool(self.accepted) or (self.uniqueness is not None and self.uniqueness.warns)

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that the numbers depend on."""
        return self.measurement.settings

    @property
    def holds(self) -> bool:
        """True if every requirement is met and no forbidden column is in the table."""
        return not self.findings and all(outcome.holds for outcome in self.outcomes)

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise` with all violations, if there are any."""
        if not self.holds:
            violations = [
                f"{marked(outcome.text)} (measured {outcome.value})"
                for outcome in self.outcomes
                if not outcome.holds
            ]
            violations += [f"the guard of columns ({finding.text})" for finding in self.findings]
            raise BrokenPromise(
                f"{self.measurement.settings['source']} breaks {', '.join(violations)}"
            )


def judge(
    measurement: Measurement,
    promises: Sequence[Promise],
    *,
    protected: Sequence[Protected] = (),
    sample: int = 10,
) -> Verdict:
    """Check a measured table against requirements, and against those of its protections."""
    if not promises and not protected:
        raise BadInput(
            "the policy makes no promise about classes, so there is nothing to check",
            hint=f"for example {metrics.EXAMPLE_REQUIREMENT}",
        )
    promise_attributes = _requirements_by_attribute(measurement, promises, measurement.beliefs)
    questions = [
        metrics.ClassQuery(promise.metric, promise.bound, attribute, promise.l_value)
        for promise, attribute in promise_attributes
    ]
    answers = measurement.ask(questions, most=sample)
    outcomes = [
        _outcome(*pair, answer) for pair, answer in zip(promise_attributes, answers, strict=True)
    ]
    further = (
        outcome for item in protected for outcome in _protection_outcomes(measurement, item, sample)
    )
    return Verdict((*outcomes, *further), measurement, frame=measurement.frame)


def _protection_outcomes(
    measurement: Measurement, protected: Protected, sample: int
) -> Iterator[Outcome]:
    """Yield one outcome for each requirement of a protection."""
    beliefs, promises = protected.about(measurement.beliefs, measurement.contingency)
    for promise, attribute in _requirements_by_attribute(measurement, promises, beliefs):
        question = metrics.ClassQuery(
            promise.metric, promise.bound, attribute, promise.l_value, protected.only
        )
        view = question.view(measurement.identity_view, beliefs)
        answer = metrics.answer(question, measurement.contingency, view, most=sample)
        yield replace(_outcome(promise, attribute, answer), protects=protected.protection.who)


def _requirements_by_attribute(
    measurement: Measurement, promises: Sequence[Promise], beliefs: Mapping[str, Belief]
) -> list[tuple[Promise, str | None]]:
    for promise in promises if measurement.overlapping else ():
        if not promise.metric.overlapping:
            raise metrics.overlap_error(promise.text)
    has_population = any(score.metric.needs_population for score in measurement.identity.values())
    return [
        pair
        for promise in promises
        for pair in promise.spread(beliefs, has_population=has_population)
    ]


def _outcome(promise: Promise, attribute: str | None, answer: metrics.ClassQueryResult) -> Outcome:
    metric = promise.metric
    return Outcome(
        promise=promise,
        attribute=attribute,
        value=metrics.as_number(metric, answer.value),
        holds=bool(metric.holds(answer.value, promise.bound)),
        breaking_classes=answer.tally.classes,
        breaking_people=answer.tally.people,
        sample=tuple(
            BreakingClass(dict(item.key), item.size, metrics.as_number(metric, item.value))
            for item in answer.worst
        ),
    )
