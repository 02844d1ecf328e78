# SPDX-License-Identifier: Apache-2.0
"""Private directories for what does not fit into memory, or came from outside: readable to their owner only, and never left behind.

A directory goes away with the engine or the studio that made it. Where the process was killed, the next one that starts in the same place
removes it: it holds a file that its owner keeps locked until it dies, however it dies. (Windows has no such locks.)
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path

from divulge.errors import BadInput

if sys.platform != "win32":
    import fcntl
PREFIX = "divulge-"
_LOCK = "owner.lock"


class Scratch:
    """One private directory (mode 0700) inside `parent` or, by default, the system's directory for temporary files."""

    def __init__(self, parent: str | Path | None = None) -> None:
        where = Path(parent) if parent is not None else Path(tempfile.gettempdir())
        remove_stale(where)
        try:
            self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
        except OSError as error:
            told = f"no temporary directory can be made in {where}: {error.strerror}"
            raise BadInput(told, hint="Give another temp_directory") from error
        self._owner = os.getpid()
        self._lock = _lock_new(self.directory)

    def is_at_home(self) -> bool:
        """Whether it is still there, in what is the system's directory for temporary files by now."""
        return self.directory.parent == Path(tempfile.gettempdir()) and self.directory.is_dir()

    def is_clean(self) -> bool:
        """Whether nothing was left in it: no copy of a table, and nothing that was spilled."""
        return all(entry.name == _LOCK for entry in self.directory.iterdir())

    def remove(self) -> None:
        """Take the directory away, unless this is a forked copy of the process that owns it."""
        if os.getpid() == self._owner:
            shutil.rmtree(self.directory, ignore_errors=True)
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


@functools.cache
def remove_stale(parent: Path) -> None:
    """Remove the directories of ours whose owners have died; once for each place."""
    if sys.platform == "win32":
        return
    for directory in parent.glob(f"{PREFIX}*"):
        held = _lock_left_behind(directory)
        if held is not None:
            shutil.rmtree(directory, ignore_errors=True)
            os.close(held)


def _lock_new(directory: Path) -> int | None:
    """Lock the directory; the lock file gets its name only when it is locked, so nobody takes a new directory for a stale one."""
    if sys.platform == "win32":
        return None
    unnamed = directory / f"{_LOCK}.new"
    held = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    unnamed.rename(directory / _LOCK)
    return held


def _lock_left_behind(directory: Path) -> int | None:
    """The lock of a directory that is ours and has no living owner; None for every other."""
    if sys.platform == "win32":
        return None
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.getuid():
            return None
        held = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # it is somebody else's, or it went away meanwhile
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its owner lives
        os.close(held)
        return None
    return held
