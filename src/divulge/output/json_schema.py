# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of the documents that commands print, written from their types."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from divulge.marks import Mark
from divulge.output.json_documents import DOCUMENTS
from divulge.output.redaction import NOT_FINITE, arms_of, fields_of, mark_of, required_keys

_NUMBER = {"anyOf": [{"type": "number"}, {"enum": list(NOT_FINITE)}]}
_MARKED: Mapping[Mark, tuple[str, dict[str, Any]]] = {
    Mark.DATA: ("DataValue", {}),
    Mark.COUNT: ("Count", {"type": "integer"}),
    Mark.MEASURE: ("Measure", _NUMBER),
    Mark.PARAMETER: ("Parameter", _NUMBER),
    Mark.FRACTION: ("Fraction", {"type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$"}),
    Mark.COLUMN: ("ColumnName", {"type": "string"}),
    Mark.METRIC: ("MetricName", {"type": "string"}),
    Mark.WORD: ("Word", {"type": "string"}),
    Mark.FILE: ("FileName", {"type": "string"}),
    Mark.MOMENT: ("Moment", {"type": "string"}),
    Mark.NOTE: ("Note", {"type": "string"}),
}
"""Name and schema of each mark."""


def schema() -> dict[str, Any]:
    """Return the schema: one definition for each command, and one for errors.

    An object has the keys that are listed and no others. `DataValue` marks what redaction hides.
    """
    definitions: dict[str, Any] = {
        name: {"description": mark.value, **content} for mark, (name, content) in _MARKED.items()
    }
    commands = {
        command: _reference(document_type, definitions)
        for command, document_type in DOCUMENTS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What divulge prints with --json",
        "description": "For each command what it prints when it answers; `error` is what every "
        "command prints when it cannot.",
        "$defs": {**commands, **dict(sorted(definitions.items()))},
    }


def _reference(document_type: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type, and add the definitions that it refers to."""
    arms = arms_of(document_type)
    if len(arms) > 1:
        return {"anyOf": [_reference(arm, definitions) for arm in arms]}
    if typing.is_typeddict(document_type):
        return _object_reference(document_type, definitions)
    mark = mark_of(document_type)
    if mark is not None:
        return {"$ref": f"#/$defs/{_MARKED[mark][0]}"}
    origin = get_origin(document_type)
    arguments = get_args(document_type)
    if origin is list:
        return {"type": "array", "items": _reference(arguments[0], definitions)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _reference(arguments[1], definitions)}
    if origin is Literal:
        return {"enum": list(arguments)}
    if document_type is bool:
        return {"type": "boolean"}
    if document_type is types.NoneType:
        return {"type": "null"}
    raise TypeError(f"{document_type!r} has no mark")


def _object_reference(document_type: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = document_type.__name__
    if name not in definitions:
        description = inspect.getdoc(document_type) or ""
        if description and not description.startswith("dict("):
            definitions[name] = {"description": description.partition("\n")[0]}
        else:
            definitions[name] = {}
        definitions[name] |= {
            "type": "object",
            "properties": {
                key: _reference(hint, definitions) for key, hint in fields_of(document_type).items()
            },
            "required": sorted(required_keys(document_type)),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}
