# SPDX-License-Identifier: Apache-2.0
"""How numbers, names and tables are written for people, on a terminal of any width."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from divulge import results, values

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_GAP = 2
"""Blanks between the columns of a table."""
_WORD = 40
"""A longer word may be broken in a column of text."""
_READABLE = 30
"""Prose in a narrower column goes below its row."""


def _counted(one: str, many: str) -> Callable[[int], str]:
    """1 person, 2 people."""
    return lambda count: values.counted(count, one, many)


people, rows, classes = _counted("person", "people"), _counted("row", "rows"), _counted("class", "classes")


class_name = values.class_name


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


def metric_words(name: str) -> str:
    """The name of a metric as people write it.

    >>> metric_words("k_anonymity"), metric_words("entropy_l_diversity"), metric_words("entropy_leakage")
    ('k-anonymity', 'entropy l-diversity', 'entropy leakage')
    """
    return re.sub(r"(?<![a-z])([a-z])_", r"\1-", name).replace("_", " ")


def heading(text: str) -> RenderableType:
    """A title with a blank line before it."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def noted(note: str) -> str:
    """A note as a sentence, in the words of whoever shows it."""
    return f"Note: {results.spoken(note)}{'' if note.endswith('?') else '.'}"


def bullet(sentence: str, mark: str = "-") -> RenderableType:
    """One indented sentence; its further lines hang."""
    line = Grid.grid(padding=(0, 1, 0, 0))
    line.add_column(width=len(mark))
    line.add_column(overflow="fold")
    line.add_row(mark, Text(sentence))
    return Padding(line, (0, 0, 0, 2))


class Sheet:
    """A plain table that loses neither a column nor a digit, however narrow the terminal is.

    Where all columns fit, they stand side by side; where not, the last `prose` columns go below each row, cells are broken between
    words, and the columns that still find no room follow in further blocks, each of which begins with the first column again.
    """

    def __init__(self, columns: Sequence[str], right: Iterable[int] = (), prose: int = 0) -> None:
        self.columns, self.right, self.prose = columns, frozenset(right), prose
        self.rows: list[tuple[str, ...]] = []

    def add_row(self, *cells: str) -> None:
        """One more row."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for the width at hand."""
        width, count = options.max_width, len(self.columns)
        beside, below = range(count), range(0)
        if self.prose and self._room(beside, _READABLE) > width:
            beside, below = range(count - self.prose), range(count - self.prose, count)
        for number, block in enumerate(self._blocks(beside, width)):
            if number:
                yield Text("")
            widths = self._widths(block, width)
            yield self._line(self.columns, block, widths, style="bold")
            for row in self.rows:
                yield self._line(row, block, widths)
                told = "; ".join(row[place] for place in below if row[place])
                if told and not number:
                    yield Padding(Text(told, style="dim", overflow="fold"), (0, 0, 0, 2))

    def _blocks(self, places: Sequence[int], width: int) -> Iterator[list[int]]:
        """The columns that stand side by side, each time after the first."""
        block = list(places[:1])
        for place in places[1:]:
            if len(block) > 1 and self._room([*block, place]) > width:
                yield block
                block = [places[0]]
            block.append(place)
        yield block

    def _widths(self, block: Sequence[int], width: int) -> dict[int, int]:
        """As wide as the longest cell where there is room; what is left over goes to the narrowest columns first."""
        least = {place: self._least(place) for place in block}
        spare = width - self._room(block)
        if spare < 0:  # the first column must give way: its words are broken
            least[block[0]] = max(least[block[0]] + spare, 1)
        for place in sorted(block, key=self._widest):
            more = max(min(self._widest(place) - least[place], spare), 0)
            least[place], spare = least[place] + more, spare - more
        return least

    def _room(self, block: Sequence[int], readable: int = 0) -> int:
        """The columns that a block takes at least."""
        prose = range(len(self.columns) - self.prose, len(self.columns))
        least = (max(self._least(at), min(readable, self._widest(at)) if at in prose else 0) for at in block)
        return sum(least) + _GAP * (len(block) - 1)

    def _widest(self, place: int) -> int:
        return max(map(cell_len, (self.columns[place], *(row[place] for row in self.rows))))

    def _least(self, place: int) -> int:
        """Numbers are never broken; texts between words, and a word that is too long for a column of text anywhere."""
        cells, head = [row[place] for row in self.rows], _longest_word(self.columns[place])
        if place in self.right:
            return max(map(cell_len, cells), default=0) if head > _WORD else max(head, *map(cell_len, cells), 1)
        return min(max(head, *map(_longest_word, cells), 1), _WORD)

    def _line(
        self, cells: Sequence[str], block: Sequence[int], widths: Mapping[int, int], style: str = ""
    ) -> RenderableType:
        line = Grid.grid(padding=(0, _GAP, 0, 0))
        for place in block:
            line.add_column(width=widths[place], justify="right" if place in self.right else "left", overflow="fold")
        line.add_row(*(Text(cells[place], style=style) for place in block))
        return line


def grid(*columns: str, right: Iterable[int] = (), prose: int = 0) -> Sheet:
    """A plain table; numbers stand to the right, and the last `prose` columns go below where there is no room beside."""
    return Sheet(columns, right, prose)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def written_text(written: Sequence[Path]) -> tuple[RenderableType, ...]:
    """The files that were written, if any."""
    return (heading("Written"), *(bullet(str(path)) for path in written)) if written else ()
