# SPDX-License-Identifier: Apache-2.0
"""All users of labels compared with one table of labels and their values (tests/labels.py)."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import divulge as dv
from divulge.api.opened import OpenedGeneralized
from divulge.errors import BadInput
from divulge.queries import fits, read_meanings
from divulge.queries.labels import _guess_type, _meaning_as_written
from tests.labels import (
    CLOSED,
    CODES,
    FROM_TO,
    HALF_OPEN,
    MASKS,
    NUMBERS,
    ONE,
    OPEN,
    UNREADABLE,
    values,
)

TWO_ENDS = {**HALF_OPEN, **CLOSED, **FROM_TO}
READABLE = {**HALF_OPEN, **OPEN, **CLOSED, **FROM_TO, **ONE}


@pytest.mark.parametrize("label", READABLE)
def test_an_adversary_reads_a_label_as_the_numbers_it_stands_for(label: str) -> None:
    found = fits([label], NUMBERS)
    assert {NUMBERS[value] for value in found.value} == values(READABLE[label])
    assert found.unread == ()


@pytest.mark.parametrize("label", UNREADABLE)
def test_a_label_that_nobody_can_read_fits_everything_and_is_reported(label: str) -> None:
    found = fits([label], NUMBERS)
    assert {NUMBERS[value] for value in found.value} == set(NUMBERS)
    assert found.unread == (label,)


@pytest.mark.parametrize("label", MASKS)
def test_a_mask_fits_codes_of_its_length_that_agree_where_it_shows_something(label: str) -> None:
    found = fits([label], CODES)
    assert {CODES[value] for value in found.value} == values(MASKS[label])
    assert found.unread == ()


def test_a_mask_longer_than_every_code_fits_those_that_begin_alike() -> None:
    found = fits(["031***"], CODES)
    assert {CODES[value] for value in found.value} == {"0310", "0311"}


@pytest.mark.parametrize(
    ("label", "days"),
    [
        ("[2020-02-29, 2020-03-01)", ["2020-02-29"]),
        ("[2020-02-29, 2020-03-01]", ["2020-02-29", "2020-03-01"]),
        ("[2020-02-29, 2020-02-29]", ["2020-02-29"]),
        ("[2019-12-31, 2020-01-01)", ["2019-12-31"]),
    ],
)
def test_a_range_of_days_holds_its_last_day_only_if_it_is_closed(
    label: str, days: list[str]
) -> None:
    known = ["2019-12-31", "2020-01-01", "2020-02-28", "2020-02-29", "2020-03-01"]
    assert [known[value] for value in fits([label], known).value] == days


@pytest.mark.parametrize(
    "label",
    [
        "[x, 2020-03-01)",
        "[2020-02-29, x)",
        "[x, y]",
        "[2020-02-29, 2020-02-29)",
        "[2020-03-01, 2020-02-29]",
    ],
)
def test_a_range_with_an_end_that_is_no_day_or_without_days_is_not_read(label: str) -> None:
    found = fits([label], ["2020-02-29", "2020-03-01"])
    assert found.unread == (label,)
    assert found.value.tolist() == [0, 1]


@pytest.mark.parametrize("label", ["17", "2024-01-05"])
def test_a_number_or_a_day_that_nobody_has_fits_nobody(label: str) -> None:
    """The label is a value that no person has, not a word of unknown meaning."""
    found = fits([label], ["18", "2024-01-06", "blue"])
    assert (found.value.tolist(), found.unread) == ([], ())


def test_every_label_of_a_column_of_numbers_is_a_value() -> None:
    found = fits(["nan", "inf"], ["1", "2"], numbers=True)
    assert (found.value.tolist(), found.unread) == ([], ())


def test_a_word_is_read_if_it_is_a_known_value_and_not_otherwise() -> None:
    found = fits(["blue", "red"], ["18", "blue"])
    assert [(int(a), int(b)) for a, b in zip(found.label, found.value, strict=True)] == [
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    assert found.unread == ("red",)


@pytest.mark.parametrize(
    ("mapping", "type_"),
    [
        ({"0": "low", "1.5": "low", "-0.5": "low"}, "DOUBLE"),
        ({"007": "low", "1.5": "low"}, "VARCHAR"),
        ({"0": "low", "-7": "low"}, "BIGINT"),
        ({"007": "low", "7": "low"}, "VARCHAR"),
        ({"2020-02-29": "leap"}, "DATE"),
        ({"2020-02-30": "leap"}, "VARCHAR"),
    ],
)
def test_the_type_of_values_is_guessed_from_how_they_are_written(
    mapping: dict[str, str], type_: str
) -> None:
    """A leading zero is part of a code, except for 0 itself and 0.5."""
    assert _guess_type(mapping) == type_


@pytest.mark.parametrize("label", TWO_ENDS)
def test_a_query_reads_a_label_with_two_ends_as_a_range(label: str) -> None:
    (_, span), *more = _meaning_as_written([label]).spans
    assert not more
    inside = {
        text
        for text in NUMBERS
        if span.low <= Fraction(text) < span.high or (span.closed and Fraction(text) == span.high)
    }
    assert inside == values(TWO_ENDS[label])


@pytest.mark.parametrize("label", [*OPEN, *ONE, *UNREADABLE])
def test_a_query_reads_no_other_label_as_a_range(label: str) -> None:
    assert not _meaning_as_written([label]).spans


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("34", {"34"}),
        ("{20, 25}", {"20", "25"}),
        ("{20,null}", {"20", None}),
        (None, {None}),
        ("{20, cook}", set()),
        ("{20-29, 40}", set()),
        (">=90", set()),
        ("2*", set()),
        ("young", set()),
    ],
)
def test_a_query_reads_numbers_and_sets_of_numbers(
    label: str | None, numbers: set[str | None]
) -> None:
    """A label of which one member cannot be read is not read at all."""
    meaning = _meaning_as_written([label, "7"])
    assert meaning.values == {(label, number) for number in numbers} | {("7", "7")}


@pytest.mark.parametrize("label", ["[34, 34]", "34-34", "34"])
def test_an_adversary_singles_out_a_person_whose_label_is_a_one_number_range(label: str) -> None:
    """The label of one of four people matches only 34; the other labels match three people each."""
    original = pa.table({"age": [34, 21, 22, 23], "disease": ["hiv", "flu", "cold", "flu"]})
    published = pa.table(
        {"age": [label, "20-29", "20-29", "20-29"], "disease": ["hiv", "flu", "cold", "flu"]}
    )
    attack = dv.attack(
        published, truth=original, knows="age", sensitive="disease", attacks="singling-out"
    )
    (singling_out,) = attack.attempts
    assert (singling_out.successes, singling_out.targets) == (1, 4)


WITH_NULLS = pa.table({"age": [20, 21, 30, 31, None, None, 40, 41], "disease": [*"xyxyxyxy"]})


def boxes_with_nulls(tmp_path: Path) -> Path:
    """Publish two Mondrian boxes: 20 to 31, and a suppressed label for 40, 41 and null."""
    release = dv.generalize(
        WITH_NULLS,
        policy={"k_anonymity": 4},
        quasi_identifiers="age",
        sensitive="disease",
        method="mondrian",
    )
    assert {box.labels: box.spans for box in release.plan.boxes} == {
        ("[20, 31]",): ((20, 31),),
        ("*",): (None,),
    }
    folder: Path = release.write(tmp_path / "release")
    return folder


def test_a_suppressed_label_of_boxes_represents_any_value_with_any_rule_for_asterisks(
    tmp_path: Path,
) -> None:
    """The private part explains the label, so it matches even if asterisks are values elsewhere."""
    generalized = dv.open_release(boxes_with_nulls(tmp_path))
    assert isinstance(generalized, OpenedGeneralized)
    opened = generalized.release.with_private_part
    table = dv.read(pa.table({"age": ["[20, 31]", "*"]}))
    meanings = read_meanings(table, ["age"], opened.document, opened.private_folder)
    known = ["20", "31", "32", "41", None]
    sayings: tuple[dict[str | None, str], ...] = ({}, {"*": "value"})
    for said in sayings:
        found = fits(["[20, 31]", "*"], known, meanings=meanings["age"], suppression=said)
        pairs = [
            (int(label), known[value])
            for label, value in zip(found.label, found.value, strict=True)
        ]
        assert pairs == [(0, "20"), (0, "31"), *((1, value) for value in known)]


def test_a_query_about_a_suppressed_label_of_boxes_stops(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"the label '\*' of 'age' stands for any value"):
        dv.query(boxes_with_nulls(tmp_path), "age >= 30")


def test_a_range_is_compared_with_a_negative_number(tmp_path: Path) -> None:
    """The four people below zero are the two of `[-20, -10)` and the two of `[-10, 0)`."""
    people = pa.table({"degrees": [-15, -12, -5, -3, 1, 2, 3], "disease": [*"xyxyxyx"]})
    folder = dv.generalize(
        people,
        policy={"k_anonymity": 2},
        quasi_identifiers="degrees",
        sensitive="disease",
        hierarchies={"degrees": {"intervals": [10]}},
    ).write(tmp_path / "release")
    shutil.rmtree(tmp_path / "release.private")  # labels are read as they are written
    for condition, low, high in (
        ("degrees < 0", 4, 4),
        ("degrees < -10", 2, 2),
        ("degrees < -15", 0, 2),
        ("degrees between -5 and - 1", 0, 2),
    ):
        answer = dv.query(folder, condition)
        assert (answer.low, answer.high) == (low, high), condition


def test_ranges_of_boxes_that_cannot_be_listed_are_counted(tmp_path: Path) -> None:
    """The private part names the ends of each box; between them lie more numbers than are listed.

    All six people are below 3, five are below 2.5, and the boxes are 0.5 to 1.5 and 2 to 2.75.
    """
    people = pa.table(
        {"dose": [0.5, 1.25, 1.5, 2.0, 2.25, 2.75], "disease": ["x", "y", "x", "y", "x", "y"]}
    )
    folder = dv.generalize(
        people,
        policy={"k_anonymity": 3},
        quasi_identifiers="dose",
        sensitive="disease",
        method="mondrian",
    ).write(tmp_path / "release")
    for condition, low, high in (("dose < 3", 6, 6), ("dose < 1.75", 3, 3), ("dose < 2.5", 3, 6)):
        answer = dv.query(folder, condition)
        assert (answer.low, answer.high) == (low, high), condition


def test_an_incremental_release_is_read_with_hierarchies(tmp_path: Path) -> None:
    """The manifest does not record the method, so a label may be of any level of a hierarchy."""
    people = pa.table({"age": [20, 25, 40, 45], "disease": [*"xyxy"]})
    rules = {"age": {"rows": {str(age): [f"{age // 10}*", "*"] for age in range(20, 50)}}}
    policy = {"k_anonymity": 2}
    first = dv.generalize(
        people, policy=policy, quasi_identifiers="age", sensitive="disease", hierarchies=rules
    )
    folder = first.write(tmp_path / "first")
    later = pa.table({"age": [21, 26, 41, 46], "disease": [*"xyxy"]})
    applied = tmp_path / "later"
    dv.apply(folder, later, applied)
    levels = tmp_path / "levels"
    levels.mkdir()
    lines = ["age;decade;all", *(f"{age};{age // 10}*;*" for age in range(20, 50))]
    (levels / "age.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    attacked = dv.attack(applied, truth=later, hierarchies=levels, attacks="inference")
    assert attacked.settings["reading"] == {"age": "hierarchies"}
    assert dv.attack(applied, truth=later, attacks="inference").attempts[0].successes == (
        attacked.attempts[0].successes
    )
