# SPDX-License-Identifier: Apache-2.0
"""Hive partitions: key=value folders above the files of a table, which become columns.

DuckDB by itself lets the folder's value replace the values of a column with that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput
from divulge.sources.paths import Files
from divulge.sources.schemas import FileGroup
from divulge.sources.table import check_names, kind_of

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""Name that stands for null in a folder."""


def folder_values(files: Files) -> dict[Path, dict[str, str]]:
    """Return the keys and values of the key=value folders above each file, below the root.

    A key that occurs twice on a path raises an error.
    """
    values: dict[Path, dict[str, str]] = {}
    for path in files.paths:
        pairs = [folder.partition("=") for folder in path.relative_to(files.root).parent.parts]
        texts = [(unquote(key), unquote(value)) for key, equals, value in pairs if equals and key]
        values[path] = dict(texts)
        if len(values[path]) < len(texts):
            raise BadInput(
                f"the folders of {path.relative_to(files.root)} give a key twice",
                hint="Rename one of them",
            )
    return values


def folder_types(values: Mapping[Path, Mapping[str, str]]) -> dict[str, str]:
    """Return the type of each key of key=value folders: whole numbers if all are, else text."""
    texts: dict[str, list[str]] = {}
    for pairs in values.values():
        for key, text in pairs.items():
            texts.setdefault(key, []).extend([text] if text != HIVE_NULL else [])
    return {
        key: "BIGINT" if key_texts and all(map(_INTEGER.fullmatch, key_texts)) else "VARCHAR"
        for key, key_texts in texts.items()
    }


def check_folders(
    engine: DuckDBEngine,
    folders: Mapping[Path, Mapping[str, str]],
    columns: Mapping[str, str],
    *,
    display_names: Mapping[Path, str],
) -> None:
    """Raise an error if a column of a file differs from its key=value folder."""
    for key in next(iter(folders.values())):
        if key not in columns:
            continue
        folder_values = {
            str(path): None if pairs[key] == HIVE_NULL else pairs[key]
            for path, pairs in folders.items()
        }
        values = engine.lend(
            pa.table(
                {"path": list(folder_values), "text": pa.array(folder_values.values(), pa.string())}
            )
        )
        rows = (
            f"read_parquet({engine.files(list(folders), known_as={})}, hive_partitioning = "
            "false, filename = 'file path')"
        )
        type_ = columns[key]
        typed = engine.cast("text", type_, attempt=True)
        exact = engine.cast(typed, "VARCHAR") + " = text"
        if kind_of(type_) == "number":  # 07 equals 7, but 1.4 must not be cast to 1
            exact = (
                f"{engine.cast(typed, 'DOUBLE')} = {engine.cast('text', 'DOUBLE', attempt=True)}"
            )
        differs = (
            f"{engine.quote(key)} IS DISTINCT FROM {typed} OR (text IS NOT NULL AND NOT "
            f"coalesce({exact}, false))"
        )
        sql = f'SELECT path FROM {rows} JOIN {values} ON path = "file path" WHERE {differs} LIMIT 1'
        for path in engine.query(sql).column("path").to_pylist():
            name = display_names[Path(path)]
            raise other_value(key, name)


def with_folder_columns(
    engine: Engine, part: FileGroup, folders: Mapping[str, str], types: Mapping[str, str]
) -> FileGroup:
    """Return files of the same folders with the columns of these folders.

    A column that the files have too must hold the folder's value in every row.
    """
    check_names(
        (*part.columns, *(key for key in folders if key not in part.columns)), source=part.files[0]
    )
    added = {}
    for key, text in folders.items():
        if text == HIVE_NULL:
            literal = "NULL"
        else:
            literal = engine.literal(text)
        if key in part.columns:
            _check_equal(engine, part, key, literal)
        else:
            added[key] = f"{engine.cast(literal, types[key])} AS {engine.quote(key)}"
    if not added:
        return part
    relation = f"(SELECT *, {', '.join(added.values())} FROM {part.relation})"
    return replace(
        part, relation=relation, columns={**part.columns, **{key: types[key] for key in added}}
    )


def _check_equal(engine: Engine, part: FileGroup, key: str, literal: str) -> None:
    cell = engine.cast(engine.quote(key), "VARCHAR")
    differs = f"{cell} IS DISTINCT FROM {engine.cast(literal, 'VARCHAR')}"
    if engine.query(f"SELECT 1 AS one FROM {part.relation} WHERE {differs} LIMIT 1").num_rows:
        raise other_value(key, part.files[0])


def other_value(key: str, file: str) -> BadInput:
    """Return the error for a column that differs from its folder."""
    return BadInput(
        f"the column {key!r} of {file} has other values than the folder {key}=... that it is in",
        hint="Rename the column or the folder, or correct one of them",
    )


def refuse_folders(files: Iterable[str], *, source: str) -> None:
    """Raise an error for files in key=value folders whose columns would not be read."""
    for file in files:
        for folder in file.split("/")[:-1]:
            key, equals, _ = folder.partition("=")
            if equals and key:
                raise BadInput(
                    f"{file} of {source} is in a folder {key}=..., which is a column",
                    hint="Write Parquet files, or name the files of one folder at a time",
                )
