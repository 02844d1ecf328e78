# SPDX-License-Identifier: Apache-2.0
"""Background knowledge: Afifi's Example 1 (Bob and Carl), positive, negative disclosure; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from divulge.errors import BadInput
from divulge.metrics import Measurement
from tests.literature import TABLE_1B
from tests.metrics.drawn import measured

BOB, FOURTIES, CARL = (
    {"zip": "476**", "age": "2*"},
    {"zip": "4790*", "age": ">=40"},
    {"zip": "476**", "age": "3*"},
)


def told(**options: Any) -> Measurement:
    return measured(TABLE_1B, quasi_identifiers=["zip", "age"], sensitive="disease", **options)


def number(found: Measurement, name: str, key: dict[str, str]) -> float:
    keys = [found.contingency.class_key(i) for i in range(len(found.contingency))]
    return float(found.per_class(name, "disease")[keys.index(key)])


def test_bob_has_heart_disease() -> None:
    """Homogeneity: the class of Bob has one value."""
    found = told()
    assert number(found, "alpha", BOB) == 1
    assert number(found, "alpha", CARL) == pytest.approx(2 / 3)
    assert found["l_diversity"].worst is not None
    assert found["l_diversity"].worst.key == BOB


RULED_OUT: list[dict[str, Any]] = [
    {"rule_out": {"disease": ["Heart Disease"]}},
    {"rule_out": {"disease": "Heart Disease"}},
    {"rule_out": ["disease=Heart Disease"]},
]
RULED_IN: list[dict[str, Any]] = [
    {"rule_in": {"disease": ["Cancer", "Flu"]}},
    {"rule_in": ["disease=Cancer", "disease=Flu"]},
]


@pytest.mark.parametrize("known", [*RULED_OUT, *RULED_IN])
def test_carl_has_cancer(known: dict[str, Any]) -> None:
    """Carl has a very low risk of heart disease.

    Only cancer remains in his class (positive disclosure).
    """
    found = told(**known)
    assert number(found, "alpha", CARL) == 1
    assert number(found, "l_diversity", CARL) == 1
    # Prior: 3 cancer, 1 flu. Flu is ruled out for Carl (negative disclosure); in the other class
    # both are left.
    assert number(found, "values_ruled_out", CARL) == 1
    assert number(found, "surprise", CARL) == pytest.approx(np.log2(4 / 3))
    assert number(found, "values_ruled_out", FOURTIES) == 0
    assert number(found, "alpha", FOURTIES) == 0.5


def test_a_class_that_knowledge_excludes_is_left_out() -> None:
    """Nobody in Bob's class can be the person: the class has no number and does not count."""
    found = told(rule_out={"disease": "Heart Disease"})
    assert np.isnan(number(found, "alpha", BOB))
    assert found.beliefs["disease"].classes.tolist() == [1, 2]
    records = {tuple(record["class"].values()): record for record in found.class_records()}
    assert records[tuple(BOB.values())]["sensitive"] == {}
    assert records[tuple(CARL.values())]["sensitive"]["disease"]["alpha"] == 1
    # Two classes of two people with H = 1 and 0 bits, H(W) of 3:1 = .811.
    assert found["mutual_information"].value == pytest.approx(0.811278 - 0.5, abs=1e-6)
    assert found.identity["k_anonymity"].value == 3


def test_knowledge_is_recorded() -> None:
    assert told(**RULED_OUT[0]).settings["background"] == {
        "disease": {"ruled_out": ["Heart Disease"]}
    }
    assert told(**RULED_IN[0]).settings["background"] == {
        "disease": {"ruled_in": ["Cancer", "Flu"]}
    }
    assert told().settings["background"] == {}


def test_knowledge_with_a_given_prior() -> None:
    """The prior loses the excluded value and is rescaled: 1/8 flu and 3/8 cancer of 1/2."""
    found = told(
        rule_out={"disease": "Heart Disease"},
        prior={"Cancer": 3 / 8, "Flu": 1 / 8, "Heart Disease": 1 / 2},
    )
    assert found.beliefs["disease"].prior.shares[0] == pytest.approx([0.75, 0.25, 0])
    assert number(found, "surprise", CARL) == pytest.approx(np.log2(4 / 3))


def test_knowledge_with_a_prior_for_each_class() -> None:
    """Class a is excluded, and its prior with it; the others keep their own."""
    table = pa.table({"q": ["a", "b", "b", "c"], "s": ["x", "y", "z", "z"]})
    rows = [
        {"q": q, "s": s, "probability": share}
        for q, shares in {"a": (1, 0, 0), "b": (0, 0.5, 0.5), "c": (0, 0.75, 0.25)}.items()
        for s, share in zip("xyz", shares, strict=True)
    ]
    found = measured(table, quasi_identifiers="q", sensitive="s", prior=rows, rule_out={"s": ["x"]})
    assert found.beliefs["s"].classes.tolist() == [1, 2]
    assert found.per_class("surprise", "s")[1:] == pytest.approx([0, 2])


def test_numbers_and_nulls_can_be_ruled_out() -> None:
    table = pa.table({"q": ["a", "a", "a", "b"], "s": [1, 2, None, None]})
    for values in (1, [1], ["1"]):
        found = measured(table, quasi_identifiers="q", sensitive="s", rule_out={"s": values})
        assert found.per_class("l_diversity", "s").tolist() == [2, 1]
    found = measured(table, quasi_identifiers="q", sensitive="s", rule_out={"s": [None]})
    assert found.per_class("l_diversity", "s")[0] == 2
    assert found.beliefs["s"].classes.tolist() == [0]


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"rule_out": {"disease": ["Hart Disease"]}},
        "'disease' has no value 'Hart Disease'.*did you mean 'Heart Disease'",
    ),
    (
        {"rule_out": {"disease": ["Heart Disease", "Flu", "Cancer"]}},
        "every value of 'disease' is ruled out",
    ),
    ({"rule_out": {"age": ["2*"]}}, "'age', which is not a sensitive attribute"),
    ({"rule_out": ["disease"]}, "'disease' does not say which value is meant. write COLUMN=VALUE"),
    ({"rule_out": {"disease": []}}, "must rule values out or in"),
    ({"rule_out": ["disease=Flu"], "rule_in": ["disease=Cancer"]}, "ruled both out and in"),
    (
        {
            "rule_out": ["disease=Heart Disease"],
            "prior": {"Heart Disease": 1, "Flu": 0, "Cancer": 0},
        },
        "gives no weight to what is left",
    ),
]


@pytest.mark.parametrize(("known", "message"), REFUSED)
def test_refused(known: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        told(**known)


def test_knowledge_that_fits_nobody_is_refused() -> None:
    original = pa.table({"disease": ["Flu", "Gout"]})
    with pytest.raises(BadInput, match="fits nobody in the table"):
        told(rule_in={"disease": "Gout"}, original=original)
