# SPDX-License-Identifier: Apache-2.0
"""Reads JSON: one object per line, or one array of objects.

DuckDB finds the keys and their types from every record. Two of its choices are undone: a text is taken for a date only
if all its values are ISO dates (DuckDB reads 02-01-2020 and "epoch" as dates too), and a key that holds texts in one
record and numbers in another becomes text. Numbers written as texts stay texts.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence

import pyarrow as pa

from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.table.paths import Files, compression, packing
from divulge.table.shapes import column_types
from divulge.table.table import Table, kind_of, table_of

_LOOK_AT_ALL = (
    "records = true, sample_size = -1, maximum_sample_files = 1000000, "
    "map_inference_threshold = -1, field_appearance_threshold = 0"
)
_LONGEST_LINE = 1 << 24
_FORMAT = "Write one object per line, or one array of objects"
_TEXTS = ("VARCHAR", "DATE", "TIME", "UUID", '"NULL"')


def read_json(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in one or more JSON files; a key that a record lacks is null there."""
    shown = files.shown(source)
    listed = engine.files(files.paths, known_as=dict(zip(files.paths, shown, strict=True)))
    read = f"read_json({listed}, compression = '{packing(files.paths)}'"
    try:
        found = dict(engine.describe(f"{read}, {_LOOK_AT_ALL})"))
    except BadInput as error:
        raise _bad_line(files, shown) or error from error
    except InternalError as error:
        nothing = BadInput(f"{source} holds no JSON objects with named values", hint=_FORMAT)
        raise _bad_line(files, shown) or nothing from error
    _refuse_renamed_keys(engine, read, tuple(found), source=source)
    types = {name: _plain_type(type_) for name, type_ in found.items()}
    mixed = [name for name, type_ in found.items() if type_ == "JSON"]
    types |= _scalar_types(engine, f"{read}, columns = {engine.struct(types)})", mixed)
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR"]
    types |= column_types(engine, f"{read}, columns = {engine.struct(types)})", texts, numbers=False)
    return table_of(engine, f"{read}, columns = {engine.struct(types)})", source=source)


def _plain_type(found: str) -> str:
    """The type to read a key with for now: what DuckDB takes for a date or an id is a text until looked at."""
    if found in _TEXTS or found.startswith("TIMESTAMP"):
        return "VARCHAR"
    return "JSON" if kind_of(found) == "nested" else found


def _scalar_types(engine: DuckDBEngine, relation: str, names: list[str]) -> dict[str, str]:
    """Text for a key whose values are of different types, but all plain; such a key is nested otherwise."""
    if not names:
        return {}
    nested = ", ".join(
        f"coalesce(bool_or(json_type({engine.quote(name)}) IN ('OBJECT', 'ARRAY')), false) AS c{i}"
        for i, name in enumerate(names)
    )
    found = engine.query(f"SELECT {nested} FROM {relation}").to_pylist()[0]
    return {name: "JSON" if found[f"c{i}"] else "VARCHAR" for i, name in enumerate(names)}


def _refuse_renamed_keys(engine: DuckDBEngine, read: str, names: tuple[str, ...], *, source: str) -> None:
    """DuckDB calls the second of two keys that differ only in case name_1: look at the keys themselves."""
    stems = {name.rpartition("_")[0].lower() for name in names if name.rpartition("_")[2].isdigit()}
    if not stems & {name.lower() for name in names}:
        return
    objects = read.replace("read_json(", "read_json_objects(", 1)
    keys = engine.query(f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects}) ORDER BY key")
    seen: dict[str, str] = {}
    for key in keys.column("key").to_pylist():
        if key.lower() in seen:
            raise BadInput(
                f"the keys {seen[key.lower()]!r} and {key!r} in {source} differ only in upper and lower case",
                hint="Rename one of them: SQL does not tell them apart",
            )
        seen[key.lower()] = key


def _bad_line(files: Files, shown: Sequence[str]) -> BadInput | None:
    """Which line is no JSON object, for a file of lines; only looked for once DuckDB has refused the file."""
    for path, name in zip(files.paths, shown, strict=True):
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8-sig")
            for number in itertools.count(1):
                try:
                    line = lines.readline(_LONGEST_LINE)
                    if not line:
                        break
                    record = json.loads(line) if line.strip() else {}
                except UnicodeDecodeError:
                    return BadInput(f"{name}: the text is not UTF-8", hint="Convert the file to UTF-8")
                except json.JSONDecodeError as error:
                    return BadInput(f"{name}, line {number}: not valid JSON ({error.msg})", hint=_FORMAT)
                if not isinstance(record, dict):
                    return BadInput(f"{name}, line {number}: not a JSON object", hint=_FORMAT)
    return None
