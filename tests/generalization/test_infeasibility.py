# SPDX-License-Identifier: Apache-2.0
"""The diagnosis of infeasible requirements names feasible ones, and following it works."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from divulge.errors import Infeasible
from divulge.generalization import NothingFits, search
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise, Protection
from tests.generalization.drawn import HIERARCHIES, any_promise, counted, suppressions, tables

STIFF = HIERARCHIES | {"sex": Hierarchy("sex", {"f": ("f",), "m": ("m",)})}


def people(*diseases: str, sex: str = "f") -> list[dict[str, Any]]:
    return [{"zip": "1301", "age": 20, "sex": sex, "disease": disease} for disease in diseases]


def failure(rows: list[Any], promises: list[Promise], **options: Any) -> NothingFits:
    with pytest.raises(NothingFits) as caught:
        search(counted(rows), options.pop("hierarchies", HIERARCHIES), promises, **options)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    return caught.value


def test_more_people_than_there_are() -> None:
    error = failure(people("flu", "HIV", "flu"), [Promise.make("k_anonymity", 5)])
    assert (
        str(error)
        == "no generalization keeps k_anonymity >= 5 without suppression. What would fit: "
        "k_anonymity >= 3"
    )
    assert error.diagnosis.proved
    assert error.diagnosis.suppression is None


def test_a_column_that_is_an_obstacle() -> None:
    """Sex has no level above its values.

    Two men stay a class of two until sex is dropped or they are suppressed.
    """
    rows = people("flu", "HIV", "flu", "HIV", "flu", "flu") + people("flu", "HIV", sex="m")
    error = failure(rows, [Promise.make("k_anonymity", 4)], hierarchies=STIFF, suppression=0.1)
    diagnosis = error.diagnosis
    assert diagnosis.columns == ("sex",)
    assert [(item.promise, item.bound) for item in diagnosis.nearest] == [("k_anonymity >= 2", 2.0)]
    assert diagnosis.suppression == 0.25
    assert diagnosis.in_the_way is not None
    assert (diagnosis.in_the_way.labels["sex"], diagnosis.in_the_way.people) == ("m", 2)
    assert "leaving out the column 'sex'" in str(error)
    assert "suppression = 0.25" in str(error)
    assert re.search(r"in the way: the class zip=\S+, age=\S+, sex=m of 2 people", str(error))
    assert "{" not in str(error)


def test_suppression_is_used_up_first() -> None:
    """One of five may be suppressed: without the only man the four women are a class of four."""
    rows = people("flu", "HIV", "flu", "HIV") + people("flu", sex="m")
    error = failure(rows, [Promise.make("k_anonymity", 5)], hierarchies=STIFF, suppression=0.2)
    assert [item.promise for item in error.diagnosis.nearest] == ["k_anonymity >= 4"]


def test_a_value_that_stands_out() -> None:
    rows = people("flu", "flu", "flu", "flu") + people("HIV", "flu", sex="m")
    error = failure(rows, [Promise.make("t_closeness", 0.1)], hierarchies=STIFF)
    assert error.diagnosis.in_the_way is not None
    assert (error.diagnosis.in_the_way.labels["sex"], error.diagnosis.in_the_way.value) == (
        "m",
        "HIV",
    )


def test_requirements_that_must_be_relaxed_together() -> None:
    """Three people with two diseases are neither five people nor three diseases.

    Relaxing one requirement would leave the other.
    """
    promises = [
        Promise.make("k_anonymity", 5),
        Promise.make("l_diversity", 3),
        Promise.make("alpha", 0.9),
    ]
    diagnosis = failure(people("flu", "HIV", "flu"), promises).diagnosis
    assert diagnosis.nearest == ()
    assert [item.promise for item in diagnosis.together] == [
        "k_anonymity >= 3",
        "l_diversity of disease >= 2",
    ]
    assert "k_anonymity >= 3 together with l_diversity of disease >= 2" in diagnosis.text


def test_the_obstructing_class_contains_protected_people() -> None:
    """Both men are protected; the one woman is not."""
    rows = people("flu", "HIV", sex="m") + people("flu")
    men = Protection.make({"k_anonymity": 3}, where={"sex": "m"})
    error = failure(rows, [Promise.make("k_anonymity", 1)], hierarchies=STIFF, protections=[men])
    assert error.diagnosis.in_the_way is not None
    assert (error.diagnosis.in_the_way.promise, error.diagnosis.in_the_way.labels["sex"]) == (
        "k_anonymity >= 3 for sex = m",
        "m",
    )


@given(
    rows=tables(least=2),
    promises=st.lists(any_promise, min_size=1, max_size=3),
    suppression=suppressions,
)
@settings(deadline=None, max_examples=60)
def test_following_the_advice_works(
    rows: list[Any], promises: list[Promise], suppression: float
) -> None:
    contingency = counted(rows)
    try:
        search(contingency, STIFF, promises, suppression=suppression)
    except NothingFits as error:
        diagnosis = error.diagnosis
    else:
        reject()
    if diagnosis.suppression is not None:
        search(contingency, STIFF, promises, suppression=min(diagnosis.suppression, 1.0))
        with pytest.raises(Infeasible):
            search(
                contingency,
                STIFF,
                promises,
                suppression=max(diagnosis.suppression * len(rows) - 1.01, 0) / len(rows),
            )
    for nearest in diagnosis.nearest:
        relaxed = [_with_bound(promise, nearest.promise, nearest.bound) for promise in promises]
        search(contingency, STIFF, relaxed, suppression=suppression)
    if diagnosis.together:
        relaxed = promises
        for nearest in diagnosis.together:
            relaxed = [_with_bound(promise, nearest.promise, nearest.bound) for promise in relaxed]
        search(contingency, STIFF, relaxed, suppression=suppression)


def _with_bound(promise: Promise, text: str, bound: float) -> Promise:
    """The requirement that the advice is about, with the bound of the advice."""
    name = text.removeprefix("no requirement on ").removeprefix("identity ").split(" ")[0]
    about_identity = " of " not in text
    if promise.metric.name != name or (promise.metric.scope == "identity") != about_identity:
        return promise
    return Promise(promise.metric, bound, promise.attribute, promise.l_value)
