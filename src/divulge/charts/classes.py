# SPDX-License-Identifier: Apache-2.0
"""Charts of equivalence classes (Afifi et al. 2018, Figs. 2-4).

They show the leakage of each class, one class before and after, and the sizes of classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from divulge import metrics, results
from divulge.charts import theme
from divulge.errors import BadInput, nearest
from divulge.metrics import Measurement
from divulge.policy import Verdict
from divulge.text import class_name

_MOST_CLASSES = 2_000
"""Largest number of marks in one chart; more marks make a slow file and show no more."""
_MOST_BARS = 20
"""Largest number of classes in one bar chart."""
_MOST_VALUES = 16
"""Largest number of bars for one class; the values with the smallest shares share one bar."""


@theme.chart_function
def leakages(result: Measurement | Verdict, attribute: str | None = None) -> Any:
    """Draw each class by its two leakages (Afifi et al. 2018, Figs. 2a and 3a in one).

    Each of the two leakages shows classes that the other one misses. For a verdict, dashed lines
    are its requirements on the leakages, and classes beyond a line are marked.

    Args:
        result: output of `dv.measure` or `dv.check`
        attribute: one of several sensitive attributes; by default the one with the largest
            distribution leakage

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.leakages(measured)
    """
    if isinstance(result, Verdict):
        measurement = result.measurement
        verdict: Verdict | None = result
    else:
        measurement = result
        verdict = None
    attribute = _resolve_attribute(measurement, attribute)
    belief = measurement.beliefs[attribute]
    people = measurement.contingency.sizes[belief.classes]
    distribution = metrics.distribution_leakage(belief)
    entropy = metrics.entropy_leakage(belief)
    if verdict is None:
        bounds = []
    else:
        bounds = list(_leakage_bounds(verdict, attribute))
    is_beyond = np.zeros(len(people), dtype=bool)
    for axis, bound in bounds:
        is_beyond |= (distribution if axis == "x" else entropy) > bound + metrics.TOLERANCE
    order = np.lexsort((-people, -(distribution + entropy)))[:_MOST_CLASSES]
    rows = [
        {
            "class": theme.readable(
                class_name(measurement.contingency.class_key(int(belief.classes[index])))
            ),
            "x": float(distribution[index]),
            "y": float(entropy[index]),
            "people": int(people[index]),
            "mark": "beyond a dashed line" if is_beyond[index] else "within the dashed lines",
        }
        for index in order.tolist()
    ]
    sentence = (
        "Each mark is a class of people who look alike; the further from the corner, the more it "
        "gives away."
    )
    if bounds:
        bounds_note = "Dashed: what is promised."
    else:
        bounds_note = ""
    return theme.finished(
        _leakage_marks(rows, bounds),
        f"What each class tells about {theme.readable(attribute, 40)}",
        f"{sentence} {bounds_note}",
        _omission_sentence(len(rows), measurement),
    )


def _omission_sentence(drawn_count: int, measurement: Measurement) -> str:
    """Return a sentence that says how many classes the chart leaves out.

    `class_count` includes classes that were not loaded from the engine.
    """
    return theme.omission_sentence(
        drawn_count, measurement.class_count, "classes", "that give away most"
    )


def _resolve_attribute(measurement: Measurement, attribute: str | None) -> str:
    """Return the requested attribute, or the one with the largest distribution leakage."""
    if not measurement.beliefs:
        raise BadInput(
            "no sensitive attribute was measured, so there is nothing a class could give away",
            hint="name one",
        )
    if attribute is None:
        return max(
            measurement.beliefs,
            key=lambda name: float(metrics.distribution_leakage(measurement.beliefs[name]).max()),
        )
    if attribute not in measurement.beliefs:
        raise BadInput(
            f"{attribute!r} is not a sensitive attribute here",
            hint=nearest(attribute, measurement.beliefs),
        )
    return attribute


def _leakage_bounds(verdict: Verdict, attribute: str) -> Iterator[tuple[str, float]]:
    """Yield (axis, bound) of each requirement on the two leakages that protects everyone."""
    axes = {metrics.distribution_leakage: "x", metrics.entropy_leakage: "y"}
    for outcome in verdict.outcomes:
        axis = axes.get(outcome.promise.metric.per_class)  # type: ignore[arg-type]
        if axis and outcome.attribute == attribute and not outcome.protects and not outcome.linked:
            yield axis, float(outcome.promise.bound)


def _leakage_marks(rows: list[dict[str, Any]], bounds: list[tuple[str, float]]) -> Any:
    largest = {
        along: max(
            [row[along] for row in rows]
            + [bound for axis, bound in bounds if axis == along]
            + [0.001]
        )
        for along in "xy"
    }
    encodings = {
        "x": alt.X(
            "x:Q",
            title="change of the distribution (distribution leakage)",
            scale=alt.Scale(domain=[0, largest["x"] * 1.05]),
        ),
        "y": alt.Y(
            "y:Q",
            title="change of uncertainty in bits (entropy leakage)",
            scale=alt.Scale(domain=[0, largest["y"] * 1.05]),
        ),
    }
    kinds = ["within the dashed lines", "beyond a dashed line"]
    colour: Any = alt.value(theme.ACCENT)
    shape: Any = alt.value("circle")
    if bounds:
        colour = alt.Color(
            "mark:N", title=None, scale=alt.Scale(domain=kinds, range=[theme.ACCENT, theme.WARNING])
        )
        shape = alt.Shape(
            "mark:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"])
        )
    largest_size = max([row["people"] for row in rows], default=1)
    marks = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_point(filled=True, opacity=0.7, stroke="white", strokeWidth=0.5)
        .encode(
            **encodings,
            size=alt.Size(
                "people:Q",
                title="people",
                scale=alt.Scale(type="sqrt", domain=[0, largest_size], range=[12, 420]),
                legend=alt.Legend(values=_legend_sizes(largest_size)),
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
        .encode(**{along: _bound_position(along)})
        for along, bound in bounds
    ]
    return alt.layer(marks, *lines)


def _legend_sizes(largest_size: int) -> list[int]:
    """Three class sizes for a legend, such as 1, 10 and 100 for up to 300 people."""
    lower_bounds = [low for low, _ in _size_bins(largest_size)]
    return sorted({lower_bounds[0], lower_bounds[len(lower_bounds) // 2], lower_bounds[-1]})


def _bound_position(axis: str) -> Any:
    if axis == "x":
        return alt.X("at:Q")
    return alt.Y("at:Q")


@theme.chart_function
def information(
    result: Measurement,
    attribute: str | None = None,
    *,
    t: float | None = None,
    l_value: float | None = None,
) -> Any:
    """Draw both of Bezzi's measures of each class in bits (Bezzi 2010, Figs. 1 to 4).

    Lines show the average and the bounds. I1 is the KL divergence of the class from the prior,
    which t bounds. I2 is the decrease of entropy, which l bounds.

    Args:
        result: output of `dv.measure`
        attribute: one of several sensitive attributes; by default the one with the largest
            distribution leakage
        t: a bound for I1, in bits
        l_value: a bound for entropy l-diversity; I2 of a class may be at most H - log2 l bits

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.information(measured, t=0.5, l_value=1.5)
    """
    if (t is not None and t < 0) or (l_value is not None and l_value < 1):
        raise BadInput("t must be a number of at least 0, and l_value of at least 1")
    attribute = _resolve_attribute(result, attribute)
    belief = result.beliefs[attribute]
    surprise = belief.surprise
    entropy_decrease = metrics.specific_information(belief)
    finite_indices = np.flatnonzero(np.isfinite(surprise))
    order = finite_indices[np.argsort(-surprise[finite_indices], kind="stable")][:_MOST_BARS]
    keys = [result.contingency.class_key(int(belief.classes[index])) for index in order.tolist()]
    labels = theme.unique_labels((class_name(key) for key in keys), max_length=44)
    kinds = ["I1, surprise", "I2, fall of uncertainty"]
    rows = [
        {"class": label, "bits": float(numbers[index]), "kind": kind}
        for label, index in zip(labels, order.tolist(), strict=True)
        for kind, numbers in zip(kinds, (surprise, entropy_decrease), strict=True)
    ]
    bars = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y("class:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.3)),
            yOffset=alt.YOffset("kind:N", sort=None, scale=alt.Scale(domain=kinds)),
            x=alt.X(
                "bits:Q", title=f"bits that the class tells about {theme.readable(attribute, 30)}"
            ),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[theme.ACCENT, theme.SEVERAL[2]]),
            ),
            tooltip=[
                alt.Tooltip("class:N", title="class"),
                alt.Tooltip("kind:N", title="measure"),
                alt.Tooltip("bits:Q", title="bits", format=".4f"),
            ],
        )
    )
    infinite_count = len(surprise) - len(finite_indices)
    return theme.finished(
        alt.layer(bars, _bounds_in_bits(result, attribute, t, l_value)),
        f"How many bits each class tells about {theme.readable(attribute, 40)}",
        theme.omission_sentence(len(order), result.class_count, "classes", "that surprise most")
        if not infinite_count
        else "",
        f"{infinite_count:,} classes hold a value that nobody expected: infinitely surprising, "
        "and not shown."
        if infinite_count
        else "",
    )


def _bounds_in_bits(
    measurement: Measurement, attribute: str, t: float | None, l_value: float | None
) -> Any:
    """Lines for the average, and for t and l if they are passed."""
    conditions = metrics.conditions_of(measurement, attribute, t=t, l_value=l_value)
    bounds: list[dict[str, Any]] = [{"at": conditions.average_surprise, "line": "average"}]
    if t is not None:
        bounds.append({"at": t, "line": f"t = {t:g}"})
    if l_value is not None:
        largest_decrease = conditions.prior_entropy - float(np.log2(l_value))
        bounds.append({"at": largest_decrease, "line": f"l = {l_value:g}"})
    lines = [bound["line"] for bound in bounds]
    return (
        alt.Chart(theme.data_of(bounds))
        .mark_rule(color=theme.INK, strokeWidth=1.5)
        .encode(
            x="at:Q",
            strokeDash=alt.StrokeDash(
                "line:N",
                title=None,
                scale=alt.Scale(domain=lines, range=[[2, 2], [6, 3], [1, 0]][: len(lines)]),
            ),
            tooltip=[
                alt.Tooltip("line:N", title="line"),
                alt.Tooltip("at:Q", title="bits", format=".4f"),
            ],
        )
    )


@theme.chart_function
def before_and_after(result: metrics.ClassDetail, attribute: str | None = None) -> Any:
    """Draw the prior and the posterior of each value in one class.

    See Afifi et al. 2018, Figs. 2b and 3b.

    Args:
        result: output of `measurement.of_class(...)`
        attribute: one of several sensitive attributes; by default the one whose shares change most

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.before_and_after(measured.of_class(zip="1"))
    """
    attribute, shares = result.shares_of(attribute)
    ranked = sorted(shares, key=lambda shift: (-shift.after, -shift.before))
    if len(ranked) > _MOST_VALUES:
        largest_shifts = sorted(ranked, key=lambda shift: -max(shift.before, shift.after))[
            : _MOST_VALUES - 1
        ]
        ranked = [shift for shift in ranked if shift in largest_shifts]
    other_shifts = [shift for shift in shares if shift not in ranked]
    bars = list(zip(theme.unique_labels(shift.value for shift in ranked), ranked, strict=True))
    if other_shifts:
        other_shares = metrics.Shift(
            None,
            sum(other_shift.before for other_shift in other_shifts),
            sum(other_shift.after for other_shift in other_shifts),
        )
        bars.append((f"{len(other_shifts):,} more values", other_shares))
    kinds = ["before", "in this class"]
    rows = [
        {"value": label, "share": share, "when": period}
        for label, shift in bars
        for period, share in zip(kinds, (shift.before, shift.after), strict=True)
    ]
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y(
                "value:N",
                sort=None,
                title=theme.readable(attribute, 40),
                scale=alt.Scale(paddingInner=0.3),
            ),
            yOffset=alt.YOffset("when:N", sort=None, scale=alt.Scale(domain=kinds)),
            x=alt.X(
                "share:Q",
                title="share of people",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domainMin=0),
            ),
            color=alt.Color(
                "when:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[theme.BEFORE, theme.WARNING]),
            ),
            tooltip=[
                alt.Tooltip("value:N", title="value"),
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
            ],
        )
    )
    ruled_out_count = sum(shift.after == 0 for shift in shares)
    people_text = theme.count_phrase(result.size, "person", "people")
    subtitle = f"{people_text}; {ruled_out_count:,} of {len(shares):,} values can be ruled out."
    return theme.finished(chart, theme.readable(result.name, 120), subtitle)


@theme.chart_function
def class_sizes(result: Measurement, before: Measurement | None = None) -> Any:
    """Draw the number of people by the size of their class.

    The smaller a class, the fewer records a person is hidden among.

    Args:
        result: output of `dv.measure`
        before: measurement of the original table, drawn in gray next to it

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> chart = dv.charts.class_sizes(dv.measure(people, quasi_identifiers="zip"))
    """
    if before is not None:
        measurements = {"before": before, "published": result}
    else:
        measurements = {"now": result}
    largest_size = max(
        (
            int(period_measurement.contingency.sizes.max(initial=0))
            for period_measurement in measurements.values()
        ),
        default=0,
    )
    if not largest_size:
        raise BadInput("the table has no rows, so it has no classes")
    rows = []
    for low, high in _size_bins(largest_size):
        if low == high:
            label = f"{low:,}"
        else:
            label = f"{low:,}-{high:,}"
        for period, period_measurement in measurements.items():
            sizes_in_bin = period_measurement.contingency.sizes[
                (period_measurement.contingency.sizes >= low)
                & (period_measurement.contingency.sizes <= high)
            ]
            rows.append(
                {
                    "size": label,
                    "when": period,
                    "people": int(sizes_in_bin.sum()),
                    "classes": len(sizes_in_bin),
                }
            )
    colours = {"now": theme.ACCENT, "before": theme.BEFORE, "published": theme.ACCENT}
    if before is not None:
        legend = alt.Legend()
    else:
        legend = None
    colour = alt.Color(
        "when:N",
        title=None,
        legend=legend,
        scale=alt.Scale(
            domain=list(measurements), range=[colours[period] for period in measurements]
        ),
    )
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X(
                "size:N", sort=None, title="people in the class", axis=alt.Axis(labelAngle=-40)
            ),
            xOffset=alt.XOffset("when:N", sort=None, scale=alt.Scale(domain=list(measurements))),
            y=alt.Y(
                "people:Q",
                title="people in classes of that size",
                axis=alt.Axis(format=",d", tickMinStep=1),
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("size:N", title="people in the class"),
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("classes:Q", title="classes", format=",d"),
                alt.Tooltip("people:Q", title="people in them", format=",d"),
            ],
        )
    )
    sizes = result.contingency.sizes
    unique_classes = int((sizes == 1).sum())
    people_text = theme.count_phrase(int(sizes.sum()), "person", "people")
    classes_text = theme.count_phrase(len(sizes), "class", "classes")
    subtitle = (
        f"{people_text} in {classes_text}; {unique_classes:,} of the classes "
        f"{'holds' if unique_classes == 1 else 'hold'} one person."
    )
    if result.settings["person"]:
        subtitle += " A person counts once in each class."
    return theme.finished(
        chart, "How many people look alike", subtitle, _omission_sentence(len(sizes), result)
    )


@theme.chart_function
def independence(result: metrics.Independence) -> Any:
    """Draw Spearman's correlations between the orders of classes by different metrics.

    Each correlation is a number on a color.

    Args:
        result: output of `measurement.independence(...)`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table(
        ...     {"zip": ["1", "1", "2", "2", "3"], "disease": ["flu", "cold", "flu", "flu", "cold"]}
        ... )
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> chart = dv.charts.independence(measured.independence())
    """
    if not result.orders:
        raise BadInput("every metric is the same in all classes, so none orders them")
    labels = {
        order.name: f"{order.name} (+{len(order.metrics) - 1})"
        if len(order.metrics) > 1
        else order.name
        for order in result.orders
    }
    rows = [
        {
            "one": labels[metric],
            "other": labels[other],
            "correlation": result.between(metric, other),
        }
        for metric in labels
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
    color_scale = alt.Scale(
        domain=[-1, 0, 1], range=[theme.WARNING, "#ffffff", theme.ACCENT], interpolate="rgb"
    )  # 0 is white
    squares = base.mark_rect().encode(
        color=alt.Color("correlation:Q", title="correlation", scale=color_scale)
    )
    text_color = alt.condition(
        "abs(datum.correlation) > 0.7", alt.value("white"), alt.value(theme.INK)
    )
    numbers = base.mark_text(fontSize=9).encode(
        text=alt.Text("correlation:Q", format=".2f"), color=text_color
    )
    if result.attribute is None:
        about = "identity"
    else:
        about = theme.readable(result.attribute, 40)
    return theme.finished(
        squares + numbers,
        f"Which metrics say the same about {about}",
        "Correlation of the ranks of "
        f"{theme.count_phrase(result.settings['compared_classes'], 'class', 'classes')}, weighed "
        f"by {result.settings['weighed_by']}: 1 is the same order, 0 none in common. (+n): n more "
        "metrics have the same order.",
    )


def _size_bins(largest_size: int) -> Iterator[tuple[int, int]]:
    """Yield the bins 1, 2, 3 to 4, 5 to 9, 10 to 19, 20 to 49, 50 to 99, and so on."""
    starts = [1, 2, 3, 5]
    while starts[-1] <= largest_size:
        step = 10 ** (len(str(starts[-1])) - 1)
        first = starts[-1] // step
        starts.append({1: 2, 2: 5, 5: 10}[first] * step)
    yield from ((low, high - 1) for low, high in pairwise(starts) if low <= largest_size)


@results.chart_of.register
def _measurement_chart(measurement: Measurement, **options: Any) -> Any:
    if measurement.beliefs:
        return leakages(measurement, **options)
    return class_sizes(measurement, **options)


@results.chart_of.register
def _verdict_chart(verdict: Verdict, **options: Any) -> Any:
    if verdict.measurement.beliefs:
        return leakages(verdict, **options)
    return class_sizes(verdict.measurement, **options)


results.chart_of.register(metrics.ClassDetail)(before_and_after)
results.chart_of.register(metrics.Independence)(independence)
