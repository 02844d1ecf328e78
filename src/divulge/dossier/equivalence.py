# SPDX-License-Identifier: Apache-2.0
"""Canonical values: Flu is Influenza, 111 is 11*, 60 is >=50 (Whang and Garcia-Molina, section 3).

A declared equivalence maps every value in a class to the name of the class. It is applied to the
record and to the reference before they are compared. Two attributes of a record that become equal
are merged (the higher confidence stays). The 111 of a background table and the 11* of a release are
therefore one attribute, not two.

A class is written as the value that a release would show:

    synonyms   "Influenza": ["Flu", "grippe"]      listed values
    mask       "11*", "2**", "3*"                  each * at the end is exactly one character
    bound      ">=50", ">50", "<=17", "<18"        numbers
    range      "[20,30)", "20-29"                  numbers; 20-29 includes both ends

Classes may overlap: the first class of a label that covers a value applies.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from pathlib import Path
from typing import TypeAlias

from divulge.arguments import outside
from divulge.dossier.files import csv_rows, parse_json, read_text
from divulge.dossier.record import Attribute, Record, brief, show
from divulge.errors import BadInput
from divulge.validation import checked

# --- grades and background ------------------------------------------------------------------------
# Two extensions that section 2.1 names and leaves open; both are off by default.
#
# Grades: guessing 31 for an age of 30 leaks more than guessing 80. An attribute is compared with
# the most similar reference attribute of its label. In a possible world, that reference attribute
# is revealed to the degree of its best guess. Several guesses of one true value therefore never
# count more than the true value.
#
# Background: a rare value reveals more than a common one. The weight of <l, v> becomes w_l * (-log2
# q(v)) / H(l), where q is the distribution of the label in the population and H its entropy. The
# population mean of the factor is 1.
Grade: TypeAlias = float | Callable[[str, str], float]
"""A distance at which a number stops being similar, or a function (guess, truth) -> [0, 1]."""
Background: TypeAlias = Mapping[str, Mapping[str, float]]
"""Frequencies of the values in the population, per label: counts or shares."""


def grade(guess: Attribute, truth: Attribute, graded: Mapping[str, Grade]) -> float:
    """The degree to which the guess reveals the true value.

    >>> grade(Attribute("A", "31"), Attribute("A", "30"), {"A": 10})
    0.9
    """
    if guess == truth:
        return 1.0
    rule = graded.get(guess.label)
    if rule is None or guess.label != truth.label:
        return 0.0
    if callable(rule):
        score = rule(guess.value, truth.value)
    else:
        score = _linear_grade(guess.value, truth.value, rule)
    if not 0 <= score <= 1:
        raise BadInput(
            f"the grade of {outside(show(guess))} against {outside(show(truth))} is {score!r}",
            hint="a grade lies between 0 and 1",
        )
    return float(score)


def check_grade(label: str, rule: Grade) -> None:
    """Raise an error if a distance is not a positive number."""
    if not callable(rule) and not 0 < rule < math.inf:
        raise BadInput(
            f"the grade of {label!r} is {rule!r}",
            hint="give the distance at which a number stops being similar (more than 0), or a "
            "function",
        )


def rarity(label: str, counts: Mapping[str, float]) -> Callable[[str], float]:
    """Return a function from a value to the factor of its weight.

    A value that never occurs is as rare as the rarest value that occurs.
    """
    if not counts or not all(0 <= count < math.inf for count in counts.values()):
        raise BadInput(
            f"the background of {label!r} is not a distribution",
            hint="give a count or a share of at least 0 per value",
        )
    total = math.fsum(counts.values())
    if total <= 0:
        raise BadInput(
            f"the background of {label!r} is all zero",
            hint="give a positive count for at least one value",
        )
    surprise = {value: -math.log2(count / total) for value, count in counts.items() if count > 0}
    entropy = math.fsum(counts[value] / total * bits for value, bits in surprise.items())
    # everybody has the same value: knowing it reveals nothing, and no other value is rarer
    if entropy == 0:
        return lambda value: 0.0 if value in surprise else 1.0
    rarest = max(surprise.values())
    return lambda value: surprise.get(value, rarest) / entropy


def _linear_grade(guess: str, truth: str, distance: float) -> float:
    """1 for equal numbers, 0 from the distance on.

    Text that is not a number is similar only to itself.
    """
    gap = abs(_number(guess) - _number(truth))
    if math.isfinite(gap):
        return max(0.0, 1 - gap / distance)
    return 0.0


# --- classes of values ----------------------------------------------------------------------------
_MASK = re.compile(r"([^*]*)(\*+)")
_BOUND = re.compile(r"(>=|<=|>|<|≥|≤)\s*(-?\d+(?:\.\d+)?)")
_RANGE = re.compile(r"([\[(])\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*([\])])")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)")
_COMPARE = {">=": ge, "≥": ge, "<=": le, "≤": le, ">": gt, "<": lt}
Covers: TypeAlias = Callable[[str], bool]
"""Function that returns True for the values covered by a canonical value."""
Steps: TypeAlias = "tuple[Mapping[str, list[tuple[str, Covers]]], ...]"
"""Mappings applied in turn: per label the canonical values, each with its `Covers` function."""


class Equivalence:
    """Values of a label that count as equal."""

    @checked
    def __init__(self, classes: Mapping[str, Iterable[str] | Mapping[str, Iterable[str]]]) -> None:
        """Declare classes per label.

        They are a list of patterns (masks, bounds, ranges), or a mapping from a canonical value to
        the values in its class.

        Examples:
            >>> same = Equivalence(
            ...     {"Zip": ["11*"], "Age": ["3*", ">=50"], "Disease": {"Influenza": ["Flu"]}}
            ... )
            >>> same.canonical(Attribute("Age", "60"))
            Attribute(label='Age', value='>=50')
        """
        self._steps: Steps = (
            {label: _value_classes(label, patterns) for label, patterns in classes.items()},
        )
        self._canonical_by_attribute: dict[Attribute, Attribute] = {}

    @classmethod
    def read(cls, source: str | Path) -> Equivalence:
        """Read an equivalence from a JSON or CSV file.

        JSON holds an object as in the constructor. CSV has the columns label, canonical, value. A
        CSV row without a value declares the canonical value itself as a pattern.
        """
        path = Path(source)
        text = read_text(path, "the equivalence ")
        if path.suffix.lower() == ".csv":
            return cls(_classes_from_csv(text, path))
        document = parse_json(text, str(path))
        if not isinstance(document, dict):
            raise BadInput(
                f"{str(path)!r} does not hold a JSON object",
                hint='write {"label": ["11*", ...], ...}',
            )
        return cls(document)

    def then(self, other: Equivalence) -> Equivalence:
        """Compose two equivalences: the other one is applied to the result of this one.

        Examples:
            >>> read = Equivalence({"Age": ["3*"]}).then(Equivalence({"Age": {"thirties": ["3*"]}}))
            >>> read.canonical(Attribute("Age", "31")).value
            'thirties'
        """
        combined = Equivalence({})
        combined._steps = (*self._steps, *other._steps)
        return combined

    def canonical(self, attribute: Attribute) -> Attribute:
        """The attribute with its canonical value; unchanged if no class covers it."""
        if not any(attribute.label in classes for classes in self._steps):
            return attribute
        if attribute not in self._canonical_by_attribute:
            value = attribute.value
            for classes in self._steps:
                value = next(
                    (name for name, covers in classes.get(attribute.label, ()) if covers(value)),
                    value,
                )
            self._canonical_by_attribute[attribute] = Attribute(attribute.label, value)
        return self._canonical_by_attribute[attribute]

    def apply(self, record: Record) -> Record:
        """The record with canonical values.

        If two attributes become equal, the higher confidence stays.
        """
        return record.rewritten(self.canonical)

    def apply_to_background(self, background: Background) -> Background:
        """Population counts per canonical value."""
        summed: dict[str, dict[str, float]] = {label: defaultdict(float) for label in background}
        for label, counts in background.items():
            for value, count in counts.items():
                summed[label][self.canonical(Attribute(label, value)).value] += count
        return summed


def _value_classes(
    label: str, patterns: Iterable[str] | Mapping[str, Iterable[str]]
) -> list[tuple[str, Covers]]:
    if isinstance(patterns, str):
        raise BadInput(
            f"the classes of {label!r} are the text {patterns!r}",
            hint=f'write a list: ["{patterns}"]',
        )
    if not isinstance(patterns, Iterable):
        raise BadInput(
            f"the classes of {label!r} are {brief(patterns)}", hint='write a list: ["11*", ">=50"]'
        )
    if not isinstance(patterns, Mapping):
        return [(name, _pattern(label, name)) for name in patterns]
    classes = [(name, _synonyms(label, name, values)) for name, values in patterns.items()]
    claimed: dict[str, str] = {}
    for name, covered_values in patterns.items():
        for value in (name, *covered_values):
            if claimed.setdefault(value, name) != name:
                raise BadInput(
                    f"{value!r} of {label!r} belongs to {claimed[value]!r} and to {name!r}",
                    hint="keep one",
                )
    return classes


def _synonyms(label: str, name: str, values: object) -> Covers:
    """Listed values; without any, the canonical value itself must be a pattern.

    The class always contains the canonical value.
    """
    if (
        isinstance(values, str)
        or not isinstance(values, Iterable)
        or not all(isinstance(v, str) for v in values)
    ):
        raise BadInput(
            f"the values of {name!r} ({label!r}) are not a list of texts", hint='write ["Flu", ...]'
        )
    synonyms = frozenset(values)
    if synonyms:
        return (synonyms | {name}).__contains__
    return _pattern(label, name)


def _pattern(label: str, name: object) -> Covers:
    if isinstance(name, str):
        covers = read_pattern(name)
    else:
        covers = None
    if covers is None:
        raise BadInput(
            f"{brief(name)} of {label!r} is not a class of values",
            hint="write 11*, >=50, [20,30), 20-29, or a list of synonyms",
        )
    return lambda value: value == name or covers(value)


def read_pattern(name: str) -> Covers | None:
    """Parse a mask, a bound or a range to a `Covers` function; None for any other text."""
    if match := _MASK.fullmatch(name):
        prefix = match[1]
        return lambda value: len(value) == len(name) and value.startswith(prefix)
    text = name.strip()
    if match := _BOUND.fullmatch(text):
        compare = _COMPARE[match[1]]
        limit = float(match[2])
        return lambda value: compare(_number(value), limit)
    if match := _RANGE.fullmatch(text):
        low = float(match[2])
        high = float(match[3])
        if match[1] == "[":
            above = ge
        else:
            above = gt
        if match[4] == "]":
            below = le
        else:
            below = lt
    elif match := _SPAN.fullmatch(text):
        low = float(match[1])
        high = float(match[2])
        above = ge
        below = le
    else:
        return None
    return lambda value: above(_number(value), low) and below(_number(value), high)


def _number(value: str) -> float:
    """The value as a number; NaN, for which no comparison holds, if it is not a number."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _classes_from_csv(text: str, path: Path) -> dict[str, dict[str, list[str]]]:
    classes: dict[str, dict[str, list[str]]] = {}
    for _, row in csv_rows(text, ("label", "canonical"), str(path)):
        members = classes.setdefault(row["label"], {}).setdefault(row["canonical"], [])
        if row.get("value"):
            members.append(row["value"])
    return classes
