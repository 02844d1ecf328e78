# SPDX-License-Identifier: Apache-2.0
"""anatomize(): divide the columns into tables and the records into groups, with any of the methods.

A method says which quasi-identifiers share a table, which records share a group, and what it promises. The result is measured here, in the
same way for every method, and a method that does not keep its own promise is a bug, not a release.
"""

from __future__ import annotations

import heapq
import logging
import secrets
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import prod
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomy.division import Coefficient, Division, Linkage, check_table_count, divide, given_division
from divulge.anatomy.grouping import Within, group_records, group_within, mondrian
from divulge.anatomy.model import AlphaBetaGammaDelta, GroupLevels, GroupSummary, Reached, tally
from divulge.anatomy.most import most_possible
from divulge.anatomy.problem import (
    GroupingProblem,
    Groups,
    InfeasibleModel,
    SensitiveTotals,
    check_feasible,
    problem_of,
)
from divulge.anatomy.rows import Association, ColumnCounts, RowCodes, associate
from divulge.arrays import Bools, Ints
from divulge.errors import BadInput, InternalError, nearest

LOG = logging.getLogger("divulge.anatomy")


class Method(Protocol):
    """A way to anatomize: a frozen value with its settings as fields."""

    name: ClassVar[str]

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What every group keeps."""

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """The columns of each table of quasi-identifiers."""

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """The group of each record, numbered from 0."""

    def settings(self) -> Mapping[str, Any]:
        """The settings as plain values, for the record of how a release was made."""


@dataclass(frozen=True, eq=False)
class Anatomized:
    """A table divided into tables and groups. Rows are those of `rows`, in that order; nothing is published yet."""

    method: str
    rows: RowCodes = field(repr=False)
    division: Division
    sensitive: tuple[str, ...]
    group: Groups = field(repr=False)
    """The group of each record, from 0; the numbers are random and say nothing."""
    model: AlphaBetaGammaDelta
    """What the method promises."""
    settings: Mapping[str, Any]
    seed: int
    """Where all random choices came from. Who knows it can repeat them, so it must never be published."""
    problem: GroupingProblem = field(repr=False)
    within: Within | None = field(default=None, repr=False)
    """What is out already of these records, where groups lie within its classes."""

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table; each sensitive attribute is a table of its own, at the end."""
        return (*self.division.tables, *((name,) for name in self.sensitive))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @cached_property
    def at_most(self) -> int:
        """No grouping that keeps the model has more groups: proved. Where there are as many, there cannot be more."""
        return most_possible(self.problem, group_size=self.settings.get("group_size", 1), found=self.groups)

    @cached_property
    def sizes(self) -> Ints:
        """The records of each group."""
        return np.bincount(self.group)

    @property
    def group_levels(self) -> GroupLevels:
        """What each group shows, measured when it is asked for: that is much where there are many groups."""
        return self.problem.measure(self.group, groups=self.groups)

    @cached_property
    def summary(self) -> GroupSummary:
        """All groups in a few numbers."""
        return self.group_levels.summary(self.model)

    @property
    def levels(self) -> Reached:
        """The exact levels of the release."""
        return self.summary.levels


def anatomize(
    rows: RowCodes,
    method: Method,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str],
    seed: int | None = None,
    totals: Mapping[str, SensitiveTotals] | None = None,
    within: Within | None = None,
) -> Anatomized:
    """Divide the columns into tables and the records into groups; without a seed one is drawn, and recorded.

    Where the rows are a chunk of a table, `totals` says how often each sensitive value occurs in the whole. With `within`, every group
    lies within one class of what is out already.
    """
    secret = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    _check_columns(rows, quasi_identifiers, secret)
    used = secrets.randbits(64) if seed is None else seed
    LOG.info("dividing %d columns into tables", len(quasi_identifiers))
    division = method.divide(rows, tuple(quasi_identifiers))
    problem = problem_of(rows, tables=division.tables, sensitive=secret, model=method.model, totals=totals)
    rng = np.random.default_rng(used)
    grouped = partial(method.group, rng=rng)
    LOG.info("grouping records")
    group = grouped(problem) if within is None else group_within(problem, within, grouped, rng=rng)
    model, settings = method.model, method.settings()
    found = Anatomized(method.name, rows, division, secret, group, model, settings, used, problem, within)
    if found.summary.breaking:
        raise InternalError(f"{method.name} made a group that breaks {', '.join(found.model.broken_by(found.levels))}")
    return found


def _check_columns(rows: RowCodes, quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> None:
    if not quasi_identifiers:
        raise BadInput("no quasi-identifiers were named", hint="Name the columns that an adversary may know")
    if not sensitive:
        raise BadInput("no sensitive attribute was named", hint="Name the column whose values are to stay secret")
    seen: set[str] = set()
    for name in (*quasi_identifiers, *sensitive):
        if name not in rows.names:
            raise BadInput(f"the column {name!r} was not read", hint=nearest(name, rows.names))
        if name in seen:
            raise BadInput(f"the column {name!r} is named twice", hint="A column has one role")
        seen.add(name)
    if len(rows) == 0:
        raise BadInput("there are no rows", hint="There is nothing to anatomize")


@dataclass(frozen=True)
class _Settled:
    """The settings of a method are its fields."""

    def settings(self) -> Mapping[str, Any]:
        """The settings as plain values, for the record of how a release was made."""
        return {own.name: _plain(getattr(self, own.name)) for own in fields(self)}


def _plain(setting: object) -> object:
    if isinstance(setting, AlphaBetaGammaDelta):
        return setting.texts()
    if isinstance(setting, tuple):
        return [list(names) for names in setting]
    return str(setting) if isinstance(setting, Fraction) else setting


class _OneTable(_Settled):
    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """All quasi-identifiers in one table."""
        del rows
        return given_division(quasi_identifiers, [quasi_identifiers])


# --- Algorithm 1 of Yao et al. 2021, as printed, for comparison with grouping.py --------------------------------------
# Lines 6 and 7 are printed as "while buckets > N" and "from tail to head", that is from the smallest bucket on; `enough` and `pick`
# choose the other readings: ">=" as the text says, and the largest buckets, sorted anew for each group, as Anatomy does. Line 17
# ("break and reset beta or delta") raises: parameters are never changed silently. Lines 20 to 41 do not work as printed (the loop
# ends after the first good group, a combined group is never removed, only the first group is tested at the end); the reading here is:
# each bad group takes in the last group that is left until it is good, and at the end all groups are tested for all four bounds.
Enough = Literal[">", ">="]
Pick = Literal["tail", "largest"]
Buckets = list[list[int]]
_INSTEAD = "Use algorithm='guaranteed', which does not give up there"


def algorithm_1(problem: GroupingProblem, *, enough: Enough = ">", pick: Pick = "tail") -> Groups:
    """The group of each record; InfeasibleModel where the algorithm gives up, which need not mean that there is no grouping."""
    if len(problem.sensitive) != 1:
        raise BadInput("Algorithm 1 of the paper knows one sensitive attribute", hint="Use algorithm='guaranteed'")
    size = problem.model.records_per_group
    if size is None:
        raise InfeasibleModel(problem, "N = 1/0 for a bound of 0 (line 5)", proved=False, hint=_INSTEAD)
    groups = _satisfy(problem, form_groups(problem, size, enough=enough, pick=pick))
    found = np.empty(len(problem), dtype=np.int32)
    for number, records in enumerate(groups):
        found[records] = number
    levels = problem.measure(found, groups=len(groups))
    if not levels.keeps(problem.model).all():
        broken = ", ".join(problem.model.broken_by(levels.worst()))
        because = f"Algorithm 1 ended with groups that break {broken} (line 40)"
        raise InfeasibleModel(problem, because, proved=False, hint=_INSTEAD)
    return found


def form_groups(problem: GroupingProblem, size: int, *, enough: Enough = ">", pick: Pick = "tail") -> Buckets:
    """Lines 1 to 19: groups of `size` records with different sensitive values, and the rest spread over them."""
    records: dict[int, list[int]] = {}
    for record, value in enumerate(problem.sensitive[0].ids.tolist()):
        records.setdefault(value, []).append(record)
    buckets = sorted(records.values(), key=len, reverse=True)
    fewest = size + 1 if enough == ">" else size
    groups, lacking = (_from_tail if pick == "tail" else _from_largest)(buckets, size, fewest)
    attribute = problem.sensitive[0]
    for bucket, without in zip(buckets, lacking, strict=True):
        if len(bucket) > len(without):
            because = (
                f"Algorithm 1 has {len(bucket)} records with {attribute.name} = "
                f"{attribute.labels[attribute.ids[bucket[0]]]!r} left, and {len(without)} groups without that value (line 17)"
            )
            raise InfeasibleModel(problem, because, proved=False, hint=_INSTEAD)
        for group in without[: len(bucket)]:
            groups[group].append(bucket.pop())
    return groups


def _from_tail(buckets: Buckets, size: int, fewest: int) -> tuple[Buckets, list[range]]:
    """Lines 6 to 12 as printed: the last buckets that are not empty give one record each.

    Also, for each bucket, the groups that lack its value: a bucket that gives goes on giving until it is empty or the loop ends, so these
    are all groups made before it first gave.
    """
    groups: Buckets = []
    first_gave: list[int | None] = [None] * len(buckets)
    open_ = list(range(len(buckets)))
    while len(open_) >= fewest:
        givers = open_[-size:]
        times = min(len(buckets[bucket]) for bucket in givers)
        for bucket in givers:
            if first_gave[bucket] is None:
                first_gave[bucket] = len(groups)
        groups += [[buckets[bucket].pop() for bucket in reversed(givers)] for _ in range(times)]
        open_ = [bucket for bucket in open_ if buckets[bucket]]
    return groups, [range(len(groups) if first is None else first) for first in first_gave]


def _from_largest(buckets: Buckets, size: int, fewest: int) -> tuple[Buckets, list[list[int]]]:
    """Lines 6 to 12 with the largest buckets instead."""
    givers = _largest_first([len(bucket) for bucket in buckets], size, fewest)
    lacking = [[group for group, those in enumerate(givers) if place not in those] for place in range(len(buckets))]
    return [[buckets[place].pop() for place in those] for those in givers], lacking


def _largest_first(totals: Sequence[int], size: int, fewest: int) -> list[list[int]]:
    """For each group the buckets that give it a record: the `size` largest, as long as `fewest` are not empty."""
    groups = []
    heap = [(-total, place) for place, total in enumerate(totals) if total]
    heapq.heapify(heap)
    while len(heap) >= fewest:
        givers = [heapq.heappop(heap) for _ in range(size)]
        for length, place in givers:
            if length < -1:
                heapq.heappush(heap, (length + 1, place))
        groups.append([place for _, place in givers])
    return groups


@dataclass
class _Group:
    """A group that grows; how often each tuple of each table, and each sensitive value, occurs in it."""

    records: list[int]
    counts: list[Counter[int]]
    highest: list[int]

    def add(self, columns: Sequence[Sequence[int]], records: Sequence[int]) -> None:
        """Take records in."""
        self.records.extend(records)
        for place, column in enumerate(columns):
            for record in records:
                value = column[record]
                self.counts[place][value] += 1
                self.highest[place] = max(self.highest[place], self.counts[place][value])

    def keeps(self, alpha: Fraction, gamma: Fraction) -> bool:
        """Alpha over the tables, gamma over all columns."""
        size = len(self.records)
        return max(self.highest[:-1]) <= alpha * size and prod(self.highest) <= gamma * size ** len(self.highest)


def _satisfy(problem: GroupingProblem, groups: Buckets) -> Buckets:
    """Lines 20 to 41: a group that breaks alpha or gamma takes in the last group that is left, until it keeps both."""
    columns = [table.ids.tolist() for table in problem.tables] + [problem.sensitive[0].ids.tolist()]
    alpha, gamma = problem.model.alpha, problem.model.gamma
    waiting, done = deque(groups), deque[list[int]]()
    while waiting:
        group = _Group([], [Counter() for _ in columns], [0] * len(columns))
        group.add(columns, waiting.popleft())
        while not group.keeps(alpha, gamma) and (waiting or done):
            group.add(columns, (waiting or done).pop())
        done.append(group.records)
    return list(done)


# --- slppa ------------------------------------------------------------------------------------------------------------
Algorithm = Literal["guaranteed", "paper"]


@dataclass(frozen=True)
class Slppa(_Settled):
    """Tables by association, groups that keep (alpha, beta, gamma, delta), after Yao et al. 2021."""

    name: ClassVar[str] = "slppa"

    model: AlphaBetaGammaDelta
    tables: int | tuple[tuple[str, ...], ...] = 2
    """How many tables the quasi-identifiers are divided into, or the tables themselves."""
    linkage: Linkage = "average"
    association: Association = "phi2"
    max_table_size: int | None = None
    algorithm: Algorithm = "guaranteed"
    """"guaranteed" keeps alpha, beta and delta wherever a grouping can, and searches for gamma; "paper" is Algorithm 1 as printed."""
    locality: bool = False
    """Deal inside regions of similar records: groups of alike people answer queries better."""
    group_size: int = 1
    """Groups have at least so many records; larger groups protect more and tell less."""

    def __post_init__(self) -> None:
        if self.algorithm not in ("guaranteed", "paper"):
            raise BadInput(f"there is no algorithm {self.algorithm!r}", hint="Use 'guaranteed' or 'paper'")
        if self.algorithm == "paper" and (self.locality or self.group_size != 1):
            raise BadInput("Algorithm 1 of the paper knows neither locality nor a group size", hint="Leave them out")
        if self.group_size < 1:
            raise BadInput(f"groups of at least {self.group_size} records make no sense", hint="Ask for 1 or more")

    def divide(self, columns: ColumnCounts, quasi_identifiers: Sequence[str]) -> Division:
        """Tables by entropy and association, or as given."""
        if not isinstance(self.tables, int):
            return given_division(quasi_identifiers, self.tables)
        return divide(
            columns,
            quasi_identifiers,
            tables=self.tables,
            linkage=self.linkage,
            association=self.association,
            max_table_size=self.max_table_size,
        )

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups that keep the model."""
        if self.algorithm == "paper":
            return algorithm_1(problem)
        return group_records(problem, rng=rng, group_size=self.group_size, locality=self.locality)


# --- anatomy ----------------------------------------------------------------------------------------------------------
# Anatomy (Xiao and Tao 2006): all quasi-identifiers in one table, groups of l records with different sensitive values.
#
# While l buckets (the records of one sensitive value) are not empty, one random record of each of the l largest makes a group; at
# most l - 1 records are then left, each of a bucket of its own, and each goes to a random group without its value. This works exactly
# if no value is in more than one in l records.
@dataclass(frozen=True)
class Anatomy(_OneTable):
    """Every group has at least l records, all with different sensitive values."""

    name: ClassVar[str] = "anatomy"

    l_diversity: int

    def __post_init__(self) -> None:
        _check_l(self.l_diversity)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records of a group has the same value."""
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}")

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups from the largest buckets."""
        if len(problem.sensitive) != 1:
            raise BadInput("Anatomy knows one sensitive attribute", hint="Use slppa, which takes several")
        check_feasible(problem)
        attribute = problem.sensitive[0]
        groups = _largest_first(attribute.totals.tolist(), self.l_diversity, fewest=self.l_diversity)
        values = np.array(groups, dtype=np.int64).reshape(len(groups), self.l_diversity)
        group_of = np.repeat(np.arange(len(values)), self.l_diversity)
        # The groups of each value in order; the records of each value in random order; both laid side by side.
        slots = arrays.lay_out(values.ravel(), len(attribute.totals))
        order = rng.permutation(len(problem))
        order = order[arrays.stable_order(attribute.ids[order], len(attribute.totals))]
        used = np.diff(slots.start)
        place = np.arange(len(problem)) - np.repeat(np.cumsum(attribute.totals) - attribute.totals, attribute.totals)
        given = place < np.repeat(used, attribute.totals)
        found = np.full(len(problem), -1, dtype=np.int32)
        found[order[given]] = group_of[slots.members]
        for record in order[~given].tolist():
            value = attribute.ids[record]
            holds = group_of[slots.members[slots.start[value] : slots.start[value + 1]]]
            found[record] = rng.choice(np.setdiff1d(np.arange(len(values)), holds))
        return found


def _check_l(l_diversity: int) -> None:
    if l_diversity < 1:
        raise BadInput(f"l = {l_diversity} is not a whole number of at least 1")


# --- baselines --------------------------------------------------------------------------------------------------------
# ASN (Rajaei et al. 2015) publishes each attribute as a table of its own and bounds the sensitive association (beta) and the presence
# of a record; the presence bound is gamma here, where Yao et al. 2021 call it ASN's alpha. Random permutation promises nothing.
@dataclass(frozen=True)
class Asn(_Settled):
    """Each attribute by itself; beta and presence bounded."""

    name: ClassVar[str] = "asn"

    beta: Fraction
    presence: Fraction = Fraction(1)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """beta, and the presence as gamma."""
        return AlphaBetaGammaDelta(beta=self.beta, gamma=self.presence)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """A table for each."""
        del rows
        return given_division(quasi_identifiers, [[name] for name in quasi_identifiers])

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups that keep the model."""
        return group_records(problem, rng=rng)


@dataclass(frozen=True)
class RandomPermutation(_OneTable):
    """All quasi-identifiers in one table, records in groups by lot."""

    name: ClassVar[str] = "random_permutation"

    group_size: int

    def __post_init__(self) -> None:
        if self.group_size < 1:
            raise BadInput(f"groups of {self.group_size} records make no sense", hint="Ask for 1 or more")

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """Nothing is promised."""
        return AlphaBetaGammaDelta()

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups of equal size, or one record more."""
        groups = max(len(problem) // self.group_size, 1)
        return rng.permutation(len(problem)).astype(np.int32) % np.int32(groups)


# --- slicing ----------------------------------------------------------------------------------------------------------
# Slicing (Li, Li, Zhang and Molloy 2012): attributes clustered by k-medoids, records in Mondrian buckets with l-diversity.
#
# The distance of two attributes is 1 - phi2. A bucket is cut as long as both halves are l-diverse: with "distinct", each has l
# different sensitive values; with "frequency", none of its values is in more than one in l of its records. Two things differ from the
# paper, so that the method can be compared with the others: the sensitive attribute is a table of its own, and diversity is checked
# per bucket. The paper's own check, over all buckets that match a record, averages what is checked here, and is dearer.
Check = Literal["distinct", "frequency"]


@dataclass(frozen=True)
class Slicing(_Settled):
    """Tables of attributes that go together, buckets of records that are alike and l-diverse."""

    name: ClassVar[str] = "slicing"

    l_diversity: int
    tables: int = 2
    check: Check = "frequency"

    def __post_init__(self) -> None:
        _check_l(self.l_diversity)
        if self.check not in ("distinct", "frequency"):
            raise BadInput(f"there is no check {self.check!r}", hint="Use 'distinct' or 'frequency'")

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records with the frequency check; different values alone bound no share."""
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}" if self.check == "frequency" else 1)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Attributes around k medoids."""
        check_table_count(quasi_identifiers, self.tables)
        names = list(quasi_identifiers)
        pairs = combinations(names, 2)
        coefficients = tuple(Coefficient(left, right, associate(rows, left, right)) for left, right in pairs)
        distance = np.zeros((len(names), len(names)))
        for pair in coefficients:
            i, j = names.index(pair.left), names.index(pair.right)
            distance[i, j] = distance[j, i] = 1 - pair.value
        clusters: dict[int, list[str]] = {}
        for name, medoid in zip(names, k_medoids(distance, self.tables), strict=True):
            clusters.setdefault(medoid, []).append(name)
        return Division(tuple(map(tuple, clusters.values())), coefficients=coefficients, association="phi2")

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Mondrian buckets; nothing in them is random but their numbers."""
        check_feasible(problem)
        for attribute in problem.sensitive:
            if len(attribute.totals) < self.l_diversity:
                because = f"{attribute.name} has {len(attribute.totals)} values, fewer than l = {self.l_diversity}"
                raise InfeasibleModel(problem, because, proved=True)

        columns = [name for names in problem.names for name in names]
        bucket = mondrian(problem.rows, columns, allowed=partial(self._diverse, problem))
        return rng.permutation(int(bucket.max()) + 1).astype(np.int32)[bucket]

    def _diverse(self, problem: GroupingProblem, cell: Ints, records: Ints, cells: int) -> Bools:
        diverse = np.ones(cells, dtype=np.bool_)
        sizes = np.bincount(cell, minlength=cells)
        for attribute in problem.sensitive:
            counted = tally(cell, attribute.ids[records], groups=cells, values=len(attribute.totals))
            if self.check == "distinct":
                diverse &= np.bincount(counted.group, minlength=cells) >= self.l_diversity
            else:
                diverse &= counted.modal() * self.l_diversity <= sizes
        return diverse


def k_medoids(distance: npt.NDArray[np.float64], clusters: int) -> list[int]:
    """Partitioning around medoids (Kaufman and Rousseeuw 1990): the medoid of each item; the first of equals is taken.

    Medoids are added one by one where they shorten the total distance most, then exchanged as long as that shortens it.
    """
    items = len(distance)
    medoids: list[int] = []
    for _ in range(clusters):
        rest = [item for item in range(items) if item not in medoids]
        medoids.append(min(rest, key=lambda item: (_total(distance, [*medoids, item]), item)))
    while True:
        exchanges = [
            [item if medoid == out else medoid for medoid in medoids]
            for out in medoids
            for item in range(items)
            if item not in medoids
        ]
        best = min(exchanges, key=lambda chosen: _total(distance, chosen), default=medoids)
        if _total(distance, best) >= _total(distance, medoids):
            break
        medoids = best
    nearest = [min(medoids, key=lambda medoid: (medoid != item, distance[item, medoid])) for item in range(items)]
    return [int(medoid) for medoid in nearest]


def _total(distance: npt.NDArray[np.float64], medoids: Sequence[int]) -> Fraction:
    """Rounded, so that sums of the same numbers tie however they were added."""
    return Fraction(round(float(distance[:, list(medoids)].min(axis=1).sum()), 12))
