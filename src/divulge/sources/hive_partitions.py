# SPDX-License-Identifier: Apache-2.0
"""Hive partitions: key=value folders above the files of a table, which become columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.sources.paths import Files
from divulge.sources.table import kind_of

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


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
            texts.setdefault(key, []).extend([text] if text != _HIVE_NULL else [])
    return {
        key: "BIGINT" if every and all(map(_INTEGER.fullmatch, every)) else "VARCHAR"
        for key, every in texts.items()
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
            str(path): None if pairs[key] == _HIVE_NULL else pairs[key]
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
            raise BadInput(
                f"the column {key!r} of {name} has other values than the folder {key}=... that "
                "it is in",
                hint="Rename the column or the folder, or correct one of them",
            )
