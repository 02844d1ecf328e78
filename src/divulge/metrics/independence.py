# SPDX-License-Identifier: Apache-2.0
"""Which metrics order the classes of one's own table alike, and which say something that the others do not.

Afifi et al. 2018 chose two distances that are sensitive and independent (section 5, Fig. 1) and left open whether two are enough.
`compare_distances` repeats that on random beliefs; this is measured on the classes of a table, by Spearman's rank correlation, each metric
turned so that a higher rank is worse. It says nothing about other tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from divulge.arrays import Floats
from divulge.errors import BadInput, nearest
from divulge.metrics.itpr import Measured
from divulge.results import Result

Weighing = Literal["people", "classes"]
_DECIMALS = 9
"""Numbers that differ by less are rounding of the same number."""


@dataclass(frozen=True)
class SaysTheSame:
    """Metrics that order all classes alike, and how far another order is from theirs."""

    metrics: tuple[str, ...]
    closest: str | None
    """The metric outside that goes along most; None where there is none outside."""
    correlation: float | None
    """With that one."""
    independence: float | None
    """1 minus the mean absolute correlation with all others, one of each order."""

    @property
    def name(self) -> str:
        """The first of them."""
        return self.metrics[0]


@dataclass(frozen=True, eq=False, repr=False)
class Independence(Result):
    """How far the metrics of a table's classes say the same."""

    view = "classes"

    attribute: str | None
    names: tuple[str, ...]
    """Every metric whose numbers differ between classes; those of identity with `identity.` before them."""
    correlation: Floats = field(repr=False)
    """Spearman's rank correlation between them."""
    orders: tuple[SaysTheSame, ...]
    """The different orders of classes, the most independent first."""
    two_leakages: float | None
    """The correlation of distribution and entropy leakage, which the paper chose as independent; None where one has no order."""
    constant: tuple[str, ...]
    """Metrics that are the same in every class, and so have no order."""
    settings: Mapping[str, Any]

    def between(self, one: str, other: str) -> float:
        """The correlation of two metrics."""
        for name in (one, other):
            if name not in self.names:
                raise BadInput(f"{name!r} has no order of classes here", hint=nearest(name, self.names))
        return float(self.correlation[self.names.index(one), self.names.index(other)])


def independence_of(measurement: Measured, attribute: str | None, *, weigh: Weighing) -> Independence:
    """Rank the classes by every metric, and correlate the ranks."""
    if measurement.survey is not None:
        told = f"only the worst of {measurement.class_count:,} classes are at hand, and an order needs all of them"
        raise BadInput(told, hint="Name fewer quasi-identifiers, or allow more memory")
    here = slice(None) if attribute is None else measurement.beliefs[attribute].classes
    weights = measurement.contingency.sizes[here].astype(np.float64)
    if len(weights) < 3:
        raise BadInput(f"{len(weights)} classes have no order that could differ", hint="at least 3 are needed")
    if weigh == "classes":
        weights = np.ones(len(weights))
    prefix = "" if attribute is None else "identity."
    ranks: dict[str, Floats] = {}
    constant: list[str] = []
    scored = [
        (attribute, name, score) for name, score in (measurement.sensitive[attribute] if attribute else {}).items()
    ]
    for about, name, score in [*scored, *((None, name, score) for name, score in measurement.identity.items())]:
        if score.metric.per_class is None:
            continue
        numbers = measurement.per_class(name, about)[here] * (1.0 if score.metric.worse == "high" else -1.0)
        told = name if about is not None else f"{prefix}{name}"
        found = weighted_ranks(np.round(numbers, _DECIMALS), weights)
        if np.ptp(found) > 0:
            ranks[told] = found
        else:
            constant.append(told)
    names = tuple(ranks)
    correlation = _correlation(np.array([ranks[name] for name in names]), weights)
    settings = {
        **measurement.settings,
        "correlation": "Spearman",
        "weighed_by": weigh,
        "compared_classes": len(weights),
    }
    orders = tuple(sorted(_orders(names, ranks, correlation), key=lambda order: -(order.independence or 0.0)))
    chosen = [names.index(name) for name in ("distribution_leakage", "entropy_leakage") if name in names]
    return Independence(
        attribute=attribute,
        names=names,
        correlation=correlation,
        orders=orders,
        two_leakages=float(correlation[tuple(chosen)]) if len(chosen) == 2 else None,
        constant=tuple(constant),
        settings=settings,
        frame=measurement.frame,
    )


def weighted_ranks(numbers: Floats, weights: Floats) -> Floats:
    """The average rank of each number where each occurs as often as its weight says; equal numbers share theirs.

    >>> weighted_ranks(np.array([5.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0])).tolist()
    [3.0, 1.0, 3.0]
    """
    _, groups = np.unique(numbers, return_inverse=True)
    mass = np.bincount(groups, weights=weights)
    found: Floats = (np.cumsum(mass) - mass / 2)[groups]
    return found


def _correlation(ranks: Floats, weights: Floats) -> Floats:
    """Pearson's coefficient of the ranks, each class as heavy as its weight."""
    if not len(ranks):
        return np.empty((0, 0))
    apart = ranks - (ranks @ weights / weights.sum())[:, None]
    scaled = apart * np.sqrt(weights) / np.sqrt((apart**2) @ weights)[:, None]
    found: Floats = np.clip(scaled @ scaled.T, -1.0, 1.0)
    return found


def _orders(names: tuple[str, ...], ranks: Mapping[str, Floats], correlation: Floats) -> list[SaysTheSame]:
    """One entry for each order that occurs."""
    alike: dict[bytes, list[int]] = {}
    for at, name in enumerate(names):
        alike.setdefault(ranks[name].tobytes(), []).append(at)
    first = [members[0] for members in alike.values()]
    found = []
    for members in alike.values():
        others = np.array([at for at in first if at != members[0]], dtype=np.int64)
        along = correlation[members[0], others]
        best = int(np.argmax(np.abs(along))) if len(others) else None
        found.append(
            SaysTheSame(
                metrics=tuple(names[at] for at in members),
                closest=None if best is None else names[others[best]],
                correlation=None if best is None else float(along[best]),
                independence=None if best is None else 1.0 - float(np.abs(along).mean()),
            )
        )
    return found
