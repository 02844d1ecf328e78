# SPDX-License-Identifier: Apache-2.0
"""DuckDB inside this process: the default engine.

Each engine owns one private connection and one private directory, where DuckDB spills what does not fit into memory and where data
that can be read only once is kept. Nothing phones home: extensions are neither fetched nor loaded by themselves, and SQL cannot see
the caller's Python variables.
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

from divulge import private_folder, values
from divulge.engines.duckdb_failures import explained
from divulge.engines.engine import DuckDBDialect, Engine, Held, Make, Merge, Result, Summarize, is_plain_type
from divulge.engines.held_rows import HeldRows, in_order
from divulge.engines.parquet_batches import LEAST_BY_ARROW, ParquetBatches
from divulge.engines.within_memory import BATCH, FEW_TEXTS, ArrowRows, MemoryShares, deal
from divulge.errors import BadInput, DivulgeError, InternalError

LOG = logging.getLogger("divulge.engines")
Progress = Callable[[int, int], None]
"""Called with (done, total)."""
_WILDCARD = re.compile(r"[*?\[]")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SECONDS_BETWEEN_LOOKS = 0.25
_STORED = "stored"
_DURABLE = {
    **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(38, 0)"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP"),
    **dict.fromkeys(("ENUM", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "UNION"), "VARCHAR"),
}
"""Types that some kind of file does not have, which would round or shift their values, and those in which all files hold them."""


class _Database:
    """A DuckDB and its private directory, for one engine at a time.

    To open one costs 25 ms, more than most questions about a small table. So one that an engine without limits of its own has left
    clean waits for the next such engine: what an engine registers is seen by its own connection only, and goes with it. Two may wait,
    for a question may be about two tables, and an engine goes late where only the garbage collector finds that nobody has it.
    """

    waiting: ClassVar[dict[bool, list[_Database]]] = {False: [], True: []}
    """At most two for either order of rows."""

    def __init__(self, parent: str | Path | None, *, preserve_order: bool, **limits: Any) -> None:
        self.scratch, self.owner = private_folder.Scratch(parent), os.getpid()
        self.has_stored = self.has_attached = False
        self._preserve_order, self._shared = preserve_order, parent is None and not limits
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
            hint = f"Check {' and '.join(limits)}" * bool(limits)
            raise BadInput(f"DuckDB cannot start: {error}", hint=hint) from error
        self._close = weakref.finalize(self, _close, self.connection, self.scratch, self.owner)

    @classmethod
    def opened(cls, parent: str | Path | None, *, preserve_order: bool, **limits: Any) -> _Database:
        """The one that waits, or a new one; a forked process takes none of its parent's, whose threads it does not have."""
        waiting = [] if parent is not None or limits else cls.waiting.get(preserve_order, [])
        with suppress(IndexError):  # none is left; another thread may take the last one first
            while True:
                if (found := waiting.pop()).owner == os.getpid() and found.scratch.is_at_home():
                    return found
        return cls(parent, preserve_order=preserve_order, **limits)

    def leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        """The engine has gone, and with it all that it registered; a forked copy leaves everything to the owner."""
        if os.getpid() != self.owner:
            return
        connection.close()
        used = self.has_stored or self.has_attached or not self.scratch.is_clean()
        waiting = self.waiting.get(self._preserve_order)  # None where the interpreter ends
        if waiting is not None and self._shared and not used and len(waiting) < 2:
            waiting.append(self)
        else:
            self._close()


# A class goes only with the last sweep of the garbage collector, or not at all, and DuckDB complains about what outlives that.
atexit.register(_Database.waiting.clear)


def _close(connection: duckdb.DuckDBPyConnection, scratch: private_folder.Scratch, owner: int) -> None:
    """Clean up, unless this is a forked copy of the process that owns the connection."""
    if os.getpid() == owner:
        connection.close()
        scratch.remove()


class DuckDBEngine(DuckDBDialect):
    """One private, in-process DuckDB."""

    @values.checked
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

        `memory_limit` ("4GB") is what the whole process is to keep to: Python and the libraries themselves have a fixed part of it, half
        of the rest is DuckDB's, before it spills to disk, and half is for what is held in arrays. `temp_directory` is where the private
        directory is made (default: the system's). `threads` are as many as DuckDB's part has room for, unless given. `preserve_order`
        keeps the order of input rows through a scan, which joins by position need and which costs memory on large files. `progress` hears,
        a few times a second and from another thread, how many percent of a statement are done, and (100, 100) at its end.
        """
        limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
        self._settings = limits | {"temp_directory": temp_directory, "progress": progress}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        self._database = _Database.opened(temp_directory, preserve_order=preserve_order, **given)
        self.directory = self._database.scratch.directory
        self._connection = self._database.connection.cursor()
        _hide_bar(self._connection, follow=progress is not None)
        self._progress, self._preserve_order = progress, preserve_order
        self._numbers = itertools.count(1)
        self._known_as: dict[str, str] = {}
        self._parquet: dict[str, tuple[Path, ...]] = {}
        self._lent: dict[str, str] = {}
        self._arrow: dict[str, Callable[[], ArrowRows]] = {}
        """Queries whose rows are Arrow's already."""
        self.close = weakref.finalize(self, self._database.leave, self._connection)
        self.memory_limit = None if memory_limit is None else self._bytes_allowed()
        """Of the whole process, in bytes, where one was given."""
        try:
            self._shares = (
                MemoryShares.of(self.memory_limit, str(memory_limit)) if self.memory_limit else MemoryShares()
            )
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
        with self._watched(sql):
            return self._connection.sql(sql, params=list(parameters) or None).to_arrow_table()

    @contextmanager
    def in_row_order(self) -> Iterator[None]:
        """Meanwhile a scan keeps the order of its rows, so that columns read one after the other fit together."""
        self._run("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            self._run(f"SET preserve_insertion_order = {str(self._preserve_order).lower()}")

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of `relation`, without reading rows."""
        sql = f"SELECT * FROM {relation}"
        with explained(sql, self._known_as):
            bound = self._connection.sql(sql)
            return tuple(zip(bound.columns, map(str, bound.types), strict=True))

    def files(self, paths: Sequence[Path], *, known_as: Mapping[Path, str]) -> str:
        """A list of files for read_csv and its like, and the names to use for them in messages.

        DuckDB takes a path for a glob, so each wildcard in a name is put into brackets, where it stands for itself.
        """
        self._known_as.update({str(path): shown for path, shown in known_as.items()})
        return "[" + ", ".join(self.literal(_WILDCARD.sub(r"[\g<0>]", str(path))) for path in paths) + "]"

    def parquet(self, paths: Sequence[Path], *, known_as: Mapping[Path, str], hive: Mapping[str, str]) -> str:
        """Parquet files as what stands after FROM; `hive` are the types of columns that their folders add."""
        options = f"hive_partitioning = true, hive_types = {self.struct(hive)}" if hive else "hive_partitioning = false"
        relation = f"read_parquet({self.files(paths, known_as=known_as)}, {options})"
        self._parquet[relation] = () if hive else tuple(paths)
        return relation

    def each_batch(
        self, relation: str, types: Mapping[str, pa.DataType], make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """What a function makes of each batch of a Parquet file, on all cores; None where a memory limit bounds what it may make."""
        paths = self._parquet.get(relation, ())
        try:
            small = sum(map(os.path.getsize, paths)) < LEAST_BY_ARROW
        except OSError:  # DuckDB says what is wrong with a file
            return None
        if small or self.memory_limit is not None:
            return None
        files = ParquetBatches.of(paths, types)
        return None if files is None else files.each(make, threads=self._settings["threads"], progress=self._progress)

    def struct(self, fields: Mapping[str, str]) -> str:
        """A constant struct of texts, the form in which options such as columns = {...} are given."""
        return "{" + ", ".join(f"{self.literal(key)}: {self.literal(value)}" for key, value in fields.items()) + "}"

    def register(self, name: str, source: object) -> str:
        """Make an Arrow table, dataset or Polars frame readable under `name`; what stands after FROM comes back."""
        with explained(f"register {name}"):
            self._connection.register(name, source)
        return self.quote(name)

    def lend(self, table: pa.Table) -> str:
        """Make an Arrow table readable; what stands after FROM comes back."""
        return self.register(self.fresh_name("lent"), table)

    def query_for(self, table: pa.Table) -> str:
        """A query for the rows of an Arrow table, in types that every kind of file has."""
        name = self.fresh_name("lent")
        relation = self.register(name, table)
        described = self.describe(relation)
        cells = {self.quote(column): self.durable(self.quote(column), type_) for column, type_ in described}
        query = f"SELECT {', '.join(f'{cell} AS {column}' for column, cell in cells.items())} FROM {relation}"
        if all(cell == column for column, cell in cells.items()):
            self._arrow[query] = lambda: ArrowRows(table.schema, table.to_batches(max_chunksize=BATCH))
        self._lent[query] = name
        return query

    def let_go(self, query: str) -> None:
        """Free what `query_for` made a query of."""
        self._arrow.pop(query, None)
        self.forget(self._lent.pop(query))

    def forget(self, name: str) -> None:
        """Take back what was registered."""
        self._connection.unregister(name)

    def fresh_name(self, prefix: str) -> str:
        """A name that nothing in this engine has yet."""
        return f"{prefix}_{next(self._numbers)}"

    def store(self, batches: pa.RecordBatchReader, *, select: str = "*") -> str:
        """Keep a stream that can be read only once; `select` may recast columns on the way."""
        stream = self.fresh_name("stream")
        source = self.register(stream, batches)
        try:
            return self.keep(f"SELECT {select} FROM {source}")
        finally:
            self.forget(stream)

    def keep(self, sql: str, parameters: Sequence[object] = ()) -> str:
        """Keep the rows of a query in the private directory; memory does not grow with them: the table lives in a file on disk."""
        if not self._database.has_stored:
            self._run(f"ATTACH {self.literal(str(self.directory / 'stored.duckdb'))} AS {_STORED}")
            self._database.has_stored = True
        table = f"{_STORED}.{self.quote(self.fresh_name('table'))}"
        self._run(f"CREATE TABLE {table} AS {sql}", parameters)
        return table

    def attach(self, path: Path, *, known_as: str) -> str:
        """Make a DuckDB file readable, and only that; the name of its database comes back."""
        name = self.fresh_name("file")
        self._known_as[str(path)] = known_as
        self._database.has_attached = True
        try:
            self._connection.execute(f"ATTACH {self.literal(str(path))} AS {self.quote(name)} (READ_ONLY)")
        except duckdb.Error as error:
            told = str(error).replace(str(path), known_as).splitlines()[0]
            hint = "Close what writes to it, or pass connection.table(name) of the connection that has it open"
            raise BadInput(f"{known_as} cannot be opened: {told}", hint=hint) from error
        return name

    def locked_settings(self) -> dict[str, Any]:
        """For another connection, with the limits of this one, that a statement of the user's own runs in: it sees no other file."""
        off = dict.fromkeys(
            ("autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"), False
        )
        memory, threads = self._shares.duckdb, self._settings["threads"] or self._shares.threads
        limits = {"memory_limit": None if memory is None else f"{memory} bytes", "threads": threads}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        own = {"python_enable_replacements": False, "temp_directory": str(self.directory), "lock_configuration": True}
        return {**off, **own, **given}

    def discard(self, table: str) -> None:
        """Remove a table that was kept."""
        self._run(f"DROP TABLE IF EXISTS {table}")

    def fresh(self) -> DuckDBEngine:
        """Another engine with the same limits, which has not seen what this one has."""
        return DuckDBEngine(**self._settings)

    @classmethod
    def in_order_beside(cls, other: Engine) -> DuckDBEngine:
        """One that leaves rows in their order, with the limits of another engine where that is a DuckDB too."""
        limits = other._settings if isinstance(other, DuckDBEngine) else {}  # noqa: SLF001 - of this class
        return cls(**limits, preserve_order=True)

    def reader(self, _size: int) -> DuckDBEngine:
        """The engine that measures files of so many bytes, which another one wrote."""
        return self

    def files_for(self, _rows: int) -> int:
        """How many files a table of so many rows is written to."""
        return 1

    def write(self, sql: str, path: Path, *, kind: str, delimiter: str = ",", files: int = 1) -> None:
        """Write the rows of a query, in its order, to a file of one of `formats`."""
        del files
        if kind == "arrow":
            # A result that is left open would keep the connection from what comes next.
            with (
                self.stream(self._as_texts(sql)) as batches,
                pa.ipc.new_file(str(path), batches.schema.remove_metadata()) as sink,
            ):
                for batch in batches:
                    sink.write_batch(batch)
            return
        if kind == "parquet" and sql in self._arrow and (rows := self._arrow[sql]()).written_alike:
            rows.write_parquet(path)
            return
        text = f"FORMAT csv, HEADER true, DELIMITER {self.literal(delimiter)}"
        options = text if kind == "csv" else "FORMAT parquet, COMPRESSION zstd"
        self._run(f"COPY ({sql}) TO {self.literal(str(path))} ({options})")

    def read_typed(self, paths: Sequence[Path], types: Mapping[str, str], *, delimiter: str) -> str:
        """CSV files that `write` wrote, whose columns and types are known; what stands after FROM comes back."""
        listed = self.files(paths, known_as={path: path.name for path in paths})
        columns = f"auto_detect = false, columns = {self.struct(types)}, null_padding = false"
        quotes = f"header = true, delim = {self.literal(delimiter)}, quote = '\"', escape = '\"'"
        return f"read_csv({listed}, {columns}, {quotes}, nullstr = '', allow_quoted_nulls = false)"

    def durable(self, cell: str, type_: str) -> str:
        """SQL for a value in a type that every kind of file holds as it is."""
        kept = _DURABLE.get(type_.partition("(")[0])
        return cell if kept is None else f"CAST({cell} AS {kept})"

    def row_hash(self, columns: Sequence[tuple[str, str]]) -> str:
        """SQL for a whole number that stands for the values of columns, given by name and type; the two zeros are one value."""
        cells = []
        for name, type_ in columns:
            cell = self.durable(self.quote(name), type_)
            as_it_is = cell != self.quote(name) or is_plain_type(type_)
            cells.append(cell if as_it_is else f"CAST({cell} AS VARCHAR)")
        # Hashed twice: the last column goes into a hash of several without being mixed, and a sum would hide some swaps.
        return f"CAST(HASH(HASH({', '.join(cells)})) AS HUGEINT)"

    @contextmanager
    def in_secret_order(
        self, counted: str, columns: Sequence[tuple[str, str]], names: Sequence[str], *, secret: int, files: int = 1
    ) -> Iterator[str]:
        """A query, meanwhile, for each row as often as `copies` of a query says, its columns renamed, in an order drawn from a secret.

        The order follows from the secret and the rows alone. Distinct rows that fit into memory are dealt from there, whatever the number
        of their copies; more of them are sorted by a hash of all their values, on disk where memory does not hold them.
        """
        del files
        listed = ", ".join(name for name, _ in columns)
        renamed = {short: self.quote(name) for (short, _), name in zip(columns, names, strict=True)}
        selected = f"SELECT {', '.join(f'{short} AS {name}' for short, name in renamed.items())}"
        total = ", ".join(f"{name} NULLS LAST" for name, _ in columns)
        # One row of nulls, no copy of which is written: else DuckDB calls a column "required" if it happens to hold no null, and later rows
        # of a release could not be put below its own.
        nulls = f"SELECT {', '.join('NULL' for _ in columns)}, 0"
        kept, dealt = f"temp.{self.quote(self.fresh_name('distinct'))}", self.fresh_name("dealt")
        try:
            self._run(f"CREATE TEMP TABLE {kept} AS ({counted}) UNION ALL {nulls}")
            rows = self._distinct_rows(kept, columns, total)
            if rows is None:
                numbered = f"SELECT {listed}, UNNEST(RANGE(copies)) AS copy FROM {kept}"
                yield f"{selected} FROM ({numbered}) AS numbered ORDER BY HASH({secret}, copy, {listed}), {total}, copy"
                return
        finally:
            self._run(f"DROP TABLE IF EXISTS {kept}")
        cells, copies = rows.drop_columns(["copies"]).rename_columns(list(names)), rows.column("copies").to_numpy()
        stream = self.register(dealt, pa.RecordBatchReader.from_batches(cells.schema, deal(cells, copies, secret)))
        typed = [
            name if _is_text(type_) else f"CAST({name} AS {type_}) AS {name}"
            for name, (_, type_) in zip(renamed.values(), columns, strict=True)
        ]
        query = f"SELECT {', '.join(typed)} FROM {stream}"
        self._arrow[query] = lambda: ArrowRows(cells.schema, deal(cells, copies, secret))
        try:
            with self.in_row_order():
                yield query
        finally:
            self.forget(dealt)
            del self._arrow[query]

    def _distinct_rows(self, kept: str, columns: Sequence[tuple[str, str]], total: str) -> pa.Table | None:
        """Distinct rows in a total order, few texts as numbers; None where they do not fit into memory or Arrow has not all their types."""
        counted = int(self.query(f"SELECT COUNT(*) AS n FROM {kept}").column("n")[0].as_py())
        plain = all(_is_text(type_) or is_plain_type(type_) for _, type_ in columns)
        if not plain or counted * len(columns) > self._shares.distinct:
            return None
        types, batches, size = dict[str, str](), list[pa.RecordBatch](), 0
        try:
            for name in self._few_texts(kept, columns):
                types[name] = f"temp.{self.quote(self.fresh_name('texts'))}"
                texts = f"SELECT DISTINCT CAST({name} AS VARCHAR) AS t FROM {kept} WHERE {name} IS NOT NULL ORDER BY t"
                self._run(f"CREATE TEMP TYPE {types[name]} AS ENUM ({texts})")
            cells = [
                f"CAST(CAST({name} AS VARCHAR) AS {types.get(name, 'VARCHAR')}) AS {name}" if _is_text(type_) else name
                for name, type_ in columns
            ]
            with self.stream(
                f"SELECT {', '.join(cells)}, copies FROM {kept} WHERE copies > 0 ORDER BY {total}"
            ) as found:
                for batch in found:
                    batches.append(batch)
                    size += batch.nbytes
                    if size > self._shares.distinct:
                        return None
            return pa.Table.from_batches(batches, found.schema)
        finally:
            for made in types.values():
                self._run(f"DROP TYPE IF EXISTS {made}")

    def _few_texts(self, relation: str, columns: Sequence[tuple[str, str]]) -> list[str]:
        """The columns of texts that have few of them."""
        texts = [name for name, type_ in columns if _is_text(type_)]
        if not texts:
            return []
        counts = ", ".join(f"APPROX_COUNT_DISTINCT({name}) AS {name}" for name in texts)
        found = self.query(f"SELECT {counts} FROM {relation}").to_pylist()[0]
        return [name for name in texts if 0 < found[name] <= FEW_TEXTS]

    def detach(self, sql: str) -> pa.Table:
        """The rows of a query, cut off from where they came."""
        return self.query(self._as_texts(sql)).replace_schema_metadata(None)

    def _as_texts(self, sql: str) -> str:
        """The same rows with texts where DuckDB has numbers for them, which a reader of Arrow would see."""
        coded = [name for name, type_ in self.describe(f"({sql})") if type_.startswith("ENUM(")]
        cells = ", ".join(f"CAST({self.quote(name)} AS VARCHAR) AS {self.quote(name)}" for name in coded)
        return f"SELECT * REPLACE ({cells}) FROM ({sql}) AS coded" if coded else sql

    def collect(self, rows: pa.Table) -> pa.Table:
        """What was detached, as Arrow."""
        return rows

    def stream(self, sql: str) -> pa.RecordBatchReader:
        """The rows of a query as Arrow batches, so that they need not fit into memory."""
        with explained(sql, self._known_as):
            return self._connection.sql(sql).to_arrow_reader()

    @property
    def home(self) -> DuckDBEngine:
        """Where rows are held."""
        return self

    def hold(self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = "") -> HeldRows:  # noqa: ARG002 - files have names of their own here, and counting is cheap
        """Keep the rows of a query: in memory, or with a memory limit on disk."""
        return HeldRows(self, self.query(sql) if self.memory_limit is None else self.keep(sql), together=together)

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldRows:
        """Rows that are here already."""
        return HeldRows(self, table, together=together)

    def fold(self, held: Held, summarize: Summarize[Result], merge: Merge[Result]) -> Result:  # noqa: ARG002 - one stream has one summary
        """What a function makes of all rows, which come in their order, batch by batch."""
        if not isinstance(held, HeldRows) or held.engine is not self:
            raise InternalError("these rows are held by another engine")
        sql, rows = held.in_order, held.rows
        # The stream is closed first, whatever happens: DuckDB takes no other statement while one is open.
        with self.in_row_order(), self.stream(sql) as batches:
            found = summarize(_followed(batches, rows, self._progress))
        if found is None:
            raise InternalError(f"a statement without rows was to be summarized: {sql}")
        return found

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
        """Keep, on disk, what a function makes of the rows with each value of a column, one value after the other."""
        made, unsorted = "", self.keep(sql, parameters)  # sorted when they lie there, as HeldRows are
        try:
            dealt = self.keep(f"SELECT * FROM {unsorted} ORDER BY {by}")
        finally:
            self.discard(unsorted)
        try:
            for value in self.query(f"SELECT DISTINCT {by} AS v FROM {dealt} ORDER BY v").column("v").to_pylist():
                name = self.fresh_name("made")
                rows = self.register(name, make(self.query(f"SELECT * FROM {dealt} WHERE {by} = ?", [value])))
                if made:
                    self._run(f"INSERT INTO {made} SELECT * FROM {rows}")
                else:
                    made = self.keep(f"SELECT * FROM {rows}")
                self.forget(name)
        finally:
            self.discard(dealt)
        return HeldRows(self, made)

    def in_order(self, sql: str, columns: Sequence[str], *, files: int = 1) -> str:
        """The rows of a query, sorted by columns, nulls last."""
        del files
        return f"SELECT * FROM ({sql}) AS unsorted{in_order(columns)}"

    def sees(self, held: Held) -> bool:
        """Whether rows are held here."""
        return held.engine is self

    def line_up(self, relation: str, columns: Sequence[str]) -> HeldRows:
        """Columns to be read one after the other: from where they are if that keeps their order, else from a copy on disk."""
        if relation.startswith(("read_parquet(", f"{_STORED}.")):
            return HeldRows(self, relation, lent=True)
        return HeldRows(self, self.keep(f"SELECT {', '.join(map(self.quote, columns))} FROM {relation}"))

    def _bytes_allowed(self) -> int:
        number, unit = str(self.query("SELECT current_setting('memory_limit') AS m").column("m")[0].as_py()).split()
        return int(float(number) * _UNITS[unit])

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        with self._watched(sql):
            self._connection.execute(sql, list(parameters) or None)

    @contextmanager
    def _watched(self, sql: str) -> Iterator[None]:
        """Report how far the statement is, and explain why it fails."""
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(self._connection, self._progress, done), daemon=True)
        began = time.perf_counter()
        if self._progress is not None:
            watcher.start()
        try:
            with explained(sql, self._known_as):
                yield
            if sql.lstrip().upper().startswith(("SELECT", "WITH", "COPY", "CREATE TABLE", "CREATE TEMP")):  # no secrets
                LOG.debug("%.3f s: %s", time.perf_counter() - began, sql)
        except (DivulgeError, RuntimeError) as error:
            # DuckDB catches Ctrl-C while it runs a statement, and raises an error of its own.
            if isinstance(error.__cause__, duckdb.InterruptException) or str(error) == "Query interrupted":
                raise KeyboardInterrupt from error
            raise
        finally:
            done.set()
            if watcher.is_alive():
                watcher.join()


def _is_text(type_: str) -> bool:
    return type_ == "VARCHAR" or type_.startswith("ENUM(")


def _followed(batches: Iterable[pa.RecordBatch], rows: int, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """The same batches; how many of the rows have come is told on the way."""
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


def _watch(connection: duckdb.DuckDBPyConnection, progress: Progress, done: threading.Event) -> None:
    """Tell how far a statement is until it is done; one that is done before the first look is not told about."""
    reported = False
    while not done.wait(_SECONDS_BETWEEN_LOOKS):
        progress(max(int(connection.query_progress()), 0), 100)
        reported = True
    if reported:
        progress(100, 100)


def _hide_bar(connection: duckdb.DuckDBPyConnection, *, follow: bool) -> None:
    """DuckDB follows a statement only where its own bar is on; that bar itself stays unseen."""
    try:
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute(f"SET enable_progress_bar = {str(follow).lower()}")
    except duckdb.InvalidInputException as error:
        # In a notebook without ipywidgets the bar is off and cannot even be told to stay so; statements are not followed there.
        if "ipywidgets" not in str(error):
            raise
