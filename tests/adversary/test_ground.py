# SPDX-License-Identifier: Apache-2.0
"""The ground distance in effect: defaults by kind, orders for text, taxonomies, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.metrics import Measurement
from tests.literature import TABLE_2B, TABLE_3
from tests.metrics.drawn import measured
from tests.metrics.golden import taxonomy

# Two classes, {low} and {medium, high}; the prior is a third each.
GRADES = pa.table({"q": [0, 1, 1], "grade": ["low", "medium", "high"]})
ORDER = ["low", "medium", "high"]


def close(table: pa.Table, attribute: str, **options: Any) -> Measurement:
    keys = [name for name in ("q", "zip", "age") if name in table.column_names]
    return measured(table, quasi_identifiers=keys, sensitive=attribute, **options)


def test_text_has_the_equal_distance_and_numbers_the_ordered_one() -> None:
    found = measured(TABLE_3, quasi_identifiers=["zip", "age"], sensitive=["salary", "disease"])
    assert found.settings["ground_distance"] == {"salary": "ordered", "disease": "equal"}
    # Table 3's title: 0.167-closeness with respect to salary.
    assert found.sensitive["salary"]["t_closeness"].value == pytest.approx(1 / 6)
    assert found.sensitive["disease"]["t_closeness"].value == pytest.approx(5 / 9)


def test_numbers_can_have_the_equal_distance() -> None:
    found = close(TABLE_3, "salary", distances={"salary": "equal"})
    assert found["t_closeness"].value == pytest.approx(2 / 3)
    assert found.settings["ground_distance"] == {"salary": "equal"}


def test_dates_are_ordered_and_booleans_are_not() -> None:
    dates = pa.table(
        {"q": [0, 1, 1], "d": pa.array([0, 1, 2], pa.date32()), "b": [True, False, True]}
    )
    found = measured(dates, quasi_identifiers="q", sensitive=["d", "b"])
    assert found.settings["ground_distance"] == {"d": "ordered", "b": "equal"}
    assert found.per_class("t_closeness", "d") == pytest.approx([1 / 2, 1 / 4])


def test_text_needs_an_explicit_order() -> None:
    """By hand: mass 1/3 moves from low to medium (1 of 2 steps), and 1/3 to high (2 of 2).

    That is 1/6 + 1/3 = 1/2; the other class has half of it.
    """
    for options in (
        {"orders": {"grade": ORDER}},
        {"orders": {"grade": ORDER}, "distances": {"grade": "ordered"}},
    ):
        found = close(GRADES, "grade", **options)
        assert found.settings["ground_distance"] == {"grade": "ordered"}
        assert found.per_class("t_closeness", "grade") == pytest.approx([1 / 2, 1 / 4])
    # The alphabetical order would be high, low, medium.
    assert found.beliefs["grade"].cells.domain.labels == ORDER
    # Other metrics do not depend on the order.
    plain = close(GRADES, "grade")
    for name in ("surprise", "distribution_leakage", "alpha", "mutual_information"):
        assert found[name].value == pytest.approx(plain[name].value)


def test_an_order_goes_with_a_given_prior_and_with_knowledge() -> None:
    found = close(
        GRADES, "grade", orders={"grade": ORDER}, prior={"low": 0, "medium": 0, "high": 1}
    )
    assert found.per_class("t_closeness", "grade") == pytest.approx([1, 1 / 4])
    found = close(GRADES, "grade", orders={"grade": ORDER}, rule_out={"grade": "low"})
    assert found.beliefs["grade"].classes.tolist() == [1]
    assert found["t_closeness"].value == 0


def test_an_order_may_hold_numbers_and_null() -> None:
    table = pa.table({"q": [0, 1, 1], "n": [1, 2, None]})
    found = close(table, "n", orders={"n": [None, 1, 2]})
    assert found.beliefs["n"].cells.domain.labels == [None, 1, 2]
    assert found.per_class("t_closeness", "n") == pytest.approx([1 / 3, 1 / 6])


def test_a_taxonomy_from_a_mapping_and_from_files(tmp_path: Path) -> None:
    """The title of Table 3: 0.278-closeness with respect to disease (golden 000.table3).

    Siblings have distance 1/4.
    """
    tree = taxonomy(4)
    sources: list[Any] = [tree]
    for delimiter in (";", ","):
        path = tmp_path / f"tree{ord(delimiter)}.csv"
        path.write_text(
            "\n".join(delimiter.join([value, *above]) for value, above in tree.items()),
            encoding="utf-8",
        )
        sources += [path, str(path)]
    for source in sources:
        found = close(TABLE_3, "disease", taxonomies={"disease": source})
        assert found.settings["ground_distance"] == {"disease": "hierarchical"}
        assert found["t_closeness"].value == pytest.approx(5 / 18)
    assert close(TABLE_2B, "disease", taxonomies={"disease": tree})[
        "t_closeness"
    ].value == pytest.approx(4 / 9)


def test_a_root_is_added_where_a_taxonomy_has_none() -> None:
    branches = {value: above[:1] for value, above in taxonomy(2).items()}
    rooted = close(TABLE_3, "disease", taxonomies={"disease": taxonomy(2)})
    assert (
        close(TABLE_3, "disease", taxonomies={"disease": branches})["t_closeness"].value
        == rooted["t_closeness"].value
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"distances": {"grade": "ordered"}}, "the values of 'grade' are text and have no order"),
    ({"distances": {"grade": "hierarchical"}}, "needs its taxonomy"),
    ({"distances": {"grade": "euclidean"}}, "'euclidean' is not a ground distance"),
    ({"distances": {"q": "equal"}}, "'q', which is not a sensitive attribute"),
    ({"orders": {"grade": ["low", "high"]}}, "the order of 'grade' misses 'medium'"),
    ({"taxonomies": {"grade": {"low": ["*"], "high": ["*"]}}}, "misses 1 values: 'medium'"),
    (
        {"taxonomies": {"grade": {"low": ["*"], "high": ["a", "*"], "medium": ["*"]}}},
        "rows of .* levels",
    ),
    (
        {
            "taxonomies": {"grade": {value: ["*"] for value in ORDER}},
            "distances": {"grade": "equal"},
        },
        "has a taxonomy and is asked to be equal",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        close(GRADES, "grade", **options)


def test_an_order_that_names_a_value_twice_is_refused() -> None:
    table = pa.table({"a": ["1", "2"], "s": ["low", "high"]})
    with pytest.raises(BadInput, match="names 'low' twice"):
        dv.measure(
            table,
            quasi_identifiers="a",
            sensitive="s",
            adversary=dv.Adversary(orders={"s": ["low", "high", "low"]}),
        )
