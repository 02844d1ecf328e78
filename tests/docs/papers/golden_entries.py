# SPDX-License-Identifier: Apache-2.0
"""Entries of golden/table_metrics.json as cells of a page: the printed text, and our number through the public API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.docs.papers.layout import Cell, Rows
from tests.metrics.golden import ENTRIES, Entry
from tests.metrics.test_golden import TESTED, matches

BY_ID: dict[str, Entry] = {entry["id"]: entry for entry in ENTRIES}


def ours(name: str) -> float:
    """What divulge answers for this entry."""
    entry = BY_ID[name]
    return TESTED[matches(entry)[0]](entry)


def cell(name: str) -> Cell:
    """The entry's printed text beside our number."""
    return Cell(ours(name), BY_ID[name]["printed"])


def beliefs(shares: Iterable[str]) -> str:
    """A distribution as the paper writes it."""
    return f"({', '.join(shares)})"


def by_class(prefix: str, classes: Iterable[str], quantities: Mapping[str, str], *, told: bool = True) -> Rows:
    """A row for each class of an example: `000.ex5` with C1, C2 and {"L_D": "LD"}; told: with the class's distribution."""
    rows = {}
    for name in classes:
        published = BY_ID[f"{prefix}.{name}.{next(iter(quantities.values()))}"]["inputs"]["published"]
        label = f"{name}: {beliefs(published)}" if told else name
        rows[label] = {title: cell(f"{prefix}.{name}.{kind}") for title, kind in quantities.items()}
    return rows


def listed(quantity: str, names: Mapping[str, str]) -> Rows:
    """A row for each entry: what it is, to its id."""
    return {told: {quantity: cell(name)} for told, name in names.items()}
