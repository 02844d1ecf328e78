# SPDX-License-Identifier: Apache-2.0
"""Charts of releases.

They show the trade-off of risk and information loss, utility, tables side by side, joint risk after
each release, and the groups of anatomized releases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import altair as alt

from divulge import anatomization, composition, generalization, metrics, releases, results
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check_groups import ReleaseCheck
from divulge.charts import theme
from divulge.charts.classes import class_sizes, leakages
from divulge.errors import BadInput
from divulge.queries import Utility

_MOST_POINTS = 3_000
_MOST_SIZES = 24
_MOST_PANELS = 6
_PANELS_PER_ROW = 3
_MOST_PAIRS = 10
_CHANGE_LABELS = ("less than before", "the same", "more than before", "no class here")
_LEVEL_MEANINGS = {
    "alpha": "whose record it is",
    "beta": "a sensitive value",
    "gamma": "a whole record",
    "delta": "shift of belief",
}


@theme.chart_function
def front(
    result: generalization.Front,
    *,
    bound: float | None = None,
    chosen: Mapping[str, int] | None = None,
) -> Any:
    """Draw the information loss of each combination of levels against its risk.

    The line is the Pareto front: the combinations that no other one beats in both.

    With several metrics, the first two are the axes and color is the information loss.

    Args:
        result: output of `dv.tradeoff`
        bound: the required bound of the metric, drawn as a dashed line
        chosen: the levels of a release, marked by a ring

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> chart = dv.charts.front(dv.tradeoff(people, "k_anonymity", quasi_identifiers="zip"))
    """
    if result.further:
        return _front_of_two_metrics(result)
    points = [
        point
        for point in result.points
        if math.isfinite(point.leakage) and math.isfinite(point.value)
    ]
    dominated = [point for point in points if not point.on_front]
    step = -(-max(len(dominated), 1) // _MOST_POINTS)
    drawn_points = [*(point for point in points if point.on_front), *dominated[::step]]
    rows = [
        {
            "x": point.leakage,
            "y": point.value,
            "levels": _levels_text(point),
            "left": point.suppressed,
            "classes": point.classes,
            "kind": "front" if point.on_front else "beaten",
            "chosen": chosen is not None and dict(point.levels) == dict(chosen),
        }
        for point in sorted(drawn_points, key=lambda point: point.leakage)
    ]
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=alt.X(
            "x:Q",
            title=_metric_title(result.metric, result.attribute),
            scale=alt.Scale(zero=False, nice=True),
        ),
        y=alt.Y("y:Q", title=_loss_title(result), scale=alt.Scale(zero=True)),
        tooltip=[
            alt.Tooltip("levels:N", title="levels"),
            alt.Tooltip("x:Q", title=result.metric.replace("_", " "), format=".4~f"),
            alt.Tooltip("y:Q", title=result.objective.replace("_", " "), format=".4~f"),
            alt.Tooltip("left:Q", title="people left out", format=",d"),
            alt.Tooltip("classes:Q", title="classes", format=",d"),
        ],
    )
    dominated_marks = base.transform_filter("datum.kind == 'beaten'").mark_point(
        filled=True, color=theme.BEFORE, opacity=0.7, size=28
    )
    front_line = base.transform_filter("datum.kind == 'front'").mark_line(
        color=theme.ACCENT,
        interpolate="step-after",
        point=alt.OverlayMarkDef(color=theme.ACCENT, filled=True, size=60),
    )
    layers = [dominated_marks, front_line]
    if chosen is not None:
        ring: dict[str, Any] = {
            "filled": False,
            "color": theme.WARNING,
            "size": 260,
            "strokeWidth": 2.5,
            "opacity": 1,
        }
        layers.append(base.transform_filter("datum.chosen").mark_point(**ring))
    if bound is not None:
        bound_line = alt.Chart(theme.data_of([{"x": bound}])).mark_rule(
            strokeDash=[4, 4], color=theme.INK
        )
        layers.append(bound_line.encode(x="x:Q"))
    infinite_count = len(result.points) - len(points)
    return theme.finished(
        alt.layer(*layers),
        "What is lost, and what is told",
        "Each mark is one choice of levels; the line joins those that no other beats in both.",
        "The ring is what would be published." if chosen is not None else "",
        "The dashed line is what is promised." if bound is not None else "",
        theme.omission_sentence(
            len(rows), len(points), "choices", "on the line, and some of the others"
        ),
        f"{infinite_count:,} choices have no finite number and are not shown."
        if infinite_count
        else "",
    )


def _levels_text(point: Any) -> str:
    return ", ".join(f"{theme.readable(name)} {level}" for name, level in point.levels.items())


def _metric_title(name: str, attribute: str | None) -> str:
    metric = metrics.find_metric(name)
    if attribute:
        about = f" of {theme.readable(attribute, 30)}"
    else:
        about = ""
    if metric.unit:
        unit = f", {metric.unit}"
    else:
        unit = ""
    return (
        f"{name.replace('_', ' ')}{about}{unit} "
        f"({'higher' if metric.worse == 'high' else 'lower'} tells more)"
    )


def _loss_title(pareto_front: generalization.Front) -> str:
    return f"{pareto_front.objective.replace('_', ' ')} (what is lost)"


def _front_of_two_metrics(pareto_front: generalization.Front) -> Any:
    """Draw the front with the first two metrics as axes."""
    names = (pareto_front.metric, pareto_front.further[0])
    points = [
        point
        for point in pareto_front.points
        if all(map(math.isfinite, (point.leakage, point.further[0], point.value)))
    ]
    drawn_points = sorted(points, key=lambda point: not point.on_front)[:_MOST_POINTS]
    kinds = ["beaten by none", "beaten"]
    rows = [
        {
            "x": point.leakage,
            "y": point.further[0],
            "lost": point.value,
            "levels": _levels_text(point),
            "kind": kinds[0] if point.on_front else kinds[1],
        }
        for point in reversed(drawn_points)
    ]
    titles = [name.replace("_", " ") for name in names]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_point(filled=True, opacity=0.85, stroke=theme.INK, strokeWidth=0.4)
        .encode(
            x=alt.X(
                "x:Q",
                title=_metric_title(names[0], pareto_front.attribute),
                scale=alt.Scale(zero=False, nice=True),
            ),
            y=alt.Y(
                "y:Q",
                title=_metric_title(names[1], pareto_front.attribute),
                scale=alt.Scale(zero=False, nice=True),
            ),
            color=alt.Color(
                "lost:Q",
                title=_loss_title(pareto_front),
                scale=alt.Scale(range=["#d8e6ea", theme.ACCENT]),
            ),
            shape=alt.Shape(
                "kind:N", title=None, scale=alt.Scale(domain=kinds, range=["diamond", "circle"])
            ),
            size=alt.Size("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=[110, 40])),
            tooltip=[
                alt.Tooltip("levels:N", title="levels"),
                alt.Tooltip("x:Q", title=titles[0], format=".4~f"),
                alt.Tooltip("y:Q", title=titles[1], format=".4~f"),
                alt.Tooltip(
                    "lost:Q", title=pareto_front.objective.replace("_", " "), format=".4~f"
                ),
            ],
        )
    )
    others = ", ".join(name.replace("_", " ") for name in pareto_front.further[1:])
    return theme.finished(
        chart,
        "What is told by two measures, and what is lost",
        "Each mark is one choice of levels; the darker, the more is lost.",
        "Diamonds: no other choice is as good in every number and better in one.",
        theme.omission_sentence(
            len(rows),
            len(pareto_front.points),
            "choices",
            "that none beats, and some of the others",
        ),
        f"Not shown, and counted all the same: {others}." if others else "",
    )


# --- anatomized releases --------------------------------------------------------------------------
@theme.chart_function
def groups(result: AnatomizedRelease | ReleaseCheck) -> Any:
    """Draw the sizes of the groups of an anatomized release, and its levels against their bounds.

    The levels are the largest probabilities of guesses that any group allows. If rows stayed on
    disk or on a cluster, or only the published tables are available, sizes are given as a range.

    Args:
        result: output of `dv.anatomize` or `dv.check`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table(
        ...     {"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]}
        ... )
        >>> chart = dv.charts.groups(dv.anatomize(people, sensitive="salary", beta="1/2"))
    """
    if isinstance(result, AnatomizedRelease):
        summary = result.summary
        grouping = result.groups.only
        count = summary.groups
        smallest = summary.smallest
        largest = summary.largest
        if grouping is None:
            sizes = None
        else:
            sizes = Counter(grouping.sizes.tolist())
    else:
        count = result.groups
        smallest = result.smallest
        largest = result.largest
        sizes = None
    panels = [_level_panel(result.levels, result.model)]
    if sizes:
        panels.insert(0, _group_size_panel(sizes))
    size_sentence = (
        f"{theme.count_phrase(count, 'group', 'groups')} of {smallest:,} to {largest:,} records."
    )
    return theme.finished(
        alt.hconcat(*panels, spacing=40),
        "What the groups hide",
        f"{size_sentence} Bars: the most that a group lets somebody guess, or believe more than "
        "before; the black mark: what is promised.",
    )


def _group_size_panel(sizes: Counter[int]) -> Any:
    width = -(-(max(sizes) - min(sizes) + 1) // _MOST_SIZES)
    start = min(sizes)
    bin_counts: Counter[int] = Counter()
    for size, count in sizes.items():
        bin_counts[start + (size - start) // width * width] += count
    rows = [
        {
            "size": f"{low:,}" if width == 1 else f"{low:,} to {low + width - 1:,}",
            "groups": bin_counts[low],
        }
        for low in range(start, max(bin_counts) + 1, width)
    ]
    return (
        alt.Chart(theme.data_of(rows), width=max(130, 22 * len(rows)), height=180)
        .mark_bar()
        .encode(
            x=alt.X(
                "size:N",
                sort=None,
                title="records in the group",
                axis=alt.Axis(labelAngle=0 if width == 1 else -60),
            ),
            y=alt.Y("groups:Q", title="groups", axis=alt.Axis(format=",d", tickMinStep=1)),
            tooltip=[
                alt.Tooltip("size:N", title="records"),
                alt.Tooltip("groups:Q", title="groups", format=",d"),
            ],
        )
    )


def _level_panel(levels: anatomization.Reached, model: anatomization.AlphaBetaGammaDelta) -> Any:
    rows = []
    for name, meaning in _LEVEL_MEANINGS.items():
        level = float(getattr(levels, name))
        bound = float(getattr(model, name))
        if bound >= 1:
            kind = "no promise"
        elif name in model.broken_by(levels):
            kind = "breaks the promise"
        else:
            kind = "holds"
        rows.append(
            {
                "level": f"{meaning} ({name})",
                "reached": level,
                "bound": bound if bound < 1 else None,
                "kind": kind,
            }
        )
    kinds = ["holds", "breaks the promise", "no promise"]
    present_kinds = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
    colours = dict(zip(kinds, (theme.HOLDS, theme.WARNING, theme.BEFORE), strict=True))
    base = alt.Chart(theme.data_of(rows), width=240, height=alt.Step(34)).encode(
        y=alt.Y("level:N", sort=None, title=None),
        tooltip=[
            alt.Tooltip("level:N", title="what is guessed"),
            alt.Tooltip("reached:Q", title="reached", format=".4f"),
            alt.Tooltip("bound:Q", title="promised", format=".4f"),
        ],
    )
    bars = base.mark_bar(size=12).encode(
        x=alt.X("reached:Q", title="probability", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=present_kinds, range=[colours[kind] for kind in present_kinds]),
        ),
    )
    return alt.layer(
        bars, base.mark_tick(color=theme.INK, thickness=2, size=22).encode(x="bound:Q")
    )


# --- utility --------------------------------------------------------------------------------------
@theme.chart_function
def what_is_left(result: Utility) -> Any:
    """Draw the distance of each column from the original's distribution.

    A second panel shows the associations that changed most.

    Args:
        result: output of `dv.utility`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
        >>> coarse = people.set_column(0, "age", [["[20, 30)", "[20, 30)", "*", "*"]])
        >>> chart = dv.charts.what_is_left(dv.utility(people, coarse))
    """
    columns_by_distance = sorted(result.columns, key=lambda column: -column.distance)[:_MOST_SIZES]
    rows = [
        {"what": label, "value": column_utility.distance}
        for label, column_utility in zip(
            theme.unique_labels(column_utility.column for column_utility in columns_by_distance),
            columns_by_distance,
            strict=True,
        )
    ]
    panels = [
        _utility_bars(
            rows,
            "distance from the original (0: the same, 1: nothing in common)",
            alt.value(theme.ACCENT),
        )
    ]
    pairs = sorted(
        result.associations,
        key=lambda pair: -abs(_cramers_v(pair.true) - _cramers_v(pair.reconstructed)),
    )[:_MOST_PAIRS]
    if pairs:
        names = theme.unique_labels(
            (f"{theme.readable(pair.left)} + {theme.readable(pair.right)}" for pair in pairs),
            max_length=46,
        )
        association_rows = [
            {"what": name, "value": _cramers_v(coefficients), "when": period}
            for name, pair in zip(names, pairs, strict=True)
            for period, coefficients in (("original", pair.true), ("release", pair.reconstructed))
        ]
        scale = alt.Scale(domain=["original", "release"], range=[theme.BEFORE, theme.ACCENT])
        panels.append(
            _utility_bars(
                association_rows,
                "association (Cramer's V)",
                alt.Color("when:N", title=None, scale=scale),
            )
        )
    rows_text = theme.count_phrase(result.rows, "row", "rows")
    return theme.finished(
        alt.vconcat(*panels, spacing=26),
        "What is left of the data",
        f"{result.published:,} of {rows_text} are in the release.",
        theme.omission_sentence(
            len(columns_by_distance), len(result.columns), "columns", "that are furthest"
        ),
        theme.omission_sentence(
            len(pairs),
            len(result.associations),
            "pairs of columns",
            "whose association changed most",
        ),
    )


def _cramers_v(coefficients: anatomization.Coefficients) -> float:
    return math.sqrt(coefficients.phi2)


def _utility_bars(rows: list[dict[str, Any]], title: str, colour: Any) -> Any:
    if "when" in rows[0]:
        offset_encoding = {"yOffset": alt.YOffset("when:N")}
    else:
        offset_encoding = {}
    return (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(20))
        .mark_bar(size=11)
        .encode(
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=0)),
            x=alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=[
                alt.Tooltip("what:N", title="of"),
                alt.Tooltip("value:Q", title="value", format=".4f"),
            ],
            **offset_encoding,
        )
    )


# --- side by side ---------------------------------------------------------------------------------
@theme.chart_function
def compared(result: comparing.TableComparison) -> Any:
    """Draw tables and releases side by side.

    Panels show the risks that policies bound most often, and how many people are better or worse
    off.

    Args:
        result: output of `dv.compare`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> chart = dv.charts.compared(
        ...     dv.compare(people, policies=[{"k_anonymity": 2}], quasi_identifiers="zip")
        ... )
    """
    tables = [compared_table for compared_table in result if compared_table.measurement is not None]
    names = dict(
        zip(
            (compared_table.name for compared_table in tables),
            theme.unique_labels((compared_table.name for compared_table in tables), max_length=30),
            strict=True,
        )
    )
    risks = _risks_to_compare(result.reference)
    panels = [
        _risk_panel(tables, names, *key, labels=index % _PANELS_PER_ROW == 0)
        for index, key in enumerate(risks)
    ]
    rows = [
        panels[start : start + _PANELS_PER_ROW] for start in range(0, len(panels), _PANELS_PER_ROW)
    ]
    panel_rows: list[Any] = [alt.hconcat(*row, spacing=18) for row in rows]
    if change_rows := _people_change_rows(result, names):
        panel_rows.append(_people_change_panel(change_rows))
    return theme.finished(
        alt.vconcat(*panel_rows, spacing=26).resolve_scale(color="independent"),
        f"What each tells, beside {theme.readable(result.reference.name, 30)}",
        "Each panel has its own scale; its title says which end tells more. Grey: the reference.",
        "Below: the people of the reference by their class there and here." if change_rows else "",
    )


def _risks_to_compare(reference: comparing.ComparedTable) -> list[tuple[str | None, str]]:
    """Select at most `_MOST_PANELS` risks of identity and of the sensitive columns.

    Leading metrics come first, then those that policies bound most often.
    """
    risks = [
        (key, score.metric)
        for key, score in reference.numbers.items()
        if score.metric.kind == "risk"
    ]
    order = sorted(
        (key for key in risks if key[1].leads or key[1].common),
        key=lambda item: (not item[1].leads, item[1].common),
    )
    return [key for key, _ in order][:_MOST_PANELS]


def _risk_panel(
    tables: Sequence[comparing.ComparedTable],
    names: Mapping[str, str],
    attribute: str | None,
    name: str,
    *,
    labels: bool = False,
) -> Any:
    rows = [
        {
            "table": names[compared_table.name],
            "value": score.value if math.isfinite(score.value) else None,
            "told": f"{score.number:,.4g}",
            "kind": "reference" if compared_table is tables[0] else "other",
        }
        for compared_table in tables
        if (score := compared_table.numbers.get((attribute, name))) is not None
    ]
    order = list(names.values())
    if labels:
        axis = alt.Axis(labelLimit=0)
    else:
        axis = None
    base = alt.Chart(theme.data_of(rows), width=170, height=alt.Step(26)).encode(
        y=alt.Y("table:N", sort=order, title=None, axis=axis, scale=alt.Scale(domain=order)),
        x=alt.X(
            "value:Q",
            title=_metric_title(name, attribute).replace(" (", "\n(").split("\n"),
            scale=alt.Scale(zero=True),
        ),
        tooltip=[
            alt.Tooltip("table:N", title="table"),
            alt.Tooltip("told:N", title=name.replace("_", " ")),
        ],
    )
    colour = alt.Color(
        "kind:N",
        legend=None,
        scale=alt.Scale(domain=["reference", "other"], range=[theme.BEFORE, theme.ACCENT]),
    )
    text = base.mark_text(align="left", dx=4, color=theme.INK).encode(text="told:N")
    return alt.layer(base.mark_bar(size=14).encode(color=colour), text)


def _people_change_rows(
    comparison: comparing.TableComparison, names: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            "what": f"{names[other.name]}: {move.metric.name.replace('_', ' ')}"
            + (f" of {theme.readable(move.attribute, 30)}" if move.attribute else ""),
            "how": change_label,
            "place": order,
            "people": people,
            "share": people / move.people,
        }
        for other in comparison.others
        for move in other.moved
        if move.metric.leads
        for order, (change_label, people) in enumerate(
            zip(_CHANGE_LABELS, (move.better, move.same, move.worse, move.not_found), strict=True)
        )
        if people
    ]


def _people_change_panel(rows: list[dict[str, Any]]) -> Any:
    colours = (theme.ACCENT, theme.BEFORE, theme.WARNING, theme.INK)
    present_moves = [
        change_label
        for change_label in _CHANGE_LABELS
        if any(row["how"] == change_label for row in rows)
    ]
    scale = alt.Scale(
        domain=present_moves,
        range=[colours[_CHANGE_LABELS.index(change_label)] for change_label in present_moves],
    )
    return (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(26))
        .mark_bar(size=14)
        .encode(
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=0)),
            x=alt.X(
                "share:Q",
                title="share of the people",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color("how:N", title="their class tells", scale=scale),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("what:N", title="by"),
                alt.Tooltip("how:N", title="their class tells"),
                alt.Tooltip("people:Q", title="people", format=",d"),
                alt.Tooltip("share:Q", title="share", format=".1%"),
            ],
        )
    )


@results.chart_of.register
def _release_chart(release: releases.GeneralizedRelease, **options: Any) -> Any:
    if release.after.beliefs:
        return leakages(release.verdict, **options)
    return class_sizes(release.after, before=release.before, **options)


results.chart_of.register(generalization.Front)(front)
results.chart_of.register(comparing.TableComparison)(compared)
results.chart_of.register(Utility)(what_is_left)
results.chart_of.register(AnatomizedRelease)(groups)
results.chart_of.register(ReleaseCheck)(groups)


# --- joint disclosure risk ------------------------------------------------------------------------
_MOST_HORIZONTAL_CHARACTERS = 36
"""Largest total length of all names that fit horizontally into a panel, in characters."""
_LOG_SCALE_RATIO = 20


@theme.chart_function
def after_each_release(result: composition.Composition) -> Any:
    """Draw the risk after each release: of each one alone, and joint with all before it.

    Args:
        result: output of `dv.compose` with the original table (`truth`)

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table({"age": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"]})
        >>> chart = dv.charts.after_each_release(
        ...     dv.compose([truth.select(["age"]), truth.select(["sex"])], truth=truth)
        ... )
    """
    if result.together is None:
        raise BadInput(
            "risk after each release is measured on the truth", hint="Give truth= to compose"
        )
    names = theme.unique_labels(
        (
            f"{number} {PurePath(release.name).name}"
            for number, release in enumerate(result.releases, start=1)
        ),
        max_length=24,
    )
    panels = [
        _joint_risk_panel(result, attribute, name, names)
        for attribute, name in _joint_risks(result)
    ]
    rows = [
        panels[start : start + _PANELS_PER_ROW] for start in range(0, len(panels), _PANELS_PER_ROW)
    ]
    return theme.finished(
        alt.vconcat(*(alt.hconcat(*row, spacing=58, bounds="flush") for row in rows), spacing=26),
        "Risk after each release",
        "Each panel has its own scale, and says which end is worse. Line: all releases so far. "
        "Grey points: each release alone.",
    )


def _joint_risks(result: composition.Composition) -> list[tuple[str | None, str]]:
    """Select at most `_MOST_PANELS` risks: those bound most often, then other leading metrics."""
    last = result.measurement
    if last is None:
        return []
    scores = [(None, last.identity), *last.sensitive.items()]
    risks = [
        ((attribute, name), score.metric)
        for attribute, metric_scores in scores
        for name, score in metric_scores.items()
        if score.metric.kind == "risk" and (score.metric.leads or score.metric.common)
    ]
    risks.sort(key=lambda item: item[1].common or math.inf)
    return [key for key, _ in risks][:_MOST_PANELS]


def _joint_risk_panel(
    result: composition.Composition, attribute: str | None, name: str, names: list[str]
) -> Any:
    rows = []
    metric = None
    for label, release in zip(names, result.releases, strict=True):
        for scope, measurement in (("alone", release.alone), ("so far", release.so_far)):
            if measurement is None:
                continue
            score = (
                measurement.identity if attribute is None else measurement.sensitive[attribute]
            )[name]
            metric = score.metric
            rows.append(
                {"release": label, "told": scope, "value": results.plain(float(score.value))}
            )
    finite_rows = [row for row in rows if isinstance(row["value"], float)]
    has_log_scale = _needs_log_scale([row["value"] for row in finite_rows])
    if metric is None:
        direction_note = ""
    else:
        direction_note = f"{metric.worse} is worse{', logarithmic' if has_log_scale else ''}"
    title = f"{name.replace('_', ' ')}{'' if attribute is None else f', {attribute}'}"
    is_horizontal = len(names) * max(map(len, names)) <= _MOST_HORIZONTAL_CHARACTERS
    log_ticks = [10.0**power for power in range(16)]
    if has_log_scale:
        scale = alt.Scale(type="log", domainMin=1)
    else:
        scale = alt.Scale(zero=True)
    base = alt.Chart(theme.data_of(finite_rows)).encode(
        x=alt.X(
            "release:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=0 if is_horizontal else -20),
        ),
        y=alt.Y(
            "value:Q",
            title=None,
            scale=scale,
            axis=alt.Axis(values=log_ticks) if has_log_scale else alt.Axis(),
        ),
        tooltip=[
            "release:N",
            alt.Tooltip("told:N", title="told by"),
            alt.Tooltip("value:Q", format=".4f"),
        ],
    )
    line = base.transform_filter("datum.told == 'so far'").mark_line(point=True, color=theme.ACCENT)
    points = base.transform_filter("datum.told == 'alone'").mark_point(
        filled=True, size=55, color="#8a8f98"
    )
    panel_title = alt.TitleParams(
        text=title, subtitle=direction_note, fontSize=11.5, subtitleFontSize=11
    )
    return (line + points).properties(width=210, height=130, title=panel_title)


def _needs_log_scale(values: list[float]) -> bool:
    """Return whether counts differ so much that a linear axis would hide the small ones."""
    return bool(values) and min(values) >= 1 and max(values) > _LOG_SCALE_RATIO * min(values)


results.chart_of.register(composition.Composition)(after_each_release)
