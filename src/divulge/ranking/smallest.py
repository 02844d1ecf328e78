# SPDX-License-Identifier: Apache-2.0
"""The smallest combinations that identify, without counting those that cannot be among them.

The discrimination rate of a set of columns is H(set) / log2 rows where each row is a person of its own. Entropy never falls when a column
is added, so nothing that holds an identifying set is a smallest one. And it is submodular: H(C) <= H(C - a) + H(C - b) - H(C - a - b), so
what the parts of a set have bounds what the set can have. Both are used level by level, as in Apriori.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from divulge import metrics
from divulge.ranking.from_counts import Scorer
from divulge.ranking.score import Combination, Names, without


@dataclass(frozen=True)
class Pruned:
    """Combinations that were not counted."""

    hold_a_smaller_one: int
    """They contain an identifying combination."""
    cannot_reach: int
    """What their parts have shows that they stay below the threshold."""


def search_smallest(
    scorer: Scorer, combinations: Sequence[Names], threshold: float, progress: Callable[[int, int], None] | None = None
) -> tuple[list[Combination], Pruned]:
    """Count what can be a smallest combination; `combinations` come by size, beginning with single columns."""
    bounds: dict[Names, tuple[float, float]] = {(): (0.0, 0.0)}
    counted: list[Combination] = []
    larger = unreachable = done = 0
    for size, level in itertools.groupby(combinations, len):
        candidates = []
        for columns in level:
            if any(part not in bounds for part in itertools.combinations(columns, size - 1)):
                larger += 1  # a part identifies, or holds one that does
            elif size > 1 and (limits := _limits(columns, bounds))[1] < threshold - metrics.TOLERANCE:
                bounds[columns] = limits
                unreachable += 1
            else:
                candidates.append(columns)
        done = len(counted) + larger + unreachable
        for item in scorer.score_all(candidates):
            counted.append(item)
            if item.rate < threshold - metrics.TOLERANCE:
                bounds[item.columns] = (item.rate, item.rate)
            done += 1
            if progress is not None:
                progress(done, len(combinations))
    return sorted(counted, key=lambda item: len(item.columns)), Pruned(larger, unreachable)


def _limits(columns: Names, bounds: dict[Names, tuple[float, float]]) -> tuple[float, float]:
    """The least and the largest rate that the set can have by what is known of its parts."""
    least = max(bounds[part][0] for part in itertools.combinations(columns, len(columns) - 1))
    upper = (
        bounds[without(columns, a)][1] + bounds[without(columns, b)][1] - bounds[without(columns, a, b)][0]
        for a, b in itertools.combinations(columns, 2)
    )
    return least, min(upper)
