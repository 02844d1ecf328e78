# SPDX-License-Identifier: Apache-2.0
"""What two releases prove without the truth, against every truth that fits: all ways to tie the rows of one to those of the other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.errors import BadInput

Row = tuple[str, str]
COARSE = ("[0, 2)", "[2, 4)", "[4, 6)")
SHIFTED = ("[0, 3)", "[3, 6)")


def ages(label: str) -> range:
    """The whole numbers of a range."""
    low, high = label.strip("[)").split(", ")
    return range(int(low), int(high))


def truths(first: list[Row], second: list[Row], people: int) -> Iterator[Counter[tuple[str, str]]]:
    """For every way to say which row of one is which row of the other: how many people each two classes share."""
    lacking = [None] * (people - len(second))
    rows: list[Any] = [*first, *[None] * (people - len(first))]
    for order in set(itertools.permutations([*second, *lacking])):
        ties = list(zip(rows, order, strict=True))
        if all(a is None or b is None or (a[1] == b[1] and set(ages(a[0])) & set(ages(b[0]))) for a, b in ties):
            yield Counter((a[0], b[0]) for a, b in ties if a is not None and b is not None)


def table(rows: list[Row]) -> pa.Table:
    """A release with these rows."""
    return pa.table({"age": [age for age, _ in rows], "disease": [disease for _, disease in rows]})


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("fc")), min_size=2, max_size=4), st.booleans(), st.booleans()
)
@settings(max_examples=25, deadline=None)
def test_the_bounds_hold_for_every_truth_that_fits(people: list[tuple[int, str]], lose: bool, tell: bool) -> None:  # noqa: FBT001
    first = [(next(label for label in COARSE if age in ages(label)), disease) for age, disease in people]
    second = [(next(label for label in SHIFTED if age in ages(label)), disease) for age, disease in people][int(lose) :]
    disease = "disease" if tell else ()
    columns = ["age", "disease"] if tell else ["age"]
    found = dv.compose([table(first).select(columns), table(second).select(columns)], sensitive=disease)
    (derived,) = found.derived
    same = [(age, "x") for age, _ in first], [(age, "x") for age, _ in second]
    every = list(truths(*((first, second) if tell else same), len(people)))
    assert every
    sides = sorted({age for age, _ in first}), sorted({age for age, _ in second})
    pairs = derived.pairs
    bounds = {
        (sides[0][a], sides[1][b]): (low, high)
        for a, b, low, high in zip(pairs.first, pairs.second, pairs.low.tolist(), pairs.high.tolist(), strict=True)
    }
    for both in itertools.product(*sides):
        low, high = bounds.get(both, (0, 0))
        counts = [truth[both] for truth in every]
        assert low <= min(counts)
        assert max(counts) <= high
    small = [sum(n for n in truth.values() if n < derived.smallest) for truth in every]
    assert derived.below[0] <= min(small)
    assert max(small) <= derived.below[1]


def test_who_is_in_both_of_two_classes_is_found_by_the_value_that_is_left() -> None:
    """Every class has two people, and any two classes have one in common: who is in [0, 10) and [5, 20) has hiv, nothing else fits."""
    first = table([("[0, 10)", "flu"), ("[0, 10)", "hiv"), ("[10, 20)", "flu"), ("[10, 20)", "cold")])
    second = table([("[0, 15)", "flu"), ("[0, 15)", "flu"), ("[5, 20)", "hiv"), ("[5, 20)", "cold")])
    (found,) = dv.compose([first, second], sensitive="disease").derived
    assert (found.possible, found.certain, found.smallest_certain) == (4, 4, 1)
    assert found.one_value == (2, 2)
    assert found.below == (4, 4)


def test_labels_that_cannot_be_read_may_meet() -> None:
    first, second = pa.table({"work": ["office", "office"]}), pa.table({"work": ["clerk", "nurse"]})
    (found,) = dv.compose([first, second]).derived
    assert (found.possible, found.certain, found.below[0]) == (2, 2, 0)


def test_fewer_people_than_rows_are_refused() -> None:
    rows = pa.table({"age": ["1", "2"]})
    with pytest.raises(BadInput, match="less than a release has rows"):
        dv.compose([rows, rows], people=1)
    with pytest.raises(BadInput, match="has no effect"):
        dv.compose([rows, rows], truth=rows, people=3)
    with pytest.raises(BadInput, match="person= has no effect"):
        dv.compose([rows, rows], person="age")
