# SPDX-License-Identifier: Apache-2.0
"""People with higher or lower risk in one table than in another.

People are followed from class to class, and the metrics of their classes are compared. Classes are
matched by the labels of their quasi-identifiers: the labels that a release gave to the values of
the original (Afifi et al. 2018, Definition 1), or the values themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge import arrays, generalization, metrics, releases
from divulge.arrays import Bools, Floats, Ints
from divulge.composition.recipient_view import matching_classes
from divulge.counting import Contingency
from divulge.metrics import Measurement
from divulge.text import as_text

_MAX_LISTED_CLASSES = 3
"""Number of classes to list for each metric, of those with lower and of those with higher risk."""


@dataclass(frozen=True)
class ChangedClass:
    """People of one class of the reference who are in one class of another table."""

    key: Mapping[str, Any]
    becomes: Mapping[str, Any]
    people: int
    before: float
    after: float


@dataclass(frozen=True)
class PeopleMoved:
    """Number of people with lower or higher risk by one metric.

    The metric of their class in this table is compared with that of their class in the reference.
    """

    metric: metrics.Metric[Any]
    attribute: str | None
    better: int
    worse: int
    same: int
    not_found: int
    """Number of people without a class in this table.

    They were suppressed if values were followed, and have no class with equal values otherwise.
    """
    classes: tuple[ChangedClass, ...]
    """Classes with the largest changes, those with higher risk first."""

    @property
    def people(self) -> int:
        """Number of people who were followed."""
        return self.better + self.worse + self.same + self.not_found


# --- matching of classes --------------------------------------------------------------------------
def identity_recoding(contingency: Contingency) -> generalization.Recoding:
    """Recoding that labels every class by its own values."""
    labels = tuple(tuple(as_text(label) for label in key.labels) for key in contingency.keys)
    names = tuple(key.name for key in contingency.keys)
    size = len(contingency)
    return generalization.Recoding(
        names, labels, contingency.codes, np.ones(size, dtype=bool), (True,) * len(names)
    )


def reorder_columns(contingency: Contingency, names: Sequence[str]) -> Contingency:
    """Reorder the columns of the classes."""
    column_indices = [[key.name for key in contingency.keys].index(name) for name in names]
    keys = tuple(contingency.keys[column_index] for column_index in column_indices)
    codes = tuple(contingency.codes[column_index] for column_index in column_indices)
    return replace(contingency, keys=keys, codes=codes)


# --- comparison of metrics ------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class FollowedPeople:
    """Groups of people with their class in the reference and in another table (-1: none)."""

    people: Ints
    before: Ints
    after: Ints

    def merged(self) -> FollowedPeople:
        """Merge to one group for each pair of classes, only for people in the reference."""
        in_reference = self.before >= 0
        before = self.before[in_reference]
        after = self.after[in_reference]
        radices = [int(classes.max(initial=0)) + 2 for classes in (before, after)]
        pairs, representatives = arrays.class_ids([before, after + 1], radices, rows=len(before))
        return FollowedPeople(
            arrays.exact_sums(pairs, self.people[in_reference], len(representatives)),
            before[representatives],
            after[representatives],
        )


def comparable(here: Measurement, there: Measurement, score: metrics.Score) -> bool:
    """True if both scores depend on equal l, equal ground distance and equal guesses."""
    metric = score.metric
    needs = {
        "recursive_l": metric.takes_l,
        "ground_distance": metric.by_distance,
        "right_guess": metric.by_guess,
    }
    setting_values = [
        [measurement.settings[name].get(score.attribute) for name in needs if needs[name]]
        for measurement in (here, there)
    ]
    return setting_values[0] == setting_values[1]


def compare_people(
    here: Measurement, there: Measurement, followed: FollowedPeople
) -> Iterator[PeopleMoved]:
    """Compare every per-class risk metric that both measurements have."""
    groups = followed.merged()
    for attribute, scores in [(None, here.identity), *here.sensitive.items()]:
        if attribute is None:
            others = there.identity
        else:
            others = there.sensitive.get(attribute, {})
        for name, score in scores.items():
            metric = score.metric
            if (
                metric.kind == "risk"
                and metric.per_class
                and name in others
                and comparable(here, there, score)
            ):
                yield _compare_metric(here, there, groups, metric, attribute)


def _compare_metric(
    here: Measurement,
    there: Measurement,
    groups: FollowedPeople,
    metric: metrics.Metric[Any],
    attribute: str | None,
) -> PeopleMoved:
    old = here.per_class(metric.name, attribute)[groups.before]
    new = there.per_class(metric.name, attribute)[np.maximum(groups.after, 0)]
    is_comparable = (groups.after >= 0) & ~np.isnan(old) & ~np.isnan(new)
    with np.errstate(invalid="ignore"):  # infinite before and after: the same
        rise = np.where(old == new, 0.0, new - old) * (1.0 if metric.worse == "high" else -1.0)
    worse = is_comparable & (rise > metrics.TOLERANCE)
    better = is_comparable & (rise < -metrics.TOLERANCE)

    def largest_changes(is_selected: Bools, size: Floats) -> Iterator[ChangedClass]:
        for group_index in np.flatnonzero(is_selected)[
            metrics.worst_first(
                size[is_selected], groups.people[is_selected], limit=_MAX_LISTED_CLASSES
            )
        ]:
            keys = (
                here.contingency.class_key(int(groups.before[group_index])),
                there.contingency.class_key(int(groups.after[group_index])),
            )
            yield ChangedClass(
                *keys,
                int(groups.people[group_index]),
                float(old[group_index]),
                float(new[group_index]),
            )

    def count(is_selected: Bools) -> int:
        return int(groups.people[is_selected].sum())

    return PeopleMoved(
        metric,
        attribute,
        count(better),
        count(worse),
        count(is_comparable & ~better & ~worse),
        count(~is_comparable),
        (*largest_changes(worse, rise), *largest_changes(better, -rise)),
    )


@dataclass(frozen=True, eq=False)
class ClassAssignment:
    """Groups of people with their class in each table, by table name; -1: none."""

    people: Ints
    class_indices: Mapping[str, Ints]
    mapped: frozenset[str] = frozenset()
    """Tables whose mapping was followed."""


def recoding_of(
    unwritten: releases.GeneralizedRelease | None,
    opened: releases.OpenedRelease | None,
    people: Contingency,
) -> generalization.Recoding | None:
    """Recoding of the original's classes by a release, written or not; None if it is unknown."""
    if unwritten is not None:
        contingency = unwritten.original.people
        recoding = unwritten.plan.recoding
        class_indices = matching_classes(identity_recoding(people), contingency)
        codes = tuple(column[np.maximum(class_indices, 0)] for column in recoding.codes)
        return replace(
            recoding,
            codes=codes,
            published_mask=recoding.published_mask[np.maximum(class_indices, 0)]
            & (class_indices >= 0),
        )
    names = {key.name for key in people.keys}
    if opened is None or set(opened.quasi_identifiers) != names:
        return None
    release = opened.with_private_part
    if release.private is None:
        return None
    if release.holds_mappings:
        return release.recode(reorder_columns(people, release.quasi_identifiers))[0]
    return None
