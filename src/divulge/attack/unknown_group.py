# SPDX-License-Identifier: Apache-2.0
"""An adversary who knows all quasi-identifiers of a person, but not the group (Yao et al. 2021, section 5.2, end).

The person may be in every group that has its tuple in each table. In a group of n records, d1, d2, ... of which have
these tuples, d1 d2 .../n^(k-1) records are expected to have them all; the groups are weighed by that number, and the
belief in a sensitive value is the weighed mean of its shares. A weighed mean of numbers up to beta is at most beta.
"""

from __future__ import annotations

import numpy as np

from divulge.anatomize.levels import tally
from divulge.arrays import Codes, Floats, Ints
from divulge.attack.arrangements import Victims


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
    counted = tally(ids, victims.group, groups=values, values=len(victims.sizes))
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
