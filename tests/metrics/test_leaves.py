# SPDX-License-Identifier: Apache-2.0
"""Bounds of the best guess by requirement.

No class of a random table has a value with a larger share, and no person a higher risk.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.metrics import METRICS, Metric, guess_bounds

BOUNDING = [
    metric for metric in METRICS if metric.leaves is not None and not metric.needs_population
]


def tables() -> list[pa.Table]:
    """Small random tables, some with classes of one value and one with a single value for all."""
    chance = np.random.default_rng(3)
    drawn = []
    for values, weight in [(2, 1.0), (3, 0.4), (5, 0.2), (4, 5.0), (1, 1.0)]:
        shares = chance.dirichlet(np.full(values, weight))
        rows = {
            "q": chance.integers(0, 6, 60),
            "s": chance.choice([f"v{n}" for n in range(values)], 60, p=shares),
        }
        drawn.append(
            pa.table({name: [str(item) for item in column] for name, column in rows.items()})
        )
    return drawn


@pytest.mark.parametrize("metric", BOUNDING, ids=lambda metric: f"{metric.scope} {metric.name}")
def test_the_guess_bound_covers_the_table_itself(metric: Metric[object]) -> None:
    """A table that just meets a requirement must not allow a better guess than the bound."""
    for table in tables():
        found = dv.measure(table, quasi_identifiers="q", sensitive="s")
        scores = found.identity if metric.scope == "identity" else found.sensitive["s"]
        value = scores[metric.name].value
        if metric.takes_l and found.sensitive["s"]["l_diversity"].value < 2:
            continue  # with l = 1 the first value is in its own tail, and no promise is made of it
        q, s = (np.array(table[name].to_pylist()) for name in ("q", "s"))
        classes = [s[q == one] for one in np.unique(q)]
        prior = np.unique(s, return_counts=True)[1] / len(s)
        modes = [np.unique(one, return_counts=True)[1].max() / len(one) for one in classes]
        best = max(modes) if metric.scope == "sensitive" else max(1 / len(one) for one in classes)
        if metric.looks_at == "table":
            right = [1 / len(one) for one in classes] if metric.scope == "identity" else modes
            best = sum(len(one) * chance for one, chance in zip(classes, right, strict=True)) / len(
                s
            )
        assert metric.leaves is not None
        assert best <= metric.leaves(value, prior) + 1e-9


def test_bounds_worked_out_by_hand() -> None:
    """Bounds for the priors 1/2, 1/4, 1/4."""
    prior = np.array([0.5, 0.25, 0.25])
    assert guess_bounds.from_class_size(5, prior) == 0.2
    assert guess_bounds.from_hidden_bits(3, prior) == 0.125
    assert guess_bounds.from_total_variation(0.2, prior) == pytest.approx(0.7)
    assert guess_bounds.from_recursive_diversity(3, prior) == 0.75
    assert guess_bounds.from_basic_beta(0.5, prior) == 0.75
    assert guess_bounds.from_delta_disclosure(0.5, prior) == pytest.approx(0.5 * 2**0.5)
    # 1/2 gains at most a factor 1 + ln 2; 1/4 at most 1 + ln 4, which is 0.597 in all.
    assert guess_bounds.from_enhanced_beta(10, prior) == pytest.approx(0.5 * (1 + np.log(2)))
    # Two values and one bit: both are equally likely. No bits: nothing is guaranteed.
    assert guess_bounds.from_entropy(1, np.array([0.5, 0.5])) == pytest.approx(0.5, abs=1e-6)
    assert guess_bounds.from_entropy(0, prior) == 1
    # H(1/2, 1/4, 1/4) is 1.5 bits; after a fall of 0 there are 1.5 left, which Fano allows up to x
    # with h(x) + 1 - x = 1.5: 1/2.
    assert guess_bounds.from_entropy_fall(0, prior) == pytest.approx(0.5, abs=1e-6)
    assert guess_bounds.from_kl_divergence(0, prior) == pytest.approx(0.5, abs=1e-6)
    # all of a class with the value of share 1/2 surprises by one bit
    assert guess_bounds.from_kl_divergence(1, prior) == 1


def test_distinct_l_bounds_no_guess() -> None:
    assert next(metric for metric in METRICS if metric.name == "l_diversity").leaves is None
