# SPDX-License-Identifier: Apache-2.0
"""Suggestion of a column's role from its values, its name and its counts.

The risk of a column as an identifier is measured by DR and ITPR with X the record (Bkakria et al.
2021).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from divulge import counting, metrics
from divulge.errors import BadInput, nearest
from divulge.metrics import Identity
from divulge.options import ColumnRole
from divulge.policy import guard, recognition
from divulge.results import Result
from divulge.sources import Column


@dataclass(frozen=True)
class ColumnProfile:
    """Profile of one column."""

    column: str
    type: str
    distinct: int
    nulls: int
    entropy: float
    discrimination_rate: float
    itpr: float
    uniques: int
    role: ColumnRole
    reason: str
    looks_like: str | None = None
    """Kind of the values, if it is recognized."""
    matches: float | None = None
    """Share of the sampled rows with values of this kind."""


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """Profile of every column of a table."""

    view = "columns"

    columns: tuple[ColumnProfile, ...]
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ColumnProfile]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, column: str) -> ColumnProfile:
        """Profile of a column, by name."""
        columns_by_name = {item.column: item for item in self.columns}
        if column not in columns_by_name:
            raise BadInput(f"there is no column {column!r}", hint=nearest(column, columns_by_name))
        return columns_by_name[column]


def describe_column(
    column: Column,
    spectrum: counting.ValueCounts | None,
    column_facts: guard.Facts | None,
    look: recognition.Look | None,
) -> ColumnProfile:
    """Describe a column, and suggest its role."""
    if spectrum is None or column_facts is None:
        reason = "its values are nested; take out the parts that matter to measure it"
        return ColumnProfile(column.name, column.type, 0, 0, 0.0, 0.0, 0.0, 0, "leave_out", reason)
    view = Identity.of_spectrum(spectrum.sizes, spectrum.repeats)
    rate = metrics.information.discrimination_rate(view)
    role, reason = suggest_role(column, spectrum, rate, column_facts, look)
    return ColumnProfile(
        column=column.name,
        type=column.type,
        distinct=spectrum.distinct,
        nulls=spectrum.nulls,
        entropy=view.mutual_information,
        discrimination_rate=rate,
        itpr=float(metrics.itpr.itpr(view).max()),
        uniques=int(metrics.uniques(view)),
        role=role,
        reason=reason,
        looks_like=None if look is None else look.kind,
        matches=None if look is None else look.share,
    )


def suggest_role(
    column: Column,
    spectrum: counting.ValueCounts,
    rate: float,
    column_facts: guard.Facts,
    look: recognition.Look | None = None,
) -> tuple[ColumnRole, str]:
    """Suggest the role of a column, with the reason.

    A column that the guard would reject is an identifier, or the person column if its values
    repeat. The kind of the values takes precedence over the name, unless other things look alike. A
    column that others may know is never suggested as insensitive. If neither name nor values
    decide, the suggestion is not to publish the column until a user decides. Only a column of one
    value is insensitive.
    """
    name_suggestion = recognition.role_by_name(guard.words_of(column.name))
    if look is not None and not look.weak:
        certain_look = look
    else:
        certain_look = None
    if not spectrum.distinct or (spectrum.distinct == 1 and not spectrum.nulls):
        return "plain", "it has one value only and separates nobody"
    if name_suggestion is not None and name_suggestion[0] == "weight" and column.kind == "number":
        return name_suggestion
    if certain_look is not None and certain_look.role != "identifier":
        return certain_look.role, certain_look.text
    if why := _identifier_reason(
        column, column_facts, look if certain_look or name_suggestion is None else None
    ):
        if (
            column_facts.repeats
            and guard.may_identify_one_person(column.name)
            and (look is None or certain_look)
        ):
            return (
                "person",
                (
                    f"{why}, and {column_facts.distinct:,} values in {column_facts.filled:,} rows: "
                    "one may own several"
                ),
            )
        return "identifier", why
    bits_reason = f"it gives {rate:.0%} of the bits that name a person"
    if name_suggestion is not None and name_suggestion[0] != "weight":
        return (
            name_suggestion[0],
            f"{name_suggestion[1]}; it gives {rate:.0%} of the bits that name one"
            if name_suggestion[0] == "quasi_identifier"
            else name_suggestion[1],
        )
    if look is not None:
        return look.role, look.text
    if rate >= 0.05:
        return "quasi_identifier", bits_reason
    return (
        "leave_out",
        f"undecided whether others know it; it gives {rate:.1%} of the bits that name a person",
    )


def _identifier_reason(
    column: Column, column_facts: guard.Facts, look: recognition.Look | None
) -> str:
    """Reason why a column is an identifier, by its values or by the guard; empty if it is none."""
    if look is not None and look.role == "identifier":
        return look.text
    return guard.identifies(column, column_facts).removeprefix("looks like an identifier: ")
