# SPDX-License-Identifier: Apache-2.0
"""Published rows of a plan meet its requirements when they are counted and measured anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Contingency
from divulge.errors import Infeasible
from divulge.generalization import Plan, mondrian, search
from divulge.metrics import Measurement
from divulge.policy import Promise, judge
from tests.generalization.drawn import (
    HIERARCHIES,
    TAXONOMIES,
    any_promise,
    arrow,
    counted,
    suppressions,
    tables,
)
from tests.metrics.drawn import measured, opened

KEYS = list(TAXONOMIES)


def released(plan: Plan, contingency: Contingency, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows that a release of the plan would have, made row by row."""
    recoding = plan.recoding
    number = {tuple(contingency.class_key(i).values()): i for i in range(len(contingency))}
    columns: dict[str, list[Any]] = {name: [] for name in [*KEYS, "disease"]}
    for row in rows:
        raw = number[tuple(row[key] for key in KEYS)]
        if not recoding.published_mask[raw]:
            continue
        for position, key in enumerate(KEYS):
            columns[key].append(recoding.labels[position][recoding.codes[position][raw]])
        columns["disease"].append(row["disease"])
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def measured_again(
    plan: Plan, contingency: Contingency, rows: Sequence[Mapping[str, Any]]
) -> Measurement:
    table = released(plan, contingency, rows)
    return measured(
        table, quasi_identifiers=KEYS, sensitive="disease", original=opened(arrow(rows))
    )


def check_published(
    plan: Plan, contingency: Contingency, rows: list[Any], promises: list[Promise]
) -> None:
    again = measured_again(plan, contingency, rows)
    assert judge(again, promises).holds
    assert again.rows == len(rows) - plan.suppressed
    assert again["classes"].value == plan.classes
    counts = plan.published(contingency)
    assert counts.sizes.tolist() == again.contingency.sizes.tolist()
    assert [str(counts.class_key(i)) for i in range(len(counts))] == [
        str(
            {key: _typed(plan, key, value) for key, value in again.contingency.class_key(i).items()}
        )
        for i in range(len(counts))
    ]
    json.dumps(plan.describe())


def _typed(plan: Plan, key: str, value: str | None) -> Any:
    """An unchanged age is a number in the counts."""
    unchanged = plan.recoding.unchanged[plan.recoding.columns.index(key)]
    return int(value) if key == "age" and unchanged and value is not None else value


@given(
    rows=tables(), promises=st.lists(any_promise, min_size=1, max_size=3), suppression=suppressions
)
@settings(deadline=None, max_examples=60)
def test_full_domain(rows: list[Any], promises: list[Promise], suppression: float) -> None:
    contingency = counted(rows)
    try:
        plan = search(contingency, HIERARCHIES, promises, suppression=suppression)
    except Infeasible:
        return
    assert plan.suppressed <= suppression * len(rows) + 1e-9
    assert plan.recoding.unchanged == tuple(level == 0 for level in plan.levels.values())
    check_published(plan, contingency, rows, promises)


@given(
    rows=tables(),
    promises=st.lists(any_promise, min_size=1, max_size=3),
    along=st.lists(st.sampled_from(KEYS), unique=True),
    strict=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_mondrian(rows: list[Any], promises: list[Promise], along: list[str], strict: bool) -> None:  # noqa: FBT001 - drawn
    if not strict and not all(promise.metric.monotone for promise in promises):
        return
    contingency = counted(rows)
    try:
        plan = mondrian(
            contingency,
            promises,
            hierarchies={column: HIERARCHIES[column] for column in along},
            strict=strict,
        )
    except Infeasible:
        return
    assert plan.suppressed == 0
    check_published(plan, contingency, rows, promises)
    for box in plan.boxes:
        assert box.people > 0
    for raw in range(len(contingency)):
        labels = tuple(
            column[codes[raw]]
            for column, codes in zip(plan.recoding.labels, plan.recoding.codes, strict=True)
        )
        spans = next(
            box.spans
            for box in plan.boxes
            if box.labels == labels and holds(box.spans, contingency, raw)
        )
        assert len(spans) == len(KEYS)


def holds(spans: Sequence[Any], contingency: Contingency, raw: int) -> bool:
    """Return True if a box contains the values of a raw class."""
    for span, value in zip(spans, contingency.class_key(raw).values(), strict=True):
        if span is None:
            continue
        if isinstance(span, frozenset):
            if (None if value is None else str(value)) not in span:
                return False
        elif value is None or not span[0] <= value <= span[1]:
            return False
    return True
