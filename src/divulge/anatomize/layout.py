# SPDX-License-Identifier: Apache-2.0
"""Records laid out group by group, so that the members of any groups can be gathered without touching the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.anatomize.codes import Codes, Ints


@dataclass(frozen=True, eq=False)
class Members:
    """Members of group g are members[start[g]] up to members[start[g + 1]]."""

    members: Ints = field(repr=False)
    start: Ints = field(repr=False)

    def gather(self, groups: Ints) -> tuple[Ints, Ints]:
        """The members of some groups, one after the other, and for each member the place of its group in `groups`."""
        begins, lengths = self.start[groups], self.start[groups + 1] - self.start[groups]
        return self.members[ranges(begins, lengths)], np.repeat(np.arange(len(groups)), lengths)


def lay_out(ids: Codes, count: int) -> Members:
    """Lay out things by their id."""
    start = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))])
    return Members(stable_order(ids, count), start.astype(np.int64))


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
