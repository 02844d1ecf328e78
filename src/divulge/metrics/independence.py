# SPDX-License-Identifier: Apache-2.0
"""Rank correlation of metrics over the classes of one table.

Afifi et al. 2018 chose two distances that are sensitive and independent (section 5, Fig. 1). They
left open whether two are enough. `compare_distances` of reproduction/ repeats that on random
beliefs. This module measures it on the classes of a table, by Spearman's rank correlation. Each
metric is oriented so that a higher rank is worse. The result does not apply to other tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from divulge.arrays import Floats
from divulge.errors import BadInput, nearest
from divulge.metrics.itpr_repair import MeasuredClasses
from divulge.results import Result

Weighing = Literal["people", "classes"]
_RANK_DECIMALS = 9
"""Numbers that are equal after rounding to this many decimals count as equal."""


@dataclass(frozen=True)
class MetricOrder:
    """Metrics that order all classes alike, compared with the other orders."""

    metrics: tuple[str, ...]
    closest: str | None
    """The metric outside the group with the largest absolute correlation; None without others."""
    correlation: float | None
    """The correlation with that metric."""
    independence: float | None
    """1 minus the mean absolute correlation with all other orders, one metric of each order."""

    @property
    def name(self) -> str:
        """The first metric of the group."""
        return self.metrics[0]


@dataclass(frozen=True, eq=False, repr=False)
class Independence(Result):
    """Rank correlations of the metrics over the classes of a table."""

    view = "classes"

    attribute: str | None
    names: tuple[str, ...]
    """All metrics whose numbers differ between classes.

    The names of identity metrics have the prefix `identity.`.
    """
    correlation: Floats = field(repr=False)
    """Spearman's rank correlation between them."""
    orders: tuple[MetricOrder, ...]
    """The different orders of classes, the most independent first."""
    two_leakages: float | None
    """The correlation of distribution and entropy leakage; None if one of them has no order.

    The paper chose these two as independent.
    """
    constant: tuple[str, ...]
    """Metrics that are equal in every class and therefore have no order."""
    settings: Mapping[str, Any]

    def between(self, first_column: str, other: str) -> float:
        """The correlation of two metrics."""
        for name in (first_column, other):
            if name not in self.names:
                raise BadInput(
                    f"{name!r} has no order of classes here", hint=nearest(name, self.names)
                )
        return float(self.correlation[self.names.index(first_column), self.names.index(other)])


def independence_of(
    measurement: MeasuredClasses, attribute: str | None, *, weigh: Weighing
) -> Independence:
    """Rank the classes by every metric, and correlate the ranks."""
    if measurement.survey is not None:
        message = (
            f"only the worst of {measurement.class_count:,} classes are at hand, and an order "
            "needs all of them"
        )
        raise BadInput(message, hint="Name fewer quasi-identifiers, or allow more memory")
    class_indexes = slice(None) if attribute is None else measurement.beliefs[attribute].classes
    weights = measurement.contingency.sizes[class_indexes].astype(np.float64)
    if len(weights) < 3:
        raise BadInput(
            f"{len(weights)} classes have no order that could differ", hint="at least 3 are needed"
        )
    if weigh == "classes":
        weights = np.ones(len(weights))
    if attribute is None:
        prefix = ""
    else:
        prefix = "identity."
    ranks: dict[str, Floats] = {}
    constant: list[str] = []
    scored = [
        (attribute, name, score)
        for name, score in (measurement.sensitive[attribute] if attribute else {}).items()
    ]
    for scored_attribute, name, score in [
        *scored,
        *((None, name, score) for name, score in measurement.identity.items()),
    ]:
        if score.metric.per_class is None:
            continue
        numbers = measurement.per_class(name, scored_attribute)[class_indexes] * (
            1.0 if score.metric.worse == "high" else -1.0
        )
        if scored_attribute is not None:
            metric_name = name
        else:
            metric_name = f"{prefix}{name}"
        metric_ranks = weighted_ranks(np.round(numbers, _RANK_DECIMALS), weights)
        if np.ptp(metric_ranks) > 0:
            ranks[metric_name] = metric_ranks
        else:
            constant.append(metric_name)
    names = tuple(ranks)
    correlation = _correlation(np.array([ranks[name] for name in names]), weights)
    settings = {
        **measurement.settings,
        "correlation": "Spearman",
        "weighed_by": weigh,
        "compared_classes": len(weights),
    }
    orders = tuple(
        sorted(
            _group_by_order(names, ranks, correlation),
            key=lambda order: -(order.independence or 0.0),
        )
    )
    leakage_indexes = [
        names.index(name) for name in ("distribution_leakage", "entropy_leakage") if name in names
    ]
    return Independence(
        attribute=attribute,
        names=names,
        correlation=correlation,
        orders=orders,
        two_leakages=float(correlation[tuple(leakage_indexes)])
        if len(leakage_indexes) == 2
        else None,
        constant=tuple(constant),
        settings=settings,
        frame=measurement.frame,
    )


def weighted_ranks(numbers: Floats, weights: Floats) -> Floats:
    """The average rank of each number, if each number occurs as often as its weight.

    Equal numbers share a rank.

    >>> weighted_ranks(np.array([5.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0])).tolist()
    [3.0, 1.0, 3.0]
    """
    _, groups = np.unique(numbers, return_inverse=True)
    mass = np.bincount(groups, weights=weights)
    ranks: Floats = (np.cumsum(mass) - mass / 2)[groups]
    return ranks


def _correlation(ranks: Floats, weights: Floats) -> Floats:
    """Pearson's coefficient of the ranks, with the classes weighted."""
    if not len(ranks):
        return np.empty((0, 0))
    centered = ranks - (ranks @ weights / weights.sum())[:, None]
    scaled = centered * np.sqrt(weights) / np.sqrt((centered**2) @ weights)[:, None]
    correlation: Floats = np.clip(scaled @ scaled.T, -1.0, 1.0)
    return correlation


def _group_by_order(
    names: tuple[str, ...], ranks: Mapping[str, Floats], correlation: Floats
) -> list[MetricOrder]:
    """Group the metrics by their order of the classes."""
    indexes_by_order: dict[bytes, list[int]] = {}
    for index, name in enumerate(names):
        indexes_by_order.setdefault(ranks[name].tobytes(), []).append(index)
    first_indexes = [members[0] for members in indexes_by_order.values()]
    class_orders = []
    for members in indexes_by_order.values():
        others = np.array([index for index in first_indexes if index != members[0]], dtype=np.int64)
        correlations = correlation[members[0], others]
        if len(others):
            closest_index = int(np.argmax(np.abs(correlations)))
        else:
            closest_index = None
        class_orders.append(
            MetricOrder(
                metrics=tuple(names[index] for index in members),
                closest=None if closest_index is None else names[others[closest_index]],
                correlation=None if closest_index is None else float(correlations[closest_index]),
                independence=None
                if closest_index is None
                else 1.0 - float(np.abs(correlations).mean()),
            )
        )
    return class_orders
