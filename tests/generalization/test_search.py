# SPDX-License-Identifier: Apache-2.0
"""The search finds the optimum of trying every node, for every requirement and objective.

If there is none, it says so.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge.generalization.rollup
from divulge.errors import BadInput, Infeasible
from divulge.generalization import OBJECTIVES, Plan, Rollup, search
from divulge.generalization.constraints import node_checker
from divulge.generalization.exact_search import build_problem, plan_of
from divulge.generalization.large_lattice_search import explore
from divulge.generalization.lattice import lattice_of
from divulge.generalization.rollup import default_beliefs
from divulge.generalization.search_state import SearchState
from divulge.metrics import METRICS, Metric
from divulge.policy import Promise
from tests.generalization import oracle
from tests.generalization.drawn import (
    HIERARCHIES,
    RISKS,
    any_promise,
    counted,
    promises_about,
    suppressions,
    tables,
    world,
)
from tests.oracle import group

HIGH_IS_GOOD = {"precision", "information"}


def cost_of(plan: Plan) -> float:
    return -plan.value if plan.objective in HIGH_IS_GOOD else plan.value


def compare(
    rows: Sequence[Any], promises: Sequence[Promise], suppression: float, objective: str
) -> None:
    """Compare optimum, suppressed people and set of optima, or the error."""
    table = world(rows)
    expected = oracle.best(table, promises, suppression, objective)
    contingency = counted(rows)
    if expected is None:
        with pytest.raises(Infeasible):
            search(contingency, HIERARCHIES, promises, suppression=suppression, objective=objective)
        return
    least, optima = expected
    plan = search(contingency, HIERARCHIES, promises, suppression=suppression, objective=objective)
    assert cost_of(plan) == pytest.approx(least, abs=1e-9)
    assert plan.gap == 0.0
    assert plan.levels == min(
        optima, key=lambda levels: (sum(levels.values()), tuple(levels.values()))
    )
    found = table.published(dict(plan.levels), promises, suppression)
    assert found is not None
    assert plan.suppressed == len(found.suppressed)
    assert plan.classes == len(group(found.rows, table.keys))
    every = search(
        contingency,
        HIERARCHIES,
        promises,
        suppression=suppression,
        objective=objective,
        all_optima=True,
    )
    assert sorted(map(str, every.optima)) == sorted(map(str, optima))
    assert every.levels == plan.levels


@pytest.mark.parametrize("metric", RISKS, ids=lambda metric: f"{metric.scope}-{metric.name}")
@given(data=st.data(), rows=tables(), suppression=suppressions)
@settings(deadline=None, max_examples=8)
def test_every_requirement(
    metric: Metric[Any], data: st.DataObject, rows: list[Any], suppression: float
) -> None:
    compare(rows, [data.draw(promises_about(metric))], suppression, "loss")


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(
    rows=tables(), promises=st.lists(any_promise, min_size=1, max_size=3), suppression=suppressions
)
@settings(deadline=None, max_examples=12)
def test_every_objective(
    objective: str, rows: list[Any], promises: list[Promise], suppression: float
) -> None:
    compare(rows, promises, suppression, objective)


@given(
    rows=tables(),
    promises=st.lists(any_promise, min_size=1, max_size=2),
    suppression=suppressions,
    objective=st.sampled_from(list(OBJECTIVES)),
)
@settings(deadline=None, max_examples=40)
def test_the_search_for_large_lattices_closes_the_gap_when_it_has_time(
    rows: list[Any], promises: list[Promise], suppression: float, objective: str
) -> None:
    contingency = counted(rows)
    lattice = lattice_of(contingency, HIERARCHIES)
    problem = build_problem(
        contingency, lattice, promises, suppression=suppression, objective=objective
    )
    seen = SearchState(problem, keep_ties=True)
    lowest = explore(seen)
    expected = oracle.best(world(rows), promises, suppression, objective)
    if expected is None:
        assert seen.best is None
        assert lowest == np.inf
    else:
        assert plan_of(seen, lowest).gap == 0.0
        assert seen.cost == pytest.approx(expected[0], abs=1e-9)
        assert sorted(str(lattice.levels_by_column(node)) for node in seen.ties) == sorted(
            map(str, expected[1])
        )


@pytest.mark.parametrize(
    "objective", ["loss", "arithmetic_loss", "precision", "non_uniform_entropy"]
)
@given(
    rows=tables(), promises=st.lists(any_promise, min_size=1, max_size=2), suppression=suppressions
)
@settings(deadline=None, max_examples=10)
def test_the_bound_of_a_box_holds_for_every_solution_in_it(
    objective: str, rows: list[Any], promises: list[Promise], suppression: float
) -> None:
    """The minimum suppression of the highest node raises the bound of every node above the lowest.

    Checked at all nodes.
    """
    contingency = counted(rows)
    problem = build_problem(
        contingency,
        lattice_of(contingency, HIERARCHIES),
        promises,
        suppression=suppression,
        objective=objective,
    )
    looked = [
        problem.checker.check(node) for node in itertools.product(*map(range, problem.region.shape))
    ]
    for found in (candidate for candidate in looked if candidate.feasible):
        cost = problem.objective.cost(found)
        below = [other for other in looked if all(map(operator.le, other.node, found.node))]
        above = [other for other in looked if all(map(operator.ge, other.node, found.node))]
        owed = max(candidate.owed for candidate in above)
        assert owed <= found.suppressed
        for least in {0.0, owed, float(found.suppressed)}:
            assert all(
                problem.objective.bound(other.node, least) <= cost + 1e-12 for other in below
            )


@given(
    rows=tables(least=6),
    asked=st.lists(st.lists(any_promise, min_size=1, max_size=3), min_size=2, max_size=4),
    suppression=st.sampled_from([0.3, 0.6, 1.0]),
)
@settings(deadline=None, max_examples=40)
def test_cached_nodes_serve_other_requirements(
    rows: list[Any], asked: list[list[Promise]], suppression: float
) -> None:
    """A roll-up with cached nodes gives the same results as a new one without a cache."""
    contingency = counted(rows)
    beliefs = default_beliefs(contingency)
    shared = Rollup.of(contingency, HIERARCHIES, beliefs)
    assert shared.classes(shared.lattice.top).cache == {}
    for others in asked:
        promises = [
            Promise.make("k_anonymity", 2),
            *others,
        ]  # a person suppressed for it counts once
        ours = node_checker(contingency, shared, promises, beliefs=beliefs, suppression=suppression)
        assert ours.rollup is shared
        fresh = node_checker(
            contingency, shared.lattice, promises, beliefs=beliefs, suppression=suppression
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(divulge.generalization.rollup, "_CACHED_COUNTS", 0)
            for node in itertools.product(*map(range, shared.lattice.shape)):
                mine, theirs = ours.check(node), fresh.check(node)
                assert (mine.classes.cache is None, theirs.classes.cache is None) == (False, True)
                assert mine.published_mask.tolist() == theirs.published_mask.tolist()
                assert (mine.suppressed, mine.owed) == (theirs.suppressed, theirs.owed)
                assert (mine.obstacle and mine.obstacle.text) == (
                    theirs.obstacle and theirs.obstacle.text
                )
                for rule in ours.rules if mine.published_mask.any() else ():
                    assert ours.value(rule, mine) == fresh.value(rule, theirs)


@given(
    rows=tables(least=4),
    promises=st.lists(any_promise, min_size=1, max_size=2),
    checks=st.integers(1, 10),
)
@settings(deadline=None, max_examples=25)
def test_the_gap_is_never_too_small(rows: list[Any], promises: list[Promise], checks: int) -> None:
    """In a search that is stopped early, the cost minus the gap is at most the optimum."""
    contingency = counted(rows)
    problem = build_problem(
        contingency, lattice_of(contingency, HIERARCHIES), promises, suppression=0.3
    )

    class StopsEarly(SearchState):
        @property
        def out_of_time(self) -> bool:
            return self.checked >= checks

    seen = StopsEarly(problem, deadline=time.monotonic() + 3600)
    lowest = explore(seen)
    expected = oracle.best(world(rows), promises, 0.3, "loss")
    if expected is not None:
        assert min(seen.cost, lowest) <= expected[0] + 1e-9
        if seen.best is not None:
            assert plan_of(seen, lowest).gap >= seen.cost - expected[0] - 1e-9


def test_a_coarser_node_that_violates_itpr_excludes_no_finer_one() -> None:
    """Classes of 2 and 6 have ITPR .8333.

    Divided further into 2, 3 and 3 they have .75 (golden: ITPR is not monotone).
    """
    zips = ["1401"] * 2 + ["1301"] * 3 + ["1302"] * 3
    rows = [{"zip": z, "age": 20, "sex": "f", "disease": "flu"} for z in zips]
    promise = Promise.make("itpr", 0.8, scope="identity")
    plan = search(counted(rows), HIERARCHIES, [promise], keep_nodes=True)
    assert set(plan.levels.values()) == {0}
    broken = {tuple(node.levels.values()) for node in plan.nodes if not node.feasible}
    assert broken
    assert {levels[0] for levels in broken} == {1}


def test_a_user_defined_objective() -> None:
    rows = [
        {"zip": "1301", "age": 20, "sex": s, "disease": d} for s in "fm" for d in ("flu", "HIV")
    ]

    def many_sexes(levels: Any, published: Any, suppressed: int) -> float:
        assert suppressed == 0
        assert published.people == 4
        return float(levels["sex"] * 10 - levels["age"])

    plan = search(
        counted(rows), HIERARCHIES, [Promise.make("k_anonymity", 2)], objective=many_sexes
    )
    assert (plan.levels["sex"], plan.levels["age"], plan.value, plan.objective) == (
        0,
        1,
        -1.0,
        "own",
    )


def test_all_checked_nodes_on_request() -> None:
    rows = [
        {"zip": z, "age": 20, "sex": "f", "disease": "flu"}
        for z in ("1301", "1302", "1401", "1401")
    ]
    plan = search(counted(rows), HIERARCHIES, [Promise.make("k_anonymity", 2)], keep_nodes=True)
    assert len(plan.nodes) == plan.checked
    best = [node for node in plan.nodes if node.levels == plan.levels]
    assert [(node.feasible, node.value, node.classes) for node in best] == [(True, plan.value, 2)]
    assert {node.obstacle for node in plan.nodes if not node.feasible} <= {"k_anonymity >= 2"}


def test_more_than_a_million_nodes() -> None:
    """13 columns of three levels.

    Nothing needs to be generalized, and the search proves that nothing is better.
    """
    import pyarrow as pa

    from divulge.counting import count
    from divulge.hierarchies import Hierarchy
    from divulge.sources import resolve_roles
    from tests.metrics.drawn import opened

    names = [f"q{i}" for i in range(13)]
    table = opened(pa.table({name: ["a", "b", "a", "b"] for name in names}))
    contingency = count(table, resolve_roles(table, quasi_identifiers=names))
    hierarchies = {
        name: Hierarchy(name, {"a": ("a", "A", "*"), "b": ("b", "B", "*")}) for name in names
    }
    plan = search(contingency, hierarchies, [Promise.make("k_anonymity", 2)], time_limit=20)
    assert plan.lattice == 3**13
    assert (set(plan.levels.values()), plan.value, plan.gap) == ({0}, 0.0, 0.0)
    forced = search(contingency, hierarchies, [Promise.make("k_anonymity", 4)], time_limit=0.2)
    assert forced.published(contingency).sizes.tolist() == [4]
    assert forced.value <= 1.0


@pytest.mark.parametrize(
    ("objective", "columns"),
    [
        *(
            (name, columns)
            for name in OBJECTIVES
            if name != "information"
            for columns in (1, 3, 16)
        ),
        pytest.param(lambda *_: 1.0, 3, id="own-3"),
    ],
)
def test_ties_are_decided_for_lower_levels(objective: Any, columns: int) -> None:
    """Everyone has the same value, the only one in its hierarchy.

    Suppressing it would be neither a loss nor of use.
    """
    import pyarrow as pa

    from divulge.counting import count
    from divulge.hierarchies import Hierarchy
    from divulge.sources import resolve_roles
    from tests.metrics.drawn import opened

    names = [f"q{i}" for i in range(columns)]
    table = opened(pa.table({name: ["DE"] * 3 for name in names}))
    contingency = count(table, resolve_roles(table, quasi_identifiers=names))
    hierarchies = {name: Hierarchy(name, {"DE": ("DE", "*")}) for name in names}
    plan = search(contingency, hierarchies, [Promise.make("k_anonymity", 2)], objective=objective)
    assert set(plan.levels.values()) == {0}


def test_invalid_searches_are_rejected() -> None:
    rows = [{"zip": "1301", "age": 20, "sex": "f", "disease": "flu"}] * 3
    contingency = counted(rows)
    k = [Promise.make("k_anonymity", 2)]
    with pytest.raises(BadInput, match="no promise"):
        search(contingency, HIERARCHIES, [])
    with pytest.raises(BadInput, match="no hierarchy for 'age', 'sex'"):
        search(contingency, {"zip": HIERARCHIES["zip"]}, k)
    with pytest.raises(BadInput, match="not a fraction"):
        search(contingency, HIERARCHIES, k, suppression=5)
    with pytest.raises(BadInput, match="did you mean 'precision'"):
        search(contingency, HIERARCHIES, k, objective="precison")
    with pytest.raises(BadInput, match="needs a population"):
        search(contingency, HIERARCHIES, [Promise.make("k_map", 2)])
    with pytest.raises(BadInput, match="not a sensitive attribute"):
        search(contingency, HIERARCHIES, [Promise.make("l_diversity", 2, attribute="salary")])
    assert {metric.name for metric in METRICS if metric.needs_population} == {
        "k_map",
        "journalist_risk",
        "k_map_plug_in",
        "journalist_risk_plug_in",
    }


def test_population_sizes_of_the_raw_classes_add_up() -> None:
    rows = [{"zip": z, "age": 20, "sex": "f", "disease": "flu"} for z in ("1301", "1302", "1401")]
    plan = search(
        counted(rows), HIERARCHIES, [Promise.make("k_map", 7)], population=np.array([3.0, 4.0, 9.0])
    )
    assert plan.levels == {"zip": 1, "age": 0, "sex": 0}
