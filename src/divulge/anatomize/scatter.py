# SPDX-License-Identifier: Apache-2.0
"""Random-looking numbers for groups that are made in many places at once.

Each place numbers its groups from a range of its own. A keyed permutation of all ranges then scatters the numbers, so that a number
tells neither where its group was made nor which groups were made beside it, and nobody has to hold a list of all of them. It is a
Feistel network over the next power of four, walked until it stays below the span; there is no promise that it withstands who knows
many of the original numbers, and it need not: where a group was made says no more about its records than the group does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.arrays import Ints

_ROUNDS = 6
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

Words = npt.NDArray[np.uint64]


def scatter(numbers: Ints, span: int, *, secret: int) -> Ints:
    """Different numbers below `span` for different numbers below it.

    >>> sorted(scatter(np.arange(10), 10, secret=7).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = ((span - 1).bit_length() + 1) // 2 or 1
    keys = np.random.default_rng(secret).integers(0, 2**63, size=_ROUNDS, dtype=np.uint64)
    found = numbers.astype(np.uint64)
    outside = np.arange(len(found))
    while len(outside):
        found[outside] = _permuted(found[outside], half, keys)
        outside = outside[found[outside] >= span]
    return found.astype(np.int64)


def _permuted(numbers: Words, half: int, keys: Words) -> Words:
    """A permutation of the numbers below 4 ** half."""
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = numbers >> shift, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return (left << shift) | right


def _mixed(words: Words) -> Words:
    """The steps by which splitmix64 spreads every bit over the whole word."""
    words = (words ^ (words >> np.uint64(30))) * _MIX[0]
    words = (words ^ (words >> np.uint64(27))) * _MIX[1]
    return words ^ (words >> np.uint64(31))
