# SPDX-License-Identifier: Apache-2.0
"""Classes of any node of the lattice from counts in memory, without a scan of the rows.

Roll-up (LeFevre et al. 2005): raw classes, those of the original values, are merged into the
classes of a node. The columns are split into two halves. The combinations of labels within a half
are numbered once per choice of levels and cached, so that a node costs one multiplication, one
addition and one count over the raw classes. Counts of sensitive values are merged once for all
nodes that generalize the same columns, and rolled up from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from divulge import arrays
from divulge.adversary import Belief, PriorBelief
from divulge.arrays import Bools, Floats, Ints
from divulge.counting import Cells, Contingency, Domain, build_cells
from divulge.errors import BadInput, InternalError
from divulge.generalization.lattice import Lattice, Node, Span, lattice_of, spans_cover
from divulge.hierarchies import Hierarchy
from divulge.metrics import Identity


@dataclass(frozen=True, eq=False)
class ValueTally:
    """Frequency of each value of an attribute, by raw class."""

    domain: Domain
    raw_class: Ints = field(repr=False)
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)

    @classmethod
    def of(cls, cells: Cells, raw_classes: Ints | None = None) -> ValueTally:
        """Build it from cells; `raw_classes` maps their classes to raw classes."""
        if raw_classes is None:
            index = cells.class_index
        else:
            index = raw_classes[cells.class_index]
        return cls(cells.domain, index, cells.value, cells.mass)

    def merged(self, of_raw: Ints) -> ValueTally:
        """Move the counts of each merged class to one of its raw classes.

        The result is valid for every more general division.
        """
        count = int(of_raw.max()) + 1
        representative = np.empty(count, dtype=np.int64)
        representative[of_raw] = np.arange(len(of_raw))
        cells, present = self.cells(of_raw, np.ones(count, dtype=bool))
        return ValueTally.of(cells, representative[present])

    def cells(self, of_raw: Ints, is_kept: Bools) -> tuple[Cells, Ints]:
        """Cells of the kept classes, and the indices of those that have any.

        Background knowledge can leave a class without a value.
        """
        index = of_raw[self.raw_class]
        value = self.value
        mass = self.mass
        classes = len(is_kept)
        if not is_kept.all():
            is_chosen = is_kept[index]
            renumbered = np.cumsum(is_kept) - 1
            index, value, mass = renumbered[index[is_chosen]], value[is_chosen], mass[is_chosen]
            classes = int(renumbered[-1]) + 1
        values = len(self.domain)
        if classes * values <= arrays.slots(len(value)):
            table = arrays.sum_by_id(index * values + value, mass, classes * values)
            occupied = np.flatnonzero(table)
            start = np.searchsorted(occupied, np.arange(classes + 1) * values)
            cells = Cells(self.domain, start, occupied % values, table[occupied])
        else:
            cells = build_cells(self.domain, index, value, mass, classes=classes)
        present = np.flatnonzero(np.diff(cells.start))
        if len(present) < classes:
            cells = Cells(
                cells.domain,
                np.append(cells.start[present], cells.start[-1]),
                cells.value,
                cells.mass,
            )
        return cells, present


_CACHED_HALVES = 512
_CACHED_LABELS = 64
_CACHED_TALLIES = 256
_CACHED_COUNTS = 8_000_000
"""Maximum size of the node cache, in counts; larger lattices cache no node.

Each node is estimated at the size of the original table. One count takes about 24 bytes.
"""
_CACHED_COUNTS_PER_CELL = 10
"""Cached counts per cell that the memory limit allows: a quarter of the memory of a cell."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one node."""

    node: Node
    of_raw: Ints = field(repr=False)
    """Class of each raw class."""
    sizes: Floats = field(repr=False)
    """People in each class, as whole floats."""
    published_as: Ints | None = field(default=None, repr=False)
    """Published class that contains each class, if pinned columns split the published classes."""
    cache: dict[Any, Any] | None = field(default=None, repr=False)
    """Results about all classes of a cached node that do not depend on bounds."""

    def __len__(self) -> int:
        return len(self.sizes)

    def sums(self, per_raw: Floats) -> Floats:
        """Sum a number of the raw classes over each class."""
        return arrays.sum_by_id(self.of_raw, per_raw, len(self))


@dataclass(frozen=True, eq=False)
class Rollup:
    """The raw counts, the lattice over them, and the belief about each sensitive attribute."""

    contingency: Contingency
    lattice: Lattice
    beliefs: Mapping[str, Belief]
    population: Floats | None = None
    """People of the population behind each raw class."""
    spans: Callable[[Ints], Mapping[str, Sequence[Span]]] | None = None
    """Coverage of the label of each class by column, if classes are boxes instead of nodes."""
    cell_limit: int | None = None
    """Maximum number of cells in memory, if it is limited."""

    def __post_init__(self) -> None:
        if self.contingency.person_entropy is not None:
            raise BadInput(
                "people who own several rows cannot be followed while classes merge: the same "
                "person may stand in both",
                hint="reduce the table to one row per person, or search without a person column",
            )
        for name, belief in self.beliefs.items():
            if belief.prior.row is not None and not belief.prior.keys:
                raise InternalError(f"nobody knows which values the priors of {name!r} depend on")

    @classmethod
    def of(
        cls,
        contingency: Contingency,
        hierarchies: Mapping[str, Hierarchy],
        beliefs: Mapping[str, Belief],
        *,
        cell_limit: int | None = None,
    ) -> Rollup:
        """Build it for several searches with the same levels and the same adversary."""
        lattice = lattice_of(contingency, hierarchies)
        return cls(
            contingency, lattice, dict(beliefs), contingency.population, cell_limit=cell_limit
        )

    @cached_property
    def people(self) -> int:
        """Number of people in the table."""
        return int(self.contingency.sizes.sum())

    @cached_property
    def sizes(self) -> Floats:
        """People in each raw class, as whole floats."""
        return self.contingency.sizes.astype(np.float64)

    @cached_property
    def _halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two sets of columns with about as many level combinations each."""
        first: list[int] = []
        second: list[int] = []
        shape = self.lattice.shape
        for position in sorted(range(len(shape)), key=lambda i: -shape[i]):
            lighter = min(first, second, key=lambda half: math.prod(shape[i] for i in half))
            lighter.append(position)
        return tuple(first), tuple(second)

    @cached_property
    def _numbered_half(self) -> Callable[[int, tuple[int, ...]], tuple[Ints, int]]:
        return lru_cache(maxsize=_CACHED_HALVES)(self._number_half)

    def _number_half(self, half: int, levels: tuple[int, ...]) -> tuple[Ints, int]:
        """Number the labels of each raw class in one half of the columns, and count the numbers."""
        key = np.zeros(len(self.contingency), dtype=np.int64)
        span = 1
        for position, level in zip(self._halves[half], levels, strict=True):
            step = self.lattice.columns[position].levels[level]
            if span > 1 and span * len(step.labels) > arrays.slots(len(key)):
                key, span = arrays.renumber(key, span)
            key *= len(step.labels)
            key += self._labels_of_raw(position, level)
            span *= len(step.labels)
        return arrays.renumber(key, span)

    @cached_property
    def _labels_of_raw(self) -> Callable[[int, int], Ints]:
        return lru_cache(maxsize=_CACHED_LABELS)(self._label_raw)

    def _label_raw(self, position: int, level: int) -> Ints:
        """Number of each raw class's label in one column."""
        codes: Ints = (
            self.lattice.columns[position].levels[level].codes[self.contingency.codes[position]]
        )
        return codes

    @cached_property
    def _cached_nodes(self) -> dict[Node, Classes] | None:
        """Cache of nodes for small lattices; None for large ones.

        Requirement costs, the Pareto front and sliders check the same nodes repeatedly with other
        bounds.
        """
        counts = len(self.contingency) + sum(
            len(belief.cells.value) for belief in self.beliefs.values()
        )
        limit = self.cell_limit
        if limit is None:
            cache_size = _CACHED_COUNTS
        else:
            cache_size = min(_CACHED_COUNTS, _CACHED_COUNTS_PER_CELL * limit)
        if self.spans is None and counts * self.lattice.size <= cache_size:
            return {}
        return None

    def classes(self, node: Node) -> Classes:
        """Merge the raw classes that have the same labels at these levels."""
        if self._cached_nodes is None:
            return self._merge(node)
        if node not in self._cached_nodes:
            self._cached_nodes[node] = replace(self._merge(node), cache={})
        return self._cached_nodes[node]

    def _merge(self, node: Node) -> Classes:
        first, count = self._numbered_half(0, tuple(node[i] for i in self._halves[0]))
        second, radix = self._numbered_half(1, tuple(node[i] for i in self._halves[1]))
        key = first * radix
        key += second
        of_raw, _ = arrays.renumber(key, count * radix)
        return self.as_classes(of_raw, node)

    def as_classes(self, published: Ints, node: Node = ()) -> Classes:
        """Classes to check if raw classes are published under these numbers.

        Pinned columns split the published classes.
        """
        if not self.contingency.pinned:
            return Classes(node, published, arrays.sum_by_id(published, self.sizes))
        pin, pins = self.contingency.pins
        of_raw, count = arrays.renumber(published * pins + pin, (int(published.max()) + 1) * pins)
        published_as = np.empty(count, dtype=np.int64)
        published_as[of_raw] = published
        return Classes(node, of_raw, arrays.sum_by_id(of_raw, self.sizes), published_as)

    def with_absent_people(self, classes: Classes, is_kept: Bools) -> tuple[Classes, Bools] | None:
        """The kept classes, and classes of people of prior releases who are suppressed now.

        Only people whom no prior release distinguishes are included. None if there are none.
        """
        if not self.contingency.pinned or is_kept.all():
            return None
        (pin, pins), is_published = self.contingency.pins, is_kept[classes.of_raw]
        remain = self.contingency.left_behind(is_published)
        if not remain.any():
            return None
        key = np.where(remain, len(classes) + pin, classes.of_raw)
        key[~is_published & ~remain] = len(classes) + pins
        of_raw, count = arrays.renumber(key, len(classes) + pins + 1)
        is_checked = np.zeros(count, dtype=bool)
        is_checked[of_raw[is_published | remain]] = True
        return Classes(classes.node, of_raw, arrays.sum_by_id(of_raw, self.sizes)), is_checked

    def identity(self, classes: Classes, is_kept: Bools) -> Identity:
        """Class sizes of the published table."""
        sizes = classes.sizes[is_kept]
        # Even with weights below 1, a population class is not smaller than the sample class.
        behind = self.population
        if behind is None:
            population = None
        else:
            population = np.maximum(classes.sums(behind)[is_kept], sizes)
        return Identity(
            sizes,
            np.ones(len(sizes)),
            float(np.log2(sizes.sum())),
            population,
            self.contingency.population_estimated,
        )

    def belief(self, attribute: str, classes: Classes, is_kept: Bools) -> Belief:
        """Belief about an attribute from the kept classes, with the prior of the original."""
        raw = self.beliefs[attribute]
        cells, present = self.tally("belief", attribute, classes).cells(classes.of_raw, is_kept)
        class_indices = np.flatnonzero(is_kept)[present]
        if raw.prior.row is None:
            prior = raw.prior
        else:
            prior = self._merged_prior(attribute, classes, class_indices)
        return Belief(cells, prior, raw.ground, class_indices, raw.recursive_l)

    def _merged_prior(self, attribute: str, classes: Classes, class_indices: Ints) -> PriorBelief:
        """Prior of each of these classes, over everyone with its labels.

        Only the columns that the prior depends on count. It covers more than the raw classes that
        merged: a joint prior may contain combinations that do not occur in the table.
        """
        prior = self.beliefs[attribute].prior
        if self.spans is not None:
            if classes.published_as is None:
                box_of = np.arange(len(classes))
            else:
                box_of = classes.published_as
            class_indices = box_of[class_indices]
            boxes = np.unique(class_indices)
            spans = self.spans(box_of[classes.of_raw])
            inside = np.ones((len(boxes), len(prior.keys)), dtype=bool)
            for index, column in enumerate(prior.conditions):
                domain = self.contingency.keys[self._position[column]]
                of_boxes = [spans[column][box] for box in boxes.tolist()]
                inside &= spans_cover(of_boxes, [key[index] for key in prior.keys], domain)
            return replace(
                prior,
                weights=inside @ prior.weights,
                row=np.searchsorted(boxes, class_indices),
                keys=(),
            )
        representative = np.empty(len(classes), dtype=np.int64)
        representative[classes.of_raw] = np.arange(len(classes.of_raw))
        label = np.zeros(len(prior.keys), dtype=np.int64)
        class_label = np.zeros(len(class_indices), dtype=np.int64)
        for index, column in enumerate(prior.conditions):
            position = self._position[column]
            step = self.lattice.columns[position].levels[classes.node[position]]
            level_label = self._cached_prior_labels(attribute, index, classes.node[position])
            label = np.where(
                (level_label < 0) | (label < 0), -1, label * len(step.labels) + level_label
            )
            class_label = (
                class_label * len(step.labels)
                + step.codes[self.contingency.codes[position][representative[class_indices]]]
            )
        distinct_labels, row = np.unique(class_label, return_inverse=True)
        label_row = np.minimum(np.searchsorted(distinct_labels, label), len(distinct_labels) - 1)
        return prior.merged(
            np.where(distinct_labels[label_row] == label, label_row, -1), row, len(distinct_labels)
        )

    @cached_property
    def _position(self) -> dict[str, int]:
        return {key.name: position for position, key in enumerate(self.contingency.keys)}

    @cached_property
    def _cached_prior_labels(self) -> Callable[[str, int, int], Ints]:
        return lru_cache(maxsize=_CACHED_HALVES)(self._prior_labels)

    def _prior_labels(self, attribute: str, condition_index: int, level: int) -> Ints:
        """Label number on a level for each combination of a prior, in one conditioning column."""
        prior = self.beliefs[attribute].prior
        column_levels = self.lattice.columns[self._position[prior.conditions[condition_index]]]
        return column_levels.label_numbers([key[condition_index] for key in prior.keys], level)

    def tally(self, source: str, attribute: str, classes: Classes) -> ValueTally:
        """Counts of the values of a belief or of the table, merged as far as possible.

        They are valid for all nodes that generalize the same columns.
        """
        return self._merged_tally(source, attribute, tuple(min(level, 1) for level in classes.node))

    @cached_property
    def _merged_tally(self) -> Callable[[str, str, Node], ValueTally]:
        return lru_cache(maxsize=_CACHED_TALLIES)(self._merge_tally)

    def _merge_tally(self, source: str, attribute: str, generalized: Node) -> ValueTally:
        if any(generalized):
            return self._merged_tally(source, attribute, (0,) * len(generalized)).merged(
                self.classes(generalized).of_raw
            )
        if source == "belief":
            return ValueTally.of(self.beliefs[attribute].cells, self.beliefs[attribute].classes)
        return ValueTally.of(self.contingency.cells[attribute])


def default_beliefs(contingency: Contingency) -> dict[str, Belief]:
    """Beliefs with the table's own marginal as the prior, for every sensitive attribute."""
    return {name: Belief.of_table(cells) for name, cells in contingency.cells.items()}
