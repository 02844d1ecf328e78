# SPDX-License-Identifier: Apache-2.0
"""A page for each paper as Markdown, with its figures as SVG for light and dark pages: `divulge papers --out`, and docs/papers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from divulge import charts, papers
from divulge.errors import BadInput

FIGURES = "figures"
"""The folder of the pictures, beside the pages."""
_MOST_TABLES = 3
_EMPHASIZED = {"erratum", "does not hold", "differs"}
_HOW_TO_READ = (
    "The numbers under *divulge* are computed when this page is made (`divulge papers {name} --out docs/papers`), and a test keeps "
    "the page up to date. Verdicts: {verdicts}. Logarithms are base 2. [What was learnt](errata.md) gathers the errata of all papers."
)


def write(found: papers.Reproduction, folder: Path) -> list[Path]:
    """Write the pages and pictures of everything that was reproduced; the names of the pages."""
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the pages cannot be written to {folder}: {error.strerror}") from None
    written = []
    for paper in found.papers:
        parts = [each for each in found.parts if each.part.paper == paper.name]
        for each in (figure for part in parts for figure in part.figures):
            for dark in (False, True):
                charts.save(charts.figure(each, dark=dark), folder / FIGURES / picture(paper.name, each, dark=dark))
        written.append(folder / f"{paper.name}.md")
        written[-1].write_text(page(paper, parts), encoding="utf-8")
    if len(found.papers) == len(papers.PAPERS) and found.settings["part"] is None:
        written.append(folder / "errata.md")
        written[-1].write_text(learnt(found), encoding="utf-8")
    return written


def picture(paper: str, figure: papers.Figure, *, dark: bool) -> str:
    """The name of the file."""
    return f"{paper}-{figure.slug}{'-dark' if dark else ''}.svg"


def page(paper: papers.Paper, parts: Iterable[papers.Reproduced]) -> str:
    """The whole page of a paper."""
    return "\n".join([opening(paper), *map(section, parts)])


def opening(paper: papers.Paper) -> str:
    """What the paper is about, and how its page is read."""
    verdicts = "; ".join(f"*{verdict}*: {told}" for verdict, told in papers.VERDICTS.items() if verdict != "differs")
    told = _HOW_TO_READ.format(name=paper.name, verdicts=verdicts)
    cited = f"*{paper.authors}: {paper.title}.* {paper.told}"
    return f"# {paper.authors}\n\n{_paragraph(cited)}\n\n{_paragraph(told)}\n"


def section(found: papers.Reproduced) -> str:
    """One part: what it is about, its table, its claims, its pictures, and the command."""
    part = found.part
    told = [f"## {part.heading}", _paragraph(part.told)]
    if found.left_out:
        told.append(_paragraph(f"*Left out here:* {found.left_out}"))
    claims = [row for row in found.rows if row.quantity == "claim"]
    told += [_numbers([row for row in found.rows if row.quantity != "claim"]), _claims(claims)]
    told += [_reasons(found.rows), *(_picture(part.paper, figure) for figure in found.figures)]
    told.append(_paragraph(f"*How:* {part.how}") if part.how else "")
    return "\n\n".join(text for text in told if text) + "\n"


_LEARNT = """# What was learnt

Five papers, everything that they print recomputed (`divulge papers --out docs/papers` writes this page). What they left open, and what
divulge answers, has [a page of its own](answered.md).
"""
_NOT_MET = {
    "erratum": "Wrong in print",
    "does not hold": "Claims and bounds that do not hold",
    "not reproducible": "Not reproducible, which does not make it wrong",
}


def learnt(found: papers.Reproduction) -> str:
    """The errata of all papers, the claims that do not hold, and what could not be reproduced, each with its reason."""
    verdicts = [verdict for verdict in papers.VERDICTS if verdict in found.counts]
    counts = {paper.name: found.counts_of(paper.name) for paper in found.papers}
    lines = [[f"[{p.authors}]({p.name}.md)", *(str(counts[p.name].get(v, 0)) for v in verdicts)] for p in found.papers]
    told = [_LEARNT, _table([["paper", *verdicts], *lines]) + "\n"]
    for paper in found.papers:
        rows = [row for part in found.parts if part.part.paper == paper.name for row in part.rows]
        told.append(f"## {paper.authors}\n\n*{paper.title}.* [Every number]({paper.name}.md).\n")
        for verdict, title in _NOT_MET.items():
            own = [learnt_of(row) for row in rows if row.verdict == verdict]
            if own:
                head = _table([["where", "what", "printed", "divulge", "why"]])
                told.append(f"**{title}**\n\n" + "\n".join([head, *own]) + "\n")
    return "\n".join(told)


def learnt_of(row: papers.Row) -> str:
    """One line of it."""
    is_claim = row.quantity == "claim"
    what = row.label if is_claim or row.quantity == "value" else f"{row.label}, {row.quantity}"
    return next(_lines([[row.printed.where, what, "" if is_claim else row.as_printed, row.shown, row.reason]]))


def _numbers(rows: Sequence[papers.Row]) -> str:
    """Labels that have the same quantities make a table; where that would be many tables, a line for each number."""
    labels: dict[str, dict[str, papers.Row]] = {}
    for each in rows:
        labels.setdefault(each.label, {})[each.quantity] = each
    groups: dict[tuple[str, ...], dict[str, dict[str, papers.Row]]] = {}
    for label, cells in labels.items():
        groups.setdefault(tuple(cells), {})[label] = cells
    if len(groups) <= _MOST_TABLES:
        return "\n\n".join(map(_group, groups.values()))
    lines = ([each.label, each.quantity, each.as_printed, each.shown, _verdict([each])] for each in rows)
    return _table([["of", "quantity", "printed", "divulge", "verdict"], *lines])


def _group(labels: Mapping[str, Mapping[str, papers.Row]]) -> str:
    """A row for each label, for each quantity what is printed and what we compute, and one verdict for the row."""
    quantities = list(next(iter(labels.values())))
    printed = {name for cells in labels.values() for name, each in cells.items() if each.printed.value is not None}
    head = [""]
    for name in quantities:
        head += [f"{name}, printed", f"{name}, divulge"] if name in printed else [name]
    lines = [[*head, "verdict"] if printed else head]
    for label, cells in labels.items():
        line = [label]
        for name in quantities:
            line += [*([cells[name].as_printed] if name in printed else []), cells[name].shown]
        lines.append([*line, _verdict(list(cells.values()))] if printed else line)
    return _table(lines)


def _claims(rows: Sequence[papers.Row]) -> str:
    lines = [[row.label, row.shown, _emphasized(row.verdict)] for row in rows]
    return _table([["the paper says", "our numbers", "verdict"], *lines]) if rows else ""


def _verdict(rows: Sequence[papers.Row]) -> str:
    """One for the row, or by quantity what is no match."""
    found: Mapping[str, str] = {row.quantity: row.verdict for row in rows if row.printed.value is not None}
    if len(set(found.values())) <= 1:
        return next(map(_emphasized, found.values()), "")
    return ", ".join(f"{name} {_emphasized(told)}" for name, told in found.items() if told != "match")


def _emphasized(verdict: str) -> str:
    return f"**{verdict}**" if verdict in _EMPHASIZED else verdict


def _reasons(rows: Iterable[papers.Row]) -> str:
    """Each reason once, with all that it is the reason of."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in rows:
        if each.reason:
            name = each.label if each.quantity == "claim" else f"{each.label}, {each.quantity}"
            by_reason.setdefault((each.verdict, each.reason), []).append(name)
    return "\n".join(_told(verdict, reason, names) for (verdict, reason), names in by_reason.items())


def _told(verdict: str, reason: str, names: Sequence[str]) -> str:
    of = "; ".join(names[:4]) + (f"; and {len(names) - 4} more" if len(names) > 4 else "")
    return textwrap.fill(
        f"- {_emphasized(verdict)} ({_escaped(of)}): {reason.rstrip('.')}.",
        width=140,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _picture(paper: str, figure: papers.Figure) -> str:
    """For light pages and for dark ones: GitHub and the site each show the one that fits."""
    alternative = _escaped(f"{figure.name}: {figure.title}").replace("[", "(").replace("]", ")")
    light, dark = (f"{FIGURES}/{picture(paper, figure, dark=dark)}" for dark in (False, True))
    return f"![{alternative}]({light}#gh-light-mode-only)\n![{alternative}]({dark}#gh-dark-mode-only)"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = lines
    return "\n".join(_lines([head, ["---"] * len(head), *rows]))


def _lines(lines: Iterable[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(map(_escaped, line))} |" for line in lines)


def _escaped(text: str) -> str:
    """Text of a cell: a star of a masked zip code is no emphasis, a bar no border; our own ** around a verdict stays."""
    if text.startswith("**") or " **" in text:
        return text
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "_")


def _paragraph(text: str) -> str:
    return textwrap.fill(text, width=140, break_long_words=False, break_on_hyphens=False)
