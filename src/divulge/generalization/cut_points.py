# SPDX-License-Identifier: Apache-2.0
"""Optimal cut points of a numeric or ordered column: the ranges that keep the most information.

Bezzi 2010, section 4, searched by a heuristic. Both the information I(X~;W) and the requirements
are about one range at a time, so dynamic programming over the ordered values finds the true
optimum: best(r, j) = max over i of best(r - 1, i) + gain(i, j), with gain(i, j) = -inf if the range
violates a requirement. Every requirement about a single class can be used: t (KL as `surprise`, EMD
as `t_closeness`), l of any kind, k, L_D, L_E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from divulge import arrays
from divulge.adversary import Belief, PriorBelief
from divulge.arguments import arg, marked, outside
from divulge.arrays import Bools, Floats, Ints
from divulge.counting import Cells, Contingency, Domain
from divulge.errors import BadInput, Infeasible, nearest
from divulge.generalization.lattice import float_or_none
from divulge.generalization.mondrian_axes import places_in_order
from divulge.generalization.pruning_rules import Rule, compile_rules
from divulge.generalization.rollup import default_beliefs
from divulge.metrics import Identity
from divulge.policy import Promise
from divulge.text import as_text

_TIE = 1e-12
_MOST_CELLS = 2_000_000
"""Maximum of values times classes of the other columns times sensitive values.

Each range examines all of these cells.
"""


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
    """I(X;W) of the column before it is divided into ranges."""
    beside: tuple[str, ...] = ()
    """Quasi-identifiers that are published together with the ranges.

    Both information values then refer to all of these columns together.
    """
    whole_information: float | None = None
    """I(X;W) of all quasi-identifiers before generalization, if they were named.

    It is an upper bound for every generalization (eq. 4).
    """

    @property
    def cut_points(self) -> tuple[Any, ...]:
        """The first value of each range but the first; ranges are left-closed, [low, next low)."""
        return tuple(item.low for item in self.ranges[1:])

    @property
    def information_loss(self) -> float:
        """The share of the column's own information that the ranges lose."""
        return _relative_loss(self.information, self.original_information)

    @property
    def whole_loss(self) -> float | None:
        """The share of the information of all quasi-identifiers that the ranges lose."""
        if self.whole_information is None:
            return None
        return _relative_loss(self.information, self.whole_information)

    def document(self) -> dict[str, Any]:
        """Contents for JSON."""
        ranges = [
            {**asdict(item), "low": as_text(item.low), "high": as_text(item.high)}
            for item in self.ranges
        ]
        losses = {"information_loss": self.information_loss, "whole_loss": self.whole_loss}
        return {**asdict(self), "ranges": ranges, **losses}


def _relative_loss(retained: float, original: float) -> float:
    if original > 0:
        return 1.0 - retained / original
    return 0.0


def optimal_cuts(
    contingency: Contingency,
    promises: Sequence[Promise],
    *,
    column: str,
    attribute: str,
    max_ranges: int | None = None,
    order: Sequence[str] | None = None,
    keep: Sequence[Any] = (),
    among: Sequence[Any] | None = None,
    other_columns: Sequence[str] = (),
    beliefs: Mapping[str, Belief] | None = None,
) -> Cuts:
    """Return the ranges of `column` that meet every requirement with the most information.

    There are at most `max_ranges`, and the information is about `attribute`. `order` lists the
    values of a text column from low to high. `keep` lists required cut points. Other cuts are only
    at points of `among`, if it is passed: a finer level keeps the cuts of a coarser one and adds
    its own. With `other_columns`, every class of a range and these columns meets the requirements,
    and the information is that of both. `beliefs` are those of the classes of the contingency.
    """
    if attribute not in contingency.cells:
        raise BadInput(
            f"{attribute!r} is not a sensitive attribute here",
            hint=f"there are: {', '.join(contingency.cells) or 'none'}",
        )
    if max_ranges is not None and max_ranges < 1:
        raise BadInput(f"at most {max_ranges} ranges", hint="at least one range holds everybody")
    class_beliefs = default_beliefs(contingency) if beliefs is None else beliefs
    line = _Line.of(contingency, column, order, class_beliefs, other_columns=other_columns)
    rules = compile_rules(promises, line.beliefs, has_population=line.population is not None)
    for rule in rules:
        if rule.looks_at != "class":
            raise BadInput(
                f"{marked(rule.text)} depends on all ranges together",
                hint="choose promises about a range by itself",
            )
    gains = np.full((len(line), len(line)), -np.inf)
    for first in range(len(line)):
        gains[first, first:] = np.where(
            line.allowed(first, rules), line.information(first, attribute), -np.inf
        )
    for position in (line.cut_index(point) for point in keep):
        gains[:position, position:] = -np.inf
    if among is not None:
        gains[
            np.setdiff1d(
                np.arange(1, len(line)), [line.cut_index(point) for point in (*among, *keep)]
            )
        ] = -np.inf
    bounds = _best_ranges(gains, max_ranges)
    if bounds is None:
        if len(keep) or among is not None:
            these = " with these cuts"
        else:
            these = ""
        raise Infeasible(
            f"no division of {column!r} into "
            f"{'ranges' if max_ranges is None else f'at most {max_ranges} ranges'}{these} keeps "
            f"{' and '.join(marked(rule.text) for rule in rules)} in every range",
            hint=_infeasibility_hint(line, rules),
        )
    ranges = tuple(
        Range(
            line.labels[first],
            line.labels[last],
            int(line.sizes[first : last + 1].sum()),
            float(gains[first, last]),
        )
        for first, last in bounds
    )
    original = sum(float(line.information(value, attribute)[0]) for value in range(len(line)))
    return Cuts(
        column,
        attribute,
        ranges,
        sum(item.information for item in ranges),
        original,
        tuple(other_columns),
    )


def information_of(contingency: Contingency, attribute: str) -> float:
    """I(X;W) of all counted columns without generalization."""
    return default_beliefs(contingency)[attribute].mutual_information


@dataclass(frozen=True, eq=False)
class _Line:
    """The counts of one column, by value in ascending order."""

    column: str
    labels: tuple[Any, ...]
    sizes: Floats
    """People by value and by class of the other columns.

    Without other columns there is one class.
    """
    population: Floats | None
    population_estimated: bool
    beliefs: Mapping[str, Belief]
    tables: Mapping[str, Floats]
    """Mass by value of the column, class of the other columns, and value of the attribute.

    There is one table for each belief.
    """
    counts: Mapping[str, Floats]
    """Mass without background knowledge, by attribute, in the layout of `tables`."""
    priors: Mapping[str, Floats]
    """Weights of each prior that depends on the class, by value of the column."""

    @classmethod
    def of(
        cls,
        contingency: Contingency,
        column: str,
        order: Sequence[str] | None,
        beliefs: Mapping[str, Belief],
        *,
        other_columns: Sequence[str] = (),
    ) -> _Line:
        names = [key.name for key in contingency.keys]
        for name in (column, *other_columns):
            if name not in names:
                raise BadInput(
                    f"{name!r} is not among the counted columns", hint=nearest(name, names)
                )
        domain = contingency.keys[names.index(column)]
        rank = _ranks(domain, order)
        codes = rank[contingency.codes[names.index(column)]]
        values = len(domain)
        other, others = _numbered(contingency, other_columns)
        codes = codes * others + other
        widest_domain = max((len(item.cells.domain) for item in beliefs.values()), default=1)
        if values * others * widest_domain > _MOST_CELLS:
            raise BadInput(
                f"{values:,} values in {others:,} classes of {', '.join(other_columns)} are too "
                "many",
                hint="name fewer other columns",
            )
        if others > 1 and any(item.prior.row is not None for item in beliefs.values()):
            raise BadInput(
                "a prior that depends on columns cannot be combined with other columns",
                hint="leave one of them out",
            )

        def by_place(numbers: Floats) -> Floats:
            return arrays.sum_by_id(codes, numbers, values * others).reshape(values, others)

        def table(cells: Cells, raw_class: Ints) -> Floats:
            cell = codes[raw_class] * len(cells.domain) + cells.value
            width = values * others * len(cells.domain)
            return arrays.sum_by_id(cell, cells.mass, width).reshape(values, others, -1)

        population = contingency.population
        return cls(
            column=column,
            labels=tuple(domain.labels[i] for i in np.argsort(rank)),
            sizes=by_place(contingency.sizes.astype(np.float64)),
            population=None if population is None else by_place(population),
            population_estimated=contingency.population_estimated,
            beliefs=beliefs,
            tables={
                name: table(item.cells, item.classes[item.cells.class_index])
                for name, item in beliefs.items()
            },
            counts={
                name: table(cells, cells.class_index) for name, cells in contingency.cells.items()
            },
            priors={
                name: _prior_table(item.prior, domain, rank, by_number=order is None)
                for name, item in beliefs.items()
                if item.prior.row is not None
            },
        )

    def __len__(self) -> int:
        return len(self.labels)

    def cut_index(self, point: Any) -> int:
        """Index of the first value of the range that begins at a cut point."""
        texts = [as_text(label) for label in self.labels]
        number = float_or_none(str(point))
        if str(point) in texts:
            position = texts.index(str(point))
        elif number is not None and all(isinstance(label, (int, float)) for label in self.labels):
            position = int(np.searchsorted(np.array(self.labels, dtype=np.float64), number))
        else:
            message = f"{str(point)!r} is no cut point of {self.column!r}"
            raise BadInput(message, hint=nearest(str(point), [str(text) for text in texts]))
        if not 0 < position < len(self):
            raise BadInput(
                f"a cut of {self.column!r} at {outside(point)} has nobody on one side",
                hint="leave it out",
            )
        return position

    def allowed(self, first: int, rules: Sequence[Rule]) -> Bools:
        """Mask of the ranges from the first value to each later one that meet every requirement.

        They must meet it in every class of the other columns.
        """
        is_allowed: Bools = np.ones(len(self) - first, dtype=bool)
        others = self.sizes.shape[1]
        views: dict[str | None, tuple[Identity | Belief, Ints]] = {}
        for rule in rules:
            if rule.attribute not in views:
                if rule.attribute is None:
                    views[rule.attribute] = self._identity(first)
                else:
                    views[rule.attribute] = self._belief(rule.attribute, first)
            view, classes = views[rule.attribute]
            is_allowed[classes[rule.broken(rule.values(view))] // others] = False
        return is_allowed

    def information(self, first: int, attribute: str) -> Floats:
        """Parts of I(X~;W) of the ranges from the first value to each later one."""
        table = self.counts[attribute]
        ranges = np.cumsum(table[first:], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (
                ranges / ranges.sum(axis=2, keepdims=True) / (table.sum(axis=(0, 1)) / table.sum())
            )
            bits = np.where(ranges > 0, ranges * np.log2(ratio), 0.0).sum(axis=(1, 2)) / table.sum()
        return np.maximum(np.asarray(bits, dtype=np.float64), 0.0)

    def _identity(self, first: int) -> tuple[Identity, Ints]:
        """Identity view of the ranges from the first value to each later one, and class indices.

        It has one class per range and class of the other columns.
        """
        sizes = np.cumsum(self.sizes[first:], axis=0).reshape(-1)
        present = np.flatnonzero(sizes)
        sizes, population = sizes[present], None
        if self.population is not None:
            population = np.maximum(
                np.cumsum(self.population[first:], axis=0).reshape(-1)[present], sizes
            )
        people = float(np.log2(self.sizes.sum()))
        return Identity(
            sizes, np.ones(len(sizes)), people, population, self.population_estimated
        ), present

    def _belief(self, attribute: str, first: int) -> tuple[Belief, Ints]:
        """Belief about an attribute in the ranges from the first value on, and class indices.

        It has one class per range and class of the other columns. Background knowledge can leave
        some classes without a value.
        """
        belief = self.beliefs[attribute]
        table = self.tables[attribute]
        ranges = np.cumsum(table[first:], axis=0).reshape(-1, table.shape[2])
        rows, values = np.nonzero(ranges)
        present, start = np.unique(rows, return_index=True)
        cells = Cells(
            belief.cells.domain, np.append(start, len(rows)), values, ranges[rows, values]
        )
        prior = belief.prior
        if attribute in self.priors:
            prior = replace(
                prior, weights=np.cumsum(self.priors[attribute][first:], axis=0)[present], keys=()
            )
            prior = replace(prior, row=np.arange(len(present)))
        return Belief(cells, prior, belief.ground, present, belief.recursive_l), present


def _numbered(contingency: Contingency, columns: Sequence[str]) -> tuple[Ints, int]:
    """Number of the combination of these columns for each class, and the count of combinations."""
    if not columns:
        return np.zeros(len(contingency), dtype=np.int64), 1
    names = [key.name for key in contingency.keys]
    places = [names.index(name) for name in columns]
    codes = [contingency.codes[position] for position in places]
    ids, first = arrays.class_ids(
        codes, [len(contingency.keys[position]) for position in places], rows=len(contingency)
    )
    return ids, len(first)


def _prior_table(prior: PriorBelief, domain: Domain, rank: Ints, *, by_number: bool) -> Floats:
    """Weights of a prior at each value of the column.

    A number that does not occur is added to the one before it, as in the ranges.
    """
    weights = np.zeros((len(domain), prior.weights.shape[1]))
    column = domain.name
    if column not in prior.conditions:
        raise BadInput(
            f"the prior depends on {', '.join(prior.conditions)}",
            hint=f"ranges are sought for {column!r}",
        )
    rank_by_label = {as_text(label): int(rank[code]) for code, label in enumerate(domain.labels)}
    for key, row in zip(prior.keys, prior.weights, strict=True):
        text = key[prior.conditions.index(column)]
        if text in rank_by_label:
            weights[rank_by_label[text]] += row
        elif by_number and domain.kind == "number" and (number := float_or_none(text)) is not None:
            weights[
                max(
                    int(np.searchsorted(np.array(domain.labels, dtype=float), number, side="right"))
                    - 1,
                    0,
                )
            ] += row
    return weights


def _ranks(domain: Domain, order: Sequence[str] | None) -> Ints:
    """Position of each value in the order."""
    if None in domain.labels:
        raise BadInput(
            f"{domain.name!r} has nulls, which have no place in an order",
            hint=f"leave these rows out with {arg('nulls', 'drop')}",
        )
    if order is None and not domain.is_ordered:
        raise BadInput(
            f"the values of {domain.name!r} are text and have no order",
            hint=f"give their order from low to high with {arg('order')}",
        )
    return places_in_order(domain, order)


def _best_ranges(gains: Floats, max_ranges: int | None) -> list[tuple[int, int]] | None:
    """First and last index of each range of the best division.

    Among equally good divisions, the one with the fewest ranges wins.
    """
    values = len(gains)
    # One more range in each round; no division has more ranges than there are values.
    reached = np.full(values + 1, -np.inf)
    reached[0] = 0.0
    rounds: list[Ints] = []
    best = -np.inf
    best_round = 0
    for number in range(1, (values if max_ranges is None else min(max_ranges, values)) + 1):
        totals = reached[:-1, None] + gains
        origin = np.argmax(totals, axis=0)
        rounds.append(origin)
        reached = np.concatenate([[-np.inf], totals[origin, np.arange(values)]])
        if reached[-1] > best + _TIE:
            best = float(reached[-1])
            best_round = number
    if best_round == 0:
        return None
    ranges: list[tuple[int, int]] = []
    last = values - 1
    for origin in reversed(rounds[:best_round]):
        ranges.append((int(origin[last]), last))
        last = int(origin[last]) - 1
    return ranges[::-1]


def _infeasibility_hint(line: _Line, rules: Sequence[Rule]) -> str:
    violated_texts = [marked(rule.text) for rule in rules if not line.allowed(0, [rule])[-1]]
    if violated_texts:
        return f"Even one range of everybody breaks {' and '.join(violated_texts)}"
    return "Allow more ranges"
