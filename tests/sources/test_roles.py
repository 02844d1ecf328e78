# SPDX-License-Identifier: Apache-2.0
"""Roles: names, globs and lists; each mistake has its own message."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from divulge.errors import BadInput
from divulge.sources import Roles, Table, read, resolve_roles, split_names


@pytest.fixture(scope="module")
def table() -> Table:
    return read(
        pa.table(
            {
                "id": [1],
                "zip4": ["0123"],
                "age": [30],
                "zip5": ["01234"],
                "disease": ["flu"],
                "w": [1.5],
                "member": [True],
                "visits": [[1, 2]],
                "last, first": ["x"],
                "a*": ["x"],
                "ab": ["x"],
            }
        )
    )


def test_names_globs_and_lists(table: Table) -> None:
    roles = resolve_roles(
        table,
        quasi_identifiers=["age", "zip*", "age"],
        sensitive="disease",
        identifier=("id",),
        weight="w",
        person="id",
    )
    assert roles == Roles(("age", "zip4", "zip5"), ("disease",), ("id",), "w", "id")


def test_no_roles_at_all(table: Table) -> None:
    assert resolve_roles(table) == Roles((), (), (), None, None)


def test_a_name_wins_over_the_glob_it_looks_like(table: Table) -> None:
    assert resolve_roles(table, quasi_identifiers="a*").quasi_identifiers == ("a*",)
    assert resolve_roles(table, quasi_identifiers="a?").quasi_identifiers == ("a*", "ab")
    assert resolve_roles(table, quasi_identifiers="zip[5-9]").quasi_identifiers == ("zip5",)


def test_person_may_be_plain(table: Table) -> None:
    assert resolve_roles(table, person="id").person == "id"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"quasi_identifiers": "agee"}, "no column 'agee'. did you mean 'age'", id="misspelt"
        ),
        pytest.param(
            {"quasi_identifiers": "AGE"}, "no column 'AGE'. did you mean 'age'", id="case"
        ),
        pytest.param(
            {"sensitive": "salary"},
            "sensitive: .* no column 'salary'. there are: 'id', 'zip4'",
            id="missing",
        ),
        pytest.param(
            {"quasi_identifiers": "zap*"},
            "no column of the Arrow table matches 'zap\\*'",
            id="glob",
        ),
        pytest.param({"quasi_identifiers": [""]}, "a column name is empty", id="empty name"),
        pytest.param({"quasi_identifiers": [3]}, r"a text, not 3 \(int\)", id="number as name"),
        pytest.param(
            {"quasi_identifiers": ["age"], "sensitive": ["age"]},
            "'age' is given two roles: quasi-identifiers and sensitive",
            id="two roles",
        ),
        pytest.param(
            {"quasi_identifiers": "z*", "identifier": "zip5"},
            "'zip5' is given two roles",
            id="two roles by a glob",
        ),
        pytest.param(
            {"quasi_identifiers": "w", "weight": "w"},
            "quasi-identifiers and weight",
            id="weight as well",
        ),
        pytest.param(
            {"sensitive": "id", "person": "id"}, "sensitive and person", id="person as well"
        ),
        pytest.param({"weight": "id", "person": "id"}, "weight and person", id="weight and person"),
        pytest.param(
            {"weight": "disease"},
            "'disease' cannot be the weight: it holds text.*'id', 'age', 'w'",
            id="text",
        ),
        pytest.param(
            {"weight": "member"},
            "'member' cannot be the weight: it holds boolean",
            id="boolean weight",
        ),
        pytest.param(
            {"weight": "zip*"},
            "weight takes one column and 'zip\\*' matches 2",
            id="weight by a glob",
        ),
        pytest.param(
            {"quasi_identifiers": "visits"},
            r"'visits' cannot be quasi-identifiers: .* nested .*BIGINT\[\]",
            id="nested",
        ),
        pytest.param({"person": "visits"}, "'visits' cannot be person", id="nested person"),
    ],
)
def test_mistakes(given: dict[str, Any], message: str, table: Table) -> None:
    with pytest.raises(BadInput, match=message):
        resolve_roles(table, **given)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        pytest.param(["age,disease"], ("age", "disease"), id="commas"),
        pytest.param(["age, disease "], ("age", "disease"), id="blanks"),
        pytest.param(["age", "disease,age"], ("age", "disease"), id="repeated"),
        pytest.param(["last, first"], ("last, first",), id="a comma in a name"),
        pytest.param(["zip*,age"], ("zip4", "zip5", "age"), id="glob"),
        pytest.param(
            ["*i*"], ("id", "zip4", "zip5", "disease", "visits", "last, first"), id="table order"
        ),
        pytest.param([], (), id="nothing"),
    ],
)
def test_command_line_values(values: list[str], names: tuple[str, ...], table: Table) -> None:
    assert split_names(table, values) == names


@pytest.mark.parametrize(
    "value", ["age,agee", "age,", ""], ids=["misspelt", "comma at the end", "empty"]
)
def test_bad_command_line_values(value: str, table: Table) -> None:
    with pytest.raises(BadInput):
        split_names(table, [value])
