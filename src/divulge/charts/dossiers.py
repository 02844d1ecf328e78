# SPDX-License-Identifier: Apache-2.0
"""Pictures of a dossier: how leakage grew record by record, what each record gives away, and what disinformation would bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from divulge import dossier, results
from divulge.charts import theme
from divulge.errors import BadInput

_MOST_LABELS = 24
"""Records whose names find room on an axis."""
_MOST_STEPS = 2_000
_MOST_BARS = 30
_LEAKAGE = "what is known of the person (leakage)"


@theme.drawn
def timeline(found: dossier.Timeline) -> Any:
    """What is known of a person after each record; marks that warn are records that told more.

    Args:
        found: what `dv.dossier.timeline` gave

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice"}, id="shop")]
        >>> chart = dv.charts.timeline(dv.dossier.timeline(seen, alice, operator=dv.dossier.Resolve("N")))
    """
    steps = list(found)[-_MOST_STEPS:]
    first = len(found) - len(steps)
    kinds = ["tells more", "tells nothing new", "misleads"]
    rows = [
        {
            "n": first + place,
            "record": label,
            "leakage": step.leakage,
            "change": step.change,
            "kind": kinds[0] if step.change > 1e-12 else kinds[2] if step.change < -1e-12 else kinds[1],
            "joined": theme.readable(", ".join(sorted(step.joined)), 80) or "none",
        }
        for place, (label, step) in enumerate(
            zip(theme.labels_of((step.id for step in steps), most=24), steps, strict=True), start=1
        )
    ]
    named = len(rows) <= _MOST_LABELS
    x = (
        alt.X("record:N", sort=None, title="records in the order in which they came", axis=alt.Axis(labelAngle=-40))
        if named
        else alt.X(
            "n:Q",
            title="records in the order in which they came",
            axis=alt.Axis(format=",d"),
            scale=alt.Scale(nice=False),
        )
    )
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=x, y=alt.Y("leakage:Q", title=_LEAKAGE, scale=alt.Scale(domain=[0, 1]))
    )
    line = base.mark_line(interpolate="step-after", color=theme.BEFORE)
    marks = base.mark_point(filled=True, size=70 if named else 30, opacity=1).encode(
        color=alt.Color(
            "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[theme.WARNING, theme.BEFORE, theme.ACCENT])
        ),
        shape=alt.Shape(
            "kind:N", title=None, scale=alt.Scale(domain=kinds, range=["triangle-up", "circle", "triangle-down"])
        ),
        tooltip=[
            alt.Tooltip("record:N", title="record"),
            alt.Tooltip("leakage:Q", title="leakage after it", format=".4f"),
            alt.Tooltip("change:Q", title="change", format="+.4f"),
            alt.Tooltip("joined:N", title="merged with"),
        ],
    )
    told = (
        f"After {theme.counted(len(found), 'record', 'records')}: {found[-1].leakage:.3f} of 1."
        if len(found)
        else "There are no records."
    )
    return theme.finished(
        alt.layer(line, marks),
        "How much is known, record by record",
        told,
        theme.shown_of(len(rows), len(found), "records", "that came last"),
    )


@theme.drawn
def disinformation(found: dossier.Disinformation) -> Any:
    """What is known of a person before and with the chosen records, the least that can be reached, and what each record costs.

    Args:
        found: what `dv.dossier.choose_disinformation` or `dv.dossier.plan_disinformation` gave

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "1"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice", "P": "1"}, id="shop")]
        >>> decoys = dv.dossier.candidates_of([dv.dossier.Record.of({"N": "Alice", "P": "9"}, id="decoy")])
        >>> chosen = dv.dossier.choose_disinformation(seen, alice, decoys, budget=2, operator=dv.dossier.Resolve("N"))
        >>> chart = dv.charts.disinformation(chosen)
    """
    whens = ["before", "with the chosen records"]
    rows = [{"when": when, "leakage": value} for when, value in zip(whens, (found.before, found.leakage), strict=True)]
    bars = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(34))
        .mark_bar(size=16)
        .encode(
            y=alt.Y("when:N", sort=None, title=None),
            x=alt.X("leakage:Q", title=_LEAKAGE, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("when:N", legend=None, scale=alt.Scale(domain=whens, range=[theme.BEFORE, theme.ACCENT])),
            tooltip=[alt.Tooltip("when:N", title="when"), alt.Tooltip("leakage:Q", title="leakage", format=".4f")],
        )
    )
    least = (
        alt.Chart(theme.data_of([{"at": found.lower_bound}]))
        .mark_rule(color=theme.INK, strokeDash=[5, 4])
        .encode(x="at:Q")
    )
    panels: list[Any] = [alt.layer(bars, least)]
    shown = sorted(found.chosen, key=lambda item: -item.cost)[:_MOST_BARS]
    panels += [_costs(found, shown)] if shown else []
    proved = "and nothing better is affordable" if found.optimal else "the best that was found"
    return theme.finished(
        alt.vconcat(*panels, spacing=24),
        "What disinformation would bring",
        f"{theme.counted(len(found.chosen), 'record', 'records')} for {found.cost:g} of {found.budget:g}: {proved}.",
        "Dashed: no affordable choice leads to less.",
        theme.shown_of(len(shown), len(found.chosen), "records", "that cost most"),
    )


def _costs(found: dossier.Disinformation, shown: Sequence[Any]) -> Any:
    """What each of the chosen records costs, and says."""
    costs = [
        {
            "record": label,
            "cost": item.cost,
            "says": theme.readable("; ".join(map(dossier.show, item.record.attributes)), 120),
        }
        for label, item in zip(theme.labels_of((item.name for item in shown), most=30), shown, strict=True)
    ]
    return (
        alt.Chart(theme.data_of(costs), width=theme.WIDTH, height=alt.Step(20))
        .mark_bar(color=theme.ACCENT)
        .encode(
            y=alt.Y("record:N", sort=None, title=None),
            x=alt.X(
                "cost:Q",
                title="what the record costs",
                scale=alt.Scale(domain=[0, max(found.budget, found.cost, 1e-9)]),
            ),
            tooltip=[
                alt.Tooltip("record:N", title="record"),
                alt.Tooltip("cost:Q", title="cost"),
                alt.Tooltip("says:N", title="says"),
            ],
        )
    )


@theme.drawn
def records(
    found: dossier.SetLeakage | dossier.Attack | dossier.PeopleLeakage | dossier.WithoutLabels | dossier.Alternatives,
) -> Any:
    """What each record, person, label or release gives away, or would change; the most telling first.

    Args:
        found: what `dv.dossier.set_leakage`, `attack`, `table_leakage`, `without` or `compare` gave

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice"}, id="shop")]
        >>> chart = dv.charts.records(dv.dossier.set_leakage(seen, alice))
    """
    title, what, axis, pairs = _told(found)
    if not pairs:
        raise BadInput("there is nothing to draw: nothing was measured")
    shown = (
        pairs
        if isinstance(found, dossier.WithoutLabels | dossier.Alternatives)
        else sorted(pairs, key=lambda pair: -pair[1])
    )
    shown = shown[:_MOST_BARS]
    rows = [
        {"name": label, "value": value, "kind": "more" if value > 1e-12 else "less"}
        for label, (_, value) in zip(theme.labels_of(name for name, _ in shown), shown, strict=True)
    ]
    lowest = min(0.0, *(value for _, value in shown))
    changes = isinstance(found, dossier.WithoutLabels | dossier.Alternatives)
    colour = (
        alt.Color("kind:N", legend=None, scale=alt.Scale(domain=["more", "less"], range=[theme.WARNING, theme.ACCENT]))
        if changes
        else alt.value(theme.ACCENT)
    )
    scale = alt.Scale(nice=True) if changes and lowest < 0 else alt.Scale(domain=[0, 1])
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=max(20 * len(rows), 40))
        .mark_bar()
        .encode(
            y=alt.Y("name:N", sort=None, title=what),
            x=alt.X("value:Q", title=axis, scale=scale),
            color=colour,
            tooltip=[alt.Tooltip("name:N", title=what), alt.Tooltip("value:Q", title=axis, format=".4f")],
        )
    )
    side = "To the left: less would be known; to the right: more." if changes and lowest < 0 else ""
    return theme.finished(
        chart,
        title,
        side,
        theme.shown_of(len(rows), len(pairs), f"{what}s" if what != "person" else "people", "that come first"),
    )


def _told(found: Any) -> tuple[str, str, str, list[tuple[str, float]]]:
    """Title, what a bar stands for, what its length says, and the bars."""
    change = "change of what is known (leakage)"
    if isinstance(found, dossier.PeopleLeakage):
        return (
            "What the table says about each person",
            "person",
            _LEAKAGE,
            [(each.person, each.leakage) for each in found],
        )
    if isinstance(found, dossier.WithoutLabels):
        return "If a label had never been given away", "label", change, [(each.label, each.change) for each in found]
    if isinstance(found, dossier.Alternatives):
        return "What each release would change", "release", change, [(each.name, each.change) for each in found]
    if isinstance(found, dossier.Attack):
        names = [dossier.name_of(record) for record in found.records]
        return "What each merged record gives away", "record", _LEAKAGE, list(zip(names, found.each, strict=True))
    names = [f"record {place}" for place in range(1, len(found.each) + 1)]
    return "What each record gives away", "record", _LEAKAGE, list(zip(names, found.each, strict=True))


results.chart_of.register(dossier.Timeline)(timeline)
results.chart_of.register(dossier.Disinformation)(disinformation)
for _kind in (dossier.SetLeakage, dossier.Attack, dossier.PeopleLeakage, dossier.WithoutLabels, dossier.Alternatives):
    results.chart_of.register(_kind)(records)
