# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of Yao et al. 2021 as printed, its other readings, and cases in which they fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, InfeasibleModel, Slppa
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import Enough, algorithm_1, anatomize, form_groups
from divulge.anatomization.problem import problem_of
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, as_lists, drawn
from tests.anatomization.literature import (
    CASES,
    PEOPLE,
    QUASI_IDENTIFIERS,
    TABLES,
    expected,
    named,
    problem_1,
    table_1,
)


@pytest.mark.parametrize("enough", [">", ">="])
@pytest.mark.parametrize("size", range(2, 7))
def test_lines_1_to_19_on_table_1(size: int, enough: Enough) -> None:
    known = expected("alg1-on-Table1")[str(size)][enough]
    if known is None:
        with pytest.raises(InfeasibleModel, match="line 17"):
            form_groups(problem_1(), size, enough=enough)
        return
    groups = form_groups(problem_1(), size, enough=enough)
    assert sorted(sorted(PEOPLE[record] for record in group) for group in groups) == known


@pytest.mark.parametrize("size", range(2, 7))
def test_largest_buckets_first_on_table_1(size: int) -> None:
    if not expected("alg1-on-Table1")[str(size)]["largest-first"]:
        with pytest.raises(InfeasibleModel, match="line 17"):
            form_groups(problem_1(), size, enough=">=", pick="largest")
        return
    for group in form_groups(problem_1(), size, enough=">=", pick="largest"):
        assert len(group) >= size
        salaries = problem_1().sensitive[0].ids[group].tolist()
        assert len(set(salaries)) == len(salaries)


def test_counts_3_1_1_1() -> None:
    case = CASES["002-eligibility-3111"]
    values = [
        value for value, count in enumerate(case["inputs"]["sa_counts"]) for _ in range(count)
    ]
    rows = rows_of({"q": range(len(values)), "s": values})
    problem = problem_of(rows, tables=[["q"]], sensitive=["s"], model=AlphaBetaGammaDelta())
    size = case["inputs"]["N"]
    for enough, solved in ((">", "literal_gt"), (">=", "literal_ge")):
        assert not case["expected"][solved]
        with pytest.raises(InfeasibleModel):
            form_groups(problem, size, enough=enough)  # type: ignore[arg-type]
    assert case["expected"]["largest_first"]
    assert len(form_groups(problem, size, enough=">=", pick="largest")) == 3


def test_the_papers_own_parameters_fail_on_its_own_table() -> None:
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/2", gamma="1/32", delta="1/4")
    method = Slppa(model, tables=TABLES, algorithm="paper")
    with pytest.raises(InfeasibleModel, match="line 17") as raised:
        anatomize(table_1(), method, quasi_identifiers=QUASI_IDENTIFIERS, sensitive="Salary")
    assert not raised.value.proved
    assert "algorithm='guaranteed'" in str(raised.value)


def test_bad_groups_take_in_the_last_ones() -> None:
    """With ">=" and N = 2 there are four pairs.

    Alpha = 1/4 over (Age, Zipcode) and (Gender, Job) needs two groups of four.
    """
    model = AlphaBetaGammaDelta(alpha="1/4", beta="1/2", delta="1/2")
    found = algorithm_1(problem_1(model), enough=">=")
    pairs = [set(pair) for pair in expected("alg1-on-Table1")["2"][">="]]
    assert problem_1(model).measure(found, groups=int(found.max()) + 1).satisfies(model).all()
    for group in named(found):
        assert all(pair <= set(group) or not pair & set(group) for pair in pairs)


def test_a_delta_of_0_has_no_n() -> None:
    with pytest.raises(InfeasibleModel, match="line 5"):
        algorithm_1(problem_1(AlphaBetaGammaDelta(delta=0)))


def test_alpha_that_cannot_be_kept_ends_at_line_40() -> None:
    with pytest.raises(InfeasibleModel, match=r"break alpha \(line 40\)") as raised:
        algorithm_1(problem_1(AlphaBetaGammaDelta(alpha="1/5", beta="1/2", delta="1/2")))
    assert raised.value.nearest.alpha == problem_1().whole_table.levels.alpha


def test_several_sensitive_attributes_are_refused() -> None:
    rows = rows_of({"q": [1, 2], "s": [1, 2], "t": [1, 2]})
    with pytest.raises(BadInput, match="knows one sensitive attribute"):
        anatomize(
            rows,
            Slppa(AlphaBetaGammaDelta(), tables=1, algorithm="paper"),
            quasi_identifiers=["q"],
            sensitive=["s", "t"],
        )


@settings(deadline=None, max_examples=200)
@given(
    drawn(most=9, sensitive=1), st.sampled_from([">", ">="]), st.sampled_from(["tail", "largest"])
)
def test_result_of_algorithm_1_satisfies_the_model(table: Drawn, enough: str, pick: str) -> None:
    problem = problem_of(
        table.codes, tables=table.tables, sensitive=table.sensitive, model=table.model
    )
    try:
        found = algorithm_1(problem, enough=enough, pick=pick)  # type: ignore[arg-type]
    except InfeasibleModel:
        event("gave up")
        return
    event("grouped")
    assert all(table.satisfies(group) for group in as_lists(found))


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(1, 5))
def test_largest_first_solves_whatever_can_be_solved(counts: list[int], size: int) -> None:
    """Groups of N different values exist if and only if no value has more than n // N records."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    rows = rows_of({"q": range(len(values)), "s": values})
    problem = problem_of(rows, tables=[["q"]], sensitive=["s"], model=AlphaBetaGammaDelta())
    if max(counts) > len(values) // size:
        with pytest.raises(InfeasibleModel):
            form_groups(problem, size, enough=">=", pick="largest")
        return
    groups = form_groups(problem, size, enough=">=", pick="largest")
    assert sorted(record for group in groups for record in group) == list(range(len(values)))
    codes = np.array(values)
    for group in groups:
        assert len(group) >= size
        assert len(set(codes[group].tolist())) == len(group)
