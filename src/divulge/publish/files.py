# SPDX-License-Identifier: Apache-2.0
"""The file that holds a published table: in which format it is written, and how it is read back with the types it was written with.

A release has the format of its source where that is CSV, Parquet or Arrow; everything else (frames, databases, JSON) becomes Parquet.
Text is UTF-8; a null is an empty cell and an empty text is "". Nothing but the columns is written: no index, no metadata of
the source. An engine writes it (`engine.write`), Spark as a folder of such files.
"""

from __future__ import annotations

import csv
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import pyarrow as pa

from divulge.count import Contingency, Nulls
from divulge.engines import Engine, OwnEngine
from divulge.errors import BadInput, InternalError, listed, nearest
from divulge.search import Recoding
from divulge.table import Roles, Table, read, table_of

Kind = Literal["csv", "parquet", "arrow"]


@dataclass(frozen=True)
class Format:
    """How a table is written to a file."""

    kind: Kind
    delimiter: str = ","

    @property
    def ending(self) -> str:
        """The end of the file's name."""
        return ".tsv" if self.kind == "csv" and self.delimiter == "\t" else f".{self.kind}"


def choose_format(table: Table, wanted: str | None = None) -> Format:
    """The format that is asked for, else the source's own, else Parquet."""
    own = writable(table.engine, _format_of_source(table))
    if wanted is None:
        return own
    if wanted not in get_args(Kind):
        raise BadInput(f"a release cannot be written as {wanted!r}", hint=nearest(wanted, get_args(Kind)))
    name, formats = table.engine.name.capitalize(), table.engine.formats
    if wanted not in formats:
        raise BadInput(f"{name} does not write {wanted} files", hint=f"Ask for {' or '.join(formats)}")
    return own if wanted == own.kind else Format(cast("Kind", wanted))


def writable(engine: Engine, form: Format) -> Format:
    """The same format, or Parquet where the engine cannot write it."""
    return form if form.kind in engine.formats else Format("parquet")


def _format_of_source(table: Table) -> Format:
    if table.declared is not None:  # an ARX project, which holds its data as ARX writes CSV
        return Format("csv", ";")
    if table.reading.kind == "csv":
        return Format("csv", table.reading.how["delimiter"])
    return Format("arrow" if table.reading.kind == "arrow" else "parquet")


def read_rows(engine: OwnEngine, path: Path, *, form: Format, types: Mapping[str, str]) -> Table:
    """The table in a file or folder that was written here, with exactly these columns; text says nothing about types, so they are given."""
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    if form.kind == "csv":
        # The names in the files: DuckDB skips a header when it is told the columns.
        found = {_header(each, form.delimiter) for each in paths}
        try:
            table = table_of(engine, engine.read_typed(paths, types, delimiter=form.delimiter), source=path.name)
        except InternalError:  # a manifest may come from anybody, and name types that there are not
            told = f"{path.name} cannot be read with the types {listed(types.values())}"
            raise BadInput(told, hint="Is the manifest as its publisher wrote it?") from None
    else:
        table = read(path, engine=engine)
        found = {table.names}
    for names in found - {tuple(types)}:
        raise BadInput(f"{path.name} has the columns {', '.join(names)} where {', '.join(types)} were expected")
    return table


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file, delimiter=delimiter), ()))


# --- The rows of a table under a recoding: the pass in which the engine applies what the search decided ---------------
# Each row's quasi-identifiers are looked up among the raw classes, null for null; the row gets the labels of its class, or is left out with
# it. A row that no counted class knows is left out too, so rows that appeared after counting are not published unseen.
# Identifiers, the person and what is to be left out never are.
_FLOATS = ("DOUBLE", "FLOAT")
_SMALL = 200_000
"""So many classes may be sent to every worker, so that no row of the source moves for the lookup."""


def recoded_rows(
    table: Table, engine: OwnEngine, contingency: Contingency, recoding: Recoding, *, roles: Roles, nulls: Nulls
) -> str:
    """A query for the published rows, in no order that means anything."""
    lookup = engine.lend(_lookup_table(contingency, recoding))
    quote = engine.quote
    places = {name: place for place, name in enumerate(recoding.columns)}
    keys = [quote(key.name) for key in contingency.keys]
    same = [f"source.{key} IS NOT DISTINCT FROM classes.k{place}" for place, key in enumerate(keys)]
    selected = []
    for column in table.columns:
        name, cell = column.name, f"source.{quote(column.name)}"
        if name in roles.kept_back:
            continue
        if name in places and not recoding.unchanged[places[name]]:
            cell = f"classes.p{places[name]}"
        else:
            # Counted columns keep their type, by which they are compared with what was counted.
            kept = cell if name in roles.counted else engine.durable(cell, column.type)
            cell = _canonical(kept, column.type)
        selected.append(f"{cell} AS {quote(name)}")
    known = [f"source.{quote(name)} IS NOT NULL" for name in roles.sensitive if nulls == "drop"]
    where = f" WHERE {' AND '.join(known)}" if known else ""
    # A hint for Spark; DuckDB takes it for a comment.
    everywhere = "/*+ BROADCAST(classes) */ " if recoding.kept.sum() <= _SMALL else ""
    joined = f"{table.relation} AS source JOIN {lookup} AS classes ON {' AND '.join(same)}"
    return f"SELECT {everywhere}{', '.join(selected)} FROM {joined}{where}"


def _canonical(cell: str, type_: str) -> str:
    """SQL for a value in the one form that all equal to it are written in: 0.0 and -0.0 are counted as one value, and so are all NaN."""
    if type_ not in _FLOATS:
        return cell
    zero, nan = f"CAST(0 AS {type_})", f"CAST('NaN' AS {type_})"
    return f"CASE WHEN {cell} = {zero} THEN {zero} WHEN ISNAN({cell}) THEN {nan} ELSE {cell} END"


def _lookup_table(contingency: Contingency, recoding: Recoding) -> pa.Table:
    """One row per raw class that is kept: its values as k0, k1, ..., its labels as p0, p1, ..."""
    kept = pa.array(recoding.kept)
    columns = {f"k{place}": contingency.key_column(place).filter(kept) for place in range(len(contingency.keys))}
    for place, (labels, codes) in enumerate(zip(recoding.labels, recoding.codes, strict=True)):
        if not recoding.unchanged[place]:
            columns[f"p{place}"] = pa.array(labels, type=pa.string()).take(pa.array(codes)).filter(kept)
    return pa.table(columns)


# --- shuffle ----------------------------------------------------------------------------------------------------------
# Equal rows are counted, and all copies are put in an order that follows from the secret and the distinct rows alone: the engine deals
# them, or sorts them by a hash of the secret, the number of the copy and all values. Whatever order the source had is gone with the count,
# so the order of a release cannot tell it, even to somebody who learns the secret. On Spark the same hash says in which of the part
# files a row lies, so the parts do not tell how the source was spread over the cluster.
_BITS = 62


def draw_secret(seed: int | None = None) -> int:
    """A fresh secret, or the one that a test gives."""
    if seed is None:
        return secrets.randbits(_BITS)
    if not 0 <= seed < 1 << _BITS:
        raise BadInput(f"seed = {seed!r} is not possible", hint=f"Give a whole number from 0 to 2^{_BITS} - 1, or none")
    return seed


@contextmanager
def shuffled(engine: OwnEngine, rows: str, *, secret: int, files: int = 1) -> Iterator[str]:
    """The rows of a query as one, for the time being, whose order tells nothing; on Spark it has a partition for each file."""
    described = engine.describe(f"({rows})")
    names = [name for name, _ in described]
    typed = [(f"c{place}", type_) for place, (_, type_) in enumerate(described)]
    renamed = ", ".join(f"{engine.quote(name)} AS {short}" for name, (short, _) in zip(names, typed, strict=True))
    listed = ", ".join(short for short, _ in typed)
    plain = f"(SELECT {renamed} FROM ({rows}) AS given) AS plain"
    counted = f"SELECT {listed}, COUNT(*) AS copies FROM {plain} GROUP BY {listed}"
    with engine.in_secret_order(counted, typed, names, secret=secret, files=files) as ordered:
        yield ordered
