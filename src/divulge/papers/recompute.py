# SPDX-License-Identifier: Apache-2.0
"""reproduce(): the parts of one paper or of all, computed one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from divulge import values
from divulge.errors import BadInput, MissingDependency, nearest
from divulge.papers import afifi_adult, bezzi, bkakria_figures, slppa_figures, whang
from divulge.papers.reproduction import Figure, PaperPart, Reproduced, Reproduction, Row

_MODULES = (afifi_adult, bezzi, bkakria_figures, slppa_figures, whang)
PAPERS = {module.PAPER.name: module.PAPER for module in _MODULES}
"""Each paper by its name."""


@values.checked
def reproduce(
    paper: str | None = None,
    *,
    part: str | None = None,
    quick: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Recompute what a paper prints: every table, example, figure and claim, each with a verdict.

    Args:
        paper: afifi, bezzi, bkakria, slppa or whang; all of them where none is named.
        part: Only the parts that have this in their heading, such as "Table 5".
        quick: Whether long experiments are made smaller; what they then say is less sure.
        progress: Called after each part with how many are done and how many there are.

    Examples:
        >>> import divulge as dv
        >>> found = dv.papers.reproduce("afifi", part="Example 8")
        >>> found.counts
        {'match': 6, 'erratum': 1}
    """
    if paper is not None and paper not in PAPERS:
        raise BadInput(f"there is no paper {paper!r}", hint=nearest(paper, list(PAPERS)))
    papers = tuple(PAPERS.values()) if paper is None else (PAPERS[paper],)
    due = [each for one in papers for each in one.parts if part is None or part.lower() in each.heading.lower()]
    if not due:
        headings = [each.heading for one in papers for each in one.parts]
        raise BadInput(f"there is no part {part!r}", hint=nearest(str(part), headings))
    found = []
    for done, each in enumerate(due, start=1):
        found.append(_run(each, quick=quick))
        if progress is not None:
            progress(done, len(due))
    settings = {"papers": [one.name for one in papers], "part": part, "quick": quick}
    return Reproduction(papers, tuple(found), settings)


def _run(part: PaperPart, *, quick: bool) -> Reproduced:
    """A part, each of its rows told where it stands; one whose public data cannot be had is left out, and says why."""
    start = time.perf_counter()
    try:
        found = list(part.compute(quick=quick) if part.heavy else part.compute())
    except MissingDependency as missing:
        if not part.public:
            raise
        return Reproduced(part, (), (), time.perf_counter() - start, left_out=str(missing))
    rows = (
        replace(each, printed=replace(each.printed, where=each.printed.where or part.where, kind=part.kind))
        for each in found
        if isinstance(each, Row)
    )
    figures = tuple(each for each in found if isinstance(each, Figure))
    return Reproduced(part, tuple(rows), figures, time.perf_counter() - start)
