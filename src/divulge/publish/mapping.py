# SPDX-License-Identifier: Apache-2.0
"""mapping/: what stays with the publisher, and later rows are published by: what each value became, and how often each one occurred.

It holds values of the original. Nothing of it, not even a hash or a size, is told by the public part of a release.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from divulge import search
from divulge.arrays import Bools, Ints
from divulge.count import Contingency, Domain
from divulge.errors import BadInput
from divulge.hierarchy import SUPPRESSED, Hierarchy, build_hierarchy
from divulge.publish.manifest import FOLDER
from divulge.publish.schema import read_checked
from divulge.search import Recoding
from divulge.values import as_number, as_text, parse_interval

# For each quasi-identifier, what each value was published as: hierarchy files of ARX (`;`, no header) with one level.
ORIGINAL = f"{FOLDER}/original.json"
"""How often each sensitive value occurred in the original: the prior of whoever checks the release again."""
TYPES = f"{FOLDER}/types.json"
Mapped = dict[str | None, str | None]
"""A value as text to what it is published as; null is None."""


def mapping_of(hierarchy: Hierarchy, level: int) -> Mapped:
    """Every value that a hierarchy knows, and its label on one level."""
    return {None: hierarchy.null_labels[level], **{value: labels[level] for value, labels in hierarchy.rows.items()}}


def write_mapping(path: Path, mapping: Mapping[str | None, str | None]) -> None:
    """One line per value; an empty cell is null and an empty text is "", as in a published table."""
    lines = (f"{_cell(value)};{_cell(label)}\n" for value, label in mapping.items())
    path.write_text("".join(lines), encoding="utf-8", newline="")


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if text == "" or any(mark in text for mark in ';"\r\n') else text


def read_mapping(path: Path) -> Mapped:
    """The mapping that `write_mapping` wrote."""
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
        raise BadInput(f"{path.name}: a mapping has two cells in each line, value and published value") from None
    return dict(zip(rows["value"].to_pylist(), rows["label"].to_pylist(), strict=True))


# --- values that nobody had before ------------------------------------------------------------------------------------
RULES = f"{FOLDER}/rules.json"
"""The rules by which columns became coarser; they say what becomes of values that nobody had before."""


class LaterRule(NamedTuple):
    """The rule of a column, and the level that was published; None where boxes were."""

    keys: Mapping[str, Any]
    level: int | None

    def reach(self, column: str, known: Iterable[str | None], texts: Iterable[str | None]) -> Hierarchy:
        """The levels of the known values, as they were then, and beyond them those of other values that the rule covers."""
        return build_hierarchy(column, self.keys, known, beyond=texts)


def write_rules(path: Path, rules: Mapping[str, LaterRule]) -> None:
    """As a policy file has them; whatever is no JSON is written as text, which a rule reads as well."""
    document = {name: {"keys": _in_json(rule.keys), "level": rule.level} for name, rule in rules.items()}
    path.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _in_json(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {str(key): _in_json(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return [_in_json(value) for value in given]
    return given if isinstance(given, bool | int | str | None) else as_text(given)


def read_rules(path: Path) -> dict[str, LaterRule]:
    """What `write_rules` wrote."""
    found = {name: LaterRule(rule["keys"], rule["level"]) for name, rule in read_checked(path, "rules").items()}
    if strange := [name for name, rule in found.items() if "file" in rule.keys]:
        raise BadInput(
            f"{path.name}: the rule of {strange[0]!r} names a file", hint="A release is whole without others"
        )
    return found


def extended(column: str, mapping: Mapped, texts: Iterable[str | None], rule: LaterRule | None = None) -> Mapped:
    """The mapping with values that it has not seen and the column's rule covers; without a rule, those that a label covers by what it says.

    Of labels, `*` covers everything where it is the only one; a range covers the numbers in it, unless the mapping itself says otherwise.

    >>> extended("age", {"91": ">=90", "34": "[30, 40)"}, ["100", "35", "60"])
    {'91': '>=90', '34': '[30, 40)', '100': '>=90', '35': '[30, 40)'}
    >>> extended("age", {"91": ">=90"}, ["60", "none"], LaterRule({"intervals": [10], "top": 90}, 1))
    {'91': '>=90', '60': '[60, 70)'}
    """
    unseen = [text for text in texts if text is not None and text not in mapping]
    seen = {value: label for value, label in mapping.items() if value is not None}
    if rule is not None and unseen:
        level = rule.level or 0
        levels = rule.reach(column, seen, unseen)
        # A rule says what its labels mean only where it labels the known values as they were published.
        if level <= levels.height and all(levels.rows[value][level] == label for value, label in seen.items()):
            return {**mapping, **{text: labels[level] for text, labels in levels.beyond.items()}}
    return {**mapping, **_covered_by_labels(seen, unseen)}


def _covered_by_labels(seen: Mapping[str, str | None], unseen: Sequence[str]) -> Mapped:
    if seen and set(seen.values()) == {SUPPRESSED}:
        return dict.fromkeys(unseen, SUPPRESSED)
    ranges = {label: found for label in dict.fromkeys(seen.values()) if label and (found := parse_interval(label))}
    for value, label in seen.items():
        number = as_number(value)
        if label in ranges and (number is None or number not in ranges[label]):
            del ranges[label]
    covered: Mapped = {}
    for text in unseen:
        number = as_number(text)
        labels = [label for label, found in ranges.items() if number is not None and number in found]
        if len(labels) == 1:
            covered[text] = labels[0]
    return covered


def values_by_label(mapping: Mapped, domain: Domain) -> dict[str | None, list[str | None]]:
    """Which values of a column each label stands for."""
    texts = [as_text(label) for label in domain.labels]
    found: dict[str | None, list[str | None]] = {label: [] for label in mapping.values()}
    known = extended(domain.name, mapping, texts)
    for text in texts:
        if text in known:
            found.setdefault(known[text], []).append(text)
    return found


def write_types(path: Path, types: Mapping[str, str]) -> None:
    """The types that quasi-identifiers had before they were published as text; they can tell something about values, so they stay here."""
    path.write_text(json.dumps(types, ensure_ascii=False) + "\n", encoding="utf-8")


def read_types(folder: Path) -> dict[str, str]:
    """What `write_types` wrote; nothing where it is not part of a release."""
    path = folder / TYPES
    found: dict[str, str] = read_checked(path, "column-types") if path.is_file() else {}
    return found


def write_original(path: Path, counts: Mapping[str, Mapping[str | None, float]]) -> None:
    """The mass of each value of each sensitive attribute; pairs, because JSON has no null keys."""
    pairs = {name: [[value, mass] for value, mass in masses.items()] for name, masses in counts.items()}
    path.write_text(json.dumps(pairs, ensure_ascii=False) + "\n", encoding="utf-8")


def read_original(path: Path) -> dict[str, dict[str | None, float]]:
    """What `write_original` wrote."""
    pairs = read_checked(path, "original")
    return {name: {value: float(mass) for value, mass in masses} for name, masses in pairs.items()}


EARLIER = f"{FOLDER}/earlier.parquet"
"""What was published before these rows, in the columns that are counted: promises are kept by all of it together."""


LEFT_OUT = f"{FOLDER}/left_out.parquet"
"""Who was left out of a release that was judged beside others: by the values of the quasi-identifiers (k0, k1, ...) and by the class in
each of the others (r0, r1, ..., as text; a hash of all its classes is in the schema), with how many people that is (people). People with
the same values may have been published."""

CLASSES = b"classes_sha256"


def left_out_of(people: Contingency, recoding: Recoding, beside: Sequence[str]) -> pa.Table:
    """The raw classes that were left out; the last `pinned` columns are the classes of other releases, whose hashes are `beside`."""
    gone = pa.array(~recoding.kept)
    own = len(people.keys) - people.pinned
    columns = {
        f"k{place}" if place < own else f"r{place - own}": people.key_column(place).filter(gone)
        for place in range(len(people.keys))
    }
    table = pa.table({**columns, "people": pa.array(people.sizes).filter(gone)})
    for place, sha256 in enumerate(beside, start=own):
        table = table.set_column(place, table.field(place).with_metadata({CLASSES: sha256}), table.column(place))
    return table


# --- boxes ------------------------------------------------------------------------------------------------------------
# What each class of a local recoding (Mondrian) stands for. A row belongs to the first box that holds all its values.
BOXES = f"{FOLDER}/boxes.json"


class Placed(NamedTuple):
    """A box as it stands in the file, one label and one span per column; spans hold texts."""

    labels: Sequence[str | None]
    spans: Sequence[Any]
    """{"from": low, "to": high}, both included, {"values": [...]}, or None for anything."""


def write_boxes(path: Path, boxes: Sequence[search.Box]) -> None:
    """One entry per class."""
    document = [{"labels": box.labels, "spans": box.spans} for box in placed(boxes)]
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def read_boxes(path: Path, columns: int) -> tuple[Placed, ...]:
    """What `write_boxes` wrote, for so many columns."""
    found = tuple(Placed(box["labels"], box["spans"]) for box in read_checked(path, "boxes"))
    for number, box in enumerate(found, start=1):
        spans = (span for span in box.spans if span is not None and "values" not in span)
        if {len(box.labels), len(box.spans)} != {columns} or any({"from", "to"} - set(span) for span in spans):
            raise BadInput(f"{path.name}: box {number} does not say what each of {columns} columns holds")
    return found


def reaching(boxes: Sequence[Placed], contingency: Contingency, rules: Mapping[str, LaterRule]) -> tuple[Placed, ...]:
    """The boxes with values that they have not seen, where a column's rule puts these below the label of the box."""
    spans = [list(box.spans) for box in boxes]
    for place_, domain in enumerate(contingency.own_keys):
        rule = rules.get(domain.name)
        if rule is None or any(span is None or "values" not in span for span in (box.spans[place_] for box in boxes)):
            continue
        known = dict.fromkeys(value for box in boxes for value in box.spans[place_]["values"])
        levels = rule.reach(domain.name, known, [text for text in map(as_text, domain.labels) if text not in known])
        for box, span in zip(boxes, spans, strict=True):
            values, label = set(span[place_]["values"]) - {None}, box.labels[place_]
            level = _level_of(levels, values, label)
            more = [text for text, labels in levels.beyond.items() if level is not None and labels[level] == label]
            span[place_] = {"values": [*span[place_]["values"], *more]}
    return tuple(Placed(box.labels, span) for box, span in zip(boxes, spans, strict=True))


def _level_of(levels: Hierarchy, values: set[str], label: str | None) -> int | None:
    """The lowest level whose label holds exactly these values."""
    held = ({v for v, labels in levels.rows.items() if labels[level] == label} for level in range(levels.height + 1))
    return next((level for level, found in enumerate(held) if found - {None} == values), None)


def placed(boxes: Sequence[search.Box]) -> tuple[Placed, ...]:
    """Boxes as they stand in the file."""
    return tuple(Placed(box.labels, [_span(span) for span in box.spans]) for box in boxes)


def values_by_box(boxes: Sequence[Placed], position: int, domain: Domain) -> dict[str | None, list[str | None]]:
    """Which values of a column each of its labels stands for."""
    spans = {(box.labels[position], json.dumps(box.spans[position])): box.spans[position] for box in boxes}
    inside: dict[str | None, Bools] = {}
    for (label, _), span in spans.items():
        inside[label] = inside.get(label, np.zeros(len(domain), dtype=bool)) | _holds(domain, span)
    texts = [as_text(value) for value in domain.labels]
    return {label: [texts[place] for place in np.flatnonzero(held)] for label, held in inside.items()}


def place(boxes: Sequence[Placed], contingency: Contingency, *, unchanged: Sequence[bool]) -> Recoding:
    """The recoding that gives each raw class the labels of its box; classes without one are left out."""
    box_of = np.full(len(contingency), -1, dtype=np.int64)
    for number, box in enumerate(boxes):
        inside: Bools = box_of < 0
        for domain, codes, span in zip(contingency.own_keys, contingency.own_codes, box.spans, strict=True):
            inside &= _holds(domain, span)[codes]
        box_of[inside] = number
    labels: list[tuple[str | None, ...]] = []
    published: list[Ints] = []
    for position in range(len(contingency.own_keys)):
        numbers: dict[str | None, int] = {}
        of_box = np.array([numbers.setdefault(box.labels[position], len(numbers)) for box in boxes], dtype=np.int64)
        labels.append(tuple(numbers))
        published.append(of_box[box_of])
    names = tuple(key.name for key in contingency.own_keys)
    return Recoding(names, tuple(labels), tuple(published), box_of >= 0, tuple(unchanged))


def _span(span: Any) -> Any:
    if span is None:
        return None
    if isinstance(span, frozenset):
        return {"values": sorted(span, key=lambda value: (value is None, value or ""))}
    low, high = span
    return {"from": as_text(low), "to": as_text(high)}


def _holds(domain: Domain, span: Any) -> Bools:
    """Which values of a column lie in a span."""
    if span is None:
        return np.ones(len(domain), dtype=bool)
    if "values" in span:
        values = set(span["values"])
        return np.array([as_text(label) in values for label in domain.labels])
    try:
        low, high = pa.array([span["from"], span["to"]]).cast(domain.values.type).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        told = f"the column {domain.name!r} has the type {domain.values.type}"
        hint = "Give the new rows the types of the old ones"
        raise BadInput(f"{told}, and was published in ranges of another type", hint=hint) from None
    return np.array([label is not None and low <= label <= high for label in domain.labels])
