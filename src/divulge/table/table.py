# SPDX-License-Identifier: Apache-2.0
"""Table: a relation that an engine can read, with the names and kinds of its columns, and how it was read. It holds no rows."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from divulge import values
from divulge.engines import Engine
from divulge.errors import BadInput, listed, nearest

if TYPE_CHECKING:
    from divulge.hierarchy import Hierarchy


Kind = Literal["number", "text", "date", "boolean", "nested"]
Frame = Literal["pandas", "polars", "arrow", "none"]
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = frozenset((*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "BIGNUM", "FLOAT", "DOUBLE", "DECIMAL"))
_NESTED = frozenset(("STRUCT", "MAP", "UNION", "JSON", "VARIANT"))
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


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


_MADE_HERE = HowRead()


@dataclass(frozen=True)
class Column:
    """One column: its name, the engine's type text, and what kind of values it holds."""

    name: str
    type: str
    kind: Kind


@dataclass(frozen=True, eq=False)
class Declared:
    """What a source says about its own columns, as an ARX project does; what the user says goes before it."""

    roles: Mapping[str, tuple[str, ...]]
    """quasi_identifiers, sensitive, identifier and plain, each with its columns."""
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows an engine can read."""

    engine: Engine
    relation: str
    """What stands after FROM."""
    columns: tuple[Column, ...]
    source: str
    """The table as the user knows it, for messages; never with a password."""
    frame: Frame
    """The kind of frame that was handed in, so that results can come back as the same kind."""
    declared: Declared | None = None
    reading: HowRead = _MADE_HERE

    # Looked up once for each of perhaps thousands of columns, so kept.
    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in table order."""
        return tuple(self._by_name)

    @property
    def told(self) -> dict[str, Any]:
        """What was read and how, for the settings of results."""
        return {"source": self.source, "read": self.reading.document()}

    def has(self, name: str) -> bool:
        """Whether there is a column of exactly that name."""
        return name in self._by_name

    def column(self, name: str) -> Column:
        """The column of exactly that name."""
        if not self.has(name):
            raise BadInput(f"{self.source} has no column {name!r}", hint=nearest(name, self.names))
        return self._by_name[name]

    def present(self, names: Names) -> tuple[str, ...]:
        """Those of the columns and globs that the table has something for."""
        return tuple(name for name in values.several(names) if _matches(self, name))


def table_of(
    engine: Engine, relation: str, *, source: str, frame: Frame = "none", reading: HowRead = _MADE_HERE
) -> Table:
    """The table behind `relation`, its columns as the engine describes them."""
    described = engine.describe(relation)
    check_names((name for name, _ in described), source=source)
    columns = tuple(Column(name, _short(type_), kind_of(type_)) for name, type_ in described)
    return Table(engine, relation, columns, source, frame, reading=reading)


def kind_of(type_: str) -> Kind:
    """What kind of values a DuckDB type holds; a type that can only be compared for equality counts as text."""
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


def check_names(names: Iterable[str], *, source: str) -> None:
    """Refuse names that are empty, given twice, or differ only in case, which SQL cannot tell apart."""
    seen: dict[str, tuple[str, int]] = {}
    for position, name in enumerate(names, start=1):
        if not name:
            raise BadInput(f"column {position} of {source} has no name", hint="Give it one")
        first, earlier = seen.setdefault(name.translate(_ASCII_LOWER), (name, position))
        if earlier == position:
            continue
        places = f"(columns {earlier} and {position} of {source})"
        if first == name:
            raise BadInput(f"the column name {name!r} occurs twice {places}", hint="Rename one of them")
        raise BadInput(
            f"the column names {first!r} and {name!r} differ only in upper and lower case {places}",
            hint="Rename one of them: SQL does not tell them apart",
        )
    if not seen:
        raise BadInput(f"{source} has no columns")


def _short(type_: str) -> str:
    """An enum's type text lists all its values: leave them out; DuckDB quotes the type of a column of nulls."""
    return "ENUM" if type_.startswith("ENUM(") else type_.replace('"NULL"', "NULL")


# --- roles ------------------------------------------------------------------------------------------------------------
# A column has at most one role; the person may be an identifier. What has none is published as it is, if policy/guard.py lets it.
Names = str | Sequence[str] | None
_LISTS = ("quasi_identifiers", "sensitive", "identifier", "leave_out", "plain")


@dataclass(frozen=True)
class Roles:
    """The role of each column that has one."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifier: tuple[str, ...]
    weight: str | None
    """A number per row: how many people of the population the row stands for."""
    person: str | None
    """Whose row it is, where a person may own several."""
    leave_out: tuple[str, ...] = ()
    """What is not to be published, although it names nobody."""
    plain: tuple[str, ...] = ()
    """What may be published as it is: somebody has looked at it and says so."""

    @cached_property
    def named(self) -> frozenset[str]:
        """Every column with a role."""
        return frozenset(column for _, column in _assigned(self))

    @property
    def by_column(self) -> dict[str, str]:
        """The role of each column that has one."""
        return {column: role for role, column in _assigned(self)}

    @property
    def kept_back(self) -> tuple[str, ...]:
        """The columns that a release leaves out."""
        person = () if self.person is None else (self.person,)
        return tuple(dict.fromkeys((*self.identifier, *person, *self.leave_out)))

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns that are both published and counted."""
        return (*self.quasi_identifiers, *self.sensitive, *([] if self.weight is None else [self.weight]))


def resolve_roles(
    table: Table,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    declared: bool = False,
) -> Roles:
    """Check the names against the table, spread globs such as zip*, and refuse a column in two roles.

    A glob in `leave_out`, else in `plain`, means what it matches and has no other role: "*" is all the rest.

    With `declared`, a role that is not given is filled with the columns that the source itself declares to have it, and what it
    declares to identify people does so beside what is given.
    """
    roles = Roles(
        quasi_identifiers=_columns(table, quasi_identifiers, role="quasi_identifiers"),
        sensitive=_columns(table, sensitive, role="sensitive"),
        identifier=_columns(table, identifier, role="identifier"),
        weight=_one_column(table, weight, role="weight"),
        person=_one_column(table, person, role="person"),
        leave_out=_by_their_names(table, leave_out, role="leave_out"),
        plain=_by_their_names(table, plain, role="plain"),
    )
    _refuse_two_roles(roles)
    if declared and table.declared is not None:
        roles = _filled(roles, table.declared)
    roles = replace(roles, leave_out=_with_rest(table, roles, leave_out, roles.leave_out))
    roles = replace(roles, plain=_with_rest(table, roles, plain, roles.plain))
    _refuse_unusable(table, roles)
    return roles


def _filled(roles: Roles, declared: Declared) -> Roles:
    """Roles that were not given as the source declares them, but for columns that were given another.

    Identifiers that were given are added to those that are declared: naming one more must not publish the others.
    """
    taken = {column for _, column in _assigned(roles)}
    free = {role: tuple(name for name in names if name not in taken) for role, names in declared.roles.items()}
    return replace(
        roles,
        quasi_identifiers=roles.quasi_identifiers or free.get("quasi_identifiers", ()),
        sensitive=roles.sensitive or free.get("sensitive", ()),
        identifier=(*roles.identifier, *free.get("identifier", ())),
        plain=(*roles.plain, *free.get("plain", ())),
    )


def _with_rest(table: Table, roles: Roles, asked: Names, already: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that are named, and those without a role that a glob matches."""
    matched = {column for name in values.several(asked) for column in _matches(table, name)}
    return (*already, *(name for name in table.names if name in matched and name not in roles.named))


def split_names(table: Table, typed: Sequence[str], *, spread: bool = True) -> tuple[str, ...]:
    """The columns that command-line values name: a column, a glob (as it is, unless it is to `spread`), or several with commas between."""
    found: dict[str, None] = {}
    for value in typed:
        for part in (value,) if _matches(table, value) else value.split(","):
            name = part if table.has(part) else part.strip()
            columns = _spread(table, name, role="")
            found.update(dict.fromkeys(columns if spread else (name,)))
    return tuple(found)


def _columns(table: Table, names: Names, *, role: str) -> tuple[str, ...]:
    """The named columns, each once, in the order in which they were asked for."""
    return tuple(dict.fromkeys(column for name in values.several(names) for column in _spread(table, name, role=role)))


def _by_their_names(table: Table, names: Names, *, role: str) -> tuple[str, ...]:
    """The named columns, without those that a glob matches."""
    exact = set(values.several(names))
    return tuple(name for name in _columns(table, names, role=role) if name in exact)


def _one_column(table: Table, name: str | None, *, role: str) -> str | None:
    if name is None:
        return None
    found = _spread(table, name, role=role)
    if len(found) > 1:
        choices = f"Choose one of: {listed(found)}"
        raise BadInput(f"{role} takes one column and {name!r} matches {len(found)}", hint=choices)
    return found[0]


def _spread(table: Table, name: str, *, role: str) -> tuple[str, ...]:
    """The column of that name, else the columns that the name matches as a glob."""
    asked = f"{_said(role)}: " if role else ""
    if not isinstance(name, str):
        raise BadInput(f"{asked}a column name is a text, not {name!r} ({type(name).__name__})")
    if not name:
        raise BadInput(f"{asked}a column name is empty", hint=f"The columns are: {listed(table.names)}")
    if found := _matches(table, name):
        return found
    if set(name) & set("*?["):
        columns = f"The columns are: {listed(table.names)}"
        raise BadInput(f"{asked}no column of {table.source} matches {name!r}", hint=columns)
    raise BadInput(f"{asked}{table.source} has no column {name!r}", hint=nearest(name, table.names))


def _matches(table: Table, name: str) -> tuple[str, ...]:
    if table.has(name):
        return (name,)
    return tuple(column for column in table.names if fnmatchcase(column, name))


def _assigned(roles: Roles) -> Iterator[tuple[str, str]]:
    """Each (role, column)."""
    for role in _LISTS:
        yield from ((role, column) for column in getattr(roles, role))
    if roles.weight is not None:
        yield "weight", roles.weight
    if roles.person is not None and roles.person not in roles.identifier:
        yield "person", roles.person


def _said(role: str) -> str:
    """In words, which are neither Python's nor the command line's."""
    return role.replace("_", "-")


def _refuse_two_roles(roles: Roles) -> None:
    taken: dict[str, str] = {}
    for role, column in _assigned(roles):
        if column in taken:
            both = f"{_said(taken[column])} and {_said(role)}"
            raise BadInput(f"the column {column!r} is given two roles: {both}", hint="Leave it out of one of them")
        taken[column] = role


def _refuse_unusable(table: Table, roles: Roles) -> None:
    for role, name in _assigned(roles):
        column = table.column(name)
        if column.kind == "nested" and role not in ("identifier", "leave_out", "plain"):
            type_ = column.type if len(column.type) <= 60 else column.type[:57] + "..."
            hint = "Make one plain column of the part that matters, or leave it out"
            raise BadInput(f"the column {name!r} cannot be {_said(role)}: it holds nested values ({type_})", hint=hint)
        if role == "weight" and column.kind != "number":
            raise BadInput(
                f"the column {name!r} cannot be the weight: it holds {column.kind} ({column.type}), not numbers",
                hint=f"Number columns are: {listed(c.name for c in table.columns if c.kind == 'number') or 'none'}",
            )


# --- what a user may say about how a table is read --------------------------------------------------------------------
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
