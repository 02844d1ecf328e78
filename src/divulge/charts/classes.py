# SPDX-License-Identifier: Apache-2.0
"""Pictures of classes: what each gives away, one of them before and after, and how many people they have (Afifi et al. 2018, Figs. 2-4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from divulge import metrics, results, values
from divulge.charts import theme
from divulge.errors import BadInput, nearest
from divulge.metrics import Measurement
from divulge.policy import Verdict

_MOST_CLASSES = 2_000
"""Marks in one picture; more make a file that is slow to open and shows no more."""
_MOST_BARS = 20
"""Classes in one picture of bars."""
_MOST_VALUES = 16
"""Bars of one class; those that change least stand together as one."""


@theme.drawn
def leakages(found: Measurement | Verdict, attribute: str | None = None) -> Any:
    """Each class by its two leakages (Afifi et al. 2018, Figs. 2a and 3a in one): what one of them misses, the other shows.

    Of a verdict, dashed lines are its promises about them, and classes beyond a line are marked.

    Args:
        found: what `dv.measure` or `dv.check` gave
        attribute: one of several sensitive attributes; by default the one whose distribution leaks most

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.leakages(measured)
    """
    measurement, verdict = (found.measurement, found) if isinstance(found, Verdict) else (found, None)
    attribute = _attribute(measurement, attribute)
    belief = measurement.beliefs[attribute]
    people = measurement.contingency.sizes[belief.classes]
    distribution, entropy = metrics.distribution_leakage(belief), metrics.entropy_leakage(belief)
    bounds = [] if verdict is None else list(_bounds(verdict, attribute))
    beyond = np.zeros(len(people), dtype=bool)
    for along, bound in bounds:
        beyond |= (distribution if along == "x" else entropy) > bound + metrics.TOLERANCE
    order = np.lexsort((-people, -(distribution + entropy)))[:_MOST_CLASSES]
    rows = [
        {
            "class": theme.readable(values.class_name(measurement.contingency.class_key(int(belief.classes[at])))),
            "x": float(distribution[at]),
            "y": float(entropy[at]),
            "people": int(people[at]),
            "mark": "beyond a dashed line" if beyond[at] else "within the dashed lines",
        }
        for at in order.tolist()
    ]
    sentence = "Each mark is a class of people who look alike; the further from the corner, the more it gives away."
    dashed = "Dashed: what is promised." if bounds else ""
    return theme.finished(
        _marks(rows, bounds),
        f"What each class tells about {theme.readable(attribute, 40)}",
        f"{sentence} {dashed}",
        _which(len(rows), measurement),
    )


def _which(shown: int, measurement: Measurement) -> str:
    """What is left out, also where the classes stayed with the engine."""
    return theme.shown_of(shown, measurement.class_count, "classes", "that give away most")


def _attribute(measurement: Measurement, asked: str | None) -> str:
    """The attribute that was asked for, or the one that leaks most."""
    if not measurement.beliefs:
        raise BadInput(
            "no sensitive attribute was measured, so there is nothing a class could give away", hint="name one"
        )
    if asked is None:
        return max(
            measurement.beliefs, key=lambda name: float(metrics.distribution_leakage(measurement.beliefs[name]).max())
        )
    if asked not in measurement.beliefs:
        raise BadInput(f"{asked!r} is not a sensitive attribute here", hint=nearest(asked, measurement.beliefs))
    return asked


def _bounds(verdict: Verdict, attribute: str) -> Iterator[tuple[str, float]]:
    """The promises of the two leakages for everybody: along which axis, and where."""
    axes = {metrics.distribution_leakage: "x", metrics.entropy_leakage: "y"}
    for outcome in verdict.outcomes:
        along = axes.get(outcome.promise.metric.per_class)  # type: ignore[arg-type]
        if along and outcome.attribute == attribute and not outcome.protects and not outcome.linked:
            yield along, float(outcome.promise.bound)


def _marks(rows: list[dict[str, Any]], bounds: list[tuple[str, float]]) -> Any:
    far = {
        along: max([row[along] for row in rows] + [bound for axis, bound in bounds if axis == along] + [0.001])
        for along in "xy"
    }
    axes = {
        "x": alt.X(
            "x:Q",
            title="change of the distribution (distribution leakage)",
            scale=alt.Scale(domain=[0, far["x"] * 1.05]),
        ),
        "y": alt.Y(
            "y:Q", title="change of uncertainty in bits (entropy leakage)", scale=alt.Scale(domain=[0, far["y"] * 1.05])
        ),
    }
    kinds = ["within the dashed lines", "beyond a dashed line"]
    colour: Any = alt.value(theme.ACCENT)
    shape: Any = alt.value("circle")
    if bounds:
        colour = alt.Color("mark:N", title=None, scale=alt.Scale(domain=kinds, range=[theme.ACCENT, theme.WARNING]))
        shape = alt.Shape("mark:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"]))
    most = max([row["people"] for row in rows], default=1)
    marks = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_point(filled=True, opacity=0.7, stroke="white", strokeWidth=0.5)
        .encode(
            **axes,
            size=alt.Size(
                "people:Q",
                title="people",
                scale=alt.Scale(type="sqrt", domain=[0, most], range=[12, 420]),
                legend=alt.Legend(values=_round_sizes(most)),
            ),
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("class:N", title="class"),
                alt.Tooltip("people:Q", title="people", format=",d"),
                alt.Tooltip("x:Q", title="change of the distribution", format=".3f"),
                alt.Tooltip("y:Q", title="change of uncertainty, bits", format=".3f"),
            ],
        )
    )
    lines = [
        alt.Chart(theme.data_of([{"at": bound}]))
        .mark_rule(color=theme.INK, strokeDash=[5, 4])
        .encode(**{along: _at(along)})
        for along, bound in bounds
    ]
    return alt.layer(marks, *lines)


def _round_sizes(most: int) -> list[int]:
    """Three sizes for a legend: 1, 10, 100 for up to 300 people."""
    found = [low for low, _ in _bins(most)]
    return sorted({found[0], found[len(found) // 2], found[-1]})


def _at(along: str) -> Any:
    return alt.X("at:Q") if along == "x" else alt.Y("at:Q")


@theme.drawn
def information(
    found: Measurement, attribute: str | None = None, *, t: float | None = None, l_value: float | None = None
) -> Any:
    """What each class tells in bits, by both of Bezzi's measures, against the average and against bounds (Bezzi 2010, Figs. 1 to 4).

    I1 is how far the class is from what was expected, which t bounds; I2 how much less uncertain it is, which l bounds.

    Args:
        found: what `dv.measure` gave
        attribute: one of several sensitive attributes; by default the one whose distribution leaks most
        t: a bound for I1, in bits
        l_value: an entropy l; a class may take H - log2 l bits by I2

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.information(measured, t=0.5, l_value=1.5)
    """
    if (t is not None and t < 0) or (l_value is not None and l_value < 1):
        raise BadInput("t must be a number of at least 0, and l_value of at least 1")
    attribute = _attribute(found, attribute)
    belief = found.beliefs[attribute]
    surprise, specific = belief.surprise, metrics.specific_information(belief)
    finite = np.flatnonzero(np.isfinite(surprise))
    order = finite[np.argsort(-surprise[finite], kind="stable")][:_MOST_BARS]
    keys = [found.contingency.class_key(int(belief.classes[at])) for at in order.tolist()]
    labels = theme.labels_of((values.class_name(key) for key in keys), most=44)
    kinds = ["I1, surprise", "I2, fall of uncertainty"]
    rows = [
        {"class": label, "bits": float(numbers[at]), "kind": kind}
        for label, at in zip(labels, order.tolist(), strict=True)
        for kind, numbers in zip(kinds, (surprise, specific), strict=True)
    ]
    bars = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y("class:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.3)),
            yOffset=alt.YOffset("kind:N", sort=None, scale=alt.Scale(domain=kinds)),
            x=alt.X("bits:Q", title=f"bits that the class tells about {theme.readable(attribute, 30)}"),
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[theme.ACCENT, theme.SEVERAL[2]])
            ),
            tooltip=[
                alt.Tooltip("class:N", title="class"),
                alt.Tooltip("kind:N", title="measure"),
                alt.Tooltip("bits:Q", title="bits", format=".4f"),
            ],
        )
    )
    infinite = len(surprise) - len(finite)
    return theme.finished(
        alt.layer(bars, _bounds_in_bits(found, attribute, t, l_value)),
        f"How many bits each class tells about {theme.readable(attribute, 40)}",
        theme.shown_of(len(order), found.class_count, "classes", "that surprise most") if not infinite else "",
        f"{infinite:,} classes hold a value that nobody expected: infinitely surprising, and not shown."
        if infinite
        else "",
    )


def _bounds_in_bits(found: Measurement, attribute: str, t: float | None, l_value: float | None) -> Any:
    """Lines for the average, and for t and l where they are asked for."""
    held = metrics.conditions_of(found, attribute, t=t, l_value=l_value)
    bounds: list[dict[str, Any]] = [{"at": held.average_surprise, "line": "average"}]
    bounds += [] if t is None else [{"at": t, "line": f"t = {t:g}"}]
    bounds += (
        [] if l_value is None else [{"at": held.prior_entropy - float(np.log2(l_value)), "line": f"l = {l_value:g}"}]
    )
    lines = [bound["line"] for bound in bounds]
    return (
        alt.Chart(theme.data_of(bounds))
        .mark_rule(color=theme.INK, strokeWidth=1.5)
        .encode(
            x="at:Q",
            strokeDash=alt.StrokeDash(
                "line:N", title=None, scale=alt.Scale(domain=lines, range=[[2, 2], [6, 3], [1, 0]][: len(lines)])
            ),
            tooltip=[alt.Tooltip("line:N", title="line"), alt.Tooltip("at:Q", title="bits", format=".4f")],
        )
    )


@theme.drawn
def before_and_after(found: metrics.OneClass, attribute: str | None = None) -> Any:
    """What is believed of each value of one class, before and after the class is known (Afifi et al. 2018, Figs. 2b and 3b).

    Args:
        found: what `measurement.of_class(...)` gave
        attribute: one of several sensitive attributes; by default the one whose shares change most

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.before_and_after(measured.of_class(zip="1"))
    """
    attribute, shares = found.shares_of(attribute)
    ranked = sorted(shares, key=lambda shift: (-shift.after, -shift.before))
    if len(ranked) > _MOST_VALUES:
        telling = sorted(ranked, key=lambda shift: -max(shift.before, shift.after))[: _MOST_VALUES - 1]
        ranked = [shift for shift in ranked if shift in telling]
    rest = [shift for shift in shares if shift not in ranked]
    bars = list(zip(theme.labels_of(shift.value for shift in ranked), ranked, strict=True))
    if rest:
        together = metrics.Shift(None, sum(each.before for each in rest), sum(each.after for each in rest))
        bars.append((f"{len(rest):,} more values", together))
    kinds = ["before", "in this class"]
    rows = [
        {"value": label, "share": share, "when": when}
        for label, shift in bars
        for when, share in zip(kinds, (shift.before, shift.after), strict=True)
    ]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y("value:N", sort=None, title=theme.readable(attribute, 40), scale=alt.Scale(paddingInner=0.3)),
            yOffset=alt.YOffset("when:N", sort=None, scale=alt.Scale(domain=kinds)),
            x=alt.X("share:Q", title="share of people", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
            color=alt.Color("when:N", title=None, scale=alt.Scale(domain=kinds, range=[theme.BEFORE, theme.WARNING])),
            tooltip=[
                alt.Tooltip("value:N", title="value"),
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
            ],
        )
    )
    gone = sum(shift.after == 0 for shift in shares)
    told = f"{theme.counted(found.size, 'person', 'people')}; {gone:,} of {len(shares):,} values can be ruled out."
    return theme.finished(chart, theme.readable(found.name, 120), told)


@theme.drawn
def class_sizes(found: Measurement, before: Measurement | None = None) -> Any:
    """How many people share their class with so many others: the smaller the class, the fewer they hide among.

    Args:
        found: what `dv.measure` gave
        before: the same people before they were made to look alike, in grey beside it

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> chart = dv.charts.class_sizes(dv.measure(people, quasi_identifiers="zip"))
    """
    shown = {"before": before, "published": found} if before is not None else {"now": found}
    most = max((int(each.contingency.sizes.max(initial=0)) for each in shown.values()), default=0)
    if not most:
        raise BadInput("the table has no rows, so it has no classes")
    rows = []
    for low, high in _bins(most):
        label = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        for when, each in shown.items():
            inside = each.contingency.sizes[(each.contingency.sizes >= low) & (each.contingency.sizes <= high)]
            rows.append({"size": label, "when": when, "people": int(inside.sum()), "classes": len(inside)})
    colours = {"now": theme.ACCENT, "before": theme.BEFORE, "published": theme.ACCENT}
    legend = alt.Legend() if before is not None else None
    colour = alt.Color(
        "when:N",
        title=None,
        legend=legend,
        scale=alt.Scale(domain=list(shown), range=[colours[when] for when in shown]),
    )
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=None, title="people in the class", axis=alt.Axis(labelAngle=-40)),
            xOffset=alt.XOffset("when:N", sort=None, scale=alt.Scale(domain=list(shown))),
            y=alt.Y("people:Q", title="people in classes of that size", axis=alt.Axis(format=",d", tickMinStep=1)),
            color=colour,
            tooltip=[
                alt.Tooltip("size:N", title="people in the class"),
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("classes:Q", title="classes", format=",d"),
                alt.Tooltip("people:Q", title="people in them", format=",d"),
            ],
        )
    )
    sizes = found.contingency.sizes
    alone = int((sizes == 1).sum())
    everybody, alike = (
        theme.counted(int(sizes.sum()), "person", "people"),
        theme.counted(len(sizes), "class", "classes"),
    )
    told = f"{everybody} in {alike}, {alone:,} alone in theirs."
    return theme.finished(chart, "How many people look alike", told, _which(len(sizes), found))


@theme.drawn
def independence(found: metrics.Independence) -> Any:
    """How far the metrics order the classes alike: Spearman's correlation between the different orders, as numbers on colours.

    Args:
        found: what `measurement.independence(...)` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "1", "2", "2", "3"], "disease": ["flu", "cold", "flu", "flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.independence(measured.independence())
    """
    if not found.orders:
        raise BadInput("every metric is the same in all classes, so none orders them")
    labels = {
        order.name: f"{order.name} (+{len(order.metrics) - 1})" if len(order.metrics) > 1 else order.name
        for order in found.orders
    }
    rows = [
        {"one": labels[one], "other": labels[other], "correlation": found.between(one, other)}
        for one in labels
        for other in labels
    ]
    axis: dict[str, Any] = {"sort": list(labels.values()), "title": None}
    base = alt.Chart(theme.data_of(rows), width=alt.Step(34), height=alt.Step(24)).encode(
        x=alt.X("other:N", axis=alt.Axis(labelAngle=-45), **axis),
        y=alt.Y("one:N", **axis),
        tooltip=[
            alt.Tooltip("one:N", title="metric"),
            alt.Tooltip("other:N", title="other"),
            alt.Tooltip("correlation:Q", title="correlation", format=".3f"),
        ],
    )
    scale = alt.Scale(
        domain=[-1, 0, 1], range=[theme.WARNING, "#ffffff", theme.ACCENT], interpolate="rgb"
    )  # 0 stays pale
    squares = base.mark_rect().encode(color=alt.Color("correlation:Q", title="correlation", scale=scale))
    strong = alt.condition("abs(datum.correlation) > 0.7", alt.value("white"), alt.value(theme.INK))
    numbers = base.mark_text(fontSize=9).encode(text=alt.Text("correlation:Q", format=".2f"), color=strong)
    about = "identity" if found.attribute is None else theme.readable(found.attribute, 40)
    return theme.finished(
        squares + numbers,
        f"Which metrics say the same about {about}",
        f"Correlation of the ranks of {theme.counted(found.settings['compared_classes'], 'class', 'classes')}, weighed by "
        f"{found.settings['weighed_by']}: 1 is the same order, 0 none in common. (+n): n more metrics have the same order.",
    )


def _bins(most: int) -> Iterator[tuple[int, int]]:
    """1, 2, 3 to 4, 5 to 9, 10 to 19, 20 to 49, 50 to 99, and so on."""
    starts = [1, 2, 3, 5]
    while starts[-1] <= most:
        step = 10 ** (len(str(starts[-1])) - 1)
        first = starts[-1] // step
        starts.append({1: 2, 2: 5, 5: 10}[first] * step)
    yield from ((low, high - 1) for low, high in pairwise(starts) if low <= most)


@results.chart_of.register
def _of_measurement(found: Measurement, **options: Any) -> Any:
    return leakages(found, **options) if found.beliefs else class_sizes(found, **options)


@results.chart_of.register
def _of_verdict(found: Verdict, **options: Any) -> Any:
    return leakages(found, **options) if found.measurement.beliefs else class_sizes(found.measurement, **options)


results.chart_of.register(metrics.OneClass)(before_and_after)
results.chart_of.register(metrics.Independence)(independence)
