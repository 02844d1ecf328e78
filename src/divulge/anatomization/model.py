# SPDX-License-Identifier: Apache-2.0
"""The privacy model of an anatomized release: (alpha, beta, gamma, delta), after Yao et al. 2021.

Definitions 1 to 4 require in every group of n records:

- alpha: the most common tuple of each table of quasi-identifiers has at most this share (eq. 3);
- beta: the most common sensitive value has at most this share (eq. 5);
- gamma: the most frequent combination over all tables has at most this probability (eq. 7);
- delta: no sensitive value's share differs from its share in the whole table by more (eq. 8;
  values that are absent count as share 0).

Levels are exact fractions; no decision depends on a float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.arguments import quoted
from divulge.arrays import Bools, Codes, Ints
from divulge.errors import BadInput

Share = Fraction | str | float | int
_NAMES = ("alpha", "beta", "gamma", "delta")


@dataclass(frozen=True)
class Reached:
    """Levels that a grouping, a group or a record reaches; lower is safer."""

    alpha: Fraction
    """Record linkage: probability of linking the quasi-identifiers of a record across tables."""
    beta: Fraction
    """Attribute linkage: probability of inferring a sensitive value."""
    gamma: Fraction
    """Table linkage: probability of inferring a record's presence."""
    delta: Fraction
    """Probabilistic attack: difference of the posterior and the prior of a sensitive value."""

    def worst(self, other: Reached) -> Reached:
        """Return the levels of two sets of groups together: for each level, the worse of both."""
        return Reached(
            *(max(first, two) for first, two in zip(astuple(self), astuple(other), strict=True))
        )

    def texts(self) -> dict[str, str]:
        """Return the levels as exact texts: {"alpha": "1/2", ...}."""
        return {name: str(getattr(self, name)) for name in _NAMES}


@dataclass(frozen=True, init=False)
class AlphaBetaGammaDelta(Reached):
    """Bounds on the four levels; a bound that is left out is 1 and requires nothing.

    >>> AlphaBetaGammaDelta(alpha="1/2", beta=0.05).beta
    Fraction(1, 20)
    """

    def __init__(
        self, *, alpha: Share = 1, beta: Share = 1, gamma: Share = 1, delta: Share = 1
    ) -> None:
        for name, share in zip(_NAMES, (alpha, beta, gamma, delta), strict=True):
            object.__setattr__(self, name, as_share(name, share))

    def allows(self, levels: Reached) -> bool:
        """True if no level is above its bound."""
        return not self.broken_by(levels)

    def broken_by(self, levels: Reached) -> tuple[str, ...]:
        """Names of the bounds that are exceeded."""
        return tuple(name for name in _NAMES if getattr(levels, name) > getattr(self, name))

    @property
    def records_per_group(self) -> int | None:
        """The paper's N = max(ceil(1/beta), ceil(1/delta)); None if a bound is 0."""
        tightest = min(self.beta, self.delta)
        if tightest:
            return math.ceil(1 / tightest)
        return None


def as_share(name: str, value: Share) -> Fraction:
    """Convert to an exact number from 0 to 1; raise BadInput for anything else.

    A float means the decimal that it prints as, so that 0.05 is 1/20.

    >>> as_share("alpha", "1/4"), as_share("beta", 0.1)
    (Fraction(1, 4), Fraction(1, 10))
    """
    try:
        if isinstance(value, float):
            share = Fraction(repr(value))
        else:
            share = Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        share = None
    if share is None or isinstance(value, bool):
        raise BadInput(f"{name} = {value!r} is not a number", hint="Write it as 0.25 or 1/4")
    if not 0 <= share <= 1:
        raise BadInput(
            f"{name} = {quoted(value)} is not from 0 to 1",
            hint="It is a probability: write it as 0.25 or 1/4",
        )
    return share


def reject_vacuous_bounds(bounds: Mapping[str, Share]) -> None:
    """Raise an error for a bound of 1, which no release can violate."""
    for name, bound in bounds.items():
        if as_share(name, bound) == 1:
            raise BadInput(
                f"{name} <= {bound} requires nothing: no release can violate it",
                hint=f"Require less than 1, or remove {name}",
            )


# --- The four levels of every group, exactly, from counts (Yao et al. 2021, eqs. 1 to 8) ----------
# The levels of a group depend only on its size and on the counts of each tuple of each table in it.
# So the same code measures our own groupings, a release that was read back and a third-party
# release. A bound p/q on a count in a group of n records means: the count is at most floor(n p/q).
# This limit is computed once per group size, in integers of any length. With several sensitive
# attributes, each is combined with the tables of quasi-identifiers by itself, and the worst one
# decides.
_LARGEST = 2**62
_SMALLEST_GRID = 2**16
_PIECE = 2**20
"""Number of records whose groups are counted at a time."""


@dataclass(frozen=True, eq=False)
class GroupTally:
    """Counts of each tuple of one table in each group, for tuples that occur.

    Sorted by group, then tuple.
    """

    groups: int
    group: Ints = field(repr=False)
    value: Ints = field(repr=False)
    count: Ints = field(repr=False)

    def modal(self) -> Ints:
        """Count of the most common tuple of each group; 0 for a group without records."""
        return self.largest(self.count)

    def largest(self, per_entry: Ints) -> Ints:
        """Largest entry of each group."""
        maxima = np.zeros(self.groups, dtype=np.int64)
        if len(self.group):
            group_starts = arrays.run_starts(self.group)
            maxima[self.group[group_starts]] = np.maximum.reduceat(per_entry, group_starts)
        return maxima


def tally(
    group: Codes, value: Codes, *, groups: int, values: int, count: Codes | None = None
) -> GroupTally:
    """Count the tuples of each group; `count` is the number of records that each row represents."""
    bits = max(values - 1, 0).bit_length()
    if groups << bits > max(len(group), _SMALLEST_GRID):
        return _tally_sorted_keys(_sorted_keys(group, value, bits, count), bits, range(groups))
    grid = np.bincount(_keys(group, value, bits), count)
    tuple_keys = np.flatnonzero(grid)
    return GroupTally(
        groups,
        tuple_keys >> bits,
        tuple_keys & ((1 << bits) - 1),
        grid[tuple_keys].astype(np.int64, copy=False),
    )


def tally_in_pieces(
    group: Codes, value: Codes, *, groups: int, values: int, count: Codes | None = None
) -> Iterator[tuple[slice, GroupTally]]:
    """Yield the tally of `tally` in pieces of whole groups, to limit memory.

    Each piece comes with its slice of the groups, which it numbers from 0.
    """
    if len(group) <= 2 * _PIECE:
        yield slice(groups), tally(group, value, groups=groups, values=values, count=count)
        return
    bits = max(values - 1, 0).bit_length()
    ordered = _sorted_keys(group, value, bits, count)
    key = ordered.key
    below = bits + ordered.count_bits
    begin = first = 0
    while first < groups:
        # Ends before the group that would be split, but has at least one group.
        if begin + _PIECE >= len(key):
            after = groups
        else:
            after = max(int(key[begin + _PIECE]) >> below, first + 1)
        end = int(np.searchsorted(key, after << below))
        yield (
            slice(first, after),
            _tally_sorted_keys(ordered.between(begin, end), bits, range(first, after)),
        )
        begin = end
        first = after


def _keys(group: Codes, value: Codes, bits: int) -> Ints:
    """Combine group and value into one integer key."""
    key = group.astype(np.int64)
    key <<= bits
    key |= value
    return key


@dataclass(frozen=True, eq=False)
class _SortedKeys:
    """Sorted keys, each of a group and a value, and the number of occurrences of each key.

    The number of occurrences is in the low bits of the key, in `times`, or 1.
    """

    key: Ints
    count_bits: int = 0
    """Number of low bits that hold the number of occurrences."""
    times: Codes | None = None

    def between(self, begin: int, end: int) -> _SortedKeys:
        """Return a slice of the keys."""
        return _SortedKeys(
            self.key[begin:end],
            self.count_bits,
            None if self.times is None else self.times[begin:end],
        )

    def split(self) -> tuple[Ints, Codes | None]:
        """Split into the keys and the number of occurrences of each."""
        if self.count_bits:
            return (self.key >> self.count_bits, self.key & ((1 << self.count_bits) - 1))
        return (self.key, self.times)


def _sorted_keys(group: Codes, value: Codes, bits: int, count: Codes | None) -> _SortedKeys:
    key = _keys(group, value, bits)
    if count is None or not len(key):
        key.sort()
        return _SortedKeys(key, times=count)
    # If the count fits into the same integer, it goes along with the key, because an argsort takes
    # twice as long as a sort.
    count_bits = max(int(count.max()).bit_length(), 1)
    if int(key.max()).bit_length() + count_bits > _LARGEST.bit_length() - 1:
        order = np.argsort(key)
        return _SortedKeys(key[order], times=count[order])
    key <<= count_bits
    key |= count
    key.sort()
    return _SortedKeys(key, count_bits)


def _tally_sorted_keys(ordered: _SortedKeys, bits: int, groups: range) -> GroupTally:
    """Tally of these groups from their sorted keys."""
    key, times = ordered.split()
    key_starts = arrays.run_starts(key)
    if times is None:
        counts = np.diff(key_starts, append=len(key))
    else:
        if len(key):
            counts = np.add.reduceat(times, key_starts, dtype=np.int64)
        else:
            counts = times
        key_starts, counts = key_starts[counts > 0], counts[counts > 0]
    tuple_keys = key[key_starts]
    return GroupTally(
        len(groups), (tuple_keys >> bits) - groups.start, tuple_keys & ((1 << bits) - 1), counts
    )


@dataclass(frozen=True, eq=False)
class GroupLevels:
    """Counts of each group from which its four levels follow exactly."""

    rows: int
    """Number of records of the whole table, whose shares are the prior of delta."""
    sizes: Ints = field(repr=False)
    modal: tuple[Ints, ...] = field(repr=False)
    """For each table of quasi-identifiers, the count of the most common tuple of each group."""
    sensitive: tuple[Ints, ...] = field(repr=False)
    """For each sensitive attribute, the count of the most common value of each group."""
    shift: tuple[Ints, ...] = field(repr=False)
    """For each sensitive attribute, the largest |c rows - h size| over its values.

    c is the value's count in the group and h its count in the table; delta is shift / (rows size).
    """

    def __len__(self) -> int:
        return len(self.sizes)

    def satisfies(self, model: AlphaBetaGammaDelta) -> Bools:
        """For each group, True if it satisfies all four bounds."""
        satisfies_bounds = self._largest_count(self.modal) <= count_limits(self.sizes, model.alpha)
        satisfies_bounds &= self._largest_count(self.sensitive) <= count_limits(
            self.sizes, model.beta
        )
        satisfies_bounds &= self._largest_count(self.shift) <= count_limits(
            self.sizes, model.delta * self.rows
        )
        return satisfies_bounds & self.satisfies_gamma(model)

    def satisfies_gamma(self, model: AlphaBetaGammaDelta) -> Bools:
        """For each group, True if it satisfies gamma."""
        combination_counts = self.combinations()
        bound = count_limits(
            self.sizes,
            model.gamma,
            power=len(self.modal) + 1,
            long=combination_counts.dtype == object,
        )
        satisfies_bound: Bools = np.asarray(combination_counts <= bound, dtype=np.bool_)
        return satisfies_bound

    def combinations(self) -> npt.NDArray[Any]:
        """Numerator of eq. 6 for each group, as Python integers if 64 bits might overflow."""
        factors = (self._largest_count(self.sensitive), *self.modal)
        largest = math.prod(int(counts.max(initial=1)) for counts in factors)
        if largest < _LARGEST:
            product: npt.NDArray[Any] = factors[0]
        else:
            product = factors[0].astype(object)
        for modal in self.modal:
            product = product * modal
        return product

    def summary(self, model: AlphaBetaGammaDelta) -> GroupSummary:
        """Summarize all groups."""
        sizes = self.sizes
        breaking = int((~self.satisfies(model)).sum())
        return GroupSummary(
            self.worst(), len(self), int(sizes.sum()), int(sizes.min()), int(sizes.max()), breaking
        )

    def of_group(self, group: int) -> Reached:
        """Exact levels of one group."""
        level_arrays = (self.modal, self.sensitive, self.shift)
        modal, sensitive, shift = (
            tuple(counts[[group]] for counts in table_arrays) for table_arrays in level_arrays
        )
        return GroupLevels(self.rows, self.sizes[[group]], modal, sensitive, shift).worst()

    def worst(self) -> Reached:
        """Exact levels of the whole release: the worst group decides each level."""
        return Reached(
            alpha=_worst_share(self._largest_count(self.modal), self.sizes),
            beta=_worst_share(self._largest_count(self.sensitive), self.sizes),
            gamma=_worst_share(self.combinations(), self.sizes, power=len(self.modal) + 1),
            delta=_worst_share(self._largest_count(self.shift), self.sizes) / self.rows,
        )

    def _largest_count(self, columns: Sequence[Ints]) -> Ints:
        """Largest count of each group over the columns; 0 if there are no columns."""
        largest: Ints = np.maximum.reduce([np.zeros_like(self.sizes), *columns])
        return largest


@dataclass(frozen=True)
class GroupSummary:
    """Summary of the groups of a release, or of some of them."""

    levels: Reached
    groups: int
    records: int
    smallest: int
    largest: int
    breaking: int
    """Number of groups that violate the model."""

    def plus(self, other: GroupSummary) -> GroupSummary:
        """Return the summary of both together: the worst group decides."""
        return GroupSummary(
            levels=self.levels.worst(other.levels),
            groups=self.groups + other.groups,
            records=self.records + other.records,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            breaking=self.breaking + other.breaking,
        )


def rank_by_frequency(totals: Ints) -> tuple[Ints, Ints]:
    """Rank of each value, the most common first, and the totals in that order."""
    order = np.argsort(-totals, kind="stable")
    return arrays.inverse(order), totals[order]


def largest_shift(ranked: GroupTally, sizes: Ints, totals: Ints, *, rows: int) -> Ints:
    """For each group, the largest |c rows - h size| over all values, including absent ones."""
    present = ranked.largest(
        np.abs(ranked.count * rows - totals[ranked.value] * sizes[ranked.group])
    )
    largest: Ints = np.maximum(present, most_common_absent_total(ranked, totals) * sizes)
    return largest


def most_common_absent_total(ranked: GroupTally, totals: Ints) -> Ints:
    """For each group, the total of the most common value that it lacks; 0 if it lacks none.

    Values are ranked by frequency, so that value is the first rank missing in the group. The ranks
    of a group ascend strictly. So the index of an entry in its group equals its rank exactly as
    long as no rank before it is missing.
    """
    entries = np.bincount(ranked.group, minlength=ranked.groups)
    group_starts = np.cumsum(entries) - entries
    in_place = ranked.value == np.arange(len(ranked.value)) - group_starts[ranked.group]
    first_missing = np.bincount(ranked.group[in_place], minlength=ranked.groups)
    absent: Ints = np.append(totals, 0)[first_missing]
    return absent


def count_limits(
    sizes: Ints, share: Fraction, *, power: int = 1, long: bool = False
) -> npt.NDArray[Any]:
    """floor(share size^power) for each group, computed once per size.

    Capped at 2^62, unless `long` is set because the counts may be longer.
    """
    number, groups = arrays.renumber(sizes, int(sizes.max(initial=0)) + 1)
    distinct = np.zeros(groups, dtype=np.int64)
    distinct[number] = sizes
    limit_by_size = [math.floor(share * size**power) for size in distinct.tolist()]
    if long:
        return np.array(limit_by_size, dtype=object)[number]
    return np.array([min(limit, _LARGEST) for limit in limit_by_size], dtype=np.int64)[number]


def _worst_share(numerators: npt.NDArray[Any], sizes: Ints, *, power: int = 1) -> Fraction:
    """Largest numerator / size^power, as an exact fraction.

    Only the largest numerator of each size is compared.
    """
    order = arrays.stable_order(sizes, int(sizes.max()) + 1)
    ordered = sizes[order]
    run_starts = arrays.run_starts(ordered)
    largest = np.maximum.reduceat(numerators[order], run_starts)
    pairs = zip(largest.tolist(), ordered[run_starts].tolist(), strict=True)
    return max(Fraction(int(numerator), size**power) for numerator, size in pairs)
