# SPDX-License-Identifier: Apache-2.0
"""A table that Spark's workers write: a folder of part files, in which nothing lies but the rows.

    table.parquet/part-00000.parquet, part-00001.parquet, ...

The workers write to the folder in which a release is staged, so that folder must be on storage that they share with this process.
Whether they see it is asked before the first row is written, and whether all parts arrived afterwards. Names, marks and checksums that
Spark adds are taken away, and so is what a catalog says about the columns.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge.engines.choose import OwnEngine
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput
from divulge.table.spark import uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from divulge.publish.formats import Format

ROWS_PER_PART = 500_000
LARGEST_READ_HERE = 256 << 20
"""Up to so many bytes a table is read back by DuckDB, which did not write it; a larger one by Spark, on all workers."""
_SHARED = "Name a folder on storage that this process and every worker share under the same path. Nothing was published"
# Moments as every reader of Parquet knows them, not in Spark's 96 bits.
_SETTINGS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
_MOMENT = "yyyy-MM-dd HH:mm:ss.SSSSSSxxx"
_BYTE = r"\\x$1"


def part_count(engine: OwnEngine, rows: int) -> int:
    """How many files a table of so many rows is written to: a function of what is published, not of how the source was spread."""
    return max(-(-rows // ROWS_PER_PART), 1) if isinstance(engine, SparkEngine) else 1


def reader_for(engine: OwnEngine, path: Path) -> OwnEngine:
    """A new engine that reads back what another one wrote."""
    size = sum(entry.stat().st_size for entry in path.iterdir()) if path.is_dir() else 0
    if isinstance(engine, SparkEngine) and size > LARGEST_READ_HERE:
        return SparkEngine(engine.session, search_limit=engine.search_limit)
    return DuckDBEngine()


def write_parts(engine: SparkEngine, sql: str, folder: Path, *, form: Format, parts: int) -> None:
    """Have the workers write the rows of a query with so many partitions, in its order."""
    _check_shared(engine, folder.parent)
    frame = without_notes(engine.frame(sql))
    if form.kind == "csv":
        frame = frame.selectExpr(*(_text(engine, name, type_) for name, type_ in frame.dtypes))
    options: dict[str, Any] = (
        {"compression": "zstd"}
        if form.kind == "parquet"
        else {
            "header": True,
            "sep": form.delimiter,
            "quote": '"',
            "escape": '"',
            "nullValue": "",
            "emptyValue": '""',
            "ignoreLeadingWhiteSpace": False,
            "ignoreTrailingWhiteSpace": False,
            "lineSep": "\n",
        }
    )
    with engine.explained("write the table", source=folder.name), _settings(engine):
        frame.write.options(**options).save(cluster_path(folder), format=form.kind)
    _tidy(folder, form, parts)


def cluster_path(path: Path) -> str:
    """A local path as Spark wants it for writing, whatever its default file system is; for reading, see `uri`."""
    return f"file:{path}"


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


def without_notes(frame: DataFrame) -> DataFrame:
    """The frame without comments and other notes on its columns, which Spark would write into the files."""
    for field in frame.schema.fields:
        if field.metadata:
            frame = frame.withMetadata(field.name, {})
    return frame


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


def _tidy(folder: Path, form: Format, parts: int) -> None:
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
        entry.rename(folder / f"part-{number:05d}{form.ending}")
