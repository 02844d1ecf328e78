# SPDX-License-Identifier: Apache-2.0
"""Table 1 of Yao et al. 2021, its division and groups of Table 3, and the golden cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from divulge.anatomization import AlphaBetaGammaDelta, Reached, RowCodes
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.problem import GroupingProblem, Groups, problem_of

CASES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("golden_002.json").read_text(encoding="utf-8")
)["cases"]

COLUMNS: list[str] = CASES["002-T1"]["inputs"]["columns"]
RECORDS: list[list[str]] = CASES["002-T1"]["expected"]
PEOPLE = [record[0] for record in RECORDS]
QUASI_IDENTIFIERS = ("Gender", "Job", "Age", "Zipcode")
TABLES = (("Age", "Zipcode"), ("Gender", "Job"))
TABLE_3 = (("Alice", "Ben", "Cary", "David"), ("Eric", "Frank", "Gina", "Henry"))


def expected(case: str) -> Any:
    """Expected values of a golden case."""
    return CASES[f"002-{case}"]["expected"]


def table_1() -> RowCodes:
    """The eight people, in the paper's order."""
    return rows_of(
        {name: [record[place] for record in RECORDS] for place, name in enumerate(COLUMNS)}
    )


def problem_1(model: AlphaBetaGammaDelta | None = None) -> GroupingProblem:
    """Table 1 with the division of Table 4."""
    return problem_of(
        table_1(), tables=TABLES, sensitive=["Salary"], model=model or AlphaBetaGammaDelta()
    )


def grouped(groups: Sequence[Sequence[str]]) -> Groups:
    """Convert groups of people to group numbers."""
    found = np.full(len(PEOPLE), -1, dtype=np.int32)
    for number, people in enumerate(groups):
        found[[PEOPLE.index(person) for person in people]] = number
    return found


def named(group: Groups) -> list[list[str]]:
    """Groups of people, sorted."""
    people = [
        sorted(PEOPLE[record] for record in np.flatnonzero(group == number))
        for number in np.unique(group)
    ]
    return sorted(people)


def levels(texts: dict[str, str]) -> Reached:
    """Reached from texts."""
    return Reached(**{name: Fraction(text) for name, text in texts.items()})
