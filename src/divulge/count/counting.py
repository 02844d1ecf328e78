# SPDX-License-Identifier: Apache-2.0
"""One GROUP BY turns a table into a contingency.

Several sensitive attributes share the scan through GROUPING SETS, so that the result grows with the sum of their cells and not
with their product. The statement is written in the subset that DuckDB and Spark have in common; the engine quotes the names.
A null is a value of its own (SQL's GROUP BY keeps it) unless `nulls="drop"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Codes, Floats, Ints
from divulge.count.coded import count_coded, read_coded
from divulge.count.contingency import Cells, Contingency, Domain, build_cells
from divulge.count.wildcards import Suppression, Suspects, alike_notes, suppression_notes, unsaid_suppression
from divulge.errors import BadInput, InternalError
from divulge.table import Column, Kind, Roles, Table

JOINT = " + "


@dataclass(frozen=True)
class CountedColumns:
    """The columns of a counted table.

    Keys are k0, k1, ...; sensitive values s0, s1, ...; g0, g1, ... mark the values that are not in a row's grouping set; n counts
    people, w sums their weights.
    """

    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    joint: bool = False
    by_person: bool = False
    weighted: bool = False

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        """Each sensitive attribute by itself and, on request, all together."""
        alone = tuple((column.name,) for column in self.values)
        return (*alone, tuple(column.name for column in self.values)) if self.joint and len(alone) > 1 else alone

    @property
    def key_names(self) -> list[str]:
        """What the keys are called."""
        return [f"k{place}" for place in range(len(self.keys))]

    @property
    def column_names(self) -> list[str]:
        """What all columns are called."""
        letters = "sg" if len(self.sets) > 1 else "s"
        values = [f"{letter}{place}" for letter in letters for place in range(len(self.values))]
        return [*self.key_names, *values, "n", *(["w", "lightest", "unweighted"] if self.weighted else [])]

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sensitive part of each grouping set; the empty one stands for the classes themselves.

        Distinct people per cell do not add up to distinct people per class, so these are counted by themselves.
        """
        return (*self.targets, ()) if self.by_person or not self.targets else self.targets

    def assemble(self, counted: pa.Table) -> Contingency:
        """The contingency of counted rows."""
        return self.assemble_part(counted)[0]

    def assemble_part(
        self, counted: pa.Table, *, codings: Mapping[str, ValueNumbers] | None = None
    ) -> tuple[Contingency, Ints]:
        """The same, with the class of each row; `codings` number the values of each target where the rows are those of some classes."""
        coded = _encode_columns(self, counted, values=codings is None)
        keys = tuple(coded[name][0] for name in self.key_names)
        codes = tuple(coded[name][1] for name in self.key_names)
        class_of_row, first = arrays.class_ids(codes, [len(key) for key in keys], rows=counted.num_rows)
        n = counted.column("n").to_numpy().astype(np.int64, copy=False)
        weights = counted.column("w").to_numpy() if self.weighted else None
        in_set = _rows_of_sets(self, counted)
        size_rows = in_set[() if () in in_set else self.sets[0]]
        sizes = arrays.exact_sums(class_of_row[size_rows], n[size_rows], len(first))
        population = None
        if weights is not None:
            population = arrays.sum_by_id(class_of_row[size_rows], weights[size_rows], len(first))
        mass = n.astype(np.float64) if weights is None else weights
        cells: dict[str, Cells] = {}
        for target in self.targets:
            rows, name = in_set[target], JOINT.join(target)
            aliases = [f"s{place}" for place, column in enumerate(self.values) if column.name in target]
            if codings is None:
                parts = [(coded[alias][0], coded[alias][1][rows]) for alias in aliases]
                domain, value = parts[0] if len(parts) == 1 else joint_domain(parts)
            else:
                domain = codings[name].domain
                value = codings[name].of([_take(counted.column(alias), rows) for alias in aliases])
            cells[name] = build_cells(domain, class_of_row[rows], value, mass[rows], classes=len(first))
        total = int(sizes.sum())
        found = Contingency(
            keys,
            tuple(column[first] for column in codes),
            sizes,
            cells,
            total,
            total,
            population,
            population is not None,
        )
        return found, class_of_row


@dataclass(frozen=True, eq=False)
class ValueNumbers:
    """How the values of a target are numbered over the whole table, where only some of its classes are at hand."""

    domain: Domain
    parts: tuple[Domain, ...]
    """The values of each attribute of the target."""
    tuples: Ints | None = field(default=None, repr=False)
    """For several attributes: the combinations that occur, as one number each, in ascending order."""
    codes: Ints | None = field(default=None, repr=False)
    """The code in `domain` of each value or combination, where it is not its position."""

    def of(self, columns: Sequence[pa.Array]) -> Ints:
        """The code of each row."""
        found = [domain_codes(part, column) for part, column in zip(self.parts, columns, strict=True)]
        if self.tuples is None:
            position = found[0]
        else:
            radices = [len(part) for part in self.parts]
            position = np.searchsorted(self.tuples, arrays.combined_key(found, radices, rows=len(found[0])))
        return position if self.codes is None else self.codes[position]


def _encode_columns(layout: CountedColumns, counted: pa.Table, *, values: bool) -> dict[str, tuple[Domain, Ints]]:
    """Every key column, and every value column on request, as codes; Arrow works outside Python's lock, so they share the cores."""
    columns = {f"k{i}": column for i, column in enumerate(layout.keys)}
    if values:
        columns |= {f"s{i}": column for i, column in enumerate(layout.values)}

    def coded(alias: str) -> tuple[Domain, Ints]:
        cells, column, mark = counted.column(alias), columns[alias], f"g{alias[1:]}"
        if alias.startswith("k") or mark not in counted.column_names:
            return encode(cells, name=column.name, kind=column.kind)
        # Outside the grouping sets that hold it, a column's null means nothing.
        present = counted.column(mark).to_numpy() == 0
        domain, codes = encode(cells.filter(pa.array(present)), name=column.name, kind=column.kind)
        spread = np.zeros(len(present), dtype=np.int64)
        spread[present] = codes
        return domain, spread

    with ThreadPoolExecutor() as threads:
        return dict(zip(columns, threads.map(coded, columns), strict=True))


def _rows_of_sets(layout: CountedColumns, counted: pa.Table) -> dict[tuple[str, ...], Ints | slice]:
    """Which result rows belong to which grouping set."""
    if len(layout.sets) == 1:
        return {layout.sets[0]: slice(None)}
    marks = [counted.column(f"g{i}").to_numpy() == 0 for i in range(len(layout.values))]
    found: dict[tuple[str, ...], Ints | slice] = {}
    for target in layout.sets:
        belongs = np.ones(counted.num_rows, dtype=bool)
        for column, present in zip(layout.values, marks, strict=True):
            belongs &= present if column.name in target else ~present
        found[target] = np.flatnonzero(belongs)
    return found


def joint_domain(parts: Sequence[tuple[Domain, Ints]]) -> tuple[Domain, Ints]:
    """Several attributes as one: the tuples that occur."""
    codes = [column for _, column in parts]
    ids, first = arrays.class_ids(codes, [len(domain) for domain, _ in parts], rows=len(codes[0]))
    labels = [JOINT.join(str(domain.labels[column[row]]) for domain, column in parts) for row in first.tolist()]
    name = JOINT.join(domain.name for domain, _ in parts)
    return Domain(name, pa.array(labels, type=pa.string()), "text"), ids


def encode(column: pa.ChunkedArray | pa.Array, *, name: str, kind: Kind) -> tuple[Domain, Ints]:
    """The distinct values in ascending order, nulls last, and each row's position among them."""
    if pa.types.is_dictionary(column.type):
        return _encode_dictionary(column, name=name, kind=kind)
    array = plain_values(column)
    try:
        coded = array.dictionary_encode(null_encoding="encode")
        order = pc.array_sort_indices(coded.dictionary, null_placement="at_end")
    except pa.ArrowNotImplementedError:
        told = f"values of type {array.type} in column {name!r} cannot be sorted"
        raise BadInput(told, hint="turn the column into text") from None
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    values = coded.dictionary.take(order)
    return Domain(name, values, kind), rank[coded.indices.to_numpy(zero_copy_only=False)]


def _encode_dictionary(column: pa.ChunkedArray | pa.Array, *, name: str, kind: Kind) -> tuple[Domain, Ints]:
    """The same where values have numbers already: only those that occur are sorted."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    places = array.indices.fill_null(len(array.dictionary)).to_numpy(zero_copy_only=False)
    occurs = np.bincount(places, minlength=len(array.dictionary) + 1) > 0
    values = pa.concat_arrays([array.dictionary, pa.nulls(1, array.dictionary.type)])
    domain, codes = encode(values.filter(pa.array(occurs)), name=name, kind=kind)
    of_place = np.zeros(len(values), dtype=np.int64)
    of_place[occurs] = codes
    return domain, of_place[places]


def domain_codes(domain: Domain, column: pa.ChunkedArray | pa.Array) -> Ints:
    """The position of each row's value in a domain that holds them all."""
    array = plain_values(column)
    if array.type != domain.values.type:
        array = array.cast(domain.values.type)
    found = pc.index_in(array, value_set=domain.values)
    if found.null_count:
        raise InternalError(f"a value of {domain.name!r} is not among the values that were counted")
    return cast("Ints", found.to_numpy(zero_copy_only=False).astype(np.int64))


def plain_values(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array without dictionaries, with one zero, one NaN and moments in UTC."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # SQL groups 0.0 with -0.0 and may return either, even another one for each grouping set; -0.0 + 0.0 is 0.0.
        array = pc.add(array, pa.scalar(0.0, array.type))
        # Neither does it tell NaNs of different bits apart, which an encoding does.
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)
    if pa.types.is_timestamp(array.type) and array.type.tz not in (None, "UTC"):
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))  # the zone is the reader's, not the value's
    return array


def _take(column: pa.ChunkedArray, rows: Ints | slice) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(rows, slice) else array.take(pa.array(rows))


# --- the statement ----------------------------------------------------------------------------------------------------
Nulls = Literal["category", "drop"]


@dataclass(frozen=True)
class Request:
    """What one counting statement is asked for."""

    table: Table
    roles: Roles
    nulls: Nulls
    joint: bool
    suppression: Suppression = field(default_factory=dict)
    """What was said of suppressed cells and of nulls among the quasi-identifiers."""
    people: str | None = None
    """The column that says how many people a row stands for, where rows are counts already."""

    def __post_init__(self) -> None:
        if self.nulls not in ("category", "drop"):
            hint = "use 'category' (a null is a value) or 'drop' (such rows are left out)"
            raise BadInput(f"nulls={self.nulls!r} is not known", hint=hint)
        if not self.roles.quasi_identifiers:
            hint = "name the columns an adversary may know with quasi_identifiers=; profile suggests some"
            raise BadInput("no quasi-identifiers were named, so there are no classes to count", hint=hint)
        if self.joint and len(self.roles.sensitive) < 2:
            told = f"joint=True looks at several sensitive columns as one, and there are {len(self.roles.sensitive)}"
            raise BadInput(told, hint="Leave it out, or name more with sensitive=")
        weight, person = self.roles.weight, self.roles.person
        if person is not None and weight is not None:
            told = f"weight {weight!r} and person {person!r} cannot be combined"
            raise BadInput(told, hint="reduce the table to one row per person first")

    @property
    def wildcards(self) -> tuple[str | None, ...]:
        """What matches anything."""
        return tuple(text for text, how in self.suppression.items() if how == "wildcard")

    @property
    def layout(self) -> CountedColumns:
        """The columns that come back."""
        keys, values = (tuple(map(self.table.column, n)) for n in (self.roles.quasi_identifiers, self.roles.sensitive))
        return CountedColumns(keys, values, self.joint, self.roles.person is not None, self.roles.weight is not None)

    def where(self) -> str:
        """The rows that count."""
        quote = self.table.engine.quote
        names = () if self.nulls == "category" else (*self.roles.quasi_identifiers, *self.roles.sensitive)
        conditions = [f"{quote(name)} IS NOT NULL" for name in names]
        conditions += [f"{quote(self.people)} > 0"] if self.people is not None else []
        return " WHERE " + " AND ".join(conditions) if conditions else ""

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
        counted = "*" if self.roles.person is None else f"DISTINCT {quote(self.roles.person)}"
        people = f"COUNT({counted})" if self.people is None else f"CAST(SUM({quote(self.people)}) AS BIGINT)"
        selected.append(f"{people} AS n")
        if self.roles.weight is not None:
            weight = quote(self.roles.weight)
            selected += [
                f"CAST(SUM({weight}) AS DOUBLE) AS w",
                f"CAST(MIN({weight}) AS DOUBLE) AS lightest",
                f"COUNT(*) - COUNT({weight}) AS unweighted",
            ]
        return f"SELECT {', '.join(selected)} FROM {self.table.relation}{self.where()} GROUP BY {grouped}"

    def sql_of_distinct_rows(self, *, grouped: bool = True) -> str:
        """SELECT the distinct rows over all columns of the layout, and how often each occurs; not grouped, every row by itself."""
        quoted = [self.table.engine.quote(name) for name in (*self.roles.quasi_identifiers, *self.roles.sensitive)]
        letters = [*self.layout.key_names, *(f"s{place}" for place in range(len(self.roles.sensitive)))]
        selected = ", ".join(f"{name} AS {letter}" for name, letter in zip(quoted, letters, strict=True))
        rows = f"FROM {self.table.relation}{self.where()}"
        return (
            f"SELECT {selected}, COUNT(*) AS n {rows} GROUP BY {', '.join(quoted)}"
            if grouped
            else f"SELECT {selected}, 1 AS n {rows}"
        )

    def coded(self) -> pa.Table | None:
        """What the statement returns, counted by the numbers of values; None where the statement is to be run."""
        layout, places = self.layout, {name: place for place, name in enumerate(self.roles.sensitive)}
        by_number = not (layout.weighted or layout.by_person or self.people is not None)
        if not by_number or (self.nulls == "drop" and len(layout.sets) > 1):
            return None
        keys = len(layout.keys)
        sets = [[*range(keys), *(keys + places[name] for name in target)] for target in layout.sets]
        columns = (*layout.keys, *layout.values)
        return count_coded(self.table, columns, sets, keys=keys, drop_nulls=self.nulls == "drop")

    def coded_distinct_rows(self) -> pa.Table | None:
        """What sql_of_distinct_rows returns, in the same way."""
        columns = (*self.layout.keys, *self.layout.values)
        every, keys = [range(len(columns))], len(self.layout.keys)
        return count_coded(self.table, columns, every, keys=keys, drop_nulls=self.nulls == "drop")

    def coded_rows(self) -> list[tuple[Domain, Codes]] | None:
        """The same where every row stands for itself: the values of each column, and for each row the place of its value among them."""
        columns = (*self.layout.keys, *self.layout.values)
        found = read_coded(self.table, columns, drop_nulls=self.nulls == "drop")
        if found is None:
            return None
        return [(Domain(it.name, values, it.kind), codes) for it, (values, codes) in zip(columns, found, strict=True)]

    def no_rows(self) -> BadInput:
        """There is nothing to count."""
        source = self.table.source
        if self.nulls == "drop":
            return BadInput(f"{source}: no row is left", hint="nulls='drop' left out every row, or the table has none")
        return BadInput(f"{source} has no rows", hint="there is nothing to measure in an empty table")

    def totals(self, counted: int) -> tuple[int, int, float | None, float | None]:
        """Rows counted, people among them and, where a person may own several rows, the entropy and the largest share of a person."""
        person = self.roles.person
        if person is None:
            return counted, counted, None, None
        engine, quote = self.table.engine, self.table.engine.quote
        source = f"{self.table.relation}{self.where()}"
        found = engine.query(f"SELECT COUNT(*) AS n, COUNT({quote(person)}) AS known FROM {source}").to_pylist()[0]
        if found["n"] != found["known"]:
            told = f"{found['n'] - found['known']} rows have no {person!r}, so it is not known whose they are"
            raise BadInput(told, hint="fill the column in or remove these rows")
        keys = ", ".join(quote(name) for name in self.roles.quasi_identifiers)
        pairs_of = f"(SELECT DISTINCT {quote(person)} AS p, {keys} FROM {source}) AS pairs"
        owners = f"(SELECT p, COUNT(*) AS m FROM {pairs_of} GROUP BY p) AS owners"
        spectrum = engine.query(f"SELECT m, COUNT(*) AS people FROM {owners} GROUP BY m")
        classes, people = (spectrum.column(name).to_numpy().astype(np.float64) for name in ("m", "people"))
        share = classes / float(classes @ people)
        return int(found["n"]), int(people.sum()), float(people @ (-share * np.log2(share))), float(share.max())

    def notes(self, rows: int, constant: Mapping[str, Any], domains: Sequence[Domain]) -> tuple[str, ...]:
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
        if self.nulls == "drop":
            total = self.table.engine.query(f"SELECT COUNT(*) AS n FROM {self.table.relation}").to_pylist()[0]["n"]
            if total > rows:
                notes.append(f"{total - rows} of {total} rows were left out because of nulls")
        return tuple(notes)

    def doubts(
        self, suspects: Suspects, people: int, keys: Sequence[Domain], values: Sequence[Domain]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Notes on cells that may not mean what they say, and how each text of suppressed cells is counted."""
        unsaid = unsaid_suppression(suspects, people, self.suppression)
        suppressed: dict[str, str] = {text: how for text, how in self.suppression.items() if text is not None}
        notes = (
            *suppression_notes(unsaid, "rows" if self.roles.person is None else "people"),
            *alike_notes(keys, effect=": people who may share a class are counted apart"),
            *alike_notes(values, effect=": the diversity looks larger than it may be"),
        )
        return notes, suppressed | {text: "value" for text in unsaid if text is not None}


def count(table: Table, roles: Roles, *, nulls: Nulls = "category", joint: bool = False) -> Contingency:
    """Count the people of each class and, for each sensitive attribute, the people with each value in each class."""
    request = Request(table, roles, nulls, joint)
    return contingency_of(request, counted_rows(request))


def counted_rows(request: Request) -> pa.Table:
    """The rows of a counting statement, in memory."""
    found = request.coded()
    return request.table.engine.query(request.sql()) if found is None else found


def contingency_of(request: Request, counted: pa.Table) -> Contingency:
    """The contingency of everything a request has counted."""
    if counted.num_rows == 0:
        raise request.no_rows()
    if request.roles.weight is not None:
        check_weights(counted, request)
    found = request.layout.assemble(counted)
    rows, people, entropy, share = request.totals(found.rows)
    constant = {key.name: key.labels[0] for key in found.keys if len(key) == 1}
    notes = request.notes(rows, constant, [cells.domain for cells in found.cells.values()])
    return replace(found, rows=rows, people=people, person_entropy=entropy, person_share=share, notes=notes)


def check_weights(counted: pa.Table, request: Request) -> None:
    """Every row has a finite weight above 0; each of the grouping sets has seen each row once."""
    weight = request.roles.weight
    missing = int(np.sum(counted.column("unweighted").to_numpy())) // len(request.layout.sets)
    if missing:
        raise BadInput(f"{missing} rows have no weight in {weight!r}", hint="give every row a weight, 1 if unknown")
    lightest = counted.column("lightest").to_numpy()
    total = counted.column("w").to_numpy()
    if not np.all(np.isfinite(total)) or np.any(lightest <= 0):
        found = "some are infinite or not a number"
        if np.any(lightest <= 0):
            found = f"the smallest is {lightest[lightest <= 0].min()}"
        hint = "a weight says how many people of the population a row stands for"
        raise BadInput(f"weights in {weight!r} must be finite and greater than 0; {found}", hint=hint)


def _shown(value: Any) -> str:
    """Text in quotes, so that '1' is not taken for 1; everything else as people write it."""
    return "null" if value is None else repr(value) if isinstance(value, str) else str(value)


# --- two tables, one coding -------------------------------------------------------------------------------------------
def align(left: Domain, right: Domain) -> tuple[Domain, Ints, Ints]:
    """A domain that holds the values of both, and the new code of each old one."""
    try:
        together = pa.concat_arrays([left.values, right.values.cast(left.values.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise other_type(left.name, left.values.type, right.values.type) from None
    domain, codes = encode(pa.chunked_array([together]), name=left.name, kind=left.kind)
    return domain, codes[: len(left)], codes[len(left) :]


def other_type(name: str, ours: object, theirs: object) -> BadInput:
    """A column cannot be compared between two tables."""
    told = f"column {name!r} has type {ours} in one table and {theirs} in the other"
    return BadInput(told, hint="give both the same type")


_RECODE = "where it holds original values and the table published labels, recode it, or measure the release with its mapping/ beside it"


def about_population(error: BadInput) -> BadInput:
    """What is wrong with a column, where the other table is a population."""
    return BadInput(f"the population: {error.message}", hint=f"{error.hint}; {_RECODE}")


def population_sizes(sample: Contingency, population: Contingency | None) -> Floats:
    """For each class of the sample, how many people of the population share its quasi-identifiers; None has nobody."""
    if population is None:
        raise _too_few(sample, np.zeros(len(sample), dtype=np.int64), np.arange(len(sample)))
    radices: list[int] = []
    codes: list[Ints] = []
    for position, key in enumerate(sample.keys):
        try:
            domain, left, right = align(key, population.keys[position])
        except BadInput as error:
            raise about_population(error) from None
        radices.append(len(domain))
        codes.append(np.concatenate([left[sample.codes[position]], right[population.codes[position]]]))
    both = arrays.combined_key(codes, radices, rows=len(sample) + len(population))
    wanted, known = both[: len(sample)], both[len(sample) :]
    order = np.argsort(known)
    found = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    sizes = np.where(known[order][found] == wanted, population.sizes[order][found], 0)
    short = np.flatnonzero(sizes < sample.sizes)
    if len(short):
        raise _too_few(sample, sizes, short)
    return sizes.astype(np.float64)


def _too_few(sample: Contingency, sizes: Ints, short: Ints) -> BadInput:
    first = int(short[0])
    return BadInput(
        f"the population has fewer people than the table in {len(short)} classes, for example {sample.class_key(first)}: "
        f"{int(sizes[first])} against {int(sample.sizes[first])}",
        hint=f"a population table holds everybody the table was drawn from; {_RECODE}",
    )


# --- values of each column --------------------------------------------------------------------------------------------
# How often the values of each column occur, as (size, how many values have it): enough for every identity metric of a column.
#
# All columns share one scan, and what comes back is short even for a column with ten million distinct values.
@dataclass(frozen=True, eq=False)
class ValueCounts:
    """One column: the sizes that occur, how many values have each, and how many rows are null."""

    column: str
    sizes: Floats = field(repr=False)
    repeats: Floats = field(repr=False)
    nulls: int

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.sizes @ self.repeats)

    @property
    def distinct(self) -> int:
        """Distinct values; null is not counted as one."""
        return int(self.repeats.sum()) - (1 if self.nulls else 0)


def value_counts(table: Table, columns: Sequence[str]) -> dict[str, ValueCounts]:
    """Count every column in one statement."""
    quoted = [table.engine.quote(name) for name in columns]
    if not quoted:
        return {}
    which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {i}" for i, name in enumerate(quoted))
    is_null = " ".join(f"WHEN GROUPING({name}) = 0 AND {name} IS NULL THEN 1" for name in quoted)
    selected = f"CASE {which} END AS c, CASE {is_null} ELSE 0 END AS absent, COUNT(*) AS n"
    sets = ", ".join(f"({name})" for name in quoted)
    inner = f"SELECT {selected} FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
    counted = table.engine.query(
        f"SELECT c, absent, n, COUNT(*) AS m FROM ({inner}) AS counted GROUP BY c, absent, n ORDER BY c, n, absent"
    )
    if counted.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="there is nothing to measure in an empty table")
    column, absent = counted.column("c").to_numpy(), counted.column("absent").to_numpy() == 1
    sizes, repeats = (counted.column(name).to_numpy().astype(np.float64) for name in ("n", "m"))
    found: dict[str, ValueCounts] = {}
    for position, name in enumerate(columns):
        here = column == position
        found[name] = ValueCounts(name, sizes[here], repeats[here], int(sizes[here & absent].sum()))
    return found


def text_domains(table: Table, columns: Sequence[Column]) -> list[Domain]:
    """The distinct values of text columns, all of them in one statement."""
    if not columns:
        return []
    quoted = [table.engine.quote(column.name) for column in columns]
    which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {place}" for place, name in enumerate(quoted))
    sets = ", ".join(f"({name})" for name in quoted)
    # In a row of one grouping set, all columns but its own are null; COALESCE takes at least two.
    selected = f"CASE {which} END AS c, COALESCE({', '.join([*quoted, 'NULL'])}) AS v"
    found = table.engine.query(f"SELECT {selected} FROM {table.relation} GROUP BY GROUPING SETS ({sets})")
    place = found.column("c").to_numpy()
    values = plain_values(found.column("v"))
    return [
        encode(pa.chunked_array([values.filter(pa.array(place == number))]), name=column.name, kind=column.kind)[0]
        for number, column in enumerate(columns)
    ]
