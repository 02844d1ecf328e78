# SPDX-License-Identifier: Apache-2.0
"""The `divulge` program: finds the command, turns errors into one line and an exit code.

A command's module is imported only when that command runs, so that `divulge --help` stays quick. Exit codes: 0 done; 1 the policy
does not hold; 2 bad input or usage; 3 nothing can satisfy the request.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from divulge.errors import DivulgeError, InternalError, nearest
from divulge.version import __version__

COMMANDS = {
    "demo": "invent 20,000 patients, measure what their table gives away, tell it in plain words",
    "profile": "describe each column and suggest its role",
    "measure": "measure every metric of a table, and name the classes that are worst",
    "rank": "rank quasi-identifiers and their combinations by risk",
    "check": "hold a table against a policy: exit code 0 or 1",
    "generalize": "make a table coarser until it keeps a policy, and publish it",
    "anatomize": "publish a table as several tables, tied together by groups of records",
    "query": "estimate a count, a sum or an average from a release",
    "apply": "publish new rows as an earlier release was published",
    "hierarchy": "build, check, convert and show the levels of columns",
    "perturbed": "measure a release whose values were changed at random, against its original",
    "distances": "compare distances between distributions for sensitivity and independence",
    "dossier": "what scattered records give away about one person",
    "datasets": "list and fetch public data sets",
    "metrics": "list every metric with its definition",
}
_INTERRUPTED = 130
_HELP = """Usage: divulge COMMAND [OPTIONS] [ARGUMENTS]

Measure what a table tells an adversary about the people in it.

Commands:
{commands}

Options:
  --version   print the version
  -h, --help  print this, or after a command what that command takes

Example:
  divulge measure patients.csv --qi zip,age --sensitive disease
"""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        return _dispatch(list(arguments))
    except DivulgeError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe (head, say) has left: nothing is wrong, and nothing more can be said on standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A folder that is not there, a full disk, no permission: the system says it better than a traceback does.
        told = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return _fail(" ".join(told.split()), 2)


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        listed = "\n".join(f"  {name:<{width}}  {told}" for name, told in COMMANDS.items())
        sys.stdout.write(_HELP.format(commands=listed))
        return 0 if arguments else 2
    name = arguments[0]
    if name == "--version":
        sys.stdout.write(f"divulge {__version__}\n")
        return 0
    if name not in COMMANDS:
        return _fail(f"there is no command {name!r}; {nearest(name, COMMANDS)}", 2)
    return _run_command(name, arguments[1:])


def _run_command(name: str, arguments: list[str]) -> int:
    import typer
    from typer.main import get_command

    # Newer typers carry a click of their own, so click's base error is found as an ancestor of BadParameter.
    usage_error: Any = typer.BadParameter.__mro__[2]
    command = get_command(importlib.import_module(f"divulge.cli.{name}").app)
    try:
        result = command.main(arguments, prog_name=f"divulge {name}", standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        return _fail("interrupted", _INTERRUPTED)
    except usage_error as error:
        told = error.format_message()
        if not told:  # no arguments at all: help, not an error line
            sys.stdout.write(f"{error.ctx.get_help()}\n")
            return 2
        return _fail(f"{' '.join(told.split())} (divulge {name} --help tells more)", 2)
    if result == _INTERRUPTED:  # newer typers return the exit code of Ctrl-C and say nothing
        return _fail("interrupted", _INTERRUPTED)
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"divulge: {message}\n")
    return code


def main() -> None:
    """Entry point of the installed program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an output that is not UTF-8 is no reason to fail
    try:
        code = run(sys.argv[1:])
    except Exception:  # noqa: BLE001 - the outermost edge
        # A gate reads exit code 1 as a broken policy, so a bug of ours must leave with another.
        traceback.print_exc()
        told = "this is a bug in divulge, not in your data: please report it with the lines above"
        code = _fail(told, InternalError.exit_code)
    sys.exit(code)
