# SPDX-License-Identifier: Apache-2.0
"""Views of columns: profiles, rankings of columns and sets, hierarchies, and perturbation."""

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

from divulge import generalization, metrics, ranking, results
from divulge.api import hierarchies
from divulge.hierarchies import Hierarchy
from divulge.output.formatting import (
    bullet,
    classes,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    written_text,
)
from divulge.policy import Profile
from divulge.text import as_text, class_name, toml_key, toml_value

_NULL = "(null)"


@results.text_of.register(Profile)
def profile_text(profile: Profile) -> RenderableType:
    """Render one line per column, most identifying first."""
    columns = profile.columns
    rows = [
        (
            item.column,
            item.type,
            f"{item.distinct:,}",
            f"{item.nulls:,}",
            f"{item.entropy:.2f}",
            f"{item.discrimination_rate:.2f}",
            f"{item.itpr:.2f}",
            item.role,
            item.reason,
        )
        for item in sorted(columns, key=lambda item: -item.discrimination_rate)
    ]
    heads = (
        "column",
        "type",
        "distinct",
        "nulls",
        "entropy",
        "DR",
        "ITPR",
        "suggested role",
        "because",
    )
    table = grid(*heads, prose=2, right=[2, 3, 4, 5, 6])
    for row in rows:
        table.add_row(*row)
    legend = (
        "entropy in bits; DR and ITPR say how far the column alone identifies a record, from 0 to "
        "1; nulls count as a value."
    )
    title = Text(f"{profile.settings['source']}: {len(columns)} columns")
    return Group(
        title, table, *(bullet(noted(note)) for note in profile.notes), Text(legend, style="dim")
    )


@results.rows_of.register(Profile)
def profile_rows(profile: Profile) -> results.Rows:
    """Table with one row for each column, in the order of the input."""
    return [field.name for field in fields(profile.columns[0])], map(astuple, profile.columns)


@results.text_of.register(ranking.Ranking)
def ranking_text(result: ranking.Ranking, *, most: int = 15) -> RenderableType:
    """Render attributes, combinations, and the smallest identifying combinations."""
    symbol = metrics.ordering_metric().symbol
    heads = _identity_heads("combinations")
    attributes = grid("attribute", *heads, "adds to the rest", right=range(1, len(heads) + 2))
    for item in result.attributes:
        attributes.add_row(
            item.attribute,
            *_identity_cells(item.alone.identity, "combinations"),
            f"{item.contribution:.4f}",
        )
    parts: list[RenderableType] = [
        Text(
            f"{result.settings['source']}: {result.rows:,} rows; all together: {symbol} "
            f"{result.everything.rate:.4f}"
        ),
        heading("Each attribute"),
        attributes,
        heading(f"Combinations of up to {result.settings['up_to']}, the most identifying first"),
        _combination_table(result.combinations[:most], result.settings["sensitive"]),
    ]
    if len(result.combinations) > most:
        parts.append(Text(f"... and {len(result.combinations) - most:,} more"))
    if result.pruned is not None:
        parts.append(
            Text(
                f"Not counted: {result.pruned.hold_a_smaller_one:,} that contain an identifying "
                f"combination, {result.pruned.cannot_reach:,} that cannot reach the threshold"
            )
        )
    parts.append(
        heading(f"The smallest combinations with {symbol} of at least {result.threshold:g}")
    )
    if result.smallest:
        parts += [
            bullet(f"{' + '.join(item.columns)}: {item.rate:.4f}")
            for item in result.smallest[:most]
        ]
    else:
        parts.append(bullet(f"none of up to {result.settings['up_to']} attributes"))
    if result.sets:
        parts += [
            heading("Your sets, side by side"),
            _combination_table(result.sets, result.settings["sensitive"]),
        ]
    if result.anonymized:
        parts += [*_anonymized_parts(result, max_rows=most)]
    return Group(*parts, *(bullet(noted(note)) for note in result.notes))


def _anonymized_parts(result: ranking.Ranking, *, max_rows: int) -> Iterator[RenderableType]:
    """Yield the anonymized sets, and below each its classes in the order of their values."""
    requirements = ", ".join(result.settings["promises"])
    heads = [
        *_identity_heads("combinations"),
        *_sensitive_heads("combinations", result.settings["sensitive"]),
    ]
    table = grid(
        "combination", "levels", "loss", "left out", *heads, right=range(2, len(heads) + 4)
    )
    for item in result.anonymized:
        if item.numbers is not None and item.loss is not None:
            levels = ", ".join(map(str, item.levels.values()))
            cells = [*_identity_cells(item.numbers.identity, "combinations")]
            cells += _sensitive_cells(item.numbers.sensitive, "combinations")
            table.add_row(
                " + ".join(item.columns), levels, number(item.loss), f"{item.suppressed:,}", *cells
            )
    yield heading(f"Your sets, each made coarser until it keeps {requirements}")
    yield table
    for item in result.anonymized:
        title = f"{' + '.join(item.columns)}: {classes(len(item.classes))}"
        yield (
            bullet(f"{' + '.join(item.columns)}: {item.obstacle}")
            if item.obstacle
            else heading(title)
        )
        if item.classes:
            yield _class_table(item, max_classes=max_rows)
        if len(item.classes) > max_rows:
            yield Text(f"... and {len(item.classes) - max_rows:,} more")


def _class_table(item: ranking.AnonymizedSet, *, max_classes: int) -> RenderableType:
    leakages = [
        (about, name)
        for about, metric_values in item.classes[0].sensitive.items()
        for name in metric_values
    ]
    heads = [f"{metrics.find_metric(name, 'sensitive').ranked} {about}" for about, name in leakages]
    names = ("class", *item.columns, "people", *heads)
    table = grid(*names, right=[0, *range(len(item.columns) + 1, len(names))])
    for class_number, published_class in enumerate(item.classes[:max_classes], start=1):
        values = [
            _NULL if value is None else str(as_text(value))
            for value in published_class.values.values()
        ]
        leakage_values = [published_class.sensitive[about][name] for about, name in leakages]
        cells = (
            "ruled out" if np.isnan(value) else _number_text(value) for value in leakage_values
        )
        table.add_row(f"{class_number:,}", *values, f"{published_class.people:,}", *cells)
    return table


@results.document_of.register(ranking.Ranking)
def ranking_document(result: ranking.Ranking) -> dict[str, Any]:
    """Return the document of `divulge rank --json`; `smallest` lists only column names."""
    return results.plain(result) | {"smallest": [list(item.columns) for item in result.smallest]}  # type: ignore[no-any-return]


@results.rows_of.register(ranking.Ranking)
def ranking_rows(result: ranking.Ranking) -> results.Rows:
    """Table with one row for each set of attributes.

    Combinations come first, the most identifying first. Then follow the set of all attributes, the
    sets that the user passed, and those sets anonymized.
    """
    sets = {
        (item.columns, False): item
        for item in (*result.combinations, result.everything, *result.sets)
    }
    sets |= {
        (item.columns, True): item.numbers for item in result.anonymized if item.numbers is not None
    }
    smallest = {item.columns for item in result.smallest}
    contributions: dict[tuple[str, ...], float] = {
        (item.attribute,): item.contribution for item in result.attributes
    }
    names = (
        "set",
        "attributes",
        "anonymized",
        "smallest",
        "adds_to_the_rest",
        *_number_names(result.everything),
    )
    return names, [
        (
            " + ".join(columns),
            len(columns),
            is_anonymized,
            not is_anonymized and columns in smallest,
            None if is_anonymized else contributions.get(columns),
            *_numbers_in(item.identity, item.sensitive),
        )
        for (columns, is_anonymized), item in sets.items()
    ]


def _number_names(item: ranking.Combination) -> list[str]:
    """Column names as in the class table: identity.metric, attribute.metric."""
    if "identity" not in item.sensitive:
        identity_scope = "identity"
    else:
        identity_scope = "(identity)"
    scopes = {identity_scope: item.identity, **item.sensitive}
    return [f"{scope}.{name}" for scope, numbers in scopes.items() for name in numbers]


def _numbers_in(
    identity: ranking.Numbers, sensitive: Mapping[str, ranking.Numbers]
) -> list[float | int]:
    return [value for numbers in (identity, *sensitive.values()) for value in numbers.values()]


@results.text_of.register(ranking.Growth)
def growth_text(growth: ranking.Growth) -> RenderableType:
    """Render each single attribute, and the first n attributes together."""
    heads = [*_identity_heads("growth"), *_sensitive_heads("growth", growth.settings["sensitive"])]
    single_attributes = grid("attribute", *heads, right=range(1, len(heads) + 1))
    for item in growth.alone:
        single_attributes.add_row(
            item.columns[0],
            *_identity_cells(item.identity, "growth"),
            *_sensitive_cells(item.sensitive, "growth"),
        )
    joint_attributes = grid("first", "up to", *heads, right=[0, *range(2, len(heads) + 2)])
    for step in growth.steps:
        joint_attributes.add_row(
            f"{step.n:,}",
            step.attribute,
            *_identity_cells(step.identity, "growth"),
            *_sensitive_cells(step.sensitive, "growth"),
        )
    return Group(
        Text(f"{growth.settings['source']}: {growth.rows:,} rows, {len(growth.alone)} attributes"),
        heading("Each attribute by itself"),
        single_attributes,
        heading("The first attributes together"),
        joint_attributes,
    )


@results.rows_of.register(ranking.Growth)
def growth_rows(growth: ranking.Growth) -> results.Rows:
    """Table with one row for each single attribute, then for the first n attributes together.

    The `attribute` of a joint row is the last of the first n.
    """
    single_rows = [
        ("alone", 1, item.columns[0], *_numbers_in(item.identity, item.sensitive))
        for item in growth.alone
    ]
    joint_rows = [
        ("together", step.n, step.attribute, *_numbers_in(step.identity, step.sensitive))
        for step in growth.steps
    ]
    return ("set", "attributes", "attribute", *_number_names(growth.alone[0])), [
        *single_rows,
        *joint_rows,
    ]


def _combination_table(
    items: Sequence[ranking.Combination], sensitive: Sequence[str]
) -> RenderableType:
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
    return [
        _number_text(numbers[metric.name]) for metric in metrics.ranked_metrics("identity", where)
    ] + [_number_text(numbers[name]) for name in ranking.ARX_METRICS]


@results.text_of.register(metrics.Perturbed)
def perturbed_text(result: metrics.Perturbed, *, worst: int = 10) -> RenderableType:
    """Render the mean information of the publication, and the most revealing classes."""
    document = perturbed_document(result, worst=worst)
    return Group(
        f"{result.rows:,} rows, {document['classes']:,} published classes of "
        f"{', '.join(result.settings['columns'])}",
        bullet(
            f"There were {number(result.entropy)} bits to learn; "
            f"publication gives {number(result.mutual_information)} on average."
        ),
        bullet(
            f"The worst class gives {number(document['specific_information'])} bits "
            f"and leaves {number(document['conditional_entropy'])}."
        ),
        *(bullet(sentence) for sentence in _attribute_sentences(result)),
        heading("The worst classes"),
        *(
            bullet(
                f"{class_name(item['class'])} ({people(item['size'])}): gives "
                f"{number(item['specific_information'])} bits, "
                f"leaves {number(item['conditional_entropy'])}.",
                f"{rank}.",
            )
            for rank, item in enumerate(document["worst"], start=1)
        ),
    )


def _attribute_sentences(result: metrics.Perturbed) -> Iterator[str]:
    """Yield sentences on the information about each sensitive attribute.

    If epsilon is known, a last sentence compares the largest surprise with its bound.
    """
    for name, information in result.attributes.items():
        yield (
            f"About {name} they give {number(information.mutual_information)} "
            f"of {number(information.entropy)} bits on average (the original would give "
            f"{number(information.information_of_original)}). In one class the KL divergence from "
            f"the prior (I1) is at most {number(information.surprise.max())} bits, the entropy "
            f"falls by at most {number(information.specific_information.max())} (I2)."
        )
    largest_surprise = float(result.surprise_of_original.max())
    if (bound := result.surprise_bound) is not None:
        if largest_surprise > bound:
            excess_note = (
                "; this table was not made so, or shows by chance more than the mechanism gives"
            )
        else:
            excess_note = ""
        yield (
            f"Epsilon {number(result.settings['epsilon'])} for each value allows {number(bound)} "
            f"bits of surprise; measured are at most {number(largest_surprise)} "
            f"({number(result.mutual_information)} on average){excess_note}."
        )


@results.document_of.register(metrics.Perturbed)
def perturbed_document(result: metrics.Perturbed, *, worst: int = 10) -> dict[str, Any]:
    """Return the document of `divulge perturbed --json`; the most revealing classes come first."""
    order = np.argsort(-result.specific_information, kind="stable")[:worst]
    return {
        "rows": result.rows,
        "classes": len(result.contingency),
        "settings": result.settings,
        "entropy": result.entropy,
        "mutual_information": result.mutual_information,
        "conditional_entropy": float(result.conditional_entropy.min()),
        "specific_information": float(result.specific_information.max()),
        "surprise_of_original": float(result.surprise_of_original.max()),
        "surprise_bound": result.surprise_bound,
        "attributes": {
            name: {
                "entropy": information.entropy,
                "mutual_information": information.mutual_information,
                "information_of_original": information.information_of_original,
                "surprise": float(information.surprise.max()),
                "specific_information": float(information.specific_information.max()),
            }
            for name, information in result.attributes.items()
        },
        "worst": [
            {
                "class": result.contingency.class_key(int(index)),
                "size": int(result.contingency.sizes[index]),
                "conditional_entropy": float(result.conditional_entropy[index]),
                "specific_information": float(result.specific_information[index]),
                "attributes": {
                    name: {
                        "surprise": float(information.surprise[index]),
                        "specific_information": float(information.specific_information[index]),
                    }
                    for name, information in result.attributes.items()
                },
            }
            for index in order
        ],
    }


@results.rows_of.register(metrics.Perturbed)
def perturbed_rows(result: metrics.Perturbed) -> pa.Table:
    """Table with one row for each published class, with its values."""
    contingency = result.contingency
    keys = {
        key.name: contingency.key_column(position) for position, key in enumerate(contingency.keys)
    }
    numbers = {
        "conditional_entropy": result.conditional_entropy,
        "specific_information": result.specific_information,
    }
    for name, information in result.attributes.items():
        numbers |= {
            f"surprise of {name}": information.surprise,
            f"specific_information of {name}": information.specific_information,
        }
    return pa.table({**keys, "size": contingency.sizes, **numbers})


def levels_document(hierarchy: Hierarchy) -> list[dict[str, Any]]:
    """Describe each level: its number of labels, and some of them.

    `largest` is the largest number of values below one label.
    """
    levels: list[dict[str, Any]] = []
    for level in range(hierarchy.height + 1):
        label_counts = Counter(labels[level] for labels in hierarchy.rows.values())
        levels.append(
            {
                "level": level,
                "labels": len(label_counts),
                "largest": max(label_counts.values()),
                "examples": list(label_counts)[:5],
            }
        )
    return levels


def hierarchy_document(hierarchy: Hierarchy) -> dict[str, Any]:
    """Return a hierarchy as JSON, without its rows."""
    return {
        "column": hierarchy.column,
        "height": hierarchy.height,
        "leaves": len(hierarchy.rows),
        "null": list(hierarchy.null_labels),
        "levels": levels_document(hierarchy),
    }


def hierarchy_text(hierarchy: Hierarchy, *, most: int = 10) -> RenderableType:
    """Render the levels, then some values with their labels."""
    levels = grid("level", "labels", "largest", "such as", right=[0, 1, 2])
    for item in levels_document(hierarchy):
        levels.add_row(
            str(item["level"]),
            f"{item['labels']:,}",
            f"{item['largest']:,}",
            _labels_text(item["examples"]),
        )
    rows = grid(
        *("value" if level == 0 else f"level {level}" for level in range(hierarchy.height + 1))
    )
    for labels in list(hierarchy.rows.values())[:most]:
        rows.add_row(*map(_label_text, labels))
    if None not in hierarchy.rows:
        rows.add_row(*map(_label_text, hierarchy.null_labels))
    level_count = _level_count_text(hierarchy.height)
    parts: list[RenderableType] = [
        heading(f"{hierarchy.column}: {len(hierarchy.rows):,} values, {level_count} above them"),
        levels,
        Text(""),
        rows,
    ]
    if len(hierarchy.rows) > most:
        parts.append(Text(f"... and {len(hierarchy.rows) - most:,} more values", style="dim"))
    return Group(*parts)


@results.text_of.register(hierarchies.Built)
def built_text(
    built: hierarchies.Built, *, written: Sequence[Path] = (), most: int = 10
) -> RenderableType:
    """Render the chosen rules, then the hierarchies that they build."""
    parts: list[RenderableType] = []
    if built.suggestions:
        parts.append(
            heading(
                "Chosen from the data; put it into your policy file and change what does not suit"
            )
        )
        parts += [Text(suggestion.toml()) for suggestion in built.suggestions.values()]
    parts += [hierarchy_text(hierarchy, most=most) for hierarchy in built.hierarchies.values()]
    return Group(*parts, *written_text(written))


@results.document_of.register(hierarchies.Built)
def built_document(built: hierarchies.Built, *, written: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the document of `divulge hierarchy build --json`."""
    return {
        "hierarchies": {
            name: hierarchy_document(hierarchy) for name, hierarchy in built.hierarchies.items()
        },
        "rules": dict(built.rules),
        "reasons": {name: suggestion.reason for name, suggestion in built.suggestions.items()},
        "settings": dict(built.settings),
        "written": [str(path) for path in written],
    }


@results.rows_of.register(hierarchies.Built)
def built_rows(built: hierarchies.Built) -> results.Rows:
    """Table with one row for each level of each column.

    It has the number of labels, and the largest number of values below one label.
    """
    return ("column", "level", "labels", "largest"), [
        (name, level["level"], level["labels"], level["largest"])
        for name, hierarchy in built.hierarchies.items()
        for level in levels_document(hierarchy)
    ]


@results.text_of.register(generalization.CutColumn)
def cut_text(
    cut_column: generalization.CutColumn, *, written: Sequence[Path] = (), most: int = 10
) -> RenderableType:
    """Render the ranges, the information they preserve, and the rule for a policy file."""
    cuts = cut_column.cuts
    table = grid("from", "to", "people", "bits", right=[2, 3])
    for item in cuts.ranges:
        table.add_row(
            str(as_text(item.low)),
            str(as_text(item.high)),
            f"{item.people:,}",
            number(item.information),
        )
    limit = cut_column.settings.get("most")
    if limit is None:
        alternatives = "no other division"
    else:
        alternatives = f"no other division into at most {limit:,} ranges"
    if cuts.beside:
        context = f" with {', '.join(cuts.beside)} beside it"
    else:
        context = ""
    sentence = (
        f"{cuts.column} in {len(cuts.ranges):,} ranges{context} tells {number(cuts.information)} "
        f"bits about {cuts.attribute}, of {number(cuts.original_information)} as it is; "
        f"{alternatives} that keeps the promises tells more."
    )
    parts: list[RenderableType] = [
        Text(sentence),
        table,
        *(bullet(noted(note)) for note in cut_column.notes),
    ]
    if cuts.whole_information is not None and cuts.whole_loss is not None:
        joint_information = (
            f"{', '.join(cut_column.settings['against'])} together tell "
            f"{number(cuts.whole_information)} bits"
        )
        parts.insert(
            1, Text(f"{joint_information} as they are: {percent(cuts.whole_loss)} of that is lost.")
        )
    if "cuts" in cut_column.rule:
        rule = f"{toml_key(cuts.column)} = {toml_value(dict(cut_column.rule))}"
        parts += [heading("For the [hierarchies] of a policy file"), Text(rule)]
    return Group(*parts, hierarchy_text(cut_column.hierarchy, most=most), *written_text(written))


@results.document_of.register(generalization.CutColumn)
def cut_document(
    cut_column: generalization.CutColumn, *, written: Sequence[Path] = ()
) -> dict[str, Any]:
    """Return the document of `divulge hierarchy cut --json`."""
    return {
        **cut_column.cuts.document(),
        "rule": dict(cut_column.rule),
        "settings": dict(cut_column.settings),
        "notes": list(cut_column.notes),
        "written": [str(path) for path in written],
    }


@results.rows_of.register(generalization.CutColumn)
def cut_rows(cut_column: generalization.CutColumn) -> results.Rows:
    """Table with one row for each range."""
    ranges = cut_column.cuts.ranges
    return ("low", "high", "people", "information"), [
        (r.low, r.high, r.people, r.information) for r in ranges
    ]


@results.text_of.register(hierarchies.Coverage)
def coverage_text(coverage: hierarchies.Coverage) -> RenderableType:
    """Render one line per hierarchy."""
    table = grid("column", "values in the data", "leaves", "levels", "missing", right=[1, 2, 3, 4])
    for name, *numbers in coverage_rows(coverage)[1]:
        table.add_row(name, *(f"{count:,}" for count in numbers))
    return table


@results.rows_of.register(hierarchies.Coverage)
def coverage_rows(coverage: hierarchies.Coverage) -> results.Rows:
    """Table with one row for each hierarchy."""
    missing = {gap.column: len(gap.missing) for gap in coverage.gaps}
    return ("column", "values", "leaves", "height", "missing"), [
        (name, coverage.distinct[name], len(hierarchy.rows), hierarchy.height, missing.get(name, 0))
        for name, hierarchy in coverage.hierarchies.items()
    ]


@results.document_of.register(hierarchies.Coverage)
def coverage_document(coverage: hierarchies.Coverage) -> dict[str, Any]:
    """Return the JSON document, with every missing value."""
    return {
        "covered": not coverage.gaps,
        "hierarchies": {
            name: {
                "values": coverage.distinct[name],
                "leaves": len(hierarchy.rows),
                "height": hierarchy.height,
            }
            for name, hierarchy in coverage.hierarchies.items()
        },
        "gaps": [
            {"column": gap.column, "missing": list(gap.missing), "rule": gap.rule}
            for gap in coverage.gaps
        ],
        "settings": dict(coverage.settings),
    }


def _labels_text(labels: Sequence[str | None]) -> str:
    return ", ".join(map(_label_text, labels))


def _label_text(label: str | None) -> str:
    if label is None:
        return _NULL
    return label


def _level_count_text(count: int) -> str:
    if count == 1:
        return f"{count} level"
    return f"{count} levels"


def _identity_heads(where: metrics.RankingTable) -> list[str]:
    return [
        *(metric.ranked for metric in metrics.ranked_metrics("identity", where)),
        *ranking.ARX_METRICS,
    ]


def _sensitive_heads(where: metrics.RankingTable, attributes: Sequence[str]) -> list[str]:
    return [
        f"{metric.ranked} {name}"
        for name in attributes
        for metric in metrics.ranked_metrics("sensitive", where)
    ]


def _sensitive_cells(
    sensitive: dict[str, ranking.Numbers], where: metrics.RankingTable
) -> list[str]:
    table_metrics = metrics.ranked_metrics("sensitive", where)
    return [
        _number_text(numbers[metric.name])
        for numbers in sensitive.values()
        for metric in table_metrics
    ]


def _number_text(number: float) -> str:
    """Format a count, or a share or bits with four decimals."""
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:.4f}"
