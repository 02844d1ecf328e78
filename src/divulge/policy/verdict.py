# SPDX-License-Identifier: Apache-2.0
"""The verdict: for each promise whether it holds and, if not, which classes break it, counted and sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from divulge import metrics
from divulge.belief import Belief
from divulge.errors import BadInput, BrokenPromise
from divulge.metrics import Measurement, answer
from divulge.policy.promise import Promise, Protected
from divulge.results import Result


@dataclass(frozen=True)
class BreakingClass:
    """One class that breaks a promise."""

    key: dict[str, Any]
    size: int
    value: float | int


@dataclass(frozen=True)
class Outcome:
    """One promise, held against one attribute (or identity)."""

    promise: Promise
    attribute: str | None
    value: float | int
    holds: bool
    breaking_classes: int
    breaking_people: int
    sample: tuple[BreakingClass, ...]
    """The worst of them, worst first; in a tie those with more people first."""
    protects: str = ""
    """The people it is made for, where it is not made for everybody."""

    @property
    def text(self) -> str:
        """The promise, what it is about and for whom, for people."""
        about = f" ({self.attribute})" if self.attribute and not self.promise.attribute else ""
        return f"{self.promise.text}{about}{f' for {self.protects}' if self.protects else ''}"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """All promises together."""

    view = "measurement"

    outcomes: tuple[Outcome, ...]
    measurement: Measurement
    """Of the table that was held against the promises."""

    @property
    def holds(self) -> bool:
        """Every promise is kept."""
        return all(outcome.holds for outcome in self.outcomes)

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless everything holds."""
        if not self.holds:
            told = (f"{outcome.text} (measured {outcome.value})" for outcome in self.outcomes if not outcome.holds)
            raise BrokenPromise(f"{self.measurement.settings['source']} breaks {', '.join(told)}")


def judge(
    measurement: Measurement, promises: Sequence[Promise], *, protected: Sequence[Protected] = (), sample: int = 10
) -> Verdict:
    """Hold a measured table against promises, and its chosen classes and values against promises of their own."""
    if not promises and not protected:
        raise BadInput("the policy makes no promise, so there is nothing to check", hint="for example k_anonymity = 5")
    held = _spread(measurement, promises, measurement.beliefs)
    questions = [
        metrics.Question(promise.metric, promise.bound, attribute, promise.l_value) for promise, attribute in held
    ]
    answers = measurement.ask(questions, most=sample)
    outcomes = [_outcome(*pair, answer) for pair, answer in zip(held, answers, strict=True)]
    further = (outcome for item in protected for outcome in _held(measurement, item, sample))
    return Verdict((*outcomes, *further), measurement)


def _held(measurement: Measurement, protected: Protected, sample: int) -> Iterator[Outcome]:
    """One outcome for each promise of a protection."""
    beliefs, promises = protected.about(measurement.beliefs)
    for promise, attribute in _spread(measurement, promises, beliefs):
        question = metrics.Question(promise.metric, promise.bound, attribute, promise.l_value, protected.only)
        view = question.view(measurement.identity_view, beliefs)
        found = answer(question, measurement.contingency, view, most=sample)
        yield replace(_outcome(promise, attribute, found), protects=protected.protection.who)


def _spread(
    measurement: Measurement, promises: Sequence[Promise], beliefs: Mapping[str, Belief]
) -> list[tuple[Promise, str | None]]:
    has_population = any(score.metric.needs_population for score in measurement.identity.values())
    return [pair for promise in promises for pair in promise.spread(beliefs, has_population=has_population)]


def _outcome(promise: Promise, attribute: str | None, found: metrics.Answer) -> Outcome:
    metric = promise.metric
    return Outcome(
        promise=promise,
        attribute=attribute,
        value=metrics.as_number(metric, found.value),
        holds=bool(metric.holds(found.value, promise.bound)),
        breaking_classes=found.tally.classes,
        breaking_people=found.tally.people,
        sample=tuple(
            BreakingClass(dict(item.key), item.size, metrics.as_number(metric, item.value)) for item in found.worst
        ),
    )
