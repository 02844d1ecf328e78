# SPDX-License-Identifier: Apache-2.0
"""open_release(): open a table or a release of any kind, for every function that takes one.

There are three kinds: a table that is not one of our releases, a generalized release, and an
anatomized release. Our own releases may be folders or in memory. A third-party anatomized release
is a folder, a list or a mapping of tables that are linked by a group column. The files of a folder
are compared with their hashes once; a function that passes an opened release on does not hash them
again. Modules for releases are imported only if a release is passed, because most inputs are plain
tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from divulge import engines
from divulge.arguments import arg
from divulge.engines import DuckDBEngine, OwnEngine, choose_engine
from divulge.errors import BadInput
from divulge.sources import Names, Table, kind_by_name, read
from divulge.text import as_names
from divulge.validation import checked

if TYPE_CHECKING:
    from divulge import anatomization, queries, releases

_MANIFEST = "manifest.json"


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
    hierarchies: str | Path | None = None
    """Folder of hierarchy files that define its labels, if the release does not."""

    @cached_property
    def answers(self) -> queries.GeneralizedSource:
        """The release as a source of estimates, with the meaning of its labels."""
        from divulge import queries

        if self.unwritten is not None:
            raise BadInput(
                "a generalized release in memory cannot be asked",
                hint="Write it, and ask the folder",
            )
        release = self.release.with_private_part
        if release.document["kind"] == "applied":
            message = (
                f"{release.folder} holds later rows, and its mapping does not list every value of "
                "their labels: no bound would be certain"
            )
            raise BadInput(
                message,
                hint="Ask the release that it continues, or generalize old and new rows together",
            )
        engine = DuckDBEngine()
        table = release.read(engine)
        labels = queries.read_labels(
            engine, table, release.document, release.private_folder, hierarchies=self.hierarchies
        )
        if release.private is None:
            left_out = None
        else:
            left_out = release.private["rows"]["original"] - release.private["rows"]["published"]
        return queries.GeneralizedSource(table, labels, left_out)


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

    folder: Path | None = None
    """Folder of the release; None if it is in memory or a list of tables."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The public manifest; empty if there is none."""
    unwritten: UnwrittenGroups | None = None
    """The release in memory, if it has not been written."""
    linked_tables: Sequence[Any] = ()
    """The tables of a third-party release, as `read` takes them."""
    group: str | None = None
    """Column of a third-party release with the name of the group, if it was named."""
    count: str | None = None
    """Column of a third-party release with the number of occurrences of a row in its group."""
    sensitive: tuple[str, ...] = ()
    """Sensitive columns, if they were named; they take precedence over those in the manifest."""
    engine: OwnEngine | None = None
    """Engine that reads the tables; None for a new one."""
    _published: dict[tuple[str, ...], anatomization.Published] = field(
        default_factory=dict, repr=False
    )

    @property
    def is_own(self) -> bool:
        """True if the release itself states its roles."""
        return self.unwritten is not None or bool(self.document)

    @property
    def name(self) -> str:
        """Name of the release in messages."""
        if self.folder is not None:
            return str(self.folder)
        if self.unwritten is not None:
            return f"{self.unwritten.source.source}, anatomized"
        return "the release"

    @property
    def roles(self) -> Mapping[str, Any]:
        """Roles that the release declares; empty for a third-party release."""
        if self.unwritten is not None:
            return {"sensitive": self.unwritten.published.sensitive}
        if self.sensitive and not self.document:
            return {"sensitive": self.sensitive}
        roles: Mapping[str, Any] = self.document.get("roles", {})
        return roles

    @property
    def bounds(self) -> dict[str, str]:
        """Bounds on the levels of its groups that the release guarantees."""
        if self.unwritten is not None:
            return self.unwritten.model.texts()
        return dict(self.document.get("promises", {}))

    def with_sensitive(self, columns: Names) -> OpenedAnatomized:
        """Name the sensitive columns; unchanged if none are named."""
        names = as_names(columns)
        if not names:
            return self
        return replace(self, sensitive=names, _published={})

    def published(self, *, sensitive: Sequence[str] = ()) -> anatomization.Published:
        """Read the tables; the result is cached.

        `sensitive` names the sensitive columns of a third-party release that was opened without.
        """
        if self.unwritten is not None:
            return self.unwritten.published
        columns = tuple(self.sensitive or self.document.get("roles", {}).get("sensitive", ()))
        columns = columns or tuple(sensitive)
        if columns not in self._published:
            self._published[columns] = self._read_tables(columns)
        return self._published[columns]

    def _read_tables(self, sensitive: tuple[str, ...]) -> anatomization.Published:
        from divulge import anatomization, releases

        reader = self.engine or DuckDBEngine()
        if self.folder is not None and self.document:
            form = releases.Format(self.document["format"], self.document["delimiter"])
            tables = [
                releases.read_rows(
                    reader, self.folder / table["file"], form=form, types=table["types"]
                )
                for table in self.document["tables"]
            ]
            group, count = self.document["group_column"], self.document["count_column"]
        else:
            tables = [read(table, engine=reader) for table in self.linked_tables]
            group = self.group or anatomization.GROUP
            count = self.count or anatomization.COUNT
        return anatomization.join_tables(tables, sensitive=sensitive, group=group, count=count)

    @cached_property
    def answers(self) -> queries.AnatomizedSource:
        """The release as a source of estimates, after a check of its groups."""
        from divulge import anatomization, queries

        published = self.published()
        if self.unwritten is None:
            anatomization.check_groups(published)
        return queries.AnatomizedSource(published)


OneTable = ThirdPartyTable | OpenedGeneralized
"""Inputs that have one table, whose equivalence classes are counted."""
Opened = OneTable | OpenedAnatomized
"""Any opened input."""


def is_release(path: str | Path) -> bool:
    """True for the folder of one of our releases."""
    return Path(path).is_dir() and (Path(path) / _MANIFEST).is_file()


def is_anatomized(release: Any, *, group: str | None = None) -> bool:
    """True for an anatomized release, or the folder of one.

    The files of our own releases are not hashed, which opening them does.
    """
    if isinstance(release, OpenedAnatomized) or _is_list_of_tables(release):
        return True
    if _is_ours(release) and not isinstance(release, Table | ThirdPartyTable | OpenedGeneralized):
        return isinstance(_open_in_memory(release), OpenedAnatomized)
    if not isinstance(release, str | Path):
        return False
    if is_release(release):
        from divulge import releases

        return releases.release_kind(Path(release)) == "anatomized"
    return bool(_linked_files(release, group))


@checked
def open_release(
    release: Any,
    *,
    sensitive: Names = (),
    group: str | None = None,
    count: str | None = None,
    hierarchies: str | Path | None = None,
    with_private: bool = False,
    private_dir: str | Path | None = None,
    engine: engines.EngineChoice = None,
) -> Opened:
    """Open a release or a table of any kind once, to use it many times.

    Every function that takes a release or a table takes the result. A function that uses the
    private part of a release reads it only then, if it is next to the release.

    Args:
        release: The folder of a release; a result of `generalize`, `anatomize` or of this
            function; the tables of a third-party anatomized release as a folder, list or mapping;
            or any source that `read` opens.
        sensitive: The sensitive columns of an anatomized release. Our own releases record them;
            explicit columns take precedence.
        group: The column of a third-party anatomized release with the name of the group. The
            default is GID.
        count: The column of a third-party anatomized release with the number of occurrences of a
            row in its group. The default is Count.
        hierarchies: A folder of hierarchy files that define the labels of a generalized release
            without its mappings.
        with_private: Use the private part of a release: the distribution of the original is the
            prior of `measure` and `check`.
        private_dir: The folder of the private part, if it is not next to the release; implies
            `with_private`.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table(
        ...     {"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]}
        ... )
        >>> opened = dv.open_release([ages, jobs])
        >>> [dv.query(opened, f"job = '{job}'").estimate for job in ("Teacher", "Doctor")]
        [3.0, 1.0]
    """
    opened = _open(
        release,
        group=group,
        with_private=with_private or private_dir is not None,
        private_dir=private_dir,
        engine=engine,
    )
    if isinstance(opened, OpenedAnatomized):
        opened = opened.with_sensitive(sensitive)
        if (own_engine := choose_engine(engine)) is not None:
            opened = replace(opened, engine=own_engine, _published={})
    if (group is not None or count is not None) and (
        not isinstance(opened, OpenedAnatomized) or opened.is_own
    ):
        message = (
            f"{arg('count' if group is None else 'group')} has no effect: it is for the tables of "
            "an anatomized release that another tool wrote"
        )
        raise BadInput(message, hint="Leave it out")
    if isinstance(opened, OpenedAnatomized) and (group is not None or count is not None):
        opened = replace(
            opened, group=group or opened.group, count=count or opened.count, _published={}
        )
    if hierarchies is None:
        return opened
    is_generalized = (
        isinstance(opened, OpenedGeneralized) and opened.release.document["kind"] == "generalized"
    )
    if not isinstance(opened, OpenedGeneralized) or not is_generalized:
        message = f"{arg('hierarchies')} has no effect: only a generalized release has labels"
        raise BadInput(message, hint="Leave it out")
    return replace(opened, hierarchies=hierarchies)


def _open(
    release: Any,
    *,
    group: str | None,
    with_private: bool,
    private_dir: str | Path | None,
    engine: engines.EngineChoice,
) -> Opened:
    """Open an input as its kind."""
    if isinstance(release, ThirdPartyTable | OpenedAnatomized):
        return release
    if isinstance(release, OpenedGeneralized):
        return _open_again(
            release, with_private=with_private, private_dir=private_dir, engine=engine
        )
    if isinstance(release, str | Path):
        if is_release(release):
            return _open_folder(
                Path(release), with_private=with_private, private_dir=private_dir, engine=engine
            )
        if linked_files := _linked_files(release, group):
            return OpenedAnatomized(Path(release), linked_tables=linked_files)
        return ThirdPartyTable(read(release, engine=engine))
    if _is_list_of_tables(release):
        tables = release.values() if isinstance(release, Mapping) else release
        return OpenedAnatomized(linked_tables=tuple(tables))
    if not isinstance(release, Table) and _is_ours(release):
        opened = _open_in_memory(release)
        if opened is not None:
            return opened
    return ThirdPartyTable(read(release, engine=engine))


def _is_list_of_tables(value: Any) -> bool:
    """True for a list or mapping of tables, and not for a named source."""
    is_mapping = isinstance(value, Mapping) and "source" not in value
    return isinstance(value, list | tuple) or is_mapping


def _is_ours(value: Any) -> bool:
    """True for an instance of one of our classes, which is known without importing them."""
    return type(value).__module__.partition(".")[0] == "divulge"


def _open_in_memory(result: Any) -> Opened | None:
    """Open a release in memory; None for other objects."""
    from divulge import releases

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
    with_private: bool,
    private_dir: str | Path | None,
    engine: engines.EngineChoice,
) -> OpenedGeneralized | OpenedAnatomized:
    """Open a folder after comparing its files with their hashes."""
    from divulge import releases

    private_part: releases.PrivatePart = "required" if with_private else "never"
    manifests = releases.read_manifests(folder, private_part=private_part, private_dir=private_dir)
    if manifests.public["kind"] == "anatomized":
        return OpenedAnatomized(folder, manifests.public, engine=choose_engine(engine))
    release = releases.OpenedRelease(folder, *manifests)
    return OpenedGeneralized(_read_table(release, engine), release)


def _read_table(release: releases.OpenedRelease, engine: engines.EngineChoice) -> Table:
    table = release.read(choose_engine(engine) or DuckDBEngine())
    return replace(table, source=str(release.folder))


def _open_again(
    opened: OpenedGeneralized,
    *,
    with_private: bool,
    private_dir: str | Path | None,
    engine: engines.EngineChoice,
) -> OpenedGeneralized:
    """Add the private part, and read the table again if an engine for it is passed."""
    if opened.unwritten is not None:
        return opened
    if with_private and opened.release.private is None:
        release = opened.release.add_private_part(private_dir)
        opened = replace(opened, release=release)
    if engine is None:
        return opened
    return replace(opened, table=_read_table(opened.release, engine))


def _linked_files(source: str | Path, group: str | None) -> tuple[Path, ...]:
    """Files of the tables of a third-party anatomized release; empty for any other source.

    They are the files and subfolders of a folder, in any format that `read` knows. Each has the
    group column and other columns than the others. A folder whose files have equal columns is one
    table.
    """
    if "://" in str(source) or not Path(source).is_dir():
        return ()
    entries = tuple(_table_entries(Path(source)))
    if len(entries) < 2:
        return ()
    if group is not None:
        return entries
    from divulge.anatomization import COUNT, GROUP

    reader = DuckDBEngine()
    try:
        first = set(read(entries[0], engine=reader).names)
        if GROUP not in first:
            return ()
        second = set(read(entries[1], engine=reader).names)
    except BadInput:
        return ()
    return entries if GROUP in second and first & second <= {GROUP, COUNT} else ()


def _table_entries(folder: Path) -> Iterator[Path]:
    """Data files of a folder, and subfolders that hold the files of one table."""
    for path in sorted(folder.iterdir()):
        is_partition = path.is_dir() and "=" in path.name
        is_table = path.is_dir() or kind_by_name(path) is not None
        if path.name[0] not in "._" and is_table and not is_partition:
            yield path
