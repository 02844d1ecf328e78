# SPDX-License-Identifier: Apache-2.0
"""DuckDB inside this process: the default engine.

Each engine owns one private connection and one private directory. DuckDB spills to that directory
when memory runs out. Data that can be read only once is kept there too. Nothing is sent or fetched:
extensions are neither downloaded nor loaded automatically, and SQL cannot see the caller's Python
variables.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from divulge import private_folder
from divulge.arguments import arg_name, outside
from divulge.engines.duckdb_errors import explained
from divulge.engines.engine import (
    DuckDBDialect,
    Engine,
    Make,
    Merge,
    Result,
    StoredRows,
    Summarize,
    is_plain_type,
)
from divulge.engines.held_rows import HeldRows, in_order
from divulge.engines.memory import BATCH, FEW_TEXTS, ArrowRows, MemoryShares, deal
from divulge.engines.parquet import LEAST_BY_ARROW, ParquetBatches
from divulge.errors import BadInput, DivulgeError, InternalError
from divulge.validation import checked

LOG = logging.getLogger("divulge.engines")
Progress = Callable[[int, int], None]
"""Called with (done, total)."""
_WILDCARD = re.compile(r"[*?\[]")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_PROGRESS_INTERVAL = 0.25
_STORE_NAME = "stored"
_DURABLE_TYPES = {
    **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(38, 0)"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP"),
    **dict.fromkeys(("ENUM", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "UNION"), "VARCHAR"),
}
"""Types that some file format lacks and would round or shift, and the types to write instead."""


class _Database:
    """A DuckDB database and its private directory, for one engine at a time.

    Opening one costs 25 ms, more than most queries about a small table. So a database that an
    engine without limits of its own has left clean is reused by the next such engine. Objects that
    an engine registers are visible to its own connection only, and are removed with it. Two
    databases may wait, because a request may be about two tables, and the garbage collector may
    free an engine late.
    """

    waiting: ClassVar[dict[bool, list[_Database]]] = {False: [], True: []}
    """Databases that wait for an engine, at most two for either order of rows."""

    def __init__(self, parent: str | Path | None, *, preserve_order: bool, **limits: Any) -> None:
        self.scratch, self.owner = private_folder.Scratch(parent), os.getpid()
        self.has_stored = self.has_attached = False
        self._preserve_order, self._is_reusable = preserve_order, parent is None and not limits
        settings = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "preserve_insertion_order": preserve_order,
            "temp_directory": str(self.scratch.directory),
            **limits,
        }
        try:
            self.connection = duckdb.connect(":memory:", config=settings)
        except duckdb.Error as error:
            self.scratch.remove()
            hint = f"Check {' and '.join(map(arg_name, limits))}" * bool(limits)
            raise BadInput(f"DuckDB cannot start: {outside(error)}", hint=hint) from error
        self._close = weakref.finalize(self, _close, self.connection, self.scratch, self.owner)

    @classmethod
    def opened(cls, parent: str | Path | None, *, preserve_order: bool, **limits: Any) -> _Database:
        """Return a database that waits, or a new one.

        A forked process takes no database of its parent, because it does not have the parent's
        threads.
        """
        if parent is not None or limits:
            waiting = []
        else:
            waiting = cls.waiting.get(preserve_order, [])
        with suppress(IndexError):  # none is left; another thread may take the last one first
            while True:
                if (
                    database := waiting.pop()
                ).owner == os.getpid() and database.scratch.is_in_temp_directory():
                    return database
        return cls(parent, preserve_order=preserve_order, **limits)

    def leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Release the database after its engine is gone, with all that the engine registered.

        A forked copy leaves everything to the owner.
        """
        if os.getpid() != self.owner:
            return
        connection.close()
        is_used = self.has_stored or self.has_attached or not self.scratch.is_clean()
        waiting = self.waiting.get(self._preserve_order)  # None when the interpreter shuts down
        if waiting is not None and self._is_reusable and not is_used and len(waiting) < 2:
            waiting.append(self)
        else:
            self._close()


# Python frees a class only in the last garbage collection, or not at all, and DuckDB complains
# about objects that outlive it.
atexit.register(_Database.waiting.clear)


def _close(
    connection: duckdb.DuckDBPyConnection, scratch: private_folder.Scratch, owner: int
) -> None:
    """Clean up, unless this is a forked copy of the process that owns the connection."""
    if os.getpid() == owner:
        connection.close()
        scratch.remove()


class DuckDBEngine(DuckDBDialect):
    """One private, in-process DuckDB."""

    @checked
    def __init__(
        self,
        *,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        threads: int | None = None,
        preserve_order: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Open the connection.

        `memory_limit` ("4GB") is a target for the whole process. Python and the libraries take a
        fixed part of it. Half of the rest is for DuckDB, before it spills to disk, and half for
        arrays.

        `temp_directory` is the parent of the private directory (default: the system's). `threads`
        defaults to the number that DuckDB's part of the memory allows. `preserve_order` keeps the
        order of input rows through a scan. Joins by position need that, and it costs memory on
        large files.

        `progress` is called from another thread a few times a second with the percentage of a
        statement that is done, and with (100, 100) at its end.
        """
        limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
        self._settings = limits | {"temp_directory": temp_directory, "progress": progress}
        explicit_limits = {name: limit for name, limit in limits.items() if limit is not None}
        self._database = _Database.opened(
            temp_directory, preserve_order=preserve_order, **explicit_limits
        )
        self.directory = self._database.scratch.directory
        self._connection = self._database.connection.cursor()
        _hide_bar(self._connection, follow=progress is not None)
        self._progress, self._preserve_order = progress, preserve_order
        self._numbers = itertools.count(1)
        self._display_names: dict[str, str] = {}
        self._parquet: dict[str, tuple[Path, ...]] = {}
        self._lent_names: dict[str, str] = {}
        self._arrow_rows: dict[str, Callable[[], ArrowRows]] = {}
        """Queries whose rows are already in Arrow."""
        self.close = weakref.finalize(self, self._database.leave, self._connection)
        if memory_limit is None:
            self.memory_limit = None
        else:
            self.memory_limit = self._memory_limit_bytes()
        """Memory limit of the whole process in bytes; None if there is none."""
        try:
            if self.memory_limit:
                self._shares = MemoryShares.of(self.memory_limit, str(memory_limit))
            else:
                self._shares = MemoryShares()
        except BadInput:
            self.close()
            raise
        if self._shares.duckdb is not None:
            self._run(f"SET memory_limit = '{self._shares.duckdb} bytes'")
            self._run(f"SET threads = {threads or self._shares.threads}")
        self.cell_limit, self.row_limit = self._shares.cells, self._shares.rows
        self.chunk_rows = self._shares.chunk_rows

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement and return its rows as an Arrow table."""
        with self._track_statement(sql):
            return self._connection.sql(sql, params=list(parameters) or None).to_arrow_table()

    @contextmanager
    def in_row_order(self) -> Iterator[None]:
        """Keep the order of rows in scans while this context is open.

        Columns that are read one after the other then fit together.
        """
        self._run("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            self._run(f"SET preserve_insertion_order = {str(self._preserve_order).lower()}")

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Return the name and type of each column of `relation`, without reading rows."""
        sql = f"SELECT * FROM {relation}"
        with explained(sql, self._display_names):
            bound = self._connection.sql(sql)
            return tuple(zip(bound.columns, map(str, bound.types), strict=True))

    def files(self, paths: Sequence[Path], *, known_as: Mapping[Path, str]) -> str:
        """Return a list of files for read_csv and register their names for messages.

        DuckDB treats a path as a glob, so each wildcard in a name is put into brackets, which makes
        it literal.
        """
        self._display_names.update(
            {str(path): display_name for path, display_name in known_as.items()}
        )
        return (
            "["
            + ", ".join(self.literal(_WILDCARD.sub(r"[\g<0>]", str(path))) for path in paths)
            + "]"
        )

    def parquet(
        self, paths: Sequence[Path], *, known_as: Mapping[Path, str], hive: Mapping[str, str]
    ) -> str:
        """Return a FROM clause for Parquet files.

        `hive` maps the columns that their folders add to types.
        """
        if hive:
            options = f"hive_partitioning = true, hive_types = {self.struct(hive)}"
        else:
            options = "hive_partitioning = false"
        relation = f"read_parquet({self.files(paths, known_as=known_as)}, {options})"
        if hive:
            self._parquet[relation] = ()
        else:
            self._parquet[relation] = tuple(paths)
        return relation

    def each_batch(
        self, relation: str, types: Mapping[str, pa.DataType], make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """Apply a function to each batch of a Parquet file, on all cores.

        Returns None for small files, for types that Arrow reads differently, and under a memory
        limit.
        """
        paths = self._parquet.get(relation, ())
        try:
            is_small = sum(map(os.path.getsize, paths)) < LEAST_BY_ARROW
        except OSError:  # DuckDB reports what is wrong with a file
            return None
        if is_small or self.memory_limit is not None:
            return None
        files = ParquetBatches.of(paths, types)
        if files is None:
            return None
        return files.map_batches(make, threads=self._settings["threads"], progress=self._progress)

    def struct(self, fields: Mapping[str, str]) -> str:
        """Return a constant struct of texts, the form of options such as columns = {...}."""
        return (
            "{"
            + ", ".join(
                f"{self.literal(key)}: {self.literal(value)}" for key, value in fields.items()
            )
            + "}"
        )

    def register(self, name: str, source: object) -> str:
        """Make an Arrow table, dataset or Polars frame readable under `name`.

        Returns:
            The quoted name, for a FROM clause.
        """
        with explained(f"register {name}"):
            self._connection.register(name, source)
        return self.quote(name)

    def lend(self, table: pa.Table) -> str:
        """Make an Arrow table readable; return its name for a FROM clause."""
        return self.register(self.fresh_name("lent"), table)

    def query_for(self, table: pa.Table) -> str:
        """Return a query for the rows of an Arrow table, in types that every file format has."""
        name = self.fresh_name("lent")
        relation = self.register(name, table)
        described = self.describe(relation)
        cells = {
            self.quote(column): self.durable(self.quote(column), type_)
            for column, type_ in described
        }
        query = (
            f"SELECT {', '.join(f'{cell} AS {column}' for column, cell in cells.items())} "
            f"FROM {relation}"
        )
        if all(cell == column for column, cell in cells.items()):
            self._arrow_rows[query] = lambda: ArrowRows(
                table.schema, table.to_batches(max_chunksize=BATCH)
            )
        self._lent_names[query] = name
        return query

    def let_go(self, query: str) -> None:
        """Free the table of a query that `query_for` returned."""
        self._arrow_rows.pop(query, None)
        self.forget(self._lent_names.pop(query))

    def forget(self, name: str) -> None:
        """Unregister a name."""
        self._connection.unregister(name)

    def fresh_name(self, prefix: str) -> str:
        """Return a name that is not used in this engine yet."""
        return f"{prefix}_{next(self._numbers)}"

    def store(self, batches: pa.RecordBatchReader, *, select: str = "*") -> str:
        """Copy a stream that can be read only once to disk; `select` may cast its columns."""
        stream = self.fresh_name("stream")
        source = self.register(stream, batches)
        try:
            return self.keep(f"SELECT {select} FROM {source}")
        finally:
            self.forget(stream)

    def keep(self, sql: str, parameters: Sequence[object] = ()) -> str:
        """Keep the rows of a query in the private directory.

        The table is in a file on disk, so that memory does not grow with it.
        """
        if not self._database.has_stored:
            self._run(
                f"ATTACH {self.literal(str(self.directory / 'stored.duckdb'))} AS {_STORE_NAME}"
            )
            self._database.has_stored = True
        table = f"{_STORE_NAME}.{self.quote(self.fresh_name('table'))}"
        self._run(f"CREATE TABLE {table} AS {sql}", parameters)
        return table

    def attach(self, path: Path, *, known_as: str) -> str:
        """Attach a DuckDB file read-only; return the name of its database."""
        name = self.fresh_name("file")
        self._display_names[str(path)] = known_as
        self._database.has_attached = True
        try:
            self._connection.execute(
                f"ATTACH {self.literal(str(path))} AS {self.quote(name)} (READ_ONLY)"
            )
        except duckdb.Error as error:
            reason = str(error).replace(str(path), known_as).splitlines()[0]
            hint = (
                "Close what writes to it, or pass connection.table(name) of the connection that "
                "has it open"
            )
            raise BadInput(f"{known_as} cannot be opened: {outside(reason)}", hint=hint) from error
        return name

    def locked_settings(self) -> dict[str, Any]:
        """Return settings for a connection that runs a user's own statement.

        It has the limits of this engine and sees no other file.
        """
        off = dict.fromkeys(
            ("autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"),
            False,
        )
        memory = self._shares.duckdb
        threads = self._settings["threads"] or self._shares.threads
        limits = {"memory_limit": None if memory is None else f"{memory} bytes", "threads": threads}
        explicit_limits = {name: limit for name, limit in limits.items() if limit is not None}
        connection_settings = {
            "python_enable_replacements": False,
            "temp_directory": str(self.directory),
            "lock_configuration": True,
        }
        return {**off, **connection_settings, **explicit_limits}

    def discard(self, table: str) -> None:
        """Drop a table that was kept."""
        self._run(f"DROP TABLE IF EXISTS {table}")

    def fresh(self) -> DuckDBEngine:
        """Return another engine with the same limits and without the contents of this one."""
        return DuckDBEngine(**self._settings)

    @classmethod
    def ordered_engine_next_to(cls, other: Engine) -> DuckDBEngine:
        """Return an engine that keeps rows in their order.

        It has the limits of the other engine if that is a DuckDB engine too.
        """
        limits = other._settings if isinstance(other, DuckDBEngine) else {}  # noqa: SLF001 - of this class
        return cls(**limits, preserve_order=True)

    def reader(self, _size: int) -> DuckDBEngine:
        """Return the engine that measures files of a size in bytes."""
        return self

    def files_for(self, _rows: int) -> int:
        """Return the number of files that a table is written to."""
        return 1

    def write(
        self, sql: str, path: Path, *, kind: str, delimiter: str = ",", files: int = 1
    ) -> None:
        """Write the rows of a query, in its order, to a file of one of `formats`."""
        del files
        if kind == "arrow":
            # A result that is left open would block the connection for the next statement.
            with (
                self.stream(self._enums_as_texts(sql)) as batches,
                pa.ipc.new_file(str(path), batches.schema.remove_metadata()) as sink,
            ):
                for batch in batches:
                    sink.write_batch(batch)
            return
        if (
            kind == "parquet"
            and sql in self._arrow_rows
            and (rows := self._arrow_rows[sql]()).written_alike
        ):
            rows.write_parquet(path)
            return
        text = f"FORMAT csv, HEADER true, DELIMITER {self.literal(delimiter)}"
        if kind == "csv":
            options = text
        else:
            options = "FORMAT parquet, COMPRESSION zstd"
        self._run(f"COPY ({sql}) TO {self.literal(str(path))} ({options})")

    def read_typed(self, paths: Sequence[Path], types: Mapping[str, str], *, delimiter: str) -> str:
        """Return a FROM clause for CSV files that `write` wrote, with known columns and types."""
        file_list = self.files(paths, known_as={path: path.name for path in paths})
        columns = f"auto_detect = false, columns = {self.struct(types)}, null_padding = false"
        quotes = f"header = true, delim = {self.literal(delimiter)}, quote = '\"', escape = '\"'"
        return (
            f"read_csv({file_list}, {columns}, {quotes}, nullstr = '', allow_quoted_nulls = false)"
        )

    def durable(self, cell: str, type_: str) -> str:
        """Return SQL that casts a value to a type that every file format preserves."""
        durable_type = _DURABLE_TYPES.get(type_.partition("(")[0])
        if durable_type is None:
            return cell
        return f"CAST({cell} AS {durable_type})"

    def row_hash(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return SQL for a hash of the values of columns, as a whole number.

        `columns` are names and types. Positive and negative zero are one value.
        """
        cells = []
        for name, type_ in columns:
            cell = self.durable(self.quote(name), type_)
            as_it_is = cell != self.quote(name) or is_plain_type(type_)
            cells.append(cell if as_it_is else f"CAST({cell} AS VARCHAR)")
        # Hashed twice: a hash of several columns does not mix the last column, and a sum would hide
        # some swaps.
        return f"CAST(HASH(HASH({', '.join(cells)})) AS HUGEINT)"

    @contextmanager
    def in_secret_order(
        self,
        counts_query: str,
        columns: Sequence[tuple[str, str]],
        names: Sequence[str],
        *,
        secret: int,
        files: int = 1,
    ) -> Iterator[str]:
        """Yield a query for published rows in an order that is drawn from a secret.

        Each row occurs as often as its `copies` in `counts_query`, and its columns are
        renamed. The order depends only on the secret and the rows. Distinct rows that fit into
        memory are shuffled there, whatever the number of their copies. More distinct rows are
        sorted by a hash of all their values, on disk if memory does not hold them.
        """
        del files
        column_list = ", ".join(name for name, _ in columns)
        renamed = {short: self.quote(name) for (short, _), name in zip(columns, names, strict=True)}
        selected = f"SELECT {', '.join(f'{short} AS {name}' for short, name in renamed.items())}"
        total = ", ".join(f"{name} NULLS LAST" for name, _ in columns)
        # One row of nulls, of which no copy is written. Without it DuckDB calls a column "required"
        # that happens to hold no null. Later rows of an incremental release could not be appended
        # then.
        nulls = f"SELECT {', '.join('NULL' for _ in columns)}, 0"
        distinct_table = f"temp.{self.quote(self.fresh_name('distinct'))}"
        dealt = self.fresh_name("dealt")
        try:
            self._run(f"CREATE TEMP TABLE {distinct_table} AS ({counts_query}) UNION ALL {nulls}")
            rows = self._distinct_rows(distinct_table, columns, total)
            if rows is None:
                numbered = (
                    f"SELECT {column_list}, UNNEST(RANGE(copies)) AS copy FROM {distinct_table}"
                )
                yield (
                    f"{selected} FROM ({numbered}) AS numbered ORDER BY HASH({secret}, copy, "
                    f"{column_list}), {total}, copy"
                )
                return
        finally:
            self._run(f"DROP TABLE IF EXISTS {distinct_table}")
        cells = rows.drop_columns(["copies"]).rename_columns(list(names))
        copies = rows.column("copies").to_numpy()
        stream = self.register(
            dealt, pa.RecordBatchReader.from_batches(cells.schema, deal(cells, copies, secret))
        )
        typed = [
            name if _is_text(type_) else f"CAST({name} AS {type_}) AS {name}"
            for name, (_, type_) in zip(renamed.values(), columns, strict=True)
        ]
        query = f"SELECT {', '.join(typed)} FROM {stream}"
        self._arrow_rows[query] = lambda: ArrowRows(cells.schema, deal(cells, copies, secret))
        try:
            with self.in_row_order():
                yield query
        finally:
            self.forget(dealt)
            del self._arrow_rows[query]

    def _distinct_rows(
        self, distinct_table: str, columns: Sequence[tuple[str, str]], total: str
    ) -> pa.Table | None:
        """Return distinct rows in a total order; columns of few texts are dictionary-encoded.

        Returns None if the rows do not fit into memory or Arrow lacks one of their types.
        """
        row_count = int(
            self.query(f"SELECT COUNT(*) AS n FROM {distinct_table}").column("n")[0].as_py()
        )
        plain = all(_is_text(type_) or is_plain_type(type_) for _, type_ in columns)
        if not plain or row_count * len(columns) > self._shares.distinct:
            return None
        types = dict[str, str]()
        batches = list[pa.RecordBatch]()
        size = 0
        try:
            for name in self._columns_of_few_texts(distinct_table, columns):
                types[name] = f"temp.{self.quote(self.fresh_name('texts'))}"
                texts = (
                    f"SELECT DISTINCT CAST({name} AS VARCHAR) AS t "
                    f"FROM {distinct_table} WHERE {name} IS NOT NULL ORDER BY t"
                )
                self._run(f"CREATE TEMP TYPE {types[name]} AS ENUM ({texts})")
            cells = [
                f"CAST(CAST({name} AS VARCHAR) AS {types.get(name, 'VARCHAR')}) AS {name}"
                if _is_text(type_)
                else name
                for name, type_ in columns
            ]
            with self.stream(
                f"SELECT {', '.join(cells)}, copies FROM {distinct_table} WHERE copies > 0 ORDER "
                f"BY {total}"
            ) as reader:
                for batch in reader:
                    batches.append(batch)
                    size += batch.nbytes
                    if size > self._shares.distinct:
                        return None
            return pa.Table.from_batches(batches, reader.schema)
        finally:
            for type_name in types.values():
                self._run(f"DROP TYPE IF EXISTS {type_name}")

    def _columns_of_few_texts(self, relation: str, columns: Sequence[tuple[str, str]]) -> list[str]:
        """Return the text columns with few distinct texts."""
        texts = [name for name, type_ in columns if _is_text(type_)]
        if not texts:
            return []
        counts = ", ".join(f"APPROX_COUNT_DISTINCT({name}) AS {name}" for name in texts)
        distinct_counts = self.query(f"SELECT {counts} FROM {relation}").to_pylist()[0]
        return [name for name in texts if 0 < distinct_counts[name] <= FEW_TEXTS]

    def detach(self, sql: str) -> pa.Table:
        """Return the rows of a query, independent of their source."""
        return self.query(self._enums_as_texts(sql)).replace_schema_metadata(None)

    def _enums_as_texts(self, sql: str) -> str:
        """Convert enum columns of a query to texts, because Arrow would show their codes."""
        coded = [name for name, type_ in self.describe(f"({sql})") if type_.startswith("ENUM(")]
        cells = ", ".join(
            f"CAST({self.quote(name)} AS VARCHAR) AS {self.quote(name)}" for name in coded
        )
        if coded:
            return f"SELECT * REPLACE ({cells}) FROM ({sql}) AS coded"
        return sql

    def collect(self, rows: pa.Table) -> pa.Table:
        """Return detached rows as Arrow."""
        return rows

    def stream(self, sql: str) -> pa.RecordBatchReader:
        """Return the rows of a query as Arrow batches, so that they need not fit into memory."""
        with explained(sql, self._display_names):
            return self._connection.sql(sql).to_arrow_reader()

    @property
    def home(self) -> DuckDBEngine:
        """DuckDB engine that keeps rows."""
        return self

    def hold(
        self,
        sql: str,
        *,
        together: Sequence[str] = (),
        rows: int | None = None,  # noqa: ARG002 - counting is cheap here
        source: str = "",  # noqa: ARG002 - files have names of their own here
    ) -> HeldRows:
        """Keep the rows of a query: in memory, or with a memory limit on disk."""
        return HeldRows(
            self,
            self.query(sql) if self.memory_limit is None else self.keep(sql),
            together=together,
        )

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldRows:
        """Keep rows that are already in memory."""
        return HeldRows(self, table, together=together)

    def fold(
        self,
        held_rows: StoredRows,
        summarize: Summarize[Result],
        merge: Merge[Result],  # noqa: ARG002 - one stream has one summary
    ) -> Result:
        """Summarize all rows, which come in their order, batch by batch."""
        if not isinstance(held_rows, HeldRows) or held_rows.engine is not self:
            raise InternalError("these rows are held by another engine")
        sql = held_rows.in_order
        rows = held_rows.rows
        # The stream is always closed first: DuckDB takes no other statement while one is open.
        with self.in_row_order(), self.stream(sql) as batches:
            summary = summarize(_report_batches(batches, rows, self._progress))
        if summary is None:
            raise InternalError(f"a statement without rows was to be summarized: {outside(sql)}")
        return summary

    def hold_each(
        self,
        sql: str,
        parameters: Sequence[object] = (),
        *,
        by: str,
        make: Callable[[pa.Table], pa.Table],
        adding: Mapping[str, str],  # noqa: ARG002 - rows bring their types along
        source: str = "",  # noqa: ARG002 - as in `hold`
    ) -> HeldRows:
        """Apply a function to the rows of each value of a column, and keep the results on disk."""
        # Sorted on disk, as in HeldRows.in_order.
        table_name = ""
        unsorted = self.keep(sql, parameters)
        try:
            dealt = self.keep(f"SELECT * FROM {unsorted} ORDER BY {by}")
        finally:
            self.discard(unsorted)
        try:
            for value in (
                self.query(f"SELECT DISTINCT {by} AS v FROM {dealt} ORDER BY v")
                .column("v")
                .to_pylist()
            ):
                name = self.fresh_name("made")
                rows = self.register(
                    name, make(self.query(f"SELECT * FROM {dealt} WHERE {by} = ?", [value]))
                )
                if table_name:
                    self._run(f"INSERT INTO {table_name} SELECT * FROM {rows}")
                else:
                    table_name = self.keep(f"SELECT * FROM {rows}")
                self.forget(name)
        finally:
            self.discard(dealt)
        return HeldRows(self, table_name)

    def in_order(self, sql: str, columns: Sequence[str], *, files: int = 1) -> str:
        """Return a query for the rows of a query, sorted by columns, nulls last."""
        del files
        return f"SELECT * FROM ({sql}) AS unsorted{in_order(columns)}"

    def sees(self, held_rows: StoredRows) -> bool:
        """Report whether rows are held here."""
        return held_rows.engine is self

    def line_up(self, relation: str, columns: Sequence[str]) -> HeldRows:
        """Return columns that can be read one after the other.

        They are read from their source if that keeps their order, else from a copy on disk.
        """
        if relation.startswith(("read_parquet(", f"{_STORE_NAME}.")):
            return HeldRows(self, relation, lent=True)
        return HeldRows(
            self, self.keep(f"SELECT {', '.join(map(self.quote, columns))} FROM {relation}")
        )

    def _memory_limit_bytes(self) -> int:
        number, unit = str(
            self.query("SELECT current_setting('memory_limit') AS m").column("m")[0].as_py()
        ).split()
        return int(float(number) * _UNITS[unit])

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        with self._track_statement(sql):
            self._connection.execute(sql, list(parameters) or None)

    @contextmanager
    def _track_statement(self, sql: str) -> Iterator[None]:
        """Report the progress of a statement, and explain its failure."""
        done = threading.Event()
        watcher = threading.Thread(
            target=_poll_progress, args=(self._connection, self._progress, done), daemon=True
        )
        began = time.perf_counter()
        if self._progress is not None:
            watcher.start()
        try:
            with explained(sql, self._display_names):
                yield
            # Other statements, such as ATTACH, may hold secrets and are not logged.
            if (
                sql.lstrip()
                .upper()
                .startswith(("SELECT", "WITH", "COPY", "CREATE TABLE", "CREATE TEMP"))
            ):
                LOG.debug("%.3f s: %s", time.perf_counter() - began, sql)
        except (DivulgeError, RuntimeError) as error:
            # DuckDB catches Ctrl-C while it runs a statement, and raises an error of its own.
            if (
                isinstance(error.__cause__, duckdb.InterruptException)
                or str(error) == "Query interrupted"
            ):
                raise KeyboardInterrupt from error
            raise
        finally:
            done.set()
            if watcher.is_alive():
                watcher.join()


def _is_text(type_: str) -> bool:
    return type_ == "VARCHAR" or type_.startswith("ENUM(")


def _report_batches(
    batches: Iterable[pa.RecordBatch], rows: int, progress: Progress | None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches, and report the percentage of rows on the way."""
    done = 0
    try:
        for batch in batches:
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(min(100 * done // rows, 99), 100)
    finally:
        if progress is not None:
            progress(100, 100)


def _poll_progress(
    connection: duckdb.DuckDBPyConnection, progress: Progress, done: threading.Event
) -> None:
    """Report the progress of a statement until it is done.

    Nothing is reported for a statement that ends before the first report is due.
    """
    reported = False
    while not done.wait(_PROGRESS_INTERVAL):
        progress(max(int(connection.query_progress()), 0), 100)
        reported = True
    if reported:
        progress(100, 100)


def _hide_bar(connection: duckdb.DuckDBPyConnection, *, follow: bool) -> None:
    """Hide DuckDB's progress bar; DuckDB tracks a statement only if the bar is enabled."""
    try:
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute(f"SET enable_progress_bar = {str(follow).lower()}")
    except duckdb.InvalidInputException as error:
        # In a notebook without ipywidgets the bar is off, and even switching it off fails.
        # Statements have no progress there.
        if "ipywidgets" not in str(error):
            raise
