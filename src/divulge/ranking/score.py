# SPDX-License-Identifier: Apache-2.0
"""What combinations of quasi-identifiers give away, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from divulge import metrics
from divulge.arrays import Ints
from divulge.belief import Assumptions, Belief
from divulge.count import Contingency, Counts, Request
from divulge.metrics import Identity, Measurement

Names = tuple[str, ...]
Numbers = dict[str, float | int]
BESIDE_METRICS: dict[str, Callable[[Identity], float]] = {
    "distinction": metrics.distinction,
    "separation": metrics.separation,
}
"""What ARX says of quasi-identifiers: a ranking shows them beside the metrics."""


@dataclass(frozen=True)
class Combination:
    """What one set of columns gives away."""

    columns: Names
    identity: Numbers
    sensitive: dict[str, Numbers]

    @property
    def rate(self) -> float:
        """The discrimination rate: the share of the bits that name a person."""
        return float(self.identity[metrics.ordering_metric().name])


@dataclass(frozen=True)
class PublishedClass:
    """One class of a set that was made coarser, and how far it moves beliefs."""

    values: dict[str, Any]
    people: int
    sensitive: dict[str, Numbers]
    """Of each sensitive attribute the leakages that a ranking shows; nan where the adversary rules the class out."""


@dataclass(frozen=True)
class AnonymizedSet:
    """One set of columns, made coarser until it keeps a policy, and then measured (Afifi et al. 2018, Fig. 4)."""

    columns: Names
    levels: dict[str, int]
    loss: float | None
    """From 0 (as it came) to 1 (nothing is told); None where nothing can keep the policy, as `numbers`."""
    suppressed: int
    numbers: Combination | None
    """Of what would be published."""
    classes: tuple[PublishedClass, ...]
    """In the order of their values."""
    obstacle: str = ""
    """Why nothing keeps the policy."""

    @classmethod
    def of(
        cls, columns: Names, levels: Mapping[str, int], loss: float, left_out: int, after: Measurement
    ) -> AnonymizedSet:
        """A set that can keep the policy, by what was measured of it."""
        told = {name: numbers_of(belief) for name, belief in after.beliefs.items()}
        numbers = Combination(columns, numbers_of(after.identity_view), told)
        shown = [
            metric.name for metric in metrics.ranked_metrics("sensitive", "combinations") if metric.looks_at == "class"
        ]
        leakages = {about: {name: after.per_class(name, about) for name in shown} for about in after.beliefs}
        classes = (
            PublishedClass(
                after.contingency.class_key(i),
                int(after.contingency.sizes[i]),
                {about: {name: float(each[i]) for name, each in named.items()} for about, named in leakages.items()},
            )
            for i in range(len(after.contingency))
        )
        return cls(columns, dict(levels), loss, left_out, numbers, tuple(classes))


@dataclass(frozen=True, eq=False)
class OneByOne:
    """Every combination by itself, from counts that are held: rolled up, or counted again where people own several rows."""

    counts: Counts
    assumptions: Assumptions = field(default_factory=Assumptions)
    """The adversary's; her priors are joint."""

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return count_rows(self.counts.request)

    def score(self, columns: Names) -> Combination:
        """One combination."""
        whole = columns == self.counts.request.roles.quasi_identifiers
        identity, beliefs = self._views(self.counts if whole else self.counts.roll_up(columns))
        sensitive = {name: numbers_of(belief) for name, belief in beliefs.items()}
        return Combination(columns, numbers_of(identity), sensitive)

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, one after the other."""
        return map(self.score, combinations)

    def score_whole(self, columns: Names) -> tuple[Combination, dict[str, Combination]]:
        """All columns and, if they are several, for each of them all the others."""
        each = columns if len(columns) > 1 else ()
        return self.score(columns), {left_out: self.score(without(columns, left_out)) for left_out in each}

    def _views(self, counts: Counts) -> tuple[Identity, Mapping[str, Belief]]:
        """What the metrics of one combination are functions of."""
        if counts.is_small:
            contingency = counts.collect()
            return Identity.of(contingency), self._beliefs(contingency)
        known = self.assumptions.known_to(counts.request.roles.quasi_identifiers)
        ranked = (*metrics.ranked_metrics("identity"), *metrics.ranked_metrics("sensitive"))
        sample = metrics.survey_of(counts, None, known, metrics=tuple(metric.name for metric in ranked)).sample
        return sample.identity, sample.beliefs

    @cached_property
    def _beliefs(self) -> Callable[[Contingency], dict[str, Belief]]:
        return metrics.beliefs_by(self.assumptions, self.counts.request.roles, self.counts.request.nulls)


def count_rows(request: Request) -> int:
    """Rows of the table that a request is about."""
    sql = f"SELECT COUNT(*) AS n FROM {request.table.relation}{request.where()}"
    return int(request.table.engine.query(sql).column("n")[0].as_py())


def numbers_of(view: Identity | Belief) -> Numbers:
    """What a ranking shows about identity or about a sensitive attribute."""
    shown = metrics.ranked_metrics("identity" if isinstance(view, Identity) else "sensitive")
    beside = {name: of(view) for name, of in BESIDE_METRICS.items()} if isinstance(view, Identity) else {}
    return {metric.name: metrics.as_number(metric, metric.table_value(view)) for metric in shown} | beside


def dense_numbers(table: Ints, marginal: metrics.Marginal, belief: Callable[[], Belief], *, classes: int) -> Numbers:
    """The same from a table of values by classes (see DenseSums.of); the belief is formed only if some metric needs it."""
    shown = metrics.ranked_metrics("sensitive")
    sums = metrics.DenseSums.of(table, marginal, classes=classes)
    slow = numbers_of(belief()) if any(metric.dense is None for metric in shown) else {}
    return {metric.name: slow[metric.name] if metric.dense is None else metric.dense(sums) for metric in shown}


def without(columns: Names, *left_out: str) -> Names:
    """All columns but some."""
    return tuple(name for name in columns if name not in left_out)
