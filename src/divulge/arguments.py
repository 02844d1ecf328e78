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
from dataclasses import dataclass, replace
from typing import Any, Literal

from divulge.marks import HIDDEN, hide_quoted, is_visible, values_hidden

_OPEN, _SEPARATOR, _CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
"""Characters around a mark; Unicode reserves them for the inside of programs."""
_MARK = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_NO_MARKS = dict.fromkeys(map(ord, (_OPEN, _SEPARATOR, _CLOSE)))
"""Removes marks from a text by `str.translate`."""
_NO_VALUE = object()

Form = Literal["assigned", "value", "example", "name", "outside"]
"""Forms of marks: those in which a message names an argument, and texts from outside.

- assigned: to be given, `original=`.
- value: given with a value, `records=0`.
- example: to be given with such a value, `prior={...}`.
- name: mentioned, `max_deferred`.
- outside: no argument but a text from outside that is not quoted.
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

    def redacted(self) -> Argument:
        """Return it without texts from outside; names of columns, numbers and flags stay."""
        if self.form == "outside":
            name = self.value if isinstance(self.value, str) else self.code
            return self if is_visible(name) else replace(self, code=HIDDEN)
        if self.form != "value":
            return self
        texts = self.value if isinstance(self.value, list | tuple) else [self.value]
        is_harmless = all(
            isinstance(text, int | float | None) or (isinstance(text, str) and is_visible(text))
            for text in texts
        )
        if is_harmless:
            return self
        return replace(self, code=HIDDEN)


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


def outside(text: object) -> str:
    """Return the mark of a text from outside that a message does not quote.

    Redaction hides it, unless it is the name of a column.

    >>> from divulge.marks import without_values
    >>> message = f"there is no class {outside('zip=476**')}"
    >>> spelled(message)
    'there is no class zip=476**'
    >>> with without_values():
    ...     spelled(message)
    'there is no class …'
    """
    plain_text = _MARK.sub(lambda match: python_spelling(_argument(match)), str(text))
    return _mark("", "outside", plain_text.translate(_NO_MARKS))


def quoted(value: object) -> str:
    """Return the mark of a value from outside that a message quotes as Python writes it.

    A text may also be quoted by `!r`; a number has no quotation marks by which redaction knows it.
    """
    return outside(repr(value))


def _mark(name: str, form: Form, code: str = "") -> str:
    return f"{_OPEN}{_SEPARATOR.join((name, form, code))}{_CLOSE}"


def arguments_in(text: str) -> list[Argument]:
    """Return the arguments that a text with marks names."""
    marks = (_argument(match) for match in _MARK.finditer(marked(text)))
    return [argument for argument in marks if argument.form != "outside"]


def _argument(match: re.Match[str]) -> Argument:
    name, form, code = match[1].split(_SEPARATOR)
    return Argument(name, form, code)  # type: ignore[arg-type]


def python_spelling(argument: Argument) -> str:
    """Spell an argument as Python writes it."""
    if argument.form == "name":
        return argument.name
    if argument.form == "outside":
        return argument.code
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

    def spell(match: re.Match[str]) -> str:
        argument = _argument(match)
        if values_hidden():
            argument = argument.redacted()
        return front_end.spelling(argument)

    spelled_text = _MARK.sub(spell, marked(text))
    if values_hidden():
        spelled_text = hide_quoted(spelled_text)
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
