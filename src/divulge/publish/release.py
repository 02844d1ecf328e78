# SPDX-License-Identifier: Apache-2.0
"""A release of either kind: its tables are written to a private place, read back, compared, measured, sealed, and moved into place.

A kind says which tables there are, which files stay with the publisher, how what was read back is measured, and what the manifest tells.
The steps are the same for all, in this order, and a failure in any of them leaves the target as it was.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from divulge import results, values
from divulge.engines import OwnEngine
from divulge.errors import BadInput, DivulgeError
from divulge.publish.files import Format, Kind, choose_format, read_rows, shuffled
from divulge.publish.manifest import FOLDER, read_manifest, refuse_unless_release, seal, versions, write_manifests
from divulge.publish.staging import check_target, stage
from divulge.publish.verify import Fingerprint, Unverified, types_to_read
from divulge.results import Result
from divulge.table import Table, own_table, table_of

LOG = logging.getLogger("divulge.publish")


@dataclass(frozen=True)
class ReleasePart:
    """One table of a release."""

    name: str
    """What its file, or folder of files, is called, without an ending."""
    query: str
    """Its rows; on Spark in as many partitions as there are files, unless they are shuffled."""
    expected: Fingerprint
    """Of the rows that were decided on: what is written must have the same."""
    files: int = 1
    counted: tuple[str, ...] = ()
    """Columns that are counted again when it is read back."""
    secret: int | None = None
    """Shuffles its rows; without one they are published in the order of the query."""
    done: Callable[[], None] = lambda: None
    """Called when it has been written: its rows are not needed any more."""

    def ordered(self, engine: OwnEngine) -> AbstractContextManager[str]:
        """A query, for the time being, for its rows in the order in which they are published."""
        if self.secret is None:
            return nullcontext(self.query)
        return shuffled(engine, self.query, secret=self.secret, files=self.files)

    def write(self, path: Path, engine: OwnEngine, form: Format) -> None:
        """Have the engine write it to a file, or a folder of files."""
        with self.ordered(engine) as rows:
            engine.write(rows, path, kind=form.kind, delimiter=form.delimiter, files=self.files)
        self.done()

    def detach(self, engine: OwnEngine) -> Any:
        """Its rows, cut off from where they came."""
        with self.ordered(engine) as rows:
            return engine.detach(rows)


@dataclass(frozen=True)
class StagedFile:
    """One file of a release, or a folder of files that hold one table."""

    name: str
    """Its path within the release, with / between folders."""
    write: Callable[[Path], object]
    """Writes the file, or the folder, to the path that it is given."""
    public: bool = True
    """Whether it may be handed out; a file with values of the original may not."""


@dataclass(frozen=True)
class Written:
    """How the tables of a release were written, for the manifest."""

    form: Format
    types: Mapping[str, Mapping[str, str]]
    """By the name of the table's file or folder, the types of its columns."""
    reader: str
    """The engine that measured them."""
    seed_given: bool

    @property
    def row_order(self) -> str:
        """Where the order of rows came from."""
        return "shuffled with a seed given by the publisher" if self.seed_given else "shuffled with a secret"

    def describe(self, name: str) -> dict[str, Any]:
        """How to read one table."""
        form = {"file": name, "format": self.form.kind, "delimiter": self.form.delimiter}
        return form | {"types": dict(self.types[name]), "read_back_by": self.reader}


class Register(Protocol):
    """Where releases are noted that are out, as a release sees it: `divulge.ledger` has one."""

    def turn(self) -> AbstractContextManager[object]:
        """While nobody else publishes by it."""

    def entering(
        self, staged: Path, target: Path, *, source: Fingerprint, engine: str
    ) -> AbstractContextManager[object]:
        """Around the moment in which a staged release appears at its target: it is entered if it did."""

    def describe(self, written: Path | None) -> Mapping[str, Any]:
        """What was out already, and as what the release at a place was entered, for its publisher."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Release(Result, ABC):
    """Something that has been decided and can be published."""

    view = "releases"

    source: Table = field(repr=False)
    """What it was made from."""
    engine: OwnEngine = field(repr=False)
    """Where the rows of its tables are, and what writes them."""
    ledger: Register | None = field(default=None, repr=False)
    """Where it is entered when it is written: the ledger that it was judged by."""

    @abstractmethod
    def parts(self, seed: int | None) -> Sequence[ReleasePart]:
        """Its tables; a seed fixes the order of their rows."""

    @abstractmethod
    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> Any:
        """Measure the tables as an engine has read them back; raises `Unverified` where they are not what was decided."""

    @abstractmethod
    def document(self, measured: Any, written: Written) -> dict[str, Any]:
        """What everybody is told, a function of what is published and of what was asked for; `measured`: of `measure_again`."""

    def private_document(self, measured: Any) -> dict[str, Any] | None:  # noqa: ARG002 - a kind that has one overrides it
        """What the publisher needs later and nobody else is told, if anything."""
        return None

    def form(self, wanted: str | None) -> Format:
        """How its tables are written: as asked, else like the source."""
        return choose_format(self.source, wanted)

    def private_files(self) -> Sequence[StagedFile]:
        """Files beside the tables that stay with the publisher."""
        return ()

    @values.checked
    def write(
        self,
        out: str | Path,
        *,
        format: Kind | None = None,  # noqa: A002
        force: bool = False,
        seed: int | None = None,
    ) -> Path:
        """Write the release to a new folder: its tables, manifest.json, and what stays with the publisher; verified before it appears.

        Tables have the source's format (CSV, Parquet, Arrow; else Parquet), or the one named by `format`. `seed` fixes the order of
        the rows, for tests. A folder that holds a release is replaced with `force`. Of a table on Spark the workers write folders
        of Parquet or CSV files; `out` must then be on storage that they share with this process. What was judged by a ledger is entered
        there with the same step.
        """
        with nullcontext() if self.ledger is None else self.ledger.turn():
            return self._write(out, format_=format, force=force, seed=seed)

    def _write(self, out: str | Path, *, format_: Kind | None, force: bool, seed: int | None) -> Path:
        refuse_target(out, force=force)
        LOG.info("writing %s", out)
        form = self.form(format_)
        parts = {part.name + form.ending: part for part in self.parts(seed)}
        described = {name: self.engine.describe(f"({part.query})") for name, part in parts.items()}
        types = {name: types_to_read(described[name], part.counted) for name, part in parts.items()}
        files = [StagedFile(name, partial(part.write, engine=self.engine, form=form)) for name, part in parts.items()]

        def verify(folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
            LOG.info("reading back what was written")
            measured, reader = self._read_back(folder, parts, form, types)
            document = self.document(measured, Written(form, types, reader, seed is not None))
            document |= {"versions": versions(self.source.engine, self.engine)}
            return document, self.private_document(measured)

        enter: Enter | None = None
        if self.ledger is not None:
            table, engine = own_table(self.source)
            source = Fingerprint.of(engine, table.relation)
            enter = partial(self.ledger.entering, source=source, engine=engine.name)
        return publish(out, [*files, *self.private_files()], verify=verify, force=force, enter=enter)

    def tables(self, *, seed: int | None = None) -> dict[str, Any]:
        """The published tables by name, as frames of the kind that was handed in (Arrow for a file), verified like files.

        What was read with Spark from a file, a catalog or a Spark frame becomes a Spark frame.
        """
        parts = self.parts(seed)
        found = [part.detach(self.engine) for part in parts]
        fresh = self.engine.fresh()
        try:
            lent = {part.name: fresh.lend(rows) for part, rows in zip(parts, found, strict=True)}
            opened = [table_of(fresh, relation, source=name) for name, relation in lent.items()]
            self.measure_again(opened, fresh)
            _compare(fresh, {part.name: part for part in parts}, opened)
        finally:
            fresh.close()
        kind = self.source.frame
        return {
            part.name: rows if kind == "none" else results.as_frame(self.engine.collect(rows), kind)
            for part, rows in zip(parts, found, strict=True)
        }

    def _read_back(
        self, folder: Path, parts: Mapping[str, ReleasePart], form: Format, types: Mapping[str, Mapping[str, str]]
    ) -> tuple[Any, str]:
        """Measure and compare staged tables with engines that have not seen the original; also the name of the one that measured."""
        fresh = self.engine.fresh()
        reader = fresh.reader(sum(_size(folder / name) for name in parts))
        try:
            opened = [read_rows(reader, folder / name, form=form, types=types[name]) for name in parts]
            measured = self.measure_again(opened, reader)
            if reader is not fresh:  # hashes of another kind of engine are other hashes
                opened = [read_rows(fresh, folder / name, form=form, types=types[name]) for name in parts]
            _compare(fresh, parts, opened)
        except Unverified:
            raise
        except DivulgeError as error:
            told = f"the staged table cannot be read back: {error.message}"
            raise Unverified(told, hint="Nothing was published") from error
        finally:
            reader.close()
            fresh.close()
        return measured, reader.name


Documents = tuple[Mapping[str, Any], Mapping[str, Any] | None]
"""What is told to everybody, and what to the publisher."""
Enter = Callable[[Path, Path], AbstractContextManager[object]]
"""What surrounds the moment in which a staged release appears at its target."""


def publish(
    out: str | Path,
    files: Sequence[StagedFile],
    *,
    verify: Callable[[Path], Documents],
    force: bool = False,
    enter: Enter | None = None,
) -> Path:
    """Publish a release at `out` and return its folder.

    `verify` gets the staged folder, reads it back, raises if it must not be published, and returns what the two manifests are to say.
    An existing release is replaced only with `force`; anything else that stands at `out` never is.
    """
    with stage(out, replaceable=refuse_unless_release if force else None) as staging:
        written = {file: _write(file, staging.folder) for file in files}
        public = seal(staging.folder, [name for file, names in written.items() if file.public for name in names])
        mine = [name.removeprefix(f"{FOLDER}/") for file, names in written.items() if not file.public for name in names]
        private = seal(staging.folder / FOLDER, mine)
        told, kept = verify(staging.folder)
        kept = None if kept is None else {**kept, "files": private}
        write_manifests(staging.folder, {**told, "files": public}, kept)
        # Hashed before they were verified and again now: what is moved is what was verified.
        read_manifest(staging.folder)
        with nullcontext() if enter is None else enter(staging.folder, staging.target):
            staging.move_into_place()
        return staging.target


def refuse_target(out: str | Path, *, force: bool = False) -> None:
    """Say before any long work that nothing could be published at `out`."""
    check_target(out, replaceable=refuse_unless_release if force else None)


def _write(file: StagedFile, folder: Path) -> list[str]:
    """The files that were written, by their paths within the release."""
    path = folder / file.name
    try:
        path.parent.mkdir(mode=0o777 if file.public else 0o700, parents=True, exist_ok=True)
        file.write(path)
    except OSError as error:
        raise BadInput(f"{file.name} of the release cannot be written: {error.strerror}") from error
    written = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
    return [entry.relative_to(folder).as_posix() for entry in written]


def _compare(engine: OwnEngine, parts: Mapping[str, ReleasePart], tables: Sequence[Table]) -> None:
    """Refuse tables whose rows are not those that were decided on."""
    for (name, part), table in zip(parts.items(), tables, strict=True):
        part.expected.refuse_other(Fingerprint.of(engine, table.relation), name)


def _size(path: Path) -> int:
    return sum(entry.stat().st_size for entry in path.iterdir()) if path.is_dir() else path.stat().st_size
