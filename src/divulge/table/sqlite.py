# SPDX-License-Identifier: Apache-2.0
"""Reads one table or view of an SQLite file.

SQLite lets every cell have its own type, so each column is looked at first: whole numbers, numbers, or text when
anything else is among them (bytes as hexadecimal text). Then the rows stream, batch by batch, into the engine's private
directory. The file is opened read-only, and both passes see one snapshot.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from divulge.engines.base import double_quoted
from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput, DivulgeError
from divulge.table.paths import Files
from divulge.table.pick import pick_table
from divulge.table.shapes import column_types, recast
from divulge.table.table import Table, check_names, table_of

_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53


def read_sqlite(files: Files, *, source: str, engine: DuckDBEngine, table: str | None) -> Table:
    """The table called `table`, or the only one there is."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} databases", hint="Name one of them")
    _refuse_cut_off(files.paths[0], source=source)
    try:
        with contextlib.closing(_open(files.paths[0])) as connection:
            connection.execute("BEGIN")
            name = pick_table(_tables(connection), table, source=source)
            stored = _store(connection, name, engine=engine, source=f"table {name!r} of {source}")
    except sqlite3.Error as error:
        raise BadInput(f"{source} cannot be read: {error}") from error
    texts = [column for column, type_ in engine.describe(stored) if type_ == "VARCHAR"]
    dates = column_types(engine, stored, texts, numbers=False)
    return table_of(engine, recast(engine, stored, dates), source=f"table {name!r} of {source}")


def _open(path: Path) -> sqlite3.Connection:
    # DuckDB pulls the batches from a thread of its own, one at a time.
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False, isolation_level=None)


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name"
    )
    return [name for (name,) in found]


def _refuse_cut_off(path: Path, *, source: str) -> None:
    """SQLite reads the missing end of a file as zeros, that is, as rows of nulls: compare with the size it noted."""
    with path.open("rb") as file:
        header = file.read(32)
    page_size = int.from_bytes(header[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if path.stat().st_size < expected:
        raise BadInput(f"{source} is cut off: it should have {expected} bytes", hint="Copy the database again")


def _store(connection: sqlite3.Connection, table: str, *, engine: DuckDBEngine, source: str) -> str:
    relation = double_quoted(table)
    names = [row[0] for row in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]
    check_names(names, source=source)
    types = _column_types(connection, relation, names)
    cells = ", ".join(_cell(double_quoted(name), types[name]) for name in names)
    rows = connection.execute(f"SELECT {cells} FROM {relation}")
    failures: list[sqlite3.Error] = []
    schema = pa.schema(list(types.items()))
    try:
        return engine.store(pa.RecordBatchReader.from_batches(schema, _batches(rows, schema, failures)))
    except DivulgeError as error:
        if not failures:
            raise
        reason = "a text in it is not UTF-8" if "UTF-8" in str(failures[0]) else str(failures[0])
        raise BadInput(f"{source} cannot be read: {reason}") from error


def _column_types(connection: sqlite3.Connection, relation: str, names: list[str]) -> dict[str, pa.DataType]:
    """The Arrow type of each column from the types of all its cells."""
    checks = ", ".join(
        f"max(typeof({cell}) IN ('text', 'blob')), max(typeof({cell}) = 'real'), max(typeof({cell}) = 'integer'), "
        f"max(typeof({cell}) = 'integer' AND {cell} NOT BETWEEN -{_EXACT_IN_DOUBLE} AND {_EXACT_IN_DOUBLE})"
        for cell in map(double_quoted, names)
    )
    found = connection.execute(f"SELECT {checks} FROM {relation}").fetchone()
    return {name: _type(found[4 * i : 4 * i + 4]) for i, name in enumerate(names)}


def _type(kinds: tuple[int | None, ...]) -> pa.DataType:
    """Text unless there are only numbers, and whole numbers too large for a double do not meet fractions."""
    text, real, integer, long = kinds
    if text or (real and long) or not (real or integer):
        return pa.string()
    return pa.float64() if real else pa.int64()


def _cell(cell: str, type_: pa.DataType) -> str:
    if type_ == pa.string():
        return f"CASE typeof({cell}) WHEN 'blob' THEN hex({cell}) ELSE CAST({cell} AS TEXT) END"
    return f"CAST({cell} AS REAL)" if type_ == pa.float64() else cell


def _batches(rows: sqlite3.Cursor, schema: pa.Schema, failures: list[sqlite3.Error]) -> Iterator[pa.RecordBatch]:
    """The rows in batches; what goes wrong is noted in `failures`, because it reaches us through DuckDB only."""
    try:
        while chunk := rows.fetchmany(_BATCH_ROWS):
            cells = zip(zip(*chunk, strict=True), schema.types, strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(values, type_) for values, type_ in cells], schema=schema)
    except sqlite3.Error as error:
        failures.append(error)
        raise
