# SPDX-License-Identifier: Apache-2.0
"""The choice among given disinformation: golden cases, brute force, gaps (section 4.2)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import (
    Chain,
    Equivalence,
    MatchRule,
    Measure,
    Record,
    Resolve,
    attack,
    candidates_of,
    choose_disinformation,
)
from divulge.dossier.disinformation import CandidateRecord
from divulge.dossier.resolve import Method
from divulge.errors import BadInput
from tests.dossier.oracle import golden, record_of
from tests.dossier.worlds import LABELS, databases, golden_database, golden_rule, rules


def golden_candidates(case: dict[str, Any]) -> list[CandidateRecord]:
    return [
        CandidateRecord(name, record_of(given["record"]), given["cost"])
        for name, given in case["inputs"]["candidates"].items()
    ]


def solve(case: dict[str, Any], **options: Any) -> Any:
    given = {"budget": case["inputs"]["budget"], **options}
    return choose_disinformation(
        golden_database(case),
        record_of(case["inputs"]["p"]),
        golden_candidates(case),
        operator=Resolve(golden_rule(case)),
        **given,
    )


@pytest.mark.parametrize(
    "name", ["003-own-18-link-B2", "003-own-18-link-B3", "003-own-19-minimax-trap"]
)
def test_golden_optimum(name: str) -> None:
    case = golden()[name]
    found = solve(case)
    assert found.leakage == pytest.approx(float(Fraction(case["expected"]["optimal"])), rel=1e-12)
    assert [each.name for each in found.chosen] == case["expected"]["plan"]
    assert (found.optimal, found.gap, found.method) == (True, 0.0, "exact")
    assert found.cost == case["expected"].get("cost", case["inputs"]["budget"])


@pytest.mark.parametrize(
    "name", ["003-own-18-link-B2", "003-own-18-link-B3", "003-own-19-minimax-trap"]
)
def test_golden_greedy_is_a_labelled_baseline(name: str) -> None:
    case = golden()[name]
    found = solve(case, method="greedy")
    assert found.method == "greedy"
    assert found.leakage == pytest.approx(float(Fraction(case["expected"]["greedy"])), rel=1e-12)
    assert [each.name for each in found.chosen] == case["expected"].get("greedy_plan", [])
    assert found.lower_bound <= float(Fraction(case["expected"]["optimal"])) + 1e-12


def test_the_trap_needs_its_whole_budget() -> None:
    case = golden()["003-own-19-minimax-trap"]
    found = solve(case, budget=5)
    assert found.before == pytest.approx(float(Fraction(case["expected"]["before"])))
    assert found.leakage == pytest.approx(float(Fraction(case["expected"]["optimal_budget5"])))
    assert found.chosen == ()


def test_prices_are_sizes_unless_given() -> None:
    records = [Record.of({"N": "a", "X": "b"}, id="d1"), Record.of({"N": "a"}, id="d2")]
    assert [each.cost for each in candidates_of(records, costs={"d2": 7.5})] == [2, 7.5]
    with pytest.raises(BadInput, match="no candidate 'd3' to price"):
        candidates_of(records, costs={"d3": 1})


def test_synonyms_of_true_values_are_no_disinformation() -> None:
    """Influenza would dilute Flu, but not if adversary and measure treat both as equal."""
    truth = Record.of({"N": "a", "D": "Flu", "P": "1"})
    database = [Record.of({"N": "a", "P": "1"}, id="r")]
    decoy = [CandidateRecord("d", Record.of({"N": "a", "D": "Influenza"}), 1)]
    same = Measure(equivalence=Equivalence({"D": {"Flu": ["Influenza"]}}))
    plain = choose_disinformation(database, truth, decoy, budget=1, operator=Resolve("N"))
    wiser = choose_disinformation(
        database, truth, decoy, budget=1, operator=Resolve("N"), measure=same
    )
    assert [each.name for each in plain.chosen] == ["d"]
    assert wiser.chosen == ()
    assert wiser.leakage == pytest.approx(4 / 5)


def test_a_grade_switches_the_bound_off_and_the_search_still_ends_at_the_optimum() -> None:
    case = golden()["003-own-19-minimax-trap"]
    found = solve(case, measure=Measure(graded={"P": 10}))
    assert found.leakage == pytest.approx(float(Fraction(case["expected"]["optimal"])))
    assert found.examined == 4  # all subsets of two candidates


@pytest.mark.parametrize("budget", [-1, float("nan"), float("inf"), True])
def test_a_budget_that_is_no_amount_is_refused(budget: float) -> None:
    with pytest.raises(BadInput, match="budget"):
        choose_disinformation([], Record.of({"N": "a"}), [], budget=budget, operator=Resolve("N"))


def test_other_bad_input_is_refused() -> None:
    reference = Record.of({"N": "a"})
    many = [CandidateRecord(f"d{i}", Record.of({"N": str(i)}), 1) for i in range(21)]
    with pytest.raises(BadInput, match="up to 20 candidates, not 21"):
        choose_disinformation([], reference, many, budget=3, operator=Resolve("N"))
    with pytest.raises(BadInput, match="'exact', 'bounded', 'greedy'"):
        choose_disinformation([], reference, [], budget=3, operator=Resolve("N"), method="best")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="cost"):
        CandidateRecord("d", reference, -1)
    assert (
        choose_disinformation(
            [], reference, many, budget=3, operator=Resolve("N"), method="bounded"
        ).leakage
        == 0
    )


@st.composite
def problems(
    draw: st.DrawFn,
) -> tuple[list[Record], list[CandidateRecord], float, MatchRule, Method]:
    database = draw(databases(most=4, values=3, confidences=(0.5, 1.0)))
    offered = draw(databases(most=6, values=3))
    prices = draw(
        st.lists(
            st.sampled_from([1.0, 1.5, 2.0, 4.0]), min_size=len(offered), max_size=len(offered)
        )
    )
    candidates = [
        CandidateRecord(str(each.id), each, price)
        for each, price in zip(offered, prices, strict=True)
    ]
    method: Method = draw(st.sampled_from(["swoosh", "closure"]))
    return database, candidates, draw(st.sampled_from([0.0, 2.0, 4.5, 8.0])), draw(rules()), method


def brute_force(
    problem: tuple[list[Record], list[CandidateRecord], float, MatchRule, Method], reference: Record
) -> float:
    database, candidates, budget, rule, method = problem
    affordable = (
        chosen
        for size in range(len(candidates) + 1)
        for chosen in combinations(candidates, size)
        if sum(each.cost for each in chosen) <= budget
    )
    return min(
        attack(
            [*database, *(Record(each.record.attributes) for each in chosen)],
            reference,
            Resolve(rule, method=method),
        ).leakage
        for chosen in affordable
    )


REFERENCE = Record.of([(label, "0") for label in LABELS[:3]])


@settings(deadline=None, max_examples=60)
@given(problems())
def test_exact_is_the_best_of_all_subsets(
    problem: tuple[list[Record], list[CandidateRecord], float, MatchRule, Method],
) -> None:
    database, candidates, budget, rule, method = problem
    operator = Resolve(rule, method=method)
    found = choose_disinformation(database, REFERENCE, candidates, budget=budget, operator=operator)
    assert found.leakage == pytest.approx(brute_force(problem, REFERENCE), abs=1e-12)
    chosen = [Record(each.record.attributes) for each in found.chosen]
    assert attack([*database, *chosen], REFERENCE, operator).leakage == pytest.approx(
        found.leakage, abs=1e-12
    )
    assert found.cost <= budget
    assert found.examined <= 2 ** len(candidates)


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(1, 6))
def test_the_gap_of_a_bounded_search_bounds_the_optimum(
    problem: tuple[list[Record], list[CandidateRecord], float, MatchRule, Method], steps: int
) -> None:
    database, candidates, budget, rule, method = problem
    best = brute_force(problem, REFERENCE)
    for search in ("bounded", "greedy"):
        found = choose_disinformation(
            database,
            REFERENCE,
            candidates,
            budget=budget,
            operator=Resolve(rule, method=method),
            method=search,
            steps=steps,
        )
        assert found.lower_bound <= best + 1e-12
        assert found.leakage >= best - 1e-12
        assert found.gap == pytest.approx(found.leakage - found.lower_bound, abs=1e-15)
        assert not found.optimal or found.leakage == pytest.approx(best, abs=1e-12)


def test_a_bounded_search_that_is_cut_short_reports_a_gap() -> None:
    found = solve(golden()["003-own-19-minimax-trap"], method="bounded", steps=1)
    assert (found.leakage, found.optimal) == (pytest.approx(1 / 2), False)
    assert found.lower_bound <= 2 / 5


def test_a_chain_of_operators_can_be_misled_too() -> None:
    case = golden()["003-own-19-minimax-trap"]
    found = choose_disinformation(
        golden_database(case),
        record_of(case["inputs"]["p"]),
        golden_candidates(case),
        budget=6,
        operator=Chain((Resolve(golden_rule(case)),)),
    )
    assert found.leakage == pytest.approx(2 / 5)
