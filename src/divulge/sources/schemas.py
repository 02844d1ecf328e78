# SPDX-License-Identifier: Apache-2.0
"""Unify the columns and types of files that are read as one table.

Every file's schema is compared before a row is counted. A column that some file lacks raises an
error, or is null there with `union_columns`. Different types are read as a common type that
preserves every value. If there is none, an error names the files, the column and the types. DuckDB
by itself would take columns and types from the first file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from divulge.arguments import arg
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.sources.table import DECIMAL_DIGITS, ascii_lower, check_names

_SIGNED = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_UNSIGNED = {f"U{name}": bits + 1 for name, bits in _SIGNED.items()}
_DIGITS = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INTEGER": 10,
    "BIGINT": 19,
    "UTINYINT": 3,
    "USMALLINT": 5,
    "UINTEGER": 10,
    "UBIGINT": 20,
    "HUGEINT": 38,
    "UHUGEINT": 38,
}
"""Decimal digits of each integer type.

The check of every value finds values of the largest two types that have more digits.
"""
_FLOATS = ("FLOAT", "DOUBLE")
_MICROSECONDS = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP")
_FINEST = {
    "TIMESTAMP_NS": frozenset((*_MICROSECONDS, "TIMESTAMP_NS")),
    "TIMESTAMPTZ_NS": frozenset(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")),
    "TIME_NS": frozenset(("TIME", "TIME_NS")),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_NULL = '"NULL"'
_MAX_NAMES_SHOWN = 3
SAME_COLUMNS = (
    f"Write all files with the same columns, or pass {arg('union_columns', value=True)} to "
    "read missing columns as "
    "nulls"
)


@dataclass(frozen=True)
class FileGroup:
    """Files with one schema, and the relation that reads them."""

    files: tuple[str, ...]
    """Files as messages name them."""
    relation: str
    columns: Mapping[str, str]
    """Engine's type of each column, in the order of the files."""


@dataclass(frozen=True)
class United:
    """All files as one relation, and the changes that were needed."""

    relation: str
    how: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def unite(
    engine: Engine, parts: Sequence[FileGroup], *, source: str, union_columns: bool
) -> United:
    """Read all parts as one relation; columns are matched by name."""
    names = united_names(
        {part.files: tuple(part.columns) for part in parts},
        source=source,
        union_columns=union_columns,
    )
    types = {name: _type_of_column(engine, parts, name, source=source) for name in names}
    relation = parts[0].relation
    if len(parts) > 1:
        selects = (_select(engine, part, types) for part in parts)
        relation = f"({' UNION ALL '.join(selects)})"
    changed_types = {
        name: type_
        for name, type_ in types.items()
        if {part.columns[name] for part in parts if name in part.columns} - {type_, _NULL}
    }
    if union_columns:
        how: dict[str, Any] = {"union_columns": True}
    else:
        how = {}
    if changed_types:
        how["types"] = changed_types
    notes = [
        *_notes_on_types(parts, changed_types),
        *(notes_on_missing(parts, names) if union_columns else ()),
    ]
    return United(relation, how, tuple(notes))


def united_names(
    columns: Mapping[tuple[str, ...], Sequence[str]], *, source: str, union_columns: bool
) -> tuple[str, ...]:
    """Return the columns of all files, given by files of equal columns.

    Raises an error if files lack some, unless that is allowed.
    """
    first_file: dict[str, str] = {}
    for files, names in columns.items():
        check_names(names, source=files[0])
        for name in names:
            first_file.setdefault(name, files[0])
    spelled: dict[str, str] = {}
    for name, file in first_file.items():
        other = spelled.setdefault(ascii_lower(name), name)
        if other != name:
            spellings = f"the column names {other!r} ({first_file[other]}) and {name!r} ({file})"
            raise BadInput(
                f"{spellings} of {source} differ only in upper and lower case",
                hint="Rename one of them: SQL does not tell them apart",
            )
    lacking = {
        files: missing
        for files, names in columns.items()
        if (missing := [n for n in first_file if n not in set(names)])
    }
    if lacking and not union_columns:
        differences = "; ".join(
            f"{_first_few(files)} {'lacks' if len(files) == 1 else 'lack'} "
            f"{_first_few(map(repr, missing))}"
            for files, missing in list(lacking.items())[:_MAX_NAMES_SHOWN]
        )
        raise BadInput(
            f"the files of {source} have different columns: {differences}", hint=SAME_COLUMNS
        )
    return tuple(first_file)


def common_type(types: Iterable[str]) -> str | None:
    """Return the narrowest type that may hold every value of all types; None if there is none.

    Numbers of different types become one type of numbers. Dates, timestamps, timestamps with a
    zone, truth values, numbers and texts stay separate.

    >>> (
    ...     common_type(["INTEGER", "BIGINT"]),
    ...     common_type(["DECIMAL(5,2)", "DECIMAL(4,3)"]),
    ...     common_type(["DATE", "TIMESTAMP"]),
    ... )
    ('BIGINT', 'DECIMAL(6,3)', None)
    """
    distinct = set(types) - {_NULL}
    if len(distinct) <= 1:
        return next(iter(distinct), _NULL)
    if all(type_ == "VARCHAR" or type_.startswith("ENUM(") for type_ in distinct):
        return "VARCHAR"
    if all(type_ in _SIGNED or type_ in _UNSIGNED for type_ in distinct):
        return _common_integer(distinct)
    if distinct <= set(_MICROSECONDS):
        return "TIMESTAMP"
    for finest, family in _FINEST.items():
        if distinct <= family:
            return finest
    digits = [_whole_and_fraction(type_) for type_ in distinct if type_ not in _FLOATS]
    if any(pair is None for pair in digits):
        return None
    integer_digits = max((pair[0] for pair in digits if pair), default=0)
    fraction = max((pair[1] for pair in digits if pair), default=0)
    if distinct & set(_FLOATS):
        if fraction == 0:
            return "DOUBLE"
        return None
    return f"DECIMAL({min(integer_digits + fraction, DECIMAL_DIGITS)},{fraction})"


def _common_integer(types: Iterable[str]) -> str:
    """Return the smallest integer type for all.

    The check of every value finds values that HUGEINT does not hold.
    """
    distinct = set(types)
    if distinct <= set(_UNSIGNED):
        return max(distinct, key=lambda name: _UNSIGNED[name])
    bits = max(_SIGNED.get(name, _UNSIGNED.get(name, 0)) for name in distinct)
    return next((name for name, type_bits in _SIGNED.items() if type_bits >= bits), "HUGEINT")


def _whole_and_fraction(type_: str) -> tuple[int, int] | None:
    """Return the digits before and after the decimal point of an exact number."""
    if type_ in _DIGITS:
        return _DIGITS[type_], 0
    match = _DECIMAL.fullmatch(type_)
    if match:
        return (int(match[1]) - int(match[2]), int(match[2]))
    return None


def _type_of_column(engine: Engine, parts: Sequence[FileGroup], name: str, *, source: str) -> str:
    """Return the common type of a column, after a check of every value that it might change."""
    holders = [part for part in parts if name in part.columns]
    type_ = common_type(part.columns[name] for part in holders)
    if type_ is None or any(_changes_a_value(engine, part, name, type_) for part in holders):
        raise BadInput(
            f"the column {name!r} of {source} has types that cannot be one without a change: "
            f"{_types_by_file(holders, name)}",
            hint="Write it with one type in all files",
        )
    return type_


def _changes_a_value(engine: Engine, part: FileGroup, name: str, type_: str) -> bool:
    """Return whether a value of the part changes by a cast to a type and back."""
    part_type = part.columns[name]
    if part_type in (type_, _NULL) or type_ == "VARCHAR":
        return False
    cell = engine.quote(name)
    back = engine.cast(engine.cast(cell, type_, attempt=True), part_type, attempt=True)
    changed_rows = engine.query(
        f"SELECT 1 AS one FROM {part.relation} WHERE {back} IS DISTINCT FROM {cell} LIMIT 1"
    )
    return bool(changed_rows.num_rows)


def _select(engine: Engine, part: FileGroup, types: Mapping[str, str]) -> str:
    cells = []
    for name, type_ in types.items():
        cell = engine.quote(name)
        if type_ == _NULL:
            target = "VARCHAR"
        else:
            target = type_
        if name not in part.columns:
            cells.append(f"{engine.cast('NULL', target)} AS {cell}")
        elif part.columns[name] == target:
            cells.append(cell)
        else:
            cells.append(f"{engine.cast(cell, target)} AS {cell}")
    return f"SELECT {', '.join(cells)} FROM {part.relation}"


def _notes_on_types(parts: Sequence[FileGroup], changed_types: Mapping[str, str]) -> list[str]:
    return [
        f"the type of {name!r} differs between files ({_types_by_file(parts, name)}): read as "
        f"{type_}, every value unchanged"
        for name, type_ in changed_types.items()
    ]


def notes_on_missing(parts: Sequence[FileGroup], names: Sequence[str]) -> list[str]:
    """Return a note for each column that some files lack."""
    total = sum(len(part.files) for part in parts)
    notes = []
    for name in names:
        files = [file for part in parts if name not in part.columns for file in part.files]
        if files:
            notes.append(
                f"{name!r} is null in {len(files)} of {total} files, which lack it: "
                f"{_first_few(files)}"
            )
    return notes


def _types_by_file(parts: Sequence[FileGroup], name: str) -> str:
    files: dict[str, list[str]] = {}
    for part in parts:
        if name in part.columns:
            files.setdefault(part.columns[name].replace('"', ""), []).extend(part.files)
    return ", ".join(f"{type_} in {_first_few(names)}" for type_, names in files.items())


def _first_few(names: Iterable[str]) -> str:
    """Return the first few names, and the number of the others."""
    all_names = list(names)
    if len(all_names) > _MAX_NAMES_SHOWN:
        rest = f" and {len(all_names) - _MAX_NAMES_SHOWN} more"
    else:
        rest = ""
    return ", ".join(all_names[:_MAX_NAMES_SHOWN]) + rest
