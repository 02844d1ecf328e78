# SPDX-License-Identifier: Apache-2.0
"""The page of all metrics: its example against hand counts, its formulas as browsers draw them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from math import inf, log2, sqrt
from pathlib import Path

import pytest

from divulge.cli.metrics import mathml
from divulge.metrics import METRICS, Metric
from divulge.output.formatting import number
from divulge.policy import Promise

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")

# Eight people, H(X) = 3. Classes A x x y z, B x x, C y z: sizes 4, 2, 2; H(W) = 3/2, and 3/2, 0, 1
# in the classes; population 8, 6, 4.
WITHOUT_B = log2(3)  # two of each value
WITHOUT_C = 2 / 3 * log2(3 / 2) + 1 / 3 * log2(6)  # x four times, y and z once
BY_HAND = {
    "k_anonymity": 2,
    "classes": 3,
    "mean_class_size": 8 / 3,
    "median_class_size": 2,
    "largest_class_size": 4,
    "uniques": 0,
    "prosecutor_risk": 1 / 2,
    "marketer_risk": 3 / 8,
    "journalist_risk": 1 / 4,
    "k_map": 4,
    "journalist_risk_plug_in": 1 / 4,
    "k_map_plug_in": 4,
    "log2_k": 1,
    "shannon_conditional_entropy": 1 / 2 * 2 + 1 / 4 * 1 + 1 / 4 * 1,
    "identity specific_information": 3 - 1,
    "identity mutual_information": 3 - 3 / 2,
    "identity discrimination_rate": (3 / 2) / 3,
    "identity conditional_privacy": 1 - 1 / sqrt(8),
    "identity maximum_information_leakage": 3 - 1,
    "identity maximum_information_leakage_printed": 3 - 1 / 4 * 1,
    "identity entropy_l_risk": 1 / 2,
    "identity itpr": 1 - 3 * 1 / 4 * 1 / 3,
    "identity itpr_unscaled": 1 - 1 / 4 * 1 / 3,
    "identity prior_vulnerability": 1 / 8,
    "identity posterior_vulnerability": 3 / 8,
    "identity additive_leakage": 3 / 8 - 1 / 8,
    "identity multiplicative_leakage": 3,
    "identity min_entropy_leakage": log2(3),
    "l_diversity": 1,
    "entropy_l_diversity": 1,
    "recursive_c_l_diversity": 2 / 2,
    "alpha": 1,
    "values_ruled_out": 2,
    "t_closeness": 1 / 2 * (1 / 2 + 1 / 4 + 1 / 4),
    "basic_beta_likeness": (1 - 1 / 2) / (1 / 2),
    "enhanced_beta_likeness": inf,
    "delta_disclosure": inf,
    "delta_disclosure_present": 1,
    "mutual_information": 3 / 2 - (1 / 2 * 3 / 2 + 1 / 4 * 0 + 1 / 4 * 1),
    "surprise": 1,
    "average_surprise": 1 / 4 * 1 + 1 / 4 * 1,
    "specific_information": 3 / 2 - 0,
    "averaged_information": 3 / 2 - 1,
    "set_information": max(3 / 2 - 3 / 4 * WITHOUT_B, 3 / 2 - 1 / 4 - 3 / 4 * WITHOUT_C),
    "l_max": sqrt(8),
    "l_t": sqrt(2),
    "discrimination_rate": (1 / 2) / (3 / 2),
    "conditional_privacy": 1 - 1 / sqrt(2),
    "maximum_information_leakage": 3 / 2,
    "maximum_information_leakage_printed": 3 / 2,
    "entropy_l_risk": 1,
    "itpr": 1,
    "itpr_unscaled": 1,
    "distribution_leakage": sqrt(1 / 4 + 1 / 16 + 1 / 16),
    "entropy_leakage": 3 / 2,
    # x, x and y or z are guessed: 2 of 4, 2 of 2, 1 of 2 people are.
    "prior_vulnerability": 4 / 8,
    "posterior_vulnerability": 5 / 8,
    "maximum_vulnerability": 1,
    "additive_leakage": 1 / 8,
    "multiplicative_leakage": 5 / 4,
    "min_entropy_leakage": log2(5 / 4),
}


@pytest.mark.parametrize("name", [Promise.name_of(metric) for metric in METRICS])
def test_the_example_shows_the_numbers_counted_by_hand(name: str) -> None:
    section = PAGE.partition(f"\n### {name}\n")[2].partition("\n###")[0]
    assert f"In the example: **{number(BY_HAND[name])}**" in section


def test_nothing_else_was_counted_by_hand() -> None:
    assert set(BY_HAND) == {Promise.name_of(metric) for metric in METRICS}


@pytest.mark.parametrize("metric", METRICS, ids=Promise.name_of)
def test_every_metric_has_a_formula_that_is_drawn_whole(metric: Metric[object]) -> None:
    drawn = ET.fromstring(mathml(metric.formula))  # noqa: S314 - ours
    typed = re.sub(r"frac|sqrt|[{}_^\s]", "", metric.formula)
    signs = {"∑": "sum", "∈": "in", "≤": "<=", "\u2212": "-", "…": "...", "β": "beta"}
    seen = "".join(signs.get(text, text) for text in drawn.itertext())
    assert metric.formula
    assert re.sub(r"[{}]", "", seen) == typed


def test_fractions_roots_sums_and_scripts_are_drawn() -> None:
    drawn = mathml("max_c sqrt{frac{1}{n_c}} ( a - b )^2")
    assert re.sub(r' \w+="[^"]*"', "", drawn) == (
        "<math><munder><mo>max</mo><mi>c</mi></munder>"
        "<msqrt><mrow><mfrac><mrow><mn>1</mn></mrow><mrow><msub><mi>n</mi><mi>c</mi></msub></mrow></mfrac></mrow></msqrt>"
        "<msup><mrow><mo>(</mo><mi>a</mi><mo>\u2212</mo><mi>b</mi><mo>)</mo></mrow><mn>2</mn></msup></math>"
    )


def test_marks_of_a_class_are_as_long_as_its_number() -> None:
    section = PAGE.partition("\n### k_anonymity\n")[2].partition("\n###")[0]
    widths = [
        int(width)
        for width in re.findall(r'<rect [^>]*?width="(\d+)"[^>]*class="(?:other|worst)"', section)
    ]
    assert [width / max(widths) for width in widths] == [1, 1 / 2, 1 / 2]  # 4, 2 and 2 people
