# SPDX-License-Identifier: Apache-2.0
"""From rows to counts: hand-counted tables, odd values and types, and every rejected request."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import divulge as dv
from divulge.counting import Contingency, count
from divulge.errors import BadInput
from divulge.sources import read, resolve_roles
from tests import oracle
from tests.metrics.drawn import Counts, arrow, contingency_of, counts, opened, rows, table_of


def counted(
    table: Any, *, nulls: Any = "category", joint: bool = False, **roles: Any
) -> Contingency:
    source = opened(table)
    return count(source, resolve_roles(source, **roles), nulls=nulls, joint=joint)


def by_class(contingency: Contingency, attribute: str) -> list[dict[Any, float]]:
    """Return the cells of each class by label."""
    cells = contingency.cells[attribute]
    return [
        {cells.domain.labels[code]: n for code, n in cells.of_class(i).items()}
        for i in range(len(contingency))
    ]


PATIENTS = pa.table(
    {
        "zip": ["476", "476", None, "476", "479", None],
        "age": [30, 20, 20, 20, None, 20],
        "disease": ["flu", "flu", None, "cancer", "flu", "flu"],
        "ward": ["A", "B", "A", "B", "A", "A"],
    }
)


def test_a_hand_counted_table() -> None:
    found = counted(PATIENTS, quasi_identifiers=["zip", "age"], sensitive=["disease", "ward"])
    keys = [found.class_key(i) for i in range(len(found))]
    # Sorted by zip and then age, nulls last: a null is a value of its own.
    assert keys == [
        {"zip": "476", "age": 20},
        {"zip": "476", "age": 30},
        {"zip": "479", "age": None},
        {"zip": None, "age": 20},
    ]
    assert found.sizes.tolist() == [2, 1, 1, 2]
    assert by_class(found, "disease") == [
        {"cancer": 1, "flu": 1},
        {"flu": 1},
        {"flu": 1},
        {"flu": 1, None: 1},
    ]
    assert by_class(found, "ward") == [{"B": 2}, {"A": 1}, {"A": 1}, {"A": 2}]
    assert (found.rows, found.people, found.notes) == (6, 6, ())
    assert found.cells["disease"].marginal.tolist() == [1, 4, 1]
    assert found.cells["disease"].totals.tolist() == [2, 1, 1, 2]


def test_nulls_dropped() -> None:
    found = counted(PATIENTS, quasi_identifiers=["zip", "age"], sensitive="disease", nulls="drop")
    assert found.sizes.tolist() == [2, 1]
    assert found.rows == 3
    assert "3 of 6 rows were left out because of nulls" in found.notes


def test_joint_attribute() -> None:
    found = counted(PATIENTS, quasi_identifiers="zip", sensitive=["disease", "ward"], joint=True)
    assert list(found.cells) == ["disease", "ward", "disease + ward"]
    assert by_class(found, "disease + ward") == [
        {"cancer + B": 1, "flu + A": 1, "flu + B": 1},
        {"flu + A": 1},
        {"None + A": 1, "flu + A": 1},
    ]


def test_one_attribute_has_no_joint() -> None:
    with pytest.raises(
        BadInput, match="joint=True looks at several sensitive columns as one, and there are 1"
    ):
        counted(PATIENTS, quasi_identifiers="zip", sensitive="ward", joint=True)


def test_without_sensitive_attributes() -> None:
    found = counted(PATIENTS, quasi_identifiers="zip")
    assert (found.sizes.tolist(), dict(found.cells)) == ([3, 1, 2], {})


@given(counts())
@settings(deadline=None, max_examples=30)
def test_counting_rows_gives_the_counts_they_were_made_from(drawn: Counts) -> None:
    """Property tests may start from counts (tests/metrics/drawn.py)."""
    found, expected = (
        counted(table_of(drawn), quasi_identifiers="q", sensitive="s"),
        contingency_of(drawn),
    )
    assert found.sizes.tolist() == expected.sizes.tolist()
    assert by_class(found, "s") == by_class(expected, "s") == drawn_sorted(drawn)
    assert found.cells["s"].domain.labels == expected.cells["s"].domain.labels


def drawn_sorted(drawn: Counts) -> list[dict[str, int]]:
    return [dict(sorted(members.items())) for members in drawn]


@given(rows())
@settings(deadline=None, max_examples=40)
def test_three_attributes_in_one_scan(drawn: list[dict[str, Any]]) -> None:
    found = counted(
        arrow(drawn), quasi_identifiers=["zip", "age"], sensitive=["disease", "visits", "dose"]
    )
    members = oracle.group(drawn, ["zip", "age"])
    assert found.sizes.tolist() == [len(class_) for class_ in members]
    for attribute in ("disease", "visits", "dose"):
        expected = [
            {
                value: [row[attribute] for row in class_].count(value)
                for value in {row[attribute] for row in class_}
            }
            for class_ in members
        ]
        assert by_class(found, attribute) == expected


# --- Persons --------------------------------------------------------------------------------------

VISITS = pa.table(
    {
        "who": ["Ann", "Ann", "Ann", "Bob", "Bob", "Cem"],
        "zip": ["1", "1", "2", "1", "1", "2"],
        "disease": ["flu", "cancer", "flu", "flu", "flu", "flu"],
    }
)


def test_people_are_counted_once_in_a_class_and_once_in_a_cell() -> None:
    """Ann is in both classes; in class 1 she has two diseases, Bob one that is recorded twice."""
    found = counted(VISITS, quasi_identifiers="zip", sensitive="disease", person="who")
    assert (found.rows, found.people) == (6, 3)
    assert found.sizes.tolist() == [2, 2]
    assert by_class(found, "disease") == [{"cancer": 1, "flu": 2}, {"flu": 2}]
    # Of the four pairs of a person and a class Ann has two: H = 2/4 log2 2 + 2 * 1/4 log2 4.
    assert found.person_entropy == pytest.approx(1.5)


def test_counts_of_people_are_not_rolled_up() -> None:
    found = counted(VISITS, quasi_identifiers="zip", sensitive="disease", person="who")
    with pytest.raises(BadInput, match="a person may stand in two merging classes"):
        found.roll_up([])


# --- Values and types -----------------------------------------------------------------------------

ODD_TYPES: dict[str, list[Any]] = {
    "boolean": [True, False, True],
    "date": [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "timestamp": [
        dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, 4, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC),
    ],
    "time": [dt.time(2), dt.time(1), dt.time(2)],
    "decimal": [Decimal("1.50"), Decimal("1.25"), Decimal("1.50")],
    "binary": [b"b", b"a", b"b"],
    "large numbers": [2**62, 2**62 - 1, 2**62],
    "text": ["ü", "a'; DROP TABLE x; --", "ü"],
}


@pytest.mark.parametrize("kind", ODD_TYPES)
def test_types(kind: str) -> None:
    values = ODD_TYPES[kind]
    table = pa.table({"k": values, "s": values})
    found = counted(table, quasi_identifiers="k", sensitive="s")
    low, high = sorted(set(values))
    assert [found.class_key(i)["k"] for i in range(len(found))] == [low, high]
    assert by_class(found, "s") == [{low: 1}, {high: 2}]


def test_dictionaries_of_texts() -> None:
    table = pa.table({"k": pa.array(["b", None, "a"]).dictionary_encode(), "s": ["x", "y", "x"]})
    found = counted(table, quasi_identifiers="k", sensitive="s")
    assert [found.class_key(i)["k"] for i in range(3)] == ["a", "b", None]


def test_an_attribute_of_nulls_only() -> None:
    table = pa.table({"k": [1, 2], "s": pa.array([None, None], pa.string())})
    assert by_class(counted(table, quasi_identifiers="k", sensitive="s"), "s") == [
        {None: 1},
        {None: 1},
    ]


def test_the_two_zeros_are_one_value() -> None:
    """SQL groups 0.0 with -0.0 and shows either; both attributes must land in the same class."""
    table = pa.table(
        {"k": [0.0, -0.0, 0.0, -0.0], "s": ["x", "y", "x", "x"], "t": [-0.0, 0.0, 1.0, -0.0]}
    )
    found = counted(table, quasi_identifiers="k", sensitive=["s", "t"])
    assert found.sizes.tolist() == [4]
    assert by_class(found, "s") == [{"x": 3, "y": 1}]
    assert by_class(found, "t") == [{0.0: 3, 1.0: 1}]


def test_not_a_number_is_a_value_and_not_a_null() -> None:
    table = pa.table(
        {
            "k": [float("nan"), 1.0, None, float("nan")],
            "s": ["x", "y", "x", "x"],
            "t": ["x", "y", "x", "x"],
        }
    )
    found = counted(table, quasi_identifiers="k", sensitive=["s", "t"])
    assert found.sizes.tolist() == [1, 2, 1]
    assert found.class_key(2) == {"k": None}


def test_a_type_without_an_order_raises_an_error() -> None:
    table = pa.table({"k": [dt.timedelta(1)], "s": ["x"]})
    with pytest.raises(BadInput, match="column 'k' cannot be sorted"):
        counted(table, quasi_identifiers="k", sensitive="s")


def test_many_columns_overflow_no_key() -> None:
    """Seventy columns of two values: their product does not fit into 64 bits.

    The first columns must count as the others.
    """
    columns = {f"c{i:02}": [int(row == i) for row in range(70)] for i in range(70)}
    found = counted(pa.table(columns), quasi_identifiers="c*")
    assert found.sizes.tolist() == [1] * 70
    # Ascending by the first column, then the second and so on: the class with c00 = 1 is the last.
    assert [found.class_key(i)["c00"] for i in range(70)] == [0] * 69 + [1]
    assert found.class_key(68)["c01"] == 1


# --- Notes and errors -----------------------------------------------------------------------------


def test_constant_columns_are_noted() -> None:
    table = pa.table({"k": ["a", "a"], "s": ["x", "x"]})
    notes = counted(table, quasi_identifiers="k", sensitive="s").notes
    assert notes == (
        "quasi-identifier 'k' has one value only ('a'): it separates nobody",
        "sensitive attribute 's' has one value only ('x'): there is nothing left to learn about it",
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no quasi-identifiers": ({"quasi_identifiers": []}, "no quasi-identifiers were named"),
    "an unknown null policy": (
        {"quasi_identifiers": "zip", "nulls": "keep"},
        "nulls='keep' is not known",
    ),
    "person with weight": (
        {"quasi_identifiers": "zip", "person": "ward", "weight": "age"},
        "cannot be combined",
    ),
    "nobody's row": (
        {"quasi_identifiers": "age", "person": "zip"},
        "2 rows have no 'zip', so it is not known whose they are",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_roles_raise_an_error(name: str) -> None:
    roles, message = REFUSED[name]
    with pytest.raises(BadInput, match=message):
        counted(PATIENTS, **roles)


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_an_empty_table_raises_an_error(nulls: str) -> None:
    with pytest.raises(BadInput, match="no row is left" if nulls == "drop" else "has no rows"):
        counted(PATIENTS.slice(0, 0), quasi_identifiers="zip", sensitive="disease", nulls=nulls)


def test_a_table_emptied_by_its_nulls_raises_an_error() -> None:
    table = pa.table({"k": [1, None], "s": [None, "x"]})
    with pytest.raises(BadInput, match="nulls='drop' left out every row"):
        counted(table, quasi_identifiers="k", sensitive="s", nulls="drop")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 0, 1], "greater than 0; the smallest is 0"),
        ([1, 2, -3.5, 1], "greater than 0; the smallest is -3.5"),
        ([1, None, 2, None], "2 rows have no weight in 'w'"),
        ([1, 2, float("inf"), 1], "some are infinite or not a number"),
        ([float("nan")] * 4, "some are infinite or not a number"),
        ([1, float("nan"), 1, 1], "some are infinite or not a number"),
    ],
)
def test_invalid_weights_raise_an_error(weights: list[float | None], message: str) -> None:
    """With two sensitive attributes each row is counted twice, and still reported once."""
    table = pa.table(
        {
            "k": [1, 1, 2, 2],
            "s": list("xyxy"),
            "t": list("xxyy"),
            "w": pa.array(weights, pa.float64()),
        }
    )
    with pytest.raises(BadInput, match=message):
        counted(table, quasi_identifiers="k", sensitive=["s", "t"], weight="w")


def test_weights_by_hand() -> None:
    table = pa.table({"k": [1, 1, 2], "s": ["x", "y", "x"], "w": [1.5, 2.5, 10]})
    found = counted(table, quasi_identifiers="k", sensitive="s", weight="w")
    assert (found.sizes.tolist(), found.rows, found.people) == ([2, 1], 3, 3)
    assert found.population is not None
    assert found.population.tolist() == [4, 10]
    assert by_class(found, "s") == [{"x": 1.5, "y": 2.5}, {"x": 10}]


def test_an_engine_of_its_own_counts_the_same() -> None:
    """The default path, without the engine that these tests share."""
    found = dv.measure(PATIENTS, quasi_identifiers=["zip", "age"], sensitive="disease")
    assert found.contingency.sizes.tolist() == [2, 1, 1, 2]


def test_nans_of_different_bits_are_one_value() -> None:
    """Counted separately they would look like two diagnoses, and like two classes.

    A file does not distinguish them.
    """
    bits = np.array(
        [0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000, 0], dtype=np.uint64
    ).view(np.float64)
    table = read(pa.table({"q": bits, "s": bits}))
    found = count(table, resolve_roles(table, quasi_identifiers="q", sensitive="s"))
    assert sorted(found.sizes.tolist()) == [1, 3]
    assert len(found.cells["s"].domain) == 2
