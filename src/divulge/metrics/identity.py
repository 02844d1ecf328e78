# SPDX-License-Identifier: Apache-2.0
"""How well a class hides the people in it: k-anonymity, risks of re-identification, and identity information.

Identity is a uniform choice among people, so everything follows from class sizes (Bezzi 2010, eqs. 5 and 6). Sizes may come with
multiplicities: a column with ten million distinct values is a short list of (size, how often). What is said in bits is in information.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.count import Contingency


@dataclass(frozen=True, eq=False)
class Identity:
    """Class sizes, and the entropy of the person."""

    sizes: Floats = field(repr=False)
    repeats: Floats = field(repr=False)
    """How many classes have each size; 1 where classes are listed one by one."""
    person_entropy: float
    population: Floats | None = field(default=None, repr=False)
    """The size of each class in the population, from survey weights or from a population table."""
    estimated: bool = False
    """Whether the population is not known: its sizes are sums of survey weights."""
    given_whole: Identity | None = field(default=None, repr=False)
    """The view of the whole table, where these classes are only a part of it."""
    own: Floats | None = field(default=None, repr=False)
    """The people of each class itself, where classes overlap: `sizes` are then how many people match it."""
    given_person_share: float | None = None
    """The share of the person who is in most classes, where a person may own several rows."""

    @property
    def whole(self) -> Identity:
        """The view of the whole table."""
        return self if self.given_whole is None else self.given_whole

    @classmethod
    def of(
        cls, contingency: Contingency, population: Floats | None = None, *, whole: Identity | None = None
    ) -> Identity:
        """The identity view of a counted table, or of some classes of the table that `whole` is the view of."""
        sizes = contingency.sizes.astype(np.float64)
        entropy = contingency.person_entropy if whole is None else whole.person_entropy
        estimated = population is None and contingency.population_estimated
        if population is None and contingency.population is not None:
            # Weights below 1 cannot make a class of the population smaller than the people seen in it.
            population = np.maximum(contingency.population, sizes)
        entropy = float(np.log2(sizes.sum())) if entropy is None else entropy
        share = contingency.person_share if whole is None else whole.given_person_share
        return cls(sizes, np.ones(len(sizes)), entropy, population, estimated, whole, given_person_share=share)

    @classmethod
    def of_spectrum(
        cls, sizes: Floats, repeats: Floats, *, person_entropy: float | None = None, person_share: float | None = None
    ) -> Identity:
        """From (size, how many classes have it)."""
        entropy = float(np.log2(arrays.dot(sizes, repeats))) if person_entropy is None else person_entropy
        return cls(sizes, repeats, entropy, given_person_share=person_share)

    @property
    def overlapping(self) -> bool:
        """Whether a person may match several classes."""
        return self.own is not None

    @property
    def members(self) -> Floats:
        """The people of each class itself."""
        return self.sizes if self.own is None else self.own

    @cached_property
    def total(self) -> float:
        """People in all classes."""
        return arrays.dot(self.whole.members, self.whole.repeats)

    @cached_property
    def classes(self) -> float:
        """How many classes there are."""
        return float(self.whole.repeats.sum())

    @cached_property
    def class_share(self) -> Floats:
        """p(class)."""
        return self.members / self.total

    @property
    def person_share(self) -> float:
        """The largest p(person): 1/n where each row is its own person."""
        return 1.0 / self.total if self.given_person_share is None else self.given_person_share

    @cached_property
    def entropy(self) -> Floats:
        """H(X | class) = log2 of its size."""
        return np.log2(self.sizes)

    @cached_property
    def mutual_information(self) -> float:
        """I(X; class) = H(X) - sum p H(X | class)."""
        whole = self.whole
        return arrays.never_negative(self.person_entropy - arrays.dot(whole.class_share * whole.repeats, whole.entropy))


def size(identity: Identity) -> Floats:
    """People in the class; the least of them is k."""
    return identity.sizes


def class_count(identity: Identity) -> float:
    """Distinct combinations of quasi-identifiers."""
    return identity.classes


def mean_size(identity: Identity) -> float:
    """People per class on average."""
    return identity.total / identity.classes


def median_size(identity: Identity) -> float:
    """Half of the classes are no larger."""
    sizes, repeats = identity.whole.sizes, identity.whole.repeats
    order = np.argsort(sizes)
    reached = np.cumsum(repeats[order])
    middle = (identity.classes + 1) / 2
    low = sizes[order][np.searchsorted(reached, np.floor(middle))]
    high = sizes[order][np.searchsorted(reached, np.ceil(middle))]
    return float(low + high) / 2


def largest_size(identity: Identity) -> float:
    """People in the largest class."""
    return float(identity.whole.sizes.max())


def uniques(identity: Identity) -> float:
    """People who are alone in their class."""
    return float(identity.whole.repeats[identity.whole.sizes == 1].sum())


def prosecutor_risk(identity: Identity) -> Floats:
    """1 / size: the chance to pick the right record of a person known to be in the table."""
    return 1.0 / identity.sizes


def marketer_risk(identity: Identity) -> float:
    """Classes / people: the share of records that are right when everybody is matched at random within the class."""
    return identity.classes / identity.total


distinction = marketer_risk
"""ARX's alpha-distinction."""


def journalist_risk(identity: Identity) -> Floats:
    """The chance when it is not known whether the person is in the table: 1/F for a known population of the class, else E[1/F | f]."""
    if identity.estimated:
        return mean_reciprocal_size(identity.sizes, journalist_risk_plug_in(identity))
    return 1.0 / _population(identity)


def population_size(identity: Identity) -> Floats:
    """People of the population with the class's quasi-identifiers; the least over the table's classes is the k of k-map.

    Estimated from weights, it is the harmonic mean 1 / E[1/F | f], so that it says the same as the journalist's risk.
    """
    return 1.0 / journalist_risk(identity) if identity.estimated else _population(identity)


def journalist_risk_plug_in(identity: Identity) -> Floats:
    """1 / the sum of weights: too low, since the reciprocal of an estimate is not an estimate of the reciprocal."""
    return 1.0 / _population(identity)


def population_plug_in(identity: Identity) -> Floats:
    """The sum of the weights of the people in the class."""
    return _population(identity)


def _population(identity: Identity) -> Floats:
    if identity.population is None:
        raise ValueError("no population is known")
    return identity.population


ESTIMATOR = "Benedetti and Franconi 1998: E[1/F | f], F negative binomial"
_FEW, _NODES = 40, 48


def mean_reciprocal_size(sizes: Floats, plug_in: Floats) -> Floats:
    """E[1/F | f] of Benedetti and Franconi (1998): F, given the f people seen, is negative binomial with p = f times the plug-in risk.

    With a = (1 - p) / p it is the integral of z^(f-1) / (1 + a z) over 0..1. For few people that is log(1 + a) / a, then step by step
    (1/f - before) / a, which is stable for a >= 1; below, a series; for many people Gauss-Laguerre quadrature. Never below 1/F for the
    estimated F, by Jensen's inequality, and never above 1/f; it falls when classes merge.
    """
    p = np.clip(sizes * plug_in, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        a = (1.0 - p) / p
    nodes, weights = np.polynomial.laguerre.laggauss(_NODES)
    with np.errstate(over="ignore", under="ignore"):
        found = (weights / (1.0 + a[:, None] * np.exp(-nodes / sizes[:, None]))).sum(axis=1) / sizes
    few = sizes <= _FEW
    wide, narrow = few & (a >= 1.0), few & (a < 1.0)
    found[wide] = _by_steps(sizes[wide], a[wide])
    found[narrow] = _by_series(sizes[narrow], p[narrow])
    bounded: Floats = np.clip(found, plug_in, 1.0 / sizes)
    return bounded


def _by_steps(sizes: Floats, a: Floats) -> Floats:
    found = np.log1p(a) / a
    for f in range(1, int(sizes.max(initial=1.0))):
        found = np.where(sizes > f, (1.0 / f - found) / a, found)
    return found


def _by_series(sizes: Floats, p: Floats) -> Floats:
    term = total = np.ones(len(sizes))
    for n in range(1, 64):  # each term is at most half of the one before
        term = term * n * (1.0 - p) / (sizes + n)
        total = total + term
    return total * p / sizes


def hidden_bits(identity: Identity) -> Floats:
    """H(X | class) = log2 size (Bezzi 2010, eq. 5: at least log2 k)."""
    return identity.entropy


def separation(identity: Identity) -> float:
    """ARX's alpha-separation: the share of pairs of people that the classes tell apart."""
    pairs = identity.total * (identity.total - 1.0)
    sizes, repeats = identity.whole.sizes, identity.whole.repeats
    together = arrays.dot(sizes * (sizes - 1.0), repeats)
    return 1.0 - together / pairs if pairs > 0 else 0.0
