# SPDX-License-Identifier: Apache-2.0
"""Files and folders that a process must not leave behind when a signal ends it.

A program that handles signals (`divulge.signals`) does not raise an exception wherever Python
happens to be. It calls `remove_all` and ends the process. What has to be removed is registered here
when it is made. Code that makes or removes such a thing, or renames a release into place, is
wrapped in `defer_signals`: a signal waits until that code is done.

In a program that does not handle signals this way, such as a notebook, nothing here changes what
Ctrl-C does.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

Resource = TypeVar("Resource")
Arguments = ParamSpec("Arguments")
_LOCK = threading.RLock()
"""Reentrant, because a handler of signals may run while its own thread holds the lock."""
_removals: dict[object, Callable[[], object]] = {}
notes: list[str] = []
"""Sentences about what is already public or written.

They keep a user from assuming that an interrupted command changed nothing.
"""


class _State:
    """Number of code blocks that signals wait for, and the action that follows them."""

    holders = 0
    on_release: Callable[[], None] | None = None
    restore: Callable[[], None] | None = None


# --- what is to be removed ------------------------------------------------------------------------
def register(removal: Callable[[], object]) -> Callable[[], None]:
    """Have something removed if a signal ends the process.

    Returns:
        A function to call once the thing was removed in another way.
    """
    key = object()
    with _LOCK:
        _removals[key] = removal
    return lambda: _forget(key)


def _forget(key: object) -> None:
    with _LOCK:
        _removals.pop(key, None)


def remove_all() -> None:
    """Remove all that is registered, the newest first.

    An error keeps nothing else from being removed.
    """
    with _LOCK:
        removals = list(_removals.values())
        _removals.clear()
    for removal in reversed(removals):
        with contextlib.suppress(Exception):
            removal()


# --- code that a signal waits for -----------------------------------------------------------------
@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Let signals wait until this is closed."""
    with _LOCK:
        _State.holders += 1
    try:
        yield
    finally:
        with _LOCK:
            _State.holders -= 1
            if _State.holders == 0:
                waiting = _State.on_release
            else:
                waiting = None
        if waiting is not None:
            waiting()


def when_released(act: Callable[[], None]) -> bool:
    """Schedule `act` for the moment when no code block is held any more.

    Returns:
        False if nothing is held now; `act` is not scheduled then.
    """
    with _LOCK:
        if _State.holders == 0:
            return False
        _State.on_release = act
        return True


@contextlib.contextmanager
def guard(resource: AbstractContextManager[Resource]) -> Iterator[Resource]:
    """Enter a context manager that is also closed if a signal ends the process.

    Signals wait while it is opened and closed.
    """
    stack = contextlib.ExitStack()
    with defer_signals():
        value = stack.enter_context(resource)
        forget = register(stack.close)
    try:
        yield value
    finally:
        with defer_signals():
            forget()
            stack.__exit__(*sys.exc_info())


def guarded(
    open_resource: Callable[Arguments, AbstractContextManager[Resource]],
) -> Callable[Arguments, AbstractContextManager[Resource]]:
    """Decorate a function that returns a context manager, so that a signal closes it too."""

    @functools.wraps(open_resource)
    def opened(
        *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> AbstractContextManager[Resource]:
        return guard(open_resource(*args, **kwargs))

    return opened


# --- handlers that libraries replace --------------------------------------------------------------
def remember_handlers(restore: Callable[[], None]) -> None:
    """Remember how the program's handlers of signals are installed."""
    _State.restore = restore


def restore_handlers() -> None:
    """Install the program's handlers again after a library such as pyspark has replaced them."""
    if _State.restore is not None and threading.current_thread() is threading.main_thread():
        _State.restore()
