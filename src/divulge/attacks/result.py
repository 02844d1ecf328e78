# SPDX-License-Identifier: Apache-2.0
"""Results of attacks: the success rate of an attempt with its baselines and its guaranteed bound.

An `Attacker` is one kind of attack: a function from an `AttackContext` (attacks/context.py) to
attempts. The context holds the release, the targets and the original. All attackers are listed in
attacks/catalogue.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from divulge.arguments import quoted
from divulge.errors import BrokenPromise, InternalError
from divulge.results import Result

Aim = Literal["singling out", "linkability", "inference", "membership"]
"""Aim of an attack in the terms of regulators (Article 29 Working Party, opinion 05/2014).

Membership is added: the inference that a person is in the table.
"""
TOLERANCE = 1e-9
_Z = 1.959963984540054  # 95%


@dataclass(frozen=True)
class Rate:
    """Success rate with the 95% interval of Wilson (1927).

    Successes need not be integers. If an attack chooses at random among equally good rows, the
    expectation is counted instead of a random draw. Its variance is smaller than that of draws with
    the same mean, so the interval covers it too.

    >>> rate = Rate(2, 10)
    >>> rate.value, round(rate.low, 4), round(rate.high, 4)
    (0.2, 0.0567, 0.5098)
    """

    successes: float
    tries: int

    @classmethod
    def expected(cls, successes: float, tries: float) -> Rate:
        """Build a rate from an expected number of tries, rounded down for the interval."""
        whole_tries = int(tries + TOLERANCE)
        return cls(successes * whole_tries / tries if whole_tries else 0.0, whole_tries)

    def __post_init__(self) -> None:
        if self.tries < 0 or not -TOLERANCE <= self.successes <= self.tries * (1 + TOLERANCE):
            raise InternalError(f"{self.successes} successes in {self.tries} tries")

    @property
    def value(self) -> float:
        """Share of tries that succeeded; NaN without tries."""
        if self.tries:
            return self.successes / self.tries
        return math.nan

    @property
    def low(self) -> float:
        """Lower end of the interval; 0 without tries."""
        if self.tries:
            return self._end(-1.0)
        return 0.0

    @property
    def high(self) -> float:
        """Upper end of the interval; 1 without tries."""
        if self.tries:
            return self._end(1.0)
        return 1.0

    def _end(self, sign: float) -> float:
        share = min(max(self.value, 0.0), 1.0)
        n = self.tries
        middle = share + _Z**2 / (2 * n)
        half_width = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        return min(max((middle + sign * half_width) / (1 + _Z**2 / n), 0.0), 1.0)


@dataclass(frozen=True)
class Bound:
    """Guaranteed upper bound on the success rate of an attack."""

    value: float
    promise: str
    """Requirement as written in the policy, for example k_anonymity >= 5."""

    def __post_init__(self) -> None:
        if not self.value >= 0:
            raise InternalError(f"a bound of {quoted(self.value)}")


@dataclass(frozen=True)
class AtRisk:
    """Targets with equal known values who are among those most at risk from an attack."""

    known: Mapping[str, str | None]
    """Values that the adversary knows of them."""
    people: int
    """Number of these targets."""
    fitting: float
    """Number of rows of the release that match them."""
    guess: str | None
    """Guessed value; None if the attack guesses a row."""
    belief: float
    """Adversary's confidence in the guess."""
    right: float
    """Share of these people for whom the guess is right, or its expectation."""


@dataclass(frozen=True)
class Attempt:
    """One attack on one column or on the rows: its success, baselines, control group and bound."""

    name: str
    """Name of the attack, as in `--attack`."""
    aim: Aim
    about: str | None
    """Column whose value is guessed; None if the attack guesses a row or membership."""
    knows: tuple[str, ...]
    """Columns that the adversary knows of each target."""
    targets: int
    guesses: int
    """Number of targets for whom the adversary makes a guess."""
    successes: float
    """Number of right guesses; its expectation if the attack chooses at random among equal rows."""
    random: float | None = None
    """Random baseline: success of guessing any row or any value."""
    prior: float | None = None
    """Prior-only baseline: success of guessing by the prior, without a lookup in the release."""
    control: Rate | None = None
    """Success on a control group of people who are not in the release; None without one."""
    bound: Bound | None = None
    """Guaranteed bound; None if no requirement bounds the attack."""
    in_release: Rate | None = None
    """Success on the targets who are in the release, because a bound covers only those.

    None if the attack is not bounded or all targets are in the release.
    """
    highest: float | None = None
    """Highest chance of success against one target whose group in an anatomized release is known.

    None if the attack is not on groups. It is exact, so it has no interval.
    """
    highest_gain: float | None = None
    """Largest growth of the confidence in the true value of one target over its prior.

    The adversary of `highest`; None if no single column or table is guessed.
    """
    exceeding: int | None = None
    """Targets for whom the adversary of `highest` exceeds what the bound leaves for one person.

    None if no bound covers single people.
    """
    most_at_risk: tuple[AtRisk, ...] = ()
    """Targets most at risk, highest risk first."""
    told: str = ""
    """Description of the attack, with everything that a reader needs to interpret the number."""

    def __post_init__(self) -> None:
        if not 0 <= self.guesses <= self.targets or self.successes > self.guesses + TOLERANCE:
            raise InternalError(
                f"{self.name}: {self.successes} of {self.guesses} guesses about {self.targets} "
                "targets"
            )

    @property
    def rate(self) -> Rate:
        """Successes among all targets; a target without a guess is not a success."""
        return Rate(self.successes, self.targets)

    @property
    def precision(self) -> float:
        """Share of guesses that are right."""
        if self.guesses:
            return self.successes / self.guesses
        return math.nan

    @property
    def risk(self) -> float | None:
        """Part of the rate due to being in the release: (rate - control) / (1 - control).

        Defined as in anonymeter. None without a control group.
        """
        if self.control is None or not self.control.tries or self.control.value >= 1:
            return None
        return max((self.rate.value - self.control.value) / (1 - self.control.value), 0.0)

    @property
    def broken(self) -> bool:
        """True if the attack exceeds its bound by more than chance explains.

        The lower end of the interval, for the people in the release, is then above the bound, or
        the exact chance against a target is above what the bound leaves for one person.
        """
        if self.bound is None:
            return False
        is_rate_above = (self.in_release or self.rate).low > self.bound.value + TOLERANCE
        return is_rate_above or bool(self.exceeding)


@dataclass(frozen=True)
class KnowledgeResult:
    """Success rate of an adversary who knows some of the columns."""

    knows: tuple[str, ...]
    about: str | None
    rate: Rate


@dataclass(frozen=True)
class Attacker:
    """One kind of attack, with its name in the user interface."""

    name: str
    aim: Aim
    plain: str
    """One sentence for readers who do not know the name."""
    source: str
    """Paper and section."""
    run: Callable[[Any], Iterable[Attempt]]
    """Function that runs the attack on an `AttackContext`; that type depends on this module."""
    obstacle: Callable[[Any], str] = field(default=lambda _: "")
    """Function that returns why the attack does not apply to a context, or an empty text.

    An attack that does not apply raises an error if requested by name, and is skipped otherwise.
    """
    by_default: bool = True
    """True if the attack is run when no attacks are named."""


@dataclass(frozen=True, repr=False)
class AttackResult(Result):
    """Results of the attacks on a release."""

    view = "attack"

    attempts: tuple[Attempt, ...]
    knowledge: tuple[KnowledgeResult, ...] = ()
    """Success rates with less background knowledge: each set of columns up to a size."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Attacks that do not apply, with the reason."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All settings that the numbers depend on."""
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[Attempt, ...]:
        """Attempts that exceed their guaranteed bound."""
        return tuple(attempt for attempt in self.attempts if attempt.broken)

    @property
    def holds(self) -> bool:
        """True if no attack exceeds its bound, as far as this number of targets can show."""
        return not self.broken

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names the violated bounds, unless every bound holds."""
        if not self.holds:
            violations = [
                f"{attempt.bound.promise} (at most {attempt.bound.value:.4g}; {attempt.name} "
                f"reaches {attempt.rate.value:.4g})"
                for attempt in self.broken
                if attempt.bound is not None
            ]
            raise BrokenPromise(
                f"{self.settings.get('source', 'the release')} breaks {', '.join(violations)}"
            )
