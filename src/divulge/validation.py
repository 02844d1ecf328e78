# SPDX-License-Identifier: Apache-2.0
"""Validation of arguments and fields against their declared types."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Iterable as AnyIterable
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from divulge.arguments import arg_name
from divulge.errors import BadInput, nearest

# The signature declares the types of arguments for type checkers. `checked` reads them there for
# callers who use none.
_P = ParamSpec("_P")
_R = TypeVar("_R")
_TYPE_WORDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
    types.NoneType: "None",
}


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Raise an error in one sentence if an argument does not have the type of the signature.

    The function itself checks arguments that the signature leaves open (Any).

    >>> @checked
    ... def repeat(text: str, *, times: int = 2) -> str:
    ...     return text * times
    >>> repeat("ab", times="3")
    Traceback (most recent call last):
        ...
    divulge.errors.BadInput: times is '3', and it must be a whole number
    """
    signature = inspect.signature(function)

    @functools.cache
    def hint_of(name: str) -> Any:
        namespace = types.SimpleNamespace(
            __annotations__={name: function.__annotations__.get(name, Any)}
        )
        try:
            return typing.get_type_hints(namespace, function.__globals__)[name]
        except NameError:  # the type of a package that is imported for type checkers only
            return Any

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # a wrong name is Python's own to report
        for name, value in arguments.items():
            if signature.parameters[name].kind not in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                _check_type(name, value, hint_of(name))
        return function(*args, **kwargs)

    return call


def checked_fields(kind: type[_R]) -> type[_R]:
    """Check the arguments of a dataclass's constructor, as `checked` does."""
    kind.__init__ = checked(kind.__init__)  # type: ignore[method-assign]
    return kind


def _check_type(name: str, value: Any, hint: Any) -> None:
    if fits(value, hint):
        return
    for part in _alternatives(hint):
        # For a mapping, report the wrong entry.
        if isinstance(value, Mapping) and typing.get_origin(part) is Mapping:
            of_keys, of_values = typing.get_args(part)
            for key, entry in value.items():
                _check_type(f"a name in {name}", key, of_keys)
                _check_type(f"{name}[{key!r}]", entry, of_values)
    words = [
        word
        for part in _alternatives(hint)
        if typing.get_origin(part) is Literal
        for word in typing.get_args(part)
    ]
    if isinstance(value, str) and words:
        raise BadInput(
            f"there is no {name.replace('_', ' ')} {value!r}", hint=nearest(value, map(str, words))
        )
    if isinstance(value, str | int | float | list | tuple | dict | None):
        value_text = repr(value)
    else:
        value_text = type(value).__qualname__
    if len(value_text) > 60:
        value_text = f"{value_text[:57]}..."
    expected = " or ".join(map(_describe_type, _alternatives(hint)))
    subject = arg_name(name) if name.isidentifier() else name
    raise BadInput(f"{subject} is {value_text}, and it must be {expected}")


def _alternatives(hint: Any) -> Iterator[Any]:
    """Yield the alternatives of a union, None last; any other type is its only alternative."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for part in sorted(typing.get_args(hint), key=lambda part: part is types.NoneType):
            yield from _alternatives(part)
    else:
        yield hint


def fits(value: Any, hint: Any) -> bool:
    """Report whether a value has a type, as far as the type can be checked.

    Numbers, lists and paths of other packages count as such.

    >>> (
    ...     fits(2, float),
    ...     fits(True, int),
    ...     fits("ab", Sequence[str]),
    ...     fits({"a": [1]}, Mapping[str, Sequence[int]]),
    ... )
    (True, False, False, True)
    """
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin is Literal:
        return isinstance(value, str | int | None) and value in inner
    if hint in (int, float, bool):
        return _is_number(value, hint)
    kind = origin or hint
    if isinstance(kind, type):
        return _is_kind(value, kind, inner)
    return kind is not None or value is None


def _is_number(value: Any, kind: type) -> bool:
    if type(value).__name__ in ("bool", "bool_"):  # Python's and NumPy's
        return kind is bool
    return kind is not bool and isinstance(value, numbers.Integral if kind is int else numbers.Real)


def _is_kind(value: Any, kind: type, inner: tuple[Any, ...]) -> bool:
    if kind is Path:
        return isinstance(value, os.PathLike)
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return True  # nothing can be said of it but by using it
    if kind in (Sequence, AnyIterable):
        if not isinstance(value, AnyIterable) or isinstance(value, str | bytes | Mapping):
            return False
        # Iterators that can be consumed only once are left to the function.
        return not hasattr(value, "__len__") or all(fits(entry, inner[0]) for entry in value)
    if "_fields" in vars(kind):  # a named tuple may be given as a plain one
        return isinstance(value, tuple) and len(value) == len(vars(kind)["_fields"])
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping) and inner:
        return all(fits(name, inner[0]) and fits(entry, inner[1]) for name, entry in value.items())
    if isinstance(value, tuple | frozenset) and inner:
        if len(inner) > 1 and inner[1] is not ...:
            every = inner
        else:
            every = inner[:1] * len(value)
        return len(every) == len(value) and all(map(fits, value, every))
    return True


def _describe_type(hint: Any) -> str:
    """Describe a type in words.

    >>> _describe_type(Sequence[str]), _describe_type(Literal["a", "b"])
    ('a list (each a text)', "'a' or 'b'")
    """
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    kind = origin or hint
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if kind in (Sequence, AnyIterable):
        return f"a list (each {' or '.join(map(_describe_type, _alternatives(inner[0])))})"
    if kind is Callable:
        return "a function"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
