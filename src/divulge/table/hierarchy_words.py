# SPDX-License-Identifier: Apache-2.0
"""Levels of a column of texts: prefixes of codes, groups of an ordered scale, frequent values and the rest.

`47677` becomes `4767*`, then `476**`; the stars tell how many characters are hidden. A group of neighbours on a scale is written
`[low, high]` with both ends in it, as ARX writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from divulge.errors import BadInput
from divulge.table.hierarchy import SUPPRESSED


@dataclass(frozen=True)
class Prefix:
    """How many characters of a code are kept on each level; the others become stars."""

    kept: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.kept or min(self.kept) < 0:
            raise BadInput(
                f"prefix = {list(self.kept)} does not say how many characters to keep", hint="Such as [4, 3, 2]"
            )
        for longer, shorter in pairwise(self.kept):
            if shorter >= longer:
                raise BadInput(
                    f"a prefix of {shorter} is not shorter than one of {longer}", hint="Give them descending: [4, 3, 2]"
                )

    @property
    def levels(self) -> int:
        """One for each length."""
        return len(self.kept)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The code with its end hidden, on each level."""
        return tuple(_masked(text, kept) for kept in self.kept)


def _masked(text: str, kept: int) -> str:
    return text[:kept] + SUPPRESSED * (len(text) - kept) if kept else SUPPRESSED


@dataclass(frozen=True)
class Scale:
    """Values in an order, grouped with their neighbours; a group on a level has so many members."""

    order: tuple[str, ...]
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        repeated = [value for value, times in Counter(self.order).items() if times > 1]
        if repeated:
            raise BadInput(f"the order has {', '.join(map(repr, repeated))} twice")
        if not self.order:
            raise BadInput(
                "order = [] names no value", hint='Name all values from low to high, such as ["A", "B", "C", "D"]'
            )
        if not self.groups or min(self.groups) < 2:
            raise BadInput(
                f"groups = {list(self.groups)} does not say how many neighbours to join", hint="Such as 2, or [2, 4]"
            )
        for small, large in pairwise(self.groups):
            if large % small or large == small:
                raise BadInput(
                    f"groups of {large} cannot be made of groups of {small}",
                    hint="Each number must be a multiple of the one before, such as [2, 4]",
                )

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {value: place for place, value in enumerate(self.order)}

    @property
    def levels(self) -> int:
        """One for each size of group."""
        return len(self.groups)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The group of the value, on each level."""
        place = self._place.get(text)
        return None if place is None else tuple(self._group(place, size) for size in self.groups)

    def _group(self, place: int, size: int) -> str:
        members = self.order[place // size * size :][:size]
        return f"[{members[0]}, {members[-1]}]" if len(members) > 1 else members[0]


@dataclass(frozen=True)
class Frequent:
    """The values that keep their name on each level; all others share one label."""

    kept: tuple[tuple[str, ...], ...]
    rest: str = "(other)"

    def __post_init__(self) -> None:
        if not self.kept or not all(self.kept):
            raise BadInput("keep = [] names no value", hint='Name the values that keep their name, such as ["Private"]')
        for fine, coarse in pairwise(self.kept):
            added = [value for value in coarse if value not in fine]
            if added or len(coarse) == len(fine):
                raise BadInput(
                    f"the coarser level of keep must leave values out and add none; it has {', '.join(coarse)}",
                    hint=f"The finer one has {', '.join(fine)}",
                )
        if any(self.rest in kept for kept in self.kept):
            raise BadInput(
                f"{self.rest!r} is both a value that keeps its name and the label of the rest", hint="Rename the rest"
            )

    @property
    def levels(self) -> int:
        """One for each list of values."""
        return len(self.kept)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The value or the label of the rest, on each level."""
        return tuple(text if text in kept else self.rest for kept in self._sets)

    @cached_property
    def _sets(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.kept))
