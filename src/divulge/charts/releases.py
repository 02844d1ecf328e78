# SPDX-License-Identifier: Apache-2.0
"""Pictures of releases: what coarser tables cost and what they tell, alone and together, and the groups of anatomized ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import altair as alt

from divulge import anatomy, composition, metrics, publish, results, search
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.api.utility import Utility
from divulge.charts import theme
from divulge.charts.classes import class_sizes, leakages
from divulge.errors import BadInput

_MOST_POINTS = 3_000
_MOST_SIZES = 24
_MOST_PANELS, _IN_A_ROW = 6, 3
_MOST_PAIRS = 10
_MOVES = ("less than before", "the same", "more than before", "no class here")
_LEVELS = {
    "alpha": "whose record it is",
    "beta": "a sensitive value",
    "gamma": "a whole record",
    "delta": "shift of belief",
}


@theme.drawn
def front(found: search.Front, *, bound: float | None = None, chosen: Mapping[str, int] | None = None) -> Any:
    """What each combination of levels loses against what it tells; the line joins those that none beats in both.

    Of several metrics the first two are the axes, and colour is what is lost.

    Args:
        found: what `dv.tradeoff` gave
        bound: what is promised of the metric: a dashed line
        chosen: the levels of a release, which are marked by a ring

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> chart = dv.charts.front(dv.tradeoff(people, "k_anonymity", quasi_identifiers="zip"))
    """
    if found.further:
        return _two_leakages(found)
    points = [point for point in found.points if math.isfinite(point.leakage) and math.isfinite(point.value)]
    behind = [point for point in points if not point.on_front]
    step = -(-max(len(behind), 1) // _MOST_POINTS)
    shown = [*(point for point in points if point.on_front), *behind[::step]]
    rows = [
        {
            "x": point.leakage,
            "y": point.value,
            "levels": _levels(point),
            "left": point.suppressed,
            "classes": point.classes,
            "kind": "front" if point.on_front else "beaten",
            "chosen": chosen is not None and dict(point.levels) == dict(chosen),
        }
        for point in sorted(shown, key=lambda point: point.leakage)
    ]
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=alt.X("x:Q", title=_in_words(found.metric, found.attribute), scale=alt.Scale(zero=False, nice=True)),
        y=alt.Y("y:Q", title=_lost(found), scale=alt.Scale(zero=True)),
        tooltip=[
            alt.Tooltip("levels:N", title="levels"),
            alt.Tooltip("x:Q", title=found.metric.replace("_", " "), format=".4~f"),
            alt.Tooltip("y:Q", title=found.objective.replace("_", " "), format=".4~f"),
            alt.Tooltip("left:Q", title="people left out", format=",d"),
            alt.Tooltip("classes:Q", title="classes", format=",d"),
        ],
    )
    beaten = base.transform_filter("datum.kind == 'beaten'").mark_point(
        filled=True, color=theme.BEFORE, opacity=0.7, size=28
    )
    on_front = base.transform_filter("datum.kind == 'front'").mark_line(
        color=theme.ACCENT, interpolate="step-after", point=alt.OverlayMarkDef(color=theme.ACCENT, filled=True, size=60)
    )
    layers = [beaten, on_front]
    if chosen is not None:
        ring: dict[str, Any] = {"filled": False, "color": theme.WARNING, "size": 260, "strokeWidth": 2.5, "opacity": 1}
        layers.append(base.transform_filter("datum.chosen").mark_point(**ring))
    if bound is not None:
        promised = alt.Chart(theme.data_of([{"x": bound}])).mark_rule(strokeDash=[4, 4], color=theme.INK)
        layers.append(promised.encode(x="x:Q"))
    lost = len(found.points) - len(points)
    return theme.finished(
        alt.layer(*layers),
        "What is lost, and what is told",
        "Each mark is one choice of levels; the line joins those that no other beats in both.",
        "The ring is what would be published." if chosen is not None else "",
        "The dashed line is what is promised." if bound is not None else "",
        theme.shown_of(len(rows), len(points), "choices", "on the line, and some of the others"),
        f"{lost:,} choices have no finite number and are not shown." if lost else "",
    )


def _levels(point: Any) -> str:
    return ", ".join(f"{theme.readable(name)} {level}" for name, level in point.levels.items())


def _in_words(name: str, attribute: str | None) -> str:
    metric = metrics.find_metric(name)
    about = f" of {theme.readable(attribute, 30)}" if attribute else ""
    unit = f", {metric.unit}" if metric.unit else ""
    return f"{name.replace('_', ' ')}{about}{unit} ({'higher' if metric.worse == 'high' else 'lower'} tells more)"


def _lost(found: search.Front) -> str:
    return f"{found.objective.replace('_', ' ')} (what is lost)"


def _two_leakages(found: search.Front) -> Any:
    """The first two metrics as axes."""
    names = (found.metric, found.further[0])
    points = [
        point for point in found.points if all(map(math.isfinite, (point.leakage, point.further[0], point.value)))
    ]
    shown = sorted(points, key=lambda point: not point.on_front)[:_MOST_POINTS]
    kinds = ["beaten by none", "beaten"]
    rows = [
        {
            "x": point.leakage, "y": point.further[0], "lost": point.value, "levels": _levels(point),
            "kind": kinds[0] if point.on_front else kinds[1],
        }
        for point in reversed(shown)
    ]  # fmt: skip
    titles = [name.replace("_", " ") for name in names]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_point(filled=True, opacity=0.85, stroke=theme.INK, strokeWidth=0.4)
        .encode(
            x=alt.X("x:Q", title=_in_words(names[0], found.attribute), scale=alt.Scale(zero=False, nice=True)),
            y=alt.Y("y:Q", title=_in_words(names[1], found.attribute), scale=alt.Scale(zero=False, nice=True)),
            color=alt.Color("lost:Q", title=_lost(found), scale=alt.Scale(range=["#d8e6ea", theme.ACCENT])),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=["diamond", "circle"])),
            size=alt.Size("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=[110, 40])),
            tooltip=[
                alt.Tooltip("levels:N", title="levels"),
                alt.Tooltip("x:Q", title=titles[0], format=".4~f"),
                alt.Tooltip("y:Q", title=titles[1], format=".4~f"),
                alt.Tooltip("lost:Q", title=found.objective.replace("_", " "), format=".4~f"),
            ],
        )
    )
    others = ", ".join(name.replace("_", " ") for name in found.further[1:])
    return theme.finished(
        chart,
        "What is told by two measures, and what is lost",
        "Each mark is one choice of levels; the darker, the more is lost.",
        "Diamonds: no other choice is as good in every number and better in one.",
        theme.shown_of(len(rows), len(found.points), "choices", "that none beats, and some of the others"),
        f"Not shown, and counted all the same: {others}." if others else "",
    )


# --- anatomized -------------------------------------------------------------------------------------------------------
@theme.drawn
def groups(found: AnatomizedRelease | ReleaseCheck) -> Any:
    """The groups of an anatomized release: how many there are of each size, and what they let somebody guess, against what is promised.

    Where rows stayed on disk or on a cluster, or only the published tables are at hand, sizes are told as a range.

    Args:
        found: what `dv.anatomize` or `dv.check_anatomized` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]})
        >>> chart = dv.charts.groups(dv.anatomize(people, sensitive="salary", beta="1/2"))
    """
    if isinstance(found, AnatomizedRelease):
        summary, whole = found.summary, found.groups.only
        count, smallest, largest = summary.groups, summary.smallest, summary.largest
        sizes = None if whole is None else Counter(whole.sizes.tolist())
    else:
        count, smallest, largest, sizes = found.groups, found.smallest, found.largest, None
    panels = [_reached(found.levels, found.model)]
    if sizes:
        panels.insert(0, _sizes(sizes))
    told = f"{theme.counted(count, 'group', 'groups')} of {smallest:,} to {largest:,} records."
    return theme.finished(
        alt.hconcat(*panels, spacing=40),
        "What the groups hide",
        f"{told} Bars: the most that a group lets somebody guess, or believe more than before; the black mark: what is promised.",
    )


def _sizes(sizes: Counter[int]) -> Any:
    width = -(-(max(sizes) - min(sizes) + 1) // _MOST_SIZES)
    start = min(sizes)
    found: Counter[int] = Counter()
    for size, count in sizes.items():
        found[start + (size - start) // width * width] += count
    rows = [
        {"size": f"{low:,}" if width == 1 else f"{low:,} to {low + width - 1:,}", "groups": found[low]}
        for low in range(start, max(found) + 1, width)
    ]
    return (
        alt.Chart(theme.data_of(rows), width=max(130, 22 * len(rows)), height=180)
        .mark_bar()
        .encode(
            x=alt.X(
                "size:N", sort=None, title="records in the group", axis=alt.Axis(labelAngle=0 if width == 1 else -60)
            ),
            y=alt.Y("groups:Q", title="groups", axis=alt.Axis(format=",d", tickMinStep=1)),
            tooltip=[alt.Tooltip("size:N", title="records"), alt.Tooltip("groups:Q", title="groups", format=",d")],
        )
    )


def _reached(levels: anatomy.Reached, model: anatomy.AlphaBetaGammaDelta) -> Any:
    rows = []
    for name, words in _LEVELS.items():
        level, bound = float(getattr(levels, name)), float(getattr(model, name))
        kind = "no promise" if bound >= 1 else "breaks the promise" if name in model.broken_by(levels) else "holds"
        rows.append(
            {"level": f"{words} ({name})", "reached": level, "bound": bound if bound < 1 else None, "kind": kind}
        )
    kinds = ["holds", "breaks the promise", "no promise"]
    seen = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
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
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=seen, range=[colours[kind] for kind in seen])),
    )
    return alt.layer(bars, base.mark_tick(color=theme.INK, thickness=2, size=22).encode(x="bound:Q"))


# --- what is left -----------------------------------------------------------------------------------------------------
@theme.drawn
def what_is_left(found: Utility) -> Any:
    """How far each column of a release is from the original's distribution, and the associations that changed most.

    Args:
        found: what `dv.utility` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
        >>> coarse = people.set_column(0, "age", [["[20, 30)", "[20, 30)", "*", "*"]])
        >>> chart = dv.charts.what_is_left(dv.utility(people, coarse))
    """
    far = sorted(found.columns, key=lambda each: -each.distance)[:_MOST_SIZES]
    rows = [
        {"what": label, "value": each.distance}
        for label, each in zip(theme.labels_of(each.column for each in far), far, strict=True)
    ]
    panels = [
        _left_bars(rows, "distance from the original (0: the same, 1: nothing in common)", alt.value(theme.ACCENT))
    ]
    pairs = sorted(found.associations, key=lambda pair: -abs(_v(pair.true) - _v(pair.reconstructed)))[:_MOST_PAIRS]
    if pairs:
        names = theme.labels_of(
            (f"{theme.readable(pair.left)} + {theme.readable(pair.right)}" for pair in pairs), most=46
        )
        both = [
            {"what": name, "value": _v(part), "when": when}
            for name, pair in zip(names, pairs, strict=True)
            for when, part in (("original", pair.true), ("release", pair.reconstructed))
        ]
        scale = alt.Scale(domain=["original", "release"], range=[theme.BEFORE, theme.ACCENT])
        panels.append(_left_bars(both, "association (Cramer's V)", alt.Color("when:N", title=None, scale=scale)))
    return theme.finished(
        alt.vconcat(*panels, spacing=26),
        "What is left of the data",
        f"{found.published:,} of {theme.counted(found.rows, 'row', 'rows')} are in the release.",
        theme.shown_of(len(far), len(found.columns), "columns", "that are furthest"),
        theme.shown_of(len(pairs), len(found.associations), "pairs of columns", "whose association changed most"),
    )


def _v(coefficients: anatomy.Coefficients) -> float:
    return math.sqrt(coefficients.phi2)


def _left_bars(rows: list[dict[str, Any]], title: str, colour: Any) -> Any:
    beside = {"yOffset": alt.YOffset("when:N")} if "when" in rows[0] else {}
    return (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(20))
        .mark_bar(size=11)
        .encode(
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=0)),
            x=alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=[alt.Tooltip("what:N", title="of"), alt.Tooltip("value:Q", title="value", format=".4f")],
            **beside,
        )
    )


# --- side by side -----------------------------------------------------------------------------------------------------
@theme.drawn
def compared(found: comparing.TableComparison) -> Any:
    """Tables and releases side by side: what each tells by the risks that are promised most, and how many people are better or worse off.

    Args:
        found: what `dv.compare` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> chart = dv.charts.compared(dv.compare(people, policies=[{"k_anonymity": 2}], quasi_identifiers="zip"))
    """
    shown = [each for each in found if each.measurement is not None]
    names = dict(
        zip((each.name for each in shown), theme.labels_of((each.name for each in shown), most=30), strict=True)
    )
    risks = _promised_most(found.reference)
    panels = [_one_risk(shown, names, *key, labels=place % _IN_A_ROW == 0) for place, key in enumerate(risks)]
    rows = [panels[start : start + _IN_A_ROW] for start in range(0, len(panels), _IN_A_ROW)]
    drawn: list[Any] = [alt.hconcat(*row, spacing=18) for row in rows]
    if moved := _moved_rows(found, names):
        drawn.append(_moved(moved))
    return theme.finished(
        alt.vconcat(*drawn, spacing=26).resolve_scale(color="independent"),
        f"What each tells, beside {theme.readable(found.reference.name, 30)}",
        "Each panel has its own scale; its title says which end tells more. Grey: the reference.",
        "Below: the people of the reference by their class there and here." if moved else "",
    )


def _promised_most(reference: comparing.ComparedTable) -> list[tuple[str | None, str]]:
    """The risks to draw: those that lead, then those that are promised most, of identity and of the first sensitive columns."""
    risks = [(key, score.metric) for key, score in reference.numbers.items() if score.metric.kind == "risk"]
    order = sorted(
        (key for key in risks if key[1].leads or key[1].common), key=lambda item: (not item[1].leads, item[1].common)
    )
    return [key for key, _ in order][:_MOST_PANELS]


def _one_risk(
    shown: Sequence[comparing.ComparedTable],
    names: Mapping[str, str],
    attribute: str | None,
    name: str,
    *,
    labels: bool = False,
) -> Any:
    rows = [
        {
            "table": names[each.name],
            "value": score.value if math.isfinite(score.value) else None,
            "told": f"{score.number:,.4g}",
            "kind": "reference" if each is shown[0] else "other",
        }
        for each in shown
        if (score := each.numbers.get((attribute, name))) is not None
    ]
    order = list(names.values())
    axis = alt.Axis(labelLimit=0) if labels else None
    base = alt.Chart(theme.data_of(rows), width=170, height=alt.Step(26)).encode(
        y=alt.Y("table:N", sort=order, title=None, axis=axis, scale=alt.Scale(domain=order)),
        x=alt.X(
            "value:Q", title=_in_words(name, attribute).replace(" (", "\n(").split("\n"), scale=alt.Scale(zero=True)
        ),
        tooltip=[alt.Tooltip("table:N", title="table"), alt.Tooltip("told:N", title=name.replace("_", " "))],
    )
    colour = alt.Color(
        "kind:N", legend=None, scale=alt.Scale(domain=["reference", "other"], range=[theme.BEFORE, theme.ACCENT])
    )
    text = base.mark_text(align="left", dx=4, color=theme.INK).encode(text="told:N")
    return alt.layer(base.mark_bar(size=14).encode(color=colour), text)


def _moved_rows(found: comparing.TableComparison, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "what": f"{names[other.name]}: {move.metric.name.replace('_', ' ')}"
            + (f" of {theme.readable(move.attribute, 30)}" if move.attribute else ""),
            "how": how,
            "place": place,
            "people": people,
            "share": people / move.people,
        }
        for other in found.others
        for move in other.moved
        if move.metric.leads
        for place, (how, people) in enumerate(
            zip(_MOVES, (move.better, move.same, move.worse, move.not_found), strict=True)
        )
        if people
    ]


def _moved(rows: list[dict[str, Any]]) -> Any:
    colours = (theme.ACCENT, theme.BEFORE, theme.WARNING, theme.INK)
    seen = [how for how in _MOVES if any(row["how"] == how for row in rows)]
    scale = alt.Scale(domain=seen, range=[colours[_MOVES.index(how)] for how in seen])
    return (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(26))
        .mark_bar(size=14)
        .encode(
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=0)),
            x=alt.X("share:Q", title="share of the people", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
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
def _of_release(found: publish.GeneralizedRelease, **options: Any) -> Any:
    if found.after.beliefs:
        return leakages(found.verdict, **options)
    return class_sizes(found.after, before=found.before, **options)


results.chart_of.register(search.Front)(front)
results.chart_of.register(comparing.TableComparison)(compared)
results.chart_of.register(Utility)(what_is_left)
results.chart_of.register(AnatomizedRelease)(groups)
results.chart_of.register(ReleaseCheck)(groups)


# --- together ---------------------------------------------------------------------------------------------------------
_ACROSS = 36
"""Letters of all names together that a panel has room for side by side."""
_FAR_APART = 20


@theme.drawn
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
    names = theme.labels_of(
        (f"{at} {PurePath(one.name).name}" for at, one in enumerate(found.releases, start=1)), most=24
    )
    panels = [_panel(found, attribute, name, names) for attribute, name in _risks(found)]
    rows = [panels[start : start + _IN_A_ROW] for start in range(0, len(panels), _IN_A_ROW)]
    return theme.finished(
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
    base = alt.Chart(theme.data_of(drawn)).encode(
        x=alt.X("release:N", sort=names, title=None, axis=alt.Axis(labelAngle=0 if level else -20)),
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(values=powers) if wide else alt.Axis()),
        tooltip=["release:N", alt.Tooltip("told:N", title="told by"), alt.Tooltip("value:Q", format=".4f")],
    )
    line = base.transform_filter("datum.told == 'so far'").mark_line(point=True, color=theme.ACCENT)
    points = base.transform_filter("datum.told == 'alone'").mark_point(filled=True, size=55, color="#8a8f98")
    above = alt.TitleParams(text=title, subtitle=worse, fontSize=11.5, subtitleFontSize=11)
    return (line + points).properties(width=210, height=130, title=above)


def _is_wide(values: list[float]) -> bool:
    """Whether counts are so far apart that the small ones, which matter, would all lie on the axis."""
    return bool(values) and min(values) >= 1 and max(values) > _FAR_APART * min(values)


results.chart_of.register(composition.Composition)(after_each_release)
