# SPDX-License-Identifier: Apache-2.0
"""Reads one sheet of a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods) by calamine (extra `excel`).

A cell has a type of its own. A column is of numbers, dates or truth values if all its cells are; else it is text, in which a whole number
has no decimals. Empty cells, and cells of errors such as #N/A, are nulls; rows without any value are left out. A sheet is held in memory
while it is read.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.table.paths import Files
from divulge.table.table import HowRead, ReadOptions, Table, check_names, pick, table_of
from divulge.table.text_files import looks_like_header

_BATCH_ROWS = 20_000
_EXACT_IN_DOUBLE = 2**53


def read_sheet(files: Files, asked: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """The sheet that is asked for, or the only one that can be seen and holds something."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} spreadsheets", hint="Name one of them")
    name, rows = _cells(str(files.paths[0]), asked.sheet, source=source)
    shown = f"sheet {name!r} of {source}"
    if not rows:
        raise BadInput(f"{shown} is empty", hint="A table needs at least a header line")
    first, rest = [_text(cell) or "" for cell in rows[0]], rows[1:]
    below = [[_text(cell) or "" for cell in row] for row in rest[:1000]]
    header = looks_like_header(first, below) if asked.header is None else asked.header
    names = first if header else [f"column{place}" for place in range(len(first))]
    check_names(names, source=shown)
    columns = list(zip(*(rest if header else rows), strict=True)) or [()] * len(names)
    table = pa.table({name: _column(cells) for name, cells in zip(names, columns, strict=True)})
    how = {"sheet": name, "header": header}
    relation = engine.store(table.to_reader(max_chunksize=_BATCH_ROWS))
    return table_of(engine, relation, source=shown, reading=HowRead("excel", how))


def _cells(path: str, asked: str | None, *, source: str) -> tuple[str, list[list[Any]]]:
    """The sheet's name, and its rows that hold something, nulls for empty cells."""
    try:
        import python_calamine
    except ImportError:
        hint = "Install it with: pip install 'divulge[excel]'"
        raise MissingDependency(f"{source} is a spreadsheet: reading it needs python-calamine", hint=hint) from None
    try:
        with python_calamine.load_workbook(path) as book:
            seen = [sheet.name for sheet in book.sheets_metadata if "Visible" in str(sheet.visible)]
            full = [name for name in seen if book.get_sheet_by_name(name).total_height]
            name = asked if asked in book.sheet_names else pick(full or seen, asked, source=source, what="sheet")
            found = book.get_sheet_by_name(name).to_python()
    except (python_calamine.CalamineError, OSError) as error:
        raise BadInput(
            f"{source} is not a readable spreadsheet: {error}", hint="Is it damaged, or encrypted?"
        ) from None
    rows = [[None if cell == "" else cell for cell in row] for row in found]
    return name, [row for row in rows if any(cell is not None for cell in row)]


def _column(cells: tuple[Any, ...]) -> pa.Array:
    kinds = {_KIND.get(type(cell), "text") for cell in cells if cell is not None}
    if kinds == {"truth"}:
        return pa.array(cells, pa.bool_())
    if kinds == {"number"}:
        whole = all(cell is None or _is_whole(cell) for cell in cells)
        return pa.array([None if cell is None else int(cell) if whole else float(cell) for cell in cells])
    if kinds == {"date"}:
        return pa.array(cells, pa.date32())
    if kinds and kinds <= {"date", "moment"}:
        midnight = dt.time()
        return pa.array(
            [cell if not _is_day(cell) else dt.datetime.combine(cell, midnight) for cell in cells], pa.timestamp("us")
        )
    return pa.array([_text(cell) for cell in cells], pa.string())


_KIND = {bool: "truth", int: "number", float: "number", dt.date: "date", dt.datetime: "moment"}


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
        return str(int(cell)) if _is_whole(cell) else repr(cell)
    return cell.isoformat() if isinstance(cell, dt.date | dt.datetime | dt.time) else str(cell)
