# SPDX-License-Identifier: Apache-2.0
"""Which distances between distributions are sensitive, and which are independent of each other (Afifi et al. 2018, Fig. 1).

The figure's data are not printed; here the comparison is made on stated random distributions, so that anybody can repeat it: a prior and a
target are drawn, and the belief moves from one to the other in equal steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge import values
from divulge.arrays import Floats
from divulge.errors import BadInput
from divulge.papers.reproduction import Figure
from divulge.results import Result

Pairwise = Callable[[Floats, Floats], Floats]
_DRAWN = {"distribution": "uniform on the simplex", "log_base": 2}


def _bits(p: Floats) -> Floats:
    """Sum of p log2 p over the last axis, with 0 log 0 = 0."""
    return (p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)  # type: ignore[no-any-return]


DISTANCES: dict[str, Pairwise] = {
    "L1": lambda a, x: np.abs(a - x).sum(axis=-1),
    # Distribution leakage.
    "Euclidean": lambda a, x: np.sqrt(((a - x) ** 2).sum(axis=-1)),
    # Bits by which x surprises who believed a; infinite where a excluded a value of x.
    "Kullback-Leibler": lambda a, x: np.where(x > 0, x * np.log2(x / a), 0.0).sum(axis=-1),
    # The mean surprise of both against their middle, in bits.
    "Jensen-Shannon": lambda a, x: (_bits(a) + _bits(x)) / 2 - _bits((a + x) / 2),
    # Euclidean distance of the roots over sqrt 2.
    "Hellinger": lambda a, x: np.sqrt(((np.sqrt(a) - np.sqrt(x)) ** 2).sum(axis=-1) / 2),
    # Ordered ground distance, as in t-closeness.
    "earth mover's": lambda a, x: np.abs(np.cumsum(a - x, axis=-1)[..., :-1]).sum(axis=-1) / max(a.shape[-1] - 1, 1),
    "chi-square": lambda a, x: np.where(x == a, 0.0, (x - a) ** 2 / a).sum(axis=-1),
    # Entropy leakage: the absolute difference of entropies, in bits.
    "entropy": lambda a, x: np.abs(_bits(a) - _bits(x)),
}
"""Of a belief x from a prior a, over the last axis."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """How sensitive each distance is, and how far each goes along with the others."""

    view = "papers"

    names: tuple[str, ...]
    sensitivity: dict[str, float]
    """How fast the distance grows, on average, over the first tenth of the way from prior to target."""
    correlation: Floats = field(repr=False)
    """Spearman's rank correlation between the distances over all pairs."""
    curves: list[dict[str, Any]] = field(repr=False)
    """Chart data: the mean distance at each step of the way."""
    settings: dict[str, Any]

    def figure(self) -> Figure:
        """How each distance grows along the way."""
        return Figure(
            "Fig. 1",
            "Distances as belief moves from prior to target",
            "way from prior to target",
            "mean distance",
            tuple({"x": each["way"], "y": each["mean"], "series": each["distance"]} for each in self.curves),
            mark="lines",
            log=("y",),
            told=f"Beliefs over {self.settings['values']} values, uniform on the simplex; the paper prints no numbers.",
        )

    def independence(self, name: str) -> float:
        """1 minus the mean correlation with the other distances."""
        row = self.names.index(name)
        others = [abs(float(self.correlation[row, column])) for column in range(len(self.names)) if column != row]
        return 1.0 - float(np.mean(others))


@values.checked
def compare_distances(*, values: int = 5, pairs: int = 2000, steps: int = 20, seed: int = 0) -> Comparison:
    """Compare the distances between distributions on random pairs, uniform on the simplex (Afifi et al. 2018, Fig. 1).

    Args:
        values: Over how many values the distributions are.
        pairs: How many pairs are drawn.
        steps: In how many steps the belief moves from one of a pair to the other.
        seed: The same seed draws the same pairs.

    Examples:
        >>> import divulge as dv
        >>> "Euclidean" in dv.papers.compare_distances(pairs=10).names
        True
    """
    if values < 2 or pairs < 2 or steps < 10:
        told = f"values={values}, pairs={pairs}, steps={steps} is too little"
        raise BadInput(told, hint="at least 2 values, 2 pairs and 10 steps")
    random = np.random.default_rng(seed)
    prior = random.dirichlet(np.ones(values), size=pairs)
    target = random.dirichlet(np.ones(values), size=pairs)
    way = np.linspace(0.0, 1.0, steps + 1)
    belief = prior[:, None, :] + way[None, :, None] * (target - prior)[:, None, :]
    names = tuple(DISTANCES)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = {name: distance(prior[:, None, :], belief) for name, distance in DISTANCES.items()}
    early = max(steps // 10, 1)
    ranks = np.argsort(np.argsort(np.array([grown[name][:, -1] for name in names]), axis=1), axis=1)
    return Comparison(
        names=names,
        sensitivity={name: float(grown[name][:, early].mean() / way[early]) for name in names},
        correlation=np.asarray(np.corrcoef(ranks)),
        curves=[
            {"distance": name, "way": float(step), "mean": float(grown[name][:, position].mean())}
            for name in names
            for position, step in enumerate(way)
        ],
        settings={"values": values, "pairs": pairs, "steps": steps, "seed": seed} | _DRAWN,
    )
