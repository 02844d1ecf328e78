# SPDX-License-Identifier: Apache-2.0
"""The verdict: for each promise whether it holds and, if not, which classes break it, counted and sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from divulge.errors import BadInput, nearest
from divulge.metrics.measurement import Measurement, as_number
from divulge.metrics.questions import Answer, Question
from divulge.policy.promise import Promise


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


@dataclass(frozen=True)
class Verdict:
    """All promises together."""

    outcomes: tuple[Outcome, ...]

    @property
    def holds(self) -> bool:
        """Every promise is kept."""
        return all(outcome.holds for outcome in self.outcomes)


def judge(measurement: Measurement, promises: Sequence[Promise], *, sample: int = 10) -> Verdict:
    """Hold a measured table against promises."""
    if not promises:
        raise BadInput("the policy makes no promise, so there is nothing to check", hint="for example k_anonymity = 5")
    held = [pair for promise in promises for pair in _spread(measurement, promise)]
    questions = [Question(promise.metric, promise.bound, attribute, promise.l_value) for promise, attribute in held]
    answers = measurement.ask(questions, most=sample)
    return Verdict(tuple(_outcome(*pair, answer) for pair, answer in zip(held, answers, strict=True)))


def _spread(measurement: Measurement, promise: Promise) -> Iterator[tuple[Promise, str | None]]:
    """The promise for each attribute it is made for; None stands for identity."""
    metric = promise.metric
    means_identity = not measurement.beliefs and promise.attribute is None and metric.name in measurement.identity
    if metric.scope == "identity" or means_identity:
        if metric.name not in measurement.identity:
            raise BadInput(f"{metric.name} needs a population", hint="give a population table or a weight column")
        yield replace(promise, metric=measurement.identity[metric.name].metric), None
        return
    if not measurement.beliefs:
        raise BadInput(
            f"{promise.text} is about a sensitive attribute, and none was named",
            hint="name it with sensitive= (--sensitive)",
        )
    for attribute in measurement.beliefs if promise.attribute is None else [promise.attribute]:
        if attribute not in measurement.beliefs:
            raise BadInput(
                f"{promise.text}: {attribute!r} is not a sensitive attribute here",
                hint=nearest(attribute, measurement.beliefs),
            )
        yield promise, attribute


def _outcome(promise: Promise, attribute: str | None, answer: Answer) -> Outcome:
    metric = promise.metric
    return Outcome(
        promise=promise,
        attribute=attribute,
        value=as_number(metric, answer.value),
        holds=bool(metric.holds(answer.value, promise.bound)),
        breaking_classes=answer.tally.classes,
        breaking_people=answer.tally.people,
        sample=tuple(BreakingClass(dict(item.key), item.size, as_number(metric, item.value)) for item in answer.worst),
    )
