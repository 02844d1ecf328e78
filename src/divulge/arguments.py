# SPDX-License-Identifier: Apache-2.0
"""Arguments that messages name, spelled by each front end.

A message names an argument of the library with a mark: `f"Give {arg('original')}"`. The mark holds
the name and the value, so that every front end can spell it: `original=` in Python,
`--original TABLE` on the command line, the label of a control in the studio.

Errors and notes are sentences. As text they are spelled for Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

_OPEN, _SEPARATOR, _CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
"""Characters around a mark; Unicode reserves them for the inside of programs."""
_MARK = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_NO_VALUE = object()

Form = Literal["assigned", "value", "example", "name"]
"""Forms in which a message names an argument.

- assigned: to be given, `original=`.
- value: given with a value, `records=0`.
- example: to be given with such a value, `prior={...}`.
- name: mentioned, `max_deferred`.
"""


@dataclass(frozen=True)
class Argument:
    """An argument as a message names it."""

    name: str
    form: Form = "assigned"
    code: str = ""
    """Its value as Python writes it."""

    @property
    def value(self) -> Any:
        """The value; its text if Python cannot read it from the code."""
        try:
            return ast.literal_eval(self.code)
        except (ValueError, SyntaxError):
            return self.code


Spelling = Callable[[Argument], str]


def _unchanged(text: str) -> str:
    return text


def arg(name: str, value: Any = _NO_VALUE, *, example: str = "") -> str:
    """Return the mark of an argument, for a message.

    Args:
        name: The argument of the library.
        value: The value that was given or is to be given.
        example: Python code that shows the form of the value.

    >>> str(Sentence(f"{arg('records', 0)} is not possible; give {arg('attacks')} or leave it out"))
    'records=0 is not possible; give attacks= or leave it out'
    """
    if value is not _NO_VALUE:
        return _mark(name, "value", _code(value))
    if example:
        return _mark(name, "example", example)
    return _mark(name, "assigned")


def _code(value: Any) -> str:
    """Write a value as Python code, a number in its shortest form."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return repr(value)


def arg_name(name: str) -> str:
    """Return the mark of an argument that is only mentioned.

    >>> str(Sentence(f"{arg_name('max_deferred')} = 2 is not a share"))
    'max_deferred = 2 is not a share'
    """
    return _mark(name, "name")


def _mark(name: str, form: Form, code: str = "") -> str:
    return f"{_OPEN}{_SEPARATOR.join((name, form, code))}{_CLOSE}"


def arguments_in(text: str) -> list[Argument]:
    """Return the arguments that a text with marks names."""
    return [_argument(match) for match in _MARK.finditer(marked(text))]


def _argument(match: re.Match[str]) -> Argument:
    name, form, code = match[1].split(_SEPARATOR)
    return Argument(name, form, code)  # type: ignore[arg-type]


def python_spelling(argument: Argument) -> str:
    """Spell an argument as Python writes it."""
    if argument.form == "name":
        return argument.name
    return f"{argument.name}={argument.code}"


@dataclass(frozen=True)
class FrontEnd:
    """Wording of messages by a front end."""

    spelling: Spelling = python_spelling
    rewording: Callable[[str], str] = _unchanged
    """Applied to the whole text after its arguments are spelled."""


_FRONT_END: ContextVar[FrontEnd] = ContextVar("front_end", default=FrontEnd())  # noqa: B039 - it is frozen


def spelled(text: str, spelling: Spelling | None = None) -> str:
    """Return a text with its arguments spelled; by default as the front end in effect words it.

    >>> spelled(f"Give {arg('original')}", lambda argument: f"--{argument.name}")
    'Give --original'
    """
    front_end = _FRONT_END.get() if spelling is None else FrontEnd(spelling)
    spelled_text = _MARK.sub(lambda match: front_end.spelling(_argument(match)), marked(text))
    return front_end.rewording(spelled_text)


@contextmanager
def worded_by(front_end: FrontEnd) -> Iterator[None]:
    """Word messages for this front end while the context is open."""
    before = _FRONT_END.set(front_end)
    try:
        yield
    finally:
        _FRONT_END.reset(before)


class Sentence(str):
    """A text that may name arguments: spelled for Python as text, by `spelled` for others."""

    __slots__ = ("marked",)
    marked: str
    """The text with the marks of its arguments."""

    def __new__(cls, text: str) -> Sentence:  # noqa: PYI034 - typing.Self is not needed
        """Spell a text with marks for Python."""
        sentence = super().__new__(cls, spelled(text, python_spelling))
        sentence.marked = marked(text)
        return sentence

    def __reduce__(self) -> tuple[type[Sentence], tuple[str]]:
        """Keep the marks in a copy, which another process may receive."""
        return type(self), (self.marked,)


def marked(text: str) -> str:
    """Return a text with the marks of its arguments, to put it into another one."""
    if isinstance(text, Sentence):
        return text.marked
    return text
