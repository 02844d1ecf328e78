# SPDX-License-Identifier: Apache-2.0
"""An anatomized release as anybody can read it: one relation per table, joined by nothing but the group.

Everything here, and in measured.py, is worked out from the released tables alone, so it serves our own releases when they are
verified, and another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from divulge.arrays import Ints
from divulge.engines.base import Engine
from divulge.errors import BadInput, nearest
from divulge.table.table import Table

GROUP, COUNT = "GID", "Count"
_ONE_RELEASE = "Are they files of one release?"


@dataclass(frozen=True)
class GroupTable:
    """One published table."""

    relation: str
    """What stands after FROM."""
    columns: tuple[str, ...]
    """Without the group and the count."""
    counted: bool
    """Whether a row says how many records it stands for; else each stands for one."""
    source: str
    """For messages."""


@dataclass(frozen=True, eq=False)
class Published:
    """The tables of a release, which agree on the groups and their sizes."""

    engine: Engine
    tables: tuple[GroupTable, ...]
    sensitive: tuple[str, ...]
    """The sensitive columns; each is alone in its table."""
    group: str
    count: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All released columns, table by table."""
        return tuple(name for table in self.tables for name in table.columns)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The table of each column."""
        return {name: position for position, table in enumerate(self.tables) for name in table.columns}

    @cached_property
    def records(self) -> int:
        """How many records were released."""
        return int(self._sizes(self.tables[0])[1].sum())

    def mass(self, table: GroupTable) -> str:
        """SQL for how many records a row stands for."""
        return f"CAST({self.engine.quote(self.count)} AS BIGINT)" if table.counted else "1"

    def _sizes(self, table: GroupTable) -> tuple[pa.Array, Ints]:
        """The groups in order, and their records."""
        group = self.engine.quote(self.group)
        found = self.engine.query(
            f"SELECT {group} AS g, CAST(SUM({self.mass(table)}) AS BIGINT) AS n FROM {table.relation} "
            "GROUP BY 1 ORDER BY 1 NULLS LAST"
        )
        return found.column("g").combine_chunks(), found.column("n").to_numpy()

    def modal_query(self, table: GroupTable) -> str:
        """SQL for each group g, the count of its commonest tuple as most, and its records as size."""
        quote = self.engine.quote
        keys = ", ".join(
            [f"{quote(self.group)} AS g", *(f"{quote(name)} AS c{i}" for i, name in enumerate(table.columns))]
        )
        listed = ", ".join(["g", *(f"c{i}" for i in range(len(table.columns)))])
        counted = f"SELECT {listed}, SUM(w) AS m FROM (SELECT {keys}, {self.mass(table)} AS w FROM {table.relation}) AS r GROUP BY {listed}"
        return (
            f"SELECT g, CAST(MAX(m) AS BIGINT) AS most, CAST(SUM(m) AS BIGINT) AS size FROM ({counted}) AS t GROUP BY g"
        )

    def tally_query(self, table: GroupTable) -> str:
        """SQL for each group g and each value v of a sensitive column in it, the records as n."""
        group, value = self.engine.quote(self.group), self.engine.quote(table.columns[0])
        return (
            f"SELECT g, v, CAST(SUM(w) AS BIGINT) AS n FROM "
            f"(SELECT {group} AS g, {value} AS v, {self.mass(table)} AS w FROM {table.relation}) AS r GROUP BY g, v"
        )

    def divided(self) -> tuple[list[GroupTable], list[GroupTable]]:
        """The tables of quasi-identifiers and those of sensitive columns."""
        sensitive = [table for table in self.tables if table.columns[0] in self.sensitive]
        if not sensitive:
            raise BadInput("it is not known which column of the release is sensitive", hint=nearest("", self.columns))
        return [table for table in self.tables if table not in sensitive], sensitive


def join_tables(
    tables: Sequence[Table], *, sensitive: Sequence[str], group: str = GROUP, count: str = COUNT
) -> Published:
    """The release that these tables make up, after a look at their columns and counts; see also `check_groups`."""
    found = [_group_table(table, group=group, count=count) for table in tables]
    if not found:
        raise BadInput("a release without tables", hint="Name the files of its tables")
    _check_columns(found, sensitive)
    published = Published(tables[0].engine, tuple(found), tuple(sensitive), group, count)
    _check_counts(published)
    return published


def _group_table(table: Table, *, group: str, count: str) -> GroupTable:
    if group not in table.names:
        raise BadInput(f"{table.source} has no group column {group!r}", hint=nearest(group, table.names))
    columns = tuple(name for name in table.names if name not in (group, count))
    if not columns:
        raise BadInput(f"{table.source} has no columns but the group", hint="It tells nothing: leave it out")
    return GroupTable(table.relation, columns, count in table.names, table.source)


def _check_columns(tables: Sequence[GroupTable], sensitive: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for table in tables:
        for name in table.columns:
            if name.casefold() in seen:
                raise BadInput(
                    f"the column {name!r} is in {seen[name.casefold()]} and in {table.source}",
                    hint="A column that is in two tables links them: this is not an anatomized release",
                )
            seen[name.casefold()] = table.source
    for name in sensitive:
        holder = next((table for table in tables if name in table.columns), None)
        if holder is None:
            raise BadInput(f"no table of the release has the sensitive column {name!r}", hint=nearest(name, seen))
        if len(holder.columns) > 1:
            others = ", ".join(repr(other) for other in holder.columns if other != name)
            raise BadInput(
                f"the sensitive column {name!r} is published in one table with {others}",
                hint="The model wants it in a table of its own",
            )


def _check_counts(published: Published) -> None:
    """Counts are whole numbers from 1 on, and every row has a group."""
    group = published.engine.quote(published.group)
    for table in published.tables:
        count = published.engine.quote(published.count)
        wrong = f" OR {count} IS NULL OR {count} < 1 OR {count} <> FLOOR({count})" if table.counted else ""
        found = published.engine.query(
            f"SELECT COUNT(*) AS n FROM {table.relation} WHERE {group} IS NULL{wrong}"
        ).to_pylist()
        if found[0]["n"]:
            raise BadInput(
                f"{found[0]['n']} rows of {table.source} lack a group, or have a {published.count} that is not a whole number from 1 on",
                hint="Mend the file",
            )


def check_groups(published: Published) -> None:
    """All tables have the same groups, of the same sizes; measuring them finds that too."""
    first, *others = published.tables
    groups, sizes = published._sizes(first)  # noqa: SLF001 - of this module
    if not len(sizes):
        raise BadInput(f"{first.source} has no rows", hint="There is nothing in this release")
    for table in others:
        theirs, counts = published._sizes(table)  # noqa: SLF001 - of this module
        if not theirs.cast(pa.string()).equals(groups.cast(pa.string())):
            raise _other_groups(first.source, table.source)
        check_sizes(groups, sizes, counts, sources=(first.source, table.source))


def check_sizes(groups: Sequence[object], sizes: Ints, others: Ints, *, sources: tuple[str, str]) -> None:
    """Two tables have as many records of each group; a group that one of them lacks has 0."""
    if np.array_equal(sizes, others):
        return
    place = int(np.flatnonzero(sizes != others)[0])
    if 0 in (sizes[place], others[place]):
        raise _other_groups(*sources)
    raise BadInput(
        f"group {groups[place]} has {sizes[place]} records in {sources[0]} and {others[place]} in {sources[1]}",
        hint=_ONE_RELEASE,
    )


def _other_groups(first: str, second: str) -> BadInput:
    """What to say where one table has a group that another one lacks."""
    return BadInput(f"{first} and {second} do not have the same groups", hint=_ONE_RELEASE)
