# SPDX-License-Identifier: Apache-2.0
"""Folder mapping/ in the private part of a release: the label of each value, and frequencies.

`apply` publishes later rows with it.

It holds values of the original. The shared folder reveals nothing of it, not even a hash or a size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from divulge import generalization
from divulge.arrays import Bools, Ints
from divulge.counting import Contingency, Domain
from divulge.errors import BadInput
from divulge.generalization import Recoding
from divulge.hierarchies import SUPPRESSED, Hierarchy, build_hierarchy
from divulge.releases.labels import ValueIndex, parse_label
from divulge.releases.manifest import FOLDER
from divulge.releases.schema import read_checked
from divulge.text import as_text

# The published label of each value, one file per quasi-identifier: hierarchy files of ARX (`;`, no
# header) with one level.
ORIGINAL = f"{FOLDER}/original.json"
"""Frequency of each sensitive value in the original: the prior for checking the release again."""
TYPES = f"{FOLDER}/types.json"
LabelMapping = dict[str | None, str | None]
"""Published label by value as text; a null is None."""


def mapping_of(hierarchy: Hierarchy, level: int) -> LabelMapping:
    """Map every value of a hierarchy to its label on one level."""
    return {
        None: hierarchy.null_labels[level],
        **{value: labels[level] for value, labels in hierarchy.rows.items()},
    }


def write_mapping(path: Path, mapping: Mapping[str | None, str | None]) -> None:
    """Write one line per value, with nulls and empty texts as in a published table.

    An empty cell is null and an empty text is "".
    """
    lines = (f"{_csv_cell(value)};{_csv_cell(label)}\n" for value, label in mapping.items())
    path.write_text("".join(lines), encoding="utf-8", newline="")


def _csv_cell(text: str | None) -> str:
    if text is None:
        return ""
    if text == "" or any(mark in text for mark in ';"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def read_mapping(path: Path) -> LabelMapping:
    """Read the file that `write_mapping` wrote."""
    from pyarrow import csv

    try:
        rows = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=["value", "label"]),
            parse_options=csv.ParseOptions(delimiter=";", newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={"value": pa.string(), "label": pa.string()},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise BadInput(
            f"{path.name}: a mapping has two cells in each line, value and published value"
        ) from None
    return dict(zip(rows["value"].to_pylist(), rows["label"].to_pylist(), strict=True))


# --- unseen values --------------------------------------------------------------------------------
RULES = f"{FOLDER}/rules.json"
"""The rules by which columns were generalized.

They define the labels of values that did not occur before.
"""


class GeneralizationRule(NamedTuple):
    """The rule of a column, and the published level; None if boxes were published."""

    keys: Mapping[str, Any]
    level: int | None

    def extend_hierarchy(
        self, column: str, values: Iterable[str | None], texts: Iterable[str | None]
    ) -> Hierarchy:
        """Build the hierarchy of the known values, and of other values that the rule covers.

        The known values keep the levels that they had.
        """
        return build_hierarchy(column, self.keys, values, beyond=texts)


def write_rules(path: Path, rules: Mapping[str, GeneralizationRule]) -> None:
    """Write rules as they are in a policy file.

    Values that JSON cannot represent are written as text, which a rule also accepts.
    """
    document = {
        name: {"keys": _as_json(rule.keys), "level": rule.level} for name, rule in rules.items()
    }
    path.write_text(
        json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _as_json(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(element) for element in value]
    if isinstance(value, bool | int | str | None):
        return value
    return as_text(value)


def read_rules(path: Path) -> dict[str, GeneralizationRule]:
    """Read the file that `write_rules` wrote."""
    rules = {
        name: GeneralizationRule(rule["keys"], rule["level"])
        for name, rule in read_checked(path, "rules").items()
    }
    if file_rules := [name for name, rule in rules.items() if "file" in rule.keys]:
        raise BadInput(
            f"{path.name}: the rule of {file_rules[0]!r} names a file",
            hint="A release is whole without others",
        )
    return rules


def extend_mapping(
    column: str,
    mapping: LabelMapping,
    texts: Iterable[str | None],
    rule: GeneralizationRule | None = None,
) -> LabelMapping:
    """Extend the mapping by unseen values that the rule of the column covers.

    Without a rule, extend it by values that a label covers according to its text. The label `*`
    covers everything if it is the only one. A range covers the numbers in it, unless the mapping
    contradicts that.

    >>> extend_mapping("age", {"91": ">=90", "34": "[30, 40)"}, ["100", "35", "60"])
    {'91': '>=90', '34': '[30, 40)', '100': '>=90', '35': '[30, 40)'}
    >>> extend_mapping(
    ...     "age",
    ...     {"91": ">=90"},
    ...     ["60", "none"],
    ...     GeneralizationRule({"intervals": [10], "top": 90}, 1),
    ... )
    {'91': '>=90', '60': '[60, 70)'}
    """
    unseen = [text for text in texts if text is not None and text not in mapping]
    labels_by_value = {value: label for value, label in mapping.items() if value is not None}
    if rule is not None and unseen:
        level = rule.level or 0
        levels = rule.extend_hierarchy(column, labels_by_value, unseen)
        # A rule defines its labels only if it gives the known values the labels that were
        # published.
        if level <= levels.height and all(
            levels.rows[value][level] == label for value, label in labels_by_value.items()
        ):
            return {**mapping, **{text: labels[level] for text, labels in levels.beyond.items()}}
    return {**mapping, **_labels_covering_unseen(labels_by_value, unseen)}


def _labels_covering_unseen(
    labels_by_value: Mapping[str, str | None], unseen: Sequence[str]
) -> LabelMapping:
    if labels_by_value and set(labels_by_value.values()) == {SUPPRESSED}:
        return dict.fromkeys(unseen, SUPPRESSED)
    values_of_label: dict[str, list[str]] = {}
    for value, label in labels_by_value.items():
        values_of_label.setdefault(label or "", []).append(value)
    labels_covering: dict[str, list[str]] = {text: [] for text in unseen}
    for label, values in values_of_label.items():
        meaning = parse_label(label)
        if meaning.kind not in ("interval", "dates"):
            continue
        covered_values = meaning.matches(ValueIndex([*values, *unseen])) or set()
        # A range defines its label only if all known values of the label are in it.
        if covered_values.issuperset(range(len(values))):
            for position in covered_values.difference(range(len(values))):
                labels_covering[unseen[position - len(values)]].append(label)
    return {text: labels[0] for text, labels in labels_covering.items() if len(labels) == 1}


def values_by_label(mapping: LabelMapping, domain: Domain) -> dict[str | None, list[str | None]]:
    """Values of a column by the label that covers them."""
    texts = [as_text(label) for label in domain.labels]
    values_of_label: dict[str | None, list[str | None]] = {label: [] for label in mapping.values()}
    all_labels = extend_mapping(domain.name, mapping, texts)
    for text in texts:
        if text in all_labels:
            values_of_label.setdefault(all_labels[text], []).append(text)
    return values_of_label


def write_types(path: Path, types: Mapping[str, str]) -> None:
    """Write the types that quasi-identifiers had before they were published as text.

    Types can reveal something about values, so they stay in the private part.
    """
    path.write_text(json.dumps(types, ensure_ascii=False) + "\n", encoding="utf-8")


def read_types(private_folder: Path) -> dict[str, str]:
    """Read the file that `write_types` wrote into a private part; empty if there is none."""
    path = private_folder / TYPES
    if path.is_file():
        types: dict[str, str] = read_checked(path, "column-types")
    else:
        types = {}
    return types


def write_original(path: Path, counts: Mapping[str, Mapping[str | None, float]]) -> None:
    """Write the mass of each sensitive value by attribute, in pairs: JSON has no null keys."""
    pairs = {
        name: [[value, mass] for value, mass in masses.items()] for name, masses in counts.items()
    }
    path.write_text(json.dumps(pairs, ensure_ascii=False) + "\n", encoding="utf-8")


def read_original(path: Path) -> dict[str, dict[str | None, float]]:
    """Read the file that `write_original` wrote."""
    pairs = read_checked(path, "original")
    return {name: {value: float(mass) for value, mass in masses} for name, masses in pairs.items()}


EARLIER = f"{FOLDER}/earlier.parquet"
"""Rows published before these, in the counted columns.

The requirements must hold for all rows together.
"""


DEFERRED = f"{FOLDER}/deferred.parquet"
"""Records deferred to the next batch, with their original values.

Only the columns that are needed to publish them are kept.
"""


LEFT_OUT = f"{FOLDER}/left_out.parquet"
"""People suppressed from a release that was judged together with prior releases.

Columns k0, k1, ... hold the values of the quasi-identifiers. Columns r0, r1, ... hold the class in
each prior release as text; their metadata hold a hash of all its classes. Column `people` holds the
number of people. People with the same values may have been published.
"""

CLASSES = b"classes_sha256"


def suppressed_classes_table(
    people: Contingency, recoding: Recoding, class_hashes: Sequence[str]
) -> pa.Table:
    """The raw classes that were suppressed.

    The last `pinned` columns are the classes of prior releases; `class_hashes` are their hashes.
    """
    is_suppressed = pa.array(~recoding.published_mask)
    own_count = len(people.keys) - people.pinned
    columns = {
        f"k{key_index}"
        if key_index < own_count
        else f"r{key_index - own_count}": people.key_column(key_index).filter(is_suppressed)
        for key_index in range(len(people.keys))
    }
    table = pa.table({**columns, "people": pa.array(people.sizes).filter(is_suppressed)})
    for key_index, sha256 in enumerate(class_hashes, start=own_count):
        table = table.set_column(
            key_index,
            table.field(key_index).with_metadata({CLASSES: sha256}),
            table.column(key_index),
        )
    return table


# --- boxes ----------------------------------------------------------------------------------------
# Labels and spans of each class of a local recoding (Mondrian). A row belongs to the box that lists
# its values, else to the first box whose spans contain all of them.
BOXES = f"{FOLDER}/boxes.json"


class BoxRecord(NamedTuple):
    """A box as it is in the file, one label and one span per column; spans hold texts."""

    labels: Sequence[str | None]
    spans: Sequence[Any]
    """{"from": low, "to": high}, both included, {"values": [...]}, or None for anything."""
    rows: Sequence[tuple[str | None, ...]] = ()
    """The combinations of values in the box, if boxes overlap."""


def write_boxes(path: Path, boxes: Sequence[generalization.Box]) -> None:
    """Write one entry per class."""
    document = [
        {"labels": box.labels, "spans": box.spans} | ({"rows": box.rows} if box.rows else {})
        for box in box_records(boxes)
    ]
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def read_boxes(path: Path, columns: int) -> tuple[BoxRecord, ...]:
    """Read the file that `write_boxes` wrote, for this number of columns."""
    boxes = tuple(
        BoxRecord(box["labels"], box["spans"], [tuple(row) for row in box.get("rows", ())])
        for box in read_checked(path, "boxes")
    )
    for number, box in enumerate(boxes, start=1):
        spans = (span for span in box.spans if span is not None and "values" not in span)
        widths = {len(box.labels), len(box.spans), *map(len, box.rows)}
        if widths != {columns} or any({"from", "to"} - set(span) for span in spans):
            raise BadInput(
                f"{path.name}: box {number} does not say what each of {columns} columns holds"
            )
    return boxes


def extend_boxes(
    boxes: Sequence[BoxRecord], contingency: Contingency, rules: Mapping[str, GeneralizationRule]
) -> tuple[BoxRecord, ...]:
    """Extend the boxes by unseen values that a column's rule puts below the label of the box."""
    spans = [list(box.spans) for box in boxes]
    for key_index, domain in enumerate(contingency.own_keys):
        rule = rules.get(domain.name)
        if rule is None or any(
            span is None or "values" not in span for span in (box.spans[key_index] for box in boxes)
        ):
            continue
        box_values = dict.fromkeys(
            value for box in boxes for value in box.spans[key_index]["values"]
        )
        levels = rule.extend_hierarchy(
            domain.name,
            box_values,
            [text for text in map(as_text, domain.labels) if text not in box_values],
        )
        for box, span in zip(boxes, spans, strict=True):
            values = set(span[key_index]["values"]) - {None}
            label = box.labels[key_index]
            level = _level_covering(levels, values, label)
            unseen_values = [
                text
                for text, labels in levels.beyond.items()
                if level is not None and labels[level] == label
            ]
            span[key_index] = {"values": [*span[key_index]["values"], *unseen_values]}
    return tuple(
        BoxRecord(box.labels, span, box.rows) for box, span in zip(boxes, spans, strict=True)
    )


def _level_covering(levels: Hierarchy, values: set[str], label: str | None) -> int | None:
    """Return the lowest level on which the label covers exactly these values."""
    values_by_level = (
        {value for value, labels in levels.rows.items() if labels[level] == label}
        for level in range(levels.height + 1)
    )
    return next(
        (
            level
            for level, level_values in enumerate(values_by_level)
            if level_values - {None} == values
        ),
        None,
    )


def box_records(boxes: Sequence[generalization.Box]) -> tuple[BoxRecord, ...]:
    """Convert boxes to the form in which the file holds them."""
    return tuple(
        BoxRecord(box.labels, [_span_document(span) for span in box.spans], box.rows)
        for box in boxes
    )


def values_by_box(
    boxes: Sequence[BoxRecord], position: int, domain: Domain
) -> dict[str | None, list[str | None]]:
    """Values of a column by the label that covers them."""
    spans = {
        (box.labels[position], json.dumps(box.spans[position])): box.spans[position]
        for box in boxes
    }
    inside: dict[str | None, Bools] = {}
    for (label, _), span in spans.items():
        inside[label] = inside.get(label, np.zeros(len(domain), dtype=bool)) | _is_in_span(
            domain, span
        )
    texts = [as_text(value) for value in domain.labels]
    return {
        label: [texts[value_index] for value_index in np.flatnonzero(is_inside)]
        for label, is_inside in inside.items()
    }


def recode_by_boxes(
    boxes: Sequence[BoxRecord], contingency: Contingency, *, unchanged: Sequence[bool]
) -> Recoding:
    """Return the recoding that gives each raw class the labels of its box.

    Classes without a box are suppressed.
    """
    box_of = _box_listing_values(boxes, contingency)
    for number, box in enumerate(boxes):
        inside: Bools = box_of < 0
        for domain, codes, span in zip(
            contingency.own_keys, contingency.own_codes, box.spans, strict=True
        ):
            inside &= _is_in_span(domain, span)[codes]
        box_of[inside] = number
    labels: list[tuple[str | None, ...]] = []
    published: list[Ints] = []
    for position in range(len(contingency.own_keys)):
        number_of_label: dict[str | None, int] = {}
        label_of_box = np.array(
            [
                number_of_label.setdefault(box.labels[position], len(number_of_label))
                for box in boxes
            ],
            dtype=np.int64,
        )
        labels.append(tuple(number_of_label))
        published.append(label_of_box[box_of])
    names = tuple(key.name for key in contingency.own_keys)
    return Recoding(names, tuple(labels), tuple(published), box_of >= 0, tuple(unchanged))


def _box_listing_values(boxes: Sequence[BoxRecord], contingency: Contingency) -> Ints:
    """Index of the box that lists the values of each raw class; -1 if there is none."""
    box_by_row = {row: number for number, box in enumerate(boxes) for row in box.rows}
    box_of = np.full(len(contingency), -1, dtype=np.int64)
    if not box_by_row:
        return box_of
    texts = []
    for domain, codes in zip(contingency.own_keys, contingency.own_codes, strict=True):
        text_of_code = [as_text(label) for label in domain.labels]
        texts.append([text_of_code[code] for code in codes.tolist()])
    for index, row in enumerate(zip(*texts, strict=True)):
        box_of[index] = box_by_row.get(row, -1)
    return box_of


def _span_document(span: Any) -> Any:
    if span is None:
        return None
    if isinstance(span, frozenset):
        return {"values": sorted(span, key=lambda value: (value is None, value or ""))}
    low, high = span
    return {"from": as_text(low), "to": as_text(high)}


def _is_in_span(domain: Domain, span: Any) -> Bools:
    """Mask of the values of a column that are in a span."""
    if span is None:
        return np.ones(len(domain), dtype=bool)
    if "values" in span:
        values = set(span["values"])
        return np.array([as_text(label) in values for label in domain.labels])
    try:
        low, high = pa.array([span["from"], span["to"]]).cast(domain.values.type).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        problem = f"the column {domain.name!r} has the type {domain.values.type}"
        hint = "Give the new rows the types of the old ones"
        raise BadInput(
            f"{problem}, and was published in ranges of another type", hint=hint
        ) from None
    return np.array([label is not None and low <= label <= high for label in domain.labels])
