# SPDX-License-Identifier: Apache-2.0
"""How numbers, names and tables are written for people, on a terminal of any width."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

_WIDE = 110
"""Columns that a table with prose in it needs; a usual terminal has 80."""


def _counted(one: str, many: str) -> Callable[[int], str]:
    """1 person, 2 people."""
    return lambda count: f"1 {one}" if count == 1 else f"{count:,} {many}"


people, rows, classes = _counted("person", "people"), _counted("row", "rows"), _counted("class", "classes")


def class_name(key: Mapping[str, Any]) -> str:
    """zip=476**, age=2*."""
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in key.items())


def percent(share: float) -> str:
    """A share as people write it, with enough digits to tell it from 0 and 100 %."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    digits = 0 if 0.01 <= share <= 0.99 else 2
    text = f"{share:.{digits}%}"
    if float(text[:-1]) == 0:
        return "under 0.01%"
    return text if float(text[:-1]) < 100 else "over 99.99%"


def number(value: float) -> str:
    """Whole numbers with thousands marks, others with four digits."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def heading(text: str) -> RenderableType:
    """A title with a blank line before it."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def bullet(sentence: str, mark: str = "-") -> RenderableType:
    """One indented sentence; its further lines hang."""
    line = Grid.grid(padding=(0, 1, 0, 0))
    line.add_column(width=len(mark))
    line.add_column()
    line.add_row(mark, Text(sentence))
    return Padding(line, (0, 0, 0, 2))


def grid(*columns: str, right: Iterable[int] = (), whole: Iterable[int] = ()) -> Grid:
    """A plain table; numbers stand to the right, and neither they nor the columns in `whole` are broken into lines."""
    table = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    numeric, unbroken = set(right), {*right, *whole}
    for position, name in enumerate(columns):
        table.add_column(
            name, justify="right" if position in numeric else "left", overflow="fold", no_wrap=position in unbroken
        )
    return table


@dataclass(frozen=True)
class Listing:
    """A table whose last columns are prose: beside the numbers where there is room, else under the first column."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: int
    right: Sequence[int] = ()
    whole: Sequence[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for the width at hand."""
        if options.max_width >= _WIDE:
            table = grid(*self.columns, right=self.right, whole=self.whole)
            for row in self.rows:
                table.add_row(*row)
        else:
            table = grid(*self.columns[: -self.prose], right=self.right, whole=[i for i in self.whole if i])
            for first, *row in self.rows:
                under = "; ".join(text for text in row[-self.prose :] if text)
                table.add_row(Group(Text(first), Padding(Text(under, style="dim"), (0, 0, 0, 2))), *row[: -self.prose])
        yield table


def written_text(written: Sequence[Path]) -> tuple[RenderableType, ...]:
    """The files that were written, if any."""
    return (heading("Written"), *(bullet(str(path)) for path in written)) if written else ()
