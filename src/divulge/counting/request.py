# SPDX-License-Identifier: Apache-2.0
"""Counting by one GROUP BY, which turns a table into a contingency table.

Several sensitive attributes share the scan through GROUPING SETS, so that the result grows with the
sum of their cells and not with their product. The statement is in the SQL that DuckDB and Spark
have in common; the engine quotes the names. A null is a value of its own (SQL's GROUP BY keeps it)
unless `nulls="drop"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from divulge import arrays
from divulge.arguments import arg, outside
from divulge.arrays import Floats, Ints
from divulge.counting.contingency import Cells, Contingency, Domain, build_cells
from divulge.counting.encoding import (
    JOINT,
    EncodedColumn,
    domain_codes,
    encode,
    joint_domain,
    plain_values,
)
from divulge.counting.parquet_counting import count_coded, read_coded
from divulge.counting.wildcards import (
    Suppression,
    Suspects,
    alike_notes,
    suppression_notes,
    undeclared_suppression,
)
from divulge.errors import BadInput
from divulge.sources import Column, Roles, Table


@dataclass(frozen=True)
class CountedColumns:
    """Columns of a table of counts.

    Keys are k0, k1, ...; sensitive values s0, s1, ...; g0, g1, ... mark the values that are not in
    a row's grouping set; n counts people, w sums their weights.
    """

    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    joint: bool = False
    by_person: bool = False
    weighted: bool = False

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        """Each sensitive attribute and, on request, all of them jointly."""
        singles = tuple((column.name,) for column in self.values)
        if self.joint and len(singles) > 1:
            return (*singles, tuple(column.name for column in self.values))
        return singles

    @property
    def key_names(self) -> list[str]:
        """Names of the key columns."""
        return [f"k{index}" for index in range(len(self.keys))]

    @property
    def column_names(self) -> list[str]:
        """Names of all columns."""
        if len(self.sets) > 1:
            letters = "sg"
        else:
            letters = "s"
        values = [f"{letter}{index}" for letter in letters for index in range(len(self.values))]
        return [
            *self.key_names,
            *values,
            "n",
            *(["w", "lightest", "unweighted"] if self.weighted else []),
        ]

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """Sensitive part of each grouping set; the empty one is for the classes themselves.

        Distinct people per cell do not add up to distinct people per class, so the classes are
        counted separately.
        """
        if self.by_person or not self.targets:
            return (*self.targets, ())
        return self.targets

    def assemble(self, counts_table: pa.Table) -> Contingency:
        """Build the contingency table of counted rows."""
        return self.assemble_part(counts_table)[0]

    def assemble_part(
        self, counts_table: pa.Table, *, codings: Mapping[str, ValueNumbers] | None = None
    ) -> tuple[Contingency, Ints]:
        """Build the contingency table of counted rows, and return the class of each row.

        `codings` number the values of each target if the rows are those of some classes only.
        """
        coded = _encode_columns(self, counts_table, values=codings is None)
        keys = tuple(coded[name].domain for name in self.key_names)
        codes = tuple(coded[name].int64_codes for name in self.key_names)
        class_of_row, first = arrays.class_ids(
            codes, [len(key) for key in keys], rows=counts_table.num_rows
        )
        n = counts_table.column("n").to_numpy().astype(np.int64, copy=False)
        if self.weighted:
            weights = counts_table.column("w").to_numpy()
        else:
            weights = None
        in_set = _rows_of_sets(self, counts_table)
        size_rows = in_set[() if () in in_set else self.sets[0]]
        sizes = arrays.exact_sums(class_of_row[size_rows], n[size_rows], len(first))
        population = None
        if weights is not None:
            population = arrays.sum_by_id(class_of_row[size_rows], weights[size_rows], len(first))
        if weights is None:
            mass = n.astype(np.float64)
        else:
            mass = weights
        cells: dict[str, Cells] = {}
        for target in self.targets:
            rows = in_set[target]
            name = JOINT.join(target)
            aliases = [
                f"s{index}" for index, column in enumerate(self.values) if column.name in target
            ]
            if codings is None:
                parts = [coded[alias].take(rows) for alias in aliases]
                if len(parts) == 1:
                    attribute = parts[0]
                else:
                    attribute = joint_domain(parts)
                domain = attribute.domain
                value = attribute.int64_codes
            else:
                domain = codings[name].domain
                value = codings[name].of(
                    [_take_rows(counts_table.column(alias), rows) for alias in aliases]
                )
            cells[name] = build_cells(
                domain, class_of_row[rows], value, mass[rows], classes=len(first)
            )
        total = int(sizes.sum())
        contingency = Contingency(
            keys,
            tuple(column[first] for column in codes),
            sizes,
            cells,
            total,
            total,
            population,
            population is not None,
        )
        return contingency, class_of_row


@dataclass(frozen=True, eq=False)
class ValueNumbers:
    """Codes of the values of a target over the whole table, if only some classes are in memory."""

    domain: Domain
    parts: tuple[Domain, ...]
    """Values of each attribute of the target."""
    tuples: Ints | None = field(default=None, repr=False)
    """For several attributes: the combinations that occur, as one number each, ascending."""
    codes: Ints | None = field(default=None, repr=False)
    """Code in `domain` of each value or combination, if it is not its position."""

    def of(self, columns: Sequence[pa.Array]) -> Ints:
        """Return the code of each row."""
        part_codes = [
            domain_codes(part, column) for part, column in zip(self.parts, columns, strict=True)
        ]
        if self.tuples is None:
            position = part_codes[0]
        else:
            radices = [len(part) for part in self.parts]
            position = np.searchsorted(
                self.tuples, arrays.combined_key(part_codes, radices, rows=len(part_codes[0]))
            )
        if self.codes is None:
            return position
        return self.codes[position]


def _encode_columns(
    layout: CountedColumns, counts_table: pa.Table, *, values: bool
) -> dict[str, EncodedColumn]:
    """Encode every key column and, on request, every value column.

    Arrow works outside Python's lock, so they share the cores.
    """
    columns = {f"k{i}": column for i, column in enumerate(layout.keys)}
    if values:
        columns |= {f"s{i}": column for i, column in enumerate(layout.values)}

    def coded(alias: str) -> EncodedColumn:
        cells = counts_table.column(alias)
        column = columns[alias]
        mark = f"g{alias[1:]}"
        if alias.startswith("k") or mark not in counts_table.column_names:
            return encode(cells, name=column.name, kind=column.kind)
        # Outside the grouping sets that contain a column, its null means nothing.
        present = counts_table.column(mark).to_numpy() == 0
        encoded = encode(cells.filter(pa.array(present)), name=column.name, kind=column.kind)
        codes = np.zeros(len(present), dtype=np.int64)
        codes[present] = encoded.codes
        return replace(encoded, codes=codes)

    with ThreadPoolExecutor() as threads:
        return dict(zip(columns, threads.map(coded, columns), strict=True))


def _rows_of_sets(
    layout: CountedColumns, counts_table: pa.Table
) -> dict[tuple[str, ...], Ints | slice]:
    """Return the result rows of each grouping set."""
    if len(layout.sets) == 1:
        return {layout.sets[0]: slice(None)}
    marks = [counts_table.column(f"g{i}").to_numpy() == 0 for i in range(len(layout.values))]
    rows_by_set: dict[tuple[str, ...], Ints | slice] = {}
    for target in layout.sets:
        belongs = np.ones(counts_table.num_rows, dtype=bool)
        for column, present in zip(layout.values, marks, strict=True):
            if column.name in target:
                belongs &= present
            else:
                belongs &= ~present
        rows_by_set[target] = np.flatnonzero(belongs)
    return rows_by_set


def _take_rows(column: pa.ChunkedArray, rows: Ints | slice) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(rows, slice):
        return array
    return array.take(pa.array(rows))


# --- the statement --------------------------------------------------------------------------------
Nulls = Literal["category", "drop"]


@dataclass(frozen=True)
class PersonTotals:
    """Totals of a table; the last three only if a person may own several rows."""

    rows: int
    people: int
    person_entropy: float | None = None
    person_share: float | None = None
    unique_people: int | None = None


@dataclass(frozen=True)
class Request:
    """Request of one counting statement."""

    table: Table
    roles: Roles
    nulls: Nulls
    joint: bool
    suppression: Suppression = field(default_factory=dict)
    """Meaning of suppressed cells and of nulls among the quasi-identifiers, as declared."""
    people: str | None = None
    """Column with the number of people of each row, if rows are counts already."""

    def __post_init__(self) -> None:
        if self.nulls not in ("category", "drop"):
            hint = "use 'category' (a null is a value) or 'drop' (such rows are left out)"
            raise BadInput(f"{arg('nulls', self.nulls)} is not known", hint=hint)
        if not self.roles.quasi_identifiers:
            hint = (
                f"name the columns an adversary may know with {arg('quasi_identifiers')}; profile "
                "suggests some"
            )
            raise BadInput(
                "no quasi-identifiers were named, so there are no classes to count", hint=hint
            )
        if self.joint and len(self.roles.sensitive) < 2:
            message = (
                f"{arg('joint', value=True)} looks at several sensitive columns as one, and "
                "there are "
                f"{len(self.roles.sensitive)}"
            )
            raise BadInput(message, hint=f"Leave it out, or name more with {arg('sensitive')}")
        weight = self.roles.weight
        person = self.roles.person
        if person is not None and weight is not None:
            message = f"weight {weight!r} and person {person!r} cannot be combined"
            raise BadInput(message, hint="reduce the table to one row per person first")

    @property
    def wildcards(self) -> tuple[str | None, ...]:
        """Texts that match any value."""
        return tuple(text for text, how in self.suppression.items() if how == "wildcard")

    @property
    def layout(self) -> CountedColumns:
        """Columns of the result."""
        keys, values = (
            tuple(map(self.table.column, n))
            for n in (self.roles.quasi_identifiers, self.roles.sensitive)
        )
        return CountedColumns(
            keys, values, self.joint, self.roles.person is not None, self.roles.weight is not None
        )

    def where(self) -> str:
        """Return the WHERE clause for the rows that count."""
        quote = self.table.engine.quote
        names = (
            ()
            if self.nulls == "category"
            else (*self.roles.quasi_identifiers, *self.roles.sensitive)
        )
        conditions = [f"{quote(name)} IS NOT NULL" for name in names]
        if self.people is not None:
            conditions += [f"{quote(self.people)} > 0"]
        if conditions:
            return " WHERE " + " AND ".join(conditions)
        return ""

    def sql(self) -> str:
        """Statement that selects the columns of the layout."""
        quote = self.table.engine.quote
        keys = [quote(name) for name in self.roles.quasi_identifiers]
        values = [quote(name) for name in self.roles.sensitive]
        selected = [f"{name} AS k{i}" for i, name in enumerate(keys)]
        selected += [f"{name} AS s{i}" for i, name in enumerate(values)]
        sets = [[*keys, *(quote(name) for name in target)] for target in self.layout.sets]
        if len(sets) > 1:
            selected += [f"GROUPING({name}) AS g{i}" for i, name in enumerate(values)]
            grouping = (
                "GROUPING SETS (" + ", ".join("(" + ", ".join(names) + ")" for names in sets) + ")"
            )
        else:
            grouping = ", ".join(sets[0])
        if self.roles.person is None:
            unit = "*"
        else:
            unit = f"DISTINCT {quote(self.roles.person)}"
        if self.people is None:
            people = f"COUNT({unit})"
        else:
            people = f"CAST(SUM({quote(self.people)}) AS BIGINT)"
        selected.append(f"{people} AS n")
        if self.roles.weight is not None:
            weight = quote(self.roles.weight)
            selected += [
                f"CAST(SUM({weight}) AS DOUBLE) AS w",
                f"CAST(MIN({weight}) AS DOUBLE) AS lightest",
                f"COUNT(*) - COUNT({weight}) AS unweighted",
            ]
        return (
            f"SELECT {', '.join(selected)} FROM {self.table.relation}{self.where()} GROUP BY "
            f"{grouping}"
        )

    def sql_of_distinct_rows(self, *, grouped: bool = True) -> str:
        """Statement that selects the distinct rows of all columns of the layout with counts.

        Without `grouped`, it selects every row.
        """
        quoted = [
            self.table.engine.quote(name)
            for name in (*self.roles.quasi_identifiers, *self.roles.sensitive)
        ]
        letters = [
            *self.layout.key_names,
            *(f"s{index}" for index in range(len(self.roles.sensitive))),
        ]
        selected = ", ".join(
            f"{name} AS {letter}" for name, letter in zip(quoted, letters, strict=True)
        )
        rows = f"FROM {self.table.relation}{self.where()}"
        if grouped:
            return f"SELECT {selected}, COUNT(*) AS n {rows} GROUP BY {', '.join(quoted)}"
        return f"SELECT {selected}, 1 AS n {rows}"

    def coded(self) -> pa.Table | None:
        """Count by dictionary codes; None if the statement must be run."""
        layout = self.layout
        places = {name: index for index, name in enumerate(self.roles.sensitive)}
        by_number = not (layout.weighted or layout.by_person or self.people is not None)
        if not by_number or (self.nulls == "drop" and len(layout.sets) > 1):
            return None
        keys = len(layout.keys)
        sets = [[*range(keys), *(keys + places[name] for name in target)] for target in layout.sets]
        columns = (*layout.keys, *layout.values)
        return count_coded(self.table, columns, sets, keys=keys, drop_nulls=self.nulls == "drop")

    def coded_distinct_rows(self) -> pa.Table | None:
        """Count distinct rows by dictionary codes, with the result of sql_of_distinct_rows."""
        columns = (*self.layout.keys, *self.layout.values)
        column_sets = [range(len(columns))]
        keys = len(self.layout.keys)
        return count_coded(
            self.table, columns, column_sets, keys=keys, drop_nulls=self.nulls == "drop"
        )

    def coded_rows(self) -> list[EncodedColumn] | None:
        """Read every row by dictionary codes: the values of each column, and the rows' codes."""
        columns = (*self.layout.keys, *self.layout.values)
        return read_coded(self.table, columns, drop_nulls=self.nulls == "drop")

    def no_rows(self) -> BadInput:
        """Return the error for a table without rows."""
        source = self.table.source
        if self.nulls == "drop":
            return BadInput(
                f"{source}: no row is left",
                hint=f"{arg('nulls', 'drop')} left out every row, or the table has none",
            )
        return BadInput(
            f"{source} has no rows", hint="there is nothing to measure in an empty table"
        )

    def totals(self, row_count: int) -> PersonTotals:
        """Count rows and people, and the totals of a person column."""
        person = self.roles.person
        if person is None:
            return PersonTotals(row_count, row_count)
        engine = self.table.engine
        quote = self.table.engine.quote
        source = f"{self.table.relation}{self.where()}"
        row_counts = engine.query(
            f"SELECT COUNT(*) AS n, COUNT({quote(person)}) AS known FROM {source}"
        ).to_pylist()[0]
        if row_counts["n"] != row_counts["known"]:
            message = (
                f"{row_counts['n'] - row_counts['known']} rows have no {person!r}, so it is not "
                "known whose they are"
            )
            raise BadInput(message, hint="fill the column in or remove these rows")
        keys = ", ".join(quote(name) for name in self.roles.quasi_identifiers)
        pairs_of = f"(SELECT DISTINCT {quote(person)} AS p, {keys} FROM {source}) AS pairs"
        owners = f"(SELECT p, COUNT(*) AS m FROM {pairs_of} GROUP BY p) AS owners"
        spectrum = engine.query(f"SELECT m, COUNT(*) AS people FROM {owners} GROUP BY m")
        classes, people = (
            spectrum.column(name).to_numpy().astype(np.float64) for name in ("m", "people")
        )
        share = classes / float(classes @ people)
        singles = (
            f"(SELECT MIN(p) AS p FROM {pairs_of} GROUP BY {keys} HAVING COUNT(*) = 1) AS singles"
        )
        uniques = engine.query(f"SELECT COUNT(DISTINCT p) AS n FROM {singles}").to_pylist()[0]["n"]
        entropy = float(people @ (-share * np.log2(share)))
        return PersonTotals(
            int(row_counts["n"]), int(people.sum()), entropy, float(share.max()), int(uniques)
        )

    def notes(
        self, rows: int, constant: Mapping[str, Any], domains: Sequence[Domain]
    ) -> tuple[str, ...]:
        """Return notes on the counts for the user.

        `constant` holds the quasi-identifiers with one value only.
        """
        notes = [
            f"quasi-identifier {name!r} has one value only ({_value_text(value)}): it separates "
            "nobody"
            for name, value in constant.items()
        ]
        notes += [
            f"sensitive attribute {domain.name!r} has one value only "
            f"({_value_text(domain.labels[0])}): there is nothing left to learn about it"
            for domain in domains
            if len(domain) == 1
        ]
        if self.nulls == "drop":
            total = self.table.engine.query(
                f"SELECT COUNT(*) AS n FROM {self.table.relation}"
            ).to_pylist()[0]["n"]
            if total > rows:
                notes.append(f"{total - rows} of {total} rows were left out because of nulls")
        return tuple(notes)

    def doubts(
        self, suspects: Suspects, people: int, keys: Sequence[Domain], values: Sequence[Domain]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return notes on doubtful cells, and the treatment of each text of suppressed cells."""
        undeclared_texts = undeclared_suppression(suspects, people, self.suppression)
        suppressed: dict[str, str] = {
            text: how for text, how in self.suppression.items() if text is not None
        }
        notes = (
            *suppression_notes(undeclared_texts, by_person=self.roles.person is not None),
            *alike_notes(keys, effect=": people who may share a class are counted apart"),
            *alike_notes(values, effect=": the diversity looks larger than it may be"),
        )
        return notes, suppressed | {text: "value" for text in undeclared_texts if text is not None}


def count(
    table: Table, roles: Roles, *, nulls: Nulls = "category", joint: bool = False
) -> Contingency:
    """Count the people of each class, and the people with each sensitive value in each class."""
    request = Request(table, roles, nulls, joint)
    return contingency_of(request, counted_rows(request))


def counted_rows(request: Request) -> pa.Table:
    """Return the rows of a counting statement, in memory."""
    coded_counts = request.coded()
    if coded_counts is None:
        return request.table.engine.query(request.sql())
    return coded_counts


def contingency_of(request: Request, counts_table: pa.Table) -> Contingency:
    """Build the contingency table of a request from its counts."""
    if counts_table.num_rows == 0:
        raise request.no_rows()
    if request.roles.weight is not None:
        check_weights(counts_table, request)
    contingency = request.layout.assemble(counts_table)
    totals = request.totals(contingency.rows)
    constant = {key.name: key.labels[0] for key in contingency.keys if len(key) == 1}
    notes = request.notes(
        totals.rows, constant, [cells.domain for cells in contingency.cells.values()]
    )
    return replace(contingency, **asdict(totals), notes=notes)


def check_weights(counts_table: pa.Table, request: Request) -> None:
    """Check that every row has a finite weight above 0.

    Each of the grouping sets has counted each row once.
    """
    weight = request.roles.weight
    missing = int(np.sum(counts_table.column("unweighted").to_numpy())) // len(request.layout.sets)
    if missing:
        raise BadInput(
            f"{missing} rows have no weight in {weight!r}",
            hint="give every row a weight, 1 if unknown",
        )
    lightest = counts_table.column("lightest").to_numpy()
    total = counts_table.column("w").to_numpy()
    if not np.all(np.isfinite(total)) or np.any(lightest <= 0):
        defect = "some are infinite or not a number"
        if np.any(lightest <= 0):
            defect = f"the smallest is {lightest[lightest <= 0].min()}"
        hint = "a weight says how many people of the population a row stands for"
        raise BadInput(
            f"weights in {weight!r} must be finite and greater than 0; {defect}", hint=hint
        )


def _value_text(value: Any) -> str:
    """Format a value; text is quoted, so that '1' is not taken for 1."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(value)
    return str(value)


# --- alignment of two tables ------------------------------------------------------------------
def align(left: Domain, right: Domain) -> tuple[Domain, Ints, Ints]:
    """Return a domain of the values of both, and the new code of each old one."""
    try:
        all_values = pa.concat_arrays([left.values, right.values.cast(left.values.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise other_type(left.name, left.values.type, right.values.type) from None
    encoded = encode(all_values, name=left.name, kind=left.kind)
    codes = encoded.int64_codes
    return encoded.domain, codes[: len(left)], codes[len(left) :]


def other_type(name: str, ours: object, theirs: object) -> BadInput:
    """Return the error for a column that cannot be compared between two tables."""
    message = f"column {name!r} has type {ours} in one table and {theirs} in the other"
    return BadInput(message, hint="give both the same type")


_RECODE_HINT = (
    "where it holds original values and the table published labels, recode it, or measure the "
    "release with its private part"
)


def about_population(error: BadInput) -> BadInput:
    """Return the error for a column, if the other table is a population."""
    return BadInput(
        f"the population: {error.message.marked}", hint=f"{error.hint.marked}; {_RECODE_HINT}"
    )


def population_sizes(sample: Contingency, population: Contingency | None) -> Floats:
    """Return the number of people in the population with the quasi-identifiers of each class.

    None is an empty population.
    """
    if population is None:
        raise _population_too_small(
            sample, np.zeros(len(sample), dtype=np.int64), np.arange(len(sample))
        )
    radices: list[int] = []
    codes: list[Ints] = []
    for position, key in enumerate(sample.keys):
        try:
            domain, left, right = align(key, population.keys[position])
        except BadInput as error:
            raise about_population(error) from None
        radices.append(len(domain))
        codes.append(
            np.concatenate([left[sample.codes[position]], right[population.codes[position]]])
        )
    keys = arrays.combined_key(codes, radices, rows=len(sample) + len(population))
    sample_keys = keys[: len(sample)]
    population_keys = keys[len(sample) :]
    order = np.argsort(population_keys)
    matches = np.minimum(
        np.searchsorted(population_keys[order], sample_keys), len(population_keys) - 1
    )
    sizes = np.where(
        population_keys[order][matches] == sample_keys, population.sizes[order][matches], 0
    )
    short = np.flatnonzero(sizes < sample.sizes)
    if len(short):
        raise _population_too_small(sample, sizes, short)
    return sizes.astype(np.float64)


def _population_too_small(sample: Contingency, sizes: Ints, short: Ints) -> BadInput:
    first = int(short[0])
    return BadInput(
        f"the population has fewer people than the table in {len(short)} classes, for example "
        f"{outside(sample.class_key(first))}: {int(sizes[first])} "
        f"against {int(sample.sizes[first])}",
        hint=f"a population table holds everybody the table was drawn from; {_RECODE_HINT}",
    )


# --- values of each column ------------------------------------------------------------------------
# Frequencies of the values of each column, as (size, number of values with that size): enough for
# every identity metric of a column.
#
# All columns share one scan, and the result is short even for a column with ten million distinct
# values.
@dataclass(frozen=True, eq=False)
class ValueCounts:
    """One column: the sizes that occur, the number of values of each size, and the null rows."""

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
        """Number of distinct values, without null."""
        return int(self.repeats.sum()) - (1 if self.nulls else 0)


def value_counts(table: Table, columns: Sequence[str]) -> dict[str, ValueCounts]:
    """Count the values of every column in one statement."""
    quoted = [table.engine.quote(name) for name in columns]
    if not quoted:
        return {}
    column_cases = " ".join(f"WHEN GROUPING({name}) = 0 THEN {i}" for i, name in enumerate(quoted))
    is_null = " ".join(f"WHEN GROUPING({name}) = 0 AND {name} IS NULL THEN 1" for name in quoted)
    selected = f"CASE {column_cases} END AS c, CASE {is_null} ELSE 0 END AS absent, COUNT(*) AS n"
    sets = ", ".join(f"({name})" for name in quoted)
    inner = f"SELECT {selected} FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
    counts_table = table.engine.query(
        f"SELECT c, absent, n, COUNT(*) AS m FROM ({inner}) AS counted GROUP BY c, absent, n "
        "ORDER BY c, n, absent"
    )
    if counts_table.num_rows == 0:
        raise BadInput(
            f"{table.source} has no rows", hint="there is nothing to measure in an empty table"
        )
    column = counts_table.column("c").to_numpy()
    absent = counts_table.column("absent").to_numpy() == 1
    sizes, repeats = (
        counts_table.column(name).to_numpy().astype(np.float64) for name in ("n", "m")
    )
    counts_by_column: dict[str, ValueCounts] = {}
    for position, name in enumerate(columns):
        is_of_column = column == position
        counts_by_column[name] = ValueCounts(
            name,
            sizes[is_of_column],
            repeats[is_of_column],
            int(sizes[is_of_column & absent].sum()),
        )
    return counts_by_column


def text_domains(table: Table, columns: Sequence[Column]) -> list[Domain]:
    """Return the distinct values of text columns, all in one statement."""
    if not columns:
        return []
    quoted = [table.engine.quote(column.name) for column in columns]
    column_cases = " ".join(
        f"WHEN GROUPING({name}) = 0 THEN {column_index}" for column_index, name in enumerate(quoted)
    )
    sets = ", ".join(f"({name})" for name in quoted)
    # In a row of one grouping set, all other columns are null; COALESCE takes at least two.
    selected = f"CASE {column_cases} END AS c, COALESCE({', '.join([*quoted, 'NULL'])}) AS v"
    values_table = table.engine.query(
        f"SELECT {selected} FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
    )
    column_index = values_table.column("c").to_numpy()
    values = plain_values(values_table.column("v"))
    return [
        encode(
            values.filter(pa.array(column_index == number)), name=column.name, kind=column.kind
        ).domain
        for number, column in enumerate(columns)
    ]
