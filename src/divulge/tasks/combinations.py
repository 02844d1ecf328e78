# SPDX-License-Identifier: Apache-2.0
"""What combinations of quasi-identifiers give away, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from divulge.belief import Belief
from divulge.count import Contingency, Nulls, count
from divulge.metrics import Identity, find_metric
from divulge.metrics.identity import distinction, separation
from divulge.metrics.measurement import as_number
from divulge.metrics.metric import Metric
from divulge.table.roles import Roles
from divulge.table.table import Table

Names = tuple[str, ...]
Numbers = dict[str, float | int]
BeliefsBy = Callable[[Contingency], Mapping[str, Belief]]
"""What the adversary believes about the classes of some columns."""

IDENTITY = ("k_anonymity", "classes", "uniques", "discrimination_rate", "itpr")
SENSITIVE = ("mutual_information", "discrimination_rate", "itpr", "distribution_leakage", "entropy_leakage")
_IDENTITY = tuple(find_metric(name, "identity") for name in IDENTITY)
_SENSITIVE = tuple(find_metric(name, "sensitive") for name in SENSITIVE)


@dataclass(frozen=True)
class Combination:
    """What one set of columns gives away."""

    columns: Names
    identity: Numbers
    sensitive: dict[str, Numbers]

    @property
    def rate(self) -> float:
        """The discrimination rate: the share of the bits that name a person."""
        return float(self.identity["discrimination_rate"])

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"columns": list(self.columns), "identity": self.identity, "sensitive": self.sensitive}


class Scorer(Protocol):
    """Finds the numbers of combinations."""

    @property
    def rows(self) -> int:
        """Rows of the table."""

    def score(self, columns: Names) -> Combination:
        """One combination."""

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, in any order."""

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each of two or more columns, all the others."""


class Views(Protocol):
    """Counts that stay elsewhere, on a Spark cluster."""

    @property
    def rows(self) -> int:
        """Rows of the table."""

    def of(self, columns: Sequence[str]) -> tuple[Identity, Mapping[str, Belief]]:
        """What the metrics of one combination are functions of."""


@dataclass(frozen=True, eq=False)
class OneByOne:
    """Every combination by itself."""

    views: Views

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.views.rows

    def score(self, columns: Names) -> Combination:
        """One combination."""
        identity, beliefs = self.views.of(columns)
        return Combination(
            columns, identity_numbers(identity), {name: belief_numbers(belief) for name, belief in beliefs.items()}
        )

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, one after the other."""
        return map(self.score, combinations)

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each column, all the others."""
        return ((left_out, self.score(without(columns, left_out))) for left_out in columns)


@dataclass(frozen=True, eq=False)
class Recounted:
    """A count for every combination: where people own several rows, counts of people do not add up."""

    table: Table
    roles: Roles
    nulls: Nulls
    beliefs: BeliefsBy

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return count(self.table, self.roles, nulls=self.nulls).rows

    def of(self, columns: Sequence[str]) -> tuple[Identity, Mapping[str, Belief]]:
        """What the metrics of one combination are functions of."""
        counted = count(self.table, replace(self.roles, quasi_identifiers=tuple(columns)), nulls=self.nulls)
        return Identity.of(counted), self.beliefs(counted)


@dataclass(frozen=True, eq=False)
class CountedOnce:
    """A roll-up of one count for every combination, for an adversary whose prior is not the table's own marginal."""

    contingency: Contingency
    beliefs: BeliefsBy

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.contingency.rows

    def of(self, columns: Sequence[str]) -> tuple[Identity, Mapping[str, Belief]]:
        """What the metrics of one combination are functions of."""
        merged = self.contingency.roll_up(columns)
        return Identity.of(merged), self.beliefs(merged)


def identity_numbers(view: Identity) -> Numbers:
    """What a ranking shows about identity."""
    return _numbers(_IDENTITY, view) | {"distinction": distinction(view), "separation": separation(view)}


def belief_numbers(belief: Belief) -> Numbers:
    """What a ranking shows about a sensitive attribute."""
    return _numbers(_SENSITIVE, belief)


def without(columns: Names, left_out: str) -> Names:
    """All columns but one."""
    return tuple(name for name in columns if name != left_out)


def _numbers(metrics: Sequence[Metric[Any]], view: Identity | Belief) -> Numbers:
    return {metric.name: as_number(metric, metric.value(view)[0]) for metric in metrics}
