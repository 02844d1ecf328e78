# SPDX-License-Identifier: Apache-2.0
"""Reads tables with Spark: frames, tables of a catalog, and files, by the same rules as with DuckDB.

Parquet, ORC, and large CSV and JSON lines are read by Spark's workers, from any place Spark can reach. Small text files, and whatever
else divulge reads, are read here, on the driver, and moved: DuckDB reads text more strictly than Spark does.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from divulge import engines
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, without_secrets
from divulge.table.frames import hive_types, other_columns
from divulge.table.paths import LOGS, Files, compression, find_files, find_log_table
from divulge.table.table import HowRead, ReadOptions, Table, check_names, table_of
from divulge.table.text_files import (
    UTF8,
    Dialect,
    cell_types,
    codec_of,
    column_types,
    read_dialect,
    reading_of_text,
    with_dot,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SparkKind = Literal["csv", "json", "parquet", "orc", "a table"]
_BY_NAME: dict[str, SparkKind] = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".orc": "orc",
}  # fmt: skip
SMALL_TEXT = 64 << 20
"""Text files of up to this many bytes are read on the driver."""

# Up to here one worker reads a CSV file alone, so that a quoted line end is no row's end; above, a record must stand on one line.
_LARGEST_WHOLE_FILE = 1 << 30
_SAMPLE_LINES = 1_000
_FILE_SYSTEMS = "file hdfs viewfs ofs s3 s3a s3n gs abfs abfss wasb wasbs adl oss dbfs".split()
"""Schemes of addresses that Spark reads itself; the driver reads the others."""


@dataclass(frozen=True)
class SparkSource:
    """Something that Spark reads itself."""

    shown: str
    kind: SparkKind
    paths: tuple[str, ...]
    files: Files | None = None
    """The files, where the driver sees them too."""

    def read(self, engine: SparkEngine, text: ReadOptions) -> Table:
        """Open it."""
        if self.kind == "csv":
            return _read_csv(self, text, engine=engine)
        return replace(self._read(engine), reading=HowRead("catalog" if self.kind == "a table" else self.kind))

    def _read(self, engine: SparkEngine) -> Table:
        with engine.explained(f"read {self.kind}", source=self.shown):
            if self.kind == "a table":
                return _table(engine, engine.session.table(self.paths[0]), self.shown)
            if self.kind == "json":
                return _read_json(self, engine=engine)
            if self.kind == "parquet":
                return _read_parquet(self, engine=engine)
            return _table(engine, engine.session.read.orc(list(self.paths)), self.shown)


def find_spark_source(source: str, *, encoding: str, engine: SparkEngine) -> SparkSource | None:
    """What Spark can read itself; None for a file or address that only the driver can read."""
    scheme, separator, rest = source.partition("://")
    if separator and scheme.isalnum():
        if scheme not in _FILE_SYSTEMS:
            return None
        _refuse_remote_log(source, engine)
        return SparkSource(without_secrets(source), _kind_by_name(rest), (source,))
    if not Path(source).expanduser().exists() and not glob.has_magic(source) and _is_table(source, engine):
        return SparkSource(source, "a table", (source,))
    if (lakehouse := find_log_table(Path(source).expanduser().absolute())) is not None:
        raise _by_catalog(source, lakehouse.format)
    files = find_files(source)
    if files.kind not in ("csv", "json", "parquet") or any(compression(path) == "zstd" for path in files.paths):
        return None
    if files.kind in ("csv", "json") and sum(path.stat().st_size for path in files.paths) <= SMALL_TEXT:
        return None
    if files.kind == "csv" and codec_of(encoding).name not in UTF8:
        return None
    return SparkSource(source, files.kind, tuple(engines.uri(path) for path in files.paths), files)


def read_spark_frame(frame: DataFrame, *, engine: Any) -> Table:
    """A Spark frame, read in its own session."""
    if isinstance(engine, DuckDBEngine):
        raise BadInput("a Spark frame cannot be read by DuckDB", hint="Pass frame.toArrow(), or leave the engine out")
    session = frame.sparkSession
    own = engine if isinstance(engine, SparkEngine) and engine.session is session else SparkEngine(session)
    return replace(_table(own, frame, "the Spark frame"), reading=HowRead("spark frame"))


def moved_to_spark(table: Table, *, engine: SparkEngine) -> Table:
    """A table that was opened on the driver, moved to the cluster."""
    rows = table.engine.query(f"SELECT * FROM {table.relation}")
    return replace(table, engine=engine, relation=engine.store(rows, source=table.source))


def _table(engine: SparkEngine, frame: DataFrame, shown: str) -> Table:
    names = frame.columns
    check_names(names, source=shown)
    if engine.ignores_case and len({name.lower() for name in names}) < len(names):
        raise BadInput(
            f"names of {shown} differ only in upper and lower case, and this Spark session does not tell them apart",
            hint="Rename one of them, or set spark.sql.caseSensitive",
        )
    relation = engine.view(frame)
    # Texts are compared as they are, whatever collation a column has; a column of nothing but nulls is text.
    odd = [name for name, type_ in frame.dtypes if type_.startswith(("void", "string collate"))]
    if odd:
        relation = f"({_recast(engine, relation, names, dict.fromkeys(odd, 'STRING COLLATE UTF8_BINARY'))})"
    return table_of(engine, relation, source=shown)


def _refuse_remote_log(source: str, engine: SparkEngine) -> None:
    """Spark reads every Parquet file below an address, also those that the log of a table has given up."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    scheme, _, rest = source.partition("://")
    fixed = rest[: min((rest.find(sign) for sign in "*?[{" if sign in rest), default=len(rest))]
    for folder in (PurePosixPath(fixed), *PurePosixPath(fixed).parents[:-1]):
        for marker, form in LOGS.items():
            try:
                engine.session.read.format("binaryFile").load(f"{scheme}://{folder}/{marker}").schema  # noqa: B018 - looks for files
            except AnalysisException as error:
                if "PATH_NOT_FOUND" not in str(error):
                    raise
            except Py4JJavaError as error:
                if "No FileSystem for scheme" not in str(error):
                    raise
                hint = "Add its Hadoop package to Spark, or read the table with DuckDB"
                raise BadInput(f"this Spark has no file system for {scheme}:// addresses", hint=hint) from None
            else:
                raise _by_catalog(source, form)


def _by_catalog(source: str, form: str) -> BadInput:
    return BadInput(
        f"{source} is or lies in a table of {form}, and Spark would read rows that its log says are gone",
        hint="Name it as a table of a catalog that knows the format, or read it without Spark",
    )


def _is_table(name: str, engine: SparkEngine) -> bool:
    from pyspark.errors import PySparkException

    try:
        return bool(engine.session.catalog.tableExists(name))
    except PySparkException:  # not written like a table's name
        return False


def _kind_by_name(path: str) -> SparkKind:
    """By the ending; a folder without one is taken for Parquet, which is what Spark writes."""
    endings = [ending for ending in PurePosixPath(path).suffixes if ending not in (".gz", ".bz2", ".zst", ".snappy")]
    return _BY_NAME.get(endings[-1].lower(), "parquet") if endings else "parquet"


def _read_parquet(source: SparkSource, *, engine: SparkEngine) -> Table:
    files = source.files
    hive = hive_types(files) if files is not None else {}
    reader = engine.session.read
    if files is not None and hive:
        reader = reader.option("basePath", f"file:{files.root}")
    frame = reader.parquet(*source.paths)
    if files is not None:
        _check_columns(files, source.shown, seen=set(frame.columns))
    if hive:
        stored = [name for name in frame.columns if name not in hive]
        frame = engine.frame(_recast(engine, engine.view(frame), (*stored, *sorted(hive)), hive))
    return _table(engine, frame, source.shown)


def _recast(
    engine: SparkEngine,
    relation: str,
    names: Sequence[str],
    types: Mapping[str, str],
    texts: Mapping[str, str] | None = None,
) -> str:
    """SQL for columns of a relation, those with a type cast to it."""
    cells = {name: engine.quote(name) for name in names}
    given = {**cells, **(texts or {})}
    cells |= {name: f"{engine.cast(given[name], type_)} AS {cells[name]}" for name, type_ in types.items()}
    return f"SELECT {', '.join(cells.values())} FROM {relation}"


def _check_columns(files: Files, shown: str, *, seen: set[str]) -> None:
    """Spark fills a column that a file lacks with nulls, and believes its own note on a file's columns, without a word."""
    import pyarrow.parquet as pq

    first: set[str] | None = None
    for path, name in zip(files.paths, files.shown(shown), strict=True):
        try:
            names = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{name} is not a readable Parquet file", hint="Is it cut off?") from error
        check_names(names, source=name)
        if first is not None and set(names) != first:
            raise other_columns(name, files.shown(shown)[0])
        first = set(names)
        if first - seen:
            raise BadInput(
                f"{name} has columns that Spark does not see: {', '.join(sorted(first - seen))}",
                hint="It was changed after Spark had written it, and still holds Spark's note on its columns: write it anew",
            )


def _read_csv(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> Table:
    found, files = _dialect(source, text, engine=engine), source.files
    check_names(found.names, source=source.shown)
    with engine.explained("read csv", source=source.shown):
        whole = files is not None and max(path.stat().st_size for path in files.paths) <= _LARGEST_WHOLE_FILE
        rows = engines.read_texts(
            engine, source.paths, found.names, found.delimiter, header=found.header, whole_files=whole
        )
        relation = engine.view(rows)
        cells = cell_types(engine, relation, found.names, decimal=text.decimal, delimiter=found.delimiter)
        texts = {name: with_dot(engine.quote(name)) for name in cells.commas}
        rows = _retyped(engine, rows, relation, cells.types, texts)
        return replace(_table(engine, rows, source.shown), reading=reading_of_text(found, cells))


def _dialect(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> Dialect:
    if source.files is None:
        with engine.explained("read the first lines", source=source.shown):
            lines = [row[0] for row in engine.session.read.text(list(source.paths)).limit(_SAMPLE_LINES).collect()]
        sample = engine.directory / f"sample{PurePosixPath(source.paths[0]).suffix}"
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_dialect(sample, delimiter=text.delimiter, header=text.header, shown=source.shown)
    shown = source.files.shown(source.shown)
    first, *others = (
        read_dialect(path, delimiter=text.delimiter, header=text.header, shown=name)
        for path, name in zip(source.files.paths, shown, strict=True)
    )
    for other, name in zip(others, shown[1:], strict=True):
        if other.names != first.names or other.delimiter != first.delimiter:
            hint = "Files that are read as one table need the same columns in the same order"
            raise BadInput(f"{name} is not written like {shown[0]}", hint=hint)
    return first


def _read_json(source: SparkSource, *, engine: SparkEngine) -> Table:
    is_array = source.files is not None and any(_starts_array(path) for path in source.files.paths)
    frame = engine.session.read.json(list(source.paths), mode="FAILFAST", multiLine=is_array)
    if not frame.columns:
        raise BadInput(f"{source.shown} holds no JSON objects with named values", hint="Write one object per line")
    texts = [field.name for field in frame.schema.fields if field.dataType.simpleString() == "string"]
    relation = engine.view(frame)
    types = column_types(engine, relation, texts, numbers=False)
    return _table(engine, _retyped(engine, frame, relation, types), source.shown)


def _starts_array(path: Path) -> bool:
    with pa.input_stream(str(path), compression=compression(path)) as stream:
        return bool(stream.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["))


def _retyped(
    engine: SparkEngine,
    frame: DataFrame,
    relation: str,
    types: Mapping[str, str],
    texts: Mapping[str, str] | None = None,
) -> DataFrame:
    """The frame behind a relation with text columns cast to types; `texts` says of some what is cast instead of the cell."""
    changed = {name: type_ for name, type_ in types.items() if type_ != "VARCHAR"}
    return engine.frame(_recast(engine, relation, frame.columns, changed, texts)) if changed else frame
