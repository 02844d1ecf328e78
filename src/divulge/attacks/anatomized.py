# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021, section 3, carried out against an anatomized release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from divulge import anatomy, arrays
from divulge.arrays import Codes, Floats, Ints
from divulge.attacks.linkage import Effort, attribute_linkage, record_linkage, sampled
from divulge.attacks.outcome import AttackOutcome, Trial, Victims, drawn_arrangement, every_arrangement, how_many

# --- presence ---------------------------------------------------------------------------------------------------------
# Table linkage against an anatomized release: whether a person is in it (Yao et al. 2021, section 3; Definition 3).
#
# Gamma bounds the probability that one row drawn from each table of a group gives the person's record. An adversary can
# do more, and gamma does not bound it: put the whole release together and look whether the record occurs anywhere (a
# group gives it n chances, not one); or notice that somebody is not there, because a tuple of theirs occurs nowhere
# (the paper's own example, the police officer). Both are worked out and told beside the promise.
_TARGET = "the record of a person, by one row drawn from each table of the group"


def table_linkage(victims: Victims, model: anatomy.AlphaBetaGammaDelta, effort: Effort) -> AttackOutcome:
    """Infer that a person is in the release."""
    size = victims.group_size
    rate = np.maximum.reduce(victims.alike_sensitive) / size
    for alike in victims.alike:
        rate = rate * (alike / size)
    trial = _try_reconstruction(victims, effort)
    beyond = {
        "chance that a person's record occurs in the release put together again at random, on average": trial.success,
        "share of people whose absence would show, because a tuple of theirs occurs only once in the release": float(
            np.logical_or.reduce([_only_one(ids) for ids in victims.tuples]).mean()
        ),
    }
    return AttackOutcome(
        "table linkage", _TARGET, "gamma", model.gamma, _worst(victims), float(rate.mean()), trial=trial, beyond=beyond
    )


def _worst(victims: Victims) -> Fraction:
    """The largest product of shares over all people, exactly: the closest by float, then compared as fractions."""
    size = victims.group_size.astype(np.float64)
    product = np.maximum.reduce(victims.alike_sensitive) / size
    for alike in victims.alike:
        product = product * (alike / size)
    closest = np.flatnonzero(product >= product.max() * (1 - 1e-9))
    columns = np.stack([*victims.alike, np.maximum.reduce(victims.alike_sensitive), victims.group_size])[:, closest]
    found = Fraction(0)
    for *counts, records in np.unique(columns, axis=1).T.tolist():
        numerator = 1
        for count in counts:
            numerator *= count
        found = max(found, Fraction(numerator, records ** len(counts)))
    return found


def _only_one(ids: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whose tuple nobody else has."""
    alone: np.ndarray[tuple[int], np.dtype[np.bool_]] = arrays.how_many_alike(ids) == 1
    return alone


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


def _occurs(columns: list[Codes], rebuilt: list[Codes]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whose record is among the rebuilt ones."""
    people = len(columns[0])
    both = [np.concatenate([own, made]).astype(np.int64) for own, made in zip(columns, rebuilt, strict=True)]
    numbers, first = arrays.class_ids(both, [int(column.max()) + 1 for column in both], rows=len(both[0]))
    there = np.zeros(len(first), dtype=np.bool_)
    there[numbers[people:]] = True
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = there[numbers[:people]]
    return found


# --- shift ------------------------------------------------------------------------------------------------------------
# The probabilistic attack: how far a release moves the belief in a sensitive value (Yao et al. 2021, section 3, attack 4; Definition
# 4).
#
# Before, a value is believed in by its share in the whole table; afterwards, by its share in the person's group. Delta
# bounds the difference for every value, also for values that the group lacks: to learn what somebody has not is to
# learn something. Between two groups shares differ by at most 2 delta (eq. 12).
_SHIFT_TARGET = "the difference between prior and posterior belief in any sensitive value"


def probabilistic_attack(
    victims: Victims, model: anatomy.AlphaBetaGammaDelta, levels: anatomy.GroupLevels
) -> AttackOutcome:
    """Compare beliefs before and after."""
    gains = np.maximum.reduce([_gain(victims, attribute) for attribute in range(len(victims.sensitive))])
    moved = np.maximum.reduce(levels.shift) / (levels.rows * levels.sizes.astype(np.float64))
    between = max(_between_groups(victims, attribute) for attribute in range(len(victims.sensitive)))
    beyond = {
        "largest gain of belief in the truth": float(gains.max()),
        "mean gain of belief in the truth": float(gains.mean()),
        "largest difference of a value's share between two groups (eq. 12: at most twice delta)": between,
    }
    return AttackOutcome(
        "probabilistic attack",
        _SHIFT_TARGET,
        "delta",
        model.delta,
        levels.worst().delta,
        float(moved[victims.group].mean()),
        beyond=beyond,
    )


def _gain(victims: Victims, attribute: int) -> Floats:
    """For each person, the share of the own value in the group less its share in the table."""
    ids = victims.sensitive[attribute]
    gain: Floats = victims.alike_sensitive[attribute] / victims.group_size - arrays.how_many_alike(ids) / len(victims)
    return gain


def _between_groups(victims: Victims, attribute: int) -> float:
    ids = victims.sensitive[attribute]
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
