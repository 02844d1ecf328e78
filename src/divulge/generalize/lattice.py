# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain generalizations: one level for each quasi-identifier (Samarati 2001; LeFevre et al. 2005, Incognito).

A node is a tuple of levels, 0 = as it came. A node is finer than another if none of its levels is higher; merging classes is going
up. Nodes are positions in an array of shape `lattice.shape`, so that "this node and all finer ones" is a slice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge.arrays import Bools, Floats, Ints
from divulge.count import Contingency, Domain
from divulge.errors import BadInput
from divulge.table.hierarchy import SUPPRESSED, Hierarchy
from divulge.table.hierarchy_coverage import check_coverage
from divulge.table.texts import as_text

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a column over the values that occur."""

    codes: Ints = field(repr=False)
    """Position in the domain to number of the label."""
    labels: tuple[str | None, ...]
    shares: Floats = field(repr=False)
    """Position in the domain to the share of the hierarchy's leaves under its label."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one column, from the values themselves upwards."""

    column: str
    levels: tuple[Level, ...]
    hierarchy: Hierarchy

    def places(self, texts: Sequence[str | None], level: int) -> Ints:
        """The number of the label that each value has on a level, whether it occurs in the data or not; -1: none that is published."""
        number = {label: i for i, label in enumerate(self.levels[level].labels)}
        if level > self.hierarchy.height:  # dropped as a whole
            return np.zeros(len(texts), dtype=np.int64)
        known = (self._label(text, level) for text in texts)
        return np.array([number.get(label[0], -1) if label else -1 for label in known], dtype=np.int64)

    def _label(self, text: str | None, level: int) -> tuple[str | None] | None:
        try:
            return (self.hierarchy.label_of(text, level),)
        except LookupError:
            return None

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.levels) - 1

    @property
    def leaves(self) -> int:
        """How many leaves the hierarchy has, whether they occur or not."""
        return round(1.0 / float(self.levels[0].shares[0]))


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels."""

    ladders: tuple[Ladder, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(len(ladder.levels) for ladder in self.ladders)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return math.prod(self.shape)

    @property
    def top(self) -> Node:
        """Everything as general as the hierarchies allow."""
        return tuple(ladder.height for ladder in self.ladders)

    def named(self, node: Node) -> dict[str, int]:
        """The levels by column."""
        return {ladder.column: level for ladder, level in zip(self.ladders, node, strict=True)}

    def coarser_neighbours(self, node: Node) -> list[Node]:
        """One column one level up."""
        return [(*node[:i], level + 1, *node[i + 1 :]) for i, level in enumerate(node) if level < self.shape[i] - 1]

    @staticmethod
    def finer_neighbours(node: Node) -> list[Node]:
        """One column one level down."""
        return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > 0]


def lattice_of(contingency: Contingency, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """The lattice of the counted columns; every one of them needs a hierarchy that knows all its values."""
    missing = [key.name for key in contingency.keys if key.name not in hierarchies]
    if missing:
        raise BadInput(
            f"no hierarchy for {', '.join(map(repr, missing))}",
            hint="give one for each quasi-identifier; `divulge hierarchy build` makes one from the data",
        )
    used = {key.name: hierarchies[key.name] for key in contingency.keys}
    check_coverage(used, {key.name: key.labels for key in contingency.keys})
    return Lattice(tuple(ladder_of(key, used[key.name]) for key in contingency.keys))


def ladder_of(domain: Domain, hierarchy: Hierarchy) -> Ladder:
    """The levels that a hierarchy gives the values of a column."""
    texts = [as_text(label) for label in domain.labels]
    return Ladder(
        domain.name,
        tuple(
            Level(level.codes, tuple(level.labels), hierarchy.leaf_shares(number, texts))
            for number, level in enumerate(hierarchy.level_codes(texts))
        ),
        hierarchy,
    )


def with_drop(ladder: Ladder) -> Ladder:
    """The same with a last level where all values are one, unless there is one already."""
    if len(ladder.levels[-1].labels) == 1 and ladder.height > 0:
        return ladder
    values = len(ladder.levels[0].codes)
    dropped = Level(np.zeros(values, dtype=np.int64), (SUPPRESSED,), np.ones(values))
    return replace(ladder, levels=(*ladder.levels, dropped))


Span = tuple[Any, Any] | frozenset[str | None] | None
"""The least and the greatest value, or the values as text, or anything."""


def held(spans: Sequence[Span], texts: Sequence[str | None], domain: Domain) -> Bools:
    """Which of the values (as text) each span stands for; a number need not occur to lie between two that do."""
    known = {as_text(label): label for label in domain.labels}
    values = list(dict.fromkeys(texts))
    rows: dict[Span, list[bool]] = {}
    for span in dict.fromkeys(spans):
        if span is None or isinstance(span, frozenset):
            rows[span] = [span is None or text in span for text in values]
        else:
            numbers = [known.get(text, as_number(text) if domain.kind == "number" else None) for text in values]
            rows[span] = [number is not None and span[0] <= number <= span[1] for number in numbers]
    place = {text: i for i, text in enumerate(values)}
    found: Bools = np.array([rows[span] for span in spans], dtype=bool)[:, [place[text] for text in texts]]
    return found


def as_number(text: str | None) -> float | None:
    """The number that a text is; None: none."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
