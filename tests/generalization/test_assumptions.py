# SPDX-License-Identifier: Apache-2.0
"""Background knowledge, explicit priors, survey weights and several attributes in a search.

The search prunes correctly, and the release meets its requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from divulge.errors import BadInput, Infeasible
from divulge.generalization import Plan, mondrian, search
from divulge.generalization.exact_search import build_problem, solve
from divulge.generalization.lattice import lattice_of
from divulge.metrics import Measurement
from divulge.policy import Promise, judge
from tests.generalization.drawn import (
    HIERARCHIES,
    TAXONOMIES,
    TYPES,
    any_promise,
    suppressions,
    tables,
)
from tests.metrics.drawn import measured, opened

KEYS = list(TAXONOMIES)


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Build a table with a weight and a second sensitive column, both made from the row."""
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    columns["weight"] = pa.array([1.0 + 2.5 * (row["sex"] == "f") for row in rows])
    columns["visits"] = pa.array([len(row["disease"] or "") + row["age"] % 2 for row in rows])
    return pa.table(columns)


def released(plan: Plan, before: Measurement, table: pa.Table) -> pa.Table:
    recoding, contingency = plan.recoding, before.contingency
    number = {tuple(contingency.class_key(i).values()): i for i in range(len(contingency))}
    raw = [number[tuple(row[key] for key in KEYS)] for row in table.to_pylist()]
    columns = {name: table[name] for name in table.column_names}
    for position, key in enumerate(KEYS):
        columns[key] = pa.array(
            [recoding.labels[position][recoding.codes[position][i]] for i in raw], pa.string()
        )
    return pa.table(columns).filter(pa.array([bool(recoding.published_mask[i]) for i in raw]))


def measure_or_reject(table: Any, **options: Any) -> Measurement:
    """Measure, or reject the example if the background knowledge matches nobody."""
    try:
        return measured(table, quasi_identifiers=KEYS, **options)
    except BadInput:
        reject()


assumptions = st.sampled_from(
    [
        {"sensitive": "disease", "rule_out": {"disease": ["flu"]}},
        {"sensitive": "disease", "rule_in": {"disease": ["flu", "HIV"]}},
        {"sensitive": "disease", "weight": "weight"},
        {"sensitive": "disease", "weight": "weight", "rule_out": {"disease": ["HIV"]}},
        {"sensitive": ["disease", "visits"], "distances": {"visits": "equal"}},
        {"sensitive": ["disease", "visits"], "joint": True},
    ]
)


@given(
    rows=tables(),
    options=assumptions,
    promises=st.lists(any_promise, min_size=1, max_size=2),
    suppression=suppressions,
)
@settings(deadline=None, max_examples=60)
def test_the_optimum_of_all_nodes(
    rows: list[Any], options: dict[str, Any], promises: list[Promise], suppression: float
) -> None:
    table = table_of(rows)
    before = measure_or_reject(table, **options)
    contingency = before.contingency
    problem = build_problem(
        contingency,
        lattice_of(contingency, HIERARCHIES),
        promises,
        beliefs=before.beliefs,
        suppression=suppression,
    )
    candidates = [
        problem.checker.check(node) for node in product(*map(range, problem.rollup.lattice.shape))
    ]
    costs = [problem.objective.cost(candidate) for candidate in candidates if candidate.feasible]
    if not costs:
        with pytest.raises(Infeasible):
            solve(problem)
        return
    plan = solve(problem)
    assert plan.value == pytest.approx(min(costs), abs=1e-9)
    again = measure_or_reject(released(plan, before, table), original=opened(table), **options)
    assert judge(again, promises).holds


@given(rows=tables(), options=assumptions, promises=st.lists(any_promise, min_size=1, max_size=2))
@settings(deadline=None, max_examples=30)
def test_mondrian_uses_the_assumptions(
    rows: list[Any], options: dict[str, Any], promises: list[Promise]
) -> None:
    table = table_of(rows)
    before = measure_or_reject(table, **options)
    try:
        plan = mondrian(before.contingency, promises, beliefs=before.beliefs)
    except Infeasible:
        return
    again = measure_or_reject(released(plan, before, table), original=opened(table), **options)
    assert judge(again, promises).holds


def test_an_explicit_prior_stays_in_effect() -> None:
    """Half of the town has HIV. With a prior of one half nothing is learned.

    With a prior of one tenth even one class violates the bound.
    """
    rows = [
        {"zip": z, "age": 20, "sex": "f", "disease": d}
        for z in ("1301", "1302")
        for d in ("flu", "HIV")
    ]
    close = [Promise.make("t_closeness", 0.3)]
    for share, fits in ((0.5, True), (0.1, False)):
        prior = {"flu": 1 - share, "HIV": share}
        before = measured(table_of(rows), quasi_identifiers=KEYS, sensitive="disease", prior=prior)
        if fits:
            plan = search(before.contingency, HIERARCHIES, close, beliefs=before.beliefs)
            assert set(plan.levels.values()) == {0}
            assert plan.settings["prior"] == {"disease": "given"}
        else:
            with pytest.raises(Infeasible, match=r"t_closeness of disease <= 0\.4"):
                search(before.contingency, HIERARCHIES, close, beliefs=before.beliefs)


def test_people_with_several_rows_are_rejected() -> None:
    rows = [{"zip": "1301", "age": 20, "sex": "f", "disease": "flu"}] * 2
    k = [Promise.make("k_anonymity", 2)]
    table = table_of(rows).append_column("who", [["ann", "ann"]])
    owned = measured(table, quasi_identifiers=KEYS, person="who")
    with pytest.raises(BadInput, match="own several rows"):
        search(owned.contingency, HIERARCHIES, k)
