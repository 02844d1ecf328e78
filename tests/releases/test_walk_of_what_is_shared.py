# SPDX-License-Identifier: Apache-2.0
"""A scan of every file of release/ for unpublished original values, for each method and format.

Each original value of a column that is generalized, suppressed or dropped contains a marker that no
published label can contain: `Q` with the number of the row. Text files are searched as bytes.
Parquet and Arrow files are read, because they may be compressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import csv, ipc

import divulge as dv

FormatName = Literal["csv", "parquet", "arrow"]
ROWS = 24
MARKER = re.compile(rb"Q\d+Z")
HIERARCHY = {"town": {"suppress": True}}


def original() -> pa.Table:
    """Two rows in three are in a town of only one person.

    Sensitive values are published, so they contain no marker.
    """
    rows = range(ROWS)
    return pa.table(
        {
            "name": [f"name Q{row}Z" for row in rows],
            "town": [f"town Q{row % 8}Z" for row in rows],
            "age": [20 + row % 6 for row in rows],
            "note": [f"note Q{row}Z" for row in rows],
            "disease": [("cold", "flu", "none")[row % 3] for row in rows],
        }
    )


def read_arrow(path: Path) -> pa.Table:
    return ipc.open_file(path).read_all()


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Return the bytes of each file; for compressed formats also the values and the metadata."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        yield path.name, path.name.encode() + path.read_bytes()
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            footer = pyarrow.parquet.ParquetFile(path).metadata
            yield (
                path.name,
                repr((table.to_pydict(), table.schema, footer.metadata, footer.to_dict())).encode(),
            )
        elif path.suffix == ".arrow":
            table = read_arrow(path)
            yield path.name, repr((table.to_pydict(), table.schema, table.schema.metadata)).encode()


def published_towns(path: Path) -> list[object]:
    """Return the labels of the column `town`.

    Some methods publish a value itself if enough people have it.
    """
    readers = {".csv": csv.read_csv, ".parquet": pyarrow.parquet.read_table, ".arrow": read_arrow}
    table = readers[path.suffix](path)
    return list(table["town"].to_pylist()) if "town" in table.column_names else []


def markers(folder: Path) -> dict[str, list[bytes]]:
    found = {name: MARKER.findall(content) for name, content in contents(folder)}
    return {name: hits for name, hits in found.items() if hits}


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("method", ["full-domain", "columns", "mondrian", "relaxed-mondrian"])
def test_generalized(
    method: Literal["full-domain", "columns", "mondrian", "relaxed-mondrian"],
    format_: FormatName,
    tmp_path: Path,
) -> None:
    without_rows = {"suppression": 0.2} if method in {"full-domain", "columns"} else {}
    release = dv.generalize(
        original(),
        policy={"k_anonymity": 3, **without_rows},
        quasi_identifiers=["town", "age"],
        sensitive="disease",
        identifier="name",
        leave_out="note",
        hierarchies=HIERARCHY if method == "full-domain" else None,
        method=method,
    )
    release.write(tmp_path / "release", format=format_, seed=1)
    shown = markers(tmp_path / "release")
    if method == "full-domain":
        assert shown == {}
    published = " ".join(map(str, published_towns(tmp_path / "release" / f"table.{format_}")))
    assert [hit for hits in shown.values() for hit in hits if hit.decode() not in published] == []
    assert markers(tmp_path / "release.private"), (
        "the private part holds them, so the walk can find them"
    )


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow"])
def test_anatomized(format_: FormatName, tmp_path: Path) -> None:
    release = dv.anatomize(
        original().drop_columns(["town"]),
        beta=0.5,
        quasi_identifiers="age",
        sensitive="disease",
        identifier="name",
        leave_out="note",
    )
    release.write(tmp_path / "release", format=format_)
    assert markers(tmp_path / "release") == {}


def test_applied(tmp_path: Path) -> None:
    release = dv.generalize(
        original(),
        policy={"k_anonymity": 3},
        quasi_identifiers=["town", "age"],
        sensitive="disease",
        identifier="name",
        leave_out="note",
        hierarchies=HIERARCHY,
    )
    release.write(tmp_path / "release", seed=1)
    dv.apply(tmp_path / "release", original(), out=tmp_path / "later")
    assert markers(tmp_path / "later") == {}
    assert markers(tmp_path / "later.private")
