# SPDX-License-Identifier: Apache-2.0
"""Figures of the papers, recomputed, next to the printed numbers.

They are drawn for light and for dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from divulge import results
from divulge.charts import theme
from reproduction.distances import Comparison
from reproduction.verdicts import VERDICTS, Figure, Reproduction

_PANEL_WIDTH = 240
"""Width of a panel, if a figure has several."""
_PRINTED_LABEL = "as printed"


@theme.chart_function
def figure(paper_figure: Figure, *, dark: bool = False) -> Any:
    """Draw a figure of a paper: our points, printed numbers as rings, thresholds as dashed lines.

    Args:
        paper_figure: a figure of the result of `reproduction.reproduce`
        dark: whether the figure is for a dark page

    Examples:
        >>> import reproduction
        >>> points = (
        ...     {"x": "C1", "y": 0.5, "series": "L_D"},
        ...     {"x": "C2", "y": 0.2, "series": "L_D"},
        ... )
        >>> chart = reproduction.figure(
        ...     reproduction.Figure("Fig. 9", "Two classes", "class", "leakage", points)
        ... )
    """
    points = [
        {"series": paper_figure.y, "panel": ""} | dict(point) for point in paper_figure.points
    ]
    layers = _layers(paper_figure, points)
    panels = list(dict.fromkeys(point["panel"] for point in points))
    if len(panels) > 1:
        facet = alt.Facet(
            "panel:N", title=None, sort=panels, header=alt.Header(labelAnchor="start")
        )
        layered: Any = alt.layer(
            *layers, data=theme.data_of(points), width=_PANEL_WIDTH, height=_PANEL_WIDTH * 2 // 3
        ).facet(facet=facet, columns=2)
        chart = layered.resolve_scale(x="independent", y="independent", xOffset="independent")
    else:
        chart = alt.layer(
            *layers, data=theme.data_of(points), width=theme.WIDTH, height=theme.HEIGHT
        )
    styled_chart = theme.finished(
        chart, f"{paper_figure.name}: {paper_figure.title}", paper_figure.told
    )
    if dark:
        return theme.with_dark_colors(styled_chart)
    return styled_chart


@results.chart_of.register(Comparison)
def distances(comparison: Comparison, *, dark: bool = False) -> Any:
    """Draw each distance as belief moves from prior to target (Afifi et al. 2018, Fig. 1)."""
    return figure(comparison.figure(), dark=dark)


def _layers(paper_figure: Figure, points: list[dict[str, Any]]) -> list[Any]:
    series = list(dict.fromkeys(point["series"] for point in points))
    # If a value is 0, the scale is linear near 0.
    log_scales = {
        axis: alt.Scale(type="log")
        if all(point[axis] > 0 for point in points)
        else alt.Scale(type="symlog", constant=0.01)
        for axis in paper_figure.log
    }
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(
            domain=series,
            range=[theme.SEVERAL[index % len(theme.SEVERAL)] for index in range(len(series))],
        ),
        legend=None if len(series) == 1 else alt.Legend(orient="top", columns=4),
    )
    x_values = list(dict.fromkeys(point["x"] for point in points))
    is_categorical = any(isinstance(value, str) for value in x_values)
    if is_categorical:
        x = alt.X(
            "x:N",
            title=paper_figure.x,
            sort=x_values,
            axis=alt.Axis(labelAngle=0 if len(x_values) < 9 else -40),
        )
    else:
        x = alt.X("x:Q", title=paper_figure.x, scale=log_scales.get("x", alt.Undefined))
    y = alt.Y("y:Q", title=paper_figure.y, scale=log_scales.get("y", alt.Undefined))
    base: Any = alt.Chart()
    if paper_figure.mark == "bars":
        layers = [
            base.mark_bar().encode(
                x=x, y=y, color=colour, xOffset=alt.XOffset("series:N", sort=series)
            )
        ]
    else:
        dash = alt.StrokeDash(
            "series:N",
            title=None,
            scale=alt.Scale(
                domain=series,
                range=[
                    theme.DASHES[(index + index // len(theme.SEVERAL)) % len(theme.DASHES)]
                    for index in range(len(series))
                ],
            ),
            legend=None if len(series) == 1 else alt.Legend(orient="top", columns=4),
        )
        layers = [base.mark_line(point=True).encode(x=x, y=y, color=colour, strokeDash=dash)]
    if paper_figure.printed:
        rings = [
            {"series": paper_figure.y, "panel": ""} | dict(point) for point in paper_figure.printed
        ]
        layers.append(_printed_points(paper_figure, rings, x, y, series))
    layers += [_threshold_line(name, index) for name, index in paper_figure.levels.items()]
    return layers


def _printed_points(
    paper_figure: Figure, rings: list[dict[str, Any]], x: Any, y: Any, series: list[str]
) -> Any:
    """Draw the printed numbers as rings at the positions where our points should be."""
    ring: Any = alt.Chart(theme.data_of(rings)).mark_point(
        filled=False, size=90, color=theme.WARNING, strokeWidth=2
    )
    encoded = ring.encode(x=x, y=y, tooltip=[alt.Tooltip("y:Q", title=_PRINTED_LABEL)])
    if paper_figure.mark == "bars":
        return encoded.encode(xOffset=alt.XOffset("series:N", sort=series))
    return encoded


def _threshold_line(name: str, value: float) -> Any:
    """Draw a horizontal dashed line with its name."""
    line: Any = alt.Chart(theme.data_of([{"level": value, "name": name}]))
    rule = line.mark_rule(strokeDash=[5, 4], color=theme.INK).encode(y=alt.Y("level:Q"))
    text = line.mark_text(align="left", dx=6, x=theme.WIDTH, color=theme.INK, fontSize=10).encode(
        y=alt.Y("level:Q"), text="name:N"
    )
    return rule + text


_VERDICT_COLORS: Mapping[str, str] = {
    "match": theme.HOLDS,
    "truncated": "#7fb89f",
    "holds": theme.ACCENT,
    "erratum": theme.WARNING,
    "does not hold": "#e69f00",
    "not reproducible": theme.MUTED,
    "no number printed": theme.BEFORE,
    "differs": "#000000",
}


@results.chart_of.register(Reproduction)
def reproduction(result: Reproduction, *, figure_: str | None = None, dark: bool = False) -> Any:
    """Draw the number of each verdict by paper, or the one figure that `figure_` names."""
    if figure_ is not None:
        return figure(result.figure(figure_), dark=dark)
    rows = [
        {
            "paper": paper.authors,
            "verdict": verdict,
            "order": list(VERDICTS).index(verdict),
            "count": count,
        }
        for paper in result.papers
        for verdict, count in result.counts_of(paper.name).items()
    ]
    kinds = [verdict for verdict in VERDICTS if verdict in {row["verdict"] for row in rows}]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=36 * len(result.papers))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="numbers, claims and figures"),
            y=alt.Y("paper:N", title=None, sort=[paper.authors for paper in result.papers]),
            color=alt.Color(
                "verdict:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[_VERDICT_COLORS[kind] for kind in kinds]),
            ),
            order=alt.Order("order:Q"),
            tooltip=["paper:N", "verdict:N", "count:Q"],
        )
    )
    styled_chart = theme.finished(chart, "Numbers and claims of the papers by verdict")
    if dark:
        return theme.with_dark_colors(styled_chart)
    return styled_chart
