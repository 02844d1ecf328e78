# SPDX-License-Identifier: Apache-2.0
"""Matches of rows and people compared with a loop over all pairs of random tables, by engine."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.attacks import Matcher
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.queries import Meanings, fits
from divulge.sources import Table
from divulge.text import Interval

AGES = ["*", "[20, 30)", "[30, 40)", "[25, 35]", ">=60", "34", None]
ZIPS = ["4**", "41*", "417", "*", "{417, 520}"]


def age_fits(label: str | None, age: int | None) -> bool:
    """By hand, for the labels above."""
    if label == "*" or label is None or age is None:
        return label == "*" or (label is None and age is None)
    return {
        "[20, 30)": 20 <= age < 30,
        "[30, 40)": 30 <= age < 40,
        "[25, 35]": 25 <= age <= 35,
        ">=60": age >= 60,
        "34": age == 34,
    }[label]


def zip_fits(label: str, code: str) -> bool:
    """By hand, for the labels above."""
    return {
        "4**": code[0] == "4",
        "41*": code[:2] == "41",
        "417": code == "417",
        "*": True,
        "{417, 520}": code in ("417", "520"),
    }[label]


def drawn(seed: int) -> tuple[pa.Table, pa.Table]:
    """Draw a release of labels, and people with their values."""
    chance = random.Random(seed)  # noqa: S311 - a test
    rows = [(chance.choice(AGES), chance.choice(ZIPS), chance.choice("abc")) for _ in range(40)]
    people = [
        (chance.choice([None, 20, 25, 30, 34, 40, 61]), chance.choice(["417", "418", "499", "520"]))
        for _ in range(15)
    ]
    release = pa.table(dict(zip(("age", "zip", "disease"), zip(*rows, strict=True), strict=True)))
    return release, pa.table(dict(zip(("age", "zip"), zip(*people, strict=True), strict=True)))


def texts(table: pa.Table) -> pa.Table:
    """Convert every cell to a text."""
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("knows", [("age", "zip"), ("zip",)])
def test_matches_are_those_of_a_loop_over_all_rows(seed: int, knows: tuple[str, ...]) -> None:
    release, people = drawn(seed)
    check(dv.read(release), release, people, knows)


def test_matches_on_every_engine(engine: DuckDBEngine | SparkEngine) -> None:
    release, people = drawn(9)
    check(dv.read(release, engine=engine), release, people, ("age", "zip"))


def check(table: Table, release: pa.Table, people: pa.Table, knows: tuple[str, ...]) -> None:
    """Compare the matching rows, classes and values of all people with a loop."""
    matches = Matcher(table, knows, ["disease"]).match(texts(people), knows)
    shares = matches.shares["disease"]
    for place, person in enumerate(people.to_pylist()):
        fitting = [
            row
            for row in release.to_pylist()
            if zip_fits(row["zip"], person["zip"])
            and ("age" not in knows or age_fits(row["age"], person["age"]))
        ]
        number = matches.of_person[place]
        assert matches.rows[number] == len(fitting)
        assert matches.classes[number] == len(
            {tuple(row[name] for name in knows) for row in fitting}
        )
        found = {
            shares.values[value]: records
            for value, records in zip(
                shares.value[shares.tuple_ == number],
                shares.records[shares.tuple_ == number],
                strict=True,
            )
        }
        assert found == {v: n for v in "abc" if (n := sum(row["disease"] == v for row in fitting))}


def test_crowds_are_those_of_a_loop_over_all_people() -> None:
    release, people = drawn(3)
    records, crowd = Matcher(dv.read(release), ("age", "zip"), ()).crowds(
        dv.read(people), ("age", "zip")
    )
    classes = sorted({(row["age"] or "", row["zip"]) for row in release.to_pylist()})
    expected = [
        (
            sum((row["age"] or "", row["zip"]) == one for row in release.to_pylist()),
            sum(
                age_fits(one[0] or None, who["age"]) and zip_fits(one[1], who["zip"])
                for who in people.to_pylist()
            ),
        )
        for one in classes
    ]
    assert sorted(zip(records.tolist(), crowd.tolist(), strict=True)) == sorted(expected)


def test_many_labels_need_keys_of_text() -> None:
    """Seven columns of 600 labels have more combinations than a 64-bit integer can represent."""
    rows = pa.table(
        {f"c{place}": [str((n * (place + 1)) % 601) for n in range(600)] for place in range(7)}
    )
    matches = Matcher(dv.read(rows), rows.column_names, ()).match(rows, rows.column_names)
    assert np.array_equal(matches.rows, np.ones(600))


def test_words_are_read_by_their_meaning_and_otherwise_match_all_values() -> None:
    meant = Meanings(
        "mapping",
        {"married": frozenset({"spouse", "absent"})},
        {"young": (Interval(None, Fraction(20)),)},
    )
    found = fits(["married", "young", "odd"], ["spouse", "19", "20"], meanings=meant)
    assert list(zip(found.label.tolist(), found.value.tolist(), strict=True)) == [
        (0, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    assert found.unread == ("odd",)


def test_rules_for_suppressed_cells_are_applied() -> None:
    as_value = fits(["*", None], ["a", "*", None], suppression={"*": "value"})
    assert list(zip(as_value.label.tolist(), as_value.value.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
    ]
    wild = fits([None, "a"], ["a", "b", None], suppression={None: "wildcard"})
    assert list(zip(wild.label.tolist(), wild.value.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 2),
    ]


def test_numbers_are_compared_as_numbers_where_both_columns_hold_them() -> None:
    assert fits(["34.0"], ["34"], numbers=True).label.tolist() == [0]
    assert fits(["34.0"], ["34"]).label.tolist() == []


def test_nan_in_a_column_of_numbers_is_a_value_and_not_a_word() -> None:
    """No person has the value NaN, so it matches none; a word of unknown meaning matches all."""
    release = pa.table({"age": [31.0, math.nan, math.inf], "disease": ["flu", "cold", "cold"]})
    truth = pa.table({"age": [31, 50], "disease": ["flu", "cold"]})
    result = dv.attack(release, truth=truth, knows="age", sensitive="disease", attacks="prosecutor")
    assert (result.attempts[0].guesses, result.attempts[0].successes) == (1, 1)
    assert not any("could not be read" in note for note in result.notes)
