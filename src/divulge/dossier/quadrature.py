# SPDX-License-Identifier: Apache-2.0
"""Sums of exponentials that stand for 1/u, with a certified relative error.

Record leakage is a positive mixture of terms 1/Lambda, and 1/Lambda = int_0^inf exp(-s Lambda) ds. A rule replaces the
integral by sum_j weight_j exp(-node_j u), where u = Lambda / (least Lambda) lies in [1, ratio]. As the mixture is
positive, the relative error of the leakage of every record is at most the worst error of the rule on 1/u in that range: one
number per rule, computed once. This makes the leakage of Whang and Garcia-Molina (section 5) exact for arbitrary weights,
in time linear in the size of the record.

Two kinds of rule: tabled sums with the fewest terms for small ratios, and for any ratio the double-exponential ("DE")
trapezoidal rule with s = exp(x - exp(-x)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from divulge.dossier.exponential_sums import TABLES

Floats: TypeAlias = npt.NDArray[np.float64]

UNIT = 2.0**-53
"""Half the distance from 1 to the next double: the relative error of one correctly rounded operation."""

STEP = 0.25
"""Step of the DE rule: its certificate is a few units of rounding, whatever the ratio."""

_CHEBYSHEV = 36
_STRIP = 1.2


@dataclass(frozen=True)
class QuadratureRule:
    """1/u is sum_j weights[j] exp(-nodes[j] u) for u in [1, ratio], with a relative error of at most `error`."""

    ratio: float
    nodes: Floats
    weights: Floats
    error: float


def rule_for(ratio: float) -> QuadratureRule:
    """The certified rule with the fewest nodes that covers [1, ratio]."""
    for covered in TABLES:
        if ratio <= covered:
            return _tabled_rule(covered)
    return _de_rule(2.0 ** math.ceil(math.log2(ratio)))


def de_nodes(step: float, ratio: float) -> tuple[Floats, Floats]:
    """Nodes and weights of the DE rule for u in [1/ratio, 1]."""
    first = math.floor(-3.6 / step)
    last = math.ceil((math.log(45 * ratio) + 0.1) / step)
    x = step * np.arange(first, last + 1)
    nodes = np.exp(x - np.exp(-x))
    return nodes, step * nodes * (1 + np.exp(-x))


def certificate(nodes: Floats, weights: Floats, *, low: float, high: float) -> float:
    """An upper bound of |u sum_j weights_j exp(-u nodes_j) - 1| over [low, high], not a sample of it.

    In v = log u the error g(v) is analytic, and bounded by |u| S(Re u) + 1 where S is the sum and |Im v| < pi/2. On pieces
    of length at most 1 it is sampled at n Chebyshev points. Then |g| is at most the Lebesgue constant times the largest
    sample, plus the interpolation error 4 M rho^(1-n) / (rho - 1), where M bounds |g| on the Bernstein ellipse with
    parameter rho (Trefethen, Approximation Theory and Approximation Practice, theorems 8.2 and 15.2).
    """
    pieces = max(1, math.ceil(math.log(high / low)))
    half = max(math.log(high / low) / pieces / 2, 1e-3)
    rho = _STRIP / half + math.hypot(_STRIP / half, 1.0)  # this ellipse stays within |Im v| <= _STRIP
    reach = half * (rho + 1 / rho) / 2
    points = half * np.cos(np.pi * (np.arange(_CHEBYSHEV) + 0.5) / _CHEBYSHEV)
    lebesgue = 2 / math.pi * math.log(_CHEBYSHEV) + 1
    worst = 0.0
    for piece in range(pieces):
        middle = math.log(low) + half * (2 * piece + 1)
        largest = float(np.abs(error_at(np.exp(middle + points), nodes, weights)).max())
        least_real = math.exp(middle - reach) * math.cos(_STRIP)
        bound = math.exp(middle + reach) * float(weights @ np.exp(-nodes * least_real)) + 1
        worst = max(worst, lebesgue * largest + 4 * bound * rho ** (1 - _CHEBYSHEV) / (rho - 1))
    return worst


def error_at(u: Floats, nodes: Floats, weights: Floats) -> Floats:
    """The relative error of a rule: u sum_j weights_j exp(-u nodes_j) - 1, summed without rounding."""
    terms = u[:, None] * weights * np.exp(-u[:, None] * nodes)
    return np.array([math.fsum((*row, -1.0)) for row in terms])


@cache
def _tabled_rule(ratio: float) -> QuadratureRule:
    table = np.array(TABLES[ratio])
    return _certified(ratio, table[:, 0], table[:, 1])


@cache
def _de_rule(ratio: float) -> QuadratureRule:
    nodes, weights = de_nodes(STEP, ratio)
    return _certified(ratio, nodes / ratio, weights / ratio)


def _certified(ratio: float, nodes: Floats, weights: Floats) -> QuadratureRule:
    return QuadratureRule(ratio, nodes, weights, certificate(nodes, weights, low=1.0, high=ratio))
