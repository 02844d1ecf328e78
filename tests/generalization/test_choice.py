# SPDX-License-Identifier: Apache-2.0
"""Columns to publish, protections for chosen people and values, and the Pareto front.

All are compared with trying everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.api.generalize import generalize
from divulge.errors import BadInput, Infeasible
from divulge.generalization import NothingFits, pareto_front, search
from divulge.policy import Policy, Promise, Protection
from divulge.releases import GeneralizedRelease
from tests import oracle as metrics_oracle
from tests.generalization import oracle
from tests.generalization.drawn import HIERARCHIES, TAXONOMIES, arrow, counted, tables, world
from tests.metrics.drawn import opened

COLUMNS = list(TAXONOMIES)


def classes_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[list[Any]]:
    return metrics_oracle.group(rows, columns) if columns else [list(rows)]


@given(rows=tables(), k=st.integers(2, 4), least=st.integers(2, 3))
@settings(deadline=None, max_examples=60)
def test_the_best_subset_of_columns(rows: list[Any], k: int, least: int) -> None:
    """A published column loses nothing, a dropped one everything, if it has more than one value."""
    subsets = chain.from_iterable(combinations(COLUMNS, size) for size in range(len(COLUMNS) + 1))
    fitting = []
    for columns in subsets:
        classes = classes_of(rows, columns)
        if (
            min(map(len, classes)) >= k
            and min(len({row["disease"] for row in members}) for members in classes) >= least
        ):
            lost = [
                len({row[name] for row in rows}) > 1 and name not in columns for name in COLUMNS
            ]
            fitting.append(float(2 ** (sum(lost) / len(COLUMNS)) - 1))

    def choose() -> GeneralizedRelease:
        return generalize(
            opened(arrow(rows)),
            policy=Policy(k_anonymity=k, l_diversity=least),
            quasi_identifiers=COLUMNS,
            sensitive="disease",
            method="columns",
        )

    if not fitting:
        with pytest.raises(Infeasible):
            choose()
        return
    plan = choose().plan
    assert plan.value == pytest.approx(min(fitting), abs=1e-9)
    assert (
        min(map(len, classes_of(rows, [name for name, level in plan.levels.items() if level == 0])))
        >= k
    )


@given(
    rows=tables(),
    k=st.integers(2, 4),
    suppression=st.sampled_from([0.0, 0.3]),
    absorbing=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_chosen_people(rows: list[Any], k: int, suppression: float, absorbing: bool) -> None:  # noqa: FBT001 - drawn
    """Only classes with a person of 45 or more must meet the additional requirement.

    The others may be of any size.
    """
    bound: tuple[str, float] = ("k_anonymity", k) if absorbing else ("t_closeness", 0.4)
    if not any(row["age"] >= 45 for row in rows):
        return
    table = world(rows)
    prior = Counter(row["disease"] for row in rows)

    def breaks(members: Sequence[Any]) -> bool:
        if not any(row["from"]["age"] >= 45 for row in members):
            return False
        if absorbing:
            return len(members) < k
        values = metrics_oracle.sensitive(
            [Counter(row["disease"] for row in members)], prior=prior
        )["t_closeness"]
        return values[0] > 0.4 + 1e-9

    costs = []
    for levels in table.nodes():
        classes = metrics_oracle.group(table.generalized(levels), table.keys)
        kept = [members for members in classes if not breaks(members)]
        gone = [row["from"] for members in classes if breaks(members) for row in members]
        if kept and len(gone) <= suppression * len(rows) + 1e-9:
            item = oracle.Published(levels, [row for members in kept for row in members], gone)
            costs.append(oracle.geometric(table, item))
    protection = Protection.make(dict([bound]), where={"age": ">=45"})
    arguments: dict[str, Any] = {"suppression": suppression, "protections": [protection]}
    everybody = [Promise.make("k_anonymity", 1)]
    if costs:
        assert search(counted(rows), HIERARCHIES, everybody, **arguments).value == pytest.approx(
            min(costs), abs=1e-9
        )
    else:
        with pytest.raises(Infeasible):
            search(counted(rows), HIERARCHIES, everybody, **arguments)


def test_unprotected_neighbors_prove_nothing() -> None:
    """130* contains the protected people of 1301 and violates t.

    Separated from their neighbors of 1302 they meet it, so lower levels stay possible.
    """
    ill = {"1301": ["flu", "HIV"], "1302": ["flu"] * 4, "1401": ["HIV"] * 4}
    rows = [
        {"zip": z, "age": 20, "sex": "f", "disease": d}
        for z, diseases in ill.items()
        for d in diseases
    ]
    protection = Protection.make({"t_closeness": 0.1}, where={"zip": "1301"})
    plan = search(
        counted(rows),
        HIERARCHIES,
        [Promise.make("k_anonymity", 1)],
        protections=[protection],
        keep_nodes=True,
    )
    assert plan.levels == {"zip": 0, "age": 0, "sex": 0}
    broken = [node for node in plan.nodes if not node.feasible]
    assert {node.levels["zip"] for node in broken} <= {1}


def test_chosen_values() -> None:
    """Half of the patients of 1301 have HIV, none elsewhere.

    Hiding HIV takes zip, but flu and cancer may stay separate.
    """
    ill = {"1301": ["HIV", "flu", "flu", "HIV"], "1401": ["cancer", "flu", "flu", "cancer"]}
    rows = [
        {"zip": z, "age": 20, "sex": "f", "disease": d}
        for z, diseases in ill.items()
        for d in diseases
    ]
    k = [Promise.make("k_anonymity", 2)]
    assert search(counted(rows), HIERARCHIES, k).levels["zip"] == 0
    hidden = Protection.make({"basic_beta_likeness": 0.5}, attribute="disease", values="HIV")
    assert search(counted(rows), HIERARCHIES, k, protections=[hidden]).levels["zip"] == 2
    # For cancer and HIV together, both towns have the same distribution.
    both = Protection.make({"t_closeness": 0.0}, attribute="disease", values=["HIV", "cancer"])
    plan = search(counted(rows), HIERARCHIES, k, protections=[both])
    assert plan.levels["zip"] == 0
    assert "t_closeness of disease = HIV, cancer <= 0" in plan.settings["promises"]


def test_invalid_protections() -> None:
    contingency = counted([{"zip": "1301", "age": 20, "sex": "f", "disease": "flu"}])
    k = [Promise.make("k_anonymity", 1)]

    def refused(match: str, **arguments: Any) -> None:
        with pytest.raises(BadInput, match=match):
            search(
                contingency,
                HIERARCHIES,
                k,
                protections=[Protection.make({"alpha": 0.5}, **arguments)],
            )

    refused("must choose people")
    refused("of which attribute", values="HIV")
    refused("nobody in the table", where={"age": ">90"})
    refused("cannot be compared", where={"age": ">old"})
    refused("has no value 'm'", where={"sex": "m"})
    refused("not a quasi-identifier", where={"salary": "flu"})
    refused("cannot be chosen by '>3'", where={"disease": ">3"})
    refused(
        "'>m' cannot be asked of 'sex', whose values are text, such as 'f'", where={"sex": ">m"}
    )
    refused("has no value 'HIV'", attribute="disease", values="HIV")
    refused("all values", attribute="disease", values="flu")
    with pytest.raises(BadInput, match="about the whole table"):
        search(
            contingency,
            HIERARCHIES,
            k,
            protections=[Protection.make({"mutual_information": 0.5}, where={"age": "20"})],
        )


LEAKAGES = ["entropy_leakage", "distribution_leakage", "k_anonymity", "mutual_information"]


@given(
    rows=tables(), names=st.lists(st.sampled_from(LEAKAGES), min_size=1, max_size=3, unique=True)
)
@settings(deadline=None, max_examples=25)
def test_the_front(rows: list[Any], names: list[str]) -> None:
    front = pareto_front(counted(rows), HIERARCHIES, names)
    table = world(rows)
    promises = [Promise.make(name, 0) for name in names]
    signs = [1 if promise.metric.worse == "high" else -1 for promise in promises]
    expected = {}
    for levels in table.nodes():
        classes = metrics_oracle.group(table.generalized(levels), table.keys)
        item = oracle.Published(levels, [row for members in classes for row in members], [])
        leakages = [table.numbers(classes, promise)[0] for promise in promises]
        risks = (sign * leakage for sign, leakage in zip(signs, leakages, strict=True))
        expected[str(levels)] = tuple(
            round(number, 9) for number in (oracle.geometric(table, item), *risks)
        )
    found = {str(dict(point.levels)): point for point in front.points}
    assert found.keys() == expected.keys()
    for node, numbers in expected.items():
        point = found[node]
        risks = (
            sign * leakage
            for sign, leakage in zip(signs, (point.leakage, *point.further), strict=True)
        )
        assert (point.value, *risks) == pytest.approx(numbers, abs=1e-8)
        others = (other for other in expected.values() if other != numbers)
        beaten = any(all(a <= b for a, b in zip(other, numbers, strict=True)) for other in others)
        assert point.on_front is not beaten
    assert [point.value for point in front.front] == sorted(point.value for point in front.front)


def test_the_front_with_a_requirement() -> None:
    rows = [
        {"zip": z, "age": 20, "sex": "f", "disease": d}
        for z in ("1301", "1302")
        for d in ("flu", "HIV")
    ]
    front = pareto_front(
        counted(rows), HIERARCHIES, ["k_anonymity"], promises=[Promise.make("k_anonymity", 4)]
    )
    assert {point.leakage for point in front.points} == {4.0}
    assert [dict(point.levels) for point in front.front] == [{"zip": 1, "age": 0, "sex": 0}]
    assert front.to_dict()["points"][0]["on_front"] is True
    with pytest.raises(BadInput, match="named twice"):
        pareto_front(counted(rows), HIERARCHIES, ["k_anonymity", "k_anonymity"])
    with pytest.raises(BadInput, match="needs a metric"):
        pareto_front(counted(rows), HIERARCHIES, [])
    with pytest.raises(NothingFits, match="no generalization keeps k_anonymity >= 5"):
        pareto_front(
            counted(rows), HIERARCHIES, ["k_anonymity"], promises=[Promise.make("k_anonymity", 5)]
        )
