# SPDX-License-Identifier: Apache-2.0
"""From the rows of a counting statement to a contingency.

The statement may have run over a whole table, or the rows may be those of some classes only, as Spark's workers see them; values are
then numbered as they are in the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge.count.contingency import Cells, Contingency, Domain, Ints, build_cells, class_ids, combined_key, sum_by_id
from divulge.errors import BadInput, InternalError
from divulge.table.table import Column, Kind

JOINT = " + "


@dataclass(frozen=True)
class Layout:
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
    def needs_class_sizes(self) -> bool:
        """Distinct people per cell do not add up to distinct people per class, so these are counted by themselves."""
        return self.by_person or not self.targets

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sensitive part of each grouping set; the empty one stands for the classes themselves."""
        return (*self.targets, ()) if self.needs_class_sizes else self.targets


@dataclass(frozen=True, eq=False)
class Coding:
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
            position = np.searchsorted(self.tuples, combined_key(found, radices, rows=len(found[0])))
        return position if self.codes is None else self.codes[position]


def assemble(layout: Layout, counted: pa.Table) -> Contingency:
    """The contingency of counted rows."""
    return assemble_part(layout, counted)[0]


def assemble_part(
    layout: Layout, counted: pa.Table, *, codings: Mapping[str, Coding] | None = None
) -> tuple[Contingency, Ints]:
    """The same, with the class of each row; `codings` number the values of each target where the rows are a part of a table."""
    coded = _encode_columns(layout, counted, values=codings is None)
    keys = tuple(coded[f"k{i}"][0] for i in range(len(layout.keys)))
    codes = tuple(coded[f"k{i}"][1] for i in range(len(layout.keys)))
    class_of_row, first = class_ids(codes, [len(key) for key in keys], rows=counted.num_rows)
    n = counted.column("n").to_numpy().astype(np.int64, copy=False)
    weights = counted.column("w").to_numpy() if layout.weighted else None
    in_set = _rows_of_sets(layout, counted)
    size_rows = in_set[layout.sets[-1] if layout.needs_class_sizes else layout.sets[0]]
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, class_of_row[size_rows], n[size_rows])
    population = None
    if weights is not None:
        population = sum_by_id(class_of_row[size_rows], weights[size_rows], len(first))
    mass = n.astype(np.float64) if weights is None else weights
    cells: dict[str, Cells] = {}
    for target in layout.targets:
        rows, name = in_set[target], JOINT.join(target)
        if codings is None:
            domain, value = _own_codes(layout, coded, target, rows)
        else:
            domain = codings[name].domain
            value = codings[name].of([_take(counted.column(alias), rows) for alias in _aliases(layout, target)])
        cells[name] = build_cells(domain, class_of_row[rows], value, mass[rows], classes=len(first))
    total = int(sizes.sum())
    found = Contingency(keys, tuple(column[first] for column in codes), sizes, cells, total, total, population)
    return found, class_of_row


def _aliases(layout: Layout, target: Sequence[str]) -> list[str]:
    places = {column.name: place for place, column in enumerate(layout.values)}
    return [f"s{places[name]}" for name in target]


def _own_codes(
    layout: Layout, coded: Mapping[str, tuple[Domain, Ints]], target: Sequence[str], rows: Ints | slice
) -> tuple[Domain, Ints]:
    parts = [(coded[alias][0], coded[alias][1][rows]) for alias in _aliases(layout, target)]
    return parts[0] if len(parts) == 1 else joint_domain(parts)


def _encode_columns(layout: Layout, counted: pa.Table, *, values: bool) -> dict[str, tuple[Domain, Ints]]:
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


def _rows_of_sets(layout: Layout, counted: pa.Table) -> dict[tuple[str, ...], Ints | slice]:
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
    ids, first = class_ids(codes, [len(domain) for domain, _ in parts], rows=len(codes[0]))
    labels = [JOINT.join(str(domain.labels[column[row]]) for domain, column in parts) for row in first.tolist()]
    name = JOINT.join(domain.name for domain, _ in parts)
    return Domain(name, pa.array(labels, type=pa.string()), "text"), ids


def encode(column: pa.ChunkedArray | pa.Array, *, name: str, kind: Kind) -> tuple[Domain, Ints]:
    """The distinct values in ascending order, nulls last, and each row's position among them."""
    array = plain_values(column)
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


def domain_codes(domain: Domain, column: pa.ChunkedArray | pa.Array) -> Ints:
    """The position of each row's value in a domain that holds them all."""
    array = plain_values(column)
    if array.type != domain.values.type:
        array = array.cast(domain.values.type)
    found = pc.index_in(array, value_set=domain.values)
    if found.null_count:
        raise InternalError(f"a value of {domain.name!r} is not among the values that were counted")
    codes: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def plain_values(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array without dictionaries, with one zero and with moments in UTC."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # SQL groups 0.0 with -0.0 and may return either, even another one for each grouping set; -0.0 + 0.0 is 0.0.
        array = pc.add(array, pa.scalar(0.0, array.type))
    if pa.types.is_timestamp(array.type) and array.type.tz not in (None, "UTC"):
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))  # the zone is the reader's, not the value's
    return array


def _take(column: pa.ChunkedArray, rows: Ints | slice) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(rows, slice) else array.take(pa.array(rows))
