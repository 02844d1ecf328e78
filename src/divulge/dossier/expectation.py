# SPDX-License-Identifier: Apache-2.0
"""E[X / (Y + base)] over the possible worlds of many records at once, without visiting the worlds.

In a world, Y is the weight of its attributes and X the weight of the correct ones. Leakage, F_beta and precision are this
expectation with different bases (Whang and Garcia-Molina, section 2.2 and definition 21). As attributes are independent,

    E[X / (Y + base)] = int_0^inf exp(-s base) F(s) sum_b c_b x_b e^(-s w_b) / f_b(s) ds,
    f_a(s) = 1 - c_a + c_a e^(-s w_a),   F(s) = product of all f_a(s),

a positive mixture of 1/Lambda with Lambda = Y + base. The certified rules of `quadrature` turn it into a short sum. All
terms are positive, so nothing cancels. Attributes with confidence 1 are in every world and join the base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from divulge.arrays import sum_by_id
from divulge.dossier.quadrature import UNIT, Floats, QuadratureRule, rule_for

__all__ = ["Batch", "Expectation", "Floats", "Integers", "expected_share"]

Integers: TypeAlias = npt.NDArray[np.int64]

CELLS = 1 << 16
"""Attributes times nodes that are held at once: a few arrays of half a megabyte, which stay in the cache."""

NEGLIGIBLE = 1e-17
"""Share of the result that may be lost with very improbable worlds."""

LONG = 1000
"""Above this many uncertain attributes factors are summed as logarithms: the rounding of a product could reach 1e-12."""


@dataclass(frozen=True)
class Batch:
    """Records as numbers, one entry per attribute; `row` says which record it belongs to and never falls."""

    size: int
    """Number of records; some may have no attribute."""
    row: Integers
    confidence: Floats
    weight: Floats
    credit: Floats
    """The part of the weight that is correct: the weight or 0, unless correctness is graded."""
    shields: Integers
    """Pairs (a, b): attribute a earns its credit only in worlds without attribute b (graded correctness); shape (n, 2)."""


@dataclass(frozen=True)
class Expectation:
    """One value per record, with a bound of its relative error."""

    value: Floats
    error: Floats


def expected_share(batch: Batch, base: float) -> Expectation:
    """E[X / (Y + base)] of every record; a world with X = 0 counts 0, and so does the empty one."""
    certain = batch.confidence == 1.0
    uncertain = ~certain & (batch.weight > 0)
    shielded = np.zeros(len(batch.row), dtype=bool)
    shielded[batch.shields[:, 0]] = True
    fixed = base + _per_record(batch, batch.weight * certain)
    high = fixed + _per_record(batch, batch.weight * uncertain)
    low = fixed + _lightest_credit(batch, certain)

    value, error = np.zeros(batch.size), np.zeros(batch.size)
    leaks, open_ = np.isfinite(low), _per_record(batch, uncertain) > 0
    settled = leaks & ~open_
    value[settled] = _per_record(batch, batch.credit * certain)[settled] / fixed[settled]
    error[settled] = UNIT * (4 + 2 * _per_record(batch, certain)[settled])

    low = _above_rare_worlds(batch, low, high=high, fixed=fixed, shielded=shielded)
    integrals = _Integrals(
        batch,
        np.flatnonzero((uncertain | (certain & shielded)) & (leaks & open_)[batch.row]),
        low=low,
        fixed=fixed,
        sure=_per_record(batch, batch.credit * (certain & ~shielded)),
    )
    for rule, rows in _by_rule(high / np.where(leaks, low, np.inf), np.flatnonzero(leaks & open_)):
        for chunk in integrals.chunks(rows, nodes=len(rule.nodes)):
            value[chunk], error[chunk] = integrals.of(chunk, rule)
    return Expectation(value, error)


def _per_record(batch: Batch, amount: npt.NDArray[np.generic]) -> Floats:
    """The sum over each record of an amount per attribute."""
    return sum_by_id(batch.row, amount, batch.size)


def _lightest_credit(batch: Batch, certain: npt.NDArray[np.bool_]) -> Floats:
    """The least weight that a world with X > 0 adds to the base: 0 if the credit is certain, inf if there is none."""
    lightest = np.full(batch.size, np.inf)
    earning = batch.credit > 0
    np.minimum.at(lightest, batch.row[earning], np.where(certain, 0.0, batch.weight)[earning])
    return lightest


def _above_rare_worlds(
    batch: Batch, low: Floats, *, high: Floats, fixed: Floats, shielded: npt.NDArray[np.bool_]
) -> Floats:
    """`low`, raised where Lambda undercuts the new bound so rarely that such worlds cannot matter. It spares nodes.

    X / Lambda is at most 1 and no rule exceeds 1/Lambda below its range, so these worlds change the result by at most their
    probability. For independent terms that are not negative, P(Y < E[Y] - t) <= exp(-t^2 / (2 sum of second moments)); t
    makes this NEGLIGIBLE times a lower bound of the result. As E[Y]^2 is at most the sum of second moments times the sum
    of confidences (Cauchy and Schwarz), only records that expect many attributes can gain.
    """
    chance = np.where(batch.confidence < 1, batch.confidence, 0.0)
    if _per_record(batch, chance).max(initial=0.0) <= -2 * np.log(NEGLIGIBLE):
        return low
    mean = fixed + _per_record(batch, batch.weight * chance)
    moments = _per_record(batch, batch.weight**2 * chance)
    least = _per_record(batch, batch.credit * batch.confidence * ~shielded) / np.where(high > 0, high, 1.0)
    depth = -np.log(np.maximum(NEGLIGIBLE * least, np.finfo(np.float64).tiny))
    return np.maximum(low, mean - np.sqrt(2 * moments * depth))


def _by_rule(ratio: Floats, rows: Integers) -> Iterator[tuple[QuadratureRule, Integers]]:
    """Rules, cheapest first, each with the rows it serves."""
    while len(rows):
        rule = rule_for(float(ratio[rows].min()))
        fits = ratio[rows] <= rule.ratio
        yield rule, rows[fits]
        rows = rows[~fits]


class _Integrals:
    """The uncertain attributes of a batch, ready to be integrated a chunk of records at a time.

    A certain attribute that another one shields is among them with weight 0: its weight is in the base already.
    """

    def __init__(self, batch: Batch, kept: Integers, *, low: Floats, fixed: Floats, sure: Floats) -> None:
        self.confidence = batch.confidence[kept]
        self.weight = np.where(self.confidence == 1.0, 0.0, batch.weight[kept])
        self.credit = batch.credit[kept]
        self.start = np.searchsorted(batch.row[kept], np.arange(batch.size + 1))
        self.low, self.fixed, self.sure = low, fixed, sure
        self.shields = np.searchsorted(kept, batch.shields[np.isin(batch.shields[:, 0], kept)])
        self.memory = np.empty((2, CELLS))

    def chunks(self, rows: Integers, *, nodes: int) -> Iterator[Integers]:
        """Rows in groups of about CELLS attributes times nodes; a long record is a group of its own."""
        sizes = self.start[rows + 1] - self.start[rows]
        long = sizes > LONG
        yield from rows[long][:, None]
        group = np.cumsum(sizes[~long]) // max(CELLS // nodes, LONG)
        yield from (part for part in np.split(rows[~long], np.flatnonzero(np.diff(group)) + 1) if len(part))

    def of(self, rows: Integers, rule: QuadratureRule) -> tuple[Floats, Floats]:
        """The integral of each row and a bound of its relative error."""
        take, owner = self._attributes(rows)
        confidence, weight = self.confidence[take], self.weight[take] / self.low[rows][owner]
        doubt, stake = 1 - confidence, self.credit[take] * confidence
        base = self.fixed[rows] / self.low[rows]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        long = len(take) > LONG and len(rows) == 1
        total, depth = np.zeros(len(rows)), np.zeros(len(rows))
        for nodes, weights in _blocks(rule, max(1, CELLS // len(take))):
            vanishing, factor = self._scratch(len(nodes), len(take))
            np.exp(_exponents(nodes, weight, vanishing), out=vanishing)
            np.add(np.multiply(vanishing, confidence, out=factor), doubt, out=factor)
            earned = np.multiply(np.divide(vanishing, factor, out=vanishing), stake, out=vanishing)
            self._apply_shields(take, earned, factor)
            correct = self.sure[rows] + np.add.reduceat(earned, starts, axis=1)
            exponent = nodes * base
            if long:
                change = np.multiply(
                    np.expm1(_exponents(nodes, weight, vanishing), out=vanishing), confidence, out=vanishing
                )
                exponent = exponent - _log_products(factor, change)
                integrand = weights * np.exp(-exponent) * correct
                depth += (integrand * exponent).sum(axis=0)
            else:
                product = np.multiply.reduceat(factor, starts, axis=1)
                integrand = weights * np.exp(-exponent) * product * correct
            total += integrand.sum(axis=0)
        sizes = np.bincount(owner).astype(np.float64)
        rounding = (12 + np.log2(sizes)) * (1 + depth / total) if long else 6 * sizes
        return total / self.low[rows], rule.error + UNIT * (rounding + 2 * len(rule.nodes) + 40) + NEGLIGIBLE

    def _attributes(self, rows: Integers) -> tuple[Integers, Integers]:
        """Positions of the rows' attributes, and for each the place of its row among `rows`."""
        sizes = self.start[rows + 1] - self.start[rows]
        owner = np.repeat(np.arange(len(rows)), sizes)
        before = np.cumsum(sizes) - sizes
        return np.arange(len(owner)) + (self.start[rows] - before)[owner], owner

    def _scratch(self, nodes: int, attributes: int) -> tuple[Floats, Floats]:
        """Two matrices in memory that is used again and again: fresh pages would cost more than the arithmetic."""
        cells = nodes * attributes
        if cells > self.memory.shape[1]:
            self.memory = np.empty((2, cells))
        first, second = self.memory[:, :cells].reshape(2, nodes, attributes)
        return first, second

    def _apply_shields(self, take: Integers, earned: Floats, factor: Floats) -> None:
        """An attribute earns its credit only where those that shield it are absent: (1 - c) instead of their factor."""
        if len(self.shields):
            behind, before = np.searchsorted(take, self.shields[np.isin(self.shields[:, 0], take)]).T
            absent = (1 - self.confidence[take[before]]) / factor[:, before]
            np.multiply.at(earned.T, behind, absent.T)


def _blocks(rule: QuadratureRule, size: int) -> Iterator[tuple[Floats, Floats]]:
    """Nodes and weights of a rule as columns, `size` at a time."""
    for first in range(0, len(rule.nodes), size):
        yield rule.nodes[first : first + size, None], rule.weights[first : first + size, None]


def _exponents(nodes: Floats, weight: Floats, out: Floats) -> Floats:
    """-nodes * weight, not below -700: exp is slow where its result is no normal number, and 0 and e^-700 are alike here."""
    return np.maximum(np.multiply(-nodes, weight, out=out), -700.0, out=out)


def _log_products(factor: Floats, change: Floats) -> Floats:
    """The logarithm of the product of each line; both matrices are used up.

    A factor is given twice, as itself and as 1 + change: the first is accurate far from 1, the second near it.
    """
    near_one = factor > 0.5
    np.copyto(np.log(factor, out=factor), np.log1p(change, out=change), where=near_one)
    total: Floats = factor.sum(axis=1, keepdims=True)
    return total
