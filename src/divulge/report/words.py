# SPDX-License-Identifier: Apache-2.0
"""What a class gives away, in words: which values it rules out, which are commoner than before, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import BadInput
from divulge.metrics import find_metric, leading_metric
from divulge.metrics.measurement import Measurement, as_number
from divulge.metrics.metric import worst_first

_SHOWN = 3


@dataclass(frozen=True)
class Shift:
    """One value's share before and after the class is known."""

    value: Any
    before: float
    after: float


@dataclass(frozen=True)
class Finding:
    """One class, why it stands out, and the sentence that says so."""

    key: Mapping[str, Any]
    size: int
    attribute: str | None
    metric: str
    value: float | int
    ruled_out: tuple[Shift, ...]
    over_represented: tuple[Shift, ...]
    why: str

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "class": dict(self.key),
            "size": self.size,
            "attribute": self.attribute,
            "metric": self.metric,
            "value": self.value,
            "ruled_out": [shift.value for shift in self.ruled_out],
            "over_represented": [
                {"value": shift.value, "before": shift.before, "after": shift.after} for shift in self.over_represented
            ],
            "why": self.why,
        }


def worst_classes(measurement: Measurement, *, most: int = 10, by: str | None = None) -> list[Finding]:
    """The classes that are worst by one metric, by default the one that leads its scope, most people first in a tie."""
    attributes: list[str | None] = list(measurement.beliefs) or [None]
    name = by or leading_metric("identity" if attributes == [None] else "sensitive").name
    metric = find_metric(name)
    if attributes == [None] and name in measurement.identity:
        metric = measurement.identity[name].metric
    if metric.scope == "identity":
        attributes = [None]
    elif attributes == [None]:
        raise BadInput(f"{name!r} is about a sensitive attribute, and none was named")
    sizes = measurement.contingency.sizes
    most = most if measurement.survey is None else min(most, measurement.survey.kept)
    candidates: list[tuple[float, int, int, str | None]] = []
    for attribute in attributes:
        numbers = measurement.per_class(name, attribute)
        badness = np.where(np.isnan(numbers), -np.inf, numbers if metric.worse == "high" else -numbers)
        order = worst_first(badness, sizes, most=most)
        candidates += [
            (round(-float(badness[i]), 12), -int(sizes[i]), int(i), attribute) for i in order if badness[i] > -np.inf
        ]
    candidates.sort(key=lambda item: item[:3])
    return [explain(measurement, index, attribute, name) for _, _, index, attribute in candidates[:most]]


def explain(measurement: Measurement, index: int, attribute: str | None, metric_name: str) -> Finding:
    """Why one class stands out."""
    contingency = measurement.contingency
    key, size = contingency.class_key(index), int(contingency.sizes[index])
    metric = find_metric(metric_name, "identity" if attribute is None else "sensitive")
    value = as_number(metric, float(measurement.per_class(metric_name, attribute)[index]))
    if attribute is None:
        return Finding(key, size, None, metric_name, value, (), (), _identity_sentence(key, size))
    ruled_out, over = shifts(measurement, index, attribute)
    return Finding(
        key,
        size,
        attribute,
        metric_name,
        value,
        ruled_out,
        over,
        _sentence(key, size, attribute, ruled_out=ruled_out, over=over),
    )


def shifts(measurement: Measurement, index: int, attribute: str) -> tuple[tuple[Shift, ...], tuple[Shift, ...]]:
    """Values the class rules out, most expected first, and values that are commoner in it, largest gain first."""
    belief = measurement.beliefs[attribute]
    position = int(np.searchsorted(belief.classes, index))
    inside = belief.cells.of_class(position)
    total = sum(inside.values())
    before = belief.prior.of_class(position)
    labels = belief.cells.domain.labels
    ruled_out = [
        Shift(labels[code], float(before[code]), 0.0)
        for code in np.flatnonzero(before > 0).tolist()
        if code not in inside
    ]
    over = [
        Shift(labels[code], float(before[code]), mass / total)
        for code, mass in inside.items()
        if mass / total > before[code] + 1e-12
    ]
    return (
        tuple(sorted(ruled_out, key=lambda shift: -shift.before)),
        tuple(sorted(over, key=lambda shift: shift.before - shift.after)),
    )


def people(size: int) -> str:
    """1 person, 2 people."""
    return "1 person" if size == 1 else f"{size:,} people"


def rows(count: int) -> str:
    """1 row, 2 rows."""
    return "1 row" if count == 1 else f"{count:,} rows"


def classes(count: int) -> str:
    """1 class, 2 classes."""
    return "1 class" if count == 1 else f"{count:,} classes"


def class_name(key: Mapping[str, Any]) -> str:
    """zip=476**, age=2*."""
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in key.items())


def percent(share: float) -> str:
    """A share as people write it, with enough digits to tell it from 0 and 100 %."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    digits = 0 if 0.01 <= share <= 0.99 else 2
    text = f"{share:.{digits}%}"
    if float(text[:-1]) == 0:
        return "under 0.01%"
    return text if float(text[:-1]) < 100 else "over 99.99%"


def _identity_sentence(key: Mapping[str, Any], size: int) -> str:
    if size == 1:
        return f"{class_name(key)} is 1 person: whoever knows these values knows whose record it is."
    return f"{class_name(key)} is {people(size)}: a guess at the record is right once in {size:,} times."


def _sentence(
    key: Mapping[str, Any], size: int, attribute: str, *, ruled_out: tuple[Shift, ...], over: tuple[Shift, ...]
) -> str:
    parts = [f"{class_name(key)} ({people(size)})"]
    if not over and not ruled_out:
        return f"{parts[0]}: {attribute} is as in the prior."
    top = over[0] if over else None
    if top is not None and top.after == 1.0:
        parts.append(f"everybody has {attribute}={_value(top.value)}, against {percent(top.before)} before")
    elif top is not None:
        shown = "; ".join(
            f"{_value(shift.value)} from {percent(shift.before)} to {percent(shift.after)}" for shift in over[:_SHOWN]
        )
        parts.append(f"{attribute} rises: {shown}")
    if ruled_out and not (top is not None and top.after == 1.0):
        names = ", ".join(_value(shift.value) for shift in ruled_out[:_SHOWN])
        more = f" and {len(ruled_out) - _SHOWN} more" if len(ruled_out) > _SHOWN else ""
        parts.append(f"an observer can rule out {names}{more}")
    return f"{parts[0]}: {'; '.join(parts[1:])}."


def _value(value: Any) -> str:
    return "null" if value is None else str(value)
