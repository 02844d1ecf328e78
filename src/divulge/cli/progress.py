# SPDX-License-Identifier: Apache-2.0
"""Progress: bars and elapsed time on a terminal, and the log of steps.

Everything that takes longer than two seconds shows something. There is one line on the screen, and
the more informative display takes it: first a bar that counts pieces of work, then a bar of an
engine's statement, then the pulse. The pulse shows the last logged step and the time since the
start of the command. Steps are logged to `logging.getLogger("divulge")`: a step at INFO, a
statement at DEBUG.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from divulge.cli import redaction
from divulge.errors import BadInput

OPTION = "--verbose"
VARIABLE = "DIVULGE_LOG"
LOG = logging.getLogger("divulge")
LEVELS = ("debug", "info", "warning", "error")
PATIENCE = 2.0
"""Seconds without a bar until the pulse is shown."""
_BEAT = 0.2


class _Shown(NamedTuple):
    """The display that currently has the line of the screen."""

    owner: object
    rank: int


class _Screen:
    """The line at the bottom of a terminal, which shows one display at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shown: _Shown | None = None
        self._bar: Any = None
        self.quiet_since = time.monotonic()

    def tell(
        self, owner: object, rank: int, what: str, done: int = 0, total: int | None = None
    ) -> None:
        """Show the progress of something, unless a display of higher rank is shown."""
        with self._lock:
            if self._shown is None or self._shown.rank < rank:
                self.clear()
                self._begin()
                self._shown = _Shown(owner, rank)
            if self._shown.owner is owner:
                self._bar.update(
                    self._bar.task_ids[0], description=what, completed=done, total=total
                )

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.add_task("", total=None)
        self._bar.start()

    def leave(self, owner: object, done: int | None = None) -> None:
        """End a display; `done` is the last count that it shows."""
        with self._lock:
            if self._shown is not None and self._shown.owner is owner:
                if done is not None:
                    self._bar.update(self._bar.task_ids[0], completed=done)
                self.clear()

    def clear(self) -> None:
        """Clear the line, so that something can be printed."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._shown = None
            self.quiet_since = time.monotonic()


SCREEN = _Screen()


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on standard error for long work, and yield its callback of (done, total).

    The callback is None if standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    owner = object()
    SCREEN.tell(owner, 3, what)
    try:
        yield lambda done, total: SCREEN.tell(owner, 3, what, done, total)
    finally:
        SCREEN.leave(owner)


def statement_bar() -> Callable[[int, int], None] | None:
    """Return the callback of a bar for long statements, which an engine calls.

    It is None if standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        return None
    owner = object()

    def tell(done: int, total: int) -> None:
        if done < total:
            SCREEN.tell(owner, 2, "counting", done, total)
        else:
            SCREEN.leave(owner, total)

    return tell


# --- the pulse and the log ------------------------------------------------------------------------
@contextmanager
def followed(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the arguments without --verbose; log steps and show the pulse meanwhile."""
    command_line = [word for word in arguments if word != OPTION]
    last = _LastStep()
    with _logging(_level(verbose=len(command_line) < len(arguments)), last), _pulse(last):
        yield command_line


def _level(*, verbose: bool) -> int | None:
    level_name = os.environ.get(VARIABLE, "").lower()
    if level_name and level_name not in LEVELS:
        raise BadInput(f"{VARIABLE} is {level_name!r}", hint=f"it is one of {', '.join(LEVELS)}")
    if level_name:
        level_numbers = [logging.getLevelNamesMapping()[level_name.upper()]]
    else:
        level_numbers = []
    return min([*level_numbers, *([logging.INFO] if verbose else [])], default=None)


class _LastStep(logging.Handler):
    """Keeps the last logged message."""

    text = "at work"

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message of a step."""
        if record.levelno >= logging.INFO:
            self.text = record.getMessage()


@contextmanager
def _logging(level: int | None, last: _LastStep) -> Iterator[None]:
    """Log lines to standard error if a level is set; the pulse receives steps in any case."""
    handlers: list[logging.Handler] = [last]
    if level is not None:
        lines = logging.StreamHandler(sys.stderr)
        lines.setLevel(level)
        lines.setFormatter(redaction.LogFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        handlers.append(lines)
    before = LOG.level
    for handler in handlers:
        LOG.addHandler(handler)
    LOG.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        LOG.setLevel(before)
        for handler in handlers:
            LOG.removeHandler(handler)


@contextmanager
def _pulse(last: _LastStep) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    owner = object()
    began = time.monotonic()
    SCREEN.quiet_since = began

    def beat() -> None:
        while not done.wait(_BEAT):
            if time.monotonic() - SCREEN.quiet_since >= PATIENCE:
                # an error of the pulse must not end the command
                with contextlib.suppress(Exception):
                    SCREEN.tell(owner, 1, f"{last.text} ({time.monotonic() - began:.0f} s)")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        SCREEN.leave(owner)
