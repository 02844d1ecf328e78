# SPDX-License-Identifier: Apache-2.0
"""E[X / (Y + base)] over the possible worlds of many records at once, without visiting the worlds.

In a world, Y is the weight of its attributes and X the weight of the correct ones. Leakage, F_beta
and precision are this expectation with different bases (Whang and Garcia-Molina, section 2.2 and
definition 21). As attributes are independent,

    E[X / (Y + base)] = int_0^inf exp(-s base) F(s) sum_b c_b x_b e^(-s w_b) / f_b(s) ds,
    f_a(s) = 1 - c_a + c_a e^(-s w_a),   F(s) = product of all f_a(s),

a positive mixture of 1/Lambda with Lambda = Y + base. Certified exponential sums turn it into a
short sum. All terms are positive, so no digits cancel. Attributes with confidence 1 are in every
world and are part of the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.arrays import Bools, Floats, Ints

# --- exponential sums -----------------------------------------------------------------------------
# A rule approximates 1/u on [1, ratio] by sum_j weight_j exp(-node_j u), where u = Lambda / (least
# Lambda). As the mixture is positive, the relative error of every record's leakage is at most the
# worst error of the rule on 1/u. That is one number per rule, computed once.
#
# For small ratios there are tables of (node, weight) pairs with the fewest terms (Braess and
# Hackbusch, "Approximation of 1/x by exponential sums in [1, infinity)", 2005). They interpolate
# 1/u at Chebyshev points in log u and were computed by Newton's method with 80 digits. Correctness
# does not depend on that: `certificate` bounds the error of the numbers below, and the tests check
# that it is below 1e-13. For any other ratio it is the double-exponential ("DE") trapezoidal rule
# with s = exp(x - exp(-x)).
TABLES: dict[float, Floats] = {
    ratio: np.array(text.split(), dtype=float).reshape(-1, 2)
    for ratio, text in {
        2.0: """
            0.11688350460422518  0.3005643387615836   0.6212272884141461   0.7119897340670166   1.5516310195630256   1.156094924411574
            2.9529027814533255   1.6591804706643705   4.903821183132469    2.2649700156824544   7.54433222089718     3.0586296573213025
            11.149795150640552   4.251720472109408    16.42574110061186    6.68470127814032
        """,  # noqa: E501
        4.0: """
            0.0559403861391597   0.14379267894283806  0.2967973380900792   0.3394076493000492   0.7387526885814877   0.5471337899482701
            1.397848117801968    0.7753075218678641   2.2999694963112653   1.0354532678689228   3.484891350935807    1.3443044760970935
            5.013316596265052    1.7279325213842365   6.980037065688808    2.2306291678578476   9.541781009373452    2.9382816047992026
            12.990537401426758   4.060733099287511    18.041934588194604   6.422970739867146
        """,  # noqa: E501
        8.0: """
            0.02729511450480181  0.07015366097968205  0.14475012629398934  0.16543591414321832  0.3599767748191254   0.26620114065315587
            0.680179501695624    0.37608386040606984  1.1167700895464532   0.4998987993625269   1.6867628903738758   0.6441546276853196
            2.414869827691699    0.8179045376995491   3.3366088304145234   1.0339454763882099   4.502885213841967    1.3106434518339478
            5.9870526446967665   1.6753320820958733   7.897267031366444    2.1723408044685906   10.40282944617551    2.8859286889152074
            13.80599893793328    4.023143250509456    18.830065250970655   6.407207574563121
        """,  # noqa: E501
        27.0: """
            0.008231108435787875 0.021158094365619752  0.04367388421773234  0.049947996741621634  0.10871993377355971  0.08053383436219386
            0.20574396758360625  0.11414035874828365  0.3385533684773661   0.15242608284714962  0.5129122888500003   0.19769206117181248
            0.7373370103153704   0.25320140796457336  1.0242457522382853   0.32356005382239555  1.3914886341682784   0.41507890686626675
            1.8641892852440858   0.5360256654749753   2.4767944142667813   0.6968203173347979   3.2754246631486157   0.9105284618916186
            4.321134432020689    1.194326392887942    5.695576609355345    1.573123531748846    7.512445485085012    2.0882895466000977
            9.943689993845238    2.821379835758722    13.291880256629236   3.977534275127704    18.279239620769317   6.379199901964803
        """,  # noqa: E501
    }.items()
}
UNIT = 2.0**-53
"""Half the distance from 1 to the next double.

It is the relative error of one correctly rounded operation.
"""
STEP = 0.25
"""Step of the DE rule: its certificate is a few units of rounding for any ratio."""
_CHEBYSHEV_POINTS = 36
_STRIP_HALF_WIDTH = 1.2


@dataclass(frozen=True)
class QuadratureRule:
    """An approximation of 1/u by sum_j weights[j] exp(-nodes[j] u) for u in [1, ratio].

    Its relative error is at most `error`.
    """

    ratio: float
    nodes: Floats
    weights: Floats
    error: float


def rule_for(ratio: float) -> QuadratureRule:
    """The certified rule with the fewest nodes that covers [1, ratio]."""
    return _rule(
        next((largest_ratio for largest_ratio in TABLES if ratio <= largest_ratio), None)
        or 2.0 ** math.ceil(math.log2(ratio))
    )


@cache
def _rule(ratio: float) -> QuadratureRule:
    if ratio in TABLES:
        nodes, weights = TABLES[ratio].T
    else:
        nodes, weights = (points / ratio for points in de_nodes(STEP, ratio))
    return QuadratureRule(ratio, nodes, weights, certificate(nodes, weights, low=1.0, high=ratio))


def de_nodes(step: float, ratio: float) -> tuple[Floats, Floats]:
    """Nodes and weights of the DE rule for u in [1/ratio, 1]."""
    first = math.floor(-3.6 / step)
    last = math.ceil((math.log(45 * ratio) + 0.1) / step)
    x = step * np.arange(first, last + 1)
    nodes = np.exp(x - np.exp(-x))
    return nodes, step * nodes * (1 + np.exp(-x))


def certificate(nodes: Floats, weights: Floats, *, low: float, high: float) -> float:
    """An upper bound of |u sum_j weights_j exp(-u nodes_j) - 1| over [low, high].

    It is a proven bound, not a sample. In v = log u the error g(v) is analytic, and bounded by |u|
    S(Re u) + 1 where S is the sum and |Im v| < pi/2. On pieces of length at most 1 it is sampled at
    n Chebyshev points. Then |g| is at most the Lebesgue constant times the largest sample, plus the
    interpolation error 4 M rho^(1-n) / (rho - 1). M bounds |g| on the Bernstein ellipse with
    parameter rho (Trefethen, Approximation Theory and Approximation Practice, theorems 8.2 and
    15.2).
    """
    pieces = max(1, math.ceil(math.log(high / low)))
    half = max(math.log(high / low) / pieces / 2, 1e-3)
    # this ellipse stays within |Im v| <= _STRIP
    rho = _STRIP_HALF_WIDTH / half + math.hypot(_STRIP_HALF_WIDTH / half, 1.0)
    reach = half * (rho + 1 / rho) / 2
    points = half * np.cos(np.pi * (np.arange(_CHEBYSHEV_POINTS) + 0.5) / _CHEBYSHEV_POINTS)
    lebesgue = 2 / math.pi * math.log(_CHEBYSHEV_POINTS) + 1
    worst = 0.0
    for piece in range(pieces):
        middle = math.log(low) + half * (2 * piece + 1)
        largest = float(np.abs(error_at(np.exp(middle + points), nodes, weights)).max())
        least_real = math.exp(middle - reach) * math.cos(_STRIP_HALF_WIDTH)
        bound = math.exp(middle + reach) * float(weights @ np.exp(-nodes * least_real)) + 1
        worst = max(
            worst, lebesgue * largest + 4 * bound * rho ** (1 - _CHEBYSHEV_POINTS) / (rho - 1)
        )
    return worst


def error_at(u: Floats, nodes: Floats, weights: Floats) -> Floats:
    """The relative error of a rule: u sum_j weights_j exp(-u nodes_j) - 1.

    The sum has no rounding error.
    """
    terms = u[:, None] * weights * np.exp(-u[:, None] * nodes)
    return np.array([math.fsum((*row, -1.0)) for row in terms])


# --- expected shares ------------------------------------------------------------------------------
CELLS = 1 << 16
"""The number of attributes times nodes in memory at once.

A few arrays of half a megabyte stay in the cache.
"""
NEGLIGIBLE = 1e-17
"""The share of the result that may be lost with very improbable worlds."""
LONG = 1000
"""Above this many uncertain attributes, factors are summed as logarithms.

The rounding error of a product could reach 1e-12.
"""


@dataclass(frozen=True)
class Batch:
    """Records as numbers, one entry per attribute.

    `row` is the index of the record of each attribute, in ascending order.
    """

    size: int
    """The number of records; some may have no attribute."""
    row: Ints
    confidence: Floats
    weight: Floats
    credit: Floats
    """The correct part of the weight: the weight or 0, unless correctness is graded."""
    shields: Ints
    """Pairs (a, b) of shape (n, 2), for graded correctness.

    Attribute a earns its credit only in worlds without attribute b.
    """


@dataclass(frozen=True)
class Expectation:
    """One value per record, with a bound of its relative error."""

    value: Floats
    error: Floats


def expected_share(batch: Batch, base: float) -> Expectation:
    """E[X / (Y + base)] of every record; a world with X = 0 counts 0, including the empty one."""
    certain = batch.confidence == 1.0
    uncertain = ~certain & (batch.weight > 0)
    shielded = np.zeros(len(batch.row), dtype=bool)
    shielded[batch.shields[:, 0]] = True
    fixed = base + _per_record(batch, batch.weight * certain)
    high = fixed + _per_record(batch, batch.weight * uncertain)
    low = fixed + _lightest_credit(batch, certain)

    value = np.zeros(batch.size)
    error = np.zeros(batch.size)
    has_credit = np.isfinite(low)
    has_uncertain = _per_record(batch, uncertain) > 0
    is_settled = has_credit & ~has_uncertain
    value[is_settled] = _per_record(batch, batch.credit * certain)[is_settled] / fixed[is_settled]
    error[is_settled] = UNIT * (4 + 2 * _per_record(batch, certain)[is_settled])

    low = _above_rare_worlds(batch, low, high=high, fixed=fixed, shielded=shielded)
    attribute_index = np.flatnonzero(
        (uncertain | (certain & shielded)) & (has_credit & has_uncertain)[batch.row]
    )
    certain_credit = _per_record(batch, batch.credit * (certain & ~shielded))
    integrals = _Integrals(batch, attribute_index, low=low, fixed=fixed, sure=certain_credit)
    for rule, rows in _by_rule(
        high / np.where(has_credit, low, np.inf), np.flatnonzero(has_credit & has_uncertain)
    ):
        for chunk in integrals.chunks(rows, nodes=len(rule.nodes)):
            value[chunk], error[chunk] = integrals.of(chunk, rule)
    return Expectation(value, error)


def _per_record(batch: Batch, amount: npt.NDArray[np.generic]) -> Floats:
    """The sum over each record of an amount per attribute."""
    return arrays.sum_by_id(batch.row, amount, batch.size)


def _lightest_credit(batch: Batch, certain: Bools) -> Floats:
    """The smallest weight that a world with X > 0 adds to the base.

    It is 0 if the credit is certain, and inf if there is no credit.
    """
    lightest = np.full(batch.size, np.inf)
    earning = batch.credit > 0
    np.minimum.at(lightest, batch.row[earning], np.where(certain, 0.0, batch.weight)[earning])
    return lightest


def _above_rare_worlds(
    batch: Batch, low: Floats, *, high: Floats, fixed: Floats, shielded: Bools
) -> Floats:
    """Raise `low` if Lambda is below the new bound in negligibly few worlds, to save nodes.

    X / Lambda is at most 1 and no rule exceeds 1/Lambda below its range, so these worlds change the
    result by at most their probability. For independent terms that are not negative, P(Y < E[Y] -
    t) <= exp(-t^2 / (2 sum of second moments)). t makes this NEGLIGIBLE times a lower bound of the
    result. By Cauchy and Schwarz, E[Y]^2 is at most the sum of second moments times the sum of
    confidences. Only records with many expected attributes can therefore gain.
    """
    chance = np.where(batch.confidence < 1, batch.confidence, 0.0)
    if _per_record(batch, chance).max(initial=0.0) <= -2 * np.log(NEGLIGIBLE):
        return low
    mean = fixed + _per_record(batch, batch.weight * chance)
    moments = _per_record(batch, batch.weight**2 * chance)
    least = _per_record(batch, batch.credit * batch.confidence * ~shielded) / np.where(
        high > 0, high, 1.0
    )
    depth = -np.log(np.maximum(NEGLIGIBLE * least, np.finfo(np.float64).tiny))
    return np.maximum(low, mean - np.sqrt(2 * moments * depth))


def _by_rule(ratio: Floats, rows: Ints) -> Iterator[tuple[QuadratureRule, Ints]]:
    """Rules, cheapest first, each with the rows it covers."""
    while len(rows):
        rule = rule_for(float(ratio[rows].min()))
        is_covered = ratio[rows] <= rule.ratio
        yield rule, rows[is_covered]
        rows = rows[~is_covered]


class _Integrals:
    """The uncertain attributes of a batch, prepared for integration in chunks of records.

    A certain attribute that another one shields is among them with weight 0, because its weight is
    in the base already.
    """

    def __init__(
        self, batch: Batch, attribute_index: Ints, *, low: Floats, fixed: Floats, sure: Floats
    ) -> None:
        self.confidence = batch.confidence[attribute_index]
        self.weight = np.where(self.confidence == 1.0, 0.0, batch.weight[attribute_index])
        self.credit = batch.credit[attribute_index]
        self.start = np.searchsorted(batch.row[attribute_index], np.arange(batch.size + 1))
        self.low, self.fixed, self.sure = low, fixed, sure
        self.shields = np.searchsorted(
            attribute_index, batch.shields[np.isin(batch.shields[:, 0], attribute_index)]
        )
        self.memory = np.empty((2, CELLS))

    def chunks(self, rows: Ints, *, nodes: int) -> Iterator[Ints]:
        """Groups of rows with about CELLS attributes times nodes.

        A long record is a group of its own.
        """
        sizes = self.start[rows + 1] - self.start[rows]
        long = sizes > LONG
        yield from rows[long][:, None]
        group = np.cumsum(sizes[~long]) // max(CELLS // nodes, LONG)
        yield from (
            part for part in np.split(rows[~long], np.flatnonzero(np.diff(group)) + 1) if len(part)
        )

    def of(self, rows: Ints, rule: QuadratureRule) -> tuple[Floats, Floats]:
        """The integral of each row and a bound of its relative error."""
        attributes = self.start[rows + 1] - self.start[rows]
        attribute_indexes = arrays.ranges(self.start[rows], attributes)
        owner = np.repeat(np.arange(len(rows)), attributes)
        confidence = self.confidence[attribute_indexes]
        weight = self.weight[attribute_indexes] / self.low[rows][owner]
        absence = 1 - confidence
        expected_credit = self.credit[attribute_indexes] * confidence
        base = self.fixed[rows] / self.low[rows]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        long = len(attribute_indexes) > LONG and len(rows) == 1
        total = np.zeros(len(rows))
        depth = np.zeros(len(rows))
        size = max(1, CELLS // len(attribute_indexes))
        for first in range(0, len(rule.nodes), size):
            nodes, weights = (
                part[first : first + size, None] for part in (rule.nodes, rule.weights)
            )
            vanishing, factor = self._scratch(len(nodes), len(attribute_indexes))
            np.exp(_exponents(nodes, weight, vanishing), out=vanishing)
            np.add(np.multiply(vanishing, confidence, out=factor), absence, out=factor)
            earned = np.multiply(
                np.divide(vanishing, factor, out=vanishing), expected_credit, out=vanishing
            )
            self._apply_shields(attribute_indexes, earned, factor)
            correct = self.sure[rows] + np.add.reduceat(earned, starts, axis=1)
            exponent = nodes * base
            if long:
                change = np.expm1(_exponents(nodes, weight, vanishing), out=vanishing)
                change *= confidence
                exponent = exponent - _log_products(factor, change)
                integrand = weights * np.exp(-exponent) * correct
                depth += (integrand * exponent).sum(axis=0)
            else:
                product = np.multiply.reduceat(factor, starts, axis=1)
                integrand = weights * np.exp(-exponent) * product * correct
            total += integrand.sum(axis=0)
        sizes = attributes.astype(np.float64)
        if long:
            rounding = (12 + np.log2(sizes)) * (1 + depth / total)
        else:
            rounding = 6 * sizes
        return total / self.low[rows], rule.error + UNIT * (
            rounding + 2 * len(rule.nodes) + 40
        ) + NEGLIGIBLE

    def _scratch(self, nodes: int, attributes: int) -> tuple[Floats, Floats]:
        """Two matrices in reused memory; fresh pages would cost more than the arithmetic."""
        cells = nodes * attributes
        if cells > self.memory.shape[1]:
            self.memory = np.empty((2, cells))
        first, second = self.memory[:, :cells].reshape(2, nodes, attributes)
        return first, second

    def _apply_shields(self, take: Ints, earned: Floats, factor: Floats) -> None:
        """Restrict the credit of attributes to worlds without those that shield them.

        The factor of a shield becomes (1 - c).
        """
        if len(self.shields):
            shielded, shield = np.searchsorted(
                take, self.shields[np.isin(self.shields[:, 0], take)]
            ).T
            absent = (1 - self.confidence[take[shield]]) / factor[:, shield]
            np.multiply.at(earned.T, shielded, absent.T)


def _exponents(nodes: Floats, weight: Floats, out: Floats) -> Floats:
    """-nodes * weight, at least -700.

    exp is slow if its result is not a normal number; 0 and e^-700 are equivalent here.
    """
    return np.maximum(np.multiply(-nodes, weight, out=out), -700.0, out=out)


def _log_products(factor: Floats, change: Floats) -> Floats:
    """The logarithm of the product of each line; both matrices are overwritten.

    A factor is given twice, as itself and as 1 + change. The first is accurate far from 1, the
    second near it.
    """
    near_one = factor > 0.5
    np.copyto(np.log(factor, out=factor), np.log1p(change, out=change), where=near_one)
    total: Floats = factor.sum(axis=1, keepdims=True)
    return total
