# SPDX-License-Identifier: Apache-2.0
"""Reads Delta Lake and Iceberg tables as their logs say; what lies in such a table and is not the table is refused (paths)."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency, listed
from divulge.table.frames import check_schema
from divulge.table.paths import ICEBERG_METADATA, LogTable
from divulge.table.table import HowRead, Table, table_of

_Opened = tuple[pa.RecordBatchReader, dict[str, Any]]
"""The rows, and which version of the table they are."""


def read_lakehouse(found: LogTable, place: str, as_of: int | str | None, *, source: str, engine: DuckDBEngine) -> Table:
    """The rows that the log says are in the table, at a path or an address: now, or in a version, a snapshot or at a moment."""
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
        at = place if "://" in place else str(Path(place).expanduser().absolute())
        reader, how = read_rows(at, None if as_of is None else str(as_of).strip(), source)
        check_schema(reader.schema, source=source)
        relation = engine.store(reader)
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        reason = (str(error).splitlines() or [type(error).__name__])[0].replace(place, source)
    else:
        return table_of(engine, relation, source=source, reading=HowRead(found.format, how))
    # Outside of the handler: the library's own words may hold the address as it was given.
    raise BadInput(f"the {found.format} table {source} cannot be read: {reason}", hint="Is it damaged?")


def _read_delta(root: str, as_of: str | None, source: str) -> _Opened:
    from deltalake import DeltaTable

    table = DeltaTable(root)
    newest = table.version()
    if as_of is not None and as_of.isdigit():
        if int(as_of) > newest:
            raise _no_version(source, as_of, f"The newest version is {newest}")
        table.load_as_version(int(as_of))
    elif as_of is not None:
        moment = _moment(as_of, source, "a version, as 3, or a moment, as 2026-01-31T12:00")
        table.load_as_version(moment)
        if table.history(1)[0]["timestamp"] > moment.timestamp() * 1000:
            raise _no_version(source, as_of, "The table began later")
    return pa.RecordBatchReader.from_stream(table.scan()), {"version": table.version()}


def _read_iceberg(place: str, as_of: str | None, source: str) -> _Opened:
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
    snapshot = table.current_snapshot() if as_of is None else _snapshot(table, as_of, source)
    number = None if snapshot is None else snapshot.snapshot_id
    return table.scan(snapshot_id=number).to_arrow_batch_reader(), {"snapshot": number}


def _snapshot(table: Any, as_of: str, source: str) -> Any:
    """By its number, by the name of a branch or a tag, or the one of a moment."""
    if as_of.isdigit():
        found = table.snapshot_by_id(int(as_of))
    elif as_of in table.refs():
        found = table.snapshot_by_name(as_of)
    else:
        moment = _moment(as_of, source, "the number of a snapshot, a branch, a tag, or a moment, as 2026-01-31T12:00")
        found = table.snapshot_as_of_timestamp(int(moment.timestamp() * 1000))
    if found is None:
        known = [snapshot.snapshot_id for snapshot in table.snapshots()]
        raise _no_version(source, as_of, f"Its snapshots are: {listed(known)}")
    return found


def _moment(text: str, source: str, wanted: str) -> dt.datetime:
    """In UTC unless it says otherwise."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise _no_version(source, text, f"Give {wanted}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _no_version(source: str, as_of: str, hint: str) -> BadInput:
    return BadInput(f"{source} has no version as_of={as_of!r}", hint=hint)


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


_READERS: dict[str, tuple[str, str, Callable[[str, str | None, str], _Opened]]] = {
    "Delta Lake": ("deltalake", "delta", _read_delta),
    "Iceberg": ("pyiceberg", "iceberg", _read_iceberg),
}
