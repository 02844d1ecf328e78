# SPDX-License-Identifier: Apache-2.0
"""ARX 3.9.2 finds the same optimum on Adult: levels, loss to nine digits, suppression, classes.

The two answers without t-closeness are ARX's own (geometric mean of the loss). The others come from
checking all 4,320 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from divulge.counting import Contingency
from divulge.generalization import search
from divulge.generalization.exact_search import build_problem
from divulge.generalization.lattice import lattice_of
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise
from tests.generalization import adult
from tests.metrics.adult import complete_adult

pytestmark = pytest.mark.public_data

Source = Callable[[], tuple[Contingency, Mapping[str, Hierarchy]]]


def public_adult() -> tuple[Contingency, Mapping[str, Hierarchy]]:
    return adult.counted(), adult.hierarchies()


@pytest.fixture(params=[public_adult, adult.counted_by_arx], ids=["public Adult", "ARX's files"])
def source(request: pytest.FixtureRequest) -> tuple[Contingency, Mapping[str, Hierarchy]]:
    load: Source = request.param
    return load()


K5 = [Promise.make("k_anonymity", 5)]


def test_5_anonymity(source: tuple[Contingency, Mapping[str, Hierarchy]]) -> None:
    plan = search(*source, K5)
    assert list(plan.levels.values()) == [0, 4, 1, 2, 3, 2, 0, 0]
    assert plan.value == pytest.approx(0.542210825, abs=5e-10)
    assert (plan.suppressed, plan.lattice, plan.gap) == (0, 4320, 0.0)


def test_5_anonymity_with_suppression(source: tuple[Contingency, Mapping[str, Hierarchy]]) -> None:
    plan = search(*source, K5, suppression=0.05)
    assert list(plan.levels.values()) == [0, 3, 0, 0, 2, 1, 1, 0]
    assert plan.value == pytest.approx(0.170122792, abs=5e-10)
    assert (plan.suppressed, plan.classes) == (1346, 397)
    assert plan.checked < 447  # ARX's


SETTINGS: list[tuple[Sequence[tuple[str, Any]], float, str]] = [
    ((("k_anonymity", 5), ("t_closeness", 0.2)), 0.05, "loss"),
    ((("k_anonymity", 5), ("entropy_leakage", 0.5), ("distribution_leakage", 0.3)), 0.05, "loss"),
    ((("k_anonymity", 20),), 0.02, "discernibility"),
]


@pytest.mark.parametrize(("promised", "suppression", "objective"), SETTINGS)
def test_all_nodes_of_adult(
    promised: Sequence[tuple[str, Any]], suppression: float, objective: str
) -> None:
    contingency, hierarchies = public_adult()
    promises = [Promise.make(name, bound) for name, bound in promised]
    problem = build_problem(
        contingency,
        lattice_of(contingency, hierarchies),
        promises,
        suppression=suppression,
        objective=objective,
    )
    costs = {}
    for node in product(*map(range, problem.rollup.lattice.shape)):
        candidate = problem.checker.check(node)
        if candidate.feasible:
            costs[node] = problem.objective.cost(candidate)
    plan = search(contingency, hierarchies, promises, suppression=suppression, objective=objective)
    assert plan.value == pytest.approx(min(costs.values()), rel=1e-12)
    assert costs[tuple(plan.levels.values())] == pytest.approx(min(costs.values()), rel=1e-12)


# pycanon groups by lists of one name, which newer versions of pandas warn of
@pytest.mark.filterwarnings("ignore")
def test_pycanon_confirms_the_requirements() -> None:
    anonymity = pytest.importorskip(
        "pycanon.anonymity", reason="pycanon is not installed (requirements-oracle.txt)"
    )
    contingency, hierarchies = public_adult()
    promises = [*K5, Promise.make("l_diversity", 3)]
    plan = search(contingency, hierarchies, promises, suppression=0.05)
    keys = list(adult.QUASI_IDENTIFIERS)
    number = {tuple(contingency.class_key(i).values()): i for i in range(len(contingency))}
    frame = complete_adult().select([*keys, "occupation"]).to_pandas()
    raw = np.array([number[row] for row in frame[keys].itertuples(index=False, name=None)])
    for labels, codes, key in zip(plan.recoding.labels, plan.recoding.codes, keys, strict=True):
        frame[key] = np.array(labels, dtype=object)[codes[raw]]
    frame = frame[plan.recoding.published_mask[raw]].reset_index(drop=True)
    assert len(frame) == 30162 - plan.suppressed
    assert anonymity.k_anonymity(frame, keys) >= 5
    assert anonymity.l_diversity(frame, keys, ["occupation"]) >= 3
