# SPDX-License-Identifier: Apache-2.0
"""Reads Delta Lake and Iceberg tables as their logs say; what lies in such a table and is not the table is refused (paths)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.table.frames import check_schema
from divulge.table.paths import ICEBERG_METADATA, LogTable, find_log_table
from divulge.table.reading import HowRead
from divulge.table.table import Table, table_of


def find_lakehouse(source: str) -> LogTable | None:
    """The table with a log that the user named: by its folder or, for Iceberg, by one of its metadata files."""
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        found = find_log_table(path)
        return found if found is not None and found.root == path else None
    if path.parent.name == "metadata" and ICEBERG_METADATA.fullmatch(path.name) and path.is_file():
        return LogTable(path.parent.parent, "Iceberg")
    return None


def read_lakehouse(found: LogTable, place: str, *, source: str, engine: DuckDBEngine) -> Table:
    """The rows that the log says are in the table, at a path or an address."""
    if found.format not in _READERS:
        raise found.refusal()
    module, extra, read_rows = _READERS[found.format]
    try:
        importlib.import_module(module)
    except ImportError as error:
        hint = f"Install it with: pip install 'divulge[{extra}]'"
        raise MissingDependency(
            f"{source} is a table of {found.format}: reading it needs {module}", hint=hint
        ) from error
    # Either library has dozens of kinds of errors for a damaged table, most of them not its own.
    try:
        reader = read_rows(place if "://" in place else str(Path(place).expanduser().absolute()))
        check_schema(reader.schema, source=source)
        relation = engine.store(reader)
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        reason = (str(error).splitlines() or [type(error).__name__])[0].replace(place, source)
    else:
        return table_of(engine, relation, source=source, reading=HowRead(found.format))
    # Outside of the handler: the library's own words may hold the address as it was given.
    raise BadInput(f"the {found.format} table {source} cannot be read: {reason}", hint="Is it damaged?")


def _read_delta(root: str) -> pa.RecordBatchReader:
    from deltalake import DeltaTable

    return pa.RecordBatchReader.from_stream(DeltaTable(root).scan())


def _read_iceberg(place: str) -> pa.RecordBatchReader:
    from pyiceberg.table import StaticTable

    if "://" in place:
        raise BadInput(
            "Iceberg tables are read on this machine only", hint="Copy the table, or use Spark with its catalog"
        )
    named = Path(place)
    metadata = named if named.is_file() else _newest_metadata(named)
    table = StaticTable.from_metadata(str(metadata))
    # Metadata name files by where they were written: for a copied table those are the files of the other one.
    address, root = urlparse(table.location()), metadata.parent.parent
    if address.scheme not in ("", "file") or Path(unquote(address.path)).resolve() != root.resolve():
        raise BadInput(
            f"the Iceberg table {root} was written to {table.location()}, and its metadata name the files there",
            hint="Name the table where it was written, or write it anew here",
        )
    return table.scan().to_arrow_batch_reader()


def _newest_metadata(root: Path) -> Path:
    """The metadata file of the last commit: the one that version-hint.text names, else that of the highest number."""
    found: dict[int, list[Path]] = {}
    for path in sorted((root / "metadata").glob("*.metadata.json")):
        if match := ICEBERG_METADATA.fullmatch(path.name):
            found.setdefault(int(match[1]), []).append(path)
    hint = root / "metadata" / "version-hint.text"
    said = hint.read_text(encoding="utf-8").strip() if hint.is_file() else ""
    newest = found.get(int(said) if said.isdigit() else max(found, default=0), [])
    if len(newest) != 1:
        raise BadInput(
            f"{root} has {len(newest)} metadata files of its last version, and only its catalog knows which one counts",
            hint="Name the file that the catalog names: metadata/….metadata.json",
        )
    return newest[0]


_READERS: dict[str, tuple[str, str, Callable[[str], pa.RecordBatchReader]]] = {
    "Delta Lake": ("deltalake", "delta", _read_delta),
    "Iceberg": ("pyiceberg", "iceberg", _read_iceberg),
}
