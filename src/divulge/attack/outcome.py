# SPDX-License-Identifier: Apache-2.0
"""What an attack achieves: exact figures, the promised bound beside them, and a trial of the attack itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

_Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Trial:
    """The attack carried out, to check the figures: over all arrangements, or over some drawn at random."""

    how: Literal["enumeration", "sampling"]
    arrangements: int
    """How many arrangements of the rows of the groups were gone through, or drawn."""
    success: float
    """The mean over all people of the adversary's success; exact where all arrangements were gone through."""
    low: float
    """A 95 % interval; the success itself where all arrangements were gone through."""
    high: float


@dataclass(frozen=True)
class AttackOutcome:
    """One attack on one release."""

    attack: str
    target: str
    """What the adversary is after."""
    promise: str
    """The parameter that bounds the attack."""
    bound: Fraction
    """What the release promises."""
    worst: Fraction
    """The adversary's exact success against the person who is worst off."""
    mean: float
    """... and on average over all people."""
    trial: Trial | None = None
    beyond: Mapping[str, float] = field(default_factory=dict)
    """What else the adversary achieves, which the parameter does not bound; each by a sentence that says what it is."""

    @property
    def holds(self) -> bool:
        """The promise covers the attack: nobody is worse off than promised."""
        return self.worst <= self.bound

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        trial = self.trial
        return {
            "attack": self.attack,
            "promise": self.promise,
            "bound": str(self.bound),
            "worst": str(self.worst),
            "mean": self.mean,
            "holds": self.holds,
            "trial": None
            if trial is None
            else {
                "how": trial.how,
                "arrangements": trial.arrangements,
                "success": trial.success,
                "low": trial.low,
                "high": trial.high,
            },
            "beyond": dict(self.beyond),
        }


def interval(rates: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval for the mean of independent draws (Student's); people are not independent, draws are.

    >>> [round(bound, 4) for bound in interval([0.1, 0.2] * 10)]
    [0.126, 0.174]
    """
    draws = len(rates)
    if draws < 2:
        return 0.0, 1.0
    mean = sum(rates) / draws
    spread = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (draws - 1) / draws) * student(draws - 1)
    return max(mean - spread, 0.0), min(mean + spread, 1.0)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher; within 0.01 from 9 degrees of freedom on.

    >>> round(student(19), 3)
    2.093
    """
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    return _Z + first / freedom + second / freedom**2
