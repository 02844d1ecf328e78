# SPDX-License-Identifier: Apache-2.0
"""Equations of Bezzi 2010 with numbers whose logarithms are known."""

from __future__ import annotations

import itertools
from math import log2

import pyarrow as pa
import pytest

from divulge.metrics import Conditions, conditions_of
from divulge.metrics.information import l_of_t
from tests.metrics.drawn import measured


@pytest.mark.parametrize(
    ("entropy", "t", "expected"),
    [(2.0, 0.5, 2**1.5), (3.0, 1.0, 4.0), (1.0, 1.0, 1.0), (1.0, 2.0, 0.5)],
)
def test_the_l_of_a_t_is_two_to_the_entropy_that_is_left(
    entropy: float, t: float, expected: float
) -> None:
    """Eq. 12: l_t = 2^(H - t)."""
    assert l_of_t(entropy, t) == pytest.approx(expected)


def test_the_document_of_the_conditions_follows_the_formulas() -> None:
    """Four values with 1/4 each.

    One class holds two of them, the other class the other two: I1 = 1 bit in both, H(W | class) = 1
    bit.
    """
    table = pa.table({"zip": ["a", "a", "b", "b"], "disease": ["flu", "cold", "hiv", "acne"]})
    found = measured(table, quasi_identifiers="zip", sensitive="disease")
    document = conditions_of(found, "disease", t=0.5, l_value=2.0).document()
    assert document["l_max"] == pytest.approx(4)
    assert document["l_t"] == pytest.approx(2 ** (log2(4) - 0.5))
    assert document["average_surprise"] == pytest.approx(1)
    assert document["necessary"] == {"holds": False, "t": False, "l": True}
    assert document["sufficient"] == {
        "holds": False,
        "classes_breaking_t": 2,
        "classes_breaking_l": 0,
    }
    assert document["average_hides_classes"] is False


def test_an_average_on_the_bound_meets_it() -> None:
    """I1 = 1 bit and 2 = 2^(1 bit that is left) are met exactly.

    Neither bound is given in the last case.
    """
    table = pa.table({"zip": ["a", "a", "b", "b"], "disease": ["flu", "cold", "hiv", "acne"]})
    found = measured(table, quasi_identifiers="zip", sensitive="disease")
    exact = conditions_of(found, "disease", t=1.0, l_value=2.0)
    assert (exact.t_on_average, exact.l_on_average, exact.sufficient) == (True, True, True)
    without = conditions_of(found, "disease").document()
    assert (without["l_t"], without["necessary"]["t"], without["necessary"]["l"]) == (
        None,
        None,
        None,
    )


def test_an_average_hides_classes_if_both_averages_are_met_and_some_class_breaks_a_bound() -> None:
    """Every combination of truth values; None: the bound was not required."""
    truth_values = [True, False, None]
    for t_on_average, l_on_average, t_count, l_count in itertools.product(
        truth_values, truth_values, [0, 2, None], [0, 3, None]
    ):
        found = Conditions(
            t=1.0,
            l_value=2.0,
            l_max=4.0,
            prior_entropy=2.0,
            average_surprise=0.5,
            t_on_average=t_on_average,
            l_on_average=l_on_average,
            classes_breaking_t=t_count,
            classes_breaking_l=l_count,
        )
        averages_met = False not in (t_on_average, l_on_average)
        some_class_breaks = (t_count or 0) + (l_count or 0) > 0
        document = found.document()
        assert document["necessary"]["holds"] is averages_met
        assert document["sufficient"]["holds"] is not some_class_breaks
        assert document["average_hides_classes"] is (averages_met and some_class_breaks)
