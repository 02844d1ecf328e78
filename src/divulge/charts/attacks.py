# SPDX-License-Identifier: Apache-2.0
"""Charts of attacks.

One shows success rates with intervals next to baselines and bounds. The other shows success rates
by the number of known columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from divulge import attacks, results
from divulge.charts import theme
from divulge.errors import BadInput


@results.chart_of.register(attacks.AttackResult)
@theme.chart_function
def success(result: attacks.AttackResult) -> Any:
    """Draw the success rate of each attack with its interval, next to baselines and the bound.

    The baselines are random guesses, the prior alone and the control group.

    Args:
        result: output of `dv.attack`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "flu", "cold"]})
        >>> chart = dv.charts.success(
        ...     dv.attack(people, truth=people, knows="zip", sensitive="disease")
        ... )
    """
    attempts = [attempt for attempt in result.attempts if attempt.targets]
    if not attempts:
        raise BadInput("no attack had a target, so there is nothing to draw")
    names = theme.unique_labels(
        (
            f"{attack.name}: {theme.readable(attack.about, 24) if attack.about else 'row'}"
            for attack in attempts
        ),
        max_length=46,
    )
    rows: list[dict[str, Any]] = [
        {
            "attack": label,
            "rate": attack.rate.value,
            "low": attack.rate.low,
            "high": attack.rate.high,
            "kind": "breaks its bound" if attack.broken else "does not",
        }
        for label, attack in zip(names, attempts, strict=True)
    ]
    attack_axis = alt.Y("attack:N", sort=names, title=None)
    share_scale = alt.Scale(domain=[0, 1])
    colour = alt.Color(
        "kind:N",
        legend=None,
        scale=alt.Scale(
            domain=["breaks its bound", "does not"], range=[theme.WARNING, theme.ACCENT]
        ),
    )
    base = alt.Chart(theme.data_of(rows)).encode(y=attack_axis)
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X(
            "low:Q",
            scale=share_scale,
            title="share of targets for whom she is right",
            axis=alt.Axis(format="%"),
        ),
        x2="high:Q",
        color=colour,
    )
    points = base.mark_point(size=70).encode(x=alt.X("rate:Q", scale=share_scale), color=colour)
    if result.broken:
        interval_note = (
            "Vermilion: the whole interval, of people in the release, is above the bound, or the "
            "exact chance against one person is."
        )
    else:
        interval_note = "No bound is exceeded."
    return theme.finished(
        alt.layer(
            bars, points, *_baseline_marks(names, attempts, attack_axis, share_scale)
        ).properties(width=theme.WIDTH, height=max(24 * len(rows), 60)),
        "How often each attack succeeds",
        f"Dot and line: the rate and its 95 % interval, by {result.settings['targets']:,} "
        f"targets. {interval_note}",
    )


def _baseline_marks(
    names: Sequence[str],
    attempts: Sequence[attacks.Attempt],
    attack_axis: alt.Y,
    share_scale: alt.Scale,
) -> list[alt.Chart]:
    """Marks of the baselines and the bound of each attack, as a list of at most one layer.

    The baselines are random guesses, the prior, the control group and the targets in the release.
    The list is empty if no attack has any of them.
    """
    marks: list[dict[str, Any]] = []
    for label, attempt in zip(names, attempts, strict=True):
        baselines = {"blind guess": attempt.random, "prior alone": attempt.prior}
        baselines |= {"control group": None if attempt.control is None else attempt.control.value}
        baselines |= {
            "of those in the release": None
            if attempt.in_release is None
            else attempt.in_release.value
        }
        baselines |= {"bound": None if attempt.bound is None else attempt.bound.value}
        marks += [
            {"attack": label, "at": value, "what": baseline}
            for baseline, value in baselines.items()
            if value is not None
        ]
    kinds = ["blind guess", "prior alone", "control group", "of those in the release", "bound"]
    present_kinds = [kind for kind in kinds if any(mark["what"] == kind for mark in marks)]
    shapes = dict(zip(kinds, ("circle", "diamond", "cross", "square", "stroke"), strict=True))
    colours = dict(
        zip(kinds, (theme.BEFORE, theme.MUTED, theme.MUTED, theme.ACCENT, theme.INK), strict=True)
    )
    points = (
        alt.Chart(theme.data_of(marks))
        .mark_point(size=90, filled=False, strokeWidth=2)
        .encode(
            y=attack_axis,
            x=alt.X("at:Q", scale=share_scale),
            shape=alt.Shape(
                "what:N",
                title=None,
                scale=alt.Scale(
                    domain=present_kinds, range=[shapes[kind] for kind in present_kinds]
                ),
            ),
            stroke=alt.Stroke(
                "what:N",
                title=None,
                scale=alt.Scale(
                    domain=present_kinds, range=[colours[kind] for kind in present_kinds]
                ),
            ),
        )
    )
    if marks:
        return [points]
    return []


@theme.chart_function
def knowledge(result: attacks.AttackResult) -> Any:
    """Draw success rates by the number of known columns.

    Each set of columns is a dot. A line joins the best set of each size.

    Args:
        result: output of `dv.attack` with `subsets`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table(
        ...     {"zip": ["1", "1", "2"], "age": [30, 31, 31], "disease": ["flu", "flu", "cold"]}
        ... )
        >>> result = dv.attack(
        ...     people, truth=people, knows=["zip", "age"], sensitive="disease", subsets=2
        ... )
        >>> chart = dv.charts.knowledge(result)
    """
    if not result.knowledge:
        raise BadInput("sets of columns were not tried", hint="ask for them with subsets=2")
    target_labels = theme.unique_labels(
        dict.fromkeys(column_set.about or "row" for column_set in result.knowledge), max_length=30
    )
    label_by_target = dict(
        zip(
            dict.fromkeys(column_set.about or "row" for column_set in result.knowledge),
            target_labels,
            strict=True,
        )
    )
    rows: list[dict[str, Any]] = [
        {
            "columns": len(column_set.knows),
            "rate": column_set.rate.value,
            "about": label_by_target[column_set.about or "row"],
            "set": theme.readable(" + ".join(column_set.knows), 60),
        }
        for column_set in result.knowledge
    ]
    best_sets = [
        max(
            (row for row in rows if row["columns"] == size and row["about"] == about),
            key=lambda row: row["rate"],
        )
        for about in target_labels
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
    colour = alt.Color("about:N", title=None, sort=target_labels)
    dash = alt.StrokeDash("about:N", title=None, sort=target_labels, legend=None)
    dots = (
        alt.Chart(theme.data_of(rows))
        .mark_point(size=40, opacity=0.5)
        .encode(x=x, y=y, color=colour, tooltip=["set:N", "rate:Q"])
    )
    line = (
        alt.Chart(theme.data_of(best_sets))
        .mark_line()
        .encode(x=x, y=y, color=colour, strokeDash=dash)
    )
    return theme.finished(
        alt.layer(dots, line).properties(width=theme.WIDTH, height=theme.HEIGHT),
        "What she achieves by how much she knows",
        "A dot is a set of columns; the line follows the set that gives most away.",
    )
