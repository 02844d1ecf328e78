# SPDX-License-Identifier: Apache-2.0
"""What whoever holds two releases can derive without the truth: bounds on how many people lie in a class of one and a class of the other.

Let N people be in question, each in at most one class of each release; n(A) of them in class A of the first, n(B) in class B of the
second, x(A, B) in both, and x_v, n_v the same for people with the sensitive value v, which both tell and which did not change between them;
without a common sensitive column all have the same v. Only classes whose labels have a value in common can share a person (compatible
classes; labels that cannot be read count as compatible). Who is not in a release is derived too, by what is missing in it: m people are
not in the second, m = N - (its rows), and m' not in the first. "Not published" is one more class of each, written 0, compatible with all.

Upper bounds: x_v(A, B) <= min(n_v(A), n_v(B)) =: u_v(A, B), and x(A, B) is the sum over v. Of people with v, the second release has n_v
in all, of whom at most m' are not in the first; so at most n_v(first) - n_v(second) + m' people of the first with v are not in the second,

    x_v(A, 0) <= min(n_v(A), m, max(0, n_v(first) - n_v(second) + m')) =: u_v(A, 0),
    x(A, 0) <= min(m, sum over v of u_v(A, 0)) =: u(A, 0).

Lower bounds: the n_v(A) people of A with v are in classes compatible with A, or not in the second. What the others cannot hold is in B:

    x(A, B) >= sum over v of max(0, n_v(A) - sum_{B' != B} u_v(A, B')) - u(A, 0),
    x(A, 0) >= sum over v of max(0, n_v(A) - sum_B u_v(A, B)),    x(A, 0) >= m - sum_{A' != A} u(A', 0) - min(m, m'),

where at most min(m, m') are in neither; and the same seen from the second. All hold for every truth that fits the releases; none need be
reached by one. Values that remain for somebody in A and B: those v with u_v(A, B) > 0. One value alone is then certain for everybody there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from divulge.arrays import Ints
from divulge.composition.disclosed import Disclosed
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.hierarchy import SUPPRESSED, Hierarchy
from divulge.values import as_number, parse_interval

_MOST_PAIRS = 20_000_000
_CLOSED = re.compile(r"\[\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of compatible classes of two releases, with bounds on how many people are in both; one past the last class: not published."""

    first: Ints
    second: Ints
    low: Ints
    high: Ints
    values: Ints
    """How many sensitive values remain; 0 where the releases have no sensitive column in common."""


@dataclass(frozen=True)
class Derived:
    """What two releases prove together about the people in either, without the truth."""

    first: str
    second: str
    shared: tuple[str, ...]
    """The columns by which their classes were compared."""
    attribute: str | None
    """The sensitive column that both tell, and that was compared too."""
    people: int
    """How many people were taken to be in question."""
    possible: int
    """Pairs of classes that may share somebody; not to be published in one of them is a class too."""
    certain: int
    """Those that surely do."""
    smallest: int
    """The fewest people of a class of either release."""
    smallest_certain: int | None
    """The least upper bound of a pair that surely has somebody; None where no pair has."""
    below: tuple[int, int]
    """At least and at most so many people share both their classes with fewer people than the smallest class has."""
    one_value: tuple[int, int]
    """At least and at most so many people have one sensitive value left, where every class of either release alone leaves them more."""
    pairs: Pairs = field(repr=False, compare=False, metadata={"told": False})


def derive(
    first: Disclosed,
    second: Disclosed,
    *,
    attribute: str | None,
    people: int | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Derived:
    """Bounds for every pair of classes of two releases; `people` is how many are in question, by default as many as the larger has."""
    several = max(first.people, second.people) if people is None else people
    if several < max(first.people, second.people):
        told = f"people = {several} is less than a release has rows"
        raise BadInput(told, hint="It is how many people all releases are about together")
    shared = tuple(name for name in first.columns if name in second.columns)
    if first.groups is not None or second.groups is not None:
        shared = ()
    pairs = _bounded(first, second, _compatible(first, second, shared, hierarchies or {}), attribute, several)
    smallest = int(min(first.sizes.min(), second.sizes.min()))
    sure = pairs.low > 0
    small = pairs.high < smallest
    few = np.where(pairs.low < smallest, np.minimum(pairs.high, smallest - 1), 0)
    gone = pairs.first == len(first), pairs.second == len(second)
    at_most = few[~(gone[0] | gone[1])].sum()
    for nowhere, release in zip(gone, (first, second), strict=True):
        at_most += min(int(few[nowhere].sum()), several - release.people)
    one = pairs.values == 1
    hidden = one & (_distinct(first, attribute)[pairs.first] > 1) & (_distinct(second, attribute)[pairs.second] > 1)
    return Derived(
        first.name, second.name, shared, attribute, several, len(pairs.first), int(sure.sum()), smallest,
        int(pairs.high[sure].min()) if sure.any() else None,
        (int(pairs.low[small].sum()), int(min(at_most, several))),
        (int(pairs.low[hidden].sum()), int(min(pairs.high[hidden].sum(), several))),
        pairs,
    )  # fmt: skip


def _distinct(release: Disclosed, attribute: str | None) -> Ints:
    """How many sensitive values each class leaves; 0 where none is compared. Who is not published has all of them left, so several."""
    part = None if attribute is None else release.about(attribute)
    found = np.zeros(len(release), np.int64) if part is None else np.bincount(part.in_class, minlength=len(release))
    return np.append(found, 2)


# --- which classes may share somebody ---------------------------------------------------------------------------------
def _compatible(
    first: Disclosed, second: Disclosed, shared: tuple[str, ...], hierarchies: Mapping[str, Hierarchy]
) -> tuple[Ints, Ints]:
    """Pairs of classes whose labels have a value in common in every shared column, as far as can be told."""
    scratch = DuckDBEngine()
    sides = []
    for release in (first, second):
        columns = {"c": pa.array(np.arange(len(release)))}
        if shared:
            (part,) = release.known
            codes = dict(zip(part.columns, part.codes, strict=True))
            columns |= {f"k{at}": pa.array(codes[name]) for at, name in enumerate(shared)}
        sides.append(scratch.lend(pa.table(columns)))
    joins, same = [f"{sides[0]} AS a"], []
    for at, name in enumerate(shared):
        labels = [release.known[0].texts[release.known[0].columns.index(name)] for release in (first, second)]
        met = _meeting(labels[0], labels[1], hierarchies.get(name))
        lent = scratch.lend(pa.table({"x": pa.array(met[0]), "y": pa.array(met[1])}))
        joins.append(f"JOIN {lent} AS m{at} ON m{at}.x = a.k{at}")
        same.append(f"b.k{at} = m{at}.y")
    sql = f"{' '.join(joins)} JOIN {sides[1]} AS b ON {' AND '.join(same) or 'true'}"
    count = scratch.query(f"SELECT COUNT(*) AS n FROM {sql}").column("n")[0].as_py()
    if count > _MOST_PAIRS:
        told = f"{count:,} pairs of classes of {first.name} and {second.name} may share people, too many to bound one by one"
        raise BadInput(told, hint="Give the truth, with which only classes that really occur are counted")
    found = scratch.query(f"SELECT a.c AS a, b.c AS b FROM {sql} ORDER BY 1, 2")
    return found.column("a").to_numpy(), found.column("b").to_numpy()


def _meeting(mine: list[str | None], theirs: list[str | None], hierarchy: Hierarchy | None) -> tuple[Ints, Ints]:
    """Pairs of labels that may stand for a common value.

    Where both releases have the same labels, but for *, they are of the same level, and different ones have nothing in common.
    """
    same_level = set(mine) - {SUPPRESSED, None} == set(theirs) - {SUPPRESSED, None}
    under = _leaves(hierarchy)
    spans = {label: _span(label) for label in (*mine, *theirs)}
    pairs = [
        (x, y)
        for x, a in enumerate(mine)
        for y, b in enumerate(theirs)
        if _may_meet(a, b, spans, under, same_level=same_level)
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _leaves(hierarchy: Hierarchy | None) -> dict[str | None, set[str | None]]:
    under: dict[str | None, set[str | None]] = {}
    for value, levels in ({} if hierarchy is None else hierarchy.rows).items():
        for label in levels:
            under.setdefault(label, set()).add(value)
    return under


_Span = tuple[Fraction | None, Fraction | None, bool]


def _span(label: str | None) -> _Span | None:
    """The numbers that a label writes: from, to, and whether the end is among them."""
    if label is None:
        return None
    if (number := as_number(label)) is not None:
        return number, number, True
    if (closed := _CLOSED.fullmatch(label)) is not None:
        low, high = as_number(closed[1]), as_number(closed[2])
        return None if low is None or high is None else (low, high, True)
    interval = parse_interval(label)
    return None if interval is None else (interval.low, interval.high, False)


def _may_meet(
    a: str | None,
    b: str | None,
    spans: Mapping[str | None, _Span | None],
    under: Mapping[str | None, set[str | None]],
    *,
    same_level: bool,
) -> bool:
    if a == b or SUPPRESSED in (a, b) or None in (a, b):
        return True
    if a in under and b in under:
        return bool(under[a] & under[b])
    one, other = spans[a], spans[b]
    if one is not None and other is not None:
        return _reaches(one, other) and _reaches(other, one)
    if a is not None and b is not None and (SUPPRESSED in a or SUPPRESSED in b) and len(a) == len(b):
        return all(x == y or SUPPRESSED in (x, y) for x, y in zip(a, b, strict=True))
    return not same_level


def _reaches(one: _Span, other: _Span) -> bool:
    """Whether one begins before the other ends."""
    low, (_, high, closed) = one[0], other
    return low is None or high is None or low < high or (closed and low == high)


# --- how many they share ----------------------------------------------------------------------------------------------
def _bounded(
    first: Disclosed, second: Disclosed, pairs: tuple[Ints, Ints], attribute: str | None, people: int
) -> Pairs:
    a, b = pairs
    in_a, in_b = _tallied(first, second, attribute)
    high, values = np.zeros(len(a), np.int64), np.zeros(len(a), np.int64)
    sums_a, sums_b = np.zeros_like(in_a), np.zeros_like(in_b)
    for v in range(in_a.shape[1]):
        common = np.minimum(in_a[a, v], in_b[b, v])
        high += common
        values += common > 0
        np.add.at(sums_a[:, v], a, common)
        np.add.at(sums_b[:, v], b, common)
    from_a, from_b = np.zeros(len(a), np.int64), np.zeros(len(a), np.int64)
    for v in range(in_a.shape[1]):
        common = np.minimum(in_a[a, v], in_b[b, v])
        from_a += np.maximum(0, in_a[a, v] - (sums_a[a, v] - common))
        from_b += np.maximum(0, in_b[b, v] - (sums_b[b, v] - common))
    lacking_a, lacking_b = people - first.people, people - second.people
    only_a = _not_in_the_other(in_a, in_b, sums_a, lacking=lacking_b, outside=lacking_a)
    only_b = _not_in_the_other(in_b, in_a, sums_b, lacking=lacking_a, outside=lacking_b)
    low = np.clip(np.maximum(from_a - only_a.high[a], from_b - only_b.high[b]), 0, high)
    found = Pairs(
        np.concatenate([a, np.arange(len(first)), np.full(len(second), len(first))]),
        np.concatenate([b, np.full(len(first), len(second)), np.arange(len(second))]),
        np.concatenate([low, only_a.low, only_b.low]),
        np.concatenate([high, only_a.high, only_b.high]),
        np.concatenate([values, only_a.values, only_b.values]),
    )
    possible = found.high > 0
    left = found.values if attribute is not None else np.zeros_like(found.values)
    return Pairs(*(column[possible] for column in (found.first, found.second, found.low, found.high, left)))


class _Only(NamedTuple):
    """Of each class of one release: at least and at most how many are not in the other, and how many values are left for them."""

    low: Ints
    high: Ints
    values: Ints


def _not_in_the_other(mine: Ints, theirs: Ints, shared: Ints, *, lacking: int, outside: int) -> _Only:
    """`lacking` people are not in the other release, `outside` not in this one; `shared` bounds how many of each value it can hold."""
    of_value = np.clip(mine.sum(axis=0) - theirs.sum(axis=0) + outside, 0, lacking)
    each = np.minimum(mine, of_value)
    high = np.minimum(each.sum(axis=1), lacking)
    nowhere_else = np.maximum(0, mine - shared).sum(axis=1)
    needed = lacking - (high.sum() - high) - min(lacking, outside)
    return _Only(np.clip(np.maximum(nowhere_else, needed), 0, high), high, (each > 0).sum(axis=1))


def _tallied(first: Disclosed, second: Disclosed, attribute: str | None) -> tuple[Ints, Ints]:
    """How many people of each class have each value; all have the same where none is compared."""
    parts = [None if attribute is None else release.about(attribute) for release in (first, second)]
    mine, theirs = parts
    if mine is None or theirs is None:
        return first.sizes[:, None], second.sizes[:, None]
    number = {text: code for code, text in enumerate(dict.fromkeys((*mine.texts[0], *theirs.texts[0])))}
    found = []
    for release, part in ((first, mine), (second, theirs)):
        to = np.array([number[text] for text in part.texts[0]], dtype=np.int64)
        tally = np.zeros((len(release), len(number)), dtype=np.int64)
        np.add.at(tally, (part.in_class, to[part.codes[0]]), part.people)
        found.append(tally)
    return found[0], found[1]
