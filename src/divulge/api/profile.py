# SPDX-License-Identifier: Apache-2.0
"""profile(): each column of a table, how much it identifies, and the role it probably plays.

A column's risk as an identifier is DR and ITPR with X the record (Bkakria et al. 2021). The role is a suggestion from the values, the
name and the counts, with its reason; it is never acted upon by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from divulge import count, engines, metrics, values
from divulge.errors import BadInput, nearest
from divulge.metrics import Identity
from divulge.policy import guard
from divulge.results import Result
from divulge.table import Column, read

Role = Literal["identifier", "person", "quasi_identifier", "sensitive", "weight", "plain"]


@dataclass(frozen=True)
class ColumnProfile:
    """One column."""

    column: str
    type: str
    distinct: int
    nulls: int
    entropy: float
    discrimination_rate: float
    itpr: float
    uniques: int
    role: Role
    reason: str
    looks_like: str | None = None
    """What its values are, where that is recognized."""
    matches: float | None = None
    """The share of the sampled rows whose values are so."""


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """Every column of a table."""

    view = "columns"

    columns: tuple[ColumnProfile, ...]
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ColumnProfile]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, column: str) -> ColumnProfile:
        """The profile of a column, by its name."""
        found = {item.column: item for item in self.columns}
        if column not in found:
            raise BadInput(f"there is no column {column!r}", hint=nearest(column, found))
        return found[column]


@values.checked
def profile(table: Any, *, engine: engines.EngineChoice = None) -> Profile:
    """Describe every column of a table, and suggest its role; few passes over the rows.

    What values are (e-mail addresses, names, IBANs, national ids, postcodes, dates of birth, coordinates, test results, free text) is
    recognized in up to about 1,000 distinct values of a column, the same ones each time.

    Args:
        table: Whatever `read` opens.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", None]})
        >>> [(item.column, item.distinct, item.nulls, item.role) for item in dv.profile(people)]
        [('zip', 2, 0, 'quasi_identifier'), ('disease', 2, 1, 'sensitive')]
    """
    source = read(table, engine=engine)
    counted = count.value_counts(source, [column.name for column in source.columns if column.kind != "nested"])
    settings = {"engine": source.engine.name, **source.told, "nulls": "category", "log_base": 2}
    facts = guard.look_at(source, counted)
    looks = guard.recognize.looks(source, source.columns, {name: seen.distinct for name, seen in facts.items()})
    columns = (
        _describe(column, counted.get(column.name), facts.get(column.name), looks.get(column.name))
        for column in source.columns
    )
    few = [column for column in source.columns if column.type == "VARCHAR" and _has_few_values(counted[column.name])]
    return Profile(
        tuple(columns),
        settings,
        tuple(count.wildcards.alike_notes(count.text_domains(source, few))),
        frame=source.frame,
    )


def _has_few_values(spectrum: count.ValueCounts) -> bool:
    """Few enough to look at each of them."""
    return 1 < spectrum.distinct <= count.wildcards.MOST_VALUES


def _describe(
    column: Column, spectrum: count.ValueCounts | None, seen: guard.Facts | None, look: guard.recognize.Look | None
) -> ColumnProfile:
    if spectrum is None or seen is None:
        reason = "its values are nested; take out the parts that matter to measure it"
        return ColumnProfile(column.name, column.type, 0, 0, 0.0, 0.0, 0.0, 0, "plain", reason)
    view = Identity.of_spectrum(spectrum.sizes, spectrum.repeats)
    rate = metrics.information.discrimination_rate(view)
    role, reason = suggest_role(column, spectrum, rate, seen, look)
    return ColumnProfile(
        column=column.name,
        type=column.type,
        distinct=spectrum.distinct,
        nulls=spectrum.nulls,
        entropy=view.mutual_information,
        discrimination_rate=rate,
        itpr=float(metrics.information.itpr(view).max()),
        uniques=int(metrics.uniques(view)),
        role=role,
        reason=reason,
        looks_like=None if look is None else look.kind,
        matches=None if look is None else look.share,
    )


def suggest_role(
    column: Column,
    spectrum: count.ValueCounts,
    rate: float,
    seen: guard.Facts,
    look: guard.recognize.Look | None = None,
) -> tuple[Role, str]:
    """The role a column probably plays, and why; what the guard would stop is an identifier, or the person where it repeats.

    What the values are goes before what the name says, unless other things look like that too.
    """
    said = guard.recognize.says(guard.words_of(column.name))
    sure = look if look is not None and not look.weak else None
    if spectrum.distinct <= 1:
        return "plain", "it has one value only and separates nobody"
    if said is not None and said[0] == "weight" and column.kind == "number":
        return said
    if sure is not None and sure.role != "identifier":
        return sure.role, sure.text
    if why := _names_somebody(column, seen, look if sure or said is None else None):
        if seen.repeats and guard.may_own_rows(column.name) and (look is None or sure):
            return "person", f"{why}, and {seen.distinct:,} values in {seen.filled:,} rows: one may own several"
        return "identifier", why
    bits = f"it gives {rate:.0%} of the bits that name a person"
    if said is not None and said[0] != "weight":
        return said[0], f"{said[1]}; it gives {rate:.0%} of the bits that name one" if said[
            0
        ] == "quasi_identifier" else said[1]
    if look is not None:
        return look.role, look.text
    return (
        ("quasi_identifier", bits)
        if rate >= 0.05
        else ("plain", f"it gives only {rate:.1%} of the bits that name a person")
    )


def _names_somebody(column: Column, seen: guard.Facts, look: guard.recognize.Look | None) -> str:
    """Why a column is an identifier, by its values or by what the guard says; empty where it is none."""
    if look is not None and look.role == "identifier":
        return look.text
    return guard.identifies(column, seen).removeprefix("looks like an identifier: ")
