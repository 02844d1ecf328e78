# SPDX-License-Identifier: Apache-2.0
"""Requirements: a metric, a bound, and the attribute they apply to.

Every risk in METRICS can be bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from divulge import metrics
from divulge.arguments import Sentence, arg, marked, outside
from divulge.errors import BadInput, nearest
from divulge.metrics import Metric

AND_OR_END = r"\s*(?:(?P<more>\band\b)|$)"
_REQUIREMENT_PATTERN = re.compile(
    r"""\s*(?:(?P<scope>identity)\s+(?=[a-z]))?(?P<name>\w+)\b(?:\s+of\s+(?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s"<>=]+)))?"""
    rf"\s*(?P<sign><=|>=|<|>|=)?\s*(?P<bound>[^\s<>=()]+)(?:\s*\(l\s*=\s*(?P<l>\d+)\))?{AND_OR_END}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Promise:
    """Requirement that `metric` does not exceed, or fall below, `bound` in any class.

    Metrics without a value for a class are bounded for the whole table.
    """

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """Sensitive attribute that it applies to; None means each of them."""
    l_value: int | None = None
    """The l of recursive (c,l)-diversity."""

    @classmethod
    def make(
        cls,
        name: str,
        bound: Any,
        *,
        attribute: str | None = None,
        scope: metrics.Scope | None = None,
    ) -> Promise:
        """Check and build a requirement.

        Recursive (c,l)-diversity takes {c = ..., l = ...} or the text "c,l".
        """
        metric = metrics.find_metric(name, scope)
        if metric.kind != "risk":
            raise BadInput(
                f"{name!r} is a {metric.kind} and cannot be promised",
                hint="`divulge metrics` lists what can",
            )
        if metric.takes_l:
            bound, l_value = _c_and_l(name, bound)
        else:
            l_value = None
        return cls(metric, _finite_bound(name, bound), attribute, l_value)

    @classmethod
    def parse(cls, text: str) -> tuple[Promise, ...]:
        """Parse requirements from one line, in the form of `text`, joined by AND.

        >>> [
        ...     promise.text
        ...     for promise in Promise.parse(
        ...         "k_anonymity >= 5 and entropy_leakage of disease <= 0.5"
        ...     )
        ... ]
        ['k_anonymity >= 5', 'entropy_leakage of disease <= 0.5']
        """
        return parse_requirements(
            text, text=text, what="promise", hint="write it like k_anonymity >= 5"
        )

    @staticmethod
    def name_of(metric: Metric[Any]) -> str:
        """Return the name of a metric in a requirement.

        The word "identity" is added if a metric of attributes has the same name.
        """
        if metrics.find_metric(metric.name) is metric:
            return metric.name
        return f"identity {metric.name}"

    def require_something(self) -> None:
        """Raise an error if no table can violate the requirement.

        Examples are k_anonymity >= 1 and alpha <= 1.
        """
        if not self.metric.is_vacuous(self.bound, self.l_value):
            return
        worst = self.metric.worst_possible(self.l_value)
        if self.metric.worse == "high":
            side = "less"
        else:
            side = "more"
        raise BadInput(
            f"{marked(self.text)} requires nothing: no table can violate it",
            hint=f"Require {side} than {worst:.4g}, or remove it",
        )

    @property
    def about(self) -> tuple[str, str, str | None]:
        """Metric, scope and attribute; of two requirements with equal ones, only one is meant."""
        return self.metric.name, self.metric.scope, self.attribute

    @property
    def text(self) -> str:
        """Text for people: k_anonymity >= 5, entropy_leakage of disease <= 0.5."""
        if self.attribute:
            about = f" of {outside(self.attribute)}"
        else:
            about = ""
        if self.l_value:
            with_l = f" (l = {self.l_value})"
        else:
            with_l = ""
        name = self.name_of(self.metric)
        return Sentence(f"{name}{about} {self.metric.sign} {self.bound:g}{with_l}")

    def spread(
        self, beliefs: Collection[str], *, has_population: bool
    ) -> Iterator[tuple[Promise, str | None]]:
        """Yield the requirement with each sensitive attribute that it applies to.

        If nothing is sensitive, it applies to identity; the attribute is None then.
        """
        metric = self.metric
        if not beliefs and self.attribute is None:
            metric = next(
                (other for other in metrics.IDENTITY if other.name == metric.name), metric
            )
        if metric.needs_population and not has_population:
            raise metrics.needs_population(metric.name)
        if metric.scope == "identity":
            yield replace(self, metric=metric), None
            return
        if not beliefs:
            raise BadInput(
                f"{marked(self.text)} is about a sensitive attribute, and none was named",
                hint=f"name it with {arg('sensitive')}",
            )
        if self.attribute is None:
            attributes = beliefs
        else:
            attributes = [self.attribute]
        for about in attributes:
            if about not in beliefs:
                raise BadInput(
                    f"{marked(self.text)}: {about!r} is not a sensitive attribute here",
                    hint=nearest(about, beliefs),
                )
            yield self, about


_LARGEST_L = 2**31 - 1


def _finite_bound(name: str, bound: Any) -> float:
    try:
        if isinstance(bound, (str, int, float)) and not isinstance(bound, bool):
            number = float(bound)
        else:
            number = math.nan
    except ValueError:
        number = math.nan
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise BadInput(f"{name} = {bound!r} is not a number")
    if math.isinf(number):
        raise BadInput(
            f"{name} = {number} is not a finite number, and no bound",
            hint="Leave it out if all is allowed",
        )
    if number < 0:
        raise BadInput(f"{name} = {number:g} is below 0, which no table can be held to")
    return number


def _c_and_l(name: str, bound: Any) -> tuple[Any, int]:
    if isinstance(bound, Mapping) and set(bound) == {"c", "l"}:
        c = bound["c"]
        l_value = bound["l"]
    elif isinstance(bound, str) and bound.count(",") == 1:
        c, _, l_value = bound.partition(",")
    elif isinstance(bound, (list, tuple)) and len(bound) == 2:
        c, l_value = bound
    else:
        raise BadInput(
            f"{name} = {bound!r} does not give c and l",
            hint="write {c = 3, l = 2}, or 3,2 on the command line",
        )
    try:
        whole_l = int(l_value)
    except (TypeError, ValueError, OverflowError):
        whole_l = None
    if (
        whole_l is None
        or isinstance(l_value, bool)
        or (isinstance(l_value, float) and l_value != whole_l)
    ):
        raise BadInput(f"l = {l_value!r} of {name} is not a whole number")
    if not 1 <= whole_l <= _LARGEST_L:
        raise BadInput(f"l of {name} must be from 1 to {_LARGEST_L:,}")
    return c, whole_l


def parse_requirements(part: str, *, text: str, what: str, hint: str) -> tuple[Promise, ...]:
    """Parse requirements that are joined with AND; the other arguments as in `split_at_and`."""
    pieces = split_at_and(_REQUIREMENT_PATTERN, part, text=text, what=what, hint=hint)
    return tuple(_parse_requirement(piece) for piece in pieces)


def split_at_and(
    pattern: re.Pattern[str], part: str, *, text: str, what: str, hint: str
) -> Iterator[re.Match[str]]:
    """Yield the parts between the ANDs.

    `text` is the whole input, `what` names its kind for the error, and `hint` shows its form.
    """
    position = 0
    while True:
        match = pattern.match(part, position)
        if match is None:
            raise BadInput(
                f"{text!r} is not a {what}: {part[position:].strip()!r} is not understood",
                hint=hint,
            )
        yield match
        position = match.end()
        if not match["more"]:
            return


def _parse_requirement(piece: re.Match[str]) -> Promise:
    about = piece["quoted"] or piece["bare"]
    scope: metrics.Scope | None = None
    if piece["scope"]:
        scope = "identity"
    elif about:
        scope = "sensitive"
    if piece["l"]:
        bound = f"{piece['bound']},{piece['l']}"
    else:
        bound = piece["bound"]
    promise = Promise.make(piece["name"], bound, attribute=about, scope=scope)
    if promise.metric.worse == "high":
        expected_sign = "<"
    else:
        expected_sign = ">"
    # "k_anonymity > 5" requires more than "k_anonymity >= 5", and must not be checked as that.
    if piece["sign"] not in (None, "=", promise.metric.sign, f"{expected_sign}="):
        raise BadInput(f"{piece[0].strip()!r}: this can only be promised as {promise.text}")
    return promise
