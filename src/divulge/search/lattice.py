# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain generalizations: one level for each quasi-identifier (Samarati 2001; LeFevre et al. 2005, Incognito).

A node is a tuple of levels, 0 = as it came. A node is finer than another if none of its levels is higher; merging classes is going
up. Nodes are positions in an array of shape `lattice.shape`, so that "this node and all finer ones" is a slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from divulge import arrays
from divulge.arrays import Bools, Floats, Ints
from divulge.belief import Belief, PriorBelief
from divulge.count import Cells, Contingency, Domain, build_cells
from divulge.errors import BadInput, InternalError
from divulge.hierarchy import SUPPRESSED, Hierarchy, check_coverage
from divulge.metrics import Identity
from divulge.values import as_text

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

        def place(text: str | None) -> int:
            try:
                return number.get(self.hierarchy.label_of(text, level), -1)
            except LookupError:
                return -1

        return np.array([place(text) for text in texts], dtype=np.int64)

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

    def levels(self, node: Node) -> list[Level]:
        """Column by column."""
        return [ladder.levels[level] for ladder, level in zip(self.ladders, node, strict=True)]

    @staticmethod
    def finer_neighbours(node: Node) -> list[Node]:
        """One column one level down."""
        return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > 0]


def lattice_of(contingency: Contingency, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
    """The lattice of the counted columns; every one that is not pinned needs a hierarchy that knows all its values."""
    missing = [key.name for key in contingency.own_keys if key.name not in hierarchies]
    if missing:
        raise BadInput(
            f"no hierarchy for {', '.join(map(repr, missing))}",
            hint="give one for each quasi-identifier; `divulge hierarchy build` makes one from the data",
        )
    used = {key.name: hierarchies[key.name] for key in contingency.own_keys}
    check_coverage(used, {key.name: key.labels for key in contingency.own_keys})
    return Lattice(tuple(ladder_of(key, used[key.name]) for key in contingency.own_keys))


def ladder_of(domain: Domain, hierarchy: Hierarchy) -> Ladder:
    """The levels that a hierarchy gives the values of a column."""
    texts = [as_text(label) for label in domain.labels]
    found = enumerate(hierarchy.level_codes(texts))
    levels = (Level(step.codes, tuple(step.labels), hierarchy.leaf_shares(level, texts)) for level, step in found)
    return Ladder(domain.name, tuple(levels), hierarchy)


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


@dataclass(frozen=True, eq=False)
class ValueTally:
    """How often each value of an attribute occurs, by raw class."""

    domain: Domain
    raw_class: Ints = field(repr=False)
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)

    @classmethod
    def of(cls, cells: Cells, raw_classes: Ints | None = None) -> ValueTally:
        """From cells; `raw_classes` says which raw class each class of theirs is, where that is not its own number."""
        index = cells.class_index if raw_classes is None else raw_classes[cells.class_index]
        return cls(cells.domain, index, cells.value, cells.mass)

    def merged(self, of_raw: Ints) -> ValueTally:
        """The same with the counts of each merged class put on one of its raw classes: good for every coarser division."""
        count = int(of_raw.max()) + 1
        one = np.empty(count, dtype=np.int64)
        one[of_raw] = np.arange(len(of_raw))
        cells, present = self.cells(of_raw, np.ones(count, dtype=bool))
        return ValueTally.of(cells, one[present])

    def cells(self, of_raw: Ints, kept: Bools) -> tuple[Cells, Ints]:
        """Cells of the kept classes, and which of these have any (background knowledge can leave a class without a value)."""
        index, value, mass = of_raw[self.raw_class], self.value, self.mass
        classes = len(kept)
        if not kept.all():
            chosen = kept[index]
            renumbered = np.cumsum(kept) - 1
            index, value, mass = renumbered[index[chosen]], value[chosen], mass[chosen]
            classes = int(renumbered[-1]) + 1
        values = len(self.domain)
        if classes * values <= arrays.slots(len(value)):
            table = arrays.sum_by_id(index * values + value, mass, classes * values)
            place = np.flatnonzero(table)
            start = np.searchsorted(place, np.arange(classes + 1) * values)
            cells = Cells(self.domain, start, place % values, table[place])
        else:
            cells = build_cells(self.domain, index, value, mass, classes=classes)
        present = np.flatnonzero(np.diff(cells.start))
        if len(present) < classes:
            cells = Cells(cells.domain, np.append(cells.start[present], cells.start[-1]), cells.value, cells.mass)
        return cells, present


# Roll-up instead of a scan of the rows (LeFevre et al. 2005). The columns are split into two halves; the combination of labels within a
# half is numbered once per choice of levels and remembered, so that a node costs one multiplication, one addition and one count over the
# raw classes. Counts of sensitive values are merged once for all nodes that generalize the same columns, and rolled up from there.
_REMEMBERED_HALVES = 512
_REMEMBERED_LABELS = 64
_REMEMBERED_TALLIES = 256
_REMEMBERED_NODES = 8_000_000
"""Counts of all nodes, each reckoned as fine as the table came: lattices with more of them remember no node. One takes some 24 bytes."""
_REMEMBERED_FOR_A_CELL = 10
"""With a memory limit, so many of them for each cell that it allows: a quarter of what a cell costs."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one node."""

    node: Node
    of_raw: Ints = field(repr=False)
    """The class of each raw class."""
    sizes: Floats = field(repr=False)
    """People in each class, as whole floats."""
    published_as: Ints | None = field(default=None, repr=False)
    """Where pinned columns split what is published: the published class that each class is a part of."""
    seen: dict[Any, Any] | None = field(default=None, repr=False)
    """Where the node is remembered: what was worked out about all its classes, which no bound of a promise changes."""

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
    """Where classes are boxes and no nodes: what the label of each class stands for, by column."""
    cell_limit: int | None = None
    """How many cells may be in memory, where that is limited."""

    def __post_init__(self) -> None:
        if self.contingency.person_entropy is not None:
            raise BadInput(
                "people who own several rows cannot be followed while classes merge: the same person may stand in both",
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
        """For several searches: with the same levels, before the same adversary."""
        lattice = lattice_of(contingency, hierarchies)
        return cls(contingency, lattice, dict(beliefs), contingency.population, cell_limit=cell_limit)

    @cached_property
    def people(self) -> int:
        """Everybody in the table."""
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
        return lru_cache(maxsize=_REMEMBERED_HALVES)(self._number_half)

    def _number_half(self, half: int, levels: tuple[int, ...]) -> tuple[Ints, int]:
        """The number of each raw class's labels in one half of the columns, and how many numbers there are."""
        key = np.zeros(len(self.contingency), dtype=np.int64)
        span = 1
        for position, level in zip(self._halves[half], levels, strict=True):
            step = self.lattice.ladders[position].levels[level]
            if span > 1 and span * len(step.labels) > arrays.slots(len(key)):
                key, span = arrays.renumber(key, span)
            key *= len(step.labels)
            key += self._labels_of_raw(position, level)
            span *= len(step.labels)
        return arrays.renumber(key, span)

    @cached_property
    def _labels_of_raw(self) -> Callable[[int, int], Ints]:
        return lru_cache(maxsize=_REMEMBERED_LABELS)(self._label_raw)

    def _label_raw(self, position: int, level: int) -> Ints:
        """The number of each raw class's label in one column."""
        codes: Ints = self.lattice.ladders[position].levels[level].codes[self.contingency.codes[position]]
        return codes

    @cached_property
    def _remembered(self) -> dict[Node, Classes] | None:
        """Small lattices are asked again and again, with other bounds: by the price of promises, the front, a slider."""
        counts = len(self.contingency) + sum(len(belief.cells.value) for belief in self.beliefs.values())
        limit = self.cell_limit
        most = _REMEMBERED_NODES if limit is None else min(_REMEMBERED_NODES, _REMEMBERED_FOR_A_CELL * limit)
        return {} if self.spans is None and counts * self.lattice.size <= most else None

    def classes(self, node: Node) -> Classes:
        """Merge the raw classes that have the same labels at these levels."""
        if self._remembered is None:
            return self._merge(node)
        if node not in self._remembered:
            self._remembered[node] = replace(self._merge(node), seen={})
        return self._remembered[node]

    def _merge(self, node: Node) -> Classes:
        first, count = self._numbered_half(0, tuple(node[i] for i in self._halves[0]))
        second, radix = self._numbered_half(1, tuple(node[i] for i in self._halves[1]))
        key = first * radix
        key += second
        of_raw, _ = arrays.renumber(key, count * radix)
        return self.as_classes(of_raw, node)

    def as_classes(self, published: Ints, node: Node = ()) -> Classes:
        """What is judged where raw classes are published under these numbers: each as a whole, or as pinned columns split it."""
        if not self.contingency.pinned:
            return Classes(node, published, arrays.sum_by_id(published, self.sizes))
        pin, pins = self.contingency.pins
        of_raw, count = arrays.renumber(published * pins + pin, (int(published.max()) + 1) * pins)
        published_as = np.empty(count, dtype=np.int64)
        published_as[of_raw] = published
        return Classes(node, of_raw, arrays.sum_by_id(of_raw, self.sizes), published_as)

    def beside_left_out(self, classes: Classes, kept: Bools) -> tuple[Classes, Bools] | None:
        """The kept classes and, of people who are out already and would be left out now, those whom nothing that is out tells apart.

        None where there are none.
        """
        if not self.contingency.pinned or kept.all():
            return None
        (pin, pins), shown = self.contingency.pins, kept[classes.of_raw]
        remain = self.contingency.left_behind(shown)
        if not remain.any():
            return None
        key = np.where(remain, len(classes) + pin, classes.of_raw)
        key[~shown & ~remain] = len(classes) + pins
        of_raw, count = arrays.renumber(key, len(classes) + pins + 1)
        judged = np.zeros(count, dtype=bool)
        judged[of_raw[shown | remain]] = True
        return Classes(classes.node, of_raw, arrays.sum_by_id(of_raw, self.sizes)), judged

    def identity(self, classes: Classes, kept: Bools) -> Identity:
        """Class sizes of what is published."""
        sizes = classes.sizes[kept]
        # Weights below 1 cannot make a class of the population smaller than the people seen in it.
        behind = self.population
        population = None if behind is None else np.maximum(classes.sums(behind)[kept], sizes)
        return Identity(
            sizes, np.ones(len(sizes)), float(np.log2(sizes.sum())), population, self.contingency.population_estimated
        )

    def belief(self, attribute: str, classes: Classes, kept: Bools) -> Belief:
        """What the kept classes tell about an attribute, against the prior of the original table."""
        raw = self.beliefs[attribute]
        cells, present = self.tally("belief", attribute, classes).cells(classes.of_raw, kept)
        where = np.flatnonzero(kept)[present]
        prior = raw.prior if raw.prior.row is None else self._merged_prior(attribute, classes, where)
        return Belief(cells, prior, raw.ground, where, raw.recursive_l)

    def _merged_prior(self, attribute: str, classes: Classes, where: Ints) -> PriorBelief:
        """The prior of each of these classes: of everybody with its labels in the columns that the prior depends on.

        These are more than the raw classes that merged: a joint prior may know combinations that nobody in the table has.
        """
        prior = self.beliefs[attribute].prior
        if self.spans is not None:
            box_of = np.arange(len(classes)) if classes.published_as is None else classes.published_as
            where = box_of[where]
            boxes = np.unique(where)
            spans = self.spans(box_of[classes.of_raw])
            inside = np.ones((len(boxes), len(prior.keys)), dtype=bool)
            for place, column in enumerate(prior.conditions):
                domain = self.contingency.keys[self._position[column]]
                of_boxes = [spans[column][box] for box in boxes.tolist()]
                inside &= held(of_boxes, [key[place] for key in prior.keys], domain)
            return replace(prior, weights=inside @ prior.weights, row=np.searchsorted(boxes, where), keys=())
        one = np.empty(len(classes), dtype=np.int64)
        one[classes.of_raw] = np.arange(len(classes.of_raw))
        label, asked = np.zeros(len(prior.keys), dtype=np.int64), np.zeros(len(where), dtype=np.int64)
        for place, column in enumerate(prior.conditions):
            position = self._position[column]
            step = self.lattice.ladders[position].levels[classes.node[position]]
            here = self._placed(attribute, place, classes.node[position])
            label = np.where((here < 0) | (label < 0), -1, label * len(step.labels) + here)
            asked = asked * len(step.labels) + step.codes[self.contingency.codes[position][one[where]]]
        found, row = np.unique(asked, return_inverse=True)
        place_of = np.minimum(np.searchsorted(found, label), len(found) - 1)
        return prior.merged(np.where(found[place_of] == label, place_of, -1), row, len(found))

    @cached_property
    def _position(self) -> dict[str, int]:
        return {key.name: position for position, key in enumerate(self.contingency.keys)}

    @cached_property
    def _placed(self) -> Callable[[str, int, int], Ints]:
        return lru_cache(maxsize=_REMEMBERED_HALVES)(self._place)

    def _place(self, attribute: str, place: int, level: int) -> Ints:
        """The number of the label that each combination of a prior has on a level, in one of the columns it depends on."""
        prior = self.beliefs[attribute].prior
        ladder = self.lattice.ladders[self._position[prior.conditions[place]]]
        return ladder.places([key[place] for key in prior.keys], level)

    def tally(self, what: str, attribute: str, classes: Classes) -> ValueTally:
        """The counts of a belief's or of the table's values, merged as far as all nodes that generalize these columns allow."""
        return self._merged_tally(what, attribute, tuple(min(level, 1) for level in classes.node))

    @cached_property
    def _merged_tally(self) -> Callable[[str, str, Node], ValueTally]:
        return lru_cache(maxsize=_REMEMBERED_TALLIES)(self._merge_tally)

    def _merge_tally(self, what: str, attribute: str, generalized: Node) -> ValueTally:
        if any(generalized):
            return self._merged_tally(what, attribute, (0,) * len(generalized)).merged(self.classes(generalized).of_raw)
        if what == "belief":
            return ValueTally.of(self.beliefs[attribute].cells, self.beliefs[attribute].classes)
        return ValueTally.of(self.contingency.cells[attribute])


def default_beliefs(contingency: Contingency) -> dict[str, Belief]:
    """The prior is the table's own marginal, for every sensitive attribute."""
    return {name: Belief.of_table(cells) for name, cells in contingency.cells.items()}
