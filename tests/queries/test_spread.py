# SPDX-License-Identifier: Apache-2.0
"""Estimates from generalized releases, checked by all replacements of labels on small tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Domain, count
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.queries import Estimate, GeneralizedSource, estimate, largest_shift, read_spread
from divulge.queries.labels import Labels, Span, _ColumnMeaning, _range_labels
from divulge.sources import read, resolve_roles

AGES: dict[str | None, list[int | None]] = {
    "[20, 22)": [20, 21],
    "[22, 25)": [22, 23, 24],
    "30": [30],
    None: [None],
}
ZIPS: dict[str | None, list[str | None]] = {"1*": ["11", "12"], "*": ["11", "12", "21"]}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    """Share one engine among all examples, because starting one takes longer than a query."""
    started = DuckDBEngine()
    yield started
    started.close()


def source_of(rows: list[dict[str, Any]], engine: DuckDBEngine) -> GeneralizedSource:
    """Build a release with two generalized columns and one that is published unchanged."""
    table = pa.table(
        {
            "age": pa.array([row["age"] for row in rows], pa.string()),
            "zip": pa.array([row["zip"] for row in rows], pa.string()),
            "label": pa.array([row["label"] for row in rows], pa.int64()),
        }
    )
    labels = {"age": _listed(AGES, "BIGINT"), "zip": _listed(ZIPS, "VARCHAR")}
    return GeneralizedSource(read(table, engine=engine), labels)


def _listed(spans: dict[Any, list[Any]], type_: str) -> Labels:
    pairs = [(label, leaf) for label, leaves in spans.items() for leaf in leaves]
    columns = {
        "label": pa.array([p[0] for p in pairs], pa.string()),
        "leaf": pa.array([p[1] for p in pairs]),
    }
    return Labels("mapping", type_, pa.table(columns | {"weight": pa.array([1.0] * len(pairs))}))


def every_way(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"age": age, "zip": zip_, "label": row["label"]}
        for age, zip_ in itertools.product(AGES[row["age"]], ZIPS[row["zip"]])
    ]


CONDITIONS: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("age > 21", lambda row: row["age"] is not None and row["age"] > 21),
    (
        "age > 20 and zip = '11'",
        lambda row: row["age"] is not None and row["age"] > 20 and row["zip"] == "11",
    ),
    (
        "age > 20 or zip = '21'",
        lambda row: (row["age"] is not None and row["age"] > 20) or row["zip"] == "21",
    ),
    (
        "not (age > 20 and label = 1)",
        lambda row: row["label"] != 1 or (row["age"] is not None and row["age"] <= 20),
    ),
    ("age is null or zip like '1%'", lambda row: row["age"] is None or row["zip"].startswith("1")),
    (
        "cast(zip as int) < age and label < 2",
        lambda row: row["age"] is not None and int(row["zip"]) < row["age"] and row["label"] < 2,
    ),
]

rows_drawn = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.sampled_from(list(AGES)),
            "zip": st.sampled_from(list(ZIPS)),
            "label": st.integers(0, 2),
        }
    ),
    min_size=1,
    max_size=6,
)


@given(rows=rows_drawn, asked=st.sampled_from(CONDITIONS))
@settings(deadline=None, max_examples=60)
def test_a_count_has_the_mean_and_range_of_all_leaves(
    engine: DuckDBEngine,
    rows: list[dict[str, Any]],
    asked: tuple[str, Callable[[dict[str, Any]], bool]],
) -> None:
    sql, holds = asked
    shares = [Fraction(sum(map(holds, ways)), len(ways)) for ways in map(every_way, rows)]
    found = estimate(source_of(rows, engine), sql)
    assert found.estimate == pytest.approx(float(sum(shares)), abs=1e-12)
    assert found.low == sum(share == 1 for share in shares)
    assert found.high == sum(share > 0 for share in shares)


@given(rows=rows_drawn, asked=st.sampled_from(CONDITIONS))
@settings(deadline=None, max_examples=40)
def test_a_sum_has_the_mean_and_range_of_all_leaves(
    engine: DuckDBEngine,
    rows: list[dict[str, Any]],
    asked: tuple[str, Callable[[dict[str, Any]], bool]],
) -> None:
    sql, holds = asked
    values = [
        [way["age"] - 21 if holds(way) and way["age"] is not None else 0 for way in ways]
        for ways in map(every_way, rows)
    ]
    means = [Fraction(sum(ways), len(ways)) for ways in values]
    found = estimate(source_of(rows, engine), sql, total="age - 21")
    assert found.estimate == pytest.approx(float(sum(means)), abs=1e-9)
    assert found.low == sum(map(min, values))
    assert found.high == sum(map(max, values))


def test_a_query_of_columns_published_unchanged_is_answered_exactly(engine: DuckDBEngine) -> None:
    rows = [{"age": "30", "zip": "*", "label": number} for number in (1, 1, 2)]
    assert estimate(source_of(rows, engine), "label = 1") == Estimate("count", 2.0, 2.0, 2.0)
    assert estimate(source_of(rows, engine)).estimate == 3.0


def test_an_average_lies_between_the_extreme_averages(engine: DuckDBEngine) -> None:
    rows = [
        {"age": "[20, 22)", "zip": "*", "label": 1},
        {"age": "[22, 25)", "zip": "*", "label": 1},
    ]
    found = estimate(source_of(rows, engine), average="age")
    assert found.estimate == pytest.approx((20.5 + 23) / 2, abs=1e-12)
    assert found.low == pytest.approx(21.0, abs=1e-9)
    assert found.high == pytest.approx(22.5, abs=1e-9)


def test_a_label_without_leaves_raises_an_error_and_is_not_skipped(engine: DuckDBEngine) -> None:
    table = pa.table({"age": ["[20, 22)", "old"], "sex": ["F", "M"]})
    source = GeneralizedSource(read(table, engine=engine), {"age": _listed(AGES, "BIGINT")})
    with pytest.raises(BadInput, match="'old'"):
        estimate(source, "age > 3")
    assert estimate(source, "sex = 'F'").estimate == 1.0


# --- ranges whose numbers are not listed ----------------------------------------------------------
NO_LEAVES = pa.table(
    {
        "label": pa.array([], pa.string()),
        "leaf": pa.array([], pa.float64()),
        "weight": pa.array([], pa.float64()),
    }
)


@pytest.mark.parametrize(
    ("span", "condition", "expected"),
    [
        # 20 to 25 of 20 to 29
        (Span(Fraction(20), Fraction(30), closed=False), "age < 25.5", (0.6, 0, 1)),
        (Span(Fraction(20), Fraction(30), closed=True), "age < 25.5", (6 / 11, 0, 1)),
        (Span(Fraction(20), Fraction(30), closed=False), "age >= 30", (0, 0, 0)),
        (Span(Fraction(20), Fraction(30), closed=True), "age >= 30", (1 / 11, 0, 1)),
        (
            Span(Fraction("0.5"), Fraction("2.5"), closed=False),
            "age < 1",
            (0.25, 0, 1),
        ),  # lengths, where an end is no whole number
        (Span(Fraction("0.5"), Fraction("0.5"), closed=True), "age = 0.5", (1, 1, 1)),
        (Span(Fraction("0.5"), Fraction("0.5"), closed=True), "age > 0.5", (0, 0, 0)),
        (Span(Fraction(34), Fraction(34), closed=True), "age = 34", (1, 1, 1)),
    ],
)
def test_a_range_is_spread_over_its_whole_numbers_or_its_length(
    span: Span, condition: str, expected: tuple[float, float, float], engine: DuckDBEngine
) -> None:
    labels = {"age": Labels("as written", "DOUBLE", NO_LEAVES, {"range": (span,)})}
    found = estimate(
        GeneralizedSource(read(pa.table({"age": ["range"]}), engine=engine), labels), condition
    )
    assert (found.estimate, found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("original", "compared"),
    [("FLOAT", "FLOAT"), ("DOUBLE", "DOUBLE"), ("BIGINT", "DOUBLE"), (None, "DOUBLE")],
)
def test_ranges_of_single_precision_are_compared_in_single_precision(
    original: str | None, compared: str
) -> None:
    """0.1 in single precision is more than 0.1 in double precision: a comparison in the other
    type misses it.
    """
    span = Span(Fraction("0.1"), Fraction("0.4"), closed=True)
    found = _range_labels(
        "x",
        _ColumnMeaning(
            "mapping", original, frozenset({("one", "0.1")}), frozenset({("range", span)})
        ),
    )
    assert found.type == compared
    (leaf,) = found.listed["leaf"].to_pylist()
    assert leaf == (float(np.float32(0.1)) if compared == "FLOAT" else 0.1)


# --- over the values of an original ---------------------------------------------------------------
def test_labels_are_spread_in_equal_parts_over_the_values_that_occur() -> None:
    """`old` represents no value of the original; its records are counted in the last column."""
    spread = read_spread(
        Domain("age", pa.array([20, 21, 30]), "number"),
        Domain("age", pa.array(["[20, 22)", "30", "old"]), "text"),
        known_values={"[20, 22)": ["20", "21"], "30": ["30"], "old": ["80"]},
        hierarchy=None,
    )
    assert spread.matrix().tolist() == [[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert spread.over_values(np.array([4.0, 1.0, 3.0])).tolist() == [2, 2, 1, 3]
    assert spread.part(np.array([True, False, True])).tolist() == [0.5, 1, 0]
    assert not spread.exact
    assert spread.label_of_value is not None
    assert spread.label_of_value.tolist() == [0, 0, 1]
    assert spread.read_by == "mapping"
    overlapping = read_spread(
        Domain("age", pa.array([20, 21]), "number"),
        Domain("age", pa.array(["20", "[20, 22)"]), "text"),
        known_values={"20": ["20"], "[20, 22)": ["20", "21"]},
        hierarchy=None,
    )
    assert overlapping.label_of_value is None  # 20 may have had either label


def test_a_value_that_a_class_lacks_is_as_far_away_as_its_share_in_the_original(
    engine: DuckDBEngine,
) -> None:
    """Class a has flu and cold, 1/2 each against 1/4 in the original; it lacks hiv, which is 1/2.

    Class b is like the original.
    """
    table = pa.table(
        {"zip": list("aabbbb"), "disease": ["flu", "cold", "flu", "cold", "hiv", "hiv"]}
    )
    source = read(table, engine=engine)
    published = count(source, resolve_roles(source, quasi_identifiers="zip", sensitive="disease"))
    shares = {"cold": 25.0, "flu": 25.0, "hiv": 50.0}
    labels = published.cells["disease"].domain.labels
    assert (
        largest_shift(published, {"disease": np.array([shares[label] for label in labels])}) == 0.5
    )
