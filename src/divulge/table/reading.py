# SPDX-License-Identifier: Apache-2.0
"""How a table is read: what a user may say about it (ReadOptions), and how it was read (HowRead), which every result tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from divulge.errors import BadInput, listed, nearest

_FOR = {
    "table": "picks a table of a database",
    "sql": "asks a database",
    "as_of": "picks a version of a Delta Lake or Iceberg table",
    "sheet": "picks a sheet of a spreadsheet",
    "header": "is for delimited text and spreadsheets",
    "delimiter": "is for delimited text",
    "encoding": "is for delimited text",
    "decimal": "is for delimited text",
    "codes": "is for files of SPSS and Stata",
}
_REPEATED = ("table", "as_of", "sheet")
"""Options whose value a message repeats; a statement would be too long."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about how a table is read; each is for some kinds of sources."""

    table: str | None = None
    sql: str | None = None
    as_of: int | str | None = None
    sheet: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str | None = None
    codes: bool = False

    def only(self, *names: str, why: str) -> None:
        """Refuse every other option that was given: one that would be ignored is a misunderstanding."""
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in names and value != option.default:
                shown = f"{option.name}={value!r}" if option.name in _REPEATED else f"{option.name}="
                raise BadInput(f"{shown} {_FOR[option.name]}, and {why}", hint="Leave it out")


def known_options() -> list[str]:
    """The names of all of them."""
    return [option.name for option in fields(ReadOptions)]


@dataclass(frozen=True)
class HowRead:
    """How a table was read, in words and numbers that hold no cell of it and no secret."""

    kind: str = "rows"
    """What kind of source it is: csv, parquet, sqlite, pandas, ...; rows where it was made here."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """What was said or found out: delimiter, decimal, sheet, table, sql, version, ..."""
    notes: tuple[str, ...] = ()
    """What somebody who reads the numbers must know."""

    def document(self) -> dict[str, Any]:
        """As `settings` tell it."""
        return {"kind": self.kind, **self.how, "notes": list(self.notes)}


def pick(names: Sequence[str], asked: str | None, *, source: str, what: str = "table") -> str:
    """The table of a database, or the sheet of a spreadsheet, that is asked for, or the only one; `names` are to choose from."""
    if not names:
        raise BadInput(f"{source} has no {what}s")
    if asked is None and len(names) == 1:
        return names[0]
    if asked is None:
        choices = f"Choose one with {what}=: {listed(names)}"
        raise BadInput(f"{source} has {len(names)} {what}s and none was chosen", hint=choices)
    if asked not in names:
        raise BadInput(f"{source} has no {what} {asked!r}", hint=nearest(asked, names))
    return asked
