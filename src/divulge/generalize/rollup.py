# SPDX-License-Identifier: Apache-2.0
"""The classes of any node, by rolling up counts (LeFevre et al. 2005: roll-up instead of a scan of the rows).

A node's class is a combination of labels. The columns are split into two halves; the combination of labels within a half is numbered
once per choice of levels and remembered, so that a node costs one multiplication, one addition and one count over the raw classes.
Counts of sensitive values are merged once for all nodes that generalize the same columns, and rolled up from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from divulge.arrays import Bools, Floats, Ints, renumber, slots, sum_by_id
from divulge.belief import Belief, PriorBelief
from divulge.count import Contingency
from divulge.errors import BadInput, InternalError
from divulge.generalize.lattice import Lattice, Node, Span, held
from divulge.generalize.tally import ValueTally
from divulge.metrics import Identity

_REMEMBERED_HALVES = 512
_REMEMBERED_TALLIES = 256


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one node."""

    node: Node
    of_raw: Ints = field(repr=False)
    """The class of each raw class."""
    sizes: Floats = field(repr=False)
    """People in each class, as whole floats."""

    def __len__(self) -> int:
        return len(self.sizes)

    def sums(self, per_raw: Floats) -> Floats:
        """Sum a number of the raw classes over each class."""
        return sum_by_id(self.of_raw, per_raw, len(self))


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

    def __post_init__(self) -> None:
        if self.contingency.person_entropy is not None:
            raise BadInput(
                "people who own several rows cannot be followed while classes merge: the same person may stand in both",
                hint="reduce the table to one row per person, or search without a person column",
            )
        for name, belief in self.beliefs.items():
            if belief.prior.row is not None and not belief.prior.keys:
                raise InternalError(f"nobody knows which values the priors of {name!r} depend on")

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
        halves: tuple[list[int], list[int]] = ([], [])
        weights = [1, 1]
        for position in sorted(range(len(self.lattice.shape)), key=lambda i: -self.lattice.shape[i]):
            lighter = 0 if weights[0] <= weights[1] else 1
            halves[lighter].append(position)
            weights[lighter] *= self.lattice.shape[position]
        return tuple(halves[0]), tuple(halves[1])

    @cached_property
    def _numbered_half(self) -> Callable[[int, tuple[int, ...]], tuple[Ints, int]]:
        return lru_cache(maxsize=_REMEMBERED_HALVES)(self._number_half)

    def _number_half(self, half: int, levels: tuple[int, ...]) -> tuple[Ints, int]:
        """The number of each raw class's labels in one half of the columns, and how many numbers there are."""
        key = np.zeros(len(self.contingency), dtype=np.int64)
        span = 1
        for position, level in zip(self._halves[half], levels, strict=True):
            step = self.lattice.ladders[position].levels[level]
            if span > 1 and span * len(step.labels) > slots(len(key)):
                key, span = renumber(key, span)
            key = key * len(step.labels) + step.codes[self.contingency.codes[position]]
            span *= len(step.labels)
        return renumber(key, span)

    def classes(self, node: Node) -> Classes:
        """Merge the raw classes that have the same labels at these levels."""
        first, count = self._numbered_half(0, tuple(node[i] for i in self._halves[0]))
        second, radix = self._numbered_half(1, tuple(node[i] for i in self._halves[1]))
        key = first * radix
        key += second
        of_raw, _ = renumber(key, count * radix)
        return Classes(node, of_raw, sum_by_id(of_raw, self.sizes))

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
        cells, present = self.tally("belief", attribute, classes).cells(classes.of_raw, kept)
        where = np.flatnonzero(kept)[present]
        prior = raw.prior if raw.prior.row is None else self._merged_prior(attribute, classes, where)
        return Belief(cells, prior, raw.ground, where, raw.recursive_l)

    def _merged_prior(self, attribute: str, classes: Classes, where: Ints) -> PriorBelief:
        """The prior of each of these classes: of everybody with its labels in the columns that the prior depends on.

        These are more than the raw classes that merged: a joint prior may know combinations that nobody in the table has.
        """
        prior = self.beliefs[attribute].prior
        one = np.empty(len(classes), dtype=np.int64)
        one[classes.of_raw] = np.arange(len(classes.of_raw))
        if self.spans is not None:
            boxes = np.flatnonzero(np.isin(np.arange(len(classes)), where))
            spans = self.spans(classes.of_raw)
            inside = np.ones((len(boxes), len(prior.keys)), dtype=bool)
            for place, column in enumerate(prior.conditions):
                domain = self.contingency.keys[self._position[column]]
                of_boxes = [spans[column][box] for box in boxes.tolist()]
                inside &= held(of_boxes, [key[place] for key in prior.keys], domain)
            return replace(prior, weights=inside @ prior.weights, row=np.searchsorted(boxes, where), keys=())
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
        """The number of the label that each combination of a prior has on a level, in one of the columns it depends on."""

        def placed(attribute: str, place: int, level: int) -> Ints:
            prior = self.beliefs[attribute].prior
            ladder = self.lattice.ladders[self._position[prior.conditions[place]]]
            return ladder.places([key[place] for key in prior.keys], level)

        return lru_cache(maxsize=_REMEMBERED_HALVES)(placed)

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
