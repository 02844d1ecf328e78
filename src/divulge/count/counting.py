# SPDX-License-Identifier: Apache-2.0
"""One GROUP BY turns a table into a contingency.

Several sensitive attributes share the scan through GROUPING SETS, so that the result grows with the sum of their cells and not
with their product. The statement is written in the subset that DuckDB and Spark have in common; the engine quotes the names.
A null is a value of its own (SQL's GROUP BY keeps it) unless `nulls="drop"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from divulge.count.assemble import Layout, assemble
from divulge.count.contingency import Contingency, Domain
from divulge.errors import BadInput
from divulge.table.roles import Roles
from divulge.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

Nulls = Literal["category", "drop"]


@dataclass(frozen=True)
class Request:
    """What one counting statement is asked for."""

    table: Table
    roles: Roles
    nulls: Nulls
    joint: bool

    def __post_init__(self) -> None:
        if self.nulls not in ("category", "drop"):
            raise BadInput(
                f"nulls={self.nulls!r} is not known",
                hint="use 'category' (a null is a value) or 'drop' (such rows are left out)",
            )
        if not self.roles.quasi_identifiers:
            raise BadInput(
                "no quasi-identifiers were named, so there are no classes to count",
                hint="name the columns an adversary may know; `divulge profile` suggests some",
            )
        if self.roles.person is not None and self.roles.weight is not None:
            raise BadInput(
                f"weight {self.roles.weight!r} and person {self.roles.person!r} cannot be combined",
                hint="reduce the table to one row per person first",
            )

    @property
    def layout(self) -> Layout:
        """The columns that come back."""
        return Layout(
            keys=tuple(self.table.column(name) for name in self.roles.quasi_identifiers),
            values=tuple(self.table.column(name) for name in self.roles.sensitive),
            joint=self.joint,
            by_person=self.roles.person is not None,
            weighted=self.roles.weight is not None,
        )

    def where(self) -> str:
        """The rows that count."""
        if self.nulls == "category":
            return ""
        quote = self.table.engine.quote
        names = [*self.roles.quasi_identifiers, *self.roles.sensitive]
        return " WHERE " + " AND ".join(f"{quote(name)} IS NOT NULL" for name in names)

    def sql(self) -> str:
        """SELECT the columns of the layout."""
        quote = self.table.engine.quote
        keys = [quote(name) for name in self.roles.quasi_identifiers]
        values = [quote(name) for name in self.roles.sensitive]
        selected = [f"{name} AS k{i}" for i, name in enumerate(keys)]
        selected += [f"{name} AS s{i}" for i, name in enumerate(values)]
        sets = [[*keys, *(quote(name) for name in target)] for target in self.layout.sets]
        if len(sets) > 1:
            selected += [f"GROUPING({name}) AS g{i}" for i, name in enumerate(values)]
            grouped = "GROUPING SETS (" + ", ".join("(" + ", ".join(names) + ")" for names in sets) + ")"
        else:
            grouped = ", ".join(sets[0])
        if self.roles.person is not None:
            selected.append(f"COUNT(DISTINCT {quote(self.roles.person)}) AS n")
        else:
            selected.append("COUNT(*) AS n")
        if self.roles.weight is not None:
            weight = quote(self.roles.weight)
            selected += [
                f"CAST(SUM({weight}) AS DOUBLE) AS w",
                f"CAST(MIN({weight}) AS DOUBLE) AS lightest",
                f"COUNT(*) - COUNT({weight}) AS unweighted",
            ]
        return f"SELECT {', '.join(selected)} FROM {self.table.relation}{self.where()} GROUP BY {grouped}"

    def sql_of_distinct_rows(self) -> str:
        """SELECT the distinct rows over all columns of the layout, and how often each occurs."""
        quoted = [self.table.engine.quote(name) for name in (*self.roles.quasi_identifiers, *self.roles.sensitive)]
        letters = [*self.layout.key_names, *(f"s{place}" for place in range(len(self.roles.sensitive)))]
        selected = ", ".join(f"{name} AS {letter}" for name, letter in zip(quoted, letters, strict=True))
        return f"SELECT {selected}, COUNT(*) AS n FROM {self.table.relation}{self.where()} GROUP BY {', '.join(quoted)}"


def count(table: Table, roles: Roles, *, nulls: Nulls = "category", joint: bool = False) -> Contingency:
    """Count the people of each class and, for each sensitive attribute, the people with each value in each class."""
    request = Request(table, roles, nulls, joint)
    return contingency_of(request, table.engine.query(request.sql()))


def contingency_of(request: Request, counted: pa.Table) -> Contingency:
    """The contingency of everything a request has counted."""
    if counted.num_rows == 0:
        raise no_rows(request)
    if request.roles.weight is not None:
        check_weights(counted, request)
    found = assemble(request.layout, counted)
    rows, people, person_entropy = totals(request, found.rows)
    constant = {key.name: key.labels[0] for key in found.keys if len(key) == 1}
    return replace(
        found,
        rows=rows,
        people=people,
        person_entropy=person_entropy,
        notes=notes_on(request, rows, constant, [cells.domain for cells in found.cells.values()]),
    )


def no_rows(request: Request) -> BadInput:
    """There is nothing to count."""
    table = request.table
    if request.nulls == "drop":
        return BadInput(
            f"{table.source}: no row is left", hint="nulls='drop' left out every row, or the table has none"
        )
    return BadInput(f"{table.source} has no rows", hint="there is nothing to measure in an empty table")


def totals(request: Request, counted: int) -> tuple[int, int, float | None]:
    """Rows counted, people among them and, where a person may own several rows, the entropy of the person."""
    person = request.roles.person
    if person is None:
        return counted, counted, None
    engine, quote = request.table.engine, request.table.engine.quote
    source = f"{request.table.relation}{request.where()}"
    found = engine.query(f"SELECT COUNT(*) AS n, COUNT({quote(person)}) AS known FROM {source}").to_pylist()[0]
    if found["n"] != found["known"]:
        raise BadInput(
            f"{found['n'] - found['known']} rows have no {person!r}, so it is not known whose they are",
            hint="fill the column in or remove these rows",
        )
    keys = ", ".join(quote(name) for name in request.roles.quasi_identifiers)
    spectrum = engine.query(
        f"SELECT m, COUNT(*) AS people FROM (SELECT p, COUNT(*) AS m FROM "
        f"(SELECT DISTINCT {quote(person)} AS p, {keys} FROM {source}) AS pairs GROUP BY p) AS owners GROUP BY m"
    )
    classes_of_person = spectrum.column("m").to_numpy().astype(np.float64)
    people = spectrum.column("people").to_numpy().astype(np.float64)
    pairs = float(classes_of_person @ people)
    share = classes_of_person / pairs
    return int(found["n"]), int(people.sum()), float(people @ (-share * np.log2(share)))


def check_weights(counted: pa.Table, request: Request) -> None:
    """Every row has a finite weight above 0; each of the grouping sets has seen each row once."""
    weight = request.roles.weight
    missing = int(np.sum(counted.column("unweighted").to_numpy())) // len(request.layout.sets)
    if missing:
        raise BadInput(f"{missing} rows have no weight in {weight!r}", hint="give every row a weight, 1 if unknown")
    lightest = counted.column("lightest").to_numpy()
    total = counted.column("w").to_numpy()
    if not np.all(np.isfinite(total)) or np.any(lightest <= 0):
        found = (
            f"the smallest is {lightest[lightest <= 0].min()}"
            if np.any(lightest <= 0)
            else "some are infinite or not a number"
        )
        raise BadInput(
            f"weights in {weight!r} must be finite and greater than 0; {found}",
            hint="a weight says how many people of the population a row stands for",
        )


def notes_on(request: Request, rows: int, constant: Mapping[str, Any], domains: Sequence[Domain]) -> tuple[str, ...]:
    """What a user should know about the counts; `constant` holds the quasi-identifiers with one value only."""
    notes = [
        f"quasi-identifier {name!r} has one value only ({_shown(value)}): it separates nobody"
        for name, value in constant.items()
    ]
    notes += [
        f"sensitive attribute {domain.name!r} has one value only ({_shown(domain.labels[0])}): there is nothing left to learn about it"
        for domain in domains
        if len(domain) == 1
    ]
    if request.nulls == "drop":
        total = request.table.engine.query(f"SELECT COUNT(*) AS n FROM {request.table.relation}").to_pylist()[0]["n"]
        if total > rows:
            notes.append(f"{total - rows} of {total} rows were left out because of nulls")
    return tuple(notes)


def _shown(value: Any) -> str:
    """Text in quotes, so that '1' is not taken for 1; everything else as people write it."""
    return "null" if value is None else repr(value) if isinstance(value, str) else str(value)
