# SPDX-License-Identifier: Apache-2.0
"""Adult and Census-Income: infeasible requests of the paper raise an error with the reason.

Four good choices are grouped. Plain Python checks the groups by counting, group by group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import prod
from typing import Any

import pytest

from divulge.anatomization import (
    AlphaBetaGammaDelta,
    Anatomized,
    Anatomy,
    InfeasibleModel,
    Slicing,
    Slppa,
)
from divulge.anatomization.methods import anatomize
from tests.anatomization.public import ADULT, CENSUS, paper_rows, rows_where

pytestmark = pytest.mark.public_data

PAPER = AlphaBetaGammaDelta(alpha=0.5, beta=0.05, gamma=0.005, delta=0.05)
"""Table 7."""

OCCUPATION = "detailed occupation recode"


def bounds(group_size: int) -> AlphaBetaGammaDelta:
    """The paper's alpha and gamma, and the beta and delta for so many records per group."""
    share = Fraction(1, group_size)
    return AlphaBetaGammaDelta(alpha=0.5, beta=share, gamma=0.005, delta=share)


def plain_levels(found: Anatomized) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Eqs. 3, 5, 7 and 8 by counting, without divulge."""
    columns = {
        name: found.rows.values(name).to_pylist() for names in found.tables for name in names
    }
    members: dict[int, list[int]] = defaultdict(list)
    for record, number in enumerate(found.group.tolist()):
        members[number].append(record)
    total: Counter[Any] = Counter(columns[found.sensitive[0]])
    rows = len(found.group)
    worst = [Fraction(0)] * 4
    for records in members.values():
        size = len(records)
        counts = [
            Counter(zip(*([columns[name][i] for i in records] for name in names), strict=True))
            for names in found.tables
        ]
        modal = [max(counted.values()) for counted in counts]
        moved = max(abs(h * size - counts[-1][value,] * rows) for value, h in total.items())
        levels = (
            Fraction(max(modal[:-1]), size),
            Fraction(modal[-1], size),
            Fraction(prod(modal), size ** len(modal)),
            Fraction(moved, size * rows),
        )
        worst = [max(pair) for pair in zip(worst, levels, strict=True)]
    return worst[0], worst[1], worst[2], worst[3]


@pytest.mark.parametrize(
    ("data", "sensitive", "reason"),
    [
        (
            "adult",
            ADULT["country"],
            "native-country = 'United-States' is in 27504 of 30162 records (0.9119)",
        ),
        (
            "census-income",
            CENSUS["gains"],
            "capital gains = 0 is in 192144 of 199523 records (0.963)",
        ),
    ],
)
def test_the_papers_sensitive_attributes_are_refused(
    data: str, sensitive: str, reason: str
) -> None:
    names = [name for name in (ADULT if data == "adult" else CENSUS).values() if name != sensitive]
    with pytest.raises(InfeasibleModel) as raised:
        anatomize(
            paper_rows(data),
            Slppa(PAPER, tables=3),
            quasi_identifiers=names,
            sensitive=sensitive,
            seed=0,
        )
    assert raised.value.because == f"{reason}, which is above beta = 1/20"
    assert raised.value.records_per_group == 1
    assert raised.value.proved


@pytest.mark.parametrize("tables", [2, 3, 4])
@pytest.mark.parametrize("linkage", ["average", "first"])
@pytest.mark.parametrize(("sensitive", "group_size"), [("occupation", 7), ("age", 20)])
def test_adult_is_grouped(sensitive: str, group_size: int, linkage: Any, tables: int) -> None:
    names = [name for name in ADULT.values() if name != sensitive]
    model = bounds(group_size)
    method = Slppa(model, tables=tables, linkage=linkage)
    found = anatomize(
        paper_rows("adult"), method, quasi_identifiers=names, sensitive=sensitive, seed=0
    )
    levels = plain_levels(found)
    assert (found.levels.alpha, found.levels.beta, found.levels.gamma, found.levels.delta) == levels
    assert model.allows(found.levels)
    assert found.sizes.min() >= group_size
    assert found.groups > 1000


@pytest.mark.parametrize(
    ("sensitive", "group_size", "only"), [(OCCUPATION, 11, OCCUPATION), ("age", 20, None)]
)
def test_census_income_is_grouped(sensitive: str, group_size: int, only: str | None) -> None:
    names = [name for name in list(CENSUS.values())[:-1] if name != sensitive]
    model = bounds(group_size)
    rows = rows_where("census-income", [*names, sensitive], only)
    found = anatomize(
        rows, Slppa(model, tables=3), quasi_identifiers=names, sensitive=sensitive, seed=0
    )
    levels = plain_levels(found)
    assert (found.levels.alpha, found.levels.beta, found.levels.gamma, found.levels.delta) == levels
    assert model.allows(found.levels)
    assert found.groups > 8000


def test_a_division_whose_tables_are_too_alike_is_refused_at_once() -> None:
    """Census-Income by age, tables by the first column: half of all have no industry or wage."""
    names = list(CENSUS.values())[1:-1]
    method = Slppa(PAPER, tables=3, linkage="first")
    with pytest.raises(InfeasibleModel, match="Not in universe or children") as raised:
        anatomize(
            paper_rows("census-income"), method, quasi_identifiers=names, sensitive="age", seed=0
        )
    assert raised.value.nearest.alpha > Fraction(1, 2)
    assert raised.value.nearest.beta < Fraction(1, 50)


@pytest.mark.parametrize(
    "method", [Anatomy(7), Slicing(5, tables=3), Slicing(7, tables=3, check="distinct")]
)
def test_baselines_on_adult(method: Any) -> None:
    names = [name for name in ADULT.values() if name != "occupation"]
    found = anatomize(
        paper_rows("adult"), method, quasi_identifiers=names, sensitive="occupation", seed=0
    )
    levels = plain_levels(found)
    assert (found.levels.alpha, found.levels.beta, found.levels.gamma, found.levels.delta) == levels
    assert found.groups > 10
