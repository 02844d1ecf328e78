# SPDX-License-Identifier: Apache-2.0
"""`divulge papers`: recompute what the five papers print, number by number, and draw their figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import divulge as dv
from divulge.cli.options import ChartOption, JsonOption, Pictures, Text, new_app, show, tell
from divulge.cli.program import one_of
from divulge.cli.progress import progress_bar

app = new_app()


@app.command()
def papers(
    paper: Annotated[
        Text,
        Argument(
            metavar="PAPER",
            help="afifi, bezzi, bkakria, slppa or whang; without it, all five.",
            autocompletion=one_of(lambda: list(dv.papers.PAPERS)),
        ),
    ] = None,
    part: Annotated[Text, Option(metavar="TEXT", help="Only parts with this in their heading: 'Table 5'.")] = None,
    quick: Annotated[
        bool, Option("--quick", help="Make long experiments smaller; what they say is less sure.")
    ] = False,
    out: Annotated[Text, Option(metavar="DIR", help="Write a page for each paper, with its figures as SVG.")] = None,
    chart: ChartOption = None,
    json_: JsonOption = False,
) -> None:
    """Recompute what the papers behind divulge print: every table, example, figure and claim beside ours, with a verdict.

    \b
    Examples:
      divulge papers bezzi
      divulge papers afifi --part 'Example 8'
      divulge papers --out pages/
    """
    drawing = Pictures.of(chart, ("verdicts",))
    with progress_bar("reproducing") as progress:
        found = dv.papers.reproduce(paper, part=part, quick=quick, progress=progress)
    written = []
    if out is not None:
        from divulge.views import paper_pages

        written = paper_pages.write(found, Path(out))
    tell(found, json_=json_)
    drawing.draw({"verdicts": found.chart}, json_=json_)
    if written and not json_:
        show("", f"Written: {', '.join(map(str, written))}")
    if not found.holds:
        raise typer.Exit(1)
