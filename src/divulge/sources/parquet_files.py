# SPDX-License-Identifier: Apache-2.0
"""Read Parquet files, with exact decimals of any width."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.sources.arrow_values import cast_columns, decimal_scale, exact_types
from divulge.sources.hive_partitions import check_folders, folder_types, folder_values
from divulge.sources.paths import Files
from divulge.sources.schemas import FileGroup, unite
from divulge.sources.table import (
    DECIMAL_DIGITS,
    ReadOptions,
    ReadSettings,
    Table,
    check_names,
    table_of,
)

_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")


def read_parquet(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in one or more Parquet files; key=value folders (Hive) become columns."""
    display_names = dict(zip(files.paths, files.display_names(source), strict=True))
    folders = folder_values(files)
    types = folder_types(folders)
    stored_types = parquet_schemas(engine, display_names)
    if copies := _exact_copies(engine, files, stored_types, display_names):
        display_names = {copies.get(path, path): name for path, name in display_names.items()}
        folders = {copies.get(path, path): values for path, values in folders.items()}
        stored_types = parquet_schemas(engine, display_names)
    groups: dict[tuple[Any, ...], list[Path]] = {}
    for path in display_names:
        groups.setdefault((tuple(stored_types[path].items()), tuple(folders[path])), []).append(
            path
        )
    parts = []
    for (columns, keys), paths in groups.items():
        hive = {key: dict(columns).get(key, types[key]) for key in keys}
        check_names({**dict(columns), **hive}, source=display_names[paths[0]])
        check_folders(
            engine,
            {path: folders[path] for path in paths},
            dict(columns),
            display_names=display_names,
        )
        relation = engine.parquet(paths, known_as=display_names, hive=hive)
        names = (*(name for name, _ in columns if name not in hive), *hive)
        described = dict(engine.describe(relation))
        if set(described) != set(names):  # a folder above the root is not a column
            relation = f"(SELECT {', '.join(map(engine.quote, names))} FROM {relation})"
        parts.append(
            FileGroup(
                tuple(display_names[path] for path in paths),
                relation,
                {name: described[name] for name in names},
            )
        )
    united = unite(engine, parts, source=source, union_columns=options.union_columns)
    return table_of(
        engine,
        united.relation,
        source=source,
        reading=ReadSettings("parquet", united.how, united.notes),
    )


def parquet_schemas(
    engine: DuckDBEngine, display_names: Mapping[Path, str]
) -> dict[Path, dict[str, str]]:
    """Return names and types of the columns of each file, from its footer.

    DuckDB would rename the second of two equal names.
    """
    file_list = engine.files(list(display_names), known_as=display_names)
    columns = "file_name, name, num_children, duckdb_type, precision, scale"
    sql = f"SELECT {columns} FROM parquet_schema({file_list})"
    try:
        with engine.in_row_order():
            nodes = engine.query(sql).to_pylist()
    except InternalError as error:
        if len(display_names) == 1:
            name = next(iter(display_names.values()))
        else:
            name = "one of the files"
        raise BadInput(f"{name} is not a readable Parquet file", hint="Is it cut off?") from error
    by_file: dict[str, list[dict[str, Any]]] = {}
    for node in nodes:
        by_file.setdefault(node["file_name"], []).append(node)
    return {
        path: _top_level(by_file[str(path)], source=name) for path, name in display_names.items()
    }


def _top_level(nodes: Sequence[Mapping[str, Any]], *, source: str) -> dict[str, str]:
    """Return the columns among the nodes of a Parquet schema, a tree in depth-first order."""
    columns: list[tuple[str, str]] = []
    open_children: list[int] = []
    for node in nodes:
        is_wide = (node["precision"] or 0) > DECIMAL_DIGITS
        if len(open_children) == 1:  # the only open ancestor is the root
            if is_wide:
                type_ = f"DECIMAL({node['precision']},{node['scale']})"
            else:
                type_ = node["duckdb_type"]
            columns.append((node["name"], type_))
        elif is_wide:
            raise BadInput(
                f"the column {columns[-1][0]!r} of {source} has decimals of {node['precision']} "
                "digits inside of other values",
                hint="Make a column of its own of it, or cast it to text",
            )
        if open_children:
            open_children[-1] -= 1
        open_children.append(node["num_children"] or 0)
        while open_children and open_children[-1] == 0:
            open_children.pop()
    check_names((name for name, _ in columns), source=source)
    return dict(columns)


def _exact_copies(
    engine: DuckDBEngine,
    files: Files,
    stored_types: Mapping[Path, Mapping[str, str]],
    display_names: Mapping[Path, str],
) -> dict[Path, Path]:
    """Return private copies of files with decimals of more than 38 digits.

    DuckDB would convert these to doubles. In the copies such a column has 38 digits, or is text if
    a value of any file has more. Copies keep their key=value folders.
    """
    wide = {
        path: names for path, columns in stored_types.items() if (names := _wide_decimals(columns))
    }
    if not wide:
        return {}
    import pyarrow.parquet as pq

    def reader(
        path: Path, names: list[str] | None = None
    ) -> Callable[[], Iterator[pa.RecordBatch]]:
        return lambda: pq.ParquetFile(path).iter_batches(columns=names)

    exact: dict[str, pa.DataType] = {}
    for name in dict.fromkeys(name for names in wide.values() for name in names):
        holders = [path for path, names in wide.items() if name in names]
        fields = [pq.read_schema(path).field(name) for path in holders]
        schema = pa.schema([max(fields, key=lambda field: decimal_scale(field.type))])
        exact |= exact_types(
            schema, [reader(path, [name]) for path in holders], source=display_names[holders[0]]
        )
    root = engine.directory / engine.fresh_name("exact")
    copies = {path: root / path.relative_to(files.root) for path in wide}
    for path, copy in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        file_schema = pq.read_schema(path)
        types = {name: exact[name] for name in wide[path]}
        schema = pa.schema(
            [field.with_type(types.get(field.name, field.type)) for field in file_schema]
        )
        with pq.ParquetWriter(copy, schema) as writer:
            for batch in reader(path)():
                writer.write_batch(cast_columns(batch, schema))
    return copies


def _wide_decimals(columns: Mapping[str, str]) -> list[str]:
    """Return the columns of decimals of more than 38 digits."""
    return [
        name
        for name, type_ in columns.items()
        if (match := _DECIMAL.fullmatch(type_)) and int(match[1]) > DECIMAL_DIGITS
    ]
