# SPDX-License-Identifier: Apache-2.0
"""Membership inference: the attack decides for each person if they are in the release.

It is run on equally many members and non-members (the control group). The answer is yes if a row of
the release matches the adversary's knowledge. If values were perturbed or synthesized, no row need
match. Then the answer is yes if the person's distance to the nearest row is among the nearer half.
The random baseline is 1/2. The advantage is the rate of yes among members minus that among
non-members. There is no such number without a control group, because every member matches some row
of an unperturbed release. No requirement bounds this attack. Delta-presence bounds the share of a
population that is in the release, class by class, and not the result on equally many members and
non-members.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from divulge.arrays import Bools, Floats
from divulge.attacks.context import AttackContext, People
from divulge.attacks.nearest_row import distances, no_rows
from divulge.attacks.result import Attacker, Attempt


def _obstacle(context: AttackContext) -> str:
    if context.controls is None or not len(context.controls):
        return "nobody said who is not in the release: give a control group"
    if context.knows:
        return ""
    return "nothing is known of the targets that is in the release"


def _membership(context: AttackContext) -> Iterator[Attempt]:
    members = context.targets
    others = context.controls
    if others is None:
        return
    people = min(len(members), len(others))
    is_perturbed = not no_rows(context)
    if is_perturbed:
        member_distances, other_distances = distances(context)
        is_yes_for_member, is_yes_for_other = _nearer_half(
            member_distances[:people], other_distances[:people]
        )
    else:
        is_yes_for_member, is_yes_for_other = (
            _has_matching_row(context, group)[:people] for group in (members, others)
        )
    true_positives = int(is_yes_for_member.sum())
    false_positives = int(is_yes_for_other.sum())
    if is_perturbed:
        criterion = "the nearest row is among the nearest half"
    else:
        criterion = "some row fits what she knows"
    yield Attempt(
        name="membership",
        aim="membership",
        about=None,
        knows=context.knows,
        targets=2 * people,
        guesses=2 * people,
        successes=float(true_positives + people - false_positives),
        random=0.5,
        prior=0.5,
        told=f"She says that somebody is in the release where {criterion}: of {people:,} members "
        f"{true_positives:,}, of as many others {false_positives:,}; "
        f"advantage {(true_positives - false_positives) / people:.1%}.",
    )


def _has_matching_row(context: AttackContext, people: People) -> Bools:
    matches = context.matches(people)
    has_match: Bools = (matches.rows > 0)[matches.of_person]
    return has_match


def _nearer_half(members: Floats, others: Floats) -> tuple[Bools, Bools]:
    """Mark the people in the nearer half; the adversary knows that half of them are members.

    People at the same distance as the last person of the nearer half count as part of it.
    """
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
