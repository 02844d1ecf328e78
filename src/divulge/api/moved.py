# SPDX-License-Identifier: Apache-2.0
"""Who is better or worse off in one table than in another: people are followed from class to class, and their class's numbers compared.

Classes are found again by the labels of their quasi-identifiers: those that a release gave to the values of the original (Afifi et al.
2018, Definition 1), or the values themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge import arrays, composition, metrics, publish, search, values
from divulge.arrays import Bools, Floats, Ints
from divulge.count import Contingency
from divulge.metrics import Measurement

_NAMED = 3
"""Classes that are named for each metric, of those that got better and of those that got worse."""


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
    """How many people are better or worse off by one metric: that of their class in the reference, beside that of their class here."""

    metric: metrics.Metric[Any]
    attribute: str | None
    better: int
    worse: int
    same: int
    not_found: int
    """People without a class here: left out where values were followed, in no class of the same values where not."""
    classes: tuple[ChangedClass, ...]
    """Those that changed most, the worse ones first."""

    @property
    def people(self) -> int:
        """Everybody who was followed."""
        return self.better + self.worse + self.same + self.not_found


# --- finding classes again --------------------------------------------------------------------------------------------
def as_it_is(contingency: Contingency) -> search.Recoding:
    """Every class by its own values."""
    labels = tuple(tuple(values.as_text(label) for label in key.labels) for key in contingency.keys)
    names, size = tuple(key.name for key in contingency.keys), len(contingency)
    return search.Recoding(names, labels, contingency.codes, np.ones(size, dtype=bool), (True,) * len(names))


def in_order(contingency: Contingency, names: Sequence[str]) -> Contingency:
    """The same classes, with their columns in this order."""
    at = [[key.name for key in contingency.keys].index(name) for name in names]
    keys, codes = tuple(contingency.keys[place] for place in at), tuple(contingency.codes[place] for place in at)
    return replace(contingency, keys=keys, codes=codes)


# --- comparing their numbers ------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Followed:
    """Groups of people, the class of each in the reference, and in another table (-1: none)."""

    people: Ints
    before: Ints
    after: Ints

    def merged(self) -> Followed:
        """Without those who are not in the reference; one group for each pair of classes."""
        known = self.before >= 0
        before, after = self.before[known], self.after[known]
        radices = [int(classes.max(initial=0)) + 2 for classes in (before, after)]
        pairs, one = arrays.class_ids([before, after + 1], radices, rows=len(before))
        return Followed(arrays.exact_sums(pairs, self.people[known], len(one)), before[one], after[one])


def comparable(here: Measurement, there: Measurement, score: metrics.Score) -> bool:
    """Whether the number of both depends on the same l, on the same distance between values, and on the same guesses."""
    metric = score.metric
    needs = {"recursive_l": metric.takes_l, "ground_distance": metric.by_distance, "right_guess": metric.by_guess}
    told = [[each.settings[name].get(score.attribute) for name in needs if needs[name]] for each in (here, there)]
    return told[0] == told[1]


def people_moved(here: Measurement, there: Measurement, followed: Followed) -> Iterator[PeopleMoved]:
    """By every risk that classes of both have a number of."""
    groups = followed.merged()
    for attribute, scores in [(None, here.identity), *here.sensitive.items()]:
        others = there.identity if attribute is None else there.sensitive.get(attribute, {})
        for name, score in scores.items():
            metric = score.metric
            if metric.kind == "risk" and metric.per_class and name in others and comparable(here, there, score):
                yield _by_one(here, there, groups, metric, attribute)


def _by_one(
    here: Measurement, there: Measurement, groups: Followed, metric: metrics.Metric[Any], attribute: str | None
) -> PeopleMoved:
    old = here.per_class(metric.name, attribute)[groups.before]
    new = there.per_class(metric.name, attribute)[np.maximum(groups.after, 0)]
    found = (groups.after >= 0) & ~np.isnan(old) & ~np.isnan(new)
    with np.errstate(invalid="ignore"):  # infinite before and after: the same
        rise = np.where(old == new, 0.0, new - old) * (1.0 if metric.worse == "high" else -1.0)
    worse, better = found & (rise > metrics.TOLERANCE), found & (rise < -metrics.TOLERANCE)

    def most(which: Bools, size: Floats) -> Iterator[ChangedClass]:
        for at in np.flatnonzero(which)[metrics.worst_first(size[which], groups.people[which], most=_NAMED)]:
            keys = (
                here.contingency.class_key(int(groups.before[at])),
                there.contingency.class_key(int(groups.after[at])),
            )
            yield ChangedClass(*keys, int(groups.people[at]), float(old[at]), float(new[at]))

    def count(which: Bools) -> int:
        return int(groups.people[which].sum())

    return PeopleMoved(
        metric, attribute, count(better), count(worse), count(found & ~better & ~worse), count(~found),
        (*most(worse, rise), *most(better, -rise)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Way:
    """Groups of people, and the class of each group in tables by their names; -1: none."""

    people: Ints
    places: Mapping[str, Ints]
    mapped: frozenset[str] = frozenset()
    """The tables whose mapping was followed."""


def recoding_of(
    decided: publish.GeneralizedRelease | None, opened: publish.OpenedRelease | None, people: Contingency
) -> search.Recoding | None:
    """What a release, decided or written, made of classes of the original; None where nobody knows."""
    if decided is not None:
        own, recoding = decided.original.people, decided.plan.recoding
        at = composition.place_of(as_it_is(people), own)
        codes = tuple(column[np.maximum(at, 0)] for column in recoding.codes)
        return replace(recoding, codes=codes, kept=recoding.kept[np.maximum(at, 0)] & (at >= 0))
    names = {key.name for key in people.keys}
    if opened is None or set(opened.quasi_identifiers) != names or not (opened.folder / publish.FOLDER).is_dir():
        return None
    whole = publish.OpenedRelease.read_folder(opened.folder, private=True)
    return whole.recode(in_order(people, whole.quasi_identifiers))[0] if whole.holds_mappings else None
