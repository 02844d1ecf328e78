# SPDX-License-Identifier: Apache-2.0
"""A plan: what every search comes down to, as a value that a release can be written from.

A recoding maps each raw class to published labels or to nothing (Afifi et al. 2018, Definition 1: a generalization is a map of values
and of records). The counts of the release follow from the counts of the table, so promises are checked before a row is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from divulge import arrays
from divulge.arrays import Bools, Ints
from divulge.count import Cells, Contingency, Domain, build_cells
from divulge.hierarchy import Hierarchy, Labels
from divulge.search.judge import Candidate, Judge
from divulge.search.lattice import Rollup, held

_LEFT_OUT = "left out"


@dataclass(frozen=True, eq=False)
class Recoding:
    """Raw class to published labels, or to nothing."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]
    """Per column; null stays null."""
    codes: tuple[Ints, ...] = field(repr=False)
    """Per column: the position of each raw class's label."""
    kept: Bools = field(repr=False)
    """Per raw class; False: its rows are left out."""
    unchanged: tuple[bool, ...]
    """Per column: published exactly as it came, so that it keeps its type."""


@dataclass(frozen=True)
class Box:
    """One class of a local recoding: the published label of each column and what it stands for, so that new rows can be placed."""

    labels: tuple[str | None, ...]
    spans: tuple[tuple[Any, Any] | frozenset[str | None] | None, ...]
    """Per column: the least and the greatest value it holds, or its values as text, or None for anything."""
    people: int


@dataclass(frozen=True)
class CheckedNode:
    """One node that a search looked at."""

    levels: Mapping[str, int]
    feasible: bool
    value: float | None
    """The objective, where the node is a solution."""
    suppressed: int
    classes: int
    obstacle: str | None
    """The promise in the way."""


class Problem(Protocol):
    """What a plan solves: a search for levels, or the cutting of boxes."""

    @property
    def judge(self) -> Judge:
        """Holds what may be published against the promises."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What to publish, and how it was found."""

    method: Literal["full-domain", "columns", "mondrian"]
    """One level for each column, each of them as it is or not at all, or boxes."""
    levels: Mapping[str, int]
    """By column; empty for a local recoding."""
    recoding: Recoding
    objective: str
    value: float
    suppressed: int
    """People left out."""
    classes: int
    lattice: int
    checked: int
    gap: float
    """How much better than this plan a solution could still be, by the bounds; 0: none is better, infinite: nobody knows."""
    settings: Mapping[str, Any]
    boxes: tuple[Box, ...] = field(default=(), repr=False)
    optima: tuple[Mapping[str, int], ...] = ()
    """All solutions of the same value, where they were asked for."""
    nodes: tuple[CheckedNode, ...] = field(default=(), repr=False)
    """Every node that was looked at, where that was asked for."""
    problem: Problem | None = field(default=None, repr=False)
    """What was solved, so that more can be asked of it."""

    @property
    def asked_as(self) -> str:
        """What `generalize` calls the method."""
        return self.method if self.settings.get("strict", True) else "relaxed-mondrian"

    def published(self, contingency: Contingency) -> Contingency:
        """The counts of the release."""
        return published(contingency, self.recoding)

    def holding(self, contingency: Contingency, some: Bools) -> Bools:
        """Which classes of `published` hold people of these raw classes."""
        _, codes, of_raw = _merged_classes(contingency, self.recoding)
        found: Bools = np.zeros(len(codes[0]), dtype=bool)
        found[of_raw[some & self.recoding.kept]] = True
        return found

    def labels_holding(
        self,
        columns: Sequence[str],
        keys: Sequence[Labels],
        hierarchies: Mapping[str, Hierarchy],
        contingency: Contingency,
    ) -> dict[Labels, list[Labels]]:
        """Under which published labels of these columns each combination of their values lies, whether somebody has it or not."""
        if not self.boxes:
            levels = [(hierarchies[name], self.levels[name]) for name in columns]
            return {key: _labels_at(key, levels) for key in keys}
        places = [self.recoding.columns.index(name) for name in columns]
        boxes = {(tuple(box.labels[i] for i in places), tuple(box.spans[i] for i in places)) for box in self.boxes}
        labels, spans = [box[0] for box in boxes], [box[1] for box in boxes]
        inside = np.ones((len(boxes), len(keys)), dtype=bool)
        for number, place in enumerate(places):
            inside &= held([span[number] for span in spans], [key[number] for key in keys], contingency.keys[place])
        return {
            key: list({labels[box] for box in np.flatnonzero(column)})
            for key, column in zip(keys, inside.T, strict=True)
        }

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        found: dict[str, Any] = {
            "method": self.method,
            "levels": dict(self.levels),
            "objective": {"name": self.objective, "value": self.value, "gap": self.gap if isfinite(self.gap) else None},
            "suppressed": self.suppressed,
            "classes": self.classes,
            "lattice": self.lattice,
            "checked": self.checked,
            "settings": dict(self.settings),
        }
        if self.boxes:
            found["boxes"] = len(self.boxes)
        if self.optima:
            found["optima"] = [dict(levels) for levels in self.optima]
        return found


def _labels_at(key: Labels, levels: Sequence[tuple[Hierarchy, int]]) -> list[Labels]:
    """The labels of one combination; none where a hierarchy does not know a value, which nobody in the table has then."""
    try:
        return [tuple(hierarchy.label_of(text, level) for text, (hierarchy, level) in zip(key, levels, strict=True))]
    except LookupError:
        return []


def recode(rollup: Rollup, candidate: Candidate) -> Recoding:
    """The recoding of a full-domain node."""
    steps = rollup.lattice.levels(candidate.node)
    return Recoding(
        columns=tuple(ladder.column for ladder in rollup.lattice.ladders),
        labels=tuple(step.labels for step in steps),
        codes=tuple(step.codes[codes] for step, codes in zip(steps, rollup.contingency.own_codes, strict=True)),
        kept=~candidate.suppressed_raw,
        unchanged=tuple(level == 0 for level in candidate.node),
    )


def published(contingency: Contingency, recoding: Recoding) -> Contingency:
    """The counts of the table that a recoding publishes: merged by labels, without what is left out.

    Pinned columns still tell classes apart; what is in the files has the recoding's columns alone (`roll_up`).
    """
    keys, codes, of_raw = _merged_classes(contingency, recoding)
    place, kept = of_raw[recoding.kept], recoding.kept
    people = arrays.sum_by_id(place, contingency.sizes[kept].astype(np.float64)).astype(np.int64)
    total = int(people.sum())
    return Contingency(
        keys=keys,
        codes=codes,
        sizes=people,
        cells={name: _merged_cells(cells, of_raw[cells.class_index]) for name, cells in contingency.cells.items()},
        rows=total,
        people=total,
        population=None if contingency.population is None else arrays.sum_by_id(place, contingency.population[kept]),
        notes=contingency.notes,
        pinned=contingency.pinned,
    )


def with_left_behind(contingency: Contingency, recoding: Recoding) -> Recoding:
    """The same with people who are told by what is missing, as if "left out" were published of them: what is judged beside what is out."""
    if not contingency.pinned or not (behind := contingency.left_behind(recoding.kept)).any():
        return recoding
    return Recoding(
        columns=recoding.columns,
        labels=tuple((*labels, _LEFT_OUT) for labels in recoding.labels),
        codes=tuple(
            np.where(behind, len(labels), codes) for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
        ),
        kept=recoding.kept | behind,
        unchanged=tuple(False for _ in recoding.columns),
    )


def _merged_classes(contingency: Contingency, recoding: Recoding) -> tuple[tuple[Domain, ...], tuple[Ints, ...], Ints]:
    """Key columns and codes of the published classes, in the order of their values, and the class of each raw class (-1: none)."""
    columns = [_published_column(contingency, recoding, position) for position in range(len(contingency.keys))]
    keys = tuple(domain for domain, _ in columns)
    codes = [codes for _, codes in columns]
    ids, first = arrays.class_ids(codes, [len(key) for key in keys], rows=int(recoding.kept.sum()))
    of_raw = np.full(len(recoding.kept), -1, dtype=np.int64)
    of_raw[recoding.kept] = ids
    return keys, tuple(column[first] for column in codes), of_raw


def _published_column(contingency: Contingency, recoding: Recoding, position: int) -> tuple[Domain, Ints]:
    """The labels that are published in ascending order, null last, and the label of each raw class that is kept."""
    if position >= len(recoding.columns) or recoding.unchanged[position]:
        key = contingency.keys[position]
        used, codes = np.unique(contingency.codes[position][recoding.kept], return_inverse=True)
        return Domain(key.name, key.values.take(pa.array(used)), key.kind), codes.astype(np.int64)
    labels = recoding.labels[position]
    used, codes = np.unique(recoding.codes[position][recoding.kept], return_inverse=True)
    order = sorted(range(len(used)), key=lambda i: (labels[used[i]] is None, labels[used[i]] or ""))
    rank = arrays.inverse(np.array(order, dtype=np.int64))
    values = pa.array([labels[used[i]] for i in order], pa.string())
    return Domain(recoding.columns[position], values, "text"), rank[codes]


def _merged_cells(cells: Cells, class_of_cell: Ints) -> Cells:
    """Cells of the classes that are published."""
    kept = class_of_cell >= 0
    present, index = np.unique(class_of_cell[kept], return_inverse=True)
    return build_cells(cells.domain, index.astype(np.int64), cells.value[kept], cells.mass[kept], classes=len(present))
