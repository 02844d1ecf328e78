# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021, section 3, carried out against an anatomized release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from divulge import anatomy, arrays
from divulge.arrays import Bools, Codes, Ints
from divulge.attacks.linkage import (
    AttackOutcome,
    Effort,
    Trial,
    Victims,
    attribute_linkage,
    chances,
    drawn_arrangement,
    every_arrangement,
    how_many,
    largest_chance,
    record_linkage,
    sampled,
)


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
@dataclass(frozen=True)
class Attacks:
    """What each of the four attacks achieves."""

    record_linkage: AttackOutcome
    attribute_linkage: AttackOutcome
    table_linkage: AttackOutcome
    probabilistic: AttackOutcome

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
    )
