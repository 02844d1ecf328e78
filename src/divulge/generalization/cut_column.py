# SPDX-License-Identifier: Apache-2.0
"""Result of cutting a column: its ranges as cut points, as a rule and as a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from divulge.counting import Domain
from divulge.generalization.cut_points import Cuts
from divulge.hierarchies import SUPPRESSED, Hierarchy
from divulge.results import Result
from divulge.text import as_text


@dataclass(frozen=True, repr=False)
class CutColumn(Result):
    """Optimal ranges of a column, and the hierarchy of these ranges."""

    view = "columns"

    cuts: Cuts
    rule: Mapping[str, Any]
    """Hierarchy rule in the form of a policy file."""
    hierarchy: Hierarchy
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All settings on which the ranges depend."""
    notes: tuple[str, ...] = ()


def cut_rule(
    cuts: Cuts,
    domain: Domain,
    order: Sequence[str] | None,
    *,
    explicit_points: Sequence[float | str] = (),
) -> dict[str, Any]:
    """Cut points as passed for numbers, which apply to any number.

    For other values, the rule lists every value with its range.
    """
    if not cuts.cut_points:
        return {"suppress": True}
    if domain.kind == "number" and order is None:
        explicit_point_of = {
            next((label for label in domain.labels if label >= float(point)), None): float(point)
            for point in explicit_points
        }
        points = [float(explicit_point_of.get(point, point)) for point in cuts.cut_points]
        return {"cuts": [int(point) if point.is_integer() else point for point in points]}
    texts = [str(as_text(label)) for label in domain.labels]
    if order is not None:
        texts = [text for text in order if text in texts]
    rows: dict[str, list[str]] = {}
    for item in cuts.ranges:
        low = str(as_text(item.low))
        high = str(as_text(item.high))
        if low == high:
            label = low
        else:
            label = f"[{low}, {high}]"
        rows |= {
            text: [label, SUPPRESSED] for text in texts[texts.index(low) : texts.index(high) + 1]
        }
    return {"rows": rows}
