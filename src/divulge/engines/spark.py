# SPDX-License-Identifier: Apache-2.0
"""Spark, for tables that outgrow one machine: classic or through Spark Connect.

Spark reads "name" as a text constant and silently returns wrong results, so names are quoted with
backticks. Temporary views and cached counts are removed from the session with the engine.
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

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.engine import Merge, ReadsBySQL, Result, StoredRows, Summarize, is_plain_type
from divulge.engines.memory import SHUFFLE_COLUMNS, ShufflePart
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
from divulge.engines.spark_types import check_texts, explain_spark, for_spark, type_name
from divulge.errors import BadInput, DivulgeError, InternalError
from divulge.validation import checked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LOG = logging.getLogger("divulge.engines")
# --- files ----------------------------------------------------------------------------------------
# Spark's workers write a folder of part files (table.parquet/part-00000.parquet, ...) on storage
# that they share with this process. divulge checks that they see it before the first row is
# written, and that all parts arrived afterwards. Files that Spark adds to the rows are removed.
ROWS_PER_PART = 500_000
LARGEST_READ_HERE = 256 << 20
"""Size in bytes up to which DuckDB measures a written table, because it did not write it.

Spark measures larger tables on all workers.
"""
_SHARED_FOLDER_HINT = (
    "Name a folder on storage that this process and every worker share under the same path. "
    "Nothing was published"
)
_TIMESTAMP_SETTING = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""Setting that writes timestamps as every reader of Parquet knows them, not in Spark's 96 bits."""
_CSV_OPTIONS = {
    "header": True,
    "quote": '"',
    "escape": '"',
    "nullValue": "",
    "emptyValue": '""',
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
    "lineSep": "\n",
}
_TIMESTAMP_FORMAT = "yyyy-MM-dd HH:mm:ss.SSSSSSxxx"
_BYTE_ESCAPE = r"\\x$1"
_GLOB_CHARACTERS = re.compile(r"[*?\[\]{}\\]")

# A quote that is never closed would silently make the rest of the file one value.
_MAX_VALUE_LENGTH = 1 << 20
_EMPTY_TEXT_MARKER = "\ue000empty\ue000"


def read_texts(
    engine: SparkEngine,
    paths: Sequence[str],
    names: Sequence[str],
    delimiter: str,
    *,
    header: bool,
    whole_files: bool = True,
    empty: str = "",
    same_header: bool = False,
) -> DataFrame:
    """Read the cells of CSV files as texts.

    An empty cell is null. A quoted empty cell becomes `empty`; by default that is null too.

    With `same_header` Spark compares the header of each file with the names, and fails if they
    differ.
    """
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
        enforceSchema=not (same_header and header),
        maxCharsPerColumn=_MAX_VALUE_LENGTH,
    )


def uri(path: Path) -> str:
    """Return the URI of a local file for Spark.

    Spark takes a plain path for a glob, and for a path of its default file system.
    """
    return "file:" + _GLOB_CHARACTERS.sub(r"\\\g<0>", str(path.absolute()))


def cluster_path(path: Path) -> str:
    """Return a local path for Spark to write to, whatever its default file system is.

    For reading, see `uri`.
    """
    return f"file:{path}"


def without_notes(frame: DataFrame) -> DataFrame:
    """Remove comments and other metadata of columns, which Spark would write into the files."""
    for field in frame.schema.fields:
        if field.metadata:
            frame = frame.withMetadata(field.name, {})
    return frame


def _check_shared(engine: SparkEngine, folder: Path) -> None:
    """Raise an error if a worker does not see the folder, before it writes rows to its own disk."""
    mark = folder / "mark"
    mark.write_text("shared\n", encoding="utf-8")
    try:
        with engine.explained("look for the folder"):
            engine.session.read.text(uri(mark)).collect()
    except BadInput as error:
        raise BadInput(
            f"Spark's workers cannot read {folder.parent.parent}: {error.message.marked}",
            hint=_SHARED_FOLDER_HINT,
        ) from error
    finally:
        mark.unlink()


def _csv_cell(engine: SparkEngine, name: str, type_: str) -> str:
    """Return a column as DuckDB writes it to CSV; a timestamp has all digits and its zone."""
    cell = engine.quote(name)
    if type_ == "timestamp":
        return f"date_format({cell}, {engine.literal(_TIMESTAMP_FORMAT)}) AS {cell}"
    if type_ == "binary":
        return f"regexp_replace(hex({cell}), '(..)', {engine.literal(_BYTE_ESCAPE)}) AS {cell}"
    return f"CAST({cell} AS STRING) AS {cell}"


@contextmanager
def _portable_timestamps(session: SparkSession) -> Iterator[None]:
    """Write timestamps for all readers while this context is open, by a setting of the session."""
    name, value = _TIMESTAMP_SETTING
    before = session.conf.getAll.get(name)
    try:
        session.conf.set(name, value)
        yield
    finally:
        session.conf.unset(name) if before is None else session.conf.set(name, before)


def _keep_only_parts(folder: Path, parts: int) -> None:
    """Leave only the parts, under names that do not reveal which job wrote them."""
    if folder.is_dir():
        entries = sorted(folder.iterdir())
    else:
        entries = []
    part_files = [entry for entry in entries if entry.name.startswith("part-") and entry.is_file()]
    if len(part_files) < parts:
        arrived = f"{len(part_files)} of the {parts} files that Spark's workers wrote arrived"
        raise BadInput(f"{arrived} in {folder.parent.parent.parent}", hint=_SHARED_FOLDER_HINT)
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry not in part_files:
            entry.unlink()
    for number, entry in enumerate(part_files):
        entry.rename(folder / f"part-{number:05d}{folder.suffix}")


# --- engine ---------------------------------------------------------------------------------------
COLLECT_LIMIT = 100_000
"""Number of cells up to which counts come to the driver, as for a small table."""
SEARCH_LIMIT = 5_000_000
"""Number of cells above which a search raises an error.

It needs all counts in the driver's memory, about 1 kB for each cell.
"""
ROW_LIMIT = 1_000_000
"""Number of rows up to which a table comes to the driver to be anatomized."""
CHUNK_ROWS = 500_000
"""Most rows of a chunk of a larger table, which is grouped on the workers."""
_ROWS_PER_PARTITION = 100_000
_MAX_PARTITIONS = 10_000
_KEYS_PER_PARTITION = 64
"""Numbers that are tried for each partition.

The probability that none of them falls into a partition is e^-64.
"""
_SPARK_TYPES = {
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
    """Engine on one Spark session."""

    name = "spark"
    packages: tuple[str, ...] = (*DuckDBEngine.packages, "pyspark")
    storage = "the cluster"
    formats: tuple[str, ...] = ("csv", "parquet")

    @checked
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

        `master` is the address of a cluster (spark://, yarn, k8s://, local[4]). `remote` is the
        address of a Spark Connect server (sc://host:port). `config` holds further Spark settings
        for a session that is started here.
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
        self._shuffles: dict[str, tuple[str, ShufflePart]] = {}
        """Distinct rows of each file and their shuffle function, by query in a secret order."""
        self.close = when_gone(self, partial(_drop_views, self.session, self._views))

    @property
    def cell_limit(self) -> int:
        """Number of cells of a count that may come to the driver."""
        return self.collect_limit

    @property
    def ignores_case(self) -> bool:
        """True if the session ignores the case of names."""
        return self.session.conf.get("spark.sql.caseSensitive", "false") != "true"

    def quote(self, name: str) -> str:
        """Quote an identifier with backticks."""
        return "`" + name.replace("`", "``") + "`"

    def literal(self, value: str) -> str:
        """Quote a text constant; the backslash is an escape character in Spark."""
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def full_match(self, cell: str, pattern: str) -> str:
        """Return SQL that is true if the whole text matches a regular expression."""
        anchored_pattern = self.literal(rf"\A(?:{pattern})\z")
        return f"({cell} RLIKE {anchored_pattern})"

    def group_key(self, cell: str) -> str:
        """Return SQL for a nested value as JSON, because Spark does not group by maps.

        Timestamps keep their microseconds.
        """
        settings = {
            "ignoreNullFields": "false",
            "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        }
        texts = ", ".join(self.literal(text) for pair in settings.items() for text in pair)
        return f"to_json(named_struct('v', {cell}), map({texts}))"

    def byte_length(self, cell: str) -> str:
        """Return SQL for the number of bytes of a text."""
        return f"octet_length({cell})"

    def digest(self, cell: str) -> str:
        """Return SQL for the SHA-256 of all texts of a group, independent of their order."""
        return f"sha2(array_join(sort_array(collect_list({cell})), ','), 256)"

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """Return SQL for a cast to a type by its DuckDB name.

        With `attempt`, a value that does not fit becomes null.
        """
        if type_ == "TIMESTAMPTZ":  # Spark requires seconds before a zone
            no_seconds = self.literal(r"([ T]\d\d:\d\d)(Z|[-+].*)$")
            cell = f"regexp_replace({cell}, {no_seconds}, '$1:00$2')"
        return f"{'TRY_CAST' if attempt else 'CAST'}({cell} AS {_SPARK_TYPES.get(type_, type_)})"

    def _bytes_of(self, text: str) -> str:
        """Return SQL for bytes that a file holds as texts, two digits for each.

        Texts that DuckDB leaves readable are taken as they are.
        """
        mark = self.literal(r"\x")
        coded = self.literal(r"^(\\x[0-9A-F]{2})*$")
        digits = f"REPLACE({text}, {mark}, '')"
        return (
            f"CASE WHEN {text} RLIKE {coded} THEN UNHEX({digits}) ELSE CAST({text} AS BINARY) END"
        )

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement and bring its rows to the driver."""
        with self.explained(sql):
            return check_texts(self.frame(sql, parameters).toArrow())

    def frame(self, sql: str, parameters: Sequence[object] = ()) -> DataFrame:
        """Return the result of a statement as a frame on the cluster."""
        with self.explained(sql):
            return self.session.sql(sql, args=list(parameters) or None)

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Return the name and type of each column of `relation`, without reading rows."""
        schema = self.frame(f"SELECT * FROM {relation}").schema
        return tuple((field.name, type_name(field.dataType)) for field in schema.fields)

    def view(self, frame: DataFrame) -> str:
        """Create a view of a frame of this session; return its name for a FROM clause."""
        if frame.isStreaming:
            raise BadInput(
                "a stream has no end, so it cannot be counted",
                hint="Write it to a table and measure that",
            )
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
        """Make our rows readable on the cluster; return their name for a FROM clause."""
        if isinstance(table, pa.Table):
            return self.store(table, source="a lookup table")
        return self.view(table)

    def fresh(self) -> SparkEngine:
        """Return another engine on the same session with the same limits, empty of contents."""
        other = SparkEngine(
            self.session, collect_limit=self.collect_limit, chunk_rows=self.chunk_rows
        )
        other.search_limit, other.row_limit = self.search_limit, self.row_limit
        return other

    def reader(self, size: int) -> SparkEngine | DuckDBEngine:
        """Return the engine that measures files of a size in bytes.

        That is DuckDB, which did not write them, unless they are large.
        """
        if size > LARGEST_READ_HERE:
            return self
        return DuckDBEngine()

    def files_for(self, rows: int) -> int:
        """Return the number of files that a table is written to.

        It depends on the number of published rows, not on the partitions of the source.
        """
        return max(-(-rows // ROWS_PER_PART), 1)

    def write(
        self, sql: str, path: Path, *, kind: str, delimiter: str = ",", files: int = 1
    ) -> None:
        """Have the workers write the rows of a query, in its order, to a folder of files.

        The query has `files` partitions.
        """
        _check_shared(self, path.parent)
        if (
            kind == "parquet"
            and sql in self._shuffles
            and self._shuffle_on_workers(self._shuffles[sql], path, files)
        ):
            return
        frame = without_notes(self.frame(sql))
        options: dict[str, Any] = {"compression": "zstd"}
        if kind == "csv":
            frame = frame.selectExpr(
                *(_csv_cell(self, name, type_) for name, type_ in frame.dtypes)
            )
            options = _CSV_OPTIONS | {"sep": delimiter}
        with (
            self.explained("write the table", source=path.name),
            _portable_timestamps(self.session),
        ):
            frame.write.options(**options).save(cluster_path(path), format=kind)
        _keep_only_parts(path, files)

    def _shuffle_on_workers(self, dealt: tuple[str, ShufflePart], path: Path, files: int) -> bool:
        """Have the workers shuffle the rows of each part file in memory.

        Returns:
            Whether they could; if not, Spark sorts the same rows.
        """
        output_folder = path / "made"
        output_folder.mkdir(parents=True)
        deal = replace(dealt[1], folder=cluster_path(output_folder).removeprefix("file:"))
        try:
            self.prepare_workers()
            with self.explained("deal the rows", source=path.name):
                part_files = (
                    self.frame(dealt[0])
                    .mapInArrow(deal, "part int, name string")
                    .toArrow()
                    .to_pylist()
                )
        except DivulgeError as error:
            # For example workers without Python; a fault of rows or disk occurs again later.
            LOG.info(
                "the workers cannot deal the rows, so that Spark sorts them: %s", error.message
            )
            part_files = []
        names = {
            part_file["part"]: part_file["name"]
            for part_file in part_files
            if part_file["name"] is not None
        }
        if not len(names) == len(part_files) == files:
            shutil.rmtree(path)
            return False
        for part, name in names.items():
            with suppress(FileNotFoundError):
                (output_folder / name).rename(path / f"part-{part:05d}{path.suffix}")
        _keep_only_parts(path, files)
        return True

    def read_typed(self, paths: Sequence[Path], types: Mapping[str, str], *, delimiter: str) -> str:
        """Read CSV files that `write` wrote, whose columns and types are known.

        A value that does not have its type is read as null.
        """
        with self.explained("read csv", source=paths[0].name):
            # Spark would read an empty text as a null, so it is replaced by a marker for the
            # moment.
            uris = [uri(path) for path in paths]
            texts = self.view(
                read_texts(
                    self, uris, list(types), delimiter, header=True, empty=_EMPTY_TEXT_MARKER
                )
            )
            typed = []
            for name, type_ in types.items():
                cell = self.quote(name)
                text = (
                    f"CASE WHEN {cell} = {self.literal(_EMPTY_TEXT_MARKER)} THEN '' ELSE {cell} END"
                )
                if type_ == "BLOB":
                    value = self._bytes_of(text)
                else:
                    value = self.cast(text, type_, attempt=True)
                typed.append(f"{value} AS {cell}")
            return f"(SELECT {', '.join(typed)} FROM {texts})"

    def durable(self, cell: str, _type: str) -> str:
        """Return SQL for a value in a type that file formats preserve; Spark has no others."""
        return cell

    def row_hash(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return SQL for a hash of the values of columns, as a whole number.

        `columns` are names and types. Positive and negative zero are one value.
        """
        cells = [self._comparable_cell(self.quote(name), type_) for name, type_ in columns]
        # XXHASH64 skips nulls: without their positions ("a", null) would equal (null, "a").
        null_flags = [f"{self.quote(name)} IS NULL" for name, _ in columns]
        return f"CAST(XXHASH64({', '.join([*cells, *null_flags])}) AS DECIMAL(20, 0))"

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
        """Yield a query for published rows in the order of a hash of a secret and their values.

        Each row occurs as often as its `copies` in `counts_query`, and its columns are
        renamed. Every file gets as many copies of a row as the others, give or take one. The hash
        decides which files get one more. So only distinct rows move between workers, and a row with
        many copies does not keep a single worker busy. In Parquet, workers shuffle the copies of
        several files if `ShufflePart` can. A single file is written before workers have started.
        """
        column_list = ", ".join(name for name, _ in columns)
        values = ", ".join(self._comparable_cell(name, type_) for name, type_ in columns)
        hashed = (
            f"SELECT {column_list}, copies, XXHASH64({secret}, {values}) AS own "
            f"FROM ({counts_query}) AS counted"
        )
        turns = (
            f"SELECT *, EXPLODE(SEQUENCE(0, LEAST(copies, {files}) - 1)) AS turn "
            f"FROM ({hashed}) AS hashed"
        )
        share = f"copies DIV {files} + CASE WHEN turn < copies % {files} THEN 1 ELSE 0 END"
        part = f"CAST((PMOD(own, {files}) + turn) % {files} AS INT)"
        shares = (
            f"SELECT {column_list}, own, {share} AS share, {part} AS part FROM ({turns}) AS turns"
        )
        target = f"ELEMENT_AT(ARRAY({', '.join(self._partition_keys(files))}), part + 1)"
        spread = (
            f"SELECT /*+ REPARTITION({files}, target) */ *, {target} AS target "
            f"FROM ({shares}) AS shares"
        )
        numbered = (
            f"SELECT {column_list}, target, EXPLODE(SEQUENCE(0, share - 1)) AS copy "
            f"FROM ({spread}) AS spread"
        )
        placed_rows = (
            f"SELECT *, XXHASH64({secret}, target, copy, {values}) AS place "
            f"FROM ({numbered}) AS numbered"
        )
        # Qualified by the table's name, because a published column may be called place or copy.
        total = [
            f"{self._comparable_cell(f'placed.{name}', type_)} NULLS LAST"
            for name, type_ in columns
        ]
        renamed = ", ".join(
            f"{short} AS {self.quote(name)}"
            for (short, _), name in zip(columns, names, strict=True)
        )
        order = ", ".join(["placed.place", *total, "placed.copy"])
        query = f"SELECT {renamed} FROM ({placed_rows}) AS placed SORT BY {order}"
        if files > 1 and ShufflePart.takes([type_ for _, type_ in columns]):
            rows = f"SELECT {', '.join([column_list, *SHUFFLE_COLUMNS])} FROM ({spread}) AS spread"
            self._shuffles[query] = rows, ShufflePart("", tuple(names), secret, files)
        try:
            yield query
        finally:
            self._shuffles.pop(query, None)

    def _partition_keys(self, parts: int) -> list[str]:
        """Return, as SQL, a whole number for each partition that Spark's own hash sends there."""
        candidates = (
            f"SELECT id, PMOD(HASH(id), {parts}) AS part FROM RANGE({_KEYS_PER_PARTITION * parts})"
        )
        partition_keys = self.query(
            f"SELECT MIN(id) AS id FROM ({candidates}) AS tried GROUP BY part ORDER BY part"
        )
        return [f"{key}L" for key in partition_keys.column("id").to_pylist()]

    def detach(self, sql: str) -> DataFrame:
        """Return the rows of a query, independent of their source.

        Later steps then use the rows that were verified.
        """
        with self.explained(sql):
            return without_notes(self.frame(sql)).localCheckpoint()

    def collect(self, rows: DataFrame) -> pa.Table:
        """Return detached rows as Arrow."""
        with self.explained("collect the rows"):
            return check_texts(rows.toArrow())

    def _comparable_cell(self, cell: str, type_: str) -> str:
        """Return SQL for a value that has a hash and an order.

        Maps have neither, and grouping sorts them by their keys.
        """
        if type_.startswith("MAP("):
            pairs = (
                f"TRANSFORM(ARRAY_SORT(MAP_KEYS({cell})), map_key -> STRUCT(map_key, "
                f"{cell}[map_key]))"
            )
            return f"CAST(MAP_FROM_ENTRIES({pairs}) AS STRING)"
        if is_plain_type(type_):
            return cell
        return f"CAST({cell} AS STRING)"

    def hold(
        self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = ""
    ) -> HeldOnCluster:
        """Keep the rows of a query on the cluster."""
        return HeldOnCluster(self, sql, together=together, rows=rows, source=source)

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldOnCluster:
        """Move rows from the driver to the cluster and keep them there."""
        return self.hold(f"SELECT * FROM {self.lend(table)}", together=together)

    def fold(
        self, held_rows: StoredRows, summarize: Summarize[Result], merge: Merge[Result]
    ) -> Result:
        """Summarize each partition where it is, and merge the summaries on the cluster.

        They are merged in the order of the partitions.
        """
        if not isinstance(held_rows, HeldOnCluster):
            raise InternalError("these rows are held by another engine")
        self.prepare_workers()
        with self.explained("summarize the partitions"):
            parts = held_rows.arranged.mapInArrow(
                SummarizePart(summarize), "part int, result binary"
            )
            ordered = parts.repartition(1).sortWithinPartitions("part")
            summaries = (
                ordered.mapInArrow(MergeParts(merge), "result binary")
                .toArrow()
                .column("result")
                .to_pylist()
            )
        if not summaries:
            raise InternalError("Spark returned no summary")
        result = pickle.loads(summaries[0])  # noqa: S301 - written by our own code, over Spark's own connections
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
        """Apply a function, on the workers, to the rows of each value of a column.

        The results are kept.

        Its results have the columns of the rows without that one, and the added columns with their
        types.
        """
        self.prepare_workers()
        frame = self.frame(sql, parameters)
        with self.explained(sql, source=source):
            columns = [f"{name} {type_}" for name, type_ in frame.dtypes if name != by]
            schema = ", ".join([*columns, *(f"{name} {type_}" for name, type_ in adding.items())])
            # A plain function of one argument, because pyspark inspects its signature and passes a
            # key as a second argument.
            made_rows = frame.groupBy(by).applyInArrow(lambda rows: make(rows), schema=schema)  # noqa: PLW0108 - as just said
        return self.hold(f"SELECT * FROM {self.view(made_rows)}", source=source)

    def in_order(self, sql: str, columns: Sequence[str], *, files: int = 1) -> str:
        """Return a query for the rows of a query in partitions, sorted by columns, nulls last.

        The partitions depend only on these columns.
        """
        names = [self.quote(name) for name in columns]
        spread = (
            f"SELECT /*+ REPARTITION({files}, {', '.join(names)}) */ * FROM ({sql}) AS unsorted"
        )
        return (
            f"SELECT * FROM ({spread}) AS spread SORT BY "
            f"{', '.join(f'spread.{name} NULLS LAST' for name in names)}"
        )

    def sees(self, held_rows: StoredRows) -> bool:
        """Report whether rows are held in the same session."""
        return isinstance(held_rows, HeldOnCluster) and held_rows.engine.session is self.session

    def line_up(self, _relation: str, _columns: Sequence[str]) -> None:
        """Return None: Spark keeps no order of rows."""

    def prepare_workers(self) -> None:
        """Send the code of this package to the workers."""
        if not self._has_sent_code:
            with self.explained("send code to the workers"):
                send_code(self.session)
            self._has_sent_code = True

    @contextmanager
    def explained(self, sql: str, *, source: str = "") -> Iterator[None]:
        """Turn Spark's errors into one line that names the source that is being read."""
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
    """Rows that Spark keeps.

    They are counted when their number is first needed, and arranged when they are first folded.
    """

    def __init__(
        self,
        engine: SparkEngine,
        sql: str,
        *,
        together: Sequence[str],
        rows: int | None,
        source: str,
    ) -> None:
        self.engine = engine
        self._sql, self._class_columns, self._known_rows, self._source = (
            sql,
            tuple(together),
            rows,
            source,
        )

    @cached_property
    def frame(self) -> DataFrame:
        """Rows as they come.

        If their number was given, another object keeps them, and they are not cached twice.
        """
        with self.engine.explained(self._sql, source=self._source):
            frame = self.engine.frame(self._sql)
            if self._known_rows is not None:
                return frame
            return self._cache(frame)

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        with self.engine.explained(self._sql, source=self._source):
            if self._known_rows is None:
                return self.frame.count()
            return self._known_rows

    @cached_property
    def relation(self) -> str:
        """Relation for a FROM clause."""
        view = self.engine.view(self.frame)
        when_gone(self, partial(_drop_views, self.engine.session, [view.strip("`")]))
        return view

    def table(self) -> pa.Table:
        """Return all rows, in the driver's memory."""
        with self.engine.explained(self._sql, source=self._source):
            return check_texts(self.frame.toArrow())

    @cached_property
    def arranged(self) -> DataFrame:
        """Partitions of whole classes, sorted in divulge's order: ascending, nulls last."""
        if not self._class_columns:
            return self.frame
        frame = self.frame
        parts = min(max(-(-self.rows // _ROWS_PER_PARTITION), 2), _MAX_PARTITIONS)
        with self.engine.explained("arrange the rows by class"):
            order = [frame[name].asc_nulls_last() for name in self._class_columns]
            return self._cache(
                frame.repartition(parts, *self._class_columns).sortWithinPartitions(*order)
            )

    def _cache(self, frame: DataFrame) -> DataFrame:
        cached_frame = frame.persist()
        when_gone(self, cached_frame.unpersist)
        return cached_frame


def _drop_views(session: SparkSession, views: list[str]) -> None:
    """Remove the views from the session."""
    for name in views:
        session.catalog.dropTempView(name)
