# SPDX-License-Identifier: Apache-2.0
"""Read Parquet and Arrow IPC files, and frames in memory.

Frames are those of pandas and Polars (eager and lazy), Arrow tables, readers and datasets. Their
libraries are looked up among the modules that the caller has loaded, so that reading a file never
imports them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.sources.arrow_values import (
    cast_columns,
    check_schema,
    check_values,
    checked_reader,
    decimal_scale,
    exact_reader,
    exact_table,
    exact_types,
    has_known_types,
    needs_check,
)
from divulge.sources.paths import Files
from divulge.sources.schemas import FileGroup, unite
from divulge.sources.table import (
    Frame,
    ReadOptions,
    ReadSettings,
    Table,
    check_names,
    kind_of,
    table_of,
)

_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MOST_DIGITS = 38
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def read_parquet(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in one or more Parquet files; key=value folders (Hive) become columns."""
    display_names = dict(zip(files.paths, files.display_names(source), strict=True))
    folders = folder_values(files)
    types = folder_types(folders)
    stored = parquet_schemas(engine, display_names)
    if copies := _exact_copies(engine, files, stored, display_names):
        display_names = {copies.get(path, path): name for path, name in display_names.items()}
        folders = {copies.get(path, path): values for path, values in folders.items()}
        stored = parquet_schemas(engine, display_names)
    groups: dict[tuple[Any, ...], list[Path]] = {}
    for path in display_names:
        groups.setdefault((tuple(stored[path].items()), tuple(folders[path])), []).append(path)
    parts = []
    for (columns, keys), paths in groups.items():
        hive = {key: dict(columns).get(key, types[key]) for key in keys}
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


def read_arrow(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in Arrow IPC files (Feather), scanned from disk as often as needed."""
    import pyarrow.dataset as ds  # it imports pandas, which takes longer than all the rest

    groups: dict[tuple[tuple[str, str], ...], tuple[pa.Schema, dict[Path, str]]] = {}
    parts = []
    try:
        for path, name in zip(files.paths, files.display_names(source), strict=True):
            schema = _stored_schema(path)
            check_schema(schema, source=name)
            key = tuple((field.name, str(field.type)) for field in schema)
            groups.setdefault(key, (schema, {}))[1][path] = name
        for schema, group_files in groups.values():
            dataset = ds.dataset([str(path) for path in group_files], format="ipc", schema=schema)
            relation = _dataset_relation(
                engine,
                dataset,
                source=next(iter(group_files.values())) if len(group_files) == 1 else source,
            )
            parts.append(
                FileGroup(tuple(group_files.values()), relation, dict(engine.describe(relation)))
            )
    except (pa.ArrowException, OSError) as error:
        raise BadInput(
            f"{source} is not a readable Arrow file: {error}", hint="Is it cut off?"
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
            f"{source} is not a readable Arrow stream: {error}", hint="Is it cut off?"
        ) from error
    return table_of(engine, relation, source=source, reading=ReadSettings("arrow"))


def _stored_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def parquet_schemas(
    engine: DuckDBEngine, display_names: Mapping[Path, str]
) -> dict[Path, dict[str, str]]:
    """Return names and types of the columns of each file, from its footer.

    DuckDB would rename the second of two equal names.
    """
    listed = engine.files(list(display_names), known_as=display_names)
    columns = "file_name, name, num_children, duckdb_type, precision, scale"
    sql = f"SELECT {columns} FROM parquet_schema({listed})"
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
        is_wide = (node["precision"] or 0) > _MOST_DIGITS
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
    stored: Mapping[Path, Mapping[str, str]],
    display_names: Mapping[Path, str],
) -> dict[Path, Path]:
    """Return private copies of files with decimals of more than 38 digits.

    DuckDB would convert these to doubles. In the copies such a column has 38 digits, or is text if
    a value of any file has more. Copies keep their key=value folders.
    """
    wide = {path: names for path, columns in stored.items() if (names := _wide_decimals(columns))}
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
        if (match := _DECIMAL.fullmatch(type_)) and int(match[1]) > _MOST_DIGITS
    ]


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


# --- frames ---------------------------------------------------------------------------------------
def read_frame(frame: object, *, engine: DuckDBEngine) -> Table | None:
    """Return the table in a frame of a known kind, or None."""
    pandas, polars, dataset = map(sys.modules.get, ("pandas", "polars", "pyarrow.dataset"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        from divulge.sources.pandas_columns import arrow_table

        return _register_table(
            engine, arrow_table(frame), source="the pandas frame", frame="pandas"
        )
    if polars is not None and isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return _read_polars(frame, engine=engine)
    if isinstance(frame, pa.RecordBatchReader):
        reading = ReadSettings("arrow reader")
        relation = engine.store(checked_reader(frame, source="the Arrow reader"))
        return table_of(engine, relation, source="the Arrow reader", frame="arrow", reading=reading)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _register_table(engine, frame, source="the Arrow table", frame="arrow")
    if dataset is not None and isinstance(frame, dataset.Dataset):
        relation = _dataset_relation(engine, frame, source="the Arrow dataset")
        reading = ReadSettings("arrow dataset")
        return table_of(
            engine, relation, source="the Arrow dataset", frame="arrow", reading=reading
        )
    return None


def _dataset_relation(engine: DuckDBEngine, dataset: Any, *, source: str) -> str:
    """Return the relation that scans an Arrow dataset, after checks that DuckDB does not make."""
    schema = dataset.schema
    check_schema(schema, source=source)
    if not has_known_types(schema):
        return engine.store(exact_reader(schema, dataset.to_batches, source=source))
    checked = [field.name for field in schema if needs_check(field.type)]
    if checked:
        check_values(dataset.to_batches(columns=checked), source=source)
    return engine.register(engine.fresh_name("arrow"), dataset)


def _read_polars(frame: Any, *, engine: DuckDBEngine) -> Table:
    pl = sys.modules["polars"]
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInput(f"the Polars frame cannot be read: {error}") from error
    check_names(schema.names(), source="the Polars frame")
    objects = [name for name, type_ in schema.items() if type_ == pl.Object]
    if objects:
        raise BadInput(
            f"the column {objects[0]!r} of the Polars frame holds Python objects",
            hint="Cast it to a Polars type",
        )
    frame = _with_arrow_types(frame, schema)
    if isinstance(frame, pl.DataFrame):
        return _register_table(engine, frame.to_arrow(), source="the Polars frame", frame="polars")
    relation = engine.register(engine.fresh_name("frame"), frame)
    return table_of(
        engine,
        relation,
        source="the Polars frame",
        frame="polars",
        reading=ReadSettings("polars frame"),
    )


def _with_arrow_types(frame: Any, schema: Mapping[str, Any]) -> Any:
    """Return a Polars frame without the types that Arrow does not have: Int128 and Float16."""
    pl = sys.modules["polars"]
    casts = []
    for name, type_ in schema.items():
        words = str(type_)
        if words == "Float16":
            casts.append(pl.col(name).cast(pl.Float32))
        elif words in ("Int128", "UInt128"):
            bounds = frame.lazy().select(low=pl.col(name).min(), high=pl.col(name).max()).collect()
            if any(abs(bound) >= 10**_MOST_DIGITS for bound in bounds.row(0) if bound is not None):
                raise BadInput(
                    f"the column {name!r} of the Polars frame has integers of more than "
                    f"{_MOST_DIGITS} digits",
                    hint="Cast it to pl.String",
                )
            casts.append(pl.col(name).cast(pl.Decimal(_MOST_DIGITS, 0)))
        elif "Int128" in words or "Float16" in words:
            raise BadInput(
                f"the column {name!r} of the Polars frame has the type {words}, which Arrow does "
                "not know",
                hint="Cast it to 64 bits, or to text",
            )
    if casts:
        return frame.with_columns(casts)
    return frame


def _register_table(engine: DuckDBEngine, table: pa.Table, *, source: str, frame: Frame) -> Table:
    relation = engine.register(engine.fresh_name("frame"), exact_table(table, source=source))
    reading = ReadSettings(source.removeprefix("the ").lower())
    return table_of(engine, relation, source=source, frame=frame, reading=reading)
