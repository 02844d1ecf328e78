# SPDX-License-Identifier: Apache-2.0
"""The paper's methods by name: worlds, Algorithm 1 as printed and corrected, Taylor; errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import Record, algorithm1_printed, leakage, possible_worlds
from divulge.dossier.paper_methods import MOST_UNCERTAIN, world_sizes
from divulge.errors import BadInput
from tests.dossier.oracle import exact, golden, record_of

triples = st.lists(
    st.tuples(
        st.sampled_from("NAPCZ"),
        st.sampled_from("12"),
        st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)]),
    ),
    unique_by=lambda entry: entry[:2],
    max_size=8,
)


def test_the_four_worlds_of_section_2_3() -> None:
    case = golden()["003-2.3-worlds"]
    expected = {
        frozenset(map(tuple, world)): float(Fraction(chance)) for world, chance in case["expected"]
    }
    found = dict(possible_worlds(record_of(case["inputs"]["r"])))
    assert found == pytest.approx(expected, rel=1e-15)


def test_the_polynomial_of_section_5_1() -> None:
    case = golden()["003-5.1-poly"]
    found = world_sizes(np.array([float(Fraction(c)) for c in case["inputs"]["conf_z"]]))
    assert found.tolist() == [float(Fraction(c)) for c in case["expected"]]


@settings(deadline=None)
@given(triples)
def test_all_exact_methods_agree_with_fractions(record: list[tuple[str, str, Fraction]]) -> None:
    reference = [("N", "1"), ("A", "1"), ("P", "2"), ("S", "0")]
    true = float(exact(record, reference, {}).leakage)
    r = Record.of([(label, value, float(c)) for label, value, c in record])
    p = Record.of(list(reference))
    for method in ("exact", "naive", "algorithm1"):
        found = leakage(r, p, method=method)
        assert found.leakage == pytest.approx(true, rel=1e-12)
        assert found.method == method
    places = [next((i for i, a in enumerate(r.attributes) if a == b), None) for b in p.attributes]
    assert algorithm1_printed(list(r.attributes.values()), places) == pytest.approx(true, rel=1e-12)


def test_equal_weights_need_not_be_1() -> None:
    r, p = Record.of([("N", "a", 0.5), ("P", "2", 0.5)]), Record.of({"N": "a", "P": "1"})
    weights = {"N": 7.0, "P": 7.0}
    assert leakage(r, p, weights=weights, method="algorithm1").leakage == pytest.approx(
        leakage(r, p).leakage, rel=1e-12
    )


@pytest.mark.parametrize("name", ["003-5.2-taylor-tiny", "003-5.2-taylor-fails"])
def test_taylor_equals_the_formula_of_section_5_2(name: str) -> None:
    case = golden()[name]
    inputs, expected = case["inputs"], case["expected"]
    r, p, weights = record_of(inputs["r"]), record_of(inputs["p"]), inputs.get("weights")
    near = leakage(r, p, weights=weights, method="taylor")
    true = leakage(r, p, weights=weights)
    taylor = (
        Fraction(expected["taylor"]) if isinstance(expected["taylor"], str) else expected["taylor"]
    )
    assert near.leakage == pytest.approx(float(taylor), rel=1e-12)
    assert true.leakage == pytest.approx(float(Fraction(expected["exact"])), rel=1e-12)
    assert near.error_bound == math.inf  # approximate, without a bound


def test_taylor_on_the_case_of_25_attributes() -> None:
    case = golden()["003-own-24-big-n25"]
    inputs = case["inputs"]
    entries = [(f"L{i}", "v", c / 16) for i, c in enumerate(inputs["conf_times_16"])]
    p = [(f"L{i}", "v") for i, inside in enumerate(inputs["in_p"]) if inside]
    weights = {f"L{i}": float(w) for i, w in enumerate(inputs["weights"])}
    weights["unknown"] = inputs["W_p"] - sum(weights[label] for label, _ in p)
    found = leakage(
        Record.of(entries), Record.of([*p, ("unknown", "v")]), weights=weights, method="taylor"
    )
    assert found.leakage == pytest.approx(case["expected"]["taylor"], rel=1e-12)


def test_methods_raise_an_error_for_unsupported_input() -> None:
    p = Record.of({"N": "a", "P": "1"})
    r = Record.of([("N", "a", 0.5), ("P", "1", 0.5)])
    with pytest.raises(BadInput, match="Algorithm 1 needs equal weights, these run from 1 to 2"):
        leakage(r, p, weights={"N": 2}, method="algorithm1")
    with pytest.raises(BadInput, match="taylor knows only F_1"):
        leakage(r, p, method="taylor", beta=2)
    with pytest.raises(BadInput, match="algorithm1 knows only F_1 and no grades"):
        leakage(
            Record.of({"A": "31"}), Record.of({"A": "30"}), method="algorithm1", graded={"A": 10}
        )
    many = Record.of([(f"L{i}", "x", 0.5) for i in range(MOST_UNCERTAIN + 1)])
    with pytest.raises(BadInput, match=r"naive method visits 2\^21 worlds"):
        leakage(many, p, method="naive")


def test_the_naive_method_counts_only_uncertain_attributes() -> None:
    many = Record.of([(f"L{i}", "x") for i in range(100)])
    assert leakage(many, Record.of({"L0": "x"}), method="naive").leakage == pytest.approx(
        2 / 101, rel=1e-12
    )
