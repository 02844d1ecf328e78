# SPDX-License-Identifier: Apache-2.0
"""Questions about all classes of a table: how many are beyond a bound, how many people they hold, and which are the worst.

They are answered from the classes at hand, or, where the classes are spread over a cluster, from tallies of the parts that add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.arrays import Ints
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.metrics.identity import Identity
from divulge.metrics.metric import Metric, worst_first


@dataclass(frozen=True)
class Question:
    """A question: which classes are beyond this bound of a metric."""

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """The sensitive attribute; None for identity."""
    recursive_l: int | None = None
    """Another l for recursive (c,l)-diversity than the one measured with."""
    only: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    """The classes that are asked about; None: all."""

    def view(self, identity: Identity, beliefs: Mapping[str, Belief]) -> Any:
        """What the metric is a function of; None where background knowledge leaves none of the classes at hand."""
        if self.attribute is None:
            return identity
        belief = beliefs.get(self.attribute)
        if belief is None or self.recursive_l is None:
            return belief
        return replace(belief, recursive_l=self.recursive_l)


@dataclass(frozen=True)
class Tally:
    """The classes beyond a bound."""

    classes: int = 0
    people: int = 0
    share: float = 0.0
    """Of the people of the table, or of the sum of their weights."""

    def plus(self, other: Tally) -> Tally:
        """Of two parts of a table together."""
        return Tally(self.classes + other.classes, self.people + other.people, self.share + other.share)


@dataclass(frozen=True)
class ClassNumber:
    """One class and its number."""

    key: Mapping[str, Any]
    size: int
    value: float


@dataclass(frozen=True)
class Answer:
    """The table's own number, the classes beyond the bound, and the worst of them, worst first."""

    value: float
    tally: Tally
    worst: tuple[ClassNumber, ...]


def beyond(question: Question, view: Any) -> Ints:
    """The positions in a view of the classes beyond the bound; none where classes have no number of their own."""
    if view is None or question.metric.per_class is None or question.metric.looks_at == "table":
        # An average is kept or broken by the table, not by a class.
        return np.empty(0, dtype=np.int64)
    broken = ~question.metric.holds(question.metric.per_class(view), question.bound)
    return np.flatnonzero(broken if question.only is None else broken & question.only[classes_of(view)])


def tally(question: Question, contingency: Contingency, view: Any) -> Tally:
    """Count the classes beyond the bound among those at hand."""
    found = beyond(question, view)
    if len(found) == 0:
        return Tally()
    sizes = contingency.sizes[classes_of(view)[found]]
    return Tally(len(found), int(sizes.sum()), float(view.class_share[found].sum()))


def answer(question: Question, contingency: Contingency, view: Any, *, most: int) -> Answer:
    """Answer from the classes at hand, which are all classes or at least the worst of them."""
    metric = question.metric
    value = _value(question, view)
    found = np.empty(0, dtype=np.int64) if metric.holds(value, question.bound) else beyond(question, view)
    if len(found) == 0 or metric.per_class is None:
        return Answer(value, Tally(), ())
    numbers = metric.per_class(view) + 0.0  # -0.0 + 0.0 is 0.0
    classes = classes_of(view)
    badness = numbers[found] if metric.worse == "high" else -numbers[found]
    order = found[worst_first(badness, contingency.sizes[classes[found]], most=most)]
    worst = tuple(
        ClassNumber(contingency.class_key(int(classes[i])), int(contingency.sizes[classes[i]]), float(numbers[i]))
        for i in order
    )
    return Answer(value, tally(question, contingency, view), worst)


def _value(question: Question, view: Any) -> float:
    """The table's number, or the worst among the classes that are asked about."""
    metric = question.metric
    if question.only is None or metric.per_class is None:
        return metric.value(view)[0]
    numbers = metric.per_class(view)[question.only[classes_of(view)]]
    if not len(numbers):  # they are left out, or background knowledge excludes them: about nobody, everything is kept
        return 0.0 if metric.worse == "high" else np.inf
    return float(numbers.max() if metric.worse == "high" else numbers.min()) + 0.0


def classes_of(view: Any) -> Ints:
    """The class that each number of a view is about."""
    return view.classes if isinstance(view, Belief) else np.arange(len(view.sizes))
