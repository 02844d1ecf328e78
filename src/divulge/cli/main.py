# SPDX-License-Identifier: Apache-2.0
"""The `divulge` program: finds the command, and turns errors into one line and an exit code.

A command's module is imported only when that command runs, so that `divulge --help` stays fast.
Exit codes: 0 success; 1 the policy is violated; 2 bad input or usage; 3 nothing can satisfy the
request.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from divulge import signals
from divulge.arguments import outside, spelled, worded_by
from divulge.cli import progress, redaction
from divulge.errors import BadInput, DivulgeError, InternalError, nearest
from divulge.marks import values_hidden
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
    "attack": "play the adversary against a release: success beside guessing and the promise; "
    "exit code 0 or 1",
    "query": "estimate a count, a sum or an average from a release",
    "apply": "publish new rows as an earlier release was published",
    "ledger": "what was released of the same people, when and to whom: list, show, add, retract, "
    "forget, export",
    "compose": "what several releases of the same people tell together",
    "compare": "tables, releases or policies side by side: every metric, what is left, who is "
    "better off",
    "studio": "the whole work in a browser, on this machine: open, promise, publish",
    "report": "write one page about a table or a release, to attach, print and open offline",
    "hierarchy": "build, check, convert and show the levels of columns",
    "perturbed": "measure a release whose values were changed at random, against its original",
    "dossier": "what scattered records give away about one person",
    "datasets": "list and fetch public data sets",
    "metrics": "list every metric with its definition",
}
OPTIONS = {
    "--help": "print this, or after a command what that command takes (also -h)",
    "--version": "print the version; with --verbose those of all parts, for a bug report",
    "--verbose": "with any command: log its steps on standard error; DIVULGE_LOG=debug logs "
    "statements too",
    "--value-free": "with any command: column names and numbers, no value of a cell; also "
    "DIVULGE_VALUE_FREE=1",
    "--install-completion": "let the shell complete commands, options and columns; after it "
    "bash, zsh or fish",
    "--show-completion": "print the lines that do so, to put them where you like; after it bash, "
    "zsh or fish",
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


class Interrupted(DivulgeError):
    """The user pressed Ctrl-C."""

    exit_code = 130


class Bug(DivulgeError):
    """A bug of divulge; it has its own exit code, because 1 means a violated policy."""

    exit_code = InternalError.exit_code


def _bug() -> Bug:
    """Return the error that is printed below a traceback."""
    return Bug("this is a bug in divulge, not in your data: please report it with the lines above")


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    with redaction.sieved(arguments, _takes_json) as command_line:
        try:
            return _run(command_line)
        except Exception as error:
            if not values_hidden():
                raise
            redaction.tell_where(error)
            return _fail(_bug(), command_line)


def _takes_json(arguments: Sequence[str]) -> bool:
    """Return True if the arguments name a command with the option --json."""
    if not arguments or arguments[0] not in COMMANDS:
        return False
    from divulge.cli.program import Program

    return "json" in Program(COMMANDS, OPTIONS).flags(arguments)


def _run(command_line: list[str]) -> int:
    try:
        code = _dispatch(command_line)
        sys.stdout.flush()  # output that cannot be written is a failure
    except DivulgeError as error:
        return _fail(error, command_line)
    except KeyboardInterrupt:
        return _fail(Interrupted("interrupted"), command_line)
    except OSError as error:
        # A missing folder, a full disk, no permission: the system's message is clearer than a
        # traceback. Arrow adds words of its own to that message.
        if error.errno:
            what = os.strerror(error.errno)
        else:
            what = str(error)
        if error.errno == errno.ENOSPC:
            hint = "Make room there, or write to another folder"
        else:
            hint = ""
        return _fail(
            BadInput(f"{error.filename}: {what}" if error.filename else what, hint=hint),
            command_line,
        )
    except MemoryError as error:
        return _fail(_no_memory(str(error)), command_line)
    except RuntimeError as error:
        if str(error) != "can't start new thread":  # a thread needs memory, too
            raise
        return _fail(_no_memory(str(error)), command_line)
    return code


def _no_memory(detail: str) -> BadInput:
    return BadInput(
        f"memory ran out{f': {detail}' * bool(detail)}",
        hint="Give --memory-limit, below what this machine has, so that what needs more goes to "
        "disk",
    )


def _dispatch(arguments: list[str]) -> int:
    """Answer options of the program directly, or run a command.

    The help does not import Typer, which takes longer to load than the help takes to read.
    """
    if arguments:
        name = arguments[0]
    else:
        name = "--help"
    if os.environ.get("_DIVULGE_COMPLETE"):
        from divulge.cli import completion, program

        completion.answer_shell(program.Program(COMMANDS, OPTIONS))
    elif name in ("-h", "--help"):
        help_text = _HELP.format(commands=_listed(COMMANDS), options=_listed(OPTIONS))
        sys.stdout.write(redaction.vouch(help_text))
        if arguments:
            return 0
        return 2
    elif name == "--version":
        versions = f"divulge {__version__}\n"
        if "--verbose" in arguments:
            versions += "".join(f"{part} {version}\n" for part, version in _versions().items())
        sys.stdout.write(redaction.vouch(versions))
    elif name in ("--install-completion", "--show-completion"):
        _completion(name, *arguments[1:2])
    elif name.startswith("-"):
        raise BadInput(f"there is no option {name!r}", hint=nearest(name, OPTIONS))
    else:
        return _run_command(arguments)
    return 0


def _versions() -> dict[str, str]:
    """Return the versions of Python, the system and installed dependencies, for a bug report."""
    import platform
    import re
    from importlib import metadata

    requirements = [
        line for line in metadata.requires("divulge") or () if not re.search(r"extra == .dev", line)
    ]
    package_names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements)
    versions = {
        "Python": platform.python_version(),
        platform.system(): f"{platform.release()} {platform.machine()}",
    }
    for name in sorted(set(package_names), key=str.lower):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _listed(texts_by_name: Mapping[str, str]) -> str:
    width = max(map(len, texts_by_name))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in texts_by_name.items())


def _completion(option: str, shell: str | None = None) -> None:
    from divulge.cli import completion

    if option == "--show-completion":
        sys.stdout.write(redaction.vouch(f"{completion.completion_script(shell)}\n"))
    else:
        path = completion.install_completion(shell)
        message = (
            f"completion installed in {path}; it works in every shell that is started from now on\n"
        )
        sys.stdout.write(redaction.vouch(message))


def _run_command(arguments: list[str]) -> int:
    import typer

    from divulge.cli.program import NAME, Program

    # Newer versions of Typer bundle their own click, so click's base error is taken from the
    # ancestors of BadParameter.
    usage_error: Any = typer.BadParameter.__mro__[2]
    program = Program(COMMANDS, OPTIONS)
    try:
        with progress.followed(arguments) as command_line, worded_by(program.front_end(arguments)):
            result = program.main(command_line, prog_name=NAME, standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:
        message = error.format_message()
        if error.ctx:
            path = error.ctx.command_path
        else:
            path = NAME
        if not message:  # no arguments at all: help, not an error line
            sys.stdout.write(f"{error.ctx.get_help()}\n")
            return 2
        if hasattr(error, "possibilities"):  # an option that does not exist
            near = " or ".join(error.possibilities or ())
            if near:
                hint = f"did you mean {near}?"
            else:
                hint = f"{path} --help lists them"
            raise BadInput(f"{path} has no option {error.option_name}", hint=hint) from None
        raise BadInput(
            _with_marked_words(message.rstrip(".")),
            hint="" if message.endswith("?") else f"{path} --help tells more",
        ) from None
    # newer versions of Typer return the exit code of Ctrl-C without an error
    if result == Interrupted.exit_code:
        raise KeyboardInterrupt
    if isinstance(result, int):
        return result
    return 0


def _with_marked_words(message: str) -> str:
    """Mark the words of a line that a message about the command line repeats in parentheses."""
    return re.sub(r"\(([^()]*)\)", lambda match: f"({outside(match[1])})", message)


def _fail(error: DivulgeError, arguments: Sequence[str]) -> int:
    """Print an error as one line, and as one JSON object with --json; return its exit code."""
    if arguments and arguments[0] in COMMANDS:
        from divulge.cli.program import Program

        spelling = Program(COMMANDS, OPTIONS).front_end(arguments).spelling
        error.word(lambda text: spelled(text, spelling))
    sys.stderr.write(redaction.vouch(f"divulge: {error}\n"))
    if redaction.json_wanted(arguments):
        from divulge.cli.options import emit_json

        emit_json(error.document())
    return error.exit_code


class Output(io.TextIOWrapper):
    """Standard output without encoding errors and without errors after its reader has left.

    A reader that leaves (`| head`) changes no exit code: the verdict of a policy check counts even
    if nobody reads the output.
    """

    def write(self, text: str) -> int:
        """Write a text, and record that standard output is not empty."""
        signals.begin_output()
        try:
            return super().write(text)
        except BrokenPipeError:
            return self._nobody_reads(len(text))

    def flush(self) -> None:
        """Flush, ignoring a reader that has left."""
        try:
            super().flush()
        except BrokenPipeError:
            self._nobody_reads(0)

    def _nobody_reads(self, exit_code: int) -> int:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return exit_code


def main() -> None:
    """Entry point of the installed program."""
    signals.install(json_output="--json" in sys.argv)
    # If a stream was closed, the next opened file would get its descriptor, and receive output
    # meant for the stream.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        at_once = sys.stdout.line_buffering
        encoding = sys.stdout.encoding
        sys.stdout = Output(
            sys.stdout.detach(), encoding, "backslashreplace", line_buffering=at_once
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    code: list[int] = []
    atexit.register(_leave, code)  # registered first, so that it is called last
    try:
        _load(*sys.argv[1:2])
        code.append(run(sys.argv[1:]))
    except KeyboardInterrupt:
        code.append(_fail(Interrupted("interrupted"), sys.argv[1:]))
    except Exception:  # noqa: BLE001 - the outermost edge
        traceback.print_exc()
        code.append(_fail(_bug(), sys.argv[1:]))
    signals.finish(code[0])
    sys.exit(code[0])


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _load(name: str = "") -> None:
    """Import a command's module, without garbage collection: none of it becomes garbage."""
    if name not in COMMANDS:
        return
    gc.disable()
    try:
        if name != "studio":  # the server of the studio opens no table
            from divulge import arrays

            arrays.leave_pandas_out()
        importlib.import_module(f"divulge.cli.{name}")
    finally:
        gc.enable()


def _leave(code: Sequence[int]) -> None:
    """Exit at once after all output is written and all other handlers have run.

    Python would otherwise tear down every module, which takes a tenth of the time of a small table.
    """
    if code:
        left = code[0]
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                # a second flush would find nothing left to write, and succeed
                left = left or BadInput.exit_code
        os._exit(left)
