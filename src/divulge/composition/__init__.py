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
from divulge.composition.intersection_bounds import bound_intersections
from divulge.composition.joint_classes import JointClasses, join_classes
from divulge.composition.joint_metrics import (
    Composition,
    OneRelease,
    PersonDossier,
    m_invariance,
    measure_jointly,
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
    "bound_intersections",
    "comparable",
    "compare_people",
    "identity_recoding",
    "join_classes",
    "m_invariance",
    "matching_classes",
    "measure_jointly",
    "recoding_of",
]
