# SPDX-License-Identifier: Apache-2.0
"""Ranking of quasi-identifiers, of their combinations and of the smallest identifying ones.

A single quasi-identifier is ranked by its own risk, with its contribution to the whole set. One
pass counts the table by all quasi-identifiers. Every combination is then a roll-up of these counts
(see rollup). Distinction and separation are ARX's. Sets passed explicitly are compared as in
Fig. 4 of Afifi et al. 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from divulge import metrics
from divulge.adversary import Assumptions
from divulge.counting import Counts, Nulls, Request, count_in_memory
from divulge.errors import BadInput, nearest
from divulge.ranking.distinct_rows import (
    encode_distinct_rows,
    hold_distinct_rows,
    read_distinct_rows,
)
from divulge.ranking.rollup import RollUpScorer, Scorer
from divulge.ranking.scores import AnonymizedSet, Combination, CountScorer, Names, drop_columns
from divulge.results import Result
from divulge.sources import Roles, Table


# --- Search for the smallest identifying combinations, with pruning -------------------------------
# The discrimination rate of a set of columns is H(set) / log2 rows if each row is a different
# person. Entropy never falls when a column is added, so a superset of an identifying set is not a
# smallest one. Entropy is also submodular: H(C) <= H(C - a) + H(C - b) - H(C - a - b). So the rates
# of a set's parts bound the rate of the set. Both facts are used level by level, as in Apriori.
@dataclass(frozen=True)
class Pruned:
    """Numbers of combinations that were not counted, by reason."""

    hold_a_smaller_one: int
    """Combinations that contain an identifying combination."""
    cannot_reach: int
    """Combinations whose bound by their parts is below the threshold."""


def search_smallest_combinations(
    scorer: Scorer,
    combinations: Sequence[Names],
    threshold: float,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Combination], Pruned]:
    """Score the combinations that can be smallest identifying ones, and count the pruned ones.

    `combinations` are sorted by size, beginning with single columns.
    """
    bounds: dict[Names, tuple[float, float]] = {(): (0.0, 0.0)}
    scored: list[Combination] = []
    superset_count = unreachable_count = finished = 0
    for size, level in itertools.groupby(combinations, len):
        candidates = []
        for columns in level:
            if any(part not in bounds for part in itertools.combinations(columns, size - 1)):
                superset_count += 1  # a part is identifying or contains an identifying set
            elif (
                size > 1
                and (limits := _rate_bounds(columns, bounds))[1] < threshold - metrics.TOLERANCE
            ):
                bounds[columns] = limits
                unreachable_count += 1
            else:
                candidates.append(columns)
        finished = len(scored) + superset_count + unreachable_count
        for item in scorer.score_all(candidates):
            scored.append(item)
            if item.rate < threshold - metrics.TOLERANCE:
                bounds[item.columns] = (item.rate, item.rate)
            finished += 1
            if progress is not None:
                progress(finished, len(combinations))
    return sorted(scored, key=lambda item: len(item.columns)), Pruned(
        superset_count, unreachable_count
    )


def _rate_bounds(columns: Names, bounds: dict[Names, tuple[float, float]]) -> tuple[float, float]:
    """Lower and upper bound of the rate of a set of columns, from the bounds of its parts."""
    lower = max(bounds[part][0] for part in itertools.combinations(columns, len(columns) - 1))
    upper_bounds = (
        bounds[drop_columns(columns, a)][1]
        + bounds[drop_columns(columns, b)][1]
        - bounds[drop_columns(columns, a, b)][0]
        for a, b in itertools.combinations(columns, 2)
    )
    return lower, min(upper_bounds)


# --- ranking --------------------------------------------------------------------------------------
Progress = Callable[[int, int], None]
_DISTINCT_ROWS_PER_CELL = 10
"""Number of distinct rows that cost as much memory as one cell.

A distinct row costs some bytes for each column. A cell costs about 1 kB while all metrics are
computed.
"""


@dataclass(frozen=True)
class RankedAttribute:
    """Metrics of one attribute, and of the whole set without it."""

    attribute: str
    alone: Combination
    without: Combination | None
    contribution: float
    """Decrease of the discrimination rate of the whole set when the attribute is dropped."""


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Attributes and combinations ranked by risk, and the smallest that reach the threshold."""

    view = "columns"

    rows: int
    everything: Combination
    attributes: tuple[RankedAttribute, ...]
    combinations: tuple[Combination, ...]
    threshold: float
    smallest: tuple[Combination, ...]
    sets: tuple[Combination, ...]
    settings: dict[str, Any]
    pruned: Pruned | None = None
    """Numbers of combinations that were not counted; None without pruning."""
    anonymized: tuple[AnonymizedSet, ...] = ()
    """The sets, each generalized until it meets the policy; empty without a policy."""
    notes: tuple[str, ...] = ()


def rank_columns(
    source: Table,
    roles: Roles,
    assumptions: Assumptions,
    *,
    nulls: Nulls,
    up_to: int,
    threshold: float,
    sets: Sequence[Sequence[str]],
    prune: bool,
    progress: Progress | None,
) -> Ranking:
    """Score the combinations of the quasi-identifiers and rank them."""
    names = roles.quasi_identifiers
    scorer, assumptions = scorer_for(source, roles, nulls, assumptions)
    everything, without_each = scorer.score_whole(names)
    sizes = range(1, min(up_to, len(names)) + 1)
    column_sets = [columns for size in sizes for columns in itertools.combinations(names, size)]
    if prune:
        combinations, pruned = search_smallest_combinations(
            scorer, column_sets, threshold, progress
        )
    else:
        combinations = _score_all(scorer, column_sets, progress)
        pruned = None
    single_columns = {item.columns[0]: item for item in combinations if len(item.columns) == 1}
    return Ranking(
        rows=scorer.rows,
        everything=everything,
        attributes=tuple(
            sorted(
                _rank_attributes(everything, without_each, single_columns),
                key=lambda item: -item.alone.rate,
            )
        ),
        combinations=tuple(sorted(combinations, key=lambda item: (-item.rate, len(item.columns)))),
        threshold=threshold,
        smallest=tuple(_smallest_combinations(combinations, threshold)),
        sets=tuple(scorer.score(tuple(columns)) for columns in sets),
        settings={
            "engine": source.engine.name,
            **source.reading_settings,
            "quasi_identifiers": list(names),
            "sensitive": list(roles.sensitive),
            "person": roles.person,
            "nulls": nulls,
            "prior": {name: _prior_name(assumptions, name) for name in roles.sensitive},
            "prior_weights": dict(assumptions.prior_weights),
            "original": None if assumptions.original is None else assumptions.original.source,
            "background": {
                name: knowledge.describe() for name, knowledge in assumptions.knowledge.items()
            },
            "up_to": up_to,
            "prune": prune,
            "threshold": threshold,
            "threshold_metric": metrics.ordering_metric().name,
            "log_base": 2,
        },
        pruned=pruned,
        notes=assumptions.notes,
        frame=source.frame,
    )


def _prior_name(assumptions: Assumptions, name: str) -> str:
    if name in assumptions.priors:
        if assumptions.priors[name].conditions:
            return "conditional"
        return "given"
    if assumptions.original is None:
        return "table"
    return "original"


def scorer_for(
    table: Table, roles: Roles, nulls: Nulls, assumptions: Assumptions
) -> tuple[Scorer, Assumptions]:
    """Choose a scorer: roll-ups of the distinct rows if these fit into memory, else counts.

    Also returns the assumptions with conditional priors made joint, which merged classes need.
    """
    request = Request(table, roles, nulls, joint=False)
    if assumptions.conditional:
        columns = tuple(
            dict.fromkeys(
                name for prior in assumptions.conditional.values() for name in prior.conditions
            )
        )
        _check_conditions(assumptions, roles)
        assumptions = assumptions.as_joint(
            count_in_memory(replace(request, roles=replace(roles, quasi_identifiers=columns)))
        )
    # Counts of people are not additive, and roll-ups of distinct rows support only the table's
    # prior.
    if roles.person is not None or not assumptions.is_default:
        return CountScorer(Counts.of(request), assumptions), assumptions
    limit = table.engine.cell_limit
    if limit is None:
        return RollUpScorer(read_distinct_rows(request), roles.sensitive), assumptions
    distinct_rows = hold_distinct_rows(request)
    if distinct_rows.rows <= _DISTINCT_ROWS_PER_CELL * limit:
        return RollUpScorer(
            encode_distinct_rows(request, distinct_rows.table()), roles.sensitive
        ), assumptions
    # The cells of one attribute are the distinct rows. Those of several may be far fewer.
    return CountScorer(
        Counts(request, distinct_rows) if len(roles.sensitive) < 2 else Counts.of(request)
    ), assumptions


def _check_conditions(assumptions: Assumptions, roles: Roles) -> None:
    for name, prior in assumptions.conditional.items():
        for column in prior.conditions:
            if column not in roles.quasi_identifiers:
                raise BadInput(
                    f"the prior of {name!r} depends on {column!r}, which is not a quasi-identifier",
                    hint=nearest(column, roles.quasi_identifiers),
                )


def _score_all(
    scorer: Scorer, column_sets: Sequence[tuple[str, ...]], progress: Progress | None
) -> list[Combination]:
    """Score every combination, in the order of `column_sets`."""
    combinations_by_columns: dict[tuple[str, ...], Combination] = {}
    for item in scorer.score_all(column_sets):
        combinations_by_columns[item.columns] = item
        if progress is not None:
            progress(len(combinations_by_columns), len(column_sets))
    return [combinations_by_columns[columns] for columns in column_sets]


def _rank_attributes(
    everything: Combination,
    without_each: Mapping[str, Combination],
    single_columns: Mapping[str, Combination],
) -> list[RankedAttribute]:
    """Build the entry of each attribute, in the order of the quasi-identifiers."""
    rate_without = {
        name: 0.0 if name not in without_each else without_each[name].rate
        for name in everything.columns
    }
    return [
        RankedAttribute(
            name,
            single_columns[name],
            without_each.get(name),
            max(everything.rate - rate_without[name], 0.0),
        )
        for name in everything.columns
    ]


def _smallest_combinations(
    combinations: Sequence[Combination], threshold: float
) -> Iterator[Combination]:
    """Yield the combinations that reach the threshold while none of their parts does.

    The discrimination rate never falls when a column is added.
    """
    passing: list[frozenset[str]] = []
    for item in sorted(combinations, key=lambda item: (len(item.columns), -item.rate)):
        columns = frozenset(item.columns)
        if item.rate >= threshold - metrics.TOLERANCE and not any(
            part < columns for part in passing
        ):
            passing.append(columns)
            yield item
