# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema: written from the types of the documents, with references, without data."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from divulge.cli.main import COMMANDS
from divulge.output.json_documents import DOCUMENTS
from divulge.output.json_schema import schema


def test_the_schema_is_valid_and_every_reference_leads_somewhere() -> None:
    whole = schema()
    jsonschema.Draft202012Validator.check_schema(whole)
    references = json.dumps(whole).split('"$ref": "#/$defs/')[1:]
    assert {reference.partition('"')[0] for reference in references} <= whole["$defs"].keys()


def test_every_command_has_a_document() -> None:
    assert {name.split()[0] for name in DOCUMENTS} - {"error"} == set(COMMANDS)


def test_an_object_has_one_definition_and_names_no_column() -> None:
    whole = schema()
    titles = {"age", "zip", "sex", "disease", "information_loss.disease"}
    assert not titles & set(keys(whole))
    nested = [
        name
        for name, definition in whole["$defs"].items()
        for item in definition.get("properties", {}).values()
        if "properties" in item
    ]
    assert nested == []


def keys(node: Any) -> list[str]:
    """Every key below `properties`, however deep."""
    if isinstance(node, list):
        return [key for item in node for key in keys(item)]
    if not isinstance(node, dict):
        return []
    own = list(node.get("properties", {}))
    return own + [key for item in node.values() for key in keys(item)]


def test_an_unknown_key_is_rejected() -> None:
    whole = schema()
    document = {"address": "http://127.0.0.1:1", "more": 1}
    validator = jsonschema.Draft202012Validator(whole | {"$ref": "#/$defs/studio"})
    assert [error.validator for error in validator.iter_errors(document)] == [
        "additionalProperties"
    ]
