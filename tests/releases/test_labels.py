# SPDX-License-Identifier: Apache-2.0
"""Meanings of labels compared with sets that are counted by brute force over small domains."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from divulge.releases import LabelMeaning, ValueIndex, meaning_of_values, parse_label
from divulge.releases.mapping import extend_mapping
from tests.labels import CLOSED, FROM_TO, HALF_OPEN, NUMBERS, ONE, OPEN, UNREADABLE, values

LabelWithValues = tuple[str, frozenset[str]]
"""A label and the values of a domain that it stands for."""

# --- numbers --------------------------------------------------------------------------------------
GRID = {str(step / 2).removesuffix(".0"): Fraction(step, 2) for step in range(-4, 17)}
"""Halves from -2 to 8; the ends of labels are whole numbers from -1 to 7."""
ENDS = st.integers(-1, 7)


def _numbers(low: int | None, high: int | None, *, closed: bool) -> frozenset[str]:
    return frozenset(
        text
        for text, number in GRID.items()
        if (low is None or low <= number)
        and (high is None or number < high or (closed and number == high))
    )


@st.composite
def number_labels(draw: st.DrawFn) -> LabelWithValues:
    low, high = sorted(draw(st.lists(ENDS, min_size=2, max_size=2, unique=True)))
    listed = draw(st.lists(ENDS, min_size=1, max_size=3, unique=True))
    notations = {
        f"[{low}, {high})": _numbers(low, high, closed=False),
        f"[{low},{high}[": _numbers(low, high, closed=False),
        f"[{low}, {high}]": _numbers(low, high, closed=True),
        f"[{low}, {low}]": _numbers(low, low, closed=True),
        f"<{low}": _numbers(None, low, closed=False),
        f">= {high}": _numbers(high, None, closed=False),
        f"{low}": frozenset({str(low)}),
        "{" + ", ".join(map(str, listed)) + "}": frozenset(map(str, listed)),
        "{" + f"{low},{high}-7" + "}": frozenset({str(low)}) | _numbers(high, 7, closed=True),
        "**": frozenset(GRID),
    }
    if low >= 0:
        notations[f"{low}-{high}"] = _numbers(low, high, closed=True)
    if high < 0:
        notations.pop("{" + f"{low},{high}-7" + "}")
    return draw(st.sampled_from(sorted(notations.items())))


@given(number_labels(), number_labels())
def test_labels_of_numbers_stand_for_the_numbers_that_are_counted(
    first: LabelWithValues, second: LabelWithValues
) -> None:
    check_meanings(first, second, sorted(GRID))


# --- dates ----------------------------------------------------------------------------------------
DAYS = [str(dt.date(2023, 11, 28) + dt.timedelta(days=day)) for day in range(130)]
TIMES = [f"{day} 23:59:59" for day in DAYS[::7]]


@st.composite
def date_labels(draw: st.DrawFn) -> LabelWithValues:
    ends = draw(st.lists(st.sampled_from(DAYS), min_size=2, max_size=2, unique=True))
    first, last = sorted(ends)
    listed = draw(st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True))
    year = first[:4]
    month = first[:7]
    quarter = (int(month[5:]) + 2) // 3
    in_quarter = {f"{year}-{3 * quarter - index:02d}" for index in range(3)}
    domain = [*DAYS, *TIMES]
    notations = {
        f"[{first}, {last})": [text for text in domain if first <= text[:10] < last],
        f"[{first}, {last}]": [text for text in domain if first <= text[:10] <= last],
        first: [text for text in domain if text[:10] == first],
        month: [text for text in domain if text[:7] == month],
        f"{year}-Q{quarter}": [text for text in domain if text[:7] in in_quarter],
        year: [text for text in domain if text[:4] == year],
        "2020s": domain,
        "2010s": [],
        "{" + ", ".join(listed) + "}": listed,
    }
    label, matching = draw(st.sampled_from(sorted(notations.items())))
    return label, frozenset(matching)


@given(date_labels(), date_labels())
def test_labels_of_dates_stand_for_the_days_and_times_that_are_counted(
    first: LabelWithValues, second: LabelWithValues
) -> None:
    domain = [*DAYS, *TIMES]
    assert parse_label(first[0]).overlaps(parse_label(second[0])) is bool(
        (first[1] & second[1]) or first[0] == second[0]
    )
    if first[0].startswith("{"):
        return
    assert parse_label(first[0]).expand(domain) == first[1]


# --- masks and words ------------------------------------------------------------------------------
CODES = ["".join(letters) for size in (2, 3) for letters in itertools.product("ab", repeat=size)]
MASKS = sorted({"".join(letters) for letters in itertools.product("ab*", repeat=3)} - {"***"})


@st.composite
def code_labels(draw: st.DrawFn) -> LabelWithValues:
    mask = draw(st.sampled_from([mask for mask in MASKS if "*" in mask]))
    listed = draw(st.lists(st.sampled_from(CODES), min_size=1, max_size=3, unique=True))
    matching = [code for code in CODES if re.fullmatch(mask.replace("*", "."), code)]
    notations = {mask: matching, "{" + ", ".join(listed) + "}": listed}
    label, codes = draw(st.sampled_from(sorted(notations.items())))
    return label, frozenset(codes)


@given(code_labels(), code_labels())
def test_masks_and_sets_stand_for_the_codes_that_are_counted(
    first: LabelWithValues, second: LabelWithValues
) -> None:
    """Codes of two letters begin like masks of three, so these pairs count as overlapping."""
    meanings = [parse_label(label) for label, _ in (first, second)]
    for meaning, (_, codes) in zip(meanings, (first, second), strict=True):
        assert meaning.expand(CODES) == codes
    has_common_value = meanings[0].has_common_value(meanings[1])
    if first[1] & second[1]:
        assert has_common_value is True
    else:
        assert has_common_value is not True
    if meanings[0].kind == meanings[1].kind:
        assert has_common_value is bool(first[1] & second[1])


@given(
    st.text("123", min_size=1, max_size=3),
    st.integers(100, 9000),
    st.integers(1, 900),
    st.booleans(),
)
def test_masks_and_intervals_overlap_as_the_codes_that_are_counted(
    prefix: str,
    low: int,
    width: int,
    closed: bool,  # noqa: FBT001
) -> None:
    """A mask of trailing asterisks stands for the codes of any length that begin as it does."""
    mask = parse_label(f"{prefix}**")
    high = low + width
    interval = parse_label(f"[{low}, {high}{']' if closed else ')'}")
    tenths = range(10 * low, 10 * high + closed)
    expected = any(str(tenth / 10).startswith(prefix) for tenth in tenths)
    assert mask.overlaps(interval) is expected
    assert interval.overlaps(mask) is expected


@given(st.data())
def test_labels_that_share_a_value_in_any_domain_overlap(data: st.DataObject) -> None:
    """Masks of any length, values with commas, words, sets with and without blanks."""
    texts = ["0", "02", "021", "0210", "7", "7.0", "a", "b", "b, c", "c", "a,b", "null"]
    labels = st.text("02*", min_size=1, max_size=5) | st.lists(
        st.sampled_from(texts), min_size=1, max_size=4
    ).flatmap(
        lambda items: st.sampled_from(["{" + ", ".join(items) + "}", "{" + ",".join(items) + "}"])
    )
    first, second = (parse_label(data.draw(labels | st.sampled_from(texts))) for _ in range(2))
    index = ValueIndex(data.draw(st.lists(st.sampled_from(texts), min_size=1, unique=True)))
    # None: a number among words of which none is a number. Only the domain shows that.
    common = (first.matches(index) or set()) & (second.matches(index) or set())
    if common:
        assert first.overlaps(second)
        assert second.overlaps(first)


def check_meanings(first: LabelWithValues, second: LabelWithValues, domain: list[str]) -> None:
    meanings = [parse_label(label) for label, _ in (first, second)]
    for meaning, (_, texts) in zip(meanings, (first, second), strict=True):
        assert meaning.expand(domain) == texts
        assert {domain[position] for position in meaning.matches(ValueIndex(domain)) or ()} == texts
    expected = bool(first[1] & second[1])
    assert meanings[0].overlaps(meanings[1]) is expected
    assert meanings[1].overlaps(meanings[0]) is expected


# --- single labels --------------------------------------------------------------------------------
READABLE = {**HALF_OPEN, **OPEN, **CLOSED, **FROM_TO, **ONE}


@pytest.mark.parametrize("label", READABLE)
def test_a_label_of_the_table_stands_for_its_numbers(label: str) -> None:
    assert parse_label(label).expand(NUMBERS) == values(READABLE[label])
    assert parse_label(label).kind == ("exact" if label in ONE else "interval")


@pytest.mark.parametrize("label", [*UNREADABLE, "[2024-02-01, 2024-02-01)", "2024-13", "2024-Q5"])
def test_a_label_of_unknown_meaning_overlaps_every_label(label: str) -> None:
    meaning = parse_label(label)
    assert meaning.kind == "unknown"
    assert meaning.matches(ValueIndex(NUMBERS)) is None
    assert meaning.expand(NUMBERS) == set(NUMBERS)
    for other in ("7", "20-29", "2024-02", "02*", "{a, b}", "*", "old", None):
        assert meaning.overlaps(parse_label(other))
        assert parse_label(other).overlaps(meaning)


@pytest.mark.parametrize("other", ["7", "20-29", "2024-02", "02*", "{a, b}", "*", "old"])
def test_a_null_may_be_a_suppressed_cell(other: str) -> None:
    assert parse_label(None).overlaps(parse_label(other))
    assert parse_label(None).expand(["7", None]) == {None}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("{34, null}", "[50, 60)", False),
        ("{34, null}", "{50, null}", True),
        ("{a,b}", "{b, c}", True),
        ("{a, b, c}", "{b, d}", True),
        ("{476**, 5}", "47611", True),
        ("2024", "2024-Q1", True),
        ("2024", "[2023-01-01, 2023-12-31]", False),
        ("2024-02-**", "2024-02", None),
        ("2024-02-**", "2024-Q2", False),
        ("02**", "021", None),
        ("02**", "034", False),
        ("02**", "2", None),
        ("021*", "02", False),
        ("03***", "04*", False),
        ("3*", "[40, 50)", False),
        ("3*", "[20, 35)", None),
        ("3*", "{12, 40-49}", False),
        ("03***", "[3000, 4000)", None),
        ("03***", "[40, 50)", False),
        ("*3", "[40, 50)", None),
        ("0*", "[40, 50)", None),
        ("7*", "<5", None),
        ("7*", "[0, 5)", None),
        ("1.5*", "[3, 4)", None),
        ("2020-2024", "2024-02", None),
    ],
)
def test_labels_of_different_kinds_are_compared(
    first: str, second: str, *, expected: bool | None
) -> None:
    assert parse_label(first).has_common_value(parse_label(second)) is expected
    assert parse_label(second).has_common_value(parse_label(first)) is expected


def test_a_value_with_commas_is_in_the_set_that_lists_it() -> None:
    domain = ["a", "b, c", "c", "1,5", "2,0", "1"]
    assert parse_label("{a, b, c}").expand(domain) == {"a", "b, c", "c"}
    assert parse_label("{1,5, 2,0}").expand(domain) == {"1,5", "2,0"}
    jobs = meaning_of_values("office", ["b, c", "clerk"])
    assert jobs.overlaps(parse_label("{a, b, c}"))
    assert not jobs.overlaps(parse_label("{a, b}"))


def test_numbers_and_dates_are_unknown_among_other_values() -> None:
    """2024 may be the year of 29.02.2024, which is not an ISO date."""
    for label in ("2024", "2024-02", "2024-02-29", "[2024-02-01, 2024-02-29]"):
        assert parse_label(label).matches(ValueIndex(["29.02.2024", "01.03.2023"])) is None
        assert parse_label(label).matches(ValueIndex([None])) in (None, set())


def test_a_label_stands_for_its_listed_values_and_for_what_it_writes() -> None:
    decade: LabelMeaning = meaning_of_values("[20, 30)", ["20", "25", None])
    assert decade.expand(["20", "29.5", "30", None]) == {"20", "29.5", None}
    assert meaning_of_values("*", ["20"]).kind == "anything"


def test_a_word_is_exact_if_it_is_known_to_be_a_value() -> None:
    assert parse_label("clerk").kind == "unknown"
    clerk = parse_label("clerk", values={"clerk", "cook"})
    assert clerk.kind == "exact"
    assert not clerk.overlaps(parse_label("{cook, nurse}"))
    assert clerk.overlaps(parse_label("{cook, clerk}"))
    assert parse_label("cook, clerk", values={"clerk", "cook"}).kind == "exact"


# --- unseen values of an incremental release ------------------------------------------------------
@pytest.mark.parametrize(
    ("mapping", "unseen", "covered"),
    [
        ({"20": "20-29", "30": "30-39"}, ["24", "29.5", "39"], {"24": "20-29", "39": "30-39"}),
        ({"20": "[20, 30]", "31": "[30, 40]"}, ["30", "21"], {"21": "[20, 30]"}),
        ({"2024-02-01": "2024-02"}, ["2024-02-29", "2024-03-01", "n/a"], {"2024-02-29": "2024-02"}),
        ({"2024-02-01": "2024-02"}, ["n/a"], {}),
        ({"01.02.2024": "2024-02"}, ["2024-02-29"], {}),
        ({"45": "20-29", "20": "20-29"}, ["24"], {}),
        ({"47611": "476**"}, ["47612"], {}),
    ],
)
def test_an_unseen_value_gets_the_one_range_that_covers_it(
    mapping: dict[str | None, str | None], unseen: list[str], covered: dict[str | None, str | None]
) -> None:
    """A label counts only if its range covers all known values of the label."""
    assert extend_mapping("column", mapping, unseen) == mapping | covered
