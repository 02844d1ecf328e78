# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain generalizations: one level for each quasi-identifier.

Samarati 2001; LeFevre et al. 2005 (Incognito). A node is a tuple of levels; level 0 is the original
values. A node is finer than another if none of its levels is higher; going up merges classes. Nodes
are positions in an array of shape `lattice.shape`, so that "this node and all finer ones" is a
slice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge.arrays import Bools, Floats, Ints
from divulge.counting import Contingency, Domain
from divulge.errors import BadInput
from divulge.hierarchies import SUPPRESSED, Hierarchy, check_coverage
from divulge.text import as_text

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a column over the values that occur."""

    codes: Ints = field(repr=False)
    """Label number by position in the domain."""
    labels: tuple[str | None, ...]
    shares: Floats = field(repr=False)
    """Share of the hierarchy's leaves under the label, by position in the domain."""


@dataclass(frozen=True, eq=False)
class ColumnLevels:
    """The levels of one column, from the original values upwards."""

    column: str
    levels: tuple[Level, ...]
    hierarchy: Hierarchy

    def label_numbers(self, texts: Sequence[str | None], level: int) -> Ints:
        """Number of the label of each value on a level; the values need not occur in the data.

        -1 if the label is not published.
        """
        number = {label: i for i, label in enumerate(self.levels[level].labels)}
        if level > self.hierarchy.height:  # the column is dropped
            return np.zeros(len(texts), dtype=np.int64)

        def code(text: str | None) -> int:
            try:
                return number.get(self.hierarchy.label_of(text, level), -1)
            except LookupError:
                return -1

        return np.array([code(text) for text in texts], dtype=np.int64)

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.levels) - 1

    @property
    def leaves(self) -> int:
        """Number of leaves of the hierarchy, including values that do not occur."""
        return round(1.0 / float(self.levels[0].shares[0]))


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels."""

    columns: tuple[ColumnLevels, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(len(column_levels.levels) for column_levels in self.columns)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return math.prod(self.shape)

    @property
    def top(self) -> Node:
        """The most general node."""
        return tuple(column_levels.height for column_levels in self.columns)

    def levels_by_column(self, node: Node) -> dict[str, int]:
        """The levels by column."""
        return {
            column_levels.column: level
            for column_levels, level in zip(self.columns, node, strict=True)
        }

    def levels(self, node: Node) -> list[Level]:
        """Levels of a node, by column."""
        return [
            column_levels.levels[level]
            for column_levels, level in zip(self.columns, node, strict=True)
        ]

    @staticmethod
    def finer_neighbors(node: Node) -> list[Node]:
        """Nodes with one column one level lower."""
        return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > 0]


def lattice_of(contingency: Contingency, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """Build the lattice of the counted columns.

    Every column that is not pinned needs a hierarchy that covers all its values.
    """
    missing = [key.name for key in contingency.own_keys if key.name not in hierarchies]
    if missing:
        raise BadInput(
            f"no hierarchy for {', '.join(map(repr, missing))}",
            hint="give one for each quasi-identifier; `divulge hierarchy build` makes one from "
            "the data",
        )
    used_hierarchies = {key.name: hierarchies[key.name] for key in contingency.own_keys}
    check_coverage(used_hierarchies, {key.name: key.labels for key in contingency.own_keys})
    return Lattice(
        tuple(column_levels_of(key, used_hierarchies[key.name]) for key in contingency.own_keys)
    )


def column_levels_of(domain: Domain, hierarchy: Hierarchy) -> ColumnLevels:
    """Build the levels that a hierarchy defines for the values of a column."""
    texts = [as_text(label) for label in domain.labels]
    numbered_levels = enumerate(hierarchy.level_codes(texts))
    levels = (
        Level(step.codes, tuple(step.labels), hierarchy.leaf_shares(level, texts))
        for level, step in numbered_levels
    )
    return ColumnLevels(domain.name, tuple(levels), hierarchy)


def with_top_level(column_levels: ColumnLevels) -> ColumnLevels:
    """Add a top level that merges all values, unless there is one."""
    if len(column_levels.levels[-1].labels) == 1 and column_levels.height > 0:
        return column_levels
    values = len(column_levels.levels[0].codes)
    dropped = Level(np.zeros(values, dtype=np.int64), (SUPPRESSED,), np.ones(values))
    return replace(column_levels, levels=(*column_levels.levels, dropped))


Span = tuple[Any, Any] | frozenset[str | None] | None
"""The least and the greatest value, or the values as text, or None for anything."""


def spans_cover(spans: Sequence[Span], texts: Sequence[str | None], domain: Domain) -> Bools:
    """Matrix of spans by values (as text): True if the span covers the value.

    A number between two values of the data is covered even if it does not occur.
    """
    label_by_text = {as_text(label): label for label in domain.labels}
    values = list(dict.fromkeys(texts))
    rows: dict[Span, list[bool]] = {}
    for span in dict.fromkeys(spans):
        if span is None or isinstance(span, frozenset):
            rows[span] = [span is None or text in span for text in values]
        else:
            numbers = [
                label_by_text.get(text, float_or_none(text) if domain.kind == "number" else None)
                for text in values
            ]
            rows[span] = [number is not None and span[0] <= number <= span[1] for number in numbers]
    column_by_text = {text: i for i, text in enumerate(values)}
    is_inside: Bools = np.array([rows[span] for span in spans], dtype=bool)[
        :, [column_by_text[text] for text in texts]
    ]
    return is_inside


def float_or_none(text: str | None) -> float | None:
    """Parse a text as a number; None if it is not one."""
    try:
        if text is None:
            return None
        return float(text)
    except ValueError:
        return None
