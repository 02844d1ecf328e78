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
    drawn_arrangement,
    every_arrangement,
    how_many,
    interval,
)


# --- unknown group ----------------------------------------------------------------------------------------------------
# An adversary who knows all quasi-identifiers of a person, but not the group (Yao et al. 2021, section 5.2, end).
#
# The person may be in every group that has its tuple in each table. In a group of n records, d1, d2, ... of which have
# these tuples, d1 d2 .../n^(k-1) records are expected to have them all; the groups are weighed by that number, and the
# belief in a sensitive value is the weighed mean of its shares. A weighed mean of numbers up to beta is at most beta.
def beliefs_without_group(victims: Victims, *, people: int, seed: int = 0, attribute: int = 0) -> Floats:
    """The belief in the true sensitive value, for each person or for some drawn at random."""
    everyone = np.arange(len(victims))
    chosen = everyone if len(victims) <= people else np.random.default_rng(seed).choice(everyone, people, replace=False)
    tables = [_by_tuple(victims, ids) for ids in victims.tuples]
    truth = victims.sensitive[attribute]
    shares = _Shares(victims, truth)
    return np.array([_belief(victims, tables, shares, person) for person in chosen.tolist()])


class _ByTuple:
    """For each tuple of a table, the groups that have it and how often."""

    def __init__(self, start: Ints, group: Ints, count: Ints) -> None:
        self.start, self.group, self.count = start, group, count

    def of(self, number: int) -> tuple[Ints, Ints]:
        some = slice(int(self.start[number]), int(self.start[number + 1]))
        return self.group[some], self.count[some]


def _by_tuple(victims: Victims, ids: Codes) -> _ByTuple:
    # A tally sorts by its first column, so tuples take the place of groups.
    values = int(ids.max()) + 1
    counted = anatomy.tally(ids, victims.group, groups=values, values=len(victims.sizes))
    return _ByTuple(np.searchsorted(counted.group, np.arange(values + 1)), counted.value, counted.count)


class _Shares:
    """How often each sensitive value occurs in a group."""

    def __init__(self, victims: Victims, truth: Codes) -> None:
        self._by_value = _by_tuple(victims, truth)
        self._truth = truth

    def of(self, person: int, groups: Ints) -> Ints:
        """How many records of each group have the person's value."""
        having, count = self._by_value.of(int(self._truth[person]))
        place = np.searchsorted(having, groups)
        place[place == len(having)] = 0
        return np.where(having[place] == groups, count[place], 0)


def _belief(victims: Victims, tables: list[_ByTuple], shares: _Shares, person: int) -> float:
    groups, weight = None, None
    for ids, table in zip(victims.tuples, tables, strict=True):
        having, count = table.of(int(ids[person]))
        if groups is None or weight is None:
            groups, weight = having, count.astype(np.float64)
            continue
        groups, here, there = np.intersect1d(groups, having, assume_unique=True, return_indices=True)
        weight = weight[here] * count[there] / victims.sizes[groups]
    if groups is None or weight is None:
        return 0.0
    belief = weight * shares.of(person, groups) / victims.sizes[groups]
    return float(belief.sum() / weight.sum())


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
    size = victims.group_size
    if len(victims.tuples) == 1:
        beyond = {"chance that all quasi-identifiers of a person are known to belong together: there is one table": 1.0}
        return AttackOutcome("record linkage", _RECORD, "alpha", model.alpha, Fraction(1), 1.0, beyond=beyond)
    worst = max(_largest_share(alike, size) for alike in victims.alike)
    closest = np.maximum.reduce(victims.alike) / size
    rate = np.ones(len(victims))
    for alike in victims.alike[1:]:
        rate *= alike / size
    beyond = {"chance of putting all tables together from the first one alone, on average": float(rate.mean())}
    return AttackOutcome(
        "record linkage",
        _RECORD,
        "alpha",
        model.alpha,
        worst,
        float(closest.mean()),
        trial=_try_linkage(victims, effort),
        beyond=beyond,
    )


def attribute_linkage(victims: Victims, model: anatomy.AlphaBetaGammaDelta, effort: Effort) -> AttackOutcome:
    """Infer the sensitive value of each person."""
    size = victims.group_size
    worst = max(_largest_share(alike, size) for alike in victims.alike_sensitive)
    belief = np.maximum.reduce(victims.alike_sensitive) / size
    unknown = beliefs_without_group(victims, people=effort.people, seed=effort.seed)
    beyond = {
        "highest belief in the truth of an adversary who knows the quasi-identifiers but not the group": float(
            unknown.max()
        ),
        "... and on average": float(unknown.mean()),
    }
    return AttackOutcome(
        "attribute linkage",
        _ATTRIBUTE,
        "beta",
        model.beta,
        worst,
        float(belief.mean()),
        trial=_try_inference(victims, effort),
        beyond=beyond,
    )


_RECORD = "the tuple of a person in one table of quasi-identifiers, all others and the group known"
_ATTRIBUTE = "the sensitive value of a person whose group is known"


def _try_linkage(victims: Victims, effort: Effort) -> Trial:
    """Put all tables together from the first one, and see for how many people that gives their own quasi-identifiers."""
    tables, firsts = len(victims.tuples), victims.tuples[1:]
    if how_many(victims, tables) <= effort.most_arrangements:
        successes = np.zeros(len(victims))
        tried = np.zeros(len(victims))
        for members, partners in every_arrangement(victims, tables):
            right = np.ones(len(members), dtype=bool)
            for ids, partner in zip(firsts, partners, strict=True):
                right &= ids[partner] == ids[members]
            successes[members] += right
            tried[members] += 1
        rate = float((successes / tried).mean())
        return Trial("enumeration", how_many(victims, tables), rate, rate, rate)
    rng = np.random.default_rng(effort.seed)
    rates = []
    for _ in range(effort.draws):
        right = np.ones(len(victims), dtype=bool)
        for ids in firsts:
            right &= ids[drawn_arrangement(victims, rng)] == ids
        rates.append(float(right.mean()))
    return sampled(rates)


def _try_inference(victims: Victims, effort: Effort) -> Trial:
    """Give each person a row of the sensitive table, and see for how many it has their own value."""
    if how_many(victims, 2) <= effort.most_arrangements:
        successes, tried = np.zeros(len(victims)), np.zeros(len(victims))
        for members, (partner,) in every_arrangement(victims, 2):
            successes[members] += victims.sensitive[0][partner] == victims.sensitive[0][members]
            tried[members] += 1
        rate = float((successes / tried).mean())
        return Trial("enumeration", how_many(victims, 2), rate, rate, rate)
    rng = np.random.default_rng(effort.seed)
    truth = victims.sensitive[0]
    return sampled([float((truth[drawn_arrangement(victims, rng)] == truth).mean()) for _ in range(effort.draws)])


def sampled(rates: Sequence[float]) -> Trial:
    """A trial of some draws, each of all groups at once."""
    low, high = interval(rates)
    return Trial("sampling", len(rates), sum(rates) / len(rates), low, high)


def _largest_share(count: Ints, size: Ints) -> Fraction:
    """The largest count / size, exactly: the largest count for each size, then fractions."""
    order = np.lexsort((count, size))
    last = np.flatnonzero(np.append(size[order][1:] != size[order][:-1], [True]))
    return max(Fraction(int(count[i]), int(size[i])) for i in order[last])
