# SPDX-License-Identifier: Apache-2.0
"""Whom and what a protection chooses in a counted table: the classes with its people, and the belief about its values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.belief import Belief, Ground
from divulge.count import Contingency, Domain
from divulge.errors import BadInput, nearest
from divulge.metrics.measurement import Measurement
from divulge.policy.promise import Promise
from divulge.policy.protection import Condition, Protection
from divulge.table.texts import as_text

Bools = npt.NDArray[np.bool_]

_COMPARISON = re.compile(r"\s*(<=|>=|<|>)\s*(.+?)\s*")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class Protected:
    """A protection and the classes of a table that hold its people."""

    protection: Protection
    only: Bools | None = field(default=None, repr=False)
    """Per class; None: everybody is meant."""

    def about(self, beliefs: Mapping[str, Belief]) -> tuple[dict[str, Belief], list[Promise]]:
        """The beliefs that the promises are about, and the promises: with chosen values, those against all others."""
        protection = self.protection
        if not protection.values:
            return dict(beliefs), list(protection.promises)
        name, belief = _chosen_values(protection, beliefs)
        return {name: belief}, [
            replace(promise, attribute=name) if promise.metric.scope == "sensitive" else promise
            for promise in protection.promises
        ]

    def refuse_averages(self) -> None:
        """A number of the whole table is about everybody."""
        for promise in self.protection.promises if self.only is not None else ():
            if promise.metric.looks_at == "table":
                raise BadInput(
                    f"{promise.text} is about the whole table and cannot protect chosen people",
                    hint="choose a promise about classes",
                )


def choose(
    protections: Sequence[Protection], contingency: Contingency, attributes: Iterable[str]
) -> tuple[Protected, ...]:
    """The chosen people of each protection among the counted classes; `attributes` are the sensitive ones."""
    known = tuple(attributes)
    return tuple(_chosen(_with_values(protection, contingency, known), contingency) for protection in protections)


def choose_measured(protections: Sequence[Protection], measurement: Measurement) -> tuple[Protected, ...]:
    """The same in a measured table, by what the table itself says of people; refused where not all of its classes are here."""
    if protections and measurement.survey is not None:
        raise BadInput(
            "chosen people and values cannot be looked for among classes that were not brought together",
            hint="Check without protections, or with fewer quasi-identifiers and without a memory limit",
        )
    return choose(protections, measurement.contingency, measurement.beliefs)


def _chosen(protection: Protection, contingency: Contingency) -> Protected:
    found = Protected(protection, _chosen_people(protection, contingency) if protection.where else None)
    found.refuse_averages()
    return found


def _with_values(protection: Protection, contingency: Contingency, attributes: Sequence[str]) -> Protection:
    """A sensitive column among the conditions chooses values."""
    keys = [key.name for key in contingency.keys]
    about = [column for column in protection.where if column in attributes and column not in keys]
    if not about:
        return protection
    if len(about) > 1 or protection.values:
        raise BadInput(
            f"values of several sensitive attributes are chosen at once: {protection.who}",
            hint="make a protection for each attribute",
        )
    wanted = protection.where[about[0]]
    if isinstance(wanted, str) and _COMPARISON.fullmatch(wanted):
        raise BadInput(f"values of {about[0]!r} cannot be chosen by {wanted!r}", hint="name the values")
    where = {column: condition for column, condition in protection.where.items() if column != about[0]}
    return replace(
        protection,
        where=where,
        attribute=about[0],
        values=(wanted,) if isinstance(wanted, str) else tuple(wanted),
    )


def _chosen_people(protection: Protection, contingency: Contingency) -> Bools:
    """Which classes hold the chosen people."""
    names = [key.name for key in contingency.keys]
    chosen: Bools = np.ones(len(contingency), dtype=bool)
    for column, condition in protection.where.items():
        if column not in names:
            raise BadInput(
                f"people are chosen by {column!r}, which is not a quasi-identifier", hint=nearest(column, names)
            )
        position = names.index(column)
        chosen &= _meeting(contingency.keys[position], condition)[contingency.codes[position]]
    if not chosen.any():
        raise BadInput(
            f"nobody in the table is chosen by {protection.who}", hint="look at the values with `divulge profile`"
        )
    return chosen


def _meeting(domain: Domain, condition: Condition) -> Bools:
    """Which values of a column meet a condition."""
    texts = [as_text(label) for label in domain.labels]
    parts = _AND.split(condition) if isinstance(condition, str) and condition not in texts else []
    comparisons = [_COMPARISON.fullmatch(part) for part in parts]
    if comparisons and all(comparisons):
        if not domain.is_ordered:
            raise BadInput(
                f"{condition!r} cannot be asked of {domain.name!r}, whose values are text, such as {texts[0]!r}",
                hint="Choose people in the table before its columns are made coarser, or name the values",
            )
        return np.array([_meets_all(label, comparisons, domain) for label in domain.labels])
    wanted = [condition] if isinstance(condition, str) else list(condition)
    _refuse_unknown(wanted, texts, domain.name)
    return np.array([text in wanted for text in texts])


def _meets_all(label: Any, comparisons: Sequence[re.Match[str] | None], domain: Domain) -> bool:
    return label is not None and all(
        _OPERATORS[part[1]](label, _like(label, part[2], domain)) for part in comparisons if part is not None
    )


def _like(label: Any, bound: str, domain: Domain) -> Any:
    """A bound read as a value of the same kind."""
    try:
        if isinstance(label, datetime):
            return datetime.fromisoformat(bound).replace(tzinfo=label.tzinfo)
        if isinstance(label, date):
            return date.fromisoformat(bound)
        return float(bound) if isinstance(label, int) else type(label)(bound)
    except (TypeError, ValueError, ArithmeticError):
        raise BadInput(f"{bound!r} cannot be compared with the values of {domain.name!r}, such as {label!r}") from None


def _refuse_unknown(wanted: Sequence[str | None], texts: Sequence[str | None], column: str) -> None:
    for value in wanted:
        if value not in texts:
            raise BadInput(
                f"{column!r} has no value {value!r}",
                hint=nearest(str(value), [text for text in texts if text is not None]),
            )


def _chosen_values(protection: Protection, beliefs: Mapping[str, Belief]) -> tuple[str, Belief]:
    """The belief about the chosen values against all others."""
    attribute = str(protection.attribute)
    if attribute not in beliefs:
        raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, beliefs))
    belief = beliefs[attribute]
    texts = [as_text(label) for label in belief.cells.domain.labels]
    _refuse_unknown(protection.values, texts, attribute)
    codes = np.array([0 if text in protection.values else 1 for text in texts])
    if codes.max() == 0:
        raise BadInput(
            f"all values of {attribute!r} are chosen, so there is nothing to tell them from", hint="choose fewer"
        )
    chosen = ", ".join("null" if value is None else value for value in protection.values)
    name = f"{attribute} = {chosen}"
    domain = Domain(name, pa.array([chosen, f"not {chosen}"]), "text")
    weights = np.stack([belief.prior.weights[:, codes == code].sum(axis=1) for code in (0, 1)], axis=1)
    return name, replace(
        belief,
        cells=belief.cells.recode(codes, domain),
        prior=belief.prior.with_weights(weights),
        ground=Ground("equal"),
    )
