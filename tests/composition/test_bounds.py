# SPDX-License-Identifier: Apache-2.0
"""Bounds from two releases without the original, against every original that fits.

An original is a way to match the rows of one release with the rows of the other.
"""

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


def truths(
    first: list[Row], second: list[Row], people: int
) -> Iterator[Counter[tuple[Any, Any, str]]]:
    """Number of people that two classes share, by value, for every way to match the rows.

    None is the class of people who are not published.
    """
    lacking = [None] * (people - len(second))
    rows: list[Any] = [*first, *[None] * (people - len(first))]
    for order in set(itertools.permutations([*second, *lacking])):
        ties: list[Any] = [
            (a, b) for a, b in zip(rows, order, strict=True) if a is not None or b is not None
        ]
        if all(
            a is None or b is None or (a[1] == b[1] and set(ages(a[0])) & set(ages(b[0])))
            for a, b in ties
        ):
            yield Counter((a and a[0], b and b[0], (b if a is None else a)[1]) for a, b in ties)


def table(rows: list[Row]) -> pa.Table:
    """A release with these rows."""
    return pa.table({"age": [age for age, _ in rows], "disease": [disease for _, disease in rows]})


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from("fc"),
            st.sampled_from(["both", "both", "first", "second"]),
        ),
        min_size=2,
        max_size=5,
    ).filter(lambda people: {"both"} <= {where for *_, where in people}),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_bounds_hold_for_every_original_that_fits(
    people: list[tuple[int, str, str]],
    tell: bool,  # noqa: FBT001
    say: bool,  # noqa: FBT001
) -> None:
    """Each release lacks people who are in the other.

    The number of people is passed, or taken from the larger release.
    """
    first = [
        (next(x for x in COARSE if age in ages(x)), v)
        for age, v, where in people
        if where != "second"
    ]
    second = [
        (next(x for x in SHIFTED if age in ages(x)), v)
        for age, v, where in people
        if where != "first"
    ]
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
        for a, b, *told in zip(
            pairs.first, pairs.second, pairs.low, pairs.high, pairs.values, strict=True
        )
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
        assert (
            derived.below[0]
            <= sum(n for n in counts.values() if n < derived.smallest)
            <= derived.below[1]
        )


def test_a_person_missing_from_one_release_is_derived_by_difference() -> None:
    """Three of four people in one class are published again, so the fourth is unique.

    The value that is missing in the second release is hiv.
    """
    first = pa.table({"age": ["[0, 10)"] * 4, "disease": ["flu", "flu", "hiv", "cold"]})
    second = pa.table({"age": ["[0, 10)"] * 3, "disease": ["flu", "flu", "cold"]})
    found = dv.compose([first, second], sensitive="disease")
    (told,) = found.derived
    assert (told.possible, told.certain, told.smallest_certain) == (2, 2, 1)
    assert told.below == (1, 1)
    assert told.one_value == (1, 1)
    assert "1 person shares both classes with fewer than 3" in " ".join(str(found).split())


def test_more_people_than_rows_allow_people_outside_both_releases() -> None:
    """Two releases have the same two rows. With two people, none is unique.

    With three people, each release may lack a different person.
    """
    rows = pa.table({"age": ["1", "1"]})
    same, more = dv.compose([rows, rows]), dv.compose([rows, rows], people=3)
    assert same.derived[0].below == (0, 0)
    assert "nobody shares both" in str(same)
    assert "0 to 0" not in str(same)
    # All three ways: both releases have the same two people and one person is in neither, or one
    # person is in both releases and each release has one more person.
    assert more.derived[0].below == (0, 3)


def test_the_value_of_a_shared_person_is_derived_by_elimination() -> None:
    """Every class has two people, and any two classes have one person in common.

    The person in [0, 10) and [5, 20) has hiv, because no other value fits.
    """
    first = table(
        [("[0, 10)", "flu"), ("[0, 10)", "hiv"), ("[10, 20)", "flu"), ("[10, 20)", "cold")]
    )
    second = table(
        [("[0, 15)", "flu"), ("[0, 15)", "flu"), ("[5, 20)", "hiv"), ("[5, 20)", "cold")]
    )
    (found,) = dv.compose([first, second], sensitive="disease").derived
    assert (found.possible, found.certain, found.smallest_certain) == (4, 4, 1)
    assert found.one_value == (2, 2)
    assert found.below == (4, 4)


@pytest.mark.parametrize("swap", [False, True])
def test_a_value_that_one_release_tells_alone_is_not_derived_from_both(*, swap: bool) -> None:
    """Everybody in `[0, 10)` of one release has the flu; the other release adds nothing to that."""
    told = table([("[0, 10)", "flu"), ("[0, 10)", "flu"), ("[10, 20)", "cold")])
    mixed = table([("[0, 20)", "flu"), ("[0, 20)", "flu"), ("[0, 20)", "cold")])
    releases = [mixed, told] if swap else [told, mixed]
    (bounds,) = dv.compose(releases, sensitive="disease").derived
    assert bounds.one_value == (0, 0)


def test_unreadable_labels_count_as_compatible() -> None:
    first, second = pa.table({"work": ["office", "office"]}), pa.table({"work": ["clerk", "nurse"]})
    (found,) = dv.compose([first, second]).derived
    assert (found.possible, found.certain, found.below[0]) == (2, 2, 0)


def test_fewer_people_than_rows_are_an_error() -> None:
    rows = pa.table({"age": ["1", "2"]})
    with pytest.raises(BadInput, match="less than a release has rows"):
        dv.compose([rows, rows], people=1)
    with pytest.raises(BadInput, match="has no effect"):
        dv.compose([rows, rows], truth=rows, people=3)
    with pytest.raises(BadInput, match="person= has no effect"):
        dv.compose([rows, rows], person="age")
