# SPDX-License-Identifier: Apache-2.0
"""An anatomized release in outline: everything that a report and the manifest tell, whether its rows are here or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from divulge.anatomize import AlphaBetaGammaDelta, Division, Reached
from divulge.count import Nulls
from divulge.publish.formats import Format
from divulge.table.roles import Roles
from divulge.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided:
    """What every anatomized release carries along, wherever its rows are."""

    source: Table = field(repr=False)
    roles: Roles
    left_out: Mapping[str, str]
    """The columns of the source that are not published, each with the reason."""
    nulls: Nulls
    seed_given: bool


@dataclass(frozen=True)
class TableOutline:
    """One table of a release."""

    name: str
    """What its file, or folder of files, is called, without an ending."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    """Whether a row says for how many records it stands."""
    rows: int


@dataclass(frozen=True)
class Outline:
    """A release without its rows."""

    source: str
    method: str
    model: AlphaBetaGammaDelta
    """What it promises ..."""
    levels: Reached
    """... and what it reaches."""
    settings: Mapping[str, Any]
    division: Division
    roles: Roles
    left_out: Mapping[str, str]
    """The columns that are not published, each with the reason."""
    nulls: Nulls
    rows: int
    groups: int
    smallest: int
    largest: int
    group: str
    """The column that holds the group ..."""
    count: str
    """... and the one that tells for how many records a row stands."""
    tables: tuple[TableOutline, ...]
    engine: str
    row_order: str
    notes: tuple[str, ...] = field(default=())
    """What a reader should know about how it came about."""

    def document(self, *, form: Format, types: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """What the manifest says; no seed is in it. `types` are by the name of the table's file or folder."""
        return {
            "kind": "anatomized",
            "method": self.method,
            "promises": self.model.texts(),
            "levels": self.levels.texts(),
            "settings": dict(self.settings),
            "nulls": self.nulls,
            "roles": {
                "quasi_identifiers": list(self.roles.quasi_identifiers),
                "sensitive": list(self.roles.sensitive),
                "identifier": list(self.roles.identifier),
                "left_out": dict(self.left_out),
            },
            "rows": self.rows,
            "groups": self.groups,
            "group_sizes": {"min": self.smallest, "max": self.largest},
            "group_column": self.group,
            "count_column": self.count,
            "format": form.kind,
            "delimiter": form.delimiter,
            "tables": [
                {
                    "file": name,
                    "columns": list(table.columns),
                    "sensitive": table.sensitive,
                    "counted": table.counted,
                    "types": dict(types[name]),
                }
                for name, table in zip(types, self.tables, strict=True)
            ],
            "row_order": self.row_order,
            "engine": self.engine,
            "notes": list(self.notes),
        }
