# SPDX-License-Identifier: Apache-2.0
"""Reads frames that are already in memory: pandas, Polars (eager and lazy), Arrow tables, readers and datasets.

The libraries are looked up among the modules that the caller has loaded, so that reading a file never imports them.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput
from divulge.table.columnar import check_schema
from divulge.table.table import Frame, Table, check_names, table_of


def read_frame(frame: object, *, engine: DuckDBEngine) -> Table | None:
    """The table in a frame of a kind we know, or None."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _registered(engine, _from_pandas(frame), source="the pandas frame", frame="pandas")
    if polars is not None and isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return _read_polars(frame, engine=engine)
    if isinstance(frame, pa.RecordBatchReader):
        check_schema(frame.schema, source="the Arrow reader")
        return table_of(engine, engine.store(frame), source="the Arrow reader", frame="arrow")
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _registered(engine, frame, source="the Arrow table", frame="arrow")
    return _read_dataset(frame, engine=engine)


def _read_dataset(frame: object, *, engine: DuckDBEngine) -> Table | None:
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is None or not isinstance(frame, dataset.Dataset):
        return None
    check_schema(frame.schema, source="the Arrow dataset")
    return table_of(
        engine, engine.register(engine.fresh_name("frame"), frame), source="the Arrow dataset", frame="arrow"
    )


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
    return table_of(engine, relation, source="the Polars frame", frame="polars")


def _registered(engine: DuckDBEngine, table: pa.Table, *, source: str, frame: Frame) -> Table:
    check_schema(table.schema, source=source)
    return table_of(engine, engine.register(engine.fresh_name("frame"), table), source=source, frame=frame)


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
