# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of any width: no row, column, digit or letter of a name is lost."""

from __future__ import annotations

import fcntl
import importlib
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from rich.text import Text

import divulge as dv
from divulge.cli import options
from divulge.cli.main import COMMANDS, run
from divulge.output.formatting import Sheet, grid
from divulge.results import as_lines
from tests.cli.every_command import GOOD, called, prepare, words

WIDTHS = (60, 80, 100, 200)
AS_CSV = "measure --classes"
NO_TABLE = {
    "init",
    "dbt",
    "studio",
    "query",
    "report",
    "hierarchy convert",
    "dossier leakage --record",
    "perturbed",
}
NO_TABLE |= {f"ledger {name}" for name in ("show", "add", "retract", "forget", "export")}
"""What is answered in sentences."""
END = "@end@"


@dataclass(frozen=True)
class Sent:
    """A row of a table, or its header, before it is shown, with the column of each cell."""

    sheet: Sheet
    cells: Sequence[str]
    block: Sequence[int]
    widths: Mapping[int, int]

    def places_shown_by(self, lines: Sequence[str]) -> set[int]:
        """Return the columns whose cells these lines hold in place; None if there is other text."""
        prose = set(range(len(self.sheet.columns) - self.sheet.prose, len(self.sheet.columns))) - {
            *self.block
        }
        below = _letters(
            "; ".join(self.cells[place] for place in sorted(prose) if self.cells[place])
        )
        for cut in range(1, len(lines) + 1):
            if all(self._stands(place, lines[:cut]) for place in self.block):
                if cut == len(lines):
                    return {*self.block}
                if _letters("".join(lines[cut:])) == below:
                    return {*self.block} | prose
        return set()

    def _stands(self, place: int, lines: Sequence[str]) -> bool:
        """Return True if a number is in one piece, or a text continues from line to line."""
        start = sum(self.widths[other] + 2 for other in self.block[: self.block.index(place)])
        parts = [line[start : start + self.widths[place]].strip() for line in lines]
        cell = self.cells[place]
        if place in self.sheet.right and self.cells is not self.sheet.columns:
            return [part for part in parts if part] == [cell] * bool(cell)
        return _letters("".join(parts)) == _letters(cell)


def _letters(text: str) -> str:
    return "".join(text.split())


LAST = b"\x02nothing more\x03"


@contextmanager
def terminal() -> Iterator[tuple[Callable[[int], object], bytearray]]:
    """A terminal as standard input and output, with a settable width and a record of its output."""
    ours, theirs = pty.openpty()
    kept, before, shown = (os.dup(0), os.dup(1)), sys.stdout, bytearray()

    def read() -> None:  # in a thread, for a terminal holds little
        # not until it is closed: a library may keep a copy of it (vl-convert does)
        while not shown.endswith(LAST):
            shown.extend(os.read(ours, 65536))
        del shown[-len(LAST) :]

    reader = threading.Thread(target=read)
    reader.start()
    before.flush()
    os.dup2(theirs, 0)
    os.dup2(theirs, 1)
    sys.stdout = os.fdopen(os.dup(theirs), "w", encoding="utf-8")
    try:
        yield (
            lambda columns: fcntl.ioctl(
                theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0)
            ),
            shown,
        )
    finally:
        sys.stdout.close()
        sys.stdout = before
        os.dup2(kept[0], 0)
        os.dup2(kept[1], 1)
        os.write(theirs, LAST)
        reader.join()
        for descriptor in (*kept, theirs, ours):
            os.close(descriptor)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("widths"))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """Record every line of every table that is shown.

    Its number precedes it on a line of its own, and a mark follows the table.
    """
    lines: list[Sent] = []
    one_line, whole = Sheet._line, Sheet.__rich_console__  # noqa: SLF001 - the place where cells get their widths

    def numbered(
        sheet: Sheet, console: Any, cells: Sequence[str], widths: Mapping[int, int], **style: Any
    ) -> Iterator[Text | Segment]:
        lines.append(Sent(sheet, cells, tuple(widths), dict(widths)))
        yield Text(f"@{len(lines) - 1}@")
        yield from one_line(sheet, console, cells, widths, **style)

    def with_end(sheet: Sheet, console: Any, asked: Any) -> Iterator[RenderableType]:
        yield from whole(sheet, console, asked)  # type: ignore[misc]
        yield Text(END)

    monkeypatch.setattr(Sheet, "_line", numbered)
    monkeypatch.setattr(Sheet, "__rich_console__", with_end)
    return lines


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[str]], dict[int, list[str]]]:
    """Run a command once, on a terminal that takes each width in turn; without colors."""
    # drawing takes longer than all the rest
    monkeypatch.setattr(dv.charts, "save", lambda _chart, path: path)
    monkeypatch.setenv("TERM", "xterm")
    for variable in ("COLUMNS", "LINES"):
        monkeypatch.delenv(variable, raising=False)
    plain = options.show
    showing = [options, *(importlib.import_module(f"divulge.cli.{name}") for name in COMMANDS)]

    def at_each_width(call: Sequence[str]) -> dict[int, list[str]]:
        with terminal() as (resize, got), monkeypatch.context() as patch:

            def show(*parts: RenderableType) -> None:
                for columns in WIDTHS:
                    resize(columns)
                    sys.stdout.write(f"@width {columns}\n")
                    plain(*parts)

            for module in showing:
                if getattr(module, "show", None) is plain:
                    patch.setattr(module, "show", show)
            assert run(call) == 0
        found: dict[int, list[str]] = {columns: [] for columns in WIDTHS}
        text = re.sub(r"\x1b\[[0-9;]*m", "", got.decode()).replace("\r\n", "\n")
        for part in text.split("@width ")[1:]:
            columns, *lines = part.splitlines()
            found[int(columns)] += lines
        return found

    return at_each_width


def tables(lines: Sequence[str], sent: Sequence[Sent]) -> Iterator[tuple[Sent, list[str]]]:
    """Return each line of a table with its output on the terminal."""
    number: int | None = None
    indent, printed = 0, list[str]()
    for line in lines:
        if mark := re.fullmatch(r"( *)@(\d+|end)@", line):
            if number is not None:
                yield sent[number], printed
            number = None if line.strip() == END else int(mark[2])
            indent, printed = len(mark[1]), []
        elif line or not printed:
            printed.append(line[indent:])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GOOD if name != AS_CSV])
def test_no_table_of_any_command_loses_anything(
    folder: Path,
    sent: list[Sent],
    shown: Callable[[Sequence[str]], dict[int, list[str]]],
    name: str,
) -> None:
    for columns, lines in shown([*words(folder, GOOD[name])]).items():
        # the studio prints an address, which is not for a table
        assert max(map(len, lines), default=0) <= columns
        assert not [line for line in lines if "…" in line]
        seen: dict[int, tuple[Sent, set[int]]] = {}
        for line, printed in tables(lines, sent):
            places = line.places_shown_by(printed)
            assert places, (columns, line.cells, printed)
            seen.setdefault(id(line.cells), (line, set()))[1].update(places)
        assert bool(seen) == (name not in NO_TABLE)
        for line, places in seen.values():
            assert all(id(row) in seen for row in line.sheet.rows)
            optional = line.sheet.prose if line.cells is line.sheet.columns else 0
            # of an empty cell nothing is lost
            places |= {place for place, cell in enumerate(line.cells) if not cell}
            assert places >= {*range(len(line.sheet.columns) - optional)}, (columns, line.cells)


@pytest.mark.parametrize("name", ["dossier leakage", "dossier resolve"])
def test_records_keep_their_whole_names(
    folder: Path,
    sent: list[Sent],
    shown: Callable[[Sequence[str]], dict[int, list[str]]],
    name: str,
) -> None:
    told = called(folder, *GOOD[name], "--json").json()["records"]
    wanted = {
        record["id"] for record in told if name == "dossier leakage" or len(record["sources"]) > 1
    }
    shown([*words(folder, GOOD[name])])
    assert max(map(len, wanted)) > 80
    assert wanted <= {cell for line in sent for cell in line.cells}


def test_classes_are_the_same_csv_on_a_terminal_as_in_a_pipe(folder: Path) -> None:
    with terminal() as (resize, got):
        resize(WIDTHS[0])
        assert run([*words(folder, GOOD[AS_CSV])]) == 0
    assert got.decode().replace("\r\n", "\n") == called(folder, *GOOD[AS_CSV]).out


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_table_keeps_every_cell(columns: int) -> None:
    heads = ["name", *(f"share of {place}" for place in range(12))]
    sheet = grid(*heads, "why", right=range(1, 13), prose=1)
    cells = [f"{place / 7919:.12f}" for place in range(1, 25)]
    for start in (0, 12):
        sheet.add_row(
            f"row_{start}",
            *cells[start : start + 12],
            f"because of {start}, which is a long story " * 3,
        )
    lines = as_lines(sheet, width=columns).splitlines()
    shown = " ".join(" ".join(lines).split())
    assert [cell for cell in cells if cell not in shown] == []
    assert [head for head in heads if head.split()[-1] not in shown] == []
    assert shown.count("because of 12, which is a long story") == 3
    assert max(map(len, lines)) <= columns
