# SPDX-License-Identifier: Apache-2.0
"""A measurement and a verdict: in words, and as JSON documents whose keys are part of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import metrics, results
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Outcome, Verdict, guard
from divulge.views.words import (
    bullet,
    cell,
    class_name,
    classes,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    rows,
    settings_sentence,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 3
Beside = results.Result | list[results.Result]
"""What else was asked about the classes: one answer, or one for identity and each sensitive attribute."""


@results.text_of.register(Measurement)
def measurement_text(
    measurement: Measurement, *, beside: Mapping[str, Beside] | None = None, **story: Any
) -> RenderableType:
    """What is worst and why, what else was asked, then every number and what they depend on; `story` are the options of story_text."""
    parts: list[RenderableType] = [
        story_text(measurement, **story),
        *(
            found.text()
            for asked in (beside or {}).values()
            for found in (asked if isinstance(asked, list) else [asked])
        ),
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
    conditions: Mapping[str, metrics.Conditions] | None = None,
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
    parts += [bullet(noted(note)) for note in measurement.notes]
    findings = worst_classes(measurement, most=worst, by=by)
    if findings:
        parts.append(heading(f"The worst classes, by {findings[0].metric}"))
        parts += [bullet(finding.why, f"{place}.") for place, finding in enumerate(findings, start=1)]
    return Group(*parts)


def _identity_in_short(measurement: Measurement) -> str:
    whole = measurement.identity_view.whole
    alone, k = int(metrics.uniques(whole)), int(whole.sizes.min())
    if measurement.overlapping:
        return _matches_in_short(measurement, alone, k)
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


def _matches_in_short(measurement: Measurement, alone: int, k: int) -> str:
    if alone:
        verb = "matches" if alone == 1 else "match"
        return (
            f"{people(alone)} ({percent(alone / measurement.people)}) {verb} no other record, wildcards counted: "
            "whoever knows these columns finds their record."
        )
    return (
        f"Nobody is alone: every record matches at least {people(k)} (k = {k}), wildcards counted, "
        f"so a record is guessed right at most once in {k:,} times."
    )


def _scores(scores: Mapping[str, metrics.Score]) -> RenderableType:
    table = grid("metric", "value", "unit", "meaning", prose=1, right=[1])
    for name, score in scores.items():
        table.add_row(name, number(score.value), score.metric.unit, score.metric.plain)
    return table


def _average_and_worst(measurement: Measurement, attribute: str) -> str:
    """When an average hides a class, say so."""
    average = measurement.beliefs[attribute].mean_surprise
    worst = measurement.sensitive[attribute][metrics.leading_metric("sensitive").name]
    if worst.worst is None:
        return f"{attribute}: {number(average)} bits on average."
    answer = measurement.ask([metrics.Question(worst.metric, 2 * average, attribute)], most=1)[0]
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


def _conditions_sentence(item: metrics.Conditions) -> str:
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
        f"With {' and '.join(asked)} (at most l = {number(item.l_max)} can be reached): "
        f"the average {average} them, {each}.{hides}"
    )


@results.text_of.register(Verdict)
def verdict_text(verdict: Verdict, *, sample: int = 10) -> RenderableType:
    """Each promise, and the worst of the classes that break it."""
    measurement = verdict.measurement
    table = grid("promise", "measured", "verdict", right=[1])
    for outcome in verdict.outcomes:
        table.add_row(outcome.text, number(outcome.value), "holds" if outcome.holds else "BROKEN")
    broken = [outcome for outcome in verdict.outcomes if not outcome.holds]
    refused = [f"{len(broken)} of {len(verdict.outcomes)} promises are broken"] if broken else []
    refused += ["columns are there that must not be"] if verdict.findings else []
    told = "The policy holds." if verdict.holds else f"The policy does not hold: {', and '.join(refused)}."
    is_said = any(finding.guard == "alone" for finding in verdict.findings)
    notes = [*measurement.notes, *([verdict.alone.text] if verdict.alone and not is_said else [])]
    parts: list[RenderableType] = [
        Text(f"{measurement.settings['source']}: {rows(measurement.rows)}, {classes(measurement.class_count)}"),
        table,
        *(Padding(_broken(outcome, sample), (1, 0, 0, 0)) for outcome in broken),
        *([heading("Columns that must not be there")] if verdict.findings else []),
        *(bullet(f"{finding.guard}: {finding.text}.") for finding in verdict.findings),
        *([Text("")] if notes else []),
        *(bullet(noted(note)) for note in notes),
        Padding(Text(told, style="bold"), (1, 0, 0, 0)),
        Text(settings_sentence(measurement.settings), style="dim"),
    ]
    return Group(*parts)


def _broken(outcome: Outcome, sample: int) -> RenderableType:
    if not outcome.breaking_classes:
        return Text(f"{outcome.text}: a number of the whole table, {number(outcome.value)}.")
    broken_by = f"{classes(outcome.breaking_classes)} with {people(outcome.breaking_people)}"
    shown = outcome.sample[:sample]
    lines: list[RenderableType] = [Text(f"{outcome.text} is broken by {broken_by}{'; the worst:' if shown else '.'}")]
    lines += [
        Padding(Text(f"{class_name(item.key)} ({people(item.size)}): {number(item.value)}"), (0, 0, 0, 2))
        for item in shown
    ]
    return Group(*lines)


@results.document_of.register(Measurement)
def measurement_document(
    measurement: Measurement,
    *,
    classes: bool = False,
    worst: int = 10,
    by: str | None = None,
    conditions: Mapping[str, metrics.Conditions] | None = None,
    beside: Mapping[str, Beside] | None = None,
) -> dict[str, Any]:
    """Everything `divulge measure --json` prints; what was asked `beside` stands under its names, without the settings that are above."""
    document: dict[str, Any] = {
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "notes": list(measurement.notes),
        "identity": _numbers(measurement.identity),
        "sensitive": {name: _numbers(scores) for name, scores in measurement.sensitive.items()},
        "worst": [finding.document() for finding in worst_classes(measurement, most=worst, by=by)],
        "worst_class": {
            "identity": _worst(measurement.identity),
            "sensitive": {name: _worst(scores) for name, scores in measurement.sensitive.items()},
        },
    }
    if conditions:
        document["conditions"] = {name: item.document() for name, item in conditions.items()}
    if classes:
        document["class_table"] = measurement.class_records()
    for name, asked in (beside or {}).items():
        own = [_own(found, measurement.settings) for found in (asked if isinstance(asked, list) else [asked])]
        document[name] = own if isinstance(asked, list) else own[0]
    return document


def _own(found: results.Result, above: Mapping[str, Any]) -> dict[str, Any]:
    document = found.to_dict()
    return {**document, "settings": {name: it for name, it in document["settings"].items() if name not in above}}


def _numbers(scores: Mapping[str, metrics.Score]) -> dict[str, float | int]:
    return {name: score.number for name, score in scores.items()}


def _worst(scores: Mapping[str, metrics.Score]) -> dict[str, Any]:
    return {
        name: {"class": dict(score.worst.key), "size": score.worst.size}
        for name, score in scores.items()
        if score.worst is not None
    }


@results.rows_of.register(Measurement)
def measurement_rows(measurement: Measurement, *, classes: bool = False) -> results.Rows | pa.Table:
    """A row for each metric and what it is about; with `classes` the rows of `Measurement.classes`, one for each class."""
    if classes:
        return measurement.class_table()
    names = ("scope", "attribute", "metric", "value", "unit", "worst_class", "people_in_it")
    scored = [item for scores in (measurement.identity, *measurement.sensitive.values()) for item in scores.values()]
    return names, [
        (
            item.metric.scope, item.attribute, item.metric.name, item.number, item.metric.unit,
            None if item.worst is None else class_name(item.worst.key), None if item.worst is None else item.worst.size,
        )
        for item in scored
    ]  # fmt: skip


@results.document_of.register(Verdict)
def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Everything `divulge check --json` prints."""
    from divulge.views import gates  # which knows anatomized releases too, and a measurement none

    measurement = verdict.measurement
    return {
        "holds": verdict.holds,
        "in_words": gates.broken_in_words(verdict),
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "notes": list(measurement.notes),
        "promises": promises_document(verdict),
        "findings": [
            {"guard": finding.guard, "columns": list(finding.columns), "why": finding.why}
            for finding in verdict.findings
        ],
        "alone": alone_document(verdict.alone),
    }


@results.rows_of.register(Verdict)
def verdict_rows(verdict: Verdict) -> results.Rows:
    """A row for each promise, then one for each finding of the guard of columns."""
    names = (
        "kind",
        "promise",
        "attribute",
        "metric",
        "bound",
        "value",
        "holds",
        "breaking_classes",
        "breaking_people",
        "why",
    )
    nothing = (None,) * 4
    findings = [("finding", finding.guard, *nothing, False, None, None, finding.text) for finding in verdict.findings]
    return names, [*(("promise", *row, None) for row in outcome_rows(verdict)), *findings]  # fmt: skip


@results.text_of.register(metrics.OneClass)
def one_class_text(found: metrics.OneClass) -> RenderableType:
    """Who is in it, every value before and after, and every metric."""
    share = percent(found.size / found.of_people) if found.of_people else "0%"
    parts: list[RenderableType] = [
        Text(f"{found.name}: {people(found.size)}, {share} of the {found.of_people:,} in {found.settings['source']}")
    ]
    for attribute, shares in found.shares.items():
        table = grid(attribute, "before", "in this class", "", right=[1, 2])
        for shift in sorted(shares, key=lambda shift: (-shift.after, -shift.before)):
            table.add_row(cell(shift.value), percent(shift.before), percent(shift.after), _change(shift))
        parts += [heading(f"What is believed of {attribute}"), table]
    for about in [None, *found.shares]:
        table = grid("metric", "value", "unit", right=[1])
        for score in found.scores:
            if score.attribute == about:
                table.add_row(score.metric.name, number(score.number), score.metric.unit)
        parts += [heading("Who is this? (identity)" if about is None else f"What can be learnt about {about}?"), table]
    return Group(*parts, Padding(Text(settings_sentence(found.settings), style="dim"), (1, 0, 0, 0)))


def _change(shift: metrics.Shift) -> str:
    if shift.after == 0:
        return "ruled out"
    if shift.after == 1:
        return "certain"
    if abs(shift.after - shift.before) <= 1e-12:
        return "as before"
    return "rises" if shift.after > shift.before else "falls"


@results.document_of.register(metrics.OneClass)
def one_class_document(found: metrics.OneClass) -> dict[str, Any]:
    """Everything `divulge measure --class --json` prints."""
    told: dict[str | None, dict[str, Any]] = {about: {} for about in [None, *found.shares]}
    for score in found.scores:
        told[score.attribute][score.metric.name] = score.number
    return {
        "class": found.key,
        "size": found.size,
        "people": found.of_people,
        "identity": told[None],
        "sensitive": {name: {"metrics": told[name], "values": list(shares)} for name, shares in found.shares.items()},
        "settings": found.settings,
    }


@results.rows_of.register(metrics.OneClass)
def one_class_rows(found: metrics.OneClass) -> results.Rows:
    """Every value of every sensitive attribute, before and after; as texts where the attributes are of several kinds."""
    pairs = [(name, shift) for name, shares in found.shares.items() for shift in shares]
    plain = len({type(shift.value) for _, shift in pairs if shift.value is not None}) <= 1
    return ("attribute", "value", "before", "after"), [
        (name, shift.value if plain or shift.value is None else str(shift.value), shift.before, shift.after)
        for name, shift in pairs
    ]


def outcome_rows(verdict: Verdict) -> list[tuple[Any, ...]]:
    """Each promise: its words, what it is about, the bound, and what was measured."""
    return [
        (
            item.text, item.attribute, item.promise.metric.name, item.promise.bound, item.value, item.holds,
            item.breaking_classes, item.breaking_people,
        )
        for item in verdict.outcomes
    ]  # fmt: skip


def alone_document(found: guard.Alone | None) -> dict[str, Any] | None:
    """Who is alone with further columns known."""
    if found is None:
        return None
    return {"columns": list(found.columns), "people": found.people, "of": found.of, "share": found.share}


def promises_document(verdict: Verdict) -> list[dict[str, Any]]:
    """Each promise, what was measured, and the worst of the classes that break it."""
    return [
        {
            "promise": outcome.promise.text,
            "protects": outcome.protects,
            "linked": outcome.linked,
            "shown_by": outcome.shown_by or None,
            "metric": outcome.promise.metric.name,
            "scope": outcome.promise.metric.scope,
            "attribute": outcome.attribute,
            "bound": outcome.promise.bound,
            "value": outcome.value,
            "holds": outcome.holds,
            "breaking_classes": outcome.breaking_classes,
            "breaking_people": outcome.breaking_people,
            "sample": [{"class": item.key, "size": item.size, "value": item.value} for item in outcome.sample],
        }
        for outcome in verdict.outcomes
    ]


@dataclass(frozen=True)
class Finding:
    """One class, why it stands out, and the sentence that says so."""

    key: Mapping[str, Any]
    size: int
    attribute: str | None
    metric: str
    value: float | int
    ruled_out: tuple[metrics.Shift, ...]
    over_represented: tuple[metrics.Shift, ...]
    why: str

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "class": dict(self.key),
            "size": self.size,
            "attribute": self.attribute,
            "metric": self.metric,
            "value": self.value,
            "ruled_out": [shift.value for shift in self.ruled_out],
            "over_represented": [
                {"value": shift.value, "before": shift.before, "after": shift.after} for shift in self.over_represented
            ],
            "why": self.why,
        }


def worst_classes(measurement: Measurement, *, most: int = 10, by: str | None = None) -> list[Finding]:
    """The classes that are worst by one metric, by default the one that leads its scope, most people first in a tie."""
    attributes: list[str | None] = list(measurement.beliefs) or [None]
    name = by or metrics.leading_metric("identity" if attributes == [None] else "sensitive").name
    metric = metrics.find_metric(name)
    if measurement.overlapping and name not in measurement.identity:
        raise metrics.not_told(repr(name))
    if attributes == [None] and name in measurement.identity:
        metric = measurement.identity[name].metric
    if metric.scope == "identity":
        attributes = [None]
    elif attributes == [None]:
        raise BadInput(f"{name!r} is about a sensitive attribute, and none was named")
    sizes = measurement.contingency.sizes
    most = most if measurement.survey is None else min(most, measurement.survey.kept)
    candidates: list[tuple[float, int, int, str | None]] = []
    for attribute in attributes:
        numbers = measurement.per_class(name, attribute)
        badness = np.where(np.isnan(numbers), -np.inf, numbers if metric.worse == "high" else -numbers)
        order = metrics.worst_first(badness, sizes, most=most)
        candidates += [
            (round(-float(badness[i]), 12), -int(sizes[i]), int(i), attribute) for i in order if badness[i] > -np.inf
        ]
    candidates.sort(key=lambda item: item[:3])
    return [explain(measurement, index, attribute, name) for _, _, index, attribute in candidates[:most]]


def explain(measurement: Measurement, index: int, attribute: str | None, metric_name: str) -> Finding:
    """Why one class stands out."""
    contingency = measurement.contingency
    key, size = contingency.class_key(index), int(contingency.sizes[index])
    metric = metrics.find_metric(metric_name, "identity" if attribute is None else "sensitive")
    value = metrics.as_number(metric, float(measurement.per_class(metric_name, attribute)[index]))
    if attribute is None:
        matched = int(measurement.identity_view.sizes[index])
        verb = "matches" if measurement.overlapping else "is"
        return Finding(key, size, None, metric_name, value, (), (), _identity_sentence(key, matched, verb))
    ruled_out, over = shifts(measurement, index, attribute)
    return Finding(
        key,
        size,
        attribute,
        metric_name,
        value,
        ruled_out,
        over,
        _sentence(key, size, attribute, ruled_out=ruled_out, over=over),
    )


def shifts(
    measurement: Measurement, index: int, attribute: str
) -> tuple[tuple[metrics.Shift, ...], tuple[metrics.Shift, ...]]:
    """Values the class rules out, most expected first, and values that are commoner in it, largest gain first."""
    found = list(metrics.shares_in(measurement.beliefs[attribute], index))
    ruled_out = [shift for shift in found if shift.after == 0]
    over = [shift for shift in found if shift.after > shift.before + 1e-12]
    return (
        tuple(sorted(ruled_out, key=lambda shift: -shift.before)),
        tuple(sorted(over, key=lambda shift: shift.before - shift.after)),
    )


def _identity_sentence(key: Mapping[str, Any], size: int, verb: str) -> str:
    if size == 1:
        return f"{class_name(key)} {verb} 1 person: whoever knows these values knows whose record it is."
    return f"{class_name(key)} {verb} {people(size)}: a guess at the record is right once in {size:,} times."


def _sentence(
    key: Mapping[str, Any],
    size: int,
    attribute: str,
    *,
    ruled_out: tuple[metrics.Shift, ...],
    over: tuple[metrics.Shift, ...],
) -> str:
    parts = [f"{class_name(key)} ({people(size)})"]
    if not over and not ruled_out:
        return f"{parts[0]}: {attribute} is as in the prior."
    top = over[0] if over else None
    if top is not None and top.after == 1.0:
        parts.append(f"everybody has {attribute}={cell(top.value)}, against {percent(top.before)} before")
    elif top is not None:
        shown = "; ".join(
            f"{cell(shift.value)} from {percent(shift.before)} to {percent(shift.after)}" for shift in over[:_SHOWN]
        )
        parts.append(f"{attribute} rises: {shown}")
    if ruled_out and not (top is not None and top.after == 1.0):
        names = ", ".join(cell(shift.value) for shift in ruled_out[:_SHOWN])
        more = f" and {len(ruled_out) - _SHOWN} more" if len(ruled_out) > _SHOWN else ""
        parts.append(f"an observer can rule out {names}{more}")
    return f"{parts[0]}: {'; '.join(parts[1:])}."
