# SPDX-License-Identifier: Apache-2.0
"""Documents that commands print, compared with the JSON Schema that is written from their types."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from divulge.output.json_schema import schema

GROUPS = ("dossier", "hierarchy", "ledger")


def command_of(call: Sequence[str]) -> str:
    """`measure`, or `ledger add`."""
    return " ".join(call[: 2 if call[0] in GROUPS else 1])


def is_error(document: Mapping[str, Any]) -> bool:
    """What a command prints that cannot answer."""
    return {"error", "hint", "exit_code"} <= set(document)


@functools.cache
def validators(command: str) -> tuple[Any, ...]:
    """One validator for each document that a command prints."""
    whole_schema = schema()
    definition = whole_schema["$defs"][command]
    return tuple(
        jsonschema.Draft202012Validator(whole_schema | alternative)
        for alternative in definition.get("anyOf", [definition])
    )


def assert_fits(call: Sequence[str], document: Mapping[str, Any]) -> None:
    """A document has the keys that its type lists, of the types that it names."""
    command = "error" if is_error(document) else command_of(call)
    problems = min(
        (
            [
                f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                for error in validator.iter_errors(document)
            ]
            for validator in validators(command)
        ),
        key=len,
    )
    assert not problems, "\n".join(
        [*problems, "the types are in src/divulge/output/json_documents/"]
    )
