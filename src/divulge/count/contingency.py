# SPDX-License-Identifier: Apache-2.0
"""The counts everything else works on: classes, the values seen in them, and how often.

Classes are sorted by their quasi-identifier values; the cells of an attribute are sorted by class and then by value, so that one
`reduceat` sums over classes. Memory grows with the number of distinct cells, never with that of rows. Rolling up uses the counts
alone (Afifi et al. 2018, Definition 1: a generalization is a map of values, and classes are what it leaves distinct).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from divulge import arrays
from divulge.arrays import Bools, Floats, Ints
from divulge.errors import BadInput, nearest
from divulge.table import Kind


@dataclass(frozen=True, eq=False)
class Domain:
    """The distinct values of one column in ascending order, nulls last; a code is a position in it."""

    name: str
    values: pa.Array
    kind: Kind

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_ordered(self) -> bool:
        """Numbers and dates have an order that means something; text has only an alphabet."""
        return self.kind in ("number", "date")

    @cached_property
    def labels(self) -> list[Any]:
        """The values as Python objects; null is None."""
        return cast("list[Any]", self.values.to_pylist())


@dataclass(frozen=True, eq=False)
class Cells:
    """How often each value of one attribute occurs in each class; absent values have no cell."""

    domain: Domain
    start: Ints = field(repr=False)
    """Cells of class c are start[c] up to start[c + 1]; every class has at least one."""
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)
    """People (or the sum of their weights) in the cell; whole numbers up to 2^53 are exact."""

    @cached_property
    def class_index(self) -> Ints:
        """The class of each cell."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def totals(self) -> Floats:
        """The mass of each class."""
        return self.sum_by_class(self.mass)

    @cached_property
    def marginal(self) -> Floats:
        """The mass of each value over the whole table."""
        return arrays.sum_by_id(self.value, self.mass, len(self.domain))

    def sum_by_class(self, per_cell: Floats) -> Floats:
        """Sum an array over the cells of each class."""
        return cast("Floats", np.add.reduceat(per_cell, self.start[:-1]))

    def max_by_class(self, per_cell: Floats) -> Floats:
        """The largest entry among the cells of each class."""
        return cast("Floats", np.maximum.reduceat(per_cell, self.start[:-1]))

    def sum_of_largest(self, how_many: int) -> Floats:
        """The mass of the commonest values of each class, so many of them."""
        order = np.lexsort((-self.mass, self.class_index))
        rank = np.arange(len(order)) - self.start[:-1][self.class_index]
        return self.sum_by_class(np.where(rank < how_many, self.mass[order], 0.0))

    def of_class(self, index: int) -> dict[int, float]:
        """The cells of one class: value code to mass."""
        here = slice(self.start[index], self.start[index + 1])
        return dict(zip(self.value[here].tolist(), self.mass[here].tolist(), strict=True))

    def recode(self, codes: Ints, domain: Domain) -> Cells:
        """The same counts over another domain: codes[old] is the new code, -1 drops the value; every class must keep a cell."""
        value, classes = codes[self.value], len(self.start) - 1
        kept = value >= 0
        return build_cells(domain, self.class_index[kept], value[kept], self.mass[kept], classes=classes)


NOT_PUBLISHED = "not published"
"""In a pinned column: these people are not in that release."""


@dataclass(frozen=True, eq=False)
class Contingency:
    """The counted table: one entry per class, and the cells of each sensitive attribute."""

    keys: tuple[Domain, ...]
    codes: tuple[Ints, ...] = field(repr=False)
    """For each key column, the code of each class."""
    sizes: Ints = field(repr=False)
    """People (rows, unless a person column was given) in each class."""
    cells: Mapping[str, Cells]
    rows: int
    people: int
    population: Floats | None = field(default=None, repr=False)
    """People of the population behind each class: of a population table, or the sum of survey weights."""
    population_estimated: bool = False
    """Whether they are sums of weights."""
    person_entropy: float | None = None
    """H(X) of the person, where one person may own several rows; None when each row is its own person."""
    person_share: float | None = None
    """The share of the person who is in most classes, in the same case."""
    notes: tuple[str, ...] = ()
    pinned: int = 0
    """How many of the last key columns only tell classes apart: they are never made coarser and never published."""

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def own_keys(self) -> tuple[Domain, ...]:
        """The key columns that may be made coarser and published."""
        return self.keys[: len(self.keys) - self.pinned]

    @property
    def own_codes(self) -> tuple[Ints, ...]:
        """Their codes."""
        return self.codes[: len(self.codes) - self.pinned]

    @cached_property
    def pins(self) -> tuple[Ints, int]:
        """The number of each class's values in the pinned columns, and how many numbers there are."""
        own = len(self.keys) - self.pinned
        ids, first = arrays.class_ids(self.codes[own:], [len(key) for key in self.keys[own:]], rows=len(self))
        return ids, len(first)

    @cached_property
    def _out_already(self) -> Bools:
        """Which classes are of people who are in an earlier release."""
        found, own = np.zeros(len(self), dtype=bool), len(self.keys) - self.pinned
        for key, codes in zip(self.keys[own:], self.codes[own:], strict=True):
            found |= np.array([label != NOT_PUBLISHED for label in key.labels])[codes]
        return found

    def left_behind(self, kept: Bools) -> Bools:
        """Which classes, if only the kept ones are published, are told by what is missing.

        Whoever holds what is out already takes from it all that is published now, and the people left out remain. Where all whom it does
        not tell apart are left out, nobody learns more of them than is out already.
        """
        pin, pins = self.pins
        left_behind: Bools = ~kept & self._out_already & (arrays.sum_by_id(pin, kept, pins) > 0)[pin]
        return left_behind

    def class_key(self, index: int) -> dict[str, Any]:
        """The quasi-identifier values that make the class."""
        return {key.name: key.labels[codes[index]] for key, codes in zip(self.keys, self.codes, strict=True)}

    def key_column(self, position: int) -> pa.Array:
        """The value of one key column for every class."""
        return self.keys[position].values.take(pa.array(self.codes[position]))

    def roll_up(
        self, columns: Sequence[str] | None = None, *, coarser: Mapping[str, tuple[Ints, Domain]] | None = None
    ) -> Contingency:
        """Merge classes: keep only some key columns, or map values to coarser ones (codes[old] = new), on the counts alone."""
        if self.person_entropy is not None:
            raise BadInput(
                "counts of people who own several rows cannot be rolled up: a person may stand in two merging classes",
                hint="count again with the coarser columns",
            )
        coarser, names = coarser or {}, [key.name for key in self.keys]
        wanted = names if columns is None else list(columns)
        for name in [*wanted, *coarser]:
            if name not in names:
                raise BadInput(f"{name!r} is not among the counted columns", hint=nearest(name, names))
        coded = {key.name: (key, codes) for key, codes in zip(self.keys, self.codes, strict=True)}
        coded |= {name: (domain, mapping[coded[name][1]]) for name, (mapping, domain) in coarser.items()}
        keys, codes = [coded[name][0] for name in wanted], [coded[name][1] for name in wanted]
        merged, first = arrays.class_ids(codes, [len(key) for key in keys], rows=len(self))
        count = len(first)
        return replace(
            self,
            keys=tuple(keys),
            codes=tuple(column[first] for column in codes),
            sizes=arrays.exact_sums(merged, self.sizes, count),
            cells={
                name: build_cells(cells.domain, merged[cells.class_index], cells.value, cells.mass, classes=count)
                for name, cells in self.cells.items()
            },
            population=None if self.population is None else arrays.sum_by_id(merged, self.population, count),
            pinned=self.pinned if columns is None else 0,
        )


def build_cells(domain: Domain, class_index: Ints, value: Ints, mass: Floats, *, classes: int) -> Cells:
    """Sort cells by class and value, and merge those that are the same."""
    radix = max(len(domain), 1)
    key = class_index * radix + value
    order = np.argsort(key)
    key, mass = key[order], mass[order]
    begins = arrays.run_starts(key)
    if len(begins) < len(key):
        key, mass = key[begins], np.add.reduceat(mass, begins)
    starts = np.searchsorted(key, np.arange(classes + 1) * radix)
    return Cells(domain=domain, start=starts.astype(np.int64, copy=False), value=key % radix, mass=mass)
