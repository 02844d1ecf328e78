# SPDX-License-Identifier: Apache-2.0
"""What whoever holds two releases can derive without the truth: bounds on how many people lie in a class of one and a class of the other.

Let N people be in question, each in at most one class of each release; n(A) of them in class A of the first, n(B) in class B of the
second, x(A, B) in both, and x_v, n_v the same for people with the sensitive value v, which both tell and which did not change between them.
Only classes whose labels have a value in common can share a person (compatible classes; labels that cannot be read count as compatible).

Upper bound: x_v(A, B) <= min(n_v(A), n_v(B)) =: u_v(A, B), and x is the sum over v. Without a common sensitive column, u = min(n(A), n(B)).

Lower bound: of the n_v(A) people of A with value v, those who are in the second release are spread over classes compatible with A.
Let m be how many people of the first release the second may lack, m = N - (rows of the second). Those lacking are at most m over all v,
and x_v(A, B) >= n_v(A) - (those lacking) - sum of u_v(A, B') over B' other than B, so with x_v >= 0

    x(A, B) >= sum over v of max(0, n_v(A) - sum_{B' != B} u_v(A, B')) - m,

and the same seen from B. Both hold for every truth that fits the releases; neither need be reached by one.
Values that remain for somebody in A and B: those v with u_v(A, B) > 0. One value alone is then certain for everybody there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from divulge import arrays
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
    """Pairs of compatible classes of two releases, with bounds on how many people are in both."""

    first: Ints
    second: Ints
    low: Ints
    high: Ints
    values: Ints
    """How many sensitive values remain; 0 where the releases have no sensitive column in common."""


@dataclass(frozen=True)
class Derived:
    """What two releases prove together about the people in both, without the truth."""

    first: str
    second: str
    shared: tuple[str, ...]
    """The columns by which their classes were compared."""
    attribute: str | None
    """The sensitive column that both tell, and that was compared too."""
    people: int
    """How many people were taken to be in question."""
    possible: int
    """Pairs of classes that may share somebody."""
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
    at_most = np.minimum(pairs.high, smallest - 1)[pairs.low < smallest].sum()
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
    """How many sensitive values each class leaves; 0 where none is compared."""
    part = None if attribute is None else release.about(attribute)
    return np.zeros(len(release), np.int64) if part is None else np.bincount(part.in_class, minlength=len(release))


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
    parts = [None if attribute is None else release.about(attribute) for release in (first, second)]
    mine, theirs = parts
    if mine is None or theirs is None:
        high = np.minimum(first.sizes[a], second.sizes[b])
        low = np.zeros(len(a), np.int64)
        for here, sizes, other in ((a, first.sizes, second), (b, second.sizes, first)):
            spread = arrays.exact_sums(here, high, len(sizes))
            low = np.maximum(low, sizes[here] - (spread[here] - high) - (people - other.people))
        return Pairs(a, b, np.minimum(low, high), high, np.zeros(len(a), np.int64))
    texts = {text: code for code, text in enumerate(mine.texts[0])}
    to_mine = np.array([texts.get(text, -1) for text in theirs.texts[0]], dtype=np.int64)
    dense_a = _dense(mine.in_class, mine.codes[0], mine.people, len(first), len(texts))
    known = to_mine[theirs.codes[0]] >= 0
    dense_b = _dense(
        theirs.in_class[known], to_mine[theirs.codes[0]][known], theirs.people[known], len(second), len(texts)
    )
    high, values = np.zeros(len(a), np.int64), np.zeros(len(a), np.int64)
    sums_a, sums_b = np.zeros_like(dense_a), np.zeros_like(dense_b)
    for code in range(len(texts)):
        common = np.minimum(dense_a[a, code], dense_b[b, code])
        high += common
        values += common > 0
        np.add.at(sums_a[:, code], a, common)
        np.add.at(sums_b[:, code], b, common)
    from_a, from_b = np.zeros(len(a), np.int64), np.zeros(len(a), np.int64)
    for code in range(len(texts)):
        common = np.minimum(dense_a[a, code], dense_b[b, code])
        from_a += np.maximum(0, dense_a[a, code] - (sums_a[a, code] - common))
        from_b += np.maximum(0, dense_b[b, code] - (sums_b[b, code] - common))
    low = np.maximum(from_a - (people - second.people), from_b - (people - first.people))
    low = np.minimum(np.maximum(low, 0), high)
    possible = high > 0
    return Pairs(a[possible], b[possible], low[possible], high[possible], values[possible])


def _dense(in_class: Ints, code: Ints, people: Ints, classes: int, values: int) -> Ints:
    found = np.zeros((classes, values), dtype=np.int64)
    np.add.at(found, (in_class, code), people)
    return found
