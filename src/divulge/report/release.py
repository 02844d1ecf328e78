# SPDX-License-Identifier: Apache-2.0
"""A generalized release in words, and as the JSON document of `divulge generalize`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge.generalize.pareto import Front
from divulge.policy import judge
from divulge.report.document import measurement_document, verdict_document
from divulge.report.text import bullet, grid, heading, number, settings_sentence
from divulge.report.words import people, percent
from divulge.table.hierarchy import SUPPRESSED
from divulge.table.hierarchy_defaults import Suggestion
from divulge.tasks.apply import Applied
from divulge.tasks.profile import names_quasi_identifier
from divulge.tasks.release import GeneralizedRelease

_EXAMPLES = 3


def release_document(release: GeneralizedRelease, *, written: Path | None = None) -> dict[str, Any]:
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
        "promises": verdict_document(release.verdict, release.after)["promises"],
        "chosen_hierarchies": {name: dict(item.spec) for name, item in release.suggestions.items()},
        "published_as_is": list(release.plain),
        "written": None if written is None else str(written),
        "before": measurement_document(release.before),
        "after": measurement_document(release.after),
    }
    optima = {"optima": [dict(levels) for levels in plan.optima]} if plan.optima else {}
    nodes = {"nodes": [asdict(node) for node in plan.nodes]} if plan.nodes else {}
    return document | optima | nodes


def front_text(front: Front) -> RenderableType:
    """The trade-off as a table, the cheapest first."""
    about = f" of {front.attribute}" if front.attribute else ""
    columns = list(front.points[0].levels) if front.points else []
    told = f"{len(front.points):,} combinations of levels, {len(front.front):,} of which none beats in both numbers:"
    table = grid(
        front.objective, f"{front.metric}{about}", "left out", "classes", *columns, right=range(4 + len(columns))
    )
    for point in front.front:
        numbers = (number(point.value), number(point.leakage), f"{point.suppressed:,}", f"{point.classes:,}")
        table.add_row(*numbers, *map(str, point.levels.values()))
    return Group(Text(told), table)


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


def release_text(release: GeneralizedRelease, *, written: Path | None = None) -> RenderableType:
    """What was done to each column, what it does to the promises, what it costs, and where it lies."""
    parts: list[RenderableType] = [
        Text(f"{release.before.settings['source']}: {release.before.rows:,} rows, {people(release.before.people)}"),
        heading("What was done"),
        *(bullet(sentence) for sentence in _columns(release)),
        heading("What it promises"),
        _promises(release),
        heading("What it costs"),
        *(bullet(sentence) for sentence in _costs(release)),
    ]
    named = ", but for those that the policy protects by name" if release.policy.protections else ""
    parts += _on_request(release)
    if written is None:
        parts.append(heading("Nothing was written. Name a folder with --out to publish."))
    else:
        parts += [
            heading(f"Published in {written}"),
            bullet(f"table and manifest.json may be handed out; the manifest holds no value of the original{named}."),
            bullet("mapping/ tells what each original value became, for `divulge apply`: keep it to yourself."),
        ]
    return Group(*parts, Padding(Text(settings_sentence(release.after.settings), style="dim"), (1, 0, 0, 0)))


def _on_request(release: GeneralizedRelease) -> list[RenderableType]:
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


def _columns(release: GeneralizedRelease) -> Iterator[str]:
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
    dropped = list(dict.fromkeys([*roles.identifier, *([roles.person] if roles.person else [])]))
    if dropped:
        yield f"{', '.join(dropped)}: left out."
    if release.plain:
        yield f"{', '.join(release.plain)}: without a role, published as they are."
    if known := [name for name in release.plain if names_quasi_identifier(name)]:
        yield f"{', '.join(known)}: no promise covers what others may know of a person by this; name it with --qi."


def _promises(release: GeneralizedRelease) -> RenderableType:
    table = grid("promise", "before", "after", "", right=[1, 2])
    before = judge(release.before, release.policy.promises, protected=release.protected)
    for old, new in zip(before.outcomes, release.verdict.outcomes, strict=True):
        table.add_row(new.text, number(old.value), number(new.value), "holds" if new.holds else "BROKEN")
    return table


def _costs(release: GeneralizedRelease) -> Iterator[str]:
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
    yield f"{classes} {len(after.contingency):,}."
    yield from (f"Note: {note}." for note in after.notes)


def applied_document(applied: Applied) -> dict[str, Any]:
    """Everything `divulge apply --json` prints."""
    verdict = None if applied.verdict is None else verdict_document(applied.verdict, applied.together)["promises"]
    return {
        "rows": applied.rows,
        "published": applied.rows - applied.suppressed,
        "suppressed": applied.suppressed,
        "promises": verdict,
        "alone": None if applied.alone is None else verdict_document(applied.alone, applied.together)["promises"],
        "unchecked": list(applied.unchecked),
        "written": str(applied.folder),
        "together": measurement_document(applied.together),
    }


def applied_text(applied: Applied) -> RenderableType:
    """How many rows were published, and how far the promises could be checked again."""
    parts: list[RenderableType] = [
        Text(f"{applied.rows - applied.suppressed:,} of {applied.rows:,} new rows published in {applied.folder}")
    ]
    if applied.verdict is not None:
        table = grid("promise", "with the new rows", "", right=[1])
        for outcome in applied.verdict.outcomes:
            table.add_row(outcome.promise.text, number(outcome.value), "holds" if outcome.holds else "BROKEN")
        parts += [heading("The earlier release and the new rows together"), table]
    parts += [
        heading("What this does not prove"),
        bullet("Whether a person of the new rows is in the earlier release too was not checked."),
        *(bullet(told) for told in _alone(applied)),
        *(bullet(f"{told}.") for told in applied.unchecked),
    ]
    return Group(*parts)


def _alone(applied: Applied) -> Iterator[str]:
    broken = [] if applied.alone is None else [outcome for outcome in applied.alone.outcomes if not outcome.holds]
    if broken:
        told = ", ".join(f"{outcome.promise.text} is broken there ({number(outcome.value)})" for outcome in broken)
        yield f"Who knows that somebody is among the new rows looks for them there alone: {told}."
