# SPDX-License-Identifier: Apache-2.0
"""JSON files of a release as they must be: manifest.schema.json declares them once, for readers everywhere and for the check here.

A release may come from anybody, so a file is checked before anything in it is used: what is missing, of another type, nested without end
or written twice is refused in one line. The schema is JSON Schema 2020-12; of its words, those that it uses are understood here.
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

from divulge.errors import BadInput

_TAKE = "Take the release from where it was published"
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}
_SHOWN = 60
_ONLY_TELLS = frozenset(("title", "description"))


@cache
def schemas() -> dict[str, Any]:
    """Every schema by its name."""
    text = files("divulge.publish").joinpath("manifest.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["$defs"]
    return found


def read_json(path: Path) -> Any:
    """What a JSON file of a release holds; refused where it is no JSON, or two readers could read two things in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply", hint=_TAKE) from None
    except ValueError as error:  # also what is not UTF-8, and whole numbers of thousands of digits
        told = f": {error}" if isinstance(error, _Ambiguous) else ""
        raise BadInput(f"{path} is not JSON{told}", hint=_TAKE) from None


def read_checked(path: Path, name: str) -> Any:
    """What a JSON file of a release holds, after it was held against a schema."""
    document = read_json(path)
    check(document, name, path)
    return document


def check(document: Any, name: str, path: Path) -> None:
    """Refuse a document that is not as a schema says."""
    if told := next(_problems(document, schemas()[name], ""), None):
        raise BadInput(f"{path} is not as it should be: {told}", hint=_TAKE)


class _Ambiguous(ValueError):
    """JSON that means different things to different readers."""


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Ambiguous("a key stands twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise _Ambiguous(f"{name} is not a number there")


def _problems(value: Any, schema: Mapping[str, Any], where: str) -> Any:
    """What is wrong, place by place."""
    for word, wanted in schema.items():
        if word not in _ONLY_TELLS:
            yield from _RULES[word](value, wanted, where, schema)


Rule = Callable[[Any, Any, str, Mapping[str, Any]], Any]


def _said(where: str, told: str) -> str:
    return f"{where or 'the file'} {told}"


def _ref(value: Any, wanted: str, where: str, _: Mapping[str, Any]) -> Any:
    yield from _problems(value, schemas()[wanted.removeprefix("#/$defs/")], where)


def _all_of(value: Any, wanted: Sequence[Mapping[str, Any]], where: str, _: Mapping[str, Any]) -> Any:
    for schema in wanted:
        yield from _problems(value, schema, where)


def _type(value: Any, wanted: str | Sequence[str], where: str, _: Mapping[str, Any]) -> Any:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(_TYPES[name](value) for name in names) or (isinstance(value, float) and not math.isfinite(value)):
        yield _said(where, f"is no {' or '.join(names)}")


def _enum(value: Any, wanted: Sequence[Any], where: str, _: Mapping[str, Any]) -> Any:
    # True is 1 to Python, not to JSON.
    if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in wanted):
        yield _said(where, f"is none of {', '.join(map(repr, wanted))}")


def _minimum(value: Any, wanted: float, where: str, _: Mapping[str, Any]) -> Any:
    if _TYPES["number"](value) and value < wanted:
        yield _said(where, f"is below {wanted}")


def _maximum(value: Any, wanted: float, where: str, _: Mapping[str, Any]) -> Any:
    if _TYPES["number"](value) and value > wanted:
        yield _said(where, f"is above {wanted}")


def _pattern(value: Any, wanted: str, where: str, _: Mapping[str, Any]) -> Any:
    # $ is the end of the text in JSON Schema; Python's also stands before a last line break.
    if isinstance(value, str) and not re.search(wanted.replace("$", r"\Z"), value):
        yield _said(where, f"cannot be {_short(value)}")


def _max_length(value: Any, wanted: int, where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and len(value) > wanted:
        yield _said(where, f"has more than {wanted} characters")


def _min_items(value: Any, wanted: int, where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and len(value) < wanted:
        yield _said(where, f"has fewer than {wanted} entries")


def _max_items(value: Any, wanted: int, where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and len(value) > wanted:
        yield _said(where, f"has more than {wanted} entries")


def _min_properties(value: Any, wanted: int, where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and len(value) < wanted:
        yield _said(where, f"has fewer than {wanted} entries")


def _items(value: Any, wanted: Mapping[str, Any], where: str, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        for place, item in enumerate(value[len(schema.get("prefixItems", ())) :]):
            yield from _problems(item, wanted, f"{where}[{place}]")


def _prefix_items(value: Any, wanted: Sequence[Mapping[str, Any]], where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        for place, (item, schema) in enumerate(zip(value, wanted, strict=False)):
            yield from _problems(item, schema, f"{where}[{place}]")


def _required(value: Any, wanted: Sequence[str], where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and (missing := [name for name in wanted if name not in value]):
        yield _said(where, f"lacks {', '.join(map(repr, missing))}")


def _properties(value: Any, wanted: Mapping[str, Any], where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        for name, schema in wanted.items():
            if name in value:
                yield from _problems(value[name], schema, f"{where}.{name}" if where else name)


def _property_names(value: Any, wanted: Mapping[str, Any], where: str, _: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        for name in value:
            yield from _problems(name, wanted, f"a name in {where}")


def _other_properties(value: Any, wanted: Mapping[str, Any], where: str, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in schema.get("properties", ()):
                yield from _problems(item, wanted, f"{where}[{_short(name)}]")


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


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
