# SPDX-License-Identifier: Apache-2.0
"""Read one sheet of a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods) by calamine (extra `excel`).

Each cell has its own type. A column has numbers, dates or truth values if all its cells do;
otherwise it is text, in which a whole number has no decimals. Empty cells, and cells of errors such
as #N/A, are nulls. Rows without any value are left out. A separate process with limited memory
holds the sheet while it is read.
"""

from __future__ import annotations

import datetime as dt
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.arguments import outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.sources import spreadsheet_process
from divulge.sources.delimited import looks_like_header
from divulge.sources.paths import Files
from divulge.sources.table import ReadOptions, ReadSettings, Table, check_names, pick, table_of

_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53
_MIN_MEMORY = 2 << 30
_MAX_EXPANSION = 200
"""Memory in bytes for reading a spreadsheet, plus this multiple of its file size."""


def read_sheet(files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the requested sheet, or the only one that is visible and not empty."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} spreadsheets", hint="Name one of them")
    name, rows = _cells(files.paths[0], options.sheet, source=source, engine=engine)
    description = f"sheet {name!r} of {source}"
    if not rows:
        raise BadInput(f"{description} is empty", hint="A table needs at least a header line")
    first = [_text(cell) or "" for cell in rows[0]]
    rest = rows[1:]
    below = [[_text(cell) or "" for cell in row] for row in rest[:1000]]
    if options.header is None:
        header = looks_like_header(first, below)
    else:
        header = options.header
    if header:
        names = first
    else:
        names = [f"column{position}" for position in range(len(first))]
    check_names(names, source=description)
    columns = list(zip(*(rest if header else rows), strict=True)) or [()] * len(names)
    table = pa.table({name: _column(cells) for name, cells in zip(names, columns, strict=True)})
    how = {"sheet": name, "header": header}
    relation = engine.store(table.to_reader(max_chunksize=_BATCH_ROWS))
    return table_of(engine, relation, source=description, reading=ReadSettings("excel", how))


def _cells(
    path: Path, sheet_name: str | None, *, source: str, engine: DuckDBEngine
) -> tuple[str, list[list[Any]]]:
    """Return the sheet's name and its nonempty rows, with nulls for empty cells."""
    if not _can_read():
        raise MissingDependency(
            f"{source} is a spreadsheet: reading it needs python-calamine", extra="excel"
        )
    target = engine.directory / engine.fresh_name("sheet")
    limit = _MIN_MEMORY + _MAX_EXPANSION * path.stat().st_size
    command = [
        sys.executable,
        "-P",
        spreadsheet_process.__file__,
        str(path),
        sheet_name or "",
        str(target),
        str(limit),
    ]
    search_path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": search_path}
    process = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603 - our own script
    if process.returncode != 0 or not target.exists():
        raise BadInput(
            f"{source} cannot be read within {limit / 2**30:.1f} GiB of memory",
            hint="Is it damaged, or is a cell far from the others? Save the table as CSV",
        )
    with target.open("rb") as file:
        answer = pickle.load(file)  # noqa: S301 - our own process wrote it into a private directory
    target.unlink()
    if "error" in answer:
        raise BadInput(
            f"{source} is not a readable spreadsheet: {outside(answer['error'])}",
            hint="Is it damaged, or encrypted?",
        )
    if answer["chosen"] is None:
        pick(answer["choices"], sheet_name, source=source, what="sheet")
    return answer["chosen"], answer["rows"]


def _can_read() -> bool:
    try:
        import python_calamine  # noqa: F401
    except ImportError:
        return False
    return True


def _column(cells: tuple[Any, ...]) -> pa.Array:
    kinds = {_CELL_KINDS.get(type(cell), "text") for cell in cells if cell is not None}
    if kinds == {"truth"}:
        return pa.array(cells, pa.bool_())
    if kinds == {"number"}:
        all_whole = all(cell is None or _is_whole(cell) for cell in cells)
        to_number = int if all_whole else float
        return pa.array([None if cell is None else to_number(cell) for cell in cells])
    if kinds == {"date"}:
        return pa.array(cells, pa.date32())
    if kinds and kinds <= {"date", "moment"}:
        midnight = dt.time()
        return pa.array(
            [cell if not _is_day(cell) else dt.datetime.combine(cell, midnight) for cell in cells],
            pa.timestamp("us"),
        )
    return pa.array([_text(cell) for cell in cells], pa.string())


_CELL_KINDS = {
    bool: "truth",
    int: "number",
    float: "number",
    dt.date: "date",
    dt.datetime: "moment",
}


def _is_day(cell: Any) -> bool:
    return isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)


def _is_whole(number: float) -> bool:
    return float(number).is_integer() and abs(number) <= _EXACT_IN_DOUBLE


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        if _is_whole(cell):
            return str(int(cell))
        return repr(cell)
    if isinstance(cell, dt.date | dt.datetime | dt.time):
        return cell.isoformat()
    return str(cell)
