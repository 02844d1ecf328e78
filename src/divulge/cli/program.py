# SPDX-License-Identifier: Apache-2.0
"""The program as one group of commands, each loaded when used; what a shell completes, what stands there in vain, errors in its words.

A shell asks for completions by starting `divulge` with `_DIVULGE_COMPLETE` in its environment; Typer answers. What is added here: commands
complete without being loaded, and columns are those of the table that stands on the line.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from divulge.errors import BadInput, DivulgeError, nearest

NAME = "divulge"
VARIABLE = f"_{NAME.upper()}_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_WRITTEN = {
    "bash": (".bashrc", f".bash_completions/{NAME}.sh"),
    "zsh": (".zshrc", f".zfunc/_{NAME}"),
    "fish": (f".config/fish/completions/{NAME}.fish",),
}
"""What Typer writes below the home folder to install completion."""

_OTHERWISE_CALLED = {
    "quasi_identifiers": "qi", "distances": "distance", "orders": "order", "taxonomies": "hierarchy", "all_optima": "optima",
    "keep_nodes": "nodes", "sets": "set", "most": "ranges", "unseen": "suppress_unseen", "graded": "grade",
    "rule": "resolve", "threshold": "probability", "check": "bucket_check",
}  # fmt: skip
"""Arguments of the library, and the options of commands that set them under another name."""
_AS_PAIRS = {"suppressed": "--as"}
"""Mappings that are typed as two options: the key, and then what it stands for."""


class Flag(NamedTuple):
    """An option as it is typed."""

    written: str
    takes: str | None
    """What stands after it, as the help says; None where nothing does."""
    by_its_name: bool = True
    """Whether the library's name for it, alone in a message, means the option; the name of a metric means the metric."""


@functools.cache
def _command(name: str) -> Any:
    """A command as Typer builds it from its module: once, because a refusal asks for its options again."""
    return get_command(importlib.import_module(f"divulge.cli.{name}").app)


class Converting:
    """What a command or a group is besides: its parameters convert only what is not yet what it should be.

    Newer typers convert through pydantic, which takes as long to load as a small table takes to measure; and most of what is typed is text.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Every parameter, that of the help too."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if "process_value" not in vars(parameter):
                parameter.process_value = functools.partial(_taken, parameter, parameter.process_value)
        return found


def _taken(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """The value of a parameter; `convert` is Typer's own way to it, which also refuses what is missing."""
    wanted = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if value is None:
        made: Any = () if parameter.multiple or parameter.nargs == -1 else None
    elif wanted == list[str] and isinstance(value, list | tuple) and all(type(text) is str for text in value):
        made = list(value)
    elif type(value) is wanted:
        made = value
    else:
        return convert(context, value)
    if parameter.required and not made:
        return convert(context, value)
    return made if parameter.callback is None else parameter.callback(context, parameter, made)


class Program(Converting, TyperGroup):
    """Every command by its name and one line about it, without its module."""

    def __init__(self, listed: Mapping[str, str], options: Mapping[str, str]) -> None:
        super().__init__(name=NAME, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
        self.listed, self.options = listed, options

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the group's own signature
        """In the order of the help."""
        return list(self.listed)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as list_commands
        """The command, whose module is imported now."""
        return _command(cmd_name) if cmd_name in self.listed else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a line begins with, or an error that names the nearest."""
        if args[0] not in self.listed and not ctx.resilient_parsing:
            raise BadInput(f"there is no command {args[0]!r}", hint=nearest(args[0], self.listed))
        return super().resolve_command(ctx, args)

    def flags(self, arguments: Sequence[str]) -> dict[str, Flag]:
        """The options of the command that a line begins with, by the library's names for them."""
        command: Any = self
        for word in arguments:
            inner = command.get_command(typer.Context(command), word) if isinstance(command, TyperGroup) else None
            if inner is None:
                break
            command = inner
        found: dict[str, Flag] = {}
        for option in [option for option in command.params if option.param_type_name == "option"]:
            takes = None if option.is_flag else option.metavar or ""
            told = Flag(option.opts[0], takes, getattr(option, "rich_help_panel", None) != "Promises")
            found |= {option.opts[0].lstrip("-").replace("-", "_"): told, option.name: told}
        return found | {name: found[own] for name, own in _OTHERWISE_CALLED.items() if own in found}

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ARG002 - as list_commands
        """Commands, and options of the program itself."""
        from typer._click.shell_completion import CompletionItem  # typer has no other name for it

        told = {**self.listed, **self.options} if incomplete.startswith("-") else self.listed
        return [CompletionItem(name, help=text) for name, text in told.items() if name.startswith(incomplete)]


def answer_shell(program: Program) -> None:
    """Print what a shell asked for, and leave."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    program.main([], prog_name=NAME, complete_var=VARIABLE)


def completion_script(shell: str | None) -> str:
    """The lines that a shell reads to complete."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=_shell(shell))


def install_completion(shell: str | None) -> Path:
    """Write those lines where the shell looks for them, below the home folder."""
    from typer.completion import install  # type: ignore[attr-defined]

    chosen, home = _shell(shell), Path.home()
    for name in _WRITTEN[chosen]:
        if not (home / name).resolve().is_relative_to(home.resolve()):
            raise BadInput(
                f"{home / name} leads out of the home folder, so nothing was installed",
                hint=f"add the lines of divulge --show-completion {chosen} yourself",
            )
    return install(shell=chosen, prog_name=NAME, complete_var=VARIABLE)[1]


def _shell(given: str | None) -> str:
    """The shell that was named, or the one that started us."""
    if given is not None:
        if given not in SHELLS:
            raise BadInput(f"completion is not there for {given!r}", hint=nearest(given, SHELLS))
        return given
    import shellingham  # type: ignore[import-untyped]

    try:
        found = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        found = ""
    if found not in SHELLS:
        raise BadInput(
            f"it is not known which shell this is{f': {found}' * bool(found)}", hint="name it: bash, zsh or fish"
        )
    return found


# --- errors of the library in the words of the line -------------------------------------------------------------------
_ARGUMENT = re.compile(
    r"""(?<!\w)'[^']*'|"[^"]*"|(?<![\w/.-])(?P<name>[a-z]\w*)=(?P<value>\[[^]]*\]|\{[^}]*\}|'[^']*'|[^\s,:;.()]+(?:\.\d+)?)?"""
    r"""|(?<![\w/.-])(?P<bare>[a-z]+(?:_[a-z]+)+)(?![\w/-]|\.\w)"""
)


def in_flags(text: str, flags: Mapping[str, Flag]) -> str:
    """A message of the library in the language of a command that has these flags; what stands in quotes is the user's and stays.

    >>> qi, force = Flag("--qi", "COLUMNS"), Flag("--force", None)
    >>> in_flags("zip=476** has no column of quasi_identifiers=['zip', 'age']", {"quasi_identifiers": qi})
    'zip=476** has no column of --qi zip,age'
    >>> in_flags("name them with quasi_identifiers=, or use force=True", {"quasi_identifiers": qi, "force": force})
    'name them with --qi COLUMNS, or use --force'
    """

    def translated(found: re.Match[str]) -> str:
        flag = flags.get(found["name"] or found["bare"] or "")
        if flag is None or (found["bare"] and not flag.by_its_name):
            return found[0]
        value = found["value"] or ""
        if found["name"] in _AS_PAIRS and (pair := re.fullmatch(r"\{(.*): '(\w+)'\}", value)):
            return f"{flag.written} {pair[1]} {_AS_PAIRS[found['name']]} {pair[2]}"
        if flag.takes is None or found["bare"]:
            return flag.written
        if value in ("", "...") or value.startswith("{"):
            return f"{flag.written} {flag.takes}".rstrip()
        bare = re.sub(r"[\[\]'\"]", "", value)
        return f"{flag.written} {','.join(part.strip() for part in bare.split(','))}"

    return _ARGUMENT.sub(translated, text)


# --- what stands after an option ------------------------------------------------------------------------------------
def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns of the table on the line that fit the last name of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    names = [name for name in _columns_of(ctx) if name.startswith(last) and name not in taken]
    return [f"{before}{comma}{name}" for name in names]


def _columns_of(ctx: typer.Context) -> tuple[str, ...]:
    """Nothing where the table is not named yet, is not a file, or cannot be read: a shell is no place for errors."""
    given = ctx.params
    # An option that still lacks its value keeps arguments from being told apart: then they stand in ctx.args.
    source = given.get("source") or next(iter(ctx.args), None) or given.get("original")
    source = source[0] if isinstance(source, list | tuple) else source  # of several tables, the first
    if (
        not isinstance(source, str)
        or "://" in source
        or source == "-"
        or any(given.get(name) for name in ("engine", "master", "remote"))
    ):
        return ()
    from divulge.table import read

    wanted = ("table", "sql", "as_of", "sheet", "header", "delimiter", "encoding", "decimal")
    try:
        return tuple(read(source, **{name: given[name] for name in wanted if given.get(name) is not None}).names)
    except (DivulgeError, OSError):
        return ()


def one_of(names: Callable[[], Iterator[str] | list[str]]) -> Callable[[str], list[str]]:
    """Completion for a set of names that is looked up when a shell asks."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def metric_names() -> list[str]:
    """Every metric, once."""
    from divulge import metrics

    return sorted({metric.name for metric in metrics.METRICS})


def promised_metrics() -> list[str]:
    """Every metric that can be promised, once."""
    from divulge import metrics

    return sorted({metric.name for metric in metrics.METRICS if metric.kind == "risk"})


def refuse_idle(context: typer.Context, idle: Mapping[str, Iterable[str]]) -> None:
    """Refuse what was typed and would change nothing: parameters of the command, by the reason."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for reason, names in idle.items():
        for name in names:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise BadInput(f"{flags[name]} has no effect {reason}", hint="leave it out")


def options_of(*groups: Any) -> tuple[str, ...]:
    """The parameters of these groups of options."""
    return tuple(field.name for group in groups for field in fields(group))
