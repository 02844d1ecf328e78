# SPDX-License-Identifier: Apache-2.0
"""What an attack achieves: exact figures, the promised bound beside them, and a trial of the attack itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """A 95 % interval (Wilson); the success itself where all arrangements were gone through."""
    high: float


@dataclass(frozen=True)
class Outcome:
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


def wilson(successes: float, tries: int) -> tuple[float, float]:
    """A 95 % interval for a rate.

    >>> [round(bound, 4) for bound in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    if tries == 0:
        return 0.0, 1.0
    rate = successes / tries
    spread = _Z * math.sqrt(rate * (1 - rate) / tries + _Z * _Z / (4 * tries * tries))
    middle, scale = rate + _Z * _Z / (2 * tries), 1 + _Z * _Z / tries
    return max((middle - spread) / scale, 0.0), min((middle + spread) / scale, 1.0)
