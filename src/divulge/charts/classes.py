# SPDX-License-Identifier: Apache-2.0
"""Pictures of classes: what each gives away, one of them before and after, and how many people they have (Afifi et al. 2018, Figs. 2-4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from divulge import metrics, results, values
from divulge.charts.theme import (
    ACCENT,
    BEFORE,
    HEIGHT,
    INK,
    WARNING,
    WIDTH,
    data_of,
    finished,
    labels_of,
    readable,
    shown_of,
)
from divulge.errors import BadInput, nearest
from divulge.metrics import Measurement
from divulge.policy import Verdict
from divulge.values import checked

_MOST_CLASSES = 2_000
"""Marks in one picture; more make a file that is slow to open and shows no more."""
_MOST_VALUES = 16
"""Bars of one class; those that change least stand together as one."""


@checked
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
            "class": readable(values.class_name(measurement.contingency.class_key(int(belief.classes[at])))),
            "x": float(distribution[at]),
            "y": float(entropy[at]),
            "people": int(people[at]),
            "mark": "breaks a promise" if beyond[at] else "keeps the promises",
        }
        for at in order.tolist()
    ]
    sentence = "Each mark is a class of people who look alike; the further from the corner, the more it gives away."
    dashed = "Dashed: what is promised." if bounds else ""
    return finished(
        _marks(rows, bounds),
        f"What each class tells about {readable(attribute, 40)}",
        f"{sentence} {dashed}",
        _which(len(rows), measurement),
    )


def _which(shown: int, measurement: Measurement) -> str:
    """What is left out, also where the classes stayed with the engine."""
    return shown_of(shown, measurement.class_count, "classes", "that give away most")


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
    kinds = ["keeps the promises", "breaks a promise"]
    colour: Any = alt.value(ACCENT)
    shape: Any = alt.value("circle")
    if bounds:
        colour = alt.Color("mark:N", title=None, scale=alt.Scale(domain=kinds, range=[ACCENT, WARNING]))
        shape = alt.Shape("mark:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"]))
    most = max([row["people"] for row in rows], default=1)
    marks = (
        alt.Chart(data_of(rows), width=WIDTH, height=HEIGHT)
        .mark_point(filled=True, opacity=0.6, stroke="white", strokeWidth=0.5)
        .encode(
            **axes,
            size=alt.Size("people:Q", title="people", scale=alt.Scale(type="sqrt", domain=[0, most], range=[12, 420])),
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("class:N", title="class"),
                alt.Tooltip("people:Q", title="people", format=","),
                alt.Tooltip("x:Q", title="change of the distribution", format=".3f"),
                alt.Tooltip("y:Q", title="change of uncertainty, bits", format=".3f"),
            ],
        )
    )
    lines = [
        alt.Chart(data_of([{"at": bound}])).mark_rule(color=INK, strokeDash=[5, 4]).encode(**{along: _at(along)})
        for along, bound in bounds
    ]
    return alt.layer(marks, *lines)


def _at(along: str) -> Any:
    return alt.X("at:Q") if along == "x" else alt.Y("at:Q")


@checked
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
    bars = list(zip(labels_of(shift.value for shift in ranked), ranked, strict=True))
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
        alt.Chart(data_of(rows), width=WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y("value:N", sort=None, title=readable(attribute, 40), scale=alt.Scale(paddingInner=0.3)),
            yOffset=alt.YOffset("when:N", sort=None, scale=alt.Scale(domain=kinds)),
            x=alt.X("share:Q", title="share of people", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
            color=alt.Color("when:N", title=None, scale=alt.Scale(domain=kinds, range=[BEFORE, WARNING])),
            tooltip=[
                alt.Tooltip("value:N", title="value"),
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
            ],
        )
    )
    gone = sum(shift.after == 0 for shift in shares)
    told = f"{found.size:,} {'person' if found.size == 1 else 'people'}; {gone:,} of {len(shares):,} values can be ruled out."
    return finished(chart, readable(found.name, 120), told)


@checked
def class_sizes(found: Measurement) -> Any:
    """How many people have a class of each size to themselves: the smaller the class, the fewer they hide among.

    Args:
        found: what `dv.measure` gave

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> chart = dv.charts.class_sizes(dv.measure(people, quasi_identifiers="zip"))
    """
    sizes = found.contingency.sizes
    if not len(sizes):
        raise BadInput("the table has no rows, so it has no classes")
    rows = []
    for low, high in _bins(int(sizes.max())):
        inside = sizes[(sizes >= low) & (sizes <= high)]
        label = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        rows.append({"size": label, "people": int(inside.sum()), "classes": len(inside)})
    while rows and not rows[-1]["classes"]:
        rows.pop()
    chart = (
        alt.Chart(data_of(rows), width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=None, title="people in the class", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("people:Q", title="people in classes of that size", axis=alt.Axis(format=",")),
            color=alt.condition(alt.datum.size == "1", alt.value(WARNING), alt.value(ACCENT)),
            tooltip=[
                alt.Tooltip("size:N", title="people in the class"),
                alt.Tooltip("classes:Q", title="classes", format=","),
                alt.Tooltip("people:Q", title="people in them", format=","),
            ],
        )
    )
    alone = int((sizes == 1).sum())
    told = f"{int(sizes.sum()):,} people in {len(sizes):,} classes; {alone:,} are alone in theirs."
    return finished(chart, "How many people look alike", told, _which(len(sizes), found))


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
