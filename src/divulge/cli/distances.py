# SPDX-License-Identifier: Apache-2.0
"""`divulge distances`: sensitivity and independence of distances between distributions."""

from __future__ import annotations

from typing import Annotated

from typer import Option

import divulge as dv
from divulge.cli.options import JsonOption, new_app, tell
from divulge.cli.pictures import ChartOption, Pictures

app = new_app()


@app.command()
def distances(
    values: Annotated[int, Option(help="How many values the distributions have.", min=2)] = 5,
    pairs: Annotated[int, Option(help="How many random pairs of distributions.", min=2)] = 2000,
    seed: Annotated[int, Option(help="The same seed draws the same pairs.")] = 0,
    chart: ChartOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare distances between distributions for sensitivity and independence (Afifi et al. 2018, Fig. 1).

    \b
    Example:
      divulge distances --chart distances.svg
    """
    drawing = Pictures.of(chart, ("distances",))
    comparison = dv.compare_distances(values=values, pairs=pairs, seed=seed)
    tell(comparison, json_=json_)
    drawing.draw({"distances": comparison.chart}, json_=json_)
