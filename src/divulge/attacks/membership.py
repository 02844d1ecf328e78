# SPDX-License-Identifier: Apache-2.0
"""Is somebody in the release at all? Asked of as many people who are in it as of people who are not: a control group.

She says yes where a row of the release fits what she knows; where values were changed or made up, so that none need fit, where the nearest
row is among the nearest half. Guessing blindly is right for one in two, and her advantage is how much more often she says yes of members
than of others. Without a control group there is no such figure: of a true release every member fits some row. No promise bounds it here:
delta-presence bounds the share of a population that is in the release, class by class, not what half and half shows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from divulge.arrays import Bools, Floats
from divulge.attacks.attempt import Attacker, Attempt
from divulge.attacks.distance import distances, no_rows
from divulge.attacks.stage import People, Stage


def _obstacle(stage: Stage) -> str:
    if stage.controls is None or not len(stage.controls):
        return "nobody said who is not in the release: give a control group"
    return "" if stage.knows else "nothing is known of the targets that is in the release"


def _membership(stage: Stage) -> Iterator[Attempt]:
    members, others = stage.targets, stage.controls
    if others is None:
        return
    people = min(len(members), len(others))
    changed = not no_rows(stage)
    if changed:
        near, far = distances(stage)
        yes, no = _nearer_half(near[:people], far[:people])
    else:
        yes, no = (_fits(stage, side)[:people] for side in (members, others))
    true, false = int(yes.sum()), int(no.sum())
    how = "the nearest row is among the nearest half" if changed else "some row fits what she knows"
    yield Attempt(
        name="membership",
        aim="membership",
        about=None,
        knows=stage.knows,
        targets=2 * people,
        guesses=2 * people,
        successes=float(true + people - false),
        random=0.5,
        prior=0.5,
        told=f"She says that somebody is in the release where {how}: of {people:,} members {true:,}, of as many others {false:,}; "
        f"advantage {(true - false) / people:.1%}.",
    )


def _fits(stage: Stage, people: People) -> Bools:
    matches = stage.matches(people)
    found: Bools = (matches.rows > 0)[matches.of_person]
    return found


def _nearer_half(members: Floats, others: Floats) -> tuple[Bools, Bools]:
    """She knows that half of them are members; all that are as near as the last of the nearer half count among it."""
    middle = np.sort(np.concatenate([members, others]))[len(members) - 1]
    return members <= middle, others <= middle


MEMBERSHIP = Attacker(
    "membership",
    "membership",
    "says whether somebody is in the release, asked of members and of a control group alike",
    "Nergiz et al. 2007; Shokri et al. 2017",
    _membership,
    _obstacle,
)
