# SPDX-License-Identifier: Apache-2.0
"""Views of a measurement and a verdict: text and JSON documents.

The keys of the documents are part of the public interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import metrics, results
from divulge.arguments import Sentence, arg, outside, spelled
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.output.formatting import (
    bullet,
    cell,
    classes,
    classes_with_people,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    rows,
    settings_sentence,
)
from divulge.policy import Outcome, Verdict, guard
from divulge.text import class_name

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_VALUES = 3
ExtraResults = results.Result | list[results.Result]
"""Further results about the classes: one result, or a list of results.

A list has one result for identity and one for each sensitive attribute.
"""


@results.text_of.register(Measurement)
def measurement_text(
    measurement: Measurement, *, beside: Mapping[str, ExtraResults] | None = None, **story: Any
) -> RenderableType:
    """Render the worst classes, further results, then every metric and the settings.

    `story` are the options of `story_text`. `beside` are the further results by name.
    """
    parts: list[RenderableType] = [
        story_text(measurement, **story),
        *(
            extra_result.text()
            for extra_results in (beside or {}).values()
            for extra_result in (
                extra_results if isinstance(extra_results, list) else [extra_results]
            )
        ),
        heading("Who is this? (identity)"),
        _score_table(measurement.identity),
    ]
    for attribute, scores in measurement.sensitive.items():
        parts += [heading(f"What can be learnt about {attribute}?"), _score_table(scores)]
    return Group(
        *parts, Padding(Text(settings_sentence(measurement.settings), style="dim"), (1, 0, 0, 0))
    )


def story_text(
    measurement: Measurement,
    *,
    worst: int = 10,
    by: str | None = None,
    conditions: Mapping[str, metrics.Conditions] | None = None,
) -> RenderableType:
    """Render the size of the table, the short answer, and the worst classes."""
    settings = measurement.settings
    parts: list[RenderableType] = [
        Text(
            f"{settings['source']}: {rows(measurement.rows)}, {people(measurement.people)}, "
            f"{classes(measurement.class_count)} of {' + '.join(settings['quasi_identifiers'])}"
        ),
        heading("In short"),
        bullet(_identity_summary(measurement)),
    ]
    for attribute in measurement.sensitive:
        parts.append(bullet(_divergence_sentence(measurement, attribute)))
        if conditions and attribute in conditions:
            parts.append(bullet(_conditions_sentence(conditions[attribute])))
    parts += [bullet(noted(note)) for note in measurement.notes]
    findings = worst_classes(measurement, max_classes=worst, metric_name=by)
    if findings:
        parts.append(heading(f"The worst classes, by {findings[0].metric}"))
        parts += [bullet(finding.why, f"{rank}.") for rank, finding in enumerate(findings, start=1)]
    return Group(*parts)


def _identity_summary(measurement: Measurement) -> str:
    identity = measurement.identity_view.whole_table
    unique_people = int(metrics.uniques(identity))
    k = int(identity.sizes.min())
    if measurement.overlapping:
        return _match_summary(measurement, unique_people, k)
    if unique_people:
        if unique_people == 1:
            verb = "is"
        else:
            verb = "are"
        share = percent(unique_people / measurement.people)
        where = ""
        if measurement.settings["person"]:
            single = int(metrics.single_person_classes(identity))
            where = (
                f" in at least one of their rows ({classes(single)} of "
                f"{measurement.class_count:,} hold one person)"
            )
        return (
            f"{people(unique_people)} ({share}) {verb} unique{where}: "
            "an adversary who knows these columns of such a person finds the record."
        )
    return (
        f"No record is unique by these columns: every class has at least {people(k)} (k = {k}), "
        f"so the record of a person is picked with probability at most 1/{k:,} (about "
        f"{percent(1 / k)})."
    )


def _match_summary(measurement: Measurement, unique_people: int, k: int) -> str:
    if unique_people:
        if unique_people == 1:
            verb = "matches"
        else:
            verb = "match"
        return (
            f"{people(unique_people)} ({percent(unique_people / measurement.people)}) {verb} no "
            "other record, wildcards counted: "
            "an adversary who knows these columns of such a person finds the record."
        )
    return (
        f"No record is unique by these columns: every record matches at least {people(k)} (k "
        f"= {k}), wildcards counted, so the record of a person is picked with probability at most "
        f"1/{k:,} (about {percent(1 / k)})."
    )


def _score_table(scores: Mapping[str, metrics.Score]) -> RenderableType:
    table = grid("metric", "value", "unit", "meaning", prose=1, right=[1])
    for name, score in scores.items():
        table.add_row(name, number(score.value), score.metric.unit, score.metric.plain)
    return table


def _divergence_sentence(measurement: Measurement, attribute: str) -> str:
    """Describe the average and the worst class; say so if the average hides bad classes."""
    average = measurement.beliefs[attribute].mean_surprise
    worst = measurement.sensitive[attribute][metrics.leading_metric("sensitive").name]
    if worst.worst is None:
        return (
            f"{attribute}: the KL divergence from the prior is {number(average)} bits on average."
        )
    answer = measurement.ask([metrics.ClassQuery(worst.metric, 2 * average, attribute)], most=1)[0]
    tally = answer.tally
    # In a tie, name the class with the most people, as the list of worst classes does.
    if answer.worst:
        key = answer.worst[0].key
    else:
        key = worst.worst.key
    sentence = (
        f"{attribute}: the KL divergence of a class from the prior (I1) is {number(average)} bits "
        f"on average and {number(worst.value)} in the worst class, {class_name(key)}."
    )
    if not tally.classes:
        return sentence
    unit = "people"
    if measurement.settings["weight"]:
        unit = "the weight"
    elif measurement.settings["person"]:
        unit = "people (a person counts once in each class and for each value)"
    return (
        f"{sentence} Classes with more than twice the average hold {percent(tally.share)} of "
        f"{unit}."
    )


def _conditions_sentence(item: metrics.Conditions) -> str:
    if item.t is not None:
        bounds = [f"t = {number(item.t)} bits"]
    else:
        bounds = []
    if item.l_value is not None:
        bounds += [f"entropy l = {number(item.l_value)}"]
    if item.necessary:
        average = "keeps"
    else:
        average = "breaks"
    breaking = [
        f"{classes(count)} {'breaks' if count == 1 else 'break'} {name}"
        for name, count in (("t", item.classes_breaking_t), ("l", item.classes_breaking_l))
        if count
    ]
    if breaking:
        class_verdict = " and ".join(breaking)
    else:
        class_verdict = "every class keeps them"
    if item.average_hides_classes:
        hiding_note = " The average hides these classes."
    else:
        hiding_note = ""
    return (
        f"With {' and '.join(bounds)} (at most l = {number(item.l_max)} can be reached): "
        f"the average {average} them, {class_verdict}.{hiding_note}"
    )


@results.text_of.register(Verdict)
def verdict_text(verdict: Verdict, *, sample: int = 10) -> RenderableType:
    """Render each requirement, and the worst of the classes that violate it."""
    measurement = verdict.measurement
    table = grid("promise", "measured", "verdict", right=[1])
    for outcome in verdict.outcomes:
        table.add_row(outcome.text, number(outcome.value), "holds" if outcome.holds else "BROKEN")
    broken = [outcome for outcome in verdict.outcomes if not outcome.holds]
    if broken:
        problems = [f"{len(broken)} of {len(verdict.outcomes)} promises are broken"]
    else:
        problems = []
    if verdict.findings:
        problems += ["columns are there that must not be"]
    if verdict.holds:
        conclusion = "The policy holds."
    else:
        conclusion = f"The policy does not hold: {', and '.join(problems)}."
    warning, unique = uniqueness_lines(verdict.uniqueness, measurement)
    if verdict.accepted_risk:
        warning = [Text(f"WARNING  {verdict.accepted_risk}.", style="bold"), *warning]
    notes = measurement.notes
    parts: list[RenderableType] = [
        *warning,
        Text(
            f"{measurement.settings['source']}: {rows(measurement.rows)}, "
            f"{classes(measurement.class_count)}"
        ),
        *unique,
        table,
        *(
            Padding(
                _violation_text(outcome, sample, by_person=bool(measurement.settings["person"])),
                (1, 0, 0, 0),
            )
            for outcome in broken
        ),
        *([heading("Columns that must not be there")] if verdict.findings else []),
        *(part for finding in verdict.findings for part in finding_parts(finding)),
        *([Text("")] if notes else []),
        *(bullet(noted(note)) for note in notes),
        Padding(Text(conclusion, style="bold"), (1, 0, 0, 0)),
        Text(settings_sentence(measurement.settings), style="dim"),
    ]
    return Group(*parts)


def finding_parts(finding: guard.GuardFinding) -> list[RenderableType]:
    """Render a finding of a guard.

    If columns make people unique, the contribution of each column and a remedy follow.
    """
    parts: list[RenderableType] = [bullet(f"{finding.guard}: {finding.text}.")]
    if finding.contributions:
        table = grid("column", "unique without it", "unique with it only", right=[1, 2])
        for item in finding.contributions:
            table.add_row(item.column, f"{item.without:,}", f"{item.only:,}")
        parts += [
            Padding(table, (0, 0, 0, 4)),
            Padding(Text(f"To publish it, use generalize. {spelled(finding.cure)}."), (0, 0, 0, 4)),
        ]
    return parts


def _violation_text(outcome: Outcome, sample: int, *, by_person: bool) -> RenderableType:
    if not outcome.breaking_classes:
        return Text(f"{outcome.text}: a number of the whole table, {number(outcome.value)}.")
    by_person = by_person and not outcome.linked  # by all their rows, a person is in one class
    broken_by = classes_with_people(
        outcome.breaking_classes, outcome.breaking_people, by_person=by_person
    )
    sample_classes = outcome.sample[:sample]
    lines: list[RenderableType] = [
        Text(f"{outcome.text} is broken by {broken_by}{'; the worst:' if sample_classes else '.'}")
    ]
    lines += [
        Padding(
            Text(f"{class_name(item.key)} ({people(item.size)}): {number(item.value)}"),
            (0, 0, 0, 2),
        )
        for item in sample_classes
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
    beside: Mapping[str, ExtraResults] | None = None,
) -> dict[str, Any]:
    """Return the document of `divulge measure --json`.

    Each result of `beside` has its own key. Its settings omit those of the measurement.
    """
    document: dict[str, Any] = {
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "notes": list(measurement.notes),
        "identity": _score_numbers(measurement.identity),
        "sensitive": {
            name: _score_numbers(scores) for name, scores in measurement.sensitive.items()
        },
        "worst": [
            finding.document()
            for finding in worst_classes(measurement, max_classes=worst, metric_name=by)
        ],
        "worst_class": {
            "identity": _worst_class_document(measurement.identity),
            "sensitive": {
                name: _worst_class_document(scores)
                for name, scores in measurement.sensitive.items()
            },
        },
    }
    if conditions:
        document["conditions"] = {name: item.document() for name, item in conditions.items()}
    if classes:
        document["class_table"] = measurement.class_records()
    for name, extra_results in (beside or {}).items():
        documents = [
            _extra_document(extra_result, measurement.settings)
            for extra_result in (
                extra_results if isinstance(extra_results, list) else [extra_results]
            )
        ]
        if isinstance(extra_results, list):
            document[name] = documents
        else:
            document[name] = documents[0]
    return document


def _extra_document(result: results.Result, above: Mapping[str, Any]) -> dict[str, Any]:
    document = result.to_dict()
    return {
        **document,
        "settings": {
            name: setting for name, setting in document["settings"].items() if name not in above
        },
    }


def _score_numbers(scores: Mapping[str, metrics.Score]) -> dict[str, float | int]:
    return {name: score.number for name, score in scores.items()}


def _worst_class_document(scores: Mapping[str, metrics.Score]) -> dict[str, Any]:
    return {
        name: {"class": dict(score.worst.key), "size": score.worst.size}
        for name, score in scores.items()
        if score.worst is not None
    }


@results.rows_of.register(Measurement)
def measurement_rows(measurement: Measurement, *, classes: bool = False) -> results.Rows | pa.Table:
    """Table with one row for each metric.

    With `classes`, return the table of `Measurement.classes`, which has a row for each class.
    """
    if classes:
        return measurement.class_table()
    names = ("scope", "attribute", "metric", "value", "unit", "worst_class", "people_in_it")
    all_scores = [
        item
        for scores in (measurement.identity, *measurement.sensitive.values())
        for item in scores.values()
    ]
    return names, [
        (
            item.metric.scope,
            item.attribute,
            item.metric.name,
            item.number,
            item.metric.unit,
            None if item.worst is None else class_name(item.worst.key),
            None if item.worst is None else item.worst.size,
        )
        for item in all_scores
    ]


@results.document_of.register(Verdict)
def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return the document of `divulge check --json`."""
    from divulge.output import ci_reports  # gates imports api.check, which is not needed here

    measurement = verdict.measurement
    return {
        "holds": verdict.holds,
        "in_words": ci_reports.broken_in_words(verdict),
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "notes": list(measurement.notes),
        "promises": promises_document(verdict),
        "accepted_risk": verdict.accepted_risk or None,
        "findings": [
            {
                "guard": finding.guard,
                "columns": list(finding.columns),
                "why": finding.why,
                "contributions": [item._asdict() for item in finding.contributions],
                "cure": finding.cure or None,
            }
            for finding in verdict.findings
        ],
        "uniqueness": uniqueness_document(verdict.uniqueness),
    }


@results.rows_of.register(Verdict)
def verdict_rows(verdict: Verdict) -> results.Rows:
    """Table with one row for each requirement, then for each finding of a guard."""
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
    findings = [
        ("finding", finding.guard, *nothing, False, None, None, finding.text)
        for finding in verdict.findings
    ]
    return names, [*(("promise", *row, None) for row in outcome_rows(verdict)), *findings]


@results.text_of.register(metrics.ClassDetail)
def one_class_text(result: metrics.ClassDetail) -> RenderableType:
    """Render the size of a class, every value before and after, and every metric."""
    if result.of_people:
        share = percent(result.size / result.of_people)
    else:
        share = "0%"
    parts: list[RenderableType] = [
        Text(
            f"{result.name}: {people(result.size)}, {share} of the {result.of_people:,} in "
            f"{result.settings['source']}"
        )
    ]
    for attribute, shares in result.shares.items():
        table = grid(attribute, "before", "in this class", "", right=[1, 2])
        for shift in sorted(shares, key=lambda shift: (-shift.after, -shift.before)):
            table.add_row(
                cell(shift.value), percent(shift.before), percent(shift.after), _shift_label(shift)
            )
        parts += [heading(f"What is believed of {attribute}"), table]
    for about in [None, *result.shares]:
        table = grid("metric", "value", "unit", right=[1])
        for score in result.scores:
            if score.attribute == about:
                table.add_row(score.metric.name, number(score.number), score.metric.unit)
        parts += [
            heading(
                "Who is this? (identity)" if about is None else f"What can be learnt about {about}?"
            ),
            table,
        ]
    return Group(
        *parts, Padding(Text(settings_sentence(result.settings), style="dim"), (1, 0, 0, 0))
    )


def _shift_label(shift: metrics.Shift) -> str:
    if shift.after == 0:
        return "ruled out"
    if shift.after == 1:
        return "certain"
    if abs(shift.after - shift.before) <= 1e-12:
        return "as before"
    if shift.after > shift.before:
        return "rises"
    return "falls"


@results.document_of.register(metrics.ClassDetail)
def one_class_document(result: metrics.ClassDetail) -> dict[str, Any]:
    """Return the document of `divulge measure --class --json`."""
    scores_by_attribute: dict[str | None, dict[str, Any]] = {
        about: {} for about in [None, *result.shares]
    }
    for score in result.scores:
        scores_by_attribute[score.attribute][score.metric.name] = score.number
    return {
        "class": result.key,
        "size": result.size,
        "people": result.of_people,
        "identity": scores_by_attribute[None],
        "sensitive": {
            name: {"metrics": scores_by_attribute[name], "values": list(shares)}
            for name, shares in result.shares.items()
        },
        "settings": result.settings,
    }


@results.rows_of.register(metrics.ClassDetail)
def one_class_rows(result: metrics.ClassDetail) -> results.Rows:
    """Table of every value of every sensitive attribute, before and after.

    Values are texts if the attributes have several types.
    """
    pairs = [(name, shift) for name, shares in result.shares.items() for shift in shares]
    has_one_type = len({type(shift.value) for _, shift in pairs if shift.value is not None}) <= 1
    return ("attribute", "value", "before", "after"), [
        (
            name,
            shift.value if has_one_type or shift.value is None else str(shift.value),
            shift.before,
            shift.after,
        )
        for name, shift in pairs
    ]


def outcome_rows(verdict: Verdict) -> list[tuple[Any, ...]]:
    """Rows of requirements: text, attribute, metric, bound, value, verdict and violations."""
    return [
        (
            item.text,
            item.attribute,
            item.promise.metric.name,
            item.promise.bound,
            item.value,
            item.holds,
            item.breaking_classes,
            item.breaking_people,
        )
        for item in verdict.outcomes
    ]


def uniqueness_document(uniqueness: guard.uniqueness.Uniqueness | None) -> dict[str, Any] | None:
    """Return the numbers of people unique by all published columns, or None if not measured."""
    if uniqueness is None:
        return None
    return {
        "quasi_identifiers": list(uniqueness.quasi_identifiers),
        "columns": list(uniqueness.columns),
        "sensitive": list(uniqueness.sensitive),
        "unit": uniqueness.unit,
        "linked": uniqueness.linked,
        "k": uniqueness.k,
        "unique_by_quasi_identifiers": uniqueness.by_quasi_identifiers,
        "unique": uniqueness.unique,
        "unique_with_sensitive": uniqueness.with_sensitive,
        "of": uniqueness.of,
        "share": uniqueness.share,
        "unique_share": uniqueness.required,
        "in_words": uniqueness.text,
        "warning": uniqueness.warning or None,
    }


def uniqueness_lines(
    uniqueness: guard.uniqueness.Uniqueness | None, measurement: Measurement
) -> tuple[list[Text], list[Text]]:
    """Return the warning above the name of the table, and the lines below it."""
    if uniqueness is None:
        return [], []
    has_same_k = uniqueness.k == int(measurement.identity_view.whole_table.sizes.min())
    sentence = uniqueness.sentence(with_k=has_same_k)
    if uniqueness.allowance:
        allowance = [Text(f"{uniqueness.allowance}.")]
    else:
        allowance = []
    if uniqueness.warns:
        limit_hint = f"No requirement limits this: {spelled(arg('unique_share'))} does."
        return [Text(f"WARNING  {sentence}. {limit_hint}", style="bold")], allowance
    if has_same_k:
        line = f"{sentence}."
    else:
        line = f"{sentence[0].upper()}{sentence[1:]}."
    return [], [Text(line), *allowance]


def attribute_sentence(attribute: str | None) -> Sentence | None:
    """Return an attribute of a requirement; redaction hides chosen values that name one."""
    if attribute is None:
        return None
    return Sentence(outside(attribute))


def promises_document(verdict: Verdict) -> list[dict[str, Any]]:
    """Return each requirement, the measured value, and the worst classes that violate it."""
    return [
        {
            "promise": outcome.promise.text,
            "protects": outcome.protects,
            "linked": outcome.linked,
            "new_records": outcome.new_records,
            "shown_by": outcome.shown_by or None,
            "metric": outcome.promise.metric.name,
            "scope": outcome.promise.metric.scope,
            "attribute": attribute_sentence(outcome.attribute),
            "bound": outcome.promise.bound,
            "value": outcome.value,
            "holds": outcome.holds,
            "breaking_classes": outcome.breaking_classes,
            "breaking_people": outcome.breaking_people,
            "sample": [
                {"class": item.key, "size": item.size, "value": item.value}
                for item in outcome.sample
            ],
        }
        for outcome in verdict.outcomes
    ]


@dataclass(frozen=True)
class Finding:
    """One of the worst classes, with the sentence that explains it."""

    key: Mapping[str, Any]
    size: int
    attribute: str | None
    metric: str
    value: float | int
    ruled_out: tuple[metrics.Shift, ...]
    over_represented: tuple[metrics.Shift, ...]
    why: str

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "class": dict(self.key),
            "size": self.size,
            "attribute": self.attribute,
            "metric": self.metric,
            "value": self.value,
            "ruled_out": [shift.value for shift in self.ruled_out],
            "over_represented": [
                {"value": shift.value, "before": shift.before, "after": shift.after}
                for shift in self.over_represented
            ],
            "why": self.why,
        }


def worst_classes(
    measurement: Measurement, *, max_classes: int = 10, metric_name: str | None = None
) -> list[Finding]:
    """Return the worst classes by one metric, the largest first in a tie.

    The default metric is the leading metric of identity or of sensitive attributes.
    """
    attributes: list[str | None] = list(measurement.beliefs) or [None]
    name = (
        metric_name
        or metrics.leading_metric("identity" if attributes == [None] else "sensitive").name
    )
    metric = metrics.find_metric(name)
    if measurement.overlapping and name not in measurement.identity:
        raise metrics.overlap_error(repr(name))
    if attributes == [None] and name in measurement.identity:
        metric = measurement.identity[name].metric
    if metric.scope == "identity":
        attributes = [None]
    elif attributes == [None]:
        raise BadInput(f"{name!r} is about a sensitive attribute, and none was named")
    sizes = measurement.contingency.sizes
    if measurement.survey is not None:
        max_classes = min(max_classes, measurement.survey.kept)
    candidates: list[tuple[float, int, int, str | None]] = []
    for attribute in attributes:
        numbers = measurement.per_class(name, attribute)
        badness = np.where(
            np.isnan(numbers), -np.inf, numbers if metric.worse == "high" else -numbers
        )
        order = metrics.worst_first(badness, sizes, limit=max_classes)
        candidates += [
            (round(-float(badness[i]), 12), -int(sizes[i]), int(i), attribute)
            for i in order
            if badness[i] > -np.inf
        ]
    candidates.sort(key=lambda item: item[:3])
    return [
        explain(measurement, index, attribute, name)
        for _, _, index, attribute in candidates[:max_classes]
    ]


def explain(
    measurement: Measurement, index: int, attribute: str | None, metric_name: str
) -> Finding:
    """Explain why one class is among the worst."""
    contingency = measurement.contingency
    key = contingency.class_key(index)
    size = int(contingency.sizes[index])
    metric = metrics.find_metric(metric_name, "identity" if attribute is None else "sensitive")
    value = metrics.as_number(metric, float(measurement.per_class(metric_name, attribute)[index]))
    if attribute is None:
        matched = int(measurement.identity_view.sizes[index])
        if measurement.overlapping:
            verb = "matches"
        else:
            verb = "is"
        return Finding(
            key, size, None, metric_name, value, (), (), _identity_sentence(key, matched, verb)
        )
    ruled_out, over = shifts(measurement, index, attribute)
    return Finding(
        key,
        size,
        attribute,
        metric_name,
        value,
        ruled_out,
        over,
        _class_sentence(key, size, attribute, ruled_out=ruled_out, over=over),
    )


def shifts(
    measurement: Measurement, index: int, attribute: str
) -> tuple[tuple[metrics.Shift, ...], tuple[metrics.Shift, ...]]:
    """Return the values that a class rules out, and the values that are more common in it.

    The first are sorted by prior, the second by gain, largest first.
    """
    all_shifts = list(metrics.shares_in(measurement.beliefs[attribute], index))
    ruled_out = [shift for shift in all_shifts if shift.after == 0]
    over = [shift for shift in all_shifts if shift.after > shift.before + 1e-12]
    return (
        tuple(sorted(ruled_out, key=lambda shift: -shift.before)),
        tuple(sorted(over, key=lambda shift: shift.before - shift.after)),
    )


def _identity_sentence(key: Mapping[str, Any], size: int, verb: str) -> str:
    if size == 1:
        return (
            f"{class_name(key)} {verb} 1 person: anyone who knows these values knows whose "
            "record it is."
        )
    return (
        f"{class_name(key)} {verb} {people(size)}: the record of one of them is picked with "
        f"probability {percent(1 / size)}."
    )


def _class_sentence(
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
    if over:
        top = over[0]
    else:
        top = None
    if top is not None and top.after == 1.0:
        parts.append(
            f"everybody has {attribute}={cell(top.value)}, against {percent(top.before)} before"
        )
    elif top is not None:
        rises = "; ".join(
            f"{cell(shift.value)} from {percent(shift.before)} to {percent(shift.after)}"
            for shift in over[:_MOST_VALUES]
        )
        parts.append(f"{attribute} rises: {rises}")
    if ruled_out and not (top is not None and top.after == 1.0):
        names = ", ".join(cell(shift.value) for shift in ruled_out[:_MOST_VALUES])
        if len(ruled_out) > _MOST_VALUES:
            more = f" and {len(ruled_out) - _MOST_VALUES:,} more"
        else:
            more = ""
        parts.append(f"an observer can rule out {names}{more}")
    return f"{parts[0]}: {'; '.join(parts[1:])}."
