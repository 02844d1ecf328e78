# SPDX-License-Identifier: Apache-2.0
"""Upper bound on the number of groups of a table, and group sizes that come close to it.

The bound is proved from counts only. A group has a shape: its size, and the counts of its most
common tuple of each table and of its most common sensitive value. The model decides which shapes
are allowed. The counts of all groups must add up to those of the table, so there must be room for
its most common tuples. Finding the shapes that give the most groups is a linear program with a row
for each such count. Its dual prices prove the bound: any prices do, and these give the least. Its
solution consists of a few group sizes, often unequal: at alpha = 2/5, 7 records have room for 2
records of a tuple, and 15 for 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from divulge.anatomization.problem import (
    MOST_RECORDS_TO_ENUMERATE,
    GroupingProblem,
    WholeTable,
    search_all_groupings,
)
from divulge.arrays import Ints

Floats = npt.NDArray[np.float64]

_MODELED_TABLES = 3
"""Number of tables with a row of their own: those with the most common tuples.

For the other tables only the unavoidable minimum is counted.
"""
_ENUMERATED_SIZES = 256
"""Number of sizes that are examined one by one.

Larger groups are approximated as if their counts could be fractional.
"""
_MOST_INTEGER_SHAPES = 300
"""If a size has more shapes than this, their counts may be fractional too."""
_MOST_PIVOTS = 500
_EVENNESS_WEIGHT = 1e-11
_ROUNDING_ALLOWANCE = 1e-9
"""Relative allowance for rounding errors, many times larger than these.

It keeps the bound valid.
"""


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """Sizes of the groups of a table, and the capacity of each group."""

    sizes: Ints = field(repr=False)
    values: Ints = field(repr=False)
    """Count of the most common sensitive value in each group."""
    tuples: Ints = field(repr=False)
    """For each pressing table, the count of its most common tuple in each group.

    The table with the most common tuple comes first.
    """

    def __len__(self) -> int:
        return len(self.sizes)


def bound_group_count(
    whole_table: WholeTable, *, group_size: int = 1, group_count: int | None = None
) -> int:
    """Upper bound on the number of groups of at least `group_size` records that satisfy the model.

    0 proves that there is no such grouping. If `group_count` equals the bound
    from the least group size, the linear program is skipped.
    """
    size_bound = whole_table.rows // max(
        min(group_size, whole_table.rows), _Limits.of(whole_table).smallest()
    )
    if size_bound in (group_count, 0):
        return size_bound
    program = _Program.of(whole_table, group_size)
    if len(program.sizes):
        return max(min(size_bound, program.bound()), 0)
    return 0


def exact_group_count_bound(
    problem: GroupingProblem, *, group_size: int = 1, group_count: int | None = None
) -> int:
    """Upper bound on the number of groups, exact if all groupings of a small table are tried."""
    bound = bound_group_count(problem.whole_table, group_size=group_size, group_count=group_count)
    if bound == group_count or len(problem) > MOST_RECORDS_TO_ENUMERATE:
        return bound
    best = search_all_groupings(problem, group_size=min(group_size, len(problem)))
    if best is None:
        return 0
    return int(best.max()) + 1


def plan_groups(
    whole_table: WholeTable, *, group_size: int = 1, reserve_share: Fraction = Fraction(0)
) -> GroupPlan | None:
    """Plan as many groups as the counts allow, with a reserve for the common tuples.

    The plan has room for these tuples as if they were more common by `reserve_share`. None if
    the counts do not allow it.
    """
    program = _Program.of(whole_table, group_size, reserve_share)
    if len(program.sizes):
        return program.plan()
    return None


@dataclass(frozen=True, eq=False)
class _Program:
    """Linear program: the most shapes such that sizes sum to `rows` and counts reach `needed`."""

    rows: int
    sizes: Floats
    """Size of each shape; the last shapes may represent all larger groups."""
    counts: Floats
    """Counts of each shape, one row for each required count."""
    needed: Floats

    @classmethod
    def of(
        cls, whole_table: WholeTable, group_size: int, reserve_share: Fraction = Fraction(0)
    ) -> _Program:
        limits = _Limits.of(whole_table)
        smallest = max(min(group_size, whole_table.rows), limits.smallest())
        last = min(whole_table.rows, smallest + _ENUMERATED_SIZES)
        shapes = [shape for size in range(smallest, last + 1) for shape in limits.shapes(size)]
        if last < whole_table.rows:
            shapes += limits.corners(last + 1, is_integral=False)
        shape_rows = np.array(shapes, dtype=np.float64).reshape(len(shapes), len(limits.needed) + 1)
        needed_counts = np.array(limits.needed)
        needed_counts[1 : len(limits.shares)] = [
            math.ceil(count * (1 + reserve_share)) for count in limits.tuples
        ]
        return cls(
            whole_table.rows,
            shape_rows[:, 0],
            shape_rows[:, 1:].T,
            needed_counts.astype(np.float64),
        )

    def bound(self) -> int:
        """Upper bound on the number of groups, from the dual prices.

        With a price for each required count, no record is worth more than in the best shape.
        """
        prices = np.maximum(-self._solve()[2][1:], 0.0)
        worth = float(((1 + prices @ self.counts) / self.sizes).max())
        total_worth = worth * self.rows
        total_price = float(prices @ self.needed)
        slack = _ROUNDING_ALLOWANCE * (1 + total_worth + float(prices @ np.abs(self.needed)))
        return math.floor(total_worth - total_price + slack)

    def plan(self) -> GroupPlan | None:
        basis, amounts, _ = self._solve()
        chosen = [
            (column, times)
            for column, times in zip(basis, amounts, strict=True)
            if column < len(self.sizes)
        ]
        sizes = np.array([int(self.sizes[column]) for column, _ in chosen])
        times = np.array([int(times + 1e-6) for _, times in chosen])
        left = self.rows - int(sizes @ times)
        if len(self.sizes) + len(self.needed) in basis or times.sum() == 0 or left < 0:
            return None
        for shape_index in np.argsort(sizes):
            more = left // int(sizes[shape_index])
            times[shape_index] += more
            left -= more * int(sizes[shape_index])
        shape = np.repeat([column for column, _ in chosen], times)
        # The remaining records go to the groups one by one: a larger group has no less room.
        group_sizes = self.sizes[shape].astype(np.int64) + left // len(shape)
        group_sizes[: left % len(shape)] += 1
        count_limits = np.maximum(self.counts[:, shape].astype(np.int64), 1)
        return GroupPlan(group_sizes, count_limits[0], count_limits[1 : 1 + _MODELED_TABLES])

    def _solve(self) -> tuple[list[int], Floats, Floats]:
        """Simplex method: columns of the basis, the amount of each, and the dual prices.

        The prices are those of a record and of each required count. The matrix has the shapes
        first, then the surplus of each count. The last column satisfies all requirements at once
        and is too expensive to stay.
        """
        right = np.concatenate([[self.rows], self.needed])
        surplus = np.vstack([np.zeros(len(self.needed)), -np.eye(len(self.needed))])
        matrix = np.hstack([np.vstack([self.sizes, self.counts]), surplus, right[:, None]])
        # Among equally good plans, prefer one with groups of similar sizes. The tie-breaker is far
        # below one group and is not part of the bound.
        shapes = 1 - _EVENNESS_WEIGHT * self.sizes**2
        worth = np.concatenate([shapes, np.zeros(len(self.needed)), [-(float(self.rows) ** 2)]])
        basis = [matrix.shape[1] - 1, *range(len(self.sizes), matrix.shape[1] - 1)]
        for _ in range(_MOST_PIVOTS):
            square = matrix[:, basis]
            amounts = np.linalg.solve(square, right)
            prices = np.linalg.solve(square.T, worth[basis])
            gain = worth - prices @ matrix
            entering = int(gain.argmax())
            if gain[entering] < 1e-9:
                break
            column_use = np.linalg.solve(square, matrix[:, entering])
            ratios = np.where(
                column_use > 1e-11, amounts / np.where(column_use > 1e-11, column_use, 1.0), np.inf
            )
            basis[int(ratios.argmin())] = entering
        return basis, amounts, prices


@dataclass(frozen=True)
class _Limits:
    """Limits on the counts of a group of each size.

    The most common sensitive value comes first, then the most common tuples of the pressing tables.
    """

    whole_table: WholeTable
    shares: tuple[Fraction, ...]
    """Largest share of each in a group."""
    distinct: tuple[int, ...]
    """Number of distinct values, or tuples, of each.

    One of them makes up at least 1/distinct of a group.
    """
    others: tuple[int, ...]
    """Number of distinct tuples of the tables without a row of their own."""
    least_share: Fraction
    """Least share of the most common sensitive value in a group, from delta; 0 or less if optional.
    """

    @classmethod
    def of(cls, whole_table: WholeTable) -> _Limits:
        model = whole_table.model
        first = max(whole_table.sensitive, key=lambda attribute: attribute.records)
        share = Fraction(first.records, whole_table.rows)
        tables = sorted(whole_table.tables, key=lambda table: -table.records)
        return cls(
            whole_table,
            shares=(
                min(model.beta, share + model.delta),
                *(model.alpha for _ in tables[:_MODELED_TABLES]),
            ),
            distinct=(first.distinct, *(table.distinct for table in tables[:_MODELED_TABLES])),
            others=tuple(table.distinct for table in tables[_MODELED_TABLES:]),
            least_share=share - model.delta,
        )

    @property
    def needed(self) -> tuple[int, ...]:
        """Required counts: those of the whole table.

        The last one is negative and present only if delta requires a minimum share of a value.
        """
        first = max(attribute.records for attribute in self.whole_table.sensitive)
        return (first, *self.tuples, *([-first] if self.least_share > 0 else []))

    @property
    def tuples(self) -> list[int]:
        """Count of the most common tuple of each pressing table."""
        return sorted((table.records for table in self.whole_table.tables), reverse=True)[
            :_MODELED_TABLES
        ]

    def smallest(self) -> int:
        """Least size of a group.

        Each tuple and value of a group occurs at least once, and the product of these counts
        satisfies gamma.
        """
        gamma = self.whole_table.model.gamma
        columns = len(self.whole_table.tables) + 1
        if not gamma or not all(self.shares):
            return self.whole_table.rows + 1
        # A float approximates the root, and integers decide.
        approximate_size = math.floor(math.pow(1 / gamma, 1 / columns)) - 1
        group_size = max(approximate_size, *(math.ceil(1 / share) for share in self.shares))
        while gamma * group_size**columns < 1:
            group_size += 1
        return group_size

    def shapes(self, size: int) -> list[tuple[float, ...]]:
        """All shapes that no other shape dominates, or shapes that enclose them."""
        low = [-(-size // distinct) for distinct in self.distinct]
        high = [math.floor(size * share) for share in self.shares]
        if (
            any(least > highest for least, highest in zip(low, high, strict=True))
            or self.least_share * size > high[0]
        ):
            return []
        ranges = [range(least, highest + 1) for least, highest in zip(low, high, strict=True)]
        if math.prod(map(len, ranges[:-1])) > _MOST_INTEGER_SHAPES:
            return self.corners(size)
        combination_count = math.floor(self._combinations(size))
        candidates = []
        for counts in product(*ranges[:-1]):
            last = min(high[-1], combination_count // math.prod(counts))
            if last >= low[-1]:
                candidates.append((size, *counts, last, *self._minimum_count(size)))
        return candidates

    def corners(self, size: int, *, is_integral: bool = True) -> list[tuple[float, ...]]:
        """Shapes with fractional counts, such that no shape is worth more, for any prices.

        The logarithms of the counts lie in a box that gamma cuts with a plane, and worth is a
        convex function of them. So it is largest in a corner, where all counts but one are at an
        end of their range.
        """
        low = [
            float(-(-size // distinct)) if is_integral else size / distinct
            for distinct in self.distinct
        ]
        high = [
            float(math.floor(size * share)) if is_integral else float(size * share)
            for share in self.shares
        ]
        combinations = float(self._combinations(size, is_integral=is_integral))
        fewest = self._minimum_count(size, is_integral=is_integral)
        corner_shapes = []
        for free_variable in range(len(low)):
            ends = [[least, highest] for least, highest in zip(low, high, strict=True)]
            ends[free_variable] = [1.0]
            for counts in set(product(*ends)):
                last = min(
                    high[free_variable],
                    combinations / math.prod(counts) * (1 + _ROUNDING_ALLOWANCE),
                )
                if last >= low[free_variable] * (1 - _ROUNDING_ALLOWANCE):
                    corner_shapes.append(
                        (size, *counts[:free_variable], last, *counts[free_variable + 1 :], *fewest)
                    )
        return corner_shapes

    def _combinations(self, size: int, *, is_integral: bool = True) -> Fraction:
        """Largest product of the counts of a shape."""
        power: int = size ** (len(self.whole_table.tables) + 1)
        product_limit = self.whole_table.model.gamma * power
        for distinct in self.others:
            if is_integral:
                product_limit /= -(-size // distinct)
            else:
                product_limit /= Fraction(size, distinct)
        return product_limit

    def _minimum_count(self, size: int, *, is_integral: bool = True) -> tuple[float, ...]:
        if self.least_share <= 0:
            return ()
        fewest = self.least_share * size
        return (-float(math.ceil(fewest) if is_integral else fewest),)
