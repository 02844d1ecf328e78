# SPDX-License-Identifier: Apache-2.0
"""Columns: the profile of each, their ranking alone and in combination, their levels, and distances between their distributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from divulge import metrics, ranking, results
from divulge.api import generalize, hierarchies, perturbed
from divulge.api import profile as profiles
from divulge.hierarchy import Hierarchy
from divulge.values import as_text, toml_key, toml_value
from divulge.views.words import bullet, class_name, classes, grid, heading, noted, number, people, percent, written_text

_NULL = "(null)"


@results.text_of.register(profiles.Profile)
def profile_text(profile: profiles.Profile) -> RenderableType:
    """One line per column, most identifying first."""
    columns = profile.columns
    rows = [
        (
            item.column, item.type, f"{item.distinct:,}", f"{item.nulls:,}", f"{item.entropy:.2f}", f"{item.discrimination_rate:.2f}",
            f"{item.itpr:.2f}", item.role, item.reason,
        )
        for item in sorted(columns, key=lambda item: -item.discrimination_rate)
    ]  # fmt: skip
    heads = ("column", "type", "distinct", "nulls", "entropy", "DR", "ITPR", "suggested role", "because")
    table = grid(*heads, prose=2, right=[2, 3, 4, 5, 6])
    for row in rows:
        table.add_row(*row)
    legend = "entropy in bits; DR and ITPR say how far the column alone identifies a record, from 0 to 1; nulls count as a value."
    told = Text(f"{profile.settings['source']}: {len(columns)} columns")
    return Group(told, table, *(bullet(noted(note)) for note in profile.notes), Text(legend, style="dim"))


@results.rows_of.register(profiles.Profile)
def profile_rows(profile: profiles.Profile) -> results.Rows:
    """A row for each column, as they stand in the table."""
    return [field.name for field in fields(profile.columns[0])], map(astuple, profile.columns)


@results.text_of.register(ranking.Ranking)
def ranking_text(found: ranking.Ranking, *, most: int = 15) -> RenderableType:
    """Attributes, combinations, and the smallest sets that identify."""
    symbol, heads = metrics.ordering_metric().symbol, _identity_heads("combinations")
    attributes = grid("attribute", *heads, "adds to the rest", right=range(1, len(heads) + 2))
    for item in found.attributes:
        attributes.add_row(
            item.attribute, *_identity_cells(item.alone.identity, "combinations"), f"{item.contribution:.4f}"
        )
    parts: list[RenderableType] = [
        Text(f"{found.settings['source']}: {found.rows:,} rows; all together: {symbol} {found.everything.rate:.4f}"),
        heading("Each attribute"),
        attributes,
        heading(f"Combinations of up to {found.settings['up_to']}, the most identifying first"),
        _combinations(found.combinations[:most], found.settings["sensitive"]),
    ]
    if len(found.combinations) > most:
        parts.append(Text(f"... and {len(found.combinations) - most:,} more"))
    if found.pruned is not None:
        parts.append(
            Text(
                f"Not counted: {found.pruned.hold_a_smaller_one:,} that contain an identifying combination, "
                f"{found.pruned.cannot_reach:,} that cannot reach the threshold"
            )
        )
    parts.append(heading(f"The smallest combinations with {symbol} of at least {found.threshold:g}"))
    if found.smallest:
        parts += [bullet(f"{' + '.join(item.columns)}: {item.rate:.4f}") for item in found.smallest[:most]]
    else:
        parts.append(bullet(f"none of up to {found.settings['up_to']} attributes"))
    if found.sets:
        parts += [heading("Your sets, side by side"), _combinations(found.sets, found.settings["sensitive"])]
    if found.anonymized:
        parts += [*_anonymized(found, most=most)]
    return Group(*parts, *(bullet(noted(note)) for note in found.notes))


def _anonymized(found: ranking.Ranking, *, most: int) -> Iterator[RenderableType]:
    """The sets again, made coarser, and below each its classes in the order of their values."""
    kept = ", ".join(found.settings["promises"])
    heads = [*_identity_heads("combinations"), *_sensitive_heads("combinations", found.settings["sensitive"])]
    table = grid("combination", "levels", "loss", "left out", *heads, right=range(2, len(heads) + 4))
    for item in found.anonymized:
        if item.numbers is not None and item.loss is not None:
            levels = ", ".join(map(str, item.levels.values()))
            cells = [*_identity_cells(item.numbers.identity, "combinations")]
            cells += _sensitive_cells(item.numbers.sensitive, "combinations")
            table.add_row(" + ".join(item.columns), levels, number(item.loss), f"{item.suppressed:,}", *cells)
    yield heading(f"Your sets, each made coarser until it keeps {kept}")
    yield table
    for item in found.anonymized:
        title = f"{' + '.join(item.columns)}: {classes(len(item.classes))}"
        yield bullet(f"{' + '.join(item.columns)}: {item.obstacle}") if item.obstacle else heading(title)
        if item.classes:
            yield _published_classes(item, most=most)
        if len(item.classes) > most:
            yield Text(f"... and {len(item.classes) - most:,} more")


def _published_classes(item: ranking.AnonymizedSet, *, most: int) -> RenderableType:
    leakages = [(about, name) for about, named in item.classes[0].sensitive.items() for name in named]
    heads = [f"{metrics.find_metric(name, 'sensitive').ranked} {about}" for about, name in leakages]
    names = ("class", *item.columns, "people", *heads)
    table = grid(*names, right=[0, *range(len(item.columns) + 1, len(names))])
    for place, one in enumerate(item.classes[:most], start=1):
        values = [_NULL if value is None else str(as_text(value)) for value in one.values.values()]
        told = [one.sensitive[about][name] for about, name in leakages]
        cells = ("ruled out" if np.isnan(value) else _cell(value) for value in told)
        table.add_row(f"{place:,}", *values, f"{one.people:,}", *cells)
    return table


@results.document_of.register(ranking.Ranking)
def ranking_document(found: ranking.Ranking) -> dict[str, Any]:
    """Everything `divulge rank --json` prints; the smallest combinations by their columns alone."""
    return results.plain(found) | {"smallest": [list(item.columns) for item in found.smallest]}  # type: ignore[no-any-return]


@results.rows_of.register(ranking.Ranking)
def ranking_rows(found: ranking.Ranking) -> results.Rows:
    """A row for each set of attributes: the most identifying first, then all together, the sets that were given, and these made coarser."""
    sets = {(item.columns, False): item for item in (*found.combinations, found.everything, *found.sets)}
    sets |= {(item.columns, True): item.numbers for item in found.anonymized if item.numbers is not None}
    smallest = {item.columns for item in found.smallest}
    adds: dict[tuple[str, ...], float] = {(item.attribute,): item.contribution for item in found.attributes}
    names = ("set", "attributes", "anonymized", "smallest", "adds_to_the_rest", *_number_names(found.everything))
    return names, [
        (
            " + ".join(columns),
            len(columns),
            coarser,
            not coarser and columns in smallest,
            None if coarser else adds.get(columns),
            *_numbers_in(item.identity, item.sensitive),
        )
        for (columns, coarser), item in sets.items()
    ]


def _number_names(item: ranking.Combination) -> list[str]:
    """As in the classes of a measurement: identity.metric, attribute.metric."""
    own = "identity" if "identity" not in item.sensitive else "(identity)"
    scopes = {own: item.identity, **item.sensitive}
    return [f"{scope}.{name}" for scope, numbers in scopes.items() for name in numbers]


def _numbers_in(identity: ranking.Numbers, sensitive: Mapping[str, ranking.Numbers]) -> list[float | int]:
    return [value for numbers in (identity, *sensitive.values()) for value in numbers.values()]


@results.text_of.register(ranking.Growth)
def growth_text(growth: ranking.Growth) -> RenderableType:
    """Each attribute by itself, and the first n together."""
    heads = [*_identity_heads("growth"), *_sensitive_heads("growth", growth.settings["sensitive"])]
    alone = grid("attribute", *heads, right=range(1, len(heads) + 1))
    for item in growth.alone:
        alone.add_row(
            item.columns[0], *_identity_cells(item.identity, "growth"), *_sensitive_cells(item.sensitive, "growth")
        )
    together = grid("first", "up to", *heads, right=[0, *range(2, len(heads) + 2)])
    for step in growth.steps:
        together.add_row(
            f"{step.n:,}",
            step.attribute,
            *_identity_cells(step.identity, "growth"),
            *_sensitive_cells(step.sensitive, "growth"),
        )
    return Group(
        Text(f"{growth.settings['source']}: {growth.rows:,} rows, {len(growth.alone)} attributes"),
        heading("Each attribute by itself"),
        alone,
        heading("The first attributes together"),
        together,
    )


@results.rows_of.register(ranking.Growth)
def growth_rows(growth: ranking.Growth) -> results.Rows:
    """A row for each attribute by itself, then one for the first n together, up to the attribute that is named."""
    alone = [("alone", 1, item.columns[0], *_numbers_in(item.identity, item.sensitive)) for item in growth.alone]
    together = [
        ("together", step.n, step.attribute, *_numbers_in(step.identity, step.sensitive)) for step in growth.steps
    ]
    return ("set", "attributes", "attribute", *_number_names(growth.alone[0])), [*alone, *together]


def _combinations(items: Sequence[ranking.Combination], sensitive: Sequence[str]) -> RenderableType:
    heads = [*_identity_heads("combinations"), *_sensitive_heads("combinations", sensitive)]
    table = grid("combination", *heads, right=range(1, len(heads) + 1))
    for item in items:
        table.add_row(
            " + ".join(item.columns),
            *_identity_cells(item.identity, "combinations"),
            *_sensitive_cells(item.sensitive, "combinations"),
        )
    return table


def _identity_cells(numbers: ranking.Numbers, where: metrics.RankingTable) -> list[str]:
    return [_cell(numbers[metric.name]) for metric in metrics.ranked_metrics("identity", where)] + [
        _cell(numbers[name]) for name in ranking.BESIDE_METRICS
    ]


@results.text_of.register(perturbed.Perturbed)
def perturbed_text(found: perturbed.Perturbed, *, worst: int = 10) -> RenderableType:
    """What publication gives on average, and the classes that give most."""
    document = perturbed_document(found, worst=worst)
    return Group(
        f"{found.rows:,} rows, {document['classes']:,} published classes of {', '.join(found.settings['columns'])}",
        bullet(
            f"There were {number(found.entropy)} bits to learn; "
            f"publication gives {number(found.mutual_information)} on average."
        ),
        bullet(
            f"The worst class gives {number(document['specific_information'])} bits "
            f"and leaves {number(document['conditional_entropy'])}."
        ),
        *(bullet(told) for told in _behind_perturbed(found)),
        heading("The worst classes"),
        *(
            bullet(
                f"{class_name(item['class'])} ({people(item['size'])}): gives {number(item['specific_information'])} bits, "
                f"leaves {number(item['conditional_entropy'])}.",
                f"{place}.",
            )
            for place, item in enumerate(document["worst"], start=1)
        ),
    )


def _behind_perturbed(found: perturbed.Perturbed) -> Iterator[str]:
    """What the published values tell about sensitive attributes, and the surprise beside what epsilon allows."""
    for name, behind in found.attributes.items():
        yield (
            f"About {name} they give {number(behind.mutual_information)} of {number(behind.entropy)} bits on average "
            f"(the original would give {number(behind.information_of_original)}), at most {number(behind.surprise.max())} (I1) "
            f"or {number(behind.specific_information.max())} (I2) in one class."
        )
    most = float(found.surprise_of_original.max())
    if (bound := found.surprise_bound) is not None:
        above = "; this table was not made so, or shows by chance more than the mechanism gives" if most > bound else ""
        yield (
            f"Epsilon {number(found.settings['epsilon'])} for each value allows {number(bound)} bits of surprise; "
            f"measured are at most {number(most)} ({number(found.mutual_information)} on average){above}."
        )


@results.document_of.register(perturbed.Perturbed)
def perturbed_document(found: perturbed.Perturbed, *, worst: int = 10) -> dict[str, Any]:
    """Everything `divulge perturbed --json` prints; the classes that give most come first."""
    order = np.argsort(-found.specific_information, kind="stable")[:worst]
    return {
        "rows": found.rows,
        "classes": len(found.contingency),
        "settings": found.settings,
        "entropy": found.entropy,
        "mutual_information": found.mutual_information,
        "conditional_entropy": float(found.conditional_entropy.min()),
        "specific_information": float(found.specific_information.max()),
        "surprise_of_original": float(found.surprise_of_original.max()),
        "surprise_bound": found.surprise_bound,
        "attributes": {
            name: {
                "entropy": behind.entropy,
                "mutual_information": behind.mutual_information,
                "information_of_original": behind.information_of_original,
                "surprise": float(behind.surprise.max()),
                "specific_information": float(behind.specific_information.max()),
            }
            for name, behind in found.attributes.items()
        },
        "worst": [
            {
                "class": found.contingency.class_key(int(index)),
                "size": int(found.contingency.sizes[index]),
                "conditional_entropy": float(found.conditional_entropy[index]),
                "specific_information": float(found.specific_information[index]),
                "attributes": {
                    name: {
                        "surprise": float(behind.surprise[index]),
                        "specific_information": float(behind.specific_information[index]),
                    }
                    for name, behind in found.attributes.items()
                },
            }
            for index in order
        ],
    }


@results.rows_of.register(perturbed.Perturbed)
def perturbed_rows(found: perturbed.Perturbed) -> pa.Table:
    """A row for each published class, with its values."""
    counted = found.contingency
    keys = {key.name: counted.key_column(position) for position, key in enumerate(counted.keys)}
    numbers = {"conditional_entropy": found.conditional_entropy, "specific_information": found.specific_information}
    for name, behind in found.attributes.items():
        numbers |= {
            f"surprise of {name}": behind.surprise,
            f"specific_information of {name}": behind.specific_information,
        }
    return pa.table({**keys, "size": counted.sizes, **numbers})


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


@results.text_of.register(hierarchies.Built)
def built_text(built: hierarchies.Built, *, written: Sequence[Path] = (), most: int = 10) -> RenderableType:
    """What was chosen and why, and what it makes of the values."""
    parts: list[RenderableType] = []
    if built.suggestions:
        parts.append(heading("Chosen from the data; put it into your policy file and change what does not suit"))
        parts += [Text(suggestion.toml()) for suggestion in built.suggestions.values()]
    parts += [hierarchy_text(hierarchy, most=most) for hierarchy in built.hierarchies.values()]
    return Group(*parts, *written_text(written))


@results.document_of.register(hierarchies.Built)
def built_document(built: hierarchies.Built, *, written: Sequence[Path] = ()) -> dict[str, Any]:
    """Everything `divulge hierarchy build --json` prints."""
    return {
        "hierarchies": {name: hierarchy_document(hierarchy) for name, hierarchy in built.hierarchies.items()},
        "rules": dict(built.rules),
        "reasons": {name: suggestion.reason for name, suggestion in built.suggestions.items()},
        "settings": dict(built.settings),
        "written": [str(path) for path in written],
    }


@results.rows_of.register(hierarchies.Built)
def built_rows(built: hierarchies.Built) -> results.Rows:
    """A row for each level of each column: how many labels it has, and how many values the commonest stands for."""
    return ("column", "level", "labels", "largest"), [
        (name, level["level"], level["labels"], level["largest"])
        for name, hierarchy in built.hierarchies.items()
        for level in levels_document(hierarchy)
    ]


@results.text_of.register(generalize.CutColumn)
def cut_text(found: generalize.CutColumn, *, written: Sequence[Path] = (), most: int = 10) -> RenderableType:
    """The ranges, what they keep of what the column told, and the rule for a policy file."""
    cuts = found.cuts
    table = grid("from", "to", "people", "bits", right=[2, 3])
    for item in cuts.ranges:
        table.add_row(str(as_text(item.low)), str(as_text(item.high)), f"{item.people:,}", number(item.information))
    limit = found.settings.get("most")
    others = "no other division" if limit is None else f"no other division into at most {limit:,} ranges"
    beside = f" with {', '.join(cuts.beside)} beside it" if cuts.beside else ""
    told = (
        f"{cuts.column} in {len(cuts.ranges):,} ranges{beside} tells {number(cuts.information)} bits about {cuts.attribute}, "
        f"of {number(cuts.original_information)} as it is; {others} that keeps the promises tells more."
    )
    parts: list[RenderableType] = [Text(told), table, *(bullet(noted(note)) for note in found.notes)]
    if cuts.whole_information is not None and cuts.whole_loss is not None:
        whole = f"{', '.join(found.settings['against'])} together tell {number(cuts.whole_information)} bits"
        parts.insert(1, Text(f"{whole} as they are: {percent(cuts.whole_loss)} of that is lost."))
    if "cuts" in found.rule:
        rule = f"{toml_key(cuts.column)} = {toml_value(dict(found.rule))}"
        parts += [heading("For the [hierarchies] of a policy file"), Text(rule)]
    return Group(*parts, hierarchy_text(found.hierarchy, most=most), *written_text(written))


@results.document_of.register(generalize.CutColumn)
def cut_document(found: generalize.CutColumn, *, written: Sequence[Path] = ()) -> dict[str, Any]:
    """Everything `divulge hierarchy cut --json` prints."""
    return {
        **found.cuts.document(),
        "rule": dict(found.rule),
        "settings": dict(found.settings),
        "notes": list(found.notes),
        "written": [str(path) for path in written],
    }


@results.rows_of.register(generalize.CutColumn)
def cut_rows(found: generalize.CutColumn) -> results.Rows:
    """A row for each range."""
    ranges = found.cuts.ranges
    return ("low", "high", "people", "information"), [(r.low, r.high, r.people, r.information) for r in ranges]


@results.text_of.register(hierarchies.Coverage)
def coverage_text(coverage: hierarchies.Coverage) -> RenderableType:
    """One line per hierarchy."""
    table = grid("column", "values in the data", "leaves", "levels", "missing", right=[1, 2, 3, 4])
    for name, *numbers in coverage_rows(coverage)[1]:
        table.add_row(name, *(f"{count:,}" for count in numbers))
    return table


@results.rows_of.register(hierarchies.Coverage)
def coverage_rows(coverage: hierarchies.Coverage) -> results.Rows:
    """A row for each hierarchy."""
    missing = {gap.column: len(gap.missing) for gap in coverage.gaps}
    return ("column", "values", "leaves", "height", "missing"), [
        (name, coverage.distinct[name], len(hierarchy.rows), hierarchy.height, missing.get(name, 0))
        for name, hierarchy in coverage.hierarchies.items()
    ]


@results.document_of.register(hierarchies.Coverage)
def coverage_document(coverage: hierarchies.Coverage) -> dict[str, Any]:
    """For JSON; every missing value is listed."""
    return {
        "covered": not coverage.gaps,
        "hierarchies": {
            name: {"values": coverage.distinct[name], "leaves": len(hierarchy.rows), "height": hierarchy.height}
            for name, hierarchy in coverage.hierarchies.items()
        },
        "gaps": [{"column": gap.column, "missing": list(gap.missing), "rule": gap.rule} for gap in coverage.gaps],
        "settings": dict(coverage.settings),
    }


def _listed(labels: Sequence[str | None]) -> str:
    return ", ".join(map(_shown, labels))


def _shown(label: str | None) -> str:
    return _NULL if label is None else label


def _levels(count: int) -> str:
    return f"{count} level" if count == 1 else f"{count} levels"


def _identity_heads(where: metrics.RankingTable) -> list[str]:
    return [*(metric.ranked for metric in metrics.ranked_metrics("identity", where)), *ranking.BESIDE_METRICS]


def _sensitive_heads(where: metrics.RankingTable, attributes: Sequence[str]) -> list[str]:
    return [f"{metric.ranked} {name}" for name in attributes for metric in metrics.ranked_metrics("sensitive", where)]


def _sensitive_cells(sensitive: dict[str, ranking.Numbers], where: metrics.RankingTable) -> list[str]:
    shown = metrics.ranked_metrics("sensitive", where)
    return [_cell(numbers[metric.name]) for numbers in sensitive.values() for metric in shown]


def _cell(number: float) -> str:
    """A count, or a share or bits with four digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4f}"
