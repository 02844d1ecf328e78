# SPDX-License-Identifier: Apache-2.0
"""Background knowledge that rules values out or in (Afifi et al. 2018, Section 2 and Example 1).

Alice knows that Carl has a low risk of heart disease: she strikes that value from what she thinks possible, before and after
publication. What remains of a class can then tell her the value (positive disclosure) or exclude others (negative disclosure).
A class whose values are all ruled out cannot be the person's and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.arrays import Ints
from divulge.belief.prior import PriorBelief
from divulge.count import Cells, Domain
from divulge.errors import BadInput, nearest
from divulge.table.texts import as_text

ValuesOf = Mapping[str, tuple[str | None, ...]]
"""Attribute to some of its values, as text."""


@dataclass(frozen=True)
class Knowledge:
    """Values of one attribute that the adversary has ruled out, or the only ones held possible."""

    attribute: str
    out: tuple[str | None, ...] = ()
    only: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.out) == bool(self.only):
            raise BadInput(f"knowledge about {self.attribute!r} must rule values out or in, one of the two")

    def describe(self) -> dict[str, object]:
        """As it stands in the settings of a result."""
        return {"ruled_out": list(self.out)} if self.out else {"ruled_in": list(self.only)}

    def possible(self, domain: Domain) -> npt.NDArray[np.bool_]:
        """Which values of the attribute are left."""
        labels = [as_text(label) for label in domain.labels]
        for value in (*self.out, *self.only):
            if value not in labels:
                raise BadInput(
                    f"{self.attribute!r} has no value {value!r}",
                    hint=nearest(str(value), [label for label in labels if label is not None]),
                )
        possible = np.array([label in self.only if self.only else label not in self.out for label in labels])
        if not possible.any():
            raise BadInput(f"every value of {self.attribute!r} is ruled out")
        return possible

    def apply(self, cells: Cells, prior: PriorBelief) -> tuple[Cells, PriorBelief, Ints]:
        """Strike the impossible values from counts and prior; also which classes are left."""
        possible = self.possible(cells.domain)
        kept = possible[cells.value]
        left = np.flatnonzero(cells.sum_by_class(kept.astype(np.float64)) > 0)
        if len(left) == 0:
            raise BadInput(f"what is known about {self.attribute!r} fits nobody in the table")
        renumbered = np.full(len(cells.start) - 1, -1, dtype=np.int64)
        renumbered[left] = np.arange(len(left))
        starts = np.searchsorted(renumbered[cells.class_index[kept]], np.arange(len(left) + 1))
        struck = Cells(cells.domain, starts.astype(np.int64), cells.value[kept], cells.mass[kept])
        return struck, self._strike(prior, possible, left), left

    def _strike(self, prior: PriorBelief, possible: npt.NDArray[np.bool_], left: Ints) -> PriorBelief:
        """The prior of the classes that are left, without the impossible values."""
        weights = prior.weights * possible
        used = weights if prior.row is None else weights[prior.row[left]]
        if np.any(used.sum(axis=1) <= 0):
            raise BadInput(f"the prior of {self.attribute!r} gives no weight to what is left after ruling values out")
        return prior.with_weights(weights, left)


def read_knowledge(rule_out: ValuesOf, rule_in: ValuesOf) -> dict[str, Knowledge]:
    """Knowledge per attribute."""
    both = sorted(set(rule_out) & set(rule_in))
    if both:
        raise BadInput(f"values of {both[0]!r} are ruled both out and in", hint="give one of the two")
    known = {name: Knowledge(name, out=values) for name, values in rule_out.items()}
    return known | {name: Knowledge(name, only=values) for name, values in rule_in.items()}


def values_by_attribute(given: Any, what: str) -> ValuesOf:
    """From a mapping {attribute: values}, or from texts "attribute=value"."""
    if isinstance(given, Mapping):
        return {name: _texts(values) for name, values in given.items()}
    if not isinstance(given, Iterable):
        raise BadInput(f"{what} is {given!r}", hint="give {attribute: values}, or texts column=value")
    found: dict[str, tuple[str | None, ...]] = {}
    for text in [given] if isinstance(given, str) else given:
        name, sign, value = str(text).partition("=")
        if not sign:
            raise BadInput(f"{text!r} does not say which value is meant", hint="write column=value")
        found[name] = (*found.get(name, ()), value)
    return found


def _texts(values: Any) -> tuple[str | None, ...]:
    """One value or several, as text."""
    several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    return tuple(as_text(value) for value in values) if several else (as_text(values),)
