# SPDX-License-Identifier: Apache-2.0
"""The earth mover's distance against its definition.

It is the cheapest of all matchings of one distribution's units with the other's.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.adversary import Belief, GroundDistance, PriorBelief
from divulge.adversary.ground_distance import GroundChoice
from divulge.counting import Cells, Domain, build_cells
from divulge.metrics import closeness
from tests import oracle
from tests.metrics.drawn import measured

VALUES = 5
units = st.lists(st.integers(0, VALUES - 1), min_size=5, max_size=5)
# Two levels above the values: which node of level 1 a value is under, and which node of level 2
# that node is under.
trees = st.tuples(
    st.lists(st.integers(0, 2), min_size=VALUES, max_size=VALUES),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
)


def cells_of(classes: list[list[int]]) -> Cells:
    """Units of the values 0 to 4; all of them are in the domain, even if they do not occur."""
    seen = [
        (number, value, n)
        for number, members in enumerate(classes)
        for value, n in Counter(members).items()
    ]
    class_index, value, mass = (np.array(column) for column in zip(*seen, strict=True))
    domain = Domain("s", pa.array([str(value) for value in range(VALUES)]), "text")
    return build_cells(domain, class_index, value, mass.astype(float), classes=len(classes))


def distances(classes: list[list[int]], prior: list[int], ground: GroundDistance) -> list[float]:
    weights = np.bincount(prior, minlength=VALUES).astype(float)
    belief = Belief(
        cells_of(classes), PriorBelief("given", weights[None, :]), ground, np.arange(len(classes))
    )
    found: list[float] = closeness.t_closeness(belief).tolist()
    return found


@given(st.lists(units, min_size=1, max_size=3), units)
@settings(deadline=None, max_examples=60)
def test_equal_distance(classes: list[list[int]], prior: list[int]) -> None:
    expected = [
        oracle.matched_distance(members, prior, lambda i, j: Fraction(i != j))
        for members in classes
    ]
    assert distances(classes, prior, GroundDistance("equal")) == pytest.approx(
        [float(d) for d in expected], abs=1e-12
    )


@given(st.lists(units, min_size=1, max_size=3), units)
@settings(deadline=None, max_examples=60)
def test_ordered_distance(classes: list[list[int]], prior: list[int]) -> None:
    expected = [
        oracle.matched_distance(members, prior, lambda i, j: Fraction(abs(i - j), VALUES - 1))
        for members in classes
    ]
    assert distances(classes, prior, GroundDistance("ordered")) == pytest.approx(
        [float(d) for d in expected], abs=1e-12
    )


@given(st.lists(units, min_size=1, max_size=3), units, trees)
@settings(deadline=None, max_examples=60)
def test_hierarchical_distance(
    classes: list[list[int]], prior: list[int], tree: tuple[list[int], list[int]]
) -> None:
    """The height of the lowest common ancestor over the height of the tree, which is 3 here."""
    below, above = tree

    def apart(i: int, j: int) -> Fraction:
        height = (
            0
            if i == j
            else 1
            if below[i] == below[j]
            else 2
            if above[below[i]] == above[below[j]]
            else 3
        )
        return Fraction(height, 3)

    taxonomy = {
        str(i): [f"low {below[i]}", f"high {above[below[i]]}", "root"] for i in range(VALUES)
    }
    ground = GroundChoice(taxonomies={"s": taxonomy}).ground(cells_of(classes))
    expected = [oracle.matched_distance(members, prior, apart) for members in classes]
    assert distances(classes, prior, ground) == pytest.approx(
        [float(d) for d in expected], abs=1e-12
    )


@given(st.lists(units, min_size=2, max_size=4), st.lists(units, min_size=2, max_size=2), st.data())
@settings(deadline=None, max_examples=40)
def test_a_prior_for_each_class(
    classes: list[list[int]], priors: list[list[int]], data: st.DataObject
) -> None:
    """Every distance of a class is the one against its own prior."""
    row = data.draw(st.lists(st.integers(0, 1), min_size=len(classes), max_size=len(classes)))
    weights = np.array([np.bincount(prior, minlength=VALUES) for prior in priors], dtype=float)
    levels = (np.arange(VALUES), np.array([0, 0, 1, 1, 1]))
    for ground in (
        GroundDistance("equal"),
        GroundDistance("ordered"),
        GroundDistance("hierarchical", levels),
    ):
        belief = Belief(
            cells_of(classes),
            PriorBelief("conditional", weights, np.array(row)),
            ground,
            np.arange(len(classes)),
        )
        expected = [
            distances([members], priors[own], ground)[0]
            for members, own in zip(classes, row, strict=True)
        ]
        assert closeness.t_closeness(belief).tolist() == pytest.approx(expected, abs=1e-12)


def beta(classes: dict[str, dict[str, int]], **options: Any) -> tuple[float, float]:
    rows = [(q, s) for q, members in classes.items() for s, n in members.items() for _ in range(n)]
    found = measured(
        pa.table({"q": [q for q, _ in rows], "s": [s for _, s in rows]}),
        quasi_identifiers="q",
        sensitive="s",
        **options,
    )
    return found["basic_beta_likeness"].value, found["enhanced_beta_likeness"].value


def test_beta_likeness_by_hand() -> None:
    # a is 4 of 10 and rises to 2 of 4 (by a quarter); -ln .4 = .916 allows that. b falls from 6 of
    # 10 to 2 of 4 and back to 4 of 6.
    assert beta({"x": {"a": 2, "b": 2}, "y": {"a": 2, "b": 4}}) == pytest.approx((0.25, 0.25))
    # b rises from 6 of 10 to all of 2: by .667 > -ln .6 = .511, which no beta of the enhanced
    # definition allows.
    assert beta({"x": {"a": 4, "b": 4}, "y": {"b": 2}}) == pytest.approx((2 / 3, float("inf")))


def test_a_value_that_the_prior_excludes_is_an_infinite_gain() -> None:
    table = {"x": {"a": 1, "b": 1}}
    assert beta(table, prior={"a": 1, "b": 0}) == (float("inf"), float("inf"))


def test_delta_disclosure_by_hand() -> None:
    """Both a and b are half of the table each.

    In x they are 3/4 and 1/4, |log2(1/2)| = 1; in y b is absent and a doubled.
    """
    rows = [("x", "a")] * 3 + [("x", "b")] + [("y", "a")] + [("z", "b")] * 3
    table = pa.table({"q": [q for q, _ in rows], "s": [s for _, s in rows]})
    found = measured(table, quasi_identifiers="q", sensitive="s")
    assert found.per_class("delta_disclosure", "s").tolist() == [1, float("inf"), float("inf")]
    assert found.per_class("delta_disclosure_present", "s").tolist() == [1, 1, 1]
