# SPDX-License-Identifier: Apache-2.0
"""Contingency tables: equivalence classes, the values in them, and their frequencies.

All measurements work on these counts. Classes are sorted by their quasi-identifier values. The
cells of an attribute are sorted by class and then by value, so that one `reduceat` sums over
classes. Memory grows with the number of distinct cells, never with that of rows. Rolling up uses
the counts alone (Afifi et al. 2018, Definition 1: a generalization is a map of values, and the
classes are its distinct images).
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
from divulge.sources import Kind
from divulge.text import as_text


@dataclass(frozen=True, eq=False)
class Domain:
    """Distinct values of one column; a code is a position in it.

    The values are in ascending order, nulls last, unless an encoded column states otherwise.
    """

    name: str
    values: pa.Array
    kind: Kind

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_ordered(self) -> bool:
        """True for numbers and dates, whose order has a meaning; text has only an alphabet."""
        return self.kind in ("number", "date")

    @cached_property
    def labels(self) -> list[Any]:
        """Values as Python objects; null is None."""
        return cast("list[Any]", self.values.to_pylist())

    @cached_property
    def texts(self) -> list[str | None]:
        """Values as texts, by which columns of different types are compared; null is None."""
        return [as_text(label) for label in self.labels]


@dataclass(frozen=True, eq=False)
class Cells:
    """Frequency of each value of one attribute in each class; absent values have no cell."""

    domain: Domain
    start: Ints = field(repr=False)
    """Index of the first cell of each class; class c has the cells start[c] up to start[c + 1].

    Every class has at least one cell.
    """
    value: Ints = field(repr=False)
    mass: Floats = field(repr=False)
    """People (or the sum of their weights) in the cell; whole numbers up to 2^53 are exact."""

    @cached_property
    def class_index(self) -> Ints:
        """Class of each cell."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def totals(self) -> Floats:
        """Mass of each class."""
        return self.sum_by_class(self.mass)

    @cached_property
    def marginal(self) -> Floats:
        """Mass of each value over the whole table."""
        return arrays.sum_by_id(self.value, self.mass, len(self.domain))

    def sum_by_class(self, per_cell: Floats) -> Floats:
        """Sum an array over the cells of each class."""
        return cast("Floats", np.add.reduceat(per_cell, self.start[:-1]))

    def max_by_class(self, per_cell: Floats) -> Floats:
        """Return the largest entry among the cells of each class."""
        return cast("Floats", np.maximum.reduceat(per_cell, self.start[:-1]))

    def sum_of_largest(self, how_many: int) -> Floats:
        """Sum the mass of the `how_many` most common values of each class."""
        order = np.lexsort((-self.mass, self.class_index))
        rank = np.arange(len(order)) - self.start[:-1][self.class_index]
        return self.sum_by_class(np.where(rank < how_many, self.mass[order], 0.0))

    def of_class(self, index: int) -> dict[int, float]:
        """Return the cells of one class: value code to mass."""
        cell_slice = slice(self.start[index], self.start[index + 1])
        return dict(
            zip(self.value[cell_slice].tolist(), self.mass[cell_slice].tolist(), strict=True)
        )

    def recode(self, codes: Ints, domain: Domain) -> Cells:
        """Map the counts to another domain: codes[old] is the new code, -1 drops the value.

        Every class must keep a cell.
        """
        value = codes[self.value]
        classes = len(self.start) - 1
        is_kept = value >= 0
        return build_cells(
            domain, self.class_index[is_kept], value[is_kept], self.mass[is_kept], classes=classes
        )


NOT_PUBLISHED = "not published"
"""Label in a pinned column of people who are not in that release."""


@dataclass(frozen=True, eq=False)
class Contingency:
    """Contingency table: one entry per class, and the cells of each sensitive attribute."""

    keys: tuple[Domain, ...]
    codes: tuple[Ints, ...] = field(repr=False)
    """Code of each class, for each key column."""
    sizes: Ints = field(repr=False)
    """People (rows, unless a person column was given) in each class."""
    cells: Mapping[str, Cells]
    rows: int
    people: int
    population: Floats | None = field(default=None, repr=False)
    """People in the population of each class: from a population table, or sums of weights."""
    population_estimated: bool = False
    """True if they are sums of weights."""
    person_entropy: float | None = None
    """H(X) of the person if one person may own several rows; None if each row is a person."""
    person_share: float | None = None
    """Share of the person who is in most classes, if one person may own several rows."""
    unique_people: int | None = None
    """People who are alone in at least one class, if one person may own several rows."""
    notes: tuple[str, ...] = ()
    pinned: int = 0
    """Number of key columns at the end that only separate classes.

    They are never generalized and never published.
    """

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def own_keys(self) -> tuple[Domain, ...]:
        """Key columns that may be generalized and published."""
        return self.keys[: len(self.keys) - self.pinned]

    @property
    def own_codes(self) -> tuple[Ints, ...]:
        """Codes of the key columns that may be generalized and published."""
        return self.codes[: len(self.codes) - self.pinned]

    @cached_property
    def pins(self) -> tuple[Ints, int]:
        """Number of each class's values in the pinned columns, and the count of these numbers."""
        own_key_count = len(self.keys) - self.pinned
        ids, first = arrays.class_ids(
            self.codes[own_key_count:],
            [len(key) for key in self.keys[own_key_count:]],
            rows=len(self),
        )
        return ids, len(first)

    @cached_property
    def _is_in_prior_release(self) -> Bools:
        """Mask of the classes of people who are in an earlier release."""
        is_published = np.zeros(len(self), dtype=bool)
        own_key_count = len(self.keys) - self.pinned
        for key, codes in zip(self.keys[own_key_count:], self.codes[own_key_count:], strict=True):
            is_published |= np.array([label != NOT_PUBLISHED for label in key.labels])[codes]
        return is_published

    def left_behind(self, is_kept: Bools) -> Bools:
        """Mask of the classes that are disclosed if only the kept classes are published.

        An adversary with the prior releases subtracts all that is published now; the suppressed
        people remain. If all people whom the prior releases do not distinguish are suppressed,
        nothing is learned about them beyond the prior releases.
        """
        pin, pins = self.pins
        left_behind: Bools = (
            ~is_kept & self._is_in_prior_release & (arrays.sum_by_id(pin, is_kept, pins) > 0)[pin]
        )
        return left_behind

    def class_key(self, index: int) -> dict[str, Any]:
        """Return the quasi-identifier values of a class."""
        return {
            key.name: key.labels[codes[index]]
            for key, codes in zip(self.keys, self.codes, strict=True)
        }

    def key_column(self, position: int) -> pa.Array:
        """Return the value of one key column for every class."""
        return self.keys[position].values.take(pa.array(self.codes[position]))

    def roll_up(
        self,
        columns: Sequence[str] | None = None,
        *,
        coarser: Mapping[str, tuple[Ints, Domain]] | None = None,
    ) -> Contingency:
        """Merge classes, from the counts alone.

        Keep only some key columns, or map values to generalized ones (codes[old] = new).
        """
        if self.person_entropy is not None:
            raise BadInput(
                "counts of people who own several rows cannot be rolled up: a person may stand "
                "in two merging classes",
                hint="count again with the coarser columns",
            )
        coarser, names = coarser or {}, [key.name for key in self.keys]
        if columns is None:
            kept_names = names
        else:
            kept_names = list(columns)
        for name in [*kept_names, *coarser]:
            if name not in names:
                raise BadInput(
                    f"{name!r} is not among the counted columns", hint=nearest(name, names)
                )
        coded = {key.name: (key, codes) for key, codes in zip(self.keys, self.codes, strict=True)}
        coded |= {
            name: (domain, mapping[coded[name][1]]) for name, (mapping, domain) in coarser.items()
        }
        keys = [coded[name][0] for name in kept_names]
        codes = [coded[name][1] for name in kept_names]
        merged, first = arrays.class_ids(codes, [len(key) for key in keys], rows=len(self))
        count = len(first)
        return replace(
            self,
            keys=tuple(keys),
            codes=tuple(column[first] for column in codes),
            sizes=arrays.exact_sums(merged, self.sizes, count),
            cells={
                name: build_cells(
                    cells.domain, merged[cells.class_index], cells.value, cells.mass, classes=count
                )
                for name, cells in self.cells.items()
            },
            population=None
            if self.population is None
            else arrays.sum_by_id(merged, self.population, count),
            pinned=self.pinned if columns is None else 0,
        )


def build_cells(
    domain: Domain, class_index: Ints, value: Ints, mass: Floats, *, classes: int
) -> Cells:
    """Sort cells by class and value, and merge equal ones."""
    radix = max(len(domain), 1)
    key = class_index * radix + value
    order = np.argsort(key)
    key, mass = key[order], mass[order]
    key_starts = arrays.run_starts(key)
    if len(key_starts) < len(key):
        key, mass = key[key_starts], np.add.reduceat(mass, key_starts)
    starts = np.searchsorted(key, np.arange(classes + 1) * radix)
    return Cells(
        domain=domain, start=starts.astype(np.int64, copy=False), value=key % radix, mass=mass
    )
