# SPDX-License-Identifier: Apache-2.0
"""A promise: a metric, a bound, and the attribute it is made for. Every risk in METRICS can be promised."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from divulge import metrics
from divulge.errors import BadInput, nearest
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
        bound, l_value = _c_and_l(name, bound) if metric.takes_l else (bound, None)
        return cls(metric, _number(name, bound), attribute, l_value)

    @property
    def text(self) -> str:
        """For people: k_anonymity >= 5, entropy_leakage of disease <= 0.5."""
        sign = "<" if self.metric.strict else ("<=" if self.metric.worse == "high" else ">=")
        is_second = self.metric.scope == "identity" and metrics.find_metric(self.metric.name) is not self.metric
        scope = "identity " if is_second else ""
        about = f" of {self.attribute}" if self.attribute else ""
        with_l = f" (l = {self.l_value})" if self.l_value else ""
        return f"{scope}{self.metric.name}{about} {sign} {self.bound:g}{with_l}"

    def spread(self, beliefs: Collection[str], *, has_population: bool) -> Iterator[tuple[Promise, str | None]]:
        """The promise for each sensitive attribute it is made for; where nothing is sensitive, it means identity, for which None stands."""
        metric = self.metric
        if not beliefs and self.attribute is None:
            metric = next((other for other in metrics.IDENTITY if other.name == metric.name), metric)
        if metric.needs_population and not has_population:
            raise BadInput(f"{metric.name} needs a population", hint="give a population table or a weight column")
        if metric.scope == "identity":
            yield replace(self, metric=metric), None
            return
        if not beliefs:
            raise BadInput(
                f"{self.text} is about a sensitive attribute, and none was named",
                hint="name it with sensitive= (--sensitive)",
            )
        for about in beliefs if self.attribute is None else [self.attribute]:
            if about not in beliefs:
                raise BadInput(
                    f"{self.text}: {about!r} is not a sensitive attribute here", hint=nearest(about, beliefs)
                )
            yield self, about


def _number(name: str, bound: Any) -> float:
    try:
        number = float(bound) if isinstance(bound, (str, int, float)) and not isinstance(bound, bool) else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadInput(f"{name} = {bound!r} is not a number")
    if number < 0:
        raise BadInput(f"{name} = {number:g} is below 0, which no table can be held to")
    return number


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
