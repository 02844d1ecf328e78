# SPDX-License-Identifier: Apache-2.0
"""Disclosure risk of combinations of quasi-identifiers, and the scorer that counts each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from divulge import metrics
from divulge.adversary import Assumptions, Belief
from divulge.arrays import Ints
from divulge.counting import Contingency, Counts, Request
from divulge.metrics import Identity, Measurement

Names = tuple[str, ...]
Numbers = dict[str, float | int]
ARX_METRICS: dict[str, Callable[[Identity], float]] = {
    "distinction": metrics.distinction,
    "separation": metrics.separation,
}
"""ARX's measures of quasi-identifiers, which a ranking shows in addition to the metrics."""


@dataclass(frozen=True)
class Combination:
    """Disclosure risk of one set of columns: identity metrics and metrics of each sensitive one."""

    columns: Names
    identity: Numbers
    sensitive: dict[str, Numbers]

    @property
    def rate(self) -> float:
        """Discrimination rate: share of the bits that identify a person."""
        return float(self.identity[metrics.ordering_metric().name])


@dataclass(frozen=True)
class PublishedClass:
    """One class of a generalized set, with its size and its leakages."""

    values: dict[str, Any]
    people: int
    sensitive: dict[str, Numbers]
    """For each sensitive attribute, the leakages that a ranking shows.

    NaN if the adversary's background knowledge rules the class out.
    """


@dataclass(frozen=True)
class AnonymizedSet:
    """One set of columns, generalized until it meets a policy, with its metrics.

    Shown as in Afifi et al. 2018, Fig. 4.
    """

    columns: Names
    levels: dict[str, int]
    loss: float | None
    """Information loss from 0 (unchanged) to 1 (fully suppressed).

    None if no generalization meets the policy, as is `numbers`.
    """
    suppressed: int
    numbers: Combination | None
    """Metrics of the generalized set as it would be published."""
    classes: tuple[PublishedClass, ...]
    """Classes in the order of their values."""
    obstacle: str = ""
    """Reason that no generalization meets the policy; empty if one does."""

    @classmethod
    def of(
        cls,
        columns: Names,
        levels: Mapping[str, int],
        loss: float,
        left_out: int,
        after: Measurement,
    ) -> AnonymizedSet:
        """Build the entry of a set that can meet the policy, from the measurement after it."""
        posterior_numbers = {name: numbers_of(belief) for name, belief in after.beliefs.items()}
        numbers = Combination(columns, numbers_of(after.identity_view), posterior_numbers)
        class_metrics = [
            metric.name
            for metric in metrics.ranked_metrics("sensitive", "combinations")
            if metric.looks_at == "class"
        ]
        leakages = {
            about: {name: after.per_class(name, about) for name in class_metrics}
            for about in after.beliefs
        }
        classes = (
            PublishedClass(
                after.contingency.class_key(i),
                int(after.contingency.sizes[i]),
                {
                    about: {name: float(leakage[i]) for name, leakage in leakage_by_name.items()}
                    for about, leakage_by_name in leakages.items()
                },
            )
            for i in range(len(after.contingency))
        )
        return cls(columns, dict(levels), loss, left_out, numbers, tuple(classes))


@dataclass(frozen=True, eq=False)
class CountScorer:
    """Scorer of combinations one by one, from counts.

    Counts are rolled up, or counted again if people own several rows.
    """

    counts: Counts
    assumptions: Assumptions = field(default_factory=Assumptions)
    """The adversary's assumptions, with joint priors."""

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return count_rows(self.counts.request)

    def score(self, columns: Names) -> Combination:
        """Score one combination."""
        is_full_set = columns == self.counts.request.roles.quasi_identifiers
        identity, beliefs = self._metric_inputs(
            self.counts if is_full_set else self.counts.roll_up(columns)
        )
        sensitive = {name: numbers_of(belief) for name, belief in beliefs.items()}
        return Combination(columns, numbers_of(identity), sensitive)

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Score many combinations, one after the other."""
        return map(self.score, combinations)

    def score_whole(self, columns: Names) -> tuple[Combination, dict[str, Combination]]:
        """Score all columns and, if there are several, the set without each of them."""
        if len(columns) > 1:
            removable = columns
        else:
            removable = ()
        return self.score(columns), {
            dropped: self.score(drop_columns(columns, dropped)) for dropped in removable
        }

    def _metric_inputs(self, counts: Counts) -> tuple[Identity, Mapping[str, Belief]]:
        """Compute the views that the metrics of one combination are functions of."""
        if counts.is_small:
            contingency = counts.collect()
            return Identity.of(contingency), self._beliefs(contingency)
        assumptions = self.assumptions.known_to(counts.request.roles.quasi_identifiers)
        ranked = (*metrics.ranked_metrics("identity"), *metrics.ranked_metrics("sensitive"))
        sample = metrics.survey_of(
            counts, None, assumptions, metrics=tuple(metric.name for metric in ranked)
        ).sample
        return sample.identity, sample.beliefs

    @cached_property
    def _beliefs(self) -> Callable[[Contingency], dict[str, Belief]]:
        return metrics.beliefs_by(
            self.assumptions, self.counts.request.roles, self.counts.request.nulls
        )


def count_rows(request: Request) -> int:
    """Count the rows of the table that a request is about."""
    sql = f"SELECT COUNT(*) AS n FROM {request.table.relation}{request.where()}"
    return int(request.table.engine.query(sql).column("n")[0].as_py())


def numbers_of(view: Identity | Belief) -> Numbers:
    """Compute the metrics that a ranking shows for identity or for a sensitive attribute."""
    ranked = metrics.ranked_metrics("identity" if isinstance(view, Identity) else "sensitive")
    if isinstance(view, Identity):
        extras = {name: measure(view) for name, measure in ARX_METRICS.items()}
    else:
        extras = {}
    return {
        metric.name: metrics.as_number(metric, metric.table_value(view)) for metric in ranked
    } | extras


def dense_numbers(
    table: Ints, marginal: metrics.Marginal, belief: Callable[[], Belief], *, classes: int
) -> Numbers:
    """Compute the ranked metrics of an attribute from a table of values by classes.

    See DenseSums.of. The belief is computed only if some metric needs it.
    """
    ranked = metrics.ranked_metrics("sensitive")
    sums = metrics.DenseSums.of(table, marginal, classes=classes)
    if any(metric.dense is None for metric in ranked):
        belief_numbers = numbers_of(belief())
    else:
        belief_numbers = {}
    return {
        metric.name: belief_numbers[metric.name] if metric.dense is None else metric.dense(sums)
        for metric in ranked
    }


def drop_columns(columns: Names, *dropped: str) -> Names:
    """Remove some columns from a combination."""
    return tuple(name for name in columns if name not in dropped)
