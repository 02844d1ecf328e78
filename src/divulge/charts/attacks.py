# SPDX-License-Identifier: Apache-2.0
"""Pictures of attacks: rates with their intervals beside guesses and bounds, and what is achieved by how much is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from divulge import attacks, results
from divulge.charts import theme
from divulge.errors import BadInput


@results.chart_of.register(attacks.AttackResult)
@theme.drawn
def success(found: attacks.AttackResult) -> Any:
    """How often each attack succeeds, with its interval, beside blind guesses, the prior, the control group and the bound.

    Args:
        found: what `dv.attack` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "flu", "cold"]})
        >>> chart = dv.charts.success(dv.attack(people, truth=people, knows="zip", sensitive="disease"))
    """
    attempts = [attempt for attempt in found.attempts if attempt.targets]
    if not attempts:
        raise BadInput("no attack had a target, so there is nothing to draw")
    names = theme.labels_of(
        (f"{one.name}: {theme.readable(one.about, 24) if one.about else 'row'}" for one in attempts), most=46
    )
    rows: list[dict[str, Any]] = [
        {
            "attack": label,
            "rate": one.rate.value,
            "low": one.rate.low,
            "high": one.rate.high,
            "kind": "breaks its bound" if one.broken else "does not",
        }
        for label, one in zip(names, attempts, strict=True)
    ]
    y = alt.Y("attack:N", sort=names, title=None)
    scale = alt.Scale(domain=[0, 1])
    colour = alt.Color(
        "kind:N",
        legend=None,
        scale=alt.Scale(domain=["breaks its bound", "does not"], range=[theme.WARNING, theme.ACCENT]),
    )
    base = alt.Chart(theme.data_of(rows)).encode(y=y)
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", scale=scale, title="share of targets for whom she is right", axis=alt.Axis(format="%")),
        x2="high:Q",
        color=colour,
    )
    points = base.mark_point(size=70).encode(x=alt.X("rate:Q", scale=scale), color=colour)
    told = (
        "Vermilion: the whole interval, of people in the release, is above the bound."
        if found.broken
        else "No interval lies above a bound."
    )
    return theme.finished(
        alt.layer(bars, points, *_beside(names, attempts, y, scale)).properties(
            width=theme.WIDTH, height=max(24 * len(rows), 60)
        ),
        "How often each attack succeeds",
        f"Dot and line: the rate and its 95 % interval, by {found.settings['targets']:,} targets. {told}",
    )


def _beside(names: Sequence[str], attempts: Sequence[attacks.Attempt], y: alt.Y, scale: alt.Scale) -> list[alt.Chart]:
    """What each rate is held against: guesses, other people, the bound; nothing where there is none of them."""
    marks: list[dict[str, Any]] = []
    for label, one in zip(names, attempts, strict=True):
        beside = {"blind guess": one.random, "prior alone": one.prior}
        beside |= {"control group": None if one.control is None else one.control.value}
        beside |= {"of those in the release": None if one.in_release is None else one.in_release.value}
        beside |= {"bound": None if one.bound is None else one.bound.value}
        marks += [{"attack": label, "at": value, "what": what} for what, value in beside.items() if value is not None]
    kinds = ["blind guess", "prior alone", "control group", "of those in the release", "bound"]
    present = [kind for kind in kinds if any(mark["what"] == kind for mark in marks)]
    shapes = dict(zip(kinds, ("circle", "diamond", "cross", "square", "stroke"), strict=True))
    colours = dict(zip(kinds, (theme.BEFORE, theme.MUTED, theme.MUTED, theme.ACCENT, theme.INK), strict=True))
    others = (
        alt.Chart(theme.data_of(marks))
        .mark_point(size=90, filled=False, strokeWidth=2)
        .encode(
            y=y,
            x=alt.X("at:Q", scale=scale),
            shape=alt.Shape(
                "what:N", title=None, scale=alt.Scale(domain=present, range=[shapes[kind] for kind in present])
            ),
            stroke=alt.Stroke(
                "what:N", title=None, scale=alt.Scale(domain=present, range=[colours[kind] for kind in present])
            ),
        )
    )
    return [others] if marks else []


@theme.drawn
def knowledge(found: attacks.AttackResult) -> Any:
    """What is achieved by how many columns are known: every set as a dot, the best sets as a line.

    Args:
        found: what `dv.attack` gave, with `subsets`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "1", "2"], "age": [30, 31, 31], "disease": ["flu", "flu", "cold"]})
        >>> found = dv.attack(people, truth=people, knows=["zip", "age"], sensitive="disease", subsets=2)
        >>> chart = dv.charts.knowledge(found)
    """
    if not found.knowledge:
        raise BadInput("sets of columns were not tried", hint="ask for them with subsets=2")
    abouts = theme.labels_of(dict.fromkeys(one.about or "row" for one in found.knowledge), most=30)
    label = dict(zip(dict.fromkeys(one.about or "row" for one in found.knowledge), abouts, strict=True))
    rows: list[dict[str, Any]] = [
        {
            "columns": len(one.knows),
            "rate": one.rate.value,
            "about": label[one.about or "row"],
            "set": theme.readable(" + ".join(one.knows), 60),
        }
        for one in found.knowledge
    ]
    best = [
        max((row for row in rows if row["columns"] == size and row["about"] == about), key=lambda row: row["rate"])
        for about in abouts
        for size in sorted({row["columns"] for row in rows})
        if any(row["columns"] == size and row["about"] == about for row in rows)
    ]
    x = alt.X("columns:O", title="columns that she knows", axis=alt.Axis(labelAngle=0))
    y = alt.Y(
        "rate:Q",
        title="share of targets for whom she is right",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    colour = alt.Color("about:N", title=None, sort=abouts)
    dash = alt.StrokeDash("about:N", title=None, sort=abouts, legend=None)
    dots = (
        alt.Chart(theme.data_of(rows))
        .mark_point(size=40, opacity=0.5)
        .encode(x=x, y=y, color=colour, tooltip=["set:N", "rate:Q"])
    )
    line = alt.Chart(theme.data_of(best)).mark_line().encode(x=x, y=y, color=colour, strokeDash=dash)
    return theme.finished(
        alt.layer(dots, line).properties(width=theme.WIDTH, height=theme.HEIGHT),
        "What she achieves by how much she knows",
        "A dot is a set of columns; the line follows the set that gives most away.",
    )
