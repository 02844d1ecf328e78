# SPDX-License-Identifier: Apache-2.0
"""How a page of docs/papers looks: sections with one small table each, a printed number beside ours, and the verdict."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

DECIMALS = re.compile(r"-?\d*\.?\d+")
MATCH, TRUNCATED, ERRATUM, NOT_REPRODUCED = "match", "truncated", "**erratum**", "not reproduced"


def value_of(printed: str) -> float:
    """The number behind sqrt(8)/12, 3/4 or 0.57."""
    root = re.fullmatch(r"sqrt\((\d+)\)/(\d+)", printed)
    return math.sqrt(int(root[1])) / int(root[2]) if root else float(Fraction(printed))


def decimal(value: float) -> str:
    """Six decimals at most, none that are 0."""
    if math.isinf(value):
        return "inf"
    return f"{round(value, 6) + 0.0:.6f}".rstrip("0").rstrip(".")


def fraction(value: float) -> str:
    """The fraction a value stands for; six decimals where it is none of a modest denominator."""
    found = Fraction(value).limit_denominator(4000)
    return str(found) if abs(float(found) - value) <= 1e-12 else decimal(value)


@dataclass(frozen=True)
class Cell:
    """One number of ours, with what the paper prints for it."""

    ours: float
    printed: str | None = None
    shown: Callable[[float], str] = decimal
    told: str | None = None
    """A verdict that digits cannot give: `not reproduced`, where the paper does not say how it came to its number."""

    def as_printed(self) -> str:
        """What the paper prints, with its decimals where ours are decimals."""
        if self.printed is None or DECIMALS.fullmatch(self.printed) or self.shown is not decimal:
            return self.printed or ""
        return f"{self.printed} = {value_of(self.printed):.4g}"

    @property
    def verdict(self) -> str | None:
        """Equal to the printed digits, equal if cut off after them, or an erratum."""
        if self.printed is None or self.told is not None:
            return self.told
        printed = value_of(self.printed)
        if not DECIMALS.fullmatch(self.printed):
            return MATCH if math.isclose(self.ours, printed, abs_tol=1e-9) else ERRATUM
        unit = 10.0 ** -len(self.printed.partition(".")[2])
        if abs(self.ours - printed) <= unit / 2 + 1e-9:
            return MATCH
        cut_off = math.floor(self.ours / unit + 1e-9) * unit
        return TRUNCATED if math.isclose(cut_off, printed, abs_tol=1e-9) else ERRATUM


Rows = Mapping[str, Mapping[str, Cell]]


def markdown(head: str, rows: Rows) -> str:
    """A table: a row per label, for each quantity what is printed and what we compute, and one verdict for the row."""
    quantities = list(dict.fromkeys(name for cells in rows.values() for name in cells))
    printed = {name for cells in rows.values() for name, cell in cells.items() if cell.printed is not None}
    judged = any(cell.verdict for cells in rows.values() for cell in cells.values())
    columns = [head]
    for name in quantities:
        columns += [f"{name}, printed", f"{name}, divulge"] if name in printed else [name]
    lines = [[*columns, *(["verdict"] if judged else [])]]
    lines.append(["---"] * len(lines[0]))
    for label, cells in rows.items():
        line = [label]
        for name in quantities:
            cell = cells.get(name)
            if name in printed:
                line.append(cell.as_printed() if cell else "")
            line.append(cell.shown(cell.ours) if cell else "")
        lines.append([*line, *([_verdict(cells)] if judged else [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict(cells: Mapping[str, Cell]) -> str:
    found = {name: cell.verdict for name, cell in cells.items() if cell.verdict}
    if len(set(found.values())) <= 1:
        return next(iter(found.values()), "")
    return ", ".join(f"{name} {verdict}" for name, verdict in found.items() if verdict != MATCH)


def _paragraph(text: str) -> str:
    return textwrap.fill(text, width=120, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class Section:
    """One example, table or figure of a paper."""

    title: str
    told: str
    """What it is about, and what is remarkable."""
    gives: str
    """The function or command that gives our numbers."""
    head: str
    rows: Callable[[], Rows]
    public: bool = False
    """Whether it takes a public data set."""

    def text(self) -> str:
        """As Markdown; computes the numbers."""
        told, how = (_paragraph(text) for text in (self.told, f"*How:* {self.gives}"))
        return f"## {self.title}\n\n{told}\n\n{markdown(self.head, self.rows())}\n\n{how}\n"


@dataclass(frozen=True)
class Page:
    """A paper."""

    name: str
    opening: str
    sections: tuple[Section, ...]

    def text(self) -> str:
        """The whole file."""
        return "\n".join([self.opening.rstrip() + "\n", *(section.text() for section in self.sections)])


HOW_TO_READ = """The numbers under *divulge* are computed when this page is made, and a test keeps the page up to date
(`python -m tests.docs.papers` writes it). *match*: equal to the printed digits. *truncated*: equal if our digits are cut off instead of
rounded. ***erratum***: the printed number is wrong; the reason stands beside it and in the [errata](errata.md). *not reproduced*: ours is
another number, and what the paper says does not show which of the two is wrong. Logarithms are base 2."""
