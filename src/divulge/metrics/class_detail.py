# SPDX-License-Identifier: Apache-2.0
"""One equivalence class in detail: people, prior and posterior of every value, and metrics."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.adversary import Belief
from divulge.arguments import outside, quoted
from divulge.counting import Contingency
from divulge.errors import BadInput, listed, nearest
from divulge.metrics.metric import Metric
from divulge.results import Result
from divulge.text import as_text, class_name


@dataclass(frozen=True)
class Shift:
    """The prior and posterior share of one value in a class."""

    value: Any
    before: float
    after: float


@dataclass(frozen=True)
class ClassScore:
    """One metric's number for one class."""

    metric: Metric[Any]
    number: float | int
    attribute: str | None


@dataclass(frozen=True, repr=False)
class ClassDetail(Result):
    """One equivalence class: its people, the shares of values, and its scores."""

    view = "measurement"

    key: Mapping[str, Any]
    size: int
    of_people: int
    """The number of people in the whole table."""
    shares: Mapping[str, tuple[Shift, ...]]
    """All values of each sensitive attribute, in the order of the values.

    They include values whose share falls or vanishes.
    """
    scores: tuple[ClassScore, ...]
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The values that define the class."""
        return class_name(self.key)

    def shares_of(self, attribute: str | None = None) -> tuple[str, tuple[Shift, ...]]:
        """An attribute and its shares; by default the attribute whose shares change most."""
        if attribute is not None and attribute in self.shares:
            return attribute, self.shares[attribute]
        if attribute is not None or not self.shares:
            if attribute:
                message = f"nothing is known about {attribute!r} in {self.name}"
            else:
                message = f"{self.name} has no values"
            raise BadInput(
                message,
                hint=nearest(attribute or "", self.shares)
                if self.shares
                else "name sensitive columns",
            )
        return max(
            self.shares.items(),
            key=lambda item: sum(abs(shift.after - shift.before) for shift in item[1]),
        )


def shares_in(belief: Belief, index: int) -> Iterator[Shift]:
    """All values that have a positive prior or occur in the class, in the order of the values."""
    position = int(np.searchsorted(belief.classes, index))
    class_masses = belief.cells.of_class(position)
    before = belief.prior.of_class(position)
    total = sum(class_masses.values())
    for code, label in enumerate(belief.cells.domain.labels):
        if before[code] > 0 or code in class_masses:
            yield Shift(label, float(before[code]), class_masses.get(code, 0.0) / total)


def find_class(
    contingency: Contingency, class_values: Mapping[str, Any], *, class_count: int | None = None
) -> int:
    """Find the class of these values, each given as it is or as its text.

    `class_count` is the number of all classes, if some are not in the contingency.
    """
    names = [key.name for key in contingency.keys]
    for name in class_values:
        if name not in names:
            raise BadInput(
                f"{name!r} is no quasi-identifier, and makes no class", hint=nearest(name, names)
            )
    for key in contingency.keys:
        if key.name not in class_values:
            message = (
                f"a class has a value of each quasi-identifier, and that of {key.name!r} is not "
                "said"
            )
            label_list = listed(
                ["null" if label is None else label for label in key.labels], most=6
            )
            raise BadInput(message, hint=f"it is one of {outside(label_list)}")
    is_matching = np.ones(len(contingency), dtype=bool)
    for key, codes in zip(contingency.keys, contingency.codes, strict=True):
        is_matching &= np.isin(codes, _matching_codes(key.labels, class_values[key.name]))
    matching_classes = np.flatnonzero(is_matching)
    if not len(matching_classes):
        raise _unknown_class_error(contingency, class_values, class_count)
    if len(matching_classes) > 1:
        first, second = (contingency.class_key(int(index)) for index in matching_classes[:2])
        raise BadInput(
            f"{outside(class_name(class_values))} denotes several classes, such as {quoted(first)} "
            f"and {quoted(second)}",
            hint="give the values themselves instead of their texts",
        )
    return int(matching_classes[0])


def _matching_codes(labels: Sequence[Any], value: Any) -> list[int]:
    """Codes of the labels that a value denotes: the equal label, otherwise those of its text.

    In a column with nulls and the text "null", the text denotes itself and None denotes null.
    """
    equal = [
        code for code, label in enumerate(labels) if type(label) is type(value) and label == value
    ]
    if equal:
        return equal
    return [code for code, label in enumerate(labels) if _denotes(label, value)]


def _denotes(label: Any, value: Any) -> bool:
    """Return True if a value denotes a label, by itself or by its text.

    Null is denoted by None or "null".
    """
    if label is None or value is None:
        return label is None and value in (None, "null")
    return bool(label == value) or as_text(label) == as_text(value)


def _unknown_class_error(
    contingency: Contingency, class_values: Mapping[str, Any], class_count: int | None
) -> BadInput:
    class_label = class_name(class_values)
    if class_count is not None and class_count > len(contingency):
        message = (
            f"{outside(class_label)} is not among "
            f"the {len(contingency):,} classes that were brought here, "
            f"of {class_count:,}"
        )
        return BadInput(
            message,
            hint="the others stay with the engine: give more memory, or measure only the rows "
            "asked for",
        )
    for key in contingency.keys:
        if not any(_denotes(label, class_values[key.name]) for label in key.labels):
            label_texts = ["null" if label is None else str(label) for label in key.labels]
            return BadInput(
                f"no class has {key.name}={outside(class_values[key.name])}",
                hint=nearest(str(class_values[key.name]), label_texts),
            )
    names = [
        class_name(contingency.class_key(index))
        for index in _closest_classes(contingency, class_values)
    ]
    close_names = difflib.get_close_matches(class_label, names, n=3, cutoff=0.0)
    return BadInput(
        f"there is no class {outside(class_label)}",
        hint=f"near ones are {outside('; '.join(close_names))}",
    )


def _closest_classes(
    contingency: Contingency, class_values: Mapping[str, Any], limit: int = 200
) -> list[int]:
    """The classes that agree in the most columns."""
    agreeing = np.zeros(len(contingency), dtype=np.int64)
    for key, codes in zip(contingency.keys, contingency.codes, strict=True):
        agreeing += np.isin(
            codes,
            [
                code
                for code, label in enumerate(key.labels)
                if _denotes(label, class_values[key.name])
            ],
        )
    return [int(index) for index in np.argsort(-agreeing, kind="stable")[:limit]]
