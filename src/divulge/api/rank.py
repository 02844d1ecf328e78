# SPDX-License-Identifier: Apache-2.0
"""rank(): which quasi-identifiers, alone and together, give people away.

One pass counts the table by all quasi-identifiers; every combination is then a roll-up of these counts (see rolled_up). Each attribute
is shown by itself and by what it adds to all the others; distinction and separation are ARX's; sets given by hand are set side by side
as in Fig. 4 of Afifi et al. 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import (
    Coded,
    Codes,
    Columns,
    Counts,
    Nulls,
    Refinement,
    Request,
    count_in_memory,
    hold_distinct_rows,
    read_distinct_rows,
    refine,
)
from divulge.errors import BadInput, nearest
from divulge.metrics import TOLERANCE, Identity, Marginal, ordering_metric
from divulge.ranking import (
    Combination,
    Numbers,
    OneByOne,
    Pruned,
    RolledUp,
    Scorer,
    identity_numbers,
    identity_view,
    search_smallest,
    sensitive_in,
    spectrum_of,
)
from divulge.results import Result
from divulge.table import Names, Roles, Table, read, read_beside, resolve_roles

Progress = Callable[[int, int], None]
_DISTINCT_ROWS_FOR_A_CELL = 10
"""A distinct row costs some bytes for each column, a cell of which all metrics are computed about 1 kB."""
_WITHOUT_EFFECT = ("distances", "taxonomies", "orders", "population", "recursive_l")


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
    notes: tuple[str, ...] = ()


def rank(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    person: str | None = None,
    adversary: Adversary | None = None,
    up_to: int = 3,
    threshold: float = 0.8,
    sets: Sequence[Sequence[str]] = (),
    prune: bool = False,
    progress: Progress | None = None,
    engine: Any = None,
) -> Ranking:
    """Rank attributes and their combinations up to a size; `progress` is called with (done, total).

    `prune` counts only combinations that can be among the smallest at the threshold: none that holds a smaller one, and none whose
    discrimination rate cannot reach it by what its parts have. It makes larger combinations of many attributes affordable.
    `adversary` is as in `measure`; of a prior that depends on columns, a combination uses what it knows of them.
    """
    _check(up_to, threshold)
    her = adversary_in_force(adversary)
    her.refuse(_WITHOUT_EFFECT, "a ranking shows no metric that depends on it")
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person)
    names = roles.quasi_identifiers
    for name in itertools.chain.from_iterable(sets):
        if name not in names:
            raise BadInput(f"{name!r} of a set is not among the quasi-identifiers", hint=nearest(name, names))
    if prune and person is not None:
        raise BadInput("combinations cannot be pruned where people own several rows", hint="leave prune or person out")
    assumptions = Assumptions.of(
        her, roles, original=None if her.original is None else read_beside(source, her.original)
    )
    nulls = her.nulls or "category"
    scorer, assumptions = scorer_for(source, roles, nulls, assumptions)
    everything = scorer.score(names)
    chosen = [
        columns for size in range(1, min(up_to, len(names)) + 1) for columns in itertools.combinations(names, size)
    ]
    combinations, pruned = (
        search_smallest(scorer, chosen, threshold, progress) if prune else (_all(scorer, chosen, progress), None)
    )
    alone = {item.columns[0]: item for item in combinations if len(item.columns) == 1}
    return Ranking(
        rows=scorer.rows,
        everything=everything,
        attributes=tuple(sorted(_attributes(scorer, everything, alone), key=lambda item: -item.alone.rate)),
        combinations=tuple(sorted(combinations, key=lambda item: (-item.rate, len(item.columns)))),
        threshold=threshold,
        smallest=tuple(_smallest(combinations, threshold)),
        sets=tuple(scorer.score(tuple(columns)) for columns in sets),
        settings={
            "engine": source.engine.name,
            "source": source.source,
            "quasi_identifiers": list(names),
            "sensitive": list(roles.sensitive),
            "person": person,
            "nulls": nulls,
            "prior": {name: _prior_name(assumptions, name) for name in roles.sensitive},
            "prior_weights": dict(assumptions.prior_weights),
            "original": None if assumptions.original is None else assumptions.original.source,
            "background": {name: known.describe() for name, known in assumptions.knowledge.items()},
            "up_to": up_to,
            "prune": prune,
            "threshold": threshold,
            "threshold_metric": ordering_metric().name,
            "log_base": 2,
        },
        pruned=pruned,
        notes=assumptions.notes,
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
    held, limit = hold_distinct_rows(request), table.engine.cell_limit
    if limit is None or held.rows <= _DISTINCT_ROWS_FOR_A_CELL * limit:
        return RolledUp(read_distinct_rows(request, held), roles.sensitive), assumptions
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


def _check(up_to: int, threshold: float) -> None:
    if up_to < 1:
        raise BadInput(f"up_to={up_to} is not possible", hint="combinations have at least 1 attribute")
    if not 0 <= threshold <= 1:
        raise BadInput(f"threshold={threshold} is not possible", hint="the discrimination rate lies between 0 and 1")


def _all(scorer: Scorer, chosen: Sequence[tuple[str, ...]], progress: Progress | None) -> list[Combination]:
    """Every combination, in the order in which they were asked for."""
    found: dict[tuple[str, ...], Combination] = {}
    for item in scorer.score_all(chosen):
        found[item.columns] = item
        if progress is not None:
            progress(len(found), len(chosen))
    return [found[columns] for columns in chosen]


def _attributes(scorer: Scorer, everything: Combination, alone: dict[str, Combination]) -> list[RankedAttribute]:
    """In the order of the quasi-identifiers."""
    names = everything.columns
    if len(names) == 1:
        return [RankedAttribute(names[0], alone[names[0]], None, everything.rate)]
    without = dict(scorer.score_without_each(names))
    return [
        RankedAttribute(name, alone[name], without[name], max(everything.rate - without[name].rate, 0.0))
        for name in names
    ]


def _smallest(combinations: Sequence[Combination], threshold: float) -> Iterator[Combination]:
    """Combinations that pass, none of whose parts passes (the discrimination rate never falls when a column is added)."""
    passing: list[frozenset[str]] = []
    for item in sorted(combinations, key=lambda item: (len(item.columns), -item.rate)):
        columns = frozenset(item.columns)
        if item.rate >= threshold - TOLERANCE and not any(part < columns for part in passing):
            passing.append(columns)
            yield item


# --- growing ----------------------------------------------------------------------------------------------------------
# growing(): how much the first n quasi-identifiers give away together, for n = 1, 2, 3 and so on, and each by itself.
#
# Simple and combined ITPR of Bkakria et al. 2021 (Definitions 1 and 2), as in their Fig. 7, for tables with a hundred columns and
# more. Columns are read one at a time and refine the classes of those before them (see count.refine), so the cost of n columns grows
# with n.


@dataclass(frozen=True)
class Step:
    """The first n quasi-identifiers together."""

    n: int
    attribute: str
    """The one that was added last."""
    identity: Numbers
    sensitive: dict[str, Numbers]


@dataclass(frozen=True, repr=False)
class Growth(Result):
    """Each quasi-identifier by itself, and the growing sets."""

    view = "columns"

    rows: int
    alone: tuple[Combination, ...]
    steps: tuple[Step, ...]
    settings: dict[str, Any]


def growing(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    nulls: Nulls = "category",
    every: int = 1,
    progress: Callable[[int, int], None] | None = None,
    engine: Any = None,
) -> Growth:
    """Measure the first n quasi-identifiers together, in the order in which they are given.

    `every` says for which n: 1, its multiples, and all of them. `progress` is called with (columns done, all columns).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "f", "m", "m"], "zip": ["1", "2", "3", "3"]})
    >>> found = growing(people, quasi_identifiers=["sex", "zip"])
    >>> [(step.n, step.identity["uniques"], step.identity["itpr"]) for step in found.steps]
    [(1, 0, 0.5), (2, 2, 1.0)]
    """
    if every < 1:
        raise BadInput(f"every={every} is not possible", hint="sets grow by at least 1 attribute")
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    request = Request(source, roles, nulls, joint=False)
    columns = Columns.of(request)
    if columns is None:
        rows, alone, steps = _set_by_set(request, every, progress or _silent)
    else:
        rows, alone, steps = _column_by_column(columns, roles, every, progress or _silent)
    return Growth(
        rows=rows,
        alone=tuple(alone),
        steps=tuple(steps),
        settings={
            "engine": source.engine.name,
            "source": source.source,
            "quasi_identifiers": list(roles.quasi_identifiers),
            "sensitive": list(roles.sensitive),
            "nulls": nulls,
            "every": every,
            "log_base": 2,
        },
    )


def _silent(_done: int, _total: int) -> None:
    """Nobody listens."""


def _column_by_column(
    columns: Columns, roles: Roles, every: int, progress: Callable[[int, int], None]
) -> tuple[int, list[Combination], list[Step]]:
    names = roles.quasi_identifiers
    alone: list[Combination] = []
    steps: list[Step] = []
    attributes = [_Attribute.of(columns.coded(name)) for name in roles.sensitive]
    together = everybody = Refinement.whole(columns.rows)
    for n, (name, codes, values) in enumerate(columns.numbered(names), start=1):
        together = refine(together, codes, values)
        alone.append(Combination((name,), *_simple_numbers(everybody, codes, values, attributes)))
        if _is_asked_for(n, every, len(names)):
            steps.append(Step(n, name, *_numbers(together, attributes)))
        progress(n, len(names))
    return columns.rows, alone, steps


def _set_by_set(
    request: Request, every: int, progress: Callable[[int, int], None]
) -> tuple[int, list[Combination], list[Step]]:
    """A count for each set, where there is no order of rows that a column could be lined up with."""

    def scorer(columns: tuple[str, ...]) -> OneByOne:
        return OneByOne(Counts.of(replace(request, roles=replace(request.roles, quasi_identifiers=columns))))

    names = request.roles.quasi_identifiers
    rows, alone, steps = 0, [], []
    for n, name in enumerate(names, start=1):
        simple = scorer((name,))
        rows = rows or simple.rows
        alone.append(simple.score((name,)))
        if _is_asked_for(n, every, len(names)):
            found = alone[0] if n == 1 else scorer(names[:n]).score(names[:n])
            steps.append(Step(n, name, found.identity, found.sensitive))
        progress(n, len(names))
    return rows, alone, steps


@dataclass(frozen=True, eq=False)
class _Attribute:
    """A sensitive attribute of all rows."""

    coded: Coded
    marginal: Marginal

    @classmethod
    def of(cls, coded: Coded) -> _Attribute:
        return cls(coded, Marginal.of(np.bincount(coded.codes, minlength=coded.values)))


def _numbers(partition: Refinement, attributes: list[_Attribute]) -> tuple[Numbers, dict[str, Numbers]]:
    return identity_numbers(identity_view(partition)), {
        item.coded.domain.name: sensitive_in(partition, item.coded, item.marginal) for item in attributes
    }


def _simple_numbers(
    everybody: Refinement, codes: Codes, values: int, attributes: list[_Attribute]
) -> tuple[Numbers, dict[str, Numbers]]:
    """One column by itself; for identity alone, how often each value occurs is enough."""
    if attributes:
        return _numbers(refine(everybody, codes, values), attributes)
    sizes = np.bincount(codes, minlength=values)
    return identity_numbers(Identity.of_spectrum(*spectrum_of(sizes[sizes > 0]))), {}


def _is_asked_for(n: int, every: int, last: int) -> bool:
    return n in (1, last) or n % every == 0
