# SPDX-License-Identifier: Apache-2.0
"""Columns without a role, before they are published as they are: none of them may name people or number rows.

What nobody has looked at must not leave by accident. Generalizing refuses a column that looks like an identifier, counts the rows, or
cannot be looked into until the user says what it is, or says that it is to be kept; anatomizing leaves it out and says so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from divulge.count.spectrum import Spectrum, spectra
from divulge.errors import BadInput
from divulge.metrics import Identity, identity
from divulge.table.roles import Roles
from divulge.table.table import Column, Table
from divulge.tasks.profile import names_quasi_identifier, suggest_role


def columns_without_role(table: Table, roles: Roles, keep: Collection[str]) -> tuple[str, ...]:
    """The columns that are published although they have no role; refused if one looks like it names people."""
    named = {*roles.quasi_identifiers, *roles.sensitive, *roles.identifier, roles.weight, roles.person}
    plain = [column for column in table.columns if column.name not in named]
    refused = objections(table, [column.name for column in plain if column.name not in keep])
    if refused:
        told = "; ".join(f"{name!r} {reason}" for name, reason in refused.items())
        raise BadInput(
            f"columns without a role would be published as they are, and some must not be by accident: {told}",
            hint="Name them as identifiers, which are left out, or give them another role, or ask for them with keep",
        )
    return tuple(column.name for column in plain)


def objections(table: Table, names: Collection[str]) -> dict[str, str]:
    """Which of these columns must not be published unasked, and why."""
    unknown = [column for column in table.columns if column.name in names]
    counted = spectra(table, [column.name for column in unknown if column.kind != "nested"])
    reasons = {column.name: _objection(table, column, counted.get(column.name)) for column in unknown}
    return {name: reason for name, reason in reasons.items() if reason}


def _objection(table: Table, column: Column, spectrum: Spectrum | None) -> str | None:
    """Why a column must not be published unasked."""
    if spectrum is None:
        return "holds nested values, which nobody has looked into"
    column = _as_whole(table, column, spectrum)
    # Eight people may well be 30, 31, ..., 37 years old: a name that says so counts for more than the pattern.
    if not names_quasi_identifier(column.name) and _numbers_rows(table, column, spectrum):
        return "numbers the rows"
    rate = identity.discrimination_rate(Identity.of_spectrum(spectrum.sizes, spectrum.repeats))
    role, reason = suggest_role(column, spectrum, rate)
    return f"looks like an identifier: {reason}" if role == "identifier" else None


def _numbers_rows(table: Table, column: Column, spectrum: Spectrum) -> bool:
    """Whole numbers without gaps, each once."""
    if not _is_whole(column) or spectrum.nulls or spectrum.rows < 2 or spectrum.distinct != spectrum.rows:
        return False
    name = table.engine.quote(column.name)
    ends = table.engine.query(f"SELECT MIN({name}) AS low, MAX({name}) AS high FROM {table.relation}").to_pylist()[0]
    return bool(ends["high"] - ends["low"] == spectrum.rows - 1)


def _as_whole(table: Table, column: Column, spectrum: Spectrum) -> Column:
    """The column as one of whole numbers if it holds nothing else: pandas makes floats of keys where one is missing, others decimals."""
    if column.kind != "number" or _is_whole(column) or 2 * spectrum.distinct < spectrum.rows - spectrum.nulls:
        return column
    rest = f"CAST({table.engine.quote(column.name)} AS DOUBLE) % 1"
    found = table.engine.query(f"SELECT COUNT(*) AS n FROM {table.relation} WHERE {rest} <> 0 AND NOT ISNAN({rest})")
    return column if found.column("n")[0].as_py() else replace(column, type="BIGINT")


def _is_whole(column: Column) -> bool:
    return column.kind == "number" and column.type.removeprefix("U").endswith(("INT", "INTEGER"))
