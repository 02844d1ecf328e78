# SPDX-License-Identifier: Apache-2.0
"""Joint disclosure risk of several releases of the same people (composition)."""

from divulge.composition.changed_risk import (
    ClassAssignment,
    FollowedPeople,
    PeopleMoved,
    comparable,
    compare_people,
    identity_recoding,
    recoding_of,
)
from divulge.composition.joint_classes import JointClasses, join_classes
from divulge.composition.joint_metrics import Composition, OneRelease, PersonDossier
from divulge.composition.joint_risk import (
    bound_pairs_of_releases,
    certainty_notes,
    measure_composition,
)
from divulge.composition.recipient_view import PublishedRelease, matching_classes

__all__ = [
    "ClassAssignment",
    "Composition",
    "FollowedPeople",
    "JointClasses",
    "OneRelease",
    "PeopleMoved",
    "PersonDossier",
    "PublishedRelease",
    "bound_pairs_of_releases",
    "certainty_notes",
    "comparable",
    "compare_people",
    "identity_recoding",
    "join_classes",
    "matching_classes",
    "measure_composition",
    "recoding_of",
]
