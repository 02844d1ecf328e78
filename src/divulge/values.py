# SPDX-License-Identifier: Apache-2.0
"""How a value is written as text wherever it is matched with a file of the user's: hierarchies, priors, orders, policies.

Also what an argument of a public function may be: `checked` holds it against the signature.
"""

from __future__ import annotations

import functools
import inspect
import json
import numbers
import os
import re
import tomllib
import types
import typing
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Iterable as AnyIterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from divulge.errors import BadInput, InternalError, nearest

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DEEPEST_TABLE = 3
"""[promises.attributes.disease]: what lies deeper stands in its line."""


def as_text(label: Any) -> str | None:
    """The value's text: whole floats as integers, dates as ISO dates; null stays null.

    >>> as_text(39.0), as_text(None)
    ('39', None)
    """
    if label is None:
        return None
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def several(names: str | AnyIterable[str] | None) -> tuple[str, ...]:
    """One name or several, as somebody gave them."""
    return (names,) if isinstance(names, str) else () if names is None else tuple(names)


def counted(count: int, one: str, many: str) -> str:
    """A number with its noun.

    >>> counted(1, "person", "people"), counted(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def class_name(key: Mapping[str, Any]) -> str:
    """A class by the values that make it: zip=476**, age=2*."""
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in key.items())


_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp", "Zs"))
"""Controls, marks that turn the direction of writing or have no width, lone surrogates, blanks other than the usual one."""


def visible(text: str) -> str:
    r"""A text for a page or a picture: characters that cannot be seen, or change how others are read, are written out.

    >>> print(visible("x\u202ey\n"))
    x\u202ey\n
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written_out(letter) if _is_unseen(letter) else letter for letter in text)


def _is_unseen(letter: str) -> bool:
    return letter != " " and unicodedata.category(letter) in _UNSEEN


def _written_out(letter: str) -> str:
    return repr(letter)[1:-1] if letter.isascii() else f"\\u{ord(letter):04x}"


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says; a ValueError tells in one line what cannot be read.

    Whole numbers have the 64 bits that TOML has: Python reads longer ones, and can neither compute with them nor write them.
    """
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, (dict, list)):
            left += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("a whole number in it has more than 64 bits")
    return document


def toml_key(name: str) -> str:
    """A name as a key of a TOML file.

    >>> toml_key("marital-status"), toml_key("date of birth")
    ('marital-status', '"date of birth"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, or lists and tables of them, as a value of a TOML file.

    >>> toml_value({"order": ["A", "B"], "groups": 2})
    '{order = ["A", "B"], groups = 2}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # What TOML escapes in a basic text, JSON escapes the same way, but for DEL, which TOML wants escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(document: Mapping[str, Any]) -> str:
    """A document as a TOML file, such as a policy: values first, then a table for each mapping in it; what is None is not said.

    >>> print(
    ...     toml_text(
    ...         {"promises": {"k_anonymity": 5}, "sensitive": ["disease"], "protect": [{"where": {"age": ">75"}}]}
    ...     ),
    ...     end="",
    ... )
    sensitive = ["disease"]
    <BLANKLINE>
    [promises]
    k_anonymity = 5
    <BLANKLINE>
    [[protect]]
    where = {age = ">75"}
    """
    return "\n".join(_toml_lines(document, ())).strip("\n") + "\n"


def _toml_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    given = {key: value for key, value in table.items() if value is not None}
    inner = {key: value for key, value in given.items() if isinstance(value, Mapping) and len(path) < _DEEPEST_TABLE}
    several = {key: value for key, value in given.items() if not path and _is_list_of_tables(value)}
    for key, value in given.items():
        if key not in inner and key not in several:
            yield f"{toml_key(key)} = {toml_value(value)}"
    for key, value in inner.items():
        own = (*path, toml_key(key))
        if not value or any(not isinstance(each, Mapping) for each in value.values()) or len(own) == _DEEPEST_TABLE:
            yield from ("", f"[{'.'.join(own)}]")
        yield from _toml_lines(value, own)
    for key, tables in several.items():
        for each in tables:
            yield from (
                "",
                f"[[{toml_key(key)}]]",
                *(f"{toml_key(name)} = {toml_value(item)}" for name, item in each.items()),
            )


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)


# --- numbers ----------------------------------------------------------------------------------------------------------
# Binary floats put 0.3 below 3 * 0.1, so a value on a bound would fall into the wrong range. Fractions do not.
_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 400
"""Characters; the longest that a 64-bit float needs. Thousands of digits are no number of a table, and Python does not print them."""


def as_number(text: str) -> Fraction | None:
    """The finite number that a text writes, exactly; None where it writes none.

    >>> as_number("0.1"), as_number("-3"), as_number("1e3"), as_number("ten")
    (Fraction(1, 10), Fraction(-3, 1), Fraction(1000, 1), None)
    """
    return Fraction(Decimal(text)) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else None


def number_text(number: Fraction) -> str:
    """The shortest decimal text of a number whose decimals end.

    >>> number_text(Fraction(-5, 2)), number_text(Fraction(20)), number_text(Fraction(1, 1000))
    ('-2.5', '20', '0.001')
    """
    places = next((n for n in range(number.denominator.bit_length()) if 10**n % number.denominator == 0), None)
    if places is None:
        raise BadInput(f"{number} has no finite decimal text")
    digits = str(abs(number.numerator) * (10**places // number.denominator)).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


# --- intervals --------------------------------------------------------------------------------------------------------
# `[20, 30)` holds 20 and not 30; `<20` and `>=90` are open to one side. ARX writes `[20, 30[` for the same range, which is read too.
_CLOSED = re.compile(r"\[\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*[)\[]")
_BELOW = re.compile(r"<\s*([^=\s].*)")
_FROM = re.compile(r">=\s*(.+)")


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` up to, but without, `high`; None is no bound on that side."""

    low: Fraction | None
    high: Fraction | None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise BadInput(f"a range from {number_text(self.low)} up to {number_text(self.high)} holds no number")

    def __contains__(self, number: Fraction) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number < self.high)

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"[{number_text(self.low)}, {number_text(self.high)})"
        if self.low is not None:
            return f">={number_text(self.low)}"
        if self.high is not None:
            return f"<{number_text(self.high)}"
        raise InternalError("a range without bounds has no label")


def parse_interval(label: str) -> Interval | None:
    """The range that a label writes; None where it writes none.

    >>> parse_interval("[20, 30)")
    Interval(low=Fraction(20, 1), high=Fraction(30, 1))
    >>> print(parse_interval("[-5, 0[")), print(parse_interval(">=90")), print(parse_interval("young"))
    [-5, 0)
    >=90
    None
    (None, None, None)
    """
    if found := _CLOSED.fullmatch(label):
        low, high = as_number(found[1]), as_number(found[2])
        return Interval(low, high) if low is not None and high is not None and low < high else None
    if (found := _BELOW.fullmatch(label)) and (bound := as_number(found[1])) is not None:
        return Interval(None, bound)
    if (found := _FROM.fullmatch(label)) and (bound := as_number(found[1])) is not None:
        return Interval(bound, None)
    return None


# --- arguments --------------------------------------------------------------------------------------------------------
# What an argument may be stands in the signature, for type checkers; `checked` reads it there for those who use none.
_P = ParamSpec("_P")
_R = TypeVar("_R")
_WORDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
    types.NoneType: "None",
}


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Refuse an argument that is not what the signature says, in one sentence. What it leaves open (Any), the function checks itself.

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
        told = types.SimpleNamespace(__annotations__={name: function.__annotations__.get(name, Any)})
        try:
            return typing.get_type_hints(told, function.__globals__)[name]
        except NameError:  # the type of a package that is imported for type checkers only
            return Any

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # a wrong name is Python's own to report
        for name, value in given.items():
            if signature.parameters[name].kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                _refuse_misfit(name, value, hint_of(name))
        return function(*args, **kwargs)

    return call


def checked_fields(kind: type[_R]) -> type[_R]:
    """The same for the constructor of a dataclass."""
    kind.__init__ = checked(kind.__init__)  # type: ignore[method-assign]
    return kind


def _refuse_misfit(name: str, value: Any, hint: Any) -> None:
    if fits(value, hint):
        return
    for part in _parts(hint):
        # Of a mapping, the entry that is wrong.
        if isinstance(value, Mapping) and typing.get_origin(part) is Mapping:
            of_keys, of_values = typing.get_args(part)
            for key, each in value.items():
                _refuse_misfit(f"a name in {name}", key, of_keys)
                _refuse_misfit(f"{name}[{key!r}]", each, of_values)
    words = [word for part in _parts(hint) if typing.get_origin(part) is Literal for word in typing.get_args(part)]
    if isinstance(value, str) and words:
        raise BadInput(f"there is no {name.replace('_', ' ')} {value!r}", hint=nearest(value, map(str, words)))
    shown = (
        repr(value) if isinstance(value, str | int | float | list | tuple | dict | None) else type(value).__qualname__
    )
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    raise BadInput(f"{name} is {shown}, and it must be {' or '.join(map(_in_words, _parts(hint)))}")


def _parts(hint: Any) -> Iterator[Any]:
    """The alternatives of a union, None last; anything else is the only one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for part in sorted(typing.get_args(hint), key=lambda part: part is types.NoneType):
            yield from _parts(part)
    else:
        yield hint


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as types say it; numbers, lists and paths of other packages count as such.

    >>> fits(2, float), fits(True, int), fits("ab", Sequence[str]), fits({"a": [1]}, Mapping[str, Sequence[int]])
    (True, False, False, True)
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin is Literal:
        return isinstance(value, str | int | None) and value in inner
    if hint in (int, float, bool):
        return _is_number(value, hint)
    kind = origin or hint
    return _is_kind(value, kind, inner) if isinstance(kind, type) else kind is not None or value is None


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
        # What can be gone through once only is left for the function.
        return not hasattr(value, "__len__") or all(fits(each, inner[0]) for each in value)
    if "_fields" in vars(kind):  # a named tuple may be given as a plain one
        return isinstance(value, tuple) and len(value) == len(vars(kind)["_fields"])
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping) and inner:
        return all(fits(name, inner[0]) and fits(each, inner[1]) for name, each in value.items())
    if isinstance(value, tuple | frozenset) and inner:
        every = inner if len(inner) > 1 and inner[1] is not ... else inner[:1] * len(value)
        return len(every) == len(value) and all(map(fits, value, every))
    return True


def _in_words(hint: Any) -> str:
    """What a type is called in a sentence.

    >>> _in_words(Sequence[str]), _in_words(Literal["a", "b"])
    ('a list (each a text)', "'a' or 'b'")
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    kind = origin or hint
    if kind in _WORDS:
        return _WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if kind in (Sequence, AnyIterable):
        return f"a list (each {' or '.join(map(_in_words, _parts(inner[0])))})"
    if kind is Callable:
        return "a function"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
