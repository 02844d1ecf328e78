# SPDX-License-Identifier: Apache-2.0
"""The tables that are published: group, columns, and how many records a row stands for where rows repeat (Yao et al. 2021, Table 3).

Rows of a group that are equal become one row with a count, so nothing is left of the order in which records came.
Groups get new numbers and the rows of a group a new order, drawn from a secret that has nothing to do with how the
records were grouped: who works the secret out from the order of the rows has learnt nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from divulge.anatomize.anatomized import Anatomized
from divulge.anatomize.published import COUNT, GROUP
from divulge.arrays import Codes, run_starts


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release, in memory."""

    name: str
    """What its file is called, without an ending."""
    columns: tuple[str, ...]
    sensitive: bool
    counted: bool
    rows: pa.Table = field(repr=False)


@dataclass(frozen=True, eq=False)
class Released:
    """The tables of a release, in memory."""

    tables: tuple[ReleasedTable, ...]
    group: str
    """The column that holds the group; another name than usual where the table has a column of that name."""
    count: str


def released(anatomized: Anatomized, *, secret: int) -> Released:
    """The tables to publish; the same secret gives the same tables."""
    rng = np.random.default_rng(secret)
    number = rng.permutation(anatomized.groups).astype(np.int32)[anatomized.group]
    group, count = free_name(GROUP, anatomized.tables), free_name(COUNT, anatomized.tables)
    made = [
        _table(anatomized, columns, ids=ids, number=number, name=name, names=(group, count), rng=rng)
        for columns, ids, name in _parts(anatomized)
    ]
    return Released(tuple(made), group, count)


def _parts(anatomized: Anatomized) -> Iterator[tuple[tuple[str, ...], Codes, str]]:
    """Each table's columns, the number of each record's tuple in it, and a name for its file."""
    problem = anatomized.problem
    ids = [tuples.ids for tuples in problem.tables]
    ids += [anatomized.rows.column(name).astype(np.int32) for name in anatomized.sensitive]
    names = table_names(len(problem.names), len(anatomized.sensitive))
    yield from zip(anatomized.tables, ids, names, strict=True)


def table_names(tables: int, sensitive: int) -> tuple[str, ...]:
    """What the files of so many tables of quasi-identifiers and so many sensitive columns are called, without an ending."""
    return (*_numbered("quasi_identifiers", tables), *_numbered("sensitive", sensitive))


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name}_{place}" for place in range(1, count + 1))


def _table(
    anatomized: Anatomized,
    columns: tuple[str, ...],
    *,
    ids: Codes,
    number: Codes,
    name: str,
    names: tuple[str, str],
    rng: np.random.Generator,
) -> ReleasedTable:
    key = number.astype(np.int64)
    key *= int(ids.max()) + 1
    key += ids
    order = np.argsort(key)
    ordered = key[order]
    begins = run_starts(ordered)
    counts, first = np.diff(begins, append=len(key)), order[begins]
    del key, order, ordered
    shuffled = rng.permutation(len(first))
    shuffled = shuffled[np.argsort(number[first[shuffled]], kind="stable")]
    first, counts = first[shuffled], counts[shuffled]
    counted = bool(counts.max() > 1)
    group, count = names
    found = {group: pa.array(number[first] + 1)}
    found |= {column: anatomized.rows.coded(column, first) for column in columns}
    if counted:
        found[count] = pa.array(counts.astype(np.int32))
    sensitive = columns[0] in anatomized.sensitive
    return ReleasedTable(name, columns, sensitive, counted, pa.table(found))


def free_name(wanted: str, tables: Sequence[Sequence[str]]) -> str:
    """A name that no column of the tables has."""
    taken = {name.casefold() for names in tables for name in names}
    while wanted.casefold() in taken:
        wanted += "_"
    return wanted
