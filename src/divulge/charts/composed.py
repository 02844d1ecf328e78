# SPDX-License-Identifier: Apache-2.0
"""Pictures of what several releases tell together."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import altair as alt

from divulge import composition, results
from divulge.charts.theme import ACCENT, data_of, drawn, finished, labels_of
from divulge.errors import BadInput

_MOST_PANELS = 6
_IN_A_ROW = 3
_ACROSS = 36
"""Letters of all names together that a panel has room for side by side."""
_FAR_APART = 20


@drawn
def after_each_release(found: composition.Composition) -> Any:
    """Risk after each release: of each alone, and of it with all before it.

    Args:
        found: what `dv.compose` gave, with the truth

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table({"age": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"]})
        >>> chart = dv.charts.after_each_release(
        ...     dv.compose([truth.select(["age"]), truth.select(["sex"])], truth=truth)
        ... )
    """
    if found.together is None:
        raise BadInput("risk after each release is measured on the truth", hint="Give truth= to compose")
    names = labels_of((f"{at} {PurePath(one.name).name}" for at, one in enumerate(found.releases, start=1)), most=24)
    panels = [_panel(found, attribute, name, names) for attribute, name in _risks(found)]
    rows = [panels[start : start + _IN_A_ROW] for start in range(0, len(panels), _IN_A_ROW)]
    return finished(
        alt.vconcat(*(alt.hconcat(*row, spacing=58, bounds="flush") for row in rows), spacing=26),
        "Risk after each release",
        "Each panel has its own scale, and says which end is worse. Line: all releases so far. Grey points: each release alone.",
    )


def _risks(found: composition.Composition) -> list[tuple[str | None, str]]:
    """Those that are promised most first, then what leads."""
    last = found.measurement
    if last is None:
        return []
    scores = [(None, last.identity), *last.sensitive.items()]
    risks = [
        ((attribute, name), score.metric)
        for attribute, named in scores
        for name, score in named.items()
        if score.metric.kind == "risk" and (score.metric.leads or score.metric.common)
    ]
    risks.sort(key=lambda item: item[1].common or math.inf)
    return [key for key, _ in risks][:_MOST_PANELS]


def _panel(found: composition.Composition, attribute: str | None, name: str, names: list[str]) -> Any:
    rows = []
    metric = None
    for label, one in zip(names, found.releases, strict=True):
        for told, measured in (("alone", one.alone), ("so far", one.so_far)):
            if measured is None:
                continue
            score = (measured.identity if attribute is None else measured.sensitive[attribute])[name]
            metric = score.metric
            rows.append({"release": label, "told": told, "value": results.plain(float(score.value))})
    drawn = [row for row in rows if isinstance(row["value"], float)]
    wide = _is_wide([row["value"] for row in drawn])
    worse = "" if metric is None else f"{metric.worse} is worse{', logarithmic' if wide else ''}"
    title = f"{name.replace('_', ' ')}{'' if attribute is None else f', {attribute}'}"
    level = len(names) * max(map(len, names)) <= _ACROSS
    powers = [10.0**power for power in range(16)]
    scale = alt.Scale(type="log", domainMin=1) if wide else alt.Scale(zero=True)
    base = alt.Chart(data_of(drawn)).encode(
        x=alt.X("release:N", sort=names, title=None, axis=alt.Axis(labelAngle=0 if level else -20)),
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(values=powers) if wide else alt.Axis()),
        tooltip=["release:N", alt.Tooltip("told:N", title="told by"), alt.Tooltip("value:Q", format=".4f")],
    )
    line = base.transform_filter("datum.told == 'so far'").mark_line(point=True, color=ACCENT)
    points = base.transform_filter("datum.told == 'alone'").mark_point(filled=True, size=55, color="#8a8f98")
    above = alt.TitleParams(text=title, subtitle=worse, fontSize=11.5, subtitleFontSize=11)
    return (line + points).properties(width=210, height=130, title=above)


def _is_wide(values: list[float]) -> bool:
    """Whether counts are so far apart that the small ones, which matter, would all lie on the axis."""
    return bool(values) and min(values) >= 1 and max(values) > _FAR_APART * min(values)


results.chart_of.register(composition.Composition)(after_each_release)
