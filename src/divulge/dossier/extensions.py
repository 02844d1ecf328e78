# SPDX-License-Identifier: Apache-2.0
"""The two extensions that Whang and Garcia-Molina name in section 2.1 and leave open, as options that are off by default.

**Graded correctness.** Guessing 31 for an age of 30 leaks more than guessing 80. A grade g(v, v') in [0, 1] says how much
of the true value v' the guess v gives away; equal values have grade 1. Every attribute of the record is compared with the most
similar reference attribute of its label. In a possible world a reference attribute is found to the degree of its best guess,
so several guesses at one truth never count more than the truth itself. Without a grade, only equal values count.

**Background statistics.** A rare value says more about a person than a common one. The weight of <l, v> becomes
w_l * (-log2 q(v)) / H(l), where q is the distribution of the label in the population and H its entropy in bits: the
surprise of the value over the mean surprise. The population mean of the factor is 1, and a uniform background changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from divulge.dossier.record import Attribute, show
from divulge.errors import BadInput

Grade: TypeAlias = "float | Callable[[str, str], float]"
"""A distance at which a number stops being similar, or a function (guess, truth) -> [0, 1]."""

Background: TypeAlias = Mapping[str, Mapping[str, float]]
"""Per label, how often each value occurs in the population: counts or shares."""


def grade(guess: Attribute, truth: Attribute, graded: Mapping[str, Grade]) -> float:
    """How much of the truth the guess gives away.

    >>> grade(Attribute("A", "31"), Attribute("A", "30"), {"A": 10})
    0.9
    """
    if guess == truth:
        return 1.0
    rule = graded.get(guess.label)
    if rule is None or guess.label != truth.label:
        return 0.0
    found = rule(guess.value, truth.value) if callable(rule) else _linear(guess.value, truth.value, rule)
    if not 0 <= found <= 1:
        raise BadInput(
            f"the grade of {show(guess)} against {show(truth)} is {found!r}", hint="a grade lies between 0 and 1"
        )
    return float(found)


def check_graded(graded: Mapping[str, Grade] | None) -> Mapping[str, Grade]:
    """The grades, or an error when a distance is not a positive number."""
    for label, rule in (graded or {}).items():
        if not callable(rule) and not 0 < rule < math.inf:
            raise BadInput(
                f"the grade of {label!r} is {rule!r}",
                hint="give the distance at which a number stops being similar (more than 0), or a function",
            )
    return graded or {}


def rarity_factors(background: Background | None) -> dict[str, Callable[[str], float]]:
    """Per label, the factor of a value's weight. A value that never occurs is as rare as the rarest that does."""
    return {label: _rarity(label, counts) for label, counts in (background or {}).items()}


def _rarity(label: str, counts: Mapping[str, float]) -> Callable[[str], float]:
    if not counts or not all(0 <= count < math.inf for count in counts.values()):
        raise BadInput(
            f"the background of {label!r} is not a distribution", hint="give a count or a share of at least 0 per value"
        )
    total = math.fsum(counts.values())
    if total <= 0:
        raise BadInput(f"the background of {label!r} is all zero", hint="give a positive count for at least one value")
    surprise = {value: -math.log2(count / total) for value, count in counts.items() if count > 0}
    entropy = math.fsum(counts[value] / total * bits for value, bits in surprise.items())
    if entropy == 0:  # everybody has the same value: to know it is to know nothing, and nothing else is rarer
        return lambda value: 0.0 if value in surprise else 1.0
    rarest = max(surprise.values())
    return lambda value: surprise.get(value, rarest) / entropy


def _linear(guess: str, truth: str, distance: float) -> float:
    """1 at equal numbers, 0 from the distance on; text that is no number is similar to nothing but itself."""
    try:
        gap = abs(float(guess) - float(truth))
    except ValueError:
        return 0.0
    return max(0.0, 1 - gap / distance) if math.isfinite(gap) else 0.0
