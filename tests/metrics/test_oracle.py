# SPDX-License-Identifier: Apache-2.0
"""Every metric of every class of random tables agrees with the brute-force oracle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.metrics import IDENTITY, Measurement, Score
from divulge.metrics.catalogue import SENSITIVE
from tests import oracle
from tests.metrics.drawn import arrow, measured, rows

KEYS = ("zip", "age")
DISTANCES = {
    "disease": oracle.equal_distance,
    "visits": oracle.ordered_distance,
    "dose": oracle.ordered_distance,
}


def agree(
    scores: Mapping[str, Score],
    found: Measurement,
    expected: oracle.Result,
    attribute: str | None = None,
) -> None:
    """Table and classes, for all metrics and no others."""
    assert set(scores) == set(expected)
    for name, (of_table, of_classes) in expected.items():
        assert scores[name].value == pytest.approx(of_table, abs=1e-9), name
        if of_classes is None:
            assert scores[name].metric.per_class is None, name
            continue
        ours = found.per_class(name, attribute).tolist()
        assert ours == pytest.approx(of_classes, abs=1e-9), name
        worst = scores[name].worst
        assert worst is not None
        extreme = max(of_classes) if scores[name].metric.worse == "high" else min(of_classes)
        assert of_classes[worst.index] == pytest.approx(extreme, abs=1e-9), name


def cells(given: Sequence[oracle.Row], attribute: str) -> list[Counter[Any]]:
    return [Counter(row[attribute] for row in members) for members in oracle.group(given, KEYS)]


def check(given: Sequence[oracle.Row]) -> None:
    found = measured(arrow(given), quasi_identifiers=KEYS, sensitive=list(DISTANCES))
    assert found.rows == found.people == len(given)
    agree(found.identity, found, oracle.identity(given, KEYS))
    for attribute, distance in DISTANCES.items():
        expected = oracle.sensitive(cells(given, attribute), distance=distance)
        agree(found.sensitive[attribute], found, expected, attribute)
    members = oracle.group(given, KEYS)
    assert [record["class"] for record in found.class_records()] == [
        {key: m[0][key] for key in KEYS} for m in members
    ]


def test_the_oracle_knows_every_metric() -> None:
    person = [{"zip": "1", "age": 1, "disease": "flu"}]
    assert set(oracle.identity(person, KEYS, population=[1])) == {
        metric.name for metric in IDENTITY
    }
    assert set(oracle.sensitive([{"flu": 1}])) == {metric.name for metric in SENSITIVE}


@given(rows())
@settings(deadline=None, max_examples=60)
def test_random_tables(drawn: list[dict[str, Any]]) -> None:
    check(drawn)


def person(**values: Any) -> dict[str, Any]:
    return {"zip": "476**", "age": 20, "disease": "flu", "visits": 1, "dose": 0.0} | values


EDGES = {
    "one row": [person()],
    "one row of nulls": [dict.fromkeys(person())],
    "one class": [person(disease="flu"), person(disease="cancer"), person(disease="flu", dose=2.0)],
    "all the same": [person()] * 7,
    "all unique": [
        person(age=age, disease=f"d{age}", visits=age, dose=age / 3) for age in range(9)
    ],
    "unique but equally ill": [person(age=age) for age in range(9)],
    "independent": [
        person(age=age, disease=disease)
        for age in (1, 2, 3)
        for disease in ("flu", "flu", "cancer")
    ],
    "a null beside its absence": [person(zip=None), person(zip=""), person(zip=None, disease=None)],
    "one giant": [person()] * 999 + [person(age=21, disease="cancer", visits=2, dose=-1.5)],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    check(EDGES[name])


@given(rows(most=10), rows(most=10))
@settings(deadline=None, max_examples=30)
def test_prior_of_the_original(
    published: list[dict[str, Any]], original: list[dict[str, Any]]
) -> None:
    """Values that only one of the two tables has are in the domain.

    They are excluded by the prior, or absent from every class.
    """
    found = measured(
        arrow(published),
        quasi_identifiers=KEYS,
        sensitive=list(DISTANCES),
        original=arrow(original),
    )
    assert found.settings["prior"] == dict.fromkeys(DISTANCES, "original")
    for attribute, distance in DISTANCES.items():
        prior = Counter(row[attribute] for row in original)
        expected = oracle.sensitive(cells(published, attribute), prior=prior, distance=distance)
        agree(found.sensitive[attribute], found, expected, attribute)


@given(rows(most=10), st.integers(1, 4))
@settings(deadline=None, max_examples=30)
def test_every_l_of_recursive_diversity(drawn: list[dict[str, Any]], least: int) -> None:
    found = measured(arrow(drawn), quasi_identifiers=KEYS, sensitive="disease", recursive_l=least)
    assert found.settings["recursive_l"] == {"disease": least}
    agree(
        found.sensitive["disease"],
        found,
        oracle.sensitive(cells(drawn, "disease"), recursive_l=least),
        "disease",
    )


@given(rows(most=10), st.data())
@settings(deadline=None, max_examples=30)
def test_weights(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    """Shares are weighted; class sizes are not, and the weights of a class are its population."""
    weights = data.draw(
        st.lists(st.sampled_from([1.0, 1.5, 3.25, 40.0]), min_size=len(drawn), max_size=len(drawn))
    )
    weighted = [row | {"w": weight} for row, weight in zip(drawn, weights, strict=True)]
    found = measured(
        arrow(weighted, w=pa.float64()),
        quasi_identifiers=KEYS,
        sensitive=list(DISTANCES),
        weight="w",
    )
    members = oracle.group(weighted, KEYS)
    population = [sum(Fraction(row["w"]) for row in class_) for class_ in members]
    agree(
        found.identity,
        found,
        oracle.identity(weighted, KEYS, population=population, estimated=True),
    )
    for attribute, distance in DISTANCES.items():
        heavy: list[Counter[Any]] = [Counter() for _ in members]
        for counter, class_ in zip(heavy, members, strict=True):
            for row in class_:
                counter[row[attribute]] += Fraction(row["w"])  # type: ignore[assignment]
        agree(
            found.sensitive[attribute], found, oracle.sensitive(heavy, distance=distance), attribute
        )


@given(rows(most=12), st.data())
@settings(deadline=None, max_examples=30)
def test_people_who_own_several_rows(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    owners = data.draw(
        st.lists(st.sampled_from(["Ann", "Bob", "Cem"]), min_size=len(drawn), max_size=len(drawn))
    )
    owned = [row | {"who": owner} for row, owner in zip(drawn, owners, strict=True)]
    found = measured(
        arrow(owned, who=pa.string()),
        quasi_identifiers=KEYS,
        sensitive=list(DISTANCES),
        person="who",
    )
    assert (found.rows, found.people) == (len(drawn), len(set(owners)))
    agree(found.identity, found, oracle.identity(owned, KEYS, person="who"))
    for attribute, distance in DISTANCES.items():
        once = cells(oracle.distinct(owned, [*KEYS, attribute, "who"]), attribute)
        agree(
            found.sensitive[attribute], found, oracle.sensitive(once, distance=distance), attribute
        )


@given(rows(most=10))
@settings(deadline=None, max_examples=30)
def test_several_attributes_as_one(drawn: list[dict[str, Any]]) -> None:
    found = measured(
        arrow(drawn), quasi_identifiers=KEYS, sensitive=["disease", "visits"], joint=True
    )
    assert list(found.sensitive) == ["disease", "visits", "disease + visits"]
    both = [
        row | {"both": (row["disease"] or "~", -1 if row["visits"] is None else row["visits"])}
        for row in drawn
    ]
    agree(
        found.sensitive["disease + visits"],
        found,
        oracle.sensitive(cells(both, "both")),
        "disease + visits",
    )
    alone = measured(arrow(drawn), quasi_identifiers=KEYS, sensitive="disease")
    assert (
        found.per_class("surprise", "disease").tolist()
        == alone.per_class("surprise", "disease").tolist()
    )


@given(rows(most=12))
@settings(deadline=None, max_examples=30)
def test_nulls_dropped(drawn: list[dict[str, Any]]) -> None:
    """A row with a null in any column that plays a role is left out, for all attributes alike."""
    used = [*KEYS, "disease"]
    kept = [row for row in drawn if all(row[name] is not None for name in used)]
    if not kept:
        return
    found = measured(arrow(drawn), quasi_identifiers=KEYS, sensitive="disease", nulls="drop")
    assert (found.rows, found.settings["nulls"]) == (len(kept), "drop")
    left_out = len(drawn) - len(kept)
    assert (f"{left_out} of {len(drawn)} rows were left out because of nulls" in found.notes) == (
        left_out > 0
    )
    agree(found.identity, found, oracle.identity(kept, KEYS))
    agree(found.sensitive["disease"], found, oracle.sensitive(cells(kept, "disease")), "disease")


def test_no_number_is_ever_not_a_number() -> None:
    for name, table in EDGES.items():
        found = measured(arrow(table), quasi_identifiers=KEYS, sensitive=list(DISTANCES))
        scores = [
            *found.identity.values(),
            *(score for scores in found.sensitive.values() for score in scores.values()),
        ]
        assert not [score.metric.name for score in scores if math.isnan(score.value)], name
