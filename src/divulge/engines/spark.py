# SPDX-License-Identifier: Apache-2.0
"""Spark, for tables that outgrow one machine: classic or through Spark Connect.

Spark reads "name" as a text constant and answers wrongly without a word, so names stand in backticks. What divulge puts into a
session (temporary views, cached counts) is taken out again when the engine goes.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from divulge import values
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.engine import Held, Merge, ReadsBySQL, Result, Summarize, is_plain_type
from divulge.engines.spark_session import (
    MergeParts,
    SummarizePart,
    find_session,
    is_remote,
    private_directory,
    quiet,
    require_pyspark,
    send_code,
    when_gone,
)
from divulge.engines.spark_types import explain_spark, for_spark, type_name
from divulge.engines.within_memory import DEALT, DealPart
from divulge.errors import BadInput, DivulgeError, InternalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LOG = logging.getLogger("divulge.engines")
# --- files ------------------------------------------------------------------------------------------------------------
# Spark's workers write a folder of part files (table.parquet/part-00000.parquet, ...) on storage that they share with this process.
# Whether they see it is asked before the first row is written, and whether all parts arrived afterwards; what Spark adds to the rows
# is taken away.
ROWS_PER_PART = 500_000
LARGEST_READ_HERE = 256 << 20
"""Up to so many bytes a table is measured by DuckDB, which did not write it; a larger one by Spark, on all workers."""
_SHARED = "Name a folder on storage that this process and every worker share under the same path. Nothing was published"
_MOMENTS = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""As every reader of Parquet knows them, not in Spark's 96 bits."""
_CSV = {
    "header": True,
    "quote": '"',
    "escape": '"',
    "nullValue": "",
    "emptyValue": '""',
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
    "lineSep": "\n",
}
_MOMENT = "yyyy-MM-dd HH:mm:ss.SSSSSSxxx"
_BYTE = r"\\x$1"
_SPECIAL = re.compile(r"[*?\[\]{}\\]")

# A quote that is never closed would make the rest of the file one value, without a word.
_LONGEST_VALUE = 1 << 20
_EMPTY = "\ue000empty\ue000"


def read_texts(
    engine: SparkEngine,
    paths: Sequence[str],
    names: Sequence[str],
    delimiter: str,
    *,
    header: bool,
    whole_files: bool = True,
    empty: str = "",
) -> DataFrame:
    """The cells of CSV files as texts; an empty cell is null, and `empty` stands for one in quotes, which is null too if not given."""
    from pyspark.sql.types import StringType, StructField, StructType

    # Without all columns a line with too few or too many fields would pass.
    return engine.session.read.option("columnPruning", "false").csv(
        list(paths),
        schema=StructType([StructField(name, StringType()) for name in names]),
        sep=delimiter,
        quote='"',
        escape='"',
        header=header,
        mode="FAILFAST",
        nullValue="",
        emptyValue=empty,
        multiLine=whole_files,
        maxCharsPerColumn=_LONGEST_VALUE,
    )


def uri(path: Path) -> str:
    """A local file as Spark wants it: it takes a path for a glob, and for one of its default file system."""
    return "file:" + _SPECIAL.sub(r"\\\g<0>", str(path.absolute()))


def cluster_path(path: Path) -> str:
    """A local path as Spark wants it for writing, whatever its default file system is; for reading, see `uri`."""
    return f"file:{path}"


def without_notes(frame: DataFrame) -> DataFrame:
    """The frame without comments and other notes on its columns, which Spark would write into the files."""
    for field in frame.schema.fields:
        if field.metadata:
            frame = frame.withMetadata(field.name, {})
    return frame


def _check_shared(engine: SparkEngine, folder: Path) -> None:
    """Refuse a folder that a worker does not see, before a row could be left on its own disk."""
    mark = folder / "mark"
    mark.write_text("shared\n", encoding="utf-8")
    try:
        with engine.explained("look for the folder"):
            engine.session.read.text(uri(mark)).collect()
    except BadInput as error:
        raise BadInput(f"Spark's workers cannot read {folder.parent.parent}: {error.message}", hint=_SHARED) from error
    finally:
        mark.unlink()


def _text(engine: SparkEngine, name: str, type_: str) -> str:
    """A column as it stands in a CSV file: as DuckDB writes it, with all digits of a moment and with its zone."""
    cell = engine.quote(name)
    if type_ == "timestamp":
        return f"date_format({cell}, {engine.literal(_MOMENT)}) AS {cell}"
    if type_ == "binary":
        return f"regexp_replace(hex({cell}), '(..)', {engine.literal(_BYTE)}) AS {cell}"
    return f"CAST({cell} AS STRING) AS {cell}"


@contextmanager
def _moments_for_all(session: SparkSession) -> Iterator[None]:
    """Change a setting of the session for as long as it takes to write."""
    name, value = _MOMENTS
    before = session.conf.getAll.get(name)
    try:
        session.conf.set(name, value)
        yield
    finally:
        session.conf.unset(name) if before is None else session.conf.set(name, before)


def _tidy(folder: Path, parts: int) -> None:
    """Leave nothing but the parts, under names that do not tell which job wrote them."""
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    written = [entry for entry in entries if entry.name.startswith("part-") and entry.is_file()]
    if len(written) < parts:
        arrived = f"{len(written)} of the {parts} files that Spark's workers wrote arrived"
        raise BadInput(f"{arrived} in {folder.parent.parent.parent}", hint=_SHARED)
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry not in written:
            entry.unlink()
    for number, entry in enumerate(written):
        entry.rename(folder / f"part-{number:05d}{folder.suffix}")


# --- engine -----------------------------------------------------------------------------------------------------------
COLLECT_LIMIT = 100_000
"""Counts of up to this many cells come to the driver and take the ordinary path."""
SEARCH_LIMIT = 5_000_000
"""A search needs all counts in the driver's memory, about 1 kB for each cell; more cells than these are refused."""
ROW_LIMIT = 1_000_000
"""Tables of up to this many rows come to the driver to be anatomized."""
CHUNK_ROWS = 500_000
"""Larger ones are grouped on the workers, in chunks of at most so many rows."""
_ROWS_PER_PARTITION = 100_000
_MOST_PARTITIONS = 10_000
_TRIES = 64
"""Numbers that are tried for each partition; that none of them falls into one has a chance of e^-64."""
_TYPES = {
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMPTZ": "TIMESTAMP_LTZ",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ",
    "VARCHAR": "STRING",
    "BLOB": "BINARY",
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INT",
    "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20, 0)",
    "HUGEINT": "DECIMAL(38, 0)",
}


class SparkEngine(ReadsBySQL):
    """One Spark session."""

    name = "spark"
    packages: tuple[str, ...] = (*DuckDBEngine.packages, "pyspark")
    place = "the cluster"
    formats: tuple[str, ...] = ("csv", "parquet")

    @values.checked
    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str | None = None,
        remote: str | None = None,
        config: Mapping[str, str] | None = None,
        collect_limit: int = COLLECT_LIMIT,
        search_limit: int = SEARCH_LIMIT,
        row_limit: int = ROW_LIMIT,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        """Use a session, or the one that runs in this process, or start one.

        `master` is the address of a cluster (spark://, yarn, k8s://, local[4]); `remote` that of a Spark Connect server
        (sc://host:port); `config` holds further Spark settings for a session that is started here.
        """
        require_pyspark()
        self.session = session or find_session(master=master, remote=remote, config=config)
        self.collect_limit, self.chunk_rows = collect_limit, chunk_rows
        self.search_limit: int | None = search_limit
        self.row_limit: int | None = row_limit
        self.directory = private_directory()
        self._numbers = itertools.count(1)
        self._prefix = f"divulge_{uuid.uuid4().hex}"
        self._views: list[str] = []
        self._source = ""
        self._has_sent_code = False
        self._dealt: dict[str, tuple[str, DealPart]] = {}
        """Of queries in a secret order: the distinct rows of each file, and how they are dealt."""
        self.close = when_gone(self, partial(_drop, self.session, self._views))

    @property
    def cell_limit(self) -> int:
        """How many cells of a count may come to the driver."""
        return self.collect_limit

    @property
    def ignores_case(self) -> bool:
        """Whether names that differ only in case are the same to the session."""
        return self.session.conf.get("spark.sql.caseSensitive", "false") != "true"

    def quote(self, name: str) -> str:
        """An identifier in backticks."""
        return "`" + name.replace("`", "``") + "`"

    def literal(self, value: str) -> str:
        """A text constant; the backslash is an escape character in Spark."""
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def full_match(self, cell: str, pattern: str) -> str:
        """SQL that is true where the whole text matches a regular expression."""
        whole = self.literal(rf"\A(?:{pattern})\z")
        return f"({cell} RLIKE {whole})"

    def byte_length(self, cell: str) -> str:
        """SQL for the number of bytes of a text."""
        return f"octet_length({cell})"

    def digest(self, cell: str) -> str:
        """SQL for the SHA-256 of all texts of a group together, whatever their order."""
        return f"sha2(array_join(sort_array(collect_list({cell})), ','), 256)"

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """SQL for a cast to a type by its DuckDB name; an attempt gives null where the value does not fit."""
        if type_ == "TIMESTAMPTZ":  # Spark wants the seconds before a zone
            no_seconds = self.literal(r"([ T]\d\d:\d\d)(Z|[-+].*)$")
            cell = f"regexp_replace({cell}, {no_seconds}, '$1:00$2')"
        return f"{'TRY_CAST' if attempt else 'CAST'}({cell} AS {_TYPES.get(type_, type_)})"

    def _bytes_of(self, text: str) -> str:
        """SQL for bytes that stand in a file as texts, two digits for each; what DuckDB leaves readable is taken as it is."""
        mark, coded = self.literal(r"\x"), self.literal(r"^(\\x[0-9A-F]{2})*$")
        digits = f"REPLACE({text}, {mark}, '')"
        return f"CASE WHEN {text} RLIKE {coded} THEN UNHEX({digits}) ELSE CAST({text} AS BINARY) END"

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement and bring its rows here."""
        with self.explained(sql):
            return self.frame(sql, parameters).toArrow()

    def frame(self, sql: str, parameters: Sequence[object] = ()) -> DataFrame:
        """What a statement selects, left on the cluster."""
        with self.explained(sql):
            return self.session.sql(sql, args=list(parameters) or None)

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of `relation`, without reading rows."""
        schema = self.frame(f"SELECT * FROM {relation}").schema
        return tuple((field.name, type_name(field.dataType)) for field in schema.fields)

    def view(self, frame: DataFrame) -> str:
        """Give a frame of this session a name; what stands after FROM comes back."""
        if frame.isStreaming:
            raise BadInput("a stream has no end, so it cannot be counted", hint="Write it to a table and measure that")
        name = f"{self._prefix}_{next(self._numbers)}"
        with self.explained("create a view"):
            frame.createOrReplaceTempView(name)
        self._views.append(name)
        return self.quote(name)

    def store(self, table: pa.Table, *, source: str) -> str:
        """Move an Arrow table from the driver to the cluster."""
        converted, schema = for_spark(table, source=source)
        with self.explained("create a frame"):
            return self.view(self.session.createDataFrame(converted, schema=schema))

    def lend(self, table: pa.Table | DataFrame) -> str:
        """Make rows of ours readable on the cluster; what stands after FROM comes back."""
        return self.store(table, source="a lookup table") if isinstance(table, pa.Table) else self.view(table)

    def fresh(self) -> SparkEngine:
        """Another engine on the same session with the same limits, which has not seen what this one has."""
        other = SparkEngine(self.session, collect_limit=self.collect_limit, chunk_rows=self.chunk_rows)
        other.search_limit, other.row_limit = self.search_limit, self.row_limit
        return other

    def reader(self, size: int) -> SparkEngine | DuckDBEngine:
        """The engine that measures files of so many bytes, which another one wrote: DuckDB, which did not, unless they are large."""
        return self if size > LARGEST_READ_HERE else DuckDBEngine()

    def files_for(self, rows: int) -> int:
        """How many files a table of so many rows is written to: a function of what is published, not of how the source was spread."""
        return max(-(-rows // ROWS_PER_PART), 1)

    def write(self, sql: str, path: Path, *, kind: str, delimiter: str = ",", files: int = 1) -> None:
        """Have the workers write the rows of a query with so many partitions, in its order, to a folder of files."""
        _check_shared(self, path.parent)
        if kind == "parquet" and sql in self._dealt and self._deal(self._dealt[sql], path, files):
            return
        frame = without_notes(self.frame(sql))
        options: dict[str, Any] = {"compression": "zstd"}
        if kind == "csv":
            frame = frame.selectExpr(*(_text(self, name, type_) for name, type_ in frame.dtypes))
            options = _CSV | {"sep": delimiter}
        with self.explained("write the table", source=path.name), _moments_for_all(self.session):
            frame.write.options(**options).save(cluster_path(path), format=kind)
        _tidy(path, files)

    def _deal(self, dealt: tuple[str, DealPart], path: Path, files: int) -> bool:
        """Have the workers deal the rows of each part file from memory; whether they could: else Spark sorts the same rows."""
        made = path / "made"
        made.mkdir(parents=True)
        deal = replace(dealt[1], folder=cluster_path(made).removeprefix("file:"))
        try:
            self.prepare_workers()
            with self.explained("deal the rows", source=path.name):
                told = self.frame(dealt[0]).mapInArrow(deal, "part int, name string").toArrow().to_pylist()
        except DivulgeError as error:  # workers without Python, say; a fault of rows or disk is found again
            LOG.info("the workers cannot deal the rows, so that Spark sorts them: %s", error.message)
            told = []
        names = {found["part"]: found["name"] for found in told if found["name"] is not None}
        if not len(names) == len(told) == files:
            shutil.rmtree(path)
            return False
        for part, name in names.items():
            with suppress(FileNotFoundError):
                (made / name).rename(path / f"part-{part:05d}{path.suffix}")
        _tidy(path, files)
        return True

    def read_typed(self, paths: Sequence[Path], types: Mapping[str, str], *, delimiter: str) -> str:
        """CSV files that `write` wrote, whose columns and types are known; a value that does not have its type is read as null."""
        with self.explained("read csv", source=paths[0].name):
            # Spark would take an empty text for a null if it were not called something else meanwhile.
            uris = [uri(path) for path in paths]
            texts = self.view(read_texts(self, uris, list(types), delimiter, header=True, empty=_EMPTY))
            typed = []
            for name, type_ in types.items():
                cell = self.quote(name)
                text = f"CASE WHEN {cell} = {self.literal(_EMPTY)} THEN '' ELSE {cell} END"
                value = self._bytes_of(text) if type_ == "BLOB" else self.cast(text, type_, attempt=True)
                typed.append(f"{value} AS {cell}")
            return f"(SELECT {', '.join(typed)} FROM {texts})"

    def durable(self, cell: str, _type: str) -> str:
        """SQL for a value in a type that every kind of file holds as it is; Spark writes no other."""
        return cell

    def row_hash(self, columns: Sequence[tuple[str, str]]) -> str:
        """SQL for a whole number that stands for the values of columns, given by name and type; the two zeros are one value."""
        cells = [self._compared(self.quote(name), type_) for name, type_ in columns]
        # XXHASH64 passes nulls over, so that without their places ("a", null) would be (null, "a").
        places = [f"{self.quote(name)} IS NULL" for name, _ in columns]
        return f"CAST(XXHASH64({', '.join([*cells, *places])}) AS DECIMAL(20, 0))"

    @contextmanager
    def in_secret_order(
        self, counted: str, columns: Sequence[tuple[str, str]], names: Sequence[str], *, secret: int, files: int = 1
    ) -> Iterator[str]:
        """A query for each row as often as `copies` of a query says, its columns renamed, in the order of a hash of all its values.

        Every file gets as many copies of a row as the others, give or take one, where the hash says who gets one more: so only distinct
        rows move between workers, and a row with many copies keeps none of them busy alone. Parquet files hold these copies in the order
        in which workers deal them, where there are several (one is written before workers have begun) and `DealPart` can.
        """
        listed = ", ".join(name for name, _ in columns)
        values = ", ".join(self._compared(name, type_) for name, type_ in columns)
        hashed = f"SELECT {listed}, copies, XXHASH64({secret}, {values}) AS own FROM ({counted}) AS counted"
        turns = f"SELECT *, EXPLODE(SEQUENCE(0, LEAST(copies, {files}) - 1)) AS turn FROM ({hashed}) AS hashed"
        share = f"copies DIV {files} + CASE WHEN turn < copies % {files} THEN 1 ELSE 0 END"
        part = f"CAST((PMOD(own, {files}) + turn) % {files} AS INT)"
        shares = f"SELECT {listed}, own, {share} AS share, {part} AS part FROM ({turns}) AS turns"
        target = f"ELEMENT_AT(ARRAY({', '.join(self._keys_of_partitions(files))}), part + 1)"
        spread = f"SELECT /*+ REPARTITION({files}, target) */ *, {target} AS target FROM ({shares}) AS shares"
        numbered = f"SELECT {listed}, target, EXPLODE(SEQUENCE(0, share - 1)) AS copy FROM ({spread}) AS spread"
        placed = f"SELECT *, XXHASH64({secret}, target, copy, {values}) AS place FROM ({numbered}) AS numbered"
        # With the table's name, because a published column may be called place or copy.
        total = [f"{self._compared(f'placed.{name}', type_)} NULLS LAST" for name, type_ in columns]
        renamed = ", ".join(f"{short} AS {self.quote(name)}" for (short, _), name in zip(columns, names, strict=True))
        order = ", ".join(["placed.place", *total, "placed.copy"])
        query = f"SELECT {renamed} FROM ({placed}) AS placed SORT BY {order}"
        if files > 1 and DealPart.takes([type_ for _, type_ in columns]):
            rows = f"SELECT {', '.join([listed, *DEALT])} FROM ({spread}) AS spread"
            self._dealt[query] = rows, DealPart("", tuple(names), secret, files)
        try:
            yield query
        finally:
            self._dealt.pop(query, None)

    def _keys_of_partitions(self, parts: int) -> list[str]:
        """For each of so many partitions a whole number, as SQL, that Spark's own hash sends there."""
        tried = f"SELECT id, PMOD(HASH(id), {parts}) AS part FROM RANGE({_TRIES * parts})"
        found = self.query(f"SELECT MIN(id) AS id FROM ({tried}) AS tried GROUP BY part ORDER BY part")
        return [f"{key}L" for key in found.column("id").to_pylist()]

    def detach(self, sql: str) -> DataFrame:
        """The rows of a query, cut off from where they came: what is used later is what was verified."""
        with self.explained(sql):
            return without_notes(self.frame(sql)).localCheckpoint()

    def collect(self, rows: DataFrame) -> pa.Table:
        """What was detached, as Arrow."""
        with self.explained("collect the rows"):
            return rows.toArrow()

    def _compared(self, cell: str, type_: str) -> str:
        """A value that has a hash and an order; maps have neither, and grouping sorts them by their keys."""
        if type_.startswith("MAP("):
            pairs = f"TRANSFORM(ARRAY_SORT(MAP_KEYS({cell})), map_key -> STRUCT(map_key, {cell}[map_key]))"
            return f"CAST(MAP_FROM_ENTRIES({pairs}) AS STRING)"
        return cell if is_plain_type(type_) else f"CAST({cell} AS STRING)"

    def hold(
        self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = ""
    ) -> HeldOnCluster:
        """Keep the rows of a query on the cluster."""
        return HeldOnCluster(self, sql, together=together, rows=rows, source=source)

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldOnCluster:
        """Keep rows on the cluster that are here."""
        return self.hold(f"SELECT * FROM {self.lend(table)}", together=together)

    def fold(self, held: Held, summarize: Summarize[Result], merge: Merge[Result]) -> Result:
        """Summarize each partition where it is and merge the summaries, in the order of the partitions, on the cluster."""
        if not isinstance(held, HeldOnCluster):
            raise InternalError("these rows are held by another engine")
        self.prepare_workers()
        with self.explained("summarize the partitions"):
            parts = held.arranged.mapInArrow(SummarizePart(summarize), "part int, result binary")
            ordered = parts.repartition(1).sortWithinPartitions("part")
            found = ordered.mapInArrow(MergeParts(merge), "result binary").toArrow().column("result").to_pylist()
        if not found:
            raise InternalError("Spark returned no summary")
        result = pickle.loads(found[0])  # noqa: S301 - written by our own code, over Spark's own connections
        if isinstance(result, DivulgeError):
            raise result
        return result  # type: ignore[no-any-return]

    def hold_each(
        self,
        sql: str,
        parameters: Sequence[object] = (),
        *,
        by: str,
        make: Callable[[pa.Table], pa.Table],
        adding: Mapping[str, str],
        source: str = "",
    ) -> HeldOnCluster:
        """Keep what a function makes of the rows with each value of a column, on the workers.

        What it makes has the columns of the rows but that one, and those that it adds, with their types.
        """
        self.prepare_workers()
        frame = self.frame(sql, parameters)
        with self.explained(sql, source=source):
            columns = [f"{name} {type_}" for name, type_ in frame.dtypes if name != by]
            schema = ", ".join([*columns, *(f"{name} {type_}" for name, type_ in adding.items())])
            # A plain function of one argument: pyspark asks for its signature, and takes a second argument for a key.
            made = frame.groupBy(by).applyInArrow(lambda rows: make(rows), schema=schema)  # noqa: PLW0108 - as just said
        return self.hold(f"SELECT * FROM {self.view(made)}", source=source)

    def in_order(self, sql: str, columns: Sequence[str], *, files: int = 1) -> str:
        """The rows of a query in so many partitions, each sorted by columns, nulls last: functions of these columns alone."""
        names = [self.quote(name) for name in columns]
        spread = f"SELECT /*+ REPARTITION({files}, {', '.join(names)}) */ * FROM ({sql}) AS unsorted"
        return f"SELECT * FROM ({spread}) AS spread SORT BY {', '.join(f'spread.{name} NULLS LAST' for name in names)}"

    def sees(self, held: Held) -> bool:
        """Whether rows are held in the same session."""
        return isinstance(held, HeldOnCluster) and held.engine.session is self.session

    def line_up(self, _relation: str, _columns: Sequence[str]) -> None:
        """Spark keeps no order of rows that a column could be lined up with."""

    def prepare_workers(self) -> None:
        """Let the workers compute with functions of this package."""
        if not self._has_sent_code:
            with self.explained("send code to the workers"):
                send_code(self.session)
            self._has_sent_code = True

    @contextmanager
    def explained(self, sql: str, *, source: str = "") -> Iterator[None]:
        """Turn what Spark raises into one line, which names the source that is being read."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        failures: tuple[type[Exception], ...] = (PySparkException, Py4JError)
        if is_remote(self.session):
            from grpc import RpcError

            failures = (*failures, RpcError)
        outer, self._source = self._source, source or self._source
        began = time.perf_counter()
        try:
            with quiet():
                yield
            LOG.debug("%.3f s: %s", time.perf_counter() - began, sql)
        except failures as error:
            raise explain_spark(error, sql=sql, source=self._source) from error
        finally:
            self._source = outer


class HeldOnCluster:
    """Rows that Spark keeps. They are counted when somebody asks how many there are, and arranged when they are first folded."""

    def __init__(
        self, engine: SparkEngine, sql: str, *, together: Sequence[str], rows: int | None, source: str
    ) -> None:
        self.engine = engine
        self._sql, self._together, self._known, self._source = sql, tuple(together), rows, source

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as they come; where it is known how many there are, they are rows that others hold, and are not kept twice."""
        with self.engine.explained(self._sql, source=self._source):
            frame = self.engine.frame(self._sql)
            return frame if self._known is not None else self._kept(frame)

    @cached_property
    def rows(self) -> int:
        """How many there are."""
        with self.engine.explained(self._sql, source=self._source):
            return self.frame.count() if self._known is None else self._known

    @cached_property
    def relation(self) -> str:
        """What stands after FROM."""
        view = self.engine.view(self.frame)
        when_gone(self, partial(_drop, self.engine.session, [view.strip("`")]))
        return view

    def table(self) -> pa.Table:
        """All of them, in the driver's memory."""
        with self.engine.explained(self._sql, source=self._source):
            return self.frame.toArrow()

    @cached_property
    def arranged(self) -> DataFrame:
        """Partitions that hold whole classes, sorted as we sort them: ascending, nulls last."""
        if not self._together:
            return self.frame
        frame, parts = self.frame, min(max(-(-self.rows // _ROWS_PER_PARTITION), 2), _MOST_PARTITIONS)
        with self.engine.explained("arrange the rows by class"):
            order = [frame[name].asc_nulls_last() for name in self._together]
            return self._kept(frame.repartition(parts, *self._together).sortWithinPartitions(*order))

    def _kept(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist()
        when_gone(self, kept.unpersist)
        return kept


def _drop(session: SparkSession, views: list[str]) -> None:
    """Take the views out of the session."""
    for name in views:
        session.catalog.dropTempView(name)
