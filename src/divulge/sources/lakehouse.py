# SPDX-License-Identifier: Apache-2.0
"""Read Delta Lake and Iceberg tables by their logs.

Files inside of such a table that are not the table itself raise an error (paths).
"""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa

from divulge.arguments import arg, outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency, listed
from divulge.sources.arrow_values import checked_reader
from divulge.sources.paths import ICEBERG_METADATA, LogTable
from divulge.sources.table import ReadSettings, Table, table_of

_Opened = tuple[pa.RecordBatchReader, dict[str, Any]]
"""Rows, and the version of the table that they belong to."""


def read_lakehouse(
    log_table: LogTable,
    location: str,
    as_of: int | str | None,
    *,
    source: str,
    engine: DuckDBEngine,
) -> Table:
    """Read the rows of a table by its log, from a path or an address.

    They are the current ones, or those of a version, a snapshot or a point in time.
    """
    if log_table.format not in _READERS:
        raise log_table.refusal()
    module, extra, read_rows = _READERS[log_table.format]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise MissingDependency(
            f"{source} is a table of {log_table.format}: reading it needs {module}", extra=extra
        ) from error
    # Both libraries raise dozens of kinds of errors for a damaged table, most of them not their
    # own.
    try:
        if "://" in location:
            at = location
        else:
            at = str(Path(location).expanduser().absolute())
        reader, how = read_rows(at, None if as_of is None else str(as_of).strip(), source)
        relation = engine.store(checked_reader(reader, source=source))
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        reason = (str(error).splitlines() or [type(error).__name__])[0].replace(location, source)
    else:
        return table_of(
            engine, relation, source=source, reading=ReadSettings(log_table.format, how)
        )
    # Outside of the handler: the library's message may hold the address as it was given.
    raise BadInput(
        f"the {log_table.format} table {source} cannot be read: {outside(reason)}",
        hint="Is it damaged?",
    )


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


def _read_iceberg(location: str, as_of: str | None, source: str) -> _Opened:
    from pyiceberg.table import StaticTable

    if "://" in location:
        raise BadInput(
            "Iceberg tables are read on this machine only",
            hint="Copy the table, or use Spark with its catalog",
        )
    path = Path(location)
    if path.is_file():
        metadata = path
    else:
        metadata = _newest_metadata(path)
    table = StaticTable.from_metadata(str(metadata))
    # Metadata name files by the place where they were written. For a copied table those are the
    # files of the original.
    address = urlparse(table.location())
    root = metadata.parent.parent
    if (
        address.scheme not in ("", "file")
        or Path(unquote(address.path)).resolve() != root.resolve()
    ):
        raise BadInput(
            f"the Iceberg table {root} was written to {table.location()}, and its metadata name "
            "the files there",
            hint="Name the table where it was written, or write it anew here",
        )
    if as_of is None:
        snapshot = table.current_snapshot()
    else:
        snapshot = _snapshot(table, as_of, source)
    if snapshot is None:
        number = None
    else:
        number = snapshot.snapshot_id
    return table.scan(snapshot_id=number).to_arrow_batch_reader(), {"snapshot": number}


def _snapshot(table: Any, as_of: str, source: str) -> Any:
    """Return a snapshot by its number, by the name of a branch or a tag, or by a point in time."""
    if as_of.isdigit():
        matching_snapshot = table.snapshot_by_id(int(as_of))
    elif as_of in table.refs():
        matching_snapshot = table.snapshot_by_name(as_of)
    else:
        moment = _moment(
            as_of,
            source,
            "the number of a snapshot, a branch, a tag, or a moment, as 2026-01-31T12:00",
        )
        matching_snapshot = table.snapshot_as_of_timestamp(int(moment.timestamp() * 1000))
    if matching_snapshot is None:
        snapshot_ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
        raise _no_version(source, as_of, f"Its snapshots are: {listed(snapshot_ids)}")
    return matching_snapshot


def _moment(text: str, source: str, expected: str) -> dt.datetime:
    """Parse a point in time, in UTC unless it has a zone."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise _no_version(source, text, f"Give {expected}") from None
    if moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=dt.UTC)


def _no_version(source: str, as_of: str, hint: str) -> BadInput:
    return BadInput(f"{source} has no version {arg('as_of', as_of)}", hint=hint)


def _newest_metadata(root: Path) -> Path:
    """Return the metadata file of the last commit.

    It is the one that version-hint.text names, else that of the highest number.
    """
    metadata_files: dict[int, list[Path]] = {}
    for path in sorted((root / "metadata").glob("*.metadata.json")):
        if match := ICEBERG_METADATA.fullmatch(path.name):
            metadata_files.setdefault(int(match[1]), []).append(path)
    hint = root / "metadata" / "version-hint.text"
    if hint.is_file():
        version_hint = hint.read_text(encoding="utf-8").strip()
    else:
        version_hint = ""
    newest = metadata_files.get(
        int(version_hint) if version_hint.isdigit() else max(metadata_files, default=0), []
    )
    if len(newest) != 1:
        raise BadInput(
            f"{root} has {len(newest)} metadata files of its last version, and only its catalog "
            "knows which one counts",
            hint="Name the file that the catalog names: metadata/….metadata.json",
        )
    return newest[0]


_READERS: dict[str, tuple[str, str, Callable[[str, str | None, str], _Opened]]] = {
    "Delta Lake": ("deltalake", "delta", _read_delta),
    "Iceberg": ("pyiceberg", "iceberg", _read_iceberg),
}
