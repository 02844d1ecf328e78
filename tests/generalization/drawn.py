# SPDX-License-Identifier: Apache-2.0
"""Random tables, hierarchies and requirements for the search tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from divulge.counting import Contingency, count
from divulge.hierarchies import Hierarchy
from divulge.metrics import METRICS, Metric
from divulge.policy import Promise
from divulge.sources import resolve_roles
from tests.generalization.oracle import Taxonomy, World
from tests.metrics.drawn import opened

ZIP: Taxonomy = {
    "1301": ("1301", "130*", "*"),
    "1302": ("1302", "130*", "*"),
    "1401": ("1401", "14**", "*"),
    "1999": ("1999", "19**", "*"),
    None: (None, None, "*"),
}
AGE: Taxonomy = {str(age): (str(age), "young" if age < 40 else "old") for age in (20, 21, 45, 46)}
SEX: Taxonomy = {"f": ("f", "*"), "m": ("m", "*")}
TAXONOMIES: dict[str, Taxonomy] = {"zip": ZIP, "age": AGE, "sex": SEX}
TYPES = {"zip": pa.string(), "age": pa.int64(), "sex": pa.string(), "disease": pa.string()}
HIERARCHIES = {
    column: Hierarchy(column, {value: tuple(labels) for value, labels in rows.items()})
    for column, rows in TAXONOMIES.items()
}


def tables(*, least: int = 1, most: int = 14) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows with three quasi-identifiers and a disease."""
    row = st.fixed_dictionaries(
        {
            "zip": st.sampled_from(["1301", "1302", "1401", None]),
            "age": st.sampled_from([20, 21, 45]),
            "sex": st.sampled_from(["f", "m"]),
            "disease": st.sampled_from(["flu", "cancer", "HIV", None]),
        }
    )
    return st.lists(row, min_size=least, max_size=most)


def world(rows: Sequence[Mapping[str, Any]]) -> World:
    return World(rows, TAXONOMIES, "disease")


def arrow(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table(
        {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    )


def counted(rows: Sequence[Mapping[str, Any]]) -> Contingency:
    table = opened(arrow(rows))
    return count(
        table, resolve_roles(table, quasi_identifiers=list(TAXONOMIES), sensitive="disease")
    )


def counted_with(rows: Sequence[Mapping[str, Any]], pinned: Sequence[str]) -> Contingency:
    """Count rows with additional text columns that are pinned."""
    held = arrow(rows)
    for name in pinned:
        held = held.append_column(name, pa.array([row[name] for row in rows], pa.string()))
    table = opened(held)
    roles = resolve_roles(table, quasi_identifiers=[*TAXONOMIES, *pinned], sensitive="disease")
    return replace(count(table, roles), pinned=len(pinned))


RISKS: list[Metric[Any]] = [
    metric for metric in METRICS if metric.kind == "risk" and not metric.needs_population
]
# Bounds that some of these small tables meet and others do not, by unit.
_BOUNDS: dict[str, Sequence[float]] = {
    "people": (0, 1, 2, 3, 4),
    "values": (0, 1, 2, 3),
    "probability": (0.0, 0.3, 0.5, 0.75),
    "bits": (0.0, 0.2, 0.5, 1.0, 2.0),
    "share": (0.0, 0.1, 0.5, 0.8),
    "distance": (0.0, 0.2, 0.4, 0.7),
    "ratio": (0.0, 0.5, 1.0, 3.0),
}


@st.composite
def promises_about(draw: st.DrawFn, metric: Metric[Any]) -> Promise:
    """A requirement on one metric with a bound that matters."""
    bound: Any = draw(st.sampled_from(_BOUNDS[metric.unit]))
    if metric.name == "recursive_c_l_diversity":
        bound = {"c": bound, "l": draw(st.integers(1, 3))}
    return Promise.make(metric.name, bound, scope=metric.scope)


any_promise = st.sampled_from(RISKS).flatmap(promises_about)
suppressions = st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6, 1.0])
