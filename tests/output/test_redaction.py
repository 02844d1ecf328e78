# SPDX-License-Identifier: Apache-2.0
"""Redaction of documents by the marks of their fields: what has no harmless mark is hidden."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import pytest

from divulge.marks import (
    HARMLESS,
    HIDDEN,
    ClassValues,
    ColumnName,
    Count,
    DataValue,
    Mark,
    Measure,
    Note,
    Word,
)
from divulge.output.json_documents import DOCUMENTS
from divulge.output.redaction import arms_of, fields_of, mark_of, redacted


class Person(TypedDict):
    """Every kind of field."""

    column: ColumnName
    people: Count
    share: Measure
    value: DataValue
    note: Note
    kind: Literal["sum", "count"]
    method: Word
    holds: bool
    unmarked: str
    number: int
    cells: ClassValues
    above: Measure | None
    extra: NotRequired[list[DataValue]]


DOCUMENT = {
    "column": "disease",
    "people": 3,
    "share": 0.5,
    "value": "zqflu",
    "note": "the value is zqflu",
    "kind": "sum",
    "method": "local",
    "holds": True,
    "unmarked": "zqflu",
    "number": 98711,
    "cells": {"zip": "zq47", "age": 98711, "dead": True, "town": None},
    "above": None,
}


def shown(document: Any, document_type: Any = Person) -> Any:
    """Redact a document whose sentences are hidden as a whole."""
    return redacted(document, document_type, lambda _: HIDDEN)


def test_harmless_fields_stay_and_all_others_are_hidden() -> None:
    assert shown(DOCUMENT) == {
        "column": "disease",
        "people": 3,
        "share": 0.5,
        "value": "…",
        "note": "…",
        "kind": "sum",
        "method": "local",
        "holds": True,
        "unmarked": "…",
        "number": "…",
        "cells": {"zip": "…", "age": "…", "dead": "…", "town": "…"},
        "above": None,
    }


@pytest.mark.parametrize("value", ["zqflu", 98711, 0.5, True, None, ["zqflu"], {"zqflu": "zqflu"}])
def test_a_new_field_without_a_type_is_hidden_with_its_key(value: object) -> None:
    document = shown({**DOCUMENT, "zqflu": value})
    assert document[f"{HIDDEN} 13"] == HIDDEN
    assert "zqflu" not in str(document)


@pytest.mark.parametrize("command", DOCUMENTS)
def test_a_new_field_of_any_command_is_hidden(command: str) -> None:
    document = dict.fromkeys(fields_of(arms_of(DOCUMENTS[command])[0]))
    assert "zqflu" not in str(shown({**document, "zqflu": "zqflu"}, DOCUMENTS[command]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("people", "zqflu"),
        ("people", True),
        ("people", 0.5),
        ("share", True),
        ("share", "zqflu"),
        ("kind", "zqflu"),
        ("holds", "zqflu"),
        ("column", ["zqflu"]),
        ("above", "zqflu"),
        ("method", {"zqflu": 1}),
    ],
)
def test_a_value_of_another_type_than_its_field_is_hidden(field: str, value: object) -> None:
    assert shown({**DOCUMENT, field: value})[field] == HIDDEN


def test_the_keys_of_a_mapping_are_hidden_unless_they_are_harmless() -> None:
    assert shown({"zqflu": 3, "zqcold": 4}, dict[DataValue, Count]) == {"… 1": 3, "… 2": 4}
    assert shown({"zqflu": 3}, dict[str, Count]) == {"… 1": 3}
    assert shown({"zip": 3}, dict[ColumnName, Count]) == {"zip": 3}


def test_infinities_are_numbers() -> None:
    assert shown(["inf", "-inf", "nan", "zq"], list[Measure]) == ["inf", "-inf", "nan", "…"]


def test_of_a_union_the_alternative_with_the_keys_counts() -> None:
    class Other(TypedDict):
        column: DataValue

    assert shown({"column": "zqflu"}, Person | Other) == {"column": "…"}


def test_data_values_and_sentences_are_the_only_marks_that_are_not_harmless() -> None:
    assert set(Mark) - HARMLESS == {Mark.DATA, Mark.NOTE}
    assert mark_of(str) is None
