# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021, section 3, carried out against an anatomized release."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from divulge import anatomy, arrays
from divulge.arrays import Bools, Codes, Floats, Ints, Members
from divulge.attacks.groups import Occurrences, belief_in
from divulge.results import Result

# --- linkage ----------------------------------------------------------------------------------------------------------
# Record linkage and attribute linkage against an anatomized release (Yao et al. 2021, section 3, attacks 1 and 2; section 5.2).
#
# Record linkage: the adversary knows the person's group and tuple in all tables of quasi-identifiers but one, and puts
# the missing tuple together by chance. Of n rows of the group d have the right tuple, so it succeeds with d/n: at most
# alpha. Who knows one table only must hit all the others, which succeeds with the product. With a single table nothing
# has to be put together: linkage is certain, and alpha says nothing about it.
#
# Attribute linkage: the adversary knows the person's group and believes in each sensitive value as often as it occurs
# there: c/n, at most beta. Who knows the quasi-identifiers only must also weigh the groups in which they occur
# together.


# --- What an attack achieves: exact figures, the promised bound beside them, and a trial of the attack itself ---------
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
        return {
            "attack": self.attack,
            "promise": self.promise,
            "bound": str(self.bound),
            "worst": str(self.worst),
            "mean": self.mean,
            "holds": self.holds,
            "trial": None if self.trial is None else asdict(self.trial),
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


def sampled(rates: Sequence[float]) -> Trial:
    """A trial of some draws, each of all groups at once."""
    return Trial("sampling", len(rates), sum(rates) / len(rates), *interval(rates))


def chances(counts: Sequence[Ints], size: Ints) -> Floats:
    """For each person, the product of count / size."""
    product: Floats = np.multiply.reduce([count / size for count in counts])
    return product


def largest_chance(counts: Sequence[Ints], size: Ints) -> Fraction:
    """The largest product of count / size over all people, exactly: the largest by float, compared as fractions."""
    product = chances(counts, size)
    columns = np.stack([*counts, size])[:, product >= product.max() * (1 - 1e-9)]
    return max(Fraction(math.prod(own), records ** len(own)) for *own, records in np.unique(columns, axis=1).T.tolist())


# --- arrangements -----------------------------------------------------------------------------------------------------
# A release tells which tuples a group has in each table and nothing about which belong together. An arrangement gives each record of
# the first table one row of every other table, no row twice.
@dataclass(frozen=True, eq=False)
class Victims:
    """The people of a release, as the publisher knows them: their group, and their tuple in each table."""

    group: Codes = field(repr=False)
    sizes: Ints = field(repr=False)
    tuples: tuple[Codes, ...] = field(repr=False)
    """For each table of quasi-identifiers, the number of each person's tuple."""
    sensitive: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of(cls, anatomized: anatomy.Anatomized) -> Victims:
        """All people of a release."""
        return cls(
            group=anatomized.group,
            sizes=anatomized.sizes,
            tuples=tuple(table.ids for table in anatomized.problem.tables),
            sensitive=tuple(anatomized.rows.column(name) for name in anatomized.sensitive),
        )

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def group_size(self) -> Ints:
        """The size of each person's group."""
        return self.sizes[self.group]

    @cached_property
    def alike(self) -> tuple[Ints, ...]:
        """For each table of quasi-identifiers, how many records of the own group have the person's tuple."""
        return tuple(self._alike(ids) for ids in self.tuples)

    @cached_property
    def alike_sensitive(self) -> tuple[Ints, ...]:
        """The same for each sensitive attribute."""
        return tuple(self._alike(ids) for ids in self.sensitive)

    @cached_property
    def layout(self) -> Members:
        """People by group."""
        return arrays.lay_out(self.group, len(self.sizes))

    def _alike(self, ids: Codes) -> Ints:
        return arrays.how_many_alike(
            arrays.class_ids([self.group, ids], [len(self.sizes), int(ids.max()) + 1], rows=len(self))[0]
        )


def how_many(victims: Victims, tables: int) -> int:
    """How many arrangements of all groups, one by one, there are to go through for so many tables."""
    return sum(math.factorial(size) ** (tables - 1) for size in victims.sizes.tolist())


def every_arrangement(victims: Victims, tables: int) -> Iterator[tuple[Ints, tuple[Ints, ...]]]:
    """For each group and each of its arrangements: its people, and for each further table whose row each of them gets."""
    for group in range(len(victims.sizes)):
        members, _ = victims.layout.gather(np.array([group]))
        orders = [members[list(order)] for order in itertools.permutations(range(len(members)))]
        for chosen in itertools.product(orders, repeat=tables - 1):
            yield members, chosen


def drawn_arrangement(victims: Victims, rng: np.random.Generator) -> Ints:
    """For each person, whose row of a further table it gets: a random arrangement of every group at once."""
    members = victims.layout.members
    order = np.lexsort((rng.random(len(members)), victims.group[members]))
    partner = np.empty(len(members), dtype=np.int64)
    partner[members] = members[order]
    return partner


# --- linkage ----------------------------------------------------------------------------------------------------------


# --- unknown group ----------------------------------------------------------------------------------------------------
# An adversary who knows all quasi-identifiers of a person, but not the group (Yao et al. 2021, section 5.2, end): groups.py.
def beliefs_without_group(victims: Victims, *, people: int, seed: int = 0) -> Floats:
    """The belief in the true sensitive value, for each person or for some drawn at random."""
    everyone = np.arange(len(victims))
    chosen = everyone if len(victims) <= people else np.random.default_rng(seed).choice(everyone, people, replace=False)
    *tables, values = (
        Occurrences.of(ids, victims.group, ids[chosen], groups=len(victims.sizes))
        for ids in (*victims.tuples, victims.sensitive[0])
    )
    return belief_in(tables, [values], victims.sizes)[0]


# --- linkage ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Effort:
    """How much an attack is tried out."""

    most_arrangements: int = 20_000
    """All arrangements are gone through if there are no more."""
    draws: int = 20
    """Otherwise so many are drawn, each of all groups at once."""
    people: int = 500
    """For how many people the groups are weighed that they might be in."""
    seed: int = 0


def record_linkage(victims: Victims, model: anatomy.AlphaBetaGammaDelta, effort: Effort) -> AttackOutcome:
    """Put the quasi-identifiers of each person together."""
    target = "the tuple of a person in one table of quasi-identifiers, all others and the group known"
    if len(victims.tuples) == 1:
        beyond = {"chance that all quasi-identifiers of a person are known to belong together: there is one table": 1.0}
        return AttackOutcome("record linkage", target, "alpha", model.alpha, Fraction(1), 1.0, beyond=beyond)
    closest, size = np.maximum.reduce(victims.alike), victims.group_size
    worst, mean = largest_chance([closest], size), float((closest / size).mean())
    rate = float(chances(victims.alike[1:], size).mean())
    beyond = {"chance of putting all tables together from the first one alone, on average": rate}
    trial = _try(victims, victims.tuples[1:], effort)
    return AttackOutcome("record linkage", target, "alpha", model.alpha, worst, mean, trial, beyond)


def attribute_linkage(victims: Victims, model: anatomy.AlphaBetaGammaDelta, effort: Effort) -> AttackOutcome:
    """Infer the sensitive value of each person."""
    target = "the sensitive value of a person whose group is known"
    likeliest, size = np.maximum.reduce(victims.alike_sensitive), victims.group_size
    worst, mean = largest_chance([likeliest], size), float((likeliest / size).mean())
    unknown = beliefs_without_group(victims, people=effort.people, seed=effort.seed)
    known = "highest belief in the truth of an adversary who knows the quasi-identifiers but not the group"
    beyond = {known: float(unknown.max()), "... and on average": float(unknown.mean())}
    trial = _try(victims, victims.sensitive[:1], effort)
    return AttackOutcome("attribute linkage", target, "beta", model.beta, worst, mean, trial, beyond)


def _try(victims: Victims, further: Sequence[Codes], effort: Effort) -> Trial:
    """Give each person a row of every further table, and see for how many these are like their own."""
    ways = how_many(victims, 1 + len(further))
    if ways <= effort.most_arrangements:
        successes, tried = np.zeros(len(victims)), np.zeros(len(victims))
        for members, partners in every_arrangement(victims, 1 + len(further)):
            right = [ids[partner] == ids[members] for ids, partner in zip(further, partners, strict=True)]
            successes[members] += np.logical_and.reduce(right)
            tried[members] += 1
        rate = float((successes / tried).mean())
        return Trial("enumeration", ways, rate, rate, rate)
    rng = np.random.default_rng(effort.seed)
    rates = []
    for _ in range(effort.draws):
        right = [ids[drawn_arrangement(victims, rng)] == ids for ids in further]
        rates.append(float(np.logical_and.reduce(right).mean()))
    return sampled(rates)


# --- anatomized -------------------------------------------------------------------------------------------------------


# --- presence ---------------------------------------------------------------------------------------------------------
# Table linkage against an anatomized release: whether a person is in it (Yao et al. 2021, section 3; Definition 3).
#
# Gamma bounds the probability that one row drawn from each table of a group gives the person's record. An adversary can do more, and
# gamma does not bound it: put the whole release together and look whether the record occurs anywhere (a group gives it n chances, not
# one); or notice that somebody is not there, because a tuple of theirs occurs nowhere (the paper's own example, the police officer).
def table_linkage(victims: Victims, model: anatomy.AlphaBetaGammaDelta, effort: Effort) -> AttackOutcome:
    """Infer that a person is in the release."""
    counts, size = [np.maximum.reduce(victims.alike_sensitive), *victims.alike], victims.group_size
    worst, mean = largest_chance(counts, size), float(chances(counts, size).mean())
    trial = _try_reconstruction(victims, effort)
    shown = float(np.logical_or.reduce([arrays.how_many_alike(ids) == 1 for ids in victims.tuples]).mean())
    beyond = {
        "chance that a person's record occurs in the release put together again at random, on average": trial.success,
        "share of people whose absence would show, because a tuple of theirs occurs only once in the release": shown,
    }
    target = "the record of a person, by one row drawn from each table of the group"
    return AttackOutcome("table linkage", target, "gamma", model.gamma, worst, mean, trial, beyond)


def _try_reconstruction(victims: Victims, effort: Effort) -> Trial:
    """Put the release together, and look for how many people their record occurs in it."""
    columns = [*victims.tuples, *victims.sensitive]
    if how_many(victims, len(columns)) <= effort.most_arrangements:
        return _enumerate(victims, columns)
    rng = np.random.default_rng(effort.seed)
    rates = []
    for _ in range(effort.draws):
        rebuilt = [columns[0], *(column[drawn_arrangement(victims, rng)] for column in columns[1:])]
        rates.append(float(_occurs(columns, rebuilt).mean()))
    return sampled(rates)


def _enumerate(victims: Victims, columns: list[Codes]) -> Trial:
    """Groups are arranged independently, so a record is missing if it is missing in each."""
    missing = np.ones(len(victims))
    ways: dict[int, Ints] = {}
    tried: dict[int, int] = {}
    for members, partners in every_arrangement(victims, len(columns)):
        group = int(victims.group[members[0]])
        rebuilt = [columns[0][members], *(column[who] for column, who in zip(columns[1:], partners, strict=True))]
        ways[group] = ways.get(group, np.zeros(len(victims), dtype=np.int64)) + _occurs(columns, rebuilt)
        tried[group] = tried.get(group, 0) + 1
    for group, found in ways.items():
        missing *= 1 - found / tried[group]
    rate = float((1 - missing).mean())
    return Trial("enumeration", sum(tried.values()), rate, rate, rate)


def _occurs(columns: list[Codes], rebuilt: list[Codes]) -> Bools:
    """Whose record is among the rebuilt ones."""
    people = len(columns[0])
    both = [np.concatenate([own, made]).astype(np.int64) for own, made in zip(columns, rebuilt, strict=True)]
    numbers, first = arrays.class_ids(both, [int(column.max()) + 1 for column in both], rows=len(both[0]))
    there = np.zeros(len(first), dtype=np.bool_)
    there[numbers[people:]] = True
    return there[numbers[:people]]


# --- shift ------------------------------------------------------------------------------------------------------------
# The probabilistic attack: how far a release moves the belief in a sensitive value (Yao et al. 2021, section 3, attack 4; Definition
# 4).
#
# Before, a value is believed in by its share in the whole table; afterwards, by its share in the person's group. Delta bounds the
# difference also for values that the group lacks: to learn what somebody has not is to learn something.
def probabilistic_attack(
    victims: Victims, model: anatomy.AlphaBetaGammaDelta, levels: anatomy.GroupLevels
) -> AttackOutcome:
    """Compare beliefs before and after."""
    own = zip(victims.sensitive, victims.alike_sensitive, strict=True)
    prior = len(victims)
    gains = np.maximum.reduce([alike / victims.group_size - arrays.how_many_alike(ids) / prior for ids, alike in own])
    between = max(_between_groups(victims, ids) for ids in victims.sensitive)
    moved = np.maximum.reduce(levels.shift) / (levels.rows * levels.sizes.astype(np.float64))
    beyond = {
        "largest gain of belief in the truth": float(gains.max()),
        "mean gain of belief in the truth": float(gains.mean()),
        "largest difference of a value's share between two groups (eq. 12: at most twice delta)": between,
    }
    target = "the difference between prior and posterior belief in any sensitive value"
    worst, mean = levels.worst().delta, float(moved[victims.group].mean())
    return AttackOutcome("probabilistic attack", target, "delta", model.delta, worst, mean, beyond=beyond)


def _between_groups(victims: Victims, ids: Codes) -> float:
    values, groups = int(ids.max()) + 1, len(victims.sizes)
    counted = anatomy.tally(ids, victims.group, groups=values, values=groups)
    share = counted.count / victims.sizes[counted.value]
    begins = np.searchsorted(counted.group, np.arange(values))
    present = np.bincount(counted.group, minlength=values)
    known = present > 0
    highest = np.maximum.reduceat(share, begins[known])
    lowest = np.where(present[known] < groups, 0.0, np.minimum.reduceat(share, begins[known]))
    return float((highest - lowest).max())


# --- anatomized -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, repr=False)
class Attacks(Result):
    """What each of the four attacks achieves."""

    view = "releases"

    record_linkage: AttackOutcome
    attribute_linkage: AttackOutcome
    table_linkage: AttackOutcome
    probabilistic: AttackOutcome
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """How much the attacks were tried out."""

    @property
    def holds(self) -> bool:
        """Every attack is covered by its promise."""
        return all(outcome.holds for outcome in self.outcomes)

    @property
    def outcomes(self) -> tuple[AttackOutcome, ...]:
        """All four, in the order of alpha, beta, gamma, delta."""
        return (self.record_linkage, self.attribute_linkage, self.table_linkage, self.probabilistic)


def attack_anatomized(anatomized: anatomy.Anatomized, *, effort: Effort | None = None) -> Attacks:
    """Attack every person of a release."""
    victims, model, work = Victims.of(anatomized), anatomized.model, effort or Effort()
    return Attacks(
        record_linkage=record_linkage(victims, model, work),
        attribute_linkage=attribute_linkage(victims, model, work),
        table_linkage=table_linkage(victims, model, work),
        probabilistic=probabilistic_attack(victims, model, anatomized.group_levels),
        settings=asdict(work),
    )
