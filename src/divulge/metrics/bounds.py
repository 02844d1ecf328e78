# SPDX-License-Identifier: Apache-2.0
"""What a promise leaves to the best guess: the most that somebody who knows no more than a person's class can be right.

For a person: a row of a class of n is the right one with chance 1/n. For an attribute: whoever guesses the value w in a class is right for
the share p(w|c) of its people, whatever rule chose w. So the largest share that a promise allows bounds the success in each class, in any
mixture of classes, and on average over any of their people drawn at random. It does not bound a guess that differs within a class: whoever
knows more than the class may be right more often. Each function takes the bound of a promise and the shares p(w) that it was held against.
A metric that has no function here promises nothing about a guess: with distinct l, all but l - 1 people of a class may have one value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from divulge.arrays import Floats

Leaves = Callable[[float, Floats], float]
"""From the bound of a promise and the prior's shares to the most that a guess succeeds; 1 or more: nothing is promised."""
_STEPS = 60


def as_promised(bound: float, _: Floats) -> float:
    """The promise is about the guess itself."""
    return bound


def one_of(people: float, _: Floats) -> float:
    """One of so many."""
    return 1.0 / people if people > 0 else 1.0


def one_of_bits(bits: float, _: Floats) -> float:
    """One of 2 to the power of bits."""
    return float(2.0**-bits)


def outweighed(ratio: float, _: Floats) -> float:
    """r1 < c (r_l + ... + r_m) and l >= 2: the tail is at most 1 - r1, so r1 < c / (1 + c)."""
    return ratio / (1 + ratio)


def added(distance: float, prior: Floats) -> float:
    """Total variation bounds the difference of each share: p(w|c) <= p(w) + t."""
    return float(prior.max()) + distance


def added_in_the_square(distance: float, prior: Floats) -> float:
    """Differences of shares sum up to 0: one of x makes a Euclidean distance of at least x sqrt(m / (m - 1))."""
    values = len(prior)
    return float(prior.max()) + distance * float(np.sqrt((values - 1) / values))


def gained(ratio: float, prior: Floats) -> float:
    """p(w|c) <= (1 + beta) p(w)."""
    return float(prior.max()) * (1 + ratio)


def gained_at_most_logarithm(ratio: float, prior: Floats) -> float:
    """p(w|c) <= (1 + min(beta, -ln p(w))) p(w)."""
    present = prior[prior > 0]
    return float((present * (1 + np.minimum(ratio, -np.log(present)))).max())


def doubled(bits: float, prior: Floats) -> float:
    """p(w|c) <= 2^delta p(w)."""
    return float(prior.max()) * float(2.0**bits)


def surprised(bits: float, prior: Floats) -> float:
    """Whether it is w tells no more than which it is: x log(x/p) + (1 - x) log((1 - x)/(1 - p)) <= I1; the largest x, at the largest p."""
    top = float(prior.max())

    def told(x: float) -> float:
        pairs = ((x, top), (1 - x, 1 - top))
        return sum(a * float(np.log2(a / b)) if b > 0 else np.inf for a, b in pairs if a > 0)

    return _largest(lambda x: told(x) <= bits, top)


def uncertain(bits: float, prior: Floats) -> float:
    """Fano: with a value of share x among m, H <= h(x) + (1 - x) log2(m - 1); the largest x that leaves H >= bits."""
    values = len(prior)
    if values < 2 or bits <= 0:
        return 1.0

    def left(x: float) -> float:
        h = -sum(p * float(np.log2(p)) for p in (x, 1 - x) if p > 0)
        return h + (1 - x) * float(np.log2(values - 1))

    return _largest(lambda x: left(x) >= bits, 1 / values)


def of_equally_likely(values: float, prior: Floats) -> float:
    """H >= log2 l."""
    return uncertain(float(np.log2(values)), prior) if values > 0 else 1.0


def of_certainty(share: float, prior: Floats) -> float:
    """2^-H <= r, which is H >= -log2 r."""
    return uncertain(float(-np.log2(share)), prior) if share > 0 else 1.0


def after_a_fall(bits: float, prior: Floats) -> float:
    """H(W|c) >= H(p) - bits."""
    present = prior[prior > 0]
    return uncertain(float(-(present * np.log2(present)).sum()) - bits, prior)


def _largest(holds: Callable[[float], bool], low: float) -> float:
    """The end of what holds from `low` on, rounded up: a bound may be too wide and never too narrow."""
    if holds(1.0):
        return 1.0
    high = 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
