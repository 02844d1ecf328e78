# SPDX-License-Identifier: Apache-2.0
"""Laws over METRICS: each metric of the catalogue obeys those below or stands in a list that says why not.

The properties are those of the papers, random-checked there (Afifi et al. 2018, Bezzi 2010, Bkakria et al. 2021); what the papers claim
and is not true is in test_false_claims.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp2, inf, isfinite, log2, sqrt
from typing import Any

import numpy as np
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


def same(left: dict[Name, float], right: dict[Name, float], *, names: Sequence[Name] = tuple(ALL)) -> None:
    different = {name: (left[name], right[name]) for name in names if left[name] != pytest.approx(right[name], abs=SLACK)}
    assert different == {}


# --- What changes nothing ------------------------------------------------------------------------------------------------------


@given(rows(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=25)
def test_the_order_of_rows_changes_nothing(drawn: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(drawn, len(drawn))
    roles: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": ["disease", "visits", "dose"]}
    first, second = (measured(arrow(table), **roles).class_table() for table in (drawn, shuffled))
    assert first.equals(second)


@given(counts(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_names_of_classes_change_nothing(drawn: Counts, random: Any) -> None:
    order = random.sample(range(len(drawn)), len(drawn))
    before, after = numbers_of(contingency_of(drawn)), numbers_of(contingency_of([drawn[i] for i in order]))
    same(before.table, after.table)
    for name, numbers in before.classes.items():
        assert [numbers[i] for i in order] == pytest.approx(after.classes[name], abs=SLACK), name


@given(counts(), st.permutations(["a", "b", "c", "d"]))
@settings(deadline=None, max_examples=60)
def test_names_of_values_change_nothing_when_all_are_equally_far_apart(drawn: Counts, renamed: list[str]) -> None:
    new = dict(zip("abcd", renamed, strict=True))
    other = [{new[value]: n for value, n in members.items()} for members in drawn]
    same(numbers_of(contingency_of(drawn)).table, numbers_of(contingency_of(other)).table)


@given(counts())
@settings(deadline=None, max_examples=60)
def test_an_ordered_distance_is_the_same_from_both_ends(drawn: Counts) -> None:
    mirrored = [{"abcd"["dcba".index(value)]: n for value, n in members.items()} for members in drawn]
    ordered = [numbers_of(contingency_of(table), distance="ordered").table for table in (drawn, mirrored)]
    same(*ordered)


# What every row counted `times` makes of an identity metric. Inference does not notice, so no sensitive metric is here.
SCALED: dict[Name, Callable[[float, int], float]] = {
    ("identity", "k_anonymity"): lambda value, times: value * times,
    ("identity", "mean_class_size"): lambda value, times: value * times,
    ("identity", "median_class_size"): lambda value, times: value * times,
    ("identity", "largest_class_size"): lambda value, times: value * times,
    ("identity", "k_map"): lambda value, times: value * times,
    ("identity", "uniques"): lambda _, __: 0,
    ("identity", "prosecutor_risk"): lambda value, times: value / times,
    ("identity", "marketer_risk"): lambda value, times: value / times,
    ("identity", "journalist_risk"): lambda value, times: value / times,
    ("identity", "entropy_l_risk"): lambda value, times: value / times,
    ("identity", "conditional_entropy"): lambda value, times: value + log2(times),
}
# Identity metrics relative to H(X) = log2 n, which grows: the people are others, not the same ones twice.
RELATIVE_TO_THE_PEOPLE: set[Name] = {
    ("identity", name) for name in ("discrimination_rate", "itpr", "itpr_unscaled", "maximum_information_leakage_printed")
}
UNCHANGED = [name for name in ALL if name not in SCALED and name not in RELATIVE_TO_THE_PEOPLE]


@given(counts(), st.integers(2, 5))
@settings(deadline=None, max_examples=60)
def test_every_row_several_times(drawn: Counts, times: int) -> None:
    once = numbers_of(contingency_of(drawn)).table
    often = numbers_of(contingency_of([{value: n * times for value, n in members.items()} for members in drawn])).table
    same(once, often, names=UNCHANGED)
    for name, expected in SCALED.items():
        assert often[name] == pytest.approx(expected(once[name], times)), name


@pytest.mark.parametrize("name", sorted(RELATIVE_TO_THE_PEOPLE))
def test_what_is_relative_to_the_people_does_change(name: Name) -> None:
    once, twice = (numbers_of(contingency_of([{"a": 2 * n}, {"a": 6 * n}])).table[name] for n in (1, 2))
    assert once != pytest.approx(twice, abs=1e-3)


# --- Merging classes -----------------------------------------------------------------------------------------------------------

merging = counts(classes=6, least=2).flatmap(
    lambda table: st.tuples(st.just(table), st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table)))
)


@given(merging, st.integers(1, 3), st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=150)
def test_merging_never_makes_a_monotone_metric_worse(drawn: tuple[Counts, list[int]], least: int, distance: str) -> None:
    """With one l for both tables: the table's own l, the default, may rise (test_false_claims.py)."""
    table, into = drawn
    fine = contingency_of(table)
    before = numbers_of(fine, recursive_l=least, distance=distance).table
    after = numbers_of(merged(fine, into), recursive_l=least, distance=distance).table
    worse = {
        name: (before[name], after[name])
        for name, metric in ALL.items()
        if metric.monotone
        and (after[name] > before[name] + SLACK if metric.worse == "high" else after[name] < before[name] - SLACK)
    }
    assert worse == {}


@given(merging, st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=60)
def test_rolling_up_the_counts_is_counting_the_merged_table(drawn: tuple[Counts, list[int]], distance: str) -> None:
    table, into = drawn
    rolled = numbers_of(merged(contingency_of(table), into), distance=distance)
    direct = numbers_of(contingency_of(merged_counts(table, into)), distance=distance)
    assert rolled == direct


# --- Bounds --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """What bounds are made of."""

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
    ("identity", "mean_class_size"): (lambda f: f.identity("k_anonymity"), lambda f: f.identity("largest_class_size")),
    ("identity", "median_class_size"): (lambda f: f.identity("k_anonymity"), lambda f: f.identity("largest_class_size")),
    ("identity", "largest_class_size"): (lambda f: f.n / f.q, lambda f: f.n),
    ("identity", "uniques"): (lambda _: 0, lambda f: f.q),
    ("identity", "prosecutor_risk"): (lambda f: f.q / f.n, lambda _: 1),
    ("identity", "marketer_risk"): (lambda f: 1 / f.n, lambda f: f.identity("prosecutor_risk")),
    ("identity", "journalist_risk"): (lambda _: 0, lambda f: f.identity("prosecutor_risk")),
    ("identity", "k_map"): (lambda f: f.identity("k_anonymity"), lambda _: inf),
    ("identity", "conditional_entropy"): (lambda _: 0, lambda f: log2(f.n / f.q)),
    ("identity", "specific_information"): (lambda f: f.identity("mutual_information"), lambda f: log2(f.n)),
    ("identity", "mutual_information"): (lambda _: 0, lambda f: log2(f.q)),
    ("identity", "discrimination_rate"): (lambda _: 0, lambda _: 1),
    ("identity", "conditional_privacy"): (lambda _: 0, lambda f: 1 - 1 / f.q),
    ("identity", "maximum_information_leakage"): (lambda f: f.identity("mutual_information"), lambda f: log2(f.n)),
    ("identity", "maximum_information_leakage_printed"): (
        lambda f: f.identity("maximum_information_leakage"),
        lambda f: log2(f.n),
    ),
    ("identity", "entropy_l_risk"): (lambda f: exp2(f.identity("mutual_information")) / f.n, lambda _: 1),
    ("identity", "itpr"): (lambda f: f.identity("discrimination_rate"), lambda _: 1),
    ("identity", "itpr_unscaled"): (lambda f: 1 - 1 / f.q if f.n > 1 else 0, lambda _: 1),
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
    ("sensitive", "enhanced_beta_likeness"): (lambda f: f.sensitive("basic_beta_likeness"), lambda _: inf),
    ("sensitive", "delta_disclosure"): (lambda f: f.sensitive("delta_disclosure_present"), lambda _: inf),
    ("sensitive", "delta_disclosure_present"): (
        lambda f: log2(1 + f.sensitive("basic_beta_likeness")),
        lambda f: log2(f.n),
    ),
    ("sensitive", "mutual_information"): (lambda _: 0, lambda f: min(f.entropy, log2(f.q))),
    ("sensitive", "surprise"): (lambda f: f.sensitive("mutual_information"), lambda f: -log2(f.rarest)),
    ("sensitive", "specific_information"): (lambda f: f.sensitive("mutual_information"), lambda f: f.entropy),
    ("sensitive", "averaged_information"): (lambda f: f.sensitive("mutual_information"), lambda f: log2(f.q)),
    ("sensitive", "set_information"): (lambda _: 0, lambda f: f.sensitive("mutual_information")),
    ("sensitive", "l_max"): (lambda _: 1, lambda f: f.m),
    ("sensitive", "l_t"): (lambda f: f.sensitive("l_max") * f.rarest, lambda f: f.sensitive("l_max")),
    ("sensitive", "discrimination_rate"): (lambda _: 0, lambda _: 1),
    ("sensitive", "conditional_privacy"): (lambda _: 0, lambda f: 1 - 1 / f.m),
    ("sensitive", "maximum_information_leakage"): (lambda f: f.sensitive("mutual_information"), lambda f: f.entropy),
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
}  # fmt: skip


@given(counts(), st.integers(0, 3))
@settings(deadline=None, max_examples=200)
def test_bounds(drawn: Counts, beyond_the_table: int) -> None:
    counted = contingency_of(drawn)
    marginal = counted.cells["s"].marginal / counted.rows
    value = numbers_of(counted, population=counted.sizes + beyond_the_table).table
    facts = Facts(counted.rows, len(counted), len(marginal), marginal.min(), -(marginal @ np.log2(marginal)), value)
    for name, (low, high) in BOUNDS.items():
        assert low(facts) - SLACK <= value[name] <= high(facts) + SLACK, name
        # Rounding is not allowed to show a risk below none.
        assert value[name] >= 0, name
        assert str(value[name]) != "-0.0", name


# What a table of one class tells nothing by; exactly, without a residue of rounding.
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
        )
    ),
}


@given(counts(classes=1), st.integers(1, 10**7), st.sampled_from(["equal", "ordered"]))
@settings(deadline=None, max_examples=100)
def test_one_class_tells_nothing(drawn: Counts, times: int, distance: str) -> None:
    table = [{value: n * times for value, n in members.items()} for members in drawn]
    value = numbers_of(contingency_of(table), distance=distance).table
    assert {name: value[name] for name in SILENT if value[name] != 0} == {}


# --- Averages and per-class relations ------------------------------------------------------------------------------------------


@given(counts())
@settings(deadline=None, max_examples=150)
def test_averages(drawn: Counts) -> None:
    counted = contingency_of(drawn)
    numbers = numbers_of(counted)
    p = counted.sizes / counted.rows

    def of_class(name: str) -> Any:
        return np.array(numbers.classes["sensitive", name])

    information = numbers.table["sensitive", "mutual_information"]
    for name in ("surprise", "specific_information", "averaged_information", "maximum_information_leakage"):
        assert p @ of_class(name) == pytest.approx(information, abs=SLACK), name
    rate = numbers.table["sensitive", "discrimination_rate"]
    assert p @ of_class("discrimination_rate") == pytest.approx(rate, abs=SLACK)
    assert of_class("itpr").mean() == pytest.approx(rate, abs=SLACK)
    i1, i4 = of_class("surprise"), of_class("set_information")
    assert np.all(p * i1 <= i4 + SLACK)
    assert np.all(i4 <= information + SLACK)
    assert i4.sum() >= information - SLACK
    assert np.all(i1 <= -np.log2(p) + SLACK)
    assert np.all(i1 >= 2 * of_class("t_closeness") ** 2 / np.log(2) - SLACK), "Pinsker"
    own = np.array(numbers.classes["identity", "specific_information"])
    assert p @ own == pytest.approx(numbers.table["identity", "mutual_information"], abs=SLACK)
    assert np.array(numbers.classes["identity", "itpr"]).mean() == pytest.approx(
        numbers.table["identity", "discrimination_rate"], abs=SLACK
    )


@given(counts())
@settings(deadline=None, max_examples=60)
def test_information_of_a_class_against_the_rest(drawn: Counts) -> None:
    """I4(x) = p I1(x) + (1 - p) I1(not x): merge all other classes and take the average."""
    counted = contingency_of(drawn)
    for number, i4 in enumerate(numbers_of(counted).classes["sensitive", "set_information"]):
        two = numbers_of(merged(counted, [int(other == number) for other in range(len(counted))]))
        assert two.table["sensitive", "mutual_information"] == pytest.approx(i4, abs=SLACK)


@given(counts(classes=2, least=2))
@settings(deadline=None, max_examples=60)
def test_two_classes_balance(drawn: Counts) -> None:
    """What one class has too much of, the other has too little of: w1 L_D1 = w2 L_D2."""
    counted = contingency_of(drawn)
    leaked = np.array(numbers_of(counted).classes["sensitive", "distribution_leakage"])
    assert leaked[0] * counted.sizes[0] == pytest.approx(leaked[1] * counted.sizes[1], abs=SLACK)


@given(counts())
@settings(deadline=None, max_examples=100)
def test_certainty_is_homogeneity(drawn: Counts) -> None:
    """ITPR = 1 iff ELD = 1 iff l = 1 iff some class has one value, unless there was nothing to learn."""
    value = numbers_of(contingency_of(drawn)).table
    homogeneous = any(len(members) == 1 for members in drawn)
    assert (value["sensitive", "entropy_l_risk"] == 1) == homogeneous
    assert (value["sensitive", "l_diversity"] == 1) == homogeneous
    something_to_learn = len({v for members in drawn for v in members}) > 1
    assert (value["sensitive", "itpr"] == pytest.approx(1, abs=SLACK)) == (homogeneous and something_to_learn)
    if not something_to_learn:
        assert (value["sensitive", "itpr"], value["sensitive", "discrimination_rate"]) == (0, 0)


@given(st.lists(st.permutations([5, 3, 1, 0]), min_size=2, max_size=5))
@settings(deadline=None, max_examples=60)
def test_classes_of_one_size(drawn: list[list[int]]) -> None:
    """Equal class sizes: ITPR = max I2 / H."""
    table = [{value: n for value, n in zip("abcd", members, strict=True) if n} for members in drawn]
    value = numbers_of(contingency_of(table)).table
    information = value["sensitive", "specific_information"] / log2(value["sensitive", "l_max"])
    assert value["sensitive", "itpr"] == pytest.approx(information, abs=SLACK)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_everybody_has_a_value_of_their_own(sizes: list[int]) -> None:
    """Unique identities as an attribute: I1 = I2 = log2(n/n_x), MI = H(class), ITPR and ELD by the closed formulas."""
    n, q, least = sum(sizes), len(sizes), min(sizes)
    table = [{f"#{i}.{j}": 1 for j in range(size)} for i, size in enumerate(sizes)]
    numbers = numbers_of(contingency_of(table))
    expected = [log2(n / size) for size in sizes]
    assert numbers.classes["sensitive", "surprise"] == pytest.approx(expected, abs=SLACK)
    assert numbers.classes["sensitive", "specific_information"] == pytest.approx(expected, abs=SLACK)
    information = sum(size / n * bits for size, bits in zip(sizes, expected, strict=True))
    assert numbers.table["sensitive", "mutual_information"] == pytest.approx(information, abs=SLACK)
    itpr = 1 - q * least * log2(least) / (n * log2(n)) if n > 1 else 0
    for scope in ("identity", "sensitive"):
        assert numbers.table[scope, "itpr"] == pytest.approx(itpr, abs=SLACK), scope
        assert numbers.table[scope, "entropy_l_risk"] == pytest.approx(1 / least), scope


@given(counts())
@settings(deadline=None, max_examples=60)
def test_against_a_uniform_prior_all_leak_the_same(drawn: Counts) -> None:
    """Uniform prior: L_E = KL = I1 = I2; and L_E = |I2| whatever the prior."""
    counted = contingency_of(drawn)
    classes = numbers_of(counted, prior=[1.0] * len(counted.cells["s"].domain)).classes
    assert classes["sensitive", "entropy_leakage"] == pytest.approx(classes["sensitive", "surprise"], abs=SLACK)
    assert classes["sensitive", "specific_information"] == pytest.approx(classes["sensitive", "surprise"], abs=SLACK)
    own = numbers_of(counted).classes
    fall = [abs(number) for number in own["sensitive", "specific_information"]]
    assert own["sensitive", "entropy_leakage"] == pytest.approx(fall, abs=SLACK)


@given(counts(), st.lists(st.integers(0, 9), min_size=4, max_size=4))
@settings(deadline=None, max_examples=100)
def test_any_prior(drawn: Counts, weights: list[int]) -> None:
    """Against a prior that is not the table's own, and may exclude what occurs: L_D <= sqrt 2, EMD <= 1, inf and never nan."""
    counted = contingency_of(drawn)
    prior = weights[: len(counted.cells["s"].domain)]
    if not sum(prior):
        return
    numbers = numbers_of(counted, prior=prior, distance="ordered")
    equal = numbers_of(counted, prior=prior)
    assert not any(np.isnan(number) for number in numbers.table.values())
    value = equal.table
    m, moved = len(prior), value["sensitive", "t_closeness"]
    assert moved <= 1 + SLACK
    assert value["sensitive", "distribution_leakage"] <= sqrt(2) * moved + SLACK
    ordered, all_equal = numbers.classes["sensitive", "t_closeness"], equal.classes["sensitive", "t_closeness"]
    for along, anyhow in zip(ordered, all_equal, strict=True):
        assert anyhow / max(m - 1, 1) - SLACK <= along <= anyhow + SLACK
    excluded = any(not weight and counted.cells["s"].marginal[code] for code, weight in enumerate(prior))
    assert isfinite(value["sensitive", "surprise"]) == (not excluded)


# --- The lists are complete ----------------------------------------------------------------------------------------------------


def test_every_metric_is_under_every_law() -> None:
    assert set(BOUNDS) == set(ALL)
    assert set(SCALED) | RELATIVE_TO_THE_PEOPLE <= set(ALL)
    assert len(ALL) == len(METRICS), "two metrics of one scope share a name"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.scope}.{metric.name}")
def test_a_metric_says_what_it_is(metric: Metric[Any]) -> None:
    assert metric.plain
    assert metric.unit
    assert metric.worse in ("high", "low")
    assert metric.per_class is not None or metric.of_table is not None
    assert metric.source or metric.kind == "description"
