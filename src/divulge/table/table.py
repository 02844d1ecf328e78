# SPDX-License-Identifier: Apache-2.0
"""Table: a relation that an engine can read, with the names and kinds of its columns. It holds no rows."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from divulge.engines.base import Engine
from divulge.errors import BadInput, nearest

if TYPE_CHECKING:
    from divulge.table.hierarchy import Hierarchy

Kind = Literal["number", "text", "date", "boolean", "nested"]
Frame = Literal["pandas", "polars", "arrow", "none"]

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = frozenset((*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "BIGNUM", "FLOAT", "DOUBLE", "DECIMAL"))
_NESTED = frozenset(("STRUCT", "MAP", "UNION", "JSON", "VARIANT"))
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


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
    """quasi_identifiers, sensitive and identifier, each with its columns."""
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

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in table order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The column of exactly that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise BadInput(f"{self.source} has no column {name!r}", hint=nearest(name, self.names))


def table_of(engine: Engine, relation: str, *, source: str, frame: Frame = "none") -> Table:
    """The table behind `relation`, its columns as the engine describes them."""
    described = engine.describe(relation)
    check_names((name for name, _ in described), source=source)
    columns = tuple(Column(name, _short(type_), kind_of(type_)) for name, type_ in described)
    return Table(engine=engine, relation=relation, columns=columns, source=source, frame=frame)


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
        folded = name.translate(_ASCII_LOWER)
        if folded not in seen:
            seen[folded] = (name, position)
            continue
        first, earlier = seen[folded]
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
