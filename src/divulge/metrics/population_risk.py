# SPDX-License-Identifier: Apache-2.0
"""Journalist risk and population sizes of classes, known or estimated from sampling weights."""

from __future__ import annotations

import numpy as np

from divulge.arrays import Floats
from divulge.metrics.identity import Identity


def journalist_risk(identity: Identity) -> Floats:
    """The risk if the adversary does not know that the person is in the table.

    It is 1/F for a class with known population size F, else E[1/F | f].
    """
    if identity.estimated:
        return mean_reciprocal_size(identity.sizes, journalist_risk_plug_in(identity))
    return 1.0 / _population(identity)


def population_size(identity: Identity) -> Floats:
    """The number of people in the population with the class's quasi-identifiers.

    The minimum over the table's classes is the k of k-map. If it is estimated from weights, it is
    the harmonic mean 1 / E[1/F | f], consistent with the journalist risk.
    """
    if identity.estimated:
        return 1.0 / journalist_risk(identity)
    return _population(identity)


def journalist_risk_plug_in(identity: Identity) -> Floats:
    """1 / the sum of weights, which is too low.

    The reciprocal of an estimate is not an estimate of the reciprocal.
    """
    return 1.0 / _population(identity)


def population_plug_in(identity: Identity) -> Floats:
    """The sum of the weights of the people in the class."""
    return _population(identity)


def _population(identity: Identity) -> Floats:
    if identity.population is None:
        raise ValueError("no population is known")
    return identity.population


ESTIMATOR = "Benedetti and Franconi 1998: E[1/F | f], F negative binomial"


_FEW_PEOPLE = 40


_QUADRATURE_NODES = 48


def mean_reciprocal_size(sizes: Floats, plug_in: Floats) -> Floats:
    """E[1/F | f] of Benedetti and Franconi (1998).

    F, given the f observed people, is negative binomial with p = f times the plug-in risk. With a =
    (1 - p) / p it is the integral of z^(f-1) / (1 + a z) over 0..1. For few people and a >= 1 it is
    log(1 + a) / a, then step by step (1/f - previous) / a, which is stable there. For few people
    and a < 1 a series is used. For many people Gauss-Laguerre quadrature is used. By Jensen's
    inequality it is never below 1/F for the estimated F; it is never above 1/f. It falls when
    classes merge.
    """
    p = np.clip(sizes * plug_in, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        a = (1.0 - p) / p
    nodes, weights = np.polynomial.laguerre.laggauss(_QUADRATURE_NODES)
    with np.errstate(over="ignore", under="ignore"):
        mean_reciprocals = (weights / (1.0 + a[:, None] * np.exp(-nodes / sizes[:, None]))).sum(
            axis=1
        ) / sizes
    is_small = sizes <= _FEW_PEOPLE
    uses_recursion = is_small & (a >= 1.0)
    uses_series = is_small & (a < 1.0)
    mean_reciprocals[uses_recursion] = _mean_reciprocal_by_recursion(
        sizes[uses_recursion], a[uses_recursion]
    )
    mean_reciprocals[uses_series] = _mean_reciprocal_by_series(sizes[uses_series], p[uses_series])
    bounded: Floats = np.clip(mean_reciprocals, plug_in, 1.0 / sizes)
    return bounded


def _mean_reciprocal_by_recursion(sizes: Floats, a: Floats) -> Floats:
    integral = np.log1p(a) / a
    for f in range(1, int(sizes.max(initial=1.0))):
        integral = np.where(sizes > f, (1.0 / f - integral) / a, integral)
    return integral


def _mean_reciprocal_by_series(sizes: Floats, p: Floats) -> Floats:
    term = total = np.ones(len(sizes))
    for n in range(1, 64):  # each term is at most half of the one before
        term = term * n * (1.0 - p) / (sizes + n)
        total = total + term
    return total * p / sizes
