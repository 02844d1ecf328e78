# SPDX-License-Identifier: Apache-2.0
"""Markdown pages of the papers, with figures as SVG for light and dark pages.

`python -m reproduction --out docs/papers` writes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from divulge import charts
from divulge.errors import BadInput
from reproduction.charts import figure
from reproduction.recompute import PAPERS
from reproduction.verdicts import VERDICTS, Figure, Paper, Reproduced, Reproduction, Row

FIGURES = "figures"
"""Folder of the figures, next to the pages."""
_MOST_TABLES = 3
_EMPHASIZED = {"erratum", "does not hold", "differs"}
_HOW_TO_READ = (
    "The numbers under *divulge* are computed when this page is made (`python -m reproduction "
    "{name} --out docs/papers`), and a test keeps the page up to date. Verdicts: {verdicts}. "
    "Logarithms are base 2. [What was learnt](errata.md) gathers the errata of all papers."
)


def write(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write the pages and figures of a reproduction; return the paths of the pages."""
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the pages cannot be written to {folder}: {error.strerror}") from None
    written = []
    for paper in reproduction.papers:
        parts = [item for item in reproduction.parts if item.part.paper == paper.name]
        for item in (drawing for part in parts for drawing in part.figures):
            for dark in (False, True):
                charts.save(
                    figure(item, dark=dark),
                    folder / FIGURES / figure_file_name(paper.name, item, dark=dark),
                )
        written.append(folder / f"{paper.name}.md")
        written[-1].write_text(page(paper, parts), encoding="utf-8")
    if len(reproduction.papers) == len(PAPERS) and reproduction.settings["part"] is None:
        written.append(folder / "errata.md")
        written[-1].write_text(errata_page(reproduction), encoding="utf-8")
    return written


def figure_file_name(paper: str, figure: Figure, *, dark: bool) -> str:
    """Return the file name of a figure."""
    return f"{paper}-{figure.slug}{'-dark' if dark else ''}.svg"


def page(paper: Paper, parts: Iterable[Reproduced]) -> str:
    """Return the page of a paper."""
    return "\n".join([opening(paper), *map(section, parts)])


def opening(paper: Paper) -> str:
    """Return the heading, the citation and the reading guide of a page."""
    verdicts = "; ".join(
        f"*{verdict}*: {description}"
        for verdict, description in VERDICTS.items()
        if verdict != "differs"
    )
    description = _HOW_TO_READ.format(name=paper.name, verdicts=verdicts)
    citation = f"*{paper.authors}: {paper.title}.* {paper.told}"
    return f"# {paper.authors}\n\n{_paragraph(citation)}\n\n{_paragraph(description)}\n"


def section(reproduced_part: Reproduced) -> str:
    """Return one part: description, table, claims, reasons, figures and how it was computed."""
    part = reproduced_part.part
    paragraphs = [f"## {part.heading}", _paragraph(part.told)]
    if reproduced_part.left_out:
        paragraphs.append(_paragraph(f"*Left out here:* {reproduced_part.left_out}"))
    claims = [row for row in reproduced_part.rows if row.quantity == "claim"]
    paragraphs += [
        _number_tables([row for row in reproduced_part.rows if row.quantity != "claim"]),
        _claim_table(claims),
    ]
    paragraphs += [
        _reason_list(reproduced_part.rows),
        *(_figure_images(part.paper, figure) for figure in reproduced_part.figures),
    ]
    paragraphs.append(_paragraph(f"*How:* {part.how}") if part.how else "")
    return "\n\n".join(text for text in paragraphs if text) + "\n"


_ERRATA_INTRODUCTION = """# What was learnt

Five papers, everything that they print recomputed (`python -m reproduction --out docs/papers` writes this page). What they left open, and what
divulge answers, has [a page of its own](answered.md).
"""  # noqa: E501
_FAILURE_TITLES = {
    "erratum": "Wrong in print",
    "does not hold": "Claims and bounds that do not hold",
    "not reproducible": "Not reproducible, which does not make it wrong",
}


def errata_page(reproduction: Reproduction) -> str:
    """Return the page of errata of all papers.

    It also lists claims that do not hold and numbers that could not be reproduced, with reasons.
    """
    verdicts = [verdict for verdict in VERDICTS if verdict in reproduction.counts]
    counts = {paper.name: reproduction.counts_of(paper.name) for paper in reproduction.papers}
    lines = [
        [f"[{p.authors}]({p.name}.md)", *(str(counts[p.name].get(v, 0)) for v in verdicts)]
        for p in reproduction.papers
    ]
    sections = [_ERRATA_INTRODUCTION, _table([["paper", *verdicts], *lines]) + "\n"]
    for paper in reproduction.papers:
        rows = [
            row for part in reproduction.parts if part.part.paper == paper.name for row in part.rows
        ]
        sections.append(
            f"## {paper.authors}\n\n*{paper.title}.* [Every number]({paper.name}.md).\n"
        )
        for verdict, title in _FAILURE_TITLES.items():
            entries = [errata_row(row) for row in rows if row.verdict == verdict]
            if entries:
                head = _table([["where", "what", "printed", "divulge", "why"]])
                sections.append(f"**{title}**\n\n" + "\n".join([head, *entries]) + "\n")
    return "\n".join(sections)


def errata_row(row: Row) -> str:
    """Return one row of the page of errata."""
    is_claim = row.quantity == "claim"
    if is_claim or row.quantity == "value":
        what = row.label
    else:
        what = f"{row.label}, {row.quantity}"
    return next(
        _table_lines(
            [[row.printed.where, what, "" if is_claim else row.as_printed, row.shown, row.reason]]
        )
    )


def _number_tables(rows: Sequence[Row]) -> str:
    """Return a table for each group of labels with equal quantities.

    If there would be more than `_MOST_TABLES` tables, return one table with a row for each number.
    """
    labels: dict[str, dict[str, Row]] = {}
    for row in rows:
        labels.setdefault(row.label, {})[row.quantity] = row
    groups: dict[tuple[str, ...], dict[str, dict[str, Row]]] = {}
    for label, cells in labels.items():
        groups.setdefault(tuple(cells), {})[label] = cells
    if len(groups) <= _MOST_TABLES:
        return "\n\n".join(map(_group_table, groups.values()))
    lines = (
        [row.label, row.quantity, row.as_printed, row.shown, _verdict_cell([row])] for row in rows
    )
    return _table([["of", "quantity", "printed", "divulge", "verdict"], *lines])


def _group_table(labels: Mapping[str, Mapping[str, Row]]) -> str:
    """Return a table with a row for each label, and one verdict for the row.

    Each quantity has a printed and a computed column.
    """
    quantities = list(next(iter(labels.values())))
    printed = {
        name
        for cells in labels.values()
        for name, row in cells.items()
        if row.printed.value is not None
    }
    head = [""]
    for name in quantities:
        if name in printed:
            head += [f"{name}, printed", f"{name}, divulge"]
        else:
            head += [name]
    lines = [[*head, "verdict"] if printed else head]
    for label, cells in labels.items():
        line = [label]
        for name in quantities:
            line += [*([cells[name].as_printed] if name in printed else []), cells[name].shown]
        lines.append([*line, _verdict_cell(list(cells.values()))] if printed else line)
    return _table(lines)


def _claim_table(rows: Sequence[Row]) -> str:
    lines = [[row.label, row.shown, _emphasize(row.verdict)] for row in rows]
    if rows:
        return _table([["the paper says", "our numbers", "verdict"], *lines])
    return ""


def _verdict_cell(rows: Sequence[Row]) -> str:
    """Return the common verdict of a row, or the quantities that do not match."""
    verdicts: Mapping[str, str] = {
        row.quantity: row.verdict for row in rows if row.printed.value is not None
    }
    if len(set(verdicts.values())) <= 1:
        return next(map(_emphasize, verdicts.values()), "")
    return ", ".join(
        f"{name} {_emphasize(verdict)}" for name, verdict in verdicts.items() if verdict != "match"
    )


def _emphasize(verdict: str) -> str:
    if verdict in _EMPHASIZED:
        return f"**{verdict}**"
    return verdict


def _reason_list(rows: Iterable[Row]) -> str:
    """List each reason once, with the numbers and claims it applies to."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            if row.quantity == "claim":
                name = row.label
            else:
                name = f"{row.label}, {row.quantity}"
            by_reason.setdefault((row.verdict, row.reason), []).append(name)
    return "\n".join(
        _reason_line(verdict, reason, names) for (verdict, reason), names in by_reason.items()
    )


def _reason_line(verdict: str, reason: str, names: Sequence[str]) -> str:
    applies_to = "; ".join(names[:4]) + (f"; and {len(names) - 4} more" if len(names) > 4 else "")
    return textwrap.fill(
        f"- {_emphasize(verdict)} ({_escape(applies_to)}): {reason.rstrip('.')}.",
        width=140,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _figure_images(paper: str, figure: Figure) -> str:
    """Return both images of a figure: GitHub and the site show the one for the current theme."""
    alternative = _escape(f"{figure.name}: {figure.title}").replace("[", "(").replace("]", ")")
    light, dark = (
        f"{FIGURES}/{figure_file_name(paper, figure, dark=dark)}" for dark in (False, True)
    )
    return (
        f"![{alternative}]({light}#gh-light-mode-only)\n![{alternative}]({dark}#gh-dark-mode-only)"
    )


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = lines
    return "\n".join(_table_lines([head, ["---"] * len(head), *rows]))


def _table_lines(lines: Iterable[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(map(_escape, line))} |" for line in lines)


def _escape(text: str) -> str:
    """Escape text of a cell: an asterisk of a masked zip code is no emphasis, a bar no border.

    Our own ** around a verdict is not escaped.
    """
    if text.startswith("**") or " **" in text:
        return text
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "_")


def _paragraph(text: str) -> str:
    return textwrap.fill(text, width=140, break_long_words=False, break_on_hyphens=False)
