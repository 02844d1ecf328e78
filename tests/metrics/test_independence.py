# SPDX-License-Identifier: Apache-2.0
"""Metrics that order classes alike, compared with scipy's Spearman on one row per person.

Other tests compare with hand counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.helpers import run_cli


def people(seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    disease = draw.choice(["flu", "cold", "hiv", "asthma"], size=120, p=[0.5, 0.3, 0.15, 0.05])
    return pd.DataFrame(
        {"age": draw.integers(0, 12, 120), "sex": draw.choice(["f", "m"], 120), "disease": disease}
    )


@pytest.fixture(scope="module")
def measured() -> dv.Measurement:
    return dv.measure(people(), quasi_identifiers=["age", "sex"], sensitive="disease")


@pytest.mark.parametrize("weigh", ["people", "classes"])
def test_correlations_are_those_of_one_row_per_person_or_class(
    measured: dv.Measurement, weigh: Any
) -> None:
    # takes a second, which every process would spend that only looks for tests
    from scipy.stats import spearmanr

    found = measured.independence(weigh=weigh)
    sizes = measured.contingency.sizes
    repeats = sizes if weigh == "people" else np.ones(len(sizes), dtype=np.int64)
    numbers = {
        "surprise": measured.per_class("surprise", "disease"),
        "l_diversity": -measured.per_class("l_diversity", "disease"),  # fewer values are worse
        "entropy_leakage": measured.per_class("entropy_leakage", "disease"),
        "identity.k_anonymity": -sizes.astype(np.float64),
    }
    for one, other in [
        ("surprise", "entropy_leakage"),
        ("surprise", "l_diversity"),
        ("l_diversity", "identity.k_anonymity"),
    ]:
        expected = spearmanr(
            np.repeat(numbers[one].round(9), repeats), np.repeat(numbers[other].round(9), repeats)
        )
        assert found.between(one, other) == pytest.approx(expected.statistic, abs=1e-9)
    assert found.two_leakages == found.between("distribution_leakage", "entropy_leakage")


def test_metrics_with_equal_orders_are_grouped(measured: dv.Measurement) -> None:
    orders = measured.independence().orders
    sharing = {name: order for order in orders for name in order.metrics}
    # 2^-H, 2^H and H - H(class) are the same order of H; everything about identity here is a
    # function of the size of the class.
    assert (
        sharing["entropy_l_risk"]
        is sharing["entropy_l_diversity"]
        is sharing["maximum_information_leakage"]
    )
    assert (
        sharing["identity.k_anonymity"]
        is sharing["identity.itpr"]
        is sharing["identity.prosecutor_risk"]
    )
    assert sharing["surprise"] is not sharing["entropy_l_diversity"]
    far = [float(order.independence or 0) for order in orders]
    assert far == sorted(far, reverse=True)
    for order in orders:
        others = [
            abs(measured.independence().between(order.name, other.name))
            for other in orders
            if other is not order
        ]
        assert order.correlation is not None
        assert abs(order.correlation) == pytest.approx(max(others))
        assert order.independence == pytest.approx(1 - np.mean(others))


def test_a_metric_without_differences_has_no_order() -> None:
    # Three classes of two people with both values each: nothing about the disease differs, nor the
    # sizes.
    table = pd.DataFrame({"zip": [1, 1, 2, 2, 3, 3, 4], "disease": ["flu", "cold"] * 3 + ["flu"]})
    found = dv.measure(table.head(6), quasi_identifiers="zip", sensitive="disease").independence()
    assert (found.names, found.orders, found.two_leakages) == ((), (), None)
    assert "surprise" in found.constant
    with pytest.raises(BadInput, match="none orders them"):
        found.chart()
    with pytest.raises(BadInput, match="2 classes have no order"):
        dv.measure(table.head(4), quasi_identifiers="zip", sensitive="disease").independence()
    with pytest.raises(BadInput, match="'zip' is not sensitive here"):
        dv.measure(table, quasi_identifiers="zip", sensitive="disease").independence("zip")
    assert dv.measure(table, quasi_identifiers="zip").independence().names[0] == "k_anonymity"


def test_the_command_and_the_chart_agree(measured: dv.Measurement, tmp_path: Any) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    words = (
        "measure",
        str(tmp_path / "t.csv"),
        "--qi",
        "age,sex",
        "--sensitive",
        "disease",
        "--independence",
    )
    (told,) = run_cli(*words, "--json").json()["independence"]
    found = measured.independence()
    assert told["metrics"] == list(found.names)
    assert np.array(told["correlation"]) == pytest.approx(found.correlation)
    assert told["settings"] == {
        "correlation": "Spearman",
        "weighed_by": "people",
        "compared_classes": len(measured.contingency),
    }
    assert "Which metrics say the same about disease" in run_cli(*words).out
    (rows,) = found.chart().to_dict()["datasets"].values()
    shown = {
        (row["one"].split(" ")[0], row["other"].split(" ")[0]): row["correlation"] for row in rows
    }
    assert len(shown) == len(found.orders) ** 2
    assert shown["surprise", "surprise"] == pytest.approx(1)
