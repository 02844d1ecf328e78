# SPDX-License-Identifier: Apache-2.0
"""Can any grouping keep the model? Decided before a record is moved, exactly where that is possible.

For alpha, beta and delta the answer is known. The count of the commonest value is the sum of its counts in the groups, each at most beta
times the group, so it is at most beta times the table; and if it is, the table as one group keeps beta, alpha likewise, and delta with
difference 0. Hence alpha and beta can be kept exactly if the whole table keeps them, and delta always. Yao et al. 2021 (section 4.4) state
weaker conditions, one of them wrong ("alpha > 1/min is always met": the column M, M, M, F breaks alpha = 0.6).

Gamma is different: the union of two groups that keep it may break it. It can be kept if the whole table keeps it or if it is at least
alpha^k beta; it cannot if it is below `least_gamma`; between the two a search decides, and what it does not find stays unproved, except on
tables so small that every grouping can be tried.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from divulge.anatomize.model import AlphaBetaGammaDelta, Reached
from divulge.anatomize.problem import Commonest, GroupingProblem, Groups, WholeTable
from divulge.arrays import Bools
from divulge.errors import Infeasible

SMALL = 12
"""Up to so many records every grouping is tried."""


class InfeasibleModel(Infeasible):
    """No grouping keeps the model, or none was found."""

    def __init__(
        self,
        because: str,
        *,
        nearest: Reached,
        model: AlphaBetaGammaDelta,
        records_per_group: int,
        proved: bool,
        hint: str = "",
    ) -> None:
        self.because = because
        self.nearest = nearest
        """The least alpha, beta and delta that some grouping keeps, and a gamma that is kept together with them."""
        self.records_per_group = records_per_group
        """N*: the most records per group that a grouping without repeated sensitive values can have."""
        self.proved = proved
        """False where a search for gamma ended without success, which proves nothing."""
        wanted = [
            f"{name} to {getattr(nearest, name)} (about {float(getattr(nearest, name)):.4g})"
            for name in model.broken_by(nearest)
        ]
        super().__init__(
            ("no grouping keeps the model: " if proved else "no grouping was found that keeps the model: ") + because,
            hint=f"Raise {' and '.join(wanted)}" if wanted else hint,
        )

    def as_json(self) -> dict[str, str | int | bool]:
        """The nearest values that can be kept, as exact texts, and why the request cannot."""
        return {
            **self.nearest.texts(),
            "records_per_group": self.records_per_group,
            "because": self.because,
            "proved": self.proved,
        }


def check_feasible(problem: GroupingProblem | WholeTable) -> None:
    """Refuse what no grouping can keep."""
    whole = _as_one(problem)
    model = whole.model
    reasons = [reason for table in whole.tables for reason in _in_the_way(table, whole, "alpha", model.alpha)]
    reasons += [reason for value in whole.sensitive for reason in _in_the_way(value, whole, "beta", model.beta)]
    if whole.delta > model.delta:
        reasons.append(
            f"a part of the table differs from the whole by {whole.delta}, which is above delta = {model.delta}"
        )
    if not reasons and model.gamma < (least := least_gamma(whole)):
        reasons.append(f"gamma is {model.gamma}, and no grouping of these tables reaches less than {least}")
    if reasons:
        raise refusal(whole, "; ".join(reasons), proved=True)


def gamma_is_certain(problem: GroupingProblem) -> bool:
    """Gamma follows from alpha and beta, or the table as one group keeps it."""
    model = problem.model
    return model.gamma >= min(problem.whole.gamma, model.alpha ** len(problem.tables) * model.beta)


def least_gamma(problem: GroupingProblem | WholeTable) -> Fraction:
    """A gamma that no grouping goes below.

    In each group the commonest of at most m tuples has a share of at least 1/m, and for each table there is a group where it has at least
    its share in the whole table.
    """
    whole = _as_one(problem)
    shares = [(Fraction(table.records, whole.rows), table.distinct) for table in whole.tables]
    found = []
    for attribute in whole.sensitive:
        all_shares = [*shares, (Fraction(attribute.records, whole.rows), attribute.distinct)]
        floor = Fraction(1)
        for _, distinct in all_shares:
            floor /= distinct
        found.append(floor * max(share * distinct for share, distinct in all_shares))
    return max(found)


def refusal(
    problem: GroupingProblem | WholeTable, because: str, *, gamma: Fraction | None = None, proved: bool, hint: str = ""
) -> InfeasibleModel:
    """The error to raise; `gamma` is the least that is known to be kept, if it is less than that of the whole table."""
    whole = _as_one(problem)
    levels = whole.levels
    return InfeasibleModel(
        because,
        nearest=Reached(levels.alpha, levels.beta, min(gamma or levels.gamma, levels.gamma), Fraction(0)),
        model=whole.model,
        records_per_group=min(whole.rows // attribute.records for attribute in whole.sensitive),
        proved=proved,
        hint=hint,
    )


def search_all(problem: GroupingProblem) -> Groups | None:
    """A grouping with the most groups among all groupings of a small table, or None: then there is none.

    best[s] is the most groups that the set of records s (as bits) can be divided into; the group of its lowest record is tried in all ways.
    """
    size = len(problem)
    valid = _valid_sets(problem)
    best = [-1] * (1 << size)
    best[0] = 0
    choice = [0] * (1 << size)
    for records in range(1, 1 << size):
        lowest = records & -records
        rest = records ^ lowest
        part = rest
        while True:
            group = part | lowest
            if valid[group] and best[records ^ group] >= 0 and best[records ^ group] + 1 > best[records]:
                best[records], choice[records] = best[records ^ group] + 1, group
            if part == 0:
                break
            part = (part - 1) & rest
    if best[-1] < 0:
        return None
    found = np.zeros(size, dtype=np.int32)
    left, number = (1 << size) - 1, 0
    while left:
        found[[i for i in range(size) if choice[left] >> i & 1]] = number
        left, number = left ^ choice[left], number + 1
    return found


def _valid_sets(problem: GroupingProblem) -> Bools:
    """Which sets of records keep the model as a group."""
    size = len(problem)
    sets, records = np.nonzero((np.arange(1 << size)[:, None] >> np.arange(size)) & 1)
    return problem.measure(sets, groups=1 << size, records=records).keeps(problem.model)


def _as_one(problem: GroupingProblem | WholeTable) -> WholeTable:
    return problem if isinstance(problem, WholeTable) else problem.as_one


def _in_the_way(commonest: Commonest, whole: WholeTable, name: str, bound: Fraction) -> list[str]:
    if commonest.records <= bound * whole.rows:
        return []
    shown = ", ".join(f"{column} = {value!r}" for column, value in zip(commonest.names, commonest.values, strict=True))
    share = float(Fraction(commonest.records, whole.rows))
    return [f"{shown} is in {commonest.records} of {whole.rows} records ({share:.4g}), which is above {name} = {bound}"]
