# SPDX-License-Identifier: Apache-2.0
"""A promise: a metric, a bound, and the attribute it is made for. Every risk in METRICS can be promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from divulge import metrics
from divulge.errors import BadInput
from divulge.metrics import Metric


@dataclass(frozen=True)
class Promise:
    """`metric` stays on the right side of `bound` in every class (or for the whole table, where classes have no number)."""

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """The sensitive attribute it is made for; None means each of them."""
    l_value: int | None = None
    """The l of recursive (c,l)-diversity."""

    @classmethod
    def make(
        cls, name: str, bound: Any, *, attribute: str | None = None, scope: metrics.Scope | None = None
    ) -> Promise:
        """Check and build; recursive (c,l)-diversity takes {c = ..., l = ...} or the text "c,l"."""
        metric = metrics.find_metric(name, scope)
        if metric.kind != "risk":
            raise BadInput(
                f"{name!r} is a {metric.kind} and cannot be promised", hint="`divulge metrics` lists what can"
            )
        l_value = None
        if metric.takes_l:
            bound, l_value = _c_and_l(name, bound)
        return cls(metric, _number(name, bound), attribute, l_value)

    @property
    def text(self) -> str:
        """For people: k_anonymity >= 5, entropy_leakage of disease <= 0.5."""
        sign = "<" if self.metric.strict else ("<=" if self.metric.worse == "high" else ">=")
        scope = (
            "identity "
            if self.metric.scope == "identity" and metrics.find_metric(self.metric.name) is not self.metric
            else ""
        )
        about = f" of {self.attribute}" if self.attribute else ""
        with_l = f" (l = {self.l_value})" if self.l_value else ""
        return f"{scope}{self.metric.name}{about} {sign} {self.bound:g}{with_l}"


def _number(name: str, bound: Any) -> float:
    if isinstance(bound, str):
        try:
            bound = float(bound)
        except ValueError:
            raise BadInput(f"{name} = {bound!r} is not a number") from None
    if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
        raise BadInput(f"{name} = {bound!r} is not a number")
    if bound < 0:
        raise BadInput(f"{name} = {bound:g} is below 0, which no table can be held to")
    return float(bound)


def _c_and_l(name: str, bound: Any) -> tuple[Any, int]:
    if isinstance(bound, Mapping) and set(bound) == {"c", "l"}:
        c, l_value = bound["c"], bound["l"]
    elif isinstance(bound, str) and bound.count(",") == 1:
        c, _, l_value = bound.partition(",")
    elif isinstance(bound, (list, tuple)) and len(bound) == 2:
        c, l_value = bound
    else:
        raise BadInput(
            f"{name} = {bound!r} does not give c and l", hint="write {c = 3, l = 2}, or 3,2 on the command line"
        )
    try:
        whole = int(l_value)
    except (TypeError, ValueError):
        whole = None
    if whole is None or isinstance(l_value, bool) or (isinstance(l_value, float) and l_value != whole):
        raise BadInput(f"l = {l_value!r} of {name} is not a whole number")
    if whole < 1:
        raise BadInput(f"l = {l_value!r} of {name} must be at least 1")
    return c, whole
