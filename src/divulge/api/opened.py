# SPDX-License-Identifier: Apache-2.0
"""Open a table or a release of any kind, for every function that takes one.

There are three kinds: a table that is not one of our releases, a generalized release, and an
anatomized release. Our own releases may be folders, results of `open_release`, or in memory. The
files of a folder are compared with their hashes once; a function that passes an opened release on
does not hash them again. Modules for releases are imported only if a release is passed, because
most inputs are plain tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from divulge import engines
from divulge.engines import DuckDBEngine, OwnEngine, choose_engine
from divulge.errors import BadInput
from divulge.sources import Table, read

if TYPE_CHECKING:
    from divulge import anatomization, queries, releases

_MANIFEST = "manifest.json"
_EXTENSIONS = (".csv", ".tsv", ".parquet", ".arrow")


@dataclass(frozen=True, eq=False)
class ThirdPartyTable:
    """A table that is not one of our releases."""

    table: Table

    @property
    def release(self) -> None:
        """No release of ours."""
        return


@dataclass(frozen=True, eq=False)
class OpenedGeneralized:
    """A generalized or incremental release of ours: its table, manifest and private part."""

    table: Table
    release: releases.OpenedRelease
    """Roles, requirements, manifest and, on request, the private part."""
    unwritten: releases.GeneralizedRelease | None = None
    """The release in memory, if it has not been written."""
    person_column: str | None = None
    """Person column of the original, if the release does not have it."""


class UnwrittenGroups(Protocol):
    """An anatomized release in memory; `divulge.api.anatomized` implements it."""

    @property
    def source(self) -> Table:
        """The table from which it was made."""

    @property
    def model(self) -> anatomization.AlphaBetaGammaDelta:
        """Bounds that it guarantees."""

    @property
    def published(self) -> anatomization.Published:
        """Its tables as a recipient can read them."""

    def rows_in_memory(self, message: str) -> anatomization.Anatomized:
        """Its rows, or an error if they are not in memory."""


@dataclass(frozen=True, eq=False)
class OpenedAnatomized:
    """An anatomized release: our own or a third party's tables linked by a group column."""

    linked_tables: Any = None
    """The tables of a third-party release: a folder, or a list or mapping of tables."""
    folder: Path | None = None
    """Folder of one of our releases."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The public manifest; empty if there is none."""
    unwritten: UnwrittenGroups | None = None
    """The release in memory, if it has not been written."""
    source: queries.AnatomizedSource | None = None
    """The result of `open_release`, if that was passed."""

    @property
    def is_own(self) -> bool:
        """True if the release itself states its roles."""
        return self.linked_tables is None

    @property
    def bounds(self) -> dict[str, str]:
        """Bounds on the levels of its groups that the release guarantees."""
        if self.source is not None:
            return dict(self.source.promises)
        if self.unwritten is not None:
            return self.unwritten.model.texts()
        return dict(self.document.get("promises", {}))

    def published(
        self,
        *,
        sensitive: Sequence[str] = (),
        group: str | None = None,
        count: str | None = None,
        engine: OwnEngine | None = None,
    ) -> anatomization.Published:
        """Read the tables.

        Explicit sensitive columns take precedence over those in the manifest. `group` and `count`
        name columns of a third-party release.
        """
        from divulge import anatomization, releases

        if self.source is not None:
            return self.source.published
        if self.unwritten is not None:
            return self.unwritten.published
        reader = engine or DuckDBEngine()
        if self.folder is None:
            return anatomization.join_tables(
                _read_linked_tables(self.linked_tables, reader),
                sensitive=sensitive,
                group=group or anatomization.GROUP,
                count=count or anatomization.COUNT,
            )
        form = releases.Format(self.document["format"], self.document["delimiter"])
        tables = [
            releases.read_rows(reader, self.folder / table["file"], form=form, types=table["types"])
            for table in self.document["tables"]
        ]
        return anatomization.join_tables(
            tables,
            sensitive=sensitive or self.document["roles"]["sensitive"],
            group=self.document["group_column"],
            count=self.document["count_column"],
        )


OneTable = ThirdPartyTable | OpenedGeneralized
"""Inputs that have one table, whose equivalence classes are counted."""
Opened = OneTable | OpenedAnatomized
"""Any opened input."""


def is_release(path: str | Path) -> bool:
    """True for the folder of one of our releases."""
    return Path(path).is_dir() and (Path(path) / _MANIFEST).is_file()


def is_anatomized(release: Any) -> bool:
    """True for the folder of one of our anatomized releases.

    Its files are not hashed, which opening it does.
    """
    if not isinstance(release, str | Path) or not is_release(release):
        return False
    from divulge import releases

    return releases.release_kind(Path(release)) == "anatomized"


def open_input(
    table_or_release: Any,
    *,
    private_part: releases.PrivatePart = "never",
    private_dir: str | Path | None = None,
    engine: engines.EngineChoice = None,
) -> Opened:
    """Open a table or a release of any kind.

    Args:
        table_or_release: Any source that `read` opens, the folder of a release, a release in
            memory, a result of `open_release` or of this function, or the tables of a third-party
            anatomized release as a list or mapping.
        private_part: Treatment of the private part of a folder, as in `read_manifests`. A release
            that is open already gets it with `OpenedRelease.with_private_part`.
        private_dir: The folder of the private part, if it is not next to the release.
        engine: The engine that reads the table, as in `read`.
    """
    if isinstance(table_or_release, ThirdPartyTable | OpenedAnatomized):
        return table_or_release
    if isinstance(table_or_release, OpenedGeneralized):
        return _read_again(table_or_release, engine)
    if isinstance(table_or_release, str | Path):
        if is_release(table_or_release):
            return _open_folder(
                Path(table_or_release),
                private_part=private_part,
                private_dir=private_dir,
                engine=engine,
            )
        return ThirdPartyTable(read(table_or_release, engine=engine))
    if isinstance(table_or_release, list | tuple) or (
        isinstance(table_or_release, Mapping) and "source" not in table_or_release
    ):
        return OpenedAnatomized(table_or_release)
    if not isinstance(table_or_release, Table) and _is_ours(table_or_release):
        opened = _open_result(
            table_or_release, private_part=private_part, private_dir=private_dir, engine=engine
        )
        if opened is not None:
            return opened
    return ThirdPartyTable(read(table_or_release, engine=engine))


def open_linked(release: Any) -> OpenedAnatomized:
    """Open an anatomized release of any kind.

    A folder that is not one of our releases holds the tables of a third-party release.
    """
    opened = open_release_or_linked(release)
    if isinstance(opened, OpenedGeneralized):
        kind = opened.release.document["kind"]
        message = f"{opened.release.folder} is a release of the kind {kind!r}"
        raise BadInput(message, hint="Name an anatomized release")
    return opened


def open_release_or_linked(release: Any) -> OpenedGeneralized | OpenedAnatomized:
    """Open one of our releases, with its private part, or the tables of a third-party release."""
    is_folder = isinstance(release, str | Path) and is_release(release)
    is_object = _is_ours(release) and not isinstance(release, Table)
    if is_folder or is_object:
        opened = open_input(release, private_part="if there")
        if not isinstance(opened, ThirdPartyTable) and not _is_unwritten_table(opened):
            return opened
    return OpenedAnatomized(release)


def _is_unwritten_table(opened: OpenedGeneralized | OpenedAnatomized) -> bool:
    """True for a generalized release in memory."""
    return isinstance(opened, OpenedGeneralized) and opened.unwritten is not None


def _is_ours(value: Any) -> bool:
    """True for an instance of one of our classes, which is known without importing them."""
    return type(value).__module__.partition(".")[0] == "divulge"


def _open_result(
    result: Any,
    *,
    private_part: releases.PrivatePart,
    private_dir: str | Path | None,
    engine: engines.EngineChoice,
) -> Opened | None:
    """Open a release in memory or a result of `open_release`; None for other objects."""
    from divulge import queries, releases

    if isinstance(result, queries.AnatomizedSource):
        return OpenedAnatomized(source=result)
    if isinstance(result, queries.GeneralizedSource) and result.folder is not None:
        return _open_folder(
            result.folder, private_part=private_part, private_dir=private_dir, engine=engine
        )
    if isinstance(result, releases.GeneralizedRelease):
        release = result.opened
        rows = release.read(result.engine)
        source = f"{result.original.source.source}, generalized"
        return OpenedGeneralized(replace(rows, source=source), release, result)
    if isinstance(result, releases.Release):
        return OpenedAnatomized(unwritten=cast("UnwrittenGroups", result))
    return None


def _open_folder(
    folder: Path,
    *,
    private_part: releases.PrivatePart,
    private_dir: str | Path | None,
    engine: engines.EngineChoice,
) -> OpenedGeneralized | OpenedAnatomized:
    """Open a folder after comparing its files with their hashes."""
    from divulge import releases

    manifests = releases.read_manifests(folder, private_part=private_part, private_dir=private_dir)
    if manifests.public["kind"] == "anatomized":
        return OpenedAnatomized(folder=folder, document=manifests.public)
    release = releases.OpenedRelease(folder, *manifests)
    return OpenedGeneralized(_read_table(release, engine), release)


def _read_table(release: releases.OpenedRelease, engine: engines.EngineChoice) -> Table:
    table = release.read(choose_engine(engine) or DuckDBEngine())
    return replace(table, source=str(release.folder))


def _read_again(opened: OpenedGeneralized, engine: engines.EngineChoice) -> OpenedGeneralized:
    """Read the table of an opened release again, if an engine for it is passed."""
    if opened.unwritten is not None or engine is None:
        return opened
    return replace(opened, table=_read_table(opened.release, engine))


def _read_linked_tables(linked_tables: Any, engine: OwnEngine) -> list[Table]:
    """Read the tables of a third-party anatomized release."""
    if isinstance(linked_tables, Mapping):
        tables: Any = linked_tables.values()
    else:
        tables = linked_tables
    if isinstance(linked_tables, str | Path):
        folder = Path(linked_tables)
        hint = "Name the folder that holds its tables"
        if not folder.is_dir():
            raise BadInput(f"{linked_tables} is not the folder of a release", hint=hint)
        tables = sorted(path for path in folder.iterdir() if path.suffix in _EXTENSIONS)
        if not tables:
            message = (
                f"{linked_tables} is not a release: it has no {_MANIFEST} and no tables "
                f"({', '.join(_EXTENSIONS)})"
            )
            raise BadInput(message, hint=hint)
    elif not isinstance(linked_tables, Mapping | Sequence):
        message = f"a release cannot be read from {type(linked_tables).__name__}"
        raise BadInput(message, hint="Give a folder, or a list of its tables")
    return [read(table, engine=engine) for table in tables]
