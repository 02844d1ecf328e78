# SPDX-License-Identifier: Apache-2.0
"""Hierarchies on a terminal and as JSON: their levels, how fast they merge values, and how they fit the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge.report.text import bullet, grid, heading, number
from divulge.table.hierarchy import Hierarchy
from divulge.table.texts import as_text, toml_key, toml_value
from divulge.tasks.cut import CutColumn
from divulge.tasks.hierarchy import Built, Coverage

_NULL = "(null)"


def levels_document(hierarchy: Hierarchy) -> list[dict[str, Any]]:
    """Each level: how many labels it has, and the values under the commonest of them."""
    levels: list[dict[str, Any]] = []
    for level in range(hierarchy.height + 1):
        under = Counter(labels[level] for labels in hierarchy.rows.values())
        levels.append(
            {"level": level, "labels": len(under), "largest": max(under.values()), "examples": list(under)[:5]}
        )
    return levels


def hierarchy_document(hierarchy: Hierarchy) -> dict[str, Any]:
    """A hierarchy for JSON, without its rows."""
    return {
        "column": hierarchy.column,
        "height": hierarchy.height,
        "leaves": len(hierarchy.rows),
        "null": list(hierarchy.null_labels),
        "levels": levels_document(hierarchy),
    }


def hierarchy_text(hierarchy: Hierarchy, *, most: int = 10) -> RenderableType:
    """The levels, then some values with their labels."""
    levels = grid("level", "labels", "largest", "such as", right=[0, 1, 2])
    for item in levels_document(hierarchy):
        levels.add_row(str(item["level"]), f"{item['labels']:,}", f"{item['largest']:,}", _listed(item["examples"]))
    rows = grid(*("value" if level == 0 else f"level {level}" for level in range(hierarchy.height + 1)))
    for labels in list(hierarchy.rows.values())[:most]:
        rows.add_row(*map(_shown, labels))
    if None not in hierarchy.rows:
        rows.add_row(*map(_shown, hierarchy.null_labels))
    parts: list[RenderableType] = [
        heading(f"{hierarchy.column}: {len(hierarchy.rows):,} values, {_levels(hierarchy.height)} above them"), levels, Text(""), rows
    ]  # fmt: skip
    if len(hierarchy.rows) > most:
        parts.append(Text(f"... and {len(hierarchy.rows) - most:,} more values", style="dim"))
    return Group(*parts)


def built_text(built: Built, *, written: Sequence[Path] = (), most: int = 10) -> RenderableType:
    """What was chosen and why, and what it makes of the values."""
    parts: list[RenderableType] = []
    if built.suggestions:
        parts.append(heading("Chosen from the data; put it into your policy file and change what does not suit"))
        parts += [Text(suggestion.toml()) for suggestion in built.suggestions.values()]
    parts += [hierarchy_text(hierarchy, most=most) for hierarchy in built.hierarchies.values()]
    return Group(*parts, *written_text(written))


def cut_text(found: CutColumn, *, written: Sequence[Path] = (), most: int = 10) -> RenderableType:
    """The ranges, what they keep of what the column told, and the rule for a policy file."""
    cuts = found.cuts
    table = grid("from", "to", "people", "bits", right=[2, 3])
    for item in cuts.ranges:
        table.add_row(str(as_text(item.low)), str(as_text(item.high)), f"{item.people:,}", number(item.information))
    told = (
        f"{cuts.column} in {len(cuts.ranges):,} ranges tells {number(cuts.information)} bits about {cuts.attribute}, "
        f"of {number(cuts.original_information)} as it is; no other ranges that keep the promises tell more."
    )
    parts: list[RenderableType] = [Text(told), table, *(bullet(f"Note: {note}.") for note in found.notes)]
    if "cuts" in found.rule:
        rule = f"{toml_key(cuts.column)} = {toml_value(dict(found.rule))}"
        parts += [heading("For the [hierarchies] of a policy file"), Text(rule)]
    return Group(*parts, hierarchy_text(found.hierarchy, most=most), *written_text(written))


def cut_document(found: CutColumn, *, written: Sequence[Path] = ()) -> dict[str, Any]:
    """Everything `divulge hierarchy cut --json` prints."""
    return {
        **found.cuts.document(),
        "rule": dict(found.rule),
        "settings": dict(found.settings),
        "notes": list(found.notes),
        "written": [str(path) for path in written],
    }


def written_text(written: Sequence[Path]) -> tuple[RenderableType, ...]:
    """The files that were written, if any."""
    return (heading("Written"), *(bullet(str(path)) for path in written)) if written else ()


def coverage_text(coverage: Coverage) -> RenderableType:
    """One line per hierarchy."""
    table = grid("column", "values in the data", "leaves", "levels", "missing", right=[1, 2, 3, 4])
    missing = {gap.column: len(gap.missing) for gap in coverage.gaps}
    for name, hierarchy in coverage.hierarchies.items():
        numbers = (coverage.distinct[name], len(hierarchy.rows), hierarchy.height, missing.get(name, 0))
        table.add_row(name, *(f"{count:,}" for count in numbers))
    return table


def coverage_document(coverage: Coverage) -> dict[str, Any]:
    """For JSON; every missing value is listed."""
    return {
        "covered": not coverage.gaps,
        "hierarchies": {
            name: {"values": coverage.distinct[name], "leaves": len(hierarchy.rows), "height": hierarchy.height}
            for name, hierarchy in coverage.hierarchies.items()
        },
        "gaps": [{"column": gap.column, "missing": list(gap.missing), "rule": gap.rule} for gap in coverage.gaps],
    }


def _listed(labels: Sequence[str | None]) -> str:
    return ", ".join(map(_shown, labels))


def _shown(label: str | None) -> str:
    return _NULL if label is None else label


def _levels(count: int) -> str:
    return f"{count} level" if count == 1 else f"{count} levels"
