# SPDX-License-Identifier: Apache-2.0
"""JSON files: lines of objects, or one array of objects, whose numbers stay exact."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput, InternalError, listed
from divulge.sources.delimited import (
    column_types,
    exact_types,
    notes_on_digits,
    recast,
    significant_digits,
)
from divulge.sources.hive_partitions import HIVE_NULL, folder_types, folder_values, other_value
from divulge.sources.paths import Files, compression, packing
from divulge.sources.table import ReadSettings, Table, kind_of, table_of

# DuckDB detects the keys and their types from every record. Two of its choices are undone. A text
# becomes a date only if all its values are ISO dates (DuckDB reads 02-01-2020 and "epoch" as dates
# too). A key that holds texts in one record and numbers in another becomes text. Numbers written as
# texts stay texts.
_FULL_SCAN_OPTIONS = (
    "records = true, sample_size = -1, maximum_sample_files = 1000000, "
    "map_inference_threshold = -1, field_appearance_threshold = 0"
)
_MAX_LINE_LENGTH = 1 << 24
_FORMAT_HINT = "Write one object per line, or one array of objects"
_TEXTS = ("VARCHAR", "DATE", "TIME", "UUID", '"NULL"')


def read_json(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in one or more JSON files; a key that a record lacks is null there."""
    display_names = files.display_names(source)
    file_list = engine.files(
        files.paths, known_as=dict(zip(files.paths, display_names, strict=True))
    )
    read = (
        f"read_json({file_list}, compression = '{packing(files.paths)}', hive_partitioning = false"
    )
    try:
        detected_types = dict(engine.describe(f"{read}, {_FULL_SCAN_OPTIONS})"))
    except BadInput as error:
        raise _bad_line(files, display_names) or error from error
    except InternalError as error:
        nothing = BadInput(f"{source} holds no JSON objects with named values", hint=_FORMAT_HINT)
        raise _bad_line(files, display_names) or nothing from error
    if any(folder_values(files).values()):
        read = _read_of_copy(_copy_with_folders(engine, files, display_names), engine, source)
        detected_types = dict(engine.describe(f"{read}, {_FULL_SCAN_OPTIONS})"))
    _refuse_renamed_keys(engine, read, tuple(detected_types), source=source)
    types = {name: _plain_type(type_) for name, type_ in detected_types.items()}
    mixed = [name for name, type_ in detected_types.items() if type_ == "JSON"]
    types |= _scalar_types(engine, f"{read}, columns = {engine.struct(types)})", mixed)
    numbers = [name for name, type_ in types.items() if type_ == "DOUBLE"]
    nested = [name for name, type_ in types.items() if type_ == "JSON"]
    mixed = [name for name in mixed if types[name] == "VARCHAR"]
    exact: dict[str, str] = {}
    if (numbers or mixed or nested) and _has_long_numbers(engine, read):
        copy = _copy_with_texts(engine, read, {*numbers, *mixed}, nested=set(nested))
        read = _read_of_copy(copy, engine, source)
        types |= dict.fromkeys((*numbers, *nested), "VARCHAR")
        exact = exact_json_types(engine, f"{read}, columns = {engine.struct(types)})", numbers)
        exact |= dict.fromkeys(nested, "JSON")
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR" and name not in exact]
    types |= column_types(
        engine, f"{read}, columns = {engine.struct(types)})", texts, numbers=False
    )
    relation = recast(engine, f"{read}, columns = {engine.struct(types)})", exact)
    notes = notes_on_digits(
        {name: exact[name] for name in numbers if exact.get(name, "DOUBLE") != "DOUBLE"}
    )
    if mixed:
        notes.append(
            f'{listed(mixed)} hold values of several types, read as text: "1" and 1 are one value'
        )
    return table_of(engine, relation, source=source, reading=ReadSettings("json", {}, tuple(notes)))


_TOKENS = r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*'
"""Pattern of texts and numbers of a JSON record.

Texts are matched so that no number is found inside of them.
"""
_MAY_BE_LONG = "[0-9.]{16}|[0-9][eE][-+]?[0-9]"


def _has_long_numbers(engine: DuckDBEngine, read: str) -> bool:
    """Return whether a number of a record differs from the text of its double."""
    records = f"{read.replace('read_json(', 'read_json_objects(', 1)})"
    tokens = f"""
        SELECT unnest(regexp_extract_all(CAST(json AS VARCHAR), {engine.literal(_TOKENS)})) AS token
        FROM {records}
        WHERE regexp_matches(CAST(json AS VARCHAR), {engine.literal(_MAY_BE_LONG)})
    """
    printed = engine.cast(engine.cast("token", "DOUBLE", attempt=True), "VARCHAR")
    long_numbers = engine.query(f"""
        SELECT 1 AS one FROM ({tokens})
        WHERE token NOT LIKE '"%' AND {significant_digits("token")} IS DISTINCT FROM {significant_digits(printed)}
        LIMIT 1
    """)  # noqa: E501
    return bool(long_numbers.num_rows)


def _read_of_copy(copy: Path, engine: DuckDBEngine, source: str) -> str:
    """Return the start of the SQL that reads a private copy of one object per line."""
    name = engine.files([copy], known_as={copy: source})
    return f"read_json({name}, format = 'newline_delimited', hive_partitioning = false"


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _copy_with_folders(engine: DuckDBEngine, files: Files, display_names: Sequence[str]) -> Path:
    """Write the records to a private file, with the keys and values of their folders.

    A key that a record has too must have the folder's value.
    """
    values = folder_values(files)
    types = folder_types(values)
    copy = engine.directory / engine.fresh_name("folders")
    with copy.open("w", encoding="utf-8") as out:
        for path, name in zip(files.paths, display_names, strict=True):
            folders = {key: _folder_value(text, types[key]) for key, text in values[path].items()}
            objects = (
                f"read_json_objects({engine.files([path], known_as={path: name})}, compression = "
                f"'{packing([path])}', hive_partitioning = false)"
            )
            with engine.stream(f"SELECT CAST(json AS VARCHAR) AS json FROM {objects}") as batches:
                for batch in batches:
                    for text in batch.column(0).to_pylist():
                        out.write(_with_folders(text, folders, name=name) + "\n")
    return copy


def _folder_value(text: str, type_: str) -> str | None:
    if text == HIVE_NULL:
        return None
    if type_ == "BIGINT":
        return _Number(text)
    return text


def _with_folders(text: str, folders: Mapping[str, str | None], *, name: str) -> str:
    """Return a JSON object with the keys and values of its folders."""
    try:
        record: dict[str, Any] = json.loads(text, parse_float=_Number, parse_int=_Number)
        for key, value in folders.items():
            if key in record and record[key] != value:
                raise other_value(key, name)
        return _json_text({**record, **folders})
    except RecursionError:
        raise BadInput(f"{name}: a JSON record is nested too deeply", hint=_FORMAT_HINT) from None


def _copy_with_texts(engine: DuckDBEngine, read: str, names: set[str], *, nested: set[str]) -> Path:
    """Write the records to a private file in which the numbers of some keys are texts.

    The values of nested keys become JSON texts. DuckDB converts the numbers of JSON to doubles,
    even those inside of lists and objects.
    """
    objects = read.replace("read_json(", "read_json_objects(", 1)
    copy = engine.directory / engine.fresh_name("exact")
    with (
        copy.open("w", encoding="utf-8") as out,
        engine.stream(f"SELECT CAST(json AS VARCHAR) AS json FROM {objects})") as batches,
    ):
        for batch in batches:
            for text in batch.column(0).to_pylist():
                out.write(_with_texts(text, names, nested) + "\n")
    return copy


def _with_texts(record: str, names: set[str], nested: set[str]) -> str:
    """Return a JSON object in which numbers, or all values of nested keys, are texts."""
    try:
        values = json.loads(record, parse_float=_Number, parse_int=_Number)
        for key in names & values.keys():
            if isinstance(values[key], _Number):
                values[key] = str(values[key])
        for key in nested & values.keys():
            if values[key] is not None:
                values[key] = _json_text(values[key])
        return _json_text(values)
    except RecursionError:
        raise BadInput("a JSON record is nested too deeply", hint=_FORMAT_HINT) from None


def _json_text(value: Any) -> str:
    """Return the JSON of a value, numbers as they are written."""
    if isinstance(value, _Number):
        return value
    if isinstance(value, list):
        return f"[{', '.join(map(_json_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_json_text(item)}' for key, item in value.items())}}}"  # noqa: E501
    return json.dumps(value)


def exact_json_types(engine: Engine, relation: str, names: Sequence[str]) -> dict[str, str]:
    """Return the type of number columns that were read as texts.

    It is double if a double represents every number, else decimal or text.
    """
    if not names:
        return {}
    looks = []
    for index, name in enumerate(names):
        cell = engine.quote(name)
        printed = engine.cast(engine.cast(cell, "DOUBLE", attempt=True), "VARCHAR")
        looks.append(
            f"bool_and({significant_digits(cell)} IS NOT DISTINCT FROM {significant_digits(printed)}) AS "  # noqa: E501
            f"c{index}"
        )
    row = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    long = {name: False for index, name in enumerate(names) if row[f"c{index}"] is False}
    return dict.fromkeys(names, "DOUBLE") | exact_types(engine, relation, long)


def _plain_type(detected_type: str) -> str:
    """Return the provisional type of a key; dates and ids are read as text first."""
    if detected_type in _TEXTS or detected_type.startswith("TIMESTAMP"):
        return "VARCHAR"
    if kind_of(detected_type) == "nested":
        return "JSON"
    return detected_type


def _scalar_types(engine: DuckDBEngine, relation: str, names: list[str]) -> dict[str, str]:
    """Return text for a key whose values are of different types, but all scalar.

    Such a key is nested otherwise.
    """
    if not names:
        return {}
    nested = ", ".join(
        f"coalesce(bool_or(json_type({engine.quote(name)}) IN ('OBJECT', 'ARRAY')), false) AS c{i}"
        for i, name in enumerate(names)
    )
    nested_counts = engine.query(f"SELECT {nested} FROM {relation}").to_pylist()[0]
    return {name: "JSON" if nested_counts[f"c{i}"] else "VARCHAR" for i, name in enumerate(names)}


def _refuse_renamed_keys(
    engine: DuckDBEngine, read: str, names: tuple[str, ...], *, source: str
) -> None:
    """Raise an error for two keys that differ only in case.

    DuckDB calls the second of them name_1, so the keys of the records are compared.
    """
    stems = {name.rpartition("_")[0].lower() for name in names if name.rpartition("_")[2].isdigit()}
    if not stems & {name.lower() for name in names}:
        return
    objects = read.replace("read_json(", "read_json_objects(", 1)
    keys = engine.query(
        f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects}) ORDER BY key"
    )
    first_spellings: dict[str, str] = {}
    for key in keys.column("key").to_pylist():
        if key.lower() in first_spellings:
            raise BadInput(
                f"the keys {first_spellings[key.lower()]!r} and {key!r} in {source} differ only "
                "in upper and lower case",
                hint="Rename one of them: SQL does not tell them apart",
            )
        first_spellings[key.lower()] = key


def _bad_line(files: Files, display_names: Sequence[str]) -> BadInput | None:
    """Return an error about the first line of a file that is not a JSON object.

    It is only searched once DuckDB has rejected the file.
    """
    for path, name in zip(files.paths, display_names, strict=True):
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8-sig")
            for number in itertools.count(1):
                try:
                    line = lines.readline(_MAX_LINE_LENGTH)
                    if not line:
                        break
                    if line.strip():
                        record = json.loads(line)
                    else:
                        record = {}
                except UnicodeDecodeError:
                    return BadInput(
                        f"{name}: the text is not UTF-8", hint="Convert the file to UTF-8"
                    )
                except json.JSONDecodeError as error:
                    return BadInput(
                        f"{name}, line {number}: not valid JSON ({error.msg})", hint=_FORMAT_HINT
                    )
                except (RecursionError, ValueError):
                    message = (
                        f"{name}, line {number}: nested too deeply, or with a number of "
                        "thousands of digits"
                    )
                    return BadInput(message, hint=_FORMAT_HINT)
                if not isinstance(record, dict):
                    return BadInput(f"{name}, line {number}: not a JSON object", hint=_FORMAT_HINT)
    return None
