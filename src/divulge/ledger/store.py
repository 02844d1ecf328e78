# SPDX-License-Identifier: Apache-2.0
"""The folder of a ledger: access rights, the lock for publishing, and recovery from crashes.

    LEDGER/                 private (mode 0700)
        ledger.sqlite       one row for each release
        turn.sqlite         always empty; the lock: a process with a transaction on it may publish
        releases/7/         a copy of release number 7
        releases/7.private/ a copy of its private part
        releases/7.dropped  an empty file: release number 7 is about to be removed from the ledger

A release is entered in three steps, each on the disk before the next begins:

- The row with the state "intended" and the copy are written.
- One rename puts the release at its target.
- The row gets the state "published".

A process may die between any two steps. The next process with the lock looks at the target:

- If the release is there, the row becomes "published".
- If it is still in its staging folder, it was never published, and the row is deleted.
- If it is in neither, the files have been removed since, and the row becomes "unclear". Such a
  release is judged as if it were published.

A ledger that has lost a row would let a release pass that the row forbids. So each row carries a
seal (HMAC). A copy without a row raises an error unless it was about to be removed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import itertools
import json
import os
import secrets
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import releases
from divulge.arguments import arg
from divulge.errors import BadInput

DATABASE = "ledger.sqlite"
LOCK_FILE = "turn.sqlite"
RELEASES = "releases"
_APPLICATION_ID = 0x64767267
"""Application id that marks a SQLite file as a ledger."""
_FORMAT = 2
_DROPPED_SUFFIX = ".dropped"
_POLL_SECONDS = 0.02
"""Seconds between two attempts to take the lock; signals are handled in between."""
_NOTIFY_AFTER_SECONDS = 2.0
"""Seconds of waiting for the lock after which the `waiting` callback is called."""
_MAX_OPEN_ATTEMPTS = 10
"""Maximum attempts to open a folder that other processes create and remove concurrently."""
_BUSY_SECONDS = 10.0
"""Seconds that one short transaction waits for another."""
_SCHEMA = (
    "CREATE TABLE secret (key BLOB NOT NULL)",
    """CREATE TABLE releases (
        number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
        state TEXT NOT NULL CHECK (state IN ('intended', 'published', 'retracted', 'unclear')),
        at TEXT NOT NULL,
        dataset TEXT NOT NULL,
        recipient TEXT NOT NULL,
        expires TEXT,
        retracted TEXT,
        kind TEXT NOT NULL,
        rows INTEGER NOT NULL,
        place TEXT NOT NULL,
        staged TEXT NOT NULL,
        manifest TEXT NOT NULL,
        source TEXT,
        seal TEXT NOT NULL DEFAULT '')""",
)
WaitingCallback = Callable[[Path], None]
"""Called once with the folder after some time of waiting for the lock."""
_HELD_LOCKS: ContextVar[Mapping[tuple[int, Path], LedgerStore] | None] = ContextVar(
    "held", default=None
)
"""Opened ledgers whose lock is held in this context, by process id and folder.

The process id is part of the key because a forked process does not hold the lock.
"""


@dataclass(frozen=True, eq=False)
class LedgerStore:
    """The opened folder of a ledger."""

    folder: Path
    database: sqlite3.Connection
    is_new_folder: bool
    """True if the folder was created by this process."""
    file_ids: tuple[Any, ...]
    """Device and inode numbers of the opened files.

    Another process may remove the folder and create a new one.
    """

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path, *, is_new_folder: bool = False) -> Iterator[LedgerStore]:
        """Open the database, and create its tables if they are missing.

        They are missing in a new database, or if the process that made it died before creating
        them.
        """
        with _report_storage_errors(folder):
            _create_private_file(folder / DATABASE)
            file_ids = _file_ids(folder)
            database = _connect(folder / DATABASE, wait=_BUSY_SECONDS)
        try:
            store = cls(folder, database, is_new_folder, file_ids)
            store._check_format()
            yield store
        finally:
            database.close()

    @classmethod
    @contextlib.contextmanager
    def lock(
        cls, folder: Path, *, wait: float, waiting: WaitingCallback | None = None
    ) -> Iterator[LedgerStore]:
        """Hold the lock for publishing with this ledger; a holder who enters again keeps it."""
        if (store_with_lock := _locked_store(folder)) is not None:
            yield store_with_lock
            return
        with cls._open_locked(folder, wait, waiting) as store:
            store.recover()
            token = _HELD_LOCKS.set({**(_HELD_LOCKS.get() or {}), (os.getpid(), folder): store})
            try:
                yield store
            finally:
                _HELD_LOCKS.reset(token)
                if store.is_new_folder:
                    store.remove_if_empty()

    @classmethod
    @contextlib.contextmanager
    def _open_locked(
        cls, folder: Path, wait: float, waiting: WaitingCallback | None
    ) -> Iterator[LedgerStore]:
        """Open the folder and hold its lock.

        Tries again if the previous holder removed the folder because nothing was published.

        The database is opened and created only after the lock is taken. If it were open before,
        SQLite would look for its journal by the old path, in the folder of another process.
        """
        deadline = time.monotonic() + wait
        is_new_folder = False
        for attempt in itertools.count(1):
            version_before = _folder_version(folder)
            with contextlib.ExitStack() as resources:
                try:
                    with _report_storage_errors(folder):
                        is_new_folder |= _refuse_unless_private(folder, create=True)
                        _create_private_file(folder / LOCK_FILE)
                        lock_file_id = _file_ids(folder, LOCK_FILE)
                    resources.enter_context(_hold_lock(folder, wait, deadline, waiting))
                    if lock_file_id != _file_ids(folder, LOCK_FILE):
                        continue
                    store = resources.enter_context(cls.open(folder, is_new_folder=is_new_folder))
                except BadInput:
                    is_unchanged = _folder_version(folder) == version_before != ()
                    if attempt == _MAX_OPEN_ATTEMPTS or is_unchanged or not folder.parent.is_dir():
                        raise
                    # the folder was removed, created or changed meanwhile: try again
                    time.sleep(_POLL_SECONDS)
                    continue
                yield store
                return

    @classmethod
    @contextlib.contextmanager
    def open_for_reading(cls, folder: Path) -> Iterator[LedgerStore]:
        """Open the folder for reading, and recover from dead processes unless one is publishing."""
        if (store_with_lock := _locked_store(folder)) is not None:
            yield store_with_lock
            return
        with _report_storage_errors(folder):
            _refuse_unless_private(folder, create=False)
            _create_private_file(folder / LOCK_FILE)
        with cls.open(folder) as store:
            with contextlib.ExitStack() as lock:
                try:
                    lock.enter_context(_hold_lock(folder, wait=0.0))
                except BadInput:
                    has_lock = False
                else:
                    has_lock = store.file_ids == _file_ids(folder)
                if has_lock:
                    store.recover()
            yield store

    def rows(
        self, where: str = "state != 'intended'", parameters: tuple[Any, ...] = ()
    ) -> list[dict[str, Any]]:
        """Rows of releases in the order of entry; `BadInput` if the seal of one does not match."""
        with _report_storage_errors(self.folder):
            cursor = self.database.execute(
                f"SELECT * FROM releases WHERE {where} ORDER BY number", parameters
            )
            names = [column[0] for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        for row in rows:
            if row.pop("seal", None) != self._seal(row):
                raise self._damage_error(
                    f"the entry {row.get('number')!r} is not as it was written"
                )
        return rows

    def _seal(self, row: Mapping[str, Any]) -> str:
        """Return the HMAC of a row, which reveals a modified row."""
        text = json.dumps(sorted(row.items()), default=repr)
        return hmac.new(
            self._key(), text.encode("utf-8", "surrogatepass"), hashlib.sha256
        ).hexdigest()

    def _key(self) -> bytes:
        with _report_storage_errors(self.folder):
            keys = self.database.execute("SELECT key FROM secret").fetchall()
        if len(keys) != 1 or not isinstance(keys[0][0], bytes):
            raise self._damage_error("its key is missing")
        key: bytes = keys[0][0]
        return key

    def _reseal(self, number: int) -> None:
        cursor = self._execute("SELECT * FROM releases WHERE number = ?", (number,))
        names = [column[0] for column in cursor.description]
        row = dict(zip(names, cursor.fetchone(), strict=True))
        del row["seal"]
        self._execute("UPDATE releases SET seal = ? WHERE number = ?", (self._seal(row), number))

    def _damage_error(self, problem: str) -> BadInput:
        hint = (
            "Restore the folder from a backup: a ledger that has lost a release would let others "
            "pass"
        )
        return BadInput(f"the ledger {self.folder} is damaged: {problem}", hint=hint)

    def copy_path(self, number: int) -> Path:
        """Return the folder of a release's copy; the copy of its private part is next to it."""
        return self.folder / RELEASES / str(number)

    def fingerprint(self, source: releases.Fingerprint, engine: str) -> str:
        """Return an HMAC of the table version that a release was made from.

        It can be compared within this ledger, and reveals nothing without the key of the ledger.
        """
        return hmac.new(
            self._key(), f"{engine} {source.rows} {source.total}".encode(), hashlib.sha256
        ).hexdigest()

    # --- entering ---------------------------------------------------------------------------------
    def enter_intention(self, content: Path, private: Path | None, row: Mapping[str, Any]) -> int:
        """Enter a release that is about to be published, and copy it with its private part."""
        values = {
            "state": "intended",
            "at": utc_now(),
            "manifest": releases.sha256(content / releases.NAME),
            **row,
        }
        column_list = ", ".join(values)
        placeholders = ", ".join("?" * len(values))
        with self._transaction():
            cursor = self._execute(
                f"INSERT INTO releases ({column_list}) VALUES ({placeholders})",
                tuple(values.values()),
            )
            number = int(cursor.lastrowid or 0)
            self._reseal(number)
        try:
            with _report_storage_errors(self.folder):
                copy = self.copy_path(number)
                if private is not None:
                    _copy_release(private, releases.private_place(copy))
                _copy_release(content, copy)
        except BaseException:
            self.remove(number)
            raise
        return number

    def update_row(self, number: int, **changes: Any) -> None:
        """Change the row of a release."""
        with self._transaction():
            self.rows(
                "number = ?", (number,)
            )  # a modified row raises an error here and gets no new seal
            assignments = ", ".join(f"{name} = ?" for name in changes)
            self._execute(
                f"UPDATE releases SET {assignments} WHERE number = ?", (*changes.values(), number)
            )
            self._reseal(number)

    def remove(self, number: int) -> None:
        """Remove a release from the ledger, and its copy from the disk."""
        mark = self._dropped_mark(number)
        with _report_storage_errors(self.folder):
            mark.touch(mode=0o600)
            releases.sync(mark.parent)
        with self._transaction():
            self._execute("DELETE FROM releases WHERE number = ?", (number,))
        self._remove_copy(number)
        if not any(folder.exists() for folder in self._copy_folders(number)):
            mark.unlink(missing_ok=True)

    def _remove_copy(self, number: int | str) -> None:
        for folder in self._copy_folders(number):
            shutil.rmtree(folder, ignore_errors=True)

    def _copy_folders(self, number: int | str) -> tuple[Path, Path]:
        """Return the folders of a release's copy and of its private part."""
        copy = self.folder / RELEASES / str(number)
        return copy, releases.private_place(copy)

    def _dropped_mark(self, number: int | str) -> Path:
        return self.folder / RELEASES / f"{number}{_DROPPED_SUFFIX}"

    def recover(self) -> None:
        """Settle releases that a dead process left unfinished; the caller must hold the lock."""
        for row in self.rows("state = 'intended'"):
            self.settle(row["number"])
        folder_names = {str(row["number"]) for row in self.rows("true")}
        with _report_storage_errors(self.folder):
            names = sorted(path.name for path in self.folder.joinpath(RELEASES).iterdir())
            dropped = {
                name.removesuffix(_DROPPED_SUFFIX)
                for name in names
                if name.endswith(_DROPPED_SUFFIX)
            }
            for name in dropped:
                if name not in folder_names:
                    self._remove_copy(name)
                self._dropped_mark(name).unlink(missing_ok=True)
        for name in names:
            number = name.partition(".")[0]
            if number.isdigit() and number not in folder_names | dropped:
                raise self._damage_error(f"it holds a copy of release {number} and no entry of it")

    def remove_if_empty(self) -> None:
        """Remove the folder if nothing was published.

        One rename removes it, so that other processes see the complete ledger or none.
        """
        renamed_folder = self.folder.with_name(f".{self.folder.name}-{secrets.token_hex(8)}")
        with contextlib.suppress(OSError, BadInput):
            if not self.rows("true"):
                self.folder.rename(renamed_folder)
                shutil.rmtree(renamed_folder, ignore_errors=True)

    def settle(self, number: int) -> None:
        """Set the state of a release that was about to be published, from the files that exist."""
        (row,) = self.rows("number = ?", (number,))
        state = _observed_state(Path(row["place"]), Path(row["staged"]), row["manifest"])
        if state is None:
            self.remove(number)
        else:
            self.update_row(number, state=state)

    # --- the database -----------------------------------------------------------------------------
    def _check_format(self) -> None:
        (application,) = self._execute("PRAGMA application_id").fetchone()
        if not application:
            self._create_tables()
        elif application != _APPLICATION_ID:
            raise BadInput(
                f"{self.folder / DATABASE} is not a ledger",
                hint="Name the folder of one, or a new one",
            )
        (format_version,) = self._execute("PRAGMA user_version").fetchone()
        if format_version != _FORMAT:
            message = f"{self.folder} has the format {format_version}; this divulge reads {_FORMAT}"
            raise BadInput(message, hint="Is there a newer one?")
        with _report_storage_errors(self.folder):
            self.folder.joinpath(RELEASES).mkdir(mode=0o700, exist_ok=True)

    def _create_tables(self) -> None:
        """Create the tables of an empty database.

        Two processes may see it empty; only one of them creates the tables.
        """
        with self._transaction():
            if self._execute("PRAGMA application_id").fetchone() != (0,):
                return
            if self._execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise BadInput(
                    f"{self.folder / DATABASE} is not a ledger",
                    hint="Name the folder of one, or a new one",
                )
            if self.folder.joinpath(RELEASES).exists():  # this folder is created after the tables
                raise self._damage_error("its database is empty")
            for statement in _SCHEMA:
                self._execute(statement)
            self._execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
            self._execute(f"PRAGMA user_version = {_FORMAT}")
            self._execute(f"PRAGMA application_id = {_APPLICATION_ID}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:  # some errors end it
                self.database.execute("ROLLBACK")
            raise

    def _execute(self, statement: str, parameters: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with _report_storage_errors(self.folder):
            return self.database.execute(statement, parameters)


def _locked_store(folder: Path) -> LedgerStore | None:
    return (_HELD_LOCKS.get() or {}).get((os.getpid(), folder))


def is_new(folder: Path) -> bool:
    """True if there is no ledger yet, or only the folder that a dead process created."""
    if folder.is_symlink():
        return False
    try:
        return all(path.name.startswith(LOCK_FILE) for path in folder.iterdir())
    except OSError as error:  # opening the ledger reports all other errors
        return isinstance(error, FileNotFoundError)


def utc_now() -> str:
    """The current time in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def _connect(path: Path, *, wait: float) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=wait, isolation_level=None)
    # The journal is a file next to the database, which works on any file system. It is on the disk,
    # as is its removal, before a step ends. Deleted rows are overwritten.
    for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "secure_delete = ON"):
        database.execute(f"PRAGMA {setting}")
    return database


@contextlib.contextmanager
def _hold_lock(
    folder: Path, wait: float, deadline: float = 0.0, waiting: WaitingCallback | None = None
) -> Iterator[None]:
    """Hold the lock for publishing.

    SQLite's lock ends with the process, however it dies, and no child process inherits it.
    """
    with _report_storage_errors(folder):
        lock = sqlite3.connect(folder / LOCK_FILE, timeout=0.0, isolation_level=None)
    try:
        start_time = time.monotonic()
        while not _try_lock(lock, folder):
            if time.monotonic() >= deadline:
                message = (
                    f"another process publishes by the ledger {folder}, and was not done after "
                    f"{wait:g} seconds"
                )
                raise BadInput(message, hint="Nothing was published. Try again when it is done")
            if waiting is not None and time.monotonic() >= start_time + _NOTIFY_AFTER_SECONDS:
                waiting(folder)
                waiting = None
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        lock.close()


def _file_ids(folder: Path, *names: str) -> tuple[Any, ...]:
    """Device and inode numbers of the files of a ledger; empty if one is missing."""
    try:
        file_stats = [folder.joinpath(name).stat() for name in names or (DATABASE, LOCK_FILE)]
    except OSError:
        return ()
    return tuple((file.st_dev, file.st_ino) for file in file_stats)


def _folder_version(folder: Path) -> tuple[int, ...]:
    """Identity of a folder and the time of its last change; empty if it does not exist."""
    try:
        folder_stat = folder.stat()
    except OSError:
        return ()
    return (folder_stat.st_dev, folder_stat.st_ino, folder_stat.st_ctime_ns)


def _try_lock(lock: sqlite3.Connection, folder: Path) -> bool:
    try:
        with _report_storage_errors(folder):
            lock.execute("BEGIN EXCLUSIVE")
    except BadInput as error:
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


@contextlib.contextmanager
def _report_storage_errors(folder: Path) -> Iterator[None]:
    """Report an error of the system or of SQLite about the folder in one line."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error):
            reason = str(error)
        else:
            reason = error.strerror or str(error)
        raise BadInput(
            f"the ledger {folder} cannot be used: {reason}", hint=_busy_hint(error)
        ) from error


def _busy_hint(error: OSError | sqlite3.Error) -> str:
    is_busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    if is_busy:
        return "Another process uses it: try again"
    return ""


def _refuse_unless_private(folder: Path, *, create: bool) -> bool:
    """Raise an error unless the folder is, or can become, a ledger that only its owner can read.

    Returns True if the folder had to be created.
    """
    is_new_folder = False
    if not folder.exists() and not folder.is_symlink():
        if not create:
            raise BadInput(
                f"there is no ledger {folder}",
                hint=f"A release that is published with {arg('ledger')} makes one",
            )
        if not folder.parent.is_dir():
            message = f"the ledger {folder} cannot be made: its parent folder does not exist"
            raise BadInput(message, hint="Make the parent folder first")
        with contextlib.suppress(FileExistsError):  # another process was quicker
            folder.mkdir(mode=0o700)
            is_new_folder = True
            releases.sync(folder.parent)
    if folder.is_symlink():
        raise BadInput(f"the ledger {folder} is a link", hint="Name the folder itself")
    if not folder.is_dir():
        raise BadInput(
            f"the ledger {folder} is a file", hint="A ledger is a folder: name one, or a new one"
        )
    if not _is_ledger(folder, create=create):
        raise BadInput(f"{folder} is not a ledger", hint="Name the folder of one, or a new one")
    folder_stat = folder.stat()
    if sys.platform != "win32":
        if folder_stat.st_uid != os.getuid():
            raise BadInput(
                f"the ledger {folder} belongs to somebody else", hint="Keep one of your own"
            )
        if stat.S_IMODE(folder_stat.st_mode) & 0o077:
            message = (
                f"others can look into the ledger {folder} (mode "
                f"{stat.S_IMODE(folder_stat.st_mode):04o})"
            )
            raise BadInput(message, hint=f"chmod 700 {folder}")
    return is_new_folder


def _is_ledger(folder: Path, *, create: bool) -> bool:
    """True if the folder has a database, or may get one."""
    # a concurrent process creates the database first: if it was not listed yet, it is now
    for _ in range(2):
        names = {path.name for path in folder.iterdir()}
        if DATABASE in names or (create and all(name.startswith(LOCK_FILE) for name in names)):
            return True
    return False


def _create_private_file(path: Path) -> None:
    """Create a file of the ledger that only its owner can read, unless it exists.

    A link raises an error because it may lead anywhere.
    """
    if path.is_symlink():
        raise BadInput(
            f"{path.name} in the ledger {path.parent} is a link", hint="A ledger holds files alone"
        )
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))


def _observed_state(release_folder: Path, staged: Path, manifest: str) -> str | None:
    """State of a release according to the existing files; None if it is still staged."""
    with contextlib.suppress(OSError):
        if releases.sha256(release_folder / releases.NAME) == manifest:
            return "published"
    if staged.is_dir():
        return None
    return "unclear"


def _copy_release(source: Path, target: Path) -> None:
    """Copy every file of a release to the disk, readable only by its owner.

    Hard links would change, or be erased, together with the shared files.
    """
    for parent, _, names in os.walk(source):
        folder = target / Path(parent).relative_to(source)
        folder.mkdir(mode=0o700, parents=True)
        for name in names:
            copy = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with Path(parent, name).open("rb") as source_file, os.fdopen(copy, "wb") as copy_file:
                shutil.copyfileobj(source_file, copy_file)
                copy_file.flush()
                os.fsync(copy_file.fileno())
        releases.sync(folder)
    releases.sync(target.parent)
