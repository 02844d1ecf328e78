# SPDX-License-Identifier: Apache-2.0
"""rank(): which quasi-identifiers, alone and together, give people away.

One pass counts the table by all quasi-identifiers; every combination is then a roll-up of these counts. Each attribute is shown by
itself and by what it adds to all the others; distinction and separation are ARX's; sets given by hand are set side by side as in
Fig. 4 of Afifi et al. 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from divulge.belief import Belief
from divulge.count import Contingency, Nulls, count
from divulge.count.counting import Request
from divulge.errors import BadInput, nearest
from divulge.metrics import TOLERANCE, Identity, Scope, find_metric
from divulge.metrics.identity import distinction, separation
from divulge.metrics.measurement import as_number
from divulge.table.read import read
from divulge.table.roles import Roles, resolve_roles
from divulge.table.table import Table
from divulge.tasks.measure import Names

_IDENTITY = ("k_anonymity", "classes", "uniques", "discrimination_rate", "itpr")
_SENSITIVE = ("mutual_information", "discrimination_rate", "itpr", "distribution_leakage", "entropy_leakage")


@dataclass(frozen=True)
class Combination:
    """What one set of columns gives away."""

    columns: tuple[str, ...]
    identity: dict[str, float | int]
    sensitive: dict[str, dict[str, float | int]]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"columns": list(self.columns), "identity": self.identity, "sensitive": self.sensitive}


@dataclass(frozen=True)
class RankedAttribute:
    """One attribute alone, and what the whole set would be without it."""

    attribute: str
    alone: Combination
    without: Combination | None
    contribution: float
    """How much the discrimination rate of the whole set falls when the attribute is left out."""


@dataclass(frozen=True)
class Ranking:
    """Attributes by their own risk, combinations by theirs, and the smallest that pass the threshold."""

    rows: int
    everything: Combination
    attributes: tuple[RankedAttribute, ...]
    combinations: tuple[Combination, ...]
    threshold: float
    smallest: tuple[Combination, ...]
    sets: tuple[Combination, ...]
    settings: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": self.rows,
            "settings": self.settings,
            "everything": self.everything.document(),
            "attributes": [
                {
                    "attribute": item.attribute,
                    "alone": item.alone.document(),
                    "without": None if item.without is None else item.without.document(),
                    "contribution": item.contribution,
                }
                for item in self.attributes
            ],
            "combinations": [item.document() for item in self.combinations],
            "threshold": self.threshold,
            "smallest": [list(item.columns) for item in self.smallest],
            "sets": [item.document() for item in self.sets],
        }


def rank(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    person: str | None = None,
    nulls: Nulls = "category",
    up_to: int = 3,
    threshold: float = 0.8,
    sets: Sequence[Sequence[str]] = (),
    progress: Callable[[int, int], None] | None = None,
    engine: Any = None,
) -> Ranking:
    """Rank attributes and their combinations up to a size; `progress` is called with (done, total), `engine` is as in `measure`."""
    if up_to < 1:
        raise BadInput(f"up_to={up_to} is not possible", hint="combinations have at least 1 attribute")
    if not 0 <= threshold <= 1:
        raise BadInput(f"threshold={threshold} is not possible", hint="the discrimination rate lies between 0 and 1")
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person)
    names = roles.quasi_identifiers
    for name in itertools.chain.from_iterable(sets):
        if name not in names:
            raise BadInput(f"{name!r} of a set is not among the quasi-identifiers", hint=nearest(name, names))
    counter = _Counter(_views(source, roles, nulls))
    everything = counter.score(names)
    combinations = list(_scored(counter, names, min(up_to, len(names)), progress))
    alone = {item.columns[0]: item for item in combinations if len(item.columns) == 1}
    ranked = [_attribute(counter, everything, names, alone[name]) for name in names]
    return Ranking(
        rows=counter.views.rows,
        everything=everything,
        attributes=tuple(sorted(ranked, key=lambda item: -item.alone.identity["discrimination_rate"])),
        combinations=tuple(
            sorted(combinations, key=lambda item: (-item.identity["discrimination_rate"], len(item.columns)))
        ),
        threshold=threshold,
        smallest=tuple(_smallest(combinations, threshold)),
        sets=tuple(counter.score(tuple(columns)) for columns in sets),
        settings={
            "engine": source.engine.name,
            "source": source.source,
            "quasi_identifiers": list(names),
            "sensitive": list(roles.sensitive),
            "person": person,
            "nulls": nulls,
            "up_to": up_to,
            "threshold": threshold,
            "threshold_metric": "discrimination_rate",
            "log_base": 2,
        },
    )


class _Views(Protocol):
    """What the metrics of any combination are functions of."""

    @property
    def rows(self) -> int:
        """Rows counted."""

    def of(self, columns: tuple[str, ...]) -> tuple[Identity, Mapping[str, Belief]]:
        """The views of one combination."""


def _views(source: Table, roles: Roles, nulls: Nulls) -> _Views:
    if source.engine.name == "spark":
        from divulge.count.cluster import count_on_cluster
        from divulge.tasks.on_spark import ClusterViews

        counts = count_on_cluster(Request(source, roles, nulls, joint=False))
        if not counts.is_small:
            return ClusterViews(counts, metrics=(*_IDENTITY, *_SENSITIVE))
        return _RolledUp(source, roles, nulls, counts.collect())
    return _RolledUp(source, roles, nulls, count(source, roles, nulls=nulls))


@dataclass(frozen=True)
class _Counter:
    """Scores combinations."""

    views: _Views

    def score(self, columns: tuple[str, ...]) -> Combination:
        """Every number of one combination."""
        view, beliefs = self.views.of(columns)
        identity = _values(_IDENTITY, "identity", view) | {
            "distinction": distinction(view),
            "separation": separation(view),
        }
        sensitive = {name: _values(_SENSITIVE, "sensitive", belief) for name, belief in beliefs.items()}
        return Combination(columns, identity, sensitive)


@dataclass(frozen=True)
class _RolledUp:
    """Counts of any subset of the quasi-identifiers: a roll-up, or a count of its own where people own several rows."""

    table: Table
    roles: Roles
    nulls: Nulls
    whole: Contingency

    @property
    def rows(self) -> int:
        """Rows counted."""
        return self.whole.rows

    def of(self, columns: tuple[str, ...]) -> tuple[Identity, Mapping[str, Belief]]:
        """The views of one combination."""
        part = self._counted(columns)
        return Identity.of(part), {name: Belief.of_table(cells) for name, cells in part.cells.items()}

    def _counted(self, columns: tuple[str, ...]) -> Contingency:
        if columns == self.roles.quasi_identifiers:
            return self.whole
        if self.whole.person_entropy is None:
            return self.whole.roll_up(columns)
        return count(self.table, replace(self.roles, quasi_identifiers=columns), nulls=self.nulls)


def _values(names: Sequence[str], scope: Scope, view: Identity | Belief) -> dict[str, float | int]:
    metrics = [find_metric(name, scope) for name in names]
    return {metric.name: as_number(metric, metric.value(view)[0]) for metric in metrics}


def _scored(
    counter: _Counter, names: tuple[str, ...], up_to: int, progress: Callable[[int, int], None] | None
) -> Iterator[Combination]:
    chosen = [columns for size in range(1, up_to + 1) for columns in itertools.combinations(names, size)]
    for done, columns in enumerate(chosen, start=1):
        yield counter.score(columns)
        if progress is not None:
            progress(done, len(chosen))


def _attribute(
    counter: _Counter, everything: Combination, names: tuple[str, ...], alone: Combination
) -> RankedAttribute:
    others = tuple(name for name in names if name != alone.columns[0])
    if not others:
        return RankedAttribute(alone.columns[0], alone, None, float(alone.identity["discrimination_rate"]))
    without = counter.score(others)
    contribution = everything.identity["discrimination_rate"] - without.identity["discrimination_rate"]
    return RankedAttribute(alone.columns[0], alone, without, max(float(contribution), 0.0))


def _smallest(combinations: Sequence[Combination], threshold: float) -> Iterator[Combination]:
    """Combinations that pass, none of whose parts passes (the discrimination rate never falls when a column is added)."""
    passing: list[frozenset[str]] = []
    for item in sorted(combinations, key=lambda item: (len(item.columns), -item.identity["discrimination_rate"])):
        columns = frozenset(item.columns)
        if item.identity["discrimination_rate"] >= threshold - TOLERANCE and not any(
            part < columns for part in passing
        ):
            passing.append(columns)
            yield item
