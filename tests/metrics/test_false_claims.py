# SPDX-License-Identifier: Apache-2.0
"""False claims and common misconceptions, each with a counterexample small enough to check by hand.

Three more are among the golden entries: L_E = 0 only for equal distributions (000.thm3.2), L_E is
convex (000.convexity), and information of independent attributes adds up (001.sec22).
"""

from __future__ import annotations

from math import log2

import pyarrow as pa
import pytest

from divulge.metrics import METRICS, conditions_of
from tests.metrics.drawn import (
    Counts,
    belief_of,
    contingency_of,
    measured,
    merged,
    name_of,
    numbers_of,
)

# Metrics that a merge can make worse: counts, target class of each class, before, after.
WORSE_AFTER_MERGING: dict[tuple[str, str], tuple[Counts, list[int], float, float]] = {
    # Sizes 1, 1, 2, 3 have the median 1.5; 1, 1, 5 have 1.
    ("identity", "median_class_size"): (
        [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 3}],
        [0, 1, 2, 2],
        1.5,
        1,
    ),
    # Sizes 2, 3, 3 have 1 - 3 (2/8) 1/3; 2, 6 have 1 - 2 (2/8) 1/3: publishing more lowers it.
    ("identity", "itpr"): ([{"a": 2}, {"a": 3}, {"a": 3}], [0, 1, 1], 0.75, 5 / 6),
    # Class shares 1/4, 3/8, 3/8 of an independent attribute: 1 - |Y| min p(y) goes from 1/4 to 1/2.
    ("sensitive", "itpr"): (
        [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}],
        [0, 1, 1],
        0.25,
        0.5,
    ),
    # a is half of the table; in the merged class it is 4 of 5 and b 1 of 5, further below its half
    # than 1 is above.
    ("sensitive", "delta_disclosure_present"): (
        [{"b": 3}, {"a": 4}, {"b": 1}],
        [1, 0, 0],
        1,
        log2(2.5),
    ),
    ("sensitive", "averaged_information"): (
        # H(class) is 1.922 and 1.522; b leaves 1 and 0 bits of it, a 0.918 in both.
        [{"b": 1}, {"b": 1}, {"a": 2}, {"a": 1}],
        [0, 0, 1, 2],
        1.0036322608,
        1.5219280949,
    ),
    ("sensitive", "set_information"): (
        # Two people with b of five: one class each reveals little about "b or not", both together
        # reveal all, H(2/5).
        [{"b": 1}, {"b": 1}, {"a": 2}, {"a": 1}],
        [0, 0, 1, 2],
        0.4199730940,
        0.9709505945,
    ),
    # {a: 80}, {a: 8, b: 2}, {a: 2, b: 8}: H is .469 for the table, 0, .722 and .722 for the
    # classes, 1 for the last two together.
    ("sensitive", "entropy_leakage"): (
        [{"a": 80}, {"a": 8, "b": 2}, {"a": 2, "b": 8}],
        [0, 1, 1],
        0.4689955936,
        0.5310044064,
    ),
}


def test_each_metric_is_monotone_or_has_a_counterexample() -> None:
    assert set(WORSE_AFTER_MERGING) == {
        name_of(metric) for metric in METRICS if not metric.monotone
    }


@pytest.mark.parametrize("name", WORSE_AFTER_MERGING, ids=".".join)
def test_merging_can_make_it_worse(name: tuple[str, str]) -> None:
    table, into, before, after = WORSE_AFTER_MERGING[name]
    fine = contingency_of(table)
    assert numbers_of(fine).table[name] == pytest.approx(before, abs=1e-9)
    assert numbers_of(merged(fine, into)).table[name] == pytest.approx(after, abs=1e-9)


def test_itpr_falls_while_the_discrimination_rate_rises() -> None:
    rates = [
        numbers_of(contingency_of([{"a": n} for n in sizes])).table[
            "identity", "discrimination_rate"
        ]
        for sizes in ([2, 6], [2, 3, 3])
    ]
    assert rates == pytest.approx([0.2704260415, 0.5204260415])


def test_recursive_diversity_with_the_tables_own_l_is_not_monotone() -> None:
    """Merging {a} with {b, b} raises l from 1 to 2 and c from 1 to 2.

    For one l it is monotone, and a requirement fixes l.
    """
    fine = contingency_of([{"a": 1}, {"b": 2}])
    name = ("sensitive", "recursive_c_l_diversity")
    assert (numbers_of(fine).table[name], numbers_of(merged(fine, [0, 0])).table[name]) == (1, 2)
    assert numbers_of(fine, recursive_l=2).table[name] == float("inf")


def test_afifis_maximum_of_entropy_leakage_is_wrong() -> None:
    """After Definition 9: log2 m - Z, which is 0 for a uniform prior.

    A class with one value of four leaks 2 bits of it.
    """
    classes = [{value: 1} for value in "abcd"]
    assert numbers_of(contingency_of(classes)).table[
        "sensitive", "entropy_leakage"
    ] == pytest.approx(2)


def heights() -> pa.Table:
    """Bezzi's Table 3: twelve people in four ranges of height, one of them ill."""
    ranges = ["[160-170)"] * 4 + ["[170-180)"] * 4 + ["[180-190)"] * 2 + ["[190-200)"] * 2
    return pa.table({"height": ranges, "diagnosis": ["N"] * 11 + ["Y"]})


def test_an_average_that_holds_does_not_hold_in_every_class() -> None:
    """Eq. 13 does not imply eq. 14.

    The mutual information .247 meets t = .3; the class [190-200) with I1 = .855 does not.
    """
    found = measured(heights(), quasi_identifiers="height", sensitive="diagnosis")
    told = conditions_of(found, "diagnosis", t=0.3)
    assert told.average_surprise == pytest.approx(0.247150, abs=1e-6)
    assert (told.necessary, told.sufficient, told.classes_breaking_t) == (True, False, 1)
    assert told.average_hides_classes


def test_closeness_does_not_bring_the_diversity_of_its_own_budget() -> None:
    """Eq. 12 is a budget only.

    Without the last class every class has I1 = .1255 <= t = .2, yet no entropy l above 1.
    """
    found = measured(heights(), quasi_identifiers="height", sensitive="diagnosis")
    close = found.per_class("surprise", "diagnosis")[:3]
    assert close == pytest.approx([0.125531] * 3, abs=1e-6)
    l_t = 2 ** (log2(found["l_max"].value) - 0.2)
    assert l_t > 1.15
    assert found.per_class("entropy_l_diversity", "diagnosis")[:3] == pytest.approx([1, 1, 1])


def test_independence_does_not_make_itpr_vanish() -> None:
    """{a: P, N; b: 4 P, 4 N} is independent, yet ITPR is 1 - |Y| min p(y) = .6.

    DR, MI and t show no risk.
    """
    value = numbers_of(contingency_of([{"P": 1, "N": 1}, {"P": 4, "N": 4}])).table
    assert value["sensitive", "itpr"] == pytest.approx(0.6)
    silent = (
        "mutual_information",
        "discrimination_rate",
        "t_closeness",
        "surprise",
        "distribution_leakage",
        "entropy_leakage",
    )
    assert [value["sensitive", name] for name in silent] == [0] * len(silent)


def test_itpr_misses_the_same_risk_as_t_closeness() -> None:
    """Bkakria's Tables 1 and 2: the probability of a right guess rises from .33 to .60.

    ITPR stays 0; ELD rises from .333 to .387.
    """
    fair, skewed = [{"A": 1, "D": n, "H": 1} for n in (1,)] * 3, [{"A": 1, "D": 3, "H": 1}] * 3
    first, second = (numbers_of(contingency_of(table)).table for table in (fair, skewed))
    assert (first["sensitive", "alpha"], second["sensitive", "alpha"]) == pytest.approx(
        (1 / 3, 0.6)
    )
    assert (first["sensitive", "itpr"], second["sensitive", "itpr"]) == (0, 0)
    assert (
        first["sensitive", "entropy_l_risk"],
        second["sensitive", "entropy_l_risk"],
    ) == pytest.approx((0.3333, 0.3866), abs=1e-4)


@pytest.mark.parametrize("name", ["surprise", "averaged_information", "set_information"])
def test_the_chain_rule_over_x_holds_for_i2_only(name: str) -> None:
    """I((1,0), Y) against I(x1=1, Y) + I(x2=0, Y | x1=1) for Y = x1 AND x2; I2 is among the
    golden entries.
    """
    bits = pa.table({"x1": [0, 0, 1, 1], "x2": [0, 1, 0, 1], "y": ["0", "0", "0", "1"]})
    whole = measured(bits, quasi_identifiers=["x1", "x2"], sensitive="y").per_class(name, "y")[2]
    first = measured(bits, quasi_identifiers="x1", sensitive="y").per_class(name, "y")[1]
    second = measured(bits.slice(2), quasi_identifiers="x2", sensitive="y").per_class(name, "y")[0]
    assert abs(whole - first - second) > 0.1


def test_equally_close_classes_can_differ_in_entropy_leakage() -> None:
    """Afifi, Example 4: both classes are 0.1-close and leak L_D = .1414.

    Only L_E distinguishes .161 from .390.
    """
    rows = {"Cancer": [2, 0], "Heart": [4, 6], "Flu": [4, 4]}
    counted = contingency_of([{value: n[c] for value, n in rows.items() if n[c]} for c in (0, 1)])
    belief = belief_of(counted)
    numbers = numbers_of(counted).classes
    assert belief.prior.shares[0] == pytest.approx([0.1, 0.4, 0.5])  # Cancer, Flu, Heart
    assert numbers["sensitive", "t_closeness"] == pytest.approx([0.1, 0.1])
    assert numbers["sensitive", "distribution_leakage"] == pytest.approx(
        [0.141421, 0.141421], abs=1e-6
    )
    assert numbers["sensitive", "entropy_leakage"] == pytest.approx([0.160964, 0.390013], abs=1e-6)
