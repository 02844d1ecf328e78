# SPDX-License-Identifier: Apache-2.0
"""Laws of every rule: a label contains its value, and levels nest.

The tests decide from the text of a label which values it contains, with Decimal and datetime. They
use none of the code that wrote it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.hierarchies import build_hierarchy, suggest_hierarchy
from divulge.releases import parse_label
from divulge.text import as_text

WIDTHS = [[1], [5, 10, 20], [0.1, 0.5], ["0.25", 1, 7], [3, 9, 27]]
SCALE = [f"grade {letter}" for letter in "ABCDEFG"]
MONTHS_OF = {"-Q1": 1, "-Q2": 4, "-Q3": 7, "-Q4": 10}


def range_holds(label: str, text: str) -> bool:
    """Return True if the number is in `[a, b)`, `<a` or `>=a`."""
    number = Fraction(Decimal(text))
    if found := re.fullmatch(r"\[(-?[0-9.]+), (-?[0-9.]+)\)", label):
        return Fraction(Decimal(found[1])) <= number < Fraction(Decimal(found[2]))
    if label.startswith(">="):
        return number >= Fraction(Decimal(label[2:]))
    return number < Fraction(Decimal(label.removeprefix("<")))


def period_holds(label: str, day: dt.date) -> bool:
    """Return True if the day lies between the first and the last day of the label."""
    if label.endswith("s"):
        return int(label[:4]) <= day.year <= int(label[:4]) + 9
    if label[4:] in MONTHS_OF:
        first = MONTHS_OF[label[4:]]
        return day.year == int(label[:4]) and first <= day.month <= first + 2
    return day.isoformat().startswith(label)


def check_laws(spec: Any, values: list[Any]) -> dict[str, tuple[str, ...]]:
    """Equal width, one parent, suppression on top and nowhere below.

    Returns the labels between value and top.
    """
    hierarchy = build_hierarchy("x", spec, values)
    texts = [text for value in values if (text := as_text(value)) is not None]
    assert set(texts) <= set(hierarchy.rows)
    paths = hierarchy.labels_of([as_text(value) for value in values])
    assert {len(path) for path in paths} <= {hierarchy.height + 1}
    assert all(path[-1] == "*" for path in paths)
    for level in range(hierarchy.height):
        parents = defaultdict(set)
        for path in paths:
            parents[path[level]].add(path[level + 1])
        assert all(len(found) == 1 for found in parents.values())
    if None in values:
        assert hierarchy.labels_of([None]) == [(None,) * hierarchy.height + ("*",)]
    return {
        text: tuple(label for label in hierarchy.rows[text][1:-1] if label is not None)
        for text in texts
    }


# On the bounds, next to them, and anywhere.
on_a_bound = st.builds(
    lambda times, width: Decimal(times) * Decimal(str(width)),
    st.integers(-50, 50),
    st.sampled_from([0.1, 0.25, 5, 27]),
)
numbers = st.lists(
    st.none()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | on_a_bound
    | on_a_bound.map(float),
    max_size=12,
)


@settings(deadline=None)
@given(
    numbers,
    st.sampled_from(WIDTHS),
    st.integers(-20, 20),
    st.sampled_from([{}, {"bottom": -7, "top": "12.5"}]),
)
def test_ranges_of_a_width_contain_their_values(
    values: list[Any], widths: list[Any], start: int, coded: dict[str, Any]
) -> None:
    spec = {"intervals": widths, "start": start} | coded
    for text, labels in check_laws(spec, values).items():
        assert len(labels) == len(widths)
        for label in labels:
            assert range_holds(label, text)
            parsed = parse_label(label).interval
            assert parsed is not None
            assert str(parsed) == label
            assert Fraction(Decimal(text)) in parsed


@settings(deadline=None)
@given(
    numbers,
    st.lists(
        st.lists(st.integers(-30, 30) | st.sampled_from(["0.1", "2.5"]), min_size=1),
        min_size=1,
        max_size=3,
    ),
)
def test_ranges_between_cut_points_contain_their_values(
    values: list[Any], drawn: list[list[Any]]
) -> None:
    levels: list[list[Any]] = []
    pool = sorted({Decimal(str(cut)) for level in drawn for cut in level})
    while pool and len(levels) < len(drawn):
        levels.append(pool)
        pool = pool[1::2]
    for text, labels in check_laws({"cuts": levels}, values).items():
        assert all(range_holds(label, text) for label in labels)


@settings(deadline=None)
@given(numbers, st.integers(-30, 0), st.integers(1, 30))
def test_coded_values_are_outside_and_others_themselves(
    values: list[Any], bottom: int, top: int
) -> None:
    for text, (label,) in check_laws({"bottom": bottom, "top": top}, values).items():
        inside = bottom <= Fraction(Decimal(text)) < top
        assert label == text if inside else range_holds(label, text)


@settings(deadline=None)
@given(
    st.lists(
        st.none() | st.dates() | st.datetimes() | st.datetimes(timezones=st.just(dt.UTC)),
        max_size=8,
    ),
    st.sets(st.sampled_from(["day", "month", "quarter", "year", "decade"]), min_size=1),
)
def test_periods_contain_their_dates(values: list[Any], chosen: set[str]) -> None:
    periods = [
        period for period in ("day", "month", "quarter", "year", "decade") if period in chosen
    ]
    days = {
        str(value): dt.date(value.year, value.month, value.day)
        for value in values
        if value is not None
    }
    for text, labels in check_laws({"dates": periods}, values).items():
        assert len(labels) == len(periods)
        assert all(period_holds(label, days[text]) for label in labels)


@settings(deadline=None)
@given(
    st.lists(
        st.none() | st.text(min_size=1, max_size=7) | st.from_regex(r"[0-9]{5}", fullmatch=True),
        max_size=8,
    ),
    st.sampled_from([True, [4, 2, 1]]),
)
def test_prefixes_match_their_codes(values: list[Any], kept: Any) -> None:
    for text, labels in check_laws({"prefix": kept}, values).items():
        masks = {text[:n] + "*" * (len(text) - n) for n in range(len(text) + 1)}
        assert set(labels) <= {*masks, "*"}


@settings(deadline=None)
@given(
    st.lists(st.none() | st.sampled_from(SCALE), max_size=7),
    st.sampled_from([[2], [3], [2, 4], [2, 6]]),
)
def test_groups_of_a_scale_contain_their_values(values: list[Any], groups: list[int]) -> None:
    for text, labels in check_laws({"order": SCALE, "groups": groups}, values).items():
        for label, size in zip(labels, groups, strict=True):
            low, _, high = label.removeprefix("[").removesuffix("]").partition(", ")
            first, last = SCALE.index(low), SCALE.index(high or low)
            assert first <= SCALE.index(text) <= last
            assert last - first < size


@settings(deadline=None)
@given(
    st.recursive(
        st.just(None), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=8
    ).filter(bool)
)
def test_the_labels_of_a_taxonomy_lie_on_the_way_to_the_root(shape: Any) -> None:
    """Every name is the path to it, so an ancestor is a prefix."""

    def tree(node: Any, name: str) -> dict[str, Any]:
        return {
            f"{name}/{i}": {} if inner is None else tree(inner, f"{name}/{i}")
            for i, inner in enumerate(node)
        }

    def names(node: dict[str, Any]) -> list[str]:
        return [name for outer, inner in node.items() for name in (names(inner) or [outer])]

    taxonomy = tree(shape, "")
    for text, labels in check_laws({"taxonomy": taxonomy}, names(taxonomy)).items():
        assert all(text == label or text.startswith(f"{label}/") for label in labels)


@settings(deadline=None)
@given(
    st.one_of(
        st.lists(st.none() | st.integers(), max_size=12, unique=True),
        st.lists(st.none() | st.floats(), max_size=12, unique_by=str),
        st.lists(st.none() | st.dates(), max_size=12, unique=True),
        st.lists(st.none() | st.text(max_size=9), max_size=12, unique=True),
        st.lists(st.from_regex(r"[0-9]{5}", fullmatch=True), max_size=12, unique=True),
    ),
    st.data(),
)
def test_defaults_fit_the_values_they_were_chosen_for(
    values: list[Any], data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(1, 100), min_size=len(values), max_size=len(values)))
    chosen = suggest_hierarchy("x", values, counts)
    for text, labels in check_laws(dict(chosen.spec), values).items():
        if "intervals" in chosen.spec and math.isfinite(float(text)):
            assert all(range_holds(label, text) for label in labels)
