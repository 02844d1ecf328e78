# SPDX-License-Identifier: Apache-2.0
"""The verdict: for each promise whether it holds and, if not, which classes break it, counted and sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.belief import Belief
from divulge.count.contingency import Floats
from divulge.errors import BadInput, nearest
from divulge.metrics import Identity
from divulge.metrics.measurement import Measurement, as_number
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
    """The worst of them, worst first."""


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
    return Verdict(tuple(outcome for promise in promises for outcome in _outcomes(measurement, promise, sample)))


def _outcomes(measurement: Measurement, promise: Promise, sample: int) -> Iterator[Outcome]:
    metric = promise.metric
    means_identity = not measurement.beliefs and promise.attribute is None and metric.name in measurement.identity
    if metric.scope == "identity" or means_identity:
        if metric.name not in measurement.identity:
            raise BadInput(f"{metric.name} needs a population", hint="give a population table or a weight column")
        identity = measurement.identity[metric.name].metric
        yield _outcome(measurement, replace(promise, metric=identity), measurement.identity_view, None, sample)
        return
    if not measurement.beliefs:
        raise BadInput(
            f"{promise.text} is about a sensitive attribute, and none was named", hint="name it with sensitive="
        )
    attributes = list(measurement.beliefs) if promise.attribute is None else [promise.attribute]
    for attribute in attributes:
        if attribute not in measurement.beliefs:
            raise BadInput(
                f"{promise.text}: {attribute!r} is not a sensitive attribute here",
                hint=nearest(attribute, measurement.beliefs),
            )
        belief = measurement.beliefs[attribute]
        if promise.l_value is not None:
            belief = replace(belief, recursive_l=promise.l_value)
        yield _outcome(measurement, promise, belief, attribute, sample)


def _outcome(
    measurement: Measurement, promise: Promise, view: Belief | Identity, attribute: str | None, sample: int
) -> Outcome:
    metric = promise.metric
    value, _ = metric.value(view)
    holds = bool(metric.holds(value, promise.bound))
    breaking, numbers = np.empty(0, dtype=np.int64), np.empty(0)
    # An average is kept or broken by the table, not by a class, so only metrics that are a worst class name classes.
    if not holds and metric.per_class is not None and metric.of_table is None:
        numbers = metric.per_class(view)
        breaking = _worst_first(numbers, np.flatnonzero(~metric.holds(numbers, promise.bound)), metric.worse)
    classes = view.classes if isinstance(view, Belief) else np.arange(len(measurement.contingency))
    return Outcome(
        promise=promise,
        attribute=attribute,
        value=as_number(metric, value),
        holds=holds,
        breaking_classes=len(breaking),
        breaking_people=int(measurement.contingency.sizes[classes[breaking]].sum()),
        sample=tuple(
            BreakingClass(
                measurement.contingency.class_key(int(classes[index])),
                int(measurement.contingency.sizes[classes[index]]),
                as_number(metric, float(numbers[index])),
            )
            for index in breaking[:sample]
        ),
    )


def _worst_first(numbers: Floats, which: Any, worse: str) -> Any:
    order = np.argsort(-numbers[which] if worse == "high" else numbers[which], kind="stable")
    return which[order]
