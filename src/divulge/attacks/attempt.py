# SPDX-License-Identifier: Apache-2.0
"""What an attack came to: an attempt with its rate beside what guessing alone gives and what was promised, and all attempts as one result.

An `Attacker` is one way to attack: a function from a `Stage` (attacks/stage.py), on which release, targets and truth are set up, to
attempts. All of them are listed in attacks/catalogue.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from divulge.errors import BrokenPromise, InternalError
from divulge.results import Result

Aim = Literal["singling out", "linkability", "inference", "membership"]
"""In the words of regulators (Article 29 Working Party, opinion 05/2014), and whether somebody is in the table at all."""
TOLERANCE = 1e-9
_Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Rate:
    """How often something succeeded, with the 95 % interval of Wilson (1927).

    Successes need not be whole: where chance decides among rows that fit alike, its expectation is counted instead of a throw. What varies
    less than throws of the same mean is covered by their interval too.

    >>> rate = Rate(2, 10)
    >>> rate.value, round(rate.low, 4), round(rate.high, 4)
    (0.2, 0.0567, 0.5098)
    """

    successes: float
    tries: int

    @classmethod
    def expected(cls, successes: float, tries: float) -> Rate:
        """Of tries that are themselves an expectation: the interval is that of as many whole ones."""
        whole = int(tries + TOLERANCE)
        return cls(successes * whole / tries if whole else 0.0, whole)

    def __post_init__(self) -> None:
        if self.tries < 0 or not -TOLERANCE <= self.successes <= self.tries * (1 + TOLERANCE):
            raise InternalError(f"{self.successes} successes in {self.tries} tries")

    @property
    def value(self) -> float:
        """The share of tries that succeeded; not a number where nothing was tried."""
        return self.successes / self.tries if self.tries else math.nan

    @property
    def low(self) -> float:
        """The lower end of the interval; nothing tried leaves everything open."""
        return self._end(-1.0) if self.tries else 0.0

    @property
    def high(self) -> float:
        """The upper end."""
        return self._end(1.0) if self.tries else 1.0

    def _end(self, sign: float) -> float:
        share, n = min(max(self.value, 0.0), 1.0), self.tries
        middle = share + _Z**2 / (2 * n)
        spread = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        return min(max((middle + sign * spread) / (1 + _Z**2 / n), 0.0), 1.0)


@dataclass(frozen=True)
class Bound:
    """The most that a promise leaves to an attack."""

    value: float
    promise: str
    """The promise as it is written, for example k_anonymity >= 5."""

    def __post_init__(self) -> None:
        if not self.value >= 0:
            raise InternalError(f"a bound of {self.value}")


@dataclass(frozen=True)
class AtRisk:
    """Some of the people whom an attack hits hardest: those of whom the same is known."""

    known: Mapping[str, str | None]
    """What the adversary knows of them."""
    people: int
    """How many of the targets they are."""
    fitting: float
    """How many rows of the release fit them."""
    guess: str | None
    """What she guesses; None where she is after their row."""
    belief: float
    """How sure she is of it."""
    right: float
    """The share of these people for whom she is right, or is expected to be."""


@dataclass(frozen=True)
class Attempt:
    """One attack on one thing: how often it succeeds, beside what guessing gives, a control group and the promise that bounds it."""

    name: str
    """The attack, as `--attack` takes it."""
    aim: Aim
    about: str | None
    """The column whose value is guessed; None: the row of a person, or whether there is one."""
    knows: tuple[str, ...]
    """What she knows of each target."""
    targets: int
    guesses: int
    """For how many of them she ventures a guess."""
    successes: float
    """How many guesses are right; an expectation where rows that fit alike are chosen among by chance."""
    random: float | None = None
    """The success of somebody who guesses blindly: any row, any value."""
    prior: float | None = None
    """The success of somebody who believes the prior and does not look up the target in the release."""
    control: Rate | None = None
    """The same attack on people who are not in the release; None: nobody said who is not."""
    bound: Bound | None = None
    """None: no promise bounds it."""
    in_release: Rate | None = None
    """Of the targets who are in the release, of whom alone a bound speaks; None: it is not bounded, or all of them are."""
    most_at_risk: tuple[AtRisk, ...] = ()
    """Worst first."""
    told: str = ""
    """What was done, in a sentence, with what a reader must know to read the number."""

    def __post_init__(self) -> None:
        if not 0 <= self.guesses <= self.targets or self.successes > self.guesses + TOLERANCE:
            raise InternalError(f"{self.name}: {self.successes} of {self.guesses} guesses about {self.targets} targets")

    @property
    def rate(self) -> Rate:
        """Successes among all targets; whom she does not venture to guess is no success."""
        return Rate(self.successes, self.targets)

    @property
    def precision(self) -> float:
        """The share of guesses that are right."""
        return self.successes / self.guesses if self.guesses else math.nan

    @property
    def risk(self) -> float | None:
        """What of the rate is due to being in the release (anonymeter): (rate - control) / (1 - control); None without a control group."""
        if self.control is None or not self.control.tries or self.control.value >= 1:
            return None
        return max((self.rate.value - self.control.value) / (1 - self.control.value), 0.0)

    @property
    def broken(self) -> bool:
        """The lower end of the interval, of people who are in the release, is above the bound: more than chance explains."""
        return self.bound is not None and (self.in_release or self.rate).low > self.bound.value + TOLERANCE


@dataclass(frozen=True)
class Knowing:
    """What is achieved by knowing some of the columns."""

    knows: tuple[str, ...]
    about: str | None
    rate: Rate


@dataclass(frozen=True)
class Attacker:
    """One way to attack, as users name it."""

    name: str
    aim: Aim
    plain: str
    """One sentence for people who do not know the name."""
    source: str
    """Paper and section."""
    run: Callable[[Any], Iterable[Attempt]]
    """Of a `Stage`, which is made of what stands here."""
    obstacle: Callable[[Any], str] = field(default=lambda _: "")
    """Why it has nothing to attack on a stage; empty where it has. Asked for by name it is then refused, else left out."""
    by_default: bool = True
    """Whether it is run where nobody names attacks."""


@dataclass(frozen=True, repr=False)
class AttackResult(Result):
    """What an adversary achieves against a release."""

    view = "attack"

    attempts: tuple[Attempt, ...]
    knowledge: tuple[Knowing, ...] = ()
    """What she achieves knowing less: each set of columns up to a size."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Attacks that had nothing to attack here, and why."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Everything that the numbers depend on."""
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[Attempt, ...]:
        """The attempts that achieve more than their promise leaves."""
        return tuple(attempt for attempt in self.attempts if attempt.broken)

    @property
    def holds(self) -> bool:
        """No attack achieved more than its promise leaves, as far as this many targets can show."""
        return not self.broken

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless every bound holds."""
        if not self.holds:
            told = [
                f"{attempt.bound.promise} (at most {attempt.bound.value:.4g}; {attempt.name} reaches {attempt.rate.value:.4g})"
                for attempt in self.broken
                if attempt.bound is not None
            ]
            raise BrokenPromise(f"{self.settings.get('source', 'the release')} breaks {', '.join(told)}")
