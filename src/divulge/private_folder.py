# SPDX-License-Identifier: Apache-2.0
"""Private directories for data that does not fit into memory or came from outside.

Only the owner can read them, and they are never left behind. A directory is removed with the engine
or the studio that made it. If the process was killed, the next process that starts in the same
place removes it. Each directory holds a file that its owner keeps locked until the owner dies,
however it dies. (Windows has no such locks.)
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from divulge import interrupts
from divulge.arguments import arg_name
from divulge.errors import BadInput

if sys.platform != "win32":
    import fcntl
PREFIX = "divulge-"
_LOCK = "owner.lock"


class Scratch:
    """Private directory (mode 0700) inside `parent` (default: the system's temporary directory)."""

    def __init__(self, parent: str | Path | None = None) -> None:
        if parent is not None:
            where = Path(parent)
        else:
            where = Path(tempfile.gettempdir())
        remove_stale(where)
        with interrupts.defer_signals():
            try:
                self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
            except OSError as error:
                message = f"no temporary directory can be made in {where}: {error.strerror}"
                raise BadInput(
                    message, hint=f"Give another {arg_name('temp_directory')}"
                ) from error
            self._owner = os.getpid()
            self._lock = _lock_new_directory(self.directory)
            self._forget = interrupts.register(
                functools.partial(_remove_busy_directory, self.directory)
            )

    def is_in_temp_directory(self) -> bool:
        """Report whether it still exists inside the system's current temporary directory."""
        return self.directory.parent == Path(tempfile.gettempdir()) and self.directory.is_dir()

    def is_clean(self) -> bool:
        """Report whether it is empty: no copy of a table, and no spilled data."""
        return all(entry.name == _LOCK for entry in self.directory.iterdir())

    def remove(self) -> None:
        """Remove the directory, unless this is a forked copy of the process that owns it."""
        if os.getpid() == self._owner:
            with interrupts.defer_signals():
                shutil.rmtree(self.directory, ignore_errors=True)
                self._forget()
                if self._lock is not None:
                    os.close(self._lock)
                    self._lock = None


def _remove_busy_directory(directory: Path) -> None:
    """Remove a directory to which threads of an engine may still write.

    Tries again until the directory is gone or a second has passed.
    """
    end = time.monotonic() + 1.0
    shutil.rmtree(directory, ignore_errors=True)
    while directory.exists() and time.monotonic() < end:
        time.sleep(0.01)
        shutil.rmtree(directory, ignore_errors=True)


@functools.cache
def remove_stale(parent: Path) -> None:
    """Remove our directories whose owners have died; runs once for each parent directory."""
    if sys.platform == "win32":
        return
    for directory in parent.glob(f"{PREFIX}*"):
        descriptor = _lock_stale_directory(directory)
        if descriptor is not None:
            shutil.rmtree(directory, ignore_errors=True)
            os.close(descriptor)


def _lock_new_directory(directory: Path) -> int | None:
    """Lock a new directory.

    The lock file gets its final name only when it is locked. No other process can take a new
    directory for a stale one.
    """
    if sys.platform == "win32":
        return None
    unnamed = directory / f"{_LOCK}.new"
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unnamed.rename(directory / _LOCK)
    return descriptor


def _lock_stale_directory(directory: Path) -> int | None:
    """Lock one of our directories that has no living owner; return None for all others."""
    if sys.platform == "win32":
        return None
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.getuid():
            return None
        descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # it has another owner, or it was removed meanwhile
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its owner is alive
        os.close(descriptor)
        return None
    return descriptor
