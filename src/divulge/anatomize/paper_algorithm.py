# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of Yao et al. 2021, as printed, for comparison with grouping.py.

Lines 6 and 7 are printed as "while buckets > N" and "from tail to head", that is from the smallest bucket on; `enough` and `pick` choose
the other readings: ">=" as the text says, and the largest buckets, sorted anew for each group, as Anatomy does. Line 17 ("break and reset
beta or delta") raises: parameters are never changed silently. Lines 20 to 41 do not work as printed (the loop ends after the first good
group, a combined group is never removed, only the first group is tested at the end); the reading here is: each bad group takes in the last
group that is left until it is good, and at the end all groups are tested for all four bounds.

One individual is picked out of a bucket from its end; buckets of equal size stay in the order of their first record.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from divulge.anatomize.feasibility import refusal
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.errors import BadInput

Enough = Literal[">", ">="]
Pick = Literal["tail", "largest"]
Buckets = list[list[int]]

_INSTEAD = "Use algorithm='guaranteed', which finds a grouping where there is one"


def algorithm_1(problem: GroupingProblem, *, enough: Enough = ">", pick: Pick = "tail") -> Groups:
    """The group of each record; InfeasibleModel where the algorithm gives up, which need not mean that there is no grouping."""
    if len(problem.sensitive) != 1:
        raise BadInput("Algorithm 1 of the paper knows one sensitive attribute", hint="Use algorithm='guaranteed'")
    size = problem.model.records_per_group
    if size is None:
        raise refusal(problem, "N = 1/0 for a bound of 0 (line 5)", proved=False, hint=_INSTEAD)
    groups = _satisfy(problem, form_groups(problem, size, enough=enough, pick=pick))
    found = np.empty(len(problem), dtype=np.int32)
    for number, records in enumerate(groups):
        found[records] = number
    levels = problem.measure(found, groups=len(groups))
    if not levels.keeps(problem.model).all():
        broken = ", ".join(problem.model.broken_by(levels.worst()))
        because = f"Algorithm 1 ended with groups that break {broken} (line 40)"
        raise refusal(problem, because, proved=False, hint=_INSTEAD)
    return found


def form_groups(problem: GroupingProblem, size: int, *, enough: Enough = ">", pick: Pick = "tail") -> Buckets:
    """Lines 1 to 19: groups of `size` records with different sensitive values, and the rest spread over them."""
    buckets = _buckets(problem)
    fewest = size + 1 if enough == ">" else size
    groups, lacking = (_from_tail if pick == "tail" else _from_largest)(buckets, size, fewest)
    for bucket, without in zip(buckets, lacking, strict=True):
        if len(bucket) > len(without):
            code = int(problem.sensitive[0].ids[bucket[0]])
            because = (
                f"Algorithm 1 has {len(bucket)} records with {problem.sensitive[0].name} = "
                f"{problem.sensitive[0].labels[code]!r} left, and {len(without)} groups without that value (line 17)"
            )
            raise refusal(problem, because, proved=False, hint=_INSTEAD)
        for group in without[: len(bucket)]:
            groups[group].append(bucket.pop())
    return groups


def _buckets(problem: GroupingProblem) -> Buckets:
    """Lines 1 and 2: the records of each sensitive value, the largest bucket first."""
    buckets: dict[int, list[int]] = {}
    for record, value in enumerate(problem.sensitive[0].ids.tolist()):
        buckets.setdefault(value, []).append(record)
    return sorted(buckets.values(), key=len, reverse=True)


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
    groups: Buckets = []
    holds: list[set[int]] = [set() for _ in buckets]
    heap = [(-len(bucket), place) for place, bucket in enumerate(buckets)]
    heapq.heapify(heap)
    while len(heap) >= fewest:
        givers = [heapq.heappop(heap) for _ in range(size)]
        for length, place in givers:
            holds[place].add(len(groups))
            if length < -1:
                heapq.heappush(heap, (length + 1, place))
        groups.append([buckets[place].pop() for _, place in givers])
    return groups, [[group for group in range(len(groups)) if group not in held] for held in holds]


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
        size, combination = len(self.records), 1
        for count in self.highest:
            combination *= count
        return max(self.highest[:-1]) <= alpha * size and combination <= gamma * size ** len(self.highest)


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
