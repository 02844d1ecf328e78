# SPDX-License-Identifier: Apache-2.0
"""One GROUP BY turns a table into a contingency.

Several sensitive attributes share the scan through GROUPING SETS, so that the result grows with the sum of their cells and not
with their product. The statement is written in the subset that DuckDB and Spark have in common; the engine quotes the names.
A null is a value of its own (SQL's GROUP BY keeps it) unless `nulls="drop"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.count.contingency import Cells, Contingency, Domain, Ints, build_cells, class_ids, sum_by_id
from divulge.errors import BadInput
from divulge.table.roles import Roles
from divulge.table.table import Kind, Table

Nulls = Literal["category", "drop"]

_JOINT = " + "


@dataclass(frozen=True)
class _Request:
    """What one counting statement is asked for."""

    table: Table
    roles: Roles
    nulls: Nulls
    joint: bool

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        """Each sensitive attribute by itself and, on request, all together."""
        alone = tuple((name,) for name in self.roles.sensitive)
        return (*alone, self.roles.sensitive) if self.joint and len(alone) > 1 else alone

    @property
    def needs_class_sizes(self) -> bool:
        """Distinct people per cell do not add up to distinct people per class, so these are counted by themselves."""
        return self.roles.person is not None or not self.targets

    def where(self) -> str:
        if self.nulls == "category":
            return ""
        quote = self.table.engine.quote
        names = [*self.roles.quasi_identifiers, *self.roles.sensitive]
        return " WHERE " + " AND ".join(f"{quote(name)} IS NOT NULL" for name in names)

    def sql(self) -> str:
        """SELECT the keys as k0, k1, ..., the sensitive values as s0, ..., a mark g0, ... for those not in the set, and the counts."""
        quote = self.table.engine.quote
        keys = [quote(name) for name in self.roles.quasi_identifiers]
        values = [quote(name) for name in self.roles.sensitive]
        selected = [f"{name} AS k{i}" for i, name in enumerate(keys)]
        selected += [f"{name} AS s{i}" for i, name in enumerate(values)]
        sets = [[*keys, *(quote(name) for name in target)] for target in self.targets]
        if self.needs_class_sizes:
            sets.append(keys)
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


def count(table: Table, roles: Roles, *, nulls: Nulls = "category", joint: bool = False) -> Contingency:
    """Count the people of each class and, for each sensitive attribute, the people with each value in each class."""
    if nulls not in ("category", "drop"):
        raise BadInput(
            f"nulls={nulls!r} is not known",
            hint="use 'category' (a null is a value) or 'drop' (such rows are left out)",
        )
    if not roles.quasi_identifiers:
        raise BadInput(
            "no quasi-identifiers were named, so there are no classes to count",
            hint="name the columns an adversary may know; `divulge profile` suggests some",
        )
    if roles.person is not None and roles.weight is not None:
        raise BadInput(
            f"weight {roles.weight!r} and person {roles.person!r} cannot be combined",
            hint="reduce the table to one row per person first",
        )
    request = _Request(table, roles, nulls, joint)
    counted = table.engine.query(request.sql())
    if counted.num_rows == 0:
        raise _empty(table, nulls)
    if roles.weight is not None:
        _check_weights(counted, roles.weight, sets=max(len(request.targets), 1))
    return _assemble(request, counted)


def _empty(table: Table, nulls: Nulls) -> BadInput:
    if nulls == "drop":
        return BadInput(
            f"{table.source}: no row is left", hint="nulls='drop' left out every row, or the table has none"
        )
    return BadInput(f"{table.source} has no rows", hint="there is nothing to measure in an empty table")


def _assemble(request: _Request, counted: pa.Table) -> Contingency:
    roles = request.roles
    coded = _encode_columns(request, counted)
    keys = tuple(coded[f"k{i}"][0] for i in range(len(roles.quasi_identifiers)))
    codes = tuple(coded[f"k{i}"][1] for i in range(len(roles.quasi_identifiers)))
    class_of_row, first = class_ids(codes, [len(key) for key in keys], rows=counted.num_rows)
    n = counted.column("n").to_numpy().astype(np.int64, copy=False)
    weights = counted.column("w").to_numpy() if roles.weight is not None else None
    in_set = _rows_of_sets(request, counted)
    size_rows = in_set[()] if request.needs_class_sizes else in_set[request.targets[0]]
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, class_of_row[size_rows], n[size_rows])
    population = None
    if weights is not None:
        population = sum_by_id(class_of_row[size_rows], weights[size_rows], len(first))
    mass = n.astype(np.float64) if weights is None else weights
    cells: dict[str, Cells] = {}
    for target in request.targets:
        rows = in_set[target]
        parts = [
            (domain, column[rows]) for domain, column in (coded[f"s{roles.sensitive.index(name)}"] for name in target)
        ]
        domain, value = parts[0] if len(parts) == 1 else joint_domain(parts)
        cells[_JOINT.join(target)] = build_cells(domain, class_of_row[rows], value, mass[rows], classes=len(first))
    counted_rows, people, person_entropy = _totals(request, sizes)
    return Contingency(
        keys=keys,
        codes=tuple(column[first] for column in codes),
        sizes=sizes,
        cells=cells,
        rows=counted_rows,
        people=people,
        population=population,
        person_entropy=person_entropy,
        notes=_notes(keys, cells, request, counted_rows),
    )


def _encode_columns(request: _Request, counted: pa.Table) -> dict[str, tuple[Domain, Ints]]:
    """Every key and value column as codes; Arrow works outside Python's lock, so the columns share the cores."""
    names = {f"k{i}": name for i, name in enumerate(request.roles.quasi_identifiers)}
    names |= {f"s{i}": name for i, name in enumerate(request.roles.sensitive)}

    def coded(alias: str) -> tuple[Domain, Ints]:
        column, name = counted.column(alias), names[alias]
        kind = request.table.column(name).kind
        mark = f"g{alias[1:]}"
        if alias.startswith("k") or mark not in counted.column_names:
            return encode(column, name=name, kind=kind)
        # Outside the grouping sets that hold it, a column's null means nothing.
        present = counted.column(mark).to_numpy() == 0
        domain, codes = encode(column.filter(pa.array(present)), name=name, kind=kind)
        spread = np.zeros(len(present), dtype=np.int64)
        spread[present] = codes
        return domain, spread

    with ThreadPoolExecutor() as threads:
        return dict(zip(names, threads.map(coded, names), strict=True))


def _rows_of_sets(request: _Request, counted: pa.Table) -> dict[tuple[str, ...], Ints | slice]:
    """Which result rows belong to which grouping set; the empty target stands for the classes themselves."""
    sets = [*request.targets, ()] if request.needs_class_sizes else list(request.targets)
    if len(sets) == 1:
        return {sets[0]: slice(None)}
    marks = [counted.column(f"g{i}").to_numpy() == 0 for i in range(len(request.roles.sensitive))]
    found: dict[tuple[str, ...], Ints | slice] = {}
    for target in sets:
        belongs = np.ones(counted.num_rows, dtype=bool)
        for name, present in zip(request.roles.sensitive, marks, strict=True):
            belongs &= present if name in target else ~present
        found[target] = np.flatnonzero(belongs)
    return found


def joint_domain(parts: Sequence[tuple[Domain, Ints]]) -> tuple[Domain, Ints]:
    """Several attributes as one: the tuples that occur."""
    codes = [column for _, column in parts]
    ids, first = class_ids(codes, [len(domain) for domain, _ in parts], rows=len(codes[0]))
    labels = [_JOINT.join(str(domain.labels[column[row]]) for domain, column in parts) for row in first.tolist()]
    name = _JOINT.join(domain.name for domain, _ in parts)
    return Domain(name, pa.array(labels, type=pa.string()), "text"), ids


def encode(column: pa.ChunkedArray, *, name: str, kind: Kind) -> tuple[Domain, Ints]:
    """The distinct values in ascending order, nulls last, and each row's position among them."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # SQL groups 0.0 with -0.0 and may return either, even another one for each grouping set; -0.0 + 0.0 is 0.0.
        array = pc.add(array, pa.scalar(0.0, array.type))
    try:
        coded = array.dictionary_encode(null_encoding="encode")
        order = pc.array_sort_indices(coded.dictionary, null_placement="at_end")
    except pa.ArrowNotImplementedError:
        raise BadInput(
            f"values of type {array.type} in column {name!r} cannot be sorted", hint="turn the column into text"
        ) from None
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    values = coded.dictionary.take(order)
    return Domain(name, values, kind), rank[coded.indices.to_numpy(zero_copy_only=False)]


def _totals(request: _Request, sizes: Ints) -> tuple[int, int, float | None]:
    """Rows counted, people among them and, where a person may own several rows, the entropy of the person."""
    person = request.roles.person
    if person is None:
        total = int(sizes.sum())
        return total, total, None
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


def _check_weights(counted: pa.Table, weight: str, *, sets: int) -> None:
    """Every row has a finite weight above 0; each of the grouping sets has seen each row once."""
    missing = int(np.sum(counted.column("unweighted").to_numpy())) // sets
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


def _notes(keys: Sequence[Domain], cells: dict[str, Cells], request: _Request, rows: int) -> tuple[str, ...]:
    notes = [
        f"quasi-identifier {key.name!r} has one value only ({key.labels[0]!r}): it separates nobody"
        for key in keys
        if len(key) == 1
    ]
    notes += [
        f"sensitive attribute {name!r} has one value only ({item.domain.labels[0]!r}): there is nothing left to learn about it"
        for name, item in cells.items()
        if len(item.domain) == 1
    ]
    if request.nulls == "drop":
        total = request.table.engine.query(f"SELECT COUNT(*) AS n FROM {request.table.relation}").to_pylist()[0]["n"]
        if total > rows:
            notes.append(f"{total - rows} of {total} rows were left out because of nulls")
    return tuple(notes)
