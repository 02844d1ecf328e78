# SPDX-License-Identifier: Apache-2.0
"""Staging folders next to the target, and the renames that put both parts of a release in place.

    .NAME.divulge-XXXXXXXX/     mode 0700, locked by the process that works in it
        journal.json            the planned renames, written before the first rename
        release/                the future NAME
        private/                the future NAME.private
        replaced/               the old NAME, until the new release is in place
        replaced.private/       the old NAME.private, until the new release is in place

A private part that goes to another folder (`private_dir`) is staged next to that place, in
`.PRIVATE.divulge.private-XXXXXXXX/`.

Order of the renames: the old release leaves, then its private part; the new private part arrives,
then the new release. The last rename is the commit. So a release never exists without its private
part, even if the process dies. A staging folder whose owner is dead is recognized by its lock: the
system releases it with the process. The next run for the same target undoes renames that were not
committed, and removes the staging folder.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import interrupts
from divulge.arguments import arg
from divulge.errors import BadInput

SUFFIX = ".private"
"""The private part of a release is next to it and has its name with this suffix."""
_STAGING_MARK = ".divulge-"
_PRIVATE_STAGING_MARK = ".divulge.private-"
_JOURNAL = "journal.json"
_OWNER = "owner.json"
_MANIFEST = "manifest.json"
_MAX_FOLDER_ATTEMPTS = 10
_PLACEMENT_SECONDS = 60.0
_LOCK_POLL_SECONDS = 0.01
_ADDRESS_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""An address of a store or database; `Path` makes one slash of two.

A drive of Windows has one letter.
"""
Replaceable = Callable[[Path, Path], Path]
"""Returns the private part of the release at a target.

Raises an error if the release must not be replaced.
"""


def private_place(release: str | Path, private_dir: str | Path | None = None) -> Path:
    """Return the folder of a release's private part: the named one, else next to the release.

    >>> private_place("/data/release/").as_posix()
    '/data/release.private'
    """
    if private_dir is not None:
        return _absolute(Path(private_dir))
    path = _absolute(Path(release))
    folder = path.with_name(path.name + SUFFIX)
    if path.is_symlink() and not folder.exists():
        resolved = path.resolve()
        return resolved.with_name(resolved.name + SUFFIX)
    return folder


def readable_parent(private_part: Path) -> Path | None:
    """Return the folder around a private part if other users can list it.

    None if they cannot, or if the system has no modes.
    """
    if os.name != "posix":
        return None
    parent = private_part.parent
    if parent.is_dir() and parent.stat().st_mode & 0o055:
        return parent
    return None


@dataclass(frozen=True)
class Staging:
    """A release that is being written."""

    target: Path
    private_target: Path
    root: Path
    """The staging folder next to the target."""
    private_root: Path
    """The staging folder next to the target of the private part.

    It equals `root` if both targets are in one folder.
    """
    replaceable: Replaceable | None = None

    @property
    def folder(self) -> Path:
        """Folder for the files that may be shared."""
        return self.root / "release"

    @property
    def private_folder(self) -> Path:
        """Folder for the private files."""
        return self.private_root / "private"

    def move_into_place(self) -> None:
        """Put both parts in place; everything in them is on the disk before the first rename."""
        for folder in (self.folder, self.private_folder):
            _sync_tree(folder)
        with _placement_lock(self.target.parent, self.private_target.parent):
            _clean_dead_runs(self.target, self.private_target)
            old_private = self.check()
            try:
                self._write_journal(old_private)
                self._rename(old_private)
            except OSError as error:
                settle(self.root)
                raise BadInput(
                    f"the release cannot be moved to {self.target}: {error.strerror}"
                ) from error

    def check(self) -> Path | None:
        """Return the private part that is replaced with the release at the target.

        None if both targets are free.
        """
        if not _has_entries(self.target):
            if _has_entries(self.private_target):
                raise BadInput(
                    f"{self.private_target} exists already, and its release is not at "
                    f"{self.target}",
                    hint="If its release was moved, move it too; if its release was removed, "
                    "remove it; or name another folder",
                )
            return None
        if self.replaceable is None:
            hint = f"Name another folder, or replace the release with {arg('force', value=True)}"
            raise BadInput(f"{self.target} exists already", hint=hint)
        old_private = self.replaceable(self.target, self.private_target)
        if old_private != self.private_target and _has_entries(self.private_target):
            message = (
                f"{self.private_target} exists already, and belongs to another release than "
                f"{self.target}"
            )
            raise BadInput(message, hint="Name another folder for the private part")
        return old_private

    def _write_journal(self, old_private: Path | None) -> None:
        document = {
            "state": "placing",
            "target": str(self.target),
            "private": str(self.private_target),
            "private_staging": str(self.private_root),
            "release_id": release_id_of(self.private_folder),
            "replaced_private": None if old_private is None else str(old_private),
            "replaced_id": None if old_private is None else release_id_of(old_private),
        }
        _write_json(self.root / _JOURNAL, document)

    def _rename(self, old_private: Path | None) -> None:
        if old_private is not None:
            self.target.rename(self.root / "replaced")
            sync(self.target.parent)
            old_private.rename(
                _replaced_private_path(old_private, self.target, self.root, self.private_root)
            )
            sync(old_private.parent)
        self.private_folder.rename(self.private_target)
        sync(self.private_target.parent)
        self.folder.rename(self.target)
        sync(self.target.parent)


@interrupts.guarded
@contextlib.contextmanager
def stage(
    out: str | Path,
    *,
    private_dir: str | Path | None = None,
    replaceable: Replaceable | None = None,
) -> Iterator[Staging]:
    """Make staging folders for a release that is to be at `out`, and remove them afterwards.

    An existing release is an error unless it is `replaceable`.
    """
    check_target(out, private_dir=private_dir, replaceable=replaceable)
    target, private_target = _checked_targets(out, private_dir)
    with contextlib.ExitStack() as locks:
        root = _new_folder(target.parent, f".{target.name}{_STAGING_MARK}", locks)
        private_root = root
        if private_target.parent != target.parent:
            private_root = _new_folder(
                private_target.parent, f".{private_target.name}{_PRIVATE_STAGING_MARK}", locks
            )
        staging = Staging(target, private_target, root, private_root, replaceable)
        try:
            with _report_write_errors(target.parent):
                if private_root != root:
                    _write_json(private_root / _OWNER, {"staging": str(root)})
                _write_json(
                    root / _JOURNAL, {"state": "writing", "private_staging": str(private_root)}
                )
                staging.folder.mkdir()
                staging.private_folder.mkdir(mode=0o700)
            yield staging
        finally:
            with _placement_lock(target.parent, private_target.parent):
                if not settle(root):
                    message = f"the release that was at {target} could not be restored"
                    raise BadInput(
                        message,
                        hint=f"It is in {root} (replaced/, replaced.private/): move it back by "
                        "hand",
                    )
                _remove_staging(root, private_root)


def check_target(
    out: str | Path,
    *,
    private_dir: str | Path | None = None,
    replaceable: Replaceable | None = None,
) -> None:
    """Raise the errors that `stage` would raise, before any long work.

    First undo the unfinished renames of a dead run.
    """
    target, private_target = _checked_targets(out, private_dir)
    with _placement_lock(target.parent, private_target.parent):
        _clean_dead_runs(target, private_target)
        Staging(target, private_target, target, target, replaceable).check()


def _checked_targets(out: str | Path, private_dir: str | Path | None) -> tuple[Path, Path]:
    if _ADDRESS_PATTERN.match(str(out)):
        message = f"{out} is an address: a release is written to a folder of this machine"
        raise BadInput(
            message, hint="Write it to a folder, and copy that folder, without its private part"
        )
    if private_dir is not None and _ADDRESS_PATTERN.match(str(private_dir)):
        raise BadInput(
            f"{private_dir} is an address: the private part of a release stays on this machine"
        )
    target = _checked_folder(Path(out), "A release is a folder: name one that does not exist yet")
    if target.name.endswith(SUFFIX):
        message = f"{out} is the name of a private part"
        raise BadInput(
            message, hint=f"Name a folder that does not end in {SUFFIX}: it may be shared"
        )
    private_target = private_place(target, private_dir)
    _checked_folder(
        private_target, "The private part is a folder: name one that does not exist yet"
    )
    if (
        target == private_target
        or target in private_target.parents
        or private_target in target.parents
    ):
        message = (
            f"{private_target} cannot be the private part of {target}: one folder would be inside "
            "the other"
        )
        raise BadInput(
            message, hint="What is inside the release is shared with it: name a folder outside it"
        )
    return target, private_target


def _checked_folder(path: Path, hint: str) -> Path:
    folder = _absolute(path)
    if folder.is_symlink():
        raise BadInput(f"{path} is a link", hint="Name the folder itself")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{path} is a file", hint=hint)
    if not folder.name or not folder.parent.is_dir():
        raise BadInput(
            f"{path} cannot be made: its parent folder does not exist",
            hint="Make the parent folder first",
        )
    return folder


def _absolute(path: Path) -> Path:
    """Return the path without `..` and `~`; links are not followed."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - Path.resolve follows links


def _has_entries(folder: Path) -> bool:
    """True if a folder has entries; an empty one counts as none because a rename replaces it."""
    return folder.is_dir() and any(folder.iterdir())


# --- recovery from a dead run ---------------------------------------------------------------------
def settle(root: Path) -> bool:
    """Undo the renames of a staging folder that were not committed; the caller holds the locks.

    Returns False if the old release could not be restored. Then the staging folder must stay,
    because it holds a part of that release.
    """
    journal = _read_json(root / _JOURNAL)
    if journal.get("state") != "placing" or not (root / "release").is_dir():
        return True  # nothing was renamed, or the last rename was done
    target = Path(journal["target"])
    private_target = Path(journal["private"])
    private_root = Path(journal["private_staging"])
    if (
        release_id_of(private_target) == journal["release_id"]
        and not (private_root / "private").exists()
    ):
        private_target.rename(private_root / "private")
        sync(private_target.parent)
    if journal["replaced_private"] is None or not (root / "replaced").is_dir():
        return True
    old_private = Path(journal["replaced_private"])
    replaced_private = _replaced_private_path(old_private, target, root, private_root)
    if replaced_private.is_dir() and not _has_entries(old_private):
        replaced_private.rename(old_private)
        sync(old_private.parent)
    if release_id_of(old_private) != journal["replaced_id"] or _has_entries(target):
        return False
    (root / "replaced").rename(target)
    sync(target.parent)
    return True


def _replaced_private_path(old_private: Path, target: Path, root: Path, private_root: Path) -> Path:
    """Return the temporary path of the old private part, in the staging folder next to it."""
    if old_private.parent == target.parent:
        staging = root
    else:
        staging = private_root
    return staging / "replaced.private"


def _clean_dead_runs(target: Path, private_target: Path) -> None:
    """Settle and remove the staging folders of dead runs for the same target.

    The caller holds the placement lock.
    """
    for root in sorted(target.parent.glob(f".{glob.escape(target.name)}{_STAGING_MARK}*")):
        with contextlib.ExitStack() as locks:
            if not _lock_if_dead(root, locks):
                continue
            journal = _read_json(root / _JOURNAL)
            private_root = Path(journal.get("private_staging", root))
            if (
                private_root != root
                and private_root.is_dir()
                and not _lock_if_dead(private_root, locks)
            ):
                continue
            if settle(root):
                _remove_staging(root, private_root)
    for private_root in sorted(
        private_target.parent.glob(f".{glob.escape(private_target.name)}{_PRIVATE_STAGING_MARK}*")
    ):
        with contextlib.ExitStack() as locks:
            if not _lock_if_dead(private_root, locks):
                continue
            owner = _read_json(private_root / _OWNER).get("staging")
            owner_is_gone = owner is None or not Path(owner).is_dir()
            if owner_is_gone and not (private_root / "replaced.private").exists():
                shutil.rmtree(private_root, ignore_errors=True)


def _remove_staging(root: Path, private_root: Path) -> None:
    """Remove both staging folders.

    The one with the journal is removed last, so that the next run continues an interrupted removal.
    """
    if private_root != root:
        shutil.rmtree(private_root, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)


def release_id_of(folder: Path) -> str | None:
    """Return the release id in a folder's manifest; None if it cannot be read."""
    release_id = _read_json(folder / _MANIFEST).get("release_id")
    if isinstance(release_id, str):
        return release_id
    return None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if isinstance(document, dict):
        return document
    return {}


def _write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a small file atomically: a reader sees either the new or the previous contents."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.write_text(json.dumps(document), encoding="utf-8")
    sync(unfinished)
    unfinished.replace(path)
    sync(path.parent)


# --- locks ----------------------------------------------------------------------------------------
def _new_folder(parent: Path, prefix: str, locks: contextlib.ExitStack) -> Path:
    """Make a locked folder that only its owner can read.

    Before it is locked, another run may take it for the folder of a dead run.
    """
    for _ in range(_MAX_FOLDER_ATTEMPTS):
        with _report_write_errors(parent):
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue
        if lock is not None:
            locks.callback(os.close, lock)
        if folder.is_dir():
            return folder
    raise BadInput(
        f"other runs write to {parent} at the same time",
        hint="Wait for them, or name another folder",
    )


def _lock_if_dead(folder: Path, locks: contextlib.ExitStack) -> bool:
    """Lock a folder whose owner is dead; False if the owner is alive, or that is unknown."""
    try:
        lock = _lock(folder)
    except (BlockingIOError, FileNotFoundError):
        return False
    if lock is None:
        return False
    locks.callback(os.close, lock)
    return True


def _lock(folder: Path) -> int | None:
    """Lock a folder; None if the system cannot lock folders."""
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


@contextlib.contextmanager
def _placement_lock(*folders: Path) -> Iterator[None]:
    """Exclude other runs that rename in these folders; held for a few renames."""
    deadline = time.monotonic() + _PLACEMENT_SECONDS
    with contextlib.ExitStack() as locks:
        for folder in sorted({folder.resolve() for folder in folders}):
            lock = _wait_for_lock(folder, deadline)
            if lock is not None:
                locks.callback(os.close, lock)
        yield


def _wait_for_lock(folder: Path, deadline: float) -> int | None:
    while True:
        try:
            return _lock(folder)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"another run has been moving a release into {folder} for a minute"
                raise BadInput(message, hint="Wait for it, or name another folder") from None
            time.sleep(_LOCK_POLL_SECONDS)
        except OSError:  # a folder with write permission but without read permission
            return None


@contextlib.contextmanager
def _report_write_errors(parent: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"nothing can be written in {parent}: {error.strerror}") from error


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            sync(Path(parent, name))
        sync(Path(parent))


def sync(path: Path) -> None:
    """Have the system write a file or a folder's entries to the disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows does not open folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
