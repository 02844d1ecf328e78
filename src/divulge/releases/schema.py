# SPDX-License-Identifier: Apache-2.0
"""JSON Schema checks of the files of a release; manifest.schema.json declares them.

A release may come from any source, so a file is checked before anything in it is used. A file with
missing keys, wrong types, endless nesting or duplicate keys raises an error of one line. The schema
is JSON Schema 2020-12; only the keywords that it uses are implemented here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from divulge.arguments import outside
from divulge.errors import BadInput

TAKE_AGAIN_HINT = "Take the release from where it was published"
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}
_MAX_SHOWN_LENGTH = 60
_ANNOTATION_KEYWORDS = frozenset(("title", "description"))


@cache
def schemas() -> dict[str, Any]:
    """All schemas by name."""
    text = files("divulge.releases").joinpath("manifest.schema.json").read_text(encoding="utf-8")
    definitions: dict[str, Any] = json.loads(text)["$defs"]
    return definitions


def read_json(path: Path) -> Any:
    """Read a JSON file of a release.

    Raises an error if it is not JSON, or if two readers could interpret it differently.
    """
    try:
        return json.loads(
            path.read_text(encoding="utf-8"),
            object_pairs_hook=_reject_duplicate_keys,
            parse_constant=_refuse_constant,
        )
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply", hint=TAKE_AGAIN_HINT) from None
    except ValueError as error:  # also invalid UTF-8, and integers of thousands of digits
        if isinstance(error, _AmbiguousJson):
            problem = f": {error}"
        else:
            problem = ""
        raise BadInput(f"{path} is not JSON{problem}", hint=TAKE_AGAIN_HINT) from None


def read_checked(path: Path, name: str) -> Any:
    """Read a JSON file of a release and check it against a schema."""
    document = read_json(path)
    check(document, name, path)
    return document


def check(document: Any, name: str, path: Path) -> None:
    """Raise an error if a document does not match a schema."""
    if problem := next(_problems(document, schemas()[name], ""), None):
        raise BadInput(f"{path} is not as it should be: {outside(problem)}", hint=TAKE_AGAIN_HINT)


class _AmbiguousJson(ValueError):
    """JSON that means different things to different readers."""


def _reject_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _AmbiguousJson("a key stands twice in one object")
    return document


def _refuse_constant(name: str) -> Any:
    raise _AmbiguousJson(f"{name} is not a number there")


def _problems(value: Any, schema: Mapping[str, Any], location: str) -> Any:
    """Describe each mismatch with its location."""
    for keyword, argument in schema.items():
        if keyword not in _ANNOTATION_KEYWORDS:
            yield from _RULES[keyword](value, argument, location, schema)


Rule = Callable[[Any, Any, str, Mapping[str, Any]], Any]


def _problem_text(location: str, problem: str) -> str:
    return f"{location or 'the file'} {problem}"


def _ref(value: Any, reference: str, location: str, _: Mapping[str, Any]) -> Any:
    yield from _problems(value, schemas()[reference.removeprefix("#/$defs/")], location)


def _all_of(
    value: Any, parts: Sequence[Mapping[str, Any]], location: str, _: Mapping[str, Any]
) -> Any:
    for schema in parts:
        yield from _problems(value, schema, location)


def _type(value: Any, type_names: str | Sequence[str], location: str, _: Mapping[str, Any]) -> Any:
    names = [type_names] if isinstance(type_names, str) else type_names
    if not any(_TYPES[name](value) for name in names) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        yield _problem_text(location, f"is no {' or '.join(names)}")


def _enum(value: Any, choices: Sequence[Any], location: str, _: Mapping[str, Any]) -> Any:
    # True is 1 to Python, not to JSON.
    if not any(
        value == choice and isinstance(value, bool) == isinstance(choice, bool)
        for choice in choices
    ):
        yield _problem_text(location, f"is none of {', '.join(map(repr, choices))}")


def _minimum(value: Any, limit: float, location: str, _: Mapping[str, Any]) -> Any:
    if _TYPES["number"](value) and value < limit:
        yield _problem_text(location, f"is below {limit}")


def _maximum(value: Any, limit: float, location: str, _: Mapping[str, Any]) -> Any:
    if _TYPES["number"](value) and value > limit:
        yield _problem_text(location, f"is above {limit}")


def _pattern(value: Any, pattern: str, location: str, _: Mapping[str, Any]) -> Any:
    # $ is the end of the text in JSON Schema; Python's also matches before a last line break.
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield _problem_text(location, f"cannot be {_short_repr(value)}")


def _max_length(value: Any, limit: int, location: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and len(value) > limit:
        yield _problem_text(location, f"has more than {limit} characters")


def _min_items(value: Any, limit: int, location: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and len(value) < limit:
        yield _problem_text(location, f"has fewer than {limit} entries")


def _max_items(value: Any, limit: int, location: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and len(value) > limit:
        yield _problem_text(location, f"has more than {limit} entries")


def _min_properties(value: Any, limit: int, location: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and len(value) < limit:
        yield _problem_text(location, f"has fewer than {limit} entries")


def _items(
    value: Any, item_schema: Mapping[str, Any], location: str, schema: Mapping[str, Any]
) -> Any:
    if isinstance(value, list):
        for index, item in enumerate(value[len(schema.get("prefixItems", ())) :]):
            yield from _problems(item, item_schema, f"{location}[{index}]")


def _prefix_items(
    value: Any, schemas_: Sequence[Mapping[str, Any]], location: str, _: Mapping[str, Any]
) -> Any:
    if isinstance(value, list):
        for index, (item, schema) in enumerate(zip(value, schemas_, strict=False)):
            yield from _problems(item, schema, f"{location}[{index}]")


def _required(value: Any, names: Sequence[str], location: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and (missing := [name for name in names if name not in value]):
        yield _problem_text(location, f"lacks {', '.join(map(repr, missing))}")


def _properties(
    value: Any, schemas_: Mapping[str, Any], location: str, _: Mapping[str, Any]
) -> Any:
    if isinstance(value, dict):
        for name, schema in schemas_.items():
            if name in value:
                yield from _problems(
                    value[name], schema, f"{location}.{name}" if location else name
                )


def _property_names(
    value: Any, name_schema: Mapping[str, Any], location: str, _: Mapping[str, Any]
) -> Any:
    if isinstance(value, dict):
        for name in value:
            yield from _problems(name, name_schema, f"a name in {location}")


def _other_properties(
    value: Any, item_schema: Mapping[str, Any], location: str, schema: Mapping[str, Any]
) -> Any:
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in schema.get("properties", ()):
                yield from _problems(item, item_schema, f"{location}[{_short_repr(name)}]")


def _short_repr(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}...")


_RULES: Mapping[str, Rule] = {
    "$ref": _ref,
    "allOf": _all_of,
    "type": _type,
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "pattern": _pattern,
    "maxLength": _max_length,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minProperties": _min_properties,
    "prefixItems": _prefix_items,
    "items": _items,
    "required": _required,
    "properties": _properties,
    "propertyNames": _property_names,
    "additionalProperties": _other_properties,
}
