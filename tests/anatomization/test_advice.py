# SPDX-License-Identifier: Apache-2.0
"""Advice: least bounds agree with all groupings of small tables, trials with actual releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import pytest

import divulge as dv
from tests.helpers import run_cli


def people(seed: int, rows: int = 6) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: draw.choice(list("abc"), rows, p=[0.5, 0.3, 0.2])
            for name in ("age", "job", "salary")
        }
    )


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """All partitions into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for at in range(len(smaller)):
            yield [*smaller[:at], [first, *smaller[at]], *smaller[at + 1 :]]


def levels(
    table: pd.DataFrame, tables: Any, groups: list[list[int]]
) -> tuple[Fraction, Fraction, Fraction]:
    """Equations 3, 5 and 7 as printed."""
    found = []
    for group in groups:
        inside = table.iloc[group]
        shares = [
            Fraction(
                max(Counter(inside[list(names)].itertuples(index=False, name=None)).values()),
                len(group),
            )
            for names in tables
        ]
        beta = Fraction(max(Counter(inside["salary"]).values()), len(group))
        found.append((max(shares), beta, prod(shares, start=beta)))
    alphas, betas, gammas = zip(*found, strict=True)
    return max(alphas), max(betas), max(gammas)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_least_bounds_are_least_among_all_groupings(seed: int) -> None:
    table = people(seed)
    advice = dv.advise(table, sensitive="salary", quasi_identifiers=["age", "job"], queries=2)
    assert [len(each.tables) for each in advice.counts] == [1, 2]
    for each in advice.counts:
        reached = [levels(table, each.tables, groups) for groups in partitions(list(range(6)))]
        assert each.least_alpha == min(alpha for alpha, _, _ in reached)
        assert advice.least_beta == min(beta for _, beta, _ in reached)
        assert each.never_gamma <= min(gamma for _, _, gamma in reached) <= each.kept_gamma
        both = [
            gamma
            for alpha, beta, gamma in reached
            if (alpha, beta) == (each.least_alpha, advice.least_beta)
        ]
        assert min(both) <= each.kept_gamma
        assert each.paper_never_alpha <= each.least_alpha


def test_advice_reports_that_the_paper_is_wrong() -> None:
    # M, M, M, F: the paper claims that 1/min = 1/2 "can always be kept", but the least alpha is
    # 3/4.
    table = pd.DataFrame({"sex": list("MMMF"), "salary": [1, 2, 3, 4]})
    advice = dv.advise(table, sensitive="salary", quasi_identifiers="sex", alpha=0.6, queries=2)
    (only,) = advice.counts
    assert (only.paper_always_alpha, only.least_alpha, only.paper_is_wrong) == (
        Fraction(1, 2),
        Fraction(3, 4),
        True,
    )
    assert "sex = 'M' is in 3 of 4 records" in only.verdict
    assert (advice.least_beta, advice.records_per_group, advice.distinct_sensitive) == (
        Fraction(1, 4),
        4,
        4,
    )
    assert "wrong here with k = 1" in str(advice)
    assert (
        dv.advise(table, sensitive="salary", quasi_identifiers="sex", alpha=0.8, queries=2)
        .counts[0]
        .verdict
        == "can be kept"
    )


def test_trials_are_what_a_release_of_that_beta_reaches() -> None:
    table = people(7, rows=60).assign(salary=list(range(30)) * 2)
    advice = dv.advise(table, sensitive="salary", quasi_identifiers=["age", "job"], queries=5)
    # The most common of 30 salaries is in 2 of 60 records, so up to 30 records differ.
    assert [(trial.tables, trial.beta.denominator) for trial in advice.trials] == [
        (tables, size) for tables in (1, 2) for size in (2, 4, 10, 20, 30)
    ]
    for trial in advice.trials:
        assert trial.reached.beta <= trial.beta
        assert trial.groups <= 60 // trial.beta.denominator
        assert trial.smallest >= trial.beta.denominator
    made = dv.anatomize(
        table, sensitive="salary", quasi_identifiers=["age", "job"], beta="1/4", tables=2, seed=0
    )
    (same,) = [
        trial for trial in advice.trials if (trial.tables, trial.beta) == (2, Fraction(1, 4))
    ]
    assert (same.groups, same.reached) == (made.summary.groups, made.levels)


def test_the_command_advises_and_writes_nothing(tmp_path: Any) -> None:
    people(3, rows=30).to_csv(tmp_path / "t.csv", index=False)
    words = (
        "anatomize",
        str(tmp_path / "t.csv"),
        "--sensitive",
        "salary",
        "--advise",
        "--alpha",
        "0.9",
        "--queries",
        "5",
    )
    told = run_cli(*words, "--json").json()
    advice = dv.advise(tmp_path / "t.csv", sensitive="salary", alpha=0.9, queries=5)
    assert told["proved"]["least_beta"] == str(advice.least_beta)
    assert [each["levels"] for each in told["measured"]] == [
        trial.reached.texts() for trial in advice.trials
    ]
    assert "What it costs (measured on this table)" in run_cli(*words).out
    assert run_cli(*words, "--out", str(tmp_path / "x")).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
