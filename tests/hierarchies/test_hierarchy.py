# SPDX-License-Identifier: Apache-2.0
"""Hierarchies: errors at construction, codes and shares of a level, nulls, and coverage gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from divulge.counting import count
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy, check_coverage, find_gaps, read_hierarchy
from divulge.sources import read, resolve_roles

# The job taxonomy of ARX's Adult example, in part.
JOBS = Hierarchy(
    "job",
    {
        "Tech-support": ("Tech-support", "Technical", "*"),
        "Craft-repair": ("Craft-repair", "Technical", "*"),
        "Sales": ("Sales", "Nontechnical", "*"),
        "Other-service": ("Other-service", "Other", "*"),
    },
)


def test_level_codes_number_the_nodes_as_they_occur() -> None:
    levels = JOBS.level_codes(["Craft-repair", "Sales", "Tech-support"])
    assert [level.codes.tolist() for level in levels] == [[0, 1, 2], [0, 1, 0], [0, 0, 0]]
    assert [level.labels for level in levels] == [
        ("Craft-repair", "Sales", "Tech-support"),
        ("Technical", "Nontechnical"),
        ("*",),
    ]
    assert all(level.codes.dtype == np.int64 for level in levels)
    assert JOBS.height == 2


def test_leaf_shares_count_all_leaves_of_the_hierarchy_not_only_those_in_the_data() -> None:
    texts = ["Craft-repair", "Sales"]
    assert JOBS.leaf_shares(0, texts).tolist() == [0.25, 0.25]
    assert JOBS.leaf_shares(1, texts).tolist() == [0.5, 0.25]
    assert JOBS.leaf_shares(2, texts).tolist() == [1.0, 1.0]


def test_a_null_stays_its_own_category_up_to_suppression_and_is_one_more_leaf() -> None:
    assert JOBS.null_labels == (None, None, "*")
    levels = JOBS.level_codes(["Sales", None])
    assert [level.labels for level in levels] == [("Sales", None), ("Nontechnical", None), ("*",)]
    assert JOBS.leaf_shares(1, ["Sales", None]).tolist() == [0.2, 0.2]
    assert JOBS.leaf_shares(1, ["Sales"]).tolist() == [0.25]


def test_a_null_without_suppression_on_top_stays_null() -> None:
    assert Hierarchy("x", {"a": ("a", "A"), "b": ("b", "B")}).null_labels == (None, None)
    assert Hierarchy("x", {"a": ("a",)}).null_labels == (None,)


def test_a_null_that_the_hierarchy_lists_has_the_labels_it_says() -> None:
    listed = Hierarchy("x", {"a": ("a", "A"), None: (None, "A")})
    assert listed.null_labels == (None, "A")
    assert listed.leaf_shares(0, ["a", None]).tolist() == [0.5, 0.5]


def test_nodes_below_root_leave_out_a_root_and_only_a_root() -> None:
    assert [
        nodes.tolist() for nodes in JOBS.nodes_below_root(["Sales", "Tech-support", "Craft-repair"])
    ] == [[0, 1, 2], [0, 1, 1]]
    rootless = Hierarchy("x", {"a": ("a", "A"), "b": ("b", "B")})
    assert [nodes.tolist() for nodes in rootless.nodes_below_root(["a", "b"])] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({}, "empty"),
        ({"a": ("a", "*"), "b": ("b", "B", "*"), "c": ("c", "*")}, "'b' has 3, most have 2"),
        (
            {"a": ("a", "A", "x"), "b": ("b", "A", "y")},
            "puts 'A' of level 1 under 'x' and under 'y'",
        ),
        ({"a": ("b", "*")}, "level 0 of 'a'"),
    ],
)
def test_invalid_hierarchies_raise_an_error(
    rows: dict[str | None, tuple[str, ...]], told: str
) -> None:
    with pytest.raises(BadInput, match="'x'") as refused:
        Hierarchy("x", rows)
    assert told in str(refused.value)


def test_a_mapping_of_ancestors_is_a_hierarchy() -> None:
    assert read_hierarchy({"a": ["A", "*"]}, "x").rows == {"a": ("a", "A", "*")}


def test_every_missing_value_of_every_column_is_named_at_once_with_a_rule() -> None:
    ages = Hierarchy("age", {str(age): (str(age), "*") for age in range(18, 90)})
    sexes = Hierarchy("sex", {"Male": ("Male", "*"), "Female": ("Female", "*")})
    data: dict[str, list[Any]] = {
        "age": [17, 18, 90],
        "sex": ["male", "Female", None],
        "job": ["Sales", "Priest"],
        "zip": ["1"],
    }
    with pytest.raises(BadInput) as refused:
        check_coverage({"age": ages, "sex": sexes, "job": JOBS}, data)
    told = str(refused.value)
    assert "'age' misses 2 values: '17', '90'" in told
    assert "[hierarchies.age] intervals =" in told
    assert "'male' is written 'Male' there" in told
    assert "'job' misses 1 value: 'Priest'" in told
    assert "Priest;*;*" in told


def test_a_long_list_is_cut_but_counted() -> None:
    with pytest.raises(BadInput, match=r"misses 100 values: '0', .*'19' and 80 more") as refused:
        check_coverage({"job": JOBS}, {"job": range(100)})
    assert "'20'" not in str(refused.value)
    (gap,) = find_gaps({"job": JOBS}, {"job": range(100)})
    assert len(gap.missing) == 100


def test_the_error_points_out_another_notation_of_a_number() -> None:
    prices = Hierarchy("price", {"1.50": ("1.50", "*")})
    (gap,) = find_gaps({"price": prices}, {"price": [1.5]})
    assert "'1.5' is written '1.50' there" in gap.rule


def test_coverage_is_checked_on_counts() -> None:
    table = read(pa.table({"job": ["Sales", "Cook", None], "age": [1.0, 2.0, 3.0]}))
    counted = count(table, resolve_roles(table, quasi_identifiers=["job", "age"]))
    with pytest.raises(BadInput, match="'job' misses 1 value: 'Cook'"):
        check_coverage({"job": JOBS}, {key.name: key.labels for key in counted.keys})
    check_coverage(
        {"age": Hierarchy("age", {"1": ("1",), "2": ("2",), "3": ("3",)})},
        {key.name: key.labels for key in counted.keys},
    )
