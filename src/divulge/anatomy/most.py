# SPDX-License-Identifier: Apache-2.0
"""The most groups that a table can be divided into: a bound that is proved from counts alone, and group sizes that come near it.

A group has a shape: its size, and how often its commonest tuple of each table and its commonest sensitive value occur in it. The model
says which shapes may be; the counts of all groups must add up to those of the table, so its commonest tuples need room. Which shapes make
the most groups is a linear program with a row for each such count. Its prices prove the bound: any prices do, these give the least.
Its solution is a few sizes of groups, often unequal ones: at alpha = 2/5, 7 records have room for 2 of a tuple, and 15 for 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from divulge.anatomy.problem import SMALL, GroupingProblem, WholeTable, search_all
from divulge.arrays import Ints

Floats = npt.NDArray[np.float64]

_PRESSING = 3
"""So many tables, those with the commonest tuples, have a row of their own; of the others a group holds what it must."""
_SIZES = 256
"""So many sizes are looked at one by one; larger groups are taken for as good as if their counts need not be whole."""
_WHOLE_SHAPES = 300
"""Where a size has more shapes than that, their counts need not be whole either."""
_STEPS = 500
_EVEN = 1e-11
_OUTWARD = 1e-9
"""What rounding might have taken from a number is given back many times over, so that the bound stays one."""


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """How large the groups of a table should be, and what each has room for."""

    sizes: Ints = field(repr=False)
    values: Ints = field(repr=False)
    """How often the commonest sensitive value occurs in each group."""
    tuples: Ints = field(repr=False)
    """For each pressing table, the one with the commonest tuple first, how often that occurs in each group."""

    def __len__(self) -> int:
        return len(self.sizes)


def at_most(whole: WholeTable, *, group_size: int = 1, found: int | None = None) -> int:
    """No grouping that keeps the model has more groups of at least `group_size` records; 0 if that proves that there is none.

    Less work is done if so many were found that the least size of a group settles it.
    """
    simplest = whole.rows // max(min(group_size, whole.rows), _Limits.of(whole).smallest())
    if simplest in (found, 0):
        return simplest
    program = _Program.of(whole, group_size)
    return max(min(simplest, program.bound()), 0) if len(program.sizes) else 0


def most_possible(problem: GroupingProblem, *, group_size: int = 1, found: int | None = None) -> int:
    """The same, of records at hand: a table so small that every grouping can be tried is not left to its counts."""
    bound = at_most(problem.as_one, group_size=group_size, found=found)
    if bound == found or len(problem) > SMALL:
        return bound
    best = search_all(problem, group_size=min(group_size, len(problem)))
    return 0 if best is None else int(best.max()) + 1


def plan_groups(whole: WholeTable, *, group_size: int = 1, spare: Fraction = Fraction(0)) -> GroupPlan | None:
    """As many groups as the counts allow if the commonest tuples were more common by the share `spare`; None if they do not allow it."""
    program = _Program.of(whole, group_size, spare)
    return program.plan() if len(program.sizes) else None


@dataclass(frozen=True, eq=False)
class _Program:
    """The most shapes whose sizes add up to the rows, and whose counts reach what is needed."""

    rows: int
    sizes: Floats
    """The size of each shape; the last ones may stand for all larger groups."""
    counts: Floats
    """What each shape holds of each thing that is needed."""
    needed: Floats

    @classmethod
    def of(cls, whole: WholeTable, group_size: int, spare: Fraction = Fraction(0)) -> _Program:
        limits = _Limits.of(whole)
        smallest = max(min(group_size, whole.rows), limits.smallest())
        last = min(whole.rows, smallest + _SIZES)
        shapes = [shape for size in range(smallest, last + 1) for shape in limits.shapes(size)]
        if last < whole.rows:
            shapes += limits.corners(last + 1, whole=False)
        drawn = np.array(shapes, dtype=np.float64).reshape(len(shapes), len(limits.needed) + 1)
        needed = np.array(limits.needed)
        needed[1 : len(limits.shares)] = [math.ceil(count * (1 + spare)) for count in limits.tuples]
        return cls(whole.rows, drawn[:, 0], drawn[:, 1:].T, needed.astype(np.float64))

    def bound(self) -> int:
        """The most that the shapes can be worth: with a price for each thing needed, no record is worth more than in the best shape."""
        prices = np.maximum(-self._solve()[2][1:], 0.0)
        worth = float(((1 + prices @ self.counts) / self.sizes).max())
        fetched, paid = worth * self.rows, float(prices @ self.needed)
        slack = _OUTWARD * (1 + fetched + float(prices @ np.abs(self.needed)))
        return math.floor(fetched - paid + slack)

    def plan(self) -> GroupPlan | None:
        basis, number, _ = self._solve()
        chosen = [(column, times) for column, times in zip(basis, number, strict=True) if column < len(self.sizes)]
        sizes = np.array([int(self.sizes[column]) for column, _ in chosen])
        times = np.array([int(times + 1e-6) for _, times in chosen])
        left = self.rows - int(sizes @ times)
        if len(self.sizes) + len(self.needed) in basis or times.sum() == 0 or left < 0:
            return None
        for place in np.argsort(sizes):
            more = left // int(sizes[place])
            times[place] += more
            left -= more * int(sizes[place])
        shape = np.repeat([column for column, _ in chosen], times)
        # What is left goes to the groups one by one: a larger group has room for no less.
        found = self.sizes[shape].astype(np.int64) + left // len(shape)
        found[: left % len(shape)] += 1
        held = np.maximum(self.counts[:, shape].astype(np.int64), 1)
        return GroupPlan(found, held[0], held[1 : 1 + _PRESSING])

    def _solve(self) -> tuple[list[int], Floats, Floats]:
        """The simplex method: the columns of the basis, how often each is taken, and the price of a record and of each thing needed.

        Behind the shapes stand the surplus of each thing, and at last a column that meets all needs at once, too dear to stay.
        """
        right = np.concatenate([[self.rows], self.needed])
        surplus = np.vstack([np.zeros(len(self.needed)), -np.eye(len(self.needed))])
        matrix = np.hstack([np.vstack([self.sizes, self.counts]), surplus, right[:, None]])
        # Of plans that are as good, one with groups of similar sizes: a tie-breaker far below a group, which the bound does not hear of.
        shapes = 1 - _EVEN * self.sizes**2
        worth = np.concatenate([shapes, np.zeros(len(self.needed)), [-(float(self.rows) ** 2)]])
        basis = [matrix.shape[1] - 1, *range(len(self.sizes), matrix.shape[1] - 1)]
        for _ in range(_STEPS):
            square = matrix[:, basis]
            number, prices = np.linalg.solve(square, right), np.linalg.solve(square.T, worth[basis])
            gain = worth - prices @ matrix
            entering = int(gain.argmax())
            if gain[entering] < 1e-9:
                break
            spent = np.linalg.solve(square, matrix[:, entering])
            lasts = np.where(spent > 1e-11, number / np.where(spent > 1e-11, spent, 1.0), np.inf)
            basis[int(lasts.argmin())] = entering
        return basis, number, prices


@dataclass(frozen=True)
class _Limits:
    """What a group of each size may hold: of the commonest sensitive value first, then of the tuples of the pressing tables."""

    whole: WholeTable
    shares: tuple[Fraction, ...]
    """The largest share of each in a group."""
    distinct: tuple[int, ...]
    """How many values, or tuples, there are of each: one of them makes up at least that part of a group."""
    others: tuple[int, ...]
    """The same for the tables without a row of their own."""
    least: Fraction
    """The least share of the commonest sensitive value in a group, from delta; 0 or less where it may be absent."""

    @classmethod
    def of(cls, whole: WholeTable) -> _Limits:
        model = whole.model
        first = max(whole.sensitive, key=lambda attribute: attribute.records)
        share = Fraction(first.records, whole.rows)
        tables = sorted(whole.tables, key=lambda table: -table.records)
        return cls(
            whole,
            shares=(min(model.beta, share + model.delta), *(model.alpha for _ in tables[:_PRESSING])),
            distinct=(first.distinct, *(table.distinct for table in tables[:_PRESSING])),
            others=tuple(table.distinct for table in tables[_PRESSING:]),
            least=share - model.delta,
        )

    @property
    def needed(self) -> tuple[int, ...]:
        """The counts of the whole table; the last one, below 0, only where delta says how often a value must occur at least."""
        first = max(attribute.records for attribute in self.whole.sensitive)
        return (first, *self.tuples, *([-first] if self.least > 0 else []))

    @property
    def tuples(self) -> list[int]:
        """How common the commonest tuple of each pressing table is."""
        return sorted((table.records for table in self.whole.tables), reverse=True)[:_PRESSING]

    def smallest(self) -> int:
        """No group has fewer records: each holds something once, and the product of these counts keeps gamma."""
        gamma, columns = self.whole.model.gamma, len(self.whole.tables) + 1
        if not gamma or not all(self.shares):
            return self.whole.rows + 1
        # A float comes near the root, and whole numbers decide.
        near = math.floor(math.pow(1 / gamma, 1 / columns)) - 1
        found = max(near, *(math.ceil(1 / share) for share in self.shares))
        while gamma * found**columns < 1:
            found += 1
        return found

    def shapes(self, size: int) -> list[tuple[float, ...]]:
        """All shapes that are not less than another in everything, or what encloses them."""
        low = [-(-size // distinct) for distinct in self.distinct]
        high = [math.floor(size * share) for share in self.shares]
        if any(least > most for least, most in zip(low, high, strict=True)) or self.least * size > high[0]:
            return []
        ranges = [range(least, most + 1) for least, most in zip(low, high, strict=True)]
        if math.prod(map(len, ranges[:-1])) > _WHOLE_SHAPES:
            return self.corners(size)
        free = math.floor(self._combinations(size))
        found = []
        for counts in product(*ranges[:-1]):
            last = min(high[-1], free // math.prod(counts))
            if last >= low[-1]:
                found.append((size, *counts, last, *self._fewest(size)))
        return found

    def corners(self, size: int, *, whole: bool = True) -> list[tuple[float, ...]]:
        """Shapes whose counts need not be whole, such that none holds things of more worth, whatever the prices.

        The logarithms of the counts lie in a box that gamma cuts with a plane, and worth is a convex function of them: it is largest in a
        corner, where all counts but one are as large or as small as they may be.
        """
        low = [float(-(-size // distinct)) if whole else size / distinct for distinct in self.distinct]
        high = [float(math.floor(size * share)) if whole else float(size * share) for share in self.shares]
        combinations, fewest = float(self._combinations(size, whole=whole)), self._fewest(size, whole=whole)
        found = []
        for free in range(len(low)):
            ends = [[least, most] for least, most in zip(low, high, strict=True)]
            ends[free] = [1.0]
            for counts in set(product(*ends)):
                last = min(high[free], combinations / math.prod(counts) * (1 + _OUTWARD))
                if last >= low[free] * (1 - _OUTWARD):
                    found.append((size, *counts[:free], last, *counts[free + 1 :], *fewest))
        return found

    def _combinations(self, size: int, *, whole: bool = True) -> Fraction:
        """The most that the product of the counts of a shape may be."""
        power: int = size ** (len(self.whole.tables) + 1)
        found = self.whole.model.gamma * power
        for distinct in self.others:
            found /= -(-size // distinct) if whole else Fraction(size, distinct)
        return found

    def _fewest(self, size: int, *, whole: bool = True) -> tuple[float, ...]:
        if self.least <= 0:
            return ()
        fewest = self.least * size
        return (-float(math.ceil(fewest) if whole else fewest),)
