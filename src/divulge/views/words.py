# SPDX-License-Identifier: Apache-2.0
"""How numbers, names, settings and tables are written for people, on a terminal of any width."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.cells import cell_len
from rich.padding import Padding
from rich.segment import Segment
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
_AS = {"wildcard": "matches anything", "value": "a value of its own"}


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


def cell(value: Any) -> str:
    """A value of a table."""
    return "null" if value is None else str(value)


def metric_words(name: str) -> str:
    """The name of a metric as people write it.

    >>> metric_words("k_anonymity"), metric_words("entropy_l_diversity"), metric_words("entropy_leakage")
    ('k-anonymity', 'entropy l-diversity', 'entropy leakage')
    """
    return re.sub(r"(?<![a-z])([a-z])_", r"\1-", name).replace("_", " ")


def settings_sentence(settings: Mapping[str, Any]) -> str:
    """What the numbers depend on, in one line."""
    parts = [f"nulls: {settings['nulls']}", f"engine: {settings['engine']}", "logarithms: base 2"]
    parts += [f"{text!r}: {_AS[how]}" for text, how in settings["suppressed"].items()]
    parts += [f"prior of {name}: {prior}" for name, prior in settings["prior"].items()]
    parts += [f"t-closeness of {name}: {distance} distance" for name, distance in settings["ground_distance"].items()]
    parts += [f"recursive diversity of {name}: l = {l_value}" for name, l_value in settings["recursive_l"].items()]
    parts += [f"a guess of {name}: {how}" for name, how in settings["right_guess"].items() if how != "exact"]
    parts += [f"people told apart by {settings['person']}"] if settings["person"] else []
    parts += [f"weights: {settings['weight']}"] if settings["weight"] else []
    parts += [
        f"{how.replace('_', ' ')} for {name}: {', '.join('null' if value is None else value for value in values)}"
        for name, known in settings["background"].items()
        for how, values in known.items()
    ]
    return "; ".join(parts) + "."


def heading(text: str) -> RenderableType:
    """A title with a blank line before it."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def noted(note: str) -> str:
    """A note as a sentence, in the words of whoever shows it."""
    return f"Note: {results.spoken(note)}{'' if note.endswith('?') else '.'}"


def bullet(sentence: str, mark: str = "-") -> RenderableType:
    """One indented sentence; its further lines hang."""
    return Padding(_Bullet(sentence, mark), (0, 0, 0, 2))


class _Bullet(NamedTuple):
    """A sentence beside its mark."""

    sentence: str
    mark: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _side_by_side(
            console,
            [(self.mark, len(self.mark), "left"), (self.sentence, options.max_width - len(self.mark) - 1, "left")],
            1,
        )


Cell = tuple[str, int, Literal["left", "right"]]
"""A text, the width that it has, and where it stands."""


def _side_by_side(console: Console, cells: Sequence[Cell], gap: int, style: str = "") -> Iterator[Segment]:
    """Cells as one line, or as several where one of them must be broken.

    A table of rich's own for each row would give the same lines in ten times the time.
    """
    columns = [_wrapped(console, *cell) for cell in cells]
    blank = [" " * width for _, width, _ in cells]
    for line in itertools.zip_longest(*columns):
        told = (" " * gap).join(part if part is not None else blank[place] for place, part in enumerate(line))
        yield Segment(told, console.get_style(style) if style else None)
        yield Segment.line()


def _wrapped(console: Console, text: str, width: int, justify: Literal["left", "right"]) -> list[str]:
    """The lines of a cell, filled up to its width."""
    if cell_len(text) <= width and text.isprintable():
        blanks = " " * (width - cell_len(text))
        return [blanks + text if justify == "right" else text + blanks]
    return [line.plain for line in Text(text).wrap(console, max(width, 1), justify=justify, overflow="fold")]


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
        sized = [self._size(place) for place in range(count)]
        readable = [_Size(max(size.least, min(_READABLE, size.widest)), size.widest) for size in sized[-self.prose :]]
        beside, below = range(count), range(0)
        if self.prose and _room([*sized[: -self.prose], *readable]) > width:
            beside, below = range(count - self.prose), range(count - self.prose, count)
        for number, block in enumerate(_blocks(beside, sized, width)):
            if number:
                yield Text("")
            widths = _widths(block, sized, width)
            yield from self._line(console, self.columns, widths, style="bold")
            for row in self.rows:
                yield from self._line(console, row, widths)
                told = "; ".join(row[place] for place in below if row[place])
                if told and not number:
                    yield Padding(Text(told, style="dim", overflow="fold"), (0, 0, 0, 2))

    def _size(self, place: int) -> _Size:
        """Numbers are never broken; texts between words, and a word that is too long for a column of text anywhere."""
        cells, head = [row[place] for row in self.rows], _longest_word(self.columns[place])
        lengths = [cell_len(cell) for cell in cells]
        if place in self.right:
            least = max(lengths, default=0) if head > _WORD else max(head, *lengths, 1)
        else:
            least = min(max(head, *map(_longest_word, cells), 1), _WORD)
        return _Size(least, max(cell_len(self.columns[place]), *lengths, 0))

    def _line(
        self, console: Console, cells: Sequence[str], widths: Mapping[int, int], style: str = ""
    ) -> Iterator[Segment]:
        line: list[Cell] = [
            (cells[place], width, "right" if place in self.right else "left") for place, width in widths.items()
        ]
        return _side_by_side(console, line, _GAP, style)


class _Size(NamedTuple):
    """How wide a column must and may be."""

    least: int
    widest: int


def _blocks(places: Sequence[int], sized: Sequence[_Size], width: int) -> Iterator[list[int]]:
    """The columns that stand side by side, each time after the first."""
    block = list(places[:1])
    for place in places[1:]:
        if len(block) > 1 and _room([sized[at] for at in (*block, place)]) > width:
            yield block
            block = [places[0]]
        block.append(place)
    yield block


def _widths(block: Sequence[int], sized: Sequence[_Size], width: int) -> dict[int, int]:
    """As wide as the longest cell where there is room; what is left over goes to the narrowest columns first."""
    found = {place: sized[place].least for place in block}
    spare = width - _room([sized[place] for place in block])
    for place in block:  # where there is too little, the first column gives way before the others: its words are broken
        less = max(min(found[place] - 1, -spare), 0)
        found[place], spare = found[place] - less, spare + less
    for place in sorted(block, key=lambda place: sized[place].widest):
        more = max(min(sized[place].widest - found[place], spare), 0)
        found[place], spare = found[place] + more, spare - more
    return found


def _room(sized: Sequence[_Size]) -> int:
    """The columns that a block takes at least."""
    return sum(size.least for size in sized) + _GAP * (len(sized) - 1)


def grid(*columns: str, right: Iterable[int] = (), prose: int = 0) -> Sheet:
    """A plain table; numbers stand to the right, and the last `prose` columns go below where there is no room beside."""
    return Sheet(columns, right, prose)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def written_text(written: Sequence[Path]) -> tuple[RenderableType, ...]:
    """The files that were written, if any."""
    return (heading("Written"), *(bullet(str(path)) for path in written)) if written else ()
