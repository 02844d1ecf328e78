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


def truths(first: list[Row], second: list[Row], people: int) -> Iterator[Counter[tuple[Any, Any, str]]]:
    """For every way to say which row of one is which row of the other: how many people two classes share, by value; None: not there."""
    lacking = [None] * (people - len(second))
    rows: list[Any] = [*first, *[None] * (people - len(first))]
    for order in set(itertools.permutations([*second, *lacking])):
        ties: list[Any] = [(a, b) for a, b in zip(rows, order, strict=True) if a is not None or b is not None]
        if all(a is None or b is None or (a[1] == b[1] and set(ages(a[0])) & set(ages(b[0]))) for a, b in ties):
            yield Counter((a and a[0], b and b[0], (b if a is None else a)[1]) for a, b in ties)


def table(rows: list[Row]) -> pa.Table:
    """A release with these rows."""
    return pa.table({"age": [age for age, _ in rows], "disease": [disease for _, disease in rows]})


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("fc"), st.sampled_from(["both", "both", "first", "second"])),
        min_size=2,
        max_size=5,
    ).filter(lambda people: {"both"} <= {where for *_, where in people}),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_bounds_hold_for_every_truth_that_fits(
    people: list[tuple[int, str, str]],
    tell: bool,  # noqa: FBT001
    say: bool,  # noqa: FBT001
) -> None:
    """Each release lacks people whom the other has; how many there are is said, or taken from the larger."""
    first = [(next(x for x in COARSE if age in ages(x)), v) for age, v, where in people if where != "second"]
    second = [(next(x for x in SHIFTED if age in ages(x)), v) for age, v, where in people if where != "first"]
    columns, sensitive = (["age", "disease"], "disease") if tell else (["age"], ())
    several = len(people) if say else max(len(first), len(second))
    given = [table(first).select(columns), table(second).select(columns)]
    (derived,) = dv.compose(given, sensitive=sensitive, people=several if say else None).derived
    same = [(age, "x") for age, _ in first], [(age, "x") for age, _ in second]
    every = list(truths(*((first, second) if tell else same), several))
    assert every or not say
    sides: list[list[Any]] = [[*sorted({age for age, _ in rows}), None] for rows in (first, second)]
    pairs = derived.pairs
    bounds = {
        (sides[0][a], sides[1][b]): told
        for a, b, *told in zip(pairs.first, pairs.second, pairs.low, pairs.high, pairs.values, strict=True)
    }
    joint = [Counter(dict.fromkeys(itertools.product(*sides), 0)) for _ in every]
    for counts, truth in zip(joint, every, strict=True):
        for (a, b, _), n in truth.items():
            counts[a, b] += n
    for both in itertools.product(*sides) if every else ():
        if both != (None, None):
            low, high, values = bounds.get(both, (0, 0, 0))
            assert low <= min(counts[both] for counts in joint)
            assert max(counts[both] for counts in joint) <= high
            left = {v for truth in every for a, b, v in truth if (a, b) == both}
            assert len(left) <= values or not tell
    for counts in joint:
        assert derived.below[0] <= sum(n for n in counts.values() if n < derived.smallest) <= derived.below[1]


def test_who_is_left_out_of_one_release_is_told_by_the_difference() -> None:
    """Of four people in one class three are published again: the fourth is alone, and of the values hiv is what is missing."""
    first = pa.table({"age": ["[0, 10)"] * 4, "disease": ["flu", "flu", "hiv", "cold"]})
    second = pa.table({"age": ["[0, 10)"] * 3, "disease": ["flu", "flu", "cold"]})
    found = dv.compose([first, second], sensitive="disease")
    (told,) = found.derived
    assert (told.possible, told.certain, told.smallest_certain) == (2, 2, 1)
    assert told.below == (1, 1)
    assert told.one_value == (1, 1)
    assert "1 person shares both classes with fewer than 3" in " ".join(str(found).split())


def test_people_outside_are_possible_where_more_are_said_to_be() -> None:
    """Two releases of the same two rows: of two people nobody is alone; of three, each may lack another one."""
    rows = pa.table({"age": ["1", "1"]})
    same, more = dv.compose([rows, rows]), dv.compose([rows, rows], people=3)
    assert same.derived[0].below == (0, 0)
    assert "nobody shares both" in str(same)
    assert "0 to 0" not in str(same)
    # All three ways: both the same two people (and one in neither), or one in both and one in each alone.
    assert more.derived[0].below == (0, 3)


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
