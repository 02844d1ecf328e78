# SPDX-License-Identifier: Apache-2.0
"""Views of generalized and anatomized releases, and of checks: text and JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import anatomization, generalization, releases, results
from divulge import attacks as attacking
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.apply import Applied
from divulge.api.check_groups import ReleaseCheck
from divulge.arguments import arg, spelled
from divulge.hierarchies import SUPPRESSED, Suggestion
from divulge.output import attack
from divulge.output.formatting import (
    bullet,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    settings_sentence,
)
from divulge.output.measurement import (
    measurement_document,
    outcome_rows,
    promises_document,
    uniqueness_document,
    uniqueness_lines,
)
from divulge.output.utility import (
    explanation_document,
    explanation_parts,
    group_prices_document,
    group_prices_parts,
    model_warnings,
    recq_sentence,
    utility_document,
    utility_parts,
    warning_parts,
)
from divulge.policy import guard, judge
from divulge.queries import Utility

_EXAMPLE_LABELS = 3
_SHOWN_PAIRS = 20
_MEANINGS = {
    "alpha": "how surely the quasi-identifiers of a record can be put together",
    "beta": "how surely a sensitive value can be inferred",
    "gamma": "how surely one row of each table makes up a given record",
    "delta": "how far the belief in a sensitive value moves",
}


@results.text_of.register(releases.GeneralizedRelease)
def release_text(
    release: releases.GeneralizedRelease,
    *,
    written: Path | None = None,
    private: Path | None = None,
    explanation: generalization.Explanation | None = None,
    utility: Utility | None = None,
) -> RenderableType:
    """Render the treatment of each column, the requirements, the cost, and the folder."""
    warning, unique = uniqueness_lines(release.uniqueness, release.after)
    parts: list[RenderableType] = [
        *warning,
        *warning_parts(release.plan, explanation, utility),
        Text(
            f"{release.before.settings['source']}: {release.before.rows:,} rows, "
            f"{people(release.before.people)}"
        ),
        *unique,
        heading("What was done"),
        *(bullet(sentence) for sentence in columns_in_words(release)),
        heading("What it promises"),
        _requirement_table(release),
        heading("What it costs"),
        *(bullet(sentence) for sentence in costs_in_words(release)),
        *(() if explanation is None else explanation_parts(explanation)),
    ]
    if release.policy.protections:
        protected_note = ", but for those that the policy protects by name"
    else:
        protected_note = ""
    parts += _search_details(release)
    parts += ledger_entry_parts(release.ledger, written)
    if utility is not None:
        parts += utility_parts(utility)
    if written is None:
        parts.append(
            heading(spelled(f"Nothing was written. Name a folder with {arg('out')} to publish."))
        )
    else:
        parts += [
            heading(f"Published in {written}"),
            bullet(
                "This folder may be shared as a whole; its manifest holds no value of the "
                f"original{protected_note}."
            ),
            *private_part_bullets(private, "It holds original values."),
            bullet(
                "Numbers measured in the original, or against it, are for you alone: those above "
                "and in the private part."
            ),
        ]
    return Group(
        *parts, Padding(Text(settings_sentence(release.after.settings), style="dim"), (1, 0, 0, 0))
    )


def private_part_bullets(private: Path | None, *sentences: str) -> Iterator[RenderableType]:
    """Yield the path of the private part, and a warning if others can list its parent folder."""
    yield bullet(
        " ".join(
            (f"Its private part stays with you: {private or 'in a folder of its own'}.", *sentences)
        )
    )
    if private is None:
        parent = None
    else:
        parent = releases.readable_parent(private)
    if parent is not None:
        option = spelled(arg("private_dir"))
        yield bullet(
            f"WARNING  Other users can list {parent}, not what is in the private part; {option} "
            "moves it."
        )


def _search_details(release: releases.GeneralizedRelease) -> list[RenderableType]:
    """Render all optima and all examined combinations, if they were requested."""
    plan = release.plan
    parts = []
    names = list(plan.levels)
    if plan.optima:
        table = grid(*names, right=range(len(names)))
        for levels in plan.optima:
            table.add_row(*map(str, levels.values()))
        parts += [heading(f"All {len(plan.optima):,} optima (levels)"), table]
    if plan.nodes:
        table = grid(
            *names, plan.objective, "left out", "classes", "in the way", right=range(len(names) + 3)
        )
        for node in plan.nodes:
            if node.value is None:
                value = ""
            else:
                value = number(node.value)
            counts = (f"{node.suppressed:,}", f"{node.classes:,}", node.obstacle or "")
            table.add_row(*map(str, node.levels.values()), value, *counts)
        parts += [heading(f"All {len(plan.nodes):,} combinations that were looked at"), table]
    return parts


def columns_in_words(release: releases.GeneralizedRelease) -> Iterator[str]:
    """Yield one sentence per column."""
    roles = release.original.roles
    recoding = release.plan.recoding
    published = {key.name: key for key in release.after.contingency.keys}
    for position, name in enumerate(recoding.columns):
        before = release.original.people.keys[position]
        after = published[name]
        if recoding.unchanged[position]:
            yield f"{name}: published as it is ({len(after):,} of {len(before):,} values)."
        elif after.labels == [SUPPRESSED]:
            yield f"{name}: suppressed, every value is {SUPPRESSED}."
        else:
            level = release.plan.levels.get(name)
            if level is None:
                level_note = ""
            else:
                level_note = f" (level {level} of {release.hierarchies[name].height})"
            examples = ", ".join(str(label) for label in after.labels[:_EXAMPLE_LABELS])
            yield (
                f"{name}{level_note}: {len(before):,} values become {len(after):,}, "
                f"such as {examples}."
            )
    if roles.kept_back:
        yield f"{', '.join(roles.kept_back)}: left out."
    if unassigned := [name for name in release.plain if name not in roles.plain]:
        yield f"{', '.join(unassigned)}: without a role, published as they are."
    if roles.plain:
        yield f"{', '.join(roles.plain)}: plain, published as they are."
    if exposed_columns := [
        name for name in release.plain if guard.words_of(name) & guard.QUASI_WORDS
    ]:
        warning = "no promise covers what others may know of a person by this"
        yield (
            f"{', '.join(exposed_columns)}: {warning}; name it with "
            f"{spelled(arg('quasi_identifiers'))}."
        )


def _requirement_table(release: releases.GeneralizedRelease) -> RenderableType:
    table = grid("promise", "before", "after", "", right=[1, 2])
    before = judge(release.before, release.policy.promises, protected=release.protected)
    for old, new in zip(before.outcomes, release.verdict.outcomes, strict=True):
        table.add_row(
            new.text, number(old.value), number(new.value), "holds" if new.holds else "BROKEN"
        )
    return table


def costs_in_words(release: releases.GeneralizedRelease) -> Iterator[str]:
    """Yield information loss, suppressed records and classes; for the publisher only."""
    plan = release.plan
    before = release.before
    after = release.after
    if plan.gap and plan.method != "mondrian":
        search_note = (
            f", the best of {plan.checked:,} looked at among {plan.lattice:,} combinations"
        )
        search_note += f"; one better by {number(plan.gap)} may exist"
    elif plan.method != "mondrian":
        search_note = f", the best of {plan.lattice:,} combinations ({plan.checked:,} looked at)"
    else:
        search_note = f" in {len(plan.boxes):,} boxes; other boxes may lose less"
    yield f"{plan.objective}: {number(plan.value)}{search_note}."
    share = plan.suppressed / before.people
    yield (
        f"{people(plan.suppressed)} left out ({percent(share)}; allowed: "
        f"{percent(release.policy.suppression)})."
    )
    if before.class_count == 1:
        classes = "1 class becomes"
    else:
        classes = f"{before.class_count:,} classes become"
    yield f"{classes} {plan.classes:,}."
    if after.contingency.pinned:
        yield (
            f"Beside what is out already, people are in {len(after.contingency):,} joint "
            "classes: promises are about those."
        )
    yield from map(noted, (*release.notes, *after.notes))


def ledger_entry_document(
    register: releases.Register | None, written: Path | None
) -> dict[str, Any]:
    """Return the ledger entry of a release, and the releases it was checked against.

    The document is empty without a ledger.
    """
    if register is None:
        return {}
    return {"ledger": dict(register.describe(written))}


def ledger_entry_parts(
    register: releases.Register | None, written: Path | None
) -> list[RenderableType]:
    """Render the ledger entry of a release, and the releases it was checked against."""
    if register is None:
        return []
    entry = register.describe(written)
    numbers = [str(number) for number in entry["judged_against"]]
    if numbers:
        prior_releases = f"release {' and '.join(numbers)} of {entry['dataset']}"
    else:
        prior_releases = f"nothing of {entry['dataset']}, of which nothing is out"
    if entry["number"] is None:
        entry_note = ""
    else:
        entry_note = f"Entered as release {entry['number']} for {entry['recipient']}. "
    return [
        heading(f"By the ledger {entry['folder']}"),
        bullet(f"{entry_note}Judged together with {prior_releases}."),
    ]


@results.document_of.register(releases.GeneralizedRelease)
def release_document(
    release: releases.GeneralizedRelease,
    *,
    written: Path | None = None,
    private: Path | None = None,
    explanation: generalization.Explanation | None = None,
    utility: Utility | None = None,
) -> dict[str, Any]:
    """Return the document of `divulge generalize --json`.

    `before` and `after` have the format of `divulge measure --json`.
    """
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
        "uniqueness": uniqueness_document(release.uniqueness),
        "notes": list(release.notes),
        "written": None if written is None else str(written),
        "private": None if private is None else str(private),
        "utility": None if utility is None else utility_document(utility),
        "before": measurement_document(release.before),
        "after": measurement_document(release.after),
    }
    if plan.optima:
        optima = {"optima": [dict(levels) for levels in plan.optima]}
    else:
        optima = {}
    if plan.nodes:
        nodes = {"nodes": [asdict(node) for node in plan.nodes]}
    else:
        nodes = {}
    return document | optima | nodes | ledger_entry_document(release.ledger, written)


@results.rows_of.register(releases.GeneralizedRelease)
def release_rows(release: releases.GeneralizedRelease) -> results.Rows:
    """Table of the treatment of each column, for the publisher only.

    `tables()` returns the published rows.
    """
    original = release.original
    recoding = release.plan.recoding
    published = {key.name: key for key in release.after.contingency.keys}
    roles = original.roles.by_column
    column_rows = []
    for name in release.source.names:
        treatment = "published as it is"
        level = None
        height = None
        before = None
        after = None
        if name in recoding.columns:
            position = recoding.columns.index(name)
            before = len(original.people.keys[position])
            after = len(published[name])
            level = release.plan.levels.get(name)
            hierarchy = release.hierarchies.get(name)
            if hierarchy is None:
                height = None
            else:
                height = hierarchy.height
            if not recoding.unchanged[position]:
                if published[name].labels == [SUPPRESSED]:
                    treatment = "suppressed"
                else:
                    treatment = "made coarser"
        elif name in original.roles.kept_back:
            treatment = "left out"
        column_rows.append((name, roles.get(name), treatment, level, height, before, after))
    return (
        "column",
        "role",
        "done",
        "level",
        "height",
        "values_before",
        "values_after",
    ), column_rows


def suggestions_text(suggestions: Mapping[str, Suggestion]) -> RenderableType:
    """Render the hierarchies chosen from the data, in the format of a policy file."""
    return Group(
        Text(""),
        Text(
            "Hierarchies chosen from the data; put them into your policy file and change what "
            "does not suit:",
            style="bold",
        ),
        *(Padding(Text(item.toml()), (0, 0, 0, 2)) for item in suggestions.values()),
    )


@results.text_of.register(generalization.Front)
def front_text(front: generalization.Front) -> RenderableType:
    """Render the trade-off as a table, the cheapest first."""
    if front.attribute:
        about = f" of {front.attribute}"
    else:
        about = ""
    if front.points:
        columns = list(front.points[0].levels)
    else:
        columns = []
    if front.further:
        quantifier = "all"
    else:
        quantifier = "both"
    title = (
        f"{len(front.points):,} combinations of levels, {len(front.front):,} of which none beats "
        f"in {quantifier} numbers:"
    )
    names = (
        front.objective,
        *(f"{name}{about}" for name in (front.metric, *front.further)),
        "left out",
        "classes",
    )
    table = grid(*names, *columns, right=range(len(names) + len(columns)))
    for point in front.front:
        numbers = map(number, (point.value, point.leakage, *point.further))
        table.add_row(
            *numbers,
            f"{point.suppressed:,}",
            f"{point.classes:,}",
            *map(str, point.levels.values()),
        )
    return Group(Text(title), table, *(bullet(noted(note)) for note in front.notes))


@results.rows_of.register(generalization.Front)
def front_rows(front: generalization.Front) -> results.Rows:
    """Table with a row for each combination of levels that meets the policy, cheapest first."""
    if front.points:
        columns = list(front.points[0].levels)
    else:
        columns = []
    names = (
        "value",
        "leakage",
        *(f"leakage.{name}" for name in front.further),
        "suppressed",
        "classes",
        "on_front",
    )
    return (*names, *(f"level.{name}" for name in columns)), [
        (p.value, p.leakage, *p.further, p.suppressed, p.classes, p.on_front, *p.levels.values())
        for p in front.points
    ]


@results.text_of.register(Applied)
def applied_text(applied: Applied) -> RenderableType:
    """Render an incremental release: record counts, requirements, and unchecked risks.

    Requirements are checked together with the earlier records and among the new records.
    """
    warning, unique = uniqueness_lines(applied.uniqueness, applied.alone.measurement)
    parts: list[RenderableType] = [*warning, Text(_applied_sentence(applied))]
    if applied.uniqueness is not None and applied.uniqueness.adds and unique:
        parts += [Text("Among the new records:"), *unique]
    parts.append(Text(""))
    table = grid("requirement", "together", "new records only", "", right=[1, 2])
    for joint_outcome, new_outcome in zip(
        applied.verdict.outcomes, applied.alone.outcomes, strict=True
    ):
        table.add_row(
            joint_outcome.text,
            number(joint_outcome.value),
            number(new_outcome.value),
            _pass_or_fail(together=joint_outcome.holds, holds_alone=new_outcome.holds),
        )
    parts.append(table)
    if applied.beside is not None:
        table = grid("requirement", "new records", "", right=[1])
        for outcome in applied.beside.outcomes:
            table.add_row(outcome.text, number(outcome.value), "pass" if outcome.holds else "FAIL")
        parts += [heading("In joint classes with other prior releases"), table]
    if applied.deferred:
        parts += [heading("Deferred records"), *map(bullet, _deferral_sentences(applied))]
    parts += [heading("Not checked"), *map(bullet, _unchecked_sentences(applied))]
    parts += [Text(""), *private_part_bullets(applied.private_folder)]
    return Group(*parts, *ledger_entry_parts(applied.ledger, applied.folder))


def _applied_sentence(applied: Applied) -> str:
    """State the numbers of published, suppressed and deferred records."""
    records = applied.rows + applied.previously_deferred
    folder = _short_path(applied.folder)
    if applied.previously_deferred:
        before = f"{applied.rows:,} new, {applied.previously_deferred:,} deferred before"
        sentence = f"Published {applied.published:,} of {records:,} records ({before}) in {folder}"
    else:
        sentence = f"Published {applied.published:,} of {records:,} new records in {folder}"
    if applied.accept_incremental_risk:
        risk = f"k = {applied.smallest_class:,}, {applied.unique:,} unique"
        option = spelled(arg("accept_incremental_risk"))
        sentence += (
            f" with {option}, so they need not meet the requirements among themselves ({risk})"
        )
    if applied.suppressed:
        if applied.suppressed == 1:
            verb = "is"
        else:
            verb = "are"
        sentence += (
            f"; {applied.suppressed:,} {verb} suppressed (values that the release does not know)"
        )
    if applied.deferred:
        if applied.deferred == 1:
            verb = "is"
        else:
            verb = "are"
        reasons = _deferral_reasons(applied)
        sentence += f"; {applied.deferred:,} {verb} deferred to the next batch ({reasons})"
    warning = applied.unchecked or (applied.accept_incremental_risk and not applied.alone.holds)
    return f"{'WARNING  ' if warning else ''}{sentence}."


def _short_path(folder: Path) -> str:
    """Return the path relative to the current folder, if it is below that."""
    here = Path.cwd()
    if folder.is_relative_to(here):
        return f"{folder.relative_to(here)}/"
    return str(folder)


def _deferral_reasons(applied: Applied) -> str:
    if len(applied.reasons) == 1:
        return next(iter(applied.reasons))
    return "; ".join(f"{records:,}: {reason}" for reason, records in applied.reasons.items())


def _pass_or_fail(*, together: bool, holds_alone: bool) -> str:
    if not together:
        return "FAIL"
    if holds_alone:
        return "pass"
    return "FAIL among the new records"


def _deferral_sentences(applied: Applied) -> Iterator[str]:
    yield (
        f"They are kept in the private part of {_short_path(applied.folder)}. The next apply to it "
        "adds them: do not pass them again."
    )
    yield releases.REVEALS
    yield from map(_deferral_attack_sentence, applied.deferral_attacks)


def _deferral_attack_sentence(attempt: attacking.Attempt) -> str:
    """State the success of the deferral attack, next to its baseline and its bound."""
    guarantee = "no requirement bounds it"
    if attempt.bound is not None:
        if attempt.broken:
            verb = "more than"
        else:
            verb = "guarantee for published records:"
        guarantee = f"{verb} {percent(attempt.bound.value)} ({attempt.bound.promise})"
    return (
        f"Such an adversary guesses {attempt.about} right for {percent(attempt.rate.value)} "
        f"of {attempt.targets:,} deferred records whose class fails a requirement on a sensitive "
        f"column; {percent(attempt.prior or 0.0)} by the prior alone; {guarantee}."
    )


def _unchecked_sentences(applied: Applied) -> Iterator[str]:
    if applied.person is None:
        yield (
            "Whether a person is in both tables: no column was named that identifies people "
            "(person)."
        )
    else:
        yield (
            "Whether a person of the new records is in an earlier release: published records "
            "name nobody."
        )
    yield from (f"{text}." for text in applied.unchecked)
    yield from () if applied.beside is None else applied.beside.measurement.notes


@results.document_of.register(Applied)
def applied_document(applied: Applied) -> dict[str, Any]:
    """Return the document of `divulge apply --json`."""
    return {
        "rows": applied.rows,
        "previously_deferred": applied.previously_deferred,
        "published": applied.published,
        "suppressed": applied.suppressed,
        "deferred": applied.deferred,
        "deferred_because": [
            {"reason": reason, "records": records} for reason, records in applied.reasons.items()
        ],
        "max_deferred": applied.max_deferred,
        "accept_incremental_risk": applied.accept_incremental_risk,
        "new_records": {"smallest_class": applied.smallest_class, "unique": applied.unique},
        "uniqueness": uniqueness_document(applied.uniqueness),
        "deferral_attacks": [
            {
                "about": attempt.about,
                "targets": attempt.targets,
                "guesses": attempt.guesses,
                "successes": attempt.successes,
                "rate": attempt.rate.value,
                "low": attempt.rate.low,
                "high": attempt.rate.high,
                "prior": attempt.prior,
                "bound": None if attempt.bound is None else attempt.bound.value,
                "promise": None if attempt.bound is None else attempt.bound.promise,
                "broken": attempt.broken,
            }
            for attempt in applied.deferral_attacks
        ],
        "promises": promises_document(applied.verdict),
        "alone": promises_document(applied.alone),
        "beside": None if applied.beside is None else promises_document(applied.beside),
        "unchecked": list(applied.unchecked),
        "written": str(applied.folder),
        "private": None if applied.private_folder is None else str(applied.private_folder),
        "together": measurement_document(applied.together),
    } | ledger_entry_document(applied.ledger, applied.folder)


@results.rows_of.register(Applied)
def applied_rows(applied: Applied) -> results.Rows:
    """Table with one row for each requirement and scope, then for each unchecked one.

    Scopes are all records together, the new records, and joint classes with prior releases.
    """
    names = (
        "of",
        "promise",
        "attribute",
        "metric",
        "bound",
        "value",
        "holds",
        "breaking_classes",
        "breaking_people",
    )
    verdicts = {"together": applied.verdict, "new rows alone": applied.alone}
    if applied.beside is not None:
        verdicts["beside what is out"] = applied.beside
    rows = [(scope, *row) for scope, verdict in verdicts.items() for row in outcome_rows(verdict)]
    return names, [*rows, *(("unchecked", text, *(None,) * 7) for text in applied.unchecked)]


@results.text_of.register(AnatomizedRelease)
def anatomized_text(
    release: AnatomizedRelease,
    *,
    recq: anatomization.Recq | None = None,
    attacks: attacking.AttackResult | None = None,
    written: Path | None = None,
    private: Path | None = None,
    utility: Utility | None = None,
    explanation: anatomization.GroupPrices | None = None,
) -> RenderableType:
    """Render the tables, levels and bounds, attacks, utility, and the folder."""
    summary = release.summary
    division = release.groups.division
    sizes = f"{summary.smallest:,}" + (
        "" if summary.smallest == summary.largest else f" to {summary.largest:,}"
    )
    parts: list[RenderableType] = [
        *(Text(f"Beware: {warning}", style="bold") for warning in model_warnings(utility)),
        Text(
            f"{release.source.source}: {summary.records:,} rows in {summary.groups:,} groups of "
            f"{sizes}"
        ),
        bullet(_group_count_sentence(summary.groups, release.groups.at_most)),
        *(bullet(spelled(note)) for note in release.notes),
        heading("The tables"),
        *(bullet(sentence) for sentence in tables_in_words(release)),
    ]
    if division.coefficients:
        parts += [
            heading(f"How closely columns go together ({division.association})"),
            _coefficient_table(division),
        ]
    parts += [heading("What it promises, and reaches"), _level_table(release.model, release.levels)]
    if explanation is not None:
        parts += group_prices_parts(explanation)
    if attacks is not None:
        parts += attack.attack_parts(attacks)
    if recq is not None:
        parts += [heading("What it still answers"), bullet(recq_sentence(recq))]
    if utility is not None:
        parts += utility_parts(utility)
    if written is None:
        parts.append(
            heading(spelled(f"Nothing was written. Name a folder with {arg('out')} to publish."))
        )
    else:
        parts += [
            heading(f"Published in {written}"),
            bullet("This folder may be shared as a whole. Ask it with `divulge query`."),
            *private_part_bullets(private),
            *ledger_entry_parts(release.ledger, written),
        ]
    return Group(*parts)


def _group_count_sentence(groups: int, at_most: int) -> str:
    if groups == at_most:
        return "No grouping that keeps these promises has more groups; this is proved."
    return (
        "Whether there are groupings with more groups is open; none that keeps these promises has "
        f"more than {at_most:,}."
    )


def tables_in_words(release: AnatomizedRelease) -> Iterator[str]:
    """Yield the columns of each table, then the columns in none."""
    for table in release.outline.tables:
        if table.sensitive:
            kind = "sensitive"
        else:
            kind = "quasi-identifiers"
        yield f"{table.name}: {', '.join(table.columns)} ({kind}; {table.rows:,} rows)"
    for name, reason in release.left_out.items():
        yield f"left out: {name} ({reason})"


def _coefficient_table(division: anatomization.Division) -> RenderableType:
    table = grid("column", "weight (bits)", "with", "coefficient", right=[1, 3])
    weights = dict(division.weights)
    for pair in division.coefficients[:_SHOWN_PAIRS]:
        if pair.left in weights:
            weight = number(weights[pair.left])
        else:
            weight = ""
        table.add_row(pair.left, weight, pair.right, number(pair.value))
    more = len(division.coefficients) - _SHOWN_PAIRS
    if more > 0:
        return Group(table, Text(f"... and {more} more, which the JSON document has", style="dim"))
    return table


def _level_table(
    model: anatomization.AlphaBetaGammaDelta, levels: anatomization.Reached
) -> RenderableType:
    table = grid("", "promised", "reached", "", "meaning", prose=1, right=[1, 2])
    for name, meaning in _MEANINGS.items():
        promised = getattr(model, name)
        reached = getattr(levels, name)
        if reached <= promised:
            holds = "holds"
        else:
            holds = "BROKEN"
        table.add_row(
            name,
            "nothing" if promised == 1 else _fraction_text(promised),
            _fraction_text(reached),
            holds,
            meaning,
        )
    return table


def _fraction_text(value: Fraction) -> str:
    """Format a fraction: exact if it is short, a decimal otherwise."""
    text = str(value)
    if len(text) <= 9:
        return text
    return f"{float(value):.4g}"


@results.document_of.register(AnatomizedRelease)
def anatomized_document(
    release: AnatomizedRelease,
    *,
    recq: anatomization.Recq | None = None,
    attacks: attacking.AttackResult | None = None,
    written: Path | None = None,
    private: Path | None = None,
    utility: Utility | None = None,
    explanation: anatomization.GroupPrices | None = None,
) -> dict[str, Any]:
    """Return the document of `divulge anatomize --json`; levels are exact fractions."""
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
        "attacks": None if attacks is None else attack.attempt_documents(attacks),
        "written": None if written is None else str(written),
        "private": None if private is None else str(private),
        "utility": None if utility is None else utility_document(utility),
    } | ledger_entry_document(release.ledger, written)


@results.rows_of.register(AnatomizedRelease)
def anatomized_rows(release: AnatomizedRelease) -> results.Rows:
    """Table with the published table of each column, or the reason why it is left out.

    `tables()` returns the published rows.
    """
    kinds = {True: "sensitive", False: "quasi_identifier"}
    rows = [
        (name, kinds[table.sensitive], table.name, table.rows, None)
        for table in release.outline.tables
        for name in table.columns
    ]
    left_out = [(name, None, None, None, reason) for name, reason in release.left_out.items()]
    return ("column", "role", "table", "rows", "left_out"), [*rows, *left_out]


def _division_document(division: anatomization.Division) -> dict[str, Any]:
    return {
        "linkage": division.linkage,
        "association": division.association,
        "weights": dict(division.weights),
        "coefficients": [
            {"left": pair.left, "right": pair.right, "value": pair.value}
            for pair in division.coefficients
        ],
    }


@results.text_of.register(ReleaseCheck)
def check_text(check: ReleaseCheck) -> RenderableType:
    """Render the levels of a release, and whether they meet their bounds."""
    if "given" in check.settings["bounds"].values():
        requirement_text = "what was asked"
    else:
        requirement_text = "what it promises"
    groups = "groups"
    evidence = "as its files alone show"
    if "released" in check.settings:
        groups = "joint groups"
        evidence = "together with what is out already"
    conclusion = f"The release keeps {requirement_text}, {evidence}."
    if check.model == anatomization.AlphaBetaGammaDelta():
        conclusion = "The release promises nothing, so nothing is held against it."
    if not check.holds:
        conclusion = f"{check.breaking:,} of {check.groups:,} {groups} break {requirement_text}."
    sizes = f"of {check.smallest:,} to {check.largest:,} records, {len(check.tables)} tables"
    return Group(
        Text(f"{check.groups:,} {groups} {sizes}"),
        _level_table(check.model, check.levels),
        Padding(Text(conclusion, style="bold"), (1, 0, 0, 0)),
        *(bullet(noted(note)) for note in check.notes),
    )


@results.document_of.register(ReleaseCheck)
def check_document(check: ReleaseCheck) -> dict[str, Any]:
    """Return the document of `divulge check --json` of an anatomized release."""
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
    """Table with one row for each of alpha, beta, gamma and delta.

    The JSON document has exact fractions.
    """
    pairs = [(name, getattr(check.model, name), getattr(check.levels, name)) for name in _MEANINGS]
    return ("level", "promised", "reached", "holds"), [
        (name, float(promised), float(reached), reached <= promised)
        for name, promised, reached in pairs
    ]
