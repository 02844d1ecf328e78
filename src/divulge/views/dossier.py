# SPDX-License-Identifier: Apache-2.0
"""Findings about one person's records: as sentences a person understands, and as JSON documents.

Graph and timeline are data for a chart: nodes with the cluster they ended in, edges with the rule and the values that
joined them, one point for each record in the order in which the records came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from divulge import dossier, results
from divulge.views.words import grid, people

SHOWN = 20
"""Rows of a table that are shown on a terminal."""
_NOTHING = "Nothing in these records is true of you."


def share(value: float) -> str:
    """A leakage in percent, with a sign only if it is negative; small ones keep a digit.

    >>> share(8 / 9), share(0.0042), share(0)
    ('89 %', '0.42 %', '0 %')
    """
    percent = 100 * value
    return f"{percent:.0f} %" if percent == 0 or abs(percent) >= 1 else f"{percent:.2g} %"


@results.text_of.register(dossier.Leakage)
def leakage_text(found: dossier.Leakage) -> RenderableType:
    """What one record gives away, in a sentence."""
    nearly = "about " if found.method == "taylor" else ""
    told = (
        f"Whoever holds this record knows {nearly}{share(found.leakage)} of you: {share(found.precision)} of what it "
        f"says is true, and it covers {share(found.recall)} of what there is to know."
    )
    return Group(told, *settings_text(found.settings))


@results.text_of.register(dossier.SetLeakage)
def set_leakage_text(found: dossier.SetLeakage) -> RenderableType:
    """Who knows most."""
    who = listed(map(dossier.name_of, found.witnesses))
    told = f"The most telling of {len(found.each):,} records gives away {share(found.leakage)} of you: {who}."
    return Group(told if found.witnesses else _NOTHING, *settings_text(found.settings))


def settings_text(settings: Mapping[str, Any]) -> list[RenderableType]:
    """What is not as usual in how it was measured, in one line after an empty one; nothing where all is."""
    told = [f"{name} {settings[name]}" for name in ("method", "beta") if settings.get(name) not in (None, "exact", 1.0)]
    for name, words in (("weights", "weights"), ("graded", "near misses count within")):
        if given := settings.get(name):
            values = (
                f"{label} = {each if isinstance(each, str) else format(each, 'g')}" for label, each in given.items()
            )
            told.append(f"{words} {', '.join(values)}")
    if settings.get("background"):
        told.append(f"rare values of {', '.join(settings['background'])} tell more")
    told += [f"{label} is what {' and '.join(of)} tell together" for label, of in (settings.get("joint") or {}).items()]
    if settings.get("generalized_confidence", 1.0) != 1.0:
        told.append(f"generalized values count {settings['generalized_confidence']:g}")
    if settings.get("equivalence"):
        told.append("equivalent values are one")
    return ["", f"In force: {'; '.join(told)}."] if told else []


@results.text_of.register(dossier.Attack)
def attack_text(
    found: dossier.Attack, *, kept: Iterable[dossier.Without] = (), steps: dossier.Timeline | None = None
) -> RenderableType:
    """Who knows most, why, and the records behind it; with what `without` and `timeline` found, where that was asked."""
    table = grid("record", "leakage", "made of", right=[1])
    ranked = sorted(zip(found.records, found.each, strict=True), key=lambda pair: -pair[1])
    for record, leakage in ranked[:SHOWN]:
        table.add_row(_named(record), share(leakage), listed(sorted(record.sources)))
    more = [f"... and {len(ranked) - SHOWN:,} more records"] if len(ranked) > SHOWN else []
    before = "Without linking, the most telling record gives away"
    if found.leakage < found.before:
        before = "Linking misleads here: the most telling single record gives away"
    compared = []
    if linked := found.settings.get("cost"):
        price = f"linking |R| records costs {linked['coefficient']:g} * |R|^{linked['exponent']:g}"
        compared = [f"{before} {share(found.before)}.", f"The analysis costs the adversary {found.cost:g} ({price})."]
    grown = [] if steps is None else ["", _steps(steps)]
    return Group(_witness_sentence(found, kept), *compared, "", table, *more, *grown, *settings_text(found.settings))


def resolution_text(records: Sequence[dossier.Record], given: int, ties: Sequence[Mapping[str, Any]]) -> RenderableType:
    """How many records became how many, and which joined."""
    merged = [record for record in records if len(record.sources) > 1]
    table = grid("merged record", "of", "says")
    for record in sorted(merged, key=lambda record: -len(record.sources))[:SHOWN]:
        said = listed(map(dossier.show, record.attributes))
        table.add_row(_named(record), f"{len(record.sources)} records", said)
    joins = [f"  {tie['source']} and {tie['target']}: {_reason(tie)}" for tie in ties[:SHOWN]]
    head = f"{given:,} records are about {people(len(records))}, as far as the adversary can tell."
    details: list[RenderableType] = ["", table, "", "Joined because of:", *joins] if merged else []
    return Group(head, *details)


@results.text_of.register(dossier.Dip)
def dip_text(found: dossier.Dip) -> RenderableType:
    """What was found out about the query."""
    reached = f"leads to {len(found.reached)} records: {listed(sorted(found.reached))}"
    table = grid("label", "value", "confidence", right=[2])
    for attribute, confidence in found.record.attributes.items():
        table.add_row(attribute.label, attribute.value, f"{confidence:.3g}")
    known = [f"Together that is {share(found.leakage)} of you."] if found.leakage is not None else []
    told = f"The query {reached if found.reached else 'leads nowhere'}."
    return Group(told, *known, "", table, *settings_text(found.settings))


@results.text_of.register(dossier.Timeline)
def timeline_text(steps: dossier.Timeline) -> RenderableType:
    """How the leakage grew."""
    return Group(_steps(steps), *settings_text(steps.settings))


def _steps(steps: dossier.Timeline) -> RenderableType:
    table = grid("after record", "leakage", "change", "joined with", right=[1, 2])
    for step in steps.items[-SHOWN:]:
        table.add_row(step.id, share(step.leakage), signed(step.change), listed(sorted(step.joined)))
    head = f"The last {SHOWN} of {len(steps):,} records:" if len(steps) > SHOWN else "Record by record:"
    return Group(head, table)


@results.text_of.register(dossier.WithoutLabels)
def without_text(found: dossier.WithoutLabels) -> RenderableType:
    """What keeping a label back would have brought."""
    table = grid("without", "leakage", "change", right=[1, 2])
    for each in found:
        table.add_row(each.label, share(each.leakage), signed(each.change))
    return Group("If nobody had been given a label:", table, *settings_text(found.settings))


@results.text_of.register(dossier.Increment)
def increment_text(found: dossier.Increment) -> RenderableType:
    """What one release would add."""
    return release_text(dossier.Alternatives((found,), found.settings))


@results.text_of.register(dossier.Alternatives)
def release_text(found: dossier.Alternatives) -> RenderableType:
    """Which alternative to choose."""
    if not found:
        return Group("There is nothing to release.", *settings_text(found.settings))
    best = found[0]
    table = grid("release", "leakage", "change", "would be joined with", right=[1, 2])
    for each in found:
        table.add_row(each.name, share(each.after), signed(each.change), listed(sorted(each.joined)))
    after, before = share(best.after), share(best.before)
    advice = f"Release {best.name}: the adversary then knows {after} of you, now it is {before}."
    if len(found) == 1:
        advice = f"With {best.name}, the adversary knows {after} of you; without it, {before}."
    return Group(advice, "", table, *settings_text(found.settings))


@results.text_of.register(dossier.Disinformation)
def disinformation_text(found: dossier.Disinformation) -> RenderableType:
    """What to release against the adversary."""
    among = "these candidates and this budget" if found.method in ("exact", "bounded", "greedy") else "this budget"
    if not found.chosen:
        bought = "There is nothing" if found.optimal else "Nothing was found"
        head = f"{bought} that a budget of {found.budget:g} buys to lower the leakage of {share(found.before)}."
    else:
        head = f"The leakage falls from {share(found.before)} to {share(found.leakage)} for a cost of {found.cost:g}."
    table = grid("release", "cost", "says", right=[1])
    for each in found.chosen:
        table.add_row(each.name, f"{each.cost:g}", listed(map(dossier.show, each.record.attributes)))
    if found.optimal:
        quality = f"Nothing better is possible with {among} (proved: {found.method})."
    else:
        bound = f"no less than {found.lower_bound:.4f} is possible with {among}; the gap is at most {found.gap:.4f}"
        quality = f"This is the best found ({found.method}), a leakage of {found.leakage:.4f}: {bound}."
    baseline = ["Greedy choice is only a baseline: use exact or bounded."] if found.method == "greedy" else []
    choice: list[RenderableType] = ["", table, ""] if found.chosen else []
    return Group(head, *choice, quality, *baseline, *settings_text(found.settings))


@results.text_of.register(dossier.Enhancement)
def enhancement_text(found: dossier.Enhancement) -> RenderableType:
    """What to verify next in one composite record."""
    return enhancements_text(dossier.Enhancements((found,), found.settings))


@results.text_of.register(dossier.Enhancements)
def enhancements_text(found: dossier.Enhancements) -> RenderableType:
    """What to verify next."""
    parts: list[RenderableType] = []
    for each in found:
        parts += [""] if parts else []
        parts.append(f"{_named(each.record)} is {share(each.certainty)} certain.")
        table = grid("verify", "in record", "confidence", "gain", "cost", "gain per cost", right=[2, 3, 4, 5])
        for option in each.options[:SHOWN]:
            prices = f"{option.confidence:g}", f"{option.gain:.4f}", f"{option.cost:.3g}", f"{option.ratio:.4f}"
            table.add_row(dossier.show(option.attribute), option.source, *prices)
        parts.append(table if each.options else "Nothing is in doubt.")
    return Group(*parts, *settings_text(found.settings))


@results.text_of.register(dossier.PeopleLeakage)
def people_text(found: dossier.PeopleLeakage) -> RenderableType:
    """What a table says about each person."""
    table = grid("person", "leakage", "rows behind it", right=[1])
    for each in found.items[:SHOWN]:
        rows = sorted({source for record in each.witnesses for source in record.sources})
        table.add_row(each.person, share(each.leakage), listed(rows))
    return Group(table, *settings_text(found.settings))


def listed(names: Iterable[str], *, most: int = 6, between: str = ", ") -> str:
    """The first names of a list, each whole, and how many more there are."""
    known = list(names)
    return between.join(known[:most]) + (f" and {len(known) - most:,} more" if len(known) > most else "")


def _named(record: dossier.Record) -> str:
    """As `name_of` does, but for a record that is made of very many."""
    return record.id if record.id is not None else listed(sorted(record.sources), between="+")


def signed(change: float) -> str:
    """A change in percentage points, with its sign."""
    return f"{'+' if change > 0 else ''}{share(change)}"


def _reason(tie: Mapping[str, Any]) -> str:
    if "rule" in tie:
        return f"the same {tie['rule']} ({', '.join(tie['values'])})"
    return f"about one person with probability {tie['probability']:.3g}"


def _witness_sentence(found: dossier.Attack, kept: Iterable[dossier.Without]) -> str:
    if not found.witnesses:
        return _NOTHING
    sources = sorted(found.witnesses[0].sources)
    who = f"An adversary who holds the record {_named(found.witnesses[0])}"
    if len(sources) > 1:
        who = f"An adversary who links these {len(sources)} records ({listed(sources)})"
    helpful = [each for each in kept if each.leakage < found.leakage]
    rest = "".join(f"; without {each.label}, {share(each.leakage)}" for each in helpful[:3])
    return f"{who} knows {share(found.leakage)} of you{rest}."


def _fields(found: object, *names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}


def record_document(record: dossier.Record) -> dict[str, Any]:
    """A record with its provenance."""
    return {**dossier.record_to_json(record), "id": dossier.name_of(record), "sources": sorted(record.sources)}


@results.document_of.register(dossier.Leakage)
def leakage_document(found: dossier.Leakage) -> dict[str, Any]:
    """The three numbers of one record; an approximation says so."""
    approximate = {"approximate": True} if found.method == "taylor" else {}
    return {**_fields(found, "leakage", "precision", "recall"), **approximate, "settings": found.settings}


@results.rows_of.register(dossier.Leakage)
def leakage_rows(found: dossier.Leakage) -> results.Rows:
    """One row."""
    return _one_row(found, "leakage", "precision", "recall", "method", "error_bound")


def _one_row(found: object, *names: str) -> results.Rows:
    return names, [tuple(getattr(found, name) for name in names)]


@results.document_of.register(dossier.SetLeakage)
def set_leakage_document(found: dossier.SetLeakage) -> dict[str, Any]:
    """The leakage of a database, every record's own, and the witnesses."""
    return {
        **_fields(found, "leakage", "each", "settings"),
        "witnesses": list(map(dossier.name_of, found.witnesses)),
        "witness_records": list(map(record_document, found.witnesses)),
    }


@results.rows_of.register(dossier.SetLeakage)
def set_leakage_rows(found: dossier.SetLeakage) -> results.Rows:
    """A row for each record, in the order of the database."""
    return ("record", "leakage"), list(enumerate(found.each, start=1))


@results.document_of.register(dossier.Timeline)
def timeline_document(found: dossier.Timeline) -> dict[str, Any]:
    """The steps, as in the document of an attack."""
    names, rows = timeline_rows(found)
    return {"timeline": [dict(zip(names, row, strict=True)) for row in rows], "settings": found.settings}


@results.rows_of.register(dossier.Timeline)
def timeline_rows(found: dossier.Timeline) -> results.Rows:
    """A row for each record, in the order in which they came; `joined` has the ids of the earlier ones it was merged with."""
    return ("position", "id", "leakage", "change", "records", "joined"), [
        (number, step.id, step.leakage, step.change, step.records, sorted(step.joined))
        for number, step in enumerate(found, start=1)
    ]


@results.document_of.register(dossier.WithoutLabels)
def without_document(found: dossier.WithoutLabels) -> dict[str, Any]:
    """What keeping back each label would have brought, as in the document of an attack."""
    return {"without": list(map(asdict, found)), "settings": found.settings}


@results.rows_of.register(dossier.WithoutLabels)
def without_rows(found: dossier.WithoutLabels) -> results.Rows:
    """A row for each label."""
    return ("label", "leakage", "change"), [(each.label, each.leakage, each.change) for each in found]


@results.document_of.register(dossier.Attack)
def attack_document(
    found: dossier.Attack,
    *,
    graph: Mapping[str, Any] | None = None,
    kept: Iterable[dossier.Without] = (),
    steps: dossier.Timeline | None = None,
) -> dict[str, Any]:
    """The leakage of a database, every record's own, and the witnesses; with what else was asked for."""
    without = list(map(asdict, kept))
    timeline = {} if not steps else {"timeline": timeline_document(steps)["timeline"]}
    return {
        "leakage": found.leakage,
        "records": [
            {"id": dossier.name_of(record), "leakage": leakage, "sources": sorted(record.sources)}
            for record, leakage in zip(found.records, found.each, strict=True)
        ],
        "witnesses": list(map(dossier.name_of, found.witnesses)),
        "witness_records": list(map(record_document, found.witnesses)),
        "before": found.before,
        "cost": found.cost,
        **({"graph": graph} if graph is not None else {}),
        **({"without": without} if without else {}),
        **timeline,
        "settings": found.settings,
    }


@results.rows_of.register(dossier.Attack)
def attack_rows(found: dossier.Attack) -> results.Rows:
    """A row for each record after the operator, with what it is made of."""
    return ("record", "leakage", "sources", "witness"), [
        (dossier.name_of(record), leakage, sorted(record.sources), record in found.witnesses)
        for record, leakage in zip(found.records, found.each, strict=True)
    ]


@results.document_of.register(dossier.Dip)
def dip_document(found: dossier.Dip) -> dict[str, Any]:
    """What the query leads to."""
    known = {} if found.leakage is None else {"leakage": found.leakage}
    return {
        "record": record_document(found.record), "reached": sorted(found.reached), **known, "settings": found.settings
    }  # fmt: skip


@results.rows_of.register(dossier.Dip)
def dip_rows(found: dossier.Dip) -> results.Rows:
    """A row for each attribute that was found out."""
    attributes = found.record.attributes.items()
    return ("label", "value", "confidence"), [(each.label, each.value, sure) for each, sure in attributes]


@results.document_of.register(dossier.Increment)
def increment_document(found: dossier.Increment) -> dict[str, Any]:
    """As for several alternatives."""
    return release_document(dossier.Alternatives((found,), found.settings))


@results.rows_of.register(dossier.Increment)
def increment_rows(found: dossier.Increment) -> results.Rows:
    """One row."""
    return release_rows(dossier.Alternatives((found,), found.settings))


@results.rows_of.register(dossier.Alternatives)
def release_rows(found: dossier.Alternatives) -> results.Rows:
    """A row for each alternative, the least revealing first; `joined` has the ids of the records it would be merged with."""
    return ("release", "before", "after", "change", "joined"), [
        (each.name, each.before, each.after, each.change, sorted(each.joined)) for each in found
    ]


@results.document_of.register(dossier.Alternatives)
def release_document(found: dossier.Alternatives) -> dict[str, Any]:
    """The alternatives, the least revealing first."""
    return {
        "before": found[0].before if found else None,
        "alternatives": [
            {
                **_fields(each, "name", "after", "change"),
                "joined": sorted(each.joined),
                "witnesses": list(map(dossier.name_of, each.witnesses)),
            }
            for each in found
        ],
        "best": found[0].name if found else None,
        "settings": found.settings,
    }


@results.document_of.register(dossier.Disinformation)
def disinformation_document(found: dossier.Disinformation) -> dict[str, Any]:
    """The choice and how good it can be."""
    return {
        **_fields(found, "before", "leakage", "budget", "cost", "method", "optimal", "lower_bound", "gap", "examined"),
        "settings": found.settings,
        "chosen": [
            {"name": each.name, "cost": each.cost, "attributes": dossier.record_to_json(each.record)["attributes"]}
            for each in found.chosen
        ],
    }


@results.rows_of.register(dossier.Disinformation)
def disinformation_rows(found: dossier.Disinformation) -> results.Rows:
    """A row for each record to release."""
    return ("release", "cost", "says"), [
        (each.name, each.cost, list(map(dossier.show, each.record.attributes))) for each in found.chosen
    ]


@results.document_of.register(dossier.Enhancement)
def enhancement_document(found: dossier.Enhancement) -> dict[str, Any]:
    """As for several composite records."""
    return enhancements_document(dossier.Enhancements((found,), found.settings))


@results.rows_of.register(dossier.Enhancement)
def enhancement_rows(found: dossier.Enhancement) -> results.Rows:
    """As for several composite records."""
    return enhancements_rows(dossier.Enhancements((found,), found.settings))


@results.document_of.register(dossier.Enhancements)
def enhancements_document(found: dossier.Enhancements) -> dict[str, Any]:
    """Each composite record, the least certain first."""
    return {"composites": list(map(_composite, found)), "settings": found.settings}


@results.rows_of.register(dossier.Enhancements)
def enhancements_rows(found: dossier.Enhancements) -> results.Rows:
    """A row for each attribute that could be verified, best first in each composite record."""
    names = ("composite", "certainty", "record", "label", "value", "confidence", "gain", "cost", "ratio")
    return names, [
        (dossier.name_of(each.record), each.certainty, o.source, *o.attribute, o.confidence, o.gain, o.cost, o.ratio)
        for each in found
        for o in each.options
    ]


def _composite(found: dossier.Enhancement) -> dict[str, Any]:
    """A composite record and what to verify, best first."""
    return {
        "id": dossier.name_of(found.record),
        "certainty": found.certainty,
        "options": [
            {"record": each.source, **each.attribute._asdict(), **_fields(each, "confidence", "gain", "cost", "ratio")}
            for each in found.options
        ],
    }


@results.rows_of.register(dossier.PeopleLeakage)
def people_rows(found: dossier.PeopleLeakage) -> results.Rows:
    """A row for each person, with the rows of the table behind it."""
    return ("person", "leakage", "rows"), [
        (each.person, each.leakage, sorted({source for record in each.witnesses for source in record.sources}))
        for each in found
    ]


@results.document_of.register(dossier.PeopleLeakage)
def people_document(found: dossier.PeopleLeakage) -> dict[str, Any]:
    """The leakage of each person through a table."""
    return {
        "leakage": found.leakage,
        "people": [
            {**_fields(each, "person", "leakage"), "witnesses": list(map(record_document, each.witnesses))}
            for each in found
        ],
        "settings": found.settings,
    }
