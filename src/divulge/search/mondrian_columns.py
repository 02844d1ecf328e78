# SPDX-License-Identifier: Apache-2.0
"""The columns of a local recoding: how wide a part is in each, how it can be cut, and how what is left is written.

A column with a hierarchy is cut into the children of the lowest node that holds the part, and written as that node's label. Any other
column is cut at one place of its order: numbers and dates have theirs, text has its alphabet unless an order is given. A part of
numbers is written [low, high], both ends included, for both occur; a part of text as the list of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np

from divulge import arrays
from divulge.arrays import Floats, Ints, Members
from divulge.count import Domain
from divulge.errors import BadInput
from divulge.hierarchy import SUPPRESSED
from divulge.search.lattice import Ladder, Span
from divulge.values import as_text


@dataclass(frozen=True, eq=False)
class Tree:
    """A column with a hierarchy."""

    ladder: Ladder
    codes: Ints = field(repr=False)
    """Position in the domain of each raw class."""
    has_null: bool

    @property
    def leaves(self) -> int:
        """How many leaves the hierarchy has."""
        return self.ladder.leaves

    def _level(self, parts: Members) -> Ints:
        """The lowest level at which all members of a part have one label."""
        level = np.full(len(parts), self.ladder.height + 1)
        for number in range(self.ladder.height, -1, -1):
            of_raw = self.ladder.levels[number].codes[self.codes]
            level[parts.least(of_raw) == parts.greatest(of_raw)] = number
        return level

    def width(self, parts: Members) -> Floats:
        """How wide each part is: the share of leaves below the common node; 0 where it is a value itself."""
        level = self._level(parts)
        return np.where(level == 0, 0.0, self._shares_at(parts, level))

    def shares(self, parts: Members) -> Floats:
        """The share of the column's leaves that each part's label stands for, as in ARX's loss: those below the common node."""
        return self._shares_at(parts, self._level(parts))

    def _shares_at(self, parts: Members, level: Ints) -> Floats:
        first = self.codes[parts.members[parts.start[:-1]]]
        shares = np.ones(len(parts))
        for number, step in enumerate(self.ladder.levels):
            shares = np.where(level == number, step.shares[first], shares)
        return shares

    def pieces(self, parts: Members, people: Floats) -> Ints:  # noqa: ARG002 - as Line has it
        """For each member, the piece of its part that it would go to: the child of the common node."""
        below = np.maximum(self._level(parts) - 1, 0)[parts.numbers]
        piece = np.zeros(len(parts.members), dtype=np.int64)
        for number, step in enumerate(self.ladder.levels):
            here = below == number
            piece[here] = step.codes[self.codes[parts.members[here]]]
        return piece

    def written(self, parts: Members) -> list[tuple[str | None, Span]]:
        """The label of each part, the common node's, and what it stands for: all values below it."""
        first = self.codes[parts.members[parts.start[:-1]]]
        hierarchy = self.ladder.hierarchy
        known = {**hierarchy.beyond, **hierarchy.rows}
        if self.has_null:
            known[None] = hierarchy.null_labels
        below: dict[tuple[int, str | None], set[str | None]] = {}
        for number in range(self.ladder.height + 1):
            for value, labels in known.items():
                below.setdefault((number, labels[number]), set()).add(value)
        spans, everything = {node: frozenset(values) for node, values in below.items()}, frozenset(known)
        found: list[tuple[str | None, Span]] = []
        for position, number in zip(first.tolist(), self._level(parts).tolist(), strict=True):
            if number > self.ladder.height:
                found.append((SUPPRESSED, everything))
                continue
            step = self.ladder.levels[number]
            label = step.labels[step.codes[position]]
            found.append((label, spans[number, label]))
        return found


@dataclass(frozen=True, eq=False)
class Line:
    """A column with an order: numbers, dates, or text in a given or alphabetical order; null comes last."""

    labels: tuple[Any, ...]
    """The values in their order."""
    codes: Ints = field(repr=False)
    """The place of each raw class's value in the order."""
    places: Floats = field(repr=False)
    """Where each value of the order lies, from 0 to 1."""
    by_number: bool
    """Written by its ends; otherwise by its values."""
    strict: bool
    """Equal values stay together; otherwise those at the cut may be divided, class by class."""

    @classmethod
    def of(cls, domain: Domain, codes: Ints, *, strict: bool, order: Sequence[str] | None = None) -> Line:
        """From a counted column."""
        rank = places_in_order(domain, order)
        labels = tuple(domain.labels[i] for i in np.argsort(rank))
        by_number = domain.is_ordered and order is None
        return cls(
            labels, rank[codes], _places(labels) if by_number else np.linspace(0.0, 1.0, len(labels)), by_number, strict
        )

    @property
    def leaves(self) -> int:
        """Values that occur."""
        return len(self.labels)

    def width(self, parts: Members) -> Floats:
        """From end to end."""
        return self.places[parts.greatest(self.codes)] - self.places[parts.least(self.codes)]

    def shares(self, parts: Members) -> Floats:
        """Values between the ends, over all values."""
        return (parts.greatest(self.codes) - parts.least(self.codes) + 1) / len(self.labels)

    def pieces(self, parts: Members, people: Floats) -> Ints:
        """Below and above the cut that comes nearest to halves; a part that cannot be cut stays one piece."""
        part = parts.numbers
        order = np.lexsort((self.codes[parts.members], part))
        code, here = self.codes[parts.members[order]], people[parts.members[order]]
        up_to = np.cumsum(here)
        totals = np.add.reduceat(here, parts.start[:-1])
        middle = np.cumsum(totals) - totals / 2.0
        next_part = np.append(part[1:] != part[:-1], True)
        may_cut = ~next_part
        if self.strict:
            may_cut &= np.append(code[1:] != code[:-1], True)
        off = np.where(may_cut, np.abs(up_to - middle[part]), np.inf)
        least = np.minimum.reduceat(off, parts.start[:-1])
        place = np.arange(len(off))
        is_cut = may_cut & (off == least[part])
        cut = np.minimum.reduceat(np.where(is_cut, place, len(off)), parts.start[:-1])
        piece = np.empty(len(off), dtype=np.int64)
        piece[order] = place > cut[part]
        return piece

    def written(self, parts: Members) -> list[tuple[str | None, Span]]:
        """The ends, or the values."""
        ends = list(zip(parts.least(self.codes).tolist(), parts.greatest(self.codes).tolist(), strict=True))
        written = {each: self._written(*each) for each in set(ends)}  # many parts have the same ends
        return [written[each] for each in ends]

    def _written(self, low: int, high: int) -> tuple[str | None, Span]:
        texts = tuple(as_text(label) for label in self.labels[low : high + 1])
        ends = self.labels[low], self.labels[high]
        if low == high:
            return texts[0], ends if self.by_number and texts[0] is not None else frozenset(texts)
        if not self.by_number:
            return "{" + ", ".join("null" if text is None else text for text in texts) + "}", frozenset(texts)
        if texts[-1] is None:
            return SUPPRESSED, None
        return f"[{texts[0]}, {texts[-1]}]", ends


Axis = Tree | Line


def places_in_order(domain: Domain, order: Sequence[str] | None) -> Ints:
    """The place of each value of a column in an order; its own where none is given."""
    if order is None:
        return np.arange(len(domain))
    texts = [as_text(label) for label in domain.labels]
    missing = [repr(text) for text in texts if text is not None and text not in order]
    if missing:
        raise BadInput(f"the order of {domain.name!r} misses {', '.join(missing)}")
    wanted = [len(order) if text is None else list(order).index(text) for text in texts]
    return arrays.ranks(wanted)


def _places(labels: Sequence[Any]) -> Floats:
    """Numbers and dates scaled to 0..1; a null lies as far from the last one as that from the first."""
    known = [label for label in labels if label is not None]
    apart = [label - known[0] for label in known]
    places = np.array([float(item.total_seconds() if isinstance(item, timedelta) else item) for item in apart])
    if len(known) < len(labels):
        places = np.append(places, places[-1] + (places[-1] if places[-1] > 0 else 1.0) if len(places) else 0.0)
    return places / max(places[-1], np.finfo(float).tiny) if len(places) else places
