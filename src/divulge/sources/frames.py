# SPDX-License-Identifier: Apache-2.0
"""Read frames in memory.

Frames are those of pandas and Polars (eager and lazy), Arrow tables, readers and datasets. Their
libraries are looked up among the modules that the caller has loaded, so that reading a file never
imports them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from divulge.arguments import outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.sources.arrow_files import dataset_relation
from divulge.sources.arrow_values import checked_reader, exact_table
from divulge.sources.table import DECIMAL_DIGITS, Frame, ReadSettings, Table, check_names, table_of


def read_frame(frame: object, *, engine: DuckDBEngine) -> Table | None:
    """Return the table in a frame of a known kind, or None."""
    pandas, polars, dataset = map(sys.modules.get, ("pandas", "polars", "pyarrow.dataset"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        from divulge.sources.pandas_columns import arrow_table

        return _register_table(
            engine, arrow_table(frame), source="the pandas frame", frame="pandas"
        )
    if polars is not None and isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return _read_polars(frame, engine=engine)
    if isinstance(frame, pa.RecordBatchReader):
        reading = ReadSettings("arrow reader")
        relation = engine.store(checked_reader(frame, source="the Arrow reader"))
        return table_of(engine, relation, source="the Arrow reader", frame="arrow", reading=reading)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _register_table(engine, frame, source="the Arrow table", frame="arrow")
    if dataset is not None and isinstance(frame, dataset.Dataset):
        relation = dataset_relation(engine, frame, source="the Arrow dataset")
        reading = ReadSettings("arrow dataset")
        return table_of(
            engine, relation, source="the Arrow dataset", frame="arrow", reading=reading
        )
    return None


def _read_polars(frame: Any, *, engine: DuckDBEngine) -> Table:
    pl = sys.modules["polars"]
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInput(f"the Polars frame cannot be read: {outside(error)}") from error
    check_names(schema.names(), source="the Polars frame")
    objects = [name for name, type_ in schema.items() if type_ == pl.Object]
    if objects:
        raise BadInput(
            f"the column {objects[0]!r} of the Polars frame holds Python objects",
            hint="Cast it to a Polars type",
        )
    frame = _with_arrow_types(frame, schema)
    if isinstance(frame, pl.DataFrame):
        return _register_table(engine, frame.to_arrow(), source="the Polars frame", frame="polars")
    relation = engine.register(engine.fresh_name("frame"), frame)
    return table_of(
        engine,
        relation,
        source="the Polars frame",
        frame="polars",
        reading=ReadSettings("polars frame"),
    )


def _with_arrow_types(frame: Any, schema: Mapping[str, Any]) -> Any:
    """Return a Polars frame without the types that Arrow does not have: Int128 and Float16."""
    pl = sys.modules["polars"]
    casts = []
    for name, type_ in schema.items():
        words = str(type_)
        if words == "Float16":
            casts.append(pl.col(name).cast(pl.Float32))
        elif words in ("Int128", "UInt128"):
            bounds = frame.lazy().select(low=pl.col(name).min(), high=pl.col(name).max()).collect()
            if any(
                abs(bound) >= 10**DECIMAL_DIGITS for bound in bounds.row(0) if bound is not None
            ):
                raise BadInput(
                    f"the column {name!r} of the Polars frame has integers of more than "
                    f"{DECIMAL_DIGITS} digits",
                    hint="Cast it to pl.String",
                )
            casts.append(pl.col(name).cast(pl.Decimal(DECIMAL_DIGITS, 0)))
        elif "Int128" in words or "Float16" in words:
            raise BadInput(
                f"the column {name!r} of the Polars frame has the type {words}, which Arrow does "
                "not know",
                hint="Cast it to 64 bits, or to text",
            )
    if casts:
        return frame.with_columns(casts)
    return frame


def _register_table(engine: DuckDBEngine, table: pa.Table, *, source: str, frame: Frame) -> Table:
    relation = engine.register(engine.fresh_name("frame"), exact_table(table, source=source))
    reading = ReadSettings(source.removeprefix("the ").lower())
    return table_of(engine, relation, source=source, frame=frame, reading=reading)
