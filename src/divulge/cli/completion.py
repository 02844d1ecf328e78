# SPDX-License-Identifier: Apache-2.0
"""Shell completion of commands, options, columns and values.

A shell asks for completions by starting `divulge` with `_DIVULGE_COMPLETE` in its environment, and
Typer answers. Two things are added here: commands complete without being imported, and columns are
those of the table on the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer  # noqa: TC002 - Typer evaluates the annotations of completions

from divulge.cli.program import NAME
from divulge.errors import BadInput, DivulgeError, nearest
from divulge.options import Option

if TYPE_CHECKING:
    from divulge.cli.program import Program

VARIABLE = f"_{NAME.upper()}_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_WRITTEN = {
    "bash": (".bashrc", f".bash_completions/{NAME}.sh"),
    "zsh": (".zshrc", f".zfunc/_{NAME}"),
    "fish": (f".config/fish/completions/{NAME}.fish",),
}
"""Files that Typer writes below the home folder to install completion."""


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
