# SPDX-License-Identifier: Apache-2.0
"""`divulge distances`: sensitivity and independence of distances between distributions."""

from __future__ import annotations

from typing import Annotated

from typer import Option

import divulge as dv
from divulge.cli.options import JsonOption, Text, new_app, tell

app = new_app()


@app.command()
def distances(
    values: Annotated[int, Option(help="How many values the distributions have.", min=2)] = 5,
    pairs: Annotated[int, Option(help="How many random pairs of distributions.", min=2)] = 2000,
    seed: Annotated[int, Option(help="The same seed draws the same pairs.")] = 0,
    chart: Annotated[Text, Option(metavar="FILE", help="Write the curves as .svg, .png or .html.")] = None,
    json_: JsonOption = False,
) -> None:
    """Compare distances between distributions for sensitivity and independence (Afifi et al. 2018, Fig. 1).

    \b
    Example:
      divulge distances --chart distances.svg
    """
    comparison = dv.compare_distances(values=values, pairs=pairs, seed=seed)
    if chart is not None:
        dv.charts.save(comparison.chart(), chart)
    tell(comparison, json_=json_)
