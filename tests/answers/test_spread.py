# SPDX-License-Identifier: Apache-2.0
"""Estimates from generalized releases: every way to put leaves in place of labels, on small tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.answers import Estimate, GeneralizedSource, estimate
from divulge.answers.labels import Labels
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.table import read

AGES: dict[str | None, list[int | None]] = {"[20, 22)": [20, 21], "[22, 25)": [22, 23, 24], "30": [30], None: [None]}
ZIPS: dict[str | None, list[str | None]] = {"1*": ["11", "12"], "*": ["11", "12", "21"]}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    """One for all examples, because starting one takes longer than a query."""
    started = DuckDBEngine()
    yield started
    started.close()


def source_of(rows: list[dict[str, Any]], engine: DuckDBEngine) -> GeneralizedSource:
    """A release with two columns of labels and one that is published as it is."""
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
    columns = {"label": pa.array([p[0] for p in pairs], pa.string()), "leaf": pa.array([p[1] for p in pairs])}
    return Labels("mapping", type_, pa.table(columns | {"weight": pa.array([1.0] * len(pairs))}))


def every_way(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"age": age, "zip": zip_, "label": row["label"]}
        for age, zip_ in itertools.product(AGES[row["age"]], ZIPS[row["zip"]])
    ]


CONDITIONS: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("age > 21", lambda row: row["age"] is not None and row["age"] > 21),
    ("age > 20 and zip = '11'", lambda row: row["age"] is not None and row["age"] > 20 and row["zip"] == "11"),
    ("age > 20 or zip = '21'", lambda row: (row["age"] is not None and row["age"] > 20) or row["zip"] == "21"),
    ("not (age > 20 and label = 1)", lambda row: row["label"] != 1 or (row["age"] is not None and row["age"] <= 20)),
    ("age is null or zip like '1%'", lambda row: row["age"] is None or row["zip"].startswith("1")),
    (
        "cast(zip as int) < age and label < 2",
        lambda row: row["age"] is not None and int(row["zip"]) < row["age"] and row["label"] < 2,
    ),
]

rows_drawn = st.lists(
    st.fixed_dictionaries(
        {"age": st.sampled_from(list(AGES)), "zip": st.sampled_from(list(ZIPS)), "label": st.integers(0, 2)}
    ),
    min_size=1,
    max_size=6,
)


@given(rows=rows_drawn, asked=st.sampled_from(CONDITIONS))
@settings(deadline=None, max_examples=60)
def test_a_count_has_the_mean_and_range_of_all_leaves(
    engine: DuckDBEngine, rows: list[dict[str, Any]], asked: tuple[str, Callable[[dict[str, Any]], bool]]
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
    engine: DuckDBEngine, rows: list[dict[str, Any]], asked: tuple[str, Callable[[dict[str, Any]], bool]]
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


def test_what_is_published_as_it_is_is_answered_exactly(engine: DuckDBEngine) -> None:
    rows = [{"age": "30", "zip": "*", "label": number} for number in (1, 1, 2)]
    assert estimate(source_of(rows, engine), "label = 1") == Estimate("count", 2.0, 2.0, 2.0)
    assert estimate(source_of(rows, engine)).estimate == 3.0


def test_an_average_lies_between_the_extreme_averages(engine: DuckDBEngine) -> None:
    rows = [{"age": "[20, 22)", "zip": "*", "label": 1}, {"age": "[22, 25)", "zip": "*", "label": 1}]
    found = estimate(source_of(rows, engine), average="age")
    assert found.estimate == pytest.approx((20.5 + 23) / 2, abs=1e-12)
    assert found.low == pytest.approx(21.0, abs=1e-9)
    assert found.high == pytest.approx(22.5, abs=1e-9)


def test_a_label_without_leaves_is_refused_and_not_left_out(engine: DuckDBEngine) -> None:
    table = pa.table({"age": ["[20, 22)", "old"], "sex": ["F", "M"]})
    source = GeneralizedSource(read(table, engine=engine), {"age": _listed(AGES, "BIGINT")})
    with pytest.raises(BadInput, match="'old'"):
        estimate(source, "age > 3")
    assert estimate(source, "sex = 'F'").estimate == 1.0
