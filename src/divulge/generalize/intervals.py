# SPDX-License-Identifier: Apache-2.0
"""Optimal cut points of a numeric or ordered column (Bezzi 2010, section 4): the ranges that keep the most information.

The paper searched by a heuristic for the age ranges that maximize I(X~;W) while every range keeps t and l. Both the information and
the promises are about one range at a time, so dynamic programming over the ordered values finds the true optimum, for at most a given
number of ranges or for any number: best(r, j) = max over i of best(r - 1, i) + gain(i, j), with gain(i, j) = -inf where the range
breaks a promise. Every promise about a class by itself can be used: t (KL as `surprise`, EMD as `t_closeness`), l of any kind, k,
L_D, L_E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.belief import Belief
from divulge.count import Cells, Contingency, Domain
from divulge.count.contingency import Floats
from divulge.errors import BadInput, Infeasible
from divulge.generalize.rollup import Bools, default_beliefs
from divulge.generalize.rules import Rule, compile_rules
from divulge.metrics import Identity
from divulge.policy import Promise
from divulge.table.texts import as_text

_TIE = 1e-12


@dataclass(frozen=True)
class Range:
    """One range of values that occur, both ends included."""

    low: Any
    high: Any
    people: int
    information: float
    """Its part of I(X~;W), in bits."""


@dataclass(frozen=True)
class Cuts:
    """The optimal ranges of one column."""

    column: str
    attribute: str
    ranges: tuple[Range, ...]
    information: float
    """I(X~;W) of the ranges, in bits."""
    original_information: float
    """I(X;W) of the column as it is."""

    @property
    def cut_points(self) -> tuple[Any, ...]:
        """The first value of each range but the first: ranges are left-closed, [low, next low)."""
        return tuple(item.low for item in self.ranges[1:])

    @property
    def information_loss(self) -> float:
        """The share of the column's own information that the ranges lose."""
        return 1.0 - self.information / self.original_information if self.original_information > 0 else 0.0

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "column": self.column,
            "attribute": self.attribute,
            "ranges": [
                {"low": as_text(item.low), "high": as_text(item.high), "people": item.people, "information": item.information}
                for item in self.ranges
            ],
            "information": self.information,
            "original_information": self.original_information,
            "information_loss": self.information_loss,
        }


def optimal_cuts(
    contingency: Contingency,
    promises: Sequence[Promise],
    *,
    column: str,
    attribute: str,
    most: int | None = None,
    order: Sequence[str] | None = None,
    beliefs: Mapping[str, Belief] | None = None,
) -> Cuts:
    """The ranges of `column`, `most` at most, that keep every promise and the most information about `attribute`.

    `order` gives the order of a text column's values from low to high. `beliefs` are those of the contingency's own classes.
    """
    if attribute not in contingency.cells:
        raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=f"there are: {', '.join(contingency.cells) or 'none'}")
    if most is not None and most < 1:
        raise BadInput(f"at most {most} ranges", hint="at least one range holds everybody")
    line = _Line.of(contingency, column, order, default_beliefs(contingency) if beliefs is None else beliefs)
    rules = compile_rules(promises, line.beliefs, has_population=line.contingency.population is not None)
    for rule in rules:
        if rule.looks_at != "class":
            raise BadInput(f"{rule.text} depends on all ranges together", hint="choose promises about a range by itself")
    gains = np.full((line.values, line.values), -np.inf)
    for first in range(line.values):
        gains[first, first:] = np.where(line.allowed(first, rules), line.information(first, attribute), -np.inf)
    bounds = _best_ranges(gains, most)
    if bounds is None:
        raise Infeasible(
            f"no division of {column!r} into {'ranges' if most is None else f'at most {most} ranges'} keeps "
            f"{' and '.join(rule.text for rule in rules)} in every range",
            hint=_why_not(line, rules),
        )
    return _cuts(line, attribute, gains, bounds)


@dataclass(frozen=True, eq=False)
class _Line:
    """The counts of one column with its values in order."""

    contingency: Contingency
    """One class per value."""
    beliefs: Mapping[str, Belief]

    @classmethod
    def of(cls, contingency: Contingency, column: str, order: Sequence[str] | None, beliefs: Mapping[str, Belief]) -> _Line:
        alone = contingency.roll_up([column])
        domain = alone.keys[0]
        if None in domain.labels:
            raise BadInput(f"{column!r} has nulls, which have no place in an order", hint="leave these rows out with nulls='drop'")
        rank = np.arange(len(domain))
        if order is not None:
            texts = [as_text(label) for label in domain.labels]
            missing = [repr(text) for text in texts if text not in order]
            if missing:
                raise BadInput(f"the order of {column!r} misses {', '.join(missing)}")
            rank = np.argsort(np.argsort([list(order).index(str(text)) for text in texts]))
        elif not domain.is_ordered:
            raise BadInput(f"the values of {column!r} are text and have no order", hint="give their order from low to high")
        values = domain.values.take(pa.array(np.argsort(rank)))
        ordered = contingency.roll_up([column], coarser={column: (rank, Domain(column, values, domain.kind))})
        codes = rank[contingency.codes[[key.name for key in contingency.keys].index(column)]]
        return cls(ordered, {name: _along(belief, codes, len(domain)) for name, belief in beliefs.items()})

    @property
    def values(self) -> int:
        return len(self.contingency)

    def allowed(self, first: int, rules: Sequence[Rule]) -> Bools:
        """For the ranges from the first value to each later one: do they keep every promise?"""
        fine: Bools = np.ones(self.values - first, dtype=bool)
        for rule in rules:
            if rule.attribute is None:
                fine &= ~rule.broken(rule.values(self._identity(first)))
                continue
            belief = _from(self.beliefs[rule.attribute], first, self.values)
            fine[belief.classes] &= ~rule.broken(rule.values(belief))
        return fine

    def information(self, first: int, attribute: str) -> Floats:
        """Their parts of I(X~;W)."""
        raw = self.contingency.cells[attribute]
        belief = _from(Belief.of_table(raw), first, self.values)
        bits = belief.cells.sum_by_class(belief.cells.mass * belief.log_ratio) / raw.marginal.sum()
        return np.maximum(bits, 0.0)

    def _identity(self, first: int) -> Identity:
        sizes = np.cumsum(self.contingency.sizes[first:]).astype(np.float64)
        population = self.contingency.population
        behind = None if population is None else np.maximum(np.cumsum(population[first:]), sizes)
        return Identity(sizes, np.ones(len(sizes)), float(np.log2(self.contingency.people)), behind)


def _along(belief: Belief, codes: Any, values: int) -> Belief:
    """A belief about raw classes as one about the values of the column, as a dense table of counts."""
    if belief.prior.row is not None:
        raise BadInput(
            f"the prior of {belief.cells.domain.name!r} depends on quasi-identifiers, which ranges change", hint="give one prior for the whole table"
        )
    cells = belief.cells
    place = codes[belief.classes[cells.class_index]] * len(cells.domain) + cells.value
    table = np.bincount(place, weights=cells.mass, minlength=values * len(cells.domain))
    return Belief(_dense_cells(cells.domain, table.reshape(values, -1))[0], belief.prior, belief.ground, np.arange(values), belief.recursive_l)


def _dense_cells(domain: Domain, table: Floats) -> tuple[Cells, Any]:
    """Cells of a table of counts, class by value, and which classes have any."""
    rows, columns = np.nonzero(table)
    present, start = np.unique(rows, return_index=True)
    return Cells(domain, np.append(start, len(rows)).astype(np.int64), columns.astype(np.int64), table[rows, columns]), present
