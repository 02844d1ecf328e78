# SPDX-License-Identifier: Apache-2.0
"""Table 3 of Yao et al. 2021 as an anatomized table: its people, its division and its groups."""

from __future__ import annotations

from collections.abc import Sequence

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, Division
from tests.anatomization.literature import TABLE_3, TABLES, grouped, problem_1

LEVELS = AlphaBetaGammaDelta(alpha="1/2", beta="1/2", gamma="1/32", delta="1/4")
"""Levels of Table 3 (errata: the paper's alpha of 1/4 overlooks group 2)."""


def anatomized_table_1(
    groups: Sequence[Sequence[str]] = TABLE_3, *, model: AlphaBetaGammaDelta | None = None
) -> Anatomized:
    """Table 1 in some groups."""
    problem = problem_1(model or LEVELS)
    return Anatomized(
        method="given",
        rows=problem.rows,
        division=Division(TABLES),
        sensitive=("Salary",),
        group=grouped(groups),
        model=problem.model,
        settings={},
        seed=0,
        problem=problem,
    )
