# SPDX-License-Identifier: Apache-2.0
"""Read tables with Spark: frames, tables of a catalog, and files, by the same rules as DuckDB.

Spark's workers read Parquet, ORC, and large CSV and JSON lines, from any place Spark can reach.
Small text files, and all other formats, are read here, on the driver, and moved: DuckDB reads text
more strictly than Spark does.
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
from divulge.sources.delimited import (
    UTF8,
    Dialect,
    cell_types,
    codec_of,
    column_types,
    notes_on_digits,
    read_dialect,
    read_dialects,
    reading_of_text,
    with_dot,
)
from divulge.sources.hive_partitions import (
    check_folders,
    folder_types,
    folder_values,
    refuse_folders,
)
from divulge.sources.json_files import exact_json_types
from divulge.sources.parquet_files import parquet_schemas
from divulge.sources.paths import LOGS, Files, compression, find_files, find_log_table
from divulge.sources.schemas import FileGroup, unite
from divulge.sources.table import (
    ReadOptions,
    ReadSettings,
    Table,
    check_names,
    check_range,
    table_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SparkKind = Literal["csv", "json", "parquet", "orc", "a table"]
_KIND_BY_SUFFIX: dict[str, SparkKind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
SMALL_TEXT = 64 << 20
"""Size in bytes up to which text files are read on the driver."""

# Up to this size one worker reads a whole CSV file, so that a quoted line end does not end a row.
# In larger files a record must be on one line.
_LARGEST_WHOLE_FILE = 1 << 30
_SAMPLE_LINES = 1_000
_FILE_SYSTEMS = "file hdfs viewfs ofs s3 s3a s3n gs abfs abfss wasb wasbs adl oss dbfs".split()
"""Schemes of addresses that Spark reads itself; the driver reads the others."""


@dataclass(frozen=True)
class SparkSource:
    """Source that Spark reads itself."""

    display_name: str
    kind: SparkKind
    paths: tuple[str, ...]
    files: Files | None = None
    """Files, if the driver sees them too."""

    def read(self, engine: SparkEngine, text: ReadOptions) -> Table:
        """Open the table."""
        if self.kind == "csv":
            return _read_csv(self, text, engine=engine)
        with engine.explained(f"read {self.kind}", source=self.display_name):
            if self.kind == "a table":
                table = _table(engine, engine.session.table(self.paths[0]), self.display_name)
                return replace(table, reading=ReadSettings("catalog"))
            if self.kind == "json":
                return _read_json(self, engine=engine)
            if self.kind == "parquet":
                return _read_parquet(self, text, engine=engine)
            return _read_remote_files(self, text, engine=engine)

    @property
    def may_be_several(self) -> bool:
        """True if the source may be several files whose columns can be united."""
        if self.files is not None:
            return len(self.files.paths) > 1
        return self.kind in ("parquet", "orc")


def find_spark_source(source: str, *, encoding: str, engine: SparkEngine) -> SparkSource | None:
    """Return a source that Spark can read itself; None if only the driver can read it."""
    scheme, separator, rest = source.partition("://")
    if separator and scheme.isalnum():
        if scheme not in _FILE_SYSTEMS:
            return None
        _refuse_remote_log(source, engine)
        return SparkSource(without_secrets(source), _kind_by_name(rest), (source,))
    if (
        not Path(source).expanduser().exists()
        and not glob.has_magic(source)
        and _is_table(source, engine)
    ):
        return SparkSource(source, "a table", (source,))
    if (lakehouse := find_log_table(Path(source).expanduser().absolute())) is not None:
        raise _log_table_error(source, lakehouse.format)
    files = find_files(source)
    if files.kind not in ("csv", "json", "parquet") or any(
        compression(path) == "zstd" for path in files.paths
    ):
        return None
    if (
        files.kind in ("csv", "json")
        and sum(path.stat().st_size for path in files.paths) <= SMALL_TEXT
    ):
        return None
    if files.kind == "csv" and codec_of(encoding).name not in UTF8:
        return None
    return SparkSource(source, files.kind, tuple(engines.uri(path) for path in files.paths), files)


def read_spark_frame(frame: DataFrame, *, engine: Any) -> Table:
    """Read a Spark frame in its own session."""
    if isinstance(engine, DuckDBEngine):
        raise BadInput(
            "a Spark frame cannot be read by DuckDB",
            hint="Pass frame.toArrow(), or leave the engine out",
        )
    session = frame.sparkSession
    if isinstance(engine, SparkEngine) and engine.session is session:
        frame_engine = engine
    else:
        frame_engine = SparkEngine(session)
    return replace(
        _table(frame_engine, frame, "the Spark frame"), reading=ReadSettings("spark frame")
    )


def moved_to_spark(table: Table, *, engine: SparkEngine) -> Table:
    """Move a table that was opened on the driver to the cluster."""
    rows = table.engine.query(f"SELECT * FROM {table.relation}")
    return replace(table, engine=engine, relation=engine.store(rows, source=table.source))


def _table(engine: SparkEngine, frame: DataFrame, display_name: str) -> Table:
    names = frame.columns
    check_names(names, source=display_name)
    if engine.ignores_case and len({name.lower() for name in names}) < len(names):
        raise BadInput(
            f"names of {display_name} differ only in upper and lower case, and this Spark "
            "session does not tell them apart",
            hint="Rename one of them, or set spark.sql.caseSensitive",
        )
    relation = engine.view(frame)
    # Texts are compared as they are, whatever the collation of a column. A column of only nulls is
    # text.
    unsupported = [
        name for name, type_ in frame.dtypes if type_.startswith(("void", "string collate"))
    ]
    if unsupported:
        relation = f"({_recast(engine, relation, names, dict.fromkeys(unsupported, 'STRING COLLATE UTF8_BINARY'))})"  # noqa: E501
    table = table_of(engine, relation, source=display_name)
    check_range(engine, relation, table.columns, source=display_name)
    return table


def _refuse_remote_log(source: str, engine: SparkEngine) -> None:
    """Raise an error for an address inside of a table with a log.

    Spark would read every Parquet file below it, even those that the log has removed.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    scheme, _, rest = source.partition("://")
    fixed = rest[: min((rest.find(sign) for sign in "*?[{" if sign in rest), default=len(rest))]
    for folder in (PurePosixPath(fixed), *PurePosixPath(fixed).parents[:-1]):
        for marker, form in LOGS.items():
            try:
                engine.session.read.format("binaryFile").load(  # noqa: B018 - looks for files
                    f"{scheme}://{folder}/{marker}"
                ).schema
            except AnalysisException as error:
                if "PATH_NOT_FOUND" not in str(error):
                    raise
            except Py4JJavaError as error:
                if "No FileSystem for scheme" not in str(error):
                    raise
                hint = "Add its Hadoop package to Spark, or read the table with DuckDB"
                raise BadInput(
                    f"this Spark has no file system for {scheme}:// addresses", hint=hint
                ) from None
            else:
                raise _log_table_error(source, form)


def _log_table_error(source: str, form: str) -> BadInput:
    return BadInput(
        f"{source} is or lies in a table of {form}, and Spark would read rows that its log says "
        "are gone",
        hint="Name it as a table of a catalog that knows the format, or read it without Spark",
    )


def _is_table(name: str, engine: SparkEngine) -> bool:
    from pyspark.errors import PySparkException

    try:
        return bool(engine.session.catalog.tableExists(name))
    except PySparkException:  # not the form of a table's name
        return False


def _kind_by_name(path: str) -> SparkKind:
    """Return the format by the extension; a folder without one is Parquet, which Spark writes."""
    endings = [
        ending
        for ending in PurePosixPath(path).suffixes
        if ending not in (".gz", ".bz2", ".zst", ".snappy")
    ]
    if endings:
        return _KIND_BY_SUFFIX.get(endings[-1].lower(), "parquet")
    return "parquet"


def _read_parquet(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> Table:
    """Read Parquet files; the driver reads their schemas too, unless only Spark can reach them."""
    if source.files is None:
        return _read_remote_files(source, text, engine=engine)
    files = source.files
    display_names = dict(zip(files.paths, files.display_names(source.display_name), strict=True))
    folders = folder_values(files)
    types = folder_types(folders)
    groups: dict[tuple[Any, ...], list[Path]] = {}
    for path, name in display_names.items():
        schema = _parquet_schema(path, name)
        stored_schema = tuple((field.name, str(field.type)) for field in schema)
        groups.setdefault((stored_schema, tuple(folders[path])), []).append(path)
    parts = []
    for (stored_schema, keys), paths in groups.items():
        hive = {key: types[key] for key in keys}
        names = [name for name, _ in stored_schema]
        if set(keys) & set(names):
            hive |= _check_folder_columns({path: folders[path] for path in paths}, display_names)
            names = [name for name in names if name not in hive]
        relation = _relation_of_files(
            engine, files, paths, names, hive, display_names=display_names
        )
        parts.append(
            FileGroup(
                tuple(display_names[path] for path in paths),
                relation,
                dict(engine.describe(relation)),
            )
        )
    united = unite(engine, parts, source=source.display_name, union_columns=text.union_columns)
    table = _table(engine, engine.frame(f"SELECT * FROM {united.relation}"), source.display_name)
    return replace(table, reading=ReadSettings("parquet", united.how, united.notes))


def _check_folder_columns(
    folders: Mapping[Path, Mapping[str, str]], display_names: Mapping[Path, str]
) -> dict[str, str]:
    """Compare folder columns with equal columns of the files, and return their types."""
    driver = DuckDBEngine()
    stored_types = parquet_schemas(driver, {path: display_names[path] for path in folders})
    columns = next(iter(stored_types.values()))
    check_folders(driver, folders, columns, display_names=display_names)
    return {key: columns[key] for key in next(iter(folders.values())) if key in columns}


def _parquet_schema(path: Path, name: str) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{name} is not a readable Parquet file", hint="Is it cut off?") from error
    check_names(schema.names, source=name)
    return schema


def _relation_of_files(
    engine: SparkEngine,
    files: Files,
    paths: Sequence[Path],
    names: Sequence[str],
    hive: Mapping[str, str],
    *,
    display_names: Mapping[Path, str],
) -> str:
    """Return the relation that reads files of one schema, with the columns of folders."""
    reader = engine.session.read
    if hive:
        reader = reader.option("basePath", f"file:{files.root}")
    frame = reader.parquet(*map(engines.uri, paths))
    # Spark trusts its own note on a file's columns, whatever the file holds.
    if unseen := [name for name in names if name not in frame.columns]:
        raise BadInput(
            f"{display_names[paths[0]]} has columns that Spark does not see: "
            f"{', '.join(sorted(unseen))}",
            hint="It was changed after Spark had written it, and still holds Spark's note on its "
            "columns: write it anew",
        )
    relation = engine.view(frame)
    if hive:
        return f"({_recast(engine, relation, (*names, *sorted(hive)), hive)})"
    return relation


def _read_remote_files(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> Table:
    """Read Parquet or ORC files that only Spark can reach, after a check of the schema of each."""

    def load(*paths: str) -> DataFrame:
        return engine.session.read.format(source.kind).load(list(paths))

    frame = load(*source.paths)
    paths = frame.inputFiles()
    if len(paths) == 1:
        return replace(
            _table(engine, frame, source.display_name), reading=ReadSettings(source.kind)
        )
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for path in paths:
        groups.setdefault(tuple(load(path).dtypes), []).append(path)
    if len(groups) == 1:
        return replace(
            _table(engine, frame, source.display_name), reading=ReadSettings(source.kind)
        )
    parts = []
    for group_paths in groups.values():
        relation = engine.view(
            engine.session.read.format(source.kind)
            .option("basePath", source.paths[0])
            .load(group_paths)
        )
        files = tuple(PurePosixPath(path).name for path in group_paths)
        parts.append(FileGroup(files, relation, dict(engine.describe(relation))))
    united = unite(engine, parts, source=source.display_name, union_columns=text.union_columns)
    table = _table(engine, engine.frame(f"SELECT * FROM {united.relation}"), source.display_name)
    return replace(table, reading=ReadSettings(source.kind, united.how, united.notes))


def _recast(
    engine: SparkEngine,
    relation: str,
    names: Sequence[str],
    types: Mapping[str, str],
    texts: Mapping[str, str] | None = None,
) -> str:
    """Return SQL for columns of a relation; columns with a type are cast to it."""
    cells = {name: engine.quote(name) for name in names}
    all_cells = {**cells, **(texts or {})}
    cells |= {
        name: f"{engine.cast(all_cells[name], type_)} AS {cells[name]}"
        for name, type_ in types.items()
    }
    return f"SELECT {', '.join(cells.values())} FROM {relation}"


def _refuse_folders(source: SparkSource, frame: DataFrame) -> None:
    """Raise an error for key=value folders of text files, which Spark or the reader ignores."""
    if source.files is not None:
        files = source.files.display_names(source.display_name)
    else:
        root = source.paths[0].rstrip("/")
        files = tuple(path.removeprefix(root).lstrip("/") for path in frame.inputFiles())
    refuse_folders(files, source=source.display_name)


def _read_csv(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> Table:
    files = source.files
    fits_whole = (
        files is not None
        and max(path.stat().st_size for path in files.paths) <= _LARGEST_WHOLE_FILE
    )
    dialects = _dialects(source, text, engine=engine)
    groups: dict[tuple[str, ...], list[str]] = {}
    for path, dialect in dialects.items():
        groups.setdefault(dialect.names, []).append(path)
    first = next(iter(dialects.values()))
    display_names = {source.paths[0]: source.display_name}
    if files is not None:
        display_names = dict(
            zip(source.paths, files.display_names(source.display_name), strict=True)
        )
    with engine.explained("read csv", source=source.display_name):
        parts = []
        for names, paths in groups.items():
            rows = engines.read_texts(
                engine,
                paths,
                names,
                first.delimiter,
                header=first.header,
                whole_files=fits_whole,
                same_header=files is None,
            )
            _refuse_folders(source, rows)
            types = dict.fromkeys(names, "VARCHAR")
            parts.append(
                FileGroup(tuple(display_names[path] for path in paths), engine.view(rows), types)
            )
        united = unite(engine, parts, source=source.display_name, union_columns=text.union_columns)
        columns = tuple(dict.fromkeys(name for names in groups for name in names))
        cells = cell_types(
            engine, united.relation, columns, decimal=text.decimal, delimiter=first.delimiter
        )
        texts = {name: with_dot(engine.quote(name)) for name in cells.commas}
        changed_types = {name: type_ for name, type_ in cells.types.items() if type_ != "VARCHAR"}
        rows = engine.frame(_recast(engine, united.relation, columns, changed_types, texts))
        return replace(
            _table(engine, rows, source.display_name), reading=reading_of_text(first, cells, united)
        )


def _dialects(source: SparkSource, text: ReadOptions, *, engine: SparkEngine) -> dict[str, Dialect]:
    """Return the dialect of each file.

    For files that only Spark can reach, it is the dialect of the first lines.
    """
    if source.files is None:
        with engine.explained("read the first lines", source=source.display_name):
            lines = [
                row[0]
                for row in engine.session.read.text(list(source.paths))
                .limit(_SAMPLE_LINES)
                .collect()
            ]
        sample = engine.directory / f"sample{PurePosixPath(source.paths[0]).suffix}"
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        dialect = read_dialect(
            sample, delimiter=text.delimiter, header=text.header, display_name=source.display_name
        )
        check_names(dialect.names, source=source.display_name)
        return {source.paths[0]: dialect}
    display_names = dict(
        zip(source.files.paths, source.files.display_names(source.display_name), strict=True)
    )
    dialects = read_dialects(display_names, text)
    return dict(zip(source.paths, dialects.values(), strict=True))


def _read_json(source: SparkSource, *, engine: SparkEngine) -> Table:
    is_array = source.files is not None and _are_arrays(source.files, source.display_name)
    frame = engine.session.read.json(list(source.paths), mode="FAILFAST", multiLine=is_array)
    _refuse_folders(source, frame)
    if not frame.columns:
        raise BadInput(
            f"{source.display_name} holds no JSON objects with named values",
            hint="Write one object per line",
        )
    fields = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    numbers = [name for name, type_ in fields.items() if type_ == "double"]
    if numbers:
        frame = _with_texts(source, frame, numbers, engine=engine, is_array=is_array)
    relation = engine.view(frame)
    types = column_types(
        engine, relation, [name for name in fields if fields[name] == "string"], numbers=False
    )
    types |= exact_json_types(engine, relation, numbers)
    table = _table(engine, _cast_texts(engine, frame, relation, types), source.display_name)
    notes = notes_on_digits({name: types[name] for name in numbers if types[name] != "DOUBLE"})
    return replace(table, reading=ReadSettings("json", {}, tuple(notes)))


def _with_texts(
    source: SparkSource,
    frame: DataFrame,
    names: Sequence[str],
    *,
    engine: SparkEngine,
    is_array: bool,
) -> DataFrame:
    """Return the frame of JSON files with the numbers of some keys as texts, as written."""
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [
        StructField(field.name, StringType()) if field.name in names else field
        for field in frame.schema.fields
    ]
    reader = engine.session.read.schema(StructType(fields))
    return reader.json(list(source.paths), mode="FAILFAST", multiLine=is_array)


def _are_arrays(files: Files, source: str) -> bool:
    """Return whether the files are arrays of objects; arrays and lines together raise an error.

    Spark would read only the first line of the files of lines.
    """
    arrays = [path for path in files.paths if _starts_array(path)]
    lines = [path for path in files.paths if path not in arrays]
    if arrays and lines:
        raise BadInput(
            f"{source} holds arrays of objects ({arrays[0].name}) and lines of objects "
            f"({lines[0].name})",
            hint="Write all files alike, or name one kind with a glob",
        )
    return bool(arrays)


def _starts_array(path: Path) -> bool:
    with pa.input_stream(str(path), compression=compression(path)) as stream:
        return bool(stream.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["))


def _cast_texts(
    engine: SparkEngine,
    frame: DataFrame,
    relation: str,
    types: Mapping[str, str],
    texts: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the frame of a relation with text columns cast to types.

    `texts` maps some columns to an expression that is cast instead of the cell.
    """
    changed_types = {name: type_ for name, type_ in types.items() if type_ != "VARCHAR"}
    if changed_types:
        return engine.frame(_recast(engine, relation, frame.columns, changed_types, texts))
    return frame
