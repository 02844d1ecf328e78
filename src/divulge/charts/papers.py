# SPDX-License-Identifier: Apache-2.0
"""Pictures that only the papers draw: how distances between distributions grow (Afifi et al. 2018, Fig. 1)."""

from __future__ import annotations

from typing import Any

import altair as alt

from divulge import papers, results
from divulge.charts.theme import DASHES, HEIGHT, SEVERAL, WIDTH, data_of, finished
from divulge.values import checked


@checked
def distances(found: papers.Comparison) -> Any:
    """How each distance grows as belief moves from prior to target (Afifi et al. 2018, Fig. 1).

    Args:
        found: what `dv.compare_distances` gave

    Examples:
        >>> import divulge as dv
        >>> chart = dv.charts.distances(dv.compare_distances(pairs=2, steps=10))
    """
    names = list(found.names)
    chart = (
        alt.Chart(data_of(found.curves), width=WIDTH, height=HEIGHT)
        .mark_line()
        .encode(
            x=alt.X("way:Q", title="way from prior to target"),
            y=alt.Y("mean:Q", title="mean distance", scale=alt.Scale(type="symlog")),
            color=alt.Color(
                "distance:N",
                title=None,
                scale=alt.Scale(domain=names, range=[SEVERAL[at % len(SEVERAL)] for at in range(len(names))]),
            ),
            strokeDash=alt.StrokeDash(
                "distance:N",
                title=None,
                scale=alt.Scale(
                    domain=names, range=[DASHES[(at + at // len(SEVERAL)) % len(DASHES)] for at in range(len(names))]
                ),
            ),
        )
    )
    return finished(chart, "Distances as belief moves from prior to target")


results.chart_of.register(papers.Comparison)(distances)
