# SPDX-License-Identifier: Apache-2.0
"""compose(): what several releases of the same people tell together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import answers, publish
from divulge.api.anatomize import AnatomizedRelease
from divulge.api.query import manifests_of, open_anatomized
from divulge.composition import Disclosed, Joined, joined
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import load_hierarchies
from divulge.table import Names, Roles, Table, own_table, read, resolve_roles


def tie(
    truth: Any,
    releases: Sequence[Any],
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    person: str | None = None,
    hierarchies: str | Path | None = None,
) -> Joined:
    """The truth's rows with the class of each in every release; `truth` is a table, or for each release the table it was made of."""
    given = list(truth) if isinstance(truth, list | tuple) else [truth]
    tables = [own_table(read(item))[0] for item in given]
    _, engine = own_table(tables[0])
    found = disclose(
        releases,
        engine=engine,
        columns=set().union(*(table.names for table in tables)),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        leave_out=() if person is None else (person,),
        hierarchies=hierarchies,
    )
    return joined(tables, found, person=person)


def disclose(
    releases: Sequence[Any],
    *,
    engine: OwnEngine,
    columns: Collection[str] | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    leave_out: Collection[str] = (),
    hierarchies: str | Path | None = None,
) -> list[Disclosed]:
    """Open releases that are out: folders of ours, what `open_release` gave, tables of others, lists of tables with groups.

    By which columns people are found: those that are given, else what any release calls a quasi-identifier, else every column (of
    `columns`, where the truth has them) that is not sensitive. A column that is sensitive in one release is sensitive in all.
    """
    if isinstance(releases, str) or not releases:
        raise BadInput("no releases were given", hint="Give a list of them: folders, tables, or what open_release gave")
    opened = [_Opened.of(item, place, engine) for place, item in enumerate(releases, start=1)]
    hidden = _listed(sensitive) or tuple(
        dict.fromkeys(name for item in opened for name in item.roles.get("sensitive", ()))
    )
    known = _listed(quasi_identifiers) or tuple(
        dict.fromkeys(name for item in opened for name in item.roles.get("quasi_identifiers", ()))
    )
    levels = {} if hierarchies is None else load_hierarchies(hierarchies)
    never = {*hidden, *leave_out}
    return [
        item.disclosed([name for name in known if name not in never], hidden, never, columns, levels) for item in opened
    ]


class _Opened:
    """One release on its way to be looked at."""

    def __init__(
        self,
        name: str,
        table: Table | None,
        release: publish.OpenedRelease | None,
        groups: Any,
        roles: Mapping[str, Any],
    ) -> None:
        self.name, self.table, self.release, self.groups, self.roles = name, table, release, groups, roles

    @classmethod
    def of(cls, item: Any, place: int, engine: OwnEngine) -> _Opened:
        if isinstance(item, answers.GeneralizedSource):
            item = item.folder
        if isinstance(item, answers.AnatomizedSource | AnatomizedRelease | list | tuple | Mapping):
            return cls(f"release {place}", None, None, item, {})
        found = manifests_of(item)
        if found is None:
            table = read(item, engine=None if isinstance(item, Table) else engine)
            return cls(table.source, table, None, None, {})
        if found.public["kind"] == "anatomized":
            return cls(str(item), None, None, item, found.public["roles"])
        release = publish.OpenedRelease(Path(item), found.public, found.private)
        return cls(str(item), release.read(engine), release, None, release.document["roles"])

    def disclosed(
        self,
        known: Sequence[str],
        hidden: Sequence[str],
        never: Collection[str],
        columns: Collection[str] | None,
        hierarchies: Mapping[str, Any],
    ) -> Disclosed:
        if self.table is None:
            published = open_anatomized(self.groups, sensitive=() if self.roles else hidden)
            return Disclosed.of_groups(published, name=self.name)
        table, names = self.table, self.table.names
        own = tuple(self.roles.get("quasi_identifiers", ()))
        found = [name for name in known if name in names and name not in own]
        if not own and not known:
            found = [name for name in names if name not in never and (columns is None or name in columns)]
        if not own and not found:
            told = f"{self.name} has none of the columns by which people are found"
            raise BadInput(told, hint="Name the columns that it shares with the others with quasi_identifiers=")
        roles: Roles = resolve_roles(
            table, quasi_identifiers=[*own, *found], sensitive=[name for name in hidden if name in names]
        )
        return Disclosed.of_table(table, roles, name=self.name, opened=self.release, hierarchies=hierarchies)


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())
