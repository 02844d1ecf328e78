# SPDX-License-Identifier: Apache-2.0
"""The folder of a ledger: who may look into it, whose turn it is to publish, and what is left when a process dies.

    LEDGER/                 private (mode 0700)
        ledger.sqlite       one row for each release
        turn.sqlite         always empty; whoever holds a transaction on it has the turn
        releases/7/         a copy of the release with the number 7, with its private part

A release is entered in three steps, each on the disk before the next begins: the row with the state "intended" and the copy, then the
release appears at its place by one rename, then the row says "published". A process may die between any two. Whoever has the turn next
looks where the release was to be: if it is there, the row becomes "published"; if it still waits in the folder it was staged in, it never
was, and the row goes; if neither can be seen, somebody has tidied up since, and the row becomes "unclear": it is judged as if it were out.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import itertools
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

from divulge import publish
from divulge.errors import BadInput

DATABASE, TURN, RELEASES = "ledger.sqlite", "turn.sqlite", "releases"
_APPLICATION = 0x64767267
"""Marks the file as a ledger of ours among SQLite's."""
_FORMAT = 1
_PAUSE = 0.02
"""Seconds between two looks whether the turn is free; a signal is heard in between."""
_SILENT = 2.0
"""Seconds after which whoever waits for the turn is told so."""
_ATTEMPTS = 10
"""How often a folder that other processes make and take away meanwhile is opened."""
_BUSY = 10.0
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
        source TEXT)""",
)
Waiting = Callable[[Path], None]
"""Called once, with the folder, by who has waited for some time."""
_HELD: ContextVar[Mapping[tuple[int, Path], Book] | None] = ContextVar("held", default=None)
"""The ledgers whose turn this thread of work has, by its process, for a forked one has no turn, and the folder."""


@dataclass(frozen=True, eq=False)
class Book:
    """The opened folder of a ledger."""

    folder: Path
    database: sqlite3.Connection
    made: bool
    """Whether the folder was not there before."""
    files: tuple[Any, ...]
    """Which files were opened, for another process may take the folder away and make a new one."""

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path, *, made: bool = False) -> Iterator[Book]:
        """Open the database; a process that was about to make it may have died before its tables were there."""
        with _in_words(folder):
            _own_file(folder / DATABASE)
            files = _files(folder)
            database = _connect(folder / DATABASE, wait=_BUSY)
        try:
            book = cls(folder, database, made, files)
            book._check_format()
            yield book
        finally:
            database.close()

    @classmethod
    @contextlib.contextmanager
    def turn(cls, folder: Path, *, wait: float, waiting: Waiting | None = None) -> Iterator[Book]:
        """Be the only one who publishes by this ledger; whoever has the turn already keeps it."""
        if (held := _held(folder)) is not None:
            yield held
            return
        with cls._alone(folder, wait, waiting) as book:
            book.recover()
            before = _HELD.set({**(_HELD.get() or {}), (os.getpid(), folder): book})
            try:
                yield book
            finally:
                _HELD.reset(before)
                if book.made:
                    book.remove_if_empty()

    @classmethod
    @contextlib.contextmanager
    def _alone(cls, folder: Path, wait: float, waiting: Waiting | None) -> Iterator[Book]:
        """The opened folder with its turn; asked for again where whoever had it took the folder away, because nothing came of it.

        The database is opened, and made, by who has the turn: were it open already, SQLite would look for its journal by the old path, in
        the folder of somebody else.
        """
        deadline, made = time.monotonic() + wait, False
        for attempt in itertools.count(1):
            before = _moment(folder)
            with contextlib.ExitStack() as opened:
                try:
                    with _in_words(folder):
                        made |= _refuse_unless_private(folder, create=True)
                        _own_file(folder / TURN)
                        files = _files(folder, TURN)
                    opened.enter_context(_taken(folder, wait, deadline, waiting))
                    if files != _files(folder, TURN):
                        continue
                    book = opened.enter_context(cls.open(folder, made=made))
                except BadInput:
                    stays = _moment(folder) == before != ()
                    if attempt == _ATTEMPTS or stays or not folder.parent.is_dir():
                        raise
                    time.sleep(_PAUSE)  # it went, came or changed meanwhile: what is wrong may be so no more
                    continue
                yield book
                return

    @classmethod
    @contextlib.contextmanager
    def looked_at(cls, folder: Path) -> Iterator[Book]:
        """Only to read; what a dead process left is put in order unless somebody publishes right now."""
        if (held := _held(folder)) is not None:
            yield held
            return
        with _in_words(folder):
            _refuse_unless_private(folder, create=False)
            _own_file(folder / TURN)
        with cls.open(folder) as book:
            with contextlib.suppress(BadInput), _taken(folder, wait=0.0):
                if book.files == _files(folder):
                    book.recover()
            yield book

    def rows(self, where: str = "state != 'intended'", given: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        """Rows of releases, in the order in which they came."""
        found = self._execute(f"SELECT * FROM releases WHERE {where} ORDER BY number", given)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def copy_of(self, number: int) -> Path:
        """Where the copy of a release is."""
        return self.folder / RELEASES / str(number)

    def fingerprint(self, source: publish.Fingerprint, engine: str) -> str:
        """Which version of its table a release was made from: to be compared within this ledger, and telling nothing without its key."""
        ((key,),) = self._execute("SELECT key FROM secret").fetchall()
        return hmac.new(key, f"{engine} {source.rows} {source.total}".encode(), hashlib.sha256).hexdigest()

    # --- entering ---------------------------------------------------------------------------------------------------
    def intend(self, content: Path, row: Mapping[str, Any]) -> int:
        """Say which release is about to be published, and keep a copy of it."""
        values = {"state": "intended", "at": now(), "manifest": publish.sha256(content / publish.NAME), **row}
        listed, marks = ", ".join(values), ", ".join("?" * len(values))
        with self._transaction():
            found = self._execute(f"INSERT INTO releases ({listed}) VALUES ({marks})", tuple(values.values()))
            number = int(found.lastrowid or 0)
        try:
            with _in_words(self.folder):
                _copy(content, self.copy_of(number))
        except BaseException:
            self.drop(number)
            raise
        return number

    def set(self, number: int, **changes: Any) -> None:
        """Change the row of a release."""
        with self._transaction():
            changed = ", ".join(f"{name} = ?" for name in changes)
            self._execute(f"UPDATE releases SET {changed} WHERE number = ?", (*changes.values(), number))

    def drop(self, number: int) -> None:
        """Take a release out of the ledger, and its copy from the disk."""
        with self._transaction():
            self._execute("DELETE FROM releases WHERE number = ?", (number,))
        shutil.rmtree(self.copy_of(number), ignore_errors=True)

    def recover(self) -> None:
        """Settle what a dead process left; only who has the turn may do this."""
        for row in self.rows("state = 'intended'"):
            self.settle(row["number"])
        known = {str(row["number"]) for row in self.rows("true")}
        with _in_words(self.folder):
            for copy in self.folder.joinpath(RELEASES).iterdir():
                if copy.name not in known:
                    shutil.rmtree(copy, ignore_errors=True)

    def remove_if_empty(self) -> None:
        """Leave no trace where nothing was published after all: by one rename, so that others find the whole ledger or none."""
        aside = self.folder.with_name(f".{self.folder.name}-{secrets.token_hex(8)}")
        with contextlib.suppress(OSError, BadInput):
            if not self.rows("true"):
                self.folder.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)

    def settle(self, number: int) -> None:
        """Find out whether a release that was about to be published is out, by what can be seen of it."""
        (row,) = self.rows("number = ?", (number,))
        state = _seen(Path(row["place"]), Path(row["staged"]), row["manifest"])
        if state is None:
            self.drop(number)
        else:
            self.set(number, state=state)

    # --- the database -----------------------------------------------------------------------------------------------
    def _check_format(self) -> None:
        (application,) = self._execute("PRAGMA application_id").fetchone()
        if not application:
            self._make()
        elif application != _APPLICATION:
            raise BadInput(f"{self.folder / DATABASE} is not a ledger", hint="Name the folder of one, or a new one")
        (written_as,) = self._execute("PRAGMA user_version").fetchone()
        if written_as != _FORMAT:
            told = f"{self.folder} has the format {written_as}; this divulge reads {_FORMAT}"
            raise BadInput(told, hint="Is there a newer one?")
        with _in_words(self.folder):
            self.folder.joinpath(RELEASES).mkdir(mode=0o700, exist_ok=True)

    def _make(self) -> None:
        """Tables for a file that is empty: two processes may find it so, and one of them makes them."""
        with self._transaction():
            if self._execute("PRAGMA application_id").fetchone() != (0,):
                return
            if self._execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise BadInput(f"{self.folder / DATABASE} is not a ledger", hint="Name the folder of one, or a new one")
            for statement in _SCHEMA:
                self._execute(statement)
            self._execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
            self._execute(f"PRAGMA user_version = {_FORMAT}")
            self._execute(f"PRAGMA application_id = {_APPLICATION}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:  # some errors have ended it already
                self.database.execute("ROLLBACK")
            raise

    def _execute(self, statement: str, given: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with _in_words(self.folder):
            return self.database.execute(statement, given)


def _held(folder: Path) -> Book | None:
    return (_HELD.get() or {}).get((os.getpid(), folder))


def is_new(folder: Path) -> bool:
    """Whether there is no ledger yet: a process that was about to make one may have died after the folder."""
    if folder.is_symlink():
        return False
    try:
        return all(path.name.startswith(TURN) for path in folder.iterdir())
    except OSError as error:  # whatever else is wrong with it is told by who opens it
        return isinstance(error, FileNotFoundError)


def now() -> str:
    """The moment, in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def _connect(path: Path, *, wait: float) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=wait, isolation_level=None)
    # A journal beside the file, which any file system can have, and which is on the disk, as its removal is, before a step is done.
    # What is forgotten is overwritten.
    for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "secure_delete = ON"):
        database.execute(f"PRAGMA {setting}")
    return database


@contextlib.contextmanager
def _taken(folder: Path, wait: float, deadline: float = 0.0, waiting: Waiting | None = None) -> Iterator[None]:
    """Hold the turn. SQLite's lock goes with the process, however it dies, and no child inherits it."""
    with _in_words(folder):
        lock = sqlite3.connect(folder / TURN, timeout=0.0, isolation_level=None)
    try:
        begun = time.monotonic()
        while not _locked(lock, folder):
            if time.monotonic() >= deadline:
                told = f"another process publishes by the ledger {folder}, and was not done after {wait:g} seconds"
                raise BadInput(told, hint="Nothing was published. Try again when it is done")
            if waiting is not None and time.monotonic() >= begun + _SILENT:
                waiting(folder)
                waiting = None
            time.sleep(_PAUSE)
        yield
    finally:
        lock.close()


def _files(folder: Path, *names: str) -> tuple[Any, ...]:
    """Which files a ledger consists of, whatever they are called; empty where one is missing."""
    try:
        found = [folder.joinpath(name).stat() for name in names or (DATABASE, TURN)]
    except OSError:
        return ()
    return tuple((file.st_dev, file.st_ino) for file in found)


def _moment(folder: Path) -> tuple[int, ...]:
    """Which folder it is, and when a file last came or went; empty where there is none."""
    try:
        found = folder.stat()
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_ctime_ns)


def _locked(lock: sqlite3.Connection, folder: Path) -> bool:
    try:
        with _in_words(folder):
            lock.execute("BEGIN EXCLUSIVE")
    except BadInput as error:
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


@contextlib.contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    """What the system or SQLite says of the folder, in one line."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        told = str(error) if isinstance(error, sqlite3.Error) else error.strerror or str(error)
        raise BadInput(f"the ledger {folder} cannot be used: {told}", hint=_hint(error)) from error


def _hint(error: OSError | sqlite3.Error) -> str:
    busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return "Another process uses it: try again" if busy else ""


def _refuse_unless_private(folder: Path, *, create: bool) -> bool:
    """Refuse what is no ledger or is open to others; says whether the folder had to be made."""
    made = False
    if not folder.exists() and not folder.is_symlink():
        if not create:
            raise BadInput(f"there is no ledger {folder}", hint="A release that is published with ledger= makes one")
        if not folder.parent.is_dir():
            told = f"the ledger {folder} cannot be made: its parent folder does not exist"
            raise BadInput(told, hint="Make the parent folder first")
        with contextlib.suppress(FileExistsError):  # another process was quicker
            folder.mkdir(mode=0o700)
            made = True
            publish.sync(folder.parent)
    if folder.is_symlink():
        raise BadInput(f"the ledger {folder} is a link", hint="Name the folder itself")
    if not folder.is_dir():
        raise BadInput(f"the ledger {folder} is a file", hint="A ledger is a folder: name one, or a new one")
    if not _is_ledger(folder, create=create):
        raise BadInput(f"{folder} is not a ledger", hint="Name the folder of one, or a new one")
    found = folder.stat()
    if sys.platform != "win32":
        if found.st_uid != os.getuid():
            raise BadInput(f"the ledger {folder} belongs to somebody else", hint="Keep one of your own")
        if stat.S_IMODE(found.st_mode) & 0o077:
            told = f"others can look into the ledger {folder} (mode {stat.S_IMODE(found.st_mode):04o})"
            raise BadInput(told, hint=f"chmod 700 {folder}")
    return made


def _is_ledger(folder: Path, *, create: bool) -> bool:
    """Whether it has a database, or may get one."""
    for _ in range(2):  # who makes one beside us begins with the database: if it was not listed yet, it is now
        names = {path.name for path in folder.iterdir()}
        if DATABASE in names or (create and all(name.startswith(TURN) for name in names)):
            return True
    return False


def _own_file(path: Path) -> None:
    """A file of the ledger, made for its owner alone if it is not there yet; a link may lead anywhere."""
    if path.is_symlink():
        raise BadInput(f"{path.name} in the ledger {path.parent} is a link", hint="A ledger holds files alone")
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))


def _seen(place: Path, staged: Path, manifest: str) -> str | None:
    """The state of a release by what can be seen of it; None where it still waits to be published."""
    with contextlib.suppress(OSError):
        if publish.sha256(place / publish.NAME) == manifest:
            return "published"
    return None if staged.is_dir() else "unclear"


def _copy(source: Path, target: Path) -> None:
    """Every file of a release, for its owner alone, and on the disk. A link to it would change, or be wiped, with what was handed out."""
    for parent, _, names in os.walk(source):
        folder = target / Path(parent).relative_to(source)
        folder.mkdir(mode=0o700, parents=True)
        for name in names:
            copy = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with Path(parent, name).open("rb") as read, os.fdopen(copy, "wb") as written:
                shutil.copyfileobj(read, written)
                written.flush()
                os.fsync(written.fileno())
        publish.sync(folder)
    publish.sync(target.parent)
