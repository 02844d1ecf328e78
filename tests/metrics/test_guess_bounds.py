# SPDX-License-Identifier: Apache-2.0
"""Bounds of every metric in METRICS, many of which are other metrics.

A table of one class reveals nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp2, inf, log2, sqrt

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.metrics import METRICS
from tests.metrics.drawn import Counts, contingency_of, counts, name_of, numbers_of

Name = tuple[str, str]
SLACK = 1e-9


@dataclass(frozen=True)
class Facts:
    """The quantities from which bounds are computed."""

    n: int
    q: int
    m: int
    rarest: float
    """The smallest share of a value."""
    entropy: float
    """H(W)."""
    value: dict[Name, float]

    def identity(self, name: str) -> float:
        return self.value["identity", name]

    def sensitive(self, name: str) -> float:
        return self.value["sensitive", name]


Bound = Callable[[Facts], float]
BOUNDS: dict[Name, tuple[Bound, Bound]] = {
    ("identity", "k_anonymity"): (lambda _: 1, lambda f: f.n / f.q),
    ("identity", "classes"): (lambda _: 1, lambda f: f.n),
    ("identity", "mean_class_size"): (
        lambda f: f.identity("k_anonymity"),
        lambda f: f.identity("largest_class_size"),
    ),
    ("identity", "median_class_size"): (
        lambda f: f.identity("k_anonymity"),
        lambda f: f.identity("largest_class_size"),
    ),
    ("identity", "largest_class_size"): (lambda f: f.n / f.q, lambda f: f.n),
    ("identity", "uniques"): (lambda _: 0, lambda f: f.q),
    ("identity", "prosecutor_risk"): (lambda f: f.q / f.n, lambda _: 1),
    ("identity", "marketer_risk"): (lambda f: 1 / f.n, lambda f: f.identity("prosecutor_risk")),
    ("identity", "journalist_risk"): (lambda _: 0, lambda f: f.identity("prosecutor_risk")),
    ("identity", "k_map"): (lambda f: f.identity("k_anonymity"), lambda _: inf),
    ("identity", "journalist_risk_plug_in"): (lambda _: 0, lambda f: f.identity("journalist_risk")),
    ("identity", "k_map_plug_in"): (lambda f: f.identity("k_map"), lambda _: inf),
    ("identity", "shannon_conditional_entropy"): (
        lambda f: f.identity("log2_k"),
        lambda f: log2(f.n),
    ),
    ("identity", "log2_k"): (lambda _: 0, lambda f: log2(f.n / f.q)),
    ("identity", "specific_information"): (
        lambda f: f.identity("mutual_information"),
        lambda f: log2(f.n),
    ),
    ("identity", "mutual_information"): (lambda _: 0, lambda f: log2(f.q)),
    ("identity", "discrimination_rate"): (lambda _: 0, lambda _: 1),
    ("identity", "conditional_privacy"): (lambda _: 0, lambda f: 1 - 1 / f.q),
    ("identity", "maximum_information_leakage"): (
        lambda f: f.identity("mutual_information"),
        lambda f: log2(f.n),
    ),
    ("identity", "maximum_information_leakage_printed"): (
        lambda f: f.identity("maximum_information_leakage"),
        lambda f: log2(f.n),
    ),
    ("identity", "entropy_l_risk"): (
        lambda f: exp2(f.identity("mutual_information")) / f.n,
        lambda _: 1,
    ),
    ("identity", "itpr"): (lambda f: f.identity("discrimination_rate"), lambda _: 1),
    ("identity", "itpr_unscaled"): (lambda f: 1 - 1 / f.q if f.n > 1 else 0, lambda _: 1),
    ("identity", "prior_vulnerability"): (lambda f: 1 / f.n, lambda f: 1 / f.n),
    ("identity", "posterior_vulnerability"): (
        lambda f: f.identity("marketer_risk"),
        lambda f: f.identity("marketer_risk"),
    ),
    ("identity", "additive_leakage"): (lambda _: 0, lambda f: 1 - 1 / f.n),
    ("identity", "multiplicative_leakage"): (lambda f: f.q, lambda f: f.q),
    ("identity", "min_entropy_leakage"): (
        lambda f: f.identity("mutual_information"),
        lambda f: log2(f.q),
    ),
    ("sensitive", "l_diversity"): (lambda _: 1, lambda f: f.m),
    ("sensitive", "entropy_l_diversity"): (
        lambda _: 1,
        lambda f: min(f.sensitive("l_diversity"), f.sensitive("l_max")),
    ),
    ("sensitive", "recursive_c_l_diversity"): (
        lambda f: 1 / (f.m - f.sensitive("l_diversity") + 1),
        lambda f: f.n,
    ),
    ("sensitive", "alpha"): (lambda f: 1 / f.m, lambda _: 1),
    ("sensitive", "values_ruled_out"): (
        lambda f: f.m - f.sensitive("l_diversity"),
        lambda f: f.m - f.sensitive("l_diversity"),
    ),
    ("sensitive", "t_closeness"): (lambda _: 0, lambda f: 1 - f.rarest),
    ("sensitive", "basic_beta_likeness"): (lambda _: 0, lambda f: 1 / f.rarest - 1),
    ("sensitive", "enhanced_beta_likeness"): (
        lambda f: f.sensitive("basic_beta_likeness"),
        lambda _: inf,
    ),
    ("sensitive", "delta_disclosure"): (
        lambda f: f.sensitive("delta_disclosure_present"),
        lambda _: inf,
    ),
    ("sensitive", "delta_disclosure_present"): (
        lambda f: log2(1 + f.sensitive("basic_beta_likeness")),
        lambda f: log2(f.n),
    ),
    ("sensitive", "mutual_information"): (lambda _: 0, lambda f: min(f.entropy, log2(f.q))),
    ("sensitive", "surprise"): (
        lambda f: f.sensitive("mutual_information"),
        lambda f: -log2(f.rarest),
    ),
    ("sensitive", "average_surprise"): (
        lambda f: f.sensitive("mutual_information"),
        lambda f: f.sensitive("mutual_information"),
    ),
    ("sensitive", "specific_information"): (
        lambda f: f.sensitive("mutual_information"),
        lambda f: f.entropy,
    ),
    ("sensitive", "averaged_information"): (
        lambda f: f.sensitive("mutual_information"),
        lambda f: log2(f.q),
    ),
    ("sensitive", "set_information"): (lambda _: 0, lambda f: f.sensitive("mutual_information")),
    ("sensitive", "l_max"): (lambda _: 1, lambda f: f.m),
    ("sensitive", "l_t"): (
        lambda f: f.sensitive("l_max") * f.rarest,
        lambda f: f.sensitive("l_max"),
    ),
    ("sensitive", "discrimination_rate"): (lambda _: 0, lambda _: 1),
    ("sensitive", "conditional_privacy"): (lambda _: 0, lambda f: 1 - 1 / f.m),
    ("sensitive", "maximum_information_leakage"): (
        lambda f: f.sensitive("mutual_information"),
        lambda f: f.entropy,
    ),
    ("sensitive", "maximum_information_leakage_printed"): (
        lambda f: f.sensitive("maximum_information_leakage"),
        lambda f: f.entropy,
    ),
    ("sensitive", "entropy_l_risk"): (
        lambda f: max(1 / f.m, exp2(f.sensitive("mutual_information") - f.entropy)),
        lambda f: f.sensitive("alpha"),
    ),
    ("sensitive", "itpr"): (lambda f: f.sensitive("discrimination_rate"), lambda _: 1),
    ("sensitive", "itpr_unscaled"): (lambda f: 1 - 1 / f.q if f.entropy > 0 else 0, lambda _: 1),
    ("sensitive", "distribution_leakage"): (
        lambda f: 2 * f.sensitive("t_closeness") / sqrt(f.m),
        lambda f: sqrt(2) * f.sensitive("t_closeness"),
    ),
    ("sensitive", "entropy_leakage"): (
        lambda f: f.sensitive("specific_information"),
        lambda f: max(f.entropy, log2(f.m) - f.entropy),
    ),
    ("sensitive", "prior_vulnerability"): (
        lambda f: max(1 / f.m, f.rarest),
        lambda f: 1 - (f.m - 1) * f.rarest,
    ),
    ("sensitive", "posterior_vulnerability"): (
        lambda f: f.sensitive("prior_vulnerability"),
        lambda f: f.sensitive("alpha"),
    ),
    ("sensitive", "maximum_vulnerability"): (
        lambda f: f.sensitive("alpha"),
        lambda f: f.sensitive("alpha"),
    ),
    ("sensitive", "additive_leakage"): (
        lambda _: 0,
        lambda f: 1 - f.sensitive("prior_vulnerability"),
    ),
    ("sensitive", "multiplicative_leakage"): (lambda _: 1, lambda f: min(f.m, f.q)),
    ("sensitive", "min_entropy_leakage"): (lambda _: 0, lambda f: log2(min(f.m, f.q))),
}


@given(counts(), st.integers(0, 3))
@settings(deadline=None, max_examples=200)
def test_bounds(drawn: Counts, beyond_the_table: int) -> None:
    counted = contingency_of(drawn)
    marginal = counted.cells["s"].marginal / counted.rows
    value = numbers_of(counted, population=counted.sizes + beyond_the_table).table
    facts = Facts(
        counted.rows,
        len(counted),
        len(marginal),
        marginal.min(),
        -float(marginal @ np.log2(marginal)),
        value,
    )
    for name, (low, high) in BOUNDS.items():
        assert low(facts) - SLACK <= value[name] <= high(facts) + SLACK, name
        # Rounding must not show a risk below zero risk.
        assert value[name] >= 0, name
        assert str(value[name]) != "-0.0", name


# Metrics by which a table of one class reveals nothing; exactly, without rounding residue.
SILENT: set[Name] = {
    *(
        ("identity", name)
        for name in (
            "specific_information",
            "mutual_information",
            "discrimination_rate",
            "conditional_privacy",
            "maximum_information_leakage",
            "maximum_information_leakage_printed",
            "itpr",
            "itpr_unscaled",
            "additive_leakage",
            "min_entropy_leakage",
        )
    ),
    *(
        ("sensitive", name)
        for name in (
            "values_ruled_out",
            "t_closeness",
            "basic_beta_likeness",
            "enhanced_beta_likeness",
            "delta_disclosure",
            "delta_disclosure_present",
            "mutual_information",
            "surprise",
            "specific_information",
            "averaged_information",
            "set_information",
            "discrimination_rate",
            "conditional_privacy",
            "maximum_information_leakage",
            "maximum_information_leakage_printed",
            "itpr",
            "itpr_unscaled",
            "distribution_leakage",
            "entropy_leakage",
            "additive_leakage",
            "min_entropy_leakage",
        )
    ),
}


@given(counts(classes=1), st.integers(1, 10**7), st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=100)
def test_one_class_reveals_nothing(drawn: Counts, times: int, distance: str) -> None:
    table = [{value: n * times for value, n in members.items()} for members in drawn]
    value = numbers_of(contingency_of(table), distance=distance).table
    assert {name: value[name] for name in SILENT if value[name] != 0} == {}


def test_every_metric_has_bounds() -> None:
    names = {name_of(metric) for metric in METRICS}
    assert set(BOUNDS) == names
    assert names > SILENT
