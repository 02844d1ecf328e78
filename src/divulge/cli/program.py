# SPDX-License-Identifier: Apache-2.0
"""The program as one group of commands, each imported when it is used.

This module also holds shell completion, errors for options without effect, and the spelling of
arguments in messages as options.

A shell asks for completions by starting `divulge` with `_DIVULGE_COMPLETE` in its environment, and
Typer answers. Two things are added here: commands complete without being imported, and columns are
those of the table on the line.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from divulge.arguments import Argument, FrontEnd, python_spelling
from divulge.cli import redaction
from divulge.errors import BadInput, DivulgeError, nearest
from divulge.options import Option, flag_of, idle_reason, options_of

NAME = "divulge"
VARIABLE = f"_{NAME.upper()}_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_WRITTEN = {
    "bash": (".bashrc", f".bash_completions/{NAME}.sh"),
    "zsh": (".zshrc", f".zfunc/_{NAME}"),
    "fish": (f".config/fish/completions/{NAME}.fish",),
}
"""Files that Typer writes below the home folder to install completion."""

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


def answer_shell(program: Program) -> None:
    """Print the completions that a shell asked for, and exit."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    program.main([], prog_name=NAME, complete_var=VARIABLE)


def completion_script(shell: str | None) -> str:
    """Return the completion script of a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=_shell(shell))


def install_completion(shell: str | None) -> Path:
    """Write the completion script below the home folder, where the shell reads it."""
    from typer.completion import install  # type: ignore[attr-defined]

    chosen = _shell(shell)
    home = Path.home()
    for name in _WRITTEN[chosen]:
        if not (home / name).resolve().is_relative_to(home.resolve()):
            raise BadInput(
                f"{home / name} leads out of the home folder, so nothing was installed",
                hint=f"add the lines of divulge --show-completion {chosen} yourself",
            )
    return install(shell=chosen, prog_name=NAME, complete_var=VARIABLE)[1]


def _shell(shell: str | None) -> str:
    """Return the named shell, or the one that started the program."""
    if shell is not None:
        if shell not in SHELLS:
            raise BadInput(f"completion is not there for {shell!r}", hint=nearest(shell, SHELLS))
        return shell
    import shellingham  # type: ignore[import-untyped]

    try:
        detected_shell = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        detected_shell = ""
    if detected_shell not in SHELLS:
        raise BadInput(
            f"it is not known which shell this is{f': {detected_shell}' * bool(detected_shell)}",
            hint="name it: bash, zsh or fish",
        )
    return detected_shell


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


# --- values of options ----------------------------------------------------------------------------
def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last name of a comma-separated list with columns of the table on the line."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    names = [name for name in _columns_of(ctx) if name.startswith(last) and name not in taken]
    return [f"{before}{comma}{name}" for name in names]


def _columns_of(ctx: typer.Context) -> tuple[str, ...]:
    """Return the columns of the table on the line.

    They are empty if the table is not named yet, is not a file, or cannot be read: completion shows
    no errors.
    """
    parameters = ctx.params
    # While an option still lacks its value, arguments are not assigned to parameters; they are in
    # ctx.args.
    source = parameters.get("source") or next(iter(ctx.args), None) or parameters.get("original")
    # of several tables, the first
    if isinstance(source, list | tuple):
        source = source[0]
    if (
        not isinstance(source, str)
        or "://" in source
        or source == "-"
        or any(parameters.get(name) for name in ("engine", "master", "remote"))
    ):
        return ()
    from divulge.sources import known_options, read

    try:
        return tuple(
            read(
                source,
                **{
                    name: parameters[name]
                    for name in known_options()
                    if parameters.get(name) is not None
                },
            ).names
        )
    except (DivulgeError, OSError):
        return ()


def one_of(names: Callable[[], Iterator[str] | list[str]]) -> Callable[[str], list[str]]:
    """Return a completion for names that are looked up when a shell asks."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def metric_names() -> list[str]:
    """Return the names of all metrics."""
    from divulge import metrics

    return sorted({metric.name for metric in metrics.METRICS})


def promised_metrics() -> list[str]:
    """Return the names of all metrics that a requirement can bound."""
    from divulge import metrics

    return sorted({metric.name for metric in metrics.METRICS if metric.kind == "risk"})


def values_of(option: Option) -> Callable[[], list[str]] | None:
    """Return the values that an option can take, looked up when they are needed; None: any."""
    if option.values:
        return lambda: list(option.values)
    return _VALUES.get(option.values_of)


def _objectives() -> list[str]:
    from divulge import generalization

    return list(generalization.OBJECTIVES)


def _attacks() -> list[str]:
    from divulge import attacks

    return [attacker.name for attacker in attacks.ATTACKERS]


def _datasets() -> list[str]:
    from divulge import datasets

    return [item.name for item in datasets.available()]


_VALUES: Mapping[str, Callable[[], list[str]]] = {
    "metrics": metric_names,
    "requirable metrics": promised_metrics,
    "objectives": _objectives,
    "attacks": _attacks,
    "datasets": _datasets,
}
"""Values of options that another layer lists."""


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
