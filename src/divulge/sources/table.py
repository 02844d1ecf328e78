# SPDX-License-Identifier: Apache-2.0
"""Table: a relation that an engine can read, with its columns and how it was read; no rows."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from divulge.arguments import arg
from divulge.engines import Engine
from divulge.errors import BadInput, listed, nearest
from divulge.text import as_names

if TYPE_CHECKING:
    from divulge.hierarchies import Hierarchy

Names = str | Sequence[str] | None
"""A column, several columns, or none."""
Kind = Literal["number", "text", "date", "boolean", "nested"]
Frame = Literal["pandas", "polars", "arrow", "none"]
DECIMAL_DIGITS = 38
"""The most digits of a DECIMAL in DuckDB."""
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = frozenset(
    (*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "BIGNUM", "FLOAT", "DOUBLE", "DECIMAL")
)
_NESTED = frozenset(("STRUCT", "MAP", "UNION", "JSON", "VARIANT"))
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True)
class ReadSettings:
    """Record of how a table was read, without any cell of it and without secrets."""

    kind: str = "rows"
    """Kind of source: csv, parquet, sqlite, pandas, ...; rows if the table was made here."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Settings, given or detected: delimiter, decimal, sheet, table, sql, version, ..."""
    notes: tuple[str, ...] = ()
    """Notes that a reader of the numbers needs."""

    def document(self) -> dict[str, Any]:
        """Return the entry for `settings`."""
        return {"kind": self.kind, **self.how, "notes": list(self.notes)}


_NO_SOURCE = ReadSettings()
FIRST_DAY = "0001-01-01"
AFTER_LAST_DAY = "10000-01-01"
"""Range of Python's calendar, in which engines return values."""
_DECIDED_BY_TEXT = ("rows", "csv", "json", "excel")
"""Kinds of sources whose dates were checked when they were made."""
_UNTYPED = '"NULL"'
"""DuckDB's type of a column without values, which no file can be written with."""
_FIRST_DAY_IN_NANOSECONDS = "1677-09-22"
"""First whole day that nanoseconds hold. Pandas reads the first of them as a missing value."""
_LARGEST_INTEGER = 2**127 - 1


@dataclass(frozen=True)
class Column:
    """One column: its name, the engine's type text, and the kind of its values."""

    name: str
    type: str
    kind: Kind


@dataclass(frozen=True, eq=False)
class Declared:
    """Roles and hierarchies that a source declares for its own columns, as an ARX project does.

    Explicit roles take precedence.
    """

    roles: Mapping[str, tuple[str, ...]]
    """Columns by role: quasi_identifiers, sensitive, identifier and plain."""
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows an engine can read."""

    engine: Engine
    relation: str
    """Relation for a FROM clause."""
    columns: tuple[Column, ...]
    source: str
    """Name of the table for the user, for messages; never with a password."""
    frame: Frame
    """Kind of frame of the input, so that results can be returned as the same kind."""
    declared: Declared | None = None
    reading: ReadSettings = _NO_SOURCE

    # Cached, because it is looked up for each of perhaps thousands of columns.
    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in table order."""
        return tuple(self._by_name)

    @property
    def reading_settings(self) -> dict[str, Any]:
        """Source and reading settings, for the settings of results."""
        return {"source": self.source, "read": self.reading.document()}

    def has(self, name: str) -> bool:
        """Report whether there is a column of exactly that name."""
        return name in self._by_name

    def column(self, name: str) -> Column:
        """Return the column of exactly that name."""
        if not self.has(name):
            raise BadInput(f"{self.source} has no column {name!r}", hint=nearest(name, self.names))
        return self._by_name[name]

    def matching_columns(self, name: str) -> tuple[str, ...]:
        """Return the column of that name, or those that match it as a glob."""
        if self.has(name):
            return (name,)
        return tuple(column for column in self.names if fnmatchcase(column, name))

    def present(self, names: Names) -> tuple[str, ...]:
        """Return those of the columns and globs that match a column of the table."""
        return tuple(name for name in as_names(names) if self.matching_columns(name))


def table_of(
    engine: Engine,
    relation: str,
    *,
    source: str,
    frame: Frame = "none",
    reading: ReadSettings = _NO_SOURCE,
) -> Table:
    """Return the table of `relation`, its columns as the engine describes them."""
    described = engine.describe(relation)
    check_names((name for name, _ in described), source=source)
    if untyped := [name for name, type_ in described if type_ == _UNTYPED]:
        casts = (
            f"CAST({engine.quote(name)} AS VARCHAR) AS {engine.quote(name)}" for name in untyped
        )
        relation = f"(SELECT * REPLACE ({', '.join(casts)}) FROM {relation})"
        described = engine.describe(relation)
    columns = tuple(Column(name, _short_type(type_), kind_of(type_)) for name, type_ in described)
    if reading.kind not in _DECIDED_BY_TEXT:
        check_range(engine, relation, columns, source=source)
    return Table(engine, relation, columns, source, frame, reading=reading)


def check_range(engine: Engine, relation: str, columns: Iterable[Column], *, source: str) -> None:
    """Raise an error for dates that Python lacks and for integers that Arrow lacks."""
    failures = {}
    for column in columns:
        cell = engine.quote(column.name)
        if column.kind == "date" and column.type.endswith("_NS"):
            first_day = engine.cast(engine.literal(_FIRST_DAY_IN_NANOSECONDS), column.type)
            failures[column] = f"{cell} < {first_day}"
        elif column.kind == "date":
            bounds = [
                engine.cast(engine.literal(day), column.type) for day in (FIRST_DAY, AFTER_LAST_DAY)
            ]
            failures[column] = f"{cell} < {bounds[0]} OR {cell} >= {bounds[1]}"
        elif column.type == "UHUGEINT":
            failures[column] = f"{cell} > {_LARGEST_INTEGER}"
    if not failures:
        return
    looks = (f"bool_or({failure}) AS c{index}" for index, failure in enumerate(failures.values()))
    row = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    for index, column in enumerate(failures):
        if row[f"c{index}"]:
            if column.type.endswith("_NS"):
                what = f"dates before {_FIRST_DAY_IN_NANOSECONDS}"
            elif column.kind == "date":
                what = "dates outside the years 1 to 9999"
            else:
                what = "integers above 127 bits"
            raise BadInput(
                f"the column {column.name!r} of {source} has {what}, which cannot be shown",
                hint="Write null, or text, instead",
            )


def kind_of(type_: str) -> Kind:
    """Return the kind of values that a DuckDB type holds.

    A type that can only be compared for equality counts as text.
    """
    base = type_.partition("(")[0].strip().upper()
    if type_.endswith("]") or base in _NESTED:
        return "nested"
    if base in _NUMBERS:
        return "number"
    if base == "BOOLEAN":
        return "boolean"
    if base == "DATE" or base.startswith("TIMESTAMP"):
        return "date"
    return "text"


def ascii_lower(name: str) -> str:
    """Return the name as SQL compares it: with ASCII letters in lower case."""
    return name.translate(_ASCII_LOWER)


def check_names(names: Iterable[str], *, source: str) -> None:
    """Raise an error for names that are empty, duplicate, or differ only in case.

    SQL does not distinguish upper and lower case.
    """
    first_spellings: dict[str, tuple[str, int]] = {}
    for position, name in enumerate(names, start=1):
        if not name:
            raise BadInput(f"column {position} of {source} has no name", hint="Give it one")
        if not _is_unicode(name):
            raise BadInput(
                f"the name of column {position} of {source} is not valid Unicode", hint="Rename it"
            )
        first, earlier = first_spellings.setdefault(ascii_lower(name), (name, position))
        if earlier == position:
            continue
        places = f"(columns {earlier} and {position} of {source})"
        if first == name:
            raise BadInput(
                f"the column name {name!r} occurs twice {places}", hint="Rename one of them"
            )
        raise BadInput(
            f"the column names {first!r} and {name!r} differ only in upper and lower case {places}",
            hint="Rename one of them: SQL does not tell them apart",
        )
    if not first_spellings:
        raise BadInput(f"{source} has no columns")


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short_type(type_: str) -> str:
    """Shorten a type text.

    The values of an enum are left out. DuckDB quotes the type of a column of nulls; the quotes go.
    """
    if type_.startswith("ENUM("):
        return "ENUM"
    return type_.replace('"NULL"', "NULL")


# --- reading options --------------------------------------------------------------------------
_OPTION_PURPOSES = {
    "table": "picks a table of a database",
    "sql": "asks a database",
    "as_of": "picks a version of a Delta Lake or Iceberg table",
    "sheet": "picks a sheet of a spreadsheet",
    "header": "is for delimited text and spreadsheets",
    "delimiter": "is for delimited text",
    "encoding": "is for delimited text",
    "decimal": "is for delimited text",
    "codes": "is for files of SPSS and Stata",
    "union_columns": "reads columns that some of several files lack",
}
_OPTIONS_SHOWN = ("table", "as_of", "sheet")
"""Options whose value a message repeats; a statement would be too long."""


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a table; each applies to some kinds of sources."""

    table: str | None = None
    sql: str | None = None
    as_of: int | str | None = None
    sheet: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str | None = None
    codes: bool = False
    union_columns: bool = False

    def only(self, *names: str, why: str) -> None:
        """Raise an error for every other option that was given, because it would be ignored."""
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in names and value != option.default:
                if option.name in _OPTIONS_SHOWN:
                    option_text = arg(option.name, value)
                else:
                    option_text = arg(option.name)
                raise BadInput(
                    f"{option_text} {_OPTION_PURPOSES[option.name]}, and {why}", hint="Leave it out"
                )


def known_options() -> list[str]:
    """Return the names of all options."""
    return [option.name for option in fields(ReadOptions)]


def pick(names: Sequence[str], requested: str | None, *, source: str, what: str = "table") -> str:
    """Return the requested table of a database or sheet of a spreadsheet, or the only one.

    `names` are the choices.
    """
    if not names:
        raise BadInput(f"{source} has no {what}s")
    if requested is None and len(names) == 1:
        return names[0]
    if requested is None:
        choices = f"Choose one with {arg(what)}: {listed(names)}"
        raise BadInput(f"{source} has {len(names)} {what}s and none was chosen", hint=choices)
    if requested not in names:
        raise BadInput(f"{source} has no {what} {requested!r}", hint=nearest(requested, names))
    return requested
