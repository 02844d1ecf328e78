# SPDX-License-Identifier: Apache-2.0
"""Roles of the columns of a table: quasi-identifiers, sensitive columns, identifiers and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from divulge.errors import BadInput, listed, nearest
from divulge.options import LIST_ROLES
from divulge.sources.table import Declared, Names, Table
from divulge.text import as_names

# A column has at most one role; the person may be an identifier. A column without a role is
# published as it is, if policy/guard.py allows it.


@dataclass(frozen=True)
class Roles:
    """Role of each column that has one."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifier: tuple[str, ...]
    weight: str | None
    """Number per row: how many people of the population the row represents."""
    person: str | None
    """Column that names the person each row belongs to, if a person may own several."""
    leave_out: tuple[str, ...] = ()
    """Columns that must not be published, although they identify nobody."""
    plain: tuple[str, ...] = ()
    """Columns that may be published as they are, by the user's decision."""

    @cached_property
    def all_columns(self) -> frozenset[str]:
        """Every column with a role."""
        return frozenset(column for _, column in _role_columns(self))

    @property
    def by_column(self) -> dict[str, str]:
        """Role of each column that has one."""
        return {column: role for role, column in _role_columns(self)}

    @property
    def kept_back(self) -> tuple[str, ...]:
        """Columns that a release drops."""
        person = () if self.person is None else (self.person,)
        return tuple(dict.fromkeys((*self.identifier, *person, *self.leave_out)))

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """Columns that are both published and counted."""
        return (
            *self.quasi_identifiers,
            *self.sensitive,
            *([] if self.weight is None else [self.weight]),
        )


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
    """Check the names against the table, expand globs such as zip*, and reject double roles.

    A glob in `leave_out`, else in `plain`, means the matching columns without another role: "*"
    means all the remaining columns.

    With `declared`, a role that is not given is filled with the columns that the source itself
    declares. Declared identifiers are added to the given ones.
    """
    roles = Roles(
        quasi_identifiers=_columns(table, quasi_identifiers, role="quasi_identifiers"),
        sensitive=_columns(table, sensitive, role="sensitive"),
        identifier=_columns(table, identifier, role="identifier"),
        weight=_one_column(table, weight, role="weight"),
        person=_one_column(table, person, role="person"),
        leave_out=_exact_columns(table, leave_out, role="leave_out"),
        plain=_exact_columns(table, plain, role="plain"),
    )
    _check_single_role(roles)
    if declared and table.declared is not None:
        roles = _with_declared(roles, table.declared)
    roles = replace(roles, leave_out=_with_rest(table, roles, leave_out, roles.leave_out))
    roles = replace(roles, plain=_with_rest(table, roles, plain, roles.plain))
    _check_usable(table, roles)
    return roles


def _with_declared(roles: Roles, declared: Declared) -> Roles:
    """Fill roles that were not given with the source's own roles.

    Columns that were given another role are left out.

    Given identifiers are added to the declared ones: naming one more must not publish the others.
    """
    columns_with_roles = {column for _, column in _role_columns(roles)}
    declared_only = {
        role: tuple(name for name in names if name not in columns_with_roles)
        for role, names in declared.roles.items()
    }
    return replace(
        roles,
        quasi_identifiers=roles.quasi_identifiers or declared_only.get("quasi_identifiers", ()),
        sensitive=roles.sensitive or declared_only.get("sensitive", ()),
        identifier=(*roles.identifier, *declared_only.get("identifier", ())),
        plain=(*roles.plain, *declared_only.get("plain", ())),
    )


def _with_rest(
    table: Table, roles: Roles, role_names: Names, already: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the named columns, and those without a role that a glob matches."""
    matched = {column for name in as_names(role_names) for column in table.matching_columns(name)}
    return (
        *already,
        *(name for name in table.names if name in matched and name not in roles.all_columns),
    )


def split_names(table: Table, typed: Sequence[str], *, spread: bool = True) -> tuple[str, ...]:
    """Return the columns that command-line values name.

    A value is a column, a glob or several of them separated by commas. Globs are expanded if
    `spread`.
    """
    names: dict[str, None] = {}
    for value in typed:
        if table.matching_columns(value):
            parts = [value]
        else:
            parts = value.split(",")
        for part in parts:
            if table.has(part):
                name = part
            else:
                name = part.strip()
            columns = _expand_name(table, name, role="")
            names.update(dict.fromkeys(columns if spread else (name,)))
    return tuple(names)


def _columns(table: Table, names: Names, *, role: str) -> tuple[str, ...]:
    """Return the named columns, each once, in the given order."""
    return tuple(
        dict.fromkeys(
            column for name in as_names(names) for column in _expand_name(table, name, role=role)
        )
    )


def _exact_columns(table: Table, names: Names, *, role: str) -> tuple[str, ...]:
    """Return the named columns, without those that a glob matches."""
    exact = set(as_names(names))
    return tuple(name for name in _columns(table, names, role=role) if name in exact)


def _one_column(table: Table, name: str | None, *, role: str) -> str | None:
    if name is None:
        return None
    matching_columns = _expand_name(table, name, role=role)
    if len(matching_columns) > 1:
        choices = f"Choose one of: {listed(matching_columns)}"
        raise BadInput(
            f"{role} takes one column and {name!r} matches {len(matching_columns)}", hint=choices
        )
    return matching_columns[0]


def _expand_name(table: Table, name: str, *, role: str) -> tuple[str, ...]:
    """Return the column of that name, else the columns that match the name as a glob."""
    if role:
        role_prefix = f"{_role_text(role)}: "
    else:
        role_prefix = ""
    if not isinstance(name, str):
        raise BadInput(
            f"{role_prefix}a column name is a text, not {name!r} ({type(name).__name__})"
        )
    if not name:
        raise BadInput(
            f"{role_prefix}a column name is empty", hint=f"The columns are: {listed(table.names)}"
        )
    if matching_columns := table.matching_columns(name):
        return matching_columns
    if set(name) & set("*?["):
        columns = f"The columns are: {listed(table.names)}"
        raise BadInput(f"{role_prefix}no column of {table.source} matches {name!r}", hint=columns)
    raise BadInput(
        f"{role_prefix}{table.source} has no column {name!r}", hint=nearest(name, table.names)
    )


def _role_columns(roles: Roles) -> Iterator[tuple[str, str]]:
    """Yield each (role, column)."""
    for role in LIST_ROLES:
        yield from ((role, column) for column in getattr(roles, role))
    if roles.weight is not None:
        yield "weight", roles.weight
    if roles.person is not None and roles.person not in roles.identifier:
        yield "person", roles.person


def _role_text(role: str) -> str:
    """Return the name of a role in words, neither Python's nor the command line's."""
    return role.replace("_", "-")


def _check_single_role(roles: Roles) -> None:
    role_by_column: dict[str, str] = {}
    for role, column in _role_columns(roles):
        if column in role_by_column:
            both_roles = f"{_role_text(role_by_column[column])} and {_role_text(role)}"
            raise BadInput(
                f"the column {column!r} is given two roles: {both_roles}",
                hint="Leave it out of one of them",
            )
        role_by_column[column] = role


def _check_usable(table: Table, roles: Roles) -> None:
    for role, name in _role_columns(roles):
        column = table.column(name)
        if column.kind == "nested" and role not in ("identifier", "leave_out", "plain"):
            if len(column.type) <= 60:
                type_ = column.type
            else:
                type_ = column.type[:57] + "..."
            hint = "Make one plain column of the part that matters, or leave it out"
            raise BadInput(
                f"the column {name!r} cannot be {_role_text(role)}: it holds nested values "
                f"({type_})",
                hint=hint,
            )
        if role == "weight" and column.kind != "number":
            raise BadInput(
                f"the column {name!r} cannot be the weight: it holds {column.kind} "
                f"({column.type}), not numbers",
                hint="Number columns are: "
                f"{listed(c.name for c in table.columns if c.kind == 'number') or 'none'}",
            )
