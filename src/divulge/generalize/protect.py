# SPDX-License-Identifier: Apache-2.0
"""Protection of chosen people or chosen values with promises of their own (open problem of Afifi et al. 2018, section 7).

Chosen people ("over 75 in government"): every published class with at least one of them must keep the extra promises. Chosen values
("HIV"): the attribute is looked at as the chosen values against all others, and the extra promises are made about that; for example
basic_beta_likeness = 1: in no class may the chosen value be more than twice as likely as in the table.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.belief import Belief, Ground, Prior
from divulge.count import Contingency, Domain
from divulge.errors import BadInput, nearest
from divulge.generalize.rules import Rule, compile_rules
from divulge.generalize.tally import Bools
from divulge.policy import Promise
from divulge.table.texts import as_text

Condition = str | Sequence[str | None]
_COMPARISON = re.compile(r"\s*(<=|>=|<|>)\s*(.+?)\s*")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Protection:
    """Extra promises for chosen people, chosen values, or chosen values of chosen people."""

    promises: tuple[Promise, ...]
    where: Mapping[str, Condition] = field(default_factory=dict)
    """Quasi-identifier to its values, or to a comparison such as ">75"; all must hold. Empty: everybody."""
    attribute: str | None = None
    """The sensitive attribute the promises are about; None: each."""
    values: tuple[str | None, ...] = ()
    """Its chosen values; empty: the attribute as it is."""

    def __post_init__(self) -> None:
        if not self.promises:
            raise BadInput("a protection without a promise protects nobody", hint="for example k_anonymity = 20")
        if not self.where and not self.values:
            raise BadInput(
                "a protection must choose people (where) or values", hint='for example where = {age = ">75"}'
            )
        if self.values and self.attribute is None:
            raise BadInput(
                f"of which attribute are the chosen values {', '.join(map(repr, self.values))}?",
                hint="name it with attribute",
            )

    @classmethod
    def make(
        cls,
        promises: Mapping[str, Any],
        *,
        where: Mapping[str, Condition] | None = None,
        attribute: str | None = None,
        values: str | Sequence[str | None] = (),
    ) -> Protection:
        """From plain values, as they stand in a policy file: Protection.make({"k_anonymity": 20}, where={"age": ">75"})."""
        chosen = (values,) if isinstance(values, str) else tuple(values)
        about = attribute if not chosen else None
        return cls(
            tuple(Promise.make(name, bound, attribute=about) for name, bound in promises.items()),
            dict(where or {}),
            attribute,
            chosen,
        )


def protect(
    protections: Sequence[Protection], contingency: Contingency, beliefs: Mapping[str, Belief], *, has_population: bool
) -> tuple[dict[str, Belief], tuple[Rule, ...]]:
    """The beliefs about chosen values that are needed, and the rules."""
    more: dict[str, Belief] = {}
    rules: list[Rule] = []
    for protection in protections:
        only = _chosen_people(protection, contingency) if protection.where else None
        about = dict(beliefs)
        if protection.values:
            name, belief = _chosen_values(protection, beliefs)
            more[name] = belief
            about = {name: belief}
        promises = [_about_these(promise, protection, about) for promise in protection.promises]
        rules += compile_rules(promises, about, has_population=has_population, only=only)
    return more, tuple(rules)


def _about_these(promise: Promise, protection: Protection, about: Mapping[str, Belief]) -> Promise:
    """With chosen values, every promise about an attribute is about them."""
    return (
        replace(promise, attribute=next(iter(about)))
        if protection.values and promise.metric.scope == "sensitive"
        else promise
    )


def _chosen_people(protection: Protection, contingency: Contingency) -> Bools:
    """Which raw classes hold the chosen people."""
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
            f"nobody in the table is chosen by {dict(protection.where)}",
            hint="look at the values with `divulge profile`",
        )
    return chosen


def _meeting(domain: Domain, condition: Condition) -> Bools:
    """Which values of a column meet a condition."""
    comparison = _COMPARISON.fullmatch(condition) if isinstance(condition, str) else None
    if comparison is not None and domain.is_ordered:
        compare, bound = _OPERATORS[comparison[1]], comparison[2]
        return np.array([label is not None and compare(label, _like(label, bound, domain)) for label in domain.labels])
    texts = [as_text(label) for label in domain.labels]
    wanted = [condition] if isinstance(condition, str) else [as_text(value) for value in condition]
    for value in wanted:
        if value not in texts:
            raise BadInput(
                f"{domain.name!r} has no value {value!r}",
                hint=nearest(str(value), [text for text in texts if text is not None]),
            )
    return np.array([text in wanted for text in texts])


def _like(label: Any, bound: str, domain: Domain) -> Any:
    """A bound read as a value of the same kind."""
    try:
        if isinstance(label, datetime):
            return datetime.fromisoformat(bound).replace(tzinfo=label.tzinfo)
        return date.fromisoformat(bound) if isinstance(label, date) else type(label)(bound)
    except (TypeError, ValueError, ArithmeticError):
        raise BadInput(f"{bound!r} cannot be compared with the values of {domain.name!r}, such as {label!r}") from None


def _chosen_values(protection: Protection, beliefs: Mapping[str, Belief]) -> tuple[str, Belief]:
    """The belief about the chosen values against all others."""
    attribute = str(protection.attribute)
    if attribute not in beliefs:
        raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, beliefs))
    belief = beliefs[attribute]
    texts = [as_text(label) for label in belief.cells.domain.labels]
    for value in protection.values:
        if value not in texts:
            raise BadInput(
                f"{attribute!r} has no value {value!r}",
                hint=nearest(str(value), [text for text in texts if text is not None]),
            )
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
        prior=Prior(belief.prior.name, weights, belief.prior.row),
        ground=Ground("equal"),
    )
