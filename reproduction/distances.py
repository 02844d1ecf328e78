# SPDX-License-Identifier: Apache-2.0
"""Sensitivity and independence of distances between distributions (Afifi et al. 2018, Fig. 1).

The figure's data are not printed. Here the comparison is made on random distributions as stated, so
that anyone can repeat it. A prior and a target are drawn, and the belief moves from the prior to
the target in equal steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.arrays import Floats
from divulge.errors import BadInput
from divulge.results import Result
from divulge.validation import checked
from reproduction.verdicts import Figure

Pairwise = Callable[[Floats, Floats], Floats]
_PAIR_SETTINGS = {"distribution": "uniform on the simplex", "log_base": 2}


def _bits(p: Floats) -> Floats:
    """Sum of p log2 p over the last axis, with 0 log 0 = 0."""
    return (p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)  # type: ignore[no-any-return]


DISTANCES: dict[str, Pairwise] = {
    "L1": lambda a, x: np.abs(a - x).sum(axis=-1),
    # Distribution leakage.
    "Euclidean": lambda a, x: np.sqrt(((a - x) ** 2).sum(axis=-1)),
    # KL divergence of x from the prior a in bits; infinite if a excludes a value of x.
    "Kullback-Leibler": lambda a, x: np.where(x > 0, x * np.log2(x / a), 0.0).sum(axis=-1),
    # Mean KL divergence of both from their mean, in bits.
    "Jensen-Shannon": lambda a, x: (_bits(a) + _bits(x)) / 2 - _bits((a + x) / 2),
    # Euclidean distance of the square roots, divided by sqrt 2.
    "Hellinger": lambda a, x: np.sqrt(((np.sqrt(a) - np.sqrt(x)) ** 2).sum(axis=-1) / 2),
    # Ordered ground distance, as in t-closeness.
    "earth mover's": lambda a, x: (
        np.abs(np.cumsum(a - x, axis=-1)[..., :-1]).sum(axis=-1) / max(a.shape[-1] - 1, 1)
    ),
    "chi-square": lambda a, x: np.where(x == a, 0.0, (x - a) ** 2 / a).sum(axis=-1),
    # Entropy leakage: the absolute difference of entropies, in bits.
    "entropy": lambda a, x: np.abs(_bits(a) - _bits(x)),
}
"""Distances of a belief x from a prior a, over the last axis."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Sensitivity of each distance, and its correlation with the others."""

    view = "reproduction.output"

    names: tuple[str, ...]
    sensitivity: dict[str, float]
    """Mean growth of the distance over the first tenth of the way from prior to target."""
    correlation: Floats = field(repr=False)
    """Spearman's rank correlation between the distances over all pairs."""
    curves: list[dict[str, Any]] = field(repr=False)
    """Chart data: the mean distance at each step from prior to target."""
    settings: dict[str, Any]

    def figure(self) -> Figure:
        """Chart of the growth of each distance from prior to target."""
        return Figure(
            "Fig. 1",
            "Distances as belief moves from prior to target",
            "way from prior to target",
            "mean distance",
            tuple(
                {
                    "x": curve_point["way"],
                    "y": curve_point["mean"],
                    "series": curve_point["distance"],
                }
                for curve_point in self.curves
            ),
            mark="lines",
            log=("y",),
            told=f"Beliefs over {self.settings['values']} values, uniform on the simplex; the "
            "paper prints no numbers.",
        )

    def independence(self, name: str) -> float:
        """1 minus the mean correlation with the other distances."""
        row = self.names.index(name)
        others = [
            abs(float(self.correlation[row, column]))
            for column in range(len(self.names))
            if column != row
        ]
        return 1.0 - float(np.mean(others))


@checked
def compare_distances(
    *, values: int = 5, pairs: int = 2000, steps: int = 20, seed: int = 0
) -> Comparison:
    """Compare distances between distributions on random pairs (Afifi et al. 2018, Fig. 1).

    The pairs are uniform on the simplex.

    Args:
        values: Number of values of each distribution.
        pairs: Number of random pairs.
        steps: Number of steps in which the belief moves from prior to target.
        seed: Seed of the random pairs.

    Examples:
        >>> import reproduction
        >>> "Euclidean" in reproduction.compare_distances(pairs=10).names
        True
    """
    if values < 2 or pairs < 2 or steps < 10:
        message = f"values={values}, pairs={pairs}, steps={steps} is too little"
        raise BadInput(message, hint="at least 2 values, 2 pairs and 10 steps")
    random = np.random.default_rng(seed)
    prior = random.dirichlet(np.ones(values), size=pairs)
    target = random.dirichlet(np.ones(values), size=pairs)
    path = np.linspace(0.0, 1.0, steps + 1)
    belief = prior[:, None, :] + path[None, :, None] * (target - prior)[:, None, :]
    names = tuple(DISTANCES)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances_on_path = {
            name: distance(prior[:, None, :], belief) for name, distance in DISTANCES.items()
        }
    early_step = max(steps // 10, 1)
    ranks = np.argsort(
        np.argsort(np.array([distances_on_path[name][:, -1] for name in names]), axis=1), axis=1
    )
    return Comparison(
        names=names,
        sensitivity={
            name: float(distances_on_path[name][:, early_step].mean() / path[early_step])
            for name in names
        },
        correlation=np.asarray(np.corrcoef(ranks)),
        curves=[
            {
                "distance": name,
                "way": float(step),
                "mean": float(distances_on_path[name][:, position].mean()),
            }
            for name in names
            for position, step in enumerate(path)
        ],
        settings={"values": values, "pairs": pairs, "steps": steps, "seed": seed} | _PAIR_SETTINGS,
    )
