# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of every `--json` document, made from what commands really print.

    python -m tests.docs.json_schema

runs every command of tests/cli/every_command.py and adds what it prints to
src/divulge/cli/documents.schema.json, which the site publishes; nothing that is there is taken
away, unless `--fresh` is given. Further ones come from files of lines {"call": [...], "document":
{...}}. An object has the keys that are listed and no others; objects whose keys are names of
columns, metrics or files take any.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from divulge.cli.main import COMMANDS
from divulge.metrics import METRICS

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src" / "divulge" / "cli" / "documents.schema.json"
GROUPS = ("dossier", "hierarchy", "ledger")
MAPS = frozenset(
    "prior sources files not_tried left_out ground_distance right_guess sensitive reading class "
    "becomes known reference hierarchies "
    "reasons levels orders distances intervals taxonomies bounds tries within rule_out rule_in "
    "values loss_by_column columns_by by_column "
    "sizes shares packages versions widths coverage rules graded background recursive_l "
    "conditions "
    "chosen_hierarchies optima labels grades attributes change difference identity scores "
    "weights moves "
    "beyond summary utility".split()
)
"""Keys whose objects have names of the user's for keys."""
_COLUMNS = frozenset(
    "age zip sex disease postal_code main_diagnosis education income diagnosis job town b N C P "
    "Zip".split()
)
"""Columns of the tables of the tests: where one of them is a key, any column is."""
_NAMES = frozenset(metric.name for metric in METRICS) - {"classes", "alpha"}


_TEXTS = {"type": "array", "items": {"type": "string"}}
READ: dict[str, Any] = {
    "properties": {
        **{
            name: {"type": "string"}
            for name in ("kind", "delimiter", "decimal", "table", "sql", "sheet")
        },
        **{name: {"type": "boolean"} for name in ("header", "codes", "union_columns")},
        "types": {"type": "object", "additionalProperties": {"type": "string"}},
        "version": {"type": "integer"},
        "snapshot": {"type": ["integer", "null"]},
        "labels": _TEXTS,
        "notes": _TEXTS,
    },
    "required": ["kind", "notes"],
    "additionalProperties": False,
}
"""How a table was read, of every kind of source; no test of all commands reads from all of them."""


def command_of(call: Sequence[str]) -> str:
    """`measure`, or `ledger add`."""
    return " ".join(call[: 2 if call[0] in GROUPS else 1])


def is_error(document: Mapping[str, Any]) -> bool:
    """What a command prints that cannot answer."""
    return {"error", "hint", "exit_code"} <= set(document)


@functools.cache
def _validator(command: str) -> Any:
    whole_schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(
        whole_schema | {"$ref": f"#/$defs/{command.replace(' ', '%20')}"}
    )


def assert_fits(call: Sequence[str], document: Mapping[str, Any]) -> None:
    """A document has the keys that its schema lists, of the types that it names."""
    wrong = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in _validator("error" if is_error(document) else command_of(call)).iter_errors(
            document
        )
    ]
    assert not wrong, "\n".join(
        [*wrong, "a key that is meant is added by: python -m tests.docs.json_schema"]
    )


def schema_of(values: Iterable[Any], *, key: str = "") -> dict[str, Any]:
    """What all of these values have in common, as a schema that fits each of them."""
    found: dict[str, Any] = {}
    seen = list(values)
    if objects := [value for value in seen if isinstance(value, dict)]:
        found |= _object(objects, key)
    if lists := [value for value in seen if isinstance(value, list)]:
        items = [item for value in lists for item in value]
        found |= {"items": schema_of(items, key=key)} if items else {}
    types = {_type(value) for value in seen}
    types -= {"integer"} if "number" in types else set()
    found["type"] = sorted(types) if len(types) > 1 else next(iter(types), "null")
    return found


def _type(value: Any) -> str:
    names = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
    }
    return names.get(type(value), "null")


def _object(objects: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    names = list(dict.fromkeys(name for value in objects for name in value))
    if key == "read":
        return READ
    if (
        key in MAPS
        or _COLUMNS & set(names)
        or 2 * len(_NAMES & set(names)) > len(names)
        or not names
    ):
        return (
            {
                "additionalProperties": schema_of(
                    (item for value in objects for item in value.values()), key=""
                )
            }
            if names
            else {"additionalProperties": True}
        )
    return {
        "properties": {
            name: schema_of((value[name] for value in objects if name in value), key=name)
            for name in names
        },
        "required": sorted(name for name in names if all(name in value for value in objects)),
        "additionalProperties": False,
    }


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A schema that fits whatever fits one of the two."""
    types = {*_listed(old.get("type")), *_listed(new.get("type"))}
    types -= {"integer"} if "number" in types else set()
    found: dict[str, Any] = (
        {"type": sorted(types) if len(types) > 1 else next(iter(types))} if types else {}
    )
    if "items" in old or "items" in new:
        found["items"] = merged(old.get("items", {}), new.get("items", {}))
    either = [side for side in (old, new) if "additionalProperties" in side]
    if not either:
        return found
    if any("properties" not in side for side in either):
        inner = [
            side["additionalProperties"]
            for side in either
            if isinstance(side["additionalProperties"], dict)
        ]
        inner += [part for side in either for part in side.get("properties", {}).values()]
        total: dict[str, Any] = {}
        for part in inner:
            total = merged(total, part)
        return found | {"additionalProperties": total or True}
    names = list(dict.fromkeys(name for side in either for name in side["properties"]))
    properties = {
        name: _both([side["properties"][name] for side in either if name in side["properties"]])
        for name in names
    }
    required = set.intersection(*(set(side["required"]) for side in either))
    return found | {
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }


def _both(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return parts[0] if len(parts) == 1 else merged(*parts)


def _listed(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types or ())


def whole(by_command: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One schema with a definition for each command, and one for errors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What divulge prints with --json",
        "description": "For each command what it prints when it answers; `error` is what every "
        "command prints when it cannot.",
        "$defs": {name: by_command[name] for name in sorted(by_command)},
    }


def documents() -> Iterable[tuple[str, dict[str, Any]]]:
    """What commands print, with the command."""
    from tests.cli import every_command

    with tempfile.TemporaryDirectory() as name:
        folder = every_command.prepare(Path(name))
        calls = [
            *every_command.GOOD.values(),
            *(call for _, call in every_command.WITH_ANOTHER_CODE.values()),
        ]
        for call in calls:
            yield command_of(call), json.loads(every_command.called(folder, *call, "--json").out)


def main(arguments: Sequence[str]) -> None:
    """Write the schema."""
    known: dict[str, Any] = {}
    if SCHEMA.exists() and "--fresh" not in arguments:
        known = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    found: dict[str, list[Any]] = {}
    for path in [word for word in arguments if not word.startswith("--")]:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["call"] and entry["call"][0] in COMMANDS:
                found.setdefault(command_of(entry["call"]), []).append(entry["document"])
    for command, document in documents():
        found.setdefault(command, []).append(document)
    for command, answers in [*found.items()]:
        found[command] = [answer for answer in answers if not is_error(answer)]
        found.setdefault("error", []).extend(answer for answer in answers if is_error(answer))
    for command, answers in found.items():
        if answers:
            made = schema_of(answers)
            known[command] = merged(known[command], made) if command in known else made
    text = json.dumps(whole(known), indent=1, ensure_ascii=False) + "\n"
    SCHEMA.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
