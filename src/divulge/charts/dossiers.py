# SPDX-License-Identifier: Apache-2.0
"""Charts of a dossier.

They show leakage record by record, the leakage of single records, and the effect of disinformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from divulge import dossier, results
from divulge.charts import theme
from divulge.errors import BadInput

_MOST_LABELS = 24
"""Largest number of records whose names fit on an axis."""
_MOST_STEPS = 2_000
_MOST_BARS = 30
_LEAKAGE = "what is known of the person (leakage)"
_MORE = "tells more"
_NOTHING_NEW = "tells nothing new"
_MISLEADS = "misleads"
_SMALLEST_CHANGE = 1e-12
"""Changes of leakage up to this size are rounding errors."""


@theme.chart_function
def timeline(result: dossier.Timeline) -> Any:
    """Draw the leakage of a person after each record; records that increase it have warning marks.

    Args:
        result: output of `dv.dossier.timeline`

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice"}, id="shop")]
        >>> chart = dv.charts.timeline(
        ...     dv.dossier.timeline(seen, alice, operator=dv.dossier.Resolve("N"))
        ... )
    """
    steps = list(result)[-_MOST_STEPS:]
    omitted_count = len(result) - len(steps)
    kinds = [_MORE, _NOTHING_NEW, _MISLEADS]
    rows = [
        {
            "n": omitted_count + position,
            "record": label,
            "leakage": step.leakage,
            "change": step.change,
            "kind": _change_kind(step.change),
            "joined": theme.readable(", ".join(sorted(step.joined)), 80) or "none",
        }
        for position, (label, step) in enumerate(
            zip(
                theme.unique_labels((step.id for step in steps), max_length=24), steps, strict=True
            ),
            start=1,
        )
    ]
    has_labels = len(rows) <= _MOST_LABELS
    if has_labels:
        x = alt.X(
            "record:N",
            sort=None,
            title="records in the order in which they came",
            axis=alt.Axis(labelAngle=-40),
        )
    else:
        x = alt.X(
            "n:Q",
            title="records in the order in which they came",
            axis=alt.Axis(format=",d"),
            scale=alt.Scale(nice=False),
        )
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=x, y=alt.Y("leakage:Q", title=_LEAKAGE, scale=alt.Scale(domain=[0, 1]))
    )
    line = base.mark_line(interpolate="step-after", color=theme.BEFORE)
    marks = base.mark_point(filled=True, size=70 if has_labels else 30, opacity=1).encode(
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=kinds, range=[theme.WARNING, theme.BEFORE, theme.ACCENT]),
        ),
        shape=alt.Shape(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=kinds, range=["triangle-up", "circle", "triangle-down"]),
        ),
        tooltip=[
            alt.Tooltip("record:N", title="record"),
            alt.Tooltip("leakage:Q", title="leakage after it", format=".4f"),
            alt.Tooltip("change:Q", title="change", format="+.4f"),
            alt.Tooltip("joined:N", title="merged with"),
        ],
    )
    subtitle = "There are no records."
    if len(result):
        records_text = theme.count_phrase(len(result), "record", "records")
        subtitle = f"After {records_text}: {result[-1].leakage:.3f} of 1."
    return theme.finished(
        alt.layer(line, marks),
        "How much is known, record by record",
        subtitle,
        theme.omission_sentence(len(rows), len(result), "records", "that came last"),
    )


def _change_kind(change: float) -> str:
    if change > _SMALLEST_CHANGE:
        return _MORE
    if change < -_SMALLEST_CHANGE:
        return _MISLEADS
    return _NOTHING_NEW


@theme.chart_function
def disinformation(result: dossier.Disinformation) -> Any:
    """Draw leakage before and with the chosen disinformation, and the cost of each record.

    A dashed line marks the lower bound that no affordable choice goes below.

    Args:
        result: output of `dv.dossier.choose_disinformation` or `dv.dossier.plan_disinformation`

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "1"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice", "P": "1"}, id="shop")]
        >>> decoys = dv.dossier.candidates_of(
        ...     [dv.dossier.Record.of({"N": "Alice", "P": "9"}, id="decoy")]
        ... )
        >>> chosen = dv.dossier.choose_disinformation(
        ...     seen, alice, decoys, budget=2, operator=dv.dossier.Resolve("N")
        ... )
        >>> chart = dv.charts.disinformation(chosen)
    """
    periods = ["before", "with the chosen records"]
    rows = [
        {"when": period, "leakage": value}
        for period, value in zip(periods, (result.before, result.leakage), strict=True)
    ]
    bars = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=alt.Step(34))
        .mark_bar(size=16)
        .encode(
            y=alt.Y("when:N", sort=None, title=None),
            x=alt.X("leakage:Q", title=_LEAKAGE, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "when:N",
                legend=None,
                scale=alt.Scale(domain=periods, range=[theme.BEFORE, theme.ACCENT]),
            ),
            tooltip=[
                alt.Tooltip("when:N", title="when"),
                alt.Tooltip("leakage:Q", title="leakage", format=".4f"),
            ],
        )
    )
    lower_bound_line = (
        alt.Chart(theme.data_of([{"at": result.lower_bound}]))
        .mark_rule(color=theme.INK, strokeDash=[5, 4])
        .encode(x="at:Q")
    )
    panels: list[Any] = [alt.layer(bars, lower_bound_line)]
    costliest_records = sorted(result.chosen, key=lambda item: -item.cost)[:_MOST_BARS]
    if costliest_records:
        panels += [_cost_panel(result, costliest_records)]
    if result.optimal:
        optimality = "and nothing better is affordable"
    else:
        optimality = "the best that was result"
    return theme.finished(
        alt.vconcat(*panels, spacing=24),
        "What disinformation would bring",
        f"{theme.count_phrase(len(result.chosen), 'record', 'records')} for {result.cost:g} of "
        f"{result.budget:g}: {optimality}.",
        "Dashed: no affordable choice leads to less.",
        theme.omission_sentence(
            len(costliest_records), len(result.chosen), "records", "that cost most"
        ),
    )


def _cost_panel(plan: dossier.Disinformation, costliest_records: Sequence[Any]) -> Any:
    """Draw the cost of each chosen record, with its attributes as a tooltip."""
    costs = [
        {
            "record": label,
            "cost": item.cost,
            "says": theme.readable("; ".join(map(dossier.show, item.record.attributes)), 120),
        }
        for label, item in zip(
            theme.unique_labels((item.name for item in costliest_records), max_length=30),
            costliest_records,
            strict=True,
        )
    ]
    return (
        alt.Chart(theme.data_of(costs), width=theme.WIDTH, height=alt.Step(20))
        .mark_bar(color=theme.ACCENT)
        .encode(
            y=alt.Y("record:N", sort=None, title=None),
            x=alt.X(
                "cost:Q",
                title="what the record costs",
                scale=alt.Scale(domain=[0, max(plan.budget, plan.cost, 1e-9)]),
            ),
            tooltip=[
                alt.Tooltip("record:N", title="record"),
                alt.Tooltip("cost:Q", title="cost"),
                alt.Tooltip("says:N", title="says"),
            ],
        )
    )


@theme.chart_function
def records(
    result: dossier.SetLeakage
    | dossier.Attack
    | dossier.PeopleLeakage
    | dossier.WithoutLabels
    | dossier.Alternatives,
) -> Any:
    """Draw the leakage, or the change of leakage, of each record, person, label or release.

    Leakages are sorted, largest first. Changes keep the order of the result.

    Args:
        result: output of `dv.dossier.set_leakage`, `attack`, `table_leakage`, `without` or
            `compare`

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> seen = [dv.dossier.Record.of({"N": "Alice"}, id="shop")]
        >>> chart = dv.charts.records(dv.dossier.set_leakage(seen, alice))
    """
    title, item_kind, axis, pairs = _describe_bars(result)
    if not pairs:
        raise BadInput("there is nothing to draw: nothing was measured")
    shows_changes = isinstance(result, dossier.WithoutLabels | dossier.Alternatives)
    if not shows_changes:
        pairs = sorted(pairs, key=lambda pair: -pair[1])
    visible_pairs = pairs[:_MOST_BARS]
    rows = [
        {"name": label, "value": value, "kind": "more" if value > _SMALLEST_CHANGE else "less"}
        for label, (_, value) in zip(
            theme.unique_labels(name for name, _ in visible_pairs), visible_pairs, strict=True
        )
    ]
    lowest = min(0.0, *(value for _, value in visible_pairs))
    colour = (
        alt.Color(
            "kind:N",
            legend=None,
            scale=alt.Scale(domain=["more", "less"], range=[theme.WARNING, theme.ACCENT]),
        )
        if shows_changes
        else alt.value(theme.ACCENT)
    )
    if shows_changes and lowest < 0:
        scale = alt.Scale(nice=True)
    else:
        scale = alt.Scale(domain=[0, 1])
    chart = (
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=max(20 * len(rows), 40))
        .mark_bar()
        .encode(
            y=alt.Y("name:N", sort=None, title=item_kind),
            x=alt.X("value:Q", title=axis, scale=scale),
            color=colour,
            tooltip=[
                alt.Tooltip("name:N", title=item_kind),
                alt.Tooltip("value:Q", title=axis, format=".4f"),
            ],
        )
    )
    if shows_changes and lowest < 0:
        direction_note = "To the left: less would be known; to the right: more."
    else:
        direction_note = ""
    return theme.finished(
        chart,
        title,
        direction_note,
        theme.omission_sentence(
            len(rows),
            len(pairs),
            f"{item_kind}s" if item_kind != "person" else "people",
            "that come first",
        ),
    )


def _describe_bars(result: Any) -> tuple[str, str, str, list[tuple[str, float]]]:
    """Return the title, the kind of item of a bar, the title of the axis, and the bars."""
    change = "change of what is known (leakage)"
    if isinstance(result, dossier.PeopleLeakage):
        return (
            "What the table says about each person",
            "person",
            _LEAKAGE,
            [(entry.person, entry.leakage) for entry in result],
        )
    if isinstance(result, dossier.WithoutLabels):
        return (
            "If a label had never been given away",
            "label",
            change,
            [(entry.label, entry.change) for entry in result],
        )
    if isinstance(result, dossier.Alternatives):
        return (
            "What each release would change",
            "release",
            change,
            [(entry.name, entry.change) for entry in result],
        )
    if isinstance(result, dossier.Attack):
        names = [dossier.name_of(record) for record in result.records]
        return (
            "What each merged record gives away",
            "record",
            _LEAKAGE,
            list(zip(names, result.each, strict=True)),
        )
    names = [f"record {number}" for number in range(1, len(result.each) + 1)]
    return (
        "What each record gives away",
        "record",
        _LEAKAGE,
        list(zip(names, result.each, strict=True)),
    )


results.chart_of.register(dossier.Timeline)(timeline)
results.chart_of.register(dossier.Disinformation)(disinformation)
for _result_class in (
    dossier.SetLeakage,
    dossier.Attack,
    dossier.PeopleLeakage,
    dossier.WithoutLabels,
    dossier.Alternatives,
):
    results.chart_of.register(_result_class)(records)
