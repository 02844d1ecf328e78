# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of the success of a guess that follow from a requirement on a metric.

They hold for an adversary who knows no more about a person than their equivalence class. For
identity, a row of a class of n is the right one with probability 1/n. For an attribute, a guess of
the value w in a class is right for the share p(w|c) of its people. This holds for any rule that
chose w. The largest share that a requirement allows therefore bounds the success:

- in each class,
- in any mixture of classes,
- on average over any of their people drawn at random.

It does not bound a guess that differs within a class. An adversary who knows more than the class
may be right more often. Each function takes the bound of a requirement and the prior shares p(w). A
metric without a function here guarantees nothing about a guess: with distinct l, all but l - 1
people of a class may have one value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from divulge.arrays import Floats

GuessBound = Callable[[float, Floats], float]
"""Function from a requirement's bound and the prior shares to the largest success of a guess.

1 or more means that nothing is guaranteed.
"""
_BISECTION_STEPS = 60


def from_success_probability(bound: float, _: Floats) -> float:
    """The requirement bounds the success of the guess itself."""
    return bound


def from_class_size(people: float, _: Floats) -> float:
    """One of `people` people."""
    if people > 0:
        return 1.0 / people
    return 1.0


def from_hidden_bits(bits: float, _: Floats) -> float:
    """One of 2^bits."""
    return float(2.0**-bits)


def from_recursive_diversity(ratio: float, _: Floats) -> float:
    """r1 < c (r_l + ... + r_m) and l >= 2: the tail is at most 1 - r1, so r1 < c / (1 + c)."""
    return ratio / (1 + ratio)


def from_total_variation(distance: float, prior: Floats) -> float:
    """Total variation bounds the difference of each share: p(w|c) <= p(w) + t."""
    return float(prior.max()) + distance


def from_euclidean_distance(distance: float, prior: Floats) -> float:
    """Differences of shares sum to 0: p(w|c) <= p(w) + distance sqrt((m - 1) / m).

    One difference of x implies a Euclidean distance of at least x sqrt(m / (m - 1)).
    """
    values = len(prior)
    return float(prior.max()) + distance * float(np.sqrt((values - 1) / values))


def from_basic_beta(ratio: float, prior: Floats) -> float:
    """p(w|c) <= (1 + beta) p(w)."""
    return float(prior.max()) * (1 + ratio)


def from_enhanced_beta(ratio: float, prior: Floats) -> float:
    """p(w|c) <= (1 + min(beta, -ln p(w))) p(w)."""
    present = prior[prior > 0]
    return float((present * (1 + np.minimum(ratio, -np.log(present)))).max())


def from_delta_disclosure(bits: float, prior: Floats) -> float:
    """p(w|c) <= 2^delta p(w)."""
    return float(prior.max()) * float(2.0**bits)


def from_kl_divergence(bits: float, prior: Floats) -> float:
    """The event W = w reveals at most I1 bits: x log(x/p) + (1 - x) log((1 - x)/(1 - p)) <= I1.

    Returns the largest such x, for the largest p.
    """
    largest_prior = float(prior.max())

    def divergence(x: float) -> float:
        pairs = ((x, largest_prior), (1 - x, 1 - largest_prior))
        return sum(a * float(np.log2(a / b)) if b > 0 else np.inf for a, b in pairs if a > 0)

    return _largest_satisfying(lambda x: divergence(x) <= bits, largest_prior)


def from_entropy(bits: float, prior: Floats) -> float:
    """Fano: with a value of share x among m, H <= h(x) + (1 - x) log2(m - 1).

    Returns the largest x that leaves H >= bits.
    """
    values = len(prior)
    if values < 2 or bits <= 0:
        return 1.0

    def largest_entropy(x: float) -> float:
        binary_entropy = -sum(p * float(np.log2(p)) for p in (x, 1 - x) if p > 0)
        return binary_entropy + (1 - x) * float(np.log2(values - 1))

    return _largest_satisfying(lambda x: largest_entropy(x) >= bits, 1 / values)


def from_entropy_l(values: float, prior: Floats) -> float:
    """H >= log2 l."""
    if values > 0:
        return from_entropy(float(np.log2(values)), prior)
    return 1.0


def from_certainty(share: float, prior: Floats) -> float:
    """2^-H <= r, which is H >= -log2 r."""
    if share > 0:
        return from_entropy(float(-np.log2(share)), prior)
    return 1.0


def from_entropy_fall(bits: float, prior: Floats) -> float:
    """H(W|c) >= H(p) - bits."""
    present = prior[prior > 0]
    return from_entropy(float(-(present * np.log2(present)).sum()) - bits, prior)


def _largest_satisfying(condition: Callable[[float], bool], low: float) -> float:
    """The largest x from `low` on that satisfies the condition, rounded up.

    A bound may be too wide but never too narrow.
    """
    if condition(1.0):
        return 1.0
    high = 1.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        if condition(middle):
            low = middle
        else:
            high = middle
    return high
