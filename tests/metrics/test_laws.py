# SPDX-License-Identifier: Apache-2.0
"""Laws over METRICS: each metric obeys them or is in a list that gives the reason.

The properties are those of the papers, random-checked there (Afifi et al. 2018, Bezzi 2010, Bkakria
et al. 2021). Claims of the papers that are not true are in test_false_claims.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.metrics import METRICS, Metric
from tests.metrics.drawn import (
    Counts,
    arrow,
    contingency_of,
    counts,
    measured,
    merged,
    merged_counts,
    name_of,
    numbers_of,
    rows,
)

Name = tuple[str, str]
ALL = {name_of(metric): metric for metric in METRICS}
SLACK = 1e-9


def same(
    left: dict[Name, float], right: dict[Name, float], *, names: Sequence[Name] = tuple(ALL)
) -> None:
    different = {
        name: (left[name], right[name])
        for name in names
        if left[name] != pytest.approx(right[name], abs=SLACK)
    }
    assert different == {}


# --- Changes without effect -----------------------------------------------------------------------


@given(rows(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=25)
def test_the_order_of_rows_changes_nothing(drawn: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(drawn, len(drawn))
    roles: dict[str, Any] = {
        "quasi_identifiers": ["zip", "age"],
        "sensitive": ["disease", "visits", "dose"],
    }
    first, second = (measured(arrow(table), **roles).class_table() for table in (drawn, shuffled))
    assert first.equals(second)


@given(counts(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_names_of_classes_change_nothing(drawn: Counts, random: Any) -> None:
    order = random.sample(range(len(drawn)), len(drawn))
    before, after = (
        numbers_of(contingency_of(drawn)),
        numbers_of(contingency_of([drawn[i] for i in order])),
    )
    same(before.table, after.table)
    for name, numbers in before.classes.items():
        assert [numbers[i] for i in order] == pytest.approx(after.classes[name], abs=SLACK), name


@given(counts(), st.permutations(["a", "b", "c", "d"]))
@settings(deadline=None, max_examples=60)
def test_names_of_values_change_nothing_when_all_are_equally_far_apart(
    drawn: Counts, renamed: list[str]
) -> None:
    new = dict(zip("abcd", renamed, strict=True))
    other = [{new[value]: n for value, n in members.items()} for members in drawn]
    same(numbers_of(contingency_of(drawn)).table, numbers_of(contingency_of(other)).table)


@given(counts())
@settings(deadline=None, max_examples=60)
def test_an_ordered_distance_is_the_same_from_both_ends(drawn: Counts) -> None:
    mirrored = [
        {"abcd"["dcba".index(value)]: n for value, n in members.items()} for members in drawn
    ]
    ordered = [
        numbers_of(contingency_of(table), distance="ordered").table for table in (drawn, mirrored)
    ]
    same(*ordered)


# The effect on an identity metric if every row is counted `times` times. Inference does not change,
# so no sensitive metric is here.
SCALED: dict[Name, Callable[[float, int], float]] = {
    ("identity", "k_anonymity"): lambda value, times: value * times,
    ("identity", "mean_class_size"): lambda value, times: value * times,
    ("identity", "median_class_size"): lambda value, times: value * times,
    ("identity", "largest_class_size"): lambda value, times: value * times,
    ("identity", "k_map"): lambda value, times: value * times,
    ("identity", "k_map_plug_in"): lambda value, times: value * times,
    ("identity", "uniques"): lambda _, __: 0,
    ("identity", "prosecutor_risk"): lambda value, times: value / times,
    ("identity", "marketer_risk"): lambda value, times: value / times,
    ("identity", "journalist_risk"): lambda value, times: value / times,
    ("identity", "journalist_risk_plug_in"): lambda value, times: value / times,
    ("identity", "entropy_l_risk"): lambda value, times: value / times,
    ("identity", "prior_vulnerability"): lambda value, times: value / times,
    ("identity", "posterior_vulnerability"): lambda value, times: value / times,
    ("identity", "additive_leakage"): lambda value, times: value / times,
    ("identity", "shannon_conditional_entropy"): lambda value, times: value + log2(times),
    ("identity", "log2_k"): lambda value, times: value + log2(times),
}
# Identity metrics relative to H(X) = log2 n, which grows: the added people are new people.
RELATIVE_TO_THE_PEOPLE: set[Name] = {
    ("identity", name)
    for name in (
        "discrimination_rate",
        "itpr",
        "itpr_unscaled",
        "maximum_information_leakage_printed",
    )
}
UNCHANGED = [name for name in ALL if name not in SCALED and name not in RELATIVE_TO_THE_PEOPLE]


@given(counts(), st.integers(2, 5))
@settings(deadline=None, max_examples=60)
def test_every_row_several_times(drawn: Counts, times: int) -> None:
    once = numbers_of(contingency_of(drawn)).table
    often = numbers_of(
        contingency_of([{value: n * times for value, n in members.items()} for members in drawn])
    ).table
    same(once, often, names=UNCHANGED)
    for name, expected in SCALED.items():
        assert often[name] == pytest.approx(expected(once[name], times)), name


@pytest.mark.parametrize("name", sorted(RELATIVE_TO_THE_PEOPLE))
def test_metrics_relative_to_the_number_of_people_change(name: Name) -> None:
    once, twice = (
        numbers_of(contingency_of([{"a": 2 * n}, {"a": 6 * n}])).table[name] for n in (1, 2)
    )
    assert once != pytest.approx(twice, abs=1e-3)


# --- Merging classes ------------------------------------------------------------------------------

merging = counts(classes=6, least=2).flatmap(
    lambda table: st.tuples(
        st.just(table), st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table))
    )
)


@given(merging, st.integers(1, 3), st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=150)
def test_merging_never_makes_a_monotone_metric_worse(
    drawn: tuple[Counts, list[int]], least: int, distance: str
) -> None:
    """With one l for both tables: the table's own l, the default, may rise
    (test_false_claims.py).
    """
    table, into = drawn
    fine = contingency_of(table)
    before = numbers_of(fine, recursive_l=least, distance=distance).table
    after = numbers_of(merged(fine, into), recursive_l=least, distance=distance).table
    worse = {
        name: (before[name], after[name])
        for name, metric in ALL.items()
        if metric.monotone
        and (
            after[name] > before[name] + SLACK
            if metric.worse == "high"
            else after[name] < before[name] - SLACK
        )
    }
    assert worse == {}


@given(merging, st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=60)
def test_rolling_up_the_counts_is_counting_the_merged_table(
    drawn: tuple[Counts, list[int]], distance: str
) -> None:
    table, into = drawn
    rolled = numbers_of(merged(contingency_of(table), into), distance=distance)
    direct = numbers_of(contingency_of(merged_counts(table, into)), distance=distance)
    assert rolled == direct


# --- The lists are complete -----------------------------------------------------------------------


def test_every_metric_is_under_every_law() -> None:
    assert set(SCALED) | RELATIVE_TO_THE_PEOPLE <= set(ALL)
    assert len(ALL) == len(METRICS), "two metrics of one scope share a name"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.scope}.{metric.name}")
def test_every_metric_has_a_description(metric: Metric[Any]) -> None:
    assert metric.plain
    assert metric.unit
    assert metric.worse in ("high", "low")
    assert metric.per_class is not None or metric.of_table is not None
    assert metric.source or metric.kind == "description"
