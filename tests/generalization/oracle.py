# SPDX-License-Identifier: Apache-2.0
"""An exhaustive oracle for generalization: every node, row by row, with tests/oracle.py.

It shares no code with the search. Suppression is interpreted as the issue states. Classes that
violate a requirement by themselves are suppressed. Then classes that violate a requirement on the
whole table are suppressed, round by round. Averages are checked on the remaining rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import floor, log2, prod
from typing import Any

from divulge.policy import Promise
from tests import oracle

Row = Mapping[str, Any]
Levels = dict[str, int]
Counted = frozenset[tuple[Any, int]]
Taxonomy = Mapping[str | None, Sequence[str | None]]

# The value of a class changes when others are removed: it uses the number of classes, the published
# total or the published marginal.
LOOKS_AROUND = {
    "identity": {
        "specific_information",
        "maximum_information_leakage",
        "maximum_information_leakage_printed",
        "itpr",
        "itpr_unscaled",
    },
    "sensitive": {
        "averaged_information",
        "set_information",
        "maximum_information_leakage",
        "maximum_information_leakage_printed",
        "itpr",
        "itpr_unscaled",
    },
}


@dataclass(frozen=True)
class Published:
    """Rows that one node publishes."""

    levels: Levels
    rows: list[Row]
    """Generalized, with the original row under "from"."""
    suppressed: list[Row]
    """Original rows."""


@dataclass(frozen=True)
class World:
    """A table, its hierarchies and its only sensitive column."""

    rows: Sequence[Row]
    taxonomies: Mapping[str, Taxonomy]
    """Labels from level 0 up, by column and value (as text)."""
    sensitive: str
    pinned: tuple[str, ...] = ()
    """Columns that split classes and are never published."""

    @property
    def keys(self) -> list[str]:
        return list(self.taxonomies)

    @property
    def judged(self) -> list[str]:
        return [*self.keys, *self.pinned]

    def label(self, column: str, value: Any, level: int) -> str | None:
        """Return the published label of a value."""
        return self.taxonomies[column][None if value is None else str(value)][level]

    def nodes(self) -> list[Levels]:
        """All nodes of the lattice."""
        heights = [
            range(len(next(iter(taxonomy.values())))) for taxonomy in self.taxonomies.values()
        ]
        return [dict(zip(self.taxonomies, levels, strict=True)) for levels in product(*heights)]

    def generalized(self, levels: Levels) -> list[Row]:
        return [
            {column: self.label(column, row[column], level) for column, level in levels.items()}
            | {name: row[name] for name in (self.sensitive, *self.pinned)}
            | {"from": row}
            for row in self.rows
        ]

    def numbers(
        self, classes: Sequence[Sequence[Row]], promise: Promise
    ) -> tuple[float, list[float] | None]:
        """The required metric of a table made of these classes, and of each of them."""
        if promise.metric.scope == "identity":
            people = [len(members) for members in classes]
            return oracle.identity(
                [row for members in classes for row in members], self.judged, population=people
            )[promise.metric.name]
        counts = tuple(
            frozenset(Counter(row[self.sensitive] for row in members).items())
            for members in classes
        )
        prior = frozenset(Counter(row[self.sensitive] for row in self.rows).items())
        return _sensitive(counts, prior, promise.l_value)[promise.metric.name]

    def published(
        self, levels: Levels, promises: Sequence[Promise], suppression: float
    ) -> Published | None:
        """Return the rows that a node publishes, or None if it is not a solution."""
        limit = floor(suppression * len(self.rows) + 1e-9)
        classes = oracle.group(self.generalized(levels), self.judged)
        alone = [promise for promise in promises if _kind(promise) == "alone"]
        around = [promise for promise in promises if _kind(promise) == "around"]
        classes, gone = self._without_breaking(classes, alone)
        while around:
            classes, more = self._without_breaking(classes, around)
            gone = gone + more
            if not more:
                break
        if len(gone) > limit or not classes:
            return None
        # An adversary with the prior releases removes the people who are published now from them.
        # The remaining people share all pinned values.
        unseen = dict.fromkeys(self.keys, "left out")
        shown = {tuple(row[name] for name in self.pinned) for members in classes for row in members}
        shown -= {("not published",) * len(self.pinned)}
        remain = [
            {**row, **unseen}
            for row in gone
            if self.pinned and tuple(row[name] for name in self.pinned) in shown
        ]
        beside = (
            [classes, [*classes, *oracle.group(remain, list(self.pinned))]] if remain else [classes]
        )
        for promise, told in product(promises, beside):
            value, _ = self.numbers(told, promise)
            if not promise.metric.holds(value, promise.bound):
                return None
        return Published(
            levels, [row for members in classes for row in members], [row["from"] for row in gone]
        )

    def _without_breaking(
        self, classes: list[list[Row]], promises: Sequence[Promise]
    ) -> tuple[list[list[Row]], list[Row]]:
        broken: set[int] = set()
        for promise in promises if classes else ():
            _, each = self.numbers(classes, promise)
            assert each is not None
            broken |= {
                i for i, value in enumerate(each) if not promise.metric.holds(value, promise.bound)
            }
        kept = [members for i, members in enumerate(classes) if i not in broken]
        return kept, [row for i in sorted(broken) for row in classes[i]]


@cache
def _sensitive(
    counts: tuple[Counted, ...], prior: Counted, recursive_l: int | None
) -> oracle.Result:
    """Measure classes, cached because the same ones occur under every other bound."""
    return oracle.sensitive(
        [dict(each) for each in counts], prior=dict(prior), recursive_l=recursive_l
    )


def _kind(promise: Promise) -> str:
    metric = promise.metric
    if metric.per_class is None or metric.of_table is not None:
        return "average"
    return "around" if metric.name in LOOKS_AROUND[metric.scope] else "alone"


def best(
    world: World, promises: Sequence[Promise], suppression: float, objective: str
) -> tuple[float, list[Levels]] | None:
    """Return the least cost and every node that has it; None if there is no solution."""
    found = [world.published(levels, promises, suppression) for levels in world.nodes()]
    costs = [(COSTS[objective](world, item), item.levels) for item in found if item is not None]
    if not costs:
        return None
    least = min(cost for cost, _ in costs)
    return least, [levels for cost, levels in costs if cost <= least + 1e-9 * max(1, abs(least))]


# --- Costs, low is good ---------------------------------------------------------------------------


def column_losses(world: World, published: Published) -> list[float]:
    """ARX's loss of each column."""
    n = len(world.rows)
    losses = []
    for column, taxonomy in world.taxonomies.items():
        leaves = len(taxonomy)
        under = Counter(labels[published.levels[column]] for labels in taxonomy.values())
        total = sum(under[row[column]] / leaves for row in published.rows) + len(
            published.suppressed
        )
        losses.append((total - n / leaves) / (n - n / leaves) if leaves > 1 else 0.0)
    return losses


def geometric(world: World, published: Published) -> float:
    losses = column_losses(world, published)
    return float(prod(1 + loss for loss in losses) ** (1 / len(losses))) - 1


def arithmetic(world: World, published: Published) -> float:
    losses = column_losses(world, published)
    return sum(losses) / len(losses)


def precision(world: World, published: Published) -> float:
    """Minus Sweeney's precision."""
    heights = {
        column: len(next(iter(taxonomy.values()))) - 1
        for column, taxonomy in world.taxonomies.items()
    }
    cells = len(world.rows) * len(heights)
    lost = sum(
        level / heights[column] if heights[column] else 0
        for column, level in published.levels.items()
    )
    return (len(published.rows) * lost + len(published.suppressed) * len(heights)) / cells - 1


def non_uniform_entropy(world: World, published: Published) -> float:
    lost = most = 0.0
    n = len(world.rows)
    for column in world.keys:
        often = Counter(row[column] for row in world.rows)
        labelled = Counter(
            world.label(column, row[column], published.levels[column]) for row in world.rows
        )
        lost += sum(
            log2(labelled[row[column]] / often[row["from"][column]]) for row in published.rows
        )
        lost += sum(log2(n / often[row[column]]) for row in published.suppressed)
        most += sum(log2(n / often[row[column]]) for row in world.rows)
    return lost / most if most else 0.0


def discernibility(world: World, published: Published) -> float:
    sizes = [len(members) for members in oracle.group(published.rows, world.keys)]
    return sum(size**2 for size in sizes) + len(published.suppressed) * len(world.rows)


def average_class_size(world: World, published: Published) -> float:
    classes = len(oracle.group(published.rows, world.keys)) + bool(published.suppressed)
    return len(world.rows) / classes


def information(world: World, published: Published) -> float:
    """Minus the information of the published classes about the sensitive column."""
    table = Counter(row[world.sensitive] for row in world.rows)
    n = len(world.rows)
    bits = 0.0
    for members in oracle.group(published.rows, world.keys):
        counts = Counter(row[world.sensitive] for row in members)
        bits += sum(
            c / n * log2(c / len(members) / (table[value] / n)) for value, c in counts.items()
        )
    return -bits


COSTS: dict[str, Callable[[World, Published], float]] = {
    "loss": geometric,
    "arithmetic_loss": arithmetic,
    "precision": precision,
    "non_uniform_entropy": non_uniform_entropy,
    "discernibility": discernibility,
    "average_class_size": average_class_size,
    "information": information,
}
