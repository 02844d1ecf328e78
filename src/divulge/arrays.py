# SPDX-License-Identifier: Apache-2.0
"""Array helpers: distinct rows and their numbers, sums by id, members of each id.

Counting, searching and anatomizing work on rows, classes and groups, and all of them use these
helpers. Counters in an array replace sorting if the numbers are small enough. A key never
represents two different rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]
"""Whole numbers from 0, of any width."""
_LARGEST_KEY = 2**62
_MIN_SLOTS = 2**16
"""Number of counters that is always worth its memory; a larger table has four for each entry."""
_MARKS_PER_ENTRY = 32
_MAX_MARKS = 2**22
"""Number of marks for each entry that still cost less than sorting, and an absolute limit.

Most marks are never looked at again.
"""
_ROUNDING_ERROR = 1e-12
"""Rounding error of differences of entropies that are 0.

A table of one class discloses 0 bits, not -2e-16.
"""


def combined_key(codes: Sequence[Codes], radices: Sequence[int], *, rows: int) -> Ints:
    """Combine code columns into one integer per row that has the same order.

    Keys are renumbered on the way if the product of the radices does not fit.
    """
    key = np.zeros(rows, dtype=np.int64)
    span = 1
    for column, radix in zip(codes, radices, strict=True):
        if span * radix > _LARGEST_KEY:
            distinct_keys, key = np.unique(key, return_inverse=True)
            span = len(distinct_keys)
        key *= radix  # in place: large tables of codes need no memory in addition to the key
        key += column
        span *= max(radix, 1)
    return key


def class_ids(codes: Sequence[Codes], radices: Sequence[int], *, rows: int) -> tuple[Ints, Ints]:
    """Number the distinct rows of several code columns in ascending order.

    Returns:
        The number of each row, and one row of each number.
    """
    return _number_sorted(combined_key(codes, radices, rows=rows))


def _number_sorted(key: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(key)  # np.unique would sort stably, which takes twice as long
    ordered = key[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    ids = np.empty(len(key), dtype=np.int64)
    ids[order] = np.cumsum(begins) - 1
    return ids, order[begins]


def slots(entries: int) -> int:
    """Largest table of counters that is worth its memory for a number of entries."""
    return _MIN_SLOTS + 4 * entries


def renumber(key: Ints, span: int) -> tuple[Ints, int]:
    """Return dense numbers in the order of keys below `span`, and the number of distinct keys.

    >>> renumber(np.array([7, 3, 7]), 8)
    (array([1, 0, 1]), 2)
    """
    if span <= max(slots(len(key)), min(_MARKS_PER_ENTRY * len(key), _MAX_MARKS)):
        occurs = np.zeros(span, dtype=bool)
        occurs[key] = True
        present = np.flatnonzero(occurs)
        numbers = np.empty(span, dtype=np.int64)  # pages that are never written take no memory
        numbers[present] = np.arange(len(present))
        return numbers[key], len(present)
    numbers, first = _number_sorted(key)
    return numbers, len(first)


def run_starts(ordered: npt.NDArray[Any]) -> Ints:
    """Return the index at which each run of equal entries begins.

    >>> run_starts(np.array([4, 4, 6, 9, 9])).tolist()
    [0, 2, 3]
    """
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.concatenate([np.zeros(min(len(ordered), 1), dtype=np.int64), changes])


def ranks(order: npt.ArrayLike) -> Ints:
    """Return the rank of each entry; equal entries keep their order.

    >>> ranks([30, 10, 20]).tolist()
    [2, 0, 1]
    """
    return inverse(np.argsort(order, kind="stable"))


def inverse(permutation: Ints) -> Ints:
    """Return the inverse of a permutation: the position of each number in it."""
    places = np.empty(len(permutation), dtype=np.int64)
    places[permutation] = np.arange(len(permutation))
    return places


def sum_by_id(ids: Codes, numbers: npt.NDArray[Any], count: int = 0) -> Floats:
    """Sum the numbers of each id; `count` is the least number of ids."""
    sums: Floats = np.bincount(ids, weights=numbers, minlength=count).astype(np.float64, copy=False)
    return sums


def exact_sums(ids: Codes, numbers: Ints, count: int) -> Ints:
    """Sum the whole numbers of each id exactly; bincount would convert them to floats."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, ids, numbers)
    return sums


def dot(left: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Compute a dot product that is the same on every machine.

    BLAS splits the sum by the number of cores, and waits 10 ms for each busy core.
    """
    return float((left * other).sum())


def how_many_alike(ids: Codes) -> Ints:
    """Return, for each entry, the number of entries with its id."""
    return np.bincount(ids)[ids]


@dataclass(frozen=True, eq=False)
class Members:
    """Things grouped by id: those of id g are members[start[g] : start[g + 1]]."""

    members: Ints = field(repr=False)
    start: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sizes(self) -> Ints:
        """Number of members of each id."""
        return np.diff(self.start)

    @cached_property
    def numbers(self) -> Ints:
        """The id of each member."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def gather(self, ids: Ints) -> tuple[Ints, Ints]:
        """Concatenate the members of some ids.

        Returns:
            The members, and for each of them the position of its id in `ids`.
        """
        begins = self.start[ids]
        lengths = self.start[ids + 1] - self.start[ids]
        return self.members[ranges(begins, lengths)], np.repeat(np.arange(len(ids)), lengths)

    def select(self, chosen: Bools) -> tuple[Members, Ints]:
        """Keep only some ids, renumbered.

        Returns:
            The remaining members, and their positions among all members.
        """
        where = np.flatnonzero(chosen[self.numbers])
        return Members(
            self.members[where], np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        ), where

    def least(self, per_thing: Ints) -> Ints:
        """Return the smallest entry among the members of each id; each id needs a member."""
        least: Ints = np.minimum.reduceat(per_thing[self.members], self.start[:-1])
        return least

    def greatest(self, per_thing: Ints) -> Ints:
        """Return the largest entry among the members of each id; each id needs a member."""
        greatest: Ints = np.maximum.reduceat(per_thing[self.members], self.start[:-1])
        return greatest


def lay_out(ids: Codes, count: int, items: Ints | None = None) -> Members:
    """Group things by their ids, which lie below `count`.

    The things are `items`, or numbered from 0 if `items` is None.
    """
    start = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))])
    order = stable_order(ids, count)
    return Members(order if items is None else items[order], start.astype(np.int64))


def stable_order(ids: Codes, count: int) -> Ints:
    """Return the order that sorts ids below `count`; equal ids keep their order.

    This is much faster than a stable argsort of many ids.
    """
    if count <= 2**15:
        return np.argsort(ids.astype(np.int16), kind="stable")  # 16 bits are sorted by radix
    bits = max(len(ids) - 1, 0).bit_length()
    key = ids.astype(np.int64)
    key <<= bits
    key |= np.arange(len(ids))
    key.sort()
    key &= (1 << bits) - 1
    return key


def ranges(begins: Ints, lengths: Ints) -> Ints:
    """Concatenate ranges: lengths[0] numbers from begins[0], then lengths[1] from begins[1], ...

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    if len(ends):
        total = int(ends[-1])
    else:
        total = 0
    positions: Ints = np.arange(total) + np.repeat(begins - (ends - lengths), lengths)
    return positions


def without_residue(bits: Floats) -> Floats:
    """Set numbers to 0 whose absolute value is only rounding error."""
    return np.where(np.abs(bits) < _ROUNDING_ERROR, 0.0, bits)


def never_negative(bits: float) -> float:
    """Set a number to 0 if it is negative or only rounding error."""
    if bits >= _ROUNDING_ERROR:
        return bits
    return 0.0


# --- pandas ---------------------------------------------------------------------------------------
class _PandasBlocker:
    """Module finder that reports pandas as missing."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def leave_pandas_out() -> None:
    """Make pyarrow believe that pandas is not installed until pandas is needed.

    If pandas is installed, pyarrow imports it with its first array. That takes 0.3 s and no command
    needs it. After this call pyarrow looks for pandas again only when it converts to or from
    pandas, as linkage and Spark do.
    """
    import pyarrow as pa

    sys.meta_path.insert(0, _PandasBlocker)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_PandasBlocker)
