# SPDX-License-Identifier: Apache-2.0
"""Ground distances between values of an attribute, for t-closeness and guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from divulge.adversary.guesses import Guess
from divulge.arguments import arg, outside
from divulge.arrays import Ints
from divulge.counting import Cells, Domain
from divulge.errors import BadInput
from divulge.hierarchies import read_hierarchy
from divulge.text import as_text

# By default the distance is equal for text and ordered for numbers and dates. A taxonomy makes it
# hierarchical. Text has no order of its own (the alphabet means nothing), so an ordered distance on
# text needs the order of the values.
Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, eq=False)
class GroundDistance:
    """Comparison of values: the ground distance of t-closeness (Li et al. 2007) and right guesses.

    A distance is equal, ordered, or by the height of the common ancestor in a taxonomy.
    """

    distance: Distance
    levels: tuple[Ints, ...] = field(default=(), repr=False)
    """For a taxonomy, the node of each value at every level below the root.

    The values themselves come first.
    """
    guess: Guess = field(default_factory=Guess)


Taxonomy = str | Path | Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class GroundChoice:
    """The user's choice of ground distances and guess settings, by attribute."""

    distances: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)
    within: Mapping[str, float] = field(default_factory=dict)

    def arrange(self, cells: Cells) -> Cells:
        """The cells with their values in the user's order, if there is one."""
        if cells.domain.name not in self.orders:
            return cells
        order = [as_text(value) for value in self.orders[cells.domain.name]]
        labels = [as_text(label) for label in cells.domain.labels]
        repeated = [
            repr(value) for position, value in enumerate(order) if value in order[:position]
        ]
        if repeated:
            raise BadInput(
                f"the order of {cells.domain.name!r} names {outside(', '.join(repeated))} twice"
            )
        missing = [repr(label) for label in labels if label not in order]
        if missing:
            raise BadInput(
                f"the order of {cells.domain.name!r} misses {outside(', '.join(missing))}"
            )
        rank = np.array([order.index(label) for label in labels])
        codes = np.argsort(np.argsort(rank))
        values = cells.domain.values.take(pa.array(np.argsort(rank)))
        return cells.recode(codes, Domain(cells.domain.name, values, cells.domain.kind))

    def ground(self, cells: Cells) -> GroundDistance:
        """The ground distance and guess condition of an attribute with arranged cells."""
        name = cells.domain.name
        guess = Guess.of(cells.domain, tries=self.tries.get(name, 1), within=self.within.get(name))
        return replace(self._distance(cells), guess=guess)

    def _distance(self, cells: Cells) -> GroundDistance:
        name = cells.domain.name
        requested = self.distances.get(name)
        if name in self.taxonomies:
            if requested not in (None, "hierarchical"):
                raise BadInput(
                    f"{name!r} has a taxonomy and is asked to be {requested}",
                    hint="give one of the two",
                )
            hierarchy = read_hierarchy(self.taxonomies[name], name)
            return GroundDistance(
                "hierarchical",
                hierarchy.nodes_below_root([as_text(label) for label in cells.domain.labels]),
            )
        has_order = cells.domain.is_ordered or name in self.orders
        if requested == "hierarchical":
            message = f"a hierarchical distance for {name!r} needs its taxonomy"
            raise BadInput(
                message,
                hint=f"give its file with {arg('taxonomies', example=f'{{{name!r}: ...}}')}",
            )
        if requested == "ordered" and not has_order:
            message = f"the values of {name!r} are text and have no order"
            raise BadInput(
                message,
                hint=(
                    "give their order from low to high with "
                    f"{arg('orders', example=f'{{{name!r}: [...]}}')}"
                ),
            )
        return GroundDistance(
            "ordered" if requested == "ordered" or (requested is None and has_order) else "equal"
        )
