# SPDX-License-Identifier: Apache-2.0
"""A chunk of a table, grouped by itself: what is done, one chunk after the other or on Spark's workers, for a table that does not fit.

The rows of a chunk are coded, grouped, measured and turned into the rows of the tables by the very functions that do it for a whole
table in memory (Yao et al. 2021, by our group division). Only delta looks beyond the chunk: it is held against the shares of the
sensitive values in the whole table. A group that keeps the model in its chunk therefore keeps it in the table, and the levels of
the table are the worst of its chunks.

What comes out are rows of all tables: c0, c1, ... (null where they belong to another table), part (the table's number), gid, copies,
and one row per chunk with part = -1 that tells the outcome. Everything is a function of the chunk's rows and of secrets, so that a
worker that dies can be replaced.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from divulge.anatomize.anatomized import Method, anatomize
from divulge.anatomize.codes import sorted_rows
from divulge.anatomize.feasibility import InfeasibleModel
from divulge.anatomize.levels import GroupSummary
from divulge.anatomize.problem import SensitiveTotals
from divulge.anatomize.release import Released, released
from divulge.anatomize.scatter import scatter
from divulge.errors import DivulgeError
from divulge.table.table import Column

OUTCOME = -1
"""The part of the row that tells the outcome of a chunk."""
ADDED = {"part": "INT", "gid": "BIGINT", "copies": "INT", "outcome": "BINARY"}
"""The columns that come out beside c0, c1, ...; the types have these names in every engine."""


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """What must be known to group a chunk, beside its rows."""

    method: Method
    """With the tables as they were decided."""
    columns: tuple[Column, ...]
    """What c0, c1, ... are."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    totals: Mapping[str, SensitiveTotals] = field(repr=False)
    """Of the sensitive values in the whole table."""
    chunks: int
    capacity: int
    """No chunk has more rows."""
    secret: int = field(repr=False)
    """Of the grouping ..."""
    numbering: int = field(repr=False)
    """... and of the numbers of the groups, which has nothing to do with it."""


@dataclass(frozen=True)
class ChunkOutcome:
    """What came of a chunk, or of several."""

    groups: GroupSummary
    rows: tuple[int, ...]
    """The rows of each table."""
    counted: tuple[bool, ...]
    """Whether a row of the table stands for several records."""

    def plus(self, other: ChunkOutcome) -> ChunkOutcome:
        """Both together."""
        return ChunkOutcome(
            groups=self.groups.plus(other.groups),
            rows=tuple(one + two for one, two in zip(self.rows, other.rows, strict=True)),
            counted=tuple(one or two for one, two in zip(self.counted, other.counted, strict=True)),
        )


@dataclass(frozen=True)
class Obstacle:
    """Why no grouping of a chunk was found."""

    because: str
    gamma: Fraction
    """What its groups reach where they keep the other bounds."""


def group_chunk(plan: ChunkPlan, chunk: pa.Table) -> pa.Table:
    """The rows of all tables, and the outcome; an error of ours is an outcome too, so that nothing is tried again."""
    number = chunk.column("chunk")[0].as_py()
    schema = _stacked_schema(chunk.schema, len(plan.columns))
    outcome: ChunkOutcome | Obstacle | DivulgeError
    tables: list[pa.Table] = []
    try:
        found, outcome = _grouped(plan, number, chunk)
        tables = [
            _stacked(table.rows, schema, part=part, columns=table.columns, names=found, plan=plan, chunk=number)
            for part, table in enumerate(found.tables)
        ]
    except InfeasibleModel as error:
        outcome = Obstacle(error.because, error.nearest.gamma)
    except DivulgeError as error:
        outcome = error
    told = {"part": pa.array([OUTCOME], pa.int32()), "outcome": pa.array([pickle.dumps(outcome)], pa.binary())}
    return pa.concat_tables([*tables, _filled(told, schema, 1)])


def _grouped(plan: ChunkPlan, number: int, chunk: pa.Table) -> tuple[Released, ChunkOutcome]:
    found = anatomize(
        sorted_rows(chunk, plan.columns),
        plan.method,
        quasi_identifiers=plan.quasi_identifiers,
        sensitive=plan.sensitive,
        seed=seed_of(plan.secret, number),
        totals=plan.totals,
    )
    made = released(found, secret=seed_of(plan.numbering, number))
    outcome = ChunkOutcome(
        groups=found.summary,
        rows=tuple(table.rows.num_rows for table in made.tables),
        counted=tuple(table.counted for table in made.tables),
    )
    return made, outcome


def seed_of(secret: int, chunk: int) -> int:
    """A seed for each chunk; it tells neither the secret nor another seed."""
    return int.from_bytes(hashlib.blake2b(f"{secret}:{chunk}".encode(), digest_size=8).digest())


def _stacked(
    rows: pa.Table,
    schema: pa.Schema,
    *,
    part: int,
    columns: Sequence[str],
    names: Released,
    plan: ChunkPlan,
    chunk: int,
) -> pa.Table:
    """The rows of one table among those of all, under numbers that are the group's alone in the whole release."""
    places = {column.name: f"c{place}" for place, column in enumerate(plan.columns)}
    local = rows.column(names.group).to_numpy().astype(np.int64) - 1
    numbers = scatter(local + chunk * plan.capacity, plan.chunks * plan.capacity, secret=plan.numbering) + 1
    copies = rows.column(names.count) if names.count in rows.column_names else np.ones(len(local), dtype=np.int32)
    found = {
        "part": np.full(len(local), part, dtype=np.int32),
        "gid": numbers,
        "copies": copies,
        **{places[name]: _plain(rows.column(name)).cast(schema.field(places[name]).type) for name in columns},
    }
    return _filled(found, schema, len(local))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values instead of codes into a domain."""
    return column.cast(column.type.value_type)


def _stacked_schema(chunk: pa.Schema, columns: int) -> pa.Schema:
    own = [pa.field(f"c{place}", _returned(chunk.field(f"c{place}").type)) for place in range(columns)]
    types = {"INT": pa.int32(), "BIGINT": pa.int64(), "BINARY": pa.binary()}
    return pa.schema([*own, *(pa.field(name, types[type_]) for name, type_ in ADDED.items())])


def _returned(type_: pa.DataType) -> pa.DataType:
    """Without codes; and Spark hands moments over in the zone of its session, but takes them back in UTC only, as the same moments."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    return pa.timestamp(type_.unit, "UTC") if pa.types.is_timestamp(type_) and type_.tz is not None else type_


def _filled(columns: Mapping[str, object], schema: pa.Schema, rows: int) -> pa.Table:
    """A table of this schema, with nulls in the columns that are not given."""
    return pa.table(
        [columns[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in schema],
        schema=schema,
    )
