# SPDX-License-Identifier: Apache-2.0
"""Boxes: what each class of a local recoding (Mondrian) stands for, as a file, so that later rows can be placed in them.

A box has for each column the label that is published and its span: two ends, both included, a list of values, or anything. A row
belongs to the first box that holds all its values. The file holds values of the original, so it stays with the publisher.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.arrays import Bools, Ints
from divulge.count import Contingency, Domain
from divulge.errors import BadInput
from divulge.generalize.plan import Box, Recoding
from divulge.publish.mapping import FOLDER
from divulge.table.texts import as_text

BOXES = f"{FOLDER}/boxes.json"


@dataclass(frozen=True)
class Placed:
    """A box as it stands in the file; spans hold texts."""

    labels: tuple[str | None, ...]
    spans: tuple[Any, ...]
    """Per column: {"from": low, "to": high}, {"values": [...]}, or None for anything."""


def write_boxes(path: Path, boxes: Sequence[Box]) -> None:
    """One entry per class."""
    document = [{"labels": box.labels, "spans": [_span(span) for span in box.spans]} for box in boxes]
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def read_boxes(path: Path) -> tuple[Placed, ...]:
    """What `write_boxes` wrote."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Placed(tuple(box["labels"]), tuple(box["spans"])) for box in document)


def place(boxes: Sequence[Placed], contingency: Contingency, *, unchanged: Sequence[bool]) -> Recoding:
    """The recoding that gives each raw class the labels of its box; classes without one are left out."""
    box_of = np.full(len(contingency), -1, dtype=np.int64)
    for number, box in enumerate(boxes):
        inside: Bools = box_of < 0
        for domain, codes, span in zip(contingency.keys, contingency.codes, box.spans, strict=True):
            inside &= _holds(domain, span)[codes]
        box_of[inside] = number
    labels: list[tuple[str | None, ...]] = []
    published: list[Ints] = []
    for position in range(len(contingency.keys)):
        numbers: dict[str | None, int] = {}
        of_box = np.array([numbers.setdefault(box.labels[position], len(numbers)) for box in boxes], dtype=np.int64)
        labels.append(tuple(numbers))
        published.append(of_box[box_of])
    names = tuple(key.name for key in contingency.keys)
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
        raise BadInput(
            f"the column {domain.name!r} has the type {domain.values.type}, and was published in ranges of another type",
            hint="Give the new rows the types of the old ones",
        ) from None
    return np.array([label is not None and low <= label <= high for label in domain.labels])
