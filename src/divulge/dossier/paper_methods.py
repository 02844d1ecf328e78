# SPDX-License-Identifier: Apache-2.0
"""The other methods for record leakage, to compare with the exact one.

* `naive` visits every possible world (definition 21): exponential, and the oracle of the tests.
* `algorithm1` is Algorithm 1 of Whang and Garcia-Molina: exact for equal weights, cubic. As printed
  it cannot run: Z must be emptied for every attribute (line 4) and x must stop at |Y| - 2 (line 9).
  `algorithm1_printed` corrects only these two lines and keeps its list operations; `algorithm1`
  also skips attributes in p but not in r (line 2) and multiplies with NumPy.
* `taylor` is the approximation of section 5.2. It has no error bound and can be wrong by 98%
  (unequal weights).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.dossier.expectation import UNIT, Batch
from divulge.dossier.record import Attribute, Record
from divulge.errors import BadInput
from divulge.validation import checked

MOST_UNCERTAIN = 20
"""The largest number of uncertain attributes for the naive method: a million worlds."""


@checked
def possible_worlds(record: Record) -> Iterator[tuple[frozenset[Attribute], float]]:
    """The worlds of a record with a positive probability, and that probability (section 2.3).

    Args:
        record: The record.

    Examples:
        >>> import divulge as dv
        >>> worlds = dv.dossier.possible_worlds(dv.dossier.Record.of({"N": "Ann", "P": ("1", 0.5)}))
        >>> sorted((len(world), chance) for world, chance in worlds)
        [(1, 0.5), (2, 0.5)]
    """
    worlds: list[tuple[tuple[Attribute, ...], float]] = [((), 1.0)]
    for attribute, confidence in record.attributes.items():
        worlds_with = [((*world, attribute), chance * confidence) for world, chance in worlds]
        worlds_without = [
            (world, chance * (1 - confidence)) for world, chance in worlds if confidence < 1
        ]
        worlds = worlds_with + worlds_without
    return ((frozenset(world), chance) for world, chance in worlds)


@checked
def naive(batch: Batch, reference_weight: float, *, beta: float = 1.0) -> tuple[float, float]:
    """E[F_beta] of one record as the sum over its worlds, with a bound of its rounding error.

    The bound is relative.

    Args:
        batch: One record as numbers.
        reference_weight: W_p, the weight of all true attributes.
        beta: The weight of recall relative to precision.

    Examples:
        >>> import divulge as dv, numpy as np
        >>> one = np.ones(1)
        >>> batch = dv.dossier.Batch(
        ...     1, np.zeros(1, int), one, one, one, dv.dossier.NO_SHIELDS
        ... )  # one true attribute of two
        >>> round(dv.dossier.naive(batch, 2.0)[0], 6)
        0.666667
    """
    chance, correct, total = _worlds(batch)
    share = np.divide(
        correct, total + beta**2 * reference_weight, out=np.zeros_like(correct), where=correct > 0
    )
    units = 4 * len(batch.row) + np.log2(len(chance)) + 8
    return float((1 + beta**2) * (chance * share).sum()), float(UNIT * units)


def _worlds(batch: Batch) -> tuple[Floats, Floats, Floats]:
    """The probability, the correct weight X and the weight Y of each world."""
    uncertain = np.flatnonzero(batch.confidence < 1)
    if len(uncertain) > MOST_UNCERTAIN:
        raise BadInput(
            f"the naive method visits 2^{len(uncertain)} worlds for {len(uncertain)} uncertain "
            "attributes",
            hint=f"use the method exact; naive stops at {MOST_UNCERTAIN}",
        )
    number = np.arange(1 << len(uncertain))
    present = np.ones((len(batch.row), len(number)), dtype=bool)
    chance = np.ones(len(number))
    for bit, attribute_index in enumerate(uncertain):
        present[attribute_index] = (number >> bit) & 1
        chance *= np.where(
            present[attribute_index],
            batch.confidence[attribute_index],
            1 - batch.confidence[attribute_index],
        )
    earning = present.copy()
    for shielded, shield in batch.shields:
        earning[shielded] &= ~present[shield]
    return chance, batch.credit @ earning, batch.weight @ present


def algorithm1(batch: Batch, reference_weight: float) -> tuple[float, float]:
    """Algorithm 1 with its errors corrected, and a bound of its relative rounding error.

    It needs equal weights and takes O(|r cap p| |r|^2).
    """
    size = _reference_size(batch, reference_weight)
    has_weight = batch.weight > 0
    confidence = batch.confidence[has_weight]
    correct = batch.credit[has_weight] > 0
    total = 0.0
    for b in np.flatnonzero(correct):
        coefficients = world_sizes(np.delete(confidence, b))
        total += (
            2 * confidence[b] * (coefficients / (size + np.arange(len(coefficients), 0, -1))).sum()
        )
    return float(total), float(UNIT * (4 * len(confidence) + 8))


def world_sizes(confidence: Floats) -> Floats:
    """Coefficients of prod(1 - c + c t), highest power first.

    They are the distribution of the number of attributes of a world.
    """
    coefficients = np.ones(1)
    for c in confidence:
        grown = np.zeros(len(coefficients) + 1)
        grown[:-1] = coefficients * c
        grown[1:] += coefficients * (1 - c)
        coefficients = grown
    return coefficients


@checked
def algorithm1_printed(confidence: Sequence[float], places: Sequence[int | None]) -> float:
    """Algorithm 1 line by line, for comparison.

    Only the two lines that keep it from running are corrected.

    Args:
        confidence: The confidence of each attribute of the record.
        places: The index in the record of each attribute of the reference, or None.

    Examples:
        >>> import divulge as dv
        >>> round(dv.dossier.algorithm1_printed([0.5, 1.0], [0, 1, None]), 12)
        0.65
    """
    leakage = 0.0
    for b in places:
        y = [1.0]
        for a, c in enumerate(confidence):
            if a == b:
                continue
            z = [y[0] * c]
            for x in range(len(y) - 1):
                z.append(y[x] * (1 - c) + y[x + 1] * c)  # noqa: PERF401 - line 10 as it is printed
            z.append(y[-1] * (1 - c))
            y = z
        for x in range(len(y)):
            leakage += 2 * (0.0 if b is None else confidence[b]) * y[x] / (len(places) + len(y) - x)
    return leakage


@checked
def taylor(batch: Batch, reference_weight: float) -> Floats:
    """The second-order approximation of section 5.2 for every record, without an error bound.

    Args:
        batch: The records as numbers.
        reference_weight: W_p, the weight of all true attributes.

    Examples:
        >>> import divulge as dv, numpy as np
        >>> one = np.ones(1)
        >>> batch = dv.dossier.Batch(
        ...     1, np.zeros(1, int), one, one, one, dv.dossier.NO_SHIELDS
        ... )  # one true attribute of two
        >>> dv.dossier.taylor(batch, 2.0).round(6).tolist()
        [0.666667]
    """
    mean = batch.weight * batch.confidence
    variance = batch.weight**2 * batch.confidence * (1 - batch.confidence)
    correct = batch.credit > 0
    row = batch.row[correct]
    weight = batch.weight[correct]
    center = (
        arrays.sum_by_id(batch.row, mean, batch.size)[row]
        - mean[correct]
        + weight
        + reference_weight
    )
    spread = arrays.sum_by_id(batch.row, variance, batch.size)[row] - variance[correct]
    terms = 2 * batch.confidence[correct] * (weight / center + weight / center**3 * spread)
    return arrays.sum_by_id(row, terms, batch.size)


def _reference_size(batch: Batch, reference_weight: float) -> float:
    """|p| in units of the common weight, or an error if the weights differ."""
    weights = np.unique(batch.weight)
    if len(weights) > 1:
        raise BadInput(
            f"Algorithm 1 needs equal weights, these run from {weights[0]:g} to {weights[-1]:g}",
            hint="use the method exact, which takes any weights",
        )
    if len(weights) and weights[0] > 0:
        return reference_weight / float(weights[0])
    return 0.0
