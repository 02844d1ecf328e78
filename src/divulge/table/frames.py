# SPDX-License-Identifier: Apache-2.0
"""Reads Parquet and Arrow IPC files, and frames in memory: pandas, Polars (eager and lazy), Arrow tables, readers and datasets.

Libraries of frames are looked up among the modules that the caller has loaded, so that reading a file never imports them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.table.paths import Files
from divulge.table.table import Frame, HowRead, Table, check_names, table_of

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def read_parquet(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in one or more Parquet files; key=value folders (Hive) become columns."""
    known_as = dict(zip(files.paths, files.shown(source), strict=True))
    relation = engine.parquet(files.paths, known_as=known_as, hive=hive_types(files))
    check_names(_stored_names(engine, files.paths[0], source=source), source=source)
    return table_of(engine, relation, source=source, reading=HowRead("parquet"))


def read_arrow(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in Arrow IPC files (also called Feather), scanned from disk as often as needed."""
    import pyarrow.dataset as ds  # it imports pandas, which takes longer than all the rest

    try:
        schemas = [_stored_schema(path) for path in files.paths]
        check_schema(schemas[0], source=source)
        dataset = ds.dataset([str(path) for path in files.paths], format="ipc", schema=schemas[0])
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{source} is not a readable Arrow file: {error}", hint="Is it cut off?") from error
    for schema, name in zip(schemas, files.shown(source), strict=True):
        # A dataset would fill a missing column with nulls without a word.
        if set(schema.names) != set(schemas[0].names):
            raise other_columns(name, files.shown(source)[0])
    relation = engine.register(engine.fresh_name("arrow"), dataset)
    return table_of(engine, relation, source=source, reading=HowRead("arrow"))


def read_arrow_stream(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in an Arrow IPC stream; it can be read only from front to back, so the engine keeps it."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} Arrow streams", hint="Read one, or write them as Arrow files")
    try:
        with pa.memory_map(str(files.paths[0])) as file, pa.ipc.open_stream(file) as reader:
            check_schema(reader.schema, source=source)
            relation = engine.store(reader)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{source} is not a readable Arrow stream: {error}", hint="Is it cut off?") from error
    return table_of(engine, relation, source=source, reading=HowRead("arrow"))


def check_schema(schema: pa.Schema, *, source: str) -> None:
    """Refuse names that SQL cannot tell apart, and the two Arrow types that DuckDB does not know."""
    check_names(schema.names, source=source)
    for field in schema:
        if pa.types.is_float16(field.type) or pa.types.is_decimal256(field.type):
            raise BadInput(
                f"the column {field.name!r} of {source} has the type {field.type}, which DuckDB does not know",
                hint="Cast it to float32, float64 or decimal128",
            )


def other_columns(name: str, first: str) -> BadInput:
    """A file that does not fit the first one."""
    hint = "Files that are read as one table need the same columns"
    return BadInput(f"{name} does not have the columns of {first}", hint=hint)


def _stored_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def _stored_names(engine: DuckDBEngine, path: Path, *, source: str) -> list[str]:
    """The names as they stand in the file: DuckDB would rename the second of two equal ones without a word."""
    listed = engine.files([path], known_as={})
    try:
        nodes = engine.query(f"SELECT name, num_children FROM parquet_schema({listed})").to_pylist()
    except InternalError as error:
        raise BadInput(f"{source} is not a readable Parquet file", hint="Is it cut off?") from error
    names = []
    open_children: list[int] = []
    for node in nodes:
        # The tree is written depth first: a node whose only open ancestor is the root is a column.
        if len(open_children) == 1:
            names.append(node["name"])
        if open_children:
            open_children[-1] -= 1
        open_children.append(node["num_children"] or 0)
        while open_children and open_children[-1] == 0:
            open_children.pop()
    return names


def hive_types(files: Files) -> dict[str, str]:
    """The columns that key=value folders below the root add: whole numbers if all are written so, else text."""
    found: dict[str, list[str]] = {}
    for path in files.paths:
        for folder in path.relative_to(files.root).parent.parts:
            key, equals, value = folder.partition("=")
            if equals and key:
                found.setdefault(unquote(key), []).append(unquote(value))
    known = {key: [value for value in values if value != _NO_VALUE] for key, values in found.items()}
    return {
        key: "BIGINT" if texts and all(map(_INTEGER.fullmatch, texts)) else "VARCHAR" for key, texts in known.items()
    }


# --- frames -----------------------------------------------------------------------------------------------------------
def read_frame(frame: object, *, engine: DuckDBEngine) -> Table | None:
    """The table in a frame of a kind we know, or None."""
    pandas, polars, dataset = map(sys.modules.get, ("pandas", "polars", "pyarrow.dataset"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _registered(engine, _from_pandas(frame), source="the pandas frame", frame="pandas")
    if polars is not None and isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return _read_polars(frame, engine=engine)
    if isinstance(frame, pa.RecordBatchReader):
        check_schema(frame.schema, source="the Arrow reader")
        reading = HowRead("arrow reader")
        return table_of(engine, engine.store(frame), source="the Arrow reader", frame="arrow", reading=reading)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _registered(engine, frame, source="the Arrow table", frame="arrow")
    if dataset is not None and isinstance(frame, dataset.Dataset):
        return _registered(engine, frame, source="the Arrow dataset", frame="arrow")
    return None


def _read_polars(frame: Any, *, engine: DuckDBEngine) -> Table:
    pl = sys.modules["polars"]
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInput(f"the Polars frame cannot be read: {error}") from error
    check_names(schema.names(), source="the Polars frame")
    objects = [name for name, type_ in schema.items() if type_ == pl.Object]
    if objects:
        raise BadInput(
            f"the column {objects[0]!r} of the Polars frame holds Python objects", hint="Cast it to a Polars type"
        )
    if isinstance(frame, pl.DataFrame):
        return _registered(engine, frame.to_arrow(), source="the Polars frame", frame="polars")
    relation = engine.register(engine.fresh_name("frame"), frame)
    return table_of(engine, relation, source="the Polars frame", frame="polars", reading=HowRead("polars frame"))


def _registered(engine: DuckDBEngine, table: Any, *, source: str, frame: Frame) -> Table:
    check_schema(table.schema, source=source)
    relation, reading = engine.register(engine.fresh_name("frame"), table), HowRead(source.removeprefix("the ").lower())
    return table_of(engine, relation, source=source, frame=frame, reading=reading)


def _from_pandas(frame: Any) -> pa.Table:
    """The columns as Arrow, without the index; missing values of every kind become null."""
    if frame.columns.nlevels > 1:
        raise BadInput("the pandas frame has column names of several levels", hint="Flatten them to one name each")
    names = [str(name) if name is not None else "" for name in frame.columns]
    columns = [_arrow_column(frame.iloc[:, i], name) for i, name in enumerate(names)]
    return pa.Table.from_arrays(columns, names=names)


def _arrow_column(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    pd = sys.modules["pandas"]
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _arrow_categories(series, name)
    if isinstance(series.dtype, pd.IntervalDtype | pd.PeriodDtype):
        series = series.astype(object).map(str, na_action="ignore")
    elif isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        column = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        types = sorted({type(value).__name__ for value in series.dropna()})
        raise BadInput(
            f"the column {name!r} of the pandas frame holds values that cannot stand in one column: {', '.join(types)}",
            hint=f"Make them one type, for example frame[{name!r}].astype(str)",
        ) from error
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def _arrow_categories(series: Any, name: str) -> pa.Array:
    """A categorical column; its categories may be texts, numbers, dates or the intervals that pandas.cut makes."""
    categories = _arrow_column(series.cat.categories.to_series(), name)
    if isinstance(categories, pa.ChunkedArray):
        categories = categories.combine_chunks()
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)
