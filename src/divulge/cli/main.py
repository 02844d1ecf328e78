# SPDX-License-Identifier: Apache-2.0
"""The `divulge` program: finds the command, turns errors into one line and an exit code.

A command's module is imported only when that command runs, so that `divulge --help` stays quick. Exit codes: 0 done; 1 the policy
does not hold; 2 bad input or usage; 3 nothing can satisfy the request.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from divulge import results
from divulge.cli import progress, value_free
from divulge.errors import BadInput, DivulgeError, InternalError, nearest
from divulge.version import __version__

COMMANDS = {
    "demo": "invent 20,000 patients, measure what their table gives away, tell it in plain words",
    "profile": "describe each column and suggest its role",
    "init": "write a first policy for a table, from what profile suggests",
    "measure": "measure every metric of a table, and name the classes that are worst",
    "rank": "rank quasi-identifiers and their combinations by risk",
    "check": "hold a table against a policy: exit code 0 or 1",
    "dbt": "write promises as tests of a dbt project, in plain SQL",
    "generalize": "make a table coarser until it keeps a policy, and publish it",
    "anatomize": "publish a table as several tables, tied together by groups of records",
    "attack": "play the adversary against a release: success beside guessing and the promise; exit code 0 or 1",
    "query": "estimate a count, a sum or an average from a release",
    "apply": "publish new rows as an earlier release was published",
    "ledger": "what was released of the same people, when and to whom: list, show, add, retract, forget, export",
    "reseal": "clean the manifest of a release that an earlier version wrote",
    "compose": "what several releases of the same people tell together",
    "compare": "tables, releases or policies side by side: every metric, what is left, who is better off",
    "studio": "the whole work in a browser, on this machine: open, promise, publish",
    "report": "write one page about a table or a release, to attach, print and open offline",
    "hierarchy": "build, check, convert and show the levels of columns",
    "papers": "recompute every number and figure of the papers behind divulge",
    "perturbed": "measure a release whose values were changed at random, against its original",
    "dossier": "what scattered records give away about one person",
    "datasets": "list and fetch public data sets",
    "metrics": "list every metric with its definition",
}
OPTIONS = {
    "--help": "print this, or after a command what that command takes (also -h)",
    "--version": "print the version; with --verbose those of all parts, for a bug report",
    "--verbose": "with any command: log its steps on standard error; DIVULGE_LOG=debug logs statements too",
    "--value-free": "with any command: column names and numbers, no value of a cell; also DIVULGE_VALUE_FREE=1",
    "--install-completion": "let the shell complete commands, options and columns; after it bash, zsh or fish",
    "--show-completion": "print the lines that do so, to put them where you like; after it bash, zsh or fish",
}
_HELP = """Usage: divulge COMMAND [OPTIONS] [ARGUMENTS]

Measure what a table tells an adversary about the people in it.

Commands:
{commands}

Options:
{options}

Example:
  divulge measure patients.csv --qi zip,age --sensitive disease
"""


_BUG = "this is a bug in divulge, not in your data: please report it with the lines above"


class Interrupted(DivulgeError):
    """Somebody pressed Ctrl-C."""

    exit_code = 130


class Bug(DivulgeError):
    """Ours: a gate reads exit code 1 as a broken policy, so it must leave with another."""

    exit_code = InternalError.exit_code


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    with value_free.sieved(arguments) as given:
        try:
            return _run(given)
        except Exception as error:
            if not results.values_hidden():
                raise
            value_free.tell_where(error)
            return _fail(Bug(_BUG), given)


def _run(given: list[str]) -> int:
    try:
        code = _dispatch(given)
        sys.stdout.flush()  # what could not be written was not told, and is no success
    except DivulgeError as error:
        return _fail(error, given)
    except KeyboardInterrupt:
        return _fail(Interrupted("interrupted"), given)
    except OSError as error:
        # A folder that is not there, a full disk, no permission: the system says it better than a traceback does.
        # Arrow puts words of its own around those of the system.
        what = os.strerror(error.errno) if error.errno else str(error)
        hint = "Make room there, or write to another folder" if error.errno == errno.ENOSPC else ""
        return _fail(BadInput(f"{error.filename}: {what}" if error.filename else what, hint=hint), given)
    except MemoryError as error:
        return _fail(_no_memory(str(error)), given)
    except RuntimeError as error:
        if str(error) != "can't start new thread":  # which needs memory, too
            raise
        return _fail(_no_memory(str(error)), given)
    return code


def _no_memory(told: str) -> BadInput:
    return BadInput(
        f"memory ran out{f': {told}' * bool(told)}",
        hint="Give --memory-limit, below what this machine has, so that what needs more goes to disk",
    )


def _dispatch(arguments: list[str]) -> int:
    """What needs no command is done at once: Typer takes longer to load than the help takes to read."""
    name = arguments[0] if arguments else "--help"
    if os.environ.get("_DIVULGE_COMPLETE"):
        from divulge.cli import program

        program.answer_shell(program.Program(COMMANDS, OPTIONS))
    elif name in ("-h", "--help"):
        sys.stdout.write(_HELP.format(commands=_listed(COMMANDS), options=_listed(OPTIONS)))
        return 0 if arguments else 2
    elif name == "--version":
        sys.stdout.write(f"divulge {__version__}\n")
        if "--verbose" in arguments:
            sys.stdout.write("".join(f"{part} {version}\n" for part, version in _versions().items()))
    elif name in ("--install-completion", "--show-completion"):
        _completion(name, *arguments[1:2])
    elif name.startswith("-"):
        raise BadInput(f"there is no option {name!r}", hint=nearest(name, OPTIONS))
    else:
        return _run_command(arguments)
    return 0


def _versions() -> dict[str, str]:
    """What a bug report should tell: Python, the system, and every package that divulge uses where it is installed; no paths."""
    import platform
    import re
    from importlib import metadata

    wanted = [line for line in metadata.requires("divulge") or () if not re.search(r"extra == .dev", line)]
    named = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted)
    found = {"Python": platform.python_version(), platform.system(): f"{platform.release()} {platform.machine()}"}
    for name in sorted(set(named), key=str.lower):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _listed(told: Mapping[str, str]) -> str:
    width = max(map(len, told))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in told.items())


def _completion(wanted: str, shell: str | None = None) -> None:
    from divulge.cli import program

    if wanted == "--show-completion":
        sys.stdout.write(f"{program.completion_script(shell)}\n")
    else:
        path = program.install_completion(shell)
        sys.stdout.write(f"completion installed in {path}; it works in every shell that is started from now on\n")


def _run_command(arguments: list[str]) -> int:
    import typer

    from divulge.cli.program import NAME, Program, in_flags

    # Newer typers carry a click of their own, so click's base error is found as an ancestor of BadParameter.
    usage_error: Any = typer.BadParameter.__mro__[2]
    program = Program(COMMANDS, OPTIONS)
    try:
        with (
            progress.followed(arguments) as given,
            results.speaking(lambda note: in_flags(note, program.flags(arguments))),
        ):
            result = program.main(given, prog_name=NAME, standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:
        told, path = error.format_message(), error.ctx.command_path if error.ctx else NAME
        if not told:  # no arguments at all: help, not an error line
            sys.stdout.write(f"{error.ctx.get_help()}\n")
            return 2
        if hasattr(error, "possibilities"):  # an option that does not exist
            near = " or ".join(error.possibilities or ())
            hint = f"did you mean {near}?" if near else f"{path} --help lists them"
            raise BadInput(f"{path} has no option {error.option_name}", hint=hint) from None
        raise BadInput(told.rstrip("."), hint="" if told.endswith("?") else f"{path} --help tells more") from None
    if result == Interrupted.exit_code:  # newer typers return the exit code of Ctrl-C and say nothing
        raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def _fail(error: DivulgeError, arguments: Sequence[str]) -> int:
    """One line for people, and one object for programs if they asked for one."""
    if arguments and arguments[0] in COMMANDS:
        from divulge.cli.program import Program, in_flags

        flags = Program(COMMANDS, OPTIONS).flags(arguments)
        error.message, error.hint = in_flags(error.message, flags), in_flags(error.hint, flags)
    sys.stderr.write(f"divulge: {error}\n")
    if value_free.json_wanted(arguments):
        from divulge.cli.options import emit_json

        emit_json(error.document())
    return error.exit_code


class Output(io.TextIOWrapper):
    """Standard output, which never fails: not on letters that its encoding lacks, and not when its reader has left.

    A reader that leaves (`| head`) changes no exit code: a gate's verdict counts whether or not somebody reads on.
    """

    def write(self, text: str) -> int:
        """As ever."""
        try:
            return super().write(text)
        except BrokenPipeError:
            return self._nobody_reads(len(text))

    def flush(self) -> None:
        """As ever."""
        try:
            super().flush()
        except BrokenPipeError:
            self._nobody_reads(0)

    def _nobody_reads(self, told: int) -> int:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return told


def main() -> None:
    """Entry point of the installed program."""
    # Where one was closed, the next file that is opened would take its place, and get what others print.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        at_once, encoding = sys.stdout.line_buffering, sys.stdout.encoding
        sys.stdout = Output(sys.stdout.detach(), encoding, "backslashreplace", line_buffering=at_once)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    code: list[int] = []
    atexit.register(_leave, code)  # before anybody else, so that it is called after all others
    try:
        _load(*sys.argv[1:2])
        code.append(run(sys.argv[1:]))
    except KeyboardInterrupt:
        code.append(_fail(Interrupted("interrupted"), sys.argv[1:]))
    except Exception:  # noqa: BLE001 - the outermost edge
        traceback.print_exc()
        code.append(_fail(Bug(_BUG), sys.argv[1:]))
    sys.exit(code[0])


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _load(name: str = "") -> None:
    """What a command needs; none of it becomes garbage, so nobody looks for some meanwhile."""
    if name not in COMMANDS:
        return
    gc.disable()
    try:
        if name != "studio":  # whose server opens no table
            from divulge import arrays

            arrays.leave_pandas_out()
        importlib.import_module(f"divulge.cli.{name}")
    finally:
        gc.enable()


def _leave(code: Sequence[int]) -> None:
    """End here, once all is told and tidied up: Python would take every module apart, which takes a tenth of a small table's time."""
    if code:
        left = code[0]
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):  # a second attempt would find nothing left to write, and succeed
                left = left or BadInput.exit_code
        os._exit(left)
