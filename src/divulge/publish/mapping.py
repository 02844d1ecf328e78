# SPDX-License-Identifier: Apache-2.0
"""Mapping files: for each quasi-identifier, what each value was published as, so that later rows can be published alike.

They are hierarchy files of ARX (`;`, no header) with one level. They hold values of the original, so they stay with the publisher.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from divulge.errors import BadInput
from divulge.table.hierarchy import Hierarchy

FOLDER = "mapping"
ORIGINAL = f"{FOLDER}/original.json"
"""How often each sensitive value occurred in the original: the prior of whoever checks the release again."""

Mapped = dict[str | None, str | None]
"""A value as text to what it is published as; null is None."""


def mapping_of(hierarchy: Hierarchy, level: int) -> Mapped:
    """Every value that a hierarchy knows, and its label on one level."""
    return {None: hierarchy.null_labels[level], **{value: labels[level] for value, labels in hierarchy.rows.items()}}


def write_mapping(path: Path, mapping: Mapping[str | None, str | None]) -> None:
    """One line per value; an empty cell is null, so an empty text cannot be told from it and is left out."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        writer.writerows((value or "", label or "") for value, label in mapping.items() if value != "")


def read_mapping(path: Path) -> Mapped:
    """The mapping that `write_mapping` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    wrong = next((number for number, row in enumerate(rows, start=1) if len(row) != 2), None)
    if wrong is not None:
        raise BadInput(f"{path.name}, line {wrong}: a mapping has two cells, value and published value")
    return {value or None: label or None for value, label in rows}


def write_original(path: Path, counts: Mapping[str, Mapping[str | None, float]]) -> None:
    """The mass of each value of each sensitive attribute; pairs, because JSON has no null keys."""
    pairs = {name: [[value, mass] for value, mass in masses.items()] for name, masses in counts.items()}
    path.write_text(json.dumps(pairs, ensure_ascii=False) + "\n", encoding="utf-8")


def read_original(path: Path) -> dict[str, dict[str | None, float]]:
    """What `write_original` wrote."""
    pairs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {name: {value: float(mass) for value, mass in masses} for name, masses in pairs.items()}
