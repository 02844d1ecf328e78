# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021, section 3, simulated on an anatomized release."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from divulge import anatomization, arrays
from divulge.arrays import Bools, Codes, Floats, Ints, Members
from divulge.attacks.group_linkage import Occurrences, belief_in
from divulge.results import Result

# --- linkage --------------------------------------------------------------------------------------
# Record linkage and attribute linkage against an anatomized release (Yao et al. 2021, section 3,
# attacks 1 and 2; section 5.2).
#
# Record linkage: the adversary knows the person's group and tuple in all tables of
# quasi-identifiers but one, and picks the missing tuple at random. If d of the n rows of the group
# have the right tuple, the probability of success is d/n, at most alpha. An adversary who knows one
# table only must pick the right tuple of all others. That succeeds with the product of the
# probabilities. With a single table there is nothing to link: linkage is certain, and alpha does
# not bound it.
#
# Attribute linkage: the adversary knows the person's group. The posterior of each sensitive value
# is its share in the group: c/n, at most beta. An adversary who knows only the quasi-identifiers
# must also weight the groups in which they occur together.


# --- Outcome of an attack: exact figures, the guaranteed bound and a simulation -------------------
_Z = 1.959963984540054  # 95%


@dataclass(frozen=True)
class Trial:
    """Simulation of an attack over all or some random arrangements, to check the exact figures."""

    how: Literal["enumeration", "sampling"]
    arrangements: int
    """Number of arrangements of the rows of the groups that were enumerated or drawn."""
    success: float
    """Mean of the adversary's success over all people.

    Exact if all arrangements were enumerated.
    """
    low: float
    """Lower end of the 95% interval; equal to the success if all arrangements were enumerated."""
    high: float


@dataclass(frozen=True)
class AttackOutcome:
    """Outcome of one attack on one release."""

    attack: str
    target: str
    """Aim of the adversary."""
    promise: str
    """Parameter of the anatomization that bounds the attack."""
    bound: Fraction
    """Guaranteed bound of the release."""
    worst: Fraction
    """Adversary's exact probability of success for the person with the highest risk."""
    mean: float
    """Adversary's probability of success, averaged over all people."""
    trial: Trial | None = None
    beyond: Mapping[str, float] = field(default_factory=dict)
    """Further successes of the adversary that the parameter does not bound, by a description."""

    @property
    def holds(self) -> bool:
        """True if the bound covers the attack: no person has a higher risk than guaranteed."""
        return self.worst <= self.bound

    def as_json(self) -> dict[str, Any]:
        """Convert to a dictionary for JSON."""
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


def student_interval(rates: Sequence[float]) -> tuple[float, float]:
    """Compute Student's 95% interval for the mean of independent draws.

    The draws are independent; the people in a draw are not.

    >>> [round(bound, 4) for bound in student_interval([0.1, 0.2] * 10)]
    [0.126, 0.174]
    """
    draws = len(rates)
    if draws < 2:
        return 0.0, 1.0
    mean = sum(rates) / draws
    spread = math.sqrt(
        sum((rate - mean) ** 2 for rate in rates) / (draws - 1) / draws
    ) * student_quantile(draws - 1)
    return max(mean - spread, 0.0), min(mean + spread, 1.0)


def student_quantile(freedom: int) -> float:
    """Compute the 97.5% quantile of Student's t by the expansion of Cornish and Fisher.

    The error is below 0.01 from 9 degrees of freedom on.

    >>> round(student_quantile(19), 3)
    2.093
    """
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    return _Z + first / freedom + second / freedom**2


def sampled_trial(rates: Sequence[float]) -> Trial:
    """Build a trial from draws, each of all groups at once."""
    return Trial("sampling", len(rates), sum(rates) / len(rates), *student_interval(rates))


def chances(counts: Sequence[Ints], size: Ints) -> Floats:
    """Compute for each person the product of count / size."""
    product: Floats = np.multiply.reduce([count / size for count in counts])
    return product


def largest_chance(counts: Sequence[Ints], size: Ints) -> Fraction:
    """Compute the exact largest product of count / size over all people.

    The largest products in floating point are compared as fractions.
    """
    product = chances(counts, size)
    columns = np.stack([*counts, size])[:, product >= product.max() * (1 - 1e-9)]
    return max(
        Fraction(math.prod(tuple_counts), records ** len(tuple_counts))
        for *tuple_counts, records in np.unique(columns, axis=1).T.tolist()
    )


# --- arrangements ---------------------------------------------------------------------------------
# A release reveals the tuples of a group in each table but not which of them belong together. An
# arrangement assigns each record of the first table one row of every other table, no row twice.
@dataclass(frozen=True, eq=False)
class Victims:
    """People of a release with their true group and their true tuple in each table."""

    group: Codes = field(repr=False)
    sizes: Ints = field(repr=False)
    tuples: tuple[Codes, ...] = field(repr=False)
    """For each table of quasi-identifiers, the code of each person's tuple."""
    sensitive: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of(cls, anatomized: anatomization.Anatomized) -> Victims:
        """Collect all people of a release."""
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
        """Size of each person's group."""
        return self.sizes[self.group]

    @cached_property
    def alike(self) -> tuple[Ints, ...]:
        """For each table of quasi-identifiers, counts of the person's tuple in their group."""
        return tuple(self._alike(ids) for ids in self.tuples)

    @cached_property
    def alike_sensitive(self) -> tuple[Ints, ...]:
        """For each sensitive attribute, counts of the person's value in their group."""
        return tuple(self._alike(ids) for ids in self.sensitive)

    @cached_property
    def layout(self) -> Members:
        """People by group."""
        return arrays.lay_out(self.group, len(self.sizes))

    def _alike(self, ids: Codes) -> Ints:
        return arrays.how_many_alike(
            arrays.class_ids(
                [self.group, ids], [len(self.sizes), int(ids.max()) + 1], rows=len(self)
            )[0]
        )


def count_arrangements(victims: Victims, tables: int) -> int:
    """Count the arrangements of `tables` tables, enumerated group by group."""
    return sum(math.factorial(size) ** (tables - 1) for size in victims.sizes.tolist())


def enumerate_arrangements(
    victims: Victims, tables: int
) -> Iterator[tuple[Ints, tuple[Ints, ...]]]:
    """Yield each arrangement of each group.

    An arrangement is the people of the group and, for each further table, the people whose rows
    they are assigned.
    """
    for group in range(len(victims.sizes)):
        members, _ = victims.layout.gather(np.array([group]))
        orders = [members[list(order)] for order in itertools.permutations(range(len(members)))]
        for partner_orders in itertools.product(orders, repeat=tables - 1):
            yield members, partner_orders


def draw_arrangement(victims: Victims, rng: np.random.Generator) -> Ints:
    """Draw a random arrangement of all groups at once.

    Returns for each person the person whose row of a further table they are assigned.
    """
    members = victims.layout.members
    order = np.lexsort((rng.random(len(members)), victims.group[members]))
    partner = np.empty(len(members), dtype=np.int64)
    partner[members] = members[order]
    return partner


# --- linkage --------------------------------------------------------------------------------------


# --- unknown group --------------------------------------------------------------------------------
# Adversary who knows all quasi-identifiers of a person but not the group (Yao et al. 2021, end of
# section 5.2); see group_linkage.py.
def beliefs_without_group(victims: Victims, *, people: int, seed: int = 0) -> Floats:
    """Compute the posterior of the true sensitive value, for all people or a random sample."""
    all_people = np.arange(len(victims))
    if len(victims) <= people:
        sample = all_people
    else:
        sample = np.random.default_rng(seed).choice(all_people, people, replace=False)
    *tables, values = (
        Occurrences.of(ids, victims.group, ids[sample], groups=len(victims.sizes))
        for ids in (*victims.tuples, victims.sensitive[0])
    )
    return belief_in(tables, [values], victims.sizes)[0]


# --- linkage --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Effort:
    """Limits of the simulation of an attack."""

    most_arrangements: int = 20_000
    """Maximum number of arrangements to enumerate; if there are more, some are drawn."""
    draws: int = 20
    """Number of arrangements to draw, each of all groups at once."""
    people: int = 500
    """Maximum number of people for whom all possible groups are weighted."""
    seed: int = 0


def record_linkage(
    victims: Victims, model: anatomization.AlphaBetaGammaDelta, effort: Effort
) -> AttackOutcome:
    """Link the quasi-identifiers of each person across the tables."""
    target = (
        "the tuple of a person in one table of quasi-identifiers, all others and the group known"
    )
    if len(victims.tuples) == 1:
        beyond = {
            "chance that all quasi-identifiers of a person are known to belong together: there "
            "is one table": 1.0
        }
        return AttackOutcome(
            "record linkage", target, "alpha", model.alpha, Fraction(1), 1.0, beyond=beyond
        )
    largest_counts = np.maximum.reduce(victims.alike)
    size = victims.group_size
    worst = largest_chance([largest_counts], size)
    mean = float((largest_counts / size).mean())
    rate = float(chances(victims.alike[1:], size).mean())
    beyond = {"chance of putting all tables together from the first one alone, on average": rate}
    trial = _simulate_linkage(victims, victims.tuples[1:], effort)
    return AttackOutcome("record linkage", target, "alpha", model.alpha, worst, mean, trial, beyond)


def attribute_linkage(
    victims: Victims, model: anatomization.AlphaBetaGammaDelta, effort: Effort
) -> AttackOutcome:
    """Infer the sensitive value of each person."""
    target = "the sensitive value of a person whose group is known"
    value_counts = np.maximum.reduce(victims.alike_sensitive)
    size = victims.group_size
    worst = largest_chance([value_counts], size)
    mean = float((value_counts / size).mean())
    beliefs = beliefs_without_group(victims, people=effort.people, seed=effort.seed)
    description = (
        "highest belief in the truth of an adversary who knows the quasi-identifiers but not the "
        "group"
    )
    beyond = {description: float(beliefs.max()), "... and on average": float(beliefs.mean())}
    trial = _simulate_linkage(victims, victims.sensitive[:1], effort)
    return AttackOutcome(
        "attribute linkage", target, "beta", model.beta, worst, mean, trial, beyond
    )


def _simulate_linkage(victims: Victims, further_tables: Sequence[Codes], effort: Effort) -> Trial:
    """Assign each person a row of every further table, and count the people with the right ones."""
    arrangement_count = count_arrangements(victims, 1 + len(further_tables))
    if arrangement_count <= effort.most_arrangements:
        successes = np.zeros(len(victims))
        trials = np.zeros(len(victims))
        for members, partners in enumerate_arrangements(victims, 1 + len(further_tables)):
            is_right = [
                ids[partner] == ids[members]
                for ids, partner in zip(further_tables, partners, strict=True)
            ]
            successes[members] += np.logical_and.reduce(is_right)
            trials[members] += 1
        rate = float((successes / trials).mean())
        return Trial("enumeration", arrangement_count, rate, rate, rate)
    rng = np.random.default_rng(effort.seed)
    rates = []
    for _ in range(effort.draws):
        is_right = [ids[draw_arrangement(victims, rng)] == ids for ids in further_tables]
        rates.append(float(np.logical_and.reduce(is_right).mean()))
    return sampled_trial(rates)


# --- anatomized -----------------------------------------------------------------------------------


# --- presence -------------------------------------------------------------------------------------
# Table linkage against an anatomized release: inference that a person is in it (Yao et al. 2021,
# section 3; Definition 3).
#
# Gamma bounds the probability that one row drawn from each table of a group yields the person's
# record. Gamma does not bound two stronger attacks. The adversary can join the whole release at
# random and search for the record: a group gives it n chances instead of one. The adversary can
# also notice that a person is absent, because one of their tuples does not occur (the police
# officer in the paper's example).
def table_linkage(
    victims: Victims, model: anatomization.AlphaBetaGammaDelta, effort: Effort
) -> AttackOutcome:
    """Infer that a person is in the release."""
    counts = [np.maximum.reduce(victims.alike_sensitive), *victims.alike]
    size = victims.group_size
    worst = largest_chance(counts, size)
    mean = float(chances(counts, size).mean())
    trial = _simulate_reconstruction(victims, effort)
    unique_share = float(
        np.logical_or.reduce([arrays.how_many_alike(ids) == 1 for ids in victims.tuples]).mean()
    )
    beyond = {
        "chance that a person's record occurs in the release put together again at random, on "
        "average": trial.success,
        "share of people whose absence would show, because a tuple of theirs occurs only once in "
        "the release": unique_share,
    }
    target = "the record of a person, by one row drawn from each table of the group"
    return AttackOutcome("table linkage", target, "gamma", model.gamma, worst, mean, trial, beyond)


def _simulate_reconstruction(victims: Victims, effort: Effort) -> Trial:
    """Join the tables of the release, and count the people whose record occurs in the result."""
    columns = [*victims.tuples, *victims.sensitive]
    if count_arrangements(victims, len(columns)) <= effort.most_arrangements:
        return _enumerate(victims, columns)
    rng = np.random.default_rng(effort.seed)
    rates = []
    for _ in range(effort.draws):
        rebuilt = [columns[0], *(column[draw_arrangement(victims, rng)] for column in columns[1:])]
        rates.append(float(_record_occurs(columns, rebuilt).mean()))
    return sampled_trial(rates)


def _enumerate(victims: Victims, columns: list[Codes]) -> Trial:
    """Enumerate all arrangements to compute the probability that a person's record occurs.

    Groups are arranged independently, so a record is missing if it is missing in each group.
    """
    missing_probability = np.ones(len(victims))
    occurrences_by_group: dict[int, Ints] = {}
    arrangements_by_group: dict[int, int] = {}
    for members, partners in enumerate_arrangements(victims, len(columns)):
        group = int(victims.group[members[0]])
        rebuilt = [
            columns[0][members],
            *(column[partner] for column, partner in zip(columns[1:], partners, strict=True)),
        ]
        occurrences_by_group[group] = occurrences_by_group.get(
            group, np.zeros(len(victims), dtype=np.int64)
        ) + _record_occurs(columns, rebuilt)
        arrangements_by_group[group] = arrangements_by_group.get(group, 0) + 1
    for group, occurrences in occurrences_by_group.items():
        missing_probability *= 1 - occurrences / arrangements_by_group[group]
    rate = float((1 - missing_probability).mean())
    return Trial("enumeration", sum(arrangements_by_group.values()), rate, rate, rate)


def _record_occurs(columns: list[Codes], rebuilt: list[Codes]) -> Bools:
    """Mark the people whose record is among the rebuilt ones."""
    people = len(columns[0])
    combined = [
        np.concatenate([true_codes, rebuilt_codes]).astype(np.int64)
        for true_codes, rebuilt_codes in zip(columns, rebuilt, strict=True)
    ]
    numbers, first = arrays.class_ids(
        combined, [int(column.max()) + 1 for column in combined], rows=len(combined[0])
    )
    is_rebuilt = np.zeros(len(first), dtype=np.bool_)
    is_rebuilt[numbers[people:]] = True
    return is_rebuilt[numbers[:people]]


# --- shift ----------------------------------------------------------------------------------------
# Probabilistic attack: difference between the prior and the posterior of a sensitive value (Yao et
# al. 2021, section 3, attack 4; Definition 4).
#
# The prior of a value is its share in the whole table, the posterior its share in the person's
# group. Delta bounds the difference even for values that are absent from the group, because their
# absence is information too.
def probabilistic_attack(
    victims: Victims, model: anatomization.AlphaBetaGammaDelta, levels: anatomization.GroupLevels
) -> AttackOutcome:
    """Compare prior and posterior beliefs."""
    sensitive_pairs = zip(victims.sensitive, victims.alike_sensitive, strict=True)
    people = len(victims)
    gains = np.maximum.reduce(
        [
            alike / victims.group_size - arrays.how_many_alike(ids) / people
            for ids, alike in sensitive_pairs
        ]
    )
    between_groups = max(_between_groups(victims, ids) for ids in victims.sensitive)
    group_shifts = np.maximum.reduce(levels.shift) / (levels.rows * levels.sizes.astype(np.float64))
    beyond = {
        "largest gain of belief in the truth": float(gains.max()),
        "mean gain of belief in the truth": float(gains.mean()),
        "largest difference of a value's share between two groups (eq. 12: at most twice delta)": between_groups,  # noqa: E501
    }
    target = "the difference between prior and posterior belief in any sensitive value"
    worst = levels.worst().delta
    mean = float(group_shifts[victims.group].mean())
    return AttackOutcome(
        "probabilistic attack", target, "delta", model.delta, worst, mean, beyond=beyond
    )


def _between_groups(victims: Victims, ids: Codes) -> float:
    values = int(ids.max()) + 1
    groups = len(victims.sizes)
    value_tally = anatomization.tally(ids, victims.group, groups=values, values=groups)
    share = value_tally.count / victims.sizes[value_tally.value]
    first_positions = np.searchsorted(value_tally.group, np.arange(values))
    group_counts = np.bincount(value_tally.group, minlength=values)
    is_present = group_counts > 0
    highest = np.maximum.reduceat(share, first_positions[is_present])
    lowest = np.where(
        group_counts[is_present] < groups,
        0.0,
        np.minimum.reduceat(share, first_positions[is_present]),
    )
    return float((highest - lowest).max())


# --- anatomized -----------------------------------------------------------------------------------
@dataclass(frozen=True, repr=False)
class Attacks(Result):
    """Outcomes of the four attacks on an anatomized release."""

    view = "releases"

    record_linkage: AttackOutcome
    attribute_linkage: AttackOutcome
    table_linkage: AttackOutcome
    probabilistic: AttackOutcome
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Limits of the simulation."""

    @property
    def holds(self) -> bool:
        """True if every attack stays within its guaranteed bound."""
        return all(outcome.holds for outcome in self.outcomes)

    @property
    def outcomes(self) -> tuple[AttackOutcome, ...]:
        """All four outcomes, in the order of alpha, beta, gamma, delta."""
        return (self.record_linkage, self.attribute_linkage, self.table_linkage, self.probabilistic)


def attack_anatomized(
    anatomized: anatomization.Anatomized, *, effort: Effort | None = None
) -> Attacks:
    """Simulate the four attacks on every person of a release."""
    victims = Victims.of(anatomized)
    model = anatomized.model
    limits = effort or Effort()
    return Attacks(
        record_linkage=record_linkage(victims, model, limits),
        attribute_linkage=attribute_linkage(victims, model, limits),
        table_linkage=table_linkage(victims, model, limits),
        probabilistic=probabilistic_attack(victims, model, anatomized.group_levels),
        settings=asdict(limits),
    )
