# SPDX-License-Identifier: Apache-2.0
"""The promise of an anatomized release: (alpha, beta, gamma, delta), after Yao et al. 2021, Definitions 1 to 4.

In every group of n records: the commonest tuple of each table of quasi-identifiers makes up at most alpha of it (eq. 3), the commonest
sensitive value at most beta (eq. 5), the most frequent combination over all tables has a probability of at most gamma (eq. 7), and no
sensitive value's share differs from its share in the whole table by more than delta (eq. 8; values that are absent count as share 0).
Levels are exact fractions; a float decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.arrays import Bools, Codes, Ints
from divulge.errors import BadInput

Share = Fraction | str | float | int
_NAMES = ("alpha", "beta", "gamma", "delta")


@dataclass(frozen=True)
class Reached:
    """What a grouping, a group or a record reaches; lower is safer."""

    alpha: Fraction
    """Record linkage: how surely the quasi-identifiers of a record can be put together."""
    beta: Fraction
    """Attribute linkage: how surely a sensitive value can be inferred."""
    gamma: Fraction
    """Table linkage: how surely a record's presence can be inferred."""
    delta: Fraction
    """Probabilistic attack: how far the belief in a sensitive value moves."""

    def worst(self, other: Reached) -> Reached:
        """What two sets of groups reach together: the worse of them decides each level."""
        return Reached(*(max(one, two) for one, two in zip(astuple(self), astuple(other), strict=True)))

    def texts(self) -> dict[str, str]:
        """The levels as exact texts: {"alpha": "1/2", ...}."""
        return {name: str(getattr(self, name)) for name in _NAMES}


@dataclass(frozen=True, init=False)
class AlphaBetaGammaDelta(Reached):
    """Bounds on the four levels; a bound that is left out is 1 and demands nothing.

    >>> AlphaBetaGammaDelta(alpha="1/2", beta=0.05).beta
    Fraction(1, 20)
    """

    def __init__(self, *, alpha: Share = 1, beta: Share = 1, gamma: Share = 1, delta: Share = 1) -> None:
        for name, given in zip(_NAMES, (alpha, beta, gamma, delta), strict=True):
            object.__setattr__(self, name, as_share(name, given))

    def holds_for(self, levels: Reached) -> bool:
        """No level is above its bound."""
        return not self.broken_by(levels)

    def broken_by(self, levels: Reached) -> tuple[str, ...]:
        """The names of the bounds that are exceeded."""
        return tuple(name for name in _NAMES if getattr(levels, name) > getattr(self, name))

    @property
    def records_per_group(self) -> int | None:
        """The paper's N = max(ceil(1/beta), ceil(1/delta)); None where a bound of 0 leaves it undefined."""
        tightest = min(self.beta, self.delta)
        return math.ceil(1 / tightest) if tightest else None


def as_share(name: str, given: Share) -> Fraction:
    """An exact number from 0 to 1; a float means the decimal that it prints as, so that 0.05 is 1/20.

    >>> as_share("alpha", "1/4"), as_share("beta", 0.1)
    (Fraction(1, 4), Fraction(1, 10))
    """
    try:
        share = Fraction(repr(given)) if isinstance(given, float) else Fraction(given)
    except (ValueError, TypeError, ZeroDivisionError):
        share = None
    if share is None or isinstance(given, bool):
        raise BadInput(f"{name} = {given!r} is not a number", hint="Write it as 0.25 or 1/4")
    if not 0 <= share <= 1:
        raise BadInput(f"{name} = {given} is not from 0 to 1", hint="It is a probability: write it as 0.25 or 1/4")
    return share


# --- The four levels of every group, exactly, from counts (Yao et al. 2021, eqs. 1 to 8) ------------------------------
# All that matters of a group is its size and how often each tuple of each table occurs in it, so the same code measures our own
# groupings, a release that was read back and another's release. A bound p/q on a count in a group of n records means: the count is at
# most floor(n p/q), taken once per group size in whole numbers of any length. Several sensitive attributes: each by itself together
# with the tables of quasi-identifiers, and the worst decides.
_LARGEST = 2**62
_SMALLEST_GRID = 2**16
_PIECE = 2**20
"""Records whose groups are counted at a time."""


@dataclass(frozen=True, eq=False)
class GroupTally:
    """How often each tuple of one table occurs in each group, for tuples that occur; sorted by group, then tuple."""

    groups: int
    group: Ints = field(repr=False)
    value: Ints = field(repr=False)
    count: Ints = field(repr=False)

    def modal(self) -> Ints:
        """The count of the commonest tuple of each group; 0 for a group without records."""
        return self.largest(self.count)

    def largest(self, per_entry: Ints) -> Ints:
        """The largest entry of each group."""
        found = np.zeros(self.groups, dtype=np.int64)
        if len(self.group):
            begins = arrays.run_starts(self.group)
            found[self.group[begins]] = np.maximum.reduceat(per_entry, begins)
        return found


def tally(group: Codes, value: Codes, *, groups: int, values: int, count: Codes | None = None) -> GroupTally:
    """Count the tuples of each group; `count` says how many records a row stands for."""
    bits = max(values - 1, 0).bit_length()
    if groups << bits > max(len(group), _SMALLEST_GRID):
        return _counted(_sorted_keys(group, value, bits, count), bits, range(groups))
    grid = np.bincount(_keys(group, value, bits), count)
    found = np.flatnonzero(grid)
    return GroupTally(groups, found >> bits, found & ((1 << bits) - 1), grid[found].astype(np.int64, copy=False))


def tallies(
    group: Codes, value: Codes, *, groups: int, values: int, count: Codes | None = None
) -> Iterator[tuple[slice, GroupTally]]:
    """The same in pieces of whole groups, numbered from 0 in each, so that not all counts are held at a time."""
    if len(group) <= 2 * _PIECE:
        yield slice(groups), tally(group, value, groups=groups, values=values, count=count)
        return
    bits = max(values - 1, 0).bit_length()
    ordered = _sorted_keys(group, value, bits, count)
    key, below = ordered.key, bits + ordered.room
    begin = first = 0
    while first < groups:
        # Up to the group that the piece would cut, but no fewer than one.
        after = groups if begin + _PIECE >= len(key) else max(int(key[begin + _PIECE]) >> below, first + 1)
        end = int(np.searchsorted(key, after << below))
        yield slice(first, after), _counted(ordered.part(begin, end), bits, range(first, after))
        begin, first = end, after


def _keys(group: Codes, value: Codes, bits: int) -> Ints:
    """Group and value side by side in one number."""
    key = group.astype(np.int64)
    key <<= bits
    key |= value
    return key


@dataclass(frozen=True, eq=False)
class _SortedKeys:
    """Group and value side by side in one number, in order, and how often each occurs: in its last bits, beside it, or once."""

    key: Ints
    room: int = 0
    """How many bits of the number say how often."""
    times: Codes | None = None

    def part(self, begin: int, end: int) -> _SortedKeys:
        """Some of them."""
        return _SortedKeys(self.key[begin:end], self.room, None if self.times is None else self.times[begin:end])

    def apart(self) -> tuple[Ints, Codes | None]:
        """The keys, and how often each occurs."""
        return (self.key >> self.room, self.key & ((1 << self.room) - 1)) if self.room else (self.key, self.times)


def _sorted_keys(group: Codes, value: Codes, bits: int, count: Codes | None) -> _SortedKeys:
    key = _keys(group, value, bits)
    if count is None or not len(key):
        key.sort()
        return _SortedKeys(key, times=count)
    # Where there is room for it, the count goes along in the same number, for an order takes twice as long as a sort.
    room = max(int(count.max()).bit_length(), 1)
    if int(key.max()).bit_length() + room > _LARGEST.bit_length() - 1:
        order = np.argsort(key)
        return _SortedKeys(key[order], times=count[order])
    key <<= room
    key |= count
    key.sort()
    return _SortedKeys(key, room)


def _counted(ordered: _SortedKeys, bits: int, groups: range) -> GroupTally:
    """What sorted keys of these groups say."""
    key, times = ordered.apart()
    begins = arrays.run_starts(key)
    if times is None:
        counts = np.diff(begins, append=len(key))
    else:
        counts = np.add.reduceat(times, begins, dtype=np.int64) if len(key) else times
        begins, counts = begins[counts > 0], counts[counts > 0]
    found = key[begins]
    return GroupTally(len(groups), (found >> bits) - groups.start, found & ((1 << bits) - 1), counts)


@dataclass(frozen=True, eq=False)
class GroupLevels:
    """What each group shows: enough to state its four levels exactly."""

    rows: int
    """Records of the whole table, whose shares are the prior of delta."""
    sizes: Ints = field(repr=False)
    modal: tuple[Ints, ...] = field(repr=False)
    """For each table of quasi-identifiers, the count of the commonest tuple of each group."""
    sensitive: tuple[Ints, ...] = field(repr=False)
    """For each sensitive attribute, the count of the commonest value of each group."""
    shift: tuple[Ints, ...] = field(repr=False)
    """For each sensitive attribute, |c rows - h size| of the value whose share moved most: delta is shift / (rows size)."""

    def __len__(self) -> int:
        return len(self.sizes)

    def keeps(self, model: AlphaBetaGammaDelta) -> Bools:
        """Which groups keep all four bounds."""
        kept = self._largest(self.modal) <= floors(self.sizes, model.alpha)
        kept &= self._largest(self.sensitive) <= floors(self.sizes, model.beta)
        kept &= self._largest(self.shift) <= floors(self.sizes, model.delta * self.rows)
        return kept & self.keeps_gamma(model)

    def keeps_gamma(self, model: AlphaBetaGammaDelta) -> Bools:
        """Which groups keep gamma."""
        found = self.combinations()
        bound = floors(self.sizes, model.gamma, power=len(self.modal) + 1, long=found.dtype == object)
        kept: Bools = np.asarray(found <= bound, dtype=np.bool_)
        return kept

    def combinations(self) -> npt.NDArray[Any]:
        """The numerator of eq. 6 for each group; Python's whole numbers where 64 bits might not hold it."""
        factors = (self._largest(self.sensitive), *self.modal)
        largest = math.prod(int(counts.max(initial=1)) for counts in factors)
        product: npt.NDArray[Any] = factors[0] if largest < _LARGEST else factors[0].astype(object)
        for modal in self.modal:
            product = product * modal
        return product

    def summary(self, model: AlphaBetaGammaDelta) -> GroupSummary:
        """All groups in a few numbers."""
        sizes, breaking = self.sizes, int((~self.keeps(model)).sum())
        return GroupSummary(self.worst(), len(self), int(sizes.sum()), int(sizes.min()), int(sizes.max()), breaking)

    def of_group(self, group: int) -> Reached:
        """The exact levels of one group."""
        counted = (self.modal, self.sensitive, self.shift)
        modal, sensitive, shift = (tuple(counts[[group]] for counts in each) for each in counted)
        return GroupLevels(self.rows, self.sizes[[group]], modal, sensitive, shift).worst()

    def worst(self) -> Reached:
        """The exact levels of the whole release: the worst group decides each."""
        return Reached(
            alpha=_worst_share(self._largest(self.modal), self.sizes),
            beta=_worst_share(self._largest(self.sensitive), self.sizes),
            gamma=_worst_share(self.combinations(), self.sizes, power=len(self.modal) + 1),
            delta=_worst_share(self._largest(self.shift), self.sizes) / self.rows,
        )

    def _largest(self, columns: Sequence[Ints]) -> Ints:
        """For each group the largest of its counts; 0 where there are no columns."""
        largest: Ints = np.maximum.reduce([np.zeros_like(self.sizes), *columns])
        return largest


@dataclass(frozen=True)
class GroupSummary:
    """What the groups of a release, or some of them, are like."""

    levels: Reached
    groups: int
    records: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break the model."""

    def plus(self, other: GroupSummary) -> GroupSummary:
        """Both together: the worst group decides."""
        return GroupSummary(
            levels=self.levels.worst(other.levels),
            groups=self.groups + other.groups,
            records=self.records + other.records,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            breaking=self.breaking + other.breaking,
        )


def by_frequency(totals: Ints) -> tuple[Ints, Ints]:
    """The rank of each value, the commonest first, and the totals in that order."""
    order = np.argsort(-totals, kind="stable")
    return arrays.inverse(order), totals[order]


def largest_shift(ranked: GroupTally, sizes: Ints, totals: Ints, *, rows: int) -> Ints:
    """For each group the largest |c rows - h size| over all values, also over those that the group lacks."""
    present = ranked.largest(np.abs(ranked.count * rows - totals[ranked.value] * sizes[ranked.group]))
    largest: Ints = np.maximum(present, commonest_absent(ranked, totals) * sizes)
    return largest


def commonest_absent(ranked: GroupTally, totals: Ints) -> Ints:
    """For each group the total of the commonest value that it lacks; 0 where it lacks none.

    Values are ranked by frequency, so that value is the first rank missing in the group: ranks of a group ascend strictly, and an entry
    stands at its own rank exactly as long as none before it is missing.
    """
    entries = np.bincount(ranked.group, minlength=ranked.groups)
    begins = np.cumsum(entries) - entries
    in_place = ranked.value == np.arange(len(ranked.value)) - begins[ranked.group]
    first_missing = np.bincount(ranked.group[in_place], minlength=ranked.groups)
    absent: Ints = np.append(totals, 0)[first_missing]
    return absent


def floors(sizes: Ints, share: Fraction, *, power: int = 1, long: bool = False) -> npt.NDArray[Any]:
    """floor(share size^power) for each group, worked out once per size; cut at 2^62 unless the counts may be longer."""
    number, groups = arrays.renumber(sizes, int(sizes.max(initial=0)) + 1)
    distinct = np.zeros(groups, dtype=np.int64)
    distinct[number] = sizes
    allowed = [math.floor(share * size**power) for size in distinct.tolist()]
    if long:
        return np.array(allowed, dtype=object)[number]
    return np.array([min(limit, _LARGEST) for limit in allowed], dtype=np.int64)[number]


def _worst_share(numerators: npt.NDArray[Any], sizes: Ints, *, power: int = 1) -> Fraction:
    """The largest numerator / size^power: the largest numerator of each size, then exact fractions."""
    order = arrays.stable_order(sizes, int(sizes.max()) + 1)
    ordered = sizes[order]
    begins = arrays.run_starts(ordered)
    largest = np.maximum.reduceat(numerators[order], begins)
    pairs = zip(largest.tolist(), ordered[begins].tolist(), strict=True)
    return max(Fraction(int(numerator), size**power) for numerator, size in pairs)
