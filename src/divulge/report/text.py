# SPDX-License-Identifier: Apache-2.0
"""A measurement and a verdict on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from divulge.metrics import leading_metric
from divulge.metrics.conditions import Conditions
from divulge.metrics.identity import uniques
from divulge.metrics.information import mutual_information
from divulge.metrics.measurement import Measurement, Score
from divulge.metrics.questions import Question
from divulge.policy import Outcome, Verdict
from divulge.report.words import class_name, classes, people, percent, rows, worst_classes

_WIDE = 110
"""Columns that a table with prose in it needs; a usual terminal has 80."""


def number(value: float) -> str:
    """Whole numbers with thousands marks, others with four digits."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def grid(*columns: str, right: Iterable[int] = (), whole: Iterable[int] = ()) -> Grid:
    """A plain table; numbers stand to the right, and neither they nor the columns in `whole` are broken into lines."""
    table = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    numeric, unbroken = set(right), {*right, *whole}
    for position, name in enumerate(columns):
        table.add_column(
            name, justify="right" if position in numeric else "left", overflow="fold", no_wrap=position in unbroken
        )
    return table


@dataclass(frozen=True)
class Listing:
    """A table whose last columns are prose: beside the numbers where there is room, else under the first column."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: int
    right: Sequence[int] = ()
    whole: Sequence[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for the width at hand."""
        if options.max_width >= _WIDE:
            table = grid(*self.columns, right=self.right, whole=self.whole)
            for row in self.rows:
                table.add_row(*row)
        else:
            table = grid(*self.columns[: -self.prose], right=self.right, whole=[i for i in self.whole if i])
            for first, *row in self.rows:
                under = "; ".join(text for text in row[-self.prose :] if text)
                table.add_row(Group(Text(first), Padding(Text(under, style="dim"), (0, 0, 0, 2))), *row[: -self.prose])
        yield table


def measurement_text(
    measurement: Measurement,
    *,
    worst: int = 10,
    by: str | None = None,
    conditions: Mapping[str, Conditions] | None = None,
) -> RenderableType:
    """What is worst and why, then every number, and what the numbers depend on."""
    parts: list[RenderableType] = [
        story_text(measurement, worst=worst, by=by, conditions=conditions),
        heading("Who is this? (identity)"),
        _scores(measurement.identity),
    ]
    for attribute, scores in measurement.sensitive.items():
        parts += [heading(f"What can be learnt about {attribute}?"), _scores(scores)]
    return Group(*parts, Padding(Text(settings_sentence(measurement.settings), style="dim"), (1, 0, 0, 0)))


def story_text(
    measurement: Measurement,
    *,
    worst: int = 10,
    by: str | None = None,
    conditions: Mapping[str, Conditions] | None = None,
) -> RenderableType:
    """In words: the size of the table, the short answer, and the worst classes."""
    settings = measurement.settings
    parts: list[RenderableType] = [
        Text(
            f"{settings['source']}: {rows(measurement.rows)}, {people(measurement.people)}, "
            f"{classes(measurement.class_count)} of {' + '.join(settings['quasi_identifiers'])}"
        ),
        heading("In short"),
        bullet(_identity_in_short(measurement)),
    ]
    for attribute in measurement.sensitive:
        parts.append(bullet(_average_and_worst(measurement, attribute)))
        if conditions and attribute in conditions:
            parts.append(bullet(_conditions_sentence(conditions[attribute])))
    parts += [bullet(f"Note: {note}.") for note in measurement.notes]
    findings = worst_classes(measurement, most=worst, by=by)
    if findings:
        parts.append(heading(f"The worst classes, by {findings[0].metric}"))
        parts += [bullet(finding.why, f"{place}.") for place, finding in enumerate(findings, start=1)]
    return Group(*parts)


def bullet(sentence: str, mark: str = "-") -> RenderableType:
    """One indented sentence; its further lines hang."""
    line = Grid.grid(padding=(0, 1, 0, 0))
    line.add_column(width=len(mark))
    line.add_column()
    line.add_row(mark, Text(sentence))
    return Padding(line, (0, 0, 0, 2))


def _identity_in_short(measurement: Measurement) -> str:
    whole = measurement.identity_view.whole
    alone, k = int(uniques(whole)), int(whole.sizes.min())
    if alone and measurement.settings["person"]:
        # Somebody with rows in several classes may be alone in each of them.
        return (
            f"{classes(alone)} of {measurement.class_count:,} {'holds' if alone == 1 else 'hold'} 1 person only: "
            "whoever knows these columns finds their records."
        )
    if alone:
        verb = "is" if alone == 1 else "are"
        return (
            f"{people(alone)} ({percent(alone / measurement.people)}) {verb} alone in their class: "
            "whoever knows these columns finds their record."
        )
    return (
        f"Nobody is alone: every class has at least {people(k)} (k = {k}), "
        f"so a record is guessed right at most once in {k:,} times."
    )


def heading(text: str) -> RenderableType:
    """A title with a blank line before it."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def _scores(scores: Mapping[str, Score]) -> Listing:
    return Listing(
        ("metric", "value", "unit", "meaning"),
        [(name, number(score.value), score.metric.unit, score.metric.plain) for name, score in scores.items()],
        prose=1,
        right=[1],
        whole=[0, 2],
    )


def _average_and_worst(measurement: Measurement, attribute: str) -> str:
    """When an average hides a class, say so."""
    average = mutual_information(measurement.beliefs[attribute])
    worst = measurement.sensitive[attribute][leading_metric("sensitive").name]
    if worst.worst is None:
        return f"{attribute}: {number(average)} bits on average."
    answer = measurement.ask([Question(worst.metric, 2 * average, attribute)], most=1)[0]
    hidden = answer.tally
    # In a tie the class with the most people, as in the list of the worst classes.
    key = answer.worst[0].key if answer.worst else worst.worst.key
    told = (
        f"On average a class gives {number(average)} bits about {attribute}; "
        f"the worst, {class_name(key)}, gives {number(worst.value)}."
    )
    return (
        f"{told} {percent(hidden.share)} of people are in classes that give more than twice the average."
        if hidden.classes
        else told
    )


def _conditions_sentence(item: Conditions) -> str:
    asked = [f"t = {number(item.t)} bits"] if item.t is not None else []
    asked += [f"entropy l = {number(item.l_value)}"] if item.l_value is not None else []
    average = "keeps" if item.necessary else "breaks"
    breaking = [
        f"{classes(count)} {'breaks' if count == 1 else 'break'} {name}"
        for name, count in (("t", item.classes_breaking_t), ("l", item.classes_breaking_l))
        if count
    ]
    each = " and ".join(breaking) if breaking else "every class keeps them"
    hides = " The average hides these classes." if item.average_hides_classes else ""
    return (
        f"With {' and '.join(asked)} (at most l = {number(2**item.entropy)} can be reached): "
        f"the average {average} them, {each}.{hides}"
    )


def settings_sentence(settings: Mapping[str, Any]) -> str:
    """What the numbers depend on, in one line."""
    parts = [f"nulls: {settings['nulls']}", f"engine: {settings['engine']}", "logarithms: base 2"]
    parts += [f"prior of {name}: {prior}" for name, prior in settings["prior"].items()]
    parts += [f"t-closeness of {name}: {distance} distance" for name, distance in settings["ground_distance"].items()]
    parts += [f"recursive diversity of {name}: l = {l_value}" for name, l_value in settings["recursive_l"].items()]
    parts += [f"people told apart by {settings['person']}"] if settings["person"] else []
    parts += [f"weights: {settings['weight']}"] if settings["weight"] else []
    parts += [
        f"{how.replace('_', ' ')} for {name}: {', '.join('null' if value is None else value for value in values)}"
        for name, known in settings["background"].items()
        for how, values in known.items()
    ]
    return "; ".join(parts) + "."


def verdict_text(verdict: Verdict, measurement: Measurement, *, sample: int = 10) -> RenderableType:
    """Each promise, and the worst of the classes that break it."""
    table = grid("promise", "measured", "verdict", right=[1])
    for outcome in verdict.outcomes:
        table.add_row(outcome.text, number(outcome.value), "holds" if outcome.holds else "BROKEN")
    broken = [outcome for outcome in verdict.outcomes if not outcome.holds]
    told = (
        "The policy holds."
        if verdict.holds
        else f"The policy does not hold: {len(broken)} of {len(verdict.outcomes)} promises are broken."
    )
    parts: list[RenderableType] = [
        Text(f"{measurement.settings['source']}: {rows(measurement.rows)}, {classes(measurement.class_count)}"),
        table,
        *(Padding(_broken(outcome, sample), (1, 0, 0, 0)) for outcome in broken),
        Padding(Text(told, style="bold"), (1, 0, 0, 0)),
        Text(settings_sentence(measurement.settings), style="dim"),
    ]
    return Group(*parts)


def _broken(outcome: Outcome, sample: int) -> RenderableType:
    if not outcome.breaking_classes:
        return Text(f"{outcome.text}: a number of the whole table, {number(outcome.value)}.")
    broken_by = f"{classes(outcome.breaking_classes)} with {people(outcome.breaking_people)}"
    lines: list[RenderableType] = [Text(f"{outcome.text} is broken by {broken_by}{'; the worst:' if sample else '.'}")]
    lines += [
        Padding(Text(f"{class_name(item.key)} ({people(item.size)}): {number(item.value)}"), (0, 0, 0, 2))
        for item in outcome.sample[:sample]
    ]
    return Group(*lines)
