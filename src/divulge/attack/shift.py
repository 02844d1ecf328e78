# SPDX-License-Identifier: Apache-2.0
"""The probabilistic attack: how far a release moves the belief in a sensitive value (Yao et al. 2021, section 3, attack 4; Definition 4).

Before, a value is believed in by its share in the whole table; afterwards, by its share in the person's group. Delta
bounds the difference for every value, also for values that the group lacks: to learn what somebody has not is to
learn something. Between two groups shares differ by at most 2 delta (eq. 12).
"""

from __future__ import annotations

import numpy as np

from divulge.anatomize.levels import GroupLevels, tally
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.arrays import Floats, how_many_alike
from divulge.attack.arrangements import Victims
from divulge.attack.outcome import AttackOutcome

_TARGET = "the difference between prior and posterior belief in any sensitive value"


def probabilistic_attack(victims: Victims, model: AlphaBetaGammaDelta, levels: GroupLevels) -> AttackOutcome:
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
        _TARGET,
        "delta",
        model.delta,
        levels.worst().delta,
        float(moved[victims.group].mean()),
        beyond=beyond,
    )


def _gain(victims: Victims, attribute: int) -> Floats:
    """For each person, the share of the own value in the group less its share in the table."""
    ids = victims.sensitive[attribute]
    gain: Floats = victims.alike_sensitive[attribute] / victims.group_size - how_many_alike(ids) / len(victims)
    return gain


def _between_groups(victims: Victims, attribute: int) -> float:
    ids = victims.sensitive[attribute]
    values, groups = int(ids.max()) + 1, len(victims.sizes)
    counted = tally(ids, victims.group, groups=values, values=groups)
    share = counted.count / victims.sizes[counted.value]
    begins = np.searchsorted(counted.group, np.arange(values))
    present = np.bincount(counted.group, minlength=values)
    known = present > 0
    highest = np.maximum.reduceat(share, begins[known])
    lowest = np.where(present[known] < groups, 0.0, np.minimum.reduceat(share, begins[known]))
    return float((highest - lowest).max())
