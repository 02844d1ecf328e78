# SPDX-License-Identifier: Apache-2.0
"""Files that Spark's workers write and read back: a folder of part files, in which nothing lies but the rows.

    table.parquet/part-00000.parquet, part-00001.parquet, ...

The workers write to the folder in which a release is staged, so that folder must be on storage that they share with this process.
Whether they see it is asked before the first row is written, and whether all parts arrived afterwards. Names, marks and checksums that
Spark adds are taken away, and so is what a catalog says about the columns.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from divulge.engines.spark import SparkEngine

ROWS_PER_PART = 500_000
LARGEST_READ_HERE = 256 << 20
"""Up to so many bytes a table is measured by DuckDB, which did not write it; a larger one by Spark, on all workers."""
_SHARED = "Name a folder on storage that this process and every worker share under the same path. Nothing was published"
# Moments as every reader of Parquet knows them, not in Spark's 96 bits.
_SETTINGS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
_PARQUET = {"compression": "zstd"}
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


def write_parts(engine: SparkEngine, sql: str, folder: Path, *, kind: str, delimiter: str, parts: int) -> None:
    """Have the workers write the rows of a query with so many partitions, in its order."""
    _check_shared(engine, folder.parent)
    frame = without_notes(engine.frame(sql))
    options: dict[str, Any] = dict(_PARQUET)
    if kind == "csv":
        frame = frame.selectExpr(*(_text(engine, name, type_) for name, type_ in frame.dtypes))
        options = _CSV | {"sep": delimiter}
    with engine.explained("write the table", source=folder.name), _settings(engine):
        frame.write.options(**options).save(cluster_path(folder), format=kind)
    _tidy(folder, parts)


def read_typed_texts(engine: SparkEngine, paths: Sequence[Path], types: Mapping[str, str], *, delimiter: str) -> str:
    """CSV files with a header, whose columns and types are known; a value that does not have its type is read as null."""
    with engine.explained("read csv", source=paths[0].name):
        # Spark would take an empty text for a null if it were not called something else meanwhile.
        uris = [uri(path) for path in paths]
        texts = engine.view(read_texts(engine, uris, list(types), delimiter, header=True, empty=_EMPTY))
        typed = []
        for name, type_ in types.items():
            text = f"CASE WHEN {engine.quote(name)} = {engine.literal(_EMPTY)} THEN '' ELSE {engine.quote(name)} END"
            value = engine.bytes_of(text) if type_ == "BLOB" else engine.cast(text, type_, attempt=True)
            typed.append(f"{value} AS {engine.quote(name)}")
        return f"(SELECT {', '.join(typed)} FROM {texts})"


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
def _settings(engine: SparkEngine) -> Iterator[None]:
    """Change settings of the session for as long as it takes to write."""
    session = engine.session
    before = {name: session.conf.getAll.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, own in before.items():
            session.conf.unset(name) if own is None else session.conf.set(name, own)


def _tidy(folder: Path, parts: int) -> None:
    """Leave nothing but the parts, under names that do not tell which job wrote them."""
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    written = [entry for entry in entries if entry.name.startswith("part-") and entry.is_file()]
    if len(written) < parts:
        raise BadInput(
            f"{len(written)} of the {parts} files that Spark's workers wrote arrived in {folder.parent.parent.parent}",
            hint=_SHARED,
        )
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry not in written:
            entry.unlink()
    for number, entry in enumerate(written):
        entry.rename(folder / f"part-{number:05d}{folder.suffix}")
