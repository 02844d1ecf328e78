# SPDX-License-Identifier: Apache-2.0
"""Turns what DuckDB says into one line for the user.

A file that cannot be read is the user's matter and names the file and the line; a statement that DuckDB refuses is a
bug of ours and carries the SQL. The offending row is never repeated: it is somebody's data, and errors end up in logs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb

from divulge.errors import BadInput, DivulgeError, InternalError

_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")
_CSV_FILE = re.compile(r"^ {2}file = (.*)$", re.MULTILINE)
_CSV_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
# What DuckDB writes, what it means, what to do.
_CSV_REASONS = (
    (
        "not utf-8 encoded",
        "the text is not UTF-8",
        "Pass the file's encoding, for example encoding='latin-1' or encoding='cp1252'",
    ),
    ("unterminated quote", "a quoted value does not end where the field ends", "Mend that line"),
    (
        "invalid state",
        "quotes or line ends do not follow the CSV rules (RFC 4180)",
        "Write the file with one kind of line end and with quotes doubled inside quoted values",
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
_JSON_PLACE = re.compile(r'JSON (?:transform error )?in file "(.*?)"(?:, in line (\d+))?')
_JSON_TWICE = re.compile(r"has duplicate key (\".*\")")
_STREAM = re.compile(r"(?:registered as .*? failed|get_next failed\(\)): (.*?)(?:\. Detail:|$)", re.MULTILINE)
_OTHER_FILE = re.compile(r'(?:Failed to read|Error while reading) file "(.*?)": (.*)')


def explain(error: duckdb.Error, *, sql: str, known_as: Mapping[str, str]) -> DivulgeError:
    """The error to raise for a statement that failed; `known_as` says what the user calls a file."""
    text = str(error)
    for path in sorted(known_as, key=len, reverse=True):
        text = text.replace(path, known_as[path])
    if found := _input_failure(text):
        return found
    if isinstance(error, duckdb.OutOfMemoryException):
        return DivulgeError(
            f"memory ran out: {_first_line(text)}",
            hint="Give the engine a larger memory_limit, or a temp_directory on a disk with more space",
        )
    if type(error) is duckdb.Error:  # a file's bytes do not make sense to DuckDB's readers
        return BadInput(f"a file cannot be read: {_first_line(text)}", hint="Is it damaged?")
    if isinstance(error, duckdb.ConnectionException):
        return BadInput("the DuckDB connection is closed", hint="Keep it open as long as its table is in use")
    if isinstance(error, duckdb.IOException | duckdb.PermissionException | duckdb.NotSupportedError):
        return BadInput(_first_line(text))
    return InternalError(f"DuckDB refused a statement: {_first_line(text)}; the statement was: {sql}")


def _input_failure(text: str) -> BadInput | None:
    """What is wrong with a file or a stream, if that is what DuckDB complains about."""
    if csv := _CSV_FILE.search(text):
        return _csv_failure(text, csv.group(1))
    if json := _JSON_PLACE.search(text):
        return _json_failure(text, *json.groups())
    if file := _OTHER_FILE.search(text):
        reason = file.group(2).partition(": :")[0].rstrip(".")
        hint = "Files that are read as one table need the same columns" if "column" in reason else "Is it damaged?"
        return BadInput(f"{file.group(1)} cannot be read: {reason}", hint=hint)
    if stream := _STREAM.search(text):
        return BadInput(f"the rows cannot be read to the end: {stream.group(1)}")
    return None


def _csv_failure(text: str, file: str) -> BadInput:
    line = _CSV_LINE.search(text)
    where = f"{file}, line {line.group(1)}" if line else file
    if width := _CSV_WIDTH.search(text):
        return BadInput(
            f"{where}: {width.group(1)} fields were expected and {width.group(2)} found",
            hint="Mend that line, or pass the right delimiter",
        )
    for sign, reason, hint in _CSV_REASONS:
        if sign in text:
            return BadInput(f"{where}: {reason}", hint=hint)
    return BadInput(f"{where}: {_first_line(text)}")


def _json_failure(text: str, file: str, line: str | None) -> BadInput:
    where = f"{file}, line {line}" if line else file
    if twice := _JSON_TWICE.search(text):
        return BadInput(f"{where}: a record has the key {twice.group(1)} twice", hint="Rename one of them")
    if "Malformed" in text:
        return BadInput(f"{where}: not valid JSON", hint="Write one object per line, or one array of objects")
    return BadInput(f"{where}: the records do not fit together")


def _first_line(text: str) -> str:
    kind, _, rest = text.strip().partition(": ")
    return (rest if kind.endswith("Error") else text.strip()).splitlines()[0]
