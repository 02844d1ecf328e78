# SPDX-License-Identifier: Apache-2.0
"""Data sets by name: public ones, and the tables that papers print.

Public files are downloaded once into a cache and verified by SHA-256 on every use. The papers'
tables come with divulge.

In Python: `divulge.datasets.load("adult")`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from divulge import interrupts
from divulge.datasets.catalogue import PUBLIC, Dataset, SourceFailed
from divulge.datasets.printed import PRINTED, InThePackage
from divulge.errors import BadInput, MissingDependency, nearest
from divulge.validation import checked

if TYPE_CHECKING:
    import pyarrow as pa

DATASETS: tuple[Dataset, ...] = (*PUBLIC, *PRINTED)


@dataclass(frozen=True, kw_only=True)
class Available:
    """A data set that `load` accepts, and whether it is already on this machine."""

    name: str
    title: str
    rows: int
    columns: int
    source: str
    licence: str
    sha256: str
    cached: bool


def available() -> list[Available]:
    """List all data sets, without downloading any.

    A file of the right size counts as cached, because verifying it would mean reading 100 MB.

    Examples:
        >>> import divulge as dv
        >>> "adult" in [found.name for found in dv.datasets.available()]
        True
    """
    same = ("name", "title", "rows", "source", "licence", "sha256")
    entries = []
    for dataset in DATASETS:
        path = _cached_path(cache_folder(), dataset)
        cached = _inside(dataset) is not None or (
            path.is_file() and path.stat().st_size == dataset.size
        )
        shared = {name: getattr(dataset, name) for name in same}
        entries.append(Available(**shared, columns=len(dataset.columns), cached=cached))
    return entries


@checked
def load(name: str) -> pa.Table:
    """Return a data set as an Arrow table with its usual column names; "?" becomes null.

    Whole numbers are int64, the survey weight is float64, everything else (codes too) is text. The
    tables that papers print ("afifi-table-4b") need no network. "adult-complete" is Adult without
    the rows that miss a value.

    Args:
        name: The name of the data set, as `available` lists it.

    Examples:
        >>> import divulge as dv
        >>> dv.datasets.load("adult-complete").num_rows  # doctest: +SKIP
        30162
        >>> dv.datasets.load("afifi-table-4b").num_rows
        12
    """
    dataset = _find(name)
    content = _inside(dataset)
    return read(fetch(name) if content is None else content, dataset=dataset)


@checked
def fetch(name: str) -> Path:
    """Return the path of a data set's verified original file, downloading it if needed.

    Args:
        name: The name of the data set, as `available` lists it.

    Examples:
        >>> import divulge as dv
        >>> dv.datasets.fetch("adult").exists()  # doctest: +SKIP
        True
    """
    return fetch_into(cache_folder(), dataset=_find(name))


def _inside(dataset: Dataset) -> bytes | None:
    """Return the content of a data set that comes with divulge; None for other data sets."""
    if dataset.sources:
        source = dataset.sources[0]
    else:
        source = None
    if isinstance(source, InThePackage):
        return source.content
    return None


def _find(name: str) -> Dataset:
    datasets_by_name = {dataset.name: dataset for dataset in DATASETS}
    if name not in datasets_by_name:
        raise BadInput(f"there is no data set {name!r}", hint=nearest(name, list(datasets_by_name)))
    return datasets_by_name[name]


def cache_folder() -> Path:
    """Return the cache folder: $DIVULGE_CACHE, or else `divulge` in the platform's cache folder."""
    if cache_path := os.environ.get("DIVULGE_CACHE"):
        return Path(cache_path).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "divulge"


def fetch_into(folder: Path, *, dataset: Dataset) -> Path:
    """Return the verified file in this folder.

    A missing file, or one with the wrong SHA-256, is downloaded again.
    """
    path = _cached_path(folder, dataset)
    if path.is_file() and _sha256(path.read_bytes()) == dataset.sha256:
        return path
    _write_atomically(path, _first_good(dataset))
    return path


def _first_good(dataset: Dataset) -> bytes:
    failures = []
    for source in dataset.sources:
        try:
            content = source.read()
        except SourceFailed as failure:
            failures.append(f"{source}: {failure}")
            continue
        digest = _sha256(content)
        if digest == dataset.sha256:
            return content
        failures.append(
            f"{source}: refused, SHA-256 {digest[:12]}... is not {dataset.sha256[:12]}..."
        )
    raise MissingDependency(
        f"the data set {dataset.name!r} is not cached and could not be fetched (tried "
        f"{'; '.join(failures)})",
        hint="Connect this machine to the network once, or point DIVULGE_CACHE to a folder that "
        f"holds the original file as {_cached_path(Path(), dataset)}",
    )


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that another process sees all of it or none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with interrupts.guard(
            tempfile.TemporaryDirectory(dir=path.parent, prefix="fetching-")
        ) as staging:
            staged = Path(staging) / path.name
            staged.write_bytes(content)
            staged.replace(path)
    except OSError as error:
        problem = f"the cache folder {path.parent} cannot be written ({error.strerror})"
        raise BadInput(problem, hint="Point DIVULGE_CACHE to a folder of yours") from error


def _cached_path(folder: Path, dataset: Dataset) -> Path:
    return folder / f"{dataset.stored_as or dataset.name}.csv"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read(file: Path | bytes, *, dataset: Dataset) -> pa.Table:
    """Parse a data file.

    It has no header. Values have blanks around them, "?" is unknown, and some files end the last
    label with a dot.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    raw = csv.read_csv(
        pa.BufferReader(file) if isinstance(file, bytes) else file,
        read_options=csv.ReadOptions(column_names=dataset.columns, skip_rows=dataset.comment_lines),
        parse_options=csv.ParseOptions(quote_char=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(dataset.columns, pa.string())
        ),
    )
    types = dict.fromkeys(dataset.integers, pa.int64()) | dict.fromkeys(
        dataset.decimals, pa.float64()
    )
    columns = {}
    for name in dataset.columns:
        text = pc.utf8_trim_whitespace(raw[name])
        if name == dataset.columns[-1]:
            text = pc.utf8_rtrim(text, characters=".")
        cells = pc.if_else(pc.equal(text, "?"), pa.scalar(None, pa.string()), text)
        columns[name] = cells.cast(types.get(name, pa.string()))
    table = pa.table(columns)
    if dataset.complete:
        return table.drop_null()
    return table
