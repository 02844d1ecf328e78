# SPDX-License-Identifier: Apache-2.0
"""Feasibility: statements on the four bounds, errors, and brute force over all partitions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, InfeasibleModel, Slppa
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.anatomization.problem import (
    GroupingProblem,
    check_feasible,
    least_gamma,
    problem_of,
    search_all_groupings,
)
from divulge.anatomization.record_grouping import most_groups
from divulge.errors import Infeasible
from tests.anatomization.checker import Drawn, as_lists, drawn, partitions
from tests.anatomization.literature import (
    CASES,
    QUASI_IDENTIFIERS,
    TABLES,
    expected,
    grouped,
    problem_1,
    table_1,
)
from tests.anatomization.public import ADULT, paper_rows, rows_where, whole_adult

BRUTE_FORCE = [case for case in CASES if case.startswith("002-bruteforce")]


def one_table(qi: list[Any], sa: list[Any], **bounds: Any) -> GroupingProblem:
    """A table with one quasi-identifier and one sensitive attribute."""
    rows = rows_of({"q": qi, "s": sa})
    return problem_of(rows, tables=[["q"]], sensitive=["s"], model=AlphaBetaGammaDelta(**bounds))


@pytest.mark.slow
def test_partitions_of_table_1() -> None:
    """The golden number of all 4,140 partitions satisfies each model, by number of groups."""
    problem, models = (
        problem_1(),
        {case: AlphaBetaGammaDelta(**CASES[case]["inputs"]) for case in BRUTE_FORCE},
    )
    counts: dict[str, Counter[str]] = {case: Counter() for case in models}
    for groups in partitions(list(range(8))):
        group = np.empty(8, dtype=np.int32)
        for number, members in enumerate(groups):
            group[members] = number
        levels = problem.measure(group, groups=len(groups))
        for case, model in models.items():
            counts[case][str(len(groups))] += bool(levels.satisfies(model).all())
    assert {case: +counted for case, counted in counts.items()} == {
        case: CASES[case]["expected"] for case in models
    }


@pytest.mark.parametrize("case", BRUTE_FORCE)
def test_table_1_is_grouped_exactly_if_it_can_be(case: str) -> None:
    model = AlphaBetaGammaDelta(**CASES[case]["inputs"])
    best = search_all_groupings(problem_1(model))
    if not CASES[case]["expected"]:
        assert best is None
        with pytest.raises(InfeasibleModel) as raised:
            check_feasible(problem_1(model))
        assert raised.value.proved
        assert raised.value.nearest == problem_1().whole_table.levels
        return
    assert best is not None
    assert str(best.max() + 1) == max(CASES[case]["expected"])
    found = anatomize(
        table_1(),
        Slppa(model, tables=TABLES),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive="Salary",
        seed=0,
    )
    assert model.allows(found.levels)


def test_the_groups_of_table_3_are_dominated() -> None:
    best = AlphaBetaGammaDelta(alpha="1/4", beta="1/4", gamma="1/64", delta="1/8")
    for groups in expected("dominating-partitions"):
        assert best.allows(problem_1().measure(grouped(groups), groups=2).worst())


def test_the_exhaustive_search_finds_the_most_groups() -> None:
    """Table 1 at (1/2, 1/2, 1/8, 1/4) admits three groups, one more than N = 4 gives."""
    best = search_all_groupings(
        problem_1(AlphaBetaGammaDelta(alpha="1/2", beta="1/2", gamma="1/8", delta="1/4"))
    )
    assert best is not None
    assert best.max() + 1 == 3


@settings(deadline=None, max_examples=200)
@given(drawn(most=7, tables=3))
def test_infeasible_is_raised_exactly_if_no_partition_keeps_the_model(table: Drawn) -> None:
    method = Slppa(table.model, tables=table.tables)
    names = table.quasi_identifiers
    if not table.has_grouping():
        event("infeasible")
        with pytest.raises(InfeasibleModel) as raised:
            anatomize(
                table.codes, method, quasi_identifiers=names, sensitive=table.sensitive, seed=1
            )
        assert raised.value.proved
        return
    event("grouped")
    found = anatomize(
        table.codes, method, quasi_identifiers=names, sensitive=table.sensitive, seed=1
    )
    assert all(table.satisfies(group) for group in as_lists(found.group))


@settings(deadline=None, max_examples=200)
@given(drawn(most=7, tables=3))
def test_nearest_bounds_of_an_error_are_feasible(table: Drawn) -> None:
    """Raising each infeasible bound to the value in the error makes the request feasible."""
    problem = problem_of(
        table.codes, tables=table.tables, sensitive=table.sensitive, model=table.model
    )
    try:
        check_feasible(problem)
    except InfeasibleModel as error:
        nearest = error.nearest
    else:
        return
    bounds = zip(
        table.bounds, (nearest.alpha, nearest.beta, nearest.gamma, nearest.delta), strict=True
    )
    alpha, beta, gamma, delta = (max(pair) for pair in bounds)
    assert (alpha, beta, gamma) != table.bounds[:3]
    assert Drawn(
        table.rows, table.tables, table.sensitive, (alpha, beta, gamma, delta)
    ).has_grouping()


@settings(deadline=None, max_examples=200)
@given(drawn(most=7, tables=3), st.data())
def test_levels_of_a_random_partition_are_feasible(table: Drawn, data: st.DataObject) -> None:
    """The tightest feasible request: the levels of a random partition."""
    rows = len(table.rows)
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    alpha, beta, gamma, delta = (
        max(column)
        for column in zip(*(table.levels(members) for members in as_lists(group)), strict=True)
    )
    tight = Drawn(table.rows, table.tables, table.sensitive, (alpha, beta, gamma, delta))
    method = Slppa(tight.model, tables=table.tables)
    found = anatomize(
        table.codes,
        method,
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        seed=0,
    )
    assert all(tight.satisfies(members) for members in as_lists(found.group))


@settings(deadline=None, max_examples=80)
@given(drawn(most=6, tables=3))
def test_no_partition_is_below_the_least_gamma(table: Drawn) -> None:
    problem = problem_of(
        table.codes, tables=table.tables, sensitive=table.sensitive, model=table.model
    )
    found = min(
        max(table.levels(group)[2] for group in groups)
        for groups in partitions(list(range(len(table.rows))))
    )
    assert least_gamma(problem) <= found


def test_alpha_is_not_always_met() -> None:
    """The paper: "when alpha is larger than 1/min it can always be met"."""
    case = CASES["002-alpha-claim"]
    problem = one_table(case["inputs"]["qi_table"], [1, 2, 3, 4], alpha=case["inputs"]["alpha"])
    with pytest.raises(InfeasibleModel, match="q = 'M' is in 3 of 4 records") as raised:
        check_feasible(problem)
    assert raised.value.nearest.alpha == Fraction(case["expected"]["alpha_star"])
    assert not case["expected"]["feasible"]


def test_a_beta_that_is_not_one_over_a_whole_number() -> None:
    counts, beta = (
        CASES["002-beta-noninteger"]["inputs"]["sa_counts"],
        CASES["002-beta-noninteger"]["inputs"]["beta"],
    )
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    check_feasible(one_table(list(range(5)), values, beta=beta))
    assert most_groups(one_table(list(range(5)), values, beta=beta)) == 1
    with pytest.raises(Infeasible):
        check_feasible(one_table(list(range(5)), values, beta="1/3"))


def test_gamma_breaks_in_a_union() -> None:
    case = CASES["002-gamma-not-monotone"]
    problem = one_table(case["inputs"]["qi"], case["inputs"]["sa"])
    apart = problem.measure(np.array([0, 0, 1, 1]), groups=2)
    assert [apart.of_group(number).gamma for number in range(2)] == [Fraction(1, 2)] * 2
    assert apart.worst().gamma == Fraction(case["expected"]["gamma_groups"])
    assert problem.whole_table.levels.gamma == Fraction(case["expected"]["gamma_union"])


def test_gamma_that_only_a_search_can_decide() -> None:
    """The records of gamma-not-monotone with gamma = 1/2: feasible as two groups, not as one."""
    case = CASES["002-gamma-not-monotone"]["inputs"]
    rows = rows_of({"q": case["qi"], "s": case["sa"]})
    method = Slppa(AlphaBetaGammaDelta(gamma="1/2"), tables=1)
    found = anatomize(rows, method, quasi_identifiers=["q"], sensitive="s", seed=0)
    assert found.groups == 2
    assert found.levels.gamma == Fraction(1, 2)


def test_gamma_that_the_counts_rule_out_is_proved_infeasible() -> None:
    """Twenty copies of the four records.

    Shares a and b of 1/2 or more with a b <= 3/8 add up to 5/4 at most; on average it must be 3/2.
    """
    case = CASES["002-gamma-not-monotone"]["inputs"]
    rows = rows_of({"q": case["qi"] * 20, "s": case["sa"] * 20})
    method = Slppa(AlphaBetaGammaDelta(gamma="3/8"), tables=1)
    with pytest.raises(
        InfeasibleModel, match="no grouping keeps the model: gamma is 3/8"
    ) as raised:
        anatomize(rows, method, quasi_identifiers=["q"], sensitive="s", seed=0)
    assert raised.value.proved
    assert raised.value.nearest.gamma >= Fraction(3, 8)


def test_gamma_that_a_search_does_not_reach_is_called_unproved() -> None:
    """Both columns are equal, so a = b in every group and gamma is at least 9/16.

    The counts of each column do not prove that.
    """
    rows = rows_of({"q": ["x", "x", "x", "y"] * 20, "s": [1, 1, 1, 2] * 20})
    method = Slppa(AlphaBetaGammaDelta(gamma="1/2"), tables=1)
    with pytest.raises(InfeasibleModel, match="no grouping was found") as raised:
        anatomize(rows, method, quasi_identifiers=["q"], sensitive="s", seed=0)
    assert not raised.value.proved
    assert raised.value.nearest.gamma == Fraction(9, 16)


def test_infeasible_error_names_the_obstacle() -> None:
    problem = one_table(["x", "x", "x", "y"], ["a", "a", "a", "b"], alpha="1/2", beta="1/2")
    with pytest.raises(InfeasibleModel) as raised:
        check_feasible(problem)
    error = raised.value
    assert error.exit_code == 3
    assert error.because == (
        "q = 'x' is in 3 of 4 records (0.75), which is above alpha = 1/2; "
        "s = 'a' is in 3 of 4 records (0.75), which is above beta = 1/2"
    )
    assert "Raise alpha to 3/4 (about 0.75) and beta to 3/4 (about 0.75)" in str(error)
    assert error.document()["infeasible"] == {
        "alpha": "3/4",
        "beta": "3/4",
        "gamma": "9/16",
        "delta": "0",
        "records_per_group": 1,
        "because": error.because,
        "proved": True,
    }


@pytest.mark.public_data
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.startswith("002-feas-adult-clean")]
)
def test_adult_under_the_papers_parameters(case: str) -> None:
    """Table 7: beta = delta = 0.05. Only Age can be protected like this."""
    sensitive, known = ADULT[CASES[case]["inputs"]["SA"]], CASES[case]["expected"]
    names = [name for name in ADULT.values() if name != sensitive]
    model = AlphaBetaGammaDelta(alpha=0.5, beta=0.05, gamma=0.005, delta=0.05)
    problem = problem_of(paper_rows("adult"), tables=[names], sensitive=[sensitive], model=model)
    attribute = problem.sensitive[0]
    assert (attribute.most_common_count, len(problem), len(attribute.totals)) == (
        known["H"],
        known["n"],
        known["values"],
    )
    assert problem.whole_table.levels.beta == Fraction(known["beta_star"])
    if "INFEASIBLE" not in CASES[case]["note"]:
        check_feasible(problem)
        return
    with pytest.raises(InfeasibleModel, match=f"{sensitive} = ") as raised:
        check_feasible(problem)
    assert raised.value.records_per_group == known["N_star"]
    assert raised.value.nearest.beta == Fraction(known["beta_star"])


@pytest.mark.public_data
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("002-feas-adult-all")])
def test_all_of_adult(case: str) -> None:
    """The 48,842 rows that the paper mentions, with unknown as a separate value."""
    sensitive, known = ADULT[CASES[case]["inputs"]["SA"]], CASES[case]["expected"]
    model = AlphaBetaGammaDelta(beta=0.05)
    problem = problem_of(
        whole_adult(["sex", sensitive]), tables=[["sex"]], sensitive=[sensitive], model=model
    )
    attribute = problem.sensitive[0]
    assert (attribute.most_common_count, len(problem), len(attribute.totals)) == (
        known["H"],
        known["n"],
        known["values"],
    )
    with pytest.raises(InfeasibleModel) as raised:
        check_feasible(problem)
    assert raised.value.records_per_group == known["N_star"]
    assert raised.value.nearest.beta == Fraction(known["beta_star"])


@pytest.mark.public_data
@pytest.mark.parametrize(
    "choice", expected("sensitive-choices"), ids=lambda choice: "-".join(map(str, choice[:3]))
)
def test_the_largest_group_size_of_ten_sensitive_attributes(choice: list[Any]) -> None:
    data, sensitive, not_zero, count, values, largest = choice
    rows = rows_where(data, ["sex", sensitive], not_zero)
    problem = problem_of(rows, tables=[["sex"]], sensitive=[sensitive], model=AlphaBetaGammaDelta())
    assert len(problem) // problem.sensitive[0].most_common_count == largest
    assert count in (None, len(problem))
    assert values in (None, len(problem.sensitive[0].totals))
