# SPDX-License-Identifier: Apache-2.0
"""A private folder beside the target, and the one step that makes what is in it public.

    .NAME.divulge-XXXXXXXX/     private (mode 0700), locked by the process that works in it
        release/                what will be NAME
        replaced/               what was NAME, for the moment between two renames

The move is a rename within one file system, so a process that dies at any moment leaves either nothing at the target or all of it. A folder
whose owner is dead can be told by its lock, which the system takes away with the process: the next run for the same target
removes it, and puts `replaced` back if the process died between the two renames.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from divulge.errors import BadInput

_MARK = ".divulge-"
_ATTEMPTS = 10
Replaceable = Callable[[Path], None]
"""Raises if what stands at the target is not to be replaced."""


@dataclass(frozen=True)
class Staging:
    """A release in the making."""

    target: Path
    private: Path
    replaceable: Replaceable | None = None

    @property
    def folder(self) -> Path:
        """Where the files of the release are written."""
        return self.private / "release"

    @property
    def replaced(self) -> Path:
        """Where the release that stood at the target waits until the new one is in place."""
        return self.private / "replaced"

    def move_into_place(self) -> None:
        """Make the release public; everything in it is on the disk before its name is."""
        for parent, _, names in os.walk(self.folder):
            for name in names:
                sync(Path(parent, name))
            sync(Path(parent))
        replaces = self.has_to_replace()
        try:
            if replaces:
                self.target.rename(self.replaced)
                sync(self.target.parent)
            self.folder.rename(self.target)
        except OSError as error:
            raise BadInput(f"the release cannot be moved to {self.target}: {error.strerror}") from error
        sync(self.target.parent)

    def has_to_replace(self) -> bool:
        """Whether something stands at the target; refused if it must stay there."""
        if not _is_taken(self.target):
            return False
        if self.replaceable is None:
            hint = "Name another folder, or replace the release with force=True"
            raise BadInput(f"{self.target} exists already", hint=hint)
        self.replaceable(self.target)
        return True


@contextlib.contextmanager
def stage(out: str | Path, *, replaceable: Replaceable | None = None) -> Iterator[Staging]:
    """A private folder for a release that is to stand at `out`; an existing target is refused unless it is `replaceable`.

    Whatever happens inside, nothing is left beside the target afterwards.
    """
    check_target(out, replaceable=replaceable)
    target = _checked_target(Path(out))
    private, lock = _private_folder(target)
    staging = Staging(target, private, replaceable)
    try:
        staging.folder.mkdir()
        yield staging
    finally:
        _restore(staging)
        _remove(private, lock)


def check_target(out: str | Path, *, replaceable: Replaceable | None = None) -> None:
    """Refuse a target as `stage` would, before any long work; what a dead run left there is put in order first."""
    target = _checked_target(Path(out))
    _clean(target)
    Staging(target, target, replaceable).has_to_replace()


def _checked_target(out: Path) -> Path:
    target = out.expanduser().absolute()
    if target.is_symlink():
        raise BadInput(f"{out} is a link", hint="Name the folder itself")
    if target.exists() and not target.is_dir():
        raise BadInput(f"{out} is a file", hint="A release is a folder: name one that does not exist yet")
    if not target.name or not target.parent.is_dir():
        raise BadInput(f"{out} cannot be made: its parent folder does not exist", hint="Make the parent folder first")
    return target


def _is_taken(target: Path) -> bool:
    """An empty folder is as good as none: a rename takes its place."""
    return target.is_dir() and any(target.iterdir())


def _private_folder(target: Path) -> tuple[Path, int | None]:
    """A new folder that only we may enter, and its lock; another run may take it for a dead one's before we hold the lock."""
    for _ in range(_ATTEMPTS):
        try:
            private = Path(tempfile.mkdtemp(prefix=f".{target.name}{_MARK}", dir=target.parent))
        except OSError as error:
            raise BadInput(f"nothing can be written in {target.parent}: {error.strerror}") from error
        try:
            lock = _lock(private)
        except (BlockingIOError, FileNotFoundError):
            continue
        if private.is_dir():
            return private, lock
        _remove(private, lock)
    raise BadInput(f"other runs write to {target} at the same time", hint="Wait for them, or name another folder")


def _clean(target: Path) -> None:
    """Remove what dead runs for the same target left behind; a release that one of them moved aside comes back."""
    for private in sorted(target.parent.glob(f".{glob.escape(target.name)}{_MARK}*")):
        try:
            lock = _lock(private)
        except (BlockingIOError, FileNotFoundError):
            continue  # its owner is alive, or has just removed it
        if lock is not None:
            _restore(Staging(target, private))
            _remove(private, lock)


def _restore(staging: Staging) -> None:
    """Put the old release back if the new one did not arrive."""
    if staging.replaced.is_dir() and not _is_taken(staging.target):
        staging.replaced.rename(staging.target)
        sync(staging.target.parent)


def _lock(folder: Path) -> int | None:
    """Lock a folder; None where the system cannot lock folders, and then nobody can tell whether an owner is alive."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None  # some network file systems
    return descriptor


def _remove(private: Path, lock: int | None) -> None:
    shutil.rmtree(private, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def sync(path: Path) -> None:
    """Have the system write a file or a folder's entries to the disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows does not open folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
