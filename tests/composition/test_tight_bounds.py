# SPDX-License-Identifier: Apache-2.0
"""Tightness of the bounds of two releases: exact in 2 x 2 classes, by the formulas elsewhere.

test_bounds.py tests that the bounds hold. Bounds that hold may still be so wide that they miss a
person who is singled out.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.composition.intersection_bounds import IntersectionBounds
from divulge.errors import BadInput
from tests.labels import CLOSED, FROM_TO, HALF_OPEN, MASKS, ONE, OPEN, values

Labels = list[str]
Bounds = dict[tuple[str | None, str | None], tuple[int, int]]


def derived_of(first: pa.Table, second: pa.Table, **options: Any) -> IntersectionBounds:
    """Return the facts that two releases prove together."""
    (found,) = dv.compose([first, second], **options).derived
    return found


def bounds_by_label(found: IntersectionBounds, first: Labels, second: Labels) -> Bounds:
    """Return the bounds of each pair of classes; None is the class of people not published."""
    mine: list[str | None] = [*sorted(set(first)), None]
    theirs: list[str | None] = [*sorted(set(second)), None]
    pairs = found.pairs
    return {
        (mine[a], theirs[b]): (int(low), int(high))
        for a, b, low, high in zip(pairs.first, pairs.second, pairs.low, pairs.high, strict=True)
    }


# --- labels with a value in common ----------------------------------------------------------------

GRID = [Fraction(step, 4) for step in range(-40, 500)]
"""Numbers between and beyond the ends of all labels, which are multiples of a half."""


def numbers(label: str) -> frozenset[Fraction]:
    """Return the numbers of the grid that a label stands for, read by hand."""
    if label in ONE:
        return frozenset({Fraction(label)})
    if label.startswith("<"):
        return frozenset(number for number in GRID if number < Fraction(label[1:]))
    if label.startswith(">="):
        return frozenset(number for number in GRID if number >= Fraction(label[2:]))
    if label in FROM_TO:
        low, high = (Fraction(end) for end in label.replace("\u2013", "-").split("-"))
        return frozenset(number for number in GRID if low <= number <= high)
    low, high = (Fraction(end) for end in label[1:-1].split(","))
    return frozenset(
        number
        for number in GRID
        if low <= number < high or (label.endswith("]") and number == high)
    )


RANGES = {label: numbers(label) for label in {**HALF_OPEN, **OPEN, **CLOSED, **FROM_TO, **ONE}}
MASKED = {label: values(texts) for label, texts in MASKS.items()}
"""`CODES` holds a code for every two masks that agree wherever both show a character."""


@pytest.mark.parametrize("meanings", [RANGES, MASKED], ids=["ranges", "masks"])
def test_labels_share_people_if_and_only_if_they_share_a_value(
    meanings: dict[str, frozenset[Any]],
) -> None:
    """Every label of one release against every label of the other, each of two people."""
    labels = sorted(meanings) * 2
    found = derived_of(pa.table({"column": labels}), pa.table({"column": labels}))
    expected = {
        pair
        for pair in itertools.product(meanings, meanings)
        if meanings[pair[0]] & meanings[pair[1]]
    }
    assert bounds_by_label(found, labels, labels).keys() == expected


def test_masks_of_two_levels_share_the_classes_that_agree() -> None:
    """Every class of `021*` is inside one of `02**`: both its people share both classes."""
    first = ["02**", "02**", "03**", "03**"]
    second = ["021*", "021*", "031*", "031*"]
    found = derived_of(pa.table({"zip": first}), pa.table({"zip": second}))
    expected = {("02**", "021*"): (2, 2), ("03**", "031*"): (2, 2)}
    assert bounds_by_label(found, first, second) == expected
    assert (found.possible, found.certain) == (2, 2)


TWO_NOTATIONS = {
    "dashed ranges": (("20-29", "30-39"), ("25-29", "30-44")),
    "dates": (("[2024-01-01, 2024-07-01)", "2024-Q3"), ("2024-02", "[2024-07-01, 2024-09-30]")),
    "years": (("2024", "2025"), ("2024-Q1", "2025-12-24")),
    "sets and ranges": (("{21,25}", "{33, 38, null}"), ("[20, 30)", ">=30")),
    "sets": (("{clerk, cook}", "{nurse, smith}"), ("cook", "{smith,judge}")),
    "masks of two lengths": (("02**", "13**"), ("021", "134*5")),
    "masks and ranges": (("2*", "3*"), ("[20, 25)", "30-39")),
}


@pytest.mark.parametrize("notation", TWO_NOTATIONS)
def test_labels_of_two_notations_share_only_the_people_of_common_values(notation: str) -> None:
    """Each first label has values in common with the second label at its place, and no other.

    So all three people of one class are in the other one, and the two others are as well. If every
    pair of labels may share people, there are four pairs, and only one person is certain to share
    the first two classes.
    """
    (a, b), (x, y) = TWO_NOTATIONS[notation]
    first = [a, a, a, b, b]
    second = [x, x, x, y, y]
    found = derived_of(pa.table({"column": first}), pa.table({"column": second}))
    assert bounds_by_label(found, first, second) == {(a, x): (3, 3), (b, y): (2, 2)}
    assert (found.possible, found.certain) == (2, 2)


def test_sets_without_blanks_share_their_common_value() -> None:
    """Both people of `{a,b}` are b, because the other release only has b and c."""
    first = ["{a,b}", "{a,b}"]
    second = ["{b,c}", "{b,c}"]
    found = derived_of(pa.table({"work": first}), pa.table({"work": second}))
    assert bounds_by_label(found, first, second) == {("{a,b}", "{b,c}"): (2, 2)}


def test_a_word_of_a_hierarchy_is_compared_with_labels_that_the_hierarchy_lacks(
    tmp_path: Path,
) -> None:
    """The label office is clerk or nurse, and shares nobody with a set of other jobs."""
    rows = ["clerk;office;*", "nurse;office;*", "cook;other;*", "smith;other;*"]
    (tmp_path / "job.csv").write_text("\n".join(["job;kind;all", *rows]) + "\n", encoding="utf-8")
    first = ["office", "office", "other"]
    second = ["{clerk, nurse}", "{clerk, nurse}", "{cook, smith}"]
    found = derived_of(
        pa.table({"job": first}), pa.table({"job": second}), hierarchies=str(tmp_path)
    )
    assert bounds_by_label(found, first, second) == {
        ("office", "{clerk, nurse}"): (2, 2),
        ("other", "{cook, smith}"): (1, 1),
    }


JOBS = ["clerk", "cook", "nurse", "nurse, night", "night", "smith,judge", "judge"]
DAYS = [str(dt.date(2024, 1, 25) + dt.timedelta(days=day)) for day in range(0, 80, 4)]
AGES = [str(age) for age in range(18, 42)]


def _notations(group: list[str]) -> list[str]:
    """Return labels that a publisher may write for a group of consecutive values."""
    first = group[0]
    last = group[-1]
    notations = [
        "*",
        f"group from {first} to {last}",
        "{" + ", ".join(group) + "}",
        "{" + ",".join(group) + "}",
    ]
    if group[0] in JOBS:
        return [*notations, first] if len(group) == 1 else notations
    notations.append(f"[{first}, {last}]")
    if first in AGES:
        notations += [f"{first}-{last}", f"[{first}, {int(last) + 1})"]
        if first[0] == last[0]:
            notations.append(f"{first[0]}*")
    elif first[:7] == last[:7]:
        notations += [first[:7], f"2024-Q{(int(first[5:7]) + 2) // 3}", "2024", f"{first[:8]}**"]
    return notations


def _published(data: st.DataObject, values: list[str], people: list[str]) -> list[str | None]:
    """Divide the values into groups of consecutive ones, and publish each person's label."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(values) - 1), max_size=4)))
    ends = [0, *cuts, len(values)]
    label_of_value: dict[str, str | None] = {}
    for start, end in itertools.pairwise(ends):
        group = values[start:end]
        label = data.draw(st.sampled_from([*_notations(group), None]))
        label_of_value |= dict.fromkeys(group, label)
    return [label_of_value[value] for value in people]


@given(st.data(), st.sampled_from([JOBS, DAYS, AGES]))
@settings(max_examples=80, deadline=None)
def test_bounds_hold_for_labels_of_any_notation(data: st.DataObject, values: list[str]) -> None:
    """The true number of people in two classes is within the bounds of every pair of classes."""
    people = data.draw(st.lists(st.sampled_from(values), min_size=3, max_size=9))
    first = _published(data, values, people)
    second = _published(data, values, people)
    found = derived_of(
        pa.table({"column": pa.array(first, pa.string())}),
        pa.table({"column": pa.array(second, pa.string())}),
    )
    mine = sorted(set(first), key=lambda label: (label is None, label or ""))
    theirs = sorted(set(second), key=lambda label: (label is None, label or ""))
    pairs = found.pairs
    bounds = {
        (mine[a], theirs[b]): (int(low), int(high))
        for a, b, low, high in zip(pairs.first, pairs.second, pairs.low, pairs.high, strict=True)
        if a < len(mine) and b < len(theirs)
    }
    truth = Counter(zip(first, second, strict=True))
    for pair, (low, high) in bounds.items():
        assert low <= truth[pair] <= high
    assert truth.keys() <= bounds.keys()


# --- bounds on shared people ----------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_bounds_of_two_by_two_classes_are_exact(people: list[tuple[bool, bool]]) -> None:
    """All four pairs may share people.

    Brute force tries every way to assign the rows of one release to those of the other.
    """
    first = [("a", "b")[mine] for mine, _ in people]
    second = [("x", "y")[theirs] for _, theirs in people]
    worlds = [
        Counter(zip(first, order, strict=True)) for order in set(itertools.permutations(second))
    ]
    expected = {
        pair: (min(world[pair] for world in worlds), max(world[pair] for world in worlds))
        for pair in itertools.product(set(first), set(second))
    }
    found = derived_of(pa.table({"work": first}), pa.table({"work": second}))
    assert bounds_by_label(found, first, second) == {
        pair: ends for pair, ends in expected.items() if ends[1]
    }


PEOPLE = st.lists(
    st.tuples(
        st.sampled_from(["[0, 2)", "[2, 4)", "[4, 6)"]),
        st.sampled_from(["[0, 3)", "[3, 6)"]),
        st.sampled_from("fch"),
        st.sampled_from(["both", "both", "both", "first", "second"]),
    ),
    min_size=2,
    max_size=12,
).filter(lambda people: "both" in {person[3] for person in people})


@given(PEOPLE, st.integers(0, 2), st.booleans())
@settings(max_examples=60, deadline=None)
def test_bounds_are_those_of_the_documented_formulas(
    people: list[tuple[str, str, str, str]],
    outside: int,
    with_values: bool,  # noqa: FBT001
) -> None:
    """The formulas of the module, written out with sums over pairs."""
    first = [(mine, value) for mine, _, value, where in people if where != "second"]
    second = [(theirs, value) for _, theirs, value, where in people if where != "first"]
    everybody = len(people) + outside
    found = composed(first, second, everybody, with_values=with_values)
    if not with_values:
        first = [(label, "same") for label, _ in first]
        second = [(label, "same") for label, _ in second]
    expected = formula(first, second, everybody)
    labels = ([label for label, _ in first], [label for label, _ in second])
    assert bounds_by_label(found, *labels) == {
        pair: ends for pair, ends in expected.items() if ends[1] > 0
    }
    assert found.possible == sum(high > 0 for _, high in expected.values())
    assert found.certain == sum(low > 0 for low, _ in expected.values())
    certain = [high for low, high in expected.values() if low > 0]
    assert found.smallest_certain == min(certain, default=None)
    smallest = min((*Counter(labels[0]).values(), *Counter(labels[1]).values()))
    assert found.smallest == smallest
    assert found.below[0] == sum(low for low, high in expected.values() if high < smallest)


def composed(
    first: list[tuple[str, str]], second: list[tuple[str, str]], people: int, *, with_values: bool
) -> IntersectionBounds:
    """Return the facts that two releases with these rows prove together."""
    columns = ["age", "disease"] if with_values else ["age"]
    tables = [
        pa.table(
            {"age": [label for label, _ in rows], "disease": [value for _, value in rows]}
        ).select(columns)
        for rows in (first, second)
    ]
    sensitive = "disease" if with_values else ()
    return derived_of(*tables, sensitive=sensitive, people=people)


def formula(first: list[tuple[str, str]], second: list[tuple[str, str]], people: int) -> Bounds:
    """Bounds of every pair of classes by the formulas of
    composition/intersection_bounds.py.
    """
    in_first = Counter(first)
    in_second = Counter(second)
    mine = sorted({label for label, _ in first})
    theirs = sorted({label for label, _ in second})
    every_value = sorted({value for _, value in (*first, *second)})
    not_in_second = people - len(second)
    not_in_first = people - len(first)

    def shared(a: str, b: str, value: str) -> int:
        return min(in_first[a, value], in_second[b, value]) if numbers(a) & numbers(b) else 0

    def only(
        counts: Counter[tuple[str, str]], others: Counter[tuple[str, str]], a: str, m: int, n: int
    ) -> int:
        """Return u(A, 0), where m people are not in the other release and n not in this one."""
        total = 0
        for value in every_value:
            left = sum(count for (_, v), count in counts.items() if v == value)
            left -= sum(count for (_, v), count in others.items() if v == value)
            total += min(counts[a, value], m, max(0, left + n))
        return min(m, total)

    only_first = {a: only(in_first, in_second, a, not_in_second, not_in_first) for a in mine}
    only_second = {b: only(in_second, in_first, b, not_in_first, not_in_second) for b in theirs}
    found: Bounds = {}
    for a, b in itertools.product(mine, theirs):
        high = sum(shared(a, b, value) for value in every_value)
        from_first = -only_first[a]
        from_second = -only_second[b]
        for value in every_value:
            elsewhere = sum(shared(a, other, value) for other in theirs if other != b)
            from_first += max(0, in_first[a, value] - elsewhere)
            elsewhere = sum(shared(other, b, value) for other in mine if other != a)
            from_second += max(0, in_second[b, value] - elsewhere)
        found[a, b] = (min(high, max(0, from_first, from_second)), high)
    neither = min(not_in_first, not_in_second)
    for a in mine:
        nowhere = sum(
            max(0, in_first[a, value] - sum(shared(a, b, value) for b in theirs))
            for value in every_value
        )
        others = sum(high for other, high in only_first.items() if other != a)
        found[a, None] = (
            min(only_first[a], max(0, nowhere, not_in_second - others - neither)),
            only_first[a],
        )
    for b in theirs:
        nowhere = sum(
            max(0, in_second[b, value] - sum(shared(a, b, value) for a in mine))
            for value in every_value
        )
        others = sum(high for other, high in only_second.items() if other != b)
        found[None, b] = (
            min(only_second[b], max(0, nowhere, not_in_first - others - neither)),
            only_second[b],
        )
    return found


@given(PEOPLE, st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_order_of_two_releases_does_not_matter(
    people: list[tuple[str, str, str, str]],
    with_values: bool,  # noqa: FBT001
) -> None:
    first = [(mine, value) for mine, _, value, where in people if where != "second"]
    second = [(theirs, value) for _, theirs, value, where in people if where != "first"]
    one = composed(first, second, len(people), with_values=with_values)
    other = composed(second, first, len(people), with_values=with_values)
    labels = ([label for label, _ in first], [label for label, _ in second])
    turned = {(a, b): ends for (b, a), ends in bounds_by_label(other, labels[1], labels[0]).items()}
    assert bounds_by_label(one, *labels) == turned
    names = (
        "shared",
        "attribute",
        "people",
        "possible",
        "certain",
        "smallest",
        "smallest_certain",
        "below",
        "one_value",
    )
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


def test_more_pairs_of_classes_than_can_be_bounded_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a common column, each of two classes may share people with each of two others."""
    first = pa.table({"work": ["a", "a", "b", "b"]})
    second = pa.table({"work": ["x", "x", "y", "y"]})
    monkeypatch.setattr("divulge.composition.intersection_bounds._MAX_PAIRS", 4)
    assert derived_of(first, second).possible == 4
    monkeypatch.setattr("divulge.composition.intersection_bounds._MAX_PAIRS", 3)
    with pytest.raises(BadInput, match=r"4 pairs of classes of .* may share people, too many"):
        derived_of(first, second)
