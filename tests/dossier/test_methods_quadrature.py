# SPDX-License-Identifier: Apache-2.0
"""The rules that approximate 1/u, and the certificate that bounds their error everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from divulge.dossier.expectation import TABLES, certificate, de_nodes, error_at, rule_for
from tests.dossier.oracle import golden

DE_CASES = [case for name, case in golden().items() if name.startswith("003-own-25")]


@pytest.mark.parametrize("case", DE_CASES, ids=lambda case: str(case["id"]))
def test_the_de_rule_is_golden_s(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    nodes, weights = de_nodes(inputs["h"], inputs["kappa"])
    assert len(nodes) == expected["nodes"]
    assert nodes[0] == pytest.approx(expected["first_node"], rel=1e-12)
    assert nodes[-1] == pytest.approx(expected["last_node"], rel=1e-12)
    worst = np.abs(error_at(np.geomspace(1 / inputs["kappa"], 1, 4000), nodes, weights)).max()
    assert expected["sup_relative_error"] / 2 < worst < expected["sup_relative_error"] * 2


@pytest.mark.parametrize(
    "ratio", [1.0, 1.5, 2.0, 2.5, 4.0, 5.0, 8.0, 9.0, 31.0, 100.0, 300.0, 1e3, 1e6, 1e9, 1e12, 1e40]
)
def test_every_rule_is_certified_far_below_1e_12(ratio: float) -> None:
    rule = rule_for(ratio)
    assert rule.ratio >= ratio
    assert rule.error < 1e-13
    assert (rule.weights > 0).all()
    assert (
        np.abs(error_at(np.geomspace(1, ratio, 3000), rule.nodes, rule.weights)).max() <= rule.error
    )


@pytest.mark.parametrize("ratio", [2.0, 4.0, 8.0, 20.0, 300.0, 1e6])
def test_no_rule_exceeds_1_over_u_below_its_range(ratio: float) -> None:
    # The neglect of worlds that are too rare to matter depends on it.
    rule = rule_for(ratio)
    below = error_at(np.geomspace(1e-12, 1, 4000), rule.nodes, rule.weights)
    assert below.min() >= -1
    assert below.max() <= rule.error


def test_tables_are_in_order_so_that_the_first_that_fits_is_the_cheapest() -> None:
    assert list(TABLES) == sorted(TABLES)
    sizes = [len(pairs) for pairs in TABLES.values()]
    assert sizes == sorted(sizes)
    assert sizes[-1] < len(de_nodes(0.25, max(TABLES))[0])


@pytest.mark.parametrize(("step", "least"), [(0.35, 3e-11), (0.30, 2.5e-13)])
def test_the_certificate_is_an_upper_bound_and_not_a_wild_one(step: float, least: float) -> None:
    nodes, weights = de_nodes(step, 1e6)
    seen = np.abs(error_at(np.geomspace(1e-6, 1, 20_000), nodes, weights)).max()
    assert least < seen <= certificate(nodes, weights, low=1e-6, high=1) < 5 * seen


def test_the_certificate_sees_a_spoiled_rule() -> None:
    rule = rule_for(4)
    spoiled = rule.weights * (1 + 1e-6 * (np.arange(len(rule.weights)) == 3))
    assert certificate(rule.nodes, spoiled, low=1, high=4) > 1e-8


def test_gauss_laguerre_needs_more_nodes_for_the_same_error() -> None:
    # golden A3: 12 nodes reach 1e-12 for ratio 2.5, scaled by the harmonic mean of the two ends.
    nodes, plain = np.polynomial.laguerre.laggauss(12)
    assert (
        certificate(nodes, plain * np.exp(nodes), low=(1 + 1 / 2.5) / 2, high=(1 + 2.5) / 2) < 1e-12
    )
    assert len(rule_for(2.5).nodes) < 12
