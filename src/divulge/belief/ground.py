# SPDX-License-Identifier: Apache-2.0
"""Which ground distance t-closeness uses for an attribute, and the order of its values.

Equal for text and ordered for numbers and dates unless told otherwise; a taxonomy makes it hierarchical. Text has no order of its own
(an alphabet means nothing), so an ordered distance on text needs the order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from divulge.belief.belief import Distance, Ground
from divulge.count import Cells, Domain
from divulge.errors import BadInput
from divulge.table.hierarchy_files import read_hierarchy
from divulge.table.texts import as_text

Taxonomy = str | Path | Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class GroundChoice:
    """What the user asked for, by attribute."""

    distances: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def arrange(self, cells: Cells) -> Cells:
        """The cells with the values in the order that was given, if one was."""
        if cells.domain.name not in self.orders:
            return cells
        order = [as_text(value) for value in self.orders[cells.domain.name]]
        labels = [as_text(label) for label in cells.domain.labels]
        twice = [repr(value) for place, value in enumerate(order) if value in order[:place]]
        if twice:
            raise BadInput(f"the order of {cells.domain.name!r} names {', '.join(twice)} twice")
        missing = [repr(label) for label in labels if label not in order]
        if missing:
            raise BadInput(f"the order of {cells.domain.name!r} misses {', '.join(missing)}")
        rank = np.array([order.index(label) for label in labels])
        codes = np.argsort(np.argsort(rank))
        values = cells.domain.values.take(pa.array(np.argsort(rank)))
        return cells.recode(codes, Domain(cells.domain.name, values, cells.domain.kind))

    def ground(self, cells: Cells) -> Ground:
        """The ground distance in force for an attribute whose cells have been arranged."""
        name = cells.domain.name
        asked = self.distances.get(name)
        if name in self.taxonomies:
            if asked not in (None, "hierarchical"):
                raise BadInput(f"{name!r} has a taxonomy and is asked to be {asked}", hint="give one of the two")
            hierarchy = read_hierarchy(self.taxonomies[name], name)
            return Ground("hierarchical", hierarchy.nodes_below_root([as_text(label) for label in cells.domain.labels]))
        has_order = cells.domain.is_ordered or name in self.orders
        if asked is None:
            return Ground("ordered" if has_order else "equal")
        if asked == "hierarchical":
            raise BadInput(
                f"a hierarchical distance for {name!r} needs its taxonomy", hint="give a hierarchy file for it"
            )
        if asked == "ordered" and not has_order:
            raise BadInput(
                f"the values of {name!r} are text and have no order",
                hint=f"give their order from low to high (--order '{name}=low,..,high')",
            )
        distance: Distance = "ordered" if asked == "ordered" else "equal"
        return Ground(distance)
