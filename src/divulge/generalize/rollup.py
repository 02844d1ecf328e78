# SPDX-License-Identifier: Apache-2.0
"""The classes of any node, by rolling up counts (LeFevre et al. 2005: roll-up instead of a scan of the rows).

A node's class is a combination of labels. Nodes that generalize the same columns share a base: the raw classes merged at level 1 of these
columns, made once. A node is then counted over the few rows of its base, and so are its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from divulge.belief import Belief
from divulge.count import Contingency
from divulge.count.contingency import Floats, Ints
from divulge.errors import BadInput
from divulge.generalize.lattice import Lattice, Node
from divulge.generalize.rows import Bools, Rows, Tally, renumber, slots, sum_by
from divulge.metrics import Identity

_REMEMBERED_BASES = 128


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one node."""

    node: Node
    rows: Rows = field(repr=False)
    of_row: Ints = field(repr=False)
    """The class of each row."""
    sizes: Floats = field(repr=False)
    """People in each class, as whole floats."""

    @classmethod
    def of(cls, node: Node, rows: Rows, of_row: Ints) -> Classes:
        """From the class of each row; the numbers are dense."""
        return cls(node, rows, of_row, sum_by(of_row, rows.sizes))

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def of_raw(self) -> Ints:
        """The class of each raw class."""
        return self.of_row if self.rows.of_raw is None else self.of_row[self.rows.of_raw]

    def sums(self, per_raw: Floats) -> Floats:
        """Sum a number of the raw classes over each class."""
        return sum_by(self.of_raw, per_raw, len(self))


@dataclass(frozen=True, eq=False)
class Rollup:
    """The raw counts, the lattice over them, and the belief about each sensitive attribute."""

    contingency: Contingency
    lattice: Lattice
    beliefs: Mapping[str, Belief]
    population: Floats | None = None
    """People of the population behind each raw class."""

    def __post_init__(self) -> None:
        if self.contingency.person_entropy is not None:
            raise BadInput(
                "people who own several rows cannot be followed while classes merge: the same person may stand in both",
                hint="reduce the table to one row per person, or search without a person column",
            )
        for name, belief in self.beliefs.items():
            if belief.prior.row is not None:
                raise BadInput(
                    f"the prior of {name!r} depends on quasi-identifiers, which a generalization changes",
                    hint="give one prior for the whole table",
                )

    @cached_property
    def people(self) -> int:
        """Everybody in the table."""
        return int(self.contingency.sizes.sum())

    @cached_property
    def raw(self) -> Rows:
        """The raw classes."""
        counts = {("count", name): Tally.of(cells) for name, cells in self.contingency.cells.items()}
        beliefs = {("belief", name): Tally.of(belief.cells, belief.classes) for name, belief in self.beliefs.items()}
        return Rows(self.contingency.codes, self.contingency.sizes.astype(np.float64), counts | beliefs)

    @cached_property
    def _base(self) -> Callable[[Node], Rows]:
        return lru_cache(maxsize=_REMEMBERED_BASES)(self._make_base)

    def _make_base(self, generalized: Node) -> Rows:
        """The raw classes merged at level 1 of the columns marked with 1."""
        if not any(generalized):
            return self.raw
        of_row, count = self._numbers(self.raw, generalized)
        return self.raw.merged(of_row, count)

    def _numbers(self, rows: Rows, node: Node) -> tuple[Ints, int]:
        """Number the combinations of labels."""
        key = np.zeros(len(rows), dtype=np.int64)
        span = 1
        for column, level in enumerate(node):
            labels = len(self.lattice.ladders[column].levels[level].labels)
            if labels == 1:
                continue
            if span * labels > slots(len(key)) and span > 1:
                key, span = renumber(key, span)
            key = key * labels + rows.labels(self.lattice, column, level)
            span *= labels
        return renumber(key, span)

    def classes(self, node: Node) -> Classes:
        """Merge what has the same labels at these levels."""
        rows = self._base(tuple(min(level, 1) for level in node))
        return Classes.of(node, rows, self._numbers(rows, node)[0])

    def identity(self, classes: Classes, kept: Bools) -> Identity:
        """Class sizes of what is published."""
        sizes = classes.sizes[kept]
        population = None
        if self.population is not None:
            # Weights below 1 cannot make a class of the population smaller than the people seen in it.
            population = np.maximum(classes.sums(self.population)[kept], sizes)
        return Identity(sizes, np.ones(len(sizes)), float(np.log2(sizes.sum())), population)

    def belief(self, attribute: str, classes: Classes, kept: Bools) -> Belief:
        """What the kept classes tell about an attribute, against the prior of the original table."""
        raw = self.beliefs[attribute]
        cells, present = classes.rows.tally(("belief", attribute)).cells(classes.of_row, kept)
        return Belief(cells, raw.prior, raw.ground, np.flatnonzero(kept)[present], raw.recursive_l)


def default_beliefs(contingency: Contingency) -> dict[str, Belief]:
    """The prior is the table's own marginal, for every sensitive attribute."""
    return {name: Belief.of_table(cells) for name, cells in contingency.cells.items()}
