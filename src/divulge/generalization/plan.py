# SPDX-License-Identifier: Apache-2.0
"""A plan: the result of every search, from which a release can be written.

A recoding maps each raw class to published labels or to nothing (Afifi et al. 2018, Definition 1: a
generalization is a map of values and of records). The counts of the release follow from the counts
of the table, so requirements are checked before a row is written.
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
from divulge.counting import Cells, Contingency, Domain, build_cells
from divulge.generalization.constraints import Candidate, NodeChecker
from divulge.generalization.lattice import spans_cover
from divulge.generalization.rollup import Rollup
from divulge.hierarchies import Hierarchy, Labels

LEFT_OUT = "left out"
"""The label of people who are revealed by their absence from a release."""


@dataclass(frozen=True, eq=False)
class Recoding:
    """Map of raw classes to published labels, or to nothing."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]
    """Labels by column; null stays null."""
    codes: tuple[Ints, ...] = field(repr=False)
    """Position of the label of each raw class, by column."""
    published_mask: Bools = field(repr=False)
    """Mask over raw classes; False if its rows are suppressed."""
    unchanged: tuple[bool, ...]
    """True for each column that is published unchanged and keeps its type."""


@dataclass(frozen=True)
class Box:
    """One class of a local recoding: the published labels and their spans.

    With the spans, new rows can be assigned to a box.
    """

    labels: tuple[str | None, ...]
    spans: tuple[tuple[Any, Any] | frozenset[str | None] | None, ...]
    """By column: the least and greatest value, or the values as text, or None for anything."""
    people: int
    rows: tuple[tuple[str | None, ...], ...] = ()
    """Combinations of values in the box, as text, if spans of boxes overlap.

    Then the spans do not determine the box of a row.
    """


@dataclass(frozen=True)
class CheckedNode:
    """One node that a search checked."""

    levels: Mapping[str, int]
    feasible: bool
    value: float | None
    """Value of the objective, if the node is a solution."""
    suppressed: int
    classes: int
    obstacle: str | None
    """Text of the violated requirement."""


class Problem(Protocol):
    """The problem that a plan solves: a search for levels, or the cutting of boxes."""

    @property
    def checker(self) -> NodeChecker:
        """Checks candidates against the requirements."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A recoding to publish, and the facts about the search that found it."""

    method: Literal["full-domain", "columns", "mondrian"]
    """One level for each column, each column unchanged or dropped, or boxes."""
    levels: Mapping[str, int]
    """Levels by column; empty for a local recoding."""
    recoding: Recoding
    objective: str
    value: float
    suppressed: int
    """Number of people suppressed."""
    classes: int
    lattice: int
    checked: int
    gap: float
    """Bound on how much better a solution could be than this plan.

    0 if none is better; infinite if that is unknown.
    """
    settings: Mapping[str, Any]
    boxes: tuple[Box, ...] = field(default=(), repr=False)
    optima: tuple[Mapping[str, int], ...] = ()
    """All solutions of the same value, if they were requested."""
    nodes: tuple[CheckedNode, ...] = field(default=(), repr=False)
    """Every node that was checked, if that was requested."""
    problem: Problem | None = field(default=None, repr=False)
    """The solved problem, for further searches."""

    @property
    def request_name(self) -> str:
        """Name of the method in `generalize`."""
        if self.settings.get("strict", True):
            return self.method
        return "relaxed-mondrian"

    def published(self, contingency: Contingency) -> Contingency:
        """Counts of the release."""
        return published(contingency, self.recoding)

    def holding(self, contingency: Contingency, some: Bools) -> Bools:
        """Mask of the classes of `published` that contain people of these raw classes."""
        _, codes, of_raw = _merged_classes(contingency, self.recoding)
        holds_people: Bools = np.zeros(len(codes[0]), dtype=bool)
        holds_people[of_raw[some & self.recoding.published_mask]] = True
        return holds_people

    def labels_holding(
        self,
        columns: Sequence[str],
        keys: Sequence[Labels],
        hierarchies: Mapping[str, Hierarchy],
        contingency: Contingency,
    ) -> dict[Labels, list[Labels]]:
        """Published labels of these columns that cover each combination of their values.

        The combinations need not occur in the table.
        """
        if not self.boxes:
            levels = [(hierarchies[name], self.levels[name]) for name in columns]
            return {key: _labels_at(key, levels) for key in keys}
        places = [self.recoding.columns.index(name) for name in columns]
        boxes = {
            (tuple(box.labels[i] for i in places), tuple(box.spans[i] for i in places))
            for box in self.boxes
        }
        labels = [box[0] for box in boxes]
        spans = [box[1] for box in boxes]
        inside = np.ones((len(boxes), len(keys)), dtype=bool)
        for number, position in enumerate(places):
            inside &= spans_cover(
                [span[number] for span in spans],
                [key[number] for key in keys],
                contingency.keys[position],
            )
        return {
            key: list({labels[box] for box in np.flatnonzero(column)})
            for key, column in zip(keys, inside.T, strict=True)
        }

    def describe(self) -> dict[str, Any]:
        """Description for the manifest."""
        description: dict[str, Any] = {
            "method": self.method,
            "levels": dict(self.levels),
            "objective": {
                "name": self.objective,
                "value": self.value,
                "gap": self.gap if isfinite(self.gap) else None,
            },
            "suppressed": self.suppressed,
            "classes": self.classes,
            "lattice": self.lattice,
            "checked": self.checked,
            "settings": dict(self.settings),
        }
        if self.boxes:
            description["boxes"] = len(self.boxes)
        if self.optima:
            description["optima"] = [dict(levels) for levels in self.optima]
        return description


def _labels_at(key: Labels, levels: Sequence[tuple[Hierarchy, int]]) -> list[Labels]:
    """Labels of one combination; empty if a hierarchy does not cover a value.

    Such a value does not occur in the table.
    """
    try:
        return [
            tuple(
                hierarchy.label_of(text, level)
                for text, (hierarchy, level) in zip(key, levels, strict=True)
            )
        ]
    except LookupError:
        return []


def recode(rollup: Rollup, candidate: Candidate) -> Recoding:
    """Return the recoding of a full-domain node."""
    steps = rollup.lattice.levels(candidate.node)
    return Recoding(
        columns=tuple(column_levels.column for column_levels in rollup.lattice.columns),
        labels=tuple(step.labels for step in steps),
        codes=tuple(
            step.codes[codes]
            for step, codes in zip(steps, rollup.contingency.own_codes, strict=True)
        ),
        published_mask=~candidate.suppressed_raw,
        unchanged=tuple(level == 0 for level in candidate.node),
    )


def published(contingency: Contingency, recoding: Recoding) -> Contingency:
    """Counts of the table that a recoding publishes, merged by labels, without suppressed classes.

    Pinned columns still split classes. The files have only the columns of the recoding (`roll_up`).
    """
    keys, codes, of_raw = _merged_classes(contingency, recoding)
    class_index = of_raw[recoding.published_mask]
    is_kept = recoding.published_mask
    people = arrays.sum_by_id(class_index, contingency.sizes[is_kept].astype(np.float64)).astype(
        np.int64
    )
    total = int(people.sum())
    return Contingency(
        keys=keys,
        codes=codes,
        sizes=people,
        cells={
            name: _merged_cells(cells, of_raw[cells.class_index])
            for name, cells in contingency.cells.items()
        },
        rows=total,
        people=total,
        population=None
        if contingency.population is None
        else arrays.sum_by_id(class_index, contingency.population[is_kept]),
        notes=contingency.notes,
        pinned=contingency.pinned,
    )


def with_left_behind(contingency: Contingency, recoding: Recoding) -> Recoding:
    """Add people who are revealed by their absence, as if "left out" were published for them.

    The result is checked in joint classes with prior releases.
    """
    if (
        not contingency.pinned
        or not (is_left_behind := contingency.left_behind(recoding.published_mask)).any()
    ):
        return recoding
    return Recoding(
        columns=recoding.columns,
        labels=tuple((*labels, LEFT_OUT) for labels in recoding.labels),
        codes=tuple(
            np.where(is_left_behind, len(labels), codes)
            for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
        ),
        published_mask=recoding.published_mask | is_left_behind,
        unchanged=tuple(False for _ in recoding.columns),
    )


def _merged_classes(
    contingency: Contingency, recoding: Recoding
) -> tuple[tuple[Domain, ...], tuple[Ints, ...], Ints]:
    """Key columns and codes of the published classes, and the class of each raw class.

    Published classes are in the order of their values. A suppressed raw class has -1.
    """
    columns = [
        _published_column(contingency, recoding, position)
        for position in range(len(contingency.keys))
    ]
    keys = tuple(domain for domain, _ in columns)
    codes = [codes for _, codes in columns]
    ids, first = arrays.class_ids(
        codes, [len(key) for key in keys], rows=int(recoding.published_mask.sum())
    )
    of_raw = np.full(len(recoding.published_mask), -1, dtype=np.int64)
    of_raw[recoding.published_mask] = ids
    return keys, tuple(column[first] for column in codes), of_raw


def _published_column(
    contingency: Contingency, recoding: Recoding, position: int
) -> tuple[Domain, Ints]:
    """The published labels in ascending order, null last, and the label of each kept raw class."""
    if position >= len(recoding.columns) or recoding.unchanged[position]:
        key = contingency.keys[position]
        used_codes, codes = np.unique(
            contingency.codes[position][recoding.published_mask], return_inverse=True
        )
        return Domain(key.name, key.values.take(pa.array(used_codes)), key.kind), codes.astype(
            np.int64
        )
    labels = recoding.labels[position]
    used_codes, codes = np.unique(
        recoding.codes[position][recoding.published_mask], return_inverse=True
    )
    order = sorted(
        range(len(used_codes)),
        key=lambda i: (labels[used_codes[i]] is None, labels[used_codes[i]] or ""),
    )
    rank = arrays.inverse(np.array(order, dtype=np.int64))
    values = pa.array([labels[used_codes[i]] for i in order], pa.string())
    return Domain(recoding.columns[position], values, "text"), rank[codes]


def _merged_cells(cells: Cells, class_of_cell: Ints) -> Cells:
    """Cells of the published classes."""
    is_kept = class_of_cell >= 0
    present, index = np.unique(class_of_cell[is_kept], return_inverse=True)
    return build_cells(
        cells.domain,
        index.astype(np.int64),
        cells.value[is_kept],
        cells.mass[is_kept],
        classes=len(present),
    )
