# SPDX-License-Identifier: Apache-2.0
"""Record linkage and attribute linkage against an anatomized release (Yao et al. 2021, section 3, attacks 1 and 2; section 5.2).

Record linkage: the adversary knows the person's group and tuple in all tables of quasi-identifiers but one, and puts
the missing tuple together by chance. Of n rows of the group d have the right tuple, so it succeeds with d/n: at most
alpha. Who knows one table only must hit all the others, which succeeds with the product. With a single table nothing
has to be put together: linkage is certain, and alpha says nothing about it.

Attribute linkage: the adversary knows the person's group and believes in each sensitive value as often as it occurs
there: c/n, at most beta. Who knows the quasi-identifiers only must also weigh the groups in which they occur
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from divulge import anatomy
from divulge.arrays import Codes, Floats, Ints
from divulge.attacks.outcome import (
    AttackOutcome,
    Trial,
    Victims,
    chances,
    drawn_arrangement,
    every_arrangement,
    how_many,
    largest_chance,
    sampled,
)


# --- unknown group ----------------------------------------------------------------------------------------------------
# An adversary who knows all quasi-identifiers of a person, but not the group (Yao et al. 2021, section 5.2, end).
#
# The person may be in every group that has its tuple in each table. In a group of n records, d1, d2, ... of which have these
# tuples, d1 d2 .../n^(k-1) records are expected to have them all; the groups are weighed by that number. A weighed mean of numbers
# up to beta is at most beta.
def beliefs_without_group(victims: Victims, *, people: int, seed: int = 0) -> Floats:
    """The belief in the true sensitive value, for each person or for some drawn at random."""
    everyone = np.arange(len(victims))
    chosen = everyone if len(victims) <= people else np.random.default_rng(seed).choice(everyone, people, replace=False)
    tables = [_Holders(victims, ids) for ids in victims.tuples]
    values = _Holders(victims, victims.sensitive[0])
    return np.array([_belief(victims, tables, values, person) for person in chosen.tolist()])


class _Holders:
    """For each tuple of a table, or each sensitive value, the groups that have it and how often."""

    def __init__(self, victims: Victims, ids: Codes) -> None:
        # A tally sorts by its first column, so tuples take the place of groups.
        distinct = int(ids.max()) + 1
        counted = anatomy.tally(ids, victims.group, groups=distinct, values=len(victims.sizes))
        self.ids, self.group, self.count = ids, counted.value, counted.count
        self.start = np.searchsorted(counted.group, np.arange(distinct + 1))

    def of(self, person: int) -> tuple[Ints, Ints]:
        number = int(self.ids[person])
        some = slice(self.start[number], self.start[number + 1])
        return self.group[some], self.count[some]


def _belief(victims: Victims, tables: list[_Holders], values: _Holders, person: int) -> float:
    groups, count = tables[0].of(person)
    weight = count.astype(np.float64)
    for table in tables[1:]:
        having, count = table.of(person)
        groups, here, there = np.intersect1d(groups, having, assume_unique=True, return_indices=True)
        weight = weight[here] * count[there] / victims.sizes[groups]
    having, count = values.of(person)
    place = np.searchsorted(having, groups)
    place[place == len(having)] = 0
    records = np.where(having[place] == groups, count[place], 0)
    return float((weight * records / victims.sizes[groups]).sum() / weight.sum())


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
