# SPDX-License-Identifier: Apache-2.0
"""Information of randomly perturbed values about the original values.

Classes do not show how many originals a published value stands for. So H(X | x~) and I2 are
computed from the joint distribution of original and published values (Bezzi 2010, after eq. 6). The
information of the published values about a sensitive attribute W (I1, I2 and I(W; X~), eqs. 2 to 4)
follows from the same join.

Differential privacy as a bound on I1 (eqs. 16 and 17): each record is a database of its own, and
the perturbation of its value is the randomized function. If the function satisfies epsilon, then
I1(X~, x) <= epsilon * tanh(epsilon / 2) nats for every original value x. Proof: all ratios r = p(x~
| x) / p(x~) lie within exp(+-epsilon) and average to 1 under p(x~). r ln r is convex, so it is
largest with r at both ends. The paper leaves theta open; this bound is proved, and randomized
response (a coin that lies) reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from divulge import arrays
from divulge.adversary import Belief
from divulge.arrays import Floats
from divulge.counting import Contingency
from divulge.metrics.information import mutual_information, specific_information
from divulge.results import Result


@dataclass(frozen=True, eq=False)
class AttributeInformation:
    """Information of published values about a sensitive attribute W with its original values."""

    entropy: float
    """H(W), in bits."""
    mutual_information: float
    """I(W; X~): average information of the published values."""
    information_of_original: float
    """I(W; X): average information of the original values."""
    surprise: Floats = field(repr=False)
    """I1(W, x~) for each published class."""
    specific_information: Floats = field(repr=False)
    """I2(W, x~) for each published class."""


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed(Result):
    """Information of published values about the original values."""

    view = "columns"

    rows: int
    entropy: float
    """H(X): entropy of the original values, in bits."""
    mutual_information: float
    """I(X; X~): average information of the published values."""
    conditional_entropy: Floats = field(repr=False)
    """H(X | x~) for each published class."""
    specific_information: Floats = field(repr=False)
    """I2(X, x~) = H(X) - H(X | x~) for each published class."""
    contingency: Contingency = field(repr=False)
    surprise_of_original: Floats = field(repr=False)
    """I1(X~, x) for each original value (eq. 17).

    It is the KL divergence of the published values of x from those of all records.
    """
    attributes: Mapping[str, AttributeInformation]
    settings: dict[str, Any]

    @property
    def surprise_bound(self) -> float | None:
        """Largest I1(X~, x) in bits that the requested epsilon allows; None without an epsilon."""
        epsilon = self.settings["epsilon"]
        if epsilon is None:
            return None
        return surprise_allowed(epsilon)


def surprise_allowed(epsilon: float) -> float:
    """Largest I1(X~, x), in bits, of any mechanism that satisfies epsilon for each record."""
    return epsilon * math.tanh(epsilon / 2) * math.log2(math.e)


def measure_perturbation(
    contingency: Contingency,
    attributes: Mapping[str, AttributeInformation],
    *,
    settings: Mapping[str, Any],
    frame: str,
) -> Perturbed:
    """Measure the information of published values, from their counts with the original values.

    The last attribute of the counts is the original value of all columns together.
    """
    cells = list(contingency.cells.values())[-1]
    belief = Belief.of_table(cells)
    return Perturbed(
        rows=contingency.rows,
        entropy=belief.whole_table.entropy,
        mutual_information=mutual_information(belief),
        conditional_entropy=belief.entropy,
        specific_information=specific_information(belief),
        contingency=contingency,
        surprise_of_original=arrays.sum_by_id(cells.value, cells.mass * belief.log_ratio)
        / cells.marginal,
        attributes=attributes,
        settings={**settings, "nulls": "category", "log_base": 2},
        frame=frame,
    )


def information_about_attribute(
    published_counts: Contingency, original_counts: Contingency, column: str
) -> AttributeInformation:
    """Measure the information of published and of original values about a sensitive attribute."""
    published = Belief.of_table(published_counts.cells[column])
    original = Belief.of_table(original_counts.cells[column])
    return AttributeInformation(
        entropy=published.whole_table.entropy,
        mutual_information=mutual_information(published),
        information_of_original=mutual_information(original),
        surprise=published.surprise,
        specific_information=specific_information(published),
    )
