# SPDX-License-Identifier: Apache-2.0
"""Turns what Spark says into one line for the user.

As with DuckDB, data that cannot be read is the user's matter, and a statement that Spark refuses is a bug of ours and
carries the SQL. Java's stack traces and the rows they quote are left out: rows are somebody's data, and errors end up in logs.
"""

from __future__ import annotations

import re

from divulge.engines.spark_session import first_line
from divulge.errors import BadInput, DivulgeError, InternalError

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
# What Spark calls it, what it means, what to do.
# The inner reason stands before the outer one: a malformed line also is a file that cannot be read.
_INPUT = (
    (
        "MALFORMED_CSV_RECORD",
        "a line does not have the fields of the first one",
        "Mend the file, or pass the right delimiter",
    ),
    ("MALFORMED_RECORD_IN_PARSING", "a record is malformed", "Mend the file, or pass the right delimiter"),
    ("PATH_NOT_FOUND", "a file does not exist", "Every worker must see the file under the same path"),
    ("FAILED_READ_FILE.FILE_NOT_EXIST", "a file does not exist", "Every worker must see the file under the same path"),
    ("FAILED_READ_FILE", "a file cannot be read", "Is it damaged?"),
    ("CANNOT_READ_FILE_FOOTER", "a file cannot be read", "Is it damaged?"),
    (
        "TASK_WRITE_FAILED",
        "a worker cannot write its part of the table",
        "Every worker must be able to write there, and find room",
    ),
    (
        "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
        "a column has a type that files of this format cannot hold",
        "Cast it, or leave it out",
    ),
    (
        "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
        "a column has values that cannot be compared",
        "Cast it, or leave it out",
    ),
    ("UNABLE_TO_INFER_SCHEMA", "the files hold no columns", "Name files that hold a table"),
)
_MEMORY = (
    ("maxResultSize", "the result is too large for the driver", "Raise spark.driver.maxResultSize"),
    ("OutOfMemoryError", "memory ran out", "Raise spark.driver.memory or spark.executor.memory"),
)
_CLOSED = (
    "stopped SparkContext",
    "SparkContext was shut down",
    "NO_ACTIVE_SESSION",
    "INVALID_HANDLE.SESSION",
    "UNAVAILABLE",
)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def explain_spark(error: Exception, *, sql: str, source: str = "") -> DivulgeError:
    """The error to raise for work that failed in Spark."""
    text = str(error)
    conditions = _CONDITION.findall(text)
    where = f"{source}: " if source else ""
    if "maximum number of characters" in text:
        return BadInput(f"{where}a value has more than a million characters", hint="Is a quote not closed?")
    if "Relative path in absolute URI" in text:
        return BadInput(
            f"{where}Spark cannot read a path with both ':' and a wildcard in a name", hint="Name it otherwise"
        )
    for condition, reason, hint in _INPUT:
        if any(found == condition or found.startswith(f"{condition}.") for found in conditions):
            return BadInput(f"{where}{reason}", hint=hint)
    for sign, reason, hint in _MEMORY:
        if sign in text:
            return DivulgeError(f"{where}{reason}", hint=hint)
    if module := _NO_MODULE.search(text):
        return BadInput(
            f"the Python of Spark's workers has no {module.group(1)}", hint="Install numpy and pyarrow there"
        )
    if "PYTHON_VERSION_MISMATCH" in text:
        return BadInput(
            "Spark's workers run another Python than this one", hint="Set spark.pyspark.python to the same version"
        )
    if any(sign in text for sign in _CLOSED):
        return DivulgeError(f"the Spark session is gone: {first_line(error)}", hint="Start it again")
    return InternalError(f"Spark refused a statement: {first_line(error)}; the statement was: {sql}")
