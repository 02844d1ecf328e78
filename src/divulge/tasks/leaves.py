# SPDX-License-Identifier: Apache-2.0
"""Which values the labels of a generalized release stand for: by its mappings, by hierarchies, or by the labels themselves.

Whoever published the release has mapping/, which lists the values of every label. Whoever was handed the release may
have the hierarchies. Otherwise a range such as [20, 30) is read as the whole numbers from 20 up to 29, and any other
label cannot be asked.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.engines.duckdb import DuckDBEngine
from divulge.publish.boxes import BOXES, read_boxes
from divulge.publish.mapping import FOLDER, read_mapping
from divulge.table.hierarchy_files import file_name, load_hierarchies
from divulge.table.intervals import parse_interval
from divulge.table.numbers import as_number
from divulge.table.table import Table

Leaf = tuple[str | None, str | None]
"""A label and a value that it stands for, as text; null is None."""

_LARGEST_RANGE = 100_000
_CLOSED = re.compile(r"\[\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]")  # a label of Mondrian: both ends included


def leaf_relations(
    engine: DuckDBEngine, table: Table, document: Mapping[str, Any], folder: Path, *, hierarchies: str | Path | None
) -> dict[str, str]:
    """For each column with labels, a relation with the columns `label` and `leaf`."""
    unchanged = set(document["unchanged"])
    hidden = [name for name in document["roles"]["quasi_identifiers"] if name not in unchanged]
    found: dict[str, str] = {}
    for position, name in enumerate(document["roles"]["quasi_identifiers"]):
        if name in hidden:
            leaves = _leaves(engine, table, document, folder, name=name, position=position, hierarchies=hierarchies)
            found[name] = engine.register(engine.fresh_name("leaves"), _typed(leaves))
    return found


def _leaves(
    engine: DuckDBEngine,
    table: Table,
    document: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    position: int,
    hierarchies: str | Path | None,
) -> set[Leaf]:
    levels, mapping, boxes = document["plan"]["levels"], folder / FOLDER / file_name(name), folder / BOXES
    if hierarchies is not None and name in levels:
        given = load_hierarchies(hierarchies, columns=[name]).get(name)
        if given is not None:
            return {(labels[levels[name]], value) for value, labels in given.rows.items()} | {
                (given.null_labels[levels[name]], None)
            }
    if mapping.is_file():
        return {(label, value) for value, label in read_mapping(mapping).items()}
    if boxes.is_file():
        return {leaf for box in read_boxes(boxes) for leaf in _of_span(box.labels[position], box.spans[position])}
    column = engine.quote(name)
    labels = engine.query(f"SELECT DISTINCT {column} AS label FROM {table.relation}").column("label").to_pylist()
    return {leaf for label in labels for leaf in _of_label(label)}


def _of_span(label: str | None, span: Any) -> Iterator[Leaf]:
    """The values of a box in one column."""
    if span is not None and "values" in span:
        yield from ((label, value) for value in span["values"])
    elif span is not None:
        yield from _whole_numbers(label, as_number(span["from"] or ""), as_number(span["to"] or ""))


def _of_label(label: str | None) -> Iterator[Leaf]:
    """What a label says by itself: null is null, a number is itself, a range holds the whole numbers in it."""
    if label is None or as_number(label) is not None:
        yield label, label
    elif closed := _CLOSED.fullmatch(label):
        yield from _whole_numbers(label, as_number(closed[1]), as_number(closed[2]))
    elif (interval := parse_interval(label)) is not None and interval.high is not None:
        yield from _whole_numbers(label, interval.low, interval.high - 1)


def _whole_numbers(label: str | None, low: Fraction | None, high: Fraction | None) -> Iterator[Leaf]:
    """The numbers from low to high, both included; none where an end is open or lies between whole numbers."""
    if low is None or high is None or low.denominator != 1 or high.denominator != 1 or high - low > _LARGEST_RANGE:
        return
    yield from ((label, str(number)) for number in range(int(low), int(high) + 1))


def _typed(leaves: set[Leaf]) -> pa.Table:
    """The values as what they are: whole numbers, numbers, dates or text; the release does not tell the type of what it hides."""
    others = {label for label, value in leaves if value is not None}
    # A mapping says what a null would become, whether there are nulls or not: it is a leaf only of a label that stands for nothing else.
    known = [(label, value) for label, value in leaves if value is not None or label not in others]
    ordered = sorted(known, key=lambda leaf: (leaf[0] is None, leaf[0] or "", leaf[1] is None, leaf[1] or ""))
    return pa.table(
        {
            "label": pa.array([label for label, _ in ordered], pa.string()),
            "leaf": _array([value for _, value in ordered]),
        }
    )


def _array(texts: list[str | None]) -> pa.Array:
    known = [text for text in texts if text is not None]
    for read in (_whole, _number, _date):
        if known and all(read(text) is not None for text in known):
            return pa.array([None if text is None else read(text) for text in texts])
    return pa.array(texts, pa.string())


def _whole(text: str) -> int | None:
    """A whole number as it is written; 007 is not one."""
    number = as_number(text)
    return int(number) if number is not None and number.denominator == 1 and text == str(int(number)) else None


def _number(text: str) -> float | None:
    number = as_number(text)
    return (
        None
        if number is None or (text.startswith("0") and not text.startswith("0.") and text != "0")
        else float(number)
    )


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
