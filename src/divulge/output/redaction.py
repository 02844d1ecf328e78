# SPDX-License-Identifier: Apache-2.0
"""Redaction of JSON documents: everything is hidden that its type does not mark as harmless.

A document is walked together with its type. Texts and numbers without a harmless mark become an
ellipsis, and so does everything below a key that the type does not have.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from divulge.marks import HARMLESS, HIDDEN, Mark

NOT_FINITE = ("inf", "-inf", "nan")
"""Texts of numbers that JSON does not have."""


def redacted(node: Any, document_type: Any, redact_note: Callable[[str], str]) -> Any:
    """Return a part of a document without data values, by its type.

    `redact_note` hides the values in a sentence.

    >>> from divulge.marks import ClassValues
    >>> redacted({"zip": "476**", "age": 21}, ClassValues, str)
    {'zip': '…', 'age': '…'}
    """
    arm = _matching_arm(node, document_type)
    mark = mark_of(arm)
    if mark is not None:
        if mark is Mark.NOTE and isinstance(node, str):
            return redact_note(node)
        if mark in HARMLESS and _has_type(node, get_args(arm)[0]):
            return node
        return HIDDEN
    if typing.is_typeddict(arm):
        return _redacted_object(node, arm, redact_note)
    origin = get_origin(arm)
    arguments = get_args(arm)
    if origin is list and isinstance(node, list):
        return [redacted(item, arguments[0], redact_note) for item in node]
    if origin in (dict, Mapping) and isinstance(node, dict):
        return _redacted_mapping(node, arguments[0], arguments[1], redact_note)
    is_harmless = (
        (arm is types.NoneType and node is None)
        or (arm is bool and isinstance(node, bool))
        or (origin is Literal and node in arguments)
    )
    if is_harmless:
        return node
    return HIDDEN


# --- types ----------------------------------------------------------------------------------------
@cache
def fields_of(document_type: Any) -> dict[str, Any]:
    """Return the types of the keys of a TypedDict."""
    hints = typing.get_type_hints(document_type, include_extras=True)
    return {
        name: get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
        for name, hint in hints.items()
    }


@cache
def required_keys(document_type: Any) -> frozenset[str]:
    """Return the keys that every document of a TypedDict has."""
    hints = typing.get_type_hints(document_type, include_extras=True)
    if document_type.__total__:
        return frozenset(name for name, hint in hints.items() if get_origin(hint) != NotRequired)
    return frozenset(name for name, hint in hints.items() if get_origin(hint) is Required)


def mark_of(document_type: Any) -> Mark | None:
    """Return the mark of a type; None if it has none."""
    if get_origin(document_type) is not Annotated:
        return None
    return next((item for item in document_type.__metadata__ if isinstance(item, Mark)), None)


def arms_of(document_type: Any) -> tuple[Any, ...]:
    """Return the alternatives of a union, or the type itself."""
    if get_origin(document_type) in (Union, types.UnionType):
        return get_args(document_type)
    return (document_type,)


def _matching_arm(node: Any, document_type: Any) -> Any:
    """Return the alternative of a union that a part of a document belongs to.

    An object with a key that no alternative has belongs to the alternative with most of its keys.
    """
    arms = arms_of(document_type)
    if len(arms) == 1:
        return arms[0]
    fitting = [arm for arm in arms if _fits(node, arm)]
    if fitting:
        return fitting[0]
    objects = [arm for arm in arms if typing.is_typeddict(arm) and isinstance(node, dict)]
    return max(objects, key=lambda arm: len(fields_of(arm).keys() & node.keys()), default=None)


def _fits(node: Any, arm: Any) -> bool:
    if typing.is_typeddict(arm):
        return isinstance(node, dict) and _object_fits(node, arm)
    origin = get_origin(arm)
    arguments = get_args(arm)
    if origin is Annotated:
        return _has_type(node, arguments[0])
    if origin is list:
        return isinstance(node, list) and all(
            any(_fits(item, inner) for inner in arms_of(arguments[0])) for item in node
        )
    if origin in (dict, Mapping):
        return isinstance(node, dict)
    if origin is Literal:
        return node in arguments
    return _has_type(node, arm)


def _object_fits(node: dict[str, Any], arm: Any) -> bool:
    fields = fields_of(arm)
    if not required_keys(arm) <= node.keys() <= fields.keys():
        return False
    return all(
        node[name] in get_args(hint)
        for name, hint in fields.items()
        if get_origin(hint) is Literal and name in node
    )


def _has_type(node: Any, expected: Any) -> bool:
    if expected is Any:
        return node is not None
    if expected is float:
        return (isinstance(node, int | float) and not isinstance(node, bool)) or node in NOT_FINITE
    if expected is int:
        return isinstance(node, int) and not isinstance(node, bool)
    return isinstance(node, expected)


# --- parts ----------------------------------------------------------------------------------------
def _redacted_object(node: Any, document_type: Any, redact_note: Callable[[str], str]) -> Any:
    if not isinstance(node, dict):
        return HIDDEN
    fields = fields_of(document_type)
    visible: dict[str, Any] = {}
    for position, (name, item) in enumerate(node.items(), start=1):
        if name in fields:
            visible[name] = redacted(item, fields[name], redact_note)
        else:
            visible[f"{HIDDEN} {position}"] = HIDDEN
    return visible


def _redacted_mapping(
    node: dict[str, Any], key_type: Any, value_type: Any, redact_note: Callable[[str], str]
) -> dict[str, Any]:
    mark = mark_of(key_type)
    return {
        name if mark in HARMLESS else f"{HIDDEN} {position}": redacted(
            item, value_type, redact_note
        )
        for position, (name, item) in enumerate(node.items(), start=1)
    }
