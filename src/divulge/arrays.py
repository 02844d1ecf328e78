# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers by number: distinct rows and what they are numbered by, sums by id, the members of each id.

Counting, searching and anatomizing speak of rows, classes and groups; underneath, each of them asks these few questions. Where the numbers
are small enough, counters in an array answer without sorting; a key never stands for two different rows.
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
_ROOM = 2**16
"""A table of this many counters is always worth its memory; beyond it, four for each entry."""
_MARKS, _MOST_MARKS = 32, 2**22
"""So many marks for each entry, most of them never looked at again, still cost less than sorting; but never so much memory."""
_RESIDUE = 1e-12
"""Differences of entropies come out this far from 0 where they are 0: a table of one class tells nothing, not -2e-16 bits."""


def combined_key(codes: Sequence[Codes], radices: Sequence[int], *, rows: int) -> Ints:
    """One integer per row that orders as the code columns do; renumbered on the way where the product of sizes would not fit."""
    key = np.zeros(rows, dtype=np.int64)
    span = 1
    for column, radix in zip(codes, radices, strict=True):
        if span * radix > _LARGEST_KEY:
            seen, key = np.unique(key, return_inverse=True)
            span = len(seen)
        key *= radix  # in place: large tables of codes need no room beside the key
        key += column
        span *= max(radix, 1)
    return key


def class_ids(codes: Sequence[Codes], radices: Sequence[int], *, rows: int) -> tuple[Ints, Ints]:
    """Number the distinct rows of several code columns in ascending order; also one row of each number."""
    return _number_sorted(combined_key(codes, radices, rows=rows))


def _number_sorted(key: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(key)  # np.unique would sort stably, which takes twice as long
    ordered = key[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    ids = np.empty(len(key), dtype=np.int64)
    ids[order] = np.cumsum(begins) - 1
    return ids, order[begins]


def slots(entries: int) -> int:
    """How large a table of counters may be for so many entries."""
    return _ROOM + 4 * entries


def renumber(key: Ints, span: int) -> tuple[Ints, int]:
    """Dense numbers in the order of the keys, which lie below `span`, and how many there are.

    >>> renumber(np.array([7, 3, 7]), 8)
    (array([1, 0, 1]), 2)
    """
    if span <= max(slots(len(key)), min(_MARKS * len(key), _MOST_MARKS)):
        occurs = np.zeros(span, dtype=bool)
        occurs[key] = True
        present = np.flatnonzero(occurs)
        numbers = np.empty(span, dtype=np.int64)  # memory is taken for what occurs only
        numbers[present] = np.arange(len(present))
        return numbers[key], len(present)
    numbers, first = _number_sorted(key)
    return numbers, len(first)


def run_starts(ordered: npt.NDArray[Any]) -> Ints:
    """Where each run of equal entries begins.

    >>> run_starts(np.array([4, 4, 6, 9, 9])).tolist()
    [0, 2, 3]
    """
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.concatenate([np.zeros(min(len(ordered), 1), dtype=np.int64), changes])


def ranks(order: npt.ArrayLike) -> Ints:
    """The place of each entry when they are sorted; equal ones keep their order.

    >>> ranks([30, 10, 20]).tolist()
    [2, 0, 1]
    """
    return inverse(np.argsort(order, kind="stable"))


def inverse(permutation: Ints) -> Ints:
    """Where each number stands in a permutation."""
    places = np.empty(len(permutation), dtype=np.int64)
    places[permutation] = np.arange(len(permutation))
    return places


def sum_by_id(ids: Codes, numbers: npt.NDArray[Any], count: int = 0) -> Floats:
    """The sum of the numbers of each id; `count` is how many ids there are at least."""
    sums: Floats = np.bincount(ids, weights=numbers, minlength=count).astype(np.float64, copy=False)
    return sums


def exact_sums(ids: Codes, numbers: Ints, count: int) -> Ints:
    """The same in whole numbers; bincount would go through floats."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, ids, numbers)
    return sums


def dot(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """The sum of products, the same on every machine: BLAS cuts it by the number of cores, and waits 10 ms for each that is busy."""
    return float((one * other).sum())


def how_many_alike(ids: Codes) -> Ints:
    """For each entry, how many have its id."""
    return np.bincount(ids)[ids]


@dataclass(frozen=True, eq=False)
class Members:
    """Things laid out by their id: those of id g are members[start[g]] up to members[start[g + 1]]."""

    members: Ints = field(repr=False)
    start: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sizes(self) -> Ints:
        """How many members each id has."""
        return np.diff(self.start)

    @cached_property
    def numbers(self) -> Ints:
        """The id of each member."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def gather(self, ids: Ints) -> tuple[Ints, Ints]:
        """The members of some ids, one after the other, and for each member the place of its id in `ids`."""
        begins, lengths = self.start[ids], self.start[ids + 1] - self.start[ids]
        return self.members[ranges(begins, lengths)], np.repeat(np.arange(len(ids)), lengths)

    def select(self, chosen: Bools) -> tuple[Members, Ints]:
        """Only some ids, renumbered, and where their members stand among all."""
        where = np.flatnonzero(chosen[self.numbers])
        return Members(self.members[where], np.concatenate([[0], np.cumsum(self.sizes[chosen])])), where

    def least(self, per_thing: Ints) -> Ints:
        """The smallest entry among the members of each id; none may be without members."""
        least: Ints = np.minimum.reduceat(per_thing[self.members], self.start[:-1])
        return least

    def greatest(self, per_thing: Ints) -> Ints:
        """The largest entry among the members of each id; none may be without members."""
        greatest: Ints = np.maximum.reduceat(per_thing[self.members], self.start[:-1])
        return greatest


def lay_out(ids: Codes, count: int, things: Ints | None = None) -> Members:
    """Lay out things by their ids, which lie below `count`; the things are numbered from 0 unless they are given."""
    start = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))])
    order = stable_order(ids, count)
    return Members(order if things is None else things[order], start.astype(np.int64))


def stable_order(ids: Codes, count: int) -> Ints:
    """The order that sorts ids below `count` and leaves equals as they are; much faster than a stable argsort of many ids."""
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
    """begins[0], begins[0] + 1, ... (lengths[0] numbers), then begins[1], ...

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    found: Ints = np.arange(total) + np.repeat(begins - (ends - lengths), lengths)
    return found


def without_residue(bits: Floats) -> Floats:
    """The same numbers, with 0 for what rounding left over."""
    return np.where(np.abs(bits) < _RESIDUE, 0.0, bits)


def never_negative(bits: float) -> float:
    """A number that cannot be below 0 but for rounding; its residue is 0 too."""
    return bits if bits >= _RESIDUE else 0.0


# --- pandas -----------------------------------------------------------------------------------------------------------
class _WithoutPandas:
    """A finder of modules that finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def leave_pandas_out() -> None:
    """Where pandas is installed, pyarrow loads it at its first array, to ask whether that is one of pandas': 0.3 s that no command needs.

    Told once that there is none, it looks again when it is asked to convert to or from pandas, so that linkage and Spark get theirs.
    """
    import pyarrow as pa

    sys.meta_path.insert(0, _WithoutPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_WithoutPandas)
