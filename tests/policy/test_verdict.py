# SPDX-License-Identifier: Apache-2.0
"""Verdicts on hand-counted tables: requirements met, violating classes, tolerance, strictness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from divulge.errors import BadInput
from divulge.metrics import METRICS, Measurement
from divulge.policy import Policy, Promise, judge
from tests.metrics.drawn import measured

# Classes: a 4 people (2 flu, 2 cancer), b 3 (3 flu), c 2 (1 flu, 1 cancer), d 1 (1 gout).
ROWS = (
    [("a", "flu")] * 2
    + [("a", "cancer")] * 2
    + [("b", "flu")] * 3
    + [("c", "flu"), ("c", "cancer"), ("d", "gout")]
)
TABLE = pa.table({"q": [q for q, _ in ROWS], "s": [s for _, s in ROWS], "t": ["x", "y"] * 5})


@pytest.fixture(scope="module")
def one() -> Measurement:
    return measured(TABLE, quasi_identifiers="q", sensitive="s")


@pytest.fixture(scope="module")
def two() -> Measurement:
    return measured(TABLE, quasi_identifiers="q", sensitive=["s", "t"])


def test_a_requirement_that_is_met(one: Measurement) -> None:
    (outcome,) = judge(one, [Promise.make("k_anonymity", 1)]).outcomes
    assert (outcome.holds, outcome.value, outcome.attribute) == (True, 1, None)
    assert (outcome.breaking_classes, outcome.breaking_people, outcome.sample) == (0, 0, ())


def test_violating_classes_are_counted_and_listed_worst_first(one: Measurement) -> None:
    verdict = judge(one, Policy(k_anonymity=4, l_diversity=2).promises)
    assert not verdict.holds
    k, l_ = verdict.outcomes
    assert (k.value, k.breaking_classes, k.breaking_people) == (1, 3, 6)
    assert [(item.key, item.size, item.value) for item in k.sample] == [
        ({"q": "d"}, 1, 1),
        ({"q": "c"}, 2, 2),
        ({"q": "b"}, 3, 3),
    ]
    assert (l_.value, l_.attribute, l_.breaking_classes, l_.breaking_people) == (1, "s", 2, 4)
    assert [item.key for item in l_.sample] == [{"q": "b"}, {"q": "d"}]


def test_the_sample_is_cut_and_the_counts_are_not(one: Measurement) -> None:
    (outcome,) = judge(one, Policy(k_anonymity=4).promises, sample=1).outcomes
    assert (outcome.breaking_classes, len(outcome.sample), outcome.sample[0].key) == (
        3,
        1,
        {"q": "d"},
    )
    assert judge(one, Policy(k_anonymity=4).promises, sample=0).outcomes[0].sample == ()


def test_a_violated_average_lists_no_class(one: Measurement) -> None:
    for name in ("mutual_information", "discrimination_rate", "conditional_privacy"):
        (outcome,) = judge(one, [Promise.make(name, 0)]).outcomes
        assert (outcome.holds, outcome.breaking_classes, outcome.sample) == (False, 0, ())
        assert outcome.value > 0


def test_all_requirements_must_be_met(one: Measurement) -> None:
    verdict = judge(one, [Promise.make("k_anonymity", 1), Promise.make("alpha", 0.5)])
    assert [outcome.holds for outcome in verdict.outcomes] == [True, False]
    assert not verdict.holds


def test_a_requirement_is_checked_for_each_attribute(two: Measurement) -> None:
    outcomes = judge(two, Policy(l_diversity=2).promises).outcomes
    # t alternates: a has x, y, x, y; b x, y, x; c y, x; d y.
    assert [(o.attribute, o.value, o.breaking_classes) for o in outcomes] == [
        ("s", 1, 2),
        ("t", 1, 1),
    ]


def test_a_requirement_for_one_attribute_is_checked_only_for_it(two: Measurement) -> None:
    (outcome,) = judge(two, [Promise.make("l_diversity", 2, attribute="t")]).outcomes
    assert (outcome.attribute, outcome.breaking_classes) == ("t", 1)


@pytest.mark.parametrize(
    "metric",
    [metric for metric in METRICS if metric.kind == "risk"],
    ids=lambda m: f"{m.scope}.{m.name}",
)
def test_every_risk_at_its_own_value(metric: Any) -> None:
    """A bound that equals the value is met.

    A bound beyond the tolerance is not, and the verdict names exactly the classes beyond it.
    """
    population = pa.table({"q": ["a"] * 9 + ["b"] * 8 + ["c"] * 7 + ["d"] * 6})
    found = measured(TABLE, quasi_identifiers="q", sensitive="s", population=population)
    scores = found.identity if metric.scope == "identity" else found.sensitive["s"]
    value = scores[metric.name].value
    # Infinite for this table: only infinity could be required.
    bound = value if value < float("inf") else 1e9
    promise = Promise(metric, bound, l_value=1 if metric.strict else None)
    (outcome,) = judge(found, [promise]).outcomes
    assert outcome.holds == (value < float("inf") and not metric.strict)
    slack = 1e-6 if metric.worse == "high" else -1e-6
    (easier,) = judge(found, [replace(promise, bound=bound + slack)]).outcomes
    assert easier.holds == (value < float("inf"))
    (harder,) = judge(found, [replace(promise, bound=bound - slack)]).outcomes
    assert not harder.holds
    if metric.per_class is not None and metric.of_table is None:
        numbers = found.per_class(metric.name, "s" if metric.scope == "sensitive" else None)
        beyond = numbers > bound - slack if metric.worse == "high" else numbers < bound - slack
        assert harder.breaking_classes == beyond.sum() > 0
        assert harder.breaking_people == found.contingency.sizes[beyond].sum()


@pytest.mark.parametrize(("slack", "holds"), [(0, True), (5e-10, True), (2e-9, False)])
def test_the_tolerance(one: Measurement, slack: float, holds: bool) -> None:  # noqa: FBT001 - a table of cases
    for name, sign in (
        ("distribution_leakage", -1),
        ("entropy_l_diversity", 1),
        ("entropy_leakage", -1),
    ):
        bound = one[name].value + sign * slack
        assert judge(one, [Promise.make(name, bound)]).holds == holds, name


def test_recursive_diversity_is_strict() -> None:
    """Counts 8, 1, 1 with l = 2: r1 < c (r2 + r3) needs c above 4, and 4 itself is not enough.

    With l = 3, above 8.
    """
    table = pa.table({"q": [0] * 10, "s": ["x"] * 8 + ["y", "z"]})
    found = measured(table, quasi_identifiers="q", sensitive="s")
    cases = [
        ((4, 2), False),
        ((4.001, 2), True),
        ((8, 3), False),
        ((8.001, 3), True),
        ((100, 4), False),
        ((0.8, 1), False),
        ((0.81, 1), True),
    ]
    for bound, holds in cases:
        verdict = judge(found, [Promise.make("recursive_c_l_diversity", bound)])
        assert verdict.holds == holds, bound
    assert judge(found, [Promise.make("recursive_c_l_diversity", (100, 4))]).outcomes[
        0
    ].value == float("inf")


def test_a_shared_name_means_identity_when_no_attribute_is_there() -> None:
    found = measured(TABLE, quasi_identifiers="q")
    (outcome,) = judge(found, Policy(itpr=0.5).promises).outcomes
    assert (outcome.attribute, outcome.value, outcome.promise.text) == (
        None,
        1,
        "identity itpr <= 0.5",
    )


def test_a_shared_name_can_be_used_for_identity(one: Measurement) -> None:
    sensitive, identity = judge(
        one, Policy.from_document({"itpr": 0.9, "promises": {"identity": {"itpr": 0.9}}}).promises
    ).outcomes
    assert (sensitive.attribute, identity.attribute) == ("s", None)
    assert identity.value == one.identity["itpr"].value


def test_knowledge_leaves_excluded_classes_out_of_a_verdict() -> None:
    """Without flu nobody of b is left; of a and c only cancer is."""
    found = measured(TABLE, quasi_identifiers="q", sensitive="s", rule_out={"s": "flu"})
    (outcome,) = judge(found, Policy(l_diversity=2).promises).outcomes
    assert (outcome.breaking_classes, outcome.breaking_people) == (3, 7)
    assert [item.key["q"] for item in outcome.sample] == ["a", "c", "d"]


REFUSED: list[tuple[Promise, str]] = [
    (Promise.make("l_diversity", 2, attribute="u"), "'u' is not a sensitive attribute here"),
    (Promise.make("k_map", 2), "k_map needs a population"),
]


@pytest.mark.parametrize(("promise", "message"), REFUSED)
def test_unsuitable_requirements_raise_an_error(
    one: Measurement, promise: Promise, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        judge(one, [promise])


@pytest.mark.parametrize(
    "promise",
    [Promise.make("l_diversity", 2), Promise.make("itpr", 0.5, attribute="s", scope="sensitive")],
)
def test_a_requirement_about_an_attribute_needs_one(promise: Promise) -> None:
    """Even if identity has a metric of that name."""
    with pytest.raises(BadInput, match="is about a sensitive attribute, and none was named"):
        judge(measured(TABLE, quasi_identifiers="q"), [promise])


def test_an_empty_policy_raises_an_error(one: Measurement) -> None:
    with pytest.raises(BadInput, match="makes no promise"):
        judge(one, [])


@pytest.mark.parametrize("text", ["k_anonymity > 5", "entropy_leakage < 0.5", "k_anonymity <= 5"])
def test_another_comparison_sign_raises_an_error(text: str) -> None:
    """A class of five meets k >= 5 and violates k > 5."""
    with pytest.raises(BadInput, match="this can only be promised as"):
        Promise.parse(text)
