# SPDX-License-Identifier: Apache-2.0
"""Read one sheet of a spreadsheet in a separate process with limited memory.

A spreadsheet of a few kilobytes may expand to any size: one cell in the last row and column, one
long text in every cell, or a compressed file of blanks. The library that reads it would end the
whole program. This file is run as a script and imports nothing of divulge.

Usage: spreadsheet_process.py SPREADSHEET SHEET TARGET LIMIT, with an empty SHEET for the only
one that is not empty.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from pathlib import Path
from typing import Any


def _limit_memory(limit: int) -> None:
    """Limit the memory of this process, in bytes beyond its current use, if possible."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        total = pages * resource.getpagesize() + limit
        resource.setrlimit(resource.RLIMIT_AS, (total, total))


def _read(path: str, sheet_name: str) -> dict[str, Any]:
    """Return the names of the sheets, and the nonempty rows of the selected one."""
    import python_calamine

    try:
        with python_calamine.load_workbook(path) as book:
            visible = [
                sheet.name for sheet in book.sheets_metadata if "Visible" in str(sheet.visible)
            ]
            full = [name for name in visible if book.get_sheet_by_name(name).total_height]
            choices = full or visible
            if sheet_name in book.sheet_names:
                chosen_sheet = sheet_name
            else:
                chosen_sheet = None
            if not sheet_name and len(choices) == 1:
                chosen_sheet = choices[0]
            if chosen_sheet is None:
                cells = []
            else:
                cells = book.get_sheet_by_name(chosen_sheet).to_python()
    except (python_calamine.CalamineError, OSError) as error:
        return {"error": str(error)}
    rows = ([None if cell == "" else cell for cell in row] for row in cells)
    return {
        "choices": choices,
        "chosen": chosen_sheet,
        "rows": [row for row in rows if any(cell is not None for cell in row)],
    }


def main(path: str, sheet_name: str, target: str, limit: str) -> None:
    """Write the result to a file."""
    _limit_memory(int(limit))
    answer = _read(path, sheet_name)
    with Path(target).open("wb") as file:
        pickle.dump(answer, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
