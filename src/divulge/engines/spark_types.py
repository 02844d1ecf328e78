# SPDX-License-Identifier: Apache-2.0
"""Types of Spark by DuckDB's names, and conversion of Arrow types for Spark.

A table is described with the same type names on every engine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from divulge.arguments import outside
from divulge.engines.spark_session import first_line
from divulge.errors import BadInput, DivulgeError, InternalError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


# DuckDB's names that are not Spark's in capitals.
_DUCKDB_NAMES = {
    "int": "INTEGER",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "binary": "BLOB",
    "void": "NULL",
}

# Spark has no unsigned integers, no nanoseconds and no dictionaries. Each becomes the next type
# that holds all its values.
_SPARK_ARROW_TYPES = {
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
    """Return DuckDB's name of a Spark type."""
    text = type_.simpleString()
    if text.startswith(("string", "char", "varchar")):
        return "VARCHAR"
    if text.startswith("decimal"):
        return text.upper()
    if text.startswith("array"):
        return f"{type_name(getattr(type_, 'elementType'))}[]"  # noqa: B009 - only array types have it
    if text.startswith(("struct", "map")):
        return text.partition("<")[0].upper() + "(...)"
    return _DUCKDB_NAMES.get(text, text.upper())


def for_spark(table: pa.Table, *, source: str) -> tuple[pa.Table, StructType]:
    """Convert an Arrow table to types that Spark has; return it with Spark's schema.

    Raises:
        BadInput: If a value would change.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    columns = []
    fields = []
    for field, column in zip(table.schema, table.columns, strict=True):
        target = _spark_arrow_type(field.type)
        try:
            columns.append(column if target == field.type else column.cast(target))
            fields.append(
                StructField(field.name, from_arrow_type(target, prefer_timestamp_ntz=True))
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, PySparkException) as error:
            message = f"the column {field.name!r} of {source} has the type {field.type}"
            raise BadInput(
                f"{message}, which Spark cannot hold without a change", hint=_CAST_HINT
            ) from error
    return pa.Table.from_arrays(columns, names=table.column_names), StructType(fields)


def _spark_arrow_type(type_: pa.DataType) -> pa.DataType:
    """Return the Arrow type of Spark that holds every value of another type."""
    if pa.types.is_dictionary(type_):
        return _spark_arrow_type(type_.value_type)
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC" if type_.tz else None)
    if pa.types.is_decimal(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if pa.types.is_fixed_size_binary(type_):
        return pa.binary()
    return _SPARK_ARROW_TYPES.get(type_, type_)


# --- failures -------------------------------------------------------------------------------------
# As with DuckDB, data that cannot be read is the user's matter. A statement that Spark rejects is a
# bug of ours and carries the SQL. Java's stack traces and the rows they quote are left out, because
# rows are personal data and errors end up in logs.
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")

# Spark's error condition, its meaning, the remedy. The inner reason comes before the outer one: a
# malformed line is also a file that cannot be read.
_MEND_HINT = "Mend the file, or pass the right delimiter"
_SHARED_PATH_HINT = "Every worker must see the file under the same path"
_WRITE_HINT = "Every worker must be able to write there, and find room"
_CAST_HINT = "Cast it, or leave it out"
_CONDITION_FAILURES = (
    ("MALFORMED_CSV_RECORD", "a line does not have the fields of the first one", _MEND_HINT),
    ("MALFORMED_RECORD_IN_PARSING", "a record is malformed", _MEND_HINT),
    ("PATH_NOT_FOUND", "a file does not exist", _SHARED_PATH_HINT),
    ("FAILED_READ_FILE.FILE_NOT_EXIST", "a file does not exist", _SHARED_PATH_HINT),
    ("FAILED_READ_FILE", "a file cannot be read", "Is it damaged?"),
    ("CANNOT_READ_FILE_FOOTER", "a file cannot be read", "Is it damaged?"),
    ("TASK_WRITE_FAILED", "a worker cannot write its part of the table", _WRITE_HINT),
    (
        "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
        "a column has a type that files of this format cannot hold",
        _CAST_HINT,
    ),
    (
        "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
        "a column has values that cannot be compared",
        _CAST_HINT,
    ),
    ("UNABLE_TO_INFER_SCHEMA", "the files hold no columns", "Name files that hold a table"),
    (
        "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
        "it has decimals of more than 38 digits",
        "Read it without Spark",
    ),
    (
        "PARQUET_TYPE_ILLEGAL",
        "it has a type that Spark does not read, such as nanoseconds",
        "Read it without Spark",
    ),
    (
        "PARQUET_TYPE_NOT_SUPPORTED",
        "it has a type that Spark does not read",
        "Read it without Spark",
    ),
    (
        "PARQUET_TYPE_NOT_RECOGNIZED",
        "it has a type that Spark does not read",
        "Read it without Spark",
    ),
)

# Failures for which Spark has no error condition, only a text.
_WILDCARD_REASON = "Spark cannot read a path with both ':' and a wildcard in a name"
_HEADERS_HINT = (
    "Write all files with the columns of the first one in its order, or read them without Spark"
)
_TEXT_FAILURES = (
    (
        "CSV header does not conform to the schema",
        "the header of a file differs from that of the first one",
        _HEADERS_HINT,
    ),
    (
        "Number of column in CSV header",
        "the header of a file differs from that of the first one",
        _HEADERS_HINT,
    ),
    (
        "maximum number of characters",
        "a value has more than a million characters",
        "Is a quote not closed?",
    ),
    ("Relative path in absolute URI", _WILDCARD_REASON, "Name it otherwise"),
)
_MEMORY_FAILURES = (
    ("maxResultSize", "the result is too large for the driver", "Raise spark.driver.maxResultSize"),
    ("OutOfMemoryError", "memory ran out", "Raise spark.driver.memory or spark.executor.memory"),
)
_SESSION_CLOSED = re.compile(
    r"stopped SparkContext|SparkContext was shut "
    r"down|NO_ACTIVE_SESSION|INVALID_HANDLE\.SESSION|UNAVAILABLE"
)
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def check_texts(rows: pa.Table) -> pa.Table:
    """Check that the texts of rows from Spark, which may be any bytes, are UTF-8.

    Raises:
        BadInput: If they are not.
    """
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise
        raise BadInput(
            "the table has a text that is not UTF-8", hint="Write it anew, or read it as bytes"
        ) from None
    return rows


def explain_spark(error: Exception, *, sql: str, source: str = "") -> DivulgeError:
    """Return the error to raise for a failure in Spark."""
    text = str(error)
    conditions = _CONDITION.findall(text)
    if source:
        prefix = f"{source}: "
    else:
        prefix = ""
    for sign, reason, hint in _TEXT_FAILURES:
        if sign in text:
            return BadInput(f"{prefix}{reason}", hint=hint)
    for condition, reason, hint in _CONDITION_FAILURES:
        if any(
            raised_condition == condition or raised_condition.startswith(f"{condition}.")
            for raised_condition in conditions
        ):
            return BadInput(f"{prefix}{reason}", hint=hint)
    for sign, reason, hint in _MEMORY_FAILURES:
        if sign in text:
            return DivulgeError(f"{prefix}{reason}", hint=hint)
    if module := _MISSING_MODULE.search(text):
        missing = f"the Python of Spark's workers has no {module.group(1)}"
        return BadInput(missing, hint="Install numpy and pyarrow there")
    if "PYTHON_VERSION_MISMATCH" in text:
        message = "Spark's workers run another Python than this one"
        return BadInput(message, hint="Set spark.pyspark.python to the same version")
    if _SESSION_CLOSED.search(text):
        return DivulgeError(
            f"the Spark session is gone: {outside(first_line(error))}", hint="Start it again"
        )
    return InternalError(
        f"Spark refused a statement: {outside(first_line(error))}; the statement was: "
        f"{outside(sql)}"
    )
