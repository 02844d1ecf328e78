# SPDX-License-Identifier: Apache-2.0
"""The program as one group of commands, each imported when it is used.

This module also holds errors for options without effect, and the spelling of arguments in messages
as options.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from divulge.arguments import Argument, FrontEnd, python_spelling
from divulge.cli import redaction
from divulge.errors import BadInput, nearest
from divulge.options import flag_of, idle_reason, options_of

NAME = "divulge"

_AS_PAIRS = {"suppressed": "as_"}
"""Mappings that are typed as two options: one for the key, one for its value."""


class Flag(NamedTuple):
    """An option of the command line."""

    written: str
    takes: str | None
    """Placeholder of its value in the help; None if it takes no value."""


@functools.cache
def _command(name: str) -> Any:
    """Return a command as Typer builds it from its module.

    It is cached, because an error message needs the options of the command again.
    """
    return get_command(importlib.import_module(f"divulge.cli.{name}").app)


class Converting:
    """Mixin of commands and groups whose parameters convert only values of another type.

    Newer versions of Typer convert with pydantic, whose import takes as long as measuring a small
    table. Most typed values are texts already.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return every parameter, including that of the help."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if "process_value" not in vars(parameter):
                parameter.process_value = functools.partial(
                    _taken, parameter, parameter.process_value
                )
        return parameters

    def get_help(self, ctx: Any) -> str:
        """Return the help text, which holds no data value and is therefore printed as it is."""
        return redaction.vouch(super().get_help(ctx))  # type: ignore[misc]


def _taken(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter.

    `convert` is Typer's own conversion, which also raises the error for a missing value.
    """
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if value is None:
        if parameter.multiple or parameter.nargs == -1:
            made: Any = ()
        else:
            made = None
    elif (
        annotation == list[str]
        and isinstance(value, list | tuple)
        and all(type(text) is str for text in value)
    ):
        made = list(value)
    elif type(value) is annotation:
        made = value
    else:
        return convert(context, value)
    if parameter.required and not made:
        return convert(context, value)
    if parameter.callback is None:
        return made
    return parameter.callback(context, parameter, made)


class Program(Converting, TyperGroup):
    """All commands, each by its name and a one-line description, without its module."""

    def __init__(self, listed: Mapping[str, str], options: Mapping[str, str]) -> None:
        super().__init__(
            name=NAME,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.listed, self.options = listed, options

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the group's own signature
        """Return the commands in the order of the help."""
        return list(self.listed)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as list_commands
        """Import the module of a command, and return the command."""
        if cmd_name in self.listed:
            return _command(cmd_name)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that a line begins with.

        Raises:
            BadInput: There is no such command; the hint names the nearest.
        """
        if args[0] not in self.listed and not ctx.resilient_parsing:
            raise BadInput(f"there is no command {args[0]!r}", hint=nearest(args[0], self.listed))
        return super().resolve_command(ctx, args)

    def flags(self, arguments: Sequence[str]) -> dict[str, Flag]:
        """Return the options of a line's command, by the library's names for them."""
        command: Any = self
        verb = ""
        for word in arguments:
            if isinstance(command, TyperGroup):
                inner = command.get_command(typer.Context(command), word)
            else:
                inner = None
            if inner is None:
                break
            command = inner
            verb = f"{verb} {word}".strip()
        return {
            name: Flag(option.opts[0], None if option.is_flag else option.metavar or "")
            for name, option in _options_by_name(command, verb).items()
        }

    def front_end(self, arguments: Sequence[str]) -> FrontEnd:
        """Return the wording of messages for a line: its command's options for arguments."""
        flags = functools.cache(lambda: self.flags(arguments))
        return FrontEnd(lambda argument: spell_flag(argument, flags()))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ARG002 - as list_commands
        """Complete commands, and options of the program itself."""
        from typer._click.shell_completion import CompletionItem  # typer has no other name for it

        help_by_name = (
            {**self.listed, **self.options} if incomplete.startswith("-") else self.listed
        )
        return [
            CompletionItem(name, help=text)
            for name, text in help_by_name.items()
            if name.startswith(incomplete)
        ]


def _options_by_name(command: Any, verb: str) -> dict[str, Any]:
    """Return the options of a command by the words of its flags, and by names and arguments."""
    options = [option for option in command.params if option.param_type_name == "option"]
    by_name = {option.name: option for option in options}
    by_argument = {
        row.argument: by_name[row.name]
        for row in options_of(verb)
        if row.argument and row.name in by_name
    }
    by_flag = {option.opts[0].lstrip("-").replace("-", "_"): option for option in options}
    return by_flag | by_name | by_argument


# --- arguments in messages, as options of the command line ----------------------------------------
def _shell_word(value: str) -> str:
    """Quote a value that a shell would split or expand: a blank, a star."""
    if re.search(r"[\s*?$&;()<>|!#`\\]", value):
        return f"'{value}'"
    return value


def spell_flag(argument: Argument, flags: Mapping[str, Flag]) -> str:
    """Spell an argument as an option of a command; as in Python if the command has none.

    >>> flags = {"quasi_identifiers": Flag("--qi", "COLUMNS"), "force": Flag("--force", None)}
    >>> spell_flag(Argument("quasi_identifiers", "value", "['zip', 'age']"), flags)
    '--qi zip,age'
    >>> [spell_flag(Argument(name), flags) for name in ("quasi_identifiers", "force", "policy")]
    ['--qi COLUMNS', '--force', 'policy=']
    """
    flag = flags.get(argument.name)
    if flag is None:
        return python_spelling(argument)
    if argument.form == "name" or flag.takes is None:
        return flag.written
    value = argument.value
    if argument.name in _AS_PAIRS and isinstance(value, dict) and len(value) == 1:
        ((key, meaning),) = value.items()
        return f"{flag.written} {key!r} {flag_of(_AS_PAIRS[argument.name])} {meaning}"
    if argument.form != "value" or isinstance(value, dict):
        return f"{flag.written} {flag.takes}".rstrip()
    if isinstance(value, str):
        text = value
    elif isinstance(value, list | tuple):
        text = ",".join(map(str, value))
    else:
        text = argument.code
    return f"{flag.written} {_shell_word(text)}"


# --- options without effect -----------------------------------------------------------------------
_CONTEXT: ContextVar[typer.Context] = ContextVar("context")


def begin(context: typer.Context, verb: str, values: Mapping[str, Any]) -> None:
    """Remember the command line of a command, and reject options that its rows call idle."""
    _CONTEXT.set(context)
    for option in options_of(verb):
        if is_typed(option.name) and (reason := idle_reason(option, verb, values)):
            reject_idle(reason, option.name)


def is_typed(name: str) -> bool:
    """Return whether a parameter of the command was typed."""
    source = _CONTEXT.get().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def reject_idle(reason: str, *names: str, when: bool = True) -> None:
    """Raise an error if one of these parameters of the command was typed.

    Raises:
        BadInput: It has no effect, for this reason.
    """
    flags = {parameter.name: parameter.opts[0] for parameter in _CONTEXT.get().command.params}
    for name in names:
        if when and is_typed(name):
            raise BadInput(f"{flags[name]} has no effect {reason}", hint="leave it out")


def parameter_names() -> list[str]:
    """Return the parameters of the command."""
    return [str(parameter.name) for parameter in _CONTEXT.get().command.params]


def field_names(group: Any) -> tuple[str, ...]:
    """Return the parameters of a group of options."""
    return tuple(field.name for field in fields(group))
