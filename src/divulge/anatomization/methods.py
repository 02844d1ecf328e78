# SPDX-License-Identifier: Apache-2.0
"""anatomize(): divide the columns into tables and the records into groups, by any method.

A method decides which quasi-identifiers share a table and which records share a group, and it
states the bounds that it guarantees. The result is measured here, in the same way for every method.
A method that violates its own bounds is a bug, not a release.
"""

from __future__ import annotations

import heapq
import logging
import math
import secrets
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.anatomization.column_division import (
    Coefficient,
    Division,
    Linkage,
    check_table_count,
    divide,
    explicit_division,
)
from divulge.anatomization.encoded_rows import Association, ColumnCounts, RowCodes, associate
from divulge.anatomization.group_count_bound import exact_group_count_bound
from divulge.anatomization.model import (
    AlphaBetaGammaDelta,
    GroupLevels,
    GroupSummary,
    Reached,
    tally,
)
from divulge.anatomization.problem import (
    GroupingProblem,
    Groups,
    InfeasibleModel,
    SensitiveTotals,
    check_feasible,
    problem_of,
)
from divulge.anatomization.record_grouping import (
    PriorClasses,
    group_records,
    group_within_classes,
    mondrian,
)
from divulge.arguments import Sentence, arg, marked, quoted
from divulge.arrays import Bools, Ints
from divulge.errors import BadInput, InternalError, nearest

LOG = logging.getLogger("divulge.anatomization")


class Method(Protocol):
    """An anatomization method: a frozen value with its settings as fields."""

    name: ClassVar[str]

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """The bounds that every group satisfies."""

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Return the columns of each table of quasi-identifiers."""

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Return the group of each record, numbered from 0."""

    def settings(self) -> Mapping[str, Any]:
        """Return the settings as plain values, to record how a release was made."""


@dataclass(frozen=True, eq=False)
class Anatomized:
    """A table divided into tables and groups; nothing is published yet.

    Records are those of `rows`, in that order.
    """

    method: str
    rows: RowCodes = field(repr=False)
    division: Division
    sensitive: tuple[str, ...]
    group: Groups = field(repr=False)
    """The group of each record, from 0; the numbers are random and carry no information."""
    model: AlphaBetaGammaDelta
    """The bounds that the method guarantees."""
    settings: Mapping[str, Any]
    seed: int
    """Seed of all random choices.

    Anyone who has it can repeat them, so it must never be published.
    """
    problem: GroupingProblem = field(repr=False)
    prior_classes: PriorClasses | None = field(default=None, repr=False)
    """Classes of these records in prior releases, if the groups lie within them."""

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table.

        Each sensitive attribute is a table of its own, at the end.
        """
        return (*self.division.tables, *((name,) for name in self.sensitive))

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @cached_property
    def at_most(self) -> int:
        """Proved upper bound on the number of groups of any grouping that satisfies the model.

        If `groups` equals it, no grouping has more.
        """
        return exact_group_count_bound(
            self.problem, group_size=self.settings.get("group_size", 1), group_count=self.groups
        )

    @cached_property
    def sizes(self) -> Ints:
        """Number of records of each group."""
        return np.bincount(self.group)

    @property
    def group_levels(self) -> GroupLevels:
        """Levels of each group, measured at every access.

        They take memory if there are many groups.
        """
        return self.problem.measure(self.group, groups=self.groups)

    @cached_property
    def summary(self) -> GroupSummary:
        """Summary of all groups."""
        return self.group_levels.summary(self.model)

    @property
    def levels(self) -> Reached:
        """Exact levels of the release."""
        return self.summary.levels


def anatomize(
    rows: RowCodes,
    method: Method,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str],
    seed: int | None = None,
    totals: Mapping[str, SensitiveTotals] | None = None,
    prior_classes: PriorClasses | None = None,
) -> Anatomized:
    """Divide the columns into tables and the records into groups.

    Without a seed, one is drawn and recorded. If the rows are a chunk of a table, `totals` holds
    the counts of the sensitive values in the whole table. With `prior_classes`, every group lies
    within one class of the prior releases.
    """
    secret = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    _check_columns(rows, quasi_identifiers, secret)
    if seed is None:
        actual_seed = secrets.randbits(64)
    else:
        actual_seed = seed
    LOG.info("dividing %d columns into tables", len(quasi_identifiers))
    division = method.divide(rows, tuple(quasi_identifiers))
    problem = problem_of(
        rows, tables=division.tables, sensitive=secret, model=method.model, totals=totals
    )
    rng = np.random.default_rng(actual_seed)
    group_by_method = partial(method.group, rng=rng)
    LOG.info("grouping records")
    if prior_classes is None:
        group = group_by_method(problem)
    else:
        group = group_within_classes(problem, prior_classes, group_by_method, rng=rng)
    model = method.model
    settings = method.settings()
    anatomized = Anatomized(
        method.name,
        rows,
        division,
        secret,
        group,
        model,
        settings,
        actual_seed,
        problem,
        prior_classes,
    )
    if anatomized.summary.breaking:
        raise InternalError(
            f"{method.name} made a group that breaks "
            f"{', '.join(anatomized.model.broken_by(anatomized.levels))}"
        )
    return anatomized


def _check_columns(
    rows: RowCodes, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> None:
    if not quasi_identifiers:
        raise BadInput(
            "no quasi-identifiers were named", hint="Name the columns that an adversary may know"
        )
    if not sensitive:
        raise BadInput(
            "no sensitive attribute was named",
            hint="Name the column whose values are to stay secret",
        )
    column_names: set[str] = set()
    for name in (*quasi_identifiers, *sensitive):
        if name not in rows.names:
            raise BadInput(f"the column {name!r} was not read", hint=nearest(name, rows.names))
        if name in column_names:
            raise BadInput(f"the column {name!r} is named twice", hint="A column has one role")
        column_names.add(name)
    if len(rows) == 0:
        raise BadInput("there are no rows", hint="There is nothing to anatomize")


@dataclass(frozen=True)
class _MethodSettings:
    """Base of methods: the settings of a method are its fields."""

    def settings(self) -> Mapping[str, Any]:
        """Return the settings as plain values, to record how a release was made."""
        return {
            setting.name: _plain_setting(getattr(self, setting.name)) for setting in fields(self)
        }


def _plain_setting(setting: object) -> object:
    if isinstance(setting, AlphaBetaGammaDelta):
        return setting.texts()
    if isinstance(setting, tuple):
        return [list(names) for names in setting]
    if isinstance(setting, Fraction):
        return str(setting)
    return setting


class _SingleTableMethod(_MethodSettings):
    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Put all quasi-identifiers into one table."""
        del rows
        return explicit_division(quasi_identifiers, [quasi_identifiers])


# --- Algorithm 1 of Yao et al. 2021, as printed, for comparison with record_grouping.py
# Lines 6 and 7 are printed as "while buckets > N" and "from tail to head", that is from the
# smallest bucket on. `enough` and `pick` choose the other readings: ">=" as the text says, and the
# largest buckets, sorted anew for each group, as Anatomy does. Line 17 ("break and reset beta or
# delta") raises an error: parameters are never changed silently. Lines 20 to 41 do not work as
# printed: the loop ends after the first good group, a combined group is never removed, and only the
# first group is tested at the end. The reading here: each bad group absorbs the last remaining
# group until it is good, and at the end all groups are tested for all four bounds.
Enough = Literal[">", ">="]
Pick = Literal["tail", "largest"]
Buckets = list[list[int]]
_GUARANTEED_HINT = f"Use {arg('algorithm', 'guaranteed')}, which does not give up there"


def algorithm_1(problem: GroupingProblem, *, enough: Enough = ">", pick: Pick = "tail") -> Groups:
    """Return the group of each record by Algorithm 1.

    Raises InfeasibleModel if the algorithm gives up. A grouping may exist nevertheless.
    """
    if len(problem.sensitive) != 1:
        raise BadInput(
            "Algorithm 1 of the paper knows one sensitive attribute",
            hint=f"Use {arg('algorithm', 'guaranteed')}",
        )
    size = problem.model.records_per_group
    if size is None:
        raise InfeasibleModel(
            problem, "N = 1/0 for a bound of 0 (line 5)", proved=False, hint=_GUARANTEED_HINT
        )
    groups = _merge_until_satisfied(problem, form_groups(problem, size, enough=enough, pick=pick))
    group_ids = np.empty(len(problem), dtype=np.int32)
    for number, records in enumerate(groups):
        group_ids[records] = number
    levels = problem.measure(group_ids, groups=len(groups))
    if not levels.satisfies(problem.model).all():
        violated_bounds = ", ".join(problem.model.broken_by(levels.worst()))
        because = f"Algorithm 1 ended with groups that break {violated_bounds} (line 40)"
        raise InfeasibleModel(problem, because, proved=False, hint=_GUARANTEED_HINT)
    return group_ids


def form_groups(
    problem: GroupingProblem, size: int, *, enough: Enough = ">", pick: Pick = "tail"
) -> Buckets:
    """Lines 1 to 19: groups of `size` records with different sensitive values.

    The remaining records are added to these groups.
    """
    records: dict[int, list[int]] = {}
    for record, value in enumerate(problem.sensitive[0].ids.tolist()):
        records.setdefault(value, []).append(record)
    buckets = sorted(records.values(), key=len, reverse=True)
    if enough == ">":
        fewest = size + 1
    else:
        fewest = size
    groups, groups_lacking = (_take_from_tail if pick == "tail" else _take_from_largest)(
        buckets, size, fewest
    )
    attribute = problem.sensitive[0]
    for bucket, groups_without_value in zip(buckets, groups_lacking, strict=True):
        if len(bucket) > len(groups_without_value):
            because = (
                f"Algorithm 1 has {len(bucket)} records with {attribute.name} = "
                f"{quoted(attribute.labels[attribute.ids[bucket[0]]])} left, and "
                f"{len(groups_without_value)} groups without that value (line 17)"
            )
            raise InfeasibleModel(problem, because, proved=False, hint=_GUARANTEED_HINT)
        for group in groups_without_value[: len(bucket)]:
            groups[group].append(bucket.pop())
    return groups


def _take_from_tail(buckets: Buckets, size: int, fewest: int) -> tuple[Buckets, list[range]]:
    """Lines 6 to 12 as printed: the last nonempty buckets contribute one record each.

    Also returns, for each bucket, the groups that lack its value. A bucket that contributes once
    continues until it is empty or the loop ends. So these are all groups made before its first
    contribution.
    """
    groups: Buckets = []
    first_contribution: list[int | None] = [None] * len(buckets)
    nonempty = list(range(len(buckets)))
    while len(nonempty) >= fewest:
        contributing = nonempty[-size:]
        times = min(len(buckets[bucket]) for bucket in contributing)
        for bucket in contributing:
            if first_contribution[bucket] is None:
                first_contribution[bucket] = len(groups)
        groups += [
            [buckets[bucket].pop() for bucket in reversed(contributing)] for _ in range(times)
        ]
        nonempty = [bucket for bucket in nonempty if buckets[bucket]]
    return groups, [range(len(groups) if first is None else first) for first in first_contribution]


def _take_from_largest(buckets: Buckets, size: int, fewest: int) -> tuple[Buckets, list[list[int]]]:
    """Lines 6 to 12 with the largest buckets instead of the last."""
    contributing = _largest_buckets([len(bucket) for bucket in buckets], size, fewest)
    groups_lacking = [
        [
            group
            for group, bucket_indices in enumerate(contributing)
            if bucket_index not in bucket_indices
        ]
        for bucket_index in range(len(buckets))
    ]
    return [
        [buckets[bucket_index].pop() for bucket_index in bucket_indices]
        for bucket_indices in contributing
    ], groups_lacking


def _largest_buckets(totals: Sequence[int], size: int, fewest: int) -> list[list[int]]:
    """For each group, the buckets that contribute a record to it.

    These are the `size` largest buckets, as long as at least `fewest` are not empty.
    """
    groups = []
    heap = [(-total, bucket_index) for bucket_index, total in enumerate(totals) if total]
    heapq.heapify(heap)
    while len(heap) >= fewest:
        contributing = [heapq.heappop(heap) for _ in range(size)]
        for length, bucket_index in contributing:
            if length < -1:
                heapq.heappush(heap, (length + 1, bucket_index))
        groups.append([bucket_index for _, bucket_index in contributing])
    return groups


@dataclass
class _GrowingGroup:
    """A growing group, with the counts of each tuple of each table and of each sensitive value."""

    records: list[int]
    counts: list[Counter[int]]
    largest_counts: list[int]

    def add(self, columns: Sequence[Sequence[int]], records: Sequence[int]) -> None:
        """Add records to the group."""
        self.records.extend(records)
        for column_index, column in enumerate(columns):
            for record in records:
                value = column[record]
                self.counts[column_index][value] += 1
                self.largest_counts[column_index] = max(
                    self.largest_counts[column_index], self.counts[column_index][value]
                )

    def satisfies(self, alpha: Fraction, gamma: Fraction) -> bool:
        """True if the group satisfies alpha over the tables and gamma over all columns."""
        size = len(self.records)
        return max(self.largest_counts[:-1]) <= alpha * size and math.prod(
            self.largest_counts
        ) <= gamma * size ** len(self.largest_counts)


def _merge_until_satisfied(problem: GroupingProblem, groups: Buckets) -> Buckets:
    """Lines 20 to 41: a group that violates alpha or gamma absorbs groups until it satisfies both.

    It absorbs the last remaining group first.
    """
    columns = [table.ids.tolist() for table in problem.tables] + [problem.sensitive[0].ids.tolist()]
    alpha = problem.model.alpha
    gamma = problem.model.gamma
    waiting = deque(groups)
    done = deque[list[int]]()
    while waiting:
        group = _GrowingGroup([], [Counter() for _ in columns], [0] * len(columns))
        group.add(columns, waiting.popleft())
        while not group.satisfies(alpha, gamma) and (waiting or done):
            group.add(columns, (waiting or done).pop())
        done.append(group.records)
    return list(done)


# --- slppa ----------------------------------------------------------------------------------------
Algorithm = Literal["guaranteed", "paper"]


@dataclass(frozen=True)
class Slppa(_MethodSettings):
    """SLPPA (Yao et al. 2021): tables by association, groups that satisfy the four bounds."""

    name: ClassVar[str] = "slppa"

    model: AlphaBetaGammaDelta
    tables: int | tuple[tuple[str, ...], ...] = 2
    """Number of tables that the quasi-identifiers are divided into, or the tables themselves."""
    linkage: Linkage = "average"
    association: Association = "phi2"
    max_table_size: int | None = None
    algorithm: Algorithm = "guaranteed"
    """Algorithm of the group division, "guaranteed" or "paper".

    "guaranteed" satisfies alpha, beta and delta whenever a grouping can, and searches for gamma.
    "paper" is Algorithm 1 as printed.
    """
    locality: bool = False
    """Assign records inside regions of similar records.

    Groups of similar people answer queries better.
    """
    group_size: int = 1
    """Fewest records of a group; larger groups protect more and have less utility."""

    def __post_init__(self) -> None:
        if self.algorithm not in ("guaranteed", "paper"):
            raise BadInput(
                f"there is no algorithm {self.algorithm!r}", hint="Use 'guaranteed' or 'paper'"
            )
        if self.algorithm == "paper" and (self.locality or self.group_size != 1):
            raise BadInput(
                "Algorithm 1 of the paper knows neither locality nor a group size",
                hint="Leave them out",
            )
        if self.group_size < 1:
            raise BadInput(
                f"groups of at least {self.group_size} records make no sense",
                hint="Ask for 1 or more",
            )

    def divide(self, columns: ColumnCounts, quasi_identifiers: Sequence[str]) -> Division:
        """Divide the tables by entropy and association, or as passed."""
        if not isinstance(self.tables, int):
            return explicit_division(quasi_identifiers, self.tables)
        return divide(
            columns,
            quasi_identifiers,
            tables=self.tables,
            linkage=self.linkage,
            association=self.association,
            max_table_size=self.max_table_size,
        )

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Return groups that satisfy the model."""
        if self.algorithm == "paper":
            return algorithm_1(problem)
        return group_records(problem, rng=rng, group_size=self.group_size, locality=self.locality)


# --- anatomy --------------------------------------------------------------------------------------
# Anatomy (Xiao and Tao 2006): all quasi-identifiers in one table, groups of l records with
# different sensitive values.
#
# A bucket holds the records of one sensitive value. While l buckets are not empty, one random
# record of each of the l largest forms a group. Then at most l - 1 records are left, each in a
# bucket of its own, and each goes to a random group without its value. This works if and only if no
# value is in more than one in l records.
@dataclass(frozen=True)
class Anatomy(_SingleTableMethod):
    """Anatomy: every group has at least l records, all with different sensitive values."""

    name: ClassVar[str] = "anatomy"

    l_diversity: int

    def __post_init__(self) -> None:
        _check_l(self.l_diversity)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records of a group has the same value."""
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}")

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Form groups from the largest buckets."""
        if len(problem.sensitive) != 1:
            raise BadInput(
                "Anatomy knows one sensitive attribute", hint="Use slppa, which takes several"
            )
        _check_feasible_l(problem)
        attribute = problem.sensitive[0]
        groups = _largest_buckets(
            attribute.totals.tolist(), self.l_diversity, fewest=self.l_diversity
        )
        values = np.array(groups, dtype=np.int64).reshape(len(groups), self.l_diversity)
        group_of = np.repeat(np.arange(len(values)), self.l_diversity)
        # Match two lists: the groups of each value in order, and the records of each value in
        # random order.
        slots = arrays.lay_out(values.ravel(), len(attribute.totals))
        order = rng.permutation(len(problem))
        order = order[arrays.stable_order(attribute.ids[order], len(attribute.totals))]
        slot_counts = np.diff(slots.start)
        position = np.arange(len(problem)) - np.repeat(
            np.cumsum(attribute.totals) - attribute.totals, attribute.totals
        )
        has_slot = position < np.repeat(slot_counts, attribute.totals)
        group_ids = np.full(len(problem), -1, dtype=np.int32)
        group_ids[order[has_slot]] = group_of[slots.members]
        for record in order[~has_slot].tolist():
            value = attribute.ids[record]
            groups_with_value = group_of[slots.members[slots.start[value] : slots.start[value + 1]]]
            group_ids[record] = rng.choice(np.setdiff1d(np.arange(len(values)), groups_with_value))
        return group_ids


def _check_l(l_diversity: int) -> None:
    if l_diversity < 1:
        raise BadInput(f"l = {l_diversity} is not a whole number of at least 1")


def _check_feasible_l(problem: GroupingProblem) -> None:
    """Raise InfeasibleModel with the nearest beta = 1/l if no grouping satisfies the model.

    These methods round beta down to 1/l, so the share of the most common value is no beta to name.
    """
    try:
        check_feasible(problem)
    except InfeasibleModel as error:
        share = error.nearest.beta
        largest_l = math.floor(1 / share)
        if largest_l == 1:
            error.hint = Sentence(f"Use the method slppa, with beta = {share} or more")
            raise
        raise InfeasibleModel(
            problem,
            f"{marked(error.because)} (this method rounds beta down to 1/l)",
            proved=error.proved,
            nearest=replace(error.nearest, beta=Fraction(1, largest_l)),
        ) from None


# --- baselines ------------------------------------------------------------------------------------
# ASN (Rajaei et al. 2015) publishes each attribute as a separate table and bounds the sensitive
# association (beta) and the presence of a record. The presence bound is gamma here; Yao et al. 2021
# call it ASN's alpha. Random permutation guarantees nothing.
@dataclass(frozen=True)
class Asn(_MethodSettings):
    """ASN: each attribute in a separate table, with bounds on beta and presence."""

    name: ClassVar[str] = "asn"

    beta: Fraction
    presence: Fraction = Fraction(1)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """Beta, and the presence bound as gamma."""
        return AlphaBetaGammaDelta(beta=self.beta, gamma=self.presence)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Put each quasi-identifier into a table of its own."""
        del rows
        return explicit_division(quasi_identifiers, [[name] for name in quasi_identifiers])

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Return groups that satisfy the model."""
        return group_records(problem, rng=rng)


@dataclass(frozen=True)
class RandomPermutation(_SingleTableMethod):
    """All quasi-identifiers in one table, records in random groups."""

    name: ClassVar[str] = "random_permutation"

    group_size: int

    def __post_init__(self) -> None:
        if self.group_size < 1:
            raise BadInput(
                f"groups of {self.group_size} records make no sense", hint="Ask for 1 or more"
            )

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """No bounds: nothing is guaranteed."""
        return AlphaBetaGammaDelta()

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Return random groups of equal size, or one record more."""
        groups = max(len(problem) // self.group_size, 1)
        return rng.permutation(len(problem)).astype(np.int32) % np.int32(groups)


# --- slicing --------------------------------------------------------------------------------------
# Slicing (Li, Li, Zhang and Molloy 2012): attributes clustered by k-medoids, records in Mondrian
# buckets with l-diversity.
#
# The distance of two attributes is 1 - phi2. A bucket is split as long as both halves are
# l-diverse. With "distinct", each half has l different sensitive values. With "frequency", no value
# is in more than one in l of its records. Two things differ from the paper, so that the method can
# be compared with the others: the sensitive attribute is a separate table, and diversity is checked
# per bucket. The paper's own check, over all buckets that match a record, averages these shares and
# is more expensive.
Check = Literal["distinct", "frequency"]


@dataclass(frozen=True)
class Slicing(_MethodSettings):
    """Slicing: tables of associated attributes, buckets of similar records that are l-diverse."""

    name: ClassVar[str] = "slicing"

    l_diversity: int
    tables: int = 2
    check: Check = "frequency"

    def __post_init__(self) -> None:
        _check_l(self.l_diversity)
        if self.check not in ("distinct", "frequency"):
            raise BadInput(
                f"there is no check {self.check!r}", hint="Use 'distinct' or 'frequency'"
            )

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """At most one in l records has the same value, with the frequency check.

        The distinct check bounds no share.
        """
        return AlphaBetaGammaDelta(beta=f"1/{self.l_diversity}" if self.check == "frequency" else 1)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """Cluster the attributes around k medoids."""
        check_table_count(quasi_identifiers, self.tables)
        names = list(quasi_identifiers)
        pairs = combinations(names, 2)
        coefficients = tuple(
            Coefficient(left, right, associate(rows, left, right)) for left, right in pairs
        )
        distance = np.zeros((len(names), len(names)))
        for pair in coefficients:
            i = names.index(pair.left)
            j = names.index(pair.right)
            distance[i, j] = distance[j, i] = 1 - pair.value
        clusters: dict[int, list[str]] = {}
        for name, medoid in zip(names, k_medoids(distance, self.tables), strict=True):
            clusters.setdefault(medoid, []).append(name)
        return Division(
            tuple(map(tuple, clusters.values())), coefficients=coefficients, association="phi2"
        )

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Return Mondrian buckets; only their numbers are random."""
        _check_feasible_l(problem)
        for attribute in problem.sensitive:
            if len(attribute.totals) < self.l_diversity:
                because = (
                    f"{attribute.name} has {len(attribute.totals)} values, fewer than l = "
                    f"{self.l_diversity}"
                )
                hint = f"Raise beta to 1/{len(attribute.totals)}"
                raise InfeasibleModel(problem, because, proved=True, hint=hint)

        columns = [name for names in problem.names for name in names]
        bucket = mondrian(problem.rows, columns, are_allowed=partial(self._is_diverse, problem))
        return rng.permutation(int(bucket.max()) + 1).astype(np.int32)[bucket]

    def _is_diverse(self, problem: GroupingProblem, cell: Ints, records: Ints, cells: int) -> Bools:
        diverse = np.ones(cells, dtype=np.bool_)
        sizes = np.bincount(cell, minlength=cells)
        for attribute in problem.sensitive:
            value_tally = tally(
                cell, attribute.ids[records], groups=cells, values=len(attribute.totals)
            )
            if self.check == "distinct":
                diverse &= np.bincount(value_tally.group, minlength=cells) >= self.l_diversity
            else:
                diverse &= value_tally.modal() * self.l_diversity <= sizes
        return diverse


def k_medoids(distance: npt.NDArray[np.float64], clusters: int) -> list[int]:
    """Medoid of each item, by partitioning around medoids (Kaufman and Rousseeuw 1990).

    Medoids are added one by one, each time the one that reduces the total distance most. Then
    medoids are exchanged as long as that reduces it. Ties go to the first item.
    """
    items = len(distance)
    medoids: list[int] = []
    for _ in range(clusters):
        rest = [item for item in range(items) if item not in medoids]
        medoids.append(
            min(rest, key=lambda item: (_total_distance(distance, [*medoids, item]), item))
        )
    while True:
        exchanges = [
            [item if medoid == out else medoid for medoid in medoids]
            for out in medoids
            for item in range(items)
            if item not in medoids
        ]
        best = min(exchanges, key=lambda chosen: _total_distance(distance, chosen), default=medoids)
        if _total_distance(distance, best) >= _total_distance(distance, medoids):
            break
        medoids = best
    nearest = [
        min(medoids, key=lambda medoid: (medoid != item, distance[item, medoid]))
        for item in range(items)
    ]
    return [int(medoid) for medoid in nearest]


def _total_distance(distance: npt.NDArray[np.float64], medoids: Sequence[int]) -> Fraction:
    """Total distance, rounded so that sums of the same numbers tie in any order of addition."""
    return Fraction(round(float(distance[:, list(medoids)].min(axis=1).sum()), 12))
