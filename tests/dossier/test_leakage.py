# SPDX-License-Identifier: Apache-2.0
"""Record and set leakage: golden cases of the paper, errata, and an oracle in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from divulge.dossier import Batch, Record, leakage, record_leakages, set_leakage
from divulge.dossier.expectation import expected_share
from divulge.dossier.leakage import METHODS
from divulge.errors import BadInput
from tests.dossier.oracle import exact, f_beta, golden, record_of

CERTIFIED = 1e-12

QUANTITY = {
    "003-2.1-precision": "precision",
    "003-2.2-recall": "recall",
    "003-2.3-expected-precision": "precision",
    "003-2.3-expected-recall": "recall",
}
ONE_RECORD = [
    case
    for case in golden().values()
    if {"r", "p"} <= case["inputs"].keys() and isinstance(case["expected"], str)
]


def identifier(case: dict[str, Any]) -> str:
    return str(case["id"])


@pytest.mark.parametrize("case", ONE_RECORD, ids=identifier)
def test_golden_records(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    found = leakage(record_of(inputs["r"]), record_of(inputs["p"]), weights=inputs.get("weights"))
    value = getattr(found, QUANTITY.get(case["id"], "leakage"))
    assert value == pytest.approx(float(Fraction(case["expected"])), rel=CERTIFIED)
    assert found.error_bound < CERTIFIED


@pytest.mark.parametrize("case", ONE_RECORD, ids=identifier)
def test_the_oracle_agrees_with_golden_as_a_fraction(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    found = exact(
        [(label, value, Fraction(confidence)) for label, value, confidence in inputs["r"]],
        [(label, value) for label, value in inputs["p"]],
        {label: Fraction(weight) for label, weight in inputs.get("weights", {}).items()},
    )
    assert getattr(found, QUANTITY.get(case["id"], "leakage")) == Fraction(case["expected"])


def test_the_golden_records_are_all_there() -> None:
    assert len(ONE_RECORD) == 27


def test_the_paper_prints_13_20_for_weights_it_does_not_use() -> None:
    # Section 2.3 sets w_N = 2 and then computes with equal weights.
    r, p = (
        Record.of([("N", "Alice", 0.5), ("A", "20")]),
        Record.of({"N": "Alice", "A": "20", "P": "123"}),
    )
    assert leakage(r, p, weights={"N": 2}).leakage == pytest.approx(22 / 35, rel=CERTIFIED)
    assert leakage(r, p).leakage == pytest.approx(13 / 20, rel=CERTIFIED)


def test_f_beta_of_the_paper_s_example() -> None:
    case = golden()["003-2.2-Fbeta"]
    inputs = case["inputs"]
    assert f_beta(Fraction(inputs["Pr"]), Fraction(inputs["Re"]), Fraction(2)) == Fraction(
        case["expected"]
    )
    example = golden()["003-2.2-F1"]["inputs"]
    found = leakage(
        record_of(example["r"]), record_of(example["p"]), weights=example["weights"], beta=2
    )
    assert found.leakage == pytest.approx(5 / 8, rel=CERTIFIED)


def test_beta_0_is_precision_and_a_large_beta_recall() -> None:
    r = Record.of([("N", "a", 0.5), ("P", "2", 0.25), ("C", "9", 0.75)])
    p = Record.of({"N": "a", "C": "9", "Z": "5"})
    assert leakage(r, p, beta=0).leakage == leakage(r, p).precision
    assert leakage(r, p, beta=1e6).leakage == pytest.approx(leakage(r, p).recall, rel=1e-11)


def test_set_leakage_before_entity_resolution() -> None:
    inputs = golden()["003-2.4-before-ER"]["inputs"]
    database = [record_of(triples) for triples in inputs["R"].values()]
    found = set_leakage(database, record_of(inputs["p"]))
    assert found.leakage == pytest.approx(2 / 3, rel=CERTIFIED)
    assert found.each == pytest.approx((2 / 3, 2 / 3, 0.0), rel=CERTIFIED)
    assert found.witnesses == tuple(database[:2])  # r and s tie


def test_ties_are_found_in_spite_of_rounding() -> None:
    # The same record in another order, and with its weights elsewhere: equal leakage, other
    # rounding.
    entries = [(f"L{i}", "v", 0.1 + 0.8 * i / 40) for i in range(40)]
    p = Record.of([(label, "v") for label, _, _ in entries[:20]])
    database = [
        Record.of(entries),
        Record.of(entries[::-1]),
        Record.of(entries[20:] + entries[:20]),
    ]
    assert len(set_leakage(database, p).witnesses) == 3


def test_an_empty_database_leaks_nothing() -> None:
    found = set_leakage([], Record.of({"N": "a"}))
    assert (found.leakage, found.each, found.witnesses) == (0.0, (), ())


def test_nobody_witnesses_a_leakage_of_0() -> None:
    assert set_leakage([Record.of({"N": "b"})], Record.of({"N": "a"})).witnesses == ()


def test_the_case_of_25_attributes_with_25_digits() -> None:
    case = golden()["003-own-24-big-n25"]
    inputs = case["inputs"]
    weight = np.array(inputs["weights"], dtype=float)
    correct = np.array(inputs["in_p"], dtype=bool)
    batch = Batch(
        1,
        np.zeros(25, dtype=np.int64),
        np.array(inputs["conf_times_16"]) / 16,
        weight,
        weight * correct,
        np.empty((0, 2), dtype=np.int64),
    )
    found = expected_share(batch, float(inputs["W_p"]))
    assert 2 * found.value[0] == pytest.approx(float(case["expected"]["value"]), rel=1e-13)
    assert found.error[0] < 1e-13


def test_the_same_case_through_records() -> None:
    case = golden()["003-own-24-big-n25"]
    inputs = case["inputs"]
    entries = [(f"L{i}", "v", c / 16) for i, c in enumerate(inputs["conf_times_16"])]
    p = [(f"L{i}", "v") for i, inside in enumerate(inputs["in_p"]) if inside]
    weights = {f"L{i}": float(w) for i, w in enumerate(inputs["weights"])}
    weights["unknown"] = inputs["W_p"] - sum(weights[label] for label, _ in p)
    found = leakage(Record.of(entries), Record.of([*p, ("unknown", "v")]), weights=weights)
    assert found.leakage == pytest.approx(float(case["expected"]["value"]), rel=1e-13)


def test_many_records_at_once_equal_one_at_a_time() -> None:
    random = np.random.default_rng(7)
    weights = {f"L{i}": float(10 ** random.uniform(-3, 3)) for i in range(60)}
    p = Record.of([(f"L{i}", "true") for i in range(0, 60, 2)])
    sizes = [0, 1, 2, 5, 60, 30, 0, 17]
    records = [
        Record.of(
            [
                (
                    f"L{i}",
                    "true" if random.random() < 0.5 else "false",
                    float(random.choice([1.0, random.random()])),
                )
                for i in random.permutation(60)[:size]
            ]
        )
        for size in sizes
    ]
    together = record_leakages(records * 40, p, weights=weights)
    alone = [leakage(record, p, weights=weights).leakage for record in records] * 40
    assert together == pytest.approx(alone, rel=CERTIFIED)


def test_settings_are_written_into_the_result() -> None:
    found = leakage(
        Record.of({"N": "a"}), Record.of({"N": "a"}), weights={"N": 2}, beta=2, graded={"A": 10}
    )
    assert found.method == "exact"
    assert dict(found.settings) == {
        "beta": 2.0,
        "weights": {"N": 2.0},
        "equivalence": False,
        "graded": {"A": 10},
        "background": [],
        "joint": {},
        "method": "exact",
    }


@pytest.mark.parametrize("beta", [-1, float("nan"), float("inf"), 1e7, True])
def test_a_bad_beta_is_refused(beta: float) -> None:
    with pytest.raises(BadInput, match="beta is"):
        leakage(Record.of({"N": "a"}), Record.of({"N": "a"}), beta=beta)


def test_bad_requests_are_refused() -> None:
    r, p = Record.of({"N": "a"}), Record.of({"N": "a"})
    with pytest.raises(BadInput, match=r"there is no method 'exakt'\. did you mean 'exact'"):
        leakage(r, p, method="exakt")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="reference record is empty"):
        leakage(r, Record.of([]))
    with pytest.raises(BadInput, match="weight of 'N' is -1"):
        set_leakage([r], p, weights={"N": -1})
    assert METHODS == ("exact", "naive", "algorithm1", "taylor")
