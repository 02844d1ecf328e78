# SPDX-License-Identifier: Apache-2.0
"""Formatting of numbers, names, settings and tables for a terminal of any width."""

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

from divulge.arguments import spelled
from divulge.text import count_with_noun

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_GAP = 2
"""Blanks between the columns of a table."""
_MOST_UNBROKEN = 40
"""Length above which a word may be broken in a column of text."""
_LEAST_PROSE_WIDTH = 30
"""Width below which prose moves below its row."""
_SUPPRESSED_MEANINGS = {"wildcard": "matches anything", "value": "a value of its own"}


def _count_phrase(singular: str, many: str) -> Callable[[int], str]:
    """Return a function that formats a count: 1 person, 2 people."""
    return lambda count: count_with_noun(count, singular, many)


people = _count_phrase("person", "people")
rows = _count_phrase("row", "rows")
classes = _count_phrase("class", "classes")


def classes_with_people(class_count: int, people_count: int, *, by_person: bool) -> str:
    """State how many classes there are and how many people they hold.

    With a person column, the sum over classes counts a person once in each class, and the text says
    so.
    """
    total = f"{classes(class_count)} with {people(people_count)}"
    if by_person and class_count > 1:
        return f"{total} (a person counts once in each class)"
    return total


def percent(share: float) -> str:
    """Format a share with enough digits to distinguish it from 0% and 100%."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if 0.01 <= share <= 0.99:
        digits = 0
    else:
        digits = 2
    text = f"{share:.{digits}%}"
    if float(text[:-1]) == 0:
        return "under 0.01%"
    if float(text[:-1]) < 100:
        return text
    return "over 99.99%"


def number(value: float) -> str:
    """Format a number: whole with thousands separators, others with four significant digits."""
    if not math.isfinite(value):
        if value > 0:
            return "infinite"
        return "-infinite"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def cell(value: Any) -> str:
    """Format a cell value."""
    if value is None:
        return "null"
    return str(value)


def metric_words(name: str) -> str:
    """Return the name of a metric in its usual spelling.

    >>> (
    ...     metric_words("k_anonymity"),
    ...     metric_words("entropy_l_diversity"),
    ...     metric_words("entropy_leakage"),
    ... )
    ('k-anonymity', 'entropy l-diversity', 'entropy leakage')
    """
    return re.sub(r"(?<![a-z])([a-z])_", r"\1-", name).replace("_", " ")


def settings_sentence(settings: Mapping[str, Any]) -> str:
    """List the settings that the numbers depend on, in one line."""
    parts = [f"nulls: {settings['nulls']}", f"engine: {settings['engine']}", "logarithms: base 2"]
    parts += [
        f"{text!r}: {_SUPPRESSED_MEANINGS[meaning]}"
        for text, meaning in settings["suppressed"].items()
    ]
    parts += [f"prior of {name}: {prior}" for name, prior in settings["prior"].items()]
    parts += [
        f"t-closeness of {name}: {distance} distance"
        for name, distance in settings["ground_distance"].items()
    ]
    parts += [
        f"recursive diversity of {name}: l = {l_value}"
        for name, l_value in settings["recursive_l"].items()
    ]
    parts += [
        f"a guess of {name}: {meaning}"
        for name, meaning in settings["right_guess"].items()
        if meaning != "exact"
    ]
    if settings["person"]:
        parts += [f"people told apart by {settings['person']}"]
    if settings["weight"]:
        parts += [f"weights: {settings['weight']}"]
    parts += [
        f"{meaning.replace('_', ' ')} for {name}: "
        f"{', '.join('null' if value is None else value for value in values)}"
        for name, rules in settings["background"].items()
        for meaning, values in rules.items()
    ]
    return "; ".join(parts) + "."


def heading(text: str) -> RenderableType:
    """A title with a blank line before it."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def noted(note: str) -> str:
    """Format a note as a sentence, in the vocabulary of the current interface."""
    return f"Note: {spelled(note)}{'' if note.endswith('?') else '.'}"


def bullet(sentence: str, mark: str = "-") -> RenderableType:
    """One indented sentence with a hanging indent."""
    return Padding(_Bullet(sentence, mark), (0, 0, 0, 2))


class _Bullet(NamedTuple):
    """A sentence and its mark."""

    sentence: str
    mark: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _side_by_side(
            console,
            [
                (self.mark, len(self.mark), "left"),
                (self.sentence, options.max_width - len(self.mark) - 1, "left"),
            ],
            1,
        )


Cell = tuple[str, int, Literal["left", "right"]]
"""Text, width and alignment of a cell."""


def _side_by_side(
    console: Console, cells: Sequence[Cell], gap: int, style: str = ""
) -> Iterator[Segment]:
    """Yield cells as one line, or as several if a cell must be wrapped.

    A table of rich for each row would give equal lines in ten times the time.
    """
    columns = [_wrapped(console, *cell) for cell in cells]
    blank = [" " * width for _, width, _ in cells]
    for line in itertools.zip_longest(*columns):
        line_text = (" " * gap).join(
            part if part is not None else blank[column] for column, part in enumerate(line)
        )
        yield Segment(line_text, console.get_style(style) if style else None)
        yield Segment.line()


def _wrapped(
    console: Console, text: str, width: int, justify: Literal["left", "right"]
) -> list[str]:
    """Return the lines of a cell, padded to its width."""
    if cell_len(text) <= width and text.isprintable():
        blanks = " " * (width - cell_len(text))
        return [blanks + text if justify == "right" else text + blanks]
    return [
        line.plain
        for line in Text(text).wrap(console, max(width, 1), justify=justify, overflow="fold")
    ]


class Sheet:
    """A plain table that loses neither a column nor a digit on a narrow terminal.

    If all columns fit, they are side by side. Otherwise the last `prose` columns move below each
    row, and cells are wrapped between words. Columns that still do not fit follow in further
    blocks, each of which repeats the first column.
    """

    def __init__(self, columns: Sequence[str], right: Iterable[int] = (), prose: int = 0) -> None:
        self.columns = columns
        self.right = frozenset(right)
        self.prose = prose
        self.rows: list[tuple[str, ...]] = []

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for the available width."""
        width = options.max_width
        count = len(self.columns)
        sizes = [self._size(column) for column in range(count)]
        prose_sizes = [
            _Size(max(size.least, min(_LEAST_PROSE_WIDTH, size.widest)), size.widest)
            for size in sizes[-self.prose :]
        ]
        row_columns = range(count)
        prose_columns = range(0)
        if self.prose and _least_width([*sizes[: -self.prose], *prose_sizes]) > width:
            row_columns = range(count - self.prose)
            prose_columns = range(count - self.prose, count)
        for block_number, block in enumerate(_blocks(row_columns, sizes, width)):
            if block_number:
                yield Text("")
            widths = _widths(block, sizes, width)
            yield from self._line(console, self.columns, widths, style="bold")
            for row in self.rows:
                yield from self._line(console, row, widths)
                prose_text = "; ".join(row[column] for column in prose_columns if row[column])
                if prose_text and not block_number:
                    yield Padding(Text(prose_text, style="dim", overflow="fold"), (0, 0, 0, 2))

    def _size(self, column: int) -> _Size:
        """Return the smallest and the largest width of a column.

        Numbers are never broken. Texts are broken between words. A word longer than
        `_MOST_UNBROKEN` may be broken anywhere in a column of text.
        """
        cells = [row[column] for row in self.rows]
        head = _longest_word(self.columns[column])
        lengths = [cell_len(cell) for cell in cells]
        if column in self.right:
            if head > _MOST_UNBROKEN:
                least = max(lengths, default=0)
            else:
                least = max(head, *lengths, 1)
        else:
            least = min(max(head, *map(_longest_word, cells), 1), _MOST_UNBROKEN)
        return _Size(least, max(cell_len(self.columns[column]), *lengths, 0))

    def _line(
        self, console: Console, cells: Sequence[str], widths: Mapping[int, int], style: str = ""
    ) -> Iterator[Segment]:
        line: list[Cell] = [
            (cells[column], width, "right" if column in self.right else "left")
            for column, width in widths.items()
        ]
        return _side_by_side(console, line, _GAP, style)


class _Size(NamedTuple):
    """Smallest and largest width of a column."""

    least: int
    widest: int


def _blocks(columns: Sequence[int], sizes: Sequence[_Size], width: int) -> Iterator[list[int]]:
    """Yield the columns of each block, which starts with the first column."""
    block = list(columns[:1])
    for column in columns[1:]:
        if len(block) > 1 and _least_width([sizes[member] for member in (*block, column)]) > width:
            yield block
            block = [columns[0]]
        block.append(column)
    yield block


def _widths(block: Sequence[int], sizes: Sequence[_Size], width: int) -> dict[int, int]:
    """Return the width of each column, up to its longest cell.

    Spare width goes to the narrowest columns first.
    """
    widths = {column: sizes[column].least for column in block}
    spare = width - _least_width([sizes[column] for column in block])
    # if the width is too small, the first column shrinks before the others: its words are broken
    for column in block:
        shrinkage = max(min(widths[column] - 1, -spare), 0)
        widths[column] -= shrinkage
        spare += shrinkage
    for column in sorted(block, key=lambda candidate: sizes[candidate].widest):
        growth = max(min(sizes[column].widest - widths[column], spare), 0)
        widths[column] += growth
        spare -= growth
    return widths


def _least_width(sizes: Sequence[_Size]) -> int:
    """Smallest width of a block in characters."""
    return sum(size.least for size in sizes) + _GAP * (len(sizes) - 1)


def grid(*columns: str, right: Iterable[int] = (), prose: int = 0) -> Sheet:
    """Return an empty plain table; columns in `right` are right-aligned.

    The last `prose` columns move below each row if they do not fit.
    """
    return Sheet(columns, right, prose)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def written_text(written: Sequence[Path]) -> tuple[RenderableType, ...]:
    """Render the paths of written files, if any."""
    if written:
        return (heading("Written"), *(bullet(str(path)) for path in written))
    return ()
