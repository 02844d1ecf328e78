# SPDX-License-Identifier: Apache-2.0
"""Types on both sides of Spark: by the names that DuckDB uses, so that a table is described alike on every engine; and from Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from divulge.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_NAMES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "binary": "BLOB",
    "void": "NULL",
    "variant": "VARIANT",
}
# Spark has no unsigned integers, no nanoseconds and no dictionaries; each goes to the next type that holds all its values.
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
    pa.null(): pa.string(),
}


def type_name(type_: DataType) -> str:
    """A Spark type by the name DuckDB has for it."""
    text = type_.simpleString()
    if text.startswith(("string", "char", "varchar")):
        return "VARCHAR"
    if text.startswith("decimal"):
        return text.upper()
    if text.startswith("array"):
        return f"{type_name(getattr(type_, 'elementType'))}[]"  # noqa: B009 - only array types have it
    if text.startswith(("struct", "map")):
        return text.partition("<")[0].upper() + "(...)"
    return _NAMES.get(text, text.upper())


def for_spark(table: pa.Table, *, source: str) -> tuple[pa.Table, StructType]:
    """An Arrow table in types that Spark has, and Spark's schema for it; a value that would change is refused."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        target = _spark_arrow(field.type)
        try:
            columns.append(column if target == field.type else column.cast(target))
            fields.append(StructField(field.name, from_arrow_type(target, prefer_timestamp_ntz=True)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, PySparkException) as error:
            raise BadInput(
                f"the column {field.name!r} of {source} has the type {field.type}, which Spark cannot hold without a change",
                hint="Cast it, or leave it out",
            ) from error
    return pa.Table.from_arrays(columns, names=table.column_names), StructType(fields)


def _spark_arrow(type_: pa.DataType) -> pa.DataType:
    """The Arrow type in which Spark can take every value of another one."""
    if pa.types.is_dictionary(type_):
        return _spark_arrow(type_.value_type)
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC" if type_.tz else None)
    if pa.types.is_decimal(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if pa.types.is_fixed_size_binary(type_):
        return pa.binary()
    return _WIDER.get(type_, type_)
