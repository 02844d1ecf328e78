# SPDX-License-Identifier: Apache-2.0
"""Explanations of DuckDB's failures.

A file that cannot be read is the user's matter; the message names the file and the line. A
statement that DuckDB rejects is a bug of ours, and the error carries the SQL. The offending row is
never repeated, because it is personal data and errors end up in logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from divulge.arguments import arg, arg_name, outside
from divulge.errors import BadInput, DivulgeError, InternalError

_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")
_CSV_FILE = re.compile(r"^ {2}file = (.*)$", re.MULTILINE)
_CSV_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_ENCODING_HINT = (
    f"Pass the file's encoding, for example {arg('encoding', 'latin-1')} or "
    f"{arg('encoding', 'cp1252')}"
)
_CSV_RULES_HINT = (
    "Write the file with one kind of line end and with quotes doubled inside quoted values"
)

# DuckDB's text, its meaning, the remedy.
_CSV_REASONS = (
    ("not utf-8 encoded", "the text is not UTF-8", _ENCODING_HINT),
    ("unterminated quote", "a quoted value does not end where the field ends", "Mend that line"),
    (
        "invalid state",
        "quotes or line ends do not follow the CSV rules (RFC 4180)",
        _CSV_RULES_HINT,
    ),
    (
        "Error when converting",
        "a value does not fit its column any more",
        "Did the file change? Read it again",
    ),
    (
        "Maximum line size",
        "a line is too long to be a row of a table",
        "Is a quote missing, or is it not a CSV file?",
    ),
)
_JSON_LOCATION = re.compile(r'JSON (?:transform error )?in file "(.*?)"(?:, in line (\d+))?')
_JSON_DUPLICATE_KEY = re.compile(r"has duplicate key (\".*\")")
_INVALID_TEXT = re.compile(r'Invalid string encoding found in Parquet file "(.*?)"')
_INVALID_TIME = re.compile(r"Invalid TIME value (-?\d+) in Parquet file")
_NOT_PARQUET = re.compile(
    r"File '(.*?)' too small to be a Parquet file|No magic bytes found at "
    r"(?:end|beginning|start) of file '(.*?)'"
)
_OUT_OF_RANGE = re.compile(r"Could not convert (Timestamp|Interval|Date)")
_RAISED_PREFIX = "Unknown error: "
_STREAM_FAILURE = re.compile(
    r"(?:registered as .*? failed|get_next failed\(\)): (.*?)(?:\. Detail:|$)", re.MULTILINE
)
_NOT_WRITTEN = re.compile(
    r'"?(?:Could not write file|Failed to write|Cannot open file) \\*"(.*?)\\*": ([^"\\]*)'
)
_FILE_FAILURE = re.compile(r'(?:Failed to read|Error while reading) file "(.*?)": (.*)')


@contextmanager
def explained(sql: str, known_as: Mapping[str, str] | None = None) -> Iterator[None]:
    """Explain the failure of a statement; `known_as` maps file paths to the user's names."""
    try:
        yield
    except duckdb.Error as error:
        raise _explain(error, sql=sql, known_as=known_as or {}) from error


def _explain(error: duckdb.Error, *, sql: str, known_as: Mapping[str, str]) -> DivulgeError:
    text = str(error)
    for path in sorted(known_as, key=len, reverse=True):
        text = text.replace(path, known_as[path])
    if failure := _input_failure(text):
        return failure
    if isinstance(error, duckdb.OutOfMemoryException):
        hint = (
            f"Give the engine a larger {arg_name('memory_limit')}, or a "
            f"{arg_name('temp_directory')} on a disk with more space"
        )
        return DivulgeError(f"memory ran out: {outside(_first_line(text).rstrip('.'))}", hint=hint)
    if type(error) is duckdb.Error:  # a file's bytes do not make sense to DuckDB's readers
        return BadInput(
            f"a file cannot be read: {outside(_first_line(text))}", hint="Is it damaged?"
        )
    if isinstance(error, duckdb.ConnectionException):
        return BadInput(
            "the DuckDB connection is closed", hint="Keep it open as long as its table is in use"
        )
    if reason := _NOT_WRITTEN.search(text):  # DuckDB wraps the system's message into JSON
        hint = "Nothing was kept of it. Make room there, or name another folder"
        return BadInput(
            f"{Path(reason.group(1)).name} cannot be written: {outside(reason.group(2).strip())}",
            hint=hint,
        )
    if isinstance(
        error, duckdb.IOException | duckdb.PermissionException | duckdb.NotSupportedError
    ):
        return BadInput(outside(_first_line(text)))
    return InternalError(
        f"DuckDB refused a statement: {outside(_first_line(text))}; the statement was: "
        f"{outside(sql)}"
    )


def _input_failure(text: str) -> BadInput | None:
    """Return an error about a file or a stream, if DuckDB's message is about one."""
    if csv := _CSV_FILE.search(text):
        return _csv_failure(text, csv.group(1))
    if json := _JSON_LOCATION.search(text):
        return _json_failure(text, *json.groups())
    if file := _FILE_FAILURE.search(text):
        reason = file.group(2).partition(": :")[0].rstrip(".")
        if "column" in reason:
            hint = "Files that are read as one table need the same columns"
        else:
            hint = "Is it damaged?"
        return BadInput(f"{file.group(1)} cannot be read: {outside(reason)}", hint=hint)
    if no_text := _INVALID_TEXT.search(text):
        return BadInput(
            f"{no_text.group(1)} cannot be read: it has a text that is not UTF-8",
            hint="Write it anew",
        )
    if no_time := _INVALID_TIME.search(text):
        return BadInput(
            f"a Parquet file cannot be read: it has the time {no_time.group(1)}, which is not "
            "within a day",
            hint="Write it anew",
        )
    if no_parquet := _NOT_PARQUET.search(text):
        file_name = no_parquet.group(1) or no_parquet.group(2)
        return BadInput(f"{file_name} is not a readable Parquet file", hint="Is it cut off?")
    if out_of_range := _OUT_OF_RANGE.search(text):
        return BadInput(
            f"a value of type {out_of_range.group(1).lower()} is outside of what can be compared",
            hint="Write null, or text, instead",
        )
    if stream := _STREAM_FAILURE.search(text):
        if (own_message := stream.group(1).removeprefix(_RAISED_PREFIX)) != stream.group(
            1
        ):  # an error of ours, raised while rows were read
            return BadInput(own_message)
        return BadInput(f"the rows cannot be read to the end: {outside(stream.group(1))}")
    return None


def _csv_failure(text: str, file: str) -> BadInput:
    line = _CSV_LINE.search(text)
    if line:
        location = f"{file}, line {line.group(1)}"
    else:
        location = file
    if width := _CSV_WIDTH.search(text):
        message = f"{location}: {width.group(1)} fields were expected and {width.group(2)} found"
        return BadInput(message, hint="Mend that line, or pass the right delimiter")
    for sign, reason, hint in _CSV_REASONS:
        if sign in text:
            return BadInput(f"{location}: {reason}", hint=hint)
    return BadInput(f"{location}: {outside(_first_line(text))}")


def _json_failure(text: str, file: str, line: str | None) -> BadInput:
    if line:
        location = f"{file}, line {line}"
    else:
        location = file
    if twice := _JSON_DUPLICATE_KEY.search(text):
        return BadInput(
            f"{location}: a record has the key {outside(twice.group(1))} twice",
            hint="Rename one of them",
        )
    if "Malformed" in text:
        return BadInput(
            f"{location}: not valid JSON", hint="Write one object per line, or one array of objects"
        )
    return BadInput(f"{location}: the records do not fit together")


def _first_line(text: str) -> str:
    kind, _, rest = text.strip().partition(": ")
    return (rest if kind.endswith("Error") else text.strip()).splitlines()[0]
