# SPDX-License-Identifier: Apache-2.0
"""Types on both sides of Spark: by the names that DuckDB uses, so that a table is described alike on every engine; and from Arrow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from divulge.engines.spark_session import first_line
from divulge.errors import BadInput, DivulgeError, InternalError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


# Where DuckDB's name is another one than Spark's in capitals.
_NAMES = {
    "int": "INTEGER",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "binary": "BLOB",
    "void": "NULL",
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
            told = f"the column {field.name!r} of {source} has the type {field.type}"
            raise BadInput(f"{told}, which Spark cannot hold without a change", hint=_CAST) from error
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


# --- failures ---------------------------------------------------------------------------------------------------------
# As with DuckDB, data that cannot be read is the user's matter, and a statement that Spark refuses is a bug of ours and
# carries the SQL. Java's stack traces and the rows they quote are left out: rows are somebody's data, and errors end up in logs.
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")

# What Spark calls it, what it means, what to do.
# The inner reason stands before the outer one: a malformed line also is a file that cannot be read.
_MEND = "Mend the file, or pass the right delimiter"
_SEEN = "Every worker must see the file under the same path"
_ROOM = "Every worker must be able to write there, and find room"
_CAST = "Cast it, or leave it out"
_INPUT = (
    ("MALFORMED_CSV_RECORD", "a line does not have the fields of the first one", _MEND),
    ("MALFORMED_RECORD_IN_PARSING", "a record is malformed", _MEND),
    ("PATH_NOT_FOUND", "a file does not exist", _SEEN),
    ("FAILED_READ_FILE.FILE_NOT_EXIST", "a file does not exist", _SEEN),
    ("FAILED_READ_FILE", "a file cannot be read", "Is it damaged?"),
    ("CANNOT_READ_FILE_FOOTER", "a file cannot be read", "Is it damaged?"),
    ("TASK_WRITE_FAILED", "a worker cannot write its part of the table", _ROOM),
    ("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "a column has a type that files of this format cannot hold", _CAST),
    ("GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", "a column has values that cannot be compared", _CAST),
    ("UNABLE_TO_INFER_SCHEMA", "the files hold no columns", "Name files that hold a table"),
)

# The same three where Spark gives no condition, only a text.
_WILD = "Spark cannot read a path with both ':' and a wildcard in a name"
_TOLD = (
    ("maximum number of characters", "a value has more than a million characters", "Is a quote not closed?"),
    ("Relative path in absolute URI", _WILD, "Name it otherwise"),
)
_MEMORY = (
    ("maxResultSize", "the result is too large for the driver", "Raise spark.driver.maxResultSize"),
    ("OutOfMemoryError", "memory ran out", "Raise spark.driver.memory or spark.executor.memory"),
)
_CLOSED = re.compile(
    r"stopped SparkContext|SparkContext was shut down|NO_ACTIVE_SESSION|INVALID_HANDLE\.SESSION|UNAVAILABLE"
)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def explain_spark(error: Exception, *, sql: str, source: str = "") -> DivulgeError:
    """The error to raise for work that failed in Spark."""
    text = str(error)
    conditions = _CONDITION.findall(text)
    where = f"{source}: " if source else ""
    for sign, reason, hint in _TOLD:
        if sign in text:
            return BadInput(f"{where}{reason}", hint=hint)
    for condition, reason, hint in _INPUT:
        if any(found == condition or found.startswith(f"{condition}.") for found in conditions):
            return BadInput(f"{where}{reason}", hint=hint)
    for sign, reason, hint in _MEMORY:
        if sign in text:
            return DivulgeError(f"{where}{reason}", hint=hint)
    if module := _NO_MODULE.search(text):
        missing = f"the Python of Spark's workers has no {module.group(1)}"
        return BadInput(missing, hint="Install numpy and pyarrow there")
    if "PYTHON_VERSION_MISMATCH" in text:
        told = "Spark's workers run another Python than this one"
        return BadInput(told, hint="Set spark.pyspark.python to the same version")
    if _CLOSED.search(text):
        return DivulgeError(f"the Spark session is gone: {first_line(error)}", hint="Start it again")
    return InternalError(f"Spark refused a statement: {first_line(error)}; the statement was: {sql}")
