# SPDX-License-Identifier: Apache-2.0
"""A requirement that no table can violate is rejected; every other one is accepted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.errors import BadInput, Infeasible
from divulge.metrics import METRICS, find_metric
from divulge.policy import Policy, Promise, Protection
from tests.helpers import run_cli
from tests.metrics.drawn import Counts, contingency_of, counts, numbers_of

ROLES: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease"}
PEOPLE = pa.table({"age": [30, 30, 40, 40, 50], "disease": ["flu", "cold", "flu", "cold", "flu"]})
VACUOUS: list[tuple[str, Any]] = [
    ("k_anonymity", 1),
    ("k_anonymity", 0),
    ("k_map", 1),
    ("log2_k", 0),
    ("l_diversity", 1),
    ("entropy_l_diversity", 0.5),
    ("alpha", 1),
    ("alpha", 7),
    ("prosecutor_risk", 1),
    ("t_closeness", 1),
    ("distribution_leakage", 1.5),
    ("itpr", 1),
    ("posterior_vulnerability", 1),
    ("recursive_c_l_diversity", {"c": 1.5, "l": 1}),
]
MEANINGFUL: list[tuple[str, Any]] = [
    ("k_anonymity", 2),
    ("k_anonymity", 1.5),
    ("uniques", 0),
    ("uniques", 10**9),
    ("l_diversity", 2),
    ("alpha", 0.999),
    ("alpha", 0),
    ("t_closeness", 0.99),
    ("distribution_leakage", 1.41),
    ("entropy_leakage", 50),
    ("multiplicative_leakage", 1000),
    ("recursive_c_l_diversity", {"c": 1, "l": 1}),
    ("recursive_c_l_diversity", {"c": 1000, "l": 2}),
]
WAYS: dict[str, Callable[[str, Any], Any]] = {
    "keyword": lambda name, bound: Policy(**{name: bound}),
    "value": lambda name, bound: Policy([Promise.make(name, bound)]),
    "document": lambda name, bound: Policy.of({"promises": {name: bound}}),
    "chosen people": lambda name, bound: Policy(
        k_anonymity=2, protections=[Protection.make({name: bound}, where={"age": ">= 40"})]
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "bound"), VACUOUS)
def test_vacuous_requirements_are_rejected(way: str, name: str, bound: Any) -> None:
    with pytest.raises(BadInput, match="requires nothing: no table can violate it"):
        WAYS[way](name, bound)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "bound"), MEANINGFUL)
def test_requirements_that_some_table_violates_are_accepted(
    way: str, name: str, bound: Any
) -> None:
    WAYS[way](name, bound)


@given(counts(), st.integers(0, 3))
@settings(deadline=None, max_examples=100)
def test_no_table_is_worse_than_the_worst_possible(drawn: Counts, beyond_the_table: int) -> None:
    counted = contingency_of(drawn)
    values = numbers_of(counted, population=counted.sizes + beyond_the_table).table
    for metric in METRICS:
        worst = metric.worst_possible()
        if worst is not None:
            assert metric.holds(values[metric.scope, metric.name], worst), metric.name


def test_the_worst_possible_is_reached_or_approached() -> None:
    """In each of two tables everybody is unique: by a distinct disease, or by one in a thousand."""
    own = [{str(value): 1} for value in range(1000)]
    rare = [{"a": 1}] * 999 + [{"b": 1}]
    tables = [contingency_of(drawn) for drawn in (own, rare)]
    values = [numbers_of(counted, population=counted.sizes).table for counted in tables]
    for metric in METRICS:
        worst = metric.worst_possible()
        if worst is not None:
            nearest = metric.worst(np.array([item[metric.scope, metric.name] for item in values]))
            assert math.isclose(nearest, worst, abs_tol=0.002), metric.name


def test_the_worst_possible_of_metrics_with_a_limit() -> None:
    """A class has one person and one value; chances and shares are 1; bits have no limit."""
    limits = {
        metric.name: metric.worst_possible(3)
        for metric in METRICS
        if metric.worst_possible(3) is not None
    }
    chances = (
        "prosecutor_risk marketer_risk journalist_risk journalist_risk_plug_in entropy_l_risk "
        "posterior_vulnerability maximum_vulnerability additive_leakage alpha"
    )
    shares = "discrimination_rate conditional_privacy itpr itpr_unscaled"
    counts = "k_anonymity k_map k_map_plug_in l_diversity entropy_l_diversity"
    assert limits == {
        **dict.fromkeys(f"{chances} {shares} {counts} t_closeness".split(), 1.0),
        **dict.fromkeys(["log2_k", "shannon_conditional_entropy"], 0.0),
        "distribution_leakage": math.sqrt(2),
    }
    recursive = find_metric("recursive_c_l_diversity")
    assert [recursive.worst_possible(l_value) for l_value in (1, 2)] == [1.0, None]


@pytest.mark.parametrize(
    ("name", "shown"), [("k-anonymity", "1"), ("l-diversity", "1"), ("alpha", "1")]
)
@pytest.mark.parametrize("command", ["check", "generalize"])
def test_commands_reject_it_with_exit_code_2(
    command: str, name: str, shown: str, tmp_path: Path
) -> None:
    source = tmp_path / "people.csv"
    source.write_text("age,disease\n" + "30,flu\n30,cold\n" * 3, encoding="utf-8")
    out = ["--out", str(tmp_path / "release")] if command == "generalize" else []
    ran = run_cli(
        command, str(source), "--qi", "age", "--sensitive", "disease", f"--{name}", shown, *out
    )
    sign = find_metric(name.replace("-", "_")).sign
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"{name.replace('-', '_')} {sign} 1 requires nothing: no table can violate it" in ran.err
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    "bounds", [{"k_anonymity": 6}, {"l_diversity": 3}, {"alpha": 0}, {"uniques": 0, "alpha": 0.1}]
)
def test_requirements_that_this_table_cannot_meet_fail(bounds: dict[str, Any]) -> None:
    assert not dv.check(PEOPLE, Policy(**bounds), **ROLES).holds
    with pytest.raises(Infeasible) as caught:
        dv.generalize(PEOPLE, policy=Policy(**bounds), **ROLES)
    assert caught.value.exit_code == 3


def test_the_advice_never_names_a_bound_that_is_rejected() -> None:
    """A table of one value has an l of 1 in every class."""
    table = pa.table({"age": [30, 30, 40], "disease": ["flu"] * 3})
    with pytest.raises(
        Infeasible, match="What would fit: no requirement on l_diversity of disease"
    ):
        dv.generalize(table, policy=Policy(l_diversity=2), **ROLES)


def test_the_manifest_of_a_release_is_checked_too(tmp_path: Path) -> None:
    dv.generalize(PEOPLE, policy=Policy(k_anonymity=2), **ROLES).write(tmp_path / "release")
    manifest = tmp_path / "release" / "manifest.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    document["policy"]["promises"][0]["bound"] = 1
    manifest.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput, match="k_anonymity >= 1 requires nothing"):
        dv.check(tmp_path / "release")


@pytest.mark.parametrize("name", ["alpha", "beta", "gamma", "delta"])
@pytest.mark.parametrize("bound", [1, 1.0, "1", "4/4"])
def test_an_anatomized_release_is_not_bounded_by_one(name: str, bound: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"{name} <= .* requires nothing: no release can violate it"):
        dv.anatomize(PEOPLE, quasi_identifiers="age", sensitive="disease", **{name: bound})
    dv.anatomize(
        PEOPLE.slice(0, 4), quasi_identifiers="age", sensitive="disease", beta="1/2"
    ).write(tmp_path / "release")
    with pytest.raises(BadInput, match=f"{name} <= .* requires nothing"):
        dv.check(tmp_path / "release", **{name: bound})
