# SPDX-License-Identifier: Apache-2.0
"""The promise of an anatomized release: (alpha, beta, gamma, delta), after Yao et al. 2021, Definitions 1 to 4.

In every group of n records: the commonest tuple of each table of quasi-identifiers makes up at most alpha of it (eq. 3), the commonest
sensitive value at most beta (eq. 5), the most frequent combination over all tables has a probability of at most gamma (eq. 7), and no
sensitive value's share differs from its share in the whole table by more than delta (eq. 8; values that are absent count as share 0).
Levels are exact fractions; a float decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from fractions import Fraction

from divulge.errors import BadInput

Share = Fraction | str | float | int


@dataclass(frozen=True)
class Reached:
    """What a grouping, a group or a record reaches; lower is safer."""

    alpha: Fraction
    """Record linkage: how surely the quasi-identifiers of a record can be put together."""
    beta: Fraction
    """Attribute linkage: how surely a sensitive value can be inferred."""
    gamma: Fraction
    """Table linkage: how surely a record's presence can be inferred."""
    delta: Fraction
    """Probabilistic attack: how far the belief in a sensitive value moves."""

    def worst(self, other: Reached) -> Reached:
        """What two sets of groups reach together: the worse of them decides each level."""
        return Reached(*(max(one, two) for one, two in zip(astuple(self), astuple(other), strict=True)))

    def texts(self) -> dict[str, str]:
        """The levels as exact texts: {"alpha": "1/2", ...}."""
        return {name: str(getattr(self, name)) for name in ("alpha", "beta", "gamma", "delta")}


@dataclass(frozen=True, init=False)
class AlphaBetaGammaDelta(Reached):
    """Bounds on the four levels; a bound that is left out is 1 and demands nothing.

    >>> AlphaBetaGammaDelta(alpha="1/2", beta=0.05).beta
    Fraction(1, 20)
    """

    def __init__(self, *, alpha: Share = 1, beta: Share = 1, gamma: Share = 1, delta: Share = 1) -> None:
        for name, given in (("alpha", alpha), ("beta", beta), ("gamma", gamma), ("delta", delta)):
            object.__setattr__(self, name, as_share(name, given))

    def holds_for(self, levels: Reached) -> bool:
        """No level is above its bound."""
        return not self.broken_by(levels)

    def broken_by(self, levels: Reached) -> tuple[str, ...]:
        """The names of the bounds that are exceeded."""
        names = ("alpha", "beta", "gamma", "delta")
        return tuple(name for name in names if getattr(levels, name) > getattr(self, name))

    @property
    def records_per_group(self) -> int | None:
        """The paper's N = max(ceil(1/beta), ceil(1/delta)); None where a bound of 0 leaves it undefined."""
        tightest = min(self.beta, self.delta)
        return math.ceil(1 / tightest) if tightest else None


def as_share(name: str, given: Share) -> Fraction:
    """An exact number from 0 to 1; a float means the decimal that it prints as, so that 0.05 is 1/20.

    >>> as_share("alpha", "1/4"), as_share("beta", 0.1)
    (Fraction(1, 4), Fraction(1, 10))
    """
    try:
        share = Fraction(repr(given)) if isinstance(given, float) else Fraction(given)
    except (ValueError, TypeError, ZeroDivisionError):
        share = None
    if share is None or isinstance(given, bool):
        raise BadInput(f"{name} = {given!r} is not a number", hint="Write it as 0.25 or 1/4")
    if not 0 <= share <= 1:
        raise BadInput(f"{name} = {given} is not from 0 to 1", hint="It is a probability: write it as 0.25 or 1/4")
    return share
