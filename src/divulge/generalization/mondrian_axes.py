# SPDX-License-Identifier: Apache-2.0
"""Columns of a local recoding: the width of a part, its cuts, and its label.

A column with a hierarchy is cut into the children of the lowest node that contains the part. Its
label is that of the node. Any other column is cut at one position of its order: numbers and dates
have a natural order, text is alphabetical unless an order is passed. A part of numbers is labeled
[low, high], both ends included, because both occur. A part of text is labeled with its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np

from divulge import arrays
from divulge.arguments import outside
from divulge.arrays import Floats, Ints, Members
from divulge.counting import Domain
from divulge.errors import BadInput
from divulge.generalization.lattice import ColumnLevels, Span
from divulge.hierarchies import SUPPRESSED
from divulge.text import as_text


@dataclass(frozen=True, eq=False)
class Tree:
    """A column with a hierarchy."""

    column_levels: ColumnLevels
    codes: Ints = field(repr=False)
    """Position in the domain, by raw class."""
    has_null: bool

    @property
    def leaves(self) -> int:
        """Number of leaves of the hierarchy."""
        return self.column_levels.leaves

    def _level(self, parts: Members) -> Ints:
        """The lowest level at which all members of a part have one label."""
        level = np.full(len(parts), self.column_levels.height + 1)
        for number in range(self.column_levels.height, -1, -1):
            of_raw = self.column_levels.levels[number].codes[self.codes]
            level[parts.least(of_raw) == parts.greatest(of_raw)] = number
        return level

    def width(self, parts: Members) -> Floats:
        """Width of each part: the share of leaves below the common node; 0 for a single value."""
        level = self._level(parts)
        return np.where(level == 0, 0.0, self._shares_at(parts, level))

    def shares(self, parts: Members) -> Floats:
        """Share of the column's leaves below the common node of each part, as in ARX's loss."""
        return self._shares_at(parts, self._level(parts))

    def _shares_at(self, parts: Members, level: Ints) -> Floats:
        first = self.codes[parts.members[parts.start[:-1]]]
        shares = np.ones(len(parts))
        for number, step in enumerate(self.column_levels.levels):
            shares = np.where(level == number, step.shares[first], shares)
        return shares

    def pieces(self, parts: Members, people: Floats) -> Ints:  # noqa: ARG002 - signature of Line.pieces
        """Piece of its part for each member: the child of the common node."""
        below = np.maximum(self._level(parts) - 1, 0)[parts.numbers]
        piece = np.zeros(len(parts.members), dtype=np.int64)
        for number, step in enumerate(self.column_levels.levels):
            is_at_level = below == number
            piece[is_at_level] = step.codes[self.codes[parts.members[is_at_level]]]
        return piece

    def written(self, parts: Members) -> list[tuple[str | None, Span]]:
        """Label of each part, that of the common node, and all values below it."""
        first = self.codes[parts.members[parts.start[:-1]]]
        hierarchy = self.column_levels.hierarchy
        rows = {**hierarchy.beyond, **hierarchy.rows}
        if self.has_null:
            rows[None] = hierarchy.null_labels
        below: dict[tuple[int, str | None], set[str | None]] = {}
        for number in range(self.column_levels.height + 1):
            for value, labels in rows.items():
                below.setdefault((number, labels[number]), set()).add(value)
        spans = {node: frozenset(values) for node, values in below.items()}
        everything = frozenset(rows)
        nodes: list[tuple[str | None, Span]] = []
        for position, number in zip(first.tolist(), self._level(parts).tolist(), strict=True):
            if number > self.column_levels.height:
                nodes.append((SUPPRESSED, everything))
                continue
            step = self.column_levels.levels[number]
            label = step.labels[step.codes[position]]
            nodes.append((label, spans[number, label]))
        return nodes


@dataclass(frozen=True, eq=False)
class OrderedAxis:
    """A column with an order: numbers, dates, or text in a given or alphabetical order.

    Null comes last.
    """

    labels: tuple[Any, ...]
    """The values in their order."""
    codes: Ints = field(repr=False)
    """Position of the value in the order, by raw class."""
    places: Floats = field(repr=False)
    """Position of each value of the order on a scale from 0 to 1."""
    by_number: bool
    """Labeled by its ends; otherwise by its values."""
    strict: bool
    """Equal values stay in one part; otherwise those at the cut may be split, class by class."""
    together: Ints | None = field(default=None, repr=False)
    """A number for each raw class.

    Raw classes with the same number have the same quasi-identifiers and are never split.
    """

    @classmethod
    def of(
        cls,
        domain: Domain,
        codes: Ints,
        *,
        strict: bool,
        order: Sequence[str] | None = None,
        together: Ints | None = None,
    ) -> OrderedAxis:
        """Build it from a counted column."""
        rank = places_in_order(domain, order)
        labels = tuple(domain.labels[i] for i in np.argsort(rank))
        by_number = domain.is_ordered and order is None
        if by_number:
            places = _places(labels)
        else:
            places = np.linspace(0.0, 1.0, len(labels))
        return cls(labels, rank[codes], places, by_number, strict, together)

    @property
    def leaves(self) -> int:
        """Number of values that occur."""
        return len(self.labels)

    def width(self, parts: Members) -> Floats:
        """Distance from the least to the greatest value of each part."""
        return self.places[parts.greatest(self.codes)] - self.places[parts.least(self.codes)]

    def shares(self, parts: Members) -> Floats:
        """Share of all values that lie between the ends of each part."""
        return (parts.greatest(self.codes) - parts.least(self.codes) + 1) / len(self.labels)

    def pieces(self, parts: Members, people: Floats) -> Ints:
        """Piece below or above the cut that comes nearest to halves, for each member.

        A part that cannot be cut stays one piece.
        """
        part = parts.numbers
        sort_keys = (self.codes[parts.members], part)
        order = np.lexsort(
            sort_keys if self.together is None else (self.together[parts.members], *sort_keys)
        )
        code = self.codes[parts.members[order]]
        people_in_order = people[parts.members[order]]
        up_to = np.cumsum(people_in_order)
        totals = np.add.reduceat(people_in_order, parts.start[:-1])
        middle = np.cumsum(totals) - totals / 2.0
        next_part = np.append(part[1:] != part[:-1], True)
        may_cut = ~next_part
        if self.strict:
            may_cut &= np.append(code[1:] != code[:-1], True)
        elif self.together is not None:
            quasi_identifiers = self.together[parts.members[order]]
            may_cut &= np.append(quasi_identifiers[1:] != quasi_identifiers[:-1], True)
        off = np.where(may_cut, np.abs(up_to - middle[part]), np.inf)
        least = np.minimum.reduceat(off, parts.start[:-1])
        cells = np.arange(len(off))
        is_cut = may_cut & (off == least[part])
        cut = np.minimum.reduceat(np.where(is_cut, cells, len(off)), parts.start[:-1])
        piece = np.empty(len(off), dtype=np.int64)
        piece[order] = cells > cut[part]
        return piece

    def written(self, parts: Members) -> list[tuple[str | None, Span]]:
        """Label of each part, and its ends or values."""
        ends = list(
            zip(parts.least(self.codes).tolist(), parts.greatest(self.codes).tolist(), strict=True)
        )
        label_by_ends = {
            end: self._written(*end) for end in set(ends)
        }  # many parts have the same ends
        return [label_by_ends[end] for end in ends]

    def _written(self, low: int, high: int) -> tuple[str | None, Span]:
        texts = tuple(as_text(label) for label in self.labels[low : high + 1])
        ends = self.labels[low], self.labels[high]
        if low == high:
            return texts[0], ends if self.by_number and texts[0] is not None else frozenset(texts)
        if not self.by_number:
            return "{" + ", ".join(
                "null" if text is None else text for text in texts
            ) + "}", frozenset(texts)
        if texts[-1] is None:
            return SUPPRESSED, None
        return f"[{texts[0]}, {texts[-1]}]", ends


Axis = Tree | OrderedAxis


def places_in_order(domain: Domain, order: Sequence[str] | None) -> Ints:
    """Position of each value of a column in an order; by default its own order."""
    if order is None:
        return np.arange(len(domain))
    texts = [as_text(label) for label in domain.labels]
    missing = [repr(text) for text in texts if text is not None and text not in order]
    if missing:
        raise BadInput(f"the order of {domain.name!r} misses {outside(', '.join(missing))}")
    ranks = [len(order) if text is None else list(order).index(text) for text in texts]
    return arrays.ranks(ranks)


def _places(labels: Sequence[Any]) -> Floats:
    """Return the position of each value from 0 to 1: numbers and dates by their distances.

    An infinity lies one range of the finite values beyond them, NaN as far beyond that, and null
    lies as far beyond the last value as that is from the first.
    """
    values = [label for label in labels if label is not None]
    finite = [label for label in values if not isinstance(label, float) or math.isfinite(label)]
    below = int(values[:1] == [-math.inf])
    above = len(values) - len(finite) - below
    positions = _scaled_distances(finite)
    if below:
        positions = np.concatenate(([0.0], positions + 1.0))
    for _ in range(above):
        positions = np.append(positions, positions[-1] + 1.0 if len(positions) else 0.0)
    if len(values) < len(labels):
        null_position = 0.0
        if len(positions):
            last = positions[-1]
            null_position = 2 * last if last > 0 else last + 1.0
        positions = np.append(positions, null_position)
    if not len(positions) or positions[-1] == 0:
        return positions
    normalized: Floats = positions / positions[-1]
    return normalized


def _scaled_distances(values: Sequence[Any]) -> Floats:
    """Distance of each value from the first, relative to that of the last; 0 if all are equal."""
    if not values:
        return np.zeros(0)
    distances = [_as_float(value - values[0]) for value in values]
    if math.isinf(distances[-1]):  # the distance of two floats exceeds the largest float
        distances = [value / 2 - values[0] / 2 for value in values]
    scaled: Floats = np.array(distances) / max(distances[-1], np.finfo(float).tiny)
    return scaled


def _as_float(distance: Any) -> float:
    return float(distance.total_seconds() if isinstance(distance, timedelta) else distance)
