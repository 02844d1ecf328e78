# SPDX-License-Identifier: Apache-2.0
"""Read Arrow IPC files (Feather) and streams, and scan Arrow datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.arguments import outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.sources.arrow_values import (
    check_schema,
    check_values,
    checked_reader,
    exact_reader,
    has_known_types,
    needs_check,
)
from divulge.sources.hive_partitions import folder_types, folder_values, with_folder_columns
from divulge.sources.paths import Files
from divulge.sources.schemas import FileGroup, unite
from divulge.sources.table import ReadOptions, ReadSettings, Table, table_of


def read_arrow(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in Arrow IPC files (Feather), scanned from disk as often as needed."""
    import pyarrow.dataset as ds  # it imports pandas, which takes longer than all the rest

    groups: dict[tuple[Any, ...], tuple[pa.Schema, dict[Path, str]]] = {}
    folders = folder_values(files)
    types = folder_types(folders)
    parts = []
    try:
        for path, name in zip(files.paths, files.display_names(source), strict=True):
            schema = _stored_schema(path)
            check_schema(schema, source=name)
            key = tuple((field.name, str(field.type)) for field in schema)
            group = (key, tuple(folders[path].items()))
            groups.setdefault(group, (schema, {}))[1][path] = name
        for schema, group_files in groups.values():
            dataset = ds.dataset([str(path) for path in group_files], format="ipc", schema=schema)
            relation = dataset_relation(
                engine,
                dataset,
                source=next(iter(group_files.values())) if len(group_files) == 1 else source,
            )
            part = FileGroup(tuple(group_files.values()), relation, dict(engine.describe(relation)))
            group_folders = folders[next(iter(group_files))]
            parts.append(with_folder_columns(engine, part, group_folders, types))
    except (pa.ArrowException, OSError) as error:
        raise BadInput(
            f"{source} is not a readable Arrow file: {outside(error)}", hint="Is it cut off?"
        ) from error
    united = unite(engine, parts, source=source, union_columns=options.union_columns)
    return table_of(
        engine,
        united.relation,
        source=source,
        reading=ReadSettings("arrow", united.how, united.notes),
    )


def read_arrow_stream(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in an Arrow IPC stream.

    It can be read only once from start to end, so the engine stores it.
    """
    if len(files.paths) > 1:
        raise BadInput(
            f"{source} is {len(files.paths)} Arrow streams",
            hint="Read one, or write them as Arrow files",
        )
    try:
        with pa.memory_map(str(files.paths[0])) as file, pa.ipc.open_stream(file) as reader:
            relation = engine.store(checked_reader(reader, source=source))
    except (pa.ArrowException, OSError) as error:
        raise BadInput(
            f"{source} is not a readable Arrow stream: {outside(error)}", hint="Is it cut off?"
        ) from error
    return table_of(engine, relation, source=source, reading=ReadSettings("arrow"))


def _stored_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def dataset_relation(engine: DuckDBEngine, dataset: Any, *, source: str) -> str:
    """Return the relation that scans an Arrow dataset, after checks that DuckDB does not make."""
    schema = dataset.schema
    check_schema(schema, source=source)
    if not has_known_types(schema):
        return engine.store(exact_reader(schema, dataset.to_batches, source=source))
    checked = [field.name for field in schema if needs_check(field.type)]
    if checked:
        check_values(dataset.to_batches(columns=checked), source=source)
    return engine.register(engine.fresh_name("arrow"), dataset)
