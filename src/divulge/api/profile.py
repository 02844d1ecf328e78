# SPDX-License-Identifier: Apache-2.0
"""profile(): each column of a table, how much it identifies, and the role it probably plays.

A column's risk as an identifier is DR and ITPR with X the record (Bkakria et al. 2021). The role is a suggestion from the name and
the counts, with its reason; it is never acted upon by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from divulge import metrics
from divulge.count import ValueCounts, value_counts
from divulge.errors import BadInput, nearest
from divulge.metrics import Identity
from divulge.results import Result
from divulge.table import Column, read

Role = Literal["identifier", "quasi_identifier", "sensitive", "weight", "plain"]
_IDENTIFIER = set(
    "name firstname lastname surname forename fullname email mail phone telephone mobile fax ssn passport iban account "
    "license licence plate address street ip mac url username login mrn nhs id uuid guid".split()
)
_SENSITIVE = set(
    "disease diagnosis diagnoses condition illness symptom treatment medication drug hiv cancer icd salary income wage wages "
    "earnings debt credit religion belief party vote orientation crime conviction disability pregnancy result score grade "
    "capital".split()
)
_QUASI = set(
    "zip zipcode postcode postal plz age birth birthday birthdate dob born sex gender race ethnicity nationality citizenship "
    "country state county city town region district marital relationship education school degree job occupation profession "
    "employer workclass industry height weight household children language admission date".split()
)
_WEIGHT = {"fnlwgt", "wgt", "weighting", "pweight", "sampleweight"}


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


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """Every column of a table."""

    view = "columns"

    columns: tuple[ColumnProfile, ...]
    settings: dict[str, Any]

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


def profile(table: Any, *, engine: Any = None) -> Profile:
    """Describe every column of a table, and suggest its role; one pass over the rows.

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
    counted = value_counts(source, [column.name for column in source.columns if column.kind != "nested"])
    settings = {"engine": source.engine.name, "source": source.source, "nulls": "category", "log_base": 2}
    return Profile(tuple(_describe(column, counted.get(column.name)) for column in source.columns), settings)


def _describe(column: Column, spectrum: ValueCounts | None) -> ColumnProfile:
    if spectrum is None:
        reason = "its values are nested; take out the parts that matter to measure it"
        return ColumnProfile(column.name, column.type, 0, 0, 0.0, 0.0, 0.0, 0, "plain", reason)
    view = Identity.of_spectrum(spectrum.sizes, spectrum.repeats)
    rate = metrics.information.discrimination_rate(view)
    role, reason = suggest_role(column, spectrum, rate)
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
    )


def suggest_role(column: Column, spectrum: ValueCounts, rate: float) -> tuple[Role, str]:
    """The role a column probably plays, and why."""
    rows, distinct = spectrum.rows, spectrum.distinct
    words = _words(column.name)
    if distinct <= 1:
        return "plain", "it has one value only and separates nobody"
    if words & _WEIGHT and column.kind == "number":
        return "weight", "its name says that it is a survey weight"
    almost_unique = rows >= 20 and distinct >= 0.95 * (rows - spectrum.nulls)
    # A diagnosis_name or a city_name is no name of a person.
    of_a_person = column.kind == "text" and not words & (_SENSITIVE | _QUASI)
    if words & _IDENTIFIER and (almost_unique or of_a_person):
        return "identifier", "its name says that it names a person"
    if words & _SENSITIVE:
        return "sensitive", "its name says that people want it kept to themselves"
    if names_quasi_identifier(column.name):
        return "quasi_identifier", f"others may know it of a person; it gives {rate:.0%} of the bits that name one"
    if almost_unique and column.kind in ("text", "number") and not _is_measured(column):
        return "identifier", f"{distinct:,} of {rows:,} rows have a value of their own"
    if rate >= 0.05:
        return "quasi_identifier", f"it gives {rate:.0%} of the bits that name a person"
    return "plain", f"it gives only {rate:.1%} of the bits that name a person"


def names_quasi_identifier(name: str) -> bool:
    """Whether the name of a column says that others may know it of a person."""
    return bool(_words(name) & _QUASI)


def _is_measured(column: Column) -> bool:
    """A fractional number is a measurement, not a key, however rarely it repeats."""
    return column.type.split("(")[0] in ("DOUBLE", "FLOAT", "DECIMAL") and not column.type.endswith(",0)")


def _words(name: str) -> set[str]:
    """The words of a column name: snake_case, kebab-case, camelCase and blanks."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return {part.lower() for part in parts} | {re.sub(r"[^a-z0-9]", "", name.lower())}
