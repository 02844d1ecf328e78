# SPDX-License-Identifier: Apache-2.0
"""A ranking of quasi-identifiers: each by itself, by what it adds to the others, in combinations, and the smallest that identify.

One pass counts the table by all quasi-identifiers; every combination is then a roll-up of these counts (see from_counts). Distinction and
separation are ARX's; sets given by hand are set side by side as in Fig. 4 of Afifi et al. 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from divulge import metrics
from divulge.belief import Assumptions
from divulge.count import Counts, Nulls, Request, count_in_memory
from divulge.errors import BadInput, nearest
from divulge.ranking.distinct_rows import encode_distinct_rows, hold_distinct_rows, read_distinct_rows
from divulge.ranking.from_counts import RolledUp, Scorer
from divulge.ranking.score import AnonymizedSet, Combination, Names, OneByOne, without
from divulge.results import Result
from divulge.table import Roles, Table


# --- The smallest combinations that identify, without counting those that cannot be among them ------------------------
# The discrimination rate of a set of columns is H(set) / log2 rows where each row is a person of its own. Entropy never falls when a column
# is added, so nothing that holds an identifying set is a smallest one. And it is submodular: H(C) <= H(C - a) + H(C - b) - H(C - a - b), so
# what the parts of a set have bounds what the set can have. Both are used level by level, as in Apriori.
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


# --- ranking ----------------------------------------------------------------------------------------------------------
Progress = Callable[[int, int], None]
_DISTINCT_ROWS_FOR_A_CELL = 10
"""A distinct row costs some bytes for each column, a cell of which all metrics are computed about 1 kB."""


@dataclass(frozen=True)
class RankedAttribute:
    """One attribute alone, and what the whole set would be without it."""

    attribute: str
    alone: Combination
    without: Combination | None
    contribution: float
    """How much the discrimination rate of the whole set falls when the attribute is left out."""


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Attributes by their own risk, combinations by theirs, and the smallest that pass the threshold."""

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
    """How many combinations were not counted, where pruning was asked for."""
    anonymized: tuple[AnonymizedSet, ...] = ()
    """The sets again, each made coarser until it keeps the policy, where one was given."""
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
    """Score the combinations of the quasi-identifiers and put them in order."""
    names = roles.quasi_identifiers
    scorer, assumptions = scorer_for(source, roles, nulls, assumptions)
    everything, without_each = scorer.score_whole(names)
    sizes = range(1, min(up_to, len(names)) + 1)
    chosen = [columns for size in sizes for columns in itertools.combinations(names, size)]
    if prune:
        combinations, pruned = search_smallest(scorer, chosen, threshold, progress)
    else:
        combinations, pruned = _all(scorer, chosen, progress), None
    alone = {item.columns[0]: item for item in combinations if len(item.columns) == 1}
    return Ranking(
        rows=scorer.rows,
        everything=everything,
        attributes=tuple(sorted(_attributes(everything, without_each, alone), key=lambda item: -item.alone.rate)),
        combinations=tuple(sorted(combinations, key=lambda item: (-item.rate, len(item.columns)))),
        threshold=threshold,
        smallest=tuple(_smallest(combinations, threshold)),
        sets=tuple(scorer.score(tuple(columns)) for columns in sets),
        settings={
            "engine": source.engine.name,
            **source.told,
            "quasi_identifiers": list(names),
            "sensitive": list(roles.sensitive),
            "person": roles.person,
            "nulls": nulls,
            "prior": {name: _prior_name(assumptions, name) for name in roles.sensitive},
            "prior_weights": dict(assumptions.prior_weights),
            "original": None if assumptions.original is None else assumptions.original.source,
            "background": {name: known.describe() for name, known in assumptions.knowledge.items()},
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
        return "conditional" if assumptions.priors[name].conditions else "given"
    return "table" if assumptions.original is None else "original"


def scorer_for(table: Table, roles: Roles, nulls: Nulls, assumptions: Assumptions) -> tuple[Scorer, Assumptions]:
    """Roll-ups of the distinct rows where memory may take these, else counts; and the adversary, ready for classes that merge."""
    request = Request(table, roles, nulls, joint=False)
    if assumptions.conditional:
        columns = tuple(dict.fromkeys(name for prior in assumptions.conditional.values() for name in prior.conditions))
        _check_conditions(assumptions, roles)
        assumptions = assumptions.as_joint(
            count_in_memory(replace(request, roles=replace(roles, quasi_identifiers=columns)))
        )
    # People do not add up, and roll-ups of distinct rows know the table's own prior only.
    if roles.person is not None or not assumptions.is_default:
        return OneByOne(Counts.of(request), assumptions), assumptions
    limit = table.engine.cell_limit
    if limit is None:
        return RolledUp(read_distinct_rows(request), roles.sensitive), assumptions
    held = hold_distinct_rows(request)
    if held.rows <= _DISTINCT_ROWS_FOR_A_CELL * limit:
        return RolledUp(encode_distinct_rows(request, held.table()), roles.sensitive), assumptions
    # One attribute's cells are the distinct rows themselves; those of several may be far fewer.
    return OneByOne(Counts(request, held) if len(roles.sensitive) < 2 else Counts.of(request)), assumptions


def _check_conditions(assumptions: Assumptions, roles: Roles) -> None:
    for name, prior in assumptions.conditional.items():
        for column in prior.conditions:
            if column not in roles.quasi_identifiers:
                raise BadInput(
                    f"the prior of {name!r} depends on {column!r}, which is not a quasi-identifier",
                    hint=nearest(column, roles.quasi_identifiers),
                )


def _all(scorer: Scorer, chosen: Sequence[tuple[str, ...]], progress: Progress | None) -> list[Combination]:
    """Every combination, in the order in which they were asked for."""
    found: dict[tuple[str, ...], Combination] = {}
    for item in scorer.score_all(chosen):
        found[item.columns] = item
        if progress is not None:
            progress(len(found), len(chosen))
    return [found[columns] for columns in chosen]


def _attributes(
    everything: Combination, without_each: Mapping[str, Combination], alone: Mapping[str, Combination]
) -> list[RankedAttribute]:
    """In the order of the quasi-identifiers."""
    left = {name: 0.0 if name not in without_each else without_each[name].rate for name in everything.columns}
    return [
        RankedAttribute(name, alone[name], without_each.get(name), max(everything.rate - left[name], 0.0))
        for name in everything.columns
    ]


def _smallest(combinations: Sequence[Combination], threshold: float) -> Iterator[Combination]:
    """Combinations that pass, none of whose parts passes (the discrimination rate never falls when a column is added)."""
    passing: list[frozenset[str]] = []
    for item in sorted(combinations, key=lambda item: (len(item.columns), -item.rate)):
        columns = frozenset(item.columns)
        if item.rate >= threshold - metrics.TOLERANCE and not any(part < columns for part in passing):
            passing.append(columns)
            yield item
