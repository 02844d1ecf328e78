# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP: clean up, print one line, exit with code 130, 143 or 129.

Staged files are removed. No exception is raised at the current statement. An exception would be
lost in callbacks of DuckDB and pyarrow and in finalizers, and code that does not expect it would
take it for a bug. Only standard modules are imported here, so that the handlers are in place before
the program loads anything else.

Python calls a handler between two steps of the main thread. If that thread stays in a library for
longer than a second, a thread of our own ends the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from divulge import interrupts

_NAMES = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "the terminal was closed"}
_MESSAGES = {
    getattr(signal, name): message for name, message in _NAMES.items() if hasattr(signal, name)
}
_HANDLER_SECONDS = 1.0
"""Seconds that the main thread has to call its handler."""
_CHILD_SECONDS = 10.0
"""Seconds that a child process, such as Spark's Java, has to remove its own files."""


class _State:
    """Progress of the program, as far as a signal handler needs it."""

    owner = 0
    announces = True
    json_output = False
    output_begun = False
    """True once standard output holds something, so that no JSON object may follow."""
    exit_code: int | None = None
    """Exit code of a command that is done."""
    stderr = 2
    """A copy of standard error, which is redirected while Spark starts."""
    leaving = threading.Lock()
    leaver: int | None = None


def install(*, announces: bool = True, json_output: bool = False) -> None:
    """Handle these signals from now on, except those that the parent process wants ignored.

    Args:
        announces: Whether one line is printed.
        json_output: Whether one JSON object is printed as well, unless standard output already
            holds one.
    """
    if _State.owner == os.getpid() or threading.current_thread() is not threading.main_thread():
        return
    _State.owner = os.getpid()
    _State.announces = announces
    _State.json_output = json_output
    with contextlib.suppress(OSError):  # it is closed
        _State.stderr = os.dup(2)
    ours = [
        number
        for number in _MESSAGES
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    ]

    def install_handlers() -> None:
        for number in ours:
            signal.signal(number, _handle)

    interrupts.remember_handlers(install_handlers)
    install_handlers()
    _start_watchdog()


def begin_output() -> None:
    """Remember that standard output is not empty any more."""
    _State.output_begun = True


def finish(exit_code: int) -> None:
    """Remember that the command is done.

    A later signal changes neither its output nor its exit code.
    """
    _State.exit_code = exit_code


def _handle(number: int, frame: FrameType | None) -> None:
    del frame
    if os.getpid() != _State.owner:  # a forked child, which owns nothing
        os._exit(128 + number)
    if not interrupts.when_released(lambda: _exit_process(number)):
        _exit_process(number)


def _start_watchdog() -> None:
    """Start the thread that ends the process if the main thread does not handle the signal."""
    if sys.platform == "win32":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def wait() -> None:
        while received := os.read(reading, 1):
            number = received[0]
            time.sleep(_HANDLER_SECONDS)
            if signal.getsignal(number) is _handle:
                _handle(number, None)

    threading.Thread(target=wait, name="divulge-signals", daemon=True).start()


def _exit_process(number: int) -> None:
    """Remove, announce, end.

    A second signal waits here in vain, or returns to the first one's removal.
    """
    if not _State.leaving.acquire(blocking=False):
        if _State.leaver == threading.get_ident():
            return
        while True:
            time.sleep(1.0)
    _State.leaver = threading.get_ident()
    _end_children()
    interrupts.remove_all()
    if _State.exit_code is not None:
        _flush()
        os._exit(_State.exit_code)
    if _State.announces:
        _announce(128 + number, "; ".join([_MESSAGES[signal.Signals(number)], *interrupts.notes]))
    os._exit(128 + number)


def _announce(exit_code: int, message: str) -> None:
    """Write one line to standard error, and one JSON object to standard output if required.

    The JSON object is required if JSON is wanted and nothing was written yet.
    """
    _flush()
    line = f"divulge: {message}\n"
    with contextlib.suppress(OSError, ValueError):
        if os.isatty(_State.stderr):
            line = f"\r\x1b[2K\x1b[?25h{line}"  # clear the progress bar and show the cursor again
        os.write(_State.stderr, line.encode("ascii", "backslashreplace"))
    if _State.json_output and not _State.output_begun:
        document = {"error": message, "hint": "", "exit_code": exit_code}
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(document).encode() + b"\n")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # interrupted in the middle of a write, or closed
            stream.flush()


# --- child processes ------------------------------------------------------------------------------
def _end_children() -> None:
    """End the child processes of this one: Spark's Java, pip, the workers of the studio.

    They remove their own files.
    """
    children = _children()
    _send(children, signal.SIGTERM)
    end = time.monotonic() + _CHILD_SECONDS
    while children and time.monotonic() < end:
        children = [pid for pid in children if _is_alive(pid)]
        time.sleep(0.02 if children else 0.0)
    if children:
        _send(children, signal.SIGKILL)


def _children() -> list[int]:
    """Return the direct child processes, where the system lists them in /proc."""
    children: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            children += [int(pid) for pid in path.read_text(encoding="ascii").split()]
    return children


def _send(children: list[int], number: int) -> None:
    send: Callable[[int, int], None] = os.kill
    for pid in children:
        with contextlib.suppress(OSError):
            send(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:  # another thread has waited for it
        return Path(f"/proc/{pid}").exists()
    except OSError:
        return False
