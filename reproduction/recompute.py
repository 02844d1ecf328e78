# SPDX-License-Identifier: Apache-2.0
"""reproduce(): recompute the parts of one paper, or of all papers, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from divulge.errors import BadInput, MissingDependency, nearest
from divulge.validation import checked
from reproduction import afifi_adult, bezzi, bkakria_figures, slppa_figures, whang
from reproduction.verdicts import Figure, PaperPart, Reproduced, Reproduction, Row

_MODULES = (afifi_adult, bezzi, bkakria_figures, slppa_figures, whang)
PAPERS = {module.PAPER.name: module.PAPER for module in _MODULES}
"""All papers by name."""


@checked
def reproduce(
    paper: str | None = None,
    *,
    part: str | None = None,
    quick: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Recompute what a paper prints: every table, example, figure and claim, each with a verdict.

    Args:
        paper: afifi, bezzi, bkakria, slppa or whang; by default all of them.
        part: Compute only parts with this text in their heading, such as "Table 5".
        quick: Reduce long experiments; their results are then less certain.
        progress: Called after each part with the number of finished parts and of all parts.

    Examples:
        >>> import reproduction
        >>> found = reproduction.reproduce("afifi", part="Example 8")
        >>> found.counts
        {'match': 6, 'erratum': 1}
    """
    if paper is not None and paper not in PAPERS:
        raise BadInput(f"there is no paper {paper!r}", hint=nearest(paper, list(PAPERS)))
    if paper is None:
        papers = tuple(PAPERS.values())
    else:
        papers = (PAPERS[paper],)
    selected_parts = [
        paper_part
        for chosen_paper in papers
        for paper_part in chosen_paper.parts
        if part is None or part.lower() in paper_part.heading.lower()
    ]
    if not selected_parts:
        headings = [
            paper_part.heading for chosen_paper in papers for paper_part in chosen_paper.parts
        ]
        raise BadInput(f"there is no part {part!r}", hint=nearest(str(part), headings))
    reproduced_parts = []
    for finished, paper_part in enumerate(selected_parts, start=1):
        reproduced_parts.append(_compute_part(paper_part, quick=quick))
        if progress is not None:
            progress(finished, len(selected_parts))
    settings = {
        "papers": [chosen_paper.name for chosen_paper in papers],
        "part": part,
        "quick": quick,
    }
    return Reproduction(papers, tuple(reproduced_parts), settings)


def _compute_part(part: PaperPart, *, quick: bool) -> Reproduced:
    """Compute one part, and set the location of each of its rows.

    A part whose public data is not available is left out, with the reason.
    """
    start = time.perf_counter()
    try:
        items = list(part.compute(quick=quick) if part.heavy else part.compute())
    except MissingDependency as missing:
        if not part.public:
            raise
        return Reproduced(part, (), (), time.perf_counter() - start, left_out=str(missing))
    rows = (
        replace(
            item,
            printed=replace(item.printed, where=item.printed.where or part.where, kind=part.kind),
        )
        for item in items
        if isinstance(item, Row)
    )
    figures = tuple(item for item in items if isinstance(item, Figure))
    return Reproduced(part, tuple(rows), figures, time.perf_counter() - start)
