# SPDX-License-Identifier: Apache-2.0
"""Bounds on the people in a class of one release and a class of another, without the original.

A recipient of both releases can derive these bounds.

Let N be the number of people in question. Each of them is in at most one class of each release.
n(A) of them are in class A of the first, n(B) in class B of the second, and x(A, B) in both. x_v
and n_v count the people with the sensitive value v, which both releases publish and which did not
change between them. Without a common sensitive column, all people have the same v. Only classes
whose labels have a value in common can share a person (compatible classes). Labels that cannot be
read count as compatible. People who are missing from a release can be derived too. m people are not
in the second, m = N - (its rows), and m' are not in the first. "Not published" is one more class of
each release, written 0, and is compatible with all classes.

Upper bounds: x_v(A, B) <= min(n_v(A), n_v(B)) =: u_v(A, B), and x(A, B) is the sum over v. The
second release has n_v people with v in all, of whom at most m' are not in the first. So at most
n_v(first) - n_v(second) + m' people of the first with v are not in the second:

    x_v(A, 0) <= min(n_v(A), m, max(0, n_v(first) - n_v(second) + m')) =: u_v(A, 0),
    x(A, 0) <= min(m, sum over v of u_v(A, 0)) =: u(A, 0).

Lower bounds: the n_v(A) people of A with v are in classes compatible with A, or not in the second.
The people who do not fit into the other classes are in B:

    x(A, B) >= sum over v of max(0, n_v(A) - sum_{B' != B} u_v(A, B')) - u(A, 0),
    x(A, 0) >= sum over v of max(0, n_v(A) - sum_B u_v(A, B)),
    x(A, 0) >= m - sum_{A' != A} u(A', 0) - min(m, m'),

where at most min(m, m') people are in neither. The bounds seen from the second release are
analogous. All bounds hold for every original that fits the releases; an original need not reach
them. The values that remain for a person in A and B are those v with u_v(A, B) > 0. If only one
value remains, it is certain for all people there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from divulge import releases
from divulge.arrays import Ints
from divulge.composition.recipient_view import PublishedRelease
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy

_MAX_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs of compatible classes of two releases, with bounds on the number of people in both.

    The index after the last class means "not published".
    """

    first: Ints
    second: Ints
    low: Ints
    high: Ints
    values: Ints
    """Number of sensitive values that remain; 0 if the releases share no sensitive column."""


@dataclass(frozen=True)
class IntersectionBounds:
    """Facts about people that two releases prove together, without the original."""

    first: str
    second: str
    shared: tuple[str, ...]
    """Columns by which the classes were compared."""
    attribute: str | None
    """Sensitive column that both releases publish and that was compared too."""
    people: int
    """Number of people in question."""
    possible: int
    """Pairs of classes that may share a person.

    "Not published" in one of the releases is a class too.
    """
    certain: int
    """Pairs of classes that certainly share a person."""
    smallest: int
    """Size of the smallest class of either release."""
    smallest_certain: int | None
    """Smallest upper bound of a pair that certainly has a person; None if no pair has."""
    below: tuple[int, int]
    """Lower and upper bound on people whose pair of classes is smaller than the smallest class."""
    one_value: tuple[int, int]
    """Lower and upper bound on people with one remaining sensitive value because of both releases.

    Each of their classes in a single release leaves more than one value.
    """
    pairs: ClassPairs = field(repr=False, compare=False, metadata={"told": False})


def bound_intersections(
    first: PublishedRelease,
    second: PublishedRelease,
    *,
    attribute: str | None,
    people: int | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> IntersectionBounds:
    """Compute the bounds of every pair of classes of two releases.

    `people` is the number of people in question; the default is the size of the larger release.
    """
    if people is None:
        population = max(first.people, second.people)
    else:
        population = people
    if population < max(first.people, second.people):
        message = f"people = {population} is less than a release has rows"
        raise BadInput(message, hint="It is how many people all releases are about together")
    shared = tuple(name for name in first.columns if name in second.columns)
    if first.groups is not None or second.groups is not None:
        shared = ()
    pairs = _bound_pairs(
        first,
        second,
        _compatible_classes(first, second, shared, hierarchies or {}),
        attribute,
        population,
    )
    smallest = int(min(first.sizes.min(), second.sizes.min()))
    is_certain = pairs.low > 0
    is_small = pairs.high < smallest
    people_below = np.where(pairs.low < smallest, np.minimum(pairs.high, smallest - 1), 0)
    is_unpublished = pairs.first == len(first), pairs.second == len(second)
    at_most = people_below[~(is_unpublished[0] | is_unpublished[1])].sum()
    for is_absent, release in zip(is_unpublished, (first, second), strict=True):
        at_most += min(int(people_below[is_absent].sum()), population - release.people)
    has_one_value = pairs.values == 1
    is_newly_single = (
        has_one_value
        & (_remaining_value_counts(first, attribute)[pairs.first] > 1)
        & (_remaining_value_counts(second, attribute)[pairs.second] > 1)
    )
    return IntersectionBounds(
        first.name,
        second.name,
        shared,
        attribute,
        population,
        len(pairs.first),
        int(is_certain.sum()),
        smallest,
        int(pairs.high[is_certain].min()) if is_certain.any() else None,
        (int(pairs.low[is_small].sum()), int(min(at_most, population))),
        (
            int(pairs.low[is_newly_single].sum()),
            int(min(pairs.high[is_newly_single].sum(), population)),
        ),
        pairs,
    )


def _remaining_value_counts(release: PublishedRelease, attribute: str | None) -> Ints:
    """Number of sensitive values that each class leaves; 0 if no attribute is compared.

    The last entry is for people who are not published. All values remain for them, so it is 2.
    """
    if attribute is None:
        part = None
    else:
        part = release.entries_of(attribute)
    if part is None:
        counts = np.zeros(len(release), np.int64)
    else:
        counts = np.bincount(part.class_index, minlength=len(release))
    return np.append(counts, 2)


# --- compatible classes ---------------------------------------------------------------------------
def _compatible_classes(
    first: PublishedRelease,
    second: PublishedRelease,
    shared: tuple[str, ...],
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[Ints, Ints]:
    """Pairs of classes whose labels may have a value in common in every shared column."""
    engine = DuckDBEngine()
    class_relations = []
    for release in (first, second):
        columns = {"c": pa.array(np.arange(len(release)))}
        if shared:
            (part,) = release.lookup_entries
            codes = dict(zip(part.columns, part.codes, strict=True))
            columns |= {f"k{index}": pa.array(codes[name]) for index, name in enumerate(shared)}
        class_relations.append(engine.lend(pa.table(columns)))
    joins = [f"{class_relations[0]} AS a"]
    conditions = []
    for index, name in enumerate(shared):
        labels = [
            release.lookup_entries[0].texts[release.lookup_entries[0].columns.index(name)]
            for release in (first, second)
        ]
        disjoint = name in first.disjoint_columns and name in second.disjoint_columns
        label_pairs = _compatible_labels(
            labels[0], labels[1], hierarchies.get(name), disjoint=disjoint
        )
        pairs_relation = engine.lend(
            pa.table({"x": pa.array(label_pairs[0]), "y": pa.array(label_pairs[1])})
        )
        joins.append(f"JOIN {pairs_relation} AS m{index} ON m{index}.x = a.k{index}")
        conditions.append(f"b.k{index} = m{index}.y")
    from_clause = (
        f"{' '.join(joins)} JOIN {class_relations[1]} AS b ON {' AND '.join(conditions) or 'true'}"
    )
    pair_count = engine.query(f"SELECT COUNT(*) AS n FROM {from_clause}").column("n")[0].as_py()
    if pair_count > _MAX_PAIRS:
        message = (
            f"{pair_count:,} pairs of classes of {first.name} and {second.name} may share people, "
            "too many to bound one by one"
        )
        raise BadInput(
            message, hint="Give the truth, with which only classes that really occur are counted"
        )
    pairs_table = engine.query(f"SELECT a.c AS a, b.c AS b FROM {from_clause} ORDER BY 1, 2")
    return pairs_table.column("a").to_numpy(), pairs_table.column("b").to_numpy()


def _compatible_labels(
    first_labels: list[str | None],
    second_labels: list[str | None],
    hierarchy: Hierarchy | None,
    *,
    disjoint: bool,
) -> tuple[Ints, Ints]:
    """Pairs of labels that may stand for a common value.

    If the labels of each release are disjoint and both releases have the same labels except `*`,
    the labels are of one level. Different labels then have nothing in common. Labels of Mondrian
    boxes are not disjoint: `clerk`, `{clerk, cook}` and `office` may all be in one release.
    """
    values_by_label: Mapping[str | None, frozenset[str | None]] = {}
    if hierarchy is not None:
        values_by_label = releases.values_by_label(hierarchy)
    meanings = _label_meanings({*first_labels, *second_labels}, values_by_label)
    same_level = disjoint and _level_labels(first_labels, meanings) == _level_labels(
        second_labels, meanings
    )
    pairs = [
        (x, y)
        for x, a in enumerate(first_labels)
        for y, b in enumerate(second_labels)
        if _may_share_value(meanings[a], meanings[b], values_by_label, same_level=same_level)
    ]
    pair_array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return pair_array[:, 0], pair_array[:, 1]


def _level_labels(
    labels: Iterable[str | None], meanings: Mapping[str | None, releases.LabelMeaning]
) -> set[str | None]:
    """Labels that are neither suppressed nor null."""
    return {label for label in labels if meanings[label].kind != "anything"} - {None}


def _label_meanings(
    labels: Collection[str | None], values_by_label: Mapping[str | None, frozenset[str | None]]
) -> dict[str | None, releases.LabelMeaning]:
    """Meanings of labels: the values that a hierarchy lists, and what the labels write.

    A word that a set such as `{clerk, cook}` lists is a value.
    """
    meanings = {label: releases.parse_label(label) for label in labels}
    values = {str(member.label) for meaning in meanings.values() for member in meaning.members}
    for label, meaning in meanings.items():
        if label is not None and label in values_by_label:
            meanings[label] = releases.meaning_of_values(label, values_by_label[label])
        elif meaning.kind == "unknown":
            meanings[label] = releases.parse_label(label, values=values)
    return meanings


def _may_share_value(
    a: releases.LabelMeaning,
    b: releases.LabelMeaning,
    values_by_label: Mapping[str | None, frozenset[str | None]],
    *,
    same_level: bool,
) -> bool:
    if a.kind == b.kind == "set" and a.label in values_by_label and b.label in values_by_label:
        return bool(values_by_label[a.label] & values_by_label[b.label])
    has_common_value = a.has_common_value(b)
    if has_common_value is None:
        return not same_level
    return has_common_value


# --- bounds on shared people ----------------------------------------------------------------------
def _bound_pairs(
    first: PublishedRelease,
    second: PublishedRelease,
    pairs: tuple[Ints, Ints],
    attribute: str | None,
    people: int,
) -> ClassPairs:
    a, b = pairs
    in_a, in_b = _value_counts(first, second, attribute)
    high = np.zeros(len(a), np.int64)
    values = np.zeros(len(a), np.int64)
    sums_a = np.zeros_like(in_a)
    sums_b = np.zeros_like(in_b)
    for v in range(in_a.shape[1]):
        common_people = np.minimum(in_a[a, v], in_b[b, v])
        high += common_people
        values += common_people > 0
        np.add.at(sums_a[:, v], a, common_people)
        np.add.at(sums_b[:, v], b, common_people)
    from_a = np.zeros(len(a), np.int64)
    from_b = np.zeros(len(a), np.int64)
    for v in range(in_a.shape[1]):
        common_people = np.minimum(in_a[a, v], in_b[b, v])
        from_a += np.maximum(0, in_a[a, v] - (sums_a[a, v] - common_people))
        from_b += np.maximum(0, in_b[b, v] - (sums_b[b, v] - common_people))
    lacking_a = people - first.people
    lacking_b = people - second.people
    only_a = _bound_unmatched(in_a, in_b, sums_a, lacking=lacking_b, outside=lacking_a)
    only_b = _bound_unmatched(in_b, in_a, sums_b, lacking=lacking_a, outside=lacking_b)
    low = np.clip(np.maximum(from_a - only_a.high[a], from_b - only_b.high[b]), 0, high)
    bounded_pairs = ClassPairs(
        np.concatenate([a, np.arange(len(first)), np.full(len(second), len(first))]),
        np.concatenate([b, np.full(len(first), len(second)), np.arange(len(second))]),
        np.concatenate([low, only_a.low, only_b.low]),
        np.concatenate([high, only_a.high, only_b.high]),
        np.concatenate([values, only_a.values, only_b.values]),
    )
    is_possible = bounded_pairs.high > 0
    if attribute is not None:
        remaining_values = bounded_pairs.values
    else:
        remaining_values = np.zeros_like(bounded_pairs.values)
    return ClassPairs(
        *(
            column[is_possible]
            for column in (
                bounded_pairs.first,
                bounded_pairs.second,
                bounded_pairs.low,
                bounded_pairs.high,
                remaining_values,
            )
        )
    )


class _UnmatchedBounds(NamedTuple):
    """Bounds on the people of each class who are not in the other release, and their values."""

    low: Ints
    high: Ints
    values: Ints


def _bound_unmatched(
    own_counts: Ints, other_counts: Ints, matched: Ints, *, lacking: int, outside: int
) -> _UnmatchedBounds:
    """Bound the people of each class of this release who are not in the other one.

    `lacking` people are not in the other release, and `outside` people are not in this one.
    `matched` bounds how many people of each class and value the other release can hold.
    """
    unmatched_of_value = np.clip(
        own_counts.sum(axis=0) - other_counts.sum(axis=0) + outside, 0, lacking
    )
    unmatched_by_value = np.minimum(own_counts, unmatched_of_value)
    high = np.minimum(unmatched_by_value.sum(axis=1), lacking)
    at_least = np.maximum(0, own_counts - matched).sum(axis=1)
    at_least_by_total = lacking - (high.sum() - high) - min(lacking, outside)
    return _UnmatchedBounds(
        np.clip(np.maximum(at_least, at_least_by_total), 0, high),
        high,
        (unmatched_by_value > 0).sum(axis=1),
    )


def _value_counts(
    first: PublishedRelease, second: PublishedRelease, attribute: str | None
) -> tuple[Ints, Ints]:
    """Number of people of each class with each value; one value for all if none is compared."""
    parts = [
        None if attribute is None else release.entries_of(attribute) for release in (first, second)
    ]
    first_entries, second_entries = parts
    if first_entries is None or second_entries is None:
        return first.sizes[:, None], second.sizes[:, None]
    code_of_text = {
        text: code
        for code, text in enumerate(
            dict.fromkeys((*first_entries.texts[0], *second_entries.texts[0]))
        )
    }
    counts_by_release = []
    for release, part in ((first, first_entries), (second, second_entries)):
        target_codes = np.array([code_of_text[text] for text in part.texts[0]], dtype=np.int64)
        counts = np.zeros((len(release), len(code_of_text)), dtype=np.int64)
        np.add.at(counts, (part.class_index, target_codes[part.codes[0]]), part.people)
        counts_by_release.append(counts)
    return counts_by_release[0], counts_by_release[1]
