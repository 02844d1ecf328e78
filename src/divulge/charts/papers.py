# SPDX-License-Identifier: Apache-2.0
"""The figures of the papers as ours, with what they print beside it; for light pages and for dark ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from divulge import papers, results
from divulge.charts import theme

_PANEL = 240
"""Width of a panel, where a figure has several."""
_PRINTED = "as printed"


@theme.drawn
def figure(found: papers.Figure, *, dark: bool = False) -> Any:
    """A figure of a paper: our points, the printed numbers as rings, thresholds as dashed lines.

    Args:
        found: one of the figures that `dv.papers.reproduce` gave
        dark: whether it is for a dark page

    Examples:
        >>> import divulge as dv
        >>> points = ({"x": "C1", "y": 0.5, "series": "L_D"}, {"x": "C2", "y": 0.2, "series": "L_D"})
        >>> chart = dv.charts.figure(dv.papers.Figure("Fig. 9", "Two classes", "class", "leakage", points))
    """
    points = [{"series": found.y, "panel": ""} | dict(point) for point in found.points]
    layers = _layers(found, points)
    panels = list(dict.fromkeys(point["panel"] for point in points))
    if len(panels) > 1:
        facet = alt.Facet("panel:N", title=None, sort=panels, header=alt.Header(labelAnchor="start"))
        shared: Any = alt.layer(*layers, data=theme.data_of(points), width=_PANEL, height=_PANEL * 2 // 3).facet(
            facet=facet, columns=2
        )
        chart = shared.resolve_scale(x="independent", y="independent", xOffset="independent")
    else:
        chart = alt.layer(*layers, data=theme.data_of(points), width=theme.WIDTH, height=theme.HEIGHT)
    drawn = theme.finished(chart, f"{found.name}: {found.title}", found.told)
    return theme.in_dark(drawn) if dark else drawn


@results.chart_of.register(papers.Comparison)
def distances(found: papers.Comparison, *, dark: bool = False) -> Any:
    """How each distance grows as belief moves from prior to target (Afifi et al. 2018, Fig. 1)."""
    return figure(found.figure(), dark=dark)


def _layers(found: papers.Figure, points: list[dict[str, Any]]) -> list[Any]:
    series = list(dict.fromkeys(point["series"] for point in points))
    # Where a value is 0, a scale that is linear next to it.
    logs = {
        axis: alt.Scale(type="log")
        if all(point[axis] > 0 for point in points)
        else alt.Scale(type="symlog", constant=0.01)
        for axis in found.log
    }
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=series, range=[theme.SEVERAL[at % len(theme.SEVERAL)] for at in range(len(series))]),
        legend=None if len(series) == 1 else alt.Legend(orient="top", columns=4),
    )
    along = list(dict.fromkeys(point["x"] for point in points))
    whole = any(isinstance(value, str) for value in along)
    x = (
        alt.X("x:N", title=found.x, sort=along, axis=alt.Axis(labelAngle=0 if len(along) < 9 else -40))
        if whole
        else alt.X("x:Q", title=found.x, scale=logs.get("x", alt.Undefined))
    )
    y = alt.Y("y:Q", title=found.y, scale=logs.get("y", alt.Undefined))
    base: Any = alt.Chart()
    if found.mark == "bars":
        layers = [base.mark_bar().encode(x=x, y=y, color=colour, xOffset=alt.XOffset("series:N", sort=series))]
    else:
        dash = alt.StrokeDash(
            "series:N",
            title=None,
            scale=alt.Scale(
                domain=series,
                range=[theme.DASHES[(at + at // len(theme.SEVERAL)) % len(theme.DASHES)] for at in range(len(series))],
            ),
            legend=None if len(series) == 1 else alt.Legend(orient="top", columns=4),
        )
        layers = [base.mark_line(point=True).encode(x=x, y=y, color=colour, strokeDash=dash)]
    if found.printed:
        rings = [{"series": found.y, "panel": ""} | dict(point) for point in found.printed]
        layers.append(_rings(found, rings, x, y, series))
    layers += [_level(name, at) for name, at in found.levels.items()]
    return layers


def _rings(found: papers.Figure, rings: list[dict[str, Any]], x: Any, y: Any, series: list[str]) -> Any:
    """What is printed, as a ring where ours should be."""
    ring: Any = alt.Chart(theme.data_of(rings)).mark_point(filled=False, size=90, color=theme.WARNING, strokeWidth=2)
    encoded = ring.encode(x=x, y=y, tooltip=[alt.Tooltip("y:Q", title=_PRINTED)])
    return encoded.encode(xOffset=alt.XOffset("series:N", sort=series)) if found.mark == "bars" else encoded


def _level(name: str, at: float) -> Any:
    """A dashed line across, with its name."""
    line: Any = alt.Chart(theme.data_of([{"level": at, "name": name}]))
    rule = line.mark_rule(strokeDash=[5, 4], color=theme.INK).encode(y=alt.Y("level:Q"))
    text = line.mark_text(align="left", dx=6, x=theme.WIDTH, color=theme.INK, fontSize=10).encode(
        y=alt.Y("level:Q"), text="name:N"
    )
    return rule + text


_COLOURS: Mapping[str, str] = {
    "match": theme.HOLDS,
    "truncated": "#7fb89f",
    "holds": theme.ACCENT,
    "erratum": theme.WARNING,
    "does not hold": "#e69f00",
    "not reproducible": theme.MUTED,
    "no number printed": theme.BEFORE,
    "differs": "#000000",
}


@results.chart_of.register(papers.Reproduction)
def reproduction(found: papers.Reproduction, *, figure_: str | None = None, dark: bool = False) -> Any:
    """How often each verdict was given, paper by paper; or one figure of them by its name."""
    if figure_ is not None:
        return figure(found.figure(figure_), dark=dark)
    rows = [
        {"paper": paper.authors, "verdict": verdict, "order": list(papers.VERDICTS).index(verdict), "count": count}
        for paper in found.papers
        for verdict, count in found.counts_of(paper.name).items()
    ]
    kinds = [verdict for verdict in papers.VERDICTS if verdict in {each["verdict"] for each in rows}]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=36 * len(found.papers))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="numbers, claims and figures"),
            y=alt.Y("paper:N", title=None, sort=[paper.authors for paper in found.papers]),
            color=alt.Color(
                "verdict:N", title=None, scale=alt.Scale(domain=kinds, range=[_COLOURS[kind] for kind in kinds])
            ),
            order=alt.Order("order:Q"),
            tooltip=["paper:N", "verdict:N", "count:Q"],
        )
    )
    drawn = theme.finished(chart, "What the papers print, beside what divulge computes")
    return theme.in_dark(drawn) if dark else drawn
