# SPDX-License-Identifier: Apache-2.0
"""Values are recognized by themselves, in columns with meaningless names.

Values that only look similar are not recognized.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.policy import recognition

DRAW = random.Random(3)  # noqa: S311 - not for secrets
ROWS = 60
NAMES = (
    "Anna Schmidt",
    "James Brown",
    "Maria Garcia",
    "Olu Okafor",
    "Jean Dupont",
    "Mei Chen",
    "Paul Novak",
    "Ivan Petrov",
    "Eva Larsen",
    "Tom Hill",
)
CITIES = (
    "Paris",
    "London",
    "Hamburg",
    "Chicago",
    "Lyon",
    "Porto",
    "Krakow",
    "Aarhus",
    "Boston",
    "Leeds",
    "Ghent",
    "Malmö",
    "Turin",
    "Seville",
    "Bergen",
    "Utrecht",
    "Denver",
    "Dublin",
    "Graz",
    "Basel",
    "Bremen",
    "Kiel",
    "Nantes",
    "Lille",
    "Bari",
    "Cork",
    "Derby",
    "York",
    "Bonn",
    "Essen",
)


def digits(n: int) -> str:
    return "".join(DRAW.choices("0123456789", k=n))


def pesel() -> str:
    """Return a Polish number: day of birth, four digits, and the check digit of its weights."""
    body = f"{DRAW.randint(40, 99)}{DRAW.randint(1, 12):02}{DRAW.randint(1, 28):02}{digits(4)}"
    return body + str(
        -sum(int(d) * w for d, w in zip(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), strict=True)) % 10
    )


def iban() -> str:
    """A German account with the check digits of ISO 13616."""
    account = digits(18)
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


def born() -> dt.date:
    return dt.date(1930, 1, 1) + dt.timedelta(days=DRAW.randint(0, 27_000))


RECOGNIZED: dict[str, tuple[list[Any], str, str]] = {
    "e-mail": ([f"p{i % 25}@example.org" for i in range(ROWS)], "e-mail addresses", "person"),
    "phone": ([f"+49 30 {digits(6)}" for _ in range(ROWS)], "phone numbers", "identifier"),
    "name": (
        [f"{NAMES[i % 10]} {'' if i < 10 else chr(65 + i % 26) * 2}".strip() for i in range(ROWS)],
        "names of people",
        "identifier",
    ),
    "iban": ([iban() for _ in range(ROWS)], "IBANs", "identifier"),
    "national id": ([pesel() for _ in range(ROWS)], "national ids of Poland (PESEL)", "identifier"),
    "national id, number": (
        [int(pesel()) for _ in range(ROWS)],
        "national ids of Poland (PESEL)",
        "identifier",
    ),
    "postcode": (
        [f"{DRAW.choice(['SW1A', 'M1', 'B33'])} {DRAW.randint(1, 9)}AA" for _ in range(ROWS)],
        "postcodes",
        "quasi_identifier",
    ),
    "zip": ([f"0{digits(4)}" for _ in range(ROWS // 2)] * 2, "postcodes", "quasi_identifier"),
    "birth": ([born() for _ in range(ROWS)], "dates that spread over", "quasi_identifier"),
    "birth, text": (
        [f"{born():%d.%m.%Y}" for _ in range(ROWS)],
        "dates that spread over",
        "quasi_identifier",
    ),
    "visit": (
        [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(ROWS)],
        "dates",
        "quasi_identifier",
    ),
    "place": (
        [f"{48 + i / 1000:.5f}, {11 + i / 777:.5f}" for i in range(ROWS)],
        "coordinates",
        "quasi_identifier",
    ),
    "race": (["white", "black", "asian", "other"] * 15, "racial or ethnic origins", "sensitive"),
    "test": (
        ["positive", "negative", "negative", "inconclusive"] * 15,
        "results of tests",
        "sensitive",
    ),
    "cause": (
        ["Circulatory", "Neoplasms", "Respiratory", "Injury", "Other"] * 12,
        "diseases",
        "sensitive",
    ),
    "note": (
        [f"seen on day {i} by the nurse, who called his wife" for i in range(ROWS)],
        "free text",
        "identifier",
    ),
    "address": (
        [f"{i} {DRAW.choice(['Mill', 'High', 'Church'])} Street" for i in range(ROWS)],
        "street addresses",
        "identifier",
    ),
}


@pytest.mark.parametrize("kind", RECOGNIZED)
def test_kinds_of_values_are_recognized(kind: str) -> None:
    values, told, role = RECOGNIZED[kind]
    found = dv.profile(pa.table({"x1": values}))["x1"]
    assert (found.looks_like or "").startswith(told)
    assert found.role == role
    assert found.matches == pytest.approx(1.0, abs=0.2)
    assert told in found.reason
    assert "% of" in found.reason


@pytest.mark.parametrize(
    "values",
    [
        [*CITIES, *CITIES],
        [DRAW.randint(10_000, 99_999) for _ in range(ROWS)],
        [f"{DRAW.randint(10_000, 99_999)}" for _ in range(ROWS)],
        [0, *(DRAW.randint(10_000, 99_999) for _ in range(ROWS))],
        ["01234", "02345", "03456", "04567"] * 15,
        ["black", "white", "red", "silver"] * 15,
        ["yes", "no"] * 30,
        [f"A{i % 9}" for i in range(ROWS)],
        [10_000_000 + DRAW.randint(0, 900_000) for _ in range(30)] * 2,
    ],
    ids=[
        "cities",
        "salaries",
        "five digits",
        "salaries and a zero",
        "four codes",
        "colours",
        "answers",
        "codes",
        "numbers",
    ],
)
def test_similar_values_are_not_recognized(values: list[Any]) -> None:
    assert dv.profile(pa.table({"x1": values}))["x1"].looks_like is None


@pytest.mark.parametrize(
    "values",
    [
        [f"{NAMES[i % 10]} ({i})" for i in range(ROWS)],
        [f"room {i} of {NAMES[i % 10]}" for i in range(ROWS)],
        [f"the house of {NAMES[i % 10]} and her sister" for i in range(ROWS)],
    ],
    ids=["name and number", "number and name", "five words and more"],
)
def test_texts_that_contain_a_name_are_not_names(values: list[str]) -> None:
    looks_like = dv.profile(pa.table({"x1": values}))["x1"].looks_like
    assert not (looks_like or "").startswith("names of people")


def test_coordinates_are_two_columns_side_by_side() -> None:
    north, east = ([round(start + DRAW.random(), 6) for _ in range(ROWS)] for start in (52.1, 13.2))
    measured = [round(DRAW.gauss(0, 1), 6) for _ in range(ROWS)]
    found = dv.profile(pa.table({"x1": north, "x2": east, "y1": measured, "y2": measured[::-1]}))
    assert [item.looks_like for item in found] == [
        "coordinates",
        "coordinates",
        "measured numbers",
        "measured numbers",
    ]
    assert [item.role for item in found] == ["quasi_identifier"] * 2 + ["sensitive"] * 2


def test_race_causes_of_death_and_results_are_sensitive_with_a_reason() -> None:
    table = pa.table(
        {
            "race": ["a", "b"] * 30,
            "cause_of_death": ["x", "y", "z"] * 20,
            "test_result": [str(i) for i in range(20)] * 3,
            "age_at_diagnosis": list(range(20, 80)),
        }
    )
    found = dv.profile(table)
    assert [item.role for item in found] == [
        "sensitive",
        "sensitive",
        "sensitive",
        "quasi_identifier",
    ]
    assert "GDPR art. 9" in found["race"].reason
    assert "others often know it too" in found["race"].reason
    assert "causes of death" in found["cause_of_death"].reason


def test_the_sample_is_bounded_and_the_same_on_every_engine_that_counts_alike(engine: Any) -> None:
    many = pa.table(
        {"x1": [f"p{i}@example.org" for i in range(8_000)], "few": ["positive", "negative"] * 4_000}
    )
    table = dv.read(many, engine=engine)
    drawn = [recognition.sample(table, table.columns, {"x1": 8_000, "few": 2}) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert 700 < len(drawn[0]["x1"]) < 1_300
    assert sorted(drawn[0]["few"]) == [("negative", 4_000), ("positive", 4_000)]
    found = dv.profile(table)
    assert [item.looks_like for item in found] == ["e-mail addresses", "results of tests"]
    assert found["x1"].matches == 1.0
