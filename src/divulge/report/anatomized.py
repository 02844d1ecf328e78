# SPDX-License-Identifier: Apache-2.0
"""An anatomized release, a check of one, and what one answers: in words, and as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge.anatomize import AlphaBetaGammaDelta, Division, Reached
from divulge.anatomize.query import Estimate
from divulge.anatomize.utility import Recq
from divulge.attack.anatomized import Attacks
from divulge.report.text import bullet, grid, heading, number
from divulge.report.words import percent
from divulge.tasks.anatomized_release import AnatomizedRelease
from divulge.tasks.check_anatomized import ReleaseCheck

_MEANINGS = {
    "alpha": "how surely the quasi-identifiers of a record can be put together",
    "beta": "how surely a sensitive value can be inferred",
    "gamma": "how surely one row of each table makes up a given record",
    "delta": "how far the belief in a sensitive value moves",
}
_SHOWN_PAIRS = 20


def anatomized_document(
    release: AnatomizedRelease, *, recq: Recq | None, attacks: Attacks | None, written: Path | None
) -> dict[str, Any]:
    """What `divulge anatomize --json` prints; levels as exact fractions."""
    summary = release.summary
    return {
        "tables": [list(columns) for columns in release.table_columns],
        "groups": summary.groups,
        "group_sizes": {"min": summary.smallest, "max": summary.largest},
        "levels": release.levels.texts(),
        "recq": {} if recq is None else recq.as_json(),
        "promises": release.model.texts(),
        "method": release.groups.method.name,
        "settings": release.settings,
        "engine": release.source.engine.name,
        "rows": summary.records,
        "left_out": dict(release.left_out),
        "notes": list(release.notes),
        "division": _division_document(release.groups.division),
        "attacks": None if attacks is None else [outcome.as_json() for outcome in attacks.outcomes],
        "written": None if written is None else str(written),
    }


def _division_document(division: Division) -> dict[str, Any]:
    return {
        "linkage": division.linkage,
        "association": division.association,
        "weights": dict(division.weights),
        "coefficients": [
            {"left": pair.left, "right": pair.right, "value": pair.value} for pair in division.coefficients
        ],
    }


def check_document(check: ReleaseCheck) -> dict[str, Any]:
    """What `divulge anatomize --check --json` prints."""
    return {
        "holds": check.holds,
        "levels": check.levels.texts(),
        "promises": check.model.texts(),
        "broken": list(check.model.broken_by(check.levels)),
        "breaking_groups": check.breaking,
        "tables": [list(columns) for columns in check.tables],
        "groups": check.groups,
        "group_sizes": {"min": check.smallest, "max": check.largest},
    }


def estimate_document(found: Estimate) -> dict[str, Any]:
    """What `divulge query --json` prints."""
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "variance": found.variance,
        "standard_error": found.standard_error,
        "what": found.what,
    }


def anatomized_text(
    release: AnatomizedRelease, *, recq: Recq | None, attacks: Attacks | None, written: Path | None
) -> RenderableType:
    """The tables, what they promise and reach, what they still answer, and where they lie."""
    summary, division = release.summary, release.groups.division
    sizes = f"{summary.smallest:,}" + ("" if summary.smallest == summary.largest else f" to {summary.largest:,}")
    parts: list[RenderableType] = [
        Text(f"{release.source.source}: {summary.records:,} rows in {summary.groups:,} groups of {sizes}"),
        *(bullet(note) for note in release.notes),
        heading("The tables"),
        *(bullet(sentence) for sentence in _tables(release)),
    ]
    if division.coefficients:
        parts += [heading(f"How closely columns go together ({division.association})"), _coefficients(division)]
    parts += [heading("What it promises, and reaches"), _levels(release.model, release.levels)]
    if attacks is not None:
        parts += [heading("What an adversary achieves"), *_attacks(attacks)]
    if recq is not None:
        parts += [heading("What it still answers"), bullet(_recq_sentence(recq))]
    if written is None:
        parts.append(heading("Nothing was written. Name a folder with --out to publish."))
    else:
        parts += [
            heading(f"Published in {written}"),
            bullet("Everything in it may be handed out. Ask it with `divulge query`."),
        ]
    return Group(*parts)


def _tables(release: AnatomizedRelease) -> Iterator[str]:
    for table in release.held.tables:
        kind = "sensitive" if table.sensitive else "quasi-identifiers"
        yield f"{table.name}: {', '.join(table.columns)} ({kind}; {table.rows:,} rows)"
    for name, reason in release.left_out.items():
        yield f"left out: {name} ({reason})"


def _coefficients(division: Division) -> RenderableType:
    table = grid("column", "weight (bits)", "with", "coefficient", right=[1, 3])
    weights = dict(division.weights)
    for pair in division.coefficients[:_SHOWN_PAIRS]:
        weight = number(weights[pair.left]) if pair.left in weights else ""
        table.add_row(pair.left, weight, pair.right, number(pair.value))
    more = len(division.coefficients) - _SHOWN_PAIRS
    return Group(table, Text(f"... and {more} more (--json has them all)", style="dim")) if more > 0 else table


def _levels(model: AlphaBetaGammaDelta, levels: Reached) -> RenderableType:
    table = grid("", "promised", "reached", "", "meaning", right=[1, 2], whole=[0, 3])
    for name, meaning in _MEANINGS.items():
        promised, reached = getattr(model, name), getattr(levels, name)
        holds = "holds" if reached <= promised else "BROKEN"
        table.add_row(name, "nothing" if promised == 1 else _share(promised), _share(reached), holds, meaning)
    return table


def _share(value: Fraction) -> str:
    """A fraction as people read it: exact where it is short, a decimal where not."""
    text = str(value)
    return text if len(text) <= 9 else f"{float(value):.4g}"


def _attacks(attacks: Attacks) -> Iterator[RenderableType]:
    for outcome in attacks.outcomes:
        holds = "as promised" if outcome.holds else "NOT COVERED by the promise"
        yield bullet(
            f"{outcome.attack}: at worst {_share(outcome.worst)}, on average {number(outcome.mean)}; "
            f"{outcome.promise} promises {_share(outcome.bound)}: {holds}."
        )
        for told, value in outcome.beyond.items():
            yield Padding(bullet(f"{told}: {number(value)}"), (0, 0, 0, 2))


def _recq_sentence(recq: Recq) -> str:
    fewest, most = recq.workload.quasi_identifiers
    zero = f" {recq.below_floor} of them match fewer than {recq.workload.floor} records." if recq.below_floor else ""
    return (
        f"{recq.queries:,} {recq.workload.kind} count queries over {fewest} to {most} quasi-identifiers and a sensitive value: "
        f"relative error {percent(recq.mean)} on average, {percent(recq.median)} at the median, {percent(recq.p90)} at the 90th "
        f"percentile.{zero}"
    )


def check_text(check: ReleaseCheck) -> RenderableType:
    """What a release reaches, and whether that is enough."""
    told = (
        "The release keeps what was asked."
        if check.holds
        else f"{check.breaking:,} of {check.groups:,} groups break what was asked."
    )
    return Group(
        Text(f"{check.groups:,} groups of {check.smallest:,} to {check.largest:,} records, {len(check.tables)} tables"),
        _levels(check.model, check.levels),
        Padding(Text(told, style="bold"), (1, 0, 0, 0)),
    )


def estimate_text(found: Estimate) -> RenderableType:
    """One line."""
    if found.estimate is None or found.low is None or found.high is None or found.standard_error is None:
        return Text(f"{found.what}: no record can satisfy the condition")
    if found.low == found.high:
        return Text(f"{found.what}: {number(found.estimate)} (exact)")
    return Text(
        f"{found.what}: about {number(found.estimate)} (standard error {number(found.standard_error)}); "
        f"certainly from {number(found.low)} to {number(found.high)}"
    )
