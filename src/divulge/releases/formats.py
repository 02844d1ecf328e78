# SPDX-License-Identifier: Apache-2.0
"""Formats of published tables: how they are written, and read back with their types.

A release has the format of its source if that is CSV, Parquet or Arrow. Everything else (frames,
databases, JSON) becomes Parquet. Text is UTF-8; a null is an empty cell and an empty text is "".
Only the columns are written: no index, no metadata of the source. An engine writes the table
(`engine.write`); Spark writes it as a folder of such files.
"""

from __future__ import annotations

import csv
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from divulge.counting import Contingency, Nulls
from divulge.engines import Engine, OwnEngine
from divulge.errors import BadInput, InternalError, listed, nearest
from divulge.generalization import Recoding
from divulge.options import RELEASE_FORMATS, ReleaseFormat
from divulge.sources import Roles, Table, read, table_of


@dataclass(frozen=True)
class Format:
    """File format of a published table."""

    kind: ReleaseFormat
    delimiter: str = ","

    @property
    def ending(self) -> str:
        """File name extension."""
        if self.kind == "csv" and self.delimiter == "\t":
            return ".tsv"
        return f".{self.kind}"


def choose_format(table: Table, format_name: str | None = None) -> Format:
    """Return the requested format, else the format of the source, else Parquet."""
    source_format = writable(table.engine, _format_of_source(table))
    if format_name is None:
        return source_format
    if format_name not in RELEASE_FORMATS:
        raise BadInput(
            f"a release cannot be written as {format_name!r}",
            hint=nearest(format_name, RELEASE_FORMATS),
        )
    name = table.engine.name.capitalize()
    formats = table.engine.formats
    if format_name not in formats:
        raise BadInput(
            f"{name} does not write {format_name} files", hint=f"Ask for {' or '.join(formats)}"
        )
    if format_name == source_format.kind:
        return source_format
    return Format(format_name)


def writable(engine: Engine, form: Format) -> Format:
    """Return the format if the engine can write it, else Parquet."""
    if form.kind in engine.formats:
        return form
    return Format("parquet")


def _format_of_source(table: Table) -> Format:
    if table.declared is not None:  # an ARX project, which holds its data as ARX writes CSV
        return Format("csv", ";")
    if table.reading.kind == "csv":
        return Format("csv", table.reading.how["delimiter"])
    return Format("arrow" if table.reading.kind == "arrow" else "parquet")


def read_rows(engine: OwnEngine, path: Path, *, form: Format, types: Mapping[str, str]) -> Table:
    """Read a table that a release wrote to a file or folder; it must have exactly these columns.

    Text files do not store types, so the types are passed in.
    """
    if path.is_dir():
        paths = sorted(path.iterdir())
    else:
        paths = [path]
    if form.kind == "csv":
        # Read the names from the files: DuckDB skips the header if the columns are passed.
        headers = {_header(part_path, form.delimiter) for part_path in paths}
        try:
            table = table_of(
                engine, engine.read_typed(paths, types, delimiter=form.delimiter), source=path.name
            )
        except InternalError:  # a third-party manifest may name types that do not exist
            message = f"{path.name} cannot be read with the types {listed(types.values())}"
            raise BadInput(message, hint="Is the manifest as its publisher wrote it?") from None
    else:
        table = read(path, engine=engine)
        headers = {table.names}
    for names in headers - {tuple(types)}:
        raise BadInput(
            f"{path.name} has the columns {', '.join(names)} where {', '.join(types)} were expected"
        )
    return table


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file, delimiter=delimiter), ()))


# --- Rows of a table under a recoding: the engine applies the plan of the search in one pass.
# The quasi-identifiers of each row are looked up among the raw classes; a null matches a null. The
# row gets the labels of its class, or is suppressed with it. A row outside all counted classes is
# suppressed too, so rows that appeared after counting are not published unchecked. Identifiers, the
# person and columns to drop are never published.
_FLOATS = ("DOUBLE", "FLOAT")
_MAX_BROADCAST_CLASSES = 200_000
"""Maximum number of classes that are broadcast to every worker, so that no source row is moved."""


def recoded_rows(
    table: Table,
    engine: OwnEngine,
    contingency: Contingency,
    recoding: Recoding,
    *,
    roles: Roles,
    nulls: Nulls,
) -> str:
    """SQL query for the published rows; their order has no meaning."""
    lookup = engine.lend(_lookup_table(contingency, recoding))
    quote = engine.quote
    key_index_by_name = {name: key_index for key_index, name in enumerate(recoding.columns)}
    keys = [quote(key.name) for key in contingency.keys]
    join_conditions = [
        f"source.{key} IS NOT DISTINCT FROM classes.k{key_index}"
        for key_index, key in enumerate(keys)
    ]
    select_items = []
    for column in table.columns:
        name = column.name
        cell = f"source.{quote(column.name)}"
        if name in roles.kept_back:
            continue
        if name in key_index_by_name and not recoding.unchanged[key_index_by_name[name]]:
            cell = f"classes.p{key_index_by_name[name]}"
        else:
            # Counted columns keep their type, so that they can be compared with the counts.
            if name in roles.counted_columns:
                exact_cell = cell
            else:
                exact_cell = engine.durable(cell, column.type)
            cell = _canonical(exact_cell, column.type)
        select_items.append(f"{cell} AS {quote(name)}")
    conditions = [
        f"source.{quote(name)} IS NOT NULL" for name in roles.sensitive if nulls == "drop"
    ]
    if conditions:
        where = f" WHERE {' AND '.join(conditions)}"
    else:
        where = ""
    # A hint for Spark; DuckDB treats it as a comment.
    if recoding.published_mask.sum() <= _MAX_BROADCAST_CLASSES:
        broadcast_hint = "/*+ BROADCAST(classes) */ "
    else:
        broadcast_hint = ""
    join_sql = (
        f"{table.relation} AS source JOIN {lookup} AS classes ON {' AND '.join(join_conditions)}"
    )
    return f"SELECT {broadcast_hint}{', '.join(select_items)} FROM {join_sql}{where}"


def _canonical(cell: str, type_: str) -> str:
    """SQL for one canonical form of equal values.

    0.0 and -0.0 are counted as one value, and so are all NaN.
    """
    if type_ not in _FLOATS:
        return cell
    zero = f"CAST(0 AS {type_})"
    nan = f"CAST('NaN' AS {type_})"
    return f"CASE WHEN {cell} = {zero} THEN {zero} WHEN ISNAN({cell}) THEN {nan} ELSE {cell} END"


def _lookup_table(contingency: Contingency, recoding: Recoding) -> pa.Table:
    """One row for each published raw class: its values as k0, k1, ..., its labels as p0, p1, ..."""
    is_kept = pa.array(recoding.published_mask)
    columns = {
        f"k{key_index}": contingency.key_column(key_index).filter(is_kept)
        for key_index in range(len(contingency.keys))
    }
    for key_index, (labels, codes) in enumerate(zip(recoding.labels, recoding.codes, strict=True)):
        if not recoding.unchanged[key_index]:
            columns[f"p{key_index}"] = (
                pa.array(labels, type=pa.string()).take(pa.array(codes)).filter(is_kept)
            )
    return pa.table(columns)


# --- shuffle --------------------------------------------------------------------------------------
# Equal rows are counted, and all copies are put in an order that depends only on the secret and the
# distinct rows. The engine assigns them positions, or sorts them by a hash of the secret, the
# number of the copy and all values. The counts do not keep the order of the source. So the order of
# a release cannot reveal it, even to an adversary who learns the secret. On Spark the same hash
# selects the part file of a row, so the parts do not reveal the partitions of the source.
_SECRET_BITS = 62


def draw_secret(seed: int | None = None) -> int:
    """Draw a random secret, or return the seed that a test passes."""
    if seed is None:
        return secrets.randbits(_SECRET_BITS)
    if not 0 <= seed < 1 << _SECRET_BITS:
        raise BadInput(
            f"seed = {seed!r} is not possible",
            hint=f"Give a whole number from 0 to 2^{_SECRET_BITS} - 1, or none",
        )
    return seed


@contextmanager
def shuffled(engine: OwnEngine, rows: str, *, secret: int, files: int = 1) -> Iterator[str]:
    """Provide, while the context is open, a query for the rows in an order that reveals nothing.

    On Spark the query has one partition for each file.
    """
    column_types = engine.describe(f"({rows})")
    names = [name for name, _ in column_types]
    typed_columns = [
        (f"c{column_index}", type_) for column_index, (_, type_) in enumerate(column_types)
    ]
    renamed_columns = ", ".join(
        f"{engine.quote(name)} AS {short}"
        for name, (short, _) in zip(names, typed_columns, strict=True)
    )
    column_list = ", ".join(short for short, _ in typed_columns)
    renamed_rows = f"(SELECT {renamed_columns} FROM ({rows}) AS given) AS plain"
    counts_sql = (
        f"SELECT {column_list}, COUNT(*) AS copies FROM {renamed_rows} GROUP BY {column_list}"
    )
    with engine.in_secret_order(
        counts_sql, typed_columns, names, secret=secret, files=files
    ) as shuffled_rows:
        yield shuffled_rows
