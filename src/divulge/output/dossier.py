# SPDX-License-Identifier: Apache-2.0
"""Views of results about one person's records: text, JSON documents and tables.

Graph and timeline are data for a chart. Nodes have the cluster they ended in. Edges have the rule
and the values that joined them. The timeline has one point for each record, in the order of
arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from divulge import dossier, results
from divulge.output.formatting import grid, people

MOST_ROWS = 20
"""Largest number of table rows shown on a terminal."""
_NO_LEAKAGE = "Nothing in these records is true of you."


def share(value: float) -> str:
    """Format a leakage in percent, with a sign only if it is negative.

    Values below 1 % have two significant digits.

    >>> share(8 / 9), share(0.0042), share(0)
    ('89 %', '0.42 %', '0 %')
    """
    percent = 100 * value
    if percent == 0 or abs(percent) >= 1:
        return f"{percent:.0f} %"
    return f"{percent:.2g} %"


@results.text_of.register(dossier.Leakage)
def leakage_text(result: dossier.Leakage) -> RenderableType:
    """Render the leakage of one record as a sentence."""
    if result.method == "taylor":
        nearly = "about "
    else:
        nearly = ""
    sentence = (
        f"Whoever holds this record knows {nearly}{share(result.leakage)} of you: "
        f"{share(result.precision)} of what it "
        f"says is true, and it covers {share(result.recall)} of what there is to know."
    )
    return Group(sentence, *settings_text(result.settings))


@results.text_of.register(dossier.SetLeakage)
def set_leakage_text(result: dossier.SetLeakage) -> RenderableType:
    """Render the most revealing record."""
    who = abbreviated_list(map(dossier.name_of, result.witnesses))
    sentence = (
        f"The most telling of {len(result.each):,} records gives away {share(result.leakage)} of "
        f"you: {who}."
    )
    return Group(sentence if result.witnesses else _NO_LEAKAGE, *settings_text(result.settings))


def settings_text(settings: Mapping[str, Any]) -> list[RenderableType]:
    """Return an empty line and a line with the settings that differ from the default.

    The list is empty if all settings have their default.
    """
    parts = [
        f"{name} {settings[name]}"
        for name in ("method", "beta")
        if settings.get(name) not in (None, "exact", 1.0)
    ]
    for name, words in (("weights", "weights"), ("graded", "near misses count within")):
        if setting := settings.get(name):
            values = (
                f"{label} = "
                f"{setting_value if isinstance(setting_value, str) else format(setting_value, 'g')}"
                for label, setting_value in setting.items()
            )
            parts.append(f"{words} {', '.join(values)}")
    if settings.get("background"):
        parts.append(f"rare values of {', '.join(settings['background'])} tell more")
    parts += [
        f"{label} is what {' and '.join(labels)} tell together"
        for label, labels in (settings.get("joint") or {}).items()
    ]
    if settings.get("generalized_confidence", 1.0) != 1.0:
        parts.append(f"generalized values count {settings['generalized_confidence']:g}")
    if settings.get("equivalence"):
        parts.append("equivalent values are one")
    if parts:
        return ["", f"In force: {'; '.join(parts)}."]
    return []


@results.text_of.register(dossier.Attack)
def attack_text(
    result: dossier.Attack,
    *,
    kept: Iterable[dossier.Without] = (),
    steps: dossier.Timeline | None = None,
) -> RenderableType:
    """Render the most revealing merged record, the effect of labels, and all merged records.

    `kept` and `steps` are the results of `without` and `timeline`, if they were requested.
    """
    table = grid("record", "leakage", "made of", right=[1])
    ranked = sorted(zip(result.records, result.each, strict=True), key=lambda pair: -pair[1])
    for record, leakage in ranked[:MOST_ROWS]:
        table.add_row(
            _record_name(record), share(leakage), abbreviated_list(sorted(record.sources))
        )
    if len(ranked) > MOST_ROWS:
        more = [f"... and {len(ranked) - MOST_ROWS:,} more records"]
    else:
        more = []
    before = "Without linking, the most telling record gives away"
    if result.leakage < result.before:
        before = "Linking misleads here: the most telling single record gives away"
    cost_lines = []
    if cost_function := result.settings.get("cost"):
        coefficient = cost_function["coefficient"]
        exponent = cost_function["exponent"]
        price = f"linking |R| records costs {coefficient:g} * |R|^{exponent:g}"
        cost_lines = [
            f"{before} {share(result.before)}.",
            f"The analysis costs the adversary {result.cost:g} ({price}).",
        ]
    if steps is None:
        timeline_lines = []
    else:
        timeline_lines = ["", _timeline_table(steps)]
    return Group(
        _witness_sentence(result, kept),
        *cost_lines,
        "",
        table,
        *more,
        *timeline_lines,
        *settings_text(result.settings),
    )


def resolution_text(
    records: Sequence[dossier.Record], record_count: int, ties: Sequence[Mapping[str, Any]]
) -> RenderableType:
    """Render the number of records before and after merging, and the reasons for joins."""
    merged = [record for record in records if len(record.sources) > 1]
    table = grid("merged record", "of", "says")
    for record in sorted(merged, key=lambda record: -len(record.sources))[:MOST_ROWS]:
        attributes_text = abbreviated_list(map(dossier.show, record.attributes))
        table.add_row(_record_name(record), f"{len(record.sources)} records", attributes_text)
    joins = [
        f"  {tie['source']} and {tie['target']}: {_join_reason(tie)}" for tie in ties[:MOST_ROWS]
    ]
    head = (
        f"{record_count:,} records are about {people(len(records))}, as far as the adversary can "
        "tell."
    )
    if merged:
        details: list[RenderableType] = ["", table, "", "Joined because of:", *joins]
    else:
        details = []
    return Group(head, *details)


@results.text_of.register(dossier.Dip)
def dip_text(result: dossier.Dip) -> RenderableType:
    """Render the records that the query reaches, and the merged attributes."""
    reached = f"leads to {len(result.reached)} records: {abbreviated_list(sorted(result.reached))}"
    table = grid("label", "value", "confidence", right=[2])
    for attribute, confidence in result.record.attributes.items():
        table.add_row(attribute.label, attribute.value, f"{confidence:.3g}")
    if result.leakage is not None:
        leakage_lines = [f"Together that is {share(result.leakage)} of you."]
    else:
        leakage_lines = []
    sentence = f"The query {reached if result.reached else 'leads nowhere'}."
    return Group(sentence, *leakage_lines, "", table, *settings_text(result.settings))


@results.text_of.register(dossier.Timeline)
def timeline_text(steps: dossier.Timeline) -> RenderableType:
    """Render the leakage after each record."""
    return Group(_timeline_table(steps), *settings_text(steps.settings))


def _timeline_table(steps: dossier.Timeline) -> RenderableType:
    table = grid("after record", "leakage", "change", "joined with", right=[1, 2])
    for step in steps.items[-MOST_ROWS:]:
        table.add_row(
            step.id,
            share(step.leakage),
            signed_share(step.change),
            abbreviated_list(sorted(step.joined)),
        )
    if len(steps) > MOST_ROWS:
        head = f"The last {MOST_ROWS} of {len(steps):,} records:"
    else:
        head = "Record by record:"
    return Group(head, table)


@results.text_of.register(dossier.WithoutLabels)
def without_text(result: dossier.WithoutLabels) -> RenderableType:
    """Render the leakage if a label had never been disclosed."""
    table = grid("without", "leakage", "change", right=[1, 2])
    for scenario in result:
        table.add_row(scenario.label, share(scenario.leakage), signed_share(scenario.change))
    return Group("If nobody had been given a label:", table, *settings_text(result.settings))


@results.text_of.register(dossier.Increment)
def increment_text(result: dossier.Increment) -> RenderableType:
    """Render the leakage that one release would add."""
    return release_text(dossier.Alternatives((result,), result.settings))


@results.text_of.register(dossier.Alternatives)
def release_text(result: dossier.Alternatives) -> RenderableType:
    """Render the recommended alternative and all alternatives."""
    if not result:
        return Group("There is nothing to release.", *settings_text(result.settings))
    best = result[0]
    table = grid("release", "leakage", "change", "would be joined with", right=[1, 2])
    for alternative in result:
        table.add_row(
            alternative.name,
            share(alternative.after),
            signed_share(alternative.change),
            abbreviated_list(sorted(alternative.joined)),
        )
    after = share(best.after)
    before = share(best.before)
    advice = f"Release {best.name}: the adversary then knows {after} of you, now it is {before}."
    if len(result) == 1:
        advice = f"With {best.name}, the adversary knows {after} of you; without it, {before}."
    return Group(advice, "", table, *settings_text(result.settings))


@results.text_of.register(dossier.Disinformation)
def disinformation_text(result: dossier.Disinformation) -> RenderableType:
    """Render the disinformation to release, its effect and its cost."""
    if result.method in ("exact", "bounded", "greedy"):
        scope = "these candidates and this budget"
    else:
        scope = "this budget"
    if not result.chosen:
        if result.optimal:
            failure = "There is nothing"
        else:
            failure = "Nothing was found"
        head = (
            f"{failure} that a budget of {result.budget:g} buys to lower the leakage of "
            f"{share(result.before)}."
        )
    else:
        head = (
            f"The leakage falls from {share(result.before)} to {share(result.leakage)} for a "
            f"cost of {result.cost:g}."
        )
    table = grid("release", "cost", "says", right=[1])
    for candidate in result.chosen:
        table.add_row(
            candidate.name,
            f"{candidate.cost:g}",
            abbreviated_list(map(dossier.show, candidate.record.attributes)),
        )
    if result.optimal:
        quality = f"Nothing better is possible with {scope} (proved: {result.method})."
    else:
        bound = (
            f"no less than {result.lower_bound:.4f} is possible with {scope}; the gap is at most "
            f"{result.gap:.4f}"
        )
        quality = (
            f"This is the best found ({result.method}), a leakage of {result.leakage:.4f}: {bound}."
        )
    if result.method == "greedy":
        baseline = ["Greedy choice is only a baseline: use exact or bounded."]
    else:
        baseline = []
    if result.chosen:
        choice: list[RenderableType] = ["", table, ""]
    else:
        choice = []
    return Group(head, *choice, quality, *baseline, *settings_text(result.settings))


@results.text_of.register(dossier.Enhancement)
def enhancement_text(result: dossier.Enhancement) -> RenderableType:
    """Render the attributes to verify next in one composite record."""
    return enhancements_text(dossier.Enhancements((result,), result.settings))


@results.text_of.register(dossier.Enhancements)
def enhancements_text(result: dossier.Enhancements) -> RenderableType:
    """Render the attributes to verify next, for each composite record."""
    parts: list[RenderableType] = []
    for enhancement in result:
        if parts:
            parts += [""]
        parts.append(
            f"{_record_name(enhancement.record)} is {share(enhancement.certainty)} certain."
        )
        table = grid(
            "verify", "in record", "confidence", "gain", "cost", "gain per cost", right=[2, 3, 4, 5]
        )
        for option in enhancement.options[:MOST_ROWS]:
            prices = (
                f"{option.confidence:g}",
                f"{option.gain:.4f}",
                f"{option.cost:.3g}",
                f"{option.ratio:.4f}",
            )
            table.add_row(dossier.show(option.attribute), option.source, *prices)
        parts.append(table if enhancement.options else "Nothing is in doubt.")
    return Group(*parts, *settings_text(result.settings))


@results.text_of.register(dossier.PeopleLeakage)
def people_text(result: dossier.PeopleLeakage) -> RenderableType:
    """Render the leakage of each person in a table."""
    table = grid("person", "leakage", "rows behind it", right=[1])
    for person_leakage in result.items[:MOST_ROWS]:
        rows = sorted({source for record in person_leakage.witnesses for source in record.sources})
        table.add_row(person_leakage.person, share(person_leakage.leakage), abbreviated_list(rows))
    return Group(table, *settings_text(result.settings))


def abbreviated_list(names: Iterable[str], *, max_names: int = 6, between: str = ", ") -> str:
    """Join the first names of a list, and state how many more there are."""
    name_list = list(names)
    return between.join(name_list[:max_names]) + (
        f" and {len(name_list) - max_names:,} more" if len(name_list) > max_names else ""
    )


def _record_name(record: dossier.Record) -> str:
    """Return the name of a record, shortened if it merges many records."""
    if record.id is not None:
        return record.id
    return abbreviated_list(sorted(record.sources), between="+")


def signed_share(change: float) -> str:
    """Format a change in percentage points, with its sign."""
    return f"{'+' if change > 0 else ''}{share(change)}"


def _join_reason(tie: Mapping[str, Any]) -> str:
    if "rule" in tie:
        return f"the same {tie['rule']} ({', '.join(tie['values'])})"
    return f"about one person with probability {tie['probability']:.3g}"


def _witness_sentence(result: dossier.Attack, scenarios: Iterable[dossier.Without]) -> str:
    if not result.witnesses:
        return _NO_LEAKAGE
    sources = sorted(result.witnesses[0].sources)
    who = f"An adversary who holds the record {_record_name(result.witnesses[0])}"
    if len(sources) > 1:
        who = f"An adversary who links these {len(sources)} records ({abbreviated_list(sources)})"
    helpful = [scenario for scenario in scenarios if scenario.leakage < result.leakage]
    rest = "".join(
        f"; without {scenario.label}, {share(scenario.leakage)}" for scenario in helpful[:3]
    )
    return f"{who} knows {share(result.leakage)} of you{rest}."


def _select_fields(instance: object, *names: str) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in names}


def record_document(record: dossier.Record) -> dict[str, Any]:
    """Return a record with its provenance as JSON."""
    return {
        **dossier.record_to_json(record),
        "id": dossier.name_of(record),
        "sources": sorted(record.sources),
    }


@results.document_of.register(dossier.Leakage)
def leakage_document(result: dossier.Leakage) -> dict[str, Any]:
    """Return leakage, precision and recall of one record; approximations are marked."""
    if result.method == "taylor":
        approximate = {"approximate": True}
    else:
        approximate = {}
    return {
        **_select_fields(result, "leakage", "precision", "recall"),
        **approximate,
        "settings": result.settings,
    }


@results.rows_of.register(dossier.Leakage)
def leakage_rows(result: dossier.Leakage) -> results.Rows:
    """Table with one row."""
    return _one_row(result, "leakage", "precision", "recall", "method", "error_bound")


def _one_row(instance: object, *names: str) -> results.Rows:
    return names, [tuple(getattr(instance, name) for name in names)]


@results.document_of.register(dossier.SetLeakage)
def set_leakage_document(result: dossier.SetLeakage) -> dict[str, Any]:
    """Return the leakage of a database and of each record, and the witnesses."""
    return {
        **_select_fields(result, "leakage", "each", "settings"),
        "witnesses": list(map(dossier.name_of, result.witnesses)),
        "witness_records": list(map(record_document, result.witnesses)),
    }


@results.rows_of.register(dossier.SetLeakage)
def set_leakage_rows(result: dossier.SetLeakage) -> results.Rows:
    """Table with one row for each record, in the order of the database."""
    return ("record", "leakage"), list(enumerate(result.each, start=1))


@results.document_of.register(dossier.Timeline)
def timeline_document(result: dossier.Timeline) -> dict[str, Any]:
    """Return the steps in the format of the document of an attack."""
    names, rows = timeline_rows(result)
    return {
        "timeline": [dict(zip(names, row, strict=True)) for row in rows],
        "settings": result.settings,
    }


@results.rows_of.register(dossier.Timeline)
def timeline_rows(result: dossier.Timeline) -> results.Rows:
    """Table with one row for each record, in the order of arrival.

    `joined` has the ids of the earlier records it was merged with.
    """
    return ("position", "id", "leakage", "change", "records", "joined"), [
        (number, step.id, step.leakage, step.change, step.records, sorted(step.joined))
        for number, step in enumerate(result, start=1)
    ]


@results.document_of.register(dossier.WithoutLabels)
def without_document(result: dossier.WithoutLabels) -> dict[str, Any]:
    """Return the effect of each undisclosed label, in the format of an attack's document."""
    return {"without": list(map(asdict, result)), "settings": result.settings}


@results.rows_of.register(dossier.WithoutLabels)
def without_rows(result: dossier.WithoutLabels) -> results.Rows:
    """Table with one row for each label."""
    return ("label", "leakage", "change"), [
        (scenario.label, scenario.leakage, scenario.change) for scenario in result
    ]


@results.document_of.register(dossier.Attack)
def attack_document(
    result: dossier.Attack,
    *,
    graph: Mapping[str, Any] | None = None,
    kept: Iterable[dossier.Without] = (),
    steps: dossier.Timeline | None = None,
) -> dict[str, Any]:
    """Return the leakage of a database and of each merged record, and the witnesses.

    Graph, labels and timeline are included if they were requested.
    """
    without = list(map(asdict, kept))
    if not steps:
        timeline = {}
    else:
        timeline = {"timeline": timeline_document(steps)["timeline"]}
    return {
        "leakage": result.leakage,
        "records": [
            {"id": dossier.name_of(record), "leakage": leakage, "sources": sorted(record.sources)}
            for record, leakage in zip(result.records, result.each, strict=True)
        ],
        "witnesses": list(map(dossier.name_of, result.witnesses)),
        "witness_records": list(map(record_document, result.witnesses)),
        "before": result.before,
        "cost": result.cost,
        **({"graph": graph} if graph is not None else {}),
        **({"without": without} if without else {}),
        **timeline,
        "settings": result.settings,
    }


@results.rows_of.register(dossier.Attack)
def attack_rows(result: dossier.Attack) -> results.Rows:
    """Table with one row for each merged record, with its source records."""
    return ("record", "leakage", "sources", "witness"), [
        (dossier.name_of(record), leakage, sorted(record.sources), record in result.witnesses)
        for record, leakage in zip(result.records, result.each, strict=True)
    ]


@results.document_of.register(dossier.Dip)
def dip_document(result: dossier.Dip) -> dict[str, Any]:
    """Return the record and the sources that the query reaches."""
    if result.leakage is None:
        leakage_field = {}
    else:
        leakage_field = {"leakage": result.leakage}
    return {
        "record": record_document(result.record),
        "reached": sorted(result.reached),
        **leakage_field,
        "settings": result.settings,
    }


@results.rows_of.register(dossier.Dip)
def dip_rows(result: dossier.Dip) -> results.Rows:
    """Table with one row for each inferred attribute."""
    attributes = result.record.attributes.items()
    return ("label", "value", "confidence"), [
        (attribute.label, attribute.value, confidence) for attribute, confidence in attributes
    ]


@results.document_of.register(dossier.Increment)
def increment_document(result: dossier.Increment) -> dict[str, Any]:
    """Return the document of `dossier.Alternatives` with one alternative."""
    return release_document(dossier.Alternatives((result,), result.settings))


@results.rows_of.register(dossier.Increment)
def increment_rows(result: dossier.Increment) -> results.Rows:
    """Table with one row."""
    return release_rows(dossier.Alternatives((result,), result.settings))


@results.rows_of.register(dossier.Alternatives)
def release_rows(result: dossier.Alternatives) -> results.Rows:
    """Table with one row for each alternative, the least revealing first.

    `joined` has the ids of the records it would be merged with.
    """
    return ("release", "before", "after", "change", "joined"), [
        (
            alternative.name,
            alternative.before,
            alternative.after,
            alternative.change,
            sorted(alternative.joined),
        )
        for alternative in result
    ]


@results.document_of.register(dossier.Alternatives)
def release_document(result: dossier.Alternatives) -> dict[str, Any]:
    """Return the alternatives, the least revealing first."""
    return {
        "before": result[0].before if result else None,
        "alternatives": [
            {
                **_select_fields(alternative, "name", "after", "change"),
                "joined": sorted(alternative.joined),
                "witnesses": list(map(dossier.name_of, alternative.witnesses)),
            }
            for alternative in result
        ],
        "best": result[0].name if result else None,
        "settings": result.settings,
    }


@results.document_of.register(dossier.Disinformation)
def disinformation_document(result: dossier.Disinformation) -> dict[str, Any]:
    """Return the chosen records and the bound on better choices."""
    return {
        **_select_fields(
            result,
            "before",
            "leakage",
            "budget",
            "cost",
            "method",
            "optimal",
            "lower_bound",
            "gap",
            "examined",
        ),
        "settings": result.settings,
        "chosen": [
            {
                "name": candidate.name,
                "cost": candidate.cost,
                "attributes": dossier.record_to_json(candidate.record)["attributes"],
            }
            for candidate in result.chosen
        ],
    }


@results.rows_of.register(dossier.Disinformation)
def disinformation_rows(result: dossier.Disinformation) -> results.Rows:
    """Table with one row for each record to release."""
    return ("release", "cost", "says"), [
        (candidate.name, candidate.cost, list(map(dossier.show, candidate.record.attributes)))
        for candidate in result.chosen
    ]


@results.document_of.register(dossier.Enhancement)
def enhancement_document(result: dossier.Enhancement) -> dict[str, Any]:
    """Return the document of `dossier.Enhancements` with one composite record."""
    return enhancements_document(dossier.Enhancements((result,), result.settings))


@results.rows_of.register(dossier.Enhancement)
def enhancement_rows(result: dossier.Enhancement) -> results.Rows:
    """Return the table of `dossier.Enhancements` with one composite record."""
    return enhancements_rows(dossier.Enhancements((result,), result.settings))


@results.document_of.register(dossier.Enhancements)
def enhancements_document(result: dossier.Enhancements) -> dict[str, Any]:
    """Return each composite record, the least certain first."""
    return {"composites": list(map(_composite_document, result)), "settings": result.settings}


@results.rows_of.register(dossier.Enhancements)
def enhancements_rows(result: dossier.Enhancements) -> results.Rows:
    """Table with one row for each attribute to verify, best first in each composite record."""
    names = (
        "composite",
        "certainty",
        "record",
        "label",
        "value",
        "confidence",
        "gain",
        "cost",
        "ratio",
    )
    return names, [
        (
            dossier.name_of(enhancement.record),
            enhancement.certainty,
            o.source,
            *o.attribute,
            o.confidence,
            o.gain,
            o.cost,
            o.ratio,
        )
        for enhancement in result
        for o in enhancement.options
    ]


def _composite_document(enhancement: dossier.Enhancement) -> dict[str, Any]:
    """Return a composite record and the attributes to verify, best first."""
    return {
        "id": dossier.name_of(enhancement.record),
        "certainty": enhancement.certainty,
        "options": [
            {
                "record": option.source,
                **option.attribute._asdict(),
                **_select_fields(option, "confidence", "gain", "cost", "ratio"),
            }
            for option in enhancement.options
        ],
    }


@results.rows_of.register(dossier.PeopleLeakage)
def people_rows(result: dossier.PeopleLeakage) -> results.Rows:
    """Table with one row for each person, with the table rows that cause the leakage."""
    return ("person", "leakage", "rows"), [
        (
            person_leakage.person,
            person_leakage.leakage,
            sorted({source for record in person_leakage.witnesses for source in record.sources}),
        )
        for person_leakage in result
    ]


@results.document_of.register(dossier.PeopleLeakage)
def people_document(result: dossier.PeopleLeakage) -> dict[str, Any]:
    """Return the leakage of each person through a table."""
    return {
        "leakage": result.leakage,
        "people": [
            {
                **_select_fields(person_leakage, "person", "leakage"),
                "witnesses": list(map(record_document, person_leakage.witnesses)),
            }
            for person_leakage in result
        ],
        "settings": result.settings,
    }
