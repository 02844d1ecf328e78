# SPDX-License-Identifier: Apache-2.0
"""A release of either kind: its tables are written, verified, sealed, and moved into place.

On the disk a release has two folders: `release/`, which may be shared as a whole, and
`release.private/` next to it, which may not. A kind of release defines its tables, its private
files, how the tables are measured when they are read back, and its manifest. The steps are common
to all kinds, in this order: write, read back, compare, measure, hash, move. A failure in any of
them leaves the target as it was.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from divulge import interrupts, results
from divulge.engines import OwnEngine
from divulge.errors import BadInput, DivulgeError
from divulge.options import ReleaseFormat
from divulge.releases.file_hashes import hash_files
from divulge.releases.formats import Format, choose_format, read_rows, shuffled
from divulge.releases.manifest import (
    read_manifests,
    refuse_unless_release,
    versions,
    write_manifests,
)
from divulge.releases.staging import check_target, stage
from divulge.releases.verification import Fingerprint, Unverified, types_to_read
from divulge.results import Result
from divulge.sources import Table, own_table, table_of
from divulge.validation import checked

LOG = logging.getLogger("divulge.releases")


@dataclass(frozen=True)
class ReleasePart:
    """One table of a release."""

    name: str
    """Name of its file, or folder of files, without the extension."""
    query: str
    """Its rows; on Spark in as many partitions as there are files, unless they are shuffled."""
    expected: Fingerprint
    """Fingerprint of the planned rows; the written rows must have the same."""
    files: int = 1
    counted: tuple[str, ...] = ()
    """Columns that are counted again when the table is read back."""
    secret: int | None = None
    """Shuffles the rows; without one they are published in the order of the query."""
    done: Callable[[], None] = lambda: None
    """Called once the table has been written and its rows are no longer needed."""

    def ordered(self, engine: OwnEngine) -> AbstractContextManager[str]:
        """Provide, while the context is open, a query for its rows in published order."""
        if self.secret is None:
            return nullcontext(self.query)
        return shuffled(engine, self.query, secret=self.secret, files=self.files)

    def write(self, path: Path, engine: OwnEngine, form: Format) -> None:
        """Write it to a file, or a folder of files, with the engine."""
        with self.ordered(engine) as rows:
            engine.write(rows, path, kind=form.kind, delimiter=form.delimiter, files=self.files)
        self.done()

    def detach(self, engine: OwnEngine) -> Any:
        """Return its rows, detached from their source."""
        with self.ordered(engine) as rows:
            return engine.detach(rows)


@dataclass(frozen=True)
class StagedFile:
    """One file of a release, or a folder of files that hold one table."""

    name: str
    """Its path within the release, or within its private part, with / between folders."""
    write: Callable[[Path], object]
    """Writes the file, or the folder, to the path that is passed."""
    public: bool = True
    """True if it may be shared; a file with original values belongs to the private part."""


@dataclass(frozen=True)
class Written:
    """Format and types of the written tables of a release, for the manifest."""

    form: Format
    types: Mapping[str, Mapping[str, str]]
    """Types of the columns, by the name of the table's file or folder."""
    reader: str
    """The engine that measured them."""
    seed_given: bool

    @property
    def row_order(self) -> str:
        """Origin of the order of rows."""
        if self.seed_given:
            return "shuffled with a seed given by the publisher"
        return "shuffled with a secret"

    def describe(self, name: str) -> dict[str, Any]:
        """Describe how to read one table."""
        form = {"file": name, "format": self.form.kind, "delimiter": self.form.delimiter}
        return form | {"types": dict(self.types[name]), "read_back_by": self.reader}


class Register(Protocol):
    """Register of published releases, as a release uses it; `divulge.ledger` implements it."""

    def turn(self) -> AbstractContextManager[object]:
        """Hold the lock of the register, so that no other process publishes with it."""

    def entering(
        self, staged: Path, private: Path, target: Path, *, source: Fingerprint, engine: str
    ) -> AbstractContextManager[object]:
        """Surround the moment in which a staged release and its private part appear at the target.

        The release is entered if it appeared there.
        """

    def describe(self, written: Path | None) -> Mapping[str, Any]:
        """List the prior releases, and the entry of the release at a path, for its publisher."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Release(Result, ABC):
    """A release that has been planned and can be published."""

    view = "releases"

    source: Table = field(repr=False)
    """Table that it was made from."""
    engine: OwnEngine = field(repr=False)
    """Engine that holds the rows of its tables and writes them."""
    ledger: Register | None = field(default=None, repr=False)
    """Ledger with which it was judged, and in which it is entered when it is written."""

    @abstractmethod
    def parts(self, seed: int | None) -> Sequence[ReleasePart]:
        """The tables of the release; a seed fixes the order of their rows."""

    @abstractmethod
    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> Any:
        """Measure the tables as an engine has read them back.

        Raises `Unverified` if they are not as planned.
        """

    @abstractmethod
    def document(self, measured: Any, written: Written) -> dict[str, Any]:
        """Public manifest, a function of the published rows and of the request.

        `measured`: the result of `measure_again`.
        """

    @abstractmethod
    def private_document(self, measured: Any) -> dict[str, Any]:
        """Private manifest, with the data that only the publisher needs later."""

    def form(self, name: str | None) -> Format:
        """Return the named format of its tables, else the format of the source."""
        return choose_format(self.source, name)

    def private_files(self) -> Sequence[StagedFile]:
        """Files other than the tables that stay with the publisher."""
        return ()

    @checked
    def write(
        self,
        out: str | Path,
        *,
        format: ReleaseFormat | None = None,  # noqa: A002
        force: bool = False,
        seed: int | None = None,
        private_dir: str | Path | None = None,
    ) -> Path:
        """Write the release to a new folder, and its private part next to it, after verifying both.

        The release folder may be shared as a whole. The private part goes to `out` with the suffix
        `.private`, or to `private_dir`. Only its owner can read it. Tables have the source's format
        (CSV, Parquet, Arrow; else Parquet), or the one named by `format`. `seed` fixes the order of
        the rows, for tests. With `force`, a release at `out` is replaced, together with its private
        part. For a table on Spark, the workers write folders of Parquet or CSV files; `out` must
        then be on storage that they share with this process. A release that was judged with a
        ledger is entered there in the same step.
        """
        with nullcontext() if self.ledger is None else self.ledger.turn():
            return self._write(out, format_=format, force=force, seed=seed, private_dir=private_dir)

    def _write(
        self,
        out: str | Path,
        *,
        format_: ReleaseFormat | None,
        force: bool,
        seed: int | None,
        private_dir: str | Path | None,
    ) -> Path:
        refuse_target(out, force=force, private_dir=private_dir)
        LOG.info("writing %s", out)
        form = self.form(format_)
        parts = {part.name + form.ending: part for part in self.parts(seed)}
        column_types = {
            name: self.engine.describe(f"({part.query})") for name, part in parts.items()
        }
        types = {
            name: types_to_read(column_types[name], part.counted) for name, part in parts.items()
        }
        files = [
            StagedFile(name, partial(part.write, engine=self.engine, form=form))
            for name, part in parts.items()
        ]

        def verify(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
            LOG.info("reading back what was written")
            measured, reader = self._read_back(folder, parts, form, types)
            document = self.document(measured, Written(form, types, reader, seed is not None))
            document |= {"versions": versions(self.source.engine, self.engine)}
            return document, self.private_document(measured)

        enter: EnteringContext | None = None
        if self.ledger is not None:
            table, engine = own_table(self.source)
            source = Fingerprint.of(engine, table.relation)
            enter = partial(self.ledger.entering, source=source, engine=engine.name)
        staged = [*files, *self.private_files()]
        return publish(
            out, staged, verify=verify, force=force, enter=enter, private_dir=private_dir
        )

    def tables(self, *, seed: int | None = None) -> dict[str, Any]:
        """Return the published tables by name, verified like files, as frames.

        The frames are of the kind that was passed in (Arrow for a file). Tables that Spark read
        from a file, a catalog or a Spark frame become Spark frames.
        """
        parts = self.parts(seed)
        detached = [part.detach(self.engine) for part in parts]
        reader = self.engine.fresh()
        try:
            relations = {
                part.name: reader.lend(rows) for part, rows in zip(parts, detached, strict=True)
            }
            opened = [
                table_of(reader, relation, source=name) for name, relation in relations.items()
            ]
            self.measure_again(opened, reader)
            _compare_fingerprints(reader, {part.name: part for part in parts}, opened)
        finally:
            reader.close()
        kind = self.source.frame
        return {
            part.name: rows if kind == "none" else results.as_frame(self.engine.collect(rows), kind)
            for part, rows in zip(parts, detached, strict=True)
        }

    def _read_back(
        self,
        folder: Path,
        parts: Mapping[str, ReleasePart],
        form: Format,
        types: Mapping[str, Mapping[str, str]],
    ) -> tuple[Any, str]:
        """Measure and compare staged tables with engines that have not seen the original.

        Also returns the name of the engine that measured them.
        """
        new_engine = self.engine.fresh()
        reader = new_engine.reader(sum(_size_in_bytes(folder / name) for name in parts))
        try:
            tables = [
                read_rows(reader, folder / name, form=form, types=types[name]) for name in parts
            ]
            measured = self.measure_again(tables, reader)
            if reader is not new_engine:  # each kind of engine computes its own hashes
                tables = [
                    read_rows(new_engine, folder / name, form=form, types=types[name])
                    for name in parts
                ]
            _compare_fingerprints(new_engine, parts, tables)
        except Unverified:
            raise
        except DivulgeError as error:
            message = f"the staged table cannot be read back: {error.message.marked}"
            raise Unverified(message, hint="Nothing was published") from error
        finally:
            reader.close()
            new_engine.close()
        return measured, reader.name


Documents = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The public and the private part of the manifests."""
EnteringContext = Callable[[Path, Path, Path], AbstractContextManager[object]]
"""Context around the moment in which a staged release and its private part appear at the target."""


def publish(
    out: str | Path,
    files: Sequence[StagedFile],
    *,
    verify: Callable[[Path], Documents],
    force: bool = False,
    enter: EnteringContext | None = None,
    private_dir: str | Path | None = None,
) -> Path:
    """Publish a release at `out`, with its private part, and return its folder.

    The private part goes next to it or to `private_dir`. `verify` gets the staged folder and reads
    it back. It raises an error if the folder must not be published, and returns the contents of the
    two manifests. An existing release is replaced only with `force`; anything else at `out` never
    is.
    """
    if force:
        replaceable = refuse_unless_release
    else:
        replaceable = None
    with stage(out, private_dir=private_dir, replaceable=replaceable) as staging:
        folders = {True: staging.folder, False: staging.private_folder}
        names: dict[bool, list[str]] = {True: [], False: []}
        for file in files:
            names[file.public] += _write(file, folders[file.public])
        file_entries = {public: hash_files(folders[public], names[public]) for public in folders}
        public_part, private_part = verify(staging.folder)
        public_document = {**public_part, "files": file_entries[True]}
        private_document = {**private_part, "files": file_entries[False]}
        with _report_write_errors("the manifests"):
            write_manifests(
                staging.folder, staging.private_folder, public_document, private_document
            )
        make_private(staging.private_folder)
        # The files were hashed before verification and are hashed again here: only verified files
        # are moved.
        read_manifests(staging.folder, private_dir=staging.private_folder)
        entering = (
            nullcontext()
            if enter is None
            else enter(staging.folder, staging.private_folder, staging.target)
        )
        with entering, interrupts.defer_signals():
            staging.move_into_place()
            interrupts.notes.append(f"{staging.target} was published before")
        return staging.target


def refuse_target(
    out: str | Path, *, force: bool = False, private_dir: str | Path | None = None
) -> None:
    """Raise an error, before any long work, if nothing could be published at `out`."""
    check_target(out, private_dir=private_dir, replaceable=refuse_unless_release if force else None)


def make_private(folder: Path) -> None:
    """Let only the owner read a folder and its contents: mode 0700 for folders, 0600 for files."""
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o700)
        for name in names:
            Path(parent, name).chmod(0o600)


def _write(file: StagedFile, folder: Path) -> list[str]:
    """Write a staged file, and return the written files as paths within the folder."""
    path = folder / file.name
    with _report_write_errors(file.name):
        path.parent.mkdir(mode=0o777 if file.public else 0o700, parents=True, exist_ok=True)
        file.write(path)
    if path.is_dir():
        files = sorted(entry for entry in path.rglob("*") if entry.is_file())
    else:
        files = [path]
    return [entry.relative_to(folder).as_posix() for entry in files]


@contextmanager
def _report_write_errors(name: str) -> Iterator[None]:
    """Report a system error of a file in one line."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{name} of the release cannot be written: {error.strerror}") from error


def _compare_fingerprints(
    engine: OwnEngine, parts: Mapping[str, ReleasePart], tables: Sequence[Table]
) -> None:
    """Raise an error if the rows of a table are not the planned ones."""
    for (name, part), table in zip(parts.items(), tables, strict=True):
        part.expected.refuse_other(Fingerprint.of(engine, table.relation), name)


def _size_in_bytes(path: Path) -> int:
    if path.is_dir():
        return sum(entry.stat().st_size for entry in path.iterdir())
    return path.stat().st_size
