# SPDX-License-Identifier: Apache-2.0
"""Releases of both kinds, checks of them, and what they answer: in words, and as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import anatomy, publish, results, search
from divulge import attacks as attacking
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.apply import Applied
from divulge.api.check import ReleaseCheck
from divulge.api.utility import Utility
from divulge.hierarchy import SUPPRESSED, Suggestion
from divulge.policy import guard, judge
from divulge.views.measurement import alone_document, measurement_document, outcome_rows, promises_document
from divulge.views.utility import (
    explanation_document,
    explanation_parts,
    group_prices_document,
    group_prices_parts,
    recq_sentence,
    ruined_models,
    utility_document,
    utility_parts,
    warning_parts,
)
from divulge.views.words import bullet, grid, heading, noted, number, people, percent, settings_sentence

_EXAMPLES = 3
_SHOWN_PAIRS = 20
_MEANINGS = {
    "alpha": "how surely the quasi-identifiers of a record can be put together",
    "beta": "how surely a sensitive value can be inferred",
    "gamma": "how surely one row of each table makes up a given record",
    "delta": "how far the belief in a sensitive value moves",
}


@results.text_of.register(publish.GeneralizedRelease)
def release_text(
    release: publish.GeneralizedRelease,
    *,
    written: Path | None = None,
    explanation: search.Explanation | None = None,
    utility: Utility | None = None,
) -> RenderableType:
    """What was done to each column, what it does to the promises, what it costs, and where it lies."""
    parts: list[RenderableType] = [
        *warning_parts(release.plan, explanation, utility),
        Text(f"{release.before.settings['source']}: {release.before.rows:,} rows, {people(release.before.people)}"),
        heading("What was done"),
        *(bullet(sentence) for sentence in columns_in_words(release)),
        heading("What it promises"),
        _promises(release),
        heading("What it costs"),
        *(bullet(sentence) for sentence in costs_in_words(release)),
        *(() if explanation is None else explanation_parts(explanation)),
    ]
    named = ", but for those that the policy protects by name" if release.policy.protections else ""
    parts += _on_request(release)
    parts += entered_parts(release.ledger, written)
    parts += [] if utility is None else utility_parts(utility)
    if written is None:
        parts.append(heading(results.spoken("Nothing was written. Name a folder with out= to publish.")))
    else:
        parts += [
            heading(f"Published in {written}"),
            bullet(f"table and manifest.json may be handed out; the manifest holds no value of the original{named}."),
            bullet("Numbers measured in the original, or against it, are for you alone: those above and in mapping/."),
            bullet("mapping/ tells what each original value became, for `divulge apply`: keep it to yourself."),
        ]
    return Group(*parts, Padding(Text(settings_sentence(release.after.settings), style="dim"), (1, 0, 0, 0)))


def _on_request(release: publish.GeneralizedRelease) -> list[RenderableType]:
    """All optima, and all combinations that were looked at, where they were asked for."""
    plan, parts = release.plan, []
    names = list(plan.levels)
    if plan.optima:
        table = grid(*names, right=range(len(names)))
        for levels in plan.optima:
            table.add_row(*map(str, levels.values()))
        parts += [heading(f"All {len(plan.optima):,} optima (levels)"), table]
    if plan.nodes:
        table = grid(*names, plan.objective, "left out", "classes", "in the way", right=range(len(names) + 3))
        for node in plan.nodes:
            value = "" if node.value is None else number(node.value)
            counts = (f"{node.suppressed:,}", f"{node.classes:,}", node.obstacle or "")
            table.add_row(*map(str, node.levels.values()), value, *counts)
        parts += [heading(f"All {len(plan.nodes):,} combinations that were looked at"), table]
    return parts


def columns_in_words(release: publish.GeneralizedRelease) -> Iterator[str]:
    """One sentence per column."""
    roles, recoding = release.original.roles, release.plan.recoding
    published = {key.name: key for key in release.after.contingency.keys}
    for position, name in enumerate(recoding.columns):
        before, after = release.original.people.keys[position], published[name]
        if recoding.unchanged[position]:
            yield f"{name}: published as it is ({len(after):,} of {len(before):,} values)."
        elif after.labels == [SUPPRESSED]:
            yield f"{name}: suppressed, every value is {SUPPRESSED}."
        else:
            level = release.plan.levels.get(name)
            on = "" if level is None else f" (level {level} of {release.hierarchies[name].height})"
            shown = ", ".join(str(label) for label in after.labels[:_EXAMPLES])
            yield f"{name}{on}: {len(before):,} values become {len(after):,}, such as {shown}."
    if roles.kept_back:
        yield f"{', '.join(roles.kept_back)}: left out."
    if free := [name for name in release.plain if name not in roles.plain]:
        yield f"{', '.join(free)}: without a role, published as they are."
    if roles.plain:
        yield f"{', '.join(roles.plain)}: plain, published as they are."
    if release.alone is not None:
        yield f"In the release, {release.alone.text}."
    if known := [name for name in release.plain if guard.words_of(name) & guard.QUASI_WORDS]:
        told = "no promise covers what others may know of a person by this"
        yield f"{', '.join(known)}: {told}; name it with {results.spoken('quasi_identifiers=')}."


def _promises(release: publish.GeneralizedRelease) -> RenderableType:
    table = grid("promise", "before", "after", "", right=[1, 2])
    before = judge(release.before, release.policy.promises, protected=release.protected)
    for old, new in zip(before.outcomes, release.verdict.outcomes, strict=True):
        table.add_row(new.text, number(old.value), number(new.value), "holds" if new.holds else "BROKEN")
    return table


def costs_in_words(release: publish.GeneralizedRelease) -> Iterator[str]:
    """Loss, people left out, classes; for the publisher alone."""
    plan, before, after = release.plan, release.before, release.after
    if plan.gap and plan.method != "mondrian":
        searched = f", the best of {plan.checked:,} looked at among {plan.lattice:,} combinations"
        searched += f"; one better by {number(plan.gap)} may exist"
    elif plan.method != "mondrian":
        searched = f", the best of {plan.lattice:,} combinations ({plan.checked:,} looked at)"
    else:
        searched = f" in {len(plan.boxes):,} boxes; other boxes may lose less"
    yield f"{plan.objective}: {number(plan.value)}{searched}."
    share = plan.suppressed / before.people
    yield f"{people(plan.suppressed)} left out ({percent(share)}; allowed: {percent(release.policy.suppression)})."
    classes = "1 class becomes" if len(before.contingency) == 1 else f"{len(before.contingency):,} classes become"
    yield f"{classes} {plan.classes:,}."
    if after.contingency.pinned:
        yield f"Beside what is out already, people are in {len(after.contingency):,} joint classes: promises are about those."
    yield from map(noted, (*release.notes, *after.notes))


def entered_document(register: publish.Register | None, written: Path | None) -> dict[str, Any]:
    """What a release of either kind was judged against by a ledger, and entered as; nothing without one."""
    return {} if register is None else {"ledger": dict(register.describe(written))}


def entered_parts(register: publish.Register | None, written: Path | None) -> list[RenderableType]:
    """The same in words."""
    if register is None:
        return []
    told = register.describe(written)
    numbers = [str(number) for number in told["judged_against"]]
    out = (
        f"release {' and '.join(numbers)} of {told['dataset']}"
        if numbers
        else f"nothing of {told['dataset']}, of which nothing is out"
    )
    entered = "" if told["number"] is None else f"Entered as release {told['number']} for {told['recipient']}. "
    return [heading(f"By the ledger {told['folder']}"), bullet(f"{entered}Judged together with {out}.")]


@results.document_of.register(publish.GeneralizedRelease)
def release_document(
    release: publish.GeneralizedRelease,
    *,
    written: Path | None = None,
    explanation: search.Explanation | None = None,
    utility: Utility | None = None,
) -> dict[str, Any]:
    """Everything `divulge generalize --json` prints; before and after as `divulge measure --json` prints them."""
    plan = release.plan
    document = {
        "levels": dict(plan.levels),
        "objective": {"name": plan.objective, "value": plan.value, "gap": plan.gap},
        "suppressed": plan.suppressed,
        "classes": plan.classes,
        "lattice": plan.lattice,
        "checked": plan.checked,
        "method": plan.method,
        "promises": promises_document(release.verdict),
        "explanation": None if explanation is None else explanation_document(explanation),
        "chosen_hierarchies": {name: dict(item.spec) for name, item in release.suggestions.items()},
        "published_as_is": list(release.plain),
        "alone": alone_document(release.alone),
        "notes": list(release.notes),
        "written": None if written is None else str(written),
        "utility": None if utility is None else utility_document(utility),
        "before": measurement_document(release.before),
        "after": measurement_document(release.after),
    }
    optima = {"optima": [dict(levels) for levels in plan.optima]} if plan.optima else {}
    nodes = {"nodes": [asdict(node) for node in plan.nodes]} if plan.nodes else {}
    return document | optima | nodes | entered_document(release.ledger, written)


@results.rows_of.register(publish.GeneralizedRelease)
def release_rows(release: publish.GeneralizedRelease) -> results.Rows:
    """What becomes of each column, for the publisher alone; the rows that are published are `tables()`."""
    original, recoding = release.original, release.plan.recoding
    published = {key.name: key for key in release.after.contingency.keys}
    roles = original.roles.by_column
    found = []
    for name in release.source.names:
        done, level, height, before, after = "published as it is", None, None, None, None
        if name in recoding.columns:
            position = recoding.columns.index(name)
            before, after = len(original.people.keys[position]), len(published[name])
            level, hierarchy = release.plan.levels.get(name), release.hierarchies.get(name)
            height = None if hierarchy is None else hierarchy.height
            if not recoding.unchanged[position]:
                done = "suppressed" if published[name].labels == [SUPPRESSED] else "made coarser"
        elif name in original.roles.kept_back:
            done = "left out"
        found.append((name, roles.get(name), done, level, height, before, after))
    return ("column", "role", "done", "level", "height", "values_before", "values_after"), found


def suggestions_text(suggestions: Mapping[str, Suggestion]) -> RenderableType:
    """The hierarchies that were chosen from the data, as they would stand in a policy."""
    return Group(
        Text(
            "Hierarchies chosen from the data; put them into your policy file and change what does not suit:",
            style="bold",
        ),
        *(Padding(Text(item.toml()), (0, 0, 0, 2)) for item in suggestions.values()),
        Text(""),
    )


@results.text_of.register(search.Front)
def front_text(front: search.Front) -> RenderableType:
    """The trade-off as a table, the cheapest first."""
    about = f" of {front.attribute}" if front.attribute else ""
    columns = list(front.points[0].levels) if front.points else []
    both = "all" if front.further else "both"
    told = f"{len(front.points):,} combinations of levels, {len(front.front):,} of which none beats in {both} numbers:"
    names = (front.objective, *(f"{name}{about}" for name in (front.metric, *front.further)), "left out", "classes")
    table = grid(*names, *columns, right=range(len(names) + len(columns)))
    for point in front.front:
        numbers = map(number, (point.value, point.leakage, *point.further))
        table.add_row(*numbers, f"{point.suppressed:,}", f"{point.classes:,}", *map(str, point.levels.values()))
    return Group(Text(told), table, *(bullet(noted(note)) for note in front.notes))


@results.rows_of.register(search.Front)
def front_rows(front: search.Front) -> results.Rows:
    """A row for each combination of levels that keeps the promises, the cheapest first."""
    columns = list(front.points[0].levels) if front.points else []
    names = ("value", "leakage", *(f"leakage.{name}" for name in front.further), "suppressed", "classes", "on_front")
    return (*names, *(f"level.{name}" for name in columns)), [
        (p.value, p.leakage, *p.further, p.suppressed, p.classes, p.on_front, *p.levels.values()) for p in front.points
    ]


@results.text_of.register(Applied)
def applied_text(applied: Applied) -> RenderableType:
    """How many rows were published, and how far the promises could be checked again."""
    published = f"{applied.rows - applied.suppressed:,} of {applied.rows:,} new rows published in {applied.folder}"
    parts: list[RenderableType] = [Text(published)]
    beside = "The new rows beside what else is out, in joint classes"
    for told, verdict in {
        "The earlier release and the new rows together": applied.verdict,
        beside: applied.beside,
    }.items():
        table = grid("promise", "with the new rows", "", right=[1])
        for outcome in () if verdict is None else verdict.outcomes:
            table.add_row(outcome.promise.text, number(outcome.value), "holds" if outcome.holds else "BROKEN")
        parts += [] if verdict is None else [heading(told), table]
    parts += [
        heading("What this does not prove"),
        bullet("Whether a person of the new rows is in the earlier release too was not checked."),
        *(bullet(told) for told in _alone(applied)),
        *(bullet(f"{told}.") for told in applied.unchecked),
        *map(bullet, () if applied.beside is None else applied.beside.measurement.notes),
    ]
    return Group(*parts, *entered_parts(applied.ledger, applied.folder))


def _alone(applied: Applied) -> Iterator[str]:
    broken = [] if applied.alone is None else [outcome for outcome in applied.alone.outcomes if not outcome.holds]
    if broken:
        told = ", ".join(f"{outcome.promise.text} is broken there ({number(outcome.value)})" for outcome in broken)
        yield f"Who knows that somebody is among the new rows looks for them there alone: {told}."


@results.document_of.register(Applied)
def applied_document(applied: Applied) -> dict[str, Any]:
    """Everything `divulge apply --json` prints."""
    return {
        "rows": applied.rows,
        "published": applied.rows - applied.suppressed,
        "suppressed": applied.suppressed,
        "promises": None if applied.verdict is None else promises_document(applied.verdict),
        "alone": None if applied.alone is None else promises_document(applied.alone),
        "beside": None if applied.beside is None else promises_document(applied.beside),
        "unchecked": list(applied.unchecked),
        "written": str(applied.folder),
        "together": measurement_document(applied.together),
    } | entered_document(applied.ledger, applied.folder)


@results.rows_of.register(Applied)
def applied_rows(applied: Applied) -> results.Rows:
    """A row for each promise: with the new rows, of these alone, and those that could not be checked."""
    names = ("of", "promise", "attribute", "metric", "bound", "value", "holds", "breaking_classes", "breaking_people")
    judged = {"together": applied.verdict, "new rows alone": applied.alone, "beside what is out": applied.beside}
    rows = [(of, *row) for of, verdict in judged.items() if verdict is not None for row in outcome_rows(verdict)]
    return names, [*rows, *(("unchecked", told, *(None,) * 7) for told in applied.unchecked)]


@results.text_of.register(publish.Resealed)
def resealed_text(found: publish.Resealed) -> RenderableType:
    """What was done, and what cannot be undone."""
    files = f"{found.files:,} {'file is' if found.files == 1 else 'files are'} as published"
    if not found.changed:
        return Text(f"{found.folder}: the manifest is clean already; {files}.")
    mine = "What it told of the original is in mapping/manifest.json." if found.private else "It has no private part."
    before = bullet("What was handed out before cannot be called back: replace manifest.json wherever it went.")
    return Group(Text(f"{found.folder}: the manifest was cleaned; {files}. {mine}"), before)


@results.document_of.register(publish.Resealed)
def resealed_document(found: publish.Resealed) -> dict[str, Any]:
    """What `divulge reseal --json` prints."""
    return {
        "release": str(found.folder),
        "kind": found.kind,
        "changed": found.changed,
        "format_before": found.was,
        "files": found.files,
        "private_part": found.private,
        "settings": dict(found.settings),
    }


@results.rows_of.register(publish.Resealed)
def resealed_rows(found: publish.Resealed) -> results.Rows:
    """One row."""
    row = {name: value for name, value in resealed_document(found).items() if name != "settings"}
    return list(row), [list(row.values())]


@results.text_of.register(AnatomizedRelease)
def anatomized_text(
    release: AnatomizedRelease,
    *,
    recq: anatomy.Recq | None = None,
    attacks: attacking.Attacks | None = None,
    written: Path | None = None,
    utility: Utility | None = None,
    explanation: anatomy.GroupPrices | None = None,
) -> RenderableType:
    """The tables, what they promise and reach, what they still answer, and where they lie."""
    summary, division = release.summary, release.groups.division
    sizes = f"{summary.smallest:,}" + ("" if summary.smallest == summary.largest else f" to {summary.largest:,}")
    parts: list[RenderableType] = [
        *(Text(f"Beware: {told}", style="bold") for told in ruined_models(utility)),
        Text(f"{release.source.source}: {summary.records:,} rows in {summary.groups:,} groups of {sizes}"),
        bullet(_most_sentence(summary.groups, release.groups.at_most)),
        *(bullet(results.spoken(note)) for note in release.notes),
        heading("The tables"),
        *(bullet(sentence) for sentence in tables_in_words(release)),
    ]
    if division.coefficients:
        parts += [heading(f"How closely columns go together ({division.association})"), _coefficients(division)]
    parts += [heading("What it promises, and reaches"), _levels(release.model, release.levels)]
    parts += [] if explanation is None else group_prices_parts(explanation)
    if attacks is not None:
        parts += [heading("What an adversary achieves"), *_attacks(attacks)]
    if recq is not None:
        parts += [heading("What it still answers"), bullet(recq_sentence(recq))]
    parts += [] if utility is None else utility_parts(utility)
    if written is None:
        parts.append(heading(results.spoken("Nothing was written. Name a folder with out= to publish.")))
    else:
        all_public = "All of it may be handed out. Ask it with `divulge query`."
        parts += [heading(f"Published in {written}"), bullet(all_public), *entered_parts(release.ledger, written)]
    return Group(*parts)


def _most_sentence(groups: int, at_most: int) -> str:
    if groups == at_most:
        return "No grouping that keeps these promises has more groups; this is proved."
    return f"Whether there are groupings with more groups is open; none that keeps these promises has more than {at_most:,}."


def tables_in_words(release: AnatomizedRelease) -> Iterator[str]:
    """Which columns each table holds, and which are in none."""
    for table in release.outline.tables:
        kind = "sensitive" if table.sensitive else "quasi-identifiers"
        yield f"{table.name}: {', '.join(table.columns)} ({kind}; {table.rows:,} rows)"
    for name, reason in release.left_out.items():
        yield f"left out: {name} ({reason})"


def _coefficients(division: anatomy.Division) -> RenderableType:
    table = grid("column", "weight (bits)", "with", "coefficient", right=[1, 3])
    weights = dict(division.weights)
    for pair in division.coefficients[:_SHOWN_PAIRS]:
        weight = number(weights[pair.left]) if pair.left in weights else ""
        table.add_row(pair.left, weight, pair.right, number(pair.value))
    more = len(division.coefficients) - _SHOWN_PAIRS
    return Group(table, Text(f"... and {more} more, which the JSON document has", style="dim")) if more > 0 else table


def _levels(model: anatomy.AlphaBetaGammaDelta, levels: anatomy.Reached) -> RenderableType:
    table = grid("", "promised", "reached", "", "meaning", prose=1, right=[1, 2])
    for name, meaning in _MEANINGS.items():
        promised, reached = getattr(model, name), getattr(levels, name)
        holds = "holds" if reached <= promised else "BROKEN"
        table.add_row(name, "nothing" if promised == 1 else _share(promised), _share(reached), holds, meaning)
    return table


def _share(value: Fraction) -> str:
    """A fraction as people read it: exact where it is short, a decimal where not."""
    text = str(value)
    return text if len(text) <= 9 else f"{float(value):.4g}"


@results.text_of.register(attacking.Attacks)
def attacks_text(attacks: attacking.Attacks) -> RenderableType:
    """What each attack achieves, beside what was promised."""
    told = "every attack is covered by its promise" if attacks.holds else "an attack is NOT COVERED by its promise"
    return Group(Text(f"Four attacks: {told}"), *_attacks(attacks))


@results.document_of.register(attacking.Attacks)
def attacks_document(attacks: attacking.Attacks) -> dict[str, Any]:
    """What each attack achieves, as in the document of a release."""
    return {"holds": attacks.holds, "attacks": attacks_list(attacks), "settings": attacks.settings}


def attacks_list(attacks: attacking.Attacks) -> list[dict[str, Any]]:
    """The attacks one by one, in the order of alpha, beta, gamma, delta."""
    return [outcome.as_json() for outcome in attacks.outcomes]


@results.rows_of.register(attacking.Attacks)
def attacks_rows(attacks: attacking.Attacks) -> results.Rows:
    """A row for each attack: against the person who is worst off, and on average."""
    return ("attack", "promise", "bound", "worst", "mean", "holds"), [
        (each.attack, each.promise, float(each.bound), float(each.worst), each.mean, each.holds)
        for each in attacks.outcomes
    ]


def _attacks(attacks: attacking.Attacks) -> Iterator[RenderableType]:
    for outcome in attacks.outcomes:
        holds = "as promised" if outcome.holds else "NOT COVERED by the promise"
        yield bullet(
            f"{outcome.attack}: at worst {_share(outcome.worst)}, on average {number(outcome.mean)}; "
            f"{outcome.promise} promises {_share(outcome.bound)}: {holds}."
        )
        for told, value in outcome.beyond.items():
            yield Padding(bullet(f"{told}: {number(value)}"), (0, 0, 0, 2))


@results.document_of.register(AnatomizedRelease)
def anatomized_document(
    release: AnatomizedRelease,
    *,
    recq: anatomy.Recq | None = None,
    attacks: attacking.Attacks | None = None,
    written: Path | None = None,
    utility: Utility | None = None,
    explanation: anatomy.GroupPrices | None = None,
) -> dict[str, Any]:
    """What `divulge anatomize --json` prints; levels as exact fractions."""
    summary = release.summary
    return {
        "tables": [list(columns) for columns in release.table_columns],
        "groups": summary.groups,
        "groups_at_most": release.groups.at_most,
        "groups_proved_most": summary.groups == release.groups.at_most,
        "group_sizes": {"min": summary.smallest, "max": summary.largest},
        "levels": release.levels.texts(),
        "recq": {} if recq is None else recq.as_json(),
        "promises": release.model.texts(),
        "explanation": None if explanation is None else group_prices_document(explanation),
        "method": release.groups.method.name,
        "settings": release.settings,
        "engine": release.source.engine.name,
        "rows": summary.records,
        "left_out": dict(release.left_out),
        "notes": list(release.notes),
        "division": _division_document(release.groups.division),
        "attacks": None if attacks is None else attacks_list(attacks),
        "written": None if written is None else str(written),
        "utility": None if utility is None else utility_document(utility),
    } | entered_document(release.ledger, written)


@results.rows_of.register(AnatomizedRelease)
def anatomized_rows(release: AnatomizedRelease) -> results.Rows:
    """In which table each column is published, or why it is left out; the rows that are published are `tables()`."""
    kinds = {True: "sensitive", False: "quasi_identifier"}
    rows = [
        (name, kinds[table.sensitive], table.name, table.rows, None)
        for table in release.outline.tables
        for name in table.columns
    ]
    left_out = [(name, None, None, None, reason) for name, reason in release.left_out.items()]
    return ("column", "role", "table", "rows", "left_out"), [*rows, *left_out]


def _division_document(division: anatomy.Division) -> dict[str, Any]:
    return {
        "linkage": division.linkage,
        "association": division.association,
        "weights": dict(division.weights),
        "coefficients": [
            {"left": pair.left, "right": pair.right, "value": pair.value} for pair in division.coefficients
        ],
    }


@results.text_of.register(ReleaseCheck)
def check_text(check: ReleaseCheck) -> RenderableType:
    """What a release reaches, and whether that is enough."""
    asked = "what was asked" if "given" in check.settings["bounds"].values() else "what it promises"
    groups, shown = "groups", "as its files alone show"
    if "released" in check.settings:
        groups, shown = "joint groups", "together with what is out already"
    told = f"The release keeps {asked}, {shown}."
    if not check.holds:
        told = f"{check.breaking:,} of {check.groups:,} {groups} break {asked}."
    sizes = f"of {check.smallest:,} to {check.largest:,} records, {len(check.tables)} tables"
    return Group(
        Text(f"{check.groups:,} {groups} {sizes}"),
        _levels(check.model, check.levels),
        Padding(Text(told, style="bold"), (1, 0, 0, 0)),
        *(bullet(noted(note)) for note in check.notes),
    )


@results.document_of.register(ReleaseCheck)
def check_document(check: ReleaseCheck) -> dict[str, Any]:
    """What `divulge anatomize --check --json` prints."""
    return {
        "holds": check.holds,
        "levels": check.levels.texts(),
        "promises": check.model.texts(),
        "broken": list(check.broken),
        "breaking_groups": check.breaking,
        "tables": [list(columns) for columns in check.tables],
        "groups": check.groups,
        "group_sizes": {"min": check.smallest, "max": check.largest},
        "settings": dict(check.settings),
        "notes": list(check.notes),
    }


@results.rows_of.register(ReleaseCheck)
def check_rows(check: ReleaseCheck) -> results.Rows:
    """A row for each of alpha, beta, gamma and delta; the JSON document has them as exact fractions."""
    pairs = [(name, getattr(check.model, name), getattr(check.levels, name)) for name in _MEANINGS]
    return ("level", "promised", "reached", "holds"), [
        (name, float(promised), float(reached), reached <= promised) for name, promised, reached in pairs
    ]
